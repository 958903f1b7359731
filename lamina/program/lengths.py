"""Lengths that a run alone knows as the trip counts of kernels.

Lowered, such a length is a condition on each element: of loads and stores, and of what a reduction takes. Where all
that a kernel leaves along an axis is before one length, the kernel goes so far and no farther, and the condition is
gone. A part of a buffer that nobody reads need not be filled; so a kernel whose results others read up to a length
ends there too, and so does a library call that goes through a line, such as a sort.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.expr import OPS
from lamina.layout import Layout
from lamina.layout.move import Broadcast
from lamina.program.apart import as_scalar, expanded
from lamina.program.record import (
    REDUCTIONS,
    Block,
    Buffer,
    Instruction,
    Kernel,
    Library,
    Program,
    Shape,
    Store,
    Term,
    Terms,
    in_order,
    with_blocks,
)

# What each reduction takes without effect; the extremes are those of the dtype.
_NONE: dict[str, Any] = {
    "sum": 0,
    "prod": 1,
    "any": False,
    "all": True,
    "bitwise_or_reduce": 0,
    "bitwise_xor_reduce": 0,
}

# Of a buffer's readers: the layout through which one reads, and the ends that it goes to, by axis. None for all of it.
_Ends = dict[int, Term]
_Read = tuple[Layout, _Ends] | None


def shortened(program: Program, has_code: Callable[[Library], bool] = lambda call: False) -> Program:
    """The program with kernels that end at lengths, and with library calls that do, of those for which there is code.

    >>> import lamina
    >>> from lamina.program import lower
    >>> def sums(x):
    ...     y = x * 0
    ...     for i in range(len(x)):
    ...         y[i] = x[:i].sum()
    ...     return y
    >>> graph = lamina.trace(sums, lamina.Spec(lamina.float64, (30,)))
    >>> [line.strip() for line in str(shortened(lower(graph, lambda node: True))).splitlines() if " to t" in line]
    ['%7: float64[] = kernel [29 to t0 reduced]:']
    """
    program = replace(program, buffers=list(program.buffers))
    return replace(program, block=_shortened(program.block, program, has_code))


def _shortened(block: Block, program: Program, has_code: Callable[[Library], bool]) -> Block:
    terms = program.terms
    filling = {buffer: each for each in block.instructions for buffer in each.writes}
    later: set[int] = set()  # what this instruction and those behind it fill
    reads: dict[int, list[_Read]] = {buffer: [None] for buffer in (*block.outputs, *program.kept)}
    done: list[Instruction] = []  # the last one first
    for each in reversed(block.instructions):
        others = each.reads
        later.update(each.writes)
        if isinstance(each, Kernel):
            each = _ended(each, reads, later, program)
            for buffer, read in _reads_of(each, terms):
                reads.setdefault(buffer, []).append(read)
            others = frozenset(store.base for store in each.stores if store.base is not None)
            done.append(each)
        elif isinstance(each, Library) and has_code(each):
            length = _end_of(each, reads, later, filling, program)
            if length is None:
                done.append(each)
            else:
                ((buffer, layout),) = each.operands
                reads.setdefault(buffer, []).append((layout, {0: length}))
                others = length.reads
                program.buffers.append(Buffer(dt.int64, ()))
                end = len(program.buffers) - 1
                bounds = (terms.constant(number, dt.int64) for number in (0, *layout.shape))
                store = Store(terms.make("clip", (length, *bounds), dt.int64), end, Layout.contiguous(()))
                done += [replace(each, length=end), Kernel((), (), (store,), each.source)]
        else:
            done.append(with_blocks(each, lambda inner: _shortened(inner, program, has_code)))
        for buffer in others:
            reads.setdefault(buffer, []).append(None)
    return Block(tuple(done[::-1]), block.outputs)


_OF_LINES = frozenset({"sort", "argsort", "cumulative_sum", "cumulative_prod", "cumulative_max", "cumulative_min"})


def _end_of(
    call: Library, reads: dict[int, list[_Read]], later: set[int], filling: dict[int, Instruction], program: Program
) -> Term | None:
    """The length up to which a line of a library call is read, where what is beyond has no effect on what is before."""
    if call.node.op not in _OF_LINES or len(call.operands[0][1].shape) != 1:
        return None
    ((buffer, layout),), (result,) = call.operands, call.results
    found = {read and read[0] == Layout.contiguous(layout.shape) and read[1].get(0) for read in reads.get(result, ())}
    length = found.pop() if len(found) == 1 else None
    if not isinstance(length, Term) or later & length.reads:
        return None
    if call.node.op not in ("sort", "argsort"):
        return length
    kernel = filling.get(buffer)
    if not isinstance(kernel, Kernel) or len(kernel.stores) > 1:
        return None
    (store,) = kernel.stores
    beyond = _beyond(store.term, {guard for guard, end in _guards(kernel, program).items() if end == (0, length)})
    is_whole = store.layout == layout and store.base is None and not store.shifts
    return length if is_whole and beyond is not None and _is_last(beyond) else None


def _is_last(number: Any) -> bool:
    """Whether a number is sorted behind all others of its dtype, or with the last ones."""
    kind = number.dtype.kind
    return bool(np.isnan(number) if kind in "fc" else number if kind == "b" else number == np.iinfo(number.dtype).max)


def _ended(kernel: Kernel, reads: dict[int, list[_Read]], later: set[int], program: Program) -> Kernel:
    """A kernel that goes along each axis so far as all that it leaves is read."""
    terms, guards = program.terms, _guards(kernel, program)
    ends: _Ends = {}
    for axis in range(len(kernel.space)):
        found = [length for guarded, length in guards.values() if guarded == axis]
        for store in kernel.stores if not kernel.is_ordered else ():
            place = _axis_of(store, axis, kernel)
            if place is not None:
                others = [read[1].get(place) for read in reads.get(store.buffer, ()) if read is not None]
                found += [length for length in others if length is not None and not later & length.reads]
        for length in dict.fromkeys(found):
            if _ends_at(kernel, axis, length, guards, reads):
                ends[axis] = length
                break
    if not ends:
        return kernel
    met = {guard: axis for guard, (axis, length) in guards.items() if ends.get(axis) is length}
    stores = []
    for store in kernel.stores:
        shifts = tuple((_met(by, met, terms), stride) for by, stride in store.shifts if by not in met)
        stores.append(store._replace(term=_met(store.term, met, terms), shifts=shifts))
    lengths = tuple((axis, _spread(length, kernel.space, terms)) for axis, length in ends.items())
    return replace(kernel, stores=tuple(stores), lengths=lengths)


def _guards(kernel: Kernel, program: Program) -> dict[Term, tuple[int, Term]]:
    """The conditions that a place along an axis is before a length: which axis, and the length as a scalar."""
    found = {}
    along = {
        Layout(kernel.space, [int(each == axis) for each in range(len(kernel.space))]): axis
        for axis in range(len(kernel.space))
    }
    for term in kernel.terms:
        if term.op == "less" and term.args[0].op == "position" and term.args[1].is_uniform:
            axis = along.get(term.args[0].static[0])
            if axis is not None:
                length = as_scalar(term.args[1], kernel.space, program.terms)
                found[term] = axis, expanded(length, program.origins.filled, program.terms)
    return found


def _spread(term: Term, space: Shape, terms: Terms) -> Term:
    """A scalar as a uniform term."""
    moved = terms.moved(term, Broadcast(space))
    assert moved is not None
    return moved


def _axis_of(store: Store, axis: int, kernel: Kernel) -> int | None:
    """Which axis of a store's layout is one of the kernel's; None for one that is reduced before it is stored."""
    if store.layout.rank == len(kernel.space):
        return axis
    return None if axis in kernel.reduced else axis - sum(each < axis for each in kernel.reduced)


def _ends_at(
    kernel: Kernel, axis: int, length: Term, guards: dict[Term, tuple[int, Term]], reads: dict[int, list[_Read]]
) -> bool:
    """Whether nothing that a kernel leaves depends on what is beyond a length."""
    held = {guard for guard, end in guards.items() if end == (axis, length)}
    for store in kernel.stores:
        place = _axis_of(store, axis, kernel)
        if place is None or any(stride is None and _beyond(by, held) is False for by, stride in store.shifts):
            continue
        if kernel.is_ordered and _is_lost(store, held, reads.get(store.buffer)):
            continue
        if store.base is not None or store.shifts or store.buffer not in reads:
            return False
        for read in reads[store.buffer]:
            if read is None or read[0] != store.layout or read[1].get(place) is not length:
                return False
    taken = [term for term in kernel.terms if term.op in REDUCTIONS] if axis in kernel.reduced else []
    return all(_has_no_effect(term, held) for term in taken)


def _is_lost(store: Store, held: set[Term], reads: list[_Read] | None) -> bool:
    """Whether what is stored where these conditions are false goes to one place, which nobody reads."""
    moves = [(_beyond(by, held), stride) for by, stride in store.shifts]
    if reads is None or any(store.layout.strides) or any(move is None or stride is None for move, stride in moves):
        return False
    place = store.layout.offset + sum(int(move) * (stride or 0) for move, stride in moves)
    return not any(read is None or read[0].span[0] <= place < read[0].span[1] for read in reads)


def _has_no_effect(reduction: Term, held: set[Term]) -> bool:
    """Whether a reduction takes nothing that counts where these conditions are false."""
    dtype, number = reduction.args[0].dtype, _beyond(reduction.args[0], held)
    if number is None:
        return False
    op, kind = reduction.op, dtype.kind
    if op in ("max", "argmax", "min", "argmin"):
        if kind == "complex":
            return False
        least, greatest = {"float": (-np.inf, np.inf), "bool": (False, True)}.get(kind, (dtype.min, dtype.max))
        return bool(number == (least if op.endswith("max") else greatest))
    if op == "bitwise_and_reduce":
        return bool(~number == 0)
    return op in _NONE and bool(number == _NONE[op])


def _beyond(term: Term, held: Collection[Term]) -> Any:
    """The number that a term is where these conditions are false; None where that isn't one known number."""
    found: dict[Term, Any] = {}
    for each in in_order([term]):
        args = [found[arg] for arg in each.args]
        if each in held:
            found[each] = False
        elif each.op == "constant":
            found[each] = each.dtype.numpy.type(each.static[0])
        elif each.op in ("within", "with"):
            found[each] = args[0]
        elif each.op == "cast" and args[0] is False:
            found[each] = each.dtype.numpy.type(0)
        elif each.op == "logical_and":
            found[each] = False if False in args else None
        elif each.op == "where":
            found[each] = None if args[0] is None else args[1] if args[0] else args[2]
        elif each.op in _KNOWN and None not in args:
            with np.errstate(all="ignore"):
                found[each] = each.dtype.numpy.type(OPS[each.op].meaning(*args))
        else:
            found[each] = None
    return found[term]


