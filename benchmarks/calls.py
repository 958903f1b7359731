"""What a call costs before any element is computed: small arrays, eager and through `lamina.defn`.

The evaluator runs node by node on NumPy, so NumPy itself is the bound here, and no contest.
"""

import numpy as np

import lamina

from .harness import Benchmark, Case, timed


def double_and_add(x: np.ndarray) -> np.ndarray:
    return x * 2 + 1


def eager(size: int) -> Case:
    x = np.arange(size, dtype=np.float64)
    ours = lamina.asarray(x)
    return Case({"lamina": timed(lambda: lamina.add(ours, ours)), "NumPy": timed(lambda: np.add(x, x))})


def compiled(size: int) -> Case:
    x = np.arange(size, dtype=np.float64)
    call = lamina.defn(double_and_add)
    return Case({"lamina": timed(lambda: call(x)), "NumPy": timed(lambda: double_and_add(x))})


def first_call() -> Case:
    """Trace, compile and run, as a new function's first call does."""
    x = np.arange(16, dtype=np.float64)
    return Case(
        {"lamina": timed(lambda: lamina.defn(lambda y: y * 2 + 1)(x)), "NumPy": timed(lambda: double_and_add(x))}
    )


BENCHMARKS = [
    Benchmark("eager: add, 16 elements", lambda: eager(16)),
    Benchmark("eager: add, 1 M elements", lambda: eager(1_000_000)),
    Benchmark("defn: x*2 + 1, 16 elements", lambda: compiled(16)),
    Benchmark("defn: x*2 + 1, 1 M elements", lambda: compiled(1_000_000)),
    Benchmark("defn: a first call", first_call),
]
