"""The statistics that leave NaN out, against NumPy's."""

import itertools

import numpy as np
import pytest

import lamina
from tests.api.oracle import (
    COMPLEX,
    FLOATS,
    agree,
    axes_for,
    every_layout,
    is_equal,
    is_near,
    is_same,
    sample,
    wrong_axes,
)

SHAPES = [(), (1,), (7,), (3, 4), (0,), (3, 0)]
NAMES = ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd"]


def over_axes(rank):
    return [{"axis": axis, "keepdims": keepdims} for axis in axes_for(rank) for keepdims in (False, True)]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", *FLOATS, *COMPLEX])
@pytest.mark.parametrize("name", NAMES)
def test_nan_is_left_out(name, dtype, rng):
    for layout, array in every_layout(rng, dtype, "nan", SHAPES):
        # a maximum of zeros of both signs is either; a broadcast array without NaN has another order of axes in memory
        compare = is_equal if name in ("nanmax", "nanmin") else is_near if layout == "broadcast" else is_same
        agree(getattr(lamina, name), getattr(np, name), [array], over_axes(array.ndim), compare)


@pytest.mark.parametrize("dtype", ["int8", *FLOATS, *COMPLEX])
@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
def test_places_and_what_is_all_nan(name, dtype, rng):
    for (_, array), again in itertools.product(every_layout(rng, dtype, True, SHAPES), (False, True)):
        array = sample(rng, array.shape, dtype, "nan") if again else array
        axes = [None, *range(-array.ndim, array.ndim)]
        cases = [{"axis": axis, "keepdims": keepdims} for axis in axes for keepdims in (False, True)]
        agree(getattr(lamina, name), getattr(np, name), [array], cases)
    with pytest.raises(ValueError, match="All-NaN slice encountered"):
        lamina.defn(lambda x: lamina.nanargmax(x, axis=1))(np.array([[np.nan, np.nan], [1, 2]]))


@pytest.mark.parametrize("name", NAMES)
def test_infinities(name, rng):
    array = np.array([[np.nan, np.inf, 1], [-np.inf, np.nan, 2], [-np.inf, np.inf, np.nan], [np.nan, np.nan, np.nan]])
    agree(getattr(lamina, name), getattr(np, name), [array], over_axes(2))
    agree(getattr(lamina, name), getattr(np, name), [array[:, :2].astype("complex64")], over_axes(2))


@pytest.mark.parametrize("name", NAMES)
def test_axes_and_dtypes_that_do_not_fit(name, rng):
    for shape in [(), (3, 4)]:
        cases = [{"axis": axis} for axis in wrong_axes(len(shape))]
        agree(getattr(lamina, name), getattr(np, name), [sample(rng, shape, "float64")], cases)
    if name not in ("nanmax", "nanmin"):
        # NumPy's nanvar drops an imaginary part on the way, with a warning
        dtypes = ["int64", "float64"] if name in ("nanvar", "nanstd") else ["int64", "float64", "complex128"]
        cases = [{"axis": 0, "dtype": np.dtype(dtype)} for dtype in dtypes]
        agree(getattr(lamina, name), getattr(np, name), [sample(rng, (3, 4), "float32", "nan")], cases)
        agree(getattr(lamina, name), getattr(np, name), [sample(rng, (3, 4), "int16")], cases)
    with pytest.raises(NotImplementedError, match="out is not supported"):
        getattr(lamina, name)([1.0], out=np.zeros(()))


def test_where_initial_and_ddof(rng):
    array = np.where(rng.random((3, 4)) < 0.3, np.nan, rng.integers(0, 5, (3, 4)))
    mask = rng.random((3, 4)) < 0.7
    for name in ("nansum", "nanprod", "nanmax", "nanmin"):
        cases = [{"axis": axis, "initial": 3, "where": where} for axis in (None, 0) for where in (True, mask)]
        agree(getattr(lamina, name), getattr(np, name), [array], cases)
    agree(lamina.nanmean, np.nanmean, [array], [{"axis": 0, "where": mask}])
    for name in ("nanvar", "nanstd"):
        cases = [
            {"axis": axis, "ddof": ddof, "where": where}
            for axis in (None, 0)
            for ddof in (1, 0.5, 3)
            for where in (True, mask)
        ]
        agree(getattr(lamina, name), getattr(np, name), [array], cases, is_near)
