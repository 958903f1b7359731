"""Arrays against NumPy: what enters shares its memory, what leaves is what entered, nothing reads outside a buffer."""

import array as python_array
import copy
import ctypes
import gc
import mmap
import operator
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest

import lamina.dtype as ld
from lamina.array import Array, asarray, copied, from_numpy, to_numpy
from lamina.dtype import DTYPES
from lamina.errors import LaminaWarning
from lamina.layout import Layout
from lamina.operators import FUNCTIONS

WHOLE = [d for d in DTYPES.values() if not d.is_packed]
PACKED = [d for d in DTYPES.values() if d.is_packed]
PLAIN = [d for d in WHOLE if d.numpy.isbuiltin == 1]


def numbers(dtype, shape, rng):
    """A NumPy array of random elements, each a small integer (that a bool makes 0 or 1)."""
    low, high = (0, 8) if dtype.kind in ("unsigned", "bool") else (-8, 8)
    return ld.cast(rng.integers(low, high, size=shape), dtype)


def random_view(base, rng):
    """A random view of a NumPy array: slices of every direction, dropped and new axes, transposes, broadcasts."""
    view = base
    for _ in range(rng.integers(4)):
        match rng.integers(5):
            case 0 if view.ndim:
                key = []
                for extent in view.shape:
                    start, stop = rng.integers(-1, extent + 1, size=2)
                    key.append(slice(start, stop, int(rng.choice([-3, -2, -1, 1, 2, 3]))))
                view = view[tuple(key)]
            case 1:
                view = view.transpose(rng.permutation(view.ndim))
            case 2 if view.ndim < 5:
                view = np.expand_dims(view, int(rng.integers(view.ndim + 1)))
            case 3 if view.ndim and view.shape[0]:
                view = view[int(rng.integers(view.shape[0])), ...]
            case 4 if view.ndim < 5:
                view = np.broadcast_to(view, (int(rng.integers(1, 4)), *view.shape))
    return view


