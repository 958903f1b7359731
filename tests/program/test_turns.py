"""A part of an array that each turn of a loop computes from its neighbours: written into a second array at once."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.defn import staged
from lamina.program.record import Copy, Kernel, While, instructions_of


def diffused(u: Any, n: int) -> Any:
    for _ in range(n):
        u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return u.max(axis=0)


def of_its_own(u: Any, n: int) -> Any:
    v = u * 2
    for _ in range(n):
        v[1:-1] = (v[2:] + v[:-2]) / 2
    return v


def with_a_residual(u: Any, n: int) -> Any:
    total = 0.0
    for _ in range(n):
        old = u[1:-1].copy()
        u[1:-1] = (u[2:] + u[:-2]) / 2
        total += abs(u[1:-1] - old).max()
    return u, total


def in_two_parts(u: Any, n: int) -> Any:
    for _ in range(n):
        u[1:-1] = (u[2:] + u[:-2]) / 2
        u[0] = u[1]
        u[-1] = u[-2]
    return u


def two_arrays(u: Any, n: int) -> Any:
    v = u + 1
    for _ in range(n):
        u[1:-1] += 0.1 * (v[2:] - v[:-2])
        v[1:-1] += 0.1 * (u[2:] - u[:-2])
    return u + v


def reading_the_old(u: Any, n: int) -> Any:
    v = u * 0
    for _ in range(n):
        v += u
        u[1:-1] = (u[2:] * u[:-2]) / 2
        v -= u
    return v


def leaving_early(u: Any, n: int) -> Any:
    for i in range(n):
        if i > 9:
            break
        u[1:-1] = (u[2:] + u[:-2]) / 2
    return u


def every_other(u: Any, n: int) -> Any:
    for _ in range(n):
        u[::2] = u[::-2] + 1
    return u


def again_and_again(u: Any, n: int) -> Any:
    for _ in range(n):
        for _ in range(n // 2):
            u[1:-1] = (u[2:] + u[:-2]) / 2
        u *= 1.5
    return u.sum()


def with_what_has_no_native_code(u: Any, n: int) -> Any:
    least = 0.0
    for _ in range(n):
        least += np.sort(u[0] + 1j)[0].real
        u[1:-1] = (u[2:] + u[:-2]) / 2
    return least


FUNCTIONS = [
    *(diffused, of_its_own, with_a_residual, in_two_parts, two_arrays, reading_the_old, leaving_early, every_other),
    *(again_and_again, with_what_has_no_native_code),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("n", [0, 1, 2, 12, 13])
def test_what_numpy_gives(function: Any, n: int, rng: Any) -> None:
    compiled = lamina.defn(function, compiler="native", strict=True)
    for _ in range(2):
        mine = rng.normal(size=(11, 16))
        u = mine.copy()
        result, expected = compiled(mine, n), function(u, n)
        pairs = zip(result, expected, strict=True) if isinstance(expected, tuple) else [(result, expected)]
        for got, want in [*pairs, (mine, u)]:
            np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("function", "copies"), [(diffused, 1), (of_its_own, 1)])
def test_a_turn_is_one_kernel(function: Any, copies: int) -> None:
    """The one copy is before the loop: the array that changes places with the argument, or with the result."""
    block = planned(staged(function, (np.ones((30, 40)), 50), {}).traced.graph).program.block
    (loop,) = (each for each in block.instructions if isinstance(each, While))
    arrays = [each for each in loop.body.instructions if isinstance(each, Kernel) and each.space]
    assert len(arrays) == 1
    assert len([each for each in instructions_of(block) if isinstance(each, Copy)]) == copies
    assert not [each for each in instructions_of(loop.body) if isinstance(each, Copy)]


def test_parts_that_follow_each_other_are_written_where_they_are() -> None:
    block = planned(staged(in_two_parts, (np.ones((30, 40)), 50), {}).traced.graph).program.block
    assert not [each for each in instructions_of(block) if isinstance(each, Copy)]


def test_arrays_that_change_places_are_not_copied(rng: Any) -> None:
    def waves(before: Any, now: Any, n: int) -> Any:
        after = np.zeros_like(now)
        for _ in range(n):
            after[1:-1] = 2 * now[1:-1] - before[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
            before, now, after = now, after, before
        return now

    x, y = rng.normal(size=(2, 30, 40))
    block = planned(staged(waves, (x, y, 50), {}).traced.graph).program.block
    (loop,) = (each for each in block.instructions if isinstance(each, While))
    arrays = [each for each in loop.body.instructions if isinstance(each, Kernel) and each.space]
    assert len(arrays) == 1
    for n in (0, 1, 12, 13, 14):
        mine, own = (x.copy(), y.copy()), (x.copy(), y.copy())
        result = lamina.defn(waves, compiler="native", strict=True)(*mine, n)
        for got, want in zip((result, *mine), (waves(*own, n), *own), strict=True):
            np.testing.assert_array_equal(got, want)
