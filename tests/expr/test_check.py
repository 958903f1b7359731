"""The rules of a graph: each broken rule is a `GraphError` that names the node and says what was expected."""

import numpy as np
import pytest

import lamina
from lamina.errors import GraphError
from lamina.expr import Expr, Graph, Scoped, Source, build, check
from lamina.layout import Layout, move
from tests.expr.graphs import (
    INT,
    SYNTAX_NODES,
    F,
    add,
    chain,
    cond,
    constant,
    doubling,
    less,
    param,
    random_graph,
    sin,
    while_,
)


def graph(params, outputs, effects=()) -> Graph:
    return Graph(params, outputs, effects, "f")


@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_right_graphs_pass_and_come_back(op: str) -> None:
    node, order = SYNTAX_NODES[op]
    given = {each.args[0]: each for each in order if each.op == "parameter"}
    whole = graph(tuple(given.get(position) or param(position) for position in range(3)), node)
    assert check(whole) is whole


def test_what_tracing_makes_passes() -> None:
    def program(x, n):
        y = lamina.cond(n > 2, lambda: x + n, lambda: x)
        _, y = lamina.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x), (0, y))
        y = lamina.block("b", lambda a, k: a * k, lamina.hook(y, "h"), 3)
        twice = lamina.fun(lambda a: a + x)
        return {"y": twice(twice(y)), "k": 1.5}

    traced = lamina.trace(program, np.ones(3), 4)
    assert check(traced) is traced


@pytest.mark.parametrize("name", sorted(lamina.dtype.DTYPES))
def test_constants_of_every_dtype_pass(name: str) -> None:
    dtype = lamina.dtype.DTYPES[name]
    check(lamina.trace(lambda x: lamina.asarray(1, dtype=dtype) + x, lamina.Spec(dtype)))


X, Y, INT1 = param(0), param(1), param(1, INT)
V = param(0, F, (4,))
INNER = param(0)


