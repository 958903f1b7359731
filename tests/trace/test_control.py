"""The explicit forms: loops, branches, functions, blocks, effects and notes; eager and traced, against plain Python."""

import functools
import itertools
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import lamina
from lamina.errors import EscapedValueError, TraceError
from lamina.expr import check as check_graph
from lamina.expr.tree import all_nodes

Pair = namedtuple("Pair", "second first")


@dataclass
class State:
    """A carry with names."""

    i: object
    total: object


def ops(graph) -> list[str]:
    """The ops of a graph's own scope, in order."""
    return [node.op for node in graph.order]


def all_ops(graph) -> list[str]:
    """The ops of every scope."""
    return sorted(node.op for node in all_nodes((graph.effects, graph.outputs)))


def both(function, *args):
    """The result of a compiled function, when its graph is right and calling it outside a trace gives the same."""
    traced = lamina.trace(function, *args)
    check_graph(traced)
    result = lamina.defn(function)(*args)
    eager = function(*args)
    assert_same(eager, result)
    return result


def assert_same(left, right) -> None:
    """Equal containers of equal arrays."""
    left_leaves, left_structure = lamina.expr.containers.flatten(left)
    right_leaves, right_structure = lamina.expr.containers.flatten(right)
    assert left_structure == right_structure
    for a, b in zip(left_leaves, right_leaves, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


class Counter:
    """A callback that counts its calls and passes its argument on."""

    def __init__(self, log: list | None = None, name: str = "") -> None:
        self.calls = 0
        self.log = [] if log is None else log
        self.name = name

    def __call__(self, value):
        self.calls += 1
        self.log.append(self.name)
        return np.array(value)


def counted(x, counter: Counter):
    """`x`, and one more call of the counter each time it is computed."""
    return lamina.runtime_call(counter, x, x)


# cond


@pytest.mark.parametrize("p", [True, False, 0, 3, 0.0, -0.5, np.True_, np.int8(0), np.array(2.5), np.array(False)])
def test_cond_takes_one_branch(p) -> None:
    x = np.array([1.0, 2.0])
    result = both(lambda p, x: lamina.cond(p, lambda v: v + 1, lambda v: v * 10, x), p, x)
    np.testing.assert_array_equal(result, x + 1 if p else x * 10)


@pytest.mark.parametrize("n", [-1, 0, 1, 2])
def test_branch_work_runs_in_its_branch_alone_and_shared_work_once(n: int) -> None:
    counters = {name: Counter() for name in ("before", "shared", "yes", "no", "after")}

    def program(n):
        before = counted(n * 2.0, counters["before"])
        shared = counted(n + 0.5, counters["shared"])
        result = lamina.cond(
            n > 0,
            lambda: counted(before, counters["yes"]) + shared,
            lambda: counted(before, counters["no"]) - shared,
        )
        return counted(result, counters["after"])

    compiled = lamina.defn(program)
    expected = n * 2.0 + (n + 0.5) if n > 0 else n * 2.0 - (n + 0.5)
    assert compiled(np.int64(n)) == expected
    assert {name: counter.calls for name, counter in counters.items()} == {
        "before": 1,
        "shared": 1,
        "yes": int(n > 0),
        "no": int(n <= 0),
        "after": 1,
    }


@pytest.mark.parametrize("p", [True, False])
def test_pure_work_of_a_branch_made_outside_of_it_runs_on_demand(p: bool) -> None:
    """What one branch alone uses is its work, wherever it is written."""
    seen = []

    def program(p, x):
        costly = np.sqrt(x)  # NaN with no warning where it runs; the graph says where it is used
        return lamina.cond(p, lambda: costly + 1, lambda: x)

    traced = lamina.trace(program, np.True_, 2.0)
    in_scope = lamina.tree.scope_ids(traced.outputs)
    (root,) = [node for node in traced.order if node.op == "sqrt"]
    assert root.id not in in_scope and not seen
    assert lamina.defn(program)(np.bool_(p), 4.0) == (3.0 if p else 4.0)


def test_cond_containers_and_captures() -> None:
    def program(p, x):
        y = x * 2
        return lamina.cond(
            p,
            lambda: {"b": Pair(x, (y, None)), "a": State(1, [x])},
            lambda: {"b": Pair(y, (x, None)), "a": State(2, [y])},
        )

    x = np.array([1, 2])
    for p in (True, False):
        one, two = (x, x * 2) if p else (x * 2, x)
        assert_same(both(program, p, x), {"b": Pair(one, (two, None)), "a": State(1 if p else 2, [one])})


@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        (np.int32(1), np.float32(2), np.float64),
        (np.int32(1), np.int64(2), np.int64),
        (np.float32(1), 2, np.float32),
        (np.float32(1), 2.5, np.float32),
        (1, 2.5, np.float64),
        (np.uint8(1), np.int8(2), np.int16),
        (True, np.int8(2), np.int8),
        (np.float32(1), 1j, np.complex64),
    ],
)
def test_cond_promotes_as_where_does(a, b, dtype) -> None:
    for p in (True, False):
        for left, right in ((a, b), (b, a)):
            result = lamina.defn(lambda p, x, y: lamina.cond(p, lambda: x, lambda: y))(p, left, right)
            assert np.asarray(result).dtype == dtype
            assert result == (left if p else right)
            assert np.asarray(lamina.cond(p, lambda: left, lambda: right)).dtype == dtype  # noqa: B023


