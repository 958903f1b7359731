"""The syntax tree of a function: its source found, parsed, and told apart from its neighbours."""

import ast
import functools
import inspect
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
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise NoSource(f"the source of {code.co_name} ({where}) can't be read") from error
    source = textwrap.dedent("".join(lines))
    tree = _parsed(source)
    if tree is None:
        raise NoSource(f"the source of {code.co_name} ({where}) doesn't stand alone; write it on lines of its own")
    ast.increment_lineno(tree, first - 1)
    found = [node for node in ast.walk(tree) if _is_definition_of(node, code)]
    if len(found) != 1:
        raise NoSource(
            f"{len(found)} functions on the lines of {code.co_name} ({where}); write each on lines of its own"
        )
    return found[0]


def _parsed(source: str) -> ast.Module | None:
    """The tree of lines that hold a function; a lambda's lines may be part of a longer statement."""
    for text in (source, f"({source.strip()})", source.strip().rstrip(",)"), source.strip().rstrip(",") + "\n"):
        try:
            return ast.parse(text)
        except SyntaxError:
            continue
    at = source.find("lambda")
    while at >= 0:
        for end in range(len(source), at, -1):
            try:
                return ast.parse("\n" * source.count("\n", 0, at) + source[at:end].strip())
            except SyntaxError:
                continue
        at = source.find("lambda", at + 1)
    return None


def _is_definition_of(node: ast.AST, code: types.CodeType) -> bool:
    if code.co_name == "<lambda>":
        return isinstance(node, ast.Lambda) and parameters_of(node.args) == code.co_varnames[: _argument_count(code)]
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        return False
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first == code.co_firstlineno


def parameters_of(arguments: ast.arguments) -> tuple[str, ...]:
    """The names of the parameters, in the order of a code object's variables."""
    plain = [arg.arg for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return (*plain, *(arg.arg for arg in (arguments.vararg, arguments.kwarg) if arg))


def _argument_count(code: types.CodeType) -> int:
    extra = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + extra
