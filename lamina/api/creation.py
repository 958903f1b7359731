"""Creation: arrays from Python objects, from a shape, and from a rule for their elements.

What has one value is a constant that is broadcast, what counts is an ``iota`` with arithmetic on it; so nothing here
takes memory until somebody asks for the elements. Shapes are checked by `lamina.layout.Layout`, so each function raises
ValueError for a negative extent, for more than 32 axes and for more than 2**53 elements.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np

import lamina.array
from lamina import dtype as dt
from lamina.array import Array
from lamina.dtype import DType
from lamina.layout import Layout
from lamina.trace.build import (
    as_value,
    broadcast_shape,
    broadcast_to,
    captured,
    constant,
    emit,
    fresh,
    holds_value,
    permute,
    reshape,
    slice_axis,
    thing_of,
    to_dtype,
    with_kind,
)
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.order import axes_in, choose, in_order_of, laid_out
from lamina.trace.reduction import axis_of
from lamina.trace.shapes import shape_of
from lamina.trace.value import Kind, Value

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tri",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

Shape = SupportsIndex | Sequence[SupportsIndex]


def _expect_cpu(device: str | None) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f"the device must be 'cpu', the only one there is, but it is {device!r}")


def _dtype_or(dtype: object, default: DType) -> DType:
    return default if dtype is None else dt.from_numpy(dtype)


@function
def asarray(
    obj: Any, /, *, dtype: object = None, device: Literal["cpu"] | None = None, copy: bool | None = None
) -> Any:
    """The array of whatever holds numbers: arrays, Python numbers, nested lists (of traced values too), buffers.

    ``dtype`` is that of the result; by default the elements'. ``copy=True`` gives an array of its own memory,
    ``copy=False`` raises ValueError where another dtype needs one; by default memory is shared where it can be.

    Raises TypeError for what holds no numbers, OverflowError for a Python integer that ``dtype`` doesn't hold.

    >>> asarray([[1, 2], [3, 4]], dtype="float32")
    lamina.Array([[1., 2.],
                  [3., 4.]], shape=(2, 2), dtype=float32)
    """
    _expect_cpu(device)
    wanted = None if dtype is None else dt.from_numpy(dtype)
    copy = None if copy is None else bool(copy)
    if not isinstance(obj, (Array, np.ndarray)) and not holds_value(obj):
        held = lamina.array.asarray(obj, wanted, copy=copy)
        return fresh(held) if held.shape else constant(held.item(), held.dtype, Kind.ARRAY)
    if copy is False and isinstance(obj, (list, tuple)):
        raise ValueError("Unable to avoid copy: a sequence of traced values becomes an array of its own")
    if copy is False and type(obj) is not Value:
        obj = lamina.array.asarray(obj, wanted, copy=False)  # which knows what can't be shared
    value = as_value(obj)
    if wanted is not None and wanted != value.dtype:
        if copy is False:
            raise ValueError(f"Unable to avoid copy: the elements are {value.dtype} and are to become {wanted}")
        return with_kind(in_order_of(value, lambda v: to_dtype(v, wanted)), Kind.ARRAY)
    return with_kind(in_order_of(value, lambda v: emit("copy", v)) if copy else value, Kind.ARRAY)


@function
def from_dlpack(x: Any, /, *, device: Literal["cpu"] | None = None, copy: bool | None = None) -> Any:
    """The array of a DLPack producer's memory, or of a copy of it if ``copy`` is True.

    Raises TypeError for what is no producer, BufferError for memory elsewhere and for dtypes that lamina has not.

    >>> from_dlpack(np.arange(3))
    lamina.Array([0, 1, 2], shape=(3,), dtype=int64)
    """
    return captured(lamina.array.from_dlpack(x, device=device, copy=copy))


# Of one value


@function
def full(shape: Shape, fill_value: Any, *, dtype: object = None, device: Literal["cpu"] | None = None) -> Any:
    """An array of this shape with ``fill_value``, a number or what broadcasts to the shape, everywhere.

    ``dtype`` is the fill value's by default: bool, int64, float64 or complex128 for a Python number.

    Raises ValueError for a fill value that doesn't broadcast, OverflowError for a Python integer that ``dtype`` doesn't
    hold.

    >>> full((2, 2), 7)
    lamina.Array([[7, 7],
                  [7, 7]], shape=(2, 2), dtype=int64)
    """
    _expect_cpu(device)
    value = as_value(fill_value, "fill_value")
    filled = broadcast_to(to_dtype(value, _dtype_or(dtype, value.dtype)), shape_of(shape))
    return emit("copy", filled) if value.shape else with_kind(filled, Kind.ARRAY)


def _filled(name: str, number: int, what: str) -> Any:
    def create(shape: Shape, *, dtype: object = None, device: Literal["cpu"] | None = None) -> Any:
        _expect_cpu(device)
        return with_kind(broadcast_to(constant(number, _dtype_or(dtype, dt.float64)), shape_of(shape)), Kind.ARRAY)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"""An array of this shape, {what}; float64 unless ``dtype`` says otherwise.

    >>> {name}((2,), dtype="int32")
    lamina.Array([{number}, {number}], shape=(2,), dtype=int32)
    """
    return function(create)


def _filled_like(name: str, number: int, what: str) -> Any:
    def create(
        x: Any,
        /,
        *,
        dtype: object = None,
        device: Literal["cpu"] | None = None,
        shape: Shape | None = None,
        order: str = "K",
    ) -> Any:
        like = as_value(x)
        number_of = constant(number, _dtype_or(dtype, like.dtype))
        return full_like(like, number_of, dtype=dtype, device=device, shape=shape, order=order)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"""An array of the dtype and shape of ``x``, unless they are given, {what}. ``order`` is NumPy's.

    >>> {name}([5, 6])
    lamina.Array([{number}, {number}], shape=(2,), dtype=int64)
    """
    return function(create)


zeros = _filled("zeros", 0, "all 0")
ones = _filled("ones", 1, "all 1")
empty = _filled("empty", 0, "whose elements may be anything (they are 0, since a traced array has no old memory)")
zeros_like = _filled_like("zeros_like", 0, "all 0")
ones_like = _filled_like("ones_like", 1, "all 1")
empty_like = _filled_like("empty_like", 0, "whose elements may be anything (they are 0)")


@function
def full_like(
    x: Any,
    /,
    fill_value: Any,
    *,
    dtype: object = None,
    device: Literal["cpu"] | None = None,
    shape: Shape | None = None,
    order: str = "K",
) -> Any:
    """An array of the dtype and shape of ``x``, unless they are given, with ``fill_value`` everywhere.

    ``order`` is NumPy's: that of the memory, by default as that of ``x``, whose number of axes the shape must have.

    >>> full_like([1.5, 2.5], 3)
    lamina.Array([3., 3.], shape=(2,), dtype=float64)
    """
    like = as_value(x)
    made = full(like.shape if shape is None else shape, fill_value, dtype=_dtype_or(dtype, like.dtype), device=device)
    return laid_out(made, axes_in(order, like if made.ndim == like.ndim else made))


# Of a rule


@function
def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: object = None,
    device: Literal["cpu"] | None = None,
) -> Any:
    """The numbers from ``start`` on, ``step`` apart, before ``stop``; from 0 to ``start`` without a ``stop``.

    ``dtype`` is NumPy's by default: int64 for integers, float64 where there is a float. The elements are NumPy's bit
    for bit: ``start + i*delta`` with the difference of the first two as ``delta``.

    Raises ZeroDivisionError for a step of 0. The number of elements must be known while tracing, so number arguments of
    a compiled function that are used here are constants of its trace.

    >>> arange(1, 2, 0.25)
    lamina.Array([1.  , 1.25, 1.5 , 1.75], shape=(4,), dtype=float64)
    """
    _expect_cpu(device)
    start, stop = (0, start) if stop is None else (start, stop)
    start, stop, step = (_known(number) for number in (start, stop, step))
    numpy_dtype = None if dtype is None else dt.from_numpy(dtype).numpy
    count = _count(start, stop, step)
    found = [np.arange(end, end, step, dtype=numpy_dtype).dtype for end in (start, stop)]
    result = dt.from_numpy(np.promote_types(*found))
    if count <= 2 or result.kind in ("bool", "complex"):
        # few elements, and complex ones, whose signed zeros no arithmetic of theirs keeps
        return fresh(lamina.array.asarray(np.arange(start, stop, step, dtype=numpy_dtype)))
    first = np.empty(2, result.numpy)
    first[0], first[1] = start, start + step
    wide = dt.float32 if result in (dt.float16, dt.bfloat16) else result  # NumPy's fill of these
    begin = dt.cast(first, wide)
    delta = begin[1:] - begin[:1]
    Layout.contiguous((count,))
    numbers = emit("iota", count, wide)
    if delta[0] != 1:
        numbers = emit("multiply", numbers, _repeated(delta[0], wide, count))
    adds = start != 0 or delta[0] < 0  # 0 * delta is -0.0 of a negative delta
    if adds:
        numbers = emit("add", numbers, _repeated(begin[0], wide, count))
    numbers = to_dtype(numbers, result)
    with np.errstate(all="ignore"):
        made = dt.cast(np.arange(2).astype(wide.numpy) * delta + (begin[:1] if adds else 0), result)
    if made.tobytes() != first.tobytes():  # NumPy sets the first two, and a sum that is rounded may differ
        numbers = emit("concat", (captured(lamina.array.asarray(first)), slice_axis(numbers, 0, 2, count - 2)), 0)
    return numbers


def _known(thing: Any) -> Any:
    """A number as Python or NumPy holds it; a traced one is asked for."""
    if type(thing) is not Value:
        return thing if not isinstance(thing, Array) else thing.to_numpy()[()]
    if not thing.is_traced:
        return thing.expr.args[0] if thing.expr.op == "constant" else thing.expr.args[0].to_numpy()[()]
    return thing.__index__() if thing.dtype.kind in ("signed", "unsigned") else float(thing)


def _count(start: Any, stop: Any, step: Any) -> int:
    """How many elements NumPy's arange has."""
    length = (stop - start) / step
    if isinstance(length, complex):
        length = min(length.real, length.imag)
    if math.isnan(length):
        raise ValueError("arange: cannot compute length")
    if length == math.inf:
        raise ValueError("Maximum allowed size exceeded")
    if length == 0 and stop != start:  # it underflowed
        return 0 if math.copysign(1, length) < 0 else 1
    return 0 if length <= 0 else math.ceil(length)