def positions_model(array):
    """The elements of an array, read from its buffer by the definition of a layout, bit by bit."""
    data, bits, dtype = bytes(array.buffer), array.dtype.bits, array.dtype
    whole = int.from_bytes(data, "little")
    out = np.empty(array.shape, object)
    for index in np.ndindex(*array.shape):
        code = whole >> array.layout.position(index) * bits & (1 << bits) - 1
        if dtype.is_packed:
            out[index] = code - (1 << bits) if code > dtype.max else code
        else:
            out[index] = np.frombuffer(code.to_bytes(bits // 8, "little"), dtype.numpy)[0]
    return out


# In and out of NumPy


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_any_view_enters_and_leaves_without_a_copy(dtype, rng):
    base = numbers(dtype, (3, 4, 5), rng)
    base.flags.writeable = bool(rng.integers(2))
    for _ in range(60):
        view = random_view(base, rng)
        for array in (asarray(view), asarray(view, copy=False), from_numpy(view)):
            back = np.asarray(array, copy=False)
            assert array.shape == back.shape == view.shape and array.dtype == back.dtype == dtype
            np.testing.assert_array_equal(back, view)
            if view.size:
                assert back.__array_interface__["data"][0] == view.__array_interface__["data"][0]
                assert [s for s, n in zip(back.strides, view.shape, strict=True) if n > 1] == [
                    s for s, n in zip(view.strides, view.shape, strict=True) if n > 1
                ]
            assert back.flags.writeable == (view.flags.writeable and array.layout.is_distinct)


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_the_buffer_is_the_views_own_span(dtype, rng):
    base = numbers(dtype, (3, 4, 5), rng)
    for _ in range(40):
        view = random_view(base, rng)
        array = from_numpy(view)
        assert np.array_equal(positions_model(array), view.astype(object))
        low, high = array.layout.span
        assert low == 0 and len(array.buffer) == high * dtype.itemsize
        assert array.buffer.format == "B" and array.buffer.readonly == (not to_numpy(array).flags.writeable)
        again = Array(array.buffer, dtype, array.layout)
        np.testing.assert_array_equal(np.asarray(again), view)
        if view.size:
            assert np.shares_memory(np.asarray(again), base)
            lowest, end = np.lib.array_utils.byte_bounds(view)
            assert np.frombuffer(array.buffer, np.uint8).ctypes.data == lowest and len(array.buffer) == end - lowest


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_an_array_of_bytes_follows_its_layout(dtype, rng):
    data = rng.integers(0, 2 if dtype.kind == "bool" else 256, size=dtype.nbytes(61), dtype=np.uint8).tobytes()
    for shape, strides, offset in [
        ((3, 4), (4, 1), 0),
        ((3, 4), (-4, 1), 9),
        ((2, 3, 4), (0, 5, -1), 7),
        ((5,), (13,), 1),
        ((4, 3), (1, 1), 3),
        ((), (), 60),
        ((0, 3), (9, 9), 9),
        ((1, 61), (7, 1), 0),
    ]:
        array = Array(data, dtype, Layout(shape, strides, offset))
        with np.errstate(all="ignore"):
            expected = positions_model(array)
            got = to_numpy(array).astype(object)
        assert got.shape == expected.shape == array.shape
        same = [a == b or (a != a and b != b) for a, b in zip(got.flat, expected.flat, strict=True)]
        assert all(same), (shape, strides, offset)
        assert not to_numpy(array).flags.writeable or dtype.is_packed


def test_the_span_must_lie_in_the_buffer():
    assert Array(bytes(24), "f8", Layout((3,), (1,))).tolist() == [0, 0, 0]
    assert Array(b"", "f8", Layout((0, 3), (3, 1))).shape == (0, 3)
    for size in (0, 1, 23):
        with pytest.raises(ValueError, match=f"reaches byte 24 .* float64, but the buffer has {size} bytes"):
            Array(bytes(size), "f8", Layout((3,), (1,)))
    with pytest.raises(ValueError, match="reaches byte 2 "):
        Array(bytes(1), "int4", Layout((3,), (1,)))
    with pytest.raises(ValueError, match="reaches byte 8 "):
        Array(bytes(7), "u1", Layout((2,), (-7,), 7))


def test_what_an_array_is_made_of_is_checked():
    with pytest.raises(TypeError, match="bytes-like object was expected, but got int"):
        Array(3, "f8", Layout((), ()))
    with pytest.raises(ValueError, match="contiguous bytes-like object was expected, but got ndarray"):
        Array(np.zeros((4, 4))[:, ::2], "f8", Layout((), ()))
    with pytest.raises(TypeError, match=r"Layout was expected, but got \(2, 3\)"):
        Array(bytes(48), "f8", (2, 3))
    with pytest.raises(TypeError, match="object"):
        Array(bytes(48), object, Layout((), ()))
    source = bytearray(16)
    assert Array(source, "f8", Layout((2,), (1,))).buffer.obj is not None
    assert Array(np.zeros((2, 3), ml_dtypes.bfloat16), "u2", Layout((6,), (1,))).tolist() == [0] * 6


def test_a_broadcast_is_read_only_outside():
    source = bytearray(8)
    broadcast = np.asarray(Array(source, "f8", Layout((2, 3), (0, 0))))
    assert not broadcast.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        broadcast += 1
    windows = np.lib.stride_tricks.as_strided(np.zeros(5), (3, 3), (8, 8))
    assert windows.flags.writeable
    out = np.asarray(asarray(windows))
    assert np.shares_memory(out, windows) and not out.flags.writeable and windows.flags.writeable


def test_writes_show_where_memory_is_shared():
    source = np.arange(6.0).reshape(2, 3)
    array = asarray(source.T)
    source[0, 2] = 9
    assert array.tolist() == [[0, 3], [1, 4], [9, 5]]
    np.asarray(array)[0, 0] = -1
    assert source[0, 0] == -1


def test_a_copy_is_a_copy():
    source = np.arange(6.0).reshape(2, 3).T
    source.flags.writeable = False
    for array in (asarray(source, copy=True), asarray(asarray(source), copy=True), copied(asarray(source))):
        assert not np.shares_memory(np.asarray(array), source)
        assert np.asarray(array).flags.writeable and np.array_equal(array.tolist(), source)
    array = asarray(source)
    assert asarray(array) is array and asarray(array, "f8", copy=False) is array
    for twin in (copy.copy(array), copy.deepcopy(array), copy.deepcopy([array])[0]):
        assert twin.tolist() == array.tolist() and not np.shares_memory(np.asarray(twin), source)


def test_the_source_may_be_reshaped_or_frozen_afterwards():
    source = np.arange(6.0)
    array = asarray(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        source.shape = (2, 3)
    source.flags.writeable = False
    out = array.to_numpy()
    out.flags.writeable = False
    assert array.shape == np.asarray(array).shape == (6,) and np.asarray(array).flags.writeable
    assert array.to_numpy() is not to_numpy(array)


# What lives as long as the array


class Memory(bytearray):
    """Memory that a weak reference can watch."""


@pytest.mark.parametrize("key", [slice(None), slice(None, None, -2), (2, ...), slice(0, 0), (slice(1, 3), None)])
def test_the_source_lives_as_long_as_anything_that_shares_it(key):
    memory = Memory(np.arange(8.0).tobytes())
    watch = weakref.ref(memory)
    source = np.frombuffer(memory)
    array = asarray(source[key])
    kept = [array.buffer, np.asarray(array), Array(array.buffer, "f8", array.layout)]
    expected = np.array(source[key])
    del source, memory
    gc.collect()
    assert watch() is not None
    while kept:
        np.testing.assert_array_equal(np.asarray(array), expected)
        kept.pop()
        gc.collect()
    assert watch() is not None
    out = np.asarray(array)
    del array
    gc.collect()
    np.testing.assert_array_equal(out, expected)
    del out
    gc.collect()
    assert watch() is None


def test_an_array_can_be_watched_and_frees_its_buffer():
    source = bytearray(16)
    array = Array(source, "f8", Layout((2,), (1,)))
    watch = weakref.ref(array)
    with pytest.raises(BufferError):
        source.append(0)  # its memory is in use
    out = array.buffer
    del array
    assert watch() is None
    with pytest.raises(BufferError):
        source.append(0)
    del out
    source.append(0)


# The other things that hold numbers


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (True, "bool"),
        (3, "int64"),
        (2**63, "uint64"),
        (-1.5, "float64"),
        (1 + 2j, "complex128"),
        (np.float32(2.5), "float32"),
        (np.True_, "bool"),
        (ml_dtypes.bfloat16(1.5), "bfloat16"),
        ([1, 2.5], "float64"),
        ([], "float64"),
        ([[1, 2], (3, 4)], "int64"),
        ([True, 2], "int64"),
        (range(4), "int64"),
        ([np.float32(1), np.arange(3)[2]], "float64"),
        ([[], []], "float64"),
    ],
)
def test_numbers_and_lists_have_numpys_dtype(given, dtype):
    array, expected = asarray(given), np.asarray(given)
    assert array.dtype.name == dtype == expected.dtype.name and array.shape == expected.shape
    assert array.tolist() == expected.tolist()
    with pytest.raises(ValueError, match="copy"):
        asarray(given, copy=False)


def test_lists_may_hold_arrays():
    row = asarray([1, 2])
    assert asarray([row, row]).tolist() == [[1, 2], [1, 2]] and asarray([row, [3, 4]], "f4").dtype == "f4"
    assert asarray([asarray(1.5), 2]).tolist() == [1.5, 2]


def test_integers_in_lists_that_only_a_float_of_theirs_takes_out_of_range():
    for numbers in ([2**64 - 1024, 0], [2**64 - 1, 1.5], [[0, 2**64 - 1]]):
        assert asarray(numbers, "uint64").tolist() == np.asarray(numbers, np.uint64).tolist()


@pytest.mark.parametrize("dtype", [d for d in WHOLE if d.kind in ("signed", "unsigned")], ids=str)
def test_floats_of_arrays_in_lists_saturate(dtype):
    """NumPy refuses Python's floats that the dtype doesn't hold, and leaves those of arrays to the processor."""
    floats = np.array([1e30, -1e30, np.nan, float(dtype.max), float(dtype.min), 2.7, 0.9])
    expected = asarray(floats, dtype).tolist()
    assert expected[:3] == [dtype.max, dtype.min, 0]
    for one in (floats, asarray(floats)):
        assert asarray([one, one], dtype).tolist() == [expected] * 2
    halves = floats.astype(ml_dtypes.bfloat16)
    assert asarray([halves], dtype).tolist() == [asarray(halves, dtype).tolist()]
    assert asarray([np.array(1.0), 2**53 + 1], "int64").tolist() == [1, 2**53 + 1]


@pytest.mark.parametrize("dtype", [d for d in DTYPES.values() if d.kind in ("signed", "unsigned")], ids=str)
def test_pythons_floats_out_of_range_are_refused(dtype):
    for bad in (1e30, -1e30, np.inf, np.nan):
        for given in (bad, [bad], [[1, bad]]):
            with pytest.raises((OverflowError, ValueError)) as numpys:
                np.asarray(given, np.int8)
            with pytest.raises(numpys.type):
                asarray(given, dtype)
    assert asarray([float(dtype.max % 2**53), dtype.min], dtype).tolist() == [dtype.max % 2**53, dtype.min]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_numbers_take_the_dtype_they_are_given(dtype):
    array = asarray([[0, 1], [1, 0]], dtype)
    assert array.dtype is dtype and array.tolist() == [[0, 1], [1, 0]]
    assert asarray(1, dtype.numpy).item() == 1
    if dtype.kind in ("signed", "unsigned"):
        assert asarray([dtype.min, dtype.max], dtype.name).tolist() == [dtype.min, dtype.max]
        for bad in (dtype.min - 1, dtype.max + 1):
            for given in (bad, [0, bad], [[bad]]):
                with pytest.raises(OverflowError, match=r"out of bounds|too large"):
                    asarray(given, dtype)
    if dtype.kind == "float":
        assert asarray([1e300], dtype).tolist() == [1e300 if dtype is ld.float64 else np.inf]


def test_arrays_convert_as_cast_does(rng):
    values = np.array([1.5, -2.7, 300.0, np.nan, -np.inf])
    assert asarray(values, "int8").tolist() == [1, -2, 127, 0, -128]
    assert asarray(asarray(values), "int4").tolist() == [1, -2, 7, 0, -8]
    assert asarray(np.float64(300), "uint8").item() == 255
    assert asarray(np.array([300, -9]), "int4").tolist() == [-4, 7]
    for given in (values, asarray(values), np.float64(1)):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            asarray(given, "float32", copy=False)
    same = numbers(ld.float64, (3, 4), rng)
    assert np.shares_memory(np.asarray(asarray(same, "float64")), same)


def test_whatever_is_a_buffer_is_shared():
    numbers_ = python_array.array("i", [1, 2, 3])
    array = asarray(numbers_)
    numbers_[0] = 9
    assert array.tolist() == [9, 2, 3] and array.dtype == np.intc
    data = bytearray(b"\x01\x02")
    array = asarray(memoryview(data), copy=False)
    data[1] = 7
    assert array.tolist() == [1, 7] and array.dtype is ld.uint8 and not array.buffer.readonly
    assert asarray(memoryview(b"ab")).buffer.readonly
    assert asarray((ctypes.c_double * 2)(1, 2)).tolist() == [1, 2]
    with mmap.mmap(-1, 16) as memory:
        assert asarray(memory).shape == (16,)
        gc.collect()


def test_a_buffer_keeps_negative_strides():
    a = np.arange(12.0).reshape(3, 4)[:, ::-1]
    array = asarray(memoryview(a))
    assert np.shares_memory(np.asarray(array), a) and array.layout == Layout((3, 4), (4, -1), 3)
    assert np.array_equal(np.asarray(array), a)


def test_objects_with_numpys_protocols_are_arrays():
    values = np.arange(4.0)

    class Interface:
        __array_interface__ = values.__array_interface__

    class Converts:
        def __array__(self, dtype=None, copy=None):
            return values.copy() if copy else values

    for thing in (Interface(), Converts()):
        assert np.shares_memory(np.asarray(asarray(thing)), values)
        assert not np.shares_memory(np.asarray(asarray(thing, copy=True)), values)
        assert asarray(thing, "f4").dtype is ld.float32


def test_a_memmap_is_an_array(tmp_path):
    np.arange(6.0).tofile(tmp_path / "numbers")
    source = np.memmap(tmp_path / "numbers", np.float64, "r", shape=(2, 3))
    array = asarray(source[:, ::-1])
    assert np.shares_memory(np.asarray(array), source) and array.tolist() == [[2, 1, 0], [5, 4, 3]]
    assert type(np.asarray(array)) is np.ndarray and array.buffer.readonly
    assert type(to_numpy(asarray(np.zeros(3).view(type("Subclass", (np.ndarray,), {}))))) is np.ndarray


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (np.array([None]), TypeError, "no object dtype"),
        (np.array(["a"]), TypeError, "no string dtype"),
        (np.array([b"a"]), TypeError, "no string dtype"),
        (np.array(["2000"], "M8[D]"), TypeError, "no datetime dtype"),
        (np.array([1], "m8[s]"), TypeError, "no timedelta dtype"),
        (np.zeros(2, [("x", "f4"), ("y", "i4")]), TypeError, "no structured dtype"),
        (np.zeros(2, np.longdouble), TypeError, "no longdouble dtype"),
        (np.zeros(2, "V3"), TypeError, r"no \|V3 dtype"),
        (np.zeros(2, [("x", "f4")]).view(np.recarray), TypeError, "no structured dtype"),
        (np.zeros(2, ml_dtypes.float8_e5m2), TypeError, "no float8_e5m2 dtype"),
        (np.ma.masked_array([1, 2], [0, 1]), TypeError, r"no MaskedArray; write x.filled\(value\)"),
        (None, TypeError, "NoneType"),
        ({"a": 1}, TypeError, "got dict|what came is dict"),
        ([1, None], TypeError, "what came is list"),
        (iter([1]), TypeError, "list_iterator"),
        ("abc", TypeError, "no string dtype"),
        (b"abc", TypeError, "no string dtype"),
        (2**64, OverflowError, "int64 and uint64"),
        ([[1, 2], [3]], ValueError, "inhomogeneous"),
    ],
)
def test_what_holds_no_numbers_is_refused_by_name(given, error, words):
    for dtype in (None, "float64") if not isinstance(given, int | list) else (None,):
        with pytest.raises(error, match=words.replace("no MaskedArray", "takes no MaskedArray")):
            asarray(given, dtype)


