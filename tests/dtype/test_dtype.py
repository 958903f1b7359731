"""Dtypes against NumPy: names, equality, promotion over every pair and triple, limits, casts, packing."""

import copy
import itertools
import math
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest

import lamina.dtype as ld
from lamina.dtype import DTYPES, DType, can_cast, cast, fits, isdtype, promote, result_type

ALL = tuple(DTYPES.values())
STANDARD = tuple(d for d in ALL if d.numpy.isbuiltin == 1)
EXTRA = (ld.int4, ld.uint4, ld.bfloat16)
INTEGERS = tuple(d for d in ALL if d.kind in ("signed", "unsigned"))
FLOATS = tuple(d for d in ALL if d.kind == "float")
WEAK = (bool, int, float, complex)


def numpy_of(things):
    return [np.dtype(bool) if t is bool else t(0) if isinstance(t, type) else t.numpy for t in things]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_a_dtype_is_one_object_under_its_name(dtype):
    assert getattr(ld, dtype.name) is dtype
    assert str(dtype) == dtype.name == dtype.numpy.name and repr(dtype) == f"lamina.{dtype.name}"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(dtype, protocol)) is dtype
    assert copy.copy(dtype) is dtype and copy.deepcopy([dtype])[0] is dtype


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_width_and_kind_are_numpys(dtype):
    if dtype.bits < 8:
        assert dtype.is_packed and dtype.bits == int(dtype.name[-1])
        with pytest.raises(TypeError, match=f"{dtype.bits} bits"):
            _ = dtype.itemsize
    else:
        assert not dtype.is_packed and dtype.itemsize == dtype.numpy.itemsize and dtype.bits == 8 * dtype.itemsize
    assert [dtype.nbytes(n) for n in range(4)] == [math.ceil(n * dtype.bits / 8) for n in range(4)]
    kind = {"b": "bool", "i": "signed", "u": "unsigned", "f": "float", "c": "complex"}
    assert dtype.kind == kind[{"int4": "i", "uint4": "u", "bfloat16": "f"}.get(dtype.name, dtype.numpy.kind)]


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_equality_with_what_numpy_takes_for_a_dtype(dtype):
    assert dtype == dtype.numpy and dtype.numpy == dtype and hash(dtype) == hash(dtype.numpy)
    assert dtype == dtype.numpy.type and dtype == dtype.name
    assert {dtype.numpy: 1}[dtype] == 1 and {dtype: 1}[dtype.numpy] == 1
    assert [other for other in ALL if other == dtype] == [dtype]
    for other in (None, 3, "no dtype", object, "O", "S3", DType, [dtype], "datetime64[s]", "float33"):
        assert dtype != other
    if dtype.numpy.itemsize > 1 and dtype.numpy.isbuiltin == 1:
        assert dtype != dtype.numpy.newbyteorder()


def test_a_dtype_is_frozen_and_numpy_takes_it():
    with pytest.raises(AttributeError):
        ld.int8.bits = 4
    with pytest.raises((AttributeError, TypeError)):  # CPython raises TypeError in slotted dataclasses
        ld.int8.other = 4
    assert all(np.dtype(d) == d.numpy and np.zeros(2, d).dtype == d for d in ALL)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        *((t, d) for d in ALL for t in (d, d.numpy, d.numpy.type, d.name)),
        *((d.numpy.newbyteorder(), d) for d in STANDARD),
        (bool, ld.bool),
        (int, ld.int64),
        (float, ld.float64),
        (complex, ld.complex128),
        (">f4", ld.float32),
        ("longlong", ld.int64),
        (np.intc, ld.int32),
        (np.dtype("f4", metadata={"unit": "m"}), ld.float32),
    ],
)
def test_from_numpy(given, dtype):
    assert ld.from_numpy(given) is dtype


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (object, "object"),
        ("O", "object"),
        (dict, "class dict"),
        ("U3", "string"),
        (str, "string"),
        (bytes, "string"),
        (np.dtypes.StringDType(), "string"),
        ("datetime64[ns]", "datetime"),
        ("timedelta64[ns]", "timedelta"),
        ([("x", "f4"), ("y", "i4")], "structured"),
        (np.dtype(("f4", (2,))), "structured"),
        ("V2", "V2"),
        (ml_dtypes.float8_e5m2, "float8_e5m2"),
        (np.longdouble, "longdouble"),
        (None, "None"),
        (3, "3"),
        ("nonsense", "nonsense"),
    ],
)
def test_from_numpy_refuses_by_name(given, word):
    with pytest.raises(TypeError, match=word):
        ld.from_numpy(given)


