"""`defn`: a function that is traced once for each structure of its arguments, compiled, and called from then on.

The key of a trace is what decides it: the containers, each array's dtype and shape, the type of each number, the static
arguments, and the numbers whose values the trace needed. What the function reads from globals and closures is guarded.
The cache belongs to the function and is freed with it.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from lamina.arguments import (
    Arguments,
    argument_paths,
    expect_arguments,
    function_name,
    is_traced,
    key_types,
    mixed_memory,
    number_key,
    params_of,
    positions_of,
    signature_of,
    stage_call,
)
from lamina.array import Array
from lamina.compilers import Compiled, Compiler, compile_by, compiler_named
from lamina.compilers.direct import MISS, entry_of
from lamina.errors import CompilerError, ConcretizationError, TraceError, warn
from lamina.expr import Graph
from lamina.expr.containers import flatten
from lamina.expr.node import CALLBACKS
from lamina.expr.tree import all_nodes
from lamina.results import returned
from lamina.roots import overlaps_of
from lamina.shortcut import Shortcut, are_plain, form_of, key_of, shortcut_of
from lamina.trace import python
from lamina.trace.drawing import Drawing
from lamina.trace.guards import Drawn, Guard, guards_of, set_state, state_of
from lamina.trace.scope import Note, current, raised_at
from lamina.trace.staging import Spec, Traced, with_structure
from lamina.trace.state import CannotMerge, Untraceable
from lamina.trace.value import Pin, Unroll, Value

_MANY_CASES = 64  # forms of calls that native code knows of one function
_MANY_VALUES = 10  # retraces for one pinned number before a warning
# What a trace ends with where the function runs as plain Python.
CANNOT_TRACE = (Untraceable, Unroll, CannotMerge, ConcretizationError, NotImplementedError, RecursionError)


class _CompileError(Exception):
    """What a compiler raised: its own error, not the program's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


