"""The elementwise functions, eager and traced, against NumPy: dtypes, bits, kinds and exceptions."""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.api import elementwise
from lamina.testing.elements import BFLOAT16, INT4, UINT4, difference, edges, kind_of, layouts, narrow, wide, wild

NUMPY_DTYPES = [
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
]
OTHER_DTYPES = [BFLOAT16, INT4, UINT4]

# What NumPy calls them, where it calls them otherwise.
NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "pow": "power",
}
# fmt: off
UNARY = [
    "abs", "acos", "acosh", "angle", "asin", "asinh", "atan", "atanh", "bitwise_invert", "cbrt", "ceil", "conj",
    "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "fabs", "floor", "imag", "isfinite", "isinf", "isnan", "log",
    "log10", "log1p", "log2", "logical_not", "modf", "nan_to_num", "negative", "positive", "rad2deg", "real",
    "rint", "round", "sign", "signbit", "sin", "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]
BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "copysign", "divide", "equal", "float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater",
    "greater_equal", "heaviside", "hypot", "lcm", "less", "less_equal", "logaddexp", "logaddexp2", "logical_and",
    "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal", "pow", "remainder",
    "subtract",
]
# fmt: on
OWN = ["clip", "complex", "erf", "reciprocal", "sigmoid"]  # tested apart
ERRORS = (TypeError, OverflowError, ValueError)

# NumPy's loops over contiguous elements round elementary functions otherwise than those over others.
LOOPS = 2


@pytest.fixture(autouse=True)
def no_floating_point_warnings() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def numpys(name: str) -> Callable[..., Any]:
    return getattr(np, NAMES.get(name, name))  # type: ignore[no-any-return]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """A result, or the class of the exception, of those that NumPy's are children of."""
    try:
        return function(*args)
    except ERRORS as error:
        return next(each for each in ERRORS if isinstance(error, each))


def wrong(came: Any, wanted: Any, kinds: bool = True, **exactness: Any) -> str:
    """How two outcomes differ; with `kinds` also in whether they are arrays, scalars or Python numbers."""
    if isinstance(wanted, type) or isinstance(came, type):
        return "" if came is wanted else f"{came!r} came, {wanted!r} was expected"
    if isinstance(wanted, tuple):
        return next(filter(None, (wrong(c, w, kinds, **exactness) for c, w in zip(came, wanted, strict=True))), "")
    if kinds and type(came) is not type(wanted):
        return f"{came!r} is {type(came)}, but {type(wanted)} was expected"
    return difference(came, wanted, **exactness)


def assert_numpys(name: str, *args: Any, oracle: Callable[..., Any] | None = None, **exactness: Any) -> None:
    """A public function gives what NumPy's gives, eager and traced."""
    wanted = outcome(oracle or numpys(name), *args)
    function = getattr(lamina, name)
    found = wrong(outcome(function, *args), wanted, kinds=False, **exactness)
    assert not found, f"eager {name}{args}: {found}"
    found = wrong(outcome(lamina.defn(lambda *given: function(*given)), *args), wanted, **exactness)
    assert not found, f"traced {name}{args}: {found}"


def test_every_function_is_tested() -> None:
    assert sorted((*UNARY, *BINARY, *OWN)) == sorted(elementwise.__all__)


# Of one operand


@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(name: str, dtype: np.dtype) -> None:
    assert_numpys(name, edges(dtype))


@pytest.mark.parametrize("name", UNARY)
def test_one_operand_of_every_shape_and_layout(name: str, rng: np.random.Generator) -> None:
    dtype = np.dtype("int16" if name in ("bitwise_invert",) else "float32")
    for shape in ((), (0,), (3, 0), (7,), (3, 5), (2, 3, 4)):
        for _, array in layouts(shape, lambda s: wild(rng, dtype, s)):
            assert_numpys(name, array, ulps=LOOPS)


@pytest.mark.parametrize("x", [True, 3, -2, 2.5, 1 - 2j, np.float32(0.5), np.int8(-3), np.bool_(True)], ids=repr)
@pytest.mark.parametrize("name", UNARY)
def test_one_number(name: str, x: Any) -> None:
    assert_numpys(name, x)


