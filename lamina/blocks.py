"""Named units of array programs: what many compilers have in one piece, as ``block`` nodes with a default expression.

Each function makes one ``block`` node, named by a `Block`. Its operands have one float dtype and its options are plain
Python values, so a compiler that knows the name needs no rules of its own; every other one runs the default, written in
ordinary nodes. Given arrays outside a traced function they compute at once, as all of lamina's functions do.

Integers and bools are taken as the floats that `lamina.exp` makes of them; complex numbers are refused. What is
infinite or NaN gives what the formula gives in NumPy: a softmax over elements that are all -inf is NaN.
"""

import enum
import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

from lamina.api.elementwise import erf, exp, isfinite, log, sigmoid, sqrt, square
from lamina.api.manipulation import moveaxis, sliding_window_view, squeeze
from lamina.api.padding import pad
from lamina.api.products import matmul, matrix_transpose, tensordot
from lamina.api.searching import where
from lamina.api.statistical import max, mean, sum
from lamina.trace.build import common_dtype, operand_dtypes, to_dtype
from lamina.trace.control import block
from lamina.trace.function import function
from lamina.trace.reduction import axis_of
from lamina.trace.shapes import as_array
from lamina.trace.value import Value

__all__ = [
    "Block",
    "attention",
    "conv",
    "gelu",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "rms_norm",
    "silu",
    "softmax",
]


class Block(enum.Enum):
    """The names of the units: the ``struct`` of their nodes, each with its ``in_args``; an arg in brackets may be None.

    >>> import lamina
    >>> graph = lamina.trace(softmax, lamina.Spec(lamina.float32, (2, 3)))
    >>> struct, in_args, default, callback = graph.outputs.args
    >>> struct is Block.SOFTMAX, in_args[1]
    (True, 1)
    """

    SOFTMAX = "softmax"  # (x, axis)
    LOG_SOFTMAX = "log_softmax"  # (x, axis)
    LOGSUMEXP = "logsumexp"  # (x, axis, keepdims)
    LAYER_NORM = "layer_norm"  # (x, [weight], [bias], eps)
    RMS_NORM = "rms_norm"  # (x, [weight], eps)
    ATTENTION = "attention"  # (query, key, value, [mask], scale)
    GELU = "gelu"  # (x,)
    SILU = "silu"  # (x,)
    CONV = "conv"  # (x, weight, strides, widths, dilations), the last three with an entry for each spatial axis

    def __str__(self) -> str:
        return str(self.value)


# Sums of exponentials


@function
def softmax(x: Any, axis: SupportsIndex = -1) -> Any:
    """``exp(x) / sum(exp(x))`` along an axis: positive numbers that add up to 1.

    x has any shape with one axis or more, and so has the result. The greatest element is subtracted first, so nothing
    overflows. Along an axis of -inf alone, or with +inf, the results are NaN. Raises AxisError for an axis outside x's.

    >>> softmax([[0.0, 0.0], [1000.0, 0.0]])
    lamina.Array([[0.5, 0.5],
                  [1. , 0. ]], shape=(2, 2), dtype=float64)
    """
    (array,) = _floats({"x": x})
    return block(Block.SOFTMAX, _softmax, array, axis_of(axis, array.ndim))


def _softmax(x: Any, axis: int) -> Any:
    powers = exp(_lowered(x, axis))
    return powers / sum(powers, axis=axis, keepdims=True)


@function
def log_softmax(x: Any, axis: SupportsIndex = -1) -> Any:
    """``log(softmax(x))`` along an axis, accurate also where the softmax is nearly 0.

    x has any shape with one axis or more, and so has the result. Along an axis of -inf alone the results are NaN.

    >>> log_softmax([0.0, -1000.0])
    lamina.Array([    0., -1000.], shape=(2,), dtype=float64)
    """
    (array,) = _floats({"x": x})
    return block(Block.LOG_SOFTMAX, _log_softmax, array, axis_of(axis, array.ndim))


def _log_softmax(x: Any, axis: int) -> Any:
    lowered = _lowered(x, axis)
    return lowered - log(sum(exp(lowered), axis=axis, keepdims=True))


@function
def logsumexp(x: Any, axis: SupportsIndex = -1, *, keepdims: bool = False) -> Any:
    """``log(sum(exp(x)))`` along an axis, which the result lacks, or has with extent 1 with `keepdims`.

    Of no elements, and of -inf alone, it is -inf; with +inf it is +inf.

    >>> logsumexp([1000.0, 1000.0])
    lamina.Array(1000.69314718, shape=(), dtype=float64)
    """
    (array,) = _floats({"x": x})
    return block(Block.LOGSUMEXP, _logsumexp, array, axis_of(axis, array.ndim), bool(keepdims))


