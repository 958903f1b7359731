"""Discrete Fourier transforms: the module ``lamina.fft``, with the functions of the array API standard's extension.

Integers and bools count as float64; the other dtypes are float16, float32, float64, complex64 and complex128, and as
NumPy has it a real array may be given where the standard wants a complex one. The results are those of `numpy.fft`. In
each function `norm` says which direction has the factor 1/n: "backward" (the default), "forward", or "ortho" for its
root in both.
"""

import operator
from collections.abc import Sequence
from typing import Any, Literal

from lamina import dtype as dt
from lamina.api.creation import arange
from lamina.api.joining import concat
from lamina.api.manipulation import roll
from lamina.expr.ops.fourier import NORMS
from lamina.trace.build import emit, permute, to_dtype
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.order import axes_in, ordered
from lamina.trace.reduction import array_of, axis_of
from lamina.trace.value import Value

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

Norm = Literal["backward", "ortho", "forward"]
Extents = Sequence[int] | None

# NumPy makes complex numbers of these before it transforms them, but for `rfft`.
_TRANSFORMED_AS_COMPLEX = {dt.float64: dt.complex128}
_OTHER_WAY = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _transformable(x: Any) -> Value:
    value = array_of(x)
    return value if value.dtype.kind in ("float", "complex") else to_dtype(value, dt.float64)


def _transform(op: str, value: Value, n: int | None, axis: int, norm: str) -> Value:
    """One axis transformed, in memory of the array's order."""
    if norm not in NORMS:
        raise ValueError(f"norm is {norm!r}, but must be one of {', '.join(map(repr, NORMS))}")
    place = axis_of(axis, value.ndim)
    count = _default(op, value.shape[place]) if n is None else operator.index(n)
    if count < 1:
        raise ValueError(f"the number of elements to transform is {count}, but must be at least 1")
    order = axes_in("K", value)
    if order is not None:
        value, place = permute(value, order), order.index(place)
    if op != "rfft" and value.dtype in _TRANSFORMED_AS_COMPLEX:
        value = to_dtype(value, _TRANSFORMED_AS_COMPLEX[value.dtype])
    made = emit(op, value, count, place, norm)
    return made if order is None else ordered(made, order)


def _default(op: str, extent: int) -> int:
    return 2 * (extent - 1) if op == "irfft" else extent


# One axis


@function
def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """The Fourier transform of an axis, cut to `n` elements or filled up with zeros to so many.

    Element j of n is ``sum(x[k] * exp(-2j*pi*j*k/n) for k in range(n))``. The result is complex.

    Raises AxisError for an axis that isn't there, ValueError for an `n` below 1 and for an unknown `norm`.

    >>> fft([1.0, 0.0, -1.0, 0.0])
    lamina.Array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], shape=(4,), dtype=complex128)
    """
    return _transform("fft", _transformable(x), n, axis, norm)


@function
def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """What `fft` transforms to `x`: the inverse transform of an axis of `n` elements.

    >>> ifft([0, 4, 0, 4])
    lamina.Array([ 2.+0.j,  0.+0.j, -2.+0.j,  0.+0.j], shape=(4,), dtype=complex128)
    """
    return _transform("ifft", _transformable(x), n, axis, norm)


@function
def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """The Fourier transform of an axis of real numbers: the first n // 2 + 1 elements, which the others mirror.

    Raises TypeError for complex numbers.

    >>> rfft([1.0, 0.0, -1.0, 0.0])
    lamina.Array([0.+0.j, 2.+0.j, 0.+0.j], shape=(3,), dtype=complex128)
    """
    return _transform("rfft", _transformable(x), n, axis, norm)


@function
def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """What `rfft` transforms to `x`: n real numbers along an axis, by default twice as many as `x` has, less two.

    >>> irfft([0, 2, 0])
    lamina.Array([ 1.,  0., -1.,  0.], shape=(4,), dtype=float64)
    """
    return _transform("irfft", _transformable(x), n, axis, norm)


