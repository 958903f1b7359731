"""Small programs, one or a few for each syntax node and scope, with the arguments that they are run on.

Their numbers are whole, so that every order of adding gives the same; where a named unit rounds, the program says by
how much. Callbacks write what they are shown into a log.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import lamina
from lamina import blocks
from lamina.expr import Expr, Graph, build
from lamina.layout import Layout, move

Made = tuple[Graph, Iterable[Sequence[np.ndarray]]]


@dataclass(frozen=True)
class Program:
    """How a graph is made, given the log of its callbacks, with the arguments of each run, and how exact it is.

    `ulps` is in units of the dtype's eps, relative to the greatest element of a result.
    """

    make: Callable[[list[Any]], Made]
    ulps: int = 0


PROGRAMS: dict[str, Program] = {}

X = np.arange(-3.0, 3.0)
MATRIX = np.arange(12.0).reshape(3, 4)


def traced(*runs: Sequence[Any], name: str = "", ulps: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: a program of a function ``f(log, *args)``, traced for the first run's arguments."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        def make(log: list[Any]) -> Made:
            graph = lamina.trace(lambda *args: function(log, *args), *runs[0])
            return graph, [[np.asarray(arg) for arg in run] for run in runs]

        PROGRAMS[name or function.__name__.strip("_").replace("_", " ")] = Program(make, ulps)
        return function

    return add


# Loops


@traced((X, 0), (X, 1), (X, 5), name="while")
def _(log: list[Any], x: Any, n: Any) -> Any:
    return lamina.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + c[0], c[1]), (0, x, x))


@traced((MATRIX, 3), (MATRIX, 0))
def _loops_in_loops(log: list[Any], x: Any, n: Any) -> Any:
    def outer(i: Any, total: Any) -> Any:
        return lamina.fori_loop(0, i + 1, lambda j, inner: inner + x[i, j] * n, total)

    return lamina.fori_loop(0, n, outer, 0.0)


@traced((X, 2.0), (X, 100.0))
def _a_loop_until_something_holds(log: list[Any], x: Any, limit: Any) -> Any:
    return lamina.while_loop(lambda c: (c * c).sum() < limit, lambda c: c * 2 + 1, x)


@traced((X, 4))
def _loop_of_one_carry_that_reads_from_outside(log: list[Any], x: Any, n: Any) -> Any:
    return lamina.fori_loop(0, n, lambda i, c: np.where(c > x, c - 1, c + i), x[::-1])


@traced((np.int32(7),), (np.int32(-3),))
def _integers_that_wrap(log: list[Any], n: Any) -> Any:
    return lamina.fori_loop(0, 40, lambda i, c: c * np.int32(3) + n, n)


@traced((np.zeros((6, 6)), 0), (np.arange(36.0).reshape(6, 6) * 16, 3))
def _a_stencil_written_in_place(log: list[Any], u: Any, n: Any) -> Any:
    def turn(_: Any, u: Any) -> Any:
        inner = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / 4
        return np.pad(inner, 1)

    return lamina.fori_loop(0, n, turn, u)


# Branches


@traced((X, 1), (X, 0), (X, -1))
def _branches(log: list[Any], x: Any, n: Any) -> Any:
    below = lamina.cond(n < 0, lambda: (x * 2, 1), lambda: (x, 2))
    return lamina.cond(n > 0, lambda: x + 1, lambda: below[0]), below[1]


@traced((X, 2), (X, 9))
def _a_branch_that_would_fail(log: list[Any], x: Any, n: Any) -> Any:
    return lamina.cond(n < 6, lambda: x[n] * 2, lambda: -1.0)


@traced((X, 1.0), (X, -1.0))
def _work_of_two_branches(log: list[Any], x: Any, p: Any) -> Any:
    shared = x * x + p
    first = lamina.cond(p > 0, lambda: shared + 1, lambda: x)
    return first, lamina.cond(p > 0, lambda: shared * 2, lambda: x * 3)


@traced((3, 5), (0, 5), (5, 0))
def _branches_in_loops_in_branches(log: list[Any], n: Any, k: Any) -> Any:
    def turn(i: Any, c: Any) -> Any:
        return lamina.cond(i % 2 == 0, lambda: c + i * k, lambda: c - 1)

    return lamina.cond(n > 0, lambda: lamina.fori_loop(0, n, turn, k), lambda: k * 100)


def _clauses(log: list[Any]) -> Made:
    x = Expr("parameter", (0,), lamina.int64, ())
    numbers = [Expr("constant", (i,), lamina.int64, ()) for i in range(6)]
    clauses = tuple((build("less", x, number), build("multiply", x, number)) for number in numbers)
    node = build("cond", clauses, build("negative", x))
    return Graph((x,), (node, build("add", node, node))), [[np.asarray(i)] for i in (-1, 0, 3, 5, 9)]


PROGRAMS["a cond of many clauses"] = Program(_clauses)


# Functions and named units


@lamina.fun
def _cube(x: Any) -> Any:
    return x * x * x


@lamina.fun
def _both(x: Any, y: Any) -> Any:
    return {"sum": x + _cube(y), "difference": x - y}


@traced((X, X * 2))
def _functions(log: list[Any], x: Any, y: Any) -> Any:
    first = _both(x, y)
    second = _both(first["sum"], first["difference"])
    return lamina.fori_loop(0, 2, lambda i, c: _both(c, x)["sum"], second["sum"]), second["difference"], _cube(x)


@traced((MATRIX, MATRIX[0]))
def _a_block_that_nobody_knows(log: list[Any], x: Any, y: Any) -> Any:
    def default(x: Any, options: Any, y: Any) -> Any:
        inner = lamina.block("inner", lambda z: z * 2, x + y)
        return inner * options["times"], y

    return lamina.block(("a name", 3), default, x, {"times": 3, "mode": "fast"}, y)


# Effects


@traced((X, 3))
def _effects_in_order(log: list[Any], x: Any, n: Any) -> Any:
    def shown(value: Any, name: str) -> Any:
        return lamina.hook(value, name, lambda array: log.append((name, np.asarray(array).tolist())))

    def turn(i: Any, c: Any) -> Any:
        inner = lamina.cond(i == 1, lambda: shown(c, "taken"), lambda: c)
        return shown(inner + i, "turn")

    shown(x, "first")
    total = lamina.fori_loop(0, n, turn, x)
    doubled = lamina.block("doubled", lambda y: shown(y * 2, "block"), total)
    return lamina.hook(doubled, "nobody looks"), lamina.hook(
        {"a": x, "b": n}, "both", lambda both: log.append(len(both))
    )


@traced((X, 2))
def _calls_at_run_time(log: list[Any], x: Any, n: Any) -> Any:
    def callback(array: Any, number: Any, times: int) -> Any:
        log.append((array.tolist(), int(number), array.flags.writeable))
        return {"sorted": -np.sort(-array) * times, "count": np.int32(array.size)}

    spec = {"sorted": lamina.Spec(lamina.float64, x.shape), "count": lamina.Spec(lamina.int32)}
    came = lamina.runtime_call(callback, spec, x * 2, n, times=3)
    return came["sorted"] + 1, came["count"] * n


@traced((X, 7), (X, 2))
def _checks(log: list[Any], x: Any, n: Any) -> Any:
    lamina.hook(n, "before", lambda value: log.append(int(value)))
    lamina.check(n > 3, ValueError, "n must be more than 3")
    lamina.hook(n, "after", lambda value: log.append(-int(value)))
    return x * n


@traced((X, 2), (X, 5))
def _a_check_in_a_branch(log: list[Any], x: Any, n: Any) -> Any:
    def checked() -> Any:
        lamina.check(x.sum() > 0, ArithmeticError, "the sum must be positive")
        return x

    return lamina.cond(n > 3, checked, lambda: -x)


# Memory


@traced((X, 4), (X, -6), (X, 6))
def _one_element_by_a_traced_index(log: list[Any], x: Any, i: Any) -> Any:
    return x[i]


def _views(log: list[Any]) -> Made:
    root = Expr("parameter", (0,), lamina.float64, (3, 4))
    at = Expr("parameter", (1,), lamina.int64, ())
    layouts = [Layout((2, 2), (1, -4), 9), Layout((3, 3), (1, 1)), Layout((), ()), Layout((0, 2), (2, 1))]
    views = [build("view", root, layout, (), ()) for layout in layouts]
    moved = build("view", root, Layout((2, 2), (4, 1), 1), ((at, 1),), ())
    written = build("update", root, Layout((2, 2), (-5, 2), 5), (), (), moved)
    again = build(
        "update",
        written,
        Layout((2,), (4,)),
        ((at, 2), (at, 1)),
        (),
        build("view", written, Layout((2,), (1,)), (), ()),
    )
    return Graph((root, at), (*views, moved, written, again)), [[MATRIX, np.asarray(i)] for i in (0, 1, 2, -1, 40)]


PROGRAMS["views and updates"] = Program(_views)


def _turned(log: list[Any]) -> Made:
    """Memory that is itself a view: its elements count in C order, wherever they lie."""
    root = Expr("parameter", (0,), lamina.float64, (3, 4))
    turned = build("move", root, move.Permute((1, 0)))
    view = build("view", turned, Layout((2, 3), (6, -2), 4), (), ())
    windows = build("move", turned, move.Window((move.WindowSpec(0, 2, 1, 2),)))
    nothing = build("move", root, move.Slice((move.Range(0, 0, 1), move.Range(0, 4, 1))))
    none = Layout((0, 2), (1, 1))
    written = build("update", turned, Layout((2, 3), (6, -2), 4), (), (), view)
    unwritten = build("update", nothing, none, (), (), build("view", nothing, none, (), ()))
    return Graph((root,), (view, windows, written, unwritten)), [[MATRIX]]


PROGRAMS["views of turned memory and updates of none"] = Program(_turned)


def _recast(log: list[Any]) -> Made:
    """Memory that is read and written as elements of other dtypes than its own."""
    root = Expr("parameter", (0,), lamina.float64, (3, 4))
    at, octets = Expr("parameter", (1,), lamina.int64, ()), Expr("parameter", (2,), lamina.uint8, (5,))
    bits = build("view", root, Layout((4, 3), (1, 4)), (), (), lamina.int64)
    parts = build("view", root, Layout((3,), (-3,), 9), ((at, 8),), (), lamina.uint8)
    pairs = build("view", root, Layout((6,), (1,)), (), (), lamina.complex128)
    doubled = build("multiply", root, root)
    low = build("view", doubled, Layout((3, 4), (8, 2)), (), (), lamina.uint32)
    # each element written is read as another dtype, beside those that the write changes
    turned = build("view", doubled, Layout((3, 4), (4, 1)), (), (), lamina.int64)
    written = build("update", doubled, Layout((3, 4), (8, 2), 1), (), (), build("cast", turned, lamina.uint32))
    flipped = build("update", octets, Layout((2,), (2,), 1), (), (), build("iota", 2, lamina.int8))
    truths = build("view", flipped, Layout((5,), (1,)), (), (), lamina.bool)
    unread = build("view", octets, Layout((0,), (1,)), (), (), lamina.float64)
    results = (bits, parts, pairs, low, written, doubled, flipped, truths, build("cast", truths, lamina.int64), unread)
    given = np.array([0, 1, 2, 200, 255], np.uint8)
    return Graph((root, at, octets), results), [[MATRIX, np.asarray(i), given] for i in (0, 5, 11, 12)]


PROGRAMS["memory seen as other dtypes"] = Program(_recast)


def _lengths(log: list[Any]) -> Made:
    root = Expr("parameter", (0,), lamina.float64, (3, 4))
    length, at = (Expr("parameter", (i,), lamina.int64, ()) for i in (1, 2))
    layout = Layout((6,), (2,))
    part = build("view", root, layout, ((at, 1),), ((0, length),))
    there = build("less", build("iota", 6, lamina.int64), build("move", length, move.Broadcast((6,))))
    nothing = build("move", Expr("constant", (0.0,), lamina.float64, ()), move.Broadcast((6,)))
    seen = build("where", there, build("exp", part), nothing)  # what is beyond the length is not specified
    written = build("update", root, layout, ((at, 1),), ((0, length),), build("negative", part))
    calls = [
        [MATRIX, np.asarray(n), np.asarray(i)] for n, i in ((0, 12), (1, 11), (3, 7), (6, 1), (6, 0), (7, 0), (4, 8))
    ]
    return Graph((root, length, at), (seen, written)), calls


PROGRAMS["lengths"] = Program(_lengths)


def _updates(log: list[Any]) -> Made:
    root = Expr("parameter", (0,), lamina.float64, (6,))
    ones = build("move", Expr("constant", (1.0,), lamina.float64, ()), move.Broadcast((3,)))
    written = build("update", root, Layout((3,), (2,)), (), (), ones)
    return Graph((root,), build("sum", root, (0,)), (), "graph", ((root, written),)), [[X]]


PROGRAMS["a param that is written"] = Program(_updates)


class _Changing:
    """Three runs, before each of which the elements of an array become others."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __iter__(self) -> Iterator[list[np.ndarray]]:
        for i in range(3):
            self.array[...] = X * i
            yield [X]


