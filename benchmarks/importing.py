"""What fresh processes cost: `import lamina` beyond NumPy's own import, and a program that is found on disk."""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from .harness import Benchmark, Case, Sampler

ROOT = Path(__file__).parent.parent


IMPORT = """
import {after}
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""

# All that a call would import is there before.
FIRST_CALL = """
import lamina, lamina.compilers.native, optree
from time import perf_counter
from benchmarks.programs import named
program = named({name!r})
call, arguments = lamina.defn(program.source), program.made("small")
start = perf_counter()
call(*arguments)
print(perf_counter() - start)
"""


def seconds(program: str, **environment: str) -> float:
    """What a program prints that a new process runs."""
    environ = {**os.environ, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def importing(module: str, after: str = "time") -> Sampler:
    """Samples the seconds of `import module` in a new process that has imported `after` already."""
    program = IMPORT.format(module=module, after=after)
    return lambda: seconds(program)


def found(name: str) -> Sampler:
    """Samples the seconds of a benchmark program's first call in a new process, which finds its code on disk."""
    folder = tempfile.TemporaryDirectory()
    program = FIRST_CALL.format(name=name)

    def sample() -> float:
        return seconds(program, LAMINA_CACHE="1", LAMINA_CACHE_DIR=folder.name)

    sample()
    return sample


BENCHMARKS = [
    Benchmark(
        "import, a new process each time",
        lambda: Case({"lamina, beyond NumPy": importing("lamina", after="numpy"), "NumPy": importing("numpy")}),
        "lamina at most 60 ms",
    ),
    *(
        Benchmark(f"found on disk: {name}", partial(lambda name: Case({"lamina": found(name)}), name), "at most 5 ms")
        for name in ("triad", "heat equation", "edit distance")
    ),
]
