"""Elements that are picked at run time: where a mask is true, at places of which some count."""

import math
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.affine import is_same, value_of
from lamina.trace.bounded import Bounded, cut, memory
from lamina.trace.build import as_value, emit, perform_check, reshape, slice_axis, to_dtype
from lamina.trace.fitting import aligned, bounded, extents_of, filled, shrunk
from lamina.trace.index import axes_before, parse
from lamina.trace.reduction import filled as full
from lamina.trace.shapes import along
from lamina.trace.value import Kind, Value
from lamina.trace.windows import note_length


def selected(view: Value, mask: Value, axis: int, is_first: bool) -> Bounded:
    """The elements of a view where a traced mask of its axes from `axis` on is true, in C order."""
    rank, extent = mask.ndim, math.prod(mask.shape)
    flat = reshape(mask, (extent,))
    taken = along(
        reshape(view, (*view.shape[:axis], extent, *view.shape[axis + rank :])), axis, emit("true_places", flat)
    )
    if is_first:
        taken = FUNCTIONS["permute_dims"](taken, (axis, *(i for i in range(taken.ndim) if i != axis)))
    at = 0 if is_first else axis
    lengths = {at: count_of(flat)}
    return Bounded(cut(taken, taken.shape, lengths), lengths)


def expect_mask(x: Bounded, mask: Bounded) -> None:
    """Raise IndexError for a mask of more axes than x has; at run time, where one isn't as long as that of x."""
    if mask.ndim > x.ndim:
        raise IndexError(f"too many indices for array: array is {x.ndim}-dimensional, but {mask.ndim} were indexed")
    for axis, (extent, wanted) in enumerate(zip(extents_of(mask), extents_of(x), strict=False)):
        if not is_same(extent, wanted):
            message = f"boolean index did not match indexed array along axis {axis}"
            perform_check(emit("equal", value_of(extent), value_of(wanted)), IndexError, message)


def count_of(flat: Value) -> Value:
    """How many elements of a flat mask are true."""
    count = emit("sum", emit("cast", flat, dt.int64), (0,), kind=Kind.NUMBER)
    return note_length(count, flat.shape[0])


def nonzero(mask: Value) -> tuple[Bounded, ...]:
    """Where a traced mask is true, an array of places for each axis."""
    flat = reshape(mask, (math.prod(mask.shape),))
    lengths = {0: count_of(flat)}
    places = emit("true_places", flat)
    places = cut(places, places.shape, lengths)
    found, behind = [], 1
    for extent in reversed(mask.shape):
        place = FUNCTIONS["floor_divide"](places, behind) if behind > 1 else places
        found.append(
            Bounded(place if behind * extent == flat.shape[0] else FUNCTIONS["remainder"](place, extent), lengths)
        )
        behind *= extent
    return tuple(reversed(found))


# Places of which some count, in a key


class _Places(NamedTuple):
    """A key whose arrays of places have values up to their bound, and the axis and length of these in the result."""

    key: tuple[Any, ...]
    axis: int
    length: Value


def holds_places(key: Any) -> bool:
    """Whether a key has an array of places whose length a run alone knows."""
    return any(_is_places(item) for item in (key if isinstance(key, tuple) else (key,)))


def _is_places(item: Any) -> bool:
    return type(item) is Bounded and item.dtype.kind in ("signed", "unsigned")


def _places_in(x: Value, key: Any) -> _Places | None:
    """What a key of vectors of one length, slices, integers and ``...`` names; None for other keys.

    Beyond the length the places are those of the first elements.
    """
    items = key if isinstance(key, tuple) else (key,)
    vectors = [item for item in items if _is_places(item)]
    others = (item for item in items if not _is_places(item))
    is_plain = all(item is Ellipsis or isinstance(item, (slice, int, np.integer)) for item in others)
    if not is_plain or any(vector.ndim != 1 for vector in vectors):
        return None
    length = vectors[0].lengths[0]
    if not all(is_same(vector.lengths[0], length) for vector in vectors):
        return None
    bound = min(vector.value.shape[0] for vector in vectors)
    values = tuple(filled(shrunk(item.value, 0, bound), {0: length}, 0) if _is_places(item) else item for item in items)
    read = parse(values, x.shape)
    indexed = [item.axis for item in read.items if item.index is not None]
    if bound and any(not x.shape[axis] for axis in indexed):
        return None
    return _Places(values, axes_before(read), length)


def gathered(x: Value, key: Any) -> Any:
    """The elements at places of which some count; NotImplemented for other keys than `scattered` takes."""
    places = _places_in(x, key)
    if places is None:
        return NotImplemented
    return Bounded(FUNCTIONS["getitem"](x, places.key), {places.axis: places.length})


def scattered(x: Value, key: Any, values: Any, combine: str) -> Any:
    """A copy of an array with values at places of which some count; NotImplemented for other keys.

    What doesn't count is put behind the last element, and cut off.
    """
    places = _places_in(x, key)
    if places is None:
        return NotImplemented
    size = math.prod(x.shape)
    at = FUNCTIONS["getitem"](reshape(emit("iota", size, dt.int64), x.shape), places.key)
    where = Bounded(filled(at, {places.axis: places.length}, size), {places.axis: places.length})
    (into, put), _ = aligned((where, values), fixed=True)
    line = emit("concat", (reshape(x, (size,)), full(0, x.dtype, (1,))), 0)
    put = to_dtype(FUNCTIONS["broadcast_to"](put, into.shape), x.dtype)
    return reshape(slice_axis(emit("scatter", line, (into,), put, combine), 0, 0, size), x.shape)


def taken(x: Bounded, index: Any) -> Any:
    """The elements at places along the first axis, of which x has as many as a run tells; IndexError for others then.

    NotImplemented for a mask, and for more than one array of places.
    """
    index = index if type(index) is Bounded else None if isinstance(index, tuple) else as_value(index)
    if index is None or index.dtype.kind not in ("signed", "unsigned") or 0 not in x.lengths or not x.value.shape[0]:
        return NotImplemented
    lengths = index.lengths if type(index) is Bounded else {}
    extent = value_of(x.lengths[0])
    places = to_dtype(filled(memory(index), lengths, 0), dt.int64)
    from_front = FUNCTIONS["where"](places < 0, places + extent, places)
    is_there = FUNCTIONS["logical_and"](from_front >= 0, from_front < extent)
    perform_check(FUNCTIONS["all"](filled(is_there, lengths, True)), IndexError, "index is out of bounds for axis 0")
    last = x.value.shape[0] - 1
    found = along(x.value, 0, FUNCTIONS["clip"](from_front, 0, last))
    rest = {axis + index.ndim - 1: length for axis, length in x.lengths.items() if axis}
    return bounded(found, {**lengths, **rest})
