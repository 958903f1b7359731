"""The native compiler's program of a graph is the one that it runs, so that who asks for it is told the truth."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.program.memory import Planned


def test_the_planned_program_is_the_one_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Planned] = []

    def kept(planned: Planned) -> Any:
        compiled.append(planned)
        return None

    def program(x):  # with a call, a power, and something that is computed twice
        return lamina.blocks.softmax(x, axis=0) + (x**2).sum() * (x**2).sum()

    graph = lamina.trace(program, np.ones((3, 4)))
    native = import_module("lamina.compilers.native")  # the package: the function of that name hides it
    monkeypatch.setattr(native, "executable", kept)
    native.compile_graph(graph)
    assert [str(planned.program) for planned in compiled] == [str(native.planned(graph).program)]
