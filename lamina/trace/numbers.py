"""Arithmetic of Python numbers while they are traced: Python's rules, not NumPy's.

``n / 2`` of two integers is a float, ``True + True`` is 2, ``n // 0`` raises ZeroDivisionError, and an integer never
wraps: it is traced as int64, and a result that int64 doesn't hold raises OverflowError at run time. The operators of
`lamina.trace.value` come here where numbers alone meet; NumPy's functions of numbers are NumPy's, in
`lamina.trace.elementwise`.

Three things differ from Python. Where both a real and a complex result are possible (a float to the power of a float),
a result that would be complex is a ValueError. ``n / m`` converts its integers to float64 first, so it may differ from
Python's in the last bit where one is above 2**53. Products, quotients and powers of complex numbers are NumPy's, which
may differ in the last bits, and in what is infinite or NaN.
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.layout.limits import INT_MAX, INT_MIN, has_64_bits
from lamina.operators import FUNCTIONS
from lamina.trace.affine import is_at_least
from lamina.trace.build import (
    NUMBER_DTYPES,
    NUMBER_TYPES,
    as_value,
    broadcast_to,
    constant,
    emit,
    node_of,
    perform_check,
    to_dtype,
    with_kind,
)
from lamina.trace.value import Kind, Value

_LIMITED = "a Python integer in a compiled function is limited to 64 bits"
_OUT_OF_RANGE = "Numerical result out of range"

# Each op of Python's operators, as Python has it: what doesn't work there doesn't work here, by the same error.
_PYTHON: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift,
    "bitwise_right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "positive": operator.pos,
    "abs": operator.abs,
    "bitwise_invert": operator.invert,
    "conj": lambda x: x.conjugate(),
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}
COMPARISONS = {name: _PYTHON[name] for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")}
_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
_WHOLE = ("round", "floor", "ceil", "trunc")


def compute(op: str, *operands: Any) -> Value:
    """An operator on Python numbers, traced ones and others, by Python's rules; the result is a Python number.

    Raises what Python raises: now where the types decide, at run time (by a ``check``) where the values do.
    """
    for operand in operands:
        if type(operand) is Value:
            node_of(operand)  # which is an error for a value that escaped from its scope
    if len(operands) == 2:
        known = _beyond_int64(op, *operands)
        if known is not None:
            return known
    values = [as_python(as_value(operand)) for operand in operands]
    types = [NUMBER_TYPES[value.dtype] for value in values]
    result = NUMBER_DTYPES[_result_type(op, *types)]
    if not (op in _BITS and result == dt.bool):
        values = [to_dtype(value, dt.int64) if value.dtype == dt.bool else value for value in values]
    if op in COMPARISONS:
        return _compare(op, *values)
    if op in _WHOLE:
        return _whole(op, *values)
    if op not in ("pow", "divide", "abs"):
        values = [to_dtype(value, result) for value in values]
    return _RULES.get(op, _plain)(op, *values)


FUNCTIONS["number_operator"] = compute


def as_python(value: Value) -> Value:
    """A 0-d value as the Python number that it converts to."""
    if value.kind is Kind.NUMBER:
        return value
    if value.shape:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    if value.dtype == dt.uint64:
        perform_check(_emit("less_equal", value, constant(INT_MAX, dt.uint64)), OverflowError, _LIMITED)
    return with_kind(to_dtype(value, _PYTHONS[value.dtype.kind]), Kind.NUMBER)


_PYTHONS = {
    "bool": dt.bool,
    "signed": dt.int64,
    "unsigned": dt.int64,
    "float": dt.float64,
    "complex": dt.complex128,
}


@functools.cache
def _result_type(op: str, *types: type) -> type:
    """The type of an operator's result for operands of these types, or Python's TypeError."""
    return type(_PYTHON[op](*(kind(1) for kind in types)))


def _beyond_int64(op: str, x: Any, y: Any) -> Value | None:
    """The result where an operand is an integer that int64 doesn't hold; `None` where none is."""
    big = next((number for number in (x, y) if type(number) is int and not has_64_bits(number)), None)
    if big is None:
        return None
    other = as_value(y if big is x else x)
    _result_type(op, *(NUMBER_TYPES[each.dtype] if type(each) is Value else type(each) for each in (x, y)))
    if other.dtype.kind in ("float", "complex"):
        if op not in COMPARISONS:
            return compute(op, *(float(each) if each is big else each for each in (x, y)))
        return _compare_int_literal(op, big, other) if big is x else _compare_int_literal(_MIRRORED[op], big, other)
    if op in COMPARISONS:  # with an integer, which is nearer to 0
        return constant(COMPARISONS[op](*(big if each is big else 0 for each in (x, y))), dt.bool)
    raise OverflowError(_LIMITED)


