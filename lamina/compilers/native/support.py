"""Which ops have native code, for which dtypes."""

from lamina.compilers.native import pairs, scalar
from lamina.compilers.native.maths import MATHS
from lamina.compilers.native.types import COMPUTED, NARROW
from lamina.expr import Expr
from lamina.expr.tree import operands
from lamina.program.record import COMBINE

# What `lamina.program` lowers to loads, stores and reductions; and what only moves elements.
_LOWERED = frozenset({"where", "cast", "bitcast", "iota", "matmul", "scatter", "argmax", "argmin"})
_MOVES = frozenset({"copy", "where"})
# A number of 16 bits isn't that of float32, or the evaluator rounds it once for several updates.
_OF_ITS_BITS = frozenset({"nextafter", "scatter"})


def is_native(node: Expr) -> bool:
    """Whether a node's op has native code for its dtypes."""
    dtypes = [node.dtype, *(each.dtype for each in operands(node))]
    if not (COMPUTED if node.op in _OF_ITS_BITS else COMPUTED | NARROW).issuperset(dtypes):
        return node.op in _MOVES or (node.op == "bitcast" and node.dtype.kind != "bool")
    if any(dtype.kind == "complex" for dtype in dtypes):
        return node.op in pairs.ROWS or node.op in ("where", "cast", "sum", "matmul")
    if node.op in MATHS and node.dtype.kind != "float":
        return node.op == "pow"
    return node.op in scalar.ROWS or node.op in COMBINE or node.op in _LOWERED
