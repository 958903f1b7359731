"""Functions with a slow path for rare arguments, in loops that stay SIMD.

To compute both paths for every element would cost what the slow one does. So such a function becomes a function of the
module, one for each number of lanes that is asked for: it computes the common path for all lanes at once, and branches
only if some lane is rare. LLVM's own vectoriser can't see through it: who wants vectors gives vectors.
"""

from collections.abc import Callable
from typing import NamedTuple

from lamina.compilers.native import ir
from lamina.compilers.native.maths.lanes import Mask, Real


class Paths(NamedTuple):
    """A function in parts: common(x), but rare(x) where is_rare(x). `rare` is given scalars only."""

    name: str
    is_rare: Callable[[Real], Mask]
    common: Callable[[Real], Real]
    rare: Callable[[Real], Real]

    def __call__(self, x: Real) -> Real:
        """The call of the module's function for operands of this type, which is written the first time."""
        return x._make(x.builder.call(self._function(x.builder.module, x.kind), [x.value]))

    def _function(self, module: ir.Module, kind: ir.Type) -> ir.Function:
        name = f"lamina.{self.name}.{kind.intrinsic_name}"
        known: ir.Function | None = module.globals.get(name)
        if known is not None:
            return known
        function = ir.Function(module, ir.FunctionType(kind, [kind]), name)
        function.linkage = "internal"
        function.attributes.update(["memory(none)", "nounwind", "willreturn"])

        builder = ir.IRBuilder(function.append_basic_block())
        x = Real(builder, function.args[0])
        is_rare, rare = self.is_rare(x).value, self.rare
        if isinstance(kind, ir.VectorType):
            bits, scalar = ir.IntType(kind.count), self._function(module, kind.element)
            is_rare = builder.icmp_unsigned("!=", builder.bitcast(is_rare, bits), bits(0))
            rare = _of_each(scalar)
        with builder.if_then(is_rare, likely=False):
            builder.ret(rare(x).value)
        builder.ret(self.common(x).value)
        return function


def _of_each(scalar: ir.Function) -> Callable[[Real], Real]:
    """The function that calls a scalar one for each lane."""

    def of_each(x: Real) -> Real:
        builder, result = x.builder, x.value
        for lane in map(ir.IntType(32), range(x.kind.count)):
            called = builder.call(scalar, [builder.extract_element(x.value, lane)])
            result = builder.insert_element(result, called, lane)
        return x._make(result)

    return of_each
