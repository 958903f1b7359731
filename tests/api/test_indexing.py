"""Indexing against NumPy: every short key, random keys, traced indices, what is a view, and the functional update."""

import itertools
import re

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.errors import DataDependentShapeError
from tests.api.oracle import error_class, is_same, is_scalar, quiet, sample

SHAPES = [(), (3,), (0,), (2, 3), (3, 0), (4, 2, 3), (2, 0, 3), (2, 3, 1, 4)]


def is_basic(key):
    parts = key if isinstance(key, tuple) else (key,)
    return all(part is None or part is Ellipsis or type(part) in (int, slice) for part in parts)


def outcome(call):
    """What a call returns, or the class of the error that it raises."""
    try:
        return quiet(call)
    except (IndexError, ValueError, TypeError, OverflowError) as error:
        return error_class(error)


def check_result(actual, expected, x, key):
    what = f"{x.dtype}{x.shape}[{key!r}]"
    is_same(actual, expected, what)
    assert is_scalar(actual) == is_scalar(expected), f"{what}: {type(actual)}, expected {type(expected)}"
    shares = isinstance(actual, np.ndarray) and np.shares_memory(actual, x)
    assert shares == np.shares_memory(expected, x), f"{what}: {'a view' if shares else 'a copy'}"


def check_keys(x, keys):
    """x[key] for each key, eager and in one traced function; where NumPy raises, an error of its class."""
    array = lamina.asarray(x)
    expected = [outcome(lambda key=key: x[key]) for key in keys]
    right = [(key, result) for key, result in zip(keys, expected, strict=True) if not isinstance(result, type)]
    traced = lamina.defn(lambda x: [x[key] for key, _ in right])(x)
    for (key, result), staged in zip(right, traced, strict=True):
        eager = array[key]
        assert isinstance(eager, lamina.Array)
        is_same(eager, result, f"eager {x.shape}[{key!r}]")
        if is_basic(key) and not array.dtype.is_packed:
            assert np.shares_memory(np.asarray(eager), x) == np.shares_memory(result, x) or not result.shape
        check_result(staged, result, x, key)
    for key, error in zip(keys, expected, strict=True):
        if isinstance(error, type):
            with pytest.raises(error):
                array[key]
            with pytest.raises(error):
                lamina.defn(lambda x, key=key: x[key])(x)


# Keys of one, two and three of these are all tried.
ATOMS = [
    0,
    -1,
    slice(None),
    slice(None, None, -1),
    None,
    Ellipsis,
    [0, 1],
    np.array([[1], [0]]),
    np.array(1),
    True,
    np.array([True, False]),
]


@pytest.mark.parametrize("shape", [(2,), (2, 2), (2, 2, 2), (2, 2, 2, 3)], ids=str)
def test_every_short_key(shape):
    x = np.arange(np.prod(shape)).reshape(shape)
    check_keys(x, [(), *ATOMS, *itertools.product(ATOMS, repeat=2), *itertools.product(ATOMS, repeat=3)])


@pytest.mark.parametrize("extent", range(5))
def test_every_slice_of_one_axis(extent):
    ends = [None, *range(-6, 7), -(2**80), 2**80]
    steps = [None, 1, 2, 3, 5, -1, -2, -3, -5, 2**80, -(2**80)]
    x = np.arange(extent)
    keys = [slice(*parts) for parts in itertools.product(ends, ends, steps)]
    traced = lamina.defn(lambda x: [x[key] for key in keys])(x)
    for key, staged in zip(keys, traced, strict=True):
        assert staged.tolist() == list(range(extent))[key], key
        if extent:
            assert np.shares_memory(staged, x) == bool(len(staged)), key
    array = lamina.asarray(x)
    for key in keys[:: 7 if extent else 1]:
        assert array[key].tolist() == list(range(extent))[key], key


def random_slice(rng, extent):
    low, high = rng.integers(-extent - 2, extent + 3, 2)
    step = int(rng.choice([1, 1, 2, 3, -1, -2]))
    return slice(*(None if rng.random() < 0.3 else int(end) for end in (low, high)), step)


