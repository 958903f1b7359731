"""A Kalman filter that follows a body through noisy positions, and the smoother that looks back over its path.

Method: R. Kalman, J. Basic Eng. 82 (1960); the smoother is that of H. Rauch, F. Tung and C. Striebel, AIAA J. 3 (1965).
"""

from typing import Any, NamedTuple

import numpy as np

import lamina


class Model(NamedTuple):
    """How the state moves, what is seen of it, and the covariances of the two noises."""

    move: np.ndarray
    see: np.ndarray
    process: np.ndarray
    measurement: np.ndarray


@lamina.defn(strict=True)
def program(seen: np.ndarray, model: Model, state: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The filtered and the smoothed states; NaN stands for a position that was not seen."""
    steps, n = len(seen), len(state)
    filtered = np.empty((steps, n))
    spreads = np.empty((steps, n, n))
    for t in range(steps):
        state = model.move @ state
        spread = model.move @ spread @ model.move.T + model.process
        if not np.isnan(seen[t]).any():
            innovation = model.see @ spread @ model.see.T + model.measurement
            gain = spread @ model.see.T @ np.linalg.inv(innovation)
            state = state + gain @ (seen[t] - model.see @ state)
            spread = (np.eye(n) - gain @ model.see) @ spread
        filtered[t] = state
        spreads[t] = spread

    smoothed = filtered.copy()
    for t in range(steps - 2, -1, -1):
        predicted = model.move @ spreads[t] @ model.move.T + model.process
        gain = np.linalg.solve(predicted, model.move @ spreads[t]).T
        smoothed[t] += gain @ (smoothed[t + 1] - model.move @ filtered[t])
    return filtered, smoothed


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A body in the plane at nearly constant velocity; one in ten of its positions is missing."""
    dt = 0.1
    move = np.eye(4)
    move[0, 2] = move[1, 3] = dt
    model = Model(move, np.eye(2, 4), 1e-3 * np.eye(4), 0.05 * np.eye(2))
    track = np.cumsum(dt * (1.0 + 0.1 * rng.standard_normal((size, 2))), axis=0)
    seen = track + 0.2 * rng.standard_normal((size, 2))
    seen[rng.random(size) < 0.1] = np.nan
    return seen, model, np.zeros(4), np.eye(4)
