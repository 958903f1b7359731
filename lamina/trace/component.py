"""The real or the imaginary parts of a complex array, as a view of it: ``z.real[0] = 1`` writes ``z``."""

from typing import Any

from lamina.expr import Expr
from lamina.trace.build import apply_move, emit, node_of, scope_now
from lamina.trace.choice import cells_of, store
from lamina.trace.scope import Cell, Scope
from lamina.trace.value import Value

_NAMES = ("real", "imag")


class Component(Cell):
    """A cell that holds one of the two parts of each element of a complex array."""

    __slots__ = ("made", "name", "whole")

    def __init__(self, home: Scope, name: str, whole: Value) -> None:
        assert whole.cell is not None
        self.name, self.whole = name, whole
        self.made: tuple[Expr, Expr] | None = None
        super().__init__(home, self.read(home), whole.cell.writable and not whole.is_frozen)

    @property
    def memories(self) -> list[Cell]:
        """The memories of the complex array."""
        return cells_of(self.whole)

    def read(self, scope: Scope) -> Expr:
        """The node of the parts."""
        whole = node_of(self.whole)
        if self.made is None or self.made[0] is not whole:
            self.made = whole, scope.emit(self.name, whole)
        return self.made[1]

    def moved(self, movement: Any) -> Value:
        """The parts of the moved array, which is a view or a copy as its layout has it."""
        whole = apply_move(self.whole, movement)
        if set(cells_of(whole)) <= set(self.memories):
            return Value.alias(Component(scope_now(), self.name, whole), None)
        return emit(self.name, whole)

    def write(self, scope: Scope, node: Expr) -> None:
        """Write these parts; the other ones stay."""
        parts = [Value(node, scope) if name == self.name else emit(name, self.whole) for name in _NAMES]
        store(self.whole, emit("complex", *parts))
