"""Between which numbers an integer lies, whatever it is computed from: what ops make of intervals."""

from collections.abc import Callable, Sequence

from lamina.dtype import DType
from lamina.expr.node import Expr
from lamina.expr.tree import post_order

Interval = tuple[int, int]  # the least and the greatest


def whole_interval(dtype: DType) -> Interval:
    """All numbers of an integer dtype."""
    return (0, 1) if dtype.kind == "bool" else (int(dtype.min), int(dtype.max))


def combined(op: str, dtype: DType, args: Sequence[Interval | None]) -> Interval:
    """Between which numbers an elementwise op's result of an integer dtype lies; None is for what is no integer.

    >>> import lamina
    >>> combined("add", lamina.int64, [(0, 9), (1, 1)])
    (1, 10)
    """
    most = whole_interval(dtype)
    known = [each for each in args if each is not None]
    if op not in _RULES or len(known) < len(args):
        return most
    low, high = _RULES[op](*known)
    return (low, high) if most[0] <= low <= high <= most[1] else most  # beyond the dtype's limits numbers wrap


def interval_of(node: Expr) -> Interval | None:
    """Between which numbers the elements of a node lie; None for what are no integers.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.uint8, (3,))
    >>> interval_of(Expr("cast", (x, lamina.int64), lamina.int64, (3,)))
    (0, 255)
    """
    found: dict[Expr, Interval | None] = {}
    for each in post_order((node,), lambda node: None if node.op in _RULES or node.op == "move" else ()):
        found[each] = _of_node(each, found)
    return found[node]


def _of_node(node: Expr, found: dict[Expr, Interval | None]) -> Interval | None:
    if node.has_several or node.dtype.kind not in ("signed", "unsigned", "bool"):
        return None
    match node.op:
        case "constant":
            return int(node.args[0]), int(node.args[0])
        case "move":
            return found[node.args[0]]
        case "argmax" | "argmin":
            x, axis = node.args
            return 0, max(x.shape[axis] - 1, 0)
    args = [found[arg] for arg in node.args if isinstance(arg, Expr)] if node.op in _RULES else []
    return combined(node.op, node.dtype, args[1:] if node.op == "where" else args)


def _product(x: Interval, y: Interval) -> Interval:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


_RULES: dict[str, Callable[..., Interval]] = {
    **dict.fromkeys(("copy", "cast"), lambda x: x),
    "where": lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "negative": lambda x: (-x[1], -x[0]),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "less": lambda x, y: (int(x[1] < y[0]), int(x[0] < y[1])),
    "less_equal": lambda x, y: (int(x[1] <= y[0]), int(x[0] <= y[1])),
    "greater": lambda x, y: (int(x[0] > y[1]), int(x[1] > y[0])),
    "greater_equal": lambda x, y: (int(x[0] >= y[1]), int(x[1] >= y[0])),
    "clip": lambda x, low, high: (min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])),
    # by a number above 0: a rest is below it
    "remainder": lambda x, y: (0, y[1] - 1) if y[0] > 0 else (-(2**64), 2**64),
}
