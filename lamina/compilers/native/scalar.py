"""What an op is for scalars: one table, keyed by op. Each row works on one element and on vectors of them alike.

The rows say what NumPy's loops do, without a branch: + − × ÷ √ and casts are single instructions, so they agree with
NumPy bit for bit; nothing is contracted or reordered. Integer division by zero and shifts beyond the width have
NumPy's results, not the processor's faults.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.compilers.native import ir, narrow
from lamina.compilers.native.maths import MATHS
from lamina.compilers.native.types import NARROW, in_register, splat_constant, vector
from lamina.dtype import DType

Value = Any  # of LLVM's


class Emit:
    """Where instructions go: a builder, and how many elements a value has."""

    def __init__(self, builder: ir.IRBuilder, dtype: DType, lanes: int) -> None:
        self.builder = builder
        self.dtype = dtype
        self.lanes = lanes

    @property
    def type(self) -> Any:
        """The operands' type."""
        return vector(in_register(self.dtype), self.lanes)

    def number(self, number: Any) -> Value:
        """A number of the operands' dtype."""
        return splat_constant(in_register(self.dtype), self.lanes, number)

    def intrinsic(self, name: str, args: Sequence[Value]) -> Value:
        """A call of an LLVM intrinsic whose operands and result are of one type."""
        return call_intrinsic(self.builder, name, args, args[0].type, (args[0].type,))

    def less(self, x: Value, y: Value) -> Value:
        """Whether x < y; false for NaN."""
        return _compare(self, "<", x, y)

    def is_nan(self, x: Value) -> Value:
        """Whether a float is NaN."""
        return self.builder.fcmp_unordered("uno", x, x)


def call_intrinsic(
    builder: ir.IRBuilder, name: str, args: Sequence[Value], result: Any, overloads: Sequence[Any]
) -> Value:
    """Call the intrinsic of a name for these types, declared when it is first needed."""
    full = ".".join((f"llvm.{name}", *(each.intrinsic_name for each in overloads)))
    return builder.call(builder.module.declared(full, result, [arg.type for arg in args]), args)


def _is_float(e: Emit) -> bool:
    return e.dtype.kind == "float"


def _compare(e: Emit, sign: str, x: Value, y: Value) -> Value:
    if _is_float(e):
        return e.builder.fcmp_unordered(sign, x, y) if sign == "!=" else e.builder.fcmp_ordered(sign, x, y)
    return (e.builder.icmp_signed if e.dtype.kind == "signed" else e.builder.icmp_unsigned)(sign, x, y)


Row = Callable[..., Value]


def _method(floating: str, integer: str, boolean: str = "") -> Row:
    """A row that is one instruction: of floats, of integers, of bools."""

    def row(e: Emit, *args: Value) -> Value:
        name = floating if _is_float(e) else boolean if boolean and e.dtype.kind == "bool" else integer
        return getattr(e.builder, name)(*args)

    return row


def _comparison(sign: str) -> Row:
    return lambda e, x, y: _compare(e, sign, x, y)


def _floating(name: str) -> Row:
    """An intrinsic of floats; integers and bools are as they are."""
    return lambda e, x: e.intrinsic(name, (x,)) if _is_float(e) else x


def _same(e: Emit, x: Value) -> Value:
    return x


def _negative(e: Emit, x: Value) -> Value:
    return e.builder.fneg(x) if _is_float(e) else e.builder.neg(x)


def _abs(e: Emit, x: Value) -> Value:
    if _is_float(e):
        return e.intrinsic("fabs", (x,))
    return e.builder.select(e.less(x, e.number(0)), e.builder.neg(x), x) if e.dtype.kind == "signed" else x


def _sign(e: Emit, x: Value) -> Value:
    zero, b = e.number(0), e.builder
    below = b.select(e.less(x, zero), e.number(-1), x) if e.dtype.kind != "unsigned" else x
    signed = b.select(e.less(zero, x), e.number(1), below)
    return b.select(_compare(e, "==", x, zero), zero, signed)  # a negative zero has sign 0


def _signbit(e: Emit, x: Value) -> Value:
    whole = ir.IntType(e.dtype.bits)
    bits = e.builder.bitcast(x, vector(whole, e.lanes))
    return e.builder.icmp_signed("<", bits, splat_constant(whole, e.lanes, 0))