def _logsumexp(x: Any, axis: int, keepdims: bool) -> Any:
    if x.shape[axis] == 0:
        return log(sum(x, axis=axis, keepdims=keepdims))
    greatest = max(x, axis=axis, keepdims=True)
    shift = where(isfinite(greatest), greatest, 0.0)  # of -inf, x - shift would be NaN
    result = log(sum(exp(x - shift), axis=axis, keepdims=True)) + shift
    return result if keepdims else squeeze(result, axis)


def _lowered(x: Any, axis: int) -> Any:
    """X less its greatest element along an axis."""
    return x - max(x, axis=axis, keepdims=True) if x.shape[axis] else x


# Normalisation of the last axis


@function
def layer_norm(x: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias``, with the mean and the variance of the last axis.

    x has shape (…, n), weight and bias have (n,). The variance is the mean of the squares, without a correction. Of Ba,
    Kiros and Hinton, "Layer Normalization", 2016. Raises ValueError for other shapes.

    >>> layer_norm([[1.0, 2.0, 3.0]], eps=0.0).round(4)
    lamina.Array([[-1.2247,  0.    ,  1.2247]], shape=(1, 3), dtype=float64)
    """
    x, weight, bias = _floats({"x": x}, weight=weight, bias=bias)
    _expect_of_last(x, weight=weight, bias=bias)
    return block(Block.LAYER_NORM, _layer_norm, x, weight, bias, float(eps))


def _layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    centred = x - mean(x, axis=-1, keepdims=True)
    scaled = centred / sqrt(mean(square(centred), axis=-1, keepdims=True) + eps)
    scaled = scaled if weight is None else scaled * weight
    return scaled if bias is None else scaled + bias


@function
def rms_norm(x: Any, weight: Any = None, *, eps: float = 1e-5) -> Any:
    """``x / sqrt(mean(x * x) + eps) * weight``, with the mean of the last axis.

    x has shape (…, n), weight has (n,). Of Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019. Raises
    ValueError for other shapes.

    >>> rms_norm([[3.0, 3.0, -3.0]], eps=0.0)
    lamina.Array([[ 1.,  1., -1.]], shape=(1, 3), dtype=float64)
    """
    x, weight = _floats({"x": x}, weight=weight)
    _expect_of_last(x, weight=weight)
    return block(Block.RMS_NORM, _rms_norm, x, weight, float(eps))


def _rms_norm(x: Any, weight: Any, eps: float) -> Any:
    scaled = x / sqrt(mean(square(x), axis=-1, keepdims=True) + eps)
    return scaled if weight is None else scaled * weight


def _expect_of_last(x: Value, **params: Value | None) -> None:
    if not x.shape:
        raise ValueError("x has no axis to normalise; it must have shape (…, n)")
    for name, param in params.items():
        if param is not None and param.shape != x.shape[-1:]:
            raise ValueError(f"{name} has shape {param.shape}, but must have {x.shape[-1:]}, x's last axis")


# Attention


@function
def attention(query: Any, key: Any, value: Any, mask: Any = None, *, scale: float | None = None) -> Any:
    """``softmax(query @ keyᵀ * scale) @ value``: for each query the values, weighted by how well their keys fit.

    query has shape (…, n, d), key (…, m, d), value (…, m, e), the result (…, n, e); leading axes broadcast, also those
    of the mask, of shape (…, n, m). Where a mask of bools is False a query doesn't see a key; one of floats is added
    before the softmax. scale is 1/sqrt(d) by default. A query that sees no key gets NaN. Of Vaswani et al., "Attention
    Is All You Need", 2017. Raises ValueError for shapes that don't fit.

    >>> import numpy as np
    >>> keys, values = np.array([[9.0, 0.0], [0.0, 9.0]]), np.array([[1.0], [2.0]])
    >>> attention([[9.0, 0.0]], keys, values).round(6), attention([[9.0, 0.0]], keys, values, [[False, True]])
    (lamina.Array([[1.]], shape=(1, 1), dtype=float64), lamina.Array([[2.]], shape=(1, 1), dtype=float64))
    """
    seen = None if mask is None else as_array(mask, "mask")
    is_added = seen is not None and seen.dtype.kind != "bool"
    query, key, value, added = _floats({"query": query, "key": key, "value": value}, mask=seen if is_added else None)
    for name, each in (("query", query), ("key", key), ("value", value)):
        if each.ndim < 2:
            raise ValueError(f"{name} has shape {each.shape}, but must have two axes or more")
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"query, key and value have shapes {query.shape}, {key.shape} and {value.shape}, but must have "
            "(…, n, d), (…, m, d) and (…, m, e)"
        )
    by = float(scale) if scale is not None else 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    return block(Block.ATTENTION, _attention, query, key, value, added if is_added else seen, by)


def _attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    scores = matmul(query * scale, matrix_transpose(key))
    if mask is not None:
        scores = where(mask, scores, -math.inf) if mask.dtype.kind == "bool" else scores + mask
    return matmul(softmax(scores), value)


# Activations


@function
def gelu(x: Any) -> Any:
    """``x * (1 + erf(x / sqrt(2))) / 2``: x by the chance that a normal variate is less. Of -inf it is NaN.

    x has any shape, and so has the result. Of Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.

    >>> gelu([-1.0, 0.0, 1.0])
    lamina.Array([-0.15865525,  0.        ,  0.84134475], shape=(3,), dtype=float64)
    """
    return block(Block.GELU, _gelu, *_floats({"x": x}))


def _gelu(x: Any) -> Any:
    return x * (1 + erf(x * math.sqrt(0.5))) * 0.5


@function
def silu(x: Any) -> Any:
    """``x * sigmoid(x)``. Of -inf it is NaN.

    x has any shape, and so has the result. Of Elfwing, Uchibe and Doya, "Sigmoid-Weighted Linear Units for Neural
    Network Function Approximation in Reinforcement Learning", 2018.

    >>> silu([-1.0, 0.0, 1.0])
    lamina.Array([-0.26894142,  0.        ,  0.73105858], shape=(3,), dtype=float64)
    """
    return block(Block.SILU, _silu, *_floats({"x": x}))


def _silu(x: Any) -> Any:
    return x * sigmoid(x)


# Convolution


@function
def conv(
    x: Any,
    weight: Any,
    *,
    stride: SupportsIndex | Sequence[SupportsIndex] = 1,
    padding: SupportsIndex | Sequence[Any] = 0,
    dilation: SupportsIndex | Sequence[SupportsIndex] = 1,
) -> Any:
    """The products of a weight with every window of x, summed: a cross-correlation, the weight isn't turned around.

    x has shape (n, c, …), weight (o, c, …) and the result (n, o, …), with one spatial axis or more in place of the
    dots: an extent s of x, padded, and k of the weight give ``(s - (k - 1) * dilation - 1) // stride + 1``. stride,
    padding and dilation are one number, or one for each spatial axis; a padding may be a pair (before, after), and puts
    zeros there. Raises ValueError for shapes that don't fit, and for a weight that reaches farther than x.

    >>> conv([[[1.0, 2.0, 3.0, 4.0]]], [[[1.0, -1.0]]], padding=(0,)).tolist()
    [[[-1.0, -1.0, -1.0]]]
    """
    x, weight = _floats({"x": x, "weight": weight})
    count = x.ndim - 2
    if count < 1 or weight.ndim != x.ndim or weight.shape[1] != x.shape[1]:
        raise ValueError(
            f"x and weight have shapes {x.shape} and {weight.shape}, but must have (n, c, *spatial) and "
            "(o, c, *kernel) with as many axes"
        )
    widths = tuple(map(_sides, _each(padding, "padding", count)))
    strides, dilations = (
        tuple(map(operator.index, _each(each, name, count)))
        for each, name in ((stride, "stride"), (dilation, "dilation"))
    )
    for name, steps in (("stride", strides), ("dilation", dilations)):
        if min(steps) < 1:
            raise ValueError(f"{name} must be at least 1, but it is {steps}")
    return block(Block.CONV, _conv, x, weight, strides, widths, dilations)


def _each(given: Any, name: str, count: int) -> tuple[Any, ...]:
    """One entry for each spatial axis."""
    entries = tuple(given) if isinstance(given, Sequence) else (given,) * count
    if len(entries) != count:
        raise ValueError(f"{name} must be one number, or one for each of the {count} spatial axes, but it is {given!r}")
    return entries


def _sides(width: Any) -> tuple[int, int]:
    """How much is padded before and after an axis."""
    both = tuple(width) if isinstance(width, Sequence) else (width, width)
    if len(both) != 2:
        raise ValueError(f"padding must be a number or a pair (before, after) for an axis, but it is {width!r}")
    return operator.index(both[0]), operator.index(both[1])


def _conv(x: Any, weight: Any, strides: Any, widths: Any, dilations: Any) -> Any:
    spatial = tuple(range(2, x.ndim))
    padded = pad(x, ((0, 0), (0, 0), *widths)) if any(map(any, widths)) else x
    windows = sliding_window_view(padded, weight.shape[2:], spatial, step=strides, dilation=dilations)
    kernel = tuple(range(x.ndim, windows.ndim))  # the axes of a window
    return moveaxis(tensordot(windows, weight, axes=((1, *kernel), (1, *spatial))), -1, 1)


# Operands


def _floats(required: dict[str, Any], **optional: Any) -> list[Any]:
    """Arrays by name in the one float dtype in which they meet; an optional one that is None stays None."""
    given = {**required, **{name: thing for name, thing in optional.items() if thing is not None}}
    values = {name: as_array(thing, name) for name, thing in given.items()}
    dtype = common_dtype(list(values.values()))
    if dtype.kind == "complex":
        shown = ", ".join(f"{name} {value.dtype}" for name, value in values.items())
        raise TypeError(f"the operands must be real, but they are {shown}")
    if dtype.kind != "float":
        (dtype,) = operand_dtypes("exp", dtype)
    return [to_dtype(values[name], dtype) if name in values else None for name in (*required, *optional)]