def test_cond_results_are_of_the_branches_kinds() -> None:
    f = lamina.defn(lambda p, x, y: lamina.cond(p, lambda: x, lambda: y))
    assert type(f(True, 1, 2)) is int
    assert type(f(True, 1.5, 2)) is float
    assert type(f(True, np.float32(1), 2)) is np.float32
    assert type(f(True, np.array(1.0), 2.0)) is np.ndarray


def test_cond_that_nests_and_chains() -> None:
    def program(x):
        def sign(v):
            return lamina.cond(v > 0, lambda: 1, lambda: lamina.cond(v < 0, lambda: -1, lambda: 0))

        return [sign(v) for v in (x, -x, x - x)] + [lamina.cond(x > 1, sign, lambda v: sign(-v), x)]

    for x in (-2.0, 0.0, 0.5, 3.0):
        assert both(program, x) == [np.sign(x), -np.sign(x), 0, np.sign(x) if x > 1 else -np.sign(x)]


def test_a_branch_may_return_nothing_or_its_argument() -> None:
    assert both(lambda p: lamina.cond(p, lambda: None, lambda: None), True) is None
    assert both(lambda p: lamina.cond(p, lambda: (), lambda: ()), False) == ()
    x = np.arange(3)
    np.testing.assert_array_equal(both(lambda p, x: lamina.cond(p, lambda v: v, lambda v: v, x), True, x), x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda x: lamina.cond(x, lambda: 1, lambda: 2),
            TypeError,
            r"cond: predicate must be one bool, but it is float64\[2\]",
        ),
        (
            lambda x: lamina.cond("p", lambda: 1, lambda: 2),
            TypeError,
            "cond: predicate must be an array or a number.*'p'",
        ),
        (lambda x: lamina.cond(True, 1, lambda: 2), TypeError, "cond: true_fn must be a function, but it is 1"),
        (lambda x: lamina.cond(True, lambda: 1, None), TypeError, "cond: false_fn must be a function, but it is None"),
        (
            lambda x: lamina.cond(True, lambda: x, lambda: x[0]),
            TypeError,
            r"different shapes: .* float64\[2\].* float64\[\]",
        ),
        (lambda x: lamina.cond(True, lambda: (x,), lambda: x), TypeError, r"different containers: .*\(\*,\).*\*"),
        (lambda x: lamina.cond(True, lambda: {"a": x}, lambda: {"b": x}), TypeError, "different containers.*'a'.*'b'"),
        (
            lambda x: lamina.cond(True, lambda: {"a": [x, x]}, lambda: {"a": [x, 1.0]}),
            TypeError,
            r"\['a'\]\[1\] is float64",
        ),
        (lambda x: lamina.cond(True, lambda: "s", lambda: x), TypeError, "must be an array or a number, but it is 's'"),
        (lambda x: lamina.cond(True, lambda v: v, lambda v: v), TypeError, "missing 1 required positional argument"),
    ],
)
def test_what_a_cond_refuses(call, error, message) -> None:
    for f in (call, lamina.defn(call)):
        with pytest.raises(error, match=message):
            f(np.array([1.0, 2.0]))


def test_a_chain_of_thousands_of_nested_conds() -> None:
    """Each cond's branch uses the one before: as deep as it is long, and linear."""

    def program(x):
        # a fold, which isn't staged as a loop is
        return functools.reduce(lambda y, _: lamina.cond(y < 1e9, lambda: y + 1.0, lambda: x), range(3_000), x)

    assert lamina.defn(program)(np.float64(0)) == 3_000.0
    traced = lamina.trace(program, np.float64(0))
    assert str(traced).count("cond(") == 3_000


def test_shared_conds_run_once() -> None:
    counter = Counter()

    def program(x):
        y = x
        for _ in range(40):
            y = lamina.cond(y < 1e9, lambda y=y: counted(y, counter) + y, lambda y=y: y + y)
        return y

    assert lamina.defn(program)(np.float64(1)) == 2.0**40
    assert counter.calls == 30  # 2**30 is the first above 1e9


# while_loop and fori_loop


def test_while_loop() -> None:
    def program(n):
        return lamina.while_loop(
            lambda c: c["i"] < n, lambda c: {"i": c["i"] + 1, "f": c["f"] * (c["i"] + 1)}, {"i": 0, "f": 1}
        )

    assert both(program, 10) == {"i": 10, "f": 3628800}
    assert both(program, 0) == {"i": 0, "f": 1}


