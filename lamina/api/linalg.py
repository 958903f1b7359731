"""Linear algebra: the module ``lamina.linalg``, with the functions of the array API standard's extension.

Products are in `lamina.api.products`, ``einsum`` is in `lamina.api.einsum`; this module has them too, and adds what
LAPACK computes for each matrix of a stack, powers, and norms. ``dot``, ``inner``, ``kron``, ``norm`` and ``einsum`` are
NumPy's.

The functions of LAPACK take and give float32, float64, complex64 and complex128; integers and bools count as float64.
Their results are those of `numpy.linalg`, and a matrix that has none raises `numpy.linalg.LinAlgError` when it is met.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.api.einsum import einsum
from lamina.api.products import (
    contracted,
    cross,
    diagonal,
    dot,
    inner,
    kron,
    matmul,
    matrices,
    matrix_transpose,
    operands,
    outer,
    tensordot,
    trace,
    vecdot,
    with_last,
)
from lamina.trace.build import broadcast_shape, broadcast_to, constant, decayed, emit, reshape, scope_now, to_dtype
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.reduction import array_of, axes_of, axis_of, count_along, extremum, flat, reduced_shape
from lamina.trace.value import Value

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "dot",
    "eigh",
    "eigvalsh",
    "einsum",
    "inner",
    "inv",
    "kron",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def _floating(value: Value) -> Value:
    return value if value.dtype.kind in ("float", "complex") else to_dtype(value, dt.float64)


def _square(x: Any, name: str = "x") -> Value:
    value = matrices(x, name)
    if value.shape[-1] != value.shape[-2]:
        raise np.linalg.LinAlgError(f"the matrices of {name} must be square, but its shape is {value.shape}")
    return value


def _several(op: str, *args: Any) -> list[Value]:
    """The results of a node that has several."""
    scope, node = scope_now(), emit(op, *args).expr
    return [decayed(Value(scope.emit("elem", node, i), scope)) for i in range(len(node.shape))]


# What LAPACK computes


class EigenResult(NamedTuple):
    """The eigenvalues, ascending, and the eigenvectors, in columns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The matrix of orthonormal columns, and the upper triangular one."""

    Q: Any
    R: Any


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its magnitude."""

    sign: Any
    logabsdet: Any


class SVDResult(NamedTuple):
    """The left singular vectors, the singular values, and the conjugate transpose of the right singular vectors."""

    U: Any
    S: Any
    Vh: Any


