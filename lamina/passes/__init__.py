"""Graph in, graph out: what is worth changing before a graph becomes a program.

Each pass is a function of a graph, by name in `PASSES`, in the order in which they run. It keeps the meaning to the
last bit but where an op's tolerance allows more, the order of effects, and which results are memory of their own.
"""

from collections.abc import Callable, Collection

from lamina.expr import Graph
from lamina.passes.calls import inline_calls
from lamina.passes.common import share_common
from lamina.passes.constants import fold_constants
from lamina.passes.identities import simplify

PASSES: dict[str, Callable[[Graph], Graph]] = {
    "calls": inline_calls,
    "constants": fold_constants,
    "identities": simplify,
    "common": share_common,
}


def run_passes(graph: Graph, names: Collection[str] = tuple(PASSES)) -> Graph:
    """The graph after the passes of these names.

    >>> import lamina
    >>> print(run_passes(lamina.trace(lambda x: (x**2).sum() + (x**2).sum(), lamina.Spec(lamina.float64, (3,)))))
    <lambda>(%0: float64[3]):
      %1: float64[3] = square(%0)
      %2: float64[] = sum(%1, (0,))
      %3: float64[] = add(%2, %2)
      return %3
    """
    for name, run in PASSES.items():
        if name in names:
            graph = run(graph)
    return graph


__all__ = ["PASSES", "run_passes"]