def test_a_bare_carry_and_containers() -> None:
    assert both(lambda n: lamina.while_loop(lambda c: c < n, lambda c: c * 2, 1), 100) == 128
    result = both(
        lambda n: lamina.while_loop(lambda s: s.i < n, lambda s: State(s.i + 1, s.total + s.i), State(0, 0)), 5
    )
    assert result == State(5, 10)
    result = both(
        lambda n: lamina.while_loop(lambda p: p.first < n, lambda p: Pair(p.first, p.first + 1), Pair(0, 0)), 3
    )
    assert result == Pair(2, 3)


def test_a_captured_value_is_an_input_of_the_loop() -> None:
    def program(y):
        z = y * 2
        first = lamina.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, y), (0, 0.0))
        second = lamina.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, z), (0, 0.0))
        return first, second

    assert both(program, 7.5) == ((3, 7.5), (3, 15.0))


def test_constants_for_a_carry() -> None:
    def program(a, b):
        return lamina.while_loop(lambda c: c[1] < 10, lambda c: (7, c[1] + 1), (a, b))

    assert both(program, 33, 4) == (7, 10)
    assert both(program, 33, 12) == (33, 12)
    assert both(lambda x: lamina.fori_loop(0, 2, lambda i, c: 5, x), np.float32(1)) == 5.0
    result = lamina.defn(lambda x: lamina.fori_loop(0, 2, lambda i, c: 5, x))(np.float32(1))
    assert type(result) is np.float32


@pytest.mark.parametrize(
    ("initial", "body", "expected", "kind"),
    [
        (0, lambda c: c + 1, 3, int),
        (0.0, lambda c: c + 1, 3.0, float),
        (0, lambda c: c + 0.5, 1.5, float),  # starts as the float it becomes
        (0, lambda c: c + 1j, 3j, complex),
        (1.5, lambda c: 2, 2.0, float),  # a number takes the carry's dtype
        (0, lambda c: c + np.float32(1), 3.0, np.float32),
        (0, lambda c: c + np.int8(1), 3, np.int8),
        (False, lambda c: c + np.uint8(1), 3, np.uint8),
        (np.float32(0), lambda c: c + 1, 3.0, np.float32),
        (np.float32(0), lambda c: 7, 7.0, np.float32),
    ],
)
def test_numbers_in_the_carry_are_weak(initial, body, expected, kind) -> None:
    result = both(lambda x: lamina.fori_loop(0, 3, lambda i, c: body(c), initial), 0)
    assert result == expected and type(result) is kind


def test_a_traced_number_from_outside_starts_as_what_it_becomes() -> None:
    def program(n, x):
        def outer(i, total):
            # n is the root's, the loop inside starts with it, and its carry becomes a float
            return total + lamina.fori_loop(0, 2, lambda j, c: c + x, n)

        return lamina.fori_loop(0, 3, outer, 0.0)

    assert both(program, 4, 0.5) == 15.0


@pytest.mark.parametrize(
    ("body", "initial", "message"),
    [
        (lambda c: (c[0] + 1, c[1] + 0.5), (0, np.int64(1)), r"the dtype of carry\[1\] from int64 to float64"),
        (
            lambda c: (c[0] + 1, c[1].astype(np.float32)),
            (0, np.zeros(2)),
            r"the dtype of carry\[1\] from float64 to float32",
        ),
        (lambda c: (c[0] + 1, c[1][:1]), (0, np.zeros(2)), r"the shape of carry\[1\] from \(2,\) to \(1,\)"),
        (lambda c: (c[0] + 1, c[1].sum()), (0, np.zeros(2)), r"the shape of carry\[1\] from \(2,\) to \(\)"),
        (lambda c: (c[0] + 1, c[1] + np.zeros(2)), (0, 0), r"the shape of carry\[1\] from \(\) to \(2,\)"),
        (
            lambda c: (c[0] + 1, {"a": [c[1]["a"][0] > 0]}),
            (0, {"a": [np.int8(1)]}),
            r"the dtype of carry\[1\]\['a'\]\[0\] from int8",
        ),
        (lambda c: (c[0] + 1, c[1], 0), (0, 0), r"another container than the carry: \(\*, \*, \*\), .*is \(\*, \*\)"),
        (lambda c: c[0] + 1, (0, 0), r"another container than the carry: \*, "),
        (lambda c: (c[0] + 1, "s"), (0, 0), r"carry\[1\] must be an array or a number, but it is 's'"),
        (lambda c: None, (0, 0), "another container than the carry: None"),
    ],
)
def test_a_carry_that_changes_is_named(body, initial, message) -> None:
    for wrap in (lambda f: f, lamina.defn):
        with pytest.raises(TypeError, match=message) as raised:
            wrap(lambda: lamina.while_loop(lambda c: c[0] < 3, body, initial))()
        assert "lamina.while_loop:" in str(raised.value) and "test_control.py:" in str(raised.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lamina.while_loop(1, lambda c: c, 0), "while_loop: condition must be a function, but it is 1"),
        (lambda: lamina.while_loop(lambda c: True, "b", 0), "while_loop: body must be a function, but it is 'b'"),
        (
            lambda: lamina.while_loop(lambda c: c, lambda c: c, np.zeros(2)),
            r"condition\(carry\) must be one bool.*float64\[2\]",
        ),
        (lambda: lamina.while_loop(lambda c: "x", lambda c: c, 0), r"condition\(carry\) must be an array or a number"),
        (
            lambda: lamina.while_loop(lambda c: True, lambda c: c, "x"),
            "carry must be an array or a number, but it is 'x'",
        ),
        (
            lambda: lamina.fori_loop(0.5, 3, lambda i, c: c, 0),
            r"fori_loop: start must be one integer, but it is float64\[\]",
        ),
        (
            lambda: lamina.fori_loop(0, np.zeros(2, int), lambda i, c: c, 0),
            r"stop must be one integer, but it is int64\[2\]",
        ),
        (lambda: lamina.fori_loop(0, None, lambda i, c: c, 0), "stop must be an array or a number, but it is None"),
        (lambda: lamina.fori_loop(0, 3, None, 0), "fori_loop: body must be a function, but it is None"),
    ],
)
def test_what_a_loop_refuses(call, message) -> None:
    for f in (call, lamina.defn(call)):
        with pytest.raises(TypeError, match=message):
            f()


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (3, 5), (5, 5), (7, 2), (-3, 2), (np.int8(1), np.uint8(4))])
def test_fori_loop_runs_as_range(start, stop) -> None:
    expected = []
    for i in range(start, stop):
        expected.append(i)  # noqa: PERF402
    total, turns = both(lambda a, b: lamina.fori_loop(a, b, lambda i, c: (c[0] + i * i, c[1] + 1), (0, 0)), start, stop)
    assert (total, turns) == (sum(i * i for i in expected), len(expected))