def _true(e: Emit) -> Value:
    return splat_constant(ir.IntType(1), e.lanes, 1)


def _false(e: Emit) -> Value:
    return splat_constant(ir.IntType(1), e.lanes, 0)


def _isfinite(e: Emit, x: Value) -> Value:
    return e.less(e.intrinsic("fabs", (x,)), e.number(float("inf"))) if _is_float(e) else _true(e)


def _isinf(e: Emit, x: Value) -> Value:
    return _compare(e, "==", e.intrinsic("fabs", (x,)), e.number(float("inf"))) if _is_float(e) else _false(e)


def _isnan(e: Emit, x: Value) -> Value:
    return e.is_nan(x) if _is_float(e) else _false(e)


def _is_number(x: Value) -> bool:
    """Whether a float is known, and not NaN."""
    return isinstance(x, ir.Constant) and isinstance(x.constant, int | float) and not math.isnan(x.constant)


def _extreme(sign: str, keeps_nan: bool, boolean: str) -> Row:
    """The first where it is the greater or lesser, or NaN (without `keeps_nan`: where the second is NaN)."""

    def row(e: Emit, x: Value, y: Value) -> Value:
        if e.dtype.kind == "bool":
            return getattr(e.builder, boolean)(x, y)
        kept, other = (x, y) if keeps_nan else (y, x)
        if not _is_float(e) or _is_number(kept):
            first = _compare(e, sign, x, y)
        elif _is_number(other):  # then either is NaN where the one that is kept is: one instruction for all of it
            first = e.builder.fcmp_unordered(sign, x, y)
        else:
            first = e.builder.or_(_compare(e, sign, x, y), e.is_nan(kept))
        return e.builder.select(first, x, y)

    return row


_maximum, _minimum = _extreme(">=", True, "or_"), _extreme("<=", True, "and_")


def _divisor(e: Emit, y: Value) -> tuple[Value, Value, Value]:
    """A divisor that can't fault; where the real one is 0; where it is -1, by which the least number overflows."""
    b = e.builder
    is_zero = _compare(e, "==", y, e.number(0))
    is_minus = _compare(e, "==", y, e.number(-1)) if e.dtype.kind == "signed" else _false(e)
    return b.select(b.or_(is_zero, is_minus), e.number(1), y), is_zero, is_minus


def _power_of_two(y: Value) -> int | None:
    """Which power of two a divisor is, where it is a constant that is one: a shift rounds down, as NumPy does."""
    number = y.constant if isinstance(y, ir.Constant) else 0
    return int(number).bit_length() - 1 if number > 0 and not number & (number - 1) else None


def _floor_divide(e: Emit, x: Value, y: Value) -> Value:
    b = e.builder
    if _is_float(e):
        return _float_floor_divide(e, x, y)
    power = _power_of_two(y)
    if power is not None:
        return (b.ashr if e.dtype.kind == "signed" else b.lshr)(x, e.number(power))
    safe, is_zero, is_minus = _divisor(e, y)
    if e.dtype.kind == "unsigned":
        return b.select(is_zero, e.number(0), b.udiv(x, safe))
    quotient = b.sdiv(x, safe)
    rest = b.sub(x, b.mul(quotient, safe))
    is_below = b.and_(_compare(e, "!=", rest, e.number(0)), e.less(b.xor(rest, safe), e.number(0)))
    quotient = b.select(is_below, b.sub(quotient, e.number(1)), quotient)
    return b.select(is_zero, e.number(0), b.select(is_minus, b.neg(x), quotient))


def _remainder(e: Emit, x: Value, y: Value) -> Value:
    b = e.builder
    if _is_float(e):
        return _float_remainder(e, x, y)
    power = _power_of_two(y)
    if power is not None:
        return b.and_(x, e.number((1 << power) - 1))
    safe, is_zero, is_minus = _divisor(e, y)
    if e.dtype.kind == "unsigned":
        return b.select(is_zero, e.number(0), b.urem(x, safe))
    rest = b.srem(x, safe)
    is_below = b.and_(_compare(e, "!=", rest, e.number(0)), e.less(b.xor(rest, safe), e.number(0)))
    rest = b.select(is_below, b.add(rest, safe), rest)
    return b.select(b.or_(is_zero, is_minus), e.number(0), rest)


