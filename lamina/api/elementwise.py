"""Elementwise functions: result element i is made of element i of each operand, promoted and broadcast as NumPy does.

Most are one op of the op table each, and get their rows here; the others, below, are made of a few. The names are the
array API standard's, and NumPy's for what the standard lacks.
"""

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from lamina import dtype as dt
from lamina.expr import OPS
from lamina.trace.build import (
    NUMBER_DTYPES,
    as_value,
    broadcast_to,
    common_dtype,
    constant,
    decayed,
    emit,
    frozen,
    perform_check,
    to_dtype,
    with_kind,
)
from lamina.trace.elementwise import elementwise, promoted
from lamina.trace.function import function
from lamina.trace.order import axes_in, choose, in_order_of, laid_out
from lamina.trace.recast import part
from lamina.trace.state import Decides
from lamina.trace.value import Kind, Value

# fmt: off
__all__ = [
    "abs", "acos", "acosh", "add", "angle", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and",
    "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "cbrt", "ceil",
    "clip", "complex", "conj", "copysign", "cos", "cosh", "deg2rad", "divide", "equal", "erf", "exp", "exp2",
    "expm1", "fabs", "float_power", "floor", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater",
    "greater_equal", "heaviside", "hypot", "imag", "isfinite", "isinf", "isnan", "lcm", "less",
    "less_equal", "log", "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not",
    "logical_or", "logical_xor", "maximum", "minimum", "modf", "multiply", "nan_to_num", "negative", "nextafter",
    "not_equal", "positive", "pow", "rad2deg", "real", "reciprocal", "remainder", "rint", "round", "sigmoid",
    "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc",
]
# fmt: on

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]

_DOC = """{doc}

    {dtypes} Raises TypeError for dtypes without such a function, ValueError for shapes that don't broadcast.

    >>> import lamina
    >>> lamina.{call}
    {result}
    """
_QUOTIENT = "Of integers and bools it is float64."
_FLOATS = "Of integers it is a float, as in NumPy: float16 of int8 (and bool), float32 of int16, float64 of wider ones."
_SAME = "The result has the dtype to which the operands are promoted."
_BOOL = "The result is bool."


def _function(call: str, result: str, dtypes: str = _SAME) -> Any:
    """The public function of an elementwise op of one or two operands, given by the example in its docstring."""
    op = call.partition("(")[0]

    def unary(x: Any, /) -> Value:
        return elementwise(op, x)

    def binary(x1: Any, x2: Any, /) -> Value:
        return elementwise(op, x1, x2)

    body: Callable[..., Any] = unary if OPS[op].arity == 1 else binary
    return _public(body, call, result, OPS[op].doc, dtypes)


def _logical(call: str, result: str, doc: str) -> Any:
    """The public function of a logical op, which takes operands of any dtype: what isn't 0 is true, NaN too."""
    op = call.partition("(")[0]

    def unary(x: Any, /) -> Value:
        return elementwise(op, _truth(x))

    def binary(x1: Any, x2: Any, /) -> Value:
        return elementwise(op, _truth(x1), _truth(x2))

    body: Callable[..., Any] = unary if OPS[op].arity == 1 else binary
    return _public(body, call, result, f"{doc} What isn't 0 is true, NaN too.", _BOOL)


def _truth(x: Any) -> Value:
    value = as_value(x)
    # a number is no bool that must be 0 or 1
    return to_dtype(with_kind(value, Kind.SCALAR) if value.kind is Kind.NUMBER else value, dt.bool)


def _public(body: Callable[..., Any], call: str, result: str, doc: str, dtypes: str) -> Any:
    body.__name__ = body.__qualname__ = call.partition("(")[0]
    body.__doc__ = _DOC.format(doc=doc, dtypes=dtypes, call=call, result=f"lamina.Array({result})")
    return function(body)


# fmt: off
# Sign and rounding
abs:        Unary = _function("abs([-2, 1])", "[2, 1], shape=(2,), dtype=int64", dtypes="Of complex x it is real.")
negative:   Unary = _function("negative([-2, 1])", "[ 2, -1], shape=(2,), dtype=int64")
sign:       Unary = _function("sign([-2.5, 0.0])", "[-1.,  0.], shape=(2,), dtype=float64")
signbit:    Unary = _function("signbit([-0.0, 0.0])", "[ True, False], shape=(2,), dtype=bool", dtypes=_BOOL)
ceil:       Unary = _function("ceil([-1.5, 1.5])", "[-1.,  2.], shape=(2,), dtype=float64")
floor:      Unary = _function("floor([-1.5, 1.5])", "[-2.,  1.], shape=(2,), dtype=float64")
trunc:      Unary = _function("trunc([-1.5, 1.5])", "[-1.,  1.], shape=(2,), dtype=float64")
conj:       Unary = _function("conj([1 + 2j])", "[1.-2.j], shape=(1,), dtype=complex128")

