"""What a function reads from outside its arguments, so that the next call sees when it was rebound, as Python's does.

Globals and closure cells of the function, of the user's functions it names, and the attributes of a method's object are
read once when it is traced and compared before each later call: numbers and strings by value and type, anything else by
identity, containers leaf by leaf. Arrays are captured by reference, so what they hold needs no guard.
"""

import functools
import os
import sysconfig
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
import optree

import lamina.array
from lamina.expr.containers import flatten

_VALUES = (bool, int, float, complex, str, bytes)
_LARGEST = 64  # leaves of a container that are worth comparing at each call
_LIBRARIES = tuple(
    os.path.join(path, "")
    for path in {
        *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
        *(os.path.dirname(os.path.abspath(module.__file__)) for module in (lamina.array, np, optree)),
    }
)


class Guard(NamedTuple):
    """One thing that was read: how to read it again, and what it was."""

    read: Callable[[], Any]
    leaves: list[Any]
    structure: Any

    def holds(self) -> bool:
        """Whether reading it gives what it was."""
        try:
            leaves, structure = _content(self.read())
        except (NameError, ValueError, AttributeError, KeyError):
            return False
        return structure == self.structure and all(map(_same, leaves, self.leaves))


def guards_of(function: Callable[..., Any]) -> list[Guard]:
    """A guard for each thing that a function, and the user's functions it names, reads from outside.

    >>> k = 2
    >>> (guard,) = [guard for guard in guards_of(lambda x: x * k) if guard.leaves == [2]]
    >>> guard.holds()
    True
    """
    guards: list[Guard] = []
    seen: set[int] = set()
    stack: list[Any] = [function]
    while stack:
        called = stack.pop()
        if id(called) in seen:
            continue
        seen.add(id(called))
        for read in _reads(called):
            try:
                value = read()
            except (NameError, ValueError, AttributeError, KeyError):
                continue  # not bound yet; if the function needs it, Python says so
            guards.append(Guard(read, *_content(value)))
            stack.extend(_callables(value))
    return guards


def _reads(called: Any) -> Iterator[Callable[[], Any]]:
    if isinstance(called, MethodType):
        instance = called.__self__
        yield lambda: vars(instance) if hasattr(instance, "__dict__") else instance
        yield lambda: called.__func__
    elif isinstance(called, functools.partial):
        yield lambda: (called.func, called.args, called.keywords)
    elif isinstance(called, FunctionType):
        namespace = called.__globals__
        for name in _names(called.__code__):
            if name in namespace:
                yield functools.partial(namespace.__getitem__, name)
        for cell in called.__closure__ or ():
            yield functools.partial(_cell, cell)
        yield lambda: (called.__defaults__, called.__kwdefaults__)
    elif hasattr(called, "__wrapped__"):
        yield lambda: called.__wrapped__
    elif not isinstance(called, type):
        yield lambda: type(called).__call__
        yield lambda: vars(called) if hasattr(called, "__dict__") else None


def _cell(cell: CellType) -> Any:
    return cell.cell_contents


def _names(code: CodeType) -> set[str]:
    """The global names in a function's code and in that of the functions inside it."""
    names, codes = set(code.co_names), [code]
    while codes:
        for constant in codes.pop().co_consts:
            if isinstance(constant, CodeType):
                names.update(constant.co_names)
                codes.append(constant)
    return names


def _callables(value: Any) -> list[Any]:
    """The user's functions in what was read, whose own reads count too; a library's don't change."""
    return [leaf for leaf in _content(value)[0] if is_users(leaf)]


def is_users(leaf: Any) -> bool:
    """Whether a thing is a function of the user's, not a library's."""
    if isinstance(leaf, MethodType):
        leaf = leaf.__func__
    function = leaf if isinstance(leaf, FunctionType) else getattr(leaf, "__wrapped__", None)
    if isinstance(function, FunctionType):
        return not function.__code__.co_filename.startswith(_LIBRARIES)
    return isinstance(leaf, functools.partial)


def _content(value: Any) -> tuple[list[Any], Any]:
    if isinstance(value, (dict, list, tuple)):
        leaves, structure = flatten(value)
        if len(leaves) <= _LARGEST:
            return leaves, structure
    return [value], None


def _same(a: Any, b: Any) -> bool:
    # 1 and True, 0.0 and -0.0 are equal in Python, and NaN isn't equal to itself
    return a is b or (type(a) is type(b) and isinstance(a, _VALUES) and repr(a) == repr(b))
