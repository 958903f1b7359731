"""What will run: buffers, and the instructions that fill them, in order. Flat and printable.

A `Program` is static single assignment over buffers: each is filled by one instruction, is contiguous, and never
changes, so that instructions may be moved and merged by looking at what they read. An ``update`` fills a new buffer
that starts as an old one, its *base*; `lamina.program.memory` decides afterwards which buffers are one piece of memory.

A `Kernel` is a loop nest: an iteration space, some of its axes reduced, and stores of `Term`s. A term is one scalar of
each index of the space: a load from a buffer through a layout over the space, or an op of terms.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from lamina.dtype import DType
from lamina.expr import Expr, Source
from lamina.layout import Layout
from lamina.layout.move import Movement

Shape = tuple[int, ...]

# The reductions that a term may be; each combines its operand over the reduced axes of its kernel.
REDUCTIONS = frozenset(
    {
        *("sum", "prod", "max", "min", "any", "all", "bitwise_and_reduce", "bitwise_or_reduce", "bitwise_xor_reduce"),
        *("argmax", "argmin"),  # of an element and its place
    }
)
# The op that combines two elements of a reduction.
COMBINE: dict[str, str] = {
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
    "bitwise_and_reduce": "bitwise_and",
    "bitwise_or_reduce": "bitwise_or",
    "bitwise_xor_reduce": "bitwise_xor",
}
# Ops that cost more than a few additions: their values are computed once.
CHEAP = frozenset(
    {
        *("load", "constant", "position", "within", "with", "copy", "cast", "bitcast", "negative", "abs", "square"),
        *("add", "subtract", "multiply", "maximum", "minimum", "where", "clip", "bitwise_invert", "logical_not"),
        *("bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite"),
    }
)


class Site(NamedTuple):
    """Where an index may be out of range, or a library call fail: what the error says of it, and the user's line.

    The message has a place for each of the numbers: which of the args of the ``within``, a factor, and a term.
    """

    message: str
    numbers: tuple[tuple[int, int, int], ...]
    source: Source | None
    kind: type[Exception] = IndexError
    what: str = "an index"

    def error(self, values: Sequence[int]) -> Exception:
        """The error for these values of the args."""
        return self.kind(self.message.format(*(factor * values[i] + term for i, factor, term in self.numbers)))


class Term:
    """A scalar of a kernel, one for each index of its space. Equal terms of one program are one object.

    =============  ==========================================================================================
    op             static
    =============  ==========================================================================================
    ``load``       ``(buffer, layout, strides)``: the element at the layout's position, plus each arg's value
                   times its stride; an arg without a stride (None) is a condition: where it is false nothing is
                   read, and the value is any
    ``constant``   ``(number,)``
    ``position``   ``(layout,)``: the layout's position itself
    ``within``     ``(low, high, site)``: the first arg; where it isn't in the range the program fails at the site,
                   with what the args are
    ``with``       ``()``: the first arg, once the others have been computed
    =============  ==========================================================================================

    Any other is an elementwise op of the op table, or one of `REDUCTIONS`. A term is *uniform* where it is one number
    for the whole space: it is computed once, whatever it takes.
    """

    __slots__ = ("args", "dtype", "is_cheap", "is_uniform", "op", "reads", "static", "weight")

    def __init__(self, op: str, args: tuple["Term", ...], dtype: DType, static: tuple[Any, ...]) -> None:
        self.op = op
        self.args = args
        self.dtype = dtype
        self.static = static
        self.is_uniform: bool = op not in REDUCTIONS and all(arg.is_uniform for arg in args)
        if op in ("load", "position"):
            self.is_uniform = self.is_uniform and not any(static[1 if op == "load" else 0].strides)
        each = args if self.is_uniform else [arg for arg in args if not arg.is_uniform]
        self.weight: int = 1 + len(args) - len(each) + sum([arg.weight for arg in each])
        self.is_cheap: bool = op in CHEAP and self.weight <= 12 and all(arg.is_cheap for arg in each)
        reads = frozenset(static[:1]) if op == "load" else frozenset()
        self.reads: frozenset[int] = reads.union(*[arg.reads for arg in args]) if args else reads


Shifts = tuple[tuple[Term, int | None], ...]  # terms and their strides; None for a condition


class TooLarge(Exception):
    """A graph whose program would have more buffers than it is worth to compile; the message says so."""


class Terms:
    """The terms of one program, each made once."""

    def __init__(self) -> None:
        self._made: dict[Any, Term] = {}
        self.became: dict[Term, dict[Term, None]] = {}  # what each was moved or merged into, for who explains it

    def make(self, op: str, args: tuple[Term, ...], dtype: DType, static: tuple[Any, ...] = ()) -> Term:
        """The term of these."""
        # 1, True and 1.0 are equal in Python, and so are 0.0 and -0.0
        key = (op, args, dtype, repr(static[0]) if op == "constant" else static)
        term = self._made.get(key)
        if term is None:
            term = self._made[key] = Term(op, args, dtype, static)
        return term

    def constant(self, number: Any, dtype: DType) -> Term:
        """A Python number of a dtype."""
        return self.make("constant", (), dtype, (number,))

    def load(self, buffer: int, dtype: DType, layout: Layout) -> Term:
        """The elements of a buffer that a layout names."""
        return self.make("load", (), dtype, (buffer, layout, ()))

    def moved(self, term: Term, *movements: Movement) -> Term | None:
        """The term over the space that movements make of its own; `None` where a layout can't say it."""
        done: dict[Term, Term] = {}
        for each in in_order([term]):
            static = each.static
            if each.op in ("load", "position"):
                k = 1 if each.op == "load" else 0
                layout: Layout | None = static[k]
                for movement in movements:
                    layout = layout and layout.move(movement)
                if layout is None:
                    return None
                static = (*static[:k], layout, *static[k + 1 :])
            done[each] = self.make(each.op, tuple([done[arg] for arg in each.args]), each.dtype, static)
            self.note(each, done[each])
        return done[term]

    def replaced(self, term: Term, replacements: dict[Term, Term]) -> Term:
        """The term with others in place of some of its terms."""
        done: dict[Term, Term] = {}
        for each in in_order([term]):
            new = replacements.get(each)
            if new is None:
                new = self.make(each.op, tuple([done[arg] for arg in each.args]), each.dtype, each.static)
                self.note(each, new)
            done[each] = new
        return done[term]

    def note(self, old: Term, new: Term) -> None:
        """That a term became another one."""
        if new is not old and old.op != "constant":
            self.became.setdefault(old, {})[new] = None


