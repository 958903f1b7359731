"""What the programs' modules share: makers of arguments, and how peers are named without being needed."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

# In what Numba compiles, `prange` is a parallel loop, or `range`; without Numba nothing calls such a function.
try:
    prange = import_module("numba").prange
except ImportError:
    prange = range

VECTORS = (4_096, 1_000_000, 8_000_000)
MATRICES = (64, 1_000, 3_000)


def arrays(
    count: int, dtype: type = np.float64, axes: int = 1
) -> Callable[[int, np.random.Generator], tuple[Any, ...]]:
    """Makes so many arrays of numbers between 0.1 and 1, of `size` along each axis."""

    def make(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(rng.uniform(0.1, 1.0, (size,) * axes).astype(dtype) for _ in range(count))

    return make


def evaluated(expression: str, *names: str, **constants: Any) -> Callable[..., Any]:
    """A function that has numexpr evaluate an expression of its arguments."""

    def call(*values: Any) -> Any:
        return import_module("numexpr").evaluate(expression, constants | dict(zip(names, values, strict=True)))

    return call


def jnp() -> Any:
    """`jax.numpy`, for the twins; imported by the process that runs one."""
    return import_module("jax.numpy")


def lax() -> Any:
    """`jax.lax`, likewise."""
    return import_module("jax.lax")
