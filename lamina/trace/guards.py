"""What a function reads from outside its arguments, so that the next call sees when it was rebound, as Python's does.

Globals and closure cells of the function and of the user's functions it names, and the attributes, by the names in its
code, of what those hold and of a method's own object, are read once when it is traced and compared before each later
call: numbers and strings by value and type, anything else by identity, containers leaf by leaf. Arrays are captured by
reference, so what they hold needs no guard, and neither does what a function only writes (``calls += 1``,
``log.append(x)``).
"""

import functools
import os
import pickle
import site
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

import lamina.array
from lamina.expr.containers import flatten
from lamina.trace.rewrite import only_written
from lamina.trace.source import of_code

_VALUES = (bool, int, float, complex, str, bytes)
Read = Callable[[], Any]


class Guard(NamedTuple):
    """One thing that was read: how to read it again, and what it was; `fixed` is it, if its content can't change."""

    read: Read
    leaves: list[Any]
    structure: Any
    forms: list[Any]
    fixed: Any

    def holds(self) -> bool:
        """Whether reading it gives what it was."""
        try:
            value = self.read()
        except _UNBOUND:
            return False
        if value is self.fixed:
            return True
        leaves, structure = _content(value)
        is_same = structure == self.structure and all(map(_same, leaves, self.leaves))
        return is_same and list(map(_seen_as, leaves)) == self.forms

    @property
    def place(self) -> tuple[str, Any, Any, Any] | None:
        """How it is read, of what, by which name, and what it was, where that is known by identity; else `None`.

        It is an ``"ITEM"`` of a dict, the content of a ``"CELL"``, or a function's ``"DEFAULTS"`` or
        ``"KEYWORD_DEFAULTS"``. Of an array also the form has to be what it was, and the address.
        """
        if self.fixed is not _CHANGES:
            was = self.fixed
        elif self.structure is None and type(self.leaves[0]) is np.ndarray:
            was = self.leaves[0]
        else:
            return None
        match self.read:
            case functools.partial(func=BuiltinMethodType(__self__=dict() as namespace), args=(name,)):
                return ("ITEM", namespace, name, was) if type(namespace) is dict else None
            case functools.partial(func=read, args=(cell,)) if read is _cell:
                return "CELL", cell, None, was
            case functools.partial(func=read, args=(FunctionType() as function, name)) if read is getattr:
                return _DEFAULTS[name], function, None, was
        return None


_DEFAULTS = {"__defaults__": "DEFAULTS", "__kwdefaults__": "KEYWORD_DEFAULTS"}
_UNBOUND = (NameError, ValueError, AttributeError, KeyError)  # an empty cell is a ValueError


def guards_of(function: Callable[..., Any], objects: Sequence[Any] = ()) -> list[Guard]:
    """A guard for each thing that a function, and the user's functions it names, reads from outside.

    That is also the attributes of these objects, its static arguments, by the names in its code.

    >>> k = 2
    >>> (guard,) = [guard for guard in guards_of(lambda x: x * k) if guard.leaves == [2]]
    >>> guard.holds()
    True
    """
    guards: list[Guard] = []
    seen: dict[tuple[int, int], Any] = {}  # holds what was met, so that no id is met twice
    stack = _called(function)
    stack += [each for thing in objects for called, _ in stack[:] for each in _followed(thing, called, None)]
    while stack:
        thing, code = stack.pop()
        if (id(thing), id(code)) in seen:
            continue
        seen[id(thing), id(code)] = thing, code
        for read in _reads_of_function(thing) if code is None else _reads_of_attributes(thing, code):
            try:
                value = read()
            except _UNBOUND:
                continue  # not bound yet; if the function needs it, Python says so
            leaves, structure = _content(value)
            guards.append(
                Guard(read, leaves, structure, list(map(_seen_as, leaves)), value if _is_fixed(value) else _CHANGES)
            )
            for leaf in leaves:
                stack += _followed(leaf, thing, code)
    return guards


def _is_fixed(value: Any) -> bool:
    """Whether a thing that is read is what it is for good: no array, and no container whose content may change."""
    if isinstance(value, tuple):
        return type(value) is tuple and all(map(_is_fixed, value))
    return not isinstance(value, (np.ndarray, *(kind for kind, _ in _CONTAINERS)))


_CHANGES = object()  # stands for what is compared by its content

# What is read

# A thing and how it is used: a function that is called (`None`), or an object whose attributes this code names.
_Followed = list[tuple[Any, CodeType | None]]


