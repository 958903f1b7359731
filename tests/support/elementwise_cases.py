"""The elementwise ops: what each must give, in NumPy or by definition, and never read from the op table."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.testing.elements import (
    DTYPES,
    INT4,
    UINT4,
    arrays,
    dtype_of,
    edges,
    kind_of,
    layouts,
    narrow,
    wide,
    wild,
)
from tests.support.case import ALL, FLOATS, NUMBERS, ORDERED, Case, Cases, Generator


def elementwise(
    kinds: str,
    oracle: Callable[..., Any],
    *,
    draws: tuple[Callable[..., np.ndarray], ...] = (wild,),
    fixed: bool = False,
    native: bool = False,
    **more: Any,
) -> Case:
    """An op of ``len(draws)`` operands of one dtype; a draw gives the elements of one.

    `fixed`: the dtype of the result doesn't follow the operands'. `native`: the oracle knows all dtypes itself.
    """

    def cases(rng: Generator, dtype: np.dtype) -> Cases:
        for operands in zip(*(arrays(lambda shape, draw=draw: draw(rng, dtype, shape)) for draw in draws), strict=True):
            name, args = operands[0][0], tuple(array for _, array in operands)
            yield name, args, expected(*args, dtype=dtype)
        if len(draws) > 1:  # operands of different layouts
            shape = (3, 5)
            rows = [array for _, array in layouts(shape, lambda s: draws[0](rng, dtype, s))]
            others = [array for _, array in layouts(shape, lambda s: draws[1](rng, dtype, s))]
            rest = [draw(rng, dtype, shape) for draw in draws[2:]]
            for x, y in zip(rows, others[1:], strict=False):
                yield "mixed layouts", (x, y, *rest), expected(x, y, *rest, dtype=dtype)
        if len(draws) == 2:  # every pair of edges
            pairs = np.array(
                list(
                    itertools.product(
                        range(len(draws_edges(draws[0], dtype))), range(len(draws_edges(draws[1], dtype)))
                    )
                )
            )
            x, y = draws_edges(draws[0], dtype)[pairs[:, 0]], draws_edges(draws[1], dtype)[pairs[:, 1]]
            yield "edges", (x, y), expected(x, y, dtype=dtype)
        elif len(draws) == 1:
            x = draws_edges(draws[0], dtype)
            yield "edges", (x,), expected(x, dtype=dtype)

    def expected(*args: np.ndarray, dtype: np.dtype) -> np.ndarray:
        if native:
            return np.asarray(oracle(*args))
        result = np.asarray(oracle(*map(wide, args)))
        return result if fixed else narrow(result, dtype)

    return Case(kinds, cases, **more)


def draws_edges(draw: Any, dtype: np.dtype) -> np.ndarray:
    """The edges among what a draw gives."""
    found = edges(dtype)
    return found[wide(found) >= 0] if draw is natural else found


def natural(rng: Generator, dtype: np.dtype, shape: Any) -> np.ndarray:
    """Elements that may be exponents: no negative integer."""
    found = wild(rng, dtype, shape)
    return found if kind_of(dtype) in "fc" else np.where(wide(found) < 0, 2, wide(found)).astype(dtype)


def two(kinds: str, oracle: Callable[..., Any], **more: Any) -> Case:
    return elementwise(kinds, oracle, **{"draws": (wild, wild), **more})


def _real_dtype(oracle: Callable[..., Any]) -> Callable[..., Any]:
    """An oracle of real results, which belong to the dtype's real part."""

    def native(*args: np.ndarray) -> Any:
        result = np.asarray(oracle(*map(wide, args)))
        return result if kind_of(args[0].dtype) == "c" else narrow(result, args[0].dtype)

    return native


def _next_after(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By counting through every number of a 16-bit dtype."""
    if x.dtype.itemsize > 2:
        return np.nextafter(x, y)
    numbers = np.unique(wide(np.arange(2**16, dtype=np.uint16).view(x.dtype)))  # one zero
    numbers = numbers[~np.isnan(numbers)]
    here, there = wide(x), wide(y)
    place = np.searchsorted(numbers, np.where(np.isnan(here), 0, here))
    step = np.where(there > here, 1, -1)
    moved = numbers[np.clip(place + step, 0, numbers.size - 1)]
    # towards 0, the last step is a zero with the sign of where it came from
    moved = np.where(moved == 0, np.copysign(moved, here), moved)
    moved = np.where(here == there, there, moved)
    return np.where(np.isnan(here) | np.isnan(there), np.nan, moved).astype(x.dtype)


def _trunc_whole(x: np.ndarray) -> np.ndarray:
    return x if kind_of(x.dtype) in "biu" else np.trunc(x)


def _shift_left(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    # by exact integers, wrapped; what is shifted out by the width or more, or by a negative number, is 0
    bits = x.dtype.itemsize * 8
    exact = [int(a) << int(b) if 0 <= b < bits else 0 for a, b in zip(x.flat, y.flat, strict=True)]
    return _wrapped(exact, x)


def _shift_right(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    exact = [int(a) >> int(b) if 0 <= b < bits else -(int(a) < 0) for a, b in zip(x.flat, y.flat, strict=True)]
    return _wrapped(exact, x)


def _wrapped(numbers: list[int], like: np.ndarray) -> np.ndarray:
    """Exact integers as the dtype wraps them."""
    bits = like.dtype.itemsize * 8
    low = [n & (1 << bits) - 1 for n in numbers]
    if like.dtype.kind == "i":
        low = [n - (1 << bits) if n >> bits - 1 else n for n in low]
    return np.array(low, like.dtype).reshape(like.shape)


def exactly(python: Callable[..., int], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """An oracle that computes integers one by one with Python's, and wraps them; other dtypes by `otherwise`."""

    def oracle(*args: np.ndarray) -> Any:
        if kind_of(args[0].dtype) not in "iu":
            return otherwise(*args)
        return _wrapped([python(*map(int, each)) for each in zip(*(a.flat for a in args), strict=True)], args[0])

    return oracle


def _or_zero(python: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: python(a, b) if b else 0


def _python_fmod(a: int, b: int) -> int:
    return (abs(a) % abs(b)) * (-1 if a < 0 else 1) if b else 0


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)


def _erf(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(v) for v in x.flat], np.float64).reshape(x.shape).astype(x.dtype)


