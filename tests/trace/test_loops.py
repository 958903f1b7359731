"""Python's loops, staged or unrolled: decorated, each program is the undecorated one; and which loops are staged."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import LaminaWarning, TraceError
from lamina.expr.tree import all_nodes
from tests.support.undecorated import assert_agrees


def floats(n: int = 6) -> np.ndarray:
    return np.random.default_rng(n).standard_normal(n)


def whiles(function: Callable[..., Any], *args: Any) -> int:
    """How many loops of a function are staged."""
    graph = lamina.trace(function, *args)
    return sum(node.op == "while" for node in all_nodes((graph.effects, graph.outputs, graph.updates)))


NUMBERS = (0, 1, 2, 3, 9, 20)


def for_each_count(program: Callable[..., Any], *more: Callable[[], Any]) -> None:
    """Decorated and undecorated, for several numbers of turns, all of one compiled function."""
    assert_agrees(program, *((lambda n=n: (floats(), *(make() for make in more), n)) for n in NUMBERS))


# What a turn leaves


def test_an_array_that_is_written() -> None:
    def program(x, n):
        for i in range(n):
            x[1:-1] += 0.25 * (x[:-2] + x[2:] - 2 * x[1:-1])
            x[0] = i
        return x.max()

    for_each_count(program)
    assert whiles(program, floats(), 20) == 1


def test_an_array_that_is_bound_anew() -> None:
    def program(x, n):
        y = x
        for i in range(n):
            y = y * 1.5 + i
        return y

    for_each_count(program)
    assert whiles(program, floats(), 20) == 1


def test_an_array_that_is_bound_anew_and_written() -> None:
    def program(x, n):
        y = x
        for i in range(n):
            y[0] = 7.0 + i
            y = y + 1
            y[1] *= 2
        return y, x

    for_each_count(program)


def test_an_array_that_changes_its_dtype_or_shape_at_first() -> None:
    def dtype(x, n):
        y = np.zeros(6, int)
        for _ in range(n):
            y = y + x
        return y

    def shape(x, n):
        y = 0.0
        for i in range(n):
            y = y + x * i
        return y

    def number(x, n):
        y = x
        for _ in range(n):
            y = y.sum() * 0.5 + x[:1]
        return y

    for program in (dtype, shape, number):
        for_each_count(program)


def test_numbers_take_the_dtype_of_what_is_added() -> None:
    def total(x, n):
        s, p, k, flag = 0, 1, n, False
        for i in range(n):
            s += x[i % 6]
            p = p * 0.5
            k = k // 2
            flag = flag or x[0] > i
        return s, p, k, flag

    for_each_count(total)
    for dtype in (np.float32, np.int8, np.uint64, np.complex64, bool):

        def of_dtype(x, n):
            s = 0
            for i in range(n):
                s += x[i % 3]
            return s

        values = np.array([1, 2, 3]).astype(dtype)
        assert_agrees(of_dtype, *((lambda n=n: (values.copy(), n)) for n in NUMBERS))  # noqa: B023


def test_numbers_that_may_be_pythons_or_numpys() -> None:
    def program(x, n):
        s, t, last, count = 0.0, 0, None, 0
        for i in range(n):
            if x[i % 6] > 0:
                s += x[i % 6]
                t += x[i % 6]
                count += 1
            elif x[i % 6] < -1:
                s -= 1
                t -= 1
        return s, t, last, count, -t, t * 2

    for_each_count(program)


def test_what_a_loop_binds_first() -> None:
    def program(x, n):
        for i in range(n):
            t = x * i
            u = t[1:]
            u[0] = 5
        if n > 0:
            return t, u, i
        return x

    for_each_count(program)

    def unbound(x, n):
        for i in range(n):
            t = x * i
        return t, i

    for_each_count(unbound)  # UnboundLocalError where there is no turn


def test_a_view_that_moves_on() -> None:
    def rows(a):
        p = a[0]
        for i in range(1, len(a)):
            p += a[i]
            p = a[i]
        return p

    def windows(a):
        w = a[:2]
        for i in range(len(a) - 2):
            w[1] += w[0]
            w = a[i + 1 : i + 3]
        return w

    for program in (rows, windows):
        assert_agrees(program, lambda: (np.arange(48.0).reshape(12, 4),))


def test_arrays_that_exchange_names() -> None:
    def swap(x, y, n):
        for _ in range(n):
            y[1:-1] = 0.5 * (x[:-2] + x[2:])
            x, y = y, x
        return x, y

    def three(x, y, z, n):
        for _ in range(n):
            z[1:-1] = 2 * y[1:-1] - x[1:-1]
            x, y, z = y, z, x
        return y

    def fresh(x, n):
        a, b = x.copy(), np.zeros_like(x)
        for _ in range(n):
            b[:] = a[::-1] * 2
            a, b = b, a
        return a, b

    def one_is_new(x, n):
        a, b = x, x * 2
        for _ in range(n):
            a, b = b, a + b
        return a, b

    for_each_count(swap, lambda: floats() + 1)
    for_each_count(three, lambda: floats() + 1, lambda: np.zeros(6))
    for_each_count(fresh)
    for_each_count(one_is_new)

    def while_they_differ(x, y, n):
        turns = 0
        while np.abs(x - y).max() > 0.01 and turns < n:
            y[...] = 0.5 * (x + y)
            x, y = y, x
            turns += 1
        return x, turns

    for_each_count(while_they_differ, lambda: floats() + 1)


# Nested loops, and what they go through


def test_nested_loops() -> None:
    def fill(n):
        a = np.zeros((n, n + 1))
        for i in range(n):
            for j in range(n + 1):
                a[i, j] = i * n + j
        return a

    def triangle(a):
        s = 0.0
        for i in range(len(a)):
            for j in range(i):
                a[i, j] -= a[j, i] * 0.5
            s += a[i, i]
        return s

    assert_agrees(fill, *((lambda n=n: (n,)) for n in NUMBERS))
    assert_agrees(triangle, lambda: (np.random.default_rng(0).random((11, 11)),))
    assert whiles(fill, 12) == 2


@pytest.mark.parametrize(
    "bounds",
    [(7,), (2, 12), (0, 20, 3), (20, 0, -1), (19, -1, -2), (5, 5), (5, 2), (-3, 9), (0, 1), (3, 30, 9)],
    ids=str,
)
def test_ranges(bounds) -> None:
    def known(x):
        s, last = 0, None
        for i in range(*bounds):
            x[i % 6] += i
            s += i * i
            last = i
        return s, last

    def traced(x, start, stop):
        s = 0
        for i in range(start, stop):
            s = s + x[i % 6] * i
        for i in range(stop, start, -2):
            s = s - i
        return s

    assert_agrees(known, lambda: (floats(),))
    assert_agrees(traced, lambda: (floats(), bounds[0], bounds[-1]))


def test_going_through_arrays() -> None:
    def elements(x):
        s = 0.0
        for v in x:
            s = s * 0.5 + v
        return s

    def rows(a):
        for r in a:
            r *= 2
            r[0] = r.sum()
        for i, r in enumerate(a):
            r += i
        return a[-1]

    def together(a):
        for r, s in zip(a, a[::-1], strict=False):
            r[1:] += s[:-1]
        for i, (r, v) in enumerate(zip(a, range(3, 100), strict=False), 1):
            r[0] = v * i

    assert_agrees(elements, lambda: (floats(),), lambda: (floats(30),), lambda: (np.zeros(0),))
    for program in (rows, together):
        assert_agrees(program, lambda: (np.arange(48.0).reshape(12, 4),), lambda: (np.ones((2, 3), np.float32),))
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        lamina.defn(elements, strict=True)(np.array(1.0))


def test_going_through_python_objects() -> None:
    def program(x, weights, names):
        for w in weights:
            x = x * w
        for name, w in names.items():
            if name != "skip":
                x = x + w
        for _ in "abc":
            x = x - 1
        for a, (b, c) in [(1, (2, 3)), (4, (5, 6))]:
            x = x + a * b - c
        for k in {2: "b", 1: "a"}:
            x = x / k
        return x

    assert_agrees(program, lambda: (floats(), [floats(), 2.0, 3], {"a": floats(), "skip": 1, "b": 2}))


# Leaving a loop


def test_break_continue_and_else() -> None:
    def program(x, n):
        s, found = 0.0, -1
        for i in range(n):
            if x[i % 6] < -0.5:
                continue
            s += x[i % 6]
            if s > 1.5:
                found = i
                break
            s *= 1.25
        else:
            s = s - 100
        return s, found

    def nested(x, n):
        count = 0
        for i in range(n):
            for j in range(n):
                if x[j % 6] > 1:
                    break
                if (i + j) % 2:
                    continue
                count += 1
            else:
                count += 100
                continue
            if count > 250:
                break
        return count

    def while_else(x, n):
        i = 0
        while i < n:
            i += 1
            if x[i % 6] > 1.2:
                break
        else:
            i = -i
        return i

    for program_ in (program, nested, while_else):
        for_each_count(program_)


def test_a_return_in_a_loop() -> None:
    def first(x, n):
        for i in range(n):
            if x[i % 6] > 0.9:
                return i
        return -1

    def nested(x, n):
        for i in range(n):
            for j in range(i):
                x[j % 6] += 1
                if x[j % 6] > 4:
                    return x, j
        return x * 2, -1

    def bare(x, n):
        for i in range(n):
            x[i % 6] = 5
            if i == 3:
                return
        x[0] = 10

    for program in (first, nested, bare):
        for_each_count(program)


def test_while() -> None:
    def newton(a, tol):
        x, turns = a, 0
        while abs(x * x - a) > tol:
            x = 0.5 * (x + a / x)
            turns += 1
        return x, turns

    def counted(n):
        i, s = 0, 0
        while i < n:
            i += 1
            s += i
        return i, s

    def walrus(x, tol):
        i = 0
        while (d := abs(x[i % 6] - 0.5)) > tol and i < 30:
            i += 1
        return d, i

    def forever(x):
        while True:
            x *= 0.5
            if x.max() < 0.01:
                break
        return x

    def never(x):
        while x.sum() > 1e9:
            x = x * 2
        return x

    assert_agrees(newton, lambda: (2.0, 1e-9), lambda: (2, 1e-9), lambda: (np.float32(3), 1e-3))
    assert_agrees(counted, *((lambda n=n: (n,)) for n in NUMBERS))
    assert_agrees(walrus, lambda: (floats(), 0.2), lambda: (floats(), -1.0))
    assert_agrees(forever, lambda: (np.abs(floats()),))
    assert_agrees(never, lambda: (floats(),))
    assert whiles(counted, 20) == 1 and whiles(newton, 2.0, 1e-9) == 1


def test_errors_in_a_loop_come_after_what_was_written() -> None:
    def index(x, n):
        for i in range(n):
            x[i] = i

    def raises(x, n):
        for i in range(n):
            if x[i % 6] > 1:
                raise ValueError("too large")
            x[i % 6] = 0

    def asserts(x, n):
        for i in range(n):
            assert i < 7, "too far"
            x[i % 6] += i

    for program in (index, raises, asserts):
        for_each_count(program)


# Python objects in a loop


def test_python_objects_that_change() -> None:
    def appends(x, n):
        out = []
        for i in range(n):
            out.append(x[i % 6] * i)  # noqa: PERF401
        return np.array(out) if out else x

    def dicts(x, n):
        d = {}
        for i in range(n):
            d[i % 2] = x * i
        return sum(d.values(), x)

    def attributes(x, n):
        class Box:
            pass

        box = Box()
        box.total = 0.0
        for i in range(n):
            box.total = box.total + x[i % 6]
        return box.total

    def own_lists(x, n):
        s = 0.0
        for i in range(n):
            pair = [x[i % 6], 1]
            pair.append(2)
            s += pair[0] * pair[2]
        return s

    def iterators(x, n):
        items = iter([1, 2, 3] * 10)
        for _ in range(n):
            x = x * next(items)
        return x

    def closures(x, n):
        total = 0.0

        def add(v):
            nonlocal total
            total += v

        for i in range(n):
            add(x[i % 6])
        return total

    for program in (appends, dicts, attributes, own_lists, iterators, closures):
        for_each_count(program)


def test_indices_of_python_sequences() -> None:
    def program(x, n):
        parts = [x, x * 2, x[::-1]]
        s = np.zeros(6)
        for i in range(n):
            s += parts[i % 3]
            s *= (1, 2)[i % 2]
        return s

    for_each_count(program)


def test_a_long_loop_that_is_unrolled_warns() -> None:
    def program(x):
        out = []
        for i in range(1200):
            out.append(x * i)  # noqa: PERF401
        return out[-1]

    with pytest.warns(LaminaWarning, match=r"a loop of 1200 turns is unrolled.*test_loops\.py") as caught:
        assert lamina.defn(program, strict=True)(2.0) == 2398.0
    assert len(caught) == 1


def test_few_turns_are_unrolled_and_many_staged() -> None:
    def program(x):
        for i in range(8):
            x = x * i
        return x

    def more(x):
        for i in range(9):
            x = x * i
        return x

    assert (whiles(program, 1.0), whiles(more, 1.0)) == (0, 1)


def test_a_loop_that_cannot_be_staged_runs_undecorated() -> None:
    def shrinks(x):
        while x[0] > 0:
            x = x[1:]
        return x

    x = np.array([3.0, 2.0, -1.0, 5.0] * 10)
    with pytest.raises(TraceError, match=r"this while loop can't be staged: its variables become.*test_loops\.py"):
        lamina.defn(shrinks, strict=True)(x)
    compiled = lamina.defn(shrinks)
    with pytest.warns(LaminaWarning, match=r"shrinks runs as plain Python.*can't be staged.*test_loops\.py"):
        np.testing.assert_array_equal(compiled(x), x[2:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(compiled(x), x[2:])


# Lengths known at run time


def test_slices_that_depend_on_the_turn() -> None:
    def triangular(L, b):
        x = np.zeros(b.shape[0])
        for i in range(b.shape[0]):
            x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
        return x

    def sums(a, n):
        s = 0.0
        for i in range(n):
            for j in range(i + 1, n):
                s += (a[i, i:j] * a[j, i:j]).sum() + (a[i, : j - i] + a[i, i:j]).sum()
        return s

    def prefix(x):
        for i in range(len(x)):
            x[i:] += x[: len(x) - i] * 0.5
        return x

    rng = np.random.default_rng(3)
    assert_agrees(triangular, lambda: (rng.random((11, 11)) * 0 + np.tri(11) + 5 * np.eye(11), np.arange(11.0)))
    assert_agrees(sums, lambda: (np.arange(100.0).reshape(10, 10), 10), lambda: (np.ones((3, 3)), 3))
    assert_agrees(prefix, lambda: (np.arange(12.0),))


def test_shapes_that_depend_on_the_turn() -> None:
    def program(x, n):
        total = 0.0
        for i in range(n):
            total += np.ones((i + 1, 2)).sum() + x[: i % 6].reshape(-1, 1).shape[0]
        return total

    for_each_count(program)


def test_what_the_test_of_a_loop_does_is_done_once_a_turn() -> None:
    def writes(x, n):
        def step(u):
            u[1:] += 0.5 * u[:-1]
            print("step", u[1])
            return abs(u).sum()

        turns = 0
        while step(x) < n * 100 and turns < 30:
            turns += 1
        return turns

    def binds(x, n):
        k = n + 1
        while (k := k - 1) > 0:
            x += k
        return k

    for_each_count(writes)
    for_each_count(binds)


def test_a_turn_before_the_loop_that_ends_it() -> None:
    def program(x):
        t = 0.0
        for i in range(8, -1, -1):
            if i > 2:  # noqa: SIM102
                if len(x) > 1:
                    break
            for j in range(1, 9):
                if x[j] > 1:
                    break
                t += x[j]
        return t

    assert_agrees(program, lambda: (np.arange(9.0) / 8,), lambda: (np.ones(9),))


def test_what_a_turn_leaves_alone_is_what_it_was() -> None:
    """After a turn that runs apart the array is one of two, and a later turn may leave it one of these."""

    def replaced(x, n):
        for _ in range(12):
            if x.min() <= n:
                continue
            x = x - 1
        x[:] = 5
        return x

    def stopped(x, n):
        for _ in range(12):
            k = 0
            while k < 3 and x[0] > 0.5:
                k += 1
                x = x - 1
            if x.sum() == n:
                continue
        return x

    for program in (replaced, stopped):
        makers = [lambda start=start, n=n: (start + np.arange(4.0), n) for start in (0, 5, -5) for n in (2, -50, 0)]
        assert_agrees(program, *makers)


def test_an_array_with_gaps_in_memory_and_its_copy() -> None:
    def program(x, n):
        for _ in range(n):
            k = 0
            while k < n and n <= 3:
                k += 1
                x = x.ravel()  # a copy of what has gaps, and itself of what has none
        x[-1] -= 2
        return x

    assert_agrees(program, *(lambda n=n: (np.arange(6.0)[::2], n) for n in range(5)))


def test_a_while_of_known_turns_that_needs_its_number() -> None:
    def program(x):
        length, y = 2, x.astype(complex)
        while length <= len(x):
            turns = np.exp(-2j * np.pi * np.arange(length // 2) / length)
            blocks = y.reshape(-1, length)
            even, odd = blocks[:, : length // 2], turns * blocks[:, length // 2 :]
            y = np.concatenate([even + odd, even - odd], axis=1).reshape(-1)
            length *= 2
        return y

    assert_agrees(program, lambda: (np.arange(1024.0),))


def test_few_turns_in_few_turns_are_not_all_unrolled() -> None:
    def program(x, n, m):
        total, y = 0.0, x.copy()
        for i in range(n):
            for j in range(m):
                for k in range(2):
                    total = total + x[i] * x[j] - x[k]
                    y[j] -= 0.5 * x[i]
                if total > 30:
                    break
        for i in range(7):
            y[i] += total
        return y, total

    x = np.linspace(0.5, 2.0, 8)
    sizes = ((3, 8), (8, 3), (8, 8), (1, 0), (0, 8), (5, 5))
    for n, m in sizes:
        assert_agrees(lambda x, n=n, m=m: program(x, n, m), lambda: (x.copy(),))
    found = {size: whiles(lambda x, size=size: program(x, *size), x) for size in sizes}
    assert found == {(3, 8): 0, (8, 3): 0, (8, 8): 8, (1, 0): 0, (0, 8): 0, (5, 5): 0}
