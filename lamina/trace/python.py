"""What rewritten source calls: Python's own meaning, unless something traced is in it.

`lamina.trace.rewrite` turns a user's control flow, calls, stores and truth tests into calls of the functions here and
in `flow`. Each does what Python does where nothing is traced, and what NumPy would have meant where something is.
"""

import builtins
import functools
import operator
import sys
from collections import deque
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodType, MethodWrapperType
from typing import Any

import numpy as np

from lamina.expr.containers import map_leaves
from lamina.operators import FUNCTIONS
from lamina.trace import assign, mixed, rewrite
from lamina.trace.bounded import Bounded, memory
from lamina.trace.build import NUMBER_DTYPES, as_value, fresh, scope_now
from lamina.trace.byte_order import is_swapped
from lamina.trace.cases import ARGUMENTS, OPERANDS, as_variant, case_by_case, is_mixed, splits
from lamina.trace.conversions import CONVERSIONS, as_number
from lamina.trace.creations import CREATIONS
from lamina.trace.drawing import drawn, is_random
from lamina.trace.flow import (  # noqa: F401  rewritten source calls all of these
    all_seen,
    and_,
    checks,
    choose,
    each_seen,
    entered,
    for_,
    if_,
    is_same,
    no_checks_since,
    not_,
    or_,
    raise_,
    returned,
    seen,
    truth,
    unbound,
    while_,
)
from lamina.trace.guards import is_generator, is_users
from lamina.trace.items import item_, tolist_
from lamina.trace.names import RUNTIME
from lamina.trace.objects import (  # noqa: F401  rewritten source calls `rebound`
    MUTATORS,
    as_stored,
    expect_own,
    is_made,
    kept,
    made,
    made_plainly,
    rebound,
    remember_variables,
)
from lamina.trace.printed import print_, shown, text  # noqa: F401  rewritten source calls `text`
from lamina.trace.scope import current
from lamina.trace.sequences import SEQUENCES
from lamina.trace.source import NoSource, Unsupported
from lamina.trace.state import Unbound, Untraceable, is_array
from lamina.trace.value import Value
from lamina.trace.variant import Variant, replaced

this = sys.modules[__name__]

FUNCTIONS["mixed_operator"] = lambda op, result, *operands: mixed.after_operator(op, result, operands)
FUNCTIONS["settled"] = mixed.settled
FUNCTIONS["item"], FUNCTIONS["tolist"] = item_, tolist_


@splits
def attribute(thing: Any, name: str) -> Any:
    """``thing.name``; a user's property is a call."""
    found = getattr(type(thing), name, None)
    if type(found) is property and isinstance(found.fget, FunctionType) and current() is not None:
        return call(found.fget, thing)
    if isinstance(found, functools.cached_property) and is_made(thing) and name not in vars(thing):
        setattr_(thing, name, call(found.func, thing))
    if type(thing) in (Value, Bounded) and name == "dtype" and current() is not None:
        dtype = thing.dtype.numpy  # what the array has that it stands for
        return dtype.newbyteorder() if is_swapped(memory(thing)) else dtype
    value = getattr(thing, name)
    if is_generator(thing) and not callable(value) and current() is not None:
        raise Untraceable(f"the attribute {name} of a generator of random numbers is read, which changes as it draws")
    return seen(value)


def _users_method(thing: Any, name: str) -> FunctionType | None:
    """What a class of the user's makes of an operator; `None` for any other thing."""
    method = getattr(type(thing), name, None) if current() is not None else None
    return method if isinstance(method, FunctionType) and is_users(method) else None


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": is_same,
    "IsNot": lambda a, b: not_(is_same(a, b)),
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


_ORDERINGS = {"Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge"}


@splits
def compare(name: str, a: Any, b: Any) -> Any:
    """One comparison."""
    if isinstance(b, Unbound):
        b.fail()
    method = _users_method(a, f"__{_ORDERINGS[name]}__") if name in _ORDERINGS else None
    if method is not None and (result := call(method, a, b)) is not NotImplemented:
        return result
    return _COMPARISONS[name](a, b)


def compare_chain(names: tuple[str, ...], *operands: Callable[[], Any]) -> Any:
    """``a < b < c``: each operand once, and none after the first comparison that is false."""

    def rest(i: int, left: Any) -> Any:
        right = operands[i + 1]()
        now = compare(names[i], left, right)
        return now if i + 1 == len(names) else and_(now, lambda: rest(i + 1, right))

    return rest(0, operands[0]())


