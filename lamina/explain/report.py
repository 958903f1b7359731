"""What is said of a function: records that a program can read, and their plain text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from lamina.expr import Graph, Source
from lamina.layout import Layout
from lamina.program import Program
from lamina.trace.scope import Note

_MOST = 40  # kernels and copies in the text; all of them are in the fields


class Operation(NamedTuple):
    """What an operation of a line became.

    ===============  ===============================================================================================
    fate
    ===============  ===============================================================================================
    ``view``         a layout of memory that is there: no bytes are moved
    ``kernel``       computed in kernels, with what else they compute
    ``write``        written in place by kernels
    ``copy``         memory is copied, for the reason
    ``library``      a library call, which the evaluator computes
    ``callback``     a call of Python
    ``loop``         a loop of the program
    ``branch``       a branch of the program
    ``check``        a test that may raise
    ``nothing``      nothing is left of it to do
    ===============  ===============================================================================================
    """

    name: str
    result: str  # dtype and shape
    fate: str
    kernels: tuple[int, ...] = ()  # their numbers, from 1
    reason: str = ""
    nbytes: int = 0  # of a copy


class Line(NamedTuple):
    """A statement of the user's: where it begins, its text, what was decided there, and what it became."""

    source: Source
    text: str
    notes: tuple[Note, ...]
    operations: tuple[Operation, ...]


class Operand(NamedTuple):
    """Memory that a kernel reads or writes: what of it each index of the space names, and how many bytes at most."""

    name: str
    result: str
    layouts: tuple[Layout, ...]
    nbytes: int
    is_exact: bool  # whether just so many bytes are used, or fewer perhaps
    reason: str = ""  # why it is memory of its own, for what is no argument and no result


class Kernel(NamedTuple):
    """A loop nest: its space, which of its axes are reduced, and its memory; `within` are the loops it is in."""

    number: int
    space: tuple[int, ...]
    reduced: tuple[int, ...]
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    lines: tuple[int, ...]
    within: tuple[str, ...]


class Copy(NamedTuple):
    """Bytes that are moved, and why; by the kernel of that number, or between kernels."""

    name: str
    nbytes: int
    reason: str
    source: Source | None
    kernel: int | None = None
    within: tuple[str, ...] = ()


class Memory(NamedTuple):
    """Bytes: of what the call is given, of the results, and of what else is held while it runs."""

    given: int
    results: int
    temporary: int

    @property
    def peak(self) -> int:
        """What the call holds at most beside what it is given."""
        return self.results + self.temporary


_NONE = Memory(0, 0, 0)


class Pinned(NamedTuple):
    """A number argument whose value is part of what was compiled: another value is traced again."""

    argument: str
    value: object
    reason: str
    source: Source | None


class Fallback(NamedTuple):
    """Why a function runs as plain Python, and where."""

    reason: str
    source: Source | None


