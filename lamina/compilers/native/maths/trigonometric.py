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

from llvmlite import ir

from lamina.compilers.native.maths.lanes import (
    DOUBLE,
    Format,
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
    return ordered_sum(high, (-n).fma(third, low - product.low)), quadrant


@functools.cache
def _two_over_pi(bits: int) -> int:
    """floor(2**bits * 2 / pi), pi by Machin's formula."""
    unit = 1 << (bits + 32)

    def arctangent_of_inverse(n: int) -> int:
        total, power, k = 0, unit // n, 1
        while power:
            total += (power // k) * (1 if k % 4 == 1 else -1)
            power, k = power // (n * n), k + 2
        return total

    pi = 16 * arctangent_of_inverse(5) - 4 * arctangent_of_inverse(239)
    return (unit << (bits + 1)) // pi


def _window(form: Format) -> int:
    """How many bits of 2/pi matter: those of x, of the least remainder that x can have, and of the precision."""
    return 192 if form is DOUBLE else 96


def _reduced_great(x: Real) -> tuple[Pair, Whole]:
    """(r, n modulo 4) for finite x of at least 2**digits / 8, a scalar."""
    builder, form = x.builder, x.format
    width = _window(form)
    last = form.bias - form.fraction  # of the greatest exponent, that of the last place
    bits = last + width - 2
    narrow, word, wide = ir.IntType(form.bits), ir.IntType(width), ir.IntType(-(-(bits + 1) // 64) * 64)

    # x = m * 2**exponent, and of 2/pi * 2**(width - 2 + exponent) the low bits
    size = abs(x).whole()
    exponent = (size >> form.fraction) - (form.bias + form.fraction)
    m = (size & ((1 << form.fraction) - 1)) | (1 << form.fraction)
    shift = builder.zext((-exponent + last).value, wide)
    bits_of_inverse = builder.trunc(builder.lshr(wide(_two_over_pi(bits)), shift), word)
    product = builder.mul(builder.zext(m.value, word), bits_of_inverse)  # x * 2/pi modulo 4, times 2**(width - 2)

    quadrant = builder.lshr(builder.add(product, word(1 << (width - 3))), word(width - 2))
    fraction = builder.shl(product, word(2))  # as a signed number, between -1/2 and 1/2, times 2**width

    # four digits of so many bits, the first with the sign: each is exact in this format
    piece = width // 4
    total, rest = x.constant(0.0), x.constant(0.0)
    for place in range(4):
        digit = builder.trunc(builder.lshr(fraction, word(piece * place)), ir.IntType(piece))
        number = (builder.sitofp if place == 3 else builder.uitofp)(digit, x.kind)
        total, error = ordered_sum(x._make(number) * 2.0 ** (piece * (place - 4)), total)
        rest = rest + error
    r = ordered_sum(total, rest).times(x.pair(PI / 2))
    negative = x < 0.0
    n = Whole(builder, builder.trunc(quadrant, narrow))
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
    return (result.whole() ^ ((n & 2) << (result.format.bits - 2))).real(result)


def _tangent(r: Pair, n: Whole) -> Real:
    """tan(r + n pi/2)."""
    sine, cosine = (ordered_sum(*part) for part in _sine_and_cosine(r))
    even = (n & 1).is_zero()
    return sine.where(even, -cosine).over(cosine.where(even, sine)).total()


def _function(name: str, of_reduced: Callable[[Pair, Whole], Real]) -> Paths:
    return Paths(name, _is_great, lambda x: of_reduced(*_reduced(x)), lambda x: of_reduced(*_reduced_great(x)))


_SIN = _function("sin", _of_quadrant)
_COS = _function("cos", lambda r, n: _of_quadrant(r, n + 1))
_TAN = _function("tan", _tangent)


def sin(x: Real) -> Real:
    """The sine, within 1 ulp."""
    return _SIN(x).but(x.equals(0.0), x)


def cos(x: Real) -> Real:
    """The cosine, within 1 ulp."""
    return _COS(x)


def tan(x: Real) -> Real:
    """The tangent, within 1 ulp: the quotient of the other two, as pairs."""
    return _TAN(x).but(x.equals(0.0), x)
