"""Instructions as one LLVM function: it calls kernels, and loops and branches between them are its own.

A kernel over a space is a function, so that compiling stays linear; kernels alike share one. A kernel of one element is
written where it runs, and the scalars that only this function knows are its local variables, so a loop of scalars runs
in registers. Arrays that a loop carries are reached through pointers, which change places where the memories do.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lamina.compilers.native import aliases, ir, library, parallel
from lamina.compilers.native.failure import CompileFailure, described
from lamina.compilers.native.fingerprint import Fingerprint, Unforeseen
from lamina.compilers.native.loops import Fail, emit_kernel, parts_of
from lamina.compilers.native.maths import MATHS
from lamina.compilers.native.scalar import Value, call_intrinsic
from lamina.compilers.native.types import BIT, BYTE, INDEX, POINTER, STATUS, in_memory
from lamina.layout import Layout
from lamina.program.apart import as_scalar
from lamina.program.arena import arranged
from lamina.program.memory import Planned
from lamina.program.record import (
    Block,
    Buffer,
    Check,
    Cond,
    Copy,
    Instruction,
    Kernel,
    Library,
    Site,
    Store,
    Term,
    While,
    blocks_of,
    instructions_of,
)
from lamina.program.turns import carried, in_pairs

SIGNATURE = ir.FunctionType(STATUS, [POINTER, POINTER, POINTER, INDEX])
ALIGNMENT = 64


class Module:
    """One LLVM module: the functions of a program, and what each failure means."""

    def __init__(self, planned: Planned, vector_bytes: int) -> None:
        self.module = ir.Module()
        self.buffers = planned.program.buffers
        self.terms = planned.program.terms
        self.memory = planned.memory
        self.vector_bytes = vector_bytes
        self.failures: list[Site | Check] = []
        self.kernels: dict[Any, ir.Function] = {}
        self.parts: dict[str, str] = {}  # what each function of the module is for
        self.libraries: dict[Any, tuple[ir.Function, int]] = {}
        self.segments: list[Segment] = []

    def failure(self, what: Site | Check) -> int:
        """The number that stands for a failure in the status."""
        if what not in self.failures:
            self.failures.append(what)
        return self.failures.index(what)

    def key(self) -> str:
        """What determines the module: its text, or what is found before kernels are written."""
        try:
            written = Fingerprint(self.failure, lambda call: self.library(call)[0].name)
            written.add(str(self.module) if self.libraries else "")
            written.add((self.vector_bytes, tuple(self.memory), tuple((b.dtype, b.shape) for b in self.buffers)))
            for segment in self.segments:
                written.add((segment.name, tuple(segment.external), tuple(segment.places.items())))
                written.instructions(segment.instructions)
            return written.digest()
        except Unforeseen:
            return self.text()

    def text(self) -> str:
        """The module as LLVM reads it; it is written when it is first asked for."""
        for segment in self.segments:
            if not segment.is_written:
                segment.write()
        # An elementary function goes into the loop that it is for: its vectors, and its numbers where they are in one.
        inlined = (ir.VectorType, ir.FloatType, ir.DoubleType) if self.has_scalar_loops else ir.VectorType
        for function in self.module.functions:
            if isinstance(function.function_type.return_type, inlined) and not function.is_declaration:
                function.attributes.add("alwaysinline")
        return str(self.module)

    @property
    def is_little(self) -> bool:
        """Whether it runs in less time than it takes to be called, so that to compile it well would be of no use."""
        return sum(_work(each) for segment in self.segments for each in segment.instructions) <= _LITTLE

    @property
    def has_large(self) -> bool:
        """Whether it has kernels that several threads may do."""
        return any(isinstance(each, Kernel) and _is_large(each, self.buffers) for each in self._instructions())

    @property
    def has_scalar_loops(self) -> bool:
        """Whether a loop between its kernels has turns of scalars alone."""
        loops = (each for each in self._instructions() if isinstance(each, While))
        return any(all(map(_is_of_scalars, instructions_of(loop.body))) for loop in loops)

    def _instructions(self) -> Iterator[Instruction]:
        return instructions_of(Block(tuple(each for segment in self.segments for each in segment.instructions), ()))

    def is_scalar(self, memory: int) -> bool:
        """Whether a memory is one element."""
        return self.buffers[memory].numel == 1

    def kernel(self, kernel: Kernel) -> tuple[ir.Function, dict[int, bool], bool, tuple[int, int]]:
        """The function of a kernel, which memories it takes, and whether by value, if it may fail, and its parts."""
        parts = parts_of(kernel, self.vector_bytes) if _is_large(kernel, self.buffers) else (1, 0)
        order: dict[int, int] = {}
        written = {self.memory[buffer] for buffer in kernel.writes}
        for buffer in (*sorted(kernel.loads), *kernel.writes):
            order.setdefault(self.memory[buffer], len(order))
        by_value = [self.is_scalar(memory) and memory not in written for memory in order]
        kinds = tuple(self.buffers[memory].dtype for memory, is_value in zip(order, by_value, strict=True) if is_value)
        places = {b: order[self.memory[b]] for b in (*kernel.loads, *kernel.writes)}
        key = (_shape_of(kernel, places), tuple(by_value), kinds)
        function = self.kernels.get(key)
        if function is None:
            function = self.kernels[key] = self._define(kernel, order, by_value, parts[0] > 1)
        return function, dict(zip(order, by_value, strict=True)), kernel.may_fail, parts

    def _define(self, kernel: Kernel, order: dict[int, int], by_value: Sequence[bool], is_divided: bool) -> ir.Function:
        kinds = [
            in_memory(self.buffers[memory].dtype) if is_value else POINTER
            for memory, is_value in zip(order, by_value, strict=True)
        ]
        kind = parallel.KERNEL if is_divided else ir.FunctionType(STATUS, [*kinds, POINTER])  # of the status
        function = ir.Function(self.module, kind, name=f"kernel_{len(self.kernels)}")
        self.parts[function.name] = described(kernel)
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("nounwind")
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        part = None
        if is_divided:
            frame, status, *ends = function.args
            part = (ends[0], ends[1])
            args = parallel.arguments(builder, frame, kinds)
        else:
            *args, status = function.args
            for arg in args:
                if arg.type == POINTER:
                    arg.add_attribute("noalias")
        given = {}
        for memory, arg, is_value in zip(order, args, by_value, strict=True):
            given[memory] = arg
            if is_value:
                given[memory] = builder.alloca(arg.type)
                builder.store(arg, given[memory])
        pointers = {buffer: given[self.memory[buffer]] for buffer in (*kernel.loads, *kernel.writes)}
        emit_kernel(builder, kernel, pointers, self.failing(status), self.vector_bytes, part)
        builder.ret(STATUS(0))
        return function

    def library(self, call: Library) -> tuple[ir.Function, int]:
        """The function of a library call, and how many bytes of scratch it needs."""

        def leave(b: ir.IRBuilder, status: Value, wrong: Value, message: str, kind: type[Exception]) -> None:
            with b.if_then(wrong, likely=False):
                self.leave(b, status, Site(message, (), call.source, kind, call.node.op), ())

        key = library.key_of(call, self.buffers)
        if key not in self.libraries:
            name = f"library_{len(self.libraries)}"
            self.parts[name] = described(call)
            try:
                self.libraries[key] = library.define(self.module, name, call, self.buffers, self.vector_bytes, leave)
            except Exception as error:
                raise CompileFailure(described(call), str(self.module)) from error
        return self.libraries[key]

    def failing(self, status: Value) -> Fail:
        """What leaves a function where a condition holds, with the failure and its values in the status."""

        def fail(builder: ir.IRBuilder, wrong: Value, values: Callable[[], Sequence[Value]], site: Site) -> None:
            with builder.if_then(wrong, likely=False):
                self.leave(builder, status, site, values())

        return fail

    def leave(self, builder: ir.IRBuilder, status: Value, what: Site | Check, values: Sequence[Value]) -> None:
        """Note a failure, and return."""
        for place, value in enumerate((INDEX(self.failure(what)), *values)):
            builder.store(value, builder.gep(status, [INDEX(place)], source_etype=INDEX))
        builder.ret(STATUS(1))


def _shape_of(kernel: Kernel, order: dict[int, int]) -> Any:
    """What makes two kernels one function: all but which buffers they are on."""
    places: dict[Term, int] = {}
    lines = []
    for term in kernel.terms:
        static = (order[term.static[0]], *term.static[1:]) if term.op == "load" else tuple(map(_exact, term.static))
        places[term] = len(places)
        lines.append((term.op, tuple(places[arg] for arg in term.args), term.dtype, static))
    stores = tuple(
        (places[s.term], order[s.buffer], s.layout, tuple((places[by], n) for by, n in s.shifts)) for s in kernel.stores
    )
    lengths = tuple((axis, places[length]) for axis, length in kernel.lengths)
    return kernel.space, kernel.reduced, kernel.is_ordered, lengths, tuple(lines), stores


# Of elements times what each takes, in additions: so much is worth a thread.
_MUCH = 1 << 21
_LITTLE = 1 << 14  # and so much isn't worth good code
_OF_A_FUNCTION = 20
_FOR_AN_ADDITION = 2  # bytes that memory gives in its time


def _is_large(kernel: Kernel, buffers: Sequence[Buffer]) -> bool:
    """Whether a kernel is worth threads."""
    return parallel.IS_HERE and _work(kernel) + _bytes(kernel, buffers) // _FOR_AN_ADDITION >= _MUCH


def _bytes(kernel: Kernel, buffers: Sequence[Buffer]) -> int:
    """How much memory a kernel reads and writes."""
    found: Counter[int] = Counter()
    for term in kernel.terms:
        if term.op == "load":
            buffer, layout, _ = term.static
            extents = (
                kernel.space if term.args else [n for n, by in zip(layout.shape, layout.strides, strict=True) if by]
            )
            found[buffer] += math.prod(extents)
    for store in kernel.stores:
        found[store.buffer] += store.layout.numel
    each = ((buffers[buffer], count * buffers[buffer].dtype.numpy.itemsize) for buffer, count in found.items())
    return sum(min(nbytes, buffer.nbytes) for buffer, nbytes in each)


def _work(instruction: Instruction) -> float:
    """About how many additions an instruction takes; of a loop and a library call nobody knows."""
    match instruction:
        case Kernel():
            each = sum(_OF_A_FUNCTION if term.op in MATHS else 1 for term in instruction.terms)
            return math.prod(instruction.space) * each
        case While() | Library():
            return math.inf
    return sum(_work(each) for block in blocks_of(instruction) for each in block.instructions)


def _is_of_scalars(instruction: Instruction) -> bool:
    """Whether an instruction, but for its blocks, is written where it runs."""
    return not instruction.space if isinstance(instruction, Kernel) else isinstance(instruction, (Check, Cond, Copy))


def _exact(static: Any) -> Any:
    return repr(static) if isinstance(static, (int, float, complex)) else static


class Segment:
    """Instructions that run as one native function.

    It takes an array of the addresses of cells, each of which holds the address of an external memory's data; the
    status; and the arena, in which what only it needs has its places.
    """

    def __init__(self, module: Module, instructions: Sequence[Instruction], external: Sequence[int], name: str) -> None:
        self.module = module
        self.instructions = instructions
        self.external = list(external)
        self.name = name
        self.is_written = False
        own = dict.fromkeys(module.memory[buffer] for buffer in touched(instructions))
        arrays = {
            each: module.buffers[each].nbytes for each in own if each not in external and not module.is_scalar(each)
        }
        self.locals = dict.fromkeys(each for each in own if each not in external and module.is_scalar(each))
        self.places, self.arena_bytes = arranged(instructions, module.memory, arrays, self.external, ALIGNMENT)
        self.scratch = {  # of library calls, where their parts of the arena begin
            id(each): self._taken(module.library(each)[1])
            for each in instructions_of(Block(tuple(instructions), ()))
            if isinstance(each, Library)
        }
        module.segments.append(self)

    def _taken(self, nbytes: int) -> int:
        """Where a part of the arena begins that no array has."""
        place = self.arena_bytes
        self.arena_bytes += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return place

    def write(self) -> None:
        """Write the function into the module."""
        self.is_written = True
        function = ir.Function(self.module.module, SIGNATURE, name=self.name)
        function.attributes.add("nounwind")
        self.cells, self.status, self.arena, self.threads = function.args
        self.b = ir.IRBuilder(function.append_basic_block("entry"))
        self.fail = self.module.failing(self.status)
        self.variables: dict[int, Value] = {}  # of each memory: where its pointer is; of a local scalar: where it is
        self.homes: dict[int, Value] = {}  # where others look for the memories that they know
        for place, memory in enumerate(self.external):
            cell = self.b.load(self.b.gep(self.cells, [INDEX(place)], source_etype=POINTER), typ=POINTER)
            self.homes[memory] = self.b.load(cell, typ=POINTER)
            self._variable(memory, self.homes[memory])
        for memory in self.locals:
            self.variables[memory] = self.b.alloca(in_memory(self.module.buffers[memory].dtype))
        for memory, offset in self.places.items():
            self._variable(memory, self._in_arena(offset))
        self.tags: dict[int, str] = {}
        if self.module.has_scalar_loops:
            sizes = {memory: self.module.buffers[memory].nbytes for memory in self.places}
            together = (
                *aliases.exchanged(self.instructions, self.module.memory),
                *aliases.overlapping(self.places, sizes),
            )
            self.tags = aliases.tags(self.module.module, (*self.external, *self.places), together)
        for each in self.instructions:
            self._instruction(each)
        self.b.ret(STATUS(0))

    def _variable(self, memory: int, pointer: Value) -> None:
        self.variables[memory] = self.b.alloca(POINTER)
        self.b.store(pointer, self.variables[memory])

    def _in_arena(self, offset: int) -> Value:
        return self.b.gep(self.arena, [INDEX(offset)], source_etype=BYTE)

    def _pointer(self, memory: int) -> Value:
        variable = self.variables[memory]
        return variable if memory in self.locals else self.b.load(variable, typ=POINTER)

    def _of(self, buffer: int) -> Value:
        return self._pointer(self.module.memory[buffer])

    # Instructions

    def _block(self, block: Block) -> None:
        for each in block.instructions:
            self._instruction(each)

    def _instruction(self, each: Instruction) -> None:
        try:
            self._emit(each)
        except CompileFailure:  # of an instruction inside this one
            raise
        except Exception as error:
            raise CompileFailure(described(each), "\n".join(map(str, self.module.module.functions))) from error

    def _emit(self, each: Instruction) -> None:
        match each:
            case Kernel():
                self._kernel(each)
            case Library():
                self._library(each)
            case Copy():
                self._copy(each.target, each.origin)
            case Check():
                wrong = self.b.not_(self._predicate(each.predicate))
                with self.b.if_then(wrong, likely=False):
                    self.module.leave(self.b, self.status, each, ())
            case While():
                self._while(each)
            case Cond():
                with self.b.if_else(self._predicate(each.predicate)) as (then, otherwise):
                    with then:
                        self._block(each.then)
                    with otherwise:
                        self._block(each.otherwise)

    def _kernel(self, kernel: Kernel) -> None:
        if not kernel.space:
            pointers = {buffer: self._of(buffer) for buffer in (*kernel.loads, *kernel.writes)}
            tags = {
                buffer: self.tags[memory] for buffer in pointers if (memory := self.module.memory[buffer]) in self.tags
            }
            emit_kernel(self.b, kernel, pointers, self.fail, self.module.vector_bytes, tags=tags)
            return
        if 0 in kernel.space:
            return
        function, memories, may_fail, (units, step) = self.module.kernel(kernel)
        args = []
        for memory, is_value in memories.items():
            pointer = self._pointer(memory)
            kind = in_memory(self.module.buffers[memory].dtype)
            args.append(self.b.load(pointer, typ=kind) if is_value else pointer)
        if units > 1:
            status = parallel.call(self.b, function, args, self.status, units, step, self._most(kernel))
        else:
            status = self.b.call(function, [*args, self.status])
        if may_fail:
            with self.b.if_then(self.b.trunc(status, BIT), likely=False):
                self.b.ret(STATUS(1))

    def _most(self, kernel: Kernel) -> Value:
        """How many threads a kernel may have at most: one where its lengths leave it little to do."""
        if not kernel.lengths:
            return self.threads
        b, ends = self.b, dict(kernel.lengths)
        rest = replace(kernel, space=tuple(1 if axis in ends else extent for axis, extent in enumerate(kernel.space)))
        work: Value = INDEX(_work(rest))
        scalar, terms = Layout.contiguous(()), self.module.terms
        shown = [Store(as_scalar(end, kernel.space, terms), -1 - axis, scalar) for axis, end in ends.items()]
        pointers = {buffer: self._of(buffer) for end in ends.values() for buffer in end.reads}
        with b.goto_entry_block():
            pointers |= {store.buffer: b.alloca(INDEX) for store in shown}
        emit_kernel(b, Kernel((), (), tuple(shown)), pointers, self.fail, self.module.vector_bytes)
        for store in shown:
            work = b.mul(work, b.load(pointers[store.buffer], typ=INDEX))
        return b.select(b.icmp_signed("<", work, INDEX(_MUCH)), INDEX(1), self.threads)

    def _library(self, call: Library) -> None:
        function, _ = self.module.library(call)
        ends = () if call.length is None else (call.length,)
        arrays = [self._of(buffer) for buffer in (*(buffer for buffer, _ in call.operands), *call.results, *ends)]
        status = self.b.call(function, [*arrays, self._in_arena(self.scratch[id(call)]), self.threads, self.status])
        with self.b.if_then(self.b.trunc(status, BIT), likely=False):
            self.b.ret(STATUS(1))

    def _copy(self, target: int, origin: int) -> None:
        buffer = self.module.buffers[target]
        if buffer.numel == 1:
            self.b.store(
                self.b.load(self._of(origin), typ=in_memory(buffer.dtype), align=buffer.dtype.numpy.alignment),
                self._of(target),
            )
            return
        size = INDEX(buffer.nbytes)
        args = (self._of(target), self._of(origin), size, BIT(0))
        call_intrinsic(self.b, "memcpy", args, ir.VoidType(), (POINTER, POINTER, INDEX))

    def _predicate(self, buffer: int) -> Value:
        return self.b.icmp_unsigned("!=", self.b.load(self._of(buffer), typ=BYTE), BYTE(0))

    def _while(self, loop: While) -> None:
        b = self.b
        head, turn, after = (b.append_basic_block(name) for name in ("head", "turn", "after"))
        b.branch(head)
        b.position_at_end(head)
        self._block(loop.condition)
        b.cbranch(self._predicate(loop.condition.outputs[0]), turn, after)
        b.position_at_end(turn)
        self._block(loop.body)
        arrays = carried(loop, self.module.memory.__getitem__, self.module.buffers)
        self._carry(loop, arrays)
        b.branch(head)
        b.position_at_end(after)
        for param, output in in_pairs(arrays).items():
            if param in self.homes:
                self._settle(param, output)

    def _carry(self, loop: While, arrays: dict[int, int]) -> None:
        """What a turn leaves becomes what the next one starts from."""
        memory, b = self.module.memory, self.b
        scalars = []
        for param, output in zip(loop.params, loop.body.outputs, strict=True):
            if memory[param] != memory[output] and self.module.is_scalar(memory[param]):
                kind = in_memory(self.module.buffers[param].dtype)
                scalars.append((b.load(self._of(output), typ=kind), param))
        for value, param in scalars:
            b.store(value, self._of(param))
        self._exchange(exchanges(arrays))

    def _exchange(self, moves: dict[int, int]) -> None:
        """Each of these memories is from now on where another was."""
        pointers = {each: self._pointer(each) for each in moves}
        for target, origin in moves.items():
            self.b.store(pointers[origin], self.variables[target])

    def _settle(self, param: int, output: int) -> None:
        """What a loop leaves is where others look for it, also if it has changed places an odd number of times."""
        with self.b.if_then(self.b.icmp_unsigned("!=", self._pointer(param), self.homes[param])):
            self._exchange({param: output, output: param})
            self._copy(param, output)


def exchanges(carried: dict[int, int]) -> dict[int, int]:
    """Which memory each takes over: a param its output's, and an output that was none of the params' what is left.

    >>> exchanges({1: 2, 2: 7})
    {1: 2, 2: 7, 7: 1}
    """
    taken = dict(carried)
    back = {output: param for param, output in carried.items()}
    for output, param in back.items():
        if output not in carried:
            while param in back:
                param = back[param]
            taken[output] = param
    return taken


def touched(instructions: Iterable[Instruction]) -> list[int]:
    """Every buffer that instructions name."""
    found: list[int] = []
    for each in instructions:
        found += [*sorted(each.reads), *each.writes]
        match each:
            case While():
                found += each.params
                for block in (each.condition, each.body):
                    found += [*touched(block.instructions), *block.outputs]
            case Cond():
                for block in (each.then, each.otherwise):
                    found += [*touched(block.instructions), *block.outputs]
    return found
