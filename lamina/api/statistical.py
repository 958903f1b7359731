"""Statistical functions: sums and products, extremes, means and variances, and running totals, as NumPy computes them.

The dtypes in which sums are taken and the order of the steps are NumPy's own, so results are NumPy's bit for bit where
an op is. What needs an order (medians, quantiles) and what leaves NaN out have modules of their own.
"""

from typing import Any

from lamina import dtype as dt
from lamina.api.nan_statistics import nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar
from lamina.api.order_statistics import median, nanmedian, percentile, quantile
from lamina.dtype import DType
from lamina.trace import reduction
from lamina.trace.build import broadcast_to, decayed, emit, perform_check, permute, reshape, to_dtype
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.order import emit_in_order
from lamina.trace.reduction import (
    array_of,
    axes_of,
    axis_of,
    count_along,
    expect_no_out,
    extremum,
    filled,
    total,
    total_dtype,
    variance,
)
from lamina.trace.value import Value

__all__ = [
    "average",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "median",
    "min",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "percentile",
    "prod",
    "ptp",
    "quantile",
    "std",
    "sum",
    "var",
]


def _in_dtype(x: Value, dtype: Any) -> Value:
    """The elements in the dtype that is asked for, or in that of NumPy's sums."""
    return to_dtype(x, total_dtype(x.dtype) if dtype is None else dt.from_numpy(dtype))


def _asked(dtype: Any) -> DType | None:
    return None if dtype is None else dt.from_numpy(dtype)


# Sums and extremes


@function
def sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    out: None = None,
    initial: Any = None,
    where: Any = True,
) -> Value:
    """The sum of the elements along axes; 0 of none. Integers wrap.

    Args:
        x: the elements.
        axis: an integer, a tuple of integers, or None for all axes. A scalar has no axis, and axis 0 of it is none.
        dtype: in which to sum, and of the result; by default int64 for bool and signed integers, uint64 for unsigned
            ones, else x's.
        keepdims: whether the axes stay, with extent 1.
        out: NumPy's argument, which is refused.
        initial: a number to begin with.
        where: bools that broadcast to x's shape: the elements to take.

    Raises `TypeError` for an axis that is no integer, `lamina.errors.AxisError` for one that x hasn't, `ValueError` for
    one given twice and for a ``where`` of another shape, `NotImplementedError` for NumPy's ``out``.

    >>> import lamina
    >>> lamina.sum(lamina.asarray([[1, 2], [3, 4]]), axis=0)
    lamina.Array([4, 6], shape=(2,), dtype=int64)
    """
    expect_no_out(out)
    x = array_of(x)
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    return total("sum", _in_dtype(x, dtype), axes, keepdims=keepdims, initial=initial, where=where)


@function
def prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    out: None = None,
    initial: Any = None,
    where: Any = True,
) -> Value:
    """The product of the elements along axes; 1 of none. Integers wrap.

    Arguments, dtypes and errors are those of `lamina.sum`.

    >>> import lamina
    >>> lamina.prod(lamina.asarray([2, 3, 4], dtype=lamina.int8))
    lamina.Array(24, shape=(), dtype=int64)
    """
    expect_no_out(out)
    x = array_of(x)
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    return total("prod", _in_dtype(x, dtype), axes, keepdims=keepdims, initial=initial, where=where)


