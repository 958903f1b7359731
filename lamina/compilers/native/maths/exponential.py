"""The exponential functions and the hyperbolic ones.

The argument is reduced to r = x - n log 2 with |r| <= log(2) / 2 and n whole (Cody and Waite, "Software Manual for the
Elementary Functions", 1980): n times the first word of log 2 is exact in a fused multiply-add, and so is its
difference to x. The function of r is a polynomial, and 2**n is put into the exponent. Where terms of both signs meet,
the greater ones are kept as pairs.
"""

from typing import NamedTuple

from lamina.compilers.native.maths.lanes import Pair, Real, Whole, exact_product, ordered_sum
from lamina.compilers.native.maths.polynomials import COSH, ERF, ERFC, EXP, LOG2_E, LOG_2, SINH, TANH

_UP = 0.6932  # a little more than log(2)


class _Reduced(NamedTuple):
    """x = r + n * log(2), n also as an integer."""

    r: Pair
    n: Real
    exponent: Whole

    def inverse_power(self, factor: int) -> Real:
        """2**(-factor * n) for n >= 0; 0 where it is so small that it adds nothing to 1."""
        exponent = self.exponent
        for _ in range(factor - 1):
            exponent = exponent + self.exponent
        return self.n.power_of_two(-exponent).but(self.n > 40.0, 0.0)


def _reduced(x: Real) -> _Reduced:
    n, exponent = x.nearest(float(LOG2_E))
    first, second = x.format.words(LOG_2)
    high = (-n).fma(first, x)  # exact: a multiple of the last place of `first`, and below 1/2
    r = (-n).fma(second, high)
    return _Reduced(Pair(r, (-n).fma(second, high - r)), n, exponent)


def _power(r: Pair) -> Real:
    """e**r for a reduced argument."""
    return 1.0 + (r.high + (r.high * r.high).fma(r.high.polynomial(EXP), r.low))


def exp(x: Real) -> Real:
    """e**x, within 1 ulp."""
    form = x.format
    r, _, exponent = _reduced(x.clipped(-(form.bias + form.digits) * _UP, (form.bias + 1) * _UP))
    return _power(r).scaled(exponent)


def power_of_two(r: Pair) -> Real:
    """2**r, within 0.6 ulp, for |r| <= 1/2: e**t of t = r log(2) as a pair."""
    t = r.times(r.high.pair(LOG_2))
    high, low = ordered_sum(r.high.constant(1.0), t.high)
    return high + (low + (t.high * t.high).fma(t.high.polynomial(EXP), t.low))


def exp2(x: Real) -> Real:
    """2**x, within 1 ulp; exact for whole x."""
    form = x.format
    x = x.clipped(-1.0 * (form.bias + form.digits), form.bias + 2.0)
    n, exponent = x.nearest()
    return power_of_two(Pair(x - n, x.constant(0.0))).scaled(exponent)


def expm1(x: Real) -> Real:
    """e**x - 1, within 1.5 ulp: 2**n * ((1 - 2**-n) + (e**r - 1)), the first and r added as a pair."""
    form = x.format
    r, n, exponent = _reduced(x.clipped(-(form.digits + 3.0) * _UP, (form.bias + 1) * _UP))
    unit = x.power_of_two(-exponent).but(n > 100.0, 0.0)
    high, low = ordered_sum(1.0 - unit, r.high)
    rest = (r.high * r.high).fma(r.high.polynomial(EXP), r.low)
    return (high + (low + rest)).scaled(exponent).with_sign(x)


def sigmoid(x: Real) -> Real:
    """1 / (1 + e**-x), within 1 ulp, from e**-|x|, which can't overflow."""
    form = x.format
    r, n, exponent = _reduced((-abs(x)).clipped(-(form.bias + form.digits) * _UP, 0.0))
    high, low = ordered_sum(x.constant(1.0), r.high)
    power = ordered_sum(high, low + (r.high * r.high).fma(r.high.polynomial(EXP), r.low))  # times 2**exponent
    unit = x.power_of_two(exponent).but(n < -100.0, 0.0)
    high, low = ordered_sum(x.constant(1.0), unit * power.high)
    below = Pair(high, unit.fma(power.low, low))
    negative = x < 0.0
    above = power.where(negative, Pair(x.constant(1.0), x.constant(0.0)))
    return above.over(below).total().scaled(exponent.where(negative, 0))


def _hyperbolic(x: Real) -> tuple[Pair, Pair, Whole]:
    """(s, c, n) with sinh(x) = s * 2**n and cosh(x) = c * 2**n, for x >= 0.

    With sinh(r) = S and cosh(r) = C they are C * (1 - 4**-n) / 2 + S * (1 + 4**-n) / 2 and the same with C and S
    exchanged.
    """
    reduced = _reduced(x)
    r = reduced.r
    square = r.high * r.high
    s = (r.high * square).fma(square.polynomial(SINH), r.low)  # S = r + s
    c = square.fma(square.polynomial(COSH), r.high * r.low)  # C = 1 + c
    half = 0.5 * reduced.inverse_power(2)
    minus, plus = ordered_sum(x.constant(0.5), -half), ordered_sum(x.constant(0.5), half)

    def combined(even: Pair, odd: Pair) -> Pair:
        """The sum even * C + odd * S."""
        product = exact_product(r.high, odd.high)
        high, low = ordered_sum(even.high, product.high)
        return ordered_sum(high, c.fma(even.high, s.fma(odd.high, low + (product.low + even.low))))

    return combined(minus, plus), combined(plus, minus), reduced.exponent


def sinh(x: Real) -> Real:
    """The hyperbolic sine, within 1 ulp."""
    s, _, exponent = _hyperbolic(abs(x).clipped(0.0, (x.format.bias + 2) * _UP))
    return s.total().scaled(exponent).with_sign(x)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine, within 1 ulp."""
    _, c, exponent = _hyperbolic(abs(x).clipped(0.0, (x.format.bias + 2) * _UP))
    return c.total().scaled(exponent)


def tanh(x: Real) -> Real:
    """The hyperbolic tangent, within 1.5 ulp: a polynomial up to 5/8, and 1 - 2 / (e**(2 x) + 1) above."""
    size = abs(x)
    square = size * size
    below = (size * square).fma(square.polynomial(TANH), size)
    r, _, exponent = _reduced((size + size).clipped(0.0, (x.format.digits + 3) * _UP))
    above = 1.0 - 2.0 / _power(r).fma(x.power_of_two(exponent), 1.0)
    return below.where(size < 0.625, above).with_sign(x)


def erf(x: Real) -> Real:
    """The error function, within 1.5 ulp: a polynomial up to 1, and 1 - e**(-x**2) times another above.

    The other is one of (x - 2) / (x + 2), in which the factor is smooth. The division at 1 is after Cody, "Rational
    Chebyshev approximations for the error function", 1969.
    """
    size = abs(x).clipped(0.0, 6.0)
    square = size * size
    rest = exp(-square) * ((size - 2.0) / (size + 2.0)).polynomial(ERFC)
    return size.fma(square.polynomial(ERF), size).where(size < 1.0, 1.0 - rest).with_sign(x)
