"""What library calls are written with: where their operands are, and loops over elements one at a time."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.compilers.native import ir, pairs, scalar
from lamina.compilers.native.counting import repeat
from lamina.compilers.native.library import symbols
from lamina.compilers.native.scalar import Emit, Value, call_intrinsic
from lamina.compilers.native.types import (
    BIT,
    BYTE,
    INDEX,
    POINTER,
    STATUS,
    in_memory,
    part_of,
    splat_constant,
    vector,
)
from lamina.dtype import DType
from lamina.expr import Expr
from lamina.layout import Layout

Element = Any  # a value, or a pair of values


class Operand(NamedTuple):
    """An array of a call: where its memory begins, what of it is seen, its elements, and the number of its buffer."""

    memory: Value
    layout: Layout
    dtype: DType
    buffer: int

    def at(self, b: ir.IRBuilder, axes: Sequence[int] = (), indices: Sequence[Value] = ()) -> Value:
        """The address of the element at these indices of some axes, and at 0 of the others."""
        position: Value = INDEX(self.layout.offset)
        for axis, index in zip(axes, indices, strict=True):
            if self.layout.strides[axis] and self.layout.shape[axis] > 1:
                position = b.add(position, b.mul(index, INDEX(self.layout.strides[axis])))
        return element_at(b, self.memory, self.dtype, position)


class Call(NamedTuple):
    """A library call being written.

    `fail` leaves where a condition holds, with what the error says; `scratch` is memory of so many bytes; `threads` is
    how many there may be. With a length, which a run alone knows, only so many elements of a line are there.
    """

    builder: ir.IRBuilder
    node: Expr
    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]
    vector_bytes: int
    fail: Callable[[Value, str, type[Exception]], None]
    scratch: Callable[[int], Value]
    threads: Value
    length: Value | None = None

    def count(self, axis: int) -> Value:
        """How many elements a line along an axis has."""
        return INDEX(self.operands[0].layout.shape[axis]) if self.length is None else self.length

    def room(self, kind: Any) -> Value:
        """A variable of the function."""
        with self.builder.goto_entry_block():
            return self.builder.alloca(kind)

    def call(self, function: str, args: Sequence[Value], result: Any = STATUS) -> Value:
        """Call a function from outside."""
        symbols.provided()  # before the code is linked, also where it was found on disk
        kinds = [arg.type for arg in args]
        return self.builder.call(self.builder.module.declared(symbols.name_of(function), result, kinds), args)


def element_at(b: ir.IRBuilder, memory: Value, dtype: DType, position: Value) -> Value:
    """The address of an element."""
    return b.gep(memory, [position], source_etype=in_memory(dtype))


def load(b: ir.IRBuilder, dtype: DType, address: Value, lanes: int = 1) -> Element:
    """An element of a dtype that can be computed with, or several neighbours of one that is a single value."""
    part = part_of(dtype)
    if part is not dtype:
        addresses = (element_at(b, address, part, INDEX(place)) for place in range(2))
        return tuple(b.load(each, typ=in_memory(part), align=part.numpy.alignment) for each in addresses)
    value = b.load(address, typ=vector(in_memory(dtype), lanes), align=dtype.numpy.alignment)
    return b.icmp_unsigned("!=", value, splat_constant(BYTE, lanes, 0)) if dtype is dt.bool else value


def store(b: ir.IRBuilder, dtype: DType, value: Element, address: Value, lanes: int = 1) -> None:
    """Put elements where the address says."""
    part = part_of(dtype)
    if part is not dtype:
        for place, each in enumerate(value):
            b.store(each, element_at(b, address, part, INDEX(place)), align=part.numpy.alignment)
        return
    value = b.zext(value, vector(BYTE, lanes)) if dtype is dt.bool else value
    b.store(value, address, align=dtype.numpy.alignment)


def splat(b: ir.IRBuilder, value: Value, lanes: int) -> Value:
    """A value in every lane."""
    if lanes == 1:
        return value
    first = b.insert_element(ir.Constant(vector(value.type, lanes), ir.UNDEFINED), value, INDEX(0))
    return b.shuffle_vector(first, first, ir.Constant(vector(ir.IntType(32), lanes), [0] * lanes))


def computed(b: ir.IRBuilder, op: str, dtype: DType, args: Sequence[Element], lanes: int = 1) -> Element:
    """An elementwise op of elements of one dtype."""
    table = pairs.ROWS if dtype.kind == "complex" else scalar.ROWS
    return table[op](Emit(b, part_of(dtype), lanes), *args)


def zero(b: ir.IRBuilder, memory: Value, nbytes: int | Value) -> None:
    """Fill memory with zeros."""
    size = INDEX(nbytes) if isinstance(nbytes, int) else nbytes
    call_intrinsic(b, "memset", (memory, BYTE(0), size, BIT(0)), ir.VoidType(), (POINTER, INDEX))


def copy(b: ir.IRBuilder, dtype: DType, origin: Value, target: Value) -> None:
    """Copy an element, as bits, whatever they mean."""
    align = dtype.numpy.alignment
    b.store(b.load(origin, typ=in_memory(dtype), align=align), target, align=align)


def copy_line(
    b: ir.IRBuilder, dtype: DType, count: int | Value, origin: Value, step: int, target: Value, target_step: int = 1
) -> None:
    """Copy elements that are in memory each by a step behind the one before."""
    if step == target_step == 1:
        size = dtype.numpy.itemsize
        nbytes = INDEX(count * size) if isinstance(count, int) else b.mul(count, INDEX(size))
        args = (target, origin, nbytes, BIT(0))
        call_intrinsic(b, "memcpy", args, ir.VoidType(), (POINTER, POINTER, INDEX))
        return

    def each(index: Value) -> None:
        source = element_at(b, origin, dtype, b.mul(index, INDEX(step)))
        copy(b, dtype, source, element_at(b, target, dtype, b.mul(index, INDEX(target_step))))

    repeat(b, count, each)


def copy_matrix(
    b: ir.IRBuilder,
    shape: Sequence[int],
    dtype: DType,
    origin: Value,
    strides: Sequence[int],
    target_dtype: DType,
    target: Value,
    target_strides: Sequence[int],
) -> None:
    """Copy a matrix, several columns side by side, as they are in the same lines of the cache."""
    sides = ((dtype, origin, strides), (target_dtype, target, target_strides))

    def part(first: Value, count: int) -> None:
        def row(i: Value) -> None:
            for place in range(count):
                j = b.add(first, INDEX(place))
                source, aim = (
                    element_at(b, memory, own, b.add(b.mul(i, INDEX(down)), b.mul(j, INDEX(along))))
                    for own, memory, (down, along) in sides
                )
                if dtype == target_dtype:
                    copy(b, dtype, source, aim)
                else:
                    store(b, target_dtype, rounded(b, load(b, dtype, source), target_dtype), aim)

        repeat(b, shape[0], row)

    whole = shape[1] // _SIDE_BY_SIDE
    repeat(b, whole, lambda number: part(b.mul(number, INDEX(_SIDE_BY_SIDE)), _SIDE_BY_SIDE))
    repeat(b, shape[1], lambda j: part(j, 1), start=whole * _SIDE_BY_SIDE)


def rounded(b: ir.IRBuilder, element: Element, dtype: DType) -> Element:
    """A float or a complex number as another dtype of its kind."""
    if type(element) is tuple:
        return tuple(rounded(b, part, part_of(dtype)) for part in element)
    kind = in_memory(dtype)
    if element.type == kind:
        return element
    return (b.fpext if dtype is dt.float64 else b.fptrunc)(element, kind)


_SIDE_BY_SIDE = 8
