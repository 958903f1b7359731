"""Linear algebra against NumPy: eager, and traced through the evaluator.

Products of arrays whose elements are small whole numbers are exact in every dtype, whatever order BLAS adds in, so they
are compared bit for bit. Where elements are random floats, two orders of a sum of n products may differ by some n units
in the last place of the sum of the magnitudes: that is what `close` allows. What LAPACK computes is one call on both
sides, so it is the same, bit for bit.
"""

import math
import string
from functools import partial

import numpy as np
import pytest

import lamina
from lamina.api import linalg
from lamina.expr import OPS
from lamina.expr.ops import factorization

EXACT = ["bool", "int8", "uint8", "int64", "uint32", "float32", "float64", "complex64", "complex128"]
LAPACK = ["float32", "float64", "complex64", "complex128"]


def whole(rng, shape, dtype, low=-4):
    """Small whole numbers, so that sums of products are exact (narrow integers wrap)."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.3
    values = rng.integers(0 if dtype.kind == "u" else low, 5, shape)
    return (values + 1j * rng.integers(low, 5, shape) if dtype.kind == "c" else values).astype(dtype)


def same(actual, expected):
    assert np.asarray(actual).dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(actual), expected)


def close(scale):
    """Compares floats up to an error in units of the last place of `scale`."""

    def compare(actual, expected):
        assert np.asarray(actual).dtype == expected.dtype
        assert actual.shape == expected.shape
        np.testing.assert_allclose(
            np.asarray(actual), expected, rtol=0, atol=scale * np.finfo(expected.dtype).eps, equal_nan=True
        )

    return compare


def leaves(result):
    return list(result) if isinstance(result, tuple) else [result]


def agree(ours, theirs, *args, compare=same):
    """Eager and traced, ours is theirs: elements, dtype, shape, and traced also whether it is a scalar.

    The nodes of the graph say so too.
    """
    with np.errstate(all="ignore"):
        expected = leaves(theirs(*args))
    eager = leaves(ours(*map(lamina.asarray, args)))
    traced = leaves(lamina.defn(ours)(*args))
    nodes = leaves(lamina.trace(ours, *args).outputs)
    assert len(eager) == len(traced) == len(nodes) == len(expected)
    assert [(node.dtype.numpy, node.shape) for node in nodes] == [(each.dtype, each.shape) for each in expected]
    for i, each in enumerate(expected):
        assert isinstance(eager[i], lamina.Array)
        compare(eager[i], each)
        compare(traced[i], each)
        assert isinstance(traced[i], np.generic) == isinstance(each, np.generic), type(traced[i])


def refused(ours, theirs, *args):
    """Both raise: ours an error of the same class or a child of it."""
    with pytest.raises((ValueError, TypeError, IndexError)) as raised:
        theirs(*args)
    with pytest.raises(raised.type):
        ours(*map(lamina.asarray, args))
    with pytest.raises(raised.type):
        lamina.defn(ours)(*args)


# Products

MATMUL_SHAPES = [
    ((3,), (3,)),
    ((0,), (0,)),
    ((3,), (3, 2)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((0, 3), (3, 2)),
    ((2, 3), (3, 0)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((3,), (5, 3, 2)),
    ((5, 2, 3), (3,)),
    ((0, 2, 3), (3, 4)),
]


@pytest.mark.parametrize("dtype", [*EXACT, "float16"])
@pytest.mark.parametrize(("left", "right"), MATMUL_SHAPES)
def test_matmul(rng, dtype, left, right):
    agree(linalg.matmul, np.matmul, whole(rng, left, dtype), whole(rng, right, dtype))


@pytest.mark.parametrize(
    ("left", "right"),
    [("int8", "uint8"), ("int64", "uint64"), ("bool", "int16"), ("int32", "float32"), ("float32", "complex64")],
)
def test_products_promote(rng, left, right):
    x, y = whole(rng, (2, 3), left), whole(rng, (3, 2), right)
    for name in ("matmul", "tensordot", "dot", "inner", "kron", "vecdot"):
        ours, theirs = getattr(linalg, name), getattr(np, name)
        if name == "tensordot":
            agree(lambda a, b: lamina.tensordot(a, b, axes=1), lambda a, b: np.tensordot(a, b, axes=1), x, y)
        elif name in ("inner", "vecdot"):
            agree(ours, theirs, x, y.T)
        else:
            agree(ours, theirs, x, y)


def test_integers_wrap():
    x = np.full((2, 50), 100, np.int8)
    agree(linalg.matmul, np.matmul, x, x.T)
    assert linalg.matmul(x, x.T)[0, 0] == np.int64(50 * 100 * 100).astype(np.int8)


def test_matmul_of_views(rng):
    x, y = whole(rng, (6, 8), "float64"), whole(rng, (8, 6), "float64")
    for a, b in ((x.T, y.T), (x[::2], y[:, ::-1]), (x[:, ::-2], y[1::2, ::3]), (np.broadcast_to(x[0], (3, 8)), y)):
        agree(linalg.matmul, np.matmul, a, b)


def test_matmul_of_random_floats(rng):
    for dtype in ("float32", "float64", "complex128"):
        x, y = rng.standard_normal((40, 70)).astype(dtype), rng.standard_normal((70, 30)).astype(dtype)
        scale = 70 * float((np.abs(x) @ np.abs(y)).max())
        agree(linalg.matmul, np.matmul, x, y, compare=close(scale))
        agree(linalg.vecdot, np.vecdot, x, y.T[:1] * x[:, :1] * 0 + y.T[:1], compare=close(scale))


@pytest.mark.parametrize(
    ("left", "right"), [((), (3,)), ((3,), ()), ((3,), (4,)), ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 4)), ((3, 3), (2,))]
)
def test_matmul_refuses(left, right):
    refused(linalg.matmul, np.matmul, np.ones(left), np.ones(right))


def test_narrow_dtypes():
    x = lamina.asarray([[1, -2], [3, 4]], dtype="int4")
    product = linalg.matmul(x, x)
    assert product.dtype == lamina.int4
    wrapped = (np.array([[1, -2], [3, 4]]) @ [[1, -2], [3, 4]] + 8) % 16 - 8
    assert product.tolist() == wrapped.tolist()
    y = linalg.matmul(lamina.asarray([[1.0, 2.0]], dtype="bfloat16"), lamina.asarray([3.0, 4.0], dtype="bfloat16"))
    assert y.dtype == lamina.bfloat16 and y.tolist() == [11.0]


AXES = [
    ((2, 3, 4), (3, 4, 5), 2),
    ((2, 3), (4, 5), 0),
    ((3, 4), (3, 4), ((0, 1), (0, 1))),
    ((2, 3, 4), (5, 4, 3), ((1, 2), (2, 1))),
    ((2, 3, 4), (5, 4, 3), ([-1], [-2])),
    ((2, 3), (3, 2), (1, 0)),
    ((2, 0), (0, 3), 1),
    ((), (3,), 0),
]


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize(("left", "right", "axes"), AXES)
def test_tensordot(rng, dtype, left, right, axes):
    x, y = whole(rng, left, dtype), whole(rng, right, dtype)
    agree(lambda a, b: linalg.tensordot(a, b, axes=axes), lambda a, b: np.tensordot(a, b, axes=axes), x, y)


@pytest.mark.parametrize(
    ("left", "right", "axes"),
    [
        ((2, 3), (2, 3), 1),
        ((2, 3), (3, 2), ((0, 1), (0,))),
        ((2, 3), (3, 2), 3),
        ((2, 3), (3, 2), (5, 0)),
        ((3, 3), (3, 3), ((0, 0), (0, 1))),
    ],
)
def test_tensordot_refuses(left, right, axes):
    refused(
        lambda a, b: linalg.tensordot(a, b, axes=axes),
        lambda a, b: np.tensordot(a, b, axes=axes),
        np.ones(left),
        np.ones(right),
    )


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [
        ((3,), (3,), -1),
        ((2, 3), (3,), -1),
        ((4, 1, 3), (2, 3), -1),
        ((3, 2), (3, 2), 0),
        ((3, 2), (3, 2), -2),
        ((5, 3, 2), (3, 2), -2),
        ((2, 0), (2, 0), 1),
    ],
)
def test_vecdot(rng, dtype, left, right, axis):
    x, y = whole(rng, left, dtype), whole(rng, right, dtype)
    agree(lambda a, b: linalg.vecdot(a, b, axis=axis), lambda a, b: np.vecdot(a, b, axis=axis), x, y)


def test_vecdot_refuses():
    refused(linalg.vecdot, np.vecdot, np.ones(3), np.ones(1))
    refused(linalg.vecdot, np.vecdot, np.ones(()), np.ones(3))
    refused(linalg.vecdot, np.vecdot, np.ones((2, 3)), np.ones((4, 3)))
    refused(lambda a, b: linalg.vecdot(a, b, axis=2), lambda a, b: np.vecdot(a, b, axis=2), np.ones(3), np.ones(3))


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize(
    ("left", "right"),
    [((), ()), ((), (3,)), ((2, 3), ()), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((0,), (0,))],
)
def test_dot_inner_kron(rng, dtype, left, right):
    x, y = whole(rng, left, dtype), whole(rng, right, dtype)
    agree(linalg.dot, np.dot, x, y)
    agree(linalg.kron, np.kron, x, y)
    agree(linalg.inner, np.inner, x, y.T)


def test_dot_and_inner_do_not_broadcast(rng):
    x, y = whole(rng, (2, 3, 4), "int64"), whole(rng, (5, 4, 2), "int64")
    agree(linalg.dot, np.dot, x, y)
    agree(linalg.inner, np.inner, x, y.mT)
    agree(linalg.kron, np.kron, x, y[0])
    agree(linalg.kron, np.kron, y[0], x)
    refused(linalg.dot, np.dot, x, x)
    refused(linalg.inner, np.inner, x, y)


@pytest.mark.parametrize("name", ["dot", "inner", "kron", "outer"])
def test_a_python_number_is_an_array_of_its_own_dtype(name):
    x = np.array([1, 2], np.float32)
    if name != "outer":
        same(getattr(linalg, name)(x, 2.0), getattr(np, name)(x, 2.0))
        same(lamina.defn(getattr(linalg, name))(x, 2.0), getattr(np, name)(x, 2.0))
    same(
        lamina.defn(lambda a, n: np.asarray(getattr(np, name)(np.float32([1, 2]), 2.0)))(x, 2.0),
        getattr(np, name)(x, 2.0),
    )


@pytest.mark.parametrize("dtype", EXACT)
def test_outer(rng, dtype):
    agree(linalg.outer, np.linalg.outer, whole(rng, 3, dtype), whole(rng, 4, dtype))
    agree(linalg.outer, np.linalg.outer, whole(rng, 0, dtype), whole(rng, 4, dtype))
    refused(linalg.outer, np.linalg.outer, whole(rng, (2, 2), dtype), whole(rng, 4, dtype))


@pytest.mark.parametrize("dtype", [dtype for dtype in EXACT if dtype != "bool"])
@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [((3,), (3,), -1), ((2, 3), (3,), -1), ((4, 1, 3), (2, 3), -1), ((3, 2), (3, 2), 0), ((3, 2), (3, 2), -2)],
)
def test_cross(rng, dtype, left, right, axis):
    x, y = whole(rng, left, dtype), whole(rng, right, dtype)
    agree(lambda a, b: linalg.cross(a, b, axis=axis), lambda a, b: np.linalg.cross(a, b, axis=axis), x, y)


def test_cross_refuses():
    refused(linalg.cross, np.linalg.cross, np.ones(2), np.ones(2))
    refused(linalg.cross, np.linalg.cross, np.ones((2, 3)), np.ones((4, 3)))


# Matrices


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (4, 2, 3), (0, 3), (3, 0), (1, 1), (1, 4), (5, 3, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "complex128"])
def test_transpose_diagonal_trace(rng, shape, dtype):
    x = whole(rng, shape, dtype)
    agree(linalg.matrix_transpose, np.matrix_transpose, x)
    for offset in range(-4, 5):
        agree(lambda a, k=offset: linalg.diagonal(a, offset=k), lambda a, k=offset: np.linalg.diagonal(a, offset=k), x)
        agree(lambda a, k=offset: linalg.trace(a, offset=k), lambda a, k=offset: np.linalg.trace(a, offset=k), x)
    agree(lambda a: linalg.trace(a, dtype="float64"), lambda a: np.linalg.trace(a, dtype="complex128").real, x.real)


def test_the_diagonal_of_a_view_and_the_methods(rng):
    x = whole(rng, (3, 4, 5), "int64")
    for view in (x.T, x[::-1, :, ::2], np.broadcast_to(x[0], (2, 4, 5))):
        agree(linalg.diagonal, np.linalg.diagonal, view)
    agree(lambda a: a.diagonal(1, 0, 2), lambda a: a.diagonal(1, 0, 2), x)
    agree(lambda a: a.trace(-1, 2, 0), lambda a: a.trace(-1, 2, 0), x)
    agree(lambda a: a.mT @ a, lambda a: a.mT @ a, x)
    agree(lambda a: a.dot(a[0].T), lambda a: a.dot(a[0].T), x)
    agree(lambda a: a[0] @ [1, 2, 3, 4, 5], lambda a: a[0] @ [1, 2, 3, 4, 5], x)


@pytest.mark.parametrize("function", ["matrix_transpose", "diagonal", "trace", "det", "svdvals"])
def test_a_vector_is_no_matrix(function):
    refused(getattr(linalg, function), getattr(np.linalg, function), np.ones(3))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "complex64"])
def test_matrix_power(rng, dtype):
    x = whole(rng, (2, 3, 3), dtype, low=-1)
    for n in range(7):
        agree(lambda a, n=n: linalg.matrix_power(a, n), lambda a, n=n: np.linalg.matrix_power(a, n), x)
    y = x + np.eye(3, dtype=dtype) * 7
    for n in (-1, -3):
        agree(
            lambda a, n=n: linalg.matrix_power(a, n), lambda a, n=n: np.linalg.matrix_power(a, n), y, compare=close(1)
        )
    refused(lambda a: linalg.matrix_power(a, 2), lambda a: np.linalg.matrix_power(a, 2), x[:, :2])


# Norms

NORM_CALLS = [
    ((6,), {}),
    ((6,), {"ord": 2}),
    ((6,), {"ord": 1}),
    ((6,), {"ord": 0}),
    ((6,), {"ord": 3}),
    ((6,), {"ord": -2.5}),
    ((6,), {"ord": np.inf, "keepdims": True}),
    ((6,), {"ord": -np.inf}),
    ((), {}),
    ((3, 4), {}),
    ((3, 4), {"keepdims": True}),
    ((3, 4), {"ord": "fro"}),
    ((3, 4), {"ord": "nuc"}),
    *[((3, 4), {"ord": ord}) for ord in (1, -1, 2, -2, np.inf, -np.inf)],
    ((3, 4), {"axis": 0}),
    ((3, 4), {"axis": -1, "ord": 1, "keepdims": True}),
    ((2, 3, 4), {}),
    ((2, 3, 4), {"axis": (0, 2)}),
    *[((2, 3, 4), {"axis": (2, 0), "ord": ord}) for ord in (1, -1, 2, -2, np.inf, -np.inf, "nuc", "fro")],
    ((2, 3, 4), {"axis": (1, 2), "ord": 1, "keepdims": True}),
    ((2, 3, 4), {"axis": (-1,), "ord": 2}),
    ((0, 3), {"axis": 0, "ord": np.inf}),
    ((0, 3), {"ord": np.inf}),
    ((0,), {}),
]


@pytest.mark.parametrize("dtype", ["int64", "bool", *LAPACK])
@pytest.mark.parametrize(("shape", "options"), NORM_CALLS)
def test_norm(rng, dtype, shape, options):
    x = whole(rng, shape, dtype)
    exact = options.get("ord") not in (3, -2.5)  # powers of floats: NumPy has shortcuts for some exponents
    agree(
        lambda a: linalg.norm(a, **options),
        lambda a: np.linalg.norm(a, **options),
        x,
        compare=same if exact else close(20),
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"axis": 1},
        {"axis": (0, 2), "keepdims": True},
        {"axis": 0, "ord": 1},
        {"ord": np.inf},
        {"ord": 0, "axis": 2},
    ],
)
def test_vector_norm(rng, options):
    for dtype in LAPACK:
        x = whole(rng, (2, 3, 4), dtype)
        agree(lambda a: linalg.vector_norm(a, **options), lambda a: np.linalg.vector_norm(a, **options), x)


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_matrix_norm(rng, ord):
    for dtype in LAPACK:
        x = whole(rng, (2, 3, 4), dtype)
        for keepdims in (False, True):
            agree(
                lambda a, keepdims=keepdims: linalg.matrix_norm(a, ord=ord, keepdims=keepdims),
                lambda a, keepdims=keepdims: np.linalg.matrix_norm(a, ord=ord, keepdims=keepdims),
                x,
            )


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((3,), {"ord": "fro"}),
        ((3, 4), {"ord": 3}),
        ((3, 4), {"ord": "wrong"}),
        ((2, 3, 4), {"ord": 2}),
        ((2, 3, 4), {"axis": (0, 0)}),
        ((3, 4), {"axis": 2}),
        ((3, 4), {"axis": "a"}),
        ((0, 3), {"axis": 0, "ord": -np.inf}),
    ],
)
def test_norm_refuses(shape, options):
    refused(lambda a: linalg.norm(a, **options), lambda a: np.linalg.norm(a, **options), np.ones(shape))


# What LAPACK computes


def hermitian(rng, shape, dtype):
    """Positive definite ones."""
    if dtype == "bool":
        return np.broadcast_to(np.eye(shape[-1], dtype=bool), shape)
    x = whole(rng, shape, dtype)
    return x @ x.conj().mT + np.eye(shape[-1], dtype=dtype)


FACTORIZATIONS = {
    "cholesky": [{}, {"upper": True}],
    "det": [{}],
    "eigh": [{}, {"UPLO": "U"}],
    "eigvalsh": [{}, {"UPLO": "U"}],
    "inv": [{}],
    "matrix_rank": [{}, {"rtol": 0.5}],
    "pinv": [{"rtol": None}, {"rtol": 1e-3}],
    "qr": [{}, {"mode": "complete"}],
    "slogdet": [{}],
    "svd": [{}, {"full_matrices": False}],
    "svdvals": [{}],
}


def names_of(result):
    return getattr(result, "_fields", None)


@pytest.mark.parametrize("dtype", [*LAPACK, "int64", "bool"])
@pytest.mark.parametrize("name", FACTORIZATIONS)
def test_factorizations(rng, name, dtype):
    inputs = [hermitian(rng, shape, dtype) for shape in ((3, 3), (2, 4, 4), (1, 1))]
    if name in ("qr", "svd", "svdvals", "pinv", "matrix_rank"):
        inputs += [whole(rng, shape, dtype) for shape in ((3, 4), (2, 4, 3))]
    if name in ("det", "slogdet", "qr", "matrix_rank", "pinv"):
        inputs.append(whole(rng, (2, 0, 0), dtype))
    for options in FACTORIZATIONS[name]:
        ours, theirs = getattr(linalg, name), getattr(np.linalg, name)
        if name == "pinv" and dtype in ("int64", "bool"):
            continue  # NumPy asks for the epsilon of the integer itself, and fails
        compare = close(50) if name == "pinv" else same
        for x in inputs:
            agree(partial(ours, **options), partial(theirs, **options), x, compare=compare)
            assert names_of(ours(x, **options)) == names_of(theirs(x, **options))


@pytest.mark.parametrize("dtype", [*LAPACK, "int64"])
@pytest.mark.parametrize(
    ("left", "right"), [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 2)), ((3, 3), (4, 3, 1)), ((2, 3, 3), (3,))]
)
def test_solve(rng, dtype, left, right):
    agree(linalg.solve, np.linalg.solve, hermitian(rng, left, dtype), whole(rng, right, dtype))


def test_solve_refuses():
    refused(linalg.solve, np.linalg.solve, np.eye(3), np.ones(2))
    refused(linalg.solve, np.linalg.solve, np.eye(3), np.ones(()))
    refused(linalg.solve, np.linalg.solve, np.ones((2, 3)), np.ones(3))


def test_matrices_without_a_result():
    singular = np.ones((2, 2))
    for function, x in ((linalg.inv, singular), (linalg.cholesky, -singular), (lambda a: linalg.solve(a, a), singular)):
        with pytest.raises(np.linalg.LinAlgError):
            function(lamina.asarray(x))
        with pytest.raises(np.linalg.LinAlgError):
            lamina.defn(function)(x)


def test_half_floats_have_no_lapack():
    refused(linalg.inv, np.linalg.inv, np.eye(2, dtype=np.float16))
    with pytest.raises(TypeError, match="float32, float64, complex64, complex128"):
        linalg.svd(np.eye(2, dtype=np.float16))


def test_every_row_of_the_table_is_covered():
    """By a function of the row's name, on stacks of matrices of every dtype."""
    for row in factorization.ROWS:
        assert OPS[row.name] is row
        assert row.name == "solve" or row.name in FACTORIZATIONS


