"""Numbers of which only a run tells what they are: a Python number, or a NumPy scalar, and of which type.

``s = 0; for i in …: if x[i] > 0: s += x[i]`` leaves a Python 0 or a NumPy scalar. Such a value is traced in a dtype
that holds whatever it may be, with a code beside it that says at run time what it is; a result comes back as that. What
it may be is known while tracing: where that would decide the dtype of what the value meets, the program can't be
traced.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.trace.build import NUMBER_DTYPES, as_value, constant, emit, node_of, operand_dtypes, scope_now, to_dtype
from lamina.trace.numbers import COMPARISONS
from lamina.trace.state import Decides
from lamina.trace.value import Kind, Value

# What a code stands for: Python's types first, then the scalars of each dtype.
_THINGS: tuple[Any, ...] = (bool, int, float, complex, *dt.DTYPES.values())
_CODES = {thing: code for code, thing in enumerate(_THINGS)}
_NUMBERS = len(NUMBER_DTYPES)
_COUNTS_AND_FLOATS = frozenset(map(_CODES.__getitem__, (int, float, dt.float64)))
# Ops whose result is of the kind that Python and NumPy agree on; others of mixed numbers can't be traced.
_PLAIN = frozenset({"add", "subtract", "multiply", "negative", "abs", "positive"})


def codes_of(value: Any) -> frozenset[int]:
    """The codes of what a number or scalar may be: of anything with a ``dtype``, a ``kind`` and ``codes``."""
    if value.codes:
        return frozenset(value.codes)
    number = {dtype: number for number, dtype in NUMBER_DTYPES.items()}
    return frozenset({_CODES[number[value.dtype] if value.kind is Kind.NUMBER else value.dtype]})


def code_of(value: Value) -> Value:
    """The code of what a number or scalar is, one integer."""
    return constant(min(codes_of(value)), dt.int64) if value.code is None else value.code


def with_code(value: Value, code: Value, codes: frozenset[int]) -> Value:
    """A value that is what its code says, one of these."""
    if len(codes) == 1:
        kind = Kind.NUMBER if min(codes) < _NUMBERS else Kind.SCALAR
        return Value(node_of(value), scope_now(), kind)
    made = Value(node_of(value), scope_now(), Kind.SCALAR)
    made.code, made.codes = code, codes
    return made


def cases_of(value: Value) -> list[tuple[Value, Value]]:
    """Each thing that a mixed number may be, behind the test that it is this one."""
    cases = []
    for code in sorted(value.codes):
        kind = Kind.NUMBER if code < _NUMBERS else Kind.SCALAR
        thing = Value(
            node_of(to_dtype(Value(node_of(value), scope_now(), Kind.SCALAR), _dtype(code))), scope_now(), kind
        )
        cases.append((emit("equal", code_of(value), constant(code, dt.int64), kind=Kind.NUMBER), thing))
    return cases


def dtype_for(codes: frozenset[int]) -> DType:
    """The dtype that holds whatever has one of these codes, which `can_meet`."""
    return dt.promote(*map(_dtype, codes))


def can_meet(codes: frozenset[int]) -> bool:
    """Whether there is a dtype that holds whatever has one of these codes."""
    meet = dtype_for(codes)
    # a Python integer that was a count fits; a scalar of 64 bits is as likely to need them all
    integers = (_dtype(code) for code in codes if code >= _NUMBERS and _dtype(code).kind in ("signed", "unsigned"))
    return all(dtype.bits < 64 or dtype.kind == meet.kind for dtype in integers)


def is_mixed(x: Value, y: Value) -> bool:
    """Whether one value that stands for both must say at run time which it is."""
    return codes_of(x) != codes_of(y) or x.code is not None


_OF_BOOLS = {*COMPARISONS, "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_not"}


def settled(op: str, values: Sequence[Value]) -> list[Value]:
    """The operands of an op with mixed ones as plain scalars; `CannotMerge` where what they are decides its dtypes."""
    if op not in _OF_BOOLS and any(value.code is not None and _CODES[bool] in value.codes for value in values):
        raise Decides("a number that may be a bool, which Python adds as an integer")
    choices = [_things(value) for value in values]
    found = {operand_dtypes(op, *_of_themselves(each)) for each in itertools.product(*choices)}
    if len(found) > 1:
        known = frozenset().union(*map(codes_of, values))
        if op not in _PLAIN or any(value.cell is not None for value in values) or not known <= _COUNTS_AND_FLOATS:
            raise Decides("a number that may be Python's or NumPy's decides the dtype of what it meets")
        found = {(dt.float64,) * len(values)}  # the result is what its code says
    (dtypes,) = found
    return [
        value if value.code is None else _as_scalar(value, dtype) for value, dtype in zip(values, dtypes, strict=True)
    ]


def _of_themselves(things: Sequence[Any]) -> Sequence[Any]:
    """Python numbers that meet no dtype have their own."""
    return things if any(isinstance(each, DType) for each in things) else [NUMBER_DTYPES[each] for each in things]


def _as_scalar(value: Value, dtype: DType) -> Value:
    node, scope = node_of(value), scope_now()
    return Value(node if value.dtype == dtype else scope.emit("cast", node, dtype), scope, Kind.SCALAR)


def _things(value: Value) -> list[Any]:
    if value.cell is not None:
        return [value.dtype]
    return [_THINGS[code] for code in sorted(codes_of(value))]


def after_operator(op: str, result: Any, operands: Sequence[Any]) -> Any:
    """The result of an operator on mixed operands, as what it is: a Python number where all of them are."""
    if type(result) is not Value or result.cell is not None:
        return result
    values = [as_value(operand) for operand in operands]
    cases = {
        codes: _result_code(codes, result.dtype) for codes in itertools.product(*(sorted(codes_of(v)) for v in values))
    }
    found = frozenset(cases.values())
    if len(found) > 1 and op not in _PLAIN and op not in COMPARISONS:
        raise Decides(f"{op} of a number that may be Python's or NumPy's")
    code = constant(min(found), dt.int64)
    if len(found) > 1:
        for codes, known in cases.items():
            here = [emit("equal", code_of(v), constant(c, dt.int64)) for v, c in zip(values, codes, strict=True)]
            is_case = here[0] if len(here) == 1 else emit("logical_and", *here)
            code = emit("where", is_case, constant(known, dt.int64), code)
    return with_code(result, code, found)


def _result_code(codes: tuple[int, ...], dtype: DType) -> int:
    if all(code < _NUMBERS for code in codes):
        return _CODES[bool] if dtype == dt.bool else max(*codes, _CODES[int])  # Python's bools are added as integers
    return _CODES[dtype]


def _dtype(code: int) -> DType:
    thing = _THINGS[code]
    return thing if isinstance(thing, DType) else NUMBER_DTYPES[thing]


def decoded(array: np.ndarray, code: int) -> Any:
    """A result as its code says."""
    thing = _THINGS[code]
    if isinstance(thing, DType):
        return array.astype(thing.numpy)[()]
    return thing(array.item() if thing is complex else array.real.item())
