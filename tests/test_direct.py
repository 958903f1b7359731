"""Calls that native code takes over: which, and that they are right; and what it doesn't know goes the long way."""

import dataclasses
import gc
import pickle
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.direct import MISS
from lamina.compilers.native import entry
from lamina.expr.containers import flatten
from tests.support.undecorated import differences

FACTOR = 2.5
TABLE = np.arange(6.0).reshape(2, 3)


def taken_over(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The function, compiled and called twice, after which such calls are direct, if they ever are."""
    compiled = lamina.defn(function, compiler="native", strict=True)
    for _ in range(2):
        compiled(*args, **kwargs)
    return compiled


def is_direct(compiled: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether the call is native code's alone; if so, it is done."""
    leaves, structure = flatten((args, kwargs))
    ways = ((tuple(kwargs), (*args, *kwargs.values())), (structure, leaves))
    return any(key in compiled._direct and compiled._direct[key](*given) is not MISS for key, given in ways)


def line(dtype: Any = np.float64) -> np.ndarray:
    return np.arange(16).astype(dtype)


def square() -> np.ndarray:
    return line().reshape(4, 4)


def add_one(x):
    x += 1


def shown(x):
    print(x[0, 0])
    return x + 1


def scale_rows(x, y):
    x[1:] *= y[1:]
    return x


def twice(x):
    y = x + 1
    return y, x, y


def mixed(x):
    total = 0.0
    count = 0
    for i in range(len(x)):
        if x[i] > 3:
            total += x[i]
            count += 1
    return total, count


def either(x, n):
    if x.sum() > 0:
        return x * n
    x[0] = 5
    if n > 2:
        return (x - n)[1:]
    return x


def either_argument(x, y):
    larger = x if x[0] > y[0] else y
    return larger, x + y


def parts_of_a_result(x):
    y = x * 2
    return y[1:], y, y[::2], y[1:]


def exchanged_elements(x, y):
    x[:], y[:] = y + 0, x + 0
    return x


def add_one_and_view(x):
    x += 1
    return x[1:].T


def two_of(memory: np.ndarray, one: slice, other: slice) -> tuple[np.ndarray, np.ndarray]:
    return memory[one], memory[other]


def read_only() -> np.ndarray:
    array = line()
    array.flags.writeable = False
    return array


def misaligned() -> np.ndarray:
    array = np.zeros(16 * 8 + 1, np.uint8)[1:].view(np.float64)
    array[:] = line()
    return array


def closure() -> Callable[..., Any]:
    scale, held = 2.0, np.arange(16.0)
    return lambda x: x * scale + held


DIRECT = [
    (lambda x: x * 2 + 1, lambda: (line(),)),
    (lambda x: x * 2 + 1, lambda: (line(np.float32),)),
    (lambda x: x * 2 + 1, lambda: (square().T,)),
    (lambda x: x * 2 + 1, lambda: (line()[::-2],)),
    (lambda x: x * 2 + 1, lambda: (np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),)),
    (lambda x: x + 1, lambda: (np.zeros((0, 3)),)),
    (lambda x: x + 1, lambda: (np.array(3.0),)),
    (lambda x: (x + 1).T, lambda: (np.arange(6.0).reshape(2, 3),)),
    (lambda x: x > 3, lambda: (line(),)),
    (lambda x: x * 1j, lambda: (line(),)),
    (lambda x: x.sum(), lambda: (line(),)),
    (lambda x: x.sum(axis=0), lambda: (square(),)),
    (lambda x: x[0], lambda: (line(np.float32),)),
    (lambda x: x[0] > 0, lambda: (line(),)),
    (lambda x: x[0] * 1j, lambda: (line(),)),
    (lambda x: float(x.sum()), lambda: (line(),)),
    (lambda x: int(x.sum()), lambda: (line(np.int64),)),
    (lambda x: bool(x.any()), lambda: (line(),)),
    (lambda a, b: (a + b, a < b), lambda: (3, 4.5)),
    (lambda a: a + 1, lambda: (np.float64(3),)),
    *((lambda x, k: x * k, lambda k=k: (line(), k)) for k in (3, -3.5, True, np.float32(3), np.complex128(3j))),
    (lambda x, n: np.zeros(n) + x, lambda: (line(), 16)),  # a number whose value is needed
    (lambda x, how: x + 1 if how == "one" else x, lambda: (line(), "one")),
    (lambda x, how: x + 1 if how is None else x, lambda: (line(), None)),
    (lambda x, y: (x + y, x.sum()), lambda: (line(), line())),
    (lambda x: {"a": x + 1, "b": [x - 1]}, lambda: (line(),)),
    (lambda x: (x + 1, None, "s"), lambda: (line(),)),
    (lambda x: [x + 1], lambda: (line(),)),
    (twice, lambda: (line(),)),
    (lambda x, k: (k, x + k), lambda: (line(), np.float64(3))),
    (lambda x, y: x * y, lambda: (line(),) * 2),
    (scale_rows, lambda: (line() + 1,) * 2),
    (add_one, lambda: (line(),)),
    (add_one, lambda: (square().T,)),
    (add_one, lambda: (np.arange(32.0)[::2],)),
    (add_one, lambda: (np.arange(36.0).reshape(6, 6)[1:-1, -2:0:-1],)),
    (add_one_and_view, lambda: (np.arange(36.0).reshape(6, 6)[1:-1, 1:-1],)),
    (exchanged_elements, lambda: two_of(np.arange(32.0), slice(None, None, 2), slice(1, None, 2))),
    (scale_rows, lambda: two_of(np.arange(20.0), slice(4, None), slice(16))),
    (scale_rows, lambda: two_of(np.arange(20.0), slice(None, None, 2), slice(10))),
    (scale_rows, lambda: (line(), line() + 1)),
    (lambda x: x[1:], lambda: (line(),)),
    (lambda x: x[::-2], lambda: (line(),)),
    (lambda x: x.T, lambda: (square(),)),
    (lambda x: x.reshape(2, 2, 4), lambda: (square().T.copy(),)),
    (lambda x: (x[1:], x[:1], x[1:] * 2, x), lambda: (square(),)),
    (lambda x: (x * 2)[1:], lambda: (line(),)),
    (lambda x: (x * 2)[::-2], lambda: (line(),)),
    (parts_of_a_result, lambda: (line(),)),
    (lambda x: np.broadcast_to(x, (3, 16)), lambda: (line(),)),
    (lambda x: np.broadcast_to(x * 2, (3, 16)), lambda: (line(),)),
    (lambda x: x[1:], lambda: (read_only(),)),
    (add_one_and_view, lambda: (square(),)),
    (lambda x, y: x + y, lambda: two_of(np.arange(20.0), slice(4, None), slice(16))),
    (lambda x, y: (x + y, y[1:]), lambda: two_of(np.arange(20.0), slice(None, None, 2), slice(1, 11))),
    (lambda pair: pair[0] + pair[1], lambda: ((line(), line()),)),
    (lambda x, of: {"y": x * of["a"] + of["b"][0], "x": x}, lambda: (line(), {"a": 3, "b": [line(), "c", None]})),
    (lambda x, shape: x.reshape(shape) + 1, lambda: (line(), (4, 4))),
    (lambda x: x + 1, lambda: (line(">f8"),)),
    (lambda x, y: (y[::2].T + x, x), lambda: (line(">i4")[:8], line(">f8")[::-1])),
    (lambda x, y: y * x, lambda: (misaligned(), line())),
    (lambda x: (x[x > 3], x[x > 99], x[x >= 0]), lambda: (line(),)),
    (mixed, lambda: (line(),)),
    (mixed, lambda: (-line(),)),
    (either, lambda: (line(), 2)),
    (either, lambda: (-line(), 2)),
    (either, lambda: (-line(), 5)),
    (either_argument, lambda: (line(), line() + 1)),
    (either_argument, lambda: (line() + 1, line())),
    (lambda x: x * FACTOR + TABLE, lambda: (np.arange(3.0),)),
    (closure(), lambda: (line(),)),
]


