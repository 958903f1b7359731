"""DLPack, NumPy's `__array__`, and pickles: what is shared, what is copied, what is refused, what stays read-only."""

import ctypes
import gc
import pickle
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

import lamina.dtype as ld
from lamina.array import Array, asarray, copied, from_dlpack, to_numpy
from lamina.dlpack import _DLTensor, _Versioned, tensor_in
from lamina.dtype import DTYPES
from lamina.layout import Layout

WHOLE = [d for d in DTYPES.values() if not d.is_packed]
PLAIN = [d for d in WHOLE if d.numpy.isbuiltin == 1]

CODES = {"signed": 0, "unsigned": 1, "float": 2, "complex": 5, "bool": 6}


def capsule_name(capsule):
    return str(capsule).split('"')[1]


def read_only(values):
    view = values.view()
    view.flags.writeable = False
    return view


class Producer:
    """A DLPack producer with a NumPy array's memory, from before version 1 unless it takes keywords."""

    def __init__(self, values, *, versioned=False, device=(1, 0)):
        self.values, self.versioned, self.device, self.asked = values, versioned, device, []

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if not self.versioned and set(asked) - {"stream"}:
            raise TypeError(f"unexpected keywords {asked}")
        return self.values.__dlpack__(**asked)

    def __dlpack_device__(self):
        return self.device


# NumPy's __array__


def test_array_with_dtype_and_copy():
    o = asarray(np.arange(12.0).reshape(3, 4))
    inside = to_numpy(o)
    turned = asarray(inside.T)
    assert np.shares_memory(np.asarray(o), inside)
    assert np.shares_memory(np.asarray(o, copy=False), inside)
    assert not np.shares_memory(np.array(o, copy=True), inside)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(o, dtype="f4", copy=False)
    strided = np.asarray(turned, copy=False)
    assert np.shares_memory(strided, inside) and np.array_equal(strided, inside.T)
    assert np.asarray(o, dtype="f4").dtype == "f4" and np.asarray(o, dtype=ld.int8).dtype == "i1"
    # The same of the method itself, which NumPy asks only where it has no interface to read.
    assert np.shares_memory(o.__array__(), inside) and np.shares_memory(o.__array__(copy=False), inside)
    assert not np.shares_memory(o.__array__(copy=True), inside)
    assert o.__array__(np.float32).dtype == "f4" and o.__array__() is not inside
    with pytest.raises(ValueError, match="copy"):
        o.__array__(np.float32, copy=False)


def test_array_of_bfloat16_and_int4():
    source = np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3)
    o = asarray(source)
    assert np.shares_memory(np.asarray(o, copy=False), source) and np.asarray(o).dtype == source.dtype
    assert not np.shares_memory(np.array(o), source)
    packed = asarray([1, -2], "int4")
    assert np.asarray(packed).dtype == ml_dtypes.int4 and np.asarray(packed, "i8").tolist() == [1, -2]
    for array in (o, packed):
        assert not hasattr(array, "__array_interface__")
        with pytest.raises(BufferError, match=r"the bytes are in array\.buffer"):
            array.__buffer__(0)


@pytest.mark.parametrize("dtype", PLAIN, ids=str)
def test_array_interface_and_buffer_are_numpys(dtype):
    source = np.zeros((3, 4), dtype.numpy)[::-1, ::2]
    for values in (source, read_only(source)):
        array = asarray(values)
        mine, theirs = array.__array_interface__, values.__array_interface__
        assert {k: mine[k] for k in theirs} == theirs
        view = array.__buffer__(0)
        assert (view.format, view.shape, view.strides, view.readonly) == (
            memoryview(values).format,
            (3, 2),
            values.strides,
            not values.flags.writeable,
        )
        if sys.version_info >= (3, 12):
            assert memoryview(array).strides == values.strides


def test_a_read_only_source_never_becomes_writable():
    source = read_only(np.arange(6.0))
    array = asarray(source)
    ways = [
        np.asarray(array),
        array.to_numpy(),
        np.array(array, copy=None),
        np.from_dlpack(array),
        np.frombuffer(array.buffer),
    ]
    ways += [np.asarray(from_dlpack(array)), np.asarray(Array(array.buffer, "f8", array.layout)), array.__array__()]
    ways += [np.asarray(asarray(array, copy=False)), np.asarray(from_dlpack(source)), np.asarray(array.__buffer__(0))]
    for way in ways:
        assert np.shares_memory(way, source) and not way.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            way[0] = 1
    assert Array(b"12345678", "f8", Layout((), ())).buffer.readonly


