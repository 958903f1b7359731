"""The heat equation on a rod by implicit steps, each the solution of a tridiagonal system.

Method: J. Crank and P. Nicolson, Proc. Cambridge Phil. Soc. 43 (1947), with the elimination of L. Thomas (1949).
"""

from typing import Any

import numpy as np

import lamina


def solve_tridiagonal(lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of a tridiagonal system; the arrays given stay what they are."""
    n = len(b)
    c = upper.copy()
    x = b.copy()
    c[0] /= diagonal[0]
    x[0] /= diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] /= pivot
        x[i] = (x[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


@lamina.defn(strict=True)
def program(rod: np.ndarray, rate: float, steps: int) -> np.ndarray:
    """The rod's temperatures after so many steps; both its ends keep theirs."""
    n = len(rod)
    lower = np.full(n, -rate / 2)
    upper = np.full(n, -rate / 2)
    diagonal = np.full(n, 1 + rate)
    upper[0] = lower[-1] = 0.0
    diagonal[[0, -1]] = 1.0
    for _ in range(steps):
        b = rod.copy()
        b[1:-1] += rate / 2 * (rod[2:] - 2 * rod[1:-1] + rod[:-2])
        rod = solve_tridiagonal(lower, diagonal, upper, b)
    return rod


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A rod of random temperatures, hot at one end."""
    rod = rng.random(size)
    rod[0] = 5.0
    return rod, 0.8, 20
