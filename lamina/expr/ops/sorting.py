"""Rows that order an axis, or search in an ordered one."""

from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr.ops.row import ALL, Family, Op, Shape, expect_kind, shape_along


def _argsort(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    # equal elements keep their order: sort the axis backwards, then turn the places and the result around
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
    places: np.ndarray = x.shape[axis] - 1 - np.flip(backwards, axis)
    return places


def _searchsorted_shape(x: Any, values: Any, side: str) -> Shape:
    if len(x.shape) != 1:
        raise ValueError(f"searchsorted: x has shape {x.shape}, but must have one axis")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side is {side!r}, but must be 'left' or 'right'")
    return values.shape  # type: ignore[no-any-return]


def _searchsorted_dtype(x: Any, values: Any, side: str) -> DType:
    if x.dtype != values.dtype:
        raise TypeError(f"searchsorted: x is {x.dtype} and the values are {values.dtype}; they must have one dtype")
    expect_kind("searchsorted", x, ALL)
    return dt.int64


ROWS = [
    Op(
        name="sort",
        params=("x", "axis"),
        arity=1,
        family=Family.SORTING,
        dtype=lambda x, axis: x.dtype,
        shape=shape_along("sort"),
        facts={},
        meaning=lambda x, axis: np.sort(x, axis=axis, kind="stable"),
        doc="Each line along an axis in ascending order, NaN last.",
    ),
    Op(
        name="argsort",
        params=("x", "axis", "descending"),
        arity=1,
        family=Family.SORTING,
        dtype=lambda x, axis, descending: dt.int64,
        shape=shape_along("argsort"),
        facts={},
        meaning=_argsort,
        doc="Where the elements of the sorted line are; equal elements keep their order.",
    ),
    Op(
        name="searchsorted",
        params=("x", "values", "side"),
        arity=2,
        family=Family.SORTING,
        dtype=_searchsorted_dtype,
        shape=_searchsorted_shape,
        facts={},
        meaning=lambda x, values, side: np.searchsorted(x, values, side=side),
        doc="How many elements of the ascending x are below each value (side right: not above it).",
    ),
]
