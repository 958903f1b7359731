"""Padding: NumPy's ``pad``, from concatenated movements; a part of the manipulation chapter."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from lamina.dtype import DType
from lamina.layout import Layout
from lamina.layout.move import Range, Slice
from lamina.trace.build import (
    apply_move,
    as_value,
    broadcast_to,
    constant,
    emit,
    reshape,
    slice_axis,
    to_dtype,
    with_kind,
)
from lamina.trace.concrete import concrete
from lamina.trace.function import function
from lamina.trace.order import axes_in, laid_out
from lamina.trace.reduction import axis_of
from lamina.trace.shapes import along, as_array
from lamina.trace.value import Kind, Value

__all__ = ["pad"]

Widths = list[tuple[int, int]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Runs = list[tuple[int, int, int]]  # the first place, how many, and the step

_MOST_PIECES = 32  # above it, an axis is gathered
_LARGE = 1 << 14  # elements that are better not moved once for each axis

_NOT_THERE = ("linear_ramp", "maximum", "mean", "median", "minimum")


def _reflected(places: Places, extent: int) -> Places:
    period = max(2 * (extent - 1), 1)
    turned = places % period
    return np.minimum(turned, period - turned) if extent > 1 else places * 0


def _mirrored(places: Places, extent: int) -> Places:
    turned = places % (2 * extent)
    return np.minimum(turned, 2 * extent - 1 - turned)


# Which element of an axis stands at a place beside it, counted from the axis's first.
_SOURCES: dict[str, Callable[[Places, int], Places]] = {
    "edge": lambda places, extent: np.clip(places, 0, extent - 1),
    "reflect": _reflected,
    "symmetric": _mirrored,
    "wrap": lambda places, extent: places % extent,
}
_OPTIONS = {"constant": "constant_values", "reflect": "reflect_type", "symmetric": "reflect_type"}


@function
def pad(x: Any, /, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """The array with elements added before and after it along each axis: a copy.

    ``pad_width`` is one number, a pair (before, after), a pair for each axis, or a dict of axes, as NumPy takes it.
    What is added is ``constant_values`` (0; in the forms that the widths have, and perhaps traced) for the mode
    "constant", the last element for "edge", the elements mirrored at the last one for "reflect" and beyond it for
    "symmetric", and the elements of the other side for "wrap".

    Raises ValueError for a negative width, an unknown mode or option, and for an axis without elements to repeat;
    NotImplementedError for NumPy's other modes.

    >>> pad([1, 2, 3], (1, 2), mode="reflect")
    lamina.Array([2, 1, 2, 3, 2, 1], shape=(6,), dtype=int64)
    """
    value = as_array(x)
    if callable(mode) or mode in _NOT_THERE:
        raise NotImplementedError(f"pad with mode {mode!r} is not there; write it with lamina.concat")
    if mode not in ("constant", "empty", *_SOURCES):
        raise ValueError(f"mode {mode!r} is not supported")
    widths = _widths(pad_width, value.ndim)
    if unknown := set(options) - {_OPTIONS.get(mode)}:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {unknown}")
    if options.get("reflect_type", "even") != "even":
        raise NotImplementedError(f"pad with reflect_type {options['reflect_type']!r} is not there; write 'even'")
    order = axes_in("A", value)
    if mode in ("constant", "empty"):
        return laid_out(_with_constants(value, widths, options.get("constant_values", 0)), order)
    for axis, (before, after) in enumerate(widths):
        if value.shape[axis] == 0 and (before or after):
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    result = _framed(value, widths, _SOURCES[mode])
    return laid_out(emit("copy", result) if result is value else result, order)


def _widths(pad_width: Any, rank: int) -> Widths:
    """A width before and one after each axis, of NumPy's forms."""
    if isinstance(pad_width, dict):
        widths: list[Any] = [(0, 0)] * rank
        for axis, width in pad_width.items():
            widths[axis_of(axis, rank)] = tuple(width) if isinstance(width, (tuple, list)) else (width, width)
        pad_width = widths
    given = np.asarray(pad_width)
    if given.dtype.kind != "i":
        raise TypeError(f"`pad_width` must be of integral type, but it is {pad_width!r}")
    if given.size and given.min() < 0:
        raise ValueError(f"index can't contain negative values: pad_width is {pad_width!r}")
    return [(int(before), int(after)) for before, after in np.broadcast_to(_as_pairs(given), (rank, 2))]


def _as_pairs(given: Any) -> Any:
    """What is for all axes alike as one thing or one pair; two that are one for each axis stay as they are."""
    if given.size == 1 or (given.size == 2 and given.shape != (2, 1)):
        return given.reshape(-1)
    return given


# Constants


def _with_constants(value: Value, widths: Widths, values: Any) -> Value:
    pairs = list(_constants(as_value(values, "constant_values"), value.dtype, value.ndim))
    if all(each.expr is pairs[0][0].expr for pair in pairs for each in pair):  # one number for all sides
        number = pairs[0][0] if pairs else constant(0, value.dtype)
        return emit("pad", value, number, tuple(widths))
    result = value
    for axis, ((before, after), (first, last)) in enumerate(zip(widths, pairs, strict=True)):
        for number, width in ((first, (before, 0)), (last, (0, after))):
            result = emit("pad", result, number, tuple(width if i == axis else (0, 0) for i in range(value.ndim)))
    return result