@function
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangular L with ``L @ L^H == x``, or the upper U with ``U^H @ U == x``; only that triangle of x is read.

    Raises `numpy.linalg.LinAlgError` where a matrix isn't positive definite.

    >>> cholesky([[4, 2], [2, 5]])
    lamina.Array([[2., 0.],
                  [1., 2.]], shape=(2, 2), dtype=float64)
    """
    return emit("cholesky", _floating(_square(x)), bool(upper))


@function
def det(x: Any, /) -> Any:
    """The determinant of each matrix.

    >>> det([[2, 0], [0, 3]])
    lamina.Array(6., shape=(), dtype=float64)
    """
    return decayed(emit("det", _floating(_square(x))))


@function
def slogdet(x: Any, /) -> SlogdetResult:
    """The sign (of complex matrices the phase) of the determinant, and the logarithm of its magnitude.

    >>> slogdet([[0, 1], [1, 0]]).sign
    lamina.Array(-1., shape=(), dtype=float64)
    """
    return SlogdetResult(*_several("slogdet", _floating(_square(x))))


@function
def eigh(x: Any, /, *, UPLO: Literal["L", "U"] = "L") -> EigenResult:
    """The eigenvalues, ascending, and the eigenvectors of each Hermitian matrix; one triangle, "L" or "U", is read.

    >>> eigh([[2, 0], [0, 1]]).eigenvalues
    lamina.Array([1., 2.], shape=(2,), dtype=float64)
    """
    return EigenResult(*_several("eigh", _floating(_square(x)), _triangle(UPLO)))


@function
def eigvalsh(x: Any, /, *, UPLO: Literal["L", "U"] = "L") -> Any:
    """The eigenvalues, ascending, of each Hermitian matrix, of which the lower triangle or the upper is read.

    >>> eigvalsh([[2, 0], [0, 1]])
    lamina.Array([1., 2.], shape=(2,), dtype=float64)
    """
    return emit("eigvalsh", _floating(_square(x)), _triangle(UPLO))


def _triangle(name: str) -> str:
    if name not in ("L", "U", "l", "u"):
        raise ValueError(f"UPLO argument must be 'L' or 'U', but it is {name!r}")
    return name.upper()


@function
def inv(x: Any, /) -> Any:
    """The inverse of each matrix. Raises `numpy.linalg.LinAlgError` for a singular one.

    >>> inv([[2, 0], [0, 4]])
    lamina.Array([[0.5 , 0.  ],
                  [0.  , 0.25]], shape=(2, 2), dtype=float64)
    """
    return emit("inv", _floating(_square(x)))


@function
def solve(x1: Any, x2: Any, /) -> Any:
    """The z with ``x1 @ z == x2``: for a vector, or for each column of the matrices. The other axes broadcast.

    As the standard and NumPy have it, an `x2` of one axis is a vector, anything else a stack of matrices.

    Raises `numpy.linalg.LinAlgError` for a singular matrix, ValueError where the shapes don't fit.

    >>> solve([[2, 0], [0, 4]], [2, 2])
    lamina.Array([1. , 0.5], shape=(2,), dtype=float64)
    """
    x, y = operands(x1, x2)
    x, y = _floating(_square(x, "x1")), _floating(y)
    if not y.shape:
        raise ValueError("x2 must be vectors or matrices, but it has no axis")
    columns = y if len(y.shape) > 1 else reshape(y, (*y.shape, 1))
    if columns.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"the shapes {x.shape} and {y.shape} don't fit: {x.shape[-1]} equations, {columns.shape[-2]} numbers"
        )
    stack = broadcast_shape(x.shape[:-2], columns.shape[:-2])
    result = emit("solve", broadcast_to(x, stack + x.shape[-2:]), broadcast_to(columns, stack + columns.shape[-2:]))
    return result if len(y.shape) > 1 else reshape(result, (*stack, y.shape[0]))


@function
def qr(x: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """The orthonormal columns Q and the upper triangular R with ``Q @ R == x``; ``"complete"``: Q is square.

    >>> qr([[0, 1], [1, 0]]).R.shape
    (2, 2)
    """
    if mode not in ("reduced", "complete"):
        raise NotImplementedError(f"the mode {mode!r}; there are 'reduced' and 'complete'")
    return QRResult(*_several("qr", _floating(matrices(x)), mode == "complete"))


@function
def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """U, the descending singular values S, and V^H, with ``(U * S) @ Vh == x``; `full_matrices`: U and V^H are square.

    >>> svd([[3, 0], [0, 4]]).S
    lamina.Array([4., 3.], shape=(2,), dtype=float64)
    """
    return SVDResult(*_several("svd", _floating(matrices(x)), bool(full_matrices)))


@function
def svdvals(x: Any, /) -> Any:
    """The singular values of each matrix, descending.

    >>> svdvals([[3, 0], [0, 4]])
    lamina.Array([4., 3.], shape=(2,), dtype=float64)
    """
    return emit("svdvals", _floating(matrices(x)))


# What is made of these


@function
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values of each matrix are greater than `rtol` times the greatest.

    By default `rtol` is the greater extent times the epsilon of the dtype.

    >>> matrix_rank([[1, 2], [2, 4]])
    lamina.Array(1, shape=(), dtype=int64)
    """
    value = _floating(matrices(x))
    singular = svdvals(value)
    tolerance = elementwise("multiply", _greatest(singular), _tolerance(value, rtol))
    above = elementwise("greater", singular, tolerance)
    return decayed(emit("sum", to_dtype(above, dt.int64), (len(above.shape) - 1,)))


