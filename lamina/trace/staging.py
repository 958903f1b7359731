"""Tracing: a function is called with values in place of its arrays and numbers, and what it does becomes a graph."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import Expr, Graph, describe
from lamina.expr.containers import flatten, unflatten
from lamina.expr.tree import substitute
from lamina.layout import Layout
from lamina.trace.aliasing import may_alias, may_be_moved, memories_of
from lamina.trace.bounded import Bounded
from lamina.trace.build import NUMBER_DTYPES, as_value, node_of
from lamina.trace.choice import choice_at, folded
from lamina.trace.content import Content
from lamina.trace.guards import state_of
from lamina.trace.scope import Cell, Note, Scope
from lamina.trace.state import Untraceable
from lamina.trace.value import Kind, Value
from lamina.trace.variant import Variant


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
    is_swapped: bool = False  # whether its bytes are in the other order


class Output(NamedTuple):
    """A leaf that a traced function returned: whose memory it is, and what of it."""

    kind: Kind
    node: Expr  # its elements, in the public graph
    memory: int  # which of the results, or, counted from -1 downwards, which of the params' memories
    layout: Layout | None
    choice: "tuple[int, Output, Output] | None" = None  # the result that says which of two it is
    code: int = -1  # the result that says whether it is a Python number
    shifts: tuple[tuple[int, int], ...] = ()  # results that move the layout, each by a stride
    lengths: tuple[tuple[int, int], ...] = ()  # results that cut it, each along an axis
    is_frozen: bool = False  # whether it is read-only
    recast: np.dtype | None = None  # the dtype as which it sees the memory, where that is of another
    is_swapped: bool = False  # whether its bytes are to be in the other order


class Traced(NamedTuple):
    """A traced function.

    `graph` is what it computes: its outputs are the memories of the returned leaves. `leaves` and `structure` put those
    together into what the function returned.
    """

    graph: Graph
    leaves: list[Any]
    structure: Any
    captured: list[Any]  # the arrays from outside that it reads or writes
    contents: list[Content]  # what it was traced for
    notes: list[Note]  # what was decided on the way
    tells_apart: bool  # whether it hangs on which arguments are one array


def stage(name: str, call: Callable[[list[Any]], Any], leaves: Sequence[Any], arrays: Sequence[Any] = ()) -> Traced:
    """Trace ``call(leaves)``, where each leaf that is an `Argument` is a value of that dtype, shape and kind.

    Leaves that are no values come back as they are among the result's leaves, values as `Output`. Raises
    `lamina.trace.value.Pin` where the value of a number argument is needed.
    """
    scope = Scope(name)
    scope.given.extend(arrays)
    with scope:
        cells: dict[int, Cell] = {}
        arguments = [leaf for leaf in leaves if isinstance(leaf, Argument)]
        writable = {each.root for each in arguments if each.is_writable}
        values = {id(leaf): _given(leaf, scope, cells, writable) for leaf in arguments}
        given = [values.get(id(leaf), leaf) for leaf in leaves]
        params = tuple(scope.params)
        try:
            returned, structure = flatten(call(given))
        except BaseException as error:
            for undo in reversed(scope.undo):
                undo()
            if isinstance(error, Exception) and scope.demand is not None and scope.demand is not error:
                error.add_note(f"lamina: {scope.demand}")
            raise
        kinds = {type(leaf) for leaf in returned if type(leaf).__module__ in _OURS}
        if kinds:
            raise Untraceable(f"a {kinds.pop().__name__.lower()} of traced numbers is returned")
        _expect_own_generators(scope, returned)
        places = {cell: -1 - params.index(cell.start) for cell in cells.values()}
        held = [*cells.values(), *(cell for cell in scope.captured_cells.values() if cell.writable)]
        updates = [(cell.start, scope.read(cell)) for cell in held if scope.read(cell) is not cell.start]
        kept = _Results(scope, places, bool(updates))
        same: dict[int, Output] = {}  # an array that is returned twice is one array
        for leaf in returned:
            if _is_array(leaf) and id(leaf) not in same:
                same[id(leaf)] = kept.output(leaf)
        results = [same.get(id(leaf), leaf) for leaf in returned]
    effects, outputs, nodes, news = substitute(
        (scope.effects, kept.nodes, [leaf.node for leaf in results if isinstance(leaf, Output)], updates),
        scope.written_tensors(),
    )
    outs = [leaf for leaf in results if isinstance(leaf, Output)]
    renewed = {id(leaf): leaf._replace(node=node) for leaf, node in zip(outs, nodes, strict=True)}
    results = [renewed.get(id(leaf), leaf) for leaf in results]
    if updates and scope.shared:
        raise Untraceable(f"{scope.shared[0]}, and one of them is written; pass both as arguments")
    graph = Graph(params, tuple(outputs), tuple(effects), name, tuple(news))
    return Traced(graph, results, structure, scope.captured_arrays(), scope.contents, [*scope.notes], scope.tells_apart)


def _expect_own_generators(scope: Scope, returned: Sequence[Any]) -> None:
    """A generator of random numbers that the program makes is known to it alone."""
    if any(id(leaf) in scope.generators for leaf in returned):
        raise Untraceable("a generator that is made at each call is returned")
    if any(state_of(each.like) != each.before for each in scope.generators.values()):
        raise Untraceable("a generator that is made at each call is given to a function that isn't traced")


def _given(argument: Argument, scope: Scope, cells: dict[int, Cell], writable: set[int]) -> Value:
    if argument.root < 0:
        param = scope.param(argument.dtype, argument.shape)
        if argument.kind is Kind.NUMBER:
            scope.numbers.append(param)
        return Value(param, scope, argument.kind)
    cell = cells.get(argument.root)
    if cell is None:
        param = scope.param(argument.dtype, argument.memory)
        cell = cells[argument.root] = scope.new_cell(param, argument.root in writable)
        cell.is_swapped = argument.is_swapped
        scope.has_swapped |= argument.is_swapped
    value = Value.alias(cell, argument.layout)
    value.is_frozen = cell.writable and not argument.is_writable  # another argument may write what this one may not
    return value


# What is the program's own, and there again at the next call: no result may be memory of it.
_PROGRAM_MEMORY = frozenset({"constant", "tensor"})


_OURS = frozenset({"lamina.trace.sequences", "lamina.trace.loop"})  # what stands for things of Python's


class _Results:
    """The memories that a graph gives, in the order in which returned leaves ask for them."""

    def __init__(self, scope: Scope, places: dict[Cell, int], has_updates: bool) -> None:
        self.scope = scope
        self.places = places
        self.nodes: list[Expr] = []
        self.memories: set[Expr] = set()  # of the arrays among them
        # what an argument holds changes with what the program writes there, so no result may be memory of it
        self.not_ours = _PROGRAM_MEMORY | {"parameter"} if has_updates else _PROGRAM_MEMORY

    def keep(self, node: Expr) -> int:
        """The place of a node among the results, copied where its memory isn't its own."""
        self.nodes.append(self.scope.emit("copy", node) if may_alias(node, self.not_ours) else node)
        return len(self.nodes) - 1

    def keep_cell(self, cell: Cell) -> int:
        """The place of what a cell holds among the results: memory that no other result, and nothing else, is of."""
        node = self.scope.read(cell)
        not_ours = self.not_ours if node is cell.start else self.not_ours | {"parameter"}  # x[:] = y is no y
        memories = memories_of(node)
        if may_be_moved(node) or may_alias(node, not_ours) or self.memories & memories:
            node = self.scope.emit("copy", node)
            memories = {node}
        self.memories |= memories
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _either(self, test: Value, then: Output, otherwise: Output) -> Output:
        which = self.keep(node_of(test))
        return Output(then.kind, then.node, which, None, (which, then, otherwise))

    def output(self, leaf: Any) -> Output:
        """What a returned leaf is."""
        if type(leaf) is Variant:
            if any(isinstance(thing, np.dtype) for thing in leaf.things):
                raise Untraceable("a dtype that a run alone tells is returned")
            return folded(self._either, leaf.tests, list(map(self.output, leaf.things)))  # type: ignore[no-any-return]
        if type(leaf) is Bounded:
            lengths = tuple((axis, self.keep(node_of(length))) for axis, length in sorted(leaf.lengths.items()))
            return self.output(leaf.value)._replace(lengths=lengths)
        value = as_value(leaf)
        node, cell = node_of(value), value.cell
        if cell is None:
            place = self.keep(node)
            code = -1 if value.code is None else self.keep(node_of(value.code))
            return Output(value.kind, self.nodes[place], place, None, None, code)
        choice = choice_at(value)
        if choice is not None:
            shown = folded(self._either, choice.tests, list(map(self.output, choice.sides)))
            return shown._replace(node=node)  # type: ignore[no-any-return]
        if cell not in self.places:
            self.places[cell] = self.keep_cell(cell)
        place = self.places[cell]
        if value.layout is None:
            shown = self.nodes[place] if place >= 0 else node
        else:
            shown = self.scope.emit("copy", node) if may_alias(node, self.not_ours) else node
        shifts = tuple((self.keep(node_of(by)), stride) for by, stride in value.shifts)
        recast = None if value.dtype == self.scope.read(cell).dtype else value.dtype.numpy
        return Output(
            value.kind,
            shown,
            place,
            value.layout,
            shifts=shifts,
            is_frozen=value.is_frozen,
            recast=recast,
            is_swapped=cell.is_swapped,
        )


