"""lamina as a namespace of the Python array API standard 2024.12: names, signatures, dtypes, special cases, arrays.

The standard is the oracle, as the tables in ``tests/support`` and here have it. Where it and NumPy differ, lamina is
NumPy's, and the difference stands in `NUMPYS_OWN` with its reason.
"""

import inspect
import itertools
import math
import operator

import numpy as np
import pytest

import lamina as xp
from lamina.array import Array
from tests.support.array_api_dtypes import (
    ALL,
    BINARY_DTYPES,
    COMPLEX_FLOATING,
    FLOATING,
    INTEGRAL,
    LIFTED,
    NUMERIC,
    OPERATOR,
    PROMOTION,
    REAL,
    REAL_FLOATING,
    SCALARS,
    SIGNED,
    TAKES,
    UNARY_DTYPES,
    UNSIGNED,
    is_same,
    member,
    result_dtype,
    rows,
    to_numpy,
)
from tests.support.array_api_signatures import (
    ATTRIBUTES,
    METHODS,
    SIGNATURES,
    WITH_REFLECTED_AND_IN_PLACE,
    parsed,
)
from tests.support.array_api_special_cases import BINARY, UNARY, complex_cases, real_cases

P = inspect.Parameter

NUMPYS_OWN = {
    ("floor_divide", "±inf posneg -> inf*s"): "NumPy and Python divide exactly: inf // 2 is NaN",
}


# Names and signatures


def differences(standard, own):
    """How a signature falls short of the standard's. It may have more, each with a default."""
    theirs = {p.name: p for p in own.parameters.values()}
    by_position = [p for p in theirs.values() if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
    for place, asked in enumerate(standard.parameters.values()):
        if asked.kind is P.VAR_POSITIONAL:
            if not any(p.kind is P.VAR_POSITIONAL for p in theirs.values()):
                yield f"no *{asked.name}"
            continue
        found = theirs.get(asked.name)
        if asked.kind is P.POSITIONAL_ONLY:
            found = by_position[place] if place < len(by_position) else None
        if found is None:
            yield f"no {asked.name}"
            continue
        if asked.kind is P.POSITIONAL_OR_KEYWORD and found not in by_position[place : place + 1]:
            yield f"{asked.name} has another place"
        if asked.kind is P.KEYWORD_ONLY and found.kind not in (P.KEYWORD_ONLY, P.POSITIONAL_OR_KEYWORD):
            yield f"{asked.name} is no keyword"
        if asked.default is not P.empty and (found.default != asked.default):
            yield f"{asked.name} is {found.default} by default, not {asked.default}"
    for name, p in theirs.items():
        if name not in standard.parameters and p.default is P.empty and p.kind is P.KEYWORD_ONLY:
            yield f"{name} is needed"


@pytest.mark.parametrize("name", SIGNATURES)
def test_every_function_has_the_standards_signature(name):
    assert list(differences(SIGNATURES[name], inspect.signature(member(name)))) == []


def test_a_wrong_signature_is_seen():
    def wrong(x, y, /, *, axis=0, needed): ...

    right = dict(parsed("f(x, /, *, axis=None, keepdims=False)"))["f"]
    assert list(differences(right, inspect.signature(wrong))) == [
        "axis is 0 by default, not None",
        "no keepdims",
        "needed is needed",
    ]
    assert list(differences(dict(parsed("f(x, shape)"))["f"], inspect.signature(lambda x, /, *, shape: 0))) == [
        "shape has another place"
    ]


def test_positional_only_arguments_have_no_keyword():
    x = xp.ones(3)
    for call in (
        lambda: xp.sin(x=x),
        lambda: xp.add(x1=x, x2=x),
        lambda: xp.sum(x=x),
        lambda: xp.reshape(x=x, shape=(3,)),
        lambda: xp.where(condition=x, x1=x, x2=x),
        lambda: xp.linspace(start=0, stop=1, num=3),
        lambda: xp.unique_values(x=x),
        lambda: xp.linalg.outer(x1=x, x2=x),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: xp.sum(x, 0, None, None, False, 0, 1, 2), lambda: xp.sin(x, x, x, x), lambda: xp.add(x)):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("name", [n for n, _ in parsed(METHODS)])
def test_every_method_of_arrays_has_the_standards_signature(name):
    own = inspect.signature(getattr(Array, name))
    assert list(differences(dict(parsed(METHODS))[name], own)) == []


@pytest.mark.parametrize("name", WITH_REFLECTED_AND_IN_PLACE)
def test_every_operator_has_its_three_forms(name):
    for form in ("", "r", "i"):
        assert len(inspect.signature(getattr(Array, f"__{form}{name}__")).parameters) == 2


def test_constants_dtypes_and_version():
    assert (xp.pi, xp.e, xp.inf) == (math.pi, math.e, math.inf) and math.isnan(xp.nan) and xp.newaxis is None
    assert all(type(getattr(xp, name)) is float for name in ("e", "inf", "nan", "pi"))
    assert xp.__array_api_version__ == "2024.12"
    assert len(set(ALL)) == len({str(d) for d in ALL}) == len(ALL) == 13
    for first, second in itertools.product(ALL, ALL):
        assert (first == second) is (first is second) and (first != second) is (first is not second)
    assert {d: str(d) for d in ALL}[xp.float32] == "float32"
    assert xp.float32 not in (None, 1, "x", xp.float64, object) and xp.float32 in (xp.bool, xp.float32)


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}
    assert xp.zeros((1,) * 32).ndim == 32
    assert info.default_device() == xp.ones(1).device and info.devices() == [info.default_device()]
    for kwargs in ({}, {"device": None}, {"device": info.default_device()}):
        assert info.default_dtypes(**kwargs) == {
            "real floating": xp.asarray(1.0).dtype,
            "complex floating": xp.asarray(1j).dtype,
            "integral": xp.asarray(1).dtype,
            "indexing": xp.argmax(xp.ones(2)).dtype,
        }
        assert info.dtypes(**kwargs) == {str(d): d for d in ALL}
    for kind, expected in {
        "bool": (xp.bool,),
        "signed integer": SIGNED,
        "unsigned integer": UNSIGNED,
        "integral": INTEGRAL,
        "real floating": REAL_FLOATING,
        "complex floating": COMPLEX_FLOATING,
        "numeric": NUMERIC,
        ("bool", "integral"): (xp.bool, *INTEGRAL),
        (): (),
    }.items():
        assert set(info.dtypes(kind=kind).values()) == set(expected)
        assert {d for d in ALL if xp.isdtype(d, kind)} == set(expected)
    for call in (
        lambda: info.dtypes(kind="complex"),
        lambda: info.dtypes(device="gpu"),
        lambda: xp.isdtype(xp.bool, "?"),
    ):
        with pytest.raises(ValueError):
            call()


