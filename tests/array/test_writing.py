"""Arrays written by key: NumPy says what is written where, the layout says in which bits, and the rest stays."""

import operator
import warnings

import ml_dtypes
import numpy as np
import pytest

import lamina
import lamina.dtype as ld
from lamina.array import Array, asarray, from_numpy, to_numpy
from lamina.dtype import DTYPES
from lamina.errors import LaminaWarning, TraceError
from lamina.layout import Layout
from lamina.operators import FUNCTIONS
from lamina.trace.value import Kind

WHOLE = [d for d in DTYPES.values() if not d.is_packed]
PACKED = [d for d in DTYPES.values() if d.is_packed]


def numbers(dtype, shape, rng):
    """A NumPy array of random elements, each a small integer (that a bool makes 0 or 1)."""
    low, high = (0, 8) if dtype.kind in ("unsigned", "bool") else (-8, 8)
    return ld.cast(rng.integers(low, high, size=shape), dtype)


# Keys into an array of shape (4, 5), and for each the shapes of values that fit it.
KEYS = [
    *(2, -1, (1, 3), (-4, ...), ..., (), None, (None, 2), np.int8(3), True, False),
    *(np.s_[1:3], np.s_[::-1], np.s_[:, ::2], np.s_[3:0:-2, 1], np.s_[2:2], np.s_[None, ..., 1], np.s_[..., None, 0]),
    *([0, 2], ([0, 2], [1, 1]), (slice(None), [4, 0]), ([3], slice(1, 4)), ([[0], [3]], [1, 2]), ([], slice(None))),
    *(np.array([1, -1]), (np.array([[2]]), 0), (0, slice(None), None), (np.array(1), np.array(2))),
    *(np.arange(20).reshape(4, 5) % 3 == 0, np.array([True, False, True, True]), (slice(None), np.arange(5) > 2)),
    *(np.zeros((4, 5), bool), [True, False, False, True], (np.arange(4) > 1, 0)),
]


def as_arrays(key):
    """The same key with an `Array` wherever it has an array."""
    if isinstance(key, tuple):
        return tuple(map(as_arrays, key))
    return asarray(key) if isinstance(key, np.ndarray) else key


def written(target, key, value):
    """What an assignment raises, if it does."""
    try:
        target[key] = value
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        return error
    return None


@pytest.mark.parametrize("dtype", [*WHOLE, *PACKED], ids=str)
def test_values_go_where_numpy_puts_them(dtype, rng):
    base = numbers(dtype, (4, 5), rng)
    for key in KEYS:
        shape = base[key].shape
        for given in {shape, (), (1, *shape), tuple(min(n, 1) for n in shape)}:
            value, expected = numbers(dtype, given, rng), base.copy()
            if written(expected, key, value):
                continue  # a mask takes values of one axis
            array = asarray(base, copy=True)
            memory = to_numpy(array)
            array[as_arrays(key)] = asarray(value)
            np.testing.assert_array_equal(to_numpy(array), expected)
            assert dtype.is_packed or to_numpy(array) is memory
            if 0 not in given:
                array = asarray(base, copy=True)
                array[key] = value.tolist()
                np.testing.assert_array_equal(to_numpy(array), expected)


def test_any_integer_dtype_is_a_key():
    for dtype in (d for d in DTYPES.values() if d.kind in ("signed", "unsigned")):
        array = asarray(np.zeros(4))
        array[asarray([3, 1], dtype)] = 1
        array[(asarray(0, dtype), None)] = 2
        assert array.tolist() == [2, 1, 0, 1]


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_writes_through_a_view_reach_what_it_sees_and_nothing_else(dtype, rng):
    for view in (np.s_[::-1, 1:4], np.s_[1], np.s_[:, 2], np.s_[::2, ::-2], np.s_[2:2], np.s_[1, 1, ...]):
        base, value = numbers(dtype, (4, 5), rng), numbers(dtype, (), rng)
        expected = base.copy()
        expected[view][...] = value
        asarray(base[view])[...] = value
        np.testing.assert_array_equal(base, expected)
        base[...] = 0
        asarray(base.T[view[::-1] if isinstance(view, tuple) else view])[...] = 1
        assert np.count_nonzero(base) == base.T[view[::-1] if isinstance(view, tuple) else view].size


