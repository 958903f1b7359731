"""Calls that need no more than a look: contiguous arrays and numbers in, arrays of their own out, nothing written.

For any other call `lamina.defn` finds out which memories there are, which of them are written and what goes back where.
Where all of that has nothing to find, a call is a key, the guards, the compiled program, and its results.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina.compilers import Compiled
from lamina.roots import Root
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


_AS_KIND: dict[Kind, Callable[[np.ndarray], Any]] = {
    Kind.ARRAY: lambda array: array,
    Kind.SCALAR: lambda array: array[()],
    Kind.NUMBER: lambda array: array.item(),
}
