"""NumPy's objects that are indexed to make arrays: ``np.mgrid[:n, :n]``, ``np.r_[0, x]``, ``np.c_[x, y]``.

They answer none of NumPy's protocols, so the rewritten source of a user's function asks here first.
"""

from typing import Any

import numpy as np

from lamina.api import joining
from lamina.operators import FUNCTIONS
from lamina.trace.bounded import Bounded, memory
from lamina.trace.build import as_value, common_dtype, reshape, to_dtype
from lamina.trace.value import Value

_PYTHONS = {"bool": bool, "signed": int, "unsigned": int, "float": float, "complex": complex}


def index_trick(thing: Any, key: Any) -> Any:
    """``thing[key]`` for a key with traced values; the numbers in its slices decide a shape, so they must be known."""
    if thing is not np.r_ and thing is not np.c_:
        return thing[_known(key)]
    items = key if isinstance(key, tuple) else (key,)
    if any(isinstance(item, str) for item in items):
        raise NotImplementedError("np.r_ and np.c_ with a directive aren't there; write np.concatenate")
    values = [_item(item) for item in items]
    dtype = common_dtype([memory(value) for value in values])
    parts = [to_dtype(value, dtype) if type(value) is Value else FUNCTIONS["astype"](value, dtype) for value in values]
    if thing is np.r_:
        return joining.concat([part if part.ndim else reshape(part, (1,)) for part in parts], axis=0)
    if all(part.ndim == 1 for part in parts):
        return joining.column_stack(parts)
    return joining.concat([part if part.ndim > 1 else reshape(part, (part.size, 1)) for part in parts], axis=-1)


def _item(item: Any) -> Any:
    """An item as an array or a number: a slice counts, or divides."""
    if isinstance(item, slice):
        return as_value(np.r_[_known(item)])
    return item if type(item) is Bounded else as_value(item)


def _known(key: Any) -> Any:
    """A key whose traced numbers are Python's."""
    if isinstance(key, tuple):
        return tuple(map(_known, key))
    if isinstance(key, slice):
        return slice(_known(key.start), _known(key.stop), _known(key.step))
    return _PYTHONS[key.dtype.kind](key) if type(key) is Value else key