@dataclass(frozen=True, repr=False)
class Explanation:
    """What becomes of a function on arguments like these; ``str()`` is the text.

    A function that can't be traced has a `fallback`, and nothing else; of one that the evaluator runs as a whole,
    `evaluated` says why, and there is the graph.
    """

    name: str
    arguments: tuple[str, ...]
    fallback: Fallback | None = None
    lines: tuple[Line, ...] = ()
    pinned: tuple[Pinned, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    copies: tuple[Copy, ...] = ()
    memory: Memory = _NONE
    graph: Graph | None = None
    program: Program | None = None
    evaluated: str = ""

    def __repr__(self) -> str:
        return f"<Explanation of {self.name}: {len(self.kernels)} kernels, {len(self.copies)} copies>"

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _lines(explained: Explanation) -> Iterator[str]:
    head = f"{explained.name}({', '.join(explained.arguments)})"
    if explained.fallback is not None:
        yield f"{head} runs as plain Python, not compiled:"
        yield f"  {explained.fallback.reason}"
        return
    if explained.evaluated:
        yield f'{head} with compiler="native" runs in the evaluator, node by node:'
        yield f"  {explained.evaluated}"
        return
    yield f'{head} with compiler="native"'
    where = None
    width = max((len(str(line.source.line)) for line in explained.lines), default=1)
    for line in explained.lines:
        if (line.source.file, line.source.function) != where:
            where = line.source.file, line.source.function
            yield f"\n{line.source.function}, {line.source.file}"
        yield f"  {line.source.line:{width}}  {line.text}"
        for text in _said(line):
            yield f"  {'':{width}}    - {text}"
    if explained.pinned:
        yield "\nnumbers compiled in: another value is compiled again"
        for pin in explained.pinned:
            at = f" (line {pin.source.line})" if pin.source else ""
            yield f"  {pin.argument} = {pin.value!r}, for {pin.reason}{at}"
    if explained.kernels:
        yield "\nkernels"
        yield from _cut((_kernel_lines(kernel) for kernel in explained.kernels), "kernels")
    if explained.copies:
        yield "\ncopies"
        yield from _cut(([f"  {_copied(copy)}"] for copy in explained.copies), "copies")
    given, results, temporary = explained.memory
    yield "\nmemory"
    yield f"  given {_bytes(given)}; results {_bytes(results)}; temporary {_bytes(temporary)}"
    yield f"  at its peak the call holds {_bytes(explained.memory.peak)} beside what it is given"


def _cut(parts: Iterable[Iterable[str]], what: str) -> Iterator[str]:
    parts = list(parts)
    for part in parts[:_MOST]:
        yield from part
    if len(parts) > _MOST:
        yield f"  … and {len(parts) - _MOST} more {what}"


_NOTES = {
    "staged": "staged: its body is traced once for all turns",
    "unrolled": "unrolled",
    "apart": "a turn is traced apart, before the loop",
    "pinned": "compiled in",
}


def _said(line: Line) -> Iterator[str]:
    """What was decided on a line, and what its operations became, those of one fate together."""
    for note in line.notes:
        yield f"{_NOTES[note.kind]}: {note.text}" if note.text else _NOTES[note.kind]
    together: dict[tuple[str, tuple[int, ...], str, int], dict[str, int]] = {}
    for each in line.operations:
        kernels = () if each.fate == "copy" else each.kernels
        counts = together.setdefault((each.fate, kernels, each.reason, each.nbytes), {})
        counts[each.name] = counts.get(each.name, 0) + 1
    for (fate, kernels, reason, nbytes), counts in together.items():
        names = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.items())
        became = _FATES[fate].format(kernels=_numbers(kernels), bytes=_bytes(nbytes))
        yield f"{names}: {became}{_since(reason)}"
    if not line.operations and not line.notes:
        yield "nothing to do at run time"


_FATES = {
    "view": "view, no bytes moved",
    "kernel": "{kernels}",
    "write": "written in place by {kernels}",
    "copy": "copy of {bytes}",
    "library": "library call",
    "callback": "call of Python",
    "loop": "loop of the program",
    "branch": "branch of the program",
    "check": "check",
    "nothing": "nothing to do",
}


def _numbers(kernels: tuple[int, ...]) -> str:
    if len(kernels) == 1:
        return f"kernel {kernels[0]}"
    shown = ", ".join(map(str, kernels[:6]))
    return f"kernels {shown}, …" if len(kernels) > 6 else f"kernels {shown}"


def _kernel_lines(kernel: Kernel) -> Iterator[str]:
    space = ", ".join(f"{n} reduced" if axis in kernel.reduced else str(n) for axis, n in enumerate(kernel.space))
    lines = f", line{'s' * (len(kernel.lines) > 1)} {', '.join(map(str, kernel.lines))}" if kernel.lines else ""
    within = "".join(f", in the {each}" for each in kernel.within)
    if not kernel.space:
        yield f"  {kernel.number}  one element{lines}{within}"
        return
    yield f"  {kernel.number}  over [{space}]{lines}{within}"
    for verb, operands in (("reads", kernel.reads), ("writes", kernel.writes)):
        for operand in operands:
            yield f"     {verb} {_operand(operand)}"


def _operand(operand: Operand) -> str:
    layouts = ", ".join(dict.fromkeys(map(_layout, operand.layouts)))
    at_most = "" if operand.is_exact else "at most "
    size = f"{at_most}{_bytes(operand.nbytes)}"
    return f"{operand.name}: {operand.result}, {layouts}, {size}{_since(operand.reason)}"


def _layout(layout: Layout) -> str:
    if layout.is_contiguous and not layout.offset:
        return "contiguous"
    strides = f"strides ({', '.join(map(str, layout.strides))})" if layout.rank else ""
    return " ".join([*([strides] if strides else []), *([f"at {layout.offset}"] if layout.offset else [])])


def _copied(copy: Copy) -> str:
    at = f" (line {copy.source.line})" if copy.source else ""
    by = f", by kernel {copy.kernel}" if copy.kernel else ""
    within = "".join(f", each turn of the {each}" for each in copy.within)
    return f"{copy.name}: {_bytes(copy.nbytes)}{by}{within}{_since(copy.reason)}{at}"


def _since(reason: str) -> str:
    return f", since {reason}" if reason else ""


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"
