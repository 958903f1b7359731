"""Guards: what a function reads from outside is seen when it changes, and what it only writes is not read."""

import functools
import gc
import sys
import types
import weakref
from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import lamina
from lamina.trace.guards import guards_of

X = np.array([1.0, 2.0])

scale = 2
unbound_at_first: int


def helper(x):
    return x * scale


def holds(function) -> bool:
    return all(guard.holds() for guard in guards_of(function))


def broken_by(function, change) -> bool:
    """Whether a change breaks a guard of a function; none is broken before it."""
    guards = guards_of(function)
    assert all(guard.holds() for guard in guards)
    change()
    return not all(guard.holds() for guard in guards)


def setter(name: str, value):
    return functools.partial(setattr, sys.modules[__name__], name, value)


# What is seen


@pytest.fixture(autouse=True)
def _restored():
    yield
    globals()["scale"] = 2
    globals().pop("unbound_at_first", None)


@pytest.mark.parametrize("value", [3, 2.0, True, "2", None, np.float64(2)])
def test_a_rebound_global(value) -> None:
    assert broken_by(lambda x: x * scale, setter("scale", value))
    assert not broken_by(lambda x: x * 3, setter("scale", 5))


@pytest.mark.parametrize(
    "function", [helper, lambda x: [helper(each) for each in x], lambda x: sorted([x], key=lambda y: helper(y))]
)
def test_a_global_of_a_function_that_is_called(function) -> None:
    assert broken_by(function, setter("scale", 7))


def test_equal_numbers_of_other_types_differ() -> None:
    for before, after in [(1, True), (1, 1.0), (0.0, -0.0), (1.0, 1 + 0j), ("a", b"a")]:
        k = before

        def read(x):
            return x, k  # noqa: B023

        guards = guards_of(read)
        k = after
        assert not all(guard.holds() for guard in guards), (before, after)
        k = type(before)(before)
        assert all(guard.holds() for guard in guards), before


def test_nan_is_itself() -> None:
    k = float("nan")
    assert not broken_by(lambda x: x * k, lambda: None)


def test_a_cell_that_is_emptied() -> None:
    k = 1

    def read(x):
        return x * k  # noqa: F821

    guards = guards_of(read)
    del k
    assert not all(guard.holds() for guard in guards)


def test_what_is_not_bound_yet_is_no_guard() -> None:
    def read(x):
        return x * unbound_at_first  # noqa: F821

    assert holds(read)
    with pytest.raises(NameError, match="unbound_at_first"):
        lamina.defn(read)(X)


@pytest.mark.parametrize(
    ("container", "change"),
    [
        ([1, 2], lambda c: c.append(3)),
        ([1, 2], lambda c: c.__setitem__(0, 1.0)),
        ({"a": 1}, lambda c: c.update(a=2)),
        ({"a": [1, {"b": 2}]}, lambda c: c["a"][1].update(b=3)),
        ({"a": 1}, lambda c: c.update(b=1)),
        (OrderedDict(a=1), lambda c: c.update(a=2)),
        (({"a": 1},), lambda c: c[0].update(a=2)),
        ({1, 2}, lambda c: c.add(3)),
        (deque([1, 2]), lambda c: c.append(3)),
        ([X, X], lambda c: c.__setitem__(1, X.copy())),
        (list(range(1000)), lambda c: c.__setitem__(999, -1)),
        (type("Own", (dict,), {})(a=1), lambda c: c.update(a=2)),
        (namedtuple("Pair", "a b")([1], 2), lambda c: c.a.append(1)),
    ],
    ids=lambda each: type(each).__name__ if not callable(each) else "",
)
def test_a_container_is_seen_leaf_by_leaf(container, change) -> None:
    assert broken_by(lambda x: (x, container), lambda: change(container))


def test_a_container_that_contains_itself() -> None:
    endless: list = []
    endless.append(endless)
    assert holds(lambda x: (x, endless))


