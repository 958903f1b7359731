"""Calls that need no more than a look: contiguous arrays and numbers in, arrays of their own out, nothing written.

For any other call `lamina.defn` finds out which memories there are, which of them are written and what goes back where.
Where all of that has nothing to find, a call is a key, the guards, the compiled program, and its results.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina.array import Array
from lamina.compilers import Compiled
from lamina.compilers.direct import Form, Given, Made, Taken, Thing
from lamina.layout import Layout
from lamina.layout.move import Permute
from lamina.results import is_of_kind
from lamina.roots import Member, Root
from lamina.trace.guards import Guard
from lamina.trace.staging import Output, Traced
from lamina.trace.value import Kind

_BEHAVED = 0x0001 | 0x0100  # NumPy's flags of an array that is C-contiguous and aligned
_FORM = _BEHAVED | 0x0400  # and writable
_NUMBERS = frozenset({bool, int, float})


class Shortcut(NamedTuple):
    """A compiled program whose params are the arguments, and what makes the function's result of its own."""

    compiled: Compiled
    guards: list[Guard]
    finish: Callable[[Sequence[np.ndarray]], Any]


def key_of(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """What decides how a call with these arguments goes; `None` where it takes more than a look.

    >>> key_of((np.zeros((2, 3)).T, 1.5)) is None, key_of((1.5,))
    (True, (<class 'float'>,))
    """
    key: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind is np.ndarray:
            flags = arg.flags.num
            if flags & _BEHAVED != _BEHAVED:
                return None
            key.append((arg.dtype, arg.shape, flags & _FORM))
        elif kind in _NUMBERS and (kind is not int or -(2**63) <= arg < 2**63):
            key.append(kind)
        else:
            return None
    return tuple(key)


def shortcut_of(
    args: Sequence[Any], compiled: Compiled, traced: Traced, params: Sequence[int | Root], guards: list[Guard]
) -> Shortcut | None:
    """The short way for calls like this one, whose trace is this; `None` where there is none."""
    if traced.graph.updates or traced.contents or len(params) != len(args):
        return None
    if not all(isinstance(leaf, Output) and _is_whole(leaf) for leaf in traced.leaves):
        return None
    arrays = 0
    for place, (arg, param) in enumerate(zip(args, params, strict=True)):
        if not isinstance(arg, np.ndarray):
            if param != place:
                return None
            continue
        is_own = isinstance(param, Root) and len(param.members) == 1 and param.members[0] == (arrays, None)
        if not is_own or not arg.dtype.isnative:
            return None
        arrays += 1
    places = [(leaf.memory, leaf.kind) for leaf in traced.leaves]
    structure = traced.structure

    def finish(results: Sequence[np.ndarray]) -> Any:
        return structure.unflatten([_AS_KIND[kind](results[memory]) for memory, kind in places])

    return Shortcut(compiled, guards, finish)


def _is_whole(leaf: Output) -> bool:
    """Whether a result is all of a memory of its own, as it is."""
    is_moved = leaf.layout is not None or leaf.shifts or leaf.lengths or leaf.is_frozen
    return leaf.memory >= 0 and not is_moved and leaf.choice is None and leaf.code < 0 and leaf.node.op != "parameter"


# Calls that native code takes over


def form_of(
    args: Sequence[Any], leaves: Sequence[Any], traced: Traced, params: Sequence[int | Root], guards: Sequence[Guard]
) -> Form | None:
    """What a compiler has to know of calls with such arguments; `None` where they take more than can be said.

    The leaves are those of the arguments, in order: `None` has none, and a container others.
    """
    graph = traced.graph
    if traced.contents or (graph.updates and traced.captured):
        return None
    if list(map(id, leaves)) != [id(arg) for arg in args if arg is not None] or Array in map(type, args):
        return None
    places = [place for place, arg in enumerate(args) if arg is not None]  # of the leaves
    taken = [Taken(arg, None) for arg in args]
    roots: dict[int, tuple[int, Member]] = {}  # by param: the array that is all of it, and how
    arrays = [place for place in places if isinstance(args[place], np.ndarray)]
    for k, param in enumerate(params):
        if isinstance(param, int):
            taken[places[param]] = Taken(args[places[param]], k)
            continue
        place, *others = (arrays[member.place] for member in param.members)
        found = _taken(args[place], k, param)
        if found is None or any(args[other] is not args[place] for other in others):
            return None
        taken[place], roots[k] = found, (place, param.members[0])
        for other in others:
            taken[other] = Taken(args[other], None, same_as=place)
    written = []
    for output, (node, _) in enumerate(graph.updates, len(graph.outputs)):
        place, _ = roots[node.args[0]]
        if not args[place].flags.writeable:
            return None
        written.append((node.args[0], output))
    made: dict[int, Made | Given | Thing | None] = {}
    for leaf in traced.leaves:
        if id(leaf) not in made:
            made[id(leaf)] = _leaf(leaf, args, places, params, roots)
    results = [each for leaf in traced.leaves if (each := made[id(leaf)]) is not None]
    if len(results) < len(traced.leaves):
        return None
    structure = traced.structure
    if not results:
        empty = structure.unflatten([])
        return None if empty is not None else Form(taken, guards, written, [Thing(None)], None)
    if structure.is_leaf():
        return Form(taken, guards, written, results, None)
    is_tuple = structure.type is tuple and structure.num_nodes == len(results) + 1
    build = tuple if is_tuple else lambda *leaves: structure.unflatten(leaves)
    return Form(taken, guards, written, results, build)


def _taken(array: Any, param: int, root: Root) -> Taken | None:
    """An array that is of a root, in the machine's order of bytes, wherever its elements are."""
    layout = root.members[0].layout
    is_behaved = type(array) is np.ndarray and array.dtype.isnative and array.flags.aligned
    if not is_behaved or (layout is None and not array.flags.c_contiguous):
        return None
    before = 0 if layout is None else layout.offset * array.itemsize
    return Taken(array, param, before, math.prod(root.shape) * array.itemsize)


def _leaf(
    leaf: Any,
    args: Sequence[Any],
    places: Sequence[int],
    params: Sequence[int | Root],
    roots: dict[int, tuple[int, Member]],
) -> Made | Given | Thing | None:
    if not isinstance(leaf, Output):
        return Thing(leaf)
    if leaf.choice is not None or leaf.code >= 0 or leaf.shifts or leaf.lengths or leaf.is_frozen:
        return None
    if leaf.node.op == "parameter" and isinstance(params[leaf.node.args[0]], int):
        place = places[params[leaf.node.args[0]]]
        return Given(place) if is_of_kind(args[place], leaf.kind) else None
    if leaf.memory < 0:
        place, member = roots[-1 - leaf.memory]
        is_all = leaf.layout == member.layout and leaf.node.shape == args[place].shape
        return Given(place) if is_all and leaf.kind is Kind.ARRAY else None
    dtype, layout = leaf.node.dtype.numpy, leaf.layout or Layout.contiguous(leaf.node.shape)
    if not _is_dense(layout):
        return None
    strides = tuple(stride * dtype.itemsize for stride in layout.strides)
    return Made(leaf.memory, leaf.kind, dtype, layout.shape, strides)


def _is_dense(layout: Layout) -> bool:
    """Whether a layout goes through all of a memory, in the order of some of its axes."""
    axes = sorted(range(layout.rank), key=lambda axis: (-layout.strides[axis], -layout.shape[axis]))
    turned = layout.move(Permute(tuple(axes)))
    return layout.offset == 0 and turned is not None and turned.is_contiguous


_AS_KIND: dict[Kind, Callable[[np.ndarray], Any]] = {
    Kind.ARRAY: lambda array: array,
    Kind.SCALAR: lambda array: array[()],
    Kind.NUMBER: lambda array: array.item(),
}
