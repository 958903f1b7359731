"""The syntax tree of a function: its source found, parsed, and told apart from its neighbours."""

import ast
import contextlib
import copy
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Found = TypeVar("Found")


class Unsupported(Exception):
    """A function that can't be rewritten: why, and at which line."""


class NoSource(Unsupported):
    """A function whose source can't be had."""


def of_code(find: Callable[[types.CodeType], Found]) -> Callable[[types.CodeType], Found]:
    """The function, with what it finds of a code object remembered for as long as the code is there."""
    known: WeakKeyDictionary[types.CodeType, dict[str, Found]] = WeakKeyDictionary()

    @functools.wraps(find)
    def found(code: types.CodeType) -> Found:
        # codes of two files may be equal, but for the lines of their errors
        of_files = known.setdefault(code, {})
        if code.co_filename not in of_files:
            of_files[code.co_filename] = find(code)
        return of_files[code.co_filename]

    return found


def definition_of(code: types.CodeType) -> Any:
    """The syntax tree of a function, with the line numbers of its file. Raises `NoSource` where it can't be had."""
    where = f"{code.co_filename}:{code.co_firstlineno}"
    try:
        lines = _lines_around(code)
        if code.co_name == "<lambda>":
            return _lambda_of(code, lines)
        lines = lines[code.co_firstlineno - 1 :]
        tree = _tree_to_last_line(code, lines)
        source = "" if tree else "".join(inspect.getblock(lines))
    except (OSError, TypeError, SyntaxError) as error:
        raise NoSource(f"the source of {code.co_name} ({where}) can't be read") from error
    try:
        tree = tree or _parsed(code, source)
    except SyntaxError as error:
        raise NoSource(f"the source of {code.co_name} ({where}) doesn't stand alone") from error
    found = [node for node in ast.walk(tree) if _is_definition_of(node, code)]
    if len(found) != 1:
        raise NoSource(
            f"{len(found)} functions on the lines of {code.co_name} ({where}); write each on lines of its own"
        )
    return found[0]


def _parsed(code: types.CodeType, source: str) -> ast.Module:
    """The tree of a code's lines."""
    return ast.parse("\n" * (code.co_firstlineno - 1) + textwrap.dedent(source))


def _tree_to_last_line(code: types.CodeType, lines: list[str]) -> ast.Module | None:
    """The tree of a function up to the last line that its code has, of its lines and those after it.

    `None` where that isn't all of it: an indented line follows, which makes no code. To find the end of a block by its
    tokens takes longer than all the rest.
    """
    codes, end = [code], 0
    for each in codes:
        codes += [inner for inner in each.co_consts if isinstance(inner, types.CodeType)]
        end = max(end, *(last or 0 for _, last, _, _ in each.co_positions()))
    end -= code.co_firstlineno - 1
    while end < len(lines) and lines[end].lstrip().startswith((")", "]", "}")):
        end += 1
    following = next((line for line in lines[end:] if line.strip() and line.lstrip()[0] != "#"), "")
    if not 0 < end <= len(lines) or _indent(following) > _indent(lines[0]):
        return None
    try:
        return _parsed(code, "".join(lines[:end]))
    except SyntaxError:
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _lines_around(code: types.CodeType) -> list[str]:
    """The lines of the file of a code."""
    linecache.checkcache(code.co_filename)
    # inspect goes through all modules, milliseconds, for a file that only the loader of its module can read
    return linecache.getlines(code.co_filename) or inspect.findsource(code)[0]


def _is_definition_of(node: ast.AST, code: types.CodeType) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first == code.co_firstlineno


def _lambda_of(code: types.CodeType, lines: list[str]) -> ast.Lambda:
    """The lambda in whose body the code's instructions are: its lines may be those of others, and part of a statement.

    A code without columns (``python -X no_debug_ranges``) is the lambda of its line, where there is but one.
    """
    names = code.co_varnames[: _argument_count(code)]
    try:
        lambdas = _lambdas("".join(lines))
    except SyntaxError:  # a page of which some lines are Python
        return _only_lambda(code)
    found = [node for node in lambdas if node.lineno == code.co_firstlineno and parameters_of(node.args) == names]
    places = [
        (line, column)
        for line, _, column, end in code.co_positions()
        if line is not None and column is not None and (column, end) != (0, 0)
    ]
    if places:
        first, last = min(places), max(places)
        found = [node for node in found if _start(node.body) <= first and last < _end(node.body)]
        found.sort(key=lambda node: _start(node.body))  # the last one is the innermost
    if not found or (len(found) > 1 and not places):
        raise NoSource(
            f"{len(found)} lambdas on line {code.co_firstlineno} of {code.co_filename} fit; write each on its own line"
        )
    return copy.deepcopy(found[-1])


def _only_lambda(code: types.CodeType) -> ast.Lambda:
    """The lambda on the lines of a code, of which nothing but these lines may be Python; it must be the only one."""
    lines, first = inspect.getsourcelines(code)
    source = "".join(lines)
    at = source.find("lambda")
    for end in range(len(source), at, -1) if source.count("lambda") == 1 else ():
        with contextlib.suppress(SyntaxError):
            node = ast.parse("\n" * (first - 1 + source.count("\n", 0, at)) + source[at:end].strip(), mode="eval").body
            if isinstance(node, ast.Lambda):
                return node
    raise NoSource(f"the source of a lambda ({code.co_filename}:{first}) doesn't stand alone")


@functools.lru_cache(maxsize=16)
def _lambdas(source: str) -> list[ast.Lambda]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Lambda)]


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def parameters_of(arguments: ast.arguments) -> tuple[str, ...]:
    """The names of the parameters, in the order of a code object's variables."""
    plain = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return (*plain, *(arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg))


def _argument_count(code: types.CodeType) -> int:
    extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + extra
