"""Kernels that go over one space become one, and what nothing reads any more is left out.

A kernel joins an earlier one if both go over the same space, or one over what the other keeps or reduces; if they share
what they read, or one reads what the other fills; and if it reads that in place, index by index. So a value passes from
a producer to its consumer in a register, reductions of one row run while the row is in cache, and what follows a
reduction runs in the same loop. A cheap value is computed again where a later pass over a row needs it; any other stays
in its buffer, which the pass before has just filled.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from lamina.layout import Layout
from lamina.layout.move import Broadcast, Reshape
from lamina.program.nodes import reads_in_place
from lamina.program.record import (
    REDUCTIONS,
    Block,
    Cond,
    Copy,
    Instruction,
    Kernel,
    Program,
    Shape,
    Store,
    Term,
    Terms,
    While,
    in_order,
    with_blocks,
)

_WINDOW = 12  # how many instructions back a kernel looks for another
_MOST_TERMS = 80
_MOST_STORES = 8
LONG = 1 << 17  # elements of a reduction that threads share out, and of a row that leaves the cache before it is done
FEW = 256  # results; a kernel of more has enough to share out


def fuse(program: Program) -> Program:
    """The program with kernels merged, and without what nothing reads.

    >>> import lamina
    >>> from lamina.program import lower
    >>> graph = lamina.trace(lambda x: x / x.sum(axis=1, keepdims=True), lamina.Spec(lamina.float64, (3, 8)))
    >>> print(fuse(lower(graph, lambda node: True)))
    <lambda>(%0: float64[3, 8]):
      %2: float64[3, 8] = kernel [3, 8 reduced]:
        t0: float64 = %0
        t1: float64 = sum(t0)
        t2: float64 = divide(t0, t1)
        %2 = t2
      return %2
    """
    return without_unread(replace(program, block=_fused(program.block, program.terms)))


def _fused(block: Block, terms: Terms) -> Block:
    done: list[Instruction] = []
    for each in block.instructions:
        match each:
            case Kernel():
                _join(done, each, terms)
            case _:
                done.append(with_blocks(each, lambda inner: _fused(inner, terms)))
    return Block(tuple(done), block.outputs)


def _join(done: list[Instruction], kernel: Kernel, terms: Terms) -> None:
    """Put a kernel into an earlier one, or at the end."""
    bases = frozenset(store.base for store in kernel.stores if store.base is not None)
    for place in range(len(done) - 1, max(-1, len(done) - 1 - _WINDOW), -1):
        earlier = done[place]
        if isinstance(earlier, Kernel) and not bases & set(earlier.writes):
            merged = merge(earlier, kernel, terms)
            if merged is not None:
                done[place] = merged
                return
        if kernel.reads & set(earlier.writes) or bases & earlier.reads:
            break
        if kernel.may_fail and not isinstance(earlier, (Kernel, Copy)):
            break  # what is wrong there is said first
    done.append(kernel)


def merge(first: Kernel, second: Kernel, terms: Terms) -> Kernel | None:
    """One kernel that does what two do, one after the other; `None` where there is none, or it would be of no use."""
    if first.is_ordered or second.is_ordered or not second.reads & (first.reads | set(first.writes)):
        return None
    if len(first.stores) + len(second.stores) > _MOST_STORES:
        return None
    if second.reads & set(first.writes):
        first, second = _alike(first, second, terms)
    space, reduced = (first.space, first.reduced) if first.reduced else (second.space, second.reduced)
    a, b = _over(first, space, reduced, terms), _over(second, space, reduced, terms)
    if a is None or b is None or not _end_together(a, b):
        return None
    known: dict[tuple[int, Layout], Term] = {}
    for store in a.stores:
        if not store.shifts:
            known[store.buffer, spread(store.layout, space, reduced)] = store.term
    replacements: dict[Term, Term] = {}
    for term in b.terms:
        if term.op == "load" and term.static[0] in a.writes:
            found = known.get(term.static[:2])
            if found is None or term.args or found.dtype is not term.dtype:
                return None
            replacements[term] = found
    joined = tuple(_substituted(store, replacements, a.stores, reduced, terms) for store in b.stores)
    lengths = {axis: terms.replaced(end, replacements) for axis, end in (*a.lengths, *b.lengths)}
    kernel = Kernel(space, reduced, (*a.stores, *joined), first.source, lengths=tuple(sorted(lengths.items())))
    if len(kernel.terms) > _MOST_TERMS or not _is_in_place(kernel):
        return None
    is_long = math.prod(space[axis] for axis in reduced) >= LONG and math.prod(kernel.kept) <= FEW
    return None if is_long and passes_of(kernel) > 1 else kernel


def passes_of(kernel: Kernel) -> int:
    """How often a kernel goes over its reduced axes."""
    stage = stages(kernel.stores, kernel.reduced)
    of_reductions = [stage[term] for term in kernel.terms if term.op in REDUCTIONS and term in stage]
    of_stores = [1 + stage[store.term] for store in kernel.stores if store.layout.rank == len(kernel.space)]
    return max((*of_reductions, *of_stores), default=0)


def _substituted(
    store: Store, replacements: dict[Term, Term], before: tuple[Store, ...], reduced: tuple[int, ...], terms: Terms
) -> Store:
    """A store with the terms of an earlier kernel in place of loads; what costs something isn't computed twice."""
    new = terms.replaced(store.term, replacements)
    stage = stages((*before, store._replace(term=new)), reduced)
    last = _last_passes(new, stage)
    late = {
        load: load if not term.is_cheap and stage[term] < last.get(term, 0) and _is_along(term, reduced) else term
        for load, term in replacements.items()
    }
    shifts = tuple((terms.replaced(by, replacements), stride) for by, stride in store.shifts)
    return store._replace(term=terms.replaced(store.term, late), shifts=shifts)