def _fmod(e: Emit, x: Value, y: Value) -> Value:
    b = e.builder
    if _is_float(e):
        return b.frem(x, y)
    safe, is_zero, is_minus = _divisor(e, y)
    rest = (b.urem if e.dtype.kind == "unsigned" else b.srem)(x, safe)
    return b.select(b.or_(is_zero, is_minus), e.number(0), rest)


def _float_remainder(e: Emit, x: Value, y: Value) -> Value:
    """The remainder with the sign of the divisor, as NumPy's ``npy_divmod`` has it."""
    b, zero = e.builder, e.number(0)
    rest = b.frem(x, y)
    is_other = b.xor(e.less(y, zero), e.less(rest, zero))
    moved = b.select(is_other, b.fadd(rest, y), rest)
    signed = b.select(_compare(e, "!=", rest, zero), moved, e.intrinsic("copysign", (zero, y)))
    return b.select(_compare(e, "==", y, zero), rest, signed)


def _float_floor_divide(e: Emit, x: Value, y: Value) -> Value:
    b, zero = e.builder, e.number(0)
    rest, plain = b.frem(x, y), b.fdiv(x, y)
    quotient = b.fdiv(b.fsub(x, rest), y)
    is_other = b.and_(_compare(e, "!=", rest, zero), b.xor(e.less(y, zero), e.less(rest, zero)))
    quotient = b.select(is_other, b.fsub(quotient, e.number(1)), quotient)
    floor = e.intrinsic("floor", (quotient,))
    is_low = e.less(e.number(0.5), b.fsub(quotient, floor))
    whole = b.select(is_low, b.fadd(floor, e.number(1)), floor)
    whole = b.select(_compare(e, "!=", quotient, zero), whole, e.intrinsic("copysign", (zero, plain)))
    return b.select(_compare(e, "==", y, zero), plain, whole)


def _shift(name: str) -> Row:
    def row(e: Emit, x: Value, y: Value) -> Value:
        b, width = e.builder, e.dtype.bits
        is_inside = b.icmp_unsigned("<", y, e.number(width))
        by = b.select(is_inside, y, e.number(0))
        if name == "left":
            return b.select(is_inside, b.shl(x, by), e.number(0))
        if e.dtype.kind == "unsigned":
            return b.select(is_inside, b.lshr(x, by), e.number(0))
        return b.select(is_inside, b.ashr(x, by), b.ashr(x, e.number(width - 1)))

    return row


def _while_any(
    e: Emit, starts: Sequence[Value], condition: Callable[..., Value], turn: Callable[..., Sequence[Value]]
) -> list[Value]:
    """A loop of values in registers, which ends when the condition holds in no lane."""
    b = e.builder
    before, head, body, after = b.block, *(b.append_basic_block() for _ in range(3))
    b.branch(head)
    b.position_at_end(head)
    values = [b.phi(start.type) for start in starts]
    for value, start in zip(values, starts, strict=True):
        value.add_incoming(start, before)
    holds = condition(*values)
    if e.lanes > 1:
        bits = b.bitcast(holds, ir.IntType(e.lanes))
        holds = b.icmp_unsigned("!=", bits, bits.type(0))
    b.cbranch(holds, body, after)
    b.position_at_end(body)
    following = turn(*values)
    for value, each in zip(values, following, strict=True):
        value.add_incoming(each, b.block)
    b.branch(head)
    b.position_at_end(after)
    return values


def _pow(e: Emit, x: Value, y: Value) -> Value:
    """Powers of integers by squares, one for each bit of the exponent; what is negative there has been refused."""
    if _is_float(e):
        return MATHS["pow"](e.builder, x, y)
    b, one, zero = e.builder, e.number(1), e.number(0)

    def turn(result: Value, base: Value, left: Value) -> tuple[Value, Value, Value]:
        is_odd = _compare(e, "!=", b.and_(left, one), zero)
        return b.select(is_odd, b.mul(result, base), result), b.mul(base, base), b.lshr(left, one)

    return _while_any(e, (one, x, y), lambda result, base, left: _compare(e, "!=", left, zero), turn)[0]


