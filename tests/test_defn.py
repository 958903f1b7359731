"""`lamina.defn`: one trace for each structure, the right program for each call, and results as the function's own."""

import copy
import enum
import functools
import gc
import pickle
import random
import sys
import threading
import warnings
import weakref
from collections import Counter, OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal

import ml_dtypes
import numpy as np
import optree
import pytest

import lamina
from lamina.errors import ConcretizationError, LaminaWarning, TraceError

Pair = namedtuple("Pair", "second first")


@dataclass
class Point:
    """A dataclass of arrays."""

    y: object
    x: object = None


class Registered:
    """A class of a user's own."""

    def __init__(self, left, right, name) -> None:
        self.left, self.right, self.name = left, right, name


optree.register_pytree_node(
    Registered,
    lambda r: ((r.left, r.right), r.name),
    lambda name, children: Registered(*children, name),
    namespace="lamina",
)


class Traces:
    """A decorator that counts how often a function is traced."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, function):
        @functools.wraps(function)
        def counted(*args, **kwargs):
            self.count += 1
            return function(*args, **kwargs)

        return lamina.defn(counted)


@pytest.fixture
def traces() -> Traces:
    return Traces()


def assert_same(left, right) -> None:
    """Equal, with equal types, dtypes and shapes."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, dict):
        assert list(left) == list(right) and list(map(type, left)) == list(map(type, right))
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, (tuple, list)):
        assert len(left) == len(right)
        for a, b in zip(left, right, strict=True):
            assert_same(a, b)
    else:
        assert repr(left) == repr(right)


# One trace for each structure


def test_one_trace_for_each_structure(traces: Traces) -> None:
    f = traces(lambda x, y=1.0: x + y)
    for x in (np.ones(3), np.zeros(3), np.arange(3.0)):
        f(x)
    assert traces.count == 1
    different = [
        (np.ones(4),),
        (np.ones((3, 1)),),
        (np.ones(3, np.float32),),
        (lamina.asarray(np.ones(3)),),
        (np.ones(3), 2),
        (np.ones(3), 2.0),
        (np.ones(3), True),
        (np.ones(3), 1j),
        (np.ones(3), np.float64(2)),
        (np.ones(3), np.float32(2)),
        (np.ones(3), np.array(2.0)),
        (1,),
    ]
    for n, args in enumerate(different, 2):
        f(*args)
        f(*args)
        assert traces.count == n, args
    f(np.ones(3), y=2.0)
    f(np.ones(3), y=3.0)
    assert traces.count == len(different) + 2


def test_containers_are_part_of_the_structure(traces: Traces) -> None:
    f = traces(lambda tree: lamina.expr.containers.map_leaves(lambda leaf: leaf + 1, tree))
    x = np.ones(2)
    trees = [
        x,
        (x,),
        [x],
        {"a": x},
        {"b": x},
        {"a": x, "b": x},
        {"b": x, "a": x},
        {1: x},
        {True: x},
        {1.0: x},
        OrderedDict(a=x),
        Pair(x, x),
        (x, x),
        Point(x, x),
        Point(x),
        [(x,), None],
        None,
        (),
        {"outer": {1: x}},
        {"outer": {True: x}},
    ]
    for n, tree in enumerate(trees, 1):
        for _ in range(2):
            result = f(tree)
            expected = lamina.expr.containers.map_leaves(lambda leaf: leaf + 1, tree)
            if isinstance(tree, Point):
                assert_same([result.y, result.x], [expected.y, expected.x])
            else:
                assert_same(result, expected)
            assert traces.count == n, tree


def test_numbers_are_not_traced_again_for_each_value(traces: Traces) -> None:
    f = traces(lambda p, a, b: p * (a * b))
    p = np.array([1, 2])
    for n in range(1, 51):
        np.testing.assert_array_equal(f(p, n / 100, 1.0), p * (n / 100))
    assert traces.count == 1
    assert_same(f(p, 2, 1.0), p * 2.0)
    assert_same(f(p, 2, 3), p * 6)
    assert_same(f(p, True, 3), p * 3)
    assert traces.count == 4
    for n in range(10):
        f(p, n, n)
        f(p, bool(n % 2), n)
    assert traces.count == 4


def test_a_pinned_number_is_traced_for_each_value_and_no_other_is(traces: Traces) -> None:
    f = traces(lambda x, n, k: sum((x * k for _ in range(n)), np.zeros(2)))
    x = np.ones(2)
    for n in (3, 2, 3, 2, 0):
        for k in (0.5, 2.0, 7.5):
            np.testing.assert_array_equal(f(x, n, k), x * n * k)
    # one for each value of n; the first trace, which finds that n is needed, has left nothing behind
    assert traces.count == 3


@pytest.mark.parametrize("values", [(1, True, 1.0), (0.0, -0.0), (2, 2.0)], ids=str)
def test_pinned_values_are_typed(values) -> None:
    f = lamina.defn(lambda k: repr(complex(k)) + type(k).__name__ if k == k else "nan")
    g = lamina.defn(lambda k: (bool(k), k)[1])
    for _ in range(2):
        for k in values:
            assert f(k) == repr(complex(k)) + type(k).__name__
            assert repr(g(k)) == repr(k)


