"""Variants: a variable of which only a run tells the dtype or the shape, as branches have left several.

``y = x.sum() if x[0] > 0 else x`` is a scalar or an array. What a program does with it is a branch, in which it is
known to be the one or the other; what comes of it is a variant again, or one value where the dtypes and shapes agree.
So each operation is traced once for each thing that its operands may be, and what follows it is not. Which things
become a variant is decided in `lamina.trace.merge`; `lamina.trace.cases` does the rest.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NoReturn

from lamina.trace.build import node_of
from lamina.trace.choice import with_tests
from lamina.trace.state import Untraceable
from lamina.trace.value import Value

MOST = 8  # things that a variable may be


class Variant:
    """One of several traced things: the first whose test is true, else the last; at most one test is."""

    __slots__ = ("tests", "things")

    def __init__(self, tests: Iterable[Value], things: Iterable[Any]) -> None:
        self.tests = tuple(tests)
        self.things = tuple(things)

    def cases(self) -> list[tuple[Value, Any]]:
        """Each thing behind the test that it is this one."""
        return with_tests(self.tests, self.things)

    def given(self, test: Value, holds: bool) -> Any:
        """What it is where it is known whether a test holds."""
        place = next((i for i, each in enumerate(self.tests) if node_of(each) is node_of(test)), None)
        if place is None:
            return self
        if holds:
            return self.things[place]
        tests, things = ([*each[:place], *each[place + 1 :]] for each in (self.tests, self.things))
        return Variant(tests, things) if tests else things[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(_method, self, name)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise Untraceable("an array of which a run alone tells the dtype or the shape is given to a library")

    __array_ufunc__ = __array_function__ = __bool__ = __index__ = __int__ = __float__ = __complex__ = __array__
    __iter__ = __len__ = __hash__ = __array__


def _method(thing: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(thing, name)(*args, **kwargs)


def leaves_in(thing: Any, into: frozenset[type]) -> Iterator[Any]:
    """The leaves of a thing, in containers of these types."""
    if type(thing) in into:
        for part in _parts(thing):
            yield from leaves_in(part, into)
    else:
        yield thing


def _parts(thing: Any) -> Iterable[Any]:
    if type(thing) is slice:
        return thing.start, thing.stop, thing.step
    return thing.values() if type(thing) is dict else thing


def replaced(thing: Any, new: Callable[[Any], Any], into: frozenset[type]) -> Any:
    """A thing with its leaves, in containers of these types, replaced."""
    if type(thing) not in into:
        return new(thing)
    parts = [replaced(part, new, into) for part in _parts(thing)]
    if type(thing) is dict:
        return dict(zip(thing, parts, strict=True))
    return slice(*parts) if type(thing) is slice else type(thing)(parts)
