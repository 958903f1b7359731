"""Parts of an array whose place or length a run alone knows: ``x[i:]``, ``x[p[k]:p[k + 1]]``, ``x[::-1]`` of such one.

A slice has Python's meaning for every value of its bounds: they count from the end where they are negative, and are
clamped to the axis. What `lamina.trace.affine` proves of them is not computed; where the length is proved to be one
number, the part is a plain view that moves.
"""

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.layout import Layout
from lamina.trace.affine import (
    Integer,
    from_end,
    greater,
    greatest,
    integer,
    is_at_least,
    lesser,
    minus,
    note,
    plus,
    rounded_up,
    times,
    value_of,
)
from lamina.trace.bounded import Bounded, memory
from lamina.trace.build import constant, emit, perform_check, with_kind
from lamina.trace.concrete import is_undecided
from lamina.trace.value import Kind, Value


def is_undecided_integer(thing: Any) -> bool:
    """Whether a thing is a traced integer that a loop or elements decide."""
    is_integer = type(thing) is Value and not thing.shape and thing.dtype.kind in ("signed", "unsigned")
    return is_integer and is_undecided(thing)


def has_window(key: Any) -> bool:
    """Whether a key has a slice with a bound that a run alone knows."""
    items = key if isinstance(key, tuple) else (key,)
    return any(
        isinstance(item, slice) and (is_undecided_integer(item.start) or is_undecided_integer(item.stop))
        for item in items
    )


def window(x: Value | Bounded, key: Any) -> Any:
    """``x[key]`` for slices, integers, None and ``...``; NotImplemented for other keys.

    Raises IndexError for too many indices, and for an integer outside its axis, at run time where a run tells.
    """
    items = _items(key, x.ndim)
    if items is None:
        return NotImplemented
    base, lengths = memory(x), x.lengths if type(x) is Bounded else {}
    whole = base.whole_layout
    shape: list[int] = []
    strides: list[int] = []
    counts: dict[int, Value] = {}
    place: Integer = whole.offset
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        extent: Integer = lengths.get(axis, whole.shape[axis])
        stride = whole.strides[axis]
        if isinstance(item, slice):
            step = 1 if item.step is None else operator.index(item.step)
            start, count = _part(item, extent, step)
            place = plus(place, times(start, stride))
            if type(count) is Value:
                bound = _bound(count, whole.shape[axis], abs(step))
                if bound:
                    counts[len(shape)] = count
            else:
                bound = int(count)
            shape.append(bound)
            strides.append(stride * step)
        else:
            place = plus(place, times(_within(item, extent, axis), stride))
        axis += 1
    has_ellipsis = any(each is Ellipsis for each in (key if isinstance(key, tuple) else (key,)))
    return _seen(base, shape, strides, place, counts, Kind.ARRAY if shape or has_ellipsis else Kind.SCALAR)


def _items(key: Any, rank: int) -> list[Any] | None:
    """The items of a basic key, an axis each but for None; None for a key that is not basic."""
    items = list(key) if isinstance(key, tuple) else [key]
    if not all(map(is_basic, items)):
        return None
    consumed = sum(item is not None and item is not Ellipsis for item in items)
    if consumed > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {consumed} were indexed")
    rest = [slice(None)] * (rank - consumed)
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = places[0] if places else len(items)
    return [*items[:at], *rest, *items[at + 1 :]]


def is_basic(item: Any) -> bool:
    """Whether a thing in a key gives a view: an integer, a slice, None or ``...``."""
    return item is None or item is Ellipsis or isinstance(item, slice) or is_integer_index(item)


def is_integer_index(item: Any) -> bool:
    """Whether a thing in a key is one integer, known or traced; a bool is none."""
    if type(item) is Value:
        return item.shape == () and item.dtype.kind in ("signed", "unsigned")
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _part(key: slice, extent: Integer, step: int) -> tuple[Integer, Integer]:
    """Which elements of an axis a slice names: from where, and how many."""
    if step == 0:
        raise ValueError("slice step cannot be zero")
    # a start beyond one end and a stop beyond the other name nothing, and need not be clamped
    if step > 0:
        start = greater(_place(key.start, extent, 0), 0)
        reach = minus(lesser(_place(key.stop, extent, extent), extent), start)
    else:
        last = minus(extent, 1)
        start = lesser(_place(key.start, extent, last), last)
        reach = minus(start, -1 if key.stop is None else greater(_place(key.stop, extent, -1), -1))
    return start, rounded_up(greater(reach, 0), abs(step))


def _place(bound: Any, extent: Integer, default: Integer) -> Integer:
    """The bound of a slice, counted from the front, beyond the axis perhaps."""
    if bound is None:
        return default
    return from_end(integer(bound if type(bound) is Value else operator.index(bound)), extent)


def _bound(count: Value, extent: int, step: int) -> int:
    """The greatest count there may be."""
    proved, whole = greatest(count), -(-extent // step)
    return whole if proved is None else max(min(proved, whole), 0)


def _within(index: Any, extent: Integer, axis: int) -> Integer:
    """An index as a place in an axis; one outside raises IndexError."""
    place = integer(index)
    if is_at_least(place, 0) and is_at_least(minus(extent, 1), place):
        return place
    if type(place) is int and type(extent) is int:
        if not -extent <= place < extent:
            raise IndexError(f"index {place} is out of bounds for axis {axis} with size {extent}")
        return place % extent
    low = emit("greater_equal", value_of(plus(place, extent)), constant(0, dt.int64))
    high = emit("less", value_of(place), value_of(extent))
    perform_check(emit("logical_and", low, high), IndexError, f"index is out of bounds for axis {axis}")
    return from_end(place, extent)


def _seen(
    base: Value, shape: list[int], strides: list[int], place: Integer, counts: Mapping[int, Value], kind: Kind
) -> Any:
    """The part of a memory that starts at a place, seen through a layout that moves."""
    down = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True) if extent and stride < 0)
    shifts = base.shifts
    if type(place) is int and place + down >= 0:
        offset = place
    else:  # positions are never negative, but shifts may be
        offset = -down
        shifts = (*shifts, (value_of(minus(place, offset)), 1))
    layout = Layout(shape, strides, offset if math.prod(shape) else 0)
    made = base.through(layout, shifts, tuple(sorted(counts.items())))
    if counts:
        return Bounded(made, {axis: note_length(count, shape[axis]) for axis, count in counts.items()})
    return with_kind(made, kind)


def note_length(count: Value, bound: int) -> Value:
    """A length, of which it is known from now on that it is 0 or more, and at most its bound."""
    return value_of(note(count, (0,), (bound,)))
