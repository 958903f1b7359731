"""Which buffers are one piece of memory: what is updated in place, what a loop carries, what has to be copied first.

Buffers are single assignment, so memory is a matter of lifetimes. An update is in place where nothing needs the old
value afterwards, and starts with a copy where something does. A loop carries memory: what it is given becomes its own
where nothing else needs it, and what a turn leaves elsewhere changes places with it at the end of the turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lamina.program.record import Block, Cond, Copy, Instruction, Kernel, Program, Store, While

_NEVER = 1 << 60


@dataclass
class Planned:
    """A program with its copies, and for each buffer the first one of its memory, which stands for it."""

    program: Program
    memory: list[int]


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
    planner = _Planner(program)
    block = planner.own(planner.block(program.block, frozenset(program.kept)))
    return Planned(replace(program, block=block), [planner.find(buffer) for buffer in range(len(program.buffers))])


class _Planner:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.parents = list(range(len(program.buffers)))
        self.members = [{buffer} for buffer in self.parents]  # the buffers of each memory
        # memory that isn't ours to write: arguments', captured arrays', and what a loop only reads
        self.borrowed = {*program.params, *program.tensors}
        self.until: dict[int, int] = {}  # where in the block that is being planned each memory is needed last

    def find(self, buffer: int) -> int:
        while self.parents[buffer] != buffer:
            self.parents[buffer] = self.parents[self.parents[buffer]]
            buffer = self.parents[buffer]
        return buffer

    def block(self, block: Block, after: frozenset[int]) -> Block:
        """A block with copies where memory can't be shared; `after` is what is needed behind it."""
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
                    done.append(each)
                case While():
                    self._while(each, last, place, done)
                case Cond():
                    done.append(self._cond(each, last, place))
                case _:
                    done.append(each)
        self.until = outer
        return Block(tuple(done), block.outputs)

    def own(self, block: Block) -> Block:
        """The program's block, in which no two results are one memory, and only a param's is a param's."""
        given = (*self.program.params, *self.program.tensors)
        taken = {self.find(buffer) for buffer in given}
        stays = [output in (*given, *block.outputs[:place]) for place, output in enumerate(block.outputs)]
        return self._apart(block, stays, taken, "a result is memory of its own")

    def _apart(self, block: Block, stays: Sequence[bool], taken: set[int], reason: str) -> Block:
        """A block whose outputs have memories of their own, none of them taken already, but those that stay."""
        copies, outputs = [], []
        for output, is_kept in zip(block.outputs, stays, strict=True):
            memory = self.find(output)
            if memory in taken and not is_kept:
                origin, output = output, len(self.program.buffers)
                self.program.buffers.append(self.program.buffers[origin])
                self.parents.append(output)
                self.members.append({output})
                copies.append(Copy(output, origin, reason))
            taken.add(memory)
            outputs.append(output)
        return Block((*block.instructions, *copies), tuple(outputs))

    def _is_free(self, buffer: int, place: int) -> bool:
        """Whether a buffer's memory may be written: it is ours, and nothing needs what it holds after this place."""
        memory = self.find(buffer)
        return memory not in self.borrowed and self.until.get(memory, -1) <= place

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

    def _while(self, loop: While, last: dict[int, int], place: int, done: list[Instruction]) -> None:
        borrowed = set(self.borrowed)
        for initial, param, output in zip(loop.initial, loop.params, loop.body.outputs, strict=True):
            if output == param:  # the loop only reads it
                self._take(param, initial, last)
                self.borrowed.add(self.find(param))
            elif self._is_free(initial, place) and loop.initial.count(initial) == 1:
                self._take(param, initial, last)
            else:
                done.append(Copy(param, initial, "the loop changes it", loop.source))
        condition = self.block(loop.condition, frozenset((*loop.params, *loop.body.reads)))
        body = self.block(loop.body, loop.condition.reads - set(loop.params))
        self.borrowed = borrowed
        stays = [self.find(p) == self.find(o) for p, o in zip(loop.params, body.outputs, strict=True)]
        taken = {self.find(param) for param, is_kept in zip(loop.params, stays, strict=True) if is_kept}
        taken |= self.borrowed | {self.find(buffer) for buffer in _written(condition)}
        body = self._apart(body, stays, taken, "a loop carries it on its own")
        done.append(replace(loop, condition=condition, body=body))
        for result, param, output in zip(loop.results, loop.params, body.outputs, strict=True):
            if self.find(param) == self.find(output) or self.program.buffers[param].numel == 1:
                self._take(result, param, last)
            else:
                done.append(Copy(result, param, "the turns of the loop change places", loop.source))

    def _cond(self, cond: Cond, last: dict[int, int], place: int) -> Cond:
        live = frozenset(buffer for buffer, end in last.items() if end > place)
        then, otherwise = self.block(cond.then, live), self.block(cond.otherwise, live)
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
