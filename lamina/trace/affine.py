"""Integers that a run alone knows, and what is known of them all the same: affine forms, their bounds, and proofs.

The bounds of a slice are sums of loop indices, arguments and constants. `form` reads a node as such a sum; a `Fact`
says between which forms an index or a length lies; `is_at_least` proves an inequality by putting an index's bound in
its place, the innermost index first. What can't be proved isn't false: it is computed when the program runs.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.expr import OPS, Expr
from lamina.trace.build import constant, emit, scope_now, to_dtype, with_kind
from lamina.trace.scope import Scope
from lamina.trace.value import Kind, Value

Integer = Value | int
"""An integer: known, or traced as int64."""


class Form(NamedTuple):
    """A sum of multiples of nodes, and a constant."""

    terms: Mapping[Expr, int]
    constant: int


class Fact(NamedTuple):
    """What is known of a node: forms that it is at least, and forms that it is at most, all of nodes made before it."""

    low: tuple[Form, ...]
    high: tuple[Form, ...]
    serial: int


def note(value: Integer, low: tuple[Integer, ...] = (), high: tuple[Integer, ...] = ()) -> Integer:
    """The value, of which it is known from now on that it is at least and at most these."""
    if type(value) is Value:
        _note(value, tuple(map(form, low)), tuple(map(form, high)))
    return value


def note_turn(index: Value, count: Value) -> None:
    """Know of the number of a loop's turn that it is one of so many, counted from 0."""
    _note(index, (Form({}, 0),), (_sum(form(count), Form({}, 1), -1),))


def _note(value: Value, low: tuple[Form, ...], high: tuple[Form, ...]) -> None:
    known_as = form(value)
    if len(known_as.terms) == 1 and known_as == Form(dict.fromkeys(known_as.terms, 1), 0):
        facts, (node,) = scope_now().root.facts, known_as.terms
        known = facts.get(node, Fact((), (), len(facts)))
        facts[node] = Fact((*known.low, *low), (*known.high, *high), known.serial)


# Forms


def form(thing: Integer) -> Form:
    """What an integer is a sum of."""
    if type(thing) is Value:
        return _form(thing.expr, thing.scope if thing.cell is None else scope_now())
    return Form({}, int(thing))


_MOST = 16  # terms: what is a longer sum is known as itself


def _form(node: Expr, scope: Scope) -> Form:
    known: Form | None = scope.forms.get(node)
    if known is None:
        known = scope.forms[node] = _read(node, scope)
    return known


def _read(node: Expr, scope: Scope) -> Form:
    outer = scope.outer(node)
    if outer is not None and scope.parent is not None:  # what it captures is what it is outside
        return _form(outer, scope.parent)
    if node.op == "constant" and node.dtype.kind in ("signed", "unsigned"):
        return Form({}, node.args[0])
    source = node.args[0].dtype if node.op == "cast" else None
    if source is not None and node.dtype == dt.int64 and source.kind in ("signed", "unsigned") and source != dt.uint64:
        return _form(node.args[0], scope)
    if node.dtype == dt.int64 and node.op in ("add", "subtract"):
        found = _sum(_form(node.args[0], scope), _form(node.args[1], scope), 1 if node.op == "add" else -1)
        if len(found.terms) <= _MOST:
            return found
    if node.dtype == dt.int64 and node.op == "negative":
        return _sum(Form({}, 0), _form(node.args[0], scope), -1)
    if node.dtype == dt.int64 and node.op == "multiply":
        x, y = _form(node.args[0], scope), _form(node.args[1], scope)
        for factor, other in ((x, y), (y, x)):
            if not factor.terms:
                return _sum(Form({}, 0), other, factor.constant)
    return Form({_representative(node, scope): 1}, 0)


def _sum(x: Form, y: Form, factor: int) -> Form:
    terms = dict(x.terms)
    for node, count in y.terms.items():
        terms[node] = terms.get(node, 0) + factor * count
    return Form({node: count for node, count in terms.items() if count}, x.constant + factor * y.constant)


_DEPTH = 50  # of nodes that are looked into for equal ones
_PURE = {*OPS, "constant", "elem", "move", "view"}


def _representative(node: Expr, scope: Scope, depth: int = _DEPTH) -> Expr:
    """One node for all that compute the same: ``p[i + 1]`` is the same twice, as long as p isn't written between."""
    outer = scope.outer(node)
    if outer is not None and scope.parent is not None:
        return _representative(outer, scope.parent, depth)
    if node.op not in _PURE or depth == 0:
        return node
    known = scope.root.representatives
    if node not in known:
        key = node.op, node.dtype, node.shape, _parts(node.args, scope, depth - 1)
        known[node] = known.setdefault(key, node)
    return known[node]


def _parts(thing: Any, scope: Scope, depth: int) -> Any:
    """An arg as one that is equal to another where they mean the same."""
    if type(thing) is tuple:
        return tuple(_parts(each, scope, depth) for each in thing)
    if type(thing) is Expr:
        return _representative(thing, scope, depth)
    return (type(thing), repr(thing)) if isinstance(thing, (float, complex)) else (type(thing), thing)


# Proofs


def is_at_least(x: Integer, y: Integer) -> bool:
    """Whether x is proved to be y or more."""
    least = _least(_sum(form(x), form(y), -1))
    return least is not None and least >= 0


