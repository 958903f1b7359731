"""The evaluator: each syntax node's meaning on NumPy, what runs and when, and graphs that are deep and shared."""

import gc
import weakref

import numpy as np
import pytest

import lamina
from lamina.compilers import compiler_named
from lamina.evaluator import compile_graph
from lamina.expr import Expr, Graph, Scoped, build
from lamina.layout import Layout, move
from tests.expr.graphs import INT, F, add, chain, cond, constant, doubling, less, param, random_graph, sin, while_


def run(outputs, *arguments, effects=()):
    """The results of a graph whose params are of these arguments' dtypes and shapes."""
    params = {node.args[0]: node for node in lamina.tree.post_order((effects, outputs)) if node.op == "parameter"}
    given = tuple(
        params.get(i) or param(i, lamina.dtype.from_numpy(np.asarray(x).dtype), np.shape(x))
        for i, x in enumerate(arguments)
    )
    return compile_graph(Graph(given, outputs, effects, "f"))(*map(np.asarray, arguments))


def view_of(root: np.ndarray, layout: Layout, shift: int = 0) -> np.ndarray:
    """By the definition: the elements at the layout's positions."""
    flat = np.ascontiguousarray(root).reshape(-1)
    return np.array([flat[layout.position(i) + shift] for i in np.ndindex(layout.shape)], root.dtype).reshape(
        layout.shape
    )


# Each node


def test_leaves() -> None:
    array = np.arange(3.0)
    tensor = Expr("tensor", (lamina.asarray(array),), F, (3,))
    several = Expr("constant", (7,), INT, (2, 2))
    x, k, t, c = run((param(), constant(2.5), tensor, several), 1.5)
    assert (x, k) == (1.5, 2.5) and c.tolist() == [[7, 7], [7, 7]] and c.dtype == np.int64
    np.testing.assert_array_equal(t, array)


def test_a_constant_that_is_a_result_is_not_to_be_written() -> None:
    """It is the program's own memory, and there again at the next run."""
    compiled = compile_graph(Graph((), (constant(2.5), Expr("constant", (7,), INT, (2,)))))
    for result in compiled():
        with pytest.raises(ValueError, match="read-only"):
            result[...] = 0


def test_a_tensor_is_read_when_it_runs() -> None:
    array = np.arange(3.0)
    node = sin(Expr("tensor", (lamina.asarray(array),), F, (3,)))
    compiled = compile_graph(Graph((), node))
    np.testing.assert_array_equal(compiled()[0], np.sin(array))
    array[0] = 5
    np.testing.assert_array_equal(compiled()[0], np.sin(array))


def test_elem_and_metadata() -> None:
    x, y = param(0), param(1)
    loop = while_(x, y)
    assert run((build("elem", loop, 1), build("metadata", build("elem", loop, 0), {"a": 1})), 0.5, 9.0) == [9.0, 3.5]


def test_fun_and_call() -> None:
    inner, other = param(0), param(1)
    fun = build("fun", (inner, [other]), {"b": add(inner, other), "a": inner}, "f")
    first = build("call", fun, (param(0), [param(1)]))
    second = build("call", fun, (build("elem", first, 0), [build("elem", first, 1)]))
    assert run((build("elem", second, 0), build("elem", second, 1)), 1.0, 10.0) == [12.0, 11.0]
    single = build("fun", (inner,), sin(inner), "g")
    assert run(build("call", single, (param(0),)), 2.0) == [np.sin(2.0)]


def test_while() -> None:
    x = param(0)
    loop = while_(x, build("negative", x))
    assert run((build("elem", loop, 0), build("elem", loop, 1)), 0.25) == [3.25, -0.25]
    assert run((build("elem", loop, 0), build("elem", loop, 1)), 5.0) == [5.0, -5.0]  # no turn
    bare = param(0)
    assert run(build("while", x, bare, less(bare, constant(3.0)), add(bare, bare)), 1.0) == [4.0]