def random_array(rng, extent):
    """Indices of a random shape that fits those of other arrays often."""
    shape = [(), (1,), (2,), (3,), (2, 1), (1, 3), (2, 3), (0,)][rng.integers(8)]
    low, high = (-extent, extent) if rng.random() < 0.95 or not extent else (-extent - 2, extent + 2)
    dtype = rng.choice(["int64", "int32", "uint8", "int8"])
    if not extent and 0 not in shape:
        return np.zeros(shape, dtype)  # nothing it may name
    return rng.integers(max(low, 0) if dtype == "uint8" else low, max(high, 1), shape).astype(dtype)


def random_key(rng, shape):
    parts, axis = [], 0
    while axis < len(shape) and rng.random() < 0.85:
        extent, choice = shape[axis], rng.random()
        if choice < 0.25:
            parts.append(random_slice(rng, extent))
        elif choice < 0.45:
            parts.append(int(rng.integers(-extent - (rng.random() < 0.05), max(extent, 1))))
        elif choice < 0.75:
            index = random_array(rng, extent)
            parts.append(index.tolist() if rng.random() < 0.3 else index)
        elif choice < 0.85 and axis + 1 < len(shape):
            parts.append(rng.random(shape[axis : axis + 2]) < 0.4)
            axis += 1
        else:
            parts.append(rng.random(extent) < 0.5)
        axis += 1
    for _ in range(rng.integers(3)):
        parts.insert(rng.integers(len(parts) + 1), None)
    if rng.random() < 0.2:
        parts.insert(rng.integers(len(parts) + 1), bool(rng.random() < 0.7))
    if rng.random() < 0.4:
        parts.insert(rng.integers(len(parts) + 1), Ellipsis)
    return tuple(parts)


def random_layout(rng, shape):
    """Random elements in a random order of axes and directions."""
    order = rng.permutation(len(shape))
    x = sample(rng, tuple(shape[axis] for axis in order), "float64").transpose(np.argsort(order))
    return x[tuple(slice(None, None, int(rng.choice([1, -1]))) for _ in shape)]


def test_random_keys(rng, long_mode):
    for _ in range(400 if long_mode else 8):
        for shape in SHAPES:
            check_keys(random_layout(rng, shape), [random_key(rng, shape) for _ in range(15)])


def test_traced_integers_and_index_arrays(rng, long_mode):
    # what is an integer or an array in the key is an argument of the traced function, and so is unknown to it
    for _ in range(600 if long_mode else 60):
        shape = SHAPES[rng.integers(1, len(SHAPES))]
        x = random_layout(rng, shape)
        key = tuple(np.asarray(p) if isinstance(p, list) and p else p for p in random_key(rng, shape))
        is_free = [type(part) is int or (isinstance(part, np.ndarray) and part.dtype.kind in "iu") for part in key]
        free = [part for part, moves in zip(key, is_free, strict=True) if moves]
        expected = outcome(lambda x=x, key=key: x[key])

        def select(x, free, key=key, is_free=is_free):
            rest = iter(free)
            return x[tuple(next(rest) if moves else part for part, moves in zip(key, is_free, strict=True))]

        if isinstance(expected, type):
            with pytest.raises(expected):
                lamina.defn(select)(x, free)
        else:
            result = lamina.defn(select)(x, free)
            is_same(result, expected, f"{x.shape}[{key!r}]")
            assert is_scalar(result) == is_scalar(expected)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "float16", "complex64", ml_dtypes.bfloat16, ml_dtypes.int4]
)
def test_every_dtype(dtype, rng):
    x = rng.integers(0, 2, (3, 4)).astype(dtype)
    check_keys(x[:, ::-1], [1, (slice(None), [2, 0]), (..., -1), (0, 0), x.astype(bool)])
    is_same(lamina.take(x, [2, -1, 2], axis=0), np.take(x, [2, -1, 2], axis=0))


# What a key may be


def test_the_three_kinds_of_values_without_axes():
    x, z, s = np.arange(3.0), np.array(5.0), np.float64(5)
    keys = [0, np.int64(1), np.array(2), (0, ...), (..., 0), (np.array(2), ...)]
    check_keys(x, keys)
    check_keys(z, [(), ..., None, (..., None), True, False, (True, ...)])
    scalar = lamina.defn(lambda s: [s[()], s[...], s[None], s[..., None], s[True]])(s)
    for result, key in zip(scalar, [(), ..., None, (..., None), True], strict=True):
        is_same(result, s[key])
        assert is_scalar(result) == is_scalar(s[key])
    with pytest.raises(TypeError, match="Python number"):
        lamina.defn(lambda n: n[0])(5)


