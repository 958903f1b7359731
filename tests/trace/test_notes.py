"""What a trace decides is noted with the line and the reason: loops staged or unrolled, turns apart, numbers pinned."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamina.defn import staged
from lamina.trace.scope import Note

X = np.arange(20.0)


def total(x, n):
    s = x[0]
    for i in range(n):
        s = s + x[i]
    return s


def becomes_a_scalar(x, n):
    s = 0.0
    for i in range(n):
        s = s + x[i]
    return s


def halved(x, n):
    while x.max() > n:
        x = x / 2
    return x


def few(x, n):
    for i in range(3):
        x = x + i * n
    return x


def through_a_list(x, n):
    for k in [1, 2, n]:
        x = x * k
    return x


def appended(x, n):
    rows = []
    for i in range(n):
        rows.append(x[i])  # noqa: PERF401  which is what is tested
    return rows[0]


def looked_up(x, n):
    names = [2, 3, 5, 7, 11, 13, 17, 19, 23]
    for i in range(n):
        x = x * names[i]
    return x


def known_test(x, n):
    k = 0
    while k < 3:
        x, k = x * n, k + 1
    return x


def becomes_an_array(x, n):
    y = 0
    for _ in range(n):
        y = x * 2 + y
    return y


def made(x, n):
    return np.zeros(n)


def unlike(x, n):
    if n > 3:
        return x.sum()
    return x


def nested(x, n):
    for i in range(n):
        for j in range(n):
            x[i] += j
    return x


def notes(function: Callable[..., Any], n: int = 9) -> list[tuple[str, str, str]]:
    """Kind, source text and reason of each note."""
    lines, first = inspect.getsourcelines(function)
    found = staged(function, (X.copy(), n), {})
    pins = [note for _, note in found.pinned]
    return [(note.kind, lines[note.source.line - first].strip(), note.text) for note in (*pins, *found.traced.notes)]


def kinds(function: Callable[..., Any], n: int = 9) -> list[tuple[str, str]]:
    return [(kind, line) for kind, line, _ in notes(function, n)]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (total, [("staged", "for i in range(n):")]),
        (few, [("unrolled", "for i in range(3):")]),
        (through_a_list, [("unrolled", "for k in [1, 2, n]:")]),
        (appended, [("pinned", "for i in range(n):"), ("unrolled", "for i in range(n):")]),
        (looked_up, [("pinned", "for i in range(n):"), ("unrolled", "for i in range(n):")]),
        (known_test, [("unrolled", "while k < 3:")]),
        (becomes_an_array, [(kind, "for _ in range(n):") for kind in ("pinned", "apart", "staged")]),
        (becomes_a_scalar, [("pinned", "for i in range(n):"), ("staged", "for i in range(n):")]),
        (halved, [("apart", "while x.max() > n:"), ("staged", "while x.max() > n:")]),
        (made, [("pinned", "return np.zeros(n)")]),
        (unlike, [("pinned", "if n > 3:")]),
        (nested, [("staged", "for j in range(n):"), ("staged", "for i in range(n):")]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_decision_is_noted_with_its_line(function: Callable[..., Any], expected: list[tuple[str, str]]) -> None:
    assert kinds(function) == expected


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (few, "it has no more than 8 turns"),
        (through_a_list, "it goes through a list"),
        (appended, "append() of a list in it"),
        (looked_up, "an index, a length or range(…) in it needs the number itself"),
        (made, "an index, a length or range(…)"),
        (becomes_a_scalar, "the number of turns of the loop (s starts as something else than a turn leaves)"),
        (halved, "x starts as something else than a turn leaves"),
        (unlike, "the branches of this if can't be one program: the result is float64[20] in one"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_reason_is_noted(function: Callable[..., Any], reason: str) -> None:
    assert all(reason in text for kind, _, text in notes(function) if kind != "staged")


def test_a_demand_in_a_loop_is_noted_with_its_own_line() -> None:
    line = inspect.getsourcelines(appended)[1] + 3
    assert f"(line {line})" in notes(appended)[-1][2]


def test_a_note_of_a_turn_that_is_traced_again_is_there_once() -> None:
    def widened(x, n):
        s = 0
        for i in range(n):
            for j in range(n):
                s = s + x[i] * j  # makes an integer a float, so that both bodies are traced again
        return s

    found = staged(widened, (X, 9), {}).traced.notes
    assert [note.kind for note in found] == ["staged", "staged"]
    assert len(set(found)) == len(found) and all(type(note) is Note for note in found)


def test_what_an_attempt_decided_that_failed_is_not_noted() -> None:
    def triangle(x, n):
        rows = []
        for i in range(n):
            for j in range(i):  # staged while i is traced
                x = x + j
            rows.append(x.sum())
        return rows[0]

    assert {kind for kind, _ in kinds(triangle)} == {"pinned", "unrolled"}