# Predicates
isfinite:   Unary = _function("isfinite([1.0, float('inf')])", "[ True, False], shape=(2,), dtype=bool", dtypes=_BOOL)
isinf:      Unary = _function("isinf([1.0, float('inf')])", "[False,  True], shape=(2,), dtype=bool", dtypes=_BOOL)
isnan:      Unary = _function("isnan([1.0, float('nan')])", "[False,  True], shape=(2,), dtype=bool", dtypes=_BOOL)

# Powers, exponentials and logarithms
square:     Unary = _function("square([-2, 3])", "[4, 9], shape=(2,), dtype=int64")
sqrt:       Unary = _function("sqrt([4, 9])", "[2., 3.], shape=(2,), dtype=float64", dtypes=_FLOATS)
cbrt:       Unary = _function("cbrt([-8, 27])", "[-2.,  3.], shape=(2,), dtype=float64", dtypes=_FLOATS)
exp:        Unary = _function("exp([0, 1])", "[1.        , 2.71828183], shape=(2,), dtype=float64", dtypes=_FLOATS)
exp2:       Unary = _function("exp2([-1, 3])", "[0.5, 8. ], shape=(2,), dtype=float64", dtypes=_FLOATS)
expm1:      Unary = _function("expm1([0, 1e-20])", "[0.e+00, 1.e-20], shape=(2,), dtype=float64", dtypes=_FLOATS)
log:        Unary = _function("log([1, 2])", "[0.        , 0.69314718], shape=(2,), dtype=float64", dtypes=_FLOATS)
log2:       Unary = _function("log2([1, 8])", "[0., 3.], shape=(2,), dtype=float64", dtypes=_FLOATS)
log10:      Unary = _function("log10([1, 1000])", "[0., 3.], shape=(2,), dtype=float64", dtypes=_FLOATS)
log1p:      Unary = _function("log1p([0, 1e-20])", "[0.e+00, 1.e-20], shape=(2,), dtype=float64", dtypes=_FLOATS)
sigmoid:    Unary = _function("sigmoid([0, -1000])", "[0.5, 0. ], shape=(2,), dtype=float64", dtypes=_FLOATS)
erf:        Unary = _function("erf([0, 1])", "[0.        , 0.84270079], shape=(2,), dtype=float64", dtypes=_FLOATS)

# Trigonometry
sin:        Unary = _function("sin([0, 1])", "[0.        , 0.84147098], shape=(2,), dtype=float64", dtypes=_FLOATS)
cos:        Unary = _function("cos([0, 1])", "[1.        , 0.54030231], shape=(2,), dtype=float64", dtypes=_FLOATS)
tan:        Unary = _function("tan([0, 1])", "[0.        , 1.55740772], shape=(2,), dtype=float64", dtypes=_FLOATS)
asin:       Unary = _function("asin([0, 1])", "[0.        , 1.57079633], shape=(2,), dtype=float64", dtypes=_FLOATS)
acos:       Unary = _function("acos([1, 0])", "[0.        , 1.57079633], shape=(2,), dtype=float64", dtypes=_FLOATS)
atan:       Unary = _function("atan([0, 1])", "[0.        , 0.78539816], shape=(2,), dtype=float64", dtypes=_FLOATS)
sinh:       Unary = _function("sinh([0, 1])", "[0.        , 1.17520119], shape=(2,), dtype=float64", dtypes=_FLOATS)
cosh:       Unary = _function("cosh([0, 1])", "[1.        , 1.54308063], shape=(2,), dtype=float64", dtypes=_FLOATS)
tanh:       Unary = _function("tanh([0, 1])", "[0.        , 0.76159416], shape=(2,), dtype=float64", dtypes=_FLOATS)
asinh:      Unary = _function("asinh([0, 1])", "[0.        , 0.88137359], shape=(2,), dtype=float64", dtypes=_FLOATS)
acosh:      Unary = _function("acosh([1, 2])", "[0.       , 1.3169579], shape=(2,), dtype=float64", dtypes=_FLOATS)
atanh:      Unary = _function("atanh([0, 0.5])", "[0.        , 0.54930614], shape=(2,), dtype=float64", dtypes=_FLOATS)

