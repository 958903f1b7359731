"""Pickling, copying and comparing graphs: meanings come through, identities are fresh, and nothing recurses."""

import copy
import operator
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import lamina
from lamina.expr import Expr, Graph, Scoped, Source, build, equal
from lamina.expr.tree import all_nodes, operands, post_order
from lamina.layout import move
from tests.expr.graphs import INT, SYNTAX_NODES, F, add, chain, cond, constant, doubling, less, param, random_graph, sin

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def graph(params, outputs, effects=()) -> Graph:
    return Graph(params, outputs, effects, "f")


def round_trip(thing, protocol: int = pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(thing, protocol))


# Round trips


@pytest.mark.parametrize("protocol", PROTOCOLS[2:])
@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_every_syntax_node_comes_through(op: str, protocol: int) -> None:
    node, order = SYNTAX_NODES[op]
    given = tuple(each for each in order if each.op == "parameter")
    whole = graph(given, {"b": node, "a": [node, None]})
    back = round_trip(whole, protocol)
    assert back == whole and str(back) == str(whole) and back.name == "f"
    assert [each.op for each in back.order] == [each.op for each in whole.order]
    assert not {each.id for each in all_nodes(back.outputs)} & {each.id for each in all_nodes(whole.outputs)}
    assert back.outputs["b"] is back.outputs["a"][0] and list(back.outputs) == ["b", "a"]


def test_a_node_by_itself_carries_what_it_needs() -> None:
    node = add(sin(param()), constant(2.5))
    back = round_trip(node)
    assert type(back) is Expr and back.id != node.id and equal(back, node)
    assert [each.op for each in post_order(back)] == ["parameter", "sin", "constant", "add"]


def test_sharing_and_sources_stay() -> None:
    source = Source("f.py", 3, "f")
    x = Expr("parameter", (0,), F, (), source)
    y = sin(x)
    back = round_trip(graph((x,), (y, add(y, y), x)))
    y_back, total, x_back = back.outputs
    assert x_back is back.params[0] and operands(total) == (y_back, y_back) and operands(y_back) == (x_back,)
    assert x_back.source == source


def test_scopes_and_effects_come_through() -> None:
    x, inner = param(0), param(0)
    shown = build("hook", inner, "turn", print)
    loop = build("while", (x,), (inner,), less(inner, inner), Scoped([shown], (inner,)))
    check = build("check", less(x, x), ValueError, "message")
    whole = graph((x,), build("elem", loop, 0), (loop, check))
    back = round_trip(whole)
    assert back == whole and str(back) == str(whole)
    assert back.effects[0] is operands(back.outputs)[0]
    body = back.effects[0].args[3]
    assert isinstance(body, Scoped) and body.effects[0].args[2] is print


def test_static_data_comes_through() -> None:
    x = param(0, F, (6,))
    options = OrderedDict(b=(1, None), a={"deep": [2.5, "text"]})
    block = build("block", ("name", 3), (x, options), build("negative", param(0, F, (6,))), operator.neg)
    window = build("move", x, move.Window([move.WindowSpec(0, 2, 1, 1)]))
    call = build("runtime_call", (x,), np.sort, lamina.Spec(F, (6,)), {"axis": 0})
    back = round_trip(graph((x,), (block, window, call)))
    assert back == graph((x,), (block, window, call))
    struct, in_args, _, callback = back.outputs[0].args
    assert struct == ("name", 3) and callback is operator.neg
    assert in_args[1] == options and type(in_args[1]) is OrderedDict
    assert back.outputs[2].args[2:] == (lamina.Spec(F, (6,)), {"axis": 0})


def test_captured_arrays_come_through_with_their_elements_alone() -> None:
    base = np.arange(100_000.0)
    view = lamina.asarray(base)[::25_000]
    node = Expr("tensor", (view,), F, (4,))
    dumped = pickle.dumps(graph((), sin(node)))
    assert len(dumped) < 5_000
    assert pickle.loads(dumped) == graph((), sin(node))


def test_nodes_in_metadata_share_their_graph() -> None:
    x = param()
    y = sin(x)
    back = round_trip(graph((x,), (build("metadata", x, {"twin": [y]}), y)))
    noted, y_back = back.outputs
    assert noted.args[1]["twin"][0] is y_back


@pytest.mark.parametrize("clone", [copy.deepcopy, copy.copy, round_trip])
def test_copies_are_graphs_of_their_own(clone) -> None:
    x, y = doubling(40)
    whole = graph((x,), y)
    other = clone(whole)
    assert other == whole and other is not whole
    assert len(other.order) == 41


@pytest.mark.parametrize("clone", [copy.deepcopy, round_trip])
def test_a_deep_copy_of_a_node_is_a_node_of_its_own(clone) -> None:
    _, y = doubling(40)
    node = clone(y)
    assert node is not y and equal(node, y) and len(post_order(node)) == 41


def test_a_copy_of_a_node_is_the_node() -> None:
    _, y = doubling(40)
    assert copy.copy(y) is y


def test_deep_graphs_take_no_recursion() -> None:
    x, y = chain(1_000_000)
    dumped = pickle.dumps(graph((x,), y))
    del x, y
    back = pickle.loads(dumped)
    assert len(back.order) == 1_000_000


def test_random_graphs_come_through() -> None:
    nodes = random_graph(50_000)
    whole = graph(tuple(nodes[:10]), nodes)
    back = round_trip(whole)
    assert back == whole
    assert equal(copy.deepcopy(whole.outputs[-1]), whole.outputs[-1])


def test_deep_nesting_of_scopes_takes_no_recursion() -> None:
    node = sin(param(0))
    for _ in range(3_000):
        inner = param(0)
        node = build("call", build("fun", (inner,), node, "f"), (param(0),))
    assert round_trip(graph((), node)) == graph((), node)