@function
def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """The real Fourier transform of an axis of which the first n // 2 + 1 elements are given; the others mirror them.

    >>> hfft([1, 1j, 0])
    lamina.Array([ 1.,  3.,  1., -1.], shape=(4,), dtype=float64)
    """
    return _transform("irfft", _conjugate(_transformable(x)), n, axis, _other_way(norm))


@function
def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Any:
    """What `hfft` transforms to `x`: the first n // 2 + 1 elements, of which the others are mirrors.

    >>> ihfft([1.0, 3.0, 1.0, -1.0])
    lamina.Array([1.-0.j, 0.+1.j, 0.-0.j], shape=(3,), dtype=complex128)
    """
    return _conjugate(_transform("rfft", _transformable(x), n, axis, _other_way(norm)))


def _conjugate(value: Value) -> Value:
    return elementwise("conj", value)


def _other_way(norm: str) -> str:
    return _OTHER_WAY.get(norm, norm)


# Several axes


@function
def fftn(x: Any, /, *, s: Extents = None, axes: Extents = None, norm: Norm = "backward") -> Any:
    """The Fourier transform of several axes (all of them; the last ones, if only `s` is given), of `s` elements each.

    Raises ValueError where `s` and `axes` aren't as many.

    >>> fftn([[1, 0], [0, 0]]).shape
    (2, 2)
    """
    return _all("fft", _transformable(x), s, axes, norm)


@function
def ifftn(x: Any, /, *, s: Extents = None, axes: Extents = None, norm: Norm = "backward") -> Any:
    """What `fftn` transforms to `x`.

    >>> ifftn([[4, 0], [0, 0]])[0, 1]
    lamina.Array(1.+0.j, shape=(), dtype=complex128)
    """
    return _all("ifft", _transformable(x), s, axes, norm)


def _all(op: str, value: Value, s: Extents, axes: Extents, norm: str) -> Value:
    for n, axis in reversed(_axes(value, s, axes)):
        value = _transform(op, value, n, axis, norm)
    return value


@function
def rfftn(x: Any, /, *, s: Extents = None, axes: Extents = None, norm: Norm = "backward") -> Any:
    """The Fourier transform of several axes of real numbers, of whose last one only the first n // 2 + 1 are given.

    >>> rfftn([[1.0, 0.0], [0.0, 0.0]]).shape
    (2, 2)
    """
    value = _transformable(x)
    *outer, (n, axis) = _some(_axes(value, s, axes))
    value = _transform("rfft", value, n, axis, norm)
    for n, axis in reversed(outer):
        value = _transform("fft", value, n, axis, norm)
    return value


@function
def irfftn(x: Any, /, *, s: Extents = None, axes: Extents = None, norm: Norm = "backward") -> Any:
    """What `rfftn` transforms to `x`; the last axis has by default twice as many elements as in `x`, less two.

    >>> irfftn([[4, 0], [0, 0]], s=(2, 2), axes=(0, 1))
    lamina.Array([[1., 1.],
                  [1., 1.]], shape=(2, 2), dtype=float64)
    """
    value = _transformable(x)
    *outer, (n, axis) = _some(_axes(value, s, axes))
    for each, along in outer:
        value = _transform("ifft", value, each, along, norm)
    return _transform("irfft", value, None if s is None else n, axis, norm)


def _axes(value: Value, s: Extents, axes: Extents) -> list[tuple[int, int]]:
    """How many elements of which axes, in order; an extent of -1 is the array's own."""
    if axes is None:
        axes = range(value.ndim) if s is None else range(-len(s), 0)
    places = [axis_of(axis, value.ndim) for axis in axes]
    extents = [-1] * len(places) if s is None else [operator.index(n) for n in s]
    if len(extents) != len(places):
        raise ValueError(f"s has {len(extents)} extents, but there are {len(places)} axes")
    return [(value.shape[place] if n == -1 else n, place) for n, place in zip(extents, places, strict=True)]


