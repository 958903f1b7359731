"""What is needed whichever branch is taken, and what several branches need: each is lowered once.

The clauses of a cond share its scope, so a node may be needed by any number of them. What all the branches of a cond
need is certain; what branches of several conds need is computed before the first, if one of them is taken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lamina.expr import OPS, Expr, Family, value_of
from lamina.expr.node import CALLBACKS, inner_nodes
from lamina.expr.tree import all_nodes, nodes_of, operands, post_order, walk
from lamina.layout import Layout

# What reads or makes elements, and can neither fail nor go on for ever; a view and an update without shifts too.
_SAFE = frozenset({"constant", "tensor", "iota", "elem", "move", "metadata", "cond", "concat", "pad", "parameter"})
_SMALL = 16  # elements that are computed rather than asked for
_EFFECTS = CALLBACKS | {"check"}

Literal = tuple[Expr, bool]  # a predicate, and whether it is to be true
Known = Callable[[Expr, Mapping[Expr, bool]], bool]  # whether a node's value is there, where these predicates are so


class Shared(NamedTuple):
    """A node that several branches need, and what has to be so for one of them to be taken."""

    node: Expr
    where: frozenset[Literal]


class Certain:
    """What each node of one scope needs whichever branches are taken.

    That is a set for each node, an integer of bits, in which the sets of a cond's branches have a common part.
    """

    def __init__(self) -> None:
        self._sets: dict[Expr, int] = {}
        self._order: list[Expr] = []
        self._places: dict[Expr, int] = {}
        self._needed: dict[Expr, tuple[Expr, ...]] = {}

    def needed(self, node: Expr) -> Sequence[Expr] | None:
        """A cond's first predicate, and what each of its branches needs; `None` (its operands) for another node."""
        if node.op != "cond":
            return None
        found = self._needed.get(node)
        if found is None:
            (predicate, value), *_ = node.args[0]
            both = self._of(nodes_of(value)) & self._later(node)
            found = self._needed[node] = (*nodes_of(predicate), *self._frontier(both))
        return found

    def later(self, cond: Expr) -> list[Expr]:
        """What a cond needs for certain where its first predicate is false."""
        return self._frontier(self._later(cond))

    def needs(self, node: Expr, other: Expr) -> bool:
        """Whether a node needs another one for certain."""
        return bool(self._of([node]) >> self._places[other] & 1) if other in self._places else False

    def _later(self, cond: Expr) -> int:
        clauses, otherwise = cond.args
        found = self._of(nodes_of(otherwise))
        for predicate, value in reversed(clauses[1:]):
            found = self._of(nodes_of(predicate)) | (self._of(nodes_of(value)) & found)
        return found

    def _of(self, roots: Sequence[Expr]) -> int:
        """The set of these nodes and what they need for certain."""
        for node in walk(roots, lambda node: () if node in self._sets else operands(node)):
            if node not in self._sets:
                self._places[node] = len(self._order)
                self._sets[node] = 1 << len(self._order)
                self._order.append(node)
                needed = self.needed(node)
                self._sets[node] |= self._of(operands(node) if needed is None else needed)
        found = 0
        for root in roots:
            found |= self._sets[root]
        return found

    def _frontier(self, nodes: int) -> list[Expr]:
        """Those of a set that the others don't need."""
        found = []
        while nodes:
            node = self._order[nodes.bit_length() - 1]  # which comes after what it needs
            found.append(node)
            nodes &= ~self._sets[node]
        return found[::-1]


def decided(node: Expr, facts: Mapping[Expr, bool]) -> Any:
    """Of a cond the branch that is taken, where predicates are known to be so; `None` for any other node."""
    if node.op != "cond" or not facts:
        return None
    for predicate, value in node.args[0]:
        is_true = facts.get(value_of(predicate))
        if is_true is not False:
            return value if is_true else None
    return node.args[1]


