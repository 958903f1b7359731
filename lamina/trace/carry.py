"""What a loop carries from turn to turn: its variables at the start of a turn and at its end, compared.

`lamina.trace.loop` traces a turn as an `Again` says and asks `compared` what the turn has made of each variable. Where
the loop isn't what was said of it, an exception says what must be otherwise.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from lamina.dtype import DType
from lamina.trace.build import as_value
from lamina.trace.choice import cells_of, choice_at, leaves_of, same_alias
from lamina.trace.mixed import can_meet, codes_of, dtype_for
from lamina.trace.names import RUNTIME
from lamina.trace.order import is_in_order, order_of
from lamina.trace.pointers import At, Places, can_point, extended, whereabouts
from lamina.trace.scope import Scope
from lamina.trace.state import Get, Put, Unbound, is_array, is_number
from lamina.trace.value import Kind, Value

Test = Callable[[], Any] | None

_LONGEST_PERIOD = 12  # of arrays that exchange their names


class Carried(NamedTuple):
    """A variable that the loop carries by value."""

    dtype: DType
    shape: tuple[int, ...]
    kind: Kind
    codes: frozenset[int] = frozenset()  # what it may be, where a run alone tells
    may_stay: bool = False  # an array that some turns replace: whether one has is carried beside it
    axes: tuple[int, ...] | None = None  # the order of an array's memory, where it is not C


class Again(Exception):
    """The body must be traced again: with these carried, those dead at the start of a turn, and these exchanged.

    `moved` says of each variable of a group that exchanges its arrays which one's array it has after a turn, `places`
    where each variable may be that is carried as a pointer.
    """

    def __init__(
        self,
        carried: dict[int, Carried] | None = None,
        dead: set[int] | None = None,
        moved: dict[int, int] | None = None,
        places: Places | None = None,
    ) -> None:
        super().__init__()
        self.carried, self.dead, self.moved, self.places = carried or {}, dead or set(), moved or {}, places or {}


class Peel(Exception):
    """One turn must run before the loop, for the sake of a variable."""

    def __init__(self, name: str) -> None:
        shown = "the result" if name.startswith(RUNTIME) else name
        super().__init__(f"{shown} starts as something else than a turn leaves")


class Fails(Exception):
    """The loop can't be staged: why."""


class Loop(NamedTuple):
    """The parts of a loop: its test, its body as a function of the turn's number, and its variables."""

    test: Test
    turn: Callable[[Any], None]
    get: Get
    put: Put
    names: tuple[str, ...]
    live: frozenset[str]
    count: Any  # of turns; None for a while
    since: int  # the serial number of the first cell that its turns may make
    has_pointers: bool = False  # whether arrays that change are carried as pointers


def _is_unchanged(before: Any, after: Any) -> bool:
    """Whether a turn has left a variable what it was."""
    if is_array(before) and is_array(after):
        return before is after or same_alias(before, after)
    is_static = type(after) is type(before) and isinstance(after, (str, bytes, int, float, complex))
    return after is before or (is_static and repr(after) == repr(before))


