"""Traversal: each sentence of its contract, for every syntax node, and on graphs that are deep, wide and shared."""

import functools
from collections import OrderedDict, deque, namedtuple
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import lamina
from lamina import tree
from lamina.expr import CROSSINGS, Expr, Scoped, build
from lamina.expr.node import inner_nodes
from lamina.expr.tree import held_nodes
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


def assert_post_order(order: list[Expr], dependencies=tree.operands) -> None:
    """Each node once, and every operand at a strictly smaller index."""
    places = {id(node): place for place, node in enumerate(order)}
    assert len(places) == len(order)
    for place, node in enumerate(order):
        for needed in dependencies(node):
            assert places[id(needed)] < place, (needed, node)


def ordered(output, scope_dependencies=None) -> list[Expr]:
    """The order, checked as a whole."""
    order = tree.post_order(output, scope_dependencies)
    if scope_dependencies is None:
        assert_post_order(order)
    return order


# The exact order of each syntax node


def test_every_syntax_node_is_here() -> None:
    assert set(SYNTAX_NODES) == set(CROSSINGS)


@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_order_of_a_syntax_node(op: str) -> None:
    node, expected = SYNTAX_NODES[op]
    assert node.op == op
    order = ordered(node)
    assert [id(each) for each in order] == [id(each) for each in expected]
    assert tree.operands(node) == tuple(each for each in expected[:-1] if each in tree.operands(node))


@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_operands_are_the_parents_nodes_in_order(op: str) -> None:
    node, _ = SYNTAX_NODES[op]
    met: list[Expr] = []
    tree.apply_args(node, "scope", None, lambda each, acc: (met.append(each) or each, acc))
    assert tuple(met) == tree.operands(node)


def test_order_of_primitives_with_containers_of_operands() -> None:
    x, y = param(0, F, (2,)), param(1, F, (3,))
    joined = build("concat", (y, x, y), 0)
    assert ordered(joined) == [y, x, joined]
    i, j = param(2, INT, (4,)), param(3, INT, (4,))
    table = param(4, F, (5, 5))
    gathered = build("gather", table, (j, i))
    assert ordered(gathered) == [table, j, i, gathered]


def test_inner_scopes_are_opaque_and_reached_from_the_args() -> None:
    loop, _ = SYNTAX_NODES["while"]
    _, arg, condition, body = loop.args
    assert [node.op for node in ordered(condition)] == ["parameter", "constant", "less"]
    assert [node.op for node in ordered(body)] == ["parameter", "constant", "add", "parameter"]
    assert not set(ordered(loop)) & {*ordered(condition), *ordered(body), *arg}
    fun, _ = SYNTAX_NODES["fun"]
    params, body, _ = fun.args
    assert ordered(body) == [*params, body]
    block, _ = SYNTAX_NODES["block"]
    assert [node.op for node in ordered(block.args[2])] == ["parameter", "sin"]
    assert set(inner_nodes(loop)) == {*arg, condition, *loop.args[3]}
    assert inner_nodes(fun) == [*params, body]
    assert inner_nodes(block) == [block.args[2]]


def test_effects_of_a_branch_come_before_its_value() -> None:
    x, y = param(0), param(1)
    p = less(x, y)
    shown = build("hook", sin(x), "shown", None)
    node = cond(p, Scoped([shown], y), x)
    assert [each.op for each in ordered(node)] == ["parameter", "parameter", "less", "sin", "hook", "cond"]
    assert tree.operands(node) == (p, shown, y, x)


# Containers


Pair = namedtuple("Pair", "second first")


@dataclass
class Point:
    """A dataclass of nodes."""

    y: object
    x: object


def test_roots_come_in_container_order() -> None:
    x, y, z = (param(i) for i in range(3))
    for container in (
        (z, x, y),
        [z, x, y],
        {"b": z, "a": x, "c": y},
        {3: z, "a": x, None: y},
        OrderedDict(b=z, a=x, c=y),
        deque([z, x, y]),
        (z, (), [x, {}, None], {"k": (y,)}),
        (Pair(z, x), y),
        Point(z, [x, y]),
        {"p": Point(z, x), "q": Pair(y, z)},
        Scoped([z], (x, y)),
    ):
        assert ordered(container) == [z, x, y], container
    assert ordered([x, x, (x,)]) == [x]


