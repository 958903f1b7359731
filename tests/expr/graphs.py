"""Graphs for tests: one of each syntax node with its order, and graphs that are deep, wide and shared."""

import random

import lamina
from lamina.expr import Expr, build
from lamina.layout import Layout, move

F = lamina.float64
INT = lamina.int64


def param(position: int = 0, dtype=F, shape=()) -> Expr:
    return Expr("parameter", (position,), dtype, shape)


def constant(number, dtype=F) -> Expr:
    return Expr("constant", (number,), dtype, ())


def sin(x: Expr) -> Expr:
    return build("sin", x)


def add(x: Expr, y: Expr) -> Expr:
    return build("add", x, y)


def less(x: Expr, y: Expr) -> Expr:
    return build("less", x, y)


def cond(*args) -> Expr:
    """``cond(p, a, q, b, otherwise)``."""
    return build("cond", tuple(zip(args[:-1:2], args[1::2], strict=True)), args[-1])


def while_(*initial: Expr) -> Expr:
    """A loop that adds 1 to its first carry while that is below 3."""
    arg = tuple(param(i, node.dtype, node.shape) for i, node in enumerate(initial))
    return build("while", initial, arg, less(arg[0], constant(3.0)), (add(arg[0], constant(1.0)), *arg[1:]))


def syntax_nodes() -> dict[str, tuple[Expr, list[Expr]]]:
    """For each syntax node one of its kind, and the order that it must have."""
    x, y, z = param(0), param(1), param(2)
    several = while_(x, y)
    vector = param(0, F, (6,))
    i = param(1, INT, ())
    p, q = less(x, y), less(y, z)
    a, b, c = sin(x), sin(y), sin(z)
    inner = param(0)
    fun = build("fun", (inner,), sin(inner), "f")
    noted = sin(z)
    block_inner = param(0)
    options = {"names": ["a", None], "size": 3}
    layout = Layout((2,), (1,), 1)
    row = build("view", vector, layout, (), ())
    spec = lamina.Spec(F, (2,))
    return {
        "parameter": (x, [x]),
        "constant": (k := constant(2.0), [k]),
        "tensor": (t := Expr("tensor", (lamina.asarray([1.0]),), F, (1,)), [t]),
        "elem": (e := build("elem", several, 1), [x, y, several, e]),
        "metadata": (m := build("metadata", a, {"note": noted}), [x, a, m]),
        "fun": (fun, [fun]),
        "call": (n := build("call", fun, (b,)), [fun, y, b, n]),
        "while": (several, [x, y, several]),
        "block": (
            n := build("block", "name", (b, options, [a, 5]), sin(block_inner), None),
            [y, b, x, a, n],
        ),
        "cond": (n := cond(p, a, q, b, c), [x, y, p, a, z, q, b, c, n]),
        "runtime_call": (n := build("runtime_call", {"z": b, "a": (a,)}, len, spec, {"k": 1}), [y, b, x, a, n]),
        "hook": (n := build("hook", (b, a), "name", None), [y, b, x, a, n]),
        "check": (n := build("check", p, ValueError, "message"), [x, y, p, n]),
        "move": (n := build("move", vector, move.Reshape((2, 3))), [vector, n]),
        "view": (
            n := build(
                "view",
                vector,
                layout,
                ((i, 2), (w := build("negative", i), 1)),
                ((0, k := Expr("constant", (1,), INT, ())),),
            ),
            [vector, i, w, k, n],
        ),
        "update": (n := build("update", vector, layout, ((i, 1),), (), row), [vector, i, row, n]),
    }


SYNTAX_NODES = syntax_nodes()


def chain(n: int) -> tuple[Expr, Expr]:
    x = y = param()
    for _ in range(n - 1):
        y = Expr("sin", (y,), F, ())
    return x, y


def doubling(levels: int) -> tuple[Expr, Expr]:
    x = y = param()
    for _ in range(levels):
        y = Expr("add", (y, y), F, ())
    return x, y


def random_graph(n: int) -> list[Expr]:
    """The nodes of a graph in which each one uses a recent node and any earlier one."""
    rng = random.Random(7)
    nodes = [param(i) for i in range(10)]
    for i in range(10, n):
        near, far = i - 1 - int(rng.random() * min(20, i)), int(rng.random() * i)
        nodes.append(Expr("add", (nodes[near], nodes[far]), F, ()))
    return nodes
