"""NumPy's functions that place elements, made of lamina's: where each goes is known while tracing, or given by index.

Nothing here computes with elements, but for the indices of ``choose``, ``lexsort``, ``ravel_multi_index`` and
``unravel_index``.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.api import creation, elementwise, indexing, joining, manipulation, padding, sorting
from lamina.errors import AxisError
from lamina.numpy_protocol.table import means
from lamina.trace.build import (
    as_value,
    broadcast_shape,
    broadcast_to,
    common_dtype,
    constant,
    decayed,
    emit,
    perform_check,
    reshape,
    slice_axis,
    to_dtype,
)
from lamina.trace.concrete import concrete
from lamina.trace.order import axes_in, laid_out
from lamina.trace.reduction import array_of, axis_of, flat
from lamina.trace.shapes import as_array, shape_of
from lamina.trace.value import Kind, Value

# Where elements go


def _known(thing: Any, name: str) -> Any:
    """An index that decides a shape: a slice, an integer, or a NumPy array."""
    if isinstance(thing, slice):
        return thing
    value = as_value(thing, name)
    if value.kind is Kind.NUMBER and value.is_traced:
        return operator.index(value)
    known = concrete(value, "the result", f"{name} that is known while tracing")
    return known[()] if value.kind is not Kind.ARRAY else known


def _along(x: Any, axis: Any) -> tuple[Value, int]:
    """The array and the axis; without one, its elements along one."""
    value = as_array(x)
    return (flat(value), 0) if axis is None else (value, axis_of(axis, value.ndim))


@means("append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """At the end of an axis; of all elements in C order without one."""
    x, y = as_array(arr), as_array(values, "values")
    return joining.concat((flat(x), flat(y)) if axis is None else (x, y), axis=axis or 0)


@means("block")
def block(arrays: Any) -> Any:
    """Nested lists of arrays, of which the innermost are joined along the last axis."""
    depth, values = _depth_of(arrays), []

    def collect(part: Any) -> None:
        if isinstance(part, list):
            for each in part:
                collect(each)
        else:
            values.append(as_array(part, "an array"))

    collect(arrays)
    rank, parts = max(depth, *(value.ndim for value in values)), iter(values)

    def joined(part: Any, axis: int) -> Any:
        if isinstance(part, list):
            return joining.concat([joined(each, axis + 1) for each in part], axis=axis)
        value = next(parts)
        return reshape(value, (*[1] * (rank - value.ndim), *value.shape))

    return creation.asarray(joined(arrays, rank - depth), copy=True)


def _depth_of(part: Any) -> int:
    if isinstance(part, tuple):
        raise TypeError("arrays is a tuple. Only lists can be used to arrange blocks")
    if not isinstance(part, list):
        return 0
    depths = {_depth_of(each) for each in part}
    if len(depths) != 1:
        raise ValueError("List depths are mismatched" if depths else "List at arrays cannot be empty")
    return depths.pop() + 1


@means("compress")
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """By a condition that may be shorter than the axis."""
    if out is not None:
        raise NotImplementedError("the argument out isn't there")
    chosen = to_dtype(as_array(condition, "a condition"), dt.bool)
    x, along = _along(a, axis)
    if chosen.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if chosen.shape[0] > x.shape[along]:
        raise NotImplementedError("a condition that is longer than the axis")
    return indexing.getitem(slice_axis(x, along, 0, chosen.shape[0]), (*[slice(None)] * along, chosen))


@means("delete")
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """By indices that are known while tracing."""
    x, along = _along(arr, axis)
    kept = np.delete(np.arange(x.shape[along]), _known(obj, "an index"))
    return laid_out(indexing.take(x, kept, axis=along), axes_in("A", x))


@means("insert")
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Before indices that are known while tracing."""
    x, along = _along(arr, axis)
    places = _known(obj, "an index")
    y = as_array(creation.asarray(values, dtype=x.dtype), "values")
    count = 1 if isinstance(places, slice) else np.size(places)
    if isinstance(places, slice) or (count != 1 and np.asarray(places).dtype != bool):
        count = np.insert(np.arange(x.shape[along]), places, 0).size - x.shape[along]
    elif np.asarray(places).dtype == bool:
        count = int(np.sum(places))
    if count == 1 and not isinstance(places, slice):
        y = reshape(y, (*[1] * (x.ndim - y.ndim), *y.shape))
        if np.ndim(places) == 0:
            y = manipulation.moveaxis(y, 0, along)
        count = y.shape[along]
    source = np.insert(np.arange(x.shape[along]), places, x.shape[along] + np.arange(count))
    y = broadcast_to(y, (*x.shape[:along], count, *x.shape[along + 1 :]))
    return laid_out(indexing.take(joining.concat((x, y), axis=along), source, axis=along), axes_in("A", x))


