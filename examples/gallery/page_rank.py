"""PageRank by power iteration: how often somebody who follows links at random is on each page.

Method: S. Brin and L. Page, Computer Networks 30 (1998). From a page without links one goes anywhere.
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(links: np.ndarray, damping: float, tolerance: float) -> tuple[np.ndarray, int]:
    """The rank of each page, and the number of iterations; ``links[i, j]`` says that page i links to page j."""
    n = links.shape[0]
    out_degree = links.sum(axis=1)
    dangling = out_degree == 0
    transition = links / np.where(dangling, 1, out_degree)[:, np.newaxis]
    rank = np.full(n, 1 / n)
    change = 1.0
    iterations = 0
    while change > tolerance:
        updated = (1 - damping) / n + damping * (rank @ transition + rank @ dangling / n)
        change = np.abs(updated - rank).sum()
        rank = updated
        iterations += 1
    return rank, iterations


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random web, in which some pages have no links."""
    links = rng.random((size, size)) < 5 / size
    links[rng.random(size) < 0.1] = False
    return links, 0.85, 1e-10
