"""Containers: what is one, in what order, and that it comes back as it was."""

import enum
import threading
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import optree
import pytest

import lamina
from lamina.expr.containers import describe_structure, flatten, is_leaf, leaves_of, map_leaves, paths_of, unflatten
from lamina.layout import Layout, move

Pair = namedtuple("Pair", "second first")


class Typed(NamedTuple):
    """A namedtuple with types."""

    b: object
    a: object


@dataclass
class Plain:
    """A dataclass."""

    b: object
    a: object = 0


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen one with slots, whose checks are about arrays."""

    x: object
    factor: object = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if type(self.x) is str:
            raise ValueError("no strings")


@dataclass
class Child(Plain):
    """A dataclass that inherits fields."""

    c: object = 0


class Registered:
    """A class of a user's own, registered with optree."""

    def __init__(self, left, right) -> None:
        self.left, self.right = left, right


optree.register_pytree_node(
    Registered, lambda r: ((r.right, r.left), None), lambda _, c: Registered(c[1], c[0]), namespace="lamina"
)


@pytest.mark.parametrize(
    ("container", "leaves"),
    [
        (1, [1]),
        ((1, 2), [1, 2]),
        ([1, [2, (3,)]], [1, 2, 3]),
        ({"b": 1, "a": 2}, [1, 2]),
        ({2: 1, "a": 2, None: 3, (1, 2): 4}, [1, 2, 3, 4]),
        (OrderedDict(b=1, a=2), [1, 2]),
        (defaultdict(list, b=1, a=2), [1, 2]),
        (deque([1, 2], maxlen=5), [1, 2]),
        (Pair(1, 2), [1, 2]),
        (Typed(1, 2), [1, 2]),
        (Plain(1, [2, 3]), [1, 2, 3]),
        (Frozen(1, factor=2), [1, 2]),
        (Child(1, 2, 3), [1, 2, 3]),
        ((), []),
        (None, []),
        ({"a": None, "b": [(), {}]}, []),
        ([Plain(Plain(1, 2), {"k": Frozen(3)})], [1, 2, 3, 1]),
    ],
)
def test_leaves_in_order_and_back(container, leaves) -> None:
    found, structure = flatten(container)
    assert found == leaves == leaves_of(container)
    back = unflatten(structure, found)
    assert back == container and type(back) is type(container)
    assert map_leaves(lambda leaf: leaf, container) == container


def test_dicts_keep_their_order_and_differ_by_it() -> None:
    one, two = {"b": 1, "a": 2}, {"a": 2, "b": 1}
    assert flatten(one)[1] != flatten(two)[1]
    assert list(map_leaves(str, one)) == ["b", "a"] and list(map_leaves(str, two)) == ["a", "b"]


def test_registered_classes() -> None:
    leaves, structure = flatten([Registered(1, 2), 3])
    assert leaves == [2, 1, 3]
    back, _ = unflatten(structure, leaves)
    assert type(back) is Registered and (back.left, back.right) == (1, 2)


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "leaf",
    [
        1,
        "ab",
        b"ab",
        1.5,
        np.float64(1),
        np.zeros(2),
        {1, 2},
        frozenset({1}),
        range(3),
        Color.RED,
        SimpleNamespace(a=1),
        len,
        int,
        Plain,
        slice(1, 2),
        lamina.float32,
        Layout((2,), (1,)),
        move.Reshape((2,)),
        move.Window([move.WindowSpec(0, 2, 1, 1)]),
        lamina.Spec(lamina.float32, (2,)),
        lamina.asarray([1, 2]),
    ],
    ids=lambda leaf: type(leaf).__name__,
)
def test_anything_else_is_a_leaf(leaf) -> None:
    assert is_leaf(leaf)
    (found,), _ = flatten([leaf])
    assert found is leaf


def test_a_container_is_no_leaf() -> None:
    for container in ((1,), [], None, {"a": 1}, Plain(1, 2), Pair(1, 2)):
        assert not is_leaf(container), container


def test_no_check_of_a_dataclass_runs_when_it_comes_back() -> None:
    back = map_leaves(lambda leaf: "a node", Frozen(1))
    assert (back.x, back.factor) == ("a node", "a node")


def test_paths_are_written_as_in_python() -> None:
    container = {"a": (1, [2]), 3: Plain(4, Pair(5, 6)), "r": None}
    assert paths_of(container, "carry") == [
        "carry['a'][0]",
        "carry['a'][1][0]",
        "carry[3].b",
        "carry[3].a.second",
        "carry[3].a.first",
    ]
    assert paths_of(7, "x") == ["x"] and paths_of((), "x") == []
    for path, leaf in zip(paths_of(container, "it"), leaves_of(container), strict=True):
        assert eval(path, {"it": container}) == leaf


def test_structures_as_text() -> None:
    for container, shown in [
        (1, "*"),
        ((1, [2, 3]), "(*, [*, *])"),
        ({"b": 1, "a": None}, "{'b': *, 'a': None}"),
        ((), "()"),
        (Pair(1, 2), "Pair(second=*, first=*)"),
    ]:
        assert describe_structure(flatten(container)[1]) == shown


def test_a_dataclass_is_registered_once_from_many_threads() -> None:
    for _ in range(20):
        fresh = dataclass(type("Fresh", (), {"__annotations__": {"a": object, "b": object}}))
        results = []
        barrier = threading.Barrier(8)

        def work(fresh=fresh, results=results, barrier=barrier) -> None:
            barrier.wait()
            results.append(leaves_of([fresh(1, 2), fresh(3, fresh(4, 5))]))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [[1, 2, 3, 4, 5]] * 8


def test_the_order_of_keys_elsewhere_is_not_changed() -> None:
    """optree sorts in other namespaces, as its other users expect."""
    assert optree.tree_leaves({"b": 1, "a": 2}) == [2, 1]
    assert optree.tree_leaves({"b": 1, "a": 2}, namespace="another") == [2, 1]
