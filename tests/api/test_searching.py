"""Places of extremes and of nonzero elements, binary search, and `where`, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import COMPLEX, FLOATS, NUMPY_DTYPES, agree, axes_for, every_layout, sample, wrong_axes

# argmax and argmin


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name, dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        axes = [None, *range(-array.ndim, array.ndim)]
        cases = [{"axis": axis, "keepdims": keepdims} for axis in axes for keepdims in (False, True)]
        agree(getattr(lamina, name), getattr(np, name), [array], cases)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_refuse_axes(name):
    for shape in [(), (3,), (3, 4)]:
        cases = [{"axis": axis} for axis in [*wrong_axes(len(shape)), (0,), ()]]
        agree(getattr(lamina, name), getattr(np, name), [np.ones(shape)], cases)
    with pytest.raises(NotImplementedError, match=f"lamina.{name}: out is not supported"):
        getattr(lamina, name)([1, 2], out=np.zeros((), int))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_t21_the_first_nan_is_found_at_every_length(name):
    for length in range(3, 41):
        found = lamina.defn(getattr(lamina, name))
        for place in range(length):
            array = np.arange(float(length))
            array[place:] = np.nan
            assert int(getattr(lamina, name)(array)) == place
            result = found(array)
            assert result == place and type(result) is np.int64


def test_t21_values_and_ties():
    agree(
        lambda x: (lamina.argmax(x), lamina.argmin(x)),
        lambda x: (np.argmax(x), np.argmin(x)),
        [np.array([3, np.nan, 1, 5])],
        [{}],
    )
    agree(lamina.argmax, np.argmax, [np.array([2, 7, 7])], [{}])


def test_t23_places_in_nothing():
    for shape, axis in [((2, 0), -1), ((0, 2), -1), ((3, 0, 2), -1), ((0,), None), ((2, 0), 0), ((2, 0), None)]:
        for name in ("argmax", "argmin"):
            agree(getattr(lamina, name), getattr(np, name), [np.zeros(shape)], [{"axis": axis}])
    with pytest.raises(ValueError, match=r"lamina.argmax: axis 1 of shape \(2, 0\) has no element"):
        lamina.trace(lambda x: lamina.argmax(x, axis=-1), lamina.Spec("float64", (2, 0)))


def test_places_in_dtypes_that_numpy_has_not():
    x = np.array([3, -8, 7, 7], ml_dtypes.int4)
    assert int(lamina.argmax(x)) == 2 and int(lamina.argmin(x)) == 1
    assert int(lamina.argmax(np.array([1, np.nan, 2], ml_dtypes.bfloat16))) == 1


# nonzero and count_nonzero


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_nonzero(dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        agree(lamina.count_nonzero, np.count_nonzero, [array], [{"axis": axis} for axis in axes_for(array.ndim)])
        if array.ndim:
            found = lamina.nonzero(lamina.asarray(array))
            assert [each.dtype for each in found] == [lamina.int64] * array.ndim
            for ours, theirs in zip(found, np.nonzero(array), strict=True):
                assert np.array_equal(np.asarray(ours), theirs)


def test_nonzero_of_what_a_run_knows():
    x = np.array([[0, 5, 0], [7, 0, -1]])
    for found, expected in zip(lamina.defn(lamina.nonzero, strict=True)(x), np.nonzero(x), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == np.int64
    with pytest.raises(ValueError, match=r"lamina.nonzero: x must have an axis"):
        lamina.nonzero(lamina.asarray(3))
    # what isn't traced is known while tracing
    table = np.array([0, 5, 0, 7])
    assert lamina.defn(lambda x: x + lamina.nonzero(table)[0])(np.array([10, 20])).tolist() == [11, 23]


def test_counts_keep_dimensions_and_refuse_axes():
    array = np.array([[0, 5, 1], [7, 0, 0]])
    agree(lamina.count_nonzero, np.count_nonzero, [array], [{"axis": 0, "keepdims": True}, {"keepdims": True}])
    agree(lamina.count_nonzero, np.count_nonzero, [array], [{"axis": axis} for axis in wrong_axes(2)])


# searchsorted


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_search_in_every_dtype(dtype, side, rng):
    ordered = np.sort(sample(rng, (9,), dtype, special=True))
    for _, values in every_layout(rng, dtype, special=True):
        agree(
            lambda x, v: lamina.searchsorted(x, v, side=side),
            lambda x, v: np.searchsorted(x, v, side=side),
            [ordered, values],
            [{}],
        )


@pytest.mark.parametrize("one", ["bool", "int8", "uint64", "float32", "complex64"])
@pytest.mark.parametrize("other", ["bool", "int8", "uint64", "float32", "complex64"])
def test_search_promotes(one, other, rng):
    ordered, values = np.sort(sample(rng, (9,), one)), sample(rng, (3, 4), other)
    agree(lamina.searchsorted, np.searchsorted, [ordered, values], [{}, {"side": "right"}])


def test_search_for_python_numbers():
    ordered = np.array([0.1, 0.2], np.float32)
    agree(lambda x: lamina.searchsorted(x, 0.1), lambda x: np.searchsorted(x, 0.1), [ordered], [{}])
    agree(lambda x: lamina.searchsorted(x, [0.1, 5]), lambda x: np.searchsorted(x, [0.1, 5]), [ordered], [{}])


def test_search_with_a_sorter(rng):
    array, values = sample(rng, (9,), "float64"), sample(rng, (5,), "float64")
    sorters = [np.argsort(array), np.argsort(array).astype("uint8"), list(range(9))]
    wrong = [np.arange(8), np.arange(9.0), np.arange(9)[:, None], np.full(9, 9), np.full(9, -1)]
    cases = [{"sorter": sorter, "side": side} for sorter in [*sorters, *wrong] for side in ("left", "right")]
    agree(lamina.searchsorted, np.searchsorted, [array, values], cases)
    agree(
        lambda x, v, s: lamina.searchsorted(x, v, sorter=s),
        lambda x, v, s: np.searchsorted(x, v, sorter=s),
        [array, values, sorters[0]],
        [{}],
    )


def test_search_refuses():
    agree(lamina.searchsorted, np.searchsorted, [np.ones((2, 3)), np.ones(3)], [{}])
    agree(lamina.searchsorted, np.searchsorted, [np.ones(()), np.ones(3)], [{}])
    agree(lamina.searchsorted, np.searchsorted, [np.ones(3), np.ones(3)], [{"side": "middle"}, {"side": "l"}])
    agree(lamina.searchsorted, np.searchsorted, [np.ones(0), np.ones(3)], [{}])


# where

SOME = np.array([True, False])
THINGS = {
    "int32": np.array([1, 2], np.int32),
    "int8": np.array([1, 2], np.int8),
    "uint64": np.array([1, 2], np.uint64),
    "float16": np.array([1, 2], np.float16),
    "float32": np.array([1, np.nan], np.float32),
    "float64": np.array([-0.0, 2]),
    "complex64": np.array([1j, 2], np.complex64),
    "scalar float32": np.float32(0.5),
    "scalar int64": np.int64(7),
    "0-d": np.array(3, np.int16),
    "True": True,
    "3": 3,
    "0.5": 0.5,
    "1j": 1j,
}


@pytest.mark.parametrize("one", THINGS)
@pytest.mark.parametrize("other", THINGS)
def test_t43_where_promotes_as_numpy_does(one, other):
    x, y = THINGS[one], THINGS[other]
    agree(lambda c: lamina.where(c, x, y), lambda c: np.where(c, x, y), [SOME], [{}])
    expected = np.where(SOME, x, y)
    # as arguments of a compiled function, numbers are traced
    result = lamina.defn(lamina.where)(SOME, x, y)
    assert result.dtype == expected.dtype and np.array_equal(result, expected, equal_nan=True)


def test_t43_values():
    result = lamina.where(SOME, np.array([1, 2], np.int32), 0.5)
    assert result.dtype == lamina.float64 and np.asarray(result).tolist() == [1.0, 0.5]
    assert lamina.where(True, np.ones(1, np.float32), np.ones(1)).dtype == lamina.float64
    assert lamina.where([True], np.ones(1, np.float32), 0.1).dtype == lamina.float32


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_where_chooses_in_every_layout(dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        condition, other = sample(rng, array.shape, "bool"), sample(rng, array.shape, dtype)
        agree(lamina.where, np.where, [condition, array, other], [{}])
        agree(lamina.where, np.where, [array, other, array], [{}])  # any dtype is a condition


def test_where_broadcasts(rng):
    for shapes in [((3, 1), (4,), ()), ((), (2, 1), (1, 3)), ((0,), (1,), (3, 1)), ((2,), (3,), ())]:
        agree(lamina.where, np.where, [sample(rng, shapes[0], "bool"), *(np.ones(shape) for shape in shapes[1:])], [{}])


def test_where_refuses():
    with pytest.raises(TypeError, match=r"lamina.where: x1 must be an array or a number, but it is None"):
        lamina.where(SOME, None, 1)


def test_where_wraps_a_number_that_does_not_fit():
    x = np.array([1, 2], np.int8)
    assert lamina.where(SOME, x, 300).tolist() == np.where(SOME, x, 300).tolist() == [1, 44]


def test_where_in_dtypes_that_numpy_has_not():
    four = lamina.asarray(np.array([3, -8], ml_dtypes.int4))
    assert lamina.where(SOME, four, 1).dtype == lamina.int4
    assert lamina.where(SOME, four, np.array([1, 2], np.uint8)).dtype == lamina.int16
    brain = lamina.asarray(np.array([3, np.nan], ml_dtypes.bfloat16))
    assert np.asarray(lamina.where(brain, 1, brain)).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_nan_is_true(dtype):
    agree(lambda c: lamina.where(c, 1, 2), lambda c: np.where(c, 1, 2), [np.array([np.nan, 0, -0.0, 1], dtype)], [{}])