def in_order(roots: Iterable[Term]) -> list[Term]:
    """Each term that the roots need, once, after its args."""
    order: dict[Term, None] = {}
    stack = list(roots)[::-1]
    while stack:
        term = stack[-1]
        if term in order:
            stack.pop()
            continue
        missing = [arg for arg in term.args if arg not in order]
        if missing:
            stack.extend(missing[::-1])
        else:
            order[term] = None
            stack.pop()
    return list(order)


class Buffer(NamedTuple):
    """Contiguous memory: a dtype, and the shape of what fills it."""

    dtype: DType
    shape: Shape

    @property
    def numel(self) -> int:
        """How many elements it has."""
        return Layout.contiguous(self.shape).numel

    @property
    def nbytes(self) -> int:
        """How many bytes it takes, an element of a packed dtype being one of NumPy's."""
        return self.numel * self.dtype.numpy.itemsize


class Store(NamedTuple):
    """A term that fills a buffer, or, with a `base`, a part of one that starts as the base.

    The layout is over the whole space of the kernel, or over its kept axes for what a reduction leaves; `shifts` are
    terms that move it, each times its stride, or, without one, say where the store is.
    """

    term: Term
    buffer: int
    layout: Layout
    base: int | None = None
    shifts: Shifts = ()


@dataclass(frozen=True)
class Kernel:
    """A loop nest over a space, of whose axes some are reduced.

    An axis may have a length, a uniform term: then the nest goes so far along it, at most to the extent. One that is
    ordered goes through its space in C order, an element at a time, and may read what it has written.
    """

    space: Shape
    reduced: tuple[int, ...]
    stores: tuple[Store, ...]
    source: Source | None = None
    is_ordered: bool = False
    lengths: tuple[tuple[int, Term], ...] = ()  # by axis

    @cached_property
    def kept(self) -> Shape:
        """The extents of the axes that aren't reduced."""
        return tuple(extent for axis, extent in enumerate(self.space) if axis not in self.reduced)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """What it computes, each after its args."""
        ends = [length for _, length in self.lengths]
        stored = (each for store in self.stores for each in (*(by for by, _ in store.shifts), store.term))
        return tuple(in_order([*ends, *stored]))

    @cached_property
    def may_fail(self) -> bool:
        """Whether an index or a length of it may be out of range."""
        return any(term.op == "within" for term in self.terms)

    @cached_property
    def reads(self) -> frozenset[int]:
        """The buffers it reads that it doesn't fill itself, bases included."""
        return self.loads - frozenset(self.writes)

    @cached_property
    def loads(self) -> frozenset[int]:
        """All buffers it reads, bases included."""
        read: frozenset[int] = frozenset().union(*[length.reads for _, length in self.lengths])
        for store in self.stores:
            read |= store.term.reads.union(*[by.reads for by, _ in store.shifts])
            if store.base is not None:
                read |= {store.base}
        return read

    @cached_property
    def writes(self) -> tuple[int, ...]:
        """The buffers it fills."""
        return tuple(store.buffer for store in self.stores)


