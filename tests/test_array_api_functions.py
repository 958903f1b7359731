"""What the array API standard asks of its functions: NumPy's results, and the dtypes and shapes that it names."""

import itertools
import math
import warnings

import numpy as np
import pytest

import lamina as xp
from lamina.array import Array
from tests.support.array_api_dtypes import (
    ALL,
    FLOATING,
    INTEGRAL,
    NUMERIC,
    REAL,
    REAL_FLOATING,
    SIGNED,
    is_same,
    to_numpy,
)

INDEXING = xp.int64


def array(shape, dtype=xp.float64):
    """Elements with ties, in no order, and their NumPy array."""
    numbers = np.arange(math.prod(shape)).reshape(shape) * 7 % 5
    return xp.asarray(numbers.astype(dtype.numpy)), numbers.astype(dtype.numpy)


# Creation


def test_arange():
    for args in ((5,), (1, 5), (5, 1, -2), (0, 1, 0.25), (3, 3), (2, 0), (-2.5,), (0, -1, -0.5), (0,), (1, 10, 3)):
        assert is_same(xp.arange(*args), np.arange(*args)), args
        for dtype in (xp.int8, xp.float32, xp.uint64) if min(args) >= 0 and all(type(a) is int for a in args) else ():
            assert is_same(xp.arange(*args, dtype=dtype, device="cpu"), np.arange(*args, dtype=dtype.numpy))
    assert is_same(xp.arange(4, step=2), np.arange(0, 4, 2)) and xp.arange(2.0).dtype == xp.float64


def test_linspace():
    for num, endpoint in itertools.product((0, 1, 2, 5), (True, False)):
        for dtype in (None, *FLOATING):
            expected = np.linspace(-1, 2, num, endpoint=endpoint, dtype=dtype and dtype.numpy)
            assert is_same(xp.linspace(-1, 2, num, endpoint=endpoint, dtype=dtype), expected)
        assert is_same(xp.linspace(1j, 2, num=num), np.linspace(1j, 2, num))
        assert xp.linspace(0, 10, num, dtype=xp.int64).dtype == xp.int64


def test_filled_arrays():
    for shape in ((), (3,), (2, 0), 4, (2, 1, 3)):
        asked = (shape,) if type(shape) is int else shape
        for dtype in (None, *ALL):
            for name, value in (("zeros", 0), ("ones", 1), ("empty", None)):
                x = getattr(xp, name)(shape, dtype=dtype, device="cpu")
                assert x.shape == asked and x.dtype == (dtype or xp.float64)
                assert value is None or np.all(to_numpy(x) == value)
                like = getattr(xp, f"{name}_like")(x)
                assert (like.shape, like.dtype) == (x.shape, x.dtype)
                assert getattr(xp, f"{name}_like")(x, dtype=xp.int8, device=x.device).dtype == xp.int8
            assert np.all(to_numpy(xp.full(shape, True, dtype=dtype)) == 1)
            assert is_same(xp.full_like(xp.zeros(shape, dtype=dtype), 1), xp.ones(shape, dtype=dtype))
        for value, dtype in ((True, xp.bool), (3, xp.int64), (1.5, xp.float64), (1j, xp.complex128)):
            x = xp.full(shape, value)
            assert x.dtype == dtype and x.shape == asked and np.all(to_numpy(x) == value)
    assert math.isnan(float(xp.full((1,), xp.nan, dtype=xp.float32)[0]))


def test_triangles_and_grids():
    for rows, cols, k in itertools.product((0, 1, 3), (None, 0, 2, 4), (-4, -1, 0, 1, 3)):
        for dtype in (None, xp.bool, xp.int8, xp.complex64):
            expected = np.eye(rows, cols, k, dtype=dtype.numpy if dtype else float)
            assert is_same(xp.eye(rows, cols, k=k, dtype=dtype), expected)
    for shape, k in itertools.product(((3, 4), (2, 3, 3), (0, 2), (1, 1)), (-2, -1, 0, 1, 5)):
        for dtype in ALL:
            x, expected = array(shape, dtype)
            assert is_same(xp.tril(x, k=k), np.tril(expected, k)) and is_same(xp.triu(x, k=k), np.triu(expected, k))
    vectors = [np.arange(n, dtype="f4") for n in (2, 3, 1, 0)]
    for count, indexing in itertools.product(range(5), ("xy", "ij")):
        out = xp.meshgrid(*map(xp.asarray, vectors[:count]), indexing=indexing)
        assert isinstance(out, list | tuple) and len(out) == count
        for got, expected in zip(out, np.meshgrid(*vectors[:count], indexing=indexing), strict=True):
            assert is_same(got, expected)


