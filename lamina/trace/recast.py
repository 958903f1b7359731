"""The memory of an array seen as elements of another dtype: ``x.view(dtype)``, and the parts of complex numbers.

Each is a view: an array of the same cell whose layout counts elements of its own dtype. So ``z.real[0] = 1`` writes
``z``, and ``x.view(np.int64)[0] = 1`` writes the bits of ``x``.
"""

from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.layout import Layout
from lamina.operators import FUNCTIONS
from lamina.trace.build import NUMBER_TYPES, as_value, decayed, emit, node_of, scope_now
from lamina.trace.choice import choice_at
from lamina.trace.order import in_order_of
from lamina.trace.state import Decides
from lamina.trace.value import Kind, Value


def part(name: str, value: Value) -> Value:
    """The real or the imaginary parts (`name` is the op's) of complex numbers: of an array, a view."""
    if value.cell is None or scope_now().root.is_eager:
        return in_order_of(value, lambda v: emit(name, v, kind=v.kind))
    choice = choice_at(value)
    if choice is not None:
        return choice.each(lambda side: part(name, side))
    whole, start = value.whole_layout, name == "imag"
    layout = Layout(whole.shape, [2 * stride for stride in whole.strides], 2 * whole.offset + start)
    shifts = tuple((by, 2 * stride) for by, stride in value.shifts)
    return value.through(layout, shifts, value.lengths, node_of(emit(name, value)), value.dtype.real)


def _view(x: Any, dtype: Any = None, type: Any = None) -> Value:
    """``x.view(dtype, type)`` of a traced array or scalar."""
    value = as_value(x)
    if value.code is not None:
        raise Decides("view() of a number that may be Python's or NumPy's")
    if value.kind is Kind.NUMBER:
        raise AttributeError(f"{NUMBER_TYPES[value.dtype].__name__!r} object has no attribute 'view'")
    node_of(value)  # which is an error for a value that escaped from its scope
    if isinstance(dtype, _CLASS) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    if type not in (None, np.ndarray):
        raise NotImplementedError(f"a view as {type!r} isn't traced; np.ndarray alone is")
    wanted = value.dtype if dtype is None else _dtype_of(dtype)
    old, new = value.dtype.numpy.itemsize, wanted.numpy.itemsize
    if old != new and not value.shape:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    if value.cell is None:
        return _bits(value, wanted)
    choice = choice_at(value)
    if choice is not None:
        return choice.each(lambda side: _view(side, dtype))
    if wanted != value.dtype:
        _expect_native()
    if old == new:
        node = node_of(_bits(value, wanted)) if dt.bool not in (value.dtype, wanted) else None
        return value.through(value.whole_layout, value.shifts, value.lengths, node, wanted)
    return _resized(value, wanted, old, new)


FUNCTIONS["view"] = _view
_CLASS = type


def _dtype_of(dtype: Any) -> DType:
    given = np.dtype(dtype)
    try:
        found = dt.from_numpy(given)
    except TypeError as error:
        raise NotImplementedError(f"a view as elements of {given} isn't traced") from error
    if not given.isnative:
        raise NotImplementedError(f"a view as elements of {given}, in another byte order, isn't traced")
    return found


def _expect_native() -> None:
    """The bits of what the caller holds in another byte order are others than those that are computed with."""
    root = scope_now().root
    if not all(np.asarray(array).dtype.isnative for array in (*root.given, *root.captured_arrays())):
        raise NotImplementedError("a view as another dtype isn't traced where an array is in another byte order")


def _bits(value: Value, dtype: DType) -> Value:
    """The bits of each element as one of a dtype as wide."""
    if value.dtype == dtype:
        return value
    if dtype == dt.bool:
        return decayed(FUNCTIONS["not_equal"](value, value.dtype.numpy.type(0)))
    if value.dtype == dt.bool:
        value = emit("cast", value, dt.uint8, kind=value.kind)
    return emit("bitcast", value, dtype, kind=value.kind)


def _resized(value: Value, dtype: DType, old: int, new: int) -> Value:
    """Elements of another size, of which the last axis has more or fewer: NumPy's rules, in its words."""
    whole = value.whole_layout
    *outer, extent = whole.shape
    if extent != 1 and whole.numel and whole.strides[-1] != 1:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    if new < old and old % new:
        raise ValueError("When changing to a smaller dtype, its size must be a divisor of the size of original dtype")
    if extent * old % new:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last axis "
            "of the array."
        )
    if value.lengths:
        raise NotImplementedError("a view as a dtype of another size isn't traced of a length that a run alone knows")
    steps = [stride if n != 1 else 0 for n, stride in zip(outer, whole.strides, strict=False)]
    places = (*steps, whole.offset, *(stride for _, stride in value.shifts))
    if whole.numel and any(place * old % new for place in places):
        raise NotImplementedError(f"a view as {dtype} isn't traced of elements that lie between those of its memory")
    layout = Layout((*outer, extent * old // new), (*(n * old // new for n in steps), 1), whole.offset * old // new)
    shifts = tuple((by, stride * old // new) for by, stride in value.shifts)
    return value.through(layout, shifts, dtype=dtype)
