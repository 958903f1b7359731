"""Movements: results whose every element is an element of the argument.

A movement names, for each index of its result, the index of the argument that it reads: `Movement.source` is that map,
and the definition of each movement. `lamina.layout.layout` folds a movement into a layout (``layout.move(movement)``),
so that no element is touched; an expression graph holds movements as they are.

Movements are frozen values. What concerns a movement's own integers is checked as it is made, what concerns a shape by
`Movement.result_shape`. Movements that are equal, also when made from lists, hash alike:

>>> Reshape([2, 3]) == Reshape((2, 3)), Reshape((2, 3)) == Broadcast((2, 3))
(True, False)
>>> Slice([Range(5, 3, -2)])
lamina.layout.move.Slice((lamina.layout.move.Range(5, 3, -2),))
>>> print(_)
Slice((Range(5, 3, -2),))

None of them enumerates elements: each takes a time that depends on the ranks alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, SupportsIndex, TypeVar, final

from lamina.errors import AxisError
from lamina.layout.limits import any_integers, checked_index, integer, integers, misfit, numel_of, show

__all__ = ["Broadcast", "Movement", "Permute", "Range", "Reshape", "Slice", "Window", "WindowSpec"]

_Shape = tuple[int, ...]
_Item = TypeVar("_Item")

_set = object.__setattr__
_value = dataclass(frozen=True, slots=True, init=False, repr=False)


class _Record:
    """What movements and their parts share: an evaluable `repr`, a short `str`, pickling through the constructor."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()

    def _fields(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__match_args__])

    def __repr__(self) -> str:
        return f"{__name__}.{type(self).__name__}({', '.join(map(repr, self._fields()))})"

    def __str__(self) -> str:
        return repr(self).replace(f"{__name__}.", "")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._fields()


class Movement(_Record, ABC):
    """The parent of the five movements; not made itself."""

    __slots__ = ()

    @final
    def result_shape(self, shape: Sequence[SupportsIndex]) -> _Shape:
        """The shape of the movement's result on an argument of ``shape``.

        Raises `ValueError`, which names the movement, the shape and the axis, if the movement doesn't apply to
        ``shape`` or if the result doesn't fit the limits (`Layout.fits`), and `TypeError` unless ``shape`` is a
        sequence of integers.

        >>> Window((WindowSpec(axis=1, size=2),)).result_shape((3, 4))
        (3, 3, 2)
        >>> Broadcast((2, 3)).result_shape((3, 1))
        Traceback (most recent call last):
        ValueError: Broadcast((2, 3)) of shape (3, 1): axis 0 has extent 3; it must be 1 or the result's 2
        """
        return self.fit(self._argument(shape))[0]

    @final
    def source(self, shape: Sequence[SupportsIndex], index: Sequence[SupportsIndex]) -> tuple[int, ...]:
        """The index of an argument of ``shape`` that the result's ``index`` reads: what the movement means.

        Raises as `result_shape` does, and `IndexRangeError`, which is both a `ValueError` and an `IndexError`, unless
        ``index`` lies in the result's shape.

        >>> Slice((Range(5, 3, -2),)).source((6,), (2,))
        (1,)
        """
        argument = self._argument(shape)
        result, _ = self.fit(argument)
        return self._source(argument, result, checked_index(index, result, f"the result of {self}"))

    @final
    def fit(self, shape: _Shape) -> tuple[_Shape, int]:
        """The result's shape and its number of elements, as `result_shape`, for a ``shape`` known to be a layout's."""
        result = self._result(shape)
        numel = numel_of(result)
        if numel is None:
            raise self._error(shape, f"the result's shape {show(result)} doesn't fit: {misfit(result)}")
        return result, numel

    @abstractmethod
    def strides(
        self, shape: _Shape, strides: tuple[int, ...], offset: int, result: _Shape
    ) -> tuple[tuple[int, ...], int] | None:
        """The strides and the offset of the result, for an argument laid out by ``shape``, ``strides`` and ``offset``.

        ``result`` is the result's shape and has an element; the strides of its axes of extent 1 may be any. None if no
        strides express the result, which happens to `Reshape` alone.
        """

    @abstractmethod
    def _result(self, shape: _Shape) -> _Shape:
        """The result's shape, its limits unchecked."""

    @abstractmethod
    def _source(self, shape: _Shape, result: _Shape, index: tuple[int, ...]) -> tuple[int, ...]:
        """`source` of an ``index`` known to lie in ``result``."""

    def _argument(self, shape: Sequence[SupportsIndex]) -> _Shape:
        argument = any_integers(shape, f"{self}: shape")
        if numel_of(argument) is None:
            raise self._error(argument, misfit(argument))
        return argument

    def _error(self, shape: _Shape, why: str, kind: type[ValueError] = ValueError) -> ValueError:
        return kind(f"{self} of shape {show(shape)}: {why}")


