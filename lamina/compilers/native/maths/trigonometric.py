"""Sine, cosine and tangent.

The argument is reduced to r = x - n pi/2 with |r| <= pi/4 and n whole. Up to 2**40 (floats: 2**17) three words of pi/2
and fused multiply-adds give r as a pair: n times the first word, which is exact inside, leaves an exact difference
(Cody and Waite, 1980; with fused multiply-adds as in Boldo, Daumas and Li, "Formally verified argument reduction with a
fused multiply-add", 2009). Beyond, x is a whole number times a power of 2, and integer arithmetic finds x * 2/pi modulo
4 from just those bits of 2/pi that matter (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
"""

import functools
import math
from collections.abc import Callable

from lamina.compilers.native import ir
from lamina.compilers.native.maths.lanes import (
    DOUBLE,
    Mask,
    Pair,
    Real,
    Whole,
    exact_product,
    exact_sum,
    ordered_sum,
)
from lamina.compilers.native.maths.polynomials import COS, PI, SIN
from lamina.compilers.native.maths.rare import Paths


def _is_great(x: Real) -> Mask:
    size = abs(x)
    return (size > (2.0**40 if x.format is DOUBLE else 2.0**17)) & (size < math.inf)


def _reduced(x: Real) -> tuple[Pair, Whole]:
    """(r, n) for x that is not great."""
    n, quadrant = x.nearest(float(2 / PI))
    first, second, third = x.format.words(PI / 2, 3)
    rest = (-n).fma(first, x)  # exact: a multiple of the last place of `first`, and below 1
    product = exact_product(n, x.constant(second))
    high, low = exact_sum(rest, -product.high)
    return Pair(high, (-n).fma(third, low - product.low)), quadrant


# Of x * 2/pi modulo 4 these bits are found: two for the quadrant, and after the point 53 for x, 61 for the least
# remainder that a double can have, and the rest for the precision.
_WIDTH = 192
_BITS = _WIDTH - 2 + DOUBLE.bias - DOUBLE.fraction  # so many bits of 2/pi matter for the greatest doubles
_TABLE = "lamina.two_over_pi"


@functools.cache
def _two_over_pi() -> bytes:
    """floor(2**_BITS * 2 / pi), the lowest byte first; pi by Machin's formula."""
    unit = 1 << (_BITS + 64)

    def arctangent_of_inverse(n: int) -> int:
        total, power, k = 0, unit // n, 1
        while power:
            total += (power // k) * (1 if k % 4 == 1 else -1)
            power, k = power // (n * n), k + 2
        return total

    pi = 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)
    return ((unit << (_BITS + 1)) // pi).to_bytes(_BITS // 8 + 32, "little")


def _reduced_great(x: Real) -> tuple[Pair, Whole]:
    """(r, n modulo 4) for finite |x| >= 2**17, a scalar."""
    builder = x.builder
    if x.format is not DOUBLE:
        r, n = _reduced_great(x.cast(ir.DoubleType()))
        high = r.high.cast(x.kind)
        low = (r.high - high.cast(r.high.kind)).cast(x.kind)
        return Pair(high, low), Whole(builder, builder.trunc(n.value, ir.IntType(32)))
    word, wide, byte = ir.IntType(64), ir.IntType(_WIDTH), ir.IntType(8)

    # |x| = m * 2**exponent with m whole, and of 2/pi * 2**(_WIDTH - 2 + exponent) the low bits
    size = abs(x).whole()
    exponent = (size >> DOUBLE.fraction) - (DOUBLE.bias + DOUBLE.fraction)
    m = (size & (2**DOUBLE.fraction - 1)) | 2**DOUBLE.fraction
    shift = -exponent + (_BITS - _WIDTH + 2)
    place = builder.gep(builder.module.table(_TABLE, _two_over_pi()), [(shift >> 3).value], source_etype=byte)
    bits = builder.load(place, typ=ir.IntType(_WIDTH + 64), align=1)
    bits = builder.trunc(builder.lshr(bits, builder.zext((shift & 7).value, bits.type)), wide)
    product = builder.mul(builder.zext(m.value, wide), bits)  # |x| * 2/pi modulo 4, times 2**(_WIDTH - 2)

    quadrant = builder.lshr(builder.add(product, wide(1 << (_WIDTH - 3))), wide(_WIDTH - 2))
    fraction = builder.shl(product, wide(2))  # as a signed number, between -1/2 and 1/2, times 2**_WIDTH

    # four digits of so many bits, the first with the sign: each is exact as a double
    piece = _WIDTH // 4
    total, rest = x.constant(0.0), x.constant(0.0)
    for digit in range(4):
        number = builder.trunc(builder.lshr(fraction, wide(piece * digit)), ir.IntType(piece))
        number = (builder.sitofp if digit == 3 else builder.uitofp)(number, x.kind)
        total, error = ordered_sum(x._make(number) * 2.0 ** (piece * (digit - 4)), total)
        rest = rest + error
    r = ordered_sum(total, rest).times(x.pair(PI / 2))
    negative = x.has_sign()
    n = Whole(builder, builder.trunc(quadrant, word))
    return r.where(~negative, -r), n.where(~negative, -n)


def _sine_and_cosine(r: Pair) -> tuple[Pair, Pair]:
    """Sine and cosine for |r| <= pi/4, each with a low part that rounds once when it is added."""
    z = r.high * r.high
    half = 0.5 * z
    sine = (r.high * z).fma(z.polynomial(SIN), r.low * (1.0 - half))
    one, error = ordered_sum(z.constant(1.0), -half)
    cosine = error + (z * z).fma(z.polynomial(COS), -(r.high * r.low))
    return Pair(r.high, sine), Pair(one, cosine)


def _of_quadrant(r: Pair, n: Whole) -> Real:
    """sin(r + n pi/2)."""
    sine, cosine = _sine_and_cosine(r)
    result = sine.total().where((n & 1).is_zero(), cosine.total())
    return result.where((n & 2).is_zero(), -result)


def _tangent(r: Pair, n: Whole) -> Real:
    """tan(r + n pi/2)."""
    sine, cosine = _sine_and_cosine(r)
    even = (n & 1).is_zero()
    return _quotient(sine.where(even, -cosine), cosine.where(even, sine))


def _quotient(x: Pair, y: Pair) -> Real:
    return ordered_sum(*x).over(ordered_sum(*y)).total()


def _is_near(x: Real) -> Mask:
    """Whether x is surely reduced to itself."""
    return abs(x) < 0.78


def _function(name: str, of_reduced: Callable[[Pair, Whole], Real], near: Callable[[Pair], Real]) -> Paths:
    return Paths(
        name,
        _is_great,
        lambda x: of_reduced(*_reduced(x)),
        lambda x: of_reduced(*_reduced_great(x)),
        _is_near,
        lambda x: near(Pair(x, x.constant(0.0))),
    )


_SIN = _function("sin", _of_quadrant, lambda r: _sine_and_cosine(r)[0].total())
_COS = _function("cos", lambda r, n: _of_quadrant(r, n + 1), lambda r: _sine_and_cosine(r)[1].total())
_TAN = _function("tan", _tangent, lambda r: _quotient(*_sine_and_cosine(r)))


def sin(x: Real) -> Real:
    """The sine, within 1 ulp."""
    return _SIN(x).but(x.equals(0.0), x)


def cos(x: Real) -> Real:
    """The cosine, within 1 ulp."""
    return _COS(x)


def tan(x: Real) -> Real:
    """The tangent, within 1 ulp: the quotient of the other two, as pairs."""
    return _TAN(x).but(x.equals(0.0), x)
