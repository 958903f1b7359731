"""The compiler ``"native"``: a graph as fused loops of machine code, through LLVM.

The graph is lowered to a program of kernels over buffers (`lamina.program`), which is written as one LLVM module:
`types` says what a dtype is there, `scalar` and `pairs` what an op is, `support` which there are; `loops` writes a
kernel and `driver` what runs between them, `parallel` a kernel by several threads; `jit` compiles, `cache` keeps code
on disk, and `execute` calls. An op without native code is computed by the evaluator.
"""

from collections.abc import Callable

import numpy as np

from lamina.compilers.native.execute import executable
from lamina.compilers.native.support import is_native
from lamina.expr import Graph
from lamina.passes import run_passes
from lamina.program import fuse, lower
from lamina.program.memory import Planned, plan


def compile_graph(graph: Graph) -> Callable[..., list[np.ndarray]]:
    """A function of the graph's params' arrays."""
    return executable(planned(graph))


def planned(graph: Graph) -> Planned:
    """The program that a graph becomes, and which of its buffers share memory."""
    return plan(fuse(lower(run_passes(graph), is_native)))
