"""The lines of the user's functions: which statement a line is part of, and what it says."""

import ast
import inspect
import linecache
import re
import textwrap
import tokenize
from typing import Any, NamedTuple

_DEFINITION = re.compile(r"\s*(async\s+)?def\s")
_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)  # whose own statements are of another function
_SILENT = (*_APART, ast.Pass, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom)


class Statement(NamedTuple):
    """A statement, or the head of one that holds others: its first and last line, and the text of the first."""

    first: int
    last: int
    text: str


class Function(NamedTuple):
    """A function of a file: the line of its ``def``, its name, and its statements in order."""

    file: str
    line: int
    name: str
    statements: tuple[Statement, ...]


def function_around(file: str, line: int) -> Function:
    """The innermost function that a line is in; where no source tells it, one of that line alone."""
    lines = linecache.getlines(file)
    for first in range(min(line, len(lines)), 0, -1):
        if not _DEFINITION.match(lines[first - 1]):
            continue
        try:
            block = inspect.getblock(lines[first - 1 :])
            tree: Any = ast.parse(textwrap.dedent("".join(block))).body[0]
        except (SyntaxError, tokenize.TokenError, ValueError):
            continue
        if line < first + len(block):
            return Function(file, first, tree.name, tuple(_statements(tree, first, lines)))
    return Function(file, line, "", (Statement(line, line, linecache.getline(file, line).strip()),))


def _statements(tree: Any, first: int, lines: list[str]) -> list[Statement]:
    found: list[Statement] = []
    waiting: list[ast.AST] = tree.body[::-1]
    while waiting:
        each = waiting.pop()
        is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if isinstance(each, ast.stmt) and not is_text and not isinstance(each, _SILENT):
            inner = [child for child in ast.walk(each) if isinstance(child, ast.stmt) and child is not each]
            last = min([child.lineno - 1 for child in inner], default=each.end_lineno or each.lineno)
            start, end = first - 1 + each.lineno, first - 1 + max(each.lineno, last)
            if not found or found[-1].last < start:
                text = lines[start - 1].strip()
                found.append(Statement(start, end, f"{text} …" if end > start else text))
        if not isinstance(each, _APART):
            waiting += [child for child in ast.iter_child_nodes(each) if not isinstance(child, ast.expr)][::-1]
    return found