def _number(value: Value) -> Any:
    """The number of a known value, else `None`."""
    return value.expr.args[0] if value.expr.op == "constant" else None


def _int(number: int) -> Value:
    return constant(number, dt.int64)


def _float(number: float) -> Value:
    return constant(number, dt.float64)


def _emit(op: str, *values: Value) -> Value:
    return emit(op, *values, kind=Kind.NUMBER)


def _both(first: Value, *others: Value) -> Value:
    return functools.reduce(lambda x, y: _emit("logical_and", x, y), others, first)


def _either(first: Value, *others: Value) -> Value:
    return functools.reduce(lambda x, y: _emit("logical_or", x, y), others, first)


def _not(x: Value) -> Value:
    return _emit("logical_not", x)


# Rules: the ops whose values may be wrong for Python


def _plain(op: str, *values: Value) -> Value:
    return _emit(op, *values)


def _positive(op: str, x: Value) -> Value:
    return x


def _bounded(op: str, x: Value, y: Value) -> Value:
    """A sum, difference or product; an integer one must be in range."""
    result = _emit(op, x, y)
    if result.dtype != dt.int64:
        return result
    known_x, known_y = _number(x), _number(y)
    if known_y is not None:
        _check_range(x, *_RANGE[op](known_y))
    elif known_x is not None:
        _check_range(y, *_RANGE["from" if op == "subtract" else op](known_x))
    elif op == "multiply" and node_of(x) is node_of(y):
        _check_range(x, -math.isqrt(INT_MAX), math.isqrt(INT_MAX))
    elif not (is_at_least(result, INT_MIN) and is_at_least(INT_MAX, result)):
        perform_check(_FITS[op](x, y, result), OverflowError, _LIMITED)
    return result


def _check_range(x: Value, low: int, high: int) -> None:
    if low > INT_MIN and not is_at_least(x, low):
        perform_check(_emit("greater_equal", x, _int(low)), OverflowError, _LIMITED)
    if high < INT_MAX and not is_at_least(high, x):
        perform_check(_emit("less_equal", x, _int(high)), OverflowError, _LIMITED)


