"""k-means: points in clusters, each point with the centre nearest to it, each centre the mean of its points.

Method: S. Lloyd, IEEE Trans. Inf. Theory 28 (1982). A centre without points stays where it was.
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(points: np.ndarray, centres: np.ndarray, max_steps: int) -> tuple[np.ndarray, int]:
    """The cluster of each point and the number of steps; the centres are moved in place."""
    labels = np.full(len(points), -1)
    for step in range(max_steps):
        distance = ((points[:, np.newaxis, :] - centres[np.newaxis, :, :]) ** 2).sum(axis=-1)
        nearest = distance.argmin(axis=1)
        if (nearest == labels).all():
            return labels, step
        labels = nearest
        members = labels[:, np.newaxis] == np.arange(len(centres))
        counts = members.sum(axis=0)
        sums = members.T.astype(points.dtype) @ points
        kept = counts > 0
        centres[...] = np.where(kept[:, np.newaxis], sums / np.maximum(counts, 1)[:, np.newaxis], centres)
    return labels, max_steps


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Points around four places in the plane."""
    places = rng.uniform(-10, 10, (4, 2))
    points = places[rng.integers(0, 4, size)] + rng.standard_normal((size, 2))
    return points, points[:4].copy(), 100
