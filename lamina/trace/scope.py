"""Scopes of a trace: where a traced value was made, what an inner scope captures, and in what order effects happen.

A trace has one root scope; the bodies of loops, functions and blocks have inner ones. The scope that is being traced is
the thread's `current` one. Inner scopes are closed: a value of an outer scope that is used in one becomes a parameter
there, and is remembered as a capture, which whoever makes the node passes in.
"""

import os
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import numpy as np

import lamina.array
from lamina.errors import EscapedValueError
from lamina.expr import Expr, Source, build, describe


class _State(threading.local):
    scope: "Scope | None" = None


_state = _State()
_PACKAGES = tuple(os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (lamina.array, np))


def current() -> "Scope | None":
    """The scope that this thread is tracing, if it is."""
    return _state.scope


class _Captured(NamedTuple):
    node: Expr
    array: Any
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
    numbers : the params that stand for Python numbers given as arguments, of a root scope.
    demand : the last error for a value that was demanded, of a root scope; NumPy swallows it in places.
    funs : what `lamina.trace.control` has traced of each function and structure, of a root scope.
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
        self.numbers: set[Expr] = set()
        self.demand: Exception | None = None
        self.funs: dict[Any, Any] = {}
        self._tensors: dict[int, _Captured] = {}
        self._all_tensors: list[_Captured] = []
        self.is_open = False
        self._captured: dict[Expr, Expr] = {}
        self._before: Scope | None = None

    def __enter__(self) -> "Scope":
        self._before, _state.scope = _state.scope, self
        self.is_open = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _state.scope, self._before = self._before, None
        self.is_open = False

    def param(self, dtype: Any, shape: tuple[int, ...]) -> Expr:
        """A new parameter, the next one."""
        node = Expr("parameter", (len(self.params),), dtype, shape, user_source())
        self.params.append(node)
        return node

    def tensor(self, array: Any) -> Expr:
        """A root's ``tensor`` node for a concrete array: one for each array, until the array is written.

        The node holds the array by reference, so that a compiled function sees what a global array holds when it runs.
        """
        known = self._tensors.get(id(array))
        data = b"" if self.is_eager else np.asarray(array).tobytes()
        if known is None or known.data != data:
            held = lamina.array.asarray(array)
            node = Expr("tensor", (held,), held.dtype, held.shape, user_source())
            known = self._tensors[id(array)] = _Captured(node, array, data)
            self._all_tensors.append(known)
        return known.node

    def written_tensors(self) -> dict[Expr, Expr]:
        """A replacement for each captured array that has been written since: a copy of what it held when it was read."""
        replacements = {}
        for node, array, data in self._all_tensors:
            if np.asarray(array).tobytes() != data:
                was = np.frombuffer(data, np.asarray(array).dtype).reshape(node.shape)
                replacements[node] = Expr("tensor", (lamina.array.asarray(was),), node.dtype, node.shape, node.source)
        return replacements

    def emit(self, op: str, *args: Any) -> Expr:
        """A new node of this scope, with the line of the user's source that asks for it."""
        return build(op, *args, source=user_source())

    def perform(self, effect: Expr) -> Expr:
        """Put a node at the end of the scope's effects."""
        self.effects.append(effect)
        return effect

    def lift(self, expr: Expr, owner: "Scope") -> Expr:
        """The node through which this scope reads a node of `owner`: itself, or a parameter for one of a scope around it.

        Raises `EscapedValueError` for a node of any other scope.
        """
        if owner is self or expr.op in ("constant", "tensor"):
            return expr
        if self.parent is None or not owner.is_open:
            raise escaped(expr, owner)
        outer = self.parent.lift(expr, owner)
        inner = self._captured.get(outer)
        if inner is None:
            inner = self.param(outer.dtype, outer.shape)
            self.captures.append(outer)
            self._captured[outer] = inner
        return inner

    def origin(self, param: Expr) -> Expr | None:
        """The root's param that a param of this scope stands for; `None` for one that this scope computes or carries."""
        scope, node = self, param
        while scope.parent is not None:
            outer = next((outer for outer, inner in scope._captured.items() if inner is node), None)
            if outer is None:
                return None
            scope, node = scope.parent, outer
        return node if node.op == "parameter" else None


def escaped(expr: Expr, owner: Scope) -> EscapedValueError:
    """The error for a value that is used where it doesn't exist."""
    return EscapedValueError(
        f"a traced value was used outside the scope it was made in, {owner.name}: {describe(expr.dtype, expr.shape)} "
        f"from {expr.op}{f' at {expr.source}' if expr.source else ''}. It stands for a result that exists only while the "
        f"compiled function runs; return it from {owner.name}, or show it with lamina.hook"
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


_our_files: set[str] = set()
