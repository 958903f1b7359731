"""Roots: the memory behind the arrays that a function is called with, and which of them share it.

Each root is one parameter of the graph: an array that is all there is of its memory, in the order of its strides, is a
root of its own shape; anything else (gaps, negative strides, several arguments that overlap) is a root of one axis, and
exact layouts say what each argument sees of it. Nothing is copied but what no layout can name.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina.array import layout_of, stretched
from lamina.layout import Layout

Shape = tuple[int, ...]

# NumPy's flags of an array
ALIGNED, WRITABLE = 0x0100, 0x0400
BEHAVED = 0x0001 | ALIGNED  # contiguous in C order, too


class Member(NamedTuple):
    """An argument of a root: its place among the arrays, and what it sees of the root's memory (`None`: all)."""

    place: int
    layout: Layout | None


class Root(NamedTuple):
    """One memory: its own shape, and the arguments that see it."""

    shape: Shape
    members: list[Member]


def overlaps_of(arrays: Sequence[np.ndarray]) -> tuple[tuple[int, ...], ...]:
    """Which arrays share memory.

    That is for each group of several: place, shift, place, shift…, in order of their lowest addresses, where the shift
    is the bytes from the group's lowest address.
    """
    spans = sorted((*_bounds(array), place) for place, array in enumerate(arrays) if array.size)
    groups: list[tuple[int, ...]] = []
    group: list[int] = []
    start = end = -1
    for low, high, place in spans:
        if low < end:
            group += (place, low - start)
            end = max(end, high)
            continue
        if len(group) > 2:
            groups.append(tuple(group))
        group, start, end = [place, 0], low, high
    if len(group) > 2:
        groups.append(tuple(group))
    return tuple(groups)


def _bounds(array: np.ndarray) -> tuple[int, int]:
    low: int = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return low, low + array.nbytes
    high = low + array.itemsize
    for extent, stride in zip(array.shape, array.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = (low, high + reach) if reach > 0 else (low + reach, high)
    return low, high


def roots_of(arrays: Sequence[np.ndarray]) -> list[Root]:
    """The roots of the arrays, each array a member of one.

    >>> x = np.arange(6.0).reshape(2, 3)
    >>> [root.shape for root in roots_of([x, x.T, x[:, 1:].copy()])]
    [(6,), (2, 2)]
    """
    roots: list[Root] = []
    grouped: set[int] = set()
    for group in overlaps_of(arrays):
        places, shifts = group[::2], group[1::2]
        if (
            len({arrays[place].dtype for place in places}) > 1
            or any(s % arrays[p].itemsize for p, s in zip(places, shifts, strict=True))
            or not all(_has_layout(arrays[place]) for place in places)
        ):
            raise NotImplementedError(
                "arguments that share memory must have one native dtype and be aligned to its elements"
            )
        members = []
        for place, shift in zip(places, shifts, strict=True):
            layout = layout_of(arrays[place])
            offset = layout.offset + shift // arrays[place].itemsize
            members.append(Member(place, Layout(layout.shape, layout.strides, offset)))
        extent = max(member.layout.span[1] for member in members if member.layout is not None)
        roots.append(Root((extent,), members))
        grouped.update(places)
    for place, array in enumerate(arrays):
        if place not in grouped:
            roots.append(_alone(array, place))
    return sorted(roots, key=lambda root: min(member.place for member in root.members))


def _has_layout(array: np.ndarray) -> bool:
    """Whether a layout says where the elements are: not of swapped bytes, nor of one field of records."""
    return array.dtype.isnative and not any(
        stride % array.itemsize for extent, stride in zip(array.shape, array.strides, strict=True) if extent > 1
    )


def _alone(array: np.ndarray, place: int) -> Root:
    if array.flags.c_contiguous or not array.size or not _has_layout(array):
        return Root(array.shape, [Member(place, None)])
    layout = layout_of(array)
    by_stride = sorted(range(array.ndim), key=lambda axis: (-abs(layout.strides[axis]), axis))
    shape = tuple(array.shape[axis] for axis in by_stride)
    dense = Layout.contiguous(shape)
    if layout.offset == 0 and tuple(layout.strides[axis] for axis in by_stride) == dense.strides:
        return Root(shape, [Member(place, layout)])
    return Root((layout.span[1],), [Member(place, layout)])


def memory_of(root: Root, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The root's memory itself, of the root's shape; an array of records' fields as it is, and not contiguous."""
    first = root.members[0]
    array = arrays[first.place]
    if first.layout is None:
        return array
    # the first member is the one with the root's lowest address
    return stretched(array, math.prod(root.shape)).reshape(root.shape)


def placed(memory: np.ndarray, layout: Layout | None, shift: int = 0) -> np.ndarray:
    """What a layout, moved by some elements, names in a contiguous memory, as a view of it."""
    if layout is None:
        return memory
    flat, width = memory.reshape(-1), memory.itemsize
    if not layout.numel:
        return np.empty(layout.shape, memory.dtype)
    view: Any = np.lib.stride_tricks.as_strided(
        flat[layout.offset + shift :], layout.shape, [stride * width for stride in layout.strides]
    )
    return view  # type: ignore[no-any-return]


def recast(memory: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A contiguous memory seen as elements of another dtype, as many as it has all of; itself where it is of that."""
    if memory.dtype == dtype:
        return memory
    data = memory.reshape(-1).view(np.uint8)
    return data[: data.size - data.size % dtype.itemsize].view(dtype)