# Bits and logic
bitwise_invert: Unary = _function("bitwise_invert([0, 1])", "[-1, -2], shape=(2,), dtype=int64")
logical_not:    Unary = _logical("logical_not([0.0, 2.0])", "[ True, False], shape=(2,), dtype=bool", "not x.")

# Arithmetic
add:          Binary = _function("add([1, 2], 0.5)", "[1.5, 2.5], shape=(2,), dtype=float64")
subtract:     Binary = _function("subtract([1, 2], 3)", "[-2, -1], shape=(2,), dtype=int64")
multiply:     Binary = _function("multiply([1, 2], 3)", "[3, 6], shape=(2,), dtype=int64")
divide:       Binary = _function("divide([1, 2], 4)", "[0.25, 0.5 ], shape=(2,), dtype=float64", dtypes=_QUOTIENT)
floor_divide: Binary = _function("floor_divide([-7, 7], 2)", "[-4,  3], shape=(2,), dtype=int64")
remainder:    Binary = _function("remainder([-7, 7], 2)", "[1, 1], shape=(2,), dtype=int64")
fmod:         Binary = _function("fmod([-7, 7], 2)", "[-1,  1], shape=(2,), dtype=int64")
atan2:        Binary = _function("atan2([0, 1], [-1, 1])", "[3.14159265, 0.78539816], shape=(2,), dtype=float64",
                                 dtypes=_FLOATS)
hypot:        Binary = _function("hypot([3, 5], [4, 12])", "[ 5., 13.], shape=(2,), dtype=float64", dtypes=_FLOATS)
copysign:     Binary = _function("copysign([1, 2], -0.0)", "[-1., -2.], shape=(2,), dtype=float64", dtypes=_FLOATS)
nextafter:    Binary = _function("nextafter([0.0], 1.0)", "[5.e-324], shape=(1,), dtype=float64", dtypes=_FLOATS)
logaddexp:    Binary = _function("logaddexp([-1000, 0], 0)", "[0.        , 0.69314718], shape=(2,), dtype=float64",
                                 dtypes=_FLOATS)
logaddexp2:   Binary = _function("logaddexp2([0, -9999], 0)", "[1., 0.], shape=(2,), dtype=float64", dtypes=_FLOATS)
maximum:      Binary = _function("maximum([1, 2], float('nan'))", "[nan, nan], shape=(2,), dtype=float64")
minimum:      Binary = _function("minimum([1, 3], 2)", "[1, 2], shape=(2,), dtype=int64")
fmax:         Binary = _function("fmax([1, 2], float('nan'))", "[1., 2.], shape=(2,), dtype=float64")
fmin:         Binary = _function("fmin([1, 3], 2)", "[1, 2], shape=(2,), dtype=int64")
gcd:          Binary = _function("gcd([12, 18], 8)", "[4, 2], shape=(2,), dtype=int64")
lcm:          Binary = _function("lcm([4, 6], 10)", "[20, 30], shape=(2,), dtype=int64")

# Bits and logic
bitwise_and:         Binary = _function("bitwise_and([5, 6], 3)", "[1, 2], shape=(2,), dtype=int64")
bitwise_or:          Binary = _function("bitwise_or([5, 6], 3)", "[7, 7], shape=(2,), dtype=int64")
bitwise_xor:         Binary = _function("bitwise_xor([5, 6], 3)", "[6, 5], shape=(2,), dtype=int64")
bitwise_left_shift:  Binary = _function("bitwise_left_shift([1, 3], 2)", "[ 4, 12], shape=(2,), dtype=int64")
bitwise_right_shift: Binary = _function("bitwise_right_shift([4, -9], 2)", "[ 1, -3], shape=(2,), dtype=int64")
logical_and:         Binary = _logical("logical_and([0, 2], 3.5)", "[False,  True], shape=(2,), dtype=bool", "x and y.")
logical_or:          Binary = _logical("logical_or([0, 2], 0.0)", "[False,  True], shape=(2,), dtype=bool", "x or y.")
logical_xor:         Binary = _logical("logical_xor([0, 2], 1)", "[ True, False], shape=(2,), dtype=bool", "x != y.")

