"""The rules of a graph: ops known, args as their rows say, dtypes and shapes right, scopes closed."""

from collections.abc import Callable
from typing import Any

from lamina.errors import GraphError
from lamina.expr.graph import Graph
from lamina.expr.node import CROSSINGS, Expr, describe
from lamina.expr.ops import OPS, infer
from lamina.expr.ops.row import ALL, FLOATING, NUMERIC
from lamina.expr.tree import nodes_of, post_order


def check(graph: Graph) -> Graph:
    """The same graph; raises `GraphError`, naming the node and the rule, where it breaks one.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, (3,))
    >>> check(Graph((x,), Expr("sum", (x, (0,)), lamina.float32, (3,))))
    Traceback (most recent call last):
    lamina.errors.GraphError: sum: the node says float32[3], but its args give float32[]
    """
    scopes: list[tuple[str, list[Expr] | None, Any]] = [
        (graph.name, list(graph.params), (graph.effects, graph.outputs, graph.updates))
    ]
    seen: dict[Expr, str] = {}
    funs: set[Expr] = set()
    while scopes:
        name, params, outputs = scopes.pop()
        own = None if params is None else set(params)
        if params is not None:
            for position, param in enumerate(params):
                if param.op != "parameter" or param.args != (position,):
                    raise GraphError(
                        f"{name}: param {position} must be a parameter of this position, but it is {param}"
                    )
        for node in post_order(outputs):
            if node.op == "parameter" and own is not None and node not in own:
                raise GraphError(f"{name}: uses {node}, a parameter of another scope; pass it in as an argument")
            if node.op not in ("parameter", "constant", "tensor", "fun"):
                owner = seen.setdefault(node, name)
                if owner != name:
                    raise GraphError(f"{name}: uses {node} of the scope {owner}; pass it in as an argument")
            _check_node(node)
            if node.op == "fun":  # which any scope may use, and is in none
                if node in funs:
                    continue
                funs.add(node)
            scopes.extend(_inner_scopes(name, node))
    return graph


def _check_node(node: Expr) -> None:
    if node.op not in OPS and node.op not in CROSSINGS:
        raise GraphError(f"no op is named {node.op!r}; the ops are {', '.join(sorted((*OPS, *CROSSINGS)))}")
    if node.op in _LEAVES:
        if len(node.args) != 1 or not _LEAVES[node.op](node.args[0], node):
            raise GraphError(f"{node}: the arg {node.args!r} doesn't fit the node's dtype and shape")
        return
    if node.op in OPS and len(node.args) != len(OPS[node.op].params):
        raise GraphError(f"{node.op}: expected the args {OPS[node.op].params}, but got {len(node.args)} of them")
    try:
        expected = infer(node.op, node.args)
    except (TypeError, ValueError, AttributeError) as error:
        raise GraphError(f"{node}{f' ({node.source})' if node.source else ''}: {error}") from error
    if expected != (node.dtype, node.shape):
        raise GraphError(
            f"{node.op}: the node says {describe(node.dtype, node.shape)}, but its args give {describe(*expected)}"
        )


def _is_position(position: Any, node: Expr) -> bool:
    return type(position) is int and position >= 0


def _is_number(number: Any, node: Expr) -> bool:
    kinds = {bool: ALL, int: NUMERIC, float: FLOATING, complex: frozenset({"complex"})}
    return node.dtype.kind in kinds.get(type(number), ())


def _is_array(array: Any, node: Expr) -> bool:
    return (array.dtype, tuple(array.shape)) == (node.dtype, node.shape)


_LEAVES: dict[str, Callable[[Any, Expr], bool]] = {
    "parameter": _is_position,
    "constant": _is_number,
    "tensor": _is_array,
}


def _expect_block_params(node: Expr) -> None:
    """A block's default has no list of its params: each must be an in_arg of that position."""
    given = node._operands
    for param in post_order(node.args[2]):
        if param.op != "parameter":
            continue
        position = param.args[0]
        if position >= len(given) or (given[position].dtype, given[position].shape) != (param.dtype, param.shape):
            raise GraphError(
                f"block: the default's {param} at position {position} is no in_arg; those are {list(given)}"
            )


def _inner_scopes(name: str, node: Expr) -> list[tuple[str, list[Expr] | None, Any]]:
    if node.op == "while":
        _, arg, condition, body = node.args
        inner = f"{name}, while {node.id}"
        return [(inner, nodes_of(arg), (condition, body))]
    if node.op == "fun":
        params, body, fun = node.args
        return [(f"fun {fun} {node.id}", nodes_of(params), body)]
    if node.op == "block":
        _expect_block_params(node)
        return [(f"{name}, block {node.id}", None, node.args[2])]
    return []
