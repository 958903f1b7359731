"""Medians and quantiles of arrays whose length a run alone knows, by where their sorted elements are.

A rule gives NotImplemented for what it isn't for; then the length must be known.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.bounded import Bounded
from lamina.trace.build import as_value, constant, decayed, emit, perform_check, reshape, to_dtype
from lamina.trace.concrete import concrete, is_undecided
from lamina.trace.fitting import filled
from lamina.trace.value import Kind, Value


def _is_for(x: Any) -> bool:
    return type(x) is Bounded and x.ndim == 1 and x.dtype.kind == "float"


def _element(ordered: Bounded, place: Value) -> Value:
    """The element at a place before the length, as the greatest of it alone: beyond the length nobody need sort."""
    places = emit("iota", ordered.value.shape[0], dt.int64)
    alone = FUNCTIONS["where"](FUNCTIONS["equal"](places, place), ordered.value, -math.inf)
    return emit("max", filled(alone, ordered.lengths, -math.inf), (0,), kind=Kind.SCALAR)


def _last_place(x: Bounded) -> Value:
    return emit("subtract", x.lengths[0], constant(1, dt.int64))


def _median(x: Any, **options: Any) -> Any:
    """The mean of the two elements in the middle; NaN of none, and where one is NaN, which is last then."""
    if options or not _is_for(x):
        return NotImplemented
    length, nan = x.lengths[0], constant(math.nan, x.dtype, Kind.SCALAR)
    if not x.value.shape[0]:
        return nan
    ordered, last, two = FUNCTIONS["sort"](x), _last_place(x), constant(2, dt.int64)
    middle = [_element(ordered, emit("floor_divide", place, two)) for place in (last, length)]
    mean = FUNCTIONS["mean"](emit("concat", tuple(reshape(each, (1,)) for each in middle), 0))
    is_none = emit("equal", length, constant(0, dt.int64))
    is_nan = emit("logical_or", emit("isnan", _element(ordered, last)), is_none)
    return emit("where", is_nan, nan, mean, kind=Kind.SCALAR)


def _quantile(whole: int) -> Callable[..., Any]:
    """The rule of parts of a whole, which are known, by the method that is NumPy's without another."""

    def rule(x: Any, q: Any, **options: Any) -> Any:
        given = as_value(q)
        if options or not _is_for(x) or not x.value.shape[0] or is_undecided(given):
            return NotImplemented
        parts = np.true_divide(concrete(given, "the parts", "parts that are known"), whole)
        if parts.ndim > 1 or not ((parts >= 0) & (parts <= 1)).all():
            return NotImplemented
        ordered, last = FUNCTIONS["sort"](x), _last_place(x)
        some = emit("greater_equal", last, constant(0, dt.int64))
        perform_check(some, IndexError, "there is no element, so there is no quantile")
        final = _element(ordered, last)
        dtype = dt.promote(x.dtype, dt.float64) if parts.ndim else x.dtype  # one number is weak
        found = [_between(ordered, last, final, float(part), dtype) for part in parts.reshape(-1)]
        result = FUNCTIONS["stack"](found) if parts.ndim else found[0]
        return decayed(FUNCTIONS["where"](emit("isnan", final), to_dtype(final, dtype), result))

    return rule


def _between(ordered: Bounded, last: Value, final: Value, part: float, dtype: dt.DType) -> Value:
    """What a part of the elements lies below, between two neighbours, as NumPy computes it: from the nearer one."""
    place = emit("multiply", to_dtype(last, dt.float64), constant(part, dt.float64, Kind.SCALAR), kind=Kind.SCALAR)
    below = emit("cast", emit("floor", place), dt.int64)
    at_end = emit("greater_equal", below, last)  # there NumPy counts from the end: the share is more than 1
    low = _element(ordered, below)
    high = FUNCTIONS["where"](at_end, final, _element(ordered, emit("add", below, constant(1, dt.int64))))
    start = FUNCTIONS["where"](at_end, -1.0, emit("floor", place))
    share = to_dtype(FUNCTIONS["subtract"](place, start), dtype)
    low, step = to_dtype(low, dtype), to_dtype(FUNCTIONS["subtract"](high, low), dtype)
    above = FUNCTIONS["subtract"](to_dtype(high, dtype), step * (1 - share))
    return decayed(FUNCTIONS["where"](share >= 0.5, above, low + step * share))


RULES: dict[str, Callable[..., Any]] = {
    "np.median": _median,
    "np.quantile": _quantile(1),
    "np.percentile": _quantile(100),
}
