"""Sorts, by NumPy's own functions for a line of elements, and searches in what is sorted.

The result has to be the stable sort's, but NumPy's other sort is several times as fast. It gives the same where equal
elements have equal bits: for integers, and for floats without a NaN or a negative zero. Where the places of elements
are asked for, those of equal ones are put in order afterwards.
"""

from llvmlite import ir

from lamina import dtype as dt
from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lines import (
    Call,
    computed,
    copy_line,
    copy_matrix,
    element_at,
    load,
    repeat,
    repeat_over,
    store,
)
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import INDEX, POINTER, STATUS, in_register, splat_constant
from lamina.dtype import DType
from lamina.program.record import Library

_AT_ONCE = 16  # lines that lie across others are copied so many at a time
_BY_DIGITS = 2  # bytes: NumPy sorts so short elements digit by digit, which is stable and fast


def has_code(library: Library) -> bool:
    """Whether NumPy's function for a line of the dtype is known."""
    return symbols.are_here(f"{library.node.op}_{library.node.args[0].dtype}")


def emit_sort(call: Call) -> None:
    """Write a sort of each line along an axis."""
    (x,), (result,), axis, b = call.operands, call.results, call.node.args[1], call.builder
    dtype, shape, last = x.dtype, x.layout.shape, x.layout.rank - 1
    count, strides, own = shape[axis], x.layout.strides, result.layout.strides
    others = [each for each in range(last + 1) if each not in (axis, last)]
    if own[axis] == 1:
        others = [each for each in range(last + 1) if each != axis]

        def line(at: list[Value]) -> None:
            target = result.at(b, others, at)
            copy_line(b, dtype, count, x.at(b, others, at), strides[axis], target)
            _sort(call, target, count)

        repeat_over(b, [shape[each] for each in others], line)
        return
    several = min(_AT_ONCE, shape[last])
    scratch = call.scratch(several * count * dtype.numpy.itemsize)

    def lines(at: list[Value], first: Value, width: int) -> None:
        origin, target = (each.at(b, [*others, last], [*at, first]) for each in (x, result))
        copy_matrix(b, (count, width), dtype, origin, (strides[axis], strides[last]), dtype, scratch, (1, count))
        repeat(b, width, lambda k: _sort(call, element_at(b, scratch, dtype, b.mul(k, INDEX(count))), count))
        copy_matrix(b, (count, width), dtype, scratch, (1, count), dtype, target, (own[axis], own[last]))

    def all_lines(at: list[Value]) -> None:
        whole, rest = divmod(shape[last], several)
        repeat(b, whole, lambda number: lines(at, b.mul(number, INDEX(several)), several))
        if rest:
            lines(at, INDEX(whole * several), rest)

    repeat_over(b, [shape[each] for each in others], all_lines)


def _sort(call: Call, line: Value, count: int) -> None:
    """Sort a line in its place."""
    dtype, args = call.results[0].dtype, [line, INDEX(count), POINTER(None)]
    if dtype.kind != "float":
        call.call(f"sort_{dtype}", args)
        return
    with call.builder.if_else(_has_twins(call, line, count)) as (then, otherwise):
        with then:
            _expect_memory(call, call.call(f"stable_sort_{dtype}", args))
        with otherwise:
            call.call(f"sort_{dtype}", args)


def _has_twins(call: Call, line: Value, count: int) -> Value:
    """Whether floats hold two that may be equal in order with other bits: NaNs, or zeros of which one is negative."""
    b, dtype = call.builder, call.results[0].dtype
    lanes = call.vector_bytes // dtype.numpy.itemsize
    bits_type = ir.IntType(lanes)
    found = call.room(bits_type)
    b.store(bits_type(0), found)

    def look(place: Value, lanes: int) -> None:
        value = load(b, dtype, element_at(b, line, dtype, place), lanes)
        is_zero = computed(b, "equal", dtype, (value, splat_constant(in_register(dtype), lanes, 0.0)), lanes)
        is_twin = b.and_(is_zero, computed(b, "signbit", dtype, (value,), lanes))
        is_twin = b.or_(is_twin, computed(b, "isnan", dtype, (value,), lanes))
        bits = b.bitcast(is_twin, bits_type) if lanes > 1 else b.zext(is_twin, bits_type)
        b.store(b.or_(b.load(found, typ=bits_type), bits), found)

    whole = count // lanes
    repeat(b, whole, lambda number: look(b.mul(number, INDEX(lanes)), lanes))
    repeat(b, count, lambda place: look(place, 1), start=whole * lanes)
    return b.icmp_unsigned("!=", b.load(found, typ=bits_type), bits_type(0))


