"""A graph: the parameters, outputs and effects of one traced function."""

from typing import Any

from lamina.expr import pickling
from lamina.expr.compare import equal
from lamina.expr.node import Expr
from lamina.expr.text import graph_text
from lamina.expr.tree import nodes_of, post_order


class Graph:
    """What a function computes: nodes from `params` to `outputs`, and the `effects`, in order.

    Attributes
    ----------
    params : the parameter nodes, in leaf order of the arguments.
    outputs : the container the function returns, with nodes as leaves.
    effects : the nodes that must run, in this order, whether an output needs them or not.
    updates : pairs of a param, or a captured tensor, whose memory the function writes in place, and the node of what
        it holds at the end.
    name : the function's.

    ``str(graph)`` is its text, which is the same for equal graphs; ``==`` compares those meanings, not identities.

    >>> import lamina
    >>> graph = lamina.trace(lambda x: x * 2, lamina.Spec(lamina.float32, (3,)))
    >>> print(graph)
    <lambda>(%0: float32[3]):
      %1: float32[3] = move(2.0: float32, Broadcast((3,)))
      %2: float32[3] = multiply(%0, %1)
      return %2
    """

    __slots__ = ("effects", "name", "outputs", "params", "updates")

    def __init__(
        self,
        params: tuple[Expr, ...],
        outputs: Any,
        effects: tuple[Expr, ...] = (),
        name: str = "graph",
        updates: tuple[tuple[Expr, Expr], ...] = (),
    ) -> None:
        self.params = tuple(params)
        self.outputs = outputs
        self.effects = tuple(effects)
        self.updates = tuple(updates)
        self.name = name
        nodes_of(self._container)

    @property
    def order(self) -> list[Expr]:
        """The graph's own nodes, operands first: those the effects need, then those of the outputs and the updates."""
        return post_order((self.effects, self.outputs, self.updates))

    def __str__(self) -> str:
        return graph_text(self.name, self.params, self.outputs, self.effects, self.updates)[0]

    @property
    def names(self) -> dict[Expr, str]:
        """The name of each node in the graph's text, those of inner scopes too; a constant has none."""
        return graph_text(self.name, self.params, self.outputs, self.effects, self.updates)[1]

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.params)} params, {len(self.order)} nodes>"

    def __eq__(self, other: object) -> bool:
        return equal(self._container, other._container) if isinstance(other, Graph) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(node.op for node in self.order))

    @property
    def _container(self) -> tuple[Any, ...]:
        return self.params, self.outputs, self.effects, self.updates

    def __reduce__(self) -> tuple[Any, ...]:
        return _load, (pickling.dump(self._container), self.name)


def _load(dumped: Any, name: str) -> Graph:
    params, outputs, effects, updates = pickling.load(*dumped)
    return Graph(params, outputs, effects, name, updates)