@dataclass(frozen=True)
class Library:
    """A node that the evaluator computes, on views of buffers; `kind` says what it is: a library call or a callback.

    One that has a length, an integer in a buffer, takes and gives so many elements of a line, where it has native code.
    """

    node: Expr
    operands: tuple[tuple[int, Layout], ...]
    results: tuple[int, ...]
    kind: str
    source: Source | None = None
    length: int | None = None

    @property
    def reads(self) -> frozenset[int]:
        """The buffers it reads."""
        ends = () if self.length is None else (self.length,)
        return frozenset((*ends, *(buffer for buffer, _ in self.operands)))

    @property
    def writes(self) -> tuple[int, ...]:
        """The buffers it fills."""
        return self.results


@dataclass(frozen=True)
class Check:
    """Raises where a predicate is false."""

    predicate: int
    exception: Any
    message: str
    source: Source | None = None

    @property
    def reads(self) -> frozenset[int]:
        """The predicate."""
        return frozenset({self.predicate})

    writes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Block:
    """Instructions, and the buffers that they are for."""

    instructions: tuple["Instruction", ...]
    outputs: tuple[int, ...]

    @property
    def reads(self) -> frozenset[int]:
        """What it needs from outside."""
        read: frozenset[int] = frozenset(self.outputs)
        for instruction in reversed(self.instructions):
            read = (read - frozenset(instruction.writes)) | instruction.reads
        return read


@dataclass(frozen=True)
class Copy:
    """One buffer starts as a copy of another, for a reason."""

    target: int
    origin: int
    reason: str
    source: Source | None = None

    @property
    def reads(self) -> frozenset[int]:
        """What is copied."""
        return frozenset({self.origin})

    @property
    def writes(self) -> tuple[int, ...]:
        """The copy."""
        return (self.target,)


@dataclass(frozen=True)
class While:
    """While the condition's one output is true, the params take the values of the body's outputs.

    The body may read what the condition has computed. The results are what the params hold in the end.
    """

    initial: tuple[int, ...]
    params: tuple[int, ...]
    condition: Block
    body: Block
    results: tuple[int, ...]
    source: Source | None = None

    @cached_property
    def reads(self) -> frozenset[int]:
        """The initial values, and captured arrays."""
        inside = frozenset(each for instruction in self.condition.instructions for each in instruction.writes)
        inner = self.condition.reads | (self.body.reads - inside)
        return frozenset(self.initial) | (inner - frozenset(self.params))

    @property
    def writes(self) -> tuple[int, ...]:
        """The results."""
        return self.results


