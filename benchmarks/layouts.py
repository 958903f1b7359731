"""What making and moving a layout costs, beside the NumPy view that moves the same way."""

from collections.abc import Callable

import numpy as np

from lamina.layout import Layout, coalesce
from lamina.layout.move import Broadcast, Permute, Range, Reshape, Slice, Window, WindowSpec

from .harness import Benchmark, Case, timed

SHAPE = (8, 1, 32, 16)
STRIDES = (512, 512, 16, 1)


def compare(name: str, ours: Callable[[], object], numpy: Callable[[], object] | None = None) -> Benchmark:
    """Building the movement counts, as NumPy's reading of its arguments does."""

    def prepare() -> Case:
        contestants = {"lamina": timed(ours)}
        if numpy is not None:
            contestants["NumPy"] = timed(numpy)
        return Case(contestants)

    return Benchmark(f"layout: {name}", prepare)


def benchmarks() -> list[Benchmark]:
    layout = Layout.contiguous(SHAPE)
    array = np.zeros(SHAPE, np.uint8)
    buffer = array.reshape(-1)
    window = np.lib.stride_tricks.sliding_window_view
    permuted = layout.move(Permute((3, 1, 0, 2)))
    flipped = layout.move(Slice((Range(7, 8, -1), Range(0, 1, 1), Range(0, 32, 1), Range(0, 16, 1))))
    assert permuted is not None and flipped is not None
    ranges = (Range(0, 4, 2), Range(0, 1, 1), Range(31, 32, -1), Range(4, 8, 1))
    return [
        compare("contiguous", lambda: Layout.contiguous(SHAPE), lambda: np.ndarray(SHAPE, np.uint8, buffer)),
        compare("strided", lambda: Layout(SHAPE, STRIDES), lambda: np.ndarray(SHAPE, np.uint8, buffer, 0, STRIDES)),
        compare("reshape", lambda: layout.move(Reshape((64, 64))), lambda: array.reshape((64, 64))),
        compare("reshape that needs a copy", lambda: permuted.move(Reshape((64, 64)))),
        compare(
            "broadcast", lambda: layout.move(Broadcast((8, 9, 32, 16))), lambda: np.broadcast_to(array, (8, 9, 32, 16))
        ),
        compare("permute", lambda: layout.move(Permute((3, 1, 0, 2))), lambda: array.transpose((3, 1, 0, 2))),
        compare("slice", lambda: layout.move(Slice(ranges)), lambda: array[0:7:2, :, ::-1, 4:12]),
        compare("window", lambda: layout.move(Window((WindowSpec(2, 3, 1, 1),))), lambda: window(array, 3, 2)),
        compare("coalesce", lambda: coalesce((layout, flipped))),
    ]


BENCHMARKS = benchmarks()
