"""``print`` in a traced function: in order, when the program runs, f-strings of traced values too.

A traced value has no text while it is traced. So ``print`` becomes a hook that is given the values, and an f-string
that is printed becomes a `Text`, whose traced parts are formatted then. No other text can wait.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.trace.bounded import Bounded
from lamina.trace.build import constant, holds_value, node_of, scope_now
from lamina.trace.state import Untraceable, is_traced
from lamina.trace.value import Kind, Value
from lamina.trace.variant import Variant

_CONVERSIONS: dict[int, Callable[[Any], Any]] = {-1: lambda x: x, ord("s"): str, ord("r"): repr, ord("a"): ascii}


class _Part(NamedTuple):
    """A traced value in an f-string, and how it is formatted."""

    value: Value
    conversion: int
    spec: str

    def text(self, element: Any) -> str:
        return format(_CONVERSIONS[self.conversion](element), self.spec)


class Text(NamedTuple):
    """An f-string of traced values."""

    parts: tuple[str | _Part, ...]

    @property
    def values(self) -> list[Value]:
        """The traced ones, in order."""
        return [part.value for part in self.parts if isinstance(part, _Part)]

    def filled(self, elements: Iterator[Any]) -> str:
        """The string, with what the traced values are in a run."""
        return "".join(part.text(next(elements)) if isinstance(part, _Part) else part for part in self.parts)


def text(called: Any, *parts: Any) -> Any:
    """An f-string given to `called`: of strings, and of triples of a thing, its conversion and its specification."""
    made: list[str | _Part] = []
    for part in parts:
        if type(part) is str:
            made.append(part)
        elif is_traced(part[0]) and called is print:
            made.append(_Part(*part))
        else:
            thing, conversion, spec = part
            made.append(format(_CONVERSIONS[conversion](shown(thing)), spec))
    return Text(tuple(made)) if any(isinstance(part, _Part) for part in made) else "".join(map(str, made))


def shown(thing: Any) -> Any:
    """What is formatted: a traced value has no text yet."""
    if type(thing) in (list, tuple, set, dict) and holds_value(thing.values() if type(thing) is dict else thing):
        raise Untraceable("the text of a container of traced values is asked for; show them one by one with print")
    if type(thing) is Variant:
        raise Untraceable("the text is asked for of a value of which a run alone tells the dtype or the shape")
    if type(thing) is Bounded:
        return thing.settled()
    if type(thing) is not Value:
        return thing
    if thing.is_traced:
        raise Untraceable("the text of a traced value is asked for; show it with print or lamina.hook")
    return np.asarray(thing)[()] if thing.kind is not Kind.NUMBER else thing.item()


def print_(*args: Any, **kwargs: Any) -> None:
    """``print``, in order, when the program runs."""
    args = tuple(arg if type(arg) is Text else shown(arg) if type(arg) is not Value else arg for arg in args)
    values = [value for arg in args for value in _values_in(arg)]
    held = [value.kind for value in values]

    def show(arrays: Any) -> None:
        elements = iter([_as_kind(array, kind) for array, kind in zip(arrays, held, strict=True)])
        print(*(_filled(arg, elements) for arg in args), **kwargs)  # noqa: T201  the user's own, at run time

    scope = scope_now()
    nodes = tuple(map(node_of, values or [constant(0, dt.int64)]))  # a hook has an operand
    scope.perform(scope.emit("hook", nodes, "print", show if values else lambda _: show(())))


def _values_in(arg: Any) -> list[Value]:
    if type(arg) is Text:
        return arg.values
    return [arg] if type(arg) is Value else []


def _filled(arg: Any, elements: Iterator[Any]) -> Any:
    if type(arg) is Text:
        return arg.filled(elements)
    return next(elements) if type(arg) is Value else arg


def _as_kind(array: np.ndarray, kind: Kind) -> Any:
    if kind is Kind.ARRAY:
        return array
    return array[()] if kind is Kind.SCALAR else array.item()