def _last_passes(root: Term, stage: dict[Term, int]) -> dict[Term, int]:
    """In which pass over the reduced axes each term is needed last, for the root's sake."""
    last = {root: stage[root]}
    for term in reversed(in_order([root])):
        needed = stage[term] - 1 if term.op in REDUCTIONS else last[term]
        for arg in term.args:
            last[arg] = max(last.get(arg, 0), needed)
    return last


def _is_along(term: Term, reduced: tuple[int, ...]) -> bool:
    """Whether a term goes along reduced axes; one that doesn't is in a register for every pass."""
    stack, seen = [term], {term}
    while stack:
        each = stack.pop()
        if each.op in ("load", "position"):
            layout = each.static[1 if each.op == "load" else 0]
            if any(layout.strides[axis] for axis in reduced):
                return True
        if each.op not in REDUCTIONS:
            stack += [arg for arg in each.args if arg not in seen]
            seen.update(each.args)
    return False


def _alike(first: Kernel, second: Kernel, terms: Terms) -> tuple[Kernel, Kernel]:
    """Two kernels over spaces of as many elements as kernels over one space, where layouts allow it."""
    cuts = [[math.prod(space[axis:]) for axis in range(len(space) + 1)] for space in (first.space, second.space)]
    if cuts[0] == cuts[1] or cuts[0][0] != cuts[1][0] or not cuts[0][0]:
        return first, second
    both = sorted({*cuts[0], *cuts[1]}, reverse=True)
    if any(outer % inner for outer, inner in pairwise(both)):
        return first, second
    space = tuple(outer // inner for outer, inner in pairwise(both))
    moved = [
        _reshaped(kernel, space, [next(k for k, cut in enumerate(own[1:]) if cut <= end) for end in both[1:]], terms)
        for kernel, own in zip((first, second), cuts, strict=True)
    ]
    return (first, second) if moved[0] is None or moved[1] is None else (moved[0], moved[1])


def _reshaped(kernel: Kernel, space: Shape, axes: Sequence[int], terms: Terms) -> Kernel | None:
    """The kernel over a space whose axes are parts of these axes of its own; `None` where a layout can't say it."""
    reduced = tuple(place for place, axis in enumerate(axes) if axis in kernel.reduced)
    kept = Reshape([extent for place, extent in enumerate(space) if place not in reduced])
    stores = []
    for store in kernel.stores:
        layout = store.layout.move(Reshape(space) if store.layout.rank == len(kernel.space) else kept)
        moved = [terms.moved(each, Reshape(space)) for each in (store.term, *(by for by, _ in store.shifts))]
        if layout is None or kernel.lengths or None in moved:
            return None
        term, *shifts = (each for each in moved if each is not None)
        strides = (stride for _, stride in store.shifts)
        stores.append(store._replace(term=term, layout=layout, shifts=tuple(zip(shifts, strides, strict=True))))
    return replace(kernel, space=space, reduced=reduced, stores=tuple(stores))


def _over(kernel: Kernel, space: Shape, reduced: tuple[int, ...], terms: Terms) -> Kernel | None:
    """The kernel over a space that has its own as the whole, or as what is kept."""
    if (kernel.space, kernel.reduced) == (space, reduced):
        return kernel
    if kernel.reduced:
        return None
    if kernel.space == space:
        return replace(kernel, reduced=reduced)
    kept = tuple(extent for axis, extent in enumerate(space) if axis not in reduced)
    if kernel.space != kept:
        return None
    ones = tuple(1 if axis in reduced else extent for axis, extent in enumerate(space))

    def spread(term: Term) -> Term:
        moved = terms.moved(term, Reshape(ones), Broadcast(space))
        assert moved is not None  # axes of extent 1 need no copy
        return moved

    stores = tuple(
        store._replace(term=spread(store.term), shifts=tuple((spread(by), n) for by, n in store.shifts))
        for store in kernel.stores
    )
    places = [axis for axis in range(len(space)) if axis not in reduced]
    lengths = tuple((places[axis], spread(length)) for axis, length in kernel.lengths)
    return Kernel(space, reduced, stores, kernel.source, lengths=lengths)


def _end_together(a: Kernel, b: Kernel) -> bool:
    """Whether two kernels over one space go as far along each axis that both go along."""
    along = set(range(len(a.space)))
    for kernel in (a, b):
        is_whole = any(store.layout.rank == len(kernel.space) for store in kernel.stores)
        if not is_whole and not any(term.op in REDUCTIONS for term in kernel.terms):
            along -= set(kernel.reduced)
    return {axis: end for axis, end in a.lengths if axis in along} == {
        axis: end for axis, end in b.lengths if axis in along
    }


def spread(layout: Layout, space: Shape, reduced: tuple[int, ...]) -> Layout:
    """A layout of what is kept as one of the whole space."""
    if layout.rank == len(space):
        return layout
    strides = iter(layout.strides)
    return Layout(space, tuple(0 if axis in reduced else next(strides) for axis in range(len(space))), layout.offset)


def stages(stores: Iterable[Store], reduced: tuple[int, ...]) -> dict[Term, int]:
    """In which pass over the reduced axes each term may be computed: after the reductions and stores that it needs."""
    stores = tuple(stores)
    filled = {store.buffer: store.term for store in stores}
    found: dict[Term, int] = {}
    roots = [each for store in stores for each in (*(by for by, _ in store.shifts), store.term)]
    for term in in_order(roots):
        stage = max([found[arg] for arg in term.args], default=0)
        if term.op in REDUCTIONS or (term.op == "load" and term.static[0] in filled):
            stage = 1 + (stage if term.op in REDUCTIONS else found[filled[term.static[0]]])
        found[term] = stage
    return found


def _is_in_place(kernel: Kernel) -> bool:
    """Whether what starts as an old buffer is written only where nothing else of that is read."""
    roots = [each for store in kernel.stores for each in (*(by for by, _ in store.shifts), store.term)]
    loads = [term for term in kernel.terms if term.op == "load"]
    for store in kernel.stores:
        if store.base is not None:
            if any(term.dtype is not store.term.dtype for term in loads if term.static[0] == store.base):
                return False  # the elements of one dtype are others than those of another
            if kernel.reduced:
                return False  # a later pass over the row would read what an earlier one has written
            layout = spread(store.layout, kernel.space, kernel.reduced)
            if not all(reads_in_place(root, store.base, layout, store.shifts) for root in roots):
                return False
    return True


def without_unread(program: Program) -> Program:
    """The program without stores that nothing reads."""
    while True:
        read = set(program.kept)
        _collect(program.block, read)
        block = _pruned(program.block, read)
        if block == program.block:
            return program
        program = replace(program, block=block)


def _collect(block: Block, read: set[int]) -> None:
    read.update(block.outputs)
    for each in block.instructions:
        match each:
            case While():
                read.update(each.initial)
                _collect(each.condition, read)
                _collect(each.body, read)
            case Cond():
                read.add(each.predicate)
                _collect(each.then, read)
                _collect(each.otherwise, read)
            case _:
                read.update(each.loads if isinstance(each, Kernel) else each.reads)


def _pruned(block: Block, read: set[int]) -> Block:
    done: list[Instruction] = []
    for each in block.instructions:
        match each:
            case Kernel():
                stores = tuple(store for store in each.stores if store.buffer in read)
                if stores:
                    done.append(each if len(stores) == len(each.stores) else replace(each, stores=stores))
            case _:
                done.append(with_blocks(each, lambda inner: _pruned(inner, read)))
    return Block(tuple(done), block.outputs)