def _captured(log: list[Any]) -> Made:
    array = np.empty(6)
    tensor = Expr("tensor", (lamina.asarray(array),), lamina.float64, (6,))
    x = Expr("parameter", (0,), lamina.float64, (6,))
    return Graph((x,), (build("add", build("negative", tensor), x), tensor)), _Changing(array)


PROGRAMS["a captured array is read when it runs"] = Program(_captured)


@traced((np.arange(24.0).reshape(4, 6),))
def _movements(log: list[Any], x: Any) -> Any:
    turned = x.T.reshape(2, 12)[:, ::-3]
    windows = lamina.sliding_window_view(x, (2, 3), step=(2, 1), dilation=(1, 2))
    wide = np.broadcast_to(x[None, :, None, ::2], (2, 4, 3, 3))
    return turned, windows.sum(axis=(0, 3)), wide.transpose(3, 0, 2, 1)[::-1], x[1:1], x.reshape(2, 2, 3, 2)[1, ::-1]


@traced((np.zeros((0, 3)), np.float64(2.0)))
def _nothing_and_one(log: list[Any], x: Any, one: Any) -> Any:
    return x * one, x.sum(axis=0), one * 3, x.T, np.concatenate((x, x))


@traced((X,))
def _notes(log: list[Any], x: Any) -> Any:
    noted = lamina.metadata(x * 2, {"name": "twice", "of": x})
    return noted + 1, noted


