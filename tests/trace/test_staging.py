"""Tracing: what a function's graph has for params, outputs, effects and lines; what is captured, and pinned."""

import inspect
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import lamina
from lamina.errors import ConcretizationError, LaminaWarning
from lamina.evaluator import compile_graph
from lamina.expr import check
from lamina.expr.tree import all_nodes

Pair = namedtuple("Pair", "second first")


@dataclass
class Point:
    """A dataclass of arrays."""

    y: object
    x: object


def kinds(nodes) -> list[str]:
    return [str(node.dtype) + str(list(node.shape)) for node in nodes]


# Params


def test_params_are_the_arrays_and_numbers_in_order() -> None:
    graph = lamina.trace(
        lambda a, tree, k=1.5, *rest, **named: a + k,
        np.ones((2, 3), np.float32),
        {"b": [np.int8(1), True], "a": Pair("static", 2j), "n": None},
        0.5,
        Point(np.zeros(4, bool), 3),
        z=lamina.asarray([1]),
        y=np.uint8(4),
    )
    assert kinds(graph.params) == [
        "float32[2, 3]",
        "int8[]",
        "bool[]",
        "complex128[]",
        "float64[]",
        "bool[4]",
        "int64[]",
        "int64[1]",
        "uint8[]",
    ]
    assert [param.args for param in graph.params] == [(i,) for i in range(9)]
    assert all(param.op == "parameter" for param in graph.params)
    check(graph)


def test_specs_stand_for_arrays() -> None:
    def f(x, y):
        return x @ y

    graph = lamina.trace(f, lamina.Spec("float32", (2, 3)), lamina.Spec(np.float32, [3]))
    assert graph == lamina.trace(f, np.ones((2, 3), np.float32), np.ones(3, np.float32))
    assert graph.name == "f"


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (("no dtype",), TypeError, "no dtype"),
        ((np.float32, (2, -1)), ValueError, "-1"),
        ((np.float32, (2**60,)), ValueError, "shape"),
        ((object,), TypeError, "object"),
        ((np.float32, 3), TypeError, "int"),
    ],
)
def test_what_a_spec_refuses(args, error, message) -> None:
    with pytest.raises(error, match=message):
        lamina.Spec(*args)


def test_specs_compare() -> None:
    assert lamina.Spec("f4", (2,)) == lamina.Spec(np.float32, [2]) != lamina.Spec("f4", (3,))
    assert len({lamina.Spec("f4"), lamina.Spec(np.float32, ())}) == 1
    assert eval(repr(lamina.Spec("f4", (2,)))) == lamina.Spec("f4", (2,))


# Outputs


def test_outputs_are_the_returned_container() -> None:
    graph = lamina.trace(lambda x, n: {"b": Pair(x * 2, [n + 1, None]), "a": Point(2.5, x)}, np.ones(2), 3)
    assert list(graph.outputs) == ["b", "a"] and type(graph.outputs["b"]) is Pair
    assert [node.op for node in lamina.tree.nodes_of(graph.outputs)] == ["multiply", "add", "constant", "parameter"]
    assert graph.outputs["a"].x is graph.params[0]
    results = compile_graph(graph)(np.ones(2), np.int64(3))
    assert [np.asarray(each).tolist() for each in results] == [[2.0, 2.0], 4, 2.5, [1.0, 1.0]]


def test_nothing_returned_and_something_that_is_no_array() -> None:
    def f(x):
        return x, "text"

    assert lamina.trace(lambda x: None, 1.0).outputs is None
    assert lamina.trace(lambda x: (), 1.0).outputs == ()
    with pytest.raises(
        TypeError, match="f returned 'text', which is no array or number, so it has no place in a graph"
    ):
        lamina.trace(f, 1.0)


def test_arrays_that_the_function_makes_are_constants() -> None:
    graph = lamina.trace(lambda: (np.arange(3), np.float32(2), 5))
    assert kinds(lamina.tree.nodes_of(graph.outputs)) == ["int64[3]", "float32[]", "int64[]"]


# Lines


def test_every_node_knows_its_line() -> None:
    def helper(v):
        return v.sum() * 2

    def program(x):
        y = x + 1
        return lamina.fori_loop(0, 2, lambda i, c: c - i, helper(y))

    graph = lamina.trace(program, np.ones(3))
    first = inspect.getsourcelines(program)[1]
    nodes = all_nodes(graph.outputs)
    (plus,) = [node for node in nodes if node.op == "add" and node.shape == (3,)]
    assert (plus.source.line, plus.source.function) == (first + 1, "program")
    (total,) = [node for node in nodes if node.op == "sum"]
    assert (total.source.line, total.source.function) == (inspect.getsourcelines(helper)[1] + 1, "helper")
    (minus,) = [node for node in nodes if node.op == "subtract"]
    assert (minus.source.line, minus.source.function) == (first + 2, "<lambda>")
    assert all(node.source is not None and node.source.file == __file__ for node in nodes if node.op != "parameter")


