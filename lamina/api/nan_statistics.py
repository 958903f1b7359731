"""NumPy's statistics that leave NaN out, with NumPy's names and arguments.

NaN gives way to what changes nothing (0 in a sum, minus infinity in a maximum), and counts are of the other elements.
For dtypes without NaN each is the plain function.
"""

from typing import Any

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.trace import reduction
from lamina.trace.build import decayed, emit, perform_check, to_dtype
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.reduction import (
    array_of,
    axes_of,
    expect_no_out,
    extremum,
    filled,
    place,
    reduce,
    total,
    total_dtype,
    variance,
)
from lamina.trace.value import Value

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


def _without_nan(x: Value, number: Any) -> tuple[Value, Value | None]:
    """The elements with a number in place of NaN, and where NaN is; None for a dtype that has no NaN."""
    if x.dtype.kind not in ("float", "complex"):
        return x, None
    mask = emit("isnan", x)
    return emit("where", mask, filled(number, x.dtype, x.shape), x), mask


@function
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Value:
    """`lamina.sum` of the elements that aren't NaN.

    >>> import lamina
    >>> lamina.nansum(lamina.asarray([1.0, float("nan"), 2.0]))
    lamina.Array(3., shape=(), dtype=float64)
    """
    expect_no_out(out)
    return _nan_total("sum", a, axis, dtype, keepdims, initial, where)


