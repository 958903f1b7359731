"""Arrays that a loop replaces in some turns alone, or that only its own next turn reads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees

X = np.array([0.5, -1.0, 2.0, 3.0])


def until_it_settles(x: Any, tolerance: float) -> Any:
    turns = 0
    for _ in range(50):
        new = (x + 4 / x) / 2
        if abs(new - x).max() < tolerance:
            break
        x = new
        turns += 1
    return x, turns


def best_of(x: Any, level: float) -> Any:
    best, found = x, 0
    for i in range(20):
        if x[i % 4] > level:
            best = best * 1.5
            found += 1
    return best, found


def written_afterwards(x: Any, level: float) -> Any:
    y = x
    for i in range(20):
        if x.sum() > level + i:
            y = y + 1
    y[0] = 100.0
    return y


def replaced_twice(x: Any, level: float) -> Any:
    y = x
    for i in range(20):
        if x[i % 4] > level:
            y = y + 1
            if i % 3 == 1:
                y = y * 2
        elif x[i % 4] < -level:
            y = np.abs(y)
    return y


def the_first_is_written(x: Any, level: float) -> Any:
    y = x
    for i in range(20):
        if i > 10 + level:
            y = y + 1
        x[1] += 1
    return y


def written_and_replaced(x: Any, level: float) -> Any:
    y = x.copy()
    for i in range(20):
        y[0] += 1
        if x[i % 4] > level:
            y = y + 1
    return y


def in_two_names(x: Any, level: float) -> Any:
    y = z = x
    for i in range(20):
        if x[i % 4] > level:
            z = y
            y = y + 1
    return y, z


def while_it_is_large(x: Any, level: float) -> Any:
    turns = 0
    while abs(x).sum() > 0.1 and turns < 30:
        if x[0] > level:
            x = x / 2
        turns += 1
    return x, turns


PROGRAMS = [
    until_it_settles,
    best_of,
    written_afterwards,
    replaced_twice,
    the_first_is_written,
    written_and_replaced,
    in_two_names,
    while_it_is_large,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_loop_replaces_an_array_in_some_turns(program: Callable[..., Any]) -> None:
    # levels that replace it in every turn, in some, and in none
    assert_agrees(program, *(lambda level=level: (X.copy(), level) for level in (-50.0, 1e-6, 1.0, 50.0)))


@pytest.mark.parametrize("program", [until_it_settles, best_of, written_afterwards, replaced_twice, while_it_is_large])
def test_such_a_loop_is_staged(program: Callable[..., Any]) -> None:
    graph = lamina.trace(program, X, 1.0)
    nodes = lamina.tree.all_nodes((graph.outputs, graph.updates, graph.effects))
    assert sum(node.op == "while" for node in nodes) == 1
    assert len(nodes) < 150


def doubled(x: Any) -> Any:
    return x + x


def test_an_array_that_only_the_next_turn_reads() -> None:
    def program(x: Any, n: int) -> float:
        total = 0.0
        inner = x * 0.5
        for _ in range(n):
            outer = doubled(inner)
            total += outer.sum()
            inner = outer / 3
        return total

    assert_agrees(program, lambda: (X.copy(), 20), lambda: (X.copy(), 3), lambda: (X.copy(), 0))
    assert sum(node.op == "while" for node in lamina.tree.all_nodes(lamina.trace(program, X, 20).outputs)) == 1


def test_an_unrolled_loop_that_may_end_early_grows_by_its_turns() -> None:
    def program(x: Any, turns: list[int]) -> Any:
        for _ in turns:  # a list: one turn after the other
            if x.sum() > 100:
                break
            new = x + 1
            if new.min() > 0:
                x = new * 2
        return x

    assert_agrees(program, lambda: (X.copy(), [0] * 30))

    def size(turns: int) -> int:
        return len(lamina.tree.all_nodes(lamina.trace(program, X, [0] * turns).outputs))

    assert size(40) - size(30) == size(30) - size(20)