# Captures


def test_captured_arrays_are_tensors_by_reference() -> None:
    weights = np.arange(3.0)
    both = [weights, lamina.asarray(weights)]

    def f(x):
        return x * weights + weights + both[1]

    graph = lamina.trace(f, np.ones(3))
    tensors = [node for node in graph.order if node.op == "tensor"]
    assert len(tensors) == 2  # one for each array, however often it is used
    compiled = compile_graph(graph)
    np.testing.assert_array_equal(compiled(np.ones(3))[0], [0.0, 3.0, 6.0])
    weights[:] = 1
    np.testing.assert_array_equal(compiled(np.ones(3))[0], [3.0, 3.0, 3.0])


def test_an_array_that_is_written_while_tracing_is_what_it_was_when_read() -> None:
    def f(x):
        table = np.zeros(3)
        total = x * 0
        for i in range(3):
            table[i] = i + 1
            total = total + table * x
        kept = table
        table = table * 10
        return total, kept, table

    compiled = lamina.defn(f)
    for _ in range(2):
        total, kept, table = compiled(np.ones(3))
        np.testing.assert_array_equal(total, [3.0, 4.0, 3.0])
        np.testing.assert_array_equal(kept, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(table, [10.0, 20.0, 30.0])


def test_a_global_array_that_the_function_writes_while_tracing() -> None:
    counts = np.zeros(2)

    def f(x):
        before = x + counts
        counts[0] += 1
        return before, x + counts

    before, after = lamina.defn(f)(np.ones(2))
    np.testing.assert_array_equal(before, [1.0, 1.0])
    np.testing.assert_array_equal(after, [2.0, 1.0])


def test_captures_in_inner_scopes() -> None:
    table = np.arange(4.0)

    def f(x):
        return lamina.fori_loop(0, 4, lambda i, c: c + lamina.take(table, i), x)

    check(lamina.trace(f, 1.0))
    assert lamina.defn(f)(1.0) == 7.0


# Pins


def pins(function, *args) -> list[str]:
    """The params that are left of a function of numbers, in order: those that are not pinned."""
    return kinds(lamina.trace(function, *args).params)


@pytest.mark.parametrize(
    "demand",
    [
        lambda n, x: sum(x for _ in range(n)),
        lambda n, x: np.zeros(n) + x[:3],
        lambda n, x: np.ones((2, n)) + x[3:],
        lambda n, x: x.reshape(n, -1),
        lambda n, x: [x, x, x, x][n],
        lambda n, x: x * complex(n).real,
        lambda n, x: x + len("a" * n),
        lambda n, x: x if n in (1, 3) else -x,
        lambda n, x: x[: int(n)],
    ],
)
def test_a_number_whose_value_is_needed_is_pinned(demand) -> None:
    x = np.arange(6.0)
    graph = lamina.trace(demand, 3, x)
    assert kinds(graph.params) == ["float64[6]"]
    expected = demand(3, x)
    np.testing.assert_array_equal(lamina.defn(demand)(3, x), expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda n, x: x if n > 2 else -x,
        lambda n, x: x if n else -x,
        lambda n, x: x if n * 2 + 1 == 7 else -x,
        lambda n, x: x if 1 < n <= 3 and not (n == 2 or x[n] > 5) else -x,
        lambda n, x: x * int(n),
        lambda n, x: x * float(n),
        lambda n, x: x[n] + x[: len(x) - 1].sum(),
        lambda n, x: n if n > 2 else -n,
        lambda n, x: max(n, 2) * min(x[n], 1.5),
    ],
    ids=lambda function: "",
)
def test_what_a_number_decides_is_traced(function) -> None:
    x = np.arange(6.0)
    assert kinds(lamina.trace(function, 3, x).params) == ["int64[]", "float64[6]"]
    compiled = lamina.defn(function, strict=True)
    for n in (3, 2, 0, -1):
        np.testing.assert_array_equal(compiled(n, x), function(n, x))


def test_only_the_numbers_that_decide_are_pinned() -> None:
    assert pins(lambda a, b, c: a * sum(c for _ in range(b)), 1.5, 3, 2.5) == ["float64[]", "float64[]"]
    assert pins(lambda a, b: np.ones(a if a > b else b), 1, 2) == []
    assert pins(lambda a, b: a if a > b else b, 1, 2) == ["int64[]", "int64[]"]
    assert pins(lambda a, b: a * 2 + b, 1, 2) == ["int64[]", "int64[]"]