def _repeated(number: Any, dtype: DType, count: int) -> Value:
    return broadcast_to(constant(number.item(), dtype), (count,))


@function
def linspace(
    start: Any,
    stop: Any,
    /,
    num: SupportsIndex = 50,
    *,
    dtype: object = None,
    device: Literal["cpu"] | None = None,
    endpoint: bool = True,
    retstep: bool = False,
    axis: int = 0,
) -> Any:
    """``num`` numbers from ``start`` to ``stop``, evenly spaced; the last one is ``stop`` if ``endpoint``.

    ``start`` and ``stop`` may be arrays: the numbers between each two are along a new axis, ``axis``. The dtype is a
    float or complex one by default; to an integer one the numbers are rounded down. With ``retstep`` the result is the
    pair of the numbers and their spacing. The elements are NumPy's bit for bit.

    Raises ValueError for a negative ``num``.

    >>> linspace(0, 1, 5)
    lamina.Array([0.  , 0.25, 0.5 , 0.75, 1.  ], shape=(5,), dtype=float64)
    """
    _expect_cpu(device)
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    first, last = as_value(start, "start"), as_value(stop, "stop")
    inexact = dt.result_type(thing_of(first), thing_of(last), float)
    wanted = _dtype_or(dtype, inexact)
    shape = broadcast_shape(first.shape, last.shape)
    Layout.contiguous((count, *shape))
    first, last = (broadcast_to(with_kind(to_dtype(end, inexact), Kind.SCALAR), shape) for end in (first, last))
    ones = (1,) * len(shape)
    numbers = reshape(emit("iota", count, inexact), (count, *ones))
    delta = elementwise("subtract", last, first)
    parts = count - 1 if endpoint else count
    if parts > 0:
        step = elementwise("divide", delta, constant(parts, inexact))
        numbers = _multiples(numbers, delta, step, constant(parts, inexact), _vanishes(first, last, step, parts))
    else:
        step = constant(math.nan, inexact, Kind.SCALAR)
        numbers = elementwise("multiply", numbers, delta)
    numbers = elementwise("add", numbers, first)
    if endpoint and count > 1:
        place = reshape(emit("iota", count, dt.int64), (count, *ones))
        numbers = choose(elementwise("equal", place, count - 1), last, numbers)
    if wanted.kind in ("signed", "unsigned") and inexact.kind == "float":
        numbers = elementwise("floor", numbers)
    numbers = with_kind(to_dtype(numbers, wanted), Kind.ARRAY)
    if shape:
        axes = list(range(1, numbers.ndim))
        axes.insert(axis_of(axis, numbers.ndim), 0)
        numbers = permute(numbers, tuple(axes))
    return (numbers, step) if retstep else numbers


