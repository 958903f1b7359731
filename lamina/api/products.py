"""Products of arrays: matrices, vectors and tensors, and the transposes, diagonals and traces that go with them.

Everything is movements and the ``matmul`` of stacks of matrices, so that a compiler sees one kind of contraction.
`lamina.api.linalg` is where the functions are found.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina.api.einsum import diagonal_of
from lamina.api.statistical import sum
from lamina.errors import AxisError
from lamina.trace.build import (
    broadcast_shape,
    broadcast_to,
    common_dtype,
    decayed,
    emit,
    frozen,
    permute,
    reshape,
    slice_axis,
    to_dtype,
)
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.reduction import array_of, axis_of
from lamina.trace.value import Value

__all__ = [
    "cross",
    "diagonal",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
]


def operands(x1: Any, x2: Any) -> tuple[Value, Value]:
    """Two operands in the dtype in which they meet; a Python number counts as an array of its own dtype."""
    values = array_of(x1, "x1"), array_of(x2, "x2")
    dtype = common_dtype(values)
    return to_dtype(values[0], dtype), to_dtype(values[1], dtype)


def matrices(x: Any, name: str = "x") -> Value:
    """A stack of matrices; `numpy.linalg.LinAlgError`, a ValueError, for fewer than two axes."""
    value = array_of(x, name)
    if len(value.shape) < 2:
        raise np.linalg.LinAlgError(
            f"{name} must have at least two axes, those of its matrices, but its shape is {value.shape}"
        )
    return value


def with_last(value: Value, *axes: int) -> Value:
    """The value with these axes at the end, in this order."""
    return permute(value, (*(axis for axis in range(len(value.shape)) if axis not in axes), *axes))


def contracted(x: Value, x_axes: Sequence[int], y: Value, y_axes: Sequence[int]) -> Value:
    """The products summed over pairs of axes; x's other axes come first, then y's."""
    rows = [axis for axis in range(len(x.shape)) if axis not in x_axes]
    columns = [axis for axis in range(len(y.shape)) if axis not in y_axes]
    n, k = (math.prod(x.shape[axis] for axis in axes) for axes in (rows, x_axes))
    m = math.prod(y.shape[axis] for axis in columns)
    left = reshape(permute(x, (*rows, *x_axes)), (n, k))
    right = reshape(permute(y, (*y_axes, *columns)), (k, m))
    return reshape(emit("matmul", left, right), (*(x.shape[a] for a in rows), *(y.shape[a] for a in columns)))


# Products


@function
def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product.

    The last two axes are those of the matrices, the others broadcast. An `x1` of one axis is a row, an `x2` of one axis
    a column; the axis they lack is not in the result either. The result has the dtype to which the operands promote;
    integers wrap, bools are combined by "and" and "or".

    Raises ValueError where an operand has no axis or the shapes don't fit.

    >>> import numpy as np
    >>> x = np.arange(6).reshape(2, 3)
    >>> matmul(x, x.T)
    lamina.Array([[ 5, 14],
                  [14, 50]], shape=(2, 2), dtype=int64)
    >>> matmul([1, 2, 3], [4, 5, 6])
    lamina.Array(32, shape=(), dtype=int64)
    """
    x, y = operands(x1, x2)
    if not x.shape or not y.shape:
        raise ValueError(
            f"the operands have shapes {x.shape} and {y.shape}; both need an axis; multiply by a number with *"
        )
    left = x if len(x.shape) > 1 else reshape(x, (1, *x.shape))
    right = y if len(y.shape) > 1 else reshape(y, (*y.shape, 1))
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"the shapes {x.shape} and {y.shape} don't fit: the last axis of x1 has extent {left.shape[-1]}, "
            f"but the {'last but one' if len(y.shape) > 1 else 'only'} axis of x2 has {right.shape[-2]}"
        )
    batch = broadcast_shape(left.shape[:-2], right.shape[:-2])
    product = emit("matmul", broadcast_to(left, batch + left.shape[-2:]), broadcast_to(right, batch + right.shape[-2:]))
    rows = left.shape[-2:-1] if len(x.shape) > 1 else ()
    columns = right.shape[-1:] if len(y.shape) > 1 else ()
    return decayed(reshape(product, (*batch, *rows, *columns)))


