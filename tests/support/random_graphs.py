"""Random graphs, made of nodes: ops, dtypes, layouts, scopes and effects.

What goes on into other nodes is exact on every compiler, so that results are compared to the last bit: whole numbers
that wrap, and floats under the operations that IEEE rounds. Ops that a compiler may round otherwise (`ROUNDED`) stand
at the ends, each beside the size that its tolerance is relative to.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.array import from_numpy
from lamina.dtype import DType
from lamina.expr import OPS, Expr, Graph, build, with_effects
from lamina.expr.check import check
from lamina.layout import Layout, move
from lamina.testing.elements import tame, wild

Shape = tuple[int, ...]
Step = Callable[["_Scope"], Expr | None]


class RandomGraph(NamedTuple):
    """A graph, arguments for it, what its callbacks are shown, and of each result the ulps it may differ by."""

    graph: Graph
    arguments: list[np.ndarray]
    log: list[Any]
    ulps: list[int]


DTYPES = [dt.bool, dt.int8, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint64, dt.float32, dt.float64, dt.float64]
SHAPES: list[Shape] = [(), (1,), (3,), (8,), (17,), (2, 3), (3, 1), (5, 4), (1, 9), (2, 3, 4), (33,), (0,), (4, 0)]

UNARY = {
    "negative": "iufc", "bitwise_invert": "biu", "logical_not": "b", "abs": "iuf", "sign": "iuf", "square": "iuf",
    "sqrt": "f", "floor": "f", "ceil": "f", "trunc": "f", "isnan": "f", "isfinite": "f", "reciprocal": "f",
}  # fmt: skip
BINARY = {
    "add": "biuf", "subtract": "iuf", "multiply": "biuf", "divide": "f", "floor_divide": "iuf", "remainder": "iuf",
    "maximum": "biuf", "minimum": "biuf", "equal": "biuf", "not_equal": "biuf", "less": "biuf", "greater_equal": "biuf",
    "bitwise_and": "biu", "bitwise_or": "biu", "bitwise_xor": "biu", "bitwise_left_shift": "iu",
    "bitwise_right_shift": "iu", "logical_and": "b", "logical_or": "b", "fmin": "biuf", "gcd": "iu",
}  # fmt: skip
REDUCTIONS = {
    "sum": "iu", "prod": "iu", "max": "biuf", "min": "biuf", "any": "b", "all": "b", "bitwise_xor_reduce": "biu",
}  # fmt: skip
ALONG = {
    "argmax": "biuf", "argmin": "biuf", "cumulative_sum": "iu", "cumulative_prod": "iu", "cumulative_max": "biuf",
    "sort": "biuf",
}  # fmt: skip
ROUNDED = ["exp", "log1p", "sin", "cos", "tanh", "atan", "sigmoid", "cbrt", "erf", "expm1"]
_LETTERS = {"bool": "b", "signed": "i", "unsigned": "u", "float": "f", "complex": "c"}


class _Scope:
    """A scope being filled: what may be used in it, and its effects."""

    def __init__(self, grower: "_Grower", pool: Sequence[Expr], depth: int) -> None:
        self.grower = grower
        self.draw = grower.draw
        self.pool = list(pool)
        self.effects: list[Expr] = []
        self.depth = depth

    def grow(self, count: int) -> None:
        """Add nodes."""
        for _ in range(count):
            made = self.draw.choices(_STEPS, _WEIGHTS)[0](self)
            if made is not None:
                self.pool.append(made)

    # What there is

    def any(self, kinds: str = "biuf") -> Expr:
        """A value of these kinds, a late one rather than an early one; cast where there is none."""
        fitting = [node for node in self.pool if _LETTERS[node.dtype.kind] in kinds]
        if fitting:
            return fitting[-1 - min(int(self.draw.expovariate(0.4)), len(fitting) - 1)]
        target = next(each for each in DTYPES if _LETTERS[each.kind] in kinds)
        return build("cast", self.draw.choice(self.pool), target)

    def like(self, dtype: DType, shape: Shape) -> Expr:
        """A value of a dtype and shape: one that is there, or made of one."""
        node = self.draw.choice([n for n in self.pool if (n.dtype, n.shape) == (dtype, shape)] or self.pool)
        node = node if node.dtype == dtype else build("cast", node, dtype)
        return self.shaped(node, shape)

    def shaped(self, node: Expr, shape: Shape) -> Expr:
        """The elements of a node in another shape: broadcast, reshaped, or one of them repeated."""
        if node.shape == shape:
            return node
        tail = shape[len(shape) - len(node.shape) :]
        if len(node.shape) <= len(shape) and all(a in (1, b) for a, b in zip(node.shape, tail, strict=True)):
            return build("move", node, move.Broadcast(shape))
        if _numel(node.shape) == _numel(shape):
            return build("move", node, move.Reshape(shape))
        if not _numel(node.shape):
            one = build("cast", Expr("constant", (1,), dt.int64, ()), node.dtype)
            return build("move", one, move.Broadcast(shape))
        first = build("move", node, move.Slice([move.Range(extent - 1, 1, 1) for extent in node.shape]))
        return build("move", build("move", first, move.Reshape(())), move.Broadcast(shape))

    def scalar(self, dtype: DType) -> Expr:
        """One element."""
        return self.shaped(build("cast", self.any(), dtype), ())

    def number(self, below: int) -> Expr:
        """An integer in a range, of which nothing is known when the graph is made."""
        return build("remainder", self.scalar(dt.int64), Expr("constant", (below,), dt.int64, ()))

    # Steps

    def unary(self) -> Expr:
        op = self.draw.choice(list(UNARY))
        return build(op, self.any(UNARY[op]))

    def binary(self) -> Expr:
        op = self.draw.choice(list(BINARY))
        x = self.any(BINARY[op])
        return _plain(op, build(op, x, self.like(x.dtype, x.shape)))

    def cast(self) -> Expr:
        return build("cast", self.any(), self.draw.choice(DTYPES))

    def choose(self) -> Expr:
        x = self.any()
        return build("where", self.like(dt.bool, x.shape), x, self.like(x.dtype, x.shape))

    def moved(self) -> Expr:
        x, draw = self.any(), self.draw
        rank = len(x.shape)
        match draw.randrange(5):
            case 0:
                return build("move", x, move.Permute(tuple(draw.sample(range(rank), rank))))
            case 1:
                return build("move", x, move.Reshape(draw.choice(_shapes_of(_numel(x.shape)))))
            case 2:
                return build("move", x, move.Broadcast((draw.choice((1, 2, 3)), *x.shape)))
            case 3 if rank and all(x.shape):
                axis = draw.randrange(rank)
                size = draw.randint(1, x.shape[axis])
                return build("move", x, move.Window([move.WindowSpec(axis, size, draw.choice((1, 1, 2)), 1)]))
        return build("move", x, move.Slice([self.range(extent) for extent in x.shape]))

    def range(self, extent: int) -> move.Range:
        """A part of an axis."""
        if not extent or self.draw.random() < 0.3:
            return move.Range(0, extent, 1)
        start, step = self.draw.randrange(extent), self.draw.choice((1, 1, 2, -1, -2))
        most = (extent - 1 - start) // step + 1 if step > 0 else start // -step + 1
        return move.Range(start, self.draw.randint(0, most) if self.draw.random() < 0.2 else most, step)

    def reduce(self) -> Expr | None:
        op = self.draw.choice(list(REDUCTIONS))
        x = self.any(REDUCTIONS[op])
        axes = tuple(axis for axis in range(len(x.shape)) if self.draw.random() < 0.6)
        if op in ("max", "min") and any(not x.shape[axis] for axis in axes):
            return None
        return _plain(op, build(op, x, axes))

    def along(self) -> Expr | None:
        op = self.draw.choice(list(ALONG))
        x = self.any(ALONG[op])
        if not x.shape or not all(x.shape):
            return None
        return _plain(op, build(op, x, self.draw.randrange(len(x.shape))))

    def rounded_inside(self) -> Expr:
        """A function whose last bits nothing depends on."""
        x = build("cast", self.any(), dt.float64)
        return build("greater", build("exp", x), build("negative", build("square", x)))

    def gather(self) -> Expr | None:
        x = self.any()
        if not x.shape or not all(x.shape):
            return None
        count = self.draw.randint(1, len(x.shape))
        shape = self.draw.choice([(), (4,), (2, 3)])
        return build("gather", x, tuple(self.places(shape, extent) for extent in x.shape[:count]))

    def places(self, shape: Shape, extent: int) -> Expr:
        """Places along an axis; a few lie outside."""
        index = self.like(dt.int64, shape)
        if self.draw.random() < 0.02:
            return index
        low = Expr("constant", (extent,), dt.int64, ())
        return build("remainder", index, self.shaped(low, shape))

    def scatter(self) -> Expr | None:
        x = self.any("iuf")
        if not x.shape or not all(x.shape):
            return None
        kind = self.draw.choice(["set", "add", "max", "multiply"] if x.dtype.kind != "float" else ["set", "add"])
        shape = (self.draw.choice((1, 5)),)
        updates = self.like(x.dtype, (*shape, *x.shape[1:]))
        return _plain(kind, build("scatter", x, (self.places(shape, x.shape[0]),), updates, kind))

    def concat(self) -> Expr | None:
        x = self.any()
        if not x.shape:
            return None
        return build("concat", (x, self.like(x.dtype, x.shape), x), self.draw.randrange(len(x.shape)))

    def pad(self) -> Expr:
        x = self.any()
        widths = tuple((self.draw.randrange(3), self.draw.randrange(2)) for _ in x.shape)
        return build("pad", x, self.scalar(x.dtype), widths)

    def view(self) -> Expr | None:
        x = self.any()
        if not _numel(x.shape):
            return None
        layout, shifts = self.place(_numel(x.shape))
        return build("view", x, layout, shifts, ())

    def update(self) -> Expr | None:
        x = self.any()
        if not _numel(x.shape):
            return None
        layout, shifts = self.place(_numel(x.shape))
        if not layout.is_distinct:
            return None
        return build("update", x, layout, shifts, (), self.like(x.dtype, layout.shape))

    def place(self, size: int) -> tuple[Layout, tuple[tuple[Expr, int], ...]]:
        """A layout within a memory, and perhaps what moves it."""
        draw = self.draw
        count = draw.randint(1, size)
        stride = draw.choice([each for each in (1, 2, 3, -1) if (count - 1) * abs(each) < size])
        reach = (count - 1) * abs(stride) + 1
        layout = Layout((count,), (stride,), reach - 1 if stride < 0 else 0)
        if draw.random() < 0.3:
            layout = Layout((2, *layout.shape), (0, *layout.strides), layout.offset)
        room = size - reach + 1
        if draw.random() < 0.4:
            return layout, ((self.number(room), 1),)
        return Layout(layout.shape, layout.strides, layout.offset + draw.randrange(room)), ()

    def matmul(self) -> Expr:
        x = self.like(self.draw.choice((dt.int64, dt.int32)), (self.draw.choice((1, 3)), 4))
        return build("matmul", x, self.like(x.dtype, (4, self.draw.choice((1, 2, 5)))))

    # Scopes

    def inner(self, pool: Sequence[Expr], count: int) -> "_Scope":
        """A scope inside this one."""
        scope = _Scope(self.grower, pool, self.depth + 1)
        scope.grow(count)
        return scope

    def branch(self) -> Expr | None:
        if self.depth > 1:
            return None
        x = self.any()
        predicate = self.scalar(dt.bool)
        kinds = [(x.dtype, x.shape), (dt.float64, ())][: self.draw.randint(1, 2)]
        sides, effects = [], []
        for _ in range(2):
            scope = self.inner([*self.pool, x], self.draw.randint(0, 3))
            values = tuple(scope.like(*kind) for kind in kinds)
            sides.append(with_effects(scope.effects, values if len(kinds) > 1 else values[0]))
            effects += scope.effects
        node = build("cond", ((predicate, sides[0]),), sides[1])
        return self.one_of(node, effects)

    def loop(self) -> Expr | None:
        if self.depth > 1:
            return None
        carried = [self.any() for _ in range(self.draw.randint(1, 3))]
        kept = [self.any() for _ in range(self.draw.randint(0, 2))]  # what the body alone reads
        initial = (self.number(4), *carried, *kept)
        arg = tuple(Expr("parameter", (i,), node.dtype, node.shape) for i, node in enumerate(initial))
        scope = self.inner(arg[1:], self.draw.randint(1, 4))
        body = [scope.like(node.dtype, node.shape) for node in arg[1 : 1 + len(carried)]]
        if len(body) > 1 and (body[0].dtype, body[0].shape) == (body[1].dtype, body[1].shape):
            body[:2] = arg[2], body[0]  # arrays that change places
        one, end = (Expr("constant", (n,), dt.int64, ()) for n in (1, 5))
        turn = with_effects(scope.effects, (build("add", arg[0], one), *body, *arg[1 + len(carried) :]))
        return self.one_of(build("while", initial, arg, build("less", arg[0], end), turn), scope.effects)

    def call(self) -> Expr | None:
        if self.depth > 1:
            return None
        args = (self.any(), self.any())
        params = tuple(Expr("parameter", (i,), node.dtype, node.shape) for i, node in enumerate(args))
        scope = self.inner(params, self.draw.randint(1, 3))
        fun = build("fun", params, with_effects(scope.effects, scope.any()), "inner")
        node = build("call", fun, args)
        if scope.effects:
            self.effects.append(node)
        return node

    def one_of(self, node: Expr, effects: Sequence[Expr]) -> Expr:
        """One result of a node with inner scopes; the others may be used too. With effects in it, it is one itself."""
        if effects:
            self.effects.append(node)
        if not node.has_several:
            return node
        results = [build("elem", node, i) for i in range(len(node.dtype))]
        self.pool += results[:-1]
        return results[-1]

    def shown(self) -> Expr | None:
        x = self.any()
        node = build("hook", x, "shown", self.grower.log.append)
        self.effects.append(node)
        return node

    def checked(self) -> Expr | None:
        if self.draw.random() < 0.5:
            return None
        always = build("equal", *[self.scalar(dt.int64)] * 2)
        self.effects.append(build("check", always, ValueError, "a number isn't itself"))
        return None


_TABLE: list[tuple[int, Step]] = [
    (6, _Scope.unary), (12, _Scope.binary), (4, _Scope.cast), (3, _Scope.choose), (8, _Scope.moved),
    (5, _Scope.reduce), (3, _Scope.along), (1, _Scope.rounded_inside), (3, _Scope.gather), (2, _Scope.scatter),
    (2, _Scope.concat), (2, _Scope.pad), (3, _Scope.view), (5, _Scope.update), (1, _Scope.matmul),
    (2, _Scope.branch), (3, _Scope.loop), (1, _Scope.call), (1, _Scope.shown), (1, _Scope.checked),
]  # fmt: skip
_WEIGHTS, _STEPS = [weight for weight, _ in _TABLE], [step for _, step in _TABLE]


def _plain(op: str, node: Expr) -> Expr:
    """A node with zeros of one sign where NumPy doesn't tell the sign."""
    if node.dtype.kind != "float" or (op in OPS and OPS[op].tolerance.signed_zeros):
        return node
    zero = Expr("constant", (0.0,), node.dtype, ())
    return build("add", node, build("move", zero, move.Broadcast(node.shape)))


