"""The compilers by name. A compiler is a function ``compile(graph, options) -> callable``.

The callable takes the NumPy arrays of the graph's params, in order, contiguous in C order, and returns those of the
outputs' leaves, then those of the updates. It writes into none of the arrays that it is given, and none of the arrays
that it returns is written by a later call. It may have an attribute `in_place`: a callable like it that writes the
updates into the params' arrays, which are then writable, aligned, and no memory of another's, and returns the outputs
alone; where it raises, it has written nothing. `direct` has what a compiler takes over from Python altogether. Options
are the compiler's own: it raises `TypeError` for one that it doesn't know. Other packages add compilers through the
entry-point group ``lamina.compilers``.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from lamina.errors import CompilerError, warn
from lamina.evaluator import compile_graph
from lamina.expr import Graph
from lamina.expr.tree import nodes_of

Compiled = Callable[..., Sequence[np.ndarray]]
Compiler = Callable[[Graph, Mapping[str, Any]], Compiled]


def evaluator(graph: Graph, options: Mapping[str, Any]) -> Compiled:
    """The compiler that runs a graph one node at a time on NumPy.

    With the option ``poison=True`` what lies beyond a run-time length is filled with NaN (the least integer, True): a
    result that changes has read it. Raises `TypeError` for any other option.
    """
    expect_options("evaluator", options, ("poison",))
    return compile_graph(graph, poison=bool(options.get("poison", False)))


def native(graph: Graph, options: Mapping[str, Any]) -> Compiled:
    """The compiler that fuses a graph into loops of machine code, through LLVM; it has no options.

    Where it isn't to be had, or fails, the evaluator runs the graph, and one warning says why.
    """
    expect_options("native", options, ())
    room = _native_room()
    return compile_graph(graph) if room is None else room.compile_graph(graph)


@functools.cache
def _native_room() -> ModuleType | None:
    try:
        return import_module("lamina.compilers.native")  # loaded when needed, and LLVM with it
    except (ImportError, OSError) as error:  # no LLVM, one that can't be loaded, or another NumPy than it knows
        warn(f"programs run in the evaluator, not as native code: {error}")
        return None


_BUILT_IN: dict[str, Compiler] = {"evaluator": evaluator, "native": native}


def compiler_names() -> list[str]:
    """The names of the compilers there are: those built in, and those of installed packages.

    >>> "evaluator" in compiler_names()
    True
    """
    return sorted({*_BUILT_IN, *(point.name for point in _entry_points())})


def compiler_named(name: str | Compiler) -> Compiler:
    """The compiler of this name, built in or installed; a compiler itself is taken as it is.

    Raises `ValueError` that says which there are, where there is none of the name, and `ImportError` that says what to
    install, where the compiler is there and a package that it needs isn't.

    >>> compiler_named("evaluator") is evaluator
    True
    """
    if callable(name):
        return name
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    for point in _entry_points():
        if point.name == name:
            try:
                return point.load()  # type: ignore[no-any-return]
            except ImportError as error:
                raise ImportError(
                    f"the compiler {name!r} needs a package that is missing ({error}); {_install(point, error)}"
                ) from error
    raise ValueError(
        f"no compiler is named {name!r}; those installed are {', '.join(compiler_names())}. Packages add compilers "
        "through the entry-point group 'lamina.compilers'"
    )


def _entry_points() -> Any:
    # loaded when needed: it reads the metadata of every installed package
    return import_module("importlib.metadata").entry_points(group="lamina.compilers")


def _install(point: Any, error: ImportError) -> str:
    """What to write in a shell: the extra of the compiler's name, where its package has one."""
    extras = point.dist.metadata.get_all("Provides-Extra", []) if point.dist else []
    wanted = f"'{point.dist.name}[{point.name}]'" if point.name in extras else error.name
    return f"install it with: pip install {wanted}"


