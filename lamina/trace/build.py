"""What every traced function is made of: anything as a value, promotion, broadcasting, and the nodes for them.

NumPy's rules of what an operation's operands become live here, once: NEP 50 promotion through NumPy's own tables,
Python numbers weak until they meet an array, and Python's arithmetic where there are numbers alone. Above this level
nobody thinks about dtypes and shapes that differ; below it, in the graph, there are none.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.array import Array, asarray
from lamina.dtype import DType
from lamina.expr import OPS, Expr
from lamina.layout import move
from lamina.operators import FUNCTIONS
from lamina.trace.aliasing import is_recast
from lamina.trace.bounded import Bounded
from lamina.trace.scope import Cell, Scope, current, escaped, user_source
from lamina.trace.value import Kind, Value

NUMBER_DTYPES: dict[type, DType] = {bool: dt.bool, int: dt.int64, float: dt.float64, complex: dt.complex128}
NUMBER_TYPES = {dtype: number for number, dtype in NUMBER_DTYPES.items()} | {dt.uint64: int}


def scope_now() -> Scope:
    """The scope being traced; there is always one where nodes are made."""
    scope = current()
    if scope is None:
        raise RuntimeError("no scope is being traced")
    return scope


def node_of(value: Value) -> Expr:
    """The node through which the current scope reads a value."""
    if value.cell is not None:
        return value.expr
    scope = current()
    if scope is None:
        raise escaped(value.expr, value.scope)
    return scope.lift(value.expr, value.scope)


def emit(op: str, *args: Any, kind: Kind = Kind.ARRAY) -> Value:
    """The value of a new node; values among the args, and in tuples of them, stand for their nodes."""
    scope = scope_now()
    return Value(scope.emit(op, *map(_as_arg, args)), scope, kind)


def decayed(value: Value) -> Value:
    """The value as NumPy's functions return it: a result without axes is a scalar, not an array."""
    return value if value.shape else with_kind(value, Kind.SCALAR)


def with_kind(value: Value, kind: Kind) -> Value:
    """The same value as another of NumPy's kinds."""
    return value if value.kind is kind else Value(node_of(value), scope_now(), kind)


def emit_node(op: str, *args: Any) -> Expr:
    """A new node of the current scope."""
    return scope_now().emit(op, *args)


def _as_arg(arg: Any) -> Any:
    if type(arg) is Value:
        return node_of(arg)
    if type(arg) is tuple and any(type(each) is Value for each in arg):
        return tuple(_as_arg(each) for each in arg)
    return arg


def constant(number: Any, dtype: DType, kind: Kind = Kind.NUMBER) -> Value:
    """A value that is known: one Python number, in this dtype; `OverflowError` for an integer that it doesn't hold."""
    if type(number) is int:
        dt.check_fits(number, dtype)
    exact = _python_number(number, dtype)
    return Value(Expr("constant", (exact,), dtype, (), user_source()), scope_now(), kind)


def _python_number(number: Any, dtype: DType) -> Any:
    """The number as this dtype holds it, so that a graph shows it exactly."""
    if type(number) is int and dtype.kind in ("float", "complex"):
        number = float(number)  # NumPy rounds a Python integer twice
    return dt.cast(np.asarray(number), dtype).item()


def as_value(thing: Any, what: str = "an argument") -> Value:
    """Anything NumPy takes for an array as a value: traced values, arrays, scalars, Python numbers, nested sequences.

    Raises `TypeError` for anything else.
    """
    if type(thing) is Value:
        return thing
    if type(thing) is Bounded:
        return thing.settled()
    kind = type(thing)
    if kind in NUMBER_DTYPES:
        dtype = NUMBER_DTYPES[kind]
        if kind is int and not dt.fits(thing, dtype):
            dtype = dt.uint64  # NumPy's own second choice; above it, constant() says that nothing holds it
        return constant(thing, dtype)
    if isinstance(thing, np.generic):
        dtype = dt.from_numpy(thing.dtype)
        return Value(Expr("constant", (thing.item(),), dtype, (), user_source()), scope_now(), Kind.SCALAR)
    if isinstance(thing, (Array, np.ndarray)):
        return captured(thing)
    if isinstance(thing, (list, tuple)):
        return _from_sequence(thing, what)
    if isinstance(thing, (str, bytes, dict, set, frozenset)) or thing is None or callable(thing):
        raise TypeError(f"{what} must be an array or a number, but it is {thing!r} ({kind.__name__})")
    try:
        return captured(asarray(thing))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{what} must be an array or a number, but it is {thing!r} ({kind.__name__}): {error}"
        ) from error


def captured(array: Any) -> Value:
    """A concrete array as a value: what it sees of a ``tensor`` node that holds its memory by reference."""
    root = scope_now().root
    node, layout = root.tensor(array)
    cell = root.captured_cells.get(node)
    if cell is None:
        writable = isinstance(array, np.ndarray) and array.flags.writeable
        root.note_shared(array)
        cell = root.captured_cells[node] = root.new_cell(node, writable, array)
        cell.is_swapped = isinstance(array, np.ndarray) and not array.dtype.isnative
        root.has_swapped |= cell.is_swapped
    return Value.alias(cell, layout)


