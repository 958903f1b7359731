"""Flow around a cylinder by the lattice Boltzmann method: particles of nine velocities that stream and collide.

Method: Y. Qian, D. d'Humières and P. Lallemand, Europhys. Lett. 17 (1992), with the relaxation of P. Bhatnagar,
E. Gross and M. Krook (1954); obstacles throw the particles back.
"""

from typing import Any

import numpy as np

import lamina

VELOCITIES = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OPPOSITE = [0, 3, 4, 1, 2, 7, 8, 5, 6]


def equilibrium(density: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """The populations of particles that collide with one another for ever."""
    along = np.einsum("ia,axy->ixy", VELOCITIES, velocity)
    square = (velocity**2).sum(axis=0)
    return WEIGHTS[:, None, None] * density * (1 + 3 * along + 4.5 * along**2 - 1.5 * square)


@lamina.defn(strict=True)
def program(populations: np.ndarray, obstacle: np.ndarray, relaxation: float, steps: int) -> tuple[np.ndarray, float]:
    """The speed of the flow after so many steps and its mean density; `populations` are moved in place."""
    for _ in range(steps):
        density = populations.sum(axis=0)
        velocity = np.tensordot(VELOCITIES.T, populations, axes=1) / density
        collided = populations - relaxation * (populations - equilibrium(density, velocity))
        for i in range(9):
            collided[i] = np.where(obstacle, populations[OPPOSITE[i]], collided[i])
        for i, (right, up) in enumerate(VELOCITIES):
            populations[i] = np.roll(np.roll(collided[i], right, axis=0), up, axis=1)
    density = populations.sum(axis=0)
    velocity = np.tensordot(VELOCITIES.T, populations, axes=1) / density
    speed = np.sqrt((velocity**2).sum(axis=0))
    speed[obstacle] = 0.0
    return speed, density.mean()


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A slightly disturbed flow to the right, around a cylinder."""
    x, y = np.mgrid[: 2 * size, :size]
    obstacle = (x - size / 2) ** 2 + (y - size / 2) ** 2 < (size / 6) ** 2
    velocity = np.zeros((2, 2 * size, size))
    velocity[0] = 0.05 * (1 + 0.01 * rng.standard_normal((2 * size, size)))
    return equilibrium(np.ones((2 * size, size)), velocity), obstacle, 1.6, 2 * size
