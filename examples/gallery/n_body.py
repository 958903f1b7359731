"""Bodies that attract each other: positions and velocities updated in place, and the energy, which should stay.

Method: the velocity form of the leapfrog integrator, after L. Verlet, Phys. Rev. 159 (1967); the softening keeps close
encounters finite (S. Aarseth, Mon. Not. R. Astron. Soc. 126, 1963).
"""

from typing import Any

import numpy as np

import lamina

SOFTENING = 0.05


def acceleration(positions: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """The pull of all bodies on each."""
    separation = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    inverse_cube = ((separation**2).sum(axis=-1) + SOFTENING**2) ** -1.5
    return (separation * (masses[:, np.newaxis] * inverse_cube[..., np.newaxis])).sum(axis=1)


def energy(positions: np.ndarray, velocities: np.ndarray, masses: np.ndarray) -> float:
    """Kinetic energy and the potential of each pair."""
    kinetic = 0.5 * (masses * (velocities**2).sum(axis=1)).sum()
    separation = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    distance = np.sqrt((separation**2).sum(axis=-1) + SOFTENING**2)
    pairs = np.triu(np.outer(masses, masses) / distance, k=1)
    return kinetic - pairs.sum()


@lamina.defn(strict=True)
def program(positions: np.ndarray, velocities: np.ndarray, masses: np.ndarray, dt: float, steps: int) -> np.ndarray:
    """The energy before each step and after the last; positions and velocities are moved in place."""
    energies = np.empty(steps + 1)
    pull = acceleration(positions, masses)
    for step in range(steps):
        energies[step] = energy(positions, velocities, masses)
        velocities += 0.5 * dt * pull
        positions += dt * velocities
        pull = acceleration(positions, masses)
        velocities += 0.5 * dt * pull
    energies[-1] = energy(positions, velocities, masses)
    return energies


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A slow cloud of bodies of unequal mass, without a drift."""
    masses = rng.uniform(0.5, 1.5, size) / size
    velocities = 0.3 * rng.standard_normal((size, 3))
    velocities -= np.average(velocities, axis=0, weights=masses)
    return rng.standard_normal((size, 3)), velocities, masses, 0.01, size