def fresh(array: Any) -> Value:
    """A concrete array that the program makes: in memory of its own, which it may write, and new at each call."""
    held = asarray(array)
    return Value(Expr("tensor", (held,), held.dtype, held.shape, user_source()), scope_now())


def _from_sequence(items: Sequence[Any], what: str) -> Value:
    if not holds_value(items) and not _holds_array(items):
        return fresh(items)
    rows = [as_value(item, what) for item in items]
    shape, dtype = rows[0].shape, dt.result_type(*(row.dtype for row in rows))  # in a sequence no number is weak
    if any(row.shape != shape for row in rows):
        raise ValueError(f"{what} is a sequence of arrays of different shapes: {[row.shape for row in rows]}")
    return emit("concat", tuple(reshape(to_dtype(row, dtype), (1, *shape)) for row in rows), 0)


def _holds_array(thing: Any) -> bool:
    """Whether there is an array in nested lists and tuples: what it holds is read when the program runs."""
    return isinstance(thing, np.ndarray) or (isinstance(thing, (list, tuple)) and any(map(_holds_array, thing)))


def holds_value(thing: Any) -> bool:
    """Whether a thing is a value, or nested lists and tuples with one in them."""
    return type(thing) in (Value, Bounded) or (isinstance(thing, (list, tuple)) and any(map(holds_value, thing)))


# Dtypes


def thing_of(value: Value) -> Any:
    """What a value is in promotion: its dtype, or a Python type where it is a number."""
    return NUMBER_TYPES.get(value.dtype, value.dtype) if value.kind is Kind.NUMBER else value.dtype


def common_dtype(values: Sequence[Value]) -> DType:
    """The dtype in which values meet (NEP 50): Python numbers adapt to what they meet."""
    return dt.result_type(*map(thing_of, values))


def to_dtype(value: Value, dtype: DType) -> Value:
    """The value in another dtype; itself if it has that one.

    A Python integer that the dtype doesn't hold raises `OverflowError`: now if it is known, else at run time.
    """
    if value.dtype == dtype:
        return value
    expr = value.expr
    if expr.op == "constant" and expr.shape == ():
        number = expr.args[0]
        if type(number) is int and value.kind is Kind.NUMBER and dtype != dt.bool:
            dt.check_fits(number, dtype)
        return Value(
            Expr("constant", (_python_number(number, dtype),), dtype, (), user_source()), scope_now(), value.kind
        )
    if value.kind is Kind.NUMBER and value.dtype == dt.int64 and dtype.kind in ("signed", "unsigned"):
        _check_number_fits(value, dtype)
    if value.kind is Kind.NUMBER and value.dtype == dt.int64 and dtype.kind in ("float", "complex"):
        value = emit("cast", value, dt.float64, kind=value.kind)  # NumPy rounds a Python integer twice
        if dtype == dt.float64:
            return value
    if value.layout is not None or not (value.cell is None or type(value.cell) is Cell):
        return FUNCTIONS["cast_in_order"](value, dtype)  # type: ignore[no-any-return]
    return emit("cast", value, dtype, kind=value.kind)


def _check_number_fits(value: Value, dtype: DType) -> None:
    low, high = max(int(dtype.min), -(2**63)), min(int(dtype.max), 2**63 - 1)
    inside = emit(
        "logical_and",
        emit("greater_equal", value, constant(low, dt.int64)),
        emit("less_equal", value, constant(high, dt.int64)),
    )
    perform_check(inside, OverflowError, f"Python integer out of bounds for {dtype}")


def perform_check(predicate: Value, exception: type[Exception], message: str) -> None:
    """Raise at run time unless the predicate, one bool, holds."""
    scope = scope_now()
    scope.perform(scope.emit("check", node_of(predicate), exception, message))


@functools.lru_cache(maxsize=4096)
def operand_dtypes(op: str, *things: Any) -> tuple[DType, ...]:
    """The dtypes in which an elementwise op takes operands of these dtypes or Python number types: NumPy's own loops.

    Raises `TypeError` where the op has no loop for them.

    >>> operand_dtypes("add", dt.int8, dt.uint8), operand_dtypes("add", dt.float32, float)
    ((lamina.int16, lamina.int16), (lamina.float32, lamina.float32))
    >>> operand_dtypes("less", dt.int64, dt.uint64), operand_dtypes("add", dt.int4, int)
    ((lamina.int64, lamina.uint64), (lamina.int4, lamina.int4))
    >>> operand_dtypes("sqrt", dt.int32), operand_dtypes("sqrt", dt.int4)
    ((lamina.float64,), (lamina.float16,))
    """
    meet = dt.result_type(*things)
    lifted = [_NUMPYS.get(thing, thing) for thing in things]
    if dt.bfloat16 in things or not isinstance(OPS[op].meaning, np.ufunc):
        loop = (meet if _accepts(op, meet, len(things)) else _as_float(dt.result_type(*lifted)),) * len(things)
    else:
        loop = _loop(op, lifted)
        # NumPy has no loops of packed dtypes, so they meet in whole bytes there
        if lifted != list(things) and len(set(loop)) == 1 and loop[0].kind == meet.kind:
            loop = (meet,) * len(things)
    if len(set(loop)) == 1 and not _accepts(op, loop[0], len(things)):
        raise TypeError(f"{op} is not defined for {', '.join(map(_thing_name, things))}")
    return loop


