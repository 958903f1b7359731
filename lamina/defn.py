"""`defn`: a function that is traced once for each structure of its arguments, compiled, and called from then on.

The key of a trace is what decides it: the containers, each array's dtype and shape, the type of each number, the static
arguments, and the numbers whose values the trace needed. What the function reads from globals and closures is guarded.
The cache belongs to the function and is freed with it.
"""

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from lamina import dtype as dt
from lamina.array import Array, asarray, from_numpy, to_numpy
from lamina.compilers import Compiled, Compiler, compile_by, compiler_named
from lamina.errors import CompilerError, ConcretizationError, LaminaWarning, TraceError
from lamina.expr import Graph
from lamina.expr.containers import containers_in, flatten, paths_of, unflatten
from lamina.expr.tree import all_nodes
from lamina.layout import Layout
from lamina.roots import Root, memory_of, overlaps_of, placed, roots_of
from lamina.shortcut import Shortcut, key_of, shortcut_of
from lamina.trace import python
from lamina.trace.build import NUMBER_DTYPES
from lamina.trace.guards import Drawn, Guard, guards_of
from lamina.trace.mixed import decoded
from lamina.trace.scope import Note, current, escaped, raised_at, user_source
from lamina.trace.staging import Argument, Output, Spec, Traced, stage, with_structure
from lamina.trace.state import CannotMerge, Untraceable
from lamina.trace.value import Kind, Pin, Unroll, Value

_MANY_VALUES = 10  # retraces for one pinned number before a warning
# What a trace ends with where the function runs as plain Python.
CANNOT_TRACE = (Untraceable, Unroll, CannotMerge, ConcretizationError, NotImplementedError, RecursionError)