def _vanishes(first: Value, last: Value, step: Value, parts: int) -> bool | Value:
    """Whether a step is 0, as one between subnormal numbers may be though they differ."""
    if first.expr.op == last.expr.op == "constant":
        ends = [dt.cast(np.asarray(end.expr.args[0]), end.dtype) for end in (first, last)]
        with np.errstate(all="ignore"):
            return bool((ends[1] - ends[0]) / ends[0].dtype.type(parts) == 0)
    return emit("any", elementwise("equal", step, constant(0, step.dtype)), tuple(range(step.ndim)))


def _multiples(numbers: Value, delta: Value, step: Value, parts: Value, vanishes: bool | Value) -> Value:
    by_step = elementwise("multiply", numbers, step)
    if vanishes is False:
        return by_step
    by_part = elementwise("multiply", elementwise("divide", numbers, parts), delta)
    return by_part if vanishes is True else choose(vanishes, by_part, by_step)


@function
def logspace(
    start: Any,
    stop: Any,
    /,
    num: SupportsIndex = 50,
    *,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: object = None,
    axis: int = 0,
) -> Any:
    """``base`` to the power of each of `linspace` of the same arguments.

    >>> logspace(0, 2, 3)
    lamina.Array([  1.,  10., 100.], shape=(3,), dtype=float64)
    """
    exponents = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    powers = elementwise("pow", base, exponents)
    return powers if dtype is None else to_dtype(powers, dt.from_numpy(dtype))


