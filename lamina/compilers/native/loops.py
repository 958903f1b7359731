"""A kernel as LLVM code: a loop nest whose most useful axis goes in vectors.

The axes are put in the order of their strides and merged where every layout allows it. One axis, the *lanes*, is taken
several elements at a time, written as vectors, so nothing is left to an optimiser's guess; what is left at its end is
one more vector, of which only a part is in use. A term is computed in the outermost loop that it depends on. A
reduction along the lanes has an accumulator in each lane, combined in a fixed order at the end; one across them keeps a
result in each.
"""

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from lamina import dtype as dt
from lamina.compilers.native import ir, narrow, pairs, scalar
from lamina.compilers.native.accumulators import CHUNK, Accumulator, PairAccumulator
from lamina.compilers.native.axes import axes_of, crossing, has_lines, layout_of, tiled
from lamina.compilers.native.lanes import NEAR, chosen_lanes, crossed_loads
from lamina.compilers.native.memory import AHEAD, Access
from lamina.compilers.native.scalar import Emit, Value, call_intrinsic
from lamina.compilers.native.types import (
    BIT,
    BYTE,
    INDEX,
    NARROW,
    bits_of,
    in_register,
    lanes_of,
    part_of,
    splat_constant,
    vector,
)
from lamina.compilers.native.vectors import picked, splat
from lamina.dtype import DType
from lamina.layout import Layout
from lamina.program.fuse import spread, stages
from lamina.program.record import REDUCTIONS, Kernel, Site, Store, Term, in_order

# Leaves the kernel where a condition holds: the builder, the condition, what gives the values to report, and the site.
Fail = Callable[[ir.IRBuilder, Value, Callable[[], Sequence[Value]], Site], None]

_WRITTEN_OUT = 4  # turns of a loop in order
_BLOCK = 96  # terms of all lanes, which are written out where a block is read


def emit_kernel(
    builder: ir.IRBuilder,
    kernel: Kernel,
    pointers: dict[int, Value],
    fail: Fail,
    vector_bytes: int,
    part: tuple[Value, Value] | None = None,
    tags: Mapping[int, str] = MappingProxyType({}),
) -> None:
    """Write a kernel at the builder's place, on buffers whose memory begins at these pointers, and has these tags.

    With a `part`, from and to, it is that part of the outermost loop; what is left at its end belongs to the last.
    """
    if 0 not in kernel.space:
        _Nest(builder, kernel, pointers, fail, vector_bytes, part, tags).write()


def parts_of(kernel: Kernel, vector_bytes: int) -> tuple[int, int]:
    """How many parts the outermost loop has, and how far it goes in each; one part where it can't be divided."""
    nest = _Nest(ir.IRBuilder(), kernel, {}, lambda *_: None, vector_bytes, None, {})
    if kernel.is_ordered or not nest.kept:
        return 1, 0
    step = nest.step(0)
    return nest.axes[0].extent // step - bool(nest.axes[0].tail), step