class _CompileError(Exception):
    """What a compiler raised: its own error, not the program's."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class _Entry(NamedTuple):
    """One compiled trace: what to call, what its params are made of, and what it returns."""

    compiled: Compiled
    traced: Traced
    arguments: "_Arguments"
    guards: list[Guard]
    is_seen: bool  # whether running it shows something, which must not happen twice


class _Arguments(NamedTuple):
    """What each param of a graph is: the position of a number or scalar among the leaves, or a root of the arrays."""

    params: list[int | Root]
    arrays: list[int]  # the positions of the arrays


class Defn:
    """A compiled function; made by `defn`, called like the function itself."""

    def __init__(
        self, function: Callable[..., Any], compiler: str | Compiler, strict: bool, options: dict[str, Any]
    ) -> None:
        if not callable(function):
            raise TypeError(f"lamina.defn: expected a function, but got {function!r}")
        functools.update_wrapper(self, function)
        self._function = function
        self._name = _name_of(function)
        self._qualname = str(getattr(function, "__qualname__", self._name))
        self._compiler = compiler
        self._strict = strict
        self._options = options
        compiler_named(compiler)  # which refuses what isn't there, before anything is traced
        self._entries: dict[Any, _Entry] = {}
        self._pinned: dict[Any, tuple[int, ...]] = {}
        self._plain: set[Any] = set()  # signatures that can't be traced
        self._shortcuts: dict[Any, Shortcut] = {}
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results: NumPy's kinds for NumPy arrays and numbers, `lamina.Array` where one was given."""
        if current() is not None:
            return python.call(self._function, *args, **kwargs)  # part of a larger trace
        key = None if kwargs else key_of(args)
        short = self._shortcuts.get(key)
        if short is not None and all(guard.holds() for guard in short.guards):
            return short.finish(short.compiled(*map(np.asarray, args)))
        leaves, structure = flatten((args, kwargs))
        arrays = [np.asarray(leaf) for leaf in leaves if isinstance(leaf, (np.ndarray, Array))]
        shared: Any = overlaps_of(arrays) if len(arrays) > 1 else ()
        if shared:  # which of them are one array
            places = {id(leaf): i for i, leaf in enumerate(leaves)}
            shared = (shared, tuple(places[id(leaf)] for leaf in leaves if isinstance(leaf, (np.ndarray, Array))))
        signature = (structure, _key_types(structure), tuple(map(_signature, leaves)), shared)
        try:
            entry = self._find(signature, leaves)
            is_plain = signature in self._plain
        except TypeError:
            _expect_arguments(self, args, kwargs)
            raise
        if is_plain:
            return self._function(*args, **kwargs)
        if entry is not None and (reason := mixed_memory(entry.traced, arrays)):
            if self._strict:
                raise TraceError(f"{self._name} can't be traced: {reason}")
            warnings.warn(f"{self._name} runs as plain Python, not compiled: {reason}", LaminaWarning, stacklevel=2)
            return self._function(*args, **kwargs)
        if entry is None:
            _expect_arguments(self, args, kwargs)
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
        params = [
            np.asarray(leaves[param]) if isinstance(param, int) else _native(memory_of(param, arrays))
            for param in entry.arguments.params
        ]
        try:
            results = entry.compiled(*params)
        except CompilerError:
            raise
        except Exception as error:
            if entry.traced.graph.updates and not entry.is_seen:
                return self._replayed(error, args, kwargs, None, (*arrays, *entry.traced.captured))
            raise
        if key is not None and signature not in self._pinned:
            found = shortcut_of(args, entry.compiled, entry.traced, entry.arguments.params, entry.guards)
            if found is not None:
                self._shortcuts[key] = found
        return _returned(entry, leaves, arrays, results)

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
        message = f"{self._name} runs as plain Python, not compiled: {with_line(reason)}"
        warnings.warn(message, LaminaWarning, stacklevel=4)

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
        return signature, tuple(_number_key(leaves[i]) for i in self._pinned.get(signature, ()))

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
                    self._pinned[signature] = (*pinned, *_positions(pin, leaves, pinned))
                    continue
                try:
                    compiled = compile_by(self._compiler, traced.graph, self._options)
                except Exception as error:
                    raise _CompileError(error) from error
                entry = _Entry(compiled, traced, arguments, guards, _is_seen(traced.graph))
                self._entries[self._key(signature, leaves)] = entry
                self._warn_if_many(signature, given)
            return entry

    def _warn_if_many(self, signature: Any, given: Any) -> None:
        pinned = self._pinned.get(signature, ())
        if pinned and sum(key[0] == signature for key in self._entries) == _MANY_VALUES:
            paths = argument_paths(self._function, *given)
            names = ", ".join(paths[i] for i in pinned)
            warnings.warn(
                f"{self._name} was traced for {_MANY_VALUES} values of {names}: a shape, an index or a Python loop "
                "needs the number itself. Write lamina.fori_loop or lamina.while_loop instead, or pass an array",
                LaminaWarning,
                stacklevel=4,
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
    compiler: str | Compiler = "evaluator",
    strict: bool = False,
    **options: Any,
) -> Any:
    """A decorator: compile a NumPy function; it is traced at its first call with each structure of arguments.

    Arguments are arrays, NumPy scalars, Python numbers, and containers of them; anything else must be hashable and is
    static: it is part of the key. Numbers are traced, so other values need no new trace, unless the function asks for
    the number itself (a shape, an index, ``range``). `options` are the compiler's.

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
        raise TraceError(f"{_name_of(function)} can't be traced: {reason}") from reason


class Staged(NamedTuple):
    """A function traced on arguments."""

    traced: Traced
    arguments: _Arguments
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
            pinned += [(place, pin.note) for place in _positions(pin, leaves, places)]


def _guarded(
    function: Callable[..., Any], structure: Any, leaves: Sequence[Any], pinned: Sequence[int]
) -> tuple[Traced, _Arguments, list[Guard]]:
    """A trace, with what it has read from outside, where no random number may be drawn."""
    guards = guards_of(function, [leaf for leaf in leaves if not _is_traced(leaf)])
    drawn = Drawn((*leaves, *(leaf for guard in guards for leaf in guard.leaves)))
    name = _name_of(function)
    traced, arguments = _stage(function, name, structure, leaves, pinned)
    if used := drawn.undone():
        raise NotImplementedError(
            f"{name} draws random numbers from {used[0]!r} while it is traced, so each call would "
            "return the same ones; pass them as an argument, or draw them with lamina.runtime_call"
        )
    return traced, arguments, guards


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def mixed_memory(traced: Traced, arrays: Sequence[np.ndarray]) -> str:
    """Why these arguments can't be given to a trace, for the memory of what it captured; empty where they can."""
    is_shared = any(np.may_share_memory(array, other) for array in arrays for other in traced.captured)
    if traced.graph.updates and is_shared:
        return "an argument shares memory with an array from outside, and one of them is written"
    return ""


