"""Cumulative ops: each line along an axis is gone through in order, as NumPy does, so results are NumPy's to the bit.

Along the last axis what there is so far stays in a register. Along any other, neighbouring lines go side by side, in
vectors, and what there is so far is in the elements of the result before.
"""

import math

from lamina.compilers.native.counting import repeat, repeat_over
from lamina.compilers.native.library.lines import Call, Element, computed, load, store
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import COMPUTED, INDEX, in_register, part_of
from lamina.program.record import Library

OPS = {
    "cumulative_sum": "add",
    "cumulative_prod": "multiply",
    "cumulative_max": "maximum",
    "cumulative_min": "minimum",
}


def has_code(library: Library) -> bool:
    """Whether it can be written: not for dtypes that aren't computed with, nor the extremes of complex numbers."""
    node = library.node
    return node.dtype in COMPUTED and (node.dtype.kind != "complex" or OPS[node.op] in ("add", "multiply"))


def emit(call: Call) -> None:
    """Write a cumulative op."""
    axis, shape = call.node.args[1], call.results[0].layout.shape
    if math.prod(shape[axis + 1 :]) == 1:
        repeat_over(call.builder, shape[:axis], lambda outer: _line(call, axis, outer))
    else:
        repeat_over(call.builder, shape[:axis], lambda outer: _side_by_side(call, axis, outer))


def _line(call: Call, axis: int, outer: list[Value]) -> None:
    (x,), (result,), b = call.operands, call.results, call.builder
    part, axes = part_of(x.dtype), range(axis + 1)
    variables = [call.room(in_register(part)) for _ in range(1 if part is x.dtype else 2)]

    def note(so_far: Element, indices: list[Value]) -> None:
        store(b, x.dtype, so_far, result.at(b, axes, indices))
        for value, variable in zip(so_far if part is not x.dtype else (so_far,), variables, strict=True):
            b.store(value, variable)

    def step(k: Value) -> None:
        held = tuple(b.load(variable, typ=in_register(part)) for variable in variables)
        so_far = held if part is not x.dtype else held[0]
        element = load(b, x.dtype, x.at(b, axes, [*outer, k]))
        note(computed(b, OPS[call.node.op], x.dtype, (so_far, element)), [*outer, k])

    first = 1 if call.length is None else b.select(b.icmp_signed(">", call.length, INDEX(0)), INDEX(1), INDEX(0))
    repeat(b, first, lambda k: note(load(b, x.dtype, x.at(b, axes, [*outer, k])), [*outer, k]))
    repeat(b, call.count(axis), step, start=1)


def _side_by_side(call: Call, axis: int, outer: list[Value]) -> None:
    (x,), (result,), b, shape = call.operands, call.results, call.builder, call.results[0].layout.shape
    axes, last = range(len(shape)), len(shape) - 1
    is_run = x.layout.strides[last] == 1 and x.dtype.kind != "complex"
    lanes = call.vector_bytes // x.dtype.numpy.itemsize if is_run else 1
    whole = shape[last] // lanes * lanes

    def step(before: list[Value], indices: list[Value], lanes: int) -> None:
        value = load(b, x.dtype, x.at(b, axes, indices), lanes)
        if before:
            so_far = load(b, x.dtype, result.at(b, axes, before), lanes)
            value = computed(b, OPS[call.node.op], x.dtype, (so_far, value), lanes)
        store(b, x.dtype, value, result.at(b, axes, indices), lanes)

    def elements(k: Value, is_first: bool) -> None:
        def row(inner: list[Value]) -> None:
            def several(place: Value, lanes: int) -> None:
                before = [] if is_first else [*outer, b.sub(k, INDEX(1)), *inner, place]
                step(before, [*outer, k, *inner, place], lanes)

            repeat(b, whole // lanes, lambda number: several(b.mul(number, INDEX(lanes)), lanes))
            repeat(b, shape[last], lambda place: several(place, 1), start=whole)

        repeat_over(b, shape[axis + 1 : last], row)

    repeat(b, 1, lambda k: elements(k, True))
    repeat(b, shape[axis], lambda k: elements(k, False), start=1)
