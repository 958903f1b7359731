"""Sorting functions: an axis in order, or the places of its elements in that order.

Every sort is stable. NaN is above all numbers; complex numbers are ordered by their real parts, equal ones by their
imaginary parts.
"""

import operator
from typing import Any

from lamina.trace.build import emit, reshape, slice_axis
from lamina.trace.function import function
from lamina.trace.order import emit_in_order
from lamina.trace.reduction import array_of, axis_of, flat
from lamina.trace.value import Value

__all__ = [
    "argpartition",
    "argsort",
    "partition",
    "sort",
]


@function
def sort(x: Any, /, *, axis: Any = -1, descending: bool = False, stable: bool = True) -> Value:
    """Each line along an axis in ascending order, NaN last; in descending order NaN comes first.

    Equal elements keep their order, whatever ``stable`` says. ``axis=None`` sorts all elements along one axis. Raises
    `TypeError` for an axis that is no integer, `lamina.errors.AxisError` for one that x hasn't; a scalar has none.

    >>> import lamina
    >>> lamina.sort(lamina.asarray([3.0, float("nan"), 1.0]))
    lamina.Array([ 1.,  3., nan], shape=(3,), dtype=float64)
    """
    value, along = _line(array_of(x), axis)
    if not descending:
        return emit_in_order("sort", [value], along)
    # equal elements keep their order: sort the line backwards, and turn the result around
    return _backwards(emit("sort", _backwards(value, along), along), along)


def _line(x: Value, axis: Any) -> tuple[Value, int]:
    return (flat(x), 0) if axis is None else (x, axis_of(axis, len(x.shape)))


def _backwards(x: Value, axis: int) -> Value:
    count = x.shape[axis]
    return slice_axis(x, axis, count - 1, count, -1) if count else x


@function
def argsort(x: Any, /, *, axis: Any = -1, descending: bool = False, stable: bool = True) -> Value:
    """The places (int64) of the elements of each line along an axis in the order of `lamina.sort`.

    Equal elements keep their order, whatever ``stable`` says. A scalar counts as one element; else axes and errors are
    those of `lamina.sort`.

    >>> import lamina
    >>> lamina.argsort(lamina.asarray([3, 1, 3, 2]), descending=True)
    lamina.Array([0, 2, 3, 1], shape=(4,), dtype=int64)
    """
    value = array_of(x)
    value, along = _line(value if value.shape else reshape(value, (1,)), axis)
    return emit("argsort", value, along, bool(descending))


# NumPy's functions that need not put all in order. Their results are any that fit, and a sorted line does.


@function
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: None = None) -> Value:
    """NumPy's `numpy.partition`: the elements ``kth`` are where they are in sorted order. Here all are.

    Raises `ValueError` for a ``kth`` outside the axis, `TypeError` for one that is no integer; else as `lamina.sort`.

    >>> import lamina
    >>> lamina.partition(lamina.asarray([3, 1, 2]), 1)
    lamina.Array([1, 2, 3], shape=(3,), dtype=int64)
    """
    value, along = _line(array_of(a, "a"), axis)
    _expect_places(kth, value.shape[along])
    return emit_in_order("sort", [value], along)


@function
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: None = None) -> Value:
    """NumPy's `numpy.argpartition`: the places of the elements of `lamina.partition`.

    >>> import lamina
    >>> lamina.argpartition(lamina.asarray([3, 1, 2]), 0)
    lamina.Array([1, 2, 0], shape=(3,), dtype=int64)
    """
    value = array_of(a, "a")
    value, along = _line(value if value.shape else reshape(value, (1,)), axis)
    _expect_places(kth, value.shape[along])
    return emit("argsort", value, along, False)


def _expect_places(kth: Any, count: int) -> None:
    for each in kth if isinstance(kth, (list, tuple)) else (kth,):
        place = operator.index(each)
        if not -count <= place < count:
            raise ValueError(f"kth is {place}, but the axis has {count} elements")
