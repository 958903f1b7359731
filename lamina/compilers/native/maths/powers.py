"""Powers and roots."""

import math

from lamina.compilers.native.maths.exponential import power_of_two
from lamina.compilers.native.maths.lanes import Pair, Real, exact_product, exact_sum, ordered_sum
from lamina.compilers.native.maths.logarithmic import parts
from lamina.compilers.native.maths.polynomials import CBRT, LOG2_E, LOG_TAIL, THIRD


def _log2(x: Real) -> Pair:
    """log2(x) for finite x > 0 as a pair, to about 12 digits more than the format has.

    The series 2 s (1 + z (1/3 + z (1/5 + …))) with s = f / (2 + f) and z = s**2 is summed in pairs but for the last
    bracket (Muller, "Elementary Functions", 2016, on the power function).
    """
    k, f, _ = parts(x)
    s = Pair(f, f.constant(0.0)).over(ordered_sum(f.constant(2.0), f))
    z = s.times(s)
    third = f.pair(THIRD)
    high, low = ordered_sum(third.high, z.high * z.high.polynomial(LOG_TAIL))
    series = s.times(z.times(Pair(high, low + third.low)))
    high, low = ordered_sum(s.high, series.high)
    logarithm = Pair(high, low + (series.low + s.low)).times(f.pair(2 * LOG2_E))
    high, low = ordered_sum(k, logarithm.high)
    return Pair(high, low + logarithm.low)


def float_power(x: Real, y: Real) -> Real:
    """x**y, within 1 ulp: 2**(y * log2(x)), the logarithm and the product as pairs; special cases as C has them."""
    size, form = abs(x), x.format
    logarithm = _log2(size)
    factor = y.clipped(-(2.0**80), 2.0**80)  # at the ends the power is 0 or infinite, but 1 for |x| = 1
    high, low = exact_product(factor, logarithm.high)
    least, greatest = -(form.bias + form.digits + 2.0), form.bias + 2.0
    exponent = high.clipped(least, greatest)
    n, whole = exponent.nearest()
    low = factor.fma(logarithm.low, low).where(exponent.equals(high), 0.0)
    result = power_of_two(exact_sum(exponent - n, low)).scaled(whole)

    rising = y > 0.0
    result = result.but(size.equals(0.0), y.constant(0.0).where(rising, math.inf))
    result = result.but(size.equals(math.inf), y.constant(math.inf).where(rising, 0.0))
    half = 0.5 * y
    is_whole = y.equals(y.rounded())
    odd = is_whole & ~half.equals(half.rounded())
    result = result.with_sign(x).where(odd, result)
    result = result.but((x < 0.0) & (size < math.inf) & ~is_whole, math.nan)
    return result.but(x.is_nan() | y.is_nan(), math.nan).but(y.equals(0.0) | x.equals(1.0), 1.0)


def pow(x: Real, y: Real) -> Real:  # the name of the op
    """x**y as `float_power` has it, but by NumPy's short cuts where y is one of five constants."""
    match y.number():
        case 0.0:
            return x.constant(1.0)
        case 0.5:
            return x.sqrt()
        case 1.0:
            return x
        case 2.0:
            return x * x
        case -1.0:
            return 1.0 / x
        case _:
            return float_power(x, y)


def sqrt(x: Real) -> Real:
    """The square root, correctly rounded: one instruction."""
    return x.sqrt()


def cbrt(x: Real) -> Real:
    """The cube root, within 1 ulp.

    Of m in [1/2, 4), where x = m * 8**q, a polynomial gives m**(-1/3) to 6 bits or more. An iteration of third order,
    r (1 + e/3 + 2 e**2/9) with e = 1 - m r**3, triples their number. The root m r**2 gets a last step of Newton's with
    the exact cube.
    """
    form = x.format
    size = abs(x)
    tiny = size < 2.0**form.least
    up = form.digits + (-form.digits) % 3
    scaled = (size * 2.0**up).where(tiny, size)
    number = 2.0**form.fraction
    exponent = ((scaled.whole() >> form.fraction) | form.bits_of(number)).real(x) - (number + form.bias)
    _, third = exponent.nearest(1 / 3)
    m = (scaled.whole() - ((third + third + third) << form.fraction)).real(x)
    r = m.polynomial(CBRT)
    for _ in range(1 if form.digits == 24 else 2):
        e = (-m * r).fma(r * r, 1.0)
        r = (r * e).fma(e.fma(2 / 9, 1 / 3), r)
    root = m * r * r
    square = exact_product(root, root)
    cube = exact_product(square.high, root)
    rest = (m - cube.high) - square.low.fma(root, cube.low)
    root = (rest * r).fma(r * (1 / 3), root)
    result = root * x.power_of_two(third) * x.constant(2.0 ** (-up // 3)).where(tiny, 1.0)
    return result.where((x < 0.0) | (x > 0.0), x).where(size < math.inf, x).with_sign(x)


# Above the first number the factor is the second; below the third it is the last.
_FACTORS = {64: (2.0**500, 2.0**-600, 2.0**-450, 2.0**600), 32: (2.0**60, 2.0**-70, 2.0**-50, 2.0**90)}


def size_factor(x: Real) -> Real:
    """A power of 2 times which x > 0 has a square and an inverse in the range of normal numbers."""
    high, down, low, up = _FACTORS[x.format.bits]
    return x.constant(1.0).but(x > high, down).but(x < low, up)


def hypot(x: Real, y: Real) -> Real:
    """sqrt(x**2 + y**2), within 1.5 ulp, where the squares alone would overflow or vanish too."""
    x, y = abs(x), abs(y)
    factor = size_factor(x.where(x > y, y))
    a, b = x * factor, y * factor
    inverse = (-factor.whole() + 2 * (x.format.bias << x.format.fraction)).real(x)
    result = a.fma(a, b * b).sqrt() * inverse
    return result.but(x.equals(math.inf) | y.equals(math.inf), math.inf)


def nextafter(x: Real, y: Real) -> Real:
    """The next number after x towards y, from the integer that the bits are."""
    rises = (y > x) ^ x.has_sign()  # in magnitude
    bits = x.whole()
    result = (bits + 1).where(rises, bits - 1).real(x)
    least = x.constant(2.0 ** (x.format.least - x.format.fraction)).with_sign(y)
    result = least.where(x.equals(0.0), result)
    return y.where(x.equals(y), result).but(x.is_nan() | y.is_nan(), math.nan)
