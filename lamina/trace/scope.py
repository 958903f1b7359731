"""Scopes of a trace: where a traced value was made, what an inner scope captures, and in what order effects happen.

A trace has one root scope; the bodies of loops, functions and blocks have inner ones. The scope that is being traced is
the thread's `current` one. Inner scopes are closed: a value of an outer scope that is used in one becomes a parameter
there, and is remembered as a capture, which whoever makes the node passes in.
"""

import inspect
import itertools
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

import lamina.array
from lamina.errors import EscapedValueError
from lamina.expr import Expr, Source, build, describe
from lamina.layout import Layout
from lamina.roots import memory_of, roots_of
from lamina.trace.content import Content

_RISKY = frozenset({"gather", "take_along_axis", "scatter", "runtime_call", "check"})


class _State(threading.local):
    scope: "Scope | None" = None


_state = _State()
_PACKAGES = tuple(os.path.dirname(os.path.abspath(inspect.getfile(module))) + os.sep for module in (lamina.array, np))


def current() -> "Scope | None":
    """The scope that this thread is tracing, if it is."""
    return _state.scope


next_serial = itertools.count().__next__


class Cell:
    """Memory behind traced arrays, known by identity. What it holds is a node, its version, which each scope keeps.

    The node's C order is the order of the memory; `start` is what it held at first. A cell that isn't writable is
    somebody's read-only array, and `array` is the captured array whose memory it is. One that `is_swapped` has its
    bytes in the other order where the caller sees it.
    """

    __slots__ = ("array", "home", "is_swapped", "serial", "start", "writable")

    def __init__(self, home: "Scope", start: Expr, writable: bool = True, array: Any = None) -> None:
        self.home = home
        self.serial = next_serial()
        self.start = start
        self.writable = writable
        self.array = array
        self.is_swapped = False

    @property
    def memories(self) -> "list[Cell]":
        """The memories that it is of: itself, for kinds of cells that stand for no other."""
        return [self]

    def read(self, scope: "Scope") -> Expr:
        """The node of what it holds, in a scope; for kinds of cells that have no version of their own."""
        return scope.read(self)

    def write(self, scope: "Scope", node: Expr) -> None:
        """Make it hold a node's value, in a scope."""
        scope.write(self, node)

    def moved(self, movement: Any) -> Any:
        """The array that all of it becomes by a movement; for kinds of cells that stand for other arrays."""
        raise NotImplementedError


class Note(NamedTuple):
    """A decision of a trace: what was decided, at which line, and why."""

    kind: str  # staged, unrolled, apart (a turn before its loop), pinned
    source: Source | None
    text: str


class _Captured(NamedTuple):
    """A concrete array of a trace: the ``tensor`` node of its memory, what it sees of it, and what that held."""

    node: Expr
    array: Any
    memory: Any
    layout: Layout | None
    data: bytes