@pytest.mark.parametrize("dtype", OTHER_DTYPES, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand_of_a_dtype_that_numpy_lacks(name: str, dtype: np.dtype) -> None:
    # like NumPy's next dtype, rounded or wrapped where the dtype is kept
    near = np.dtype({BFLOAT16: "float32", INT4: "int8", UINT4: "uint8"}[dtype])
    x = edges(dtype)
    if name == "nan_to_num":
        x = x[np.isfinite(wide(x))]  # the limits are its own
    wanted = outcome(numpys(name), x.astype(near))
    if name == "sinc" and dtype == BFLOAT16:  # each step is rounded
        y = wide(narrow(np.pi * wide(x), dtype))
        y = np.where(y == 0, np.float32(lamina.bfloat16.eps), y)
        wanted = wide(narrow(np.sin(y), dtype)) / y
    parts = wanted if isinstance(wanted, tuple) else (wanted,)
    kept = tuple(narrow(p, dtype) if isinstance(p, np.ndarray) and p.dtype == near else p for p in parts)
    wanted = kept if isinstance(wanted, tuple) else kept[0]
    assert not wrong(outcome(getattr(lamina, name), x), wanted, kinds=False, ulps=1 if name in ("sinc", "angle") else 0)


def test_lists_are_arrays() -> None:
    assert lamina.add([[1, 2]], (3, 4)).tolist() == [[4, 6]]
    assert lamina.sqrt([4, np.float32(9)]).dtype == lamina.float64


# Of two operands


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_of_all_dtypes(name: str, rng: np.random.Generator) -> None:
    for left, right in itertools.product(NUMPY_DTYPES, repeat=2):
        x, y = wild(rng, left, (12,)), wild(rng, right, (12,))
        if name == "pow" and kind_of(right) == "i" and kind_of(left) in "biu":
            y = np.where(y < 0, 2, y).astype(right)
        assert_numpys(name, x, y)


@pytest.mark.parametrize("name", BINARY)
def test_two_operands_broadcast(name: str, rng: np.random.Generator) -> None:
    dtype = np.dtype("int32" if name in ("gcd", "lcm") or name.startswith("bitwise") else "float64")
    for left, right in [
        ((3, 1), (4,)),
        ((), (2, 3)),
        ((1,), (5,)),
        ((2, 0), (1, 1)),
        ((), ()),
        ((1,), ()),
        ((0,), (1,)),
    ]:
        for (_, x), (_, y) in zip(
            layouts(left, lambda s: wild(rng, dtype, s)), layouts(right, lambda s: wild(rng, dtype, s)), strict=False
        ):
            assert_numpys(name, x, y, ulps=LOOPS)
    assert_numpys(name, wild(rng, dtype, (2,)), wild(rng, dtype, (3,)))


NUMBERS = [
    True,
    0,
    3,
    -1,
    300,
    2**31,
    2**60 + 2**36 + 1,
    2**63,
    2**70,
    -(2**70),
    10**400,
    2.5,
    -0.0,
    1e300,
    math.nan,
    1 - 2j,
]


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("swapped", [False, True], ids=["array first", "number first"])
def test_an_array_and_a_python_number(name: str, swapped: bool) -> None:
    for dtype in NUMPY_DTYPES:
        x = edges(dtype)
        for number in NUMBERS:
            if type(number) is int and abs(number) > 2**62 and name.startswith("logical"):
                continue  # NumPy refuses to say whether it is 0
            args = (number, x) if swapped else (x, number)
            wanted = outcome(numpys(name), *args)
            if isinstance(wanted, np.ndarray) and wanted.dtype == object:
                continue
            function = getattr(lamina, name)
            found = wrong(outcome(function, *args), wanted, kinds=False)
            assert not found, f"{name} of {dtype} and {number}: {found}"


@pytest.mark.parametrize("name", BINARY)
def test_two_numbers(name: str) -> None:
    for x, y in itertools.product([True, 3, 2.5, np.int8(3), np.float32(0.5), np.uint64(7), np.array(2)], repeat=2):
        assert_numpys(name, x, y)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", OTHER_DTYPES, ids=str)
def test_two_operands_of_a_dtype_that_numpy_lacks(name: str, dtype: np.dtype, rng: np.random.Generator) -> None:
    near = np.dtype({BFLOAT16: "float32", INT4: "int8", UINT4: "uint8"}[dtype])
    x, y = wild(rng, dtype, (200,)), wild(rng, dtype, (200,))
    if name == "pow":
        y = np.abs(wide(y)).astype(dtype) if dtype == BFLOAT16 else np.maximum(wide(y), 0).astype(dtype)
    if name == "nextafter" and dtype == BFLOAT16:
        wanted = np.nextafter(x, y)
    else:
        wanted = outcome(numpys(name), x.astype(near), y.astype(near))
        if isinstance(wanted, np.ndarray) and wanted.dtype == near:
            wanted = narrow(wanted, dtype)
    assert not wrong(outcome(getattr(lamina, name), x, y), wanted, kinds=False)


@pytest.mark.parametrize("other", NUMPY_DTYPES + OTHER_DTYPES, ids=str)
@pytest.mark.parametrize("dtype", OTHER_DTYPES, ids=str)
def test_a_dtype_that_numpy_lacks_with_others(dtype: np.dtype, other: np.dtype, rng: np.random.Generator) -> None:
    x, y = wild(rng, dtype, (50,)), wild(rng, other, (50,))
    meet = lamina.dtype.promote(lamina.dtype.from_numpy(dtype), lamina.dtype.from_numpy(other)).numpy
    wanted = narrow(wide(x.astype(meet)) * wide(y.astype(meet)), meet)
    assert not wrong(lamina.multiply(x, y), wanted, kinds=False)
    assert not wrong(lamina.multiply(y, x), wanted, kinds=False)
    if kind_of(other) != "c":
        exact = [a < b for a, b in zip(map(number, x), map(number, y), strict=True)]
        if not (kind_of(meet) == "f" and {kind_of(dtype), kind_of(other)} != {"f"}):  # floats round integers
            assert np.asarray(lamina.less(x, y)).tolist() == exact


def number(x: Any) -> Any:
    return float(x) if kind_of(x.dtype) == "f" else int(x)


# With their own arguments


@pytest.mark.parametrize("decimals", [-400, -3, -1, 0, 1, 2, 5, 20, 25, 309, np.int8(1)])
@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
def test_round(dtype: np.dtype, decimals: Any, rng: np.random.Generator) -> None:
    x = edges(dtype)
    if kind_of(dtype) in "iu":  # what is out of range then is the processor's in NumPy
        decimals = max(decimals, -3)
        x = np.array([0, 1, 4, 5, 15, 25, 99, 104], dtype)
    wanted = outcome(np.round, x, decimals)
    assert not wrong(outcome(lamina.round, x, decimals), wanted, kinds=False)
    assert not wrong(outcome(lamina.defn(lambda a: a.round(decimals)), x), wanted)


def test_round_of_scalars() -> None:
    for x in (np.array(2.567), np.float32(2.567), 2.567, 1234, np.array(1234), 1.5 + 2.567j):
        for decimals in (-2, 0, 1):
            assert not wrong(lamina.defn(lambda a, d=decimals: lamina.round(a, d))(x), np.round(x, decimals))


BOUNDS = [
    None,
    0,
    1,
    -1,
    128,
    -129,
    300,
    -300,
    2.5,
    math.nan,
    2**40,
    np.int8(3),
    np.float32(0.5),
    np.array([1, 2, 3]),
    True,
]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
def test_clip(dtype: np.dtype, rng: np.random.Generator) -> None:
    x = wild(rng, dtype, (4, 3))
    x = np.where(np.isnan(x), 1, x).astype(dtype) if kind_of(dtype) == "c" else x
    for low, high in itertools.product(BOUNDS, repeat=2):
        wanted = outcome(np.clip, x, low, high)
        if kind_of(dtype) == "c" and any(b != b for b in (low, high) if isinstance(b, float)):
            continue  # which part of a complex number is NaN then is not told
        found = wrong(outcome(lamina.clip, x, low, high), wanted, kinds=False)
        assert not found, (dtype, low, high, found)
        found = wrong(outcome(lamina.defn(lambda a, low=low, high=high: a.clip(low, high)), x), wanted)
        assert not found, (dtype, low, high, found)


@pytest.mark.parametrize("low", [-300, -128, 0, 5, 300])
@pytest.mark.parametrize("high", [-300, 0, 5, 127, 300])
def test_clip_by_traced_numbers(low: int, high: int) -> None:
    x = np.array([-128, -1, 3, 127], np.int8)
    clipped = lamina.defn(lambda a, b, c: lamina.clip(a, b, c))
    wanted = outcome(np.clip, x, low, high)
    assert not wrong(outcome(clipped, x, low, high), wanted)


def test_clip_without_bounds_copies() -> None:
    x = np.arange(3.0)
    assert lamina.clip(x).tolist() == [0, 1, 2]
    assert not np.shares_memory(np.asarray(lamina.clip(x)), x)


@pytest.mark.parametrize("name", ["round", "clip"])
def test_out_is_refused_by_name(name: str) -> None:
    with pytest.raises(NotImplementedError, match="out"):
        getattr(lamina, name)(np.ones(2), out=np.ones(2))


@pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES if kind_of(d) in "fc"], ids=str)
@pytest.mark.parametrize("given", [{}, {"nan": 7.0}, {"posinf": 1, "neginf": -1}, {"nan": np.arange(3.0)}], ids=str)
def test_nan_to_num(dtype: np.dtype, given: dict[str, Any], rng: np.random.Generator) -> None:
    for shape in ((5, 3), (3,)):
        x = wild(rng, dtype, shape)
        assert not wrong(lamina.nan_to_num(x, **given), np.nan_to_num(x, **given), kinds=False)
    with pytest.raises(NotImplementedError, match="copy"):
        lamina.nan_to_num(np.ones(2), copy=False)


