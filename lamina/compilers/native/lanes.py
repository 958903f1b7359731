"""Which axis of a kernel goes in vectors, how many of its elements are one, and what these read across memory."""

import math
from collections.abc import Sequence

from lamina import dtype as dt
from lamina.compilers.native import narrow
from lamina.compilers.native.axes import Axis, layout_of
from lamina.compilers.native.types import COMPUTED, part_of
from lamina.program.record import Term

NEAR = 4  # elements that are so far apart or less are read with what is between them

_FEW = 16  # a reduction of fewer elements goes across the lanes where it can
_MANY = 64  # results for which several vectors of accumulators go across the lanes
_SMALL = 12  # terms of a reduction that has several vectors of accumulators
_TURNED = frozenset({dt.float32, dt.float64, dt.int32, dt.uint32, dt.int64, dt.uint64})  # what is read in blocks


def chosen_lanes(axes: Sequence[Axis], terms: Sequence[Term], is_ordered: bool, vector_bytes: int) -> tuple[int, int]:
    """The axis of the lanes, and how many there are: one for what goes in order. Reduced axes are the last ones."""
    if not axes:
        return -1, 1
    kept, axis = _kept(axes), len(axes) - 1
    # of places alone a few integers are computed, which may take two vectors
    used = [t.dtype for t in terms if t.op not in ("constant", "within") and (t.reads or t.dtype.kind == "float")]
    widest = max([narrow.computed_as(part_of(dtype)).numpy.itemsize for dtype in used], default=8)
    if is_ordered or any(d not in COMPUTED and d.numpy.itemsize >= 8 for d in used):
        return axis, 1
    if 0 < kept < len(axes) and _goes_across(axes, terms):
        axis = kept - 1
    lanes = max(vector_bytes // widest, 1)
    is_small = kept < len(axes) and len(terms) <= _SMALL
    if is_small and not crossed_loads(axes, terms, axis, len(axes) - 1, lanes) and axes[axis].extent >= 8 * lanes:
        lanes *= 4  # so many additions may be on their way at once
    while lanes > 1 and lanes >= 2 * axes[axis].extent:
        lanes //= 2
    return axis, lanes


def crossed_loads(axes: Sequence[Axis], terms: Sequence[Term], across: int, along: int, lanes: int) -> list[Term]:
    """The loads that are read in blocks: lanes along an axis cross memory that the loop over another goes along."""
    if not 4 <= lanes <= 16 or across == along or lanes > axes[along].extent:
        return []
    plain = (term for term in terms if term.op == "load" and not term.args and term.dtype in _TURNED)

    def strides(term: Term) -> tuple[int, int]:
        layout = layout_of(term)
        return abs(axes[across].strides[layout]), axes[along].strides[layout]

    return [term for term in plain if strides(term)[0] > NEAR and strides(term)[1] == 1]


def _kept(axes: Sequence[Axis]) -> int:
    return sum(not axis.is_reduced for axis in axes)


def _goes_across(axes: Sequence[Axis], terms: Sequence[Term]) -> bool:
    """Whether a reduction had better keep a result in each lane than add up along the lanes."""
    kept = _kept(axes)
    inner, outer = axes[-1], axes[kept - 1]
    loads = [layout_of(term) for term in terms if term.op == "load"]
    along, across = (sum(abs(axis.strides[layout]) > 1 for layout in loads) for axis in (inner, outer))
    is_in_order = across < along or (across == 0 and outer.extent >= _MANY)  # the same in all lanes is in order too
    return outer.extent >= 8 and (is_in_order or math.prod(axis.extent for axis in axes[kept:]) < _FEW)