def _numel(shape: Shape) -> int:
    return Layout.contiguous(shape).numel


def _shapes_of(size: int) -> list[Shape]:
    """Shapes of so many elements."""
    found: list[Shape] = [(size,), (1, size), (size, 1)]
    found += [(k, size // k) for k in (2, 3, 4) if size % k == 0]
    return found


class _Grower:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.log: list[Any] = []

    def graph(self) -> RandomGraph:
        kinds = [(self.draw.choice(DTYPES), self.draw.choice(SHAPES)) for _ in range(self.draw.randint(1, 4))]
        params = tuple(Expr("parameter", (i,), dtype, shape) for i, (dtype, shape) in enumerate(kinds))
        arguments = [
            np.asarray(self.draw.choice((tame, wild))(self.rng, dtype.numpy, shape), order="C")
            for dtype, shape in kinds
        ]
        captured = tame(self.rng, np.dtype(np.int64), (3,))
        scope = _Scope(self, [*params, Expr("tensor", (from_numpy(captured),), dt.int64, (3,))], 0)
        scope.grow(self.draw.randint(3, 16))
        outputs = [scope.any() for _ in range(self.draw.randint(1, 4))]
        ulps = [0] * len(outputs)
        if self.draw.random() < 0.4:
            op = self.draw.choice(ROUNDED)
            outputs.append(build(op, build("cast", scope.any(), dt.float64)))
            ulps.append(OPS[op].tolerance.ulps)
        updates = []
        for param in params:
            if self.draw.random() < 0.3 and param.shape:
                updates.append((param, scope.like(param.dtype, param.shape)))
                ulps.append(0)
        graph = check(Graph(params, outputs, tuple(dict.fromkeys(scope.effects)), "random", tuple(updates)))
        return RandomGraph(graph, arguments, self.log, ulps)


def random_graph(seed: int) -> RandomGraph:
    """The graph of a seed."""
    return _Grower(seed).graph()
