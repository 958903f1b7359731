"""Where the coefficients of `lamina.compilers.native.maths.polynomials` come from: `python tests/native/minimax.py`.

Each polynomial has the least weighted square error over the nodes of a Chebyshev polynomial, which comes within a small
factor of the least largest error (Muller, "Elementary Functions", 2016). Its coefficients are rounded one by
one from the lowest, and the others fitted anew to what the rounded ones leave, so that they make up for the rounding
(after Brisebarre, Muller and Tisserand, "Computing machine-efficient polynomial approximations", 2006).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
COUNT = 100
Function = Callable[[mpf], mpf]


class Fit(NamedTuple):
    """What is approximated, where, how errors weigh, how many coefficients in each format, and those given."""

    function: Function
    low: mpf
    high: mpf
    weight: Function
    terms: dict[int, int]
    given: tuple[float, ...] = ()


def _fit(values: list[mpf], weights: list[mpf], nodes: list[mpf], start: int, terms: int) -> list[mpf]:
    """The coefficients of x**start … whose weighted error is least in squares over the nodes."""
    rows = mp.matrix([[w * x ** (start + p) for p in range(terms)] for x, w in zip(nodes, weights, strict=True)])
    goal = mp.matrix([w * v for v, w in zip(values, weights, strict=True)])
    return list(mp.cholesky_solve(rows.T * rows, rows.T * goal))


def coefficients(fit: Fit, digits: int) -> tuple[tuple[float, ...], float]:
    """The rounded coefficients for a format of so many digits, and log2 of the largest weighted error they leave."""
    kind = np.float32 if digits == 24 else np.float64
    middle, half = (fit.high + fit.low) / 2, (fit.high - fit.low) / 2
    nodes = [middle - half * mp.cos(mp.pi * (i + mpf("0.5")) / COUNT) for i in range(COUNT)]
    weights = [fit.weight(x) for x in nodes]
    values = [fit.function(x) for x in nodes]
    rounded = list(fit.given)
    rest = [v - sum(c * x**p for p, c in enumerate(rounded)) for v, x in zip(values, nodes, strict=True)]
    while len(rounded) < fit.terms[digits]:
        first = float(kind(float(_fit(rest, weights, nodes, len(rounded), fit.terms[digits] - len(rounded))[0])))
        rest = [r - first * x ** len(rounded) for r, x in zip(rest, nodes, strict=True)]
        rounded.append(first)
    error = max(abs(w * r) for w, r in zip(weights, rest, strict=True))
    return tuple(rounded), float(mp.log(error, 2))


def _sqrt_argument(function: Function) -> Function:
    """A function of x**2 from one of x."""
    return lambda z: function(mp.sqrt(z))


def _middle(v: mpf) -> mpf:
    """The x with v = (x - 2) / (x + 2)."""
    return 2 * (1 + v) / (1 - v)


HALF_LOG2 = mp.log(2) / 2 * mpf("1.0001")
QUARTER_PI = mp.pi / 4 * mpf("1.001")
LEAST = mpf("1e-6")  # a grid starts here where the function is a limit at 0
RATIO = mp.sqrt(2) - 1  # tan(pi/8)
ATANH = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) * mpf("1.0001")

FITS = {
    # e**x = 1 + x + x**2 * EXP(x)
    "EXP": Fit(lambda x: (mp.expm1(x) - x) / x**2, -HALF_LOG2, HALF_LOG2, lambda x: x**2, {24: 5, 53: 10}, (0.5,)),
    # sinh(x) = x + x**3 * SINH(x**2), cosh(x) = 1 + x**2 * COSH(x**2)
    "SINH": Fit(_sqrt_argument(lambda x: (mp.sinh(x) - x) / x**3), LEAST, HALF_LOG2**2, lambda z: z, {24: 3, 53: 6}),
    "COSH": Fit(
        _sqrt_argument(lambda x: (mp.cosh(x) - 1) / x**2), LEAST, HALF_LOG2**2, lambda z: z, {24: 3, 53: 5}, (0.5,)
    ),
    # tanh(x) = x + x**3 * TANH(x**2) for |x| <= 5/8
    "TANH": Fit(_sqrt_argument(lambda x: (mp.tanh(x) - x) / x**3), LEAST, mpf("0.391"), lambda z: z, {24: 5, 53: 11}),
    # log((1 + s) / (1 - s)) = 2 * s + s * z * LOG(z), z = s**2
    "LOG": Fit(
        _sqrt_argument(lambda s: (2 * mp.atanh(s) / s - 2) / s**2), LEAST, ATANH**2, lambda z: mpf(1), {24: 4, 53: 7}
    ),
    # the same = 2 * s * (1 + z * (1/3 + z * LOG_TAIL(z)))
    "LOG_TAIL": Fit(
        _sqrt_argument(lambda s: ((mp.atanh(s) / s - 1) / s**2 - mpf(1) / 3) / s**2),
        LEAST,
        ATANH**2,
        lambda z: z**2,
        {24: 3, 53: 8},
    ),
    # sin(x) = x + x**3 * SIN(x**2), cos(x) = 1 - x**2/2 + x**4 * COS(x**2)
    "SIN": Fit(_sqrt_argument(lambda x: (mp.sin(x) - x) / x**3), LEAST, QUARTER_PI**2, lambda z: z, {24: 4, 53: 7}),
    "COS": Fit(
        _sqrt_argument(lambda x: (mp.cos(x) - 1 + x**2 / 2) / x**4),
        LEAST,
        QUARTER_PI**2,
        lambda z: z**2,
        {24: 3, 53: 6},
    ),
    # atan(x) = x + x**3 * ATAN(x**2), asin(x) = x + x**3 * ASIN(x**2)
    "ATAN": Fit(
        _sqrt_argument(lambda x: (mp.atan(x) - x) / x**3),
        LEAST,
        (RATIO * mpf("1.001")) ** 2,
        lambda z: z,
        {24: 5, 53: 12},
    ),
    "ASIN": Fit(_sqrt_argument(lambda x: (mp.asin(x) - x) / x**3), LEAST, mpf("0.25"), lambda z: z, {24: 5, 53: 13}),
    # erf(x) = x + x * ERF(x**2) for |x| <= 1
    "ERF": Fit(_sqrt_argument(lambda x: mp.erf(x) / x - 1), LEAST, mpf(1), lambda z: mpf(1), {24: 7, 53: 13}),
    # 1 - erf(x) = e**(-x**2) * ERFC((x - 2) / (x + 2)) for 1 <= x <= 6
    "ERFC": Fit(
        lambda v: mp.erfc(_middle(v)) * mp.exp(_middle(v) ** 2),
        mpf(-1) / 3,
        mpf(1) / 2,
        lambda v: mp.exp(-(_middle(v) ** 2)),
        {24: 5, 53: 12},
    ),
    # a first approximation of x**(-1/3)
    "CBRT": Fit(lambda x: mp.cbrt(1 / x), mpf("0.5"), mpf(4), mp.cbrt, {24: 5, 53: 6}),
}


if __name__ == "__main__":
    import sys

    for name, fit in FITS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        for digits in fit.terms:
            rounded, error = coefficients(fit, digits)
            print(f"# {name} {digits} error 2**{error:.1f}")
            print(f"{name}[{digits}] = {rounded}", flush=True)
