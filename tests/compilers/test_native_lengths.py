"""Lengths that a run alone knows are trip counts of native loops."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.program.record import Kernel, Library, instructions_of
from tests.support.random_lengths import program
from tests.support.undecorated import falls_back

PARTS = 10
SEEDS, LONG_SEEDS = 60, 5_000
BOUND = 45  # several vectors, and a part of one


def native(function: Any) -> Any:
    return lamina.defn(function, compiler="native", strict=True)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@pytest.mark.parametrize("part", range(PARTS))
def test_random_lengths(part: int, long_mode: bool) -> None:
    for seed in range(part, LONG_SEEDS if long_mode else SEEDS, PARTS):
        falls_back(program(seed), compiler="native")


# One number of vectors and a matrix, at a place from 0 to the last

READS = {
    "sum": lambda x, y, m, i: x[:i].sum(),
    "sum of zeros": lambda x, y, m, i: (x[:i] * 0 - 0.0).sum(),
    "sum of integers": lambda x, y, m, i: (x[i:] * 10).astype(np.int32).sum(),
    "norm": lambda x, y, m, i: np.linalg.norm(x[i:]),
    "max": lambda x, y, m, i: x[: i + 1].max(),
    "argmin": lambda x, y, m, i: y[: i + 1].argmin(),
    "any": lambda x, y, m, i: (x[:i] > 0.9).any() * 1.0,
    "all": lambda x, y, m, i: (x[:i] > 0.01).all() * 1.0,
    "prod": lambda x, y, m, i: x[:i].prod(),
    "vector product": lambda x, y, m, i: x[:i] @ y[:i],
    "backwards": lambda x, y, m, i: (x[:i][::-1] * y[:i]).sum(),
    "every other": lambda x, y, m, i: (x[i::2] - 1).sum(),
    "rows": lambda x, y, m, i: m[i:, :i].sum(axis=1).sum(),
    "columns": lambda x, y, m, i: m[:i, i:].sum(axis=0).max(initial=0.0),
    "matrix and vector": lambda x, y, m, i: (m[i:, :i] @ x[:i]).sum(),
    "vector and matrix": lambda x, y, m, i: (y[:i] @ m[:i, i:]).sum(),
    "matrices": lambda x, y, m, i: (m[:4, :i] @ m[:i, :4]).sum(),
    "two lengths": lambda x, y, m, i: x[:i].sum() * y[i:] @ x[i:],
    "gathered": lambda x, y, m, i: (x[np.argsort(y)[:i]] * y[:i]).sum(),
    "complex": lambda x, y, m, i: ((x[:i] + 1j * y[:i]) * 2j).imag.sum(),
    "deviation": lambda x, y, m, i: x[: i + 1].std(),
    "mean": lambda x, y, m, i: x[: i + 1].mean() + m[: i + 1, 1].mean(),
    "mean of rows": lambda x, y, m, i: m[: i + 1, : i + 1].mean(axis=1).max(),
    "chosen": lambda x, y, m, i: (x[y < x[i]] - 1).sum() + x[x >= y[i]].shape[0],
    "masked": lambda x, y, m, i: x[: i + 1][y[: i + 1] > 0.5].sum(),
}


@pytest.mark.parametrize("name", READS)
def test_reading_up_to_every_length(name: str, rng) -> None:
    read = READS[name]

    def each(x, y, m):
        result = np.empty(len(x))
        for i in range(len(x)):
            result[i] = read(x, y, m, i)
        return result

    args = rng.random(BOUND), rng.random(BOUND), rng.random((BOUND, BOUND))
    expected, found = each(*args), native(each)(*args)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    assert np.array_equal(np.signbit(found), np.signbit(expected))


def _shifted(x, y, m):
    for i in range(len(x)):
        x[i:] += y[: len(x) - i] * 0.5


def _constant(x, y, m):
    for i in range(len(x)):
        m[i, i:] = 3
        m[:i, i] = x[i]


def _block(x, y, m):
    for i in range(len(x)):
        m[i:, :i] = m[i:, :i] * 0.9 + x[:i]


def _strided(x, y, m):
    for i in range(len(x)):
        x[i::3] += 1
        y[:i][::-2] *= 0.5


def _rank_one(x, y, m):
    for i in range(len(x)):
        m[i + 1 :, i + 1 :] -= m[i + 1 :, i : i + 1] * m[i, i + 1 :] * 0.01


def _column(x, y, m):
    for i in range(len(x)):
        m[i + 1 :, i] = (m[i + 1 :, i] - m[i + 1 :, :i] @ m[:i, i] * 0.01) / (m[i, i] + 4)


def _back_to_front(x, y, m):
    n = len(x)
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - m[i, i + 1 :] @ x[i + 1 :]) / (m[i, i] + n)


def _overlapping(x, y, m):
    for i in range(1, len(x)):
        x[i:] = x[:-i] * 0.5
        m[i:, :] = m[:-i, :] * 0.7


def _kept(x, y, m):
    for i in range(len(x)):
        part = np.exp(x[i:])
        x[i:] = part / part.sum()
        y[: len(part)] += part


def _limits(x, y, m):
    for i in range(len(x) - 3):
        low, high = int(y[i] * 10), int(y[i + 1] * 60)
        x[low:high] += 1
        x[i] = x[low:high].sum() * 0.01


def _scattered(x, y, m):
    places = (np.arange(len(x)) * 7) % len(x) - 5
    for i in range(len(x)):
        x[places[:i]] += y[:i] * 2
        y[places[i:]] = x[i:]
        np.add.at(x, places[i : i + 9], m[i, i : i + 9])


WRITES = [
    _shifted,
    _constant,
    _block,
    _strided,
    _rank_one,
    _column,
    _back_to_front,
    _overlapping,
    _kept,
    _limits,
    _scattered,
]


COMPLEX = [_shifted, _constant, _block, _strided, _column, _overlapping]


@pytest.mark.parametrize(
    ("write", "dtype"),
    [*((write, np.float64) for write in WRITES), *((write, np.complex128) for write in COMPLEX)],
    ids=lambda each: each.__name__.strip("_"),
)
def test_writing_up_to_every_length(write: Any, dtype: Any, rng) -> None:
    shapes = (BOUND,), (BOUND,), (BOUND, BOUND)
    args = [rng.random(shape).astype(dtype) for shape in shapes]
    expected = [each.copy() for each in args]
    write(*expected)
    native(write)(*args)
    for found, each in zip(args, expected, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-12)


def test_a_view_that_ends_before_it_begins_reads_nothing() -> None:
    def f(x, n):
        total = 0.0
        for i in range(n):
            total += x[i + 3 : i].sum() + x[x.shape[0] + i :].sum()
        return total

    assert native(f)(np.full(20, np.nan), 9) == 0


def test_a_place_out_of_range_before_a_length_is_an_error_and_one_behind_it_is_not() -> None:
    def f(x, places, n):
        for i in range(n):
            x[places[:i]] += 1
        return x

    places = np.array([3, -1, 7, 0])
    assert native(f)(np.zeros(5), places, 3).tolist() == [0, 0, 0, 2, 1]
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5"):
        native(f)(np.zeros(5), places, 4)


def test_a_large_space_with_lengths_is_the_same_for_any_number_of_threads(rng) -> None:
    def f(m, n):
        for i in range(n):
            m[i * 500 :, : 4000 - 777 * i] = np.exp(-m[i * 500 :, : 4000 - 777 * i])
        return m

    m = rng.random((2000, 4003))
    results, before = [], lamina.get_num_threads()
    try:
        for threads in (1, 2, 3):
            lamina.set_num_threads(threads)
            results.append(native(f)(m.copy(), 4))
    finally:
        lamina.set_num_threads(before)
    np.testing.assert_allclose(results[0], f(m.copy(), 4), rtol=1e-14)
    assert all(np.array_equal(each, results[0]) for each in results)


def _sorted(x, starts):
    y = np.zeros_like(x)
    for i in range(len(starts) - 1):
        y[starts[i] : starts[i + 1]] = np.sort(x[starts[i] : starts[i + 1]])
    return y


def _ordered(x, starts):
    y = np.zeros(len(x), np.int64)
    for i in range(len(starts) - 1):
        y[starts[i] : starts[i + 1]] = np.argsort(x[starts[i] : starts[i + 1]], kind="stable")
    return y


def _summed(x, starts):
    y = np.zeros_like(x)
    for i in range(len(starts) - 1):
        y[starts[i] : starts[i + 1]] += np.cumsum(x[starts[i] : starts[i + 1]], dtype=x.dtype)
    return y


def _highest(x, starts):
    y = np.zeros_like(x)
    for i in range(len(starts) - 1):
        y[starts[i] : starts[i + 1]] = np.maximum.accumulate(x[starts[i] : starts[i + 1]])
    return y


def _middles(x, starts):
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        y[i] = np.median(x[starts[i] : starts[i + 1]])
    return y


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of medians of nothing
@pytest.mark.parametrize("by_group", [_sorted, _ordered, _summed, _highest, _middles])
def test_lines_of_library_calls_end_at_lengths(by_group, rng) -> None:
    starts = np.cumsum([0, 5, 0, 1, 17, 40, 0, 2, 35])  # groups of none, one, and more than some vectors
    numbers = rng.integers(-9, 9, 100)
    with_twins = np.where(rng.random(100) < 0.1, np.nan, rng.permutation(np.r_[numbers[1:] / 4, -0.0]))
    for x in (numbers, numbers.astype(np.int8), numbers / 4, with_twins, with_twins.astype(np.float32)):
        if by_group is not _middles or x.dtype.kind == "f":
            found, expected = native(by_group)(x, starts), by_group(x, starts)
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(np.signbit(found)[found == 0], np.signbit(expected)[found == 0])
    assert by_group is _middles or native(by_group)(numbers, starts[::-1].copy()).tolist() == [0] * 100
    program = planned(lamina.trace(by_group, numbers / 4, starts)).program
    calls = [each for each in instructions_of(program.block) if isinstance(each, Library)]
    assert calls and all(call.length is not None for call in calls)


# What runs


def _kernels(function: Any, *args: Any) -> list[Kernel]:
    program = planned(lamina.trace(function, *args)).program
    assert not any(isinstance(each, Library) for each in instructions_of(program.block))
    return [each for each in instructions_of(program.block) if isinstance(each, Kernel) and each.lengths]


def test_loops_end_at_lengths_and_conditions_are_gone() -> None:
    def cholesky(a):
        lower = np.zeros_like(a)
        for j in range(len(a)):
            lower[j, j] = np.sqrt(a[j, j] - lower[j, :j] @ lower[j, :j])
            lower[j + 1 :, j] = (a[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
        return lower

    kernels = _kernels(cholesky, lamina.Spec(lamina.float64, (300, 300)))
    assert [tuple(axis for axis, _ in kernel.lengths) for kernel in kernels] == [(0,), (0, 1), (0,)]
    for kernel in kernels:
        assert not any(term.op == "load" and None in term.static[2] for term in kernel.terms)
        assert not any(stride is None for store in kernel.stores for _, stride in store.shifts)


def test_a_write_through_indices_ends_at_a_length() -> None:
    def spread(x, places, values):
        for i in range(len(values)):
            x[places[:i]] += values[:i]
        return x

    spec = lamina.Spec
    kernels = _kernels(spread, spec(lamina.float64, (30,)), spec(lamina.int64, (90,)), spec(lamina.float64, (90,)))
    assert [(kernel.space, kernel.is_ordered) for kernel in kernels] == [((89,), True)]


def test_rows_of_a_sparse_matrix_are_one_kernel_that_ends_with_the_row() -> None:
    def product(starts, columns, values, x):
        result = np.zeros(len(starts) - 1)
        for i in range(len(result)):
            row = slice(starts[i], starts[i + 1])
            result[i] = (values[row] * x[columns[row]]).sum()
        return result

    shapes = (lamina.int64, (101,)), (lamina.int64, (5000,)), (lamina.float64, (5000,)), (lamina.float64, (100,))
    (kernel,) = _kernels(product, *(lamina.Spec(dtype, shape) for dtype, shape in shapes))
    assert kernel.space == (5000,) and kernel.reduced == (0,)
