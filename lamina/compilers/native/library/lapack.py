"""Calls of LAPACK: it takes the addresses of everything, matrices by columns, and memory to work in."""

import ctypes
from typing import Any, Final

import numpy as np

from lamina import dtype as dt
from lamina.compilers.native import ir
from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lines import Call, Operand, copy_matrix
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX
from lamina.dtype import DType

WORK: Final = object()
"""Stands for memory to work in, and its size: as much as a function says that it works best with."""


def run(call: Call, function: str, dtype: DType, *args: Any) -> Value:
    """Call a function for matrices of a dtype; whether it found that there is no result.

    Of the args, numbers and texts are put where LAPACK finds them, and others are addresses; what comes after the last,
    where the function says how it went, isn't among them.
    """
    b, name, kind = call.builder, symbols.LETTERS[dtype] + function, ir.IntType(symbols.integer_bits())
    given: list[Value] = []
    for arg in args:
        if arg is WORK:
            size = _work_of(name, dtype, args)
            given += [scratch(call, dtype, size), _put(call, kind, size)]
        elif isinstance(arg, int):
            given.append(_put(call, kind, arg))
        elif isinstance(arg, str):
            given.append(_put(call, BYTE, ord(arg)))
        else:
            given.append(arg)
    info = call.room(kind)
    lengths = [INDEX(1) for arg in args if isinstance(arg, str)]  # of the texts, which Fortran has at the end
    call.call(name, [*given, info, *lengths], ir.VoidType())
    return b.icmp_signed("!=", b.load(info, typ=kind), kind(0))


def _put(call: Call, kind: ir.IntType, number: int) -> Value:
    place = call.room(kind)
    call.builder.store(kind(number), place)
    return place


def _work_of(name: str, dtype: DType, args: tuple[Any, ...]) -> int:
    """How many elements a function wants to work in, as it says itself when it is asked for so much as -1."""
    kind = ctypes.c_int64 if symbols.integer_bits() == 64 else ctypes.c_int32
    answer, unused = np.zeros(1, dtype.numpy), np.zeros(1, np.complex128)
    given: list[Any] = []
    for arg in args:
        if arg is WORK:
            given += [answer.ctypes.data, ctypes.byref(kind(-1))]
        elif isinstance(arg, int):
            given.append(ctypes.byref(kind(arg)))
        elif isinstance(arg, str):
            given.append(arg.encode())
        else:
            given.append(unused.ctypes.data)
    lengths = [ctypes.c_int64(1) for arg in args if isinstance(arg, str)]
    pointers = [ctypes.c_void_p(each) if isinstance(each, int) else each for each in given]
    ctypes.CFUNCTYPE(None)(symbols.provided()[name])(*pointers, ctypes.byref(kind(0)), *lengths)
    return int(answer[0].real)


def scratch(call: Call, dtype: DType, count: int) -> Value:
    """Memory for so many elements."""
    return call.scratch(count * dtype.numpy.itemsize)


def integers(call: Call, count: int) -> Value:
    """Memory for so many of LAPACK's integers."""
    return call.scratch(count * symbols.integer_bits() // 8)


def wide(dtype: DType) -> DType:
    """What is computed with for a dtype: NumPy, too, gives LAPACK matrices of double precision alone."""
    return dt.complex128 if dtype.kind == "complex" else dt.float64


def by_columns(call: Call, operand: Operand, place: Value, memory: Value) -> None:
    """Copy a matrix to memory where its columns are one behind the other, in double precision."""
    (rows, columns), strides, dtype = operand.layout.shape[-2:], operand.layout.strides[-2:], operand.dtype
    copy_matrix(call.builder, (rows, columns), dtype, place, strides, wide(dtype), memory, (1, rows))


def by_rows(call: Call, dtype: DType, rows: int, columns: int, memory: Value, place: Value) -> None:
    """Copy a matrix of double precision, whose columns are one behind the other, to where its rows are of a dtype."""
    copy_matrix(call.builder, (columns, rows), wide(dtype), memory, (rows, 1), dtype, place, (1, columns))
