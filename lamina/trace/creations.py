"""NumPy's functions that make arrays, as lamina's: a program's own arrays, traced ones from their start."""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.operators import FUNCTIONS
from lamina.trace.bounded import Bounded
from lamina.trace.build import as_value
from lamina.trace.value import Kind, Value

# The functions' parameters by lamina's names; `None` for one that changes nothing here.
_SHAPED = {"shape": 0, "dtype": "dtype", "order": None, "like": None, "device": None}
_LIKE = {"a": 0, "dtype": "dtype", "order": "order", "subok": None, "shape": "shape", "device": None}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "zeros": _SHAPED,
    "ones": _SHAPED,
    "empty": _SHAPED,
    "full": {"shape": 0, "fill_value": 1, "dtype": "dtype", "order": None, "like": None, "device": None},
    "eye": {"N": 0, "M": "n_cols", "k": "k", "dtype": "dtype", "order": None, "like": None, "device": None},
    "identity": {"n": 0, "dtype": "dtype", "like": None},
    "linspace": {
        "start": 0,
        "stop": 1,
        "num": "num",
        "endpoint": "endpoint",
        "retstep": "retstep",
        "dtype": "dtype",
        "axis": "axis",
        "device": None,
    },
    "zeros_like": _LIKE,
    "ones_like": _LIKE,
    "empty_like": _LIKE,
    "full_like": {"a": 0, "fill_value": 1, **{name: to for name, to in _LIKE.items() if name != "a"}},
}


def _creation(name: str) -> Callable[..., Any]:
    parameters = _PARAMETERS[name]

    def create(*args: Any, **kwargs: Any) -> Any:
        positional: dict[int, Any] = {}
        named: dict[str, Any] = {}
        order = kwargs.get("order", "K")
        for parameter, value in (*zip(parameters, args, strict=False), *kwargs.items()):
            order = value if parameter == "order" else order
            if parameter not in parameters or len(args) > len(parameters):
                raise TypeError(f"{name}() got an unexpected argument {parameter!r}")
            to = parameters[parameter]
            if isinstance(to, int):
                positional[to] = value
            elif to is not None and (to not in ("retstep", "axis") or value):
                named[to] = value
        if "retstep" in named or "axis" in named:
            raise NotImplementedError(f"np.{name} with {', '.join(sorted(named.keys() & {'retstep', 'axis'}))}")
        if isinstance(positional.get(0), int) and name in ("zeros", "ones", "empty", "full"):
            positional[0] = (positional[0],)
        made = FUNCTIONS[name](*(positional[i] for i in sorted(positional)), **named)
        return _in_order(made, order) if "order" in parameters else made

    return create


def arange_(*args: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """``np.arange``."""
    if len(args) == 4:
        *args, dtype = args  # type: ignore[assignment]
    if "start" in kwargs or "stop" in kwargs or "step" in kwargs:
        bounds = [kwargs.get(name, default) for name, default in (("start", 0), ("stop", None), ("step", 1))]
        args = (*args, *bounds[len(args) :])
    return FUNCTIONS["arange"](*args, dtype=dtype)


def array_(thing: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", **kwargs: Any) -> Any:
    """``np.array``."""
    if kwargs:
        raise NotImplementedError(f"np.array with {', '.join(kwargs)} isn't traced yet")
    return _in_order(FUNCTIONS["asarray"](thing, dtype=dtype, copy=copy), order)


def asarray_(thing: Any, dtype: Any = None, order: Any = None, **kwargs: Any) -> Any:
    """``np.asarray``."""
    is_array = isinstance(thing, np.ndarray) or (type(thing) in (Value, Bounded) and thing.kind is Kind.ARRAY)
    if not is_array or not (dtype is None or dt.from_numpy(dtype) == dt.from_numpy(thing.dtype)):
        thing = FUNCTIONS["asarray"](thing, dtype=dtype)
    return _in_order(thing, order)


def _in_order(thing: Any, order: Any) -> Any:
    """The array itself where it is in an order of NumPy's, which may be `None`, else a copy that is."""
    return thing if order in (None, "K") else FUNCTIONS["astype"](thing, thing.dtype, order=order, copy=False)


def ascontiguousarray_(thing: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """``np.ascontiguousarray``."""
    value = as_value(asarray_(thing, dtype, "C"))
    return value if value.shape else value.copy().reshape((1,))


def asfortranarray_(thing: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """``np.asfortranarray``."""
    value = as_value(asarray_(thing, dtype, "F"))
    return value if value.shape else value.copy().reshape((1,))


def copy_(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """``np.copy``."""
    made = FUNCTIONS["asarray"](a)
    return FUNCTIONS["astype"](made, made.dtype, order=order)


CREATIONS: dict[Any, Callable[..., Any]] = {
    np.array: array_,
    np.asarray: asarray_,
    np.ascontiguousarray: ascontiguousarray_,
    np.asfortranarray: asfortranarray_,
    np.asanyarray: asarray_,
    np.copy: copy_,
    np.arange: arange_,
    **{getattr(np, name): _creation(name) for name in _PARAMETERS},
}