def broken_graphs():
    shared, outer = sin(INNER), sin(X)
    other = param(1)
    yield (
        "a parameter of another scope",
        graph((X,), add(X, Y)),
        r"f: uses <Expr parameter: float64\[\]>, a parameter of an",
    )
    yield "params in another order", graph((Y, X), X), "param 0 must be a parameter of this position"
    yield (
        "a param that is none",
        graph((sin(X),), X),
        "param 0 must be a parameter of this position, but it is <Expr sin",
    )
    yield "an unknown op", graph((X,), Expr("sine", (X,), F, ())), r"no op is named 'sine'; the ops are abs, .*while"
    yield "too many args", graph((X,), Expr("sin", (X, X), F, ())), "sin: expected the args .*but got 2"
    yield "too few args", graph((X,), Expr("add", (X,), F, ())), "add: expected the args .*but got 1"
    yield (
        "a wrong dtype",
        graph((X,), Expr("sin", (X,), INT, ())),
        r"the node says int64\[\], but its args give float64\[\]",
    )
    yield (
        "a wrong shape",
        graph((X,), Expr("sin", (X,), F, (2,))),
        r"the node says float64\[2\], but its args give float64",
    )
    yield "no operand", graph((), Expr("sin", (1.0,), F, ())), "sin"
    yield (
        "operands that differ",
        graph((X, INT1), Expr("add", (X, INT1), F, ())),
        "must have one dtype",
    )
    yield "a rule of a syntax node", graph((X,), Expr("cond", (((X, X),), X), F, ())), r"predicate must be bool\[\]"
    yield "a call of no fun", graph((X,), Expr("call", (X, (X,)), F, ())), "expected a fun"
    yield "a missing result", graph((X,), Expr("elem", (X, 0), F, ())), "has no result 0"
    yield (
        "a captured node in a loop",
        graph((X, Y), build("while", (X,), (INNER,), less(INNER, Y), (INNER,))),
        "f, while .*: uses .* a parameter of another scope; pass it in",
    )
    yield (
        "a node of two scopes",
        graph((X,), (build("while", (X,), (INNER,), less(INNER, outer), (INNER,)), outer)),
        "uses <Expr .*; pass it in as an argument",
    )
    yield (
        "a node of two inner scopes",
        graph(
            (X,),
            (
                build("while", (X,), (INNER,), less(INNER, INNER), (shared,)),
                build("fun", (V,), build("move", shared, move.Broadcast((4,))), "g"),
            ),
        ),
        "uses .*; pass it in as an argument",
    )
    fixed = sin(constant(1.0))  # no parameter says whose it is
    yield (
        "a node without parameters of two scopes",
        graph((X,), (build("while", (X,), (INNER,), less(INNER, fixed), (INNER,)), fixed)),
        "uses <Expr sin: .* of the scope f.*; pass it in as an argument",
    )
    yield "a captured node in a fun", graph((X,), build("fun", (INNER,), add(INNER, sin(X)), "g")), "fun g"
    yield (
        "a param of the wrong position in a fun",
        graph((X,), build("fun", (other,), sin(other), "g")),
        "fun g .*: param 0 must be a parameter of this position",
    )
    yield (
        "a block whose default reads what is no in_arg",
        graph((X,), build("block", "b", (X,), add(param(0), param(1)), None)),
        "block: the default's .* at position 1 is no in_arg",
    )
    yield (
        "a block whose default reads another dtype",
        graph((X,), build("block", "b", (X,), build("negative", param(0, INT)), None)),
        "block: the default's <Expr parameter: int64",
    )
    yield "a constant of another kind", graph((), Expr("constant", (1.5,), INT, ())), "doesn't fit the node's dtype"
    yield "a constant that is no number", graph((), Expr("constant", ("1",), F, ())), "doesn't fit the node's dtype"
    yield "a NumPy number as a constant", graph((), Expr("constant", (np.float64(1),), F, ())), "doesn't fit"
    yield "a tensor of another shape", graph((), Expr("tensor", (lamina.asarray([1.0]),), F, (2,))), "doesn't fit"
    yield "a tensor of another dtype", graph((), Expr("tensor", (lamina.asarray([1]),), F, (1,))), "doesn't fit"
    yield "a negative position", graph((), Expr("parameter", (-1,), F, ())), "parameter"
    yield (
        "an update that isn't distinct",
        graph((V,), Expr("update", (V, Layout((2,), (0,)), (), (), V), F, (4,))),
        "update",
    )
    truth, several = Expr("constant", (True,), lamina.bool, ()), while_(X, Y)
    for what, node in {
        "a dtype by its name": Expr("sin", (X,), "float64", ()),
        "NumPy's dtype": Expr("sin", (X,), np.dtype("float64"), ()),
        "an extent below 0": param(0, F, (-3,)),
        "an extent that is no int": param(0, F, (3.0,)),
        "NumPy's integer as an extent": param(0, F, (np.int64(3),)),
        "a shape that is no tuple": param(0, F, 3),
        "33 axes": param(0, F, (1,) * 33),
        "more than 2**53 elements": Expr("constant", (1.0,), F, (2**54,)),
    }.items():
        yield what, graph((node,) if node.op == "parameter" else (X,), node), "expected a lamina dtype and a tuple of"
    for what, node in {
        "int8": Expr("constant", (300,), lamina.int8, ()),
        "uint8": Expr("constant", (-1,), lamina.uint8, ()),
        "a float": Expr("constant", (10**400,), F, ()),
        "an array of NumPy's": Expr("tensor", (np.ones(2),), F, (2,)),
        "no array": Expr("tensor", ("a",), F, ()),
    }.items():
        yield f"a leaf of what doesn't fit {what}", graph((), node), "doesn't fit the node's dtype"
    for op in sorted(SYNTAX_NODES.keys() - {"parameter"}):
        yield f"an arg of {op} that is missing", graph((), Expr(op, (), F, ())), f"{op}: expected the args .*got 0 of"
    yield "args in a list", graph((X,), Expr("sin", [X], F, ())), "sin: expected the args .* in a tuple"
    yield "an operand with several results", graph((X, Y), Expr("sin", (several,), F, ())), "several results.* elem"
    for what, node, message in [
        ("an elem of no int", Expr("elem", (several, True), F, ()), "has no result True"),
        ("an elem of no node", Expr("elem", (3, 0), F, ()), "node must be of the class Expr"),
        ("a note that is no dict", Expr("metadata", (X, 3), F, ()), "note must be of the class dict"),
        ("a name that is no str", Expr("fun", ((INNER,), INNER, 5), F, ()), "name must be of the class str"),
        ("a param that is no node", Expr("fun", ((1,), INNER, "f"), F, ()), "a leaf is 1"),
        ("a call of a number", Expr("call", (3, (X,)), F, ()), "expected a fun, but got 3"),
        ("a clause that is no pair", Expr("cond", ((X,), X), F, ()), "a clause must be a pair"),
        ("a callback that is none", Expr("runtime_call", ((X,), 3, X, {}), F, ()), "of the class Callable"),
        ("options that are no dict", Expr("runtime_call", ((X,), len, X, ()), F, ()), "of the class dict"),
        ("a hook without a name", Expr("hook", (X, 3, None), F, ()), "name must be of the class str"),
        ("a hook of no callback", Expr("hook", (X, "h", 3), F, ()), "callback must be of the class Callable"),
        ("a check that raises a number", Expr("check", (truth, 3, "m"), lamina.bool, ()), "expected an exception"),
        ("a check that raises a class", Expr("check", (truth, int, "m"), lamina.bool, ()), "expected an exception"),
        ("a message that is no str", Expr("check", (truth, ValueError, 3), lamina.bool, ()), "of the class str"),
        ("a move of no movement", Expr("move", (X, "a"), F, ()), "movement must be of the class Movement"),
        ("a move of no node", Expr("move", (3, move.Reshape(())), F, ()), "move: the args .* of their kinds"),
        ("a view of no layout", Expr("view", (X, "a", (), ()), F, ()), "layout must be of the class Layout"),
        ("shifts that are no tuple", Expr("view", (X, Layout((), ()), None, ()), F, ()), "of the class tuple"),
        ("a stride that is no int", Expr("view", (X, Layout((), ()), ((X, 1.5),), ()), F, ()), "a pair .node, stride"),
        ("an axis that is no int", Expr("cumulative_sum", (X, 0.0), F, ()), "an axis must be an int"),
    ]:
        yield what, graph((X, Y), node), message
    yield (
        "a shifted view that is longer than its root",
        graph((V, INT1), Expr("view", (V, Layout((7,), (1,)), ((INT1, 1),), ()), F, (7,))),
        "reaches beyond the 4 elements of its root",
    )
    yield (
        "a block whose default reads a parameter of its parent's",
        graph((X,), build("block", "b", (X,), sin(X), None)),
        "block .*: uses .* a parameter of another scope; pass it in",
    )
    for what, updates in {
        "an update of what is no param": ((sin(X), X),),
        "an update of another shape": ((X, V),),
        "two updates of one param": ((X, X), (X, sin(X))),
    }.items():
        yield what, Graph((X,), X, (), "f", updates), "f: an update must be a pair of a param or a tensor, each at"
    yield (
        "a wrong effect",
        graph((X,), X, (Expr("check", (X, ValueError, "m"), lamina.bool, ()),)),
        r"predicate must be bool",
    )


