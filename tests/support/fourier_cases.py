"""The Fourier transforms, by the sum that defines them."""

import itertools
from collections.abc import Callable

import numpy as np

from lamina import dtype as dt
from lamina.testing.elements import layouts, tame
from tests.support.case import Case, Cases, Generator

REAL = tuple(np.dtype(name) for name in ("float16", "float32", "float64"))
COMPLEX = tuple(np.dtype(name) for name in ("complex64", "complex128"))

Line = np.ndarray  # the elements of one axis
_FACTORS = {"backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}  # powers of n, of each direction


def by_sum(line: Line, n: int, norm: str, *, inverse: bool = False) -> Line:
    """The transform of the first n elements, or of all of them and zeros."""
    held = np.zeros(n, np.complex128)
    held[: len(line)] = line[:n]
    k = np.arange(n)
    waves = np.exp((2j if inverse else -2j) * np.pi * (np.outer(k, k) % n) / n)
    return np.asarray(waves @ held * float(n) ** _FACTORS[norm][inverse])


def _half(line: Line, n: int, norm: str) -> Line:
    return by_sum(line, n, norm)[: n // 2 + 1]


def _from_half(line: Line, n: int, norm: str) -> Line:
    half = np.zeros(n // 2 + 1, np.complex128)
    half[: len(line)] = line[: n // 2 + 1]
    mirrored = [half[j] if j <= n // 2 else half[n - j].conjugate() for j in range(n)]
    mirrored[0] = mirrored[0].real  # what must be real is taken to be
    if n % 2 == 0:
        mirrored[n // 2] = mirrored[n // 2].real
    return by_sum(np.array(mirrored), n, norm, inverse=True).real


def _close(wanted: np.ndarray, dtype: np.dtype) -> Callable[[np.ndarray], str]:
    eps = float(dt.BY_NUMPY[dtype].eps)  # NumPy rounds the factor to the operand's dtype

    def check(came: np.ndarray) -> str:
        size = max(np.abs(wanted).max(initial=0.0), 1.0)
        is_right = came.shape == wanted.shape and np.all(np.abs(came - wanted) <= 32 * eps * size)
        return "" if is_right else f"{came} came, {wanted} was expected"

    return check


def _transform(oracle: Callable[[Line, int, str], Line], dtypes: tuple[np.dtype, ...]) -> Case:
    def cases(rng: Generator, dtype: np.dtype) -> Cases:
        for shape, norm in itertools.product(((6,), (3, 5), (1, 4), (0, 4)), _FACTORS):
            for name, x in layouts(shape, lambda s: tame(rng, dtype, s)):
                for axis, n in itertools.product(range(x.ndim), (1, 4, 5, 7)):
                    lines = np.moveaxis(x, axis, -1)
                    found = [oracle(line, n, norm) for line in lines.reshape(-1, lines.shape[-1])] if x.size else []
                    extent = len(oracle(np.zeros(1), n, norm))
                    wanted = np.array(found).reshape(*lines.shape[:-1], extent) if x.size or x.shape[axis] else None
                    if wanted is not None:
                        yield (
                            f"{shape} {name} {axis} {n} {norm}",
                            (x, n, axis, norm),
                            _close(np.moveaxis(wanted, -1, axis), dtype),
                        )

    return Case("", cases, dtypes=dtypes)


FOURIER = {
    "fft": _transform(by_sum, (*REAL, *COMPLEX)),
    "ifft": _transform(lambda line, n, norm: by_sum(line, n, norm, inverse=True), (*REAL, *COMPLEX)),
    "rfft": _transform(_half, REAL),
    "irfft": _transform(_from_half, (*REAL, *COMPLEX)),
}
