"""Elements that faults are found with, of every dtype, arrays in every layout, and comparison to the last bit."""

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from lamina import dtype as dt

BFLOAT16, INT4, UINT4 = (np.dtype(each) for each in (ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4))

# By the letters that the tables of tests use for kinds.
KINDS: dict[str, tuple[np.dtype, ...]] = {
    "b": (np.dtype(bool),),
    "i": (INT4, *map(np.dtype, ("int8", "int16", "int32", "int64"))),
    "u": (UINT4, *map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))),
    "f": (BFLOAT16, *map(np.dtype, ("float16", "float32", "float64"))),
    "c": (np.dtype("complex64"), np.dtype("complex128")),
}
DTYPES = [dtype for dtypes in KINDS.values() for dtype in dtypes]
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 3)]


def kind_of(dtype: np.dtype) -> str:
    """The letter of a dtype's kind."""
    return next(letter for letter, dtypes in KINDS.items() if dtype in dtypes)


def edges(dtype: np.dtype) -> np.ndarray:
    """The elements of a dtype that faults are found with: limits, zeros of both signs, ties, infinities, NaN."""
    kind = kind_of(dtype)
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = dt.iinfo(dtype)
        low, high = info.min, info.max
        numbers = {low, low + 1, low // 2, -1, 0, 1, 2, 3, 5, 7, high // 2, high - 1, high}
        return np.array(
            [n for n in sorted(numbers) if low <= n <= high], np.int64 if kind == "i" else np.uint64
        ).astype(dtype)
    if kind == "f":
        limits = dt.finfo(dtype)
        size = [0.0, 1.0, 0.5, 1.5, 2.0, 2.5, 3.7, 10.0, 40.0, limits.eps, limits.smallest_subnormal]
        size += [limits.smallest_normal, limits.max, np.inf]
        return np.array([*size, *(-x for x in size), np.nan], np.float64).astype(dtype)
    part = np.empty(0, dtype).real.dtype
    parts = np.array([0.0, -0.0, 1.0, -2.5, 0.5, 30.0, np.finfo(part).tiny, np.inf, -np.inf, np.nan], part)
    result = np.empty((parts.size, parts.size), dtype)
    result.real, result.imag = parts[:, None], parts
    return result.reshape(-1)


def tame(rng: np.random.Generator, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """Random elements of moderate size, with no special ones."""
    kind = kind_of(dtype)
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    if kind in "iu":
        return np.asarray(rng.integers(-5 if kind == "i" else 0, 6, shape)).astype(dtype)
    values = np.asarray(rng.standard_normal(shape) * 3)
    return (values + 1j * rng.standard_normal(shape) if kind == "c" else values).astype(dtype)


def wild(rng: np.random.Generator, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """Random elements, the `edges` among them."""
    chosen = rng.choice(edges(dtype), shape)
    return np.where(rng.random(shape) < 0.7, chosen, tame(rng, dtype, shape)).astype(dtype)


def layouts(shape: tuple[int, ...], draw: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of a shape in each layout, by name; ``draw(shape)`` gives their elements."""
    yield "contiguous", draw(shape)
    if not shape:
        return
    yield "transposed", draw(shape[::-1]).T
    yield "negative", draw(shape)[(slice(None, None, -1),) * len(shape)]
    yield "strided", draw((*shape[:-1], 2 * shape[-1]))[..., ::2]
    yield "broadcast", np.broadcast_to(draw((1, *shape[1:])), shape)
    if len(shape) > 1 and all(shape):
        line = draw((*shape[:-2], shape[-2] + shape[-1] - 1))
        yield "windowed", np.lib.stride_tricks.sliding_window_view(line, shape[-1], axis=-1)


def arrays(draw: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays of every shape, those of rank 2 and 3 in every layout."""
    for shape in SHAPES:
        for name, array in layouts(shape, draw):
            if name == "contiguous" or (len(shape) > 1 and array.size):
                yield f"{shape} {name}", array


def wide(array: np.ndarray) -> np.ndarray:
    """An array in a dtype of NumPy's own that has all its values: bfloat16 in float32, packed integers in int64."""
    return array.astype(
        {BFLOAT16: np.float32, INT4: np.int64, UINT4: np.int64}.get(array.dtype, array.dtype), copy=False
    )


def narrow(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A `wide` result in the dtype it belongs to: rounded, or the low bits."""
    if dtype in (INT4, UINT4):
        low = array.astype(np.int64) & 15
        return (np.where(low > 7, low - 16, low) if dtype == INT4 else low).astype(np.int8).astype(dtype)
    return array.astype(dtype)


def difference(
    actual: Any, expected: Any, *, ulps: int = 0, signed_zeros: bool = True, scale: np.ndarray | None = None
) -> str:
    """How two arrays differ, else "". They are the same if dtype, shape and every element are, NaN being NaN.

    `ulps` is how far floats may be apart, in units of the dtype's eps relative to `scale`, which is the size of the
    expected ones if it isn't given.

    >>> difference(np.ones(2), np.array([1.0, 1.0 + 2e-16])), difference(np.ones(2), [1.0, 1.0 + 2e-16], ulps=1)
    ('at (1,): np.float64(1.0) came, np.float64(1.0000000000000002) was expected', '')
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    if (actual.dtype, actual.dtype.type, actual.shape) != (expected.dtype, expected.dtype.type, expected.shape):
        ours, theirs = (f"{each.dtype}{each.shape} of {each.dtype.type.__name__}" for each in (actual, expected))
        return f"{ours} came, {theirs} was expected"
    kind = kind_of(expected.dtype)
    if kind not in "fc":
        same = actual == expected
    else:
        came, wanted = wide(actual), wide(expected)
        pairs = ((came, wanted),) if kind == "f" else ((came.real, wanted.real), (came.imag, wanted.imag))
        same = np.logical_and.reduce([_equal(a, b, signed_zeros) for a, b in pairs])
        if ulps:
            same |= _near(came, wanted, ulps, dtype_of(expected), scale)
    if np.all(same):
        return ""
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"at {where}: {actual[where]!r} came, {expected[where]!r} was expected"


def _equal(came: np.ndarray, wanted: np.ndarray, signed_zeros: bool) -> Any:
    same = (came == wanted) & (not signed_zeros or np.signbit(came) == np.signbit(wanted))
    return same | (np.isnan(came) & np.isnan(wanted))


def _near(came: np.ndarray, wanted: np.ndarray, ulps: int, dtype: dt.DType, scale: np.ndarray | None) -> Any:
    """Of complex numbers the magnitude counts: the parts' own signs and sizes are of no account."""
    limits = dt.finfo(dtype)
    exact = np.complex128 if came.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        apart = np.abs(came.astype(exact) - wanted.astype(exact))
        size = np.abs(wanted.astype(exact)) if scale is None else np.asarray(scale, np.float64)
        limit = ulps * limits.eps * size + limits.smallest_subnormal
    return np.isfinite(came) & np.isfinite(wanted) & (apart <= limit)


def dtype_of(array: np.ndarray) -> dt.DType:
    """Lamina's dtype of a NumPy array."""
    return dt.BY_NUMPY[array.dtype]
