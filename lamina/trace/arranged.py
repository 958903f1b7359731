"""The rules of `lamina.trace.lengths` for what joins, repeats and moves the elements of arrays with lengths.

Each element of a result is taken from the array, and the place, that its own place falls into; a rule that knows a way
through ``concat`` goes there.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamina.operators import FUNCTIONS
from lamina.trace.affine import Integer, greater, is_at_least, is_same, minus, plus, times, value_of
from lamina.trace.bounded import Bounded
from lamina.trace.build import broadcast_to, emit, perform_check, to_dtype
from lamina.trace.fitting import bounded, constant_places, count_up, extents_of, lengths_of, padded, shrunk
from lamina.trace.reduction import flat
from lamina.trace.shapes import along, as_array
from lamina.trace.value import Value
from lamina.trace.windows import note_length, window

Rule = Callable[..., Any]


# Joining


def _concat(arrays: Any, axis: Any = 0, **options: Any) -> Any:
    """Arrays behind one another: each element of the result is taken from the array that its place falls into."""
    if options or type(arrays) not in (list, tuple) or type(axis) is not int:
        return NotImplemented
    if not any(axis % padded(each).ndim in lengths_of(each) for each in arrays):
        return _side_by_side(arrays, axis)
    if axis != 0 or any(padded(each).ndim != 1 for each in arrays):
        return NotImplemented
    joined = FUNCTIONS["concat"]([padded(each) for each in arrays])
    places = count_up(joined.shape[0])
    result, before = places, 0
    total: Integer = 0
    for each in arrays:
        extent, bound = extents_of(each)[0], padded(each).shape[0]
        here = emit("greater_equal", places, broadcast_to(value_of(total), places.shape))
        moved = emit("add", places, broadcast_to(value_of(minus(before, total)), places.shape))
        result = emit("where", here, moved, result)
        total, before = plus(total, extent), before + bound
    return Bounded(_at(joined, result), {0: note_length(value_of(total), joined.shape[0])})


def _side_by_side(arrays: Sequence[Any], axis: int) -> Any:
    """Arrays joined along a static axis, whose lengths along the others are the same."""
    lengths, shape = lengths_of(arrays[0]), [padded(each).shape for each in arrays]
    values = [padded(each) for each in arrays]
    for other in lengths:
        if not all(other in lengths_of(each) and is_same(lengths_of(each)[other], lengths[other]) for each in arrays):
            return NotImplemented
        bound = min(each[other] for each in shape)
        values = [shrunk(value, other, bound) for value in values]
    if any(lengths_of(each).keys() != lengths.keys() for each in arrays):
        return NotImplemented
    return bounded(FUNCTIONS["concat"](values, axis=axis), lengths)


def _stacked(key: Any, axis: int) -> Rule:
    """Functions that join arrays, of which vectors are seen by a key first, along an axis."""

    def rule(arrays: Any, **options: Any) -> Any:
        if options or type(arrays) not in (list, tuple) or any(padded(each).ndim != 1 for each in arrays):
            return NotImplemented
        return _concat([window(_array(each), key) for each in arrays], axis=axis)

    return rule


def _stack(arrays: Any, axis: Any = 0, **options: Any) -> Any:
    ways = {0: ((None, slice(None)), 0), -2: ((None, slice(None)), 0), 1: ((slice(None), None), 1)}
    way = ways.get(1 if axis == -1 else axis)
    return NotImplemented if way is None else _stacked(*way)(arrays, **options)


def _array(thing: Any) -> Any:
    return thing if type(thing) is Bounded else as_array(thing)


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    parts = [_array(arr), _array(values)]
    if axis not in (None, 0) or any(type(each) is Bounded and each.ndim != 1 for each in parts):
        return NotImplemented
    return _concat([each if type(each) is Bounded or axis == 0 else flat(each) for each in parts])


def _insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Of one element, at a known place."""
    if not _is_vector(arr, axis) or type(obj) is not int:
        return NotImplemented
    value = as_array(values)
    if value.size != 1:
        return NotImplemented
    _expect_place(arr.lengths[0], -obj if obj < 0 else obj, obj)
    put = to_dtype(flat(value), arr.dtype)
    return _concat([window(arr, slice(obj)), put, window(arr, slice(obj, None))])


