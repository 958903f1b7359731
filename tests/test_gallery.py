"""The gallery: programs as people write them, each decorated with nothing but ``@lamina.defn(strict=True)``."""

import types
from typing import Any

import numpy as np
import pytest

import lamina
from examples.gallery import GALLERY, Entry
from examples.gallery.__main__ import main
from examples.gallery.running import differences, nodes, with_turns

ENTRIES = [pytest.param(entry, id=entry.name) for entry in GALLERY]
STAGED = [pytest.param(entry, id=entry.name) for entry in GALLERY if entry.loops == "staged"]
# Programs whose loops go through an array that is cheap at any length.
ALONG_AN_ARRAY = {"implicit heat equation", "Needleman-Wunsch", "Viterbi", "Kalman filter"}
TURNS = 10_000


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_agrees_with_numpy(entry: Entry) -> None:
    """Results and arguments, at the first call and at the second one, within the tolerance of the entry."""
    for size in (9, 24):
        assert differences(entry, entry.arguments(size)) == []


@pytest.mark.parametrize("entry", STAGED)
def test_the_number_of_turns_does_not_change_the_graph(entry: Entry) -> None:
    arguments = entry.arguments(20)
    small = nodes(entry, arguments)
    assert any(node.op == "while" for node in small)
    assert len(small) < 500
    # array sizes are in the graph as numbers alone
    assert len(nodes(entry, entry.arguments(40))) == len(small)
    longer = entry.arguments(TURNS) if entry.name in ALONG_AN_ARRAY else with_turns(entry, arguments, TURNS)
    if longer is not None:
        assert len(nodes(entry, longer)) == len(small)


def test_ten_thousand_turns_are_tried() -> None:
    tried = [e for e in GALLERY if e.name in ALONG_AN_ARRAY or with_turns(e, e.arguments(9), TURNS) is not None]
    assert len(tried) >= 15


def test_a_difference_is_found() -> None:
    """In a result, a kind, an argument: the comparison isn't blind."""

    def entry(undecorated: Any, program: Any, tolerance: float = 0.0) -> Entry:
        decorated = lamina.defn(program)
        decorated.__wrapped__ = undecorated  # type: ignore[attr-defined]
        module = types.SimpleNamespace(program=decorated)
        return Entry("wrong", module, 1, tolerance)  # type: ignore[arg-type]

    def writing(x: np.ndarray) -> float:
        x[0] += 1
        return x.sum()

    def found(program: Any, tolerance: float = 0.0) -> list[str]:
        return differences(entry(writing, program, tolerance), (np.arange(3.0),))

    def close(x: np.ndarray) -> float:
        x[0] += 1
        return x.sum() + 1e-12

    def another_kind(x: np.ndarray) -> float:
        x[0] += 1
        return x.sum().astype(np.float32)

    def not_written(x: np.ndarray) -> float:
        return x.sum() + 1

    assert found(writing) == []
    assert len(found(close)) == 2 and found(close, 1e-9) == []
    assert len(found(another_kind, 1.0)) == 2
    assert [each.split(" ")[2] for each in found(not_written)] == ["arguments[0]"] * 2


def test_the_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["sieve", "life"]) == 0
    shown = capsys.readouterr().out
    assert "sieve of Eratosthenes" in shown and "game of life" in shown and "heat" not in shown
    assert shown.count("to the last bit") == 2