def test_indices_from_every_sequence():
    x = np.arange(5) * 10
    check_keys(
        x, [range(2), (range(2),), ([1, 2],), ((1, 2),), [], ([],), [[]], [True] * 5, [np.int8(3)], np.uint64(3)]
    )
    check_keys(x, [np.array([1], np.uint64), np.array([], bool)[:0], np.zeros(0), [np.array(1), 2], lamina.asarray(2)])
    values = lamina.defn(lambda x, n: x[[n, 0, n + 1]])(x, 3)
    assert values.tolist() == [30, 0, 40]


class Two:
    def __index__(self):
        return 2


def test_what_has_an_index_is_an_integer():
    check_keys(np.arange(5), [Two(), slice(Two(), None), (Two(), None)])


def test_lamina_arrays_are_keys(rng):
    x = rng.standard_normal((4, 3))
    index, mask = np.array([2, 0]), x > 0
    for key, theirs in [
        (lamina.asarray(index), index),
        (lamina.asarray(mask), mask),
        ((slice(None), lamina.asarray(index)), (slice(None), index)),
        (lamina.asarray(x) > 0, mask),
    ]:
        is_same(lamina.asarray(x)[key], x[theirs])
        is_same(lamina.defn(lambda x, key=key: x[key])(x), x[theirs])


WRONG_KEYS = [
    ((3,), 3),
    ((3,), -4),
    ((2, 3), (slice(None), 3)),
    ((3,), (0, 0)),
    ((), 0),
    ((3,), (..., ...)),
    ((3,), 1.0),
    ((3,), "a"),
    ((3,), 2**70),
    ((3,), [1.0]),
    ((3,), [[0.5]]),
    ((3,), [slice(1)]),
    ((3,), {}),
    ((3,), np.array(1.0)),
    ((3,), np.zeros(0)),
    ((2, 3), [True, False, True]),
    ((2, 3), np.ones((3, 2), bool)),
    ((2, 3), np.ones((2, 3, 1), bool)),
    ((2, 3), ([0, 1], [0, 1, 2])),
    ((2, 3), ([0, 1], False)),
    ((3,), slice(None, None, 0)),
    ((3,), slice(1.0)),
    ((3,), [3]),
    ((3,), [[-4]]),
    ((2, 3), ([0], [3])),
    ((2, 0), (5, [])),
]


@pytest.mark.parametrize(("shape", "key"), WRONG_KEYS, ids=lambda value: re.sub(r"\s+", "", repr(value))[:40])
def test_what_numpy_refuses_is_refused_with_its_class_and_words(shape, key):
    x = np.zeros(shape)
    with pytest.raises((IndexError, ValueError, TypeError)) as expected:
        x[key]
    words = str(expected.value).split(";")[0].strip()
    for call in (lambda: lamina.asarray(x)[key], lambda: lamina.defn(lambda x: x[key])(x)):
        with pytest.raises(error_class(expected.value)) as error:
            call()
        assert words in str(error.value)


def test_errors_name_the_function_and_the_users_line():
    with pytest.raises(IndexError, match=r"^lamina.getitem: index 3 is out of bounds .*test_indexing.py:\d+\)$"):
        lamina.defn(lambda x: x[3])(np.zeros(3))


# Indices that are known at run time only


@pytest.mark.parametrize("i", range(-4, 5))
def test_a_traced_index_means_what_pythons_means(i):
    x = np.arange(12).reshape(4, 3)

    @lamina.defn
    def rows(x, i):
        return x[i - 1], x[:, i - 1], x[i - 1, ..., 0], x[i - 1, i - 1]

    try:
        expected = x[i - 1], x[:, i - 1], x[i - 1, ..., 0], x[i - 1, i - 1]
    except IndexError as error:
        with pytest.raises(IndexError, match=re.escape(str(error).split(" for axis")[0])):
            rows(x, i)
        return
    for result, oracle in zip(rows(x, i), expected, strict=True):
        is_same(result, oracle)
        assert is_scalar(result) == is_scalar(oracle)


