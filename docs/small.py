"""lamina built small: tracing, scopes, order and an evaluator, in a hundred lines of NumPy and Python.

Nothing here is imported by lamina, and nothing of lamina is imported here. Each part names the room that does it in
full.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

# What was asked? (`lamina.expr`) A node is an op, its args and a shape. It is never changed, and equal to itself alone.


@dataclass(frozen=True, eq=False)
class Expr:
    op: str
    args: tuple[Any, ...]
    shape: tuple[int, ...]


# What can be asked: one row for each op. An op's meaning is a NumPy function; the meaning on ones gives its shape.
OPS: dict[str, Any] = {
    f.__name__: f for f in (np.add, np.subtract, np.multiply, np.divide, np.sqrt, np.less, np.sum, np.transpose)
}


# In which order can it be answered? (`lamina.tree`) One function knows what crosses a scope. A loop is
# ``while(initial, params, condition, body)``; of these, only `initial` belongs to the scope that the loop stands in.


def operands(node: Expr) -> list[Expr]:
    args = node.args[0] if node.op == "while" else node.args
    return [arg for arg in args if isinstance(arg, Expr)]


def post_order(*roots: Expr) -> list[Expr]:
    """Every node of the roots' scope once, after its operands. A stack of our own: graphs are deeper than Python's."""
    order: dict[Expr, None] = {}
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        missing = [operand for operand in operands(node) if operand not in order]
        if missing:
            stack += reversed(missing)
        else:
            order[stack.pop()] = None  # a second time, for a node that is used twice, changes nothing
    return list(order)


# What does it mean? (`lamina.evaluator`) Each node in its turn, on NumPy; a loop's scopes once for each turn.


def evaluate(known: dict[Expr, Any], *roots: Expr) -> list[Any]:
    values = dict(known)
    for node in post_order(*roots):
        if node.op == "while":
            initial, params, condition, body = node.args
            carry = [values[arg] for arg in initial]
            while evaluate(dict(zip(params, carry, strict=True)), condition)[0]:
                carry = evaluate(dict(zip(params, carry, strict=True)), *body)
            values[node] = carry[0]
        elif node.op == "constant":
            values[node] = node.args[0]
        elif node not in values:
            values[node] = OPS[node.op](*(values[arg] if isinstance(arg, Expr) else arg for arg in node.args))
    return [values[root] for root in roots]


# How was it asked? (`lamina.trace`) A function is called with values that write down what is done to them. NumPy's own
# protocols bring them the operators and the functions. Scopes are closed: a value of an outer scope becomes a param.

scopes: list["Scope"] = []


class Scope:
    def __init__(self) -> None:
        self.params: list[Expr] = []
        self.captured: dict[Value, Value] = {}

    def param(self, shape: tuple[int, ...]) -> "Value":
        self.params.append(Expr("parameter", (len(self.params),), shape))
        return Value(self.params[-1], self)

    def read(self, thing: Any) -> Expr:
        """The node through which this scope reads anything: a value, or what NumPy takes for an array."""
        if not isinstance(thing, Value):
            return Expr("constant", (np.asarray(thing),), np.shape(thing))
        if thing.scope is not self and thing not in self.captured:
            self.captured[thing] = self.param(thing.node.shape)
        return (thing if thing.scope is self else self.captured[thing]).node


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    __hash__ = object.__hash__

    def __init__(self, node: Expr, scope: Scope) -> None:
        self.node, self.scope = node, scope

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any) -> "Value":
        return ask(ufunc.__name__, *inputs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> "Value":
        return ask(func.__name__, *args, **kwargs)


def ask(op: str, *inputs: Any) -> Value:
    scope = scopes[-1]
    nodes = tuple(scope.read(each) for each in inputs)
    shape = OPS[op](*(np.ones(node.shape) for node in nodes)).shape
    return Value(Expr(op, nodes, shape), scope)


def while_loop(condition: Any, body: Any, initial: Any) -> Value:
    """``while condition(x): x = body(x)``, as one node."""
    outer, inner = scopes[-1], Scope()
    start = outer.read(initial)
    scopes.append(inner)
    x = inner.param(start.shape)
    test, turned = inner.read(condition(x)), inner.read(body(x))
    scopes.pop()
    captured = tuple(map(outer.read, inner.captured))
    again = tuple(inner.params[1:])  # what the loop reads from outside is there in the next turn too
    return Value(Expr("while", ((start, *captured), tuple(inner.params), test, (turned, *again)), start.shape), outer)


# Was it asked before? (`lamina.defn`) One trace for each tuple of shapes.


def defn(function: Any) -> Any:
    traces: dict[Any, tuple[list[Expr], Expr]] = {}

    def call(*arrays: Any) -> Any:
        shapes = tuple(map(np.shape, arrays))
        if shapes not in traces:
            scopes.append(Scope())
            result = scopes[-1].read(function(*map(scopes[-1].param, shapes)))
            traces[shapes] = scopes.pop().params, result
        params, result = traces[shapes]
        return evaluate(dict(zip(params, arrays, strict=True)), result)[0]

    return call