def test_block_runs_its_default() -> None:
    a, b = param(0), param(1)
    node = build("block", "b", ({"y": param(1), "mode": "fast"}, 3, param(0)), build("subtract", a, b), None)
    assert run(node, 1.0, 10.0) == [9.0]  # in_args by position among the nodes: y, then x


def test_cond() -> None:
    x, y = param(0), param(1)
    node = cond(less(x, y), sin(x), less(y, x), sin(y), constant(7.0))
    assert [run(node, *pair)[0] for pair in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0))] == [np.sin(1.0), np.sin(1.0), 7.0]
    several = build("cond", ((less(x, y), {"a": x, "b": (y,)}),), {"a": y, "b": (x,)})
    assert run((build("elem", several, 0), build("elem", several, 1)), 1.0, 2.0) == [1.0, 2.0]


def test_runtime_call_hook_and_check() -> None:
    x = param(0, F, (2,))
    log: list = []
    call = build("runtime_call", ({"x": x},), lambda tree, k: tree["x"] * k, lamina.Spec(F, (2,)), {"k": 3})
    hook = build("hook", (call, [x]), "h", log.append)
    check = build("check", build("less", build("sum", x, (0,)), constant(100.0)), ValueError, "too much")
    results = run((build("elem", hook, 0), build("elem", hook, 1)), np.ones(2), effects=(call, hook, check))
    np.testing.assert_array_equal(results, [[3.0, 3.0], [1.0, 1.0]])
    assert len(log) == 1 and log[0][0].tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="too much"):
        run(check, np.full(2, 50.0))


MOVES = [
    move.Reshape((6, 4)),
    move.Reshape((2, 1, 12)),
    move.Broadcast((5, 4, 6)),
    move.Permute((1, 0)),
    move.Slice((move.Range(1, 2, 2), move.Range(5, 3, -2))),
    move.Slice((move.Range(0, 4, 1), move.Range(0, 0, 1))),
    move.Slice((move.Range(3, 4, -1), move.Range(5, 6, -1))),
    move.Window((move.WindowSpec(0, 2, 1, 2), move.WindowSpec(1, 3, 2, 1))),
    move.Window((move.WindowSpec(1, 7, 1, 1),)),
]


@pytest.mark.parametrize("order", ["C", "F", "reversed"])
@pytest.mark.parametrize("movement", MOVES, ids=str)
def test_moves_by_their_definition(movement, order: str) -> None:
    array = np.arange(24.0).reshape(4, 6)
    array = {"C": array, "F": np.asfortranarray(array), "reversed": array[::-1, ::-1]}[order]
    shape = movement.result_shape(array.shape)
    expected = np.array([array[movement.source(array.shape, index)] for index in np.ndindex(shape)]).reshape(shape)
    (result,) = run(build("move", param(0, F, (4, 6)), movement), array)
    assert result.shape == shape
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    "layout",
    [
        Layout((3,), (5,)),
        Layout((2, 3), (4, 1), 5),
        Layout((4,), (-3,), 11),
        Layout((3, 3), (1, 1)),
        Layout((2, 2), (0, 0), 7),
        Layout((), (), 3),
        Layout((0, 3), (1, 1)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex64])
def test_views_by_their_definition(layout: Layout, dtype) -> None:
    array = np.arange(12).astype(dtype).reshape(3, 4)
    root = param(0, lamina.dtype.from_numpy(dtype), (3, 4))
    (result,) = run(build("view", root, layout, (), ()), array)
    np.testing.assert_array_equal(result, view_of(array, layout))
    (result,) = run(build("view", root, layout, (), ()), np.asfortranarray(array))  # positions count in C order
    np.testing.assert_array_equal(result, view_of(array, layout))


def test_views_that_move_by_traced_integers() -> None:
    array = np.arange(12.0).reshape(3, 4)
    i, j = param(1, INT), param(2, INT)
    node = build("view", param(0, F, (3, 4)), Layout((2,), (1,)), ((i, 4), (j, 1)), ())
    for a in range(3):
        for b in range(3):
            np.testing.assert_array_equal(run(node, array, a, b)[0], array[a, b : b + 2])


