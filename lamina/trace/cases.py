"""What is done with one of several things: a branch for each of them.

`choose` is the branch of an expression. `case_by_case` does what a program does with a variant, or with a number whose
type decides what comes of it, once for each thing that it may be.
"""

import functools
from collections.abc import Callable
from typing import Any

from lamina.trace.branch import branch
from lamina.trace.build import scope_now
from lamina.trace.choice import cases_of as choice_cases
from lamina.trace.choice import choice_at
from lamina.trace.mixed import cases_of
from lamina.trace.state import Decides
from lamina.trace.value import Value
from lamina.trace.variant import Variant, leaves_in, replaced

OPERANDS = frozenset({tuple, slice})  # containers in which an operand stands for its parts
ARGUMENTS = OPERANDS | {list, dict}


def choose(test: Value, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """What `then` gives where a traced test is true, else what `orelse` gives."""
    held: list[Any] = [None]

    def put(values: tuple[Any, ...]) -> None:
        held[0] = values[0]

    branch(
        test,
        lambda: held.__setitem__(0, then()),
        lambda: held.__setitem__(0, orelse()),
        lambda: tuple(held),
        put,
        ("the value",),
    )
    return held[0]


def case_by_case(do: Callable[..., Any], *args: Any, into: frozenset[type] = ARGUMENTS) -> Any:
    """``do(*args)``, where each variant among the args, and in containers among them, is one of its things."""
    unsure = [leaf for leaf in leaves_in(args, into) if _is_unsure(leaf)]
    variant = next((leaf for leaf in unsure if type(leaf) is Variant), None)
    if variant is not None:
        test = variant.tests[0]

        def known(holds: bool) -> Any:
            given = replaced(args, lambda leaf: leaf.given(test, holds) if type(leaf) is Variant else leaf, into)
            return case_by_case(do, *given, into=into)

        return choose(test, lambda: known(True), lambda: known(False))
    if not unsure:
        return do(*args)
    effects = scope_now().effects
    before = len(effects)
    try:
        return do(*args)
    except Decides:
        del effects[before:]
        first = unsure[0]
        variant = as_variant(first)
        return case_by_case(do, *replaced(args, lambda leaf: variant if leaf is first else leaf, into), into=into)


def is_mixed(thing: Any) -> bool:
    """Whether a thing is a number of which a run alone tells the type."""
    return type(thing) is Value and thing.code is not None


def as_variant(thing: Value) -> Variant:
    """A number of which a run alone tells the type, or an array that is one of several, as one of several things."""
    tests, things = zip(*(choice_cases(thing) if choice_at(thing) is not None else cases_of(thing)), strict=True)
    return Variant(tests[:-1], things)


def _is_unsure(thing: Any) -> bool:
    return type(thing) is Variant or is_mixed(thing) or (type(thing) is Value and choice_at(thing) is not None)


def splits(operation: Callable[..., Any]) -> Callable[..., Any]:
    """An operation whose operands may be variants."""

    @functools.wraps(operation)
    def wrapped(*operands: Any) -> Any:
        if any(_is_unsure(operand) or type(operand) in OPERANDS for operand in operands):
            return case_by_case(operation, *operands, into=OPERANDS)
        return operation(*operands)

    return wrapped
