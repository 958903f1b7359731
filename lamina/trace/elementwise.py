"""Elementwise operations on anything NumPy takes: promoted, broadcast, and of the kind NumPy would give."""

from collections.abc import Sequence
from typing import Any

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import Expr
from lamina.operators import FUNCTIONS
from lamina.trace.build import (
    as_value,
    broadcast_shape,
    broadcast_to,
    constant,
    node_of,
    operand_dtypes,
    permute,
    result_dtype,
    scope_now,
    thing_of,
    to_dtype,
    with_kind,
)
from lamina.trace.numbers import COMPARISONS, compare_beyond, compare_signed_unsigned
from lamina.trace.order import order_of, ordered
from lamina.trace.scope import user_source
from lamina.trace.value import Kind, Value

_WHICH = ("the first operand", "the second operand", "the third operand")


def elementwise(op: str, *things: Any) -> Value:
    """The value of an elementwise op on arrays and numbers, by the rules of NumPy's functions.

    Python numbers adapt to the arrays they meet; a result of no axis is a NumPy scalar.
    Raises `TypeError` where the op isn't defined for the dtypes, `ValueError` where the shapes don't broadcast,
    `OverflowError` for a Python integer that the dtype it meets doesn't hold.
    """
    values = _values(op, things)
    shapes = [value.expr.shape for value in values]
    shape = shapes[0] if shapes.count(shapes[0]) == len(shapes) else broadcast_shape(*shapes)
    kind = Kind.ARRAY if shape else Kind.SCALAR
    if op in COMPARISONS and any(value.kind is Kind.NUMBER for value in values):
        known, values = _compared(op, values)
        if known is not None:
            return with_kind(broadcast_to(known, shape), kind)
    axes = order_of(values, len(shape))
    dtypes, values = _promoted(op, values)
    nodes = [broadcast_to(value, shape) for value in values]
    if len(set(dtypes)) > 1:
        return with_kind(compare_signed_unsigned(op, nodes), kind)
    # by now the rules of the op's row hold, so they need not be asked for this node
    result = result_dtype(op, dtypes)
    if axes is not None:
        nodes, shape = [permute(node, axes) for node in nodes], tuple(shape[axis] for axis in axes)
    made = Value(Expr(op, tuple(map(node_of, nodes)), result, shape, user_source()), scope_now(), kind)
    return made if axes is None else ordered(made, axes)


def promoted(op: str, *things: Any) -> list[Value]:
    """Arrays and numbers in the dtypes in which an elementwise op takes them; they keep their shapes.

    Raises as `elementwise` does.
    """
    return _promoted(op, _values(op, things))[1]


def _promoted(op: str, values: list[Value]) -> tuple[tuple[DType, ...], list[Value]]:
    if any(value.code is not None for value in values):
        values = FUNCTIONS["settled"](op, values)
    dtypes = operand_dtypes(op, *map(thing_of, values))
    return dtypes, [to_dtype(value, dtype) for value, dtype in zip(values, dtypes, strict=True)]


def _values(op: str, things: Sequence[Any]) -> list[Value]:
    values = [thing if type(thing) is Value else _operand(op, i, things) for i, thing in enumerate(things)]
    if all(value.kind is Kind.NUMBER for value in values):
        return [with_kind(value, Kind.SCALAR) for value in values]
    return values


def _operand(op: str, i: int, things: Sequence[Any]) -> Value:
    """A thing as a value; an integer beyond 64 bits by what it meets."""
    thing = things[i]
    if type(thing) is not int or dt.fits(thing, dt.int64) or len(things) == 1:
        return as_value(thing, _WHICH[i] if len(things) > 1 else "the operand")
    dtype = operand_dtypes(op, *(int if type(each) is int else thing_of(as_value(each)) for each in things))[i]
    if dtype.kind in ("float", "complex"):
        return constant(float(thing), dtype)
    if op in COMPARISONS and not all(type(each) is int for each in things) and dtype != dt.bool:
        return Value(Expr("constant", (thing,), dt.uint64, ()), scope_now(), Kind.NUMBER)  # for `_compared` alone
    dt.check_fits(thing, dtype)
    return constant(thing, dt.uint64)


def _compared(op: str, values: list[Value]) -> tuple[Value | None, list[Value]]:
    """A comparison with one Python number: its result where that is known, and its operands.

    NumPy compares a Python integer with integers of any dtype by its value.
    """
    for i, value in enumerate(values):
        other = values[1 - i]
        if value.kind is not Kind.NUMBER or value.dtype.kind not in ("signed", "unsigned"):
            continue
        if value.expr.op == "constant":
            return compare_beyond(op, value.expr.args[0], other, swapped=i == 1), values
        if other.dtype.kind in ("signed", "unsigned"):
            values[i] = with_kind(value, Kind.SCALAR)
    return None, values
