"""A planned program as a callable: stretches of native instructions are one call each, the rest runs from Python.

A loop or a branch is native when all inside it is; otherwise its body is a list of steps like the program itself.
Memory that more than one step knows, or the caller, is an array in a *slot*; what only one native function needs has
its place in that function's arena.
"""

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lamina.compilers.direct import Form
from lamina.compilers.native import entry, jit, parallel
from lamina.compilers.native.driver import Module, Segment, exchanges, touched
from lamina.compilers.native.failure import CompileFailure, function_at
from lamina.compilers.native.library import has_code
from lamina.compilers.native.types import STATUS_WORDS
from lamina.errors import anew
from lamina.evaluator import compile_graph
from lamina.expr import Expr, Graph, build
from lamina.expr.tree import operands
from lamina.layout import Layout
from lamina.program.memory import Planned
from lamina.program.record import Block, Check, Cond, Instruction, Library, Site, While, blocks_of
from lamina.program.turns import in_pairs
from lamina.roots import BEHAVED, placed
from lamina.threads import get_num_threads

Slots = list[Any]
Step = Callable[[Slots], None]


def executable(planned: Planned) -> Callable[..., list[np.ndarray]]:
    """A function of the params' arrays that gives the arrays of the program's outputs.

    Where the program writes params, its attribute `in_place` is like it, writes them, and gives the other outputs.
    """
    return _Executable(planned)


