"""What a call gives back: what was written goes into the arguments, and the results into what the function returned.

A result is NumPy's kind of thing in NumPy's memory: an array of its own, an argument itself, a view of one, a scalar or
a number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.arguments import Arguments
from lamina.array import Array, from_numpy, to_numpy
from lamina.expr.containers import unflatten
from lamina.layout import Layout
from lamina.roots import Root, memory_of, placed, recast
from lamina.trace.build import NUMBER_DTYPES
from lamina.trace.mixed import decoded
from lamina.trace.staging import Output, Traced
from lamina.trace.value import Kind


def returned(
    traced: Traced,
    arguments: Arguments,
    leaves: Sequence[Any],
    arrays: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
) -> Any:
    """Put written memories back into the arguments, and the results into what the function returned."""
    graph, params = traced.graph, arguments.params
    given_arrays = [
        leaves[i] if isinstance(leaves[i], np.ndarray) else arrays[k] for k, i in enumerate(arguments.arrays)
    ]
    writes: list[tuple[np.ndarray, np.ndarray]] = []
    for (param, _), held in zip(graph.updates, results[len(graph.outputs) :], strict=True):
        if param.op == "tensor":
            writes.append((to_numpy(param.args[0]), held))
            continue
        root = params[param.args[0]]
        assert isinstance(root, Root)
        members = [member for member in root.members if given_arrays[member.place].flags.writeable]
        writes += [(given_arrays[member.place], placed(held, member.layout)) for member in members]
    _write(writes)
    as_lamina = any(isinstance(leaf, Array) for leaf in leaves)
    outputs = traced.leaves
    swapped = {leaf.memory for leaf in outputs if isinstance(leaf, Output) and leaf.is_swapped and leaf.memory >= 0}
    results = [
        held.byteswap().view(held.dtype.newbyteorder()) if i in swapped else held for i, held in enumerate(results)
    ]

    def seen(memory: np.ndarray, leaf: Output) -> np.ndarray:
        shift = sum(int(results[place]) * stride for place, stride in leaf.shifts)
        if leaf.recast is not None:
            memory = recast(memory, leaf.recast)
        if not leaf.lengths:
            return placed(memory, leaf.layout, shift)
        whole = leaf.layout or Layout.contiguous(memory.shape)
        lengths = {axis: int(results[place]) for axis, place in leaf.lengths}
        shape = [lengths.get(axis, extent) for axis, extent in enumerate(whole.shape)]
        return placed(memory, Layout(shape, whole.strides, whole.offset), shift)

    def result(leaf: Any) -> Any:
        # a loop, since a function that calls itself is garbage that keeps the arrays until the next collection
        while isinstance(leaf, Output) and leaf.choice is not None:
            which, then, otherwise = leaf.choice
            leaf = then if results[which] else otherwise
        if not isinstance(leaf, Output):
            return leaf
        given = params[leaf.node.args[0]] if leaf.node.op == "parameter" else None
        if isinstance(given, int) and is_of_kind(leaves[given], leaf.kind):
            return leaves[given]
        if leaf.memory >= 0:
            array = seen(results[leaf.memory], leaf)
            if leaf.lengths and not any(
                isinstance(each, Output) and each is not leaf and each.memory == leaf.memory for each in outputs
            ):
                array = array.copy("K")  # what is beyond the lengths need not be kept
        else:
            root = params[-1 - leaf.memory]
            assert isinstance(root, Root)
            are_mixed = len({given_arrays[member.place].flags.writeable for member in root.members}) > 1
            for member in root.members:
                is_it = is_all_of(leaf, member.layout, given_arrays[member.place], are_mixed)
                if is_it and leaf.recast is None and not leaf.shifts and not leaf.lengths:
                    return leaves[arguments.arrays[member.place]]
            # an argument's own memory, also where a copy of it (in the machine's byte order) was computed with
            array = seen(np.asarray(memory_of(root, given_arrays), order="C"), leaf)
        if leaf.is_frozen or (leaf.layout is not None and not leaf.layout.is_distinct):
            array = array.view()
            array.flags.writeable = False
        if as_lamina:
            return from_numpy(array)
        if leaf.kind is Kind.ARRAY:
            return array
        if leaf.code >= 0:
            return decoded(array, int(results[leaf.code]))
        return array[()] if leaf.kind is Kind.SCALAR else array.item()

    made: dict[int, Any] = {}  # what is returned twice is one thing
    for leaf in outputs:
        if id(leaf) not in made:
            made[id(leaf)] = result(leaf)
    return unflatten(traced.structure, [made[id(leaf)] for leaf in outputs])


def _write(writes: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Give arrays their elements, all at once: what one is given may be memory that another one's write changes."""
    writes = [(array, held) for array, held in writes if not _is_same(array, held)]  # what isn't written already
    if len(writes) > 1:
        arrays = [array for array, _ in writes]
        writes = [
            (array, held.copy() if any(np.may_share_memory(held, other) for other in arrays) else held)
            for array, held in writes
        ]
    for array, held in writes:
        array[...] = held


def _is_same(array: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of one shape and dtype are the same elements."""
    return array is other or (
        array.strides == other.strides and array.__array_interface__["data"][0] == other.__array_interface__["data"][0]
    )


def is_all_of(leaf: Output, layout: Layout | None, argument: np.ndarray, are_mixed: bool) -> bool:
    """Whether a result is an argument itself, which sees its memory through this layout.

    Where the arguments of that memory `are_mixed`, some of them read-only, it is one that may be written as it may.
    """
    is_as_free = argument.flags.writeable is not leaf.is_frozen if are_mixed else not leaf.is_frozen
    return is_as_free and layout == leaf.layout and leaf.node.shape == argument.shape


def is_of_kind(leaf: Any, kind: Kind) -> bool:
    """Whether an argument is what NumPy would return: ``x[()]`` is a scalar, ``s[...]`` of a scalar an array."""
    if isinstance(leaf, np.generic):
        return kind is Kind.SCALAR
    return kind is (Kind.NUMBER if type(leaf) in NUMBER_DTYPES else Kind.ARRAY)
