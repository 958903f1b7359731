"""``if`` on a traced predicate: both branches are traced, and the variables and memories they leave are merged.

Where the branches leave things that can't be merged (see `lamina.trace.merge`), the predicate's outcome must be known:
its number arguments are pinned, or the loop that decides it is unrolled.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from lamina import dtype as dt
from lamina.errors import TraceError
from lamina.expr import build
from lamina.trace.build import constant, scope_now
from lamina.trace.control import predicate_of
from lamina.trace.merge import Mark, Merge, Side, cells_in
from lamina.trace.names import RUNTIME
from lamina.trace.scope import Scope, next_serial, raised_at
from lamina.trace.state import CannotMerge, Get, Put, Untraceable, apart, demand
from lamina.trace.value import Value

_CALLS_ITSELF = "a function calls itself in one of them"


def branch(
    test: Value,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    get: Get,
    put: Put,
    names: Sequence[str],
    *,
    has_rest: bool = True,
) -> None:
    """Trace both branches of a traced predicate and bind what they leave.

    Without a rest, nothing of the program runs any more after `orelse`: the function has returned.
    """
    scope, predicate, start = scope_now(), predicate_of(test, "the condition"), get()
    mark = Mark(next_serial(), constant(False, dt.bool).expr.id)
    try:
        sides = []
        for body in (then, orelse):
            put(start)
            sides.append(_run(scope, body, get))
        left, right = sides
        if left.has_raised and right.has_raised:
            raise CannotMerge("both branches raise")
        if left.has_raised:
            left = left._replace(state=right.state)
        if right.has_raised:
            right = right._replace(state=left.state)
        if not has_rest:
            right = right._replace(
                state=tuple(
                    b if name.startswith(RUNTIME) else a
                    for name, a, b in zip(names, left.state, right.state, strict=True)
                )
            )
        merged = Merge(scope, predicate, mark, left, right)
        state = tuple(merged.name(*each) for each in zip(names, left.state, right.state, strict=True))
    except CannotMerge as error:
        put(start)
        taken = demand(test, f"the branches of this if can't be one program: {error}")
        (then if taken else orelse)()
        return
    except BaseException:
        put(start)
        raise
    put(merged.finish(state))


def _is_deep() -> bool:
    """Whether calls are so deep that what Python calls of itself, as a finalizer of garbage, may soon have no room."""
    try:
        sys._getframe(sys.getrecursionlimit() * 9 // 10)
    except ValueError:  # there are fewer
        return False
    return True


def _run(scope: Scope, body: Callable[[], Any], get: Get) -> Side:
    if _is_deep():
        raise CannotMerge(_CALLS_ITSELF)
    with apart(scope, is_branch=True) as (effects, layer):
        raised: Exception | None = None
        try:
            body()
        except (TraceError, NotImplementedError, CannotMerge):
            raise
        except RecursionError as error:  # a function that calls itself until the predicate ends it
            raise CannotMerge(_CALLS_ITSELF) from error
        except Exception as error:
            raised = error
            if any(type(arg) is Value for arg in error.args):
                raise Untraceable("an exception whose message holds a traced value") from error
            line = raised_at(error)
            args = constant(False, dt.bool).expr, error.with_traceback(None), ""
            effects.append(build("check", *args, source=line))
            scope.root.risks += 1
        state = get()
        memories = {cell: scope.read(cell) for cell in {*layer, *cells_in(state)}}
        return Side(state, memories, set(layer), effects, raised is not None)
