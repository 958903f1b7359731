"""What hangs on nothing but constants is a constant."""

import numpy as np

from lamina.evaluator import compile_graph
from lamina.expr import OPS, Expr, Family, Graph
from lamina.expr.tree import operands
from lamina.passes.rewrite import rewrite

_KINDS = frozenset({"bool", "signed", "unsigned", "float"})


def fold_constants(graph: Graph) -> Graph:
    """The graph with each elementwise op of constant numbers replaced by its value, where that is exact."""
    return rewrite(graph, _folded)


def _folded(node: Expr) -> Expr:
    row = OPS.get(node.op)
    given = operands(node)
    if row is None or row.family is not Family.ELEMENTWISE or node.shape or not given:
        return node
    kinds = {each.dtype.kind for each in (node, *given)}
    is_exact = not row.tolerance.ulps or kinds.isdisjoint(row.tolerance.kinds)
    if not is_exact or not kinds <= _KINDS or any(each.op != "constant" for each in given):
        return node
    try:
        with np.errstate(all="ignore"):
            (value,) = compile_graph(Graph((), (node,)))()
    except (ArithmeticError, ValueError):  # which the program raises, if it comes there
        return node
    return Expr("constant", (value.item(),), node.dtype, (), node.source)
