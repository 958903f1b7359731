"""Elementary functions against long doubles, these against mpmath, and mpmath itself at the hard points."""

import itertools
import re
from collections.abc import Callable

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
from mpmath import mpf

from lamina.compilers.native import ir
from lamina.compilers.native.maths import MATHS, polynomials
from lamina.expr.ops import OPS
from tests.native import minimax
from tests.native.loops import Loop, loop, optimised, written

DTYPES = ("f4", "f8")
LONG = np.longdouble
WIDE = {"f4": np.float64, "f8": LONG}  # what judges each
ULPS = 2.0
INF, NAN = np.inf, np.nan


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _erf(x: np.ndarray) -> np.ndarray:
    """2/sqrt(pi) x e**-x**2 (1 + 2 x**2/3 + (2 x**2)**2/(3 5) + …), whose terms have one sign."""
    square = np.minimum(x * x, 49)
    term = total = np.ones_like(x)
    for n in range(1, 260):
        term = term * 2 * square / (2 * n + 1)
        total = total + term
    return np.where(abs(x) < 7, 2 / np.sqrt(4 * np.arctan(LONG(1))) * x * np.exp(-square) * total, np.sign(x))


# name: the function for long doubles, and mpmath's
UNARY: dict[str, tuple[Callable[..., np.ndarray], Callable[..., mpf]]] = {
    "exp": (np.exp, mpmath.exp),
    "exp2": (np.exp2, lambda x: mpf(2) ** x),
    "expm1": (np.expm1, mpmath.expm1),
    "log": (np.log, mpmath.log),
    "log2": (np.log2, lambda x: mpmath.log(x, 2)),
    "log10": (np.log10, mpmath.log10),
    "log1p": (np.log1p, mpmath.log1p),
    "erf": (_erf, mpmath.erf),
    "sigmoid": (_sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "sin": (np.sin, mpmath.sin),
    "cos": (np.cos, mpmath.cos),
    "tan": (np.tan, mpmath.tan),
    "asin": (np.arcsin, mpmath.asin),
    "acos": (np.arccos, mpmath.acos),
    "atan": (np.arctan, mpmath.atan),
    "sinh": (np.sinh, mpmath.sinh),
    "cosh": (np.cosh, mpmath.cosh),
    "tanh": (np.tanh, mpmath.tanh),
    "asinh": (np.arcsinh, mpmath.asinh),
    "acosh": (np.arccosh, mpmath.acosh),
    "atanh": (np.arctanh, mpmath.atanh),
    "sqrt": (np.sqrt, mpmath.sqrt),
    "cbrt": (np.cbrt, lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x))),
}
BINARY = {
    "pow": (np.float_power, mpmath.power),
    "float_power": (np.float_power, mpmath.power),
    "hypot": (np.hypot, mpmath.hypot),
    "atan2": (np.arctan2, mpmath.atan2),
}
ORACLES = UNARY | BINARY
FUNCTIONS = [(name, dtype) for name in ORACLES for dtype in DTYPES]

# where the greatest and the least numbers, and the steps of reductions, are met
BORDERS = [
    *(0.0, 0.25, 0.375, 0.5, 1.0, 2.0, 3.0, 8.0, 9.0, 10.0, 20.0, 22.0, 40.0, 100.0, 1000.0),
    *(np.log(2.0) * (k + 0.5) for k in range(6)),
    *(2.0**k * 0.5**0.5 for k in range(-2, 3)),
    *(2.0**16, 2.0**17, 2.0**26, 2.0**30, 2.0**40, 2.0**53),
    *(np.pi / 4 * k for k in range(1, 9)),
    *(88.72283905206835, 89.41598629223294, 103.97207708399179, 87.33654475055310, 128.0, 126.0, 149.0),
    *(709.782712893384, 710.4758600739439, 745.1332191019411, 708.3964185322641, 1024.0, 1022.0, 1074.0),
]


