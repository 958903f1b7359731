"""What a function is called with: what of it decides the trace, and what of it becomes the params of a graph.

Arrays and numbers are traced; anything else is static, a part of the key. A number whose value the trace needed is
*pinned*: it is part of the key too. Each memory behind the arrays, a root, is one param.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.array import Array, asarray, to_numpy
from lamina.expr.containers import containers_in, flatten, paths_of, unflatten
from lamina.layout import Layout
from lamina.layout.limits import has_64_bits
from lamina.roots import Member, Root, memory_of, roots_of
from lamina.trace import python
from lamina.trace.build import NUMBER_DTYPES
from lamina.trace.scope import current, escaped, user_source
from lamina.trace.staging import Argument, Spec, Traced, stage
from lamina.trace.value import Kind, Pin, Value


class Arguments(NamedTuple):
    """What each param of a graph is: the position of a number or scalar among the leaves, or a root of the arrays."""

    params: list[int | Root]
    arrays: list[int]  # the positions of the arrays


def signature_of(leaf: Any) -> Any:
    """What of a leaf decides the trace."""
    kind = type(leaf)
    if kind is np.ndarray:
        flags = leaf.flags
        return kind, leaf.dtype, leaf.shape, flags.writeable, None if flags.c_contiguous else leaf.strides
    if kind is Array:
        return kind, leaf.dtype, leaf.layout
    if kind in NUMBER_DTYPES:
        # an integer beyond 64 bits can't be traced, so its value decides
        return kind if _is_number(leaf) else (kind, leaf)
    if isinstance(leaf, np.ndarray):
        return kind, leaf.dtype, leaf.shape, leaf.flags.writeable, leaf.strides
    if isinstance(leaf, np.generic):
        return kind, leaf.dtype
    if kind is slice:  # which has no hash in Python 3.11
        return kind, repr(leaf)
    # sets of 1 and of True are equal, as are Decimal("1.0") and Decimal("1.00")
    return (kind, leaf, repr(leaf)) if kind.__name__ in _EQUAL_BUT_NOT_ALIKE else (kind, leaf)


_EQUAL_BUT_NOT_ALIKE = frozenset({"frozenset", "Decimal", "range"})


def number_key(leaf: Any) -> Any:
    """What of a pinned number is part of the key."""
    # 1, True and 1.0 are equal in Python, 0.0 and -0.0 too, and NaN isn't equal to itself
    return type(leaf), repr(leaf)


def _is_number(leaf: Any) -> bool:
    return type(leaf) in NUMBER_DTYPES and (type(leaf) is not int or has_64_bits(leaf))


def is_traced(leaf: Any) -> bool:
    """Whether a leaf stands for a param of the graph; what isn't traced is static."""
    return _is_number(leaf) or isinstance(leaf, (np.generic, np.ndarray, Array, Spec))


def stage_call(
    function: Callable[..., Any], name: str, structure: Any, leaves: Sequence[Any], pinned: Sequence[int]
) -> tuple[Traced, Arguments]:
    """Trace a function, called `name`, with these leaves of its arguments; those at `pinned` are as they are."""
    positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (np.ndarray, Array))]
    for i in positions:
        asarray(leaves[i])  # which refuses what is no array of ours, by name
    arrays = [np.asarray(leaves[i]) for i in positions]
    roots = roots_of(arrays)
    sees = {positions[member.place]: (k, member.layout) for k, root in enumerate(roots) for member in root.members}
    shown: list[Any] = []
    params: list[int | Root] = []
    met: set[int] = set()
    for i, leaf in enumerate(leaves):
        if i in pinned or not is_traced(leaf):
            shown.append(leaf)
        elif i in sees:
            k, layout = sees[i]
            if k not in met:
                met.add(k)
                params.append(roots[k])
            # an array that is given twice is one array
            twice = next((shown[j] for j in range(i) if leaves[j] is leaf and sees[j][0] == k), None)
            shown.append(_array_argument(leaf, k, roots[k], layout) if twice is None else twice)
        else:
            params.append(i)
            shown.append(_scalar_argument(leaf, -1 - i))

    def call(given: list[Any]) -> Any:
        args, kwargs = unflatten(structure, given)
        scope = current()
        assert scope is not None
        inside = [each for part in (*args, *kwargs.values()) for each in containers_in(part)]
        scope.root.containers.update((id(each), each) for each in inside)
        return python.call(function, *args, **kwargs)

    return stage(name, call, shown, arrays), Arguments(params, positions)


def _array_argument(leaf: Any, k: int, root: Root, layout: Layout | None) -> Argument:
    shape = Layout.contiguous(leaf.shape).shape  # which refuses more than 32 axes
    writable = (
        leaf.flags.writeable
        if isinstance(leaf, np.ndarray)
        else not leaf.dtype.is_packed and to_numpy(leaf).flags.writeable
    )
    is_swapped = isinstance(leaf, np.ndarray) and not leaf.dtype.isnative
    return Argument(dt.from_numpy(leaf.dtype), shape, Kind.ARRAY, k, root.shape, layout, writable, is_swapped)


