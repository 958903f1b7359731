"""Joining arrays, repeating them and taking them apart: a part of the manipulation chapter.

Parts are views; what is joined or repeated has memory of its own.
"""

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from lamina.layout import Layout
from lamina.trace import build
from lamina.trace.build import as_value, common_dtype, emit, permute, slice_axis, to_dtype
from lamina.trace.concrete import concrete
from lamina.trace.function import function
from lamina.trace.order import emit_in_order, laid_out
from lamina.trace.reduction import axis_of
from lamina.trace.shapes import Shape, along, as_array, extents_of, line_axis
from lamina.trace.value import Value

__all__ = [
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "column_stack",
    "concat",
    "dstack",
    "hstack",
    "repeat",
    "split",
    "stack",
    "tile",
    "unstack",
    "vstack",
]


# At least so many axes


def _at_least(name: str, rank: int, widened: Callable[[Shape], Shape], result: Shape) -> Any:
    def body(*arrays: Any) -> Any:
        values = [as_array(each) for each in arrays]
        results = tuple(build.reshape(value, widened(value.shape)) if value.ndim < rank else value for value in values)
        return results[0] if len(results) == 1 else results

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""Views of the arrays with {rank} axes or more, added where NumPy adds them; several are a tuple.

    >>> {name}([5, 6]).shape
    {result}
    """
    return function(body)


def _rows(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


atleast_1d = _at_least("atleast_1d", 1, lambda shape: (1,), (2,))
atleast_2d = _at_least("atleast_2d", 2, _rows, (1, 2))
atleast_3d = _at_least("atleast_3d", 3, lambda shape: (*_rows(shape), 1), (1, 2, 1))


# Joining


def _joined(values: Sequence[Value], axis: int) -> Value:
    shape = values[0].shape
    for place, value in enumerate(values):
        if value.ndim != len(shape):
            raise ValueError(
                "all the input array dimensions must match in number, but array 0 has "
                f"{len(shape)} axes and array {place} has {value.ndim}"
            )
        for other, (extent, wanted) in enumerate(zip(value.shape, shape, strict=True)):
            if other != axis and extent != wanted:
                raise ValueError(
                    "all the input array dimensions except for the concatenation axis must match exactly, but along "
                    f"axis {other} array 0 has extent {wanted} and array {place} has {extent}"
                )
    return emit_in_order("concat", values, axis, joins=True)


@function
def concat(arrays: Any, /, *, axis: SupportsIndex | None = 0) -> Any:
    """The arrays one after another along an axis; flattened first if ``axis`` is None. The dtype is their common one.

    Raises ValueError for no array, for arrays without an axis, and for extents that differ beside the axis.

    >>> concat([[1, 2], [3.5]])
    lamina.Array([1. , 2. , 3.5], shape=(3,), dtype=float64)
    """
    values = [as_value(each, "an array") for each in arrays]
    if not values:
        raise ValueError("need at least one array to concatenate")
    dtype = common_dtype(values)
    values = [to_dtype(value, dtype) for value in values]  # before a number loses its weakness
    if axis is None:
        return _joined([build.reshape(value, (math.prod(value.shape),)) for value in values], 0)
    if any(not value.shape for value in values):
        raise ValueError("zero-dimensional arrays cannot be concatenated; lamina.stack makes an array of them")
    return _joined(values, axis_of(axis, values[0].ndim))


@function
def stack(arrays: Any, /, *, axis: SupportsIndex = 0) -> Any:
    """The arrays, of one shape, one after another along a new axis. The dtype is their common one.

    Raises ValueError for no array and for different shapes.

    >>> stack([[1, 2], [3, 4]], axis=1)
    lamina.Array([[1, 3],
                  [2, 4]], shape=(2, 2), dtype=int64)
    """
    values = [as_array(each, "an array") for each in arrays]
    if not values:
        raise ValueError("need at least one array to stack")
    shape = values[0].shape
    if any(value.shape != shape for value in values):
        raise ValueError(
            f"all input arrays must have the same shape, but they have {[value.shape for value in values]}"
        )
    place = axis_of(axis, len(shape) + 1)
    return concat([build.reshape(value, (*shape[:place], 1, *shape[place:])) for value in values], axis=place)


def _stacker(name: str, prepare: Callable[[Value], Value], axis: Callable[[int], int], what: str, result: str) -> Any:
    def body(arrays: Any, /) -> Any:
        values = [prepare(as_array(each, "an array")) for each in arrays]
        return concat(values, axis=axis(values[0].ndim) if values else 0)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""The arrays joined {what}; NumPy's.

    >>> {name}(([1, 2], [3, 4])).tolist()
    {result}
    """
    return function(body)


def _as_column(value: Value) -> Value:
    return value if value.ndim >= 2 else permute(build.reshape(value, _rows(value.shape)), (1, 0))


hstack = _stacker(
    "hstack", atleast_1d, lambda rank: min(rank - 1, 1), "along their second axis, or their only one", "[1, 2, 3, 4]"
)
vstack = _stacker("vstack", atleast_2d, lambda rank: 0, "as rows, along their first axis", "[[1, 2], [3, 4]]")
dstack = _stacker("dstack", atleast_3d, lambda rank: 2, "along a third axis", "[[[1, 3], [2, 4]]]")
column_stack = _stacker(
    "column_stack", _as_column, lambda rank: 1, "as columns, along their second axis", "[[1, 3], [2, 4]]"
)


# Taking apart


