"""The compiler "mlx": a graph as a flat program of MLX calls, on the CPU or, on Apple machines, the GPU.

It is written from outside, on the public rooms alone, and is meant to be read in one sitting: `calls` says what each op
is in MLX, what MLX is not asked for and why, and which units MLX has in one piece; `lowering` makes the program.

A node that MLX is not asked for runs in the evaluator, which is the meaning of every op, and one warning for a graph
says which nodes these are, and why.

Options: ``device``, "cpu" or "gpu" (MLX's default device where none is given), and ``scope_dependencies``, a function
that may redirect ``metadata`` nodes: see `compile_graph`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from lamina import dtype as dt
from lamina.compilers import expect_options
from lamina.expr import Graph
from lamina.mlx.calls import DTYPES
from lamina.mlx.lowering import Lowering, lower, to_numpy


def compile_graph(graph: Graph, options: Mapping[str, Any]) -> Callable[..., list[np.ndarray]]:
    """The compiler. Options are ``device`` and ``scope_dependencies``.

    ``device`` is "cpu" or "gpu", by default MLX's own. On the GPU, which has no float64, nodes of that dtype run in the
    evaluator. ``scope_dependencies(node)`` is asked for each ``metadata`` node and returns None, or a list of one node,
    of its dtype and shape, that it stands for: so a note of one's own may hold another way to the same value. What the
    note is on is then not lowered, unless something else needs it. Raises TypeError for other options, ValueError for a
    device that isn't there.

    >>> import lamina
    >>> graph = lamina.trace(lambda x: x * 2 + 1, lamina.Spec(lamina.float32, (3,)))
    >>> compile_graph(graph, {"device": "cpu"})(np.ones(3, np.float32))
    [array([3., 3., 3.], dtype=float32)]
    """
    expect_options("mlx", options, ("device", "scope_dependencies"))
    name = options.get("device") or mx.default_device().type.name
    if name not in ("cpu", "gpu") or not mx.is_available(device := mx.Device(getattr(mx, name))):
        raise ValueError(f"the compiler 'mlx': device must be 'cpu', or 'gpu' where MLX has one, but it is {name!r}")
    dtypes = DTYPES if name == "cpu" else {each: to for each, to in DTYPES.items() if each is not dt.float64}
    lowering = Lowering(dtypes, options.get("scope_dependencies"))
    with mx.stream(device):
        program = lower(graph, lowering)

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        with mx.stream(device):
            return list(map(to_numpy, program.call(map(lowering.to_mlx, arrays))))

    return run
