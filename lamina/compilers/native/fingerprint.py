"""What determines the code of a module, as a text that is found before any of the code is written.

All that is in a program's instructions is in it, but for what only an error or an explanation would say of them; and
lamina's own sources, so that code of another version of them is never taken.
"""

import functools
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from lamina.dtype import DType
from lamina.expr import Source
from lamina.layout import Layout
from lamina.program.record import Block, Check, Cond, Copy, Instruction, Kernel, Library, Site, Store, Term, While

_PLAIN = (bool, int, float, complex, str, type(None))  # whose `repr` says all of them
# Who writes code, and the rooms that say what it is written from.
_WRITERS = ("compilers/native", "program", "layout", "dtype.py", "threads.py")


class Unforeseen(Exception):
    """Something in a program that has no text here."""


class Fingerprint:
    """The text of instructions, line by line, with the numbers of failures, and the functions of library calls."""

    def __init__(self, failure: Callable[[Site | Check], int], library: Callable[[Library], str]) -> None:
        self._failure = failure
        self._library = library
        self._terms: dict[Term, int] = {}
        self._layouts: dict[Layout, str] = {}
        self._lines = [sources()]

    def add(self, thing: Any) -> None:
        """One more line."""
        self._lines.append(self._text(thing))

    def instructions(self, instructions: Iterable[Instruction]) -> None:
        """Lines of these instructions. Raises `Unforeseen` for what isn't known here."""
        for each in instructions:
            match each:
                case Kernel():
                    for term in each.terms:
                        self._term(term)
                case Check():
                    self.add(("check", each.predicate, self._failure(each)))
                    continue
                case Library():
                    read = (*(buffer for buffer, _ in each.operands), each.length)
                    self.add(("library", self._library(each), read, each.results))
                    continue
                case Copy() | While() | Cond():
                    pass
                case _:
                    raise Unforeseen(each)
            self.add((type(each).__name__, *(getattr(each, field.name) for field in fields(each))))

    def digest(self) -> str:
        """A hash of the lines."""
        return hashlib.blake2b("\n".join(self._lines).encode(), digest_size=32).hexdigest()

    def _term(self, term: Term) -> None:
        if term not in self._terms:
            self.add((term.op, term.args, term.dtype, term.static))
            self._terms[term] = len(self._terms)

    def _text(self, thing: Any) -> str:
        kind = type(thing)
        if kind in _PLAIN:
            return repr(thing)
        if kind is Term:
            return f"t{self._terms[thing]}"
        if kind is tuple or kind is Store:
            return f"({', '.join(map(self._text, thing))})"
        if kind is Layout:
            text = self._layouts.get(thing)
            if text is None:
                text = self._layouts[thing] = f"{thing.shape}{thing.strides}{thing.offset}"
            return text
        if kind is DType:
            return str(thing)
        if kind is Site:
            return f"failure {self._failure(thing)}"
        if kind is Source:
            return ""  # the user's line
        if kind is Block:
            self.add(("block", thing.outputs))
            self.instructions(thing.instructions)
            return "end"
        raise Unforeseen(thing)


@functools.cache
def sources() -> str:
    """The sizes and times of the sources that write code, by which Python too knows what it has compiled of a file.

    Raises `Unforeseen` where they aren't files.
    """
    package = Path(__file__).parents[2]
    try:
        stats = sorted((path, os.stat(path)) for name in _WRITERS for path in _files(f"{package}/{name}"))
    except OSError as error:
        raise Unforeseen(package) from error
    return "\n".join(f"{os.path.basename(path)}: {stat.st_size} {stat.st_mtime_ns}" for path, stat in stats)


def _files(path: str) -> Iterator[str]:
    if path.endswith(".py"):
        yield path
        return
    with os.scandir(path) as entries:
        for each in entries:
            if each.name.endswith(".py") or (each.is_dir() and each.name != "__pycache__"):
                yield from _files(each.path)
