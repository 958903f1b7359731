"""NumPy's statistics of the sorted elements, with NumPy's names and arguments: medians, quantiles and percentiles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.api.searching import where
from lamina.trace import reduction
from lamina.trace.build import as_value, captured, decayed, emit, permute, reshape, slice_axis, to_dtype, with_kind
from lamina.trace.concrete import concrete
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.reduction import Shape, array_of, axes_of, expect_no_out, reduced_shape
from lamina.trace.value import Kind, Value

__all__ = [
    "median",
    "nanmedian",
    "percentile",
    "quantile",
]


def _sorted_first(x: Value, axes: tuple[int, ...]) -> Value:
    """The elements that meet along these axes, sorted along one axis, which comes first."""
    rest = tuple(i for i in range(len(x.shape)) if i not in axes)
    count = reduction.count_along(x.shape, axes)
    return emit("sort", reshape(permute(x, (*axes, *rest)), (count, *(x.shape[i] for i in rest))), 0)


def _either(condition: Any, x: Value, y: Value) -> Value:
    result: Value = where(condition, x, y)
    return result


def _nan_where_last_is(result: Value, ordered: Value) -> Value:
    """The result, but NaN where there was one: NaN is sorted behind all numbers."""
    if ordered.dtype.kind not in ("float", "complex") or ordered.shape[0] == 0:
        return result
    last = reshape(slice_axis(ordered, 0, ordered.shape[0] - 1, 1), ordered.shape[1:])
    return _either(emit("isnan", last), to_dtype(last, result.dtype), result)


def _of_axes(result: Value, more: Shape, shape: Shape, axes: Shape, keepdims: bool) -> Value:
    """The result in its shape: ``more`` axes first. One with ``keepdims`` is an array in NumPy, of a scalar too."""
    placed = reshape(result, (*more, *reduced_shape(shape, axes, keepdims)))
    return with_kind(placed, Kind.ARRAY) if keepdims else decayed(placed)


@function
def median(a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False) -> Value:
    """The middle one of the sorted elements along axes, or the mean of the two in the middle; NaN if any is NaN.

    Float64 for bools and integers, else in the elements' dtype; NaN of no elements. ``overwrite_input`` is taken and
    nothing is overwritten. Raises `NotImplementedError` for ``out``; for axes as `lamina.mean`.

    >>> import lamina
    >>> lamina.median(lamina.asarray([[3, 1, 2], [9, 7, 7]]), axis=1)
    lamina.Array([2., 7.], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    return _median(array_of(a, "a"), axis, keepdims)


def _median(x: Value, axis: Any, keepdims: bool) -> Value:
    axes = axes_of(axis, len(x.shape))
    ordered = _sorted_first(x, axes)
    count = ordered.shape[0]
    middle = slice_axis(ordered, 0, (count - 1) // 2, 2 - count % 2) if count else ordered
    result = _nan_where_last_is(reduction.mean(middle, (0,)), ordered)
    return _of_axes(result, (), x.shape, axes, keepdims)


@function
def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Value:
    """`lamina.median` of the elements that aren't NaN; NaN where all are.

    >>> import lamina
    >>> lamina.nanmedian(lamina.asarray([3.0, float("nan"), 1.0]))
    lamina.Array(2., shape=(), dtype=float64)
    """
    expect_no_out(out)
    x = array_of(a, "a")
    if x.dtype.kind not in ("float", "complex") or 0 in x.shape:
        return _median(x, axis, keepdims)
    axes = axes_of(axis, len(x.shape))
    ordered = _sorted_first(x, axes)
    numbers = to_dtype(emit("logical_not", emit("isnan", ordered)), dt.int64)
    count = reduction.reduce("sum", numbers, (0,), keepdims=True)
    lower = elementwise("maximum", elementwise("floor_divide", elementwise("subtract", count, 1), 2), 0)
    upper = elementwise("floor_divide", count, 2)
    low, high = (emit("take_along_axis", ordered, place, 0) for place in (lower, upper))
    both = reduction.mean(emit("concat", (low, high), 0), (0,))
    # the mean of an element with itself may overflow
    one = reshape(elementwise("equal", lower, upper), both.shape)
    result = _either(one, reshape(low, both.shape), both)
    return _of_axes(result, (), x.shape, axes, keepdims)


@function
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Value:
    """What a part ``q`` of the elements along axes lies below, by one of NumPy's methods; NaN if any element is NaN.

    The axes of ``q`` come first in the result. ``q`` must be known while tracing. Raises `ValueError` for a ``q``
    outside 0 to 1 or an unknown method, `TypeError` for complex elements, `IndexError` where there is none,
    `NotImplementedError` for ``out`` and ``weights``; for axes as `lamina.mean`. The methods: R. J. Hyndman and Y. Fan,
    "Sample quantiles in statistical packages", The American Statistician 50(4), 1996.

    >>> import lamina
    >>> lamina.quantile(lamina.asarray([1, 2, 3, 4]), [0.25, 0.5])
    lamina.Array([1.75, 2.5 ], shape=(2,), dtype=float64)
    """
    expect_no_out(out)
    parts, weak = _known(q)
    return _quantile(a, parts, weak, axis, method, keepdims, weights, "q must lie between 0 and 1")


@function
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Value:
    """`lamina.quantile` of ``q / 100``.

    >>> import lamina
    >>> lamina.percentile(lamina.asarray([1.0, 2.0, 4.0]), 75, method="higher")
    lamina.Array(4., shape=(), dtype=float64)
    """
    expect_no_out(out)
    parts, weak = _known(q)
    return _quantile(
        a, np.true_divide(parts, 100), weak, axis, method, keepdims, weights, "q must lie between 0 and 100"
    )


def _known(q: Any) -> tuple[np.ndarray, bool]:
    """The numbers of ``q``, and whether it is one Python number, which changes no dtype."""
    value = as_value(q, "q")
    if value.kind is Kind.NUMBER and value.is_traced:
        number = float(value)  # asks for its value
        return np.asarray(number), True
    return concrete(value, "the list of elements to take", "a q that is known"), type(q) in (int, float)


# Where NumPy's methods look: at a place between elements, from which the result is interpolated, or at one element.


def _between(alpha: float, beta: float) -> Callable[[int, np.ndarray], np.ndarray]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _nearest_place(places: np.ndarray, is_previous: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(np.floor(places) + ~is_previous, 0))


def _inverted_cdf(n: int, q: np.ndarray) -> np.ndarray:
    places = n * q - 1
    return _nearest_place(places, places % 1 == 0)


def _closest_observation(n: int, q: np.ndarray) -> np.ndarray:
    places = n * q - 1 - 0.5
    return _nearest_place(places, (places % 1 == 0) & (np.floor(places) % 2 == 1))


_BETWEEN: dict[str, Callable[[int, np.ndarray], np.ndarray]] = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}
_ELEMENT: dict[str, Callable[[int, np.ndarray], np.ndarray]] = {
    "inverted_cdf": _inverted_cdf,
    "closest_observation": _closest_observation,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
}
# The share of the upper element, from the fraction of the place, where it isn't that fraction.
_SHARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "averaged_inverted_cdf": lambda fraction, place: np.where(fraction == 0, 0.5, 1.0),
    "midpoint": lambda fraction, place: np.where(place % 1 == 0, 0.0, 0.5),
}


