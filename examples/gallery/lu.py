"""LU factorisation with partial pivoting, by slices, in the matrix's own memory; and the solution of a system with it.

Method: outer-product Gaussian elimination, algorithm 3.4.1 of G. Golub and C. Van Loan, Matrix Computations (2013).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The solution of ``a @ x = b``, and the order of the rows; `a` becomes its factors, L below the diagonal."""
    n = a.shape[0]
    order = np.arange(n)
    for k in range(n - 1):
        pivot = k + np.abs(a[k:, k]).argmax()
        if pivot != k:
            a[[k, pivot]] = a[[pivot, k]]
            order[[k, pivot]] = order[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])

    x = b[order]
    for i in range(1, n):
        x[i] -= a[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, order


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random system."""
    return rng.standard_normal((size, size)), rng.standard_normal(size)
