"""NumPy's protocols: what a function or ufunc of NumPy means for lamina's arrays and traced values.

`lamina.operators` asks the two functions here, through its table: ``array_ufunc`` and ``array_function``. Where lamina
has a meaning, in `ufuncs` or in the table of functions, it is a call of lamina's functions, and a result is of the kind
that NumPy would give. Where it has none, a traced value is a `NotImplementedError` that names NumPy's function, and
what to write; of arrays that are there, NumPy computes with their elements (and writes into them, where its function
does), and the result is NumPy's.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lamina.array import Array, to_numpy
from lamina.expr.containers import map_leaves
from lamina.numpy_protocol.table import TABLE, by_function
from lamina.operators import FUNCTIONS, Operators, untraced_write
from lamina.trace.bounded import Bounded
from lamina.trace.byte_order import with_byte_order
from lamina.trace.function import boundary, eager
from lamina.trace.lengths import rule_for
from lamina.trace.scope import current
from lamina.trace.value import Value

__all__ = ["TABLE", "array_function", "array_ufunc", "load"]

_INPUTS = (Operators, np.ndarray, np.generic, int, float, complex, list, tuple)


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``__array_ufunc__`` gives; NotImplemented for a stranger among the inputs, or where NumPy is to compute."""
    given = (*inputs, *kwargs.get("out", ()))
    if not all(each is None or isinstance(each, _INPUTS) for each in given):
        return NotImplemented
    from lamina.numpy_protocol import ufuncs  # at the first use: `import lamina` is to be quick

    try:
        return _call(ufunc.__name__, ufuncs.apply, (ufunc, method, inputs, kwargs), {})
    except NotImplementedError:
        if any(type(each) in (Value, Bounded) for each in given):
            raise
        return NotImplemented


def array_function(func: Any, types: Sequence[type], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``__array_function__`` gives; NotImplemented for a stranger among the types."""
    if not all(issubclass(each, (Operators, np.ndarray)) for each in types):
        return NotImplemented
    load()
    is_traced = Value in types or Bounded in types
    name, meaning = by_function().get(func, (_name(func), None))
    if meaning is None and is_traced:
        raise _missing(name, func)
    rule = rule_for(f"np.{name}", args)
    if rule is not None and (result := rule(*args, **kwargs)) is not NotImplemented:
        return result
    if meaning is not None and (is_traced or name not in _WRITES):
        out = kwargs.get("out")
        if type(out) in (Value, Bounded):
            kwargs = {key: value for key, value in kwargs.items() if key != "out"}
            return FUNCTIONS["assign"](out, _call(name, meaning, args, kwargs))
        try:
            return _call(name, meaning, args, kwargs)
        except NotImplementedError:
            if is_traced:
                raise
    return _by_numpy(name, func, args, kwargs)


def load() -> None:
    """Fill the `TABLE`; it is empty until the first of NumPy's functions asks, since `import lamina` is to be quick."""
    from lamina.numpy_protocol import arrangement, counted, numerics, rows, static, writing  # noqa: F401


def index_trick(thing: Any, key: Any) -> Any:
    """``np.mgrid[key]`` and its like, with traced values in the key."""
    from lamina.numpy_protocol import tricks

    return tricks.index_trick(thing, key)


FUNCTIONS["index_trick"] = index_trick
FUNCTIONS["array_ufunc"] = array_ufunc
FUNCTIONS["array_function"] = array_function


def _call(name: str, meaning: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = f"np.{name}"
    with boundary(name):
        return (with_byte_order if current() is not None else eager)(name, meaning, *args, **kwargs)


def _by_numpy(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy computes with the elements of arrays; where it writes into one, that is changed, and returned."""
    arrays: dict[int, tuple[Any, Array]] = {}

    def elements(leaf: Any) -> Any:
        if not isinstance(leaf, Array):
            return leaf
        if current() is not None and (name in _WRITES or "out" in kwargs):
            raise untraced_write(leaf)
        view = to_numpy(leaf).view()
        if leaf.dtype.is_packed:
            view.flags.writeable = False  # it is a copy, so nobody would see what is written
        arrays[id(view)] = view, leaf
        return view

    args, kwargs = map_leaves(elements, (args, kwargs))
    result = func(*args, **kwargs)
    return arrays[id(result)][1] if id(result) in arrays else result


def _name(func: Any) -> str:
    module = getattr(func, "__module__", None) or ""
    return f"{module}.{func.__name__}".removeprefix("numpy.")


_WRITES = frozenset({"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


def _missing(name: str, func: Any) -> NotImplementedError:
    return NotImplementedError(
        f"np.{name} isn't there for traced values; write it with functions that are, or call it at run time: "
        f"lamina.runtime_call(np.{name}, lamina.Spec(dtype, shape), x)"
    )