def test_a_traced_index_needs_one_trace():
    traces = []

    @lamina.defn
    def row(x, i):
        traces.append(i)
        return x[i]

    x = np.arange(20).reshape(10, 2)
    for i in range(-10, 10):
        is_same(row(x, i), x[i])
    assert len(traces) == 1


def test_a_traced_bound_of_a_slice_is_asked_for():
    first = lamina.defn(lambda x, n: x[:n])
    x = np.arange(5)
    assert [first(x, n).tolist() for n in (2, 0, -1)] == [[0, 1], [], [0, 1, 2, 3]]


def test_a_gather_in_a_loop(rng):
    x, order = rng.standard_normal((6, 2)), rng.permutation(6)

    @lamina.defn
    def total(x, order):
        return lamina.fori_loop(0, 6, lambda i, s: s + x[order[i]] * i, np.zeros(2))

    expected = np.zeros(2)
    for i in range(6):
        expected = expected + x[order[i]] * i
    is_same(total(x, order), expected)


def test_a_traced_mask_that_is_one_bool_says_what_to_write():
    with pytest.raises(DataDependentShapeError, match=r"np\.where"):
        lamina.defn(lambda x: x[x.sum() > 0], strict=True)(np.arange(3))
    with pytest.raises(NotImplementedError):
        lamina.defn(lambda x, m: x[[0], m], strict=True)(np.ones((2, 2)), np.array([True, False]))


def test_the_graph_has_few_nodes():
    graph = lamina.trace(lambda x: x[None, 1, :, ::-1], np.ones((2, 3, 4)))
    assert str(graph).splitlines()[1:] == [
        "  %1: float64[1, 3, 4] = move(%0, Slice((Range(1, 1, 1), Range(0, 3, 1), Range(3, 4, -1))))",
        "  %2: float64[3, 4] = move(%1, Reshape((3, 4)))",
        "  %3: float64[1, 3, 4] = move(%2, Reshape((1, 3, 4)))",
        "  return %3",
    ]


# take


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(mode, rng):
    for shape, axis in [((5,), None), ((2, 3), None), ((2, 3), 0), ((2, 3), -1), ((2, 3, 4), 1), ((), None)]:
        x = random_layout(rng, shape)
        for places in [0, -1, [0, -1], [[1], [0]], [], [True, False], [1.0], np.array([7]), np.uint8([0, 200]), -9]:
            expected = outcome(lambda x=x, p=places, axis=axis: np.take(x, p, axis=axis, mode=mode))
            if isinstance(expected, type):
                with pytest.raises(expected):
                    lamina.take(x, places, axis=axis, mode=mode)
                continue
            is_same(lamina.take(x, places, axis=axis, mode=mode), expected)
            index = np.asarray(places, np.int64)
            traced = lamina.defn(lambda x, p, axis=axis: lamina.take(x, p, axis=axis, mode=mode))(x, index)
            is_same(traced, expected)
            assert is_scalar(traced) == is_scalar(expected)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_where_there_is_nothing(mode):
    for shape, axis, places in itertools.product([(0,), (0, 3), (3, 0), (0, 0)], [None, 0, 1], [[], [0], [5]]):
        x = np.zeros(shape)
        if shape == (0, 0) and axis is not None and mode == "wrap":  # NumPy 2.4 never returns
            assert sorted(lamina.take(x, places, axis=axis, mode=mode).shape) == [0, len(places)]
            continue
        expected = outcome(lambda x=x, axis=axis, p=places: np.take(x, p, axis=axis, mode=mode))
        if isinstance(expected, type):
            with pytest.raises(expected):
                lamina.take(x, places, axis=axis, mode=mode)
        else:
            is_same(lamina.take(x, places, axis=axis, mode=mode), expected)


def test_take_refuses():
    with pytest.raises(ValueError, match="mode must be"):
        lamina.take([1, 2], [0], mode="nearest")
    with pytest.raises(TypeError, match="integers"):
        lamina.take([1, 2], np.array([0.0]))
    with pytest.raises(lamina.errors.AxisError):
        lamina.take([1, 2], [0], axis=1)


