"""Pickling of nodes as flat records, so that a deep graph pickles without recursion and a shared node once.

Ids are unique in a process, so unpickled nodes have fresh ones. What several nodes share stays shared where they are
pickled as one `lamina.expr.Graph`; a node pickled by itself carries all that it needs.
"""

import copyreg
from typing import Any

from lamina.expr import containers
from lamina.expr.node import Expr
from lamina.expr.tree import all_nodes, apply_args


class Ref:
    """Stands for a node in a pickle: the record at `index`. A leaf of containers, which an integer would be lost among."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return Ref, (self.index,)


Record = tuple[str, tuple[Any, ...], Any, Any, Any]


def dump(output: Any) -> tuple[list[Record], Any]:
    """A record for every node that `output` needs, in any scope, operands first, and `output` with a `Ref` for each node."""
    nodes = all_nodes(output)
    refs = {node: Ref(index) for index, node in enumerate(nodes)}

    def refer(node: Expr, _: None) -> tuple[Ref, None]:
        return refs[node], None

    found = [(n.op, apply_args(n, "all", None, refer)[0], n.dtype, n.shape, n.source) for n in nodes]
    return found, containers.map_leaves(refs.__getitem__, output)


def load(found: list[Record], output: Any) -> Any:
    """The container that `dump` took, of new nodes."""
    nodes: list[Expr] = []

    def resolve(leaf: Any) -> Any:
        return nodes[leaf.index] if type(leaf) is Ref else leaf

    for op, args, dtype, shape, source in found:
        nodes.append(Expr(op, tuple(containers.map_leaves(resolve, arg) for arg in args), dtype, shape, source))
    return containers.map_leaves(resolve, output)


copyreg.pickle(Expr, lambda node: (load, dump(node)))  # type: ignore[arg-type]
