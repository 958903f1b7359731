"""Traced values that are used where they don't exist: one error that names the function, line, dtype and shape."""

import inspect
import threading

import numpy as np
import pytest

import lamina
from lamina.errors import EscapedValueError, TraceError


def kept_value(x):
    """A value kept from a trace that is over, and the line it was made on."""
    kept = []

    def leaky(x):
        kept.append(x * 2)
        return x

    lamina.defn(leaky)(x)
    return kept[0], inspect.getsourcelines(leaky)[1] + 1


def use_in_another(value):
    return lamina.defn(lambda x: x + value)(np.ones(3))


def use_in_a_loop(value):
    return lamina.defn(lambda x: lamina.fori_loop(0, 2, lambda i, c: c + value, x))(np.ones(3))


USES = {
    "operator": lambda v: v + 1,
    "reflected operator": lambda v: 1 - v,
    "NumPy array": lambda v: np.ones(3) * v,
    "lamina function": lambda v: lamina.sum(v),
    "method": lambda v: v.sum(),
    "indexing": lambda v: v[0],
    "comparison": lambda v: v == v,
    "unary": lambda v: -v,
    "bool": lambda v: bool(v),
    "float": lambda v: float(v),
    "int": lambda v: int(v),
    "item": lambda v: v.item(),
    "tolist": lambda v: v.tolist(),
    "view": lambda v: v.view(np.int64),
    "np.asarray": lambda v: np.asarray(v),
    "another trace": use_in_another,
    "a loop of another trace": use_in_a_loop,
    "lamina.trace": lambda v: lamina.trace(lambda x: x + v, np.ones(3)),
    "cond": lambda v: lamina.cond(True, lambda: v, lambda: v),
    "while_loop": lambda v: lamina.while_loop(lambda c: c.sum() < 3, lambda c: c + 1, v),
    "fori_loop": lambda v: lamina.fori_loop(0, 2, lambda i, c: c + v, 1.0),
    "hook": lambda v: lamina.hook(v, "h"),
    "runtime_call": lambda v: lamina.runtime_call(len, lamina.Spec(float), v),
    "metadata": lambda v: lamina.metadata(v, {}),
    "block": lambda v: lamina.block("b", lambda a: a, v),
    "fun": lambda v: lamina.defn(lambda x: lamina.fun(lambda a: a + v)(x))(1.0),
    "returned": lambda v: lamina.defn(lambda x: v)(1.0),
    "argument": lambda v: lamina.defn(lambda x: x + 1)(v),
}


@pytest.mark.parametrize("use", USES)
def test_any_use_of_a_value_whose_trace_is_over(use: str) -> None:
    value, line = kept_value(np.ones(3))
    with pytest.raises(EscapedValueError) as raised:
        USES[use](value)
    message = str(raised.value)
    assert "a traced value was used outside the scope it was made in, leaky: float64[3] from multiply at" in message
    assert f"test_escape.py:{line}, in leaky" in message
    assert "return it from leaky, or show it with lamina.hook" in message
    assert isinstance(raised.value, TraceError) and isinstance(raised.value, TypeError)


def test_a_predicate_whose_trace_is_over() -> None:
    value, _ = kept_value(1.0)
    for use in (lambda: lamina.cond(value, lambda: 1, lambda: 2), lambda: lamina.check(value, ValueError, "m")):
        with pytest.raises(EscapedValueError, match=r"made in, leaky: float64\[\] from multiply at"):
            use()


def test_the_function_itself_works_before_and_after() -> None:
    kept = []

    def f(x):
        z = x + 1
        kept.append(z)
        return 2 * z

    compiled = lamina.defn(f)
    assert compiled(1) == 4
    with pytest.raises(EscapedValueError, match=r"made in, f: int64\[\] from add at .*test_escape\.py:"):
        kept[0] + 1
    assert compiled(2) == 6 and len(kept) == 1


def test_what_may_be_asked_of_it() -> None:
    value, _ = kept_value(np.ones((3, 2)))
    assert (value.dtype, value.shape, value.ndim, value.size, len(value)) == (lamina.float64, (3, 2), 2, 6, 3)
    assert repr(value) == str(value) == f"{value}" == "<traced float64[3, 2]>"


def test_a_value_of_an_inner_scope_in_the_outer_one() -> None:
    def program(x, make):
        kept = []
        make(kept, x)
        return x + kept[0]

    def in_body(kept, x):
        lamina.fori_loop(0, 2, lambda i, c: (kept.append(c * 2), c)[1], x)

    def in_condition(kept, x):
        lamina.while_loop(lambda c: (kept.append(c * 2), c.sum() < 0)[1], lambda c: c, x)

    def in_fun(kept, x):
        @lamina.fun
        def inner(v):
            kept.append(v * 2)
            return v

        inner(x)

    def in_block(kept, x):
        lamina.block("b", lambda v: (kept.append(v * 2), v)[1], x)

    for make, scope in [
        (in_body, "body <lambda>"),
        (in_condition, "body <lambda>"),
        (in_fun, "inner"),
        (in_block, "block b"),
    ]:
        with pytest.raises(EscapedValueError) as raised:
            lamina.defn(lambda x: program(x, make))(np.ones(3))  # noqa: B023
        assert f"made in, {scope}: float64[3] from multiply at" in str(raised.value)
        assert "test_escape.py:" in str(raised.value)


def test_a_sibling_scope() -> None:
    def program(x):
        kept = []
        lamina.fori_loop(0, 2, lambda i, c: (kept.append(c * 2), c)[1], x)
        return lamina.fori_loop(0, 2, lambda i, c: c + kept[0], x)

    with pytest.raises(EscapedValueError, match="made in, body <lambda>"):
        lamina.defn(program)(np.ones(3))


def test_a_value_in_another_thread() -> None:
    errors = []

    def program(x):
        def other() -> None:
            for use in (lambda: x + 1, lambda: lamina.defn(lambda y: y + x)(1.0)):
                try:
                    use()
                except EscapedValueError as error:
                    errors.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return x * 2

    np.testing.assert_array_equal(lamina.defn(program)(np.ones(3)), [2.0, 2.0, 2.0])
    assert len(errors) == 2 and all("made in, program: float64[3] from parameter" in error for error in errors)


def test_eager_bodies_keep_their_values_too() -> None:
    kept = []
    x = lamina.asarray(np.ones(3))
    lamina.cond(True, lambda: (kept.append(x * 2), kept[-1])[1], lambda: x)
    lamina.fori_loop(0, 2, lambda i, c: (kept.append(c * 2), c)[1], x)
    for value, scope in zip(kept, ("cond", "body <lambda>"), strict=True):
        with pytest.raises(EscapedValueError, match=f"made in, {scope}"):
            value + 1


def test_constants_do_not_escape() -> None:
    """What is known is known everywhere."""
    kept = []
    array = np.arange(3.0)

    def f(x):
        kept.extend([np.asarray(array), 2.5])
        return x + kept[0] * kept[1]

    np.testing.assert_array_equal(lamina.defn(f)(np.ones(3)), 1 + array * 2.5)
    np.testing.assert_array_equal(kept[0] * kept[1], array * 2.5)


def test_a_trace_that_fails_leaves_nothing_open() -> None:
    def fails(x):
        lamina.fori_loop(0, 2, lambda i, c: 1 / 0, x)

    with pytest.raises(ZeroDivisionError):
        lamina.defn(fails)(np.ones(3))
    assert lamina.trace.__module__ == "lamina.defn"
    from lamina.trace.scope import current

    assert current() is None
    np.testing.assert_array_equal(np.asarray(lamina.add(np.ones(2), 1)), [2.0, 2.0])
