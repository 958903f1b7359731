"""Creation against NumPy, bit for bit, eager and traced."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import NUMPY_DTYPES, error_class, is_same, quiet

SHAPES = [(), (3,), (2, 3), (0,), (2, 0, 3), 4, [2, 2], (np.int64(2), 1), np.array([2, 3]), range(1, 3)]


def check(ours, theirs, *args, **kwargs):
    """Both of the same arguments: eager, and traced, where they are constants of the trace."""
    expected = outcome(theirs, *args, **kwargs)
    for call in (lambda: ours(*args, **kwargs), lambda: lamina.defn(lambda: ours(*args, **kwargs))()):
        if isinstance(expected, type):
            with pytest.raises(expected):
                call()
        else:
            same(quiet(call), expected, f"{ours.__name__}{args}{kwargs}")


def outcome(call, *args, **kwargs):
    try:
        return quiet(call, *args, **kwargs)
    except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError) as error:
        return error_class(error)


def same(actual, expected, what=""):
    if isinstance(expected, (tuple, list)):
        assert isinstance(actual, tuple) and len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            same(one, other, what)
        return
    assert isinstance(actual, (np.ndarray, lamina.Array)) or not isinstance(expected, np.ndarray), what
    is_same(actual, expected, what)


# Of one value


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_shapes_and_dtypes(name):
    ours, theirs = getattr(lamina, name), getattr(np, "zeros" if name == "empty" else name)
    for shape in SHAPES:
        check(ours, theirs, shape)
    for dtype in [*NUMPY_DTYPES, bool, int, float, complex, ml_dtypes.bfloat16, ml_dtypes.int4]:
        check(ours, theirs, (2, 3), dtype=dtype)
    assert ours(2, dtype=lamina.uint4).dtype == lamina.uint4


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like(name):
    ours, theirs = getattr(lamina, name), getattr(np, "zeros_like" if name == "empty_like" else name)
    for x in [np.ones((2, 3), np.float32)[:, ::-1], np.array(True), 3, [1.5, 2], np.int8(4), np.zeros((0, 2))]:
        check(ours, theirs, x)
        check(ours, theirs, x, dtype="int16")
        check(ours, theirs, x, shape=(2,))
    traced = lamina.defn(lambda x: ours(x))(np.ones((2, 2), np.int8))
    is_same(traced, theirs(np.ones((2, 2), np.int8)))


@pytest.mark.parametrize(
    "value", [True, 3, 2.5, 1j, -1, 2**62, np.float32(0.1), np.array(4), [1, 2, 3], [[1.5], [2]], 300, math.nan, [1, 2]]
)
def test_full(value):
    for dtype in [None, *NUMPY_DTYPES]:
        kinds = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
        if dtype and kinds[np.asarray(value).dtype.kind] > kinds[np.dtype(dtype).kind] >= 1:
            continue  # saturation where NumPy asks the processor, and a TypeError or a discarded part in its place
        check(lamina.full, np.full, (2, 3), value, dtype=dtype)
        check(lamina.full_like, np.full_like, np.zeros((2, 3), np.int16), value, dtype=dtype)


def test_full_of_a_traced_value():
    full = lamina.defn(lambda x, n: (lamina.full((2, 2), n), lamina.full(3, x.sum()), lamina.full((2, 2), x)))
    one, two, three = full(np.array([1.5, 2]), 7)
    is_same(one, np.full((2, 2), 7))
    is_same(two, np.full(3, 3.5))
    is_same(three, np.full((2, 2), [1.5, 2]))
    small = lamina.defn(lambda n: lamina.full(2, n, dtype="int8"))
    is_same(small(5), np.full(2, 5, np.int8))
    with pytest.raises(OverflowError, match="int8"):
        small(300)


def test_results_are_memory_of_their_own():
    made = lamina.defn(lambda: (lamina.zeros(3), lamina.zeros(3), lamina.arange(3)))
    first, second, third = made()
    first[0], third[0] = 7, 8
    assert second.tolist() == [0, 0, 0]
    assert [x.tolist() for x in made()] == [[0, 0, 0], [0, 0, 0], [0, 1, 2]]


@pytest.mark.parametrize("create", [lamina.zeros, lamina.ones, lamina.empty, lambda shape: lamina.full(shape, 1)])
def test_shapes_that_no_array_has(create):
    for shape, message in [((2, -1), "never negative"), ((1,) * 33, "33 axes"), ((2**53, 2), "2\\*\\*53")]:
        with pytest.raises(ValueError, match=message):
            create(shape)
    for shape in [1.5, (2, 2.0), "2", None, {2}, True, (2, True)]:
        with pytest.raises(TypeError):
            create(shape)


def test_a_length_that_is_traced_is_asked_for():
    traces = []

    @lamina.defn
    def made(n):
        traces.append(n)
        return lamina.zeros((n, 2)), lamina.arange(n), lamina.linspace(0, 1, n), lamina.eye(n)

    for n in (2, 3, 2):
        for result, expected in zip(
            made(n), (np.zeros((n, 2)), np.arange(n), np.linspace(0, 1, n), np.eye(n)), strict=True
        ):
            is_same(result, expected)
    assert [n for n in traces if type(n) is int] == [2, 3]  # one graph for each length


def test_only_the_cpu():
    shapes = {lamina.zeros: (3,), lamina.arange: (3,), lamina.eye: (3, 3), lamina.asarray: ()}
    for create, shape in shapes.items():
        assert create(3, device="cpu").shape == shape
        with pytest.raises(ValueError, match="device"):
            create(3, device="gpu")


# Ranges


NUMBERS = [0, 1, 3, -2, 7, 0.5, -0.0, 0.1, 2.5, 1e300, 5e-324]


def test_arange_is_numpys_bit_for_bit():
    for start, stop, step in itertools.product(NUMBERS, NUMBERS, [1, 2, -1, 0.1, -0.3, 5e-324]):
        if abs(stop - start) < 1e3 * abs(step):
            is_same(lamina.arange(start, stop, step), quiet(np.arange, start, stop, step), f"{start, stop, step}")
    for stop in [0, 5, 3.5, -1, True, np.float32(4), np.int8(4), np.array(3)]:
        check(lamina.arange, np.arange, stop)


@pytest.mark.parametrize("dtype", [*NUMPY_DTYPES, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_arange_of_every_dtype(dtype):
    for args in [(2,), (7,), (1, 7, 2), (5, 0, -1), (0,), (0.5, 6, 1.25)]:
        check(lamina.arange, np.arange, *args, dtype=dtype)
    if dtype not in ("bool", ml_dtypes.int4):
        check(lamina.arange, np.arange, -3, 4, 2, dtype=dtype)
    if dtype in ("float16", "float32", ml_dtypes.bfloat16):
        check(lamina.arange, np.arange, 0.1, 30.0, 0.1, dtype=dtype)
    if dtype == "uint8":
        check(lamina.arange, np.arange, 250, 255, dtype=dtype)
        check(lamina.arange, np.arange, 300, dtype=dtype)


def test_arange_refuses():
    for args in [(0, 3, 0), (0, 0, 0), (0, math.inf), (0, math.nan), ("a",), ([1, 2],)]:
        check(lamina.arange, np.arange, *args)
    check(lamina.arange, np.arange, 300, 310, dtype="int8")
    with pytest.raises(ValueError, match="2\\*\\*53"):
        lamina.arange(2**60)
    with pytest.raises(lamina.errors.ConcretizationError):
        lamina.defn(lambda x: lamina.arange(x.sum()), strict=True)(np.ones(3))


def test_arange_in_a_graph_is_an_iota():
    assert "iota(1000000, float64)" in str(lamina.trace(lambda: lamina.arange(0.0, 1e6)))


def test_linspace_is_numpys_bit_for_bit():
    for start, stop, num, endpoint in itertools.product(NUMBERS, NUMBERS, [0, 1, 2, 5, 50], [True, False]):
        check_linspace(start, stop, num, endpoint=endpoint)
    for dtype in [*NUMPY_DTYPES, None]:
        check_linspace(-3, 7.5, 6, dtype=dtype) if dtype != "bool" and "uint" not in str(dtype) else None
        check_linspace(0, 10, 7, dtype=dtype)


def check_linspace(*args, **kwargs):
    is_same(lamina.linspace(*args, **kwargs), quiet(np.linspace, *args, **kwargs), f"{args} {kwargs}")


def test_linspace_of_arrays():
    low, high = np.array([0.1, 5e-324]), np.array([[1.0, 0], [3, 7]])
    for dtype, num, axis in itertools.product(["float16", "float32", "float64", "int16"], [1, 4], [0, 1, -1, -2]):
        check(lamina.linspace, np.linspace, low.astype(dtype), high.astype(dtype), num, axis=axis)
    check(lamina.linspace, np.linspace, low, np.float32(3), 5, axis=3)
    check(lamina.linspace, np.linspace, np.complex64(1j), 3, 5)
    check(lamina.linspace, np.linspace, np.float32(0), 1, 3)
    check(lamina.linspace, np.linspace, 0, 1, -1)
    check(lamina.linspace, np.linspace, 0, 1, 2.0)
    check(lamina.linspace, np.linspace, 0, 1, 4, retstep=True)
    check(lamina.linspace, np.linspace, 0, 1, 1, retstep=True)


def test_linspace_of_traced_ends():
    ends = lamina.defn(lambda a, b, x: (lamina.linspace(a, b, 7), lamina.linspace(x[0], x, 4, endpoint=False)))
    for a, b in [(0, 1), (0.1, -7), (0, 5e-324), (3, 3)]:
        x = np.array([a, b, 2.5])
        one, two = ends(a, b, x)
        is_same(one, np.linspace(a, b, 7))
        is_same(two, np.linspace(x[0], x, 4, endpoint=False))


def test_logspace():
    check(lamina.logspace, np.logspace, 0, 3, 7)
    check(lamina.logspace, np.logspace, -1, 2.5, 5, base=2, endpoint=False)
    check(lamina.logspace, np.logspace, 0, 2, 3, dtype="int32")


# Of where the element is


def test_eye():
    for rows, cols, k in itertools.product(range(4), [None, 0, 2, 5], [-5, -1, 0, 1, 3, 2**70, -(2**70)]):
        is_same(lamina.eye(rows, cols, k=k), np.eye(rows, cols, k=k if abs(k) < 9 else 9 if k > 0 else -9))
    for dtype in NUMPY_DTYPES:
        check(lamina.eye, np.eye, 3, 4, k=1, dtype=dtype)
    for create in (lamina.eye, lamina.tri, lambda n, k: lamina.tril(np.ones((n, n)), k=k)):
        with pytest.raises(TypeError):
            create(3, k=1.5)  # np.tri rounds both ends of a range, and gives no triangle
    check(lamina.identity, np.identity, 3)
    check(lamina.identity, np.identity, 2, dtype="int8")
    with pytest.raises(ValueError, match="never negative"):
        lamina.eye(-1)


def test_tri_tril_triu():
    for k in [-4, -1, 0, 1, 4, np.int8(2), 100]:
        check(lamina.tri, np.tri, 3, 4, k=k)
        for shape in [(3, 3), (2, 4), (4, 2), (2, 2, 3), (0, 3), (3, 0), (3,)]:
            x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)[..., ::-1]
            check(lamina.tril, np.tril, x, k=k)
            check(lamina.triu, np.triu, x, k=k)
    check(lamina.tri, np.tri, 3, dtype=bool)
    for dtype in NUMPY_DTYPES:
        check(lamina.tril, np.tril, np.ones((3, 3), dtype))
    for x in [5, np.float64(3)]:
        check(lamina.tril, np.tril, x)
        check(lamina.triu, np.triu, x)
    traced = lamina.defn(lambda x, k: (lamina.tril(x, k=k), lamina.triu(x, k=k)))
    x = np.arange(12).reshape(3, 4)
    for k in range(-4, 5):
        is_same(traced(x, k)[0], np.tril(x, k))
        is_same(traced(x, k)[1], np.triu(x, k))


def test_meshgrid():
    x, y, z = np.arange(3), np.array([1.5, 2.5]), np.float32([[1], [2]])
    for arrays, indexing, sparse, copy in itertools.product(
        [(), (x,), (x, y), (x, y, z), (x, 5), ([], x)], ["xy", "ij"], [False, True], [True, False]
    ):
        check(lamina.meshgrid, np.meshgrid, *arrays, indexing=indexing, sparse=sparse, copy=copy)
        if len(arrays) == 2 and arrays[1] is y:
            result = lamina.defn(lambda x, y, k=(indexing, sparse, copy): grid(x, y, *k))(x, y)
            assert np.shares_memory(result[0], x) == (not copy)
    check(lamina.meshgrid, np.meshgrid, x, indexing="yx")


def grid(x, y, indexing, sparse, copy):
    return lamina.meshgrid(x, y, indexing=indexing, sparse=sparse, copy=copy)


def test_indices():
    for grid, sparse in itertools.product([(), (3,), (2, 3), (2, 0), (2, 3, 4)], [False, True]):
        check(lamina.indices, np.indices, grid, sparse=sparse)
    check(lamina.indices, np.indices, (2, 3), dtype="float32")


# From objects


def test_asarray_of_every_object():
    for obj in [
        5,
        2.5,
        True,
        1j,
        np.float32(3),
        [1, 2],
        [[1.5], [2]],
        (),
        [],
        [True, 2],
        np.arange(4)[::-2],
        range(3),
        2**63,
    ]:
        check(lamina.asarray, np.asarray, obj)
        check(lamina.asarray, np.asarray, obj, dtype="complex64")
    check(lamina.asarray, np.asarray, 300, dtype="int8")
    check(lamina.asarray, np.asarray, [300], dtype="int8")
    check(lamina.asarray, np.asarray, [[1], [2, 3]])
    for obj in ["abc", None, object(), {1: 2}, [object()]]:
        with pytest.raises(TypeError):
            lamina.asarray(obj)


def test_asarray_shares_memory_unless_told_not_to():
    x = np.arange(6.0)[::2]
    for copy, shares in [(None, True), (False, True), (True, False)]:
        assert np.shares_memory(lamina.asarray(x, copy=copy).to_numpy(), x) == shares
        assert np.shares_memory(lamina.defn(lambda x, copy=copy: lamina.asarray(x, copy=copy))(x), x) == shares
    array = lamina.asarray(x)
    assert lamina.asarray(array) is array
    for call in (lamina.asarray, lamina.defn(lambda x, dtype, copy: lamina.asarray(x, dtype=dtype, copy=copy))):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            call(x, dtype="int32", copy=False)
        is_same(call(x, dtype="int32", copy=None), x.astype("int32"))


def test_asarray_of_traced_values():
    x, n = np.array([1.5, 2]), 3
    lists = lamina.defn(
        lambda x, n: (
            lamina.asarray([x[0], n, 7]),
            lamina.asarray([[n, 1], [2, n]]),
            lamina.asarray([x, x * 2], dtype="float32"),
            lamina.asarray(n),
            lamina.asarray(n, dtype="int8"),
            lamina.asarray(x.sum()),
            lamina.asarray([np.float32(1), 1.0, n]),
        )
    )
    expected = (
        np.asarray([1.5, 3, 7]),
        np.asarray([[3, 1], [2, 3]]),
        np.asarray([x, x * 2], dtype="float32"),
        np.asarray(3),
        np.asarray(3, dtype="int8"),
        np.asarray(3.5),
        np.asarray([np.float32(1), 1.0, 3]),
    )
    for result, oracle in zip(lists(x, n), expected, strict=True):
        assert isinstance(result, np.ndarray)
        is_same(result, oracle)
    with pytest.raises(OverflowError, match="int8"):
        lists(x, 300)
    with pytest.raises(ValueError, match="different shapes"):
        lamina.defn(lambda x: lamina.asarray([x, x[0]]))(x)
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        lamina.defn(lambda x: lamina.asarray([x, x], copy=False))(x)


def test_from_dlpack():
    x = np.arange(6.0).reshape(2, 3)[:, ::-1]
    assert np.shares_memory(lamina.from_dlpack(x).to_numpy(), x)
    assert not np.shares_memory(lamina.from_dlpack(x, copy=True).to_numpy(), x)
    is_same(lamina.from_dlpack(lamina.asarray(x)), x)
    empty = lamina.zeros((1, 8, 0, 128))
    assert lamina.from_dlpack(empty).shape == np.from_dlpack(empty).shape == (1, 8, 0, 128)
    with pytest.raises(TypeError, match="__dlpack__"):
        lamina.from_dlpack([1, 2])
