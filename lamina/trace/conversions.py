"""Python's and NumPy's scalar types, `math`, ``type`` and ``isinstance``, of traced values."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.trace.bounded import Bounded
from lamina.trace.build import NUMBER_DTYPES, as_value, constant, emit, node_of, perform_check, scope_now, to_dtype
from lamina.trace.value import Kind, Value


def _one(value: Any) -> Value:
    given = as_value(value)
    if given.shape:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return given


def as_number(value: Value) -> Value:
    """The value as a Python number."""
    return Value(node_of(value), scope_now(), Kind.NUMBER)


def _expect_no_complex(value: Value, dtype: dt.DType) -> None:
    if value.dtype.kind == "complex" and dtype.kind not in ("bool", "complex"):
        raise TypeError(f"a complex number can't be converted to {dtype}: take its real part")


def float_(value: Any = 0.0) -> Any:
    """``float``."""
    if type(value) is not Value:
        return float(value)
    if value.kind is not Kind.SCALAR:
        _expect_no_complex(value, dt.float64)
    return as_number(to_dtype(_one(value), dt.float64))


def int_(value: Any = 0, *base: Any) -> Any:
    """``int``."""
    if type(value) is not Value:
        return int(value, *base)
    one = _one(value)
    if value.kind is not Kind.SCALAR:
        _expect_no_complex(value, dt.int64)
    if one.dtype.kind == "float":
        perform_check(emit("logical_not", emit("isnan", one)), ValueError, "cannot convert float NaN to integer")
        perform_check(
            emit("logical_not", emit("isinf", one)), OverflowError, "cannot convert float infinity to integer"
        )
    return as_number(to_dtype(Value(node_of(one), scope_now(), Kind.SCALAR), dt.int64))


def len_(thing: Any) -> Any:
    """``len``."""
    return thing.shape[0] if type(thing) is Bounded else len(thing)


def isinstance_(thing: Any, classes: Any) -> bool:
    """``isinstance``: of a traced value, of what it stands for."""
    is_traced = type(thing) in (Value, Bounded)
    return issubclass(type_(thing), classes) if is_traced else isinstance(thing, classes)


def type_(thing: Any, *more: Any) -> Any:
    """``type``."""
    if type(thing) is Bounded:
        return np.ndarray
    if type(thing) is not Value:
        return type(thing, *more)
    if thing.kind is Kind.ARRAY:
        return np.ndarray
    return (
        thing.dtype.numpy.type
        if thing.kind is Kind.SCALAR
        else next(t for t, d in NUMBER_DTYPES.items() if d == thing.dtype)
    )


def isscalar_(thing: Any) -> bool:
    """``np.isscalar``."""
    if type(thing) in (Value, Bounded):
        return thing.kind is not Kind.ARRAY
    return np.isscalar(thing)


def _math(op: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(*args: Any) -> Any:
        if not any(type(arg) is Value for arg in args):
            return function(*args)
        values = [to_dtype(_one(arg), dt.float64) for arg in args]
        if op in ("sqrt", "log", "log2", "log10"):
            floor = constant(0.0, dt.float64)
            inside = emit("greater_equal" if op == "sqrt" else "greater", values[0], floor)
            perform_check(emit("logical_or", inside, emit("isnan", values[0])), ValueError, "math domain error")
        result = emit(op, *values)
        if op in ("sin", "cos", "tan"):
            perform_check(emit("logical_not", emit("isinf", values[0])), ValueError, "math domain error")
        if op == "exp":
            fits = emit("logical_or", emit("isinf", values[0]), emit("logical_not", emit("isinf", result)))
            perform_check(fits, OverflowError, "math range error")
        return Value(result.expr, scope_now(), Kind.NUMBER)

    return compute


def _scalar(numpy_type: Any) -> Callable[..., Any]:
    dtype = dt.from_numpy(numpy_type)

    def make(*args: Any) -> Any:
        if not args or type(args[0]) is not Value:
            return numpy_type(*args)
        value = args[0]
        if value.kind is Kind.NUMBER:
            _expect_no_complex(value, dtype)
        elif value.shape:
            value = Value(node_of(value), scope_now())
        cast = to_dtype(value, dtype)  # which checks that a Python integer fits
        return Value(node_of(cast), scope_now(), Kind.ARRAY if cast.shape else Kind.SCALAR)

    return make


CONVERSIONS: dict[Any, Callable[..., Any]] = {
    float: float_,
    int: int_,
    isinstance: isinstance_,
    len: len_,
    np.isscalar: isscalar_,
    type: type_,
    math.sqrt: _math("sqrt", math.sqrt),
    math.exp: _math("exp", math.exp),
    math.log: _math("log", math.log),
    math.sin: _math("sin", math.sin),
    math.cos: _math("cos", math.cos),
    math.tan: _math("tan", math.tan),
    math.atan2: _math("atan2", math.atan2),
    math.hypot: _math("hypot", math.hypot),
    math.fabs: _math("abs", math.fabs),
    **{dtype.numpy.type: _scalar(dtype.numpy.type) for dtype in dt.DTYPES.values() if dtype.numpy.isbuiltin == 1},
}