def test_fori_loop_over_elements() -> None:
    x = np.array([3.0, 1.0, 2.0])
    result = both(lambda x: lamina.fori_loop(0, x.shape[0], lambda i, c: c * 10 + lamina.take(x, i), 0.0), x)
    assert result == 312.0


def test_loops_in_loops_capture_through_several_levels() -> None:
    def program(x, n):
        def outer(i, total):
            scale = x * i

            def middle(j, inner_total):
                def inner(k, t):
                    return t + scale + x * j + n + i

                return lamina.fori_loop(0, 2, inner, inner_total)

            return lamina.fori_loop(0, n, middle, total)

        return lamina.fori_loop(0, n, outer, x * 0.0)

    def plain(x, n):
        total = x * 0.0
        for i, j, _ in itertools.product(range(n), range(n), range(2)):
            total = total + x * i + x * j + n + i
        return total

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(both(program, x, 3), plain(x, 3))
    assert "while" in ops(lamina.trace(program, x, 3))


def test_inner_scopes_are_closed() -> None:
    """A captured value becomes a parameter: no node of a scope is used in another."""

    def program(x, n):
        y = np.sin(x)
        return lamina.fori_loop(0, n, lambda i, c: lamina.cond(c.sum() > n, lambda: c + y, lambda: y * x), x)

    traced = lamina.trace(program, np.ones(3), 4)
    check_graph(traced)
    (loop,) = [node for node in traced.order if node.op == "while"]
    initial, arg, condition, body = loop.args
    assert len(initial) == len(arg) == len(body)
    assert {node.op for node in initial} == {"parameter", "constant", "sin"}
    outer = set(traced.order) - {node for node in traced.order if node.op in ("constant", "tensor")}
    assert not outer & set(all_nodes((arg, condition, body)))


def test_a_loop_in_a_branch_runs_when_it_is_taken() -> None:
    counter = Counter()

    def program(p, x):
        return lamina.cond(p, lambda: lamina.fori_loop(0, 3, lambda i, c: counted(c, counter) + 1, x), lambda: x)

    compiled = lamina.defn(program)
    assert compiled(False, np.float64(1)) == 1 and counter.calls == 0
    assert compiled(True, np.float64(1)) == 4 and counter.calls == 3


def test_a_loops_results_are_used_by_a_cond_and_it_runs_once() -> None:
    counter = Counter()

    def program(x):
        flag, total = lamina.while_loop(
            lambda c: c[1] < 10, lambda c: (c[1] > 5, counted(c[1], counter) + x), (np.False_, x)
        )
        return lamina.cond(flag, lambda: total * 2, lambda: total)

    assert lamina.defn(program)(np.float64(3)) == 24.0
    assert counter.calls == 3


def test_the_condition_may_compute_what_the_body_uses() -> None:
    counter = Counter()

    def program(x):
        kept = []

        def condition(c):
            kept.append(counted(c * c, counter))
            return kept[-1] < 100

        return lamina.while_loop(condition, lambda c: c + kept[-1], x)

    assert lamina.defn(program)(np.float64(2)) == 42.0  # 2, 6, 42
    assert counter.calls == 3


# fun


