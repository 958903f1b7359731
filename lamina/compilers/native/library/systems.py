"""Linear systems through LAPACK, a stack of matrices one after the other: the functions that NumPy calls, as it does.

LAPACK works in place, so a matrix is copied first.
"""

from collections.abc import Callable, Sequence
from typing import Any

from numpy.linalg import LinAlgError

from lamina.compilers.native import ir
from lamina.compilers.native.counting import repeat, repeat_over
from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lapack import by_columns, by_rows, integers, run, scratch, wide
from lamina.compilers.native.library.lines import Call, Element, computed, element_at, load, rounded, store, zero
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import INDEX, in_memory, part_of
from lamina.dtype import DType
from lamina.program.record import Library

OPS = {"solve": "gesv", "inv": "gesv", "cholesky": "potrf", "det": "getrf", "slogdet": "getrf"}


def has_code(library: Library) -> bool:
    """Whether LAPACK is there, and no extent is too large for its integers."""
    extents = [extent for _, layout in library.operands for extent in layout.shape]
    letter = symbols.LETTERS[wide(library.node.args[0].dtype)]
    return symbols.are_here(letter + OPS[library.node.op]) and max(extents) < 2**31


def emit(call: Call) -> None:
    """Write an op, for each matrix of the stack."""
    stack = range(call.operands[0].layout.rank - 2)
    arrays = (*call.operands, *call.results)
    b, shape = call.builder, call.operands[0].layout.shape
    one = _EMIT[call.node.op](call)
    repeat_over(b, shape[:-2], lambda at: one([each.at(b, stack, at) for each in arrays]))


Each = Callable[[Sequence[Value]], None]  # what is done with the places of one matrix, and of its results


def _solve(call: Call) -> Each:
    x, y = call.operands
    (size, columns), dtype = y.layout.shape[-2:], wide(x.dtype)
    matrix, right = scratch(call, dtype, size * size), scratch(call, dtype, size * columns)

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        by_columns(call, y, places[1], right)
        _run_gesv(call, dtype, size, columns, matrix, right)
        by_rows(call, x.dtype, size, columns, right, places[2])

    return one


def _inv(call: Call) -> Each:
    (x,), b, dtype = call.operands, call.builder, wide(call.operands[0].dtype)
    size = x.layout.shape[-1]
    matrix, right = scratch(call, dtype, size * size), scratch(call, dtype, size * size)

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        zero(b, right, size * size * dtype.numpy.itemsize)
        repeat(b, size, lambda i: store(b, dtype, _one(dtype), _entry(b, dtype, right, size, i, i)))
        _run_gesv(call, dtype, size, size, matrix, right)
        by_rows(call, x.dtype, size, size, right, places[1])

    return one


def _cholesky(call: Call) -> Each:
    (x,), is_upper, b, dtype = call.operands, call.node.args[1], call.builder, wide(call.operands[0].dtype)
    size = x.layout.shape[-1]
    matrix = scratch(call, dtype, size * size)

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        wrong = run(call, "potrf", dtype, "U" if is_upper else "L", size, matrix, size)
        call.fail(wrong, "Matrix is not positive definite", LinAlgError)
        zero(b, places[1], size * size * x.dtype.numpy.itemsize)

        def column(j: Value) -> None:
            def keep(i: Value) -> None:
                row, column = (j, i) if is_upper else (i, j)
                value = load(b, dtype, _entry(b, dtype, matrix, size, column, row))
                store(b, x.dtype, rounded(b, value, x.dtype), _entry(b, x.dtype, places[1], size, row, column))

            repeat(b, size, keep, start=j)

        repeat(b, size, column)

    return one


def _determinant(call: Call) -> Each:
    """As NumPy: the sum of the logarithms of a triangle's diagonal, and the product of their signs."""
    (x,), b, dtype = call.operands, call.builder, wide(call.operands[0].dtype)
    size, real, width = x.layout.shape[-1], part_of(dtype), symbols.integer_bits()
    matrix, pivots = scratch(call, dtype, size * size), integers(call, size)
    sign, total = call.room(ir.ArrayType(in_memory(real), 2)), call.room(in_memory(real))

    def whole(number: Value) -> Element:
        return (number, in_memory(real)(0)) if dtype is not real else number

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        is_singular = run(call, "getrf", dtype, size, size, matrix, max(size, 1), pivots)
        store(b, dtype, _one(dtype), sign)
        b.store(in_memory(real)(-0.0), total)

        def factor(i: Value) -> None:
            element = load(b, dtype, _entry(b, dtype, matrix, size, i, i))
            magnitude = computed(b, "abs", dtype, (element,))
            turned = computed(b, "divide", dtype, (element, whole(magnitude)))
            pivot = b.load(b.gep(pivots, [i], source_etype=ir.IntType(width)), typ=ir.IntType(width))
            is_moved = b.icmp_signed("!=", pivot, b.trunc(b.add(i, INDEX(1)), pivot.type))
            both = computed(b, "multiply", dtype, (load(b, dtype, sign), turned))
            other = computed(b, "negative", dtype, (both,))
            store(b, dtype, _selected(b, is_moved, other, both), sign)
            more = computed(b, "log", real, (magnitude,))
            b.store(b.fadd(b.load(total, typ=in_memory(real)), more), total)

        repeat(b, size, factor)
        with b.if_then(is_singular):
            zero(b, sign, dtype.numpy.itemsize)
            b.store(in_memory(real)(float("-inf")), total)
        logarithm, signed = b.load(total, typ=in_memory(real)), load(b, dtype, sign)
        if call.node.op == "slogdet":
            results = [signed, logarithm]
        else:
            results = [computed(b, "multiply", dtype, (signed, whole(computed(b, "exp", real, (logarithm,)))))]
        for result, place, own in zip(results, places[1:], call.results, strict=True):
            store(b, own.dtype, rounded(b, result, own.dtype), place)

    return one


_EMIT: dict[str, Callable[[Call], Each]] = {
    "solve": _solve,
    "inv": _inv,
    "cholesky": _cholesky,
    "det": _determinant,
    "slogdet": _determinant,
}


def _run_gesv(call: Call, dtype: DType, size: int, columns: int, matrix: Value, right: Value) -> None:
    """Put what solves a system in the place of its right side."""
    wrong = run(call, "gesv", dtype, size, columns, matrix, size, integers(call, size), right, size)
    call.fail(wrong, "Singular matrix", LinAlgError)


def _one(dtype: DType) -> Any:
    kind = in_memory(part_of(dtype))
    return (kind(1), kind(0)) if dtype.kind == "complex" else kind(1)


def _selected(b: ir.IRBuilder, condition: Value, x: Any, y: Any) -> Any:
    if type(x) is tuple:
        return tuple(b.select(condition, *parts) for parts in zip(x, y, strict=True))
    return b.select(condition, x, y)


def _entry(b: ir.IRBuilder, dtype: DType, memory: Value, size: int, line: Value, place: Value) -> Value:
    """The address of an element of a square matrix whose lines are one behind the other."""
    return element_at(b, memory, dtype, b.add(b.mul(line, INDEX(size)), place))
