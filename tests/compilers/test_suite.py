"""The suite itself: it passes the evaluator, finds what is wrong with any other, and says what a compiler lacks."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers import compiler_named, evaluator
from lamina.expr import OPS, Graph
from lamina.testing import run_compiler_suite
from lamina.testing.arguments import Inputs, cases_of
from lamina.testing.programs import PROGRAMS
from lamina.testing.scopes import SCOPES
from lamina.tree import all_nodes
from tests.support.case import all_dtypes
from tests.support.compilers import Counting, null
from tests.support.op_cases import CASES


def altered(alter: Any, op: str = "") -> Any:
    """The evaluator, of whose results the last is altered, for graphs that hold an op."""

    def bad(graph: Graph, options: Any) -> Any:
        compiled = evaluator(graph, options)
        if op and not any(node.op == op for node in all_nodes((graph.effects, graph.outputs))):
            return compiled

        def run(*arrays: np.ndarray) -> Any:
            *results, last = compiled(*arrays)
            return [*results, alter(last)]

        return run

    return bad


def test_the_evaluator_agrees_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    report = run_compiler_suite("evaluator")
    assert report and not report.lacks and not report.differs
    assert report.agreed > 19_000
    assert capsys.readouterr().out == f"evaluator: {report.agreed} of {report.agreed} cases agree with the evaluator\n"


@pytest.mark.parametrize("op", OPS)
def test_the_suite_tries_an_op_on_every_dtype_that_it_takes(op: str) -> None:
    tried = {dtype for dtype in lamina.dtype.DTYPES.values() if cases_of(op, Inputs(np.random.default_rng(0), dtype))}
    assert {dtype.numpy for dtype in tried} == set(all_dtypes(CASES[op]))


@pytest.mark.parametrize("scope", SCOPES)
def test_ops_are_tried_in_scopes(scope: str) -> None:
    """The evaluator, which is right everywhere but within one kind of scope."""
    kinds = {"fun": "call", "block": "block", "branch": "cond", "loop": "while"}
    wrong = altered(lambda x: x + 1, kinds[scope])
    report = run_compiler_suite(wrong, ops=["negative"], dtypes=["int64"], scopes=[scope], programs=())
    (case,) = report.differs
    assert case.endswith(f" in a {scope}")


def test_every_syntax_node_is_in_a_program() -> None:
    met = set()
    for program in PROGRAMS.values():
        graph, _ = program.make([])
        lamina.expr.check(graph)
        met |= {node.op for node in all_nodes((graph.effects, graph.outputs, graph.updates))}
    assert met >= lamina.expr.CROSSINGS.keys()


def test_a_compiler_that_computes_nothing_is_found_out() -> None:
    report = run_compiler_suite(null, dtypes=["int32", "float32", "complex64", "int4"])
    assert not report and not report.lacks
    known = {case.partition(",")[0] for case in report.differs}
    known |= {"imag float32", *(f"{op} {dtype}" for op in ("isnan", "isinf") for dtype in ("int32", "int4"))}  # zeros
    for op in OPS:
        for dtype in ("int32", "float32", "complex64", "int4"):
            if CASES[op].takes(lamina.dtype.DTYPES[dtype].numpy):
                assert f"{op} {dtype}" in known, (op, dtype)
    for name in PROGRAMS.keys() - {"nothing and one", "no results"}:
        assert f"program {name}" in known, name


def test_the_counting_compiler() -> None:
    counting = Counting()
    assert run_compiler_suite(counting, ops=["add"], scopes=(), programs=["while", "functions"])
    assert counting.counts["while"] == 2

    def program(x: Any, n: Any) -> Any:
        return lamina.cond(n > 0, lambda: lamina.fori_loop(0, n, lambda i, c: c + x, x), lambda: x * 2) + 1

    counting = Counting()
    lamina.defn(program, compiler=counting)(np.ones(3), 2)
    assert counting.counts["while"] == counting.counts["cond"] == counting.counts["multiply"] == 1
    assert counting.counts["add"] == 3  # the count, the carry, and the last


def test_a_missing_op_is_lacking_and_not_different() -> None:
    def without_sin(graph: Graph, options: Any) -> Any:
        if any(node.op == "sin" for node in all_nodes(graph.outputs)):
            raise NotImplementedError("no sine here")
        return evaluator(graph, options)

    report = run_compiler_suite(without_sin, ops=["sin", "cos"], dtypes=["float32"], programs=())
    assert not report and not report.differs
    assert set(report.lacks.values()) == {"no sine here"} and all(
        case.startswith("sin float32,") for case in report.lacks
    )
    assert str(report).splitlines()[1:] == ["  lacks sin float32, () and 12 more: no sine here"]


WRONG = {
    "a last bit": (altered(lambda x: x + np.spacing(x)), ["add"], ["float64"], "was expected"),
    "a sign of zero": (altered(np.abs), ["negative"], ["float32"], "was expected"),
    "an integer": (altered(lambda x: x ^ 1), ["multiply"], ["int8"], "was expected"),
    "five ulps of a function": (altered(lambda x: x * (1 + np.float64(1.2e-15))), ["exp"], ["float64"], "was expected"),
    "a sum": (altered(lambda x: x * np.float32(1.001)), ["sum"], ["float32"], "was expected"),
    "a NaN": (altered(np.nan_to_num), ["log"], ["float64"], "was expected"),
    "a dtype": (altered(lambda x: x.astype(np.float64)), ["add"], ["float32"], "CompilerError was raised"),
    "a shape": (altered(lambda x: x[None]), ["add"], ["float32"], "CompilerError was raised"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_result_is_found(what: str) -> None:
    compiler, ops, dtypes, message = WRONG[what]
    report = run_compiler_suite(compiler, ops=ops, dtypes=dtypes, scopes=(), programs=())
    assert report.differs and all(message in why for why in report.differs.values())


def test_within_the_tolerance_nothing_is_found() -> None:
    nudged = altered(lambda x: x * (1 + np.float64(4e-16)))
    assert run_compiler_suite(nudged, ops=["exp"], dtypes=["float64"], programs=())


def test_an_argument_that_is_written_is_found() -> None:
    def writes(graph: Graph, options: Any) -> Any:
        compiled = evaluator(graph, options)

        def run(*arrays: np.ndarray) -> Any:
            results = compiled(*arrays)
            arrays[0][...] = 1
            return results

        return run

    report = run_compiler_suite(writes, ops=["negative"], dtypes=["int8"], programs=())
    assert any("an argument was written" in why for why in report.differs.values())


def test_results_that_a_later_run_writes_are_found() -> None:
    def reuses(graph: Graph, options: Any) -> Any:
        compiled, kept = evaluator(graph, options), []

        def run(*arrays: np.ndarray) -> Any:
            results = compiled(*arrays)
            kept.extend(kept or [np.array(result) for result in results])
            for memory, result in zip(kept, results, strict=False):
                memory[...] = result
            return kept[: len(results)]

        return run

    assert run_compiler_suite(reuses, ops=["negative"], dtypes=["float32"], programs=()).differs


def test_effects_that_are_forgotten_are_found() -> None:
    def forgetful(graph: Graph, options: Any) -> Any:
        return evaluator(Graph(graph.params, graph.outputs, (), graph.name, graph.updates), options)

    report = run_compiler_suite(forgetful, ops=())
    wrong = {case.partition(",")[0].removeprefix("program ") for case in report.differs}
    assert wrong >= {"effects in order", "checks", "no results"}
    assert "callbacks were shown" in str(report)


def test_options_reach_the_compiler() -> None:
    with pytest.raises(TypeError, match="'poison'"):
        compiler_named("evaluator")(lamina.trace(lambda x: x, 1), {"a": 1})
    report = run_compiler_suite("evaluator", {"a": 1}, ops=["add"], dtypes=["int8"], programs=["while"])
    said = "TypeError was raised: the compiler 'evaluator' has the options ['poison']"
    assert all(said in why for why in report.differs.values())
    assert report.agreed == 0 and len(report.differs) > 5
