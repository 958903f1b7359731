"""What a reduction has so far, in each lane.

Long sums of floats carry their rounding errors along, so they are at least as exact as pairwise sums.
"""

from collections.abc import Sequence

from lamina import dtype as dt
from lamina.compilers.native import ir, narrow, scalar
from lamina.compilers.native.scalar import Emit, Value
from lamina.compilers.native.types import NARROW, in_register, splat_constant
from lamina.compilers.native.vectors import halves, splat
from lamina.dtype import DType
from lamina.program.record import COMBINE

CHUNK = 128  # additions to an accumulator before it goes to the total
_NOWHERE = dt.int64.max  # a place that is after all others


class Accumulator:
    """A variable for each part of a reduction; a compensated sum has a total and its error too.

    It takes `steps` elements in each lane. Where they are many, `flush` is to be called each CHUNK of them. With a
    `first` place, elements come in the order of their places, from that on: an equal one that comes later isn't taken.
    """

    def __init__(
        self, builder: ir.IRBuilder, op: str, dtypes: Sequence[DType], lanes: int, steps: int, first: Value = None
    ) -> None:
        self.b = builder
        self.op = op
        self.dtypes = dtypes
        self.lanes = lanes
        self.first = first
        self.is_long = op == "sum" and dtypes[0].kind == "float" and steps > 2 * CHUNK
        starts = self._identities()
        if self.is_long:
            starts += [starts[0], splat_constant(in_register(dtypes[0]), lanes, 0.0)]
        self.kinds = [start.type for start in starts]
        with builder.goto_entry_block():
            self.slots = list(map(builder.alloca, self.kinds))
        for slot, start in zip(self.slots, starts, strict=True):
            builder.store(start, slot)

    def _identities(self) -> list[ir.Constant]:
        """What the parts start from."""
        first = scalar.identity(self.op, self.dtypes[0])
        numbers = [first, _NOWHERE][: len(self.dtypes)]
        pairs = zip(self.dtypes, numbers, strict=True)
        return [splat_constant(in_register(dtype), self.lanes, number) for dtype, number in pairs]

    def _combined(self, lanes: int, x: Sequence[Value], y: Sequence[Value], is_later: bool = False) -> list[Value]:
        emit = Emit(self.b, self.dtypes[0], lanes)
        if len(self.dtypes) == 2:
            return scalar.first_extreme(emit, self.op, x, y, is_later)
        return [scalar.ROWS[COMBINE[self.op]](emit, *x, *y)]

    def _held(self) -> list[Value]:
        return list(map(self.b.load, self.slots, self.kinds))

    def add(self, values: Sequence[Value], mask: Value) -> None:
        """Take one more element in each lane, or in those of a mask, where there is one."""
        if mask is not None:
            pairs = zip(values, self._identities(), strict=True)
            values = [self.b.select(mask, value, start) for value, start in pairs]
        new = self._combined(self.lanes, self._held()[: len(values)], values, self.first is not None)
        for value, slot in zip(new, self.slots, strict=False):
            self.b.store(value, slot)

    def flush(self) -> None:
        """Add a partial sum to the total, and what that rounds away to the error: Knuth's exact sum of two."""
        b = self.b
        partial, total, error = self._held()
        new = b.fadd(total, partial)
        back = b.fsub(new, total)
        lost = b.fadd(b.fsub(total, b.fsub(new, back)), b.fsub(partial, back))
        for value, slot in zip((self._identities()[0], new, b.fadd(error, lost)), self.slots, strict=True):
            b.store(value, slot)

    def result(self, is_row: bool) -> Value:
        """What it comes to, in each lane; `is_row`: of all lanes, which are combined in pairs."""
        b, lanes, values = self.b, self.lanes, self._held()
        if self.is_long:
            _, total, error = values
            # an infinite sum has a NaN for its error, and one without an error keeps the sign of its zero
            zero = splat_constant(in_register(self.dtypes[0]), lanes, 0.0)
            values = [b.select(b.fcmp_ordered("!=", error, zero), b.fadd(total, error), total)]
        while lanes > 1 and is_row:
            pairs = [halves(b, value, lanes) for value in values]
            lanes //= 2
            values = self._combined(lanes, [low for low, _ in pairs], [high for _, high in pairs])
        if self.first is not None:  # where all are what the accumulator started from, none was taken
            start = splat_constant(in_register(self.dtypes[1]), lanes, _NOWHERE)
            values[1] = b.select(b.icmp_signed("==", values[1], start), splat(b, self.first, lanes), values[1])
        dtype = self.dtypes[-1]
        return narrow.rounded(b, values[-1], dtype) if dtype in NARROW else values[-1]


class PairAccumulator:
    """The sum of complex numbers: one of each part."""

    def __init__(self, builder: ir.IRBuilder, dtype: DType, lanes: int, steps: int) -> None:
        self.lanes = lanes
        self.parts = [Accumulator(builder, "sum", [dtype.real], lanes, steps) for _ in range(2)]
        self.is_long = self.parts[0].is_long

    def add(self, values: Sequence[Value], mask: Value) -> None:
        """Take one more number in each lane, or in those of a mask, where there is one."""
        for part, value in zip(self.parts, values[0], strict=True):
            part.add([value], mask)

    def flush(self) -> None:
        """Add the partial sums to the totals."""
        for part in self.parts:
            part.flush()

    def result(self, is_row: bool) -> Value:
        """What it comes to, in each lane; `is_row`: of all lanes."""
        return tuple(part.result(is_row) for part in self.parts)
