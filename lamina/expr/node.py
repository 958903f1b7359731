"""The node of an expression graph, and the page that lists every syntax node.

An `Expr` has four fields, ``op``, ``args``, ``dtype`` and ``shape``, and an identity, ``id``. Beside the primitive
operations of `lamina.expr.ops`, whose operands are the nodes in their args, there are the syntax nodes below. Every
compiler handles them; what is not on this page does not exist.

=================  ==================================================  ===============================================
op                 args                                                scope
=================  ==================================================  ===============================================
``parameter``      ``(position,)``: an input of its scope
``constant``       ``(number,)``: every element is this Python number
``tensor``         ``(array,)``: a captured `lamina.Array`
``elem``           ``(node, i)``: result `i` of a node with several
``metadata``       ``(expr, dict)``: `expr`, with a note on it         same scope; nodes inside the dict are no operands
``fun``            ``(params, body, name)``                            `body` is inner; no dependency on the parent
``call``           ``(fun, args)``: the results of `fun` on `args`     the args belong to the parent
``while``          ``(initial, arg, condition, body)``                 all but `initial` are inner
``block``          ``(struct, in_args, default, callback)``            `default` is inner; the rest is the parent's
``cond``           ``(clauses, otherwise)``: clauses are pairs         all of it belongs to the parent
                   ``(predicate, value)``
``runtime_call``   ``(args, callback, template, options)``             the args belong to the parent
``hook``           ``(value, name, callback)``                         parent
``check``          ``(predicate, exception, message)``                 parent
``move``           ``(x, movement)``: a movement of `lamina.layout`    parent
``view``           ``(root, layout, shifts, lengths)``: the elements   parent
                   of the root's memory (C order) that the layout
                   names; shifts are ``(node, stride)`` pairs that
                   move it; lengths are ``(axis, node)`` pairs: what
                   is beyond them along the axis is not specified;
                   a dtype behind them: of the memory's bytes, seen
                   as elements of it, which the layout counts
``update``         ``(root, layout, shifts, lengths, value)``: the     parent
                   root with those elements replaced, up to the lengths;
                   they are seen as the value's dtype, whatever the root's
=================  ==================================================  ===============================================

Inner scopes read their inputs through ``parameter`` nodes: a ``while``'s from ``arg``, a ``fun``'s from ``params``, a
``block``'s default from the leaves of ``in_args`` that are nodes, by position. Inner scopes are closed: what they
capture is passed in ``initial``, ``args`` or ``in_args``.

Where ``initial``, a branch's ``value``, a ``body``, a ``default`` or a ``template`` is a container, its node has
several results: ``dtype`` and ``shape`` are tuples in leaf order, and the results are read through ``elem``. Where it
is one bare leaf, the node is that one result.

Effects (``hook``, ``runtime_call``, ``check``, and a ``while``, ``cond``, ``call`` or ``block`` that holds some) have
an order. A graph keeps them in a list beside its outputs; an inner scope or a branch that has effects is `Scoped`.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from lamina.expr import containers

_next_id = itertools.count(1).__next__


class Source(NamedTuple):
    """The line of the user's source that a traced node came from."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


@containers.container
class Scoped:
    """What an inner scope or a branch gives where it has effects: the effects, in order, then the value.

    A container like any other (its leaves are the effects, then the leaves of the value), so each traversal meets the
    effects by itself.
    """

    __slots__ = ("effects", "value")

    def __init__(self, effects: Iterable["Expr"], value: Any) -> None:
        self.effects = tuple(effects)
        self.value = value

    def __repr__(self) -> str:
        return f"Scoped({self.effects!r}, {self.value!r})"


def value_of(scope: Any) -> Any:
    """The value of an inner scope or a branch, without its effects."""
    return scope.value if isinstance(scope, Scoped) else scope


def effects_of(scope: Any) -> tuple["Expr", ...]:
    """The effects of an inner scope or a branch, in order."""
    return scope.effects if isinstance(scope, Scoped) else ()


def with_effects(effects: Iterable["Expr"], value: Any) -> Any:
    """`value`, `Scoped` where there are effects."""
    effects = tuple(effects)
    return Scoped(effects, value) if effects else value


class Crossing(NamedTuple):
    """Which args of a syntax node hold nodes: the parent's, those of inner scopes, and such as are only noted."""

    parent: tuple[int, ...]
    inner: tuple[int, ...] = ()
    noted: tuple[int, ...] = ()


# What calls back to Python when the program runs.
CALLBACKS = frozenset({"hook", "runtime_call"})