def test_a_matrix_is_refused_by_name():
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[1, 2]])
    with pytest.raises(TypeError, match=r"no matrix; write np.asarray\(x\)"):
        asarray(matrix)


def test_numpy_has_more_axes():
    assert asarray(np.zeros((1,) * 32)).ndim == 32
    for shape in ((1,) * 33, (1,) * 64, (0,) * 40):
        with pytest.raises(ValueError, match=f"at most 32 axes, but the shape .* has {len(shape)}"):
            asarray(np.zeros(shape))
    with pytest.raises(ValueError, match=r"2\*\*53"):
        asarray(np.broadcast_to(np.zeros(1), (2**27, 2**27)))


# Where a copy must be


@pytest.mark.parametrize("dtype", [d for d in PLAIN if d.itemsize > 1], ids=str)
def test_swapped_bytes_are_copied(dtype, rng):
    values = numbers(dtype, (3, 4), rng)
    swapped = values.astype(dtype.numpy.newbyteorder())[:, ::-1]
    array = asarray(swapped)
    assert array.dtype is dtype and np.array_equal(np.asarray(array), values[:, ::-1])
    assert not np.shares_memory(np.asarray(array), swapped)
    with pytest.raises(ValueError, match="Unable to avoid copy: the bytes are swapped"):
        asarray(swapped, copy=False)
    assert asarray(np.array(3, dtype.numpy.newbyteorder())).item() == 3