@pytest.mark.parametrize("dtype", PACKED, ids=str)
def test_packed_writes_change_only_their_own_bits(dtype, rng):
    lanes = 8 // dtype.bits
    for shape, strides, offset in [
        ((3, 4), (4, 1), 0),
        ((3, 4), (-4, 1), 9),
        ((5,), (2,), 1),
        ((4,), (-3,), 12),
        ((2, 2), (7, 3), 5),
        ((), (), 3),
        ((0, 3), (3, 1), 0),
    ]:
        layout = Layout(shape, strides, offset)
        buffer = bytearray(rng.integers(0, 256, size=16, dtype=np.uint8).tobytes())
        before = int.from_bytes(buffer, "little")
        array = Array(buffer, dtype, layout)
        value = numbers(dtype, shape, rng)
        array[...] = value
        after = int.from_bytes(buffer, "little")
        changed = 0
        for index in np.ndindex(*shape):
            at = layout.position(index) * dtype.bits
            assert after >> at & (1 << dtype.bits) - 1 == int(value[index]) % (1 << dtype.bits)
            changed |= (1 << dtype.bits) - 1 << at
        assert after & ~changed == before & ~changed and len(buffer) * lanes == 32
        assert array.tolist() == value.tolist()
        if shape:
            array[..., 0:0] = 1
            assert int.from_bytes(buffer, "little") == after


def test_what_is_written_is_read_everywhere():
    memory = np.zeros((2, 3))
    one, other = asarray(memory), asarray(memory.T)
    buffer, outside = one.buffer, np.asarray(other)
    one[1, 2] = 7
    assert memory[1, 2] == other[2, 1] == outside[2, 1] == 7 and np.frombuffer(buffer)[5] == 7
    data = bytearray(2)
    packed = Array(data, "int4", Layout.contiguous((4,)))
    packed[1] = -2
    data[1] = 0x31
    assert data[0] == 0xE0 and packed.tolist() == [0, -2, 1, 3]


def test_overlapping_values_are_read_first():
    for target, source in [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[:], np.s_[::-1]),
        (np.s_[::2], np.s_[:3]),
        ([5, 4, 3], np.s_[3:]),
        (np.arange(6) > 2, np.s_[2:5]),
    ]:
        for dtype in ("f8", "int4"):
            memory = numbers(DTYPES["int4"], 6, np.random.default_rng(1))
            array = asarray(memory, dtype)
            expected = to_numpy(array).copy()
            expected[target] = expected[source].copy()
            array[target] = asarray(to_numpy(array)[source])
            assert array.tolist() == expected.tolist()
    square = np.arange(9).reshape(3, 3)
    asarray(square)[...] = asarray(square.T)
    assert square.tolist() == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


# Conversion

VALUES = [
    *(True, 1, 300, -1, 2**70, -(2**70), 3.7, -3.7, 300.0, 1e300, np.inf, np.nan, 1 + 2j, 10**400),
    *([1, 2, 3], [1, 300, 3], [1.5, 2, 3], [[1], [2]], [], "3", "abc", None, object(), {}),
    *(np.int64(100), np.uint8(200), np.float32(2.5), np.complex64(1j), np.bool_(True)),
]


@pytest.mark.parametrize("dtype", [d for d in WHOLE if d.numpy.isbuiltin == 1], ids=str)
@pytest.mark.parametrize("key", [0, slice(None)], ids=repr)
def test_python_numbers_convert_as_numpys_assignment_does(dtype, key):
    for value in VALUES:
        expected, array = np.zeros(3, dtype.numpy), asarray(np.zeros(3, dtype.numpy))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            error = written(expected, key, value)
            refused = written(array, key, value)
        if not isinstance(value, complex | float | int | list | np.generic):
            assert isinstance(refused, TypeError)  # NumPy makes numbers of some
        elif key == 0 and isinstance(value, list):
            assert refused is not None
        elif error is not None:
            assert isinstance(refused, TypeError if isinstance(error, TypeError) else type(error)), (value, refused)
        else:
            assert refused is None, (value, refused)
        if refused is None:
            np.testing.assert_array_equal(to_numpy(array), expected)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_arrays_convert_as_cast_does(dtype, rng):
    """Whatever their dtype; a float out of range saturates, a wider integer wraps."""
    for source in DTYPES.values():
        if source.kind == "complex" and dtype.kind != "complex":
            continue
        value = numbers(source, 7, rng)
        if source.kind == "float":
            value[:5] = [np.nan, np.inf, -np.inf, 1e4, -1e4]
        elif source.bits >= 16 and source.kind != "bool":
            value[:2] = [300, 1000]
        array = asarray(np.zeros(7, dtype.numpy))
        array[:] = value
        np.testing.assert_array_equal(to_numpy(array).astype("c16"), ld.cast(value, dtype).astype("c16"))
    assert asarray(np.array([1e9, np.nan]), "int8").tolist() == [127, 0]


