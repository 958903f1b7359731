"""What a call costs before any element is computed: small arrays, eager and through `lamina.defn`.

The evaluator runs node by node on NumPy, so NumPy itself is the bound there, and no contest. A native call has no such
bound: what it costs is the way from Python to the code and back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

import lamina

from .harness import Benchmark, Case, Sampler, peer, timed


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


def total(x: np.ndarray) -> Any:
    return x.sum()


def add_two(x: np.ndarray, y: np.ndarray) -> Any:
    return x + y


def add_four(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> Any:
    return a + b + c + d


def add_one_in_place(x: np.ndarray) -> None:
    x += 1


def line() -> np.ndarray:
    return np.arange(16.0)


def native(function: Callable[..., Any], *args: np.ndarray) -> Case:
    call = lamina.defn(function, compiler="native")
    for _ in range(3):  # traced, called again, and from now on as ever
        call(*args)
    case = {"lamina": timed(lambda: call(*args)), "NumPy": timed(lambda: function(*args))}
    return Case(case | {"jax.jit": with_jax(function, args)})


def with_jax(function: Callable[..., Any], args: tuple[np.ndarray, ...]) -> Sampler | None:
    """The same by JAX, with its own arrays; JAX has none that are written."""
    jax = peer("jax")
    if jax is None or function is add_one_in_place:
        return None
    jax.config.update("jax_enable_x64", True)
    call, given = jax.jit(function), [jax.numpy.asarray(arg) for arg in args]
    call(*given)
    return timed(lambda: call(*given).block_until_ready())


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
    Benchmark("native: x*2 + 1, 16 elements", lambda: native(double_and_add, line()), "at most 2 µs"),
    Benchmark("native: two arrays of 16", lambda: native(add_two, line(), line()), "at most 2.4 µs"),
    Benchmark("native: four arrays of 16", lambda: native(add_four, *(line() for _ in range(4))), "at most 3.2 µs"),
    Benchmark("native: 4 by 4, Fortran order", lambda: native(double_and_add, line().reshape(4, 4).T), "at most 2 µs"),
    Benchmark("native: every other of 32", lambda: native(double_and_add, np.arange(32.0)[::2]), "at most 2 µs"),
    Benchmark("native: the sum of 16", lambda: native(total, line()), "at most 2 µs"),
    Benchmark("native: x += 1, 16 elements", lambda: native(add_one_in_place, line()), "at most 2 µs"),
]
