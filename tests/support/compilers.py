"""Compilers for tests, written from outside against the contract: one computes nothing, one counts."""

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from lamina.compilers import compiler_named
from lamina.evaluator import compile_graph
from lamina.expr import Expr, Graph
from lamina.tree import nodes_of, post_order


def scopes_of(outputs: Any) -> Iterator[list[Expr]]:
    """The nodes of a scope in order, and then those of each scope inside it; a fun's body once."""
    waiting, funs = [outputs], set()
    while waiting:
        order = post_order(waiting.pop())
        yield order
        for node in order:
            if node.op == "while":
                waiting += node.args[2:]
            elif node.op == "block":
                waiting.append(node.args[2])
            elif node.op == "fun" and node not in funs:
                funs.add(node)
                waiting.append(node.args[1])


def results_of(graph: Graph) -> list[Expr]:
    """The nodes whose values a compiled graph returns."""
    return [*nodes_of(graph.outputs), *(node for _, node in graph.updates)]


def null(graph: Graph, options: Any) -> Callable[..., list[np.ndarray]]:
    """A compiler that visits every node of every scope, accepts them all, and gives zeros."""
    for order in scopes_of((graph.effects, results_of(graph))):
        assert len(set(order)) == len(order)
    results = [(node.shape, node.dtype.numpy) for node in results_of(graph)]
    return lambda *arrays: [np.zeros(shape, dtype) for shape, dtype in results]


class Counting:
    """A compiler that counts the nodes of a graph's scopes by op, and has the evaluator run it."""

    __name__ = "counting"

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def __call__(self, graph: Graph, options: Any) -> Callable[..., list[np.ndarray]]:
        """The compiler's contract."""
        for order in scopes_of((graph.effects, results_of(graph))):
            self.counts.update(node.op for node in order)
        return compile_graph(graph)


def every_compiler() -> list[Any]:
    """The compilers that this project has, as params of tests; one that isn't there is skipped, with the reason."""
    found = []
    for name in ("evaluator", "native", "mlx"):
        try:
            # an entry point is there only where lamina is installed; what it names is there in a checkout too
            compiler = import_module("lamina.mlx").compile_graph if name == "mlx" else compiler_named(name)
            found.append(pytest.param(compiler, id=name))
        except (ValueError, ImportError) as error:
            found.append(pytest.param(None, id=name, marks=pytest.mark.skip(reason=f"{name} is not there: {error}")))
    return found