@pytest.mark.parametrize("shift", [-1, 11, 100, -(2**40)])
def test_a_view_outside_its_root_is_an_index_error(shift: int) -> None:
    array = np.arange(12.0)
    node = build("view", param(0, F, (12,)), Layout((2,), (1,)), ((param(1, INT), 1),), ())
    update = build("update", param(0, F, (12,)), Layout((2,), (1,)), ((param(1, INT), 1),), (), node)
    for each in (node, update):
        with pytest.raises(IndexError, match=r"elements .* of 12"):
            run(each, array, shift)


@pytest.mark.parametrize(
    "layout", [Layout((3,), (5,)), Layout((2, 3), (4, 1), 5), Layout((4,), (-3,), 11), Layout((), (), 3)]
)
def test_updates_replace_what_a_view_reads(layout: Layout) -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    before = array.copy()
    value = -1 - np.arange(layout.numel, dtype=float).reshape(layout.shape)
    root, given = param(0, F, (3, 4)), param(1, F, layout.shape)
    updated = build("update", root, layout, (), (), given)
    result, seen = run((updated, build("view", updated, layout, (), ())), array, value)
    np.testing.assert_array_equal(seen, value)
    np.testing.assert_array_equal(array, before)  # the argument is not written
    rest = np.ones(12, bool)
    rest[layout.positions().reshape(-1)] = False
    np.testing.assert_array_equal(result.reshape(-1)[rest], before.reshape(-1)[rest])


@pytest.mark.parametrize("name", sorted(lamina.dtype.DTYPES))
def test_every_dtype_comes_out_as_it_went_in(name: str) -> None:
    dtype = lamina.dtype.DTYPES[name]
    array = np.array([False, True, True, False]).astype(dtype.numpy)
    x = param(0, dtype, (4,))
    p = Expr("constant", (True,), lamina.bool, ())
    inner = param(0, dtype, (4,))
    fun = build("fun", (inner,), inner, "f")
    outputs = (
        build("move", x, move.Reshape((2, 2))),
        cond(p, x, x),
        build("call", fun, (x,)),
        build("copy", x),
        build("view", x, Layout((2,), (2,)), (), ()),
        build("concat", (x, x), 0),
    )
    results = run(outputs, array)
    for result, node in zip(results, outputs, strict=True):
        assert result.dtype == dtype.numpy and result.shape == node.shape
    np.testing.assert_array_equal(results[5].astype(bool), np.tile(array, 2).astype(bool))


# What runs, and when


def counting(log: list, name: str, x: Expr) -> Expr:
    return build("runtime_call", (x,), lambda value: log.append(name) or value, lamina.Spec(F), {})


@pytest.mark.parametrize(("x", "y"), [(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)])
def test_a_branch_runs_when_it_is_taken_and_shared_work_once(x: float, y: float) -> None:
    log: list[str] = []
    a, b = param(0), param(1)
    both = counting(log, "both", a)
    first, second = counting(log, "first", both), counting(log, "second", add(both, b))
    later = less(counting(log, "later", b), a)
    twin = counting(log, "twin", both)
    node = cond(less(a, b), add(first, first), later, add(second, twin), twin)
    run((node, add(node, node)), x, y)
    assert (
        log
        == {
            (1.0, 2.0): ["both", "first"],
            (2.0, 1.0): ["later", "both", "second", "twin"],
            (1.0, 1.0): ["later", "both", "twin"],
        }[x, y]
    )


def test_work_of_two_conds_runs_once_or_never() -> None:
    log: list[str] = []
    a, b = param(0), param(1)
    shared = counting(log, "shared", a)
    p = less(a, b)
    outputs = (cond(p, shared, a), cond(p, add(shared, shared), b))
    run(outputs, 1.0, 2.0)
    assert log == ["shared"]
    log.clear()
    run(outputs, 2.0, 1.0)
    assert log == []


