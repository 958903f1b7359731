"""Truth of all and any, differences, and comparisons of whole arrays, against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import NUMPY_DTYPES, agree, axes_for, every_layout, sample, wrong_axes


def over_axes(rank, **more):
    return [{"axis": axis, "keepdims": keepdims, **more} for axis in axes_for(rank) for keepdims in (False, True)]


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("name", ["all", "any"])
def test_truth(name, dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        sparse = array if array.dtype.kind == "b" else np.where(rng.random(array.shape) < 0.5, array, 0).astype(dtype)
        agree(getattr(lamina, name), getattr(np, name), [array], over_axes(array.ndim))
        agree(getattr(lamina, name), getattr(np, name), [sparse], [{"axis": axis} for axis in axes_for(array.ndim)])


@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_of_some(name, rng):
    array = sample(rng, (3, 4), "bool")
    masks = [array, rng.random((3, 1)) < 0.5, rng.random(4) < 0.5, False, np.ones((2, 3, 4), bool), [True, False]]
    cases = [{"axis": axis, "where": mask} for axis in (None, 0, (0, 1)) for mask in masks]
    agree(getattr(lamina, name), getattr(np, name), [array], cases)
    agree(getattr(lamina, name), getattr(np, name), [array], [{"axis": axis} for axis in wrong_axes(2)])
    with pytest.raises(NotImplementedError, match=f"lamina.{name}: out is not supported"):
        getattr(lamina, name)(array, out=np.zeros((), bool))


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_t23_truth_of_nothing(dtype):
    for name in ("all", "any"):
        agree(getattr(lamina, name), getattr(np, name), [np.zeros((2, 0), dtype)], over_axes(2))
    assert np.asarray(lamina.all(np.zeros((2, 0)), axis=-1)).tolist() == [True, True]
    assert np.asarray(lamina.any(np.zeros((2, 0)), axis=-1)).tolist() == [False, False]


def test_truth_in_dtypes_that_numpy_has_not():
    x = lamina.asarray(np.array([[0, -8], [1, 2]], ml_dtypes.int4))
    assert np.asarray(lamina.all(x, axis=1)).tolist() == [False, True]
    assert bool(lamina.any(np.array([0, np.nan], ml_dtypes.bfloat16)))


def test_methods_are_the_functions(rng):
    def methods(x):
        return (x.all(), x.any(0), x.all(axis=1, keepdims=True), x.argmax(1), x.argmin(), x.argsort(0), x.argsort(None))

    agree(methods, methods, [np.array([[3, 0, 1], [5, 2, 4]])], [{}])


# Differences


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_differences(dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        cases = [{"axis": axis, "n": n} for axis in range(-array.ndim, array.ndim) for n in (0, 1, 2, 9)]
        agree(lamina.diff, np.diff, [array], [{}, *cases])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float32", "complex64"])
def test_differences_with_what_is_put_before_and_behind(dtype, rng):
    array = sample(rng, (3, 4), dtype)
    for axis in (0, -1):
        more = np.ones((2, 4) if axis == 0 else (3, 2), "int16")
        things = [1, 0.5, np.int8(2), more, more.tolist(), array, np.array(3)]
        cases = [{"axis": axis, name: thing} for thing in things for name in ("prepend", "append")]
        agree(lamina.diff, np.diff, [array], [*cases, {"axis": axis, "prepend": 1, "append": more, "n": 2}])
    agree(lamina.diff, np.diff, [array], [{"prepend": np.ones((2, 2))}, {"append": [1, 2]}])


def test_differences_refuse():
    agree(
        lamina.diff, np.diff, [np.ones((2, 3))], [{"n": -1}, {"axis": 2}, {"axis": -3}, {"axis": 1.0}, {"axis": (0,)}]
    )
    agree(lamina.diff, np.diff, [np.ones(())], [{}, {"axis": 0}])


# Comparisons

THINGS = {
    "int8": np.array([-128, 127, 1], np.int8),
    "uint64": np.array([1, 2**63, 0], np.uint64),
    "float32": np.array([1, np.nan, np.inf], np.float32),
    "float64": np.array([1 + 1e-9, np.nan, -np.inf]),
    "complex64": np.array([1, 1j, np.nan], np.complex64),
    "bool": np.array([True, False, True]),
    "scalar": np.float32(1.00001),
    "1": 1,
    "1.0": 1.0,
    "2D": np.array([[1.0], [1.1]]),
}


@pytest.mark.parametrize("equal_nan", [False, True])
@pytest.mark.parametrize("one", THINGS)
@pytest.mark.parametrize("other", THINGS)
def test_closeness(one, other, equal_nan):
    a, b = THINGS[one], THINGS[other]
    tolerances = [{}, {"rtol": 0.2}, {"atol": 1}, {"rtol": 0, "atol": 0}]
    cases = [{"equal_nan": equal_nan, **each} for each in tolerances]
    agree(lambda **case: lamina.isclose(a, b, **case), lambda **case: np.isclose(a, b, **case), [], cases)
    agree(lambda **case: lamina.allclose(a, b, **case), lambda **case: np.allclose(a, b, **case), [], cases)
    for function, oracle in [(lamina.isclose, np.isclose), (lamina.array_equal, np.array_equal)]:
        traced = lamina.defn(lambda a, b, function=function: function(a, b, equal_nan=equal_nan))
        assert np.array_equal(traced(a, b), oracle(a, b, equal_nan=equal_nan))
    assert type(lamina.defn(lamina.array_equal)(a, b)) is bool


def test_arrays_of_other_shapes_are_not_equal():
    agree(lamina.array_equal, np.array_equal, [np.ones(3), np.ones((1, 3))], [{}])
    agree(lamina.array_equal, np.array_equal, [np.ones((0, 3)), np.ones((0, 3))], [{}])
    agree(lamina.array_equal, np.array_equal, [np.array([1, 2]), np.array([1.0, 2.0])], [{}])
    agree(lamina.isclose, np.isclose, [np.ones(3), np.ones(2)], [{}])