# Einstein summation


def test_einsum_examples(rng):
    x, y, z = (whole(rng, shape, "int64") for shape in ((3, 3), (3, 4), (4, 3)))
    for subscripts, operands in (
        ("ij,jk->ik", (x, y)),
        ("ij,jk", (x, y)),
        ("ba,ac", (x, y)),
        ("ii", (x,)),
        ("ii->i", (x,)),
        ("ij->", (y,)),
        ("ij->ji", (y,)),
        ("ji", (y,)),
        ("i,i", (x[0], x[1])),
        ("i,j", (x[0], y[0])),
        ("ij,jk,kl->il", (x, y, z)),
        ("ij , jk , kl -> li", (x, y, z)),
        ("ij,ij,ij->ij", (x, x, x)),
        ("...j,jk", (x, y)),
        ("...,...", (x, x)),
        ("i...->...", (y,)),
        ("i...i", (np.stack([x, x], 1),)),
        ("", (np.int64(3),)),
        (",ij", (np.int64(3), x)),
        ("Ab,ab", (x, x)),
    ):
        agree(lambda *a, s=subscripts: linalg.einsum(s, *a), lambda *a, s=subscripts: np.einsum(s, *a), *operands)


def test_einsum_of_lists(rng):
    x, y = whole(rng, (3, 4), "int64"), whole(rng, (4, 5), "int64")
    agree(lambda a, b: linalg.einsum(a, [0, 1], b, [1, 2]), lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), x, y)
    agree(
        lambda a, b: linalg.einsum(a, [0, 30], b, [30, 2], [2, 0]),
        lambda a, b: np.einsum(a, [0, 30], b, [30, 2], [2, 0]),
        x,
        y,
    )
    agree(lambda a: linalg.einsum(a, [..., 0], [0, ...]), lambda a: np.einsum(a, [..., 0], [0, ...]), x)