def _constants(values: Value, dtype: DType, rank: int) -> Iterator[tuple[Value, Value]]:
    """The number before and the one after each axis."""
    if values.dtype.kind == "complex" and dtype.kind != "complex":
        raise TypeError(f"constant_values are {values.dtype}, but x is {dtype}, which has no imaginary part")
    if not values.is_traced:
        numbers = np.broadcast_to(_as_pairs(concrete(values, "", "")), (rank, 2))
        known = {
            repr(number): constant(number if dtype.kind != "bool" else bool(number), dtype)
            for number in numbers.ravel().tolist()
        }
        yield from ((known[repr(first)], known[repr(last)]) for first, last in numbers.tolist())
        return
    given = _as_pairs(with_kind(to_dtype(values, dtype), Kind.ARRAY))
    if given.size == 1:
        number = reshape(given, ())
        yield from [(number, number)] * rank
        return
    pairs = broadcast_to(given, (rank, 2))
    for axis in range(rank):
        row = slice_axis(pairs, 0, axis, 1)
        yield reshape(slice_axis(row, 1, 0, 1), ()), reshape(slice_axis(row, 1, 1, 1), ())


# Elements of the axis itself


def _framed(value: Value, widths: Widths, source: Callable[[Places, int], Places]) -> Value:
    """The array with elements of its own around it."""
    padded = [axis for axis, width in enumerate(widths) if any(width)]
    sides = {axis: _sides(value.shape[axis], *widths[axis], source) for axis in padded}
    pieces = max((len(runs) for pair in sides.values() for runs in pair), default=0)
    if len(padded) > 1 and math.prod(value.shape) >= _LARGE and 2 * pieces < _MOST_PIECES:
        return _written_around(value, widths, sides)
    for axis in padded:
        value = _extended(value, axis, *widths[axis], source)
    return value


def _written_around(value: Value, widths: Widths, sides: dict[int, tuple[Runs, Runs]]) -> Value:
    """The array in the midst of a larger one, written once; then the sides of each axis, from what is beside them."""
    result = emit("pad", value, constant(False if value.dtype.kind == "bool" else 0, value.dtype), tuple(widths))
    ranges = [Range(before, extent, 1) for extent, (before, _) in zip(value.shape, widths, strict=True)]

    def along(axis: int, start: int, count: int, step: int = 1) -> Slice:
        return Slice((*ranges[:axis], Range(start, count, step), *ranges[axis + 1 :]))

    for axis, runs in sides.items():
        first = widths[axis][0]
        for place, side in zip((0, first + value.shape[axis]), runs, strict=True):
            for start, count, step in side:
                target = along(axis, place, count)
                layout = Layout.contiguous(result.shape).move(target)
                piece = apply_move(result, along(axis, first + start, count if step else 1, step or 1))
                piece = broadcast_to(piece, target.result_shape(result.shape))
                result = emit("update", result, layout, (), (), piece)
                place += count
        ranges[axis] = Range(0, result.shape[axis], 1)
    return result


def _sides(extent: int, before: int, after: int, source: Callable[[Places, int], Places]) -> tuple[Runs, Runs]:
    """What stands before an axis and what behind it, as runs of its elements."""
    places = source(np.arange(-before, 0), extent), source(np.arange(extent, extent + after), extent)
    first, last = (list(_runs(each.tolist())) for each in places)
    return first, last


def _extended(value: Value, axis: int, before: int, after: int, source: Callable[[Places, int], Places]) -> Value:
    """An axis with elements of its own before and after it."""
    extent = value.shape[axis]
    sides = source(np.arange(-before, 0), extent), source(np.arange(extent, extent + after), extent)
    runs = [*_runs(sides[0].tolist()), (0, extent, 1), *_runs(sides[1].tolist())]
    if len(runs) > _MOST_PIECES:
        return along(value, axis, as_value(np.concatenate((sides[0], np.arange(extent), sides[1]))))
    return emit("concat", tuple(_piece(value, axis, *run) for run in runs), axis)


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Places as runs of equal ones, ascending ones and descending ones: the first place, how many, and the step.

    >>> list(_runs([2, 1, 0, 0, 1]))
    [(2, 3, -1), (0, 2, 1)]
    """
    start = 0
    while start < len(places):
        step = places[start + 1] - places[start] if start + 1 < len(places) else 1
        stop = start + 1
        while abs(step) <= 1 and stop < len(places) and places[stop] - places[stop - 1] == step:
            stop += 1
        yield places[start], stop - start, step if abs(step) <= 1 else 1
        start = stop


def _piece(value: Value, axis: int, start: int, count: int, step: int) -> Value:
    if step:
        return slice_axis(value, axis, start, count, step)
    shape = (*value.shape[:axis], count, *value.shape[axis + 1 :])
    return broadcast_to(slice_axis(value, axis, start, 1), shape)