def test_a_fun_that_is_called_fifty_times_is_one_node() -> None:
    traces = []

    @lamina.fun
    def step(x, k):
        traces.append(1)
        return np.sin(x) + k * x

    def program(x):
        return functools.reduce(lambda x, _: step(x, 0.5), range(50), x)

    def looped(x):
        for _ in range(50):
            x = step(x, 0.5)
        return x

    x = np.array([1.0, 2.0])
    traced = lamina.trace(program, x)
    check_graph(traced)
    assert len(traces) == 1
    assert ops(traced).count("fun") == 1 and ops(traced).count("call") == 50
    assert all_ops(traced).count("sin") == 1
    staged = lamina.trace(looped, x)
    assert ops(staged).count("while") == 1 and all_ops(staged).count("call") == all_ops(staged).count("fun") == 1
    expected = x
    for _ in range(50):
        expected = np.sin(expected) + 0.5 * expected
    np.testing.assert_array_equal(lamina.defn(program)(x), expected)
    np.testing.assert_array_equal(lamina.defn(looped)(x), expected)


def test_a_fun_is_traced_for_each_structure() -> None:
    traces = []

    @lamina.fun
    def twice(tree):
        traces.append(1)
        return {"out": [leaf * 2 for leaf in tree]}

    def program(x, n):
        return twice((x,)), twice((x + 1,)), twice((n,)), twice([x]), twice((x, n))

    x = np.array([1.0, 2.0])
    result = both(program, x, 3)
    assert_same(result, tuple({"out": out} for out in ([x * 2], [x * 2 + 2], [6], [x * 2], [x * 2, 6])))
    traces.clear()
    lamina.trace(program, x, 3)
    assert len(traces) == 4


def test_a_fun_captures_and_is_used_in_inner_scopes() -> None:
    def program(x, n):
        y = x * 2

        @lamina.fun
        def shifted(v):
            return v + y + n

        inside = lamina.fori_loop(0, 3, lambda i, c: shifted(c), x)
        return (
            shifted(x),
            inside,
            lamina.fori_loop(0, 2, lambda i, c: lamina.fori_loop(0, 2, lambda j, d: shifted(d), c), x),
        )

    x = np.array([1.0, 2.0])
    once, inside, deep = both(program, x, 1)
    np.testing.assert_array_equal(once, 3 * x + 1)
    np.testing.assert_array_equal(inside, x + 3 * (2 * x + 1))
    np.testing.assert_array_equal(deep, x + 4 * (2 * x + 1))


def test_a_fun_first_traced_in_an_inner_scope_serves_the_outer_one() -> None:
    def program(x):
        y = x + 1

        @lamina.fun
        def free(v):
            return v * 3

        @lamina.fun
        def capturing(v):
            return v * y

        inside = lamina.fori_loop(0, 2, lambda i, c: capturing(free(c)), x)
        return inside, capturing(free(x))

    inside, outside = both(program, np.float64(2))
    assert (inside, outside) == (2 * 81, 18)


def test_funs_that_call_funs() -> None:
    @lamina.fun
    def inner(x):
        return x + 1

    @lamina.fun
    def outer(x):
        return inner(inner(x)) * 2

    traced = lamina.trace(lambda x: outer(outer(inner(x))), np.ones(2))
    check_graph(traced)
    assert all_ops(traced).count("fun") == 2 and all_ops(traced).count("call") == 5
    np.testing.assert_array_equal(both(lambda x: outer(outer(inner(x))), np.ones(2)), [20.0, 20.0])


def test_a_fun_that_calls_itself() -> None:
    @lamina.fun
    def forever(x):
        return forever(x + 1)

    with pytest.raises(TraceError, match="forever calls itself, which has no end while it is traced"):
        lamina.defn(lambda x: forever(x))(1.0)

    @lamina.fun
    def fails(x):
        raise ZeroDivisionError("once")

    def program(x):
        for _ in range(2):  # the second call is no recursion
            with pytest.raises(ZeroDivisionError):
                fails(x)
        return x

    assert lamina.defn(program)(2.0) == 2.0


def test_funs_and_numbers() -> None:
    @lamina.fun
    def power(x, n):
        return x * n + 1

    assert both(lambda n: power(power(n, 2), 3), 5) == 34
    assert type(both(lambda n: power(n, 2), 5)) is int
    with pytest.raises(TypeError, match="fun's argument must be a function, but it is 3"):
        lamina.fun(3)
    with pytest.raises(TypeError, match=r"args\[0\] must be an array or a number, but it is 's'"):
        lamina.defn(lambda x: power("s", x))(1)


def test_repr_and_name_of_a_fun() -> None:
    @lamina.fun
    def documented(x):
        """What it does."""
        return x

    assert repr(documented) == "lamina.fun(documented)" and documented.__doc__ == "What it does."


# block


