"""Rows of products summed over axes."""

from typing import Any

import numpy as np

from lamina.expr.ops.row import ALL, ORDER, Family, Op, Shape, same_dtype


def _matmul_shape(x: Any, y: Any) -> Shape:
    if len(x.shape) < 2 or len(x.shape) != len(y.shape) or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        raise ValueError(
            f"matmul: shapes {x.shape} and {y.shape} must be (…, n, k) and (…, k, m) with the same leading extents"
        )
    return (*x.shape[:-1], y.shape[-1])


ROWS = [
    Op(
        name="matmul",
        params=("x", "y"),
        arity=2,
        family=Family.CONTRACTION,
        dtype=same_dtype("matmul", ALL),
        shape=_matmul_shape,
        facts={},
        meaning=np.matmul,
        doc="The matrix products of two stacks of matrices with the same leading extents.",
        tolerance=ORDER,
    ),
]
