"""NumPy's ufuncs as lamina's functions: which one each is, and its methods ``reduce``, ``accumulate`` and ``outer``.

Most ufuncs are one function of lamina's namespace, perhaps under another name; the few that lamina has no name for are
made of others here. The arguments ``dtype``, ``signature`` and ``casting`` choose a loop, as in NumPy: the operands are
cast to what that loop takes, and the result is what it gives.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS, Operators, untraced_write
from lamina.trace.assign import write
from lamina.trace.bounded import Bounded
from lamina.trace.build import NUMBER_DTYPES, as_value, constant, decayed, emit, reshape, thing_of, to_dtype, with_kind
from lamina.trace.elementwise import elementwise
from lamina.trace.fitting import bounded
from lamina.trace.order import emit_in_order
from lamina.trace.reduction import array_of, axes_of, axis_of, reduce
from lamina.trace.value import Kind, Value

# Those that are one of lamina's functions: of the same name, or of the array API standard's.
_SAME_NAME = """
    add bitwise_and bitwise_or bitwise_xor cbrt ceil copysign cos cosh deg2rad divide equal exp exp2 expm1 fabs
    float_power floor floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot isfinite isinf isnan lcm
    less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor matmul
    maximum minimum modf multiply negative nextafter not_equal positive rad2deg reciprocal remainder rint sign
    signbit sin sinh sqrt square subtract tan tanh trunc vecdot
