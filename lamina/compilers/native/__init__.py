"""The compiler ``"native"``: a graph as fused loops of machine code, through LLVM.

The graph is lowered to a program of kernels over buffers (`lamina.program`), which is written as one LLVM module, in
the language that `ir` knows: `types` says what a dtype is there, `scalar`, `pairs` and `narrow` what an op is,
`support` which there are; `loops` writes a kernel over `axes` and `lanes`, out of `memory`, `accumulators` and
`vectors`, `library` a call of a function of NumPy's, `driver` what runs between them, and `parallel` a kernel by
several threads. `fingerprint` tells programs apart, `jit` compiles, `cache` keeps code on disk, `execute` runs it, and
`entry` is what Python calls. An op without native code is computed by the evaluator.
"""

import functools
from collections.abc import Callable

import numpy as np

from lamina import evaluator
from lamina.compilers.native import failure
from lamina.compilers.native.execute import executable
from lamina.compilers.native.library import has_code
from lamina.compilers.native.support import is_native
from lamina.errors import warn
from lamina.expr import Graph
from lamina.passes import PASSES, run_passes
from lamina.program import Program, fuse, lower, packed, shortened, split, tallied
from lamina.program.memory import Planned, plan
from lamina.program.record import TooLarge

STEPS: dict[str, Callable[[Program], Program]] = {
    "lengths": functools.partial(shortened, has_code=has_code),
    "fusion": fuse,
    "parts": split,
    "tables": tallied,
    "order": packed,
}
"""What is worth changing in a program, in this order: each step keeps what the program computes."""


def compile_graph(graph: Graph) -> Callable[..., list[np.ndarray]]:
    """A function of the graph's params' arrays.

    The evaluator runs a graph that is too large to compile, and, with a warning, one for which making code fails,
    which is a bug.
    """
    program = None
    try:
        program = planned(graph)
        return executable(program)
    except TooLarge:
        return evaluator.compile_graph(graph)
    except failure.CompileFailure as failed:
        part, code, error = failed.part, failed.code, failed.__cause__ or failed
    except Exception as other:  # noqa: BLE001  whatever it is, the program runs
        part, code, error = f"its {'program' if program else 'graph'}", "", other
    texts = {"graph": graph, "program": program and program.program, "LLVM": code}
    warn(
        f"{graph.name} runs in the evaluator, not as native code, for a bug of lamina's: {part} couldn't be compiled "
        f"({type(error).__name__}: {str(error).partition(chr(10))[0]}). What a report of it needs is in "
        f"{failure.kept_for_a_report(error, texts)}"
    )
    return evaluator.compile_graph(graph)


def planned(graph: Graph, left_out: str = "") -> Planned:
    """The program that a graph becomes, and which of its buffers share memory.

    One of `PASSES` or `STEPS` may be left out, by its name. Raises `TooLarge` for too many buffers.
    """
    program = lower(run_passes(graph, [name for name in PASSES if name != left_out]), is_native)
    for name, step in STEPS.items():
        if name != left_out:
            program = step(program)
    return plan(program)
