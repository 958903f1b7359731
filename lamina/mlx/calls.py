"""What each op is in MLX, what MLX is not asked for and why, and the units that MLX has in one piece."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from lamina import dtype as dt
from lamina.blocks import Block
from lamina.dtype import DType
from lamina.expr import OPS, Expr, Family
from lamina.tree import operands

DTYPES: dict[DType, Any] = {
    each: getattr(mx, "bool_" if each is dt.bool else each.name)
    for each in dt.DTYPES.values()
    if each not in (dt.int4, dt.uint4, dt.complex128)
}
"""MLX's dtypes by ours."""

# What each op is in MLX: a function of the operands and the op's static args. Where its result has another dtype than
# the node, as the sums of narrow integers have, it is cast.


def _cast(x: Any, dtype: DType) -> Any:
    """As another dtype; a float beyond an integer dtype is its limit, NaN is 0."""
    if x.dtype == mx.complex64 and dtype.kind not in ("complex", "bool"):
        x = mx.real(x)
    if not mx.issubdtype(x.dtype, mx.floating) or dtype.kind not in ("signed", "unsigned"):
        return x.astype(DTYPES[dtype])
    if x.dtype in (mx.float16, mx.bfloat16):
        x = x.astype(mx.float32)  # which holds the limits
    low, high = (mx.array(float(limit), x.dtype) for limit in (dtype.min, dtype.max))
    inside = (x > low) & (x < high)
    whole = mx.where(inside, x, mx.zeros_like(x)).astype(DTYPES[dtype])
    least, greatest = (mx.array(np.array(limit, dtype.numpy)) for limit in (dtype.min, dtype.max))
    return mx.where(inside | mx.isnan(x), whole, mx.where(x >= high, greatest, least))


def _divided(divide: Callable[..., Any]) -> Callable[..., Any]:
    """A division of integers: 0 by 0, and no overflow by -1; in MLX either ends the process."""

    def safely(x: Any, y: Any) -> Any:
        is_zero, is_negative = y == 0, y == -1 if mx.issubdtype(y.dtype, mx.signedinteger) else mx.array(False)
        one = mx.ones_like(y)
        result = mx.where(is_negative, divide(mx.negative(x), one), divide(x, mx.where(is_zero | is_negative, one, y)))
        return mx.where(is_zero, mx.zeros_like(result), result)

    return safely


def _shifted(shift: Callable[..., Any], beyond: Callable[..., Any]) -> Callable[..., Any]:
    """A shift; by the dtype's width or more, or by a negative number, what is left of x then."""

    def shifted(x: Any, y: Any) -> Any:
        inside = (y >= 0) & (y < 8 * x.dtype.size)
        return mx.where(inside, shift(x, mx.where(inside, y, mx.zeros_like(y))), beyond(x))

    return shifted


def _number_before_nan(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, choose(x, y)))


