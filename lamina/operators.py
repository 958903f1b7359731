"""Python's operators and NumPy's array methods, written once for every kind of lamina array.

`lamina.array.Array` and the values of a trace are both `Operators`: ``x + y``, ``x.sum(axis=0)``, ``x[1:]`` and ``x.T``
call one function of lamina's public namespace each. Those functions live rooms below this one, so they are found by
name when they are called: `FUNCTIONS` is the table that the ``lamina.api`` room fills. `KEYS` says which function each
operator, method and property uses.

Methods have NumPy's signatures and the functions the array API standard's. An argument is handed on only if it was
given and isn't its default, so a function need not know NumPy's ``out`` or ``where`` unless somebody uses them.
"""

import functools
import inspect
import math
import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, SupportsIndex, TypeVar

import numpy as np

from lamina.dtype import DType
from lamina.errors import AxisError

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""lamina's public functions by their array API names, those of its ``linalg`` part too, and three more:

* ``"getitem"``: ``(x, key)``, indexing;
* ``"dot"``: NumPy's;
* ``"array_ufunc"``: ``(ufunc, method, inputs, kwargs)`` and ``"array_function"``: ``(func, types, args, kwargs)``, what
  NumPy's protocols ask; each may return NotImplemented.
"""

Axis = int | tuple[int, ...] | None
Order = Literal["C", "F", "A", "K"]
_Method = TypeVar("_Method", bound=Callable[..., Any])


def _uses(*keys: str) -> Callable[[_Method], _Method]:
    """Notes which functions a method calls, for `KEYS`."""

    def note(method: _Method) -> _Method:
        method.__dict__["keys"] = keys
        return method

    return note


def untraced_write(written: object) -> NotImplementedError:
    """The error for a write in place, into an array from outside, that a trace would have to remember."""
    return NotImplementedError(
        f"{written!r}, which is no argument of the traced function, was written in place, and such writes aren't "
        "traced; pass the array in as an argument, which is written as NumPy would"
    )


# Operators


def _binary(key: str) -> "Callable[[Operators, object], Any]":
    @_uses(key)
    def operate(self: "Operators", other: object) -> Any:
        return FUNCTIONS[key](self, other) if isinstance(other, _OPERANDS) else NotImplemented

    return operate


def _reflected(key: str) -> "Callable[[Operators, object], Any]":
    @_uses(key)
    def operate(self: "Operators", other: object) -> Any:
        return FUNCTIONS[key](other, self) if isinstance(other, _OPERANDS) else NotImplemented

    return operate


def _in_place(key: str) -> "Callable[[Operators, object], Any]":
    @_uses(key)
    def operate(self: "Operators", other: object) -> Any:
        return self._write(FUNCTIONS[key](self, other)) if isinstance(other, _OPERANDS) else NotImplemented

    return operate


def _unary(key: str) -> "Callable[[Operators], Any]":
    @_uses(key)
    def operate(self: "Operators") -> Any:
        return FUNCTIONS[key](self)

    return operate


# Methods


def _method(key: str, like: _Method, **renamed: str) -> _Method:
    """A method with the signature of ``like``, whose arguments go to the function ``key``.

    Those without a default are handed on by position, the others by keyword, which ``renamed`` may change, unless they
    have their default.
    """
    signature = inspect.signature(like)
    required = [name for name, p in signature.parameters.items() if p.default is p.empty]

    @_uses(key)
    @functools.wraps(like)
    def method(self: "Operators", /, *args: Any, **kwargs: Any) -> Any:
        if not args and not kwargs and len(required) == 1:
            return FUNCTIONS[key](self)
        by_position, by_keyword = [], {}
        for name, value in signature.bind(self, *args, **kwargs).arguments.items():
            if name in required:
                by_position.append(value)
            elif value is not signature.parameters[name].default:
                by_keyword[renamed.get(name, name)] = value
        return FUNCTIONS[key](*by_position, **by_keyword)

    method.__doc__ = f"`lamina.{key}` of this array, with the arguments of NumPy's method."
    return method  # type: ignore[return-value]  # it takes what `like` takes


# The signatures of NumPy's methods, one for each family.


def _plain(self: "Operators", /) -> Any: ...


def _total(
    self: "Operators",
    /,
    axis: Axis = None,
    dtype: object = None,
    out: Any = None,
    keepdims: bool = False,
    initial: object = None,
    where: object = True,
) -> Any: ...


def _extremum(
    self: "Operators",
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: object = None,
    where: object = True,
) -> Any: ...


def _average(
    self: "Operators",
    /,
    axis: Axis = None,
    dtype: object = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: object = True,
) -> Any: ...


def _spread(
    self: "Operators",
    /,
    axis: Axis = None,
    dtype: object = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: object = True,
) -> Any: ...


def _truth(
    self: "Operators", /, axis: Axis = None, out: Any = None, keepdims: bool = False, *, where: object = True
) -> Any: ...


def _arg_extremum(self: "Operators", /, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any: ...


def _astype(
    self: "Operators",
    /,
    dtype: object,
    order: Order = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any: ...


def _clip(self: "Operators", /, min: object = None, max: object = None, out: Any = None) -> Any: ...


def _round(self: "Operators", /, decimals: int = 0, out: Any = None) -> Any: ...


def _dot(self: "Operators", /, b: object, out: Any = None) -> Any: ...


def _repeat(self: "Operators", /, repeats: object, axis: int | None = None) -> Any: ...


def _searchsorted(
    self: "Operators", /, v: object, side: Literal["left", "right"] = "left", sorter: object = None
) -> Any: ...


def _cumulative(key: str) -> Callable[..., Any]:
    @_uses(key, "reshape")
    def method(self: "Operators", axis: int | None = None, dtype: object = None, out: Any = None) -> Any:
        """The running total along an axis; of the elements in C order without one."""
        flat = self if axis is not None or self.ndim == 1 else FUNCTIONS["reshape"](self, (-1,))
        given = {name: value for name, value in (("dtype", dtype), ("out", out)) if value is not None}
        return FUNCTIONS[key](flat, axis=0 if axis is None else axis, **given)

    return method


def _of_diagonal(key: str) -> Callable[..., Any]:
    @_uses(key, "permute_dims")
    def method(self: "Operators", offset: int = 0, axis1: int = 0, axis2: int = 1, **given: Any) -> Any:
        """What the standard's function of the last two axes gives for the axes ``axis1`` and ``axis2``."""
        first, second = _axis(axis1, self.ndim), _axis(axis2, self.ndim)
        if first == second:
            raise ValueError(f"axis1 and axis2 can't be the same, but both are {first}")
        rest = [axis for axis in range(self.ndim) if axis not in (first, second)]
        axes = (*rest, first, second)
        x = self if axes == tuple(range(self.ndim)) else FUNCTIONS["permute_dims"](self, axes)
        given = {name: value for name, value in given.items() if value is not None}
        return FUNCTIONS[key](x, offset=offset, **given)

    return method


