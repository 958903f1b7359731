"""How a matrix lies in memory, as far as a library of products can take it."""

from typing import NamedTuple

from lamina.layout import Layout


class Held(NamedTuple):
    """A matrix that lies in memory by rows or by columns, and how far it is from one to the next."""

    by_columns: bool
    step: int


def held_as(layout: Layout) -> Held | None:
    """How the last two axes of a layout lie in memory; `None` if the elements of neither are side by side.

    >>> held_as(Layout((3, 4), (10, 1))), held_as(Layout((3, 4), (1, 10))), held_as(Layout((3, 4), (10, 2)))
    (Held(by_columns=False, step=10), Held(by_columns=True, step=10), None)
    """
    (rows, columns), (down, along) = layout.shape[-2:], layout.strides[-2:]
    if (along == 1 or columns == 1) and (rows == 1 or down >= columns):
        return Held(False, max(down if rows > 1 else columns, 1))
    if (down == 1 or rows == 1) and (columns == 1 or along >= rows):
        return Held(True, max(along if columns > 1 else rows, 1))
    return None
