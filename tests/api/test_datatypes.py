"""Conversions, promotion and limits, against NumPy; by definition for the dtypes that NumPy lacks."""

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.testing.elements import BFLOAT16, DTYPES, INT4, UINT4, difference, dtype_of, edges, kind_of, layouts, wild

NUMPYS = [dtype for dtype in DTYPES if dtype not in (BFLOAT16, INT4, UINT4)]
RULES = ["no", "equiv", "safe", "same_kind", "unsafe"]


@pytest.fixture(autouse=True)
def no_warnings_of_numpys_casts() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def fits(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Whether each element is a number that the dtype can hold, so that NumPy's cast is not left to the processor."""
    if kind_of(dtype) not in "iu" or kind_of(array.dtype) not in "fc":
        return np.ones(array.shape, bool)
    limits = lamina.iinfo(dtype)
    return np.isfinite(array.real) & (array.real > float(limits.min) - 1) & (array.real < float(limits.max + 1))


# Conversions


@pytest.mark.parametrize("source", NUMPYS, ids=str)
def test_astype(source: np.dtype) -> None:
    x = edges(source)
    for target in NUMPYS:
        kept = x[fits(x, target)]
        wanted = kept.astype(target)
        for dtype in (target, dtype_of(wanted), target.name, target.type):
            assert not difference(lamina.astype(kept, dtype), wanted)
        came = lamina.defn(lambda a, target=target: a.astype(target))(kept)
        assert type(came) is np.ndarray
        assert not difference(came, wanted)


def test_astype_of_every_layout(rng: np.random.Generator) -> None:
    for shape in ((), (0,), (3, 5), (2, 3, 4)):
        for _, x in layouts(shape, lambda s: wild(rng, np.dtype("int16"), s)):
            assert not difference(lamina.astype(x, lamina.float32), x.astype("float32"))


@pytest.mark.parametrize("how", ["eager", "traced"])
def test_known_fault_t18_floats_out_of_range_saturate(how: str) -> None:
    def cast(x: np.ndarray, dtype: Any) -> Any:
        return lamina.astype(x, dtype) if how == "eager" else lamina.defn(lambda a: a.astype(dtype))(x)

    assert cast(np.array([np.nan, 1e20, -1e20, -1.5]), lamina.int32).tolist() == [0, 2147483647, -2147483648, -1]
    assert cast(np.array([-20, 300.5]), lamina.uint8).tolist() == [0, 255]
    assert cast(np.array([2**31 - 64], np.float32), lamina.int32).tolist() == [2147483647]
    assert cast(np.array([1e30, -1e30, 7.5]), lamina.int4).tolist() == [7, -8, 7]


def test_what_is_not_zero_is_true() -> None:
    assert lamina.astype([0.0, -0.0, np.nan, 5e-324, -3], lamina.bool).tolist() == [False, False, True, True, True]


def test_the_kind_of_a_conversion() -> None:
    cast = lamina.defn(lambda x: lamina.astype(x, np.float32))
    assert type(cast(np.array(3))) is np.ndarray
    assert type(cast(np.int8(3))) is np.float32
    assert type(cast(3)) is np.float32
    assert type(lamina.astype(np.array(3), np.float32)) is lamina.Array


def test_integers_wrap_and_python_numbers_too() -> None:
    assert lamina.astype([300, -200], lamina.int8).tolist() == [44, 56]
    assert lamina.astype(300, lamina.int8).tolist() == 44
    assert lamina.astype(np.int64(300), lamina.uint4).tolist() == 12


def test_astype_copies_unless_told_not_to() -> None:
    x = lamina.asarray(np.arange(3))
    assert not np.shares_memory(np.asarray(lamina.astype(x, lamina.int64)), np.asarray(x))
    assert lamina.astype(x, lamina.int64, copy=False) is x
    assert lamina.astype(x, "int32", copy=False).dtype == lamina.int32
    assert x.astype("int64", copy=False) is x
    given = np.arange(3)
    returned = lamina.defn(lambda a: a.astype(a.dtype))(given)
    assert not np.shares_memory(returned, given)


def outcome(call: Any) -> Any:
    try:
        return np.asarray(call()).dtype
    except TypeError:
        return TypeError


@pytest.mark.parametrize("rule", RULES)
def test_casting_rules(rule: str) -> None:
    for source, target in itertools.product(NUMPYS, repeat=2):
        x = np.zeros(2, source)
        wanted = outcome(lambda x=x, target=target: x.astype(target, casting=rule))
        assert outcome(lambda x=x, target=target: lamina.asarray(x).astype(target, casting=rule)) == wanted
        assert lamina.can_cast(source, target, rule) == (wanted is not TypeError) == np.can_cast(source, target, rule)
        assert lamina.can_cast(x, target, rule) == np.can_cast(source, target, rule)


def test_casting_rules_of_dtypes_that_numpy_lacks() -> None:
    for source, target in itertools.product(DTYPES, (BFLOAT16, INT4, UINT4)):
        values = edges(source)
        if kind_of(source) in "iu" and kind_of(target) in "iu":
            low, high = lamina.iinfo(target).min, lamina.iinfo(target).max
            assert lamina.can_cast(source, target) == all(low <= int(v) <= high for v in values)
        assert lamina.can_cast(source, target, "no") == (source == target)
        order = "buifc"
        assert lamina.can_cast(source, target, "same_kind") == (
            order.index(kind_of(source)) <= order.index(kind_of(target))
        )


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"device": "gpu"}, ValueError, "gpu"),
        ({"order": "X"}, ValueError, "'X'"),
        ({"casting": "rough"}, ValueError, "'rough'"),
        ({"casting": "same_value"}, NotImplementedError, "same_value"),
        ({"casting": "safe"}, TypeError, "float64.*int8.*safe"),
    ],
    ids=str,
)
def test_wrong_arguments_of_astype(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        lamina.astype(np.ones(2), lamina.int8, **given)


def test_options_without_a_meaning_are_taken() -> None:
    x = lamina.asarray([1, 2])
    assert x.astype("float32", order="F", subok=False).tolist() == [1, 2]
    assert lamina.astype(x, lamina.float32, device="cpu").tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [str, object, "datetime64[s]", None, "nonsense", 3, np.longdouble], ids=str)