@pytest.mark.parametrize(("function", "arguments"), DIRECT)
def test_a_call_that_native_code_takes_over_is_the_same(function, arguments) -> None:
    compiled = taken_over(function, *arguments())
    assert is_direct(compiled, *arguments())
    for _ in range(2):
        assert not differences(function, compiled, arguments)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (add_one, lambda: (line(">f8"),)),
        (lambda x: (x[1:], x + 1), lambda: (line(">f8"),)),
        (lambda x, i: x[i:], lambda: (line(), np.int64(2))),  # a view that the run moves
        (shown, lambda: (square(),)),
        (lambda by_number: by_number[1] + 1, lambda: ({1: line()},)),
    ],
)
def test_what_stays_pythons(function, arguments) -> None:
    compiled = taken_over(function, *arguments())
    assert not is_direct(compiled, *arguments())
    assert not differences(function, compiled, arguments)


def test_named_arguments() -> None:
    def f(x, k, y=1):
        return x * k + y

    compiled = taken_over(f, line(), y=3, k=2.0)
    assert is_direct(compiled, line(), y=3, k=2.0) and not is_direct(compiled, line(), 2.0, 3)
    assert compiled(line(), y=5, k=2.0).tolist() == f(line(), y=5, k=2.0).tolist()
    assert compiled(line(), k=5, y=2.0).tolist() == f(line(), k=5, y=2.0).tolist()


