"""The wave equation on a membrane with a fixed rim: three fields that exchange their names at every step.

Method: the leapfrog scheme of R. Courant, K. Friedrichs and H. Lewy, Math. Annalen 100 (1928), whose condition
``courant <= 1/sqrt(2)`` keeps it stable.
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(previous: np.ndarray, current: np.ndarray, courant: float, steps: int) -> tuple[np.ndarray, float]:
    """The membrane after so many steps, and its greatest deflection; the two given fields are used as memory."""
    following = np.zeros_like(current)
    for _ in range(steps):
        laplacian = (
            current[2:, 1:-1] + current[:-2, 1:-1] + current[1:-1, 2:] + current[1:-1, :-2] - 4 * current[1:-1, 1:-1]
        )
        following[1:-1, 1:-1] = 2 * current[1:-1, 1:-1] - previous[1:-1, 1:-1] + courant**2 * laplacian
        previous, current, following = current, following, previous
    return current, np.abs(current).max()


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A drop somewhere on a membrane at rest."""
    y, x = np.mgrid[:size, :size]
    row, column = rng.uniform(0.3, 0.7, 2) * size
    drop = np.exp(-((y - row) ** 2 + (x - column) ** 2) / size)
    drop[[0, -1]] = 0
    drop[:, [0, -1]] = 0
    return drop.copy(), drop, 0.5, 2 * size + 1
