"""The primes below a number, by crossing out multiples, and how far apart neighbours are at most.

Method: the sieve of Eratosthenes (Nicomachus, Introduction to Arithmetic, about 100).
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(is_prime: np.ndarray) -> tuple[Any, np.ndarray]:
    """How many primes there are, and how many up to each number; `is_prime` is filled in place."""
    n = len(is_prime)
    is_prime[:] = True
    is_prime[:2] = False
    for k in range(2, int(np.sqrt(n)) + 1):
        if is_prime[k]:
            is_prime[k * k :: k] = False
    return np.count_nonzero(is_prime), np.cumsum(is_prime)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Memory for the numbers below ten times the size."""
    return (np.zeros(10 * size, dtype=bool),)