@pytest.mark.parametrize(
    "other",
    [
        *(lambda dtype=dtype: line(dtype) for dtype in (np.float32, np.int64, ">f8", np.complex128)),
        *(lambda shape=shape: np.ones(shape) for shape in ((15,), (16, 1), (0,), ())),
        lambda: line().repeat(2)[::2],
        lambda: line()[::-1],
        read_only,
        misaligned,
        lambda: 3,
        lambda: 3.5,
        lambda: np.float64(3),
    ],
)
def test_another_form_of_argument_is_seen(other) -> None:
    def f(x):
        return x * 2 + 1

    compiled = taken_over(f, line())
    assert is_direct(compiled, line()) and not is_direct(compiled, other())
    for _ in range(3):
        assert not differences(f, compiled, lambda: (other(),))
    assert is_direct(compiled, line())


def test_an_array_that_was_pickled_is_like_any_other() -> None:
    compiled = taken_over(lambda x: x + 1, line())
    x = pickle.loads(pickle.dumps(line()))
    assert x.dtype is not line().dtype and is_direct(compiled, x)


def test_arrays_of_another_class_are_seen() -> None:
    class Subclass(np.ndarray):
        pass

    compiled = taken_over(lambda x: x + 1, line())
    for other in (line().view(Subclass), lamina.asarray(line())):
        assert not is_direct(compiled, other)
    with pytest.raises(TypeError, match="argument x is Subclass"):
        compiled(line().view(Subclass))
    for _ in range(3):
        result = compiled(other)
        assert not is_direct(compiled, other) and np.asarray(result).tolist() == (line() + 1).tolist()
        assert isinstance(result, lamina.Array)


def test_numbers_of_another_type_or_value_are_seen() -> None:
    compiled = taken_over(lambda a: a + a, 3)
    assert is_direct(compiled, -(2**62))
    for number in (3.0, True, 2**64, np.int64(3), np.int8(3)):
        assert not is_direct(compiled, number)
        assert type(compiled(number)) is type(number + number) and compiled(number) == number + number
    for pinned, others in ((2, (3, 2.0, True)), (2.0, (3.0, 2)), (True, (False, 1)), (0.0, (-0.0,))):
        compiled = taken_over(lambda x, k: x * int(k + 1) if k else x - 1, line(), pinned)
        if is_direct(compiled, line(), pinned):
            for other in others:
                assert (compiled(line(), other) == (line() * int(other + 1) if other else line() - 1)).all()


def test_many_forms_and_the_first_again() -> None:
    compiled = lamina.defn(lambda x: x + 1, compiler="native", strict=True)
    for _ in range(3):
        for count in range(80):
            assert compiled(np.arange(count)).tolist() == list(range(1, count + 1))
    assert is_direct(compiled, np.arange(79)) and len(compiled._cases[()]) <= 64


def test_what_changes_outside_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = taken_over(lambda x: x * FACTOR, line())
    assert is_direct(compiled, line())
    monkeypatch.setitem(globals(), "FACTOR", 3.5)
    assert not is_direct(compiled, line())
    assert compiled(line()).tolist() == (line() * 3.5).tolist()
    monkeypatch.delitem(globals(), "FACTOR")
    with pytest.raises(NameError):
        compiled(line())


