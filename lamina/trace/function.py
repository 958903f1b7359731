"""The boundary of lamina's public functions: one body for traced values and for arrays, and errors with their context.

The body of a public function makes nodes in the current scope. Called while a function is traced, it adds to that
trace; called outside, it gets a scope of its own, whose nodes are evaluated at once. What it raises gets the name of
the public function and the user's line here, once, so bodies say the bare fact.
"""

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec

from lamina.array import from_numpy
from lamina.evaluator import compile_graph
from lamina.expr import Expr, Graph
from lamina.expr.containers import flatten, unflatten
from lamina.operators import FUNCTIONS
from lamina.trace.aliasing import may_alias
from lamina.trace.byte_order import with_byte_order
from lamina.trace.lengths import rule_for
from lamina.trace.scope import Scope, current, user_source
from lamina.trace.value import Value

P = ParamSpec("P")


class _State(threading.local):
    inside = False


_state = _State()


def function(body: Callable[P, Any], name: str | None = None) -> Callable[P, Any]:
    """Make a body a public function, and put it in the table of `lamina.operators` by its name."""
    public_name = name or body.__name__

    def traced(*args: P.args, **kwargs: P.kwargs) -> Any:
        rule = rule_for(public_name, args)
        result = NotImplemented if rule is None else rule(*args, **kwargs)
        return body(*args, **kwargs) if result is NotImplemented else result

    @functools.wraps(body)
    def public(*args: P.args, **kwargs: P.kwargs) -> Any:
        if _state.inside and current() is not None:
            return traced(*args, **kwargs)  # called by the body of another one
        with boundary(public_name):
            if current() is not None:
                return with_byte_order(public_name, traced, *args, **kwargs)
            return eager(public_name, body, *args, **kwargs)

    FUNCTIONS[public_name] = public
    return public


def eager(name: str, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a body in a scope of its own and evaluate what it returns: values become arrays, anything else stays."""
    scope = Scope(name, is_eager=True)
    with scope:
        leaves, structure = flatten(body(*args, **kwargs))
        nodes = [_own(leaf.expr, scope) if type(leaf) is Value else None for leaf in leaves]
    computed = [node for node in nodes if node is not None and node.op != "tensor"]
    results = iter(compile_graph(Graph((), computed, tuple(scope.effects), name))())

    def result(leaf: Any, node: Expr | None) -> Any:
        if node is None:
            return leaf
        return node.args[0] if node.op == "tensor" else from_numpy(next(results))

    return unflatten(structure, list(map(result, leaves, nodes)))


_CONSTANT = frozenset({"constant"})


def _own(node: Expr, scope: Scope) -> Expr:
    # an array's view may share its memory, but a constant's broadcast has none to share
    return scope.emit("copy", node) if may_alias(node, _CONSTANT) else node


class boundary:
    """``with boundary(name):`` errors raised within name this public function and the user's line."""

    __slots__ = ("before", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.before, _state.inside = _state.inside, True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _state.inside = self.before
        if isinstance(error, Exception) and not self.before and not getattr(error, "_lamina_named", False):
            _add_context(error, self.name)


class user_code:
    """Around calls of a user's function by a public one: errors in it, and in what it calls, are its own."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before, _state.inside = _state.inside, False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _state.inside = self.before
        if isinstance(error, Exception):
            error._lamina_named = True  # type: ignore[attr-defined]


def _add_context(error: Exception, name: str) -> None:
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    message = error.args[0]
    source = user_source()
    named = message if message.startswith(f"{name}:") else f"{name}: {message}"
    where = f" ({source.file}:{source.line})" if source and f"{source.file}:{source.line}" not in message else ""
    namespace = "" if name.startswith("np.") else "lamina."  # the user called NumPy
    error.args = (f"{namespace}{named}{where}",)
