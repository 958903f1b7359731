"""What a program of the benchmarks is: NumPy source, the arguments of each size, and what peers run in its place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Program:
    """One program. `source` is plain NumPy, and what lamina and NumPy run.

    `arguments(size, rng)` makes the arguments of each of the three `sizes`; what is written in place is returned too.
    Results agree where they differ by less than `tolerance` of the largest element; integers are equal.

    Numba and JAX run the source as well. Where they can't, or where their users would write it otherwise, they have
    twins: `loops` in Numba's style, and `jax` in `jax.numpy`'s. `numexpr` evaluates what can be written as one
    expression. Numba compiles with and without ``parallel=True`` and its better time counts, unless `parallel` says
    that there is nothing to share out: arrays are small, or a loop carries what it computes from turn to turn.

    `bound` is what limits it on an ideal machine where that is known: ``"memory"``, whose time is held against a copy
    of as many bytes as its arguments and results have, or ``"products"``, which is the time of BLAS or LAPACK.
    """

    name: str
    group: str
    source: Callable[..., Any]
    arguments: Callable[[int, np.random.Generator], tuple[Any, ...]]
    sizes: tuple[int, int, int]
    tolerance: float = 1e-12
    bound: str = ""
    parallel: bool = True
    loops: Callable[..., Any] | None = None
    jax: Callable[..., Any] | None = None
    numexpr: Callable[..., Any] | None = None

    def made(self, size: str) -> tuple[Any, ...]:
        """The arguments of a size, the same at each call."""
        return self.arguments(self.sizes[SIZES.index(size)], np.random.default_rng(0))