def test_what_changes_in_a_closure_or_in_defaults_is_seen() -> None:
    scale = 2.0

    def f(x, k=3.0):
        return x * scale * k

    compiled = taken_over(f, line())
    assert is_direct(compiled, line())
    scale = 5.0
    assert not is_direct(compiled, line())
    assert compiled(line())[1] == 15
    f.__defaults__ = (4.0,)
    assert compiled(line())[1] == 20

    def g(x, *, k=3.0):
        return x * k

    compiled = taken_over(g, line())
    assert is_direct(compiled, line())
    g.__kwdefaults__ = {"k": 4.0}
    assert not is_direct(compiled, line())
    assert compiled(line())[1] == 4


def test_elements_and_form_of_a_captured_array_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.arange(4.0)
    monkeypatch.setitem(globals(), "TABLE", table)
    compiled = taken_over(lambda x: x + TABLE, np.ones(4))
    table[0] = 7
    assert is_direct(compiled, np.ones(4))
    assert compiled(np.ones(4)).tolist() == [8, 2, 3, 4]
    table.shape = (4, 1)
    assert not is_direct(compiled, np.ones(4))
    assert compiled(np.ones(4)).shape == (4, 4)


def test_a_container_from_outside_may_change() -> None:
    held = [2.0]
    compiled = taken_over(lambda x: x * held[0], line())
    assert is_direct(compiled, line())
    held[0] = 3.0
    assert not is_direct(compiled, line())
    assert compiled(line())[1] == 3


def test_a_failure_is_raised_with_the_arguments_as_numpy_leaves_them() -> None:
    def f(x, i):
        x[0] = 5
        y = x[i] + 1
        x[1] = 6
        return y

    compiled = taken_over(f, line(), np.array([2, 3]))
    assert is_direct(compiled, line(), np.array([2, 3]))
    assert not is_direct(compiled, line(), np.array([2, 99]))
    assert not differences(f, compiled, lambda: (line(), np.array([2, 99])))
    with pytest.raises(IndexError, match="99"):
        compiled(line(), np.array([2, 99]))


def test_arguments_that_share_memory_where_one_is_written() -> None:
    def f(x, y):
        x[1:] += y[:-1]
        return y * 2

    compiled = taken_over(f, line(), line())
    assert is_direct(compiled, line(), line())
    shared = np.arange(20.0)
    assert not is_direct(compiled, shared[:16], shared[4:])

    def overlapping() -> tuple[np.ndarray, np.ndarray]:
        memory = np.arange(20.0)
        return memory[:16], memory[4:]

    def one() -> tuple[np.ndarray, np.ndarray]:
        memory = line()
        return memory, memory

    for arguments in (overlapping, one, lambda: tuple(np.arange(32.0).reshape(2, 16))):
        for _ in range(3):
            assert not differences(f, compiled, arguments)


def test_views_of_one_memory_elsewhere_in_it() -> None:
    memory = np.arange(40.0)
    compiled = taken_over(lambda x, y: x - y, memory[4:20], memory[:16])
    assert is_direct(compiled, memory[14:30], memory[10:26])
    for others in ((memory[5:21], memory[:16]), (memory[:16], memory[4:20]), (memory[4:20], memory[20:36])):
        assert not is_direct(compiled, *others)
        assert compiled(*others).tolist() == (others[0] - others[1]).tolist()


def test_a_length_that_the_run_tells() -> None:
    def f(x, y):
        return (x * 2)[: int(y[0])], y + 1

    compiled = taken_over(f, square(), line(int))
    assert is_direct(compiled, square(), line(int))
    for length in (0, 1, 3, 4, 9, -1):
        assert not differences(f, compiled, lambda: (square(), line(int) + length))  # noqa: B023


def test_containers_of_another_structure_are_seen() -> None:
    def f(of):
        return of["a"] - of["b"] if isinstance(of, dict) else of[0]

    compiled = taken_over(f, {"a": line(), "b": line() * 2})
    assert is_direct(compiled, {"a": line(), "b": line() * 2})
    for other in (
        {"b": line(), "a": line() * 2},
        [line(), line()],
        {"a": line(), "b": 2},
        {"a": line(), "b": line(int)},
    ):
        assert not is_direct(compiled, other)
        assert compiled(other).tolist() == f(other).tolist()


