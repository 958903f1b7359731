"""Distinct elements and membership against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import NUMPY_DTYPES, agree, every_layout, is_equal, is_same, sample

FUNCTIONS = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


def numpys(array):
    """What NumPy's four functions give, by name: always sorted, and the first of equal elements."""
    values, indices, inverse, counts = np.unique_all(array)
    return {"values": values, "indices": indices, "inverse_indices": inverse, "counts": counts}


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_distinct_elements(dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        expected = numpys(array)
        for name in FUNCTIONS:
            result = getattr(lamina, name)(lamina.asarray(array))
            parts = result._asdict() if isinstance(result, tuple) else {"values": result}
            for part, ours in parts.items():
                assert isinstance(ours, lamina.Array)
                is_same(ours, expected[part], f"{name}.{part}")


def test_names_and_laws(rng):
    array = rng.integers(0, 5, (4, 6))
    result = lamina.unique_all(lamina.asarray(array))
    assert result._fields == ("values", "indices", "inverse_indices", "counts")
    assert lamina.unique_counts(array)._fields == ("values", "counts")
    assert lamina.unique_inverse(array)._fields == ("values", "inverse_indices")
    values, indices, inverse, counts = map(np.asarray, result)
    assert np.array_equal(array.reshape(-1)[indices], values)
    assert np.array_equal(values[inverse], array)
    assert counts.sum() == array.size and np.all(np.diff(values) > 0)


def test_each_nan_is_distinct():
    values, indices, inverse, counts = lamina.unique_all(np.array([np.nan, 1.0, np.nan]))
    assert np.isnan(np.asarray(values)).tolist() == [False, True, True]
    assert np.asarray(counts).tolist() == [1, 1, 1]
    assert np.asarray(indices).tolist() == [1, 0, 2] and np.asarray(inverse).tolist() == [1, 0, 2]


def test_dtypes_that_numpy_does_not_sort():
    values = lamina.unique_values(np.array([3, -8, 3, 7], ml_dtypes.int4))
    assert values.dtype == lamina.int4 and np.asarray(values).tolist() == [-8, 3, 7]
    counts = lamina.unique_counts(np.array([2.5, 1, 2.5], ml_dtypes.bfloat16))
    assert counts.values.dtype == lamina.bfloat16 and np.asarray(counts.counts).tolist() == [1, 2]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_run_alone_knows_traced_elements(name):
    for array in (np.array([[5, 2], [5, 7]]), np.zeros((0, 2)), np.array([np.nan, 1.0, np.nan, -0.0, 0.0])):
        results = lamina.defn(getattr(lamina, name), strict=True)(array)
        expected = getattr(lamina, name)(array)
        for found, wanted in zip(
            *(each if isinstance(each, tuple) else (each,) for each in (results, expected)), strict=True
        ):
            np.testing.assert_array_equal(found, np.asarray(wanted))
            assert found.dtype == wanted.dtype.numpy
    # captured elements are known
    table = np.array([5, 2, 5])
    assert lamina.defn(lambda x: x + lamina.unique_values(table))(np.array([10, 20])).tolist() == [12, 25]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_membership(dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        among = sample(rng, (2, 4), dtype, special=True)
        if array.size:
            among.reshape(-1)[:3] = rng.choice(array.reshape(-1), 3)
        agree(lamina.isin, np.isin, [array, among], [{}, {"invert": True}], is_equal)


@pytest.mark.parametrize("one", ["bool", "int8", "uint8", "int64", "float32", "complex64"])
@pytest.mark.parametrize("other", ["bool", "int8", "uint8", "int64", "float32", "complex64"])
def test_membership_promotes(one, other, rng):
    arrays = [rng.integers(0, 6, (3, 4)).astype(one), rng.integers(0, 6, (5,)).astype(other)]
    agree(lamina.isin, np.isin, arrays, [{}, {"invert": True}])


def test_membership_of_numbers_and_in_nothing():
    single = np.array([0.1], np.float32)
    agree(lambda x: lamina.isin(x, 0.1), lambda x: np.isin(x, 0.1), [single], [{}])
    agree(lambda x: lamina.isin(3, x), lambda x: np.isin(3, x), [np.array([3, 4])], [{}])
    for invert in (False, True):
        agree(lamina.isin, np.isin, [np.ones((2, 3)), np.ones((0,))], [{"invert": invert}])
