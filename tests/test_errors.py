"""Bad input: one clear error that names the function, the argument, what was expected and came, and the user's line.

The messages are kept here as text, so that whoever changes one reads it as its reader will.
"""

import inspect
import pickle
import re
import traceback
from decimal import Decimal

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina import errors
from lamina.errors import ConcretizationError, DataDependentShapeError, LaminaWarning

X = np.ones((2, 3))
Y = np.ones(4)


def raised(function, *args) -> BaseException:
    """What a compiled function raises."""
    with pytest.raises(Exception) as info:
        lamina.defn(function, strict=True)(*args)
    return info.value


@pytest.mark.parametrize(
    ("program", "kind", "says"),
    [
        (lambda x: list(x.flat), AttributeError, "no attribute 'flat'. Use x.reshape(-1)"),
        (lambda x: x.strides, AttributeError, "no attribute 'strides'. Use lamina.asarray(x).layout outside"),
        (lambda x: x.tobytes(), AttributeError, "no attribute 'tobytes'. Use lamina.runtime_call"),
        (lambda x: x.wrong, AttributeError, "'Value' object has no attribute 'wrong'"),
        (lambda x: {1.0: 2}[x[0, 0]], TypeError, "can't be the key of a dictionary or in a set. Use an array of"),
        (lambda x: {x.sum()}, TypeError, "can't be the key of a dictionary or in a set"),
    ],
)
def test_what_a_traced_array_has_not_says_what_to_write(program, kind, says) -> None:
    error = raised(program, X)
    assert isinstance(error, kind) and says in str(error), error


def line_of(function) -> str:
    return f"test_errors.py:{inspect.getsourcelines(function)[1]}"


# Wrong operands while tracing: (function, arguments, class, text)

