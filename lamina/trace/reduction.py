"""Reductions on anything NumPy takes: which axes, over which elements, from which start, and of which kind.

The reducing functions of `lamina.api` differ in little more than the op. What they share is NumPy's: an axis is an
integer, a tuple or None; ``where`` leaves elements out and ``initial`` comes before the first one; without ``keepdims``
the axes go, and a result of no axis is a scalar.
"""

import math
import operator
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.errors import AxisError
from lamina.trace.build import (
    as_value,
    broadcast_shape,
    broadcast_to,
    constant,
    decayed,
    emit,
    permute,
    reshape,
    to_dtype,
    with_kind,
)
from lamina.trace.elementwise import elementwise
from lamina.trace.order import order_of, ordered
from lamina.trace.value import Kind, Value

Shape = tuple[int, ...]

# What takes the part of elements that are left out, and what joins a start with the rest.
_IDENTITY: dict[str, Any] = {"sum": 0, "prod": 1, "any": False, "all": True}
_STEP = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
# A sum of bools in bool is "or", a product "and".
_OF_BOOLS = {"sum": "any", "prod": "all"}


def array_of(thing: Any, what: str = "x") -> Value:
    """Anything NumPy takes for an array as a value, which is an array or a scalar: a Python number is weak no more."""
    value = as_value(thing, what)
    return with_kind(value, Kind.ARRAY) if value.kind is Kind.NUMBER else value


def filled(number: Any, dtype: DType, shape: Shape) -> Value:
    """An array of one number."""
    return broadcast_to(constant(number, dtype, Kind.ARRAY), shape)


def expect_no_out(out: Any) -> None:
    """Raise `NotImplementedError` where NumPy's argument ``out`` is given."""
    if out is not None:
        raise NotImplementedError("out is not supported: use the result that is returned")


# Axes


def axis_of(axis: Any, rank: int) -> int:
    """An axis counted from the front; `TypeError` for what is no integer, `AxisError` for one outside the rank."""
    if isinstance(axis, bool):
        raise TypeError(f"an axis must be an integer, but it is {axis}")
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise AxisError(f"axis {number} is out of bounds for an array of {rank} axes")
    return number % rank


def axes_of(axis: Any, rank: int, *, of_scalar: bool = False) -> Shape:
    """The axes of a reduction, increasing: all for None, none for ``()``.

    NumPy's own reductions take axis 0 of a scalar for none: ``of_scalar``. Raises `TypeError` for what is no integer,
    tuple or None, `AxisError` for an axis outside the rank, `ValueError` for one that is there twice.
    """
    if axis is None:
        return tuple(range(rank))
    if not isinstance(axis, tuple):
        return () if of_scalar and rank == 0 and axis_of(axis, 1) == 0 else (axis_of(axis, rank),)
    axes = sorted(axis_of(each, rank) for each in axis)
    if len(set(axes)) != len(axes):
        raise ValueError(f"an axis is there twice in axis {axis} of an array of {rank} axes")
    return tuple(axes)


def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """The shape that is left of a shape without its axes, or with extent 1 in place of each."""
    return tuple(1 if i in axes else extent for i, extent in enumerate(shape) if keepdims or i not in axes)


def flat(x: Value) -> Value:
    """The elements in C order, along one axis."""
    return reshape(x, (math.prod(x.shape),))


def count_along(shape: Shape, axes: Shape) -> int:
    """How many elements meet in one."""
    return math.prod(shape[axis] for axis in axes)


# Elements left out, and a start


def mask_of(where: Any, shape: Shape) -> Value | None:
    """NumPy's argument ``where`` as bools of the shape; None for True. `ValueError` where it doesn't fit."""
    if where is True:
        return None
    mask = to_dtype(array_of(where, "where"), dt.bool)
    if broadcast_shape(mask.shape, shape) != shape:
        raise ValueError(f"where has shape {mask.shape}, which doesn't broadcast to shape {shape} of the elements")
    return broadcast_to(mask, shape)


def _start(initial: Any, dtype: DType) -> Value:
    value = as_value(initial, "initial")
    if value.shape:
        raise ValueError(f"initial must be one number, but it has shape {value.shape}")
    if value.dtype.kind == "complex" and dtype.kind != "complex":
        raise TypeError(f"initial is {value.dtype}, but the result is {dtype}, which has no imaginary part")
    # of bools, any number will do
    return with_kind(to_dtype(with_kind(value, Kind.SCALAR) if dtype == dt.bool else value, dtype), Kind.SCALAR)


# Reductions


def reduce(op: str, x: Value, axes: Shape, keepdims: bool = False) -> Value:
    """A reduction of all elements along the axes."""
    shape = reduced_shape(x.shape, axes, keepdims)
    order = order_of([x], len(x.shape))
    if order is None:
        return decayed(reshape(emit(op, x, axes), shape))
    # in memory as the elements that are left
    reduced = emit(op, permute(x, order), tuple(sorted(map(order.index, axes))))
    left = [axis for axis in order if axis not in axes]
    return decayed(reshape(ordered(reduced, tuple(sorted(left).index(axis) for axis in left)), shape))


def total(op: str, x: Value, axes: Shape, *, keepdims: bool = False, initial: Any = None, where: Any = True) -> Value:
    """A reduction that has a value for no elements, in x's dtype: "sum", "prod", "any" or "all"."""
    op = _OF_BOOLS.get(op, op) if x.dtype == dt.bool else op
    mask = mask_of(where, x.shape)
    if mask is not None:
        x = emit("where", mask, x, filled(_IDENTITY[op], x.dtype, x.shape))
    result = reduce(op, x, axes, keepdims)
    if initial is None:
        return result
    step = {"any": "logical_or", "all": "logical_and"}.get(op) or _STEP[op]
    return elementwise(step, _start(initial, x.dtype), result)


