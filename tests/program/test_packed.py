"""Copies in the order of a kernel's loops: where they are made, and that nothing else changes."""

import numpy as np
import pytest

import lamina
from lamina.compilers.native.support import is_native
from lamina.program import fuse, lower, packed
from lamina.program.record import Kernel, instructions_of


def kernels(function, *shapes: tuple[int, ...]) -> list[Kernel]:
    specs = [lamina.Spec(lamina.float64, shape) for shape in shapes]
    program = packed(fuse(lower(lamina.trace(function, *specs), is_native)))
    return [each for each in instructions_of(program.block) if isinstance(each, Kernel)]


def distances(a, b):
    return ((a[:, np.newaxis] - b[np.newaxis]) ** 2).sum(axis=-1)


def farthest(a, b):
    return abs(a[:, np.newaxis] - b[np.newaxis, ::-1, ::-2]).max(axis=-1), (a[:, np.newaxis] < b[:, ::2]).any(axis=-1)


def in_a_loop(a, b):
    found = np.zeros((len(a), len(b)))
    for turn in range(20):
        found += np.minimum(a[:, np.newaxis] * turn, b).sum(axis=2)
    return found


@pytest.mark.parametrize("function", [distances, in_a_loop])
@pytest.mark.parametrize("shapes", [((100, 16), (200, 16)), ((65, 7), (131, 7)), ((300, 40), (64, 40))])
def test_results_of_packed_kernels(function, shapes, rng) -> None:
    a, b = (rng.integers(-9, 9, shape).astype(float) for shape in shapes)
    compiled = lamina.defn(function, compiler="native", strict=True)
    np.testing.assert_array_equal(compiled(a, b), function(a, b))
    assert sum(not kernel.reduced and len(kernel.space) == 2 for kernel in kernels(function, *shapes)) > 0


def test_what_is_read_backwards_is_packed_too(rng) -> None:
    a, b = rng.random((100, 8)), rng.random((200, 16))
    for result, expected in zip(lamina.defn(farthest, compiler="native")(a, b), farthest(a, b), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (distances, ((4, 16), (200, 16))),  # read four times
        (distances, ((100, 16), (20, 16))),  # few results in order
        (distances, ((8, 8), (64, 8))),  # little work
        (lambda a, b: (a * b).sum(axis=1), ((300, 200), (300, 200))),  # in order already
        (lambda a, b: abs(a[:, 0, np.newaxis] - b[0]).max(axis=1), ((3000, 16), (1, 16))),  # read once for each result
        (lambda a, b: a[:, np.newaxis] - b, ((100, 16), (200, 16))),  # no reduction
    ],
)
def test_what_is_not_packed(function, shapes) -> None:
    assert len(kernels(function, *shapes)) == 1
