"""What an integer, a shape and an index may be: the checks that layouts and movements share.

Python's integers have no bounds and its sequences hold anything, so both are checked once, where they enter the room.
Behind that border `lamina.layout.layout` and `lamina.layout.move` work on tuples of plain ints whose products fit in 64
bits.
"""

import reprlib
from collections.abc import Mapping, Sequence
from operator import index as to_index
from typing import SupportsIndex

#: The most axes that a layout has.
MAX_RANK = 32

#: The most that an extent, the product of the extents other than 0, and the end of a layout's span may be.
MAX_NUMEL = 2**53

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1

_SHOWN_BITS = 128  # Python refuses to write out integers of more than some thousand digits
_SHOWN_ITEMS = 2 * MAX_RANK


class IndexRangeError(ValueError, IndexError):
    """An index outside a layout's or a movement's shape; both a `ValueError` and an `IndexError`.

    >>> issubclass(IndexRangeError, ValueError) and issubclass(IndexRangeError, IndexError)
    True
    """


def has_64_bits(number: int) -> bool:
    """Whether an integer is one of 64 bits.

    >>> has_64_bits(2**63 - 1), has_64_bits(2**63)
    (True, False)
    """
    return INT_MIN <= number <= INT_MAX


def show(value: int | tuple[int, ...]) -> str:
    """``value`` as Python writes it, shortened where that would be pages long.

    >>> show((2, 3)), show(10**10000)
    ('(2, 3)', '<integer of 33220 bits>')
    """
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _SHOWN_BITS else f"<integer of {value.bit_length()} bits>"
    items = [show(item) for item in value[:_SHOWN_ITEMS]]
    if len(value) > _SHOWN_ITEMS:
        items.append(f"... {len(value)} in all")
    return f"({', '.join(items)}{',' if len(value) == 1 else ''})"


def any_integer(value: SupportsIndex, what: str) -> int:
    """``value`` as a plain int of any size; raises `TypeError`, which calls it ``what``, if it is no integer.

    >>> any_integer(True, "offset")
    1
    """
    try:
        return to_index(value)
    except TypeError:
        raise TypeError(f"{what} is {reprlib.repr(value)}; expected an integer, not {type(value).__name__}") from None


def integer(value: SupportsIndex, what: str) -> int:
    """`any_integer` in the signed 64-bit range; raises `ValueError` outside it."""
    number = any_integer(value, what)
    if not has_64_bits(number):
        raise ValueError(f"{what} is {show(number)}, outside the signed 64-bit range")
    return number


def _is_sequence(values: object) -> bool:
    # Not collections.abc.Sequence, which a NumPy array is not; one of rank 0 has the methods, and they raise.
    if isinstance(values, (str, Mapping)) or not hasattr(values, "__getitem__"):
        return False
    try:
        len(values)  # type: ignore[arg-type]
        iter(values)
    except TypeError:
        return False
    return True


def any_integers(values: Sequence[SupportsIndex], what: str) -> tuple[int, ...]:
    """``values`` as a tuple of plain ints of any size: ``values`` itself if it is one.

    Raises `TypeError` unless ``values`` is a sequence (a NumPy array of rank 1 is one, a set or a generator is not) of
    integers.

    >>> any_integers([2, 3], "shape")
    (2, 3)
    """
    if type(values) is tuple:
        for value in values:
            if type(value) is not int:
                break
        else:
            return values
    if not _is_sequence(values):
        raise TypeError(
            f"{what} is {reprlib.repr(values)}; expected a sequence of integers, such as (2, 3), "
            f"not {type(values).__name__}"
        )
    return tuple([any_integer(value, f"{what}[{i}]") for i, value in enumerate(values)])


def integers(values: Sequence[SupportsIndex], what: str) -> tuple[int, ...]:
    """`any_integers` in the signed 64-bit range; raises `ValueError` if one lies outside it."""
    numbers = any_integers(values, what)
    for i, number in enumerate(numbers):
        if not has_64_bits(number):
            raise ValueError(f"{what}[{i}] is {show(number)}, outside the signed 64-bit range")
    return numbers


def numel_of(shape: tuple[int, ...]) -> int | None:
    """The product of ``shape``, or None if it is no layout's shape: `misfit` says why.

    >>> numel_of((2, 3)), numel_of((0, MAX_NUMEL)), numel_of((0, MAX_NUMEL, 2)), numel_of((-1,))
    (6, 0, None, None)
    """
    if len(shape) > MAX_RANK:
        return None
    # A 0 doesn't excuse the others: without that axis they must still be a layout's shape.
    product = 1
    for extent in shape:
        if extent > 0:
            product *= extent
            if product > MAX_NUMEL:
                return None
        elif extent < 0:
            return None
    return 0 if 0 in shape else product


def misfit(shape: tuple[int, ...]) -> str:
    """Why ``shape`` is no layout's shape, in words, for a shape of which `numel_of` is None.

    >>> misfit((2, -1))
    'axis 1 has extent -1; an extent is never negative'
    """
    if len(shape) > MAX_RANK:
        return f"{len(shape)} axes are more than the {MAX_RANK} that a layout may have"
    for axis, extent in enumerate(shape):
        if extent < 0:
            return f"axis {axis} has extent {show(extent)}; an extent is never negative"
        if extent > MAX_NUMEL:
            return f"axis {axis} has extent {show(extent)}; an extent is at most 2**53"
    return "its extents other than 0 multiply to more than 2**53"


def checked_index(index: Sequence[SupportsIndex], shape: tuple[int, ...], of: str) -> tuple[int, ...]:
    """``index`` as a tuple of ints; raises `IndexRangeError` unless it lies in ``shape``, the shape of ``of``.

    >>> checked_index((1, 3), (2, 3), "the result")
    Traceback (most recent call last):
    lamina.layout.limits.IndexRangeError: index (1, 3): 3 is outside axis 1 of the result, whose shape is (2, 3)
    """
    numbers = any_integers(index, "index")
    if len(numbers) != len(shape):
        raise IndexRangeError(
            f"index {show(numbers)}: expected one integer for each of the {len(shape)} axes of {of}, "
            f"whose shape is {shape}"
        )
    for axis, (number, extent) in enumerate(zip(numbers, shape, strict=True)):
        if not 0 <= number < extent:
            raise IndexRangeError(
                f"index {show(numbers)}: {show(number)} is outside axis {axis} of {of}, whose shape is {shape}"
            )
    return numbers