def extremum(
    op: str, x: Value, axes: Shape, *, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Value:
    """A reduction that has no value for no elements, "max" or "min", unless it has a start."""
    mask = mask_of(where, x.shape)
    if initial is None:
        if mask is not None:
            raise ValueError(f"{op} has no value where no element is left: give initial beside where")
        return reduce(op, x, axes, keepdims)
    start = _start(initial, x.dtype)
    if mask is not None:
        x = emit("where", mask, x, broadcast_to(start, x.shape))
    if count_along(x.shape, axes) == 0:
        return decayed(broadcast_to(start, reduced_shape(x.shape, axes, keepdims)))
    return elementwise(_STEP[op], start, reduce(op, x, axes, keepdims))


def place(op: str, x: Value, axis: Any, keepdims: bool = False) -> Value:
    """Where the first extreme element is, "argmax" or "argmin": along an axis, or among all in C order.

    The axis 0 of a scalar is its only element. Raises `ValueError` where there is no element, and as `axis_of`.
    """
    rank = len(x.shape)
    if axis is None or rank == 0:
        axis_of(0 if axis is None else axis, 1)
        return decayed(reshape(emit(op, flat(x), 0), (1,) * rank if keepdims else ()))
    along = axis_of(axis, rank)
    return decayed(reshape(emit(op, x, along), reduced_shape(x.shape, (along,), keepdims)))


# Sums in NumPy's dtypes, means and variances in NumPy's steps


def total_dtype(dtype: DType) -> DType:
    """The dtype of a sum or product where none is asked for: 64 bits for bools and integers, else the elements'."""
    return {"bool": dt.int64, "signed": dt.int64, "unsigned": dt.uint64}.get(dtype.kind, dtype)


def mean(x: Value, axes: Shape, dtype: DType | None = None, *, keepdims: bool = False, where: Any = True) -> Value:
    """The sum by the count: of integers in float64, of float16 and bfloat16 with the sum in float32."""
    half = dtype is None and x.dtype in (dt.float16, dt.bfloat16)
    dtype = dtype or (dt.float32 if half else _inexact(x.dtype))
    count = counted(x.shape, axes, keepdims, where)
    summed = total("sum", to_dtype(x, dtype), axes, keepdims=keepdims, where=where)
    if half and not summed.shape:
        return to_dtype(elementwise("divide", summed, count), x.dtype)  # NumPy rounds one mean once, an array twice
    return to_dtype(_by_count(summed, count), x.dtype if half else dtype)


def variance(
    x: Value, axes: Shape, dtype: DType | None, correction: Any, *, keepdims: bool = False, where: Any = True
) -> Value:
    """The squares of the distances from the mean, summed, by the count less a correction: two passes, as in NumPy."""
    if dtype is None and x.dtype != _inexact(x.dtype):
        dtype = dt.float64
    inner = dtype or x.dtype
    summed = total("sum", to_dtype(x, inner), axes, keepdims=True, where=where)
    center = _by_count(summed, counted(x.shape, axes, True, where))
    distance = elementwise("subtract", x, center)
    if distance.dtype.kind == "complex" and x.dtype.kind in ("complex", "bool"):
        real, imag = emit("square", emit("real", distance)), emit("square", emit("imag", distance))
        squares = elementwise("add", real, imag)
    else:
        squares = elementwise("square", distance)
    summed = total("sum", to_dtype(squares, dtype or squares.dtype), axes, keepdims=keepdims, where=where)
    return _by_count(summed, less_correction(counted(x.shape, axes, keepdims, where), correction))


def root(x: Value) -> Value:
    """The square root in x's dtype, which NumPy refuses for an array of integers and not for one integer."""
    if x.shape and x.dtype != _inexact(x.dtype):
        raise TypeError(f"a standard deviation is no {x.dtype}: ask for a float dtype")
    return to_dtype(elementwise("sqrt", x), x.dtype)


def _inexact(dtype: DType) -> DType:
    return dtype if dtype.kind in ("float", "complex") else dt.float64


def _by_count(x: Value, count: Any) -> Value:
    """The quotient in x's dtype. NumPy divides in float64 and rounds, as the count is an int64.

    A float of half the bits gets the same bits from its own division if it holds the count: the quotient in float64 is
    never so near to the middle of two narrower floats that it would round another way.
    """
    if not isinstance(count, Value) and x.dtype.kind == "float" and float(x.dtype.numpy.type(count)) == count:
        return elementwise("divide", x, float(count))
    return to_dtype(elementwise("divide", x, count), x.dtype)


def counted(shape: Shape, axes: Shape, keepdims: bool, where: Any) -> Any:
    """How many elements meet: one integer, or one for each result where a mask leaves some out."""
    mask = mask_of(where, shape)
    if mask is None:
        return np.int64(count_along(shape, axes))
    return total("sum", to_dtype(mask, dt.int64), axes, keepdims=keepdims)


def less_correction(count: Any, correction: Any) -> Any:
    """The count less the correction, and no less than 0."""
    if not isinstance(count, Value) and isinstance(correction, (int, float, np.number)):
        return np.maximum(count - correction, 0)
    return elementwise("maximum", elementwise("subtract", count, correction), 0)
