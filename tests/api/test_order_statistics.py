"""Medians, quantiles and percentiles against NumPy."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.api import order_statistics
from tests.api.oracle import COMPLEX, FLOATS, agree, axes_for, every_layout, is_equal, is_near, sample, wrong_axes

METHODS = [*order_statistics._BETWEEN, *order_statistics._ELEMENT]
SHAPES = [(), (1,), (2,), (7,), (3, 4), (2, 3, 5), (0,), (3, 0)]


def over_axes(rank, empty=False, **more):
    axes = [None, *range(-rank, rank)] if empty else axes_for(rank)  # NumPy can't join axes without elements
    return [{"axis": axis, "keepdims": keepdims, **more} for axis in axes for keepdims in (False, True)]


@pytest.mark.parametrize("special", [False, True], ids=["finite", "special"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", *FLOATS, *COMPLEX])
def test_medians(dtype, special, rng):
    for _, array in every_layout(rng, dtype, special, SHAPES):
        # zeros of both signs are equal, and NumPy puts them in any order
        agree(lamina.median, np.median, [array], over_axes(array.ndim, empty=not array.size), is_equal)


@pytest.mark.parametrize("dtype", ["int8", *FLOATS])
def test_medians_without_nan(dtype, rng):
    for _, array in every_layout(rng, dtype, True, SHAPES):
        # NumPy averages by other ways for short and long lines
        compare = is_equal if dtype == "int8" else is_near
        agree(lamina.nanmedian, np.nanmedian, [array], over_axes(array.ndim, empty=not array.size), compare)


def test_a_median_of_great_numbers_stays_finite():
    greatest = np.finfo("float64").max
    agree(lamina.nanmedian, np.nanmedian, [np.array([1.0, greatest, np.nan, greatest])], [{}])
    agree(lamina.median, np.median, [np.array([greatest])], [{}])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["int8", *FLOATS])
def test_quantiles(dtype, method, rng):
    parts = [0, 1, 0.0, 1.0, 1 / 3, np.float32(0.7), np.linspace(0, 1, 13), [[0.1, 0.9]]]
    for shape in [(), (2,), (7,)]:
        array = sample(rng, shape, dtype)
        agree(lamina.quantile, np.quantile, [array], [{"q": q, "method": method} for q in parts], is_equal)
    agree(
        lamina.quantile,
        np.quantile,
        [sample(rng, (2, 3, 4), dtype)],
        over_axes(3, q=[0.25, 0.5], method=method),
        is_equal,
    )


@pytest.mark.parametrize("method", METHODS)
def test_quantiles_of_nan_and_infinity(method, rng):
    for _ in range(4):
        array = sample(rng, (4, 5), "float64", special=True)
        agree(lamina.quantile, np.quantile, [array], over_axes(2, q=[0.0, 0.4, 1.0], method=method), is_equal)


def test_percentiles(rng):
    array = sample(rng, (5, 6), "float32")
    agree(lamina.percentile, np.percentile, [array], [{"q": q, "axis": 0} for q in (0, 50, 33.3, [10, 90])], is_equal)
    agree(lamina.percentile, np.percentile, [array], [{"q": 101}, {"q": -1}, {"q": [50, 101]}])


@pytest.mark.parametrize(
    "case",
    [
        {"q": 1.5},
        {"q": -0.1},
        {"q": [0.5, float("nan")]},
        {"q": 0.5, "method": "middle"},
        {"q": np.full((1, 1, 1), 0.5)},
        *({"q": 0.5, "axis": axis} for axis in wrong_axes(2) if axis not in ([0],)),  # NumPy takes a list here
    ],
    ids=str,
)
def test_what_is_refused(case):
    agree(lamina.quantile, np.quantile, [np.ones((2, 3))], [case])


def test_elements_that_have_no_quantile():
    agree(lamina.quantile, np.quantile, [np.ones((0,))], [{"q": 0.5}])
    agree(lamina.quantile, np.quantile, [np.ones((3,), complex)], [{"q": 0.5}])
    agree(lamina.quantile, np.quantile, [np.ones((3,), bool)], [{"q": 0.5}, {"q": 0.5, "method": "lower"}])
    with pytest.raises(NotImplementedError, match=r"lamina.quantile: weights is not supported"):
        lamina.quantile([1.0, 2.0], 0.5, method="inverted_cdf", weights=[1, 2])
    with pytest.raises(NotImplementedError, match=r"lamina.median: out is not supported"):
        lamina.median([1.0, 2.0], out=np.zeros(()))


def test_a_part_that_is_an_argument_is_pinned():
    part = lamina.defn(lambda x, q: lamina.quantile(x, q), strict=True)
    x = np.array([1, 2, 3, 5], np.float32)
    for q in (0.5, 0.25, 0.5):
        assert part(x, q) == np.quantile(x, q) and type(part(x, q)) is np.float32
    with pytest.raises(lamina.errors.DataDependentShapeError, match="the list of elements to take"):
        part(x, np.array([0.5]))


def test_dtypes_that_numpy_has_not():
    x = lamina.asarray(np.array([3, 1, 2, 7], ml_dtypes.bfloat16))
    assert lamina.median(x).dtype == lamina.bfloat16 and float(lamina.median(x)) == 2.5
    four = lamina.asarray(np.array([3, -8, 2, 7], ml_dtypes.int4))
    assert lamina.median(four).dtype == lamina.float64 and float(lamina.median(four)) == 2.5
    assert lamina.quantile(four, 0.3, method="lower").dtype == lamina.int4
