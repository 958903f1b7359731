"""Integers that are added up in several tables: the same sums, and where it is done."""

import numpy as np
import pytest

import lamina
from lamina.compilers.native.support import is_native
from lamina.program import fuse, lower, tallied
from lamina.program.record import Kernel, instructions_of


def ordered(function, *arguments) -> list[tuple[int, ...]]:
    """The spaces of the kernels that go in order."""
    program = tallied(fuse(lower(lamina.trace(function, *arguments), is_native)))
    return [each.space for each in instructions_of(program.block) if isinstance(each, Kernel) and each.is_ordered]


def histogram(x):
    return np.bincount(np.minimum((x * 64).astype(np.int64), 63), minlength=64)


def of_bytes(x):
    return np.bincount((x * 255).astype(np.uint8).ravel(), minlength=256)


def weighed(x):
    found = np.arange(50, dtype=np.int16)
    np.add.at(found, (x * 90).astype(np.int64) % 50 - 50, (x * 1000).astype(np.int16))
    return found


def of_pairs(x):
    found = np.ones((7, 9), dtype=np.int64)
    np.add.at(found, ((x * 7).astype(np.int64), (x * 1000).astype(np.int64) % 9), 3)
    return found


def again_and_again(x):
    found = np.zeros(20, dtype=np.uint8)
    for turn in range(30):
        np.add.at(found, (x * 1000 + turn).astype(np.int64) % 20, 1)
    return found


@pytest.mark.parametrize("function", [histogram, of_bytes, weighed, of_pairs, again_and_again])
@pytest.mark.parametrize("count", [1 << 14, 20_003, 1 << 18])
def test_integers_are_added_up(function, count: int, rng) -> None:
    x = rng.random(count)
    compiled, before = lamina.defn(function, compiler="native", strict=True), lamina.get_num_threads()
    for threads in (1, 3):
        lamina.set_num_threads(threads)
        result = compiled(x)
        assert result.dtype == function(x).dtype
        np.testing.assert_array_equal(result, function(x))
    lamina.set_num_threads(before)
    assert len(ordered(function, x)[0]) == 2


def test_what_is_added_to_is_written_in_place(rng) -> None:
    def f(counts, places):
        np.add.at(counts, places, 1)

    places, counts = rng.integers(-30, 30, 40_000), np.arange(30)
    expected = counts.copy()
    f(expected, places)
    compiled = lamina.defn(f, compiler="native", strict=True)
    compiled(counts, places)
    np.testing.assert_array_equal(counts, expected)
    for wrong in (3, 39_999):
        beyond = places.copy()
        beyond[wrong] = 30
        with pytest.raises(IndexError, match="index 30 is out of bounds"):
            compiled(counts.copy(), beyond)


def floats(x):
    found = np.zeros(9)
    np.add.at(found, (x * 9).astype(np.int64), x)
    return found


def last_of_each(x):
    found = np.zeros(9, dtype=np.int64)
    found[(x * 9).astype(np.int64)] = (x * 1000).astype(np.int64)
    return found


def many_places(x):
    return np.bincount(np.minimum((x * 4096).astype(np.int64), 4095), minlength=4096)


@pytest.mark.parametrize("function", [floats, last_of_each, many_places])
def test_what_has_an_order_or_little_for_each_place_stays(function, rng) -> None:
    x = rng.random(20_000)
    np.testing.assert_array_equal(lamina.defn(function, compiler="native", strict=True)(x), function(x))
    assert ordered(function, x) == [(20_000,)]