class _Executable:
    def __init__(self, planned: Planned) -> None:
        program, memory = planned.program, planned.memory
        self.memory = memory
        self.buffers = program.buffers
        self.program = program
        self.module = Module(planned, jit.vector_bytes())
        self.calls: list[_Call] = []
        parts = _parts(program.block)
        known = {memory[buffer] for buffer in (*program.params, *program.tensors, *program.block.outputs)}
        self.is_external = _external(parts, known, memory)
        self.steps = self._steps(parts)
        if self.calls:
            level = jit.QUICK if self.module.is_little else jit.LOOPS if self.module.has_scalar_loops else jit.THOROUGH
            if self.module.has_large:
                parallel.provided()  # before the code is linked, also where it was found on disk
            try:
                code = jit.compiled(self.module.key(), self.module.text, level)
            except CompileFailure:  # of an instruction
                raise
            except Exception as error:
                text = self.module.text()
                part = self.module.parts.get(function_at(error, text), "its module")
                raise CompileFailure(part, text) from error
            for call in self.calls:
                call.link(code)
        del self.module
        self.params = [memory[buffer] for buffer in program.params]
        self.tensors = [(memory[buffer], array) for buffer, array in program.tensors.items()]
        given = {*self.params, *(each for each, _ in self.tensors)}
        self.made = [
            (each, self.buffers[each].shape, self.buffers[each].dtype.numpy)
            for each in sorted(self.is_external - given)
        ]
        self.written = [program.params.index(param) for param in planned.written]
        self.in_place = self._in_place if self.written else None
        count = len(program.block.outputs) - len(self.written)
        self.outputs = [memory[buffer] for buffer in program.block.outputs[:count]]
        self.shapes = program.shapes[:count]
        self.returned = {output: self.params.index(output) for output in self.outputs if output in self.params}

    def direct(self, form: Form) -> entry.Tables | None:
        """What calls of a form need to go to the program by native code alone; `None` where they can't."""
        if len(self.steps) > 1 or self.steps != self.calls:
            return None
        tensors = {memory: np.asarray(array) for memory, array in self.tensors}
        if any(_behaved(array) is not array for array in tensors.values()):
            return None  # a copy of what it holds at each call
        call = self.calls[0] if self.calls else None
        native = entry.Native(
            call.address if call else 0,
            call.arena_bytes if call else 0,
            call.external if call else (),
            self.params,
            tensors,
            [self.memory[buffer] for buffer in self.program.block.outputs],
            self.program.shapes,
            [self.buffers[buffer].dtype.numpy for buffer in self.program.block.outputs],
            entry.may_be_long(self.program.block),
            self,
        )
        return entry.case_of(form, native)

    def __call__(self, *arguments: np.ndarray) -> list[np.ndarray]:
        given = [np.array(array, order="C") if k in self.written else array for k, array in enumerate(arguments)]
        return [*self._in_place(*given), *(given[k] for k in self.written)]

    def _in_place(self, *arguments: np.ndarray) -> list[np.ndarray]:
        slots: Slots = [None] * len(self.buffers)
        for memory, array in zip(self.params, arguments, strict=True):
            is_behaved = type(array) is np.ndarray and array.flags.num & BEHAVED == BEHAVED
            slots[memory] = array if is_behaved else _behaved(array)
        for memory, tensor in self.tensors:
            slots[memory] = _behaved(tensor)
        for memory, shape, dtype in self.made:
            slots[memory] = np.empty(shape, dtype)
        for step in self.steps:
            step(slots)
        results = []
        for output, shape in zip(self.outputs, self.shapes, strict=True):
            if output in self.returned:
                results.append(arguments[self.returned[output]])
            else:
                array = slots[output]
                results.append(array if array.shape == shape else array.reshape(shape))
        return results

    # Steps

    def _steps(self, parts: Sequence["_Part"]) -> list[Step]:
        return [self._native(part) if isinstance(part, list) else self._python(part) for part in parts]

    def _native(self, instructions: list[Instruction]) -> Step:
        known = dict.fromkeys(self.memory[buffer] for buffer in touched(instructions))
        external = [memory for memory in known if memory in self.is_external]
        segment = Segment(self.module, instructions, external, f"segment_{len(self.calls)}")
        call = _Call(segment)
        self.calls.append(call)
        return call

    def _python(self, part: tuple[Instruction, tuple[list["_Part"], ...]]) -> Step:
        instruction, inner = part
        match instruction:
            case Library():
                return self._library(instruction)
            case While():
                return self._while(instruction, *map(self._steps, inner))
            case Cond():
                return self._cond(instruction, *map(self._steps, inner))
        raise AssertionError(f"{instruction} is native")

    def _library(self, library: Library) -> Step:
        compute = compile_graph(_alone(library.node))
        operands = [(self.memory[buffer], layout) for buffer, layout in library.operands]
        results = [self.memory[buffer] for buffer in library.results]

        # a callback may keep what it is shown and what it gives, and memory is written again
        is_seen = library.kind == "callback"

        def step(slots: Slots) -> None:
            given = [_seen(slots[memory], layout) for memory, layout in operands]
            given = list(map(np.array, given)) if is_seen else given
            for memory, array in zip(results, compute(*given), strict=True):
                slots[memory] = np.array(array, order="C") if is_seen else _own(array, given)

        return step

    def _while(self, loop: While, condition: list[Step], body: list[Step]) -> Step:
        predicate = self.memory[loop.condition.outputs[0]]
        pairs = zip(loop.params, loop.body.outputs, strict=True)
        carried = {self.memory[p]: self.memory[o] for p, o in pairs if self.memory[p] != self.memory[o]}
        moves = list(exchanges(carried).items())
        given = {self.memory[buffer] for buffer in self.program.params}
        settled = [pair for pair in in_pairs(carried).items() if pair[0] in given]

        def step(slots: Slots) -> None:
            homes = [slots[param] for param, _ in settled]
            while True:
                for each in condition:
                    each(slots)
                if not slots[predicate]:
                    break
                for each in body:
                    each(slots)
                held = [slots[origin] for _, origin in moves]
                for (target, _), array in zip(moves, held, strict=True):
                    slots[target] = array
            for (param, output), home in zip(settled, homes, strict=True):
                if slots[param] is not home:
                    home[...] = slots[param]
                    slots[param], slots[output] = home, slots[param]

        return step

    def _cond(self, cond: Cond, then: list[Step], otherwise: list[Step]) -> Step:
        predicate = self.memory[cond.predicate]

        def step(slots: Slots) -> None:
            for each in then if slots[predicate] else otherwise:
                each(slots)

        return step


def _alone(node: Expr) -> Graph:
    """A graph of one node, whose operands are its params."""
    params = {each.args[0]: each for each in operands(node) if each.op == "parameter"}
    results = [build("elem", node, i) for i in range(len(node.dtype))] if node.has_several else [node]
    return Graph(tuple(params[place] for place in sorted(params)), results, (node,))


_Status = ctypes.c_int64 * STATUS_WORDS


