"""Python's own syntax and built-in functions on what is traced: decorated, each program is the undecorated one."""

import contextlib
import functools
import inspect
import math
import operator
import warnings
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import LaminaWarning, TraceError
from tests.support.undecorated import assert_agrees

FACTOR = 3.0
Pair = namedtuple("Pair", "first second")


def x3() -> np.ndarray:
    return np.array([1.5, -2.0, 0.25])


def agrees(program: Callable[..., Any], *numbers: Any) -> None:
    """Decorated and undecorated, with an array, and with a number if some are given."""
    if numbers:
        assert_agrees(program, *((lambda n=n: (x3(), n)) for n in numbers))
    else:
        assert_agrees(program, lambda: (x3(),), lambda: (-x3(),))


# Functions


def test_nested_functions_and_closures() -> None:
    def program(x, n):
        scale = 2.0

        def scaled(v, k=scale):
            def inner(w):
                return w * k + scale

            if n > 2:
                return inner(v)
            return inner(v) - 1

        scale = 5.0
        return scaled(x), scaled(x, n)

    agrees(program, 1, 4)


def test_nonlocal_and_global_names_of_the_program() -> None:
    def program(x, n):
        total, count = x * 0, 0

        def add(v):
            nonlocal total, count
            total = total + v
            count += 1

        add(x)
        for i in range(n):
            add(x * i)
        if n > 2:
            add(x)
        return total, count

    agrees(program, 0, 2, 3, 12)