# Comparisons
equal:         Binary = _function("equal([1, 2], 2)", "[False,  True], shape=(2,), dtype=bool", dtypes=_BOOL)
not_equal:     Binary = _function("not_equal([1, 2], 2)", "[ True, False], shape=(2,), dtype=bool", dtypes=_BOOL)
less:          Binary = _function("less([1, 2], 2)", "[ True, False], shape=(2,), dtype=bool", dtypes=_BOOL)
less_equal:    Binary = _function("less_equal([1, 2], 1)", "[ True, False], shape=(2,), dtype=bool", dtypes=_BOOL)
greater:       Binary = _function("greater([1, 2], 1)", "[False,  True], shape=(2,), dtype=bool", dtypes=_BOOL)
greater_equal: Binary = _function("greater_equal([1, 2], 2)", "[False,  True], shape=(2,), dtype=bool", dtypes=_BOOL)

# fmt: on


# Made of others


def _of_one_type(op: str, x: Any) -> Value:
    """A value of which the type decides what an op gives; raises `Decides` where a run alone tells it."""
    value = as_value(x)
    if value.code is not None:
        raise Decides(f"{op} of a number that may be Python's or NumPy's")
    return value


@function
def positive(x: Any, /) -> Value:
    """A copy of x.

    Raises TypeError for bool, as NumPy does.

    >>> import lamina
    >>> lamina.positive([1, -2])
    lamina.Array([ 1, -2], shape=(2,), dtype=int64)
    """
    value = _of_one_type("positive", x)
    if value.dtype == dt.bool:
        raise TypeError("positive is not defined for bool")
    return decayed(emit("copy", value))


@function
def reciprocal(x: Any, /) -> Value:
    """1 / x; of integers the whole part, and of 0 what NumPy gives on x86: the least int32 or int64, 0 of others.

    Raises nothing of its own; bool becomes int8, as in NumPy.

    >>> import lamina
    >>> lamina.reciprocal([4.0, -0.5]), lamina.reciprocal([-1, 2])
    (lamina.Array([ 0.25, -2.  ], shape=(2,), dtype=float64), lamina.Array([-1,  0], shape=(2,), dtype=int64))
    """
    value = as_value(x)
    if value.dtype.kind in ("float", "complex"):
        return elementwise("reciprocal", value)
    value = decayed(to_dtype(value, dt.int8) if value.dtype == dt.bool else value)
    is_one = elementwise("equal", value, 1)
    if value.dtype.kind == "signed":
        is_one = elementwise("logical_or", is_one, elementwise("equal", value, -1))
    whole = elementwise("multiply", value, is_one)
    if value.dtype not in (dt.int32, dt.int64):
        return whole
    return choose(elementwise("equal", value, 0), constant(int(value.dtype.min), value.dtype), whole)


@function
def pow(x1: Any, x2: Any, /) -> Value:
    """x1 to the power x2; integers wrap.

    Raises ValueError for an integer to a negative integer power (at run time, where the exponent is known only then),
    as NumPy does, TypeError for dtypes without such a function, ValueError for shapes that don't broadcast.

    >>> import lamina
    >>> lamina.pow([2, 3], 2), lamina.pow([4.0], -0.5)
    (lamina.Array([4, 9], shape=(2,), dtype=int64), lamina.Array([0.5], shape=(1,), dtype=float64))
    """
    result = elementwise("pow", x1, x2)
    if result.dtype.kind == "signed" and result.size:
        _check_exponent(as_value(x2))
    return result


def _check_exponent(exponent: Value) -> None:
    if exponent.dtype.kind != "signed":
        return
    known = exponent.expr.args[0] if exponent.expr.op == "constant" else None
    if known is None or known < 0:
        negative = elementwise("less", exponent, 0)
        none = elementwise("logical_not", emit("any", negative, tuple(range(exponent.ndim))))
        perform_check(none, ValueError, "Integers to negative integer powers are not allowed.")


@function
def float_power(x1: Any, x2: Any, /) -> Value:
    """The power x1 ** x2 in float64, or complex128 where an operand is complex, whatever their dtypes.

    Raises ValueError for shapes that don't broadcast.

    >>> import lamina
    >>> lamina.float_power([2, 4], -1)
    lamina.Array([0.5 , 0.25], shape=(2,), dtype=float64)
    """
    return elementwise("float_power", *map(_widest, (x1, x2)))