# Promotion


@pytest.mark.parametrize("count", [1, 2, 3])
def test_promotion_is_numpys(count):
    for dtypes in itertools.product(STANDARD, repeat=count):
        assert promote(*dtypes).numpy == np.result_type(*(d.numpy for d in dtypes)), dtypes


def test_promotion_of_four_is_numpys(rng):
    for _ in range(2000):
        dtypes = [STANDARD[i] for i in rng.integers(len(STANDARD), size=4)]
        assert promote(*dtypes).numpy == np.result_type(*(d.numpy for d in dtypes)), dtypes


@pytest.mark.parametrize("count", [1, 2, 3])
def test_weak_numbers_are_numpys(count):
    for things in itertools.product((*STANDARD, *WEAK), repeat=count):
        assert result_type(*things).numpy == np.result_type(*numpy_of(things)), things


def test_promotion_ignores_order_and_repeats(rng):
    for dtypes in itertools.product(ALL, repeat=3):
        assert promote(*dtypes) is promote(*sorted(dtypes, key=str))
        assert promote(*dtypes, dtypes[0]) is promote(*dtypes)
    for _ in range(500):
        things = [(*ALL, *WEAK)[i] for i in rng.integers(len(ALL) + 4, size=5)]
        assert result_type(*things) is result_type(*rng.permutation(np.array(things, object)))


def values_of(dtype):
    """Every value of a narrow dtype, the edges of a wide one."""
    if dtype.kind == "bool":
        return [0, 1]
    if dtype.kind in ("signed", "unsigned"):
        edges = {dtype.min, dtype.max, dtype.max - 1, 0, 1}
        return sorted(edges if dtype.bits > 8 else range(dtype.min, dtype.max + 1))
    return [
        float(dtype.max),
        float(dtype.min),
        1 + dtype.eps,
        dtype.smallest_normal,
        ld.finfo(dtype).smallest_subnormal,
    ]


@pytest.mark.parametrize("extra", EXTRA, ids=str)
@pytest.mark.parametrize("other", ALL, ids=str)
def test_promotion_of_the_other_dtypes_loses_no_value(extra, other):
    meet = promote(extra, other)
    for source in (extra, other):
        if meet is ld.float64 and source.bits == 64 and source.kind != "float":
            continue  # where NumPy gives up, too: no float has every 64-bit integer
        for value in values_of(source):
            stored = np.array(value).astype(source.numpy).astype(meet.numpy)
            assert complex(stored) == value if meet.kind == "complex" else stored.astype(object) == value
    # ... and no narrower dtype of its kind would do.
    for narrower in ld.of_kind(meet.kind):
        if narrower.bits < meet.bits and meet.kind != "complex":
            assert not can_cast(extra, narrower) or not can_cast(other, narrower)


@pytest.mark.parametrize(
    ("dtypes", "meet"),
    [
        ((ld.int4, ld.int4), ld.int4),
        ((ld.int4, ld.uint4), ld.int8),
        ((ld.int4, ld.uint8), ld.int16),
        ((ld.uint4, ld.int8), ld.int8),
        ((ld.uint4, ld.uint64), ld.uint64),
        ((ld.int4, ld.uint64), ld.float64),
        ((ld.bool, ld.uint4), ld.uint4),
        ((ld.int4, ld.float16), ld.float16),
        ((ld.int4, ld.bfloat16), ld.bfloat16),
        ((ld.uint4, ld.complex64), ld.complex64),
        ((ld.bfloat16, ld.bool), ld.bfloat16),
        ((ld.bfloat16, ld.int8), ld.bfloat16),
        ((ld.bfloat16, ld.uint8), ld.bfloat16),
        ((ld.bfloat16, ld.int16), ld.float32),
        ((ld.bfloat16, ld.int32), ld.float64),
        ((ld.bfloat16, ld.float16), ld.float32),
        ((ld.bfloat16, ld.float32), ld.float32),
        ((ld.bfloat16, ld.float64), ld.float64),
        ((ld.bfloat16, ld.complex64), ld.complex64),
    ],
)
def test_promotion_of_the_other_dtypes(dtypes, meet):
    assert promote(*dtypes) is meet and promote(*reversed(dtypes)) is meet


