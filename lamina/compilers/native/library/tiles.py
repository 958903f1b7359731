"""Products of matrices in tiles: of integers, which BLAS lacks, and where one extent is small.

A tile of the result is as many numbers as the registers hold. With each step along the inner axis a few vectors of the
second matrix come, and each number of a column of the first is multiplied by them and added. So many columns of the
second matrix are a panel, which is copied first, to where its rows are one behind the other and stay in the nearest
cache (K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).

A thread has a range of the rows of tiles, and each number is summed in the order of the inner axis, whoever does it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from lamina import dtype as dt
from lamina.compilers.native import ir, parallel
from lamina.compilers.native.counting import repeat
from lamina.compilers.native.library.lines import Call, Operand, element_at, load, splat, store, zero
from lamina.compilers.native.scalar import Value, call_intrinsic
from lamina.compilers.native.types import (
    BIT,
    COMPUTED,
    INDEX,
    POINTER,
    STATUS,
    in_memory,
    splat_constant,
    vector,
)
from lamina.dtype import DType
from lamina.layout import Layout

_SMALL = range(4, 65)
_WIDTH = 2  # vectors of a panel
_DEPTH = 256  # rows of a panel, which then fills most of the nearest cache
_WORTH_A_THREAD = 1 << 23  # multiplications: about 0.1 ms
_MANY, _ROWS = (
    8,
    128,
)  # so many matrices are parts of the work as they are; of fewer, so many rows, that copies are worth it


def suit(dtype: DType, x: Layout, y: Layout) -> bool:
    """Whether a product is better off in tiles than with BLAS.

    BLAS copies both matrices, and lets threads of its own spin, for which a product with a small extent is over too
    soon. With the smallest of extents it is a sum of columns, which BLAS does in another way.
    """
    if dtype.kind in ("signed", "unsigned"):
        return dtype in COMPUTED
    return dtype in (dt.float32, dt.float64) and min(*x.shape[-2:], y.shape[-1]) in _SMALL


def emit(call: Call) -> None:
    """Write a product of stacks of matrices."""
    (*stack, rows, inner), columns = call.operands[0].layout.shape, call.operands[1].layout.shape[-1]
    b, arrays = call.builder, (*call.operands, *call.results)
    shape = _shape(rows, inner, columns, call.vector_bytes, arrays[0].dtype)
    tiles, kinds = math.prod(stack) * shape.tiles, [POINTER] * len(arrays)
    step = shape.tiles if math.prod(stack) >= _MANY else max(_ROWS // shape.height, 1)
    is_divided = parallel.IS_HERE and tiles > step and math.prod((*stack, rows, inner, columns)) >= _WORTH_A_THREAD
    function = ir.Function(
        b.module, parallel.KERNEL if is_divided else ir.FunctionType(STATUS, kinds), f"{b.function.name}_tiles"
    )
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind"):
        function.attributes.add(attribute)
    inside = ir.IRBuilder(function.append_basic_block("entry"))
    memories: Sequence[Value] = function.args
    start: Value = INDEX(0)
    end: Value = INDEX(tiles)
    if is_divided:
        frame, _, start, end = function.args
        memories = parallel.arguments(inside, frame, kinds)
    own = [each._replace(memory=memory) for each, memory in zip(arrays, memories, strict=True)]
    _Tiles(inside, shape, own).write(start, end)
    inside.ret(STATUS(0))

    args = [each.memory for each in arrays]
    if is_divided:
        parallel.provided()  # before the code is linked, also where it was found on disk
        parallel.call(b, function, args, POINTER(None), -(-tiles // step), step, call.threads)
    else:
        b.call(function, args)


class _Shape(NamedTuple):
    """The extents of a product; numbers of a vector, columns of a panel, rows of a tile."""

    rows: int
    inner: int
    columns: int
    lanes: int
    across: int
    height: int

    @property
    def tiles(self) -> int:
        """How many tiles are one below the other."""
        return -(-self.rows // self.height)


def _shape(rows: int, inner: int, columns: int, vector_bytes: int, dtype: DType) -> _Shape:
    lanes = max(vector_bytes // dtype.numpy.itemsize, 1)
    width = _evenly(-(-columns // lanes), _WIDTH)
    sums = 20 if vector_bytes == 64 else 10  # of 32 or 16 registers: some are for what is multiplied
    return _Shape(rows, inner, columns, lanes, width * lanes, _height(rows, sums // width))


def _height(rows: int, most: int) -> int:
    """The rows of a tile: a divisor, so that tiles of one kind are enough, unless that leaves many registers unused.

    >>> _height(256, 10), _height(257, 10)
    (8, 10)
    """
    divisors = (height for height in range(most, most * 2 // 3 - 1, -1) if rows % height == 0)
    return next(divisors, _evenly(rows, most))


def _evenly(extent: int, most: int) -> int:
    """How large the parts of an extent are, as equal as can be.

    >>> _evenly(16, 12), _evenly(100, 12)
    (8, 12)
    """
    return -(-extent // -(-extent // most))


class _Panel(NamedTuple):
    """Where rows of columns of the second matrix are, how far from one to the next, and the extents.

    Of a copy whole vectors may be read.
    """

    place: Value
    step: int
    depth: Value
    columns: int
    is_copy: bool


class _Tiles:
    """The function for a range of the rows of tiles of all matrices of a stack, being written."""

    def __init__(self, b: ir.IRBuilder, shape: _Shape, arrays: Sequence[Operand]) -> None:
        self.b, self.shape = b, shape
        self.x, self.y, self.result = arrays
        self.dtype = self.x.dtype
        self.kind = vector(in_memory(self.dtype), shape.lanes)
        self.nothing = splat_constant(in_memory(self.dtype), shape.lanes, 0)
        self.is_added_up = shape.inner > _DEPTH  # panel after panel, where the result is
        room = ir.ArrayType(in_memory(self.dtype), min(shape.inner, _DEPTH) * shape.across)
        self.memory = b.alloca(room, align=64)

    def write(self, start: Value, end: Value) -> None:
        """The rows of tiles from start to end, counted through the stack."""
        b, tiles = self.b, INDEX(self.shape.tiles)
        stack = self.x.layout.shape[:-2]
        end = self._least(end, INDEX(math.prod(stack) * self.shape.tiles))

        def matrix(number: Value) -> None:
            before = b.mul(number, tiles)
            indices: list[Value] = []
            rest = number
            for extent in reversed(stack):
                indices.insert(0, b.urem(rest, INDEX(extent)))
                rest = b.udiv(rest, INDEX(extent))
            places = [each.at(b, range(len(stack)), indices) for each in (self.x, self.y, self.result)]
            self._matrix(places, self._most(b.sub(start, before), INDEX(0)), self._least(b.sub(end, before), tiles))

        repeat(b, b.udiv(b.add(end, INDEX(self.shape.tiles - 1)), tiles), matrix, start=b.udiv(start, tiles))

    def _least(self, x: Value, y: Value) -> Value:
        return self.b.select(self.b.icmp_signed("<", x, y), x, y)

    def _most(self, x: Value, y: Value) -> Value:
        return self.b.select(self.b.icmp_signed("<", x, y), y, x)

    def _matrix(self, places: Sequence[Value], start: Value, end: Value) -> None:
        b, (rows, inner, columns, _, across, height) = self.b, self.shape
        x, y, result = places
        if self.is_added_up:
            first = b.mul(start, INDEX(height))
            count = b.sub(self._least(b.mul(end, INDEX(height)), INDEX(rows)), first)
            nbytes = b.mul(count, INDEX(columns * self.dtype.numpy.itemsize))
            zero(b, element_at(b, result, self.dtype, b.mul(first, INDEX(columns))), nbytes)
        whole = rows // height
        end_of_whole = self._least(end, INDEX(whole))

        def block(number: Value) -> None:
            before = b.mul(number, INDEX(_DEPTH))
            depth = self._least(b.sub(INDEX(inner), before), INDEX(_DEPTH))
            left = self._at(self.x, x, INDEX(0), before)

            def panel(column: Value, count: int) -> None:
                held = self._panel(self._at(self.y, y, before, column), depth, count)
                target = self._at(self.result, result, INDEX(0), column)

                def tile(number: Value, height: int) -> None:
                    row = b.mul(number, INDEX(self.shape.height))
                    own = self._at(self.x, left, row, INDEX(0)), self._at(self.result, target, row, INDEX(0))
                    self._tile(*own, held, height)

                repeat(b, end_of_whole, lambda number: tile(number, height), start=start)
                if rows % height:
                    repeat(b, end, lambda number: tile(number, rows % height), start=self._most(start, INDEX(whole)))

            repeat(b, columns // across, lambda number: panel(b.mul(number, INDEX(across)), across))
            if columns % across:
                panel(INDEX(columns // across * across), columns % across)

        repeat(b, -(-inner // _DEPTH), block)

    def _at(self, operand: Operand, memory: Value, row: Value, column: Value) -> Value:
        b, (down, along) = self.b, operand.layout.strides[-2:]
        return element_at(b, memory, self.dtype, b.add(b.mul(row, INDEX(down)), b.mul(column, INDEX(along))))

    def _panel(self, origin: Value, depth: Value, columns: int) -> _Panel:
        """So many columns of the second matrix, copied to where they are close together if they are used again."""
        b, (down, along), across = self.b, self.y.layout.strides[-2:], self.shape.across
        if along == 1 and self.shape.tiles == 1:
            return _Panel(origin, down, depth, columns, False)

        def row(k: Value) -> None:
            for place, count in self._vectors(columns):
                value = self._load(self._element(origin, b.mul(k, INDEX(down)), place), count)
                self._store(value, self._element(self.memory, b.mul(k, INDEX(across)), place))

        def column(j: Value) -> None:
            def number(k: Value) -> None:
                value = load(b, self.dtype, self._at(self.y, origin, k, j))
                store(b, self.dtype, value, self._element(self.memory, b.mul(k, INDEX(across)), j))

            repeat(b, depth, number)

        if along == 1:
            repeat(b, depth, row)
        else:
            if columns % self.shape.lanes:  # what is beside the last column is computed with, too
                zero(b, self.memory, b.mul(depth, INDEX(across * self.dtype.numpy.itemsize)))
            repeat(b, columns, column)
        return _Panel(self.memory, across, depth, columns, True)

    def _tile(self, left: Value, target: Value, panel: _Panel, height: int) -> None:
        b, lanes, (down, along) = self.b, self.shape.lanes, self.x.layout.strides[-2:]
        vectors = self._vectors(panel.columns)
        cells = [
            (self._element(target, INDEX(row * self.shape.columns), place), count)
            for row in range(height)
            for place, count in vectors
        ]
        begin = [self._load(*cell) if self.is_added_up else self.nothing for cell in cells]

        before, turn, after = b.block, b.append_basic_block(), b.append_basic_block()
        b.branch(turn)
        b.position_at_end(turn)
        k, *sums = (b.phi(each.type) for each in (INDEX(0), *begin))
        right = [
            self._load(
                self._element(panel.place, b.mul(k, INDEX(panel.step)), place), lanes if panel.is_copy else count
            )
            for place, count in vectors
        ]
        column = self._element(left, b.mul(k, INDEX(along)))
        factors = [
            splat(b, load(b, self.dtype, self._element(column, INDEX(row * down))), lanes) for row in range(height)
        ]
        products = ((factor, each) for factor in factors for each in right)
        totals = [self._added(total, *product) for total, product in zip(sums, products, strict=True)]
        following = b.add(k, INDEX(1))
        for phi, first, later in zip((k, *sums), (INDEX(0), *begin), (following, *totals), strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, turn)
        b.cbranch(b.icmp_signed("<", following, panel.depth), turn, after)
        b.position_at_end(after)
        for total, cell in zip(totals, cells, strict=True):
            self._store(total, *cell)

    def _added(self, total: Value, x: Value, y: Value) -> Value:
        if self.dtype.kind != "float":
            return self.b.add(total, self.b.mul(x, y))
        return call_intrinsic(self.b, "fmuladd", (x, y, total), self.kind, (self.kind,))

    # Vectors

    def _vectors(self, columns: int) -> list[tuple[int, int]]:
        """Where each vector of so many columns begins, and how many of its numbers are meant."""
        lanes = self.shape.lanes
        return [(place, min(columns - place, lanes)) for place in range(0, columns, lanes)]

    def _element(self, memory: Value, *distances: Value | int) -> Value:
        for distance in distances:
            memory = element_at(self.b, memory, self.dtype, INDEX(distance) if isinstance(distance, int) else distance)
        return memory

    def _load(self, address: Value, count: int) -> Value:
        if count == self.shape.lanes:
            return load(self.b, self.dtype, address, count)
        args = (address, self._align, self._mask(count), self.nothing)
        return call_intrinsic(self.b, "masked.load", args, self.kind, (self.kind, POINTER))

    def _store(self, value: Value, address: Value, count: int | None = None) -> None:
        if count in (None, self.shape.lanes):
            store(self.b, self.dtype, value, address, self.shape.lanes)
            return
        args = (value, address, self._align, self._mask(count))
        call_intrinsic(self.b, "masked.store", args, ir.VoidType(), (self.kind, POINTER))

    @property
    def _align(self) -> ir.Constant:
        return ir.IntType(32)(self.dtype.numpy.alignment)

    def _mask(self, count: int) -> ir.Constant:
        lanes = self.shape.lanes
        return ir.Constant(ir.VectorType(BIT, lanes), [int(lane < count) for lane in range(lanes)])