# Special cases


def check_special(cases, dtype):
    """Run all cases of one function at once, and list those with a wrong result."""
    operands = [np.array([case.operands[i] for case in cases], dtype.real.numpy) for i in range(len(cases[0].operands))]
    if dtype.kind == "complex":
        z = np.empty(len(cases), dtype.numpy)
        z.real, z.imag = operands
        operands = [z]
    got = to_numpy(member(cases[0].function)(*map(xp.asarray, operands)))
    parts = [got.real, got.imag] if dtype.kind == "complex" else [got]
    wrong = []
    for i, case in enumerate(cases):
        for part, expected, signed in zip(parts, case.expected, case.signed, strict=False):
            value = part[i].item()
            near = math.isnan(value) if math.isnan(expected) else math.isclose(value, expected, rel_tol=1e-6)
            if not signed:
                near = near or math.isclose(-value, expected, rel_tol=1e-6)
            elif not math.isnan(expected):
                near = near and math.copysign(1, value) == math.copysign(1, expected)
            if not near and (case.function, case.rule) not in NUMPYS_OWN:
                wrong.append(f"{case.function} {case.rule}: {case.operands} gave {got[i]}")
    return wrong


def grouped(cases):
    found = {}
    for case in cases:
        found.setdefault(case.function, []).append(case)
    return found


@pytest.mark.parametrize("dtype", REAL_FLOATING, ids=str)
@pytest.mark.parametrize(
    "cases", grouped([*real_cases(UNARY), *real_cases(BINARY)]).values(), ids=lambda c: c[0].function
)
def test_special_cases(cases, dtype):
    assert check_special(cases, dtype) == []


@pytest.mark.parametrize("dtype", COMPLEX_FLOATING, ids=str)
@pytest.mark.parametrize("cases", grouped(complex_cases()).values(), ids=lambda c: c[0].function)
def test_complex_special_cases(cases, dtype):
    assert check_special(cases, dtype) == []


