"""Random numbers, drawn when the program runs and in its order, from NumPy's own generators and from Python's.

A draw from a generator that is there before the call is a ``runtime_call`` on it, an effect. A generator that the
program makes of a seed is an array that holds its state: a draw reads the array and writes it, so it is carried and
merged as any array is, and is new at each call. What a draw gives, a number or an array of which dtype and shape, is
found out by drawing from a copy; nothing is drawn from the user's own while a function is traced.
"""

import copy
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.expr.containers import flatten, unflatten
from lamina.trace.assign import write
from lamina.trace.bounded import Bounded
from lamina.trace.build import NUMBER_DTYPES, fresh, node_of, scope_now
from lamina.trace.guards import is_generator, state_of
from lamina.trace.objects import made
from lamina.trace.staging import Spec
from lamina.trace.state import Untraceable
from lamina.trace.value import Kind, Value
from lamina.trace.variant import Variant

# Functions of ``np.random`` that are no methods of its generator: the names of these.
_GLOBAL = {"seed": "seed", "sample": "random_sample", "ranf": "random_sample"}
# What stands for traced integers and floats in a draw from a copy: the first of them, which are 1 and 1/8 apart. Where
# two draws that differ in their integers alone give things of two shapes, the integers must be known.
_EXAMPLES = ((1, 0.25), (2, 1.25), (3, 0.5), (40, 3.5))


class Made(NamedTuple):
    """A generator that the program makes: one like it, which nobody draws from, and the array of its state."""

    like: Any
    state: Value
    before: bytes