def _axis(axis: SupportsIndex, rank: int) -> int:
    number = operator.index(axis)
    if not -rank <= number < rank:
        raise AxisError(f"axis {number} is out of bounds for an array with {rank} axes")
    return number % rank


class Operators:
    """The mixin of everything that is a lamina array.

    A subclass has ``shape``, ``dtype`` and ``_write``. An operand that is no array, NumPy scalar, Python number, list
    or tuple is left to its own reflected operator, so that Python's TypeError follows if it has none.
    """

    __slots__ = ()

    # Arrays compare element by element, so they can't be keys.
    __hash__ = None  # type: ignore[assignment]

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The type of the elements."""

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @abstractmethod
    def _write(self, result: Any) -> Any:
        """What an operator in place leaves under the name of this array, given the result that is to be written to it.

        That is the array itself where it holds its elements, and the result where it is a number, which never changes.
        """

    # fmt: off
    __add__       = _binary("add")
    __sub__       = _binary("subtract")
    __mul__       = _binary("multiply")
    __truediv__   = _binary("divide")
    __floordiv__  = _binary("floor_divide")
    __mod__       = _binary("remainder")
    __pow__       = _binary("pow")
    __matmul__    = _binary("matmul")
    __and__       = _binary("bitwise_and")
    __or__        = _binary("bitwise_or")
    __xor__       = _binary("bitwise_xor")
    __lshift__    = _binary("bitwise_left_shift")
    __rshift__    = _binary("bitwise_right_shift")
    __radd__      = _reflected("add")
    __rsub__      = _reflected("subtract")
    __rmul__      = _reflected("multiply")
    __rtruediv__  = _reflected("divide")
    __rfloordiv__ = _reflected("floor_divide")
    __rmod__      = _reflected("remainder")
    __rpow__      = _reflected("pow")
    __rmatmul__   = _reflected("matmul")
    __rand__      = _reflected("bitwise_and")
    __ror__       = _reflected("bitwise_or")
    __rxor__      = _reflected("bitwise_xor")
    __rlshift__   = _reflected("bitwise_left_shift")
    __rrshift__   = _reflected("bitwise_right_shift")
    __iadd__      = _in_place("add")
    __isub__      = _in_place("subtract")
    __imul__      = _in_place("multiply")
    __itruediv__  = _in_place("divide")
    __ifloordiv__ = _in_place("floor_divide")
    __imod__      = _in_place("remainder")
    __ipow__      = _in_place("pow")
    __imatmul__   = _in_place("matmul")
    __iand__      = _in_place("bitwise_and")
    __ior__       = _in_place("bitwise_or")
    __ixor__      = _in_place("bitwise_xor")
    __ilshift__   = _in_place("bitwise_left_shift")
    __irshift__   = _in_place("bitwise_right_shift")
    __eq__        = _binary("equal")
    __ne__        = _binary("not_equal")
    __lt__        = _binary("less")
    __le__        = _binary("less_equal")
    __gt__        = _binary("greater")
    __ge__        = _binary("greater_equal")
    __neg__       = _unary("negative")
    __pos__       = _unary("positive")
    __abs__       = _unary("abs")
    __invert__    = _unary("bitwise_invert")

    real          = property(_unary("real"))
    imag          = property(_unary("imag"))
    mT            = property(_unary("matrix_transpose"))

    sum           = _method("sum", like=_total)
    prod          = _method("prod", like=_total)
    max           = _method("max", like=_extremum)
    min           = _method("min", like=_extremum)
    mean          = _method("mean", like=_average)
    var           = _method("var", like=_spread, ddof="correction")
    std           = _method("std", like=_spread, ddof="correction")
    any           = _method("any", like=_truth)
    all           = _method("all", like=_truth)
    argmax        = _method("argmax", like=_arg_extremum)
    argmin        = _method("argmin", like=_arg_extremum)
    cumsum        = _cumulative("cumulative_sum")
    cumprod       = _cumulative("cumulative_prod")
    astype        = _method("astype", like=_astype)
    clip          = _method("clip", like=_clip)
    round         = _method("round", like=_round)
    dot           = _method("dot", like=_dot)
    repeat        = _method("repeat", like=_repeat)
    searchsorted  = _method("searchsorted", like=_searchsorted)
    conj          = _method("conj", like=_plain)
    conjugate     = _method("conj", like=_plain)
    nonzero       = _method("nonzero", like=_plain)
    diagonal      = _of_diagonal("diagonal")
    trace         = _of_diagonal("trace")
    # fmt: on

    # Those whose arguments differ from the function's.

    @_uses("getitem")
    def __getitem__(self, key: Any) -> Any:
        return FUNCTIONS["getitem"](self, key)

    @_uses("equal", "any")
    def __contains__(self, value: object) -> bool:
        return bool(FUNCTIONS["any"](FUNCTIONS["equal"](self, value)))

    @_uses("floor_divide", "remainder")
    def __divmod__(self, other: object) -> Any:
        return (self // other, self % other) if isinstance(other, _OPERANDS) else NotImplemented

    @_uses("floor_divide", "remainder")
    def __rdivmod__(self, other: object) -> Any:
        return (other // self, other % self) if isinstance(other, _OPERANDS) else NotImplemented

    @property
    @_uses("permute_dims")
    def T(self) -> Any:
        """The array with its axes in reverse."""
        return FUNCTIONS["permute_dims"](self, tuple(range(self.ndim))[::-1])

    @_uses("permute_dims")
    def transpose(self, *axes: Any) -> Any:
        """The array with its axes in this order, given as a tuple or one by one; in reverse without any."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], SupportsIndex) else axes or None
        return self.T if order is None else FUNCTIONS["permute_dims"](self, tuple(order))

    @_uses("permute_dims")
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex, /) -> Any:
        """The array with two axes exchanged."""
        axes = list(range(self.ndim))
        first, second = _axis(axis1, self.ndim), _axis(axis2, self.ndim)
        axes[first], axes[second] = second, first
        return FUNCTIONS["permute_dims"](self, tuple(axes))

    @_uses("reshape", "permute_dims")
    def reshape(self, *shape: Any, order: Order = "C", copy: bool | None = None) -> Any:
        """The elements in the same order in another shape, given as a tuple or one by one; one extent may be -1."""
        extents = shape[0] if len(shape) == 1 and not isinstance(shape[0], SupportsIndex) else shape
        given = {} if copy is None else {"copy": copy}
        if order == "F":
            return FUNCTIONS["reshape"](self.T, tuple(extents)[::-1], **given).T
        if order != "C":
            raise ValueError(f'order must be "C" or "F", but got {order!r}: a lamina array has no order of its own')
        return FUNCTIONS["reshape"](self, tuple(extents), **given)

    @_uses("reshape", "permute_dims")
    def ravel(self, order: Order = "C") -> Any:
        """The elements in C order (or Fortran's) as one axis."""
        return self.reshape(-1, order=order)

    @_uses("reshape", "permute_dims")
    def flatten(self, order: Order = "C") -> Any:
        """A copy of the elements in C order (or Fortran's) as one axis."""
        return self.reshape(-1, order=order, copy=True)

    @_uses("squeeze")
    def squeeze(self, axis: Axis = None) -> Any:
        """The array without its axes of extent 1, or without those given."""
        ones = tuple(axis for axis, extent in enumerate(self.shape) if extent == 1)
        return FUNCTIONS["squeeze"](self, axis=ones if axis is None else axis)

    @_uses("astype")
    def copy(self, order: Order = "C") -> Any:
        """An array of the same elements in memory of its own, in an order of NumPy's."""
        return FUNCTIONS["astype"](self, self.dtype, order=order)

    @_uses("take", "reshape")
    def take(self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise") -> Any:
        """The elements at these indices along an axis; of the elements in C order without one."""
        x = self if axis is not None else self.reshape(-1)
        given = {n: v for n, v, default in (("out", out, None), ("mode", mode, "raise")) if v is not default}
        return FUNCTIONS["take"](x, indices, axis=0 if axis is None else axis, **given)

    @_uses("argsort", "reshape")
    def argsort(
        self, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
    ) -> Any:
        """The indices that sort the array along an axis. Every sort is stable, whatever ``kind`` says."""
        if order is not None:
            raise ValueError("order names fields of a structured dtype, which lamina has not")
        x = self if axis is not None else self.reshape(-1)
        return FUNCTIONS["argsort"](x, axis=-1 if axis is None else axis)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """NumPy's functions on elements, and the operators of NumPy arrays that meet this one."""
        if method == "__call__" and not kwargs:
            if ufunc in _OPERATORS:
                return FUNCTIONS[_OPERATORS[ufunc]](*inputs)
            if ufunc is np.divmod:
                return FUNCTIONS["floor_divide"](*inputs), FUNCTIONS["remainder"](*inputs)
        hook = FUNCTIONS.get("array_ufunc")
        return NotImplemented if hook is None else hook(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's other functions."""
        hook = FUNCTIONS.get("array_function")
        return NotImplemented if hook is None else hook(func, types, args, kwargs)


_OPERANDS = (Operators, np.ndarray, np.generic, int, float, complex, list, tuple)

# What the binary operators of np.ndarray call.
_OPERATORS: dict[np.ufunc, str] = {
    np.add: "add",
    np.subtract: "subtract",
    np.multiply: "multiply",
    np.divide: "divide",
    np.floor_divide: "floor_divide",
    np.remainder: "remainder",
    np.power: "pow",
    np.matmul: "matmul",
    np.bitwise_and: "bitwise_and",
    np.bitwise_or: "bitwise_or",
    np.bitwise_xor: "bitwise_xor",
    np.left_shift: "bitwise_left_shift",
    np.right_shift: "bitwise_right_shift",
    np.equal: "equal",
    np.not_equal: "not_equal",
    np.less: "less",
    np.less_equal: "less_equal",
    np.greater: "greater",
    np.greater_equal: "greater_equal",
}


def _keys() -> dict[str, tuple[str, ...]]:
    found = {}
    for name, member in vars(Operators).items():
        function: Any = member.fget if isinstance(member, property) else member
        if keys := getattr(function, "keys", None):
            found[name] = keys
            function.__name__, function.__qualname__ = name, f"Operators.{name}"
    return found


KEYS = _keys()
"""The functions that each operator, method and property calls.

>>> KEYS["__rsub__"], KEYS["T"], KEYS["__divmod__"]
(('subtract',), ('permute_dims',), ('floor_divide', 'remainder'))
"""
