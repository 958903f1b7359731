"""What functions make of arrays whose lengths a run alone knows: one rule for each family, by public name.

Elementwise functions compute up to the bounds, and the result is as long as its operands, which must agree. Reductions,
products and sorts put something without effect beyond the length first. A rule gives NotImplemented for arguments that
it has no answer for; then the lengths are settled. `lamina.trace.function` asks here.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace import arranged, ranked
from lamina.trace.affine import greater, greatest, integer, is_at_least, is_same, minus, value_of
from lamina.trace.bounded import Bounded, cut, transposed
from lamina.trace.build import broadcast_to, constant, emit, perform_check
from lamina.trace.fitting import (
    Shape,
    aligned,
    bounded,
    count_up,
    extents_of,
    filled,
    inside,
    lengths_of,
    padded,
    shrunk,
)
from lamina.trace.picked import count_of, expect_mask, gathered, holds_places, nonzero, scattered, taken
from lamina.trace.reduction import axes_of, axis_of
from lamina.trace.shapes import along
from lamina.trace.value import Value
from lamina.trace.windows import is_undecided_integer, note_length, window

Rule = Callable[..., Any]


def rule_for(name: str, args: tuple[Any, ...]) -> Rule | None:
    """The rule of a public function, where one of its arguments has a length; None where it has no rule."""
    if any(type(arg) is Bounded for arg in args):
        return RULES.get(name)
    if name in _MAKERS:
        extents = args[0] if args and type(args[0]) in (list, tuple) else args
        return _MAKERS[name] if any(map(is_undecided_integer, extents)) else None
    if name not in _OF_LISTS:
        return None
    is_listed = any(type(arg) in (list, tuple) and any(type(each) is Bounded for each in arg) for arg in args)
    return RULES[name] if is_listed else None


# Families


def _elementwise(name: str) -> Rule:
    def rule(*things: Any, **options: Any) -> Any:
        if options:
            return NotImplemented
        if name == "pow" and type(things[1]) is Bounded:  # which must not be negative, of integers
            things = things[0], Bounded(filled(things[1].value, things[1].lengths, 0), things[1].lengths)
        values, lengths = aligned(things)
        return bounded(FUNCTIONS[name](*values), lengths)

    return rule


def _clip(x: Any, min: Any = None, max: Any = None, out: None = None) -> Any:
    if out is not None:
        return NotImplemented
    bounds = {name: bound for name, bound in (("min", min), ("max", max)) if bound is not None}
    values, lengths = aligned((x, *bounds.values()))
    return bounded(FUNCTIONS["clip"](values[0], **dict(zip(bounds, values[1:], strict=True))), lengths)


def _mapped(name: str) -> Rule:
    """Functions of one array whose result has its shape, whatever the options say."""

    def rule(x: Any, *args: Any, **options: Any) -> Any:
        if type(x) is not Bounded or any(type(each) is Bounded for each in (*args, *options.values())):
            return NotImplemented
        return bounded(FUNCTIONS[name](x.value, *args, **options), x.lengths)

    return rule


def _left(x: Bounded, axes: Shape, keepdims: bool) -> dict[int, Value]:
    """The lengths that a reduction leaves, by the axes of its result."""
    kept = [axis for axis in range(x.ndim) if keepdims or axis not in axes]
    return {i: x.lengths[axis] for i, axis in enumerate(kept) if axis in x.lengths and axis not in axes}


def _cut_by(x: Bounded, axes: Shape) -> dict[int, Value]:
    return {axis: length for axis, length in x.lengths.items() if axis in axes}


def _reduction(name: str) -> Rule:
    def rule(x: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        if type(x) is not Bounded or not options.keys() <= {"dtype", "correction"}:
            return NotImplemented
        axes = axes_of(axis, x.ndim)
        lengths = _cut_by(x, axes)
        where = {"where": inside(x.value.shape, lengths)} if lengths else {}
        result = FUNCTIONS[name](x.value, axis=axis, keepdims=keepdims, **options, **where)
        return bounded(result, _left(x, axes, keepdims))

    return rule


def _count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    axes = axes_of(axis, x.ndim)
    counted = filled(x.value, _cut_by(x, axes), 0)
    return bounded(FUNCTIONS["count_nonzero"](counted, axis=axis, keepdims=keepdims), _left(x, axes, keepdims))


_EMPTY = {
    "max": "zero-size array to reduction operation maximum which has no identity",
    "min": "zero-size array to reduction operation minimum which has no identity",
    "argmax": "attempt to get argmax of an empty sequence",
    "argmin": "attempt to get argmin of an empty sequence",
}


def _extremum(name: str) -> Rule:
    def rule(x: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
        if type(x) is not Bounded or options or x.dtype.kind == "complex":
            return NotImplemented
        if name.startswith("arg") and axis is None and x.ndim > 1:
            return NotImplemented  # places count what is there alone
        axes = axes_of(axis, x.ndim)
        lengths = _cut_by(x, axes)
        for length in lengths.values():
            if not is_at_least(length, 1):
                there = emit("greater", value_of(length), constant(0, dt.int64))
                perform_check(there, ValueError, _EMPTY[name])
        value = filled(x.value, lengths, _limit(x.dtype, name.endswith("min")))
        result = FUNCTIONS[name](value, axis=axis, keepdims=keepdims)
        return bounded(result, _left(x, axes, keepdims))

    return rule


def _limit(dtype: dt.DType, is_high: bool) -> Any:
    """What every element of a dtype is at least, or at most."""
    if dtype.kind == "float":
        return math.inf if is_high else -math.inf
    if dtype.kind == "bool":
        return is_high
    return int(dtype.max if is_high else dtype.min)


def _last(dtype: dt.DType) -> Any:
    """What is sorted behind every element of a dtype, or with the last ones."""
    numbers = {"float": math.nan, "complex": complex(math.nan, math.nan)}
    return numbers[dtype.kind] if dtype.kind in numbers else _limit(dtype, True)


def _sorted(name: str) -> Rule:
    def rule(x: Any, axis: Any = -1, **options: Any) -> Any:
        if type(x) is not Bounded or axis is None or options.get("descending"):
            return NotImplemented
        value = filled(x.value, _cut_by(x, (axis_of(axis, x.ndim),)), _last(x.dtype))
        return bounded(FUNCTIONS[name](value, axis=axis), x.lengths)

    return rule


def _searchsorted(x: Any, values: Any, **options: Any) -> Any:
    if type(x) is not Bounded or type(values) is Bounded or options.keys() - {"side"} or x.ndim != 1:
        return NotImplemented
    if x.dtype.kind not in ("float", "signed", "unsigned"):
        return NotImplemented
    whole = filled(x.value, x.lengths, _last(x.dtype))
    return FUNCTIONS["minimum"](FUNCTIONS["searchsorted"](whole, values, **options), value_of(x.lengths[0]))


def _cumulative(name: str) -> Rule:
    def rule(x: Any, axis: Any = None, **options: Any) -> Any:
        if not options.keys() <= {"dtype"} or (axis is None and x.ndim > 1):
            return NotImplemented
        return bounded(FUNCTIONS[name](x.value, axis=axis, **options), x.lengths)

    return rule


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is not None or not (ord is None or (ord in (1, 2, math.inf) and x.ndim == 1)):
        return NotImplemented
    result = FUNCTIONS["norm"](filled(x.value, x.lengths, 0), ord=ord, keepdims=keepdims)
    return bounded(result, _left(x, tuple(range(x.ndim)), keepdims))


# Products


def _product(name: str) -> Rule:
    """Products of vectors and matrices, over the last axis of the one and the last but one of the other."""

    def rule(x: Any, y: Any) -> Any:
        first, second = padded(x), padded(y)
        if first.ndim not in (1, 2) or second.ndim not in (1, 2):
            return NotImplemented
        along_x = first.ndim - 1
        along_y = second.ndim - 1 if name == "inner" else 0
        first, second = _contracted(x, y, along_x, along_y, name)
        kept_x = [lengths_of(x).get(axis) for axis in range(first.ndim) if axis != along_x]
        kept_y = [lengths_of(y).get(axis) for axis in range(second.ndim) if axis != along_y]
        lengths = {i: length for i, length in enumerate((*kept_x, *kept_y)) if length is not None}
        return bounded(FUNCTIONS[name](first, second), lengths)

    return rule


def _contracted(x: Any, y: Any, along_x: int, along_y: int, name: str) -> tuple[Value, Value]:
    """The operands with 0 beyond the length along which they are summed, which must be one."""
    first, second = padded(x), padded(y)
    a, b = extents_of(x)[along_x], extents_of(y)[along_y]
    if type(a) is int and type(b) is int:
        return first, second
    if not is_same(a, b):
        agrees = emit("equal", value_of(a), value_of(b))
        message = f"{name}: the operands differ in length along the axis that is summed"
        perform_check(agrees, ValueError, message)
    length = a if type(a) is Value else b
    bound = min(first.shape[along_x], second.shape[along_y])
    first, second = shrunk(first, along_x, bound), shrunk(second, along_y, bound)
    assert type(length) is Value
    if not bound:
        return first, second
    # not of one alone: 0 times NaN is NaN
    return filled(first, {along_x: length}, 0), filled(second, {along_y: length}, 0)


def _outer(x: Any, y: Any) -> Any:
    if padded(x).ndim != 1 or padded(y).ndim != 1:
        return NotImplemented
    column = window(x if type(x) is Bounded else padded(x), (slice(None), None))
    return FUNCTIONS["multiply"](column, y)


def _vecdot(x: Any, y: Any, **options: Any) -> Any:
    if options or padded(x).ndim != 1 or padded(y).ndim != 1:
        return NotImplemented
    first, second = _contracted(x, y, 0, 0, "vecdot")
    return FUNCTIONS["vecdot"](first, second)


# Shapes


def _permute_dims(x: Any, axes: Any = None) -> Any:
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(axis_of(axis, x.ndim) for axis in axes)
    keys = {i: x.lengths[axis] for i, axis in enumerate(order) if axis in x.lengths}
    if not x.value.lengths:
        return Bounded(FUNCTIONS["permute_dims"](x.value, order), keys)
    return Bounded(transposed(x.value, order), keys)


# The shapes of a vector that are views of it by an index.
_LINES: dict[Any, Any] = {(-1,): slice(None), (-1, 1): (slice(None), None), (1, -1): (None, slice(None))}


def _reshape(x: Any, shape: Any, **options: Any) -> Any:
    key = _LINES.get(tuple(shape) if isinstance(shape, (tuple, list)) else (shape,))
    if x.ndim != 1 or options.keys() - {"copy"} or key is None:
        return NotImplemented
    return FUNCTIONS["asarray"](window(x, key), copy=True) if options.get("copy") else window(x, key)


def _asarray(x: Any, **options: Any) -> Any:
    return _mapped("asarray")(x, **options) if options.get("copy") else NotImplemented


def _diff(x: Any, **options: Any) -> Any:
    if options or x.ndim != 1 or x.dtype.kind == "bool":
        return NotImplemented
    return FUNCTIONS["subtract"](window(x, slice(1, None)), window(x, slice(None, -1)))


# New arrays


def _filled_with(name: str) -> Rule:
    """Functions that make an array of a shape, one of whose extents may be a traced integer of a known bound."""

    def rule(shape: Any, *args: Any, **options: Any) -> Any:
        extents = [integer(each) for each in (shape if type(shape) in (list, tuple) else (shape,))]
        bounds = [greatest(each) for each in extents]
        if any(bound is None for bound in bounds):
            return NotImplemented
        lengths = {}
        for axis, (extent, bound) in enumerate(zip(extents, bounds, strict=True)):
            if type(extent) is Value and bound is not None:
                if not is_at_least(extent, 0):
                    there = emit("greater_equal", extent, constant(0, dt.int64))
                    perform_check(there, ValueError, "negative dimensions are not allowed")
                lengths[axis] = note_length(extent, max(bound, 0))
        return bounded(FUNCTIONS[name](tuple(max(bound or 0, 0) for bound in bounds), *args, **options), lengths)

    return rule


def _arange(*bounds: Any, dtype: Any = None) -> Any:
    start, stop = (0, *bounds) if len(bounds) == 1 else bounds[:2]
    is_whole = all(type(each) is int or is_undecided_integer(each) for each in (start, stop))
    if dtype is not None or len(bounds) > 2 or not is_whole:
        return NotImplemented
    length = greater(minus(integer(stop), integer(start)), 0)
    bound = greatest(length)
    if bound is None:
        return NotImplemented
    numbers = emit("add", count_up(bound), broadcast_to(value_of(integer(start)), (bound,)))
    return bounded(numbers, {0: note_length(length, bound)} if type(length) is Value else {})


_MAKERS: dict[str, Rule] = {
    **{name: _filled_with(name) for name in ("empty", "full", "ones", "zeros")},
    "arange": _arange,
}


# Indexing and writing


def _getitem(x: Any, key: Any) -> Any:
    if type(x) is Bounded and type(key) is Bounded and key.dtype == dt.bool and key.ndim == 1:
        return _picked(x, key)
    if type(x) is Bounded:
        is_array = isinstance(key, (list, np.ndarray, Bounded)) or (type(key) is Value and key.shape)
        return taken(x, key) if is_array else window(x, key)
    if not holds_places(key):
        return NotImplemented
    if type(key) is Bounded and key.ndim != 1 and padded(x).ndim and padded(x).shape[0]:
        return Bounded(FUNCTIONS["getitem"](x, filled(key.value, key.lengths, 0)), key.lengths)
    return gathered(padded(x), key)


def _scatter(x: Any, index: Any, values: Any, combine: str = "set") -> Any:
    if type(x) is Bounded or not holds_places(index):
        return NotImplemented
    return scattered(padded(x), index, values, combine)


def _picked(x: Bounded, mask: Bounded) -> Any:
    """The elements along the first axis where a mask as long as it is true."""
    expect_mask(x, mask)
    bound = min(x.value.shape[0], mask.value.shape[0])
    flat = filled(shrunk(mask.value, 0, bound), mask.lengths, False)
    taken = along(shrunk(x.value, 0, bound), 0, emit("true_places", flat))
    lengths = {**x.lengths, 0: count_of(flat)}
    return Bounded(cut(taken, taken.shape, lengths), lengths)


def _nonzero(x: Any) -> Any:
    mask = FUNCTIONS["not_equal"](x.value, False) if x.dtype != dt.bool else x.value
    return nonzero(filled(mask, x.lengths, False))


def _take(x: Any, indices: Any, **options: Any) -> Any:
    if type(x) is Bounded or options.keys() - {"axis"} or options.get("axis") not in (None, 0) or padded(x).ndim != 1:
        return NotImplemented
    return gathered(padded(x), indices)


_OF_LISTS = arranged.OF_LISTS | {"getitem", "scatter"}  # whose arguments are tuples and lists
_ELEMENTWISE = """
    abs acos acosh add angle asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor cbrt ceil conj copysign cos cosh deg2rad divide equal erf exp exp2 expm1 fabs
    float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot imag isfinite isinf isnan
    lcm less less_equal log log1p log2 log10 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor maximum
    minimum modf multiply nan_to_num negative nextafter not_equal positive pow rad2deg real reciprocal remainder rint
    sigmoid sign signbit sin sinc sinh sqrt square subtract tan tanh trunc where