@function
def tensordot(x1: Any, x2: Any, /, *, axes: int | tuple[Any, Any] = 2) -> Any:
    """The products of all pairs of elements, summed over pairs of axes.

    Args:
        x1: the first operand.
        x2: the second.
        axes: the axes of `x1` and those of `x2`, two sequences of one length; or how many of the last of `x1` and the
            first of `x2`.

    Returns the other axes of `x1`, then those of `x2`.

    Raises ValueError where axes that meet differ in extent.

    >>> import numpy as np
    >>> tensordot(np.ones((2, 3, 4), np.int64), np.ones((4, 3, 5), np.int64), axes=((1, 2), (1, 0))).shape
    (2, 5)
    >>> tensordot([1, 2], [3, 4], axes=0)
    lamina.Array([[3, 4],
                  [6, 8]], shape=(2, 2), dtype=int64)
    """
    x, y = operands(x1, x2)
    if isinstance(axes, (tuple, list)):
        first, second = ([each] if hasattr(each, "__index__") else list(each) for each in axes)
    else:
        count = operator.index(axes)
        if not 0 <= count <= min(len(x.shape), len(y.shape)):
            raise AxisError(f"axes is {count}, but the operands have shapes {x.shape} and {y.shape}")
        first, second = list(range(-count, 0)), list(range(count))
    x_axes, y_axes = [axis_of(a, len(x.shape)) for a in first], [axis_of(a, len(y.shape)) for a in second]
    for axes_of, name in ((x_axes, "x1"), (y_axes, "x2")):
        if len(set(axes_of)) < len(axes_of):
            raise ValueError(f"an axis of {name} is named more than once in {axes}")
    extents = [x.shape[a] for a in x_axes], [y.shape[a] for a in y_axes]
    if extents[0] != extents[1]:
        raise ValueError(f"shape-mismatch for sum: the axes {x_axes} of {x.shape} meet the axes {y_axes} of {y.shape}")
    return contracted(x, x_axes, y, y_axes)