def _over(reduction: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes: reduction(x, axis=list(axes)) if axes else x


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis: function(x, axis=axis)


def _transform(transform: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n, axis, norm: transform(x, n=n, axis=axis, norm=norm)


def _scattered(x: Any, indices: Sequence[Any], updates: Any, combine: str) -> Any:
    if combine != "set":
        name = {"max": "maximum", "min": "minimum"}.get(combine, combine)
        return getattr(x.at[tuple(indices)], name)(updates)
    result = mx.array(x)
    result[tuple(indices)] = updates
    return result


_SAME_NAME = """
    negative abs ceil floor trunc round conj real imag isfinite isinf isnan square sqrt reciprocal exp expm1 log log2
    log10 log1p sigmoid sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh bitwise_invert logical_not add
    subtract multiply divide pow atan2 logaddexp maximum minimum bitwise_and bitwise_or bitwise_xor logical_and
    logical_or equal not_equal less less_equal greater greater_equal where matmul take_along_axis
"""
CALLS: dict[str, Callable[..., Any]] = {
    **{name: getattr(mx, name) for name in _SAME_NAME.split()},
    **{name: _over(getattr(mx, name)) for name in ("sum", "prod", "max", "min", "any", "all")},
    **{name: _along(getattr(mx, name)) for name in ("argmax", "argmin", "cumulative_sum", "cumulative_prod", "sort")},
    "cumulative_max": _along(mx.cummax),
    "cumulative_min": _along(mx.cummin),
    "copy": mx.array,
    "sign": lambda x: mx.sign(x) if x.dtype == mx.complex64 else mx.where(mx.isnan(x), x, mx.sign(x)),
    "floor_divide": _divided(mx.floor_divide),
    "remainder": _divided(mx.remainder),
    "fmax": _number_before_nan(mx.maximum),
    "fmin": _number_before_nan(mx.minimum),
    "bitwise_left_shift": _shifted(mx.left_shift, mx.zeros_like),
    "bitwise_right_shift": _shifted(mx.right_shift, lambda x: mx.where(x < 0, ~mx.zeros_like(x), mx.zeros_like(x))),
    "logical_xor": mx.not_equal,
    "clip": lambda x, low, high: mx.minimum(mx.maximum(x, low), high),
    "complex": lambda x, y: mx.view(mx.stack([x, y], axis=-1), mx.complex64).reshape(x.shape),
    "cast": _cast,
    "bitcast": lambda x, dtype: mx.view(x, DTYPES[dtype]),
    "iota": lambda count, dtype: mx.arange(count, dtype=mx.int64).astype(DTYPES[dtype]),
    "concat": lambda arrays, axis: mx.concatenate(arrays, axis=axis),
    "pad": lambda x, value, widths: mx.pad(x, widths, constant_values=value) if widths else x,
    "gather": lambda x, indices: x[tuple(indices)],
    "scatter": _scattered,
    "searchsorted": lambda x, values, side: mx.searchsorted(x, values, side=side),
    **{name: _transform(getattr(mx.fft, name)) for name in ("fft", "ifft", "rfft", "irfft")},
}

# What MLX is not asked for: by reason, for kinds or names of dtypes of the first operand (none: all), the ops.
# `lamina.testing` found them. What an index out of range would do is looked for before MLX reads or writes there.
ELSEWHERE: dict[str, dict[str, str]] = {
    "MLX has no such op": {
        "": """signbit cbrt exp2 fmod float_power hypot copysign nextafter logaddexp2 gcd lcm bitwise_and_reduce
            bitwise_or_reduce bitwise_xor_reduce true_places""",
        "bool signed unsigned": "matmul",
        "complex": "expm1",
    },
    "MLX transforms single precision alone": {"float16": "fft ifft rfft", "float64": "irfft"},
    "MLX computes it in float32": {"float64": "sin cos exp sigmoid logaddexp"},
    "MLX computes it less exactly": {"": "erf"},
    "MLX has other quotients of infinities, and zeros of another sign": {"float": "floor_divide remainder"},
    "MLX loses NaN": {"float16 bfloat16": "cumulative_max cumulative_min"},
    "MLX orders complex numbers otherwise": {
        "complex": """less less_equal greater greater_equal maximum minimum fmax fmin max min argmax argmin
            cumulative_max cumulative_min sort searchsorted"""
    },
    "MLX doesn't keep the order of equal elements": {"": "argsort"},
    "MLX doesn't refuse negative powers of integers": {"signed unsigned": "pow"},
    "NumPy decides the signs of factors, and which matrices have none": {
        "": " ".join(op for op, row in OPS.items() if row.family is Family.FACTORIZATION)
    },
}
_COMBINED = ("set", "add", "multiply", "max", "min")  # how MLX's scatter may combine as NumPy does


def reason_against(node: Expr, dtypes: Mapping[DType, Any] = DTYPES) -> str:
    """Why MLX, on a device that has these dtypes, is not asked for a node; "" where it is."""
    values = (*operands(node), node)
    for value in values:
        for dtype in value.dtype if value.has_several else (value.dtype,):
            if dtype not in dtypes:
                return f"MLX has no {dtype} here"
    first = values[0]
    for reason, by_dtypes in ELSEWHERE.items():
        for names, ops in by_dtypes.items():
            if node.op in ops.split() and (not names or {first.dtype.kind, first.dtype.name} & {*names.split()}):
                return reason
    if node.op == "scatter" and (node.args[-1] not in _COMBINED or node.dtype == dt.bool):
        return f"MLX has no such op for {node.args[-1]!r}"
    if node.op in OPS and OPS[node.op].family is Family.REDUCTION and 0 in first.shape:
        return "MLX reads beyond arrays without elements"
    if node.op in ("view", "update") and first.dtype != (node if node.op == "view" else node.args[-1]).dtype:
        return "a view of MLX's as another dtype has a last axis of its own"
    return ""


# Named units that MLX has in one piece, for operands of these dtypes that have elements. A row of nothing but -inf is
# NaN by the units' formulas, and 0 or a mean in MLX.


def _softmax(x: Any, axis: int) -> Any:
    return mx.where(mx.max(x, axis=axis, keepdims=True) == -mx.inf, mx.nan, mx.softmax(x, axis=axis, precise=True))


def _attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    shapes = [each.shape[:-2] for each in (query, key, value, mask) if each is not None]
    lead = mx.broadcast_shapes(*shapes)

    def stacked(x: Any, tail: Sequence[int]) -> Any:
        return mx.broadcast_to(x, (*lead, *tail)).reshape(-1, 1, *tail)

    q, k, v = (stacked(each, each.shape[-2:]) for each in (query, key, value))
    seen = None if mask is None else stacked(mask, (query.shape[-2], key.shape[-2]))
    result = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=seen)
    has_scores = mx.all(mx.isfinite(q), axis=-1, keepdims=True)
    if seen is not None:
        has_scores &= mx.any(seen if seen.dtype == mx.bool_ else seen > -mx.inf, axis=-1, keepdims=True)
    result = mx.where(has_scores, result, mx.nan)
    return result.reshape(*lead, *result.shape[-2:])


def _conv(x: Any, weight: Any, strides: Any, widths: Any, dilations: Any) -> Any:
    # channels are MLX's last axis; it would leave out what padding makes of an infinite weight
    padded = mx.pad(mx.moveaxis(x, 1, -1), [(0, 0), *widths, (0, 0)])
    return mx.moveaxis(mx.conv_general(padded, mx.moveaxis(weight, 1, -1), strides, kernel_dilation=dilations), -1, 1)


UNITS: dict[Block, Callable[..., Any]] = {
    Block.SOFTMAX: _softmax,
    Block.LOGSUMEXP: lambda x, axis, keepdims: mx.logsumexp(x, axis=axis, keepdims=keepdims),
    Block.LAYER_NORM: mx.fast.layer_norm,
    Block.RMS_NORM: mx.fast.rms_norm,
    Block.ATTENTION: _attention,
    Block.GELU: lambda x: x * (1 + mx.erf(x * 0.5**0.5)) * 0.5,
    Block.CONV: _conv,
}
_UNIT_DTYPES = (dt.float32, dt.float16, dt.bfloat16, dt.bool)  # MLX computes those of float64 in float32


def unit_of(node: Expr) -> Callable[..., Any] | None:
    """The unit of MLX that a block is; `None` where there is none, or none for its operands."""
    struct, in_args, _, _ = node.args
    unit = UNITS.get(struct) if isinstance(struct, Block) else None
    fits = all(each.dtype in _UNIT_DTYPES and 0 not in each.shape for each in operands(node))
    if struct is Block.CONV and len(in_args[2]) > 3:
        return None  # MLX has three spatial axes at most
    return unit if fits else None
