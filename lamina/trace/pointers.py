"""Variables that a loop carries as pointers: which of a known set of arrays each is, as only a run tells.

``while …: if x[0] > y[0]: x = y[::-1]`` leaves ``x`` what it was before the loop, or one of two views of ``y``. In
general a variable is at one of several *places*: it sees memory from outside the loop, or memory that a turn has made
and the loop holds, through one of several layouts; or it is a number. How many places there are is found out by tracing
the body again until no new one turns up. The loop then carries for each variable a code, the number of its place; one
memory of each dtype and shape that it may hold; and what moves its layout. Of the variables that see one memory, the
first holds it, and the others point there, so a write through one is seen through all.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import Expr
from lamina.layout import Layout
from lamina.trace import variant
from lamina.trace.build import as_value, broadcast_to, constant, emit, node_of, scope_now
from lamina.trace.choice import Either, chosen, leaves_of, one_of, opened
from lamina.trace.mixed import cases_of
from lamina.trace.scope import Cell, Scope
from lamina.trace.state import is_array, is_number
from lamina.trace.value import Kind, Value
from lamina.trace.variant import Variant

MOST = 16  # places of a variable


class Held(NamedTuple):
    """Memory that a loop holds: for which variable, and its dtype and shape."""

    owner: int
    dtype: DType
    shape: tuple[int, ...]


class Place(NamedTuple):
    """What a variable may be: an array that sees a memory so, or a number of this kind."""

    memory: Cell | Held | Kind
    dtype: DType
    shape: tuple[int, ...] = ()
    layout: Layout | None = None
    strides: tuple[int, ...] = ()  # by which carried integers move the layout
    is_frozen: bool = False


class At(NamedTuple):
    """A place at which a variable is if a test is true, traced or known, and the array or number that is there."""

    test: Any
    place: Place
    value: Value


Places = dict[int, tuple[Place, ...]]  # of each variable that is carried as a pointer
Key = tuple[Any, ...]  # what a carried node is: ("code", variable), ("shift", variable, i), a Held, (variable, Place)


def can_point(thing: Any) -> bool:
    """Whether a variable that is this may be carried as a pointer."""
    if type(thing) is Variant:
        return all(map(can_point, thing.things))
    return is_number(thing) or (is_array(thing) and all(type(leaf.cell) is Cell for leaf in leaves_of(thing)))


def are_few(places: Sequence[Place]) -> bool:
    """Whether there are few enough places for a variable, and of few enough dtypes and shapes."""
    return len(places) <= MOST and len({(place.dtype, place.shape) for place in places}) <= variant.MOST


def whereabouts(things: Mapping[int, Any], inside: Scope | None) -> dict[int, list[At]]:
    """Where each variable is. Memory made in the scope `inside` is the loop's own."""
    found: dict[int, list[At]] = {}
    seen: dict[Cell, list[tuple[int, Any]]] = {}  # which variables before see a memory of the loop's, and when
    for k, thing in sorted(things.items()):
        found[k] = []
        own: dict[Cell, list[Any]] = {}
        for test, leaf in _leaves(thing):
            cell = leaf.cell
            if cell is None:
                found[k].append(At(test, Place(leaf.kind, leaf.dtype), leaf))
            elif cell.home is not inside:
                found[k].append(At(test, _place(cell, leaf), leaf))
            else:
                own.setdefault(cell, []).append(test)
                memory = inside.read(cell)
                for other, is_there in seen.get(cell, []):
                    found[k].append(
                        At(_both(test, is_there), _place(Held(other, memory.dtype, memory.shape), leaf), leaf)
                    )
                    test = _both(test, _not(is_there))
                found[k].append(At(test, _place(Held(k, memory.dtype, memory.shape), leaf), leaf))
        found[k] = [each for each in found[k] if each.test is not False]
        for cell, tests in own.items():
            seen.setdefault(cell, []).append((k, reduce(_any, tests)))
    return found


def extended(places: Places, found: Mapping[int, Sequence[At]]) -> Places:
    """The places of the variables, with those where they are now."""
    return {
        k: tuple(dict.fromkeys((*places.get(k, ()), *(at.place for at in found.get(k, ())))))
        for k in places.keys() | found.keys()
    }


def carried_keys(places: Places) -> dict[Key, tuple[DType, tuple[int, ...]]]:
    """What the loop carries for its pointers, in order, each with its dtype and shape."""
    keys: dict[Key, tuple[DType, tuple[int, ...]]] = {}
    for k, ours in sorted(places.items()):
        keys["code", k] = dt.int64, ()
        for i in range(max(len(place.strides) for place in ours)):
            keys["shift", k, i] = dt.int64, ()
        for place in ours:
            if isinstance(place.memory, Held):
                keys[place.memory] = place.memory.dtype, place.memory.shape
            elif isinstance(place.memory, Kind):
                keys[k, place] = place.dtype, ()
    return keys