def test_odd_strides_are_copied_and_only_they():
    odd = np.zeros((2, 7), "f4")[:, :6].view("c8")
    odd[:] = np.arange(6).reshape(2, 3)
    assert odd.strides == (28, 8)
    array = asarray(odd)
    assert array.tolist() == odd.tolist() and not np.shares_memory(np.asarray(array), odd)
    with pytest.raises(ValueError, match=r"Unable to avoid copy: the byte strides \(28, 8\) are no multiples of the 8"):
        asarray(odd, copy=False)
    record = np.zeros(3, [("a", "u1"), ("x", "f4")])
    record["x"] = [1, 2, 3]
    assert asarray(record["x"]).tolist() == [1, 2, 3]
    assert asarray(record["a"], copy=False).layout.strides == (5,)

    one = np.lib.stride_tricks.as_strided(np.arange(600.0), (10, 5, 1), (8, 80, 4))
    assert np.shares_memory(np.asarray(asarray(one, copy=False)), one) and asarray(one).tolist() == one.tolist()
    empty = np.lib.stride_tricks.as_strided(np.zeros(4), (0, 3), (3, 5))
    assert asarray(empty, copy=False).layout == Layout.contiguous((0, 3))


def test_memory_off_its_alignment_is_shared():
    memory = bytearray(41)
    odd = np.frombuffer(memory, "f8", 5, 1)
    assert not odd.flags.aligned
    array = asarray(odd, copy=False)
    odd[2] = 3
    assert np.shares_memory(np.asarray(array), odd) and array.tolist() == [0, 0, 3, 0, 0]


