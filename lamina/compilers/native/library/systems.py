"""Linear systems through LAPACK, a stack of matrices one after the other: the functions that NumPy calls, as it does.

LAPACK goes by columns and works in place, so a matrix is copied into scratch by columns first.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numpy.linalg import LinAlgError

from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lines import (
    Call,
    Operand,
    computed,
    copy_matrix,
    element_at,
    load,
    repeat,
    repeat_over,
    store,
    zero,
)
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX, in_memory, part_of
from lamina.dtype import DType
from lamina.program.record import Library

OPS = {"solve": "gesv", "inv": "gesv", "cholesky": "potrf", "det": "getrf", "slogdet": "getrf"}


def has_code(library: Library) -> bool:
    """Whether LAPACK is there, and no extent is too large for its integers."""
    extents = [extent for _, layout in library.operands for extent in layout.shape]
    letter = symbols.LETTERS[library.node.args[0].dtype]
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
    size, columns = y.layout.shape[-2:]
    matrix, right = _scratch(call, x.dtype, size * size), _scratch(call, x.dtype, size * columns)

    def one(places: Sequence[Value]) -> None:
        _by_columns(call, x, places[0], matrix)
        _by_columns(call, y, places[1], right)
        _run_gesv(call, x.dtype, size, columns, matrix, right)
        _by_rows(call, x.dtype, size, columns, right, places[2])

    return one


def _inv(call: Call) -> Each:
    (x,), b = call.operands, call.builder
    size = x.layout.shape[-1]
    matrix, right = _scratch(call, x.dtype, size * size), _scratch(call, x.dtype, size * size)

    def one(places: Sequence[Value]) -> None:
        _by_columns(call, x, places[0], matrix)
        zero(b, right, size * size * x.dtype.numpy.itemsize)
        repeat(b, size, lambda i: store(b, x.dtype, _one(x.dtype), _entry(b, x.dtype, right, size, i, i)))
        _run_gesv(call, x.dtype, size, size, matrix, right)
        _by_rows(call, x.dtype, size, size, right, places[1])

    return one


def _cholesky(call: Call) -> Each:
    (x,), is_upper, b = call.operands, call.node.args[1], call.builder
    size, dtype = x.layout.shape[-1], x.dtype
    matrix = _scratch(call, dtype, size * size)
    triangle = call.room(BYTE)

    def one(places: Sequence[Value]) -> None:
        _by_columns(call, x, places[0], matrix)
        b.store(BYTE(ord("U" if is_upper else "L")), triangle)
        args = [triangle, _integer(call, size), matrix, _integer(call, size)]
        wrong = _run(call, "potrf", dtype, args, [INDEX(1)])  # the last is how long the text of the first is
        call.fail(wrong, "Matrix is not positive definite", LinAlgError)
        zero(b, places[1], size * size * dtype.numpy.itemsize)

        def column(j: Value) -> None:
            def keep(i: Value) -> None:
                row, column = (j, i) if is_upper else (i, j)
                value = load(b, dtype, _entry(b, dtype, matrix, size, column, row))
                store(b, dtype, value, _entry(b, dtype, places[1], size, row, column))

            repeat(b, size, keep, start=j)

        repeat(b, size, column)

    return one


def _determinant(call: Call) -> Each:
    """As NumPy: the sum of the logarithms of a triangle's diagonal, and the product of their signs."""
    (x,), b = call.operands, call.builder
    size, dtype = x.layout.shape[-1], x.dtype
    real, width = part_of(dtype), symbols.integer_bits()
    matrix, pivots = _scratch(call, dtype, size * size), call.scratch(8 * size)
    sign, total = call.room(ir.ArrayType(in_memory(real), 2)), call.room(in_memory(real))

    def one(places: Sequence[Value]) -> None:
        _by_columns(call, x, places[0], matrix)
        extent = _integer(call, size)
        is_singular = _run(
            call, "getrf", dtype, [extent, _integer(call, size), matrix, _integer(call, max(size, 1)), pivots]
        )
        store(b, dtype, _one(dtype), sign)
        b.store(in_memory(real)(-0.0), total)

        def factor(i: Value) -> None:
            element = load(b, dtype, _entry(b, dtype, matrix, size, i, i))
            magnitude = computed(b, "abs", dtype, (element,))
            whole = (magnitude, in_memory(real)(0)) if dtype is not real else magnitude
            turned = computed(b, "divide", dtype, (element, whole))
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
            store(b, dtype, signed, places[1])
            store(b, real, logarithm, places[2])
            return
        size_of = computed(b, "exp", real, (logarithm,))
        whole = (size_of, in_memory(real)(0)) if dtype is not real else size_of
        store(b, dtype, computed(b, "multiply", dtype, (signed, whole)), places[1])

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
    pivots = call.scratch(8 * size)
    args = [_integer(call, size), _integer(call, columns), matrix, _integer(call, size), pivots]
    wrong = _run(call, "gesv", dtype, [*args, right, _integer(call, size)])
    call.fail(wrong, "Singular matrix", LinAlgError)


def _run(call: Call, function: str, dtype: DType, args: Sequence[Value], more: Sequence[Value] = ()) -> Value:
    """Call a function of LAPACK; whether it found that the matrix has no result."""
    kind = ir.IntType(symbols.integer_bits())
    info = call.room(kind)
    call.call(symbols.LETTERS[dtype] + function, [*args, info, *more], ir.VoidType())
    return call.builder.icmp_signed("!=", call.builder.load(info, typ=kind), kind(0))


def _integer(call: Call, number: int) -> Value:
    """Where an integer is, as Fortran takes it."""
    kind = ir.IntType(symbols.integer_bits())
    place = call.room(kind)
    call.builder.store(kind(number), place)
    return place


def _one(dtype: DType) -> Any:
    kind = in_memory(part_of(dtype))
    return (kind(1), kind(0)) if dtype.kind == "complex" else kind(1)


def _selected(b: ir.IRBuilder, condition: Value, x: Any, y: Any) -> Any:
    if type(x) is tuple:
        return tuple(b.select(condition, *parts) for parts in zip(x, y, strict=True))
    return b.select(condition, x, y)


def _scratch(call: Call, dtype: DType, count: int) -> Value:
    return call.scratch(count * dtype.numpy.itemsize)


def _entry(b: ir.IRBuilder, dtype: DType, memory: Value, size: int, line: Value, place: Value) -> Value:
    """The address of an element of a square matrix whose lines are one behind the other."""
    return element_at(b, memory, dtype, b.add(b.mul(line, INDEX(size)), place))


def _by_columns(call: Call, operand: Operand, place: Value, memory: Value) -> None:
    """Copy a matrix to memory where its columns are one behind the other."""
    (rows, columns), strides = operand.layout.shape[-2:], operand.layout.strides[-2:]
    copy_matrix(call.builder, operand.dtype, (rows, columns), place, strides, memory, (1, rows))


def _by_rows(call: Call, dtype: DType, rows: int, columns: int, memory: Value, place: Value) -> None:
    """Copy a matrix whose columns are one behind the other to where its rows are."""
    copy_matrix(call.builder, dtype, (columns, rows), memory, (rows, 1), place, (1, columns))