def _product_range(number: int) -> tuple[int, int]:
    if number == 0:
        return INT_MIN, INT_MAX
    edges = (INT_MIN, INT_MAX) if number > 0 else (INT_MAX, INT_MIN)
    return -(-edges[0] // number), edges[1] // number


# For which x an operation with a known number is in range; "from" is the number less x.
_RANGE: dict[str, Callable[[int], tuple[int, int]]] = {
    "add": lambda number: (INT_MIN - min(number, 0), INT_MAX - max(number, 0)),
    "subtract": lambda number: (INT_MIN + max(number, 0), INT_MAX + min(number, 0)),
    "from": lambda number: (number - INT_MAX, number - INT_MIN),
    "multiply": _product_range,
}


def _is_negative(x: Value) -> Value:
    return _emit("less", x, _int(0))


def _sum_fits(x: Value, y: Value, result: Value) -> Value:
    # the sum overflowed where both operands have the sign that the result lacks
    differs = _emit("bitwise_and", _emit("bitwise_xor", x, result), _emit("bitwise_xor", y, result))
    return _not(_is_negative(differs))


def _difference_fits(x: Value, y: Value, result: Value) -> Value:
    differs = _emit("bitwise_and", _emit("bitwise_xor", x, y), _emit("bitwise_xor", x, result))
    return _not(_is_negative(differs))


def _product_fits(x: Value, y: Value, result: Value) -> Value:
    # dividing back finds every overflow but that of -1 * -2**63, whose quotient wraps too
    back = _emit("equal", _emit("floor_divide", result, x), y)
    wrapped = _both(_emit("equal", x, _int(-1)), _emit("equal", y, _int(INT_MIN)))
    return _either(_emit("equal", x, _int(0)), _both(back, _not(wrapped)))


_FITS: dict[str, Callable[[Value, Value, Value], Value]] = {
    "add": _sum_fits,
    "subtract": _difference_fits,
    "multiply": _product_fits,
}


def _check_divisor(y: Value, message: str) -> None:
    if not _number(y):  # unknown, or 0
        perform_check(_emit("not_equal", y, constant(0, y.dtype)), ZeroDivisionError, message)


def _divide(op: str, x: Value, y: Value) -> Value:
    dtype = dt.complex128 if dt.complex128 in (x.dtype, y.dtype) else dt.float64
    zero = {dt.complex128: "complex division by zero", dt.float64: "float division by zero"}[dtype]
    _check_divisor(y, "division by zero" if x.dtype == y.dtype == dt.int64 else zero)
    return _emit("divide", to_dtype(x, dtype), to_dtype(y, dtype))


def _floor_divide(op: str, x: Value, y: Value) -> Value:
    if y.dtype == dt.float64:
        _check_divisor(y, "float floor division by zero" if op == "floor_divide" else "float modulo")
        return _emit(op, x, y)
    _check_divisor(y, "integer division or modulo by zero" if op == "floor_divide" else "integer modulo by zero")
    if op == "floor_divide" and _number(y) in (None, -1):
        wrapped = _both(_emit("equal", x, _int(INT_MIN)), _emit("equal", y, _int(-1)))
        perform_check(_not(wrapped), OverflowError, _LIMITED)
    return _emit(op, x, y)


def _magnitude(op: str, x: Value) -> Value:
    if x.dtype == dt.int64:
        _check_range(x, INT_MIN + 1, INT_MAX)
    result = _emit("abs", x)
    if x.dtype == dt.complex128:
        _check_finite("absolute value too large", result, x)
    return result


def _negative(op: str, x: Value) -> Value:
    if x.dtype == dt.int64:
        _check_range(x, INT_MIN + 1, INT_MAX)
    return _emit("negative", x)


def _shift(op: str, x: Value, y: Value) -> Value:
    count = _number(y)
    if count is None or count < 0:
        perform_check(_emit("greater_equal", y, _int(0)), ValueError, "negative shift count")
    result = _emit(op, x, y)
    if op == "bitwise_left_shift":
        perform_check(_emit("equal", _emit("bitwise_right_shift", result, y), x), OverflowError, _LIMITED)
    return result


def _check_finite(message: str, result: Value, *operands: Value) -> None:
    """An OverflowError, as Python's, where a result is infinite and the operands are not."""
    finite = [_emit("isfinite", each) for each in operands]
    perform_check(_either(_not(_both(*finite)), _not(_emit("isinf", result))), OverflowError, message)


def _pow(op: str, x: Value, y: Value) -> Value:
    if dt.complex128 in (x.dtype, y.dtype):
        return _complex_pow(to_dtype(x, dt.complex128), to_dtype(y, dt.complex128))
    if dt.float64 in (x.dtype, y.dtype):
        return _float_pow(to_dtype(x, dt.float64), to_dtype(y, dt.float64))
    # the exponent's sign decides whether the result is an integer, so its value is needed
    exponent = int(y) if _number(y) is None else _number(y)
    if exponent < 0:
        return _float_pow(to_dtype(x, dt.float64), _float(float(exponent)))
    result, square = _int(1), x
    while exponent:  # by squaring, each product checked
        if exponent & 1:
            result = square if _number(result) == 1 else _bounded("multiply", result, square)
        exponent >>= 1
        if exponent:
            square = _bounded("multiply", square, square)
    return result


def _float_pow(x: Value, y: Value) -> Value:
    exponent = _number(y)
    nonzero = _emit("not_equal", x, _float(0.0))
    is_real = _not(_both(_emit("less", x, _float(0.0)), _emit("isfinite", x)))
    if exponent is None:
        is_infinite = _not(_emit("isfinite", y))
        nonzero = _either(nonzero, _not(_emit("less", y, _float(0.0))), is_infinite)
        is_real = _either(is_real, _emit("equal", _emit("floor", y), y), is_infinite)
    if exponent is None or -math.inf < exponent < 0:
        perform_check(nonzero, ZeroDivisionError, "0.0 cannot be raised to a negative power")
    if exponent is None or (math.isfinite(exponent) and not exponent.is_integer()):
        perform_check(is_real, ValueError, _COMPLEX)
    result = _emit("float_power", x, y)
    _check_finite(_OUT_OF_RANGE, result, x, y)
    return result


_COMPLEX = (
    "a negative number to a power that is no whole number is complex in Python, but the type of a compiled function's "
    "numbers can't depend on their values; write complex(x) ** y, or np.power, which gives NaN"
)


def _complex_pow(x: Value, y: Value) -> Value:
    zero = _float(0.0)
    real, imag = _emit("real", y), _emit("imag", y)
    is_positive = _both(_emit("equal", imag, zero), _emit("greater_equal", real, zero))
    nonzero = _emit("not_equal", x, constant(0j, dt.complex128))
    perform_check(_either(nonzero, is_positive), ZeroDivisionError, "0.0 to a negative or complex power")
    result = _emit("float_power", x, y)
    _check_finite("complex exponentiation", result, x, y)
    return result


def _whole(op: str, x: Value) -> Value:
    """A float rounded to a Python integer."""
    if x.dtype == dt.int64:
        return x
    perform_check(_not(_emit("isnan", x)), ValueError, "cannot convert float NaN to integer")
    perform_check(_not(_emit("isinf", x)), OverflowError, "cannot convert float infinity to integer")
    rounded = _emit(op, x)
    fits = _both(_emit("greater_equal", rounded, _float(-(2.0**63))), _emit("less", rounded, _float(2.0**63)))
    perform_check(fits, OverflowError, _LIMITED)
    return to_dtype(rounded, dt.int64)


_EXACT_DIGITS = 22  # ten to the power of more is no float64


def rounded(x: Value, digits: int) -> Value:
    """``round(x, digits)``, a float to the nearest decimal number of so many digits; asks for what no op gives."""
    x = as_python(x)
    if x.dtype in (dt.bool, dt.int64) and digits >= 0:
        return to_dtype(x, dt.int64)
    if x.dtype == dt.complex128:
        raise TypeError("type complex doesn't define __round__ method")
    if not 0 <= digits <= _EXACT_DIGITS or x.dtype != dt.float64:
        number = x.demanded("round(…, digits)", "np.round")
        return as_python(as_value(round(number.item(), digits)))
    scale, half = _float(10.0**digits), _float(0.5)
    scaled = _emit("multiply", x, scale)
    nearest = _emit("round", scaled)
    # The product is rounded to a tie, or from one, where what it lost says on which side the number is.
    rest, lost = _emit("subtract", scaled, nearest), _lost(x, scale, scaled)
    zero, one = _float(0.0), _float(1.0)
    is_more = _both(_emit("equal", rest, half), _emit("greater", lost, zero))
    is_less = _both(_emit("equal", rest, _float(-0.5)), _emit("less", lost, zero))
    nearest = _emit("where", is_more, _emit("add", nearest, one), nearest)
    nearest = _emit("where", is_less, _emit("subtract", nearest, one), nearest)
    # beyond, the next float is further than the next decimal; NaN and infinities stay too
    is_exact = _emit("less", _emit("abs", scaled), _float(2.0**53))
    return _emit("where", is_exact, _emit("divide", nearest, scale), x)


def _lost(x: Value, y: Value, product: Value) -> Value:
    """What a product lost when it was rounded, exactly: Dekker's."""

    def parts(z: Value) -> tuple[Value, Value]:
        large = _emit("multiply", z, _float(2.0**27 + 1))
        high = _emit("subtract", large, _emit("subtract", large, z))
        return high, _emit("subtract", z, high)

    (a, b), (c, d) = parts(x), parts(y)
    so_far = _emit("subtract", _emit("multiply", a, c), product)
    for left, right in ((a, d), (b, c), (b, d)):
        so_far = _emit("add", so_far, _emit("multiply", left, right))
    return so_far


FUNCTIONS["number_rounded"] = rounded


_RULES: dict[str, Callable[..., Value]] = {
    "positive": _positive,
    "add": _bounded,
    "subtract": _bounded,
    "multiply": _bounded,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _floor_divide,
    "pow": _pow,
    "bitwise_left_shift": _shift,
    "bitwise_right_shift": _shift,
    "negative": _negative,
    "abs": _magnitude,
}


# Comparisons: Python compares numbers by value, whatever their types

_MIRRORED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


def _compare(op: str, x: Value, y: Value) -> Value:
    if dt.complex128 in (x.dtype, y.dtype):
        return _compare_complex(op, x, y)
    if x.dtype == y.dtype:
        return _emit(op, x, y)
    return _compare_mixed(op, x, y) if x.dtype == dt.int64 else _compare_mixed(_MIRRORED[op], y, x)


def _compare_complex(op: str, x: Value, y: Value) -> Value:
    if dt.int64 not in (x.dtype, y.dtype):
        return _emit(op, to_dtype(x, dt.complex128), to_dtype(y, dt.complex128))
    whole, other = (x, y) if x.dtype == dt.int64 else (y, x)
    same = _both(
        _compare_mixed("equal", whole, _emit("real", other)), _emit("equal", _emit("imag", other), _float(0.0))
    )
    return same if op == "equal" else _not(same)


def _compare_mixed(op: str, whole: Value, real: Value) -> Value:
    """An int64 with a float64, exactly."""
    number = _number(real)
    if number is not None:
        return _compare_float_literal(op, whole, number)
    number = _number(whole)
    if number is not None:
        return _compare_int_literal(op, number, real)
    # Rounding an integer to float64 keeps its order with every float but the one that it is rounded to.
    rounded, truncated = to_dtype(whole, dt.float64), to_dtype(real, dt.int64)
    is_beyond = _emit("equal", real, _float(2.0**63))  # the only such float that int64 hasn't
    below = constant(COMPARISONS[op](-1, 0), dt.bool)
    exact = _emit("where", is_beyond, below, _emit(op, whole, truncated))
    return _emit("where", _emit("equal", rounded, real), exact, _emit(op, rounded, real))


# With which number next to it, of those that y can be, `x op y` may compare for an x that y can't be: those above x and
# below it give "x < y" as "above <= y" and as "below < y". Likewise with the operands swapped.
_FROM_ABOVE = {"less": "less_equal", "less_equal": "less_equal", "greater": "greater", "greater_equal": "greater"}
_FROM_BELOW = {"less": "less", "less_equal": "less", "greater": "greater_equal", "greater_equal": "greater_equal"}


def _compare_float_literal(op: str, whole: Value, number: float) -> Value:
    """An int64 with a known float, exactly."""
    if not INT_MIN <= number < 2.0**63:  # NaN too
        return constant(COMPARISONS[op](0, number), dt.bool)
    if number.is_integer():
        return _emit(op, whole, _int(int(number)))
    if op in ("equal", "not_equal"):
        return constant(op == "not_equal", dt.bool)
    return _emit(_FROM_ABOVE[op], whole, _int(math.floor(number)))


def _compare_int_literal(op: str, number: int, other: Value) -> Value:
    """A known integer with a float64 or complex128, exactly."""
    try:
        near = float(number)
    except OverflowError:
        near = math.inf if number > 0 else -math.inf
    if math.isfinite(near) and int(near) == number:
        return _emit(op, constant(near, other.dtype), other)
    if op in ("equal", "not_equal"):
        return constant(op == "not_equal", dt.bool)
    return _emit((_FROM_ABOVE if near > number else _FROM_BELOW)[op], _float(near), other)


# Python numbers in comparisons with arrays


def compare_beyond(op: str, number: int, other: Value, swapped: bool) -> Value | None:
    """``number op other`` (or swapped) where no element can equal it: known, whatever the elements; else `None`."""
    if other.dtype.kind not in ("signed", "unsigned") or dt.fits(number, other.dtype):
        return None
    return constant(COMPARISONS[op](0, number) if swapped else COMPARISONS[op](number, 0), dt.bool)  # like all elements


def compare_signed_unsigned(op: str, operands: Sequence[Value]) -> Value:
    """A comparison of a signed dtype with uint64 of one shape, exactly: negative numbers are below unsigned ones."""
    is_first = operands[0].dtype.kind == "signed"
    signed, unsigned = operands if is_first else operands[::-1]
    negative = emit("less", signed, broadcast_to(constant(0, signed.dtype), signed.shape))
    lifted = emit("cast", signed, dt.uint64)
    known = COMPARISONS[op](-1, 0) if is_first else COMPARISONS[op](0, -1)
    others = emit(op, lifted, unsigned) if is_first else emit(op, unsigned, lifted)
    # `negative` decides alone
    return emit("logical_or", negative, others) if known else emit("logical_and", emit("logical_not", negative), others)
