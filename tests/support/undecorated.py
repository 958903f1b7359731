"""What a user can tell apart between a function and its decorated form: results, memory, exceptions, prints."""

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import TraceError
from tests.support.reducing import reduced

Maker = Callable[[], tuple[Any, ...]]


def assert_agrees(function: Callable[..., Any], *makers: Maker) -> None:
    """Strictly decorated, a function is the function itself, at the first call and at later ones, which go other ways.

    Each maker makes fresh, equal arguments; one compiled function takes the arguments of all.
    """
    decorated = lamina.defn(function, strict=True)
    for i, maker in enumerate(makers):
        for call in ("first", "second", "third"):
            found = differences(function, decorated, maker)
            assert not found, f"{call} call, arguments {i}: {'; '.join(found)}"


def differences(
    function: Callable[..., Any], decorated: Callable[..., Any], arguments: Maker, *, order: bool = True
) -> list[str]:
    """What a user can tell apart between a function and its decorated form on equal arguments; none is right.

    Without `order`, the strides of what comes back don't matter.
    """
    ours, our_args, our_prints = outcome(function, arguments())
    theirs, their_args, their_prints = outcome(decorated, arguments())
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        # an error class of NumPy's own is Python's
        found = [] if isinstance(ours, type(theirs)) else [f"raised {ours!r}, decorated {theirs!r}"]
        ours = theirs = ()
    else:
        found = _differ("result", ours, theirs)
    for i, (a, b) in enumerate(zip(our_args, their_args, strict=True)):
        found += _differ(f"argument {i}", a, b)
    if our_prints != their_prints:
        found.append(f"printed {our_prints!r}, decorated {their_prints!r}")
    return found or _differ_in_memory(_arrays((our_args, ours)), _arrays((their_args, theirs)), order)


def falls_back(drawn: Any, **options: Any) -> bool:
    """Whether a random program can't be traced; fails where its decorated form differs from it.

    `drawn` has a ``seed``, a ``source``, a ``function`` and a maker of ``arguments``; options are `lamina.defn`'s.
    """
    found, is_refused = _judged(drawn.function, drawn.arguments, options)
    if found and not is_refused:

        def differs(program: Callable[..., Any]) -> bool:
            other, is_refused = _judged(program, drawn.arguments, options)
            return bool(other) and not is_refused

        least = reduced(drawn.source, differs)
        pytest.fail(f"seed {drawn.seed}: {'; '.join(found)}\n\n{least}\nof\n\n{drawn.source}", pytrace=False)
    return is_refused


def _judged(program: Callable[..., Any], arguments: Maker, options: dict[str, Any]) -> tuple[list[str], bool]:
    """How a program's decorated form differs from it, and whether it can't be traced."""
    compiled = lamina.defn(program, strict=True, **options)
    refused: list[Exception] = []

    def decorated(*given: Any) -> Any:
        try:
            return compiled(*given)
        except (TraceError, NotImplementedError) as error:
            refused.append(error)
            raise

    # an array that was made has NumPy's values, not always its strides
    found = differences(program, decorated, arguments, order=False)
    if not found and not refused:
        outcome(decorated, arguments())
        found = differences(program, decorated, arguments, order=False)  # a third call may go another way than a first
    return found, bool(refused)


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...], str]:
    """What a call returns, or the exception that it raises; the arguments afterwards; and what it prints."""
    printed = io.StringIO()
    with np.errstate(all="ignore"), contextlib.redirect_stdout(printed):
        try:
            result = function(*arguments)
        except Exception as error:  # noqa: BLE001  whatever it is, both must raise it
            result = error
    return result, arguments, printed.getvalue()


def _arrays(thing: Any) -> list[np.ndarray]:
    if isinstance(thing, dict):
        thing = tuple(thing.values())
    if isinstance(thing, (tuple, list)):
        return [array for each in thing for array in _arrays(each)]
    return [thing] if isinstance(thing, np.ndarray) else []


def _differ_in_memory(ours: list[np.ndarray], theirs: list[np.ndarray], order: bool) -> list[str]:
    """Which arrays are one, or share memory, among the undecorated function's alone or the decorated one's."""
    found = []
    for i in range(len(ours)):
        for j in range(i):
            if _same_view(ours[i], ours[j]) != _same_view(theirs[i], theirs[j]):
                found.append(f"arrays {j} and {i} are one array in one alone")
            if np.shares_memory(ours[i], ours[j]) != np.shares_memory(theirs[i], theirs[j]):
                found.append(f"arrays {j} and {i} share memory in one alone")
        if order and _order(ours[i]) != _order(theirs[i]):
            found.append(f"array {i} has strides {ours[i].strides}, decorated {theirs[i].strides}")
        if ours[i].flags.writeable != theirs[i].flags.writeable:
            found.append(f"array {i} is writable in one alone")
    return found


def _same_view(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays see the same elements; the stride of an axis of one element says nothing."""
    first, second = ((x.__array_interface__["data"], x.dtype, x.shape, _order(x)) for x in (a, b))
    return bool(a.size) and first == second


def _order(array: np.ndarray) -> list[int]:
    """The strides of the axes that are moved along."""
    return [s for n, s in zip(array.shape, array.strides, strict=True) if n > 1] if array.size else []


def _differ(what: str, a: Any, b: Any) -> list[str]:
    if type(a) is not type(b):
        return [f"{what} is {type(a).__name__} {a!r}, decorated {type(b).__name__} {b!r}"]
    if isinstance(a, dict):
        if list(a) != list(b):
            return [f"{what} has the keys {list(a)}, decorated {list(b)}"]
        return [each for key in a for each in _differ(f"{what}[{key!r}]", a[key], b[key])]
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return [f"{what} has {len(a)} parts, decorated {len(b)}"]
        return [each for i, (p, q) in enumerate(zip(a, b, strict=True)) for each in _differ(f"{what}[{i}]", p, q)]
    if isinstance(a, (np.ndarray, np.generic)):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return [f"{what} is {a.dtype}{a.shape}, decorated {b.dtype}{b.shape}"]
        if a.dtype.kind not in "fc":
            close = np.array_equal(a, b)
        else:  # a sum in another order differs in its last bits, and a program may go on with them
            close = np.allclose(a, b, rtol=1e-11 if a.real.itemsize == 8 else 1e-5, atol=0, equal_nan=True)
        return [] if close else [f"{what} is {a!r}, decorated {b!r}"]
    if isinstance(a, float):
        return [] if np.isclose(a, b, rtol=1e-11, atol=0, equal_nan=True) else [f"{what} is {a!r}, decorated {b!r}"]
    return [] if a == b else [f"{what} is {a!r}, decorated {b!r}"]
