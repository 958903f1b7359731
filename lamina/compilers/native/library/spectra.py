"""Factorisations that take LAPACK memory to work in: eigenvalues, singular values, orthonormal columns."""

from collections.abc import Callable, Sequence

from numpy.linalg import LinAlgError

from lamina.compilers.native.counting import repeat, repeat_over
from lamina.compilers.native.library import symbols
from lamina.compilers.native.library.lapack import WORK, by_columns, by_rows, integers, run, scratch, wide
from lamina.compilers.native.library.lines import Call, element_at, load, rounded, store, zero
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import INDEX, part_of
from lamina.program.record import Library

# What each op calls, for real and for complex matrices.
OPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(("eigh", "eigvalsh"), (("syevd",), ("heevd",))),
    **dict.fromkeys(("svd", "svdvals"), (("gesdd",), ("gesdd",))),
    "qr": (("geqrf", "orgqr"), ("geqrf", "ungqr")),
}


def has_code(library: Library) -> bool:
    """Whether LAPACK is there, and there is an element: none has an extent too large for LAPACK's integers."""
    x = library.node.args[0]
    names = [symbols.LETTERS[wide(x.dtype)] + each for each in OPS[library.node.op][x.dtype.kind == "complex"]]
    return symbols.are_here(*names) and 0 not in x.shape and max(x.shape) < 2**31


def emit(call: Call) -> None:
    """Write an op, for each matrix of the stack."""
    x, b = call.operands[0], call.builder
    stack = range(x.layout.rank - 2)
    one = {"eigh": _eigh, "eigvalsh": _eigh, "svd": _svd, "svdvals": _svd, "qr": _qr}[call.node.op](call)
    arrays = (x, *call.results)
    repeat_over(b, x.layout.shape[:-2], lambda at: one([each.at(b, stack, at) for each in arrays]))


def _eigh(call: Call) -> Callable[[Sequence[Value]], None]:
    (x,), triangle, single = call.operands, call.node.args[1], call.operands[0].dtype
    size, dtype, is_real = x.layout.shape[-1], wide(single), single.kind != "complex"
    wanted = "V" if call.node.op == "eigh" else "N"
    matrix, values = scratch(call, dtype, size * size), scratch(call, part_of(dtype), size)
    reals = [] if is_real else [5 * size + 2 * size * size + 1]
    more = [each for count in reals for each in (scratch(call, part_of(dtype), count), count)]
    more += [integers(call, 5 * size + 3), 5 * size + 3]

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        name = "syevd" if is_real else "heevd"
        wrong = run(call, name, dtype, wanted, triangle, size, matrix, size, values, WORK, *more)
        call.fail(wrong, "Eigenvalues did not converge", LinAlgError)
        by_rows(call, part_of(single), size, 1, values, places[1])
        if wanted == "V":
            by_rows(call, single, size, size, matrix, places[2])

    return one


def _svd(call: Call) -> Callable[[Sequence[Value]], None]:
    (x,), single, dtype = call.operands, call.operands[0].dtype, wide(call.operands[0].dtype)
    rows, columns = x.layout.shape[-2:]
    inner, longest = min(rows, columns), max(rows, columns)
    wanted = "N" if call.node.op == "svdvals" else "A" if call.node.args[1] else "S"
    left, right = (rows, columns) if wanted == "A" else (inner, inner)
    matrix, u, v = (scratch(call, dtype, count) for count in (rows * columns, rows * left, right * columns))
    values = scratch(call, part_of(dtype), inner)
    reals = [inner * max(5 * inner + 7, 2 * longest + 2 * inner + 1)] if dtype.kind == "complex" else []
    more = [*(scratch(call, part_of(dtype), count) for count in reals), integers(call, 8 * inner)]

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        args = (wanted, rows, columns, matrix, rows, values, u, rows, v, right, WORK, *more)
        call.fail(run(call, "gesdd", dtype, *args), "SVD did not converge", LinAlgError)
        by_rows(call, part_of(single), inner, 1, values, places[1 if wanted == "N" else 2])
        if wanted != "N":
            by_rows(call, single, rows, left, u, places[1])
            by_rows(call, single, right, columns, v, places[3])

    return one


def _qr(call: Call) -> Callable[[Sequence[Value]], None]:
    (x,), single, dtype, b = call.operands, call.operands[0].dtype, wide(call.operands[0].dtype), call.builder
    (rows, columns), inner = x.layout.shape[-2:], min(x.layout.shape[-2:])
    left = rows if call.node.args[1] else inner
    matrix = scratch(call, dtype, rows * max(columns, left))
    factors = scratch(call, dtype, inner)

    def one(places: Sequence[Value]) -> None:
        by_columns(call, x, places[0], matrix)
        run(call, "geqrf", dtype, rows, columns, matrix, rows, factors, WORK)
        zero(b, places[2], left * columns * single.numpy.itemsize)

        def column(j: Value) -> None:
            last = b.select(b.icmp_signed("<", j, INDEX(left)), j, INDEX(left - 1))

            def keep(i: Value) -> None:
                value = load(b, dtype, element_at(b, matrix, dtype, b.add(b.mul(j, INDEX(rows)), i)))
                store(
                    b,
                    single,
                    rounded(b, value, single),
                    element_at(b, places[2], single, b.add(b.mul(i, INDEX(columns)), j)),
                )

            repeat(b, b.add(last, INDEX(1)), keep)

        repeat(b, columns, column)
        name = "ungqr" if dtype.kind == "complex" else "orgqr"
        run(call, name, dtype, rows, left, inner, matrix, rows, factors, WORK)
        by_rows(call, single, rows, left, matrix, places[1])

    return one