def special_numbers(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    magnitudes = [0, 0.5, 1, 1.5, 2, 3, 4, 100, 101, info.max, info.tiny, info.smallest_subnormal, info.eps, INF]
    return np.array([NAN, *magnitudes, *(-x for x in magnitudes)], dtype)


def near(points: np.ndarray, dtype: str, steps: int) -> np.ndarray:
    """The points of both signs, and so many numbers next to each on either side."""
    center = np.concatenate([points, -points]).astype(dtype)
    whole = center.view("i" + dtype[1:])
    with np.errstate(over="ignore"):
        return (whole[:, None] + np.arange(-steps, steps + 1, dtype=whole.dtype)).ravel().view(dtype)


def any_bits(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    return rng.integers(0, 2 ** (8 * int(dtype[1])), count, f"u{dtype[1]}").view(dtype)


def arguments(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Numbers of all sizes, of common sizes, and near the borders."""
    uniform = [rng.uniform(-size, size, count // 8) for size in (1.0, 2.0, 10.0, 100.0, 750.0)]
    near_one = 1 + rng.uniform(-1, 1, count // 8) * 10.0 ** rng.uniform(-16, 0, count // 8)
    common = np.concatenate([*uniform, near_one]).astype(dtype)
    return np.concatenate(
        [any_bits(rng, dtype, count), common, near(np.array(BORDERS), dtype, 40), special_numbers(dtype)]
    )


def pairs(rng: np.random.Generator, name: str, dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    x = any_bits(rng, dtype, count)
    if name in ("pow", "float_power"):  # results over the whole range
        near_one = 1 + rng.uniform(-0.5, 0.5, count) * 10.0 ** rng.uniform(-15, 0, count)
        with np.errstate(all="ignore"):
            x = np.concatenate([abs(x), near_one.astype(dtype)])
            limit = 1.01 * np.log(float(np.finfo(dtype).smallest_subnormal))
            y = (rng.uniform(-1, 1, 2 * count) * limit / np.log(x.astype("f8"))).astype(dtype)
        return x, y
    with np.errstate(all="ignore"):
        y = (x.astype(LONG) * 2.0 ** rng.uniform(-60, 60, count)).astype(dtype)
    return x, y


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The error in units of the last place, `want` being wider; infinite where NaN or a sign differs."""
    dtype = got.dtype
    wide = want.dtype.type
    beyond = wide(2) ** np.finfo(dtype).maxexp  # where the next number would be, if infinity were one
    with np.errstate(all="ignore"):
        place = np.spacing(np.abs(np.clip(want, -np.finfo(dtype).max, np.finfo(dtype).max)).astype(dtype)).astype(wide)
        error = np.abs(np.clip(got.astype(wide), -beyond, beyond) - np.clip(want, -beyond, beyond)) / place
        error[np.isnan(got) & np.isnan(want)] = 0
        error[np.isnan(got) != np.isnan(want)] = INF
        error[(np.signbit(got) != np.signbit(want)) & ~np.isnan(want)] = INF
    return error


def judged(name: str, operands: tuple[np.ndarray, ...]) -> np.ndarray:
    """The function in a wider dtype: for doubles in long ones, where the machine has them."""
    wide = WIDE[operands[0].dtype.str[1:]]
    if np.finfo(wide).nmant < np.finfo(operands[0].dtype).nmant + 11:
        pytest.skip("no long double with more digits than a double")
    with np.errstate(all="ignore"):
        return ORACLES[name][0](*(x.astype(wide) for x in operands))


def worst(name: str, operands: tuple[np.ndarray, ...]) -> tuple[float, tuple[np.floating, ...], np.floating]:
    """The largest error, its operands, and the result there."""
    got = loop(name, operands[0].dtype.str[1:], len(operands))(*operands)
    error = ulps(got, judged(name, operands))
    i = int(error.argmax())
    return float(error[i]), tuple(x[i] for x in operands), got[i]


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_within_two_ulp(name: str, dtype: str, rng: np.random.Generator, long_mode: bool) -> None:
    for _ in range(50 if long_mode else 1):
        count = 1_000_000 if long_mode else 100_000
        operands = pairs(rng, name, dtype, count) if name in BINARY else (arguments(rng, dtype, count),)
        error, where, got = worst(name, operands)
        print(f"{name} {dtype}: {error:.3f} ulp at {where}, which gives {got!r}")
        assert error <= ULPS


@pytest.mark.long
@pytest.mark.parametrize("name", UNARY)
def test_every_single(name: str) -> None:
    step = 2**16
    chunks = (np.arange(first, first + step, dtype="u4").view("f4") for first in range(0, 2**32, step))
    error, where, got = max((worst(name, (x,)) for x in chunks), key=lambda found: found[0])
    print(f"{name}: {error:.3f} ulp at {where}, which gives {got!r}")
    assert error <= ULPS


def exactly(name: str, *operands: float) -> mpf:
    with mpmath.workprec(1300):
        return ORACLES[name][1](*map(mpf, operands))


def exact_ulps(name: str, got: np.ndarray, operands: tuple[np.ndarray, ...]) -> list[float]:
    """As `ulps`, by mpmath; for finite results."""
    errors = []
    for value, *where in zip(got.tolist(), *(x.tolist() for x in operands), strict=True):
        want = exactly(name, *where)
        place = float(np.spacing(abs(got.dtype.type(float(want)))))
        with mpmath.workprec(1300):
            errors.append(float(abs(mpf(value) - want) / place))
    return errors


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_multiples_of_half_pi(name: str, dtype: str, rng: np.random.Generator) -> None:
    """The numbers next to multiples of pi/2 of all sizes: what is left of them has few digits."""
    with mpmath.workprec(1300):
        largest = 1020 if dtype == "f8" else 126
        factors = [
            *range(1, 40),
            *(int(2.0 ** rng.uniform(5, 52)) << int(rng.integers(0, largest - 53)) for _ in range(300)),
        ]
        points = np.array([float(k * mpmath.pi / 2) for k in factors]).astype(dtype)
    # known to come closest, for doubles: 6381956970095103 * 2**797 (Muller et al., 2018); for floats: 16367173 * 2**72
    hardest = 6381956970095103 * 2.0**797 if dtype == "f8" else 16367173 * 2.0**72
    points = points[np.isfinite(points)]
    x = np.concatenate([near(points, dtype, 1), np.array([hardest, -hardest], dtype)])
    errors = exact_ulps(name, loop(name, dtype)(x), (x,))
    worst = int(np.argmax(errors))
    assert errors[worst] <= ULPS, x[worst]


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_the_judges_are_good(name: str, dtype: str, rng: np.random.Generator) -> None:
    """The oracle against mpmath: six more bits, that is a hundredth or so of a unit in the last place."""
    operands = pairs(rng, name, dtype, 150) if name in BINARY else (arguments(rng, dtype, 200),)
    want = judged(name, operands).astype(LONG)
    normal = (abs(want) < np.finfo(dtype).max) & (abs(want) > np.finfo(dtype).tiny)
    chosen = rng.permutation(np.flatnonzero(normal))[:200]
    for i in chosen:
        exact = exactly(name, *(float(x[i]) for x in operands))
        fraction, exponent = np.frexp(want[i])  # in two doubles, neither of which vanishes
        high = float(fraction)
        with mpmath.workprec(1300):
            value = mpmath.ldexp(mpf(high) + mpf(float(fraction - LONG(high))), int(exponent))
            assert abs(value - exact) <= abs(exact) * np.finfo(dtype).eps / 64, [x[i] for x in operands]


# C's Annex F, which NumPy follows: what comes of ±0, of ±inf, and of numbers outside the domain
SPECIAL = {
    "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0.0)],
    "exp2": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0.0), (10, 1024), (-3, 0.125)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1)],
    "log": [(0.0, -INF), (-0.0, -INF), (1, 0.0), (INF, INF), (-INF, NAN), (-1, NAN)],
    "log2": [(0.0, -INF), (-0.0, -INF), (1, 0.0), (INF, INF), (-INF, NAN), (-1, NAN), (1024, 10), (0.125, -3)],
    "log10": [(0.0, -INF), (-0.0, -INF), (1, 0.0), (INF, INF), (-INF, NAN), (-1, NAN), (1000, 3), (1e10, 10)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1, -INF), (INF, INF), (-INF, NAN), (-2, NAN)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1), (-INF, 0.0)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "cos": [(0.0, 1), (-0.0, 1), (INF, NAN), (-INF, NAN)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN)],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1, np.pi / 2), (2, NAN), (-1.5, NAN), (INF, NAN)],
    "acos": [(1, 0.0), (-1, np.pi), (0.0, np.pi / 2), (2, NAN), (-1.5, NAN), (-INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, np.pi / 2), (-INF, -np.pi / 2)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "cosh": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, INF)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1), (-INF, -1)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1, 0.0), (INF, INF), (0.5, NAN), (0.0, NAN), (-INF, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1, INF), (-1, -INF), (2, NAN), (-2, NAN), (INF, NAN)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1, NAN), (-INF, NAN), (9, 3)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (27, 3), (-8, -2)],
}


