"""What a row of the op table says, and the rules that families of rows share.

A row's rules take the args of a node, operands first, and give the dtype and shape of the result; they raise
`TypeError` for a wrong dtype and `ValueError` for a wrong shape. Nodes are strict: the operands of an elementwise op
have one shape and one dtype. Promotion and broadcasting are nodes of their own (``cast``, ``move``), put there by
whoever builds the graph, so no compiler needs to know about either.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np

from lamina.dtype import DType
from lamina.expr.node import describe

Shape = tuple[int, ...]
Kinds = frozenset[str]

BOOL: Kinds = frozenset({"bool"})
INTEGER: Kinds = frozenset({"signed", "unsigned"})
REAL_FLOAT: Kinds = frozenset({"float"})
COMPLEX: Kinds = frozenset({"complex"})
FLOATING: Kinds = REAL_FLOAT | COMPLEX
DISCRETE: Kinds = BOOL | INTEGER
REAL: Kinds = INTEGER | REAL_FLOAT
NUMERIC: Kinds = INTEGER | FLOATING
ORDERED: Kinds = DISCRETE | REAL_FLOAT
ALL: Kinds = DISCRETE | FLOATING


class Fact(Enum):
    """An algebraic fact about an op. A row says for which kinds of dtype it holds exactly, bit for bit."""

    COMMUTATIVE = "f(x, y) == f(y, x)"
    ASSOCIATIVE = "f(f(x, y), z) == f(x, f(y, z))"
    IDEMPOTENT = "f(x, x) == x for a binary op, f(f(x)) == f(x) for a unary one"
    INVOLUTION = "f(f(x)) == x"


class Family(Enum):
    """How an op's result elements depend on its operands' elements."""

    ELEMENTWISE = "result element i needs element i of each operand"
    REDUCTION = "the axes of the last arg are combined into one element"
    CUMULATIVE = "like a reduction, with each partial result kept"
    CREATION = "no operand"
    INDEXING = "result elements are elements of the operands, placed by static sizes or by index operands"
    SORTING = "an axis is ordered, or searched in order"
    CONTRACTION = "products summed over axes"
    FACTORIZATION = "what LAPACK computes for each matrix of a stack"
    FOURIER = "each result element is a sum over an axis of the operand"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a compiler's result may be from an op's meaning, bit for bit where nothing is said.

    Attributes
    ----------
    ulps : how many times the dtype's eps, relative to the result; of ops that sum up, relative to what the op gives of
        the operands' magnitudes, and of factorisations and Fourier transforms relative to the greatest element.
    kinds : the kinds of operands for which these hold; with any other the results are exact.
    signed_zeros : whether a zero's sign is told. Of two zeros NumPy doesn't tell which is the greater.
    """

    ulps: int = 0
    kinds: Kinds = FLOATING
    signed_zeros: bool = True