def _gcd(e: Emit, x: Value, y: Value) -> Value:
    """Stein's: the odd parts, of which the lesser is subtracted from the greater until nothing is left of one.

    They are magnitudes, which fit as unsigned numbers. A division would take a vector apart.
    """
    b, zero = e.builder, e.number(0)

    def is_zero(value: Value) -> Value:
        return b.icmp_unsigned("==", value, zero)

    def twos(value: Value) -> Value:
        return call_intrinsic(b, "cttz", (value, ir.IntType(1)(0)), value.type, (value.type,))

    def odd(value: Value) -> Value:
        return b.select(is_zero(value), zero, b.lshr(value, twos(value)))

    def turn(first: Value, second: Value) -> tuple[Value, Value]:
        rest = odd(second)
        is_less = b.icmp_unsigned("<", first, rest)
        lesser, greater = b.select(is_less, first, rest), b.select(is_less, rest, first)
        is_done = is_zero(second)
        return b.select(is_done, first, lesser), b.select(is_done, zero, b.sub(greater, lesser))

    x, y = _abs(e, x), _abs(e, y)
    either = b.or_(x, y)
    starts = b.select(is_zero(x), odd(y), odd(x)), b.select(is_zero(x), zero, y)
    found = _while_any(e, starts, lambda _, second: b.not_(is_zero(second)), turn)[0]
    return b.select(is_zero(either), zero, b.shl(found, twos(either)))


def _lcm(e: Emit, x: Value, y: Value) -> Value:
    b, divisor = e.builder, _gcd(e, x, y)
    is_none = _compare(e, "==", divisor, e.number(0))
    quotient = b.udiv(_abs(e, x), b.select(is_none, e.number(1), divisor))
    return b.mul(quotient, _abs(e, y))


def _clip(e: Emit, x: Value, low: Value, high: Value) -> Value:
    return _minimum(e, _maximum(e, x, low), high)


def _copysign(e: Emit, x: Value, y: Value) -> Value:
    return e.intrinsic("copysign", (x, y))


ROWS: dict[str, Row] = {
    "copy": _same,
    "negative": _negative,
    "abs": _abs,
    "sign": _sign,
    "signbit": _signbit,
    "ceil": _floating("ceil"),
    "floor": _floating("floor"),
    "trunc": _floating("trunc"),
    "round": _floating("rint"),
    "conj": _same,
    "real": _same,
    "imag": lambda e, x: e.number(0),
    "isfinite": _isfinite,
    "isinf": _isinf,
    "isnan": _isnan,
    "square": lambda e, x: ROWS["multiply"](e, x, x),
    "sqrt": _floating("sqrt"),
    "reciprocal": lambda e, x: e.builder.fdiv(e.number(1), x),
    "bitwise_invert": lambda e, x: e.builder.not_(x),
    "logical_not": lambda e, x: e.builder.not_(x),
    "add": _method("fadd", "add", "or_"),
    "subtract": _method("fsub", "sub"),
    "multiply": _method("fmul", "mul", "and_"),
    "divide": _method("fdiv", ""),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "copysign": _copysign,
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _extreme(">=", False, "or_"),
    "fmin": _extreme("<=", False, "and_"),
    "bitwise_and": _method("", "and_"),
    "bitwise_or": _method("", "or_"),
    "bitwise_xor": _method("", "xor"),
    "bitwise_left_shift": _shift("left"),
    "bitwise_right_shift": _shift("right"),
    "logical_and": _method("", "and_"),
    "logical_or": _method("", "or_"),
    "logical_xor": _method("", "xor"),
    "equal": _comparison("=="),
    "not_equal": _comparison("!="),
    "less": _comparison("<"),
    "less_equal": _comparison("<="),
    "greater": _comparison(">"),
    "greater_equal": _comparison(">="),
    "clip": _clip,
    "gcd": _gcd,
    "lcm": _lcm,
    **{name: lambda e, *args, write=write: write(e.builder, *args) for name, write in MATHS.items() if name != "sqrt"},
    "pow": _pow,
}


# Of several dtypes


def where(e: Emit, condition: Value, x: Value, y: Value) -> Value:
    """One where the condition holds, else the other; of any dtype."""
    return e.builder.select(condition, x, y)