def _called(function: Any) -> _Followed:
    if isinstance(function, MethodType):
        return [*_called(function.__func__), *_of_object(function.__self__, function.__func__)]
    if isinstance(function, (FunctionType, functools.partial, type)) or _wrapped(function):
        return [(function, None)]
    call = next((vars(base)["__call__"] for base in type(function).__mro__ if "__call__" in vars(base)), None)
    return [(call, None), *_of_object(function, call)] if isinstance(call, FunctionType) else []


def _of_object(thing: Any, function: Any) -> _Followed:
    code = _code_of(_wrapped(function) or function)
    return [(thing, code)] if code is not None and _is_users_code(code) else []


def _wrapped(thing: Any) -> Any:
    """The function that a wrapper of `functools.wraps` is around; no ``__getattr__`` is asked."""
    return getattr(thing, "__dict__", {}).get("__wrapped__")


def _reads_of_function(called: Any) -> Iterator[Read]:
    if isinstance(called, FunctionType) and _is_users_code(called.__code__):
        namespace, names, written = called.__globals__, *_names_in(called.__code__)
        for name in (names | written) & namespace.keys():
            if name in names or _holds_array(namespace[name]):
                yield functools.partial(namespace.__getitem__, name)
        for name, cell in zip(called.__code__.co_freevars, called.__closure__ or (), strict=True):
            read = functools.partial(_cell, cell)
            if name in names or (name in written and _holds_array(_or_none(read))):
                yield read
        for name in _DEFAULTS:
            yield functools.partial(getattr, called, name)
    elif isinstance(called, functools.partial):
        yield lambda: (called.func, called.args, called.keywords)
    elif _wrapped(called):
        yield lambda: _wrapped(called)


def _reads_of_attributes(thing: Any, code: CodeType) -> Iterator[Read]:
    only_read, written = _names_in(code)
    names = only_read | {name for name in written if _holds_array(_or_none(functools.partial(_attribute, thing, name)))}
    found = names & getattr(thing, "__dict__", {}).keys()
    if not isinstance(thing, ModuleType):
        classes = [base for base in _classes(thing) if _is_users_module(base.__module__)]
        found = found.union(*(names & vars(base).keys() for base in classes))
    for name in found:
        yield functools.partial(_attribute, thing, name)


def _classes(thing: Any) -> tuple[type, ...]:
    return (thing if isinstance(thing, type) else type(thing)).__mro__


def _attribute(thing: Any, name: str) -> Any:
    """What an object, a class or a module holds under a name; no property or ``__getattr__`` runs."""
    own = getattr(thing, "__dict__", {})
    if name in own or isinstance(thing, ModuleType):
        return own[name]
    found = next(vars(base)[name] for base in _classes(thing) if name in vars(base))
    is_slot = isinstance(found, MemberDescriptorType) and not isinstance(thing, type)
    return found.__get__(thing) if is_slot else found


def _cell(cell: CellType) -> Any:
    return cell.cell_contents


def _followed(leaf: Any, owner: Any, code: CodeType | None) -> _Followed:
    """How a thing is used in turn that the function `owner` read, or names in `code` from the object `owner`."""
    if isinstance(leaf, (*_VALUES, np.ndarray, np.generic, type(None))):
        return []
    if isinstance(leaf, ModuleType) and not _is_users_module(leaf.__name__):
        return []
    names = code or _code_of(owner)
    if isinstance(leaf, property):
        leaf = leaf.fget
    elif isinstance(leaf, (classmethod, staticmethod)):
        leaf = leaf.__func__
    if isinstance(_wrapped(leaf) or leaf, FunctionType):
        # one that was found in an object or its class is a method of it
        return [(leaf, None), *([] if code is None or isinstance(owner, ModuleType) else _of_object(owner, leaf))]
    return [*_called(leaf), *([] if names is None else [(leaf, names)])]


def _code_of(called: Any) -> CodeType | None:
    return called.__code__ if isinstance(called, FunctionType) else None


@functools.cache
def _libraries() -> tuple[str, ...]:
    """The folders of Python's and lamina's own modules, and of installed packages, to their slash."""
    # sysconfig knows them too, and reads a table of how Python was built
    files = (os.path.abspath(str(module.__file__)) for module in (os, lamina.array, np))
    folders = {*map(os.path.dirname, files), *site.getsitepackages()}
    return tuple(os.path.join(folder, "") for folder in folders)


def is_users(function: FunctionType) -> bool:
    """Whether a function is the user's, not a library's."""
    return _is_users_code(function.__code__)