def _widest(x: Any) -> Any:
    if type(x) in NUMBER_DTYPES:
        return x
    value = as_value(x)
    return to_dtype(value, dt.complex128 if value.dtype.kind == "complex" else dt.float64)


@function
def complex(x1: Any, x2: Any, /) -> Value:
    """The complex number x1 + i x2, exactly; complex64 of float32 and narrower floats, complex128 of others.

    Raises TypeError for complex operands, ValueError for shapes that don't broadcast.

    >>> import lamina
    >>> lamina.complex([1.0, 2.0], -1.0)
    lamina.Array([1.-1.j, 2.-1.j], shape=(2,), dtype=complex128)
    """
    parts = [as_value(x1), as_value(x2)]
    meet = common_dtype(parts)
    if meet.kind == "complex":
        raise TypeError(f"the parts are {parts[0].dtype} and {parts[1].dtype}, but must be real")
    dtype = dt.float32 if meet.kind == "float" and meet.bits <= 32 else dt.float64
    return elementwise("complex", *(to_dtype(part, dtype) for part in parts))


@function
def real(x: Any, /) -> Value:
    """The real part; a real array is its own real part.

    >>> import lamina
    >>> lamina.real([1 + 2j, 3])
    lamina.Array([1., 3.], shape=(2,), dtype=float64)
    """
    value = _of_one_type("real", x)
    if value.dtype.kind == "complex":
        return part("real", value)
    # a Python bool has the integer 1 or 0 as its real part, an array has itself
    return to_dtype(value, dt.int64) if value.kind is Kind.NUMBER and value.dtype == dt.bool else value


@function
def imag(x: Any, /) -> Value:
    """The imaginary part; that of a real array is zeros of its dtype.

    >>> import lamina
    >>> lamina.imag([1 + 2j, 3]), lamina.imag([1, 2])
    (lamina.Array([2., 0.], shape=(2,), dtype=float64), lamina.Array([0, 0], shape=(2,), dtype=int64))
    """
    value = _of_one_type("imag", x)
    if value.dtype.kind == "complex":
        return part("imag", value)
    dtype = dt.int64 if value.kind is Kind.NUMBER and value.dtype == dt.bool else value.dtype
    zeros = in_order_of(value, lambda v: with_kind(broadcast_to(constant(0, dtype), v.shape), v.kind))
    return frozen(zeros)


@function
def angle(z: Any, deg: bool = False) -> Value:
    """The angle of a complex number from the positive real axis, in (-pi, pi], or in degrees.

    Integers become floats, as in NumPy.

    >>> import lamina
    >>> lamina.angle([1j, -1]), lamina.angle([1j], deg=True)
    (lamina.Array([1.57079633, 3.14159265], shape=(2,), dtype=float64), lamina.Array([90.], shape=(1,), dtype=float64))
    """
    value = decayed(as_value(z))
    is_complex = value.dtype.kind == "complex"
    parts = (part("imag", value), part("real", value)) if is_complex else (0, value)
    result = elementwise("atan2", *parts)
    return elementwise("multiply", result, 180 / math.pi) if deg else result


@function
def rint(x: Any, /) -> Value:
    """The nearest whole number as a float, ties to even.

    Of integers and bools it is a float, as in NumPy; `round` keeps integers.

    >>> import lamina
    >>> lamina.rint([0.5, 1.5]), lamina.rint([3])
    (lamina.Array([0., 2.], shape=(2,), dtype=float64), lamina.Array([3.], shape=(1,), dtype=float64))
    """
    return elementwise("round", x)


