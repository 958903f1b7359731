"""Loops whose variables are one of several arrays from turn to turn: decorated, each program is the undecorated one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import TraceError
from tests.support.undecorated import assert_agrees

Maker = Callable[[], tuple[Any, ...]]

SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))


def pairs(*dtypes: Any) -> list[Maker]:
    """Makers of two arrays and a number of turns."""

    def maker(signs: tuple[int, int], n: int) -> Maker:
        a = np.array([1.0, -0.5, 2.0, 0.25])
        return lambda: (*((sign * a + k).astype(dtype) for k, (sign, dtype) in enumerate(zip(signs, dtypes))), n)  # noqa: B905

    return [maker(signs, n) for signs in SIGNS for n in (0, 1, 2, 3, 12)]


TWO = pairs("f8", "f8")
MIXED = pairs("f8", "f4")


def whiles(function: Callable[..., Any], maker: Maker) -> int:
    return [node.op for node in lamina.trace(function, *maker()).order].count("while")


def test_an_array_is_replaced_in_some_turns_and_written_in_others() -> None:
    def program(x, y, n):
        k = 0
        while k < n and y.sum() < 1e3:
            k += 1
            if y[k % 4] > 0.5:
                x = y - x
            else:
                y[0] += 1
                x[1] = k
        x += 1
        return x, y

    assert_agrees(program, *TWO)


def test_arrays_become_views_of_others() -> None:
    def turned(x, y, n):
        k = 0
        while k < n and x[0] < 1e3:
            k += 1
            x = x[::-1]
            x[0] += y[k % 4]
        return x, y

    def of_another(x, y, n):
        k = 0
        while k < n and x[0] < 1e3:
            k += 1
            if x[1] > 0:
                x = y[::-1]
            else:
                y = x
            y[2] -= 1.5
        x *= 2
        return x, y

    def of_new_memory(x, y, n):
        k = 0
        v = x
        while k < n and x[0] < 1e3:
            k += 1
            x = x * 0.5 + y
            v = x[1:3]
            v[0] = k
        return x, v

    for program in (turned, of_another, of_new_memory):
        assert_agrees(program, *TWO)


def test_variables_share_an_array_from_turn_to_turn() -> None:
    def shared(x, y, n):
        k = 0
        while k < n and x[0] < 1e3:
            k += 1
            x = x + 1
            if y[0] > k:
                y = x
            y[1] = 7
        x[2] = 8
        return x, y

    def exchanged(x, y, n):
        k, v = 0, y[::-1]
        while k < n and v[0] < 1e3:
            k += 1
            y, v = v, y
            x[k % 4] += v[0]
            y[0] = x[0]
        return x, y, v

    def three(x, y, n):
        k, z = 0, x * 2
        while k < n and x[0] < 1e3:
            k += 1
            x, y, z = y, z, x
            if x[1] > 0:
                z = y
            z[0] += k
        x[3] = y[3] = 9
        return x, y, z

    for program in (shared, exchanged, three):
        assert_agrees(program, *TWO)


def test_a_variable_changes_its_dtype_or_shape() -> None:
    def dtype(x, y, n):
        k = 0
        while k < n and y[0] < 50:
            k += 1
            x, y = y, x
            y[0] += 1.5
        return x, y

    def shape(x, y, n):
        k = 0
        while k < n and x.sum() > 0.75:
            k += 1
            x = x[1:] if x[0] > 0 else x[:-1]
        x += 1
        return x, y

    def number(x, y, n):
        k, s = 0, 0
        while k < n and abs(x[0]) < 50:
            k += 1
            s = s + x if x[1] > 0 else s + k
            x *= 1.5
        return s, x

    for program in (dtype, shape, number):
        assert_agrees(program, *TWO, *MIXED)


def test_a_view_moves_along() -> None:
    def program(a, y, n):
        row, i = a[0], 0
        while row.sum() < n and i < 3:
            i += 1
            row = a[i]
            row[0] += 0.5
        return row, i

    assert_agrees(program, *(lambda n=n: (np.arange(16.0).reshape(4, 4), 0, n) for n in (0, 20, 50, 100)))


def test_what_one_turn_gives_another_variable_may_be_from_before_the_loop() -> None:
    def given(x, y, n):
        k = 0
        while k < n and x.sum() < 1e3:
            k += 1
            x, y = y, x
            if y[0] > -0.5:
                y = x * y
        y -= 0.5
        return x, y

    def broken(x, y, n):
        for k in range(12):
            x, y = y, x * 2
            if y[0] > n + k:
                break
        x += 1
        return x, y

    for program in (given, broken):
        assert_agrees(program, *TWO)


def test_a_history_is_staged() -> None:
    def program(x, y, n):
        a = b = c = x
        for _ in range(40):
            a, b, c, x = b, c, x, 0.5 * x + 0.25 * a - 0.125 * b
        a[0] = 9
        return a, b, c, x

    assert_agrees(program, *TWO)
    assert whiles(program, TWO[0]) == 1


def test_loops_in_loops_and_early_exits() -> None:
    def program(x, y, n):
        k = 0
        while k < n and x[0] < 1e3:
            k += 1
            if y[0] > 3:
                break
            x, y = y, x
            j = 0
            while j < 3 and y[1] < k:
                j += 1
                y = y[::-1]
                y[0] += 1
                if x[2] > 5:
                    return x[1:]
            if x[3] > 2:
                continue
            x = x + y
        return y

    assert_agrees(program, *TWO)


def test_nothing_is_computed_where_a_loop_was_not_entered() -> None:
    def program(x, y, n):
        k = 0
        while k < n and x[0] < 1e3:
            k += 1
            if x[0] > 0:
                break
            j = 0
            while j < 2 and y[0] < 1e3:
                j += 1
                if y[1] > 99:
                    continue
                raise ValueError("reached")
        return x

    assert_agrees(program, *TWO)


def test_too_many_places() -> None:
    def shrinks(x):
        while x.sum() > 3:
            x = x[1:]
        return x

    assert_agrees(shrinks, *(lambda n=n: (np.ones(n),) for n in (2, 6)))
    with pytest.raises(TraceError, match=r"this while loop can't be staged: its variables become too many different"):
        lamina.defn(shrinks, strict=True)(np.ones(40))


def test_a_loop_with_pointers_is_one_node_and_grows_by_its_body() -> None:
    def program(x: Any, y: Any, turns: list[int]) -> Any:
        k = 0
        while k < 100 and x[0] < 1e3:
            k += 1
            for i in turns:  # a list: one after the other
                if x[i % 4] > y[i % 4]:
                    x, y = y[::-1], x
                x[0] += 1
        return x

    def size(turns: int) -> int:
        graph = lamina.trace(program, np.ones(4), np.ones(4), [*range(turns)])
        assert [node.op for node in graph.order].count("while") == 1
        return len(lamina.tree.all_nodes(graph.updates))

    assert_agrees(program, lambda: (np.arange(4.0), np.ones(4), [0, 1, 2]))
    assert size(16) - size(12) == size(12) - size(8)


def test_new_memory_is_in_the_order_of_the_array_that_a_variable_is() -> None:
    def looped(x, n):
        k = 0
        while k < n and x.sum() < 1e3:
            k += 1
            x = x + 1
            x = x.T
        y = x * 2
        z = y.reshape(-1)  # a view of an array in C order alone
        y[0, 1] = 7
        return y, z

    def branched(x, n):
        y = x.T if x[0, 0] > n else x
        z = y + 1
        w = z.reshape(-1)
        z[0, 1] = 7
        return z, w

    for program in (looped, branched):
        assert_agrees(program, *(lambda n=n: (np.arange(9.0).reshape(3, 3), n) for n in (-1, 0, 1, 2, 3)))