def test_what_is_no_dtype(dtype: Any) -> None:
    with pytest.raises(TypeError):
        lamina.astype(np.ones(2), dtype)
    with pytest.raises(TypeError):
        lamina.can_cast(lamina.int8, dtype)


@pytest.mark.parametrize("number", [True, 3, 2.5, 1j])
def test_a_python_number_has_no_dtype_to_cast_from(number: Any) -> None:
    with pytest.raises(TypeError, match="Python number"):
        lamina.can_cast(number, lamina.int8)
    with pytest.raises(TypeError, match="Python number"):
        lamina.defn(lambda n: lamina.can_cast(n, lamina.int8))(number)


# Promotion


def test_result_type_of_two_dtypes() -> None:
    for left, right in itertools.product(NUMPYS, repeat=2):
        wanted = np.result_type(left, right)
        assert lamina.result_type(left, right) == wanted
        assert lamina.result_type(np.ones(1, left), np.zeros((), right)) == wanted
        assert lamina.result_type(lamina.asarray(np.ones(1, left)), dtype_of(np.ones(1, right))) == wanted


@pytest.mark.parametrize("number", [True, 3, 300, -(2**70), 2.5, 1j], ids=str)
def test_result_type_with_a_python_number(number: Any) -> None:
    for dtype in NUMPYS:
        assert lamina.result_type(dtype, number) == np.result_type(dtype, number)
        assert lamina.result_type(number, np.ones(2, dtype), number) == np.result_type(dtype, number)
    assert lamina.result_type(number) == np.result_type(number if not isinstance(number, int) or number is True else 3)
    assert lamina.result_type(number, 2.5) == np.result_type(number, 2.5)


def test_result_type_of_types_is_strong() -> None:
    assert lamina.result_type(int, lamina.int8) == np.result_type(int, np.int8) == np.int64
    assert lamina.result_type("float32", "bfloat16") == lamina.float32
    assert lamina.result_type(lamina.int4, 3) == lamina.int4


def test_result_type_in_a_traced_function() -> None:
    found: list[Any] = []
    lamina.trace(lambda x, n: found.append(lamina.result_type(x, n)) or x, np.ones(2, np.float32), 2.5)
    assert found == [lamina.float32]


def test_result_type_of_nothing() -> None:
    with pytest.raises(ValueError, match="at least one"):
        lamina.result_type()
    for thing in (None, "nonsense", [1, 2]):
        with pytest.raises(TypeError):
            lamina.result_type(lamina.int8, thing)


# Kinds and limits


KINDS = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]


@pytest.mark.parametrize(
    "kind", [*KINDS, ("integral", "bool"), np.dtype("int8"), (np.dtype("float32"), "bool")], ids=str
)
def test_isdtype(kind: Any) -> None:
    for dtype in NUMPYS:
        assert lamina.isdtype(dtype, kind) == np.isdtype(dtype, kind)


@pytest.mark.parametrize("dtype", [d for d in NUMPYS if kind_of(d) in "fc"], ids=str)
def test_finfo(dtype: np.dtype) -> None:
    wanted = np.finfo(dtype)
    for thing in (dtype, dtype_of(np.ones(1, dtype)), np.ones(2, dtype), lamina.asarray(np.ones(2, dtype)), dtype.name):
        info = lamina.finfo(thing)
        for name in ("bits", "eps", "max", "min", "smallest_normal"):
            assert getattr(info, name) == getattr(wanted, name)
            assert type(getattr(info, name)) in (int, float)
        assert info.dtype == wanted.dtype


@pytest.mark.parametrize("dtype", [d for d in NUMPYS if kind_of(d) in "iu"], ids=str)
def test_iinfo(dtype: np.dtype) -> None:
    wanted = np.iinfo(dtype)
    for thing in (dtype, dtype_of(np.ones(1, dtype)), np.ones(2, dtype), lamina.asarray(np.ones(2, dtype)), dtype.name):
        info = lamina.iinfo(thing)
        assert (info.bits, info.min, info.max) == (wanted.bits, wanted.min, wanted.max)
        assert info.dtype == dtype


def test_limits_of_numbers_and_of_traced_arrays() -> None:
    assert lamina.finfo(1.0).dtype == lamina.float64
    assert lamina.iinfo(3).dtype == lamina.int64
    found: list[Any] = []
    lamina.trace(lambda x: found.append(lamina.finfo(x).eps) or x, np.ones(2, np.float32))
    assert found == [np.finfo("float32").eps]


@pytest.mark.parametrize("function", ["finfo", "iinfo"])
def test_limits_that_a_dtype_has_not(function: str) -> None:
    others = "biu" if function == "finfo" else "bfc"
    for dtype in DTYPES:
        if kind_of(dtype) in others:
            with pytest.raises(ValueError, match=str(dtype)):
                getattr(lamina, function)(dtype)
    with pytest.raises(TypeError):
        getattr(lamina, function)("nonsense")