# Data types


def test_astype():
    for source, target in itertools.product(ALL, ALL):
        if source.kind == "complex" and target.kind != "complex":
            continue
        x, expected = array((2, 3), source)
        y = xp.astype(x, target)
        assert is_same(y, expected.astype(target.numpy)) and not np.shares_memory(to_numpy(y), to_numpy(x))
    assert xp.astype(x, x.dtype, copy=False) is x and xp.astype(x, x.dtype, copy=True) is not x
    assert is_same(xp.astype(xp.asarray([0.0, xp.nan, 0.5, -0.0]), xp.bool), [False, True, True, False])
    assert is_same(xp.astype(xp.asarray([1.9, -1.9]), xp.int32), np.asarray([1, -1], "i4"))
    assert xp.astype(x, xp.complex64, device=x.device).device == x.device


# Indexing


def test_take():
    x, expected = array((3, 4))
    for axis in (0, 1, -1, -2):
        for dtype in INTEGRAL:
            assert is_same(xp.take(x, xp.asarray([2, 0, 2], dtype=dtype), axis=axis), expected.take([2, 0, 2], axis))
    assert is_same(xp.take(x[0, :], xp.asarray([3, 1])), expected[0].take([3, 1]))
    assert is_same(xp.take(x, xp.asarray([], dtype=xp.int64), axis=1), expected[:, :0])
    order = np.argsort(expected, axis=-1)
    assert is_same(xp.take_along_axis(x, xp.asarray(order)), np.take_along_axis(expected, order, -1))
    assert is_same(xp.take_along_axis(x, xp.asarray(order[:1]), axis=1), np.take_along_axis(expected, order[:1], 1))
    assert is_same(
        xp.take_along_axis(x, xp.asarray([[1, 2, 0, 0]]), axis=0),
        np.take_along_axis(expected, np.array([[1, 2, 0, 0]]), 0),
    )
    with pytest.raises(IndexError):
        xp.take(x, xp.asarray([4]), axis=1)


# Manipulation


def test_reshape_and_what_it_copies():
    x, expected = array((2, 6))
    for shape in ((12,), (3, 4), (-1,), (4, -1), (2, 1, 6), (2, -1, 3)):
        for copy in (None, True, False):
            y = xp.reshape(x, shape, copy=copy)
            assert is_same(y, expected.reshape(shape)) and np.shares_memory(to_numpy(y), to_numpy(x)) == (
                copy is not True
            )
    with pytest.raises(ValueError):
        xp.reshape(x.T, (12,), copy=False)
    for shape in ((5,), (-1, -1), (5, -1)):
        with pytest.raises(ValueError):
            xp.reshape(x, shape)
    assert xp.reshape(xp.ones((0, 3)), (3, 0, 2)).shape == (3, 0, 2) and xp.reshape(xp.asarray(1), (1, 1)).shape == (
        1,
        1,
    )