def _is_seen(graph: Graph) -> bool:
    return any(node.op in ("hook", "runtime_call") for node in all_nodes((graph.effects, graph.outputs, graph.updates)))


# Arguments


def _signature(leaf: Any) -> Any:
    """What of a leaf decides the trace."""
    kind = type(leaf)
    if kind is np.ndarray:
        flags = leaf.flags
        return kind, leaf.dtype, leaf.shape, flags.writeable, None if flags.c_contiguous else leaf.strides
    if kind is Array:
        return kind, leaf.dtype, leaf.layout
    if kind in NUMBER_DTYPES:
        # an integer beyond 64 bits can't be traced, so its value decides
        return kind if kind is not int or -(2**63) <= leaf < 2**63 else (kind, leaf)
    if isinstance(leaf, np.ndarray):
        return kind, leaf.dtype, leaf.shape, leaf.flags.writeable, leaf.strides
    if isinstance(leaf, np.generic):
        return kind, leaf.dtype
    if kind is slice:  # which has no hash in Python 3.11
        return kind, repr(leaf)
    # sets of 1 and of True are equal, as are Decimal("1.0") and Decimal("1.00")
    return (kind, leaf, repr(leaf)) if kind.__name__ in _EQUAL_BUT_NOT_ALIKE else (kind, leaf)


_EQUAL_BUT_NOT_ALIKE = frozenset({"frozenset", "Decimal", "range"})


def _number_key(leaf: Any) -> Any:
    # 1, True and 1.0 are equal in Python, 0.0 and -0.0 too, and NaN isn't equal to itself
    return type(leaf), repr(leaf)


def _is_number(leaf: Any) -> bool:
    return type(leaf) in NUMBER_DTYPES and (type(leaf) is not int or -(2**63) <= leaf < 2**63)


def _is_traced(leaf: Any) -> bool:
    return _is_number(leaf) or isinstance(leaf, (np.generic, np.ndarray, Array, Spec))


def _stage(
    function: Callable[..., Any], name: str, structure: Any, leaves: Sequence[Any], pinned: Sequence[int]
) -> tuple[Traced, _Arguments]:
    positions = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (np.ndarray, Array))]
    for i in positions:
        asarray(leaves[i])  # which refuses what is no array of ours, by name
    arrays = [np.asarray(leaves[i]) for i in positions]
    roots = roots_of(arrays)
    sees = {positions[member.place]: (k, member.layout) for k, root in enumerate(roots) for member in root.members}
    shown: list[Any] = []
    params: list[int | Root] = []
    met: set[int] = set()
    for i, leaf in enumerate(leaves):
        if i in pinned or not _is_traced(leaf):
            shown.append(leaf)
        elif i in sees:
            k, layout = sees[i]
            if k not in met:
                met.add(k)
                params.append(roots[k])
            # an array that is given twice is one array
            twice = next((shown[j] for j in range(i) if leaves[j] is leaf and sees[j][0] == k), None)
            shown.append(_array_argument(leaf, k, roots[k], layout) if twice is None else twice)
        else:
            params.append(i)
            shown.append(_scalar_argument(leaf, -1 - i))

    def call(given: list[Any]) -> Any:
        args, kwargs = unflatten(structure, given)
        scope = current()
        assert scope is not None
        inside = [each for part in (*args, *kwargs.values()) for each in containers_in(part)]
        scope.root.containers.update((id(each), each) for each in inside)
        return python.call(function, *args, **kwargs)

    return stage(name, call, shown, arrays), _Arguments(params, positions)


