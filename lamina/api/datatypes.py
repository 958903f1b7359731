"""Data types: conversions, promotion, and the limits of dtypes, of arrays and numbers as well as of dtypes themselves.

What a dtype is lives in `lamina.dtype`; here are the array API standard's functions of it, with NumPy's arguments.
"""

from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType, FloatLimits, IntegerLimits, isdtype
from lamina.trace.build import NUMBER_DTYPES, as_value, emit, thing_of, to_dtype, with_kind
from lamina.trace.function import function
from lamina.trace.order import axes_in, in_order_of, laid_out
from lamina.trace.value import Kind, Value

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


@function
def astype(
    x: Any,
    dtype: Any,
    /,
    *,
    copy: bool = True,
    device: Any = None,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
) -> Value:
    """The array in another dtype; a copy if it has that one, or x itself if `copy` is false.

    A float out of an integer dtype's range saturates and NaN becomes 0, integers wrap, complex numbers lose their
    imaginary part, and what isn't 0 is true. `order` is NumPy's; its `subok` means nothing: results are plain arrays.

    Raises TypeError for what is no dtype, and where the `casting` rule ("no", "equiv", "safe", "same_kind" or "unsafe")
    doesn't allow it.

    >>> import lamina
    >>> lamina.astype([1.7, -2.5, 300.0], lamina.int8)
    lamina.Array([  1,  -2, 127], shape=(3,), dtype=int8)
    """
    if device not in (None, "cpu"):
        raise ValueError(f'the device must be "cpu", but it is {device!r}')
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    value, target = as_value(x), dt.from_numpy(dtype)
    if not _may_cast(value.dtype, target, casting):
        raise TypeError(f"Cannot cast array data from {value.dtype} to {target} according to the rule {casting!r}")
    value = with_kind(value, Kind.SCALAR) if value.kind is Kind.NUMBER else value
    if value.dtype != target:
        value, copy = to_dtype(value, target), False
    if copy:
        return in_order_of(value, lambda v: emit("copy", v, kind=value.kind), order)
    return value if order == "K" else laid_out(value, axes_in(order, value))


# A cast within a kind, or to one further on, is of the same kind.
_ORDER = ("bool", "unsigned", "signed", "float", "complex")


def _may_cast(source: DType, target: DType, casting: str) -> bool:
    match casting:
        case "no" | "equiv":
            return source is target
        case "safe":
            return dt.can_cast(source, target)
        case "same_kind":
            return _ORDER.index(source.kind) <= _ORDER.index(target.kind)
        case "unsafe":
            return True
        case "same_value":
            raise NotImplementedError("casting='same_value' is not there; compare the result with x")
    raise ValueError(f"casting must be 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', but it is {casting!r}")


@function
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether an array or dtype may be converted to a dtype by a casting rule; "safe" is that every value survives.

    Raises TypeError for Python numbers, as NumPy does, and for what is no dtype.

    >>> import lamina
    >>> lamina.can_cast(lamina.int4, lamina.int8), lamina.can_cast("float64", "float32", "same_kind")
    (True, True)
    """
    if type(from_) in NUMBER_DTYPES or (type(from_) is Value and from_.kind is Kind.NUMBER):
        raise TypeError("a Python number has no dtype of its own; give a dtype, such as lamina.result_type(x, 1.0)")
    return _may_cast(_dtype_of(from_), dt.from_numpy(to), casting)


@function
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype to which arrays, dtypes and Python numbers are promoted together; the numbers are weak (NEP 50).

    Raises TypeError for what is none of these, ValueError without any.

    >>> import lamina
    >>> lamina.result_type(lamina.int8, lamina.uint8), lamina.result_type(lamina.asarray([1.5], dtype="float32"), 2.0)
    (lamina.int16, lamina.float32)
    """
    if not arrays_and_dtypes:
        raise ValueError("at least one array or dtype is required")
    return dt.result_type(*map(_thing, arrays_and_dtypes))


@function
def finfo(type: Any, /) -> FloatLimits:
    """The limits of a float dtype, of a complex dtype's real part, or of an array of either.

    Raises ValueError for other dtypes, as NumPy does.

    >>> import lamina
    >>> lamina.finfo(lamina.bfloat16).eps, lamina.finfo(lamina.asarray([1j])).bits
    (0.0078125, 64)
    """
    dtype = _dtype_of(type)
    try:
        return dt.finfo(dtype)
    except TypeError as error:
        raise ValueError(str(error).removeprefix("finfo: ")) from None


@function
def iinfo(type: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of an array of one.

    Raises ValueError for other dtypes, as NumPy does.

    >>> import lamina
    >>> lamina.iinfo(lamina.uint4).max, lamina.iinfo(lamina.asarray([1, 2])).min
    (15, -9223372036854775808)
    """
    dtype = _dtype_of(type)
    try:
        return dt.iinfo(dtype)
    except TypeError as error:
        raise ValueError(str(error).removeprefix("iinfo: ")) from None


def _dtype_of(thing: Any) -> DType:
    if type(thing) in NUMBER_DTYPES:
        return NUMBER_DTYPES[type(thing)]
    if isinstance(thing, (DType, type, str, np.dtype)):
        return dt.from_numpy(thing)
    return dt.from_numpy(getattr(thing, "dtype", thing))


def _thing(thing: Any) -> Any:
    """What a thing is in promotion: its dtype, or a Python type where it is a number."""
    if type(thing) is Value:
        return thing_of(thing)
    return type(thing) if type(thing) in NUMBER_DTYPES else _dtype_of(thing)