def _delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """Of one element, at a known place."""
    if not _is_vector(arr, axis) or type(obj) is not int:
        return NotImplemented
    _expect_place(arr.lengths[0], -obj if obj < 0 else obj + 1, obj)
    behind = slice(0, 0) if obj == -1 else slice(obj + 1, None)
    return _concat([window(arr, slice(obj)), window(arr, behind)])


def _expect_place(length: Value, least: int, place: int) -> None:
    """Raise IndexError at run time unless the length is at least so many."""
    if not is_at_least(length, least):
        there = emit("greater_equal", value_of(length), value_of(least))
        perform_check(there, IndexError, f"index {place} is out of bounds for axis 0")


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """A vector, with a constant."""
    if not _is_vector(array, None) or mode != "constant" or options.keys() - {"constant_values"}:
        return NotImplemented
    fill, width = options.get("constant_values", 0), pad_width
    while type(width) in (list, tuple) and len(width) == 1:
        width = width[0]
    before, after = width if type(width) in (list, tuple) else (width, width)
    if not all(type(each) is int and each >= 0 for each in (before, after)) or not isinstance(fill, (int, float)):
        return NotImplemented
    head, tail = (FUNCTIONS["full"](count, fill, dtype=array.dtype) for count in (before, after))
    return _concat([head, array, tail])


# Repeating and moving


def _repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    if not _is_vector(x, axis) or type(repeats) is not int or repeats < 1:
        return NotImplemented
    return _taken(x, repeats, lambda place: _whole("floor_divide", place, repeats))


def _tile(x: Any, repetitions: Any) -> Any:
    if not _is_vector(x, None) or type(repetitions) is not int or repetitions < 1:
        return NotImplemented
    return _taken(x, repetitions, lambda place: _whole("remainder", place, greater(x.lengths[0], 1)))


def _roll(x: Any, shift: Any, axis: Any = None) -> Any:
    if not _is_vector(x, axis) or type(shift) is not int:
        return NotImplemented
    length = greater(x.lengths[0], 1)
    return _taken(x, 1, lambda place: _whole("remainder", _whole("subtract", place, shift), length))


def _flip(x: Any, axis: Any = None) -> Any:
    return window(x, slice(None, None, -1)) if _is_vector(x, axis) else NotImplemented


def _is_vector(x: Any, axis: Any) -> bool:
    return type(x) is Bounded and x.ndim == 1 and axis in (None, 0, -1)


def _whole(op: str, places: Value, number: Integer) -> Value:
    return emit(op, places, broadcast_to(value_of(number), places.shape))


def _taken(x: Bounded, times_as_long: int, source: Callable[[Value], Value]) -> Any:
    """A vector some times as long as x; `source` says which place of x each place of it is taken from."""
    bound = x.value.shape[0] * times_as_long
    length = note_length(value_of(times(x.lengths[0], times_as_long)), bound)
    return Bounded(_at(x.value, source(count_up(bound))), {0: length})


def _at(value: Value, places: Value) -> Value:
    """The elements at places, of which those beyond a length may be beyond the bound."""
    if not value.shape[0]:
        return value
    return along(value, 0, emit("minimum", places, constant_places(places.shape[0], value.shape[0] - 1)))


RULES: Mapping[str, Rule] = {
    "column_stack": _stacked((slice(None), None), 1),
    "concat": _concat,
    "flip": _flip,
    "hstack": _stacked(slice(None), 0),
    "np.append": _append,
    "np.concatenate": _concat,
    "np.delete": _delete,
    "np.insert": _insert,
    "pad": _pad,
    "repeat": _repeat,
    "roll": _roll,
    "stack": _stack,
    "tile": _tile,
    "vstack": _stacked((None, slice(None)), 0),
}
"""The rules by the names of public functions."""
OF_LISTS = frozenset({"column_stack", "concat", "hstack", "np.concatenate", "stack", "vstack"})
"""The functions whose arrays are in a list or a tuple."""