def test_a_block_is_one_unit_with_a_default() -> None:
    def program(x, y):
        return lamina.block("axpy", lambda a, tree, scale: a * scale + tree["y"], x, {"y": y, "mode": "fast"}, 3)

    x, y = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    traced = lamina.trace(program, x, y)
    check_graph(traced)
    (block,) = [node for node in traced.order if node.op == "block"]
    struct, in_args, _, callback = block.args
    assert struct == "axpy" and callback is None
    assert in_args == (traced.params[0], {"y": traced.params[1], "mode": "fast"}, 3)
    assert lamina.tree.operands(block) == traced.params
    np.testing.assert_array_equal(both(program, x, y), 3 * x + y)


@pytest.mark.parametrize(
    "option", [np.float32, lamina.float32, np.dtype("f4"), "s", None, 3, (1, 2), len, lamina.Spec("f4")]
)
def test_what_is_no_array_is_an_option(option) -> None:
    met = []

    def default(x, given):
        met.append(given)
        return x

    traced = lamina.trace(lambda x: lamina.block("b", default, x, option), np.ones(2))
    assert met == [option] and type(met[0]) is type(option)
    (block,) = [node for node in traced.order if node.op == "block"]
    assert block.args[1][1] == option


def test_a_block_captures_nests_and_returns_containers() -> None:
    def program(x, n):
        y = x * 2

        def default(a):
            inner = lamina.block("inner", lambda b: b + y, a)
            return {"sum": inner + n, "pair": (a, [y])}

        return lamina.block("outer", default, x)

    x = np.array([1.0, 2.0])
    assert_same(both(program, x, 5), {"sum": 3 * x + 5, "pair": (x, [2 * x])})


def test_a_block_in_a_loop_and_with_effects() -> None:
    log: list = []

    def program(x):
        def default(a):
            return lamina.hook(a + 1, "turn", lambda v: log.append(float(v)))

        return lamina.fori_loop(0, 3, lambda i, c: lamina.block("b", default, c), x)

    traced = lamina.trace(program, np.float64(0))
    check_graph(traced)
    assert [node.op for node in traced.effects] == ["while"]
    assert lamina.tree.has_hooks(traced.outputs, ["turn"])
    assert lamina.defn(program)(np.float64(0)) == 3.0 and log == [1.0, 2.0, 3.0]


# Effects


def test_effects_keep_their_order_everywhere() -> None:
    log: list[str] = []

    def shown(x, name):
        return lamina.hook(x, name, lambda value: log.append(name))

    @lamina.fun
    def fun(x):
        return shown(x, "fun") + 1

    def program(x, p):
        unused = shown(x * 3, "first")
        y = lamina.cond(p, lambda: shown(shown(x, "yes 1"), "yes 2"), lambda: shown(x, "no"))
        y = fun(y)
        shown(y, "between")
        del unused
        y = lamina.fori_loop(0, 2, lambda i, c: shown(c, "turn") + 1, y)
        y = lamina.block("b", lambda a: shown(a, "block"), y)
        lamina.runtime_call(lambda v: log.append("call") or v, x, x)
        lamina.check(y > -100, ValueError, "never")
        fun(y)
        return shown(y, "last")

    compiled = lamina.defn(program)
    expected = ["fun", "between", "turn", "turn", "block", "call", "fun", "last"]
    assert compiled(np.float64(1), True) == 4.0
    assert log == ["first", "yes 1", "yes 2", *expected]
    log.clear()
    assert compiled(np.float64(1), np.False_) == 4.0
    assert log == ["first", "no", *expected]
    check_graph(lamina.trace(program, np.float64(1), True))


def test_effects_in_a_condition() -> None:
    log: list = []

    def program(n):
        def condition(c):
            lamina.hook(c, "condition", lambda v: log.append(("condition", int(v))))
            return c < n

        def body(c):
            lamina.hook(c, "body", lambda v: log.append(("body", int(v))))
            return c + 1

        return lamina.while_loop(condition, body, 0)

    assert lamina.defn(program)(2) == 2
    assert log == [("condition", 0), ("body", 0), ("condition", 1), ("body", 1), ("condition", 2)]


def test_an_effect_whose_result_nobody_uses_runs_at_each_call() -> None:
    counter = Counter()
    f = lamina.defn(lambda x: (lamina.runtime_call(counter, x, x), x)[1])
    for n in range(1, 4):
        f(np.float64(1))
        assert counter.calls == n


def test_what_ran_before_an_error_has_run_and_nothing_after() -> None:
    log: list = []

    def program(x):
        lamina.hook(x, "a", lambda v: log.append("before"))
        lamina.check(x > 0, ValueError, "x must be positive")
        lamina.hook(x, "b", lambda v: log.append("after"))
        return x

    compiled = lamina.defn(program)
    assert compiled(1.0) == 1.0 and log == ["before", "after"]
    log.clear()
    with pytest.raises(ValueError) as raised:
        compiled(-1.0)
    assert str(raised.value) == "x must be positive"
    assert log == ["before"]


# hook, runtime_call, check, metadata


