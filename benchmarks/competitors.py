"""The competitors: how each makes something to call of a program, at its best.

NumPy, numexpr, Numba and lamina are given NumPy arrays and give NumPy arrays back. JAX is given arrays that are on its
device already, and is done when its result is.
"""

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

import lamina

from .programs.program import Program

Call = Callable[..., Any]

NO_EXPRESSION = "it is no one expression"


@dataclass(frozen=True)
class Form:
    """One way in which a competitor runs a program: `make()` builds what is called, compiled by its first call.

    `given` readies an argument, outside of what is measured.
    """

    competitor: str
    label: str
    make: Callable[[], Call]
    given: Callable[[Any], Any] = lambda value: value


def numpy_forms(program: Program, compiler: str) -> Iterator[Form]:
    yield Form("NumPy", "", lambda: program.source)


def lamina_forms(program: Program, compiler: str) -> Iterator[Form]:
    yield Form("lamina", "", lambda: lamina.defn(program.source, compiler=compiler))


def numba_forms(program: Program, compiler: str) -> Iterator[Form]:
    numba = import_module("numba")

    def form(source: Call, label: str, parallel: bool) -> Form:
        def compiled(function: Call) -> Call:
            made: Call = numba.njit(function, parallel=parallel)
            return made

        return Form("Numba", label + ", parallel" * parallel, lambda: rebound(source, {}, compiled))

    label, source = ("source", program.source) if program.loops is None else ("loops", program.loops)
    yield form(source, label, False)
    if program.parallel:
        yield form(source, label, True)


def jax_forms(program: Program, compiler: str) -> Iterator[Form]:
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)

    def made() -> Call:
        # `np` is jax.numpy, with NumPy's own for the names of types and constants that it lacks
        np_of_jax = types.SimpleNamespace(**{**vars(np), **vars(jax.numpy)})
        function = program.jax or rebound(program.source, {"np": np_of_jax}, lambda function: function)
        compiled = jax.jit(function, static_argnums=static)
        return lambda *args: jax.block_until_ready(compiled(*args))

    static = [i for i, each in enumerate(program.made("small")) if isinstance(each, int)]
    yield Form(
        "JAX",
        "twin" if program.jax else "source",
        made,
        lambda value: jax.numpy.asarray(value) if isinstance(value, np.ndarray) else value,
    )


def numexpr_forms(program: Program, compiler: str) -> Iterator[Form]:
    import_module("numexpr")
    if program.numexpr is None:
        raise NotImplementedError(NO_EXPRESSION)
    expression = program.numexpr
    yield Form("numexpr", "", lambda: expression)


FORMS: dict[str, Callable[[Program, str], Iterator[Form]]] = {
    "lamina": lamina_forms,
    "NumPy": numpy_forms,
    "Numba": numba_forms,
    "JAX": jax_forms,
    "numexpr": numexpr_forms,
}
COMPETITORS = tuple(FORMS)


def rebound(function: Call, names: dict[str, Any], wrap: Callable[[Call], Call]) -> Call:
    """A function whose globals are other ones: `names`, and the functions of its own module bound in the same way."""
    namespace: dict[str, Any] = dict(function.__globals__)

    def bound(each: types.FunctionType) -> Call:
        copy = types.FunctionType(each.__code__, namespace, each.__name__, each.__defaults__, each.__closure__)
        copy.__qualname__, copy.__module__ = each.__qualname__, each.__module__
        return wrap(copy)

    helpers = {name: each for name, each in namespace.items() if _is_helper(each, function)}
    namespace.update({name: bound(each) for name, each in helpers.items()})
    namespace.update(names)
    return bound(function) if isinstance(function, types.FunctionType) else function


def _is_helper(value: Any, function: Call) -> bool:
    return isinstance(value, types.FunctionType) and value.__module__ == function.__module__
