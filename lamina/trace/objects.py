"""Python objects that a program changes: its own at any time, those from outside only where tracing takes it back."""

import functools
from types import FunctionType
from typing import Any

import numpy as np

from lamina.expr.containers import leaves_of, map_leaves
from lamina.trace import rewrite
from lamina.trace.guards import is_users_class
from lamina.trace.scope import Cell, Scope, current
from lamina.trace.state import CannotMerge, Untraceable
from lamina.trace.value import Unroll, Value
from lamina.trace.variant import Variant

_LIST_MUTATORS = "append extend insert remove pop clear sort reverse __setitem__ __delitem__ __iadd__ __imul__"
_DICT_MUTATORS = "update setdefault popitem"
_SET_MUTATORS = "add discard difference_update intersection_update symmetric_difference_update"
MUTATORS = frozenset(f"{_LIST_MUTATORS} {_DICT_MUTATORS} {_SET_MUTATORS}".split())


def made(thing: Any) -> Any:
    """A Python object that the program has made: it may change it, in the scope and branch it made it in."""
    scope = current()
    if scope is not None:
        scope.root.objects[id(thing)] = thing, scope, scope.depth
    return thing


def is_made(thing: Any) -> bool:
    """Whether the program has made an object."""
    scope = current()
    return scope is not None and id(thing) in scope.root.objects and scope.root.objects[id(thing)][0] is thing


def made_plainly(thing: Any) -> Any:
    """What code that isn't traced has made, perhaps anew at each call: no array in it may be written in place."""
    scope = current()
    waiting, met = [thing], set()
    while scope is not None and waiting:
        for leaf in leaves_of(waiting.pop()):
            if isinstance(leaf, np.ndarray):
                scope.root.made_arrays[id(leaf)] = leaf
            elif id(leaf) not in met and is_users_class(type(leaf)) and hasattr(leaf, "__dict__"):
                met.add(id(leaf))
                waiting.append(dict(vars(leaf)))
    return thing


def expect_own(thing: Any, what: str) -> None:
    """Raise where the object would have to change at each turn, or in one branch alone.

    One that was there before the call changes while the function is traced, as what Python does outside arrays does.
    """
    scope = current()
    if scope is None:
        return
    if scope.root.containers.get(id(thing)) is thing:
        raise Untraceable(f"{what}, of an argument; return what it becomes instead")
    known = scope.root.objects.get(id(thing))
    if known is None or known[0] is not thing:
        _remember(scope.root, thing)
    _, owner, depth = known if known is not None and known[0] is thing else (thing, scope.root, 0)
    inner: Scope | None = scope
    while inner is not None and inner is not owner:
        if inner.is_loop:
            raise Unroll(inner, f"{what} in it, a Python object that each turn changes")
        inner = inner.parent
    if owner is scope and depth != scope.depth:
        raise CannotMerge(f"{what} happens in one branch")


def as_stored(thing: Any) -> Any:
    """The array from outside itself, where a traced one stands for all of it."""
    whole = type(thing) is Value and type(thing.cell) is Cell and thing.layout is None
    return thing.cell.array if whole and thing.cell.array is not None else thing


_OUTSIDE = object()  # stands for the place of a variable that is no local one


def kept(thing: Any, what: str, value: Any) -> Any:
    """What is stored in an object: in one from outside, where a traced value means nothing, the array it stands for."""
    scope = current()
    if scope is None or type(thing) is Value:
        return value
    known = scope.root.objects.get(id(thing))
    if known is not None and known[0] is thing:
        return value
    stored = map_leaves(as_stored, value)
    if any(type(leaf) in (Value, Variant) or id(leaf) in scope.root.generators for leaf in leaves_of(stored)):
        raise Untraceable(
            f"{what} from outside is set to a result; return it, and store it where you call the function"
        )
    return stored


def rebound(name: str, value: Any, is_outside: bool) -> Any:
    """What a global, or a variable of a function around this one, is bound to."""
    expect_own(_OUTSIDE, f"the variable {name} of another function is bound")
    return kept(_OUTSIDE, f"the variable {name}", value) if is_outside else value


def _remember(root: Scope, thing: Any) -> None:
    """What a Python object from outside is, before tracing changes it: a trace that is given up takes that back."""
    if isinstance(thing, list):
        items = list(thing)
        root.undo.append(lambda: thing.__setitem__(slice(None), items))
    elif isinstance(thing, (dict, set)):
        content = thing.copy()
        root.undo.append(lambda: (thing.clear(), thing.update(content)))
    elif hasattr(thing, "__dict__"):
        attributes = dict(vars(thing))
        root.undo.append(lambda: (vars(thing).clear(), vars(thing).update(attributes)))


def remember_variables(root: Scope, function: FunctionType) -> None:
    """The variables that a function shares with what is around it, before tracing binds them."""
    for cell in function.__closure__ or ():
        try:
            root.undo.append(functools.partial(setattr, cell, "cell_contents", cell.cell_contents))
        except ValueError:  # not bound yet
            continue
    namespace = function.__globals__
    for name in rewrite.globals_bound_by(function):
        if name in namespace:
            root.undo.append(functools.partial(namespace.__setitem__, name, namespace[name]))
