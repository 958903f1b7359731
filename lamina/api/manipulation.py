"""Manipulation: the same elements in other shapes and orders.

What NumPy gives as a view is movements alone, and shares the argument's memory; what NumPy copies ends in a node that
makes memory of its own, a ``copy`` where the movements wouldn't. Joining, repeating and taking apart are in
`lamina.api.joining`, padding in `lamina.api.padding`.
"""

import itertools
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, SupportsIndex

from lamina import dtype as dt
from lamina.api.joining import (
    array_split,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    column_stack,
    concat,
    dstack,
    hstack,
    repeat,
    split,
    stack,
    tile,
    unstack,
    vstack,
)
from lamina.api.padding import pad
from lamina.expr import Expr
from lamina.layout import Layout, move
from lamina.trace import build
from lamina.trace.build import apply_move, emit, permute, slice_axis
from lamina.trace.choice import choice_at
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.order import axes_in, laid_out
from lamina.trace.reduction import array_of, axis_of
from lamina.trace.shapes import Axes, Shape, along, as_array, axes_in_order, extents_of, like, shape_of
from lamina.trace.value import Value

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "column_stack",
    "concat",
    "dstack",
    "expand_dims",
    "flip",
    "hstack",
    "moveaxis",
    "pad",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rot90",
    "sliding_window_view",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "unstack",
    "vstack",
]

# Shapes


@function
def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """The same elements in C order, in another shape; one extent may be -1, and follows from the others.

    A view where strides can express it. ``copy=True`` always makes a copy, ``copy=False`` raises ValueError where there
    is no view. Raises ValueError for a shape of another number of elements, for two extents of -1, and for one of -1
    beside an extent of 0, since then any number would do.

    >>> reshape([1, 2, 3, 4, 5, 6], (2, -1))
    lamina.Array([[1, 2, 3],
                  [4, 5, 6]], shape=(2, 3), dtype=int64)
    """
    value = array_of(x)
    wanted = _inferred(value.shape, extents_of(shape))
    if copy is not None and not copy:
        _expect_view(value, wanted)
    result = like(build.reshape(value, wanted), value)
    return emit("copy", result, kind=result.kind) if copy else result


def _inferred(shape: Shape, wanted: list[int]) -> Shape:
    """A shape with its unknown extent, which is negative, replaced by what the number of elements asks for."""
    size, unknown = math.prod(shape), [axis for axis, extent in enumerate(wanted) if extent < 0]
    if len(unknown) > 1:
        raise ValueError(f"can only specify one unknown dimension, but shape {tuple(wanted)} has {len(unknown)}")
    if unknown:
        known = math.prod(extent for extent in wanted if extent >= 0)
        if known == 0:
            raise ValueError(
                f"the unknown extent of shape {tuple(wanted)} is ambiguous: beside an extent of 0 any number gives 0 "
                "elements. Write the extent itself"
            )
        if size % known:
            raise ValueError(f"cannot reshape array of size {size} (shape {shape}) into shape {tuple(wanted)}")
        wanted[unknown[0]] = size // known
    result = Layout.contiguous(tuple(wanted))
    if result.numel != size:
        raise ValueError(f"cannot reshape array of size {size} (shape {shape}) into shape {tuple(wanted)}")
    return result.shape


def _expect_view(value: Value, shape: Shape) -> None:
    """Raise `ValueError` where an array can't be reshaped without a copy."""
    layout = _layout_of(value.expr) or value.whole_layout
    if layout.move(move.Reshape(shape)) is None:
        raise ValueError(
            f"Unable to avoid creating a copy while reshaping: no strides express shape {shape} of the layout of "
            f"{layout}"
        )


@function
def ravel(x: Any, /, order: str = "C") -> Any:
    """The elements in C order (Fortran's for ``"F"``) along one axis: a view where they lie in memory so.

    >>> ravel([[1, 2], [3, 4]], order="F")
    lamina.Array([1, 3, 2, 4], shape=(4,), dtype=int64)
    """
    value = as_array(x)
    if order not in ("C", "F"):
        raise NotImplementedError(f"ravel in order {order!r} is not there; write order='C' or order='F'")
    if order == "F":
        value = permute(value, tuple(range(value.ndim))[::-1])
    choice = choice_at(value)
    if choice is not None:
        return choice.each(ravel)
    result = build.reshape(value, (math.prod(value.shape),))
    layout = _layout_of(value.expr) or value.layout
    return result if layout is None or layout.is_contiguous else emit("copy", result)