def _array_argument(leaf: Any, k: int, root: Root, layout: Layout | None) -> Argument:
    shape = Layout.contiguous(leaf.shape).shape  # which refuses more than 32 axes
    writable = (
        leaf.flags.writeable
        if isinstance(leaf, np.ndarray)
        else not leaf.dtype.is_packed and to_numpy(leaf).flags.writeable
    )
    return Argument(dt.from_numpy(leaf.dtype), shape, Kind.ARRAY, k, root.shape, layout, writable)


def _scalar_argument(leaf: Any, root: int) -> Argument:
    if isinstance(leaf, Spec):
        return Argument(leaf.dtype, leaf.shape, Kind.ARRAY, -root, leaf.shape)
    if isinstance(leaf, np.generic):
        return Argument(dt.from_numpy(leaf.dtype), (), Kind.SCALAR)
    return Argument(NUMBER_DTYPES[type(leaf)], (), Kind.NUMBER)


def _positions(pin: Pin, leaves: Sequence[Any], pinned: Sequence[int]) -> list[int]:
    """Where among the leaves the params are whose values are needed."""
    numbers = [i for i, leaf in enumerate(leaves) if i not in pinned and _is_number(leaf)]
    return [numbers[k] for k in sorted(pin.numbers)]


def _key_types(structure: Any) -> str:
    """What tells dicts of the keys 1, True and 1.0 apart, which are equal in Python; nothing where there are none."""
    containers = structure.num_nodes - structure.num_leaves
    return repr(structure) if containers > _PLAIN_CALL else ""


_PLAIN_CALL = 3  # the pair of the positional arguments and the dict of the named ones


