"""Kernels that threads share out: whatever becomes of the threads, the results are the same."""

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

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


def test_a_program_may_be_gone_when_a_late_thread_begins() -> None:
    _run("""
        for turn in range(20):
            function = lamina.defn(lambda x, turn=turn: x.max(axis=1 if turn < 99 else 0))
            check(64, function)
            del function
            gc.collect()
    """)


def test_without_threads_the_caller_does_all() -> None:
    _run("""
        function = lamina.defn(lambda x: x.max(axis=1))
        check(1, function)
        check(1, function)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))  # no room for a stack
        check(8, function)
    """)
