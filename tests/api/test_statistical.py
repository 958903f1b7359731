"""Sums, extremes, means, variances and running totals against NumPy, bit for bit."""

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import (
    COMPLEX,
    FLOATS,
    NUMPY_DTYPES,
    agree,
    axes_for,
    every_layout,
    is_equal,
    is_near,
    is_same,
    quiet,
    sample,
    wrong_axes,
)

FEW_DTYPES = ["bool", "int8", "uint64", *FLOATS, *COMPLEX]
REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std", "ptp"]


def over_axes(rank, **more):
    return [{"axis": axis, "keepdims": keepdims, **more} for axis in axes_for(rank) for keepdims in (False, True)]


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in REDUCTIONS for dtype in (FEW_DTYPES if name in ("var", "std", "ptp") else NUMPY_DTYPES)],
)
def test_reductions_are_numpys_bit_for_bit(name, dtype, rng):
    for layout, array in every_layout(rng, dtype):
        # NumPy's buffered cast keeps the axes of a broadcast array in order, and a cast of its own doesn't
        cast = name in ("mean", "var", "std") and dtype not in ("float32", "float64", *COMPLEX)
        compare = is_near if layout == "broadcast" and cast else is_same
        agree(getattr(lamina, name), getattr(np, name), [array], over_axes(array.ndim), compare)


@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_nan_infinity_and_signed_zeros(name, dtype, rng):
    for _, array in every_layout(rng, dtype, special=True, shapes=[(), (1,), (7,), (3, 4)]):
        agree(getattr(lamina, name), getattr(np, name), [array], over_axes(array.ndim))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_long_sums_are_added_in_numpys_order(name, dtype, rng):
    # longer than NumPy's blocks of pairwise sums and its buffers
    for array in (sample(rng, (20_001,), dtype), sample(rng, (150, 130), dtype), sample(rng, (130, 150), dtype).T):
        agree(getattr(lamina, name), getattr(np, name), [array], [{"axis": axis} for axis in (None, 0, -1)])


def test_one_mean_of_float16_is_rounded_once_and_an_array_of_them_twice():
    # the mean is just above 2049, which lies between two numbers of float16 and is what float32 rounds it to
    array = np.where(np.arange(8193) < 4097, 2050, 2048).astype("float16")
    assert float(array.mean()) == 2050 and array[:, None].mean(axis=0).tolist() == [2048]
    agree(lamina.mean, np.mean, [array], [{}, {"keepdims": True}])
    agree(lamina.mean, np.mean, [array[:, None]], [{"axis": 0}, {"axis": None}])


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_that_do_not_fit_are_numpys_errors(name, rng):
    for shape in [(), (3,), (3, 4), (2, 0, 3)]:
        array = sample(rng, shape, "float64")
        agree(getattr(lamina, name), getattr(np, name), [array], [{"axis": axis} for axis in wrong_axes(len(shape))])
    with pytest.raises(ValueError, match=r"an axis is there twice in axis \(1, -1\) of an array of 2 axes"):
        getattr(lamina, name)(np.ones((2, 3)), axis=(1, -1))
    with pytest.raises(TypeError, match="must be an integer, but it is True"):
        getattr(lamina, name)(lamina.asarray([1.0, 2.0]), axis=True)
    with pytest.raises(NotImplementedError, match=f"lamina.{name}: out is not supported"):
        getattr(lamina, name)(lamina.asarray([1.0, 2.0]), out=np.zeros(()))


