"""Programs in which what a number or an array is decides: found beside NumPy, each the smallest of its kind."""

import numpy as np
import pytest

import lamina
from lamina.errors import TraceError
from tests.support.undecorated import assert_agrees


def the_kind_of_a_dtype(x):
    return x + 1 if x.dtype.kind == "f" else x


def a_dtype(x):
    return x.dtype


def more_of_a_dtype(x):
    return np.zeros(3, dtype=x.dtype), isinstance(x.dtype, np.dtype), x.dtype.char


def one_or_more(x):
    a = 1
    if x[0] > 0:
        a = 2.5
    return a


def arrays_of_mixed_numbers(x):
    a = one_or_more(x)
    return np.array([a, a]), np.full(3, a), np.where(x > 1, a, 0)


def functions_of_mixed_numbers(x):
    a = one_or_more(x)
    return np.add(a, a), np.abs(a), np.sum(a), np.round(a)


def a_count_that_may_be_a_float(x):
    c = 0
    for v in x:
        if v > 2.5 and x[0] > 0:
            c += v
    return np.array([c, 2]), c


def bools_are_added(x):
    b = False
    if x[0] > 0:
        b = x[1] > 0
    return b + b


def a_bool_is_negated(x):
    b = True
    if x[0] > 0:
        b = 3
    return -b


def perhaps_complex(x):
    z = 1j
    if x[0] >= 0:
        z = 2.0
    return z


def ravel_in_a_loop(x):
    s = 0.0
    for _ in range(20):
        s += x.reshape(1, 3)[:, 0].ravel()[0] + x[::-1].ravel()[1]
    return s


def parts_of_mixed_numbers(x):
    wide = x[0] if x[0] > 0 else 1.25
    narrow = x.astype(np.float32)[0] if x[0] > 0 else 1.25
    truth = x[0] if x[0] > 0 else True
    return [(+each, each.imag, each.real, round(each, 1)) for each in (wide, narrow, truth)]


def what_is_a_scalar(x):
    either = x[0] if x[0] > 0 else 1.0
    things = x[0], x, x.sum(), x[0, ...], float(x[0]), x[x > 1], 3.0, "text", None, either
    return [np.isscalar(each) for each in things]


PROGRAMS = [
    the_kind_of_a_dtype,
    a_dtype,
    more_of_a_dtype,
    arrays_of_mixed_numbers,
    functions_of_mixed_numbers,
    a_count_that_may_be_a_float,
    bools_are_added,
    a_bool_is_negated,
    perhaps_complex,
    ravel_in_a_loop,
    parts_of_mixed_numbers,
    what_is_a_scalar,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_things_are(program) -> None:
    assert_agrees(program, lambda: (np.array([1.0, 2, 3]),), lambda: (np.array([-1.0, 2, 3]),))


def text_of_one_of_two(x):
    y = x if x[0] > 0 else 0
    return f"{y}"


@pytest.mark.parametrize("program", [text_of_one_of_two])
def test_what_is_not_known_is_refused(program) -> None:
    with pytest.raises(TraceError):
        lamina.defn(program, strict=True)(np.array([1.0, 2, 3]))
