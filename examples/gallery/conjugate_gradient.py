"""The conjugate gradient method for a sparse system: Poisson's equation on a square, whose matrix is never formed.

Method: M. Hestenes and E. Stiefel, J. Res. Nat. Bur. Standards 49 (1952).
"""

from typing import Any

import numpy as np

import lamina


def poisson(u: np.ndarray) -> np.ndarray:
    """The negative Laplacian of a field that is 0 outside its square."""
    result = 4 * u
    result[1:] -= u[:-1]
    result[:-1] -= u[1:]
    result[:, 1:] -= u[:, :-1]
    result[:, :-1] -= u[:, 1:]
    return result


@lamina.defn(strict=True)
def program(b: np.ndarray, tolerance: float, max_steps: int) -> tuple[np.ndarray, int, float]:
    """The solution, the number of steps it took, and the norm of what is left."""
    x = np.zeros_like(b)
    residual = b - poisson(x)
    direction = residual.copy()
    rho = np.sum(residual * residual)
    target = tolerance**2 * np.sum(b * b)
    taken = 0
    for step in range(max_steps):
        if rho <= target:
            break
        image = poisson(direction)
        alpha = rho / np.sum(direction * image)
        x += alpha * direction
        residual -= alpha * image
        before, rho = rho, np.sum(residual * residual)
        direction = residual + (rho / before) * direction
        taken = step + 1
    return x, taken, np.sqrt(rho)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random right-hand side."""
    return rng.standard_normal((size, size)), 1e-8, 10 * size
