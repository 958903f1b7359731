"""Kernels that threads share out: whatever becomes of the threads, the results are the same."""

import importlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import lamina
from lamina.compilers.native.driver import Module, Segment
from lamina.compilers.native.parallel import IS_HERE

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
planned = importlib.import_module("lamina.compilers.native").planned

_ROWS = """
    import gc, resource, time
    from pathlib import Path
    import numpy as np
    import lamina

    x = np.random.default_rng(1).random((512, 8_192))
    lamina.set_num_threads(1)
    expected = lamina.defn(lambda x: x.max(axis=1))(x)

    def check(count, function):
        lamina.set_num_threads(count)
        assert np.array_equal(function(x), expected)
"""


def _run(program: str) -> None:
    """In a process of its own, which may crash."""
    text = textwrap.dedent(_ROWS) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@on_linux
def test_threads_that_come_late_are_left_alone_and_gone_soon() -> None:
    _run("""
        function = lamina.defn(lambda x: x.max(axis=1))
        function(x)
        before = len(list(Path("/proc/self/task").iterdir()))
        for _ in range(100):
            check(64, function)  # more than there are processors: most come when all is done
        end = time.monotonic() + 30
        while len(list(Path("/proc/self/task").iterdir())) > before:
            assert time.monotonic() < end
            time.sleep(0.01)
    """)


@on_linux
def test_a_program_may_be_gone_when_a_late_thread_begins() -> None:
    _run("""
        for turn in range(20):
            function = lamina.defn(lambda x, turn=turn: x.max(axis=1 if turn < 99 else 0))
            check(64, function)
            del function
            gc.collect()
    """)


@on_linux
def test_without_threads_the_caller_does_all() -> None:
    _run("""
        function = lamina.defn(lambda x: x.max(axis=1))
        check(1, function)
        check(1, function)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))  # no room for a stack
        check(8, function)
    """)


def total(x):
    return x.sum()


def greatest_of_blocks(x):
    return x.reshape(500, 2, 500, 2).max(axis=(1, 3))


def one_row(x):
    x[3] += 1


@pytest.mark.parametrize(
    ("function", "shape", "is_large"),
    [
        (total, (1_000_000,), True),  # little to compute, but much to read
        (total, (100_000,), False),
        (greatest_of_blocks, (1_000, 1_000), True),
        (one_row, (3_000, 1_000), False),  # what isn't touched of a large array doesn't count
    ],
)
def test_what_threads_share_out(function, shape, is_large) -> None:
    program = planned(lamina.trace(function, np.ones(shape)))
    module = Module(program, 32)
    Segment(module, program.program.block.instructions, [], "segment")
    assert module.has_large is (is_large and IS_HERE)


@pytest.mark.skipif(not IS_HERE, reason="there are no threads")
def test_the_first_failure_is_the_error_whoever_meets_another() -> None:
    def picked(x: np.ndarray, places: np.ndarray) -> np.ndarray:
        return x[places] * 2

    function, places = lamina.defn(picked, compiler="native"), np.zeros(1 << 20, np.int64)
    for place in (1 << 19, *range(1 << 19, 1 << 20, 1 << 12)):
        places[place] = 10 + place
    before = lamina.get_num_threads()
    try:
        for count in (1, 2, 8, 64, 8, 2):
            lamina.set_num_threads(count)
            with pytest.raises(IndexError, match=f"index {10 + (1 << 19)} is out of bounds"):
                function(np.arange(10.0), places)
    finally:
        lamina.set_num_threads(before)
