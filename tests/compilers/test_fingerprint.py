"""What determines the code of a module is all in the text that is found before the module is written."""

import contextlib
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import compile_graph, driver, fingerprint, jit
from lamina.expr import Graph
from lamina.testing.programs import PROGRAMS
from tests.support.random_graphs import random_graph


class Stop(BaseException):
    """Nothing is compiled."""


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[[Graph], tuple[str, str] | None]:
    """A function that gives the key and the text of a graph's module; `None` where it has no native code."""

    def compiled(key: str, text: Callable[[], str], level: jit.Level) -> None:
        found.append((f"{key} {level}", f"{text()} {level}"))
        raise Stop

    def known(graph: Graph) -> tuple[str, str] | None:
        found.clear()
        with contextlib.suppress(Stop):
            compile_graph(graph)
        return found[0] if found else None

    found: list[tuple[str, str]] = []
    monkeypatch.setattr(jit, "compiled", compiled)
    return known


def test_equal_keys_are_equal_code(known: Any) -> None:
    graphs = [random_graph(seed).graph for seed in range(60)]
    graphs += [program.make([])[0] for program in PROGRAMS.values()]
    texts: dict[str, str] = {}
    for key, text in filter(None, map(known, graphs)):
        assert texts.setdefault(key, text) == text
    assert sum(len(key) < 1000 for key in texts) > 50  # a hash, not the text itself


X, N = np.linspace(0.5, 2.0, 24).reshape(4, 6), np.arange(6)


def test_whatever_the_code_depends_on_is_another_key(known: Any) -> None:
    def loop(turn: Callable[..., Any]) -> Callable[..., Any]:
        def f(x: Any, n: Any) -> Any:
            for i in range(n[1]):
                x = turn(x, i)
            return x

        return f

    def raising(x: Any, n: Any) -> Any:
        if x[0, 0] > 1:
            raise ValueError("too large")
        return x + 1

    functions: list[Callable[..., Any]] = [
        *(lambda x, n, k=k: x + k for k in (0.0, -0.0, 1.0, np.inf, np.nan)),
        *(lambda x, n, k=k: n + k for k in (0, 1, 2**40)),
        *(lambda x, n, k=k: x * x + k for k in (1.5, 2.5)),
        *(lambda x, n, k=k: x[k:, ::2] for k in (1, 2)),
        *(lambda x, n, k=k: x[:, ::k] + 1 for k in (2, -2)),
        *(lambda x, n, k=k: x.sum(axis=k) for k in (0, 1, None)),
        *(lambda x, n, k=k: k(x, axis=0) for k in (np.max, np.min, np.prod)),
        *(lambda x, n, k=k: x.astype(k) for k in (np.float32, np.int64, np.int32, bool)),
        *(lambda x, n, k=k: x[:, n[k]] for k in (0, 1)),
        lambda x, n: x - n,
        lambda x, n: n - x,
        lambda x, n: (x + 1, x + 2),
        lambda x, n: (x + 2, x + 1),
        lambda x, n: np.where(x > 1, x, 2),
        lambda x, n: np.where(x > 1, 2, x),
        loop(lambda x, i: x * i),
        loop(lambda x, i: x + i),
        loop(lambda x, i: x[:, ::-1] + i),
        *(lambda x, n, k=k: np.cumsum(x, axis=k) for k in (0, 1)),
        *(lambda x, n, k=k: np.sort(x, axis=k) for k in (0, 1)),
        lambda x, n: np.cumprod(x, axis=1),
        lambda x, n: np.linalg.solve(x[:4, :4], x[:, 0]),
        lambda x, n: np.linalg.solve(x[:4, 2:], x[:, 0]),
        raising,
    ]
    arguments = [(X, N), (X[:2], N), (X.astype(np.float32), N), (X, N.astype(np.int32))]
    graphs = [lamina.trace(f, *arguments[0]) for f in functions]
    graphs += [lamina.trace(lambda x, n: x * 3 + n, *each) for each in arguments]
    found = [known(graph) for graph in graphs]
    for (key, text), (other_key, other_text) in itertools.combinations(found, 2):
        assert text != other_text
        assert key != other_key


def test_what_the_code_does_not_depend_on_is_the_same_key(known: Any) -> None:
    def first(x: Any, n: Any) -> Any:
        y = x[n] * 2
        assert y[0, 0] < 3, "a message"
        return y.sum(axis=1)

    def second(array: Any, places: Any) -> Any:

        doubled = array[places] * 2
        assert doubled[0, 0] < 3, "another"
        return doubled.sum(axis=1)

    assert known(lamina.trace(first, X, N)) == known(lamina.trace(second, X, N))


def test_what_is_unforeseen_is_known_by_its_text(known: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = lamina.trace(lambda x: x + 1.5, X)
    key, text = known(graph)
    assert key != text
    monkeypatch.setattr(fingerprint, "_PLAIN", (bool, int, str, type(None)))
    key, text = known(graph)
    assert key == text


def test_nothing_is_written_for_code_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, n: Any) -> Any:
        total = 0.0
        for i in range(n[2]):
            total += x[i].sum()
        if total > 1e9:
            raise OverflowError("too large")
        return total, np.exp(x)[:, n[1]]

    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "kept"))
    first = lamina.defn(f, compiler="native", strict=True)(X, N)
    monkeypatch.setattr(jit, "_CODE", {})
    monkeypatch.setattr(driver.Segment, "write", lambda self: pytest.fail("it was written"))
    again = lamina.defn(f, compiler="native", strict=True)
    for result, expected in zip(again(X, N), first, strict=True):
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(OverflowError, match="too large"):
        again(X + 1e10, N)
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 1 with size 6"):
        again(X, np.array([0, 6, 2, 0, 0, 0]))


def test_library_calls_of_code_that_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, n: Any) -> Any:
        for i in range(n[3]):
            x = np.linalg.solve(x, x + i)
        return np.sort(x.cumsum(axis=1), axis=0), x @ x

    square, singular = np.random.default_rng(1).random((20, 20)), np.ones((20, 20))
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "kept"))
    first = lamina.defn(f, compiler="native", strict=True)(square, N)
    monkeypatch.setattr(jit, "_CODE", {})
    monkeypatch.setattr(driver.Segment, "write", lambda self: pytest.fail("it was written"))
    again = lamina.defn(f, compiler="native", strict=True)
    for result, expected in zip(again(square, N), first, strict=True):
        np.testing.assert_array_equal(result, expected)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        again(singular, N)


def test_other_sources_are_other_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in fingerprint._WRITERS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".py"):
            (tmp_path / name).write_text("one = 1\n")
        else:
            (tmp_path / name / "inner").mkdir(parents=True)
            (tmp_path / name / "inner" / "some.py").write_text("one = 1\n")
    monkeypatch.setattr(fingerprint, "__file__", str(tmp_path / "compilers" / "native" / "fingerprint.py"))
    found = {fingerprint.sources.__wrapped__()}
    assert {fingerprint.sources.__wrapped__()} == found
    files = sorted(tmp_path.rglob("*.py"))
    for path in files:
        before = path.stat()
        path.write_text("two = 2\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
        found.add(fingerprint.sources.__wrapped__())
        path.write_text("three = 3\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        found.add(fingerprint.sources.__wrapped__())
    assert len(found) == 1 + 2 * len(files)
    (tmp_path / "threads.py").unlink()
    with pytest.raises(fingerprint.Unforeseen):
        fingerprint.sources.__wrapped__()