@function
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The dot products of the vectors along an axis; complex ones of `x1` are conjugated. The other axes broadcast.

    Raises ValueError where an operand has no axis, the vectors differ in length, or the other axes don't broadcast.

    >>> vecdot([[1, 2], [3, 4]], [1, 10])
    lamina.Array([21, 43], shape=(2,), dtype=int64)
    >>> vecdot([1j], [1j])
    lamina.Array(1.+0.j, shape=(), dtype=complex128)
    """
    x, y = operands(x1, x2)
    if not x.shape or not y.shape:
        raise ValueError(f"the operands have shapes {x.shape} and {y.shape}, but both need an axis")
    x, y = (with_last(value, axis_of(axis, len(value.shape))) for value in (x, y))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"the vectors along axis {axis} have lengths {x.shape[-1]} and {y.shape[-1]}, which must be equal"
        )
    if x.dtype.kind == "complex":
        x = emit("conj", x)
    shape = broadcast_shape(x.shape, y.shape)
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    rows, columns = reshape(x, (*shape[:-1], 1, shape[-1])), reshape(y, (*shape, 1))
    return decayed(reshape(emit("matmul", rows, columns), shape[:-1]))


@function
def dot(x1: Any, x2: Any, /) -> Any:
    """NumPy's dot product: over the last axis of `x1` and the last but one of `x2`, or its only one.

    Where an operand has no axis, the product of the elements. Unlike `matmul`, it doesn't broadcast: the other axes of
    `x1` come first, then those of `x2`.

    Raises ValueError where the two axes differ in extent.

    >>> dot([1, 2], [[1, 0, 1], [0, 1, 1]])
    lamina.Array([1, 2, 3], shape=(3,), dtype=int64)
    """
    return _product(*operands(x1, x2), -2)


@function
def inner(x1: Any, x2: Any, /) -> Any:
    """NumPy's inner product: over the last axes of both. Where an operand has no axis, the product of the elements.

    Raises ValueError where the two axes differ in extent.

    >>> inner([[1, 2], [3, 4]], [[1, 10]])
    lamina.Array([[21],
                  [43]], shape=(2, 1), dtype=int64)
    """
    return _product(*operands(x1, x2), -1)


def _product(x: Value, y: Value, y_axis: int) -> Value:
    if not x.shape or not y.shape:
        return elementwise("multiply", x, y)
    y_axis = max(y_axis, -len(y.shape))
    if x.shape[-1] != y.shape[y_axis]:
        raise ValueError(f"the shapes {x.shape} and {y.shape} don't fit: {x.shape[-1]} elements meet {y.shape[y_axis]}")
    return decayed(contracted(x, [len(x.shape) - 1], y, [len(y.shape) + y_axis]))


@function
def outer(x1: Any, x2: Any, /) -> Any:
    """The products of each element of one vector with each of another: element ``[i, j]`` is ``x1[i] * x2[j]``.

    Raises ValueError for what is no vector.

    >>> outer([1, 2], [3, 4, 5])
    lamina.Array([[ 3,  4,  5],
                  [ 6,  8, 10]], shape=(2, 3), dtype=int64)
    """
    x, y = operands(x1, x2)
    if len(x.shape) != 1 or len(y.shape) != 1:
        raise ValueError(f"the operands must have one axis each, but their shapes are {x.shape} and {y.shape}")
    return elementwise("multiply", reshape(x, (*x.shape, 1)), reshape(y, (1, *y.shape)))


@function
def kron(x1: Any, x2: Any, /) -> Any:
    """The Kronecker product: `x2` in place of each element of `x1`, times that element.

    Where one has fewer axes, axes of extent 1 are put before them.

    >>> kron([1, 10], [1, 2, 3])
    lamina.Array([ 1,  2,  3, 10, 20, 30], shape=(6,), dtype=int64)
    """
    x, y = operands(x1, x2)
    rank = max(len(x.shape), len(y.shape))
    outer_shape, inner_shape = ((1,) * (rank - len(v.shape)) + v.shape for v in (x, y))
    apart = (
        tuple(extent for n in outer_shape for extent in (n, 1)),
        tuple(extent for n in inner_shape for extent in (1, n)),
    )
    product = elementwise("multiply", reshape(x, apart[0]), reshape(y, apart[1]))
    return decayed(reshape(product, tuple(n * m for n, m in zip(outer_shape, inner_shape, strict=True))))


@function
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of the vectors of three elements along an axis. The other axes broadcast.

    Raises ValueError for vectors of another length.

    >>> cross([1, 0, 0], [0, 1, 0])
    lamina.Array([0, 0, 1], shape=(3,), dtype=int64)
    """
    x, y = operands(x1, x2)
    x, y = (with_last(value, axis_of(axis, len(value.shape))) for value in (x, y))
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            f"the vectors along axis {axis} have {x.shape[-1]} and {y.shape[-1]} elements, but must have 3"
        )
    shape = broadcast_shape(x.shape, y.shape)
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)

    def component(i: int, j: int) -> Value:
        first, second = (
            (slice_axis(x, len(shape) - 1, a, 1), slice_axis(y, len(shape) - 1, b, 1)) for a, b in ((i, j), (j, i))
        )
        return emit("subtract", emit("multiply", *first), emit("multiply", *second))

    result = emit("concat", (component(1, 2), component(2, 0), component(0, 1)), len(shape) - 1)
    place = axis_of(axis, len(shape))
    order = list(range(len(shape) - 1))
    order.insert(place, len(shape) - 1)
    return permute(result, tuple(order))


# Matrices


@function
def matrix_transpose(x: Any, /) -> Any:
    """Each matrix transposed: the last two axes exchanged.

    Raises ValueError for fewer than two axes.

    >>> matrix_transpose([[1, 2, 3]]).shape
    (3, 1)
    """
    value = matrices(x)
    rank = len(value.shape)
    return permute(value, (*range(rank - 2), rank - 1, rank - 2))


@function
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonal of each matrix, a read-only view; its axis comes last, in place of the two of the matrices.

    Args:
        x: matrices, in the last two axes.
        offset: how far the diagonal is above the main one, below it where negative.

    >>> diagonal([[1, 2, 3], [4, 5, 6]], offset=1)
    lamina.Array([2, 6], shape=(2,), dtype=int64)
    """
    value = matrices(x)
    return frozen(diagonal_of(value, len(value.shape) - 2, len(value.shape) - 1, operator.index(offset)))


@function
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of the diagonal of each matrix, in the dtype in which `lamina.sum` adds, or in `dtype`.

    >>> trace([[1, 2], [3, 4]])
    lamina.Array(5, shape=(), dtype=int64)
    """
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)
