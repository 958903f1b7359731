"""Writes under a mask that only a run knows: ``x[mask] = value``, ``x[mask, 0] += value``.

How many elements a mask picks is no shape, but a write needs none: each element of the array is the value where the
mask is true, and stays what it is elsewhere. An array of values goes to the picked elements in C order. Neighbours:
`lamina.trace.index` reads keys whose masks are known; `lamina.trace.assign` writes.
"""

import math
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.affine import is_same
from lamina.trace.bounded import Bounded
from lamina.trace.build import as_value, broadcast_to, constant, emit, perform_check, reshape, to_dtype
from lamina.trace.concrete import is_undecided
from lamina.trace.picked import count_of
from lamina.trace.shapes import along
from lamina.trace.value import Value
from lamina.trace.windows import is_basic, is_integer_index


class Masked(NamedTuple):
    """What a key with one traced mask is about: a view, whose axes from `axis` on the mask has."""

    view: Value
    mask: Value
    axis: int
    is_first: bool  # whether NumPy counts the picked elements along the first axis, though the mask's axes come later

    def chosen(self, new: Value) -> Value:
        """`new` where the mask is true, and what is there elsewhere."""
        rest = self.view.ndim - self.axis - self.mask.ndim
        mask = reshape(self.mask, (1,) * self.axis + self.mask.shape + (1,) * rest)
        return emit("where", broadcast_to(mask, self.view.shape), new, self.view)

    def spread(self, given: Any) -> Value:
        """An array for the picked elements as one that broadcasts to the view.

        Raises `ValueError`, at run time, where it has another number of elements than the mask picks.
        """
        after = self.view.ndim - self.axis - self.mask.ndim
        length = None
        if type(given) is Bounded and list(given.lengths) == [given.ndim - 1 - after]:
            (length,), given = given.lengths.values(), given.value
        value = as_value(given)
        if self.is_first and value.ndim:
            raise NotImplementedError(
                "an array was assigned under a mask that stands apart from integers in the same index; index with the "
                "integers first, then with the mask"
            )
        extra = value.ndim - self.axis - 1 - after
        if extra > 0 and set(value.shape[:extra]) == {1}:
            value = reshape(value, value.shape[extra:])  # NumPy lets an assigned value have more axes of extent 1
        axis = value.ndim - 1 - after
        if axis < 0:
            return value
        before, extent, behind = value.shape[:axis], value.shape[axis], value.shape[axis + 1 :]
        if extent == 1 and length is None:
            return reshape(value, (*before, *(1,) * self.mask.ndim, *behind))
        bools = reshape(self.mask, (math.prod(self.mask.shape),))
        picked, flat = count_of(bools), to_dtype(bools, dt.int64)
        there = constant(extent, dt.int64) if length is None else length
        is_one = constant(False, dt.bool) if length is None else emit("equal", length, constant(1, dt.int64))
        if not is_same(picked, there):
            shown = f"{extent} values" if length is None else "as many values as another mask or slice picks"
            message = f"{shown} were assigned under a mask that is true for another number of elements"
            perform_check(emit("logical_or", is_one, emit("equal", picked, there)), ValueError, message)
        if extent == 0:
            return self.view
        place = FUNCTIONS["clip"](FUNCTIONS["cumulative_sum"](flat) - 1, 0, extent - 1)
        if length is not None:
            place = emit("where", broadcast_to(is_one, place.shape), emit("subtract", place, place), place)
        return reshape(along(value, axis, place), (*before, *self.mask.shape, *behind))


def masked(target: Value, key: Any) -> Masked | None:
    """What a key with one traced mask, and else slices, integers, None and ``...``, is about; `None` for other keys.

    Raises IndexError for a mask of another shape.
    """
    items = key if isinstance(key, tuple) else (key,)
    masks = [place for place, item in enumerate(items) if _is_mask(item)]
    if len(masks) != 1 or not all(_is_mask(item) or is_basic(item) for item in items):
        return None
    (place,) = masks
    mask: Value = items[place]
    whole = items if any(item is Ellipsis for item in items) else (*items, Ellipsis)
    rest = target.ndim - sum(map(_consumed, whole))
    if rest < 0:
        raise IndexError(
            f"too many indices for array: array is {target.ndim}-dimensional, but {target.ndim - rest} were indexed"
        )
    axis = sum(rest if item is Ellipsis else not is_integer_index(item) for item in whole[:place])
    view = FUNCTIONS["getitem"](target, (*whole[:place], *[slice(None)] * mask.ndim, *whole[place + 1 :]))
    if type(view) is Bounded:
        return None
    for i, extent in enumerate(mask.shape):
        if extent != view.shape[axis + i]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                f"{view.shape[axis + i]} but size of corresponding boolean axis is {extent}"
            )
    arrays = [i for i, item in enumerate(items) if _is_mask(item) or is_integer_index(item)]
    return Masked(view, mask, axis, axis > 0 and arrays[-1] - arrays[0] >= len(arrays))


def undecided_mask(target: Value, key: Any) -> Masked | None:
    """What a key with one mask is about that elements decide, so that it isn't asked for; `None` for other keys."""
    items = key if isinstance(key, tuple) else (key,)
    if not any(_is_mask(item) and is_undecided(item) for item in items):
        return None
    return masked(target, key)


def _is_mask(item: Any) -> bool:
    return type(item) is Value and item.dtype == dt.bool and item.ndim > 0 and item.is_traced


def _consumed(item: Any) -> int:
    if _is_mask(item):
        return int(item.ndim)
    return 0 if item is None or item is Ellipsis else 1