def random_einsum(rng):
    """Subscripts and shapes that fit them."""
    letters = list(rng.permutation(list(string.ascii_letters))[:5])
    extents = {letter: int(rng.integers(0, 5)) if rng.random() < 0.1 else int(rng.integers(1, 5)) for letter in letters}
    broadcast = [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))] if rng.random() < 0.4 else []
    terms, shapes = [], []
    for _ in range(rng.integers(1, 5)):
        term = [str(letter) for letter in rng.choice(letters, rng.integers(0, 4))]
        if rng.random() < 0.7:
            term = list(dict.fromkeys(term))
        shape = [extents[letter] for letter in term]
        for letter in term if rng.random() < 0.2 else ():
            if rng.random() < 0.5:  # an extent of 1 broadcasts, of all the axes of a label
                shape = [1 if each == letter else extent for each, extent in zip(term, shape, strict=True)]
        if broadcast and rng.random() < 0.7:
            at, own = int(rng.integers(0, len(term) + 1)), broadcast[int(rng.integers(0, len(broadcast) + 1)) :]
            shape[at:at] = [1 if rng.random() < 0.2 else extent for extent in own]
            term.insert(at, "...")
        terms.append("".join(term))
        shapes.append(tuple(shape))
    subscripts = ",".join(terms)
    if rng.random() < 0.7:
        used = sorted(set(subscripts) - set(".,"))
        output = list(rng.permutation(used)[: rng.integers(0, len(used) + 1)]) if used else []
        if "..." in subscripts:
            output.insert(int(rng.integers(0, len(output) + 1)), "...")
        subscripts += "->" + "".join(output)
    return subscripts, shapes