def test_recursion() -> None:
    def program(x, n):
        def power(k):
            if k == 0:
                return 1.0
            half = power(k // 2)
            return half * half * (x if k % 2 else 1.0)

        return power(n)

    agrees(program, 0, 1, 6, 7)


def test_lambdas() -> None:
    def program(x, n):
        twice = lambda v: v * 2  # noqa: E731
        choose = lambda v, k=n: v if k > 0 else -v  # noqa: E731
        named = lambda *a, **k: a[0] + k["b"]  # noqa: E731
        return twice(x), choose(x), choose(twice(x), -1), named(x, b=n)

    agrees(program, 1, -2)


def test_arguments_of_every_kind() -> None:
    def takes(a, /, b, *rest, c, d=10, **named):
        for r in rest:
            a = a + r
        return a * b - c + d + sum(named.values())

    def program(x, n):
        args, named = (x, 2, n), {"e": x, "f": 1.5}
        return [
            takes(x, 1, c=n),
            takes(x, b=2, c=x, d=n, z=1),
            takes(*args, x, c=0),
            takes(*args, c=1, **named),
            takes(x, *args[1:], 3, c=4, **named),
        ]

    agrees(program, 3, 0.5)


def test_partials_and_functions_of_functions() -> None:
    def add(a, b, c=0):
        return a + b * c

    def twice(function, *args):
        return function(function(*args), *args[1:])

    def program(x, n):
        f = functools.partial(add, x, c=n)
        folded = functools.reduce(lambda a, b: a * b + n, [x, x + 1, 2.0])
        return f(2), twice(add, x, n), folded, list(map(abs, [x, n])), operator.add(x, n)

    agrees(program, 3, 0.5)


class Model:
    """Methods of every kind."""

    rate = 0.5

    def __init__(self, weights: Any) -> None:
        self.weights = weights

    def __call__(self, x, n):
        h = x
        for w in self.weights:
            h = self.step(h, w)
        if n > 1:
            h = h - self.rate
        return self.scaled(h) + self.static(n) + self.doubled

    def step(self, h, w):
        if h.sum() > 0:
            return h * w
        return h + w

    @classmethod
    def scaled(cls, h):
        return h * cls.rate

    @staticmethod
    def static(n):
        return n * 2

    @property
    def doubled(self):
        return 2 * self.weights[0]


class Child(Model):
    """One that overrides a method and calls it."""

    def step(self, h, w):
        return super().step(h, w) + 1


def test_methods() -> None:
    for model in (Model([2.0, np.ones(3)]), Child([x3(), 0.5])):
        agrees(model, 1, 3)
        agrees(lambda x, n, m=model: m.step(x, n) * Model.static(2), 1, 3)


def test_a_decorated_function_calls_another() -> None:
    @lamina.defn
    def inner(v, k):
        for _ in range(k):
            v[0] += 1
        return v[1:] * k

    def program(x, n):
        y = inner(x, n)
        y[0] = 5
        return y, inner.__wrapped__(x, 2)

    agrees(program, 1, 3)


def test_decorators_that_wrap() -> None:
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if args[1] > 2:
                return function(*args, **kwargs) + 100
            return function(*args, **kwargs)

        return wrapper

    @logged
    def program(x, n):
        return x * n if n > 0 else x

    agrees(program, -1, 1, 3)


def test_defaults_are_those_of_the_function() -> None:
    def program(x, n, k=FACTOR, *, m=[1, 2]):  # noqa: B006
        return x * k + sum(m) * n

    agrees(program, 2)


def test_functions_without_source_are_traced_as_they_are() -> None:
    namespace: dict[str, Any] = {"np": np}
    exec("def double(v):\n    return np.sin(v) * 2", namespace)
    double = namespace["double"]
    agrees(lambda x, n: double(x) + n, 1)
    exec("def decides(v):\n    return v * 2 if v[0] > 0 else v", namespace)
    decides = namespace["decides"]
    with pytest.raises(TraceError, match=r"bool\(…\) needs the elements"):
        lamina.defn(decides, strict=True)(x3())
    with pytest.warns(LaminaWarning, match="plain Python"):
        np.testing.assert_array_equal(lamina.defn(decides)(x3()), x3() * 2)


# Statements


def test_unpacking() -> None:
    def program(x, n):
        a, b, c = x
        (d, [e, *f]), g = (n, [a, b, c]), x
        *h, i = [x, n, a]
        first, *_ = x
        j = k = x * 2
        g[0], j[1:] = n, g[:-1]
        p, q = Pair(x, n)
        p[2], x[1] = q, a
        return a, b, c, d, e, f, g, h, i, first, j, k, p, q

    agrees(program, 2, 0.5)

    def wrong(x):
        a, b = x
        return a, b

    agrees(wrong)


def test_augmented_assignments_of_every_target() -> None:
    class Box:
        pass

    def program(x, n):
        box = Box()
        box.x, box.n, things = x, n, {"x": x * 2, "n": n, "list": [1]}
        x += n
        x[1:] *= 2
        x[0] -= x[1]
        box.x += 1
        box.n += 1
        things["x"] /= 2
        things["n"] -= 1
        things["list"] += [x]
        n **= 2
        n //= 2
        y = x
        y @= np.eye(3)
        return box.x, box.n, things["x"], things["n"], things["list"][1], n, y

    agrees(program, 2, 5)


def test_annotations_docstrings_and_pass() -> None:
    def program(x: np.ndarray, n: int = 2) -> Any:
        """A docstring."""
        y: Any
        z: Any = x * n
        if n > 3:
            pass
        y = z
        return y

    agrees(program, 1, 5)


def test_del() -> None:
    def program(x, n):
        y, table = x * 2, {"a": x, "b": n}
        del table["a"]
        z = y
        del y
        try:
            z = y + z  # noqa: F821
        except UnboundLocalError:
            z = z + 1
        return z, list(table)

    agrees(program, 1)


def test_try_except_and_finally() -> None:
    def program(x, n):
        y = x
        try:
            y = x.reshape(7)
        except ValueError:
            y = x * 2
        else:
            y = x * 3
        finally:
            y = y + n
        try:
            z = [x][n]
        except IndexError:
            z = x[0]
        try:
            y += 1
        finally:
            x[0] = 100
        return y, z

    agrees(program, 0, 5)

    def returns(x, n):
        try:
            if n > 2:
                return x
            x[0] = 1
        finally:
            x[1] = 50
        return x * 2

    agrees(returns, 1, 3)

    def leaves(x, n):
        for i in range(5):
            try:
                if i == n:
                    continue
                if i == 3:
                    break
            except KeyError:
                x[0] = 10
            else:
                x[1] += i
            finally:
                x[2] += 1
        try:
            if n > 2:
                return x
            y = x * 2
        except KeyError:
            return n
        else:
            x[0] = 77
        return y

    agrees(leaves, 0, 1, 2, 4)

    def passes_on(x):
        try:
            x[0] = 5
            x[7] = 6
        finally:
            x[1] = 7

    agrees(passes_on)


def test_what_may_raise_at_run_time_in_a_try_runs_undecorated() -> None:
    def program(x, n):
        try:
            return x * (1 // n)
        except ZeroDivisionError:
            return x

    with pytest.raises(TraceError, match=r"try/except around what may raise at run time.*test_rewrite\.py"):
        lamina.defn(program, strict=True)(x3(), 1)
    compiled = lamina.defn(program)
    with pytest.warns(LaminaWarning, match="try/except") as caught:
        results = [compiled(x3(), n) for n in (1, 0, 2)]
    np.testing.assert_array_equal(results, [program(x3(), n) for n in (1, 0, 2)])
    assert len(caught) == 1


def test_with() -> None:
    def program(x, n):
        with np.errstate(divide="ignore", invalid="ignore"), contextlib.nullcontext(5) as five:
            if n > 2:
                return x / 0
            y = np.log(x) + five
        return y  # noqa: RET504

    agrees(program, 1, 3)


def test_imports_inside() -> None:
    def program(x, n):
        import math as m
        from functools import reduce

        return m.sqrt(n) * reduce(lambda a, b: a + b, [x, x])

    agrees(program, 2.0)


def test_classes_inside() -> None:
    def program(x, n):
        class Point:
            def __init__(self, a, b):
                self.a, self.b = a, b

            def total(self):
                if self.b > 0:
                    return self.a.sum() + self.b
                return self.b

        return Point(x, n).total(), Point(x * 2, 3).a

    agrees(program, 1, 4)


# Expressions


def test_walrus() -> None:
    def program(x, n):
        y = (z := x * 2) + z
        if (k := n + 1) > 2:
            y = y * k
        while (k := k - 1) > 0:
            y += k
        values = [w := v + 1 for v in (x[0], x[1])]
        return y, z, k, values, w

    agrees(program, 1, 3)


def test_comprehensions() -> None:
    def program(x, n):
        a = [v * 2 for v in x]
        b = [x * i for i in range(3) if i != 1]
        c = {k: x + k for k in (1, 2)}
        d = [[i * j + n for i in range(j)] for j in range(3)]
        e = sum(v for v in x)
        f = {len(x), 2}
        g = [v if v > 0 else -v for v in x]
        h = np.array([[x[i] + j for j in range(2)] for i in range(3)])
        return a, b, c, d, e, sorted(f), g, h

    agrees(program, 1, 2.5)


def test_slices_and_indices() -> None:
    def program(x, n):
        a = np.arange(12.0).reshape(3, 4) * x[:, None]
        return a[n], a[n, n - 1], a[n - 1 :], a[:, ::-1][n], a[..., -1], a[1:, [0, n]], a[a.argmax() // 4], a[-n]

    agrees(program, 1, 2)

    def strides(x, n):
        return x[::n], x[n:], x[:n], x[slice(0, n)], x[-n:]

    agrees(strides, 1, 2)


def test_f_strings_of_what_is_known() -> None:
    def program(x, n):
        name = f"{x.shape[0]}-{len(x):02d}-{x.dtype}"
        return x * len(name)

    agrees(program, 1)


def test_starred_calls_and_returns() -> None:
    def program(x, n):
        pair = x, n
        more = {"a": x}
        return *pair, *[x + 1], {**more, "b": n}

    agrees(program, 2)


def test_identity_and_membership() -> None:
    def program(x, n):
        y = x
        z = x[:]
        return y is x, y is not z, n is None, x is None, n in (1, 2), "a" in {"a": x}, None is not n

    agrees(program, 1, 3)


# Built-in functions


def test_types() -> None:
    def program(x, n):
        s = x.sum()
        facts = [
            isinstance(x, np.ndarray),
            isinstance(n, int),
            isinstance(n, (float, complex)),
            isinstance(s, np.floating),
            isinstance(s, float),
            isinstance(x[0, ...], np.ndarray),
            type(x) is np.ndarray,
            type(n).__name__,
            type(s) is np.float64,
            callable(n),
            hasattr(x, "shape"),
        ]
        if isinstance(n, bool):
            return facts, x
        return facts, getattr(x, "T") * n  # noqa: B009

    agrees(program, 1, 2.5, True, 1j)


def test_numbers() -> None:
    def program(x, n):
        return (
            [len(x), abs(n), abs(x[1]), float(n), int(n), bool(n), int(x[0]), float(x[0]), bool(x[1])],
            [min(n, 2), max(n, x[0]), min(x), max(x), max(1, n, 3.5), min([n, 1]), max(x[0], x[1], x[2])],
            [sum(x), sum([n, 1]), sum([x, x], x), pow(n, 2), divmod(n, 2), round(n), round(x[0])],
            [any([n > 1, n > 2]), all([n > 1, n > 2])],
            sorted([3, 1, 2]),
            list(reversed([x, n])),
        )

    agrees(program, 1, 3, 2.5, -4.5)


def test_conversions_refuse_as_pythons() -> None:
    def floats(x, n):
        return float(x * n)

    def ints(x, n):
        return int(x[0] * n)

    def one(x, n):
        return float(x[:1]), int(x[:1] * n)

    for program in (floats, ints):
        agrees(program, 1.5, math.inf, math.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # what it is before it is a TypeError
        with pytest.raises((TypeError, DeprecationWarning)):
            one(x3(), 2.0)
    with pytest.raises((TypeError, DeprecationWarning)):
        lamina.defn(one, strict=True)(x3(), 2.0)


def test_math() -> None:
    def program(x, n):
        return [
            math.sqrt(n),
            math.exp(n),
            math.log(n),
            math.sin(n) + math.cos(x[0]) - math.tan(n),
            math.atan2(n, x[0]),
            math.hypot(n, 3),
            math.fabs(x[1]),
            math.floor(x[0]),
            math.ceil(x[0]),
            math.trunc(n),
            math.pi * n,
        ]

    agrees(program, 1, 2.5)
    for value in (-1.0, 0.0, -1, 0):
        agrees(lambda x, n: math.sqrt(n), value)
        agrees(lambda x, n: math.log(n), value)
        agrees(lambda x, n: (x[0] * 0 + n) ** 0.5, value)


def test_ranges_zips_and_enumerations() -> None:
    def program(x, n):
        total = 0
        for i, v in enumerate(x):
            total += i * v
        for (i, v), w in zip(enumerate(x, 1), x[::-1], strict=True):
            total += v * w - i
        for v, name in zip(x, "ab", strict=False):
            total += v * len(name)
        for i in reversed(range(3)):
            total += i
        for v in list(x):
            total += v
        return total, len(range(2, 9, 3)), list(range(3)), range(5)[n], n in range(3)

    agrees(program, 1, 4)


def test_numpys_functions_that_make_arrays() -> None:
    def program(x, n):
        a = np.zeros((2, 3), dtype=np.int32)
        a[0] = [1, 2, 3]
        b = np.full((3,), n)
        c = np.array([x, x * 2, [1, 2, n]])
        d = np.asarray(x)
        d[0] = 7
        e = np.array(x, dtype=np.float32)
        f = np.empty(3)
        f[:] = n
        g = np.ones_like(x, dtype=int) + np.arange(3)
        h = np.float32(n) * x
        i = np.int64(n) + 1
        j = np.linspace(0, n, 5)
        k = np.eye(3)[1] * x
        m = np.array(n)
        m += 1
        return a, b, c, d, e, f, g, h, i, j, k, m

    agrees(program, 2, 3)


def test_printing() -> None:
    def program(x, n):
        print("x", x, sep=" = ")
        print(n, x[0], x.sum() > 0, x[0, ...], end=";")
        for i in range(n):
            x += i
            print(i, x[0])
        print()
        print(x.shape, "known", 5)
        return x

    agrees(program, 0, 2, 12)


def test_vars_and_attributes() -> None:
    class Box:
        size = 3

        def __init__(self, x):
            self.x = x

    def program(x, n):
        box = Box(x)
        setattr(box, "y", n)  # noqa: B010
        return box.x * box.size + box.y + getattr(box, "none", 5), sorted(vars(box))

    agrees(program, 2)


# Static arguments


def test_strings_none_and_other_objects_are_static() -> None:
    def program(x, how, axis=None, dtype=float, function=np.sin, options=()):
        if how == "sum":
            return x.sum(axis=axis)
        if how is None:
            return function(x).astype(dtype)
        return x + len(options)

    assert_agrees(
        program,
        lambda: (x3(), "sum"),
        lambda: (x3(), "sum", 0),
        lambda: (x3(), None),
        lambda: (x3(), None, None, np.float32, np.cos),
        lambda: (x3(), "other", None, int, abs, (1, "a", None)),
    )


# What can't be traced


def generator(x, n):
    def items():
        yield x
        yield n

    return sum(items())


def matches(x, n):
    match n:
        case 1:
            return x
        case _:
            return x * 2


def private(x, n):
    class Box:
        def __init__(self):
            self.__x = x

        def get(self):
            return self.__x * n

    return Box().get()


def walrus(x, n):
    return n > 0 and (y := x[0]) > 1 and y


def local_names(x, n):
    return x * len(locals())


@pytest.mark.parametrize("program", [generator, matches, private, walrus, local_names], ids=lambda p: p.__name__)
def test_syntax_that_is_not_traced_runs_undecorated(program) -> None:
    def called(x, n):
        return program(x, n)

    first, last = inspect.getsourcelines(program)[1], len(inspect.getsourcelines(program)[0])
    compiled = lamina.defn(called)
    with pytest.warns(LaminaWarning) as caught:
        results = [compiled(x3(), n) for n in (1, 2)]
    for result, n in zip(results, (1, 2), strict=True):
        np.testing.assert_array_equal(result, program(x3(), n))
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith("called runs as plain Python, not compiled: ")
    assert any(f"test_rewrite.py:{line}" in message for line in range(first, first + last)), message
    with pytest.raises(TraceError, match=r"called can't be traced: "):
        lamina.defn(called, strict=True)(x3(), 1)


def test_an_exception_of_the_program_is_its_own() -> None:
    class Own(Exception):
        pass

    def program(x, n):
        x[0] = 100
        if len(x) == 3:
            raise Own("exactly", n)
        return x

    agrees(program, 1)
    with pytest.raises(Own) as raised:
        lamina.defn(program, strict=True)(x3(), 1)
    assert raised.value.args == ("exactly", 1)


def test_a_traceback_shows_the_users_lines() -> None:
    def program(x, n):
        y = x * 2
        return y.reshape(
            7,
        )

    with pytest.raises(ValueError, match="reshape") as raised:
        lamina.defn(program, strict=True)(x3(), 1)
    line = inspect.getsourcelines(program)[1] + 2
    assert f"test_rewrite.py:{line}" in str(raised.value)


ON_ONE_LINE = {"sin": lambda x: np.sin(x), "cos": lambda x: np.cos(x),
               "mapped": lambda x: sorted([2, 1], key=lambda y: -y)[0] * x,
               "sum": lambda x: x.sum(), "negative": lambda x:
               -x, "constant": lambda x: 1}  # fmt: skip


@pytest.mark.parametrize("name", ON_ONE_LINE)
def test_a_lambda_is_told_from_those_on_its_line(name: str) -> None:
    assert_agrees(ON_ONE_LINE[name], lambda: (x3(),))
    assert_agrees((lambda x: x + 1, lambda x: x + 2)[1], lambda: (x3(),))