def test_the_imaginary_part_is_dropped_with_numpys_warning():
    array = asarray([0.0, 0.0])
    with pytest.warns(np.exceptions.ComplexWarning):
        array[:] = np.array([1 + 2j, 3])
    assert array.tolist() == [1, 3]


@pytest.mark.parametrize("dtype", PACKED, ids=str)
def test_packed_numbers_out_of_range_are_overflow_errors(dtype):
    array = asarray([0, 0, 0], dtype)
    for bad in (dtype.min - 1, dtype.max + 1, [0, dtype.max + 1, 0], 2**70, np.int64(100)):
        with pytest.raises(OverflowError):
            array[:] = bad
    array[:] = [dtype.min, dtype.max, 1]
    array[2] = np.array(1e9)
    assert array.tolist() == [dtype.min, dtype.max, dtype.max]


# What is refused

BAD_KEYS = [
    *(4, -5, (0, 5), (0, 0, 0), "a", 1.0, [1.5], (0, [7]), (slice(None), -6), [True, False], np.zeros((4, 4), bool)),
    *(([0, 1], [0, 1, 2]), slice(0, 1.5), {}, (0, None, "b"), np.array([0.0]), 2**70),
]


@pytest.mark.parametrize("dtype", ["float64", "int4", "bfloat16"])
@pytest.mark.parametrize("key", BAD_KEYS, ids=repr)
def test_a_key_outside_the_array_is_numpys_error(key, dtype):
    expected = written(np.zeros((4, 5)), key, 1)
    array = asarray(np.zeros((4, 5)), dtype)
    error = written(array, as_arrays(key), 1)
    assert type(error) is type(expected) and str(error) == str(expected)
    assert not np.any(to_numpy(array))


@pytest.mark.parametrize("dtype", ["float64", "int4"])
def test_values_of_another_shape_are_numpys_error(dtype):
    array = asarray(np.zeros((4, 5)), dtype)
    for key, shape in [(..., (2,)), (0, (4,)), (slice(1, 3), (3, 5)), ([0, 1], (3, 5)), (np.eye(4, 5) > 0, (3,))]:
        with pytest.raises(ValueError, match=r"broadcast|shape mismatch|cannot assign"):
            array[key] = np.ones(shape)
    assert not np.any(to_numpy(array))


def read_only(values):
    values.flags.writeable = False
    return values


