"""Choices: an array that is one of several, decided at run time (``c = a if p else b``), and no copy of any.

What it holds is what the chosen one holds; a write reaches the chosen one, and whoever sees its memory.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

from lamina.expr import Expr
from lamina.trace.build import apply_move, as_value, broadcast_to, emit, node_of, scope_now
from lamina.trace.scope import Cell, Scope
from lamina.trace.value import Kind, Value


def one_of(scope: Scope, predicate: Value, then: Expr, otherwise: Expr) -> Expr:
    """The node that is `then` where the predicate is true, else `otherwise`."""
    return scope.emit("cond", ((node_of(predicate), then),), otherwise)


class Either:
    """``either(a, b)`` is the truth that is `a` where a predicate is true, else `b`: traced ones, or known.

    Of equal truths there is one node, so what depends on one predicate is known to.
    """

    def __init__(self, scope: Scope, predicate: Value) -> None:
        self.scope, self.predicate = scope, predicate
        self.made: dict[tuple[Any, Any], Any] = {(True, False): predicate}

    def __call__(self, then: Any, otherwise: Any) -> Any:
        """`then` or `otherwise`."""
        key = _known(then), _known(otherwise)
        if key[0] is key[1]:
            return then
        if key not in self.made and key == (False, True):
            self.made[key] = emit("logical_not", self.predicate, kind=Kind.NUMBER)
        elif key not in self.made:
            node = one_of(self.scope, self.predicate, node_of(as_value(then)), node_of(as_value(otherwise)))
            self.made[key] = Value(node, self.scope, Kind.NUMBER)
        return self.made[key]


def _known(truth: Any) -> Any:
    return truth if type(truth) is bool else node_of(truth)


Case = tuple[Any, Any]  # a test, traced or known, and a thing


def with_tests(tests: Sequence[Value], things: Sequence[Any]) -> list[Case]:
    """Each thing behind the test that it is this one: at most one of the tests is true, and none for the last thing."""
    if not tests:
        return [(True, things[0])]
    none = emit("logical_not", reduce(lambda x, y: emit("logical_or", x, y), tests), kind=Kind.NUMBER)
    return list(zip((*tests, none), things, strict=True))


def folded(either: Callable[[Value, Any, Any], Any], tests: Sequence[Value], things: Sequence[Any]) -> Any:
    """``either(test, thing, either(test, thing, … thing))``."""
    result = things[-1]
    for test, thing in zip(reversed(tests), reversed(things[:-1]), strict=True):
        result = either(test, thing, result)
    return result


def united(
    either: Callable[[Any, Any], Any],
    lefts: Sequence[Case],
    rights: Sequence[Case],
    is_like: Callable[[Any, Any], bool],
) -> list[tuple[Any, list[Any], list[Any]]]:
    """The cases of one of two things: of each the test, and what it is of the left one and of the right one."""
    rest = list(rights)
    cases = []
    for test, thing in lefts:
        place = next((i for i, (_, other) in enumerate(rest) if is_like(thing, other)), None)
        other, right = (False, []) if place is None else (rest[place][0], [rest.pop(place)[1]])
        cases.append((either(test, other), [thing], right))
    return cases + [(either(False, test), [], [thing]) for test, thing in rest]


class Choice(Cell):
    """A cell that is the memory of one of several arrays of one dtype and shape, of which no two may be one array.

    It is the one whose test is true, of which there is at most one, else the last.
    """

    __slots__ = ("made", "sides", "tests")

    def __init__(self, home: Scope, tests: Iterable[Value], sides: Iterable[Value]) -> None:
        self.tests, self.sides = tuple(tests), tuple(sides)
        writable = all(side.cell.writable for side in self.sides if side.cell is not None)
        super().__init__(home, self.sides[0].expr, writable)
        self.made: tuple[tuple[Expr, ...], Expr] | None = None

    def read(self, scope: Scope) -> Expr:
        """The node of the chosen array's elements."""
        nodes = (*map(node_of, self.sides), *map(node_of, self.tests))
        if self.made is None or self.made[0] != nodes:
            held = nodes[: len(self.sides)]
            self.made = nodes, folded(lambda test, *pair: one_of(scope, test, *pair), self.tests, held)
        return self.made[1]

    def write(self, scope: Scope, node: Expr) -> None:
        """Write the chosen array; the other ones keep what they hold."""
        value = Value(node, scope)
        for test, side in with_tests(self.tests, self.sides):  # which may overlap: each sees what was written before
            store(side, emit("where", broadcast_to(test, node.shape), value, side))

    def holds(self, of: Callable[[Value], Any]) -> Any:
        """What holds of the chosen array, given what holds of each: a bool where all agree, else a traced one."""
        scope = scope_now()
        return folded(lambda test, *pair: Either(scope, test)(*pair), self.tests, list(map(of, self.sides)))

    def moved(self, movement: Any) -> Value:
        """The choice between the moved arrays, each a view or a copy as its own layout has it."""
        return self.each(lambda side: apply_move(side, movement))

    def each(self, make: Callable[[Value], Value]) -> Value:
        """The choice between what is made of each array, which has to be possible for all or for none."""
        made: list[Value] = []
        errors: list[Exception] = []
        for side in self.sides:
            try:
                made.append(make(side))
            except (TypeError, ValueError) as error:
                errors.append(error)
        if errors and made:
            raise NotImplementedError(f"what only some of the arrays allow that this may be isn't traced: {errors[0]}")
        if errors:
            raise errors[0]
        return chosen(with_tests(self.tests, made))


