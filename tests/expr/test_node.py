"""Nodes: identity, frozenness, operands, and the rules of what each syntax node gives."""

import gc
import threading
import weakref

import pytest

import lamina
from lamina.expr import (
    CROSSINGS,
    OPS,
    Expr,
    Scoped,
    Source,
    build,
    describe,
    effects_of,
    results_of,
    value_of,
    with_effects,
)
from lamina.expr.syntax import SYNTAX
from lamina.layout import Layout, move
from tests.expr.graphs import INT, SYNTAX_NODES, F, add, chain, cond, constant, doubling, less, param, sin, while_


def test_ids_are_unique_also_across_threads() -> None:
    made: list[list[Expr]] = [[] for _ in range(8)]
    threads = [threading.Thread(target=lambda out=out: out.extend(param() for _ in range(2_000))) for out in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = [node.id for nodes in made for node in nodes]
    assert len(set(ids)) == len(ids) == 16_000


def test_a_node_equals_itself_alone() -> None:
    x, y = param(), param()
    assert x == x and x != y and len({x, y, x}) == 2
    assert x.__eq__(y) is NotImplemented


@pytest.mark.parametrize("name", ["op", "args", "dtype", "shape", "id", "source", "_operands", "more"])
def test_a_node_is_never_changed(name: str) -> None:
    x = param()
    with pytest.raises(AttributeError, match=f"put_args.*{name}"):
        setattr(x, name, None)
    with pytest.raises(AttributeError):
        delattr(x, name)
    assert (x.op, x.args, x.dtype, x.shape) == ("parameter", (0,), F, ())


def test_the_source_is_no_part_of_the_meaning() -> None:
    source = Source("f.py", 3, "f")
    x = Expr("parameter", (0,), F, (), source)
    assert x.source == source and str(source) == "f.py:3, in f"
    assert lamina.expr.equal(x, param())


def test_repr() -> None:
    assert repr(param(0, F, (2, 3))) == "<Expr parameter: float64[2, 3]>"
    assert repr(while_(param(), param(1, INT))) == "<Expr while: (float64[], int64[])>"
    assert describe((), ()) == "()"


def test_operands_skip_static_data() -> None:
    x, y = param(0, F, (4,)), param(1, F, (4,))
    assert build("concat", (x, y, x), 0)._operands == (x, y, x)
    assert Expr("sum", (x, (0,)), F, ())._operands == (x,)
    assert Expr("some primitive", (x, {"a": y}, [y, 1, None], "s"), F, ())._operands == (x, y)  # a dict is options


@pytest.mark.parametrize("op", SYNTAX_NODES)
def test_several_results_are_tuples(op: str) -> None:
    node, _ = SYNTAX_NODES[op]
    assert node.has_several == (op in ("while", "hook"))
    if node.has_several:
        assert node.dtype == (F, F) and node.shape == ((), ())
    else:
        assert isinstance(node.dtype, lamina.dtype.DType) and all(type(extent) is int for extent in node.shape)


def test_a_bare_leaf_is_one_result_and_a_container_is_several() -> None:
    x, y = param(0), param(1, INT, (3,))
    p = less(x, x)
    assert (cond(p, x, x).dtype, cond(p, x, x).shape) == (F, ())
    several = build("cond", ((p, (x, y)),), (x, y))
    assert (several.dtype, several.shape) == ((F, INT), ((), (3,)))
    assert build("elem", several, 1).shape == (3,)
    single = build("cond", ((p, (x,)),), (x,))
    assert single.has_several and single.shape == ((),)
    assert results_of({"b": x, "a": y}) == ((F, INT), ((), (3,)))
    assert results_of(Scoped([p], x)) == (F, ())


def test_scoped() -> None:
    x = param()
    shown = build("hook", x, "shown", None)
    scoped = with_effects(iter([shown]), (x,))
    assert (effects_of(scoped), value_of(scoped)) == ((shown,), (x,))
    assert with_effects([], x) is x and effects_of(x) == () and value_of(x) is x
    assert repr(scoped).startswith("Scoped((<Expr hook")


def test_every_op_is_a_row_or_on_the_page_of_syntax_nodes() -> None:
    assert not OPS.keys() & CROSSINGS.keys()
    assert CROSSINGS.keys() - SYNTAX.keys() == {"parameter", "constant", "tensor"}
    page = lamina.expr.node.__doc__ or ""
    assert all(f"``{op}``" in page for op in CROSSINGS)


# The rules of syntax nodes: what doesn't fit is refused when the node is made

X, Y, V = param(0), param(1, INT), param(2, F, (6,))
P = less(X, X)
INNER = param(0)
FUN = build("fun", (INNER,), sin(INNER), "f")
ROW = Layout((2,), (1,), 1)


@pytest.mark.parametrize(
    ("op", "args", "error", "message"),
    [
        ("no such op", (X,), ValueError, "no op is named 'no such op'; the ops are abs, "),
        ("elem", (X, 0), ValueError, "has no result 0"),
        ("elem", (while_(X), 1), ValueError, "has no result 1"),
        ("elem", (while_(X), -1), ValueError, "has no result -1"),
        ("call", (X, (X,)), TypeError, "expected a fun, but got <Expr parameter"),
        ("call", (FUN, (Y,)), TypeError, r"call of f: .*float64.*int64"),
        ("call", (FUN, (X, X)), TypeError, "call of f: the params are"),
        ("call", (FUN, ()), TypeError, "call of f: the params are"),
        ("while", ((X,), (Y,), P, (X,)), TypeError, r"while: arg: expected \(float64\[\]\), but got \(int64\[\]\)"),
        (
            "while",
            ((X,), (INNER,), P, (Y,)),
            TypeError,
            r"while: body: expected \(float64\[\]\), but got \(int64",
        ),
        ("while", ((X,), (INNER,), P, (INNER, INNER)), TypeError, "while: body: expected"),
        ("while", ((X,), (INNER,), INNER, (INNER,)), TypeError, r"predicate must be bool\[\], but it is float64\[\]"),
        ("while", ((X,), (INNER,), True, (INNER,)), TypeError, r"predicate must be bool\[\], but it is True"),
        ("cond", ((), X), ValueError, "cond: expected at least one clause"),
        ("cond", (((P, X),), Y), TypeError, r"a branch: expected int64\[\], but got float64\[\]"),
        ("cond", (((P, X), (P, V)), X), TypeError, r"a branch: expected float64\[\], but got float64\[6\]"),
        ("cond", (((P, (X,)),), X), TypeError, "a branch: expected"),
        ("cond", (((Y, X),), X), TypeError, r"predicate must be bool\[\], but it is int64\[\]"),
        ("check", (X, ValueError, "m"), TypeError, r"check: a predicate must be bool\[\], but it is float64\[\]"),
        ("move", (V, move.Reshape((7,))), ValueError, "Reshape"),
        ("move", (V, move.Permute((1, 0))), ValueError, "Permute"),
        ("view", (V, Layout((7,), (1,)), (), ()), ValueError, "reaches beyond the 6 elements"),
        ("view", (V, ROW, ((X, 1),), ()), TypeError, r"a shift must be one integer, but it is float64\[\]"),
        ("view", (V, ROW, ((param(3, INT, (2,)), 1),), ()), TypeError, r"one integer, but it is int64\[2\]"),
        ("update", (V, Layout((2,), (0,)), (), (), param(3, F, (2,))), ValueError, "two indices .* reach one element"),
        ("update", (V, ROW, (), (), param(3, F, (3,))), TypeError, r"expected float64\[2\], but got float64\[3\]"),
        ("update", (V, ROW, (), (), param(3, lamina.int4, (2,))), TypeError, "elements are narrower than a byte"),
        ("view", (V, Layout((4,), (1,)), (), (), lamina.complex128), ValueError, "reaches beyond the 3 elements"),
        ("view", (V, ROW, (), (), "float64"), TypeError, "dtype must be of the class DType"),
        ("update", (V, Layout((7,), (1,)), (), (), param(3, F, (7,))), ValueError, "reaches beyond the 6 elements"),
        ("add", (X, Y), TypeError, "add: the operands have dtypes"),
        ("add", (X, V), ValueError, "add: the operands have shapes"),
        ("sum", (V, (1,)), ValueError, r"sum: axis 1 is outside the axes of shape \(6,\)"),
    ],
)
def test_a_wrong_node_is_refused(op: str, args, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build(op, *args)


# Memory


def test_a_chain_of_a_million_nodes_is_freed_without_recursion() -> None:
    x, y = chain(1_000_000)
    gone = weakref.ref(x)
    del x, y
    gc.collect()
    assert gone() is None


def test_shared_doubling_is_freed() -> None:
    x, y = doubling(40)
    gone = weakref.ref(x)
    nested = (y, [y, {"y": add(y, constant(1.0))}])
    del x, y, nested
    gc.collect()
    assert gone() is None
