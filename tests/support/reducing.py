"""The smallest part of a random program that still differs: statements are left out as long as it does."""

import contextlib
import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

_numbers = itertools.count()


def reduced(source: str, differs: Callable[[Callable[..., Any]], bool]) -> str:
    r"""The source of a function ``program`` without the statements that don't matter for what `differs` says of it.

    >>> source = "def program(x):\n    y = x\n    z = 1\n    return z\n"
    >>> print(reduced(source, lambda program: program(0) == 1), end="")
    def program(x):
        z = 1
        return z
    """
    lines, place = source.splitlines(), 1
    while place < len(lines):
        behind = place + 1  # what is indented deeper goes with it
        while behind < len(lines) and _depth(lines[behind]) > _depth(lines[place]):
            behind += 1
        rest = [*lines[:place], *lines[behind:]]
        if _holds("\n".join(rest) + "\n", differs):
            lines, place = rest, 1
        else:
            place += 1
    return "\n".join(lines) + "\n"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _holds(source: str, differs: Callable[[Callable[..., Any]], bool]) -> bool:
    file = f"<reduced {next(_numbers)}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    namespace: dict[str, Any] = {"np": np}
    with contextlib.suppress(Exception):
        exec(compile(source, file, "exec"), namespace)
        return differs(namespace["program"])
    return False
