"""NumPy's functions and methods that write in place: decorated, strictly, they do what they do undecorated."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import differences


def hist(h, x):
    np.add.at(h, x, 1)
    for v in x:
        h[v] += 1
    return h


def every_at(x, i):
    np.add.at(x, i, 2)
    np.subtract.at(x, i, 1)
    np.multiply.at(x, i, 3)
    np.divide.at(x, i, 4)
    np.maximum.at(x, i, 0.5)
    np.minimum.at(x, i, 0.9)


def masks(x):
    x[x > 0.5] = 0
    x[x < 0.2] += 1
    x[x.sum(1) > 2] *= 2
    return x


def outs(x, y):
    np.add(x, y, out=x)
    np.sqrt(y, out=y)
    np.sum(x, axis=0, out=y[0])
    np.maximum(x[0], y[1], out=x[2])
    return np.exp(x, out=x)


def several_outs(x, y, q, r):
    return np.divmod(x, y, out=(q, r))


def copies(x, v):
    np.copyto(x[0], v)
    np.copyto(x, 0, where=x < 0.3)
    np.fill_diagonal(x, 7)
    x[1].fill(3)
    x.T.fill(0.5)


def puts(x):
    np.put(x, [2, 3, 5], [9, 8])
    np.putmask(x, x > 8, [1, 2])
    np.put_along_axis(x, np.argmax(x, axis=1)[:, None], 0, axis=1)
    x.put([0, -1], 4)


def sorts(x):
    x[0].sort()
    x.T.sort()
    x.sort(axis=0)
    return x


def from_elsewhere(x):
    y = x.reshape(-1)
    np.add.at(y, [0, 0, 1], 1)
    np.negative(y[2:], out=y[2:])
    return x


R = np.random.default_rng(7)
CASES: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    (hist, lambda: (np.zeros(5, int), np.arange(40) % 5)),
    (every_at, lambda: (np.linspace(0, 1, 6), np.array([0, 2, 2, 5]))),
    (masks, lambda: (np.random.default_rng(1).random((4, 5)),)),
    (outs, lambda: (np.linspace(0, 1, 20).reshape(4, 5), np.linspace(1, 2, 20).reshape(4, 5))),
    (several_outs, lambda: (np.arange(6), np.array([1, 2, 3, 4, 5, 7]), np.zeros(6, int), np.zeros(6, int))),
    (copies, lambda: (np.random.default_rng(2).random((4, 4)), np.ones(4))),
    (puts, lambda: (np.random.default_rng(3).random((4, 4)),)),
    (sorts, lambda: (np.random.default_rng(4).random((3, 4)),)),
    (sorts, lambda: (np.asfortranarray(np.random.default_rng(4).random((3, 4))),)),
    (from_elsewhere, lambda: (np.arange(12.0).reshape(3, 4),)),
]


@pytest.mark.parametrize(("program", "arguments"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_it_writes_what_numpy_writes(program, arguments):
    decorated = lamina.defn(program, strict=True)
    for _ in range(2):
        assert differences(program, decorated, arguments) == []


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (lambda x: np.add(x, 0.5, out=np.zeros(3, int)), TypeError),
        (lambda x: np.add.at(x, [9], 1), IndexError),
        (lambda x: np.copyto(x, np.ones(7)), ValueError),
        (lambda x: x[x > 0].fill(1) or x.__setitem__(np.ones(7, bool) & (x.sum() > 0), 0), IndexError),
    ],
    ids=["kind", "outside", "shape", "mask"],
)
def test_what_numpy_refuses_is_refused(program, error):
    with pytest.raises(error):
        program(np.ones(3))
    x = np.ones(3)
    with pytest.raises((error, lamina.errors.TraceError, NotImplementedError)):
        lamina.defn(program, strict=True)(x)
    assert (x == 1).all()
