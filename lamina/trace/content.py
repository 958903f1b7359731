"""What arrays from outside hold, for a program that needs it while it is traced: what was read there is remembered.

A captured array is read when the program runs. Where the program needs its elements earlier, for a shape, an index or a
Python object, they are computed from what it holds now, and the trace holds for as long as it holds the same.
"""

from typing import Any, NamedTuple

import numpy as np

from lamina.evaluator import compile_graph
from lamina.expr import Expr, Graph
from lamina.expr.node import CALLBACKS
from lamina.expr.tree import post_order

_UNKNOWN = CALLBACKS | {"parameter"}


class Content(NamedTuple):
    """An array whose elements a trace has read, and what they were."""

    array: Any
    data: bytes

    def holds(self) -> bool:
        """Whether it holds the same still."""
        return np.asarray(self.array).tobytes() == self.data


def remember(contents: list[Content], array: Any) -> None:
    """Remember what an array holds now, once however often it is read."""
    content = Content(array, np.asarray(array).tobytes())
    if not any(each.array is array and each.data == content.data for each in contents):
        contents.append(content)


def content_of(node: Expr, remembered: list[Content] | None) -> np.ndarray | None:
    """What a node is, if arrays from outside alone decide it, which are `remembered`; `None` otherwise."""
    nodes = post_order(node)
    if any(each.op in _UNKNOWN for each in nodes):
        return None
    if remembered is not None:
        for each in nodes:
            if each.op == "tensor":
                remember(remembered, each.args[0])
    (result,) = compile_graph(Graph((), (node,), (), "content"))()
    return np.asarray(result)