REFUSED = {
    "read-only NumPy array": (lambda: asarray(read_only(np.zeros(3))), "came into the array read-only"),
    "bytes": (lambda: Array(bytes(24), "f8", Layout.contiguous((3,))), "came into the array read-only"),
    "packed bytes": (lambda: Array(bytes(2), "int4", Layout.contiguous((3,))), "came into the array read-only"),
    "bytes without elements": (lambda: Array(b"", "f8", Layout.contiguous((0,))), "came into the array read-only"),
    "broadcast": (lambda: Array(bytearray(8), "f8", Layout((3,), (0,))), "not distinct"),
    "packed broadcast": (lambda: Array(bytearray(1), "int4", Layout((3,), (0,))), "not distinct"),
    "NumPy's broadcast": (lambda: asarray(np.broadcast_to(np.zeros(1), (3,))), "not distinct"),
    "windows": (lambda: Array(bytearray(40), "f8", Layout((3, 3), (1, 1))), "not distinct"),
    "NumPy's windows": (
        lambda: asarray(np.lib.stride_tricks.sliding_window_view(np.zeros(5), 3, writeable=True)),
        "not distinct",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_must_not_be_written_says_why(name):
    make, reason = REFUSED[name]
    array = make()
    before = array.tolist()
    changes = [
        lambda: operator.setitem(array, ..., 1),
        lambda: operator.setitem(array, slice(0, 0), 1),
        lambda: operator.iadd(array, asarray([], "int4") if array.size == 0 else 1),
        lambda: np.negative(array, out=array),
        lambda: np.add.at(array, slice(0, 0), 1),
    ]
    for change in changes:
        with pytest.raises(ValueError, match=f"(?s)assignment destination is read-only: .*{reason}.*x.copy"):
            change()
    assert array.tolist() == before


def test_a_broadcast_is_not_written_twenty_times():
    parent = np.ones((1, 1))
    b = lamina.broadcast_to(asarray(parent), (4, 5))
    with pytest.raises(ValueError, match="read-only"):
        b += 1
    assert parent.tolist() == [[1]]


# NumPy's functions


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_ufuncs_compute_into_arrays(dtype, rng):
    x, y = numbers(dtype, (2, 3), rng), numbers(dtype, 3, rng)
    expected, array = np.zeros((2, 3), dtype.numpy), asarray(np.zeros((2, 3), dtype.numpy))
    memory = to_numpy(array)
    np.add(x, y, out=expected)
    assert np.add(asarray(x), y, out=array) is array and (dtype.is_packed or to_numpy(array) is memory)
    np.testing.assert_array_equal(to_numpy(array), expected)
    where = np.array([True, False, True])
    np.multiply(x, 2, out=expected, where=where, casting="unsafe")
    assert np.multiply(x, 2, array, where=asarray(where), casting="unsafe") is array
    np.testing.assert_array_equal(to_numpy(array), expected)
    if dtype.numpy.isbuiltin == 1:
        np.add.at(expected, ([0, 1, 0], 1), 1)
        assert np.add.at(array, (np.array([0, 1, 0]), 1), 1) is None
        np.testing.assert_array_equal(to_numpy(array), expected)


def test_ufuncs_of_several_results_compute_into_arrays():
    x, fraction = np.array([1.5, -2.25]), asarray(np.zeros(2))
    results = np.modf(x, out=(fraction, None))
    assert results[0] is fraction and type(results[1]) is np.ndarray
    assert fraction.tolist() == [0.5, -0.25] and results[1].tolist() == [1, -2]
    total = asarray(0.0)
    assert np.add.reduce(x, out=total) is total and total.item() == -0.75
    with pytest.raises(TypeError, match="same_kind"):
        np.add(x, 1, out=asarray([1, 2]))


# While a function is traced


def test_traced_numbers_are_rebound():
    seen = []

    def run(x, n):
        before = total = x.sum()
        total += 1
        n *= 2
        seen.append((before is total, total.kind, n.kind))
        return before, total, n

    before, total, n = lamina.defn(run)(np.arange(3.0), 4)
    assert (before, total, n) == (3, 4, 8) and type(n) is int
    assert seen == [(False, Kind.SCALAR, Kind.NUMBER)]


def test_arguments_are_written():
    def add(x):
        x += 1
        return x

    def put(x):
        x[0] = 5
        return x

    for function, expected in ((add, [2, 3]), (put, [5, 2])):
        for given in (np.array([1.0, 2.0]), asarray([1.0, 2.0])):
            assert lamina.defn(function, strict=True)(given) is given
            assert given.tolist() == expected


def test_what_is_traced_is_not_written_into_an_array_from_outside():
    """The trace can't remember it; undecorated, the function writes it."""
    held = asarray([1.0, 2.0])

    def put(x):
        held[0] = x[0]
        return x

    def add(x):
        nonlocal held
        held += x
        return x

    def ufunc(x):
        return np.add(x, 1, out=held)

    for function, expected in ((put, [3, 2]), (add, [4, 6]), (ufunc, [4, 5])):
        held = asarray([1.0, 2.0])
        with pytest.raises((NotImplementedError, TraceError), match=r"from outside|no argument of the traced function"):
            lamina.defn(function, strict=True)(np.array([3.0, 4.0]))
        assert held.tolist() == [1, 2]
        with pytest.warns(LaminaWarning, match="runs as plain Python"):
            lamina.defn(function)(np.array([3.0, 4.0]))
        assert held.tolist() == expected


def test_the_array_is_there_without_the_functions(monkeypatch):
    """Writing needs nothing of the rooms below."""
    for name in list(FUNCTIONS):
        monkeypatch.delitem(FUNCTIONS, name)
    array = from_numpy(np.zeros(3, ml_dtypes.bfloat16))
    array[1] = 2.5
    assert array.tolist() == [0, 2.5, 0]
