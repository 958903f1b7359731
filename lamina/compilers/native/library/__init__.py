"""Library calls in native code: a table says for each op when there is code for it, and what writes that.

Each is a function of its own, so that calls alike share it. What has no code here is computed by the evaluator.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.compilers.native import ir
from lamina.compilers.native.library import fourier, places, products, scans, sorts, spectra, systems
from lamina.compilers.native.library.lines import Call, Operand, load
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX, POINTER, STATUS
from lamina.expr import Expr
from lamina.expr.tree import operands as operands_of
from lamina.layout import Layout
from lamina.program.record import Buffer, Library

Leave = Callable[[ir.IRBuilder, Value, Value, str, type[Exception]], None]  # where, the status, a condition, an error


class _Row(NamedTuple):
    has_code: Callable[[Library], bool]
    emit: Callable[[Call], None]


_ROWS: dict[str, _Row] = {
    **dict.fromkeys(fourier.OPS, _Row(fourier.has_code, fourier.emit)),
    "matmul": _Row(products.has_code, products.emit),
    "sort": _Row(sorts.has_code, sorts.emit_sort),
    "argsort": _Row(sorts.has_code, sorts.emit_argsort),
    "searchsorted": _Row(sorts.can_search, sorts.emit_search),
    **dict.fromkeys(scans.OPS, _Row(scans.has_code, scans.emit)),
    **dict.fromkeys(spectra.OPS, _Row(spectra.has_code, spectra.emit)),
    "true_places": _Row(places.has_code, places.emit),
    **dict.fromkeys(systems.OPS, _Row(systems.has_code, systems.emit)),
}


def has_code(library: Library) -> bool:
    """Whether a library call has native code."""
    row = _ROWS.get(library.node.op)
    return row is not None and row.has_code(library)


def key_of(library: Library, buffers: Sequence[Buffer]) -> Any:
    """What makes two calls one function: all but where the arrays are."""
    own = [buffer for buffer, _ in library.operands]
    operands = tuple((buffers[buffer].dtype, layout, own.index(buffer)) for buffer, layout in library.operands)
    places = tuple(each.args[0] for each in operands_of(library.node))
    return _static(library), places, operands, library.length is None, library.source


def _static(library: Library) -> tuple[Any, ...]:
    return library.node.op, *(arg for arg in library.node.args if not isinstance(arg, Expr))


def define(
    module: ir.Module, name: str, library: Library, buffers: Sequence[Buffer], vector_bytes: int, leave: Leave
) -> tuple[ir.Function, int]:
    """The function of a call, and how many bytes of scratch it needs.

    It takes where the operands are, where the results go, the length if there is one, the scratch, how many threads
    there may be and the status, and returns whether it failed.
    """
    count = len(library.operands) + len(library.results) + (library.length is not None)
    function = ir.Function(module, ir.FunctionType(STATUS, [POINTER] * (count + 1) + [INDEX, POINTER]), name)
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind"):
        function.attributes.add(attribute)
    *arrays, scratch, threads, status = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    taken = [0]

    def room_for(nbytes: int) -> Value:
        place = taken[0]
        taken[0] += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return b.gep(scratch, [INDEX(place)], source_etype=BYTE)

    given = [
        Operand(memory, layout, buffers[buffer].dtype, buffer)
        for memory, (buffer, layout) in zip(arrays, library.operands, strict=False)
    ]
    results = [
        Operand(memory, Layout.contiguous(buffers[buffer].shape), buffers[buffer].dtype, buffer)
        for memory, buffer in zip(arrays[len(given) :], library.results, strict=False)
    ]
    call = Call(
        b,
        library.node,
        tuple(given[each.args[0]] for each in operands_of(library.node)),
        tuple(results),
        vector_bytes,
        lambda condition, message, kind: leave(b, status, condition, message, kind),
        room_for,
        threads,
        None if library.length is None else load(b, dt.int64, arrays[-1]),
    )
    if all(each.layout.numel for each in results):
        _ROWS[library.node.op].emit(call)
    b.ret(STATUS(0))
    return function, taken[0]


_ALIGNMENT = 64
