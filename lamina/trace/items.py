"""``x.item()`` and ``x.tolist()`` of traced arrays: Python numbers, and nested lists of them."""

import math
import operator
from typing import Any

import numpy as np

from lamina.operators import FUNCTIONS
from lamina.trace.build import NUMBER_TYPES, as_value, node_of, reshape
from lamina.trace.numbers import as_python
from lamina.trace.objects import made
from lamina.trace.state import Decides, Untraceable
from lamina.trace.value import Kind, Value

_MOST = 1000  # elements of a list: each is a node of its own


def item_(x: Any, /, *index: Any) -> Value:
    """The one element at an index, all of it or a place in C order, as a Python number; without an index, the only one.

    Raises what NumPy raises: `ValueError` for an index of another rank, or none where there are several elements,
    `IndexError` for one outside, at run time where a run tells, and `TypeError` for one that is no integer.
    """
    value = _no_number(x, "item")
    if len(index) == 1 and isinstance(index[0], tuple):
        (index,) = index
    if not index:
        if math.prod(value.shape) != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return as_python(reshape(value, ()))
    places = tuple(map(_place, index))
    if len(places) == 1 and len(value.shape) != 1:
        (place,), size = places, math.prod(value.shape)
        if type(place) is Value:
            return as_python(FUNCTIONS["getitem"](reshape(value, (size,)), place))
        if not -size <= place < size:
            raise IndexError(f"index {place} is out of bounds for size {size}")
        places = tuple(map(int, np.unravel_index(place % size, value.shape))) if value.shape else ()
    if len(places) != len(value.shape):
        raise ValueError("incorrect number of indices for array")
    return as_python(FUNCTIONS["getitem"](value, places))


def tolist_(x: Any, /) -> Any:
    """The elements as Python numbers, in a list for each axis; without an axis, the number."""
    value = _no_number(x, "tolist")
    if math.prod(value.shape) > _MOST:
        raise Untraceable(f"tolist() of {math.prod(value.shape)} elements makes as many numbers, more than {_MOST}")
    if not value.shape:
        return as_python(value)

    def nested(*index: int) -> Any:
        if len(index) == len(value.shape):
            return as_python(FUNCTIONS["getitem"](value, index))
        return made([nested(*index, i) for i in range(value.shape[len(index)])])

    return nested()


def _no_number(x: Any, name: str) -> Value:
    value = as_value(x)
    if value.code is not None:
        raise Decides(f"{name}() of a number that may be Python's or NumPy's")
    if value.kind is Kind.NUMBER:
        raise AttributeError(f"{NUMBER_TYPES[value.dtype].__name__!r} object has no attribute {name!r}")
    node_of(value)  # which is an error for a value that escaped from its scope
    return value


def _place(index: Any) -> Any:
    """An index of one axis: an int, or a traced integer."""
    if type(index) is not Value:
        if isinstance(index, (bool, np.bool_)):
            raise TypeError("an integer is required")
        return operator.index(index)
    if index.shape or index.dtype.kind not in ("signed", "unsigned"):
        raise TypeError("an integer is required")
    return index
