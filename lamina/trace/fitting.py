"""Arrays whose lengths a run alone knows, side by side: up to one bound, and of one length.

Where it isn't proved that two lengths agree, the program compares them: one of 1 is repeated, as NumPy repeats it, and
others that differ raise ValueError. `lamina.trace.lengths` has the functions that ask for it.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.trace.affine import Integer, is_same, value_of
from lamina.trace.bounded import Bounded, cut
from lamina.trace.build import as_value, broadcast_to, constant, emit, perform_check, reshape, slice_axis
from lamina.trace.shapes import along
from lamina.trace.value import Kind, Value

Shape = tuple[int, ...]
Lengths = Mapping[int, Value]


def bounded(value: Any, lengths: Lengths) -> Any:
    """A value of these lengths; itself where it has none."""
    if isinstance(value, tuple):
        return tuple(bounded(each, lengths) for each in value)
    return Bounded(value, lengths) if lengths else value


def lengths_of(thing: Any) -> Lengths:
    """The lengths of an array, by axis; of most arrays none."""
    return thing.lengths if type(thing) is Bounded else {}


def padded(thing: Any) -> Value:
    """An array up to its bounds, or anything else that NumPy takes for an array."""
    return thing.value if type(thing) is Bounded else as_value(thing)


def extents_of(thing: Any) -> tuple[Integer, ...]:
    """The extents of an array, each known or traced."""
    lengths = lengths_of(thing)
    return tuple(lengths.get(axis, extent) for axis, extent in enumerate(padded(thing).shape))


def count_up(extent: int) -> Value:
    """The places along an axis."""
    return emit("iota", extent, dt.int64)


def inside(shape: Shape, lengths: Lengths) -> Value:
    """Which elements of an array of this shape are before the lengths."""
    masks = []
    for axis, length in lengths.items():
        mask = emit("less", count_up(shape[axis]), broadcast_to(value_of(length), (shape[axis],)))
        beside = tuple(extent if i == axis else 1 for i, extent in enumerate(shape))
        masks.append(broadcast_to(reshape(mask, beside), shape))
    return functools.reduce(lambda x, y: emit("logical_and", x, y), masks)


def filled(value: Value, lengths: Lengths, number: Any) -> Value:
    """The value with a number beyond the lengths."""
    if not lengths:
        return value
    fill = constant(number, value.dtype) if type(number) is not Value else number
    return emit("where", inside(value.shape, lengths), value, broadcast_to(fill, value.shape))


# Broadcasting


def aligned(things: Sequence[Any], fixed: bool = False) -> tuple[list[Value], dict[int, Value]]:
    """Values that broadcast as they are, and the lengths of what comes of them.

    Where it isn't proved that lengths agree, one of 1 is repeated at run time, and others that differ raise ValueError
    then. With `fixed` the first thing, which is written, stays as long as it is, and other things fit.
    """
    values, extents = [padded(thing) for thing in things], [extents_of(thing) for thing in things]
    rank = max(value.ndim for value in values)
    lengths: dict[int, Value] = {}
    for axis in range(-rank, 0):
        there = [k for k, value in enumerate(values) if value.ndim >= -axis]
        met = {k: extents[k][axis] for k in there if not (type(extents[k][axis]) is int and extents[k][axis] == 1)}
        if all(type(extent) is int for extent in met.values()):
            continue  # which is the function's own to judge
        is_fixed = fixed and 0 in there
        length = extents[0][axis] if is_fixed else _met(list(met.values()))
        if is_fixed and 0 not in met:
            met[0] = length
        is_proved = all(is_same(extent, length) for extent in met.values())
        bounds = [values[k].shape[axis] for k in met]
        bound = length if type(length) is int else min(bounds) if is_proved else max(bounds)
        if is_fixed and not is_proved:
            bound = values[0].shape[axis]
        for k, extent in met.items():
            if is_same(extent, length):
                values[k] = _resized(values[k], axis + values[k].ndim, bound)
            else:
                values[k] = _stretched(values[k], axis + values[k].ndim, bound, extent, length)
        if type(length) is Value:
            lengths[axis + rank] = length
    return values, lengths


def _met(extents: list[Integer]) -> Integer:
    """The extent in which some that aren't known to be 1 meet."""
    known = [extent for extent in extents if type(extent) is int]
    if known:
        return known[0]

    def meet(x: Integer, y: Integer) -> Integer:
        if is_same(x, y):
            return x
        is_one = emit("equal", value_of(x), constant(1, dt.int64))
        return emit("where", is_one, value_of(y), value_of(x), kind=Kind.NUMBER)

    return functools.reduce(meet, extents)


def _resized(value: Value, axis: int, bound: int) -> Value:
    """The value within another bound: a lesser one, as long as all that counts, or a greater one."""
    if value.shape[axis] >= bound:
        return shrunk(value, axis, bound)
    return along(value, axis, emit("minimum", count_up(bound), constant_places(bound, value.shape[axis] - 1)))


def shrunk(value: Value, axis: int, bound: int) -> Value:
    """The first elements along an axis."""
    if value.shape[axis] == bound:
        return value
    if value.lengths:
        shape = [bound if i == axis else extent for i, extent in enumerate(value.shape)]
        return cut(value, shape, dict(value.lengths) if bound else {})
    return slice_axis(value, axis, 0, bound)


def constant_places(extent: int, number: int) -> Value:
    """One place, as often as an axis has some."""
    return broadcast_to(constant(number, dt.int64), (extent,))


def _stretched(value: Value, axis: int, bound: int, extent: Integer, length: Integer) -> Value:
    """The value along an axis as long as others; of extent 1 its element is repeated, else the two must agree."""
    is_one = emit("equal", value_of(extent), constant(1, dt.int64))
    agrees = emit("logical_or", is_one, emit("equal", value_of(extent), value_of(length)))
    message = f"operands could not be broadcast together: their lengths along axis {axis} differ"
    perform_check(agrees, ValueError, message)
    if not value.shape[axis]:  # then the length is 0, and nothing counts
        shape = tuple(bound if i == axis else each for i, each in enumerate(value.shape))
        return broadcast_to(constant(0, value.dtype), shape)
    last = constant_places(bound, value.shape[axis] - 1)
    place = emit("minimum", count_up(bound), last)
    return along(value, axis, emit("where", broadcast_to(is_one, (bound,)), constant_places(bound, 0), place))


def within_bounds(target: Any, value: Any) -> tuple[Value, Value]:
    """An array that is written, and what is put there, both up to bounds within which all that counts lies.

    Raises ValueError where the value doesn't fit, at run time where a run tells.
    """
    if padded(value).ndim > padded(target).ndim:
        value = as_value(value)  # NumPy lets it have more axes of extent 1
        return as_value(target), value
    (into, put), _ = aligned((target, value), fixed=True)
    return into, put
