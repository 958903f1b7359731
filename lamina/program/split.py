"""A long reduction with few results becomes several: of parts, and of what the parts come to.

The parts are an axis that is kept, so threads can share them out, and they are the same for any number of threads: so
are the bits of the results.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from lamina.dtype import DType
from lamina.layout import Layout
from lamina.layout.move import Broadcast, Movement, Permute, Range, Reshape, Slice
from lamina.program.fuse import FEW, LONG, passes_of
from lamina.program.record import (
    REDUCTIONS,
    Instruction,
    Kernel,
    Program,
    Shape,
    Store,
    Term,
    with_kernels,
)

_PARTS = 64  # about how many
_EVEN = 128  # elements that parts of long axes are a multiple of, so that vectors fit


def split(program: Program) -> Program:
    """The program with long reductions in parts.

    >>> import lamina
    >>> from lamina.program import fuse, lower
    >>> graph = lamina.trace(lambda x: x.sum(), lamina.Spec(lamina.float64, (2**20,)))
    >>> print(split(fuse(lower(graph, lambda node: True))))
    <lambda>(%0: float64[1048576]):
      %2: float64[64] = kernel [64, 16384 reduced]:
        t0: float64 = %0
        t1: float64 = sum(t0)
        %2 = t1
      %1: float64[] = kernel [64 reduced]:
        t0: float64 = %2
        t1: float64 = sum(t0)
        %1 = t1
      return %1
    """

    def in_parts(kernel: Kernel) -> list[Instruction]:
        return _Parts(program, kernel).written() if _is_long(kernel) else [kernel]

    return replace(program, block=with_kernels(program.block, in_parts))


def _is_long(kernel: Kernel) -> bool:
    """Whether a kernel has much to reduce to little, in one pass."""
    if kernel.is_ordered or kernel.lengths or not kernel.reduced or any(store.shifts for store in kernel.stores):
        return False
    if math.prod(kernel.kept) > FEW or math.prod(kernel.space) < LONG:
        return False
    return any(term.op in REDUCTIONS for term in kernel.terms) and passes_of(kernel) == 1


class _Parts:
    """One kernel in parts."""

    def __init__(self, program: Program, kernel: Kernel) -> None:
        self.program, self.kernel, self.terms = program, kernel, program.terms
        # the axis that goes the farthest through memory, so each part is one stretch of it
        layouts = [each.static[1] for each in kernel.terms if each.op == "load"]
        reach = {axis: sum(abs(each.strides[axis]) for each in layouts) for axis in kernel.reduced}
        self.axis = max(kernel.reduced, key=lambda axis: (kernel.space[axis] >= _PARTS, reach[axis]))
        extent = kernel.space[self.axis]
        self.size = max(extent // _PARTS, 1)
        if self.size > 8 * _EVEN:
            self.size -= self.size % _EVEN
        self.count = extent // self.size
        self.rest = extent % self.size

    def written(self) -> list[Instruction]:
        """The kernels of the parts, and the one that makes results of theirs."""
        reductions = [term for term in self.kernel.terms if term.op in REDUCTIONS]
        # an extreme's place needs the extreme beside it
        partial = [
            [self.terms.make(term.op.removeprefix("arg"), term.args[:1], term.args[0].dtype), term]
            if len(term.args) == 2
            else [term]
            for term in reductions
        ]
        flat = [term for group in partial for term in group]
        buffers = [self._buffer(term) for term in flat]
        whole_rank = len(self.kernel.space)
        filled = [store for store in self.kernel.stores if store.layout.rank == whole_rank]
        bases: Sequence[int | None] = [None] * len(flat)
        done: list[Instruction] = []
        if self.rest:
            begun = [store._replace(buffer=self._like(store.buffer)) for store in filled]
            done.append(self._part(flat, buffers, bases, begun, self._whole_parts(), self.count, 0))
            bases, buffers = buffers, [self._buffer(term) for term in flat]
            filled = [store._replace(base=other.buffer) for store, other in zip(filled, begun, strict=True)]
            done.append(self._part(flat, buffers, bases, filled, self._last_part(), 1, self.count))
        else:
            done.append(self._part(flat, buffers, bases, filled, self._whole_parts(), self.count, 0))
        found = dict(zip(flat, buffers, strict=True))
        whole = self._over_results(self._parts_and_kept)
        replacements = {
            whole(term): self._noted(
                term,
                self.terms.make(term.op, tuple(self._results(each, found[each]) for each in group), term.dtype),
            )
            for term, group in zip(reductions, partial, strict=True)
        }
        stores = tuple(
            store._replace(term=self.terms.replaced(whole(store.term), replacements))
            for store in self.kernel.stores
            if store.layout.rank < whole_rank
        )
        done.append(Kernel(self._parts_and_kept, (0,), stores, self.kernel.source))
        return done

    @property
    def _parts_and_kept(self) -> Shape:
        return (self.count + bool(self.rest), *self.kernel.kept)

    def _buffer(self, term: Term) -> int:
        return self._new(term.dtype, self._parts_and_kept)

    def _like(self, buffer: int) -> int:
        return self._new(*self.program.buffers[buffer])

    def _new(self, dtype: DType, shape: Shape) -> int:
        return self.program.keep(dtype, shape, "a long reduction goes in parts", self.kernel.source)

    def _noted(self, old: Term, new: Term) -> Term:
        self.terms.became.setdefault(old, {})[new] = None
        return new

    def _results(self, term: Term, buffer: int) -> Term:
        return self.terms.load(buffer, term.dtype, Layout.contiguous(self._parts_and_kept))

    # Each of these gives the movements of a space that a part of the work goes over

    def _whole_parts(self) -> list[Movement]:
        """All parts of one size: the axis becomes two, of which the first one comes before all others."""
        space, axis = self.kernel.space, self.axis
        split = (*space[:axis], self.count, self.size, *space[axis + 1 :])
        others = [each for each in range(len(split)) if each != axis]
        return [_cut(space, axis, 0, self.count * self.size), Reshape(split), Permute((axis, *others))]

    def _last_part(self) -> list[Movement]:
        """What is left, as the one part there is."""
        space, axis = self.kernel.space, self.axis
        cut = _cut(space, axis, self.count * self.size, self.rest)
        return [cut, Reshape((1, *cut.result_shape(space)))]

    def _over_results(self, shape: Shape) -> Callable[[Term], Term]:
        """What is the same all along the reduced axes, over the results of the parts."""
        space, reduced = self.kernel.space, self.kernel.reduced
        first = Slice(tuple(Range(0, 1 if axis in reduced else extent, 1) for axis, extent in enumerate(space)))
        return lambda term: self._moved(term, [first, Reshape((1, *self.kernel.kept)), Broadcast(shape)])

    def _moved(self, term: Term, movements: list[Movement]) -> Term:
        moved = self.terms.moved(term, *movements)
        assert moved is not None  # an axis is cut, split and moved: strides say it
        return moved

    def _part(
        self,
        terms: list[Term],
        buffers: list[int],
        bases: Sequence[int | None],
        filled: Sequence[Store],
        movements: list[Movement],
        count: int,
        start: int,
    ) -> Kernel:
        """A kernel that leaves what terms come to in each of so many parts in buffers, from one part on.

        On its way it fills its parts of what is stored for each element.
        """
        space: Shape = self.kernel.space
        for movement in movements:
            space = movement.result_shape(space)
        kept = Layout.contiguous(self._parts_and_kept).move(_cut(self._parts_and_kept, 0, start, count))
        assert kept is not None
        stores = tuple(
            Store(self._moved(term, movements), buffer, kept, base)
            for term, buffer, base in zip(terms, buffers, bases, strict=True)
        )
        stores += tuple(
            store._replace(term=self._moved(store.term, movements), layout=_laid_out(store.layout, movements))
            for store in filled
        )
        return Kernel(space, tuple(axis + 1 for axis in self.kernel.reduced), stores, self.kernel.source)


def _laid_out(layout: Layout, movements: Iterable[Movement]) -> Layout:
    for movement in movements:
        moved = layout.move(movement)
        assert moved is not None  # an axis is cut, split and moved: strides say it
        layout = moved
    return layout


def _cut(space: Shape, axis: int, start: int, count: int) -> Slice:
    """From one index of an axis so many."""
    ranges = (Range(start, count, 1) if each == axis else Range(0, extent, 1) for each, extent in enumerate(space))
    return Slice(tuple(ranges))