@function
def max(
    x: Any,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    out: None = None,
    initial: Any = None,
    where: Any = True,
) -> Value:
    """The greatest element along axes, in x's dtype; NaN if any is NaN.

    Complex numbers are ordered by their real parts, equal ones by their imaginary parts. The arguments are those of
    `lamina.sum`; a result may be below none of ``initial``. Raises `ValueError` where there is no element and no
    ``initial``, and for ``where`` without ``initial``; else as `lamina.sum`.

    >>> import lamina
    >>> lamina.max(lamina.asarray([[3.0, float("nan")], [1.0, 5.0]]), axis=0)
    lamina.Array([ 3., nan], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    x = array_of(x)
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    return extremum("max", x, axes, keepdims=keepdims, initial=initial, where=where)


@function
def min(
    x: Any,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    out: None = None,
    initial: Any = None,
    where: Any = True,
) -> Value:
    """The least element along axes, in x's dtype; NaN if any is NaN.

    Arguments, order and errors are those of `lamina.max`.

    >>> import lamina
    >>> lamina.min(lamina.asarray([[3, 2], [1, 5]]), axis=1, keepdims=True)
    lamina.Array([[2],
                  [1]], shape=(2, 1), dtype=int64)
    """
    expect_no_out(out)
    x = array_of(x)
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    return extremum("min", x, axes, keepdims=keepdims, initial=initial, where=where)


@function
def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Value:
    """The greatest element less the least one, along axes, in the elements' dtype; NaN if any is NaN. Integers wrap.

    Raises `TypeError` for bool, else as `lamina.max`.

    >>> import lamina
    >>> lamina.ptp(lamina.asarray([[3, 2], [1, 5]]), axis=1)
    lamina.Array([1, 4], shape=(2,), dtype=int64)
    """
    expect_no_out(out)
    x = array_of(a, "a")
    axes = axes_of(axis, len(x.shape), of_scalar=True)
    return elementwise("subtract", *(extremum(op, x, axes, keepdims=keepdims) for op in ("max", "min")))


# Means and variances


@function
def mean(
    x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False, out: None = None, where: Any = True
) -> Value:
    """The mean of the elements along axes; NaN of none.

    The sum is taken in ``dtype``, which the result has; by default in float64 for bool and integers, for float16 and
    bfloat16 in float32 with the result in x's dtype, else in x's dtype. The other arguments and the errors are those of
    `lamina.sum`, but a scalar has no axis 0.

    >>> import lamina
    >>> lamina.mean(lamina.asarray([[1, 2], [3, 5]]), axis=1)
    lamina.Array([1.5, 4. ], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    x = array_of(x)
    return reduction.mean(x, axes_of(axis, len(x.shape)), _asked(dtype), keepdims=keepdims, where=where)


@function
def var(
    x: Any,
    /,
    *,
    axis: Any = None,
    correction: Any = 0,
    keepdims: bool = False,
    dtype: Any = None,
    out: None = None,
    where: Any = True,
) -> Value:
    """The variance along axes: the squared distances from the mean, summed, by the count less ``correction``.

    Real for a complex x. Sums are taken in ``dtype``, which the result has; by default float64 for bool and integers,
    else x's dtype. A count that the correction makes 0 gives NaN or infinity. The other arguments and the errors are
    those of `lamina.mean`.

    >>> import lamina
    >>> x = lamina.asarray([1.0, 2.0, 4.0, 5.0])
    >>> lamina.var(x), lamina.var(x, correction=2)
    (lamina.Array(2.5, shape=(), dtype=float64), lamina.Array(5., shape=(), dtype=float64))
    """
    expect_no_out(out)
    x = array_of(x)
    axes = axes_of(axis, len(x.shape))
    return variance(x, axes, _asked(dtype), correction, keepdims=keepdims, where=where)


@function
def std(
    x: Any,
    /,
    *,
    axis: Any = None,
    correction: Any = 0,
    keepdims: bool = False,
    dtype: Any = None,
    out: None = None,
    where: Any = True,
) -> Value:
    """The square root of `lamina.var`, with its arguments, in its dtype.

    >>> import lamina
    >>> lamina.std(lamina.asarray([[1.0, 3.0], [0.0, 8.0]]), axis=1)
    lamina.Array([1., 4.], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    x = array_of(x)
    axes = axes_of(axis, len(x.shape))
    return reduction.root(variance(x, axes, _asked(dtype), correction, keepdims=keepdims, where=where))


@function
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """The mean along axes with a weight for each element; with ``returned`` the sum of the weights too.

    The weights have the shape of ``a``, or the extents of the axes in the order in which ``axis`` names them. Both
    results are in the dtype in which elements and weights meet, and at least in float64 where the elements are bools or
    integers. Without weights it is the mean, and the sum is the count.

    Raises `TypeError` for weights of another shape without an axis, `ValueError` for weights that don't fit the axes,
    `ZeroDivisionError`, when it is run, where the weights sum to 0; else as `lamina.mean`.

    >>> import lamina
    >>> lamina.average(lamina.asarray([1.0, 2.0, 5.0]), weights=[1, 0, 1])
    lamina.Array(3., shape=(), dtype=float64)
    """
    x = array_of(a, "a")
    axes = axes_of(axis, len(x.shape))
    if weights is None:
        result = reduction.mean(x, axes, keepdims=keepdims)
        return (result, decayed(filled(count_along(x.shape, axes), result.dtype, result.shape))) if returned else result
    weight = _weights(array_of(weights, "weights"), x, axis)
    dtype = dt.promote(x.dtype, weight.dtype, *(() if x.dtype.kind in ("float", "complex") else (dt.float64,)))
    weight = to_dtype(weight, dtype)
    scale = total("sum", weight, axes, keepdims=keepdims)
    every = tuple(range(len(scale.shape)))
    some = reduction.reduce("all", elementwise("not_equal", scale, 0), every)
    perform_check(some, ZeroDivisionError, "the weights sum to 0, so there is no average")
    summed = total("sum", elementwise("multiply", to_dtype(x, dtype), weight), axes, keepdims=keepdims)
    result = elementwise("divide", summed, scale)
    return (result, decayed(broadcast_to(scale, result.shape))) if returned else result


def _weights(weights: Value, x: Value, axis: Any) -> Value:
    """The weights in a shape that broadcasts to x's."""
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError(f"weights have shape {weights.shape} and a has {x.shape}: say along which axis the weights are")
    rank = len(x.shape)
    named = [axis_of(each, rank) for each in (axis if isinstance(axis, tuple) else (axis,))]
    if weights.shape != tuple(x.shape[each] for each in named):
        raise ValueError(f"weights have shape {weights.shape}, which isn't that of axis {axis} of shape {x.shape}")
    order = tuple(sorted(range(len(named)), key=named.__getitem__))
    shape = tuple(extent if i in named else 1 for i, extent in enumerate(x.shape))
    return reshape(permute(weights, order), shape)


# Running totals


@function
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False, out: None = None
) -> Value:
    """The sums of the elements up to each along an axis; with ``include_initial`` the 0 before them too.

    Dtypes are those of `lamina.sum`. The axis may be left out where there is one only; a scalar counts as one element.
    Raises `ValueError` without an axis where there are several, `lamina.errors.AxisError` for one that x hasn't,
    `TypeError` for what is no integer, `NotImplementedError` for NumPy's ``out``.

    >>> import lamina
    >>> lamina.cumulative_sum(lamina.asarray([1, 2, 3]), include_initial=True)
    lamina.Array([0, 1, 3, 6], shape=(4,), dtype=int64)
    """
    expect_no_out(out)
    return _cumulative("sum", array_of(x), axis, dtype, include_initial)


