"""The rules of a graph: ops known, args as their rows say, dtypes and shapes right, scopes closed."""

from collections.abc import Callable
from typing import Any

from lamina.array import Array
from lamina.dtype import DType, fits
from lamina.errors import GraphError
from lamina.expr.graph import Graph
from lamina.expr.node import CROSSINGS, Expr, describe
from lamina.expr.ops import OPS, infer
from lamina.expr.ops.row import ALL, FLOATING, NUMERIC
from lamina.expr.syntax import PARAMS
from lamina.expr.tree import nodes_of, post_order
from lamina.layout import Layout


def check(graph: Graph) -> Graph:
    """The same graph; raises `GraphError`, naming the node and the rule, where it breaks one.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, (3,))
    >>> check(Graph((x,), Expr("sum", (x, (0,)), lamina.float32, (3,))))
    Traceback (most recent call last):
    lamina.errors.GraphError: sum: the node says float32[3], but its args give float32[]
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"check: a lamina.expr.Graph was expected, but got {graph!r}")
    _expect_updates(graph)
    scopes: list[tuple[str, list[Expr] | None, Any]] = [
        (graph.name, list(graph.params), (graph.effects, graph.outputs, graph.updates))
    ]
    seen: dict[Expr, str] = {}
    funs: set[Expr] = set()
    declared: set[Expr] = set()
    while scopes:
        name, params, outputs = scopes.pop()
        own = None if params is None else set(params)
        declared |= own or set()
        if params is not None:
            for position, param in enumerate(params):
                if param.op != "parameter" or param.args != (position,):
                    raise GraphError(
                        f"{name}: param {position} must be a parameter of this position, but it is {param}"
                    )
                _check_node(param)
        for node in post_order(outputs):
            if node.op == "parameter" and (node in declared if own is None else node not in own):
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
    if not _is_result(node.dtype, node.shape):
        raise GraphError(
            f"{node.op}: expected a lamina dtype and a tuple of ints that a layout can have, or tuples of them, "
            f"but the node has {node.dtype!r} and {node.shape!r}"
        )
    params = OPS[node.op].params if node.op in OPS else PARAMS[node.op]
    least = len(params) - (node.op == "view")  # whose dtype is its root's where none is said
    if type(node.args) is not tuple or not least <= len(node.args) <= len(params):
        raise GraphError(
            f"{node.op}: expected the args {params}, in a tuple, but got {len(node.args)} of them: {node.args!r}"
        )
    if node.op in _LEAVES:
        if not _LEAVES[node.op](node.args[0], node):
            raise GraphError(f"{node}: the arg {node.args!r} doesn't fit the node's dtype and shape")
        return
    if node.op in OPS:
        for operand in node._operands:
            if operand.has_several:
                raise GraphError(f"{node.op}: the operand {operand} has several results; read one of them by an elem")
    try:
        expected = infer(node.op, node.args)
    except AttributeError as error:  # a rule asked what is no node for its dtype or shape
        raise GraphError(f"{node.op}: the args {params} are not all of their kinds: {node.args!r}") from error
    except (TypeError, ValueError) as error:
        raise GraphError(f"{node}{f' ({node.source})' if node.source else ''}: {error}") from error
    if expected != (node.dtype, node.shape):
        raise GraphError(
            f"{node.op}: the node says {describe(node.dtype, node.shape)}, but its args give {describe(*expected)}"
        )


def _is_result(dtype: Any, shape: Any) -> bool:
    if type(dtype) is tuple and type(shape) is tuple and len(dtype) == len(shape):
        return all(type(each) is DType for each in dtype) and all(map(_is_shape, shape))
    return type(dtype) is DType and _is_shape(shape)


def _is_shape(shape: Any) -> bool:
    return type(shape) is tuple and all(type(extent) is int for extent in shape) and Layout.fits(shape)


def _expect_updates(graph: Graph) -> None:
    """Each update writes another param or tensor, what that holds in the end being of its own dtype and shape."""
    written: set[Expr] = set()
    for update in graph.updates:
        match update:
            case (Expr() as root, Expr() as node) if root not in written:
                is_memory = root in graph.params or root.op == "tensor"
                if is_memory and (root.dtype, root.shape) == (node.dtype, node.shape):
                    written.add(root)
                    continue
        raise GraphError(
            f"{graph.name}: an update must be a pair of a param or a tensor, each at most once, and a node of its "
            f"dtype and shape, but it is {update!r}"
        )


def _is_position(position: Any, node: Expr) -> bool:
    return type(position) is int and position >= 0


def _is_number(number: Any, node: Expr) -> bool:
    kinds = {bool: ALL, int: NUMERIC, float: FLOATING, complex: frozenset({"complex"})}
    return node.dtype.kind in kinds.get(type(number), ()) and (type(number) is not int or fits(number, node.dtype))


def _is_array(array: Any, node: Expr) -> bool:
    return isinstance(array, Array) and (array.dtype, array.shape) == (node.dtype, node.shape)


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
