"""Passes: text in, text out; that the results stay what they are is `tests/compilers/test_native.py`'s."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.evaluator import compile_graph
from lamina.expr import Expr, Graph, build, check
from lamina.passes import PASSES, run_passes

X = lamina.Spec(lamina.float64, (3,))


def lines(function: Any, *names: str, args: Any = (X,)) -> list[str]:
    """What is left of a function by passes, without its first line."""
    graph = run_passes(lamina.trace(function, *args), names)
    check(graph)
    return [line.strip() for line in str(graph).splitlines()[1:]]


@pytest.mark.parametrize(
    ("exponent", "op"), [(2, "square(%0)"), (-1, "reciprocal(%0)"), (1, "%0"), (3, "multiply(%1, %0)")]
)
def test_powers_are_products(exponent: int, op: str) -> None:
    found = lines(lambda x: np.power(x, float(exponent)), "identities")
    assert (found[-2].partition(" = ")[2] if "(" in op else found[-1].split()[-1]) == op
    assert not any("pow" in line for line in found)


def test_other_powers_stay() -> None:
    assert any("pow" in line for line in lines(lambda x: x**0.5 + x**2.5, "identities"))
    assert any("pow" in line for line in lines(lambda x, y: x**y, "identities", args=(X, X)))
    integers = lamina.Spec(lamina.int64, (3,))
    assert any("pow" in line for line in lines(lambda x: np.power(x, 2), "identities", args=(integers,)))


def test_what_hangs_on_constants_is_one() -> None:
    def scaled(x):
        half = lamina.asarray(3.0) / lamina.asarray(6.0)
        return x * half

    (product, result) = lines(scaled, "constants")[-2:]
    assert result == f"return {product.partition(':')[0]}"
    assert not any("divide" in line for line in lines(scaled, "constants"))
    assert any("divide" in line for line in lines(scaled))


def test_what_is_not_exact_or_raises_is_no_constant() -> None:
    for op, numbers in (("exp", (1.0,)), ("pow", (2, -1))):
        args = [Expr("constant", (number,), lamina.float64 if op == "exp" else lamina.int64, ()) for number in numbers]
        graph = Graph((), (build(op, *args),))
        assert run_passes(graph, ["constants"]) is graph


def test_what_is_computed_twice_is_computed_once() -> None:
    assert lines(lambda x: np.sin(x) + np.sin(x), "common") == [
        "%1: float64[3] = sin(%0)",
        "%2: float64[3] = add(%1, %1)",
        "return %2",
    ]


def test_results_of_two_nodes_stay_two() -> None:
    graph = run_passes(lamina.trace(lambda x: (x + 1, x + 1), X), ["common"])
    first, second = compile_graph(graph)(np.zeros(3))
    assert not np.shares_memory(first, second)


def test_scopes_share_nothing() -> None:
    def f(x, n):
        y = np.full(3, 2.5) * x
        for _ in range(n):
            y = y + np.full(3, 2.5) * x + np.full(3, 2.5) * x
        return y

    graph = run_passes(lamina.trace(f, X, 100))
    check(graph)
    np.testing.assert_array_equal(compile_graph(graph)(np.ones(3))[0], np.full(3, 502.5))


def test_calls_and_blocks_become_what_they_compute() -> None:
    def f(x):
        g = lamina.fun(lambda a, b: (a * b, a - b))
        first, second = g(x, x + 1)
        return g(first, second)[0] + lamina.blocks.silu(x)

    found = lines(f, "calls")
    assert not any("call" in line or "block" in line or "fun" in line for line in found)
    graph = lamina.trace(f, X)
    for a, b in zip(
        compile_graph(graph)(np.arange(3.0)), compile_graph(run_passes(graph))(np.arange(3.0)), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_a_call_with_effects_stays() -> None:
    def f(x):
        shown = lamina.fun(lambda a: lamina.hook(a, "shown", print))
        return shown(x) + shown(x + 1)

    assert sum(" = call(" in line for line in lines(f, "calls")) == 2


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_that_finds_nothing_returns_the_graph(name: str) -> None:
    graph = lamina.trace(lambda x: x + 1, X)
    assert run_passes(graph, [name]) is graph
    assert run_passes(Graph((), ()), [name]).outputs == ()


def test_effects_stay_in_the_order_of_the_program() -> None:
    """What has no operands is rebuilt too, so that a node's place in the order is still known by its number."""
    drawn: list[str] = []

    def draw(name: str):
        return lamina.runtime_call(lambda: drawn.append(name) or 0.5, lamina.Spec(lamina.float64))

    def program(x):
        y = x**2
        first = draw("first")
        second = lamina.cond(y.sum() > 0, lambda: draw("second"), lambda: 0.0)
        third = draw("third")
        return lamina.cond(first > 0, lambda: third * 2, lambda: y.max()), second + first

    graph = run_passes(lamina.trace(program, np.ones(3)))
    numbers = [effect.id for effect in graph.effects]
    assert len(numbers) == 3 and numbers == sorted(numbers)
    lamina.defn(program, compiler="native")(np.ones(3))
    assert drawn == ["first", "second", "third"]
