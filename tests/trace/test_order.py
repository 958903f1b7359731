"""The order of new memory: NumPy's, so that what is a view there is one here, and what is written through it is seen.

Each line of `LINES` makes an array of arguments in C order, in Fortran's and in neither; then it is written through a
reshape, which is a view of some orders and a copy of others. Undecorated and decorated leave the same, strides too.
"""

import linecache

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees, differences, outcome

LINES = """
    np.take(x, [1, 0], axis=0)
    np.take(x, [1, 0], axis=1)
    np.take(t, [[1, 0], [0, 1]], axis=1)
    x[:, [1, 0]]
    x[[1, 0], [0, 1]]
    t[[1, 0]]
    t[:, [1, 0]]
    t[:, :, [1, 0]]
    t[:, None, [1, 0]]
    t[0, :, [1, 0]]
    t[:, [1, 0], [1, 0]]
    t[::-1, [1, 0]]
    np.repeat(x, [1, 2, 0, 1], axis=1)
    np.round(x, 1)
    np.round(t, 1)
    np.round(i, 0)
    np.round(c, 1)
    np.nan_to_num(x)
    np.nan_to_num(i)
    np.pad(x, 1)
    np.pad(x, 1, mode="edge")
    np.insert(x, 1, 0.5, axis=0)
    np.delete(x, 1, axis=1)
    np.roll(t, (1, 2), axis=(0, 2))
    np.fft.fftshift(t)
    np.fft.fft(t, axis=1)
    np.fft.rfft2(x)
    np.gradient(x, axis=0)
    np.gradient(i, axis=1)
    np.select([x > 1], [x], 0.5)
    np.where(x > 1, i, 2.5)
    np.concatenate((x, i), axis=1)
    np.cumsum(i, axis=0, dtype=np.float32)
    np.maximum.accumulate(t, axis=1)
    np.partition(x, 1, axis=0)
    np.tril(t)
    np.sinc(x)
    np.heaviside(x, 0.5)
    np.modf(x)[1]
    np.angle(c)
    np.isreal(c)
    i.astype(np.float32)
    i.astype(np.float32, order="C")
    i.astype(np.float32, order="F")
    t.astype(np.float32, order="A")
    x.astype(np.float64, order="F", copy=False)
    t.astype(np.float64, order="A", copy=False)
    x.copy()
    x.copy("F")
    t.copy("A")
    t.copy("K")
    np.copy(x, order="F")
    np.copy(t, order="C")
    np.copy(t)
    np.array(x, order="F")
    np.array(t, order="A")
    np.array(t, order="K")
    np.asarray(x, order="F")
    np.asarray(t, order="C")
    np.asfortranarray(t)
    np.ascontiguousarray(t)
    np.zeros((2, 3), order="F")
    np.full((2, 3), 0.5, order="F")
    np.eye(3, order="F")
    np.zeros_like(x)
    np.zeros_like(t, order="C")
    np.ones_like(x, order="F")
    np.empty_like(t, order="A") * 0
    np.full_like(t, x[0, 0], shape=(2, 2, 2))
    np.full_like(x, [1.0, 2.0, 3.0, 4.0])
    np.add(x, 1, order="F")
    np.multiply(t, t, order="C")
    np.sqrt(abs(t), order="A")
    np.einsum("ij,ij->ij", x, x, order="C", optimize=True)
"""


def in_neither(array: np.ndarray) -> np.ndarray:
    """The array, with its axes in memory in an order that is neither C's nor Fortran's; a matrix with gaps."""
    if array.ndim == 3:
        return np.ascontiguousarray(array.transpose(1, 2, 0)).transpose(2, 0, 1)
    return np.repeat(array, 2, axis=1)[:, ::2]


LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "neither": in_neither}


def program(*lines: str):
    """The function of these lines and of arrays x, t, i and c."""
    source = "\n    ".join(("def program(x, t, i, c):", *lines)) + "\n"
    filename = f"<{'; '.join(lines)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"np": np}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["program"]


