"""Between which numbers an integer lies, as far as that is known before the program runs.

What is proved here is not checked when the program runs, and an index that can't be negative isn't counted from an end.
"""

from collections.abc import Callable, Collection, Mapping

from lamina import dtype as dt
from lamina.expr import Expr, value_of
from lamina.expr.intervals import Interval, combined, whole_interval
from lamina.expr.tree import nodes_of
from lamina.program.record import Term, in_order

Range = Interval
Growth = tuple[int, int]  # a step, and a number


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
        found[each] = _range(each, found, known)
    return found[term]


def _range(term: Term, found: Mapping[Term, Range | None], known: Mapping[int, Range]) -> Range | None:
    if term.dtype.kind not in ("signed", "unsigned", "bool"):
        return None
    most, args = whole_interval(term.dtype), [found[arg] for arg in term.args]
    match term.op:
        case "constant":
            return int(term.static[0]), int(term.static[0])
        case "load":  # where its conditions are false, any number is read
            return most if None in term.static[2] else known.get(term.static[0], most)
        case "position":
            low, high = term.static[0].span
            return low, high - 1
        case "with":
            return args[0]
        case "within":
            low, high = args[0] or most
            low, high = max(low, term.static[0]), min(high, term.static[1])
            return (low, high) if low <= high else most  # the check fails, and nothing is known after it
        case "where":  # an index that is counted from the end where it is negative
            test, *others = term.args
            ends = [_where(each, test, holds, found) for each, holds in zip(others, (True, False), strict=True)]
            taken = [end for end in ends if end[0] <= end[1]] or [most]
            return min(least for least, _ in taken), max(most for _, most in taken)
    return combined(term.op, term.dtype, args)


def _where(term: Term, test: Term, holds: bool, found: Mapping[Term, Range | None]) -> Range:
    """Between which numbers a term lies where a test holds, or where it doesn't; least above most where it never is."""
    low, high = found[term] or whole_interval(term.dtype)
    if test.op != "less" or test.args[1].op != "constant":
        return low, high
    x, number = test.args[0], int(test.args[1].static[0])
    if term is x:
        by = 0
    elif term.op == "add" and term.args[0] is x and term.args[1].op == "constant":
        by = int(term.args[1].static[0])
    else:
        return low, high
    least, most = found[x] or whole_interval(x.dtype)
    least, most = (least, min(most, number - 1)) if holds else (max(least, number), most)
    limits = whole_interval(term.dtype)
    if limits[0] <= least + by and most + by <= limits[1]:  # it doesn't wrap
        return max(low, least + by), min(high, most + by)
    return low, high


_ORDERS = frozenset({"less", "less_equal", "greater", "greater_equal"})


def counted(
    param: Expr, output: Expr, predicate: Expr, start: Range | None, bounds: Callable[[Expr], Range | None]
) -> Range:
    """Between which numbers an int64 of a loop lies in its turns.

    It begins within `start`, is `output` after a turn, and there is a turn where the predicate holds, whose operands
    lie within their `bounds`.
    """
    least, most = low, high = whole_interval(dt.int64)
    for each in _conjuncts(predicate):
        if each.op in _ORDERS and param in each.args:
            is_left = each.args[0] is param
            apart = 0 if each.op.endswith("equal") else 1
            bound = bounds(each.args[1 if is_left else 0]) or (least, most)
            if each.op.startswith("less") is is_left:
                high = min(high, bound[1] - apart)
            else:
                low = max(low, bound[0] + apart)
    step = step_of(param, output)
    if start is not None and step > 0 and high + step <= most:  # it doesn't wrap
        low = max(low, start[0])
    if start is not None and step < 0 and low + step >= least:
        high = min(high, start[1])
    return (low, high) if low <= high else (least, most)


def grown(outputs: Mapping[Expr, Expr], starts: Mapping[Expr, Range], turns: int) -> dict[Expr, Range]:
    """Between which numbers those int64 of a loop lie that a turn leaves as they are, or adds a constant to.

    `outputs` has what a turn leaves of each, `starts` where it begins; there are at most so many turns.
    """
    found = dict(outputs)
    while True:
        steps = {param: _growth(output, found, {}) for param, output in found.items()}
        if None not in steps.values():
            break
        found = {param: output for param, output in found.items() if steps[param] is not None}
    if not found:
        return {}
    known = [step for step in steps.values() if step is not None]
    first = max([most for _, most in known] + [abs(end) for param in found for end in starts[param]])
    bound = first + (turns + 1) * max(step for step, _ in known)
    return dict.fromkeys(found, (-bound, bound)) if bound < 2**62 else {}


def _growth(node: Expr, params: Collection[Expr], known: dict[Expr, Growth | None]) -> Growth | None:
    """How much farther from 0 a node is than the greatest of the params and a number; None where that isn't known."""
    if node not in known:
        known[node] = _growth_of(node, params, known)
    return known[node]


def _growth_of(node: Expr, params: Collection[Expr], known: dict[Expr, Growth | None]) -> Growth | None:
    if node in params:
        return 0, 0
    if node.dtype != dt.int64 or node.shape:
        return None
    match node.op:
        case "constant":
            return 0, abs(int(node.args[0]))
        case "add" | "subtract":
            numbers = [arg for arg in node.args if arg.op == "constant"]
            if not numbers:
                return None
            (other,) = (arg for arg in node.args if arg is not numbers[0])
            growth = _growth(other, params, known)
            return growth and (growth[0] + abs(int(numbers[0].args[0])), growth[1])
        case "where" | "minimum" | "maximum":
            branches = list(node.args[-2:])
        case "elem" if node.args[0].op == "cond":
            clauses, otherwise = node.args[0].args
            values = [*(value for _, value in clauses), otherwise]
            branches = [nodes_of(value_of(value))[node.args[1]] for value in values]
        case "cond":
            clauses, otherwise = node.args
            branches = [nodes_of(value_of(value))[0] for value in (*(value for _, value in clauses), otherwise)]
        case _:
            return None
    found = [growth for growth in (_growth(each, params, known) for each in branches) if growth is not None]
    if len(found) < len(branches):
        return None
    return max(step for step, _ in found), max(most for _, most in found)


def _conjuncts(predicate: Expr) -> list[Expr]:
    """What holds where a predicate does."""
    if predicate.op != "logical_and":
        return [predicate]
    return [each for arg in predicate.args for each in _conjuncts(arg)]


def step_of(param: Expr, output: Expr) -> int:
    """What a turn adds to a number; 0 where it is no constant."""
    if output.op not in ("add", "subtract") or param not in output.args:
        return 0
    x, y = output.args
    if output.op == "add" and y is param:
        x, y = y, x
    if x is not param or y.op != "constant":
        return 0
    return int(y.args[0]) if output.op == "add" else -int(y.args[0])