def cast(e: Emit, x: Value, dtype: DType) -> Value:
    """An element as another dtype: NumPy's cast, but that a float out of range saturates, and NaN becomes 0."""
    b, target = e.builder, vector(in_register(dtype), e.lanes)
    if dtype == e.dtype:
        return x
    if dtype in NARROW:
        is_double = e.dtype is dt.float64 and dtype is dt.float16
        return narrow.rounded(b, narrow.to_odd(b, x) if is_double else cast(e, x, dt.float32), dtype)
    if dtype.kind == "bool":
        return _compare(e, "!=", x, e.number(0))
    if _is_float(e):
        if dtype.kind == "float":
            return (b.fpext if dtype.bits > e.dtype.bits else b.fptrunc)(x, target)
        return _saturated(e, x, dtype)
    if dtype.kind == "float":
        return (b.sitofp if e.dtype.kind == "signed" else b.uitofp)(x, target)
    if e.dtype.kind == "bool" or dtype.bits > e.dtype.bits:
        return (b.sext if e.dtype.kind == "signed" else b.zext)(x, target)
    return b.trunc(x, target) if dtype.bits < e.dtype.bits else x


def _saturated(e: Emit, x: Value, dtype: DType) -> Value:
    """A float as an integer: LLVM's own saturating conversion is for one element, it takes a vector apart."""
    b, target, is_signed = e.builder, vector(in_register(dtype), e.lanes), dtype.kind == "signed"
    if e.lanes == 1:
        return call_intrinsic(b, f"fpto{'si' if is_signed else 'ui'}.sat", (x,), target, (target, x.type))
    if dtype.bits < 32:  # the limits are floats: any processor converts what lies between them to 32 bits
        low, high = e.number(float(dtype.min)), e.number(float(dtype.max))
        above = b.select(e.less(low, x), x, low)
        wide = b.fptosi(b.select(e.less(above, high), above, high), vector(ir.IntType(32), e.lanes))
        whole = b.trunc(wide, target)
    else:
        low, end = e.number(float(dtype.min)), e.number(2.0 * (dtype.max // 2 + 1))
        whole = (b.fptosi if is_signed else b.fptoui)(x, target)  # where that is undefined, it isn't selected
        whole = b.select(_compare(e, ">=", x, low), whole, splat_constant(in_register(dtype), e.lanes, dtype.min))
        whole = b.select(_compare(e, ">=", x, end), splat_constant(in_register(dtype), e.lanes, dtype.max), whole)
    return b.select(e.is_nan(x), splat_constant(in_register(dtype), e.lanes, 0), whole) if is_signed else whole


def bitcast(e: Emit, x: Value, dtype: DType) -> Value:
    """The bits of an element as another dtype's."""
    target = vector(in_register(dtype), e.lanes)
    return x if target == x.type else e.builder.bitcast(x, target)


# Reductions: what they start from, and which of two extremes is the first.


def first_extreme(e: Emit, op: str, x: Sequence[Value], y: Sequence[Value], is_later: bool = False) -> list[Value]:
    """Of two elements with their places the greater one (`argmin`: the lesser), NaN before all, the first of equals.

    `is_later` says that the second place is after the first one.
    """
    b = e.builder
    if _is_float(e):  # NaN isn't greater, and nothing is greater than it
        is_better = b.fcmp_unordered("<" if op == "argmax" else ">", x[0], y[0])
        is_better = b.and_(is_better, b.not_(e.is_nan(x[0])))
    else:
        is_better = e.less(x[0], y[0]) if op == "argmax" else e.less(y[0], x[0])
    is_second = is_better
    if not is_later:
        is_equal = _compare(e, "==", x[0], y[0])
        if _is_float(e):
            is_equal = b.or_(is_equal, b.and_(e.is_nan(x[0]), e.is_nan(y[0])))
        is_second = b.or_(is_better, b.and_(is_equal, b.icmp_signed("<", y[1], x[1])))
    return [b.select(is_second, second, first) for first, second in zip(x, y, strict=True)]


def identity(op: str, dtype: DType) -> Any:
    """What a reduction of a dtype starts from: it changes no element that it is combined with."""
    if op == "sum":
        return -0.0 if dtype.kind == "float" else 0  # -0.0 + -0.0 is -0.0, 0.0 + -0.0 is not
    if op in ("max", "min", "argmax", "argmin"):
        if dtype.kind == "float":
            return float("-inf") if op.endswith("max") else float("inf")
        return dtype.min if op.endswith("max") else dtype.max
    if op == "prod":
        return 1
    return (1 if dtype.kind == "bool" else -1) if op in ("all", "bitwise_and_reduce") else 0