def _extents(shape: Sequence[SupportsIndex], of: str) -> _Shape:
    extents = integers(shape, f"{of}: shape")
    for axis, extent in enumerate(extents):
        if extent < 0:
            raise ValueError(f"{of}: shape[{axis}] is {extent}; an extent is never negative")
    return extents


def _items(items: Sequence[_Item], kind: type[_Item], what: str) -> tuple[_Item, ...]:
    if not isinstance(items, Sequence) or not all(isinstance(item, kind) for item in items):
        raise TypeError(f"{what} is {items!r}; expected a sequence of {kind.__name__}")
    return tuple(items)


@final
@_value
class Reshape(Movement):
    """The same elements in the same C order, in another shape.

    >>> Reshape((3, 2)).source((2, 3), (1, 1))    # element 3 in C order
    (1, 0)
    >>> Reshape((4, 2)).result_shape((2, 3))
    Traceback (most recent call last):
    ValueError: Reshape((4, 2)) of shape (2, 3): the result would have 8 elements, the argument has 6
    """

    shape: tuple[int, ...]

    def __init__(self, shape: Sequence[SupportsIndex]) -> None:
        _set(self, "shape", _extents(shape, "Reshape"))

    def _result(self, shape: _Shape) -> _Shape:
        wanted, numel = numel_of(self.shape), prod(shape)
        if wanted is not None and wanted != numel:
            raise self._error(shape, f"the result would have {wanted} elements, the argument has {numel}")
        return self.shape

    def _source(self, shape: _Shape, result: _Shape, index: tuple[int, ...]) -> tuple[int, ...]:
        number = 0
        for i, extent in zip(index, result, strict=True):
            number = number * extent + i
        source = []
        for extent in reversed(shape):
            number, i = divmod(number, extent)
            source.append(i)
        return tuple(reversed(source))

    def strides(
        self, shape: _Shape, strides: tuple[int, ...], offset: int, result: _Shape
    ) -> tuple[tuple[int, ...], int] | None:
        """The strides of ``result``, or None iff there are none: each run is to be a product of consecutive extents.

        Why this is complete. Let ``f(k)`` be the position of element ``k`` in C order, 0 <= k < n, less the offset. The
        argument's shape and strides *express* ``f``, and the question is whether the result's shape has strides, any
        integers, that express it too. Call a shape and its strides *merged* if every extent is above 1 and no adjacent
        axes merge, that is, an axis of stride ``t`` beside an inner one of extent ``d`` and stride ``s`` has ``t !=
        d*s``. `runs` merges, which leaves ``f`` as it is.

        *One merged form expresses f.* Its innermost axis, of extent ``d`` and stride ``s``, gives ``f(k) = k*s`` for
        ``k < d``, and, unless it is the only axis, ``f(d) = t != d*s``. So ``s = f(1)``, and ``d`` is the least ``k``
        with ``f(k) != k*f(1)``, or ``n`` if there is none: ``f`` alone determines both. The axes outside it are a
        merged form of ``k -> f(k*d)``, and the claim follows by induction. Nothing here asks for the positions to be
        distinct, or for the strides to be positive or other than 0.

        *So* strides of the result that express ``f`` merge to the very runs of the argument. Merging joins adjacent
        axes and drops those of extent 1, hence each run is a product of consecutive extents of the result, as this
        function asks of them; where they are, it splits the run into them, each with the stride that merges again.

        NumPy's ``_attempt_nocopy_reshape`` (``shape.c``) splits in the same way; merging first is what CuTe calls
        ``coalesce``.
        """
        remaining = runs(shape, (strides,))
        extent, stride = 1, 0
        split = []
        for wanted in reversed(result):
            if wanted == 1:
                split.append(0)
                continue
            if extent == 1:
                extent, (stride,) = remaining.pop()
            if extent % wanted:
                return None
            split.append(stride)
            extent //= wanted
            stride *= wanted
        return tuple(reversed(split)), offset


@final
@_value
class Broadcast(Movement):
    """Repetition along new axes on the left and along axes of extent 1.

    The argument's axes are aligned with the result's from the right; each has extent 1 or the result's.

    >>> Broadcast((2, 3, 4)).source((3, 1), (1, 2, 3))
    (2, 0)
    """

    shape: tuple[int, ...]

    def __init__(self, shape: Sequence[SupportsIndex]) -> None:
        _set(self, "shape", _extents(shape, "Broadcast"))

    def _result(self, shape: _Shape) -> _Shape:
        added = len(self.shape) - len(shape)
        if added < 0:
            raise self._error(
                shape, f"the result has {len(self.shape)} axes; it must have at least the argument's {len(shape)}"
            )
        for axis, extent in enumerate(shape):
            if extent not in (1, self.shape[added + axis]):
                wanted = self.shape[added + axis]
                raise self._error(shape, f"axis {axis} has extent {extent}; it must be 1 or the result's {wanted}")
        return self.shape

    def _source(self, shape: _Shape, result: _Shape, index: tuple[int, ...]) -> tuple[int, ...]:
        aligned = index[len(result) - len(shape) :]
        return tuple([0 if extent == 1 else i for extent, i in zip(shape, aligned, strict=True)])

    def strides(
        self, shape: _Shape, strides: tuple[int, ...], offset: int, result: _Shape
    ) -> tuple[tuple[int, ...], int]:
        """0 for every new axis; an argument's axes of extent 1 have stride 0 already."""
        return (0,) * (len(result) - len(shape)) + strides, offset


