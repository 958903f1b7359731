"""The traced value: what a function sees in place of an array or a number while it is traced.

A `Value` is a node, the scope it was made in, and which of NumPy's three kinds of value it stands for. It answers Python's
operators and NumPy's methods and protocols through the table of `lamina.operators`, so tracing a function is calling it.
What would need the elements themselves raises an error that says what to write instead.
"""

import functools
from collections.abc import Iterator
from enum import Enum
from typing import Any, NoReturn

from lamina.dtype import DType
from lamina.errors import ConcretizationError
from lamina.expr import Expr, describe
from lamina.expr.tree import post_order
from lamina.operators import FUNCTIONS, KEYS, Operators, untraced_write
from lamina.trace.scope import Scope, current, escaped


class Kind(Enum):
    """What a value would be in NumPy. Only a number is weak in promotion; results come back as the kind they are."""

    NUMBER = "a Python number"
    SCALAR = "a NumPy scalar"
    ARRAY = "an array"


_NUMBERS = (bool, int, float, complex)


def _operator(name: str, op: str) -> None:
    """Give `Value` an operator that follows Python where numbers alone meet, and NumPy elsewhere."""
    inherited = getattr(Operators, name)
    reflected = name.startswith("__r") and name != "__rshift__"

    @functools.wraps(inherited)
    def operate(self: Value, *others: Any) -> Any:
        if self.kind is Kind.NUMBER and all(_is_number(other) for other in others):
            operands = (*others, self) if reflected else (self, *others)
            return FUNCTIONS["number_operator"](op, *operands)
        return inherited(self, *others)

    setattr(Value, name, operate)


def _is_number(thing: Any) -> bool:
    return thing.kind is Kind.NUMBER if type(thing) is Value else type(thing) in _NUMBERS


class Pin(BaseException):
    """A number argument's value is needed while tracing: trace again with these params as plain Python numbers.

    No `Exception`, so that a program's own ``except`` clauses let it through.
    """

    def __init__(self, params: frozenset[Expr], value: "Value") -> None:
        super().__init__(params, value)
        self.params = params
        self.value = value


class Value(Operators):
    """A traced array or number.

    >>> import lamina
    >>> shown = []
    >>> graph = lamina.trace(lambda x: shown.append(x * 2) or x, lamina.Spec(lamina.float32, (2, 3)))
    >>> shown[0].dtype, shown[0].shape, shown[0].ndim, len(shown[0])
    (lamina.float32, (2, 3), 2, 2)
    """

    __slots__ = ("expr", "kind", "scope")

    def __init__(self, expr: Expr, scope: Scope, kind: Kind = Kind.ARRAY) -> None:
        self.expr = expr
        self.scope = scope
        self.kind = kind

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.expr.dtype  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, plain integers."""
        return self.expr.shape  # type: ignore[no-any-return]

    @property
    def is_traced(self) -> bool:
        """Whether the elements are unknown until the compiled function runs."""
        return self.expr.op not in ("constant", "tensor")

    @property
    def device(self) -> str:
        """Where the elements are, in the array API's words."""
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> "Value":
        """The same value; ``"cpu"`` is the only device."""
        if device != "cpu":
            raise ValueError(f"to_device: the device must be 'cpu', but it is {device!r}")
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return FUNCTIONS["__array_namespace__"](api_version)

    def __repr__(self) -> str:
        return f"<traced {describe(self.dtype, self.shape)}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator["Value"]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    __hash__ = None  # type: ignore[assignment]

    # What needs the elements

    def __bool__(self) -> bool:
        self._demand("bool(…)", "lamina.cond, lamina.while_loop or np.where")

    def __int__(self) -> int:
        self._demand("int(…)", "x.astype(np.int64)")

    def __float__(self) -> float:
        self._demand("float(…)", "x.astype(np.float64)")

    def __complex__(self) -> complex:
        self._demand("complex(…)", "x.astype(np.complex128)")

    def __index__(self) -> int:
        if self.dtype.kind not in ("signed", "unsigned") or self.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        self._demand("an index, a length or range(…)", "lamina.fori_loop, or an index through x[i] with x traced")

    # What gives a Python number

    def __round__(self, digits: int | None = None) -> Any:
        if self.kind is Kind.ARRAY:
            raise TypeError("type numpy.ndarray doesn't define __round__ method; write np.round")
        if digits is None:
            return FUNCTIONS["number_operator"]("round", self)
        if self.kind is Kind.NUMBER:  # to the nearest decimal number, for which there is no op
            self._demand("round(…, digits)", "np.round")
        return FUNCTIONS["round"](self, digits)

    def __floor__(self) -> Any:
        return FUNCTIONS["number_operator"]("floor", self)

    def __ceil__(self) -> Any:
        return FUNCTIONS["number_operator"]("ceil", self)

    def __trunc__(self) -> Any:
        return FUNCTIONS["number_operator"]("trunc", self)

    def item(self, *index: int) -> NoReturn:
        """A demand for the number itself, which isn't known while tracing."""
        self._demand("item()", "the value itself")

    def tolist(self) -> NoReturn:
        """A demand for the numbers themselves, which aren't known while tracing."""
        self._demand("tolist()", "the value itself")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._demand("a conversion to a NumPy array", "a NumPy function that lamina has, or lamina.runtime_call")

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise untraced_write(self)

    def _write(self, result: Any) -> Any:
        if self.kind is Kind.ARRAY:
            raise untraced_write(self)
        return result  # a number never changes: its name stands for another one from now on

    def __dlpack__(self, **_: Any) -> NoReturn:
        self._demand("__dlpack__", "lamina.runtime_call")

    def _demand(self, wanted: str, instead: str) -> NoReturn:
        """Ask for a restart with the number arguments that decide this value, or raise `ConcretizationError`."""
        if not self.scope.is_open or current() is None:
            raise escaped(self.expr, self.scope)
        leaves = [node for node in post_order(self.expr) if node.op in ("parameter", "tensor")]
        params = {self.scope.origin(node) for node in leaves}
        if params and params <= self.scope.root.numbers:
            raise Pin(frozenset(param for param in params if param is not None), self)
        source = f" (made at {self.expr.source})" if self.expr.source else ""
        error = ConcretizationError(
            f"{wanted} needs the elements of {self!r}{source}, which are unknown while {self.scope.name} is traced. "
            f"Use {instead}"
        )
        self.scope.root.demand = error
        raise error


for _name, _keys in KEYS.items():
    if _name.startswith("__") and len(_keys) == 1 and _keys[0] not in ("getitem", "matmul"):
        _operator(_name, _keys[0])
_operator("conjugate", "conj")
