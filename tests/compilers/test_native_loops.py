"""Loops of scalars: what stays in registers between turns, and what LLVM is told and asked for that."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import aliases, ir, jit, planned


def levelled(value: np.ndarray, rate: float) -> np.ndarray:
    level = np.zeros_like(value)
    for i in range(1, len(value)):
        level[i] = level[i - 1] + rate * (value[i] - level[i - 1])
    return level


def distance(a: np.ndarray, b: np.ndarray) -> Any:
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            row[j + 1] = min(above + 1, row[j] + 1, diagonal + (a[i] != b[j]))
            diagonal = above
    return row[-1]


def of_turns(function: Callable[..., Any], *args: Any) -> tuple[int, int]:
    """How many loads and stores the one innermost loop has, as it is compiled; what it gives is NumPy's."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "_CODE", {})
        patch.setenv("LAMINA_CACHE", "0")
        make = jit._object_code
        patch.setattr(jit, "_object_code", lambda *what: made.append(what) or make(*what))  # type: ignore[func-returns-value]
        np.testing.assert_array_equal(lamina.defn(function)(*args), function(*args))
    text = str(jit.optimized(*made[0])).partition("@segment_0(")[2].partition("\n}")[0]
    blocks = {block.partition(":")[0]: block for block in text.split("\n\n")}
    (turns,) = (block for name, block in blocks.items() if re.search(rf"label %{re.escape(name)}(,|$)", block))
    return turns.count(" = load "), turns.count(" store ")


def test_what_a_turn_has_stored_or_none_changes_is_not_loaded(rng: np.random.Generator) -> None:
    loads, stores = of_turns(levelled, rng.random(100), 0.1)
    assert loads == stores > 1  # several turns at a time, each of which reads one value
    loads, stores = of_turns(distance, rng.integers(0, 4, 30), rng.integers(0, 4, 40))
    assert loads == 2 * stores > 2


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    c = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[j, k]
    return c


def test_an_element_that_each_turn_adds_to_is_in_a_register(rng: np.random.Generator) -> None:
    loads, stores = of_turns(product, rng.integers(0, 9, (50, 70)), rng.integers(0, 9, (60, 70)))
    assert loads > 2 and stores == 0


@pytest.mark.parametrize("value", [np.inf, np.nan, 2.0])
def test_what_is_wrong_first_is_said(value: float) -> None:
    def histogram(x: np.ndarray) -> np.ndarray:
        counts = np.zeros(64, np.int64)
        for i in range(len(x)):
            counts[int(x[i] * 64)] += 1
        return counts

    x = np.append(np.full(30, 0.5), value)
    with pytest.raises((OverflowError, ValueError, IndexError)) as expected:
        histogram(x)
    with pytest.raises(expected.type, match=re.escape(str(expected.value))):
        lamina.defn(histogram)(x)


def test_memories_that_change_places_are_one_to_llvm(rng: np.random.Generator) -> None:
    def rows(steps: int, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        old, new = first.copy(), first + 1
        for _ in range(steps):
            for i in range(1, len(old)):
                new[i] = old[i - 1] + new[i - 1] * 3 % 7
                old[i] = new[i] - old[i]
            old, new = new, old
        return old, new

    first = rng.integers(0, 9, 12)
    plan = planned(lamina.trace(rows, 20, first))
    exchanged = {pair for pair in aliases.exchanged(plan.program.block.instructions, plan.memory) if len({*pair}) == 2}
    memories = {*itertools.chain(*exchanged)}
    assert any(plan.program.buffers[each].numel == 12 for each in memories)
    tags = aliases.tags(ir.Module(), range(len(plan.memory)), exchanged)
    assert all(tags[one] == tags[other] for one, other in exchanged)
    assert len({*tags.values()}) > 1
    for steps in (20, 21):
        for got, expected in zip(lamina.defn(rows)(steps, first), rows(steps, first), strict=True):
            np.testing.assert_array_equal(got, expected)
