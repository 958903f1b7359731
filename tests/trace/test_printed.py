"""``print`` in a traced function shows what the undecorated function shows, in the same order."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import TraceError
from tests.support.undecorated import assert_agrees


def test_f_strings_of_traced_values() -> None:
    def program(x: Any, n: int, width: int) -> Any:
        print(f"{n} steps on {x.shape}, {x.dtype}", f"{{}} {n + 1}", sep="; ")
        for i in range(n):
            x *= 0.9
            if i % 5 == 0:
                print(f"step {i:3d}: {x.mean():.4f} {x[0]!r:>{4}} {x.sum()!s}", end="|\n")
            elif i % 7 == 0:
                print("at", i, f"{i}", x, f"{x}")
        print(f"{width}", f"{x.max():{8}.2e}")
        return x

    assert_agrees(program, lambda: (np.arange(4.0), 20, 8), lambda: (np.arange(3.0), 0, 8))


def test_only_a_printed_text_waits() -> None:
    def kept(x: Any) -> str:
        return f"{x.sum()}"

    def given_to_another(x: Any) -> Any:
        print = len
        return print(f"{x.sum()}")

    def as_width(x: Any, n: Any) -> None:
        print(f"{x.sum():{n.sum()}d}")

    for program, arguments in ((kept, 1), (given_to_another, 1), (as_width, 2)):
        with pytest.raises(TraceError, match="the text of a traced value is asked for"):
            lamina.defn(program, strict=True)(*[np.ones(2)] * arguments)
