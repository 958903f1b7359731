"""The text of a graph: one stable form, a line a node, inner scopes indented, equal for equal graphs."""

import numpy as np
import pytest

import lamina
from lamina.expr import Expr, Graph, Scoped, build
from lamina.layout import Layout, move
from tests.expr.graphs import INT, SYNTAX_NODES, F, add, chain, cond, constant, doubling, less, param, sin


def text(params, outputs, effects=()) -> str:
    return str(Graph(params, outputs, effects, "f"))


def test_a_small_graph() -> None:
    x, y = param(0, F, (2, 3)), param(1, F, (2, 3))
    total = build("sum", add(x, y), (1,))
    assert text((x, y), {"total": total, "rest": (x, [None])}) == (
        "f(%0: float64[2, 3], %1: float64[2, 3]):\n"
        "  %2: float64[2, 3] = add(%0, %1)\n"
        "  %3: float64[2] = sum(%2, (1,))\n"
        "  return {'total': %3, 'rest': (%0, [None])}"
    )


def test_no_params_and_no_results() -> None:
    assert text((), ()) == "f():\n  return ()"
    assert text((param(),), None) == "f(%0: float64[]):\n  return None"
    assert text((), constant(2.0)) == "f():\n  return 2.0: float64"


def test_constants_stand_where_they_are_used_exactly() -> None:
    x = param()
    for number, shown in [(0.1, "0.1"), (-0.0, "-0.0"), (float("nan"), "nan"), (1e300, "1e+300")]:
        assert text((x,), add(x, constant(number))).splitlines()[1] == f"  %1: float64[] = add(%0, {shown}: float64)"
    several = Expr("constant", (2,), INT, (3,))
    assert text((), sin(Expr("cast", (several, F), F, (3,)))).splitlines()[1].endswith("cast(2: int64[3], float64)")


def test_names_are_those_of_the_text() -> None:
    # `t` is a node of both scopes; its name comes from the inner one, where it is printed first
    a, t = param(0), Expr("tensor", (np.float64(2.0),), F, ())
    inner = param(0)
    loop = build("while", a, inner, less(inner, t), add(inner, t))
    whole = Graph((a,), build("multiply", loop, t), (), "f")
    assert str(whole) == (
        "f(%0: float64[]):\n"
        "  %1: float64[] = while(%0):\n"
        "    params (%2: float64[])\n"
        "    condition:\n"
        "      %3: float64[] = tensor()\n"
        "      %4: bool[] = less(%2, %3)\n"
        "      return %4\n"
        "    body:\n"
        "      %5: float64[] = add(%2, %3)\n"
        "      return %5\n"
        "  %6: float64[] = multiply(%1, %3)\n"
        "  return %6"
    )
    assert [whole.names[node] for node in whole.order] == ["%0", "%1", "%3", "%6"]


def test_every_scope_and_effect() -> None:
    x, limit = param(0), param(1)
    i, captured = param(0), param(1)
    shown = build("hook", i, "turn", print)
    loop = build("while", (x, limit), (i, captured), less(i, captured), Scoped([shown], (add(i, captured), captured)))
    inner = param(0)
    fun = build("fun", (inner,), (sin(inner), inner), "g")
    called = build("call", fun, (build("elem", loop, 0),))
    first = build("elem", called, 0)
    check = build("check", less(x, limit), ValueError, "too large")
    assert text((x, limit), first, (loop, check)) == (
        "f(%0: float64[], %1: float64[]):\n"
        "  %2: (float64[], float64[]) = while((%0, %1)):\n"
        "    params (%3: float64[], %4: float64[])\n"
        "    condition:\n"
        "      %5: bool[] = less(%3, %4)\n"
        "      return %5\n"
        "    body:\n"
        "      %6: float64[] = hook(%3, 'turn', print)\n"
        "      %7: float64[] = add(%3, %4)\n"
        "      effects %6\n"
        "      return (%7, %4)\n"
        "  %8: bool[] = less(%0, %1)\n"
        "  %9: bool[] = check(%8, ValueError, 'too large')\n"
        "  %10: (float64[], float64[]) = fun('g'):\n"
        "    params (%11: float64[])\n"
        "    body:\n"
        "      %12: float64[] = sin(%11)\n"
        "      return (%12, %11)\n"
        "  %13: float64[] = elem(%2, 0)\n"
        "  %14: (float64[], float64[]) = call(%10, (%13,))\n"
        "  %15: float64[] = elem(%14, 0)\n"
        "  effects %2, %9\n"
        "  return %15"
    )


