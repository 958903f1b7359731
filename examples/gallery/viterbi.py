"""The most probable states behind a row of observations, of a hidden Markov model.

Method: A. Viterbi, IEEE Trans. Inf. Theory 13 (1967), in logarithms.
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(
    seen: np.ndarray, start: np.ndarray, transition: np.ndarray, emission: np.ndarray
) -> tuple[np.ndarray, float]:
    """The state at each step of the best path, and the logarithm of its probability."""
    log_transition = np.log(transition)
    log_emission = np.log(emission)
    steps, states = len(seen), len(start)
    back = np.zeros((steps, states), dtype=np.intp)
    score = np.log(start) + log_emission[:, seen[0]]
    for t in range(1, steps):
        through = score[:, np.newaxis] + log_transition
        back[t] = through.argmax(axis=0)
        score = through.max(axis=0) + log_emission[:, seen[t]]

    path = np.empty(steps, dtype=np.intp)
    path[-1] = score.argmax()
    for t in range(steps - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A random model of four states and six symbols, and what it might have shown."""
    transition = rng.dirichlet(np.ones(4), size=4)
    emission = rng.dirichlet(np.ones(6), size=4)
    return rng.integers(0, 6, size), np.full(4, 0.25), transition, emission