def _layout_of(node: Expr) -> Layout | None:
    """Where the elements of an array that is known, or of its movement, are; None of a traced one."""
    if node.op == "move":
        source = _layout_of(node.args[0])
        return source and source.move(node.args[1])
    return node.args[0].layout if node.op == "tensor" else None


@function
def expand_dims(x: Any, /, axis: Axes = 0) -> Any:
    """The array with a new axis of extent 1 at each place in ``axis``, counted in the result.

    Raises AxisError for a place outside the result, ValueError for one that is there twice.

    >>> expand_dims([1, 2], axis=1).shape
    (2, 1)
    """
    value = as_array(x)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = value.ndim + len(given)
    places, rest = set(axes_in_order(given, rank)), iter(value.shape)
    return build.reshape(value, tuple(1 if place in places else next(rest) for place in range(rank)))


@function
def squeeze(x: Any, /, axis: Axes | None = None) -> Any:
    """The array without these axes, which have extent 1; without all that have, if none is given.

    Raises ValueError for an axis of another extent.

    >>> squeeze([[[1], [2]]], axis=0).shape
    (2, 1)
    """
    value = array_of(x)
    ones = [number for number, extent in enumerate(value.shape) if extent == 1]
    if not value.shape and axis in (0, -1):  # of which NumPy has none to squeeze out either
        return value
    gone = ones if axis is None else axes_in_order(axis, value.ndim)
    for number in gone:
        if value.shape[number] != 1:
            raise ValueError(
                "cannot select an axis to squeeze out which has size not equal to one: axis "
                f"{number} of shape {value.shape}"
            )
    shape = tuple(extent for number, extent in enumerate(value.shape) if number not in gone)
    return like(build.reshape(value, shape), value)


# Order of axes and elements


@function
def permute_dims(x: Any, /, axes: Sequence[SupportsIndex] | None = None) -> Any:
    """The array with its axes in another order: axis ``i`` of the result is ``axes[i]``; in reverse without ``axes``.

    Raises ValueError unless each axis is named once.

    >>> permute_dims([[1, 2, 3], [4, 5, 6]], (1, 0)).shape
    (3, 2)
    """
    value = array_of(x)
    if axes is None:
        return like(permute(value, tuple(range(value.ndim))[::-1]), value)
    if len(axes) != value.ndim:
        raise ValueError(
            f"axes don't match array: {tuple(axes)} names {len(axes)} axes, and the array has {value.ndim}"
        )
    return like(permute(value, axes_in_order(tuple(axes), value.ndim)), value)