@pytest.mark.parametrize("given", ["bool", "int8", "uint8", "int64", "float16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "cumulative_sum", "cumulative_prod"])
def test_dtype_is_that_of_the_sum(name, given, rng):
    wanted = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64", "complex128"]
    if given == "complex64":
        wanted = ["complex64", "complex128"]  # NumPy drops the imaginary part with a warning
    array = np.abs(sample(rng, (3, 4), given)).astype(given)  # a negative float has no unsigned integer
    agree(
        getattr(lamina, name),
        getattr(np, name),
        [array],
        [{"axis": axis, "dtype": np.dtype(dtype)} for dtype in wanted for axis in (0, 1)],
    )
    if not name.startswith("cumulative"):
        agree(getattr(lamina, name), getattr(np, name), [array], [{"dtype": np.dtype(dtype)} for dtype in wanted])


def test_dtype_may_be_lamina_s():
    assert lamina.sum(lamina.asarray([1.5, 2.0]), dtype=lamina.float32).dtype == lamina.float32
    with pytest.raises(TypeError, match="lamina has no string dtype"):
        lamina.sum(lamina.asarray([1.5, 2.0]), dtype="S4")


def whole(rng, shape, dtype):
    """Small whole numbers: sums of some of them are exact in any order."""
    return rng.integers(0, 4, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std"])
def test_where_leaves_elements_out(name, dtype, rng):
    start = {"initial": 2} if name in ("max", "min") else {}
    # NumPy sums runs of elements, lamina zeros between them
    compare = is_near if name in ("var", "std") else is_equal
    for rows, columns in [(3, 4), (0, 4), (3, 0)]:
        array = whole(rng, (rows, columns), dtype)
        masks = [rng.random(shape) < 0.6 for shape in [(rows, columns), (columns,), (rows, 1), ()]]
        axes = (None, 0, 1, (0, 1))
        cases = [{"axis": a, "keepdims": a == 1, "where": mask, **start} for mask in masks for a in axes]
        agree(getattr(lamina, name), getattr(np, name), [array], cases, compare)
    array = whole(rng, (3, 4), dtype)
    agree(
        lambda x, mask: getattr(lamina, name)(x, axis=0, where=mask, **start),
        lambda x, mask: getattr(np, name)(x, axis=0, where=mask, **start),
        [array, array > 1],
        [{}],
        compare,
    )


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_initial_begins(name, rng):
    initials = [0, 3, 2.5, True, np.float64(2.0), np.array(1), -1, 300, 1j]
    for dtype in NUMPY_DTYPES:
        # NumPy asks Python whether a number is true, but not what is no whole one
        cases = [{"initial": initial} for initial in initials if dtype != "bool" or initial not in (2.5, 1j)]
        for shape, axis in [((3, 4), 0), ((3, 4), None), ((3, 0), 1), ((), None)]:
            array = whole(rng, shape, dtype)
            given = [{"axis": axis, "keepdims": axis == 1, **case} for case in cases]
            agree(getattr(lamina, name), getattr(np, name), [array], given, is_equal)


@pytest.mark.parametrize(
    "case",
    [
        {"where": np.ones((2, 3, 4), bool)},
        {"where": [True, False]},
        {"initial": [1.0]},
        {"initial": np.zeros((2, 2))},
        {"initial": 1j},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["sum", "max"])
def test_where_and_initial_that_do_not_fit(name, case):
    agree(getattr(lamina, name), getattr(np, name), [np.ones((3, 4))], [case])


def test_where_of_another_shape_is_named():
    with pytest.raises(
        ValueError, match=r"lamina.sum: where has shape \(2,\), which doesn't broadcast to shape \(2, 1\)"
    ):
        lamina.sum(np.ones((2, 1)), where=[True, False])


def test_an_extreme_of_some_elements_needs_a_start():
    agree(lamina.max, np.max, [np.ones((3, 4))], [{"where": np.ones((3, 4), bool)}, {"where": [True]}])
    with pytest.raises(ValueError, match=r"lamina.min: min has no value where no element is left: give initial"):
        lamina.min(lamina.asarray([1, 2]), where=[True, False])


@pytest.mark.parametrize("dtype", ["int8", "bool", *FLOATS, *COMPLEX])
@pytest.mark.parametrize("name", ["var", "std"])
def test_corrections(name, dtype, rng):
    array = sample(rng, (3, 4), dtype)
    for correction in (1, 0.5, 3, 4, 7, np.float32(0.3)):
        agree(
            lambda x, correction=correction, **case: getattr(lamina, name)(x, correction=correction, **case),
            lambda x, correction=correction, **case: getattr(np, name)(x, ddof=correction, **case),
            [array],
            over_axes(2),
        )
        agree(
            lambda x, correction: getattr(lamina, name)(x, axis=0, correction=correction),
            lambda x, correction: getattr(np, name)(x, axis=0, ddof=correction),
            [array, np.asarray(correction)[()]],
            [{}],
        )


def test_traced_numbers_as_arguments():
    # a number argument is traced: it is no part of the key
    spread = lamina.defn(lambda x, ddof, start: (x.var(ddof=ddof), x.sum(initial=start)))
    x = np.array([1.0, 2.0, 4.0, 5.0])
    for ddof, start in [(0, 0), (1, 3), (2, 10)]:
        variance, total = spread(x, ddof, start)
        assert variance == x.var(ddof=ddof) and total == x.sum(initial=start)
        assert type(variance) is type(total) is np.float64


# Cases from public reports


@pytest.mark.parametrize("name", ["max", "min"])
def test_t21_nan_wins_in_each_place(name):
    for length in range(3, 41):
        extremes = lamina.defn(getattr(lamina, name))
        for place in range(length):
            array = np.arange(float(length))
            array[place] = np.nan
            assert np.isnan(np.asarray(getattr(lamina, name)(array))) and np.isnan(extremes(array))


def test_t21_values():
    agree(
        lambda x: (lamina.max(x), lamina.min(x)), lambda x: (np.max(x), np.min(x)), [np.array([3, np.nan, 1, 5])], [{}]
    )


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_t23_empty_extremes(dtype):
    for shape, axis in [
        ((0, 2), -1),
        ((3, 0, 2), -1),
        ((2, 0), -1),
        ((0,), 0),
        ((0,), None),
        ((2, 0), ()),
        ((0, 3), (0, 1)),
    ]:
        for name in ("max", "min"):
            agree(getattr(lamina, name), getattr(np, name), [np.zeros(shape, dtype)], [{"axis": axis}])


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_t23_empty_sums(dtype):
    for name in ("sum", "prod", "mean", "var", "std"):
        agree(getattr(lamina, name), getattr(np, name), [np.zeros((2, 0), dtype)], over_axes(2))


def test_t23_the_error_comes_while_tracing_and_names_the_axis():
    with pytest.raises(ValueError, match=r"lamina.max: axes \(1,\) of shape \(2, 0\) have no element"):
        lamina.trace(lambda x: lamina.max(x, axis=-1), lamina.Spec("float64", (2, 0)))


# Running totals


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_running_totals(name, dtype, rng):
    for _, array in every_layout(rng, dtype, special=True):
        axes = [None, *range(-array.ndim, array.ndim)]
        cases = [{"axis": axis, "include_initial": first} for axis in axes for first in (False, True)]
        agree(getattr(lamina, name), getattr(np, name), [array], cases)


def test_running_totals_of_bools_in_bool(rng):
    array = sample(rng, (3, 4), "bool")
    for name in ("cumulative_sum", "cumulative_prod"):
        agree(getattr(lamina, name), getattr(np, name), [array], [{"axis": 0, "dtype": bool, "include_initial": True}])


def test_running_totals_refuse_axes(rng):
    agree(lamina.cumulative_sum, np.cumulative_sum, [np.ones((2, 3))], [{}, {"axis": 2}, {"axis": -3}, {"axis": 1.0}])
    agree(lamina.cumulative_prod, np.cumulative_prod, [np.ones(())], [{"axis": 0}, {"axis": 1}, {}])
    with pytest.raises(TypeError, match="'tuple' object cannot be interpreted as an integer"):
        lamina.cumulative_sum(lamina.asarray([1, 2]), axis=(0,))


# Averages


@pytest.mark.parametrize("weighing", ["int64", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex64"])
def test_averages(dtype, weighing, rng):
    array = sample(rng, (2, 3, 4), dtype)
    for axis in [None, 0, -1, (0, 2), (2, 0), (2, 1, 0)]:
        named = range(3) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        shapes = [(2, 3, 4), *([] if axis is None else [tuple((2, 3, 4)[i] for i in named)])]
        for shape in shapes:
            weights = rng.integers(1, 5, shape).astype(weighing)
            cases = [{"axis": axis, "returned": returned, "keepdims": returned} for returned in (False, True)]
            agree(
                lambda x, weights, **case: lamina.average(x, weights=weights, **case),
                lambda x, weights, **case: np.average(x, weights=weights, **case),
                [array, weights],
                cases,
            )
        agree(lamina.average, np.average, [array], [{"axis": axis, "returned": True}])


@pytest.mark.parametrize(
    ("axis", "weights"),
    [
        (None, [1, 2]),
        (0, [1, 2, 3]),
        (1, [1, -1, 0]),
        ((0, 1), [[1, 2, 3]]),
        (None, [[0, 0, 0], [1, -2, 1]]),
        (5, None),
    ],
)
def test_weights_that_do_not_fit(axis, weights):
    agree(lamina.average, np.average, [np.ones((2, 3))], [{"axis": axis, "weights": weights}])


# Dtypes that NumPy hasn't


def test_integers_of_four_bits_are_summed_in_64():
    x = lamina.asarray(np.array([[-8, 7, 7], [1, 2, 3]], ml_dtypes.int4))
    same = np.array([[-8, 7, 7], [1, 2, 3]], np.int8)
    for name in ("sum", "prod", "mean", "var", "std", "cumulative_sum"):
        is_same(getattr(lamina, name)(x, axis=0), getattr(np, name)(same, axis=0), name)
    for name in ("max", "min"):
        result = getattr(lamina, name)(x, axis=1)
        assert result.dtype == lamina.int4
        assert np.asarray(result).tolist() == getattr(same, name)(axis=1).tolist()
    unsigned = lamina.sum(lamina.asarray(np.array([15, 15], ml_dtypes.uint4)))
    assert unsigned.dtype == lamina.uint64 and int(unsigned) == 30


def test_bfloat16_is_summed_in_float32_and_rounded(rng):
    exact = sample(rng, (5, 6), "float32").astype(ml_dtypes.bfloat16)
    x, wide = lamina.asarray(exact), exact.astype(np.float32)
    for name in ("sum", "prod", "max", "min", "mean"):
        for axis in (None, 0, 1):
            result = getattr(lamina, name)(x, axis=axis)
            assert result.dtype == lamina.bfloat16
            expected = getattr(np, name)(wide, axis=axis).astype(ml_dtypes.bfloat16)
            np.testing.assert_array_equal(np.asarray(result).astype(np.float32), expected.astype(np.float32))
    for name in ("var", "std"):  # each step is rounded to 8 bits
        result = np.asarray(getattr(lamina, name)(x)).astype(float)
        np.testing.assert_allclose(result, getattr(np, name)(wide), rtol=0.03)


# What is taken for an array


def test_numbers_sequences_and_numpy_arrays():
    assert int(lamina.sum(3)) == 3 and lamina.sum(True).dtype == lamina.int64
    assert lamina.mean([[1, 2], [3, 4]], axis=1).dtype == lamina.float64
    assert lamina.max(np.float32(2)).dtype == lamina.float32
    for wrong in (None, "abc", object()):
        with pytest.raises(TypeError, match=r"lamina.sum: x must be an array or a number"):
            lamina.sum(wrong)


def test_methods_are_the_functions(rng):
    array = sample(rng, (3, 4), "float32")

    def methods(x):
        return (
            x.sum(0),
            x.sum(axis=(0, 1), keepdims=True),
            x.prod(1),
            x.max(0),
            x.min(axis=1, initial=3.0),
            x.mean(0, dtype=np.float64),
            x.var(0, ddof=1),
            x.std(axis=None),
            x.cumsum(),
            x.cumprod(1),
        )

    agree(methods, methods, [array], [{}])


def test_quiet_results_of_nothing():
    # no warning is given: NumPy's are errors here
    assert np.isnan(np.asarray(lamina.mean(lamina.zeros((0,)))))
    assert np.isnan(np.asarray(quiet(np.mean, np.zeros(0))))
