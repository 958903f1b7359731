"""Sequences that are gone through by place: ``range`` with traced bounds, ``zip`` and ``enumerate``, arrays."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.array import Array
from lamina.operators import FUNCTIONS
from lamina.trace.affine import integer, lesser
from lamina.trace.bounded import Bounded
from lamina.trace.build import as_value, constant, emit, node_of, scope_now, to_dtype
from lamina.trace.loop import Items
from lamina.trace.value import Kind, Value


class Range:
    """``range`` with a traced bound."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.stop = start, stop
        self.step = step if type(step) is int else int(step)  # its sign decides what the range is
        if self.step == 0:
            raise ValueError("range() arg 3 must not be zero")

    def __len__(self) -> int:
        return len(self._known())

    def __iter__(self) -> Iterator[int]:
        return iter(self._known())

    def __getitem__(self, i: Any) -> Any:
        return self._known()[i]

    def _known(self) -> range:
        return range(int(self.start), int(self.stop), self.step)

    @property
    def count(self) -> Value:
        """How many numbers it has; none where this is negative."""
        start, stop = (to_dtype(as_value(each), dt.int64) for each in (self.start, self.stop))
        reach = stop if type(self.start) is int and self.start == 0 else emit("subtract", stop, start)
        if self.step != 1:  # rounded up
            steps = emit("floor_divide", emit("negative", reach), constant(self.step, dt.int64))
            reach = emit("negative", steps)
        return Value(node_of(reach), scope_now(), Kind.NUMBER)  # below 0 it counts as none


class Zipped:
    """``zip`` and ``enumerate`` of sequences that have places."""

    def __init__(self, parts: list[Items], sources: tuple[Any, ...]) -> None:
        self.parts = parts
        self.sources = sources

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.sources, strict=False)


def items_of(iterable: Any) -> Items | None:
    """The items of what is gone through by place; `None` for any other iterable."""
    if isinstance(iterable, range):
        start, step = iterable.start, iterable.step
        return Items(len(iterable), lambda i: _progress(start, step, i))
    if isinstance(iterable, Range):
        return Items(iterable.count, lambda i: _progress(iterable.start, iterable.step, i))
    if type(iterable) is Value or isinstance(iterable, (np.ndarray, Array)):
        value = as_value(iterable)
        if not value.shape:
            raise TypeError("iteration over a 0-d array")
        return Items(value.shape[0], lambda i: FUNCTIONS["getitem"](value, i))
    if type(iterable) is Bounded:
        return Items(iterable.shape[0], lambda i: FUNCTIONS["getitem"](iterable, i))
    if isinstance(iterable, Zipped):
        count = reduce(lesser, [integer(part.count) for part in iterable.parts])
        return Items(count, lambda i: tuple(part.item(i) for part in iterable.parts))
    return None


def _progress(start: Any, step: int, i: Any) -> Any:
    if type(i) is int and type(start) is int:
        return start + i * step
    # below the bound of the range, so none of this overflows
    moved = as_value(i) if step == 1 else emit("multiply", as_value(i), constant(step, dt.int64), kind=Kind.NUMBER)
    if type(start) is int and start == 0:
        return moved
    return emit("add", moved, to_dtype(as_value(start), dt.int64), kind=Kind.NUMBER)


def range_(*bounds: Any) -> Any:
    """``range``."""
    if not any(type(each) is Value for each in bounds):
        return range(*bounds)
    for each in bounds:
        if type(each) is Value and (each.shape or each.dtype.kind not in ("signed", "unsigned")):
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(start, stop, step)


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    items = items_of(iterable)
    if items is None:
        return enumerate(iterable, start)
    numbers = Items(items.count, lambda i: _progress(start, 1, i))
    count = items.count if type(items.count) is int else None
    return Zipped([numbers, items], (range(start, start + count) if count is not None else iterable, iterable))


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip``."""
    parts = [items_of(iterable) for iterable in iterables]
    if strict or not parts or any(part is None for part in parts):
        return zip(*iterables, strict=strict)
    return Zipped([part for part in parts if part is not None], iterables)


SEQUENCES: dict[Any, Callable[..., Any]] = {range: range_, enumerate: enumerate_, zip: zip_}