def test_random_einsums(rng, long_mode):
    """Repeated labels, broadcasting, ellipses and empty axes, in every dtype, along every path."""
    for _ in range(5_000 if long_mode else 250):
        subscripts, shapes = random_einsum(rng)
        dtype = str(rng.choice(EXACT))
        operands = [whole(rng, shape, dtype, low=-2) for shape in shapes]
        optimize = [True, False, "greedy", "optimal", ("greedy", 4)][int(rng.integers(5))]
        agree(
            lambda *a, s=subscripts, o=optimize: linalg.einsum(s, *a, optimize=o),
            lambda *a, s=subscripts: np.asarray(np.einsum(s, *a))[()],
            *operands,
        )


def test_einsum_takes_a_path_and_a_dtype(rng):
    x, y, z = (whole(rng, shape, "int8") for shape in ((3, 4), (4, 5), (5, 2)))
    for path in (["einsum_path", (1, 2), (0, 1)], ["einsum_path", (0, 1, 2)]):
        agree(
            lambda *a, path=path: linalg.einsum("ij,jk,kl", *a, optimize=path),
            lambda *a: np.einsum("ij,jk,kl", *a),
            x,
            y,
            z,
        )
    agree(
        lambda *a: linalg.einsum("ij,jk,kl", *a, dtype="int64"),
        lambda *a: np.einsum("ij,jk,kl", *a, dtype="int64"),
        x,
        y,
        z,
    )
    refused(
        lambda a: linalg.einsum("ij->j", a, dtype="float32"),
        lambda a: np.einsum("ij->j", a, dtype="float32"),
        x.astype("float64"),
    )
    agree(
        lambda a: linalg.einsum("ij->j", a, dtype="float32", casting="same_kind"),
        lambda a: np.einsum("ij->j", a, dtype="float32", casting="same_kind"),
        x.astype("float64"),
    )