def test_a_hook_shows_numpy_arrays_in_the_same_container_and_passes_the_value_on() -> None:
    shown: list = []

    def program(x, n):
        return lamina.hook({"b": x * 2, "a": (n, [x.sum()])}, "h", shown.append)

    x = np.array([1.0, 2.0])
    result = lamina.defn(program)(x, 3)
    assert_same(result, {"b": x * 2, "a": (3, [3.0])})
    (value,) = shown
    assert list(value) == ["b", "a"] and type(value["b"]) is np.ndarray
    np.testing.assert_array_equal(value["b"], x * 2)
    assert value["a"][0] == 3 and value["a"][1] == [3.0]
    with pytest.raises(ValueError, match="read-only"):
        value["b"][0] = 5
    assert lamina.tree.has_hooks(lamina.trace(program, x, 3).outputs, ["h"])


def test_a_hook_without_a_callback_is_for_compilers() -> None:
    assert lamina.defn(lambda x: lamina.hook(x, "point") + 1)(1.0) == 2.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: lamina.hook(1.0, 3), TypeError, "hook: name must be a string, but it is 3"),
        (lambda: lamina.hook((), "h"), ValueError, "hook: value has no array to show"),
        (lambda: lamina.hook("s", "h"), TypeError, "hook: value must be an array or a number, but it is 's'"),
        (lambda: lamina.metadata(1.0, 3), TypeError, "metadata: note must be a dict, but it is 3"),
        (lambda: lamina.metadata("x", {}), TypeError, "metadata: value must be an array or a number"),
        (lambda: lamina.check(True, "ValueError", "m"), TypeError, "check: exception must be a class of exceptions"),
        (
            lambda: lamina.check(True, KeyboardInterrupt, "m"),
            TypeError,
            "check: exception must be a class of exceptions",
        ),
        (
            lambda: lamina.check(np.ones(2), ValueError, "m"),
            TypeError,
            r"check: predicate must be one bool.*float64\[2\]",
        ),
        (lambda: lamina.check("x", ValueError, "m"), TypeError, "check: predicate must be an array or a number"),
        (lambda: lamina.block("b", 3, 1.0), TypeError, "block: default must be a function, but it is 3"),
        (
            lambda: lamina.block("b", lambda x: "s", np.ones(2)),
            TypeError,
            "must be an array or a number, but it is 's'",
        ),
        (
            lambda: lamina.runtime_call(3, lamina.Spec("f4")),
            TypeError,
            "runtime_call: callback must be a function, but it is 3",
        ),
        (
            lambda: lamina.runtime_call(len, "f4"),
            TypeError,
            "template must hold lamina.Spec or arrays, but a leaf is 'f4'",
        ),
        (lambda: lamina.runtime_call(len, np.float32), TypeError, "template must hold lamina.Spec or arrays"),
        (
            lambda: lamina.runtime_call(len, lamina.Spec("f4"), "s"),
            TypeError,
            "argument of the callback must be an array",
        ),
    ],
)
def test_what_the_others_refuse(call, error, message) -> None:
    for f in (call, lamina.defn(call)):
        with pytest.raises(error, match=message):
            f()


def test_a_runtime_call_gets_numpy_and_gives_the_template() -> None:
    def callback(x, tree, *, scale):
        assert type(x) is np.ndarray and not x.flags.writeable
        assert type(tree["n"]) is np.ndarray and tree["n"].dtype == np.int64
        return {"total": np.sum(x) * scale, "rows": [x[::-1], x > 1]}

    def program(x, n):
        template = {"total": lamina.Spec(np.float64), "rows": [lamina.Spec(np.float64, (3,)), lamina.Spec(bool, (3,))]}
        return lamina.runtime_call(callback, template, x, {"n": n}, scale=2)

    x = np.array([1.0, 2.0, 3.0])
    assert_same(both(program, x, 3), {"total": 12.0, "rows": [x[::-1], x > 1]})


def test_a_template_may_be_arrays_and_a_callback_may_give_nothing() -> None:
    x = np.array([3.0, 1.0])
    np.testing.assert_array_equal(both(lambda x: lamina.runtime_call(np.sort, x, x), x), [1.0, 3.0])
    log: list = []
    assert both(lambda x: lamina.runtime_call(lambda v: log.append(v), None, x), x) is None
    assert len(log) == 2


