"""NumPy's functions that compute with elements and that lamina has no name for, made of lamina's.

They follow NumPy's own steps, so that results are the same to the last bit, but where a matrix product or a sum of
products adds in another order.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.api import (
    creation,
    elementwise,
    indexing,
    joining,
    linalg,
    manipulation,
    padding,
    products,
    searching,
    sorting,
    statistical,
    utility,
)
from lamina.errors import DataDependentShapeError
from lamina.expr.intervals import interval_of
from lamina.numpy_protocol.arrangement import diag
from lamina.numpy_protocol.table import means
from lamina.trace.build import as_value, broadcast_shape, common_dtype, decayed, emit, perform_check, reshape, to_dtype
from lamina.trace.order import axes_in, laid_out
from lamina.trace.reduction import array_of, axes_of, axis_of, flat
from lamina.trace.shapes import as_array
from lamina.trace.value import Value

# Predicates


def _infinite(name: str, negative: bool) -> None:
    @means(name)
    def predicate(x: Any, out: Any = None) -> Any:
        if out is not None:
            raise NotImplementedError("the argument out isn't there")
        value = array_of(x)
        if value.dtype.kind == "complex":
            raise TypeError(f"This operation is not supported for {value.dtype} values because it would be ambiguous.")
        if value.dtype.kind != "float":
            return decayed(emit("isinf", value))
        sign = elementwise.signbit(value)
        return elementwise.logical_and(elementwise.isinf(value), sign if negative else elementwise.logical_not(sign))


_infinite("isneginf", True)
_infinite("isposinf", False)


@means("iscomplex")
def iscomplex(x: Any) -> Any:
    """Whether the imaginary part isn't 0."""
    return elementwise.not_equal(elementwise.imag(array_of(x)), 0)


@means("isreal")
def isreal(x: Any) -> Any:
    """Whether the imaginary part is 0."""
    return elementwise.equal(elementwise.imag(array_of(x)), 0)