@function
def round(x: Any, /, decimals: int = 0, out: Any = None) -> Value:
    """The nearest number with so many decimals, ties to even; negative ones round to tens, hundreds, and so on.

    The dtype stays, but for bool, which becomes float16 as in NumPy. Both parts of a complex number are rounded.
    Decimals are computed as NumPy does, by a product and a quotient, so the result is not always the nearest.

    Raises TypeError for bool with decimals, NotImplementedError for `out`.

    >>> import lamina
    >>> lamina.round([0.5, 1.5, 2.567]), lamina.round([2.567, 1.0], 1), lamina.round([1234], -2).tolist()
    (lamina.Array([0., 2., 3.], shape=(3,), dtype=float64), lamina.Array([2.6, 1. ], shape=(2,), dtype=float64), [1200])
    """
    _refuse_out(out)
    value, places = decayed(as_value(x)), operator.index(decimals)
    if value.kind is Kind.NUMBER:
        value = with_kind(value, Kind.SCALAR)
    is_integer = value.dtype.kind in ("signed", "unsigned")
    if is_integer and places >= 0:
        return decayed(in_order_of(value, lambda v: emit("copy", v)))
    if places == 0:
        return elementwise("round", value)
    if value.dtype == dt.bool:
        raise TypeError("bool has no decimals to round to; write round(x.astype(lamina.float64), decimals)")
    if value.dtype.kind == "complex":
        rounded = emit("complex", *(round(emit(part, value), places) for part in ("real", "imag")), kind=value.kind)
        return laid_out(rounded, axes_in("A", value))
    power = _power_of_ten(builtins.abs(places))
    first, second = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    scaled = to_dtype(value, dt.float64) if is_integer else value
    rounded = elementwise(second, elementwise("round", elementwise(first, scaled, power)), power)
    return laid_out(to_dtype(rounded, value.dtype), axes_in("A", value))


def _power_of_ten(exponent: int) -> float:
    power = 10.0 ** builtins.min(exponent, 9)
    for _ in range(builtins.min(exponent, 400) - 9):  # as NumPy does, so that large ones are off by the same
        power *= 10.0
    return power


@function
def clip(x: Any, /, min: Any = None, max: Any = None, out: Any = None) -> Value:
    """The number nearest to x between min and max; `None` is no bound.

    The bounds are promoted and broadcast with x; a bound beyond the range of x's integer dtype is none. Where min is
    above max it is max. NaN of any of them gives NaN.

    Raises TypeError for bool without bounds, OverflowError for a Python integer that x's dtype doesn't hold and that
    is no outer bound, NotImplementedError for `out`.

    >>> import lamina
    >>> lamina.clip([1, 5, 9], 2, 6), lamina.clip([1, 5, 9], max=3.5)
    (lamina.Array([2, 5, 6], shape=(3,), dtype=int64), lamina.Array([1. , 3.5, 3.5], shape=(3,), dtype=float64))
    """
    _refuse_out(out)
    value = as_value(x)
    value = with_kind(value, Kind.SCALAR) if value.kind is Kind.NUMBER else value
    low, high = _bound(value, min, "minimum"), _bound(value, max, "maximum")
    if low is None and high is None:
        return positive(value)  # type: ignore[no-any-return]
    if low is None or high is None:
        return elementwise("minimum", value, high) if low is None else elementwise("maximum", value, low)
    return elementwise("clip", value, low, high)


def _bound(value: Value, bound: Any, step: str) -> Any:
    """A bound of `clip`; none where no element can lie beyond it."""
    if bound is None or value.dtype.kind not in ("signed", "unsigned"):
        return bound
    edge = int(value.dtype.min if step == "minimum" else value.dtype.max)
    if type(bound) is int:
        return None if (bound <= edge if step == "minimum" else bound >= edge) else bound
    if type(bound) is Value and bound.kind is Kind.NUMBER and bound.dtype == dt.int64:
        outer = "maximum" if step == "minimum" else "minimum"
        inside = constant(builtins.min(edge, 2**63 - 1), dt.int64)
        return emit(outer, bound, inside, kind=Kind.NUMBER)
    return bound


def _refuse_out(out: Any) -> None:
    if out is not None:
        raise NotImplementedError("the argument out is not there: lamina's functions return new arrays")


@function
def fabs(x: Any, /) -> Value:
    """The magnitude of a real number, a float of integers and bools too.

    Raises TypeError for complex dtypes.

    >>> import lamina
    >>> lamina.fabs([-2, 1])
    lamina.Array([2., 1.], shape=(2,), dtype=float64)
    """
    return elementwise("abs", *promoted("cbrt", x))


def _scaled(x: Any, numerator: float, denominator: float) -> Value:
    (value,) = promoted("cbrt", x)
    # NumPy computes narrow floats in float32, and the factor too
    inner = dt.float32 if value.dtype.bits < 32 else value.dtype
    factor = elementwise("divide", constant(numerator, inner), constant(denominator, inner))
    return to_dtype(elementwise("multiply", to_dtype(value, inner), factor), value.dtype)


