"""NumPy's index language: what ``x[key]`` means, as movements where it is a view and as one gather where it isn't.

`parse` reads a key into one item for each thing in it, with every axis named; `select` builds the result. Integers that
are known, slices and new axes are at most one `Slice` and one `Reshape`. Traced integers and index arrays are gathered:
the axes they index come first, the result's axes go where NumPy puts them.
"""

import functools
import operator
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.array import Array, asarray
from lamina.layout import Layout, move
from lamina.layout.limits import has_64_bits
from lamina.trace.affine import is_at_least
from lamina.trace.aliasing import is_recast
from lamina.trace.bounded import Bounded
from lamina.trace.build import (
    apply_move,
    as_value,
    broadcast_to,
    captured,
    constant,
    emit,
    node_of,
    perform_check,
    permute,
    reshape,
    scope_now,
    to_dtype,
    with_kind,
)
from lamina.trace.concrete import concrete
from lamina.trace.elementwise import elementwise
from lamina.trace.order import order_of
from lamina.trace.value import Kind, Value

Shape = tuple[int, ...]

_NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


class What(Enum):
    """What an item of a key does."""

    PICK = "one known element of an axis, which goes"
    SLICE = "some elements of an axis, evenly spaced"
    NEW = "a new axis of extent 1"
    GATHER = "elements of an axis by an array of integers, or by a traced integer"
    NOTHING = "an ellipsis for no axis: it still stands between index arrays"
    REPEAT = "a bool for the whole: an axis of extent 1 or 0"


class Item(NamedTuple):
    """One thing in a key: the axis that it is about, and which of its elements."""

    what: What
    axis: int = -1
    range: move.Range = move.Range(0, 0, 1)
    index: Any = None


class Key(NamedTuple):
    """A key that was read for one shape.

    ``items`` are in the key's order and name each axis once; ``is_advanced`` is NumPy's word for a key with an array or
    a bool in it, whose result is always a copy; ``has_ellipsis`` decides whether a result of no axis is an array.
    """

    items: tuple[Item, ...]
    is_advanced: bool
    has_ellipsis: bool

    @property
    def is_basic(self) -> bool:
        """Whether the result is a view at a place that is known."""
        return not any(item.what in (What.GATHER, What.REPEAT) for item in self.items)


def parse(key: Any, shape: Shape) -> Key:
    """A key as NumPy reads it for an array of this shape.

    Raises IndexError, in NumPy's words, for too many indices, for an integer outside its axis, for a mask of another
    shape and for what is no index; `lamina.errors.DataDependentShapeError` for a traced mask.
    """
    things = key if isinstance(key, tuple) else (key,)
    entries = [_entry(thing) for thing in things]
    if sum(entry is Ellipsis for entry in entries) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    consumed = sum(_consumes(entry) for entry in entries)
    if consumed > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {consumed} were indexed")
    has_ellipsis = any(entry is Ellipsis for entry in entries)
    items: list[Item] = []
    axis = 0
    for entry in entries if has_ellipsis else [*entries, Ellipsis]:
        if entry is Ellipsis:
            stop = axis + len(shape) - consumed
            if stop == axis:
                items.append(Item(What.NOTHING))
            items.extend(Item(What.SLICE, each, move.Range(0, shape[each])) for each in range(axis, stop))
            axis = stop
        elif isinstance(entry, np.ndarray) and entry.ndim:
            items.extend(_of_mask(entry, axis, shape))
            axis += entry.ndim
        else:
            items.append(_item(entry, axis, shape))
            axis += _consumes(entry)
    is_advanced = any(
        item.what is What.REPEAT or (item.what is What.GATHER and item.index.shape != ()) for item in items
    )
    return Key(tuple(items), is_advanced, has_ellipsis)


def _entry(thing: Any) -> Any:
    """A thing of a key as None, Ellipsis, a slice, an int, a value of integers, or a NumPy array of bools."""
    if thing is None or thing is Ellipsis or isinstance(thing, slice):
        return thing
    if isinstance(thing, (bool, np.bool_)):
        return np.asarray(thing)
    if isinstance(thing, (int, np.integer)):
        return _within_64_bits(int(thing))
    if isinstance(thing, (Value, Bounded, Array, np.ndarray)):
        value = as_value(thing)
    elif isinstance(thing, (str, bytes, float, complex, np.inexact)):
        raise IndexError(_NO_INDEX)
    elif hasattr(thing, "__index__"):
        return _within_64_bits(operator.index(thing))
    else:
        value = _of_sequence(thing)
    if value.dtype.kind == "bool":
        return concrete(value, "x[mask]", "np.where(mask, x, other), or the argument `where` of a reduction")
    if value.dtype.kind not in ("signed", "unsigned"):
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    is_known = value.expr.op == "constant" and value.shape == ()
    return value.expr.args[0] if is_known else value


def _within_64_bits(number: int) -> int:
    if not has_64_bits(number):
        raise IndexError(_NO_INDEX)
    return number