@dataclass(slots=True, eq=False)
class _Entry:
    """One compiled trace: what to call, what its params are made of, and what it returns."""

    compiled: Compiled
    traced: Traced
    arguments: Arguments
    guards: list[Guard]
    is_seen: bool  # whether running it shows something, which must not happen twice
    generators: list[Any]  # of random numbers, from outside, that it draws from
    calls: int = 0  # that have gone the long way

    def run(self, leaves: Sequence[Any], arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """The graph's results for these arguments; what the program has written in place is the argument's memory."""
        in_place = getattr(self.compiled, "in_place", None)
        if in_place is None:
            return self.compiled(*params_of(self.arguments, leaves, arrays))
        written = [param.args[0] for param, _ in self.traced.graph.updates]
        params = params_of(self.arguments, leaves, arrays, written)
        return [*in_place(*params), *(params[place] for place in written)]


class Defn:
    """A compiled function; made by `defn`, called like the function itself."""

    def __init__(
        self, function: Callable[..., Any], compiler: str | Compiler, strict: bool, options: dict[str, Any]
    ) -> None:
        if not callable(function):
            raise TypeError(f"lamina.defn: expected a function, but got {function!r}")
        functools.update_wrapper(self, function)
        self._function = function
        self._name = function_name(function)
        self._qualname = str(getattr(function, "__qualname__", self._name))
        self._compiler = compiler
        self._strict = strict
        self._options = options
        compiler_named(compiler)  # which refuses what isn't there, before anything is traced
        self._entries: dict[Any, _Entry] = {}
        self._pinned: dict[Any, tuple[int, ...]] = {}
        self._plain: set[Any] = set()  # signatures that can't be traced
        self._shortcuts: dict[Any, Shortcut] = {}
        # What gives the result of a call that it knows, or `MISS`, and what it knows: by the names of the named
        # arguments, or, where there are containers, by the structure of all arguments.
        self._direct: dict[Any, Callable[..., Any]] = {}
        self._cases: dict[Any, list[Any]] = {}
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results: NumPy's kinds for NumPy arrays and numbers, `lamina.Array` where one was given."""
        if current() is not None:
            return python.call(self._function, *args, **kwargs)  # part of a larger trace
        direct = self._direct.get(tuple(kwargs))
        if direct is not None:
            result = direct(*args, *kwargs.values()) if kwargs else direct(*args)
            if result is not MISS:
                return result
        key = None if kwargs else key_of(args)
        short = self._shortcuts.get(key)
        if short is not None and all(guard.holds() for guard in short.guards):
            return short.finish(short.compiled(*map(np.asarray, args)))
        leaves, structure = flatten((args, kwargs))
        direct = self._direct.get(structure)
        if direct is not None:
            result = direct(*leaves)
            if result is not MISS:
                return result
        arrays = [np.asarray(leaf) for leaf in leaves if isinstance(leaf, (np.ndarray, Array))]
        shared: Any = overlaps_of(arrays) if len(arrays) > 1 else ()
        if shared:  # which of them are one array
            places = {id(leaf): i for i, leaf in enumerate(leaves)}
            shared = (shared, tuple(places[id(leaf)] for leaf in leaves if isinstance(leaf, (np.ndarray, Array))))
        signature = (structure, key_types(structure), tuple(map(signature_of, leaves)), shared)
        try:
            entry = self._find(signature, leaves)
            is_plain = signature in self._plain
        except TypeError:
            if not self._refuses(leaves, args, kwargs):
                raise
            is_plain = True
        if is_plain:
            return self._function(*args, **kwargs)
        if entry is not None and (reason := mixed_memory(entry.traced, arrays)):
            if self._strict:
                raise TraceError(f"{self._name} can't be traced: {reason}")
            warn(f"{self._name} runs as plain Python, not compiled: {reason}")
            return self._function(*args, **kwargs)
        if entry is None:
            if self._refuses(leaves, args, kwargs):
                self._plain.add(signature)
                return self._function(*args, **kwargs)
            try:
                entry = self._trace(signature, structure, leaves, (args, kwargs))
            except CANNOT_TRACE as reason:
                return self._untraced(reason, signature, args, kwargs)
            except TraceError:
                raise
            except _CompileError as failed:
                raise failed.error from None
            except Exception as error:  # noqa: BLE001  the program's own, or NumPy's
                return self._replayed(error, args, kwargs, None if self._strict else signature)
        is_redone = bool(entry.traced.graph.updates) and not entry.is_seen
        states = list(map(state_of, entry.generators)) if is_redone else []
        try:
            results = entry.run(leaves, arrays)
        except CompilerError:
            raise
        except Exception as error:
            if is_redone:
                for generator, state in zip(entry.generators, states, strict=True):
                    set_state(generator, state)
                return self._replayed(error, args, kwargs, None, (*arrays, *entry.traced.captured))
            raise
        self._shorten(entry, key if signature not in self._pinned else None, args, kwargs, leaves, structure)
        return returned(entry.traced, entry.arguments, leaves, arrays, results)

    def _shorten(self, entry: _Entry, key: Any, args: Any, kwargs: Any, leaves: Sequence[Any], structure: Any) -> None:
        """Find a shorter way for the next call like this one."""
        entry.calls += 1
        params, case_of = entry.arguments.params, getattr(entry.compiled, "direct", None)
        if case_of is not None and entry.calls == 1:
            return  # what is called once needs none
        if case_of is not None and entry.calls == 2:
            given = (*args, *kwargs.values())
            is_flat = list(map(id, leaves)) == [id(each) for each in given if each is not None]
            kind, given = (tuple(kwargs), given) if is_flat else (structure, tuple(leaves))
            is_clear = is_flat or are_plain((args, kwargs))
            form = form_of(given, entry.traced, params, entry.guards) if is_clear else None
            case = form and case_of(form)
            if case is not None:
                with self._lock:
                    self._cases[kind] = [case, *self._cases.get(kind, ())][:_MANY_CASES]
                    self._direct[kind] = entry_of(self._cases[kind])
                return
        if key is not None:
            found = shortcut_of(args, entry.compiled, entry.traced, params, entry.guards)
            if found is not None:
                self._shortcuts[key] = found

    def _refuses(self, leaves: Sequence[Any], args: Any, kwargs: Any) -> bool:
        """Whether an argument can't be taken, so that the function runs as it is, with one warning; strict: raise."""
        try:
            expect_arguments(self._function, args, kwargs)
        except (TypeError, ValueError) as reason:
            if self._strict or isinstance(reason, TraceError) or any(isinstance(leaf, Spec) for leaf in leaves):
                raise
            if str(reason) not in self._plain:
                self._run_plain(str(reason), type(reason)(str(reason).removeprefix(f"{self._name}: ")))
            return True
        return False

    def _untraced(self, reason: BaseException, signature: Any, args: Any, kwargs: Any) -> Any:
        """Run a function that can't be traced as it is, with one warning; strict: raise."""
        if self._strict:
            if isinstance(reason, (TraceError, NotImplementedError)):
                raise reason
            raise TraceError(f"{self._name} can't be traced: {reason}") from reason
        self._run_plain(signature, reason)
        return self._function(*args, **kwargs)

    def _run_plain(self, signature: Any, reason: BaseException) -> None:
        """From now on the function runs as it is on arguments of this signature."""
        self._plain.add(signature)
        warn(f"{self._name} runs as plain Python, not compiled: {with_line(reason)}")

    def _replayed(
        self, error: Exception, args: Any, kwargs: Any, signature: Any, written: Sequence[np.ndarray] = ()
    ) -> Any:
        """Raise an error where the undecorated function raises it: what it has written by then stays written.

        Where it raises none, the error is ours: the function of this signature runs as it is, or, without a signature,
        the error is raised too, and the arrays `written` have their elements back.
        """
        held = [(array, array.copy()) for array in written if array.flags.writeable]
        try:
            result = self._function(*args, **kwargs)
        except Exception as own:  # noqa: BLE001  whatever the function raises is what its caller gets
            is_ours = type(own).__name__ == type(error).__name__ and not any(type(each) is Value for each in error.args)
            raise (error if is_ours else own) from None
        if signature is None:
            for array, elements in held:
                array[...] = elements
            raise error
        self._run_plain(signature, error)
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        # one compiled method for each object, kept by the object, so that it is freed with it
        kept, name = getattr(instance, "__dict__", {}), f"_lamina_{self._qualname}"
        found = kept.get(name)
        if found is None or not found.is_for(instance, self._function):
            with self._lock:
                found = kept.get(name)
                if found is None or not found.is_for(instance, self._function):
                    method = self._function.__get__(instance, owner)
                    found = _Kept(Defn(method, self._compiler, self._strict, self._options))
                    if isinstance(kept, dict):
                        kept[name] = found
                    else:  # a class, of a classmethod around this: its attributes are a read-only view
                        type.__setattr__(instance, name, found)
        return found.defn

    def __reduce__(self) -> str:
        return self._qualname  # like a function's: by its name in its module

    def __repr__(self) -> str:
        return f"lamina.defn({self._name})"

    def _key(self, signature: Any, leaves: Sequence[Any]) -> Any:
        return signature, tuple(number_key(leaves[i]) for i in self._pinned.get(signature, ()))

    def _find(self, signature: Any, leaves: Sequence[Any]) -> _Entry | None:
        entry = self._entries.get(self._key(signature, leaves))
        if entry is None or not all(guard.holds() for guard in entry.guards):
            return None
        return entry if all(content.holds() for content in entry.traced.contents) else None

    def _trace(self, signature: Any, structure: Any, leaves: list[Any], given: Any) -> _Entry:
        with self._lock:  # one structure is traced once, from however many threads it is asked for
            entry = self._find(signature, leaves)
            while entry is None:
                pinned = self._pinned.get(signature, ())
                try:
                    traced, arguments, guards = _guarded(self._function, structure, leaves, pinned)
                except Pin as pin:
                    self._pinned[signature] = (*pinned, *positions_of(pin, leaves, pinned))
                    continue
                try:
                    compiled = compile_by(self._compiler, traced.graph, self._options)
                except Exception as error:
                    raise _CompileError(error) from error
                entry = _Entry(compiled, traced, arguments, guards, *_acts_of(traced.graph))
                self._entries[self._key(signature, leaves)] = entry
                self._warn_if_many(signature, given)
            return entry

    def _warn_if_many(self, signature: Any, given: Any) -> None:
        pinned = self._pinned.get(signature, ())
        if pinned and sum(key[0] == signature for key in self._entries) == _MANY_VALUES:
            paths = argument_paths(self._function, *given)
            names = ", ".join(paths[i] for i in pinned)
            warn(
                f"{self._name} was traced for {_MANY_VALUES} values of {names}: a shape, an index or a Python loop "
                "needs the number itself. Write lamina.fori_loop or lamina.while_loop instead, or pass an array"
            )


def with_line(reason: BaseException) -> str:
    """What an error says, with the user's line that it came by."""
    source, message = raised_at(reason), str(reason)
    if source is None or f"{source.file}:{source.line}" in message:
        return message
    return f"{message} ({source.file}:{source.line})"


class _Kept:
    """A compiled method among the attributes of its object; a copy of the object, or a pickle, has none yet."""

    __slots__ = ("defn",)

    def __init__(self, defn: Defn | None = None) -> None:
        self.defn = defn

    def is_for(self, instance: Any, function: Callable[..., Any]) -> bool:
        method = self.defn and self.defn._function
        return getattr(method, "__self__", None) is instance and getattr(method, "__func__", None) is function

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kept, ()


@overload
def defn(
    function: Callable[..., Any], /, *, compiler: str | Compiler = ..., strict: bool = ..., **options: Any
) -> Defn: ...
@overload
def defn(
    *, compiler: str | Compiler = ..., strict: bool = ..., **options: Any
) -> Callable[[Callable[..., Any]], Defn]: ...
def defn(
    function: Callable[..., Any] | None = None,
    /,
    *,
    compiler: str | Compiler = "native",
    strict: bool = False,
    **options: Any,
) -> Any:
    """A decorator: compile a NumPy function; it is traced at its first call with each structure of arguments.

    Arguments are arrays, NumPy scalars, Python numbers, and containers of them; anything else must be hashable and is
    static: it is part of the key. Numbers are traced, so other values need no new trace, unless the function asks for
    the number itself (a shape, an index, ``range``). `compiler` is ``"native"``, machine code, ``"evaluator"``, node by
    node on NumPy, or another that is installed, or a compiler itself; `options` are the compiler's.

    Raises what the function raises while it is traced, and `ValueError` for a compiler that isn't there.

    >>> import numpy as np
    >>> @defn
    ... def scaled(x, k):
    ...     return {"sum": x.sum() * k, "all": x * k}
    >>> scaled(np.arange(3), 2)
    {'sum': np.int64(6), 'all': array([0, 2, 4])}
    """
    if function is None:
        return lambda function: Defn(function, compiler, strict, options)
    return Defn(function, compiler, strict, options)


def trace(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Graph:
    """The graph of a function on arguments like these: arrays, numbers, `lamina.Spec`s, containers of them.

    ``graph.params`` are the arrays and numbers among the arguments, in order, without numbers whose values the trace
    needed; ``graph.outputs`` is the container the function returns, with nodes as leaves; ``graph.effects`` what must
    happen, in order; ``str(graph)`` its text.

    >>> import numpy as np
    >>> print(trace(lambda x, y: (x + y).sum(), np.ones(3), np.ones(3)))
    <lambda>(%0: float64[3], %1: float64[3]):
      %2: float64[3] = add(%0, %1)
      %3: float64[] = sum(%2, (0,))
      return %3
    """
    if isinstance(function, Defn):
        function = function._function
    try:
        return with_structure(staged(function, args, kwargs).traced)
    except (Untraceable, Unroll, CannotMerge) as reason:
        raise TraceError(f"{function_name(function)} can't be traced: {reason}") from reason


class Staged(NamedTuple):
    """A function traced on arguments."""

    traced: Traced
    arguments: Arguments
    guards: list[Guard]
    pinned: list[tuple[int, Note]]  # the place among the leaves of each number that it was traced for, and why


def staged(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Staged:
    """Trace a function, again for each number that it needs; raises what `lamina.trace` says of one that can't be."""
    leaves, structure = flatten((args, kwargs))
    pinned: list[tuple[int, Note]] = []
    while True:
        places = [place for place, _ in pinned]
        try:
            return Staged(*_guarded(function, structure, leaves, places), pinned)
        except Pin as pin:
            pinned += [(place, pin.note) for place in positions_of(pin, leaves, places)]


def _guarded(
    function: Callable[..., Any], structure: Any, leaves: Sequence[Any], pinned: Sequence[int]
) -> tuple[Traced, Arguments, list[Guard]]:
    """A trace, with what it has read from outside, where no random number may be drawn."""
    guards = guards_of(function, [leaf for leaf in leaves if not is_traced(leaf)])
    drawn = Drawn((*leaves, *(leaf for guard in guards for leaf in guard.leaves)))
    name = function_name(function)
    traced, arguments = stage_call(function, name, structure, leaves, pinned)
    if used := drawn.undone():
        raise NotImplementedError(
            f"{name} draws random numbers from {used[0]!r} while it is traced, so each call would "
            "return the same ones; pass them as an argument, or draw them with lamina.runtime_call"
        )
    return traced, arguments, guards


def _acts_of(graph: Graph) -> tuple[bool, list[Any]]:
    """Whether running a graph shows something, but for random numbers, and the generators that it draws these from."""
    nodes = all_nodes((graph.effects, graph.outputs, graph.updates))
    callbacks = [node.args[1 if node.op == "runtime_call" else 2] for node in nodes if node.op in CALLBACKS]
    drawings = [each for each in callbacks if isinstance(each, Drawing)]
    generators = {id(each.outside): each.outside for each in drawings if each.outside is not None}
    return len(drawings) < len(callbacks), list(generators.values())
