"""Floating-point numbers of a program being written, with Python's operators.

A `Real` is an LLVM value of type float, double or a vector of either, and the builder that says where the next
instruction goes. `x * y` writes a multiplication and is its result. So a formula of `maths` reads like arithmetic, and
one text of it serves both formats, scalars and vectors. Nothing here branches, loads or calls a library: LLVM's
vectoriser makes a loop of it a loop of SIMD instructions.

Besides single numbers there are *pairs*: the sum of two numbers, not evaluated, high + low with |low| at most a few
units in the last place of high. They hold about twice the digits. The exact sums behind them are Dekker's, "A
floating-point technique for extending the available precision", 1971, and Knuth's, the exact product with a fused
multiply-add is as in Muller et al., "Handbook of Floating-Point Arithmetic", 2018.
"""

import functools
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

from lamina.compilers.native import ir


class Format(NamedTuple):
    """A binary format of IEEE 754: its width, the digits of its significand, and its largest exponent (also the bias).

    >>> DOUBLE.fraction, DOUBLE.least
    (52, -1022)
    """

    bits: int
    digits: int
    bias: int

    @property
    def fraction(self) -> int:
        """How many digits are stored: all but the first."""
        return self.digits - 1

    @property
    def least(self) -> int:
        """The exponent of the least normal number."""
        return 1 - self.bias

    def bits_of(self, number: float) -> int:
        """The bits of a number, as an integer.

        >>> hex(SINGLE.bits_of(1.0))
        '0x3f800000'
        """
        return int.from_bytes(struct.pack(">f" if self.bits == 32 else ">d", number), "big")

    def nearest(self, number: Fraction) -> float:
        """The number of this format next to it."""
        code = "f" if self.bits == 32 else "d"
        return float(struct.unpack(code, struct.pack(code, number))[0])

    @functools.cache  # noqa: B019 - of two formats
    def words(self, number: Fraction, count: int = 2, spare: int = 0) -> tuple[float, ...]:
        """Numbers whose sum is `number`, each of them nearest to what those before leave.

        The first ends in `spare` zeros, so that its product with a whole number of so many digits is exact.
        """
        unit = Fraction(2) ** (math.frexp(number)[1] - self.digits + spare)
        result = [float(round(number / unit) * unit)]
        for _ in range(count - 1):
            number -= Fraction(result[-1])
            result.append(self.nearest(number))
        return tuple(result)


SINGLE = Format(32, 24, 127)
DOUBLE = Format(64, 53, 1023)


def _like(kind: ir.Type, model: ir.Type) -> ir.Type:
    """`kind`, as a vector where `model` is one."""
    return ir.VectorType(kind, model.count) if isinstance(model, ir.VectorType) else kind


@dataclass(frozen=True)
class Lane:
    """An LLVM value and the builder that writes what is made of it."""

    builder: ir.IRBuilder
    value: ir.Value

    @property
    def kind(self) -> Any:
        """The LLVM type."""
        return self.value.type

    def _make(self, value: ir.Value) -> Self:
        return type(self)(self.builder, value)

    def _operand(self, other: "Self | float") -> ir.Value:
        return other.value if isinstance(other, Lane) else self.kind(other)


class Mask(Lane):
    """A truth value, or a vector of them."""

    def __and__(self, other: "Mask") -> "Mask":
        return self._make(self.builder.and_(self.value, other.value))

    def __or__(self, other: "Mask") -> "Mask":
        return self._make(self.builder.or_(self.value, other.value))

    def __xor__(self, other: "Mask") -> "Mask":
        return self._make(self.builder.xor(self.value, other.value))

    def __invert__(self) -> "Mask":
        return self._make(self.builder.not_(self.value))


class Whole(Lane):
    """An integer as wide as the format, or a vector of them; sums and shifts wrap."""

    def __add__(self, other: "Whole | int") -> "Whole":
        return self._make(self.builder.add(self.value, self._operand(other)))

    def __sub__(self, other: "Whole | int") -> "Whole":
        return self._make(self.builder.sub(self.value, self._operand(other)))

    def __neg__(self) -> "Whole":
        return self._make(self.builder.neg(self.value))

    def __and__(self, other: "Whole | int") -> "Whole":
        return self._make(self.builder.and_(self.value, self._operand(other)))

    def __or__(self, other: "Whole | int") -> "Whole":
        return self._make(self.builder.or_(self.value, self._operand(other)))

    def __xor__(self, other: "Whole | int") -> "Whole":
        return self._make(self.builder.xor(self.value, self._operand(other)))

    def __lshift__(self, count: int) -> "Whole":
        return self._make(self.builder.shl(self.value, self._operand(count)))

    def __rshift__(self, count: int) -> "Whole":
        """The shift that fills with zeros."""
        return self._make(self.builder.lshr(self.value, self._operand(count)))

    def where(self, mask: Mask, otherwise: "Whole | int") -> "Whole":
        """These where the mask holds, `otherwise` elsewhere."""
        return self._make(self.builder.select(mask.value, self.value, self._operand(otherwise)))

    def is_zero(self) -> Mask:
        """Whether it is 0."""
        return Mask(self.builder, self.builder.icmp_unsigned("==", self.value, self._operand(0)))

    def real(self, model: "Real") -> "Real":
        """The number whose bits these are."""
        return model._make(self.builder.bitcast(self.value, model.kind))


