"""What NumPy's ufuncs and Python's operators make of each dtype with each other and with numbers: as NumPy has it.

One program has a ufunc of all pairs of operands, so that it is traced once. Where NumPy raises, a program of its own
has to raise the same.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.numpy_protocol import ufuncs

DTYPES = [*map(np.dtype, "?bhilBHILefdFD")]
NUMBERS = [True, 3, -2, 300, 2.5, 1 + 2j]
UFUNCS = sorted(name for name in (*ufuncs.CALLED, *ufuncs.MADE) if getattr(np, name).signature is None)
OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "xor", "eq", "lt"]

# elements by kind of dtype
VALUES = {"b": [True, False, True], "u": [1, 0, 200], "i": [1, 0, -3], "f": [0.5, -1.25, 3.0], "c": [1.5, -2j, 3 + 1j]}


def operands() -> list[Any]:
    """An array and a scalar of each dtype."""
    arrays = [np.array(VALUES[dtype.kind]).astype(dtype) for dtype in DTYPES]
    return [*arrays, *(array[2] for array in arrays)]


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the type of its error."""
    with np.errstate(all="ignore"):
        try:
            return function(*args)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            return type(error)


def is_same(came: Any, wanted: Any) -> bool:
    """Whether two results are of one type and dtype, and alike to a few units of the last place."""
    if isinstance(wanted, tuple):
        return isinstance(came, tuple) and all(map(is_same, came, wanted))
    if type(came) is not type(wanted) or wanted is None or isinstance(wanted, type):
        return bool(came == wanted)
    first, second = np.asarray(came), np.asarray(wanted)
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.dtype.kind in "biu":
        return bool((first == second).all())
    return np.allclose(first, second, rtol=8 * np.finfo(first.dtype).eps, atol=0, equal_nan=True)


def check(function: Callable[..., Any], cases: Sequence[tuple[Any, ...]]) -> None:
    """One program for all that gives a result, and one for each that raises."""
    wanted = [outcome(function, *case) for case in cases]
    given = [case for case, result in zip(cases, wanted, strict=True) if not isinstance(result, type)]
    results = lamina.defn(lambda given: [function(*case) for case in given])(given)
    wrong = [
        (case, came, result)
        for case, came, result in zip(given, results, (w for w in wanted if not isinstance(w, type)), strict=True)
        if not is_same(came, result)
    ]
    for case, result in zip(cases, wanted, strict=True):
        if isinstance(result, type):
            came = outcome(lamina.defn(lambda *case: function(*case)), *case)
            wrong += [] if came == result else [(case, came, result)]
    assert not wrong, f"{len(wrong)} of {len(cases)}: (operands, result, NumPy's) such as {wrong[:3]}"


@pytest.mark.usefixtures("through_evaluator")
@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs(name: str) -> None:
    things = operands()
    if getattr(np, name).nin == 1:
        check(getattr(np, name), [(x,) for x in (*things, *NUMBERS)])
        return
    arrays = things[: len(DTYPES)]
    pairs = [(x, y) for x in arrays for y in arrays]
    with_numbers = [pair for x in things for number in NUMBERS for pair in ((x, number), (number, x))]
    check(getattr(np, name), [*pairs, *with_numbers])


@pytest.mark.usefixtures("through_evaluator")
@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    numbers = [*NUMBERS, 2, 0.5, 2.0, np.float64(2.0)]
    function = getattr(operator, name)
    check(function, [pair for x in operands() for number in numbers for pair in ((x, number), (number, x))])


def literal_square(x: Any) -> Any:
    return x**2


@pytest.mark.parametrize("compiler", ["evaluator", "native"])
def test_a_square_of_bools(compiler: str) -> None:
    for x in (np.array([True, False]), np.True_):
        assert is_same(lamina.defn(literal_square, compiler=compiler)(x), x**2)
        for exponent in (1, 2, 3):
            compiled = lamina.defn(operator.pow, compiler=compiler)
            assert is_same(compiled(x, exponent), x**exponent)


HALVES = np.arange(65536, dtype=np.uint16).view(np.float16)
INTEGERS = [np.array([1, -1, 0, 5], dtype) for dtype in "bhil"] + [np.array([1, 0, 5], dtype) for dtype in "BHIL"]
PROGRAMS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (lambda x: np.spacing(x), [(HALVES,)]),
    (lambda x: np.reciprocal(x), [(x,) for x in INTEGERS]),
    (
        lambda c, x, n: np.where(c, x, n),
        [(x < 2, x, n) for x in INTEGERS for n in (300, -1, 70_000, 2**40, -(2**63))],
    ),
    (lambda x: np.where(x > 2, 300, x), [(x,) for x in INTEGERS]),
    (lambda x: np.linalg.pinv(x), [(np.ones(shape, dtype),) for shape in ((0, 3), (2, 0)) for dtype in "?bld"]),
    (lambda z, x: z + x.sum(), [(1 + 2j, np.ones(3, dtype)) for dtype in "fdFD"]),
    (lambda x, z: x.sum() * z, [(np.ones(3), 1 + 2j)]),
    (lambda z: np.float32(z), [(1 + 2j,), (1.5,), (np.complex128(2),)]),
    (lambda z: np.int8(z), [(1 + 2j,), (300,), (-3,), (np.int64(300),)]),
    (lambda z: float(z), [(1 + 2j,), (np.array(1.5),), (np.array(1j),)]),
]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("compiler", ["evaluator", "native"])
@pytest.mark.parametrize("row", range(len(PROGRAMS)))
def test_programs_of_numbers(row: int, compiler: str) -> None:
    function, cases = PROGRAMS[row]
    compiled = lamina.defn(function, compiler=compiler)
    for case in cases:
        came, wanted = outcome(compiled, *case), outcome(function, *case)
        assert is_same(came, wanted), f"{case}: {came!r} came, {wanted!r} was expected"


WRITES: list[Callable[..., Any]] = [
    lambda x, n: np.put(x, [0], n),
    lambda x, n: np.putmask(x, x > 0, n),
    lambda x, n: np.copyto(x, n),
    lambda x, n: np.fill_diagonal(x.reshape(2, 2), n),
    lambda x, n: np.add.at(x, [0, 0], n),
    lambda x, n: x.fill(n),
    lambda x, n: np.insert(x, 1, n),
    lambda x, n: operator.ipow(x, n),
]


@pytest.mark.filterwarnings("ignore::lamina.errors.LaminaWarning")  # a number that is added to bools is no bool
@pytest.mark.parametrize("compiler", ["evaluator", "native"])
@pytest.mark.parametrize("row", range(len(WRITES)))
@pytest.mark.parametrize("dtype", "?bBd")
def test_numbers_that_are_put_into_arrays_have_to_fit(row: int, compiler: str, dtype: str) -> None:
    for number in (1, 300, -1, 1.5):
        mine, theirs = (np.array([1, 0, 3, 4]).astype(dtype) for _ in range(2))
        came = outcome(lamina.defn(WRITES[row], compiler=compiler), mine, number)
        wanted = outcome(WRITES[row], theirs, number)
        assert is_same(came, wanted), f"{number}: {came!r} came, {wanted!r} was expected"
        np.testing.assert_allclose(mine, theirs, rtol=1e-15)
