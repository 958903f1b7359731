"""What a loop carries from turn to turn: arrays that it replaces, tuples, results, what containers hold."""

from collections.abc import Callable
from typing import Any, NamedTuple

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


def exchanged_and_replaced(x: Any, level: float) -> Any:
    y = np.zeros(4)
    kept = [y]
    for i in range(12):
        x, y = y, x
        y[0] += 1
        if i > level:
            y = y * 2
    return x, y, kept[0]


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
    exchanged_and_replaced,
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


def read_by_the_next_turn_alone(x: Any, n: int) -> float:
    total = 0.0
    inner = x * 0.5
    for _ in range(n):
        outer = doubled(inner)
        total += outer.sum()
        inner = outer / 3
    return total


def known_by_two_names_for_a_while(x: Any, n: int) -> Any:
    change = 1.0
    turns = 0
    while change > 1e-9 and turns < n:
        new = (x + 4 / x) / 2
        change = np.abs(new - x).max()
        x = new
        turns += 1
    return x, turns


def bound_in_a_branch_alone(x: Any, n: int) -> Any:
    total = x * 0
    for i in range(n):
        if x[i % 4] > 0:
            gain = x / 2
            total += gain
    for i in range(n):
        gain = x / (i + 1)
        total -= gain
    return total


def a_known_number(x: Any, n: int) -> Any:
    length = 0
    for i in range(n):
        length = x.shape[0]
        rows, *_ = (length, i)
        x[i % length] += 1
    return np.zeros((length, 2)), rows


class State(NamedTuple):
    place: Any
    speed: Any
    time: Any


def a_tuple(x: Any, n: int) -> Any:
    state = (x, (0 * x, 0.0))
    for _ in range(n):
        place, (speed, time) = state
        state = (place + 0.1 * speed, (speed - 0.1 * place, time + 0.1))
    return state


def a_named_tuple(x: Any, n: int) -> Any:
    state = State(x, 0 * x, 0.0)
    for _ in range(n):
        if state.place[0] > -0.25:
            state = State(state.place + 0.1 * state.speed, state.speed - 0.1 * state.place, state.time + 0.1)
    return state


def returned_early(x: Any, n: int) -> Any:
    for turn in range(n):
        new = (x + 4 / x) / 2
        if np.allclose(new, x):
            return x, turn, new.sum()
        x = new
    return x, n, 0.0


def in_containers(x: Any, n: int) -> Any:
    weights = {"first": x * 2, "more": [x + 1, x + 2]}
    for i in range(n):
        weights["first"] += i
        weights["more"][1] -= weights["first"]
    return weights


class Body:
    def __init__(self, place: Any) -> None:
        self.place = place.copy()
        self.speed = np.zeros_like(place)

    def step(self, dt: float) -> None:
        self.speed -= dt * self.place
        self.place += dt * self.speed


def in_attributes(x: Any, n: int) -> Any:
    body = Body(x)
    for _ in range(n):
        body.step(0.1)
    return body.place, body.speed


CARRYING = [
    read_by_the_next_turn_alone,
    known_by_two_names_for_a_while,
    bound_in_a_branch_alone,
    a_known_number,
    a_tuple,
    a_named_tuple,
    returned_early,
    in_containers,
    in_attributes,
]


@pytest.mark.parametrize("program", CARRYING)
def test_what_a_loop_carries(program: Callable[..., Any]) -> None:
    turns = (20, 30, 3) if program is a_known_number else (20, 30, 3, 1, 0)
    assert_agrees(program, *(lambda n=n: (X.copy(), n) for n in turns))  # type: ignore[misc]


@pytest.mark.parametrize("program", CARRYING)
def test_it_is_staged(program: Callable[..., Any]) -> None:
    assert len(lamina.tree.all_nodes(lamina.trace(program, X, 10_000).outputs)) < 200


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


def rows_of_a_sparse_matrix(starts: Any, columns: Any, elements: Any, x: Any) -> Any:
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += elements[k] * x[columns[k]]
        y[i] = total
    return y


def forward_substitution(a: Any, b: Any) -> Any:
    x = b.copy()
    for i in range(len(b)):
        total = 0.0
        for k in range(i):
            total += a[i, k] * x[k]
        x[i] = (b[i] - total) / a[i, i]
    return x


def test_as_many_turns_as_data_or_an_outer_loop_say() -> None:
    starts = np.repeat(np.arange(0, 61, 4), 2)  # every other row is empty
    sparse = (starts, np.arange(60) % 9, np.arange(60.0), np.arange(9.0))
    dense = (np.arange(400.0).reshape(20, 20) % 7 + 1, np.arange(20.0))
    assert_agrees(rows_of_a_sparse_matrix, lambda: sparse)
    assert_agrees(forward_substitution, lambda: dense)
    for program, arguments in ((rows_of_a_sparse_matrix, sparse), (forward_substitution, dense)):
        assert len(lamina.tree.all_nodes(lamina.trace(program, *arguments).outputs)) < 100


def test_no_turn_at_all_as_data_say() -> None:
    def program(x: Any, counts: Any) -> Any:
        last, kind, y = -1, 0, x
        for i in range(counts[0]):
            last, kind, y = i, kind + x[i], y * 2
            if x[i] > 3:
                break
        y[0] = 100
        return last, kind, x, y

    for count in (0, 1, 2, 20):
        assert_agrees(program, lambda count=count: (np.ones(30), np.array([count])))  # type: ignore[misc]
    assert_agrees(program, lambda: (np.arange(30.0), np.array([20])))