class Real(Lane):
    """A number, or a vector of them."""

    @property
    def format(self) -> Format:
        """Its format, which says how formulas are to be tuned."""
        element = self.kind.element if isinstance(self.kind, ir.VectorType) else self.kind
        return SINGLE if isinstance(element, ir.FloatType) else DOUBLE

    def constant(self, number: float) -> "Real":
        """A constant of the same type."""
        return self._make(self.kind(number))

    def number(self) -> float | None:
        """The number, where it is a constant, the same in all lanes."""
        if not isinstance(self.value, ir.Constant):
            return None
        return None if isinstance(self.value.constant, list) else float(self.value.constant)

    def pair(self, number: Fraction) -> "Pair":
        """A constant with twice the digits."""
        return Pair(*map(self.constant, self.format.words(number)))

    # arithmetic

    def __add__(self, other: "Real | float") -> "Real":
        return self._make(self.builder.fadd(self.value, self._operand(other)))

    __radd__ = __add__

    def __sub__(self, other: "Real | float") -> "Real":
        return self._make(self.builder.fsub(self.value, self._operand(other)))

    def __rsub__(self, other: float) -> "Real":
        return self._make(self.builder.fsub(self._operand(other), self.value))

    def __mul__(self, other: "Real | float") -> "Real":
        return self._make(self.builder.fmul(self.value, self._operand(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: "Real | float") -> "Real":
        return self._make(self.builder.fdiv(self.value, self._operand(other)))

    def __rtruediv__(self, other: float) -> "Real":
        return self._make(self.builder.fdiv(self._operand(other), self.value))

    def __neg__(self) -> "Real":
        return self._make(self.builder.fneg(self.value))

    def __abs__(self) -> "Real":
        return self.intrinsic("fabs")

    def fma(self, times: "Real | float", plus: "Real | float") -> "Real":
        """The sum self * times + plus, rounded once."""
        return self.intrinsic("fma", times, plus)

    def intrinsic(self, name: str, *others: "Real | float") -> "Real":
        """LLVM's function `name` of this type, which is one instruction on the machines we care for."""
        args = [self.value, *map(self._operand, others)]
        name = f"llvm.{name}.{self.kind.intrinsic_name}"
        function = self.builder.module.declared(name, self.kind, [self.kind] * len(args))
        return self._make(self.builder.call(function, args))

    def sqrt(self) -> "Real":
        """The square root, correctly rounded."""
        return self.intrinsic("sqrt")

    def rounded(self) -> "Real":
        """The nearest whole number, ties to even."""
        return self.intrinsic("rint")

    def with_sign(self, other: "Real") -> "Real":
        """The magnitude with the sign of `other`."""
        return self.intrinsic("copysign", other)

    # comparisons: false for NaN

    def _compare(self, sign: str, other: "Real | float") -> Mask:
        return Mask(self.builder, self.builder.fcmp_ordered(sign, self.value, self._operand(other)))

    def __lt__(self, other: "Real | float") -> Mask:
        return self._compare("<", other)

    def __le__(self, other: "Real | float") -> Mask:
        return self._compare("<=", other)

    def __gt__(self, other: "Real | float") -> Mask:
        return self._compare(">", other)

    def __ge__(self, other: "Real | float") -> Mask:
        return self._compare(">=", other)

    def equals(self, other: "Real | float") -> Mask:
        """Whether the numbers are equal; ±0 are."""
        return self._compare("==", other)

    def is_nan(self) -> Mask:
        """Whether it is NaN."""
        return Mask(self.builder, self.builder.fcmp_unordered("uno", self.value, self.value))

    def has_sign(self) -> Mask:
        """Whether the sign bit is set."""
        return ~(self.whole() >> (self.format.bits - 1)).is_zero()

    def where(self, mask: Mask, otherwise: "Real | float") -> "Real":
        """This where the mask holds, `otherwise` elsewhere."""
        return self._make(self.builder.select(mask.value, self.value, self._operand(otherwise)))

    def but(self, mask: Mask, instead: "Real | float") -> "Real":
        """self, but `instead` where the mask holds."""
        return self._make(self.builder.select(mask.value, self._operand(instead), self.value))

    def clipped(self, low: float, high: float) -> "Real":
        """Between two constants; NaN stays NaN."""
        return self.but(self < low, low).but(self > high, high)

    # bits

    def whole(self) -> Whole:
        """The bits as an integer."""
        kind = _like(ir.IntType(self.format.bits), self.kind)
        return Whole(self.builder, self.builder.bitcast(self.value, kind))

    def cast(self, kind: ir.Type) -> "Real":
        """The nearest number of the other format."""
        return self._make((self.builder.fpext if self.format is SINGLE else self.builder.fptrunc)(self.value, kind))

    def nearest(self, factor: float = 1.0) -> "tuple[Real, Whole]":
        """The whole number next to self * factor, as a Real and as an integer.

        It must have two digits less than the format. The number 1.5 * 2**fraction is added, so that the integer is in
        the low bits of the sum. NaN gives NaN and some integer.
        """
        magic = 1.5 * 2.0**self.format.fraction
        shifted = self.fma(factor, magic)
        return shifted - magic, shifted.whole() - self.format.bits_of(magic)

    def power_of_two(self, exponent: Whole) -> "Real":
        """2**exponent, for the exponents of normal numbers."""
        return ((exponent + self.format.bias) << self.format.fraction).real(self)

    def scaled(self, exponent: Whole) -> "Real":
        """The product self * 2**exponent, rounded once; |exponent| is below twice the bias."""
        biased = exponent + 2 * self.format.bias
        half = biased >> 1
        first, second = ((part << self.format.fraction).real(self) for part in (half, biased - half))
        return self * first * second

    # polynomials

    def polynomial(self, table: Mapping[int, tuple[float, ...]]) -> "Real":
        """coefficients[0] + coefficients[1] * self + …; the table has those of each format.

        A long one is a polynomial of the fourth power, with short ones for coefficients: none of these waits for
        another (after G. Estrin, "Organization of computer systems", 1960).
        """
        coefficients = table[self.format.digits]
        if len(coefficients) < 6:
            return self._horner([self.constant(each) for each in coefficients])
        square = self * self
        fours = [coefficients[start : start + 4] for start in range(0, len(coefficients), 4)]
        return (square * square)._horner([self._short(square, *four) for four in fours])

    def _short(self, square: "Real", *coefficients: float) -> "Real":
        pairs = [coefficients[start : start + 2] for start in range(0, len(coefficients), 2)]
        return square._horner([self._horner(list(map(self.constant, pair))) for pair in pairs])

    def _horner(self, coefficients: Sequence["Real"]) -> "Real":
        *others, result = coefficients
        for coefficient in reversed(others):
            result = result.fma(self, coefficient)
        return result


class Pair(NamedTuple):
    """The sum of two numbers, not evaluated: twice the digits."""

    high: Real
    low: Real

    def total(self) -> Real:
        """The sum, rounded."""
        return self.high + self.low

    def __neg__(self) -> "Pair":
        return Pair(-self.high, -self.low)

    def times(self, other: "Pair") -> "Pair":
        """The product; relative error about 2**-(2 digits - 3)."""
        high, low = exact_product(self.high, other.high)
        return Pair(high, self.high.fma(other.low, self.low.fma(other.high, low)))

    def over(self, other: "Pair") -> "Pair":
        """The quotient, from one division and its remainder: relative error about 2**-(2 digits - 4)."""
        inverse = 1.0 / other.high
        high = self.high * inverse
        remainder = (-high).fma(other.high, self.high) + (-high).fma(other.low, self.low)
        return Pair(high, remainder * inverse)

    def where(self, mask: Mask, otherwise: "Pair") -> "Pair":
        """This pair where the mask holds, `otherwise` elsewhere."""
        return Pair(self.high.where(mask, otherwise.high), self.low.where(mask, otherwise.low))


def ordered_sum(x: Real, y: Real | float) -> Pair:
    """The exact sum, where |x| >= |y| or x is 0 (Dekker)."""
    high = x + y
    return Pair(high, y - (high - x) if isinstance(y, Real) else -((high - x) - y))


def exact_sum(x: Real, y: Real) -> Pair:
    """The exact sum (Knuth)."""
    high = x + y
    virtual = high - x
    return Pair(high, (x - (high - virtual)) + (y - virtual))


def exact_product(x: Real, y: Real) -> Pair:
    """The exact product, unless the low part is below the least number."""
    high = x * y
    return Pair(high, x.fma(y, -high))
