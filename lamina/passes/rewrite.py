"""A graph rebuilt node by node, in every scope."""

from collections.abc import Callable
from typing import Any

from lamina.expr import CROSSINGS, Expr, Graph
from lamina.expr.containers import map_leaves
from lamina.expr.node import CALLBACKS
from lamina.expr.tree import all_nodes, map_args, put_args

Rule = Callable[[Expr], Expr]
_ACTING = CALLBACKS | {"check", "while", "cond", "call", "block"}  # which may be effects
_SCOPES = frozenset(op for op, crossing in CROSSINGS.items() if crossing.inner)


def rewrite(graph: Graph, rule: Rule) -> Graph:
    """The graph with each node replaced by what `rule` makes of it once its args are replaced.

    Nodes are made in the order in which they were made before, since that is the order of the program. Where nothing
    changes, the graph itself is returned.
    """
    new: dict[Expr, Expr] = {param: param for param in graph.params}
    nodes = sorted(all_nodes((graph.effects, graph.outputs, graph.updates)), key=lambda node: node.id)
    is_changed = is_later = False
    for node in nodes:
        if node not in new:
            again = rebuilt(node, new)
            made = rule(again)
            if made is node and is_later and node.op in _ACTING:
                # it is newer than the nodes before it still, by which its place among the effects is known
                made = Expr(node.op, node.args, node.dtype, node.shape, node.source)
            is_changed = is_changed or made is not again
            is_later = is_later or made is not node
            new[node] = made
    if not is_changed:
        return graph
    outputs, effects, updates = map_leaves(new.__getitem__, (graph.outputs, graph.effects, graph.updates))
    return Graph(graph.params, outputs, effects, graph.name, updates)


def rebuilt(node: Expr, new: dict[Expr, Expr]) -> Expr:
    """A node with the replacements of the nodes in its args, or itself where it has none."""

    def replace(leaf: Any) -> Any:
        return new.get(leaf, leaf) if type(leaf) is Expr else leaf

    if not node._operands and node.op not in _SCOPES:
        return node
    return put_args(node, map_args(node.op, node.args, replace, "held"))