def test_nan_reuses_one_entry(traces: Traces) -> None:
    f = traces(lambda k: "nan" if k != k else "number")
    for nan in (float("nan"), float("nan"), -float("nan")):
        assert f(nan) == "nan"
    assert traces.count <= 4


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


def test_static_arguments_are_part_of_the_key(traces: Traces) -> None:
    f = traces(lambda x, mode: (x * 2, mode))
    x = np.ones(2)
    for _ in range(2):
        for mode in (
            "a",
            b"a",
            "b",
            Mode.FAST,
            Mode.SLOW,
            np.float32,
            np.dtype("f4"),
            lamina.float32,
            len,
            range(3),
            frozenset({1}),
            frozenset({True}),
            frozenset({1.0}),
            Decimal("1.0"),
            Decimal("1.00"),
            Ellipsis,
            int,
            2**70,
            -(2**70),
        ):
            result, back = f(x, mode)
            assert back is mode or (type(back) is type(mode) and repr(back) == repr(mode)), mode
            np.testing.assert_array_equal(result, x * 2)
    assert traces.count == 19


def test_hash_collisions_do_not_mix_up_entries() -> None:
    class Collides:
        def __init__(self, name: str) -> None:
            self.name = name

        def __hash__(self) -> int:
            return 7

    f = lamina.defn(lambda x, key: x + len(key.name))
    assert [f(1, Collides("a" * n)) for n in range(5)] == [1, 2, 3, 4, 5]
    g = lamina.defn(lambda k: [k, range(int(k) + 3)[-1]])
    assert [g(-1), g(-2)] == [[-1, 1], [-2, 0]]  # hash(-1) == hash(-2)


def test_big_integers_are_static() -> None:
    f = lamina.defn(lambda n: n + 1)
    for n in (2**63 - 2, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**40):
        assert f(n) == n + 1 and type(f(n)) is int


def test_functions_at_one_address_are_not_confused() -> None:
    for i in range(200):
        f = lamina.defn(lambda x, i=i: x + i, compiler="evaluator")
        assert f(0) == i
        del f
        if i % 20 == 0:
            gc.collect()

    def use(i: int) -> None:
        g = lamina.defn(lambda x: x + i)
        results.append(g(0) == i)

    results: list[bool] = []
    for i in range(20):
        thread = threading.Thread(target=use, args=(i,))
        thread.start()
        thread.join()
        gc.collect()
    assert results == [True] * 20


def test_closures_never_share_an_entry() -> None:
    def make(op):
        return lamina.defn(lambda x, y: op(x, y))

    add, multiply = make(np.add), make(np.multiply)
    assert (add(6, 3), multiply(6, 3), add(6, 3)) == (9, 18, 9)


def test_a_result_is_freed_with_its_last_name() -> None:
    compiled = lamina.defn(lambda x: x + 1)
    compiled(np.ones(3))
    gc.collect()
    gc.disable()
    try:
        result = compiled(np.ones(3))
        alive = weakref.ref(result)
        del result
        assert alive() is None
    finally:
        gc.enable()


def test_the_cache_is_freed_with_the_function() -> None:
    class Big:
        pass

    key = Big()
    f = lamina.defn(lambda x, static: x + 1)
    f(np.ones(3), key)
    f(np.ones(3), 2.0)
    gone = [weakref.ref(key), weakref.ref(f)]
    del f, key
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_arguments_are_not_kept() -> None:
    f = lamina.defn(lambda x: x + 1)
    x = np.ones(3)
    result = f(x)
    gone = [weakref.ref(x), weakref.ref(result)]
    del x, result
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_a_function_that_is_dropped_is_freed_with_its_trace(tmp_path) -> None:
    def dropped(number: int) -> list[weakref.ref]:
        path = tmp_path / f"dropped_{number}.py"
        path.write_text(
            "def dropped(x):\n"
            "    for _ in range(20):\n"
            f"        x = x * scale + {number}\n"
            "    return -x if x.sum() > 0 else scaled(x)\n"
            "def scaled(x):\n"
            f"    return x * scale * {number}\n"
        )
        scale = np.full(3, 0.5)
        namespace = {"scale": scale}
        exec(compile(path.read_text(), path, "exec"), namespace)
        function, other = namespace["dropped"], namespace["scaled"]
        decorated = lamina.defn(function, strict=True)
        np.testing.assert_array_equal(decorated(np.full(3, -9.0)), function(np.full(3, -9.0)))
        return [weakref.ref(each) for each in (scale, decorated, function, function.__code__, other.__code__)]

    def of_lamina() -> Counter[type]:
        gc.collect()
        return Counter(kind for kind in map(type, gc.get_objects()) if str(kind.__module__).startswith("lamina."))

    dropped(0)
    before = of_lamina()
    gone = [each for number in range(1, 50) for each in dropped(number)]
    assert of_lamina() == before
    assert [each() for each in gone] == [None] * 245


