"""Pickling of nodes as flat records, so that a deep graph pickles without recursion and a shared node once.

Ids are unique in a process, so unpickled nodes have fresh ones. What several nodes share stays shared where they are
pickled as one `lamina.expr.Graph`; a node pickled by itself carries all that it needs.
"""

import copyreg
from collections.abc import Iterator
from typing import Any

from lamina.expr import containers
from lamina.expr.node import CROSSINGS, Expr
from lamina.expr.tree import held_nodes, map_args


class _Hole:
    """Stands in a record's args for a node. There is one, so that it costs a pickle next to nothing."""

    def __reduce__(self) -> str:
        return "_HOLE"


_HOLE = _Hole()

# op, args with holes (`None` where all are), the places of the records that fill them (in order), dtype, shape, source
Record = tuple[str, tuple[Any, ...] | None, tuple[int, ...], Any, Any, Any]


def dump(output: Any) -> tuple[list[Record], Any, list[int]]:
    """A record for each node that `output` holds, operands first; `output` with holes; what fills those."""
    nodes = held_nodes(output)
    places = {node: place for place, node in enumerate(nodes)}
    filling: list[int] = []

    def cut(leaf: Any) -> Any:
        if type(leaf) is not Expr:
            return leaf
        filling.append(places[leaf])
        return _HOLE

    records: list[Record] = []
    for node in nodes:
        args = None
        if node.op in CROSSINGS or len(node._operands) != len(node.args):
            filling.clear()
            args = map_args(node.op, node.args, cut, "held")
        places_in = tuple(filling) if args is not None else tuple(map(places.__getitem__, node._operands))
        records.append((node.op, args, places_in, node.dtype, node.shape, node.source))
    filling.clear()
    return records, containers.map_leaves(cut, output), filling


def load(records: list[Record], output: Any, filling: list[int]) -> Any:
    """The container that `dump` took, of new nodes."""
    nodes: list[Expr] = []
    places: Iterator[int] = iter(())

    def fill(leaf: Any) -> Any:
        return nodes[next(places)] if leaf is _HOLE else leaf

    for op, args, places_in, dtype, shape, source in records:
        places = iter(places_in)
        filled = tuple(map(nodes.__getitem__, places)) if args is None else map_args(op, args, fill, "held")
        nodes.append(Expr(op, filled, dtype, shape, source))
    places = iter(filling)
    return containers.map_leaves(fill, output)


copyreg.pickle(Expr, lambda node: (load, dump(node)))