@pytest.mark.parametrize("shape", [(1, 8, 0, 128), (0,), (3, 0)])
def test_without_elements_an_array_is_contiguous(shape):
    array = asarray(np.zeros(shape))
    assert array.layout == Layout.contiguous(shape) and array.layout.is_contiguous and array.size == 0
    assert np.asarray(array).shape == shape and len(array.buffer) == 0 and array.nbytes == 0
    backwards = np.zeros((4, 5, 3))[..., ::-1][0:0, 2:2]
    assert asarray(backwards).layout.is_contiguous and asarray(backwards).buffer.nbytes == 0


# Packed


@pytest.mark.parametrize("dtype", PACKED, ids=str)
def test_packed_elements_enter_and_leave_as_ml_dtypes(dtype, rng):
    for _ in range(40):
        view = random_view(numbers(dtype, (3, 5), rng), rng)
        array = asarray(view)
        assert array.dtype is dtype and array.shape == view.shape and array.nbytes == dtype.nbytes(view.size)
        assert len(array.buffer) == dtype.nbytes(view.size)
        codes = sum(int(v) % 2**dtype.bits << dtype.bits * p for p, v in enumerate(view.flat))
        assert bytes(array.buffer) == codes.to_bytes(len(array.buffer), "little")
        assert np.asarray(array).dtype == dtype.numpy and np.asarray(array).tolist() == array.tolist() == view.tolist()
        twin = copied(array)
        assert twin.tolist() == view.tolist() and bytes(twin.buffer) == bytes(array.buffer)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        asarray(view, copy=False)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(array, copy=False)
    with pytest.raises(TypeError, match="4 bits"):
        _ = array.itemsize


