"""The table of NumPy's functions: each name's meaning, filled by the modules beside this one.

A meaning takes NumPy's arguments. Most are *rows*: a function of lamina's namespace with the arguments in another order
or under other names. A row hands on what was given and isn't NumPy's default; what lamina's function doesn't take is a
`NotImplementedError` that names the argument.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lamina.operators import FUNCTIONS

Meaning = Callable[..., Any]
_Meaning = TypeVar("_Meaning", bound=Meaning)

TABLE: dict[str, Meaning] = {}
"""The meanings, by NumPy's names: ``"sum"``, ``"linalg.norm"``."""

# What chooses an algorithm or a class, none of which there is more than one of here.
_WITHOUT_MEANING = frozenset({"assume_unique", "device", "kind", "overwrite_input", "stable", "subok"})


def means(*names: str) -> Callable[[_Meaning], _Meaning]:
    """Puts a function with NumPy's signature into the table."""

    def put(meaning: _Meaning) -> _Meaning:
        for name in names:
            TABLE[name] = meaning
        return meaning

    return put


def row(name: str, key: str, **renamed: str) -> None:
    """Puts the function ``key`` of lamina's namespace into the table, under the name of one of NumPy's.

    NumPy's arguments without a default go by position, the others by keyword, ``renamed`` perhaps.
    """

    def meaning(*args: Any, **kwargs: Any) -> Any:
        target, signature = FUNCTIONS[key], _signature(name)
        taken = inspect.signature(target).parameters
        by_position: list[Any] = []
        by_keyword: dict[str, Any] = {}
        for argument, value in signature.bind(*args, **kwargs).arguments.items():
            parameter = signature.parameters[argument]
            if parameter.kind is parameter.VAR_POSITIONAL:
                by_position.extend(value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                by_keyword.update(value)
            elif parameter.default is parameter.empty:
                by_position.append(value)
            elif value is not parameter.default and argument not in _WITHOUT_MEANING:
                keyword = renamed.get(argument, argument)
                if keyword not in taken:
                    raise NotImplementedError(f"the argument {argument} isn't there")
                by_keyword[keyword] = value
        return target(*by_position, **by_keyword)

    TABLE[name] = meaning


def numpys(name: str) -> Any:
    """NumPy's function of a name in the table; None where this NumPy has it not."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


@functools.cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(numpys(name))


@functools.cache
def by_function() -> dict[Any, tuple[str, Meaning]]:
    """The names and meanings by NumPy's functions themselves; of those with two names, the first."""
    found: dict[Any, tuple[str, Meaning]] = {}
    for name, meaning in TABLE.items():
        function = numpys(name)
        if function is not None:
            found.setdefault(function, (name, meaning))
    return found
