"""The layout of an array: a map from indices to the positions of elements in a buffer.

`lamina.layout.move` says what a movement means, index by index; `Layout.move` says where its elements live. Arrays are
a layout beside a buffer, and compilers read addresses off layouts, so a layout is exact: it is made in one canonical
form, two layouts are equal if and only if they have one shape and map every index to the same position, and a movement
that no layout expresses gives None, never a copy.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, final

from lamina.errors import AxisError
from lamina.layout.limits import (
    INT_MAX,
    INT_MIN,
    MAX_NUMEL,
    any_integer,
    any_integers,
    checked_index,
    misfit,
    numel_of,
    show,
)
from lamina.layout.move import Movement, runs

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Layout", "coalesce"]

_MAX_LISTED = 2**24


@final
class Layout:
    """The map from an index ``(i0, ..., ik)`` to the position ``offset + sum(i * stride)``, counted in elements.

    Positions count from a buffer's first byte and are never negative. An element at position ``p`` of a dtype of ``b``
    bits occupies the bits ``p*b`` to ``p*b + b - 1``, where bit ``8*q + r`` is bit ``r`` of byte ``q``, least
    significant first.

    A layout is immutable and canonical: an axis of extent 1 has stride 0, and a layout without an element has offset 0
    and every stride 0, whatever it was made with. So two layouts are equal if and only if they have one shape and map
    every index to the same position. ``shape``, ``strides``, ``offset`` and ``numel``, the number of indices, are plain
    integers and tuples of them. Its extents, the product of those other than 0, and the end of its `span` are at most
    ``MAX_NUMEL`` (2**53), so their products with an element's width stay within 64 bits.

    Raises `ValueError`, with the shape, the strides and the offset in its message, unless ``Layout.fits(shape)``, there
    is one stride for each extent, every integer, and every product ``(extent - 1) * abs(stride)``, lies in the signed
    64-bit range, and, for a layout with an element, no position is negative or above ``MAX_NUMEL - 1``. Raises
    `TypeError` for what is no integer or no sequence of them.

    >>> Layout((2, 3), (3, 1), offset=4)
    Layout((2, 3), (3, 1), offset=4)
    >>> Layout((1, 3), (7, -1), offset=2)
    Layout((1, 3), (0, -1), offset=2)
    >>> Layout((0, 3), (7, -1), offset=-5)
    Layout((0, 3), (0, 0), offset=0)
    >>> Layout((3,), (-1,))
    Traceback (most recent call last):
    ValueError: Layout of shape (3,), strides (-1,) and offset 0: its least position is -2; no position may be negative
    """

    __slots__ = ("_distinct", "_hash", "_in_order", "_span", "numel", "offset", "shape", "strides")

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    numel: int
    # The rest is set when it is first asked for.
    _span: tuple[int, int]
    _in_order: bool
    _distinct: bool
    _hash: int

    def __new__(
        cls, shape: Sequence[SupportsIndex], strides: Sequence[SupportsIndex], offset: SupportsIndex = 0
    ) -> "Layout":
        """The layout of these in canonical form."""
        shape, strides = any_integers(shape, "shape"), any_integers(strides, "strides")
        if type(offset) is not int:
            offset = any_integer(offset, "offset")
        numel = numel_of(shape)
        if numel is None:
            _refuse(shape, strides, offset, misfit(shape))
        if len(strides) != len(shape):
            _refuse(shape, strides, offset, f"{len(strides)} strides are given for {len(shape)} axes")
        if numel == 0:
            _check_range(shape, strides, offset)
            return _layout(shape, (0,) * len(shape), 0, 0)
        low, high = _reach(shape, strides, offset)
        if low < 0 or high >= MAX_NUMEL:
            _check_range(shape, strides, offset)
            if low < 0:
                _refuse(shape, strides, offset, f"its least position is {show(low)}; no position may be negative")
            _refuse(shape, strides, offset, f"its span ends at {show(high + 1)}; it may end at 2**53 at most")
        canonical = _canonical(shape, strides)
        if canonical != strides:
            # Only a stride that was dropped can still lie outside 64 bits: the span bounds the others and the offset.
            _check_range(shape, strides, offset)
        return _layout(shape, canonical, offset, numel)

    @staticmethod
    def contiguous(shape: Sequence[SupportsIndex]) -> "Layout":
        """The layout of ``shape`` in C order at offset 0: element ``k`` in C order is at position ``k``.

        Its ``shape`` is the very tuple given, if it is a tuple of plain ints. Raises `ValueError` unless
        ``Layout.fits(shape)``.

        >>> Layout.contiguous((2, 3, 4)).strides
        (12, 4, 1)
        """
        shape = any_integers(shape, "shape")
        numel = numel_of(shape)
        if numel is None:
            raise ValueError(f"Layout.contiguous of shape {show(shape)}: {misfit(shape)}")
        if numel == 0:
            return _layout(shape, (0,) * len(shape), 0, 0)
        strides = []
        inner = 1
        for extent in reversed(shape):
            strides.append(0 if extent == 1 else inner)
            inner *= extent
        return _layout(shape, tuple(reversed(strides)), 0, numel)

    @staticmethod
    def fits(shape: Sequence[SupportsIndex]) -> bool:
        """True iff ``shape`` is a layout's shape.

        That is at most 32 extents, none negative, and those other than 0 multiplying to at most 2**53.

        Raises `TypeError` unless ``shape`` is a sequence of integers; these may be of any size.

        >>> Layout.fits((2, 0, 3)), Layout.fits((2, -1)), Layout.fits((0, 10**100))
        (True, False, False)
        """
        return numel_of(any_integers(shape, "shape")) is not None

    @property
    def rank(self) -> int:
        """The number of axes.

        >>> Layout.contiguous((2, 3)).rank
        2
        """
        return len(self.shape)

    def dim(self, axis: SupportsIndex) -> int:
        """The extent of ``axis``; raises `AxisError` unless ``0 <= axis < rank``.

        >>> Layout.contiguous((2, 3)).dim(1)
        3
        """
        return self.shape[self._axis(axis)]

    def stride(self, axis: SupportsIndex) -> int:
        """The stride of ``axis``; raises `AxisError` unless ``0 <= axis < rank``.

        >>> Layout.contiguous((2, 3)).stride(2)
        Traceback (most recent call last):
        lamina.errors.AxisError: axis 2 is outside 0 <= axis < 2, the axes of shape (2, 3), strides (3, 1) and offset 0
        """
        return self.strides[self._axis(axis)]

    def _axis(self, axis: SupportsIndex) -> int:
        number = any_integer(axis, "axis")
        if not 0 <= number < len(self.shape):
            raise AxisError(f"axis {show(number)} is outside 0 <= axis < {self.rank}, the axes of {self}")
        return number

    @property
    def span(self) -> tuple[int, int]:
        """The least position and one past the greatest; ``(0, 0)`` without an element.

        >>> Layout((2, 3), (10, -1), offset=2).span
        (0, 13)
        """
        try:
            return self._span
        except AttributeError:
            low, high = _reach(self.shape, self.strides, self.offset)
            _set_span(self, (low, high + 1) if self.numel else (0, 0))
            return self._span

    @property
    def is_contiguous(self) -> bool:
        """True iff element ``k`` in C order is at position ``offset + k``, so also without an element.

        >>> Layout((2, 3), (3, 1), offset=5).is_contiguous, Layout((2, 3), (1, 2)).is_contiguous
        (True, False)
        """
        try:
            return self._in_order
        except AttributeError:
            _set_in_order(self, self.strides == Layout.contiguous(self.shape).strides)
            return self._in_order

    @property
    def is_distinct(self) -> bool:
        """True iff each stride exceeds the reach of the smaller ones, or there is no element.

        With the axes of extent above 1 ordered by ``abs(stride)``, each ``abs(stride)`` is to exceed the sum of
        ``(extent - 1) * abs(stride)`` of the axes before it. Then no position is reached twice; the converse doesn't
        hold: ``Layout((2, 3), (3, 2))`` reaches no position twice, and isn't distinct by this rule. It is true of what
        `contiguous` reaches through `Permute`, `Slice` and windows that don't overlap, and false of every broadcast and
        every overlapping window.

        >>> Layout((2, 3), (-3, 1), offset=3).is_distinct, Layout((2, 3), (0, 1)).is_distinct
        (True, False)
        """
        try:
            return self._distinct
        except AttributeError:
            _set_distinct(self, self.numel == 0 or _nested(self.shape, self.strides))
            return self._distinct

    def position(self, index: Sequence[SupportsIndex]) -> int:
        """The position of ``index``; raises `IndexRangeError` unless it lies in the shape.

        >>> Layout((2, 3), (-3, 1), offset=3).position((1, 2))
        2
        """
        numbers = checked_index(index, self.shape, "the layout")
        return sum([i * stride for i, stride in zip(numbers, self.strides, strict=True)], self.offset)

    def positions(self) -> "npt.NDArray[np.int64]":
        """The position of every index, an int64 array of the layout's shape: for tests, plots and small layouts.

        Raises `ValueError` above 2**24 elements.

        >>> Layout((2, 3), (-3, 1), offset=3).positions()
        array([[3, 4, 5],
               [0, 1, 2]])
        """
        import numpy as np  # for these arrays alone: the room works on integers

        if self.numel > _MAX_LISTED:
            raise ValueError(
                f"positions of the layout of {self}: {self.numel} elements are more than the 2**24 it lists"
            )
        if self.numel == 0:
            return np.empty(self.shape, dtype=np.int64)
        positions = np.array(self.offset, dtype=np.int64)
        for extent, stride in zip(self.shape, self.strides, strict=True):
            positions = positions[..., None] + np.arange(extent, dtype=np.int64) * stride
        return positions

    def move(self, movement: Movement) -> "Layout | None":
        """The layout of ``movement``'s result over the same positions.

        Its index ``i`` reaches the position that this layout reaches at ``movement.source(self.shape, i)``. None if and
        only if ``movement`` is a `Reshape` that no strides express. Raises `ValueError` as
        ``movement.result_shape(self.shape)`` does, and `TypeError` for what is no movement. The time it takes depends
        on the ranks alone.

        >>> from lamina.layout.move import Permute, Range, Reshape, Slice
        >>> Layout.contiguous((6,)).move(Slice((Range(5, 3, -2),)))
        Layout((3,), (-2,), offset=5)
        >>> print(Layout((2, 3), (1, 2)).move(Reshape((6,))))
        None
        """
        if not isinstance(movement, Movement):
            raise TypeError(
                f"move: {movement!r} is no movement; expected one of lamina.layout.move, such as Reshape((2, 3))"
            )
        shape, numel = movement.fit(self.shape)
        if numel == 0:
            return _layout(shape, (0,) * len(shape), 0, 0)
        moved = movement.strides(self.shape, self.strides, self.offset, shape)
        if moved is None:
            return None
        strides, offset = moved
        return _layout(shape, _canonical(shape, strides), offset, numel)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Layout):
            return NotImplemented
        return self.offset == other.offset and self.shape == other.shape and self.strides == other.strides

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            _set_hash(self, hash((self.shape, self.strides, self.offset)))
            return self._hash

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name} can't be set: a layout is immutable; make another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name} can't be deleted: a layout is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout, (self.shape, self.strides, self.offset)

    def __copy__(self) -> "Layout":
        return self

    def __deepcopy__(self, memo: object) -> "Layout":
        return self

    def __repr__(self) -> str:
        return f"Layout({self.shape}, {self.strides}, offset={self.offset})"

    def __str__(self) -> str:
        return f"shape {self.shape}, strides {self.strides} and offset {self.offset}"


def coalesce(layouts: Iterable[Layout]) -> tuple[Layout, ...]:
    """The shortest layouts, all of one shape, that reach what ``layouts`` reach in the same C order of indices.

    Axes of extent 1 are dropped, and adjacent axes merged where every layout lays them out as one run. The results have
    at least one axis: of shape ``(1,)`` for one element, ``(0,)`` for none. Raises `ValueError` unless there is at
    least one layout and all are of one shape.

    >>> coalesce([Layout.contiguous((2, 3, 4))])
    (Layout((24,), (1,), offset=0),)
    >>> coalesce([Layout.contiguous((2, 3, 4)), Layout((2, 3, 4), (0, 4, 1))])
    (Layout((2, 12), (12, 1), offset=0), Layout((2, 12), (0, 1), offset=0))
    """
    layouts = tuple(layouts)
    for layout in layouts:
        if not isinstance(layout, Layout):
            raise TypeError(f"coalesce: {layout!r} is no Layout")
    if not layouts:
        raise ValueError("coalesce: no layout is given; expected at least one")
    shape, numel = layouts[0].shape, layouts[0].numel
    for layout in layouts:
        if layout.shape != shape:
            raise ValueError(f"coalesce: layouts of one shape are expected; one has {layouts[0]}, another {layout}")
    if numel == 0:
        return (_layout((0,), (0,), 0, 0),) * len(layouts)
    merged = runs(shape, [layout.strides for layout in layouts]) or [(1, (0,) * len(layouts))]
    extents = tuple([extent for extent, _ in merged])
    columns = zip(*[row for _, row in merged], strict=True)
    return tuple(
        [_layout(extents, strides, layout.offset, numel) for strides, layout in zip(columns, layouts, strict=True)]
    )


# The slots' own setters go past Layout.__setattr__, and are faster than object.__setattr__.
_set_shape = Layout.__dict__["shape"].__set__
_set_strides = Layout.__dict__["strides"].__set__
_set_offset = Layout.__dict__["offset"].__set__
_set_numel = Layout.__dict__["numel"].__set__
_set_span = Layout.__dict__["_span"].__set__
_set_in_order = Layout.__dict__["_in_order"].__set__
_set_distinct = Layout.__dict__["_distinct"].__set__
_set_hash = Layout.__dict__["_hash"].__set__


def _layout(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, numel: int) -> Layout:
    """The layout of these, which are known to be valid and canonical."""
    layout = object.__new__(Layout)
    _set_shape(layout, shape)
    _set_strides(layout, strides)
    _set_offset(layout, offset)
    _set_numel(layout, numel)
    return layout


def _canonical(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    if 1 not in shape:
        return strides
    return tuple([0 if extent == 1 else stride for extent, stride in zip(shape, strides, strict=True)])


def _reach(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> tuple[int, int]:
    """The least and the greatest position of a layout with an element."""
    low = high = offset
    for extent, stride in zip(shape, strides, strict=True):
        if stride > 0:
            high += (extent - 1) * stride
        else:
            low += (extent - 1) * stride
    return low, high


def _nested(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    # How axes of one |stride| are ordered doesn't matter: the second of them never exceeds the reach of the first.
    reach = 0
    axes = [(abs(stride), extent) for extent, stride in zip(shape, strides, strict=True) if extent > 1]
    for stride, extent in sorted(axes):
        if stride <= reach:
            return False
        reach += (extent - 1) * stride
    return True


def _check_range(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
    """Raises `ValueError` unless the integers, and each ``(extent - 1) * abs(stride)``, lie in the 64-bit range."""
    if not INT_MIN <= offset <= INT_MAX:
        _refuse(shape, strides, offset, "the offset is outside the signed 64-bit range")
    for axis, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if not INT_MIN <= stride <= INT_MAX:
            _refuse(shape, strides, offset, f"the stride of axis {axis} is outside the signed 64-bit range")
        if (extent - 1) * abs(stride) > INT_MAX:
            _refuse(
                shape, strides, offset, f"(extent - 1) * abs(stride) of axis {axis} is above the signed 64-bit range"
            )


def _refuse(shape: tuple[int, ...], strides: tuple[int, ...], offset: int, why: str) -> NoReturn:
    raise ValueError(f"Layout of shape {show(shape)}, strides {show(strides)} and offset {show(offset)}: {why}")
