"""The text form of a graph: stable, one line a node, inner scopes indented. Errors quote it, tests compare it.

Nodes are numbered in the order they are printed, through all scopes, so equal graphs have equal texts whatever their
ids. Constants stand where they are used. A ``cond``'s branches share its scope, so their nodes are lines of that scope.
"""

from collections.abc import Iterator
from typing import Any

from lamina.expr import containers
from lamina.expr.node import Expr, describe, effects_of, inner_nodes, value_of
from lamina.expr.tree import nodes_of, post_order

INDENT = "  "


def graph_text(
    name: str, params: Any, outputs: Any, effects: tuple[Expr, ...] = (), updates: Any = ()
) -> tuple[str, dict[Expr, str]]:
    """The text of a function of these parameters, and the names that nodes have in it, those of inner scopes too.

    `updates` are the params that it writes, with what they hold then.
    """
    printer = _Printer()
    return "\n".join(printer.function(name, params, outputs, effects, updates)), printer.names


class _Printer:
    """One walk over all scopes. A frame of the stack is a generator, so that deep nesting needs no recursion either."""

    def __init__(self) -> None:
        self.names: dict[Expr, str] = {}
        self.lines: list[str] = []

    def function(self, name: str, params: Any, outputs: Any, effects: tuple[Expr, ...], updates: Any) -> list[str]:
        self.lines.append(f"{name}({self.declare(params)}):")
        stack = [self.scope(outputs, effects, 1, updates)]
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)
        return self.lines

    def scope(self, outputs: Any, effects: tuple[Expr, ...], depth: int, updates: Any = ()) -> Iterator[Any]:
        """Print a scope's nodes; yields the generators that print its inner scopes."""
        indent = INDENT * depth
        for node in post_order((effects, outputs, updates)):
            if node in self.names or node.op == "constant":
                continue
            shown = self.arguments(node)
            self.names[node] = f"%{len(self.names)}"
            opens = ":" if inner_nodes(node) or node.op == "fun" else ""
            self.lines.append(
                f"{indent}{self.names[node]}: {describe(node.dtype, node.shape)} = {node.op}({shown}){opens}"
            )
            for title, body in _bodies(node):
                if isinstance(title, str):
                    self.lines.append(f"{indent}{INDENT}{title}:")
                    yield self.scope(value_of(body), effects_of(body), depth + 2)
                else:
                    self.lines.append(f"{indent}{INDENT}params ({self.declare(body)})")
        if effects:
            self.lines.append(f"{indent}effects {', '.join(self.names[effect] for effect in effects)}")
        self.lines.extend(f"{indent}update {self.show(param)} = {self.show(node)}" for param, node in updates)
        self.lines.append(f"{indent}return {self.show(outputs)}")

    def declare(self, params: Any) -> str:
        shown = []
        for param in nodes_of(params):
            self.names.setdefault(param, f"%{len(self.names)}")
            shown.append(f"{self.names[param]}: {describe(param.dtype, param.shape)}")
        return ", ".join(shown)

    def arguments(self, node: Expr) -> str:
        if node.op == "tensor":
            return ""  # its dtype and shape stand on the line; its elements don't belong in a text
        if node.op in _SHOWN:
            return ", ".join(self.show(node.args[position]) for position in _SHOWN[node.op])
        return ", ".join(map(self.show, node.args))

    def show(self, arg: Any) -> str:
        """An arg as text: nodes by name, containers as Python writes them, static data by its repr or its name."""
        if type(arg) is Expr:
            if arg.op == "constant":
                suffix = "" if arg.shape == () else describe(arg.dtype, arg.shape).removeprefix(str(arg.dtype))
                return f"{arg.args[0]!r}: {arg.dtype}{suffix}"
            return self.names.get(arg, f"<{arg.op}>")
        if isinstance(arg, tuple) and type(arg) is tuple:
            return f"({', '.join(map(self.show, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.show, arg))}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.show(value)}" for key, value in arg.items()) + "}"
        if not containers.is_leaf(arg) and arg is not None:
            return f"{type(arg).__name__}({', '.join(map(self.show, containers.leaves_of(arg)))})"
        if callable(arg):
            return getattr(arg, "__name__", type(arg).__name__)
        return str(arg) if type(arg).__module__.startswith("lamina.") else _static_text(arg)


def _static_text(arg: Any) -> str:
    """The repr on one line; the type's name where the repr is an address, which differs from run to run."""
    text = " ".join(repr(arg).split()) if "\n" in repr(arg) else repr(arg)
    return type(arg).__name__ if " at 0x" in text else text


# The args that stand on a node's own line, where not all of them do.
_SHOWN: dict[str, tuple[int, ...]] = {"while": (0,), "fun": (2,), "block": (0, 1), "runtime_call": (1, 0, 3)}


def _bodies(node: Expr) -> list[tuple[str | None, Any]]:
    """The inner scopes of a node with their titles, behind the params they read (which have no title)."""
    if node.op == "while":
        _, arg, condition, body = node.args
        return [(None, arg), ("condition", condition), ("body", body)]
    if node.op == "fun":
        params, body, _ = node.args
        return [(None, params), ("body", body)]
    if node.op == "block":
        return [("default", node.args[2])]
    return []