def _of_sequence(thing: Any) -> Value:
    try:
        value = as_value(thing)
    except TypeError as error:
        raise IndexError(_NO_INDEX) from error
    if value.dtype.kind not in ("bool", "signed", "unsigned"):
        if 0 not in value.shape:
            raise IndexError(_NO_INDEX)
        return captured(asarray(np.empty(value.shape, np.int64)))  # of [] NumPy can't know that it means integers
    return value


def _consumes(entry: Any) -> int:
    """How many axes an entry of a key is about."""
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if isinstance(entry, np.ndarray) else 1


def _of_mask(mask: np.ndarray, axis: int, shape: Shape) -> Sequence[Item]:
    for i, extent in enumerate(mask.shape):
        if extent not in (0, shape[axis + i]):  # NumPy lets an empty mask pass for any extent
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is {shape[axis + i]} "
                f"but size of corresponding boolean axis is {extent}"
            )
    places = mask.nonzero()
    return [Item(What.GATHER, axis + i, index=captured(asarray(place))) for i, place in enumerate(places)]


def _item(entry: Any, axis: int, shape: Shape) -> Item:
    if entry is None:
        return Item(What.NEW)
    if isinstance(entry, np.ndarray):  # one bool: an axis of extent 1 or 0
        return Item(What.REPEAT, index=bool(entry))
    extent = shape[axis]
    if isinstance(entry, slice):
        steps = range(*entry.indices(extent))
        if not steps:
            return Item(What.SLICE, axis, move.Range(0, 0))
        return Item(What.SLICE, axis, move.Range(steps[0], len(steps), steps.step if len(steps) > 1 else 1))
    if isinstance(entry, int):
        if not -extent <= entry < extent:
            raise IndexError(f"index {entry} is out of bounds for axis {axis} with size {extent}")
        return Item(What.PICK, axis, move.Range(entry % extent, 1))
    return Item(What.GATHER, axis, index=entry)


def select(x: Value, key: Key) -> Value:
    """``x[key]``: a view where NumPy gives one, of the kind that NumPy gives."""
    picked = functools.reduce(apply_move, _movements(key, x.shape), x)
    gathered = [item for item in key.items if item.what in (What.GATHER, What.REPEAT)]
    is_scalar = not key.has_ellipsis and not any(item.what in (What.SLICE, What.NEW) for item in key.items)
    is_view = all(item.index.kind is not Kind.ARRAY for item in gathered if item.what is What.GATHER)  # as in NumPy
    is_part = not is_scalar or (picked.cell is not None and is_recast(node_of(picked)))
    if gathered and is_view and not key.is_advanced and is_part and x.size and picked.cell is not None:
        picked = _shifted(picked, key)
    elif gathered:
        picked = _gathered(picked, key, gathered)
    result = reshape(picked, _result_shape(key, picked.shape))
    is_scalar = not result.shape and not key.has_ellipsis
    return with_kind(result, Kind.SCALAR if is_scalar else Kind.ARRAY)


def _shifted(x: Value, key: Key) -> Value:
    """The view at traced integers: its layout moves by them at run time, each checked to lie in its axis."""
    axes = [item for item in key.items if item.what in (What.SLICE, What.GATHER)]
    layout, kept, shifts = x.whole_layout, [], list(x.shifts)
    for axis, item in enumerate(axes):
        if item.what is What.SLICE:
            kept.append(axis)
        else:
            shifts.append((_within(item.index, layout.shape[axis], item.axis), layout.strides[axis]))
    shape = tuple(layout.shape[axis] for axis in kept)
    seen = Layout(shape, [layout.strides[axis] for axis in kept], layout.offset)
    return x.through(seen, tuple(shifts))


def _within(index: Value, extent: int, axis: int) -> Value:
    """A traced integer as a place in an axis: a negative one counts from the end, one outside raises IndexError."""
    place = to_dtype(with_kind(index, Kind.SCALAR), dt.int64)
    if is_at_least(place, 0) and is_at_least(extent - 1, place):
        return place
    zero, size = constant(0, dt.int64), constant(extent, dt.int64)
    # gathering from an axis of this extent, of which there is one element in memory, raises what NumPy raises
    probed = broadcast_to(constant(False, dt.bool), (*[1] * axis, extent))
    scope = scope_now()
    scope.perform(scope.emit("gather", node_of(probed), (*[node_of(zero)] * axis, node_of(place))))
    return emit("where", emit("less", place, zero), emit("add", place, size), place, kind=Kind.SCALAR)


def layout_of(key: Key, shape: Shape) -> Layout:
    """Where in the C-order memory of an array of this shape the elements of a basic key are, in the result's shape."""
    layout = Layout.contiguous(shape)
    # taking out axes of extent 1 and putting some in never needs a copy
    for movement in _movements(key, shape):
        layout = layout.move(movement) or layout
    return layout.move(move.Reshape(_result_shape(key, layout.shape))) or layout