# Of where the element is


def _diagonal_number(k: Any, rows: int, cols: int) -> Any:
    """A diagonal's number as int64 holds it: beyond the corners all are alike."""
    return k if type(k) is Value else constant(max(-rows - 1, min(operator.index(k), cols + 1)), dt.int64)


def _places(rows: int, cols: int) -> tuple[Value, Value]:
    """The row and the column of each element."""
    return (
        broadcast_to(reshape(emit("iota", rows, dt.int64), (rows, 1)), (rows, cols)),
        broadcast_to(emit("iota", cols, dt.int64), (rows, cols)),
    )


def _is_below(k: Any, rows: int, cols: int) -> Value:
    """Whether each element is on the ``k``-th diagonal or below it."""
    row, col = _places(rows, cols)
    return elementwise("less_equal", elementwise("subtract", col, row), _diagonal_number(k, rows, cols))


@function
def eye(
    n_rows: SupportsIndex,
    n_cols: SupportsIndex | None = None,
    /,
    *,
    k: SupportsIndex = 0,
    dtype: object = None,
    device: Literal["cpu"] | None = None,
) -> Any:
    """A matrix with ones on its ``k``-th diagonal (above the main one for positive ``k``), zeros elsewhere.

    float64 unless ``dtype`` says otherwise; square without ``n_cols``.

    >>> eye(2, 3, k=1, dtype=int)
    lamina.Array([[0, 1, 0],
                  [0, 0, 1]], shape=(2, 3), dtype=int64)
    """
    _expect_cpu(device)
    rows, cols = shape_of((n_rows, n_rows if n_cols is None else n_cols))
    row, col = _places(rows, cols)
    on_diagonal = elementwise("equal", elementwise("subtract", col, row), _diagonal_number(k, rows, cols))
    return with_kind(to_dtype(on_diagonal, _dtype_or(dtype, dt.float64)), Kind.ARRAY)


@function
def identity(n: SupportsIndex, dtype: object = None) -> Any:
    """The identity matrix: `eye` of ``n`` rows.

    >>> identity(2)
    lamina.Array([[1., 0.],
                  [0., 1.]], shape=(2, 2), dtype=float64)
    """
    return eye(n, dtype=dtype)