# The dtypes of NumPy's next to those that it lacks.
_NUMPYS: dict[Any, DType] = {dt.int4: dt.int8, dt.uint4: dt.uint8, dt.bfloat16: dt.float32}


def _loop(op: str, things: Sequence[Any]) -> tuple[DType, ...]:
    """The operands' dtypes in the loop that NumPy's ufunc of an op chooses."""
    ufunc: Any = OPS[op].meaning
    asked = [
        thing.numpy if isinstance(thing, DType) else np.dtype(bool) if thing is bool else thing for thing in things
    ]
    try:
        loop = ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout))
    except TypeError as error:
        raise TypeError(f"{op} is not defined for {', '.join(map(_thing_name, things))}") from error
    return tuple(dt.from_numpy(each) for each in loop[: len(things)])


def _as_float(dtype: DType) -> DType:
    """The float that functions of floats make of a dtype: float16 of int8 and bool, float32 of int16, else float64."""
    return (
        dtype if dtype.kind in ("float", "complex") else dt.from_numpy(np.sqrt.resolve_dtypes((dtype.numpy, None))[0])
    )


def _thing_name(thing: Any) -> str:
    return str(thing) if isinstance(thing, DType) else f"a Python {thing.__name__}"


class _Operand:
    """An operand of which a row's rules see the dtype and shape alone."""

    def __init__(self, dtype: DType) -> None:
        self.dtype, self.shape = dtype, ()


@functools.lru_cache(maxsize=4096)
def result_dtype(op: str, dtypes: tuple[DType, ...]) -> DType:
    """The result's dtype by an elementwise op's row, for operands of these dtypes; `TypeError` where it has none."""
    return OPS[op].dtype(*map(_Operand, dtypes))


def _accepts(op: str, dtype: DType, arity: int) -> bool:
    try:
        result_dtype(op, (dtype,) * arity)
    except TypeError:
        return False
    return True


# Shapes


def apply_move(value: Value, movement: Any) -> Value:
    """The value moved: another view of its memory, and a copy only where no layout expresses the movement."""
    if value.cell is not None and type(value.cell) is not Cell and value.layout is None:
        chosen: Value = value.cell.moved(movement)
        return chosen
    node = node_of(value)
    layout = None if value.cell is None or value.lengths else value.whole_layout.move(movement)
    if layout is not None and is_recast(node):  # seen as another dtype, a part of a memory is less than all of it
        return value.through(layout, value.shifts)
    moved = emit_node("move", node, movement)
    return Value(moved, scope_now()) if layout is None else value.through(layout, value.shifts, node=moved)


def frozen(value: Value) -> Value:
    """The same array as a view that NumPy would give read-only."""
    if value.cell is None:
        return value
    made = value.through(value.layout, value.shifts, node=node_of(value))
    made.is_frozen = True
    return made


def reshape(value: Value, shape: tuple[int, ...]) -> Value:
    """The same elements in C order, in another shape."""
    return value if shape == value.shape else apply_move(value, move.Reshape(shape))


def broadcast_to(value: Value, shape: tuple[int, ...]) -> Value:
    """The value repeated along new axes and axes of extent 1; `ValueError` where an extent doesn't fit."""
    return value if shape == value.shape else apply_move(value, _broadcast(shape))


_broadcast = functools.lru_cache(maxsize=1024)(move.Broadcast)


def permute(value: Value, axes: tuple[int, ...]) -> Value:
    """The value with result axis `i` being its axis ``axes[i]``."""
    return value if axes == tuple(range(len(axes))) else apply_move(value, move.Permute(axes))


def slice_axis(value: Value, axis: int, start: int, count: int, step: int = 1) -> Value:
    """``count`` elements of an axis from ``start`` on, ``step`` apart."""
    if (start, count, step) == (0, value.shape[axis], 1):
        return value
    ranges = [move.Range(0, extent, 1) for extent in value.shape]
    ranges[axis] = move.Range(start, count, step)
    return apply_move(value, move.Slice(ranges))


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which shapes broadcast, aligned from the right; `ValueError` in NumPy's words where they don't."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and result[axis] not in (1, extent):
                raise ValueError(f"operands could not be broadcast together with shapes {' '.join(map(str, shapes))}")
            result[axis] = extent if extent != 1 else result[axis]
    return tuple(result)
