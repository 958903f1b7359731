"""What the syntax nodes of `lamina.expr.node` give: the dtype and shape of each by its args, with errors like rows'."""

import math
from collections.abc import Callable
from typing import Any

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.expr.containers import leaves_of
from lamina.expr.node import Expr, describe, value_of
from lamina.expr.tree import nodes_of
from lamina.layout import Layout
from lamina.layout.move import Movement

Result = tuple[Any, Any]


def results_of(container: Any) -> Result:
    """The dtype and shape of a bare leaf; tuples of them, in leaf order, of a container's leaves.

    Leaves are nodes, or anything with a ``dtype`` and a ``shape``.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, (2,))
    >>> results_of(x) == (lamina.float32, (2,)), results_of((x,)) == ((lamina.float32,), ((2,),))
    (True, True)
    """
    container = value_of(container)
    if hasattr(container, "dtype") and hasattr(container, "shape"):
        return container.dtype, tuple(container.shape) if not isinstance(container.dtype, tuple) else container.shape
    leaves = leaves_of(container)
    return tuple(leaf.dtype for leaf in leaves), tuple(tuple(leaf.shape) for leaf in leaves)


def _expect_predicate(name: str, predicate: Any) -> None:
    if type(predicate) is not Expr or predicate.dtype != dt.bool or predicate.shape != ():
        came = describe(predicate.dtype, predicate.shape) if type(predicate) is Expr else repr(predicate)
        raise TypeError(f"{name}: a predicate must be bool[], but it is {came}")


def _expect_results(name: str, expected: Result, came: Result) -> Result:
    if expected != came:
        raise TypeError(f"{name}: expected {describe(*expected)}, but got {describe(*came)}")
    return expected


def _expect(op: str, param: str, arg: Any, kind: Any) -> None:
    if not isinstance(arg, kind):
        raise TypeError(f"{op}: {param} must be of the class {kind.__name__}, but it is {arg!r} ({type(arg).__name__})")


def _elem(node: Expr, i: int) -> Result:
    _expect("elem", "node", node, Expr)
    if not node.has_several or type(i) is not int or not 0 <= i < len(node.dtype):
        raise ValueError(f"elem: {node} has no result {i!r}")
    return node.dtype[i], node.shape[i]


def _metadata(expr: Expr, note: Any) -> Result:
    _expect("metadata", "the note", note, dict)
    return expr.dtype, expr.shape


def _fun(params: Any, body: Any, name: str) -> Result:
    nodes_of(params)
    _expect("fun", "name", name, str)
    return results_of(body)


def _call(fun: Expr, args: Any) -> Result:
    if type(fun) is not Expr or fun.op != "fun":
        raise TypeError(f"call: expected a fun, but got {fun!r}")
    params, body, name = fun.args
    expected, came = [(n.dtype, n.shape) for n in nodes_of(params)], [(n.dtype, n.shape) for n in nodes_of(args)]
    if expected != came:
        raise TypeError(f"call of {name}: the params are {expected}, but the args are {came}")
    return results_of(body)


def _while(initial: Any, arg: Any, condition: Any, body: Any) -> Result:
    carry = results_of(initial)
    _expect_results("while: arg", carry, results_of(arg))
    _expect_results("while: body", carry, results_of(body))
    _expect_predicate("while: condition", value_of(condition))
    return carry


def _block(struct: Any, in_args: Any, default: Any, callback: Any) -> Result:
    return results_of(default)


def _cond(clauses: Any, otherwise: Any) -> Result:
    result = results_of(otherwise)
    if not clauses:
        raise ValueError("cond: expected at least one clause")
    for clause in clauses:
        if not isinstance(clause, tuple) or len(clause) != 2:
            raise TypeError(f"cond: a clause must be a pair (predicate, value), but it is {clause!r}")
        predicate, value = clause
        _expect_predicate("cond", value_of(predicate))
        _expect_results("cond: a branch", result, results_of(value))
    return result


def _runtime_call(args: Any, callback: Any, template: Any, options: Any) -> Result:
    _expect("runtime_call", "callback", callback, Callable)
    _expect("runtime_call", "options", options, dict)
    return results_of(template)


