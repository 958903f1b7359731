"""Python's branches on what is traced: decorated, each program is the undecorated one."""

import importlib
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import LaminaWarning, TraceError
from lamina.expr.tree import all_nodes
from tests.support.undecorated import assert_agrees


def arrays(*signs: float) -> Callable[[], tuple[np.ndarray, ...]]:
    """Makers of arrays of which the sums have these signs."""
    return lambda: tuple(sign * np.array([1.0, -2.0, 3.5]) + k for k, sign in enumerate(signs))


BOTH = (arrays(1), arrays(-1))
FOUR = (arrays(1, 1), arrays(1, -1), arrays(-1, 1), arrays(-1, -1))


def params(function: Callable[..., Any], *args: Any) -> list[str]:
    """The numbers that are still arguments of the traced function."""
    return [str(param.dtype) for param in lamina.trace(function, *args).params if not param.shape]


# What branches leave


def test_numbers_and_scalars() -> None:
    def program(x):
        k, s, flag = 1, x[0], True
        if x.sum() > 0:
            k = 2
            s = x[1]
        else:
            flag = x[0] < 0
            k += 4
        return k, s, flag

    assert_agrees(program, *BOTH)


def test_numbers_of_different_kinds() -> None:
    def program(x):
        a, b, c, d = 1, 1, 2.5, x[0]
        if x.sum() > 0:
            a = 2.5
            b = x[1]
            c = x.sum()
            d = 3
        return a, b, c, d

    assert_agrees(program, *BOTH)

    def used(x):
        s = 0
        if x[0] > 0:
            s = x[1]
        return s + x, s * 2.0, max(s, 3.0), -s, s + s, s - 1, abs(s * 3)

    assert_agrees(used, *BOTH)


def test_arrays_that_a_branch_writes() -> None:
    def program(x, y):
        z = x * 2
        if x.sum() > 0:
            x[0] = 10
            z[1:] = y[:-1]
        elif y.sum() > 0:
            y *= 2
            z[0] = x[0]
        else:
            z += y
        return z

    assert_agrees(program, *FOUR)


def test_arrays_that_a_branch_binds_anew() -> None:
    def program(x, y):
        z = x
        if x.sum() > 0:
            z = y * 2
        elif y.sum() > 0:
            z = x * 3
        w = z + 1
        z[0] = 5
        return z, w, x

    assert_agrees(program, *FOUR)


def test_an_array_that_is_one_of_two() -> None:
    def written(a, b):
        c = b
        if a.sum() > 0:
            c = a
        c[0] = 100
        c[1:] += 1
        a *= 2
        return c, a + b, c.sum()

    def views(a, b):
        c = a[1:] if a.sum() > 0 else b[:-1]
        d = c[::-1]
        d[0] = 7
        e = c.reshape(2, 1).T
        e *= 2
        return c, d

    def of_choices(a, b):
        c = a if a.sum() > 0 else b
        d = c if b.sum() > 0 else a
        d[0] = 50
        c[1] = 60
        c, d = d, c
        d -= 1
        return c, d

    def one_is_new(a, b):
        c = a if a.sum() > 0 else a + b
        c[0] = 9
        return c

    def stored(a, b):
        box = [a, b]
        c = box[0] if a.sum() > 0 else box[1]
        box[0][0] = 3
        c[0] += 1
        return box, c

    for program in (written, views, of_choices, one_is_new, stored):
        assert_agrees(program, *FOUR)


def test_an_array_that_is_one_of_three() -> None:
    def program(a, b, c):
        if a[0] > 0:
            d = a
        elif b[0] > 0:
            d = b
        else:
            d = c
        d[1] = 100
        for _ in range(12):
            d[0] += 1
        return d

    assert_agrees(program, *(arrays(*signs) for signs in [(1, 1, 1), (-3, 1, 1), (-3, -3, 1), (-3, 1, -3)]))


def test_names_that_one_branch_binds() -> None:
    def guarded(x):
        if x.sum() > 0:
            t = x * 2
        else:
            t = 3.0 * x
        if x.sum() > 0:
            u = 5
        return t, u if x.sum() > 0 else 0

    def unbound(x):
        if x.sum() > 0:
            t = x * 2
        return t

    with pytest.raises(TraceError, match=r"may be unbound"):
        lamina.defn(unbound, strict=True)(np.ones(2))
    with pytest.warns(LaminaWarning, match="may be unbound"):
        assert lamina.defn(unbound)(np.ones(2)).tolist() == [2.0, 2.0]
    assert_agrees(lambda x: guarded(x)[0], *BOTH)


def test_containers_that_branches_bind() -> None:
    def program(x):
        pair = (x, 1) if x.sum() > 0 else (x * 2, 2)
        a, b = pair
        t = "name"
        if x[0] > 0:
            t = "name"
            n = None
        else:
            n = None
        return a, b, t, n

    assert_agrees(program, *BOTH)