def _scalar_argument(leaf: Any, root: int) -> Argument:
    if isinstance(leaf, Spec):
        return Argument(leaf.dtype, leaf.shape, Kind.ARRAY, -root, leaf.shape)
    if isinstance(leaf, np.generic):
        return Argument(dt.from_numpy(leaf.dtype), (), Kind.SCALAR)
    return Argument(NUMBER_DTYPES[type(leaf)], (), Kind.NUMBER)


def positions_of(pin: Pin, leaves: Sequence[Any], pinned: Sequence[int]) -> list[int]:
    """Where among the leaves the params are whose values are needed."""
    numbers = [i for i, leaf in enumerate(leaves) if i not in pinned and _is_number(leaf)]
    return [numbers[k] for k in sorted(pin.numbers)]


def key_types(structure: Any) -> str:
    """What tells dicts of the keys 1, True and 1.0 apart, which are equal in Python; nothing where there are none."""
    containers = structure.num_nodes - structure.num_leaves
    return repr(structure) if containers > _PLAIN_CALL else ""


_PLAIN_CALL = 3  # the pair of the positional arguments and the dict of the named ones


def argument_paths(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """How one writes each leaf of a call's arguments, by the names of the function's parameters."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    names = [*named, *(f"{rest}[{i}]" for i in range(len(args) - len(named)))]
    given = (*zip(names, args, strict=False), *kwargs.items())
    return [path for name, argument in given for path in paths_of(argument, name)]


def expect_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise for the first leaf that can neither be traced nor be static, naming it and the user's line."""
    for leaf, path in zip(flatten((args, kwargs))[0], argument_paths(function, args, kwargs), strict=True):
        if type(leaf) is Value:
            raise escaped(leaf.expr, leaf.scope)
        try:
            if isinstance(leaf, Spec):
                raise TypeError("it stands for an array in lamina.trace; call the function with an array")
            if isinstance(leaf, (np.ndarray, Array)):
                Layout.contiguous(asarray(leaf).shape)
                if isinstance(leaf, np.ndarray) and type(leaf) not in (np.ndarray, np.memmap):
                    raise TypeError("operations of its own class give what it likes; write np.asarray(x)")
            elif isinstance(leaf, np.generic):
                dt.from_numpy(leaf.dtype)
            elif not is_traced(leaf):
                _expect_hashable(leaf)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            shown = repr(leaf) if isinstance(leaf, Spec) or not hasattr(leaf, "shape") else type(leaf).__name__
            source = user_source()
            where = f" ({source.file}:{source.line})" if source else ""
            raise kind(f"{function_name(function)}: argument {path} is {shown}: {error}{where}") from error


def _expect_hashable(leaf: Any) -> None:
    try:
        hash((leaf.start, leaf.stop, leaf.step) if type(leaf) is slice else leaf)
    except TypeError as error:
        raise TypeError(
            "that is no array, number or container of them, and it can't be static, because it isn't hashable"
        ) from error


def params_of(
    arguments: Arguments, leaves: Sequence[Any], arrays: Sequence[np.ndarray], written: Sequence[int] = ()
) -> list[np.ndarray]:
    """What a compiled graph is called with: its params, contiguous and in the machine's byte order.

    Those that are `written` in place are the arguments' own memory, or copies where that has gaps or isn't aligned.
    """
    params = [
        np.asarray(leaves[param]) if isinstance(param, int) else _in_c_order(memory_of(param, arrays))
        for param in arguments.params
    ]
    for place in written:
        if not may_be_written(arguments.params[place], params[place]):
            params[place] = params[place].copy()
    return params


def may_be_written(param: int | Root, memory: np.ndarray) -> bool:
    """Whether a program may write a param's memory itself: it is all an argument's, aligned, and may be written."""
    return (
        isinstance(param, Root)
        and memory.flags.carray
        and memory.dtype.isnative
        and any(_is_all(each, param.shape) for each in param.members)
    )


def _is_all(member: Member, shape: tuple[int, ...]) -> bool:
    """Whether an argument is all of a memory of this shape."""
    layout = member.layout
    return layout is None or (layout.is_distinct and layout.numel == math.prod(shape))


def _in_c_order(memory: np.ndarray) -> np.ndarray:
    dtype = memory.dtype
    return np.asarray(memory, dtype if dtype.isnative else dtype.newbyteorder("="), order="C")


def mixed_memory(traced: Traced, arrays: Sequence[np.ndarray]) -> str:
    """Why these arguments can't be given to a trace, for the memory of what it captured; empty where they can."""
    is_shared = any(np.may_share_memory(array, other) for array in arrays for other in traced.captured)
    if traced.graph.updates and is_shared:
        return "an argument shares memory with an array from outside, and one of them is written"
    return ""


def function_name(function: Callable[..., Any]) -> str:
    """What a function is called in messages."""
    return str(getattr(function, "__name__", type(function).__name__))