@function
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse of each matrix, by its singular values greater than `rtol` times the greatest.

    By default `rtol` is the greater extent times the epsilon of the dtype.

    >>> pinv([[2, 0], [0, 4]])
    lamina.Array([[0.5 , 0.  ],
                  [0.  , 0.25]], shape=(2, 2), dtype=float64)
    """
    value = matrices(x)
    if math.prod(value.shape) == 0:  # of integers too, as in NumPy
        return broadcast_to(constant(0, value.dtype), (*value.shape[:-2], value.shape[-1], value.shape[-2]))
    value = _floating(value)
    left, singular, right = svd(elementwise("conj", value), full_matrices=False)
    is_large = elementwise("greater", singular, elementwise("multiply", _tolerance(value, rtol), _greatest(singular)))
    reciprocal = elementwise("divide", 1, singular)
    inverses = emit("where", is_large, reciprocal, broadcast_to(constant(0, singular.dtype), singular.shape))
    scaled = elementwise("multiply", reshape(inverses, (*inverses.shape, 1)), matrix_transpose(left))
    return matmul(matrix_transpose(right), scaled)


def _greatest(singular: Value) -> Value:
    """The greatest singular value of each matrix, in an axis of extent 1; 0 of none."""
    return _extreme("max", singular, (len(singular.shape) - 1,), keepdims=True)


def _extreme(op: str, value: Value, axes: tuple[int, ...], keepdims: bool = False) -> Value:
    # magnitudes: the greatest of none is 0, the least of none an error
    initial = 0 if op == "max" and count_along(value.shape, axes) == 0 else None
    return extremum(op, value, axes, keepdims=keepdims, initial=initial)


def _tolerance(value: Value, rtol: Any) -> Any:
    if rtol is None:
        return max(value.shape[-2:]) * float(dt.finfo(value.dtype).eps)
    tolerance = array_of(rtol, "rtol")
    return reshape(tolerance, (*tolerance.shape, 1))


@function
def matrix_power(x: Any, n: int, /) -> Any:
    """Each square matrix multiplied `n` times with itself; the identity for 0, powers of the inverse below 0.

    Raises ValueError where the matrices aren't square.

    >>> matrix_power([[1, 1], [1, 0]], 10)
    lamina.Array([[89, 55],
                  [55, 34]], shape=(2, 2), dtype=int64)
    """
    value, power = _square(x), operator.index(n)
    if power == 0:
        identity = emit("equal", *_grid(value.shape[-1]))
        return broadcast_to(to_dtype(identity, value.dtype), value.shape)
    if power < 0:
        value, power = inv(value), -power
    # NumPy's order of products: 3 is (x x) x, the others are by squares
    if power == 3:
        return matmul(matmul(value, value), value)
    result: Any = None
    while power:
        if power & 1:
            result = value if result is None else matmul(result, value)
        power >>= 1
        if power:
            value = matmul(value, value)
    return result


def _grid(n: int) -> tuple[Value, Value]:
    """The row and the column of each element of a square matrix."""
    places = emit("iota", n, dt.int64)
    return broadcast_to(reshape(places, (n, 1)), (n, n)), broadcast_to(places, (n, n))


# Norms


@function
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """NumPy's norm of a vector or a matrix, along one axis or two.

    Args:
        x: the array; integers and bools count as float64.
        ord: of vectors any number (0: how many aren't 0; inf, -inf: the greatest and least magnitude), by default 2;
            of matrices 1, -1, 2, -2, inf, -inf, "fro" or "nuc", by default "fro".
        axis: one axis for vectors, two for matrices; by default all of them, which may be any number if `ord` is None.
        keepdims: whether the axes stay, with extent 1.

    Returns a real float of the precision of `x`.

    Raises ValueError for an `ord` that isn't one of those, or axes that are neither one nor two.

    >>> norm([3, 4]), norm([[1, -2], [3, 4]], ord=1)
    (lamina.Array(5., shape=(), dtype=float64), lamina.Array(6., shape=(), dtype=float64))
    """
    value = _floating(array_of(x))
    rank, everything = len(value.shape), axis is None
    if everything and (ord is None or (rank, ord) in ((2, "fro"), (2, "f"), (1, 2))):
        return _kept(_euclidean(flat(value)), value.shape, range(rank), keepdims)
    axes = tuple(axis_of(each, rank) for each in (range(rank) if everything else _as_tuple(axis)))
    if len(axes) == 1:
        return _kept(_vector_norm(value, axes, ord), value.shape, axes, keepdims)
    if len(axes) == 2:
        return _kept(_matrix_norm(value, axes, ord), value.shape, axes, keepdims)
    raise ValueError(
        f"a norm with ord={ord!r} has one axis or two, but these are {len(axes)} of the shape {value.shape}"
    )


@function
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norms of the vectors along an axis, or along several as if they were one; all axes by default.

    `ord` is any number; 0 counts the elements that aren't 0, inf and -inf are the greatest and the least magnitude.

    >>> vector_norm([[3, 4], [6, 8]], axis=1)
    lamina.Array([ 5., 10.], shape=(2,), dtype=float64)
    """
    value = _floating(array_of(x))
    axes = axes_of(axis if axis is None else _as_tuple(axis), len(value.shape))
    together = with_last(value, *axes)
    together = reshape(together, (*reduced_shape(value.shape, axes, False), count_along(value.shape, axes)))
    return _kept(_vector_norm(together, (len(together.shape) - 1,), ord), value.shape, axes, keepdims)


def _as_tuple(axis: Any) -> tuple[Any, ...]:
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


@function
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norms of the matrices in the last two axes; `ord` is 1, -1, 2, -2, inf, -inf, "fro" or "nuc".

    >>> matrix_norm([[3, 0], [0, 4]])
    lamina.Array(5., shape=(), dtype=float64)
    """
    value = _floating(matrices(x))
    axes = (len(value.shape) - 2, len(value.shape) - 1)
    return _kept(_matrix_norm(value, axes, ord), value.shape, axes, keepdims)


def _kept(result: Value, shape: tuple[int, ...], axes: Sequence[int], keepdims: bool) -> Value:
    return decayed(reshape(result, reduced_shape(shape, tuple(axes), keepdims)))


def _euclidean(vector: Value) -> Value:
    """The root of a vector's dot product with itself, which is how NumPy computes the norm of a whole array."""
    parts = [emit("real", vector), emit("imag", vector)] if vector.dtype.kind == "complex" else [vector]
    squares = [contracted(part, [0], part, [0]) for part in parts]
    return emit("sqrt", squares[0] if len(squares) == 1 else emit("add", *squares))


def _vector_norm(value: Value, axes: tuple[int, ...], ord: Any) -> Value:
    if isinstance(ord, str):
        raise ValueError(f"ord is {ord!r}, but of a vector it must be a number")
    if ord is None or ord == 2:
        return _root_of_squares(value, axes)
    size = emit("abs", value)
    if ord in (math.inf, -math.inf):
        return _extreme("max" if ord > 0 else "min", size, axes)
    if ord == 0:
        return emit("sum", to_dtype(elementwise("not_equal", value, 0), size.dtype), axes)
    if ord == 1:
        return emit("sum", size, axes)
    total = emit("sum", elementwise("pow", size, ord), axes)
    return elementwise("pow", total, emit("reciprocal", to_dtype(array_of(ord, "ord"), total.dtype)))


def _root_of_squares(value: Value, axes: tuple[int, ...]) -> Value:
    if value.dtype.kind == "complex":
        squares = emit("real", emit("multiply", emit("conj", value), value))
    else:
        squares = emit("multiply", value, value)
    return emit("sqrt", emit("sum", squares, axes))


def _matrix_norm(value: Value, axes: tuple[int, ...], ord: Any) -> Value:
    row, column = axes
    if row == column:
        raise ValueError("the axes of a matrix must differ")
    if ord in (None, "fro", "f"):
        return _root_of_squares(value, tuple(sorted(axes)))
    if ord in (2, -2, "nuc"):
        singular = svdvals(with_last(value, row, column))
        along = (len(singular.shape) - 1,)
        return emit("sum", singular, along) if ord == "nuc" else _extreme("max" if ord > 0 else "min", singular, along)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"ord is {ord!r}, but of a matrix it must be 1, -1, 2, -2, inf, -inf, 'fro' or 'nuc'")
    added, chosen = (row, column) if abs(ord) == 1 else (column, row)
    sums = emit("sum", emit("abs", value), (added,))
    return _extreme("max" if ord > 0 else "min", sums, (chosen - (chosen > added),))
