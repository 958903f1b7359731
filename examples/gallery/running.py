"""Runs of the gallery beside the undecorated functions: whether they agree, the times, and the sizes of the graphs."""

import copy
import inspect
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import lamina
from examples.gallery import Entry


class Report(NamedTuple):
    """What a run shows of a program; times in seconds."""

    found: list[str]
    first: float
    steady: float
    numpy: float
    nodes: int


def report(entry: Entry) -> Report:
    """Run a program of the gallery at its size, decorated and undecorated, twice and more."""
    arguments = entry.arguments(entry.size)
    found = differences(entry, arguments)
    undecorated, decorated = entry.program.__wrapped__, lamina.defn(entry.program.__wrapped__, strict=True)
    first = _seconds(decorated, arguments)
    steady = statistics.median(_seconds(decorated, arguments) for _ in range(3))
    numpy = statistics.median(_seconds(undecorated, arguments) for _ in range(3))
    return Report(found, first, steady, numpy, len(nodes(entry, arguments)))


def differences(entry: Entry, arguments: tuple[Any, ...]) -> list[str]:
    """How the first and the second call of the decorated function differ from a call of the undecorated one.

    Results and final contents of arguments are compared: kinds, dtypes, shapes, and elements within the tolerance.
    """
    expected_arguments = copy.deepcopy(arguments)
    expected = entry.program.__wrapped__(*expected_arguments)
    found: list[str] = []
    for call in ("first", "second"):
        given = copy.deepcopy(arguments)
        result = entry.program(*given)
        found += _differ(f"{call} call's result", expected, result, entry.tolerance)
        found += _differ(f"{call} call's arguments", expected_arguments, given, entry.tolerance)
    return found


def nodes(entry: Entry, arguments: tuple[Any, ...]) -> list[Any]:
    """The nodes of a program's graph, those of its loops' bodies too."""
    graph = lamina.trace(entry.program, *arguments)
    return lamina.tree.all_nodes((graph.outputs, graph.effects, graph.updates))


def with_turns(entry: Entry, arguments: tuple[Any, ...], turns: int) -> tuple[Any, ...] | None:
    """The arguments with another number of turns; `None` for a program that isn't given it as a number."""
    names = list(inspect.signature(entry.program).parameters)
    place = next((i for i, name in enumerate(names) if name in ("steps", "max_steps", "max_turns")), None)
    return None if place is None else (*arguments[:place], turns, *arguments[place + 1 :])


def _seconds(function: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    given = copy.deepcopy(arguments)
    start = time.perf_counter()
    function(*given)
    return time.perf_counter() - start


def _differ(what: str, expected: Any, actual: Any, tolerance: float) -> list[str]:
    if type(actual) is not type(expected):
        return [f"{what} is {type(actual).__name__}, not {type(expected).__name__}"]
    if isinstance(expected, dict):
        if list(actual) != list(expected):
            return [f"{what} has the keys {list(actual)}, not {list(expected)}"]
        return [each for key in expected for each in _differ(f"{what}[{key!r}]", expected[key], actual[key], tolerance)]
    if isinstance(expected, (tuple, list)):
        if len(actual) != len(expected):
            return [f"{what} has {len(actual)} parts, not {len(expected)}"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [each for i, (a, b) in pairs for each in _differ(f"{what}[{i}]", a, b, tolerance)]
    return _elements_differ(what, np.asarray(expected), np.asarray(actual), tolerance)


def _elements_differ(what: str, expected: np.ndarray, actual: np.ndarray, tolerance: float) -> list[str]:
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return [f"{what} is {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}"]
    if expected.dtype.kind not in "fc":
        is_same = np.array_equal(actual, expected)
    else:
        scale = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
        is_same = np.allclose(actual, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    return [] if is_same else [f"{what} has other elements"]
