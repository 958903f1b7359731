"""Fourier transforms by the loops that NumPy's own functions run, on the lines of an axis.

A loop takes three arrays of words, as any of NumPy's generalised functions does: where the operand, the factor and the
result are; how many lines there are, and of how many elements; and how many bytes lie between lines and elements.
"""

from collections.abc import Sequence

import numpy as np

from lamina import dtype as dt
from lamina.compilers.native import ir
from lamina.compilers.native.counting import repeat_over
from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lines import Call, Operand
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX, POINTER, bits_of, in_memory
from lamina.dtype import DType
from lamina.expr import Expr
from lamina.program.record import Library

OPS = ("fft", "ifft", "rfft", "irfft")


def _loop_of(node: Expr) -> str:
    """The loop of NumPy's that a transform is."""
    x, n, _, _ = node.args
    parity = f"_n_{'odd' if n % 2 else 'even'}" if node.op == "rfft" else ""
    return f"{node.op}{parity}_{x.dtype}"


def has_code(library: Library) -> bool:
    """Whether NumPy has a loop for the operand as it is. Without a factor it computes single precision in double."""
    x, n, _, norm = library.node.args
    is_double = x.dtype.real is dt.float64
    return symbols.are_here(_loop_of(library.node)) and (
        is_double or factor_of(n, norm, library.node.op, x.dtype.real) != 1
    )


def emit(call: Call) -> None:
    """Write a transform: the lines along the longest of the other axes are one call of the loop."""
    b, (x,), (result,) = call.builder, call.operands, call.results
    op, (_, n, axis, norm) = call.node.op, call.node.args
    others = [other for other in range(x.layout.rank) if other != axis]
    lines = max(others, key=lambda other: x.layout.shape[other], default=None)
    rest = [other for other in others if other != lines]
    count = 1 if lines is None else x.layout.shape[lines]
    counts = _words(call, [count, x.layout.shape[axis], result.layout.shape[axis]])
    steps = _words(call, [_step(x, lines), 0, _step(result, lines), _step(x, axis), _step(result, axis)])
    factor, is_forward = call.room(in_memory(x.dtype.real)), call.room(BYTE)
    number = bits_of(factor_of(n, norm, op, x.dtype.real), x.dtype.real)
    b.store(ir.Constant(in_memory(x.dtype.real), number), factor)
    b.store(BYTE(int(op == "fft")), is_forward)
    arrays = call.room(ir.ArrayType(POINTER, 3))

    def one(indices: Sequence[Value]) -> None:
        for place, address in enumerate((x.at(b, rest, indices), factor, result.at(b, rest, indices))):
            b.store(address, b.gep(arrays, [INDEX(place)], source_etype=POINTER))
        call.call(_loop_of(call.node), (arrays, counts, steps, is_forward), ir.VoidType())

    repeat_over(b, [x.layout.shape[other] for other in rest], one)


def factor_of(n: int, norm: str, op: str, dtype: DType) -> float:
    """What NumPy multiplies the results with: a number of the dtype, rounded as NumPy rounds it."""
    if norm == "ortho":
        return float(np.reciprocal(np.sqrt(n, dtype=dtype.numpy)))
    is_scaled = (norm == "forward") is (op in ("fft", "rfft"))
    return float(np.reciprocal(n, dtype=dtype.numpy)) if is_scaled else 1.0


def _step(x: Operand, axis: int | None) -> int:
    """The bytes from one element of an axis to the next."""
    return 0 if axis is None else x.layout.strides[axis] * x.dtype.numpy.itemsize


def _words(call: Call, numbers: Sequence[int]) -> Value:
    words, b = call.room(ir.ArrayType(INDEX, len(numbers))), call.builder
    for place, number in enumerate(numbers):
        b.store(INDEX(number), b.gep(words, [INDEX(place)], source_etype=INDEX))
    return words
