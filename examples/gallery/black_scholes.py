"""European options by the Black–Scholes formula: many calls and puts at once, and their deltas.

Method: F. Black and M. Scholes, J. Polit. Econ. 81 (1973); the normal distribution by formula 26.2.17 of M. Abramowitz
and I. Stegun, Handbook of Mathematical Functions (1964), good to 7.5e-8.
"""

from typing import Any

import numpy as np

import lamina


def normal_cdf(x: np.ndarray) -> np.ndarray:
    """The share of a normal distribution below x."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = series * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    return np.where(x > 0, 1 - tail, tail)


@lamina.defn(strict=True)
def program(
    spot: np.ndarray, strike: np.ndarray, years: np.ndarray, rate: float, volatility: float
) -> dict[str, np.ndarray]:
    """The prices of calls and puts, and the calls' deltas."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    delta = normal_cdf(d1)
    call = spot * delta - discounted * normal_cdf(d2)
    return {"call": call, "put": call - spot + discounted, "delta": delta}


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Options around the money, of a month to two years."""
    return rng.uniform(80, 120, size), rng.uniform(80, 120, size), rng.uniform(1 / 12, 2, size), 0.03, 0.25
