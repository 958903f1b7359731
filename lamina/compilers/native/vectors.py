"""Vectors: one number in every lane, some lanes of others, all of them, halves, and which lanes are in use."""

from collections.abc import Sequence

from lamina.compilers.native import ir
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BIT, INDEX, splat_constant


def splat(b: ir.IRBuilder, value: Value, lanes: int) -> Value:
    """A number in every lane; a vector as it is."""
    if lanes == 1 or isinstance(value.type, ir.VectorType):
        return value
    if isinstance(value, ir.Constant):
        return splat_constant(value.type, lanes, value.constant)
    kind = ir.VectorType(value.type, lanes)
    return picked(b, b.insert_element(ir.Constant(kind, ir.UNDEFINED), value, ir.IntType(32)(0)), [0] * lanes)


def picked(b: ir.IRBuilder, value: Value, places: Sequence[int], other: Value = None) -> Value:
    """Some lanes of a vector, or of two."""
    other = ir.Constant(value.type, ir.UNDEFINED) if other is None else other
    kind = ir.VectorType(ir.IntType(32), len(places))
    return b.shuffle_vector(value, other, ir.Constant(kind, list(places)))


def joined(b: ir.IRBuilder, parts: Sequence[Value]) -> Value:
    """Vectors of as many lanes as one, the lanes of each behind those of the one before."""
    while len(parts) > 1:
        filled = [*parts, ir.Constant(parts[0].type, ir.UNDEFINED)][: len(parts) + len(parts) % 2]
        both = range(2 * parts[0].type.count)
        parts = [picked(b, x, both, y) for x, y in zip(filled[::2], filled[1::2], strict=True)]
    return parts[0]


def halves(b: ir.IRBuilder, value: Value, lanes: int) -> tuple[Value, Value]:
    """The lower and the upper half of the lanes."""
    if lanes == 2:
        return b.extract_element(value, INDEX(0)), b.extract_element(value, INDEX(1))
    half = lanes // 2
    return picked(b, value, range(half)), picked(b, value, range(half, lanes))


def first_lanes(used: int, lanes: int) -> ir.Constant:
    """Which lanes are in use: so many of the first."""
    return ir.Constant(ir.VectorType(BIT, lanes), [int(lane < used) for lane in range(lanes)])


def transposed(b: ir.IRBuilder, rows: Sequence[Value]) -> list[Value]:
    """The columns of a square of as many rows as they have lanes: pairs of rows exchange halves, quarters and so on."""
    rows, lanes, distance = list(rows), len(rows), 1
    while distance < lanes:
        for row in range(lanes):
            if not row & distance:
                upper, lower = rows[row], rows[row + distance]
                first = [lanes + each - distance if each & distance else each for each in range(lanes)]
                rows[row] = picked(b, upper, first, lower)
                second = [lanes + each if each & distance else each + distance for each in range(lanes)]
                rows[row + distance] = picked(b, upper, second, lower)
        distance *= 2
    return rows
