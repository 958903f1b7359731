"""The explicit forms: loops, branches, functions, named blocks, and what happens at run time beside the results.

Functions given to these forms are called once or a few times, with traced values, and may capture others. Carries and
the results of branches are containers; a leaf whose dtype or shape doesn't fit is named in the error.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from lamina import dtype as dt
from lamina.dtype import DType, kind_rank
from lamina.errors import TraceError
from lamina.expr import Expr, describe, with_effects
from lamina.expr.containers import describe_structure, flatten, map_leaves, paths_of, unflatten
from lamina.trace.build import NUMBER_DTYPES, as_value, common_dtype, constant, emit, node_of, scope_now, to_dtype
from lamina.trace.choice import same_alias
from lamina.trace.function import boundary, eager, function, user_code
from lamina.trace.guards import Guard, guards_of
from lamina.trace.scope import Scope, current, next_serial
from lamina.trace.staging import Spec
from lamina.trace.state import apart, effects_apart, is_array
from lamina.trace.value import Kind, Value

# Containers as values and back


def _values(container: Any, what: str) -> tuple[list[Value], Any, list[str]]:
    """The leaves as values, the structure, and how one writes each leaf."""
    leaves, structure = flatten(container)
    paths = paths_of(container, what)
    return [as_value(leaf, path) for leaf, path in zip(leaves, paths, strict=True)], structure, paths


def _call(called: Callable[..., Any], *args: Any) -> Any:
    with user_code():
        return called(*args)


def _name(called: Any) -> str:
    return getattr(called, "__name__", type(called).__name__)


def _expect_callable(called: Any, what: str) -> None:
    if not callable(called):
        raise TypeError(f"{what} must be a function, but it is {called!r}")


def _results(node: Expr, structure: Any, kinds: Sequence[Kind]) -> Any:
    """The results of a node as values in a container; those of several are read through ``elem``."""
    scope = scope_now()
    if not node.has_several:
        return unflatten(structure, [Value(node, scope, kinds[0])])
    return unflatten(structure, [Value(scope.emit("elem", node, i), scope, kind) for i, kind in enumerate(kinds)])


def predicate_of(thing: Any, what: str) -> Value:
    """A traced truth: one bool; a number is true unless it is 0. Raises `TypeError` for an array with axes."""
    value = as_value(thing, what)
    if value.shape != ():
        raise TypeError(
            f"{what} must be one bool, but it is {describe(value.dtype, value.shape)}; use .any() or .all()"
        )
    return value if value.dtype == dt.bool else emit("not_equal", value, constant(0, value.dtype))


# Branches


@function
def cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """``true_fn(*operands)`` where the predicate is true, else ``false_fn(*operands)``; only one of them runs.

    The predicate is one bool or number. Both functions are traced; their results have the same containers and shapes,
    and dtypes that differ are promoted as `lamina.where` does. Raises `TypeError`, naming the leaf, where they don't.

    >>> import lamina
    >>> lamina.cond(lamina.asarray(True), lambda x: x + 1, lambda x: x - 1, lamina.asarray(3))
    lamina.Array(4, shape=(), dtype=int64)
    """
    _expect_callable(true_fn, "true_fn")
    _expect_callable(false_fn, "false_fn")
    scope, chosen = scope_now(), predicate_of(predicate, "predicate")
    branches = []
    for branch in (true_fn, false_fn):
        first = next_serial()
        with apart(scope) as (effects, layer):
            seen, structure, paths = _values(_call(branch, *operands), f"{_name(branch)}(…)")
            values = [Value(node_of(value), scope, value.kind) for value in seen]
            _expect_unwritten(any(cell.serial < first or cell.array is not None for cell in layer))
            branches.append((values, structure, paths, effects, seen))
    (ours, structure, paths, our_effects, seen), (theirs, other, _, their_effects, also_seen) = branches
    if structure != other:
        raise TypeError(
            f"the branches return different containers: {_name(true_fn)} {describe_structure(structure)}, "
            f"{_name(false_fn)} {describe_structure(other)}"
        )
    merged = [_merge(a, b, path) for a, b, path in zip(ours, theirs, paths, strict=True)]
    sides = []
    for values, effects in ((ours, our_effects), (theirs, their_effects)):
        with effects_apart(scope) as more:
            nodes = [node_of(to_dtype(value, dtype)) for value, (dtype, _) in zip(values, merged, strict=True)]
        sides.append(with_effects((*effects, *more), unflatten(structure, nodes)))
    node = scope.emit("cond", ((node_of(chosen), sides[0]),), sides[1])
    if our_effects or their_effects:
        scope.perform(node)
    results = flatten(_results(node, structure, [kind for _, kind in merged]))[0]
    # what both branches return is no copy of it
    both = [is_array(a) and is_array(b) and same_alias(a, b) for a, b in zip(seen, also_seen, strict=True)]
    return unflatten(structure, [a if same else new for a, new, same in zip(seen, results, both, strict=True)])


def _expect_unwritten(is_written: bool) -> None:
    if is_written:
        raise NotImplementedError(
            "a function given to an explicit form wrote into an array from outside it; return the new array instead, "
            "or use Python's own if, for and while in a function under lamina.defn"
        )


def _merge(a: Value, b: Value, path: str) -> tuple[DType, Kind]:
    if a.shape != b.shape:
        ours, theirs = describe(a.dtype, a.shape), describe(b.dtype, b.shape)
        raise TypeError(f"the branches return different shapes: {path} is {ours} in one, {theirs} in the other")
    if a.kind is b.kind is Kind.NUMBER:
        return dt.promote(a.dtype, b.dtype), Kind.NUMBER
    kind = Kind.ARRAY if Kind.ARRAY in (a.kind, b.kind) else Kind.SCALAR
    return common_dtype([a, b]), kind


# Loops


class _Carry(NamedTuple):
    dtype: DType
    shape: tuple[int, ...]
    kind: Kind


@function
def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any) -> Any:
    """``carry = initial; while condition(carry): carry = body(carry)``, and then the carry.

    The carry is an array, a number, or a container of them; the body returns the same container, and each leaf keeps
    its dtype and shape. A Python number among the initial leaves takes the dtype that the body gives it. Raises
    `TypeError` that names the first leaf that changes.

    >>> import lamina
    >>> lamina.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2.0), (0, 1.0))
    (lamina.Array(3, shape=(), dtype=int64), lamina.Array(8., shape=(), dtype=float64))
    """
    _expect_callable(condition, "condition")
    _expect_callable(body, "body")
    return _loop(f"body {_name(body)}", condition, body, initial)


def _loop(what: str, condition: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any) -> Any:
    values, structure, paths = _values(initial, "carry")
    outer = scope_now()
    while True:
        carries = [_Carry(value.dtype, value.shape, value.kind) for value in values]
        scope = Scope(what, outer)
        with scope:
            given = [Value(scope.param(carry.dtype, carry.shape), scope, carry.kind) for carry in carries]
            with effects_apart(scope) as test_effects:
                test = node_of(predicate_of(_call(condition, unflatten(structure, given)), "condition(carry)"))
            turned, came, _ = _values(_call(body, unflatten(structure, given)), "carry")
            if came != structure:
                raise TypeError(
                    f"the body returns another container than the carry: {describe_structure(came)}, "
                    f"but the carry is {describe_structure(structure)}"
                )
            wanted = [
                _next_carry(carry, value, path) for carry, value, path in zip(carries, turned, paths, strict=True)
            ]
            if wanted == carries:
                nodes = [node_of(to_dtype(value, carry.dtype)) for value, carry in zip(turned, carries, strict=True)]
                break
        # a number met an array, or a wider number, in the body: it starts as what it becomes
        started = [to_dtype(value, carry.dtype) for value, carry in zip(values, wanted, strict=True)]
        values = [Value(node_of(value), outer, carry.kind) for value, carry in zip(started, wanted, strict=True)]
    _expect_unwritten(bool(scope.written()))
    captures = scope.params[len(carries) :]
    start = (*map(node_of, values), *(outer.lift(captured, outer) for captured in scope.captures))
    done = with_effects(scope.effects, (*nodes, *captures))
    node = outer.emit("while", start, tuple(scope.params), with_effects(test_effects, test), done)
    if test_effects or scope.effects:
        outer.perform(node)
    return _results_of_first(node, len(carries), structure, [carry.kind for carry in carries])


def _results_of_first(node: Expr, count: int, structure: Any, kinds: Sequence[Kind]) -> Any:
    scope = scope_now()
    return unflatten(structure, [Value(scope.emit("elem", node, i), scope, kinds[i]) for i in range(count)])


def _next_carry(carry: _Carry, value: Value, path: str) -> _Carry:
    """What a leaf of the carry must start as, given what the body makes of it; `TypeError` where nothing helps."""
    if carry.shape != value.shape:
        raise TypeError(_changed(path, "shape", f"{carry.shape}", f"{value.shape}"))
    lift = kind_rank(value.dtype) - kind_rank(carry.dtype)
    if value.kind is Kind.NUMBER and NUMBER_DTYPES[bool] != value.dtype and lift <= 0:
        return carry  # a number takes the carry's dtype
    if carry.kind is Kind.NUMBER and lift >= 0:
        return _Carry(value.dtype, carry.shape, value.kind)
    if carry.dtype != value.dtype:
        raise TypeError(_changed(path, "dtype", str(carry.dtype), str(value.dtype)))
    return carry


def _changed(path: str, what: str, before: str, after: str) -> str:
    return (
        f"the body changed the {what} of {path} from {before} to {after}. A loop value keeps its dtype and shape "
        f"for every step; start with the {what} that the body gives, or convert at its end"
    )


@function
def fori_loop(start: Any, stop: Any, body: Callable[[Any, Any], Any], initial: Any) -> Any:
    """``carry = initial; for i in range(start, stop): carry = body(i, carry)``, and then the carry.

    Start and stop are integers, traced ones too; ``i`` is a traced integer. The carry is as in `while_loop`.

    >>> import lamina
    >>> lamina.fori_loop(0, 4, lambda i, total: total + i, 0)
    lamina.Array(6, shape=(), dtype=int64)
    """
    _expect_callable(body, "body")
    bounds = []
    for thing, what in ((start, "start"), (stop, "stop")):
        value = as_value(thing, what)
        if value.shape != () or value.dtype.kind not in ("signed", "unsigned"):
            raise TypeError(f"{what} must be one integer, but it is {describe(value.dtype, value.shape)}")
        value = to_dtype(value, dt.int64)
        bounds.append(Value(node_of(value), scope_now(), Kind.NUMBER))
    last = bounds[1]

    def turn(carry: Any) -> Any:
        i, inner = carry
        # the count itself stays below stop, so it needs no check for overflow
        return emit("add", i, constant(1, dt.int64), kind=Kind.NUMBER), body(i, inner)

    def goes_on(carry: Any) -> Any:
        return emit("less", carry[0], last)

    return _loop(f"body {_name(body)}", goes_on, turn, (bounds[0], initial))[1]


# Functions and blocks


class Function:
    """A function that is traced once for each structure of its arguments, and called from then on; see `lamina.fun`."""

    def __init__(self, called: Callable[..., Any]) -> None:
        self._called = called
        self.__name__ = _name(called)
        self.__doc__ = called.__doc__
        self.__wrapped__ = called

    def __call__(self, *args: Any) -> Any:
        """The results of the function on these arguments."""
        return call(self, *args)

    def __repr__(self) -> str:
        return f"lamina.fun({self.__name__})"


def fun(called: Callable[..., Any]) -> Function:
    """A decorator: inside a traced function, each call is a ``call`` node of one ``fun``, not a copy of the body.

    >>> import lamina
    >>> @lamina.fun
    ... def cube(x):
    ...     return x * x * x
    >>> graph = lamina.trace(lambda x: cube(cube(x)), lamina.Spec(lamina.float64, (3,)))
    >>> [node.op for node in graph.order]
    ['fun', 'parameter', 'call', 'call']
    """
    _expect_callable(called, "fun's argument")
    return Function(called)


class _Body(NamedTuple):
    fun: Expr
    captures: list[Expr]
    owner: Scope
    structure: Any
    kinds: list[Kind]
    has_effects: bool
    guards: list[Guard]

    @property
    def is_usable(self) -> bool:
        """Whether what it captured is still there, and what it read is as it was."""
        return (not self.captures or self.owner.is_open) and all(guard.holds() for guard in self.guards)


@function
def call(called: Function, *args: Any) -> Any:
    """The results of a `lamina.fun` on these arguments: what calling it does."""
    leaves, structure = flatten(args)
    given = [as_value(leaf, path) for leaf, path in zip(leaves, paths_of(args, "args"), strict=True)]
    scope = scope_now()
    key = (called, structure, tuple((value.dtype, value.shape, value.kind) for value in given))
    bodies = scope.root.funs
    found = bodies.get(key)
    if found is _TRACING:
        raise TraceError(f"{called.__name__} calls itself, which has no end while it is traced; use lamina.while_loop")
    if found is None or not found.is_usable:
        bodies[key] = _TRACING
        try:
            found = bodies[key] = _trace_body(called, structure, given)
        finally:
            if bodies[key] is _TRACING:
                del bodies[key]
    nodes = (*map(node_of, given), *(scope.lift(captured, found.owner) for captured in found.captures))
    node = scope.emit("call", found.fun, nodes)
    if found.has_effects:
        scope.perform(node)
    return _results(node, found.structure, found.kinds)


_TRACING: Any = object()


def _trace_body(called: Function, structure: Any, given: Sequence[Value]) -> _Body:
    outer = scope_now()
    scope = Scope(called.__name__, outer)
    guards = guards_of(called._called)
    with scope:
        inner = [Value(scope.param(value.dtype, value.shape), scope, value.kind) for value in given]
        results, returned, _ = _values(_call(called._called, *unflatten(structure, inner)), f"{called.__name__}(…)")
        body = unflatten(returned, [node_of(result) for result in results])
    _expect_unwritten(bool(scope.written()))
    node = outer.emit("fun", tuple(scope.params), with_effects(scope.effects, body), called.__name__)
    kinds = [result.kind for result in results]
    return _Body(node, scope.captures, outer, returned, kinds, bool(scope.effects), guards)


def _is_array(leaf: Any) -> bool:
    # np.float32 has a dtype and a shape too, which are its instances'
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape") and not isinstance(leaf, (type, Spec))


@function
def block(
    struct: Hashable, default: Callable[..., Any], *in_args: Any, callback: Callable[..., Any] | None = None
) -> Any:
    """``default(*in_args)`` as one named unit, which a compiler that knows `struct` may implement itself.

    Arrays among the leaves of `in_args` are the unit's inputs; anything else, Python numbers too, are its options,
    known to the compiler. `callback` is for compilers that ask for one.

    >>> import lamina
    >>> lamina.block("double", lambda x, times: x * times, lamina.asarray([1, 2]), 2)
    lamina.Array([2, 4], shape=(2,), dtype=int64)
    """
    _expect_callable(default, "default")
    leaves, structure = flatten(in_args)
    outer = scope_now()
    given = [as_value(leaf) if _is_array(leaf) else leaf for leaf in leaves]
    scope = Scope(f"block {struct}", outer)
    with scope:
        inner = [
            Value(scope.param(leaf.dtype, leaf.shape), scope, leaf.kind) if type(leaf) is Value else leaf
            for leaf in given
        ]
        results, returned, _ = _values(_call(default, *unflatten(structure, inner)), f"{_name(default)}(…)")
        body = unflatten(returned, [node_of(result) for result in results])
    _expect_unwritten(bool(scope.written()))
    nodes = unflatten(structure, [node_of(leaf) if type(leaf) is Value else leaf for leaf in given])
    node = outer.emit("block", struct, (*nodes, *scope.captures), with_effects(scope.effects, body), callback)
    if scope.effects:
        outer.perform(node)
    return _results(node, returned, [result.kind for result in results])


# Effects and notes


@function
def hook(value: Any, name: str, callback: Callable[[Any], Any] | None = None) -> Any:
    """The value, after it was shown to the callback, as NumPy arrays in the same container, each time this runs.

    >>> import lamina
    >>> lamina.hook(lamina.asarray(3), "shown", print)
    3
    lamina.Array(3, shape=(), dtype=int64)
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, but it is {name!r}")
    values, structure, _ = _values(value, "value")
    if not values:
        raise ValueError("value has no array to show")
    scope = scope_now()
    node = scope.perform(scope.emit("hook", unflatten(structure, [node_of(each) for each in values]), name, callback))
    return _results(node, structure, [each.kind for each in values])


