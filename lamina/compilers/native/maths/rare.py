"""Functions with a slow path for rare arguments, in loops that stay SIMD.

To compute both paths for every element would cost what the slow one does. So such a function becomes a function of the
module, one for each number of lanes that is asked for: it computes the common path for all lanes at once, and branches
only if some lane is rare. LLVM's own vectoriser can't see through it: who wants vectors gives vectors.

Of scalars, the next turn of a loop may wait for the result. So they have a short path for near arguments, where the
call is.
"""

from collections.abc import Callable
from typing import NamedTuple

from lamina.compilers.native import ir
from lamina.compilers.native.maths.lanes import Mask, Real


class Paths(NamedTuple):
    """A function in parts: common(x), but rare(x) where is_rare(x). `rare` is given scalars only.

    Where is_near(x), near(x) is common(x) to the last bit, in fewer steps: a scalar, which others may wait for, takes
    them.
    """

    name: str
    is_rare: Callable[[Real], Mask]
    common: Callable[[Real], Real]
    rare: Callable[[Real], Real]
    is_near: Callable[[Real], Mask]
    near: Callable[[Real], Real]

    def __call__(self, x: Real) -> Real:
        """The call of the module's function for operands of this type, which is written the first time."""
        is_vector = isinstance(x.kind, ir.VectorType)
        function = (self._function if is_vector else self._of_scalar)(x.builder.module, x.kind)
        return x._make(x.builder.call(function, [x.value]))

    def _of_scalar(self, module: ir.Module, kind: ir.Type) -> ir.Function:
        function, is_known = _named(module, kind, f"{self.name}.near")
        if not is_known:
            function.attributes.add("alwaysinline")
            builder = ir.IRBuilder(function.append_basic_block())
            x = Real(builder, function.args[0])
            with builder.if_then(self.is_near(x).value):
                builder.ret(self.near(x).value)
            builder.ret(builder.call(self._function(module, kind), [x.value]))
        return function

    def _function(self, module: ir.Module, kind: ir.Type) -> ir.Function:
        function, is_known = _named(module, kind, self.name)
        if is_known:
            return function
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


def _named(module: ir.Module, kind: ir.Type, name: str) -> tuple[ir.Function, bool]:
    """The function of a name for numbers of a type, and whether the module had it already."""
    name = f"lamina.{name}.{kind.intrinsic_name}"
    known: ir.Function | None = module.globals.get(name)
    if known is not None:
        return known, True
    function = ir.Function(module, ir.FunctionType(kind, [kind]), name)
    function.linkage = "internal"
    function.attributes.update(["memory(none)", "nounwind", "willreturn"])
    return function, False


def _of_each(scalar: ir.Function) -> Callable[[Real], Real]:
    """The function that calls a scalar one for each lane."""

    def of_each(x: Real) -> Real:
        builder, result = x.builder, x.value
        for lane in map(ir.IntType(32), range(x.kind.count)):
            called = builder.call(scalar, [builder.extract_element(x.value, lane)])
            result = builder.insert_element(result, called, lane)
        return x._make(result)

    return of_each