# DLPack out


def test_dlpack_versions_and_read_only():
    a = asarray(read_only(np.arange(3.0)))
    with pytest.raises(BufferError, match="readonly"):
        a.__dlpack__()
    with pytest.raises(BufferError, match="readonly"):
        a.__dlpack__(max_version=(0, 8))
    capsule = a.__dlpack__(max_version=(1, 0))
    assert capsule_name(capsule) == "dltensor_versioned"
    assert not np.from_dlpack(a).flags.writeable
    b = asarray(np.arange(3.0))
    assert capsule_name(b.__dlpack__()) == "dltensor"
    assert capsule_name(b.__dlpack__(max_version=(2, 3))) == "dltensor_versioned"
    assert np.from_dlpack(b).flags.writeable
    assert b.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        b.__dlpack__(dl_device=(2, 0))


@pytest.mark.parametrize("dtype", PLAIN, ids=str)
def test_numpy_reads_what_dlpack_says(dtype):
    source = np.arange(12).reshape(3, 4).astype(dtype.numpy)
    for values in (
        source,
        source[::-1, ::2],
        source.T,
        source[:, :0],
        source[1, 2, ...],
        np.broadcast_to(source, (2, 3, 4)),
    ):
        out = np.from_dlpack(asarray(values))
        np.testing.assert_array_equal(out, values)
        assert np.shares_memory(out, source) or not values.size
        assert out.flags.writeable == values.flags.writeable
        capsule = asarray(values).__dlpack__(max_version=(1, 0))
        tensor = tensor_in(capsule)
        assert (tensor.code, tensor.bits, tensor.lanes) == (CODES[dtype.kind], dtype.bits, 1)
    shared = np.from_dlpack(asarray(source))
    shared[0, 0] = 1
    assert source[0, 0] == 1
    fresh = np.from_dlpack(asarray(source), copy=True)
    assert not np.shares_memory(fresh, source) and np.array_equal(fresh, source)
    assert np.shares_memory(np.from_dlpack(asarray(source), copy=False), source)


def test_dlpack_refuses_what_others_would_misread():
    with pytest.raises(BufferError, match=r"no packed int4 .* export x.astype\(lamina.int8\)"):
        asarray([1, 2], "int4").__dlpack__(max_version=(1, 0))
    assert asarray([1, 2], "int4").__dlpack_device__() == (1, 0)


def test_dlpack_of_odd_strides():
    v = np.zeros((2, 7), "f4")[:, :6].view("c8")
    v[:] = [[1, 2j, 3], [4, 5j, 6]]
    with pytest.raises(BufferError, match="multiple of itemsize"):
        from_dlpack(v)
    assert np.array_equal(np.from_dlpack(asarray(v)), v)
    one = np.lib.stride_tricks.as_strided(np.arange(600.0), (10, 5, 1), (8, 80, 4))
    for out in (np.from_dlpack(asarray(one)), np.asarray(from_dlpack(one))):
        assert np.shares_memory(out, one) and np.array_equal(out, one)


# DLPack in


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", WHOLE, ids=str)
def test_dlpack_comes_in_without_a_copy(dtype, versioned):
    source = np.arange(12).reshape(3, 4).astype(dtype.numpy)
    for values in (source, source[::-1, ::2], source.T, source[:, :0], source[1, 2, ...]):
        if dtype is ld.bfloat16:
            array = from_dlpack(asarray(values) if versioned else Producer(asarray(values)))
        else:
            array = from_dlpack(Producer(values, versioned=versioned))
        assert array.dtype is dtype and array.shape == values.shape
        np.testing.assert_array_equal(np.asarray(array), values)
        assert np.shares_memory(np.asarray(array), source) or not values.size


def test_dlpack_in_with_negative_strides():
    a = np.arange(12.0).reshape(3, 4)[:, ::-1]
    array = from_dlpack(a)
    assert np.array_equal(np.asarray(array), a) and np.shares_memory(np.asarray(array), a)
    assert array.layout.strides == (4, -1) and array.layout.offset == 3