# Calls


def call(called: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``called(*args, **kwargs)``, with a user's function rewritten, and one of Python or NumPy by its traced twin."""
    if current() is None:  # a callback, at run time
        return called(*args, **kwargs)
    if is_random(called):
        return drawn(called, tuple(map(all_seen, args)), {name: all_seen(arg) for name, arg in kwargs.items()})
    if isinstance(called, FunctionType):
        if is_users(called):
            function = converted(called)
            result = function(*args, **kwargs)
            return made_plainly(result) if function is called else result
    elif _has_users_init(called):
        thing = made(object.__new__(called))
        converted(called.__init__)(thing, *args, **kwargs)
        return made_plainly(thing)
    elif isinstance(called, MethodType):
        if isinstance(called.__func__, FunctionType) and is_users(called.__func__):
            return converted(called.__func__)(called.__self__, *args, **kwargs)
    elif isinstance(called, functools.partial):
        return call(called.func, *called.args, *args, **{**called.keywords, **kwargs})
    elif isinstance(called, (BuiltinMethodType, MethodWrapperType)):
        owner = called.__self__
        if isinstance(owner, (list, dict, set, deque)) and called.__name__ in MUTATORS:
            expect_own(owner, f"{called.__name__}() of a {type(owner).__name__}")
            if id(owner) not in scope_now().root.objects:
                args = tuple(map_leaves(as_stored, each) for each in args)
        elif isinstance(owner, np.ndarray):
            return call(getattr(as_value(owner), called.__name__), *args, **kwargs)
    if not (isinstance(called, BuiltinMethodType) and called.__name__ in MUTATORS):
        args = tuple(map(all_seen, args))
    own_call = _users_method(called, "__call__")
    if own_call is not None:
        return converted(own_call)(called, *args, **kwargs)
    is_mutator = isinstance(called, BuiltinMethodType) and called.__name__ in MUTATORS
    if is_mutator:
        return _call_library(called, args, kwargs)
    if type(getattr(called, "__self__", None)) is Value:
        name = called.__name__
        return case_by_case(lambda x, *given: _call_library(getattr(x, name), *given), called.__self__, args, kwargs)
    if called in _TELLING or str(getattr(called, "__module__", "")).partition(".")[0] == "numpy":
        given = args, kwargs
        args, kwargs = replaced(given, lambda leaf: as_variant(leaf) if is_mixed(leaf) else leaf, ARGUMENTS)
    return case_by_case(functools.partial(_call_library, called), args, kwargs)


def _has_users_init(called: Any) -> bool:
    """Whether a call of a class is one of its ``__init__``, a user's function, on a new object."""
    if type(called) is not type or getattr(called, "__new__", None) is not object.__new__:
        return False
    init = getattr(called, "__init__", None)
    return isinstance(init, FunctionType) and is_users(init)


# What tells a Python number from one of NumPy's.
_TELLING = (isinstance, type, round, hasattr, print, repr, str, format)


def _call_library(called: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of Python's or a library's."""
    substitute = _substitute(called)
    if substitute is not None:
        return substitute(*args, **kwargs)
    if called is next:
        expect_own(args[0], "next() of an iterator")
    made_thing = called(*args, **kwargs)
    is_numpys = str(getattr(called, "__module__", "")).partition(".")[0] in ("numpy", "scipy")
    made_thing = _made_array(made_thing, (*args, *kwargs.values())) if is_numpys else seen(made_thing)
    if isinstance(called, type) and not isinstance(made_thing, Value):
        made(made_plainly(made_thing))
    return made_thing


def _made_array(thing: Any, args: tuple[Any, ...]) -> Any:
    """What a function of a library has made of no array: new at each call of the program."""
    if type(thing) is tuple:
        return tuple(_made_array(each, args) for each in thing)
    if type(thing) is list:
        return [_made_array(each, args) for each in thing]
    if not isinstance(thing, np.ndarray) or any(isinstance(arg, np.ndarray) for arg in args):
        return seen(thing)
    try:
        return fresh(thing)
    except (TypeError, ValueError):  # of a dtype that is none of ours
        return thing


def converted(function: FunctionType) -> Callable[..., Any]:
    """A user's function rewritten; itself where its source can't be had, since its operations are seen all the same."""
    if function.__code__.co_freevars and RUNTIME in function.__code__.co_freevars:
        return function  # one that a rewritten function made
    try:
        new = rewrite.rewritten(function, this)
    except NoSource:
        new = function
    except Unsupported as error:
        raise Untraceable(str(error)) from error
    scope = current()
    if scope is not None:
        remember_variables(scope.root, function)
    return new


def _substitute(called: Any) -> Callable[..., Any] | None:
    try:
        return _SUBSTITUTES.get(called)
    except TypeError:  # unhashable
        return None


def bool_(value: Any = False) -> Any:
    """``bool``."""
    known = truth(value)
    return known if type(known) is bool else as_number(known)


def _extreme(name: str, comparison: str) -> Callable[..., Any]:
    python = getattr(builtins, name)

    def extreme(*args: Any, **kwargs: Any) -> Any:
        things = list(args[0] if len(args) == 1 else args)
        if kwargs or not any(type(each) is Value for each in things):
            return python(*args, **kwargs)
        best = things[0]
        for each in things[1:]:
            best = choose(compare(comparison, each, best), lambda each=each: each, lambda best=best: best)  # type: ignore[misc]
        return best

    return extreme


_SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    bool: bool_,
    min: _extreme("min", "Lt"),
    max: _extreme("max", "Gt"),
    print: print_,
    str: lambda *args: str(*map(shown, args)),
    repr: lambda thing: repr(shown(thing)),
    format: lambda thing, *spec: format(shown(thing), *spec),
    **SEQUENCES,
    **CONVERSIONS,
    **CREATIONS,
}


# Stores


def delitem(thing: Any, key: Any) -> None:
    """``del thing[key]``."""
    expect_own(thing, f"an item of a {type(thing).__name__} is deleted")
    del thing[key]


def slice_(start: Any, stop: Any, step: Any) -> slice:
    """An index ``start:stop:step``."""
    return slice(start, stop, step)


_INDEXED = tuple(map(type, (np.mgrid, np.ogrid, np.r_, np.c_)))  # what makes arrays of an index


@splits
def getitem(thing: Any, key: Any) -> Any:
    """``thing[key]``."""
    if isinstance(thing, np.ndarray) and (_holds_value(key) or id(thing) in _written_arrays()):
        return as_value(thing)[key]
    if isinstance(thing, _INDEXED) and _holds_value(key):
        return FUNCTIONS["index_trick"](thing, key)
    if isinstance(thing, _INDEXED) and current() is not None:
        return _made_array(thing[key], ())  # type: ignore[index]  # an instance of one of NumPy's classes
    if type(thing) is list and isinstance(key, slice):
        return made(thing[key])
    method = _users_method(thing, "__getitem__")
    if method is not None:
        return call(method, thing, key)
    given = seen(thing)
    item = seen(given[key])
    is_whole = item is given and is_array(item)
    return item.through(item.layout, item.shifts) if is_whole else item  # a view is another array


def _written_arrays() -> set[int]:
    scope = current()
    return scope.root.written_arrays if scope is not None else set()


def _written(array: np.ndarray) -> Value:
    """An array from outside that the program writes, as a traced one."""
    if not array.dtype.isnative:
        raise Untraceable("an array from outside in another byte order is written")
    _written_arrays().add(id(array))
    return as_value(array)


def _holds_value(key: Any) -> bool:
    if isinstance(key, slice):
        return any(type(each) is Value for each in (key.start, key.stop, key.step))
    return type(key) in (Value, Bounded) or (isinstance(key, tuple) and any(map(_holds_value, key)))


def setitem(thing: Any, key: Any, value: Any) -> None:
    """``thing[key] = value``."""
    if isinstance(thing, np.ndarray) and current() is not None:
        thing = _written(thing)
    if type(thing) in (Value, Variant, Bounded):
        case_by_case(assign.setitem, thing, key, value, into=OPERANDS)
        return
    expect_own(thing, f"an item of a {type(thing).__name__} is set")
    value = kept(thing, f"an item of a {type(thing).__name__}", value)
    method = _users_method(thing, "__setitem__")
    if method is not None:
        call(method, thing, key, value)
    else:
        thing[key] = value


def setattr_(thing: Any, name: str, value: Any) -> None:
    """``thing.name = value``."""
    if type(thing) is not Value and not isinstance(thing, np.ndarray):
        expect_own(thing, f"the attribute {name} is set, of an object")
        value = kept(thing, f"the attribute {name} of an object", value)
    if type(thing) is Value and name in ("real", "imag"):
        assign.setitem(getattr(thing, name), ..., value)
        return
    if type(thing) is Value:  # x.shape = … would change the caller's array itself
        raise NotImplementedError(f"the attribute {name} of an array is set, which isn't traced")
    found = getattr(type(thing), name, None)
    if type(found) is property and isinstance(found.fset, FunctionType) and current() is not None:
        call(found.fset, thing, value)
    else:
        setattr(thing, name, value)


_AUGMENTED: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "Sub": operator.isub,
    "Mult": operator.imul,
    "Div": operator.itruediv,
    "FloorDiv": operator.ifloordiv,
    "Mod": operator.imod,
    "Pow": operator.ipow,
    "MatMult": operator.imatmul,
    "BitAnd": operator.iand,
    "BitOr": operator.ior,
    "BitXor": operator.ixor,
    "LShift": operator.ilshift,
    "RShift": operator.irshift,
}


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, operation.__name__[1:] + ("_" if operation.__name__ in ("iand", "ior") else ""))
    for name, operation in _AUGMENTED.items()
}


@splits
def operated(name: str, a: Any, b: Any) -> Any:
    """``a + b`` and its like."""
    if isinstance(b, Unbound):
        b.fail()
    if type(a) is Value or type(a) in NUMBER_DTYPES:
        return _BINARY[name](a, b)
    if type(a) is str and name == "Mod":
        return a % (tuple(map(shown, b)) if type(b) is tuple else shown(b))
    method = _users_method(a, f"__{_BINARY[name].__name__.strip('_')}__")
    if method is not None and (result := call(method, a, b)) is not NotImplemented:
        return result
    result = _BINARY[name](a, b)
    return made(result) if type(result) in (list, dict, set) else result


_UNARY: dict[str, Callable[[Any], Any]] = {"UAdd": operator.pos, "USub": operator.neg, "Invert": operator.invert}


@splits
def unary(name: str, thing: Any) -> Any:
    """``-thing`` and its like."""
    return _UNARY[name](thing)


@splits
def augmented(name: str, thing: Any, value: Any) -> Any:
    """What ``thing += value`` binds."""
    if isinstance(thing, np.ndarray) and current() is not None:
        thing = _written(thing)
    elif isinstance(thing, (list, dict, set)):
        expect_own(thing, f"a {type(thing).__name__} is changed in place")
    if type(thing) is Value and thing.cell is None:
        return _BINARY[name](thing, value)  # a number never changes
    return _AUGMENTED[name](thing, value)


@splits
def augmented_item(name: str, thing: Any, key: Any, value: Any) -> None:
    """``thing[key] += value``."""
    may_mask = (type(thing) is Bounded or (type(thing) is Value and thing.cell is not None)) and _holds_value(key)
    if may_mask and FUNCTIONS["augment_masked"](thing, key, _AUGMENTED[name], value):
        return
    part = getitem(thing, key)
    result = augmented(name, part, value)
    if not _is_in_place(thing, part, result):
        setitem(thing, key, result)


def _is_in_place(thing: Any, part: Any, result: Any) -> bool:
    """Whether an augmented assignment has written an array where it is, and nothing is left to store."""
    if result is not part or not (is_array(part) or type(part) is Bounded):
        return False
    if type(thing) in (list, dict):
        return True
    if isinstance(thing, np.ndarray):
        thing = as_value(thing)
    return type(thing) in (Value, Bounded) and memory(part).cell is memory(thing).cell


def augmented_attribute(name: str, thing: Any, of: str, value: Any) -> None:
    """``thing.of += value``."""
    is_computed = isinstance(getattr(type(thing), of, None), (property, functools.cached_property))
    part = attribute(thing, of) if is_computed else getattr(thing, of)
    result = augmented(name, part, value)
    if result is not part or not is_array(part) or not _is_plain(thing, of):
        setattr_(thing, of, result)


def _is_plain(thing: Any, attribute: str) -> bool:
    """Whether an attribute is just kept by its object."""
    kind = type(thing)
    is_kept = attribute in getattr(thing, "__dict__", {}) and not hasattr(getattr(kind, attribute, None), "__set__")
    return is_kept and not any("__setattr__" in vars(base) for base in kind.__mro__[:-1])
