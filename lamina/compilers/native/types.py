"""What a dtype is in LLVM: in a register, in memory, and several at once."""

from typing import Any

from lamina import dtype as dt
from lamina.compilers.native import ir
from lamina.dtype import DType

INDEX = ir.IntType(64)
BYTE = ir.IntType(8)
BIT = ir.IntType(1)
POINTER = ir.PointerType()
STATUS = ir.IntType(32)
STATUS_WORDS = 4  # of what a function notes where it fails: which failure, and up to three values

# What can be computed with. The others are moved as they are, as bits.
_INTEGERS = [dt.DTYPES[f"{sign}int{bits}"] for sign in ("", "u") for bits in (8, 16, 32, 64)]
NARROW = frozenset({dt.float16, dt.bfloat16})  # computed as float32, by `narrow`
COMPUTED = frozenset({dt.bool, dt.float32, dt.float64, dt.complex64, dt.complex128, *_INTEGERS})


def part_of(dtype: DType) -> DType:
    """The dtype of a complex number's parts; any other dtype itself."""
    return dtype.real if dtype.kind == "complex" else dtype


def in_memory(dtype: DType) -> Any:
    """The type of an element in memory; that of what isn't computed with is an integer as wide as NumPy's element."""
    if dtype is dt.float32:
        return ir.FloatType()
    if dtype is dt.float64:
        return ir.DoubleType()
    return ir.IntType(8 * dtype.numpy.itemsize)


def in_register(dtype: DType) -> Any:
    """The type of an element in a register: a bool is one bit there, and a float of 16 bits has 32."""
    if dtype in NARROW:
        return ir.FloatType()
    return BIT if dtype is dt.bool else in_memory(dtype)


def vector(element: Any, lanes: int) -> Any:
    """Several of an element; itself for one."""
    return element if lanes == 1 else ir.VectorType(element, lanes)


def lanes_of(value: Any) -> int:
    """How many elements a value has."""
    return value.type.count if isinstance(value.type, ir.VectorType) else 1


def splat_constant(element: Any, lanes: int, number: Any) -> ir.Constant:
    """A number in every lane."""
    return ir.Constant(vector(element, lanes), number)


def bits_of(number: Any, dtype: DType) -> Any:
    """A Python number as the constant of its dtype's type in a register."""
    if dtype.kind == "float" and dtype in COMPUTED | NARROW:
        return float(dtype.numpy.type(number))
    if dtype is dt.bool:
        return int(bool(number))
    if dtype in COMPUTED:
        return int(number)
    return int.from_bytes(dtype.numpy.type(number).tobytes(), "little")
