"""Containers of nodes, arrays and values: pytrees through optree, in lamina's own namespace.

Tuples, lists, dicts (in insertion order), namedtuples, dataclasses and every class registered with optree, globally or
in the namespace ``"lamina"``, are containers; `None` is an empty one; anything else is a leaf. This is the only module
that talks to optree.
"""

import ctypes
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from optree import PyTreeSpec as Structure

_NAMESPACE = "lamina"

C = TypeVar("C", bound=type)

_registering = threading.RLock()
_registered: set[type] = set()
_own: list[type] = []  # lamina's classes of containers


def container(cls: C) -> C:
    """A decorator of a class of lamina's own, by which it is a container of what is in its slots."""
    _own.append(cls)
    return cls


@functools.cache
def _optree() -> Any:
    """optree: loaded by the first container that is taken apart, for it would be a sixth of lamina's import."""
    with _registering:
        return _set_up()


@functools.cache  # once, from however many threads the first containers come
def _set_up() -> Any:
    import optree

    # optree sorts the keys of a dict unless it is told otherwise for a namespace. It offers a context manager alone;
    # entered once and never freed, which would switch the setting back, it holds for the life of the process.
    ordered = optree.dict_insertion_ordered(True, namespace=_NAMESPACE)
    ordered.__enter__()
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(ordered))
    for cls in _own:
        _register(optree, cls, cls.__slots__)  # type: ignore[attr-defined]
    return optree


def flatten(container: Any) -> tuple[list[Any], "Structure"]:
    """The leaves of a container in order, and the structure that puts them back.

    >>> leaves, structure = flatten({"b": (1, 2), "a": [3]})
    >>> leaves
    [1, 2, 3]
    >>> unflatten(structure, leaves)
    {'b': (1, 2), 'a': [3]}
    """
    while True:
        leaves, structure = _optree().tree_flatten(container, namespace=_NAMESPACE)
        if not _register_dataclasses(leaves):
            return leaves, structure


def leaves_of(container: Any) -> list[Any]:
    """The leaves of a container in order."""
    return flatten(container)[0]


def unflatten(structure: "Structure", leaves: Iterable[Any]) -> Any:
    """The container of this structure with these leaves."""
    return _optree().tree_unflatten(structure, leaves)


def map_leaves(function: Callable[[Any], Any], container: Any) -> Any:
    """The same container with `function` applied to each leaf, in order.

    >>> map_leaves(str, {"b": 1, "a": (2, None)})
    {'b': '1', 'a': ('2', None)}
    """
    leaves, structure = flatten(container)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def containers_in(container: Any) -> list[Any]:
    """Every container in a container, itself first.

    >>> containers_in((1, [2, {"a": 3}]))
    [(1, [2, {'a': 3}]), [2, {'a': 3}], {'a': 3}]
    """
    parts, _ = _optree().tree_flatten(container, is_leaf=lambda each: each is not container, namespace=_NAMESPACE)
    if len(parts) == 1 and parts[0] is container:
        return []
    return [container, *(inner for part in parts for inner in containers_in(part))]


def is_leaf(container: Any) -> bool:
    """Whether `container` is a leaf, not a container of leaves.

    >>> is_leaf(3), is_leaf((3,)), is_leaf(None)
    (True, False, False)
    """
    leaves, structure = flatten(container)
    return structure.is_leaf() and len(leaves) == 1


def paths_of(container: Any, name: str = "") -> list[str]:
    """Where each leaf of a container is, as one would write it in Python, behind `name`.

    >>> paths_of({"a": (1, [2])}, "carry")
    ["carry['a'][0]", "carry['a'][1][0]"]
    """
    flatten(container)
    accessors = _optree().tree_accessors(container, namespace=_NAMESPACE)
    return [accessor.codify(name) for accessor in accessors]


def describe_structure(structure: "Structure") -> str:
    """A structure as text, with a ``*`` for each leaf.

    >>> describe_structure(flatten({"a": (1, [2])})[1])
    "{'a': (*, [*])}"
    """
    return repr(structure)[len("PyTreeSpec(") : -1].removesuffix(f", namespace={_NAMESPACE!r}")


def _register_dataclasses(leaves: list[Any]) -> bool:
    """Register each dataclass among the leaves that isn't known yet; whether there was one."""
    if _PLAIN.issuperset(map(type, leaves)):
        return False
    found = {type(leaf) for leaf in leaves if _is_new_dataclass(type(leaf))}
    with _registering:
        for cls in found - _registered:
            _register(_optree(), cls, [field.name for field in dataclasses.fields(cls)])
            _registered.add(cls)
    return bool(found)


_PLAIN = frozenset({bool, int, float, complex, str, np.ndarray})  # of most leaves, in a call that has few


def _is_new_dataclass(cls: type) -> bool:
    # lamina's own dataclasses (dtypes, movements) are values, not containers
    return hasattr(cls, "__dataclass_fields__") and not cls.__module__.startswith("lamina.")


def _register(optree: Any, cls: type, names: Sequence[str]) -> None:
    """Make a class a container of these attributes."""
    names = tuple(names)

    def take_apart(instance: Any) -> tuple[list[Any], tuple[str, ...], tuple[str, ...]]:
        return [getattr(instance, name) for name in names], names, names

    def put_together(names: tuple[str, ...], children: Iterable[Any]) -> Any:
        # neither __init__ nor __post_init__: their checks are about arrays, the children may be nodes
        instance: Any = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(instance, name, child)
        return instance

    optree.register_pytree_node(
        cls, take_apart, put_together, namespace=_NAMESPACE, path_entry_type=optree.GetAttrEntry
    )
