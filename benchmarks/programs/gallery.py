"""The gallery of examples/, as it stands there, at sizes about its own."""

import math

from examples.gallery import GALLERY, Entry

from .program import Program

TOLERANCE = 1e-9


def program(entry: Entry) -> Program:
    return Program(
        f"gallery: {entry.name}",
        "gallery",
        entry.program.__wrapped__,
        entry.module.make_arguments,
        (math.isqrt(entry.size), entry.size, entry.size + entry.size // 2),
        max(entry.tolerance, TOLERANCE),
        parallel=False,
    )


PROGRAMS = tuple(program(entry) for entry in GALLERY)
