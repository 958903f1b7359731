"""How many nodes `post_order` lines up in a second, against the sorters that a Python program would reach for.

The peers are given the list of nodes, which `post_order` has to find by itself; building their graph from the Python
objects and sorting it are both counted, since a program that has nodes must do both.
"""

import graphlib
import random
from collections.abc import Callable

from lamina import dtype
from lamina.expr import Expr
from lamina.tree import operands, post_order

from .harness import Benchmark, Case, peer, timed

NODES = 1_000_000
HOLD = "ahead, 1 M nodes/s"


def node(op: str, *args: object) -> Expr:
    return Expr(op, args, dtype.float64, ())


def chain(count: int) -> list[Expr]:
    """Each node has the one before as its only operand."""
    nodes = [node("parameter", 0)]
    for _ in range(count - 1):
        nodes.append(node("negative", nodes[-1]))
    return nodes


def random_graph(count: int) -> list[Expr]:
    """Each node has the one before and any earlier one as operands, so the last reaches them all."""
    draw = random.Random(0)
    nodes = [node("parameter", 0)]
    for _ in range(count - 1):
        nodes.append(node("add", nodes[-1], nodes[draw.randrange(len(nodes))]))
    return nodes


def sort_with_graphlib(nodes: list[Expr]) -> list[Expr]:
    sorter: graphlib.TopologicalSorter[Expr] = graphlib.TopologicalSorter()
    for each in nodes:
        sorter.add(each, *operands(each))
    return list(sorter.static_order())


def sorter_with_rustworkx() -> Callable[[list[Expr]], list[Expr]] | None:
    rustworkx = peer("rustworkx")
    if rustworkx is None:
        return None

    def sort(nodes: list[Expr]) -> list[Expr]:
        graph = rustworkx.PyDiGraph(multigraph=False)
        index = {each.id: i for each, i in zip(nodes, graph.add_nodes_from(nodes), strict=True)}
        graph.add_edges_from_no_data([(index[x.id], index[each.id]) for each in nodes for x in operands(each)])
        return [nodes[i] for i in rustworkx.topological_sort(graph)]

    return sort


def case(build: Callable[[int], list[Expr]]) -> Case:
    nodes = build(NODES)
    by_rustworkx = sorter_with_rustworkx()
    return Case(
        {
            "lamina": timed(lambda: post_order(nodes[-1])),
            "graphlib": timed(lambda: sort_with_graphlib(nodes)),
            "rustworkx": by_rustworkx and timed(lambda: by_rustworkx(nodes)),
        },
        count=NODES,
        unit="nodes",
    )


BENCHMARKS = [
    Benchmark("post_order: a chain of 1 M nodes", lambda: case(chain), HOLD),
    Benchmark("post_order: a random graph of 1 M nodes", lambda: case(random_graph), HOLD),
]