@means("array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether the shapes broadcast and all elements are equal: a Python bool."""
    x, y = array_of(a1), array_of(a2)
    try:
        broadcast_shape(x.shape, y.shape)
    except ValueError:
        return False
    return utility.array_equal(*manipulation.broadcast_arrays(x, y))


# Sums, differences and areas


def _nan_cumulative(name: str, function: Callable[..., Any], instead: int) -> None:
    @means(name)
    def cumulative(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if out is not None:
            raise NotImplementedError("the argument out isn't there")
        x = as_array(a)
        if x.dtype.kind in ("float", "complex"):
            x = searching.where(elementwise.isnan(x), instead, x)
        x = flat(x) if axis is None else x
        return function(x, axis=0 if axis is None else axis, dtype=dtype)


_nan_cumulative("nancumsum", statistical.cumulative_sum, 0)
_nan_cumulative("nancumprod", statistical.cumulative_prod, 1)


@means("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours, with something before and after them."""
    x = flat(as_array(ary))
    differences = x[1:] - x[:-1]
    parts = [differences]
    for given, name, place in ((to_begin, "to_begin", 0), (to_end, "to_end", len(parts) + 1)):
        if given is None:
            continue
        part = flat(as_array(given, name))
        if not np.can_cast(part.dtype.numpy, x.dtype.numpy, casting="same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
        parts.insert(place, to_dtype(part, x.dtype))
    return joining.concat(parts, axis=0) if len(parts) > 1 else differences


@means("trapezoid")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The area below samples, by trapezoids."""
    value = as_array(y)
    along = axis_of(axis, value.ndim)
    width = dx
    if x is not None:
        places = as_array(x)
        width = utility.diff(places, axis=-1 if places.ndim == 1 else axis)
        if places.ndim == 1:
            width = reshape(width, (*[1] * along, width.size, *[1] * (value.ndim - along - 1)))
    left, right = (value[(*[slice(None)] * along, each)] for each in (slice(1, None), slice(None, -1)))
    return statistical.sum(width * (left + right) / 2.0, axis=axis)


@means("unwrap")
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """Angles without jumps of a period."""
    x = as_array(p)
    along = axis_of(axis, x.ndim)
    steps = utility.diff(x, axis=axis)
    discont = period / 2 if discont is None else discont
    dtype = common_dtype([steps, as_value(period)])
    is_whole = dtype.kind in ("signed", "unsigned")
    high, rest = divmod(period, 2) if is_whole else (period / 2, 0)
    modulus = elementwise.remainder(steps - -high, period) + -high
    if not is_whole or rest == 0:
        at_edge = elementwise.logical_and(elementwise.equal(modulus, -high), elementwise.greater(steps, 0))
        modulus = searching.where(at_edge, high, modulus)
    correction = searching.where(elementwise.less(elementwise.abs(steps), discont), 0, modulus - steps)
    first, rest_of = (x[(*[slice(None)] * along, each)] for each in (slice(None, 1), slice(1, None)))
    moved = rest_of + statistical.cumulative_sum(correction, axis=along)
    return joining.concat((to_dtype(first, dtype), to_dtype(moved, dtype)), axis=along)


@means("gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided ones at the edges."""
    x = as_array(f)
    axes = (
        axes_of(axis, x.ndim)
        if axis is None or not isinstance(axis, (tuple, list))
        else tuple(axis_of(each, x.ndim) for each in axis)
    )
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if not varargs:
        spacing: Sequence[Any] = [1.0] * len(axes)
    elif len(varargs) == 1 and as_value(varargs[0]).ndim == 0:
        spacing = varargs * len(axes)
    elif len(varargs) == len(axes):
        spacing = [_spacing(each, x.shape[along]) for each, along in zip(varargs, axes, strict=True)]
    else:
        raise TypeError("invalid number of arguments")
    dtype = x.dtype if x.dtype.kind in ("float", "complex") else dt.float64
    if x.dtype.kind in ("signed", "unsigned"):
        x = to_dtype(x, dt.float64)
    order = axes_in("K", x)
    results = tuple(
        laid_out(_gradient(x, along, h, edge_order, dtype), order) for along, h in zip(axes, spacing, strict=True)
    )
    return results[0] if len(results) == 1 else results


def _spacing(distances: Any, extent: int) -> Any:
    """One number, or the distances of neighbours."""
    places = as_value(distances)
    if places.ndim == 0:
        return distances
    if places.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if places.size != extent:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = utility.diff(to_dtype(places, dt.float64) if places.dtype.kind in ("signed", "unsigned") else places)
    if places.is_traced:
        return steps
    known = np.diff(np.asarray(distances, dtype=steps.dtype.numpy))
    return known[0] if (known == known[0]).all() else steps


def _gradient(x: Value, along: int, h: Any, edge_order: int, dtype: dt.DType) -> Any:
    count = x.shape[along]
    if count < edge_order + 1:
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient: {count} elements, at least {edge_order + 1}"
        )

    def at(start: int, stop: int) -> Any:
        return x[(*[slice(None)] * along, slice(start, stop))]

    def shaped(weight: Any) -> Any:
        weights = as_array(weight)
        return reshape(weights, (weights.size, *[1] * (x.ndim - along - 1))) if weights.ndim else weight

    is_uniform = not isinstance(h, Value) or h.ndim == 0
    if is_uniform:
        inner = (at(2, count) - at(0, count - 2)) / (2.0 * h)
        first_step, last_step = h, h
    else:
        d1, d2 = h[:-1], h[1:]
        weights = -d2 / (d1 * (d1 + d2)), (d2 - d1) / (d1 * d2), d1 / (d2 * (d1 + d2))
        a, b, c = map(shaped, weights)
        inner = a * at(0, count - 2) + b * at(1, count - 1) + c * at(2, count)
        first_step, last_step = h[0], h[-1]
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / first_step
        last = (at(count - 1, count) - at(count - 2, count - 1)) / last_step
    else:
        if is_uniform:
            start, end = (-1.5 / h, 2.0 / h, -0.5 / h), (0.5 / h, -2.0 / h, 1.5 / h)
        else:
            d1, d2 = h[0], h[1]
            start = -(2.0 * d1 + d2) / (d1 * (d1 + d2)), (d1 + d2) / (d1 * d2), -d1 / (d2 * (d1 + d2))
            d1, d2 = h[-2], h[-1]
            end = d2 / (d1 * (d1 + d2)), -(d2 + d1) / (d1 * d2), (2.0 * d2 + d1) / (d2 * (d1 + d2))
        first = start[0] * at(0, 1) + start[1] * at(1, 2) + start[2] * at(2, 3)
        last = end[0] * at(count - 3, count - 2) + end[1] * at(count - 2, count - 1) + end[2] * at(count - 1, count)
    return joining.concat([to_dtype(part, dtype) for part in (first, inner, last)], axis=along)


# Products


@means("vdot")
def vdot(a: Any, b: Any, /) -> Any:
    """The dot product of all elements, the first conjugated."""
    return products.vecdot(flat(as_array(a)), flat(as_array(b)))


_REACH: dict[str, Callable[[int], tuple[int, int]]] = {
    "valid": lambda n: (0, 0),
    "same": lambda n: (n // 2, n - n // 2 - 1),
    "full": lambda n: (n - 1, n - 1),
}


@means("correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The dot products of one vector with the windows of another, padded with zeros."""
    x, y = products.operands(a, v)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"the operands must have one axis each, but their shapes are {x.shape} and {y.shape}")
    if not x.size or not y.size:
        raise ValueError("the operands cannot be empty")
    if mode not in _REACH:
        raise ValueError(f"mode must be 'valid', 'same' or 'full', but it is {mode!r}")
    y = emit("conj", y) if y.dtype.kind == "complex" else y
    is_swapped = y.size > x.size
    x, y = (y, x) if is_swapped else (x, y)
    padded = padding.pad(x, _REACH[mode](y.size))
    result = products.matmul(manipulation.sliding_window_view(padded, y.size), y)
    return result[::-1] if is_swapped else result


@means("convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The products of polynomials, as vectors of coefficients."""
    x, y = (joining.atleast_1d(each) for each in (a, v))
    if x.size < y.size:
        x, y = y, x
    y = y[::-1]
    return correlate(x, emit("conj", y) if y.dtype.kind == "complex" else y, mode)


@means("polyval")
def polyval(p: Any, x: Any) -> Any:
    """A polynomial's values, by Horner's rule."""
    coefficients, at = as_array(p), as_value(x)
    result: Any = creation.zeros_like(at)
    for i in range(len(coefficients)):
        result = result * at + coefficients[i]
    return result


@means("vander")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """The powers of each element in a row."""
    value = as_array(x)
    if value.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = value.size if N is None else N
    value = to_dtype(value, dt.promote(value.dtype, dt.int64))
    column = reshape(value, (value.size, 1))
    powers = [creation.ones_like(column)] + [column] * (count - 1) if count > 0 else [column[:, :0]]
    result = statistical.cumulative_prod(joining.concat(powers, axis=1), axis=1, dtype=value.dtype)
    return result if increasing else manipulation.flip(result, axis=1)


# Statistics


@means("cov")
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    """The covariances of variables in rows, or in columns."""
    if fweights is not None or aweights is not None:
        raise NotImplementedError("the arguments fweights and aweights aren't there")
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    given = [as_array(each) for each in (m, y) if each is not None]
    wanted = dt.promote(*(each.dtype for each in given), dt.float64) if dtype is None else dt.from_numpy(dtype)
    rows = []
    for i, each in enumerate(given):
        if each.ndim > 2:
            raise ValueError(f"{'my'[i]} has more than 2 dimensions")
        two = to_dtype(joining.atleast_2d(each), wanted)
        is_row = each.ndim == 1 if i == 0 else two.shape[0] == 1
        rows.append(two if rowvar or is_row else linalg.matrix_transpose(two))
    if rows[0].shape[0] == 0:
        return np.empty((0, 0))
    x = joining.concat(rows, axis=0)
    divisor = max(x.shape[1] - (int(not bias) if ddof is None else ddof), 0)
    x = x - statistical.mean(x, axis=1, keepdims=True)
    products_of_rows = linalg.matmul(x, elementwise.conj(linalg.matrix_transpose(x)))
    factor = 1 / divisor if divisor else math.inf
    ones = tuple(axis for axis, extent in enumerate(products_of_rows.shape) if extent == 1)
    return manipulation.squeeze(products_of_rows * factor, axis=ones)


@means("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The covariances by the standard deviations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return elementwise.divide(c, c)
    deviation = elementwise.sqrt(elementwise.real(diag(c)))
    c = c / reshape(deviation, (deviation.size, 1)) / deviation
    if c.dtype.kind != "complex":
        return elementwise.clip(c, -1, 1)
    return elementwise.complex(*(elementwise.clip(part, -1, 1) for part in (elementwise.real(c), elementwise.imag(c))))


@means("digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The bin of each element; bins increase or decrease."""
    value, edges = array_of(x), as_array(bins)
    if value.dtype.kind == "complex":
        raise TypeError("x may not be complex")
    lower, upper = edges[:-1], edges[1:]
    rises, falls = (
        utility.all(compare(lower, upper)) for compare in (elementwise.less_equal, elementwise.greater_equal)
    )
    perform_check(
        elementwise.logical_or(rises, falls), ValueError, "bins must be monotonically increasing or decreasing"
    )
    side = "left" if right else "right"
    rising = searching.searchsorted(edges, value, side=side)
    falling = edges.size - searching.searchsorted(edges[::-1], value, side=side)
    return decayed(searching.where(rises, rising, falling))


@means("bincount")
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """How often each integer occurs, or the sum of its weights, in a length that bounds what is counted."""
    value = array_of(x)
    length = minlength.__index__()
    bounds = interval_of(value.expr)
    if bounds is None or bounds[1] >= length:
        raise DataDependentShapeError(
            "the length of the result depends on elements that are unknown while tracing, unless what is counted is "
            "integers that are known to be below minlength: by their dtype, or as np.minimum(x, minlength - 1) is. "
            "Use lamina.scatter(zeros, x, 1, combine='add')"
        )
    if value.ndim != 1:
        raise ValueError("object too deep for desired array" if value.ndim else "object of too small depth")
    if bounds[0] < 0:
        is_right = emit("all", elementwise.greater_equal(value, 0), (0,))
        perform_check(is_right, ValueError, "'list' argument must have no negative elements")
    places = elementwise.maximum(to_dtype(value, dt.int64), 0)  # for all who read it, what is checked is known
    if weights is None:
        return indexing.scatter(creation.zeros(length, dtype=dt.int64), places, 1, "add")
    given = to_dtype(array_of(weights), dt.float64)
    if given.shape != value.shape:
        raise ValueError("The weights and list don't have the same length.")
    return indexing.scatter(creation.zeros(length), places, given, "add")


@means("histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """How many elements are in each bin, and the edges of the bins."""
    if weights is not None:
        raise NotImplementedError("the argument weights isn't there")
    x = flat(_countable(a))
    edges = _bin_edges(x, bins, range)
    is_even = as_value(bins).ndim == 0
    if is_even and x.dtype == edges.dtype == dt.float64:
        counts = _counts_of_even_bins(x, edges)
    else:
        ordered = sorting.sort(to_dtype(x, edges.dtype) if is_even else x)
        below = searching.searchsorted(ordered, edges[:-1])
        counts = utility.diff(below, append=searching.searchsorted(ordered, edges[-1:], side="right"))
    if density:
        return counts / to_dtype(utility.diff(edges), dt.float64) / statistical.sum(counts), edges
    return counts, edges


def _counts_of_even_bins(x: Value, edges: Value) -> Any:
    """Each element's bin is computed, and corrected where rounding put it beside an edge, as NumPy does."""
    count, first, last = edges.shape[0] - 1, edges[0], edges[-1]
    place = to_dtype(elementwise.multiply(elementwise.divide(x - first, last - first), count), dt.int64)
    place = elementwise.clip(place, 0, count - 1)
    is_below = elementwise.less(x, edges[place])
    place = searching.where(is_below, elementwise.maximum(place - 1, 0), place)
    is_above = elementwise.greater_equal(x, edges[place + 1])
    is_above = elementwise.logical_and(is_above, elementwise.not_equal(place, count - 1))
    place = searching.where(is_above, place + 1, place)
    is_inside = elementwise.logical_and(elementwise.greater_equal(x, first), elementwise.less_equal(x, last))
    place = searching.where(is_inside, elementwise.minimum(place, count - 1), count)
    return indexing.scatter(creation.zeros(count + 1, dtype=dt.int64), place, 1, "add")[:-1]


@means("histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """Edges of as many bins of equal width as are asked for."""
    return _bin_edges(flat(_countable(a)), bins, range)


def _countable(a: Any) -> Value:
    x = as_array(a)
    return to_dtype(x, dt.uint8) if x.dtype == dt.bool else x


def _bin_edges(x: Value, bins: Any, range: Any) -> Any:
    if isinstance(bins, str):
        raise NotImplementedError(f"bins={bins!r} isn't there, since the number of bins would depend on the elements")
    given = as_value(bins, "bins")
    if given.ndim == 1:
        ascends = utility.all(elementwise.less_equal(given[:-1], given[1:]))
        perform_check(ascends, ValueError, "`bins` must increase monotonically, when an array")
        return given
    if given.ndim > 1:
        raise ValueError("`bins` must be 1d, when an array")
    count = bins.__index__() if hasattr(bins, "__index__") else None
    if count is None:
        raise TypeError("`bins` must be an integer, a string, or an array")
    if count < 1:
        raise ValueError("`bins` must be positive, when an integer")
    if range is not None:
        first, last = (as_value(each, "range") for each in range)
        _check(elementwise.less_equal(first, last), "max must be larger than min in range parameter.")
    elif x.size == 0:
        first, last = as_value(0), as_value(1)
    else:
        first, last = statistical.min(x), statistical.max(x)
    _check(elementwise.logical_and(elementwise.isfinite(first), elementwise.isfinite(last)), "the range is not finite")
    dtype = common_dtype([first, last, x])
    dtype = dt.float64 if dtype.kind in ("signed", "unsigned") else dtype
    is_empty = elementwise.equal(first, last)
    first = searching.where(is_empty, first - 0.5, first)
    last = searching.where(is_empty, last + 0.5, last)
    return creation.linspace(first, last, count + 1, dtype=dtype)


def _check(predicate: Value, message: str) -> None:
    perform_check(predicate, ValueError, message)


@means("interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Between the points of a line, in float64."""
    if period is not None:
        raise NotImplementedError("the argument period isn't there")
    at, places, values = (to_dtype(array_of(each), dt.float64) for each in (x, xp, fp) if not _refuse_complex(each))
    if places.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if places.size != values.size:
        raise ValueError("fp and xp are not of the same length.")
    if not places.size:
        raise ValueError("array of sample points is empty")
    last = places.size - 1
    place = searching.searchsorted(places, at, side="right") - 1
    lower = elementwise.clip(place, 0, max(last - 1, 0))
    upper = elementwise.minimum(lower + 1, last)
    x0, x1, y0, y1 = (
        indexing.take(each, index)
        for each, index in ((places, lower), (places, upper), (values, lower), (values, upper))
    )
    slope = (y1 - y0) / (x1 - x0)
    result = slope * (at - x0) + y0
    from_above = slope * (at - x1) + y1
    again = searching.where(
        elementwise.logical_and(elementwise.isnan(from_above), elementwise.equal(y0, y1)), y0, from_above
    )
    result = searching.where(elementwise.isnan(result), again, result)
    result = searching.where(elementwise.equal(x0, at), y0, result)
    result = searching.where(elementwise.equal(at, places[-1]), values[-1], result)
    result = searching.where(elementwise.less(at, places[0]), values[0] if left is None else left, result)
    result = searching.where(elementwise.greater(at, places[-1]), values[-1] if right is None else right, result)
    return decayed(searching.where(elementwise.isnan(at), at, result))


def _refuse_complex(thing: Any) -> bool:
    if as_value(thing).dtype.kind == "complex":
        raise NotImplementedError(
            "interpolation of complex numbers isn't there; interpolate the real and imaginary parts"
        )
    return False


# Linear algebra


@means("linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    """The greatest singular value by the least, or the other way round."""
    if p not in (None, 2, -2):
        raise NotImplementedError(f"p={p!r} isn't there; there are None, 2 and -2")
    value = as_array(x)
    if value.size == 0:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    singular = linalg.svdvals(value)
    first, last = singular[..., 0], singular[..., -1]
    result = elementwise.divide(last, first) if p == -2 else elementwise.divide(first, last)
    has_nan = utility.any(elementwise.isnan(value), axis=(-2, -1))
    is_wrong = elementwise.logical_and(elementwise.isnan(result), elementwise.logical_not(has_nan))
    return decayed(searching.where(is_wrong, math.inf, result))


@means("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse for `tensordot` over the first axes."""
    x = as_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    columns = math.prod(x.shape[ind:])
    inverse = linalg.inv(reshape(x, (columns, x.size // columns)))
    return reshape(inverse, (*x.shape[ind:], *x.shape[:ind]))


@means("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x with ``tensordot(a, x, x.ndim) == b``."""
    x, y = as_array(a), as_array(b)
    order = list(range(x.ndim))
    for axis in axes or ():
        order.remove(axis)
        order.insert(x.ndim, axis)
    x = manipulation.permute_dims(x, order)
    shape = x.shape[-(x.ndim - y.ndim) :]
    size = math.prod(shape)
    if x.size != size**2:
        raise np.linalg.LinAlgError("prod(a.shape[b.ndim:]) must be prod(a.shape[:b.ndim])")
    return reshape(linalg.solve(reshape(x, (size, size)), flat(y)), shape)
