"""What a reduction reads again and again across its memory, it reads from a copy in the order of its loops.

The distances of all points to all others, say, go along the points of one array for each point of the other. Points in
neighbouring lanes are a row apart, so each vector would be put together of elements; with one copy, of which every
element is read many times, it is a piece of memory.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from lamina.layout import Layout
from lamina.program.record import (
    Kernel,
    Program,
    Store,
    Term,
    with_kernels,
)

_MUCH = 1 << 14  # elements of a space for which a kernel more is worth it
_OFTEN = 8  # times that an element is read
_WIDE = 64  # results along the axis that goes in vectors


def packed(program: Program) -> Program:
    """The program with copies of what reductions read across memory.

    >>> import lamina
    >>> from lamina.program import fuse, lower
    >>> a, b = (lamina.Spec(lamina.float64, (count, 16)) for count in (100, 200))
    >>> graph = lamina.trace(lambda a, b: abs(a[:, None] - b).max(axis=2), a, b)
    >>> print(packed(fuse(lower(graph, lambda node: True))))
    <lambda>(%0: float64[100, 16], %1: float64[200, 16]):
      %3: float64[16, 200] = kernel [16, 200]:
        t0: float64 = %1[1, 16]
        %3 = t0
      %2: float64[100, 200] = kernel [100, 200, 16 reduced]:
        t0: float64 = %0[16, 0, 1]
        t1: float64 = %3[0, 1, 200]
        t2: float64 = subtract(t0, t1)
        t3: float64 = abs(t2)
        t4: float64 = max(t3)
        %2 = t4
      return %2
    """
    return replace(program, block=with_kernels(program.block, lambda kernel: _with_copies(kernel, program)))


def _with_copies(kernel: Kernel, program: Program) -> Iterator[Kernel]:
    """A kernel that reads everything in the order of its results, and before it the copies that are needed for that."""
    terms, copies = program.terms, {}
    for load in _across(kernel):
        buffer, layout, _ = load.static
        axes = [axis for axis, stride in enumerate(layout.strides) if stride]
        # the axis of the vectors last
        axes.sort(key=lambda axis: (axis == _lane_axis(kernel), axis in kernel.reduced))
        shape = tuple(layout.shape[axis] for axis in axes)
        whole = Layout.contiguous(shape)
        strides = dict(zip(axes, whole.strides, strict=True))
        seen = Layout(layout.shape, tuple(strides.get(axis, 0) for axis in range(len(layout.shape))))
        copy = program.keep(load.dtype, shape, "it is read often, and in vectors across its memory", kernel.source)
        origin = terms.load(buffer, load.dtype, Layout(shape, [layout.strides[axis] for axis in axes], layout.offset))
        yield Kernel(shape, (), (Store(origin, copy, whole),), kernel.source)
        copies[load] = terms.load(copy, load.dtype, seen)
        terms.note(load, copies[load])
    stores = (store._replace(term=terms.replaced(store.term, copies)) for store in kernel.stores)
    yield replace(kernel, stores=tuple(stores)) if copies else kernel


def _lane_axis(kernel: Kernel) -> int:
    """The axis along which the results are in order; -1 if there is none."""
    kept = [axis for axis in range(len(kernel.space)) if axis not in kernel.reduced]
    strides = {store.layout.strides for store in kernel.stores}
    found = [axis for place, axis in enumerate(kept) if all(each[place] == 1 for each in strides)]
    return found[0] if len(found) == 1 else -1


def _across(kernel: Kernel) -> list[Term]:
    """What a kernel reads across memory, if it is worth it to copy all of that."""
    if kernel.is_ordered or not kernel.reduced or kernel.lengths or math.prod(kernel.space) < _MUCH:
        return []
    if any(store.layout.rank == len(kernel.space) or store.shifts for store in kernel.stores):
        return []
    axis = _lane_axis(kernel)
    if axis < 0 or kernel.space[axis] < _WIDE:
        return []
    loads = [term for term in kernel.terms if term.op == "load"]
    found = [load for load in loads if abs(load.static[1].strides[axis]) > 1]
    for load in found:
        # along what is reduced, the loops inside all others, what is the same is read once
        again = [n for k, n in enumerate(kernel.space) if k not in kernel.reduced and not load.static[1].strides[k]]
        if load.args or load.static[0] in kernel.writes or math.prod(again) < _OFTEN:
            return []
    return found
