"""The traced value: what a function sees in place of an array or a number while it is traced.

A `Value` is a node, the scope it was made in, and which of NumPy's three kinds of value it stands for. It answers
Python's operators and NumPy's methods and protocols through the table of `lamina.operators`, so tracing a function is
calling it. What would need the elements themselves raises an error that says what to write instead.
"""

import functools
import operator
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.errors import ConcretizationError, UntracedAttributeError
from lamina.expr import Expr, describe, value_of
from lamina.expr.tree import nodes_of, post_order
from lamina.layout import Layout
from lamina.operators import FUNCTIONS, KEYS, Operators
from lamina.trace.content import content_of
from lamina.trace.scope import Cell, Note, Scope, current, escaped, user_source

# pairs of a traced integer and the stride by which it moves a layout
Shifts = tuple[tuple["Value", int], ...]
# pairs of an axis and its length, a traced integer: beyond it, the elements are not specified
Lengths = tuple[tuple[int, "Value"], ...]


def _scope_now() -> Scope:
    scope = current()
    if scope is None:
        raise RuntimeError("no scope is being traced")
    return scope


class Kind(Enum):
    """What a value would be in NumPy. Only a number is weak in promotion; results come back as the kind they are."""

    NUMBER = "a Python number"
    SCALAR = "a NumPy scalar"
    ARRAY = "an array"


_NUMBERS = (bool, int, float, complex)
_OF_COMPLEX = frozenset({"add", "subtract", "multiply", "divide", "pow", "equal", "not_equal"})
_ORIGINS = frozenset({"parameter", "tensor", "runtime_call"})


