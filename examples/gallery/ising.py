"""The Ising model of a magnet: spins on a checkerboard that turn with the probability that their neighbours allow.

Method: N. Metropolis and others, J. Chem. Phys. 21 (1953), all white squares at once, then all black ones.
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(spins: np.ndarray, chance: np.ndarray, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """The magnetisation and the energy for each sweep; the spins, +1 and -1, are turned in place."""
    rows, columns = np.indices(spins.shape)
    white = (rows + columns) % 2 == 0
    magnetisation, energy = [], []
    for draw in chance:
        for squares in (white, ~white):
            around = np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1) + np.roll(spins, -1, 1)
            cost = 2 * spins * around
            turns = squares & (draw < np.exp(-cost / temperature))
            spins[turns] *= -1
        magnetisation.append(spins.mean())
        energy.append(-(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum())
    return np.array(magnetisation), np.array(energy)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Random spins, and a random number for each and each of twenty sweeps."""
    return rng.choice([-1, 1], (size, size)), rng.random((20, size, size)), 2.0
