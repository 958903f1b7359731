"""Rows of discrete Fourier transforms along one axis.

Of n elements x, a forward transform has the elements ``sum(x[k] * exp(-2j*pi*j*k/n) for k in range(n))``; the inverse
one has the other sign in the exponent, and a factor of 1/n. An axis is cut to `n` elements before, or filled up with
zeros. `norm` says which direction has the factor: "backward" the inverse one, "forward" the forward one, "ortho" both
its root. The results are those of `numpy.fft` (pocketfft).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr.ops.row import Family, Op, Shape, Tolerance

# The dtypes that NumPy's transforms have, with that of a complex result and that of a real one.
RESULTS = {
    dt.float16: (dt.complex64, dt.float16),
    dt.float32: (dt.complex64, dt.float32),
    dt.float64: (dt.complex128, dt.float64),
    dt.complex64: (dt.complex64, dt.float32),
    dt.complex128: (dt.complex128, dt.float64),
}
NORMS = ("backward", "ortho", "forward")

_STABLE = Tolerance(16)  # of a transform in O(n log n) steps, whose error grows with log n


def _row(name: str, doc: str, *, of_real: bool = False, to_real: bool = False) -> Op:
    """A row of ``name(x, n, axis, norm)``."""
    meaning: Callable[..., Any] = getattr(np.fft, name)

    def dtype(x: Any, n: int, axis: int, norm: str) -> DType:
        results = RESULTS.get(x.dtype)
        if results is None or (of_real and x.dtype.kind == "complex"):
            known = [each for each in RESULTS if not (of_real and each.kind == "complex")]
            raise TypeError(f"{name}: x is {x.dtype}, but must be one of {', '.join(map(str, known))}")
        return results[to_real]

    def shape(x: Any, n: int, axis: int, norm: str) -> Shape:
        if n < 1:
            raise ValueError(f"{name}: the number of elements is {n}, but must be at least 1")
        if not 0 <= axis < len(x.shape):
            raise ValueError(f"{name}: axis {axis} is not one of the {len(x.shape)} axes of x")
        if norm not in NORMS:
            raise ValueError(f"{name}: norm is {norm!r}, but must be one of {', '.join(map(repr, NORMS))}")
        extent = n // 2 + 1 if of_real else n
        return (*x.shape[:axis], extent, *x.shape[axis + 1 :])

    return Op(
        name=name,
        params=("x", "n", "axis", "norm"),
        arity=1,
        family=Family.FOURIER,
        dtype=dtype,
        shape=shape,
        facts={},
        meaning=meaning,
        doc=doc,
        tolerance=_STABLE,
    )


ROWS = [
    _row("fft", "The forward Fourier transform of n elements of an axis."),
    _row("ifft", "The inverse Fourier transform of n elements of an axis."),
    _row(
        "rfft",
        "The first n // 2 + 1 elements of the forward transform of real x; they determine the rest.",
        of_real=True,
    ),
    _row("irfft", "What `rfft` transforms to x: n real elements, of which x has the first n // 2 + 1.", to_real=True),
]