@traced((X, True, 3, 2.5, 1j, np.float32(3)))
def _what_comes_in_goes_out(log: list[Any], x: Any, *rest: Any) -> Any:
    return x, rest, x, 7, np.float16(0.5)


def _chain(log: list[Any]) -> Made:
    x = y = Expr("parameter", (0,), lamina.float64, (2,))
    for _ in range(1_500):
        y = build("add", build("negative", y), x)
    return Graph((x,), y), [[np.ones(2)]]


PROGRAMS["a deep chain"] = Program(_chain)


def _no_results(log: list[Any]) -> Made:
    x = Expr("parameter", (0,), lamina.float64, ())
    return Graph((x,), (), (build("hook", x, "h", lambda value: log.append(float(value))),)), [[np.asarray(3.0)]]


PROGRAMS["no results"] = Program(_no_results)


# lamina.blocks. A unit may be computed in one piece, so it may round otherwise than its default.

_SAMPLE = np.random.default_rng(0).standard_normal((2, 3, 4))
_SPECIAL = np.array(
    [[[-np.inf] * 4, [0.0, np.inf, 1, 2], [3, np.nan, 0, 0]], [[1e30] * 4, [-1e30, 1, 0, 0], [0.0] * 4]]
)
_UNITS: dict[str, Callable[..., Any]] = {
    "softmax": lambda x: (blocks.softmax(x), blocks.softmax(x, 0)),
    "log_softmax": lambda x: (blocks.log_softmax(x), blocks.log_softmax(x, 1)),
    "logsumexp": lambda x: (blocks.logsumexp(x), blocks.logsumexp(x, 1, keepdims=True)),
    "layer_norm": lambda x: (blocks.layer_norm(x), blocks.layer_norm(x, x[0, 0], x[1, 1], eps=0.5)),
    "rms_norm": lambda x: (blocks.rms_norm(x), blocks.rms_norm(x, x[0, 0], eps=0.5)),
    "attention": lambda x: (
        blocks.attention(x, x, x[..., :2]),
        blocks.attention(x[0], x, x, np.tri(3, dtype=bool)),
        blocks.attention(x, x, x, x[0, :, :3], scale=0.25),
    ),
    "gelu": blocks.gelu,
    "silu": blocks.silu,
    "conv": lambda x: (
        blocks.conv(x, x[:, :, :2], stride=2, padding=1),
        blocks.conv(x[None], x[None, :, :2, :2], dilation=(1, 2), padding=((1, 0), 2)),
    ),
}
for _unit, _function in _UNITS.items():
    for _dtype in ("float64", "float32"):
        traced(
            (_SAMPLE.astype(_dtype),),
            (np.where(_SAMPLE > 1, -np.inf, _SAMPLE * 50).astype(_dtype),),
            (_SPECIAL.astype(_dtype),),
            name=f"{_unit} {_dtype}",
            ulps=64,
        )(lambda log, x, function=_function: function(x))