@pytest.mark.parametrize(("name", "dtype"), list(itertools.product(UNARY, DTYPES)))
def test_special_values(name: str, dtype: str) -> None:
    x = np.array([NAN, *(x for x, _ in SPECIAL[name])], dtype)
    want = np.array([NAN, *(want for _, want in SPECIAL[name])], dtype)
    got = loop(name, dtype)(x)
    np.testing.assert_array_equal(got, want)
    numbers = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_exact_results(dtype: str) -> None:
    """Numbers whose function is a number of the format, as programs expect it."""
    digits, kind = np.finfo(dtype).nmant + 1, np.dtype(dtype).type
    exponents = np.arange(np.finfo(dtype).minexp - digits + 2, np.finfo(dtype).maxexp)
    powers_of_two = np.ldexp(kind(1), exponents)
    np.testing.assert_array_equal(loop("exp2", dtype)(exponents.astype(dtype)), powers_of_two)
    np.testing.assert_array_equal(loop("log2", dtype)(powers_of_two), exponents)
    tens = [n for n in range(23) if 5**n < 2**digits]
    np.testing.assert_array_equal(loop("log10", dtype)(np.array([10.0**n for n in tens], dtype)), tens)
    roots = np.arange(1, 2 ** (digits // 3), 1 + 2 ** (digits // 3) // 5000)
    np.testing.assert_array_equal(loop("cbrt", dtype)((roots**3).astype(dtype)), roots)
    whole = [(x, y) for x in range(1, 300) for y in range(1, digits) if x**y < 2**digits]
    x, y = (np.array(side, dtype) for side in zip(*whole, strict=True))
    np.testing.assert_array_equal(loop("pow", dtype, 2)(x, y), np.array([x**y for x, y in whole], dtype))
    np.testing.assert_array_equal(loop("hypot", dtype, 2)(3 * x, 4 * x), 5 * x)


@pytest.mark.parametrize(("name", "dtype"), list(itertools.product(BINARY, DTYPES)))
def test_special_pairs(name: str, dtype: str) -> None:
    """All pairs of special numbers, as C's functions have them, which NumPy calls for these dtypes."""
    numbers = special_numbers(dtype)
    x, y = (side.ravel() for side in np.meshgrid(numbers, numbers))
    function = {"pow": np.float_power, "float_power": np.float_power, "hypot": np.hypot, "atan2": np.arctan2}[name]
    with np.errstate(all="ignore"):
        want = function(x.astype("f8"), y.astype("f8"))
    assert ulps(loop(name, dtype, 2)(x, y), want.astype(LONG)).max() <= ULPS


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, -1.0, 3.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_constant_exponents(dtype: str, exponent: float, lanes: int, rng: np.random.Generator) -> None:
    """`pow` has the very bits of NumPy's short cuts, `float_power` C's results, which differ for -inf**0.5."""

    def with_exponent(name: str) -> Loop:
        def emit(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
            return MATHS[name](builder, x, x.type(exponent))

        return Loop(emit, 1, np.dtype(dtype), lanes)

    x = np.concatenate([special_numbers(dtype)[:28], any_bits(rng, dtype, 1000)])
    with np.errstate(all="ignore"):
        short, long = x**exponent, np.float_power(x.astype(LONG), exponent)
    got = with_exponent("pow")(x)
    if exponent == 3:  # which has no short cut
        assert ulps(got, long).max() <= ULPS
    else:
        np.testing.assert_array_equal(got, short)
        np.testing.assert_array_equal(np.signbit(got)[got == 0], np.signbit(short)[got == 0])
    assert ulps(with_exponent("float_power")(x), long).max() <= ULPS


@pytest.mark.parametrize("dtype", DTYPES)
def test_nextafter(dtype: str, rng: np.random.Generator) -> None:
    numbers = special_numbers(dtype)
    special = [side.ravel() for side in np.meshgrid(numbers, numbers)]
    for x, y in (special, (any_bits(rng, dtype, 10_000), any_bits(rng, dtype, 10_000))):
        with np.errstate(all="ignore"):
            want = np.nextafter(x, y)
        got = loop("nextafter", dtype, 2)(x, y)
        np.testing.assert_array_equal(got, want)
        numbers = ~np.isnan(want)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


SUMS = {"logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SUMS)
def test_logarithms_of_sums(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = rng.uniform(-100, 100, 100_000).astype(dtype)
    y = x + (rng.uniform(-1, 1, x.size) * 10.0 ** rng.uniform(-9, 2, x.size)).astype(dtype)
    got = loop(name, dtype, 2)(x, y).astype(WIDE[dtype])
    want = SUMS[name](x.astype(WIDE[dtype]), y.astype(WIDE[dtype]))
    greatest = np.maximum(np.maximum(abs(x), abs(y)), 1)
    assert (abs(got - want) <= ULPS * np.spacing(greatest)).all()

    numbers = special_numbers(dtype)
    x, y = (side.ravel() for side in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        want = SUMS[name](x, y)
    np.testing.assert_allclose(
        loop(name, dtype, 2)(x, y), want, rtol=2 * np.finfo(dtype).eps, atol=2 * np.finfo(dtype).eps
    )


@pytest.mark.parametrize(("name", "dtype"), FUNCTIONS)
def test_vectors_are_as_scalars(name: str, dtype: str, rng: np.random.Generator) -> None:
    arity = 2 if name in BINARY else 1
    operands = [np.concatenate([any_bits(rng, dtype, 100), special_numbers(dtype)[:28]]) for _ in range(arity)]
    for lanes in (4, 8):
        got = Loop(MATHS[name], arity, np.dtype(dtype), lanes)(*operands)
        np.testing.assert_array_equal(got, loop(name, dtype, arity)(*operands))


def test_every_function_is_tested() -> None:
    assert set(MATHS) == {*ORACLES, *SUMS, "nextafter"}
    assert all(OPS[name].arity == (1 if name in UNARY else 2) for name in MATHS)


# the packed multiplications and multiply-adds of processors, of float32 and of float64
X86 = (r"\bv(mul|sqrt|fn?m(add|sub)\d+)ps\b", r"\bv(mul|sqrt|fn?m(add|sub)\d+)pd\b")
ARM = (r"\bf(mul|mla|mls|sqrt)\s+v\d+\.4s", r"\bf(mul|mla|mls|sqrt)\s+v\d+\.2d")
PACKED = {
    ("x86_64-unknown-linux-gnu", "x86-64-v3"): X86,
    ("x86_64-unknown-linux-gnu", "x86-64-v4"): X86,
    ("aarch64-unknown-linux-gnu", "neoverse-n1"): ARM,
}
COMMON, *OTHERS = PACKED
SIMD = [(*case, COMMON) for case in FUNCTIONS]
SIMD += [(name, dtype, other) for name in ("exp", "log", "sin", "tanh") for dtype in DTYPES for other in OTHERS]


@pytest.mark.parametrize(("name", "dtype", "processor"), SIMD)
def test_loops_are_simd(name: str, dtype: str, processor: tuple[str, str]) -> None:
    triple, cpu = processor
    try:
        machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3)
    except RuntimeError:
        pytest.skip(f"this LLVM has no {triple}")
    lanes = 8 if name in ("sin", "cos", "tan") else 1
    module = optimised(written(MATHS[name], 2 if name in BINARY else 1, np.dtype(dtype), lanes), machine)
    assert re.search(rf"load <\d+ x {'float' if dtype == 'f4' else 'double'}>", str(module.get_function("loop")))
    assert re.search(PACKED[processor][dtype == "f8"], machine.emit_assembly(module))


@pytest.mark.parametrize(
    ("name", "digits"), [(name, digits) for name, fit in minimax.FITS.items() for digits in fit.terms]
)
def test_coefficients_are_those_found(name: str, digits: int) -> None:
    found, _ = minimax.coefficients(minimax.FITS[name], digits)
    assert getattr(polynomials, name)[digits] == found
