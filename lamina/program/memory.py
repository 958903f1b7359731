"""Which buffers are one piece of memory: what is updated in place, what a loop carries, what has to be copied first.

Buffers are single assignment, so memory is a matter of lifetimes. An update is in place where nothing needs the old
value afterwards, and starts with a copy where something does. What a kernel computes index by index from values that
nothing needs afterwards takes their place. A loop carries memory: what it is given becomes its own where nothing else
needs it, and what a turn leaves elsewhere changes places with it at the end of the turn.

Arguments that a program writes are written in place too, if nothing can go wrong once one of them has been touched:
then an error leaves them as they were, and whoever called decides what NumPy would have left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lamina.expr import OPS, Family
from lamina.program.fuse import stages
from lamina.program.record import Block, Check, Cond, Copy, Instruction, Kernel, Library, Program, Store, Term, While
from lamina.program.turns import carried, in_pairs, written_there

_NEVER = 1 << 60
_SURE = frozenset({Family.CUMULATIVE, Family.SORTING, Family.CONTRACTION})  # ops that never raise


@dataclass
class Planned:
    """A program with its copies, and for each buffer the first one of its memory, which stands for it.

    `written` are the params whose own memory the last of the results are; none where each result is new memory.
    """

    program: Program
    memory: list[int]
    written: tuple[int, ...] = ()


def plan(program: Program) -> Planned:
    """Decide what shares memory.

    >>> import lamina
    >>> from lamina.program import fuse, lower
    >>> def last(x):
    ...     y = x * 2
    ...     y[0] = 7
    ...     return y
    >>> spec = lamina.Spec(lamina.float64, (3,))
    >>> planned = plan(fuse(lower(lamina.trace(last, spec), lambda node: True)))
    >>> print(planned.program, planned.memory[:3])
    last(%0: float64[3]):
      %1: float64[3] = kernel [3]:
        t0: float64 = %0
        t1: float64 = multiply(t0, 2.0: float64)
        %1 = t1
      %2: float64[3] = kernel []:
        %2 over %1 = 7.0: float64
      return %2 [0, 1, 1]
    """
    apart: set[int] = set()
    while program.written:
        planner = _Planner(program, program.written, apart)
        planned = planner.planned()
        if planned is None:
            break
        if not planner.exchanged:
            return planned
        apart |= planner.exchanged
    planned = _Planner(program, (), set()).planned()
    assert planned is not None
    return planned


class _Around(NamedTuple):
    """The block that a branch is in: until where each memory is needed there, where it branches, what the branch reads.

    It is asked, not copied for each branch, whose time would be that of the whole block.
    """

    until: dict[int, int]
    place: int
    read: set[int]

    def needs(self, memory: int) -> bool:
        """Whether what a memory holds is needed behind the branch."""
        return self.until.get(memory, -1) > self.place


class _Planner:
    def __init__(self, program: Program, written: tuple[int, ...], apart: set[int]) -> None:
        self.program = replace(program, buffers=[*program.buffers])
        self.written = written
        self.apart = apart  # what loops carry in memory of its own
        self.exchanged: set[int] = set()  # what loops carry in an argument's memory, and leave elsewhere
        self.partners: dict[int, int] = {}  # what loops carry, and leave where it changes places with that alone
        self.parents = list(range(len(program.buffers)))
        self.members = [{buffer} for buffer in self.parents]  # the buffers of each memory
        # memory that isn't ours to write: arguments', captured arrays', and what a loop only reads
        self.borrowed = {*program.params, *program.tensors} - {*written}
        self.until: dict[int, int] = {}  # where in the block that is being planned each memory is needed last
        self.around: tuple[_Around, ...] = ()  # the blocks that a branch is in
        self.ends = self._ends()
        self.reserved = frozenset(written)  # for their own new elements

    def planned(self) -> Planned | None:
        """The plan; `None` where the params to be written can't be, or something might stop halfway."""
        block = self.block(self.program.block, frozenset(self.program.kept))
        count = len(block.outputs) - len(self.written)
        if not set(self.written).isdisjoint(block.outputs[:count]):
            return None  # a result is what an argument was
        results = self._own(replace(block, outputs=block.outputs[:count]))
        instructions, outputs = [*results.instructions], [*results.outputs]
        for param, output in zip(self.written, block.outputs[count:], strict=True):
            if self.find(output) != self.find(param):
                if any(self.find(other) == self.find(param) for other in block.outputs[count:]):
                    return None  # arguments that have changed places
                origin, output = output, self._buffer(param)
                self.parents[output] = self.find(param)
                instructions.append(Copy(output, origin, "an argument gets its new elements"))
            outputs.append(output)
        block = Block(tuple(instructions), tuple(outputs))
        memory = [self.find(buffer) for buffer in range(len(self.program.buffers))]
        direct = {memory[param] for param in self.written}
        direct |= {memory[output] for param, output in self.partners.items() if memory[param] in direct}
        if _may_fail(block, direct, memory, set()):
            return None
        return Planned(replace(self.program, block=block), memory, self.written)

    def _buffer(self, like: int) -> int:
        """A new buffer, like another."""
        self.program.buffers.append(self.program.buffers[like])
        self.parents.append(len(self.parents))
        self.members.append({len(self.members)})
        return len(self.parents) - 1

    def _ends(self) -> dict[int, int]:
        """For what becomes an argument's new elements, the argument."""
        block = self.program.block
        bases = {
            store.buffer: store.base
            for each in block.instructions
            if isinstance(each, Kernel)
            for store in each.stores
            if store.base is not None
        }
        ends = {}
        for param, buffer in zip(self.written, block.outputs[len(block.outputs) - len(self.written) :], strict=True):
            while buffer in bases:
                buffer = bases[buffer]
            ends[buffer] = param
        return ends

    def find(self, buffer: int) -> int:
        while self.parents[buffer] != buffer:
            self.parents[buffer] = self.parents[self.parents[buffer]]
            buffer = self.parents[buffer]
        return buffer

    def block(self, block: Block, after: frozenset[int] = frozenset()) -> Block:
        """A block with copies where memory can't be shared; `after` is what is needed behind it, beside `around`."""
        last: dict[int, int] = {}
        for place, each in enumerate(block.instructions):
            for buffer in each.reads:
                last[buffer] = place
        for buffer in (*block.outputs, *after):
            last[buffer] = _NEVER
        outer, self.until = self.until, {}
        for buffer, place in last.items():
            self.until[self.find(buffer)] = max(place, self.until.get(self.find(buffer), -1))
        done: list[Instruction] = []
        for place, each in enumerate(block.instructions):
            match each:
                case Kernel():
                    for store in each.stores:
                        if store.base is not None:
                            self._start(store, place, last, done, each)
                    self._take_over(each, place, last)
                    stores = tuple(store for store in each.stores if not self._is_there(store))
                    if stores:
                        done.append(replace(each, stores=stores))
                case While():
                    self._while(each, last, place, done)
                case Cond():
                    done.append(self._cond(each, last, place))
                case _:
                    done.append(each)
        self.until = outer
        return Block(tuple(done), block.outputs)

    def _own(self, block: Block) -> Block:
        """The program's block, in which no two results are one memory, and only a param's is a param's."""
        given = (*self.program.params, *self.program.tensors)
        taken = {self.find(buffer) for buffer in given}
        results = tuple(dict.fromkeys(block.outputs))
        stays = [output in given for output in results]
        apart = self._apart(replace(block, outputs=results), stays, taken, "a result is memory of its own")
        places = dict(zip(results, apart.outputs, strict=True))
        return replace(apart, outputs=tuple(places[output] for output in block.outputs))

    def _apart(self, block: Block, stays: Sequence[bool], taken: set[int], reason: str) -> Block:
        """A block whose outputs have memories of their own, none of them taken already, but those that stay."""
        copies, outputs = [], []
        for output, is_kept in zip(block.outputs, stays, strict=True):
            memory = self.find(output)
            if memory in taken and not is_kept:
                origin, output = output, self._buffer(output)
                copies.append(Copy(output, origin, reason))
            taken.add(memory)
            outputs.append(output)
        return Block((*block.instructions, *copies), tuple(outputs))

    def _is_free(self, buffer: int, place: int) -> bool:
        """Whether a buffer's memory may be written: it is ours, and nothing needs what it holds after this place."""
        memory = self.find(buffer)
        is_needed = self.until.get(memory, -1) > place or any(around.needs(memory) for around in self.around)
        return memory not in self.borrowed and not is_needed

    def _take(self, buffer: int, memory: int, last: dict[int, int]) -> None:
        """From now on the buffer is of this memory."""
        memory = self.find(memory)
        self.until[memory] = max(self.until.get(memory, -1), last.get(buffer, -1))
        old = self.find(buffer)
        if old != memory:
            self.parents[old] = memory
            self.members[memory] |= self.members[old]

    def _start(self, store: Store, place: int, last: dict[int, int], done: list[Instruction], kernel: Kernel) -> None:
        assert store.base is not None
        if self._is_free(store.base, place):
            self._take(store.buffer, store.base, last)
        else:
            is_ours = self.find(store.base) not in self.borrowed
            reason = "it is needed after the update" if is_ours else "it isn't ours to write"
            done.append(Copy(store.buffer, store.base, reason, kernel.source))

    def _take_over(self, kernel: Kernel, place: int, last: dict[int, int]) -> None:
        """Give what a kernel fills the memory of what only it needs, where it reads that index by index."""
        if kernel.is_ordered:
            return
        taken = {self.find(store.buffer) for store in kernel.stores if store.base is not None}
        loads: dict[int, list[Term]] = {}  # of each memory
        for term in kernel.terms:
            if term.op == "load":
                loads.setdefault(self.find(term.static[0]), []).append(term)
        stage = stages(kernel.stores, kernel.reduced)
        latest = max(stage.values(), default=0)
        for store in kernel.stores:
            # in an earlier pass over a row, the next pass would read what this one has written
            is_whole = store.layout.numel == self.program.buffers[store.buffer].numel
            if store.base is not None or not is_whole or stage[store.term] < latest:
                continue
            own = sorted(store.term.reads - self.reserved, key=lambda buffer: buffer not in kernel.writes)
            for buffer in [self.ends[store.buffer], *own] if store.buffer in self.ends else own:
                memory = self.find(buffer)
                is_seen = any(memory in around.read for around in self.around)
                is_free = self._is_free(buffer, place) and not is_seen and memory not in taken
                is_in_place = all(_is_same_place(load, store) for load in loads.get(memory, ()))
                if is_free and is_in_place and self._is_alike(store.buffer, memory):
                    self._take(store.buffer, buffer, last)
                    taken.add(memory)
                    break

    def _is_there(self, store: Store) -> bool:
        """Whether what fills a buffer is in its memory already."""
        term = store.term.args[0] if store.term.op == "copy" else store.term
        is_load = store.base is None and term.op == "load" and not term.args
        return is_load and term.static[1] == store.layout and self.find(term.static[0]) == self.find(store.buffer)

    def _is_alike(self, buffer: int, other: int) -> bool:
        """Whether two buffers are arrays of as many elements of one dtype."""
        own, given = self.program.buffers[buffer], self.program.buffers[other]
        return own.dtype == given.dtype and own.numel == given.numel != 1

    def _while(self, loop: While, last: dict[int, int], place: int, done: list[Instruction]) -> None:
        outside = self.borrowed, self.around, self.reserved
        self.borrowed = set(self.borrowed)
        held = [self.find(initial) for initial in loop.initial]
        for initial, param, output in zip(loop.initial, loop.params, loop.body.outputs, strict=True):
            if output == param:  # the loop only reads it
                self._take(param, initial, last)
                self.borrowed.add(self.find(param))
            elif self._is_free(initial, place) and held.count(self.find(initial)) == 1 and param not in self.apart:
                self._take(param, initial, last)
            else:
                done.append(Copy(param, initial, "the loop changes it", loop.source))
        self.around, self.reserved = (), frozenset()
        turn = loop.body
        kept: frozenset[int] = frozenset()  # what a turn computes from, and writes elsewhere
        for initial, param, output in zip(loop.initial, loop.params, loop.body.outputs, strict=True):
            there = written_there(turn, param, output)
            if there is not None:
                turn, kept = there, kept | {param}
                done.append(Copy(output, initial, "a turn writes a part of it, and computes that from its neighbours"))
        loop = replace(loop, body=turn)
        condition = self.block(loop.condition, frozenset((*loop.params, *loop.body.reads)))
        body = self.block(loop.body, (loop.condition.reads - set(loop.params)) | kept)
        self.borrowed, self.around, self.reserved = outside
        stays = [self.find(p) == self.find(o) for p, o in zip(loop.params, body.outputs, strict=True)]
        taken = {self.find(param) for param, is_kept in zip(loop.params, stays, strict=True) if is_kept}
        taken |= self.borrowed | {self.find(buffer) for buffer in _written(condition)}
        body = self._apart(body, stays, taken, "a loop carries it on its own")
        loop = replace(loop, condition=condition, body=body)
        done.append(loop)
        direct = {self.find(buffer) for buffer in self.written}
        pairs = in_pairs(carried(loop, self.find, self.program.buffers))
        moved = []
        for result, param, output in zip(loop.results, loop.params, body.outputs, strict=True):
            is_there = self.find(param) == self.find(output) or self.program.buffers[param].numel == 1
            if self.find(param) in pairs:
                self.partners[param] = output
            if is_there or param in self.partners:
                self._take(result, param, last)
            else:
                moved.append((result, param))
        for result, param in moved:  # behind the others, which say how long a memory is needed
            if self.find(param) in direct:
                self.exchanged.add(param)
            if result in self.ends and self._is_free(self.ends[result], place):
                self._take(result, self.ends[result], last)
            done.append(Copy(result, param, "the turns of the loop change places", loop.source))

    def _cond(self, cond: Cond, last: dict[int, int], place: int) -> Cond:
        outside = self.around
        self.around = (*outside, _Around(self.until, place, {self.find(buffer) for buffer in cond.reads}))
        then, otherwise = self.block(cond.then), self.block(cond.otherwise)
        self.around = outside
        thens, others = list(then.instructions), list(otherwise.instructions)
        own = _written(then), _written(otherwise)
        for result, a, b in zip(cond.results, then.outputs, otherwise.outputs, strict=True):
            if self.find(a) == self.find(b) and self._is_free(a, place):
                self._take(result, a, last)
                continue
            for output, instructions, written in ((a, thens, own[0]), (b, others, own[1])):
                is_own = self.members[self.find(output)] <= written
                if is_own and self.find(output) != self.find(result):
                    self._take(output, result, last)
                else:
                    instructions.append(Copy(result, output, "the branches give different memory", cond.source))
        return replace(cond, then=Block(tuple(thens), then.outputs), otherwise=Block(tuple(others), otherwise.outputs))


