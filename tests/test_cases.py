"""Faults that people met elsewhere, each a small input with its right value; the ids are the cases' numbers.

Layouts (L), traced functions (T), compiling (C) and conversions (V), short; what they are about is tested at length
where it lives. Cases of gradients and vmap wait for those.
"""

import functools
import gc
import pickle
import warnings

import numpy as np
import pytest

import lamina
from lamina.errors import EscapedValueError
from lamina.layout import Layout
from lamina.layout.move import Broadcast, Range, Slice, Window, WindowSpec

NAN, INF = np.nan, np.inf


def both(function, *arrays):
    """The result of a compiled function; calling it on lamina arrays outside a trace gives the same."""
    result = lamina.defn(function)(*arrays)
    eager = function(*(lamina.asarray(x) if isinstance(x, np.ndarray) else x for x in arrays))
    for a, b in zip(*(lamina.expr.containers.leaves_of(each) for each in (result, eager)), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert np.asarray(a).dtype == np.asarray(b).dtype
    return result


def case(number: str):
    """A test of one case."""
    return pytest.mark.parametrize("case", [number], ids=[number])


# Layouts, views, sub-byte items


@case("L01")
def test_windows_with_a_step_and_a_dilation(case) -> None:
    layout = Layout.contiguous((3, 4)).move(Window([WindowSpec(1, 2, 1, 2)]))
    assert (layout.shape, layout.strides) == ((3, 2, 2), (4, 1, 2))
    assert layout.positions().tolist() == [[[0, 2], [1, 3]], [[4, 6], [5, 7]], [[8, 10], [9, 11]]]
    windows = Layout.contiguous((10,)).move(Window([WindowSpec(0, 3, 2, 1)])).positions()
    assert windows.tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]]
    assert Layout.contiguous((3,)).move(Window([WindowSpec(0, 5, 1, 1)])).shape == (0, 5)
    x = np.arange(12).reshape(3, 4)
    result = both(lambda x: lamina.sliding_window_view(x, 2, axis=1, step=1, dilation=2), x)
    assert result.tolist() == layout.positions().tolist()
    assert both(lambda x: lamina.sliding_window_view(x, 3, axis=0, step=2), np.arange(10)).tolist() == windows.tolist()
    with pytest.raises(ValueError, match="window"):
        lamina.sliding_window_view(np.arange(3), 5, axis=0)


@case("L02")
def test_a_negative_step_that_starts_before_the_array(case) -> None:
    assert both(lambda x: x[-5:-5:-2], np.arange(3)).tolist() == []
    assert both(lambda x: x[-11:-7:-2], np.arange(10)).tolist() == []


@case("L05")
def test_a_strided_slice_on_the_first_axis(case) -> None:
    assert both(lambda x: x[0:6:2], np.arange(1, 7)).tolist() == [1, 3, 5]
    assert both(lambda x: x[0:6:2], np.arange(12).reshape(6, 2)).tolist() == [[0, 1], [4, 5], [8, 9]]
    assert Layout.contiguous((6,)).move(Slice([Range(0, 3, 2)])).positions().tolist() == [0, 2, 4]


@case("L07")
def test_a_scalar_op_on_a_column_slice(case) -> None:
    m = np.arange(20).reshape(4, 5)
    assert both(lambda m: m[:, 3:5] * 2, m).tolist() == [[6, 8], [16, 18], [26, 28], [36, 38]]
    assert both(lambda m: m[:, 1::2].T + 1, m).tolist() == [[2, 7, 12, 17], [4, 9, 14, 19]]


@case("L09")
def test_writing_through_a_broadcast_view(case) -> None:
    layout = Layout.contiguous((1, 1)).move(Broadcast((4, 5)))
    assert not layout.is_distinct
    parent = np.ones((1, 1))
    shared = lamina.broadcast_to(lamina.asarray(parent), (4, 5))
    with pytest.raises(ValueError):
        shared += 1
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(shared)[0, 0] = 5
    assert parent.tolist() == [[1.0]]


@case("L11")
def test_reshape_of_a_zero_size_array(case) -> None:
    e = np.empty((0, 3))
    for shape in ((0, -1), (-1, 0)):
        with pytest.raises(ValueError, match=r"lamina\.reshape: .*-1") as raised:
            lamina.defn(lambda e: e.reshape(shape))(e)  # noqa: B023
        assert "newaxis" not in str(raised.value)
    assert both(lambda e: e.reshape(-1, 3), e).shape == (0, 3)
    assert both(lambda e: e.reshape(-1), e).shape == (0,)


