"""Set functions: the distinct elements of an array, which are sorted, and membership."""

from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.build import broadcast_to, constant, emit, fresh, reshape, slice_axis, to_dtype
from lamina.trace.concrete import concrete, is_undecided
from lamina.trace.function import function
from lamina.trace.picked import nonzero, selected
from lamina.trace.reduction import array_of, filled, flat
from lamina.trace.value import Value

__all__ = [
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


@function
def unique_all(x: Any, /) -> UniqueAll:
    """The distinct elements, sorted, with the place of the first of each, the place of each element of x, and counts.

    ``values`` and ``counts`` have one axis, ``indices`` too: places in x's C order; ``inverse_indices`` has x's shape
    and gives each element's place in ``values``. Each NaN is distinct. How many there are depends on the elements:
    where a run alone knows them, ``values``, ``indices`` and ``counts`` have their length beside them.

    >>> import lamina
    >>> values, indices, inverse, counts = lamina.unique_all(lamina.asarray([5, 2, 5]))
    >>> values, indices
    (lamina.Array([2, 5], shape=(2,), dtype=int64), lamina.Array([1, 0], shape=(2,), dtype=int64))
    >>> inverse, counts
    (lamina.Array([1, 0, 1], shape=(3,), dtype=int64), lamina.Array([1, 2], shape=(2,), dtype=int64))

    (lamina.Array([1, 0, 1], shape=(3,), dtype=int64), lamina.Array([1, 2], shape=(2,), dtype=int64))
    """
    return distinct(x)


@function
def unique_counts(x: Any, /) -> UniqueCounts:
    """The distinct elements, sorted, and how often each is there: as in `lamina.unique_all`.

    >>> import lamina
    >>> lamina.unique_counts(lamina.asarray([5, 2, 5])).counts
    lamina.Array([1, 2], shape=(2,), dtype=int64)
    """
    found = distinct(x)
    return UniqueCounts(found.values, found.counts)


@function
def unique_inverse(x: Any, /) -> UniqueInverse:
    """The distinct elements, sorted, and the place of each element of x among them: as in `lamina.unique_all`.

    >>> import lamina
    >>> lamina.unique_inverse(lamina.asarray([5, 2, 5])).inverse_indices
    lamina.Array([1, 0, 1], shape=(3,), dtype=int64)
    """
    found = distinct(x)
    return UniqueInverse(found.values, found.inverse_indices)


@function
def unique_values(x: Any, /) -> Value:
    """The distinct elements, sorted: as in `lamina.unique_all`.

    >>> import lamina
    >>> lamina.unique_values(lamina.asarray([[5.0, 2.0], [2.0, 5.0]]))
    lamina.Array([2., 5.], shape=(2,), dtype=float64)
    """
    return distinct(x).values  # type: ignore[no-any-return]


def distinct(x: Any, *, equal_nan: bool = False) -> UniqueAll:
    """The distinct elements as `unique_all` has them; with `equal_nan` all NaNs are one."""
    value = array_of(x)
    if is_undecided(value):
        return _when_it_runs(value, equal_nan)
    instead = "lamina.sort, whose result has x's shape, or lamina.runtime_call with a bound for the shape"
    elements = concrete(value, "the distinct elements", instead)
    # NumPy sorts its own dtypes alone; a wider one has the same order
    wide = dt.cast(elements, _WIDE.get(value.dtype, value.dtype))
    values, indices, inverse, counts = np.unique(
        wide, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan
    )
    found = (dt.cast(values, value.dtype), indices, inverse.reshape(value.shape), counts)
    return UniqueAll(*(fresh(each) for each in found))


def _when_it_runs(value: Value, equal_nan: bool) -> UniqueAll:
    """The elements in order: each that differs from the one before it is a new one."""
    line = flat(value)
    extent = line.shape[0]
    if not extent:
        none = filled(0, dt.int64, (0,))
        return UniqueAll(filled(0, value.dtype, (0,)), none, filled(0, dt.int64, value.shape), none)
    order = emit("argsort", line, 0, False)
    ordered = emit("gather", line, (order,))
    rest, before = slice_axis(ordered, 0, 1, extent - 1), slice_axis(ordered, 0, 0, extent - 1)
    differs = emit("not_equal", rest, before)
    if equal_nan and value.dtype.kind in ("float", "complex"):
        differs = emit("logical_and", differs, emit("logical_not", emit("isnan", before)))  # NaN is last
    is_new = emit("concat", (filled(True, dt.bool, (1,)), differs), 0)
    (starts,) = nonzero(is_new)
    ends = FUNCTIONS["concat"]([starts[1:], filled(extent, dt.int64, (1,))])
    places = FUNCTIONS["cumulative_sum"](emit("cast", is_new, dt.int64)) - 1
    inverse = emit("scatter", filled(0, dt.int64, (extent,)), (order,), places, "set")
    return UniqueAll(
        selected(ordered, is_new, 0, False),
        selected(order, is_new, 0, False),
        reshape(inverse, value.shape),
        FUNCTIONS["subtract"](ends, starts),
    )


_WIDE = {dt.bfloat16: dt.float32, dt.int4: dt.int8, dt.uint4: dt.uint8}


@function
def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Value:
    """Whether each element of x1 equals one of x2; with ``invert`` whether it equals none. NaN equals nothing.

    Elements are compared in the dtype in which x1 and x2 meet, of Python numbers too.

    >>> import lamina
    >>> lamina.isin(lamina.asarray([1, 2, 5]), lamina.asarray([5, 1]))
    lamina.Array([ True, False,  True], shape=(3,), dtype=bool)
    """
    elements, among = array_of(x1, "x1"), flat(array_of(x2, "x2"))
    dtype = dt.promote(elements.dtype, among.dtype)
    if among.shape == (0,):
        return filled(bool(invert), dt.bool, elements.shape)
    elements, ordered = to_dtype(elements, dtype), emit("sort", to_dtype(among, dtype), 0)
    last = broadcast_to(constant(among.shape[0] - 1, dt.int64), elements.shape)
    places = emit("minimum", emit("searchsorted", ordered, elements, "left"), last)
    found = emit("gather", ordered, (places,))
    return emit("not_equal" if invert else "equal", found, elements)