@function
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Value:
    """`lamina.prod` of the elements that aren't NaN.

    >>> import lamina
    >>> lamina.nanprod(lamina.asarray([[3.0, float("nan")], [2.0, 5.0]]), axis=0)
    lamina.Array([6., 5.], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    return _nan_total("prod", a, axis, dtype, keepdims, initial, where)


def _nan_total(op: str, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Value:
    x, _ = _without_nan(array_of(a, "a"), 0 if op == "sum" else 1)
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    x = to_dtype(x, total_dtype(x.dtype) if dtype is None else dt.from_numpy(dtype))
    return total(op, x, axes, keepdims=keepdims, initial=initial, where=where)


@function
def nanmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Value:
    """`lamina.max` of the elements that aren't NaN; NaN where all are.

    >>> import lamina
    >>> lamina.nanmax(lamina.asarray([[3.0, float("nan")], [float("nan"), float("nan")]]), axis=1)
    lamina.Array([ 3., nan], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    return _nan_extremum("max", a, axis, keepdims, initial, where)


@function
def nanmin(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None, where: Any = True
) -> Value:
    """`lamina.min` of the elements that aren't NaN; NaN where all are.

    >>> import lamina
    >>> lamina.nanmin(lamina.asarray([3.0, float("nan"), 2.0]))
    lamina.Array(2., shape=(), dtype=float64)
    """
    expect_no_out(out)
    return _nan_extremum("min", a, axis, keepdims, initial, where)


_INFINITY = {"max": float("-inf"), "min": float("inf")}


def _nan_extremum(op: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Value:
    given = array_of(a, "a")
    last = _INFINITY[op]
    x, mask = _without_nan(given, complex(last, last) if given.dtype.kind == "complex" else last)
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    result = extremum(op, x, axes, keepdims=keepdims, initial=initial, where=where)
    if mask is None or initial is not None:
        return result
    none = reduce("all", mask, axes, keepdims)
    return decayed(emit("where", none, filled(float("nan"), x.dtype, result.shape), result))


@function
def nanargmax(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Value:
    """`lamina.argmax` of the elements that aren't NaN; `ValueError`, when it is run, where all are.

    >>> import lamina
    >>> lamina.nanargmax(lamina.asarray([float("nan"), 1.0, 5.0]))
    lamina.Array(2, shape=(), dtype=int64)
    """
    expect_no_out(out)
    return _nan_place("argmax", a, axis, keepdims)


@function
def nanargmin(a: Any, axis: Any = None, out: None = None, *, keepdims: bool = False) -> Value:
    """`lamina.argmin` of the elements that aren't NaN; `ValueError`, when it is run, where all are.

    >>> import lamina
    >>> lamina.nanargmin(lamina.asarray([float("nan"), 1.0, 5.0]))
    lamina.Array(1, shape=(), dtype=int64)
    """
    expect_no_out(out)
    return _nan_place("argmin", a, axis, keepdims)


def _nan_place(op: str, a: Any, axis: Any, keepdims: bool) -> Value:
    given = array_of(a, "a")
    x, mask = _without_nan(given, _INFINITY[op.removeprefix("arg")])
    result = place(op, x, axis, keepdims)
    if mask is not None:
        none = emit("all", mask, axes_of(axis, len(x.shape), of_scalar=True))
        every = tuple(range(len(none.shape)))
        perform_check(emit("logical_not", emit("any", none, every)), ValueError, "All-NaN slice encountered")
    return result


@function
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False, *, where: Any = True
) -> Value:
    """The mean of the elements that aren't NaN, summed in ``dtype``, by default their own; NaN where all are.

    Raises `TypeError` for a dtype that is no float or complex one, else as `lamina.mean`.

    >>> import lamina
    >>> lamina.nanmean(lamina.asarray([1.0, float("nan"), 2.0]))
    lamina.Array(1.5, shape=(), dtype=float64)
    """
    expect_no_out(out)
    x, mask = _without_nan(array_of(a, "a"), 0)
    axes = axes_of(axis, len(x.shape), of_scalar=mask is not None)
    if mask is None:
        return reduction.mean(x, axes, None if dtype is None else dt.from_numpy(dtype), keepdims=keepdims, where=where)
    summed = total("sum", to_dtype(x, _inexact(dtype, x.dtype)), axes, keepdims=keepdims, where=where)
    count = _numbers(mask, axes, keepdims, where)
    return to_dtype(elementwise("divide", summed, count), summed.dtype)


def _inexact(dtype: Any, default: DType) -> DType:
    asked = default if dtype is None else dt.from_numpy(dtype)
    if asked.kind not in ("float", "complex"):
        raise TypeError(f"dtype must be a float or complex one, but it is {asked}")
    return asked


def _numbers(mask: Value, axes: tuple[int, ...], keepdims: bool, where: Any) -> Value:
    """How many elements aren't NaN."""
    return total("sum", to_dtype(emit("logical_not", mask), dt.int64), axes, keepdims=keepdims, where=where)


@function
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Value:
    """The variance of the elements that aren't NaN; NaN where there are no more than ``ddof``.

    Raises `TypeError` for a dtype that is no float or complex one, else as `lamina.var`.

    >>> import lamina
    >>> lamina.nanvar(lamina.asarray([1.0, float("nan"), 3.0]))
    lamina.Array(1., shape=(), dtype=float64)
    """
    expect_no_out(out)
    return _nan_variance(a, axis, dtype, ddof, keepdims, where)


@function
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Value:
    """The square root of `lamina.nanvar`.

    >>> import lamina
    >>> lamina.nanstd(lamina.asarray([[1.0, float("nan")], [5.0, 3.0]]), axis=0)
    lamina.Array([2., 0.], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    return reduction.root(_nan_variance(a, axis, dtype, ddof, keepdims, where))


def _nan_variance(a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any) -> Value:
    x, mask = _without_nan(array_of(a, "a"), 0)
    axes = axes_of(axis, len(x.shape), of_scalar=mask is not None)
    if mask is None:
        return variance(x, axes, None if dtype is None else dt.from_numpy(dtype), ddof, keepdims=keepdims, where=where)
    inner = _inexact(dtype, x.dtype)
    summed = total("sum", to_dtype(x, inner), axes, keepdims=True, where=where)
    center = to_dtype(elementwise("divide", summed, _numbers(mask, axes, True, where)), inner)
    distance = to_dtype(elementwise("subtract", x, center), x.dtype)
    distance = emit("where", mask, filled(0, x.dtype, x.shape), distance)
    squares = emit("multiply", distance, emit("conj", distance) if x.dtype.kind == "complex" else distance)
    squares = emit("real", squares) if x.dtype.kind == "complex" else squares
    summed = total(
        "sum", to_dtype(squares, squares.dtype if dtype is None else inner), axes, keepdims=keepdims, where=where
    )
    degrees = elementwise("subtract", _numbers(mask, axes, keepdims, where), ddof)
    result = to_dtype(elementwise("divide", summed, degrees), summed.dtype)
    none = elementwise("less_equal", degrees, 0)
    return decayed(emit("where", none, filled(float("nan"), result.dtype, result.shape), result))
