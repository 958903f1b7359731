"""NumPy's functions of dtypes and shapes alone: they need no elements, so NumPy itself answers, for stand-ins."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.array import Array, to_numpy
from lamina.expr.containers import map_leaves
from lamina.numpy_protocol.table import means, numpys
from lamina.trace.build import NUMBER_TYPES
from lamina.trace.value import Kind, Value

NAMES = (
    "can_cast",
    "common_type",
    "diag_indices_from",
    "einsum_path",
    "iscomplexobj",
    "isrealobj",
    "ndim",
    "result_type",
    "shape",
    "size",
    "tril_indices_from",
    "triu_indices_from",
)


def _stand_in(leaf: Any) -> Any:
    """What has the dtype, shape and kind of a value, and takes no memory."""
    if type(leaf) is Array:
        return to_numpy(leaf)
    if type(leaf) is not Value:
        return leaf
    if leaf.kind is Kind.NUMBER:
        return NUMBER_TYPES[leaf.dtype](0)
    zero = np.zeros((), leaf.dtype.numpy)
    return zero[()] if leaf.kind is Kind.SCALAR else np.broadcast_to(zero, leaf.shape)


def _of_stand_ins(name: str) -> Callable[..., Any]:
    @means(name)
    def meaning(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = map_leaves(_stand_in, (args, kwargs))
        return numpys(name)(*args, **kwargs)

    return meaning


for _name in NAMES:
    _of_stand_ins(_name)
