"""The Mandelbrot set: after how many turns each point of the plane has left the circle of radius 2.

Method: the escape time algorithm; the set is in B. Mandelbrot, Annals N. Y. Acad. Sci. 357 (1980).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(centre: complex, width: float, size: int, max_turns: int) -> np.ndarray:
    """The number of turns of each point, `max_turns` for those that stay."""
    offsets = np.linspace(-width / 2, width / 2, size)
    c = centre + offsets + 1j * offsets[:, np.newaxis]
    z = np.zeros_like(c)
    turns = np.full(c.shape, max_turns)
    inside = np.ones(c.shape, dtype=bool)
    for turn in range(max_turns):
        z = np.where(inside, z**2 + c, z)
        left = inside & (np.abs(z) > 2)
        turns[left] = turn
        inside &= ~left
    return turns


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """The whole set, a little beside its middle."""
    return -0.6 + 0.01j * rng.standard_normal(), 2.6, size, 50
