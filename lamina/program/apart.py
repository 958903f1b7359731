"""Whether what a kernel writes of a memory and what it reads of it are apart, wherever the run moves them.

Both are layouts that integers move. If these integers differ by a known number, it is a question of two layouts.
"""

from collections.abc import Mapping, Sequence

from lamina.layout import Layout
from lamina.layout.move import Range, Reshape, Slice
from lamina.program.record import Shape, Term, Terms, in_order

Moves = Sequence[tuple[Term, int]]  # scalars and their strides

_PLAIN = frozenset({"constant", "add", "subtract", "multiply", "maximum", "minimum"})
_MOST = 1000  # places that are looked at


def as_scalar(term: Term, space: Shape, terms: Terms) -> Term:
    """A uniform term without the space."""
    moved = terms.moved(term, Slice([Range(0, 1) for _ in space]), Reshape(()))
    assert moved is not None
    return moved


def expanded(term: Term, filled: Mapping[int, Term], terms: Terms) -> Term:
    """A scalar with sums and products in place of loads of buffers that they fill, so that equal ones are one term."""
    replacements: dict[Term, Term] = {}
    for each in in_order([term]):
        inner = filled.get(each.static[0]) if _is_scalar(each) else None
        if inner is not None and all(part.op in _PLAIN or _is_scalar(part) for part in in_order([inner])):
            replacements[each] = expanded(inner, filled, terms)
    return terms.replaced(term, replacements) if replacements else term


def _is_scalar(term: Term) -> bool:
    return term.op == "load" and not term.args and not term.static[1].rank


def are_apart(layout: Layout, moves: Moves, other: Layout, moved: Moves) -> bool:
    """Whether two layouts of one memory, moved by scalars, are proved to have no position in common.

    >>> column, rest = Layout((3,), (4,)), Layout((3, 3), (4, 1), offset=1)
    >>> are_apart(column, (), rest, ()), are_apart(rest, (), Layout((4,), (1,)), ())
    (True, False)
    """
    differences = _sum(moves)
    for atom, factor in _sum(moved).items():
        differences[atom] = differences.get(atom, 0) - factor
    constant = differences.pop(None, 0)
    if any(differences.values()):
        return False
    # no sum of multiples is zero
    spans: dict[int, tuple[int, int]] = {}
    for sign, each in ((1, layout), (-1, other)):
        for extent, stride in zip(each.shape, each.strides, strict=True):
            low, high = spans.get(abs(stride), (0, 0))
            end = (extent - 1) * (sign if stride > 0 else -sign)
            spans[abs(stride)] = low + min(end, 0), high + max(end, 0)
    multiples = [(stride, *span) for stride, span in sorted(spans.items(), reverse=True) if stride]
    return not _may_meet(constant + layout.offset - other.offset, multiples, [_MOST])


def _may_meet(number: int, multiples: list[tuple[int, int, int]], left: list[int]) -> bool:
    """Whether a number and a multiple of each stride, from a least to a greatest, may add up to 0."""
    if not multiples:
        return number == 0
    (stride, least, most), *rest = multiples
    low = number + sum(by * first for by, first, _ in rest)
    high = number + sum(by * last for by, _, last in rest)
    for count in range(max(least, -(high // stride)), min(most, -low // stride) + 1):
        left[0] -= 1
        if left[0] < 0 or _may_meet(number + count * stride, rest, left):
            return True
    return False


def _sum(moves: Moves) -> dict[Term | None, int]:
    """Moves as multiples of terms, and of None: of 1."""
    found: dict[Term | None, int] = {}
    for by, stride in moves:
        _add(by, stride, found)
    return found


def _add(term: Term, factor: int, found: dict[Term | None, int]) -> None:
    match term.op:
        case "constant":
            found[None] = found.get(None, 0) + factor * int(term.static[0])
        case "add" | "subtract":
            _add(term.args[0], factor, found)
            _add(term.args[1], factor if term.op == "add" else -factor, found)
        case "multiply" if term.args[1].op == "constant":
            _add(term.args[0], factor * int(term.args[1].static[0]), found)
        case "with" | "within" | "clip":  # what isn't the first arg fails, or is checked to be
            _add(term.args[0], factor, found)
        case _:
            found[term] = found.get(term, 0) + factor