@function
def runtime_call(callback: Callable[..., Any], template: Any, *args: Any, **options: Any) -> Any:
    """What ``callback(*args, **options)`` returns when this runs: Python code inside a compiled function.

    The callback gets NumPy arrays and returns the template's container of arrays; the template's leaves are
    `lamina.Spec`s, or arrays of the dtypes and shapes to come. Raises `TypeError` at run time where it returns others.

    >>> import lamina, numpy as np
    >>> lamina.runtime_call(np.sort, lamina.Spec(lamina.int64, (3,)), lamina.asarray([3, 1, 2]))
    lamina.Array([1, 2, 3], shape=(3,), dtype=int64)
    """
    _expect_callable(callback, "callback")
    specs, structure = flatten(template)
    for spec in specs:
        if not (isinstance(spec, Spec) or _is_array(spec)):
            raise TypeError(f"template must hold lamina.Spec or arrays, but a leaf is {spec!r}")
    template = unflatten(structure, [Spec(spec.dtype, spec.shape) for spec in specs])
    scope = scope_now()
    nodes = map_leaves(lambda leaf: node_of(as_value(leaf, "an argument of the callback")), args)
    node = scope.perform(scope.emit("runtime_call", nodes, callback, template, options))
    return _results(node, structure, [Kind.ARRAY] * len(specs))