@pytest.mark.parametrize(("function", "rule"), NUMPYS_OWN)
def test_what_is_numpys_own_differs_from_the_standard(function, rule):
    """Else it needs no entry."""
    cases = [case for case in real_cases(BINARY) if (case.function, case.rule) == (function, rule)]
    x1, x2 = (np.array([case.operands[i] for case in cases]) for i in range(2))
    with np.errstate(all="ignore"):
        expected = getattr(np, function)(x1, x2)
    assert is_same(member(function)(xp.asarray(x1), xp.asarray(x2)), expected)
    assert not np.array_equal(expected, [case.expected[0] for case in cases])


# Dtypes


@pytest.mark.parametrize(("name", "dtypes", "rule"), rows(UNARY_DTYPES), ids=lambda v: v if isinstance(v, str) else "")
def test_unary_functions_keep_to_their_dtypes(name, dtypes, rule):
    for dtype in dtypes:
        for shape in ((), (3,), (2, 0, 3), (1, 2, 2)):
            out = member(name)(xp.ones(shape, dtype=dtype))
            assert type(out) is Array and (out.dtype, out.shape) == (result_dtype(dtype, rule), shape)


@pytest.mark.parametrize(("name", "dtypes", "rule"), rows(BINARY_DTYPES), ids=lambda v: v if isinstance(v, str) else "")
def test_binary_functions_promote(name, dtypes, rule):
    for (first, second), meet in PROMOTION.items():
        if first in dtypes and second in dtypes:
            for shapes in (((), ()), ((2, 1), (3,)), ((0,), (1,))):
                x1, x2 = (xp.ones(shape, dtype=dtype) for shape, dtype in zip(shapes, (first, second), strict=True))
                out = member(name)(x1, x2)
                assert out.dtype == result_dtype(meet, rule), (first, second)
                assert out.shape == np.broadcast_shapes(*shapes)


def test_promotion_is_the_standards():
    assert len(PROMOTION) == 1 + 16 + 16 + 8 * 3 + 4 + 4 + 8
    for (first, second), meet in PROMOTION.items():
        x1, x2 = xp.ones(2, dtype=first), xp.ones((1, 2), dtype=second)
        for things in ((first, second), (x1, second), (first, x2), (x1, x2)):
            assert xp.result_type(*things) == meet
        assert xp.result_type(first, second, first) == meet and xp.result_type(first) == first
        for out in (xp.concat([x1, x2[0, :]]), xp.stack([x1, x2[0, :]]), xp.where(x1 == 1, x1, x2)):
            assert out.dtype == meet
        assert xp.can_cast(first, meet) is xp.can_cast(x2, meet) is True
        if meet in NUMERIC:
            assert (x1 + x2).dtype == xp.matmul(x1, x1 * x2[0, :]).dtype == meet
            assert xp.tensordot(x1, x2, axes=((0,), (1,))).dtype == xp.vecdot(x1, x2).dtype == meet
    for wide, narrow in ((xp.int64, xp.int8), (xp.float64, xp.float32), (xp.complex64, xp.float32), (xp.int8, xp.bool)):
        assert not xp.can_cast(wide, narrow)
    for nothing in ((), (xp.bool, None), (object(),)):
        with pytest.raises((TypeError, ValueError)):
            xp.result_type(*nothing)


@pytest.mark.parametrize(("name", "dtypes", "rule"), rows(BINARY_DTYPES), ids=lambda v: v if isinstance(v, str) else "")
def test_python_scalars_are_operands_on_either_side(name, dtypes, rule):
    function = member(name)
    for kind, scalars in SCALARS.items():
        for dtype in TAKES[kind] + (REAL_FLOATING if kind is complex else ()):
            result = LIFTED.get(dtype, dtype) if kind is complex else dtype
            if dtype not in dtypes or result not in dtypes:
                continue
            x = xp.asarray([1, 0], dtype=dtype)
            for scalar in scalars:
                as_array = xp.asarray(scalar, dtype=result)
                for out, twin in (
                    (function(x, scalar), function(x, as_array)),
                    (function(scalar, x), function(as_array, x)),
                ):
                    assert out.dtype == result_dtype(result, rule) and out.shape == (2,)
                    assert is_same(out, to_numpy(twin))
                if name in OPERATOR:
                    scope = {"x": x, "s": scalar, "nan": math.nan, "inf": math.inf}
                    for text, twin in (("x {} s", function(x, scalar)), ("s {} x", function(scalar, x))):
                        assert is_same(eval(text.format(OPERATOR[name]), scope), to_numpy(twin))
                    if rule != "bool":
                        y = xp.asarray(x, dtype=result, copy=True)
                        exec(f"x {OPERATOR[name]}= s", scope | {"x": y})
                        assert is_same(y, to_numpy(function(x, scalar)))


