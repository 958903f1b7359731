"""What `import lamina` adds to NumPy's own import, in fresh processes."""

import subprocess
import sys
from pathlib import Path

from .harness import Benchmark, Case, Sampler

ROOT = Path(__file__).parent.parent


def importing(module: str, after: str = "time") -> Sampler:
    """Samples the seconds of `import module` in a new process that has imported `after` already."""
    program = (
        f"import {after}; from time import perf_counter; start = perf_counter(); import {module}; "
        "print(perf_counter() - start)"
    )

    def sample() -> float:
        done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
        return float(done.stdout)

    return sample


BENCHMARKS = [
    Benchmark(
        "import, a new process each time",
        lambda: Case({"lamina, beyond NumPy": importing("lamina", after="numpy"), "NumPy": importing("numpy")}),
        "lamina at most 60 ms",
    )
]
