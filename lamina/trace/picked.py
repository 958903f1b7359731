"""Elements that are picked at run time: where a mask is true, at places of which some count."""

import math

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.bounded import Bounded, cut
from lamina.trace.build import emit, reshape
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
