"""Waiting until nothing else in the process is at work.

The threads of a pool look for more work for a while before they sleep: those of BLAS, of JAX, of Numba. On a machine
with few cores whoever is measured next would be measured against them.
"""

import time
from collections.abc import Callable

_LOOK = 0.001  # seconds slept between two looks at the clock of the process
_LITTLE = 0.1  # of one core, in a look: less is no thread that spins
_LONGEST = 0.25  # seconds: a thread that works on by itself is not waited for


def settle(used: Callable[[], float] = time.process_time) -> None:
    """Sleep until the other threads of the process do; `used` is the clock of what they have computed."""
    start = now = time.perf_counter()
    while now - start < _LONGEST:
        before, since = used(), now
        time.sleep(_LOOK)
        now = time.perf_counter()
        if used() - before < _LITTLE * (now - since):
            return