def is_same(x: Integer, y: Integer) -> bool:
    """Whether x and y are proved to be equal."""
    return x is y or _sum(form(x), form(y), -1) == Form({}, 0)


def greatest(x: Integer) -> int | None:
    """A number that x is proved not to be above."""
    least = _least(_sum(Form({}, 0), form(x), -1))
    return None if least is None else -least


_STEPS = 8


def _least(x: Form, steps: int = _STEPS) -> int | None:
    """A number that a form is proved not to be below."""
    if not x.terms:
        return x.constant
    facts = scope_now().root.facts
    found = {node: facts.get(node) or _of_itself(node) for node in x.terms}
    known: dict[Expr, Fact] = {node: fact for node, fact in found.items() if fact is not None}
    if len(known) < len(found) or steps == 0:
        return None
    innermost, fact = max(known.items(), key=lambda each: each[1].serial)
    count = x.terms[innermost]
    rest = Form({node: n for node, n in x.terms.items() if node is not innermost}, x.constant)
    bounds = (_least(_sum(rest, bound, count), steps - 1) for bound in (fact.low if count > 0 else fact.high))
    return max((each for each in bounds if each is not None), default=None)


def _of_itself(node: Expr) -> Fact | None:
    """What is known of a node by its op: a place in an array, or a number of elements."""
    high = None
    if node.op in ("argmax", "argmin"):
        high = node.args[0].shape[node.args[1]] - 1
    elif node.op == "searchsorted":
        high = node.args[0].shape[0]
    elif node.op == "sum" and node.args[0].op == "cast" and node.args[0].args[0].dtype == dt.bool:
        high = math.prod(node.args[0].shape[axis] for axis in node.args[1])
    elif node.op == "remainder" and node.args[1].op == "constant" and node.args[1].args[0] > 0:
        high = node.args[1].args[0] - 1
    return None if high is None else Fact((Form({}, 0),), (Form({}, high),), -1)


# Arithmetic


def integer(thing: Any) -> Integer:
    """A number, scalar or traced integer as one."""
    if type(thing) is not Value:
        return int(thing)
    if thing.expr.op == "constant":
        return int(thing.expr.args[0])
    scalar = with_kind(thing, Kind.SCALAR)
    if scalar.dtype == dt.uint64:  # what int64 doesn't hold is beyond every axis
        scalar = emit("minimum", scalar, constant(2**62, dt.uint64), kind=Kind.SCALAR)
    return to_dtype(scalar, dt.int64)


def value_of(x: Integer) -> Value:
    """An integer as a value, a number."""
    return with_kind(x, Kind.NUMBER) if type(x) is Value else constant(x, dt.int64)


def _made(op: str, *operands: Integer) -> Value:
    return emit(op, *map(value_of, operands), kind=Kind.NUMBER)


def _known(x: Form, make: Any) -> Integer:
    return make() if x.terms else x.constant


def plus(x: Integer, y: Integer) -> Integer:
    """The sum of two integers that are near to what an axis has."""
    if type(x) is not Value and type(y) is not Value:
        return int(x) + int(y)
    for a, b in ((x, y), (y, x)):
        if type(b) is int and b == 0:
            return a
    return _known(_sum(form(x), form(y), 1), lambda: _made("add", x, y))


def minus(x: Integer, y: Integer) -> Integer:
    """The difference of two integers."""
    if type(y) is int:
        return plus(x, -y)
    return _known(_sum(form(x), form(y), -1), lambda: _made("subtract", x, y))


def times(x: Integer, factor: int) -> Integer:
    """An integer times a known factor."""
    if type(x) is not Value:
        return int(x) * factor
    return x if factor == 1 else _made("multiply", x, factor)


def lesser(x: Integer, y: Integer) -> Integer:
    """The lesser of two integers."""
    for a, b in ((x, y), (y, x)):
        if is_at_least(b, a):
            return a
    return note(_made("minimum", x, y), _shared_low(x, y), (x, y))


def greater(x: Integer, y: Integer) -> Integer:
    """The greater of two integers."""
    for a, b in ((x, y), (y, x)):
        if is_at_least(a, b):
            return a
    return note(_made("maximum", x, y), (x, y), _shared_high(x, y))


def _shared_low(x: Integer, y: Integer) -> tuple[Integer, ...]:
    return (0,) if is_at_least(x, 0) and is_at_least(y, 0) else ()


def _shared_high(x: Integer, y: Integer) -> tuple[Integer, ...]:
    highs = greatest(x), greatest(y)
    return () if None in highs else (max(high for high in highs if high is not None),)


def rounded_up(x: Integer, by: int) -> Integer:
    """The quotient of x, which is 0 or more, by a positive number, rounded up."""
    if by == 1:
        return x
    if type(x) is not Value:
        return -(-int(x) // by)
    high = greatest(x)
    quotient = _made("floor_divide", plus(x, by - 1), by)
    return note(quotient, (0,), () if high is None else (-(-high // by),))


def from_end(x: Integer, extent: Integer) -> Integer:
    """An index as Python has it: a negative one counts from the end."""
    if is_at_least(x, 0):
        return x
    if is_at_least(-1, x):
        return plus(x, extent)
    assert type(x) is Value
    return emit("where", _made("less", x, 0), value_of(plus(x, extent)), value_of(x), kind=Kind.NUMBER)
