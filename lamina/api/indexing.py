"""Indexing: ``x[key]`` in NumPy's whole index language, elements by index arrays, and their functional update."""

import math
from typing import Any, Literal, SupportsIndex

import lamina.array
from lamina import dtype as dt
from lamina.dtype import DType, kind_rank
from lamina.trace.build import (
    as_value,
    broadcast_shape,
    broadcast_to,
    captured,
    constant,
    decayed,
    emit,
    holds_value,
    reshape,
    to_dtype,
)
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.index import layout_of, of_first_axes, parse, select
from lamina.trace.masks import undecided_mask
from lamina.trace.order import laid_out
from lamina.trace.picked import selected
from lamina.trace.reduction import axis_of
from lamina.trace.shapes import along, as_array, line_axis
from lamina.trace.value import Kind, Value
from lamina.trace.windows import has_window, window

__all__ = ["getitem", "scatter", "take", "take_along_axis"]

Shape = tuple[int, ...]
Combine = Literal[
    "set", "add", "subtract", "multiply", "divide", "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor"
]


@function
def getitem(x: Any, key: Any, /) -> Any:
    """``x[key]`` with NumPy's meaning of every key: integers, slices, None, ``...``, index arrays and masks.

    Integers, slices, None and ``...`` give a view. Integers and the bounds of slices may be traced: a negative one
    counts from the end at run time, too. Of slices and masks that a run alone knows, the result has lengths beside it.

    Raises IndexError for what NumPy refuses, at run time where the indices are traced; a child of
    NotImplementedError for traced masks beside index arrays.

    >>> getitem([[1, 2, 3], [4, 5, 6]], (slice(None), [0, 2]))
    lamina.Array([[1, 3],
                  [4, 6]], shape=(2, 2), dtype=int64)
    """
    value = as_value(x)
    if value.kind is Kind.NUMBER:
        raise TypeError(f"a Python number has no elements to index, but it was indexed with {key!r}")
    if value.cell is not None and has_window(key):
        part = window(value, key)
        if part is not NotImplemented:
            return part
    under = undecided_mask(value, key)
    if under is not None:
        return selected(under.view, under.mask, under.axis, under.is_first)
    return select(value, parse(key, value.shape))


@function
def take(
    x: Any, indices: Any, /, *, axis: SupportsIndex | None = None, mode: Literal["raise", "wrap", "clip"] = "raise"
) -> Any:
    """The elements at these places along an axis, which the axes of ``indices`` replace; flattened first without one.

    A place outside the axis raises IndexError at run time, unless ``mode`` takes it modulo the extent ("wrap") or the
    nearest one ("clip", to which negative places are outside).

    >>> take([[1, 2, 3], [4, 5, 6]], [2, 0], axis=1)
    lamina.Array([[3, 1],
                  [6, 4]], shape=(2, 2), dtype=int64)
    """
    value, index = as_array(x), _places(indices)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"mode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    value, number = line_axis(value, axis)
    extent = value.shape[number]
    shape = (*value.shape[:number], *index.shape, *value.shape[number + 1 :])
    if 0 in (value.shape[:number] if mode == "raise" else shape):  # NumPy looks at no place
        return broadcast_to(constant(0, value.dtype), shape)
    if extent == 0 and 0 not in index.shape:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    if mode == "wrap":
        index = elementwise("remainder", index, extent)
    elif mode == "clip":
        index = elementwise("minimum", elementwise("maximum", index, 0), extent - 1)
    return decayed(laid_out(along(value, number, index), None))


def _places(indices: Any) -> Value:
    """Indices as integers of 64 bits, as `take` takes them: of bools and of lists of floats, too."""
    if type(indices) in (list, tuple, float) and not holds_value(indices):
        return captured(lamina.array.asarray(indices, dt.int64))
    index = as_array(indices, "indices")
    if index.dtype.kind not in ("bool", "signed", "unsigned"):
        raise TypeError(f"indices must be integers, but they are {index.dtype}")
    return to_dtype(index, dt.int64)