@function
def moveaxis(x: Any, source: Axes, destination: Axes, /) -> Any:
    """The array with axes moved to other places; the other axes keep their order.

    Raises ValueError for different numbers of axes and places.

    >>> import numpy as np
    >>> moveaxis(np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    value = as_array(x)
    sources, places = axes_in_order(source, value.ndim), axes_in_order(destination, value.ndim)
    if len(sources) != len(places):
        raise ValueError(f"source and destination must have as many axes, but they are {source} and {destination}")
    order = [axis for axis in range(value.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return permute(value, tuple(order))


@function
def swapaxes(x: Any, axis1: SupportsIndex, axis2: SupportsIndex, /) -> Any:
    """The array with two axes exchanged.

    >>> import numpy as np
    >>> swapaxes(np.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    value = array_of(x)
    first, second = axis_of(axis1, value.ndim), axis_of(axis2, value.ndim)
    order = list(range(value.ndim))
    order[first], order[second] = second, first
    return permute(value, tuple(order))


def _reversed(value: Value, axes: Iterable[int]) -> Value:
    turned = set(axes)
    ranges = [
        move.Range(extent - 1, extent, -1) if axis in turned and extent > 1 else move.Range(0, extent)
        for axis, extent in enumerate(value.shape)
    ]
    return apply_move(value, move.Slice(ranges)) if any(each.step < 0 for each in ranges) else value


@function
def flip(x: Any, /, *, axis: Axes | None = None) -> Any:
    """The array with the elements along these axes (along all without any) in reverse: a view.

    >>> flip([1, 2, 3])
    lamina.Array([3, 2, 1], shape=(3,), dtype=int64)
    """
    value = as_array(x)
    result = _reversed(value, range(value.ndim) if axis is None else axes_in_order(axis, value.ndim))
    return build.decayed(result)


@function
def rot90(x: Any, /, k: SupportsIndex = 1, axes: Sequence[SupportsIndex] = (0, 1)) -> Any:
    """The array turned ``k`` times by 90 degrees in the plane of two axes, from the first towards the second: a view.

    >>> rot90([[1, 2], [3, 4]])
    lamina.Array([[2, 4],
                  [1, 3]], shape=(2, 2), dtype=int64)
    """
    value = as_array(x)
    if len(tuple(axes)) != 2:
        raise ValueError(f"rot90 takes two axes, but axes is {tuple(axes)}")
    first, second = axes_in_order(tuple(axes), value.ndim)
    turns = operator.index(k) % 4
    if turns == 2:
        return _reversed(value, (first, second))
    order = list(range(value.ndim))
    if turns:
        order[first], order[second] = second, first
    # turning once reverses the second axis, then exchanges them; thrice, the other way round
    return permute(_reversed(value, {1: (second,), 3: (first,)}.get(turns, ())), tuple(order))


@function
def roll(x: Any, /, shift: Any, *, axis: Axes | None = None) -> Any:
    """The array with its elements moved ``shift`` places along an axis; what leaves at the end comes in at the start.

    Several axes take a shift each, or the same one; without ``axis`` the elements move in C order. A shift may be
    traced.

    Raises ValueError where shifts and axes don't match.

    >>> roll([1, 2, 3], 1)
    lamina.Array([3, 1, 2], shape=(3,), dtype=int64)
    """
    value = as_array(x)
    if axis is None:
        flat = build.reshape(value, (math.prod(value.shape),))
        return build.reshape(roll(flat, shift, axis=0), value.shape)
    axes = axes_in_order(axis, value.ndim, repeated=True)
    result = value
    for each, number in _shifts(shift, axes):
        result = _rolled(result, each, number)
    made = emit("copy", result) if result.expr is value.expr or result.expr.op == "move" else result
    return laid_out(made, axes_in("K", value))


def _shifts(shift: Any, axes: Shape) -> list[tuple[Any, int]]:
    """A shift for each axis: integers, added up where an axis is there twice, or traced values."""
    if not isinstance(shift, (tuple, list)):
        shift = list(shift) if getattr(shift, "ndim", 0) == 1 else [shift]
    if 1 not in (len(shift), len(axes)) and len(shift) != len(axes):
        raise ValueError(f"shift {shift} and axis {axes} must be one each, or as many")
    count = max(len(shift), len(axes)) if shift and axes else 0
    pairs = list(
        zip(
            itertools.islice(itertools.cycle(shift), count), itertools.islice(itertools.cycle(axes), count), strict=True
        )
    )
    known: dict[int, int] = {}
    for each, axis in pairs:
        if type(each) is not Value:
            known[axis] = known.get(axis, 0) + operator.index(each)
    traced = [(each, axis) for each, axis in pairs if type(each) is Value]
    return [(number, axis) for axis, number in known.items()] + traced


def _rolled(value: Value, shift: Any, axis: int) -> Value:
    extent = value.shape[axis]
    if extent == 0:
        return value
    if type(shift) is Value:
        source = elementwise("subtract", emit("iota", extent, dt.int64), shift)
        return along(value, axis, elementwise("remainder", source, extent))
    first = shift % extent
    if first == 0:
        return value
    return emit(
        "concat", (slice_axis(value, axis, extent - first, first), slice_axis(value, axis, 0, extent - first)), axis
    )


# Broadcasting


@function
def broadcast_to(x: Any, /, shape: Any) -> Any:
    """The array repeated along new axes on the left and along axes of extent 1: a view that isn't to be written.

    Raises ValueError where the shapes don't fit.

    >>> broadcast_to([1, 2], (2, 2))
    lamina.Array([[1, 2],
                  [1, 2]], shape=(2, 2), dtype=int64)
    """
    return build.frozen(build.broadcast_to(as_array(x), shape_of(shape)))


@function
def broadcast_arrays(*arrays: Any) -> Any:
    """The arrays, each broadcast to the shape that they have together, in a tuple.

    Raises ValueError where they don't broadcast.

    >>> [x.shape for x in broadcast_arrays([1, 2], [[3], [4]])]
    [(2, 2), (2, 2)]
    """
    values = [as_array(each) for each in arrays]
    shape = build.broadcast_shape(*(value.shape for value in values))
    return tuple(build.broadcast_to(value, shape) for value in values)


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape to which arrays of these shapes broadcast.

    Raises ValueError where they don't.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return build.broadcast_shape(*(shape_of(shape) for shape in shapes))


# Windows


@function
def sliding_window_view(
    x: Any,
    window_shape: SupportsIndex | Sequence[SupportsIndex],
    axis: Axes | None = None,
    *,
    step: SupportsIndex | Sequence[SupportsIndex] = 1,
    dilation: SupportsIndex | Sequence[SupportsIndex] = 1,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """Every window of this shape, in new axes at the end: a view that isn't to be written.

    Window ``w`` along an axis starts at element ``w * step`` of it and holds every ``dilation``-th element from there.
    ``step`` and ``dilation`` are one number, or one for each of ``axis``; the axes are all, in order, by default. An
    axis may be there twice: then its windows have windows.

    Raises ValueError for a window longer than its axis, for a step or dilation below 1 and for other counts of axes and
    window extents; NotImplementedError for ``subok`` and ``writeable``.

    >>> sliding_window_view([0, 1, 2, 3, 4, 5, 6], 3, step=2)
    lamina.Array([[0, 1, 2],
                  [2, 3, 4],
                  [4, 5, 6]], shape=(3, 3), dtype=int64)
    """
    if subok or writeable:
        raise NotImplementedError("sliding_window_view has no subok and no writeable: its result can't be written")
    value = as_array(x)
    sizes = extents_of(window_shape)
    axes = tuple(range(value.ndim)) if axis is None else axes_in_order(axis, value.ndim, repeated=True)
    if len(sizes) != len(axes):
        raise ValueError(
            f"window_shape must have an extent for each axis, but it is {tuple(sizes)} for {len(axes)} axes {axes}"
        )
    steps, dilations = _each(step, "step", len(axes)), _each(dilation, "dilation", len(axes))
    windows: list[move.WindowSpec] = []
    shape = list(value.shape)
    for number, size, by, apart in zip(axes, sizes, steps, dilations, strict=True):
        reach = (size - 1) * apart + 1
        if size < 0 or reach > shape[number]:
            raise ValueError(
                f"a window of {size} elements, {apart} apart, can't be larger than axis {number}, which has "
                f"{shape[number]}, or negative"
            )
        shape[number] = (shape[number] - reach) // by + 1
        if size:
            windows.append(move.WindowSpec(number, size, by, apart))
    if 0 in sizes:  # no window has an element, so there is nothing to see
        return build.broadcast_to(build.constant(0, value.dtype), (*shape, *sizes))
    for group in _ascending(windows) if windows else [[]]:
        value = apply_move(value, move.Window(group))
    return build.frozen(value)


def _each(number: SupportsIndex | Sequence[SupportsIndex], what: str, count: int) -> list[int]:
    """One number for each axis."""
    numbers = extents_of(number)
    if len(numbers) != count and isinstance(number, (list, tuple)):
        raise ValueError(f"{what} must be one number, or one for each of {count} axes, but it is {tuple(numbers)}")
    if any(each < 1 for each in numbers):
        raise ValueError(f"{what} must be at least 1, but it is {number}")
    return numbers if len(numbers) == count else numbers * count


def _ascending(windows: Iterable[move.WindowSpec]) -> Iterator[list[move.WindowSpec]]:
    """Windows in as few groups as one movement each takes: those whose axes ascend."""
    group: list[move.WindowSpec] = []
    for window in windows:
        if group and window.axis <= group[-1].axis:
            yield group
            group = []
        group.append(window)
    if group:
        yield group