def _hook(value: Any, name: str, callback: Any) -> Result:
    _expect("hook", "name", name, str)
    if callback is not None:
        _expect("hook", "callback", callback, Callable)
    return results_of(value)


def _check(predicate: Any, exception: Any, message: str) -> Result:
    _expect_predicate("check", predicate)
    kind = exception if isinstance(exception, type) else type(exception)
    if not issubclass(kind, BaseException):
        raise TypeError(f"check: expected an exception or a class of them, but got {exception!r}")
    _expect("check", "message", message, str)
    return dt.bool, ()


def _move(x: Expr, movement: Any) -> Result:
    _expect("move", "movement", movement, Movement)
    return x.dtype, movement.fit(x.shape)[0]


def _expect_view(name: str, root: Expr, layout: Layout, shifts: Any, lengths: Any, dtype: Any) -> None:
    _expect(name, "layout", layout, Layout)
    _expect(name, "dtype", dtype, DType)
    if dtype != root.dtype and (dtype.is_packed or root.dtype.is_packed):
        raise TypeError(f"{name}: memory of {root.dtype} can't be seen as {dtype}: elements are narrower than a byte")
    _expect(name, "shifts", shifts, tuple)
    _expect(name, "lengths", lengths, tuple)
    for pair in shifts:
        if not isinstance(pair, tuple) or len(pair) != 2 or type(pair[0]) is not Expr or type(pair[1]) is not int:
            raise TypeError(f"{name}: a shift must be a pair (node, stride), but it is {pair!r}")
        _expect_integer(name, "a shift", pair[0])
    axes = []
    for pair in lengths:
        if not isinstance(pair, tuple) or len(pair) != 2 or type(pair[0]) is not int or type(pair[1]) is not Expr:
            raise TypeError(f"{name}: a length must be a pair (axis, node), but it is {pair!r}")
        _expect_integer(name, "a length", pair[1])
        axes.append(pair[0])
    if sorted(set(axes)) != axes or any(not 0 <= axis < len(layout.shape) for axis in axes):
        raise ValueError(f"{name}: lengths are of increasing axes below {len(layout.shape)}, but these are of {axes}")
    # shifts move it at run time, and lengths cut it: what stays is how far it reaches
    least = Layout([1 if i in axes and n else n for i, n in enumerate(layout.shape)], layout.strides, layout.offset)
    elements = math.prod(root.shape) * root.dtype.numpy.itemsize // dtype.numpy.itemsize
    low, high = least.span
    if high - (low if shifts else 0) > elements:
        raise ValueError(f"{name}: the layout {layout} reaches beyond the {elements} elements of its root")


def _expect_integer(name: str, what: str, node: Expr) -> None:
    if node.shape != () or node.dtype.kind not in ("signed", "unsigned"):
        raise TypeError(f"{name}: {what} must be one integer, but it is {describe(node.dtype, node.shape)}")


def _view(root: Expr, layout: Layout, shifts: Any, lengths: Any, dtype: Any = None) -> Result:
    seen = root.dtype if dtype is None else dtype
    _expect_view("view", root, layout, shifts, lengths, seen)
    return seen, layout.shape


def _update(root: Expr, layout: Layout, shifts: Any, lengths: Any, value: Expr) -> Result:
    _expect("update", "value", value, Expr)
    _expect_view("update", root, layout, shifts, lengths, value.dtype)
    if not layout.is_distinct:
        raise ValueError(f"update: two indices of the layout {layout} reach one element; expected a distinct layout")
    _expect_results("update", (value.dtype, layout.shape), (value.dtype, value.shape))
    return root.dtype, root.shape


SYNTAX: dict[str, Callable[..., Result]] = {
    "elem": _elem,
    "metadata": _metadata,
    "fun": _fun,
    "call": _call,
    "while": _while,
    "block": _block,
    "cond": _cond,
    "runtime_call": _runtime_call,
    "hook": _hook,
    "check": _check,
    "move": _move,
    "view": _view,
    "update": _update,
}

PARAMS: dict[str, tuple[str, ...]] = {
    "parameter": ("position",),
    "constant": ("number",),
    "tensor": ("array",),
    **{op: rule.__code__.co_varnames[: rule.__code__.co_argcount] for op, rule in SYNTAX.items()},
}
"""The names of the args of each syntax node."""