def chosen(cases: Sequence[Case]) -> Value:
    """The array that is one of these, of which exactly one test is true."""
    tests, sides = zip(*cases, strict=True)
    return Value.alias(Choice(scope_now(), tests[:-1], sides), None) if len(sides) > 1 else sides[0]


def choice_of(either: Either, lefts: Sequence[Case], rights: Sequence[Case]) -> Value:
    """The array that is one of the left cases where a predicate is true, else one of the right ones."""
    cases = united(either, lefts, rights, same_alias)
    leaves = [_key(leaf) for _, left, right in cases for leaf in leaves_of(*(left or right))]
    if len(set(leaves)) < len(leaves):
        cases = united(either, opened(lefts), opened(rights), same_alias)
    return chosen([(test, (left or right)[0]) for test, left, right in cases])


def cases_of(array: Value) -> list[Case]:
    """The arrays that an array may be, each behind the test that it is this one."""
    choice = choice_at(array)
    return [(True, array)] if choice is None else with_tests(choice.tests, choice.sides)


def opened(cases: Sequence[Case], is_open: Callable[[Any], bool] = lambda choice: True) -> list[Case]:
    """The cases with what each choice among them may be in its place."""
    result: list[Case] = []
    for test, array in cases:
        choice = choice_at(array)
        if choice is not None and is_open(choice):
            inner = opened(cases_of(array), is_open)
            result += [(each if test is True else Either(scope_now(), test)(each, False), side) for each, side in inner]
        else:
            result.append((test, array))
    return result


def choice_at(array: Value) -> Choice | None:
    """The choice that an array is all of; `None` for one that is no choice."""
    return array.cell if type(array.cell) is Choice and array.layout is None else None


def leaves_of(array: Value) -> list[Value]:
    """The arrays, none of them a choice, that an array may be."""
    choice = choice_at(array)
    return [array] if choice is None else [leaf for side in choice.sides for leaf in leaves_of(side)]


def cells_of(array: Value) -> list[Cell]:
    """The memories that an array may be of."""
    return [memory for leaf in leaves_of(array) if leaf.cell is not None for memory in leaf.cell.memories]


def _key(leaf: Value) -> Any:
    return leaf.cell, leaf.dtype, leaf.whole_layout, tuple((id(by), stride) for by, stride in leaf.shifts)


def same_alias(a: Value, b: Value) -> bool:
    """Whether two traced arrays see the same elements of the same memory."""
    x, y = choice_at(a), choice_at(b)
    if x is y or x is None or y is None:
        return bool(_key(a) == _key(b))
    is_same = len(x.tests) == len(y.tests) and all(p is q for p, q in zip(x.tests, y.tests, strict=True))
    return is_same and all(map(same_alias, x.sides, y.sides))


def store(target: Value, value: Value) -> None:
    """Make an array hold a value of its dtype and shape."""
    assert target.cell is not None
    node = node_of(value)
    scope = scope_now()
    if target.layout is not None:
        shifts = tuple((node_of(by), stride) for by, stride in target.shifts)
        lengths = tuple((axis, node_of(length)) for axis, length in target.lengths)
        node = scope.emit("update", scope.read(target.cell), target.layout, shifts, lengths, node)
    scope.write(target.cell, node)