def test_dlpack_in_keeps_writable_and_read_only():
    source = np.arange(3.0)
    out = np.asarray(from_dlpack(source))
    out[1] = 7
    assert source[1] == 7
    assert not np.asarray(from_dlpack(read_only(source))).flags.writeable
    assert not np.asarray(from_dlpack(asarray(read_only(source)))).flags.writeable


def test_dlpack_falls_back_to_old_producers():
    old = Producer(np.arange(3.0))
    array = from_dlpack(old)
    assert np.shares_memory(np.asarray(array), old.values)
    assert old.asked == [{"max_version": (1, 0)}, {}]
    fresh = from_dlpack(old, copy=True)
    assert not np.shares_memory(np.asarray(fresh), old.values) and fresh.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({}, {}),
        ({"copy": True}, {"copy": True}),
        ({"copy": False}, {"copy": False}),
        ({"device": "cpu"}, {"dl_device": (1, 0)}),
    ],
)
def test_dlpack_hands_its_options_on(options, asked):
    producer = Producer(np.arange(3.0), versioned=True)
    array = from_dlpack(producer, **options)
    assert producer.asked == [{"max_version": (1, 0), **asked}]
    assert np.shares_memory(np.asarray(array), producer.values) == (options.get("copy") is not True)


def test_dlpack_of_other_devices():
    far = Producer(np.arange(3.0), versioned=True, device=(2, 0))
    with pytest.raises(BufferError, match=r'device \(2, 0\), not on the CPU; .*device="cpu"'):
        from_dlpack(far)
    assert far.asked == [] and from_dlpack(far, device="cpu").tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="'cuda'"):
        from_dlpack(far, device="cuda")
    for thing in (3, [1], object()):
        with pytest.raises(TypeError, match="__dlpack__"):
            from_dlpack(thing)


def test_bool_through_dlpack():
    array = from_dlpack(np.array([True, False, True]))
    assert array.dtype is ld.bool and array.tolist() == [True, False, True]
    tensor = tensor_in(array.__dlpack__())
    assert (tensor.code, tensor.bits) == (6, 8)


@pytest.mark.parametrize(
    ("code", "bits", "lanes", "words"),
    [
        (1, 1, 1, "uint 1 bits wide in 1 lanes"),
        (0, 4, 1, "int 4 bits"),
        (6, 1, 1, "bool 1 bits"),
        (6, 16, 1, "bool 16 bits"),
        (2, 128, 1, "float 128 bits"),
        (2, 32, 4, "float 32 bits wide in 4 lanes"),
        (3, 64, 1, "code 3 of 64 bits"),
        (200, 8, 1, "code 200 of 8 bits"),
    ],
)
@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_refuses_dtypes_by_name(code, bits, lanes, words, versioned):
    values = np.zeros(16, np.uint8)

    class Odd:
        def __dlpack__(self, max_version=None):
            capsule = values.__dlpack__(max_version=max_version if versioned else None)
            tensor = tensor_in(capsule)
            tensor.code, tensor.bits, tensor.lanes = code, bits, lanes
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    held = sys.getrefcount(values)
    with pytest.raises(BufferError, match=words):
        from_dlpack(Odd())
    gc.collect()
    assert sys.getrefcount(values) == held  # the refused capsule let go of it


def test_dlpack_refuses_used_capsules():
    class Twice:
        capsule = np.zeros(3).__dlpack__(max_version=(1, 0))

        def __dlpack__(self, **_):
            return self.capsule

        def __dlpack_device__(self):
            return (1, 0)

    assert from_dlpack(Twice()).tolist() == [0, 0, 0]
    with pytest.raises(BufferError, match="unused DLPack capsule"):
        from_dlpack(Twice())


def test_bfloat16_through_dlpack():
    source = np.array([1.5, -2, 3]).astype(ml_dtypes.bfloat16)
    capsule = asarray(source).__dlpack__(max_version=(1, 0))
    tensor = tensor_in(capsule)
    assert (tensor.code, tensor.bits, tensor.lanes) == (4, 16, 1)
    assert ctypes.string_at(tensor.data, 6) == source.tobytes()
    array = from_dlpack(asarray(source))
    assert array.dtype is ld.bfloat16 and np.shares_memory(np.asarray(array), source)
    with pytest.raises(BufferError, match="readonly"):
        asarray(read_only(source)).__dlpack__()
    assert not np.asarray(from_dlpack(asarray(read_only(source)))).flags.writeable


