"""Elementwise operations on anything NumPy takes: promoted, broadcast, and of the kind NumPy would give."""

from typing import Any

from lamina.trace import numbers
from lamina.trace.build import as_value, broadcast_shape, broadcast_to, emit, operand_dtypes, thing_of, to_dtype
from lamina.trace.value import Kind, Value

_WHICH = ("the first operand", "the second operand", "the third operand")


def elementwise(op: str, *things: Any) -> Value:
    """The value of an elementwise op on arrays and numbers.

    Python numbers alone are computed by Python's rules, into a number; otherwise a result of no axis is a NumPy scalar.
    Raises `TypeError` where the op isn't defined for the dtypes, `ValueError` where the shapes don't broadcast.
    """
    names = _WHICH if len(things) > 1 else ("the operand",)
    values = [as_value(thing, name) for thing, name in zip(things, names, strict=False)]
    if all(value.kind is Kind.NUMBER for value in values):
        if any(value.is_traced for value in values):
            return numbers.compute(op, values)
        values = [Value(value.expr, value.scope, Kind.SCALAR) for value in values]  # literals: NumPy's rules
    if op in numbers.COMPARISONS:
        known = numbers.compare_beyond(op, *values)
        if known is not None:
            return known
    dtypes = operand_dtypes(op, *map(thing_of, values))
    if len(set(dtypes)) > 1:
        return numbers.compare_signed_unsigned(op, *values)
    shape = broadcast_shape(*(value.shape for value in values))
    operands = [broadcast_to(to_dtype(value, dtype), shape) for value, dtype in zip(values, dtypes, strict=True)]
    return emit(op, *operands, kind=Kind.ARRAY if shape else Kind.SCALAR)