class _Call:
    """The call of a native function."""

    def __init__(self, segment: Segment) -> None:
        self.external = segment.external
        self.failures = segment.module.failures
        self.segment = segment
        self.cells = ctypes.c_void_p * len(segment.external)
        self.arenas: list[tuple[np.ndarray, int]] = []  # those that no call is using, and where they are

    def link(self, code: jit.Code) -> None:
        """Find the function in what has been compiled."""
        self.code = code  # the function lives as long as it
        self.function = code.function(self.segment.name)
        self.address: int = ctypes.cast(self.function, ctypes.c_void_p).value or 0
        self.arena_bytes = self.segment.arena_bytes
        del self.segment  # it is all that was written

    def __call__(self, slots: Slots) -> None:
        cells = self.cells(*[id(slots[memory]) + _DATA for memory in self.external])
        status = _Status()
        if self.arena_bytes:
            try:
                arena = self.arenas.pop()
            except IndexError:
                memory = np.empty(self.arena_bytes, np.uint8)
                arena = memory, memory.ctypes.data
            failed = self.function(cells, status, arena[1], get_num_threads())
            self.arenas.append(arena)
        else:
            failed = self.function(cells, status, None, get_num_threads())
        if failed:
            raise _error(self.failures[status[0]], status[1:])


def _error(failure: Site | Check, values: Sequence[int]) -> BaseException:
    if isinstance(failure, Site):
        error: BaseException = failure.error(values)
        op = failure.what
    else:
        kind = failure.exception
        error = kind(failure.message) if isinstance(kind, type) else anew(kind)
        op = "check"
    if failure.source is not None and not getattr(error, "__notes__", None):
        error.add_note(f"lamina: in {op}, {failure.source}")
    return error


def _behaved(thing: Any) -> np.ndarray:
    """The elements of a scalar or an array of any kind, in C order and aligned; a copy where they aren't."""
    array = np.asarray(thing)
    return array if array.flags.num & BEHAVED == BEHAVED else np.array(array, order="C")


def _own(array: np.ndarray, given: Sequence[np.ndarray]) -> np.ndarray:
    """A result in memory that is no argument's, for later steps may write it."""
    is_own = type(array) is np.ndarray and array.base is None and array.flags.writeable
    is_own = is_own and array.flags.num & BEHAVED == BEHAVED and not any(array is each for each in given)
    return array if is_own else np.array(array, order="C")


def _seen(array: np.ndarray, layout: Layout) -> np.ndarray:
    """What a layout names of an array's memory, not to be written."""
    if layout.is_contiguous and layout.numel == array.size:
        view = array.reshape(layout.shape).view()
    else:
        view = placed(array, layout).view()
    view.flags.writeable = False
    return view


# Where an array object has the address of its data: native code reads it from there.
_DATA = 16


def _expect_data_address() -> None:
    probe = np.empty(3)
    if ctypes.c_void_p.from_address(id(probe) + _DATA).value != probe.ctypes.data:
        raise ImportError("NumPy's array objects have another form than lamina's native compiler knows")


_expect_data_address()


# What is native

_Part = Any  # a list of native instructions, or an instruction and the parts of its blocks


def _is_native(instruction: Instruction) -> bool:
    if isinstance(instruction, Library):
        return has_code(instruction)
    return all(_is_native(each) for block in blocks_of(instruction) for each in block.instructions)


def _parts(block: Block) -> list[_Part]:
    """A block as stretches of native instructions, and the others with the parts of their blocks."""
    parts: list[_Part] = []
    for each in block.instructions:
        if not _is_native(each):
            parts.append((each, tuple(_parts(inner) for inner in blocks_of(each))))
        elif parts and isinstance(parts[-1], list):
            parts[-1].append(each)
        else:
            parts.append([each])
    return parts


def _external(parts: Sequence[_Part], known: Iterable[int], memory: Sequence[int]) -> set[int]:
    """The memories that the caller, Python, or several native functions know."""
    external = set(known)
    owners: dict[int, int] = {}

    def visit(parts: Sequence[_Part]) -> None:
        for part in parts:
            if isinstance(part, list):
                for each in {memory[buffer] for buffer in touched(part)}:
                    if owners.setdefault(each, id(part)) != id(part):
                        external.add(each)
                continue
            instruction, inner = part
            external.update(memory[buffer] for buffer in (*instruction.reads, *instruction.writes))
            match instruction:
                case While():
                    external.update(memory[b] for b in (*instruction.params, *instruction.body.outputs))
                    external.update(memory[b] for b in instruction.condition.outputs)
                case Cond():
                    external.update(memory[b] for b in (*instruction.then.outputs, *instruction.otherwise.outputs))
            for each in inner:
                visit(each)

    visit(parts)
    return external
