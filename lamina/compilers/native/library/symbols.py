"""The functions that native code calls from outside: NumPy's own BLAS, LAPACK, sorts and Fourier transforms.

So results are NumPy's, and there is one pool of threads. LLVM is told the address of each under a name of ours, and
compiled code has the name alone, so it may be kept on disk. What isn't found is left to the evaluator.
"""

import ctypes
import functools
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]
from numpy.fft import _pocketfft_umath  # type: ignore[attr-defined]
from numpy.linalg import _umath_linalg

from lamina import dtype as dt
from lamina.dtype import DType

LETTERS: dict[DType, str] = {dt.float32: "s", dt.float64: "d", dt.complex64: "c", dt.complex128: "z"}

PREFIX = "lamina."

_PRODUCTS = ("gemm", "gemv", "syrk")
_DOTS = ("sdot", "ddot", "cdotu_sub", "zdotu_sub")
_FACTORIZATIONS = ("gesv", "getrf", "potrf", "syevd", "heevd", "gesdd", "geqrf", "orgqr", "ungqr")

# How builds of BLAS and LAPACK spell the names: those of NumPy's wheels, of OpenBLAS, of Apple, of everybody.
_SPELLINGS = (
    ("scipy_cblas_{}64_", "scipy_{}_64_"),
    ("cblas_{}64_", "{}_64_"),
    ("cblas_{}$NEWLAPACK$ILP64", "{}$NEWLAPACK$ILP64"),
    ("cblas_{}$NEWLAPACK", "{}$NEWLAPACK"),
    ("cblas_{}", "{}_"),
)


def name_of(function: str) -> str:
    """What a function from outside is called in native code."""
    return PREFIX + function


def are_here(*functions: str) -> bool:
    """Whether NumPy has all of these functions."""
    return provided().keys() >= set(functions)


@functools.cache
def provided() -> dict[str, int]:
    """The functions there are and their addresses, of which LLVM knows from now on."""
    found = {**_linear_algebra(), **_sorts(), **_transforms()}
    for function, address in found.items():
        llvm.add_symbol(name_of(function), address)
    return found


@functools.cache
def integer_bits() -> int:
    """How wide the integers of BLAS and LAPACK are, as one of them that writes integers shows."""
    library, (_, spelling) = _library()
    numbers = [ctypes.c_int64(-1) for _ in range(3)]  # one of 32 bits leaves the upper half as it is
    getattr(library, spelling.format("ilaver"))(*map(ctypes.byref, numbers))
    return 32 if any(number.value >> 32 for number in numbers) else 64


@functools.cache
def _library() -> tuple[Any, tuple[str, str]]:
    """What NumPy links to, and how it spells; None for an unknown one."""
    library = ctypes.CDLL(_umath_linalg.__file__)  # a look into it is one into all that it needs
    for spelling in _SPELLINGS:
        if hasattr(library, spelling[0].format("dgemm")) and hasattr(library, spelling[1].format("ilaver")):
            return library, spelling
    return None, ("", "")


def _linear_algebra() -> dict[str, int]:
    library, (blas, lapack) = _library()
    if library is None:
        return {}
    wanted = {letter + op: blas for op in _PRODUCTS for letter in LETTERS.values()}
    wanted |= dict.fromkeys(_DOTS, blas)
    wanted |= {letter + op: lapack for op in _FACTORIZATIONS for letter in LETTERS.values()}
    spelled = {name: spelling.format(name) for name, spelling in wanted.items()}
    return {name: _address(getattr(library, own)) for name, own in spelled.items() if hasattr(library, own)}


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


# Sorts: each dtype of NumPy has a table of functions, of which some sort a line of elements without an interpreter.

_SORTED = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float32", "float64")
_TABLE_OF = 365  # where NumPy's API has the function that gives a dtype's table
_PLACES = {"sort": 33, "stable_sort": 35, "argsort": 36, "stable_argsort": 38}  # in the table
_SORT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)
_ARGSORT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)


def _sorts() -> dict[str, int]:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api = ctypes.cast(pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    table_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(api[_TABLE_OF] or 0)
    found: dict[str, int] = {}
    for name in _SORTED:
        table = ctypes.cast(table_of(np.dtype(name)), ctypes.POINTER(ctypes.c_void_p))
        found |= {f"{op}_{name}": table[place] or 0 for op, place in _PLACES.items()}
    return found if all(found.values()) and _do_sort(found) else {}


def _do_sort(found: dict[str, int]) -> bool:
    """Whether the functions do what is thought of them."""
    numbers, results = np.array([3.0, 1.0, 2.0]), []
    for op in ("argsort", "stable_argsort"):
        places = np.arange(3)
        _ARGSORT(found[f"{op}_float64"])(numbers.ctypes.data, places.ctypes.data, 3, None)
        results.append(numbers[places])
    for op in ("sort", "stable_sort"):
        line = numbers.copy()
        _SORT(found[f"{op}_float64"])(line.ctypes.data, 3, None)
        results.append(line)
    return all(line.tolist() == [1.0, 2.0, 3.0] for line in results)


# Fourier transforms: the loops of NumPy's generalised functions, of which an object has a table, by its types.

_TRANSFORMS = ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")
_OPERANDS = {"D": "complex128", "F": "complex64", "d": "float64", "f": "float32"}
_LOOPS, _COUNT = 32, 48  # where such an object has the address of the table, and how many loops there are
_LOOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def _transforms() -> dict[str, int]:
    found: dict[str, int] = {}
    for name in _TRANSFORMS:
        function = getattr(_pocketfft_umath, name, None)
        if not isinstance(function, np.ufunc) or function.signature is None:
            return {}
        if ctypes.c_int.from_address(id(function) + _COUNT).value != len(function.types):
            return {}
        table = ctypes.POINTER(ctypes.c_void_p).from_address(id(function) + _LOOPS)
        for place, types in enumerate(function.types):
            if types[0] in _OPERANDS:
                found[f"{name}_{_OPERANDS[types[0]]}"] = table[place] or 0
    return found if all(found.values()) and _do_transform(found) else {}


def _do_transform(found: dict[str, int]) -> bool:
    """Whether the functions do what is thought of them."""
    x, factor, forward = np.array([1.0, 2.0, 3.0, 5.0]), np.array(2.0), np.array(True)
    result = np.zeros(3, np.complex128)
    places = np.array([each.ctypes.data for each in (x, factor, result)])
    counts, steps = np.array([1, 4, 3]), np.array([0, 0, 0, 8, 16])
    _LOOP(found["rfft_n_even_float64"])(*(each.ctypes.data for each in (places, counts, steps, forward)))
    return result.tolist() == [22, -4 + 6j, -6]
