"""Fourier transforms, against NumPy's own and against the sum that defines them."""

import itertools

import numpy as np
import pytest

import lamina
from lamina import fft
from tests.support.fourier_cases import by_sum

NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
OF_REAL = {"rfft", "ihfft", "rfftn", "rfft2"}
DTYPES = ("bool", "int32", "uint8", "float16", "float32", "float64", "complex64", "complex128")


def arrays(rng, dtype, shape=(3, 6, 4)):
    x = (rng.standard_normal(shape) * 4 + 1j * rng.standard_normal(shape)).astype(dtype if dtype[0] == "c" else "c16")
    x = x if dtype[0] == "c" else x.real.astype(dtype)
    yield x
    yield x.T
    yield x[:, ::-2]
    yield np.asfortranarray(x)


def same(came, wanted):
    came = came.to_numpy() if isinstance(came, lamina.Array) else came
    assert (came.dtype, came.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(came, wanted)


@pytest.fixture
def rng():
    return np.random.default_rng(11)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_one_axis_is_numpys(rng, name, dtype):
    ours, numpys = getattr(fft, name), getattr(np.fft, name)
    for x in arrays(rng, dtype):
        if name in OF_REAL and dtype[0] == "c":
            with pytest.raises(TypeError, match=r"complex.*must be one of"):
                ours(x)
            continue
        for axis, n, norm in itertools.product((-1, 1), (None, 3, 8), ("backward", "ortho", "forward")):
            if n is None and x.shape[axis] < 2 and name in ("irfft", "hfft"):
                continue
            same(ours(x, n=n, axis=axis, norm=norm), numpys(x, n, axis, norm))
            traced = lamina.defn(lambda a, f=numpys, n=n, axis=axis, norm=norm: f(a, n, axis, norm=norm), strict=True)
            wanted = numpys(x, n, axis, norm=norm)
            same(traced(x), wanted)
            assert traced(x).strides == wanted.strides


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2"])
def test_several_axes_are_numpys(rng, name, dtype):
    if name in OF_REAL and dtype[0] == "c":
        return
    ours, numpys = getattr(fft, name), getattr(np.fft, name)
    for x in arrays(rng, dtype):
        for s, axes in ((None, (0, 2)), ((3, 5), (-1, 0)), ((-1, 2), (2, 1)), (None, (1,)), ((4, 4, 4), (0, 1, 2))):
            for norm in ("backward", "ortho"):
                same(ours(x, s=s, axes=axes, norm=norm), numpys(x, s, axes, norm))
        same(ours(x), numpys(x))
        same(lamina.defn(lambda a, f=numpys: f(a), strict=True)(x), numpys(x))


def test_of_the_sum_that_defines_it(rng):
    x = rng.standard_normal(12) + 1j * rng.standard_normal(12)
    np.testing.assert_allclose(fft.fft(x).to_numpy(), by_sum(x, 12, "backward"), rtol=1e-13)
    np.testing.assert_allclose(fft.ifft(fft.fft(x)).to_numpy(), x, rtol=1e-13)
    np.testing.assert_allclose(fft.irfft(fft.rfft(x.real), n=12).to_numpy(), x.real, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies_and_shifts(n):
    for d in (1.0, 0.1, 3):
        same(fft.fftfreq(n, d=d), np.fft.fftfreq(n, d))
        same(fft.rfftfreq(n, d=d), np.fft.rfftfreq(n, d))
    assert fft.fftfreq(n, dtype=lamina.float32).dtype == np.float32
    x = np.arange(3 * n).reshape(3, n)
    for axes in (None, 0, (0, 1), [1]):
        same(fft.fftshift(x, axes=axes), np.fft.fftshift(x, axes))
        same(fft.ifftshift(x, axes=axes), np.fft.ifftshift(x, axes))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fft.fft([1.0], n=0), ValueError, "elements to transform is 0"),
        (lambda: fft.irfft([1.0]), ValueError, "elements to transform is 0"),
        (lambda: fft.fft([1.0], norm="half"), ValueError, "norm is 'half'"),
        (lambda: fft.fft(1.0), lamina.errors.AxisError, "axis -1 is out of bounds"),
        (lambda: fft.fftn(np.ones((2, 2)), s=(2,), axes=(0, 1)), ValueError, "s has 1 extents, but there are 2 axes"),
        (lambda: fft.rfftn(np.ones(2), axes=()), ValueError, "needs an axis"),
        (lambda: fft.rfft([1j]), TypeError, "rfft: x is complex128"),
        (lambda: fft.fftfreq(2.5), ValueError, "n should be an integer"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_spectral_step_in_a_loop():
    def heat(u, steps):
        k = np.fft.rfftfreq(u.shape[0], 1 / u.shape[0])
        for _ in range(steps):
            u = np.fft.irfft(np.fft.rfft(u) * np.exp(-0.01 * k**2), u.shape[0])
        return u

    u = np.sin(np.linspace(0, 6, 32)) + np.arange(32) % 3
    same(lamina.defn(heat, strict=True)(u, 20), heat(u, 20))