def argument_paths(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """How one writes each leaf of a call's arguments, by the names of the function's parameters."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    named = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    names = [*named, *(f"{rest}[{i}]" for i in range(len(args) - len(named)))]
    given = (*zip(names, args, strict=False), *kwargs.items())
    return [path for name, argument in given for path in paths_of(argument, name)]


def _expect_arguments(called: Defn, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise for the first leaf that can neither be traced nor be static, naming it and the user's line."""
    for leaf, path in zip(flatten((args, kwargs))[0], argument_paths(called._function, args, kwargs), strict=True):
        if type(leaf) is Value:
            raise escaped(leaf.expr, leaf.scope)
        try:
            if isinstance(leaf, Spec):
                raise TypeError("it stands for an array in lamina.trace; call the function with an array")
            if isinstance(leaf, (np.ndarray, Array)):
                Layout.contiguous(asarray(leaf).shape)
            elif isinstance(leaf, np.generic):
                dt.from_numpy(leaf.dtype)
            elif not _is_traced(leaf):
                _expect_hashable(leaf)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            shown = repr(leaf) if isinstance(leaf, Spec) or not hasattr(leaf, "shape") else type(leaf).__name__
            source = user_source()
            where = f" ({source.file}:{source.line})" if source else ""
            raise kind(f"{called._name}: argument {path} is {shown}: {error}{where}") from error


def _expect_hashable(leaf: Any) -> None:
    try:
        hash((leaf.start, leaf.stop, leaf.step) if type(leaf) is slice else leaf)
    except TypeError as error:
        raise TypeError(
            "that is no array, number or container of them, and it can't be static, because it isn't hashable"
        ) from error


# Results


def _returned(
    entry: _Entry,
    leaves: Sequence[Any],
    arrays: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
) -> Any:
    """Put written memories back into the arguments, and the results into what the function returned."""
    graph, params = entry.traced.graph, entry.arguments.params
    given_arrays = [
        leaves[i] if isinstance(leaves[i], np.ndarray) else arrays[k] for k, i in enumerate(entry.arguments.arrays)
    ]
    writes: list[tuple[np.ndarray, np.ndarray]] = []
    for (param, _), held in zip(graph.updates, results[len(graph.outputs) :], strict=True):
        if param.op == "tensor":
            writes.append((to_numpy(param.args[0]), held))
            continue
        root = params[param.args[0]]
        assert isinstance(root, Root)
        members = [member for member in root.members if given_arrays[member.place].flags.writeable]
        writes += [(given_arrays[member.place], placed(held, member.layout)) for member in members]
    _write(writes)
    as_lamina = any(isinstance(leaf, Array) for leaf in leaves)
    returned = entry.traced.leaves

    def seen(memory: np.ndarray, leaf: Output) -> np.ndarray:
        shift = sum(int(results[place]) * stride for place, stride in leaf.shifts)
        if not leaf.lengths:
            return placed(memory, leaf.layout, shift)
        whole = leaf.layout or Layout.contiguous(memory.shape)
        lengths = {axis: int(results[place]) for axis, place in leaf.lengths}
        shape = [lengths.get(axis, extent) for axis, extent in enumerate(whole.shape)]
        return placed(memory, Layout(shape, whole.strides, whole.offset), shift)

    def result(leaf: Any) -> Any:
        # a loop, since a function that calls itself is garbage that keeps the arrays until the next collection
        while isinstance(leaf, Output) and leaf.choice is not None:
            which, then, otherwise = leaf.choice
            leaf = then if results[which] else otherwise
        if not isinstance(leaf, Output):
            return leaf
        given = params[leaf.node.args[0]] if leaf.node.op == "parameter" else None
        if isinstance(given, int) and _is_of_kind(leaves[given], leaf.kind):
            return leaves[given]
        if leaf.memory >= 0:
            array = seen(results[leaf.memory], leaf)
            if leaf.lengths and not any(
                isinstance(each, Output) and each is not leaf and each.memory == leaf.memory for each in returned
            ):
                array = array.copy("K")  # what is beyond the lengths need not be kept
        else:
            root = params[-1 - leaf.memory]
            assert isinstance(root, Root)
            for member in root.members:
                is_all_of_it = member.layout == leaf.layout and leaf.node.shape == arrays[member.place].shape
                if is_all_of_it and not leaf.shifts and not leaf.lengths and not leaf.is_frozen:
                    return leaves[entry.arguments.arrays[member.place]]
            # an argument's own memory, also where a copy of it (in the machine's byte order) was computed with
            array = seen(np.asarray(memory_of(root, given_arrays), order="C"), leaf)
        if leaf.is_frozen or (leaf.layout is not None and not leaf.layout.is_distinct):
            array = array.view()
            array.flags.writeable = False
        if as_lamina:
            return from_numpy(array)
        if leaf.kind is Kind.ARRAY:
            return array
        if leaf.code >= 0:
            return decoded(array, int(results[leaf.code]))
        return array[()] if leaf.kind is Kind.SCALAR else array.item()

    made: dict[int, Any] = {}  # what is returned twice is one thing
    for leaf in returned:
        if id(leaf) not in made:
            made[id(leaf)] = result(leaf)
    return unflatten(entry.traced.structure, [made[id(leaf)] for leaf in returned])


def _write(writes: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Give arrays their elements, all at once: what one is given may be memory that another one's write changes."""
    if len(writes) > 1:
        arrays = [array for array, _ in writes]
        writes = [
            (array, held.copy() if any(np.may_share_memory(held, other) for other in arrays) else held)
            for array, held in writes
        ]
    for array, held in writes:
        array[...] = held


def _native(memory: np.ndarray) -> np.ndarray:
    dtype = memory.dtype
    return np.asarray(memory, dtype if dtype.isnative else dtype.newbyteorder("="), order="C")


def _is_of_kind(leaf: Any, kind: Kind) -> bool:
    """Whether an argument is what NumPy would return: ``x[()]`` is a scalar, ``s[...]`` of a scalar an array."""
    if isinstance(leaf, np.generic):
        return kind is Kind.SCALAR
    return kind is (Kind.NUMBER if type(leaf) in NUMBER_DTYPES else Kind.ARRAY)
