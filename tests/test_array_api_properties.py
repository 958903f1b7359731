"""lamina through hypothesis' strategies for array API namespaces: whatever they draw, the result is NumPy's."""

import operator
import warnings

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import lamina as xp
from lamina.array import Array
from lamina.dtype import DType
from tests.support.array_api_dtypes import (
    ALL,
    BINARY_DTYPES,
    NUMERIC,
    PROMOTION,
    REAL,
    UNARY_DTYPES,
    is_same,
    rows,
    to_numpy,
)

with warnings.catch_warnings():
    warnings.simplefilter("error")
    xps = make_strategies_namespace(xp)

# Each of the many functions with a few draws.
few = hypothesis.settings(max_examples=20)
shapes = xps.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
dtypes = st.sampled_from(ALL)

NUMPYS_NAME = {
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
    "concat": "concatenate",
    "permute_dims": "transpose",
    "pow": "power",
    **{name: name.replace("a", "arc", 1) for name in ("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh")},
}


def numpys(name):
    return getattr(np, NUMPYS_NAME.get(name, name))


def outcome(call):
    """What a call gives, or the error class of NumPy that it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError) as error:
            kinds = (IndexError, ValueError, TypeError, OverflowError, ZeroDivisionError)
            return next(kind for kind in kinds if isinstance(error, kind))


def agree(own, theirs):
    """Whether lamina's outcome is NumPy's."""
    got, expected = outcome(own), outcome(theirs)
    if isinstance(expected, type) or isinstance(got, type):
        return got is expected
    if isinstance(expected, tuple | list):
        return len(got) == len(expected) and all(map(is_same, got, expected))
    return is_same(got, expected)


def test_the_strategies_find_everything():
    assert xps.name == "lamina" and xps.api_version == "2024.12"
    assert repr(xps) == "make_strategies_namespace(lamina)"


@hypothesis.given(st.data())
@few
def test_dtypes_are_drawn_from_lamina(data):
    kinds = {
        xps.scalar_dtypes: ALL,
        xps.boolean_dtypes: (xp.bool,),
        xps.numeric_dtypes: NUMERIC,
        xps.real_dtypes: REAL,
        xps.integer_dtypes: NUMERIC[:4],
        xps.unsigned_integer_dtypes: NUMERIC[4:8],
        xps.floating_dtypes: NUMERIC[8:10],
        xps.complex_dtypes: NUMERIC[10:],
    }
    for strategy, expected in kinds.items():
        dtype = data.draw(strategy())
        assert isinstance(dtype, DType) and dtype in expected
        value = data.draw(xps.from_dtype(dtype))
        x = xp.full((2,), value, dtype=dtype)
        assert x.dtype == dtype and is_same(x, np.full(2, value, dtype.numpy))


@hypothesis.given(st.data())
def test_arrays_are_lamina_arrays(data):
    dtype, shape = data.draw(dtypes), data.draw(shapes)
    unique = data.draw(st.booleans()) and dtype in REAL
    x = data.draw(xps.arrays(dtype, shape, unique=unique))
    assert type(x) is Array and (x.dtype, x.shape) == (dtype, shape)
    assert is_same(xp.from_dlpack(x), to_numpy(x)) and is_same(xp.asarray(to_numpy(x)), to_numpy(x))
    if unique:
        assert int(xp.sum(xp.unique_counts(x).counts)) == xp.unique_values(x).size == x.size


@pytest.mark.parametrize(("name", "taken", "rule"), rows(UNARY_DTYPES), ids=lambda v: v if isinstance(v, str) else "")
@hypothesis.given(data=st.data())
@few
def test_unary_functions(name, taken, rule, data):
    x = data.draw(xps.arrays(st.sampled_from(taken), shapes))
    assert agree(lambda: getattr(xp, name)(x), lambda: numpys(name)(to_numpy(x)))


@st.composite
def operands(draw, taken):
    """Two arrays, or an array and a Python number, whose dtypes promote in the standard and whose shapes broadcast."""
    first, second = draw(st.sampled_from([pair for pair in PROMOTION if set(pair) <= set(taken)]))
    both = draw(xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=3, min_side=0)).input_shapes
    x = draw(xps.arrays(first, both[0]))
    if draw(st.booleans()) or first.kind == "complex":
        return x, draw(xps.arrays(second, both[1]))
    number = {"bool": st.booleans(), "float": st.floats() | st.integers(-3, 3)}.get(first.kind, st.integers(-3, 300))
    pair = (x, draw(number))
    return pair if draw(st.booleans()) else pair[::-1]


@pytest.mark.parametrize(("name", "taken", "rule"), rows(BINARY_DTYPES), ids=lambda v: v if isinstance(v, str) else "")
@hypothesis.given(data=st.data())
@few
def test_binary_functions(name, taken, rule, data):
    given = data.draw(operands(taken))
    plain = [to_numpy(x) if isinstance(x, Array) else x for x in given]
    assert agree(lambda: getattr(xp, name)(*given), lambda: numpys(name)(*plain))


IN_PLACE = (
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"),
    *("iand", "ior", "ixor", "ilshift", "irshift"),
)


@pytest.mark.parametrize("name", IN_PLACE)
@hypothesis.given(data=st.data())
@few
def test_operators_in_place(name, data):
    base = data.draw(xps.arrays(dtypes, st.just((4, 3))))
    key = data.draw(xps.indices((4, 3), allow_newaxis=True))
    target, memory = base[key], to_numpy(base)
    other = data.draw(xps.arrays(dtypes, st.sampled_from([(), target.shape])) | st.integers(-2, 2) | st.floats(-2, 2))
    expected = memory.copy()

    view = expected[key]
    if not isinstance(view, np.ndarray):
        view = expected[(*key, ...)]
    function = getattr(operator, name)
    mine = outcome(lambda: function(target, other))
    theirs = outcome(lambda: function(view, to_numpy(other) if isinstance(other, Array) else other))
    assert mine is target if isinstance(theirs, np.ndarray) else mine is theirs
    assert is_same(base, expected) and np.shares_memory(to_numpy(target), memory) == bool(target.size)


# Indices


@hypothesis.given(data=st.data())
def test_indices_read_and_write(data):
    shape = data.draw(xps.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
    x = data.draw(xps.arrays(dtypes, shape))
    key = data.draw(xps.indices(shape, allow_newaxis=True, allow_ellipsis=True))
    expected = to_numpy(x).copy()
    part = x[key]
    assert is_same(part, expected[key])
    value = data.draw(xps.arrays(x.dtype, st.sampled_from([part.shape, ()])))
    x[key] = value
    expected[key] = to_numpy(value)
    assert is_same(x, expected)


@hypothesis.given(data=st.data())
def test_masks_and_index_arrays_read_and_write(data):
    shape = data.draw(xps.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    x = data.draw(xps.arrays(dtypes, shape))
    expected = to_numpy(x).copy()
    if data.draw(st.booleans()):
        key = data.draw(xps.arrays(xp.bool, shape[: data.draw(st.integers(1, len(shape)))]))
        plain = to_numpy(key)
    else:
        broadcast = data.draw(xps.mutually_broadcastable_shapes(len(shape), max_dims=2, max_side=3)).input_shapes
        axes = zip(shape, broadcast, strict=True)
        key = tuple([data.draw(xps.arrays(xp.int64, s, elements=st.integers(-n, n - 1))) for n, s in axes])
        plain = tuple(map(to_numpy, key))
    part = x[key]
    assert is_same(part, expected[plain])
    value = data.draw(xps.arrays(x.dtype, ()))
    x[key] = value
    expected[plain] = to_numpy(value)
    assert is_same(x, expected)
    assert is_same(part, np.asarray(to_numpy(part)))


# Functions of whole arrays


@st.composite
def axes_of(draw, rank):
    return draw(st.none() | xps.valid_tuple_axes(rank) | (st.integers(-rank, rank - 1) if rank else st.none()))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "std", "var", "all", "any", "argmax", "argmin"])
@hypothesis.given(data=st.data())
@few
def test_reductions(name, data):
    x = data.draw(xps.arrays(st.sampled_from(REAL), shapes))
    axis = data.draw(axes_of(x.ndim))
    if name.startswith("arg") and isinstance(axis, tuple):
        axis = axis[0] if axis else None
    given = {"axis": axis, "keepdims": data.draw(st.booleans())}
    assert agree(lambda: getattr(xp, name)(x, **given), lambda: getattr(np, name)(to_numpy(x), **given))


def moves(draw, x):
    """A function of the manipulation chapter with arguments for an array: its name, arguments and keywords."""
    axis = st.integers(-x.ndim, x.ndim - 1) if x.ndim else st.nothing()
    axes = list(range(x.ndim))
    calls = [
        st.tuples(st.just("permute_dims"), st.permutations(axes).map(lambda p: (tuple(p),)), st.just({})),
        st.tuples(st.just("flip"), st.just(()), st.fixed_dictionaries({"axis": axes_of(x.ndim)})),
        st.tuples(
            st.just("roll"),
            st.tuples(st.integers(-9, 9)),
            st.fixed_dictionaries({"axis": st.none() | axis}),
        ),
        st.tuples(
            st.just("expand_dims"),
            st.just(()),
            st.fixed_dictionaries({"axis": st.integers(-x.ndim - 1, x.ndim)}),
        ),
        st.tuples(st.just("tile"), st.tuples(st.lists(st.integers(0, 2), max_size=3).map(tuple)), st.just({})),
        st.tuples(
            st.just("repeat"),
            st.tuples(st.integers(0, 3)),
            st.fixed_dictionaries({"axis": st.none() | axis}),
        ),
        st.tuples(
            st.just("broadcast_to"),
            xps.broadcastable_shapes(x.shape, min_side=0, max_side=4).map(lambda s: (np.broadcast_shapes(s, x.shape),)),
            st.just({}),
        ),
        st.tuples(st.just("reshape"), st.permutations(x.shape).map(lambda p: (tuple(p),)), st.just({})),
    ]
    return draw(st.one_of(calls))


@hypothesis.given(data=st.data())
def test_manipulation(data):
    x = data.draw(xps.arrays(dtypes, xps.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
    name, args, kwargs = moves(data.draw, x)
    assert agree(lambda: getattr(xp, name)(x, *args, **kwargs), lambda: numpys(name)(to_numpy(x), *args, **kwargs))


@hypothesis.given(data=st.data())
def test_joining(data):
    x = data.draw(xps.arrays(dtypes, xps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)))
    others = [x, *data.draw(st.lists(xps.arrays(dtypes, x.shape), max_size=3))]
    plain = [to_numpy(o) for o in others]
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    for name in ("concat", "stack"):
        assert agree(lambda f=name: getattr(xp, f)(others, axis=axis), lambda f=name: numpys(f)(plain, axis=axis))
    assert agree(lambda: xp.broadcast_arrays(*others), lambda: np.broadcast_arrays(*plain))
    assert agree(lambda: xp.unstack(x, axis=axis), lambda: np.unstack(plain[0], axis=axis))


@hypothesis.given(data=st.data())
def test_sorting_and_searching(data):
    x = data.draw(xps.arrays(st.sampled_from(REAL), xps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    plain = to_numpy(x)
    assert agree(lambda: xp.sort(x, axis=axis), lambda: np.sort(plain, axis, stable=True))
    assert agree(lambda: xp.argsort(x, axis=axis), lambda: np.argsort(plain, axis, stable=True))
    ordered = xp.sort(xp.reshape(x, (-1,)))
    assert agree(lambda: xp.searchsorted(ordered, x), lambda: np.searchsorted(to_numpy(ordered), plain))
    for name in ("unique_counts", "unique_inverse", "unique_all"):
        assert agree(lambda f=name: getattr(xp, f)(x), lambda f=name: getattr(np, f)(plain))
    assert is_same(xp.unique_values(x), np.unique(plain, equal_nan=False))
    for name in ("nonzero", "count_nonzero"):
        assert agree(lambda f=name: getattr(xp, f)(x), lambda f=name: getattr(np, f)(plain))
    descending = xp.sort(x, axis=axis, descending=True)
    assert is_same(xp.take_along_axis(x, xp.argsort(x, axis=axis, descending=True), axis=axis), to_numpy(descending))


@hypothesis.given(data=st.data())
def test_running_totals_and_differences(data):
    x = data.draw(
        xps.arrays(st.sampled_from(NUMERIC), xps.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5))
    )
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    given = {"axis": axis, "include_initial": data.draw(st.booleans())}
    for name in ("cumulative_sum", "cumulative_prod"):
        assert agree(lambda f=name: getattr(xp, f)(x, **given), lambda f=name: getattr(np, f)(to_numpy(x), **given))
    n = data.draw(st.integers(0, 6))
    assert agree(lambda: xp.diff(x, axis=axis, n=n), lambda: np.diff(to_numpy(x), axis=axis, n=n))
