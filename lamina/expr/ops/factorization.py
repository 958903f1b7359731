"""Rows of linear algebra beyond products: what LAPACK computes for each matrix of a stack.

These can't be made of other rows: each is an iteration whose steps depend on the numbers it meets. A matrix that has no
result (a singular one, one that isn't positive definite) raises `numpy.linalg.LinAlgError` at run time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.expr.ops.row import Family, Op, Shape, Tolerance

# The dtypes that LAPACK has.
DTYPES = (dt.float32, dt.float64, dt.complex64, dt.complex128)

_BACKWARD = Tolerance(1000)  # of well-conditioned matrices

_SAME, _REAL = False, True
Result = tuple[Shape, bool]  # the axes that take the place of the matrix's two, and whether the elements are real


def _expect(name: str, x: Any, param: str = "x") -> None:
    if x.dtype not in DTYPES:
        raise TypeError(f"{name}: {param} is {x.dtype}, but must be one of {', '.join(map(str, DTYPES))}")
    if len(x.shape) < 2:
        raise ValueError(f"{name}: {param} has shape {x.shape}, but matrices have two axes")


def _of_matrix(
    name: str,
    params: tuple[str, ...],
    results: Callable[..., tuple[Result, ...]],
    meaning: Callable[..., Any],
    doc: str,
    *,
    square: bool = True,
) -> Op:
    """A row of ``name(x, *options)``; `results` takes the two extents of the matrix, then the options."""

    def shape(x: Any, *options: Any) -> Any:
        _expect(name, x)
        *stack, rows, columns = x.shape
        if square and rows != columns:
            raise ValueError(f"{name}: the matrices of shape {x.shape} must be square")
        shapes = tuple((*stack, *tail) for tail, _ in results(rows, columns, *options))
        return shapes if len(shapes) > 1 else shapes[0]

    def dtype(x: Any, *options: Any) -> Any:
        _expect(name, x)
        dtypes = tuple(x.dtype.real if is_real else x.dtype for _, is_real in results(*x.shape[-2:], *options))
        return dtypes if len(dtypes) > 1 else dtypes[0]

    return Op(
        name=name,
        params=params,
        arity=1,
        family=Family.FACTORIZATION,
        dtype=dtype,
        shape=shape,
        facts={},
        meaning=meaning,
        doc=doc,
        tolerance=_BACKWARD,
    )


def _qr(rows: int, columns: int, complete: bool) -> tuple[Result, ...]:
    inner = rows if complete else min(rows, columns)
    return ((rows, inner), _SAME), ((inner, columns), _SAME)


def _svd(rows: int, columns: int, complete: bool) -> tuple[Result, ...]:
    inner = min(rows, columns)
    left, right = (rows, columns) if complete else (inner, inner)
    return ((rows, left), _SAME), ((inner,), _REAL), ((right, columns), _SAME)


def _solve_shape(x: Any, y: Any) -> Shape:
    _expect("solve", x)
    _expect("solve", y, "y")
    if x.shape[-1] != x.shape[-2] or x.shape[:-1] != y.shape[:-1]:
        raise ValueError(
            f"solve: shapes {x.shape} and {y.shape} must be (…, n, n) and (…, n, k) with the same leading extents"
        )
    return y.shape  # type: ignore[no-any-return]


def _solve_dtype(x: Any, y: Any) -> Any:
    _expect("solve", x)
    if x.dtype != y.dtype:
        raise TypeError(f"solve: the operands have dtypes {x.dtype} and {y.dtype}, but must have one dtype")
    return x.dtype


ROWS = [
    _of_matrix(
        "cholesky",
        ("x", "upper"),
        lambda n, _, upper: (((n, n), _SAME),),
        lambda x, upper: np.linalg.cholesky(x, upper=upper),
        "The triangular L with L @ L^H = x, or the upper one U with U^H @ U = x; only that triangle of x is read.",
    ),
    _of_matrix("inv", ("x",), lambda n, _: (((n, n), _SAME),), np.linalg.inv, "The inverse."),
    _of_matrix("det", ("x",), lambda *_: (((), _SAME),), np.linalg.det, "The determinant."),
    _of_matrix(
        "slogdet",
        ("x",),
        lambda *_: (((), _SAME), ((), _REAL)),
        np.linalg.slogdet,
        "The sign (complex: the phase) of the determinant, and the logarithm of its magnitude.",
    ),
    _of_matrix(
        "eigh",
        ("x", "triangle"),
        lambda n, _, triangle: (((n,), _REAL), ((n, n), _SAME)),
        lambda x, triangle: np.linalg.eigh(x, UPLO=triangle),
        "The ascending eigenvalues and the eigenvectors of a Hermitian x, of which one triangle, L or U, is read.",
    ),
    _of_matrix(
        "eigvalsh",
        ("x", "triangle"),
        lambda n, _, triangle: (((n,), _REAL),),
        lambda x, triangle: np.linalg.eigvalsh(x, UPLO=triangle),
        "The ascending eigenvalues of a Hermitian x, of which one triangle, L or U, is read.",
    ),
    _of_matrix(
        "qr",
        ("x", "complete"),
        _qr,
        lambda x, complete: np.linalg.qr(x, mode="complete" if complete else "reduced"),
        "The orthonormal columns Q and the upper triangular R with Q @ R = x; complete: Q is square.",
        square=False,
    ),
    _of_matrix(
        "svd",
        ("x", "complete"),
        _svd,
        lambda x, complete: np.linalg.svd(x, full_matrices=complete),
        "U, the descending singular values s, and V^H, with (U * s) @ V^H = x; complete: U and V^H are square.",
        square=False,
    ),
    _of_matrix(
        "svdvals",
        ("x",),
        lambda rows, columns: (((min(rows, columns),), _REAL),),
        np.linalg.svdvals,
        "The singular values, descending.",
        square=False,
    ),
    Op(
        name="solve",
        params=("x", "y"),
        arity=2,
        family=Family.FACTORIZATION,
        dtype=_solve_dtype,
        shape=_solve_shape,
        facts={},
        meaning=np.linalg.solve,
        doc="The z with x @ z = y, for stacks of matrices with the same leading extents.",
        tolerance=_BACKWARD,
    ),
]
