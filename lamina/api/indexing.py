"""Indexing: ``x[key]`` in NumPy's whole index language, elements by index arrays, and their functional update."""

from typing import Any

from lamina.trace.build import as_value
from lamina.trace.function import function
from lamina.trace.index import parse, select
from lamina.trace.value import Kind

__all__ = ["getitem"]


@function
def getitem(x: Any, key: Any, /) -> Any:
    """``x[key]`` with NumPy's meaning of every key: integers, slices, None, ``...``, index arrays and masks.

    Integers, slices, None and ``...`` give a view. Integers may be traced: a negative one counts from the end at run
    time, too. A mask must be known while tracing, since the shape of the result depends on it.

    Raises IndexError for what NumPy refuses, at run time where the indices are traced.

    >>> getitem([[1, 2, 3], [4, 5, 6]], (slice(None), [0, 2]))
    lamina.Array([[1, 3],
                  [4, 6]], shape=(2, 2), dtype=int64)
    """
    value = as_value(x)
    if value.kind is Kind.NUMBER:
        raise TypeError(f"a Python number has no elements to index, but it was indexed with {key!r}")
    return select(value, parse(key, value.shape))
