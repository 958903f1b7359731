"""Truth and control flow as rewritten source has them: Python's own, unless what decides is traced."""

import contextlib
import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from lamina.operators import FUNCTIONS
from lamina.trace import cases, loop
from lamina.trace.bounded import Bounded
from lamina.trace.branch import branch
from lamina.trace.build import as_value, emit, scope_now
from lamina.trace.cases import splits
from lamina.trace.choice import choice_at
from lamina.trace.content import remember
from lamina.trace.control import predicate_of
from lamina.trace.guards import is_users_class
from lamina.trace.scope import current
from lamina.trace.sequences import Range, Zipped, items_of
from lamina.trace.state import Get, Put, Unbound, Untraceable, demand, is_array
from lamina.trace.value import Kind, Value

# Variables and truth


def unbound(name: str) -> Unbound:
    """A variable at the start of its function."""
    return Unbound(name)


def returned(value: Any, has_returned: Any) -> Any:
    """What a function with early returns returns: None where it has come to its end."""
    if value is None:
        return None
    known = truth(has_returned)
    if type(known) is not bool:
        known = demand(known, "it returns a value in one case and None in the other")
    return value if known else None


def seen(thing: Any) -> Any:
    """An array that was there before, as a traced one: what it holds is read when the program runs, not now."""
    scope = current()
    if scope is None or not isinstance(thing, np.ndarray):
        return thing
    root = scope.root
    known = root.seen_arrays.get(id(thing))
    if known is None:
        value = None
        if type(thing) is np.ndarray and thing.dtype.kind in "biufc" and thing.dtype.isnative:
            with contextlib.suppress(TypeError, ValueError):  # of a dtype that is none of ours
                value = as_value(thing)
        if value is None:  # what is done with it is done now, for as long as it holds the same
            remember(root.contents, thing)
        known = root.seen_arrays[id(thing)] = thing, thing if value is None else value
    return known[1]


def all_seen(thing: Any) -> Any:
    """What is given to a library: the arrays in containers as traced ones too."""
    if type(thing) in (list, tuple):
        items = [all_seen(each) for each in thing]
        is_same = all(new is old for new, old in zip(items, thing, strict=True))
        return thing if is_same else type(thing)(items)
    return seen(thing)


def _seen_item(thing: Any) -> Any:
    return tuple(map(_seen_item, thing)) if type(thing) is tuple else seen(thing)


def each_seen(iterable: Any) -> Any:
    """The items of an iterable, arrays from outside as traced ones."""
    if isinstance(iterable, (Value, Bounded, range, Range, Zipped, str)):
        return iterable
    return map(_seen_item, iterable)


@splits
def truth(thing: Any) -> Any:
    """A Python bool where it is known, else one traced bool."""
    if type(thing) is not Value:
        return bool(thing)
    if math.prod(thing.shape) != 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            if thing.shape and 0 not in thing.shape
            else "The truth value of an empty array is ambiguous. "
            "Use `array.size > 0` to check that an array is not empty."
        )
    value = FUNCTIONS["reshape"](thing, ()) if thing.shape else thing
    node = value.expr
    if node.op == "constant":
        return bool(node.args[0])
    return predicate_of(value, "the condition")


def not_(thing: Any) -> Any:
    """``not thing``."""
    known = truth(thing)
    return not known if type(known) is bool else Value(emit("logical_not", known).expr, scope_now(), Kind.NUMBER)


def choose(test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``then if test else orelse``."""
    known = truth(test)
    if type(known) is bool:
        return then() if known else orelse()
    return cases.choose(known, then, orelse)


def and_(first: Any, rest: Callable[[], Any]) -> Any:
    """``first and rest``."""
    return choose(first, rest, lambda: first)


def or_(first: Any, rest: Callable[[], Any]) -> Any:
    """``first or rest``."""
    return choose(first, lambda: first, rest)


def is_same(a: Any, b: Any) -> Any:
    """Whether two names are of one object; a traced bool where a run alone tells."""
    for one, other in ((a, b), (b, a)):
        choice = choice_at(one) if a is not b and is_array(one) else None
        if choice is not None:
            return choice.holds(lambda side, other=other: is_same(side, other))  # type: ignore[misc]
    if is_array(a) and is_array(b):
        scope_now().root.tells_apart = True
    return a is b


# Control flow


def if_(
    test: Any,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    get: Get,
    put: Put,
    names: tuple[str, ...],
    has_rest: bool = True,
) -> None:
    """``if test: then else: orelse``, which share the variables `names`; whether anything runs after `orelse`."""
    known = truth(test)
    if type(known) is bool:
        (then if known else orelse)()
    else:
        branch(known, then, orelse, get, put, names, has_rest=has_rest)


def for_(iterable: Any, body: Callable[[Any], None], test: Any, get: Get, put: Put, names: Any, live: Any) -> None:
    """``for item in iterable: body(item)``, as long as `test` holds."""
    items = items_of(iterable)
    if items is not None:
        loop.for_loop(items, test, body, get, put, names, live)
        return
    scope = current()
    if scope is not None:
        scope.note("unrolled", f"it goes through a {type(iterable).__name__}")
    for item in each_seen(iterable):
        go_on = True if test is None else truth(test())
        if type(go_on) is not bool:
            branch(go_on, lambda item=item: body(item), lambda: None, get, put, names)  # type: ignore[misc]
        elif not go_on:
            break
        else:
            body(item)


def while_(test: Callable[[], Any], body: Callable[[], None], get: Get, put: Put, names: Any, live: Any) -> None:
    """``while test: body``."""
    loop.while_loop(lambda: truth(test()), body, get, put, names, live)


def raise_(error: Any, cause: Any) -> NoReturn:
    """``raise error from cause``."""
    if cause is None:
        raise error
    raise error from cause


# Managers and handlers


def checks() -> int:
    """How many nodes may raise at run time, before a ``try``."""
    scope = current()
    return scope.root.risks if scope is not None else 0


_ACTING = frozenset({"contextlib", "_io", "_thread", "threading"})  # modules of managers that do something


def entered(manager: Any) -> Any:
    """What ``with`` enters; not what acts at each call (a clock, a file, a lock), or catches what is raised."""
    kind = type(manager)
    is_acting = is_users_class(kind) or (kind.__module__ in _ACTING and kind is not contextlib.nullcontext)
    if current() is not None and is_acting:
        raise Untraceable(f"a with statement of {kind.__name__}, which does something at each call")
    return manager


def no_checks_since(before: int) -> None:
    """At the end of a ``try``: nothing in it may raise at run time, where no handler is left to catch it."""
    if checks() != before:
        raise Untraceable("try/except around what may raise at run time")