def test_int4_keeps_its_sign():
    array = asarray([-8, -1, 0, 7, 3], "int4")
    assert bytes(array.buffer) == bytes([0xF8, 0x70, 0x03]) and array.nbytes == 3
    assert asarray(array, "int8").tolist() == [-8, -1, 0, 7, 3]
    assert asarray(array, "uint4").tolist() == [8, 15, 0, 7, 3]
    assert np.asarray(array, dtype=np.int8).tolist() == [-8, -1, 0, 7, 3]


# Python's side


SCALARS = [np.array(v) for v in (True, False, 3, -2.5, 1 + 2j, np.uint8(7), np.float32(0.1), 0.0)]


@pytest.mark.parametrize("convert", [bool, int, float, complex, operator.index, str, repr], ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [*SCALARS, np.array([3]), np.array([1, 2]), np.zeros(0), np.array([[5]])], ids=str)
def test_one_element_converts_as_numpys_does(convert, value):
    array = asarray(value)
    if convert is repr:
        assert repr(
            array
        ) == f"lamina.Array({np.array2string(value)}, shape={value.shape}, dtype={value.dtype})".replace(
            "[1 2]", "[1, 2]"
        )
        return
    try:
        expected = convert(value)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            convert(array)
    else:
        got = convert(array)
        assert got == expected and type(got) is type(expected)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_items_are_python_numbers(dtype, rng):
    values = numbers(dtype, (2, 3), rng)
    array = asarray(values)
    kind = {"bool": bool, "signed": int, "unsigned": int, "float": float, "complex": complex}[dtype.kind]
    assert array.tolist() == values.astype(object).tolist() and type(array.item(1, 2)) is kind is type(
        array.tolist()[0][0]
    )
    assert array.item(4) == values[1, 1] == array.item((1, 1))
    with pytest.raises(ValueError, match="size 1"):
        array.item()
    one = asarray(values[0, 0])
    assert type(one.item()) is kind and one.item() == one.tolist() == values[0, 0] and bool(one) == bool(values[0, 0])
    assert complex(one) == values[0, 0]
    if kind is not complex:
        assert int(one) == float(one) == values[0, 0]
    if kind is int:
        assert operator.index(one) == values[0, 0] and [10, 20][asarray(1, dtype)] == 20
    else:
        with pytest.raises(TypeError):
            operator.index(one)