@dataclass(frozen=True)
class Cond:
    """The outputs of one of two blocks."""

    predicate: int
    then: Block
    otherwise: Block
    results: tuple[int, ...]
    source: Source | None = None

    @cached_property
    def reads(self) -> frozenset[int]:
        """The predicate, and what either block needs."""
        return frozenset({self.predicate}) | self.then.reads | self.otherwise.reads

    @property
    def writes(self) -> tuple[int, ...]:
        """The results."""
        return self.results


class Kept(NamedTuple):
    """Why a value is in a buffer of its own, the node that asked for it (`None` for a result), and the value's line."""

    reason: str
    node: Expr | None
    source: Source | None


class Origins:
    """Where the parts of a program come from, for who explains it: nothing of it decides what runs.

    Attributes
    ----------
    values : what each node of the graph is: a term for each of its results, each time that a block needs it.
    filled : the term that a kernel fills a buffer with, before kernels are merged.
    kept : why a value is in a buffer of its own, by buffer.
    """

    def __init__(self) -> None:
        self.values: dict[Expr, list[tuple[Term, ...]]] = {}
        self.filled: dict[int, Term] = {}
        self.kept: dict[int, Kept] = {}


Instruction = Kernel | Library | Copy | Check | While | Cond


@dataclass(repr=False)
class Program:
    """A graph as instructions: buffers by number, the params', captured arrays by buffer, and the block that runs."""

    name: str
    buffers: list[Buffer]
    params: tuple[int, ...]
    tensors: dict[int, Any]
    block: Block
    terms: Terms
    kept: set[int]  # filled for an effect's sake
    origins: Origins
    shapes: tuple[Shape, ...]  # of the results, whose buffers may have others
    written: tuple[int, ...] = ()  # the params whose new elements the last of the results are

    def keep(self, dtype: DType, shape: Shape, why: str, source: Source | None) -> int:
        """A new buffer, and why there is one."""
        self.buffers.append(Buffer(dtype, shape))
        self.origins.kept[len(self.buffers) - 1] = Kept(why, None, source)
        return len(self.buffers) - 1

    def __repr__(self) -> str:
        return f"<Program {self.name}: {len(self.buffers)} buffers>"

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def instructions_of(block: Block) -> Iterator[Instruction]:
    """Every instruction of a block, those of inner blocks included."""
    for instruction in block.instructions:
        yield instruction
        for inner in blocks_of(instruction):
            yield from instructions_of(inner)


def blocks_of(instruction: Instruction) -> tuple[Block, ...]:
    """The inner blocks of an instruction."""
    match instruction:
        case While(condition=condition, body=body):
            return condition, body
        case Cond(then=then, otherwise=otherwise):
            return then, otherwise
    return ()


def with_blocks(instruction: Instruction, change: Callable[[Block], Block]) -> Instruction:
    """The instruction with its inner blocks changed; one that has none is as it was."""
    match instruction:
        case While(condition=condition, body=body):
            return replace(instruction, condition=change(condition), body=change(body))
        case Cond(then=then, otherwise=otherwise):
            return replace(instruction, then=change(then), otherwise=change(otherwise))
    return instruction


def with_kernels(block: Block, change: Callable[[Kernel], Iterable[Instruction]]) -> Block:
    """The block with what a change gives in the place of each kernel, those of inner blocks included."""
    done: list[Instruction] = []
    for each in block.instructions:
        if isinstance(each, Kernel):
            done += change(each)
        else:
            done.append(with_blocks(each, lambda inner: with_kernels(inner, change)))
    return Block(tuple(done), block.outputs)


# Text


def _lines(program: Program) -> Iterator[str]:
    def describe(buffer: int) -> str:
        dtype, shape = program.buffers[buffer]
        return f"%{buffer}: {dtype}[{', '.join(map(str, shape))}]"

    yield f"{program.name}({', '.join(map(describe, program.params))}):"
    for buffer in program.tensors:
        yield f"  {describe(buffer)} = captured"
    yield from _block_lines(program.block, describe, "  ", "return")


