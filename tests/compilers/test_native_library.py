"""Library calls from native code: products, cumulative ops, sorts, factorisations, against NumPy."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.compilers.native.library import has_code, symbols
from lamina.program.record import Library, instructions_of

TOLERANCE = {np.float32: 1e-5, np.float64: 1e-13, np.complex64: 1e-5, np.complex128: 1e-13, np.int32: 0.0}
FLOATS = list(TOLERANCE)[:4]


def numbers(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = 4 * rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        return (values + 4j * rng.standard_normal(shape)).astype(dtype)
    return np.abs(values).astype(dtype) if np.dtype(dtype).kind == "u" else values.astype(dtype)


def calls_of(f: Callable[..., Any], *args: Any) -> list[str]:
    """The ops of the library calls of a function, all of which must have native code."""
    block = planned(lamina.trace(f, *args)).program.block
    calls = [each for each in instructions_of(block) if isinstance(each, Library)]
    assert all(map(has_code, calls)), [each.node.op for each in calls if not has_code(each)]
    return [each.node.op for each in calls]


def check(f: Callable[..., Any], *args: Any, tolerance: float = 0.0, op: str = "") -> None:
    """That native code gives what NumPy gives, and calls the op."""
    if op:
        assert op in calls_of(f, *args)
    expected, result = f(*args), lamina.defn(f, compiler="native", strict=True)(*args)
    assert isinstance(expected, tuple) == isinstance(result, tuple)
    pairs = zip(expected, result, strict=True) if isinstance(expected, tuple) else [(expected, result)]
    for want, got in pairs:
        want, got = np.asarray(want), np.asarray(got)
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        if tolerance:
            scale = float(np.abs(want).max(initial=0.0))
            assert np.abs(got - want).max(initial=0.0) <= tolerance * scale
        else:
            assert want.tobytes() == got.tobytes()


# Products

SHAPES = [
    ((40, 50), (50, 60)),
    ((400, 300), (300,)),
    ((300,), (300, 400)),
    ((70000,), (70000,)),
    ((3, 40, 50), (3, 50, 60)),
    ((40, 50), (3, 50, 60)),
    ((2, 1, 40, 50), (3, 50, 60)),
    ((500, 1), (1, 500)),
    ((9, 20, 1), (9, 1, 40)),
    ((5, 9, 70, 80), (5, 9, 80, 1)),
    ((3, 4), (4, 2)),
    ((100, 3, 4), (4, 2)),
    ((1, 1), (1, 1)),
    ((0, 50), (50, 60)),
    ((500, 0), (0, 500)),
    ((0, 9, 9), (0, 9, 9)),
]


@pytest.mark.parametrize("dtype", [*FLOATS, np.int32])
def test_products_agree(dtype: Any) -> None:
    arrays = [(numbers(dtype, *left), numbers(dtype, *right, seed=1)) for left, right in SHAPES]
    check(lambda pairs: tuple([x @ y for x, y in pairs]), arrays, tolerance=TOLERANCE[dtype], op="matmul")


def views(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    stack = np.stack((x, x + x))
    return (
        x @ y.T,
        x.T @ y[:128],
        x[::2] @ y.T,
        x[:, ::2] @ y.T[::2],
        x[::-1] @ y.T[:, ::-1],
        x[3:, 5:70] @ y[:, 5:70].T,
        x[:, ::-1] @ y[0],
        x @ y[0, ::-1],
        x[:, 3] @ y[:128],
        (x[None] + y[:3, None]) @ y.T,
        np.broadcast_to(x[:, :1], (128, 160)) @ y.T,
        x @ x.T,
        x.T @ x,
        x[:, 3:] @ x[:, 3:].T,
        x[1:] @ x[:-1].T,
        stack @ stack.transpose(0, 2, 1),
        stack[::-1, :, 1] @ x,
    )


@pytest.mark.parametrize("dtype", [*FLOATS, np.int8, np.uint16, np.int64])
def test_products_of_views(dtype: Any) -> None:
    x, y = numbers(dtype, 128, 160), numbers(dtype, 180, 160, seed=1)
    assert len(calls_of(views, x, y)) >= 12
    check(views, x, y, tolerance=TOLERANCE.get(dtype, 0.0))


# Extents of products in tiles: less than one, with rests below and beside them, and panels that are added up.
TILED = [(4, 4, 33), (5, 700, 7), (33, 64, 65), (64, 256, 17), (100, 4, 100), (7, 9, 40), (1, 300, 70), (70, 300, 2)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
@pytest.mark.parametrize("is_turned", [False, True])
def test_products_in_tiles(dtype: Any, is_turned: bool) -> None:
    def products(pairs: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, ...]:
        return tuple([x.swapaxes(1, 2) @ y.swapaxes(1, 2) if is_turned else x @ y for x, y in pairs])

    pairs = []
    for rows, inner, columns in TILED:
        x, y = numbers(dtype, 3, rows, inner), numbers(dtype, 3, inner, columns, seed=1)
        pairs.append(tuple(np.ascontiguousarray(each.swapaxes(1, 2)) if is_turned else each for each in (x, y)))
    check(products, pairs, tolerance=TOLERANCE.get(dtype, 0.0), op="matmul")


def test_products_in_tiles_have_the_same_bits_on_any_number_of_threads() -> None:
    x, y = numbers(np.float64, 3, 1000, 70), numbers(np.float64, 3, 70, 50, seed=1)
    product = lamina.defn(lambda x, y: x @ y, compiler="native", strict=True)
    before, results = lamina.get_num_threads(), []
    try:
        for count in (1, 2, 8):
            lamina.set_num_threads(count)
            results.append(product(x, y))
    finally:
        lamina.set_num_threads(before)
    assert np.allclose(results[0], x @ y)
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


@pytest.mark.parametrize("inner", [40, 70])
def test_a_product_with_its_own_transpose_is_symmetric(inner: int) -> None:
    x = numbers(np.float64, 100, inner)
    result = lamina.defn(lambda x: x @ x.T, compiler="native")(x)
    assert np.array_equal(result, result.T)


def test_a_view_that_blas_takes_is_not_copied() -> None:
    x, y = numbers(np.float64, 64, 80), numbers(np.float64, 90, 80)
    program = planned(lamina.trace(lambda x, y: x[:, 3:] @ y.T[3:], x, y)).program
    (call,) = instructions_of(program.block)
    assert isinstance(call, Library)


def test_products_of_nan_and_infinity() -> None:
    x, y = numbers(np.float64, 40, 50), numbers(np.float64, 50, 60)
    x[3, 4], y[5, 6], x[7] = np.nan, np.inf, 0
    result = lamina.defn(lambda x, y: x @ y, compiler="native")(x, y)
    with np.errstate(all="ignore"):
        assert np.array_equal(np.isnan(result), np.isnan(x @ y))
    assert np.isnan(result[3]).all()
    assert np.isnan(result[7, 6])


def test_a_loop_with_products_is_one_call() -> None:
    def powers(a: np.ndarray, x: np.ndarray, n: int) -> np.ndarray:
        for _ in range(n):
            x = a @ x
            x = x / np.sqrt((x * x).sum())
        return x

    a, x = numbers(np.float64, 120, 120), numbers(np.float64, 120, seed=1)
    check(powers, a, x, 50, tolerance=1e-10, op="matmul")


# Cumulative ops

LINES = [(1,), (500,), (0,), (3, 100), (5, 1), (4, 20, 30), (3, 0), (0, 3)]


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("op", [np.cumsum, np.cumprod])
def test_cumulative_ops_have_numpys_bits(dtype: Any, op: Any) -> None:
    def lines(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple([op(each, axis=axis) for x in arrays for each in (x, x[::-1].T) for axis in range(x.ndim)])

    arrays = [numbers(dtype, *shape) / 4 for shape in LINES]
    with np.errstate(all="ignore"):
        # NumPy's products of complex numbers are rounded once or twice, as the processor has it
        check(lines, [x.astype(dtype) for x in arrays], tolerance=TOLERANCE[dtype] if dtype is np.complex64 else 0.0)


@pytest.mark.parametrize("dtype", [bool, np.int16, np.uint64, np.float32, np.float64])
def test_cumulative_extremes(dtype: Any) -> None:
    def lines(x: np.ndarray) -> tuple[np.ndarray, ...]:
        ops = np.maximum.accumulate, np.minimum.accumulate
        return tuple([op(each, axis=axis) for op in ops for each in (x, x[::-1].T) for axis in range(2)])

    x = numbers(dtype, 30, 40)
    if np.dtype(dtype).kind == "f":
        x[3, 4], x[20, 5] = np.nan, np.inf
    assert set(calls_of(lines, x)) == {"cumulative_max", "cumulative_min"}
    check(lines, x)


# Linear systems


def squared(x: np.ndarray) -> np.ndarray:
    return (x @ x.swapaxes(-1, -2).conj() + np.eye(x.shape[-2])).astype(x.dtype)


def systems(a: np.ndarray, b: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, ...]:
    return (
        np.linalg.solve(a, b),
        np.linalg.solve(a.swapaxes(-1, -2), b[..., ::-1]),
        np.linalg.inv(a),
        np.linalg.inv(a[..., ::-1]),
        np.linalg.cholesky(square),
        np.linalg.cholesky(square, upper=True),
    )


def spectra(x: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, ...]:
    turned = x.swapaxes(-1, -2)[..., ::-1]
    return (
        *np.linalg.eigh(square),
        np.linalg.eigvalsh(square, UPLO="U"),
        *np.linalg.svd(x),
        *np.linalg.svd(turned, full_matrices=False),
        np.linalg.svd(x, compute_uv=False),
        *np.linalg.qr(x),
        *np.linalg.qr(turned, mode="complete"),
    )


def determinants(a: np.ndarray) -> tuple[np.ndarray, ...]:
    return np.linalg.det(a), *np.linalg.slogdet(a)


STACKS = [(1, 1), (2, 2), (40, 40), (2, 3, 4, 4)]


@pytest.mark.parametrize("dtype", FLOATS)
def test_systems_have_numpys_bits(dtype: Any) -> None:
    def solved(given: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        return tuple([each for arrays in given for each in systems(*arrays)])

    arrays = [numbers(dtype, *shape) / 16 + 2 * np.eye(shape[-1]) for shape in (*STACKS, (0, 3, 3), (3, 0, 0))]
    given = [(a.astype(dtype), numbers(dtype, *a.shape[:-1], 3, seed=1), squared(a.astype(dtype))) for a in arrays]
    assert set(calls_of(solved, given)) == {"solve", "inv", "cholesky"}
    check(solved, given)


@pytest.mark.parametrize("dtype", FLOATS)
def test_eigenvalues_and_singular_values_have_numpys_bits(dtype: Any) -> None:
    def found(given: list[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        return tuple([each for arrays in given for each in spectra(*arrays)])

    arrays = [numbers(dtype, *shape) for shape in ((1, 1), (5, 3), (20, 30), (2, 4, 3))]
    given = [(x, squared(x)) for x in arrays]
    assert set(calls_of(found, given)) == {"eigh", "eigvalsh", "svd", "svdvals", "qr"}
    check(found, given)


@pytest.mark.parametrize("dtype", FLOATS)
def test_determinants(dtype: Any) -> None:
    def found(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        return tuple([each for x in arrays for each in determinants(x)])

    arrays = [numbers(dtype, *shape) / 4 for shape in (*STACKS, (0, 3, 3), (3, 0, 0))]
    assert set(calls_of(found, arrays)) == {"det", "slogdet"}
    check(found, arrays, tolerance=10 * TOLERANCE[dtype])
    check(found, [np.ones((4, 4), dtype)])  # it is singular


@pytest.mark.parametrize("f", [np.linalg.inv, np.linalg.cholesky, lambda a: np.linalg.solve(a, a[..., :1])])
def test_a_matrix_without_a_result_is_an_error(f: Callable[..., Any]) -> None:
    a = np.stack((np.eye(3), np.zeros((3, 3))))
    with pytest.raises(np.linalg.LinAlgError) as expected:
        f(a)
    compiled = lamina.defn(lambda a: f(a), compiler="native", strict=True)
    assert np.array_equal(compiled(a[:1]), f(a[:1]))
    with pytest.raises(np.linalg.LinAlgError) as raised:
        compiled(a)
    assert str(raised.value) == str(expected.value)
    (note,) = raised.value.__notes__
    assert "test_native_library.py:" in note


def test_a_loop_with_systems_is_one_call() -> None:
    def filtered(a: np.ndarray, y: np.ndarray) -> np.ndarray:
        x = y
        for _ in range(20):
            x = np.linalg.solve(a, x) + np.linalg.inv(a) @ y
        return x

    a, y = numbers(np.float64, 4, 4) + 20 * np.eye(4), numbers(np.float64, 4, seed=1)
    check(filtered, a, y, tolerance=1e-13, op="inv")


# Sorts and searches

SORTED = [bool, np.int8, np.uint16, np.int64, np.uint64, np.float32, np.float64]


def with_specials(x: np.ndarray) -> np.ndarray:
    """With equal elements, and among floats zeros of both signs, infinities and NaNs of several bits."""
    x = x if x.dtype == bool else x.round()
    if x.dtype.kind == "f" and x.size > 40:
        special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf], x.dtype)
        x.reshape(-1)[:36] = np.tile(special, 6)
    return x


@pytest.mark.parametrize("dtype", SORTED)
def test_sorts_have_the_stable_sorts_bits(dtype: Any) -> None:
    def lines(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        views = [each for x in arrays for each in (x, x[::-1].T)]
        return tuple([np.sort(x, axis=axis, kind="stable") for x in views for axis in range(x.ndim)])

    arrays = [numbers(dtype, *shape) for shape in LINES]
    assert set(calls_of(lines, arrays)) == {"sort"}
    check(lines, arrays)
    check(lines, [with_specials(x) for x in arrays if x.dtype.kind == "f" or x.size < 1000])


@pytest.mark.parametrize("dtype", SORTED)
def test_places_in_order(dtype: Any) -> None:
    def lines(arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        views = [each for x in arrays for each in (x, x[::-1].T)]
        return tuple([np.argsort(x, axis=axis, kind="stable") for x in views for axis in range(x.ndim)])

    arrays = [with_specials(numbers(dtype, *shape)) for shape in LINES]
    assert set(calls_of(lines, arrays)) == {"argsort"}
    check(lines, arrays)


@pytest.mark.parametrize("dtype", [np.int16, np.float64])
def test_places_from_the_greatest(dtype: Any) -> None:
    def places(x: Any) -> Any:
        return lamina.argsort(x, axis=0, descending=True), lamina.argsort(x, axis=1, descending=True)

    x = with_specials(numbers(dtype, 30, 40))
    assert calls_of(places, x) == ["argsort", "argsort"]
    expected = lamina.defn(places, compiler="evaluator")(x)
    for want, got in zip(expected, lamina.defn(places, compiler="native")(x), strict=True):
        assert np.array_equal(want, got)


@pytest.mark.parametrize("dtype", SORTED)
def test_searches(dtype: Any) -> None:
    def found(lines: list[np.ndarray], values: np.ndarray) -> tuple[np.ndarray, ...]:
        left = [np.searchsorted(x, values) for x in lines]
        return *left, *[np.searchsorted(x[::2], values[::-1].T, side="right") for x in lines]

    lines = [np.sort(with_specials(numbers(dtype, count))) for count in (0, 1, 2, 3, 100, 1000)]
    values = with_specials(numbers(dtype, 20, 30, seed=1))
    assert set(calls_of(found, lines, values)) == {"searchsorted"}
    check(found, lines, values)


def test_a_rolling_sort_is_one_call() -> None:
    def medians(x: np.ndarray) -> np.ndarray:
        out = np.zeros(len(x) - 8)
        for i in range(len(x) - 8):
            out[i] = np.sort(x[i : i + 9])[4]
        return out

    check(medians, numbers(np.float64, 300), op="sort")


# What may be missing, and who may call


def everything(x: np.ndarray) -> tuple[np.ndarray, ...]:
    line = np.sort(x.ravel())
    return x @ x.T, np.linalg.inv(x), np.cumsum(x, axis=0), line, np.argsort(x), np.searchsorted(line, x)


def test_without_the_libraries_the_evaluator_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(np.float64, 70, 70)
    monkeypatch.setattr(symbols, "provided", dict)
    with pytest.raises(AssertionError, match="'sort', 'matmul', 'inv', 'argsort'"):
        calls_of(everything, x)
    check(everything, x, tolerance=1e-12)


def test_many_threads_call_at_once() -> None:
    compiled = lamina.defn(everything, compiler="native", strict=True)
    arrays = [numbers(np.float64, 60, 60, seed=seed) for seed in range(8)]
    expected = [compiled(x) for x in arrays]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for want, got in zip(expected, pool.map(compiled, arrays), strict=True):
                assert all(map(np.array_equal, want, got))