def _clip(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(x, low), high)


def _not_nan(rng: Generator, dtype: np.dtype, shape: Any) -> np.ndarray:
    """Elements of which no complex one is NaN in part: which one is taken then is not told."""
    found = wild(rng, dtype, shape)
    return np.where(np.isnan(found), 1, found).astype(dtype) if kind_of(dtype) == "c" else found


def _complex(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    pairs = [complex(a, b) for a, b in zip(x.flat, y.flat, strict=True)]
    return (
        np.array(pairs, np.complex128).reshape(x.shape).astype("complex64" if x.dtype == np.float32 else "complex128")
    )


def _where(rng: Generator, dtype: np.dtype) -> Cases:
    draws = (lambda s: wild(rng, np.dtype(bool), s), lambda s: wild(rng, dtype, s), lambda s: wild(rng, dtype, s))
    for (name, c), (_, x), (_, y) in zip(*map(arrays, draws), strict=True):
        chosen = [a if t else b for t, a, b in zip(c.flat, x.flat, y.flat, strict=True)]
        yield name, (c, x, y), np.array(chosen, dtype).reshape(c.shape)


def _cast(rng: Generator, dtype: np.dtype) -> Cases:
    for target in DTYPES:
        for name, x in [*arrays(lambda s: wild(rng, dtype, s)), ("edges", edges(dtype))]:
            yield f"{name} to {target}", (x, dt.BY_NUMPY[target]), _converted(x, target)


def _converted(x: np.ndarray, target: np.dtype) -> np.ndarray:
    source, kind = kind_of(x.dtype), kind_of(target)
    values = wide(x)
    if source == "c" and kind not in "bc":
        values, source = values.real, "f"
    if kind in "iu" and source == "f":
        limits = dt.BY_NUMPY[target].limits
        bounded = [
            0
            if math.isnan(v)
            else int(limits.max if v >= limits.max else limits.min if v <= limits.min else math.trunc(v))
            for v in map(float, values.flat)
        ]
        return np.array(bounded, np.uint64 if kind == "u" else np.int64).reshape(x.shape).astype(target)
    if target in (INT4, UINT4):
        return narrow(values, target)
    return values.astype(target)


def _bitcast(rng: Generator, dtype: np.dtype) -> Cases:
    for target in DTYPES:
        if dtype_of(edges(dtype)).bits != dt.BY_NUMPY[target].bits or (
            "b" in (kind_of(dtype), kind_of(target)) and dtype != target
        ):
            continue
        for name, x in arrays(lambda s: wild(rng, dtype, s)):
            if dtype in (INT4, UINT4):
                expected = narrow(wide(x), target)
            else:
                expected = np.frombuffer(x.tobytes(), target).reshape(x.shape)
            yield f"{name} to {target}", (x, dt.BY_NUMPY[target]), expected


ELEMENTWISE: dict[str, Case] = {
    "copy": elementwise(ALL, lambda x: x[...], native=True),
    "negative": elementwise(NUMBERS, lambda x: -x),
    "abs": elementwise(ALL, _real_dtype(lambda x: abs(x)), native=True),
    "sign": elementwise(NUMBERS, np.sign),
    "signbit": elementwise(
        "f", lambda x: np.array([math.copysign(1, v) < 0 for v in x.flat], bool).reshape(x.shape), fixed=True
    ),
    "ceil": elementwise(ORDERED, lambda x: -np.floor(-x) if x.dtype.kind == "f" else x),
    "floor": elementwise(ORDERED, lambda x: np.floor(x) if x.dtype.kind == "f" else x),
    "trunc": elementwise(ORDERED, _trunc_whole),
    "round": elementwise(FLOATS, np.round),
    "conj": elementwise(NUMBERS, lambda x: x.conj()),
    "real": elementwise(FLOATS, _real_dtype(lambda x: x.real), native=True),
    "imag": elementwise(FLOATS, _real_dtype(lambda x: x.imag), native=True),
    "isfinite": elementwise(ALL, lambda x: abs(x) < np.inf if x.dtype.kind in "fc" else x == x, fixed=True),
    "isinf": elementwise(ALL, lambda x: (abs(x.real) == np.inf) | (abs(x.imag) == np.inf), fixed=True),
    "isnan": elementwise(ALL, lambda x: x != x, fixed=True),
    "square": elementwise(NUMBERS, exactly(lambda x: x * x, np.square)),
    "sqrt": elementwise(FLOATS, np.sqrt),
    "cbrt": elementwise("f", np.cbrt),
    "reciprocal": elementwise(FLOATS, np.reciprocal),
    "exp": elementwise(FLOATS, np.exp),
    "exp2": elementwise(FLOATS, np.exp2),
    "expm1": elementwise(FLOATS, np.expm1),
    "log": elementwise(FLOATS, np.log),
    "log2": elementwise(FLOATS, np.log2),
    "log10": elementwise(FLOATS, np.log10),
    "log1p": elementwise(FLOATS, np.log1p),
    "sigmoid": elementwise("f", _sigmoid, ulps=6),
    "erf": elementwise("f", _erf, ulps=4),
    "sin": elementwise(FLOATS, np.sin),
    "cos": elementwise(FLOATS, np.cos),
    "tan": elementwise(FLOATS, np.tan),
    "asin": elementwise(FLOATS, np.arcsin),
    "acos": elementwise(FLOATS, np.arccos),
    "atan": elementwise(FLOATS, np.arctan),
    "sinh": elementwise(FLOATS, np.sinh),
    "cosh": elementwise(FLOATS, np.cosh),
    "tanh": elementwise(FLOATS, np.tanh),
    "asinh": elementwise(FLOATS, np.arcsinh),
    "acosh": elementwise(FLOATS, np.arccosh),
    "atanh": elementwise(FLOATS, np.arctanh),
    "bitwise_invert": elementwise("biu", lambda x: ~x),
    "logical_not": elementwise("b", lambda x: x == 0),
    "add": two(ALL, exactly(lambda a, b: a + b, lambda x, y: x | y if x.dtype == bool else x + y)),
    "subtract": two(NUMBERS, exactly(lambda a, b: a - b, lambda x, y: x - y)),
    "multiply": two(ALL, exactly(lambda a, b: a * b, lambda x, y: x & y if x.dtype == bool else x * y)),
    "divide": two(FLOATS, lambda x, y: x / y),
    "floor_divide": two("iuf", exactly(_or_zero(lambda a, b: a // b), lambda x, y: x // y)),
    "remainder": two("iuf", exactly(_or_zero(lambda a, b: a % b), lambda x, y: x % y)),
    "fmod": two("iuf", exactly(_python_fmod, np.fmod)),
    "pow": two(NUMBERS, exactly(lambda a, b: pow(a, b, 1 << 64), np.power), draws=(wild, natural)),
    "float_power": two(FLOATS, np.float_power),
    "atan2": two("f", np.arctan2),
    "hypot": two("f", np.hypot),
    "copysign": two("f", lambda x, y: np.where(np.signbit(x) == np.signbit(y), x, -x)),
    "nextafter": two("f", _next_after, native=True, signed_zeros=False),
    "logaddexp": two("f", np.logaddexp),
    "logaddexp2": two("f", np.logaddexp2),
    "gcd": two("iu", exactly(math.gcd, None)),
    "lcm": two("iu", np.lcm),
    "maximum": two(ALL, np.maximum),
    "minimum": two(ALL, np.minimum),
    "fmax": two(ALL, np.fmax),
    "fmin": two(ALL, np.fmin),
    "bitwise_and": two("biu", lambda x, y: x & y),
    "bitwise_or": two("biu", lambda x, y: x | y),
    "bitwise_xor": two("biu", lambda x, y: x ^ y),
    "bitwise_left_shift": two("iu", _shift_left),
    "bitwise_right_shift": two("iu", _shift_right),
    "logical_and": two("b", lambda x, y: x * y),
    "logical_or": two("b", lambda x, y: (x.astype(int) + y) > 0),
    "logical_xor": two("b", lambda x, y: x != y),
    "equal": two(ALL, lambda x, y: x == y, fixed=True),
    "not_equal": two(ALL, lambda x, y: x != y, fixed=True),
    "less": two(ALL, lambda x, y: x < y, fixed=True),
    "less_equal": two(ALL, lambda x, y: x <= y, fixed=True),
    "greater": two(ALL, lambda x, y: x > y, fixed=True),
    "greater_equal": two(ALL, lambda x, y: x >= y, fixed=True),
    "clip": elementwise(ALL, _clip, draws=(_not_nan,) * 3, signed_zeros=False),
    "complex": two("", _complex, native=True, dtypes=(np.dtype("float32"), np.dtype("float64"))),
    "where": Case(ALL, _where),
    "cast": Case(ALL, _cast),
    "bitcast": Case(ALL, _bitcast),
}