def test_early_returns() -> None:
    def numbers(x):
        if x.sum() > 0:
            return 1
        x[0] = 5
        if x[1] > 0:
            return 2
        return 3

    def arrays_(x, n):
        if x.sum() > 0:
            return x * n
        x[0] = 5
        if n > 2:
            return x - n
        return x + n

    def falls_through(x, n):
        if n > 2:
            x *= 2
            return
        x += 1

    def nested(x, n):
        if n > 0:
            if x.sum() > 0:
                return x
            if n > 5:
                return x[:]
        elif x[0] > 0:
            return x + 1
        return x * 2

    assert_agrees(numbers, *BOTH)
    for program in (arrays_, falls_through, nested):
        assert_agrees(program, *(lambda make=make, n=n: (*make(), n) for make in BOTH for n in (-1, 1, 3, 9)))


def test_else_if_and_nothing() -> None:
    def program(x, n):
        if n == 0:
            pass
        elif n == 1:
            x += 1
        elif n == 2:
            x += 2
        else:
            if n == 3:
                x += 3
            x *= 2

    assert_agrees(program, *(lambda n=n: (np.ones(2), n) for n in range(6)))
    assert params(program, np.ones(2), 3) == ["int64"]


# Branches that are one program only if it is known which is taken


def test_what_does_not_merge_is_pinned() -> None:
    def shapes(x, n):
        return x.sum() if n > 3 else x

    def dtypes(x, n):
        y = x if n > 3 else x > 0
        return y.sum()

    def things(x, n):
        how = "twice" if n > 3 else "once"
        return x * 2 if how == "twice" else x

    def recursion(x, n):
        return x if n == 0 else recursion(x * 2, n - 1)

    def returned(x, n):
        if n > 3:
            return x.sum()
        return x

    for program in (shapes, dtypes, things, recursion, returned):
        assert_agrees(program, *(lambda n=n: (np.ones(3), n) for n in (0, 3, 4, 7)))
        assert params(program, np.ones(3), 2) == []


def test_what_does_not_merge_and_depends_on_data_runs_undecorated() -> None:
    def program(x):
        how = "sum" if x.sum() > 0 else "max"
        return x.sum() if how == "sum" else x

    line = inspect.getsourcelines(program)[1]
    with pytest.raises(TraceError, match=r"the branches of this if can't be one program") as raised:
        lamina.defn(program, strict=True)(np.ones(2))
    assert f"the value is 'sum' in one and 'max' in the other ({__file__}:{line + 1})" in str(raised.value)
    compiled = lamina.defn(program)
    with pytest.warns(LaminaWarning, match="program runs as plain Python") as caught:
        results = [compiled(np.ones(2)), compiled(-np.ones(2)), compiled(np.ones(2))]
    assert len(caught) == 1
    assert results[0] == results[2] == 2.0 and results[1].tolist() == [-1.0, -1.0]


def test_python_objects_that_a_branch_changes() -> None:
    def program(x, n):
        out = [0]
        if n > 2:
            out.append(x)
        return sum(out)

    assert_agrees(program, *(lambda n=n: (np.ones(3), n) for n in (1, 3)))

    def own(x):
        if x.sum() > 0:
            parts = [x]
            parts.append(x * 2)
            y = sum(parts)
        else:
            y = x
        return y

    assert_agrees(own, *BOTH)


def test_a_condition_is_one_bool() -> None:
    def several(x):
        return 1 if x > 0 else 2

    def one(x):
        return 1 if x[:1] > 0 else 2

    def none(x):
        return 1 if x[:0] else 2

    for program in (several, one, none):
        assert_agrees(program, *BOTH)
    with pytest.raises(ValueError, match="truth value of an array with more than one element is ambiguous"):
        lamina.defn(several, strict=True)(np.ones(2))


def test_only_the_branch_that_is_taken_runs() -> None:
    def division(x, n):
        return 1 // n if n > 0 else 0

    def index(x, n):
        if n < 3:
            return x[n]
        return -1.0

    for program in (division, index):
        assert_agrees(program, *(lambda n=n: (np.arange(3.0), n) for n in (-4, 0, 2, 3, 5)))


# Expressions that decide


def test_conditional_expressions_and_logic() -> None:
    def program(x, n):
        a = x if n > 0 else -x
        b = n > 0 and x[0]
        c = n > 0 or x[1]
        d = not x[0] > 0
        e = (n or 5) + (n and 7)
        f = 1 if n > 0 else 2 if n < -1 else 3
        return a, b, c, d, e, f

    assert_agrees(program, *(lambda n=n, s=s: (*arrays(s)(), n) for n in (-2, -1, 0, 1) for s in (1, -1)))
    assert len(params(program, np.ones(3), 1)) == 1


