"""The factorisations: their results are checked by what defines them."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.testing.elements import layouts, tame
from tests.support.case import Case, Cases, Generator

LAPACK = tuple(np.dtype(name) for name in ("float32", "float64", "complex64", "complex128"))


def of_matrices(define: Callable[..., Cases], *, regular: bool = False) -> Case:
    """An op of stacks of matrices; `define` gives the cases for one stack. `regular`: singular ones have no result."""

    def cases(rng: Generator, dtype: np.dtype) -> Cases:
        for shape in ((3, 3), (2, 3, 3), (0, 0), (0, 2, 2), (1, 1)):
            for name, x in layouts(shape, lambda s: tame(rng, dtype, s)):
                if regular and name == "broadcast" and shape[0] != 1:
                    continue  # its rows are equal
                for what, args, expected in define(x):
                    yield f"{shape} {name} {what}", args, expected

    return Case("", cases, dtypes=LAPACK)


def _close(came: np.ndarray, wanted: np.ndarray, what: str) -> str:
    eps = float(dt.BY_NUMPY[wanted.dtype].eps)
    near = np.allclose(came, wanted, rtol=1000 * eps, atol=1000 * eps)
    return "" if came.dtype == wanted.dtype and came.shape == wanted.shape and near else f"{what}: {came} and {wanted}"


def _adjoint(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(-1, -2).conj()


def _positive(x: np.ndarray) -> np.ndarray:
    return (x @ _adjoint(x) + np.eye(x.shape[-1])).astype(x.dtype)


def _unit(x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), (*x.shape[:-2], x.shape[-1], x.shape[-1]))


def _orthonormal(q: np.ndarray) -> str:
    return _close(_adjoint(q) @ q, _unit(q), "Q^H Q")


def _cholesky(x: np.ndarray) -> Cases:
    x = _positive(x)
    yield (
        "lower",
        (x, False),
        lambda r: _close(r @ _adjoint(r), x, "L L^H") or ("" if not np.triu(r, 1).any() else "not L"),
    )
    yield (
        "upper",
        (x, True),
        lambda r: _close(_adjoint(r) @ r, x, "U^H U") or ("" if not np.tril(r, -1).any() else "not U"),
    )


def _det(x: np.ndarray) -> np.ndarray:
    """By Leibniz's sum over permutations."""
    n = x.shape[-1]
    total = np.zeros(x.shape[:-2], x.dtype)
    for order in itertools.permutations(range(n)):
        sign = (-1) ** sum(a > b for a, b in itertools.combinations(order, 2))
        term = np.full(x.shape[:-2], sign, x.dtype)
        for row, column in enumerate(order):
            term = term * x[..., row, column]
        total = total + term
    return np.asarray(total, x.dtype)


def _hermitian(x: np.ndarray) -> np.ndarray:
    return x + _adjoint(x)


def _svd(x: np.ndarray, complete: bool) -> Cases:
    def check(u: np.ndarray, s: np.ndarray, vh: np.ndarray) -> str:
        inner = min(x.shape[-2:])
        product = (u[..., :, :inner] * s[..., None, :]) @ vh[..., :inner, :]
        extents = (u.shape[-1], vh.shape[-2]) == (x.shape[-2:] if complete else (inner, inner))
        falls = np.all(s[..., :-1] >= s[..., 1:]) and s.dtype == x.real.dtype
        return (
            _close(product.astype(x.dtype), x, "U s V^H") or _orthonormal(u) or _orthonormal(_adjoint(vh))
            or ("" if extents and falls else f"the shapes {u.shape}, {vh.shape} or the order of {s}")
        )  # fmt: skip

    yield f"complete {complete}", (x, complete), lambda results: check(*results)


def _qr(x: np.ndarray, complete: bool) -> Cases:
    def check(q: np.ndarray, r: np.ndarray) -> str:
        wanted = x.shape[-2] if complete else min(x.shape[-2:])
        return (
            _close(q @ r, x, "Q R") or _orthonormal(q)
            or ("" if q.shape[-1] == wanted and not np.tril(r, -1).any() else f"the shape of {q} or {r}")
        )  # fmt: skip

    yield f"complete {complete}", (x, complete), lambda results: check(*results)


def _tall(define: Callable[[np.ndarray, bool], Cases]) -> Callable[[np.ndarray], Cases]:
    def cases(x: np.ndarray) -> Cases:
        for matrix, complete in itertools.product((x, x[..., :2], x[..., :2, :]), (False, True)):
            yield from define(matrix, complete)

    return cases


def _eigh(x: np.ndarray) -> Cases:
    for triangle in "LU":
        full = _hermitian(x)
        half = (np.tril if triangle == "L" else np.triu)(full)  # the other one is not read

        def check(results: Any, full: np.ndarray = full) -> str:
            values, vectors = results
            scaled = (vectors * values[..., None, :]).astype(full.dtype)
            return (
                _close((full @ vectors).astype(full.dtype), scaled, "A V and V w") or _orthonormal(vectors)
                or ("" if np.all(values[..., :-1] <= values[..., 1:]) else f"the order of {values}")
            )  # fmt: skip

        yield triangle, (half, triangle), check


def _eigvalsh(x: np.ndarray) -> Cases:
    full = _hermitian(x)
    for triangle in "LU":
        yield triangle, (full, triangle), lambda r: _close(r, np.linalg.eigh(full)[0], "eigenvalues")


def _slogdet(x: np.ndarray) -> Cases:
    def check(results: Any) -> str:
        sign, log = results
        right = sign.dtype == x.dtype and log.dtype == x.real.dtype
        return (
            _close((sign * np.exp(log)).astype(x.dtype), _det(x), "determinant")
            if right
            else f"{sign.dtype}, {log.dtype}"
        )

    yield "", (x,), check


FACTORIZATIONS: dict[str, Case] = {
    "cholesky": of_matrices(_cholesky),
    "inv": of_matrices(lambda x: iter([("", (x,), lambda r: _close(r @ x, _unit(x), "x^-1 x"))]), regular=True),
    "det": of_matrices(lambda x: iter([("", (x,), lambda r: _close(r, _det(x), "determinant"))])),
    "slogdet": of_matrices(_slogdet),
    "eigh": of_matrices(_eigh),
    "eigvalsh": of_matrices(_eigvalsh),
    "qr": of_matrices(_tall(_qr)),
    "svd": of_matrices(_tall(_svd)),
    "svdvals": of_matrices(
        lambda x: iter([("", (x,), lambda r: _close(r**2, np.linalg.eigh(_adjoint(x) @ x)[0][..., ::-1], "squares"))])
    ),
    "solve": of_matrices(
        lambda x: iter([("", (x, x[..., :2].copy()), lambda r: _close(x @ r, x[..., :2], "x z"))]), regular=True
    ),
}