def test_dlpacks_structures_have_dlpacks_sizes():
    pointer = ctypes.sizeof(ctypes.c_void_p)
    assert (_DLTensor.ndim.offset, _DLTensor.code.offset, _DLTensor.lanes.offset) == (
        pointer + 8,
        pointer + 12,
        pointer + 14,
    )
    assert (_Versioned.flags.offset, _Versioned.tensor.offset) == (8 + 2 * pointer, 16 + 2 * pointer)


def test_empty_arrays_through_dlpack():
    source = np.zeros((1, 8, 0, 128))
    assert np.from_dlpack(asarray(source)).shape == from_dlpack(source).shape == (1, 8, 0, 128)


class Memory(bytearray):
    """Memory that a weak reference can watch."""


def test_dlpack_keeps_memory_alive_both_ways():
    memory = Memory(np.arange(8.0).tobytes())
    watch = weakref.ref(memory)
    out = np.from_dlpack(from_dlpack(np.frombuffer(memory)))
    del memory
    gc.collect()
    assert watch() is not None and out.tolist() == list(range(8))
    del out
    gc.collect()
    assert watch() is None


# Pickles

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def pickled(array, protocol):
    return pickle.loads(pickle.dumps(array, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickles_of_views(protocol):
    t = np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)
    b = np.arange(10**6)[::1000]
    r = np.arange(6)[::-1]
    z = np.broadcast_to(np.ones(1), (1000, 1000))
    for values in (t, b, r, z, np.zeros((0, 3)), np.array(3), t[1:, :, ::-2]):
        for given in (values, read_only(values)):
            array = asarray(given)
            back = pickled(array, protocol)
            assert type(back) is Array and back.dtype is array.dtype and back.shape == array.shape
            np.testing.assert_array_equal(np.asarray(back), values)
            assert np.asarray(back).flags.writeable == np.asarray(array).flags.writeable
            assert back.buffer.readonly == array.buffer.readonly
            assert not np.shares_memory(np.asarray(back), values)
    assert len(pickle.dumps(asarray(b), protocol)) < (9_000 if protocol > 2 else 15_000)
    assert len(pickle.dumps(asarray(z), protocol)) < 500
    assert pickled(asarray(t), protocol).layout == asarray(t).layout
    assert pickled(asarray(r), protocol).layout == Layout((6,), (-1,), 5)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_pickles_of_every_dtype(dtype, protocol, rng):
    data = rng.integers(0, 2 if dtype.kind == "bool" else 128, size=dtype.nbytes(100), dtype=np.uint8).tobytes()
    for layout in (
        Layout((5, 4), (4, 1), 3),
        Layout((5, 4), (-4, 1), 21),
        Layout((3, 2), (30, 7), 1),
        Layout((2, 9), (0, 1), 80),
        Layout((0,), (1,)),
        Layout((), (), 99),
    ):
        for buffer in (data, bytearray(data)):
            array = Array(buffer, dtype, layout)
            back = pickled(array, protocol)
            assert (
                back.dtype is dtype and back.shape == layout.shape and back.buffer.readonly == isinstance(buffer, bytes)
            )
            assert to_numpy(back).tobytes() == to_numpy(array).tobytes()
            assert len(back.buffer) <= dtype.nbytes(layout.numel) + 1


def test_pickles_out_of_band():
    source = np.arange(1000.0)
    for given in (source, read_only(source)):
        buffers = []
        data = pickle.dumps(asarray(given), 5, buffer_callback=buffers.append)
        assert len(data) < 500 and len(buffers) == 1
        back = pickle.loads(data, buffers=buffers)
        assert np.shares_memory(np.asarray(back), source) and back.tolist() == source.tolist()
        assert np.asarray(back).flags.writeable == given.flags.writeable


def test_copies_take_no_more_than_they_need():
    sparse = asarray(np.arange(10**6)[::1000])
    assert len(copied(sparse).buffer) == 8000 and copied(sparse).tolist() == sparse.tolist()
