"""Whether two graphs mean the same: equal ops on equal operands, whatever the ids and the lines they came from."""

from typing import Any

import numpy as np

from lamina.expr import containers
from lamina.expr.node import Expr
from lamina.expr.tree import all_nodes, apply_args


def equal(left: Any, right: Any) -> bool:
    """Whether two containers of nodes are the same structure of the same nodes, captured arrays compared by their bytes.

    >>> import lamina
    >>> def double():
    ...     x = Expr("parameter", (0,), lamina.float32, ())
    ...     return Expr("add", (x, x), lamina.float32, ())
    >>> equal(double(), double()), equal(double(), (double(),))
    (True, False)
    """
    ours, structure = containers.flatten(left)
    theirs, other_structure = containers.flatten(right)
    if structure != other_structure:
        return False
    first, second = all_nodes(left), all_nodes(right)
    if len(first) != len(second):
        return False
    places = {node: place for place, node in enumerate(first)}
    other_places = {node: place for place, node in enumerate(second)}
    if [places[node] for node in ours] != [other_places[node] for node in theirs]:
        return False
    return all(_same(a, places, b, other_places) for a, b in zip(first, second, strict=True))


def _same(a: Expr, places: dict[Expr, int], b: Expr, other_places: dict[Expr, int]) -> bool:
    if (a.op, a.dtype, a.shape) != (b.op, b.dtype, b.shape):
        return False
    if a.op == "constant":  # 1, True and 1.0 are equal in Python, -0.0 and 0.0 too, and NaN is not equal to itself
        return (type(a.args[0]), repr(a.args[0])) == (type(b.args[0]), repr(b.args[0]))
    if a.op == "tensor":
        x, y = np.asarray(a.args[0]), np.asarray(b.args[0])
        return a.args[0] is b.args[0] or x.tobytes() == y.tobytes()
    return _places(a, places) == _places(b, other_places)


def _places(node: Expr, places: dict[Expr, int]) -> tuple[Any, ...]:
    """The node's args with a number for each node in them; a class of one's own keeps numbers apart from static ones."""
    return apply_args(node, "all", None, lambda operand, _: (_Place(places[operand]), None))[0]


class _Place:
    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self.index == other.index

    __hash__ = None  # type: ignore[assignment]
