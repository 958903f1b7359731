"""Real programs, as people write them with NumPy: nothing in them is bent to lamina but for the decorator.

Each module holds one: `program`, decorated with ``@lamina.defn(strict=True)``, so that what can't be traced is an
error, and `make_arguments`, which makes arguments of about a size. ``python -m examples.gallery`` runs them all beside
the undecorated functions.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from examples.gallery import (
    binomial_tree,
    black_scholes,
    cholesky,
    conjugate_gradient,
    convolution,
    equalisation,
    fft,
    floyd_warshall,
    gray_scott,
    heat,
    householder,
    ising,
    k_means,
    kalman,
    lattice_boltzmann,
    life,
    lu,
    mandelbrot,
    n_body,
    needleman_wunsch,
    page_rank,
    perceptron,
    ray_march,
    shallow_water,
    sieve,
    tridiagonal,
    viterbi,
    wave,
)

# + − × ÷ √ are NumPy's to the last bit.
EXACT = 0.0
ROUNDED = 1e-11  # sums are added in another order, elementary functions rounded otherwise in the last bits
PRODUCTS = 1e-9  # so may BLAS, where it is given memory in another order
SINGLE = 1e-4  # of products in single precision


class Entry(NamedTuple):
    """One program: its module, the size for the table, how far results may be from NumPy's, and its loops.

    Loops that are "staged" are loops in the graph, whose size the number of turns doesn't change.
    """

    name: str
    module: ModuleType
    size: int
    tolerance: float = EXACT
    loops: str = "staged"

    @property
    def program(self) -> Any:
        """The decorated function; its ``__wrapped__`` is the undecorated one."""
        return self.module.program

    def arguments(self, size: int) -> tuple[Any, ...]:
        """Fresh arguments of about a size, the same at each call."""
        make: Callable[..., tuple[Any, ...]] = self.module.make_arguments
        return make(size, np.random.default_rng(0))


SLICES = "unrolled: slices with the loop's index"
GALLERY = (
    Entry("heat equation", heat, 200),
    Entry("implicit heat equation", tridiagonal, 50),
    Entry("wave equation", wave, 200),
    Entry("shallow water", shallow_water, 100, ROUNDED),
    Entry("Gray-Scott reaction", gray_scott, 200),
    Entry("lattice Boltzmann flow", lattice_boltzmann, 30, PRODUCTS),
    Entry("n bodies", n_body, 60, ROUNDED),
    Entry("Ising model", ising, 100, loops="unrolled: results appended to a list"),
    Entry("LU", lu, 60, PRODUCTS, SLICES),
    Entry("Cholesky", cholesky, 60, PRODUCTS, SLICES),
    Entry("QR by Householder", householder, 200, PRODUCTS, SLICES),
    Entry("conjugate gradient", conjugate_gradient, 50, PRODUCTS),
    Entry("Fourier transform", fft, 4096, ROUNDED, loops="unrolled: a shape that changes"),
    Entry("Floyd-Warshall", floyd_warshall, 150),
    Entry("PageRank", page_rank, 500, PRODUCTS),
    Entry("sieve of Eratosthenes", sieve, 100, loops=SLICES),
    Entry("game of life", life, 200),
    Entry("k-means", k_means, 5000, PRODUCTS),
    Entry("Needleman-Wunsch", needleman_wunsch, 40),
    Entry("Viterbi", viterbi, 1000),
    Entry("Kalman filter", kalman, 300, PRODUCTS),
    Entry("ray marching", ray_march, 150, ROUNDED),
    Entry("Mandelbrot set", mandelbrot, 200),
    Entry("convolution", convolution, 300, loops=SLICES),
    Entry("equalisation", equalisation, 500, loops=""),
    Entry("perceptron", perceptron, 1000, SINGLE, loops=""),
    Entry("Black-Scholes", black_scholes, 100_000, ROUNDED, loops=""),
    Entry("binomial tree", binomial_tree, 100, loops="unrolled: a shape that changes"),
)
