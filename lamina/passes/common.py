"""What is computed twice is computed once."""

from typing import Any

from lamina.expr import CROSSINGS, OPS, Expr, Graph, build
from lamina.expr.containers import map_leaves
from lamina.expr.tree import nodes_of, operands
from lamina.passes.rewrite import rewrite

# Nodes of their own, whatever their args are: memory that a program may write, or what happens when they run.
_APART = frozenset({"copy", "update"})
_PURE = (frozenset(OPS) | {"move", "view", "elem"}) - _APART


def share_common(graph: Graph) -> Graph:
    """The graph with equal nodes of a scope as one; two results that become one are copies of each other."""
    known: dict[Any, Expr] = {}
    free: set[Expr] = set()  # what hangs on no parameter: of any scope, and one may not use another's

    def rule(node: Expr) -> Expr:
        if node.op in ("constant", "tensor", "iota") or (operands(node) and free.issuperset(operands(node))):
            free.add(node)
            return node
        if node.op not in _PURE:
            return node
        try:
            # 1 and True are equal in Python
            return known.setdefault(
                (node.op, node.dtype, node.shape, tuple((type(arg), arg) for arg in node.args)), node
            )
        except TypeError:  # options that aren't hashable
            return node

    shared = rewrite(graph, rule)
    return shared if shared is graph else _apart(graph, shared)


def _apart(before: Graph, after: Graph) -> Graph:
    """Results that were two nodes are two again."""
    owners: dict[Expr, Expr] = {}
    olds = iter(nodes_of((before.outputs, before.updates)))

    def own(node: Expr) -> Expr:
        old = next(olds)
        is_own = owners.setdefault(node, old) is old or node.op in CROSSINGS.keys() - {"elem", "move", "view"}
        return node if is_own else build("copy", node)

    outputs, updates = map_leaves(own, (after.outputs, after.updates))
    return Graph(after.params, outputs, after.effects, after.name, updates)