def _movements(key: Key, shape: Shape) -> list[move.Movement]:
    """What picks the elements that slices and known integers name, and drops the axes of the latter."""
    about = {item.axis: item for item in key.items if item.axis >= 0}
    ranges = [
        move.Range(0, extent) if about[axis].what is What.GATHER else about[axis].range
        for axis, extent in enumerate(shape)
    ]
    movements: list[move.Movement] = []
    if ranges != [move.Range(0, extent) for extent in shape]:
        movements.append(move.Slice(ranges))
    if any(item.what is What.PICK for item in key.items):
        kept = [axis for axis in range(len(shape)) if about[axis].what is not What.PICK]
        movements.append(move.Reshape([ranges[axis].count for axis in kept]))
    return movements


def _gathered(x: Value, key: Key, gathered: Sequence[Item]) -> Value:
    """The elements that index arrays name, with their axes where NumPy puts them; without new axes."""
    kept = [item for item in key.items if item.what in (What.SLICE, What.GATHER)]
    indexed = [place for place, item in enumerate(kept) if item.what is What.GATHER]
    rest = [place for place, item in enumerate(kept) if item.what is What.SLICE]
    stored = [axis for axis in order_of([x], x.ndim) or range(x.ndim) if axis in rest]  # in NumPy's new memory
    shapes = [(int(item.index),) if item.what is What.REPEAT else item.index.shape for item in gathered]
    shape = _index_shape(shapes)
    x = permute(x, (*indexed, *stored))
    if 0 in shape:  # arrays that are broadcast away aren't looked at, but an integer is
        for item, extent in zip([item for item in gathered if item.what is What.GATHER], x.shape, strict=False):
            if item.index.shape == ():
                _check_bounds(item, extent)
    if indexed:
        indices = tuple(broadcast_to(item.index, shape) for item in gathered if item.what is What.GATHER)
        x = emit("gather", x, indices)
    else:  # bools alone
        whole = reshape(x, (1, *x.shape))
        x = emit("copy", whole) if 0 not in shape else broadcast_to(constant(0, x.dtype), (0, *x.shape))
    before = axes_before(key)
    rank = len(shape)
    behind = [rank + stored.index(axis) for axis in rest]
    return permute(x, (*behind[:before], *range(rank), *behind[before:]))


def of_first_axes(key: Key, shape: Shape) -> tuple[Value, ...]:
    """The index arrays, of one shape, of a key that is those of the first axes and nothing else; else nothing."""
    gathered = [item for item in key.items if item.what is What.GATHER]
    rest = [item for item in key.items[len(gathered) :] if item.what is not What.NOTHING]
    whole = [(What.SLICE, move.Range(0, extent)) for extent in shape[len(gathered) :]]
    if not gathered or list(key.items[: len(gathered)]) != gathered or [(i.what, i.range) for i in rest] != whole:
        return ()
    own = _index_shape([item.index.shape for item in gathered])
    return () if 0 in own else tuple(broadcast_to(item.index, own) for item in gathered)


def _check_bounds(item: Item, extent: int) -> None:
    low = elementwise("greater_equal", with_kind(item.index, Kind.SCALAR), constant(-extent, dt.int64))
    high = elementwise("less", with_kind(item.index, Kind.SCALAR), constant(extent, dt.int64))
    message = f"index is out of bounds for axis {item.axis} with size {extent}"
    perform_check(elementwise("logical_and", low, high), IndexError, message)


def _index_shape(shapes: Sequence[Shape]) -> Shape:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        shown = " ".join(str(shape) for shape in shapes)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {shown}"
        ) from None


def axes_before(key: Key) -> int:
    """How many sliced axes come before those of the index arrays."""
    return sum(item.what is What.SLICE for item in key.items[: _place(key)])


def _place(key: Key) -> int:
    """Which item the axes of the index arrays take the place of: their first if they stand together, else the first."""
    # a known integer beside arrays is an index array of one element, and counts
    counted = {What.GATHER, What.REPEAT, What.PICK} if key.is_advanced else {What.GATHER}
    places = [place for place, item in enumerate(key.items) if item.what in counted]
    is_together = places[-1] - places[0] == len(places) - 1
    return places[0] if is_together else 0


def _result_shape(key: Key, shape: Shape) -> Shape:
    """The shape with the key's new axes, of a shape without them."""
    if all(item.what is not What.NEW for item in key.items):
        return shape
    slices = sum(item.what is What.SLICE for item in key.items)
    of_arrays = len(shape) - slices
    place = _place(key) if any(item.what in (What.GATHER, What.REPEAT) for item in key.items) else -1
    result: list[int] = []
    axis = 0
    for i, item in enumerate(key.items):
        if i == place:
            result.extend(shape[axis : axis + of_arrays])
            axis += of_arrays
        if item.what is What.NEW:
            result.append(1)
        elif item.what is What.SLICE:
            result.append(shape[axis])
            axis += 1
    return tuple(result)
