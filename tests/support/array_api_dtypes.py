"""The array API standard's dtypes: their kinds, what functions take and give, how they promote; and NumPy beside it."""

import math
import operator

import numpy as np

import lamina as xp
from lamina.array import Array

SIGNED = (xp.int8, xp.int16, xp.int32, xp.int64)
UNSIGNED = (xp.uint8, xp.uint16, xp.uint32, xp.uint64)
REAL_FLOATING = (xp.float32, xp.float64)
COMPLEX_FLOATING = (xp.complex64, xp.complex128)
INTEGRAL = SIGNED + UNSIGNED
REAL = INTEGRAL + REAL_FLOATING
FLOATING = REAL_FLOATING + COMPLEX_FLOATING
NUMERIC = REAL + COMPLEX_FLOATING
ALL = (xp.bool, *NUMERIC)

_ANY, _BOOL_OR_INTEGRAL = ALL, (xp.bool, *INTEGRAL)

# What elementwise functions take, and the dtype of what they give.
UNARY_DTYPES = {
    (NUMERIC, "same"): "conj negative positive round sign square",
    (NUMERIC, "real part"): "abs real",
    (NUMERIC, "bool"): "isfinite isinf isnan",
    (COMPLEX_FLOATING, "real part"): "imag",
    (REAL, "same"): "ceil floor trunc",
    (REAL_FLOATING, "bool"): "signbit",
    (FLOATING, "same"): "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 reciprocal sin sinh "
    "sqrt tan tanh",
    ((xp.bool,), "bool"): "logical_not",
    (_BOOL_OR_INTEGRAL, "same"): "bitwise_invert",
}
BINARY_DTYPES = {
    (NUMERIC, "same"): "add subtract multiply pow",
    (FLOATING, "same"): "divide",
    (REAL, "same"): "floor_divide maximum minimum remainder",
    (REAL_FLOATING, "same"): "atan2 copysign hypot logaddexp nextafter",
    (_ANY, "bool"): "equal not_equal",
    (REAL, "bool"): "greater greater_equal less less_equal",
    ((xp.bool,), "bool"): "logical_and logical_or logical_xor",
    (_BOOL_OR_INTEGRAL, "same"): "bitwise_and bitwise_or bitwise_xor",
    (INTEGRAL, "same"): "bitwise_left_shift bitwise_right_shift",
}


def rows(table):
    """Each function of a table with the dtypes that it takes and the rule of its result."""
    return [(name, *key) for key, names in table.items() for name in names.split()]


def result_dtype(dtype, rule):
    return {"same": dtype, "bool": xp.bool, "real part": dtype.real}[rule]


# Standard promotion: within a kind, and of signed with unsigned integers where a signed dtype holds both.
PROMOTION = {
    **{(first, second): max(first, second, key=lambda d: d.bits)
       for kind in (SIGNED, UNSIGNED, FLOATING) for first in kind for second in kind
       if first.kind == second.kind},
    (xp.bool, xp.bool): xp.bool,
    **{(signed, unsigned): next(d for d in SIGNED if d.bits >= signed.bits and d.bits > unsigned.bits)
       for signed in SIGNED for unsigned in UNSIGNED[:3]},
    (xp.float32, xp.complex64): xp.complex64, (xp.float32, xp.complex128): xp.complex128,
    (xp.float64, xp.complex64): xp.complex128, (xp.float64, xp.complex128): xp.complex128,
}  # fmt: skip
PROMOTION |= {(second, first): result for (first, second), result in PROMOTION.items()}


SCALARS = {bool: (True, False), int: (0, 1, 3), float: (0.5, math.inf), complex: (1 + 2j,)}
TAKES = {
    bool: (xp.bool,),
    int: NUMERIC,
    float: FLOATING,
    complex: COMPLEX_FLOATING,
}
# 2024.12: a complex number lifts a real array to the complex dtype of its precision.
LIFTED = {xp.float32: xp.complex64, xp.float64: xp.complex128}

OPERATOR = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "pow": "**",
    "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "bitwise_left_shift": "<<", "bitwise_right_shift": ">>",
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip


def to_numpy(x):
    assert type(x) is Array
    return np.asarray(x)


def is_same(got, expected, dtype=None):
    """Whether an array is that of NumPy: elements (the sign of zeros too), shape and dtype."""
    got, expected = to_numpy(got), np.asarray(expected)
    return (
        got.dtype == (expected.dtype if dtype is None else dtype)
        and got.shape == expected.shape
        and np.array_equal(got, expected, equal_nan=got.dtype.kind in "fc")
        and (got.dtype.kind != "f" or np.array_equal(np.signbit(got), np.signbit(expected)))
    )


def member(name):
    """A function of the namespace or of its parts."""
    return operator.attrgetter(name)(xp)