def test_axes_are_moved():
    x, expected = array((2, 3, 4))
    for axes in itertools.permutations(range(3)):
        assert is_same(xp.permute_dims(x, axes), expected.transpose(axes))
    for source, to in ((0, -1), (-1, 0), ((0, 1), (1, 2)), ((2, 0), (-3, -1))):
        assert is_same(xp.moveaxis(x, source, to), np.moveaxis(expected, source, to))
    for axis in (None, 0, -1, (0, 2), (1,)):
        assert is_same(xp.flip(x, axis=axis), np.flip(expected, axis))
    for shift, axis in ((2, None), (1, 0), (-5, 1), ((1, 2), (0, 2)), ((3, -1), (-1, -1)), (25, -1)):
        assert is_same(xp.roll(x, shift, axis=axis), np.roll(expected, shift, axis))
    for axis in range(-4, 4):
        assert is_same(xp.expand_dims(x, axis=axis), np.expand_dims(expected, axis))
    assert xp.expand_dims(x).shape == (1, 2, 3, 4)
    for axis in (0, (0,), (0, -1), (0, 2)):
        assert is_same(xp.squeeze(x[:1, :, :1], axis), np.squeeze(expected[:1, :, :1], axis))
    for call in (lambda: xp.squeeze(x, 0), lambda: xp.permute_dims(x, (0, 0, 1)), lambda: xp.permute_dims(x, (0, 1))):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: xp.expand_dims(x, axis=4), lambda: xp.expand_dims(x, axis=-5)):
        with pytest.raises(IndexError):
            call()


def test_arrays_are_joined_and_split():
    x, expected = array((2, 3))
    y, other = array((2, 3), xp.int8)
    for axis in (0, 1, -1, None):
        assert is_same(xp.concat([x, y, x], axis=axis), np.concatenate([expected, other, expected], axis))
        assert is_same(xp.concat((y,), axis=axis), np.concatenate([other], axis))
    for axis in range(-3, 3):
        assert is_same(xp.stack((x, y), axis=axis), np.stack((expected, other), axis))
    for axis in (0, 1, -1, -2):
        parts = xp.unstack(x, axis=axis)
        assert type(parts) is tuple and len(parts) == x.shape[axis]
        assert all(is_same(got, want) for got, want in zip(parts, np.unstack(expected, axis=axis), strict=True))
    for repetitions in ((2,), (2, 3), (2, 1, 2), (), (0, 1)):
        assert is_same(xp.tile(x, repetitions), np.tile(expected, repetitions))
    for repeats, axis in ((2, None), (3, 1), (0, 0), ([1, 2], 0), ([2, 0, 1], -1), ([1, 0, 2, 0, 1, 1], None)):
        assert is_same(
            xp.repeat(x, repeats if type(repeats) is int else xp.asarray(repeats), axis=axis),
            np.repeat(expected, repeats, axis),
        )
    out = xp.broadcast_arrays(x, xp.ones((3, 1, 1)), xp.asarray(1))
    assert (
        isinstance(out, list | tuple)
        and [o.shape for o in out] == [(3, 2, 3)] * 3
        and [o.dtype for o in out][2] == xp.int64
    )
    assert is_same(xp.broadcast_to(x, (2, 2, 3)), np.broadcast_to(expected, (2, 2, 3)))
    for call in (
        lambda: xp.broadcast_to(x, (3,)),
        lambda: xp.broadcast_arrays(x, xp.ones(2)),
        lambda: xp.stack([x, x[0, :]]),
        lambda: xp.concat([x, x.T]),
    ):
        with pytest.raises(ValueError):
            call()


