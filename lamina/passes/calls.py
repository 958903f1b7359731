"""Calls and blocks become what they compute, so that it is fused with what is around them."""

from lamina.expr import Expr, Graph, effects_of, value_of
from lamina.expr.tree import all_nodes, nodes_of, operands, post_order, substitute
from lamina.passes.rewrite import rewrite

_MOST_NODES = 200  # of a function that is called more than once


def inline_calls(graph: Graph) -> Graph:
    """The graph with each ``call`` of a small function, each ``block`` and each ``metadata`` replaced by its body.

    One whose body has effects stays, for its place among the others is its own.
    """
    opened: dict[Expr, list[Expr]] = {}

    def rule(node: Expr) -> Expr:
        match node.op:
            case "metadata":
                (noted,) = operands(node)
                return noted
            case "elem" if node.args[0] in opened:
                source, i = node.args
                result: Expr = opened[source][i]
                return result
            case "call" | "block":
                results = _body(node)
                if results is None:
                    return node
                opened[node] = results
                return node if node.has_several else results[0]
        return node

    return rewrite(graph, rule)


def _body(node: Expr) -> list[Expr] | None:
    """What a call or a block computes, on its args; `None` where it stays."""
    if node.op == "call":
        fun, args = node.args
        params, body, _ = fun.args
        given = dict(zip(nodes_of(params), nodes_of(args), strict=True))
        if len(all_nodes(value_of(body))) > _MOST_NODES:
            return None
    else:
        body, inputs = node.args[2], operands(node)
        given = {each: inputs[each.args[0]] for each in post_order(body) if each.op == "parameter"}
    return None if effects_of(body) else nodes_of(substitute(value_of(body), given))
