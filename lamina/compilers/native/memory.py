"""Elements of memory, for the place in a nest of loops: one of them, a vector in a row, or one for each lane."""

from collections.abc import Mapping, Sequence

from lamina.compilers.native import ir
from lamina.compilers.native.axes import Axis
from lamina.compilers.native.scalar import Value, call_intrinsic
from lamina.compilers.native.types import BIT, INDEX, in_memory, splat_constant
from lamina.compilers.native.vectors import first_lanes, joined, picked, transposed
from lamina.dtype import DType
from lamina.layout import Layout

AHEAD = 2  # vectors: so early a line of memory is asked for


class Access:
    """Reads and writes at the place where the loops are."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        pointers: dict[int, Value],
        tags: Mapping[int, str],
        axes: Sequence[Axis],
        lane_axis: int,
    ) -> None:
        self.b = builder
        self.pointers = pointers
        self.tags = tags  # of elements that are read and written one by one: which memory it is
        self.axes = axes
        self.lane_axis = lane_axis
        self.indices: list[Value] = []  # of the loops that are open
        self.rest = 0  # how many lanes are in use; 0 for all
        self.mask: Value = None  # which they are, where a run tells

    @property
    def is_whole(self) -> bool:
        """Whether all lanes are in use."""
        return not self.rest and self.mask is None

    def lane_stride(self, layout: Layout) -> int:
        """How far each lane is behind the one before."""
        return self.axes[self.lane_axis].strides[layout] if self.axes else 0

    def start(self, layout: Layout) -> Value:
        """The position of the first lane."""
        position: Value = INDEX(layout.offset)
        for axis, index in zip(self.axes, self.indices, strict=False):
            stride = axis.strides[layout]
            if stride:
                position = self.b.add(position, self.b.mul(index, INDEX(stride)))
        return position

    def read(self, buffer: int, dtype: DType, position: Value) -> Value:
        """One element."""
        address = self.address(buffer, dtype, position)
        tag = self.tags.get(buffer, "")
        return self.b.load(address, typ=in_memory(dtype), align=dtype.numpy.alignment, tag=tag)

    def read_vector(self, buffer: int, dtype: DType, start: Value, lanes: int, mask: Value) -> Value:
        """A vector of elements in a row, for the lanes in use; those of a mask, if there is one."""
        return self.read_row(buffer, dtype, start, lanes, self.used(mask, lanes))

    def read_row(self, buffer: int, dtype: DType, start: Value, lanes: int, mask: Value) -> Value:
        """A vector of elements in a row, whatever lanes are in use; those of a mask, if there is one."""
        address, kind = self.address(buffer, dtype, start), ir.VectorType(in_memory(dtype), lanes)
        align = dtype.numpy.alignment
        if mask is None:
            return self.b.load(address, typ=kind, align=align)
        args = (address, ir.IntType(32)(align), mask, kind(0))
        return call_intrinsic(self.b, "masked.load", args, kind, (kind, address.type))

    def read_block(
        self, buffer: int, dtype: DType, layout: Layout, lanes: int, count: int, is_ahead: bool
    ) -> list[Value]:
        """So many columns of a square of which each lane has a row; what comes next is asked for ahead, if wanted."""
        b, start, stride = self.b, self.start(layout), self.lane_stride(layout)
        used = None if count == lanes else first_lanes(count, lanes)
        rows = []
        for lane in range(lanes):
            further: Value = INDEX(lane * stride)
            if self.mask is not None:  # there may be fewer rows
                further = b.select(b.extract_element(self.mask, INDEX(lane)), further, INDEX(0))
            row = b.add(start, further)
            rows.append(self.read_row(buffer, dtype, row, lanes, used))
            if is_ahead:  # no processor foresees what crosses memory
                self.prefetch(buffer, dtype, b.add(row, INDEX(AHEAD * lanes * stride + lanes - 1)))
        return transposed(b, rows)

    def read_apart(
        self, buffer: int, dtype: DType, start: Value, lanes: int, stride: int, beside: tuple[int, int]
    ) -> Value:
        """Elements by a small stride apart: vectors from the first to the last of them, and then what is wanted.

        So many elements before the first and behind the last are read too: others want them, and read the same vectors.
        """
        b, step = self.b, abs(stride)
        before, after = beside
        last = (lanes - 1) * step
        first = b.sub(start, INDEX(before if stride > 0 else before + last))
        count = before + last + 1 + after
        offsets = [*range(0, count - lanes, lanes), count - lanes]
        whole = joined(b, [self.read_vector(buffer, dtype, b.add(first, INDEX(each)), lanes, None) for each in offsets])
        places = [before + lane * step for lane in range(lanes)][:: 1 if stride > 0 else -1]
        # the last vector begins before the end of the one before it
        parts = [min(place // lanes, len(offsets) - 1) for place in places]
        order = [part * lanes + place - offsets[part] for part, place in zip(parts, places, strict=True)]
        return picked(b, whole, order)

    def gathered(self, buffer: int, dtype: DType, places: Value, mask: Value) -> Value:
        """The elements at these places, in a vector; where a mask is given, those of it, and zeros."""
        lanes = places.type.count
        addresses, kind = self.address(buffer, dtype, places), ir.VectorType(in_memory(dtype), lanes)
        mask = self.used(mask, lanes)
        mask = splat_constant(BIT, lanes, 1) if mask is None else mask
        args = (addresses, ir.IntType(32)(dtype.numpy.alignment), mask, kind(0))
        return call_intrinsic(self.b, "masked.gather", args, kind, (kind, addresses.type))

    def collected(self, buffer: int, dtype: DType, places: Sequence[Value], lanes: int) -> Value:
        """The elements at these places, read one by one, a lane each; zeros where there are more lanes."""
        if lanes == 1:
            return self.read(buffer, dtype, places[0])
        value: Value = ir.VectorType(in_memory(dtype), lanes)(0)
        for lane, place in enumerate(places):
            value = self.b.insert_element(value, self.read(buffer, dtype, place), INDEX(lane))
        return value

    def write(self, buffer: int, dtype: DType, value: Value, start: Value, stride: int, mask: Value) -> None:
        """Elements that are in memory each by a stride behind the one before; those of a mask, if there is one."""
        b, align = self.b, dtype.numpy.alignment

        def write(value: Value, position: Value, condition: Value) -> None:
            address = self.address(buffer, dtype, position)
            if condition is None:
                b.store(value, address, align, self.tags.get(buffer, ""))
            else:
                with b.if_then(condition):
                    b.store(value, address, align, self.tags.get(buffer, ""))

        if not isinstance(value.type, ir.VectorType):
            write(value, start, mask)
        elif stride != 1 or self.rest == 1:
            # LLVM 22 makes a store as wide as before a cast of a masked one of one lane
            mask = mask if self.mask is None else self.used(mask, value.type.count)
            for lane in range(self.rest or value.type.count):
                condition = None if mask is None else b.extract_element(mask, INDEX(lane))
                write(b.extract_element(value, INDEX(lane)), b.add(start, INDEX(lane * stride)), condition)
        elif self.used(mask, value.type.count) is None:
            write(value, start, None)
        else:
            address, used = self.address(buffer, dtype, start), self.used(mask, value.type.count)
            args = (value, address, ir.IntType(32)(align), used)
            call_intrinsic(b, "masked.store", args, ir.VoidType(), (value.type, address.type))

    def prefetch(self, buffer: int, dtype: DType, position: Value, is_written: bool = False) -> None:
        """Ask for a line of memory that is read or written soon; it may lie beyond the end."""
        address, number = self.address(buffer, dtype, position), ir.IntType(32)
        args = (address, number(int(is_written)), number(3), number(1))  # to stay in all caches; it is data
        call_intrinsic(self.b, "prefetch", args, ir.VoidType(), (address.type,))

    def used(self, mask: Value, lanes: int) -> Value:
        """The lanes of a mask that are in use; None for all there are."""
        if self.is_whole:
            return mask
        own = self.mask if self.mask is not None else first_lanes(self.rest, lanes)
        return own if mask is None else self.b.and_(mask, own)

    def address(self, buffer: int, dtype: DType, position: Value) -> Value:
        """Where an element is."""
        return self.b.gep(self.pointers[buffer], [position], source_etype=in_memory(dtype))