def _may_fail(block: Block, direct: set[int], memory: Sequence[int], touched: set[int]) -> bool:
    """Whether something may go wrong when a memory of these has been written; `touched` is where one has."""
    for each in block.instructions:
        match each:
            case While():
                for _ in range(2):  # a turn comes after another
                    if any(_may_fail(inner, direct, memory, touched) for inner in (each.condition, each.body)):
                        return True
            case Cond():
                if any(_may_fail(inner, direct, memory, touched) for inner in (each.then, each.otherwise)):
                    return True
            case _:
                is_sure = _is_sure(each)
                if touched and not is_sure:
                    return True
                touched |= direct & {memory[buffer] for buffer in each.writes}
                is_gradual = isinstance(each, Kernel) and (each.space or len(each.stores) > 1)
                if touched and not is_sure and is_gradual:
                    return True
    return False


def _is_sure(instruction: Kernel | Library | Copy | Check) -> bool:
    match instruction:
        case Kernel():
            return not instruction.may_fail
        case Library(node=node, kind=kind):
            return kind == "library call" and node.op in OPS and OPS[node.op].family in _SURE
        case Copy():
            return True
    return False


def _written(block: Block) -> set[int]:
    """Every buffer that a block fills, inner blocks included."""
    found: set[int] = set()
    for each in block.instructions:
        found.update(each.writes)
        match each:
            case While():
                found |= {*each.params} | _written(each.condition) | _written(each.body)
            case Cond():
                found |= _written(each.then) | _written(each.otherwise)
    return found


def _is_same_place(load: Term, store: Store) -> bool:
    """Whether a load reads, index by index, what the store fills; the elements of another dtype are others."""
    return not load.args and load.static[1] == store.layout and load.dtype is store.term.dtype