@pytest.mark.parametrize("empty", [(), [], {}, None, ((), [None], {"a": {}})])
def test_an_empty_container_orders_to_nothing(empty) -> None:
    assert tree.post_order(empty) == []


@pytest.mark.parametrize("leaf", [1, "x", np.float64(1), np.zeros(2), object(), len, Expr, lamina.float32])
def test_a_leaf_that_is_no_node(leaf) -> None:
    for container in (leaf, (param(), leaf), {"a": [leaf]}):
        with pytest.raises(TypeError, match="expected a node or a container of nodes, but a leaf is"):
            tree.post_order(container)


def test_the_same_objects_come_back_each_once() -> None:
    x = param()
    y = sin(x)
    outputs = (add(y, y), y, x, add(y, x))
    order = ordered(outputs)
    assert len(order) == 4 and {id(each) for each in order} == {id(each) for each in (*outputs, x)}
    twin = param()  # equal in meaning, another node
    assert len(ordered((x, twin))) == 2


def test_the_order_is_deterministic_and_left_to_right() -> None:
    x, y = param(0), param(1)
    left, right = sin(y), sin(x)
    total = add(left, right)
    for _ in range(3):
        assert ordered((total, x)) == [y, left, x, right, total]


# scope_dependencies


def test_dependencies_are_asked_once_for_each_visited_node_and_never_for_a_fun() -> None:
    for node, _ in SYNTAX_NODES.values():
        asked: list[Expr] = []
        order = tree.post_order((node, node), lambda each: asked.append(each))  # noqa: B023
        assert order == tree.post_order(node)
        assert sorted(map(id, asked)) == sorted(id(each) for each in order if each.op != "fun")


def test_an_override_gives_the_only_dependencies() -> None:
    x, y, z = param(0), param(1), param(2)
    total, other = add(sin(x), y), sin(z)
    assert tree.post_order(total, lambda node: [z, y] if node is total else None) == [z, y, total]
    assert tree.post_order(total, lambda node: (other,) if node is total else None) == [z, other, total]
    inner = SYNTAX_NODES["while"][0]
    body = inner.args[3]
    order = tree.post_order(inner, lambda node: body if node is inner else None)
    assert order == [*tree.post_order(body), inner]


def test_an_empty_override_makes_a_leaf() -> None:
    x = param()
    y = sin(sin(x))
    for empty in ((), []):
        assert tree.post_order((y, x), lambda node, empty=empty: empty if node is y else None) == [y, x]


def test_any_sequence_is_an_override() -> None:
    class Own(Sequence):
        def __getitem__(self, i):
            return [x, y][i]

        def __len__(self):
            return 2

    x, y = param(0), param(1)
    top = sin(param(2))
    for sequence in ([x, y], (x, y), deque([x, y]), Own()):
        assert tree.post_order(top, lambda node, found=sequence: found if node is top else None) == [x, y, top]


@pytest.mark.parametrize(
    "wrong", [1, "x", param(), {param()}, {"a": param()}, iter(()), (param(), 1), [None], False, 0]
)
def test_anything_else_is_a_type_error(wrong) -> None:
    with pytest.raises(TypeError, match="scope_dependencies must return a sequence of nodes or None, but for"):
        tree.post_order(sin(param()), lambda node: wrong)


