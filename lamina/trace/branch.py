"""``if`` on a traced predicate: both branches are traced, and the variables and memories they leave are merged.

A variable that is a number in both is chosen at run time, as is the memory that one of them writes. A new array is
chosen by value where each branch made its own. Where the branches leave things that no one value stands for, the
predicate's outcome must be known: its number arguments are pinned, or the loop that decides it is unrolled.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.errors import TraceError
from lamina.expr import Expr, build, describe, with_effects
from lamina.trace.build import as_value, constant, emit, node_of, scope_now, to_dtype
from lamina.trace.choice import Choice, one_of
from lamina.trace.control import predicate_of
from lamina.trace.mixed import code_of, codes_of, dtype_for, is_mixed, with_code
from lamina.trace.names import RETURNED, RUNTIME
from lamina.trace.scope import Cell, Scope, next_serial, raised_at
from lamina.trace.state import (
    CannotMerge,
    Get,
    Poison,
    Put,
    Unbound,
    Untraceable,
    apart,
    demand,
    is_array,
    is_number,
    same_alias,
)
from lamina.trace.value import Kind, Value


class _Side(NamedTuple):
    """What a branch left: variables, what cells hold, effects, and whether it raised."""

    state: tuple[Any, ...]
    memories: dict[Cell, Expr]
    written: set[Cell]
    effects: list[Expr]
    has_raised: bool


def branch(
    test: Value,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    get: Get,
    put: Put,
    names: Sequence[str],
    *,
    has_rest: bool = True,
) -> None:
    """Trace both branches of a traced predicate and bind what they leave.

    Without a rest, nothing of the program runs any more after `orelse`: the function has returned.
    """
    scope, predicate, start = scope_now(), predicate_of(test, "the condition"), get()
    first = next_serial()
    try:
        sides = []
        for body in (then, orelse):
            put(start)
            sides.append(_run(scope, body, get))
        left, right = sides
        if left.has_raised and right.has_raised:
            raise CannotMerge("both branches raise")
        if left.has_raised:
            left = left._replace(state=right.state)
        if right.has_raised:
            right = right._replace(state=left.state)
        if not has_rest:
            right = right._replace(
                state=tuple(
                    b if name.startswith(RUNTIME) else a
                    for name, a, b in zip(names, left.state, right.state, strict=True)
                )
            )
        merged = _Merge(scope, predicate, first, left, right)
        state = tuple(merged.name(*each) for each in zip(names, left.state, right.state, strict=True))
    except CannotMerge as error:
        put(start)
        taken = demand(test, f"the branches of this if can't be one program: {error}")
        (then if taken else orelse)()
        return
    except BaseException:
        put(start)
        raise
    put(merged.finish(state))


def _run(scope: Scope, body: Callable[[], Any], get: Get) -> _Side:
    with apart(scope, is_branch=True) as (effects, layer):
        raised: Exception | None = None
        try:
            body()
        except (TraceError, NotImplementedError, CannotMerge):
            raise
        except RecursionError as error:  # a function that calls itself until the predicate ends it
            raise CannotMerge("a function calls itself in one of them") from error
        except Exception as error:
            raised = error
            if any(type(arg) is Value for arg in error.args):
                raise Untraceable("an exception whose message holds a traced value") from error
            line = raised_at(error)
            args = constant(False, dt.bool).expr, error.with_traceback(None), ""
            effects.append(build("check", *args, source=line))
            scope.root.risks += 1
        state = get()
        memories = {cell: scope.read(cell) for cell in {*layer, *_cells(state)}}
        return _Side(state, memories, set(layer), effects, raised is not None)


def _cells(thing: Any) -> set[Cell]:
    if type(thing) is Value:
        return {thing.cell} if thing.cell is not None else set()
    return {cell for each in thing for cell in _cells(each)} if isinstance(thing, tuple) else set()


class _Merge:
    """The results of the ``cond`` that two branches become: a list of pairs of nodes, and who reads them."""

    def __init__(self, scope: Scope, predicate: Value, first: int, left: _Side, right: _Side) -> None:
        self.scope, self.predicate, self.first, self.left, self.right = scope, predicate, first, left, right
        for side in (left, right):
            for cell, memory in side.memories.items():
                if self._is_new(cell):
                    scope.layers[-1][cell] = memory  # what a branch made lives on where it is seen
        self.pairs: list[tuple[Expr, Expr]] = []
        self.cells: dict[tuple[Cell, Cell], int] = {}

    def name(self, name: str, a: Any, b: Any) -> Any:
        """What a variable is after the branches: a thing, or a function of the cond's results that makes it."""
        if a is b:
            return a
        if isinstance(a, Unbound) or isinstance(b, Unbound):
            if isinstance(a, Unbound) and isinstance(b, Unbound):
                return a
            if name.startswith(RUNTIME):
                for each in (a, b):
                    if isinstance(each, Poison):  # a variable that is returned, not one that a flag guards
                        each.fail()
                return b if isinstance(a, Unbound) else a  # a flag guards its use
            return Poison(name)
        if name == RETURNED and a is True and self._is_negated(b):
            return True  # if not returned: … return
        if is_number(a) and is_number(b):
            return self._number(a, b)
        if is_array(a) and is_array(b):
            return self._array(name, a, b)
        if isinstance(a, tuple) and type(a) is type(b) and len(a) == len(b):
            parts = [self.name(name, x, y) for x, y in zip(a, b, strict=True)]
            make = getattr(a, "_make", tuple)
            return _Later(lambda results: make(_now(part, results) for part in parts))
        if type(a) is type(b) and isinstance(a, (str, bytes)) and a == b:
            return a
        raise CannotMerge(f"{_shown(name)} is {_what(a)} in one and {_what(b)} in the other")

    def _is_negated(self, flag: Any) -> bool:
        """Whether the predicate is that a flag isn't set."""
        node = node_of(self.predicate)
        return type(flag) is Value and node.op == "logical_not" and node.args[0] is node_of(flag)

    def _number(self, a: Any, b: Any) -> Any:
        if type(a) is type(b) and not isinstance(a, Value) and repr(a) == repr(b):
            return a
        x, y, scope = as_value(a), as_value(b), self.scope
        if not is_mixed(x, y):
            i = self._pair(node_of(x), node_of(y))
            return _Later(lambda results: Value(results[i], scope, x.kind))
        codes = codes_of(x) | codes_of(y)
        dtype = dtype_for(codes)
        i = self._pair(node_of(to_dtype(x, dtype)), node_of(to_dtype(y, dtype)))
        j = self._pair(node_of(code_of(x)), node_of(code_of(y)))
        return _Later(
            lambda results: with_code(
                Value(results[i], scope, Kind.SCALAR), Value(results[j], scope, Kind.NUMBER), codes
            )
        )

    def _array(self, name: str, a: Value, b: Value) -> Any:
        if same_alias(a, b):
            return a
        if a.dtype != b.dtype or a.shape != b.shape:
            raise CannotMerge(f"{_shown(name)} is {_what(a)} in one and {_what(b)} in the other")
        for chosen, other, when in ((a, b, True), (b, a, False)):
            narrowed = self._narrowed(chosen, other, when)
            if narrowed is not None:
                return narrowed
        assert a.cell is not None and b.cell is not None
        key = a.cell, b.cell
        both_new = (
            self._is_new(a.cell) and self._is_new(b.cell) and a.layout == b.layout and not a.shifts and not b.shifts
        )
        if not both_new or (key not in self.cells and any(key[0] is x or key[1] is y for x, y in self.cells)):
            cell = Choice(self.scope, self.predicate, a, b)
            return Value.alias(cell, None)
        if key not in self.cells:
            self.cells[key] = self._pair(self.left.memories[a.cell], self.right.memories[b.cell])
        layout = a.layout
        return _Later(lambda results: Value.alias(results[self.cells[key]], layout))

    def _narrowed(self, chosen: Value, other: Value, when: bool) -> Value | None:
        """What is `chosen` `when` the predicate is so and else `other`, where `chosen` may itself be `other`.

        One choice then says when it is the third: choices in each turn of an unrolled loop would else grow without end.
        """
        if type(chosen.cell) is not Choice or chosen.layout is not None:
            return None
        inner, (then, otherwise) = chosen.cell.predicate, chosen.cell.sides
        if same_alias(otherwise, other):
            third = then
        elif same_alias(then, other):
            inner, third = emit("logical_not", inner), otherwise
        else:
            return None
        never = constant(False, dt.bool)
        outcomes = (inner, never) if when else (never, inner)
        node = one_of(self.scope, self.predicate, *map(node_of, outcomes))
        return Value.alias(Choice(self.scope, Value(node, self.scope, Kind.NUMBER), third, other), None)

    def _is_new(self, cell: Cell | None) -> bool:
        """Whether the memory was made in one of the branches; an array from outside was not, wherever it is met."""
        is_outside = type(cell) is Cell and cell.array is not None
        return type(cell) is Cell and cell.home is self.scope and cell.serial >= self.first and not is_outside

    def _pair(self, a: Expr, b: Expr) -> int:
        self.pairs.append((a, b))
        return len(self.pairs) - 1

    def finish(self, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Emit the cond, write the memories it chooses, and give the variables."""
        scope = self.scope
        written = [cell for cell in self.left.written | self.right.written if not self._is_new(cell)]
        places = {}
        for cell in sorted(written, key=lambda cell: cell.serial):
            now = scope.read(cell)
            places[cell] = self._pair(self.left.memories.get(cell, now), self.right.memories.get(cell, now))
        effects = self.left.effects or self.right.effects
        results: list[Any] = []
        if self.pairs or effects:
            sides = [
                with_effects(side.effects, tuple(pair[k] for pair in self.pairs))
                for k, side in enumerate((self.left, self.right))
            ]
            node = scope.emit("cond", ((node_of(self.predicate), sides[0]),), sides[1])
            if effects:
                scope.perform(node)
            results = [scope.emit("elem", node, i) for i in range(len(self.pairs))]
        for cell, i in places.items():
            scope.write(cell, results[i])
        for i in self.cells.values():
            results[i] = scope.new_cell(results[i])
        return tuple(_now(each, results) for each in state)


class _Later:
    """A variable that the cond's results make."""

    def __init__(self, make: Callable[[list[Any]], Any]) -> None:
        self.make = make


def _now(thing: Any, results: list[Any]) -> Any:
    return thing.make(results) if isinstance(thing, _Later) else thing


def _shown(name: str) -> str:
    return "the result" if name.startswith(RUNTIME) else name


def _what(thing: Any) -> str:
    return describe(thing.dtype, thing.shape) if type(thing) is Value else repr(thing)
