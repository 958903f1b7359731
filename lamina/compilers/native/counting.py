"""Loops that count, in the functions beside the kernels."""

from collections.abc import Callable, Sequence

from lamina.compilers.native import ir
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import INDEX


def repeat(b: ir.IRBuilder, count: int | Value, body: Callable[[Value], None], start: int | Value = 0) -> None:
    """``for index in range(start, count)``."""
    if isinstance(count, int) and isinstance(start, int) and count <= start:
        return
    start, count = (INDEX(each) if isinstance(each, int) else each for each in (start, count))
    before, head, turn, after = b.block, *(b.append_basic_block() for _ in range(3))
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(INDEX)
    index.add_incoming(start, before)
    b.cbranch(b.icmp_signed("<", index, count), turn, after)
    b.position_at_end(turn)
    body(index)
    index.add_incoming(b.add(index, INDEX(1)), b.block)
    b.branch(head)
    b.position_at_end(after)


def repeat_over(b: ir.IRBuilder, extents: Sequence[int], body: Callable[[list[Value]], None]) -> None:
    """Every index of these extents, in C order."""

    def level(indices: list[Value]) -> None:
        if len(indices) == len(extents):
            body(indices)
        else:
            repeat(b, extents[len(indices)], lambda index: level([*indices, index]))

    level([])