def test_promotion_agrees_with_ml_dtypes_where_both_have_a_rule():
    compared = 0
    for a, b in itertools.product(EXTRA, ALL):
        try:
            theirs = np.promote_types(a.numpy, b.numpy)
        except TypeError:
            continue
        compared += 1
        assert promote(a, b).numpy == theirs, (a, b)
    assert compared > 20


def test_weak_numbers_with_the_other_dtypes():
    assert [result_type(ld.int4, t).name for t in WEAK] == ["int4", "int4", "float64", "complex128"]
    assert [result_type(ld.uint4, t).name for t in WEAK] == ["uint4", "uint4", "float64", "complex128"]
    assert [result_type(ld.bfloat16, t).name for t in WEAK] == ["bfloat16", "bfloat16", "bfloat16", "complex64"]
    assert result_type(np.float32, int) is ld.float32 and result_type("f8", np.dtype("c8"), int) is ld.complex128
    with pytest.raises(TypeError, match="at least one"):
        result_type()
    with pytest.raises(TypeError, match="at least one"):
        promote()


def test_safe_casts_are_numpys():
    for source, target in itertools.product(STANDARD, repeat=2):
        assert can_cast(source, target) == np.can_cast(source.numpy, target.numpy, "safe"), (source, target)
    assert can_cast("int4", np.int8) and not can_cast(ld.int8, ld.int4) and not can_cast(ld.int4, ld.uint4)


def test_isdtype_is_numpys():
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    for dtype, kind in itertools.product(STANDARD, kinds):
        assert isdtype(dtype, kind) == np.isdtype(dtype.numpy, kind)
        assert isdtype(dtype, (kind, ld.int8)) == np.isdtype(dtype.numpy, (kind, np.int8))
    for dtype, kind in ((ld.int4, "signed integer"), (ld.uint4, "unsigned integer"), (ld.bfloat16, "real floating")):
        assert isdtype(dtype, kind) and isdtype(dtype, "numeric") and isdtype(dtype, dtype.numpy)
    with pytest.raises(ValueError, match="'integer' is no kind"):
        isdtype(ld.int8, "integer")
    with pytest.raises(TypeError, match="3"):
        isdtype(ld.int8, 3)


# Limits


def test_limits_are_numpys():
    for dtype in ALL:
        if dtype.kind in ("signed", "unsigned"):
            theirs = ml_dtypes.iinfo(dtype.numpy)
            assert (dtype.min, dtype.max) == (int(theirs.min), int(theirs.max)) and ld.iinfo(dtype).bits == dtype.bits
            with pytest.raises(TypeError, match="finfo"):
                _ = dtype.eps
        elif dtype.kind in ("float", "complex"):
            mine, theirs = ld.finfo(dtype), ml_dtypes.finfo(dtype.real.numpy)
            for name in ("bits", "min", "max", "eps", "smallest_normal", "smallest_subnormal"):
                assert getattr(mine, name) == float(getattr(theirs, name)), (dtype, name)
            assert mine.dtype is dtype.real and type(mine.eps) is float
            assert (dtype.eps, dtype.max, dtype.smallest_normal) == (mine.eps, mine.max, mine.smallest_normal)
            with pytest.raises(TypeError, match="iinfo"):
                ld.iinfo(dtype)
    assert (ld.bool.min, ld.bool.max) == (0, 1)
    with pytest.raises(TypeError, match="iinfo"):
        ld.iinfo(bool)
    assert [d.real.name for d in (ld.complex64, ld.complex128, ld.int4)] == ["float32", "float64", "int4"]


def test_a_python_integer_fits_where_numpy_adds_it():
    powers = [s * 2**k for k in (0, 3, 4, 7, 8, 31, 32, 63, 64) for s in (1, -1)]
    numbers = [*(p + e for p in powers for e in (-1, 0, 1)), 10**400]
    for dtype, number in itertools.product(STANDARD[1:], numbers):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                np.ones(1, dtype.numpy) + number
            fitting = True
        except OverflowError:
            fitting = False
        assert fits(number, dtype) == fitting, (number, dtype)
        if not fitting:
            with pytest.raises(OverflowError, match=f"out of bounds for {dtype}|int too large"):
                ld.check_fits(number, dtype)
        else:
            ld.check_fits(number, dtype)
    assert [n for n in range(-20, 20) if fits(n, ld.int4)] == list(range(-8, 8))
    assert [n for n in range(-20, 20) if fits(n, ld.uint4)] == list(range(16))


