"""How the nodes that aren't elementwise are lowered: reductions, what places elements, memory, loops and branches."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.expr import Expr, Source, effects_of, value_of
from lamina.expr.tree import nodes_of
from lamina.layout import Layout
from lamina.layout.move import Broadcast, Permute, Range, Reshape, Slice
from lamina.program.apart import are_apart, as_scalar
from lamina.program.demand import decided
from lamina.program.held import held_as
from lamina.program.ranges import counted, grown, step_of
from lamina.program.record import (
    COMBINE,
    REDUCTIONS,
    Block,
    Check,
    Cond,
    Kept,
    Shape,
    Shifts,
    Site,
    Store,
    Term,
    While,
    in_order,
)
from lamina.program.scope import Lowering, Scope, numel_of, uses_of, zero_of
from lamina.program.views import along, cast, shifts_of, within


def _reduction(scope: Scope, node: Expr) -> Any:
    x, axes = node.args
    if not scope.whole.is_native(node):
        return NotImplemented
    if all(x.shape[axis] == 1 for axis in axes):
        scope.set(node, scope.moved(x, Reshape(node.shape)))
        return None
    if 0 in x.shape:
        scope.set(node, _empty(scope, node))
        return None
    value, count = scope.value(x), math.prod(x.shape[axis] for axis in axes)
    if count <= _FEW and count * value.weight <= _SHORT and not _has_length(value):
        scope.set(node, _combined(scope, node, value))
        return None
    counted = _places_before(scope, node)
    if counted is not None:
        scope.set(node, counted)
        return None
    term = scope.terms.make(node.op, (value,), node.dtype)
    buffer = scope.whole.buffer(node.dtype, node.shape)
    scope.kernel(x.shape, axes, Store(term, buffer, Layout.contiguous(node.shape)), node.source)
    scope.values[node] = scope.whole.load(buffer)
    return None


# A reduction of few elements is a term like another, which is fused with what needs it.
_FEW, _SHORT = 4, 60


def _combined(scope: Scope, node: Expr, value: Term) -> Term:
    """What a reduction gives, element after element, in the order of the axes."""
    x, axes = node.args
    found = None
    for index in itertools.product(*(range(x.shape[axis]) for axis in axes)):
        ranges = [Range(0, extent) for extent in x.shape]
        for axis, place in zip(axes, index, strict=True):
            ranges[axis] = Range(place, 1)
        each = scope.terms.moved(value, Slice(ranges), Reshape(node.shape))
        assert each is not None  # axes of extent 1 need no copy
        found = each if found is None else scope.terms.make(COMBINE[node.op], (found, each), node.dtype)
    assert found is not None
    return found


def _places_before(scope: Scope, node: Expr) -> Term | None:
    """How many places of a vector are before a length, where that is what is summed."""
    x, _ = node.args
    term = scope.value(x)
    if node.op != "sum" or term.op != "cast" or len(x.shape) != 1 or node.dtype != dt.int64:
        return None
    condition = term.args[0]
    if condition.op != "less" or not condition.args[1].is_uniform or condition.args[1].dtype != dt.int64:
        return None
    place, length = condition.args
    if place.op != "position" or place.static != (along(x.shape, 0),):
        return None
    bounds = (scope.terms.constant(number, dt.int64) for number in (0, x.shape[0]))
    return scope.terms.make("clip", (as_scalar(length, x.shape, scope.terms), *bounds), dt.int64)


def _place_of_extreme(scope: Scope, node: Expr) -> Any:
    x, axis = node.args
    if not scope.whole.is_native(node) or not numel_of(x.shape):
        return NotImplemented
    if x.shape[axis] == 1:
        scope.set(node, scope.terms.constant(0, dt.int64))
        return None
    place = scope.terms.make("position", (), dt.int64, (along(x.shape, axis),))
    term = scope.terms.make(node.op, (scope.value(x), place), dt.int64)
    buffer = scope.whole.buffer(dt.int64, node.shape)
    scope.kernel(x.shape, (axis,), Store(term, buffer, Layout.contiguous(node.shape)), node.source)
    scope.values[node] = scope.whole.load(buffer)
    return None


def _matmul(scope: Scope, node: Expr) -> Any:
    """A product of small matrices is a sum of products like another; a library is faster at large ones."""
    x, y = node.args
    *stack, rows, inner = x.shape
    columns = y.shape[-1]
    limit = _VECTOR_PRODUCT if 1 in (rows, columns) else _SMALL_PRODUCT
    is_integer = node.dtype.kind in ("signed", "unsigned")
    is_small = rows * columns * inner <= limit or (columns == 1 and (rows == 1 or is_integer))
    is_small = is_small or (1 in (rows, columns) and any(_has_length(scope.value(each)) for each in (x, y)))
    if not numel_of(node.shape):
        return NotImplemented
    if not inner:
        scope.set(node, scope.terms.constant(zero_of(node.dtype), node.dtype))
        return None
    if not is_small or not scope.whole.is_native(node):
        for each in (x, y):
            term = scope.value(each)
            held = held_as(term.static[1]) if term.op == "load" and not term.args else None
            if held is None:
                scope.keep(each, "a product takes rows that are each one piece of memory")
        return NotImplemented
    space = (*stack, rows, columns, inner)
    axes = (*range(len(stack)), len(stack) + 1, len(stack))
    left = scope.moved(x, Reshape((*stack, rows, 1, inner)), Broadcast(space))
    right = scope.moved(y, Permute(axes), Reshape((*stack, 1, columns, inner)), Broadcast(space))
    product = scope.terms.make("multiply", (left, right), node.dtype)
    if inner == 1:
        scope.set(node, scope.squeezed(product, node.shape))
        return None
    # products of floats of 16 bits are not rounded, and may be greater than such a float is
    dtype = dt.float32 if node.dtype in (dt.float16, dt.bfloat16) else node.dtype
    if dtype != node.dtype:
        left, right = (scope.terms.make("cast", (each,), dtype) for each in (left, right))
        product = scope.terms.make("multiply", (left, right), dtype)
    term = scope.terms.make("any" if dtype == dt.bool else "sum", (product,), dtype)
    buffer = scope.whole.buffer(dtype, node.shape)
    scope.kernel(space, (len(space) - 1,), Store(term, buffer, Layout.contiguous(node.shape)), node.source)
    total = scope.whole.load(buffer)
    scope.values[node] = total if dtype == node.dtype else scope.terms.make("cast", (total,), node.dtype)
    return None


def _has_length(term: Term) -> bool:
    """Whether a run alone knows how many elements of it there are: a library would take them all."""
    return any(each.op == "load" and None in each.static[2] for each in in_order([term]))


_SMALL_PRODUCT, _VECTOR_PRODUCT = 1 << 9, 1 << 13  # multiplications

_OF_NONE: dict[str, Any] = {"sum": 0, "prod": 1, "any": False, "all": True}


def _empty(scope: Scope, node: Expr) -> Term:
    """What a reduction of no element gives; for a result without an element, anything."""
    kind = node.dtype.kind
    number = _OF_NONE.get(node.op, 0)
    if node.op == "bitwise_and_reduce":
        number = node.dtype.max if kind == "unsigned" else -1
    if kind == "bool":
        number = bool(number)
    return scope.terms.constant(float(number) if kind == "float" else number, node.dtype)


def _iota(scope: Scope, node: Expr) -> Any:
    if not scope.whole.is_native(node):
        return NotImplemented
    position = scope.terms.make("position", (), dt.int64, (Layout.contiguous(node.shape),))
    scope.set(node, cast(scope.terms, position, node.dtype))
    return None


def _parts(scope: Scope, node: Expr, parts: Sequence[tuple[Term, Layout]], base: int | None) -> None:
    """A buffer written part by part."""
    for term, layout in parts:
        if not layout.numel:
            continue
        buffer = scope.whole.buffer(node.dtype, node.shape)
        scope.whole.origins.kept[buffer] = Kept("parts are put into one memory", node, node.source)
        scope.kernel(layout.shape, (), Store(term, buffer, layout, base), node.source)
        base = buffer
    if base is None:  # there is no element
        base = scope.fill(scope.terms.constant(zero_of(node.dtype), node.dtype), node.shape)
    scope.values[node] = scope.whole.load(base)


def _concat(scope: Scope, node: Expr) -> None:
    arrays, axis = node.args
    whole, start, parts = Layout.contiguous(node.shape), 0, []
    for x in arrays:
        ranges = [Range(0, extent) for extent in node.shape]
        ranges[axis] = Range(start, x.shape[axis])
        start += x.shape[axis]
        layout = whole.move(Slice(ranges))
        assert layout is not None
        parts.append((scope.value(x), layout))
    _parts(scope, node, parts, None)


def _pad(scope: Scope, node: Expr) -> None:
    """What is around the array in slabs, and the array; all at once where it is small."""
    x, value, widths = node.args
    whole, parts, base = Layout.contiguous(node.shape), [], None
    inside = [Range(before, extent) for extent, (before, _) in zip(x.shape, widths, strict=True)]

    def part(ranges: Sequence[Range]) -> Layout:
        layout = whole.move(Slice(ranges))
        assert layout is not None
        return layout

    if whole.numel < _LARGE:
        base = scope.fill(scope.moved(value, Broadcast(node.shape)), node.shape, node.source, "it is padded")
    else:
        rest = [Range(0, extent) for extent in node.shape]
        for axis, (before, after) in enumerate(widths):
            for start, count in ((0, before), (before + x.shape[axis], after)):
                layout = part([*inside[:axis], Range(start, count), *rest[axis + 1 :]])
                parts.append((scope.moved(value, Broadcast(layout.shape)), layout))
    _parts(scope, node, [*parts, (scope.value(x), part(inside))], base)


_LARGE = 1 << 14  # elements that aren't written twice


def _gather(scope: Scope, node: Expr) -> Any:
    x, indices = node.args
    if not numel_of(node.shape):
        return NotImplemented  # there may be indices all the same, which must be in range
    term = _indexable(scope, x)
    places = _places(scope, indices, x.shape, node.source)
    if term.op == "constant":
        scope.set(node, scope.terms.make("with", (term, *places), node.dtype))
        return None
    buffer, layout, _ = term.static
    static = (buffer, _behind(indices, layout), layout.strides[: len(indices)])
    scope.set(node, scope.terms.make("load", places, node.dtype, static))
    return None


def _places(scope: Scope, indices: Sequence[Expr], shape: Shape, source: Source | None) -> tuple[Term, ...]:
    """The indices of the first axes, checked, over the space of all that they name."""
    own, rest = indices[0].shape, shape[len(indices) :]
    spread = (Reshape((*own, *(1,) * len(rest))), Broadcast((*own, *rest))) if rest else ()
    moved = [scope.moved(index, *spread) if spread else scope.value(index) for index in indices]
    return tuple(_place(scope, each, axis, shape[axis], source) for axis, each in enumerate(moved))


def _behind(indices: Sequence[Expr], layout: Layout) -> Layout:
    """What indices of the first axes leave of a layout: the other axes, behind those of the indices."""
    own, count = indices[0].shape, len(indices)
    return Layout((*own, *layout.shape[count:]), (*(0,) * len(own), *layout.strides[count:]), layout.offset)


_COMBINED = {"max": "maximum", "min": "minimum"}  # the others have the names of ops


def _scatter(scope: Scope, node: Expr) -> Any:
    x, indices, updates, combine = node.args
    if not scope.whole.is_native(node) or not numel_of(updates.shape):
        return NotImplemented
    base = scope.buffer_of(scope.value(x), x.shape, x.source, "parts of it are written")
    for each in (*indices, updates):  # what reads the memory does so before it is written
        if base in scope.value(each).reads:
            scope.keep_apart(each, base)
    buffer, whole = scope.whole.buffer(node.dtype, node.shape), Layout.contiguous(node.shape)
    places, layout = _places(scope, indices, x.shape, node.source), _behind(indices, whole)
    strides = whole.strides[: len(indices)]
    term = scope.value(updates)
    if combine != "set":
        held = scope.terms.make("load", places, node.dtype, (buffer, layout, strides))
        term = scope.terms.make(_COMBINED.get(combine, combine), (held, term), node.dtype)
    store = Store(term, buffer, layout, base, tuple(zip(places, strides, strict=True)))
    if base not in scope.whole.fixed or base in scope.whole.written:
        _rescue(scope, base, x, node)
    scope.kernel(layout.shape, (), store, node.source, is_ordered=True)
    scope.values[node] = scope.whole.load(buffer)
    return None


def _take_along_axis(scope: Scope, node: Expr) -> Any:
    x, indices, axis = node.args
    if not numel_of(node.shape):
        return NotImplemented
    term = _indexable(scope, x)
    place = _place(scope, scope.value(indices), axis, x.shape[axis], node.source)
    if term.op == "constant":
        scope.set(node, scope.terms.make("with", (term, place), node.dtype))
        return None
    buffer, layout, _ = term.static
    strides = list(layout.strides)
    stride, strides[axis] = strides[axis], 0
    seen = Layout(indices.shape, strides, layout.offset)
    scope.set(node, scope.terms.make("load", (place,), node.dtype, (buffer, seen, (stride,))))
    return None


def _indexable(scope: Scope, x: Expr) -> Term:
    """What is gathered from: a load through a layout, or one number."""
    term = scope.value(x)
    is_layout = term.op == "load" and not term.args and numel_of(x.shape) > 1
    return term if term.op == "constant" or is_layout else scope.keep(x, "it is gathered from")


def _place(scope: Scope, index: Term, axis: int, extent: int, source: Source | None) -> Term:
    """An index as a place on its axis: negative ones count from the end."""
    terms = scope.terms
    index = cast(terms, index, dt.int64)
    if index.op == "constant" and 0 <= index.static[0] < extent:
        return index
    place = index
    least, _ = scope.range_of(index) or (-1, 0)
    if least < 0:  # as tracing counts the index of a view, so that both are one term
        zero, length = terms.constant(0, dt.int64), terms.constant(extent, dt.int64)
        is_negative = terms.make("less", (index, zero), dt.bool)
        place = terms.make("where", (is_negative, terms.make("add", (index, length), dt.int64), index), dt.int64)
    site = Site(f"index {{}} is out of bounds for axis {axis} with size {extent}", ((1, 1, 0),), source)
    return within(scope, place, 0, extent - 1, site, index)


def _move(scope: Scope, node: Expr) -> None:
    x, movement = node.args
    scope.set(node, scope.moved(x, movement))


def _view(scope: Scope, node: Expr) -> Any:
    root, layout = node.args[:2]
    term = scope.value(root)
    if term.op == "constant" and node.dtype == root.dtype:  # every element is this one, wherever it is
        checks = tuple(by for by, stride in shifts_of(scope, node) if stride is not None)
        scope.set(node, scope.terms.make("with", (term, *checks), node.dtype) if checks else term)
        return None
    buffer = scope.buffer_of(term, root.shape, root.source, "a view sees its memory")
    scope.values[root] = scope.terms.load(buffer, root.dtype, Layout.contiguous(root.shape))
    shifts = shifts_of(scope, node)
    static = (buffer, layout, tuple(stride for _, stride in shifts))
    scope.set(node, scope.terms.make("load", tuple(by for by, _ in shifts), node.dtype, static))
    if node.dtype != root.dtype:  # what a buffer holds is read as such by this kernel alone
        scope.keep(node, "its memory is seen as another dtype")
    return None


def _update(scope: Scope, node: Expr) -> Any:
    root, layout, _, lengths, value = node.args
    term = scope.value(value)
    if not layout.numel:
        scope.set(node, scope.value(root))
        return None
    is_recast = value.dtype != root.dtype
    if layout == Layout.contiguous(root.shape) and not lengths and not is_recast:
        scope.set(node, term)
        return None
    base = scope.buffer_of(scope.value(root), root.shape, root.source, "a part of it is written")
    scope.values[root] = scope.terms.load(base, root.dtype, Layout.contiguous(root.shape))
    shifts = shifts_of(scope, node)

    def is_apart(load: Term) -> bool:
        moved = tuple(zip(load.args, load.static[2], strict=True))
        if not all(by.is_uniform for by, stride in (*shifts, *moved) if stride is not None):
            return False
        own, other = (
            [(scope.whole.scalar(by, layout.shape), stride) for by, stride in each if stride is not None]
            for each in (shifts, moved)
        )
        return are_apart(layout, own, load.static[1], other)

    if not reads_in_place(term, base, layout, shifts, is_apart) or (is_recast and base in term.reads):
        term = scope.keep_apart(value, base)
    if base not in scope.whole.fixed or base in scope.whole.written:
        _rescue(scope, base, root, node)
    buffer = scope.whole.buffer(node.dtype, node.shape)
    scope.kernel(layout.shape, (), Store(term, buffer, layout, base, shifts), node.source)
    scope.values[node] = scope.whole.load(buffer)
    return None


def reads_in_place(
    term: Term, buffer: int, layout: Layout, shifts: Shifts, is_apart: Callable[[Term], bool] = lambda load: False
) -> bool:
    """Whether a term reads of a buffer nothing but the element that the layout names, and what is apart from all."""
    if buffer not in term.reads:
        return True
    own = (buffer, layout, tuple(stride for _, stride in shifts)), tuple(by for by, _ in shifts)
    if buffer in frozenset().union(*(by.reads for by, _ in shifts)):
        return False
    loads = (each for each in in_order([term]) if each.op == "load" and each.static[0] == buffer)
    return all((each.static, each.args) == own or is_apart(each) for each in loads)


def _rescue(scope: Scope, base: int, root: Expr, update: Expr) -> None:
    """Compute what reads a memory and is needed after it is written, where that is less than a copy of the memory."""
    waiting = []
    for node in scope.readers.pop(base, ()):
        term = scope.values[node]
        if node is not update.args[-1] and base in term.reads and scope.left[node] > 0 and node is not root:
            waiting.append(node)
    if sum(numel_of(node.shape) for node in waiting) <= numel_of(root.shape):
        for node in waiting:
            scope.keep(node, "it reads elements that are written next")


# Syntax


def _while(scope: Scope, node: Expr) -> None:
    whole = scope.whole
    initial, arg, condition, body = node.args
    given, params = nodes_of(initial), nodes_of(arg)
    starts = tuple(
        scope.buffer_of(scope.value(each), each.shape, each.source, "a loop starts with it") for each in given
    )
    predicate, outputs = value_of(condition), nodes_of(value_of(body))
    uses = uses_of((*effects_of(condition), predicate, *effects_of(body), *outputs))
    inner = Scope(whole, uses)
    buffers = tuple(whole.buffer(param.dtype, param.shape) for param in params)
    for start, param, output, buffer in zip(starts, params, outputs, buffers, strict=True):
        inner.values[param] = whole.load(buffer)
        if output is param and start in whole.known:
            whole.known[buffer] = whole.known[start]
    inner.run(effects_of(condition), [predicate])
    test = Block((), (inner.buffer_of(inner.value(predicate), (), None, "a loop asks for it"),))
    test = Block(tuple(inner.instructions), test.outputs)
    inner.instructions = []
    _count(inner, predicate, dict(zip(params, zip(starts, outputs, buffers, strict=True), strict=True)))
    inner.run(effects_of(body), outputs)
    turn = _carried(inner, outputs, buffers, {each for i in test.instructions for each in i.writes})
    results = tuple(whole.buffer(param.dtype, param.shape) for param in params)
    scope.instructions.append(While(starts, buffers, test, turn, results, node.source))
    scope.filled(node, results)


def _count(inner: Scope, predicate: Expr, carried: Mapping[Expr, tuple[int, Expr, int]]) -> None:
    """Note between which numbers the integers of a loop lie in its turns."""
    known = inner.whole.known
    changed = {
        param: each
        for param, each in carried.items()
        if param.dtype == dt.int64 and not param.shape and param is not each[1]
    }
    turns = None
    for param, (start, output, buffer) in changed.items():
        known[buffer] = counted(
            param, output, predicate, known.get(start), lambda node: inner.range_of(inner.value(node))
        )
        if step_of(param, output):
            low, high = known[buffer]
            turns = high - low + 1 if turns is None else min(turns, high - low + 1)
    others = {p: each for p, each in changed.items() if not step_of(p, each[1]) and each[0] in known}
    if turns is not None:
        outputs = {param: output for param, (_, output, _) in others.items()}
        starts = {param: known[start] for param, (start, _, _) in others.items()}
        for param, proved in grown(outputs, starts, turns).items():
            known[others[param][2]] = proved


def _carried(inner: Scope, outputs: Sequence[Expr], params: Sequence[int], outside: set[int]) -> Block:
    """The body: each output is its param itself, or a buffer of its own."""
    taken: set[int] = set()
    carried = []
    for output, param in zip(outputs, params, strict=True):
        buffer = inner.buffer_of(inner.value(output), output.shape, output.source, "a loop carries it")
        is_foreign = buffer in params or buffer in inner.whole.fixed or buffer in outside
        if buffer != param and (is_foreign or buffer in taken):
            buffer = inner.fill(inner.value(output), output.shape, output.source, "a loop carries it on its own")
        taken.add(buffer)
        carried.append(buffer)
    return Block(tuple(inner.instructions), tuple(carried))


def _cond(scope: Scope, node: Expr) -> None:
    branch = decided(node, scope.facts)
    if branch is None:
        clauses, otherwise = node.args
        _clauses(scope, node, list(clauses), otherwise)
        return
    outputs = nodes_of(value_of(branch))
    scope.run(effects_of(branch), outputs)
    terms = tuple(
        term if term.op in ("load", "constant") else scope.keep(each, "a branch gives it")
        for each, term in ((each, scope.value(each)) for each in outputs)
    )
    scope.several_or_one(node, terms)


def _clauses(scope: Scope, node: Expr, clauses: list[Any], otherwise: Any) -> None:
    predicate, value = clauses[0]
    test = scope.buffer_of(scope.value(value_of(predicate)), (), None, "a branch asks for it")
    asked = value_of(predicate)
    then = _branch(scope, value, {asked: True})
    if len(clauses) == 1:
        other = _branch(scope, otherwise, {asked: False})
    else:  # what comes after a false predicate is a branch of its own
        inner = Scope(scope.whole, scope.uses, scope, {asked: False})
        later = clauses[1][0]
        inner.run(effects_of(later), [value_of(later)])
        _clauses(inner, node, clauses[1:], otherwise)
        terms = inner.several[node] if node.has_several else (inner.values[node],)
        other = Block(tuple(inner.instructions), tuple(term.static[0] for term in terms))
    kinds = zip(node.dtype, node.shape, strict=True) if node.has_several else [(node.dtype, node.shape)]
    results = tuple(scope.whole.buffer(dtype, shape) for dtype, shape in kinds)
    scope.instructions.append(Cond(test, then, other, results, node.source))
    scope.filled(node, results)


def _branch(scope: Scope, value: Any, facts: Mapping[Expr, bool]) -> Block:
    inner = Scope(scope.whole, scope.uses, scope, facts)
    outputs = nodes_of(value_of(value))
    inner.run(effects_of(value), outputs)
    buffers = tuple(
        inner.buffer_of(inner.value(each), each.shape, each.source, "a branch gives it") for each in outputs
    )
    return Block(tuple(inner.instructions), buffers)


def _check(scope: Scope, node: Expr) -> None:
    predicate, exception, message = node.args
    term = scope.value(predicate)
    if scope.range_of(term) == (1, 1):
        scope.values[node] = term
        return
    term = scope.keep(predicate, "it is checked")
    scope.instructions.append(Check(term.static[0], exception, message, node.source))
    scope.values[node] = term


def _constant(scope: Scope, node: Expr) -> None:
    scope.values[node] = scope.terms.constant(node.args[0], node.dtype)


def _tensor(scope: Scope, node: Expr) -> None:
    scope.values[node] = scope.whole.tensor(node)


def _elem(scope: Scope, node: Expr) -> None:
    source, i = node.args
    scope.values[node] = scope.results_of(source)[i]


def _metadata(scope: Scope, node: Expr) -> None:
    scope.values[node] = scope.value(node.args[0])


def _nothing(scope: Scope, node: Expr) -> None:
    """A ``fun`` has no value of its own."""


LOWERINGS: dict[str, Lowering] = {
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(("argmax", "argmin"), _place_of_extreme),
    "matmul": _matmul,
    "iota": _iota,
    "concat": _concat,
    "pad": _pad,
    "gather": _gather,
    "scatter": _scatter,
    "take_along_axis": _take_along_axis,
    "move": _move,
    "view": _view,
    "update": _update,
    "while": _while,
    "cond": _cond,
    "check": _check,
    "constant": _constant,
    "tensor": _tensor,
    "elem": _elem,
    "metadata": _metadata,
    "fun": _nothing,
}