# The one place that knows what crosses a scope. An op that is not here is a primitive: all its args are the parent's.
CROSSINGS: dict[str, Crossing] = {
    "parameter": Crossing(()),
    "constant": Crossing(()),
    "tensor": Crossing(()),
    "elem": Crossing((0,)),
    "metadata": Crossing((0,), noted=(1,)),
    "fun": Crossing((), (0, 1)),
    "call": Crossing((0, 1)),
    "while": Crossing((0,), (1, 2, 3)),
    "block": Crossing((1,), (2,)),
    "cond": Crossing((0, 1)),
    "runtime_call": Crossing((0,)),
    "hook": Crossing((0,)),
    "check": Crossing((0,)),
    "move": Crossing((0,)),
    "view": Crossing((0, 2, 3)),
    "update": Crossing((0, 2, 3, 4)),
}


class Expr:
    """A node: what is asked of its args. Frozen; two nodes are the same node or different ones (``==`` is identity).

    Parameters
    ----------
    op : the name of a primitive of `lamina.expr.ops` or of a syntax node.
    args : operands (nodes, or containers of nodes) and static data, in the order of the op's row.
    dtype, shape : the result's; tuples of them, in leaf order, for a node with several results.
    source : where in the user's program it was made; no part of the node's meaning.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, (3,))
    >>> y = Expr("add", (x, x), lamina.float32, (3,))
    >>> y
    <Expr add: float32[3]>
    """

    __slots__ = ("__weakref__", "_operands", "args", "dtype", "id", "op", "shape", "source")

    op: str
    args: tuple[Any, ...]
    dtype: Any
    shape: Any
    id: int
    source: Source | None
    _operands: tuple["Expr", ...]

    def __init__(self, op: str, args: tuple[Any, ...], dtype: Any, shape: Any, source: Source | None = None) -> None:
        _set_op(self, op)
        _set_args(self, args)
        _set_dtype(self, dtype)
        _set_shape(self, shape)
        _set_source(self, source)
        _set_id(self, _next_id())
        for arg in args:
            if type(arg) is not Expr:
                _set_operands(self, tuple(_parent_nodes(op, args)))
                return
        _set_operands(self, args if op not in CROSSINGS else tuple(_parent_nodes(op, args)))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a node is never changed: put_args(node, args) makes a new one (tried to set {name!r})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a node is never changed: put_args(node, args) makes a new one (tried to del {name!r})")

    @property
    def has_several(self) -> bool:
        """Whether the node has a tuple of results, read through ``elem``."""
        return isinstance(self.dtype, tuple)

    def __copy__(self) -> "Expr":
        return self

    def __repr__(self) -> str:
        return f"<Expr {self.op}: {describe(self.dtype, self.shape)}>"


def _setter(slot: str) -> Any:
    return vars(Expr)[slot].__set__


_set_op = _setter("op")
_set_args = _setter("args")
_set_dtype = _setter("dtype")
_set_shape = _setter("shape")
_set_source = _setter("source")
_set_id = _setter("id")
_set_operands = _setter("_operands")


def describe(dtype: Any, shape: Any) -> str:
    """A result's dtype and shape as text; several results in parentheses.

    >>> import lamina
    >>> describe(lamina.float32, (2, 3)), describe((lamina.int64, lamina.bool), ((), (4,)))
    ('float32[2, 3]', '(int64[], bool[4])')
    """
    if isinstance(dtype, tuple):
        return f"({', '.join(describe(d, s) for d, s in zip(dtype, shape, strict=True))})"
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _parent_nodes(op: str, args: tuple[Any, ...]) -> Iterator[Expr]:
    crossing = CROSSINGS.get(op)
    if crossing is not None:
        for position in crossing.parent:
            if position < len(args):  # else an arg is missing, which `lamina.expr.check` says
                yield from _nodes_in(args[position])
        return
    for arg in args:
        if not isinstance(arg, dict):  # a primitive's dict is its options
            yield from _nodes_in(arg)


_STATIC = frozenset({int, float, complex, bool, str, type(None)})


def _nodes_in(arg: Any) -> Iterable[Expr]:
    if type(arg) is Expr:
        return (arg,)
    if type(arg) in _STATIC:
        return ()
    return [leaf for leaf in containers.leaves_of(arg) if type(leaf) is Expr]


def inner_nodes(node: Expr) -> list[Expr]:
    """The nodes in a node's args that belong to its inner scopes."""
    crossing = CROSSINGS.get(node.op)
    return [inner for position in crossing.inner for inner in _nodes_in(node.args[position])] if crossing else []


def noted_nodes(node: Expr) -> list[Expr]:
    """The nodes in a node's args that are no operands: those in a ``metadata``'s dict."""
    crossing = CROSSINGS.get(node.op)
    return [noted for position in crossing.noted for noted in _nodes_in(node.args[position])] if crossing else []
