"""What a compiler may be told of a program's calls, so that it can take them over from Python's call to the result.

A callable that a compiler makes may have a method ``direct(form)``, which gives a case of its own kind for calls of
that form, or `None`. What `entry_of` makes of cases is called with a call's arguments, and gives the call's result.
Where they are of no case, and where the program fails, it gives `MISS` and has changed nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from lamina.trace.guards import Guard
from lamina.trace.value import Kind

MISS = object()


class Taken(NamedTuple):
    """An argument: one like it; if it is a param, which, and by how many bytes the param's memory begins before it."""

    like: Any
    param: int | None
    before: int = 0
    nbytes: int = 0  # of the param's memory
    same_as: int | None = None  # the place of an earlier argument that is this very array
    beside: int | None = None  # the place of an earlier argument that is the param whose memory it is of
    is_copied: bool = False  # whether the param is a copy of it, in C order and the machine's order of bytes


class View(NamedTuple):
    """Where an array's elements are in a memory, in bytes, and whether they may be written."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    is_writable: bool


class Written(NamedTuple):
    """A param whose memory an output becomes, and what of it the arguments see by their places."""

    param: int
    output: int
    seen: Sequence[tuple[int, View]]


class Made(NamedTuple):
    """A leaf that is of an output: an array that is so in its memory, a scalar or a number.

    `length` is the output that says how long the first axis is: then it is a copy of so much. `code` is the output that
    says what kind of number it is, as `lamina.trace.mixed.decoded` knows.
    """

    output: int
    kind: Kind
    dtype: np.dtype
    view: View
    length: int | None = None
    code: int | None = None


class Part(NamedTuple):
    """A leaf that is a view of the memory of a param, that of the argument at this place."""

    place: int
    dtype: np.dtype
    view: View


class Given(NamedTuple):
    """A leaf that is an argument, as it was given."""

    place: int


class Thing(NamedTuple):
    """A leaf that is the same at each call."""

    thing: Any


class Choice(NamedTuple):
    """A leaf that is one of two, as an output says."""

    output: int
    then: "Leaf"
    otherwise: "Leaf"


Leaf = Made | Part | Given | Thing | Choice


class Form(NamedTuple):
    """Calls of one program, whose arguments are arrays and numbers, not containers of them.

    Where params are `written`, arguments share memory as they did when the function was traced, and not otherwise.
    `build` makes what is returned of the leaves: `None` where it is the one leaf, `tuple`, or what is called with them.
    """

    arguments: Sequence[Taken]
    guards: Sequence[Guard]
    written: Sequence[Written]
    leaves: Sequence[Leaf]  # what is returned twice is one object
    build: Callable[..., Any] | None


def leaves_in(form: Form) -> Iterator[Leaf]:
    """Each leaf, those that are chosen from included."""
    stack = list(form.leaves)
    while stack:
        leaf = stack.pop()
        yield leaf
        if isinstance(leaf, Choice):
            stack += leaf.then, leaf.otherwise


def entry_of(cases: Sequence[Any]) -> Callable[..., Any]:
    """What is called with the arguments of calls that are of these cases; it gives their result, or `MISS`."""
    return import_module("lamina.compilers.native.entry").entry(cases)  # type: ignore[no-any-return]
