"""Arrays in the other order of bytes: results have the order that NumPy gives them, and the elements anyway."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina

SWAPPED = np.arange(6, dtype=np.dtype(float).newbyteorder()).reshape(2, 3)
OTHER = SWAPPED.dtype.str[0]
PLACES = np.array([1, 0])

PROGRAMS: dict[str, Callable[..., Any]] = {
    "copy": lambda x: x.copy(),
    "copies": lambda x: (np.copy(x), np.array(x), x.flatten(), x.T.reshape(-1), np.ascontiguousarray(x.T)),
    "views": lambda x: (x, x.T, x[0], x[:, ::-1], x.reshape(3, 2), x.real, x.conj()),
    "arithmetic": lambda x: (x + 0, -x, x * x, np.maximum(x, 1), x @ x.T, np.sqrt(x)),
    "reductions": lambda x: (x.sum(axis=0), x.max(axis=1), np.cumsum(x), x.mean(), x[1, 1]),
    "like": lambda x: (np.empty_like(x) * 0, np.zeros_like(x), np.full_like(x, 3), np.ones_like(x, dtype=np.float32)),
    "picked": lambda x: (x[PLACES], x[x > 2], np.take(x, PLACES, axis=1), x[[0]]),
    "moved": lambda x: (
        np.roll(x, 1),
        np.tile(x, 2),
        np.repeat(x, 2),
        np.pad(x, 1),
        np.delete(x, 1),
        np.insert(x, 0, 7),
    ),
    "ordered": lambda x: (np.sort(x), np.argsort(x), np.unique(x)),
    "joined": lambda x: (np.concatenate([x, x]), np.stack([x, x]), np.where(x > 1, x, x)),
    "asked for": lambda x: (x.astype(f"{OTHER}f4"), x.astype(float), np.zeros(3, f"{OTHER}i4")),
    "its dtype": lambda x: (x.astype(x.dtype), np.zeros(3, x.dtype), np.zeros(3, (x * 2).dtype)),
}


def orders(thing: Any) -> Any:
    if isinstance(thing, tuple):
        return tuple(map(orders, thing))
    return (type(thing), thing.dtype, thing.shape, thing.tolist())


@pytest.mark.parametrize("compiler", ["evaluator", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_orders_are_numpys(name: str, compiler: str) -> None:
    compiled = lamina.defn(PROGRAMS[name], compiler=compiler, strict=True)
    for x in (SWAPPED, SWAPPED.astype(float), SWAPPED):
        for _ in range(3):
            assert orders(compiled(x)) == orders(PROGRAMS[name](x))


@pytest.mark.parametrize("compiler", ["evaluator", "native"])
def test_a_copy_is_written_and_returned(compiler: str) -> None:
    def program(x, n):
        y = x.copy()
        for i in range(n):
            y[i % 2] += x[0] * i
        return y, y[0]

    for _ in range(3):
        whole, part = lamina.defn(program, compiler=compiler)(SWAPPED, 20)
        assert orders((whole, part)) == orders(program(SWAPPED, 20)) and np.shares_memory(whole, part)
