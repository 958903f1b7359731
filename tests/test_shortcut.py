"""Calls that take the short way: which do, and that they do what the long way does."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.shortcut import key_of
from tests.support.undecorated import differences

FACTOR = 2.0


def shortcuts(compiled: Any) -> int:
    return len(compiled._shortcuts)


def called(function: Any, *args: Any) -> Any:
    compiled = lamina.defn(function, compiler="evaluator", strict=True)
    compiled(*args)
    return compiled


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda x: x + 1, (np.ones(3),)),
        (lambda x, k: x.sum() * k, (np.ones((2, 3)), 2.5)),
        (lambda x, y: {"a": (x + y, x.max()), "b": [y * 2]}, (np.arange(3), np.arange(3))),
        (lambda a, b: (a + b, a < b), (3, 4.5)),
    ],
)
def test_a_second_call_is_short_and_the_same(function: Any, args: Any) -> None:
    compiled = called(function, *args)
    assert shortcuts(compiled) == 1
    assert not differences(function, compiled, lambda: args)


def test_what_takes_more_than_a_look() -> None:
    def writes(x):
        x[0] = 1
        return x.sum()

    assert shortcuts(called(writes, np.ones(3))) == 0
    assert shortcuts(called(lambda x: x[1:], np.ones(3))) == 0  # a view of the argument
    assert shortcuts(called(lambda x: x, np.ones(3))) == 0
    assert shortcuts(called(lambda x, n: np.zeros(n) + x, 1.5, 3)) == 0  # `n` is pinned
    assert shortcuts(called(lambda x: x + 1, np.ones((3, 2)).T)) == 0
    assert shortcuts(called(lambda x: x + 1, np.ones(3, ">f8"))) == 0
    for args in ((np.ones((2, 2)).T,), (2**63,), ("x",), ([1.0],), (lamina.asarray([1.0]),), (np.float32(1),)):
        assert key_of(args) is None


def test_it_tells_types_and_sees_what_changes_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = called(lambda x: x * FACTOR, np.ones(3))
    assert compiled(np.ones(3)).tolist() == [2, 2, 2] and shortcuts(compiled) == 1
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert compiled(np.ones(3)).tolist() == [5, 5, 5]
    assert compiled(np.ones(3, np.float32)).dtype == np.float32
    number = called(lambda a: a + a, 3)
    assert [type(number(each)) for each in (3, 3.0, True)] == [int, float, int]
    assert number(2**62 - 1) == 2**63 - 2


def test_what_a_tuple_of_defaults_holds_may_change() -> None:
    kept = [1.0]

    def f(x, table=(kept,)):
        return x * table[0][0]

    compiled = called(f, np.ones(3))
    kept[0] = 3.0
    assert compiled(np.ones(3)).tolist() == [3, 3, 3]


def test_results_are_new_arrays_each_time() -> None:
    compiled = called(lambda x: x + 1, np.zeros(3))
    first, second = compiled(np.zeros(3)), compiled(np.ones(3))
    assert first.tolist() == [1, 1, 1] and second.tolist() == [2, 2, 2]
    shared = np.zeros(4)
    overlapping = called(lambda x, y: x + y, np.zeros(3), np.zeros(3))
    assert overlapping(shared[1:], shared[:3]).tolist() == [0, 0, 0]