@function
def unstack(x: Any, /, *, axis: SupportsIndex = 0) -> Any:
    """The parts of an array along an axis, which they lack, in a tuple: views.

    Raises ValueError for an array without axes.

    >>> [x.tolist() for x in unstack([[1, 2], [3, 4]], axis=1)]
    [[1, 3], [2, 4]]
    """
    value = as_array(x)
    if not value.shape:
        raise ValueError("x must have at least one axis, but it has none")
    number = axis_of(axis, value.ndim)
    rest = (*value.shape[:number], *value.shape[number + 1 :])
    parts = (slice_axis(value, number, i, 1) for i in range(value.shape[number]))
    return tuple(build.decayed(build.reshape(part, rest)) for part in parts)


def _cuts(value: Value, edges: Sequence[int], axis: int) -> list[Value]:
    """The parts between edges, with the meaning that slices have."""
    extent = value.shape[axis]
    parts = []
    for low, high in itertools.pairwise((0, *edges, extent)):
        inside = range(extent)[low:high]
        parts.append(slice_axis(value, axis, inside.start if inside else 0, len(inside)))
    return parts


@function
def array_split(x: Any, indices_or_sections: Any, axis: SupportsIndex = 0) -> Any:
    """The parts of an array along an axis, in a list: so many, the first of them one longer where they can't be equal.

    A sequence of indices says where to cut. The parts are views. Raises ValueError for a number of parts below 1.

    >>> [x.tolist() for x in array_split([1, 2, 3], 2)]
    [[1, 2], [3]]
    """
    value = as_array(x)
    number = axis_of(axis, value.ndim)
    if hasattr(indices_or_sections, "__len__"):
        return _cuts(value, [operator.index(edge) for edge in indices_or_sections], number)
    parts = operator.index(indices_or_sections)
    if parts <= 0:
        raise ValueError(f"number sections must be larger than 0, but it is {parts}")
    least, longer = divmod(value.shape[number], parts)
    sizes = [least + 1] * longer + [least] * (parts - longer)
    return _cuts(value, list(itertools.accumulate(sizes))[:-1], number)


@function
def split(x: Any, indices_or_sections: Any, axis: SupportsIndex = 0) -> Any:
    """The parts of an array along an axis, in a list: so many of one length, or cut at these indices.

    The parts are views. Raises ValueError where so many can't have one length, ZeroDivisionError for none.

    >>> [x.tolist() for x in split([1, 2, 3, 4], 2)]
    [[1, 2], [3, 4]]
    """
    value = as_array(x)
    number = axis_of(axis, value.ndim)
    if not hasattr(indices_or_sections, "__len__"):
        parts = operator.index(indices_or_sections)
        if value.shape[number] % parts:
            raise ValueError(
                f"array split does not result in an equal division: {value.shape[number]} elements in {parts} parts"
            )
    return array_split(value, indices_or_sections, number)


# Repeating


@function
def repeat(x: Any, repeats: Any, /, *, axis: SupportsIndex | None = None) -> Any:
    """Each element repeated along an axis, of the flattened array without one: a copy.

    ``repeats`` is one number, or one for each element of the axis, which must be known while tracing.

    Raises ValueError for a negative number and for another count of them.

    >>> repeat([1, 2], 2), repeat([1, 2], [1, 0])
    (lamina.Array([1, 1, 2, 2], shape=(4,), dtype=int64), lamina.Array([1], shape=(1,), dtype=int64))
    """
    value, number = line_axis(as_array(x), axis)
    counts = as_value(repeats, "repeats")
    if counts.dtype.kind not in ("bool", "signed", "unsigned"):
        raise TypeError(f"repeats must be integers, but they are {counts.dtype}")
    extent = value.shape[number]
    if math.prod(counts.shape) == 1 and (not counts.shape or not counts.is_traced):
        times = operator.index(counts) if counts.is_traced else int(concrete(counts, "", "").item())
        return _repeated(value, number, times)
    known = concrete(counts, "repeat(x, repeats)", "one number of repeats, or repeats that are known")
    if known.ndim > 1 or known.size != extent:
        raise ValueError(f"operands could not be broadcast together with shape ({extent},) {known.shape}")
    places = np.repeat(np.arange(extent), known.astype(np.int64))
    return laid_out(along(value, number, as_value(places)), None)


def _repeated(value: Value, axis: int, times: int) -> Value:
    if times < 0 and value.shape[axis]:
        raise ValueError(f"repeats may not contain negative values, but got {times}")
    before, extent, after = value.shape[:axis], value.shape[axis], value.shape[axis + 1 :]
    times = max(times, 0)
    shape = Layout.contiguous((*before, extent * times, *after)).shape
    inserted = build.reshape(value, (*before, extent, 1, *after))
    return emit("copy", build.reshape(build.broadcast_to(inserted, (*before, extent, times, *after)), shape))


@function
def tile(x: Any, repetitions: Any, /) -> Any:
    """The whole array repeated along each axis: a copy.

    As in NumPy, missing repetitions are 1 and missing axes are added on the left. Raises ValueError for a negative one.

    >>> tile([1, 2], (2, 2))
    lamina.Array([[1, 2, 1, 2],
                  [1, 2, 1, 2]], shape=(2, 4), dtype=int64)
    """
    value = as_array(x)
    times = extents_of(repetitions)
    rank = max(value.ndim, len(times))
    times = [1] * (rank - len(times)) + times
    extents = (1,) * (rank - value.ndim) + value.shape
    shape = Layout.contiguous(tuple(count * extent for count, extent in zip(times, extents, strict=True))).shape
    if 0 in shape:
        return build.broadcast_to(build.constant(0, value.dtype), shape)
    apart = tuple(itertools.chain.from_iterable((1, extent) for extent in extents))
    repeated = tuple(itertools.chain.from_iterable(zip(times, extents, strict=True)))
    return emit("copy", build.reshape(build.broadcast_to(build.reshape(value, apart), repeated), shape))
