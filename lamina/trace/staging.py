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
from lamina.trace.build import NUMBER_DTYPES, as_value, node_of, scope_now
from lamina.trace.scope import Cell, Scope
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
    """What a traced leaf of the arguments stands for: a number or scalar, or an array that sees a root's memory."""

    dtype: DType
    shape: tuple[int, ...]
    kind: Kind
    root: int = -1  # which memory, for an array; leaves of one root share it
    memory: tuple[int, ...] = ()  # the memory's own shape
    layout: Layout | None = None  # where the leaf's elements are in it; None: it is all of it
    is_writable: bool = True


class Output(NamedTuple):
    """A leaf that a traced function returned: whose memory it is, and what of it."""

    kind: Kind
    node: Expr  # its elements, in the public graph
    memory: int  # which of the results, or, counted from -1 downwards, which of the params' memories
    layout: Layout | None


class Traced(NamedTuple):
    """A traced function.

    `graph` is what it computes: its outputs are the memories of the returned leaves. `leaves` and `structure` put those
    together into what the function returned.
    """

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
        cells: dict[int, Cell] = {}
        given = [_given(leaf, scope, cells) if isinstance(leaf, Argument) else leaf for leaf in leaves]
        params = tuple(scope.params)
        returned, structure = flatten(call(given))
        places = {cell: -1 - params.index(cell.start) for cell in cells.values()}
        held = [*cells.values(), *(cell for cell in scope.captured_cells.values() if cell.writable)]
        updates = [(cell.start, scope.read(cell)) for cell in held if scope.read(cell) is not cell.start]
        memories: list[Expr] = []
        results = [_output(leaf, places, memories, bool(updates)) if _is_array(leaf) else leaf for leaf in returned]
    effects, outputs, nodes, news = substitute(
        (scope.effects, memories, [leaf.node for leaf in results if isinstance(leaf, Output)], updates),
        scope.written_tensors(),
    )
    renewed = iter(nodes)
    results = [leaf._replace(node=next(renewed)) if isinstance(leaf, Output) else leaf for leaf in results]
    return Traced(Graph(params, tuple(outputs), tuple(effects), name, tuple(news)), results, structure)


def _given(argument: Argument, scope: Scope, cells: dict[int, Cell]) -> Value:
    if argument.root < 0:
        param = scope.param(argument.dtype, argument.shape)
        if argument.kind is Kind.NUMBER:
            scope.numbers.append(param)
        return Value(param, scope, argument.kind)
    cell = cells.get(argument.root)
    if cell is None:
        cell = cells[argument.root] = scope.new_cell(scope.param(argument.dtype, argument.memory), argument.is_writable)
    return Value.alias(cell, argument.layout)


# What is the program's own, and there again at the next call: no result may be memory of it.
_PROGRAM_MEMORY = frozenset({"constant", "tensor"})


def _output(leaf: Any, places: dict[Cell, int], memories: list[Expr], has_updates: bool) -> Output:
    value = as_value(leaf)
    scope = scope_now()
    node, cell = node_of(value), value.cell
    if cell is not None and cell in places:
        place = places[cell]
    elif cell is not None:
        memory = scope.read(cell)
        # a memory that is an argument's would change with what the program writes there
        if may_alias(memory, _PROGRAM_MEMORY | {"parameter"} if has_updates else _PROGRAM_MEMORY):
            memory = scope.emit("copy", memory)
        place = places[cell] = len(memories)
        memories.append(memory)
        node = memory if value.layout is None else node
    else:
        place = len(memories)
        memories.append(node)
    return Output(value.kind, node, place, value.layout)


def _is_array(leaf: Any) -> bool:
    # an array that the function made without lamina is a constant of the graph; each call returns a copy
    return type(leaf) is Value or hasattr(leaf, "__array__") and hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def with_structure(traced: Traced) -> Graph:
    """The graph with its outputs in the container that the function returned; leaves that are no nodes as constants."""
    graph = traced.graph

    def node(leaf: Any) -> Expr:
        if isinstance(leaf, Output):
            return leaf.node
        if type(leaf) in NUMBER_DTYPES:
            return Expr("constant", (leaf,), NUMBER_DTYPES[type(leaf)], ())
        raise TypeError(f"{graph.name} returned {leaf!r}, which is no array or number, so it has no place in a graph")

    outputs = unflatten(traced.structure, [node(leaf) for leaf in traced.leaves])
    return Graph(graph.params, outputs, graph.effects, graph.name, graph.updates)
