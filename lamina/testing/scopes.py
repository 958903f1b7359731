"""An op in a scope of its own: the same node as the body of a loop, a branch, a function, a unit."""

from collections.abc import Callable, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.expr import Expr, build
from lamina.layout import move
from lamina.tree import post_order, substitute


def _zeros(node: Expr) -> Expr:
    number: Any = False if node.dtype == dt.bool else 0
    return build("move", Expr("constant", (number,), node.dtype, ()), move.Broadcast(node.shape))


def _inner(given: Sequence[Expr], start: int = 0) -> tuple[Expr, ...]:
    return tuple(Expr("parameter", (i,), each.dtype, each.shape) for i, each in enumerate(given, start))


def _in_fun(node: Expr, given: Sequence[Expr]) -> Expr:
    params = _inner(given)
    body = substitute(node, dict(zip(given, params, strict=True)))
    return build("call", build("fun", params, body, node.op), tuple(given))


def _in_block(node: Expr, given: Sequence[Expr]) -> Expr:
    return build("block", "unit", tuple(given), substitute(node, dict(zip(given, _inner(given), strict=True))), None)


def _in_branch(node: Expr, given: Sequence[Expr]) -> Expr:
    """The second branch of three."""
    no, yes = (Expr("constant", (truth,), dt.bool, ()) for truth in (False, True))
    return build("cond", ((no, _zeros(node)), (yes, node)), _zeros(node))


def _in_loop(node: Expr, given: Sequence[Expr]) -> Expr:
    """Two turns, each of which computes it of what the loop carries."""
    zero, one, two = (Expr("constant", (i,), dt.int64, ()) for i in range(3))
    initial = (zero, _zeros(node), *given)
    count, result, *params = _inner(initial)
    body = substitute(node, dict(zip(given, params, strict=True)))
    turn = (build("add", count, one), body, *params)
    loop = build("while", initial, (count, result, *params), build("less", count, two), turn)
    return build("elem", loop, 1)


SCOPES: dict[str, Callable[[Expr, Sequence[Expr]], Expr]] = {
    "fun": _in_fun,
    "block": _in_block,
    "branch": _in_branch,
    "loop": _in_loop,
}


def within(scope: str, node: Expr) -> Expr:
    """The value of a node of one result, computed in a scope of its own.

    >>> x = Expr("parameter", (0,), dt.float32, (3,))
    >>> within("loop", build("sin", x))
    <Expr elem: float32[3]>
    """
    return SCOPES[scope](node, [each for each in post_order(node) if each.op == "parameter"])