def test_sixteen_threads_trace_once(traces: Traces) -> None:
    barrier = threading.Barrier(16)
    results: list = [None] * 16

    def slow(x, n):
        return sum((np.sqrt(x + i) for i in range(n)), x * 0)

    f = traces(slow)
    x = np.linspace(0, 1, 5)

    def work(place: int) -> None:
        barrier.wait()
        results[place] = [f(x + place, 8), f(x, 8)]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert traces.count == 1  # the one that finds that n is needed has left nothing behind
    for place, (first, second) in enumerate(results):
        np.testing.assert_array_equal(first, slow(x + place, 8))
        np.testing.assert_array_equal(second, slow(x, 8))


def test_threads_with_different_structures(traces: Traces) -> None:
    f = traces(lambda x: x * 2 + 1)
    barrier = threading.Barrier(16)
    wrong: list = []

    def work(n: int) -> None:
        barrier.wait()
        for shape in range(1, 9):
            x = np.full(shape, float(n))
            if not np.array_equal(f(x), x * 2 + 1):
                wrong.append((n, shape))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and traces.count == 8


def test_compiled_functions_call_each_other_in_threads() -> None:
    """Tracing holds one function's lock at a time: two that call each other from two threads don't wait for ever."""
    f = lamina.defn(lambda x, n: x if n == 0 else g(x + 1, n - 1))
    g = lamina.defn(lambda x, n: x if n == 0 else f(x * 2, n - 1))
    results = []
    threads = [threading.Thread(target=lambda h=h: results.append(h(np.ones(2), 4).tolist())) for h in (f, g) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(results) == [[7.0, 7.0]] * 4 + [[10.0, 10.0]] * 4


def test_a_slow_retrace_warns_once() -> None:
    f = lamina.defn(lambda x, tree: x + sum(x for _ in range(tree["n"])))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(15):
            f(1.0, {"n": n})
    (warning,) = caught
    assert warning.category is LaminaWarning and warning.filename == __file__
    assert "was traced for 10 values of tree['n']" in str(warning.message) and "lamina.fori_loop" in str(
        warning.message
    )


def test_an_error_while_tracing_is_raised_each_time_and_leaves_no_entry(traces: Traces) -> None:
    fail = [True]

    def f(x):
        if fail:
            raise ZeroDivisionError("not yet")
        return x + 1

    compiled = traces(f)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="not yet"):
            compiled(1)
    fail.clear()
    # whenever tracing raises, the function itself is called, which is what raises and what counts
    assert compiled(1) == 2 and traces.count == 2 + 1


# What comes in


def variants(x: np.ndarray) -> dict[str, np.ndarray]:
    """The same elements in every kind of memory."""
    padded = np.zeros((2 * x.shape[0], 2 * x.shape[1]), x.dtype)
    padded[::2, ::2] = x
    reversed_ = np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    read_only = x.copy()
    read_only.flags.writeable = False
    unaligned = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    return {
        "C": np.ascontiguousarray(x),
        "Fortran": np.asfortranarray(x),
        "strided": padded[::2, ::2],
        "reversed": reversed_,
        "read-only": read_only,
        "big-endian": x.astype(x.dtype.newbyteorder(">")),
        "unaligned": unaligned,
        "broadcast": np.broadcast_to(x[:1, :1], x.shape) if (x == x[0, 0]).all() else x,
    }


@pytest.mark.parametrize("kind", variants(np.ones((2, 3))))
def test_every_memory_and_no_argument_is_written(kind: str) -> None:
    def program(x, y):
        z = x * 2 + y
        return {"sum": z.sum(axis=0), "moved": z.T, "part": z[::-1, 1:], "max": z.max(), "row": x[1]}

    for base in (np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3)):
        x, y = variants(base)[kind], variants(base + 1)[kind]
        before = x.copy(), y.copy()
        result = lamina.defn(program)(x, y)
        expected = program(x, y)
        for key, value in expected.items():
            np.testing.assert_array_equal(result[key], value)
            assert result[key].dtype == value.dtype, key
        np.testing.assert_array_equal(x, before[0])
        np.testing.assert_array_equal(y, before[1])


@pytest.mark.parametrize("name", sorted(lamina.dtype.DTYPES))
def test_every_dtype(name: str) -> None:
    dtype = lamina.dtype.DTYPES[name]
    x = np.array([False, True, True]).astype(dtype.numpy)
    f = lamina.defn(lambda x: (x[::-1], {"x": x}, x[0]))
    reversed_, same, first = f(x)
    assert reversed_.dtype == x.dtype and reversed_.astype(bool).tolist() == [True, True, False]
    assert same["x"] is x
    assert first == x[0]
    back = f(lamina.asarray(x))
    assert type(back[0]) is lamina.Array and back[0].dtype == dtype
    assert np.asarray(back[0]).astype(bool).tolist() == [True, True, False]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1), (2,) * 8])
