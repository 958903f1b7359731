"""Utility functions: whether all or any hold, differences of neighbours, and comparisons of whole arrays."""

import operator
from typing import Any

from lamina import dtype as dt
from lamina.trace.build import as_value, broadcast_to, constant, emit, slice_axis, thing_of, to_dtype, with_kind
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.reduction import array_of, axes_of, axis_of, expect_no_out, reduce, total
from lamina.trace.value import Kind, Value

__all__ = [
    "all",
    "allclose",
    "any",
    "array_equal",
    "diff",
    "isclose",
]


@function
def all(x: Any, /, *, axis: Any = None, keepdims: bool = False, out: None = None, where: Any = True) -> Value:
    """Whether all elements along axes are true, bool; true of none. A number that isn't 0 is true, NaN too.

    Arguments and errors are those of `lamina.sum`.

    >>> import lamina
    >>> lamina.all(lamina.asarray([[1, 0], [2, 3]]), axis=1)
    lamina.Array([False,  True], shape=(2,), dtype=bool)
    """
    expect_no_out(out)
    value = array_of(x)
    axes = axes_of(axis, len(value.shape), of_scalar=True)
    return total("all", to_dtype(value, dt.bool), axes, keepdims=keepdims, where=where)


@function
def any(x: Any, /, *, axis: Any = None, keepdims: bool = False, out: None = None, where: Any = True) -> Value:
    """Whether an element along axes is true, bool; false of none. A number that isn't 0 is true, NaN too.

    Arguments and errors are those of `lamina.sum`.

    >>> import lamina
    >>> lamina.any(lamina.asarray([[1, 0], [0, 0]]), axis=1)
    lamina.Array([ True, False], shape=(2,), dtype=bool)
    """
    expect_no_out(out)
    value = array_of(x)
    axes = axes_of(axis, len(value.shape), of_scalar=True)
    return total("any", to_dtype(value, dt.bool), axes, keepdims=keepdims, where=where)


@function
def diff(x: Any, /, *, axis: Any = -1, n: Any = 1, prepend: Any = None, append: Any = None) -> Value:
    """Each element less the one before it along an axis, ``n`` times over; of bools whether the two differ.

    ``prepend`` and ``append`` are put before and behind first: arrays that fit but for the axis, or one number each;
    dtypes are promoted. The axis gets shorter by ``n``. Raises `ValueError` for a scalar, a negative ``n`` and shapes
    that don't fit, `TypeError` for an axis that is no integer, `lamina.errors.AxisError` for one that x hasn't.

    >>> import lamina
    >>> lamina.diff(lamina.asarray([1, 4, 9]), prepend=0)
    lamina.Array([1, 3, 5], shape=(3,), dtype=int64)
    """
    value, times = array_of(x), operator.index(n)
    if times < 0:
        raise ValueError(f"n must be 0 or more, but it is {times}")
    if times == 0:
        return value
    if not value.shape:
        raise ValueError("x must have an axis, but it is a scalar")
    along = axis_of(axis, len(value.shape))
    parts = [_part(prepend, value, along, "prepend"), value, _part(append, value, along, "append")]
    given = [part for part in parts if part is not None]
    if len(given) > 1:
        dtype = dt.promote(*(part.dtype for part in given))
        value = emit("concat", tuple(to_dtype(part, dtype) for part in given), along)
    op = "not_equal" if value.dtype == dt.bool else "subtract"
    for _ in range(min(times, value.shape[along])):
        left = value.shape[along] - 1
        value = elementwise(op, slice_axis(value, along, 1, left), slice_axis(value, along, 0, left))
    return value


def _part(thing: Any, x: Value, axis: int, what: str) -> Value | None:
    if thing is None:
        return None
    part = array_of(thing, what)
    return part if part.shape else broadcast_to(part, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


# Comparisons of whole arrays: NumPy's, which give Python bools


@function
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Value:
    """Whether each a is within ``atol + rtol * abs(b)`` of b, or equals it; with ``equal_nan`` NaN equals NaN.

    Dtypes are promoted and shapes broadcast as NumPy does.

    >>> import lamina
    >>> lamina.isclose(lamina.asarray([1.0, 2.0]), lamina.asarray([1.0 + 1e-9, 2.1]))
    lamina.Array([ True, False], shape=(2,), dtype=bool)
    """
    x, y = as_value(a, "a"), as_value(b, "b")
    # in a float dtype, where the least integer has a magnitude
    y = (
        to_dtype(y, dt.result_type(thing_of(y), float))
        if y.kind is not Kind.NUMBER
        else elementwise("multiply", y, 1.0)
    )
    distance = elementwise("abs", elementwise("subtract", x, y))
    allowed = elementwise("add", atol, elementwise("multiply", rtol, elementwise("abs", y)))
    close = elementwise("logical_and", elementwise("less_equal", distance, allowed), elementwise("isfinite", y))
    result = elementwise("logical_or", close, elementwise("equal", x, y))
    if equal_nan:
        both = elementwise("logical_and", elementwise("isnan", x), elementwise("isnan", y))
        result = elementwise("logical_or", result, both)
    return result


@function
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Value:
    """Whether `lamina.isclose` holds for all elements: one bool.

    >>> import lamina
    >>> lamina.allclose(lamina.asarray([1.0, 2.0]), 1.0, rtol=1.0)
    lamina.Array(True, shape=(), dtype=bool)
    """
    return _one_bool(isclose(a, b, rtol, atol, equal_nan))


@function
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Value:
    """Whether two arrays have one shape and equal elements: one bool; with ``equal_nan`` NaN equals NaN.

    >>> import lamina
    >>> lamina.array_equal(lamina.asarray([1, 2]), lamina.asarray([1.0, 2.0]))
    lamina.Array(True, shape=(), dtype=bool)
    """
    x, y = array_of(a1, "a1"), array_of(a2, "a2")
    if x.shape != y.shape:
        return constant(False, dt.bool)
    same = elementwise("equal", x, y)
    if equal_nan:
        same = elementwise(
            "logical_or", same, elementwise("logical_and", elementwise("isnan", x), elementwise("isnan", y))
        )
    return _one_bool(same)


def _one_bool(x: Value) -> Value:
    # a Python bool in NumPy
    result = reduce("all", x, tuple(range(len(x.shape))))
    return with_kind(result, Kind.NUMBER)
