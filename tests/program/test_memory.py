"""What shares memory, and that deciding it takes a time that grows as the program does."""

import sys

import numpy as np
import pytest

import lamina
from lamina.compilers.native.support import is_native
from lamina.passes import run_passes
from lamina.program import fuse, lower, memory, shortened


def branches(count):
    """A program of branches, each of which has what came before it around it, and what is needed later."""

    def program(x):
        y, seen = x * 2, []
        for i in [*range(count)]:
            if x[i % 7] > 0.5:
                y = np.cumsum(y)
            else:
                y = np.roll(y, 1)
            seen.append(y[i % 5])
        return y, np.array(seen)

    return program


def updates(count):
    """A program of updates in place."""

    def program(x):
        y = x * 2
        for i in [*range(count)]:
            y[i % 5 : i % 5 + 50] += np.cumsum(y)[3]
        return y

    return program


@pytest.mark.parametrize("family", [branches, updates])
def test_planning_is_linear(family) -> None:
    """Counted by how often Python calls or leaves something of it, which is the same at each run."""

    def steps(count: int) -> int:
        graph = run_passes(lamina.trace(family(count), np.ones(100)))
        program = fuse(shortened(lower(graph, is_native)))
        taken = 0

        def step(frame, event, argument) -> None:
            nonlocal taken
            taken += 1

        sys.setprofile(step)
        try:
            memory.plan(program)
        finally:
            sys.setprofile(None)
        return taken

    assert steps(160) < 5 * steps(40)
