"""The types of LLVM's language, values of these, and constants."""

import struct
from collections.abc import Sequence
from typing import Any


class Type:
    """A type, which is what is written for it. Called with a number, it is the constant, in every lane of a vector."""

    __slots__ = ("intrinsic_name", "text")

    def __init__(self, text: str, intrinsic_name: str = "") -> None:
        self.text = text
        self.intrinsic_name = intrinsic_name or text  # how the names of LLVM's functions have it

    def __call__(self, number: Any) -> "Constant":
        """A constant."""
        return Constant(self, number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text

    def written(self, number: Any) -> str:
        """A constant of this type."""
        raise TypeError(f"{self} has no constant {number!r}")


class VoidType(Type):
    """Of a function that returns nothing."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("void")


class PointerType(Type):
    """The address of anything."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("ptr", "p0")

    def written(self, number: Any) -> str:
        """Null, the only constant."""
        return "null"


class IntType(Type):
    """Integers of so many bits."""

    __slots__ = ("width",)

    def __init__(self, width: int) -> None:
        super().__init__(f"i{width}")
        self.width = width

    def written(self, number: Any) -> str:
        """A number in decimals."""
        return str(int(number))


class HalfType(Type):
    """Floats of 16 bits, of which no constant is needed."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("half", "f16")


class FloatType(Type):
    """Floats of 32 bits."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("float", "f32")

    def written(self, number: Any) -> str:
        """The bits of the double that is the same number."""
        (number,) = struct.unpack("f", struct.pack("f", number))
        return _bits(number)


class DoubleType(Type):
    """Floats of 64 bits."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("double", "f64")

    def written(self, number: Any) -> str:
        """The bits of the number."""
        return _bits(number)


def _bits(number: float) -> str:
    return f"0x{struct.pack('>d', number).hex()}"


class VectorType(Type):
    """Several elements of a type, in a register."""

    __slots__ = ("count", "element")

    def __init__(self, element: Type, count: int) -> None:
        super().__init__(f"<{count} x {element.text}>", f"v{count}{element.intrinsic_name}")
        self.element = element
        self.count = count

    def written(self, number: Any) -> str:
        """A number in every lane, or a list of those in each."""
        if not isinstance(number, list):
            return f"splat ({self.element.text} {self.element.written(number)})"
        return f"<{', '.join(f'{self.element.text} {self.element.written(each)}' for each in number)}>"


class ArrayType(Type):
    """Several elements of a type, in memory."""

    __slots__ = ()

    def __init__(self, element: Type, count: int) -> None:
        super().__init__(f"[{count} x {element.text}]")


class LiteralStructType(Type):
    """Elements of several types, in memory."""

    __slots__ = ("elements",)

    def __init__(self, elements: Sequence[Type]) -> None:
        super().__init__(f"{{{', '.join(each.text for each in elements)}}}")
        self.elements = elements


class FunctionType:
    """What a function takes and returns."""

    def __init__(self, return_type: Type, args: Sequence[Type]) -> None:
        self.return_type = return_type
        self.args = args


BIT = IntType(1)
WORD = IntType(64)
POINTER = PointerType()


def truth(kind: Type) -> Type:
    """What comparing values of a type gives."""
    return VectorType(BIT, kind.count) if isinstance(kind, VectorType) else BIT


class Value:
    """What an instruction gives: its type, and what is written for it."""

    __slots__ = ("text", "type")

    def __init__(self, kind: Type, text: str) -> None:
        self.type = kind
        self.text = text

    @property
    def operand(self) -> str:
        """Both, as most instructions name it."""
        return f"{self.type.text} {self.text}"


UNDEFINED = object()  # the constant that may be anything


class Constant(Value):
    """A constant of a type: a number, `UNDEFINED`, or a list of the numbers in each lane of a vector."""

    __slots__ = ("constant",)

    def __init__(self, kind: Type, number: Any) -> None:
        super().__init__(kind, "undef" if number is UNDEFINED else kind.written(number))
        self.constant = number
