"""In-place writes: ``x[key] = value``, ``x += value``, and what they reach.

A write makes a new version of the cell behind the array: an ``update`` of the elements that the array's layout names.
The value is read before, so a write whose value overlaps its target behaves as if the value had been copied first.
"""

from typing import Any, TypeGuard

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.bounded import Bounded, memory
from lamina.trace.build import as_value, broadcast_shape, broadcast_to, reshape, to_dtype
from lamina.trace.choice import same_alias, store
from lamina.trace.fitting import within_bounds
from lamina.trace.function import function
from lamina.trace.masks import masked
from lamina.trace.picked import expect_mask, holds_places
from lamina.trace.value import Kind, Value


def write(target: Any, value: Any) -> None:
    """Make a traced array hold the elements of another, broadcast and cast as NumPy's assignment does.

    Raises `ValueError` for a read-only array, for one in which two indices share an element, and for a value that
    doesn't broadcast; `OverflowError` for a Python integer that the dtype doesn't hold.
    """
    if type(target) is Bounded or type(value) is Bounded:
        into, put = within_bounds(target, value)
        write(into, put)
        return
    cell = target.cell
    if cell is None:
        raise TypeError(f"a {target.kind.value} does not support item assignment")
    if not cell.writable or target.is_frozen:
        raise ValueError("assignment destination is read-only")
    layout = target.layout
    if layout is not None and not layout.is_distinct:
        raise ValueError(
            f"assignment to an array in which several indices share an element ({layout}): which value stays is not "
            "defined; copy it first"
        )
    store(target, fitted(value, target))


def fitted(value: Value, target: Value) -> Value:
    """A value in the dtype and shape of the array it is put into; `ValueError` where it does not fit."""
    extra = len(value.shape) - len(target.shape)
    if extra > 0 and set(value.shape[:extra]) == {1}:
        value = reshape(value, value.shape[extra:])  # NumPy lets an assigned value have more axes of extent 1
    try:
        fits = broadcast_shape(value.shape, target.shape) == target.shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {target.shape}")
    return broadcast_to(to_dtype(value, target.dtype), target.shape)


@function
def setitem(x: Any, key: Any, value: Any, /) -> None:
    """``x[key] = value`` on a traced array: what every view of the same memory sees from then on.

    >>> import numpy as np, lamina
    >>> @lamina.defn
    ... def zero_first(x):
    ...     x[0] = 0
    >>> a = np.ones(3)
    >>> zero_first(a)
    >>> a
    array([0., 1., 1.])
    """
    target = x if type(x) is Bounded else as_value(x)
    given = value if type(value) is Bounded else as_value(value, "the assigned value")
    under = masked(target, key) if type(target) is Value else None
    if under is not None:
        write(under.view, under.chosen(fitted(under.spread(given), under.view)))
        return
    if _is_mask_of_length(target, key) and not memory(given).shape:
        _write_under(target, key, to_dtype(memory(given), target.dtype))
        return
    if type(target) is Value and holds_places(key):
        write(target, FUNCTIONS["scatter"](target, key, given))
        return
    whole = key if isinstance(key, tuple) else (key,)
    if not any(item is Ellipsis for item in whole):
        whole = (*whole, Ellipsis)  # an array, a view of one element too
    part = FUNCTIONS["getitem"](target, whole)
    if memory(part).cell is memory(target).cell:
        if not (type(given) is type(part) and same_alias(memory(given), memory(part))):  # what += has written
            write(part, given)
    else:
        target, given = as_value(target), as_value(given)
        write(target, FUNCTIONS["scatter"](target, key, fitted(given, as_value(part))))


def _is_mask_of_length(x: Any, key: Any) -> TypeGuard[Bounded]:
    return type(x) is Bounded and type(key) is Bounded and key.dtype == dt.bool


def _write_under(x: Bounded, mask: Bounded, new: Any) -> None:
    """Make an array of a length hold what is new where a mask of its first axes is true."""
    expect_mask(x, mask)
    write(x, FUNCTIONS["where"](mask[(..., *[None] * (x.ndim - mask.ndim))], new, x))


@function
def augment_masked(x: Any, key: Any, operate: Any, value: Any, /) -> bool:
    """``x[key] += value`` for a key with a traced mask, where `operate` does what ``+=`` does; False for other keys.

    Each element is computed, and the picked ones are written.
    """
    if _is_mask_of_length(x, key) and not np.ndim(memory(value)):
        _write_under(x, key, operate(FUNCTIONS["asarray"](x, copy=True), value))
        return True
    under = masked(x, key) if type(x) is Value else None
    if under is None:
        return False
    result = operate(FUNCTIONS["asarray"](under.view, copy=True), under.spread(value))
    write(under.view, under.chosen(result))
    return True


@function
def assign(x: Any, value: Any, /) -> Any:
    """An augmented assignment's write: `value` cast to the dtype of the array as NumPy's ``same_kind`` rule allows.

    Raises `TypeError` where that would lose a kind, as ``integers += 0.5`` does.
    """
    target = x if type(x) is Bounded else as_value(x)
    given = value if type(value) is Bounded else as_value(value)
    if not _same_kind(given, target):
        raise TypeError(f"cannot cast ufunc output from {given.dtype} to {target.dtype} with casting rule 'same_kind'")
    write(target, given)
    return target


_ORDER = {"bool": 0, "unsigned": 1, "signed": 2, "float": 3, "complex": 4}


def _same_kind(value: Any, target: Any) -> bool:
    return (
        _ORDER[value.dtype.kind] <= _ORDER[target.dtype.kind]
        or dt.can_cast(value.dtype, target.dtype)
        or (value.kind is Kind.NUMBER and value.dtype.kind == "signed" and target.dtype.kind == "unsigned")
    )