def emit_argsort(call: Call) -> None:
    """Write where the elements of each sorted line are."""
    (x,), (result,), (_, axis, is_descending), b = call.operands, call.results, call.node.args, call.builder
    others = [each for each in range(x.layout.rank) if each != axis]
    count, dtype, stride = x.layout.shape[axis], x.dtype, x.layout.strides[axis]
    step = -stride if is_descending else stride
    values, places = (call.scratch(count * each.numpy.itemsize) for each in (dtype, dt.int64))

    def line(at: list[Value]) -> None:
        # from the end for the greatest first: then equal elements keep their order when all is turned around
        start = INDEX(stride * (count - 1) if is_descending else 0)
        copy_line(b, dtype, count, element_at(b, x.at(b, others, at), dtype, start), step, values)
        repeat(b, count, lambda i: store(b, dt.int64, i, element_at(b, places, dt.int64, i)))
        is_stable = dtype.numpy.itemsize <= _BY_DIGITS
        function = f"{'stable_' if is_stable else ''}argsort_{dtype}"
        _expect_memory(call, call.call(function, [values, places, INDEX(count), POINTER(None)]))
        if not is_stable:
            _order_equals(call, dtype, values, places, count)
        target, last = result.at(b, others, at), INDEX(count - 1)

        def place(i: Value) -> None:
            found = load(b, dt.int64, element_at(b, places, dt.int64, b.sub(last, i) if is_descending else i))
            aim = element_at(b, target, dt.int64, b.mul(i, INDEX(result.layout.strides[axis])))
            store(b, dt.int64, b.sub(last, found) if is_descending else found, aim)

        repeat(b, count, place)

    repeat_over(b, [x.layout.shape[each] for each in others], line)


def _order_equals(call: Call, dtype: DType, values: Value, places: Value, count: int) -> None:
    """Put the places of elements that are equal in order."""
    b, first = call.builder, call.room(INDEX)
    b.store(INDEX(0), first)

    def value(i: Value) -> Value:
        place = load(b, dt.int64, element_at(b, places, dt.int64, i))
        return load(b, dtype, element_at(b, values, dtype, place))

    def close(end: Value) -> None:
        start = b.load(first, typ=INDEX)
        length = b.sub(end, start)
        with b.if_then(b.icmp_signed(">", length, INDEX(1))):
            call.call("sort_int64", [element_at(b, places, dt.int64, start), length, POINTER(None)])
        b.store(end, first)

    def look(i: Value) -> None:
        pair = value(b.sub(i, INDEX(1))), value(i)
        differs = computed(b, "not_equal", dtype, pair)
        if dtype.kind == "float":  # of what is in order, nothing but NaN comes after NaN
            differs = b.and_(differs, b.not_(computed(b, "isnan", dtype, pair[:1])))
        with b.if_then(differs):
            close(i)

    repeat(b, count, look, start=1)
    close(INDEX(count))


def _expect_memory(call: Call, status: Value) -> None:
    call.fail(call.builder.icmp_signed("!=", status, STATUS(0)), "no memory to sort in", MemoryError)


# Searches


def can_search(library: Library) -> bool:
    """Whether elements of the dtype are compared by native code."""
    return library.node.args[0].dtype.kind in ("bool", "signed", "unsigned", "float") and symbols.are_here(
        f"sort_{library.node.args[0].dtype}"
    )


def emit_search(call: Call) -> None:
    """Write a search for each value, by halves; how many steps it takes depends on the number of elements alone."""
    (x, values), (result,), side, b = call.operands, call.results, call.node.args[2], call.builder
    axes, dtype = range(values.layout.rank), values.dtype
    (count,) = x.layout.shape

    def is_less(first: Value, second: Value) -> Value:
        less = computed(b, "less", dtype, (first, second))
        if dtype.kind != "float":
            return less
        nans = [computed(b, "isnan", dtype, (each,)) for each in (first, second)]
        return b.or_(less, b.and_(b.not_(nans[0]), nans[1]))

    def search(at: list[Value]) -> None:
        value = load(b, dtype, values.at(b, axes, at))
        first: Value = INDEX(0)
        left = count
        while left:
            half = (left + 1) // 2
            place = b.add(first, INDEX(half - 1))
            element = load(b, dtype, x.at(b, [0], [place]))
            is_before = is_less(element, value) if side == "left" else b.not_(is_less(value, element))
            first = b.select(is_before, b.add(first, INDEX(half)), first)
            left -= half
        store(b, dt.int64, first, result.at(b, axes, at))

    repeat_over(b, values.layout.shape, search)