@function
def take_along_axis(x: Any, indices: Any, /, *, axis: SupportsIndex | None = -1) -> Any:
    """The elements of each line along an axis at the places that the same line of ``indices`` has.

    Beside the axis the two shapes broadcast; without an axis ``x`` is flattened. A negative place counts from the end.

    Raises ValueError for different numbers of axes, IndexError for indices that are no integers, for shapes that don't
    broadcast and, at run time, for a place outside the axis.

    >>> take_along_axis([[10, 30, 20], [60, 40, 50]], [[1], [0]], axis=1)
    lamina.Array([[30],
                  [60]], shape=(2, 1), dtype=int64)
    """
    value, index = as_array(x), as_array(indices, "indices")
    if index.dtype.kind not in ("signed", "unsigned"):
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        value, axis = reshape(value, (math.prod(value.shape),)), 0
    if value.ndim != index.ndim:
        raise ValueError(
            f"`indices` and `arr` must have the same number of dimensions, but they have {index.ndim} and {value.ndim}"
        )
    number = axis_of(axis, value.ndim)
    try:
        beside = broadcast_shape(_with_extent(value.shape, number, 1), _with_extent(index.shape, number, 1))
    except ValueError as error:
        raise IndexError(
            f"shape mismatch: x of shape {value.shape} and indices of shape {index.shape} don't broadcast beside axis "
            f"{number}"
        ) from error
    value = broadcast_to(value, _with_extent(beside, number, value.shape[number]))
    index = broadcast_to(index, _with_extent(beside, number, index.shape[number]))
    return emit("take_along_axis", value, index, number)


def _with_extent(shape: Shape, axis: int, extent: int) -> Shape:
    return (*shape[:axis], extent, *shape[axis + 1 :])


@function
def scatter(x: Any, index: Any, values: Any, /, combine: Combine = "set") -> Any:
    """A copy of ``x`` with ``values`` at ``x[index]``: what ``x[index] = values`` leaves, with every key of `getitem`.

    Any other ``combine`` puts a value and the element that is there together ("add", "subtract", "multiply", "divide",
    "max", "min", "bitwise_and", "bitwise_or", "bitwise_xor"), each value once, also where several name one element.
    With "set" the last of them stays. The values are cast to the dtype of ``x`` and broadcast to the shape of
    ``x[index]``.

    Raises IndexError as `getitem` does, ValueError for values of another shape, TypeError for values of a higher kind
    (complex into float; of a ``combine`` also float into integer) and where ``combine`` isn't defined for the dtype.

    >>> scatter([1, 2, 3, 4], [0, 0, 3], 10, combine="add")
    lamina.Array([21,  2,  3, 14], shape=(4,), dtype=int64)
    """
    value = as_array(x)
    key = parse(index, value.shape)
    updates = _cast(as_value(values, "values"), value.dtype, combine)
    if key.is_basic and combine == "set":
        layout = layout_of(key, value.shape)
        return emit("update", value, layout, (), (), _assigned(updates, layout.shape))
    if indices := of_first_axes(key, value.shape):
        shape = (*indices[0].shape, *value.shape[len(indices) :])
        return emit("scatter", value, indices, _assigned(updates, shape), combine)
    size = math.prod(value.shape)
    places = select(reshape(emit("iota", size, dt.int64), value.shape), key)
    updates = _assigned(updates, places.shape)
    return reshape(emit("scatter", reshape(value, (size,)), (places,), updates, combine), value.shape)


def _cast(updates: Value, dtype: DType, combine: str) -> Value:
    lifted = kind_rank(updates.dtype) > kind_rank(dtype)
    if lifted and (combine != "set" or updates.dtype.kind == "complex"):
        raise TypeError(
            f"the values are {updates.dtype} and x is {dtype}, which doesn't hold them: cast one of the two"
        )
    return to_dtype(updates, dtype)


def _assigned(updates: Value, shape: Shape) -> Value:
    """Values broadcast as an assignment does it: leading axes of extent 1 may be too many."""
    extra = max(updates.ndim - len(shape), 0)
    if updates.shape[:extra] == (1,) * extra:
        fitting = reshape(updates, updates.shape[extra:])
        if all(a in (1, b) for a, b in zip(fitting.shape[::-1], shape[::-1], strict=False)):
            return broadcast_to(fitting, shape)
    raise ValueError(f"could not broadcast values of shape {updates.shape} to shape {shape} of the indexed elements")