def test_every_rank_and_no_elements(shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape)), dtype=float).reshape(shape)
    f = lamina.defn(lambda x: (x + 1, x.sum(), x.T * 2))
    for result, expected in zip(f(x), (x + 1, x.sum(), x.T * 2), strict=True):
        assert_same(result, expected)


def test_a_mapped_file_is_an_array(tmp_path) -> None:
    x = np.memmap(tmp_path / "x", np.float64, "w+", shape=(3,))
    x[:] = [1, 2, 3]
    doubled, same = lamina.defn(lambda x: (x * 2, x))(x)
    np.testing.assert_array_equal(doubled, [2.0, 4.0, 6.0])
    assert same is x


def test_which_arrays_are_one_is_asked_at_each_call() -> None:
    def program(x, y):
        return x is y, x is not y, x + 1 if x is y else x + y

    x, y = np.ones(2), np.full(2, 5.0)
    for compiler in ("evaluator", "native"):
        f = lamina.defn(program, compiler=compiler)
        for args in ((x, y), (x, x), (x, y), (y, y), (x, x), (y, x), (x, x[:]), (y, y)):
            for came, expected in zip(f(*args), program(*args), strict=True):
                np.testing.assert_array_equal(came, expected)


# What comes out


def test_results_are_of_numpys_kinds() -> None:
    x = np.arange(6.0).reshape(2, 3)

    def program(x, n, s):
        return {
            "array": x + 1,
            "scalar of a reduction": x.sum(),
            "scalar of an element": x[0, 1],
            "0-d array": x[0, 1, ...],
            "0-d where": np.where(True, x[0, 0], 1.0),
            "Python int": n + 1,
            "Python float": n / 2,
            "Python bool": n > 2,
            "Python complex": n * 1j,
            "NumPy scalar": s * 2,
            "scalar and number": s + n,
            "constant": 5,
            "text": "text",
            "nothing": None,
        }

    result = lamina.defn(program)(x, 3, np.float32(1.5))
    assert_same(result, program(x, 3, np.float32(1.5)))


def test_lamina_arrays_come_back_as_lamina_arrays() -> None:
    x = lamina.asarray(np.arange(3.0))
    result = lamina.defn(lambda x, n: {"a": x + 1, "b": x.sum(), "c": (x, n)})(x, 3)
    assert type(result["a"]) is type(result["b"]) is lamina.Array and result["b"].shape == ()
    assert result["c"][0] is x and result["c"][1] == 3
    mixed = lamina.defn(lambda x, y: x + y)(x, np.ones(3))
    assert type(mixed) is lamina.Array


@pytest.mark.parametrize(
    "x",
    [
        np.ones(3),
        np.asfortranarray(np.ones((2, 3))),
        np.ones(4)[::-1],
        np.ones(3, ">f8"),
        np.ones(3, ml_dtypes.bfloat16),
        np.ones(3, ml_dtypes.int4),
        np.array(1.0),
        lamina.asarray([1, 2]),
        5,
        2.5,
        10**30,
        np.float32(1),
        "static",
    ],
    ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')}",
)
def test_an_argument_that_is_returned_is_the_same_object(x) -> None:
    f = lamina.defn(lambda x, p: [x, {"x": x}, lamina.cond(p, lambda: x, lambda: x) if hasattr(x, "shape") else x])
    for result in (f(x, True), f(x, False)):
        assert result[0] is x and result[1]["x"] is x
        if hasattr(x, "shape") and not np.isscalar(x):
            assert result[2] is x


def test_a_copy_is_another_object() -> None:
    x = np.ones(3)
    f = lamina.defn(lambda x: (x.copy(), x.astype(np.float64), +x, np.copy(x), x + 0, np.concatenate([x])))
    for result in f(x):
        assert not np.shares_memory(result, x)
        result[0] = 5  # writable, as NumPy's
    np.testing.assert_array_equal(x, [1.0, 1.0, 1.0])


def test_results_alias_arguments_only_where_numpys_do() -> None:
    x = np.arange(6.0).reshape(2, 3)
    program = {
        "transposed": lambda x: x.T,
        "reshaped": lambda x: x.reshape(3, 2),
        "sliced": lambda x: x[::-1, 1:],
        "row": lambda x: x[1],
        "reshaped copy": lambda x: x.T.reshape(-1),
        "broadcast": lambda x: np.broadcast_to(x, (4, 2, 3)),
        "sum": lambda x: x.sum(axis=0),
        "where": lambda x: np.where(x > 1, x, 0),
        "sorted": lambda x: np.sort(x),
        "concatenated": lambda x: np.concatenate([x, x]),
        "taken": lambda x: x[[0, 1]],
        "same": lambda x: x,
        "loop": lambda x: lamina.fori_loop(0, 2, lambda i, c: c * 2, x),
        "branch": lambda x: x if x[0, 0] == 0 else x * 2,
        "other branch": lambda x: x if x[0, 0] > 0 else x * 2,
    }
    alias = {"transposed", "reshaped", "sliced", "row", "broadcast", "same", "branch"}
    for name, function in program.items():
        assert np.shares_memory(lamina.defn(function)(x), x) == (name in alias), name

    def turned(x, n):
        for _ in range(n):
            x = x * 2
        return x

    assert [np.shares_memory(lamina.defn(turned)(x, n), x) for n in (0, 1)] == [True, False]