def test_len_and_iteration(monkeypatch):
    monkeypatch.setitem(FUNCTIONS, "getitem", lambda x, key: asarray(to_numpy(x)[key]))
    array = asarray(np.arange(6).reshape(3, 2))
    assert len(array) == 3 and [row.tolist() for row in array] == [[0, 1], [2, 3], [4, 5]]
    assert len(asarray(np.zeros((0, 2)))) == 0 and list(asarray([])) == []
    with pytest.raises(TypeError, match="0-d"):
        len(asarray(3))
    with pytest.raises(TypeError, match="0-d"):
        iter(asarray(3))


def test_what_an_array_is_stays():
    """Elements may be written (test_writing.py), but not what they are and where they lie."""
    array = asarray([1, 2, 3])
    for name in ("dtype", "shape", "layout", "buffer", "T", "device", "anything"):
        with pytest.raises(AttributeError):
            setattr(array, name, 1)
    with pytest.raises(ValueError, match="cannot delete array elements"):
        operator.delitem(array, 0)
    with pytest.raises(TypeError, match="unhashable"):
        hash(array)


def test_attributes_are_numpys():
    values = np.zeros((3, 4), np.float32)
    array = asarray(values)
    for name in ("shape", "ndim", "size", "nbytes", "itemsize", "device"):
        assert getattr(array, name) == getattr(values, name, "cpu")
    assert array.dtype == values.dtype and array.to_device("cpu") is array
    with pytest.raises(ValueError, match="gpu"):
        array.to_device("gpu")
    assert array.__array_namespace__().__name__ == "lamina"
    assert array.__array_namespace__(api_version="2023.12").__name__ == "lamina"
    with pytest.raises(ValueError, match="1999"):
        array.__array_namespace__(api_version="1999.12")


def test_repr_shows_values_dtype_and_shape():
    assert repr(asarray([[1, 2], [3, 4]], "int4")) == (
        "lamina.Array([[1, 2],\n              [3, 4]], shape=(2, 2), dtype=int4)"
    )
    assert repr(asarray(np.zeros((0, 3)))) == "lamina.Array([], shape=(0, 3), dtype=float64)"
    assert repr(asarray([1.5, 2.25], "bfloat16")) == "lamina.Array([1.5 , 2.25], shape=(2,), dtype=bfloat16)"
    large = repr(asarray(np.broadcast_to(np.arange(10.0), (10**6, 10**5, 10))))
    assert len(large) < 2000 and "..." in large and "shape=(1000000, 100000, 10)" in large
    assert str(asarray([1, 2])) == "[1 2]" and f"{asarray(3.14159):.2f}" == "3.14" and f"{asarray([1])}" == "[1]"
    with pytest.raises(TypeError):
        format(asarray([1, 2]), ".2f")


def test_what_lamina_has_no_function_for_is_numpys(monkeypatch):
    for hook in ("array_ufunc", "array_function"):
        monkeypatch.delitem(FUNCTIONS, hook, raising=False)
    array = asarray([1.0, 4.0])
    assert np.sqrt(array).tolist() == [1, 2] and np.concatenate([array, np.zeros(1)]).tolist() == [1, 4, 0]
    assert np.add.reduce(array) == 5 and np.shares_memory(array, np.asarray(array))
    assert np.array_equal(array, [1, 4]) and np.nan_to_num(array).tolist() == [1, 4]
    total = np.zeros(2)
    total += array
    assert total.tolist() == [1, 4]
    np.testing.assert_array_equal(array, [1, 4])
    assert issubclass(LaminaWarning, UserWarning)  # and nothing warned: warnings are errors here