def test_einsum_plans_before_it_contracts():
    """A vector first: no product of the two large matrices is ever made."""
    x = np.ones((200, 30))
    graph = lamina.trace(lambda a, b, v: linalg.einsum("ij,jk,k->i", a, b, v), x, x.T, np.ones(200))
    shapes = [node.shape for node in lamina.tree.post_order(graph.outputs)]
    assert max(math.prod(shape) for shape in shapes) == 200 * 30
    assert [node.op for node in lamina.tree.post_order(graph.outputs)].count("matmul") == 2


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk", [(2, 3)]),
        ("ij", [(2, 3), (2, 3)]),
        ("ij", [(2,)]),
        ("i", [(2, 3)]),
        ("ii", [(2, 3)]),
        ("ii", [(1, 3)]),
        ("ij,jk", [(2, 3), (2, 3)]),
        ("ij->ik", [(2, 3)]),
        ("ij->ii", [(2, 3)]),
        ("i1", [(2, 3)]),
        ("i..", [(2, 3)]),
        ("...i...", [(2, 3)]),
        ("...i->i", [(2, 3)]),
        ("ij->i->j", [(2, 3)]),
        ("i...,i...", [(2, 3), (2, 4)]),
    ],
)
def test_einsum_refuses(subscripts, shapes):
    refused(
        lambda *a: linalg.einsum(subscripts, *a), lambda *a: np.einsum(subscripts, *a), *(np.ones(s) for s in shapes)
    )


def test_einsum_refuses_wrong_lists():
    refused(lambda a: linalg.einsum(a, [0, 60]), lambda a: np.einsum(a, [0, 60]), np.ones((2, 2)))
    refused(lambda a: linalg.einsum(a, ["i", "j"]), lambda a: np.einsum(a, ["i", "j"]), np.ones((2, 2)))
    with pytest.raises(ValueError, match="einsum"):
        linalg.einsum()


def test_errors_name_the_function_and_the_values():
    with pytest.raises(
        ValueError, match=r"lamina\.matmul: the shapes \(2, 3\) and \(2, 3\) don't fit.*test_linalg\.py"
    ):
        linalg.matmul(np.ones((2, 3)), np.ones((2, 3)))
    with pytest.raises(
        ValueError, match=r"lamina\.einsum: the label 'j' has extent 3 in one operand, but 2 in operand 1"
    ):
        linalg.einsum("ij,jk", np.ones((2, 3)), np.ones((2, 3)))


def test_the_namespace_is_complete():
    """Every function of the standard's extension and the products of its main namespace."""
    standard = """
        cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
        pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
    """
    assert set(standard.split()) <= set(linalg.__all__)
    assert all(callable(getattr(linalg, name)) for name in linalg.__all__)
