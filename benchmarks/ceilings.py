"""What the machine can do at most: how fast it copies memory, and how fast it multiplies matrices."""

import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

COPIED = 1 << 26  # bytes, beyond the caches that cores have of their own
EXTENT = 1_500


def copy_bandwidth(threads: int) -> float:
    """Bytes a second, read and written, of so many threads that copy at once."""
    return 2 * COPIED / _median(copying(2 * COPIED, threads))


def copying(nbytes: int, threads: int) -> Callable[[], object]:
    """A call in which so many threads copy so many bytes in all, read and written."""
    count = max(nbytes // 16, 1)
    source, target = np.ones(count), np.ones(count)
    if threads == 1:
        return lambda: np.copyto(target, source)
    pool = ThreadPoolExecutor(threads)
    parts = [slice(i * count // threads, (i + 1) * count // threads) for i in range(threads)]
    return lambda: list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))


def products(dtype: type) -> float:
    """Operations a second of a large matrix product, by NumPy's BLAS with its threads."""
    a: np.ndarray = np.ones((EXTENT, EXTENT), dtype)
    return 2 * EXTENT**3 / _median(lambda: a @ a)


def _median(call: Callable[[], object]) -> float:
    times = []
    call()
    for _ in range(7):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def ceilings() -> str:
    """All of them, in words."""
    cores = os.cpu_count() or 1
    copies = ", ".join(
        f"{copy_bandwidth(threads) / 1e9:.1f} GB/s with {threads} thread{'s' * (threads > 1)}"
        for threads in sorted({1, cores})
    )
    return (
        f"a copy of {COPIED >> 20} MiB: {copies}; a product of matrices of {EXTENT}×{EXTENT}: "
        f"{products(np.float64) / 1e9:.0f} GFLOP/s in float64, {products(np.float32) / 1e9:.0f} in float32"
    )
