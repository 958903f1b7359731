"""Products of matrices: in `tiles` where these suit, and through BLAS, a stack of them one after the other.

BLAS is given a matrix as it lies in memory, by rows or by columns, with the distance between two of them. A product
with a vector is BLAS's own for that, and one of a matrix with its own transpose computes one triangle and mirrors it.
"""

from collections.abc import Sequence

from lamina.compilers.native import ir
from lamina.compilers.native.counting import repeat, repeat_over
from lamina.compilers.native.library import symbols, tiles
from lamina.compilers.native.library.lines import Call, Operand, element_at, load, store, zero
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import INDEX, in_memory, part_of
from lamina.dtype import DType
from lamina.layout.move import Permute
from lamina.program.held import Held, held_as
from lamina.program.record import Library

_INT = ir.IntType(32)  # of C's enumerations
_BY_ROWS, _PLAIN, _TRANSPOSED, _UPPER = (_INT(number) for number in (101, 111, 112, 121))


def _held(matrix: Operand) -> Held:
    found = held_as(matrix.layout)
    assert found is not None  # or there is no code for it
    return found


def _flag(held: Held) -> ir.Constant:
    return _TRANSPOSED if held.by_columns else _PLAIN


def has_code(library: Library) -> bool:
    """Whether BLAS has the product: of its dtypes, and held in ways that it knows."""
    if 0 in library.node.shape:
        return True
    layouts = [layout for _, layout in library.operands]
    if tiles.suit(library.node.dtype, layouts[0], layouts[-1]):
        return True
    letter = symbols.LETTERS.get(library.node.dtype)
    if letter is None or not symbols.are_here(f"{letter}gemm", f"{letter}gemv", f"{letter}syrk", _dot(letter)):
        return False
    is_small = all(extent < 2**31 for layout in layouts for extent in (*layout.shape, *layout.strides))
    return (is_small or symbols.integer_bits() == 64) and all(held_as(layout) for layout in layouts)


def _dot(letter: str) -> str:
    return f"{letter}dotu_sub" if letter in "cz" else f"{letter}dot"


def emit(call: Call) -> None:
    """Write a product."""
    x, y = call.operands
    (result,) = call.results
    *stack, rows, inner = x.layout.shape
    columns = y.layout.shape[-1]
    b = call.builder
    if inner == 0:
        zero(b, result.memory, result.layout.numel * result.dtype.numpy.itemsize)
        return
    if tiles.suit(x.dtype, x.layout, y.layout):
        tiles.emit(call)
        return
    if rows == columns == 1:
        one = _dot_product
    elif columns == 1:
        one = _times_vector
    elif rows == 1:
        one = _vector_times
    else:
        one = _square if _is_square(x, y) else _product
    axes = range(len(stack))
    repeat_over(b, stack, lambda at: one(call, x, y, [each.at(b, axes, at) for each in (x, y, result)]))


def _dot_product(call: Call, x: Operand, y: Operand, places: Sequence[Value]) -> None:
    letter, b = symbols.LETTERS[x.dtype], call.builder
    args = [_integer(x.layout.shape[-1]), places[0], _step(x, -1), places[1], _step(y, -2)]
    if letter in "cz":
        call.call(_dot(letter), [*args, places[2]], ir.VoidType())
    else:
        b.store(call.call(_dot(letter), args, in_memory(x.dtype)), places[2])


def _step(vector: Operand, axis: int) -> ir.Constant:
    return _integer(vector.layout.strides[axis] if vector.layout.shape[axis] > 1 else 1)


def _times_vector(call: Call, x: Operand, y: Operand, places: Sequence[Value]) -> None:
    _matrix_vector(call, x, _held(x), places[0], places[1], _step(y, -2), places[2])


def _vector_times(call: Call, x: Operand, y: Operand, places: Sequence[Value]) -> None:
    held = _held(y)
    turned = held._replace(by_columns=not held.by_columns)
    _matrix_vector(call, y, turned, places[1], places[0], _step(x, -1), places[2])


def _matrix_vector(
    call: Call, matrix: Operand, held: Held, place: Value, vector: Value, step: Value, result: Value
) -> None:
    rows, columns = matrix.layout.shape[-2:]
    if _held(matrix).by_columns:
        rows, columns = columns, rows
    one, none = _numbers(call, matrix.dtype)
    shape = (_integer(rows), _integer(columns))
    args = [_BY_ROWS, _flag(held), *shape, one, place, _integer(held.step), vector, step, none, result, _integer(1)]
    call.call(symbols.LETTERS[matrix.dtype] + "gemv", args, ir.VoidType())


def _product(call: Call, x: Operand, y: Operand, places: Sequence[Value]) -> None:
    (rows, inner), columns = x.layout.shape[-2:], y.layout.shape[-1]
    left, right = _held(x), _held(y)
    one, none = _numbers(call, x.dtype)
    args = [_BY_ROWS, _flag(left), _flag(right), *map(_integer, (rows, columns, inner)), one]
    args += [places[0], _integer(left.step), places[1], _integer(right.step), none, places[2], _integer(columns)]
    call.call(symbols.LETTERS[x.dtype] + "gemm", args, ir.VoidType())


def _is_square(x: Operand, y: Operand) -> bool:
    """Whether a matrix is multiplied by its own transpose."""
    stack = range(x.layout.rank - 2)
    turned = x.layout.move(Permute((*stack, len(stack) + 1, len(stack))))
    return x.buffer == y.buffer and turned == y.layout


def _square(call: Call, x: Operand, y: Operand, places: Sequence[Value]) -> None:
    (rows, inner), b, held = x.layout.shape[-2:], call.builder, _held(x)
    one, none = _numbers(call, x.dtype)
    args = [_BY_ROWS, _UPPER, _flag(held), _integer(rows), _integer(inner), one, places[0], _integer(held.step)]
    call.call(symbols.LETTERS[x.dtype] + "syrk", [*args, none, places[2], _integer(rows)], ir.VoidType())

    def mirror(row: Value) -> None:
        def copy(column: Value) -> None:
            above, below = (
                element_at(b, places[2], x.dtype, b.add(b.mul(i, INDEX(rows)), j))
                for i, j in ((column, row), (row, column))
            )
            store(b, x.dtype, load(b, x.dtype, above), below)

        repeat(b, row, copy)

    repeat(b, rows, mirror)


def _integer(number: int) -> ir.Constant:
    return ir.IntType(symbols.integer_bits())(number)


def _numbers(call: Call, dtype: DType) -> list[Value]:
    """1 and 0 as BLAS takes them: complex ones where they are in memory."""
    b, kind = call.builder, in_memory(part_of(dtype))
    if dtype.kind != "complex":
        return [kind(1), kind(0)]
    places = []
    for number in (1, 0):
        place = call.room(ir.ArrayType(kind, 2))
        store(b, dtype, (kind(number), kind(0)), place)
        places.append(place)
    return places
