"""Rows that place elements: creation, joining, padding, gathering and scattering."""

from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr.ops.row import ALL, INTEGER, NUMERIC, Family, Op, Shape, expect_axis, expect_kind

# How `scatter` combines an update with what is there; "set" keeps the last update of an element.
COMBINE: dict[str, np.ufunc | None] = {
    "set": None,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


def _iota_dtype(count: int, dtype: DType) -> DType:
    if dtype.kind not in NUMERIC:
        raise TypeError(f"iota: the dtype is {dtype}, but must be an integer, a float or a complex dtype")
    return dtype


def _concat_dtype(arrays: tuple[Any, ...], axis: int) -> DType:
    if len({x.dtype for x in arrays}) != 1:
        raise TypeError(f"concat: the operands have dtypes {[str(x.dtype) for x in arrays]}, but must have one dtype")
    return arrays[0].dtype  # type: ignore[no-any-return]


def _concat_shape(arrays: tuple[Any, ...], axis: int) -> Shape:
    first = arrays[0].shape
    expect_axis("concat", axis, first)
    for x in arrays:
        if len(x.shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(x.shape, first, strict=True)) if i != axis
        ):
            raise ValueError(
                f"concat: the operands have shapes {[x.shape for x in arrays]}, which differ beside axis {axis}"
            )
    return (*first[:axis], sum(x.shape[axis] for x in arrays), *first[axis + 1 :])


def _pad_dtype(x: Any, value: Any, widths: tuple[tuple[int, int], ...]) -> DType:
    if value.dtype != x.dtype or value.shape != ():
        raise TypeError(f"pad: the value is {value.dtype}[{value.shape}], but must be one element of {x.dtype}")
    return x.dtype  # type: ignore[no-any-return]


def _pad_shape(x: Any, value: Any, widths: tuple[tuple[int, int], ...]) -> Shape:
    if len(widths) != len(x.shape) or any(before < 0 or after < 0 for before, after in widths):
        raise ValueError(
            f"pad: the widths {widths} must be one pair (before, after), not negative, an axis of shape {x.shape}"
        )
    return tuple(before + extent + after for extent, (before, after) in zip(x.shape, widths, strict=True))


def _pad(x: np.ndarray, value: np.ndarray, widths: tuple[tuple[int, int], ...]) -> np.ndarray:
    result = np.full(_pad_shape(x, value, widths), value, x.dtype)
    result[tuple(slice(before, before + extent) for extent, (before, _) in zip(x.shape, widths, strict=True))] = x
    return result


def _true_places_dtype(x: Any) -> DType:
    if x.dtype != dt.bool:
        raise TypeError(f"true_places: x is {x.dtype}, but must be bool")
    return dt.int64


def _true_places_shape(x: Any) -> Shape:
    if len(x.shape) != 1:
        raise ValueError(f"true_places: x has shape {x.shape}, but must have one axis")
    return x.shape  # type: ignore[no-any-return]


def _true_places(x: np.ndarray) -> np.ndarray:
    result = np.zeros(x.shape, np.int64)
    places = np.flatnonzero(x)
    result[: len(places)] = places
    return result


def _index_shape(name: str, x: Any, indices: tuple[Any, ...]) -> Shape:
    if not 1 <= len(indices) <= len(x.shape):
        raise ValueError(f"{name}: {len(indices)} index arrays for shape {x.shape}; expected 1 to {len(x.shape)}")
    for index in indices:
        expect_kind(name, index, INTEGER, "an index")
        if index.shape != indices[0].shape:
            raise ValueError(
                f"{name}: the index arrays have shapes {[i.shape for i in indices]}, but must have one shape"
            )
    return indices[0].shape  # type: ignore[no-any-return]


def _gather_shape(x: Any, indices: tuple[Any, ...]) -> Shape:
    return (*_index_shape("gather", x, indices), *x.shape[len(indices) :])


def _gather(x: np.ndarray, indices: tuple[np.ndarray, ...]) -> Any:
    return x[indices]


def _take_along_axis_shape(x: Any, indices: Any, axis: int) -> Shape:
    expect_axis("take_along_axis", axis, x.shape)
    expect_kind("take_along_axis", indices, INTEGER, "indices")
    rest = [(a, b) for i, (a, b) in enumerate(zip(x.shape, indices.shape, strict=False)) if i != axis]
    if len(indices.shape) != len(x.shape) or any(a != b for a, b in rest):
        raise ValueError(
            f"take_along_axis: indices of shape {indices.shape} must match shape {x.shape} beside axis {axis}"
        )
    return indices.shape  # type: ignore[no-any-return]