def check(predicate: Any, exception: type[Exception], message: str) -> None:
    """Raise ``exception(message)`` when this runs, unless the predicate, one bool, is true.

    >>> import lamina
    >>> lamina.check(lamina.asarray(1) > 2, ValueError, "too small")
    Traceback (most recent call last):
    ValueError: too small
    """
    with boundary("check"):
        if not (isinstance(exception, type) and issubclass(exception, Exception)):
            raise TypeError(f"exception must be a class of exceptions, but it is {exception!r}")
        if (scope := current()) is not None:
            scope.perform(scope.emit("check", node_of(predicate_of(predicate, "predicate")), exception, message))
            return
        holds = eager("check", predicate_of, predicate, "predicate")
    if not holds:  # outside the boundary: the message is the user's own
        raise exception(message)


@function
def metadata(value: Any, note: dict[Any, Any]) -> Any:
    """The value, each leaf in a ``metadata`` node that carries the note: for compilers, no part of the meaning.

    >>> import lamina
    >>> lamina.metadata(lamina.asarray(3), {"name": "three"})
    lamina.Array(3, shape=(), dtype=int64)
    """
    if not isinstance(note, dict):
        raise TypeError(f"note must be a dict, but it is {note!r}")

    def noted(leaf: Any) -> Value:
        each = as_value(leaf, "value")
        return emit("metadata", each, noted_nodes, kind=each.kind)

    noted_nodes = map_leaves(lambda leaf: node_of(leaf) if type(leaf) is Value else leaf, note)
    return map_leaves(noted, value)
