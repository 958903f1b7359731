"""The heat equation on a plate whose rim keeps its temperature: explicit Euler steps, written into the plate.

Method: forward in time, centred in space, of second order in space; stable while the rate is at most 1/4. J. Crank and
P. Nicolson compare it with their own in Proc. Cambridge Phil. Soc. 43 (1947).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(plate: np.ndarray, rate: float, steps: int) -> np.ndarray:
    """The hottest point of each column after so many steps; the plate is updated in place."""
    for _ in range(steps):
        plate[1:-1, 1:-1] += rate * (
            plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2] - 4 * plate[1:-1, 1:-1]
        )
    return plate.max(axis=0)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A plate of random temperatures with one hot side."""
    plate = rng.random((size, size))
    plate[0] = 10.0
    return plate, 0.2, 2 * size
