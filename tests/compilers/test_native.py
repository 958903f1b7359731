"""The native compiler: the suite for compilers, random programs, the gallery, and what only it has."""

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.compilers.native import compile_graph as compile_native
from lamina.compilers.native import jit
from lamina.compilers.native.execute import executable
from lamina.compilers.native.support import is_native
from lamina.expr import Expr, Graph, build, with_effects
from lamina.layout import Layout
from lamina.program import fuse, lower
from lamina.program.memory import plan
from lamina.testing import run_compiler_suite
from tests.expr.graphs import param
from tests.support.random_programs import program
from tests.support.undecorated import falls_back

ROOT = Path(__file__).parents[2]
COMPUTED = ["bool", "int8", "int64", "uint8", "uint32", "float32", "float64"]
MOVED = ["int4", "bfloat16", "complex64", "complex128"]
PARTS = 10
SEEDS, LONG_SEEDS = 1_000, 20_000


def native(function: Any) -> Any:
    return lamina.defn(function, compiler="native", strict=True)


@pytest.mark.parametrize("dtype", COMPUTED)
def test_every_op_means_what_the_evaluator_says(dtype: str) -> None:
    assert run_compiler_suite("native", dtypes=[dtype], programs=())


@pytest.mark.parametrize("dtype", MOVED)
def test_other_dtypes_are_moved(dtype: str) -> None:
    ops = ["copy", "where", "gather", "concat", "pad", "take_along_axis", "add", "bitcast"]
    assert run_compiler_suite("native", ops=ops, dtypes=[dtype], programs=())


def test_every_program_of_the_suite() -> None:
    assert run_compiler_suite("native", ops=())


@pytest.mark.long
def test_everything_of_the_suite() -> None:
    assert run_compiler_suite("native")


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int, long_mode: bool) -> None:
    for seed in range(part, LONG_SEEDS if long_mode else SEEDS, PARTS):
        falls_back(program(seed), compiler="native")


# Results that don't depend on the order of a sum are NumPy's to the last bit


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arithmetic_is_not_contracted(dtype, rng) -> None:
    def f(x, y):
        return x * y - x * y, np.sqrt(x * x - y * y), (x + y) * (x - y) / (x * y + 1)

    x, y = (rng.standard_normal(1001).astype(dtype) for _ in range(2))
    with np.errstate(all="ignore"):
        for result, expected in zip(native(f)(x, y), f(x, y), strict=True):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1000])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float32, np.float64])