def _is_users_code(code: CodeType) -> bool:
    return not code.co_filename.startswith(_libraries())  # what a library defines doesn't change


def is_users_class(kind: type) -> bool:
    """Whether a class is the user's, not a library's."""
    return _is_users_module(kind.__module__)


def _is_users_module(name: Any) -> bool:
    file = getattr(sys.modules.get(name), "__file__", None)
    return not file.startswith(_libraries()) if file else name == "__main__"


# Random numbers


class Drawn:
    """Which generators of random numbers, among these things and NumPy's own, are used after this is made.

    What is drawn while a function is traced would be the same at each call.
    """

    def __init__(self, things: Iterable[Any]) -> None:
        module = sys.modules.get("numpy.random.mtrand")  # loaded by whoever draws
        generators = [module._rand] if module is not None else []
        generators += [sys.modules["random"]._inst] if "random" in sys.modules else []
        generators += [thing for thing in things if is_generator(thing)]
        self._before = [(generator, state_of(generator)) for generator in generators]

    def undone(self) -> list[Any]:
        """The generators that have drawn; each is set back, so that it draws the same again."""
        used = [(generator, before) for generator, before in self._before if state_of(generator) != before]
        for generator, before in used:
            set_state(generator, before)
        return [generator for generator, _ in used]


def _is_pythons(thing: Any) -> bool:
    module = sys.modules.get("random")  # loaded by whoever draws
    return module is not None and isinstance(thing, module.Random)


def _is_legacy(thing: Any) -> bool:
    return type(thing).__name__ == "RandomState" and hasattr(thing, "get_state")


def is_generator(thing: Any) -> bool:
    """Whether a thing is a generator of random numbers, of NumPy's or Python's."""
    return hasattr(type(thing), "bit_generator") or _is_legacy(thing) or _is_pythons(thing)


def state_of(generator: Any) -> bytes:
    """All that decides what a generator draws next."""
    if _is_pythons(generator):
        is_systems = type(generator).__name__ == "SystemRandom"  # which has no state
        return b"" if is_systems else pickle.dumps(generator.getstate())
    return pickle.dumps(generator.get_state(legacy=False) if _is_legacy(generator) else generator.bit_generator.state)


def set_state(generator: Any, state: bytes) -> None:
    """Make a generator draw again what it drew from this state on."""
    if _is_legacy(generator):
        generator.set_state(pickle.loads(state))
    elif not _is_pythons(generator):
        generator.bit_generator.state = pickle.loads(state)
    elif state:
        generator.setstate(pickle.loads(state))


# Names in code


def _holds_array(value: Any) -> bool:
    """Whether it is an array or a container of some: what is written into is the array that is there at each call."""
    return any(isinstance(leaf, np.ndarray) for leaf in _content(value)[0])


def _or_none(read: Read) -> Any:
    try:
        return read()
    except (*_UNBOUND, StopIteration):
        return None


@of_code
def _names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names of globals, cells and attributes that a function's code, with the functions inside it, reads.

    Behind them are those that it only writes.

    >>> def counted(x):
    ...     global calls
    ...     calls += 1
    ...     log.append(x)
    ...     return x * scale
    >>> sorted(_names_in(counted.__code__)[0])
    ['scale']
    """
    names: set[str] = set()
    codes = [code]
    while codes:
        each = codes.pop()
        codes += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
        names.update(each.co_names, each.co_freevars)
    written = only_written(code) & names
    return frozenset(names - written), written


# Comparing


def _content(value: Any) -> tuple[list[Any], Any]:
    """The leaves of a container, and what it is made of; anything else is a leaf."""
    for kind, plain in _CONTAINERS:
        if isinstance(value, kind):
            try:
                leaves, structure = flatten(plain(value))
            except RecursionError:  # it contains itself
                break
            return leaves, (type(value), structure)
    return [value], None


_CONTAINERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (dict, dict),
    (list, list),
    (tuple, tuple),
    ((set, frozenset, deque), list),
)


def _seen_as(leaf: Any) -> Any:
    """What of an array may change in place but its elements: another form of it is another program."""
    if not isinstance(leaf, np.ndarray):
        return None
    return leaf.dtype, leaf.shape, leaf.strides, leaf.flags.writeable, leaf.__array_interface__["data"][0]


def _same(a: Any, b: Any) -> bool:
    # 1 and True, 0.0 and -0.0 are equal in Python, and NaN isn't equal to itself
    return a is b or (type(a) is type(b) and isinstance(a, _VALUES) and repr(a) == repr(b))