def test_results_of_earlier_calls_stay_valid() -> None:
    f = lamina.defn(lambda x: x + 1)
    results = [f(np.array([i])) for i in range(1, 6)]
    assert [int(result[0]) for result in results] == [2, 3, 4, 5, 6]
    shift = lamina.defn(lambda buffer, new: np.concatenate([buffer[len(new) :], new]))
    buffer, expected = np.zeros(8), np.zeros(8)
    for n in range(1, 6):
        new = np.full(4, float(n))
        buffer, expected = shift(buffer, new), np.concatenate([expected[4:], new])
        np.testing.assert_array_equal(buffer, expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros(3),
        lambda: lamina.zeros(3) + 1,
        lambda: np.arange(3.0),
        lambda: TABLE,
        lambda: TABLE[::-1],
        lambda: lamina.asarray(TABLE)[1:],
        lambda: lamina.broadcast_to(lamina.asarray(2.0), (3,)),
        lambda: lamina.cond(True, lambda: TABLE, lambda: TABLE * 2),
        lambda: lamina.fori_loop(0, 0, lambda i, c: c * 2, TABLE),
        lambda: lamina.fori_loop(0, 1, lambda i, c: TABLE, np.ones(3)),
        lambda: lamina.hook(TABLE, "h"),
        lambda: lamina.block("b", lambda: TABLE),
        lambda: lamina.fun(lambda x: x)(TABLE),
    ],
)
def test_a_result_is_never_memory_of_the_program(make) -> None:
    """Whoever writes into what was returned changes neither the next result nor a captured array."""
    f = lamina.defn(lambda x: make())
    first = np.asarray(f(0)).copy()
    table = TABLE.copy()
    for _ in range(3):
        result = np.asarray(f(0))
        np.testing.assert_array_equal(result, first)
        if result.flags.writeable:  # a broadcast array isn't, as NumPy's
            result[...] = 99
    np.testing.assert_array_equal(TABLE, table)


TABLE = np.array([1.0, 2.0, 3.0])


def test_two_results_of_one_value() -> None:
    f = lamina.defn(lambda x: [y := x + 1, y, y[:2]])
    a, b, c = f(np.ones(3))
    assert a is b and np.shares_memory(a, c)  # as NumPy's


# Containers


def test_containers_in_and_out() -> None:
    def program(tree):
        return {
            "z": [tree["pair"].second + 1, (tree["point"].x * 2, None)],
            "a": Pair(tree["list"][1], Point(tree["none"], tree["point"].y)),
            3: OrderedDict(b=tree["registered"].right, a=tree["registered"].name),
            "own": Registered(tree["pair"].first, tree["list"][0], "new"),
        }

    x = np.ones(2)
    tree = {
        "pair": Pair(x, x + 1),
        "point": Point(x + 2, x + 3),
        "list": [x + 4, 7],
        "none": None,
        "registered": Registered(x + 5, x + 6, "old"),
    }
    result, expected = lamina.defn(program)(tree), program(tree)
    assert list(result) == ["z", "a", 3, "own"]
    assert_same(result["z"], expected["z"])
    assert type(result["a"]) is Pair and type(result["a"].first) is Point
    assert_same([result["a"].second, result["a"].first.x, result["a"].first.y], [7, x + 2, None])
    assert_same(result[3], expected[3])
    assert type(result["own"]) is Registered and result["own"].name == "new"
    assert_same([result["own"].left, result["own"].right], [x + 1, x + 4])


def test_dicts_keep_their_order_and_keys() -> None:
    joined = lamina.defn(lambda d: np.concatenate(list(d.values())))
    a, b = np.array([2, 3]), np.array([0, 1])
    assert joined({"b": b, "a": a}).tolist() == [0, 1, 2, 3]
    assert joined({"a": a, "b": b}).tolist() == [2, 3, 0, 1]
    assert list(lamina.defn(lambda: {"b": 1, "a": 2})()) == ["b", "a"]
    x = np.ones(1)
    assert_same(lamina.defn(lambda d: d)({1: x, "y": x, None: x, (1, 2): x}), {1: x, "y": x, None: x, (1, 2): x})


def test_keyword_arguments_and_defaults(traces: Traces) -> None:
    f = traces(lambda a, /, b, *rest, c=10.0, d=None, **more: [a, b, rest, c, d, more])
    x = np.ones(2)
    assert_same(f(1, 2), [1, 2, (), 10.0, None, {}])
    assert_same(f(1, 2, 3, 4, c=5, z=x, y="s"), [1, 2, (3, 4), 5, None, {"z": x, "y": "s"}])
    assert_same(f(1, b=2, d=x), [1, 2, (), 10.0, x, {}])
    minus = lamina.defn(lambda a, b: a - b)
    assert minus(a=5, b=3) == minus(b=3, a=5) == 2
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        minus(1)


