"""Programs that testers broke the decorated function with: what it does must be what the function does, at every call.

Each is the smallest of its kind. Those that can't be one program run as plain Python, with a warning.
"""

import contextlib
import copy
import dataclasses
import functools
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import LaminaWarning
from tests.support.undecorated import assert_agrees


def pairs(make: Callable[[], Any], *calls: Any, strict: bool = True) -> None:
    """What `make` makes, decorated and not, is called with the same things in turn, and keeps its state in between."""
    results = []
    for is_decorated in (False, True):
        function, state, change = make()
        called = lamina.defn(function, strict=strict) if is_decorated else function
        seen = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if not strict else "error", LaminaWarning)
            for args in calls:
                result = called(*args)
                seen.append((np.copy(result), type(result), [np.copy(each) for each in state()]))
                change()
        results.append(seen)
    for (ours, kind, state), (theirs, other, others) in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert kind is other
        for a, b in zip(state, others, strict=True):
            np.testing.assert_array_equal(a, b)


# Arrays from outside


@pytest.mark.parametrize(
    "body",
    [
        lambda table, x: x + table * 2,
        lambda table, x: x * table[1],
        lambda table, x: x * np.sin(table)[0],
        lambda table, x: x if table[0] > 1 else -x,
        lambda table, x: x + sum([v * 2 for v in table]),
        lambda table, x: x + table[1:].T.sum() + len(table),
        lambda table, x: x[: int(table[2])],
        lambda table, x: x * table.tolist()[0] + table[0].item(),
        lambda table, x: x[np.array([0, 1])] * np.flip(table)[0],
        lambda table, x: (table.__setitem__(0, 5.0), x * table[0])[1],
        lambda table, x: sum([table, table]) + x + max([table], key=len),
        lambda table, x: np.stack([table, x])[0] + ([table, table] + x)[1],  # noqa: RUF005  of arrays, a sum
    ],
)
def test_what_an_array_from_outside_holds_is_read_at_each_call(body) -> None:
    def make():
        table = np.arange(3.0)
        kept = {"a": [table]}

        def change() -> None:
            table[:2] += 1

        return lambda x: body(kept["a"][0], x), lambda: [table], change

    pairs(make, (np.ones(3),), (np.ones(3),), (np.ones(3),))


def test_an_array_from_outside_that_is_met_in_a_branch() -> None:
    def make():
        table = np.zeros(3)

        def f(x):
            if x[0] > 0:
                table[0] += 1
            else:
                table[1] -= 1
            for i in range(12):
                if x[i % 3] > 1:
                    table[2] += i
            return table.sum()

        return f, lambda: [table], lambda: None

    pairs(make, (np.ones(3),), (-np.ones(3),), (np.arange(3.0) + 1,))


@pytest.mark.parametrize("dtype", [">f8", "S1", "O", "M8[D]"])
def test_an_array_from_outside_of_a_dtype_that_is_not_traced(dtype: str) -> None:
    def make():
        table = np.array([1, 2, 3]).astype(dtype)

        def change() -> None:
            table[0] = table[2]

        return lambda x: x * (table[0] == table[2]), lambda: [table], change

    pairs(make, (2.0,), (2.0,), strict=False)


def test_an_array_of_another_byte_order_is_written() -> None:
    def make():
        table = np.arange(3.0).astype(">f8")

        def f(x):
            table[0] += x
            return table * 2

        return f, lambda: [table], lambda: None

    pairs(make, (1.0,), (2.0,), strict=False)


def test_attributes_are_read_and_written_at_each_call() -> None:
    class Model:
        def __init__(self) -> None:
            self.weights = np.ones(3)
            self.parts = {"a": np.zeros(3), "b": [np.ones(3)]}

        @property
        def doubled(self) -> np.ndarray:
            return self.weights * 2

        def __getitem__(self, i: int) -> Any:
            return self.weights[i] * 3

        def __add__(self, other: Any) -> Any:
            return self.weights + other * 2

        def __call__(self, x: np.ndarray) -> Any:
            self.weights += x
            self.parts["a"] += x
            self.parts["b"][0][1] = x[0]
            return (self + x).sum() + self.doubled.sum() + self[1]

    def make():
        model = Model()
        return lambda x: model(x), lambda: [model.weights, model.parts["a"], model.parts["b"][0]], lambda: None

    pairs(make, (np.ones(3),), (np.arange(3.0),), (np.ones(3),))


