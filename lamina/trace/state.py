"""The variables that a loop or a branch shares with its function: what they are before and after; how they merge."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeGuard

import numpy as np

from lamina.errors import TraceError
from lamina.expr import Expr
from lamina.trace.build import NUMBER_DTYPES
from lamina.trace.scope import Scope, user_source
from lamina.trace.value import Value

Get = Callable[[], tuple[Any, ...]]
Put = Callable[[tuple[Any, ...]], None]


class Untraceable(BaseException):
    """A program that can't be traced: reason and line. No `Exception`, so the program's own handlers let it through."""

    def __init__(self, reason: str) -> None:
        source = user_source()
        super().__init__(f"{reason} ({source.file}:{source.line})" if source else reason)
        self.reason = reason
        self.source = source


class NotKept(Untraceable):
    """A variable is read whose value was not kept: it is unbound, or what an earlier turn of a loop left."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} may be unbound here, or is what an earlier turn of a loop left")
        self.name = name


class CannotMerge(Exception):
    """Two values of a name that no one value stands for: why."""


class Decides(CannotMerge):
    """What an operand is decides what an operation gives: it must be done for each thing that the operand may be."""


def _unbound_error(self: "Unbound", *_: Any) -> NoReturn:
    self.fail()


class Unbound:
    """A variable that isn't bound (yet): any use raises what Python raises."""

    def __init__(self, name: str) -> None:
        self._lamina_name = name

    def fail(self) -> NoReturn:
        """Raise the error of a use."""
        raise UnboundLocalError(
            f"cannot access local variable '{self._lamina_name}' where it is not associated with a value"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_lamina") or name == "fail":
            raise AttributeError(name)
        self.fail()


class Poison(Unbound):
    """A variable whose value isn't known any more, since it wasn't live: a use means that it was."""

    def fail(self) -> NoReturn:
        """Raise the error of a use."""
        raise NotKept(self._lamina_name)


_OPERATIONS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and "
    "or xor lt le gt ge eq ne neg pos abs invert getitem setitem call iter len bool index int float iadd "
    "contains hash format str"
)
for _name in _OPERATIONS.split():
    setattr(Unbound, f"__{_name}__", _unbound_error)


def is_number(thing: Any) -> bool:
    """Whether a thing is a number or scalar, traced or not: immutable, and carried by value."""
    if type(thing) is Value:
        return thing.cell is None
    return type(thing) in NUMBER_DTYPES or isinstance(thing, np.generic)


def is_array(thing: Any) -> bool:
    """Whether a thing is a traced array."""
    return type(thing) is Value and thing.cell is not None


def is_traced(thing: Any) -> TypeGuard[Value]:
    """Whether a thing is a value that a run alone tells."""
    return type(thing) is Value and thing.is_traced


@contextmanager
def effects_apart(scope: Scope) -> Iterator[list[Expr]]:
    """Effects of the block go to a list of their own."""
    before, scope.effects = scope.effects, []
    try:
        yield scope.effects
    finally:
        scope.effects = before


@contextmanager
def apart(scope: Scope, is_branch: bool = False) -> Iterator[tuple[list[Expr], dict[Any, Expr]]]:
    """Effects and writes of the block go to a list and a layer of their own; `is_branch` for one of Python's own."""
    scope.layers.append({})
    scope.depth += is_branch
    try:
        with effects_apart(scope) as effects:
            yield effects, scope.layers[-1]
    finally:
        scope.depth -= is_branch
        scope.layers.pop()


def is_decided(value: Value) -> bool:
    """Whether a demand for a predicate's truth can be met: by its numbers, or by the loop that it depends on."""
    return value.deciding_numbers() is not None or value.deciding_loop() is not None


def demand(value: Value, reason: str) -> bool:
    """The truth of a predicate that must be known: pins its numbers, unrolls its loop, or is `Untraceable` so."""
    try:
        value.known(reason)  # which says why they are pinned
        return bool(value)
    except TraceError as error:
        raise Untraceable(reason) from error