@means("diag")
def diag(v: Any, k: int = 0) -> Any:
    """A vector as a diagonal, a matrix's diagonal as a vector."""
    x = as_array(v)
    if x.ndim == 2:
        return x.diagonal(k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = x.size + abs(k)
    # row by row, the elements of the diagonal are n + 1 apart
    apart = flat(padding.pad(reshape(x, (x.size, 1)), ((0, 0), (0, n))))
    before = k if k >= 0 else -k * n
    return reshape(padding.pad(apart, (before, max(0, n * n - before - apart.size)))[: n * n], (n, n))


@means("diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    """Elements of an array of any rank as a diagonal."""
    return diag(flat(as_array(v)), k)


@means("resize")
def resize(a: Any, new_shape: Any) -> Any:
    """The elements again and again."""
    x, shape = flat(as_array(a)), shape_of(new_shape)
    size = math.prod(shape)
    if x.size == 0 or size == 0:
        return creation.zeros(shape, dtype=x.dtype)
    return reshape(joining.concat((x,) * -(-size // x.size), axis=0)[:size], shape)


# Axes


@means("fliplr")
def fliplr(m: Any) -> Any:
    """The second axis backwards."""
    x = as_array(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return manipulation.flip(x, axis=1)


@means("flipud")
def flipud(m: Any) -> Any:
    """The first axis backwards."""
    x = as_array(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return manipulation.flip(x, axis=0)


@means("rollaxis")
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """One axis before another."""
    x = as_array(a)
    axis, before = axis_of(axis, x.ndim), start + x.ndim if start < 0 else start
    if not 0 <= before <= x.ndim:
        raise AxisError(f"'start' arg requires {-x.ndim} <= start < {x.ndim + 1}, but {start} was passed in")
    return manipulation.moveaxis(x, axis, before - (axis < before))


def _splitter(name: str, rank: int, axis: int) -> None:
    @means(name)
    def split(ary: Any, indices_or_sections: Any) -> Any:
        x = as_array(ary)
        if x.ndim < rank:
            raise ValueError(f"{name} only works on arrays of {rank} or more dimensions")
        return joining.split(x, indices_or_sections, axis=axis if x.ndim > 1 else 0)


_splitter("hsplit", 1, 1)
_splitter("vsplit", 2, 0)
_splitter("dsplit", 3, 2)


# By index and by condition


@means("choose")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """For each element of `a`, that of the choice with this number."""
    if out is not None:
        raise NotImplementedError("the argument out isn't there")
    index, values = array_of(a), [array_of(each, "a choice") for each in choices]
    if mode == "raise":
        inside = elementwise.logical_and(elementwise.greater_equal(index, 0), elementwise.less(index, len(values)))
        perform_check(emit("all", inside, tuple(range(inside.ndim))), ValueError, "invalid entry in choice array")
    elif mode in ("wrap", "clip"):
        index = index % len(values) if mode == "wrap" else elementwise.clip(index, 0, len(values) - 1)
    else:
        raise ValueError(f"mode must be 'raise', 'wrap' or 'clip', but it is {mode!r}")
    shape, dtype = broadcast_shape(index.shape, *(value.shape for value in values)), common_dtype(values)
    stacked = joining.stack([broadcast_to(to_dtype(value, dtype), shape) for value in values])
    chosen = indexing.take_along_axis(stacked, reshape(broadcast_to(index, shape), (1, *shape)), axis=0)
    return decayed(reshape(chosen, shape))


@means("select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice whose condition is the first that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not condlist:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [array_of(each, "a condition") for each in condlist]
    choices = [as_value(each, "a choice") for each in (*choicelist, default)]
    for i, condition in enumerate(conditions):
        if condition.dtype != dt.bool:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray, but it is {condition.dtype}")
    dtype = common_dtype(choices)
    shape = broadcast_shape(*(value.shape for value in (*conditions, *choices)))
    result = broadcast_to(to_dtype(choices[-1], dtype), shape)
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        chosen = broadcast_to(to_dtype(choice, dtype), shape)
        result = emit("where", broadcast_to(condition, shape), chosen, result)
    return laid_out(result, None)


@means("ix_")
def ix_(*args: Any) -> Any:
    """Vectors as axes that broadcast."""
    results = []
    for place, each in enumerate(args):
        x = as_array(each)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype == dt.bool:
            x = as_array(np.flatnonzero(_known(x, "a mask")))
        results.append(reshape(x, (*[1] * place, x.size, *[1] * (len(args) - place - 1))))
    return tuple(results)


@means("lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    """By the last key, where that is equal by the one before, and so on."""
    order = None
    for key in as_array(keys) if isinstance(keys, Value) else [as_array(each, "a key") for each in keys]:
        if order is None:
            order = sorting.argsort(key, axis=axis)
        else:
            again = sorting.argsort(indexing.take_along_axis(key, order, axis=axis), axis=axis)
            order = indexing.take_along_axis(order, again, axis=axis)
    if order is None:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    return order


def _steps(shape: Any, order: str) -> tuple[Sequence[int], Sequence[int]]:
    """The extents, and how many elements apart are neighbours along each axis."""
    extents = shape_of(shape)
    if order not in ("C", "F"):
        raise ValueError(f"order must be 'C' or 'F', but it is {order!r}")
    later = [math.prod(extents[axis + 1 :] if order == "C" else extents[:axis]) for axis in range(len(extents))]
    return extents, later


def _whole(thing: Any, name: str) -> Value:
    value = array_of(thing, name)
    if value.dtype.kind not in ("signed", "unsigned"):
        raise TypeError(f"{name} must be integers, but it is {value.dtype}")
    return to_dtype(value, dt.int64)


def _check_inside(index: Value, extent: int, message: str) -> None:
    inside = elementwise.logical_and(elementwise.greater_equal(index, 0), elementwise.less(index, extent))
    perform_check(emit("all", inside, tuple(range(inside.ndim))), ValueError, message)


@means("unravel_index")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """One index for each axis of an array of a shape."""
    index, (extents, steps) = _whole(indices, "indices"), _steps(shape, order)
    size = math.prod(extents)
    _check_inside(index, size, f"an index is out of bounds for array with size {size}")
    return tuple(
        decayed(elementwise.remainder(elementwise.floor_divide(index, step), extent))
        for extent, step in zip(extents, steps, strict=True)
    )


@means("ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """The place in C order (or Fortran's) of an index for each axis."""
    extents, steps = _steps(dims, order)
    indices = [_whole(each, "an index") for each in multi_index]
    modes = [mode] * len(indices) if isinstance(mode, str) else list(mode)
    if len(indices) != len(extents):
        raise ValueError(f"{len(indices)} indices for {len(extents)} axes")
    place: Any = constant(0, dt.int64, Kind.SCALAR)
    for index, extent, step, how in zip(indices, extents, steps, modes, strict=True):
        if how == "raise":
            _check_inside(index, extent, "invalid entry in coordinates array")
        elif how in ("wrap", "clip"):
            index = index % extent if how == "wrap" else elementwise.clip(index, 0, extent - 1)
        else:
            raise ValueError(f"mode must be 'raise', 'wrap' or 'clip', but it is {how!r}")
        place = elementwise.add(place, elementwise.multiply(index, step))
    return place