def test_a_predicate_with_effects() -> None:
    log: list[str] = []
    a, b = param(0), param(1)
    shown = build("hook", a, "h", lambda value: log.append("predicate"))
    later = build("hook", a, "h", lambda value: log.append("later predicate"))
    node = build("cond", ((Scoped([shown], less(a, b)), a), (Scoped([later], less(b, a)), b)), a)
    assert run(node, 1.0, 2.0, effects=(node,)) == [1.0] and log == ["predicate"]
    log.clear()
    assert run(node, 2.0, 1.0, effects=(node,)) == [1.0] and log == ["predicate", "later predicate"]


def test_effects_run_in_their_order_and_before_the_rest() -> None:
    log: list[str] = []
    x = param(0)
    a, b, c = (counting(log, name, x) for name in "abc")
    free = counting(log, "free", x)
    run((free, a, b), 1.0, effects=(c, a, b))
    assert log == ["c", "a", "b", "free"]


def test_a_callback_can_not_write_what_others_see() -> None:
    def write(value):
        value[0] = 5

    x = param(0, F, (2,))
    for node in (build("hook", x, "h", write), build("runtime_call", (x,), write, None, {})):
        with pytest.raises(ValueError, match="read-only"):
            run((), np.ones(2), effects=(node,))


def test_values_are_dropped_after_their_last_use() -> None:
    alive: list[weakref.ref] = []
    counts: list[int] = []

    def watch(value: np.ndarray) -> None:
        alive.append(weakref.ref(value.base))
        gc.collect()
        counts.append(sum(each() is not None for each in alive))

    x = param(0, F, (1000,))
    node, hooks = x, []
    for _ in range(6):
        node = build("hook", sin(node), "h", watch)
        hooks.append(node)
    run(node, np.ones(1000), effects=tuple(hooks))
    assert max(counts) <= 2, counts


def test_a_run_keeps_nothing() -> None:
    x = param(0, F, (1000,))
    compiled = compile_graph(Graph((x,), sin(sin(x))))
    argument = np.ones(1000)
    (result,) = compiled(argument)
    refs = [weakref.ref(argument), weakref.ref(result)]
    del argument, result
    gc.collect()
    assert [ref() for ref in refs] == [None, None]


def test_errors_carry_the_users_line() -> None:
    source = lamina.expr.Source("program.py", 12, "f")
    inner = param(0)
    bad = Expr("check", (less(inner, inner), ValueError, "no"), lamina.bool, (), source)
    x = param(0)
    for node in (
        Expr("check", (less(x, x), ValueError, "no"), lamina.bool, (), source),
        build("while", (x,), (inner,), Scoped([bad], less(inner, inner)), (inner,)),
        build("call", build("fun", (inner,), Scoped([bad], inner), "f"), (x,)),
        build("block", "b", (x,), Scoped([bad], inner), None),
        cond(Expr("constant", (True,), lamina.bool, ()), Scoped([put(bad, x)], x), x),
    ):
        with pytest.raises(ValueError, match="no") as raised:
            run(node, 1.0)
        assert raised.value.__notes__ == ["lamina: in check, program.py:12, in f"]


def put(check: Expr, x: Expr) -> Expr:
    return lamina.tree.put_args(check, (less(x, x), *check.args[1:]))


def test_an_unknown_op_and_a_wrong_number_of_arguments() -> None:
    x = param(0)
    with pytest.raises(NotImplementedError, match="the evaluator has no op 'frobnicate'"):
        compile_graph(Graph((x,), Expr("frobnicate", (x,), F, ())))
    with pytest.raises(ValueError, match="argument"):
        compile_graph(Graph((x,), x))(1.0, 2.0)


def test_floating_point_warnings_are_not_given() -> None:
    x = param(0, F, (3,))
    with np.errstate(all="raise"):
        (result,) = run(build("divide", x, build("subtract", x, x)), np.array([1.0, 0.0, -1.0]))
    np.testing.assert_array_equal(result, [np.inf, np.nan, -np.inf])


def test_the_compiler_by_name() -> None:
    x = param(0)
    graph = Graph((x,), sin(x))
    assert compiler_named("evaluator")(graph, {})(np.float64(1)) == [np.sin(1.0)]
    with pytest.raises(TypeError, match=r"the compiler 'evaluator' has the options \['poison'\], but got \['speed'\]"):
        compiler_named("evaluator")(graph, {"speed": 9})
    with pytest.raises(ValueError, match=r"no compiler is named 'fast'; those installed are .*evaluator"):
        compiler_named("fast")