WRONG = {
    "shapes": (
        lambda x, y: x + y,
        (X, Y),
        ValueError,
        "lamina.add: operands could not be broadcast together with shapes (2, 3) (4,)",
    ),
    "NumPy's function": (
        lambda x, y: np.add(x, y),
        (X, Y),
        ValueError,
        "add: operands could not be broadcast together with shapes (2, 3) (4,)",
    ),
    "matmul": (lambda x, y: x @ y, (X, Y), ValueError, "lamina.matmul: the shapes (2, 3) and (4,) don't fit"),
    "axis": (
        lambda x: x.sum(axis=5),
        (X,),
        errors.AxisError,
        "lamina.sum: axis 5 is out of bounds for an array of 2 axes",
    ),
    "NumPy's axis": (lambda x: np.sum(x, axis=2), (X,), errors.AxisError, "np.sum: axis 2 is out of bounds"),
    "axis type": (
        lambda x: lamina.sum(x, axis="0"),
        (X,),
        TypeError,
        "lamina.sum: 'str' object cannot be interpreted as an integer",
    ),
    "reshape": (
        lambda x: x.reshape(5),
        (X,),
        ValueError,
        "lamina.reshape: cannot reshape array of size 6 (shape (2, 3)) into shape (5,)",
    ),
    "two unknowns": (
        lambda x: x.reshape(-1, -1),
        (X,),
        ValueError,
        "lamina.reshape: can only specify one unknown dimension",
    ),
    "index": (lambda x: x[5], (X,), IndexError, "index 5 is out of bounds for axis 0 with size 2"),
    "too many indices": (
        lambda x: x[0, 0, 0],
        (X,),
        IndexError,
        "too many indices for array: array is 2-dimensional, but 3 were indexed",
    ),
    "no index": (lambda x: x["a"], (X,), IndexError, "only integers, slices"),
    "concatenate": (lambda x, y: np.concatenate([x, y]), (X, Y), ValueError, "array 0 has 2 axes and array 1 has 1"),
    "dtype": (lambda x: x & 1.5, (X,), TypeError, "bitwise_and is not defined for float64, a Python float"),
    "unary dtype": (lambda x: ~x, (X,), TypeError, "bitwise_invert is not defined for float64"),
    "no dtype": (lambda x: x.astype("nonsense"), (X,), TypeError, "a dtype was expected, but got 'nonsense'"),
    "a reduction of nothing": (
        lambda x: x.max(axis=0),
        (np.zeros((0, 2)),),
        ValueError,
        "max: axes (0,) of shape (0, 2) have no element",
    ),
    "einsum": (
        lambda x: np.einsum("ij,jk->ik", x, x),
        (X,),
        ValueError,
        "einsum: the label 'j' has extent 3 in one operand, but 2",
    ),
    "an op's row": (lambda x: np.arctan2(x, 1j), (X,), TypeError, "atan2 is not defined for float64, a Python complex"),
    "cond": (
        lambda x: lamina.cond(x, lambda: 1, lambda: 2),
        (X,),
        TypeError,
        "lamina.cond: predicate must be one bool, but it is float64[2, 3]",
    ),
    "fori_loop": (
        lambda x: lamina.fori_loop(0, 3, lambda i, c: c[:1], x),
        (X,),
        TypeError,
        "lamina.fori_loop: the body changed the shape of carry[1] from (2, 3) to (1, 3)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_operand_names_the_function_and_the_line(name: str) -> None:
    function, args, kind, text = WRONG[name]
    error = raised(function, *args)
    assert type(error) is kind
    message = str(error)
    assert text in message
    first = inspect.getsourcelines(function)[1]
    found = re.search(r"\(\S*test_errors\.py:(\d+)\)$", message)
    assert found and first <= int(found[1]) <= first + 5, message
    assert message.count("test_errors.py") == 1  # said once, however deep it was raised


@pytest.mark.parametrize("name", ["shapes", "axis", "reshape", "index", "dtype", "no dtype", "cond", "fori_loop"])
def test_the_same_outside_a_trace(name: str) -> None:
    function, args, kind, text = WRONG[name]
    with pytest.raises(kind) as info:
        function(*map(lamina.asarray, args))
    assert text in str(info.value) and "test_errors.py:" in str(info.value)


def test_the_line_is_the_innermost_of_the_user() -> None:
    def helper(v):
        return v + np.ones(7)

    def program(x):
        return lamina.fori_loop(0, 2, lambda i, c: helper(c), x)

    message = str(raised(program, X))
    assert f"test_errors.py:{inspect.getsourcelines(helper)[1] + 1})" in message
    assert message.startswith("lamina.add: ")


def test_what_the_users_function_raises_is_not_touched() -> None:
    class Own(ValueError):
        pass

    def program(x):
        raise Own("exactly", 3)

    error = raised(program, X)
    assert type(error) is Own and error.args == ("exactly", 3)
    error = raised(lambda x: lamina.cond(True, lambda: program(x), lambda: x), X)
    assert type(error) is Own and error.args == ("exactly", 3)
    error = raised(lambda x: lamina.fori_loop(0, 1, lambda i, c: program(c), x), X)
    assert type(error) is Own and error.args == ("exactly", 3)

    def one(x):
        raise KeyError("k")

    assert raised(lambda x: lamina.block("b", one, x), X).args == ("k",)


# Arguments that can't be taken


class Unhashable:
    """Neither an array nor hashable."""

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Unhashable()"


class Own(np.ndarray):
    """A class of arrays, which may compute what it likes."""


ARGUMENTS = {
    "object": (np.array([object()]), TypeError, "argument x is ndarray: lamina has no object dtype"),
    "string": (np.array(["a"]), TypeError, "argument x is ndarray: lamina has no string dtype"),
    "bytes": (np.array([b"a"]), TypeError, "argument x is ndarray: lamina has no"),
    "datetime": (np.array(["2020-01-01"], "M8[D]"), TypeError, "argument x is ndarray: lamina has no datetime dtype"),
    "structured": (np.zeros(2, "i4,f8"), TypeError, "argument x is ndarray: lamina has no structured dtype"),
    "long double": (np.zeros(2, np.longdouble), TypeError, "argument x is ndarray: lamina has no"),
    "datetime scalar": (
        np.datetime64("2020-01-01"),
        TypeError,
        "argument x is datetime64: lamina has no datetime dtype",
    ),
    "string scalar": (np.str_("a"), TypeError, "argument x is str_: lamina has no string dtype"),
    "float8": (np.zeros(2, ml_dtypes.float8_e5m2), TypeError, "argument x is ndarray: lamina has no"),
    "matrix": (
        np.zeros((1, 1)).view(np.matrix),
        TypeError,
        "argument x is matrix: asarray: lamina takes no matrix; write np.asarray(x)",
    ),
    "subclass": (np.ones(2).view(Own), TypeError, "argument x is Own: operations of its own class give"),
    "masked": (np.ma.array([1]), TypeError, "argument x is MaskedArray: asarray: lamina takes no MaskedArray"),
    "33 axes": (np.zeros((1,) * 33), ValueError, "argument x is ndarray: "),
    "set": ({1, 2}, TypeError, "argument x is {1, 2}: that is no array, number or container of them"),
    "unhashable": (Unhashable(), TypeError, "argument x is Unhashable(): that is no array, number or container"),
    "nested": ({"a": [1, Unhashable()]}, TypeError, "argument x['a'][1] is Unhashable(): that is no array"),
    "Spec": (
        lamina.Spec("f4", (2,)),
        TypeError,
        "argument x is lamina.Spec(lamina.float32, (2,)): it stands for an array",
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_argument_is_named(name: str) -> None:
    argument, kind, text = ARGUMENTS[name]

    def f(x, y=1.0):
        return y

    compiled = lamina.defn(f, strict=True)
    for _ in range(2):  # at the second call too: nothing of the first is kept
        with pytest.raises(kind) as info:
            compiled(argument)
        assert str(info.value).startswith(f"f: {text}"), str(info.value)
        assert re.search(r"\(\S*test_errors\.py:\d+\)$", str(info.value))
    assert compiled(3) == 1.0


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name != "Spec"])
def test_a_function_of_an_argument_that_is_not_taken_runs_as_it_is(name: str) -> None:
    argument, _, text = ARGUMENTS[name]
    compiled = lamina.defn(lambda x, y=1.0: (x, y + 1))
    with pytest.warns(lamina.errors.LaminaWarning, match=re.escape(text)) as caught:
        results = [compiled(argument) for _ in range(3)]
    assert len(caught) == 1 and all(x is argument and y == 2 for x, y in results)
    assert compiled(3) == (3, 2.0)


def test_arguments_are_named_as_the_function_names_them() -> None:
    def f(a, /, b, *rest, c=None, **more):
        return a

    bad = Unhashable()
    calls = [
        ((bad, 1), {}, "a"),
        ((1, bad), {}, "b"),
        ((1, 2, 3, (4, bad)), {}, "rest[1][1]"),
        ((1, 2), {"c": {"k": bad}}, "c['k']"),
        ((1,), {"z": 1, "b": bad}, "b"),
        ((1, 2), {"other": bad}, "other"),
    ]
    for args, kwargs, name in calls:
        with pytest.raises(TypeError, match=re.escape(f"f: argument {name} is Unhashable()")):
            lamina.defn(f, strict=True)(*args, **kwargs)
    with pytest.raises(TypeError, match=r"argument args\[1\] is Unhashable"):
        lamina.defn(max, strict=True)(1, bad)


def test_a_method_names_its_arguments_without_self() -> None:
    class Model:
        @lamina.defn(strict=True)
        def run(self, x):
            return x

    with pytest.raises(TypeError, match=r"run: argument x\[0\] is Unhashable"):
        Model().run([Unhashable()])


# Values that are demanded


DEMANDS = {
    "range": (lambda x: list(range(x.astype(int)[0, 0])), "int(…)", "x.astype(np.int64)"),
    "complex": (lambda x: complex(x[0, 0]), "complex(…)", "x.astype(np.complex128)"),
    "an array": (lambda x: np.lib.stride_tricks.as_strided(x), "a conversion to a NumPy array", "lamina.runtime_call"),
    "index": (lambda x: [1, 2][x.astype(int)[0, 0]], "an index, a length or range(…)", "lamina.fori_loop"),
    "in": (lambda x: 3.0 in x, "bool(…)", "lamina.cond, lamina.while_loop or np.where"),
}


@pytest.mark.parametrize("name", DEMANDS)
def test_a_demand_says_what_was_wanted_of_what_and_what_to_write(name: str) -> None:
    function, wanted, instead = DEMANDS[name]
    error = raised(function, X)
    assert type(error) is ConcretizationError and isinstance(error, TypeError)
    message = str(error)
    assert wanted in message and "needs the elements of <traced" in message
    assert "which are unknown while <lambda> is traced" in message
    assert instead in message and "test_errors.py:" in message


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 if x.sum() > 0 else 2,
        lambda x: float(x[0, 0]),
        lambda x: np.asarray(x),
        lambda x: max(x[0]),
        lambda x: bool(x.any() and x.all()),
        lambda x: x[0, 0].item(),
        lambda x: x.tolist(),
        lambda x: x.__setitem__(0, 1.0),
    ],
    ids=["if", "float", "np.asarray", "max", "and", "item", "tolist", "setitem"],
)
def test_what_was_a_demand_is_a_program(function) -> None:
    for x in (X.copy(), -X, np.arange(6.0).reshape(2, 3)):
        y = x.copy()
        result, expected = lamina.defn(function, strict=True)(x), function(y)
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(x, y)
        assert type(result) is type(expected)