# Searching, sets, sorting


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_searching(dtype):
    x, expected = array((3, 4), dtype)
    for axis, keepdims in itertools.product((None, 0, 1, -1), (False, True)):
        for name in ("argmax", "argmin") if dtype in REAL else ():
            out = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
            assert is_same(out, getattr(np, name)(expected, axis, keepdims=keepdims), INDEXING)
        assert is_same(
            xp.count_nonzero(x, axis=axis, keepdims=keepdims), np.count_nonzero(expected, axis, keepdims=keepdims)
        )
    assert is_same(xp.count_nonzero(x, axis=(0, 1)), np.count_nonzero(expected)) and is_same(
        xp.count_nonzero(x[0, 0]), 0
    )
    out = xp.nonzero(x)
    assert type(out) is tuple and len(out) == 2
    assert all(is_same(got, want, INDEXING) for got, want in zip(out, np.nonzero(expected), strict=True))
    assert is_same(x[out], expected[np.nonzero(expected)]) and len(xp.nonzero(xp.zeros((2, 0, 1), dtype=dtype))) == 3
    with pytest.raises(ValueError):
        xp.nonzero(xp.asarray(1, dtype=dtype))
    condition = expected == 1
    for other in (xp.ones((3, 1), dtype=dtype), xp.zeros((), dtype=dtype)):
        assert is_same(xp.where(xp.asarray(condition), x, other), np.where(condition, expected, to_numpy(other)))
    if dtype in REAL:
        edges, unsorted = np.sort(expected, axis=None), expected.reshape(-1)
        for side in ("left", "right"):
            want = np.searchsorted(edges, expected, side)
            assert is_same(xp.searchsorted(xp.asarray(edges), x, side=side), want, INDEXING)
            sorter = np.argsort(unsorted)
            assert is_same(
                xp.searchsorted(xp.asarray(unsorted), x, side=side, sorter=xp.asarray(sorter)), want, INDEXING
            )
        assert xp.searchsorted(xp.asarray(edges), x[0, 0]).shape == ()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_sets(dtype):
    x, expected = array((3, 4), dtype)
    result = xp.unique_all(x)
    assert result._fields == ("values", "indices", "inverse_indices", "counts")
    values, indices, inverse, counts = result
    assert is_same(values, np.unique(expected)) and inverse.shape == x.shape
    assert [i.dtype for i in (indices, inverse, counts)] == [INDEXING] * 3
    assert is_same(xp.reshape(x, (-1,))[indices], to_numpy(values)) and is_same(values[inverse], expected)
    assert [int(c) for c in counts] == [int(np.sum(expected == v)) for v in to_numpy(values)]
    assert xp.unique_counts(x)._fields == ("values", "counts") and is_same(xp.unique_counts(x).counts, to_numpy(counts))
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert is_same(xp.unique_inverse(x).inverse_indices, to_numpy(inverse)) and is_same(
        xp.unique_values(x), to_numpy(values)
    )
    if dtype in REAL_FLOATING:
        special = xp.asarray([xp.nan, 0.0, -0.0, xp.nan, xp.inf], dtype=dtype)
        assert xp.unique_values(special).shape == (4,) and is_same(xp.unique_counts(special).counts, [2, 1, 1, 1])
    empty = xp.unique_all(xp.ones((0, 2), dtype=dtype))
    assert [p.shape for p in empty] == [(0,), (0,), (0, 2), (0,)]


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_sorting(dtype):
    x, expected = array((4, 5), dtype)
    for axis, descending, stable in itertools.product((0, 1, -1), (False, True), (True, False)):
        order = xp.argsort(x, axis=axis, descending=descending, stable=stable)
        want = np.sort(expected, axis)
        assert is_same(
            xp.sort(x, axis=axis, descending=descending, stable=stable), np.flip(want, axis) if descending else want
        )
        # Stable also where it descends: of equal elements the first comes first.
        key = -expected.astype("f8") if descending else expected
        assert is_same(order, np.argsort(key, axis, stable=True), INDEXING)
    assert xp.sort(xp.ones((0, 2), dtype=dtype)).shape == (0, 2)


