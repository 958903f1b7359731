"""The best alignment of two sequences: the table of scores, cell by cell, and the way back through it.

Method: S. Needleman and C. Wunsch, J. Mol. Biol. 48 (1970), with a linear penalty for gaps.
"""

from typing import Any

import numpy as np

import lamina

GAP = -1


@lamina.defn(strict=True)
def program(a: np.ndarray, b: np.ndarray, match: int, mismatch: int, gap: int) -> tuple[int, np.ndarray, np.ndarray]:
    """The best score, and the two sequences with -1 for each gap."""
    n, m = len(a), len(b)
    score = np.zeros((n + 1, m + 1), dtype=np.int64)
    score[:, 0] = gap * np.arange(n + 1)
    score[0, :] = gap * np.arange(m + 1)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            step = match if a[i - 1] == b[j - 1] else mismatch
            score[i, j] = max(score[i - 1, j - 1] + step, score[i - 1, j] + gap, score[i, j - 1] + gap)

    aligned_a = np.full(n + m, GAP)
    aligned_b = np.full(n + m, GAP)
    i, j, k = n, m, n + m
    while i > 0 or j > 0:
        k -= 1
        step = match if a[i - 1] == b[j - 1] else mismatch
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + step:
            i -= 1
            j -= 1
            aligned_a[k] = a[i]
            aligned_b[k] = b[j]
        elif i > 0 and score[i, j] == score[i - 1, j] + gap:
            i -= 1
            aligned_a[k] = a[i]
        else:
            j -= 1
            aligned_b[k] = b[j]
    return score[n, m], aligned_a, aligned_b


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Two related sequences of four letters."""
    a = rng.integers(0, 4, size)
    b = np.delete(a, rng.integers(0, size, size // 8))
    changed = rng.random(len(b)) < 0.1
    b[changed] = rng.integers(0, 4, changed.sum())
    return a, b, 1, -1, -2