def carried_nodes(places: Places, found: Mapping[int, Sequence[At]]) -> list[Expr]:
    """The nodes of what is carried, given where the variables are."""
    return [node_of(_carried(key, *known, places, found)) for key, known in carried_keys(places).items()]


def _carried(
    key: Key, dtype: DType, shape: tuple[int, ...], places: Places, found: Mapping[int, Sequence[At]]
) -> Value:
    """What is carried under a key: that of the place where the variable is; zero where that has none."""
    if isinstance(key, Held):
        whole = [
            (at.test, Value(scope_now().read(at.value.cell), scope_now(), Kind.SCALAR))
            for at in found[key.owner]
            if at.place.memory == key and at.value.cell is not None
        ]
        return _selected(whole, broadcast_to(constant(0, dtype), shape))
    zero = constant(0, dtype)
    if key[0] == "code":
        ours = places[key[1]]
        return _selected([(at.test, constant(ours.index(at.place), dt.int64)) for at in found[key[1]]], zero)
    if key[0] == "shift":
        k, i = key[1:]
        return _selected([(at.test, at.value.shifts[i][0]) for at in found[k] if i < len(at.place.strides)], zero)
    k, place = key
    return _selected([(at.test, at.value) for at in found[k] if at.place == place], zero)


def bound(places: Places, nodes: Sequence[Expr]) -> dict[int, Any]:
    """The variables, given the nodes of what is carried in the current scope."""
    scope = scope_now()
    carried = dict(zip(carried_keys(places), nodes, strict=True))
    held = {key: scope.new_cell(node) for key, node in carried.items() if isinstance(key, Held)}
    things: dict[int, Any] = {}
    for k, ours in sorted(places.items()):
        code = Value(carried["code", k], scope, Kind.NUMBER)
        alike: dict[Any, list[tuple[Any, Value]]] = {}
        for i, place in enumerate(ours):
            test = emit("equal", code, constant(i, dt.int64), kind=Kind.NUMBER) if len(ours) > 1 else True
            if isinstance(place.memory, Kind):
                alike[place] = [(test, Value(carried[k, place], scope, place.memory))]
                continue
            cell = held[place.memory] if isinstance(place.memory, Held) else place.memory
            shifts = tuple(
                (Value(carried["shift", k, j], scope, Kind.NUMBER), stride) for j, stride in enumerate(place.strides)
            )
            array = Value.alias(cell, place.layout, shifts, dtype=place.dtype)
            array.is_frozen = place.is_frozen
            alike.setdefault((place.dtype, place.shape), []).append((test, array))
        groups = [(reduce(_any, (test for test, _ in cases)), chosen(cases)) for cases in alike.values()]
        tests, variants = zip(*groups, strict=True)
        things[k] = Variant(tests[:-1], variants) if len(variants) > 1 else variants[0]
    return things


def _place(memory: Cell | Held, array: Value) -> Place:
    assert array.cell is not None
    held = scope_now().read(array.cell)
    is_whole = array.dtype == held.dtype and array.layout == Layout.contiguous(held.shape)
    layout = None if is_whole else array.layout
    strides = tuple(stride for _, stride in array.shifts)
    return Place(memory, array.dtype, array.shape, layout, strides, array.is_frozen)


def _leaves(thing: Any) -> list[tuple[Any, Value]]:
    """The arrays and numbers, each behind a test, that a variable may be."""
    if type(thing) is Variant:
        return [(_both(test, other), leaf) for test, each in thing.cases() for other, leaf in _leaves(each)]
    value = as_value(thing)
    if value.cell is None:
        return [(True, value)] if value.code is None else list(cases_of(value))
    return opened([(True, value)])


# Truths, traced or known


def _both(a: Any, b: Any) -> Any:
    """Whether both hold; the second is not computed where the first doesn't."""
    if a is True or b is False:
        return b
    return a if b is True or a is False else Either(scope_now(), a)(b, False)


def _any(a: Any, b: Any) -> Any:
    if True in (a is True, b is True):
        return True
    return emit("logical_or", a, b, kind=Kind.NUMBER)


def _not(a: Any) -> Any:
    return not a if type(a) is bool else emit("logical_not", a, kind=Kind.NUMBER)


def _selected(cases: Sequence[tuple[Any, Value]], otherwise: Value) -> Value:
    """The value whose test is true; the last one, if there is any, needs none."""
    if not cases:
        return otherwise
    scope, node = scope_now(), node_of(cases[-1][1])
    for test, value in reversed(cases[:-1]):
        node = node_of(value) if test is True else one_of(scope, test, node_of(value), node)
    return Value(node, scope, Kind.SCALAR)
