"""The traversal of expression graphs; see `lamina.expr.tree`, where it lives."""

from lamina.expr.tree import (
    all_nodes,
    apply_args,
    has_hooks,
    nodes_of,
    operands,
    post_order,
    put_args,
    scope_ids,
    substitute,
)

__all__ = [
    "all_nodes",
    "apply_args",
    "has_hooks",
    "nodes_of",
    "operands",
    "post_order",
    "put_args",
    "scope_ids",
    "substitute",
]
