"""NumPy's functions that write into an array they are given, on traced arrays: each is one assignment."""

import math
from typing import Any

from lamina import dtype as dt
from lamina.numpy_protocol.table import means
from lamina.operators import FUNCTIONS
from lamina.trace.assign import fitted, write
from lamina.trace.build import as_value, broadcast_to, emit, reshape
from lamina.trace.elementwise import elementwise
from lamina.trace.value import Value


def _flat(a: Value) -> Value:
    return reshape(a, (math.prod(a.shape),))


def _given(values: Any, target: Value) -> Value:
    """What is put into an array, in its dtype: numbers have to fit there, as in an array that is made of them."""
    return _flat(FUNCTIONS["asarray"](values, dtype=target.dtype))


@means("copyto")
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """``np.copyto``."""
    target = as_value(dst)
    value = as_value(src)
    if casting not in ("same_kind", "unsafe"):
        raise NotImplementedError(f"the casting {casting!r} isn't there")
    if where is not True:
        value = FUNCTIONS["where"](broadcast_to(as_value(where), target.shape), fitted(value, target), target)
    if casting == "unsafe":
        write(target, value)
    else:
        FUNCTIONS["assign"](target, value)


@means("putmask")
def putmask(a: Any, mask: Any, values: Any) -> None:
    """``np.putmask``: the values repeat, by the place of the element."""
    target = as_value(a)
    given = _given(values, target)
    size = math.prod(target.shape)
    if given.shape[0] == 0:
        return
    places = elementwise("remainder", emit("iota", size, dt.int64), given.shape[0])
    chosen = reshape(FUNCTIONS["take"](given, places), target.shape)
    write(target, FUNCTIONS["where"](reshape(as_value(mask), target.shape), fitted(chosen, target), target))


@means("put")
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """``np.put``: at places of the elements in C order; the values repeat."""
    target, places = as_value(a), _flat(as_value(ind))
    given = _given(v, target)
    if mode != "raise":
        raise NotImplementedError(f"the mode {mode!r} isn't there")
    if places.shape[0] == 0 or given.shape[0] == 0:
        return
    repeated = FUNCTIONS["take"](
        given, elementwise("remainder", emit("iota", places.shape[0], dt.int64), given.shape[0])
    )
    changed = FUNCTIONS["scatter"](_flat(target), places, repeated)
    write(target, reshape(changed, target.shape))


@means("put_along_axis")
def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """``np.put_along_axis``."""
    target, places = as_value(arr), as_value(indices)
    if axis is None:
        put(target, places, values)
        return
    axis = axis % target.ndim
    beside = tuple(places.shape[i] if i == axis else extent for i, extent in enumerate(target.shape))
    places = broadcast_to(places, beside)
    key = []
    for i, extent in enumerate(beside):
        shape = tuple(extent if j == i else 1 for j in range(len(beside)))
        key.append(places if i == axis else broadcast_to(reshape(emit("iota", extent, dt.int64), shape), beside))
    value = broadcast_to(as_value(values), beside)
    write(target, FUNCTIONS["scatter"](target, tuple(key), value))


@means("fill_diagonal")
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """``np.fill_diagonal``."""
    target = as_value(a)
    if target.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if target.ndim > 2 and len(set(target.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    if wrap and target.shape[0] > target.shape[1]:
        raise NotImplementedError("the argument wrap isn't there")
    count = min(target.shape)
    given = _given(val, target)
    places = emit("iota", count, dt.int64)
    if given.shape[0] != 1:
        given = FUNCTIONS["take"](given, elementwise("remainder", places, given.shape[0]))
    value = broadcast_to(given, (count,))
    write(target, FUNCTIONS["scatter"](target, (places,) * target.ndim, value))
