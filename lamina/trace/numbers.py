"""Arithmetic of Python numbers while they are traced: Python's rules, not NumPy's.

``n / 2`` of two integers is a float, ``True + True`` is 2, ``n // 0`` raises ZeroDivisionError, and an integer never wraps:
it is traced as int64, and a result that int64 doesn't hold raises OverflowError at run time. Comparisons of an array with
a Python integer that its dtype doesn't hold have an answer too, as have those of int64 with uint64.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.trace.build import (
    broadcast_shape,
    broadcast_to,
    constant,
    emit,
    operand_dtypes,
    perform_check,
    to_dtype,
)
from lamina.trace.value import Kind, Value

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}

# Python has no bool arithmetic: these take bools as 0 and 1.
_ARITHMETIC = frozenset(
    "add subtract multiply divide floor_divide remainder pow negative positive abs bitwise_left_shift bitwise_right_shift "
    "bitwise_invert".split()
)


def _int(number: int) -> Value:
    return constant(number, dt.int64)


def _is_negative(x: Value) -> Value:
    return emit("less", x, _int(0))


def _sum_fits(x: Value, y: Value, result: Value) -> Value:
    # the sum overflowed where both operands have the sign that the result lacks
    differs = emit("bitwise_and", emit("bitwise_xor", x, result), emit("bitwise_xor", y, result))
    return emit("logical_not", _is_negative(differs))


def _difference_fits(x: Value, y: Value, result: Value) -> Value:
    differs = emit("bitwise_and", emit("bitwise_xor", x, y), emit("bitwise_xor", x, result))
    return emit("logical_not", _is_negative(differs))


def _product_fits(x: Value, y: Value, result: Value) -> Value:
    # dividing back finds every overflow but that of -1 * -2**63, whose quotient wraps too
    back = emit("equal", emit("floor_divide", result, x), y)
    wrapped = emit("logical_and", emit("equal", x, _int(-1)), emit("equal", y, _int(-(2**63))))
    return emit("logical_or", emit("equal", x, _int(0)), emit("logical_and", back, emit("logical_not", wrapped)))


def _negation_fits(x: Value, result: Value) -> Value:
    return emit("not_equal", x, _int(-(2**63)))


_FITS: dict[str, Callable[..., Value]] = {
    "add": _sum_fits,
    "subtract": _difference_fits,
    "multiply": _product_fits,
    "negative": _negation_fits,
    "abs": _negation_fits,
}
_BY_ZERO = {"divide": "division by zero", "floor_divide": "integer division or modulo by zero", "remainder": "integer modulo by zero"}


def compute(op: str, values: Sequence[Value]) -> Value:
    """An elementwise op on Python numbers alone, by Python's rules; the result is a Python number."""
    if op in _ARITHMETIC:
        values = [to_dtype(value, dt.int64) if value.dtype == dt.bool else value for value in values]
    if op == "positive":
        return values[0]
    if op in ("pow", "bitwise_left_shift") and all(value.dtype == dt.int64 for value in values):
        return _integer_power(op, *values)
    dtypes = operand_dtypes(op, *(value.dtype for value in values))
    operands = [to_dtype(value, dtype) for value, dtype in zip(values, dtypes, strict=True)]
    if op in _BY_ZERO and operands[1].dtype.kind != "complex":
        perform_check(emit("not_equal", operands[1], constant(0, operands[1].dtype)), ZeroDivisionError, _BY_ZERO[op])
    result = emit(op, *operands, kind=Kind.NUMBER)
    if op in _FITS and result.dtype == dt.int64:
        perform_check(_FITS[op](*operands, result), OverflowError, "a Python integer in a compiled function is limited to 64 bits")
    return result


def _integer_power(op: str, x: Value, y: Value) -> Value:
    """``x ** y`` or ``x << y``; the exponent's value decides the kind of the result, so it must be known."""
    exponent = y.expr.args[0] if y.expr.op == "constant" else int(y)
    if op == "bitwise_left_shift":
        if exponent < 0:
            raise ValueError("negative shift count")
        return compute("multiply", [x, constant(2**exponent, dt.int64)])
    if exponent < 0:
        return compute("pow", [to_dtype(x, dt.float64), constant(float(exponent), dt.float64)])
    result, square = _int(1), x
    while exponent:  # by squaring, each product checked
        if exponent & 1:
            result = compute("multiply", [result, square]) if result.expr.op != "constant" else square
        exponent >>= 1
        if exponent:
            square = compute("multiply", [square, square])
    return result


def compare_beyond(op: str, x: Value, y: Value) -> Value | None:
    """A comparison with a Python integer that the other operand's dtype doesn't hold: known, whatever the elements."""
    for value, other, is_first in ((x, y, True), (y, x, False)):
        number = value.expr.args[0] if value.expr.op == "constant" and value.kind is Kind.NUMBER else None
        if type(number) is int and other.dtype.kind in ("signed", "unsigned") and not dt.fits(number, other.dtype):
            edge = int(other.dtype.max if number > 0 else other.dtype.min)
            known = COMPARISONS[op](number, edge) if is_first else COMPARISONS[op](edge, number)
            result = broadcast_to(constant(known, dt.bool, Kind.SCALAR), other.shape)
            return Value(result.expr, result.scope, Kind.ARRAY if other.shape else Kind.SCALAR)
    return None


def compare_signed_unsigned(op: str, x: Value, y: Value) -> Value:
    """A comparison of int64 with uint64, exactly: a negative number is below every unsigned one."""
    shape = broadcast_shape(x.shape, y.shape)
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    x_signed = x.dtype.kind == "signed"
    signed, unsigned = (x, y) if x_signed else (y, x)
    negative = emit("less", signed, broadcast_to(constant(0, signed.dtype), shape))
    lifted = emit("cast", signed, dt.uint64)
    where_negative = COMPARISONS[op](-1, 0) if x_signed else COMPARISONS[op](0, -1)
    others = emit(op, lifted, unsigned) if x_signed else emit(op, unsigned, lifted)
    known = broadcast_to(constant(where_negative, dt.bool), shape)
    return emit("where", negative, known, others, kind=Kind.ARRAY if shape else Kind.SCALAR)

