"""Compilers by name: what is installed, what is missing, and compilers that break their contract."""

import re
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers import compile_by, compiler_named, compiler_names, evaluator
from lamina.errors import CompilerError


def entry_point(monkeypatch: pytest.MonkeyPatch, name: str, load: Any, extras: tuple[str, ...] = ()) -> None:
    """The only entry point there is, of a package that has these extras."""
    about = SimpleNamespace(get_all=lambda field, otherwise: list(extras) if field == "Provides-Extra" else otherwise)
    point = SimpleNamespace(name=name, load=load, dist=SimpleNamespace(name="fast-arrays", metadata=about))
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point] if group == "lamina.compilers" else [])


def test_a_package_adds_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    entry_point(monkeypatch, "fast", lambda: evaluator)
    assert {"evaluator", "fast"} <= set(compiler_names())
    assert compiler_named("fast") is evaluator
    assert lamina.defn(lambda x: x + 1, compiler="fast")(np.arange(2)).tolist() == [1, 2]
    with pytest.raises(
        ValueError, match=r"no compiler is named 'slow'; those installed are evaluator, .*fast.*entry-po"
    ):
        compiler_named("slow")


@pytest.mark.parametrize(
    ("extras", "expected"),
    [(("fast", "dev"), r"pip install 'fast-arrays\[fast\]'"), ((), "pip install quick")],
)
def test_a_compiler_whose_package_is_missing(
    extras: tuple[str, ...], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load() -> Any:
        raise ModuleNotFoundError("No module named 'quick'", name="quick")

    entry_point(monkeypatch, "fast", load, extras)
    with pytest.raises(ImportError, match=f"the compiler 'fast' needs .*No module named 'quick'.*{expected}"):
        lamina.defn(lambda x: x, compiler="fast")


def test_a_compiler_itself_is_taken_as_it_is() -> None:
    seen = []

    def mine(graph: Any, options: Any) -> Any:
        seen.append((graph.name, dict(options)))
        return evaluator(graph, {})

    def f(x: Any) -> Any:
        return x * 2

    assert lamina.defn(f, compiler=mine, level=3)(np.arange(2)).tolist() == [0, 2]
    assert seen == [("f", {"level": 3})]


# Compilers that break their contract. The program writes into its argument, whose elements must stay.


CAPTURED = np.zeros(2)


def program(x: Any) -> Any:
    x[1:] += x[:-1]
    CAPTURED[0] += x[1]
    return x.sum(), x * 2


class OwnError(Exception):
    pass


def fails_to_compile(graph: Any, options: Any) -> Any:
    raise OwnError("no")


def is_not_callable(graph: Any, options: Any) -> Any:
    return 3


def fails_to_run(graph: Any, options: Any) -> Any:
    def run(*arrays: np.ndarray) -> Any:
        raise OwnError("no")

    return run


def spoiled(spoil: Any) -> Any:
    """The evaluator, its results spoiled."""

    def bad(graph: Any, options: Any) -> Any:
        compiled = evaluator(graph, options)
        return lambda *arrays: spoil(list(compiled(*arrays)))

    return bad


BAD = {
    "raises when it compiles": (fails_to_compile, OwnError, "raised by the compiler 'fails_to_compile', of program"),
    "not callable": (is_not_callable, CompilerError, "the compiler 'is_not_callable' returned 3 for program"),
    "raises when it runs": (fails_to_run, OwnError, "raised while program ran, compiled by 'fails_to_run'"),
    "too few": (spoiled(lambda r: r[:-1]), CompilerError, "'bad' returned 3 arrays for program, but .* 4 results"),
    "too many": (spoiled(lambda r: [*r, r[0]]), CompilerError, "'bad' returned 5 arrays for program"),
    "dtype": (
        spoiled(lambda r: [r[0], r[1].astype(np.float32), *r[2:]]),
        CompilerError,
        r"'bad' returned float32\(4,\) as result 1 of program, but its graph has float64\(4,\) there",
    ),
    "byte order": (spoiled(lambda r: [r[0], r[1].astype(">f8"), *r[2:]]), CompilerError, "returned >f8"),
    "shape": (
        spoiled(lambda r: [r[0].reshape(1), *r[1:]]),
        CompilerError,
        r"returned float64\(1,\) as result 0 .* float64\(\) there",
    ),
    "no array": (spoiled(lambda r: [3, *r[1:]]), CompilerError, "returned 3 as result 0"),
    "shape of what is written": (
        spoiled(lambda r: [*r[:2], r[2][:3], *r[3:]]),
        CompilerError,
        r"float64\(3,\) as result 2",
    ),
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("what", BAD)
def test_a_bad_compiler_is_named_and_the_arguments_are_untouched(what: str, strict: bool) -> None:
    compiler, error, message = BAD[what]
    x = np.arange(4.0)
    f = lamina.defn(program, compiler=compiler, strict=strict)
    for _ in range(2):  # what went wrong is not remembered as a trace that is there
        with pytest.raises(error) as raised:
            f(x)
        text = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
        assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and CAPTURED.tolist() == [0.0, 0.0]
        assert re.search(message, text), text


def test_what_the_program_raises_is_not_laid_at_the_compilers_door() -> None:
    def f(x: Any) -> Any:
        lamina.check(x.sum() < 3, ValueError, "too much")
        return x

    def mine(graph: Any, options: Any) -> Any:
        return evaluator(graph, options)

    with pytest.raises(ValueError, match="too much") as raised:
        lamina.defn(f, compiler=mine)(np.arange(4.0))
    assert not any("mine" in note for note in raised.value.__notes__)


def test_compile_by_a_name() -> None:
    graph = lamina.trace(lambda x: x + 1, np.arange(3))
    assert compile_by("evaluator", graph, {})(np.arange(3))[0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="no compiler is named 'nope'"):
        compile_by("nope", graph, {})