def test_python_scalars_elsewhere():
    for dtype in NUMERIC:
        x = xp.asarray([1, 2, 3], dtype=dtype)
        assert xp.where(x == 1, 7, x).dtype == xp.where(x == 1, x, 7).dtype == dtype
        assert xp.result_type(x, 1) == xp.result_type(1, dtype) == dtype
        assert xp.full_like(x, 3).dtype == dtype and xp.full((2,), 3, dtype=dtype).dtype == dtype
        if dtype in REAL:
            assert is_same(xp.clip(x, 2, None), np.asarray([2, 2, 3], dtype.numpy))
            assert is_same(xp.clip(x, min=1, max=xp.asarray(2, dtype=dtype)), np.asarray([1, 2, 2], dtype.numpy))
    assert xp.result_type(xp.float32, 1.0, 1) == xp.float32 and xp.result_type(xp.float32, 1j) == xp.complex64
    assert xp.result_type(xp.float64, 1j) == xp.complex128 and xp.result_type(xp.bool, True) == xp.bool
    assert bool(xp.asarray(2**62) == 2**62) and not bool(xp.asarray(-1, dtype=xp.int8) == 255)


def test_limits_are_python_numbers():
    for dtype in (*FLOATING, xp.ones(2, dtype=xp.float32), xp.ones((), dtype=xp.complex128)):
        info, named = xp.finfo(dtype), getattr(dtype, "dtype", dtype)
        expected = np.finfo(np.dtype(str(named if isinstance(dtype, Array) else dtype)))
        for name in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(info, name)) is float and getattr(info, name) == float(getattr(expected, name))
        assert type(info.bits) is int and info.bits == expected.bits
        assert info.dtype in REAL_FLOATING and str(info.dtype) == str(expected.dtype)
    for dtype in (*INTEGRAL, xp.ones(2, dtype=xp.int8)):
        info = xp.iinfo(dtype)
        own = dtype.dtype if isinstance(dtype, Array) else dtype
        assert (info.bits, info.min, info.max) == (own.bits, np.iinfo(str(own)).min, np.iinfo(str(own)).max)
        assert all(type(value) is int for value in (info.bits, info.min, info.max)) and info.dtype == own
    for call in (
        lambda: xp.finfo(xp.int8),
        lambda: xp.iinfo(xp.float32),
        lambda: xp.iinfo(xp.bool),
        lambda: xp.finfo("?"),
    ):
        with pytest.raises((TypeError, ValueError)):
            call()


# Arrays