@final
@_value
class Permute(Movement):
    """The axes in another order: axis ``i`` of the result is the argument's axis ``axes[i]``.

    >>> Permute((2, 0, 1)).result_shape((3, 4, 5))
    (5, 3, 4)
    """

    axes: tuple[int, ...]

    def __init__(self, axes: Sequence[SupportsIndex]) -> None:
        numbers = integers(axes, "Permute: axes")
        if sorted(numbers) != list(range(len(numbers))):
            raise ValueError(f"Permute({show(numbers)}): expected each of the axes 0 to {len(numbers) - 1} once")
        _set(self, "axes", numbers)

    def _result(self, shape: _Shape) -> _Shape:
        if len(self.axes) != len(shape):
            raise self._error(
                shape, f"{len(self.axes)} axes are given, and the argument has {len(shape)}; each must be named once"
            )
        return tuple([shape[axis] for axis in self.axes])

    def _source(self, shape: _Shape, result: _Shape, index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([index[self.axes.index(axis)] for axis in range(len(shape))])

    def strides(
        self, shape: _Shape, strides: tuple[int, ...], offset: int, result: _Shape
    ) -> tuple[tuple[int, ...], int]:
        """The argument's strides in the order of ``axes``."""
        return tuple([strides[axis] for axis in self.axes]), offset


@final
@_value
class Range(_Record):
    """The elements ``start + j*step``, ``0 <= j < count``, of one axis, for `Slice`.

    ``count`` is at least 0, ``step`` is never 0 and may be negative.

    >>> Range(4, 2, -3)
    lamina.layout.move.Range(4, 2, -3)
    """

    start: int
    count: int
    step: int

    def __init__(self, start: SupportsIndex, count: SupportsIndex, step: SupportsIndex = 1) -> None:
        _set(self, "start", integer(start, "Range: start"))
        _set(self, "count", integer(count, "Range: count"))
        _set(self, "step", integer(step, "Range: step"))
        if self.count < 0:
            raise ValueError(f"{self}: count is {self.count}; it is at least 0")
        if self.step == 0:
            raise ValueError(f"{self}: step is 0; to repeat an element, slice it out and use Broadcast")


@final
@_value
class Slice(Movement):
    """Some elements of each axis: one `Range` per axis, whose every element lies inside the axis.

    A range that names no element may start anywhere. ``Slice(())`` is rank 0's.

    >>> Slice((Range(0, 2), Range(3, 2, -3))).result_shape((3, 4))
    (2, 2)
    >>> Slice((Range(1, 3),)).result_shape((3,))
    Traceback (most recent call last):
    ValueError: Slice((Range(1, 3, 1),)) of shape (3,): axis 0 has extent 3, and its range names element 3
    """

    ranges: tuple[Range, ...]

    def __init__(self, ranges: Sequence[Range]) -> None:
        _set(self, "ranges", _items(ranges, Range, "Slice: ranges"))

    def _result(self, shape: _Shape) -> _Shape:
        if len(self.ranges) != len(shape):
            raise self._error(
                shape, f"{len(self.ranges)} ranges are given for {len(shape)} axes; expected one for each"
            )
        for axis, (extent, part) in enumerate(zip(shape, self.ranges, strict=True)):
            if part.count:
                for element in (part.start, part.start + (part.count - 1) * part.step):
                    if not 0 <= element < extent:
                        raise self._error(
                            shape, f"axis {axis} has extent {extent}, and its range names element {element}"
                        )
        return tuple([part.count for part in self.ranges])

    def _source(self, shape: _Shape, result: _Shape, index: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([part.start + i * part.step for part, i in zip(self.ranges, index, strict=True)])

    def strides(
        self, shape: _Shape, strides: tuple[int, ...], offset: int, result: _Shape
    ) -> tuple[tuple[int, ...], int]:
        """Each stride times its range's step, from the position of the first elements."""
        for part, stride in zip(self.ranges, strides, strict=True):
            offset += part.start * stride
        return tuple([part.step * stride for part, stride in zip(self.ranges, strides, strict=True)]), offset


@final
@_value
class WindowSpec(_Record):
    """Windows of ``size`` elements along ``axis``, for `Window`; ``size``, ``step`` and ``dilation`` are at least 1.

    Element ``j`` of window ``w`` is the axis's element ``w*step + j*dilation``.

    >>> WindowSpec(0, 3)
    lamina.layout.move.WindowSpec(0, 3, 1, 1)
    """

    axis: int
    size: int
    step: int
    dilation: int

    def __init__(
        self, axis: SupportsIndex, size: SupportsIndex, step: SupportsIndex = 1, dilation: SupportsIndex = 1
    ) -> None:
        _set(self, "axis", integer(axis, "WindowSpec: axis"))
        _set(self, "size", integer(size, "WindowSpec: size"))
        _set(self, "step", integer(step, "WindowSpec: step"))
        _set(self, "dilation", integer(dilation, "WindowSpec: dilation"))
        if self.axis < 0:
            raise AxisError(f"{self}: axis is {self.axis}; axes are counted from 0")
        for name in ("size", "step", "dilation"):
            if getattr(self, name) < 1:
                raise ValueError(f"{self}: {name} is {getattr(self, name)}; it is at least 1")

    def windows(self, extent: int) -> int:
        """How many windows an axis of ``extent`` has: 0 if one window is longer than the axis.

        >>> WindowSpec(0, size=3, step=2).windows(10), WindowSpec(0, size=2, dilation=4).windows(4)
        (4, 0)
        """
        length = (self.size - 1) * self.dilation + 1
        return (extent - length) // self.step + 1 if length <= extent else 0


@final
@_value
class Window(Movement):
    """Windows that slide along some axes.

    Each `WindowSpec`, their axes strictly increasing, replaces its axis by the window's number and appends an axis of
    extent ``size`` at the end. A window longer than its axis gives extent 0. ``Window(())`` changes nothing.

    >>> Window((WindowSpec(0, size=3, step=2),)).result_shape((10, 5))
    (4, 5, 3)
    >>> Window((WindowSpec(0, size=3, step=2),)).source((10, 5), (3, 4, 1))
    (7, 4)
    """

    windows: tuple[WindowSpec, ...]

    def __init__(self, windows: Sequence[WindowSpec]) -> None:
        specs = _items(windows, WindowSpec, "Window: windows")
        _set(self, "windows", specs)
        for before, after in pairwise(specs):
            if before.axis >= after.axis:
                raise ValueError(
                    f"{self}: axis {after.axis} follows axis {before.axis}; the axes are strictly increasing"
                )

    def _result(self, shape: _Shape) -> _Shape:
        extents = list(shape)
        for spec in self.windows:
            if spec.axis >= len(shape):
                raise self._error(shape, f"axis {spec.axis} is outside 0 <= axis < {len(shape)}", AxisError)
            extents[spec.axis] = spec.windows(shape[spec.axis])
            extents.append(spec.size)
        return tuple(extents)

    def _source(self, shape: _Shape, result: _Shape, index: tuple[int, ...]) -> tuple[int, ...]:
        source = list(index[: len(shape)])
        for spec, element in zip(self.windows, index[len(shape) :], strict=True):
            source[spec.axis] = source[spec.axis] * spec.step + element * spec.dilation
        return tuple(source)

    def strides(
        self, shape: _Shape, strides: tuple[int, ...], offset: int, result: _Shape
    ) -> tuple[tuple[int, ...], int]:
        """For each windowed axis its stride times the step, and, appended, its stride times the dilation."""
        moved = list(strides)
        for spec in self.windows:
            moved[spec.axis] = strides[spec.axis] * spec.step
            moved.append(strides[spec.axis] * spec.dilation)
        return tuple(moved), offset


def runs(shape: _Shape, strides: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
    """The runs, outermost first, of layouts of one ``shape``, which has an element; ``strides`` has a row for each.

    A run is an extent and the stride that each of the layouts has along it. Axes of extent 1 are dropped and adjacent
    ones merged where every layout goes through them in one stride, so that no two adjacent runs merge. The list is the
    shortest that keeps the C order of indices, and the only one without a pair that merges; `Reshape.strides` has the
    proof (read its positions as vectors, one component for each layout).

    >>> runs((2, 3, 4), [(12, 4, 1)])
    [(24, (1,))]
    >>> runs((2, 3, 4), [(12, 4, 1), (0, 4, 1)])
    [(2, (12, 0)), (12, (1, 1))]
    """
    merged: list[tuple[int, tuple[int, ...]]] = []
    for extent, row in zip(shape, zip(*strides, strict=True), strict=True):
        if extent != 1:
            if merged and merged[-1][1] == tuple([extent * stride for stride in row]):
                extent *= merged.pop()[0]
            merged.append((extent, row))
    return merged
