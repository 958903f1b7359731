"""Native code touches no byte outside an array: each begins or ends at a page that nobody may touch."""

import ctypes
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lamina

ROOT = Path(__file__).parents[2]
DTYPES = ["uint8", "float16", "int64", "complex64"]
SHAPES = [(1, 9), (3, 11), (3, 33)]


def guarded(shape: tuple[int, int], dtype: str, is_first: bool) -> np.ndarray:
    """Zeros that begin, or end, where a page without access does; never freed."""
    memory = mmap.mmap(-1, 3 * mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    size = shape[0] * shape[1] * np.dtype(dtype).itemsize
    address = start + mmap.PAGESIZE + (0 if is_first else mmap.PAGESIZE - size)
    array = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address)).view(dtype).reshape(shape)
    for page in (0, 2):
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + page * mmap.PAGESIZE), mmap.PAGESIZE, 0)
    KEPT.append(memory)
    return array


KEPT: list[mmap.mmap] = []


def program(x, narrow, wide):
    narrow[:] = x
    wide[:] = x
    steps = [x[:, ::step] + x[:, ::step] for step in (2, -1, -3)]
    return *steps, x[:, ::-1] + x, x[::-1].sum(axis=0), x.sum(axis=1), x[::2].T + x[::2].T, x.T.sum(axis=1)


def check(dtype: str) -> None:
    is_complex = dtype.startswith("complex")
    dtypes = (dtype, "complex64", "complex128") if is_complex else (dtype, "uint8", "int64")
    compiled = lamina.defn(program, compiler="native", strict=True)
    for shape in SHAPES:
        for is_first in (True, False):
            x, narrow, wide = (guarded(shape, each, is_first) for each in dtypes)
            x[:] = np.arange(x.size).reshape(shape) % 5
            given = x.copy()
            results = compiled(x, narrow, wide)
            for result, expected in zip(results, program(given, given.copy(), given.copy()), strict=True):
                np.testing.assert_array_equal(result, expected)
            assert (narrow == given).all() and (wide == given).all()


@pytest.mark.skipif(os.name != "posix", reason="mprotect is POSIX's")
@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_outside_an_array_is_touched(dtype: str) -> None:
    """In a process of its own, which such an access would end."""
    done = subprocess.run(
        [sys.executable, "-m", __name__, dtype], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    check(sys.argv[1])