def arguments(layout: str):
    x = np.array([[1.5, -2.25, 0.5, 4.0], [0.25, 7.5, -3.5, 2.0], [9.0, 1.5, -8.75, 0.5]])
    t, i, c = np.arange(24.0).reshape(2, 3, 4), np.arange(12).reshape(3, 4), x * (1 - 2j)
    return lambda: tuple(LAYOUTS[layout](array.copy()) for array in (x, t, i, c))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("line", [line.strip() for line in LINES.splitlines() if line.strip()])
def test_what_is_made_is_laid_out_as_numpys(line: str, layout: str) -> None:
    made = program(f"made = {line}", "seen = made.reshape(-1)", "seen[1:2] = 9", "return made")
    assert_agrees(made, arguments(layout))


VIEWS = """
    np.diagonal(x)
    np.diagonal(t, 1, 1, 2)
    t[1:].diagonal(-1, 2, 0)
    np.diag(x, -1)
    np.diag(x[::-1, 1:])
    np.linalg.diagonal(t, offset=1)
    np.einsum("ii->i", x[:, :3])
    np.einsum("ij->ji", x)
    np.imag(x)
    np.full((3, 4), x)
    np.full_like(t, x)
    np.full((2, 4), x[0])
"""


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("line", [line.strip() for line in VIEWS.splitlines() if line.strip()])
def test_what_is_a_view_of_numpys_sees_what_is_written(line: str, layout: str) -> None:
    assert_agrees(program(f"made = {line}", "x[0] = 7", "t[1] *= -1", "return made"), arguments(layout))
    assert_agrees(program(f"made = {line}", "made[...] = 5", "return made"), arguments(layout))


HELD = np.zeros((2, 3))
PLACES, MASK = np.array([2, 9, 0, 9])[::2], np.asfortranarray([[True, False, True], [False, True, True]])


def written_through(x):
    HELD.reshape(-1)[1] = x  # a view of C order alone
    HELD.T.reshape(-1)[2] += x
    HELD[1] *= 2
    return HELD.sum(axis=0), HELD + x


def made_like_it(x):
    y = HELD * x
    y.reshape(-1)[0] = 7
    return y


def picked_by_known_arrays(x):
    return HELD[:, PLACES] + x, HELD[MASK] * x, np.where(MASK, HELD, x)


@pytest.mark.parametrize("layout", ["C", "F", "gaps", "backwards", "turned and cut"])
@pytest.mark.parametrize("program", [written_through, made_like_it, picked_by_known_arrays])
def test_a_captured_array_is_seen_as_it_lies_in_memory(program, layout, monkeypatch) -> None:
    makers = {
        "C": lambda: np.arange(6.0).reshape(2, 3),
        "F": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "gaps": lambda: np.arange(24.0).reshape(4, 6)[::2, ::2],
        "backwards": lambda: np.arange(6.0).reshape(2, 3)[::-1, ::-1],
        "turned and cut": lambda: np.arange(20.0).reshape(5, 4).T[1:3, :3],
    }
    held = makers[layout]()
    monkeypatch.setattr(f"{__name__}.HELD", held)
    base = held if held.base is None else held.base
    before = base.copy()

    def run(function):
        base[...] = before
        results = [outcome(function, (x,)) for x in (2.0, 3.0)]  # what is held changes from call to call
        return results, base.copy()

    ours, our_base = run(program)
    theirs, their_base = run(lamina.defn(program, strict=True))
    np.testing.assert_array_equal(their_base, our_base)
    for (one, *_), (other, *_) in zip(ours, theirs, strict=True):
        assert differences(lambda: one, lambda: other, tuple) == []  # noqa: B023


def test_a_reshape_that_must_not_copy_says_so() -> None:
    for array in (np.asfortranarray(np.ones((2, 3))), np.ones((2, 6))[:, :2]):
        for program in (lambda x: np.reshape(x, -1, copy=False), lambda x: np.reshape(array, -1, copy=False) + x):  # noqa: B023
            with pytest.raises(ValueError, match="Unable to avoid creating a copy while reshaping"):
                lamina.defn(program, strict=True)(array)
