"""What the ops of the table are tried on: for an op and a dtype, nodes of it on params moved into every layout.

Layouts are movements in the graph, as in traced programs; the arrays of the params themselves are contiguous. Whether
an op takes a dtype is for its own rules to say.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr import OPS, Expr, Family, build
from lamina.expr.ops.indexing import COMBINE
from lamina.expr.ops.row import Shape
from lamina.layout import move
from lamina.testing.elements import edges, tame, wide, wild

Draw = Callable[[np.random.Generator, "np.dtype[Any]", Any], "np.ndarray[Any, Any]"]
Cases = Iterator[tuple[str, Expr]]

SHAPES: tuple[Shape, ...] = ((), (0,), (1,), (3, 4), (2, 0, 3))
WIDE: Shape = (3, 4)  # the shape that comes in every layout


def _reversed(shape: Shape) -> move.Slice:
    return move.Slice(tuple(move.Range(extent - 1, extent, -1) for extent in shape))


def _strided(shape: Shape) -> move.Slice:
    return move.Slice(tuple(move.Range(extent % 2, extent, 2) for extent in shape))


# For each layout the param's shape, and the movements that make an array of a shape with two axes of it.
LAYOUTS: dict[str, Callable[[Shape], tuple[Shape, tuple[move.Movement, ...]]]] = {
    "contiguous": lambda shape: (shape, ()),
    "transposed": lambda shape: (shape[::-1], (move.Permute((1, 0)),)),
    "reversed": lambda shape: (shape, (_reversed(shape),)),
    "strided": lambda shape: ((2 * shape[0] + 1, 2 * shape[1] + 1), (_strided(shape),)),
    "broadcast": lambda shape: (shape[1:], (move.Broadcast(shape),)),
    "windowed": lambda shape: ((sum(shape) - 1,), (move.Window((move.WindowSpec(0, shape[1], 1, 1),)),)),
    "turned": lambda shape: ((2 * shape[1] + 1, 2 * shape[0] + 1), (move.Permute((1, 0)), _strided(shape))),
}


class Inputs:
    """The params of a graph that is being made, and an array for each."""

    def __init__(self, rng: np.random.Generator, dtype: DType) -> None:
        self.rng = rng
        self.dtype = dtype
        self.params: list[Expr] = []
        self.arrays: list[np.ndarray] = []

    def given(self, array: np.ndarray) -> Expr:
        """A param that is this array."""
        self.arrays.append(np.ascontiguousarray(array).reshape(array.shape))
        self.params.append(Expr("parameter", (len(self.params),), dt.BY_NUMPY[array.dtype], array.shape))
        return self.params[-1]

    def drawn(self, draw: Draw, shape: Shape, layout: str = "contiguous", dtype: DType | None = None) -> Expr:
        """A node of this shape, in a layout."""
        before, movements = LAYOUTS[layout](shape)
        x = self.given(draw(self.rng, (dtype or self.dtype).numpy, before))
        for movement in movements:
            x = build("move", x, movement)
        return x


# Elements


def _natural(rng: np.random.Generator, dtype: "np.dtype[Any]", shape: Any) -> Any:
    """Elements that may be exponents: no negative integer."""
    found = wild(rng, dtype, shape)
    is_integer = dt.BY_NUMPY[dtype].kind in ("signed", "unsigned")
    return np.where(wide(found) < 0, 2, wide(found)).astype(dtype) if is_integer else found


def _not_nan(rng: np.random.Generator, dtype: "np.dtype[Any]", shape: Any) -> Any:
    """Elements of which no complex one is NaN in part: which one is taken then is not told."""
    found = wild(rng, dtype, shape)
    return np.where(np.isnan(found), 1, found).astype(dtype) if dtype.kind == "c" else found


def _spotted(rng: np.random.Generator, dtype: "np.dtype[Any]", shape: Any) -> Any:
    """Elements whose sums and products stay finite in every order, but for a few that are infinite or NaN."""
    if dt.BY_NUMPY[dtype].kind != "float":
        return wild(rng, dtype, shape) if dt.BY_NUMPY[dtype].kind != "complex" else tame(rng, dtype, shape)
    odd = rng.choice(np.array([np.inf, -np.inf, np.nan]).astype(dtype), shape)
    return np.where(rng.random(shape) < 0.1, odd, tame(rng, dtype, shape))


# Ops whose operands are not just any elements of one dtype, by operand. Infinite complex numbers are left to ops that
# are exact: what a product or a logarithm makes of one NaN part differs from library to library.
_DRAWS: dict[str, tuple[Draw, ...]] = {"pow": (wild, _natural), "clip": (_not_nan,) * 3}


def _draws(op: str, dtype: DType) -> tuple[Draw, ...]:
    row = OPS[op]
    if dtype.kind == "complex" and row.tolerance.ulps:
        return (tame,) * row.arity
    return _DRAWS.get(op, (wild,) * row.arity)


# Families


def _elementwise(op: str, inputs: Inputs, *static: Any) -> Cases:
    draws, dtypes = _draws(op, inputs.dtype), [inputs.dtype] * OPS[op].arity
    if op == "where":
        dtypes[0] = dt.bool
    names = list(LAYOUTS)
    for shape in SHAPES:
        if shape != WIDE:
            operands = [inputs.drawn(draw, shape, dtype=each) for draw, each in zip(draws, dtypes, strict=True)]
            yield f"{shape}", build(op, *operands, *static)
    for i, layout in enumerate(names):  # each operand in another one
        operands = [
            inputs.drawn(draw, WIDE, names[(i + j) % len(names)], each)
            for j, (draw, each) in enumerate(zip(draws, dtypes, strict=True))
        ]
        yield layout, build(op, *operands, *static)
    if draws[0] is not tame and op != "where":
        yield "edges", build(op, *_every_pair(draws, inputs), *static)


def _every_pair(draws: tuple[Draw, ...], inputs: Inputs) -> list[Expr]:
    """Every edge, every pair of edges, or many elements of three operands."""
    found = edges(inputs.dtype.numpy)
    if len(draws) > 2:
        return [inputs.drawn(draw, (300,)) for draw in draws]
    sides = [found[wide(found) >= 0] if draw is _natural and found.dtype.kind not in "fc" else found for draw in draws]
    places = np.indices([len(side) for side in sides]).reshape(len(sides), -1)
    return [inputs.given(side[place]) for side, place in zip(sides, places, strict=True)]


def _of_dtypes(op: str, inputs: Inputs) -> Cases:
    """Cast and bitcast: to every dtype that the op takes."""
    for target in dt.DTYPES.values():
        try:
            build(op, inputs.drawn(wild, (1,)), target)
        except TypeError:
            continue
        layout = inputs.rng.choice(list(LAYOUTS))
        yield f"() to {target}", build(op, inputs.drawn(wild, ()), target)
        yield f"{layout} to {target}", build(op, inputs.drawn(wild, WIDE, layout), target)
        yield f"edges to {target}", build(op, inputs.given(edges(inputs.dtype.numpy)), target)


def _over_axes(op: str, inputs: Inputs) -> Cases:
    draw = _spotted if OPS[op].tolerance.ulps else wild
    for shape in (*SHAPES, (2, 3, 4)):
        for axes in itertools.chain.from_iterable(itertools.combinations(range(len(shape)), n) for n in range(4)):
            yield from _where_there_is_one(f"{shape} over {axes}", op, inputs.drawn(draw, shape), axes)
    for layout in LAYOUTS:
        for axes in ((0,), (1,), (0, 1)):
            yield f"{layout} over {axes}", build(op, inputs.drawn(draw, WIDE, layout), axes)


def _along_axis(op: str, inputs: Inputs, *static: Any) -> Cases:
    draw = _spotted if OPS[op].tolerance.ulps else wild
    for shape in (*SHAPES, (2, 3, 4), (19,)):
        for axis in range(len(shape)):
            yield from _where_there_is_one(f"{shape} along {axis}", op, inputs.drawn(draw, shape), axis, *static)
    for layout in LAYOUTS:
        for axis in range(2):
            yield f"{layout} along {axis}", build(op, inputs.drawn(draw, WIDE, layout), axis, *static)


def _where_there_is_one(name: str, op: str, *args: Any) -> Cases:
    """The case of an op that may have no value for no elements."""
    try:
        yield name, build(op, *args)
    except ValueError:
        return


# Single ops


def _iota(op: str, inputs: Inputs) -> Cases:
    for count in (0, 1, 6):
        yield f"{count}", build(op, count, inputs.dtype)


def _concat(op: str, inputs: Inputs) -> Cases:
    for layout, axis in itertools.product(LAYOUTS, range(2)):
        other: Shape = (2, 4) if axis == 0 else (3, 1)
        operands = (inputs.drawn(wild, WIDE, layout), inputs.drawn(wild, other), inputs.drawn(wild, WIDE))
        yield f"{layout} along {axis}", build(op, operands, axis)
    yield "none", build(op, (inputs.drawn(wild, (0, 2)), inputs.drawn(wild, (0, 2))), 0)


def _pad(op: str, inputs: Inputs) -> Cases:
    for layout in LAYOUTS:
        x, value = inputs.drawn(wild, WIDE, layout), inputs.drawn(wild, ())
        yield layout, build(op, x, value, ((1, 0), (2, 3)))
    yield "()", build(op, inputs.drawn(wild, ()), inputs.drawn(wild, ()), ())
    yield "none", build(op, inputs.drawn(wild, (0, 2)), inputs.drawn(wild, ()), ((1, 1), (0, 0)))


def _index(inputs: Inputs, extent: int, shape: Shape, dtype: str = "int64") -> Expr:
    return inputs.given(inputs.rng.integers(-extent, extent, shape).astype(dtype))


def _gather(op: str, inputs: Inputs) -> Cases:
    for layout, dtype in zip(LAYOUTS, itertools.cycle(("int64", "int8", "int32", "int16"))):
        x = inputs.drawn(wild, WIDE, layout)
        yield f"{layout} rows", build(op, x, (_index(inputs, 3, (2, 2), dtype),))
        yield f"{layout} elements", build(op, x, (_index(inputs, 3, (5,), dtype), _index(inputs, 4, (5,), "int64")))
    yield "one", build(op, inputs.drawn(wild, WIDE), (_index(inputs, 3, ()), _index(inputs, 4, ())))
    unsigned = inputs.given(np.array([2, 0], np.uint8))
    yield "unsigned", build(op, inputs.drawn(wild, WIDE), (unsigned,))
    yield "none", build(op, inputs.drawn(wild, WIDE), (_index(inputs, 3, (0,)),))


def _true_places(op: str, inputs: Inputs) -> Cases:
    for extent in (0, 1, 6):
        yield str(extent), build(op, inputs.drawn(wild, (extent,)))


def _take_along_axis(op: str, inputs: Inputs) -> Cases:
    for layout, axis in itertools.product(LAYOUTS, range(2)):
        shape = (2, 4) if axis == 0 else (3, 5)
        indices = _index(inputs, WIDE[axis], shape)
        yield f"{layout} along {axis}", build(op, inputs.drawn(wild, WIDE, layout), indices, axis)


def _scatter(op: str, inputs: Inputs) -> Cases:
    for combine in COMBINE:
        layout = inputs.rng.choice(list(LAYOUTS))
        x = inputs.drawn(tame, WIDE, layout)
        try:
            rows = build(op, x, (_index(inputs, 3, (5,)),), inputs.drawn(tame, (5, 4)), combine)
        except TypeError:
            continue
        yield f"{combine} rows", rows
        places = (_index(inputs, 3, (7,)), _index(inputs, 4, (7,)))
        yield f"{combine} elements", build(op, x, places, inputs.drawn(tame, (7,)), combine)
        yield f"{combine} none", build(op, x, (_index(inputs, 3, (0,)),), inputs.drawn(tame, (0, 4)), combine)


def _searchsorted(op: str, inputs: Inputs) -> Cases:
    for count, side in itertools.product((0, 1, 9), ("left", "right")):
        line = wild(inputs.rng, inputs.dtype.numpy, (count,))
        ascending = inputs.given(np.sort(wide(line)).astype(line.dtype))
        for layout in ("contiguous", "reversed"):
            yield f"{count} {layout} {side}", build(op, ascending, inputs.drawn(wild, WIDE, layout), side)


def _matmul(op: str, inputs: Inputs) -> Cases:
    for left, right in (((0, 4), (4, 2)), ((3, 0), (0, 2)), ((2, 3, 1), (2, 1, 4)), ((1, 1), (1, 1)), ((5, 7), (7, 6))):
        yield f"{left} {right}", build(op, inputs.drawn(tame, left), inputs.drawn(tame, right))
    for layout in LAYOUTS:
        yield layout, build(op, inputs.drawn(tame, WIDE, layout), inputs.drawn(tame, (4, 3), layout))


def _factorization(op: str, inputs: Inputs) -> Cases:
    options = {"upper": (False, True), "triangle": ("L", "U"), "complete": (False, True)}
    name = OPS[op].params[-1]
    for shape in ((1, 1), (3, 3), (2, 3, 3), (0, 2, 2)):
        x = inputs.given(_matrices(inputs.rng, inputs.dtype.numpy, shape))
        if name == "y":
            yield f"{shape}", build(op, x, inputs.drawn(tame, (*shape[:-1], 2)))
            continue
        for static in [(each,) for each in options[name]] if name in options else [()]:
            yield f"{shape} {static}", build(op, x, *static)
    if name == "complete":
        for shape, complete in itertools.product(((4, 2), (2, 4)), options[name]):
            yield f"{shape} {complete}", build(op, inputs.drawn(tame, shape), complete)


def _fourier(op: str, inputs: Inputs) -> Cases:
    for shape, axis, n in (((8,), 0, 8), ((5, 3), 0, 5), ((2, 6), 1, 4), ((2, 3), 1, 7), ((0, 4), 1, 4), ((1,), 0, 1)):
        for norm in ("backward", "ortho", "forward"):
            yield f"{shape} {n} {norm}", build(op, inputs.drawn(tame, shape), n, axis, norm)
    for layout in LAYOUTS:
        yield layout, build(op, inputs.drawn(tame, WIDE, layout), 4, 0, "backward")


def _matrices(rng: np.random.Generator, dtype: "np.dtype[Any]", shape: Shape) -> np.ndarray:
    """Hermitian, positive definite and well-conditioned: what every factorisation has a result for."""
    x = tame(rng, dtype, shape)
    adjoint = x.swapaxes(-1, -2).conj()
    return np.asarray(x @ adjoint + np.diag(np.arange(3.0, 3.0 + shape[-1])), dtype)


_BY_NAME: dict[str, Callable[[str, Inputs], Cases]] = {
    "cast": _of_dtypes,
    "bitcast": _of_dtypes,
    "iota": _iota,
    "concat": _concat,
    "pad": _pad,
    "gather": _gather,
    "take_along_axis": _take_along_axis,
    "true_places": _true_places,
    "scatter": _scatter,
    "searchsorted": _searchsorted,
    "matmul": _matmul,
    "argsort": lambda op, inputs: itertools.chain(*(_along_axis(op, inputs, falls) for falls in (False, True))),
}
_BY_FAMILY: dict[Family, Callable[[str, Inputs], Cases]] = {
    Family.ELEMENTWISE: _elementwise,
    Family.REDUCTION: lambda op, inputs: (_over_axes if OPS[op].params[1] == "axes" else _along_axis)(op, inputs),
    Family.CUMULATIVE: _along_axis,
    Family.SORTING: _along_axis,
    Family.FACTORIZATION: _factorization,
    Family.FOURIER: _fourier,
}


def cases_of(op: str, inputs: Inputs) -> list[tuple[str, Expr]]:
    """Named nodes of an op on params of the inputs' dtype; none where the op doesn't take it.

    >>> inputs = Inputs(np.random.default_rng(0), dt.float32)
    >>> [name for name, node in cases_of("iota", inputs)], cases_of("logical_not", inputs)
    (['0', '1', '6'], [])
    """
    make = _BY_NAME.get(op) or _BY_FAMILY[OPS[op].family]
    try:
        return list(make(op, inputs))
    except TypeError:
        return []
