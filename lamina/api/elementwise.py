"""Elementwise functions: one for each elementwise op of one or two operands, and a few that are made of them."""

from collections.abc import Callable
from typing import Any

from lamina.expr import OPS
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.value import Value


def _of_op(op: str) -> Callable[..., Any]:
    """The public function of an elementwise op."""

    def unary(x: Any, /) -> Value:
        return elementwise(op, x)

    def binary(x1: Any, x2: Any, /) -> Value:
        return elementwise(op, x1, x2)

    body: Callable[..., Any] = unary if OPS[op].arity == 1 else binary
    body.__name__ = body.__qualname__ = op
    body.__doc__ = f"{OPS[op].doc}\n\n    Element by element; dtypes are promoted and shapes broadcast as NumPy does."
    return function(body)


abs = _of_op("abs")
add = _of_op("add")
multiply = _of_op("multiply")
subtract = _of_op("subtract")
divide = _of_op("divide")
less = _of_op("less")
greater = _of_op("greater")
sin = _of_op("sin")
