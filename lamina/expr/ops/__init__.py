"""The op table: one row for each primitive operation, by name, with every column a compiler needs.

Rows live in files by family; syntax nodes are on the page of `lamina.expr.node`. A row that lacks a column, or two rows
of one name, fail at import.
"""

from typing import Any

from lamina.expr.node import CROSSINGS, Expr, Source
from lamina.expr.ops import contraction, elementwise, factorization, fourier, indexing, reduction, sorting
from lamina.expr.ops.row import Fact, Family, Op
from lamina.expr.syntax import SYNTAX
from lamina.layout import Layout

__all__ = ["OPS", "Fact", "Family", "Op", "build", "infer"]

OPS: dict[str, Op] = {}
for _chapter in (elementwise, reduction, indexing, sorting, contraction, factorization, fourier):
    for _row in _chapter.ROWS:
        if _row.name in OPS or _row.name in CROSSINGS or not _row.doc:
            raise RuntimeError(f"the op table has two rows named {_row.name!r}, or one without a doc line")
        OPS[_row.name] = _row


def infer(op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """The dtype and shape of a node by its op's rules, which raise for args that don't fit.

    The three leaves ``parameter``, ``constant`` and ``tensor`` carry theirs, so they have no rule.
    """
    if op in SYNTAX:
        return SYNTAX[op](*args)
    row = OPS.get(op)
    if row is None:
        raise ValueError(f"no op is named {op!r}; the ops are {', '.join(sorted((*OPS, *SYNTAX)))}")
    dtype: Any = row.dtype(*args)
    shape: Any = row.shape(*args)
    shapes = shape if isinstance(dtype, tuple) else (shape,)
    if not all(Layout.fits(each) for each in shapes):
        raise ValueError(f"{op}: the result's shape {shape} is beyond the limits of a layout (32 axes, 2**53 elements)")
    return dtype, shape


def build(op: str, *args: Any, source: Source | None = None) -> Expr:
    """A node of an op, its dtype and shape by the op's rules, which raise for args that don't fit.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, (2, 3))
    >>> build("sum", x, (1,))
    <Expr sum: float32[2]>
    """
    return Expr(op, args, *infer(op, args), source)
