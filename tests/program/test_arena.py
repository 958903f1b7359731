"""Temporary arrays in one piece of memory: as many bytes as are needed at once, and never one over another."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.program import fuse, lower
from lamina.program.arena import arranged
from lamina.program.memory import plan

N = 1000


def nbytes(function: Any, *args: Any) -> int:
    """How many arrays of N numbers the arena of a function has room for, where no op has native code."""
    planned = plan(fuse(lower(lamina.trace(function, *args), lambda node: False)))
    memory, program = planned.memory, planned.program
    given = {memory[buffer] for buffer in (*program.params, *program.tensors, *program.block.outputs)}
    sizes = {each: program.buffers[each].nbytes for each in memory if each not in given}
    arrays = {each: size for each, size in sizes.items() if size > 8}
    return arranged(program.block.instructions, memory, arrays, given)[1] // (8 * N)


def chain(x: Any) -> Any:
    for _ in range(6):
        x = np.sort(x.cumsum() + x[::-1])
    return x


def tree(x: Any) -> Any:
    a, b, c = x.cumsum(), np.sort(x), x[::-1].cumsum()
    return np.sort(a * b * c) + np.sort(a - b) + np.sort(b - c)


def exchanging(x: Any, n: int) -> Any:
    a, b = np.sort(x), x.cumsum()
    for _ in range(n):
        a, b = b, np.sort(np.sort(a[::-1]).cumsum() / 9 + b)
    later = np.sort(a * 2) + np.sort(b * 3)
    return later.cumsum() + a + b


def nested(x: Any, n: int) -> Any:
    outer = x.cumsum()
    for i in range(n):
        inner = np.sort(outer)
        for _ in range(i):
            inner = (inner[::-1] + outer).cumsum() / 4
        outer = np.sort(inner) + np.sort(x * i)
    return np.sort(outer)


def chosen(x: Any, n: int) -> Any:
    y = np.sort(x)
    if n > 2:
        z = y.cumsum() + np.sort(y * 3)
    else:
        z = np.sort(y[::-1] * 2).cumsum()
    return np.sort(z) + y


def test_as_many_bytes_as_are_needed_at_once() -> None:
    x = np.zeros(N)
    assert nbytes(chain, x) <= 4
    assert nbytes(lambda x: np.sort(np.sort(np.sort(x))), x) == 2


@pytest.mark.parametrize("function", [chain, tree, exchanging, nested, chosen])
@pytest.mark.parametrize("n", [2, 12, 13])  # few turns are unrolled
def test_no_array_lies_over_one_that_is_needed(function: Any, n: int, rng: Any) -> None:
    x = rng.normal(size=N)
    args = (x,) if function in (chain, tree) else (x, n)
    compiled = lamina.defn(function, compiler="native", strict=True)
    np.testing.assert_allclose(compiled(*args), function(*args), rtol=1e-9, atol=1e-9)


def test_a_loop_whose_memories_stay_where_they_are() -> None:
    def program(x: Any, limit: Any) -> Any:
        return lamina.while_loop(lambda x: (x * x).sum() < limit, lambda x: x * 2 + 1, x)

    x = np.arange(6.0)
    result = lamina.defn(program, compiler="native", strict=True)(x, 1e4)
    expected = x
    while (expected * expected).sum() < 1e4:
        expected = expected * 2 + 1
    np.testing.assert_array_equal(result, expected)