class _Given(NamedTuple):
    """The arguments of a call: leaves, of which some are traced, and the containers they are in."""

    leaves: list[Any]
    structure: Any
    slots: list[int]  # which leaves are traced
    written: list[int]  # which of these the call writes

    def filled(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these in place of the traced ones."""
        leaves = list(self.leaves)
        for slot, value in zip(self.slots, values, strict=True):
            leaves[slot] = value
        args, kwargs = unflatten(self.structure, leaves)
        return args, kwargs


def is_random(called: Any) -> bool:
    """Whether this is a method or a maker of NumPy's generators of random numbers, or Python's."""
    owner = getattr(called, "__self__", None)
    module = getattr(called, "__module__", None) if owner is None else type(owner).__module__
    return isinstance(module, str) and (module == "random" or module.startswith("numpy.random"))


def drawn(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a random function gives when the program runs."""
    owner, name = getattr(called, "__self__", None), called.__name__
    given = _given(name, args, kwargs)
    if owner is None and name in _GLOBAL and not isinstance(called, type):
        owner, name = sys.modules["numpy.random.mtrand"]._rand, _GLOBAL[name]
    if owner is None:
        return _generator(called, given)
    if not is_generator(owner):
        raise Untraceable(f"{name}() of a {type(owner).__name__} is called; draw from a generator")
    return _draw(owner, name, given)


def _given(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Given:
    leaves, structure = flatten((args, kwargs))
    leaves = [leaf.settled() if type(leaf) is Bounded else leaf for leaf in leaves]
    if any(type(leaf) is Variant for leaf in leaves):
        raise Untraceable(f"an argument of {name} is a value of which a run alone tells the dtype or the shape")
    slots = [i for i, leaf in enumerate(leaves) if type(leaf) is Value]
    targets = [kwargs["out"]] if kwargs.get("out") is not None else []
    if name == "shuffle":
        targets += args[:1]
    if any(type(target) is not Value for target in targets):
        raise Untraceable(f"{name} changes a {type(targets[0]).__name__}, and no array")
    written = [i for i in slots if any(leaves[i] is target for target in targets)]
    return _Given(leaves, structure, slots, written)


# A draw


class Drawing:
    """A callback that draws: `outside` is the generator from outside that it draws from."""

    outside: Any = None


class _Call(Drawing):
    """A call of a method when the program runs: of a generator, or of one like it whose state is its last argument."""

    def __init__(self, generator: Any, has_state: bool, name: str, given: _Given) -> None:
        self.generator = generator
        self.has_state = has_state
        self.outside = None if has_state else generator
        self.__name__ = name
        self.given = given
        self.kinds = [given.leaves[slot].kind for slot in given.slots]
        self.fixed = None if given.slots else given.filled(())
        self.own = threading.local()

    def __call__(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        generator = self._with_state(arrays[-1]) if self.has_state else self.generator
        values = []
        for slot, kind, array in zip(self.given.slots, self.kinds, arrays, strict=False):
            values.append(array.copy() if slot in self.given.written else _as_kind(array, kind))
        args, kwargs = self.fixed or self.given.filled(values)
        result = getattr(generator, self.__name__)(*args, **kwargs)
        targets = [value for slot, value in zip(self.given.slots, values, strict=True) if slot in self.given.written]
        is_new = result is not None and not any(result is target for target in targets)
        results = [result if is_new else 0, *targets]
        return (*results, words_of(generator)) if self.has_state else tuple(results)

    def _with_state(self, words: np.ndarray) -> Any:
        """A generator of this thread's own in a state."""
        if not hasattr(self.own, "generator"):
            self.own.generator = copy.deepcopy(self.generator)
        set_words(self.own.generator, words)
        return self.own.generator


def _as_kind(array: np.ndarray, kind: Kind) -> Any:
    if kind is Kind.ARRAY:
        return array
    return array[()] if kind is Kind.SCALAR else array.item()


def _draw(owner: Any, name: str, given: _Given) -> Any:
    scope = scope_now()
    known = scope.root.generators.get(id(owner))
    given, (kind, *spec) = _outcome(owner, name, given)
    targets = [given.leaves[slot] for slot in given.written]
    values = [given.leaves[slot] for slot in given.slots] + ([] if known is None else [known.state])
    specs = [Spec(*spec) if kind is not None else Spec(dt.int64)]
    specs += [Spec(target.dtype, target.shape) for target in targets]
    specs += [] if known is None else [Spec(dt.uint64, known.state.shape)]
    results = _performed(_Call(owner, known is not None, name, given), values, specs)
    for target, result in zip(targets, results[1:], strict=False):
        write(target, Value(result, scope))
    if known is not None:
        write(known.state, Value(results[-1], scope))
    if kind is not None:
        return Value(results[0], scope, kind)
    return targets[0] if name != "shuffle" and targets else None


def _performed(call: Callable[..., Any], values: Sequence[Value], specs: Sequence[Spec]) -> list[Any]:
    """The nodes of what a call gives when the program runs."""
    scope = scope_now()
    node = scope.perform(scope.emit("runtime_call", tuple(map(node_of, values)), call, tuple(specs), {}))
    return [scope.emit("elem", node, i) for i in range(len(specs))]


def _outcome(owner: Any, name: str, given: _Given) -> tuple[_Given, tuple[Any, ...]]:
    """What a draw gives: a kind, a dtype and a shape, or None for what it writes alone; asks for integers that decide.

    The arguments come back, with those that had to be known.
    """
    integers = [slot for slot in given.slots if given.leaves[slot].dtype.kind in ("signed", "unsigned")]
    found: list[tuple[Any, ...]] = []
    failed: Exception | None = None
    for example in _EXAMPLES:
        values = _examples(given, *example)
        args, kwargs = given.filled(values)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                result = getattr(copy.deepcopy(owner), name)(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  of a number that it can't be: others are tried
            failed = failed or error
            continue
        found.append(_described(name, result, values))
        if found[-1] != found[0]:
            break
        if not integers or len(found) == 2:
            return given, found[0]
    if failed is not None and not given.slots:
        raise failed
    if not integers:
        raise Untraceable(f"what {name}() gives is not known: {failed}")
    return _outcome(owner, name, _known(name, given, integers))


def _examples(given: _Given, integer: int, real: float) -> list[Any]:
    values: list[Any] = []
    for i, slot in enumerate(given.slots):
        leaf = given.leaves[slot]
        dtype, number = leaf.dtype.numpy, integer + i if leaf.dtype.kind in ("signed", "unsigned") else real + i / 8
        if leaf.kind is not Kind.ARRAY:
            values.append(_as_kind(np.array(number, dtype), leaf.kind))
        elif leaf.dtype.kind in ("float", "complex") and leaf.shape:
            values.append(np.full(leaf.shape, 1 / max(leaf.shape[-1], 1), dtype))  # which may be probabilities
        else:
            values.append(np.full(leaf.shape, number, dtype))
    return values


def _described(name: str, result: Any, written: Sequence[Any]) -> tuple[Any, ...]:
    if result is None or any(result is each for each in written):
        return (None,)
    if type(result) in NUMBER_DTYPES:
        return Kind.NUMBER, NUMBER_DTYPES[type(result)], ()
    if isinstance(result, (np.generic, np.ndarray)):
        kind = Kind.ARRAY if isinstance(result, np.ndarray) else Kind.SCALAR
        try:
            return kind, dt.from_numpy(result.dtype), result.shape
        except TypeError:  # of a dtype that is none of ours
            pass
    raise Untraceable(f"{name}() gives a {type(result).__name__}, and no numbers, when the program runs")


def _known(name: str, given: _Given, integers: Sequence[int]) -> _Given:
    leaves = list(given.leaves)
    for slot in integers:
        number = leaves[slot].demanded(f"an argument of {name}(…)", "a shape that is known")
        leaves[slot] = int(number) if leaves[slot].kind is Kind.NUMBER else number
    return given._replace(leaves=leaves, slots=[slot for slot in given.slots if slot not in integers])


# Generators that the program makes


class _Maker(Drawing):
    """The making of a generator when the program runs: its state."""

    def __init__(self, called: Any, given: _Given) -> None:
        self.called = called
        self.__name__ = called.__name__
        self.given = given
        self.kinds = [given.leaves[slot].kind for slot in given.slots]

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray]:
        args, kwargs = self.given.filled(list(map(_as_kind, arrays, self.kinds)))
        return (words_of(self.called(*args, **kwargs)),)


def _generator(called: Any, given: _Given) -> Any:
    scope = scope_now()
    if called.__name__ == "default_rng" and any(map(is_generator, given.leaves)):
        args, kwargs = given.filled(())
        return called(*args, **kwargs)  # itself
    for leaf in given.leaves:
        if hasattr(type(leaf), "random_raw") and scope.root.objects.pop(id(leaf), None) is None:
            raise Untraceable(f"a generator is made on a {type(leaf).__name__} that others may draw from")
    args, kwargs = given.filled(_examples(given, *_EXAMPLES[0]))
    like = copy.deepcopy(called)(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    is_seeded = bool(given.leaves)
    if called.__module__ == "random" or not is_generator(like):
        if given.slots or not is_seeded or is_generator(like):
            raise Untraceable(f"a {type(like).__name__} is made at each call; write np.random.default_rng(seed)")
        return made(like)
    words = words_of(like)
    if given.slots or not is_seeded:
        values = [given.leaves[slot] for slot in given.slots]
        (node,) = _performed(_Maker(called, given), values, [Spec(dt.uint64, words.shape)])
        state = Value(node, scope)
    else:
        state = fresh(words)
    scope.root.generators[id(like)] = Made(like, state, state_of(like))
    return made(like)


# A generator's state as numbers


def _state(generator: Any) -> Any:
    """What NumPy gives of a generator's state: dicts of names, integers, floats and arrays."""
    is_legacy = hasattr(generator, "get_state")
    return generator.get_state(legacy=False) if is_legacy else generator.bit_generator.state


def words_of(generator: Any) -> np.ndarray:
    """The state of one of NumPy's generators, as unsigned integers: of one kind of generator always as many.

    >>> rng, other = np.random.default_rng(0), np.random.default_rng(1)
    >>> set_words(other, words_of(rng))
    >>> rng.random() == other.random()
    True
    """
    words = []
    for leaf in flatten(_state(generator))[0]:
        if isinstance(leaf, np.ndarray):
            words.append(np.frombuffer(leaf.tobytes() + bytes(-leaf.nbytes % 8), np.uint64))
        elif isinstance(leaf, float):
            words.append(np.array([leaf]).view(np.uint64))
        elif isinstance(leaf, int):
            words.append(np.array([leaf % 2**64, leaf >> 64], np.uint64))
    return np.concatenate(words)


def set_words(generator: Any, words: np.ndarray) -> None:
    """Put a generator into the state that these words say."""
    leaves, structure = flatten(_state(generator))
    place = 0
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, np.ndarray):
            count = -(-leaf.nbytes // 8)
            held = words[place : place + count].tobytes()[: leaf.nbytes]
            leaves[i] = np.frombuffer(held, leaf.dtype).reshape(leaf.shape)
        elif isinstance(leaf, float):
            count = 1
            leaves[i] = float(words[place : place + 1].view(np.float64)[0])
        elif isinstance(leaf, int):
            count = 2
            leaves[i] = int(words[place]) + (int(words[place + 1]) << 64)
        else:
            continue
        place += count
    state = unflatten(structure, leaves)
    if hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
