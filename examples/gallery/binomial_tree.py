"""An American put by a binomial tree: its value, and the price below which one exercises it at each step.

Method: J. Cox, S. Ross and M. Rubinstein, J. Financial Econ. 7 (1979).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(
    spot: float, strike: float, years: float, rate: float, volatility: float, steps: int
) -> tuple[float, np.ndarray]:
    """The put's value today, and the highest price at each step at which it is exercised (0 where there is none)."""
    dt = years / steps
    up = np.exp(volatility * np.sqrt(dt))
    probability = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = np.exp(-rate * dt)

    prices = spot * up ** np.arange(-steps, steps + 1, 2.0)
    values = np.maximum(strike - prices, 0.0)
    boundary = np.zeros(steps)
    for step in range(steps - 1, -1, -1):
        prices = prices[:-1] * up
        held = discount * (probability * values[1:] + (1 - probability) * values[:-1])
        exercised = strike - prices
        boundary[step] = np.max(prices, where=exercised > held, initial=0.0)
        values = np.maximum(held, exercised)
    return values[0], boundary


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A put near the money."""
    return rng.uniform(90, 110), 100.0, 1.0, 0.05, 0.2, size