def test_mutable_containers_in_the_arguments_are_changed_as_python_changes_them() -> None:
    def program(tree):
        tree["new"] = tree["x"] + 1
        tree["list"].append(tree["x"])
        return tree

    tree = {"x": np.ones(2), "list": [1]}
    with pytest.warns(lamina.errors.LaminaWarning, match="of an argument"):
        result = lamina.defn(program)(tree)
    assert result is tree and list(tree) == ["x", "list", "new"] and len(tree["list"]) == 2


# Methods


class Model:
    """An object with compiled methods."""

    bias = 1.0

    def __init__(self, k: float) -> None:
        self.k = k
        self.traces = 0

    @lamina.defn
    def run(self, x):
        self.traces += 1
        return x * self.k + self.bias

    @lamina.defn
    def twice(self, x):
        return self.run(self.run(x))

    @staticmethod
    @lamina.defn
    def static(x):
        return x + 1

    @classmethod
    def made(cls, x):
        return cls.compiled(x)

    @lamina.defn
    def __call__(self, x):
        return x + self.k


class Child(Model):
    """One that overrides a compiled method and calls it."""

    @lamina.defn
    def run(self, x):
        return super().run(x) + 100


def test_methods() -> None:
    model, other = Model(2.0), Model(5.0)
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(model.run(x), x * 2 + 1)
    np.testing.assert_array_equal(other.run(x), x * 5 + 1)
    np.testing.assert_array_equal(model.run(x), x * 2 + 1)
    assert model.traces == other.traces == 1
    np.testing.assert_array_equal(model.twice(x), (x * 2 + 1) * 2 + 1)
    np.testing.assert_array_equal(Model.run(model, x), x * 2 + 1)
    np.testing.assert_array_equal(model.static(x), x + 1)
    np.testing.assert_array_equal(model(x), x + 2)
    assert model.run is model.run and model.run is not other.run


def test_attributes_that_change_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(2.0)
    assert model.run(1.0) == 3.0
    model.k = 5.0
    assert model.run(1.0) == 6.0
    monkeypatch.setattr(Model, "bias", 7.0)
    assert model.run(1.0) == 12.0
    model.bias = 0.0
    assert model.run(1.0) == 5.0 and model.twice(1.0) == 25.0


def test_methods_that_override_and_call_super() -> None:
    child = Child(2.0)
    assert child.run(1.0) == 103.0 and child.run(2.0) == 105.0
    assert child.twice(0.0) == 303.0


def test_copies_and_pickles_of_objects_have_methods_of_their_own() -> None:
    model = Model(2.0)
    assert model.run(1.0) == 3.0
    for clone in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        clone.k = 10.0
        assert clone.run(1.0) == 11.0 and model.run(1.0) == 3.0


def test_a_method_is_freed_with_its_object() -> None:
    model = Model(2.0)
    model.run(1.0)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_a_method_of_a_class_is_freed_with_the_class() -> None:
    class Base:
        scale = 2.0

        @classmethod
        @lamina.defn
        def scaled(cls, x):
            return x * cls.scale

    def dropped(scale: float) -> weakref.ref:
        child = type("Child", (Base,), {"scale": scale})
        assert [child.scaled(3.0), Base.scaled(3.0)] == [3.0 * scale, 6.0]
        return weakref.ref(child)

    gone = [dropped(scale) for scale in (3.0, 4.0)]
    gc.collect()
    assert [each() for each in gone] == [None, None]


def test_methods_of_objects_without_a_dict() -> None:
    class Slotted:
        __slots__ = ("k",)

        def __init__(self, k) -> None:
            self.k = k

        @lamina.defn
        def run(self, x):
            return x * self.k

    slotted = Slotted(2.0)
    assert slotted.run(3.0) == 6.0
    slotted.k = 4.0
    assert slotted.run(3.0) == 12.0


def test_a_method_traced_from_many_threads_once() -> None:
    model = Model(2.0)
    barrier = threading.Barrier(16)

    def work() -> None:
        barrier.wait()
        assert model.run(1.0) == 3.0

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.traces == 1


# Globals and closures

k = 2


@lamina.defn
def scaled(x):
    """A compiled function of a module."""
    return x * k


def test_globals_and_cells_that_change() -> None:
    assert scaled(3) == 6
    globals()["k"] = 5
    try:
        assert scaled(3) == 15
        globals()["k"] = 5.0
        assert scaled(3) == 15.0 and type(scaled(3)) is float
    finally:
        globals()["k"] = 2
    assert scaled(3) == 6

    cell = 1
    f = lamina.defn(lambda x: x + cell)
    assert f(1) == 2
    cell = np.array([10.0])
    np.testing.assert_array_equal(f(1), [11.0])
    cell[0] = 20  # by reference
    np.testing.assert_array_equal(f(1), [21.0])
    cell = None
    with pytest.raises(TypeError):
        f(1)


