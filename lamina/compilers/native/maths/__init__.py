"""Elementary functions as LLVM instructions, for loops that become SIMD.

`MATHS[name](builder, x)` writes the function of that op's name and returns its value, for operands of type float or
double, or vectors of them. The values are within 2 units in the last place of the exact ones, for all arguments; the
docstring of each function says how near it comes. Zeros, infinities and NaN are as C's Annex F and NumPy have them.
Nothing calls a library, and LLVM's vectoriser makes a loop of scalars SIMD. The trigonometric functions have a path for
great arguments and are functions of the module (`rare`): a loop of these is SIMD where the operands are vectors.

A processor without fused multiply-add has them by a call each; results are the same, and slow. The instructions must
not get fast-math flags, since pairs of numbers (`lanes`) are about the very errors that these flags ignore.

The formulas are written out from the sources that each module names; the coefficients of the polynomials are found by
`tests/native/minimax.py`.

>>> from lamina.compilers.native import ir
>>> double = ir.DoubleType()
>>> function = ir.Function(ir.Module(), ir.FunctionType(double, [double]), "f")
>>> builder = ir.IRBuilder(function.append_basic_block())
>>> result = MATHS["exp"](builder, function.args[0])
>>> result.type == double, len(function.blocks)
(True, 1)
"""

from collections.abc import Callable

from lamina.compilers.native import ir
from lamina.compilers.native.maths import exponential, inverse_trigonometric, logarithmic, powers, trigonometric
from lamina.compilers.native.maths.lanes import Real


def _writer(function: Callable[..., Real]) -> Callable[..., ir.Value]:
    def write(builder: ir.IRBuilder, *operands: ir.Value) -> ir.Value:
        return function(*(Real(builder, operand) for operand in operands)).value

    return write


MATHS: dict[str, Callable[..., ir.Value]] = {
    function.__name__: _writer(function)
    for function in (
        exponential.exp,
        exponential.exp2,
        exponential.expm1,
        exponential.sigmoid,
        exponential.sinh,
        exponential.cosh,
        exponential.tanh,
        exponential.erf,
        logarithmic.log,
        logarithmic.log2,
        logarithmic.log10,
        logarithmic.log1p,
        logarithmic.logaddexp,
        logarithmic.logaddexp2,
        logarithmic.asinh,
        logarithmic.acosh,
        logarithmic.atanh,
        trigonometric.sin,
        trigonometric.cos,
        trigonometric.tan,
        inverse_trigonometric.asin,
        inverse_trigonometric.acos,
        inverse_trigonometric.atan,
        inverse_trigonometric.atan2,
        powers.float_power,
        powers.pow,
        powers.sqrt,
        powers.cbrt,
        powers.hypot,
        powers.nextafter,
    )
}