"""
CALLED = {name: name for name in _SAME_NAME.split()} | {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
}

# Those that are made of others: functions of operands in the dtypes of NumPy's loop.


def _where(condition: Value, x: Any, y: Any) -> Value:
    result: Value = FUNCTIONS["where"](condition, x, y)
    return result


def _spacing(x: Value) -> Value:
    beyond = constant(math.inf, x.dtype)
    if x.dtype == dt.float16:  # for which NumPy looks upwards, also from negative numbers
        x = _where(elementwise("isinf", x), constant(math.nan, x.dtype), x)
    else:
        beyond = _where(elementwise("less", x, 0), constant(-math.inf, x.dtype), beyond)
    return elementwise("subtract", elementwise("nextafter", x, beyond), x)


def _bitwise_count(x: Value) -> Value:
    unsigned = dt.from_numpy(f"uint{x.dtype.bits}")
    bits = emit("bitcast", elementwise("abs", x), unsigned) if x.dtype.kind == "signed" else to_dtype(x, unsigned)
    count = constant(0, unsigned, Kind.SCALAR)
    for place in range(unsigned.bits):
        bit = elementwise("bitwise_and", elementwise("bitwise_right_shift", bits, place), 1)
        count = elementwise("add", count, bit)
    return to_dtype(count, dt.uint8)


def _exponent_of(dtype: dt.DType) -> tuple[dt.DType, int, int]:
    """The signed integer as wide as a float, the bits of its mantissa, and the bias of its exponent."""
    limits = dt.finfo(dtype)
    return (
        dt.from_numpy(f"int{dtype.bits}"),
        -round(math.log2(limits.eps)),
        -round(math.log2(limits.smallest_normal)) + 1,
    )


def _frexp(x: Value) -> tuple[Value, Value]:
    """By the bits; a subnormal number is brought into the range of the others first."""
    integer, mantissa, bias = _exponent_of(x.dtype)
    field = (1 << x.dtype.bits - 1 - mantissa) - 1
    lifted = elementwise("multiply", x, constant(2.0 ** (mantissa + 2), x.dtype))
    small = elementwise("less", elementwise("abs", x), constant(float(dt.finfo(x.dtype).smallest_normal), x.dtype))
    bits = emit("bitcast", _where(small, lifted, x), integer)
    exponent = elementwise("bitwise_and", elementwise("bitwise_right_shift", bits, mantissa), field)
    exponent = elementwise("subtract", to_dtype(exponent, dt.int32), bias - 1)
    exponent = elementwise("subtract", exponent, elementwise("multiply", to_dtype(small, dt.int32), mantissa + 2))
    rest = elementwise("bitwise_and", bits, ~(field << mantissa))
    fraction = emit("bitcast", elementwise("bitwise_or", rest, (bias - 1) << mantissa), x.dtype)
    plain = elementwise("logical_and", elementwise("isfinite", x), elementwise("not_equal", x, 0))
    return _where(plain, fraction, x), _where(plain, exponent, 0)


def _ldexp(x: Value, y: Value) -> Value:
    """By two exact powers of 2, of which only the second may round."""
    integer, mantissa, bias = _exponent_of(x.dtype)

    def power(exponent: Value) -> Value:
        biased = to_dtype(elementwise("add", exponent, bias), integer)
        return emit("bitcast", elementwise("bitwise_left_shift", biased, mantissa), x.dtype)

    fraction, exponent = _frexp(x)
    span = 2 * (bias + mantissa)  # beyond it, everything is 0 or infinite
    total = elementwise("add", to_dtype(elementwise("clip", y, -2 * span, 2 * span), dt.int32), exponent)
    total = elementwise("clip", total, 3 - 2 * bias, bias + 2)
    first = elementwise("clip", total, 2 - bias, bias)
    second = elementwise("subtract", total, first)
    return elementwise("multiply", elementwise("multiply", fraction, power(first)), power(second))


def _with_last(x: Value) -> Value:
    return reshape(x, (*x.shape, 1))


def _matvec(x: Value, y: Value) -> Value:
    product: Value = FUNCTIONS["matmul"](x, _with_last(y))
    return reshape(product, product.shape[:-1])


def _vecmat(x: Value, y: Value) -> Value:
    row = reshape(elementwise("conj", x), (*x.shape[:-1], 1, x.shape[-1]))
    product: Value = FUNCTIONS["matmul"](row, y)
    return reshape(product, (*product.shape[:-2], product.shape[-1]))


MADE: dict[str, Callable[..., Any]] = {
    "bitwise_count": _bitwise_count,
    "divmod": lambda x, y: (elementwise("floor_divide", x, y), elementwise("remainder", x, y)),
    "frexp": _frexp,
    "ldexp": _ldexp,
    "matvec": _matvec,
    "spacing": _spacing,
    "vecmat": _vecmat,
}


# The methods

_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
_ACCUMULATED = {"add": "cumulative_sum", "multiply": "cumulative_prod"}
_DTYPE = ("sum", "prod", "cumulative_sum", "cumulative_prod")  # which take a dtype
_LOOP = ("dtype", "signature", "sig", "casting")  # what chooses a loop


def apply(ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """What a ufunc's method gives; `NotImplementedError` names what isn't there."""
    name = ufunc.__name__
    if method not in _METHODS or not (name in CALLED or name in MADE) or getattr(np, name, None) is not ufunc:
        raise NotImplementedError(f"np.{name}{'' if method == '__call__' else f'.{method}'} isn't there")
    options = {key: value for key, value in options.items() if key != "subok"}
    order = options.pop("order", "K")
    outs = options.pop("out", ())
    for each in outs:
        if isinstance(each, Operators) and type(each) not in (Value, Bounded):
            raise untraced_write(each)
        if each is not None and type(each) not in (Value, Bounded):
            raise NotImplementedError("the argument out isn't there: lamina's functions return new arrays")
    if options.get("where", True) is True:
        options.pop("where", None)
    elif method != "reduce":
        raise NotImplementedError("the argument where isn't there; write np.where(condition, f(x), other)")
    results = _METHODS[method](ufunc, inputs, options)
    if order == "K" and all(each is None for each in outs):
        return results
    several = results if isinstance(results, tuple) else (results,)
    made = tuple(
        FUNCTIONS["astype"](result, result.dtype, order=order, copy=False)
        if out is None
        else FUNCTIONS["assign"](out, result)
        for out, result in zip(outs or (None,) * len(several), several, strict=True)
    )
    return made if isinstance(results, tuple) else made[0]


_COMBINED = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "multiply",
    "divide": "divide",
    "maximum": "max",
    "minimum": "min",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
}

_MODULAR = frozenset({"add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor"})


def _at(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> None:
    """``ufunc.at(a, indices, b)``: each update is applied, also where several are of one element."""
    _refuse(options)
    if ufunc.__name__ not in _COMBINED or type(inputs[0]) is not Value:
        raise NotImplementedError(f"np.{ufunc.__name__}.at isn't there")
    target, key, updates = inputs
    if ufunc.__name__ in _MODULAR and (value := as_value(updates)).kind is Kind.NUMBER:
        updates = with_kind(value, Kind.SCALAR)  # no number is weak here, and what doesn't fit wraps
    write(target, FUNCTIONS["scatter"](target, key, updates, combine=_COMBINED[ufunc.__name__]))


def _refuse(options: dict[str, Any]) -> None:
    for key in options:
        raise NotImplementedError(f"the argument {key} isn't there")


def _called(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    loop: Sequence[Any] = ()
    chosen = {key: options.pop(key) for key in _LOOP if key in options}
    if chosen or name in MADE:
        inputs, loop = _in_loop(ufunc, inputs, **chosen)
    given = {"axis": options.pop("axis")} if name == "vecdot" and "axis" in options else {}
    _refuse(options)
    results = MADE[name](*inputs) if name in MADE else FUNCTIONS[CALLED[name]](*inputs, **given)
    if not isinstance(results, tuple):
        return _finished(results, *loop)
    return tuple(_finished(result, *loop[i : i + 1]) for i, result in enumerate(results))


def _finished(result: Value, *dtype: Any) -> Value:
    return decayed(to_dtype(result, dt.from_numpy(dtype[0])) if dtype else result)


def _in_loop(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    dtype: Any = None,
    signature: Any = None,
    casting: Any = "same_kind",
    sig: Any = None,
) -> tuple[list[Value], Sequence[Any]]:
    """The operands in the dtypes that a loop takes, and the dtypes that it gives."""
    signature = sig if signature is None else signature
    if isinstance(signature, str):
        raise NotImplementedError("a signature in letters isn't there; write a tuple of dtypes, or dtype=")
    values = [as_value(each) for each in inputs]
    things: list[Any] = [thing_of(value) for value in values]
    if all(thing in NUMBER_DTYPES for thing in things):
        things = [value.dtype for value in values]
    asked = [
        np.dtype(bool) if thing is bool else thing.numpy if isinstance(thing, dt.DType) else thing for thing in things
    ]
    if signature is None:
        wanted = None if dtype is None else dt.from_numpy(dtype).numpy
        signature = (*[None] * ufunc.nin, *[wanted] * ufunc.nout)
    elif dtype is not None:
        raise TypeError("cannot specify both signature and dtype")
    loop = ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout), signature=tuple(signature), casting=casting)
    taken = [to_dtype(value, dt.from_numpy(each)) for value, each in zip(values, loop, strict=False)]
    taken = [with_kind(value, Kind.SCALAR) if value.kind is Kind.NUMBER else value for value in taken]
    return taken, loop[ufunc.nin :]


def _reduced(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    name, (x,) = ufunc.__name__, inputs
    options = {"axis": 0} | {
        key: value for key, value in options.items() if key != "initial" or value is not np._NoValue
    }
    target = _REDUCED.get(name)
    dtype = options.pop("dtype", None)
    if dtype is not None and target in _DTYPE:
        options["dtype"] = dtype
    elif dtype is not None:
        x = to_dtype(array_of(x), dt.from_numpy(dtype))
    if target is not None:
        return FUNCTIONS[target](x, **options)
    if name not in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        raise NotImplementedError(f"np.{name}.reduce isn't there")
    value = array_of(x)
    axes, keepdims = axes_of(options.pop("axis"), len(value.shape), of_scalar=True), options.pop("keepdims", False)
    _refuse(options)
    return reduce(f"{name}_reduce", value, axes, keepdims)


def _accumulated(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    name, (x,) = ufunc.__name__, inputs
    if type(x) is Bounded:  # what is beyond a length comes after what is before
        return bounded(_accumulated(ufunc, (x.value,), options), x.lengths)
    axis, dtype = options.pop("axis", 0), options.pop("dtype", None)
    _refuse(options)
    value = array_of(x)
    if not value.shape:
        raise TypeError("cannot accumulate on a scalar")
    if name in _ACCUMULATED:
        return FUNCTIONS[_ACCUMULATED[name]](value, axis=axis, **({} if dtype is None else {"dtype": dtype}))
    if name not in ("maximum", "minimum"):
        raise NotImplementedError(f"np.{name}.accumulate isn't there")
    value = value if dtype is None else to_dtype(value, dt.from_numpy(dtype))
    return emit_in_order(f"cumulative_{name[:3]}", [value], axis_of(axis, len(value.shape)))


def _outer(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    x, y = (as_value(each) for each in inputs)
    if x.shape and y.shape:
        x = reshape(x, (*x.shape, *[1] * len(y.shape)))
    return _called(ufunc, (x, y), options)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _called,
    "reduce": _reduced,
    "accumulate": _accumulated,
    "outer": _outer,
    "at": _at,
}