@case("L13")
def test_a_zero_size_array_is_contiguous(case) -> None:
    assert Layout.contiguous((1, 8, 0, 128)).is_contiguous
    empty = np.zeros((4, 5, 3))[..., ::-1][0:0, 2:2]
    assert lamina.asarray(empty).layout.is_contiguous
    x = lamina.asarray(np.zeros((1, 8, 0, 128)))
    assert np.from_dlpack(x).shape == lamina.from_dlpack(x).shape == (1, 8, 0, 128)


@case("L21")
def test_int4_keeps_its_sign(case) -> None:
    x = lamina.asarray([-8, -1, 0, 7, 3], dtype=lamina.int4)
    assert np.asarray(lamina.astype(x, lamina.int8)).tolist() == [-8, -1, 0, 7, 3]
    bits = lamina.asarray(np.asarray(lamina.astype(x, lamina.int8)) & 15, dtype=lamina.uint4)
    assert np.asarray(lamina.astype(bits, lamina.int8)).tolist() == [8, 15, 0, 7, 3]
    assert bytes(x.buffer) == bytes(bits.buffer)  # the same bits
    assert lamina.defn(lambda x: lamina.astype(x, lamina.int8))(x).tolist() == [-8, -1, 0, 7, 3]


# Traced functions


@case("T01")
def test_a_loop_body_that_returns_a_captured_value(case) -> None:
    def f(y):
        return lamina.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, y), (0, 0.0))

    assert lamina.defn(f)(7.5) == (3, 7.5)

    def g(x):
        y = np.sin(x) * 2
        return lamina.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, y), (0, 0.0))

    assert lamina.defn(g)(0.5) == (3, np.sin(0.5) * 2)


@case("T03")
def test_a_value_used_by_the_condition_and_by_a_branch_is_computed_once(case) -> None:
    calls: list = []

    def counted(x):
        return lamina.runtime_call(lambda v: calls.append(1) or v, lamina.Spec(x.dtype), x)

    def f(x):
        c = counted(x.sum())
        return lamina.cond(c > 0, lambda: c + 1, lambda: c - 1)

    assert lamina.defn(f)(np.array([1, 2])) == 4 and len(calls) == 1

    def g(x):
        flag, tree = lamina.while_loop(
            lambda c: c[1]["n"] < 3, lambda c: (c[1]["n"] > 0, {"n": counted(c[1]["n"]) + 1}), (np.True_, {"n": x})
        )
        return lamina.cond(flag, lambda: tree["n"] * 10, lambda: tree["n"])

    calls.clear()
    assert lamina.defn(g)(0) == 30 and len(calls) == 3


@case("T05")
def test_a_body_that_returns_a_constant_for_a_carry(case) -> None:
    f = lamina.defn(lambda a, b: lamina.while_loop(lambda c: c[1] < 10, lambda c: (7, c[1] + 1), (a, b)))
    assert f(33, 4) == (7, 10)
    assert f(33, 12) == (33, 12)


