"""What two branches leave, as one: the results of a ``cond``, and variables that read them.

A number is chosen at run time, as is memory that was there before and that a branch has written. Memory that a branch
has made is chosen too, so nothing of a branch is computed where it isn't taken: with the memory of the other branch
that every variable has in its place, or else with zeros, which nobody reads. Arrays of one dtype and shape become a
choice, and what no one value stands for becomes a variant.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina.expr import Expr, describe, with_effects
from lamina.trace.build import as_value, broadcast_to, constant, node_of, to_dtype, with_kind
from lamina.trace.choice import (
    Case,
    Either,
    cells_of,
    choice_at,
    choice_of,
    chosen,
    leaves_of,
    opened,
    same_alias,
    united,
    with_tests,
)
from lamina.trace.mixed import can_meet, code_of, codes_of, dtype_for, is_mixed, with_code
from lamina.trace.names import RETURNED, RUNTIME
from lamina.trace.objects import made
from lamina.trace.scope import Cell, Scope
from lamina.trace.state import CannotMerge, Poison, Unbound, is_array, is_decided, is_number
from lamina.trace.value import Kind, Value
from lamina.trace.variant import MOST, Variant


class Side(NamedTuple):
    """What a branch left: variables, what cells hold, effects, and whether it raised."""

    state: tuple[Any, ...]
    memories: dict[Cell, Expr]
    written: set[Cell]
    effects: list[Expr]
    has_raised: bool


class Mark(NamedTuple):
    """Where the branches begin: the serial number of the next cell, and the id of the last node."""

    cell: int
    node: int


def cells_in(thing: Any) -> set[Cell]:
    """The memories that a variable may see."""
    if type(thing) is Value:
        return set(cells_of(thing))
    if type(thing) is Variant:
        thing = thing.things
    return {cell for each in thing for cell in cells_in(each)} if isinstance(thing, tuple) else set()


class Merge:
    """The ``cond`` that two branches become: pairs of nodes, one of each branch, and who reads which of its results."""

    def __init__(self, scope: Scope, predicate: Value, mark: Mark, left: Side, right: Side) -> None:
        self.scope, self.predicate, self.mark, self.sides = scope, predicate, mark, (left, right)
        for side in self.sides:
            for cell, memory in side.memories.items():
                if self._is_new(cell):
                    scope.layers[-1][cell] = memory  # also where the other branch raised, and this is all there is
        self.pairs: list[tuple[Expr, Expr]] = []
        self.places: dict[tuple[Expr, Expr], int] = {}
        # of each new cell of a branch: the cells that variables have in its place in the other branch, or None
        self.partners: tuple[dict[Cell, set[Cell | None]], ...] = {}, {}
        self.memories: tuple[dict[Cell, int], ...] = {}, {}
        self.guards: dict[Expr, int] = {}
        self.either = Either(scope, predicate)
        # whether a branch does what must not be done once more: what it decides is a result of the cond then
        self.is_once = tuple(any(effect.op != "check" for effect in side.effects) for side in (left, right))
        self.results: list[Any] = []
        self.merged: dict[tuple[int, int], Later] = {}
        self.lists: dict[int, list[Any]] = {}  # of each list of one branch by id, that of the other

    # Which variables become what

    def name(self, name: str, a: Any, b: Any) -> Any:
        """What a variable is after the branches: a thing, or a `Later` that the cond's results make."""
        if a is b:
            return a
        if isinstance(a, Unbound) or isinstance(b, Unbound):
            if isinstance(a, Unbound) and isinstance(b, Unbound):
                return a
            if name.startswith(RUNTIME):
                for each in (a, b):
                    if isinstance(each, Poison):  # a variable that is returned, not one that a flag guards
                        each.fail()
                return self._only(1, b) if isinstance(a, Unbound) else self._only(0, a)  # a flag guards its use
            return Poison(name)
        if name == RETURNED and a is True and self._is_negated(b):
            return True  # if not returned: … return
        if _is_like(a, b):
            return self._number(a, b) if is_number(a) else self._object(a, b)
        if isinstance(a, tuple) and type(a) is type(b) and len(a) == len(b):
            parts = [self.name(name, x, y) for x, y in zip(a, b, strict=True)]
            make = getattr(a, "_make", tuple)
            return Later(lambda: make(_now(part) for part in parts))
        if type(a) is list and type(b) is list and len(a) == len(b) and self._is_own(a) and self._is_own(b):
            return self._list(name, a, b)
        if type(a) is type(b) and isinstance(a, (str, bytes)) and a == b:
            return a
        if _can_vary(a) and _can_vary(b) and not is_decided(self.predicate):
            return self._variant(name, a, b)
        raise CannotMerge(f"{_shown(name)} is {_what(a)} in one and {_what(b)} in the other")

    def _is_negated(self, flag: Any) -> bool:
        """Whether the predicate is that a flag isn't set."""
        node = node_of(self.predicate)
        return type(flag) is Value and node.op == "logical_not" and node.args[0] is node_of(flag)

    def _number(self, a: Any, b: Any) -> Any:
        if type(a) is type(b) and not isinstance(a, Value) and repr(a) == repr(b):
            return a
        if type(a) is bool and type(b) is bool:
            return with_kind(self.either(a, b), Kind.NUMBER)  # the predicate itself, or that it is false
        x, y = as_value(a), as_value(b)
        codes = codes_of(x) | codes_of(y)
        if not is_mixed(x, y):
            i = self._pair(node_of(x), node_of(y))
            return Later(lambda: self._result(i, x.kind))
        dtype = dtype_for(codes)
        i = self._pair(node_of(to_dtype(x, dtype)), node_of(to_dtype(y, dtype)))
        j = self._pair(node_of(code_of(x)), node_of(code_of(y)))
        return Later(lambda: with_code(self._result(i, Kind.SCALAR), self._result(j), codes))

    def _is_own(self, thing: Any) -> bool:
        """Whether a Python object was made in a branch, so that nothing else knows it."""
        known = self.scope.root.objects.get(id(thing))
        return known is not None and known[0] is thing and known[1] is self.scope and known[2] > self.scope.depth

    def _list(self, name: str, a: list[Any], b: list[Any]) -> Any:
        """Two lists merged, item by item: variables of one list are of one list afterwards."""
        key = id(a), id(b)
        if self.lists.setdefault(id(a), b) is not b or self.lists.setdefault(id(b), a) is not a:
            raise CannotMerge(f"{_shown(name)} is a list that is two variables in one of them alone")
        if key not in self.merged:
            items = [self.name(name, x, y) for x, y in zip(a, b, strict=True)]
            self.merged[key] = Later(functools.cache(lambda: made([_now(item) for item in items])))
        return self.merged[key]

    def _object(self, a: Value, b: Value) -> Any:
        """Two arrays merged: variables of one object are of one object afterwards."""
        key = id(a), id(b)
        if key not in self.merged:
            merged = self._array(a, b)
            self.merged[key] = Later(functools.cache(lambda: _now(merged)))
        return self.merged[key]

    def _array(self, a: Value, b: Value) -> Any:
        if same_alias(a, b):
            return a
        is_pair = self._are_alike(a, b)
        self._meet(0, a, b.cell if is_pair else None)
        self._meet(1, b, a.cell if is_pair else None)
        return Later(lambda: choice_of(self.either, self._kept(0, a), self._kept(1, b)))

    def _are_alike(self, a: Value, b: Value) -> bool:
        """Whether two arrays see memories that their branches have made, and see them so."""
        if not (self._is_new(a.cell) and self._is_new(b.cell)) or a.shifts or b.shifts:
            return False
        memories = [side.memories[each.cell] for side, each in zip(self.sides, (a, b), strict=True)]  # type: ignore[index]
        is_same_memory = len({(memory.dtype, memory.shape) for memory in memories}) == 1
        return is_same_memory and a.whole_layout == b.whole_layout

    def _variant(self, name: str, a: Any, b: Any) -> Any:
        """A variable that is one of several things, of which no two are alike."""
        tests, things = [], []
        for pair, left, right in united(lambda *pair: pair, _cases(a), _cases(b), _is_like):
            tests.append(self._test(*pair))
            if left and right:
                things.append(self.name(name, *left, *right))
            else:
                things.append(self._only(0, *left) if left else self._only(1, *right))
        if len(things) > MOST:
            raise CannotMerge(f"{_shown(name)} is one of more than {MOST} things")
        return Later(lambda: Variant(map(_now, tests[:-1]), map(_now, things)))

    def _test(self, a: Any, b: Any) -> "Later":
        """What holds of the one branch or of the other."""
        self._note_test(0, a)
        self._note_test(1, b)
        return Later(lambda: self.either(self._guarded(a), self._guarded(b)))

    def _note_test(self, side: int, test: Any) -> None:
        if type(test) is Value and self.is_once[side]:
            self._guard(side, node_of(test))

    def _only(self, side: int, thing: Any) -> Any:
        """A thing that a variable is in one branch alone."""
        if type(thing) is Variant:
            tests = [self._test(*self._sided(side, test, False)) for test in thing.tests]
            things = [self._only(side, each) for each in thing.things]
            return Later(lambda: Variant(map(_now, tests), map(_now, things)))
        if isinstance(thing, tuple):
            parts = [self._only(side, each) for each in thing]
            make = getattr(thing, "_make", tuple)
            return Later(lambda: make(map(_now, parts)))
        if type(thing) is not Value:
            return thing
        if thing.cell is not None:
            self._meet(side, thing, None)
            return Later(lambda: choice_of(self.either, *self._sided(side, self._kept(side, thing), [])))
        i = self._guard(side, node_of(thing))
        if thing.code is None:
            return Later(lambda: self._result(i, thing.kind))
        j = self._guard(side, node_of(thing.code))
        return Later(lambda: with_code(self._result(i, Kind.SCALAR), self._result(j), thing.codes))

    @staticmethod
    def _sided(side: int, thing: Any, other: Any) -> tuple[Any, Any]:
        return (thing, other) if side == 0 else (other, thing)

    # Memory that a branch has made

    def _is_new(self, cell: Cell | None) -> bool:
        """Whether the memory was made in one of the branches; an array from outside was not, wherever it is met."""
        return type(cell) is Cell and self._is_made(cell) and cell.array is None

    def _meet(self, side: int, value: Value, partner: Cell | None) -> None:
        """Take note of what an array of one branch is made of."""
        self._meet_tests(side, value)
        for each in leaves_of(value):
            for by, _ in each.shifts:
                self._guard(side, node_of(by))
            if type(each.cell) is not Cell and any(map(self._is_new, cells_of(each))):
                raise CannotMerge("a part of the elements of a new array is seen in one of them")
            if self._is_new(each.cell):
                assert each.cell is not None
                self.partners[side].setdefault(each.cell, set()).add(partner)

    def _kept(self, side: int, value: Value) -> list[Case]:
        """The arrays that an array of one branch may be, as they are seen after the branches."""
        cases = opened([(True, self._decided(value))], self._is_made)
        return [(test, self._seen(side, each)) for test, each in cases]

    def _meet_tests(self, side: int, value: Value) -> None:
        choice = choice_at(value)
        if choice is not None and self._is_made(choice) and self.is_once[side]:
            for test in choice.tests:
                self._note_test(side, test)
            for each in choice.sides:
                self._meet_tests(side, each)

    def _decided(self, value: Value) -> Value:
        """An array of one branch, which one of several it is being a result of the cond."""
        choice = choice_at(value)
        if choice is None or not self._is_made(choice) or not self.guards:
            return value
        tests, sides = map(self._guarded, choice.tests), map(self._decided, choice.sides)
        return chosen(with_tests(list(tests), list(sides)))

    def _is_made(self, cell: Cell) -> bool:
        return cell.home is self.scope and cell.serial >= self.mark.cell

    def _seen(self, side: int, value: Value) -> Value:
        place = self.memories[side].get(value.cell)  # type: ignore[arg-type]
        shifts = tuple((self._guarded(by), stride) for by, stride in value.shifts)
        if place is None and all(by is was for (by, _), (was, _) in zip(shifts, value.shifts, strict=True)):
            return value
        cell: Any = value.cell if place is None else self.results[place]
        seen = Value.alias(cell, value.layout, shifts, dtype=value.dtype)
        seen.is_frozen = value.is_frozen
        return seen

    def _guard(self, side: int, node: Expr) -> int:
        """The place of a node that one branch alone computes, if it is new."""
        if node.op == "constant" or node.id <= self.mark.node:
            return self._pair(node, node)
        if node not in self.guards:
            zero = constant(0, node.dtype).expr
            self.guards[node] = self._pair(*self._sided(side, node, zero))
        return self.guards[node]

    def _guarded(self, value: Any) -> Any:
        place = self.guards.get(node_of(value)) if type(value) is Value else None
        return value if place is None else self._result(place, value.kind)

    def _memories(self) -> None:
        """Pair the memories that the branches have made."""
        for side, partners in enumerate(self.partners):
            for cell, others in partners.items():
                if cell in self.memories[side]:
                    continue
                memory = self.sides[side].memories[cell]
                (other, *more) = others
                if other is not None and not more and self.partners[1 - side][other] == {cell}:
                    their = self.sides[1 - side].memories[other]
                else:
                    other, their = None, node_of(broadcast_to(constant(0, memory.dtype), memory.shape))
                place = self._new(*self._sided(side, memory, their))
                self.memories[side][cell] = place
                if other is not None:
                    self.memories[1 - side][other] = place

    # The cond

    def _pair(self, a: Expr, b: Expr) -> int:
        if (a, b) not in self.places:
            self.places[a, b] = self._new(a, b)
        return self.places[a, b]

    def _new(self, a: Expr, b: Expr) -> int:
        self.pairs.append((a, b))
        return len(self.pairs) - 1

    def _result(self, place: int, kind: Kind = Kind.NUMBER) -> Value:
        return Value(self.results[place], self.scope, kind)

    def finish(self, state: Sequence[Any]) -> tuple[Any, ...]:
        """Emit the cond, write the memories it chooses, and give the variables."""
        scope, (left, right) = self.scope, self.sides
        written = [cell for cell in left.written | right.written if not self._is_new(cell)]
        places = {}
        for cell in sorted(written, key=lambda cell: cell.serial):
            now = scope.read(cell)
            places[cell] = self._new(left.memories.get(cell, now), right.memories.get(cell, now))
        self._memories()
        if self.pairs or left.effects or right.effects:
            inner = [
                with_effects(side.effects, tuple(pair[k] for pair in self.pairs)) for k, side in enumerate(self.sides)
            ]
            node = scope.emit("cond", ((node_of(self.predicate), inner[0]),), inner[1])
            if left.effects or right.effects:
                scope.perform(node)
            self.results = [scope.emit("elem", node, i) for i in range(len(self.pairs))]
        for cell, i in places.items():
            scope.write(cell, self.results[i])
        for i in {i for memories in self.memories for i in memories.values()}:
            self.results[i] = scope.new_cell(self.results[i])
        return tuple(map(_now, state))


class Later:
    """A variable that the cond's results make."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def _now(thing: Any) -> Any:
    return thing.make() if isinstance(thing, Later) else thing


def _is_like(a: Any, b: Any) -> bool:
    """Whether one value stands for both of two numbers or arrays."""
    if is_number(a) and is_number(b):
        return can_meet(codes_of(as_value(a)) | codes_of(as_value(b)))
    return is_array(a) and is_array(b) and (a.dtype, a.shape) == (b.dtype, b.shape)


def _can_vary(thing: Any) -> bool:
    return is_array(thing) or is_number(thing) or type(thing) is Variant or isinstance(thing, np.dtype)


def _cases(thing: Any) -> list[tuple[Any, Any]]:
    """The things that a variable may be, each behind whether it is this one."""
    return thing.cases() if type(thing) is Variant else [(True, thing)]


def _shown(name: str) -> str:
    return "the result" if name.startswith(RUNTIME) else name


def _what(thing: Any) -> str:
    if type(thing) is Variant:
        return " or ".join(map(_what, thing.things))
    return describe(thing.dtype, thing.shape) if type(thing) is Value else repr(thing)
