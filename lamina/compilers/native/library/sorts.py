"""Sorts, by NumPy's own functions for a line of elements, and searches in what is sorted.

The result has to be the stable sort's, but NumPy's other sort is several times as fast. It gives the same where equal
elements have equal bits: for integers, and for floats without a NaN or a negative zero. Where the places of elements
are asked for, those of equal ones are put in order afterwards.
"""

from lamina import dtype as dt
from lamina.compilers.native import ir
from lamina.compilers.native.counting import repeat, repeat_over
from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lines import Call, computed, copy_line, copy_matrix, element_at, load, splat, store
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import COMPUTED, INDEX, POINTER, STATUS, in_register, splat_constant
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
    strides, own, length = x.layout.strides, result.layout.strides, call.count(axis)
    others = [each for each in range(last + 1) if each not in (axis, last)]
    if own[axis] == 1:
        others = [each for each in range(last + 1) if each != axis]

        def line(at: list[Value]) -> None:
            target = result.at(b, others, at)
            copy_line(b, dtype, length, x.at(b, others, at), strides[axis], target)
            _sort(call, target, length)

        repeat_over(b, [shape[each] for each in others], line)
        return
    several, count = min(_AT_ONCE, shape[last]), shape[axis]
    scratch = call.scratch(several * count * dtype.numpy.itemsize)

    def lines(at: list[Value], first: Value, width: int) -> None:
        origin, target = (each.at(b, [*others, last], [*at, first]) for each in (x, result))
        copy_matrix(b, (count, width), dtype, origin, (strides[axis], strides[last]), dtype, scratch, (1, count))
        repeat(b, width, lambda k: _sort(call, element_at(b, scratch, dtype, b.mul(k, length)), length))
        copy_matrix(b, (count, width), dtype, scratch, (1, count), dtype, target, (own[axis], own[last]))

    def all_lines(at: list[Value]) -> None:
        whole, rest = divmod(shape[last], several)
        repeat(b, whole, lambda number: lines(at, b.mul(number, INDEX(several)), several))
        if rest:
            lines(at, INDEX(whole * several), rest)

    repeat_over(b, [shape[each] for each in others], all_lines)


def _sort(call: Call, line: Value, count: Value) -> None:
    """Sort a line in its place."""
    dtype, args = call.results[0].dtype, [line, count, POINTER(None)]
    if dtype.kind != "float":
        call.call(f"sort_{dtype}", args)
        return
    with call.builder.if_else(_has_twins(call, line, count)) as (then, otherwise):
        with then:
            _expect_memory(call, call.call(f"stable_sort_{dtype}", args))
        with otherwise:
            call.call(f"sort_{dtype}", args)


def _has_twins(call: Call, line: Value, count: Value) -> Value:
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

    whole = b.sdiv(count, INDEX(lanes))
    repeat(b, whole, lambda number: look(b.mul(number, INDEX(lanes)), lanes))
    repeat(b, count, lambda place: look(place, 1), start=b.mul(whole, INDEX(lanes)))
    return b.icmp_unsigned("!=", b.load(found, typ=bits_type), bits_type(0))


def emit_argsort(call: Call) -> None:
    """Write where the elements of each sorted line are."""
    (x,), (result,), (_, axis, is_descending), b = call.operands, call.results, call.node.args, call.builder
    others = [each for each in range(x.layout.rank) if each != axis]
    count, dtype, stride = call.count(axis), x.dtype, x.layout.strides[axis]
    step = -stride if is_descending else stride
    last = b.sub(count, INDEX(1))
    values, places = (call.scratch(x.layout.shape[axis] * each.numpy.itemsize) for each in (dtype, dt.int64))

    def line(at: list[Value]) -> None:
        # from the end for the greatest first: then equal elements keep their order when all is turned around
        start = b.mul(last, INDEX(stride)) if is_descending else INDEX(0)
        copy_line(b, dtype, count, element_at(b, x.at(b, others, at), dtype, start), step, values)
        repeat(b, count, lambda i: store(b, dt.int64, i, element_at(b, places, dt.int64, i)))
        is_stable = dtype.numpy.itemsize <= _BY_DIGITS
        function = f"{'stable_' if is_stable else ''}argsort_{dtype}"
        _expect_memory(call, call.call(function, [values, places, count, POINTER(None)]))
        if not is_stable:
            _order_equals(call, dtype, values, places, count)
        target = result.at(b, others, at)

        def place(i: Value) -> None:
            found = load(b, dt.int64, element_at(b, places, dt.int64, b.sub(last, i) if is_descending else i))
            aim = element_at(b, target, dt.int64, b.mul(i, INDEX(result.layout.strides[axis])))
            store(b, dt.int64, b.sub(last, found) if is_descending else found, aim)

        repeat(b, count, place)

    repeat_over(b, [x.layout.shape[each] for each in others], line)