def test_the_callbacks_own_array_is_not_kept() -> None:
    mine = np.array([1.0, 2.0])
    f = lamina.defn(lambda: lamina.runtime_call(lambda: mine, lamina.Spec(np.float64, (2,))))
    first = f()
    mine[0] = 5
    np.testing.assert_array_equal(first, [1.0, 2.0])
    np.testing.assert_array_equal(f(), [5.0, 2.0])


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros(3), r"returned float64\[3\], but the template has float64\[2\]"),
        (np.zeros(2, np.float32), r"returned float32\[2\], but the template has float64\[2\]"),
        (np.zeros((2, 1)), r"returned float64\[2, 1\], but the template has float64\[2\]"),
        (1.0, r"returned float64\[\], but the template has float64\[2\]"),
        ((np.zeros(2),), r"returned \(\*,\), but the template is \*"),
        (None, r"returned None, but the template is \*"),
        ("text", r"callback returned <U4\[\], but the template has float64\[2\]"),
        (object(), r"callback returned object\[\], but the template has float64\[2\]"),
    ],
)
def test_a_callback_that_returns_something_else(returned, message) -> None:
    def callback(x):
        return returned

    f = lamina.defn(lambda x: lamina.runtime_call(callback, lamina.Spec(np.float64, (2,)), x))
    with pytest.raises(TypeError, match=message) as raised:
        f(np.zeros(2))
    assert any("test_control.py:" in note for note in raised.value.__notes__)
    with pytest.raises(TypeError, match=message):
        lamina.runtime_call(callback, lamina.Spec(np.float64, (2,)), np.zeros(2))


def test_what_a_callback_raises_is_its_own() -> None:
    class Own(Exception):
        pass

    def callback(x):
        raise Own("exactly this")

    for form in (
        lambda x: lamina.hook(x, "h", callback),
        lambda x: lamina.runtime_call(callback, x, x),
        lambda x: lamina.cond(True, lambda: lamina.hook(x, "h", callback), lambda: x),
        lambda x: lamina.fori_loop(0, 1, lambda i, c: lamina.hook(c, "h", callback), x),
    ):
        for f in (form, lamina.defn(form)):
            with pytest.raises(Own) as raised:
                f(np.ones(2))
            assert str(raised.value) == "exactly this"


def test_a_callback_may_use_lamina() -> None:
    compiled = lamina.defn(lambda x: x * 2)

    def callback(x):
        return np.asarray(compiled(x)) + np.asarray(lamina.add(x, 1.0))

    np.testing.assert_array_equal(both(lambda x: lamina.runtime_call(callback, x, x), np.ones(2)), [4.0, 4.0])


def test_check() -> None:
    f = lamina.defn(lambda x: (lamina.check(x.sum() > 0, ArithmeticError, "the sum is {not} positive"), x + 1)[1])
    np.testing.assert_array_equal(f(np.ones(2)), [2.0, 2.0])
    with pytest.raises(ArithmeticError) as raised:
        f(-np.ones(2))
    assert str(raised.value) == "the sum is {not} positive"
    assert any("test_control.py:" in note for note in raised.value.__notes__)
    lamina.check(True, ValueError, "fine")
    with pytest.raises(ValueError) as raised:
        lamina.check(lamina.asarray(0), ValueError, "not fine")
    assert str(raised.value) == "not fine"


def test_a_check_in_a_branch_or_loop_runs_there_alone() -> None:
    def program(p, x):
        def risky():
            lamina.check(x > 0, ValueError, "negative")
            return x

        return lamina.cond(p, risky, lambda: -x)

    compiled = lamina.defn(program)
    assert compiled(False, -1.0) == 1.0 and compiled(True, 1.0) == 1.0
    with pytest.raises(ValueError, match="negative"):
        compiled(True, -1.0)

    def looped(n):
        return lamina.fori_loop(0, n, lambda i, c: (lamina.check(i < 3, IndexError, "i is 3"), c + i)[1], 0)

    assert lamina.defn(looped)(3) == 3
    with pytest.raises(IndexError, match="i is 3"):
        lamina.defn(looped)(4)


def test_metadata_is_a_note_and_no_part_of_the_meaning() -> None:
    def program(x, y):
        noted = lamina.metadata({"x": x * 2, "n": 3}, {"layout": "rows", 5: [y]})
        return noted["x"] + noted["n"]

    traced = lamina.trace(program, np.ones(2), np.ones(2))
    check_graph(traced)
    (noted, _) = [node for node in all_nodes(traced.outputs) if node.op == "metadata"]
    assert noted.args[1] == {"layout": "rows", 5: [traced.params[1]]}
    assert traced.params[1] not in traced.order  # a node inside the note is no operand
    np.testing.assert_array_equal(both(program, np.ones(2), np.ones(2)), [5.0, 5.0])


def test_values_of_an_inner_scope_stay_there() -> None:
    kept = []

    def program(x):
        lamina.fori_loop(0, 3, lambda i, c: (kept.append(c * i), c + i)[1], x)
        return x + kept[-1]

    with pytest.raises(
        EscapedValueError, match=r"outside the scope it was made in, body <lambda>: float64\[\] from multiply at"
    ):
        lamina.defn(program)(np.float64(1))


def test_a_branch_shares_its_scope() -> None:
    """What a branch computes may be used after it: a cond's clauses are of the parent's scope."""
    kept = []

    def program(p, x):
        y = lamina.cond(p, lambda: (kept.append(x * 2), kept[-1] + 1)[1], lambda: x)
        return y + kept[-1]

    assert lamina.defn(program)(True, 3.0) == 13.0
    assert lamina.defn(program)(False, 3.0) == 9.0
