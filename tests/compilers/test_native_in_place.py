"""Arguments that a native program writes in place: their own memory, or none of it before an error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers import compile_by
from lamina.compilers.native import planned
from lamina.defn import staged
from lamina.program.record import Copy, instructions_of


def copies(function: Any, *args: Any) -> list[str]:
    """Why a call of a function copies memory."""
    plan = planned(staged(function, args, {}).traced.graph)
    return [each.reason for each in instructions_of(plan.program.block) if isinstance(each, Copy)]


def doubled(x: Any) -> None:
    x *= 2


def smoothed(x: Any, n: int) -> Any:
    for _ in range(n):
        x[1:-1] = (x[2:] + x[:-2]) / 2
    return x


def exchanged(x: Any, y: Any, n: int) -> None:
    a, b = x, y
    for _ in range(n):
        a, b = b, a + b
    x[...] = a
    y[...] = b


def mirrored(x: Any) -> Any:
    x[...] = x[::-1] + 1
    return x.max()


def softened(x: Any) -> None:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    x[...] = e / e.sum(axis=-1, keepdims=True)


def swapped(x: Any, y: Any) -> Any:
    x[...], y[...] = y.copy(), x.copy()
    return x + y


def conditional(x: Any, n: int) -> Any:
    y = x * 2
    z = y + 1 if n > 3 else y * y
    x[1:] = z[:-1]
    return z


def sorted_first(x: Any) -> None:
    x[...] = np.sort(x, axis=-1) + 1


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (doubled, ()),
    (smoothed, (5,)),
    (mirrored, ()),
    (softened, ()),
    (conditional, (2,)),
    (conditional, (5,)),
    (sorted_first, ()),
]


@pytest.mark.parametrize(("function", "rest"), PROGRAMS, ids=lambda each: getattr(each, "__name__", None))
@pytest.mark.parametrize("kind", ["whole", "Fortran", "gaps", "backwards", "misaligned", "swapped bytes"])
def test_an_argument_of_any_form_gets_what_numpy_writes(function: Any, rest: Any, kind: str, rng: Any) -> None:
    def made() -> tuple[np.ndarray, np.ndarray]:
        memory = np.random.default_rng(0).normal(size=(14, 22))
        x = {
            "whole": lambda: memory,
            "Fortran": lambda: memory.T,
            "gaps": lambda: memory[1:-1, ::2],
            "backwards": lambda: memory[::-1],
            "misaligned": lambda: np.ndarray(memory.shape, memory.dtype, bytearray(memory.nbytes + 1), 1),
            "swapped bytes": lambda: memory.astype(memory.dtype.newbyteorder()),
        }[kind]()
        if kind == "misaligned":
            x[...] = memory
        return x, memory

    compiled = lamina.defn(function, compiler="native", strict=True)
    for _ in range(2):
        (mine, around), (x, expected) = made(), made()
        result, right = compiled(mine, *rest), function(x, *rest)
        for got, want in zip(np.atleast_1d(result, mine, around), np.atleast_1d(right, x, expected), strict=True):
            if want.dtype != object:  # for which nothing was returned
                np.testing.assert_allclose(got, want, rtol=1e-14)
        assert (result is mine) == (right is x)


def test_what_is_written_is_not_copied(rng: Any) -> None:
    x, y = rng.normal(size=(2, 30, 40))
    assert copies(doubled, x) == []
    assert copies(conditional, x, 2) == []
    planned_swap = planned(staged(swapped, (x, y), {}).traced.graph)
    assert planned_swap.written == (0, 1)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_arrays_that_change_places_end_in_their_own_memory(n: int, rng: Any) -> None:
    x, y = rng.normal(size=(2, 30))
    a, b = x.copy(), y.copy()
    lamina.defn(exchanged, compiler="native", strict=True)(x, y, n)
    exchanged(a, b, n)
    assert np.array_equal(x, a)
    assert np.array_equal(y, b)


def test_arrays_that_are_swapped(rng: Any) -> None:
    x, y = rng.normal(size=(2, 30, 40))
    a, b = x.copy(), y.copy()
    result = lamina.defn(swapped, compiler="native", strict=True)(x, y)
    assert np.array_equal(result, swapped(a, b))
    assert np.array_equal(x, a)
    assert np.array_equal(y, b)


def picked(x: Any, i: int) -> Any:
    x[0] = 5
    x *= 2
    return x[i]


def checked_first(x: Any, i: int) -> Any:
    first = x[i]
    x *= first
    return x


def test_an_error_leaves_what_numpy_leaves() -> None:
    for function in (picked, checked_first):
        x, y = np.ones(4), np.ones(4)
        with pytest.raises(IndexError):
            lamina.defn(function, compiler="native", strict=True)(x, 7)
        with pytest.raises(IndexError):
            function(y, 7)
        assert np.array_equal(x, y)
    assert not planned(staged(picked, (np.ones(4), 2), {}).traced.graph).written
    assert planned(staged(checked_first, (np.ones(4), 2), {}).traced.graph).written


def test_a_compiled_graph_writes_nothing_unless_it_is_asked_to(rng: Any) -> None:
    x = rng.normal(size=50)
    compiled: Any = compile_by("native", staged(doubled, (x,), {}).traced.graph, {})
    held = x.copy()
    (result,) = compiled(x)
    assert np.array_equal(x, held)
    assert np.array_equal(result, 2 * held)
    assert compiled.in_place(x) == []
    assert np.array_equal(x, 2 * held)
