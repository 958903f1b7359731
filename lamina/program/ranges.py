"""Between which numbers an integer lies, as far as that is known before the program runs.

What is proved here is not checked when the program runs, and an index that can't be negative isn't counted from an end.
"""

from collections.abc import Callable, Mapping, Sequence

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import Expr
from lamina.program.record import Term, in_order

Range = tuple[int, int]  # the least and the greatest


def whole_range(dtype: DType) -> Range:
    """All numbers of an integer dtype."""
    return (0, 1) if dtype.kind == "bool" else (int(dtype.min), int(dtype.max))


def range_of(term: Term, known: Mapping[int, Range]) -> Range | None:
    """Between which numbers a term lies; None for what is no integer. `known` says it of buffers.

    >>> import lamina
    >>> from lamina.program.record import Terms
    >>> terms = Terms()
    >>> i = terms.load(0, lamina.int64, lamina.Layout.contiguous(()))
    >>> range_of(terms.make("add", (i, terms.constant(1, lamina.int64)), lamina.int64), {0: (0, 9)})
    (1, 10)
    """
    found: dict[Term, Range | None] = {}
    for each in in_order([term]):
        found[each] = _range(each, [found[arg] for arg in each.args], known)
    return found[term]


def _range(term: Term, args: Sequence[Range | None], known: Mapping[int, Range]) -> Range | None:
    if term.dtype.kind not in ("signed", "unsigned", "bool"):
        return None
    most = whole_range(term.dtype)
    match term.op:
        case "constant":
            return int(term.static[0]), int(term.static[0])
        case "load":  # where its conditions are false, any number is read
            return most if None in term.static[2] else known.get(term.static[0], most)
        case "position":
            low, high = term.static[0].span
            return low, high - 1
        case "where":
            args = args[1:]
    if term.op not in _RULES or any(arg is None for arg in args):
        return most
    low, high = _RULES[term.op](*args)
    if term.op == "within":
        low, high = max(low, term.static[0]), min(high, term.static[1])
    # beyond the dtype's limits numbers wrap; and a check that fails ends the program, so nothing is known after it
    return (low, high) if most[0] <= low <= high <= most[1] else most


def _product(x: Range, y: Range) -> Range:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


_RULES: dict[str, Callable[..., Range]] = {
    **dict.fromkeys(("within", "with"), lambda x, *_: x),
    **dict.fromkeys(("copy", "cast"), lambda x: x),
    "where": lambda x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "multiply": _product,
    "negative": lambda x: (-x[1], -x[0]),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "clip": lambda x, low, high: (min(max(x[0], low[0]), high[0]), min(max(x[1], low[1]), high[1])),
}


_ORDERS = frozenset({"less", "less_equal", "greater", "greater_equal"})


def counted(
    param: Expr, output: Expr, predicate: Expr, start: Range | None, bounds: Callable[[Expr], Range | None]
) -> Range:
    """Between which numbers an int64 of a loop lies in its turns.

    It begins within `start`, is `output` after a turn, and there is a turn where the predicate holds, whose operands
    lie within their `bounds`.
    """
    least, most = low, high = whole_range(dt.int64)
    for each in _conjuncts(predicate):
        if each.op in _ORDERS and param in each.args:
            is_left = each.args[0] is param
            apart = 0 if each.op.endswith("equal") else 1
            bound = bounds(each.args[1 if is_left else 0]) or (least, most)
            if each.op.startswith("less") is is_left:
                high = min(high, bound[1] - apart)
            else:
                low = max(low, bound[0] + apart)
    step = _step(param, output)
    if start is not None and step > 0 and high + step <= most:  # it doesn't wrap
        low = max(low, start[0])
    if start is not None and step < 0 and low + step >= least:
        high = min(high, start[1])
    return (low, high) if low <= high else (least, most)


def _conjuncts(predicate: Expr) -> list[Expr]:
    """What holds where a predicate does."""
    if predicate.op != "logical_and":
        return [predicate]
    return [each for arg in predicate.args for each in _conjuncts(arg)]


def _step(param: Expr, output: Expr) -> int:
    """What a turn adds to a number; 0 where it is no constant."""
    if output.op not in ("add", "subtract") or param not in output.args:
        return 0
    x, y = output.args
    if output.op == "add" and y is param:
        x, y = y, x
    if x is not param or y.op != "constant":
        return 0
    return int(y.args[0]) if output.op == "add" else -int(y.args[0])