def test_angle_in_degrees() -> None:
    x = edges(np.dtype("complex64"))
    assert not wrong(lamina.angle(x, deg=True), np.angle(x, deg=True), kinds=False)


@pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES if kind_of(d) in "fc"], ids=str)
def test_reciprocal_of_floats(dtype: np.dtype) -> None:
    assert_numpys("reciprocal", edges(dtype))


@pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES + OTHER_DTYPES if kind_of(d) in "biu"], ids=str)
def test_reciprocal_of_integers(dtype: np.dtype) -> None:
    x = edges(dtype)
    result = lamina.reciprocal(x)
    of_zero = np.iinfo(dtype).min if dtype in ("int32", "int64") else 0
    assert np.asarray(result).astype(int).tolist() == [math.trunc(1 / v) if v else of_zero for v in map(int, x)]
    assert result.dtype == (lamina.int8 if kind_of(dtype) == "b" else lamina.dtype.from_numpy(dtype))


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + OTHER_DTYPES, ids=str)
@pytest.mark.parametrize("name", ["erf", "sigmoid"])
def test_functions_that_numpy_lacks(name: str, dtype: np.dtype) -> None:
    x = edges(dtype)
    if kind_of(dtype) == "c":
        with pytest.raises(TypeError, match="complex"):
            getattr(lamina, name)(x)
        return
    float_of = (
        np.dtype(BFLOAT16)
        if dtype == BFLOAT16
        else np.sqrt(x.astype({INT4: "i1", UINT4: "u1"}.get(dtype, dtype))).dtype
    )
    exact = {"erf": math.erf, "sigmoid": lambda v: 0.0 if v < -700 else 1 / (1 + math.exp(-v))}[name]
    wanted = np.array([exact(float(v)) for v in wide(x).astype(float_of)]).astype(float_of)
    result = np.asarray(getattr(lamina, name)(x))
    assert result.dtype == float_of
    limit = 6 * float(ml_dtypes.finfo(float_of).eps)
    assert all(abs(float(a) - float(b)) <= limit or (a != a and b != b) for a, b in zip(result, wanted, strict=True))


