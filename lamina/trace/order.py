"""The order of new memory: NumPy lays a result out as its operands are (order K), and what is a view depends on it."""

from collections.abc import Callable, Sequence

from lamina.layout.move import Permute
from lamina.operators import FUNCTIONS
from lamina.trace.build import broadcast_shape, broadcast_to, emit, permute
from lamina.trace.choice import choice_at, leaves_of
from lamina.trace.scope import Cell
from lamina.trace.state import Decides
from lamina.trace.value import Value


def order_of(operands: Sequence[Value], rank: int) -> tuple[int, ...] | None:
    """The axes of a result of this rank from the outermost in memory to the innermost; `None` where that is C order.

    NumPy's iterator sorts the axes by the sizes of the operands' strides: an insertion sort in which an axis moves out
    only where no operand says otherwise, and axes along which an operand doesn't move say nothing (`npyiter` of NumPy,
    ``npyiter_find_best_axis_ordering``).
    """
    if rank < 2 or all(operand.layout is None and type(operand.cell) in (Cell, type(None)) for operand in operands):
        return None
    strides = [
        (0,) * (rank - len(operand.shape)) + _strides_of(operand) for operand in operands if operand.cell is not None
    ]
    order = list(range(rank - 1, -1, -1))  # innermost first
    for i in range(1, rank):
        axis, place = order[i], i
        for j in range(i - 1, -1, -1):
            moves, is_open = False, True
            for steps in strides:
                ours, theirs = abs(steps[axis]), abs(steps[order[j]])
                if ours and theirs:
                    if theirs <= ours:
                        moves = False
                        is_open = False
                    elif is_open:
                        moves, is_open = True, False
            if is_open:
                continue
            if not moves:
                break
            place = j
        order.insert(place, order.pop(i))
    axes = tuple(reversed(order))
    return None if axes == tuple(range(rank)) else axes


def _strides_of(array: Value) -> tuple[int, ...]:
    """The strides of an array; of one of several, those of all; raises `Decides` where they are in different orders."""
    if choice_at(array) is not None:
        first, *others = leaves_of(array)
        order = order_of([first], len(array.shape))
        if any(order_of([each], len(array.shape)) != order for each in others):
            raise Decides(
                "an array may be one of several in different orders of memory, which that of a result follows"
            )
        return _strides_of(first)
    return array.whole_layout.strides


def ordered(value: Value, axes: tuple[int, ...]) -> Value:
    """A new array of C-order memory, its axes where they belong: ``axes[i]`` is the result axis of memory axis i."""
    inverse = tuple(axes.index(axis) for axis in range(len(axes)))
    return permute(value, inverse)


def emit_in_order(
    op: str,
    operands: Sequence[Value],
    axis: int | None = None,
    *,
    shape: tuple[int, ...] | None = None,
    joins: bool = False,
) -> Value:
    """The new array of an op on operands, along an axis where it has one, in memory of the operands' order.

    The operands have one rank, or are broadcast to a shape. An op that `joins` takes them as a tuple.
    """
    order = order_of(operands, len(operands[0].shape if shape is None else shape))
    if shape is not None:
        operands = [broadcast_to(operand, shape) for operand in operands]
    if order is not None:
        operands = [permute(operand, order) for operand in operands]
        axis = None if axis is None else order.index(axis)
    made = emit(op, *((tuple(operands),) if joins else operands), *(() if axis is None else (axis,)))
    return made if order is None else ordered(made, order)


def choose(condition: Value, x: Value, y: Value) -> Value:
    """The elements of x where the condition holds, those of y elsewhere, of one dtype and broadcast together."""
    return emit_in_order("where", (condition, x, y), shape=broadcast_shape(condition.shape, x.shape, y.shape))


def axes_in(order: str, like: Value) -> tuple[int, ...] | None:
    """The axes of what NumPy makes like an array in one of its orders, from the outermost in memory; `None`: C order.

    "K" is the array's own order; "A" is Fortran's where the array is in that order alone, else C.
    """
    rank = len(like.shape)
    if order == "K":
        return order_of([like], rank)
    backwards = tuple(reversed(range(rank))) if rank > 1 else None
    is_fortran = order == "F" or (order == "A" and not is_in_order(like, None) and is_in_order(like, backwards))
    return backwards if is_fortran else None


def in_order_of(value: Value, make: Callable[[Value], Value], order: str = "K") -> Value:
    """A new array of a value's shape, in an order: what `make` gives of the value with its axes in that order."""
    axes = axes_in(order, value)
    return make(value) if axes is None else ordered(make(permute(value, axes)), axes)


FUNCTIONS["cast_in_order"] = lambda value, dtype: in_order_of(value, lambda v: emit("cast", v, dtype))


def laid_out(value: Value, axes: tuple[int, ...] | None) -> Value:
    """The array itself where its elements fill memory in this order of its axes (`None`: C order), else a copy."""
    choice = choice_at(value)
    if choice is not None:
        chosen: Value = choice.each(lambda each: laid_out(each, axes))
        return chosen
    if value.cell is None or is_in_order(value, axes):
        return value
    return emit("copy", value) if axes is None else ordered(emit("copy", permute(value, axes)), axes)


def is_in_order(value: Value, axes: tuple[int, ...] | None) -> bool:
    """Whether the elements of an array fill memory in this order of its axes (`None`: C order)."""
    if choice_at(value) is not None:
        return all(is_in_order(each, axes) for each in leaves_of(value))
    layout = value.whole_layout
    turned = layout if axes is None else layout.move(Permute(axes))
    return turned is not None and turned.is_contiguous