def shared_by_branches(
    order: Sequence[Expr],
    effects: Sequence[Expr],
    known: Known,
    certain: Certain,
    facts: Mapping[Expr, bool],
    is_native: Callable[[Expr], bool],
) -> tuple[list[Expr], dict[Expr, list[Shared]]]:
    """Of nodes that are lowered in this order: what more is to be so, and by cond what its branches share with others.

    What is small, and safe to compute where nobody needs it, is just computed.
    """
    places = {node: place for place, node in enumerate(order)}

    def there(node: Expr, facts: Mapping[Expr, bool]) -> bool:
        return node in places or known(node, facts)

    users: dict[Expr, list[Expr]] = {}  # the conds whose branches may need a node
    must: dict[Expr, set[Literal]] = {}  # where it is needed for certain
    for cond in order:
        if cond.op != "cond" or known(cond, facts) or decided(cond, facts) is not None:
            continue
        for literal, roots, certain_roots in _branches(cond, certain):
            then = {**facts, literal[0]: literal[1]}
            for node in _reached(roots, there, then, lambda node: None):
                conds = users.setdefault(node, [])
                conds += [cond] if cond not in conds[-1:] else []
            for node in _reached(certain_roots, there, then, certain.needed):
                must.setdefault(node, set()).add(literal)
    safe: dict[Expr, bool] = {}  # to compute where nobody needs it, with all that it may need and isn't there
    silent: dict[Expr, bool] = {}  # whether nothing is seen of when it is computed
    for node in sorted(users, key=lambda node: node.id):  # each after its operands
        needs = [each for each in operands(node) if each in users]
        safe[node] = _is_safe(node, is_native) and all(safe[each] for each in needs)
        silent[node] = _is_silent(node) and all(silent[each] for each in needs)
    more: list[Expr] = []
    shared: dict[Expr, list[Shared]] = {}
    for node, conds in users.items():
        if len(conds) == 1 or not silent[node]:
            continue
        later = (*conds, *(each for each in effects if places.get(each, -1) >= places[conds[0]]))
        where = {
            (predicate, is_true)
            for predicate, is_true in must.get(node, ())
            if not any(certain.needs(predicate, each) for each in later)  # it has to be known before
        }
        if (safe[node] and _is_small(node)) or any((predicate, not is_true) in where for predicate, is_true in where):
            more.append(node)
        elif where:
            shared.setdefault(conds[0], []).append(Shared(node, frozenset(where)))
    return more, shared


def _reached(
    roots: Sequence[Expr],
    there: Known,
    facts: Mapping[Expr, bool],
    needed: Callable[[Expr], Sequence[Expr] | None],
) -> list[Expr]:
    """What isn't there of these nodes and what they need, where these facts hold."""

    def needs(node: Expr) -> Sequence[Expr] | None:
        if there(node, facts):
            return ()
        branch = decided(node, facts)
        return needed(node) if branch is None else nodes_of(branch)

    return [node for node in post_order(roots, needs) if not there(node, facts) and node.op != "fun"]


def _branches(cond: Expr, certain: Certain) -> Iterator[tuple[Literal, list[Expr], list[Expr]]]:
    """The first branch and all that comes after it: when, what it may need, and what it needs for certain."""
    ((predicate, value), *clauses), otherwise = cond.args
    first, later = nodes_of(value), nodes_of((clauses, otherwise))
    yield (value_of(predicate), True), first, first
    yield (value_of(predicate), False), later, certain.later(cond)


def _is_safe(node: Expr, is_native: Callable[[Expr], bool]) -> bool:
    if node.op in OPS and OPS[node.op].family is Family.ELEMENTWISE:
        return is_native(node)
    return node.op in _SAFE or (node.op in ("view", "update") and not (node.args[2] or node.args[3]))


def _is_silent(node: Expr) -> bool:
    return node.op not in _EFFECTS and not any(each.op in CALLBACKS for each in all_nodes(inner_nodes(node)))


def _is_small(node: Expr) -> bool:
    shapes: Iterable[Any] = node.shape if node.has_several else (node.shape,)
    return all(Layout.contiguous(shape).numel <= _SMALL for shape in shapes)