class Scope:
    """One scope of a trace; ``with scope:`` makes it the current one, and ends it.

    Attributes
    ----------
    name : the function whose body it is, for messages.
    parent : the scope around it; `None` for a root.
    params : the parameter nodes, in order; captures are appended as they are met.
    captures : the outer nodes of the last ``len(captures)`` params, in the same order.
    effects : the effects so far, in order.
    notes : what has been decided in it, each once; an inner scope that is kept gives its own to the one around it.
    numbers : the params that stand for Python numbers given as arguments, of a root scope.
    demand : the last error for a value that was demanded, of a root scope; NumPy swallows it in places.
    contents : the captured arrays whose elements the trace has read, of a root scope.
    shared : which captured arrays share memory with other arrays, as text, of a root scope.
    containers : the lists, dicts and the like among the arguments, by id, of a root scope.
    given : the arrays among the arguments, of a root scope.
    seen_arrays : the captured arrays that the program has named, by id, of a root scope.
    made_arrays : arrays that code which isn't traced has made, by id, of a root scope.
    undo : what takes back what tracing has changed outside, of a root scope.
    generators : the generators of random numbers that the program makes, by id, of a root scope.
    funs : what `lamina.trace.control` has traced of each function and structure, of a root scope.
    forms : what `lamina.trace.affine` has read of its integers.
    facts, representatives : what `lamina.trace.affine` knows of integers, and which nodes are equal, of a root scope.
    tells_apart : whether the program has asked which of two arrays is which, of a root scope.
    has_swapped : whether the bytes of some array are in the other order, of a root scope.
    is_eager : of a root scope whose nodes are evaluated as it ends: what its captured arrays held isn't remembered.
    """

    def __init__(self, name: str, parent: "Scope | None" = None, *, is_eager: bool = False) -> None:
        self.name = name
        self.is_eager = is_eager
        self.parent = parent
        self.root: Scope = self if parent is None else parent.root
        self.params: list[Expr] = []
        self.captures: list[Expr] = []
        self.effects: list[Expr] = []
        self.notes: dict[Note, None] = {}
        self.numbers: list[Expr] = []
        self.demand: Exception | None = None
        self.funs: dict[Any, Any] = {}
        self.generators: dict[int, Any] = {}
        self.objects: dict[int, Any] = {}
        self.written_arrays: set[int] = set()
        self.contents: list[Content] = []
        self.shared: list[str] = []
        self.containers: dict[int, Any] = {}
        self.given: list[Any] = []
        self.seen_arrays: dict[int, tuple[Any, Any]] = {}
        self.made_arrays: dict[int, Any] = {}
        self.undo: list[Callable[[], Any]] = []
        self.tells_apart = False
        self.has_swapped = False
        self.risks = 0  # nodes that may raise at run time, of a root scope
        self.few = 1  # turns of the loops around, unrolled for being few, one times another, of a root scope
        self._tensors: dict[int, _Captured] = {}
        self.captured_cells: dict[Expr, Cell] = {}
        self._all_tensors: list[_Captured] = []
        self.is_open = False
        self._captured: dict[Any, tuple[Expr, Expr]] = {}
        self._outer: dict[Expr, Expr] = {}  # of a param that stands for it
        self._memories: set[Expr] = set()  # the params for what cells hold
        self.forms: dict[Expr, Any] = {}
        self.facts: dict[Expr, Any] = {}
        self.representatives: dict[Any, Expr] = {}
        # The versions of cells in this scope. A branch that shares the scope puts its own on top.
        self.layers: list[dict[Cell, Expr]] = [{}]
        self.depth = 0  # of branches
        self.is_loop = False
        self.unrolls = True  # of a loop: whether it may be unrolled on demand
        self._before: Scope | None = None

    def __enter__(self) -> "Scope":
        self._before, _state.scope = _state.scope, self
        self.is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _state.scope, self._before = self._before, None
        self.is_open = False
        if kind is None and self.parent is not None:
            self.parent.notes |= self.notes

    def param(self, dtype: Any, shape: tuple[int, ...]) -> Expr:
        """A new parameter, the next one."""
        node = Expr("parameter", (len(self.params),), dtype, shape, user_source())
        self.params.append(node)
        return node

    def tensor(self, array: Any) -> tuple[Expr, Layout | None]:
        """A root's ``tensor`` node for the memory of a concrete array, and what the array sees of it (`None`: all).

        There is one for each array, until the array is written. It holds the memory by reference, so that a compiled
        function sees what a global array holds when it runs.
        """
        known = self._tensors.get(id(array))
        memory, layout = self._memory_behind(array) if known is None else (known.memory, known.layout)
        data = b"" if self.is_eager else np.asarray(memory).tobytes()
        if known is None or known.data != data:
            held = lamina.array.asarray(memory)
            node = Expr("tensor", (held,), held.dtype, held.shape, user_source())
            known = self._tensors[id(array)] = _Captured(node, array, memory, layout, data)
            self._all_tensors.append(known)
        return known.node, known.layout

    def _memory_behind(self, array: Any) -> tuple[Any, Layout | None]:
        """An array in C order is all of its memory; of any other the trace has to know what of it is where."""
        if self.is_eager or type(array) is not np.ndarray or array.flags.c_contiguous:
            return array, None
        (root,) = roots_of([array])
        return memory_of(root, [array]), root.members[0].layout

    def written_tensors(self) -> dict[Expr, Expr]:
        """A replacement for each captured array that was written since: a copy of what it held when it was read."""
        replacements = {}
        for node, _, memory, _, data in self._all_tensors:
            if np.asarray(memory).tobytes() != data:
                was = np.frombuffer(data, np.asarray(memory).dtype).reshape(node.shape)
                replacements[node] = Expr("tensor", (lamina.array.asarray(was),), node.dtype, node.shape, node.source)
        return replacements

    def note_shared(self, array: Any) -> None:
        """Remember it where an array that is captured shares memory with an argument or another captured array."""
        if self.is_eager or not isinstance(array, np.ndarray):
            return
        for other in (*self.given, *(cell.array for cell in self.captured_cells.values())):
            if other is array or (isinstance(other, np.ndarray) and np.may_share_memory(array, other)):
                self.shared.append(f"a captured array of shape {array.shape} shares memory with another array")

    @property
    def remembered(self) -> list[Content] | None:
        """Where what is read of captured arrays is remembered, of a root scope; nowhere in an eager call."""
        return None if self.is_eager else self.contents

    def captured_arrays(self) -> list[Any]:
        """The NumPy arrays that were captured."""
        return [cell.array for cell in self.captured_cells.values() if isinstance(cell.array, np.ndarray)]

    def emit(self, op: str, *args: Any) -> Expr:
        """A new node of this scope, with the line of the user's source that asks for it."""
        self.root.risks += op in _RISKY
        return build(op, *args, source=user_source())

    def note(self, kind: str, text: str) -> None:
        """Remember what has been decided about the user's line, and why."""
        self.notes[Note(kind, user_source(), text)] = None

    def perform(self, effect: Expr) -> Expr:
        """Put a node at the end of the scope's effects."""
        self.effects.append(effect)
        return effect

    def lift(self, expr: Expr, owner: "Scope") -> Expr:
        """The node through which this scope reads a node of `owner`: itself, or a param for one of a scope around it.

        Raises `EscapedValueError` for a node of any other scope.
        """
        if owner is self or expr.op in ("constant", "tensor"):
            return expr
        if self.parent is None or not owner.is_open:
            raise escaped(expr, owner)
        return self._capture(self.parent.lift(expr, owner), expr)

    def _capture(self, outer: Expr, key: Any) -> Expr:
        """The param for an outer node. Keys tell apart what is one node outside and may be two here: written cells."""
        if outer.op in ("constant", "tensor") and not isinstance(key, Cell):
            return outer
        known = self._captured.get(key)
        if known is None:
            known = self._captured[key] = outer, self.param(outer.dtype, outer.shape)
            self._outer[known[1]] = outer
            if isinstance(key, Cell):
                self._memories.add(known[1])
            self.captures.append(outer)
        return known[1]

    def new_cell(self, node: Expr, writable: bool = True, array: Any = None) -> Cell:
        """New memory that holds the value of a node of this scope."""
        cell = Cell(self, node, writable, array)
        self.layers[0][cell] = node
        return cell

    def read(self, cell: Cell) -> Expr:
        """What a cell holds now: its version in this scope, at first a param for what it holds in the one around it."""
        if type(cell) is not Cell:
            return cell.read(self)
        for layer in reversed(self.layers):
            if cell in layer:
                return layer[cell]
        if self.parent is None or not cell.home.is_open:
            raise escaped(cell.start, cell.home)
        version = self.layers[0][cell] = self._capture(self.parent.read(cell), cell)
        return version

    def reads(self, cell: Cell) -> bool:
        """Whether this scope has read what an outer scope's cell holds."""
        return cell in self._captured

    def write(self, cell: Cell, node: Expr) -> None:
        """Make a node the cell's version."""
        if type(cell) is not Cell:
            cell.write(self, node)
            return
        if id(cell.array) in self.root.made_arrays:
            raise NotImplementedError("a write in place to an array that is made at each call isn't traced")
        self.read(cell)  # what the scope starts with comes from outside
        self.layers[-1][cell] = node

    def written(self) -> dict[Cell, tuple[Expr, Expr]]:
        """The cells of outer scopes that this one has written: the param each started as, and its version now."""
        versions = self.layers[0]
        entered = ((cell, self._captured[cell][1]) for cell in versions if cell.home is not self)
        return {cell: (param, versions[cell]) for cell, param in entered if versions[cell] is not param}

    def outer(self, param: Expr) -> Expr | None:
        """What a param stands for in the scope around this one, where that is the same in every turn of a loop."""
        return None if param in self._memories else self._outer.get(param)

    def owner(self, param: Expr) -> tuple["Scope", Expr]:
        """The scope that a param of this one is really of, and the param or captured array there."""
        scope, node = self, param
        while scope.parent is not None:
            outer = scope._outer.get(node)
            if outer is None or outer.op not in ("parameter", "tensor"):
                break
            scope, node = scope.parent, outer
        return (scope, node) if node.op == "parameter" else (scope.root, node)


def escaped(expr: Expr, owner: Scope) -> EscapedValueError:
    """The error for a value that is used where it doesn't exist."""
    return EscapedValueError(
        f"a traced value was used outside the scope it was made in, {owner.name}: {describe(expr.dtype, expr.shape)} "
        f"from {expr.op}{f' at {expr.source}' if expr.source else ''}. It stands for a result that exists only while "
        f"the compiled function runs; return it from {owner.name}, or show it with lamina.hook"
    )


def user_source() -> Source | None:
    """The innermost line that belongs neither to lamina nor to NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file not in _our_files:  # which is asked some ten times a node
            if not file.startswith(_PACKAGES):
                return Source(file, frame.f_lineno, code.co_name)
            _our_files.add(file)
        frame = frame.f_back
    return None


def raised_at(error: BaseException) -> Source | None:
    """The innermost line that belongs neither to lamina nor to NumPy, of those that an error has come by."""
    found, step = None, error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGES):
            found = Source(code.co_filename, step.tb_lineno, code.co_name)
        step = step.tb_next
    return found


_our_files: set[str] = set()