def test_arrays_are_no_values() -> None:
    weights = np.array([1.0, 2.0])

    def read(x):
        return x * weights

    guards = guards_of(read)
    weights[0] = 5  # by reference: the compiled function sees it without a new trace
    assert all(guard.holds() for guard in guards)
    weights = weights.copy()
    assert not all(guard.holds() for guard in guards)


def test_default_arguments() -> None:
    def read(x, k=2, *, m=3):
        return x * k + m

    assert broken_by(read, lambda: setattr(read, "__defaults__", (5,)))
    assert broken_by(read, lambda: read.__kwdefaults__.update(m=5))


# Attributes


class Model:
    """An object whose methods read its attributes."""

    bias = 1

    def __init__(self, k) -> None:
        self.k = k
        self.unused = 0
        self.calls = 0
        self.log: list = []

    def run(self, x):
        self.calls += 1
        self.log.append(x)
        return x * self.k + self.bias

    def indirect(self, x):
        return self.run(x) + self.shift

    @property
    def shift(self):
        return self.hidden

    hidden = 0

    def __call__(self, x):
        return self.run(x)


class Slotted:
    """An object without a dict."""

    __slots__ = ("k",)

    def __init__(self, k) -> None:
        self.k = k

    def run(self, x):
        return x * self.k


@pytest.mark.parametrize("method", ["run", "indirect", "__call__"])
@pytest.mark.parametrize("name", ["k", "bias"])
def test_attributes_of_self(method: str, name: str) -> None:
    model = Model(2)
    assert broken_by(getattr(model, method), lambda: setattr(model, name, 5))
    assert not broken_by(getattr(model, method), lambda: setattr(model, "unused", 5))


def test_an_attribute_of_the_class_and_one_that_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(2)
    assert broken_by(model.run, lambda: monkeypatch.setattr(Model, "bias", 3))
    assert broken_by(model.run, lambda: setattr(model, "bias", 4))


def test_a_property_is_followed_and_not_called() -> None:
    model = Model(2)
    assert broken_by(model.indirect, lambda: setattr(model, "hidden", 3))

    class Fatal:
        @property
        def k(self):
            raise AssertionError("guards must not run properties")

    fatal = Fatal()
    assert holds(lambda x: x * fatal.k)


def test_a_method_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken_by(Model(2).indirect, lambda: monkeypatch.setattr(Model, "run", lambda self, x: x))


def test_slots() -> None:
    slotted = Slotted(2)
    assert broken_by(slotted.run, lambda: setattr(slotted, "k", 3))


def test_callable_objects_and_partials() -> None:
    model = Model(2)
    assert broken_by(model, lambda: setattr(model, "k", 3))
    assert broken_by(functools.partial(model.run), lambda: setattr(model, "k", 4))
    assert broken_by(functools.partial(helper), setter("scale", 3))


@dataclass
class Config:
    k: int


@pytest.mark.parametrize("config", [Config(2), types.SimpleNamespace(k=2), Model(2)], ids=lambda c: type(c).__name__)
def test_attributes_of_what_a_function_reads(config) -> None:
    assert broken_by(lambda x: x * config.k, lambda: setattr(config, "k", 3))
    held = [config]
    assert broken_by(lambda x: [x * each.k for each in held], lambda: setattr(config, "k", 4))


def test_attributes_of_a_users_module(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "settings_of_a_test.py").write_text("k = 2\n\ndef scaled(x):\n    return x * k\n")
    monkeypatch.syspath_prepend(tmp_path)
    import settings_of_a_test as settings

    try:
        assert broken_by(lambda x: x * settings.k, lambda: setattr(settings, "k", 3))
        assert broken_by(lambda x: settings.scaled(x), lambda: setattr(settings, "k", 4))
    finally:
        del sys.modules["settings_of_a_test"]


