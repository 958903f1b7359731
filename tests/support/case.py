"""What an entry of the tests' tables of ops is."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lamina.testing.elements import DTYPES, kind_of

FLOATS, ORDERED, NUMBERS, ALL = "fc", "biuf", "iufc", "biufc"

Generator = np.random.Generator
Expected = Any  # an array, a tuple of them, or a function of the results that says what is wrong with them
Cases = Iterator[tuple[str, tuple[Any, ...], Expected]]


class Case(NamedTuple):
    """How an op is tested: kinds of dtype it takes, its cases for one, and how exact its results must be."""

    kinds: str
    cases: Callable[[Generator, np.dtype], Cases]
    ulps: int = 0
    signed_zeros: bool = True
    dtypes: tuple[np.dtype, ...] = ()

    def takes(self, dtype: np.dtype) -> bool:
        """Whether the op takes operands of a dtype."""
        return dtype in self.dtypes if self.dtypes else kind_of(dtype) in self.kinds


def all_dtypes(case: Case) -> list[np.dtype]:
    """The dtypes that the op takes."""
    return [dtype for dtype in DTYPES if case.takes(dtype)]