def test_a_pin_in_an_inner_scope() -> None:
    def f(n, k, x):
        return lamina.fori_loop(0, k, lambda i, c: c + sum(x for _ in range(n)), x)

    assert pins(f, 3, 2, np.ones(2)) == ["int64[]", "float64[2]"]
    np.testing.assert_array_equal(lamina.defn(f)(3, 2, np.ones(2)), [7.0, 7.0])


def test_a_pin_is_not_caught_by_the_program() -> None:
    def f(n, x):
        try:
            return sum(x for _ in range(n))
        except Exception:  # noqa: BLE001
            return None

    assert lamina.defn(f)(3, 2.0) == 6.0


def test_the_truth_and_the_number_of_data_are_traced() -> None:
    def program(x):
        k = 1 if x.sum() > 0 else 2
        return k, float(x[0]), int(x.sum()), bool(x[1]), [float(each) for each in x]

    compiled = lamina.defn(program, strict=True)
    for x in (np.array([1.5, 0.0, 2.0]), -np.ones(3), np.array([2, 1, 0])):
        result, expected = compiled(x), program(x)
        assert result == expected
        assert [type(each) for each in result] == [type(each) for each in expected]


DEMANDS = [
    (lambda x: list(range(x.astype(int).sum())), "astype"),
    (lambda x: [1, 2, 3][x.astype(int)[0]], "fori_loop"),
    (lambda x: np.zeros(x.astype(int).sum()), "fori_loop"),
]


@pytest.mark.parametrize(("demand", "instead"), DEMANDS, ids=lambda each: "" if callable(each) else each)
def test_a_demand_on_data_is_an_error_that_says_what_to_write(demand, instead) -> None:
    with pytest.raises(ConcretizationError) as raised:
        lamina.defn(demand, strict=True)(np.ones(3))
    message = str(raised.value)
    assert "which are unknown while <lambda> is traced" in message and instead in message
    assert "test_staging.py:" in message


@pytest.mark.parametrize(("demand", "instead"), DEMANDS, ids=lambda each: "" if callable(each) else each)
def test_what_demands_data_runs_undecorated_with_one_warning(demand, instead) -> None:
    compiled = lamina.defn(demand)
    with pytest.warns(LaminaWarning) as caught:
        results = [compiled(x) for x in (np.ones(3), np.zeros(3), np.ones(3))]
    for result, x in zip(results, (np.ones(3), np.zeros(3), np.ones(3)), strict=True):
        np.testing.assert_array_equal(result, demand(x))
        assert type(result) is type(demand(x))
    (warning,) = caught
    message = str(warning.message)
    assert warning.filename == __file__ and message.startswith("<lambda> runs as plain Python, not compiled: ")
    assert "which are unknown while <lambda> is traced" in message and instead in message
    assert f"test_staging.py:{inspect.getsourcelines(demand)[1]}" in message


def test_a_demand_that_numpy_swallows_is_a_note() -> None:
    with pytest.raises(TypeError, match="expected a sequence of integers") as raised:
        lamina.trace(lambda x: np.ndarray(x.astype(int).sum()), np.ones(3))
    (note,) = raised.value.__notes__
    assert "which are unknown while <lambda> is traced" in note and "test_staging.py:" in note


def test_demands_inside_loops_are_errors_too() -> None:
    with pytest.raises(ConcretizationError, match=r"body <lambda>"):
        lamina.defn(lambda x: lamina.fori_loop(0, 3, lambda i, c: c + [1, 2, 3][i], x), strict=True)(1.0)
    with pytest.raises(ConcretizationError, match="unknown while"):
        lamina.defn(lambda x: np.ones(lamina.runtime_call(int, lamina.Spec(int), x)), strict=True)(1.0)


# The text of a trace


def test_the_text_of_a_program() -> None:
    def program(x, n):
        y = x * 2.0
        return lamina.fori_loop(0, n, lambda i, c: c + y, x).sum()

    assert str(lamina.trace(program, lamina.Spec("float64", (3,)), 4)) == (
        "program(%0: float64[3], %1: int64[]):\n"
        "  %2: float64[3] = move(2.0: float64, Broadcast((3,)))\n"
        "  %3: float64[3] = multiply(%0, %2)\n"
        "  %4: (int64[], float64[3], int64[], float64[3]) = while((0: int64, %0, %1, %3)):\n"
        "    params (%5: int64[], %6: float64[3], %7: int64[], %8: float64[3])\n"
        "    condition:\n"
        "      %9: bool[] = less(%5, %7)\n"
        "      return %9\n"
        "    body:\n"
        "      %10: int64[] = add(%5, 1: int64)\n"
        "      %11: float64[3] = add(%6, %8)\n"
        "      return (%10, %11, %7, %8)\n"
        "  %12: float64[3] = elem(%4, 1)\n"
        "  %13: float64[] = sum(%12, (0,))\n"
        "  return %13"
    )
