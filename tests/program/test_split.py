"""Long reductions in parts: the same results as in one piece, for any axes, with the same bits by any thread count."""

from math import prod

import numpy as np
import pytest

import lamina
from lamina.program import fuse, lower, split
from lamina.program.record import Kernel, instructions_of


def split_program(function, *arguments):
    return split(fuse(lower(lamina.trace(function, *arguments), lambda node: True)))


def kernels(program):
    return [each for each in instructions_of(program.block) if isinstance(each, Kernel)]


@pytest.mark.parametrize(
    "shape", [(131_072,), (131_073,), (200_003,), (1000, 17, 40), (200_000, 3), (3, 100_000), (130, 33, 64)]
)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.bool_])
def test_reductions_in_parts(shape, order: str, dtype, rng) -> None:
    x = np.asarray(rng.integers(0, 2 if dtype is np.bool_ else 5, shape).astype(dtype), order=order)
    x.T[(7,) * x.ndim if min(shape) > 7 else (1,) * x.ndim] = 1 if dtype is np.bool_ else 9

    def f(x):
        flat = x.reshape(-1)
        places = [x.argmax(), x.argmin(), flat[::-1].argmax()]
        sums = [x.sum(axis=axis) for axis in range(x.ndim)]
        return [*places, *sums, x.sum(), x[::-1].max(), x.min(), (x > 0).any(), (x == 1).all(), x.sum() * flat[3]]

    compiled = lamina.defn(f, compiler="native", strict=True)
    for result, expected in zip(compiled(x), f(x), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("size", [131_072, 131_073, 1_000_003])
def test_the_first_of_nans_and_equals_is_found_in_any_part(size: int, rng) -> None:
    compiled = lamina.defn(lambda x: (x.argmax(), x.argmin(), x.max()), compiler="native", strict=True)
    for marks in ([], [size - 1], [size // 2, size // 2 + 1], [5, size - 3]):
        x = rng.integers(0, 9, size).astype(float)
        x[marks] = np.nan
        np.testing.assert_array_equal(compiled(x), (x.argmax(), x.argmin(), x.max()))


@pytest.mark.parametrize("shape", [(5, 7), (3, 1000), (1000, 3), (1, 200_000), (200_000, 2)])
@pytest.mark.parametrize("value", [-np.inf, np.inf, np.nan])
def test_the_first_of_what_a_search_starts_from_is_found(shape, value: float) -> None:
    def f(x):
        return [
            each for y in (x, x.T, x[::-1]) for each in (y.argmax(), y.argmin(axis=0), y.argmax(axis=1), y.argmin())
        ]

    compiled, x = lamina.defn(f, compiler="native", strict=True), np.full(shape, value)
    for last in (value, 1.0):
        x[-1, -1] = last
        for result, expected in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_bits_do_not_depend_on_the_number_of_threads(rng) -> None:
    x = rng.standard_normal((1_000_003, 2))
    compiled = lamina.defn(lambda x: (x.sum(), x.sum(axis=0), np.sqrt(x * x).sum()), compiler="native", strict=True)
    before, found = lamina.get_num_threads(), []
    for count in (1, 2, 8):
        lamina.set_num_threads(count)
        found.append(b"".join(np.asarray(each).tobytes() for each in compiled(x)))
    lamina.set_num_threads(before)
    assert len(set(found)) == 1


def softmax(x):
    exponentials = np.exp(x - x.max())
    return exponentials / exponentials.sum()


def moments(x):
    centred = x - x.mean()
    return centred / np.sqrt(x.var()), abs(x).max(), (x * 2).sum()


def in_place(x):
    x *= 2
    total = x.sum()
    x -= x.min()
    return total, x.any()


@pytest.mark.parametrize("function", [softmax, moments, in_place])
@pytest.mark.parametrize("shape", [1 << 18, 300_001, (3, 150_001), (700, 500)])
def test_what_is_stored_on_the_way_of_a_long_reduction(function, shape, rng) -> None:
    x = rng.random(shape)
    compiled = lamina.defn(function, compiler="native", strict=True)
    before, found = lamina.get_num_threads(), []
    for count in (1, 3):
        lamina.set_num_threads(count)
        given = x.copy()
        results = compiled(given)
        found.append([np.asarray(each).tobytes() for each in (given, *results)])
    lamina.set_num_threads(before)
    assert found[0] == found[1]
    expected_given = x.copy()
    expected = function(expected_given)
    np.testing.assert_allclose(given, expected_given, rtol=1e-14)
    for result, each in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, each, rtol=1e-11, atol=1e-14)


def test_each_pass_over_what_leaves_the_cache_is_in_parts() -> None:
    whole, parts = (1 << 18,), (64, 1 << 12)
    for function, spaces in (
        (lambda x: x.var(), [parts, parts]),
        (lambda x: x / x.sum(), [parts, whole]),
        (softmax, [parts, parts, whole]),
    ):
        found = kernels(split_program(function, np.ones(whole)))
        assert [each.space for each in found if prod(each.space) == 1 << 18] == spaces


def test_a_loop_sums_in_parts(rng) -> None:
    def f(x, n):
        total = 0.0
        for i in range(n):
            total += (x * i).max()
        return total

    x = rng.random(140_001)
    assert lamina.defn(f, compiler="native", strict=True)(x, 12) == f(x, 12)


def test_what_is_split() -> None:
    first, second = kernels(split_program(lambda x: x.sum(), np.ones(1 << 17)))
    assert first.space == (64, 1 << 11) and second.space == (64,)
    first, rest, last = kernels(split_program(lambda x: x.max(axis=0), np.ones((1_000_003, 2))))
    assert prod(first.space) + prod(rest.space) == 2_000_006 and last.space == (first.space[0] + 1, 2)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        pytest.param(lambda x: x.sum(), (1 << 17) - 1, id="little"),
        pytest.param(lambda x: x.sum(axis=0), (1000, 1000), id="many results"),
        pytest.param(lambda x: x / x.sum(axis=1, keepdims=True), (16, 1 << 14), id="two passes over a row in cache"),
    ],
)
def test_what_is_not_split(function, shape) -> None:
    program = split_program(function, np.ones(shape))
    assert program.block == fuse(program).block and len(kernels(program)) == 1