def test_attributes():
    x = xp.ones((2, 3, 4), dtype=xp.float32)
    assert all(hasattr(x, name) for name in ATTRIBUTES)
    assert (x.dtype, x.ndim, x.shape, x.size) == (xp.float32, 3, (2, 3, 4), 24) and type(x.shape) is tuple
    assert all(type(n) is int for n in (*x.shape, x.ndim, x.size))
    assert x.mT.shape == (2, 4, 3) and x[0, ...].T.shape == (4, 3) and xp.ones(()).T.shape == ()
    assert x.to_device(x.device).device == x.device == xp.zeros(2, device=x.device).device
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2024.12") is xp
    for call in (lambda: xp.ones(3).mT, lambda: x.to_device("gpu"), lambda: x.__array_namespace__(api_version="1.0")):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_scalars_of_arrays(dtype):
    """bool(), int(), float() and complex() of arrays of one element; int indexes, and only an integer array does."""
    for value in (0, 1, 5) if dtype is not xp.bool else (False, True):
        for x in (
            xp.asarray(value, dtype=dtype),
            xp.asarray([[7 if dtype is not xp.bool else True, value]], dtype=dtype)[0, 1],
        ):
            assert x.shape == () and bool(x) is bool(value) and complex(x) == value
            if dtype not in COMPLEX_FLOATING:
                assert int(x) == value and float(x) == value and type(int(x)) is int and type(float(x)) is float
            if dtype in INTEGRAL:
                assert operator.index(x) == value and list(range(10))[x] == value
            else:
                with pytest.raises(TypeError):
                    operator.index(x)
    if dtype in FLOATING:
        assert math.isnan(complex(xp.asarray(xp.nan, dtype=dtype)).real) and bool(xp.asarray(-xp.inf, dtype=dtype))
    if dtype in REAL_FLOATING:
        assert float(xp.asarray(-xp.inf, dtype=dtype)) == -math.inf and math.isnan(
            float(xp.asarray(xp.nan, dtype=dtype))
        )
        for bad, error in ((xp.nan, ValueError), (xp.inf, OverflowError)):
            with pytest.raises(error):
                int(xp.asarray(bad, dtype=dtype))
    for convert in (bool, int, float, complex):
        with pytest.raises((TypeError, ValueError)):
            convert(xp.ones(2, dtype=dtype))


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_asarray_makes_arrays_of_scalars_and_lists(dtype):
    kind = {"bool": bool, "float": float, "complex": complex}.get(dtype.kind, int)
    nested = [[kind(0), kind(1)], [kind(1), kind(1)]]
    x = xp.asarray(nested, dtype=dtype)
    assert (x.shape, x.dtype) == ((2, 2), dtype) and [[kind(e) for e in row] for row in x] == nested
    assert xp.asarray(nested).dtype == {bool: xp.bool, int: xp.int64, float: xp.float64, complex: xp.complex128}[kind]
    assert xp.asarray(kind(1), dtype=dtype).shape == () and xp.asarray([], dtype=dtype).shape == (0,)
    assert xp.asarray([[], []], dtype=dtype).shape == (2, 0) and xp.asarray(((kind(1),),)).shape == (1, 1)
    assert bool(xp.all(xp.asarray([x[0, 0], x[0, 1]]) == x[0, :])) and xp.asarray([x, x]).shape == (2, 2, 2)
    y = xp.asarray(x)
    assert y.dtype == dtype and xp.asarray(x, dtype=dtype, device=x.device).shape == (2, 2)
    copied, shared = xp.asarray(x, copy=True), xp.asarray(x, copy=False)
    x[0, 0] = kind(1)
    assert kind(copied[0, 0]) == 0 and kind(shared[0, 0]) == kind(y[0, 0]) == 1
    buffer = xp.asarray(memoryview(np.zeros(3, dtype.numpy)))
    assert buffer.dtype == dtype and buffer.shape == (3,)
    with pytest.raises(ValueError):
        xp.asarray(nested, copy=False)
    with pytest.raises(ValueError):
        xp.asarray(x, dtype=xp.float32 if dtype is not xp.float32 else xp.float64, copy=False)


def test_mixed_lists_have_the_kind_that_holds_all():
    for given, dtype in (
        ([True, 1], xp.int64),
        ([1, 2.0], xp.float64),
        ([1, 1j], xp.complex128),
        ([True, 1.5], xp.float64),
        ([2.0, 1j], xp.complex128),
    ):
        assert xp.asarray(given).dtype == dtype
    assert xp.asarray([1, xp.nan]).dtype == xp.asarray(xp.inf).dtype == xp.float64


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_dlpack_gives_and_takes_memory(dtype):
    x = xp.ones((2, 3), dtype=dtype)[:, ::2]
    assert x.__dlpack_device__() == (1, 0)
    y = xp.from_dlpack(x)
    assert (y.dtype, y.shape) == (dtype, (2, 2)) and bool(xp.all(y == x))
    y[0, 0] = 0
    assert not bool(x[0, 0])
    z = xp.from_dlpack(x, copy=True, device="cpu")
    z[0, 1] = 0
    assert bool(x[0, 1]) and xp.from_dlpack(x, copy=False).shape == (2, 2)
    outside = np.from_dlpack(x)
    assert outside.dtype == dtype and np.shares_memory(outside, to_numpy(x))
    assert xp.from_dlpack(np.zeros(3, dtype.numpy)).dtype == dtype
    for wrong in ({"max_version": (1, 0), "dl_device": (1, 0), "copy": False}, {"max_version": None}, {"stream": None}):
        assert "dltensor" in repr(x.__dlpack__(**wrong))


# Indexing


