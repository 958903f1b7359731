"""Searching functions: where extremes and nonzero elements are, where values belong, and one array or the other."""

from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.trace.build import (
    as_value,
    broadcast_shape,
    common_dtype,
    decayed,
    emit,
    fresh,
    perform_check,
    to_dtype,
    with_kind,
)
from lamina.trace.concrete import concrete, is_undecided
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.order import emit_in_order
from lamina.trace.picked import nonzero as nonzero_places
from lamina.trace.reduction import array_of, axes_of, expect_no_out, place, reduce, total
from lamina.trace.value import Kind, Value

__all__ = [
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
]


@function
def argmax(x: Any, /, *, axis: Any = None, keepdims: bool = False, out: None = None) -> Value:
    """The place (int64) of the first greatest element along an axis, or in C order without one; NaN is above all.

    Raises `ValueError` where there is no element, `TypeError` for an axis that is no integer, `lamina.errors.AxisError`
    for one that x hasn't, `NotImplementedError` for NumPy's ``out``.

    >>> import lamina
    >>> lamina.argmax(lamina.asarray([[2, 7, 7], [9, 1, 2]]), axis=1)
    lamina.Array([1, 0], shape=(2,), dtype=int64)
    """
    expect_no_out(out)
    return place("argmax", array_of(x), axis, keepdims)


@function
def argmin(x: Any, /, *, axis: Any = None, keepdims: bool = False, out: None = None) -> Value:
    """The place (int64) of the first least element along an axis, or in C order without one; NaN is below all.

    Raises as `lamina.argmax`.

    >>> import lamina
    >>> lamina.argmin(lamina.asarray([3.0, float("nan"), 1.0]))
    lamina.Array(1, shape=(), dtype=int64)
    """
    expect_no_out(out)
    return place("argmin", array_of(x), axis, keepdims)


@function
def nonzero(x: Any, /) -> tuple[Any, ...]:
    """The places of the elements that aren't zero, in C order: one int64 array an axis.

    How many there are depends on the elements: where a run alone knows them, the result has its length beside it.
    Raises `ValueError` for a scalar.

    >>> import lamina
    >>> lamina.nonzero(lamina.asarray([[0, 5], [7, 0]]))
    (lamina.Array([0, 1], shape=(2,), dtype=int64), lamina.Array([1, 0], shape=(2,), dtype=int64))
    """
    value = array_of(x)
    if not value.shape:
        raise ValueError("x must have an axis, but it is a scalar: reshape it to (1,)")
    if is_undecided(value):
        return nonzero_places(to_dtype(value, dt.bool))
    instead = "a mask and lamina.where, a reduction with where=mask, or lamina.count_nonzero"
    return tuple(fresh(each) for each in np.nonzero(concrete(value, "the result", instead)))


@function
def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Value:
    """How many elements along axes aren't zero, int64. Arguments and errors are those of `lamina.sum`.

    >>> import lamina
    >>> lamina.count_nonzero(lamina.asarray([[0, 5, 1], [7, 0, 0]]), axis=1)
    lamina.Array([2, 1], shape=(2,), dtype=int64)
    """
    value = array_of(x)
    axes = axes_of(axis, len(value.shape), of_scalar=True)
    return total("sum", to_dtype(to_dtype(value, dt.bool), dt.int64), axes, keepdims=keepdims)


@function
def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Value:
    """How many elements of the ascending x1 are below each element of x2 (``side="right"``: not above it), int64.

    That is where each would be inserted. ``sorter`` are the indices that put x1 in order. Elements are compared in the
    dtype in which x1 and x2 meet, of Python numbers too. Raises `ValueError` where x1 hasn't one axis, for another
    side, and for a sorter of another length or, when it is run, with an index outside x1; `TypeError` for a sorter that
    isn't of integers.

    >>> import lamina
    >>> lamina.searchsorted(lamina.asarray([1, 3, 3, 5]), lamina.asarray([3, 6]))
    lamina.Array([1, 4], shape=(2,), dtype=int64)
    """
    x, values = array_of(x1, "x1"), array_of(x2, "x2")
    if len(x.shape) != 1:
        raise ValueError(f"x1 must have one axis, but it has shape {x.shape}")
    if sorter is not None:
        x = _in_order(x, array_of(sorter, "sorter"))
    dtype = dt.promote(x.dtype, values.dtype)
    return decayed(emit("searchsorted", to_dtype(x, dtype), to_dtype(values, dtype), side))


def _in_order(x: Value, sorter: Value) -> Value:
    if sorter.dtype.kind not in ("signed", "unsigned") or len(sorter.shape) != 1:
        raise TypeError(f"sorter must be integers along one axis, but it is {sorter.dtype} of shape {sorter.shape}")
    if sorter.shape != x.shape:
        raise ValueError(f"sorter must be as long as x1, {x.shape[0]}, but it has {sorter.shape[0]} elements")
    inside = elementwise(
        "logical_and", elementwise("greater_equal", sorter, 0), elementwise("less", sorter, x.shape[0])
    )
    perform_check(reduce("all", inside, (0,)), ValueError, "sorter has an index outside x1")
    return emit("gather", x, (to_dtype(sorter, dt.int64),))


@function
def where(condition: Any, x1: Any, x2: Any, /) -> Value:
    """The elements of x1 where the condition holds, of x2 elsewhere, in the dtype in which the two meet.

    The three are broadcast to one shape. A number that isn't 0 is true. A Python number takes the other's dtype unless
    its kind is higher: an int32 array and 0.5 give float64, a float32 array and 0.5 float32. A Python integer that the
    dtype doesn't hold wraps, as in NumPy. Raises `ValueError` for shapes that don't broadcast.

    >>> import lamina
    >>> lamina.where(lamina.asarray([True, False]), lamina.asarray([1, 2], dtype=lamina.int32), 0.5)
    lamina.Array([1. , 0.5], shape=(2,), dtype=float64)
    """
    chosen, x, y = as_value(condition, "condition"), as_value(x1, "x1"), as_value(x2, "x2")
    dtype = common_dtype((x, y))
    shape = broadcast_shape(chosen.shape, x.shape, y.shape)
    # a number is converted as a scalar is, without a check: it wraps
    x, y = (with_kind(each, Kind.SCALAR) if each.kind is Kind.NUMBER else each for each in (x, y))
    operands = (to_dtype(chosen, dt.bool), to_dtype(x, dtype), to_dtype(y, dtype))
    return emit_in_order("where", operands, shape=shape)
