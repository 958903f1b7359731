"""The Cholesky factor of a positive definite matrix, column by column.

Method: the Cholesky–Banachiewicz algorithm in its column (gaxpy) form, algorithm 4.2.1 of G. Golub and C. Van Loan,
Matrix Computations (2013).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(a: np.ndarray) -> np.ndarray:
    """The lower triangle L with ``L @ L.T`` equal to `a`."""
    n = a.shape[0]
    lower = np.zeros_like(a)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - lower[j, :j] @ lower[j, :j])
        lower[j + 1 :, j] = (a[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random positive definite matrix."""
    factor = rng.standard_normal((size, size))
    return (factor @ factor.T + size * np.eye(size),)