def test_basic_indices():
    x = xp.reshape(xp.arange(24), (2, 3, 4))
    expected = np.arange(24).reshape(2, 3, 4)
    keys = [
        *(
            0,
            -1,
            (0, 1),
            (0, 1, 2),
            (1, slice(None)),
            ...,
            (..., 1),
            (0, ..., 1),
            (slice(None), 1, ...),
            (),
            None,
            (None, 0),
        ),
        *(
            np.s_[1:],
            np.s_[:, ::-1],
            np.s_[:, :1, ::2],
            np.s_[::-1, 2:0:-1, 3::-2],
            np.s_[5:],
            np.s_[:, 1:1],
            np.s_[-9:9],
        ),
        *(np.s_[..., None], np.s_[None, ..., 0, None], np.s_[0, None, 1, 2]),
    ]
    for key in keys:
        assert is_same(x[key], expected[key]), key
        as_arrays = (
            tuple(xp.asarray(k, dtype=xp.int8) if type(k) is int else k for k in key) if type(key) is tuple else key
        )
        assert is_same(x[as_arrays], expected[key]), key
    for key in (2, -3, (0, 3), (0, 0, 0, 0), (0, 0, -5), 1.0, "0", (slice(None), 7), slice(0.5), (..., ...)):
        with pytest.raises(IndexError if not isinstance(key, slice) else TypeError):
            x[key]
    assert x[1, 2, 3].shape == () and int(x[1, 2, 3]) == 23
    with pytest.raises(IndexError):
        xp.asarray(3)[0]


def test_masks_and_index_arrays():
    x = xp.reshape(xp.arange(12), (3, 4))
    expected = np.arange(12).reshape(3, 4)
    mask = expected % 3 == 1
    assert is_same(x[xp.asarray(mask)], expected[mask]) and is_same(x[x > 100], expected[expected > 100])
    assert is_same(x[xp.asarray([True, False, True])], expected[[True, False, True]])
    assert is_same(x[xp.asarray(True)], expected[None]) and is_same(x[xp.asarray(False)], expected[None][:0])
    for first, second in (([0, 2], [1, 1]), ([[0], [2]], [1, 3]), ([-1], [0, -1, 2])):
        for dtype in (xp.int8, xp.uint64, xp.int64):
            if dtype in UNSIGNED and min(np.min(first), np.min(second)) < 0:
                continue
            key = tuple(xp.asarray(k, dtype=dtype) for k in (first, second))
            assert is_same(x[key], expected[first, second])
    assert is_same(x[1, xp.asarray([0, 3])], expected[1, [0, 3]]) and is_same(
        x[xp.asarray([], dtype=xp.int64)], expected[:0]
    )
    y = xp.asarray(x, copy=True)
    y[xp.asarray(mask)] = -1
    y[y == 0] = xp.asarray(-2)
    y[0, xp.asarray([3, 2])] = xp.asarray([30, 20])
    y[2, ...] += 1
    y[:, :1] *= xp.asarray(2)
    changed = expected.copy()
    changed[mask] = -1
    changed[changed == 0] = -2
    changed[0, [3, 2]] = [30, 20]
    changed[2, ...] += 1
    changed[:, :1] *= 2
    assert is_same(y, changed) and is_same(x, expected)
    for key in (xp.asarray([True, False]), xp.asarray([3]), (0, xp.asarray([-5])), xp.asarray([0.0])):
        with pytest.raises(IndexError):
            x[key]


def test_iteration_and_membership():
    x = xp.reshape(xp.arange(6), (2, 3))
    assert [[int(e) for e in row] for row in x] == [[0, 1, 2], [3, 4, 5]] and len(x) == 2
    assert [int(x[i, j]) for i in range(2) for j in range(3)] == list(range(6))
    assert 5 in x and 6 not in x
    with pytest.raises(TypeError):
        iter(xp.asarray(1))
    with pytest.raises(TypeError):
        hash(x)


def test_a_function_of_the_standard_is_traced():
    """One that knows nothing of lamina: it asks its argument for the namespace."""

    def standardized(x):
        namespace = x.__array_namespace__()
        centred = x - namespace.mean(x, axis=0, keepdims=True)
        return namespace.where(namespace.isnan(x), 0.0, centred / namespace.std(x, axis=0)).mT

    x = xp.reshape(xp.arange(12.0), (4, 3))
    graph = xp.trace(standardized, x)
    assert graph.params and {"sqrt", "divide"} <= {node.op for node in xp.tree.post_order(graph.outputs)}
    assert is_same(xp.defn(standardized)(x), to_numpy(standardized(x)))