BROKEN = [pytest.param(whole, message, id=name) for name, whole, message in broken_graphs()]


@pytest.mark.parametrize(("whole", "message"), BROKEN)
def test_a_broken_rule_is_named(whole: Graph, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        check(whole)


def test_the_users_line_is_in_the_message() -> None:
    wrong = Expr("sum", (X, (3,)), F, (), Source("program.py", 12, "f"))
    with pytest.raises(GraphError, match=r"program\.py:12, in f.*axis 3"):
        check(graph((X,), wrong))


def test_a_fun_may_be_used_in_any_scope() -> None:
    inner = param(0)
    fun = build("fun", (inner,), sin(inner), "g")
    carried = param(0)
    loop = build("while", (X,), (carried,), less(carried, carried), (build("call", fun, (carried,)),))
    check(graph((X,), (loop, build("call", fun, (X,)))))


def test_effects_in_every_scope_are_checked() -> None:
    bad = Expr("check", (INNER, ValueError, "m"), lamina.bool, ())
    for body in (
        build("while", (X,), (INNER,), less(INNER, INNER), Scoped([bad], (INNER,))),
        build("fun", (INNER,), Scoped([bad], INNER), "g"),
    ):
        with pytest.raises(GraphError, match="predicate must be bool"):
            check(graph((X,), body))
    bad = Expr("check", (X, ValueError, "m"), lamina.bool, ())
    with pytest.raises(GraphError, match="predicate must be bool"):
        check(graph((X,), cond(less(X, X), Scoped([bad], X), X)))


def test_arguments_and_captured_arrays_may_be_written() -> None:
    kept = np.zeros(2)

    def written(x):
        x[0] = 1.0
        kept[1] = x[1]
        return x

    traced = lamina.trace(written, np.ones(2))
    assert [root.op for root, _ in traced.updates] == ["parameter", "tensor"]
    assert check(traced) is traced


def test_what_is_no_graph() -> None:
    with pytest.raises(TypeError, match="Graph was expected, but got <Expr parameter"):
        check(X)


def test_a_graph_of_anything_but_nodes() -> None:
    with pytest.raises(TypeError, match="a leaf is 1"):
        Graph((X,), (X, 1))
    with pytest.raises(TypeError, match="a leaf is 'x'"):
        Graph((X,), X, ("x",))


def test_deep_wide_and_shared_graphs() -> None:
    for x, y in (chain(100_000), doubling(40)):
        check(graph((x,), y))
    nodes = random_graph(50_000)
    check(graph(tuple(nodes[:10]), nodes))
    params = tuple(param(i) for i in range(5_000))
    check(graph(params, params))


def test_funs_that_call_funs_are_checked_once_each() -> None:
    inner = param(0)
    a = b = build("fun", (inner,), sin(inner), "f")
    for _ in range(60):  # Fibonacci's number of paths
        inner = param(0)
        body = add(build("call", a, (inner,)), build("call", b, (inner,)))
        a, b = b, build("fun", (inner,), body, "f")
    check(graph((X,), build("call", b, (X,))))