def _scatter_shape(x: Any, indices: tuple[Any, ...], updates: Any, combine: str) -> Shape:
    expected = (*_index_shape("scatter", x, indices), *x.shape[len(indices) :])
    if updates.shape != expected:
        raise ValueError(
            f"scatter: the updates have shape {updates.shape}, but the indexed elements have shape {expected}"
        )
    if combine not in COMBINE:
        raise ValueError(f"scatter: combine is {combine!r}, but must be one of {list(COMBINE)}")
    return x.shape  # type: ignore[no-any-return]


def _scatter_dtype(x: Any, indices: tuple[Any, ...], updates: Any, combine: str) -> DType:
    if updates.dtype != x.dtype:
        raise TypeError(f"scatter: the updates are {updates.dtype}, but must be {x.dtype}, as what they are put into")
    expect_kind("scatter", x, ALL)
    if not _combines(COMBINE.get(combine), x.dtype):
        raise TypeError(f"scatter: {combine!r} of two elements of {x.dtype} gives none of {x.dtype}")
    return x.dtype  # type: ignore[no-any-return]


def _combines(ufunc: np.ufunc | None, dtype: DType) -> bool:
    """Whether a ufunc gives a dtype for two elements of it; a dtype that NumPy lacks counts as one that it has."""
    if ufunc is None:
        return True
    element = dtype.numpy if dtype.numpy.isbuiltin == 1 else np.dtype("f4" if dtype.kind == "float" else "i1")
    try:
        return ufunc.resolve_dtypes((element, element, None))[-1] == element
    except TypeError:
        return False


def _scatter(x: np.ndarray, indices: tuple[np.ndarray, ...], updates: np.ndarray, combine: str) -> np.ndarray:
    result = np.array(x)
    ufunc = COMBINE[combine]
    if ufunc is None:
        result[indices] = updates
    else:
        ufunc.at(result, indices, updates)
    return result


ROWS = [
    Op(
        name="iota",
        params=("count", "dtype"),
        arity=0,
        family=Family.CREATION,
        dtype=_iota_dtype,
        shape=lambda count, dtype: (count,),
        facts={},
        meaning=lambda count, dtype: np.arange(count).astype(dtype.numpy),
        doc="0, 1, … count - 1.",
    ),
    Op(
        name="concat",
        params=("arrays", "axis"),
        arity=1,
        family=Family.INDEXING,
        dtype=_concat_dtype,
        shape=_concat_shape,
        facts={},
        meaning=lambda arrays, axis: np.concatenate(arrays, axis=axis),
        doc="The operands joined along an axis.",
    ),
    Op(
        name="pad",
        params=("x", "value", "widths"),
        arity=2,
        family=Family.INDEXING,
        dtype=_pad_dtype,
        shape=_pad_shape,
        facts={},
        meaning=_pad,
        doc="x with `value` before and after it along each axis.",
    ),
    Op(
        name="gather",
        params=("x", "indices"),
        arity=2,
        family=Family.INDEXING,
        dtype=lambda x, indices: x.dtype,
        shape=_gather_shape,
        facts={},
        meaning=_gather,
        doc="x[indices]: one integer array for each of the first axes; negative ones count from the end.",
    ),
    Op(
        name="true_places",
        params=("x",),
        arity=1,
        family=Family.INDEXING,
        dtype=_true_places_dtype,
        shape=_true_places_shape,
        facts={},
        meaning=_true_places,
        doc="The places at which a vector of bools is true, in order, and behind them 0.",
    ),
    Op(
        name="take_along_axis",
        params=("x", "indices", "axis"),
        arity=2,
        family=Family.INDEXING,
        dtype=lambda x, indices, axis: x.dtype,
        shape=_take_along_axis_shape,
        facts={},
        meaning=np.take_along_axis,
        doc="The elements of each line along an axis that the same line of the indices names.",
    ),
    Op(
        name="scatter",
        params=("x", "indices", "updates", "combine"),
        arity=3,
        family=Family.INDEXING,
        dtype=_scatter_dtype,
        shape=_scatter_shape,
        facts={},
        meaning=_scatter,
        doc="x with updates put at x[indices]: set (the last one counts), or combined with what is there, each once.",
    ),
]
