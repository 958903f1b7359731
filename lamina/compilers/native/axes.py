"""The loops of a kernel: its axes in the order of their strides, merged where all layouts allow it, and tiled."""

from collections.abc import Container, Sequence
from typing import NamedTuple

from lamina.layout import Layout
from lamina.layout.move import runs
from lamina.program.fuse import spread
from lamina.program.record import Kernel, Term

_TILE = 64  # elements
_WIDE = 256  # a loop of more elements is tiled where it crosses a memory


class Axis(NamedTuple):
    """A loop: its extent, whether it is reduced, the stride of each layout along it, and its length, if it has one.

    One over tiles has a `tail` where the last tile is shorter: how long that is. The tiles are the innermost loop.
    """

    extent: int
    is_reduced: bool
    strides: dict[Layout, int]
    length: Term | None = None
    tail: int = 0


def layout_of(term: Term) -> Layout:
    """Where a term's load or position is."""
    return term.static[1 if term.op == "load" else 0]  # type: ignore[no-any-return]


def axes_of(kernel: Kernel, terms: Sequence[Term]) -> list[Axis]:
    """The loops, outermost first: what is kept, then what is reduced, each by the strides along it."""
    stores = [spread(store.layout, kernel.space, kernel.reduced) for store in kernel.stores]
    loads = [layout_of(term) for term in terms if term.op in ("load", "position")]
    layouts = list(dict.fromkeys([*stores, *loads]))
    lengths = dict(kernel.lengths)

    def reach(axis: int) -> int:
        """How far it goes through memory; what is stored counts twice, since it is read and written."""
        return sum(abs(layout.strides[axis]) for layout in [*layouts, *dict.fromkeys(stores)])

    axes = []
    for is_reduced in (False, True):
        group = [axis for axis in range(len(kernel.space)) if (axis in kernel.reduced) is is_reduced]
        if not kernel.is_ordered:
            group.sort(key=lambda axis: -reach(axis))
        for part in _divided(group, lengths):
            rows = [tuple(layout.strides[axis] for axis in part) for layout in layouts]
            for extent, strides in runs(tuple(kernel.space[axis] for axis in part), rows):
                found = dict(zip(layouts, strides, strict=True))
                axes.append(Axis(extent, is_reduced, found, lengths.get(part[0])))
    return axes


def _divided(group: Sequence[int], lengths: Container[int]) -> list[list[int]]:
    """Axes that may become one loop together; one with a length is a loop of its own."""
    parts: list[list[int]] = []
    for axis in group:
        if parts and axis not in lengths and parts[-1][0] not in lengths:
            parts[-1].append(axis)
        else:
            parts.append([axis])
    return parts


def crossing(axes: Sequence[Axis]) -> int | None:
    """The outermost axis that goes through a memory in order which the innermost one crosses, if there is one."""
    crossed = [layout for layout, stride in axes[-1].strides.items() if abs(stride) > 1] if axes else []
    return next((k for k, axis in enumerate(axes[:-1]) if any(abs(axis.strides[each]) == 1 for each in crossed)), None)


def has_lines(kernel: Kernel, axes: Sequence[Axis], lanes: int) -> bool:
    """Whether vectors along the innermost axis are stored at the same distance from a line of the cache in all rows."""
    layouts = [spread(store.layout, kernel.space, kernel.reduced) for store in kernel.stores]
    outer = [axis.strides[each] % lanes for each in layouts for axis in axes[:-1]]
    return len(layouts) == 1 and axes[-1].strides[layouts[0]] == 1 and not any(outer)


def tiled(axes: list[Axis], other: int) -> list[Axis]:
    """The loops, the innermost in tiles, of which each is gone through before the other axis goes on.

    Then the lines of memory that a tile reads are in cache when the other axis comes to their next elements.
    """
    last = axes[-1]
    if last.extent < _WIDE:
        return axes
    tiles, tail = -(-last.extent // _TILE), last.extent % _TILE
    whole = Axis(tiles, False, {each: stride * _TILE for each, stride in last.strides.items()}, tail=tail)
    return [*axes[:other], whole, *axes[other:-1], last._replace(extent=_TILE)]
