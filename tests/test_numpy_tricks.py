"""NumPy's objects that are indexed to make arrays, in a traced function against NumPy itself."""

from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees

OUTSIDE = np.arange(3)


def test_grids_of_numbers_that_are_arguments() -> None:
    def program(n: int, width: float) -> Any:
        return np.mgrid[:n, 1:n], np.ogrid[-width : width : n * 1j, :n:0.5], np.mgrid[1 : -1 : n * 1j], np.s_[1:n]

    for n in (6, 3):
        assert_agrees(program, lambda n=n: (n, 2.5))  # type: ignore[misc]


def test_arrays_side_by_side() -> None:
    def program(x: Any, y: Any, n: int) -> Any:
        single = x.astype(np.float32)
        rows = np.r_[0, x, y, 5:n], np.r_[0.5, single, OUTSIDE], np.r_[np.c_[x, y], np.c_[y, x]], np.r_[OUTSIDE, 0:4]
        return rows, np.c_[x, y], np.c_[np.c_[x, y], x], np.c_[single, single]

    assert_agrees(program, lambda: (np.arange(4), np.ones(4), 8), lambda: (np.arange(2), np.ones(2), 5))


def test_directives_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"np\.r_ and np\.c_ with a directive.*np\.concatenate"):
        lamina.defn(lambda x: np.r_["0,2", x, x], strict=True)(np.ones(2))