@case("T14")
def test_integer_division_and_remainder_follow_python(case) -> None:
    assert both(lambda x: x % 360, np.array([-135])).tolist() == [225]
    a, b = np.array([-7, 7, -7, 7]), np.array([2, 2, -2, -2])
    assert both(lambda a, b: a // b, a, b).tolist() == [-4, 3, 3, -4]
    assert both(lambda a, b: a % b, a, b).tolist() == [1, 1, -1, -1]
    assert lamina.defn(lambda a, b: (a // b, a % b))(110, 55) == (2, 0)
    a = np.arange(-128, 128, dtype=np.int8)[:, None]
    b = np.array([n for n in range(-128, 128) if n], np.int8)
    quotient, rest = lamina.defn(lambda a, b: (a // b, a % b))(a, b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(quotient, a // b)
        np.testing.assert_array_equal(rest, a % b)
    assert quotient[120 + 128, list(b).index(-27)] == -5
    np.testing.assert_array_equal(quotient * b + rest, np.broadcast_to(a, quotient.shape))


@case("T18")
def test_float_to_integer_out_of_range(case) -> None:
    f = lamina.defn(lambda x: x.astype(np.int32))
    assert f(np.array([NAN, 1e20, -1e20, -1.5])).tolist() == [0, 2147483647, -2147483648, -1]
    assert f(np.array([2**31 - 64, 2**31 - 128], np.float32)).tolist() == [2147483647, 2147483520]
    assert both(lambda x: lamina.astype(x, lamina.uint8), np.array([-20, 300.5])).tolist() == [0, 255]


@case("T20")
def test_uint64_keeps_its_digits(case) -> None:
    result = both(lambda x: x + 1, np.array([1400000002000000600], np.uint64))
    assert result.dtype == np.uint64 and result.tolist() == [1400000002000000601]
    assert lamina.result_type(lamina.uint64, lamina.int64) == lamina.float64
    assert both(lambda x, y: x + y, np.ones(1, np.uint64), np.ones(1, np.int64)).dtype == np.float64
    assert lamina.result_type(lamina.uint32, lamina.int32) == lamina.int64


@case("T21")
def test_nan_in_extremes(case) -> None:
    f = lamina.defn(lambda a: (a.max(), a.argmax(), a.min(), a.argmin()))
    np.testing.assert_array_equal(f(np.array([3, NAN, 1, 5])), [NAN, 1, NAN, 1])
    assert np.isnan(both(lambda a: np.maximum(a, NAN), np.array([1.0]))).all()
    for length in range(3, 41):
        for place in range(length):
            a = np.arange(float(length))
            a[place] = NAN
            np.testing.assert_array_equal(f(a), [NAN, place, NAN, place])
    assert both(lambda a: a.argmax(), np.array([2, 7, 7])) == 1


@case("T23")
def test_reductions_of_empty_arrays(case) -> None:
    assert both(lambda a: a.max(-1), np.zeros((0, 2))).shape == (0,)
    assert both(lambda a: a.max(-1), np.zeros((3, 0, 2))).shape == (3, 0)
    for name, axis in (("max", "axes (1,)"), ("argmax", "axis 1")):
        with pytest.raises(ValueError, match=f"lamina.{name}: {axis}".replace("(", r"\(").replace(")", r"\)")):
            lamina.trace(lambda a: getattr(a, name)(-1), lamina.Spec(float, (2, 0)))  # noqa: B023
    a = np.zeros((2, 0))
    for name, expected in (("sum", [0, 0]), ("prod", [1, 1]), ("all", [True, True]), ("any", [False, False])):
        assert both(lambda a: getattr(a, name)(-1), a).tolist() == expected  # noqa: B023


@case("T25")
def test_products_with_zero_are_not_folded(case) -> None:
    x = np.array([1, NAN, INF])
    np.testing.assert_array_equal(both(lambda x: x * 0, x), [0, NAN, NAN])
    np.testing.assert_array_equal(both(lambda x: x - x, x), [0, NAN, NAN])
    x = np.array([NAN, INF, 0.0, 2.0])
    np.testing.assert_array_equal(both(lambda x: x / x, x), [NAN, NAN, NAN, 1])
    np.testing.assert_array_equal(both(lambda x: 0 / x, x), [NAN, 0, NAN, 0])
    np.testing.assert_array_equal(both(lambda x: x * 0.0, np.array([-1.0])).view(np.int64), [np.int64(-(2**63))])


@case("T27")
def test_the_complex_square_root_on_its_branch_cut(case) -> None:
    x = np.array([complex(-1, -0.0), complex(-1, 0.0)])
    result = both(lambda x: np.sqrt(x), x)
    np.testing.assert_array_equal(result, [-1j, 1j])
    assert both(lambda x: abs(x), np.array([complex(INF, 0)])).tolist() == [INF]
    assert both(lambda x: abs(x), np.array([0j])).tolist() == [0.0]


@case("T29")
def test_results_of_earlier_calls_stay_valid(case) -> None:
    f = lamina.defn(lambda x: x + 1)
    results = [f(np.array([i])) for i in range(1, 6)]
    assert np.concatenate(results).tolist() == [2, 3, 4, 5, 6]
    shift = lamina.defn(lambda buffer, new: np.concatenate([buffer[4:], new]))
    buffer = expected = np.zeros(8)
    for n in range(1, 6):
        buffer = shift(buffer, np.full(4, float(n)))
        expected = np.concatenate([expected[4:], np.full(4, float(n))])
        np.testing.assert_array_equal(buffer, expected)
    assert buffer.tolist() == [4, 4, 4, 4, 5, 5, 5, 5]


@case("T31")
def test_dict_order_and_key_types(case) -> None:
    f = lamina.defn(lambda d: np.concatenate(list(d.values())))
    assert f({"b": np.array([0, 1]), "a": np.array([2, 3])}).tolist() == [0, 1, 2, 3]
    assert f({"a": np.array([2, 3]), "b": np.array([0, 1])}).tolist() == [2, 3, 0, 1]
    assert list(lamina.defn(lambda: {"b": 1, "a": 2})()) == ["b", "a"]
    x, z = np.ones(1), np.zeros(2)
    result = lamina.defn(lambda d: d)({1: x, "y": z})
    assert list(result) == [1, "y"] and result[1] is x and result["y"] is z


@case("T34")
def test_two_arguments_that_share_memory_and_one_is_written(case) -> None:
    @lamina.defn(strict=True)
    def f(x, y):
        x *= 2
        return x + y

    assert f(np.ones(4), np.ones(4)).tolist() == [3, 3, 3, 3]
    b = np.ones(8)
    assert f(b[0:4], b[2:6]).tolist() == [4, 4, 3, 3]
    assert b.tolist() == [2, 2, 2, 2, 1, 1, 1, 1]
    a = np.ones(4)
    assert f(a, a).tolist() == [4, 4, 4, 4]


@case("T39")
def test_integer_powers(case) -> None:
    a = np.array([10000, 20000])
    assert both(lambda a: a**a, a).tolist() == [0, 0]
    assert both(lambda a, b: a**b, np.array([2]), np.array([62, 63, 64])).tolist() == [2**62, -(2**63), 0]
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        lamina.defn(lambda a: a**-1)(np.array([2]))
    with pytest.raises(ValueError, match="Integers to negative integer powers are not allowed"):
        lamina.defn(lambda a, b: a**b)(np.array([2]), np.array([-1]))
    assert both(lambda a: a**-1, np.array([2.0])).tolist() == [0.5]


@case("T41")
def test_a_traced_value_that_escapes(case) -> None:
    s = []

    def f(x):
        z = x + 1
        s.append(z)
        return 2 * z

    assert lamina.defn(f)(1) == 4
    with pytest.raises(EscapedValueError, match=r"made in, f: int64\[\] from add at \S+test_cases\.py:\d+, in f"):
        s[0] + 1


@case("T43")
def test_the_dtype_of_where_and_of_branches(case) -> None:
    result = both(lambda p, x: np.where(p, x, 0.5), np.array([True, False]), np.array([1, 2], np.int32))
    assert result.dtype == np.float64 and result.tolist() == [1.0, 0.5]
    one, two = np.ones(1, np.float32), np.ones(1, np.float64)
    assert both(lambda x, y: lamina.where(True, x, y), one, two).dtype == np.float64
    assert both(lambda p, x: lamina.where(p, x, 0.1), np.array([True]), one).dtype == np.float32
    result = lamina.defn(lambda p, x, y: lamina.cond(p, lambda: x, lambda: y))(True, np.int32([1]), np.float32([0.5]))
    assert result.dtype == np.float64 and result.tolist() == [1.0]


# Conversions and pickling


@case("V01")
def test_array_with_dtype_and_copy(case) -> None:
    o = lamina.asarray(np.arange(6, dtype=np.float64).reshape(2, 3).copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shared = np.asarray(o)
        assert np.shares_memory(shared, np.asarray(o, copy=False))
        assert not np.shares_memory(shared, np.array(o, copy=True))
        with pytest.raises(ValueError):
            np.asarray(o, dtype=np.float32, copy=False)
        transposed = np.asarray(o.T, copy=False)
        assert np.shares_memory(shared, transposed) and transposed.strides == (8, 24)


@case("V02")
def test_read_only_arrays_through_dlpack(case) -> None:
    a = np.arange(3.0)
    a.flags.writeable = False
    x = lamina.asarray(a)
    with pytest.raises(BufferError):
        x.__dlpack__()
    capsule = x.__dlpack__(max_version=(1, 0))
    assert "dltensor_versioned" in repr(capsule)
    back = np.from_dlpack(x)
    assert not back.flags.writeable and back.tolist() == [0, 1, 2]

    class Old:
        def __init__(self, array) -> None:
            self.array = array

        def __dlpack__(self, stream=None):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    writable = np.arange(3.0)
    assert np.asarray(lamina.from_dlpack(Old(writable))).tolist() == [0, 1, 2]
    np.asarray(lamina.from_dlpack(writable))[0] = 5
    assert writable[0] == 5


@case("V03")
def test_negative_strides_through_dlpack(case) -> None:
    a = np.arange(12.0).reshape(3, 4)[:, ::-1]
    for x in (lamina.from_dlpack(a), lamina.asarray(memoryview(a))):
        assert np.asarray(x).tolist() == a.tolist()
        assert np.shares_memory(np.asarray(x), a) and x.layout.strides == (4, -1)


@case("V05")
def test_strides_that_are_no_multiple_of_the_item_size(case) -> None:
    v = np.zeros((2, 7), np.float32)[:, :6].view(np.complex64)
    assert v.strides == (28, 8)
    x = lamina.asarray(v)  # a layout can't say it: a copy, and right
    assert np.asarray(x).tolist() == v.tolist() and not np.shares_memory(np.asarray(x), v)
    with pytest.raises(BufferError):
        v.__dlpack__()
    odd = np.lib.stride_tricks.as_strided(np.arange(50.0), (10, 5, 1), (8, 80, 4))
    x = lamina.asarray(odd)
    assert np.shares_memory(np.asarray(x), odd) and np.asarray(x).tolist() == odd.tolist()


@case("V06")
def test_bool_through_dlpack(case) -> None:
    x = lamina.from_dlpack(np.array([True, False, True]))
    assert x.dtype == lamina.bool and x.tolist() == [True, False, True]
    back = np.from_dlpack(x)
    assert back.dtype == np.bool_ and back.tolist() == [True, False, True]


@case("V07")
def test_pickling_views(case) -> None:
    t = np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)
    b = np.arange(10**6)[::1000]
    r = np.arange(6)[::-1]
    z = np.broadcast_to(np.ones(1), (1000, 1000))
    for array in (t, b, r, z):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            back = pickle.loads(pickle.dumps(lamina.asarray(array), protocol))
            np.testing.assert_array_equal(np.asarray(back), array)
            assert back.shape == array.shape
    assert len(pickle.dumps(lamina.asarray(b))) < 10_000
    assert not np.asarray(pickle.loads(pickle.dumps(lamina.asarray(z)))).flags.writeable


# Compiling and caching, as far as it is there


@case("C04")
def test_globals_and_cells_that_change(case) -> None:
    k = 2
    f = lamina.defn(lambda x: x * k)
    assert f(3) == 6
    k = 5
    assert f(3) == 15

    def make(op):
        return lamina.defn(lambda a, b: op(a, b))

    assert (make(np.add)(6, 3), make(np.multiply)(6, 3)) == (9, 18)


@case("C05")
def test_static_arguments_that_compare_equal(case) -> None:
    f = lamina.defn(lambda k: k)
    for value in (1, True, 1.0, -1, -2, 0.0, -0.0, NAN, NAN):
        result = f(value)
        assert type(result) is type(value) and repr(result) == repr(value)


@case("C07")
def test_a_functions_identity_is_not_its_address(case) -> None:
    for i in range(200):
        f = lamina.defn(lambda x, i=i: x + i, compiler="evaluator")
        assert f(0) == i
        del f
    gc.collect()


@case("C10")
def test_very_deep_and_wide_graphs(case) -> None:
    def deep(x):
        return functools.reduce(lambda x, _: x + 1, range(20_000), x)  # a fold, which isn't staged as a loop is

    assert lamina.defn(deep)(np.float64(0)) == 20_000
    graph = lamina.trace(deep, np.float64(0))
    assert pickle.loads(pickle.dumps(graph)) == graph and len(str(graph).splitlines()) == 20_002
    assert lamina.defn(lambda *xs: np.stack(xs))(*[np.ones(2)] * 6131).shape == (6131, 2)
    assert lamina.defn(lambda x: sum([x] * 1000))(np.arange(3.0)).tolist() == [0, 1000, 2000]


@case("C12")
def test_shared_nodes_are_not_walked_once_per_path(case) -> None:
    def halves(a, b):
        for _ in range(40):
            a, b = 0.5 * (a + b), 0.5 * (a - b)
        return a, b

    assert lamina.defn(halves)(np.float64(3), np.float64(1)) == (2.86102294921875e-06, 2.0**-20)
    assert len(str(lamina.trace(halves, np.float64(3), np.float64(1))).splitlines()) < 400

    def doubled(x):
        for _ in range(60):
            x = x + x
        return x

    assert lamina.defn(doubled)(np.int64(1)) == 2**60


@case("C15")
def test_python_numbers_as_arguments(case) -> None:
    traces: list = []

    def f(p, a, b):
        traces.append(1)
        return p * (a * b)

    compiled, p = lamina.defn(f), np.array([1, 2])
    for n in range(1, 51):
        np.testing.assert_array_equal(compiled(p, n / 100, 1.0), p * (n / 100 * 1.0))
    assert len(traces) == 1
    assert compiled(p, 2, 1.0).tolist() == [2.0, 4.0] and compiled(p, True, 1.0).tolist() == [1.0, 2.0]
    assert len(traces) == 3