def test_a_traced_graph_comes_through_and_runs() -> None:
    def program(x):
        y = lamina.fori_loop(0, 3, lambda i, c: c * 2.0 + i, x)
        return lamina.cond(y.sum() > 0, lambda: {"y": y}, lambda: {"y": -y})

    from lamina.evaluator import compile_graph

    traced = lamina.trace(program, np.ones(2))
    (result,) = compile_graph(round_trip(traced))(np.ones(2))
    np.testing.assert_array_equal(result, [12.0, 12.0])


# Comparing


def test_equal_means_the_same_structure() -> None:
    x, y = param(0), param(1)
    assert equal((x, y), (param(0), param(1)))
    assert not equal((x, y), [x, y])
    assert not equal((x, y), (y, x))
    assert not equal({"a": x, "b": y}, {"b": y, "a": x})
    assert not equal({1: x}, {True: x}) and not equal({1: x}, {1.0: x}) and equal({1: x}, {1: x})
    assert equal((), ()) and not equal((), [])
    assert graph((x,), x) != x and graph((x,), x) != graph((x,), (x,))


def test_equal_sees_what_is_shared() -> None:
    x = param()
    shared = sin(x)
    assert equal(add(shared, shared), add(s := sin(x), s))
    assert not equal(add(shared, shared), add(sin(x), sin(x)))
    assert equal(add(sin(x), sin(x)), add(sin(x), sin(x)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (param(0), param(1)),
        (param(0), param(0, INT)),
        (param(0), param(0, F, (1,))),
        (sin(param()), build("cos", param())),
        (constant(1.0), constant(2.0)),
        (constant(0.0), constant(-0.0)),
        (Expr("constant", (1,), F, ()), Expr("constant", (True,), F, ())),
        (Expr("constant", (1,), F, ()), Expr("constant", (1.0,), F, ())),
        (Expr("tensor", (lamina.asarray([1.0]),), F, (1,)), Expr("tensor", (lamina.asarray([2.0]),), F, (1,))),
        (Expr("tensor", (lamina.asarray([0.0]),), F, (1,)), Expr("tensor", (lamina.asarray([-0.0]),), F, (1,))),
        (build("hook", param(), "a", None), build("hook", param(), "b", None)),
        (build("hook", param(), "a", None), build("hook", param(), "a", print)),
        (build("move", param(0, F, (6,)), move.Reshape((2, 3))), build("move", param(0, F, (6,)), move.Reshape((6,)))),
        (build("sum", param(0, F, (2, 2)), (0,)), build("sum", param(0, F, (2, 2)), (1,))),
        (build("block", "b", (param(), 1), param(), None), build("block", "b", (param(), True), param(), None)),
        (build("block", "b", (param(), 0.0), param(), None), build("block", "b", (param(), -0.0), param(), None)),
        (build("block", "b", (param(), 1), param(), None), build("block", "b", (1, param()), param(), None)),
        (build("block", 1, (param(),), param(), None), build("block", True, (param(),), param(), None)),
        (
            build("runtime_call", (), len, lamina.Spec(F), {"a": np.zeros(3)}),
            build("runtime_call", (), len, lamina.Spec(F), {"a": np.array([0.0, 0.0, -0.0])}),
        ),
        (build("metadata", param(), {"a": 1}), build("metadata", param(), {"a": 2})),
        (build("metadata", param(), {"a": param(1)}), build("metadata", param(), {"a": param(2)})),
    ],
)
def test_what_differs_is_not_equal(left: Expr, right: Expr) -> None:
    assert not equal(left, right) and not equal(right, left)
    assert equal(left, copy.deepcopy(left)) and equal(right, copy.deepcopy(right))
    assert graph((), left) != graph((), right)


@pytest.mark.parametrize(
    "value", [float("nan"), complex("nan+nanj"), np.array([1.0, np.nan]), np.float64("nan"), [np.ones(2)]]
)
def test_static_data_equals_its_copy(value) -> None:
    x = param()
    assert equal(build("block", "b", (x, [value]), x, None), build("block", "b", (x, [copy.deepcopy(value)]), x, None))
    assert equal(build("metadata", x, {"v": value}), build("metadata", x, {"v": copy.deepcopy(value)}))


def test_nan_constants_and_tensors_are_equal() -> None:
    assert equal(constant(float("nan")), constant(float("nan")))
    one, two = (Expr("tensor", (lamina.asarray([float("nan")]),), F, (1,)) for _ in range(2))
    assert equal(one, two)


def test_effects_count_and_are_in_order() -> None:
    x = param()
    a, b = (build("hook", x, name, None) for name in "ab")
    assert graph((x,), x, (a, b)) == graph((x,), x, (a, b))
    assert graph((x,), x, (a, b)) != graph((x,), x, (b, a))
    assert graph((x,), x, (a,)) != graph((x,), x)
    p = less(x, x)
    branches = [cond(p, Scoped([a], x), x), cond(p, Scoped([b], x), x), cond(p, x, x)]
    for i, left in enumerate(branches):
        for j, right in enumerate(branches):
            assert equal(left, copy.deepcopy(right)) == (i == j)


def test_equal_graphs_hash_alike() -> None:
    def made() -> Graph:
        x = param()
        return graph((x,), add(sin(x), x))

    assert len({made(), made(), graph((param(),), ())}) == 2


def test_deep_and_shared_graphs_compare_without_recursion() -> None:
    (x, y), (u, v) = chain(300_000), chain(300_000)
    assert graph((x,), y) == graph((u,), v)
    assert graph((x,), y) != graph((u,), sin(v))
    assert equal(doubling(40)[1], doubling(40)[1]) and not equal(doubling(40)[1], doubling(41)[1])
