"""Traced Python numbers follow Python: every operator on every pair of types, at the values where rules differ.

The oracle is the function without `lamina.defn`: the same number of the same type, or the same exception.
"""

import cmath
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import EscapedValueError

pytestmark = pytest.mark.usefixtures("through_evaluator")

VALUES: dict[type, list[Any]] = {
    bool: [False, True],
    int: [0, 1, -1, 2, 3, -7, 63, 64, 2**53, 2**53 + 1, -(2**53) - 1, 3037000500, 2**62, 2**63 - 1, -(2**63)],
    float: [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        1e300,
        5e-324,
        2.0**53,
        2.0**63,
        -(2.0**63),
        math.inf,
        -math.inf,
        math.nan,
    ],
    complex: [
        0j,
        complex(-0.0, -0.0),
        1 + 2j,
        -1.5 + 0j,
        3 + 0j,
        2.0**53 + 0j,
        complex(math.inf, 1),
        complex(math.nan, 0),
    ],
}
LITERALS: dict[type, list[Any]] = {
    bool: [True],
    int: [0, 3, -1, 2**53 + 1, -(2**63), 2**63, -(2**70), 10**400],
    float: [0.0, 2.0, -0.5, 2.5, 1e300, 2.0**63, math.inf, math.nan],
    complex: [0j, 1 + 2j],
}
PAIRS = list(itertools.product(VALUES, VALUES))

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "divmod": divmod,
}
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
BINARY = {**ARITHMETIC, **COMPARISONS}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "abs": abs,
    "~": operator.invert,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "conjugate": lambda x: x.conjugate(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
}


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives: its result, or the class of its exception."""
    try:
        result = function(*args)
    except MemoryError:  # an integer that is too long even for Python
        return OverflowError
    except (ArithmeticError, ValueError, TypeError) as error:
        return type(error)
    parts = result if isinstance(result, tuple) else (result,)
    if any(type(part) is int and not -(2**63) <= part < 2**63 for part in parts):
        return OverflowError  # which is said to be the limit
    return result


def same(came: Any, wanted: Any, digits: bool = False) -> bool:
    """Whether two outcomes are the same: type, value, NaN, signs of zeros; with `digits` but for the last ones."""
    if type(came) is not type(wanted):
        return False
    if isinstance(came, tuple):
        return len(came) == len(wanted) and all(map(same, came, wanted))
    if isinstance(came, complex):
        if digits and cmath.isfinite(wanted) and cmath.isclose(came, wanted, rel_tol=1e-12):
            return True
        return same(came.real, wanted.real) and same(came.imag, wanted.imag)
    if isinstance(came, float):
        if digits and math.isclose(came, wanted, rel_tol=3e-16):
            return True
        return (came == wanted and math.copysign(1, came) == math.copysign(1, wanted)) or (
            came != came and wanted != wanted
        )
    return bool(came == wanted)


def assert_same(function: Callable[..., Any], compiled: Callable[..., Any], *args: Any, digits: bool = False) -> None:
    wanted, came = outcome(function, *args), outcome(compiled, *args)
    assert same(came, wanted, digits), f"{args}: {came!r} came, {wanted!r} was expected"


def is_inexact(name: str, *types: type) -> bool:
    # quotients of integers above 2**53, and complex products and quotients, which NumPy may compute with fma
    return name == "/" or (name in "*/" and complex in types)


def is_odd(name: str, x: Any, y: Any) -> bool:
    if name == "<<":  # which takes Python much memory
        return type(y) is int and 10**6 < y < 2**50
    # NumPy multiplies by the reciprocal of a complex divisor, which may be infinite where the quotient isn't
    return name == "/" and complex in (type(x), type(y)) and not all(1e-100 < abs(z) < 1e100 for z in (x, y) if z)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("left", "right"), PAIRS, ids=lambda each: each.__name__)
def test_two_traced_numbers(name: str, left: type, right: type) -> None:
    function = BINARY[name]
    compiled = lamina.defn(lambda x, y: function(x, y))
    for x, y in itertools.product(VALUES[left], VALUES[right]):
        if not is_odd(name, x, y):
            assert_same(function, compiled, x, y, digits=is_inexact(name, left, right))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("traced", "literal"), PAIRS, ids=lambda each: each.__name__)
def test_a_traced_number_and_a_literal(name: str, traced: type, literal: type) -> None:
    function = BINARY[name]
    for number in LITERALS[literal]:
        for forward in (True, False):

            def chosen(x: Any, number: Any = number, forward: bool = forward) -> Any:
                return function(x, number) if forward else function(number, x)

            compiled = lamina.defn(chosen, strict=True)  # else it runs undecorated, where there is no limit
            for x in VALUES[traced]:
                if is_odd(name, *((x, number) if forward else (number, x))):
                    continue
                if (
                    type(number) is int
                    and traced in (bool, int)
                    and name in ARITHMETIC
                    and not -(2**63) <= number < 2**63
                ):
                    # Python may have a result, by way of an integer beyond 64 bits; its own error is raised first
                    wanted = outcome(chosen, x)
                    assert outcome(compiled, x) is (wanted if isinstance(wanted, type) else OverflowError)
                else:
                    assert_same(chosen, compiled, x, digits=is_inexact(name, traced, literal))


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_one_traced_number(name: str, kind: type) -> None:
    compiled = lamina.defn(lambda x: UNARY[name](x))
    for x in [
        *VALUES[kind],
        *((2.5, 3.5, -1e18, 1e19) if kind is float else ()),
        *((1e308 + 1e308j,) if kind is complex else ()),
    ]:
        assert_same(UNARY[name], compiled, x, digits=name == "abs" and kind is complex)


BASES: dict[type, list[Any]] = {
    **VALUES,
    int: [0, 1, -1, 2, -3, 10, 3037000499, 3037000500, -3037000500, 2**62, -(2**63)],
    complex: [0j, 1 + 2j, -1.5 + 0j, 2j],
}
EXPONENTS: dict[type, list[Any]] = {
    bool: [False, True],
    int: [0, 1, 2, 3, 10, 62, 63, -1, -3],
    float: [0.0, -0.0, 1.0, 2.0, 3.0, 0.5, -0.5, -1.0, 1e300, math.inf, -math.inf, math.nan],
    complex: [0j, 1 + 2j, 2 + 0j, -1 + 0j],
}


@pytest.mark.parametrize("exponent", EXPONENTS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("base", BASES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("form", ["traced", "literal exponent", "literal base"])
def test_powers(form: str, base: type, exponent: type) -> None:
    digits = complex in (base, exponent)
    for y in EXPONENTS[exponent]:
        compiled = lamina.defn(operator.pow) if form == "traced" else lamina.defn(lambda x, y=y: x**y)
        for x in BASES[base]:
            wanted = outcome(operator.pow, x, y)
            if type(wanted) is complex and not digits:
                wanted = ValueError  # the type of a compiled number can't depend on its value
            if form == "literal base":
                came = outcome(lamina.defn(lambda y, x=x: x**y), y)
            else:
                came = outcome(compiled, x, y) if form == "traced" else outcome(compiled, x)
            if digits and not (cmath.isfinite(x) and cmath.isfinite(y)):
                continue  # which part is NaN is the processor's, and so is whether that is an error
            assert same(came, wanted, digits), f"{x!r} ** {y!r}: {came!r} came, {wanted!r} was expected"


@pytest.mark.parametrize("x", [3, 2.5, True])
def test_operators_in_place_rebind_the_name(x: Any) -> None:
    def steps(n: Any) -> Any:
        m = n
        n += 1
        n *= 3
        n -= 2
        n /= 4
        n **= 2
        return n, m

    assert same(lamina.defn(steps)(x), steps(x))


def test_bits_in_place_rebind_the_name() -> None:
    def steps(n: int) -> tuple[int, int]:
        m = n
        n <<= 4
        n |= 3
        n &= 0xF3
        n ^= 1
        n >>= 1
        n //= 2
        n %= 100
        return n, m

    assert lamina.defn(steps)(21) == steps(21)


@pytest.mark.parametrize("digits", [0, 2, -1, None])
@pytest.mark.parametrize("x", [2.675, 1234.5, 17, -25, True, 2.5e-5])
def test_round_to_decimals(x: Any, digits: int | None) -> None:
    assert same(lamina.defn(lambda n: round(n, digits))(x), round(x, digits))


@pytest.mark.parametrize("digits", [0, 1, 2, 5, 8, 22])
def test_a_float_is_rounded_to_the_nearest_decimal(digits: int) -> None:
    """Where the product with a power of ten is a tie, or is rounded to one, and where floats are too far apart."""
    draw = np.random.default_rng(digits)
    numbers = [2.675, 1.005, 0.125, -0.001, 0.5, 2.5, 1e300, 123456789.123456789, 2.0**52 + 0.5, 5e-324, -0.0]
    numbers += (draw.uniform(-1, 1, 150) * 10.0 ** draw.integers(-9, 18, 150)).tolist()
    numbers += [(k + 0.5) / 10**digits for k in range(-50, 100)]
    rounded = lamina.defn(lambda n: round(n, digits), strict=True)
    for number in (*numbers, math.inf, -math.inf, math.nan):
        assert same(rounded(number), round(number, digits)), number


@pytest.mark.parametrize("x", [np.float64(2.5), np.float32(-3.5), np.int8(7), np.float64(1e300), np.float64("nan")])
@pytest.mark.parametrize("function", [round, math.floor, math.ceil])
def test_a_numpy_scalar_rounds_to_a_python_integer(function: Callable[..., Any], x: Any) -> None:
    assert_same(function, lamina.defn(lambda n: function(n)), x)


def test_overflow_is_raised_at_run_time_and_never_wraps() -> None:
    doubled = lamina.defn(lambda n: n * 2)
    assert doubled(2**62 - 1) == 2**63 - 2
    with pytest.raises(OverflowError, match="64 bits"):
        doubled(2**62)
    assert doubled(-(2**62)) == -(2**63)


def test_a_sum_that_overflows_in_a_loop_raises() -> None:
    @lamina.defn
    def power(n: int) -> Any:
        return lamina.fori_loop(0, n, lambda i, c: c * 10, 1)

    assert power(18) == 10**18
    with pytest.raises(OverflowError):
        power(19)


# Numbers among arrays


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "float16", "float32", "complex64", "bool"])
@pytest.mark.parametrize("x", [True, 3, -3, 300, 2.5, 1 + 2j, 2**60 + 2**36 + 1], ids=str)
@pytest.mark.parametrize("name", ["+", "*", "==", "<", ">=", "!="])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_traced_number_is_weak_where_it_meets_an_array(name: str, x: Any, dtype: str, swapped: bool) -> None:
    array = np.array([0, 1, 100], dtype)

    def function(a: Any, n: Any) -> Any:
        return BINARY[name](n, a) if swapped else BINARY[name](a, n)

    compiled = lamina.defn(function)
    with np.errstate(all="ignore"):
        try:
            wanted = function(array, x)
        except (OverflowError, TypeError) as error:
            with pytest.raises(type(error)):
                compiled(array, x)
            return
    came = compiled(array, x)
    assert came.dtype == wanted.dtype
    np.testing.assert_array_equal(came, wanted)


@pytest.mark.parametrize("x", [3, 2.5, True, 1j], ids=str)
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "equal", "less", "maximum", "power"])
def test_numpys_functions_of_numbers_are_numpys(name: str, x: Any) -> None:
    function = lamina.pow if name == "power" else getattr(lamina, name)
    wanted, came = getattr(np, name)(x, 2), lamina.defn(lambda n: function(n, 2))(x)
    assert type(came) is type(wanted)
    assert came == wanted


def test_a_numpy_quotient_by_zero_is_no_error() -> None:
    assert lamina.defn(lambda n: lamina.divide(n, 0))(1) == np.inf
    with pytest.raises(ZeroDivisionError):
        lamina.defn(lambda n: n / 0)(1)


def test_numpys_functions_of_a_number_are_strong() -> None:
    @lamina.defn
    def scaled(x: Any, n: float) -> Any:
        return x * lamina.sin(n), x * n

    x = np.ones(2, np.float32)
    assert [r.dtype for r in scaled(x, 0.5)] == [np.float64, np.float32] == [(x * np.sin(0.5)).dtype, (x * 0.5).dtype]


def test_an_escaped_number_says_so() -> None:
    kept: list[Any] = []
    lamina.defn(lambda n: kept.append(n) or n)(3)
    with pytest.raises(EscapedValueError):
        kept[0] + 1
    with pytest.raises(EscapedValueError):
        -kept[0]
