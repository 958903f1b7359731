"""Arrays whose lengths a run alone knows: ``x[i:]`` in a loop, ``x[mask]``.

A graph's shapes are static, so such an array is a value of the greatest extents that it may have, and beside it the
length of each axis that may be shorter, a traced integer. Functions that know of lengths have a rule in
`lamina.trace.lengths`; for any other one the lengths are settled: they are asked for, as any number is that must be
known while tracing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamina.dtype import DType
from lamina.layout import Layout
from lamina.operators import FUNCTIONS, Operators
from lamina.trace.value import Kind, Value


class Bounded(Operators):
    """An array of static bounds, and the lengths of those axes that may be shorter.

    Attributes
    ----------
    value : the elements, of the bounds as its shape; what it holds beyond a length is not specified.
    lengths : the traced integer of each axis that has one, by axis.
    """

    __slots__ = ("lengths", "value")

    def __init__(self, value: Value, lengths: Mapping[int, Value]) -> None:
        self.value = value
        self.lengths = dict(lengths)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.value.dtype

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents, of which some are traced integers."""
        return tuple(self.lengths.get(axis, extent) for axis, extent in enumerate(self.value.shape))

    @property
    def size(self) -> Any:
        """The number of elements, a traced integer."""
        return math.prod(self.shape)

    @property
    def kind(self) -> Kind:
        """That it is an array."""
        return Kind.ARRAY

    def settled(self) -> Value:
        """The same array with lengths that are known: it asks for them, as a shape does that depends on a number."""
        shape = list(self.value.shape)
        instead = "np.where(mask, x, other), a reduction with where=mask, or what takes an array of such a length"
        for axis, length in self.lengths.items():
            shape[axis] = int(length.demanded(f"the length of {self!r}", instead))
        return cut(self.value, shape)

    def __repr__(self) -> str:
        extents = ", ".join(
            f"{extent} at most" if axis in self.lengths else str(extent) for axis, extent in enumerate(self.value.shape)
        )
        return f"<traced {self.dtype}[{extents}]>"

    __hash__ = None

    def __len__(self) -> int:
        return len(self.settled())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.settled())

    def __bool__(self) -> bool:
        return bool(self.settled())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.settled().__array__(dtype, copy)

    def __setitem__(self, key: Any, value: Any) -> None:
        FUNCTIONS["setitem"](self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.settled(), name)

    def fill(self, value: Any) -> None:
        """Make every element this value."""
        FUNCTIONS["setitem"](self, ..., value)

    def sort(self, axis: int = -1, kind: Any = None, order: None = None, *, stable: bool | None = None) -> None:
        """Sort the array in place along an axis."""
        FUNCTIONS["setitem"](self, ..., FUNCTIONS["sort"](self, axis=axis))

    def _write(self, result: Any) -> Any:
        return FUNCTIONS["assign"](self, result)


def memory(array: Any) -> Value:
    """The value of an array up to its bounds."""
    value: Value = array.value if type(array) is Bounded else array
    return value


def cut(value: Value, shape: Sequence[int], lengths: Mapping[int, Value] | None = None) -> Value:
    """The first elements along each axis, seen in the same memory, and specified up to these lengths alone."""
    whole = value.whole_layout
    seen = Layout(shape, whole.strides, whole.offset)
    return value.through(seen, value.shifts, tuple(sorted((lengths or {}).items())))


def transposed(value: Value, order: Sequence[int]) -> Value:
    """A view with lengths, its axes in another order."""
    whole = value.whole_layout
    layout = Layout([whole.shape[i] for i in order], [whole.strides[i] for i in order], whole.offset)
    lengths = dict(value.lengths)
    moved = tuple((i, lengths[axis]) for i, axis in enumerate(order) if axis in lengths)
    return value.through(layout, value.shifts, moved)