@pytest.mark.parametrize("dtype", NUMPY_DTYPES + OTHER_DTYPES, ids=str)
def test_complex(dtype: np.dtype) -> None:
    x = edges(dtype)
    if kind_of(dtype) == "c":
        with pytest.raises(TypeError, match="complex"):
            lamina.complex(x, x)
        return
    result = lamina.complex(x, x[::-1].copy())
    narrow_float = kind_of(dtype) == "f" and dtype.itemsize <= 4
    assert result.dtype == (lamina.complex64 if narrow_float else lamina.complex128)
    np.testing.assert_array_equal(np.asarray(result.real), wide(x).astype(np.asarray(result.real).dtype))
    np.testing.assert_array_equal(np.asarray(result.imag), wide(x)[::-1].astype(np.asarray(result.imag).dtype))


# Errors


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: lamina.negative(np.array([True])), TypeError, "negative.*bool"),
        (lambda: lamina.subtract(np.array([True]), np.array([True])), TypeError, "subtract.*bool"),
        (lambda: lamina.positive(np.array([True])), TypeError, "positive.*bool"),
        (lambda: lamina.bitwise_and(np.ones(2), 1), TypeError, "bitwise_and.*float64"),
        (lambda: lamina.floor(np.ones(2, complex)), TypeError, "floor.*complex128"),
        (lambda: lamina.add(np.ones(2), np.ones(3)), ValueError, r"add.*\(2,\) \(3,\)"),
        (lambda: lamina.add(np.ones(2, np.int8), 300), OverflowError, "add.*300.*int8"),
        (lambda: lamina.add("a", 1), TypeError, "add.*first operand.*'a'"),
        (lambda: lamina.add(1, None), TypeError, "add.*second operand.*None"),
        (lambda: lamina.sin({1: 2}), TypeError, "sin.*operand"),
        (lambda: lamina.add([1, [2]], 1), (TypeError, ValueError), "add"),
        (lambda: lamina.add(np.array(["a"]), 1), TypeError, "string"),
        (lambda: lamina.pow(np.array([2]), -1), ValueError, "negative integer powers"),
        (lambda: lamina.pow(np.array([2]), np.array([1, -1])), ValueError, "negative integer powers"),
        (lambda: lamina.round(np.array([True]), 1), TypeError, "round.*bool"),
        (lambda: lamina.round(np.ones(2), 1.5), TypeError, "round"),
        (lambda: lamina.clip(np.ones(2, np.int8), 300), OverflowError, "300"),
    ],
)
def test_errors_name_the_function_and_what_was_wrong(call: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        call()
    assert __file__ in str(caught.value)


def test_a_negative_power_that_is_only_known_at_run_time() -> None:
    power = lamina.defn(lambda x, n: x**n)
    x = np.array([2, 3])
    assert power(x, 2).tolist() == [4, 9]
    with pytest.raises(ValueError, match="negative integer powers"):
        power(x, -2)
    with pytest.raises(ValueError, match="negative integer powers"):
        power(x, np.array([1, -1]))
    assert power(np.array([2.0]), -1).tolist() == [0.5]


def test_a_power_of_integers_has_a_check_where_it_needs_one() -> None:
    x = np.array([2, 3])
    for exponent, checks in ((2, 0), (-1, 1), (np.array([1, -1]), 1), (np.array([1, 2], np.uint8), 0), (2.0, 0)):
        graph = lamina.trace(lambda a, n=exponent: lamina.pow(a, n), x)
        assert [effect.args[1] for effect in graph.effects] == [ValueError] * checks


# Faults met elsewhere


CASES = {
    "T14 integer quotients follow Python": (
        lambda lib: [
            lib.remainder(np.array([-135]), 360),
            lib.floor_divide(np.array([-7, 7, -7, 7]), np.array([2, 2, -2, -2])),
            lib.remainder(np.array([-7, 7, -7, 7]), np.array([2, 2, -2, -2])),
            lib.floor_divide(np.array([110]), 55),
            lib.remainder(np.array([110]), 55),
            lib.floor_divide(np.array([120], np.int8), np.array([-27], np.int8)),
        ],
        [[225], [-4, 3, 3, -4], [1, 1, -1, -1], [2], [0], [-5]],
    ),
    "T20 uint64 keeps its digits": (
        lambda lib: [lib.add(np.array([1400000002000000600], np.uint64), 1)],
        [[1400000002000000601]],
    ),
    "T21 NaN in maximum": (
        lambda lib: [
            lib.maximum(np.array([1.0, np.nan]), np.array([np.nan, 1.0])),
            lib.minimum(np.nan, np.array([1.0])),
        ],
        [[math.nan, math.nan], [math.nan]],
    ),
    "T25 no folding of x * 0": (
        lambda lib: [
            lib.multiply(np.array([1, np.nan, np.inf]), 0),
            lib.subtract(np.array([np.nan, np.inf, 0.0]), np.array([np.nan, np.inf, 0.0])),
            lib.divide(np.array([np.nan, np.inf, 0.0]), np.array([np.nan, np.inf, 0.0])),
            lib.divide(0, np.array([np.nan, np.inf, 0.0])),
        ],
        [[0, math.nan, math.nan], [math.nan, math.nan, 0], [math.nan] * 3, [math.nan, 0, math.nan]],
    ),
    "T27 complex roots on the branch cut": (
        lambda lib: [
            lib.sqrt(np.array([complex(-1, -0.0), complex(-1, 0.0)])),
            lib.abs(np.array([complex(math.inf, 0)])),
        ],
        [[-1j, 1j], [math.inf]],
    ),
    "T39 integer powers wrap": (
        lambda lib: [
            lib.pow(np.array([10000, 20000]), np.array([10000, 20000])),
            lib.pow(np.array([2]), np.array([62, 63, 64])),
            lib.pow(np.array([2.0]), -1),
        ],
        [[0, 0], [2**62, -(2**63), 0], [0.5]],
    ),
    "T43 dtype of where": (
        lambda lib: [
            lib.where(np.array([True, False]), np.array([1, 2], np.int32), 0.5),
            lib.where(np.array([True]), np.array([1], np.float32), np.array([1.0])),
            lib.where(np.array([True]), np.array([1], np.float32), 0.1),
        ],
        [[1.0, 0.5], [1.0], [1.0]],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", ["eager", "traced"])
def test_known_fault(case: str, how: str) -> None:
    compute, wanted = CASES[case]
    results = compute(lamina) if how == "eager" else lamina.defn(lambda: compute(lamina))()
    for result, expected, of_numpy in zip(results, wanted, compute(np), strict=True):
        np.testing.assert_array_equal(np.asarray(result), expected)
        assert not difference(result, of_numpy)


def test_known_fault_t20_dtypes() -> None:
    assert lamina.result_type(lamina.uint64, lamina.int64) == lamina.float64
    assert lamina.result_type(lamina.uint32, lamina.int32) == lamina.int64


def test_known_fault_t25_in_one_function() -> None:
    @lamina.defn
    def f(x: Any) -> Any:
        return x * 0, x - x, x / x, 0 / x

    x = np.array([1, np.nan, np.inf, 0.0])
    for came, wanted in zip(f(x), (x * 0, x - x, x / x, 0 / x), strict=True):
        assert not difference(came, wanted)


def test_known_fault_t39_an_integer_to_a_negative_power() -> None:
    with pytest.raises(ValueError, match="negative"):
        lamina.asarray([2]) ** -1


# What lamina promises where NumPy leaves it open


@pytest.mark.parametrize("dtype", [d for d in NUMPY_DTYPES if kind_of(d) in "iu"], ids=str)
def test_division_by_zero_and_far_shifts(dtype: np.dtype) -> None:
    x, zero = edges(dtype), np.zeros(1, dtype)
    for name in ("floor_divide", "remainder", "fmod"):
        assert not np.asarray(getattr(lamina, name)(x, zero)).any()
    width = np.array([dtype.itemsize * 8], dtype)
    assert not np.asarray(lamina.bitwise_left_shift(x, width)).any()
    assert np.asarray(lamina.bitwise_right_shift(x, width)).tolist() == [-1 if v < 0 else 0 for v in x.tolist()]


def test_a_result_is_an_array_of_lamina_or_of_numpy() -> None:
    x = np.ones(2)
    assert type(lamina.add(x, 1)) is lamina.Array
    assert type(lamina.defn(lambda a: lamina.add(a, 1))(x)) is np.ndarray
    assert type(lamina.defn(lambda a: lamina.add(a, 1))(lamina.asarray(x))) is lamina.Array


def test_positive_copies_and_real_does_not() -> None:
    x = lamina.asarray(np.ones(3))
    assert lamina.real(x) is x
    assert not np.shares_memory(np.asarray(lamina.positive(x)), np.asarray(x))


@pytest.mark.parametrize("name", elementwise.__all__)
def test_every_function_has_a_docstring_with_an_example(name: str) -> None:
    doc = getattr(lamina, name).__doc__
    assert f">>> lamina.{name}(" in doc
    assert "Raises" in doc or name in ("real", "imag", "angle", "rint", "sinc")
