"""The programs that are measured, by group. Each is written once, in plain NumPy, to be read."""

from . import elementwise, evolution, gallery, matrices, points, recurrences, reductions, stencils
from .program import SIZES, Program

PROGRAMS: tuple[Program, ...] = (
    *elementwise.PROGRAMS,
    *reductions.PROGRAMS,
    *stencils.PROGRAMS,
    *matrices.PROGRAMS,
    *points.PROGRAMS,
    *evolution.PROGRAMS,
    *recurrences.PROGRAMS,
    *gallery.PROGRAMS,
)


def named(name: str) -> Program:
    """The program of this name.

    >>> named("softmax").group
    'softmax, layer norm, attention'
    """
    return next(program for program in PROGRAMS if program.name == name)


__all__ = ["PROGRAMS", "SIZES", "Program", "named"]