def _space_text(kernel: Kernel) -> str:
    ends = dict(kernel.lengths)
    names = _term_names(kernel)
    return ", ".join(
        f"{n}{f' to {names[ends[axis]]}' if axis in ends else ''}{' reduced' if axis in kernel.reduced else ''}"
        for axis, n in enumerate(kernel.space)
    )


def _names(buffers: Iterable[int]) -> str:
    return ", ".join(f"%{buffer}" for buffer in buffers)


def _block_lines(block: Block, describe: Any, indent: str, last: str) -> Iterator[str]:
    for each in block.instructions:
        results = ", ".join(map(describe, each.writes))
        match each:
            case Kernel():
                yield f"{indent}{results} = kernel [{_space_text(each)}]:"
                yield from _kernel_lines(each, f"{indent}  ")
            case Library():
                shown = ", ".join(f"%{buffer}{_shown(layout)}" for buffer, layout in each.operands)
                end = "" if each.length is None else f" to %{each.length}"
                yield f"{indent}{results}{' = ' if results else ''}{each.kind} {each.node.op}({shown}){end}"
            case Copy():
                yield f"{indent}{results} = copy %{each.origin}: {each.reason}"
            case Check():
                kind = each.exception if isinstance(each.exception, type) else type(each.exception)
                yield f"{indent}check %{each.predicate}: {kind.__name__}"
            case While():
                yield f"{indent}{results} = while ({_names(each.initial)}) as ({_names(each.params)}):"
                yield f"{indent}  condition:"
                yield from _block_lines(each.condition, describe, f"{indent}    ", "return")
                yield f"{indent}  body:"
                yield from _block_lines(each.body, describe, f"{indent}    ", "return")
            case Cond():
                yield f"{indent}{results} = cond %{each.predicate}:"
                yield f"{indent}  then:"
                yield from _block_lines(each.then, describe, f"{indent}    ", "return")
                yield f"{indent}  otherwise:"
                yield from _block_lines(each.otherwise, describe, f"{indent}    ", "return")
    yield f"{indent}{last} {_names(block.outputs)}".rstrip()


def _shown(layout: Layout) -> str:
    """Nothing for what is contiguous, else strides and offset."""
    if layout.is_contiguous and not layout.offset:
        return ""
    return f"[{', '.join(map(str, layout.strides))}{f' + {layout.offset}' if layout.offset else ''}]"


def _term_names(kernel: Kernel) -> dict[Term, str]:
    named = [term for term in kernel.terms if term.op != "constant"]
    constants = {term: f"{term.static[0]!r}: {term.dtype}" for term in kernel.terms if term.op == "constant"}
    return constants | {term: f"t{number}" for number, term in enumerate(named)}


def _kernel_lines(kernel: Kernel, indent: str) -> Iterator[str]:
    names = _term_names(kernel)
    for term in kernel.terms:
        if term.op != "constant":
            yield f"{indent}{names[term]}: {term.dtype} = {_term_text(term, [names[arg] for arg in term.args])}"
    for store in kernel.stores:
        moved = _moved_text((names[by], stride) for by, stride in store.shifts)
        base = "" if store.base is None else f" over %{store.base}"
        yield f"{indent}%{store.buffer}{_shown(store.layout)}{moved}{base} = {names[store.term]}"


def _moved_text(shifts: Iterable[tuple[str, int | None]]) -> str:
    return "".join(f" where {by}" if stride is None else f" + {stride}*{by}" for by, stride in shifts)


def _term_text(term: Term, args: Sequence[str]) -> str:
    match term.op:
        case "load":
            buffer, layout, strides = term.static
            moved = _moved_text(zip(args, strides, strict=True))
            return f"%{buffer}{_shown(layout)}{moved}"
        case "position":
            return f"position{_shown(term.static[0])}"
        case "within":
            return f"within({args[0]}, {term.static[0]}, {term.static[1]})"
    return f"{term.op}({', '.join(args)})"
