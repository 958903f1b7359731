"""LLVM's language, written as text: types, constants, functions of blocks, and a builder that appends instructions.

It has what native code needs of `llvmlite.ir`, by the same names, in a fraction of the time: an instruction is a line
as soon as it is made, and nothing looks at it again before LLVM does, which says what is wrong with it. What a block
has computed already is not written again, nor is a sum with 0 or a product with 1.

>>> word = IntType(64)
>>> function = Function(Module(), FunctionType(word, [word]), "f")
>>> b = IRBuilder(function.append_basic_block("entry"))
>>> b.ret(b.add(b.mul(function.args[0], word(3)), word(0)))
>>> print(function)
define i64 @f(i64 %v0) {
entry1:
  %v2 = mul i64 %v0, 3
  ret i64 %v2
}
"""

from lamina.compilers.native.ir.builder import IRBuilder
from lamina.compilers.native.ir.module import Function, Module
from lamina.compilers.native.ir.types import (
    UNDEFINED,
    ArrayType,
    Constant,
    DoubleType,
    FloatType,
    FunctionType,
    HalfType,
    IntType,
    LiteralStructType,
    PointerType,
    Type,
    Value,
    VectorType,
    VoidType,
)

__all__ = [
    "UNDEFINED",
    "ArrayType",
    "Constant",
    "DoubleType",
    "FloatType",
    "Function",
    "FunctionType",
    "HalfType",
    "IRBuilder",
    "IntType",
    "LiteralStructType",
    "Module",
    "PointerType",
    "Type",
    "Value",
    "VectorType",
    "VoidType",
]
