"""Elementwise rows: result element i needs element i of each operand."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr.ops.row import (
    ALL,
    BOOL,
    DISCRETE,
    FLOATING,
    FUNCTION,
    INTEGER,
    NUMERIC,
    ORDERED,
    PARTS,
    REAL,
    REAL_FLOAT,
    SUM_OF_POWERS,
    ZEROS,
    Fact,
    Family,
    Kinds,
    Op,
    elementwise,
    same_shape,
)


def _bool(_: DType) -> DType:
    return dt.bool


def _unary(name: str, kinds: Kinds, meaning: Callable[..., Any], doc: str, **more: Any) -> Op:
    return elementwise(name, 1, kinds, meaning, doc, **more)


def _binary(name: str, kinds: Kinds, meaning: Callable[..., Any], doc: str, **more: Any) -> Op:
    return elementwise(name, 2, kinds, meaning, doc, **more)


def _commutes(kinds: Kinds = ALL) -> Mapping[Fact, Kinds]:
    return {Fact.COMMUTATIVE: kinds}


# Modular arithmetic and logic are exact; floating-point sums and products depend on their order.
_RING = {Fact.COMMUTATIVE: ALL, Fact.ASSOCIATIVE: DISCRETE}
_PRODUCT = {Fact.COMMUTATIVE: ORDERED, Fact.ASSOCIATIVE: DISCRETE}  # NumPy's complex products may use fma on one part
_LATTICE = {Fact.COMMUTATIVE: DISCRETE, Fact.ASSOCIATIVE: DISCRETE, Fact.IDEMPOTENT: DISCRETE}
_IDEMPOTENT = {Fact.IDEMPOTENT: ALL}


def _sigmoid(x: np.ndarray) -> Any:
    # 1 / (1 + exp(-|x|)) never overflows; the other half by symmetry
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


def _erf(x: np.ndarray) -> Any:
    from scipy import special  # type: ignore[import-untyped]  # loaded when needed: it takes longer than all of lamina

    return special.erf(x)


def _bitcast(x: np.ndarray, dtype: DType) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(x.shape).view(dtype.numpy)


def _bitcast_dtype(x: Any, dtype: DType) -> DType:
    if x.dtype.bits != dtype.bits or (dt.bool in (x.dtype, dtype) and x.dtype != dtype):
        raise TypeError(
            f"bitcast: {x.dtype} has {x.dtype.bits} bits, {dtype} {dtype.bits}; they must be as wide, and not bool"
        )
    return dtype


def _complex(dtype: DType) -> DType:
    if dtype not in (dt.float32, dt.float64):
        raise TypeError(f"complex: the parts are {dtype}, but must be float32 or float64")
    return dt.complex64 if dtype == dt.float32 else dt.complex128


def _complex_meaning(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = np.empty(x.shape, _complex(dt.from_numpy(x.dtype)).numpy)
    result.real, result.imag = x, y
    return result


def _where_dtype(condition: Any, x: Any, y: Any) -> DType:
    if condition.dtype != dt.bool:
        raise TypeError(f"where: the condition is {condition.dtype}, but must be bool")
    if x.dtype != y.dtype:
        raise TypeError(f"where: the operands have dtypes {x.dtype} and {y.dtype}, but must have one dtype")
    return x.dtype  # type: ignore[no-any-return]


ROWS = [
    # unary: sign and rounding
    _unary(
        "copy", ALL, lambda x: np.array(x, order="C"), "The same elements, in memory of their own.", facts=_IDEMPOTENT
    ),
    _unary("negative", NUMERIC, np.negative, "-x.", facts={Fact.INVOLUTION: NUMERIC}),
    _unary(
        "abs",
        ALL,
        np.absolute,
        "The magnitude; real for complex x.",
        result=lambda dtype: dtype.real,
        facts={Fact.IDEMPOTENT: ORDERED},
        tolerance=PARTS,
    ),
    _unary(
        "sign",
        NUMERIC,
        np.sign,
        "-1, 0 or 1 (complex: x / |x|); NaN stays NaN.",
        facts={Fact.IDEMPOTENT: REAL},
        tolerance=PARTS,
    ),
    _unary("signbit", REAL_FLOAT, np.signbit, "Whether the sign bit is set.", result=_bool),
    _unary("ceil", ORDERED, np.ceil, "The least whole number not below x.", facts=_IDEMPOTENT),
    _unary("floor", ORDERED, np.floor, "The greatest whole number not above x.", facts=_IDEMPOTENT),
    _unary("trunc", ORDERED, np.trunc, "x without its fraction.", facts=_IDEMPOTENT),
    _unary("round", FLOATING, np.rint, "The nearest whole number, ties to even.", facts=_IDEMPOTENT),
    # unary: complex
    _unary("conj", NUMERIC, np.conjugate, "The complex conjugate.", facts={Fact.INVOLUTION: NUMERIC}),
    _unary("real", FLOATING, lambda x: np.array(x.real), "The real part.", result=lambda dtype: dtype.real),
    _unary("imag", FLOATING, lambda x: np.array(x.imag), "The imaginary part.", result=lambda dtype: dtype.real),
    # unary: predicates
    _unary("isfinite", ALL, np.isfinite, "Whether x is neither infinite nor NaN.", result=_bool),
    _unary("isinf", ALL, np.isinf, "Whether x is infinite.", result=_bool),
    _unary("isnan", ALL, np.isnan, "Whether x is NaN.", result=_bool),
    # unary: powers, exponentials and logarithms
    _unary("square", NUMERIC, np.square, "x * x.", tolerance=PARTS),
    _unary("sqrt", FLOATING, np.sqrt, "The square root.", tolerance=PARTS),
    _unary("cbrt", REAL_FLOAT, np.cbrt, "The cube root.", tolerance=FUNCTION),
    _unary("reciprocal", FLOATING, np.reciprocal, "1 / x.", tolerance=PARTS),
    _unary("exp", FLOATING, np.exp, "e ** x.", tolerance=FUNCTION),
    _unary("exp2", FLOATING, np.exp2, "2 ** x.", tolerance=FUNCTION),
    _unary("expm1", FLOATING, np.expm1, "e ** x - 1, accurate near 0.", tolerance=FUNCTION),
    _unary("log", FLOATING, np.log, "The natural logarithm.", tolerance=FUNCTION),
    _unary("log2", FLOATING, np.log2, "The logarithm to base 2.", tolerance=FUNCTION),
    _unary("log10", FLOATING, np.log10, "The logarithm to base 10.", tolerance=FUNCTION),
    _unary("log1p", FLOATING, np.log1p, "log(1 + x), accurate near 0.", tolerance=FUNCTION),
    _unary("sigmoid", REAL_FLOAT, _sigmoid, "1 / (1 + e ** -x).", tolerance=FUNCTION),
    _unary("erf", REAL_FLOAT, _erf, "The error function.", tolerance=FUNCTION),
    # unary: trigonometry
    _unary("sin", FLOATING, np.sin, "The sine.", tolerance=FUNCTION),
    _unary("cos", FLOATING, np.cos, "The cosine.", tolerance=FUNCTION),
    _unary("tan", FLOATING, np.tan, "The tangent.", tolerance=FUNCTION),
    _unary("asin", FLOATING, np.arcsin, "The inverse sine.", tolerance=FUNCTION),
    _unary("acos", FLOATING, np.arccos, "The inverse cosine.", tolerance=FUNCTION),
    _unary("atan", FLOATING, np.arctan, "The inverse tangent.", tolerance=FUNCTION),
    _unary("sinh", FLOATING, np.sinh, "The hyperbolic sine.", tolerance=FUNCTION),
    _unary("cosh", FLOATING, np.cosh, "The hyperbolic cosine.", tolerance=FUNCTION),
    _unary("tanh", FLOATING, np.tanh, "The hyperbolic tangent.", tolerance=FUNCTION),
    _unary("asinh", FLOATING, np.arcsinh, "The inverse hyperbolic sine.", tolerance=FUNCTION),
    _unary("acosh", FLOATING, np.arccosh, "The inverse hyperbolic cosine.", tolerance=FUNCTION),
    _unary("atanh", FLOATING, np.arctanh, "The inverse hyperbolic tangent.", tolerance=FUNCTION),
    # unary: bits and logic
    _unary("bitwise_invert", DISCRETE, np.invert, "Each bit flipped.", facts={Fact.INVOLUTION: DISCRETE}),
    _unary("logical_not", BOOL, np.logical_not, "not x.", facts={Fact.INVOLUTION: BOOL}),
    # binary: arithmetic
    _binary("add", ALL, np.add, "x + y; integers wrap, bool is or.", facts=_RING),
    _binary("subtract", NUMERIC, np.subtract, "x - y; integers wrap."),
    _binary("multiply", ALL, np.multiply, "x * y; integers wrap, bool is and.", facts=_PRODUCT, tolerance=PARTS),
    _binary("divide", FLOATING, np.divide, "x / y.", tolerance=PARTS),
    _binary("floor_divide", REAL, np.floor_divide, "The floor of x / y; 0 for an integer divided by 0."),
    _binary("remainder", REAL, np.remainder, "x - y * floor(x / y), with the sign of y; 0 for an integer and y = 0."),
    _binary("fmod", REAL, np.fmod, "The remainder with the sign of x; 0 for an integer and y = 0."),
    _binary("pow", NUMERIC, np.power, "x ** y; an integer to a negative power is a ValueError.", tolerance=FUNCTION),
    _binary(
        "float_power",
        FLOATING,
        np.float_power,
        "x ** y by C's pow, where `pow` takes NumPy's short cuts, such as sqrt for 0.5.",
        tolerance=FUNCTION,
    ),
    _binary(
        "atan2",
        REAL_FLOAT,
        np.arctan2,
        "The angle of the point (y, x): the inverse tangent of x / y by quadrant.",
        tolerance=FUNCTION,
    ),
    _binary(
        "hypot",
        REAL_FLOAT,
        np.hypot,
        "sqrt(x*x + y*y), without overflow.",
        facts=_commutes(REAL_FLOAT),
        tolerance=FUNCTION,
    ),
    _binary("copysign", REAL_FLOAT, np.copysign, "|x| with the sign of y."),
    _binary("nextafter", REAL_FLOAT, np.nextafter, "The next number after x towards y."),
    _binary(
        "logaddexp",
        REAL_FLOAT,
        np.logaddexp,
        "log(e**x + e**y), without overflow.",
        facts=_commutes(REAL_FLOAT),
        tolerance=SUM_OF_POWERS,
    ),
    _binary(
        "logaddexp2",
        REAL_FLOAT,
        np.logaddexp2,
        "log2(2**x + 2**y), without overflow.",
        facts=_commutes(REAL_FLOAT),
        tolerance=SUM_OF_POWERS,
    ),
    _binary("gcd", INTEGER, np.gcd, "The greatest common divisor, not negative.", facts=_commutes(INTEGER)),
    _binary("lcm", INTEGER, np.lcm, "The least common multiple, wrapped.", facts=_commutes(INTEGER)),
    _binary("maximum", ALL, np.maximum, "The greater one; NaN if either is NaN.", facts=_LATTICE, tolerance=ZEROS),
    _binary("minimum", ALL, np.minimum, "The lesser one; NaN if either is NaN.", facts=_LATTICE, tolerance=ZEROS),
    _binary("fmax", ALL, np.fmax, "The greater one, of numbers before NaN.", facts=_LATTICE, tolerance=ZEROS),
    _binary("fmin", ALL, np.fmin, "The lesser one, of numbers before NaN.", facts=_LATTICE, tolerance=ZEROS),
    # binary: bits and logic
    _binary("bitwise_and", DISCRETE, np.bitwise_and, "Bits set in both.", facts=_LATTICE),
    _binary("bitwise_or", DISCRETE, np.bitwise_or, "Bits set in either.", facts=_LATTICE),
    _binary("bitwise_xor", DISCRETE, np.bitwise_xor, "Bits set in one of the two.", facts=_RING),
    _binary("bitwise_left_shift", INTEGER, np.left_shift, "x * 2**y, wrapped; 0 for y of x's width or more."),
    _binary("bitwise_right_shift", INTEGER, np.right_shift, "floor(x / 2**y); 0 or -1 for y of x's width or more."),
    _binary("logical_and", BOOL, np.logical_and, "x and y.", facts=_LATTICE),
    _binary("logical_or", BOOL, np.logical_or, "x or y.", facts=_LATTICE),
    _binary("logical_xor", BOOL, np.logical_xor, "Whether just one is true.", facts=_RING),
    # binary: comparisons
    _binary("equal", ALL, np.equal, "x == y.", result=_bool, facts=_commutes()),
    _binary("not_equal", ALL, np.not_equal, "x != y.", result=_bool, facts=_commutes()),
    _binary("less", ALL, np.less, "x < y; complex numbers by real, then imaginary part.", result=_bool),
    _binary("less_equal", ALL, np.less_equal, "x <= y.", result=_bool),
    _binary("greater", ALL, np.greater, "x > y.", result=_bool),
    _binary("greater_equal", ALL, np.greater_equal, "x >= y.", result=_bool),
    # of three operands, or of several dtypes
    elementwise(
        "clip",
        3,
        ALL,
        np.clip,
        "x between y and z: the lesser of z and the greater of x and y; NaN if any is NaN.",
        tolerance=ZEROS,
    ),
    _binary("complex", REAL_FLOAT, _complex_meaning, "x + 1j * y, exactly.", result=_complex),
    Op(
        name="where",
        params=("condition", "x", "y"),
        arity=3,
        family=Family.ELEMENTWISE,
        dtype=_where_dtype,
        shape=same_shape("where"),
        facts={},
        meaning=np.where,
        doc="x where the condition holds, y elsewhere.",
    ),
    Op(
        name="cast",
        params=("x", "dtype"),
        arity=1,
        family=Family.ELEMENTWISE,
        dtype=lambda x, dtype: dtype,
        shape=lambda x, dtype: x.shape,
        facts={},
        meaning=dt.cast,
        doc="x as another dtype; real to integer saturates, NaN becomes 0.",
    ),
    Op(
        name="bitcast",
        params=("x", "dtype"),
        arity=1,
        family=Family.ELEMENTWISE,
        dtype=_bitcast_dtype,
        shape=lambda x, dtype: x.shape,
        facts={},
        meaning=_bitcast,
        doc="The bits of x read as a dtype of the same width.",
    ),
]