@pytest.mark.parametrize("form", [lambda t: t.resize(5, refcheck=False), lambda t: setattr(t, "shape", (2, 2))])
def test_an_array_from_outside_that_takes_another_form(form) -> None:
    def make():
        table = np.arange(4.0)
        return lambda x: x + table.sum(axis=0), lambda: [table], lambda: form(table)

    pairs(make, (np.ones(2),), (np.ones(2),))


def test_an_array_from_outside_that_becomes_read_only() -> None:
    table = np.zeros(2)

    @lamina.defn
    def f(x):
        table[0] = x
        return x

    assert f(1.0) == 1.0
    table.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(2.0)


def test_arrays_from_outside_that_share_memory() -> None:
    def make():
        table = np.arange(4.0)
        part = table[1:]

        def f(x):
            table[1] = x
            part[1] = x + 1
            return table.sum() + part[0]

        return f, lambda: [table], lambda: None

    pairs(make, (3.0,), (4.0,), strict=False)


def test_an_array_that_is_only_written_and_bound_anew() -> None:
    class Model:
        def __init__(self) -> None:
            self.weights = np.zeros(2)

    def make():
        model, kept = Model(), {"a": np.zeros(2)}
        old = [model.weights, kept["a"]]

        def f(x):
            model.weights += x
            kept["a"][0] = x
            return x

        def change() -> None:
            model.weights, kept["a"] = np.ones(2), np.ones(2)

        return f, lambda: [model.weights, kept["a"], *old], change

    pairs(make, (1.0,), (2.0,), (3.0,))


# What a program keeps outside


def test_a_result_that_is_kept_in_an_object() -> None:
    class Counter:
        def __init__(self) -> None:
            self.total = np.zeros(2)

    def make():
        counter, cache = Counter(), {}

        def f(x):
            counter.total = counter.total + x
            if "first" not in cache:
                cache["first"] = x.sum()
            return counter.total * cache["first"]

        return f, lambda: [counter.total, cache["first"]], lambda: None

    pairs(make, (np.ones(2),), (np.arange(2.0),), (np.ones(2),), strict=False)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(a=d["a"] * 2),
        lambda d: d["l"].append(d["a"]),
        lambda d: d["l"].__setitem__(0, 7),
        lambda d: d.pop("l"),
    ],
)
def test_containers_of_the_arguments_are_changed(change) -> None:
    given = [{"a": np.ones(2), "l": [1, 2]} for _ in range(2)]
    change(given[0])
    with pytest.warns(LaminaWarning, match="of an argument|from outside|can't be traced"):
        lamina.defn(lambda d: (change(d), d["a"].sum())[1])(given[1])
    assert given[0].keys() == given[1].keys() and repr(given[0]) == repr(given[1])


def test_a_variable_of_the_function_around_that_one_branch_binds() -> None:
    def program(x):
        total = 0

        def add(v):
            nonlocal total
            total += v

        if x[0] > 0:
            add(1)
        for i in range(20):
            add(i)
        return total

    f = lamina.defn(program)
    with pytest.warns(LaminaWarning, match="the variable total"):
        assert f(np.ones(2)) == 191
    assert f(-np.ones(2)) == 190


# Objects and functions


def test_static_arguments_whose_attributes_change() -> None:
    class Thing:
        k = 2

    thing = Thing()
    f = lamina.defn(lambda t, x: x * t.k, strict=True)
    assert f(thing, 2.0) == 4.0
    thing.k = 5
    assert f(thing, 2.0) == 10.0


def test_compiled_functions_in_class_and_static_methods() -> None:
    class Thing:
        k = 2

        @classmethod
        @lamina.defn(strict=True)
        def scaled(cls, x):
            return x * cls.k

        @staticmethod
        @lamina.defn(strict=True)
        def halved(x):
            return x / 2

    assert Thing.scaled(3.0) == 6.0 and Thing().scaled(4.0) == 8.0 and Thing.halved(3.0) == 1.5
    Thing.k = 3
    assert Thing.scaled(3.0) == 9.0


def test_functions_that_call_each_other_until_a_number_ends_it() -> None:
    def even(n, x):
        return x if n == 0 else odd(n - 1, x + 1)

    def odd(n, x):
        return x * 2 if n == 0 else even(n - 1, x - 2)

    assert_agrees(lambda n, x: even(n, x), lambda: (5, np.ones(2)), lambda: (4, np.ones(2)), lambda: (4, 2))