# Statistics and utilities


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_reductions(dtype):
    x, expected = array((2, 3, 4), dtype)
    wide = xp.int64 if dtype in SIGNED else xp.uint64 if dtype in INTEGRAL else dtype
    for axis, keepdims in itertools.product((None, 0, -1, (0, 2), (1, -3), ()), (False, True)):
        given = {"axis": axis, "keepdims": keepdims}
        for name in ("sum", "prod"):
            assert is_same(getattr(xp, name)(x, **given), getattr(np, name)(expected, **given), wide)
            assert getattr(xp, name)(x, dtype=dtype, **given).dtype == dtype
            assert getattr(xp, name)(x, dtype=xp.complex128, **given).dtype == xp.complex128
        for name in ("max", "min") if dtype in REAL else ():
            assert is_same(getattr(xp, name)(x, **given), getattr(np, name)(expected, **given), dtype)
        if dtype in REAL_FLOATING:
            assert is_same(xp.mean(x, **given), np.mean(expected, **given), dtype)
            for name, correction in itertools.product(("var", "std"), (0, 1, 0.5)):
                out = getattr(xp, name)(x, correction=correction, **given)
                with np.errstate(all="ignore"), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    want = getattr(np, name)(expected, correction=correction, **given)
                assert is_same(out, want, dtype)
    empty = xp.ones((0, 3), dtype=dtype)
    assert is_same(xp.sum(empty), 0, wide) and is_same(xp.prod(empty, axis=0), np.ones(3), wide)
    if dtype in REAL_FLOATING:
        assert math.isnan(float(xp.mean(empty))) and math.isnan(float(xp.std(xp.ones(2, dtype=dtype), correction=2)))
        nans = xp.asarray([1.0, xp.nan, 3.0], dtype=dtype)
        assert all(math.isnan(float(f(nans))) for f in (xp.sum, xp.prod, xp.max, xp.min, xp.mean, xp.std, xp.var))
    if dtype in REAL:
        with pytest.raises(ValueError):
            xp.max(empty)


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_running_totals_and_differences(dtype):
    x, expected = array((3, 4), dtype)
    wide = xp.int64 if dtype in SIGNED else xp.uint64 if dtype in INTEGRAL else dtype
    for name, start in (("cumulative_sum", 0), ("cumulative_prod", 1)):
        for axis, initial in itertools.product((0, 1, -1), (False, True)):
            want = getattr(np, name)(expected, axis=axis, include_initial=initial)
            assert is_same(getattr(xp, name)(x, axis=axis, include_initial=initial), want, wide)
        assert is_same(getattr(xp, name)(x[0, :], include_initial=True)[0], start, wide)
        assert getattr(xp, name)(x[0, :], dtype=xp.float64 if dtype in REAL else dtype).shape == (4,)
        with pytest.raises((ValueError, TypeError)):
            getattr(xp, name)(x)
    for axis, n in itertools.product((0, -1), (0, 1, 2, 5)):
        assert is_same(xp.diff(x, axis=axis, n=n), np.diff(expected, axis=axis, n=n), dtype)
    out = xp.diff(x, prepend=xp.ones((3, 1), dtype=dtype), append=xp.zeros((3, 2), dtype=dtype))
    assert is_same(
        out, np.diff(expected, prepend=np.ones((3, 1), dtype.numpy), append=np.zeros((3, 2), dtype.numpy)), dtype
    )


def test_all_and_any():
    for dtype in ALL:
        x, expected = array((2, 3), dtype)
        for axis, keepdims in itertools.product((None, 0, -1, (0, 1), ()), (False, True)):
            assert is_same(xp.all(x, axis=axis, keepdims=keepdims), np.all(expected, axis, keepdims=keepdims))
            assert is_same(xp.any(x, axis=axis, keepdims=keepdims), np.any(expected, axis, keepdims=keepdims))
        assert bool(xp.all(xp.ones((0,), dtype=dtype))) and not bool(xp.any(xp.ones((0,), dtype=dtype)))
    assert bool(xp.all(xp.asarray([xp.nan, xp.inf]))) and bool(xp.any(xp.asarray([0.0, xp.nan])))


