"""The shallow water equations on a square with periodic sides: a wave that runs over a calm surface.

Method: the scheme of P. D. Lax, Comm. Pure Appl. Math. 7 (1954), known as Lax–Friedrichs: each cell becomes the mean of
its neighbours less the difference of the fluxes through its sides. It conserves the volume of the water.
"""

from typing import Any

import numpy as np

import lamina

GRAVITY = 9.81


def fluxes(height: np.ndarray, along: np.ndarray, across: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What flows in the direction of `along`: water, and its momentum along and across."""
    speed = along / height
    return along, along * speed + 0.5 * GRAVITY * height**2, across * speed


def stepped(field: np.ndarray, flux_x: np.ndarray, flux_y: np.ndarray, ratio: float) -> np.ndarray:
    """One step of a field, with its fluxes to the east and to the north."""
    mean = 0.25 * (np.roll(field, 1, 0) + np.roll(field, -1, 0) + np.roll(field, 1, 1) + np.roll(field, -1, 1))
    outflow_x = np.roll(flux_x, -1, axis=1) - np.roll(flux_x, 1, axis=1)
    outflow_y = np.roll(flux_y, -1, axis=0) - np.roll(flux_y, 1, axis=0)
    return mean - 0.5 * ratio * (outflow_x + outflow_y)


@lamina.defn(strict=True)
def program(height: np.ndarray, spacing: float, steps: int) -> dict[str, Any]:
    """The water's height and speed after so many steps from rest, and the time that has passed."""
    east = np.zeros_like(height)
    north = np.zeros_like(height)
    time = 0.0
    for _ in range(steps):
        fastest = np.sqrt(GRAVITY * height) + np.maximum(np.abs(east), np.abs(north)) / height
        dt = 0.4 * spacing / fastest.max()
        flux_x = fluxes(height, east, north)
        flux_y = fluxes(height, north, east)
        height, east, north = (
            stepped(height, flux_x[0], flux_y[0], dt / spacing),
            stepped(east, flux_x[1], flux_y[2], dt / spacing),
            stepped(north, flux_x[2], flux_y[1], dt / spacing),
        )
        time += dt
    return {"height": height, "speed": np.hypot(east, north) / height, "time": time}


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A hump of water on a calm sea."""
    y, x = np.mgrid[:size, :size] / size
    row, column = rng.uniform(0.3, 0.7, 2)
    return 1.0 + 0.5 * np.exp(-60 * ((y - row) ** 2 + (x - column) ** 2)), 1.0 / size, size
