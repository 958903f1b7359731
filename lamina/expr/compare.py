"""Whether two graphs mean the same: equal ops on equal operands, whatever the ids and the lines they came from."""

from typing import Any

import numpy as np

from lamina.expr import containers
from lamina.expr.node import CROSSINGS, Expr
from lamina.expr.tree import held_nodes


def equal(left: Any, right: Any) -> bool:
    """Whether two containers of nodes are one structure of nodes that mean the same, arrays compared by their bytes.

    >>> import lamina
    >>> def double():
    ...     x = Expr("parameter", (0,), lamina.float32, ())
    ...     return Expr("add", (x, x), lamina.float32, ())
    >>> equal(double(), double()), equal(double(), (double(),))
    (True, False)
    """
    first, second = held_nodes(left), held_nodes(right)
    if len(first) != len(second):
        return False
    places = {node: place for place, node in enumerate(first)}
    other_places = {node: place for place, node in enumerate(second)}
    if not _same(left, places, right, other_places):
        return False
    return all(_same_node(a, places, b, other_places) for a, b in zip(first, second, strict=True))


def _same_node(a: Expr, places: dict[Expr, int], b: Expr, other_places: dict[Expr, int]) -> bool:
    if (a.op, a.dtype, a.shape, len(a.args)) != (b.op, b.dtype, b.shape, len(b.args)):
        return False
    if a.op not in CROSSINGS and len(a._operands) == len(a.args) == len(b._operands):  # nodes alone
        return all(places[x] == other_places[y] for x, y in zip(a._operands, b._operands, strict=True))
    return all(_same(x, places, y, other_places) for x, y in zip(a.args, b.args, strict=True))


def _same(a: Any, places: dict[Expr, int], b: Any, other_places: dict[Expr, int]) -> bool:
    """Whether two containers have one structure and the same leaves: nodes of one place, equal static data."""
    ours, structure = containers.flatten(a)
    theirs, other_structure = containers.flatten(b)
    # the keys 1, True and 1.0 of dicts are equal in Python
    if structure != other_structure or (structure.num_nodes > 1 and repr(structure) != repr(other_structure)):
        return False
    for x, y in zip(ours, theirs, strict=True):
        if type(x) is Expr and x in places:
            if type(y) is not Expr or places[x] != other_places.get(y):
                return False
        elif not _same_static(x, y):
            return False
    return True


def _same_static(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (int, float, complex)):  # 0.0 and -0.0 are equal in Python, and NaN isn't equal to itself
        return repr(a) == repr(b)
    if hasattr(a, "__array__") and not isinstance(a, type):
        x, y = np.asarray(a), np.asarray(b)
        return (x.dtype, x.shape) == (y.dtype, y.shape) and x.tobytes() == y.tobytes()
    return bool(a == b)
