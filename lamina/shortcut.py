"""Calls that need no more than a look: contiguous arrays and numbers in, arrays of their own out, nothing written.

For any other call `lamina.defn` finds out which memories there are, which of them are written and what goes back where.
Where all of that has nothing to find, a call is a key, the guards, the compiled program, and its results.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina.array import Array
from lamina.compilers import Compiled
from lamina.compilers.direct import Choice, Form, Given, Leaf, Made, Part, Taken, Thing, View, Written
from lamina.expr.containers import containers_in
from lamina.layout import Layout
from lamina.layout.limits import has_64_bits
from lamina.results import is_all_of, is_of_kind
from lamina.roots import BEHAVED, WRITABLE, Member, Root
from lamina.trace.guards import Guard
from lamina.trace.staging import Output, Traced
from lamina.trace.value import Kind

_FORM = BEHAVED | WRITABLE
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
            if flags & BEHAVED != BEHAVED:
                return None
            key.append((arg.dtype, arg.shape, flags & _FORM))
        elif kind in _NUMBERS and (kind is not int or has_64_bits(arg)):
            key.append(kind)
        else:
            return None
    return tuple(key)


def shortcut_of(
    args: Sequence[Any], compiled: Compiled, traced: Traced, params: Sequence[int | Root], guards: list[Guard]
) -> Shortcut | None:
    """The short way for calls like this one, whose trace is this; `None` where there is none."""
    if traced.graph.updates or traced.contents or traced.tells_apart or len(params) != len(args):
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
    is_moved = leaf.layout is not None or leaf.recast is not None or leaf.shifts or leaf.lengths or leaf.is_frozen
    is_moved = is_moved or leaf.is_swapped
    return leaf.memory >= 0 and not is_moved and leaf.choice is None and leaf.code < 0 and leaf.node.op != "parameter"


# Calls that native code takes over


def form_of(args: Sequence[Any], traced: Traced, params: Sequence[int | Root], guards: Sequence[Guard]) -> Form | None:
    """What a compiler has to know of calls with such arguments; `None` where they take more than can be said.

    The arguments are leaves, or `None`, which isn't traced.
    """
    graph = traced.graph
    if traced.contents or traced.tells_apart or (graph.updates and traced.captured) or Array in map(type, args):
        return None
    places = [place for place, arg in enumerate(args) if arg is not None]  # of the leaves
    taken = [Taken(arg, None) for arg in args]
    arrays = [place for place in places if isinstance(args[place], np.ndarray)]
    roots: dict[int, list[tuple[int, Member]]] = {}  # by param: the arrays of a memory, and what they see of it
    for k, param in enumerate(params):
        if isinstance(param, int):
            taken[places[param]] = Taken(args[places[param]], k)
            continue
        roots[k] = sorted(((arrays[member.place], member) for member in param.members), key=lambda each: each[0])
        if not all(_is_behaved(args[place], member.layout) for place, member in roots[k]):
            place, member = roots[k][0]
            if len(param.members) > 1 or member.layout is not None or type(args[place]) is not np.ndarray:
                return None
            taken[place] = Taken(args[place], k, is_copied=True)
            continue
        for (place, _), found in zip(roots[k], _taken(args, k, param, roots[k]), strict=True):
            taken[place] = found
    written = []
    for output, (node, _) in enumerate(graph.updates, len(graph.outputs)):
        members = roots[node.args[0]]
        if not all(args[place].flags.writeable and not taken[place].is_copied for place, _ in members):
            return None
        seen = {
            id(args[place]): (place, _view(args[place].dtype, args[place].shape, member.layout))
            for place, member in members
        }
        written.append(Written(node.args[0], output, list(seen.values())))
    made = {id(leaf): _leaf(leaf, args, places, params, roots) for leaf in traced.leaves}
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


def are_plain(containers: Any) -> bool:
    """Whether what is equal to these containers is like them.

    1, True and 1.0 are equal as keys of a dict, and so may be what classes of the user's keep beside their leaves.
    """
    return all(
        type(each) in (tuple, list) or (type(each) is dict and all(type(key) is str for key in each))
        for each in containers_in(containers)
        if each is not None
    )


def _is_behaved(array: Any, layout: Layout | None) -> bool:
    """Whether an array is its elements in memory, in the machine's order of bytes and aligned, wherever they are."""
    is_plain = type(array) is np.ndarray and array.dtype.isnative and array.flags.aligned
    return is_plain and (layout is not None or array.flags.c_contiguous)


def _taken(args: Sequence[Any], param: int, root: Root, members: Sequence[tuple[int, Member]]) -> Iterator[Taken]:
    """The arguments that are of one memory."""
    first, _ = members[0]
    for k, (place, member) in enumerate(members):
        array = args[place]
        before = 0 if member.layout is None else member.layout.offset * array.itemsize
        same = next((other for other, _ in members[:k] if args[other] is array), None)
        if same is not None:
            yield Taken(array, None, same_as=same)
        elif k == 0:
            yield Taken(array, param, before, math.prod(root.shape) * array.itemsize)
        else:
            yield Taken(array, None, before, beside=first)


def _view(dtype: np.dtype, shape: Sequence[int], layout: Layout | None, is_frozen: bool = False) -> View:
    layout = layout or Layout.contiguous(shape)
    strides = tuple(stride * dtype.itemsize for stride in layout.strides)
    return View(layout.shape, strides, layout.offset * dtype.itemsize, layout.is_distinct and not is_frozen)


def _leaf(
    leaf: Any,
    args: Sequence[Any],
    places: Sequence[int],
    params: Sequence[int | Root],
    roots: dict[int, list[tuple[int, Member]]],
) -> Leaf | None:
    if not isinstance(leaf, Output):
        return Thing(leaf)
    if leaf.choice is not None:
        which, *sides = leaf.choice
        then, otherwise = (_leaf(side, args, places, params, roots) for side in sides)
        return None if then is None or otherwise is None else Choice(which, then, otherwise)
    if leaf.shifts or len(leaf.lengths) > 1:
        return None
    if (
        leaf.recast is not None
        or (leaf.is_swapped and leaf.memory >= 0)
        or (leaf.kind is not Kind.ARRAY and leaf.layout is not None)
    ):
        return None
    if leaf.node.op == "parameter" and isinstance(params[leaf.node.args[0]], int):
        place = places[params[leaf.node.args[0]]]
        return Given(place) if is_of_kind(args[place], leaf.kind) else None
    dtype = leaf.node.dtype.numpy
    view = _view(dtype, leaf.node.shape, leaf.layout, leaf.is_frozen)
    if leaf.memory >= 0:
        axis, length = leaf.lengths[0] if leaf.lengths else (0, None)
        code = leaf.code if leaf.code >= 0 else None
        return Made(leaf.memory, leaf.kind, dtype, view, length, code) if axis == 0 else None
    members = roots[-1 - leaf.memory]
    if leaf.lengths or leaf.kind is not Kind.ARRAY:
        return None
    are_mixed = len({args[place].flags.writeable for place, _ in members}) > 1
    for place, member in members:
        if is_all_of(leaf, member.layout, args[place], are_mixed):
            return Given(place)
    place, _ = members[0]
    if are_mixed or not _is_behaved(args[place], members[0][1].layout):
        return None
    return Part(place, dtype, view._replace(is_writable=view.is_writable and args[place].flags.writeable))


_AS_KIND: dict[Kind, Callable[[np.ndarray], Any]] = {
    Kind.ARRAY: lambda array: array,
    Kind.SCALAR: lambda array: array[()],
    Kind.NUMBER: lambda array: array.item(),
}