def _quantile(
    a: Any, q: np.ndarray, weak: bool, axis: Any, method: str, keepdims: bool, weights: Any, in_range: str
) -> Value:
    if weights is not None:
        raise NotImplementedError("weights is not supported")
    x = array_of(a, "a")
    if x.dtype.kind == "complex":
        raise TypeError(f"a is {x.dtype}, and a quantile is of real numbers")
    if not np.all((q >= 0) & (q <= 1)):
        raise ValueError(f"{in_range}, but it is {q}")
    if q.ndim > 2:
        raise ValueError(f"q must be a number or have one axis or two, but it has shape {q.shape}")
    if method not in _BETWEEN and method not in _ELEMENT:
        raise ValueError(f"method is {method!r}, but must be one of {', '.join(map(repr, (*_BETWEEN, *_ELEMENT)))}")
    axes = axes_of(axis, len(x.shape))
    ordered = _sorted_first(x, axes)
    if ordered.shape[0] == 0:
        raise IndexError(f"axis {axis} of shape {x.shape} has no element, so there is no quantile")
    result = _nan_where_last_is(_interpolated(ordered, q, weak, method), ordered)
    return _of_axes(result, q.shape, x.shape, axes, keepdims)


def _interpolated(ordered: Value, q: np.ndarray, weak: bool, method: str) -> Value:
    """The quantiles of elements that are sorted along the first axis."""
    count = ordered.shape[0]
    places = np.asarray((_BETWEEN.get(method) or _ELEMENT[method])(count, q))
    if method in _ELEMENT or (method == "linear" and places.dtype.kind == "i"):
        return _elements(ordered, places)
    below = np.floor(places)
    # at the last element and beyond it NumPy counts from the end: the share is more than 1, of a step from it to itself
    ends = [places >= count - 1, places < 0]
    below, above = (np.select(ends, [-1, 0], place) for place in (below, below + 1))
    fraction = places - below
    share = np.asarray(_SHARE[method](fraction, places) if method in _SHARE else fraction, places.dtype)
    low, high = _elements(ordered, below), _elements(ordered, above)
    lift: Any = float(share) if weak else share.reshape(share.shape + (1,) * (len(ordered.shape) - 1))
    step = elementwise("subtract", high, low)
    result = elementwise("add", low, elementwise("multiply", step, lift))
    # from the nearer element, so that the result never leaves the two
    other = elementwise("subtract", high, elementwise("multiply", step, 1 - lift))
    return _either(lift >= 0.5, to_dtype(other, result.dtype), result)


def _elements(ordered: Value, places: np.ndarray) -> Value:
    return emit("gather", ordered, (captured(places.astype(np.int64)),))
