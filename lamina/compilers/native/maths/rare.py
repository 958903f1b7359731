"""Functions with a slow path for rare arguments, in loops that stay SIMD.

A branch would keep LLVM from vectorising the loop around it, and both paths for every element would cost what the slow
one does. So such a function is not written in place. It becomes a function of the module, and with it its *variants*,
which take vectors: they compute the common path for all lanes, and branch only if some lane is rare. The attribute
`vector-function-abi-variant`, which LLVM has for libraries of such functions, tells the vectoriser of them.
"""

from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

from lamina.compilers.native.maths.lanes import Mask, Real

# For vectors of 128, 256 and 512 bits; of numbers of 32 bits fewer, where the loop has wider ones too.
LENGTHS = {32: (2, 4, 8, 16), 64: (2, 4, 8)}

_USED = "llvm.compiler.used"


class Paths(NamedTuple):
    """A function in parts: common(x), but rare(x) where is_rare(x). `rare` is given scalars only."""

    name: str
    is_rare: Callable[[Real], Mask]
    common: Callable[[Real], Real]
    rare: Callable[[Real], Real]

    def __call__(self, x: Real) -> Real:
        """The call of the module's function for operands of this type, which is written the first time."""
        function = self._function(x.builder.module, x.kind)
        if not isinstance(x.kind, ir.VectorType):
            self._offer_variants(function)
        return x._make(x.builder.call(function, [x.value]))

    def _function(self, module: ir.Module, kind: ir.Type) -> ir.Function:
        is_vector = isinstance(kind, ir.VectorType)
        element = kind.element if is_vector else kind
        name = f"lamina.{self.name}.{element.intrinsic_name}{f'.v{kind.count}' if is_vector else ''}"
        if name in module.globals:
            return module.globals[name]
        function = ir.Function(module, ir.FunctionType(kind, [kind]), name)
        function.linkage = "internal"
        # `update`, since `add` refuses attributes that llvmlite does not know by name
        function.attributes.update(["memory(none)", "nounwind", "willreturn"])
        if is_vector:
            scalar = self._function(module, element)
            self._write(function, lambda x: _each(scalar, x))
        else:
            self._write(function, self.rare)
        return function

    def _offer_variants(self, function: ir.Function) -> None:
        if "noinline" in function.attributes:
            return
        kind = function.function_type.return_type
        lengths = LENGTHS[32 if isinstance(kind, ir.FloatType) else 64]
        variants = [self._function(function.module, ir.VectorType(kind, length)) for length in lengths]
        names = (f"_ZGV_LLVM_N{n}v_{function.name}({v.name})" for n, v in zip(lengths, variants, strict=True))
        # inlined it could not be replaced any more
        function.attributes.update(["noinline", f'"vector-function-abi-variant"="{",".join(names)}"'])
        _keep(function.module, [function, *variants])

    def _write(self, function: ir.Function, rare: Callable[[Real], Real]) -> None:
        builder = ir.IRBuilder(function.append_basic_block())
        x = Real(builder, function.args[0])
        is_rare = self.is_rare(x).value
        if isinstance(x.kind, ir.VectorType):
            bits = ir.IntType(x.kind.count)
            is_rare = builder.icmp_unsigned("!=", builder.bitcast(is_rare, bits), bits(0))
        with builder.if_then(is_rare, likely=False):
            builder.ret(rare(x).value)
        builder.ret(self.common(x).value)


def _each(scalar: ir.Function, x: Real) -> Real:
    """The function of each lane."""
    builder, result = x.builder, x.value
    for lane in range(x.kind.count):
        place = ir.IntType(32)(lane)
        result = builder.insert_element(result, builder.call(scalar, [builder.extract_element(x.value, place)]), place)
    return x._make(result)


def _keep(module: ir.Module, functions: list[ir.Function]) -> None:
    """Keep the functions, which nothing calls, until the vectoriser has run."""
    pointer = ir.IntType(8).as_pointer()
    used = module.globals.get(_USED)
    kept = [*(used.initializer.constant if used else ()), *(function.bitcast(pointer) for function in functions)]
    kind = ir.ArrayType(pointer, len(kept))
    if used is None:
        used = ir.GlobalVariable(module, kind, _USED)
        used.linkage, used.section = "appending", "llvm.metadata"
    used.value_type, used.type = kind, kind.as_pointer()
    used.initializer = ir.Constant(kind, kept)
