"""What a planned program does, read from the program itself: kernels, copies, memory, and what each node became."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from lamina.explain.report import Copy, Kernel, Memory, Operand, Operation
from lamina.expr import Expr, Source, describe
from lamina.layout import Layout
from lamina.program import record
from lamina.program.arena import arranged
from lamina.program.memory import Planned
from lamina.program.record import Block, Cond, Instruction, Library, Store, Term, While, blocks_of, instructions_of

# Nodes that stand for what is there, and do nothing.
_THERE = frozenset({"parameter", "constant", "tensor", "elem", "fun", "metadata"})
_FATES = {"while": "loop", "cond": "branch", "check": "check", "hook": "callback", "runtime_call": "callback"}


class _Stored(NamedTuple):
    """By which kernel, in which loops, a buffer is filled, and how."""

    number: int
    store: Store
    within: tuple[str, ...]


class Account:
    """A planned program, accounted for.

    `names` are what params' and results' buffers are called; `outside` is the line that asks, to which those nodes
    belong that no line of the function made.
    """

    def __init__(self, planned: Planned, names: Mapping[int, str], outside: Source | None) -> None:
        program = planned.program
        self.program, self.memory, self.outside = program, planned.memory, outside
        self.named = names.keys()
        self.names = {self.memory[buffer]: name for buffer, name in names.items()}
        self.instructions = list(_walk(program.block, ()))
        self.made = {buffer: each for each, _ in self.instructions for buffer in each.writes}
        self.stored: dict[int, _Stored] = {}
        self.computed: dict[Term, list[int]] = {}  # by which kernels
        kernels = [(each, within) for each, within in self.instructions if isinstance(each, record.Kernel)]
        for number, (kernel, within) in enumerate(kernels, 1):
            self.stored.update({store.buffer: _Stored(number, store, within) for store in kernel.stores})
            for term in kernel.terms:
                self.computed.setdefault(term, []).append(number)
        copies = [node for node in program.origins.values if node.op == "copy"]
        self.asking = {term: node for node in copies for term in self._terms(node)}
        self.of_nodes: dict[Expr, list[Copy]] = {}
        self.copies = list(self._copies())
        self.operations = list(self._operations())
        self.lines: dict[int, set[int]] = {}  # of each kernel
        for source, operation in self.operations:
            for number in operation.kernels:
                self.lines.setdefault(number, set()).add(source.line)
        self.kernels = [self._kernel(number, *each) for number, each in enumerate(kernels, 1)]

    def is_users(self, source: Source | None) -> bool:
        """Whether a line is of the function, or of one that it calls."""
        return source is not None and source != self.outside

    def _name(self, buffer: int) -> str:
        own = f"%{buffer if self._is_own(buffer) else self.memory[buffer]}"
        return own if self._is_own(buffer) else self.names.get(self.memory[buffer], own)

    def _is_own(self, buffer: int) -> bool:
        """Whether a buffer is a value of its own, whatever takes its memory afterwards."""
        stored = self.stored.get(buffer)
        is_kept = buffer in self.program.origins.kept and stored is not None and stored.store.base is None
        return is_kept and buffer not in self.named

    # Copies

    def _copies(self) -> Iterator[Copy]:
        """What is moved as it is, and why: between kernels, and by kernels that compute nothing."""
        program = self.program
        for each, within in self.instructions:
            if isinstance(each, record.Copy):
                nbytes = program.buffers[each.target].nbytes
                yield Copy(self._name(each.origin), nbytes, each.reason, each.source, within=within)
        for buffer, (number, store, within) in self.stored.items():
            origin, kept = _copied(store.term), program.origins.kept.get(buffer)
            if origin is None or kept is None or not program.buffers[buffer].shape:
                continue  # what is written in place is no copy, and neither is reading a number
            node, reason, source = kept.node, kept.reason, kept.source if kept.node is None else kept.node.source
            asking = self.asking.get(program.origins.filled[buffer])
            if asking is not None:
                node, source = asking, asking.source
                reason = "the program asks for it" if self.is_users(source) else "a result is memory of its own"
            nbytes = store.layout.numel * program.buffers[buffer].dtype.numpy.itemsize
            copy = Copy(self._name(origin), nbytes, reason, source if self.is_users(source) else None, number, within)
            if node is not None:
                self.of_nodes.setdefault(node, []).append(copy)
            yield copy

    # Nodes

    def _operations(self) -> Iterator[tuple[Source, Operation]]:
        """What each node of a line became, in the order of the program; then what else is copied for a line."""
        for node in sorted(self.program.origins.values, key=lambda node: node.id):
            operation = self._operation(node)
            if operation is not None and node.source is not None and self.is_users(node.source):
                yield node.source, operation
        of_nodes = {id(copy) for copies in self.of_nodes.values() for copy in copies}
        for copy in self.copies:
            if copy.source is not None and id(copy) not in of_nodes:
                kernels = () if copy.kernel is None else (copy.kernel,)
                yield copy.source, Operation(copy.name, "", "copy", kernels, copy.reason, copy.nbytes)

    def _operation(self, node: Expr) -> Operation | None:
        """What became of a node; `None` where it does nothing."""
        if node.op in _THERE:
            return None
        name, result = _name(node), describe(node.dtype, node.shape)
        terms = [terms[0] for terms in self.program.origins.values[node] if terms]
        filling = self.made.get(terms[0].static[0]) if terms and terms[0].op == "load" else None
        if node.op in _FATES:
            return Operation(name, result, _FATES[node.op], (), _slow(filling))
        if all(term.op == "constant" for term in terms):
            return None
        if isinstance(filling, Library) and filling.node.op == node.op:
            return Operation(name, result, "library")
        if node in self.of_nodes:
            copies = self.of_nodes[node]
            kernels = tuple(sorted({copy.kernel for copy in copies if copy.kernel is not None}))
            return Operation(name, result, "copy", kernels, copies[0].reason, sum(copy.nbytes for copy in copies))
        if node.op in ("move", "view"):
            return Operation(name, result, "view")
        if node.op == "update":
            stored = [
                self.stored[term.static[0]] for term in terms if term.op == "load" and term.static[0] in self.stored
            ]
            numbers = tuple(each.number for each in stored if each.store.base is not None)
            if numbers:
                return Operation(name, result, "write", numbers)
        kernels = self._kernels(node)
        return Operation(name, result, "kernel" if kernels else "nothing", kernels)

    def _terms(self, node: Expr) -> list[Term]:
        """What a node was before it was put in a buffer, each time that a block needs it."""
        filled = self.program.origins.filled
        terms = [terms[0] for terms in self.program.origins.values[node]]
        return [filled.get(term.static[0], term) if term.op == "load" and not term.args else term for term in terms]

    def _kernels(self, node: Expr) -> tuple[int, ...]:
        """The kernels that compute a node, as what its term was moved and merged into."""
        waiting = self._terms(node)
        seen = set(waiting)
        numbers: set[int] = set()
        while waiting:
            each = waiting.pop()
            if each.op != "load" or each.args:
                numbers.update(self.computed.get(each, ()))
            new = [other for other in self.program.terms.became.get(each, ()) if other not in seen]
            seen.update(new)
            waiting += new
        return tuple(sorted(numbers))

    # Kernels and memory

    def _kernel(self, number: int, kernel: record.Kernel, within: tuple[str, ...]) -> Kernel:
        loads: dict[int, list[Term]] = {}
        for term in kernel.terms:
            if term.op == "load" and term.static[0] not in kernel.writes:
                loads.setdefault(term.static[0], []).append(term)
        reads = tuple(self._read(buffer, terms) for buffer, terms in loads.items())
        writes = tuple(map(self._written, kernel.stores))
        lines = tuple(sorted(self.lines.get(number, ())))
        return Kernel(number, kernel.space, kernel.reduced, reads, writes, lines, within)

    def _read(self, buffer: int, terms: Sequence[Term]) -> Operand:
        layouts = tuple(dict.fromkeys(term.static[1] for term in terms))
        whole = self.program.buffers[buffer].numel
        if any(term.args for term in terms):  # a run alone tells which
            return self._operand(buffer, layouts, whole, False)
        once = [_without_repeats(layout) for layout in layouts]
        numel = sum(min(each.numel, each.span[1] - each.span[0]) for each in once)
        is_exact = any(each.is_distinct and each.numel == whole for each in once) or (
            len(once) == 1 and once[0].is_distinct
        )
        return self._operand(buffer, layouts, min(numel, whole), is_exact)

    def _written(self, store: Store) -> Operand:
        is_exact = all(stride is not None for _, stride in store.shifts)
        reason = self.program.origins.kept[store.buffer].reason if self._is_own(store.buffer) else ""
        return self._operand(store.buffer, (store.layout,), store.layout.numel, is_exact)._replace(reason=reason)

    def _operand(self, buffer: int, layouts: tuple[Layout, ...], numel: int, is_exact: bool) -> Operand:
        dtype, shape = self.program.buffers[buffer]
        nbytes = numel * dtype.numpy.itemsize
        return Operand(self._name(buffer), describe(dtype, shape), layouts, nbytes, is_exact)

    def memory_of(self, results: Sequence[int]) -> Memory:
        """The bytes of the call, given which buffers are results; numbers on their own aside."""
        buffers = self.program.buffers
        given = {self.memory[buffer] for buffer in (*self.program.params, *self.program.tensors)}
        returned = {self.memory[buffer] for buffer in results} - given
        touched = {self.memory[buffer] for buffer in _filled(self.program.block)} - given - returned
        arrays = {each: buffers[each].nbytes for each in sorted(touched) if buffers[each].numel != 1}
        return Memory(
            sum(buffers[each].nbytes for each in given if buffers[each].shape),
            sum(buffers[each].nbytes for each in returned),
            arranged(self.program.block.instructions, self.memory, arrays, given | returned)[1],
        )


def _walk(block: Block, within: tuple[str, ...]) -> Iterator[tuple[Instruction, tuple[str, ...]]]:
    """Every instruction, with the loops and branches that it is in."""
    for each in block.instructions:
        yield each, within
        if isinstance(each, While | Cond):
            kind = "loop" if isinstance(each, While) else "branch"
            around = (*within, f"{kind} of line {each.source.line}" if each.source else kind)
            for inner in blocks_of(each):
                yield from _walk(inner, around)


def _filled(block: Block) -> Iterator[int]:
    for each in instructions_of(block):
        yield from each.writes
        if isinstance(each, While):
            yield from each.params


def _slow(instruction: Instruction | None) -> str:
    """Why a loop or branch is no native code."""
    if isinstance(instruction, While | Cond):
        for block in blocks_of(instruction):
            for each in instructions_of(block):
                if isinstance(each, Library):
                    return f"it runs from Python, since {each.node.op} in it is a {each.kind}"
    return ""


def _copied(term: Term) -> int | None:
    """The buffer whose elements a term is, as they are."""
    while term.op == "copy":
        term = term.args[0]
    return term.static[0] if term.op == "load" and not term.args else None


def _without_repeats(layout: Layout) -> Layout:
    """The layout of the same elements without the axes that repeat them."""
    axes = [axis for axis, stride in enumerate(layout.strides) if stride or layout.shape[axis] == 0]
    return Layout([layout.shape[axis] for axis in axes], [layout.strides[axis] for axis in axes], layout.offset)


def _name(node: Expr) -> str:
    """What an operation is called: a movement by its kind."""
    return type(node.args[1]).__name__.lower() if node.op == "move" else node.op