def _operator(name: str, op: str) -> None:
    """Give `Value` an operator that follows Python where numbers alone meet, and NumPy elsewhere."""
    inherited = getattr(Operators, name)
    reflected = name.startswith("__r") and name != "__rshift__"

    @functools.wraps(inherited)
    def operate(self: Value, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        if all(map(_is_number, operands)) or (op in _OF_COMPLEX and _is_complex_with_float(*operands)):
            return FUNCTIONS["number_operator"](op, *operands)
        if op == "conj" and self.kind is Kind.ARRAY and self.dtype.kind != "complex":
            return self
        if name == "__pow__" and self.dtype is dt.bool and _is_two(*others):
            self = FUNCTIONS["astype"](self, dt.int8)  # NumPy squares what has the power 2, and bools as int8
        result = inherited(self, *others)
        if self.code is not None or any(type(other) is Value and other.code is not None for other in others):
            return FUNCTIONS["mixed_operator"](op, result, self, *others)
        return result

    setattr(Value, name, operate)


def _is_number(thing: Any) -> bool:
    return thing.kind is Kind.NUMBER if type(thing) is Value else type(thing) in _NUMBERS


def _is_two(thing: Any) -> bool:
    is_int = _is_number(thing) and (thing.dtype is dt.int64 if type(thing) is Value else type(thing) is int)
    return is_int and operator.index(thing) == 2


def _is_complex_with_float(x: Any, y: Any) -> bool:
    """Whether a Python complex number meets a float64 scalar, which is a Python float too, to its right."""
    if not _is_number(x) or (x.dtype is not dt.complex128 if type(x) is Value else type(x) is not complex):
        return False
    return y.kind is Kind.SCALAR and y.dtype is dt.float64 if type(y) is Value else type(y) is np.float64


def _deciding(node: Expr) -> list[Expr] | None:
    """What decides a result of a ``cond``: the predicates and the same result of each branch, and no other result."""
    if node.op != "elem" or node.args[0].op != "cond":
        return None
    (clauses, otherwise), i = node.args[0].args, node.args[1]
    branches = (*(branch for _, branch in clauses), otherwise)
    return [*(predicate for predicate, _ in clauses), *(nodes_of(value_of(branch))[i] for branch in branches)]


class Pin(BaseException):
    """A number argument's value is needed while tracing: trace again with these params as plain Python numbers.

    No `Exception`, so that a program's own ``except`` clauses let it through.
    """

    def __init__(self, numbers: frozenset[int], value: "Value", wanted: str) -> None:
        super().__init__(numbers, value)
        self.numbers = numbers  # which of the root's numbers
        self.value = value
        self.note = Note("pinned", user_source(), wanted)


class Unroll(BaseException):
    """A staged loop needs what its turns compute, or changes a Python object: it is to be unrolled from its start."""

    def __init__(self, scope: Scope, reason: str) -> None:
        super().__init__(reason)
        self.scope = scope
        self.reason = reason


# What NumPy's arrays have and traced ones don't: what to write instead.
_INSTEAD = {
    "flat": "Use x.reshape(-1), which reads and writes the same elements where x is contiguous",
    **dict.fromkeys(("strides", "flags", "base"), "Use lamina.asarray(x).layout outside of the compiled function"),
    **dict.fromkeys(
        ("ctypes", "data", "tobytes", "tofile", "dump", "dumps"),
        "Use lamina.runtime_call for what needs the bytes, or do it with the result",
    ),
    **dict.fromkeys(("byteswap", "setflags", "setfield", "getfield"), "Do it before the call, to the argument"),
    "resize": "Use np.resize(x, shape), or x.reshape(shape)",
}


class Value(Operators):
    """A traced array or number.

    >>> import lamina
    >>> shown = []
    >>> graph = lamina.trace(lambda x: shown.append(x * 2) or x, lamina.Spec(lamina.float32, (2, 3)))
    >>> shown[0].dtype, shown[0].shape, shown[0].ndim, len(shown[0])
    (lamina.float32, (2, 3), 2, 2)
    """

    __slots__ = (
        "_node",
        "_version",
        "cell",
        "code",
        "codes",
        "dtype",
        "is_frozen",
        "kind",
        "layout",
        "lengths",
        "scope",
        "shape",
        "shifts",
    )

    dtype: DType
    shape: tuple[int, ...]

    def __init__(self, expr: Expr, scope: Scope, kind: Kind = Kind.ARRAY) -> None:
        """The value of a node: an array in memory of its own, or a number or scalar, which has none."""
        self._node: Expr | None = expr
        self._version = expr
        self.scope = scope
        self.kind = kind
        self.dtype = expr.dtype
        self.shape = expr.shape
        self.layout: Layout | None = None
        self.shifts: Shifts = ()
        self.lengths: Lengths = ()
        # of a number that may be Python's or NumPy's: what it is, and what it may be (see `lamina.trace.mixed`)
        self.code: Value | None = None
        self.codes: frozenset[int] = frozenset()
        self.is_frozen = False  # whether NumPy gives it read-only
        self.cell = scope.new_cell(expr) if kind is Kind.ARRAY else None

    @classmethod
    def alias(
        cls,
        cell: Cell,
        layout: Layout | None,
        shifts: "Shifts" = (),
        node: Expr | None = None,
        lengths: "Lengths" = (),
        dtype: DType | None = None,
    ) -> "Value":
        """An array that sees a cell's memory through a layout (`None`: all); `node` if its elements have one now.

        With a dtype, the memory is seen as elements of it, which are what the layout counts.
        """
        memory = _scope_now().read(cell)
        value = cls.__new__(cls)
        value.scope, value.kind, value.dtype = cell.home, Kind.ARRAY, dtype or memory.dtype
        value.cell, value.layout, value.shifts, value.lengths = cell, layout, shifts, lengths
        value.code, value.codes, value.is_frozen = None, frozenset(), False
        value.shape = memory.shape if layout is None else layout.shape
        value._node, value._version = (memory, memory) if node is None and layout is None else (node, memory)
        return value

    def through(
        self,
        layout: Layout | None,
        shifts: "Shifts",
        lengths: "Lengths" = (),
        node: Expr | None = None,
        dtype: DType | None = None,
    ) -> "Value":
        """The same memory seen through another layout, perhaps as another dtype, and read-only where this array is."""
        assert self.cell is not None
        seen = Value.alias(self.cell, layout, shifts, node, lengths, dtype or self.dtype)
        seen.is_frozen = self.is_frozen
        return seen

    @property
    def expr(self) -> Expr:
        """The node of the elements, as the current scope reads them now."""
        if self.cell is None:
            assert self._node is not None
            return self._node
        scope = current()
        if scope is None:
            raise escaped(self._node or self._version, self.scope)
        memory = scope.read(self.cell)
        if memory is not self._version or self._node is None:
            shifts = tuple((scope.lift(by.expr, by.scope), stride) for by, stride in self.shifts)
            lengths = tuple((axis, scope.lift(length.expr, length.scope)) for axis, length in self.lengths)
            recast = () if self.dtype == memory.dtype else (self.dtype,)
            self._node = (
                memory if self.layout is None else scope.emit("view", memory, self.layout, shifts, lengths, *recast)
            )
            self._version = memory
        return self._node

    def __copy__(self) -> Any:
        return self if self.cell is None else FUNCTIONS["asarray"](self, copy=True)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.dtype.nbytes(self.size)

    @property
    def whole_layout(self) -> Layout:
        """Where the elements are in the cell's memory."""
        return Layout.contiguous(self.shape) if self.layout is None else self.layout

    @property
    def is_traced(self) -> bool:
        """Whether the elements are unknown until the compiled function runs."""
        node = self._node if self.cell is None else self.expr
        if node is not None and node.op == "view" and not (self.shifts or self.lengths):
            node = node.args[0]  # what a captured array sees of its memory
        return node is None or node.op not in ("constant", "tensor")

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

    def __hash__(self) -> int:  # type: ignore[override]
        raise TypeError(
            f"unhashable: the elements of {self!r} are unknown while {self.scope.name} is traced, so it can't be the "
            "key of a dictionary or in a set. Use an array of what the dictionary holds, and index it"
        )

    def __getattr__(self, name: str) -> Any:
        if name in _INSTEAD:
            raise UntracedAttributeError(f"a traced array has no attribute {name!r}. {_INSTEAD[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def ravel(self, order: Any = "C") -> Any:
        """The elements in C order (or Fortran's) as one axis: a view of contiguous memory alone, as NumPy's is."""
        return FUNCTIONS["ravel"](self, order)

    def view(self, *dtype: Any, **options: Any) -> "Value":
        """The same memory, seen as elements of another dtype: what is written there is in this array."""
        return FUNCTIONS["view"](self, *dtype, **options)  # type: ignore[no-any-return]

    # What writes in place

    def sort(self, axis: int = -1, kind: Any = None, order: None = None, *, stable: bool | None = None) -> None:
        """Sort the array in place along an axis."""
        FUNCTIONS["setitem"](self, ..., FUNCTIONS["sort"](self, axis=axis))

    def partition(self, kth: Any, axis: int = -1, kind: Any = None, order: None = None) -> None:
        """Put the element of place ``kth`` where it belongs; sorting does."""
        self.sort(axis)

    def fill(self, value: Any) -> None:
        """Make every element this value."""
        FUNCTIONS["setitem"](self, ..., value)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Put values at places of the elements in C order."""
        self.__array_function__(np.put, (Value,), (self, indices, values, mode), {})

    # What needs the elements

    def __bool__(self) -> bool:
        return bool(self.demanded("bool(…)", "lamina.cond, lamina.while_loop or np.where"))

    def __int__(self) -> int:
        return int(self.demanded("int(…)", "x.astype(np.int64)"))

    def __float__(self) -> float:
        return float(self.demanded("float(…)", "x.astype(np.float64)"))

    def __complex__(self) -> complex:
        return complex(self.demanded("complex(…)", "x.astype(np.complex128)"))

    def __index__(self) -> int:
        is_integer = self.dtype.kind in ("signed", "unsigned") or (
            self.kind is Kind.NUMBER and self.dtype.kind == "bool"
        )
        if not is_integer or self.shape:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        wanted, instead = "an index, a length or range(…)", "lamina.fori_loop, or an index through x[i] with x traced"
        return int(self.demanded(wanted, instead))

    # What gives a Python number

    def __round__(self, digits: int | None = None) -> Any:
        if self.kind is Kind.ARRAY:
            raise TypeError("type numpy.ndarray doesn't define __round__ method; write np.round")
        if digits is None:
            return FUNCTIONS["number_operator"]("round", self)
        if self.kind is Kind.NUMBER:
            return FUNCTIONS["number_rounded"](self, operator.index(digits))
        return FUNCTIONS["round"](self, digits)

    def __floor__(self) -> Any:
        return FUNCTIONS["number_operator"]("floor", self)

    def __ceil__(self) -> Any:
        return FUNCTIONS["number_operator"]("ceil", self)

    def __trunc__(self) -> Any:
        return FUNCTIONS["number_operator"]("trunc", self)

    def item(self, *index: Any) -> Any:
        """The element at an index, or the only one, as a Python number."""
        return FUNCTIONS["item"](self, *index)

    def tolist(self) -> Any:
        """The elements as Python numbers, in nested lists."""
        return FUNCTIONS["tolist"](self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        instead = "a NumPy function that lamina has, or lamina.runtime_call"
        array = np.array(self.demanded("a conversion to a NumPy array", instead), dtype)
        array.flags.writeable = False  # what is written there would be lost
        return array

    def __setitem__(self, key: Any, value: Any) -> None:
        FUNCTIONS["setitem"](self, key, value)

    def _write(self, result: Any) -> Any:
        """What an augmented assignment does: an array is written, a number or scalar is bound anew."""
        return result if self.cell is None else FUNCTIONS["assign"](self, result)

    def __dlpack__(self, **options: Any) -> Any:
        return self.demanded("__dlpack__", "lamina.runtime_call").__dlpack__(**options)

    def _origins(self) -> list[tuple[Scope, Expr]]:
        """The params, captured arrays and callbacks behind the elements, each with the scope that it is really of."""
        leaves = (node for node in post_order(self.expr, _deciding) if node.op in _ORIGINS)
        return [self.scope.owner(node) for node in leaves]

    def deciding_numbers(self) -> frozenset[int] | None:
        """Which of the root's numbers decide the elements; `None` where more than these and captured arrays does."""
        origins, root = self._origins(), self.scope.root
        if not all(owner is root and (node in root.numbers or node.op == "tensor") for owner, node in origins):
            return None
        return frozenset(root.numbers.index(node) for _, node in origins if node.op != "tensor")

    def deciding_loop(self) -> Scope | None:
        """A loop that the elements depend on, and that can be unrolled."""
        return next((owner for owner, _ in self._origins() if owner.is_loop and owner.unrolls), None)

    def known(self, wanted: str) -> np.ndarray | None:
        """The elements, where arrays from outside alone decide them; `None` where the arguments do.

        Asks for a restart with the number arguments that decide them, or without the loop that does (for ``wanted``).
        """
        if not self.scope.is_open or current() is None:
            raise escaped(self._node or self._version, self.scope)
        known = content_of(self.expr, self.scope.root.remembered)
        if known is not None:
            return known
        numbers = self.deciding_numbers()
        if numbers:
            raise Pin(numbers, self, wanted)
        loop = self.deciding_loop()
        if loop is not None:
            raise Unroll(loop, f"{wanted} in it needs the number itself")
        return None

    def demanded(self, wanted: str, instead: str) -> Any:
        """The elements, where they are known while tracing; raises `ConcretizationError` where they aren't."""
        known = self.known(wanted)
        if known is not None:
            return known[()]
        made = self.expr.source if self.expr.op != "parameter" else None  # which the caller made
        source = f" (made at {made})" if made else ""
        here = user_source()
        at = "" if here is None or (made and made[:2] == here[:2]) else f" ({here.file}:{here.line})"
        error = ConcretizationError(
            f"{wanted} needs the elements of {self!r}{source}, which are unknown while {self.scope.name} is traced. "
            f"Use {instead}{at}"
        )
        self.scope.root.demand = error
        raise error


for _name, _keys in KEYS.items():
    if _name.startswith("__") and len(_keys) == 1 and _keys[0] not in ("getitem", "matmul"):
        _operator(_name, _keys[0])
for _name in ("conj", "conjugate"):
    _operator(_name, "conj")