def source_of_random_numbers(kind: str) -> object:
    return {
        "legacy": lambda: np.random.RandomState(0),
        "global": lambda: np.random,
        "Python": lambda: random.Random(0),
    }.get(kind, lambda: np.random.default_rng(0))()


@pytest.mark.parametrize("kind", ["generator", "legacy", "global", "argument", "Python"])
def test_random_numbers_are_not_frozen(kind: str) -> None:
    """What is drawn while a function is traced would be the same at each call, so such a function runs as it is."""
    rng = source_of_random_numbers(kind)
    draw = eval("lambda rng: rng.gauss(3.0, 1.0) if hasattr(rng, 'gauss') else rng.normal(3.0)")  # nothing sees inside

    def program(x, generator=None):
        return x + draw(generator if kind == "argument" else rng)

    args = (np.ones(3), rng) if kind == "argument" else (np.ones(3),)
    with pytest.raises((TraceError, NotImplementedError), match=r"random number.*lamina\.runtime_call"):
        lamina.defn(program, strict=True)(*args)
    np.random.seed(0)
    rng = source_of_random_numbers(kind)
    args = (np.ones(3), rng) if kind == "argument" else (np.ones(3),)
    expected = [program(*args) for _ in range(3)]
    np.random.seed(0)
    rng = source_of_random_numbers(kind)
    args = (np.ones(3), rng) if kind == "argument" else (np.ones(3),)
    compiled = lamina.defn(program)
    with pytest.warns(LaminaWarning, match=r"random number.*lamina\.runtime_call") as caught:
        results = [compiled(*args) for _ in range(3)]
    assert len(caught) == 1
    np.testing.assert_array_equal(results, expected)  # what tracing drew is drawn again
    at_run_time = lamina.defn(lambda x: x + lamina.runtime_call(lambda: np.random.rand(3), lamina.Spec(float, (3,))))
    assert not np.array_equal(at_run_time(np.ones(3)), at_run_time(np.ones(3)))


def test_random_numbers_of_a_seed_are_the_same_at_each_call() -> None:
    def program(x, n):
        rng = np.random.default_rng(5)
        total = x + rng.normal(size=3)
        for _ in range(n):
            total = total * rng.normal()
        return total

    compiled = lamina.defn(program, strict=True)
    for n in (0, 20):
        for _ in range(2):
            np.testing.assert_array_equal(compiled(np.ones(3), n), program(np.ones(3), n))


def test_a_captured_lamina_array() -> None:
    weights = lamina.asarray([1.0, 2.0])
    f = lamina.defn(lambda x: x * weights)
    np.testing.assert_array_equal(f(np.array([3.0, 3.0])), [3.0, 6.0])
    weights = weights + 1
    np.testing.assert_array_equal(f(np.array([3.0, 3.0])), [6.0, 9.0])


# The decorator


def test_the_decorator_looks_like_its_function() -> None:
    assert (scaled.__name__, scaled.__doc__, scaled.__module__) == (
        "scaled",
        "A compiled function of a module.",
        __name__,
    )
    assert repr(scaled) == "lamina.defn(scaled)" and scaled.__wrapped__(3) == 6
    assert pickle.loads(pickle.dumps(scaled)) is scaled and copy.deepcopy(scaled) is scaled


def test_options() -> None:
    @lamina.defn(compiler="evaluator")
    def f(x):
        return x + 1

    assert f(1) == 2
    with pytest.raises(ValueError, match=r"no compiler is named 'nope'; those installed are .*evaluator"):
        lamina.defn(lambda x: x, compiler="nope")
    with pytest.raises(TypeError, match=r"the compiler 'evaluator' has the options \['poison'\], but got \['speed'\]"):
        lamina.defn(lambda x: x, compiler="evaluator", speed=1)(1)
    with pytest.raises(TypeError, match=r"the compiler 'native' has no options, but got \['speed'\]"):
        lamina.defn(lambda x: x, speed=1)(1)
    with pytest.raises(TypeError, match="expected a function, but got 3"):
        lamina.defn(3)