# Linear algebra


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_linear_algebra(dtype):
    numbers = np.array([[4, 1, 2], [1, 5, 3], [2, 3, 6]], dtype.numpy) + np.arange(2).reshape(2, 1, 1).astype(
        dtype.numpy
    ) * np.eye(3, dtype=dtype.numpy)
    x, near = (
        xp.asarray(numbers),
        {"rtol": 1e-4 if dtype.real == xp.float32 else 1e-12, "atol": 1e-4 if dtype.real == xp.float32 else 1e-12},
    )
    linalg = xp.linalg

    def close(got, expected, asked=dtype):
        assert type(got) is Array and got.dtype == asked
        np.testing.assert_allclose(to_numpy(got), expected, **near)

    for upper in (False, True):
        factor = linalg.cholesky(x, upper=upper)
        close(factor.mT @ factor if upper else factor @ factor.mT, numbers)
        assert is_same(factor, to_numpy(xp.triu(factor) if upper else xp.tril(factor)))
    close(linalg.det(x), np.linalg.det(numbers))
    values, vectors = linalg.eigh(x)
    assert linalg.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    close(x @ vectors, to_numpy(vectors) * to_numpy(values)[:, None, :])
    close(linalg.eigvalsh(x), to_numpy(values), dtype.real)
    close(linalg.inv(x) @ x, np.broadcast_to(np.eye(3), (2, 3, 3)))
    close(linalg.pinv(x), np.linalg.inv(numbers))
    close(linalg.solve(x, x[:, :, :2]), np.linalg.solve(numbers, numbers[:, :, :2]))
    close(linalg.solve(x[0, ...], x[0, 0, :]), np.linalg.solve(numbers[0], numbers[0, 0]))
    close(linalg.matrix_power(x, 3), numbers @ numbers @ numbers)
    close(linalg.matrix_power(x, -1), np.linalg.inv(numbers))
    assert (
        is_same(linalg.matrix_rank(x), np.array([3, 3])) and int(linalg.matrix_rank(xp.ones((3, 4), dtype=dtype))) == 1
    )
    sign, logarithm = linalg.slogdet(x)
    assert linalg.slogdet(x)._fields == ("sign", "logabsdet")
    close(sign, np.ones(2))
    close(logarithm, np.log(np.linalg.det(numbers).real), dtype.real)
    for mode, shapes in (("reduced", ((3, 2), (2, 2))), ("complete", ((3, 3), (3, 2)))):
        result = linalg.qr(x[0, :, :2], mode=mode)
        assert result._fields == ("Q", "R") and (result.Q.shape, result.R.shape) == shapes
        close(result.Q @ result.R, numbers[0, :, :2])
    for full, shapes in ((True, ((3, 3), (2,), (2, 2))), (False, ((3, 2), (2,), (2, 2)))):
        result = linalg.svd(x[0, :, :2], full_matrices=full)
        assert result._fields == ("U", "S", "Vh") and tuple(r.shape for r in result) == shapes
        close(result.U[:, :2] * result.S @ result.Vh, numbers[0, :, :2])
    close(linalg.svdvals(x), np.linalg.svd(numbers, compute_uv=False), dtype.real)
    for order in ("fro", "nuc", 1, -1, 2, -2, xp.inf, -xp.inf):
        for keepdims in (False, True):
            close(
                linalg.matrix_norm(x, ord=order, keepdims=keepdims),
                np.linalg.matrix_norm(numbers, ord=order, keepdims=keepdims),
                dtype.real,
            )
    for order, axis in itertools.product((0, 1, 2, 3, 2.5, -1, xp.inf, -xp.inf), (None, 0, -1, (0, 2))):
        close(
            linalg.vector_norm(x, ord=order, axis=axis),
            np.linalg.vector_norm(numbers, ord=order, axis=axis),
            dtype.real,
        )
    for offset in (-2, 0, 1, 5):
        assert is_same(linalg.diagonal(x, offset=offset), np.linalg.diagonal(numbers, offset=offset))
        close(linalg.trace(x, offset=offset), np.linalg.trace(numbers, offset=offset))
    close(linalg.outer(x[0, 0, :], x[1, 0, :2]), np.outer(numbers[0, 0], numbers[1, 0, :2]))
    close(linalg.cross(x, x[:, ::-1, :]), np.cross(numbers, numbers[:, ::-1]))
    close(linalg.cross(x, x[:, :, ::-1], axis=1), np.cross(numbers, numbers[:, :, ::-1], axis=1))


@pytest.mark.parametrize("dtype", NUMERIC, ids=str)
def test_products(dtype):
    x, expected = array((2, 3, 4), dtype)
    y, other = array((4, 2), dtype)
    for name in ("matmul", "tensordot", "vecdot", "matrix_transpose"):
        assert getattr(xp.linalg, name) is getattr(xp, name)
    assert is_same(xp.matmul(x, y), expected @ other) and is_same(x @ y[:, 0], expected @ other[:, 0])
    assert is_same(xp.matmul(x[0, 0, :], y), expected[0, 0] @ other) and (x[0, 0, :] @ y[:, 0]).shape == ()
    assert is_same(xp.matrix_transpose(x), expected.swapaxes(-1, -2)) and is_same(x.mT, expected.swapaxes(-1, -2))
    assert is_same(xp.vecdot(x, x, axis=1), np.vecdot(expected, expected, axis=1)) and xp.vecdot(x, y[:, 0]).shape == (
        2,
        3,
    )
    for axes in (1, 0, ((2,), (0,)), ((0, 2), (1, 0))):
        assert is_same(xp.tensordot(x, y, axes=axes), np.tensordot(expected, other, axes=axes))
    for call in (lambda: xp.matmul(x, xp.asarray(1, dtype=dtype)), lambda: x @ x, lambda: xp.matrix_transpose(y[:, 0])):
        with pytest.raises(ValueError):
            call()
    square = expected[:, :, :3].copy()
    z = xp.asarray(square)
    z @= xp.asarray(square[0])
    assert is_same(z, expected[:, :, :3] @ expected[0, :, :3])


