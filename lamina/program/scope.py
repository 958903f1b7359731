"""A block of a program being written: what each node's value is, and what has been put in a buffer.

A value is a `Term` over the node's shape. Nothing is computed until a buffer is asked for: then the term is one kernel.
A value is kept in a buffer where more than one thing needs it and it isn't cheap, where it would be computed more often
than it has elements, and where no layout can say how it is read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import OPS, Expr, Family, Source, effects_of
from lamina.expr.node import CALLBACKS
from lamina.expr.tree import all_nodes, map_args, nodes_of, operands, post_order
from lamina.layout import Layout
from lamina.layout.move import Movement, Reshape
from lamina.program.apart import as_scalar, expanded
from lamina.program.demand import Certain, Literal, Shared, decided, shared_by_branches
from lamina.program.ranges import Range, range_of
from lamina.program.record import (
    Block,
    Buffer,
    Cond,
    Instruction,
    Kept,
    Kernel,
    Library,
    Origins,
    Shape,
    Store,
    Term,
    Terms,
    TooLarge,
    in_order,
)

MOST_BUFFERS = 1 << 13  # of a program: some ten seconds of compiling
_MOST_TERMS = 100  # of one kernel's value: a longer chain is cut

Lowering = Callable[["Scope", Expr], Any]  # NotImplemented for a node that the evaluator computes


class Whole:
    """What all scopes of a program share."""

    def __init__(self, is_native: Callable[[Expr], bool], lowerings: Mapping[str, Lowering]) -> None:
        self.is_native = is_native
        self.lowerings = lowerings
        self.terms = Terms()
        self.buffers: list[Buffer] = []
        self.tensors: dict[int, Any] = {}
        self.tensor_terms: dict[Expr, Term] = {}
        self.fixed: set[int] = set()  # never written in place: the params', the captured
        self.written: set[int] = set()  # the params that may be written in place all the same, when all is planned
        self.kept: set[int] = set()  # filled for an effect's sake
        self.known: dict[int, Range] = {}  # between which numbers lies what is in a buffer of integers
        self.origins = Origins()

    def buffer(self, dtype: DType, shape: Shape) -> int:
        """A new buffer; raises `TooLarge` where that is one too many."""
        if len(self.buffers) == MOST_BUFFERS:
            raise TooLarge(f"as a program it has more than {MOST_BUFFERS:,} buffers, which would take long to compile")
        self.buffers.append(Buffer(dtype, shape))
        return len(self.buffers) - 1

    def scalar(self, term: Term, space: Shape) -> Term:
        """A uniform term without the space, in terms of what no buffer was filled with."""
        return expanded(as_scalar(term, space, self.terms), self.origins.filled, self.terms)

    def load(self, buffer: int) -> Term:
        """What fills a buffer, as a term over its shape."""
        dtype, shape = self.buffers[buffer]
        return self.terms.load(buffer, dtype, Layout.contiguous(shape))

    def tensor(self, node: Expr) -> Term:
        """A captured array, whose buffer the program has once."""
        term = self.tensor_terms.get(node)
        if term is None:
            buffer = self.buffer(node.dtype, node.shape)
            self.tensors[buffer] = node.args[0]
            self.fixed.add(buffer)
            term = self.tensor_terms[node] = self.load(buffer)
        return term


def uses_of(roots: Sequence[Expr]) -> Counter[Expr]:
    """How often each node of a scope is used in it."""
    uses = Counter(roots)
    for node in post_order(tuple(roots)):
        uses.update(operands(node))
    return uses


class Scope:
    """A block being written. A branch of a cond has a scope whose parent's values it reads."""

    def __init__(
        self,
        whole: Whole,
        uses: Counter[Expr],
        parent: "Scope | None" = None,
        facts: Mapping[Expr, bool] = MappingProxyType({}),
    ) -> None:
        self.whole = whole
        self.terms = whole.terms
        self.uses = uses
        self.parent = parent
        self.values: dict[Expr, Term] = {}
        self.several: dict[Expr, tuple[Term, ...]] = {}
        self.shared: dict[Expr, frozenset[Literal]] = {}  # where a value holds that branches share: in any of these
        self.stored: dict[Term, int] = {}  # the buffer that holds a term
        self.readers: dict[int, list[Expr]] = {}  # which waiting values read a buffer
        self.left: Counter[Expr] = Counter(uses) if parent is None else parent.left  # uses that are still to come
        self.instructions: list[Instruction] = []
        self.now: Expr | None = None  # the node that is being lowered
        self.certain: Certain = Certain() if parent is None else parent.certain
        self.facts: Mapping[Expr, bool] = facts if parent is None else {**parent.facts, **facts}  # predicates

    # Values

    def known(self, node: Expr, facts: Mapping[Expr, bool] | None = None) -> bool:
        """Whether a node's value is there, here or outside, where these predicates (this scope's) are so."""
        return node.op == "fun" or self._owner(node, self.facts if facts is None else facts) is not None

    def _owner(self, node: Expr, facts: Mapping[Expr, bool]) -> "Scope | None":
        """The scope that has a node's value."""
        scope: Scope | None = self
        while scope is not None:
            if node in scope.values or node in scope.several:
                where = scope.shared.get(node)
                if where is None or any(facts.get(predicate) is is_true for predicate, is_true in where):
                    return scope
            scope = scope.parent
        return None

    def value(self, node: Expr) -> Term:
        """The term of a node."""
        owner = self._owner(node, self.facts)
        assert owner is not None
        return owner.values[node]

    def results_of(self, node: Expr) -> tuple[Term, ...]:
        """The terms of a node of several results."""
        owner = self._owner(node, self.facts)
        assert owner is not None
        return owner.several[node]

    def buffer_of(self, term: Term, shape: Shape, source: Source | None = None, why: str = "") -> int:
        """A buffer that a term fills, all of it and in C order; there already, or by a kernel, and why."""
        held = self._whole_load(term, shape)
        if held is not None:
            return held
        scope: Scope | None = self
        while scope is not None:
            if term in scope.stored and self.whole.buffers[scope.stored[term]].shape == shape:
                return scope.stored[term]
            scope = scope.parent
        return self.fill(term, shape, source, why)

    def fill(self, term: Term, shape: Shape, source: Source | None = None, why: str = "") -> int:
        """A new buffer, filled by a kernel."""
        buffer = self.whole.buffer(term.dtype, shape)
        self.whole.origins.kept[buffer] = Kept(why, self.now, source)
        self.kernel(shape, (), Store(term, buffer, Layout.contiguous(shape)), source)
        self.stored[term] = buffer
        return buffer

    def range_of(self, term: Term) -> Range | None:
        """Between which numbers an integer term lies."""
        return range_of(term, self.whole.known)

    def kernel(
        self, space: Shape, reduced: tuple[int, ...], store: Store, source: Source | None, is_ordered: bool = False
    ) -> None:
        """An instruction of one store, over a space without its axes of extent 1."""
        self.whole.origins.filled[store.buffer] = store.term
        proved = self.range_of(store.term)
        if proved is not None and store.base is None:
            self.whole.known[store.buffer] = proved
        axes = [axis for axis, extent in enumerate(space) if extent != 1]
        if len(axes) < len(space):
            kept = tuple(space[axis] for axis in axes if axis not in reduced)
            space = tuple(space[axis] for axis in axes)
            layout = store.layout.move(Reshape(kept))
            assert layout is not None  # no movement of axes of extent 1 needs a copy
            shifts = tuple((self.squeezed(by, space), stride) for by, stride in store.shifts)
            store = store._replace(term=self.squeezed(store.term, space), layout=layout, shifts=shifts)
            reduced = tuple(place for place, axis in enumerate(axes) if axis in reduced)
        self.instructions.append(Kernel(space, reduced, (store,), source, is_ordered))

    def squeezed(self, term: Term, space: Shape) -> Term:
        """A term over a space that differs in axes of extent 1."""
        moved = self.terms.moved(term, Reshape(space))
        assert moved is not None
        return moved

    def _whole_load(self, term: Term, shape: Shape) -> int | None:
        if term.op != "load" or term.args:
            return None
        buffer, layout, _ = term.static
        held = self.whole.buffers[buffer]
        is_whole = layout == Layout.contiguous(shape) and held.numel == layout.numel and held.dtype == term.dtype
        return buffer if is_whole else None

    def keep(self, node: Expr, why: str) -> Term:
        """The node's value, from now on in a buffer."""
        term = self.whole.load(self.buffer_of(self.value(node), node.shape, node.source, why))
        if term.static[1].shape != node.shape:
            term = self.terms.load(term.static[0], term.dtype, Layout.contiguous(node.shape))
        self.values[node] = term
        return term

    def keep_apart(self, node: Expr, buffer: int) -> Term:
        """The node's value, from now on in a buffer that isn't this one, which is written next."""
        why = "what is written reads elements that the write changes"
        term = self.keep(node, why)
        if term.static[0] == buffer:
            apart = self.fill(term, node.shape, node.source, why)
            term = self.values[node] = self.terms.load(apart, term.dtype, term.static[1])
        return term

    def results(self, outputs: Sequence[Expr]) -> tuple[int, ...]:
        """The buffers of a block's outputs; those of two nodes are two, and only a parameter's is a parameter's."""
        owners: dict[int, Expr] = {}
        buffers = []
        for node in outputs:
            buffer = self.buffer_of(self.value(node), node.shape, node.source, "it is a result")
            is_fixed = buffer in self.whole.fixed and node.op not in ("parameter", "tensor")
            if is_fixed or owners.setdefault(buffer, node) is not node:
                buffer = self.fill(self.value(node), node.shape, node.source, "a result is memory of its own")
                owners[buffer] = node
            buffers.append(buffer)
        return tuple(buffers)

    # Nodes

    def run(self, effects: Sequence[Expr], outputs: Sequence[Expr]) -> None:
        """Lower what these need, but for what is there already and what a branch alone needs."""
        in_turn = all(a.id < b.id for a, b in pairwise(effects))
        more: list[Expr] = []  # what is simply computed, though branches alone need it
        while True:
            order = post_order((*more, *effects, *outputs), self._needs)
            if in_turn:
                # as the program was written: what reads a memory comes before what writes it
                order.sort(key=lambda node: node.id)
            found, shared = shared_by_branches(
                order, effects, self.known, self.certain, self.facts, self.whole.is_native
            )
            if not found:
                break
            more += found
        kept = {node for node in effects if not node.has_several}
        for node in order:
            if not self.known(node):
                for where, group in _together(shared.get(node, ())):
                    self._share(group, where)
                self.now = node
                self.shared.pop(node, None)
                self.node(node)
                terms = self.several[node] if node.has_several else (self.values[node],)
                self.whole.origins.values.setdefault(node, []).append(terms)
                self.left.subtract(operands(node))
                if node.op == "cond":
                    kept.update(each for each in effects_of(node.args[0][0][0]) if not each.has_several)
            if node in kept and node in self.values:
                self.whole.kept.add(self.keep(node, "an effect needs it").static[0])
        self.now = None

    def _needs(self, node: Expr) -> Sequence[Expr] | None:
        if self.known(node):
            return ()
        branch = decided(node, self.facts)
        return self.certain.needed(node) if branch is None else nodes_of(branch)

    def _share(self, nodes: Sequence[Expr], where: frozenset[Literal]) -> None:
        """Compute what several branches need before the first of them, if one of these is to be taken.

        Elsewhere there is no value, and what needs one all the same computes it.
        """
        nodes = [node for node in nodes if not self.known(node)]
        if not nodes:
            return
        self.run((), [predicate for predicate, _ in where])
        bit, tests = self.terms.make, [(self.value(predicate), is_true) for predicate, is_true in where]
        test, *others = [term if is_true else bit("logical_not", (term,), dt.bool) for term, is_true in tests]
        for other in others:
            test = bit("logical_or", (test, other), dt.bool)
        made = len(self.whole.buffers)
        facts = dict(where) if len(where) == 1 else {}
        inner, outer = Scope(self.whole, self.uses, self, facts), Scope(self.whole, self.uses, self)
        inner.run((), nodes)
        lowered = [node for node in (*inner.values, *inner.several) if not self.known(node)]
        inside = Counter(operand for node in lowered for operand in operands(node))
        blocks: tuple[list[int], list[int]] = [], []
        results: list[int] = []
        for node in nodes:
            terms = inner.results_of(node) if node.has_several else (inner.value(node),)
            if self.uses[node] <= inside[node]:
                continue
            self.shared[node] = where
            if all(buffer < made for term in terms for buffer in term.reads):  # there is nothing to compute yet
                self.several_or_one(node, terms)
                continue
            buffers = []
            for term, shape in zip(terms, node.shape if node.has_several else (node.shape,), strict=True):
                blocks[0].append(inner.buffer_of(term, shape, node.source, "branches share it"))
                blocks[1].append(outer.fill(self.terms.constant(zero_of(term.dtype), term.dtype), shape))
                buffers.append(self.whole.buffer(term.dtype, shape))
            self.several_or_one(node, tuple(map(self.whole.load, buffers)))
            results += buffers
        if results:
            asked = self.buffer_of(test, (), None, "branches that share something ask for it")
            then, otherwise = (
                Block(tuple(scope.instructions), tuple(outputs))
                for scope, outputs in zip((inner, outer), blocks, strict=True)
            )
            self.instructions.append(Cond(asked, then, otherwise, tuple(results), nodes[0].source))

    def node(self, node: Expr) -> None:
        """Give a node its value, and write the instructions that it takes."""
        special = self.whole.lowerings.get(node.op)
        if node.op in OPS and OPS[node.op].family is Family.ELEMENTWISE and self.whole.is_native(node):
            args = tuple(self.value(each) for each in operands(node))
            self.set(node, self.terms.make(node.op, args, node.dtype))
        elif special is None or special(self, node) is NotImplemented:
            self.library(node)

    def set(self, node: Expr, term: Term) -> None:
        """A node's value: in a buffer if it is better kept."""
        self.values[node] = term
        why = ""
        if self.uses[node] > 1 and (not node.shape or not term.is_cheap):
            why = "it is needed more than once"
        elif not node.shape and any(self.whole.buffers[b].shape for b in term.reads):
            why = "it is a number of an array, and is read once"
        elif term.weight > _MOST_TERMS:
            why = "a kernel is only so long"
        if why and term.op != "constant":
            self.keep(node, why)
        else:
            for buffer in term.reads:
                self.readers.setdefault(buffer, []).append(node)

    def several_or_one(self, node: Expr, terms: tuple[Term, ...]) -> None:
        """A node's results."""
        if node.has_several:
            self.several[node] = terms
        else:
            (self.values[node],) = terms

    def filled(self, node: Expr, buffers: Sequence[int]) -> None:
        """A node's results, which fill these buffers."""
        self.several_or_one(node, tuple(map(self.whole.load, buffers)))

    def moved(self, node: Expr, *movements: Movement) -> Term:
        """The value of a node, moved; it is put in a buffer first where no layout can say it, or it would cost more."""
        term = self.value(node)
        count = numel_of(_moved_shape(node.shape, movements))
        if not term.is_cheap and count > numel_of(node.shape):
            term = self.keep(node, "it is repeated, and computed once")
        is_checked = (each.op == "within" and not each.is_uniform for each in in_order([term]))
        if count < numel_of(node.shape) and any(is_checked):
            term = self.keep(node, "an index is checked also where its element isn't needed")
        moved = self.terms.moved(term, *movements)
        if moved is None:
            moved = self.terms.moved(self.keep(node, "no strides read it in the new order"), *movements)
        assert moved is not None  # a movement of what is contiguous needs no copy
        return moved

    def library(self, node: Expr) -> None:
        """A node that the evaluator computes."""
        given: list[tuple[int, Layout]] = []
        params: dict[Expr, Expr] = {}
        for operand in operands(node):
            if operand.op == "fun" or operand in params:
                continue
            params[operand] = Expr("parameter", (len(given),), operand.dtype, operand.shape)
            term = self.value(operand)
            if term.op != "load" or term.args:
                term = self.keep(operand, "a library call takes it")
            given.append((term.static[0], term.static[1]))
        args = map_args(
            node.op, node.args, lambda leaf: params.get(leaf, leaf) if type(leaf) is Expr else leaf, "scope"
        )
        alone = Expr(node.op, args, node.dtype, node.shape, node.source)
        kinds = zip(node.dtype, node.shape, strict=True) if node.has_several else [(node.dtype, node.shape)]
        results = tuple(self.whole.buffer(dtype, shape) for dtype, shape in kinds)
        kind = "callback" if any(each.op in CALLBACKS for each in all_nodes(alone)) else "library call"
        self.instructions.append(Library(alone, tuple(given), results, kind, node.source))
        self.filled(node, results)


def _together(shared: Sequence[Shared]) -> list[tuple[frozenset[Literal], list[Expr]]]:
    """Nodes that are needed in the same branches, those of most branches first: what others need is among them."""
    groups: dict[frozenset[Literal], list[Expr]] = {}
    for node, where in shared:
        groups.setdefault(where, []).append(node)
    return sorted(groups.items(), key=lambda group: -len(group[0]))


def zero_of(dtype: DType) -> Any:
    """The Python number of a dtype that is nothing."""
    return {"bool": False, "float": 0.0, "complex": 0j}.get(dtype.kind, 0)


def numel_of(shape: Shape) -> int:
    """How many elements a shape has."""
    return Layout.contiguous(shape).numel


def _moved_shape(shape: Shape, movements: Iterable[Movement]) -> Shape:
    for movement in movements:
        shape = movement.result_shape(shape)
    return shape
