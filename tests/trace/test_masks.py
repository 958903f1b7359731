"""Writes under masks that are computed in the traced function."""

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees

# Each line writes `a` of shape (4, 5), under a mask of its elements, rows or columns; `i` is 2, `v` has 20 elements.
LINES = [
    "a[a > 0] = 0",
    "a[rows] = -1.5",
    "a[rows] = v[:5]",
    "a[rows] = v[:5][None, None]",
    "a[rows] = v[:3, None]",
    "a[rows] = v[:15].reshape(3, 5)",
    "a[:, columns] = v[:4, None]",
    "a[:, columns] = v[:8].reshape(4, 2)",
    "a[:, columns] = v[:2]",
    "a[..., columns] = v[0]",
    "a[1:, columns] = 7",
    "a[1:3, columns] = v[:4].reshape(2, 2)",
    "a[::-1][rows] = v[:15].reshape(3, 5)",
    "a[::2, ::-1][a[::2] < 0.5] = 0",
    "a.T[columns] = v[:4]",
    "a[rows, 1] = 7",
    "a[rows, 1] = v[:3]",
    "a[rows, i] = v[:3]",
    "a[0, columns] = v[:2]",
    "a[-1, columns] = v[:1]",
    "a[i, columns] = v[:2]",
    "a[rows, 1:3] = v[:6].reshape(3, 2)",
    "a[None, rows] = v[:15].reshape(1, 3, 5)",
    "a[rows, None] = v[:5]",
    "a[a > 99] = 1",
    "a[a > 99] = v[:0]",
    "a[a > -99] = v",
    "a[rows, ...] += 1",
    "a[rows] += v[:5]",
    "a[a > 0] *= a[0, 0]",
    "a[:, columns] -= v[:8].reshape(4, 2)",
    "a[rows, 1] += v[:3]",
    "a[i, columns] /= 2",
    "a[rows] += a[0]",
    "a[a > 0] = a.sum()",
    # what NumPy refuses
    "a[rows] = v[:3]",
    "a[rows] = v[:10].reshape(2, 5)",
    "a[a > 0] = v[:3]",
    "a[columns] = 1",
    "a[:, rows] = 1",
    "a[rows, :, 0] = 1",
    "a[a > 0, 0] = 1",
]


def program(line: str) -> Callable[..., Any]:
    """The line in a function of its own, with its source where the rewriter finds it."""
    lines = ["rows = a.sum(axis=1) > -5", "columns = a[0] > 0.5", line, "return a * 2"]
    source = "def program(a, v, i):\n" + "".join(f"    {each}\n" for each in lines)
    name = f"<{line}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    namespace: dict[str, Any] = {}
    exec(compile(source, name, "exec"), namespace)
    found: Callable[..., Any] = namespace["program"]
    return found


def array(order: str = "C", dtype: str = "float64") -> np.ndarray:
    a = np.array([[2, -1, 1, 0, 0], [3, 0, -2, 1, 1], [-9, -9, 0, 0, 0], [0, 1, -1, 2, 4]], dtype)
    return np.asarray(a, order=order)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("line", LINES)
def test_a_write_under_a_mask(line: str) -> None:
    v = np.arange(10.0, 30.0)
    assert_agrees(
        program(line), lambda: (array(), v, 2), lambda: (array("F"), v, 2), lambda: (array(dtype="int16"), v, 2)
    )


def test_a_mask_in_a_loop_is_staged() -> None:
    def turns(a: Any, n: int) -> Any:
        for i in range(n):
            a[a < i] += 0.5
            a[a.sum(axis=1) > i, i % 5] = -1
        return a

    assert_agrees(turns, lambda: (array(), 20))
    graph = lamina.trace(turns, array(), 10_000)
    assert len(lamina.tree.all_nodes((graph.outputs, graph.updates, graph.effects))) < 100


def test_a_read_only_array() -> None:
    def read_only() -> tuple[np.ndarray]:
        a = array()
        a.flags.writeable = False
        return (a,)

    def writing(a: Any) -> None:
        a[a > 99] = 1

    assert_agrees(writing, read_only)


def test_an_array_under_a_mask_apart_from_integers_is_refused() -> None:
    def apart(a: Any, v: Any) -> None:
        a[0, :, a[0, 0] > 0] = v

    with pytest.raises(NotImplementedError, match="index with the integers first"):
        lamina.defn(apart, strict=True)(np.ones((2, 3, 4)), np.ones((4, 3)))
    assert_agrees(lambda a: a.__setitem__((0, slice(None), a[0, 0] > 0), 5), lambda: (np.ones((2, 3, 4)),))
