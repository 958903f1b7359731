"""Rows of reductions and cumulative ops: axes combined into one element, or into each partial result."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr.ops.row import (
    ALL,
    BOOL,
    DISCRETE,
    NUMERIC,
    ORDER,
    ZEROS,
    Fact,
    Family,
    Kinds,
    Op,
    Shape,
    Tolerance,
    expect_axis,
    expect_kind,
    reduction,
    shape_along,
)

# A reduction whose combining step is associative for a dtype may be split and reordered without changing a bit.
_EXACT_SUM: Mapping[Fact, Kinds] = {Fact.ASSOCIATIVE: DISCRETE}
_EXACT: Mapping[Fact, Kinds] = {Fact.ASSOCIATIVE: ALL}


def _keep(ufunc: np.ufunc) -> Callable[..., Any]:
    # dtype= keeps narrow integers narrow: whoever wants NumPy's wider sum casts first
    return lambda x, axis: ufunc.reduce(x, axis=axis, dtype=x.dtype)


def _along(name: str, meaning: Callable[..., Any], doc: str) -> Op:
    """A row of ``name(x, axis)``: the place of an extreme element of one axis."""

    def shape(x: Any, axis: int) -> Shape:
        expect_axis(name, axis, x.shape)
        rest: Shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        if x.shape[axis] == 0:
            raise ValueError(f"{name}: axis {axis} of shape {x.shape} has no element, and {name} has no value for none")
        return rest

    def dtype(x: Any, axis: int) -> DType:
        expect_kind(name, x, ALL)
        return dt.int64

    def place(x: np.ndarray, axis: int) -> Any:
        return meaning(x, axis=axis) if x.size else np.empty(shape(x, axis), np.int64)

    return Op(
        name=name,
        params=("x", "axis"),
        arity=1,
        family=Family.REDUCTION,
        dtype=dtype,
        shape=shape,
        facts={},
        meaning=place,
        doc=doc,
    )


def _cumulative(
    name: str, ufunc: np.ufunc, kinds: Kinds, doc: str, facts: Mapping[Fact, Kinds], tolerance: Tolerance
) -> Op:
    """A row of ``name(x, axis)``: result element j combines the elements up to j."""

    def dtype(x: Any, axis: int) -> DType:
        expect_kind(name, x, kinds)
        return x.dtype  # type: ignore[no-any-return]

    return Op(
        name=name,
        params=("x", "axis"),
        arity=1,
        family=Family.CUMULATIVE,
        dtype=dtype,
        shape=shape_along(name),
        facts=facts,
        meaning=lambda x, axis: ufunc.accumulate(x, axis=axis, dtype=x.dtype),
        doc=doc,
        tolerance=tolerance,
    )


ROWS = [
    reduction("sum", NUMERIC, _keep(np.add), "The sum; 0 of none. Integers wrap.", facts=_EXACT_SUM, tolerance=ORDER),
    reduction(
        "prod", NUMERIC, _keep(np.multiply), "The product; 1 of none. Integers wrap.", facts=_EXACT_SUM, tolerance=ORDER
    ),
    reduction(
        "max", ALL, _keep(np.maximum), "The greatest; NaN if any is NaN.", empty=False, facts=_EXACT, tolerance=ZEROS
    ),
    reduction(
        "min", ALL, _keep(np.minimum), "The least; NaN if any is NaN.", empty=False, facts=_EXACT, tolerance=ZEROS
    ),
    reduction("any", BOOL, np.any, "Whether one is true; false of none.", facts=_EXACT),
    reduction("all", BOOL, np.all, "Whether all are true; true of none.", facts=_EXACT),
    reduction(
        "bitwise_and_reduce", DISCRETE, _keep(np.bitwise_and), "Bits set in all; all bits of none.", facts=_EXACT
    ),
    reduction(
        "bitwise_or_reduce", DISCRETE, _keep(np.bitwise_or), "Bits set in one or more; no bit of none.", facts=_EXACT
    ),
    reduction("bitwise_xor_reduce", DISCRETE, _keep(np.bitwise_xor), "Bits set in an odd number.", facts=_EXACT),
    _along("argmax", np.argmax, "Where the first greatest element is, the first NaN before all."),
    _along("argmin", np.argmin, "Where the first least element is, the first NaN before all."),
    _cumulative("cumulative_sum", np.add, NUMERIC, "The sums of the elements up to each.", _EXACT_SUM, ORDER),
    _cumulative("cumulative_prod", np.multiply, NUMERIC, "The products of the elements up to each.", _EXACT_SUM, ORDER),
    _cumulative("cumulative_max", np.maximum, ALL, "The greatest of the elements up to each.", _EXACT, ZEROS),
    _cumulative("cumulative_min", np.minimum, ALL, "The least of the elements up to each.", _EXACT, ZEROS),
]
