"""Where a view is in its memory: what moves its layout, and where it ends, checked unless it is proved to be inside."""

import functools
from collections.abc import Mapping, Sequence

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import Expr, Source
from lamina.layout import Layout
from lamina.layout.move import Broadcast
from lamina.program.record import Shape, Shifts, Site, Term, Terms
from lamina.program.scope import Scope, numel_of


def shifts_of(scope: Scope, node: Expr) -> Shifts:
    """What moves a view's layout, checked, over the layout's shape; and where it ends, for lengths of a run."""
    root, layout, shifts, lengths = node.args[:4]
    if not layout.numel or not (shifts or lengths):
        return ()
    dtype = node.dtype if node.op == "view" else node.args[4].dtype
    size = numel_of(root.shape) * root.dtype.numpy.itemsize // dtype.numpy.itemsize
    terms, over = scope.terms, Broadcast(layout.shape)
    given = [(cast(terms, scope.moved(by, over), dt.int64), stride) for by, stride in shifts if stride]
    if lengths:
        ends = {axis: cast(terms, scope.moved(length, over), dt.int64) for axis, length in lengths}
        return _cut(scope, given, layout, ends, size, node.source)
    low, high = layout.span
    message = f"a view of elements {{}} to {{}} of {size}"
    if len(given) == 1:
        ((by, stride),) = given
        least, most = -(low // abs(stride)), (size - high) // abs(stride)
        if stride < 0:
            least, most = -most, -least
        site = Site(message, ((0, stride, low), (0, stride, high - 1)), node.source)
        return ((within(scope, by, least, most, site), stride),)
    site = Site(message, ((0, 1, low), (0, 1, high - 1)), node.source)
    return ((within(scope, _total(scope, given), -low, size - high, site), 1),)


def _cut(
    scope: Scope,
    shifts: Sequence[tuple[Term, int]],
    layout: Layout,
    ends: Mapping[int, Term],
    size: int,
    source: Source | None,
) -> Shifts:
    """A layout that is moved and cut: what is before the ends must lie in the memory, the rest isn't there."""
    terms = scope.terms
    zero, one = terms.constant(0, dt.int64), terms.constant(1, dt.int64)
    whole = Layout([1 if axis in ends else n for axis, n in enumerate(layout.shape)], layout.strides, layout.offset)
    total = _total(scope, shifts)
    low, high = (_sum(terms, total, terms.constant(end, dt.int64)) for end in (whole.span[0], whole.span[1] - 1))
    checks: list[Term] = []
    conditions: list[Term] = []
    empties: list[Term] = []
    for axis, length in ends.items():
        extent, stride = layout.shape[axis], layout.strides[axis]
        site = Site(f"a length of {{}} along an axis of {extent}", ((0, 1, 0),), source, ValueError)
        checked = within(scope, length, 0, extent, site)
        if checked is not length:
            checks.append(checked)
        place = terms.make("position", (), dt.int64, (along(layout.shape, axis),))
        conditions.append(terms.make("less", (place, length), dt.bool))
        empties.append(terms.make("equal", (length, zero), dt.bool))
        last = terms.make("subtract", (checked, one), dt.int64)
        if stride < 0:
            low = _sum(terms, low, _times(terms, last, stride))
        elif stride:
            high = _sum(terms, high, _times(terms, last, stride))
    site = Site(f"a view of elements {{}} to {{}} of {size}", ((1, 1, 0), (2, 1, 0)), source)
    least, most = scope.range_of(low), scope.range_of(high)
    is_empty = functools.reduce(lambda x, y: terms.make("logical_or", (x, y), dt.bool), empties)
    if least is None or most is None or least[0] < 0 or most[1] >= size:  # else all that there is lies between them
        for end in (low, high):
            seen = terms.make("where", (is_empty, zero, end), dt.int64)
            checks.append(terms.make("within", (seen, low, high), dt.int64, (0, max(size - 1, 0), site)))
    if checks:
        total = terms.make("with", (total, *checks), dt.int64)
    moved = () if total is zero else ((total, 1),)
    return (*moved, *((condition, None) for condition in conditions))


def _total(scope: Scope, shifts: Sequence[tuple[Term, int]]) -> Term:
    """The sum of integers times their strides."""
    terms = scope.terms
    total = terms.constant(0, dt.int64)
    for by, stride in shifts:
        # what lies this far out is outside any memory, and the sum doesn't wrap
        bound = 2**60 // (len(shifts) * abs(stride))
        least, most = scope.range_of(by) or (-bound - 1, bound)
        if least < -bound or most > bound:
            by = terms.make("clip", (by, terms.constant(-bound, dt.int64), terms.constant(bound, dt.int64)), dt.int64)
        total = _sum(terms, total, _times(terms, by, stride))
    return total


def _sum(terms: Terms, x: Term, y: Term) -> Term:
    zero = terms.constant(0, dt.int64)
    return y if x is zero else x if y is zero else terms.make("add", (x, y), dt.int64)


def _times(terms: Terms, x: Term, number: int) -> Term:
    return x if number == 1 else terms.make("multiply", (x, terms.constant(number, dt.int64)), dt.int64)


def along(shape: Shape, axis: int) -> Layout:
    """The layout whose positions are the indices of one axis."""
    return Layout(shape, [int(each == axis) for each in range(len(shape))])


def within(scope: Scope, x: Term, low: int, high: int, site: Site, *shown: Term) -> Term:
    """An integer that must lie in a range: checked when the program runs, unless it is proved."""
    proved = scope.range_of(x)
    if proved is not None and low <= proved[0] and proved[1] <= high:
        return x
    return scope.terms.make("within", (x, *shown), dt.int64, (low, high, site))


def cast(terms: Terms, term: Term, dtype: DType) -> Term:
    """The term as another dtype."""
    return term if term.dtype == dtype else terms.make("cast", (term,), dtype)