# take_along_axis


def test_take_along_axis(rng):
    for shape, other, axis in [
        ((4,), (2,), 0),
        ((2, 3), (2, 5), 1),
        ((2, 3), (1, 2), 1),
        ((1, 3), (4, 2), -1),
        ((2, 3, 4), (2, 1, 4), 1),
        ((2, 3), (7,), None),
        ((0, 3), (0, 2), 1),
        ((2, 3), (2, 0), 1),
        ((2, 0), (2, 1), 1),
        ((2, 3), (3,), 1),
        ((2, 3), (3, 3), 1),
        ((2, 3), (2, 3), 2),
    ]:
        x = random_layout(rng, shape)
        extent = x.size if axis is None else shape[axis] if axis < len(shape) else 1
        index = rng.integers(-extent, max(extent, 1), other)
        expected = outcome(lambda x=x, index=index, axis=axis: np.take_along_axis(x, index, axis))
        for call in (lamina.take_along_axis, lamina.defn(lambda x, i, axis: lamina.take_along_axis(x, i, axis=axis))):
            keywords = {"axis": axis}
            if isinstance(expected, type):
                with pytest.raises(expected):
                    call(x, index, **keywords)
            else:
                is_same(call(x, index, **keywords), expected)


def test_take_along_axis_refuses():
    with pytest.raises(IndexError, match="must be an integer array"):
        lamina.take_along_axis([1, 2], [0.0])
    with pytest.raises(IndexError, match="must be an integer array"):
        lamina.take_along_axis([1, 2], [True, False])
    with pytest.raises(IndexError, match="out of bounds"):
        lamina.take_along_axis([1, 2], [2])


# scatter

UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


def updated(x, key, values, combine):
    """What NumPy leaves in a copy of x."""
    result = x.copy()
    if combine == "set":
        result[key] = values
    else:
        # NumPy 2.4's ufunc.at reads outside of values that lack axes of the indices
        UFUNCS[combine].at(result, key, np.broadcast_to(values, np.shape(x[key])))
    return result


@pytest.mark.parametrize("combine", ["set", *UFUNCS])
def test_scatter_is_numpys_assignment(combine, rng, long_mode):
    dtype = "int64" if combine.startswith("bitwise") else "float64"
    for _ in range(400 if long_mode else 40):
        shape = SHAPES[rng.integers(len(SHAPES))]
        x, key = sample(rng, shape, dtype), random_key(rng, shape)
        target = outcome(lambda x=x, key=key: np.asarray(x[key]).shape)
        if isinstance(target, type):
            with pytest.raises(target):
                lamina.scatter(x, key, 1, combine=combine)
            continue
        values = sample(rng, [target, (), target[-1:], (1, 1, *target)][rng.integers(4)], dtype)
        before = x.copy()
        has_mask = any(np.asarray(part).dtype == bool for part in key)
        if values.ndim > len(target) and (combine != "set" or has_mask or not target):
            values = values.reshape(target)  # more axes are for assignments, but not by a mask or to one element
        expected = quiet(updated, x, key, values, combine)
        is_same(lamina.scatter(x, key, values, combine=combine), expected)
        is_same(lamina.defn(lambda x, v, key=key: lamina.scatter(x, key, v, combine=combine))(x, values), expected)
        is_same(x, before)


def test_scatter_by_traced_indices(rng):
    x, index, values = rng.standard_normal((5, 3)), np.array([[0, 4], [4, -1]]), rng.standard_normal((2, 2, 3))
    for combine in ["set", "add", "max"]:
        put = lamina.defn(lambda x, i, v, combine=combine: lamina.scatter(x, i, v, combine))
        is_same(put(x, index, values), updated(x, index, values, combine))
        assert isinstance(put(x, index, values), np.ndarray)
    one = lamina.defn(lambda x, i, j: lamina.scatter(x, (i, slice(None, None, j)), 7))
    is_same(one(x, -2, 2), updated(x, (-2, slice(None, None, 2)), 7, "set"))
    with pytest.raises(IndexError, match="out of bounds"):
        one(x, 5, 1)