def test_containers_of_the_users_own_classes_stay_pythons() -> None:
    @dataclasses.dataclass
    class Pair:
        x: np.ndarray
        y: Any

    compiled = taken_over(lambda pair: pair.x + pair.y, Pair(line(), 1))
    assert not compiled._direct
    assert compiled(Pair(line(), 1.5))[0] == 1.5


def test_one_array_given_twice() -> None:
    compiled = taken_over(lambda x, y: x + y, *[line()] * 2)
    assert is_direct(compiled, *[line()] * 2) and not is_direct(compiled, line(), line())
    assert compiled(line(), line() * 2)[1] == 3


def test_results_are_memory_of_their_own() -> None:
    compiled = taken_over(lambda x: x + 1, line())
    results = [compiled(line() + k) for k in range(3)]
    assert [each[0] for each in results] == [1, 2, 3]
    assert all(each.flags.owndata and each.flags.writeable for each in results)


def test_what_lies_between_an_arrays_elements_is_left_alone() -> None:
    """Two threads may write an array, each every other of its elements."""

    def f(x, turns):
        for _ in range(turns):
            x[1:-1] = (x[:-2] + x[2:]) * 0.5

    memory = np.arange(256.0) ** 2
    expected = memory.copy()
    halves = [(memory[k::2], 3_000) for k in (0, 1)]
    for k in (0, 1):
        f(expected[k::2], 3_002)  # of which two calls are to learn
    compiled = lamina.defn(f, compiler="native", strict=True)
    for half, _ in halves:
        for _ in range(2):
            compiled(half, 1)
        assert compiled._direct
    threads = [threading.Thread(target=compiled, args=half) for half in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.tolist() == expected.tolist()


def test_several_threads_at_once() -> None:
    def f(x, turns):
        for _ in range(turns):
            x = np.sqrt(x * x + 1) - x[::-1] * 0.5
        return x

    compiled = taken_over(f, np.arange(64.0), 3)
    assert is_direct(compiled, np.arange(64.0), 3)
    expected = [f(np.arange(64.0) + k, 2_000) for k in range(6)]
    found: dict[int, list[np.ndarray]] = {k: [] for k in range(6)}

    def work(k: int) -> None:
        found[k] += [compiled(np.arange(64.0) + k, 2_000) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, results in found.items():
        assert len(results) == 5 and all(np.array_equal(each, expected[k]) for each in results)


@pytest.mark.parametrize("calls", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_calls_leave_nothing_behind(calls: int) -> None:
    name = "".join(["a ", "name"])  # whose references nobody else changes

    def f(x, k, how):
        total = x.sum()
        return x * k + TABLE[0, 0], total, float(total), x, how

    def g(x, i):
        x += 1
        return x[i]

    compiled, failing = taken_over(f, line(), 2, name), taken_over(g, line(), np.array([1, 2]))
    x, i, wrong = line(), np.array([1, 2]), np.array([1, 99])
    assert is_direct(compiled, x, 2, name) and is_direct(failing, x, i)
    counted = [x, i, wrong, name, x.dtype, None, TABLE, float, np.ndarray, MISS, np, compiled._direct[()]]

    def run(times: int) -> None:
        for _ in range(times):
            compiled(x, 2, name)
            failing(x, i)
            failing._direct[()](x, wrong)

    run(100)
    tracemalloc.start()
    run(100)
    gc.collect()
    references, before = [sys.getrefcount(each) for each in counted], tracemalloc.get_traced_memory()[0]
    run(calls)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert [sys.getrefcount(each) for each in counted] == references
    assert after - before < 2_000


def test_a_function_that_is_dropped_frees_its_tables() -> None:
    compiled = taken_over(lambda x: x + 1, line())
    assert is_direct(compiled, line())
    (case,) = compiled._cases[()]
    tables = weakref.ref(case)
    del case, compiled
    gc.collect()
    assert tables() is None


def test_where_objects_have_another_form_calls_go_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "_is_known", lambda: False)
    compiled = taken_over(lambda x: x + 1, line())
    assert not compiled._direct
    assert compiled(line())[1] == 2


def test_a_call_within_a_trace_is_part_of_it() -> None:
    inner = taken_over(lambda x: x + 1, line())
    assert is_direct(inner, line())
    graph = lamina.trace(lambda x: inner(x) + inner(TABLE).sum(), line())
    assert str(graph).count("add") == 3
