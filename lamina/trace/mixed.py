"""Numbers of which only a run tells whether they are Python's or NumPy's.

``s = 0; for i in …: if x[i] > 0: s += x[i]`` leaves a Python 0 or a NumPy scalar. Such a value is traced as the scalar,
with a code beside it that says at run time what it is; a result comes back as that. Where it would make another dtype
of what it meets, the program can't be traced.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.trace.build import as_value, common_dtype, constant, emit, node_of, scope_now
from lamina.trace.state import CannotMerge
from lamina.trace.value import Kind, Value

_SCALAR = 0
_CODES: dict[type, int] = {bool: 1, int: 2, float: 3, complex: 4}
_OF_DTYPE = {dt.bool: 1, dt.int64: 2, dt.float64: 3, dt.complex128: 4}


def code_of(value: Value) -> Value:
    """The code of what a number or scalar is: 0 for NumPy's scalar of its dtype, else a type of Python's."""
    if value.code is not None:
        return value.code
    known = _SCALAR if value.kind is Kind.SCALAR else _OF_DTYPE[value.dtype]
    return constant(known, dt.int64)


def with_code(value: Value, code: Value) -> Value:
    """A scalar that may be a Python number, as its code says."""
    made = Value(node_of(value), scope_now(), Kind.SCALAR)
    made.code = None if code.expr.op == "constant" and code.expr.args[0] == _SCALAR else code
    return made


def meeting(x: Value, y: Value) -> DType:
    """The dtype in which two numbers or scalars are one value; `CannotMerge` where a scalar would lose its own."""
    dtype = dt.promote(x.dtype, y.dtype)
    for value in (x, y):
        if value.kind is Kind.SCALAR and value.dtype != dtype:
            raise CannotMerge(f"a scalar is {x.dtype} in one case and {y.dtype} in the other")
    if dtype not in _OF_DTYPE:
        raise CannotMerge(f"a number is a Python number in one case and a scalar of {dtype} in the other")
    return dtype


def is_mixed(x: Value, y: Value) -> bool:
    """Whether one value that stands for both must say at run time which it is."""
    return x.code is not None or y.code is not None or x.kind is not y.kind or x.dtype != y.dtype


def expect_indifferent(values: Sequence[Value]) -> None:
    """Raise unless the dtype of an operation is the same whether its mixed operands are scalars or Python numbers."""
    weak = [
        Value(node_of(v), scope_now(), Kind.NUMBER) if v.code is not None and v.dtype in _OF_DTYPE else v
        for v in values
    ]
    if common_dtype(values) != common_dtype(weak):
        raise CannotMerge("a number that may be Python's or NumPy's decides the dtype of what it meets")


def after_operator(op: str, result: Any, operands: Sequence[Any]) -> Any:
    """The result of an operator on mixed operands, as what it is: a Python number where all of them are."""
    if type(result) is not Value or result.cell is not None or result.dtype == dt.bool:
        return result
    values = [as_value(operand) for operand in operands]
    if any(value.code is None and value.kind is not Kind.NUMBER for value in values):
        return result  # a scalar makes it a scalar
    if op in ("pow", "floor_divide", "remainder", "divide") or op.startswith("bitwise"):
        raise CannotMerge(f"{op} of a number that may be Python's or NumPy's")
    code = code_of(values[0])
    for value in values[1:]:
        other = code_of(value)
        is_scalar = emit("logical_or", _is(code, _SCALAR), _is(other, _SCALAR))
        code = emit("where", is_scalar, constant(_SCALAR, dt.int64), emit("maximum", code, other))
    return with_code(result, code)


def _is(code: Value, known: int) -> Value:
    return emit("equal", code, constant(known, dt.int64))


def decoded(array: np.ndarray, code: int) -> Any:
    """A result as its code says."""
    if code == _SCALAR:
        return array[()]
    kind = next(kind for kind, known in _CODES.items() if known == code)
    return kind(array.item())