EXACT = Tolerance()
FUNCTION = Tolerance(4)  # of a function that is no arithmetic: NumPy's own are within 4 as well
SUM_OF_POWERS = Tolerance(16)  # NumPy adds two logarithms, which cancel where the result is near 0
PARTS = Tolerance(4, COMPLEX)  # of complex arithmetic, which may round each part's steps in its own way
ORDER = Tolerance(8)  # of sums and products, in any order
ZEROS = Tolerance(signed_zeros=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One row of the op table.

    Attributes
    ----------
    name : the op, by the array API standard's name where it has one.
    params : the names of the args.
    arity : how many of the args are operands, the first ones; a tuple of operands counts as one.
    family : how result elements depend on operand elements.
    dtype, shape : the rules; each takes the args.
    facts : each fact with the dtype kinds it holds for.
    meaning : what the op is, in NumPy: the args, with arrays for nodes, to the result array.
    doc : one line.
    tolerance : how far a compiler's results may be from the meaning.
    """

    name: str
    params: tuple[str, ...]
    arity: int
    family: Family
    dtype: Callable[..., DType]
    shape: Callable[..., Shape]
    facts: Mapping[Fact, Kinds]
    meaning: Callable[..., Any]
    doc: str
    tolerance: Tolerance = EXACT


def expect_kind(name: str, operand: Any, kinds: Kinds, param: str = "x") -> None:
    """Raise `TypeError` unless the operand's dtype is of one of the kinds."""
    if operand.dtype.kind not in kinds:
        expected = ", ".join(kind for kind in ("bool", "signed", "unsigned", "float", "complex") if kind in kinds)
        raise TypeError(
            f"{name}: {param} is {describe(operand.dtype, operand.shape)}, but its dtype must be {expected}"
        )


def expect_axis(name: str, axis: int, shape: Shape) -> None:
    """Raise `TypeError` for what is no int, `ValueError` unless ``0 <= axis < rank``."""
    if type(axis) is not int:
        raise TypeError(f"{name}: an axis must be an int, but it is {axis!r}")
    if not 0 <= axis < len(shape):
        raise ValueError(f"{name}: axis {axis} is outside the axes of shape {shape}")


def same_shape(name: str) -> Callable[..., Shape]:
    """The shape rule of elementwise ops: all operands have the result's shape."""

    def shape(*operands: Any) -> Shape:
        first = operands[0].shape
        for operand in operands[1:]:
            if operand.shape != first:
                raise ValueError(
                    f"{name}: the operands have shapes {[o.shape for o in operands]}, but must have one shape"
                )
        return first  # type: ignore[no-any-return]

    return shape


def shape_along(name: str) -> Callable[..., Shape]:
    """The shape rule of ops ``name(x, axis, …)`` that go along one axis and keep it."""

    def shape(x: Any, axis: int, *_: Any) -> Shape:
        expect_axis(name, axis, x.shape)
        return x.shape  # type: ignore[no-any-return]

    return shape


def same_dtype(name: str, kinds: Kinds, result: Callable[[DType], DType] = lambda dtype: dtype) -> Callable[..., DType]:
    """The dtype rule of elementwise ops: one dtype, of these kinds; the result's dtype follows from it."""

    def dtype(*operands: Any) -> DType:
        first = operands[0].dtype
        for operand in operands:
            if operand.dtype != first:
                raise TypeError(
                    f"{name}: the operands have dtypes {[str(o.dtype) for o in operands]}, but must have one dtype"
                )
        expect_kind(name, operands[0], kinds)
        return result(first)

    return dtype


def elementwise(
    name: str,
    arity: int,
    kinds: Kinds,
    meaning: Callable[..., Any],
    doc: str,
    *,
    result: Callable[[DType], DType] = lambda dtype: dtype,
    facts: Mapping[Fact, Kinds] | None = None,
    tolerance: Tolerance = EXACT,
) -> Op:
    """A row of an elementwise op of one dtype."""
    return Op(
        name=name,
        params=("x", "y", "z")[:arity],
        arity=arity,
        family=Family.ELEMENTWISE,
        dtype=same_dtype(name, kinds, result),
        shape=same_shape(name),
        facts=facts or {},
        meaning=meaning,
        doc=doc,
        tolerance=tolerance,
    )


def reduction(
    name: str,
    kinds: Kinds,
    meaning: Callable[..., Any],
    doc: str,
    *,
    facts: Mapping[Fact, Kinds],
    empty: bool = True,
    tolerance: Tolerance = EXACT,
) -> Op:
    """A row of a reduction over ``axes``, a strictly increasing tuple; `empty` where no element has a result too."""

    def shape(x: Any, axes: tuple[int, ...]) -> Shape:
        for axis in axes:
            expect_axis(name, axis, x.shape)
        if any(a >= b for a, b in pairwise(axes)):
            raise ValueError(f"{name}: the axes {axes} must be strictly increasing")
        rest = tuple(extent for axis, extent in enumerate(x.shape) if axis not in axes)
        if not empty and 0 in [x.shape[axis] for axis in axes]:
            raise ValueError(
                f"{name}: axes {axes} of shape {x.shape} have no element, and {name} has no value for none"
            )
        return rest

    def dtype(x: Any, axes: tuple[int, ...]) -> DType:
        expect_kind(name, x, kinds)
        return x.dtype  # type: ignore[no-any-return]

    def reduce(x: np.ndarray, axes: tuple[int, ...]) -> Any:
        if not empty and x.size == 0:  # NumPy has no value, but there is no result element to have one for
            return np.empty(shape(x, axes), x.dtype)
        return meaning(x, axis=axes)

    return Op(
        name=name,
        params=("x", "axes"),
        arity=1,
        family=Family.REDUCTION,
        dtype=dtype,
        shape=shape,
        facts=facts,
        meaning=reduce,
        doc=doc,
        tolerance=tolerance,
    )
