"""The inverse trigonometric functions.

The inverse tangent of b / a is taken for 0 <= b <= a, where it is at most pi/4; above pi/8 it is pi/4 plus that of
(b - a) / (b + a), so that one polynomial serves (Muller, "Elementary Functions", 2016). The inverse sine is a
polynomial up to 1/2, and above pi/2 - 2 asin(sqrt((1 - x) / 2)) (Cody and Waite, "Software Manual for the Elementary
Functions", 1980). Quotients, roots and the angles that are added are pairs.
"""

import math

from lamina.compilers.native.maths.lanes import Mask, Pair, Real, ordered_sum
from lamina.compilers.native.maths.polynomials import ASIN, ATAN, PI
from lamina.compilers.native.maths.powers import size_factor


def _octant(b: Real, a: Real) -> Pair:
    """atan(b / a) for 0 <= b <= a and 0 < a, neither near the ends of the range of exponents."""
    zero = a.constant(0.0)
    steep = b > a * math.tan(math.pi / 8)
    t = ordered_sum(-a, b).where(steep, Pair(b, zero)).over(ordered_sum(a, b).where(steep, Pair(a, zero)))
    square = t.high * t.high
    rest = (t.high * square).fma(square.polynomial(ATAN), t.low)
    return _added(steep, a.pair(PI / 4), t.high, rest)


def _added(mask: Mask, constant: Pair, high: Real, low: Real) -> Pair:
    """The sum constant + high + low where the mask holds, high + low elsewhere; |constant| > |high|."""
    zero = high.constant(0.0)
    high, rest = ordered_sum(constant.high.where(mask, zero), high)
    return Pair(high, rest + (low + constant.low.where(mask, zero)))


def _angle(b: Real, a: Real, steep: Mask, left: Mask) -> Real:
    """The angle of a point at b / a in its octant: from pi/2 down where steep, and from there or pi where left."""
    r = _octant(b, a)
    r = r.where(~(steep ^ left), -r)
    constant = a.pair(PI / 2).where(steep, a.pair(PI))
    return _added(steep | left, constant, r.high, r.low).total()


def atan(x: Real) -> Real:
    """The inverse tangent, within 1 ulp."""
    size = abs(x).clipped(0.0, 2.0**70)
    one = x.constant(1.0)
    steep = size > 1.0
    return _angle(one.where(steep, size), size.where(steep, one), steep, size < 0.0).with_sign(x)


def atan2(y: Real, x: Real) -> Real:
    """The angle of the point (x, y), within 1 ulp."""
    height, width = abs(y), abs(x)
    steep = height > width
    a, b = height.where(steep, width), width.where(steep, height)
    infinite = a.equals(math.inf)
    b = b.but(infinite, 0.0).but(b.equals(math.inf), 1.0)
    a = a.but(infinite | a.equals(0.0), 1.0)
    factor = size_factor(a)
    angle = _angle(b * factor, a * factor, steep, x.has_sign())
    angle = (b / a).where((b < a * 2.0**-60) & ~(steep | x.has_sign()), angle)  # b * factor may have vanished
    return angle.with_sign(y).but(x.is_nan() | y.is_nan(), math.nan)


def _of_sine(size: Real) -> tuple[Mask, Pair]:
    """(great, r): asin(size) is pi/2 - 2 r where great, and r elsewhere."""
    great = size > 0.5
    square = (0.5 - 0.5 * size).where(great, size * size)
    root = square.sqrt()
    rest = ((-root).fma(root, square) / (root + root)).where(great & (root > 0.0), 0.0)
    root = root.where(great, size)
    return great, Pair(root, (root * square).fma(square.polynomial(ASIN), rest))


def asin(x: Real) -> Real:
    """The inverse sine, within 1 ulp."""
    great, r = _of_sine(abs(x))
    factor = x.constant(-2.0).where(great, 1.0)
    return _added(great, x.pair(PI / 2), r.high * factor, r.low * factor).total().with_sign(x)


def acos(x: Real) -> Real:
    """The inverse cosine, within 1 ulp."""
    great, r = _of_sine(abs(x))
    negative = x < 0.0
    factor = x.constant(2.0).where(great, -1.0)
    factor = (-factor).where(negative, factor)
    constant = x.pair(PI).where(great, x.pair(PI / 2))
    return _added(negative | ~great, constant, r.high * factor, r.low * factor).total()
