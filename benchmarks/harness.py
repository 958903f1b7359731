"""How a benchmark is measured: contestants take turns, so that a busy machine is busy for all of them.

Neighbours: the modules with the benchmarks build `Case`s; `report` prints the `Row`s that come out.
"""

import gc
import importlib
import importlib.util
import statistics
import time
import timeit
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .quiet import settle

# One sample of a contestant, in seconds.
Sampler = Callable[[], float]

SHORTEST_SAMPLE = 0.01
FEWEST_ROUNDS = 3
MOST_ROUNDS = 51


@dataclass(frozen=True)
class Case:
    """What is compared: samplers by contestant, `None` for a peer that isn't installed; the first is what lamina does.

    `count` is how many things (nodes, movements) one call handles, so that rates can be told.
    """

    contestants: Mapping[str, Sampler | None]
    count: int = 1
    unit: str = "call"


@dataclass(frozen=True)
class Benchmark:
    """A named comparison. `prepare` builds its data, outside the measurement; `hold` is what the numbers should be."""

    name: str
    prepare: Callable[[], Case]
    hold: str = ""


@dataclass(frozen=True)
class Row:
    """What was measured of one contestant; `ratio` is its median over lamina's, above 1 where lamina is faster."""

    benchmark: str
    contestant: str
    median: float | None
    spread: float | None
    ratio: float | None
    rate: str
    hold: str


def timed(call: Callable[[], object]) -> Sampler:
    """A sampler of the seconds that one `call()` takes, repeated in a loop where it is short.

    The first sample finds out how often, which also warms the call up. As in `timeit`, the collector is off meanwhile.
    """
    timer = timeit.Timer(call)
    number = 0

    def sample() -> float:
        nonlocal number
        if not number:
            number = 1
            while timer.timeit(number) < SHORTEST_SAMPLE:
                number *= 4
        return timer.timeit(number) / number

    return sample


def peer(name: str) -> Any | None:
    """The module of an optional peer, or `None` where it isn't installed."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def measure(benchmark: Benchmark, seconds: float) -> Iterator[Row]:
    """Rounds of one sample of each contestant, until `seconds` have passed (at least three rounds); then a row each."""
    case = benchmark.prepare()
    running = {name: sampler for name, sampler in case.contestants.items() if sampler is not None}
    samples: dict[str, list[float]] = {name: [] for name in running}
    start = time.perf_counter()
    for turn in range(MOST_ROUNDS):
        if turn >= FEWEST_ROUNDS and time.perf_counter() - start > seconds:
            break
        for name, sampler in running.items():
            gc.collect()
            settle()
            samples[name].append(sampler())
    first = statistics.median(samples[next(iter(case.contestants))])
    for name in case.contestants:
        if name not in samples:
            yield Row(benchmark.name, name, None, None, None, "not installed", benchmark.hold)
            continue
        median = statistics.median(samples[name])
        low, _, high = statistics.quantiles(samples[name], n=4)
        rate = f"{case.count / median / 1e6:.3g} M {case.unit}/s" if case.count > 1 else ""
        yield Row(benchmark.name, name, median, high - low, median / first, rate, benchmark.hold)
