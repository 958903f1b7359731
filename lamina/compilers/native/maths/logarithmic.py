"""The logarithms and the inverse hyperbolic functions.

The argument is split as x = 2**k * m with sqrt(1/2) <= m < sqrt(2), exactly. With f = m - 1, also exact, and
s = f / (2 + f), log(m) = log((1 + s) / (1 - s)) is an odd function of s, whose first term 2 s is
f - f**2 / 2 + s * f**2 / 2 (Muller, "Elementary Functions", 2016; Tang, "Table-driven implementation of the logarithm
function", 1990, without the tables). So f, which is exact, is the leading term, and only small ones are rounded.
"""

import math
from fractions import Fraction

from lamina.compilers.native.maths.exponential import exp, exp2
from lamina.compilers.native.maths.lanes import Mask, Pair, Real, Whole, exact_sum, ordered_sum
from lamina.compilers.native.maths.polynomials import LOG, LOG2_E, LOG10_2, LOG10_E, LOG_2

SPARE = 11  # the digits of the largest exponent: its product with the first word of a logarithm is exact


def parts(x: Real) -> tuple[Real, Real, Whole]:
    """(k, f) with x = 2**k * (1 + f), k whole and sqrt(1/2) <= 1 + f < sqrt(2), for finite x > 0; and -k as an integer.

    The integer is meant for normal x only.
    """
    form = x.format
    tiny = x < 2.0**form.least
    scaled = (x * 2.0**form.digits).where(tiny, x)
    # the sum moves the border between two exponents from 1 to sqrt(1/2)
    biased = (scaled.whole() + (form.bits_of(1.0) - form.bits_of(math.sqrt(0.5)))) >> form.fraction
    exponent = biased - form.bias
    m = (scaled.whole() - (exponent << form.fraction)).real(scaled)
    number = 2.0**form.fraction
    k = (biased | form.bits_of(number)).real(scaled) - (number + form.bias)
    return (k - float(form.digits)).where(tiny, k), m - 1.0, -exponent


def _of_fraction(f: Real) -> tuple[Real, Real]:
    """(t, s): log(1 + f) = f + t, and s = f / (2 + f)."""
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    return s.fma(z.fma(z.polynomial(LOG), half), -half), s


def _natural(k: Real, f: Real, low: Real) -> Real:
    """The sum k log(2) + f + low."""
    first, second = k.format.words(LOG_2, spare=SPARE)
    high, rest = ordered_sum(k * first, f)
    return high + (rest + k.fma(second, low))


def _of_pair(x: Pair, more: Real | float = 0.0) -> Real:
    """log(x) + more * log(2) for x that is not tiny; `more` is whole."""
    k, f, inverse = parts(x.high)
    # the low part of a great number adds nothing
    f, rest = ordered_sum(f, (x.low * f.power_of_two(inverse)).but(k > 100.0, 0.0))
    low, s = _of_fraction(f)
    return _natural(k + more, f, rest.fma(1.0 - 2.0 * s * (1.0 - s), low))  # the factor is about 1 / (1 + f)


def _to_base(x: Real, inverse: Fraction, base: Fraction) -> Real:
    """log(x) * inverse, where base = log(2) * inverse."""
    k, f, _ = parts(x)
    logarithm = ordered_sum(f, _of_fraction(f)[0]).times(x.pair(inverse))
    first, second = x.format.words(base, spare=SPARE)
    high, low = ordered_sum(k * first, logarithm.high)
    return _special(x, high + (low + k.fma(second, logarithm.low)))


def _special(x: Real, result: Real, border: float = 0.0) -> Real:
    """The result of a logarithm: -inf at the border, NaN below it and for NaN, inf for inf."""
    return result.where(x < math.inf, x).but(x.equals(border), -math.inf).but(x < border, math.nan)


def log(x: Real) -> Real:
    """The natural logarithm, within 1 ulp."""
    k, f, _ = parts(x)
    return _special(x, _natural(k, f, _of_fraction(f)[0]))


def log2(x: Real) -> Real:
    """The logarithm to base 2, within 1 ulp; exact for powers of 2."""
    return _to_base(x, LOG2_E, Fraction(1))


def log10(x: Real) -> Real:
    """The logarithm to base 10, within 1 ulp; exact for powers of 10."""
    return _to_base(x, LOG10_E, LOG10_2)


def log1p(x: Real) -> Real:
    """log(1 + x), within 1 ulp: the sum is a pair, exact."""
    return _special(x, _of_pair(exact_sum(x.constant(1.0), x)), -1.0).but(x.equals(0.0), x)


def asinh(x: Real) -> Real:
    """The inverse hyperbolic sine, within 1.5 ulp: log(1 + u) with u = |x| + x**2 / (1 + sqrt(1 + x**2))."""
    size = abs(x)
    great = size > 2.0 ** (x.format.digits // 2 + 3)  # log(2 |x|) then
    square = size * size
    u = ordered_sum(size, square / (1.0 + (1.0 + square).sqrt()))
    result = _of_great(size, great, u)
    return result.where(size < math.inf, size).with_sign(x)


def _of_great(x: Real, great: Mask, u: Pair) -> Real:
    """log(2 x) where x is great, log(1 + u) elsewhere."""
    argument = exact_sum(x.constant(1.0), u.high)
    argument = Pair(x, x.constant(0.0)).where(great, Pair(argument.high, argument.low + u.low))
    return _of_pair(argument, x.constant(1.0).where(great, 0.0))


def acosh(x: Real) -> Real:
    """The inverse hyperbolic cosine, within 1 ulp: log(1 + u) with u = (x - 1) + sqrt(x**2 - 1)."""
    great = x > 2.0 ** (x.format.digits // 2 + 3)
    above = x - 1.0
    square = Pair(above, x.constant(0.0)).times(exact_sum(x, x.constant(1.0)))
    root = square.high.sqrt()
    rest = ((-root).fma(root, square.high) + square.low) / (root + root)
    u = ordered_sum(root, above)
    u = Pair(u.high, u.low + rest.but(root.equals(0.0), 0.0))
    result = _of_great(x, great, u)
    return result.where(x < math.inf, x).but(x < 1.0, math.nan)


def atanh(x: Real) -> Real:
    """The inverse hyperbolic tangent, within 1 ulp: log(1 + u) / 2 with u = 2 |x| / (1 - |x|)."""
    size = abs(x)
    u = Pair(2.0 * size, x.constant(0.0)).over(exact_sum(x.constant(1.0), -size))
    argument = exact_sum(x.constant(1.0), u.high)
    result = 0.5 * _of_pair(Pair(argument.high, argument.low + u.low))
    return result.but(size.equals(1.0), math.inf).but(size > 1.0, math.nan).but(x.is_nan(), x).with_sign(x)


def _ordered(x: Real, y: Real) -> tuple[Real, Real]:
    """(greater, lesser - greater); the difference is 0 for equal infinities."""
    above = x > y
    greater = x.where(above, y)
    return greater, (y.where(above, x) - greater).but(x.equals(y), 0.0)


def logaddexp(x: Real, y: Real) -> Real:
    """log(e**x + e**y), within 2 ulp of the greatest of |x|, |y| and 1."""
    greater, difference = _ordered(x, y)
    return greater + log1p(exp(difference))


def logaddexp2(x: Real, y: Real) -> Real:
    """log2(2**x + 2**y), within 2 ulp of the greatest of |x|, |y| and 1."""
    greater, difference = _ordered(x, y)
    return greater + log1p(exp2(difference)) * float(LOG2_E)