class _Nest:
    """One kernel being written."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        kernel: Kernel,
        pointers: dict[int, Value],
        fail: Fail,
        vector_bytes: int,
        part: tuple[Value, Value] | None,
        tags: Mapping[int, str],
    ) -> None:
        self.b = builder
        self.part = part
        self.kernel = kernel
        self.fail = fail
        self.terms = kernel.terms
        # in order means that each element is read and written before the next one
        self.stage = dict.fromkeys(self.terms, 0)
        if not kernel.is_ordered:
            self.stage |= stages(kernel.stores, kernel.reduced)
        self.axes = axes_of(kernel, self.terms)
        self.kept = sum(not axis.is_reduced for axis in self.axes)
        self.lane_axis, self.lanes = chosen_lanes(self.axes, self.terms, kernel.is_ordered, vector_bytes)
        self.turned = len(self.axes) - 1  # the axis along which blocks are read, where the lanes cross a memory
        self.crossed = crossed_loads(self.axes, self.terms, self.lane_axis, self.turned, self.lanes)
        if self.kept == len(self.axes) and not kernel.is_ordered and not kernel.lengths:
            self._arrange()
        self.rows = self.lanes  # of a block
        self.columns: dict[Term, Value] = {}  # of what is read in blocks: the one that is taken now
        self.depends = self._dependences()
        self.at = Access(builder, pointers, tags, self.axes, self.lane_axis)
        self.scopes: list[dict[Term, Value]] = [{}]  # what has been computed in each
        self.ends: dict[int, Value] = {}  # of the loops that have a length

    def _arrange(self) -> None:
        """Where the lanes cross a memory that another axis goes along, go through it in blocks, or else in tiles."""
        other = crossing(self.axes)
        if other is None:
            return
        *outer, last = self.axes
        axes = [*outer[:other], *outer[other + 1 :], outer[other], last]
        is_little = len(self.terms) * self.lanes <= _BLOCK and last.extent >= 2 * self.lanes
        if is_little and has_lines(self.kernel, axes, self.lanes):
            self.crossed = crossed_loads(axes, self.terms, len(axes) - 1, len(axes) - 2, self.lanes)
        if self.crossed:
            self.axes, self.turned = axes, len(axes) - 2
        else:
            self.axes = tiled(self.axes, other)
            self.kept = len(self.axes)
            self.lane_axis = self.turned = self.kept - 1

    def _dependences(self) -> dict[Term, frozenset[int]]:
        """The axes that each term depends on."""
        found: dict[Term, frozenset[int]] = {}
        for term in self.terms:
            own: frozenset[int] = frozenset()
            if term.op in ("load", "position"):
                layout = layout_of(term)
                own = frozenset(k for k, axis in enumerate(self.axes) if axis.strides[layout])
                if term.op == "load" and term.static[0] in self.kernel.writes and self.kernel.is_ordered:
                    own = frozenset(range(len(self.axes)))  # what another element may have written
            own = own.union(*[found[arg] for arg in term.args])
            if term.op in REDUCTIONS:
                own = frozenset(k for k in own if k < self.kept)
            found[term] = own
        return found

    def _level(self, term: Term) -> int:
        """Inside how many loops a term is computed; what a reduction is needed for, inside all that are kept."""
        level = 1 + max(self.depends[term], default=-1)
        if level == self.turned + 1:
            level = len(self.axes)  # blocks are read in the innermost loop
        return max(level, self.kept) if self.stage[term] else level

    def step(self, level: int) -> int:
        """How many indices a turn of a loop has."""
        return self.lanes if level == self.lane_axis or (self._is_blocked and level == self.turned) else 1

    def _is_vector(self, term: Term) -> bool:
        return self.lanes > 1 and self.lane_axis in self.depends[term]

    # The nest

    def write(self) -> None:
        """All of it."""
        lengths = {level: axis.length for level, axis in enumerate(self.axes) if axis.length is not None}
        self._compute(in_order(lengths.values()))
        for level, length in lengths.items():
            within = (("smin", self.axes[level].extent), ("smax", 0))
            self.ends[level] = functools.reduce(
                lambda x, each: call_intrinsic(self.b, each[0], (x, INDEX(each[1])), INDEX, (INDEX,)),
                within,
                self._value(length),
            )
        self._kept_level(0)

    def _kept_level(self, level: int) -> None:
        if level < self.kept:
            self._compute([t for t in self.terms if self._level(t) == level])
            self._each(level, lambda: self._kept_level(level + 1))
        elif self._is_blocked:
            self._block(self.rows, self._inside)
        else:
            self._inside()

    @property
    def _is_blocked(self) -> bool:
        """Whether the innermost loop goes through blocks, and the one around it as far as one of them."""
        return self.turned < len(self.axes) - 1

    def _inside(self) -> None:
        """What is inside all loops over what is kept."""
        is_reducing = bool(self.kernel.reduced)  # of axes of one element too, which are no loops
        for stage in range(max(self.stage.values(), default=0) + 1):
            here = [t for t in self.terms if self._level(t) == self.kept and self.stage[t] == stage]
            self._compute([t for t in here if t.op not in REDUCTIONS])
            outer = [s for s in self.kernel.stores if not is_reducing or s.layout.rank < len(self.kernel.space)]
            for store in outer:
                if self.stage[store.term] == stage:
                    self._store(store)
            if is_reducing:
                reductions = [t for t in self.terms if t.op in REDUCTIONS and self.stage[t] == stage + 1]
                full = [s for s in self.kernel.stores if s not in outer and self.stage[s.term] == stage]
                if reductions or full:
                    self._pass(reductions, full)

    def _pass(self, reductions: Sequence[Term], stores: Sequence[Store]) -> None:
        """One pass over the reduced axes."""
        needed = in_order([*(arg for term in reductions for arg in term.args), *(store.term for store in stores)])
        needed = [term for term in needed if self._level(term) > self.kept]
        accumulators = [self._accumulator(term) for term in reductions]
        taken = [term.args for term in reductions]
        self._reduced_level(self.kept, needed, list(zip(accumulators, taken, strict=True)), stores)
        for term, each in zip(reductions, accumulators, strict=True):
            self.scopes[-1][term] = self._or_none(term, each.result(self.lane_axis >= self.kept))

    def _or_none(self, term: Term, value: Value) -> Value:
        """What a reduction comes to; a sum of no element is 0, not the -0.0 that it starts from."""
        ends = [end for level, end in self.ends.items() if level >= self.kept]
        if term.op != "sum" or term.dtype.kind not in ("float", "complex") or not ends:
            return value
        is_empty = functools.reduce(self.b.or_, [self.b.icmp_signed("==", end, INDEX(0)) for end in ends])
        if type(value) is tuple:
            return tuple(self.b.select(is_empty, part.type(0), part) for part in value)
        return self.b.select(is_empty, value.type(0), value)

    def _reduced_level(
        self,
        level: int,
        needed: Sequence[Term],
        accumulators: Sequence[tuple[Accumulator | PairAccumulator, Sequence[Term]]],
        stores: Sequence[Store],
    ) -> None:
        """The loops from one level on: accumulators take what their terms are."""
        if level > self.kept:
            self._compute([term for term in needed if self._level(term) == level])
        if level < len(self.axes):
            long = [each for each, _ in accumulators if each.is_long]

            def flush() -> None:
                for each in long:
                    each.flush()

            after = flush if long and level == len(self.axes) - 1 else None
            self._each(level, lambda: self._reduced_level(level + 1, needed, accumulators, stores), after)
            return
        for store in stores:
            self._store(store)
        for each, args in accumulators:
            mask = self.at.used(None, each.lanes) if self.lane_axis >= self.kept else None
            each.add([self._value(arg, each.lanes) for arg in args], mask)

    def _accumulator(self, term: Term) -> Accumulator | PairAccumulator:
        is_row = self.lane_axis >= self.kept
        lanes = self.lanes if is_row or any(map(self._is_vector, term.args)) else 1
        steps = math.prod(axis.extent for axis in self.axes[self.kept :])
        steps = steps // self.lanes if is_row else steps
        if term.dtype.kind == "complex":
            return PairAccumulator(self.b, term.dtype, lanes, steps)
        return Accumulator(self.b, term.op, [arg.dtype for arg in term.args], lanes, steps, self._first_place(term))

    def _first_place(self, term: Term) -> Value:
        """The place of the first element, where the loops go through the elements in the order of their places."""
        if len(term.args) < 2 or term.args[1].op != "position":
            return None
        layout, reach = layout_of(term.args[1]), 0
        for axis in reversed(self.axes[self.kept :]):
            if axis.strides[layout] <= reach:
                return None
            reach += axis.strides[layout] * (axis.extent - 1)
        return self.at.start(layout)

    def _each(self, level: int, body: Callable[[], None], after: Callable[[], None] | None = None) -> None:
        """A loop over an axis; with `after`, which runs at least each so many turns."""
        axis = self.axes[level]
        extent = axis.extent
        step = self.step(level)
        main = extent - (1 if axis.tail else extent % step)

        def turn(index: Value) -> None:
            self.at.indices.append(index)
            self.scopes.append({})
            body()
            self.scopes.pop()
            self.at.indices.pop()

        if level in self.ends:
            self._up_to(level, step, turn, after)
            return
        if self._is_blocked and level == self.lane_axis:
            self._from_line(extent, turn)
            return

        def block(index: Value) -> None:
            self.at.indices.append(index)
            self._block(self.lanes, body)
            self.at.indices.pop()

        def turns(start: Any, end: Any) -> None:
            if self.crossed and step == 1 and level == self.turned and after is None and self.at.is_whole:
                whole = end - end % self.lanes
                self._counted(start, whole, self.lanes, block)
                start = whole
            self._counted(start, end, step, turn)

        def last() -> None:
            inner = self.axes[-1]
            if axis.tail:
                self.axes[-1] = inner._replace(extent=axis.tail)
            elif level == self.lane_axis:
                self.at.rest = extent - main
            else:
                self.rows = extent - main
            turn(INDEX(main))
            self.axes[-1] = inner
            self.at.rest, self.rows = 0, self.lanes

        if self.part is not None and level == 0:
            start, end = self.part
            with self.b.if_then(self.b.icmp_signed("<", start, end)):
                self._counted(start, end, step, turn)
            if main < extent:
                with self.b.if_then(self.b.icmp_signed("==", end, INDEX(main))):
                    last()
            return
        chunk = CHUNK * step
        if after is None:
            turns(0, main)
        elif main <= chunk:
            self._counted(0, main, step, turn)
            after()
        else:

            def part(start: Value) -> None:
                self._counted(start, self._lesser(self.b.add(start, INDEX(chunk)), INDEX(main)), step, turn)
                after()

            self._counted(0, main, chunk, part)
        if main < extent:
            last()
            if after is not None:
                after()

    def _up_to(self, level: int, step: int, turn: Callable[[Value], None], after: Callable[[], None] | None) -> None:
        """A loop that goes to its length; what is left at its end is a vector of which a run tells the part in use."""
        b, end = self.b, self.ends[level]
        main = b.and_(end, INDEX(-step))
        start, stop, has_rest = INDEX(0), main, b.icmp_signed("<", main, end)
        if self.part is not None and level == 0:
            start, limit = self.part
            is_here = b.and_(b.icmp_signed("<=", start, main), b.icmp_signed("<", main, limit))
            extent = self.axes[level].extent
            has_rest = b.and_(has_rest, b.or_(is_here, b.icmp_signed("==", limit, INDEX(extent - extent % step))))
            stop = self._lesser(limit, main)

        def chunk(first: Value) -> None:
            self._counted(first, self._lesser(b.add(first, INDEX(CHUNK * step)), stop), step, turn)
            assert after is not None
            after()

        with b.if_then(b.icmp_signed("<", start, stop)):
            self._counted(start, stop, *((step, turn) if after is None else (CHUNK * step, chunk)))
        if step > 1:
            with b.if_then(has_rest):
                lanes = ir.Constant(ir.VectorType(INDEX, step), list(range(step)))
                self.at.mask = b.icmp_signed("<", lanes, splat(b, b.sub(end, main), step))
                turn(main)
                self.at.mask = None
                if after is not None:
                    after()

    def _from_line(self, extent: int, turn: Callable[[Value], None]) -> None:
        """A loop whose vectors are stored as whole lines of the cache, but for a part of one at each end."""
        b, lanes, (store,) = self.b, self.lanes, self.kernel.stores
        size = store.term.dtype.numpy.itemsize
        address = b.ptrtoint(self.at.address(store.buffer, store.term.dtype, INDEX(store.layout.offset)), INDEX)
        start = b.and_(b.sdiv(b.sub(INDEX(0), address), INDEX(size)), INDEX(lanes - 1))
        end = b.add(start, b.and_(b.sub(INDEX(extent), start), INDEX(-lanes)))
        places = ir.Constant(ir.VectorType(INDEX, lanes), list(range(lanes)))

        def at_an_end(which: Value) -> None:
            is_first = b.icmp_signed("==", which, INDEX(0))
            index, count = b.select(is_first, INDEX(0), end), b.select(is_first, start, b.sub(INDEX(extent), end))
            with b.if_then(b.icmp_signed("<", INDEX(0), count)):
                self.at.mask = b.icmp_signed("<", places, splat(b, count, lanes))
                turn(index)
                self.at.mask = None

        self._counted(start, end, lanes, turn)
        self._counted(0, 2, 1, at_an_end)  # one piece of code for both

    def _lesser(self, x: Value, y: Value) -> Value:
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def _block(self, count: int, body: Callable[[], None]) -> None:
        """So many turns of the loop along the memory that the lanes cross: its vectors in each lane, transposed."""
        columns = {
            term: self.at.read_block(term.static[0], term.dtype, term.static[1], self.lanes, count, self._is_blocked)
            for term in self.crossed
        }
        start = self.at.indices[self.turned]
        for place in range(count):
            self.at.indices[self.turned] = self.b.add(start, INDEX(place))
            self.columns = {term: own[place] for term, own in columns.items()}
            self.scopes.append({})
            body()
            self.scopes.pop()
        self.at.indices[self.turned], self.columns = start, {}

    def _counted(self, start: Any, end: Any, step: int, body: Callable[[Value], None]) -> None:
        """``for index in range(start, end, step)``; there is a first turn, or both bounds are ints."""
        if isinstance(start, int) and isinstance(end, int):
            if end - start <= step * (_WRITTEN_OUT if self.kernel.is_ordered else 1):
                for each in range(start, end, step):
                    body(INDEX(each))
                return
            start, end = INDEX(start), INDEX(end)
        b = self.b
        before, head, after = b.block, b.append_basic_block(), b.append_basic_block()
        b.branch(head)
        b.position_at_end(head)
        index = b.phi(INDEX)
        index.add_incoming(start, before)
        body(index)
        following = b.add(index, INDEX(step))
        index.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, end), head, after)
        b.position_at_end(after)

    # Terms

    def _compute(self, terms: Sequence[Term]) -> None:
        for term in terms:
            if term not in self.scopes[-1]:
                self.scopes[-1][term] = self._emit(term)

    def _value(self, term: Term, lanes: int = 1) -> Value:
        """What a term has been computed to; in every lane, where it is one number."""
        value = next(scope[term] for scope in reversed(self.scopes) if term in scope)
        return (
            tuple(splat(self.b, part, lanes) for part in value) if type(value) is tuple else splat(self.b, value, lanes)
        )

    def _emit(self, term: Term) -> Value:
        lanes = self.lanes if self._is_vector(term) else 1
        if term in self.columns:
            return self.columns[term]
        if term.op == "constant":
            return self._constant(term)
        if term.op == "position":
            return self._position(term.static[0], lanes)
        if term.op == "load":
            return self._load(term, lanes)
        args = [self._value(arg, lanes) for arg in term.args]
        if term.op == "within":
            self._check(args, lanes, *term.static)
        if term.op in ("within", "with"):
            return args[0]
        emit = Emit(self.b, narrow.computed_as(part_of(term.args[0].dtype)), lanes)
        is_pair = "complex" in (term.dtype.kind, term.args[0].dtype.kind)
        if term.op == "where":
            return pairs.where(emit, *args) if is_pair else scalar.where(emit, *args)
        if term.op == "cast":
            return (pairs if is_pair else scalar).cast(emit, args[0], term.dtype)
        if term.op == "bitcast":
            return self._bitcast(emit, args[0], term.args[0].dtype, term.dtype)
        value = (pairs if is_pair else scalar).ROWS[term.op](emit, *args)
        return narrow.rounded(self.b, value, term.dtype) if term.dtype in NARROW else value

    def _bitcast(self, emit: Emit, x: Value, origin: DType, dtype: DType) -> Value:
        bits = narrow.narrowed(self.b, x, origin) if origin in NARROW else x
        return narrow.widened(self.b, bits, dtype) if dtype in NARROW else scalar.bitcast(emit, bits, dtype)

    def _constant(self, term: Term) -> Value:
        number, part = term.static[0], part_of(term.dtype)
        if part is term.dtype:
            return ir.Constant(in_register(part), bits_of(number, part))
        whole = complex(number)
        return tuple(ir.Constant(in_register(part), bits_of(each, part)) for each in (whole.real, whole.imag))

    def _check(self, args: Sequence[Value], lanes: int, low: int, high: int, site: Site) -> None:
        x = args[0]
        is_low = self.b.icmp_signed("<", x, splat_constant(INDEX, lanes, low))
        is_high = self.b.icmp_signed(">", x, splat_constant(INDEX, lanes, high))
        wrong = self.b.or_(is_low, is_high)
        if lanes == 1:
            self.fail(self.b, wrong, lambda: args, site)
            return
        wrong = self.at.used(wrong, lanes)
        bits = self.b.bitcast(wrong, ir.IntType(lanes))

        def first() -> list[Value]:
            place = call_intrinsic(self.b, "cttz", (bits, BIT(0)), bits.type, (bits.type,))
            wide = self.b.zext(place, INDEX) if lanes < 64 else place
            return [self.b.extract_element(arg, wide) for arg in args]

        self.fail(self.b, self.b.icmp_unsigned("!=", bits, bits.type(0)), first, site)

    # Memory

    def _position(self, layout: Layout, lanes: int) -> Value:
        start = self.at.start(layout)
        return start if lanes == 1 else self._steps(start, self.at.lane_stride(layout), lanes)

    def _steps(self, start: Value, stride: int, lanes: int) -> Value:
        """A number for each lane, by a stride more than the one before."""
        steps = ir.Constant(ir.VectorType(INDEX, lanes), [lane * stride for lane in range(lanes)])
        return self.b.add(splat(self.b, start, lanes), steps)

    def _load(self, term: Term, lanes: int) -> Value:
        buffer, layout, strides = term.static
        dtype, start = term.dtype, self.at.start(layout)
        moving, conditions = [], []
        for arg, stride in zip(term.args, strides, strict=True):
            if stride is None:
                conditions.append(arg)
            elif self._count(arg) == 1:
                start = self.b.add(start, self.b.mul(self._value(arg), INDEX(stride)))
            else:
                moving.append((arg, stride))
        mask, stride = self._where(conditions, lanes), self.at.lane_stride(layout) if lanes > 1 else 0
        element, is_plain = part_of(dtype), lanes > 1 and not moving and mask is None and self.at.is_whole
        if element is dtype:
            if lanes == 1:
                return self._loaded(term, self.at.read(buffer, dtype, self._safe(start, mask)))
            if not moving and stride == 1:
                return self._loaded(term, self.at.read_vector(buffer, dtype, start, lanes, mask))
            if is_plain and abs(stride) <= NEAR:
                beside = self._beside(term, abs(stride))
                return self._loaded(term, self.at.read_apart(buffer, dtype, start, lanes, stride, beside))
            if moving and dtype.bits >= 32:
                return self.at.gathered(buffer, dtype, self._places(start, stride, moving), mask)
        if is_plain and stride == 1:
            both = self.at.read_vector(buffer, element, self.b.mul(start, INDEX(2)), 2 * lanes, None)
            return tuple(picked(self.b, both, range(part, 2 * lanes, 2)) for part in range(2))
        if lanes > 1 and self.at.mask is not None:
            mask = self.at.used(mask, lanes)
        places = []
        for lane in range(1 if lanes == 1 else self.at.rest or lanes):
            position = self.b.add(start, INDEX(lane * stride)) if stride else start
            for arg, by in moving:
                position = self.b.add(position, self.b.mul(self._in_lane(arg, lane), INDEX(by)))
            if mask is not None:
                position = self._safe(position, mask if lanes == 1 else self.b.extract_element(mask, INDEX(lane)))
            places.append(position)
        if element is dtype:
            return self._loaded(term, self.at.collected(buffer, dtype, places, lanes))
        twice = [self.b.mul(place, INDEX(2)) for place in places]
        second = [self.b.add(place, INDEX(1)) for place in twice]
        return tuple(self.at.collected(buffer, element, each, lanes) for each in (twice, second))

    def _beside(self, term: Term, step: int) -> tuple[int, int]:
        """How far before and behind what a load reads, with steps between its elements, others read in the gaps."""
        buffer, layout, moved = term.static
        distances = [
            other.static[1].offset - layout.offset
            for other in self.terms
            if (other.op, other.args) == ("load", term.args) and (other.static[0], other.static[2]) == (buffer, moved)
            if other.static[1].strides == layout.strides
        ]
        near = [each for each in distances if abs(each) < step]
        least = min(near)
        return -least, min(max(near), step - 1 + least)

    def _places(self, start: Value, stride: int, moving: Sequence[tuple[Term, int]]) -> Value:
        """The position of each lane."""
        places = self._steps(start, stride, self.lanes)
        for arg, by in moving:
            places = self.b.add(places, self.b.mul(self._value(arg), splat_constant(INDEX, self.lanes, by)))
        return places

    def _in_lane(self, term: Term, lane: int) -> Value:
        """An index in one lane: what is only read is read alone, for less than it takes to get it out of a vector."""
        read = term.args[0] if term.op == "within" else term
        read = read.args[0] if read.op == "cast" else read
        if read.op != "load" or read.args or read.dtype.kind not in ("signed", "unsigned") or self.at.mask is not None:
            return self.b.extract_element(self._value(term), INDEX(lane))
        buffer, layout, _ = read.static
        place = self.b.add(self.at.start(layout), INDEX(lane * self.at.lane_stride(layout)))
        return scalar.cast(Emit(self.b, read.dtype, 1), self.at.read(buffer, read.dtype, place), term.dtype)

    def _where(self, conditions: Sequence[Term], lanes: int) -> Value:
        """All of the conditions; None where there are none."""
        found = None
        for condition in conditions:
            value = self._value(condition, lanes)
            found = value if found is None else self.b.and_(found, value)
        return found

    def _safe(self, position: Value, condition: Value) -> Value:
        """A position that may be read whether the condition holds or not."""
        return position if condition is None else self.b.select(condition, position, INDEX(0))

    def _count(self, term: Term) -> int:
        return self.lanes if self._is_vector(term) else 1

    def _loaded(self, term: Term, value: Value) -> Value:
        if term.dtype in NARROW:
            return narrow.widened(self.b, value, term.dtype)
        if term.dtype is not dt.bool:
            return value
        return self.b.icmp_unsigned("!=", value, splat_constant(BYTE, lanes_of(value), 0))

    def _store(self, store: Store) -> None:
        layout = spread(store.layout, self.kernel.space, self.kernel.reduced)
        dtype, stride = store.term.dtype, self.at.lane_stride(layout)
        is_vector = self.lanes > 1 and stride != 0
        lanes = self.lanes if is_vector else 1
        value = self._value(store.term, lanes)
        if dtype is dt.bool:
            value = self.b.zext(value, vector(BYTE, lanes))
        if dtype in NARROW:
            value = narrow.narrowed(self.b, value, dtype)
        start = self.at.start(layout)
        for by, moved in store.shifts:
            if moved is not None:
                start = self.b.add(start, self.b.mul(self._value(by), INDEX(moved)))
        mask = self._where([by for by, moved in store.shifts if moved is None], lanes)
        if type(value) is not tuple:
            self.at.write(store.buffer, dtype, value, start, stride, mask)
            if self._is_blocked:
                self.at.prefetch(store.buffer, dtype, self.b.add(start, INDEX(AHEAD * self.lanes)), is_written=True)
            return
        element, twice = part_of(dtype), self.b.mul(start, INDEX(2))
        if is_vector and stride == 1 and mask is None and self.at.is_whole:
            order = [part * lanes + lane for lane in range(lanes) for part in range(2)]
            self.at.write(store.buffer, element, picked(self.b, value[0], order, value[1]), twice, 1, None)
            return
        for part, own in enumerate(value):
            self.at.write(store.buffer, element, own, self.b.add(twice, INDEX(part)), 2 * stride, mask)