def test_blocks_conds_calls_and_views() -> None:
    x = param(0, F, (6,))
    i = param(1, INT)
    inner = param(0, F, (6,))
    block = build("block", "norm", (x, {"eps": 0.5}), build("negative", inner), None)
    row = build("view", block, Layout((2,), (1,), 1), ((i, 2),), ((0, i),))
    moved = build("move", row, move.Reshape((2, 1)))
    p = build("equal", i, i)
    chosen = build("cond", ((p, Scoped([build("hook", row, "h", None)], row)),), build("negative", row))
    called = build("runtime_call", (chosen,), np.sort, lamina.Spec(F, (2,)), {"axis": 0})
    assert text((x, i), (moved, called)) == (
        "f(%0: float64[6], %1: int64[]):\n"
        "  %2: float64[6] = block('norm', (%0, {'eps': 0.5})):\n"
        "    default:\n"
        "      %3: float64[6] = parameter(0)\n"
        "      %4: float64[6] = negative(%3)\n"
        "      return %4\n"
        "  %5: float64[2] = view(%2, (2):(1)+1, ((%1, 2),), ((0, %1),))\n"
        "  %6: float64[2, 1] = move(%5, Reshape((2, 1)))\n"
        "  %7: bool[] = equal(%1, %1)\n"
        "  %8: float64[2] = hook(%5, 'h', None)\n"
        "  %9: float64[2] = negative(%5)\n"
        "  %10: float64[2] = cond(((%7, Scoped(%8, %5)),), %9)\n"
        "  %11: float64[2] = runtime_call(sort, (%10,), {'axis': 0})\n"
        "  return (%6, %11)"
    ).replace("(2):(1)+1", str(Layout((2,), (1,), 1)))


def test_equal_graphs_have_equal_texts() -> None:
    def graph() -> Graph:
        x, y = param(0), param(1)
        return Graph((x, y), {"a": cond(less(x, y), sin(x), y)})

    one, _, two = graph(), param(), graph()
    assert one == two and str(one) == str(two)


def test_nodes_are_one_line_each_and_stable() -> None:
    class Noise:
        pass

    x = param()
    options = {"table": np.zeros((3, 3)), "noise": Noise(), "text": "a\nb"}
    block = build("block", Noise(), (x, options), sin(param(0)), lambda: None)
    shown = text((x,), block)
    assert shown == text((x,), build("block", Noise(), (x, options), sin(param(0)), lambda: None))
    assert " at 0x" not in shown and "\n" not in shown.splitlines()[1]
    assert shown.splitlines()[1].startswith("  %1: float64[] = block(Noise, (%0, {'table': array([[0., 0., 0.], [0.,")


@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_every_syntax_node_prints(op: str) -> None:
    node, order = SYNTAX_NODES[op]
    lines = text((), node).splitlines()
    assert lines[0] == "f():" and lines[-1].startswith("  return ")
    own = [line for line in lines if line.startswith("  %")]
    assert len(own) == len([each for each in order if each.op != "constant"])


def test_deep_and_shared_graphs_print_in_a_line_a_node() -> None:
    x, y = chain(100_000)
    lines = text((x,), y).splitlines()
    assert len(lines) == 100_001 and lines[-2] == "  %99999: float64[] = sin(%99998)"
    x, y = doubling(40)
    assert text((x,), y).splitlines()[40:] == ["  %40: float64[] = add(%39, %39)", "  return %40"]


def test_deep_nesting_of_scopes_prints_without_recursion() -> None:
    node = sin(param(0))
    for _ in range(3_000):
        inner = param(0)
        node = build("call", build("fun", (inner,), node, "f"), (param(0),))
        # each fun's body calls the one before with a parameter of its own
    assert text((), node).count("fun('f')") == 3_000


def test_several_roots_of_one_node_and_repr() -> None:
    x = param()
    graph = Graph((x,), (x, x), (), "twice")
    assert str(graph) == "twice(%0: float64[]):\n  return (%0, %0)"
    assert repr(graph) == "<Graph twice: 1 params, 1 nodes>"