def compared(
    loop: Loop, scope: Scope, start: tuple[Any, ...], inner: list[Any], how: Again, has_run: bool
) -> tuple[dict[int, Value], dict[int, list[At]]]:
    """What each variable that is carried by value is at the end of a turn, and where those are that are pointers.

    Raises `Again`, `Peel` or `Fails` where the loop isn't as `how` says.
    """
    end = loop.get()
    outputs: dict[int, Value] = {}
    carried, dead = dict(how.carried), set(how.dead)
    written = scope.written()
    moved = {} if loop.has_pointers else _moved(inner, end)
    pointers: dict[int, Any] = {}
    may_skip = loop.count is None or (has_run and loop.test is not None)  # there may be no turn
    if moved != how.moved:
        if how.moved:
            raise Fails("its arrays exchange names in more than one way")
        arrays = {k: Carried(start[k].dtype, start[k].shape, Kind.ARRAY) for k in moved}
        raise Again({**how.carried, **arrays}, how.dead, moved)
    for k, (name, before, after) in enumerate(zip(loop.names, inner, end, strict=True)):
        if k in how.carried and _is_unchanged(start[k], after):
            del carried[k]  # a number that is known: a shape may depend on it
        elif k in how.places or (loop.has_pointers and k in how.carried and not _stays_number(how.carried[k], after)):
            carried.pop(k, None)
            pointers[k] = after
        elif k in how.carried:
            outputs[k] = _as_carried(name, how.carried[k], after)
            carried[k] = _widened(name, how.carried[k], outputs[k], may_skip, has_run)
            if how.carried[k].kind is Kind.ARRAY and k not in moved:
                others = [end[j] for j in _others(loop, k) if j not in how.dead]
                _expect_own(loop, k, scope, start, before, after, others, has_run)
        elif k in how.dead or _is_unchanged(before, after):
            continue
        elif name not in loop.live or isinstance(after, Unbound):
            dead.add(k)  # if the next turn reads it after all, it says so
        elif loop.has_pointers and can_point(before) and can_point(after):
            pointers[k] = after
        elif is_array(before) and is_array(after):
            if (
                (before.dtype, before.shape) != (after.dtype, after.shape)
                or (not has_run and not written.keys().isdisjoint(cells_of(before)))
                or _shared(loop, start, k)
            ):
                raise Peel(name)
            if loop.count is None and not has_run:
                raise Peel(name)  # without a turn it stays what it was
            axes = order_of([after], len(after.shape))
            if order_of([start[k]], len(after.shape)) != axes:
                raise Peel(name)
            if not is_in_order(start[k], axes):  # a turn may copy what has gaps, and see a view of what has none
                if has_run:
                    raise Fails(f"{name} has gaps in memory at first, and none after a turn")
                raise Peel(name)
            may_stay = _may_be(after, before) or (may_skip and _is_old(loop, start[k]))
            carried[k] = Carried(after.dtype, after.shape, Kind.ARRAY, may_stay=may_stay, axes=axes)
        elif isinstance(before, Unbound) or is_number(after) or is_array(after):
            raise Peel(name)
        else:
            raise Fails(f"{name} changes from {before!r} to {after!r}")
    if not all(map(can_point, pointers.values())):
        raise Fails("its variables become things of different kinds")
    found = whereabouts(pointers, scope)
    places = extended(how.places, found)
    if carried != how.carried or dead != how.dead or places != how.places:
        raise Again(carried, dead, how.moved, places)
    _expect_fresh(loop, scope, start, inner, {k: outputs[k] for k in outputs.keys() - how.moved.keys()})
    return outputs, found


def _stays_number(carried: Carried, after: Any) -> bool:
    """Whether one dtype holds what a number is, and what a turn makes of it."""
    return is_number(after) and can_meet(codes_of(carried) | codes_of(as_value(after)))


def _expect_fresh(
    loop: Loop, scope: Scope, start: tuple[Any, ...], inner: list[Any], outputs: dict[int, Value]
) -> None:
    """An array that is carried by value and that a turn writes, or gives another variable, is one of this loop's turns.

    Else what the turn gives or writes may be an array from before the loop.
    """
    by_value = {inner[k].cell: k for k in outputs if is_array(inner[k])}
    old = {k for k in by_value.values() if _is_old(loop, start[k])}
    for cell, k in by_value.items():
        if old & {by_value.get(other) for other in cells_of(outputs[k])} - {k}:
            raise Peel(loop.names[k])
        if k in old and scope.read(cell) is not cell.start:
            raise Fails(f"{loop.names[k]} is written, and is an array from before the loop in some turns")


def _expect_own(
    loop: Loop,
    k: int,
    scope: Scope,
    start: tuple[Any, ...],
    before: Value,
    after: Value,
    others: list[Any],
    has_run: bool,
) -> None:
    """An array is carried by value only where nothing else sees its memory, at the start of a turn and at its end."""
    assert before.cell is not None
    is_written = scope.read(before.cell) is not before.cell.start
    if is_written and not has_run:
        raise Peel(loop.names[k])  # the first turn writes the array that was there before the loop
    if after is before:
        return
    memories = set(cells_of(after))
    is_written |= not scope.written().keys().isdisjoint(cells_of(start[k]))
    if is_replaced(loop, scope, k, before, after) is not True and is_written:
        raise Fails(f"{loop.names[k]} is replaced in some turns alone, and the array it had is written")
    if any(is_array(other) and not memories.isdisjoint(cells_of(other)) for other in others):
        raise Fails(f"{loop.names[k]} and another variable share an array from turn to turn")


def _may_be(array: Value, other: Value) -> bool:
    """Whether an array is another one, or may be it, or one that this may be, as a run has it."""
    return any(same_alias(leaf, each) for leaf in leaves_of(array) for each in leaves_of(other))


