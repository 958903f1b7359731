"""The real and the imaginary parts of complex arrays are views: what is written there is in the whole, and back."""

import numpy as np
import pytest

from tests.support.undecorated import assert_agrees


def z(shape=(6,), dtype=np.complex128):
    rng = np.random.default_rng(0)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def written(z):
    z.real[0] = 7
    z.imag[1:3] += z.real[2:4]
    z.real *= 2
    return z.sum()


def seen(z):
    r, i = z.real, z.imag
    z[2] = 5 - 1j
    z *= 1j
    return r.sum(), i.max(), (r * i)[2]


def through_views(z):
    part = z[1:].real[::2]
    part[:] = -1
    z.imag.T[..., 0] = 3
    z[z.real < 0] = 0
    return part.sum()


def in_a_loop(z):
    r = z.real
    for k in range(len(z)):
        r[k] += k
        z.imag[k] = r.sum()
    return r[-1] + z[0], r


def in_a_branch(z):
    r = z.real if z[0].real > 0 else z.imag
    r[1] = 9
    return r.sum()


def returned(z):
    fresh = z * 2
    return z.real, fresh.imag[::-1], z.T.imag[..., 1:], fresh


@pytest.mark.parametrize("program", [written, seen, through_views, in_a_loop, in_a_branch, returned])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_parts_are_views(program, dtype) -> None:
    assert_agrees(program, lambda: (z(dtype=dtype),), lambda: (-z((9,), dtype),), lambda: (z((14,), dtype)[::-2],))


@pytest.mark.parametrize("program", [written, seen, through_views, returned])
def test_parts_of_matrices(program) -> None:
    assert_agrees(program, lambda: (z((4, 6)),), lambda: (np.asfortranarray(z((5, 6))),))


def test_parts_of_what_is_read_only() -> None:
    given = z()
    given.flags.writeable = False
    assert_agrees(written, lambda: (given,))