# Deep, shared and random graphs


def test_a_chain_of_a_hundred_thousand_nodes() -> None:
    _, y = chain(100_001)
    expected = 0.5
    for _ in range(100_000):
        expected = np.sin(expected)
    np.testing.assert_allclose(run(y, 0.5), [expected], rtol=0, atol=0)


def test_shared_doubling_is_forty_additions() -> None:
    log: list[str] = []
    x = y = param(0)
    for _ in range(40):
        y = add(counting(log, "", y), y)
    assert run(y, 1.0) == [2.0**40]
    assert len(log) == 40
    assert run(doubling(60)[1], 1.0) == [2.0**60]
    assert x.op == "parameter"


def test_a_chain_of_conds_as_deep_as_it_is_long() -> None:
    log: list[str] = []
    x = y = param(0)
    p = less(x, constant(0.0))
    for _ in range(20_000):
        y = build("cond", ((p, x),), add(y, x))
    y = cond(p, x, counting(log, "", y))
    assert run(y, 1.0) == [20_001.0] and len(log) == 1
    assert run(y, -1.0) == [-1.0] and len(log) == 1  # nothing but the predicate runs


def test_a_chain_of_predicates() -> None:
    x = param(0)
    y = less(x, constant(5.0))
    for _ in range(5_000):
        y = build("cond", ((y, y),), build("logical_not", y))
    assert run(y, 1.0) == [True] and run(y, 9.0) == [True]


def test_a_cond_of_many_clauses() -> None:
    x = param(0)
    clauses = tuple((less(x, constant(float(i))), constant(float(i))) for i in range(1_000))
    node = build("cond", clauses, constant(-1.0))
    assert [run(node, value)[0] for value in (-5.0, 499.5, 998.5, 5000.0)] == [0.0, 500.0, 999.0, -1.0]


def test_random_graphs_against_numpy() -> None:
    nodes = random_graph(20_000)
    arguments = np.random.default_rng(3).random(10)
    values: dict[Expr, float] = {}
    for node in nodes:
        if node.op == "parameter":
            values[node] = arguments[node.args[0]]
        else:
            values[node] = (values[node.args[0]] + values[node.args[1]]) % 1.0
    np.testing.assert_array_equal(run(modulo_one(nodes), *arguments), list(values.values()))


def modulo_one(nodes: list[Expr]) -> list[Expr]:
    """The same graph with each sum taken modulo 1."""
    new: dict[Expr, Expr] = {}
    one = constant(1.0)
    for node in nodes:
        if node.op == "parameter":
            new[node] = node
        else:
            new[node] = build("remainder", add(new[node.args[0]], new[node.args[1]]), one)
    return [new[node] for node in nodes]


def test_random_programs_with_branches_against_python(rng) -> None:
    """Sums, products and conds at random, against a plain evaluation of the same."""
    for _ in range(60):
        nodes: list[Expr] = [param(0), param(1), constant(0.5)]
        plain = [lambda a, b: a, lambda a, b: b, lambda a, b: 0.5]
        for _ in range(int(rng.integers(3, 30))):
            i, j, k = (int(n) for n in rng.integers(len(nodes), size=3))
            f, g, h = plain[i], plain[j], plain[k]
            if rng.random() < 0.5:
                nodes.append(build("multiply", nodes[i], nodes[j]))
                plain.append(lambda a, b, f=f, g=g: f(a, b) * g(a, b))
            else:
                nodes.append(cond(less(nodes[i], nodes[j]), nodes[k], nodes[j]))
                plain.append(lambda a, b, f=f, g=g, h=h: h(a, b) if f(a, b) < g(a, b) else g(a, b))
        a, b = rng.normal(size=2)
        picks = [int(n) for n in rng.integers(len(nodes), size=3)]
        assert run([nodes[n] for n in picks], a, b) == [plain[n](a, b) for n in picks]
