"""Choices: an array that is one of two, decided at run time (``c = a if p else b``), and no copy of either.

What it holds is what the chosen one holds; a write reaches the chosen one, and whoever sees its memory.
"""

from collections.abc import Callable
from typing import Any

from lamina.expr import Expr
from lamina.trace.build import apply_move, broadcast_to, emit, node_of, scope_now
from lamina.trace.scope import Cell, Scope
from lamina.trace.value import Value


def one_of(scope: Scope, predicate: Value, then: Expr, otherwise: Expr) -> Expr:
    """The node that is `then` where the predicate is true, else `otherwise`."""
    return scope.emit("cond", ((node_of(predicate), then),), otherwise)


class Choice(Cell):
    """A cell that is the memory of one of two arrays of one dtype and shape."""

    __slots__ = ("made", "predicate", "sides")

    def __init__(self, home: Scope, predicate: Value, then: Value, otherwise: Value) -> None:
        cells = [side.cell for side in (then, otherwise) if side.cell is not None]
        super().__init__(home, then.expr, all(cell.writable for cell in cells))
        self.predicate = predicate
        self.sides = then, otherwise
        self.made: tuple[Expr, Expr, Expr] | None = None

    def read(self, scope: Scope) -> Expr:
        """The node of the chosen array's elements."""
        nodes = node_of(self.sides[0]), node_of(self.sides[1])
        if self.made is None or self.made[:2] != nodes:
            self.made = (*nodes, one_of(scope, self.predicate, *nodes))
        return self.made[2]

    def write(self, scope: Scope, node: Expr) -> None:
        """Write the chosen array; the other one keeps what it holds."""
        chosen = broadcast_to(self.predicate, node.shape)
        value = Value(node, scope)
        for side, (x, y) in zip(self.sides, ((value, self.sides[0]), (self.sides[1], value)), strict=True):
            store(side, emit("where", chosen, x, y))

    def moved(self, movement: Any) -> Value:
        """The choice between the moved arrays, each a view or a copy as its own layout has it."""
        return self.each(lambda side: apply_move(side, movement))

    def each(self, make: Callable[[Value], Value]) -> Value:
        """The choice between what is made of each array."""
        then, otherwise = map(make, self.sides)
        return Value.alias(Choice(scope_now(), self.predicate, then, otherwise), None)


def store(target: Value, value: Value) -> None:
    """Make an array hold a value of its dtype and shape."""
    assert target.cell is not None
    node = node_of(value)
    scope = scope_now()
    if target.layout is not None:
        shifts = tuple((node_of(by), stride) for by, stride in target.shifts)
        node = scope.emit("update", scope.read(target.cell), target.layout, shifts, node)
    scope.write(target.cell, node)