def _some(axes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    if not axes:
        raise ValueError("a real transform needs an axis, but there is none")
    return axes


@function
def fft2(x: Any, /, *, s: Extents = None, axes: Extents = (-2, -1), norm: Norm = "backward") -> Any:
    """The Fourier transform of two axes; see `fftn`.

    >>> fft2([[1, 0], [0, 0]]).shape
    (2, 2)
    """
    return fftn(x, s=s, axes=axes, norm=norm)


@function
def ifft2(x: Any, /, *, s: Extents = None, axes: Extents = (-2, -1), norm: Norm = "backward") -> Any:
    """What `fft2` transforms to `x`.

    >>> ifft2([[4, 0], [0, 0]]).shape
    (2, 2)
    """
    return ifftn(x, s=s, axes=axes, norm=norm)


@function
def rfft2(x: Any, /, *, s: Extents = None, axes: Extents = (-2, -1), norm: Norm = "backward") -> Any:
    """The Fourier transform of two axes of real numbers; see `rfftn`.

    >>> rfft2([[1.0, 0.0], [0.0, 0.0]]).shape
    (2, 2)
    """
    return rfftn(x, s=s, axes=axes, norm=norm)


@function
def irfft2(x: Any, /, *, s: Extents = None, axes: Extents = (-2, -1), norm: Norm = "backward") -> Any:
    """What `rfft2` transforms to `x`; see `irfftn`.

    >>> irfft2([[4, 0], [0, 0]]).shape
    (2, 2)
    """
    return irfftn(x, s=s, axes=axes, norm=norm)


# Beside the transforms


@function
def fftfreq(n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of a transform of n samples that are `d` apart, in cycles per unit of `d`.

    >>> fftfreq(4, d=0.5)
    lamina.Array([ 0. ,  0.5, -1. , -0.5], shape=(4,), dtype=float64)
    """
    count = _count(n)
    places = concat([arange((count - 1) // 2 + 1, device=device), arange(-(count // 2), 0)])
    return _frequencies(places, count, d, dtype)


@function
def rfftfreq(n: int, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the elements of `rfft` of n samples that are `d` apart, in cycles per unit of `d`.

    >>> rfftfreq(4, d=0.5)
    lamina.Array([0. , 0.5, 1. ], shape=(3,), dtype=float64)
    """
    count = _count(n)
    return _frequencies(arange(count // 2 + 1, device=device), count, d, dtype)


def _count(n: Any) -> int:
    try:
        return operator.index(n)
    except TypeError as error:
        raise ValueError(f"n should be an integer, but it is {n!r}") from error


def _frequencies(places: Any, n: int, d: Any, dtype: Any) -> Any:
    made = elementwise("multiply", places, elementwise("divide", 1.0, elementwise("multiply", n, d)))
    return made if dtype is None else to_dtype(made, dt.from_numpy(dtype))


@function
def fftshift(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """The array with the second half of each axis (all of them) before the first: frequency 0 is in the middle.

    >>> fftshift([0, 1, 2, -2, -1])
    lamina.Array([-2, -1,  0,  1,  2], shape=(5,), dtype=int64)
    """
    return _shifted(x, axes, lambda extent: extent // 2)


@function
def ifftshift(x: Any, /, *, axes: int | Sequence[int] | None = None) -> Any:
    """What undoes `fftshift`.

    >>> ifftshift([-2, -1, 0, 1, 2])
    lamina.Array([ 0,  1,  2, -2, -1], shape=(5,), dtype=int64)
    """
    return _shifted(x, axes, lambda extent: -(extent // 2))


def _shifted(x: Any, axes: int | Sequence[int] | None, by: Any) -> Any:
    value = array_of(x)
    chosen = range(value.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    places = tuple(axis_of(axis, value.ndim) for axis in chosen)
    return roll(value, tuple(by(value.shape[place]) for place in places), axis=places)