def test_what_the_override_raises_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        tree.post_order(param(), lambda node: 1 // 0)


def test_a_fun_is_never_given_dependencies() -> None:
    fun = SYNTAX_NODES["fun"][0]
    x = param()
    assert tree.post_order((fun, x), lambda node: (x,) if node is fun else None) == [fun, x]


def test_a_cycle_ends() -> None:
    x = param()
    a, b, c = sin(x), sin(x), sin(x)
    ring = {a: (b,), b: (c,), c: (a,)}
    order = tree.post_order((a, b, c), lambda node: ring.get(node))
    assert sorted(map(id, order)) == sorted(map(id, (a, b, c)))
    assert tree.post_order(a, lambda node: (node, x) if node is a else None) == [x, a]


# Deep, wide and shared graphs


def test_a_chain_of_a_million_nodes() -> None:
    x, y = chain(1_000_000)
    order = tree.post_order(y)
    assert len(order) == 1_000_000 and order[0] is x and order[-1] is y
    node = y
    for each in reversed(order):
        assert each is node
        node = node.args[0] if node.args else x
    del order, node, each, x, y  # freed without recursion


def test_a_random_graph_of_a_million_nodes() -> None:
    nodes = random_graph(1_000_000)
    order = tree.post_order(nodes[::-1])
    assert len(order) == len(nodes)
    assert_post_order(order)


def test_a_wide_node_of_a_million_operands() -> None:
    params = tuple(param(i) for i in range(1_000_000))
    total = Expr("concat", (params, 0), F, ())
    assert tree.post_order(total) == [*params, total]


def test_shared_doubling_is_walked_once() -> None:
    x, y = doubling(40)
    assert len(ordered(y)) == 41
    asked: list[Expr] = []
    tree.post_order(y, lambda node: asked.append(node))
    assert len(asked) == 41
    assert len(tree.all_nodes(y)) == 41
    assert len(tree.scope_ids(y)) == 41
    assert not tree.has_hooks(y, ["h"])
    z = param(1)
    assert len(tree.post_order(tree.substitute(y, {x: z}))) == 41


def test_random_graphs_against_the_definition(rng) -> None:
    """The order is that of a recursive depth-first search, which is its definition."""

    def recursive(node: Expr, seen: set, order: list) -> None:
        if node not in seen:
            seen.add(node)
            for operand in tree.operands(node):
                recursive(operand, seen, order)
            order.append(node)

    for _ in range(200):
        nodes = [param(i) for i in range(3)]
        for _ in range(int(rng.integers(1, 40))):
            a, b, c = (nodes[int(i)] for i in rng.integers(len(nodes), size=3))
            kind = int(rng.integers(4))
            if kind == 0:
                nodes.append(sin(a))
            elif kind == 1:
                nodes.append(add(a, b))
            elif kind == 2:
                nodes.append(cond(less(a, b), b, less(c, a), add(c, c), a))
            else:
                nodes.append(build("elem", while_(a, b), 1))
        seen: set = set()
        expected: list[Expr] = []
        roots = [nodes[int(i)] for i in rng.integers(len(nodes), size=5)]
        for root in roots:
            recursive(root, seen, expected)
        assert ordered(roots) == expected


# apply_args, put_args, substitute


@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_apply_args_visits_a_scope_or_all(op: str) -> None:
    node, _ = SYNTAX_NODES[op]

    def visited(scope):
        return tree.apply_args(node, scope, (), lambda each, acc: (each, (*acc, each)))[1]

    assert visited("scope") == tree.operands(node)
    assert sorted(map(id, visited("all"))) == sorted(map(id, (*tree.operands(node), *inner_nodes(node))))


def test_apply_args_of_a_fun_in_scope_visits_nothing() -> None:
    fun = SYNTAX_NODES["fun"][0]
    args, acc = tree.apply_args(fun, "scope", 7, lambda each, acc: 1 / 0)
    assert args == fun.args and acc == 7


def test_apply_args_replaces_and_threads_the_accumulator() -> None:
    x, y = param(0), param(1)
    node = cond(less(x, y), x, y)
    args, count = tree.apply_args(node, "scope", 0, lambda each, n: (f"{n}:{each.op}", n + 1))
    assert args == ((("0:less", "1:parameter"),), "2:parameter") and count == 3


def test_apply_args_keeps_containers_and_static_data() -> None:
    options = {"names": ["a", None], "size": 3}
    block = SYNTAX_NODES["block"][0]
    args, _ = tree.apply_args(block, "all", None, lambda each, acc: (each, acc))
    assert args == block.args and args[1][1] == options
    call = SYNTAX_NODES["runtime_call"][0]
    args, _ = tree.apply_args(call, "all", None, lambda each, acc: (each, acc))
    assert args == call.args and list(args[0]) == ["z", "a"]
    noted = SYNTAX_NODES["metadata"][0]
    args, _ = tree.apply_args(noted, "all", None, lambda each, acc: (param(9), acc))
    assert args[1] is noted.args[1]


@pytest.mark.parametrize("scope", ["parent", "", None, "ALL"])
def test_apply_args_of_an_unknown_scope(scope) -> None:
    with pytest.raises(ValueError, match=r"scope must be 'all' or 'scope', but it is"):
        tree.apply_args(param(), scope, None, lambda each, acc: (each, acc))


def test_put_args_makes_a_new_node() -> None:
    x, y = param(0), param(1)
    node = Expr("sin", (x,), F, (), source=lamina.expr.Source("f.py", 3, "f"))
    other = tree.put_args(node, [y])
    assert other is not node and other.id != node.id and other != node
    assert (other.op, other.args, other.dtype, other.shape, other.source) == ("sin", (y,), F, (), node.source)
    assert node.args == (x,)


def test_substitute_reaches_inner_scopes_and_keeps_what_needs_nothing() -> None:
    t, u = (Expr("tensor", (lamina.asarray(1.0),), F, ()) for _ in range(2))
    x = param()
    carried = param(0)
    loop = build("while", (x,), (carried,), less(carried, t), (add(carried, t),))
    kept = sin(x)
    new_loop, new_kept = tree.substitute((loop, kept), {t: u})
    assert new_kept is kept
    assert new_loop is not loop
    assert t not in tree.all_nodes(new_loop) and u in tree.all_nodes(new_loop)
    assert tree.substitute(loop, {}) is loop
    assert tree.substitute({"a": t}, {t: u}) == {"a": u}


def test_nodes_in_metadata_are_held_but_no_operands() -> None:
    noted, _ = SYNTAX_NODES["metadata"]
    inside = noted.args[1]["note"]
    assert inside not in tree.post_order(noted) and inside not in tree.all_nodes(noted)
    assert inside in held_nodes(noted)


# scope_ids


def ids(*nodes: Expr) -> set[int]:
    return {node.id for node in nodes}


def test_scope_ids_without_conds() -> None:
    x = param()
    k = constant(2.0)
    total = add(sin(x), k)
    assert tree.scope_ids(total) == ids(x, total, total.args[0])  # constants are left out
    assert tree.scope_ids(k) == set()
    assert tree.scope_ids(()) == set()


def test_scope_ids_of_inner_scopes_are_their_own() -> None:
    for op in ("while", "fun", "block"):
        node, order = SYNTAX_NODES[op]
        assert tree.scope_ids(node) == ids(*order)


def test_work_of_branches_is_not_in_scope() -> None:
    x, y, z = (param(i) for i in range(3))
    p = less(x, y)
    one, both = sin(y), sin(z)
    node = cond(p, add(one, both), both)  # used in one branch, and in two of the same cond
    assert tree.scope_ids(node) == ids(node, p, x, y)


def test_a_param_used_in_a_branch_alone_is_branch_work() -> None:
    x, y, z = (param(i) for i in range(3))
    node = cond(less(x, y), x, z)
    assert z.id not in tree.scope_ids(node)
    assert z.id in tree.scope_ids((node, z))


def test_work_that_is_used_outside_too_is_in_scope() -> None:
    x, y = param(0), param(1)
    shared = sin(y)
    node = cond(less(x, y), shared, x)
    assert shared.id in tree.scope_ids(add(node, shared))
    assert shared.id in tree.scope_ids((shared, node))
    assert shared.id in tree.scope_ids({"a": node, "b": sin(shared)})


def test_work_of_two_conds_is_in_scope() -> None:
    x, y = param(0), param(1)
    shared = sin(y)
    p = less(x, x)
    first, second = cond(p, shared, x), cond(p, x, sin(shared))
    found = tree.scope_ids((first, second))
    assert ids(shared, y, first, second) <= found
    assert second.args[1].id not in found


def test_the_first_predicate_is_in_scope_and_later_ones_are_branch_work() -> None:
    x, y, z = (param(i) for i in range(3))
    p, q = less(x, x), less(y, y)
    node = cond(p, z, q, z, z)
    assert tree.scope_ids(node) == ids(node, p, x)
    assert q.id in tree.scope_ids((node, q))


def test_the_first_predicate_with_effects_is_in_scope_as_a_whole() -> None:
    x, y = param(0), param(1)
    p = less(x, x)
    shown = build("hook", sin(y), "shown", None)
    node = build("cond", ((Scoped([shown], p), x),), x)
    assert ids(p, shown, y) <= tree.scope_ids(node)


def test_a_predicate_that_a_branch_uses_too() -> None:
    x = param()
    p = less(x, x)
    node = build("cond", ((p, p),), build("logical_not", p))
    assert tree.scope_ids(node) == ids(node, p, x)


def test_nested_conds() -> None:
    x, y, z, w = (param(i) for i in range(4))
    p = less(x, x)
    q = less(y, y)
    deep = sin(z)
    inner = cond(q, deep, w)
    outer = cond(p, add(inner, deep), x)  # `deep` is used by both, but inside one branch of `outer`
    assert tree.scope_ids(outer) == ids(outer, p, x)
    in_branch = tree.scope_ids(outer.args[0][0][1], tree.scope_ids(outer))
    assert in_branch == tree.scope_ids(outer) | ids(outer.args[0][0][1], inner, q, y, deep, z)
    assert w.id not in in_branch


def test_two_conds_inside_one_branch() -> None:
    x, y = param(0), param(1)
    p = less(x, x)
    shared = sin(y)
    branch = add(cond(p, shared, x), cond(p, x, shared))
    assert shared.id not in tree.scope_ids(cond(p, branch, x))
    assert shared.id in tree.scope_ids(branch)


def test_a_cond_in_a_predicate() -> None:
    x, y, z = (param(i) for i in range(3))
    inner = cond(less(x, x), less(y, y), less(z, z))
    assert tree.scope_ids(cond(inner, x, x)) >= ids(inner, x)
    assert not ids(y, z) & tree.scope_ids(cond(inner, x, x))


def test_given_ids_are_there_already() -> None:
    x, y = param(0), param(1)
    a = sin(x)
    b = add(a, y)
    assert tree.scope_ids(b, ids(a)) == ids(a, b, y)  # x, which only a needs, was its business
    assert tree.scope_ids(b, (a.id,)) == ids(a, b, y)
    given = ids(a)
    tree.scope_ids(b, given)
    assert given == ids(a)  # not changed
    assert tree.scope_ids(a, ids(a)) == ids(a)


def definition_of_scope(output) -> set[int]:
    """What is in scope, by the sentence: what is used outside of branches, or in branches of two conds."""
    roots = tree.nodes_of(output)
    nodes = tree.post_order(output)

    @functools.cache
    def places(node: Expr) -> frozenset:
        """Where a node is used: outside, or in branches of these conds."""
        found = {"outside"} if node in roots else set()
        for user in nodes:
            if node not in tree.operands(user):
                continue
            if not in_scope(user):
                found |= places(user)
            elif user.op != "cond" or node is user.args[0][0][0]:
                found.add("outside")
            if user.op == "cond" and in_scope(user):
                later = [each for clause in user.args[0] for each in clause][1:]
                if any(node is each for each in (*later, user.args[1])):
                    found.add(user)
        return frozenset(found)

    def in_scope(node: Expr) -> bool:
        return "outside" in places(node) or len(places(node)) > 1

    return {node.id for node in nodes if in_scope(node) and node.op != "constant"}


def test_scope_ids_against_the_definition(rng) -> None:
    for _ in range(300):
        nodes: list[Expr] = [param(0), param(1), constant(1.0)]
        for _ in range(int(rng.integers(1, 15))):
            a, b, c = (nodes[int(i)] for i in rng.integers(len(nodes), size=3))
            kind = int(rng.integers(3))
            if kind == 0:
                nodes.append(sin(a))
            elif kind == 1:
                nodes.append(add(a, b))
            else:
                nodes.append(cond(less(a, b), b, less(c, a), add(c, c), a))
        output = [nodes[-1], nodes[int(rng.integers(len(nodes)))]]
        assert tree.scope_ids(output) == definition_of_scope(output)


# has_hooks


def test_has_hooks_looks_into_every_scope() -> None:
    x = param()
    shown = build("hook", x, "shown", None)
    assert tree.has_hooks(shown, ["shown"]) and not tree.has_hooks(shown, ["other"]) and not tree.has_hooks(shown, [])
    inner = param(0)
    hooked = build("hook", inner, "inside", None)
    p = less(inner, inner)
    fun = build("fun", (inner,), hooked, "f")
    nested = build("fun", (x,), build("call", fun, (x,)), "g")
    loop = build("while", (x,), (inner,), p, Scoped([hooked], (inner,)))
    tested = build("while", (x,), (inner,), Scoped([hooked], p), (inner,))
    block = build("block", "b", (x,), hooked, None)
    branch = cond(less(x, x), x, Scoped([shown], x))
    for node in (fun, nested, loop, tested, block):
        assert tree.has_hooks((x, {"a": sin(x), "b": node}), {"inside"}), node
        assert not tree.has_hooks(node, {"shown"})
    assert tree.has_hooks(branch, iter(["shown"]))
    assert not tree.has_hooks((), ["shown"])
    with pytest.raises(TypeError, match=r"write \['shown'\]"):
        tree.has_hooks(shown, "shown")