FALLBACKS = {
    **{name: (function, *text) for name, (function, *text) in DEMANDS.items() if name != "an array"},
    "object dtype": (lambda x: x.astype(object), "lamina has no object dtype", "see lamina.dtype.DTYPES"),
    "no such function of sizes": (lambda x: np.trim_zeros(x[0]), "np.trim_zeros isn't there", "lamina.runtime_call("),
    "no such function": (lambda x: np.i0(x), "np.i0 isn't there for traced values", "lamina.runtime_call("),
    "global": (lambda x: x * len(globals()), "a call of globals()", ""),
    "big integers": (lambda x: x * (int(x.sum()) * 2**70 % 7), "limited to 64 bits", ""),
}


@pytest.mark.parametrize("name", FALLBACKS)
def test_what_cannot_be_traced_runs_with_one_warning(name: str) -> None:
    """It names the line and the reason, and says what to write."""
    function, reason, instead = FALLBACKS[name]

    def seeded(called):
        np.random.seed(0)
        return called(X)

    compiled, expected = lamina.defn(function), seeded(function)
    with pytest.warns(LaminaWarning) as caught:
        results = [seeded(compiled) for _ in range(3)]
    for result in results:
        np.testing.assert_array_equal(result, expected)
        assert type(result) is type(expected)
    (warning,) = caught
    message = str(warning.message)
    assert message.startswith("<lambda> runs as plain Python, not compiled: ")
    assert warning.filename == __file__
    assert reason in message and instead in message
    assert message.count(line_of(function)) >= 1, message