def test_every_length(size: int, dtype, rng) -> None:
    """Whole vectors, and what is left at the end of them."""

    def f(x, y):
        return x + y, (x == y).sum(), x[::-1] + y, x[::2] + y[: (len(y) + 1) // 2]

    x, y = (rng.integers(0, 3, size).astype(dtype) for _ in range(2))
    for result, expected in zip(native(f)(x, y), f(x, y), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shape", [(5, 7), (64, 3), (3, 64), (40, 50), (2, 3, 70), (70, 2, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_reductions_over_every_axis(shape, order: str, rng) -> None:
    x = np.asarray(rng.integers(-9, 9, shape), order=order)

    def f(x):
        sums = [x.sum(axis=axis) for axis in range(x.ndim)]
        return [*sums, x.sum(), x.max(axis=-1), x.min(axis=0), (x * 0.5).sum(axis=0), (x > 2).any(axis=-1)]

    for result, expected in zip(native(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("size", [10, 1000, 100_000, 1_000_003])
def test_a_sum_is_at_least_as_exact_as_a_pairwise_one(size: int, rng) -> None:
    x = (rng.random(size) * 10.0 ** rng.integers(-3, 4, size)).astype(np.float32)
    exact = x.astype(np.float64).sum()
    assert abs(native(lambda x: x.sum())(x) - exact) <= 4 * np.finfo(np.float32).eps * exact
    assert abs(native(lambda x: x.sum(axis=0))(np.repeat(x[:1000, None], 9, 1))[3] - x[:1000].astype(float).sum()) < (
        4e-6 * abs(x[:1000]).astype(float).sum()
    )


def test_sums_of_zeros_and_infinities() -> None:
    total = native(lambda x: x.sum())
    assert np.signbit(total(np.full(3000, -0.0))) and not np.signbit(total(np.zeros(3000)))
    assert total(np.full(3000, np.inf)) == np.inf
    assert np.isnan(total(np.array([np.inf, -np.inf] * 2000)))


@pytest.mark.parametrize("shape", [(300, 400), (3, 512, 256), (257, 300), (1000, 9), (1031, 513), (2, 261, 400)])
def test_memory_that_is_crossed(shape, rng) -> None:
    """Transposed operands are read in tiles, of which the last one may be shorter."""
    x = rng.integers(0, 99, shape)

    def f(x):
        return x.T + 1, x.T[::-1] - x.T, np.ascontiguousarray(x.T)

    for result, expected in zip(native(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
@pytest.mark.parametrize("count", [7, 8, 9, 15])
def test_short_rows_are_reduced_in_blocks(count: int, dtype, rng) -> None:
    """Lanes go across the rows, whose vectors are turned; what is left of rows and columns is read one by one."""

    def f(a, b):
        squares = ((a[:, None] - b[None]) ** 2).sum(axis=-1)
        return squares, squares.argmin(axis=1), a.max(axis=1), a.argmin(axis=1), a[::-1].sum(1), (a * 1j).imag.sum(1)

    for rows in (1, 17, 33, 64):
        a, b = (rng.integers(-9, 9, (rows, count)).astype(dtype) for _ in range(2))
        for result, expected in zip(native(f)(a, b), f(a, b), strict=True):
            np.testing.assert_array_equal(result, expected)
        z = (a + 1j * a).astype(np.complex64)
        np.testing.assert_array_equal(
            native(lambda z: (z.real.sum(1), z.imag.max(1)))(z), (z.real.sum(1), z.imag.max(1))
        )


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", [1, 5, 16, 33, 100])
def test_complex_numbers(dtype, size: int, rng) -> None:
    def f(z, w):
        turned = np.where(abs(z) > 1, z * w, z / w)
        return turned, z.conj() + w.imag, (z == w), turned[::-2], z.real.astype(dtype), z[:, None] - w[None]

    z, w = ((rng.integers(-3, 4, size) + 1j * rng.integers(1, 4, size)).astype(dtype) for _ in range(2))
    for result, expected in zip(native(f)(z, w), f(z, w), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("shape", [(7,), (40, 3), (3, 40), (64, 65), (2, 3, 9)])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float32, np.float64])
def test_the_first_place_of_an_extreme(shape, dtype, rng) -> None:
    x = rng.integers(0, 5, shape).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[rng.random(shape) < 0.1] = np.nan

    def f(x):
        return [each for axis in range(x.ndim) for each in (x.argmax(axis=axis), x.argmin(axis=axis))]

    for result, expected in zip(native(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_writes_through_indices_are_in_order(rng) -> None:
    def f(x, i, v):
        x[i] = v
        counts = np.zeros(9, int)
        np.add.at(counts, i % 9, 1)
        y = x * 1
        y[i[:5]] += x[i[::-1][:5]]
        return x, counts, y

    i, v = rng.integers(-20, 20, 300), rng.random(300)
    for result, expected in zip(native(f)(np.zeros(20), i, v), f(np.zeros(20), i, v), strict=True):
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(IndexError, match="index 20 is out of bounds for axis 0 with size 20"):
        native(f)(np.zeros(20), np.append(i, 20), np.append(v, 0))


# Threads


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = lamina.get_num_threads()
    yield lamina.set_num_threads
    lamina.set_num_threads(before)


@pytest.mark.parametrize("shape", [(500_003,), (1000, 501), (3, 200_000), (200_000, 3)])
def test_results_do_not_depend_on_the_number_of_threads(shape, threads, rng) -> None:
    def f(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True), np.sin(x) * np.cos(x), np.log1p(x * x).sum(axis=0), np.exp(x).sum()

    x, compiled = rng.standard_normal(shape), native(f)
    threads(1)
    expected = compiled(x)
    for count in (2, 3, 8, 64):
        threads(count)
        for result, one in zip(compiled(x), expected, strict=True):
            np.testing.assert_array_equal(result, one)


@pytest.mark.parametrize("shape", [(1501, 1003), (1003, 1501), (1024, 1500), (3, 700, 901)])
def test_threads_share_out_tiles_of_which_the_last_is_shorter(shape, threads, rng) -> None:
    x = rng.integers(0, 99, shape)
    compiled = native(lambda x: (x.T + 1, x.T[::-1] * x.T + 1, x[..., ::2] - 1))
    for count in (1, 2, 5, 64):
        threads(count)
        for result, expected in zip(compiled(x), (x.T + 1, x.T[::-1] * x.T + 1, x[..., ::2] - 1), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_an_error_in_one_of_the_threads(threads, rng) -> None:
    take = native(lambda x, i: np.exp(x[i]) * np.sin(x[i]))
    x, places = rng.random(50), rng.integers(-50, 50, 400_000)
    threads(3)
    np.testing.assert_allclose(take(x, places), np.exp(x[places]) * np.sin(x[places]), rtol=1e-14)
    for wrong in (7, 200_000, 399_999):
        beyond = places.copy()
        beyond[wrong] = 50
        with pytest.raises(IndexError, match="index 50 is out of bounds"):
            take(x, beyond)


def test_a_number_of_threads_is_checked(threads, monkeypatch: pytest.MonkeyPatch) -> None:
    threads(5)
    assert lamina.get_num_threads() == 5
    for wrong, error in ((0, ValueError), (65, ValueError), (2.5, TypeError)):
        with pytest.raises(error, match="threads"):
            threads(wrong)
    program = "import lamina; print(lamina.get_num_threads())"
    for given, printed in (("3", "3"), ("", "")):
        environment = {**os.environ, "LAMINA_NUM_THREADS": given}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert done.returncode == 0 and printed in done.stdout
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "LAMINA_NUM_THREADS": "many"},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert "LAMINA_NUM_THREADS: expected a number of threads, but got 'many'" in done.stderr


# Lengths that only a run knows


def test_loops_to_a_length(rng) -> None:
    def solve(lower, b):
        x = np.zeros(len(b))
        for i in range(len(b)):
            x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
        return x

    def shift(x, n):
        for i in range(n):
            x[i:] += x[: len(x) - i] * 0.5
        return x

    lower, b = np.tril(rng.random((40, 40))) + np.eye(40), rng.random(40)
    np.testing.assert_allclose(native(solve)(lower, b), solve(lower, b), rtol=1e-12)
    np.testing.assert_array_equal(native(shift)(b.copy(), 17), shift(b.copy(), 17))


# Indices


def test_an_index_out_of_range_is_an_error_and_nothing_else(rng) -> None:
    take = native(lambda x, i: x[i] * 2)
    x = rng.random(50)
    for wrong in (50, -51, 2**40, -(2**62)):
        places = rng.integers(-50, 50, 200)
        places[137] = wrong
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 50"):
            take(x, places)
    np.testing.assert_array_equal(take(x, places % 50), x[places % 50] * 2)


def test_an_error_in_a_native_loop_carries_the_line() -> None:
    def f(x, n):
        s = 0.0
        for i in range(n):
            s += x[i]
        return s

    compiled = native(f)
    assert compiled(np.ones(30), 30) == 30
    with pytest.raises(IndexError) as caught:
        compiled(np.ones(30), 31)
    assert any("test_native.py" in note for note in caught.value.__notes__)


# Memory


def test_arguments_are_left_alone_and_results_stay() -> None:
    def f(x):
        y = x * 1
        y[1:3] = 7
        return y, y[::2] + x[::2]

    compiled = native(f)
    x = np.arange(6.0)
    first = compiled(x)
    before = [array.copy() for array in first]
    compiled(np.zeros(6))
    for array, kept in zip(first, before, strict=True):
        np.testing.assert_array_equal(array, kept)
    np.testing.assert_array_equal(x, np.arange(6.0))


def test_memory_that_is_written_with_itself_turned(rng) -> None:
    def f(x):
        y = x * 1
        y[::-1] = y
        z = x * 1
        z[:] = z[::-1]
        z.T[:] = z
        return y, z

    x = rng.random((5, 5))
    for result, expected in zip(native(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(result, expected)


def test_a_result_has_its_own_shape() -> None:
    def f(x):
        y = x * 2
        y[0] += 1
        return y.reshape(()), y.reshape(1, 1) + 0, y

    for result, expected in zip(native(f)(np.ones(1)), f(np.ones(1)), strict=True):
        assert result.shape == expected.shape and result == expected


def test_what_a_loop_only_reads_is_no_result_of_the_callers_memory(rng) -> None:
    def f(x):
        return lamina.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1], c[2]), (0, x, x))[1:]

    x = rng.random(4)
    graph = lamina.trace(f, x)
    first, second = executable(plan(fuse(lower(graph, is_native))))(x)
    np.testing.assert_array_equal([first, second], [x, x])
    assert not any(np.may_share_memory(*pair) for pair in ((first, x), (second, x), (first, second)))


def test_what_a_callback_is_shown_stays() -> None:
    shown: list[np.ndarray] = []

    def f(x):
        y = x * 2
        lamina.hook(y, "before", shown.append)
        y[0] = 9
        return y

    assert native(f)(np.ones(3)).tolist() == [9, 2, 2] and shown[0].tolist() == [2, 2, 2]


def test_two_loops_that_start_from_one_memory() -> None:
    """The first only reads it, so its result is that memory too, and the second one may not take it."""
    x = param(0, lamina.float64, (5,))
    start, one, two = (Expr("constant", (n,), lamina.int64, ()) for n in (0, 1, 2))

    def loop(turn, *initial):
        arg = tuple(param(i, node.dtype, node.shape) for i, node in enumerate((start, *initial)))
        body = (build("add", arg[0], one), *turn(*arg[1:]))
        return build("while", (start, *initial), arg, build("less", arg[0], two), body)

    y = build("sqrt", x)  # which is computed once
    same = build("elem", loop(lambda a: (a,), y), 1)
    both = loop(lambda a, b: (build("square", a), b), y, same)
    graph = Graph((x,), [build("elem", both, 2), build("elem", both, 1)])
    given = np.arange(5.0)
    for came, expected in zip(compile_native(graph)(given**2), (given, given**4), strict=True):
        np.testing.assert_array_equal(came, expected)


def test_what_a_called_function_shows_stays() -> None:
    shown: list[np.ndarray] = []
    x = param(0, lamina.float64, (4,))
    y = build("concat", (x, x), 0)
    fun_param = param(0, lamina.float64, (8,))
    hook = build("hook", fun_param, "shown", shown.append)
    call = build("call", build("fun", (fun_param,), with_effects((hook,), hook), "inner"), (y,))
    update = build("update", y, Layout((4,), (2,), 0), (), (), build("negative", x))
    graph = Graph((x,), [update], (call,))
    given = np.arange(4.0)
    (came,) = compile_native(graph)(given)
    assert came.tolist() == [0, 1, -1, 3, -2, 1, -3, 3]
    assert [each.tolist() for each in shown] == [[0, 1, 2, 3, 0, 1, 2, 3]]


def test_arrays_that_change_places_in_a_loop(rng) -> None:
    def leapfrog(a, b, n):
        for _ in range(n):
            c = 2 * b - a + 0.1 * (np.roll(b, 1) + np.roll(b, -1) - 2 * b)
            a, b = b, c
        return a, b

    a, b = rng.random(40), rng.random(40)
    for turns in (0, 1, 2, 7, 30):
        for result, expected in zip(native(leapfrog)(a, b, turns), leapfrog(a, b, turns), strict=True):
            np.testing.assert_array_equal(result, expected)


def test_calls_from_many_threads() -> None:
    def f(x, n):
        y = x.copy()
        for _ in range(n):
            y[1:-1] = (y[2:] + y[:-2]) / 2
        return y

    compiled, x = native(f), np.arange(500.0) ** 2
    expected = f(x, 50)
    wrong: list[Any] = []

    def run() -> None:
        wrong.extend(1 for _ in range(50) if not np.array_equal(compiled(x, 50), expected))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


LEAKS = """
import gc, pathlib, sys
import lamina
import ml_dtypes
import numpy as np

def looping(x, n):
    for _ in range(n):
        x = x * k
    return x

def in_use(first, count):
    global k
    for k in range(first, first + count):
        f = looping if k % 4 == 0 else (lambda x, n: x * float(k) + n)  # one in four is compiled with all that there is
        lamina.defn(f, compiler="native", strict=True)(np.ones(50), 12)
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

warm, count = map(int, sys.argv[1:])
before = in_use(0, warm)
print(in_use(warm, count) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system doesn't say how much memory is in use")
@pytest.mark.parametrize(
    ("warm", "count", "most"), [(150, 150, 3000), pytest.param(500, 10_000, 300, marks=pytest.mark.long)]
)
def test_compiling_leaks_nothing(warm: int, count: int, most: int) -> None:
    """In a process of its own, for what others free or take would be counted too; a leak is kilobytes each time."""
    done = subprocess.run(
        [sys.executable, "-c", LEAKS, str(warm), str(count)],
        env={**os.environ, "LAMINA_CACHE": "0"},
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert int(done.stdout) < count * most


def test_compiled_code_is_shared_and_freed() -> None:
    def compiled() -> Any:
        return executable(plan(fuse(lower(graph, is_native))))

    graph = lamina.trace(lambda x: x * 3 + 17.25, lamina.Spec(lamina.float64, (5,)))
    gc.collect()
    before = len(jit._CODE)
    first, second = compiled(), compiled()
    assert len(jit._CODE) == before + 1
    del first, second
    gc.collect()
    assert len(jit._CODE) == before


@pytest.mark.parametrize("floating", [np.float32, np.float64])
@pytest.mark.parametrize("integer", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_a_cast_to_an_integer_saturates_in_each_lane(floating, integer: str) -> None:
    limits = np.iinfo(integer)
    edges = [floating(limits.min), floating(limits.max), floating(0), floating(2.5)]
    around = [np.nextafter(edge, side, dtype=floating) for edge in edges for side in (-np.inf, np.inf)]
    x = np.array([*edges, *around, -1, -0.75, -1.5, 127.5, 255.5, 1e30, -1e30, np.inf, -np.inf, np.nan], floating)
    x = np.resize(x, 67)
    exact = [0 if np.isnan(each) else min(max(limits.min, int(np.clip(each, -1e25, 1e25))), limits.max) for each in x]
    cast = native(lambda x: x.astype(integer))
    for size in (1, 7, 33, 67):
        np.testing.assert_array_equal(cast(x[:size]), np.array(exact[:size], integer))


_TURNED = {
    "copied": lambda x: x.T.copy(),
    "with itself": lambda x: x[: min(x.shape), : min(x.shape)].T + x[: min(x.shape), : min(x.shape)],
    "beside rows": lambda x: x.T * np.arange(len(x)) + np.arange(x.shape[1])[:, np.newaxis],
    "a part": lambda x: x.T[3:-2, 1:-1] * 2,
    "backwards": lambda x: x.T[::-1, ::-1] + 1,
}


@pytest.mark.parametrize("function", _TURNED.values(), ids=_TURNED)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "uint8", "complex64"])
def test_blocks_and_tiles(function: Any, dtype: str, rng) -> None:
    """In blocks where rows are whole lines of the cache, from wherever they begin, and in tiles elsewhere."""
    for rows, columns in ((16, 16), (17, 40), (64, 23), (65, 300), (304, 16), (33, 27)):
        memory = rng.integers(0, 100, rows * columns + 3).astype(dtype)
        for begin in (0, 1, 3):
            x = memory[begin : begin + rows * columns].reshape(rows, columns)
            np.testing.assert_array_equal(native(function)(x), function(x), strict=True)


def test_axes_that_are_turned(rng) -> None:
    for shape in ((24, 5, 40), (3, 64, 17), (33, 8, 8)):
        x = rng.random(shape)
        for order in ((2, 1, 0), (0, 2, 1), (2, 0, 1), (1, 2, 0), (1, 0, 2)):
            turned = native(lambda x, order=order: x.transpose(order) * 2)
            np.testing.assert_array_equal(turned(x), x.transpose(order) * 2, strict=True)


@pytest.mark.parametrize("table", ["uint8", "int16", "bool", "float16", "float64", "complex64"])
@pytest.mark.parametrize("index", ["uint8", "int8", "int32", "uint64"])
def test_tables_by_indices_that_are_read(table: str, index: str, rng) -> None:
    def picked(x: np.ndarray, i: np.ndarray, pairs: np.ndarray) -> Any:
        return x[i], x[i[::-1]], x[pairs[:, 1]], x[pairs.T], np.where(i > 50, x[i], x[0])

    x = rng.integers(0, 2 if table == "bool" else 100, 100).astype(table)
    for count in (1, 7, 64, 201):
        i, pairs = (rng.integers(0, 100, shape).astype(index) for shape in (count, (count, 3)))
        for result, expected in zip(native(picked)(x, i, pairs), picked(x, i, pairs), strict=True):
            np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("function", [np.maximum, np.minimum, np.fmax, np.fmin])
@pytest.mark.parametrize("bound", [1.5, np.inf, -np.inf, np.nan])
def test_extremes_beside_a_number(function: Any, bound: float) -> None:
    x = np.array([0.5, 1.5, 2.5, np.inf, -np.inf, np.nan, -np.nan, 7, -7, 1e300])
    np.testing.assert_array_equal(native(lambda x: function(x, bound))(x), function(x, bound))
    np.testing.assert_array_equal(native(lambda x: function(bound, x))(x), function(bound, x))


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_elements_between_those_of_another_load(width: int, dtype: str, rng) -> None:
    def mixed(x: np.ndarray, turned: np.ndarray) -> Any:
        first, last = x[:, 0], x[:, -1]
        return first + last, turned[:, 0] - turned[:, 1], first[1:] * last[:-1], x[::-1, -1] + x[::-1, 0]

    for count in (1, 7, 64, 200):
        x = rng.integers(0, 100, (count, width)).astype(dtype)
        for result, expected in zip(native(mixed)(x, x[:, ::-1]), mixed(x, x[:, ::-1]), strict=True):
            np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.float32, np.int64, np.complex64])
@pytest.mark.parametrize("step", [1, 2, 3, 4, 5, -1, -2, -3, -4, -5])
def test_elements_some_steps_apart_and_elements_by_index(step: int, dtype, rng) -> None:
    """Memory ends where they end, and so does what is read."""

    def f(x, i):
        apart = x[::step]
        kept = np.where(i % 3 == 0, apart[i], x[i])
        return apart | apart if apart.dtype == bool else apart + apart, apart[i], kept, (apart == apart[0]).sum()

    for count in (1, 7, 17, 33, 64):
        x = rng.integers(0, 2 if dtype is np.bool_ else 99, (count - 1) * abs(step) + 1).astype(dtype)
        i = rng.integers(-count, count, 41)
        for result, expected in zip(native(f)(x, i), f(x, i), strict=True):
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_floats_of_16_bits_are_rounded_after_each_op(dtype, rng) -> None:
    """Every number there is, with any other."""
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    y = rng.permutation(x)

    def f(x, y):
        return x + y, x * y - x, x / y, np.sqrt(x), np.maximum(x, y), x < y, -x, abs(x), np.where(x > y, x, y)

    assert is_native(lamina.trace(lambda x, y: x * y, x, y).outputs)
    with np.errstate(all="ignore"):
        for result, expected in zip(native(f)(x, y), f(x, y), strict=True):
            assert result.dtype == expected.dtype
            is_nan = np.isnan(expected)
            np.testing.assert_array_equal(np.isnan(result), is_nan)
            np.testing.assert_array_equal(result[~is_nan].view(np.uint8), expected[~is_nan].view(np.uint8))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("origin", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
@np.errstate(all="ignore")
def test_casts_to_and_from_floats_of_16_bits(origin, dtype, rng) -> None:
    numbers = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    if np.dtype(origin).kind == "f":
        finite = np.sort(numbers[np.isfinite(numbers)].astype(origin))
        halfway = (finite[1:] + finite[:-1]) / 2
        around = [np.nextafter(halfway, origin(side)) for side in (-np.inf, np.inf)]
        x = np.concatenate([finite, halfway, *around, np.array([np.inf, 1e300]).astype(origin)])
    else:
        x = rng.integers(0, 70_000, 1 << 12).astype(origin)
    result, expected = native(lambda x: x.astype(dtype))(x), x.astype(dtype)
    np.testing.assert_array_equal(result.view(np.uint16), expected.view(np.uint16))
    few = numbers[np.abs(numbers.astype(np.float32)) < 250]
    few = few if np.dtype(origin).kind in "fbi" else few[few >= 0]
    np.testing.assert_array_equal(native(lambda x: x.astype(origin))(few), few.astype(origin))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(5, 7), (33, 17), (3, 400), (400, 3), (2, 70_001)])
def test_sums_of_complex_numbers(shape, dtype, rng) -> None:
    """Of whole numbers, so that any order gives the same."""
    z, w = ((rng.integers(-9, 9, shape) + 1j * rng.integers(-9, 9, shape)).astype(dtype) for _ in range(2))

    def f(z, w):
        return z.sum(), z.sum(axis=0), (z * w).sum(axis=1), z[::-1].sum(axis=1), z @ w[0], z[:4, :4].T @ w[:4, :4]

    assert is_native(lamina.trace(lambda z: z.sum(), z).outputs)
    for result, expected in zip(native(f)(z, w), f(z, w), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@np.errstate(all="ignore")
def test_the_exponential_of_complex_numbers(dtype, rng) -> None:
    real = dtype(0).real.dtype
    special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 89.5, 710.5, 715.0, -745.5, 1e-30], real)
    z = np.concatenate(
        [
            (special[:, None] + np.zeros(1, dtype)).repeat(len(special), 1).ravel(),
            (rng.standard_normal(999) * 30).astype(real).astype(dtype),
        ]
    )
    z.imag = np.concatenate([np.tile(special, len(special)), (rng.standard_normal(999) * 30).astype(real)])
    result, expected = native(np.exp)(z), np.exp(z.astype(np.complex128)).astype(dtype)
    for part, right in ((result.real, expected.real), (result.imag, expected.imag)):
        np.testing.assert_allclose(part, right, rtol=6 * np.finfo(real).eps, atol=np.finfo(real).smallest_subnormal * 4)
        is_zero = right == 0
        np.testing.assert_array_equal(np.signbit(part[is_zero]), np.signbit(right[is_zero]))


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
@pytest.mark.parametrize("size", [1, 7, 33, 64])
def test_powers_and_divisors_of_integers(dtype: str, size: int, rng) -> None:
    limits = np.iinfo(dtype)
    x, y = (rng.integers(limits.min, limits.max, size, dtype, endpoint=True) for _ in range(2))
    x[0], y[size // 2], y[-1] = limits.min, 0, limits.min
    n = rng.integers(0, 70, size).astype(dtype)

    def f(x, y, n):
        return x**n, x**3, x[::-1] ** 0, np.gcd(x, y), np.lcm(x // 7, y // 9), np.gcd(x, 12), (n**n).sum()

    assert is_native(lamina.trace(np.gcd, x, y).outputs)
    with np.errstate(all="ignore"):
        for result, expected in zip(native(f)(x, y, n), f(x, y, n), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)])
def test_division_by_powers_of_two_rounds_down(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array([*range(max(limits.min, -40), 41), limits.min, limits.max], dtype)

    def f(x):
        return [(x // divisor, x % divisor) for divisor in powers]

    powers = [np.dtype(dtype).type(1 << power) for power in (0, 1, 3, 6)] + [limits.max // 2 + 1]
    for got, expected in zip(native(f)(x), f(x), strict=True):
        for result, right in zip(got, expected, strict=True):
            assert result.dtype == right.dtype
            np.testing.assert_array_equal(result, right)


def test_a_negative_power_of_an_integer_is_an_error() -> None:
    with pytest.raises(ValueError, match="negative integer powers"):
        native(lambda x, n: x**n)(np.arange(40), np.arange(40) - 39)


@pytest.mark.parametrize("width", [1, 7, 9, 17, 33, 34, 35])
@pytest.mark.parametrize("origin", [np.uint32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.bool_, np.float16])
def test_a_narrowing_cast_writes_its_own_elements_alone(dtype, origin, width: int, rng) -> None:
    """Columns go before rows, so what is left at the end of a row is followed by memory that was written before."""
    x = rng.integers(1, 99, (3, width)).astype(origin)
    for view in (x, x[:, ::-1]):
        place, cast = native(lambda x: (x.argmin(axis=0), x.astype(dtype)))(view)
        np.testing.assert_array_equal(place, view.argmin(axis=0))
        np.testing.assert_array_equal(cast, view.astype(dtype))


def test_angles_of_numbers_that_are_far_apart() -> None:
    y = np.array([1.1233313480522316e-144, 1e-150, -1e-150, 1e-308, 0.0, -0.0])
    x = np.array([2.846445773730785e153, 1e158, 1e158, 1e300, 1e300, 1e300])
    np.testing.assert_allclose(native(np.arctan2)(y, x), np.arctan2(y, x), rtol=4e-16, atol=0)
    few = np.float32([-5.7874985e-24, 1e-30]), np.float32([2.2403124e18, 1e10])
    np.testing.assert_allclose(native(np.arctan2)(*few), np.arctan2(*few), rtol=1e-3, atol=2e-45)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_products_of_16_bits_are_added_in_32(dtype) -> None:
    a, b = np.array([300, -300, 1], dtype), np.array([300, 300, 1], dtype)
    assert native(lambda a, b: a @ b)(a, b) == 1
    assert native(lambda a, b: a[None] @ b[:, None])(a, b).tolist() == [[1]]