# Memory


def test_views_share_memory_and_everything_else_is_fresh():
    """As in NumPy, so that a write to a result reaches the argument where it does there, and nowhere else."""
    numbers = np.arange(12.0).reshape(3, 4)
    x = xp.asarray(numbers)
    views = {
        "basic indices": x[1:, ::-1],
        "new axes": x[None, ..., 0],
        "T": x.T,
        "mT": x.mT,
        "permute_dims": xp.permute_dims(x, (1, 0)),
        "moveaxis": xp.moveaxis(x, 0, 1),
        "reshape": xp.reshape(x, (2, 6)),
        "expand_dims": xp.expand_dims(x, axis=1),
        "squeeze": xp.squeeze(x[:1, :], 0),
        "flip": xp.flip(x, axis=0),
        "broadcast_to": xp.broadcast_to(x, (2, 3, 4)),
        "broadcast_arrays": xp.broadcast_arrays(x, xp.ones((2, 1, 1)))[0],
        "matrix_transpose": xp.matrix_transpose(x),
        "unstack": xp.unstack(x)[0],
        "asarray": xp.asarray(x),
        "astype": xp.astype(x, xp.float64, copy=False),
        "from_dlpack": xp.from_dlpack(x),
    }
    ones = xp.ones(3, dtype=xp.int8)
    fresh = {
        "positive": xp.positive(x),
        "abs": xp.abs(xp.ones(3, dtype=xp.uint8)),
        "conj": xp.conj(x),
        "round": xp.round(ones),
        "floor": xp.floor(ones),
        "clip": xp.clip(x),
        "add": x + 0,
        "where": xp.where(xp.asarray(True), x, x),
        "copy": xp.asarray(x, copy=True),
        "reshape": xp.reshape(x, (3, 4), copy=True),
        "astype": xp.astype(x, xp.float64),
        "concat": xp.concat([x]),
        "stack": xp.stack([x]),
        "roll": xp.roll(x, 0),
        "tile": xp.tile(x, (1, 1)),
        "repeat": xp.repeat(x, 1, axis=0),
        "sort": xp.sort(x),
        "take": xp.take(x, xp.asarray([0, 1, 2]), axis=0),
        "take_along_axis": xp.take_along_axis(x, xp.asarray([[0, 1, 2, 3]] * 3)),
        "tril": xp.tril(x, k=9),
        "sum of no axis": xp.sum(x, axis=()),
        "max of no axis": xp.max(x, axis=()),
        "cumulative_sum": xp.cumulative_sum(x[0, :]),
        "full_like": xp.full_like(x, 1),
        "meshgrid": xp.meshgrid(x[0, :])[0],
        "index arrays": x[xp.asarray([0, 1, 2]), :],
        "mask": x[x > -1],
        "unique": xp.unique_values(x),
    }
    memory = to_numpy(x)
    writable = {name for name, v in views.items() if to_numpy(v).flags.writeable}
    assert {n for n, v in views.items() if not np.shares_memory(to_numpy(v), memory)} == set()
    assert {
        n
        for n, v in fresh.items()
        if np.shares_memory(to_numpy(v), memory) or np.shares_memory(to_numpy(v), to_numpy(ones))
    } == set()
    assert {n for n, v in fresh.items() if not to_numpy(v).flags.writeable} == set()
    assert set(views) - writable == {"broadcast_to", "broadcast_arrays"}
