"""All shortest paths of a graph: their lengths, and on each path the node before its last.

Method: R. Floyd, Comm. ACM 5 (1962), and S. Warshall, J. ACM 9 (1962).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(distance: np.ndarray) -> np.ndarray:
    """The node before the last on each shortest path, -1 where there is none; the lengths replace `distance`."""
    n = distance.shape[0]
    before = np.where(np.isfinite(distance), np.arange(n)[:, np.newaxis], -1)
    for k in range(n):
        through = distance[:, k, np.newaxis] + distance[k]
        before = np.where(through < distance, before[k], before)
        np.minimum(distance, through, out=distance)
    return before


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A directed graph with about four edges from each node."""
    distance = rng.uniform(1.0, 10.0, (size, size))
    distance[rng.random((size, size)) > 4 / size] = np.inf
    np.fill_diagonal(distance, 0.0)
    return (distance,)
