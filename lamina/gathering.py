"""Numbers gathered from what is no array: Python's numbers and lists of them, buffers, other libraries' arrays.

NumPy does the work. Here is what it leaves to chance, floats that an integer dtype doesn't hold, and what is refused.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina import dlpack
from lamina import dtype as dtypes
from lamina.dtype import DType

if TYPE_CHECKING:
    from numpy.typing import NDArray


def gathered(obj: Any, wanted: DType | None, copy: bool | None) -> "NDArray[Any]":
    """What is no array yet as a NumPy array, of the wanted dtype where NumPy has to know it to round only once.

    Raises as `lamina.asarray` does.

    >>> gathered([1, 2.5], None, None), gathered(2**63, dtypes.uint64, None)
    (array([1. , 2.5]), array(9223372036854775808, dtype=uint64))
    """
    own = any(hasattr(obj, name) for name in ("__array__", "__array_interface__", "__array_struct__", "__buffer__"))
    if not own and hasattr(obj, "__dlpack__"):
        return dlpack.imported(obj, None, copy)
    numbers = isinstance(obj, list | tuple | range | int | float | complex) and not isinstance(obj, np.generic)
    with np.errstate(all="ignore"):
        values = np.asarray(obj, copy=copy)
        if numbers and wanted is not None and not wanted.is_packed:
            return _within(obj, values, np.asarray(obj, dtype=wanted.numpy, copy=copy), wanted)
    if values.dtype.kind == "O":
        if isinstance(obj, int):
            raise OverflowError("Python integer out of bounds for int64 and uint64")
        raise TypeError(
            "asarray: an array, a number or nested lists of numbers were expected, but what came is "
            f"{type(obj).__name__}, with no common dtype but object"
        )
    if wanted is not None and wanted.is_packed and numbers:
        for number in (values.min(initial=0), values.max(initial=0)) if values.dtype.kind in "iuf" else ():
            dtypes.check_fits(int(number), wanted)
    return values


def _within(obj: Any, given: "NDArray[Any]", converted: "NDArray[Any]", dtype: DType) -> "NDArray[Any]":
    """What NumPy made of numbers; floats out of an integer dtype's range, which it leaves to chance, saturated."""
    source = dtypes.BY_NUMPY.get(given.dtype)
    if source is None or source.kind != "float" or dtype.kind not in ("signed", "unsigned"):
        return converted
    inside = (given > float(dtype.min) - 1) & (given < float(dtype.max) + 1)
    if inside.all():
        return converted
    # a Python integer that only its float takes out of the range: NumPy has refused any other
    exact = np.frompyfunc(lambda x: isinstance(x, int | np.integer), 1, 1)(np.asarray(obj, dtype=object)).astype(bool)
    return np.where(inside | exact, converted, dtypes.cast(given, dtype))


def refuse_kinds(values: "NDArray[Any]") -> None:
    """Raises TypeError for NumPy's arrays that mean something else by their operators: matrices and masked ones."""
    if type(values) is np.ndarray:
        return
    for kind, instead in ((np.matrix, "np.asarray(x)"), (np.ma.MaskedArray, "x.filled(value)")):
        if isinstance(values, kind):
            raise TypeError(f"asarray: lamina takes no {kind.__name__}; write {instead} for an array of its numbers")