def test_shapes_that_depend_on_data() -> None:
    error = raised(lambda x: x[x.sum() > 0], X)
    assert isinstance(error, DataDependentShapeError) and "the shape of x[mask] depends on the elements of" in str(
        error
    )


# What isn't there yet


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda x: np.i0(x), "np.i0"),
        (lambda x: np.apply_along_axis(sum, 0, x), "np.apply_along_axis"),
    ],
    ids=["i0", "apply_along_axis"],
)
def test_what_is_not_there_yet_is_named(function, name: str) -> None:
    error = raised(function, X)
    assert isinstance(error, NotImplementedError) and name in str(error)


# At run time


def test_an_error_at_run_time_has_the_users_line() -> None:
    def program(x, n):
        return x + 1 // n

    error = raised(program, X, 0)
    assert type(error) is ZeroDivisionError and str(error) == "integer division or modulo by zero"
    (note,) = error.__notes__
    assert f"test_errors.py:{inspect.getsourcelines(program)[1] + 1}, in program" in note


def test_an_index_out_of_range_at_run_time() -> None:
    f = lamina.defn(lambda x, i: lamina.take(x, i))
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(x, np.array([0, -1])), [0.0, 2.0])
    for i in ([0, 3], [-4, 0]):
        with pytest.raises(IndexError, match=rf"index {i[0] or i[1]} is out of bounds for axis 0 with size 3"):
            f(x, np.array(i))


def test_a_failed_call_changes_nothing() -> None:
    calls: list = []

    def program(x, n):
        y = lamina.runtime_call(lambda v: calls.append(1) or v, x, x)
        lamina.check(n > 0, ValueError, "n must be positive")
        return y * n

    f = lamina.defn(program)
    x = np.ones(3)
    for _ in range(2):
        with pytest.raises(ValueError, match="n must be positive"):
            f(x, -1)
        np.testing.assert_array_equal(f(x, 2), [2.0, 2.0, 2.0])
    assert len(calls) == 4
    np.testing.assert_array_equal(x, [1.0, 1.0, 1.0])


def test_the_traceback_shows_the_users_function() -> None:
    def program(x):
        return x.reshape(5)

    error = raised(program, X)
    shown = "".join(traceback.format_exception(error))
    assert "return x.reshape(5)" in shown


# The classes


def test_classes_are_numpys_or_pythons_too() -> None:
    assert issubclass(errors.AxisError, np.exceptions.AxisError)
    assert issubclass(errors.AxisError, ValueError) and issubclass(errors.AxisError, IndexError)
    assert issubclass(errors.GraphError, ValueError)
    for kind in (errors.EscapedValueError, errors.ConcretizationError, errors.DataDependentShapeError):
        assert issubclass(kind, errors.TraceError) and issubclass(kind, TypeError)
    assert issubclass(errors.DataDependentShapeError, NotImplementedError)
    assert issubclass(errors.LaminaWarning, UserWarning)


@pytest.mark.parametrize(
    "thing", ["text", b"bytes", {1}, len, object(), Decimal("1")], ids=lambda thing: type(thing).__name__
)
def test_what_is_no_array_is_refused_by_every_door(thing) -> None:
    for call in (
        lambda: lamina.add(thing, 1.0),
        lambda: lamina.sum(thing),
        lambda: lamina.while_loop(lambda c: True, lambda c: c, (1, thing)),
        lambda: lamina.defn(lambda x: lamina.add(x, thing))(1.0),
        lambda: lamina.defn(lambda x: lamina.hook((x, thing), "h"))(1.0),
    ):
        with pytest.raises(TypeError, match=r"lamina.*must be an array or a number.*test_errors\.py:"):
            call()


def test_an_axis_error_keeps_its_message_in_a_pickle() -> None:
    with pytest.raises(np.exceptions.AxisError) as caught:
        lamina.sum(np.ones(2), axis=3)
    back = pickle.loads(pickle.dumps(caught.value))
    assert type(back) is errors.AxisError and str(back) == str(caught.value)
    assert "lamina.sum: axis 3 is out of bounds" in str(back) and "test_errors.py" in str(back)