@function
def deg2rad(x: Any, /) -> Value:
    """The angle in radians of one in degrees, a float.

    Raises TypeError for complex dtypes.

    >>> import lamina
    >>> lamina.deg2rad([180, 90])
    lamina.Array([3.14159265, 1.57079633], shape=(2,), dtype=float64)
    """
    return _scaled(x, math.pi, 180.0)


@function
def rad2deg(x: Any, /) -> Value:
    """The angle in degrees of one in radians, a float.

    Raises TypeError for complex dtypes.

    >>> import lamina
    >>> lamina.rad2deg([lamina.pi, 0.0])
    lamina.Array([180.,   0.], shape=(2,), dtype=float64)
    """
    return _scaled(x, 180.0, math.pi)


@function
def heaviside(x1: Any, x2: Any, /) -> Value:
    """0 where x1 is negative, 1 where it is positive, x2 where it is 0, and NaN where it is NaN; a float.

    Raises TypeError for complex dtypes.

    >>> import lamina
    >>> lamina.heaviside([-1.5, 0.0, 2.0], 0.5)
    lamina.Array([0. , 0.5, 1. ], shape=(3,), dtype=float64)
    """
    x, middle = promoted("atan2", x1, x2)
    side = to_dtype(elementwise("greater", x, 0), x.dtype)
    side = choose(elementwise("isnan", x), constant(math.nan, x.dtype), side)
    return decayed(choose(elementwise("equal", x, 0), middle, side))


@function
def sinc(x: Any, /) -> Value:
    """sin(pi x) / (pi x), and 1 at 0. Integers become float64.

    >>> import lamina
    >>> lamina.sinc([0.0, 0.5])
    lamina.Array([1.        , 0.63661977], shape=(2,), dtype=float64)
    """
    scaled = elementwise("multiply", math.pi, x)
    small = scaled.dtype.eps if scaled.dtype.kind == "float" else 1e-20
    nonzero = choose(elementwise("not_equal", scaled, 0), scaled, constant(small, scaled.dtype))
    return elementwise("divide", elementwise("sin", nonzero), nonzero)


@function
def modf(x: Any, /) -> tuple[Value, Value]:
    """The fraction and the whole part of a real number, floats with its sign.

    Raises TypeError for complex dtypes.

    >>> import lamina
    >>> lamina.modf([-1.5, 2.0])
    (lamina.Array([-0.5,  0. ], shape=(2,), dtype=float64), lamina.Array([-1.,  2.], shape=(2,), dtype=float64))
    """
    (value,) = promoted("cbrt", x)
    whole = elementwise("trunc", value)
    rest = choose(elementwise("isinf", value), constant(0.0, value.dtype), elementwise("subtract", value, whole))
    return elementwise("copysign", rest, value), whole


@function
def nan_to_num(x: Any, /, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Value:
    """The elements of x, with numbers for NaN and infinities: 0 and the dtype's greatest and least ones by default.

    Both parts of complex numbers are replaced; integers have nothing to replace.

    Raises NotImplementedError for ``copy=False``, which would write to x.

    >>> import lamina
    >>> lamina.nan_to_num([1.5, float("nan"), float("-inf")], neginf=-9)
    lamina.Array([ 1.5,  0. , -9. ], shape=(3,), dtype=float64)
    """
    if not copy:
        raise NotImplementedError("copy=False is not there: x can't be written to; write x = nan_to_num(x)")
    value = as_value(x)
    return decayed(laid_out(_with_numbers(value, nan, posinf, neginf), axes_in("K", value)))


def _with_numbers(value: Value, nan: Any, posinf: Any, neginf: Any) -> Value:
    if value.dtype.kind == "complex":
        return emit("complex", *(_with_numbers(emit(part, value), nan, posinf, neginf) for part in ("real", "imag")))
    if value.dtype.kind != "float":
        return emit("copy", value)
    result, dtype = value, value.dtype
    is_infinite, is_positive = elementwise("isinf", value), elementwise("greater", value, 0)
    for where, number in (
        (elementwise("isnan", value), nan),
        (elementwise("logical_and", is_infinite, is_positive), dtype.max if posinf is None else posinf),
        (
            elementwise("logical_and", is_infinite, elementwise("logical_not", is_positive)),
            dtype.min if neginf is None else neginf,
        ),
    ):
        result = choose(where, to_dtype(as_value(number), dtype), result)
    return result