def test_whether_two_names_are_of_one_array() -> None:
    both = np.arange(3.0)
    assert_agrees(lambda x, y: x is y, lambda: (both, both), lambda: (both, both.copy()), lambda: (both, both[:]))
    assert_agrees(lambda x: (x[:] is x, x is x, x[...] is not x), lambda: (both,))

    def chosen(a, b):
        c = a if a[0] > b[0] else b
        return c is a

    def chosen_twice(a, b):
        c = a if a[0] > b[0] else b
        d = a if a[1] > b[1] else b
        return c is d, c is not d, d is b

    makers = [lambda signs=signs: (np.array(signs), np.zeros(2)) for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1])]
    assert_agrees(chosen, *makers)
    assert_agrees(chosen_twice, *makers)


def test_a_range_of_traced_numbers_is_pythons_own() -> None:
    with pytest.warns(LaminaWarning, match="a range of traced numbers is returned"):
        assert lamina.defn(lambda n: range(n))(3) == range(3)


# Context managers, numbers


def test_context_managers_that_act_or_catch(capsys) -> None:
    @contextlib.contextmanager
    def noted() -> Iterator[None]:
        print("in")
        yield
        print("out")

    def program(x):
        result = 0
        with noted(), contextlib.suppress(ValueError):
            result = 1
            if x[0] > 0:
                raise ValueError
            result = 2
        return result

    f = lamina.defn(program)
    with pytest.warns(LaminaWarning, match="a with statement"):
        assert f(np.ones(2)) == 1
    assert f(-np.ones(2)) == 2
    assert capsys.readouterr().out == "in\nout\n" * 2


@pytest.mark.parametrize(("function", "number"), [("exp", 1000.0), ("sin", math.inf), ("cos", -math.inf)])
def test_math_raises_what_python_raises(function: str, number: float) -> None:
    called = getattr(math, function)
    assert_agrees(lambda n: called(n) + 1, lambda: (0.5,), lambda: (number,), lambda: (math.nan,))


# Arrays that are made at each call


class Total:
    def __init__(self) -> None:
        self.count, self.sums = 0, np.zeros(3)

    def add(self, x: np.ndarray) -> np.ndarray:
        self.count += 1
        self.sums += x
        return self.sums / self.count


class Named(Total):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.parts = name, {"a": [np.ones(2)]}


@dataclasses.dataclass
class Made:
    values: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(3))


ELSEWHERE: dict[str, Any] = {"np": np}
exec(
    "def zeros():\n    return np.zeros(3)\nclass Own:\n    def __init__(self):\n        self.values = [zeros()]",
    ELSEWHERE,
)


def total(x):
    made = Total()
    for i in range(20):
        mean = made.add(x * i)
    return mean, made.sums, made.count


def inherited(x):
    made = Named("a")
    made.sums[1] += x[0]
    made.parts["a"][0] *= 3
    return made.sums, made.parts["a"][0], made.name


def by_a_factory(x):
    made = Made()
    made.values += x
    return made.values


def given(x):
    made = Made(np.zeros(3))
    made.values += x
    return made.values, Made(x).values is x


def without_a_source(x):
    made, own = ELSEWHERE["zeros"](), ELSEWHERE["Own"]()
    made += x
    own.values[0][1] = x[2]
    return made, own.values[0]


class Lazy:
    def __init__(self) -> None:
        self._values: Any = None

    @property
    def values(self) -> np.ndarray:
        if self._values is None:
            self._values = np.zeros(3)
        return self._values

    @values.setter
    def values(self, new: np.ndarray) -> None:
        self._values = np.ones(3)
        self._values[:] *= new

    @functools.cached_property
    def kept(self) -> np.ndarray:
        return np.ones(3)


def by_properties(x):
    first, second = Lazy(), Lazy()
    first.values += x
    second.values = x + 1
    second.values[0] += 5
    first.kept[1] += x[1]
    second.kept *= 2
    return first.values, second.values, first.kept, second.kept


def of_index_tricks(x):
    rows, columns = np.mgrid[0:2.0, 0:3.0]
    columns += x
    ones = np.r_[1.0, 1.0, 1.0]
    ones *= x
    return rows, columns, ones


def copied(x):
    once, deep = copy.copy(x), copy.deepcopy({"x": x, "y": x})
    once += 1
    deep["x"] += 2
    return x, once, deep["x"]


MADE = {total: True, inherited: True, by_a_factory: False, given: True, without_a_source: False}
MADE |= {of_index_tricks: True, copied: True, by_properties: True}


@pytest.mark.filterwarnings("ignore::lamina.errors.LaminaWarning")
@pytest.mark.parametrize("program", MADE)
def test_what_is_made_at_each_call_is_new(program: Callable[..., Any]) -> None:
    called = lamina.defn(program, strict=MADE[program])
    for _ in range(3):
        came, wanted = called(np.arange(3.0)), program(np.arange(3.0))
        for ours, theirs in zip(came, wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert type(ours) is type(theirs)
