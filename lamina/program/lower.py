"""A graph becomes a program: movements go into layouts, elementwise work waits for who needs it, the rest is in order.

`lamina.program.scope` keeps what a block has so far, `lamina.program.nodes` says what the nodes are that aren't
elementwise. What stays in a buffer for no reason after this is merged away by `lamina.program.fuse`.
"""

from collections.abc import Callable

from lamina.expr import Expr, Graph
from lamina.expr.tree import nodes_of
from lamina.program.nodes import LOWERINGS
from lamina.program.record import Block, Program
from lamina.program.scope import Scope, Whole, uses_of


def lower(graph: Graph, is_native: Callable[[Expr], bool]) -> Program:
    """The program of a graph; an op for which `is_native` is false becomes a library call.

    Raises `TooLarge` for a graph whose program would have more buffers than it is worth to compile.

    >>> import lamina
    >>> graph = lamina.trace(lambda x: (x.T * 2).sum(axis=0), lamina.Spec(lamina.float64, (3, 8)))
    >>> print(lower(graph, lambda node: True))
    <lambda>(%0: float64[3, 8]):
      %1: float64[3] = kernel [3, 8 reduced]:
        t0: float64 = %0
        t1: float64 = multiply(t0, 2.0: float64)
        t2: float64 = sum(t1)
        %1 = t2
      return %1
    """
    whole = Whole(is_native, LOWERINGS)
    params = tuple(whole.buffer(param.dtype, param.shape) for param in graph.params)
    outputs = (*nodes_of(graph.outputs), *(node for _, node in graph.updates))
    scope = Scope(whole, uses_of((*graph.effects, *outputs)))
    for param, buffer in zip(graph.params, params, strict=True):
        scope.values[param] = whole.load(buffer)
    whole.fixed.update(params)
    places = dict(zip(graph.params, params, strict=True))
    written = tuple(places[param] for param, _ in graph.updates if param in places)
    whole.written.update(written)
    scope.run(graph.effects, outputs)
    results = scope.results(outputs)
    block = Block(tuple(scope.instructions), results)
    shapes = tuple(node.shape for node in outputs)
    return Program(
        graph.name,
        whole.buffers,
        params,
        whole.tensors,
        block,
        whole.terms,
        whole.kept,
        whole.origins,
        shapes,
        written if len(written) == len(graph.updates) else (),
    )
