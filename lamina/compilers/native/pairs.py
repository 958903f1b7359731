"""Complex numbers: a value is a pair of values, its parts, and an op is what NumPy does with both.

Products are the four of school, quotients are Smith's, so that neither overflows where NumPy's doesn't. What is left to
the evaluator is left for its special values: powers, logarithms and their kin.
"""

import math
from collections.abc import Callable
from typing import Any

from lamina import dtype as dt
from lamina.compilers.native import scalar
from lamina.compilers.native.scalar import Emit, Value
from lamina.dtype import DType

Pair = tuple[Value, Value]


def _each(name: str) -> Callable[..., Pair]:
    """An op of the parts, one by one."""
    return lambda e, *args: tuple(scalar.ROWS[name](e, *parts) for parts in zip(*args, strict=True))


def _conj(e: Emit, x: Pair) -> Pair:
    return x[0], e.builder.fneg(x[1])


def _multiply(e: Emit, x: Pair, y: Pair) -> Pair:
    b = e.builder
    real = b.fsub(b.fmul(x[0], y[0]), b.fmul(x[1], y[1]))
    return real, b.fadd(b.fmul(x[0], y[1]), b.fmul(x[1], y[0]))


def _divide(e: Emit, x: Pair, y: Pair) -> Pair:
    b, one = e.builder, e.number(1)
    sizes = [e.intrinsic("fabs", (part,)) for part in y]
    # Smith: divide by the greater part of the divisor first
    is_real = b.fcmp_ordered(">=", sizes[0], sizes[1])
    greater, lesser = b.select(is_real, y[0], y[1]), b.select(is_real, y[1], y[0])
    ratio = b.fdiv(lesser, greater)
    scale = b.fdiv(one, b.fadd(greater, b.fmul(lesser, ratio)))
    first, second = b.select(is_real, x[0], x[1]), b.select(is_real, x[1], x[0])
    real = b.fmul(b.fadd(first, b.fmul(second, ratio)), scale)
    turned = b.fsub(x[1], b.fmul(x[0], ratio)), b.fsub(b.fmul(x[1], ratio), x[0])
    imaginary = b.fmul(b.select(is_real, *turned), scale)
    # both parts 0: each part divided by 0
    is_zero = b.and_(*(b.fcmp_ordered("==", size, e.number(0)) for size in sizes))
    parts = zip(x, (real, imaginary), strict=True)
    real, imaginary = (b.select(is_zero, b.fdiv(own, sizes[0]), part) for own, part in parts)
    return real, imaginary


def _exp(e: Emit, x: Pair) -> Pair:
    """The size of e ** x times the cosine and the sine, with the special values of C's Annex G."""
    b, zero = e.builder, e.number(0)
    # a size that overflows may have parts that don't: then it is a product, and its argument an exact difference
    most = 88.0 if e.dtype is dt.float32 else 709.0
    is_great = e.less(e.number(most), x[0])
    size = scalar.ROWS["exp"](e, b.select(is_great, b.fsub(x[0], e.number(most)), x[0]))
    scale = b.select(is_great, e.number(float(e.dtype.numpy.type(math.exp(most)))), e.number(1.0))
    turned = (scalar.ROWS[name](e, x[1]) for name in ("cos", "sin"))
    real, imaginary = (b.fmul(b.fmul(size, part), scale) for part in turned)
    # where the angle is infinite or NaN, infinity has no sine, and what has no size needs none
    is_finite = b.fcmp_ordered("==", b.fsub(x[1], x[1]), zero)
    is_least = b.and_(b.not_(is_finite), b.fcmp_ordered("==", x[0], e.number(float("-inf"))))
    is_most = b.and_(b.not_(is_finite), b.fcmp_ordered("==", x[0], e.number(float("inf"))))
    real = b.select(b.or_(is_least, is_most), size, real)
    imaginary = b.select(is_least, e.intrinsic("copysign", (zero, x[1])), imaginary)
    is_real = b.fcmp_ordered("==", x[1], zero)
    return b.select(is_real, b.fmul(size, scale), real), b.select(is_real, x[1], imaginary)


def _any(name: str, joined: str) -> Callable[..., Value]:
    """A predicate of the parts, joined."""

    def row(e: Emit, *args: Pair) -> Value:
        return getattr(e.builder, joined)(*(scalar.ROWS[name](e, *parts) for parts in zip(*args, strict=True)))

    return row


ROWS: dict[str, Callable[..., Any]] = {
    "copy": lambda e, x: x,
    "negative": _each("negative"),
    "conj": _conj,
    "real": lambda e, x: x[0],
    "imag": lambda e, x: x[1],
    "complex": lambda e, x, y: (x, y),
    "add": _each("add"),
    "subtract": _each("subtract"),
    "multiply": _multiply,
    "square": lambda e, x: _multiply(e, x, x),
    "divide": _divide,
    "abs": lambda e, x: scalar.ROWS["hypot"](e, *x),
    "exp": _exp,
    "equal": _any("equal", "and_"),
    "not_equal": _any("not_equal", "or_"),
    "isnan": _any("isnan", "or_"),
    "isinf": _any("isinf", "or_"),
    "isfinite": _any("isfinite", "and_"),
}


def where(e: Emit, condition: Value, x: Pair, y: Pair) -> Pair:
    """One where the condition holds, else the other."""
    return e.builder.select(condition, x[0], y[0]), e.builder.select(condition, x[1], y[1])


def cast(e: Emit, x: Any, dtype: DType) -> Any:
    """A complex number as another dtype, or a real one as complex; the imaginary part is dropped as NumPy does it."""
    if dtype.kind != "complex":
        return ROWS["not_equal"](e, x, (e.number(0),) * 2) if dtype.kind == "bool" else scalar.cast(e, x[0], dtype)
    if isinstance(x, tuple):
        return tuple(scalar.cast(e, part, dtype.real) for part in x)
    zero = Emit(e.builder, dtype.real, e.lanes).number(0)
    return scalar.cast(e, x, dtype.real), zero
