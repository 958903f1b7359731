"""Shapes and axes as functions are given them, and arrays as they take them."""

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from lamina.layout import Layout
from lamina.trace.build import as_value, emit, permute, reshape, with_kind
from lamina.trace.reduction import axis_of
from lamina.trace.value import Kind, Value

Shape = tuple[int, ...]
Axes = SupportsIndex | Sequence[SupportsIndex]


def as_array(thing: Any, what: str = "x") -> Value:
    """Anything NumPy takes for an array as one: scalars too, though some of NumPy's functions give back a scalar."""
    return with_kind(as_value(thing, what), Kind.ARRAY)


def like(result: Value, x: Value) -> Value:
    """A movement's result, which is a scalar only if it has no axis and ``x`` is one."""
    return with_kind(result, Kind.SCALAR if x.kind is Kind.SCALAR and not result.shape else Kind.ARRAY)


def extents_of(shape: Any) -> list[int]:
    """A shape, or one extent, as plain ints of any size and sign; a traced number is asked for.

    >>> extents_of(3), extents_of((2, -1))
    ([3], [2, -1])
    """
    if isinstance(shape, Sequence) or (hasattr(shape, "__getitem__") and getattr(shape, "shape", None)):
        return [_extent(extent) for extent in shape]
    return [_extent(shape)]


def _extent(extent: Any) -> int:
    if isinstance(extent, (bool, np.bool_)):
        raise TypeError(f"an extent must be an integer, but it is {extent}")
    return operator.index(extent)


def shape_of(shape: Any) -> Shape:
    """A shape, or one extent, as a shape that an array may have; `ValueError` for any other.

    >>> shape_of(3)
    (3,)
    """
    return Layout.contiguous(tuple(extents_of(shape))).shape


def axes_in_order(axes: Axes, rank: int, *, repeated: bool = False) -> Shape:
    """Axes counted from the front, in the order in which they are given.

    Raises `AxisError` for one outside the rank, `ValueError` for one that is there twice, unless it may be.

    >>> axes_in_order((-1, 0), 3), axes_in_order(1, 3)
    ((2, 0), (1,))
    """
    given = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    numbers = tuple(axis_of(axis, rank) for axis in given)
    if not repeated and len(set(numbers)) != len(numbers):
        raise ValueError(f"repeated axis in {given} of an array of {rank} axes")
    return numbers


def line_axis(value: Value, axis: Any) -> tuple[Value, int]:
    """The array and the axis along which a function takes its elements: flattened first without one, or of no axis."""
    if axis is None or not value.shape:
        return reshape(value, (math.prod(value.shape),)), axis_of(0 if axis is None else axis, 1)
    return value, axis_of(axis, value.ndim)


def along(value: Value, axis: int, index: Value) -> Value:
    """The elements at these places of one axis, which the index's axes replace; they are outermost in its memory."""
    rest = tuple(other for other in range(value.ndim) if other != axis)
    taken = emit("gather", permute(value, (axis, *rest)), (index,))
    before = range(index.ndim, index.ndim + axis)
    return permute(taken, (*before, *range(index.ndim), *range(index.ndim + axis, taken.ndim)))
