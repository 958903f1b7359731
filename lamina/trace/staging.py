"""Tracing: a function is called with values in place of its arrays and numbers, and what it does becomes a graph."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import Expr, Graph
from lamina.expr.containers import flatten, unflatten
from lamina.expr.tree import substitute
from lamina.layout import Layout
from lamina.trace.aliasing import may_alias
from lamina.trace.build import NUMBER_DTYPES, as_value, node_of
from lamina.trace.scope import Scope
from lamina.trace.value import Kind, Value


class Spec:
    """The dtype and shape of an array that isn't there: for `lamina.trace`, and templates of `lamina.runtime_call`.

    >>> import lamina
    >>> Spec(lamina.float32, (2, 3))
    lamina.Spec(lamina.float32, (2, 3))
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: Any, shape: Sequence[int] = ()) -> None:
        self.dtype = dt.from_numpy(dtype)
        self.shape = Layout.contiguous(tuple(shape)).shape

    def __repr__(self) -> str:
        return f"lamina.Spec({self.dtype!r}, {self.shape})"

    def __eq__(self, other: object) -> bool:
        return (self.dtype, self.shape) == (other.dtype, other.shape) if isinstance(other, Spec) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))


class Argument(NamedTuple):
    """What a traced leaf of the arguments stands for."""

    dtype: DType
    shape: tuple[int, ...]
    kind: Kind


class Output(NamedTuple):
    """A leaf that a traced function returned: the place of its node among the graph's outputs, and its kind."""

    place: int
    kind: Kind


class Traced(NamedTuple):
    """A traced function: its graph, whose outputs are the nodes among the returned leaves, and how to put those together."""

    graph: Graph
    leaves: list[Any]
    structure: Any


def stage(name: str, call: Callable[[list[Any]], Any], leaves: Sequence[Any]) -> Traced:
    """Trace ``call(leaves)``, where each leaf that is an `Argument` is a value of that dtype, shape and kind.

    Leaves that are no values come back as they are among the result's leaves, values as `Output`. Raises
    `lamina.trace.value.Pin` where the value of a number argument is needed.
    """
    scope = Scope(name)
    with scope:
        given = []
        for leaf in leaves:
            if isinstance(leaf, Argument):
                param = scope.param(leaf.dtype, leaf.shape)
                if leaf.kind is Kind.NUMBER:
                    scope.numbers.add(param)
                leaf = Value(param, scope, leaf.kind)
            given.append(leaf)
        params = tuple(scope.params)
        try:
            returned, structure = flatten(call(given))
        except Exception as error:
            if scope.demand is not None and scope.demand is not error:
                error.add_note(f"lamina: {scope.demand}")
            raise
        nodes: list[Expr] = []
        results: list[Any] = []
        for leaf in returned:
            if type(leaf) is Value or _is_array(leaf):
                value = as_value(leaf)
                node = node_of(value)
                if may_alias(node, _PROGRAM_MEMORY):
                    node = scope.emit("copy", node)
                results.append(Output(len(nodes), value.kind))
                nodes.append(node)
            else:
                results.append(leaf)
    effects, outputs = substitute((tuple(scope.effects), tuple(nodes)), scope.written_tensors())
    return Traced(Graph(params, outputs, effects, name), results, structure)


# What is the program's own, and there again at the next call: no result may be memory of it.
_PROGRAM_MEMORY = frozenset({"constant", "tensor"})


def _is_array(leaf: Any) -> bool:
    # an array that the function made without lamina is a constant of the graph; each call returns a copy
    is_class = isinstance(leaf, type)  # np.float64 is no array, though it has all that an array has
    return not is_class and hasattr(leaf, "__array__") and hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def with_structure(traced: Traced) -> Graph:
    """The graph with its outputs in the container that the function returned; leaves that are no nodes as constants."""
    graph = traced.graph

    def node(leaf: Any) -> Expr:
        if isinstance(leaf, Output):
            return graph.outputs[leaf.place]  # type: ignore[no-any-return]
        if type(leaf) in NUMBER_DTYPES:
            return Expr("constant", (leaf,), NUMBER_DTYPES[type(leaf)], ())
        raise TypeError(f"{graph.name} returned {leaf!r}, which is no array or number, so it has no place in a graph")

    shown = [node(leaf) for leaf in traced.leaves]
    return Graph(graph.params, unflatten(traced.structure, shown), graph.effects, graph.name)