def test_logic_stops_at_what_decides() -> None:
    def program(x, n):
        safe = n != 0 and 6 // n > 1
        first = n == 0 or 6 // n > 1
        both = n > 0 and n < 3 and x[n] > 0
        return safe, first, both

    assert_agrees(program, *(lambda n=n: (np.arange(3.0), n) for n in (-1, 0, 1, 2, 5)))


def test_chained_comparisons() -> None:
    def program(x, n):
        a = 0 < n < 5
        b = x[0] < n <= x[2] != 7
        c = 1 < n > 0
        if -1 < x[0] < x[1] == x[1]:
            n += 100
        return a, b, c, n

    assert_agrees(program, *(lambda n=n, s=s: (*arrays(s)(), n) for n in (-2, 0, 3, 6) for s in (1, -1)))

    def once(n):
        seen = []

        def middle():
            seen.append(1)
            return n

        return 0 < middle() < 5 < middle(), len(seen)

    assert_agrees(once, *(lambda n=n: (n,) for n in (-1, 3, 7)))


# Checks


def test_raise_under_an_if() -> None:
    def program(x, n):
        x[0] += 1
        if x.min() < -2:
            raise ValueError("too small")
        x[1] += 1
        if n > 3:
            raise KeyError("n", 3)
        return x * n

    assert_agrees(program, *(lambda n=n, s=s: (*arrays(s)(), n) for n in (1, 5) for s in (1, -1, 2)))
    line = inspect.getsourcelines(program)[1] + 3
    with pytest.raises(ValueError, match="too small") as raised:
        lamina.defn(program, strict=True)(np.array([-5.0, 1.0]), 1)
    assert f"test_branches.py:{line}" in "".join(getattr(raised.value, "__notes__", []))


def test_assert() -> None:
    def program(x, n):
        assert n > 0, "n must be positive"
        assert x.min() > -3
        assert len(x) == 3, "three"
        return x / n

    assert_agrees(program, *(lambda n=n, s=s: (*arrays(s)(), n) for n in (-1, 2) for s in (1, -1, 2)))
    line = inspect.getsourcelines(program)[1] + 1
    with pytest.raises(AssertionError, match="n must be positive") as raised:
        lamina.defn(program, strict=True)(np.ones(3), 0)
    assert f"test_branches.py:{line}" in "".join(getattr(raised.value, "__notes__", []))


def test_both_branches_raise_or_one_returns() -> None:
    def program(x, n):
        if n == 0:
            return x
        if x[0] > 0:
            raise ValueError("positive")
        if n > 2:
            raise TypeError("large")
        return x * 2

    assert_agrees(program, *(lambda n=n, s=s: (*arrays(s)(), n) for n in (0, 1, 5) for s in (1, -1)))

    def either(x):
        if x[0] > 0:
            raise ValueError("positive")
        raise TypeError("negative")

    assert_agrees(lambda n: either([n]), lambda: (1,), lambda: (-1,))


def test_an_exception_with_a_traced_message() -> None:
    def program(x):
        if x[0] > 0:
            raise ValueError(f"got {x[0]}")
        return x

    with pytest.raises(TraceError, match=r"test_branches\.py"):
        lamina.defn(program, strict=True)(np.ones(1))
    compiled = lamina.defn(program)
    with pytest.warns(LaminaWarning), pytest.raises(ValueError, match=r"got 1\.0"):
        compiled(np.ones(1))
    assert compiled(-np.ones(1)).tolist() == [-1.0]


def test_prints_of_branches_come_in_order() -> None:
    def program(x, n):
        print("start", n)
        for i in range(n):
            if x[0] > 0:
                print("positive", x[0], i)
                x -= 1
            else:
                print("negative", x)
        print("end", sep="", end="!\n")
        return x

    assert_agrees(program, *(lambda n=n, s=s: (np.ones(2) * s, n) for n in (0, 2, 11) for s in (3, -3)))


# The size of what is traced


def test_one_branch_is_one_node() -> None:
    def program(x):
        if x.sum() > 0:
            x = x * 2
            y = x + 1
        else:
            y = x - 1
        return x, y

    graph = lamina.trace(program, np.ones(3))
    assert sum(node.op == "cond" for node in all_nodes(graph.outputs)) <= 2


def test_a_function_that_calls_itself_leaves_room_for_finalizers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Garbage may be collected at any depth; a finalizer that has no room prints an error, and frees nothing."""
    branch = importlib.import_module("lamina.trace.branch")
    depths: list[int] = []
    run = branch._run

    def noted(*args: Any) -> Any:
        depths.append(len(inspect.stack(0)))
        return run(*args)

    monkeypatch.setattr(branch, "_run", noted)

    def program(x, n):
        def factorial(k):
            return 1 if k <= 1 else k * factorial(k - 1)

        return x * factorial(n)

    np.testing.assert_array_equal(lamina.defn(program, strict=True)(np.ones(3), 5), np.full(3, 120.0))
    assert len(depths) > 50 and max(depths) < 0.95 * sys.getrecursionlimit()
