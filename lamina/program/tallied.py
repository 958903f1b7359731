"""Integers that are added up at places that a run tells, as a histogram's, are so in several tables at once.

Each addition waits for the one before where both are of one place. Elements that are far apart, each with a table of
its own, don't wait for each other, and what the tables come to is the same: sums of integers have no order.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.layout import Layout
from lamina.layout.move import Movement, Permute, Range, Reshape, Slice
from lamina.program.record import (
    Kernel,
    Program,
    Shape,
    Store,
    Term,
    with_kernels,
)

_TABLES = 4
_LONG = 1 << 14  # elements for which it is worth it
_FOR_A_PLACE = 32  # elements for each place of a table, at least
_A_LOAD = 4  # what a place weighs that is read, cast and held in a range


def tallied(program: Program) -> Program:
    """The program with tables for what adds up integers.

    >>> import numpy as np
    >>> import lamina
    >>> from lamina.program import fuse, lower
    >>> graph = lamina.trace(lambda x: np.bincount(x, minlength=256), lamina.Spec(lamina.uint8, (2**14 + 3,)))
    >>> [each.space for each in tallied(fuse(lower(graph, lambda node: True))).block.instructions]
    [(256,), (4, 256), (4096, 4), (3,), (4, 256)]
    """
    block = with_kernels(program.block, lambda kernel: _in_tables(kernel, program) or [kernel])
    return replace(program, block=block)


def _in_tables(kernel: Kernel, program: Program) -> list[Kernel]:
    """Kernels in the place of one that adds up integers; none where it doesn't, or where it had better not."""
    added = _added(kernel)
    if added is None:
        return []
    (store,), count = kernel.stores, math.prod(kernel.space)
    if count < max(_LONG, _FOR_A_PLACE * program.buffers[store.buffer].numel):
        return []
    tables, whole = _Tables(program, kernel, added), count - count % _TABLES
    cut, rest = (Slice((Range(start, n),)) for start, n in ((0, whole), (whole, count - whole)))
    kernels = [
        *tables.places(),
        tables.empty(),
        tables.of([cut, Reshape((_TABLES, whole // _TABLES)), Permute((1, 0))], along=1),
    ]
    if whole < count:
        kernels.append(tables.of([rest], along=None))
    found = [each for each in kernels if each is not None]
    return [*found, tables.total()] if len(found) == len(kernels) else []


def _added(kernel: Kernel) -> Term | None:
    """What a kernel adds to the integers at its places, if that is all that it does."""
    if not kernel.is_ordered or kernel.lengths or len(kernel.stores) > 1:
        return None
    (store,) = kernel.stores
    term, by = store.term, tuple(stride for _, stride in store.shifts)
    if term.op != "add" or term.dtype.kind not in ("signed", "unsigned") or None in by or any(store.layout.strides):
        return None
    held = [
        arg
        for arg in term.args
        if arg.op == "load"
        and arg.static == (store.buffer, store.layout, by)
        and arg.args == tuple(place for place, _ in store.shifts)
    ]
    if len(held) != 1:
        return None
    (added,) = (arg for arg in term.args if arg is not held[0])
    reads = added.reads.union(*(place.reads for place, _ in store.shifts))
    return None if reads & {store.buffer, store.base} else added


class _Tables:
    """The tables of one kernel, and the buffer that holds them after each step."""

    def __init__(self, program: Program, kernel: Kernel, added: Term) -> None:
        self.program, self.kernel, self.terms, self.added = program, kernel, program.terms, added
        (self.store,) = kernel.stores
        self.shape = (_TABLES, program.buffers[self.store.buffer].numel)
        self.shifts, self.offset = self.store.shifts, self.store.layout.offset
        self.buffer = -1

    def _new(self, dtype: DType, shape: Shape) -> int:
        return self.program.keep(dtype, shape, "integers are added up in several tables at once", self.kernel.source)

    def places(self) -> list[Kernel]:
        """Where it takes more than a load to know the places, these come first, in vectors and in few bits."""
        if max(by.weight for by, _ in self.shifts) <= _A_LOAD:
            return []
        make, space = self.terms.make, self.kernel.space
        place = self.terms.constant(self.offset, dt.int64)
        for by, stride in self.shifts:
            step = self.terms.constant(stride, dt.int64)
            place = make("add", (place, make("multiply", (by, step), dt.int64)), dt.int64)
        dtype = dt.uint16 if self.shape[1] <= 1 << 16 else dt.uint32
        buffer = self._new(dtype, space)
        self.offset, load = 0, self.terms.load(buffer, dtype, Layout.contiguous(space))
        self.shifts = ((make("cast", (load,), dt.int64), 1),)
        store = Store(make("cast", (place,), dtype), buffer, Layout.contiguous(space))
        return [Kernel(space, (), (store,), self.kernel.source)]

    def empty(self) -> Kernel:
        """Nothing is in the tables yet."""
        dtype = self.store.term.dtype
        self.buffer = self._new(dtype, self.shape)
        zeros = Store(self.terms.constant(0, dtype), self.buffer, Layout.contiguous(self.shape))
        return Kernel(self.shape, (), (zeros,), self.kernel.source)

    def of(self, movements: Sequence[Movement], along: int | None) -> Kernel | None:
        """A stretch of the elements is added, to the tables along an axis or all to the first."""
        dtype, space = self.store.term.dtype, self.kernel.space
        movements = [Reshape((math.prod(space),)), *movements]
        for movement in movements:
            space = movement.result_shape(space)
        moved = [self.terms.moved(each, *movements) for each in (self.added, *(by for by, _ in self.shifts))]
        added, *places = (each for each in moved if each is not None)
        if len(places) < len(self.shifts):
            return None
        base, self.buffer = self.buffer, self._new(dtype, self.shape)
        layout = Layout(space, [self.shape[1] * (axis == along) for axis in range(len(space))], self.offset)
        strides = tuple(stride for _, stride in self.shifts)
        held = self.terms.make("load", tuple(places), dtype, (self.buffer, layout, strides))
        term = self.terms.make("add", (held, added), dtype)
        self.terms.note(self.store.term, term)
        store = Store(term, self.buffer, layout, base, tuple(zip(places, strides, strict=True)))
        return Kernel(space, (), (store,), self.kernel.source, is_ordered=True)

    def total(self) -> Kernel:
        """What all tables come to, beside what was there."""
        dtype, whole = self.store.term.dtype, Layout.contiguous(self.shape)
        counted = self.terms.make("sum", (self.terms.load(self.buffer, dtype, whole),), dtype)
        if self.store.base is not None:
            before = self.terms.load(self.store.base, dtype, Layout(self.shape, (0, 1)))
            counted = self.terms.make("add", (before, counted), dtype)
        store = Store(counted, self.store.buffer, Layout.contiguous(self.shape[1:]), self.store.base)
        return Kernel(self.shape, (0,), (store,), self.kernel.source)