@pytest.mark.parametrize("key", [("i",), ("i", "j"), ("i", ...), ("i", "j", slice(None)), ("i", "j", "k")])
def test_index_arrays_of_the_first_axes_are_scattered_as_they_are(key):
    x = np.zeros((4, 5, 6))
    given = {"i": np.array([[0], [-1]]), "j": np.array([2, -5, 2]), "k": np.array(-2)}

    def added(x, i, j, k):
        names = {"i": i, "j": j, "k": k}
        own = tuple(names[part] if type(part) is str else part for part in key)
        return lamina.scatter(x, own, 1.5, "add")

    expected = x.copy()
    np.add.at(expected, tuple(given[part] if type(part) is str else part for part in key), 1.5)
    graph = lamina.trace(added, x, *given.values())
    ops = {node.op for node in lamina.tree.post_order(graph.outputs)}
    assert "scatter" in ops
    assert "gather" not in ops
    is_same(lamina.defn(added)(x, *given.values()), expected, str(key))


def test_scatter_casts_as_an_assignment():
    assert lamina.scatter(np.arange(3), 1, 2.9).tolist() == [0, 2, 2]
    assert lamina.scatter(np.arange(3), [1, 1], [5, 6]).tolist() == [0, 6, 2]
    assert lamina.scatter(np.zeros(2, np.float32), 0, np.float64(0.1)).dtype == lamina.float32
    with pytest.raises(OverflowError, match="int8"):
        lamina.scatter(np.zeros(2, np.int8), 0, 300)


def test_scatter_refuses():
    x = np.arange(4)
    with pytest.raises(ValueError, match=r"shape \(2,\) to shape \(3,\)"):
        lamina.scatter(x, slice(0, 3), [1, 2])
    with pytest.raises(ValueError, match="could not broadcast"):
        lamina.scatter(x, [0, 1], [[1, 2], [3, 4]])
    with pytest.raises(TypeError, match="complex128"):
        lamina.scatter(x, 0, 1j)
    with pytest.raises(TypeError, match="float64"):
        lamina.scatter(x, 0, 1.5, combine="add")
    with pytest.raises(TypeError, match="divide"):
        lamina.scatter(x, 0, 1, combine="divide")
    with pytest.raises(TypeError, match="bitwise_or"):
        lamina.scatter(x * 1.0, 0, 1, combine="bitwise_or")
    with pytest.raises(ValueError, match="combine"):
        lamina.scatter(x, 0, 1, combine="mul")
    with pytest.raises(DataDependentShapeError):
        lamina.defn(lambda x: lamina.scatter(x, x > 0, 1), strict=True)(x)


def test_a_scatter_never_shares_memory():
    x = np.arange(4)
    for key in [slice(0, 0), slice(None), [], 0, ...]:
        for result in (lamina.scatter(x, key, 5).to_numpy(), lamina.defn(lambda x, k=key: lamina.scatter(x, k, 5))(x)):
            assert not np.shares_memory(result, x)
    assert x.tolist() == [0, 1, 2, 3]


# From public reports


def test_a_negative_step_that_starts_before_the_array_is_empty():
    for x, key in [(np.arange(3), slice(-5, -5, -2)), (np.arange(10), slice(-11, -7, -2))]:
        assert lamina.asarray(x)[key].tolist() == lamina.defn(lambda x, key=key: x[key])(x).tolist() == []
        is_same(lamina.scatter(x, key, -1), x)


def test_a_strided_slice_of_the_first_axis():
    assert lamina.asarray([1, 2, 3, 4, 5, 6])[0:6:2].tolist() == [1, 3, 5]
    assert lamina.asarray(np.arange(12).reshape(6, 2))[::2].tolist() == [[0, 1], [4, 5], [8, 9]]


def test_arithmetic_on_a_column_slice_follows_the_strides():
    m = np.arange(20).reshape(4, 5)
    traced = lamina.defn(lambda m: (m[:, 3:5] * 2, m[:, 1::2].T + 1))(m)
    for left, right in (traced, (lamina.asarray(m)[:, 3:5] * 2, lamina.asarray(m)[:, 1::2].T + 1)):
        assert left.tolist() == [[6, 8], [16, 18], [26, 28], [36, 38]]
        assert right.tolist() == [[2, 7, 12, 17], [4, 9, 14, 19]]