# Ops between a mask and a reduction or an index: products of masked operands, norms, places from the end.
_KNOWN = frozenset({"multiply", "add", "square", "abs", "copy", "conj", "less"})


def _met(term: Term, met: Mapping[Term, int], terms: Terms) -> Term:
    """The term where these conditions hold, each along an axis."""
    true = terms.constant(True, dt.bool)
    done: dict[Term, Term] = {}
    for each in in_order([term]):
        args, static = [done[arg] for arg in each.args], each.static
        if each.op == "load":
            # what doesn't move along the axis would be read before it is known that there is a first element
            args = [arg if arg in met and not static[1].strides[met[arg]] else done[arg] for arg in each.args]
            kept = [k for k, arg in enumerate(args) if arg is not true]
            args, static = [args[k] for k in kept], (*static[:2], tuple(static[2][k] for k in kept))
        if each in met:
            done[each] = true
        elif each.op == "where" and args[0] is true:
            done[each] = args[1]
        elif each.op == "logical_and" and true in args:
            done[each] = args[args[0] is true]
        else:
            done[each] = terms.make(each.op, tuple(args), each.dtype, static)
            terms.note(each, done[each])
    return done[term]


def _reads_of(kernel: Kernel, terms: Terms) -> Iterator[tuple[int, _Read]]:
    """What a kernel reads of each buffer."""
    ends = {axis: as_scalar(length, kernel.space, terms) for axis, length in kernel.lengths}
    for term in kernel.terms:
        if term.op == "load":
            yield term.static[0], None if term.args else (term.static[1], ends)
