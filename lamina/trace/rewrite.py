"""Python's control flow as calls: the source of a user's function, rewritten so that tracing sees loops and branches.

The protocols of NumPy see operations, not ``if``, ``for`` and ``while``. So the function that is traced, and each of
the user's functions it calls, is compiled anew from its syntax tree, with control flow, calls, stores and truth tests
turned into calls of `lamina.trace.python`, which do what Python would, unless something traced is in it. The bodies of
loops and branches become local functions that share the variables (``nonlocal``); early exits become flags. Line
numbers stay, so errors point at the user's source; closure cells and globals are the function's own.

What is not rewritten, and why, is `Unsupported`.
"""

import ast
import inspect
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

from lamina.trace.names import RUNTIME, Names, Uses
from lamina.trace.rewriter import Rewriter
from lamina.trace.source import NoSource, Unsupported, definition_of, of_code


def rewritten(function: types.FunctionType, runtime: Any) -> types.FunctionType:
    """The function with its control flow as calls of `runtime`.

    Raises `Unsupported` for a function whose source can't be had or holds what can't be traced.
    """
    code = _rewritten(function.__code__).code
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[RUNTIME] = types.CellType(runtime)
    if "__class__" in code.co_freevars and "__class__" not in cells:
        raise Unsupported(f"{function.__name__} uses super(), whose class isn't known here")
    closure = tuple(cells[name] for name in code.co_freevars)
    new = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__ = function.__qualname__
    return new


class _Rewritten(NamedTuple):
    """A function's code, rewritten; the global variables that it binds; and the names that it only writes."""

    code: types.CodeType
    globals: frozenset[str]
    only_written: frozenset[str]


@of_code
def _rewritten(code: types.CodeType) -> _Rewritten:
    where = f"{code.co_filename}:{code.co_firstlineno}"
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Unsupported(f"{code.co_name} ({where}) is a generator or a coroutine")
    definition = definition_of(code)
    names, uses = Names(definition), Uses(definition)
    body = (
        definition.body
        if isinstance(definition.body, list)
        else [ast.copy_location(ast.Return(definition.body), definition.body)]
    )
    new_body = Rewriter(names, code.co_filename).function_body(body)
    arguments = _without_defaults(definition.args)
    inner = ast.FunctionDef("_lamina_function", arguments, [], [], None)
    free = sorted({*code.co_freevars, RUNTIME})
    outer_args = ast.arguments([], [ast.arg(name) for name in free], None, [], [], None, [])
    outer_body: list[ast.stmt] = [inner, ast.Return(ast.Name("_lamina_function", ast.Load()))]
    outer = ast.FunctionDef("_lamina_outer", outer_args, outer_body, [], None)
    module = ast.fix_missing_locations(ast.Module([outer], []))  # of what is around the body, which has its own
    inner.body = new_body
    compiled = compile(module, code.co_filename, "exec")
    outer_code = next(c for c in compiled.co_consts if isinstance(c, types.CodeType))
    inner_code = next(c for c in outer_code.co_consts if isinstance(c, types.CodeType))
    new = _renamed(inner_code, code.co_name, code.co_qualname)
    return _Rewritten(new, frozenset(names.globals), uses.only_written)


def globals_bound_by(function: types.FunctionType) -> frozenset[str]:
    """The global variables that a function binds; those that it names, if it can't be rewritten."""
    try:
        return _rewritten(function.__code__).globals
    except Unsupported:
        return frozenset(function.__code__.co_names)


def only_written(code: types.CodeType) -> frozenset[str]:
    """The names that a function's code only writes; none where its source can't be had."""
    try:
        return _rewritten(code).only_written
    except Unsupported:
        try:
            return Uses(definition_of(code)).only_written
        except NoSource:
            return frozenset()


def _renamed(code: types.CodeType, name: str, qualname: str) -> types.CodeType:
    """The code under the user's name, with the functions that rewriting has put into it: messages name the user's."""
    consts = tuple(
        _renamed(each, name, qualname)
        if isinstance(each, types.CodeType) and each.co_name.startswith(RUNTIME)
        else each
        for each in code.co_consts
    )
    return code.replace(co_name=name, co_qualname=qualname, co_consts=consts)


def _without_defaults(arguments: ast.arguments) -> ast.arguments:
    """The same parameters; the function object has the defaults, so their expressions need not be evaluated again."""

    def plain(args: Iterable[ast.arg]) -> list[ast.arg]:
        return [ast.arg(arg.arg) for arg in args]

    none = ast.Constant(None)
    return ast.arguments(
        plain(arguments.posonlyargs),
        plain(arguments.args),
        ast.arg(arguments.vararg.arg) if arguments.vararg else None,
        plain(arguments.kwonlyargs),
        [none if default is not None else None for default in arguments.kw_defaults],
        ast.arg(arguments.kwarg.arg) if arguments.kwarg else None,
        [none for _ in arguments.defaults],
    )