# Values


def model_cast(value, dtype):
    """What `cast` does to one Python number, said in Python."""
    if dtype.kind == "bool":
        return bool(value)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        return int(max(dtype.min, min(dtype.max, value if math.isinf(value) else math.trunc(value))))
    wrapped = int(value) % 2**dtype.bits
    return wrapped - 2**dtype.bits if wrapped > dtype.max else wrapped


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_a_float_out_of_range_saturates(source, target):
    edges = [float(e) for d in INTEGERS for e in (d.min, d.max, d.max + 1, d.min - 1)]
    numbers = [*edges, *(e + h for e in edges for h in (-0.5, 0.5)), -0.0, 0.9, math.nan, math.inf, -math.inf]
    with np.errstate(all="ignore"):
        values = np.array(numbers).astype(source.numpy)
    expected = [model_cast(float(v), target) for v in values]
    assert cast(values, target).astype(object).tolist() == expected
    assert cast(values, target).dtype == target
    for value, one in zip(values, expected, strict=True):
        assert int(cast(np.array(value, source.numpy), target)) == one  # 0-d
    columns = [expected[i : i + 5] for i in range(0, 125, 5)]
    assert cast(values[:125].reshape(25, 5).T, target).astype(object).T.tolist() == columns
    if source.bits > 16:
        swapped = values.astype(values.dtype.newbyteorder())
        assert cast(swapped, target).astype(object).tolist() == expected


@pytest.mark.parametrize("target", [ld.bool, *INTEGERS], ids=str)
@pytest.mark.parametrize("source", [ld.bool, *INTEGERS], ids=str)
def test_an_integer_wraps(source, target):
    values = np.array(values_of(source), object).astype(source.numpy)
    assert cast(values, target).astype(object).tolist() == [model_cast(int(v), target) for v in values]
    assert cast(values, target).dtype == target


def test_the_other_casts_are_numpys():
    values = np.array([0.1, -3.7, 1e300, 0, np.inf])
    with np.errstate(all="ignore"):
        for target in (ld.bool, *FLOATS, ld.complex64, ld.complex128):
            for source in (ld.float64, *INTEGERS, ld.bool, ld.bfloat16):
                given = cast(values, source)
                np.testing.assert_array_equal(cast(given, target), given.astype(target.numpy))
    assert cast(values, ld.float64) is values
    for target in (ld.float32, ld.int8):
        with pytest.warns(np.exceptions.ComplexWarning):
            assert cast(np.array([300.5 + 2j]), target).tolist() == [300.5 if target is ld.float32 else 127]


def test_int4_keeps_its_sign():
    values = np.array([-8, -1, 0, 7, 3]).astype(ld.int4.numpy)
    assert cast(values, ld.int8).tolist() == [-8, -1, 0, 7, 3]
    assert cast(values, ld.uint4).tolist() == [8, 15, 0, 7, 3]
    back = ld.unpack(ld.pack(values, ld.int4), ld.int4)[:5]
    assert cast(back, ld.int8).tolist() == [-8, -1, 0, 7, 3]


@pytest.mark.parametrize("dtype", [ld.int4, ld.uint4], ids=str)
@pytest.mark.parametrize("count", range(6))
def test_packing_follows_the_rule_of_bits(dtype, count, rng):
    numbers = rng.integers(dtype.min, dtype.max + 1, size=count).tolist()
    packed = ld.pack(np.array(numbers, np.int8).astype(dtype.numpy), dtype)
    bits = sum((n % 2**dtype.bits) << p * dtype.bits for p, n in enumerate(numbers))
    assert packed.tobytes() == bits.to_bytes(dtype.nbytes(count), "little")
    assert ld.unpack(packed, dtype)[:count].astype(int).tolist() == numbers
    matrix = np.resize(np.array(numbers or [0], np.int8), (3, 4)).astype(dtype.numpy).T
    assert ld.unpack(ld.pack(matrix, dtype), dtype).tolist() == matrix.reshape(-1).tolist()


def test_a_packed_row_divides_a_byte():
    with pytest.raises(ValueError, match="divides 8"):
        ld._row("int3", 3, "signed", np.int8)
    assert "int3" not in DTYPES
