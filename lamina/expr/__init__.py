"""What was asked: expression graphs, as a library of their own.

`node` lists every syntax node, `ops` every primitive; `tree` walks them, `check` tests their rules, `text` prints them.
"""

from lamina.expr.check import check
from lamina.expr.compare import equal
from lamina.expr.graph import Graph
from lamina.expr.node import CROSSINGS, Expr, Scoped, Source, describe, effects_of, value_of, with_effects
from lamina.expr.ops import OPS, Fact, Family, Op, build, infer
from lamina.expr.syntax import results_of

__all__ = [
    "CROSSINGS",
    "OPS",
    "Expr",
    "Fact",
    "Family",
    "Graph",
    "Op",
    "Scoped",
    "Source",
    "build",
    "check",
    "describe",
    "effects_of",
    "equal",
    "infer",
    "results_of",
    "value_of",
    "with_effects",
]
