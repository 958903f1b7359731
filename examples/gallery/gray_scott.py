"""The Gray–Scott reaction: two substances that spread and react, and make spots and stripes.

Method: P. Gray and S. Scott, Chem. Eng. Sci. 38 (1983); J. Pearson, Science 261 (1993), found the patterns.
"""

from typing import Any

import numpy as np

import lamina


def spread(field: np.ndarray) -> np.ndarray:
    """The Laplacian of the inner part of a field."""
    return (
        field[:-2, 1:-1] + field[1:-1, :-2] - 4 * field[1:-1, 1:-1] + field[1:-1, 2:] + field[2:, 1:-1]
    )  # fmt: skip


@lamina.defn(strict=True)
def program(u_field: np.ndarray, v_field: np.ndarray, feed: float, kill: float, steps: int) -> np.ndarray:
    """The second substance as bytes after so many steps; both fields are updated in place, with periodic rims."""
    u, v = u_field[1:-1, 1:-1], v_field[1:-1, 1:-1]
    for _ in range(steps):
        u_spread = spread(u_field)
        v_spread = spread(v_field)
        reaction = u * v * v
        u += 0.16 * u_spread - reaction + feed * (1 - u)
        v += 0.08 * v_spread + reaction - (feed + kill) * v
        for field in (u_field, v_field):
            field[0], field[-1] = field[-2], field[1]
            field[:, 0], field[:, -1] = field[:, -2], field[:, 1]
    low, high = v.min(), v.max()
    return (255 * (v - low) / (high - low)).astype(np.uint8)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """The first substance everywhere, and a square of the second one in the middle."""
    u = 1.0 - 0.02 * rng.random((size, size))
    v = 0.02 * rng.random((size, size))
    middle = slice(size // 2 - size // 8, size // 2 + size // 8)
    u[middle, middle] = 0.5
    v[middle, middle] = 0.25
    return u, v, 0.035, 0.060, 2 * size
