"""QR factorisation by Householder reflections, and a least squares fit with it.

Method: A. Householder, J. ACM 5 (1958), as algorithm 5.2.1 of G. Golub and C. Van Loan, Matrix Computations (2013).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Any]:
    """The x that makes ``a @ x - b`` shortest, and how short; `a` becomes triangular, and `b` is turned with it."""
    n = a.shape[1]
    for k in range(n):
        v = a[k:, k].copy()
        v[0] += np.copysign(np.linalg.norm(v), v[0])
        v /= np.linalg.norm(v)
        a[k:, k:] -= 2 * np.outer(v, v @ a[k:, k:])
        b[k:] -= 2 * v * (v @ b[k:])

    x = np.zeros(n)
    for k in reversed(range(n)):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x, np.linalg.norm(b[n:])


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Points on a noisy polynomial of degree seven."""
    t = np.linspace(-1, 1, size)
    a = np.vander(t, 8, increasing=True)
    return a, a @ rng.standard_normal(8) + 0.01 * rng.standard_normal(size)
