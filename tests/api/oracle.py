"""What the tests of the api's chapters share: arrays of every dtype, shape and layout, and NumPy as the oracle.

NumPy computes on the very array that lamina gets, strides and all, so that sums are taken in the same order and results
must be the same, bit for bit.
"""

import warnings

import numpy as np
import pytest

import lamina

BOOL = ["bool"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMPY_DTYPES = BOOL + INTEGERS + FLOATS + COMPLEX

SHAPES = [(), (1,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0), (2, 0, 3)]


def sample(rng, shape, dtype, special=False):
    """Random elements of a dtype: with `special` NaN, infinities, -0.0 and ties among the floats; "nan": much NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.6
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = rng.integers(max(limits.min, -200), min(limits.max, 200), shape, endpoint=True).astype(dtype)
        return values if rng.random() < 0.5 or not special else np.where(rng.random(shape) < 0.3, limits.max, values)
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        result = np.empty(shape, dtype)
        result.real, result.imag = sample(rng, shape, part, special), sample(rng, shape, part, special)
        return result
    values = rng.standard_normal(shape).astype(dtype)
    if special == "nan":
        values = np.where(rng.random(shape) < 0.4, np.nan, values)
    elif special:
        values = np.where(rng.random(shape) < 0.3, np.round(values), values)
        values = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], shape), values)
    return np.asarray(values, dtype)


def layouts(rng, shape, dtype, special=False):
    """Arrays of one shape in several layouts, by name."""
    found = {"contiguous": sample(rng, shape, dtype, special)}
    if not shape:
        return found
    found["transposed"] = sample(rng, shape[::-1], dtype, special).T
    found["negative"] = sample(rng, shape, dtype, special)[tuple(slice(None, None, -1) for _ in shape)]
    found["strided"] = sample(rng, (*shape[:-1], 2 * shape[-1]), dtype, special)[..., ::2]
    found["broadcast"] = np.broadcast_to(sample(rng, (1, *shape[1:]), dtype, special), shape)
    if all(shape):
        windows = np.lib.stride_tricks.sliding_window_view
        found["windowed"] = windows(sample(rng, (sum(shape),), dtype, special), shape[-1])[: int(np.prod(shape[:-1]))]
        found["windowed"] = np.lib.stride_tricks.as_strided(
            found["windowed"],
            shape,
            (*[found["windowed"].strides[0]] * (len(shape) - 1), found["windowed"].strides[-1]),
        )
    return found


def axes_for(rank):
    """Every integer that is an axis of a rank, None, and some tuples."""
    return [None, (), *range(-rank, rank), *([(0, 1), (-1, 0)] if rank >= 2 else [])]


def wrong_axes(rank):
    """Axis arguments that don't fit a rank, or fit a scalar in NumPy's way."""
    return [rank, -rank - 1, (0, 0), (0, -rank), (0, rank), 1.0, "0", [0], *((0, -1) if not rank else ())]


def every_layout(rng, dtype, special=False, shapes=SHAPES):
    """Arrays of all shapes, and of the longest one in all layouts."""
    for shape in shapes:
        if shape == max(shapes, key=len):
            yield from layouts(rng, shape, dtype, special).items()
        else:
            yield "contiguous", sample(rng, shape, dtype, special)


def quiet(call, *args, **kwargs):
    """What NumPy returns, without its warnings."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return call(*args, **kwargs)


_CLASSES = (
    np.exceptions.AxisError,
    ZeroDivisionError,
    OverflowError,
    IndexError,
    NotImplementedError,
    TypeError,
    ValueError,
)


def error_class(error):
    """The class that lamina's error must be of: NumPy's, or Python's where NumPy's is a child of it."""
    return next(each for each in _CLASSES if isinstance(error, each))


def is_same(actual, expected, what=""):
    """Assert the same dtype, shape and bits; any NaN is like another."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    if actual.dtype.kind == "c":
        is_same(actual.real, expected.real, what)
        is_same(actual.imag, expected.imag, what)
        return
    equal = actual == expected
    if actual.dtype.kind == "f":
        equal = equal & (np.signbit(actual) == np.signbit(expected)) | np.isnan(actual) & np.isnan(expected)
    assert equal.all(), f"{what}: {actual}, expected {expected}"


def is_equal(actual, expected, what=""):
    """Like `is_same`, but 0.0 equals -0.0."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    np.testing.assert_array_equal(actual, expected, err_msg=what)


def is_near(actual, expected, what=""):
    """Like `is_same`, but for the last bits of a float: the order of a sum."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if expected.dtype.kind not in "fc":
        is_same(actual, expected, what)
        return
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, expected {expected.dtype}"
    np.testing.assert_allclose(actual, expected, rtol=8 * np.finfo(expected.dtype).eps, err_msg=what)


def leaves(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def is_scalar(result):
    return isinstance(result, (np.generic, bool, int, float, complex))


def agree(ours, theirs, arrays, cases, compare=is_same):
    """For each case, keyword arguments: ours of the arrays is theirs, eager and in one traced function.

    Results have NumPy's bits, dtypes and shapes, and traced ones are scalars where NumPy's are. Where NumPy raises, so
    does lamina, eager and traced, an error of the same class.
    """
    given = [lamina.asarray(array) for array in arrays]
    right, wrong = [], []
    for case in cases:
        try:
            right.append((case, leaves(quiet(theirs, *arrays, **case))))
        except Exception as error:  # noqa: BLE001  # whatever NumPy raises
            wrong.append((case, error_class(error)))
    traced = lamina.defn(lambda *values: [leaves(ours(*values, **case)) for case, _ in right])(*arrays)
    for (case, expected), staged in zip(right, traced, strict=True):
        eager = leaves(ours(*given, **case))
        assert len(eager) == len(staged) == len(expected)
        for one, other, oracle in zip(eager, staged, expected, strict=True):
            what = f"{case} of {[f'{a.dtype}{a.shape} strides {a.strides}' for a in arrays]}"
            assert isinstance(one, lamina.Array)
            compare(one, oracle, f"eager {what}")
            compare(other, oracle, f"traced {what}")
            assert is_scalar(other) == is_scalar(oracle), f"{what}: {type(other)}, expected {type(oracle)}"
    for case, error in wrong:
        with pytest.raises(error):
            ours(*given, **case)
        with pytest.raises(error):
            lamina.defn(lambda *values, case=case: ours(*values, **case))(*arrays)