@function
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False, out: None = None
) -> Value:
    """The products of the elements up to each along an axis; with ``include_initial`` the 1 before them too.

    Arguments, dtypes and errors are those of `lamina.cumulative_sum`.

    >>> import lamina
    >>> lamina.cumulative_prod(lamina.asarray([[1, 2], [3, 4]]), axis=0)
    lamina.Array([[1, 2],
                  [3, 8]], shape=(2, 2), dtype=int64)
    """
    expect_no_out(out)
    return _cumulative("prod", array_of(x), axis, dtype, include_initial)


# In bool, "or" of what came is a running maximum.
_CUMULATIVE_OF_BOOLS = {"sum": "cumulative_max", "prod": "cumulative_min"}


def _cumulative(op: str, x: Value, axis: Any, dtype: Any, include_initial: bool) -> Value:
    x = _in_dtype(x if x.shape else reshape(x, (1,)), dtype)
    if axis is None and len(x.shape) > 1:
        raise ValueError(f"axis must be given for an array of several axes, but x has shape {x.shape}")
    along = axis_of(0 if axis is None else axis, len(x.shape))
    totals = emit_in_order(_CUMULATIVE_OF_BOOLS[op] if x.dtype == dt.bool else f"cumulative_{op}", [x], along)
    if not include_initial:
        return totals
    first = filled(0 if op == "sum" else 1, x.dtype, tuple(1 if i == along else n for i, n in enumerate(x.shape)))
    return emit("concat", (first, totals), along)