"""
RULES: dict[str, Rule] = {
    **arranged.RULES,
    **ranked.RULES,
    **{name: _elementwise(name) for name in _ELEMENTWISE.split()},
    **{
        name: _mapped(name)
        for name in ["isin", "astype", "round", "empty_like", "full_like", "ones_like", "zeros_like"]
    },
    **{name: _reduction(name) for name in ["all", "any", "mean", "prod", "std", "sum", "var"]},
    **{name: _extremum(name) for name in _EMPTY},
    **{name: _sorted(name) for name in ("sort", "argsort")},
    **{name: _cumulative(name) for name in ("cumulative_sum", "cumulative_prod")},
    "count_nonzero": _count_nonzero,
    "searchsorted": _searchsorted,
    **{name: _product(name) for name in ("matmul", "dot", "inner")},
    "asarray": _asarray,
    "clip": _clip,
    "diff": _diff,
    "getitem": _getitem,
    "nonzero": _nonzero,
    "norm": _norm,
    "outer": _outer,
    "np.outer": _outer,
    "np.cumprod": _cumulative("cumulative_prod"),
    "np.cumsum": _cumulative("cumulative_sum"),
    "permute_dims": _permute_dims,
    "reshape": _reshape,
    "scatter": _scatter,
    "take": _take,
    "vecdot": _vecdot,
}
"""The rules by the names of lamina's public functions."""