@function
def tri(N: SupportsIndex, M: SupportsIndex | None = None, k: SupportsIndex = 0, dtype: object = None) -> Any:
    """A matrix of N rows (and M columns) with ones on the ``k``-th diagonal and below, zeros above; NumPy's.

    >>> tri(2, 3)
    lamina.Array([[1., 0., 0.],
                  [1., 1., 0.]], shape=(2, 3), dtype=float64)
    """
    rows, cols = shape_of((N, N if M is None else M))
    return to_dtype(_is_below(k, rows, cols), _dtype_or(dtype, dt.float64))


def _triangle(x: Any, k: Any, lower: bool) -> Value:
    value = as_value(x)
    if not value.shape:
        raise TypeError("x must have at least one axis, but it has none")
    keeps = _is_below(k if lower else _before(k), *(value.shape * 2 if value.ndim == 1 else value.shape)[-2:])
    zero = constant(0, value.dtype)
    return choose(keeps, value, zero) if lower else choose(keeps, zero, value)


def _before(k: Any) -> Any:
    return elementwise("subtract", k, 1) if type(k) is Value else operator.index(k) - 1


@function
def tril(x: Any, /, *, k: SupportsIndex = 0) -> Any:
    """The elements of each matrix (the last two axes) on its ``k``-th diagonal and below; 0 above.

    As in NumPy, an array of one axis is the row of a square matrix. Raises TypeError for one of none.

    >>> tril([[1, 2], [3, 4]])
    lamina.Array([[1, 0],
                  [3, 4]], shape=(2, 2), dtype=int64)
    """
    return _triangle(x, k, lower=True)


@function
def triu(x: Any, /, *, k: SupportsIndex = 0) -> Any:
    """The elements of each matrix (the last two axes) on its ``k``-th diagonal and above; 0 below.

    As in NumPy, an array of one axis is the row of a square matrix. Raises TypeError for one of none.

    >>> triu([[1, 2], [3, 4]])
    lamina.Array([[1, 2],
                  [0, 4]], shape=(2, 2), dtype=int64)
    """
    return _triangle(x, k, lower=False)


@function
def meshgrid(*arrays: Any, indexing: Literal["xy", "ij"] = "xy", sparse: bool = False, copy: bool = True) -> Any:
    """The coordinates of a grid: for each array one that varies along its own axis alone, in a tuple.

    With ``indexing="xy"`` the first two axes of the results are the second's and the first's, with ``"ij"`` they are in
    order. ``sparse=True`` leaves the other axes at extent 1; ``copy=False`` gives views.

    Raises ValueError for any other ``indexing``.

    >>> meshgrid([1, 2], [3, 4, 5])[1].tolist()
    [[3, 3], [4, 4], [5, 5]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing must be 'xy' or 'ij', but it is {indexing!r}")
    values = [with_kind(as_value(array), Kind.ARRAY) for array in arrays]
    sizes = [math.prod(value.shape) for value in values]
    places = list(range(len(values)))
    if indexing == "xy" and len(values) > 1:
        places[:2] = 1, 0
    grid = shape_of([sizes[place] for place in places])
    results = []
    for value, size, place in zip(values, sizes, places, strict=True):
        shape = tuple(size if axis == place else 1 for axis in range(len(values)))
        result = reshape(value, shape) if sparse else broadcast_to(reshape(value, shape), grid)
        results.append(emit("copy", result) if copy else result)
    return tuple(results)


@function
def indices(dimensions: Sequence[SupportsIndex], dtype: object = None, sparse: bool = False) -> Any:
    """The index of each element of a grid: one array of the grid's shape for each axis, stacked along a first axis.

    ``sparse=True`` gives a tuple of arrays that broadcast to them. int64 unless ``dtype`` says otherwise.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    grid = shape_of(tuple(dimensions))
    wanted = _dtype_or(dtype, dt.int64)
    along = [
        reshape(
            to_dtype(emit("iota", count, dt.int64), wanted), tuple(count if i == axis else 1 for i in range(len(grid)))
        )
        for axis, count in enumerate(grid)
    ]
    if sparse:
        return tuple(along)
    if not along:
        return zeros((0,), dtype=wanted)
    return emit("concat", tuple(broadcast_to(each, (1, *grid)) for each in along), 0)
