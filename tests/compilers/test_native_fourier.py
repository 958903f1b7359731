"""Fourier transforms in native code run the loops of NumPy's own functions, so they are NumPy's to the bit."""

import itertools

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.compilers.native.library import has_code
from lamina.program.record import Library, instructions_of


def native(function):
    return lamina.defn(function, compiler="native", strict=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_transforms_are_numpys(name, dtype, rng) -> None:
    if name == "rfft" and dtype.startswith("complex"):
        return
    transform, x = getattr(np.fft, name), rng.standard_normal((4, 5, 6))
    x = (x + 1j * x[::-1]).astype(dtype) if dtype.startswith("complex") else x.astype(dtype)
    for norm, n in itertools.product(("backward", "ortho", "forward"), (1, 4, 9)):

        def f(x, n=n, norm=norm):
            sliced = x[1:, ::-2]
            return [transform(each, n, axis, norm) for each in (x, x.T, sliced, x[0, 0]) for axis in range(each.ndim)]

        for came, expected in zip(native(f)(x), f(x), strict=True):
            assert came.dtype == expected.dtype
            np.testing.assert_array_equal(came, expected)


def test_a_loop_of_transforms_is_native() -> None:
    def f(u, steps):
        for _ in range(steps):
            u = np.fft.irfft(np.fft.rfft(u) * 0.5, u.shape[0])
        return u

    u = np.arange(16.0) % 5
    calls = [
        each for each in instructions_of(planned(lamina.trace(f, u, 30)).program.block) if isinstance(each, Library)
    ]
    assert [each.node.op for each in calls] == ["rfft", "irfft"] and all(map(has_code, calls))
    np.testing.assert_array_equal(native(f)(u, 30), f(u, 30))


def test_arrays_without_elements(rng) -> None:
    def f(x):
        return np.fft.fft(x), np.fft.rfft(x, axis=1), np.fft.irfft(x, 5)

    x = np.empty((0, 4))
    for came, expected in zip(native(f)(x), f(x), strict=True):
        assert (came.dtype, came.shape) == (expected.dtype, expected.shape)