def _is_array(leaf: Any) -> bool:
    # an array that the function made without lamina is a constant of the graph; each call returns a copy
    if type(leaf) in (Value, Variant, Bounded):
        return True
    is_class = isinstance(leaf, type)  # np.float64 is no array, though it has all that an array has
    return not is_class and hasattr(leaf, "__array__") and hasattr(leaf, "dtype") and hasattr(leaf, "shape")


def _cases(leaf: Output) -> list[Output]:
    """What a leaf may be."""
    return [leaf] if leaf.choice is None else [case for side in leaf.choice[1:] for case in _cases(side)]


def with_structure(traced: Traced) -> Graph:
    """The graph with its outputs in the container that the function returned; leaves that are no nodes as constants."""
    graph = traced.graph

    def node(leaf: Any) -> Expr:
        if isinstance(leaf, Output) and leaf.lengths:
            raise NotImplementedError(
                f"{graph.name} returned an array whose length a run alone knows, and the shapes of a graph are static; "
                "return it padded, with its length beside it"
            )
        if isinstance(leaf, Output):
            if len({(each.node.dtype, each.node.shape) for each in _cases(leaf)}) > 1:
                shown = " or ".join(describe(each.node.dtype, each.node.shape) for each in _cases(leaf))
                raise TypeError(f"{graph.name} returned {shown}, as elements decide, which has no place in a graph")
            return leaf.node
        if type(leaf) in NUMBER_DTYPES:
            return Expr("constant", (leaf,), NUMBER_DTYPES[type(leaf)], ())
        raise TypeError(f"{graph.name} returned {leaf!r}, which is no array or number, so it has no place in a graph")

    outputs = unflatten(traced.structure, [node(leaf) for leaf in traced.leaves])
    return Graph(graph.params, outputs, graph.effects, graph.name, graph.updates)
