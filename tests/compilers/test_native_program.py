"""The native compiler's program of a graph is the one that it runs, so that who asks for it is told the truth."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import ir
from lamina.compilers.native.loops import emit_kernel
from lamina.compilers.native.types import POINTER, STATUS
from lamina.program.memory import Planned
from lamina.program.record import Kernel


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


def test_what_is_computed_of_places_does_not_narrow_vectors() -> None:
    def masked(x):
        return np.where(np.tril(np.ones((64, 64), bool)), x, np.float32(0))

    native = import_module("lamina.compilers.native")
    (kernel,) = native.planned(lamina.trace(masked, np.ones((64, 64), np.float32))).program.block.instructions
    assert isinstance(kernel, Kernel)
    buffers = sorted(kernel.loads | set(kernel.writes))
    function = ir.Function(ir.Module(), ir.FunctionType(STATUS, [POINTER] * len(buffers)), "f")
    pointers = dict(zip(buffers, function.args, strict=True))
    emit_kernel(ir.IRBuilder(function.append_basic_block()), kernel, pointers, lambda *_: None, 64)
    assert "<16 x float>" in str(function)
    assert "<8 x float>" not in str(function)
