"""Sorting against NumPy's stable sort."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import NUMPY_DTYPES, SHAPES, agree, every_layout, is_equal, sample


def over_axes(rank):
    return [{"axis": axis} for axis in [None, *range(-rank, rank)]] + [{}]


def stable(function):
    return lambda x, **case: function(x, kind="stable", **case)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_sort_and_argsort_are_numpys_stable_ones(dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        agree(lamina.sort, stable(np.sort), [array], over_axes(array.ndim))
        agree(lamina.argsort, stable(np.argsort), [array], over_axes(array.ndim))


@pytest.mark.parametrize("dtype", ["int8", "float32", "complex64", "bool"])
def test_descending_is_the_order_backwards_with_ties_as_they_were(dtype, rng):
    for shape in SHAPES:
        array = sample(rng, shape, dtype, special=True)
        for axis in [None, *range(-array.ndim, array.ndim)]:
            line = array.reshape(-1) if axis is None else array
            along = 0 if axis is None else axis
            # the oracle: a rank for each element, equal ones alike, negated
            ranks = np.unique(line, return_inverse=True, equal_nan=True)[1].reshape(line.shape)
            places = np.argsort(-ranks, axis=along, kind="stable")
            ours = lamina.argsort(lamina.asarray(array), axis=axis, descending=True)
            assert np.array_equal(np.asarray(ours), places)
            ordered = lamina.sort(lamina.asarray(array), axis=axis, descending=True)
            is_equal(ordered, np.take_along_axis(line, places, along))
            assert np.array_equal(
                np.signbit(np.asarray(ordered).real), np.signbit(np.take_along_axis(line, places, along).real)
            )


def test_nan_is_above_all():
    x = np.array([2.0, np.nan, -np.inf, np.inf, 0.0, -0.0])
    assert np.asarray(lamina.argsort(x)).tolist() == [2, 4, 5, 0, 3, 1]
    assert np.asarray(lamina.argsort(x, descending=True)).tolist() == [1, 3, 0, 4, 5, 2]


def test_complex_numbers_are_ordered_by_their_parts():
    x = np.array([1 + 2j, 1 - 2j, 0, np.nan, complex(np.nan, -1), complex(1, np.nan)])
    agree(lamina.sort, np.sort, [x], [{}])
    agree(lamina.argsort, stable(np.argsort), [x], [{}])


@pytest.mark.parametrize("dtype", ["int4", "uint4", "bfloat16"])
def test_dtypes_that_numpy_does_not_sort(dtype, rng):
    wide = rng.integers(-8 if dtype != "uint4" else 0, 8, (4, 5)).astype("float32" if dtype == "bfloat16" else "int8")
    x = lamina.asarray(wide.astype(getattr(ml_dtypes, dtype)))
    result = lamina.sort(x, axis=0)
    assert str(result.dtype) == dtype
    assert np.asarray(result).astype(wide.dtype).tolist() == np.sort(wide, axis=0).tolist()
    assert np.asarray(lamina.argsort(x)).tolist() == np.argsort(wide, kind="stable").tolist()


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_axes_that_do_not_fit(name):
    for shape in [(), (3,), (2, 3)]:
        cases = [{"axis": axis} for axis in (len(shape), -len(shape) - 1, 0, -1, (0,), 1.0, "0")]
        agree(getattr(lamina, name), getattr(np, name), [np.ones(shape)], cases)
    with pytest.raises(TypeError, match="must be an integer, but it is True"):
        getattr(lamina, name)([1, 2], axis=True)


def test_a_sorted_copy_is_no_view():
    array = np.array([3, 1, 2])
    result = lamina.sort(lamina.asarray(array))
    array[0] = 9
    assert np.asarray(result).tolist() == [1, 2, 3]


@pytest.mark.parametrize("axis", [-1, 0, None])
@pytest.mark.parametrize("kth", [0, 2, -1, [1, -1], (0, 2)])
def test_partitions(kth, axis, rng):
    array = sample(rng, (4, 3), "float64")
    line, along = (array.reshape(-1), 0) if axis is None else (array, axis)
    theirs = np.partition(array, kth, axis=axis)
    traced = lamina.defn(lambda x: (lamina.partition(x, kth, axis), lamina.argpartition(x, kth, axis)))(array)
    for ours, places in [(lamina.partition(array, kth, axis=axis), lamina.argpartition(array, kth, axis=axis)), traced]:
        ours, places = np.asarray(ours), np.asarray(places)
        # what is on either side of the elements kth has no order in NumPy
        assert np.array_equal(ours.take(np.atleast_1d(kth), along), theirs.take(np.atleast_1d(kth), along))
        assert np.array_equal(np.sort(ours, along), np.sort(theirs, along))
        assert np.array_equal(np.take_along_axis(line, places, along), ours)


def test_partitions_refuse():
    cases = [{"kth": kth} for kth in (3, -4, 1.5, [0, 3])] + [{"kth": 0, "axis": 2}]
    agree(lamina.partition, np.partition, [np.ones((2, 3))], cases)
    agree(lamina.argpartition, np.argpartition, [np.ones((2, 3))], cases)
    agree(lamina.partition, np.partition, [np.ones(())], [{"kth": 0}])