def test_a_compiler_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the entry-point group: it gets the graph and the options, and what it returns is called."""
    from importlib import metadata

    got = []

    def compiler(graph, options):
        got.append((graph, options))
        return lambda x: [x * 100]

    point = metadata.EntryPoint("hundred", "nowhere:compiler", "lamina.compilers")
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: compiler)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == "lamina.compilers" else [])
    f = lamina.defn(lambda x: x + 1, compiler="hundred", level=3)
    assert f(np.float64(2)) == 200.0
    ((graph, options),) = got
    assert isinstance(graph, lamina.expr.Graph) and options == {"level": 3}


def test_a_compiled_function_inside_another_is_part_of_its_trace(traces: Traces) -> None:
    inner = traces(lambda x: np.sin(x))
    outer = lamina.defn(lambda x: inner(x) + inner(x * 2))
    graph = lamina.trace(outer, 1.0)
    assert [node.op for node in graph.order].count("sin") == 2
    assert outer(0.5) == np.sin(0.5) + np.sin(1.0)
    assert lamina.trace(inner, 1.0).name == "<lambda>"


def test_nothing_is_traced_outside_a_call() -> None:
    from lamina.trace.scope import current

    scaled(1)
    assert current() is None
    with pytest.raises(ConcretizationError):
        lamina.defn(lambda x: [1, 2][int(x[0])], strict=True)(np.ones(2))
    assert current() is None
    with pytest.raises(TraceError, match="a generator that is made at each call is returned"):
        lamina.defn(lambda x: np.random.default_rng(1), strict=True)(np.ones(2))
    assert current() is None


def test_generators_and_other_callables() -> None:
    assert lamina.defn(functools.partial(lambda a, b: a - b, 10))(3) == 7
    assert lamina.defn(np.add)(1.0, 2.0) == 3.0

    class Adder:
        def __init__(self, n) -> None:
            self.n = n

        def __call__(self, x):
            return x + self.n

    adder = Adder(3)
    f = lamina.defn(adder)
    assert f(1) == 4
    adder.n = 5
    assert f(1) == 6


def test_deep_and_shared_programs() -> None:
    def chain(x):
        y = x
        for _ in range(20_000):
            y = y + 1
        return y

    assert lamina.defn(chain)(np.float64(0)) == 20_000.0

    def halves(a, b):
        for _ in range(40):
            a, b = 0.5 * (a + b), 0.5 * (a - b)
        return a, b

    assert lamina.defn(halves)(np.float64(3), np.float64(1)) == (3 * 2.0**-20, 2.0**-20)
    assert sys.getrecursionlimit() <= 10_000


@pytest.mark.parametrize("start", [0, 4])
@pytest.mark.parametrize("step", [1, -1])
def test_fields_of_records_are_read_and_written_where_they_are(start, step):
    records = np.zeros(4, [("a", "f8"), ("b", "i4")] if start == 0 else [("b", "i4"), ("a", "f8")])
    records["a"], records["b"] = [1, 2, 3, 4], 7
    expected = records.copy()

    def doubled(x, y):
        x *= 2
        return x + y

    x, y = records["a"][::step], np.arange(4.0)
    result = lamina.defn(doubled, strict=True)(x, y)
    np.testing.assert_array_equal(result, doubled(expected["a"][::step], y))
    np.testing.assert_array_equal(records, expected)
    with pytest.warns(lamina.errors.LaminaWarning, match="share memory"):
        lamina.defn(doubled)(records["a"], records["a"][::-1])
    doubled(expected["a"], expected["a"][::-1])
    np.testing.assert_array_equal(records, expected)


def test_slices_are_static() -> None:
    f, x = lamina.defn(lambda x, key: x[key] * 2, strict=True), np.arange(6.0)
    for key in (slice(1, 4), slice(None, None, 2), slice(4, 1, -1), slice(1, 4)):
        np.testing.assert_array_equal(f(x, key), x[key] * 2)
    from_bool = lamina.defn(lambda x, start: x[start:], strict=True)
    assert from_bool(x, True).tolist() == x[1:].tolist() and from_bool(x, False).tolist() == x.tolist()


@pytest.mark.parametrize("compiler", ["native", "evaluator"])
def test_an_error_is_a_new_one_each_time(compiler) -> None:
    @lamina.defn(strict=True, compiler=compiler)
    def f(x):
        if x[0] > 0:
            raise ValueError("a")
        return x

    caught, held = [], []
    for _ in range(4):
        x = np.ones(3)
        held.append(weakref.ref(x))
        with pytest.raises(ValueError, match="a") as raised:
            f(x)
        caught.append((len(raised.traceback), tuple(raised.value.__notes__)))
        raised.value.add_note("mine")
    assert len(set(caught[1:])) == 1
    del x, raised
    gc.collect()
    assert [each() for each in held] == [None] * 4


@pytest.mark.parametrize("compiler", ["native", "evaluator"])
def test_one_memory_that_one_argument_may_write_and_another_may_not(compiler) -> None:
    def f(x, y):
        y[0] = 9
        return x + y

    def both(x, y):
        x[0] = 1.0
        return y, y[1:], x[1:]

    compiled, returned = (lamina.defn(each, strict=True, compiler=compiler) for each in (f, both))
    for _ in range(4):
        a = np.arange(4.0)
        frozen = a.view()
        frozen.flags.writeable = False
        for other in (frozen, np.broadcast_to(a[:1], (4,))):
            with pytest.raises(ValueError, match="read-only"):
                compiled(a, other)
        assert a.tolist() == [0, 1, 2, 3]
        assert compiled(frozen, a).tolist() == [18, 2, 4, 6] and a[0] == 9
        whole, part, own = returned(a, frozen)
        assert whole is frozen
        assert [each.flags.writeable for each in (whole, part, own)] == [False, False, True]
