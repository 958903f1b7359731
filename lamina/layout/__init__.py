"""Layouts: where in a buffer does the element of index ``i`` live?

The front door of the room. `Layout` and `coalesce` are in `lamina.layout.layout`, the movements (`Reshape`,
`Broadcast`, `Permute`, `Slice`, `Window`) in `lamina.layout.move`, the limits of every shape in `lamina.layout.limits`.
The room works on integers alone and imports nothing but `lamina.errors`; arrays, expressions and compilers build on it.

>>> from lamina.layout import Layout, move
>>> rows = Layout.contiguous((3, 4))
>>> rows.move(move.Permute((1, 0)))
Layout((4, 3), (1, 4), offset=0)
>>> rows.move(move.Permute((1, 0))).move(move.Reshape((12,))) is None    # no strides express it
True
"""

from lamina.layout import move
from lamina.layout.layout import Layout, coalesce
from lamina.layout.limits import MAX_NUMEL, MAX_RANK, IndexRangeError

__all__ = ["MAX_NUMEL", "MAX_RANK", "IndexRangeError", "Layout", "coalesce", "move"]