def is_replaced(loop: Loop, scope: Scope, k: int, before: Value, after: Value) -> Any:
    """Whether a variable has another array after a turn than before it; a traced bool where a run alone tells."""
    if same_alias(before, after):
        return False
    choice = choice_at(after)
    if choice is not None:
        return choice.holds(lambda side: is_replaced(loop, scope, k, before, side))
    assert after.cell is not None
    if after.cell is before.cell or after.cell.home is not scope:
        raise Fails(f"{loop.names[k]} becomes a view of an array from before the turn")
    return True


def _is_old(loop: Loop, array: Value) -> bool:
    """Whether an array may be one from before the loop, which other variables may see."""
    return any(cell.serial < loop.since for cell in cells_of(array))


def _shared(loop: Loop, start: tuple[Any, ...], k: int) -> bool:
    """Whether another variable sees the memory of this one, and may be read."""
    others = (start[j] for j in _others(loop, k) if loop.names[j] in loop.live)
    cells = set(cells_of(start[k]))
    return any(is_array(other) and not cells.isdisjoint(cells_of(other)) for other in others)


def _others(loop: Loop, k: int) -> list[int]:
    """The other variables that matter to one: once there is a result to return, nobody reads the function's own."""
    is_result = [name.startswith(RUNTIME) for name in loop.names]
    return [j for j in range(len(loop.names)) if j != k and is_result[j] == is_result[k]]


def _as_carried(name: str, carried: Carried, after: Any) -> Value:
    if carried.kind is Kind.ARRAY:
        if not is_array(after):
            raise Fails(f"{name} is an array at the start of a turn and {after!r} at its end")
        return after  # type: ignore[no-any-return]
    if not is_number(after):
        if is_array(after):
            raise Peel(name)
        raise Fails(f"{name} is a number at the start of a turn and {after!r} at its end")
    return as_value(after)


def _widened(name: str, carried: Carried, value: Value, may_skip: bool, has_run: bool) -> Carried:
    """What a carried variable must be, given what a turn makes of it, or no turn at all (`may_skip`)."""
    if carried.shape != value.shape:
        raise Fails(f"{name} changes its shape from {carried.shape} to {value.shape}")
    if carried.kind is Kind.ARRAY or value.kind is Kind.ARRAY:
        if carried.dtype != value.dtype:
            raise Peel(name)
        return carried
    start = codes_of(carried)
    codes = codes_of(value)
    if codes <= start:
        return carried
    if len(start) == len(codes) == 1:
        if may_skip and not has_run:
            raise Peel(name)  # without a turn it stays what it was
        if not may_skip and _rank(carried) <= _rank(value):
            return Carried(value.dtype, (), value.kind)  # from the first turn on it is what a turn makes
    if not can_meet(start | codes):
        raise Fails(f"{name} is a number of {carried.dtype} in one turn and of {value.dtype} in another")
    return Carried(dtype_for(start | codes), (), Kind.SCALAR, start | codes)


def _rank(thing: Any) -> tuple[int, int]:
    """Numbers come before scalars, narrower dtypes before wider ones."""
    return (thing.kind is not Kind.NUMBER, ("bool", "unsigned", "signed", "float", "complex").index(thing.dtype.kind))


def _moved(inner: list[Any], end: tuple[Any, ...]) -> dict[int, int]:
    """Which variables have one another's arrays after a turn, and whose; none where they don't just exchange."""
    moved: dict[int, int] = {}
    for k, (before, after) in enumerate(zip(inner, end, strict=True)):
        if is_array(before) and is_array(after) and not same_alias(before, after):
            sources = [j for j, other in enumerate(inner) if is_array(other) and same_alias(other, after)]
            if sources and (inner[sources[0]].dtype, inner[sources[0]].shape) == (before.dtype, before.shape):
                moved[k] = sources[0]
    is_exchange = set(moved) == set(moved.values()) and period_of(moved) <= _LONGEST_PERIOD
    return moved if is_exchange else {}


def period_of(moved: dict[int, int]) -> int:
    """After how many turns every variable has its own array again."""
    place, turns = dict(moved), 1
    while any(k != j for k, j in place.items()) and turns <= _LONGEST_PERIOD:
        place = {k: moved[j] for k, j in place.items()}
        turns += 1
    return turns
