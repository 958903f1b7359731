"""Random graphs through the evaluator and the native compiler, with each of its passes and without it."""

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from lamina.compilers.native import STEPS, planned
from lamina.compilers.native.execute import executable
from lamina.evaluator import compile_graph
from lamina.passes import PASSES
from lamina.testing.elements import difference
from tests.support.random_graphs import RandomGraph, random_graph

PARTS = 10
SEEDS, FEWER_SEEDS, LONG_SEEDS = 1_000, 500, 20_000

# what is done with much alone, done with little
AS_IF_LARGE: dict[str, dict[str, int]] = {
    "lamina.compilers.native.driver": {"_MUCH": 1},
    "lamina.program.packed": {"_MUCH": 1, "_OFTEN": 2, "_WIDE": 2},
    "lamina.program.split": {"FEW": 2, "LONG": 16, "_PARTS": 2},
    "lamina.program.tallied": {"_LONG": 1, "_FOR_A_PLACE": 1},
}

Run = Callable[..., Sequence[np.ndarray]]


WAYS = ["", *PASSES, *STEPS]
FOUND = (
    1_288,
    20_047,
    20_368,
    21_102,
    40_649,
    43_057,
    43_314,
    44_336,
)  # seeds of graphs that native code got wrong once


def outcome(run: Run, case: RandomGraph) -> tuple[Any, list[Any]]:
    """What a run returns, or the kind of error that it raises, and what its callbacks were shown."""
    case.log.clear()
    given = [argument.copy() for argument in case.arguments]
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            result: Any = [np.asarray(each).copy() for each in run(*given)]
    except (IndexError, ValueError) as error:
        result = type(error)
    for argument, held in zip(given, case.arguments, strict=True):
        assert difference(argument, held) == "", "an argument was written"
    return result, list(case.log)


def differences(case: RandomGraph, left_out: str = "") -> list[str]:
    """How native code differs from the evaluator: in results, in the error, in what is shown."""
    expected, shown = outcome(compile_graph(case.graph), case)
    run = executable(planned(case.graph, left_out))
    found = []
    for turn in ("first", "second"):
        results, seen = outcome(run, case)
        if isinstance(results, type) or isinstance(expected, type):
            found += [] if results == expected else [f"{turn} call: {results} came, {expected} was expected"]
            continue
        for i, (came, wanted, ulps) in enumerate(zip(results, expected, case.ulps, strict=True)):
            if wrong := difference(came, wanted, ulps=ulps):
                found.append(f"{turn} call, result {i}: {wrong}")
        logs = zip(seen, shown, strict=False)
        if len(seen) != len(shown) or any(difference(came, wanted) for came, wanted in logs):
            found.append(f"{turn} call: {seen} was shown, {shown} was expected")
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_native_code_gives_what_the_evaluator_gives(part: int, long_mode: bool) -> None:
    """As it is, and for each graph once without one of the steps."""
    for seed in range(part, LONG_SEEDS if long_mode else SEEDS, PARTS):
        for left_out in dict.fromkeys(("", WAYS[seed // PARTS % len(WAYS)])):
            found = differences(random_graph(seed), left_out)
            assert not found, f"seed {seed} without {left_out or 'nothing'}: {found}\n{random_graph(seed).graph}"


@pytest.mark.parametrize("part", range(PARTS))
def test_what_large_programs_become(part: int, long_mode: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, parts of reductions, tables and copies in order, of graphs that are too small for them."""
    for module, values in AS_IF_LARGE.items():
        for name, value in values.items():
            monkeypatch.setattr(importlib.import_module(module), name, value)
    for seed in range(part, LONG_SEEDS if long_mode else FEWER_SEEDS, PARTS):
        found = differences(random_graph(seed))
        assert not found, f"seed {seed} as if it were large: {found}\n{random_graph(seed).graph}"


@pytest.mark.parametrize("seed", FOUND)
def test_graphs_that_were_wrong_once(seed: int) -> None:
    assert differences(random_graph(seed)) == []
