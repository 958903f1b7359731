"""Which nodes may share the memory of a constant or a captured array: a result that does must be copied out."""

from collections.abc import Sequence

from lamina.expr import OPS, Expr, value_of
from lamina.expr.node import inner_nodes
from lamina.expr.tree import nodes_of, operands, walk

# Every primitive, and a call of Python, has its result in memory of its own, but for a reading of the same bits.
_FRESH = {*OPS, "update", "runtime_call"} - {"bitcast"}


def may_alias(node: Expr, ops: frozenset[str]) -> bool:
    """Whether the value of a node may be memory of a node of one of these ops."""
    sources = walk([node], _sources)
    is_same_dtype = not any(each.op == "bitcast" or is_recast(each) for each in sources)
    return any(each.op in ops and (not is_same_dtype or each.dtype == node.dtype) for each in sources)


def is_recast(node: Expr) -> bool:
    """Whether a node is memory that is seen as another dtype."""
    return node.op == "view" and node.dtype != node.args[0].dtype


def memories_of(node: Expr) -> set[Expr]:
    """The nodes that put their values in memory of their own, of which that of a node may be."""
    return {each for each in walk([node], _sources) if not _sources(each)}


def may_be_moved(node: Expr) -> bool:
    """Whether a value may be a part of a memory, or one with an element in many places, and not all of a memory."""
    return any(each.op in ("move", "view") for each in walk([node], _sources))


def _sources(node: Expr) -> Sequence[Expr]:
    """The nodes whose memory may be that of a node."""
    if node.op in _FRESH:
        return ()
    if node.op == "elem" and node.args[0].op == "while":
        (initial, arg, _, body), i = node.args[0].args, node.args[1]
        start, param, turned = nodes_of(initial)[i], nodes_of(arg)[i], nodes_of(value_of(body))[i]
        if turned is param or turned.op in _FRESH:
            return (start,)
    return (*operands(node), *inner_nodes(node))