def _order_equals(call: Call, dtype: DType, values: Value, places: Value, count: Value) -> None:
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
    close(count)


def _expect_memory(call: Call, status: Value) -> None:
    call.fail(call.builder.icmp_signed("!=", status, STATUS(0)), "no memory to sort in", MemoryError)


# Searches


def can_search(library: Library) -> bool:
    """Whether elements of the dtype are compared by native code."""
    dtype = library.node.args[0].dtype
    return dtype in COMPUTED and dtype.kind != "complex"


def emit_search(call: Call) -> None:
    """Write a search for each value: of few elements those before it are counted, of many it is found by halves."""
    (x, values), (result,), b = call.operands, call.results, call.builder
    (count,), shape = x.layout.shape, values.layout.shape
    search = _count_before if count <= _FEW else _by_halves
    is_run = count <= _FEW and values.layout.rank > 0 and values.layout.strides[-1] == 1
    lanes = call.vector_bytes // values.dtype.numpy.itemsize if is_run else 1
    axes, last = range(values.layout.rank), shape[-1] if shape else 1
    whole = last // lanes * lanes

    def line(at: list[Value]) -> None:
        def several(place: Value, lanes: int) -> None:
            indices = [*at, place][: values.layout.rank]
            value = load(b, values.dtype, values.at(b, axes, indices), lanes)
            store(b, dt.int64, search(call, value, lanes), result.at(b, axes, indices), lanes)

        repeat(b, whole // lanes, lambda number: several(b.mul(number, INDEX(lanes)), lanes))
        repeat(b, last, lambda place: several(place, 1), start=whole)

    repeat_over(b, shape[:-1], line)


def _count_before(call: Call, value: Value, lanes: int) -> Value:
    x, b = call.operands[0], call.builder
    found: Value = splat_constant(INDEX, lanes, 0)
    for place in range(x.layout.shape[0]):
        element = load(b, x.dtype, x.at(b, [0], [INDEX(place)]))
        is_before = _is_before(call, splat(b, element, lanes), value, lanes)
        found = b.add(found, b.zext(is_before, found.type))
    return found


def _by_halves(call: Call, value: Value, lanes: int) -> Value:
    """How many steps it takes depends on the number of elements alone."""
    x, b = call.operands[0], call.builder
    first: Value = INDEX(0)
    left = x.layout.shape[0]
    while left:
        half = (left + 1) // 2
        element = load(b, x.dtype, x.at(b, [0], [b.add(first, INDEX(half - 1))]))
        first = b.select(_is_before(call, element, value, lanes), b.add(first, INDEX(half)), first)
        left -= half
    return first


def _is_before(call: Call, element: Value, value: Value, lanes: int) -> Value:
    """Whether the place of a value is behind an element; NaN is greater than all others."""
    b, dtype, is_left = call.builder, call.operands[0].dtype, call.node.args[2] == "left"
    pair = (element, value) if is_left else (value, element)
    less = computed(b, "less", dtype, pair, lanes)
    if dtype.kind == "float":
        nans = [computed(b, "isnan", dtype, (each,), lanes) for each in pair]
        less = b.or_(less, b.and_(b.not_(nans[0]), nans[1]))
    return less if is_left else b.not_(less)


_FEW = 24
