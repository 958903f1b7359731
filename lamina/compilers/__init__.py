"""The compilers by name. A compiler is a function ``compile(graph, options) -> callable``.

The callable takes the NumPy arrays of the graph's params, in order, and returns those of the outputs' leaves. Other
packages add compilers through the entry-point group ``lamina.compilers``.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from lamina.evaluator import compile_graph
from lamina.expr import Graph

Compiled = Callable[..., Sequence[np.ndarray]]
Compiler = Callable[[Graph, Mapping[str, Any]], Compiled]


def evaluator(graph: Graph, options: Mapping[str, Any]) -> Compiled:
    """The compiler that runs a graph one node at a time on NumPy; it has no options."""
    if options:
        raise TypeError(f"the compiler 'evaluator' has no options, but got {sorted(options)}")
    return compile_graph(graph)


_BUILT_IN: dict[str, Compiler] = {"evaluator": evaluator}


def compiler_named(name: str) -> Compiler:
    """The compiler of this name, built in or installed; `ValueError` that says which there are, for none.

    >>> compiler_named("evaluator") is evaluator
    True
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    # loaded when needed: it reads the metadata of every installed package
    points = import_module("importlib.metadata").entry_points(group="lamina.compilers")
    for point in points:
        if point.name == name:
            return point.load()  # type: ignore[no-any-return]
    known = sorted({*_BUILT_IN, *(point.name for point in points)})
    raise ValueError(f"no compiler is named {name!r}; those installed are {', '.join(known)}")
