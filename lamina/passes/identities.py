"""Ops that are another op for the operands that they have."""

from collections.abc import Callable
from typing import Any

from lamina.expr import Expr, Graph, build
from lamina.passes.rewrite import rewrite


def simplify(graph: Graph) -> Graph:
    """The graph with powers of small whole exponents as products, which are at least as exact."""
    return rewrite(graph, _simpler)


def _simpler(node: Expr) -> Expr:
    if node.op == "pow" and node.dtype.kind in ("float", "complex"):
        x, exponent = node.args
        make = _POWERS.get(_number(exponent))
        if make is not None:
            return make(x, node)
    return node


def _number(node: Expr) -> Any:
    """The number that each element of a node is, if it is a constant's; else None."""
    while node.op == "move":
        node = node.args[0]
    return node.args[0] if node.op == "constant" else None


_POWERS: dict[Any, Callable[[Expr, Expr], Expr]] = {
    -1: lambda x, node: build("reciprocal", x, source=node.source),
    1: lambda x, node: x,
    2: lambda x, node: build("square", x, source=node.source),
    3: lambda x, node: build("multiply", build("square", x, source=node.source), x, source=node.source),
}