def test_wrapped_functions_are_followed() -> None:
    for wrapper in (lamina.defn, lamina.fun, functools.lru_cache):
        wrapped = wrapper(helper)
        assert broken_by(lambda x: wrapped(x), setter("scale", 3))  # noqa: B023
        scale_before()


def scale_before() -> None:
    globals()["scale"] = 2


def test_libraries_are_not_followed() -> None:
    assert len(guards_of(lambda x: np.linalg.norm(x))) <= 3
    assert len(guards_of(np.linalg.norm)) <= 1


# What is only written


def test_what_is_only_written_is_not_read() -> None:
    calls, log, seen, counts = 0, [], {}, {"calls": 0}
    queue, names = deque(), set()

    def write(x):
        nonlocal calls
        calls += 1
        log.append(x)
        queue.append(x)
        names.add("x")
        seen["last"] = x.shape
        seen[x.shape] = 1
        counts["calls"] += 1
        return x

    traced = lamina.defn(write)
    for _ in range(3):
        traced(X)
    assert (calls, len(log), counts, list(names)) == (1, 1, {"calls": 1}, ["x"])
    assert queue and set(seen) == {"last", (2,)}


def test_what_a_function_without_source_writes_is_read() -> None:
    namespace = {"calls": 0}
    exec("def f(x):\n    global calls\n    calls += 1\n    return x * 2", namespace)
    traced = lamina.defn(namespace["f"])
    assert [traced(n) for n in (1, 2, 3)] == [2, 4, 6]  # traced anew each time, which is right and slow
    assert namespace["calls"] == 3


def test_what_is_written_in_one_way_and_read_in_another() -> None:
    log: list = []
    counts = [0, 0]
    k = 1

    def f(x):
        log.append(x * k)
        counts[k] += len(log)
        return x

    def g(x):
        def inner():
            return counts[0]

        counts[0] += 1
        return x * inner()

    assert broken_by(f, lambda: log.append(1))
    assert not broken_by(f, lambda: counts.append(1))
    assert broken_by(g, lambda: counts.append(1))
    guards = guards_of(f)
    k = 0
    assert not all(guard.holds() for guard in guards)


def test_what_is_written_and_read_is_read() -> None:
    step = 0
    log: list = []

    @lamina.defn
    def counted(x):
        nonlocal step
        step += 1
        return x * step

    @lamina.defn
    def logged(x):
        log.append(1)
        return x * len(log)

    assert [counted(1) for _ in range(3)] == [1, 2, 3]
    assert [logged(1) for _ in range(3)] == [1, 2, 3]


def test_a_stored_value_is_read() -> None:
    k = 1
    out = {}

    def store(x):
        out["k"] = k
        return x

    assert broken_by(store, lambda: None) is False
    guards = guards_of(store)
    k = 2
    assert not all(guard.holds() for guard in guards)


def test_counters_of_self_are_only_written() -> None:
    model = Model(2)
    traced = lamina.defn(model.run)
    assert traced(1.0) == traced(1.0) == 3.0
    assert model.calls == len(model.log) == 1


# Through defn


def test_a_compiled_function_sees_what_was_rebound() -> None:
    f = lamina.defn(lambda x: x * scale)
    assert f(3) == 6
    globals()["scale"] = 5
    assert f(3) == 15
    globals()["scale"] = 2
    assert f(3) == 6


def test_a_fun_sees_what_was_rebound_within_one_trace() -> None:
    k = 1

    @lamina.fun
    def scaled(x):
        return x * k

    @lamina.defn
    def total(x):
        nonlocal k
        result = []
        for k in (2, 3):  # noqa: B007
            result.append(scaled(x) + scaled(x))
        return result

    assert total(1.0) == [4.0, 6.0]


def test_guards_do_not_keep_the_function() -> None:
    def make():
        k = np.ones(3)
        return lamina.defn(lambda x: x * k)

    f = make()
    f(np.ones(3))
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None
