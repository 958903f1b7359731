"""``for`` and ``while``: staged as one ``while`` node where they can be, one turn after the other where they can't.

The body is traced once, in a scope of its own, and each variable is compared at its start and its end. What is
unchanged is captured; a number is carried, in the dtype that it takes; a new array is carried by value; a memory that
the body writes is carried as memory. What doesn't fit is mended and tried again: a variable that starts as something
else runs one turn before the loop; of arrays that exchange their names, the contents change places, and how often is
carried. A loop that needs its index, or changes a Python object, is unrolled.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.errors import TraceError, warn
from lamina.expr import Expr, with_effects
from lamina.trace.affine import note_turn
from lamina.trace.branch import branch
from lamina.trace.build import as_value, constant, emit, node_of, permute, scope_now, to_dtype
from lamina.trace.carry import (
    Again,
    Carried,
    Fails,
    Loop,
    Peel,
    Test,
    compared,
    is_replaced,
    period_of,
)
from lamina.trace.choice import Either, cells_of, choice_of, one_of, store
from lamina.trace.control import predicate_of
from lamina.trace.mixed import code_of
from lamina.trace.order import ordered
from lamina.trace.pointers import are_few, bound, carried_keys, carried_nodes, extended, whereabouts
from lamina.trace.scope import Scope, next_serial, raised_at, user_source
from lamina.trace.state import (
    CannotMerge,
    Get,
    NotKept,
    Poison,
    Put,
    Unbound,
    Untraceable,
    apart,
    effects_apart,
    is_number,
    is_traced,
)
from lamina.trace.value import Kind, Unroll, Value

_FEW = 8  # turns that are cheaper unrolled
_FEW_IN_ALL = 50  # and of such loops in each other, turns times turns
_MANY = 1000  # unrolled turns before a warning
_TRIES = 12
_PEELS = 4  # turns that run before a for to bind its variables: as many as a multi-step method looks back
_APART = 2  # turns that run before a loop whose test only a run knows, each in a branch of its own
_RAISES = "a turn raises while it is traced, which happens only where there is a turn"


class Items(NamedTuple):
    """What a ``for`` goes through: how many items there are, and the item at a place, which may be traced."""

    count: Any
    item: Callable[[Any], Any]


def for_loop(items: Items, test: Test, body: Callable[[Any], None], get: Get, put: Put, names: Any, live: Any) -> None:
    """Run or stage a ``for`` over items that have places."""
    count, since = items.count, next_serial()
    loop = Loop(test, lambda i: body(items.item(i)), get, put, tuple(names), frozenset(live), count, since)
    root = scope_now().root
    around = root.few
    if type(count) is int and count <= _FEW and count * around <= _FEW_IN_ALL:
        scope_now().note("unrolled", f"it has no more than {_FEW} turns")
        root.few = around * max(count, 1)
        try:
            _unrolled(loop, range(count))
        finally:
            root.few = around
    else:
        _go_on(loop, count, 0)


def _go_on(loop: Loop, count: Any, done: int) -> None:
    """The turns of a ``for`` after so many that have been done."""
    while True:
        try:
            has_pointers = done > _APART and not _can_be_known(count)
            _staged(loop._replace(has_pointers=has_pointers), count, done, done > 0)
            return
        except Peel as error:
            why = str(error)
            if not _can_be_known(count) and done <= _APART:
                _next_apart(loop, count, done, why)
                return
            count = _known(count, why)
            if done >= count or done > _PEELS:
                break
            scope_now().note("apart", why)
            before, done = done, _unrolled(loop, range(done, done + 1), done)
            if done == before:  # its test has ended it
                return
        except Fails as error:
            why = str(error)
            break
        except (TraceError, NotImplementedError):
            raise
        except Exception:
            if type(count) is int:
                raise
            why = _RAISES
            break
    count = _known(count, why)
    scope_now().note("unrolled", why)
    if count - done > _MANY:
        _warn(f"a loop of {count} turns is unrolled; write it so that it can be staged")
    _unrolled(loop, range(done, count))


def _known(count: Any, why: str) -> int:
    """How many turns there are, where it must be known."""
    if type(count) is int:
        return count
    count.known(f"the number of turns of the loop ({why})")
    return int(count)


def _can_be_known(count: Any) -> bool:
    """Whether numbers among the arguments decide how many turns there are, so that it can be asked for."""
    return type(count) is int or count.deciding_numbers() is not None


def _next_apart(loop: Loop, count: Value, done: int, why: str) -> None:
    """One turn if there is one, then a loop whose variables it has bound."""
    scope_now().note("apart", why)

    def turns() -> None:
        if _unrolled(loop, range(done, done + 1), done) > done:
            _go_on(loop, count, done + 1)

    there_is_one = emit("less", constant(done, dt.int64), count, kind=Kind.NUMBER)
    branch(there_is_one, turns, lambda: None, loop.get, loop.put, loop.names)


def _warn(message: str) -> None:
    source = user_source()
    warn(f"{message} ({source.file}:{source.line})" if source else message)


def _unrolled(loop: Loop, turns: range, done: int = 0) -> int:
    """The turns one after the other; how many have been done."""
    for i in turns:
        go_on = True if loop.test is None else loop.test()
        if is_traced(go_on):
            branch(go_on, lambda i=i: loop.turn(i), lambda: None, loop.get, loop.put, loop.names)  # type: ignore[misc]
        elif not go_on:
            break
        else:
            loop.turn(i)
        done = i + 1
    return done


def while_loop(test: Callable[[], Any], body: Callable[[], None], get: Get, put: Put, names: Any, live: Any) -> None:
    """Run or stage a ``while``."""
    _while(Loop(test, lambda _: body(), get, put, tuple(names), frozenset(live), None, next_serial()), 0)


def _while(loop: Loop, has_run: int) -> None:
    """The turns of a ``while`` after so many that have run apart."""
    turns, why = 0, "its test is known while it is traced, and its turns are few"
    while True:
        tried = _Tried(loop)
        if tried.is_once:
            _while(_tested_last(loop), has_run)
            return
        if tried.is_known and not tried.holds:
            tried.take()
            scope_now().note("unrolled", why)
            return
        if not tried.is_known or turns >= _FEW:
            try:
                _staged(loop._replace(has_pointers=has_run >= _APART), None, 0, has_run + turns > 0)
                # what it binds (:=) and writes is what it did when it ended the loop, where its effects were seen
                _Tried(loop).take(effects=False)
                if turns:
                    scope_now().note("apart", f"its test is known while it is traced, {turns} times")
                return
            except Peel as error:
                if not tried.is_known:
                    if has_run >= _APART:
                        raise Untraceable(
                            "this while loop can't be staged: its variables change in every turn"
                        ) from None
                    tried.take()
                    _first_apart(tried.holds, loop, has_run, str(error))
                    return
            except Fails as error:
                why = str(error)
                if not tried.is_known:
                    raise Untraceable(f"this while loop can't be staged: {error}") from error
                if turns == _MANY:
                    _warn(f"a while loop of over {_MANY} turns is unrolled; write it so that it can be staged")
            except (TraceError, NotImplementedError) as error:
                if not tried.is_known:
                    raise
                why = str(error)  # turn after turn it may do without what it asks for
            except Exception:
                if tried.is_known or has_run > _APART:
                    raise
                tried.take()
                _first_apart(tried.holds, loop, has_run, _RAISES)
                return
        tried.take()
        loop.turn(None)
        turns += 1


def _tested_last(loop: Loop) -> Loop:
    """The loop with its test at the end of each turn, and once before: what it gives is a variable of its own."""
    assert loop.test is not None
    test, goes_on = loop.test, loop.test()

    def get() -> tuple[Any, ...]:
        return (*loop.get(), goes_on)

    def put(values: tuple[Any, ...]) -> None:
        nonlocal goes_on
        *own, goes_on = values
        loop.put(tuple(own))

    def turn(i: Any) -> None:
        nonlocal goes_on
        loop.turn(i)
        goes_on = test()

    names = (*loop.names, _GOES_ON)
    return loop._replace(
        test=lambda: goes_on, turn=turn, get=get, put=put, names=names, live=loop.live | {_GOES_ON}, since=next_serial()
    )


_GOES_ON = "what its test gives"


class _Tried:
    """A test that has been asked whether it holds; what it has bound, written and done is undone until it is taken."""

    def __init__(self, loop: Loop) -> None:
        before, self.put = loop.get(), loop.put
        assert loop.test is not None
        with apart(scope_now()) as (self.effects, self.layer):
            self.holds = loop.test()
        self.is_known = not is_traced(self.holds)
        self.state = loop.get()
        changes = bool(self.layer) or any(a is not b for a, b in zip(before, self.state, strict=True))
        # whether it binds or writes what may come of something that must not be done once more
        self.is_once = changes and any(effect.op != "check" for effect in self.effects)
        self.put(before)

    def take(self, *, effects: bool = True) -> None:
        """Do what the test does."""
        scope = scope_now()
        self.put(self.state)
        for cell, node in self.layer.items():
            scope.write(cell, node)
        if effects:
            scope.effects += self.effects


def _first_apart(go_on: Value, loop: Loop, has_run: int, why: str) -> None:
    """The first turn under the test, then a loop whose variables it has bound."""
    scope_now().note("apart", why)

    def first() -> None:
        loop.turn(None)
        _while(loop, has_run + 1)

    branch(go_on, first, lambda: None, loop.get, loop.put, loop.names)


def _staged(loop: Loop, count: Any, first: int, has_run: bool) -> None:
    """Stage a loop of `count` turns (`None`: as long as its test holds) from turn `first` on; bind its variables."""
    loop = _with_parts(loop)
    if not loop.has_pointers:
        try:
            _traced(loop, count, first, has_run)
            return
        except Fails:
            if count is not None and _can_be_known(count):
                raise  # it is unrolled
    _traced(loop._replace(has_pointers=True), count, first, has_run)


def _traced(loop: Loop, count: Any, first: int, has_run: bool) -> None:
    """Trace the body until what is said of it holds."""
    start = loop.get()
    carried = {
        k: Carried(value.dtype, value.shape, value.kind, value.codes)
        for k, value in ((k, as_value(thing)) for k, thing in enumerate(start) if is_number(thing))
    }
    again = Again(carried)
    for _ in range(_TRIES):
        try:
            _attempt(loop, count, first, has_run, start, again)
            return
        except Again as other:
            again = other
            loop.put(start)
        except NotKept as read:
            loop.put(start)
            if all(loop.names[k] != read.name for k in again.dead):
                raise
            loop = loop._replace(live=loop.live | {read.name})  # by a later turn
            again = Again(carried)
        except CannotMerge as error:
            loop.put(start)
            raise Fails(str(error)) from error
        except BaseException:
            loop.put(start)
            raise
    raise Fails("its variables change in every turn")


def _with_parts(loop: Loop) -> Loop:
    """The loop with the parts of tuples as variables of their own."""
    start, names = loop.get(), loop.names
    if not any(isinstance(thing, tuple) for thing in start):
        return loop

    def get() -> tuple[Any, ...]:
        return tuple(part for each in zip(names, start, loop.get(), strict=True) for part in _parts(*each))

    def put(values: tuple[Any, ...]) -> None:
        parts = iter(values)
        loop.put(tuple(_whole(like, parts) for like in start))

    named = [(name, part) for name, like in zip(names, start, strict=True) for part in _names_of(name, like)]
    live = frozenset(part for name, part in named if name in loop.live)
    return loop._replace(get=get, put=put, names=tuple(part for _, part in named), live=live)


def _parts(name: str, like: Any, thing: Any) -> list[Any]:
    """The parts of a variable that is a tuple as `like` is; itself where that is none."""
    if not isinstance(like, tuple):
        return [thing]
    if isinstance(thing, Unbound):
        return [thing] * len(_names_of(name, like))
    if type(thing) is not type(like) or len(thing) != len(like):
        raise Fails(f"{name} changes from {like!r} to {thing!r}")
    return [part for each in zip(like, thing, strict=True) for part in _parts(name, *each)]


def _names_of(name: str, like: Any) -> list[str]:
    if not isinstance(like, tuple):
        return [name]
    return [part for i, each in enumerate(like) for part in _names_of(f"{name}[{i}]", each)]


def _whole(like: Any, parts: Iterator[Any]) -> Any:
    if not isinstance(like, tuple):
        return next(parts)
    wholes = [_whole(each, parts) for each in like]
    return like._make(wholes) if hasattr(like, "_make") else tuple(wholes)


def _attempt(loop: Loop, count: Any, first: int, has_run: bool, start: tuple[Any, ...], how: Again) -> None:
    """Trace the body once as `how` says and make the node, or say what must be otherwise."""
    outer, order = scope_now(), sorted(how.carried)
    scope = Scope(f"a loop of {outer.name}", outer)
    scope.is_loop = True
    turns = None if count is None else _turns(count, first)
    starts = whereabouts({k: start[k] for k in how.places}, None)
    how.places = extended(how.places, starts)
    if not all(map(are_few, how.places.values())):
        raise Fails("its variables become too many different arrays")
    scope.unrolls = not loop.has_pointers
    try:
        with scope:
            index = None if turns is None else Value(scope.param(dt.int64, ()), scope, Kind.NUMBER)
            if index is not None and turns is not None:
                note_turn(index, turns)
            inner = list(start)
            before: dict[int, Any] = {}  # whether an earlier turn has replaced an array
            for k in order:
                each = how.carried[k]
                shape = each.shape if each.axes is None else tuple(each.shape[axis] for axis in each.axes)
                inner[k] = _laid_out(Value(scope.param(each.dtype, shape), scope, each.kind), each)
                if each.codes:
                    inner[k].codes = each.codes
                    inner[k].code = Value(scope.param(dt.int64, ()), scope, Kind.NUMBER)
                if each.may_stay:
                    before[k] = Value(scope.param(dt.bool, ()), scope, Kind.NUMBER)
            for k in how.dead:
                inner[k] = Poison(loop.names[k])
            phase = Value(scope.param(dt.int64, ()), scope, Kind.NUMBER) if how.moved else None
            pointed = [scope.param(*each) for each in carried_keys(how.places).values()]
            own = len(scope.params)  # what follows are captures
            for k, thing in bound(how.places, pointed).items():
                inner[k] = thing
            loop.put(tuple(inner))
            test, test_effects = _tested(loop, scope, index, turns)
            loop.turn(None if index is None else _turn_of(index, first))
            outputs, pointers = compared(loop, scope, start, inner, how, has_run)
            replaced = {
                k: Either(scope, before[k])(True, is_replaced(loop, scope, k, inner[k], outputs[k])) for k in before
            }
            nodes = _nodes(outputs, replaced, how, order)
            nodes += carried_nodes(how.places, pointers)
            if phase is not None:
                _expect_unseen(scope, start, how)
                period = constant(period_of(how.moved), dt.int64)
                nodes.append(node_of(emit("remainder", emit("add", phase, constant(1, dt.int64)), period)))
            if index is not None:
                nodes.insert(0, node_of(emit("add", index, constant(1, dt.int64))))
    except Unroll as unroll:
        if unroll.scope is scope:
            line = raised_at(unroll)
            raise Fails(f"{unroll.reason} (line {line.line})" if line else unroll.reason) from unroll
        raise
    if type(count) is Value and not has_run and (changed := _changed(loop, start, how)):
        if not _can_be_known(count):
            raise Peel(changed)
        _known(count, str(Peel(changed)))  # what the variables are afterwards depends on whether there is a turn
    begin = _nodes({k: as_value(start[k]) for k in order}, dict.fromkeys(before, False), how, order)
    begin += carried_nodes(how.places, starts)
    if how.moved:
        begin.append(node_of(constant(0, dt.int64)))
    if index is not None:
        begin.insert(0, node_of(constant(0, dt.int64)))
    written = scope.written()
    versions = dict(written.values())
    captures = scope.params[own:]
    initial = (*begin, *(outer.lift(captured, outer) for captured in scope.captures))
    body = with_effects(scope.effects, (*nodes, *(versions.get(param, param) for param in captures)))
    node = outer.emit("while", initial, tuple(scope.params), with_effects(test_effects, test), body)
    if test_effects or scope.effects:
        outer.perform(node)
    outer.note("staged", "")
    for cell, (param, _) in written.items():
        outer.write(cell, outer.emit("elem", node, scope.params.index(param)))
    final = list(start)
    place = 0 if index is None else 1
    for k in order:
        final[k] = _laid_out(Value(outer.emit("elem", node, place), outer, how.carried[k].kind), how.carried[k])
        place += 1
        if how.carried[k].codes:
            final[k].codes = how.carried[k].codes
            final[k].code = Value(outer.emit("elem", node, place), outer, Kind.NUMBER)
            place += 1
        if how.carried[k].may_stay:
            has_other = Value(outer.emit("elem", node, place), outer, Kind.NUMBER)
            final[k] = choice_of(Either(outer, has_other), [(True, final[k])], [(True, start[k])])
            place += 1
    for k in how.dead:
        final[k] = Poison(loop.names[k])
    pointed = [outer.emit("elem", node, place + i) for i in range(len(carried_keys(how.places)))]
    for k, thing in bound(how.places, pointed).items():
        final[k] = thing
    if how.moved:
        _exchanged(start, final, how.moved, Value(outer.emit("elem", node, place), outer, Kind.NUMBER))
    loop.put(tuple(final))


def _expect_unseen(scope: Scope, start: tuple[Any, ...], how: Again) -> None:
    """The arrays that exchange names are known by these names alone in the loop."""
    cells = [cell for k in how.moved for cell in cells_of(start[k])]
    if len(set(cells)) < len(cells) or any(scope.reads(cell) for cell in cells):
        raise Fails("its arrays exchange names, and are seen through other names as well")


def _exchanged(start: tuple[Any, ...], final: list[Any], moved: dict[int, int], phase: Value) -> None:
    """Put what the exchanged variables hold into the arrays they stand for after the loop, and bind them to those.

    After `phase` turns of a period, the variable k stands for the array that variable ``moved[moved[…k]]`` began with.
    """
    held = {k: Value(node_of(final[k]), scope_now()) for k in moved}
    stands: dict[int, Any] = {k: start[k] for k in moved}
    contents = dict(held)
    place = {k: k for k in moved}
    for turns in range(1, period_of(moved)):
        place = {k: moved[j] for k, j in place.items()}
        now = emit("equal", phase, constant(turns, dt.int64))
        back = {j: k for k, j in place.items()}
        for k in moved:
            stands[k] = choice_of(Either(scope_now(), now), [(True, start[place[k]])], [(True, stands[k])])
            contents[k] = Value(one_of(scope_now(), now, node_of(held[back[k]]), node_of(contents[k])), scope_now())
    for k in moved:
        store(start[k], contents[k])
        final[k] = stands[k]


def _laid_out(memory: Value, carried: Carried) -> Value:
    """A carried variable that sees memory of its own."""
    return memory if carried.axes is None else ordered(memory, carried.axes)


def _nodes(values: dict[int, Value], replaced: dict[int, Any], how: Again, order: list[int]) -> list[Expr]:
    """The nodes of the carried variables, in order, and behind one what is carried beside it."""
    nodes = []
    for k in order:
        value, axes = to_dtype(values[k], how.carried[k].dtype), how.carried[k].axes
        nodes.append(node_of(value if axes is None else permute(value, axes)))
        if how.carried[k].codes:
            nodes.append(node_of(code_of(values[k])))
        if k in replaced:
            nodes.append(node_of(as_value(replaced[k])))
    return nodes


def _tested(loop: Loop, scope: Scope, index: Value | None, turns: Any) -> tuple[Expr, list[Expr]]:
    """The condition's node, and its effects."""
    goes_on = None if index is None else emit("less", index, turns)
    effects: list[Expr] = []
    if loop.test is not None:
        with effects_apart(scope) as effects:
            holds = loop.test()
            if type(holds) is Value:
                holds = predicate_of(holds, "the condition")
                goes_on = holds if goes_on is None else emit("logical_and", goes_on, holds)
        if type(holds) is not Value and not holds:
            raise Fails("its test doesn't hold at first")
    return node_of(constant(True, dt.bool) if goes_on is None else goes_on), effects


def _changed(loop: Loop, start: tuple[Any, ...], how: Again) -> str:
    """The name of a variable that a turn makes something else; empty where there is none."""
    for k, carried in how.carried.items():
        value = as_value(start[k])
        if carried.may_stay:
            continue
        if carried.kind is Kind.ARRAY or (value.kind, value.dtype) != (carried.kind, carried.dtype):
            return loop.names[k]
    return ""


def _turns(count: Any, first: int) -> Value:
    if type(count) is int:
        return constant(count - first, dt.int64)
    return count if first == 0 else emit("subtract", count, constant(first, dt.int64), kind=Kind.NUMBER)


def _turn_of(index: Value, first: int) -> Value:
    # places are below the count, so this doesn't overflow
    return index if first == 0 else emit("add", index, constant(first, dt.int64), kind=Kind.NUMBER)