def expect_options(name: str, options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise `TypeError` for an option that the compiler of this name doesn't know.

    >>> expect_options("fast", {"threads": 2, "magic": True}, ["threads"])
    Traceback (most recent call last):
    TypeError: the compiler 'fast' has the options ['threads'], but got ['magic', 'threads']
    """
    if not options.keys() <= set(known):
        raise TypeError(
            f"the compiler {name!r} has {f'the options {sorted(known)}' if known else 'no options'}, "
            f"but got {sorted(options)}"
        )


def name_of(compiler: str | Compiler) -> str:
    """How a compiler is called in messages.

    >>> name_of("mlx"), name_of(evaluator)
    ('mlx', 'evaluator')
    """
    return compiler if isinstance(compiler, str) else getattr(compiler, "__name__", type(compiler).__name__)


def compile_by(compiler: str | Compiler, graph: Graph, options: Mapping[str, Any]) -> Compiled:
    """What a compiler, or the one of a name, makes of a graph, with the compiler named in whatever goes wrong.

    The callable raises `lamina.errors.CompilerError` for results of a wrong number, dtype or shape. Any other error, of
    the compiler's or of what it made, comes through with a note, unless a note says already where in the program it is.

    >>> import lamina
    >>> graph = lamina.trace(lambda x: x + 1, lamina.Spec(lamina.int64, (3,)))
    >>> def forgetful(graph, options):
    ...     return lambda *arrays: []
    >>> compile_by(forgetful, graph, {})(np.arange(3))
    Traceback (most recent call last):
    lamina.errors.CompilerError: the compiler 'forgetful' returned 0 arrays for <lambda>, but its graph has 1 results
    """
    name = name_of(compiler)
    try:
        compiled = compiler_named(compiler)(graph, options)
    except Exception as error:
        _name(error, f"lamina: raised by the compiler {name!r}, of {graph.name}")
        raise
    if not callable(compiled):
        raise CompilerError(f"the compiler {name!r} returned {compiled!r} for {graph.name}, which can't be called")
    nodes = (*nodes_of(graph.outputs), *(node for _, node in graph.updates))
    expected = [(node.dtype.numpy, node.shape) for node in nodes]
    checked = _Checked(compiled, name, graph.name, expected)
    in_place = getattr(compiled, "in_place", None)
    if in_place is not None:
        checked.in_place = _Checked(in_place, name, graph.name, expected[: len(nodes) - len(graph.updates)])
    return checked


class _Checked:
    """A compiled graph whose results are looked at, and whose errors are given a note."""

    def __init__(self, compiled: Compiled, compiler: str, graph: str, expected: Sequence[Any]) -> None:
        self._compiled, self._compiler, self._graph, self._expected = compiled, compiler, graph, expected
        self.direct = getattr(compiled, "direct", None)
        self.in_place: Compiled | None = None

    def __call__(self, *arguments: np.ndarray) -> Sequence[np.ndarray]:
        try:
            results = self._compiled(*arguments)
        except Exception as error:
            _name(error, f"lamina: raised while {self._graph} ran, compiled by {self._compiler!r}")
            raise
        if [(getattr(each, "dtype", None), getattr(each, "shape", None)) for each in results] != self._expected:
            difference = _difference(results, self._expected, self._graph)
            raise CompilerError(f"the compiler {self._compiler!r} returned {difference}")
        return [np.asarray(each, order="C") for each in results]  # which is the order of a node's memory


def _name(error: Exception, note: str) -> None:
    if not getattr(error, "__notes__", None) and not getattr(error, "_lamina_named", False):
        error.add_note(note)


def _difference(results: Sequence[Any], expected: Sequence[Any], name: str) -> str:
    if len(results) != len(expected):
        return f"{len(results)} arrays for {name}, but its graph has {len(expected)} results"
    for i, (result, (dtype, shape)) in enumerate(zip(results, expected, strict=True)):
        if (getattr(result, "dtype", None), getattr(result, "shape", None)) != (dtype, shape):
            came = f"{result.dtype}{result.shape}" if hasattr(result, "dtype") else f"{result!r}"
            return f"{came} as result {i} of {name}, but its graph has {dtype}{shape} there"
    raise AssertionError("they differ")
