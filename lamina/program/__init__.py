"""What will run: a graph as kernels, copies, library calls, loops and branches over buffers."""

from lamina.program.fuse import fuse
from lamina.program.lengths import shortened
from lamina.program.lower import lower
from lamina.program.packed import packed
from lamina.program.record import Program
from lamina.program.split import split
from lamina.program.tallied import tallied

__all__ = ["Program", "fuse", "lower", "packed", "shortened", "split", "tallied"]
