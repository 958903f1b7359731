"""Parts of one memory that are proved to have nothing in common: against all their positions."""

import itertools
import random

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.layout import Layout
from lamina.program.apart import are_apart
from lamina.program.record import Kernel, Terms, instructions_of


def _positions(layout: Layout, move: int) -> set[int]:
    places = itertools.product(*map(range, layout.shape))
    return {move + layout.offset + sum(map(int.__mul__, place, layout.strides)) for place in places}


def _drawn(draw: random.Random) -> Layout:
    rank = draw.randrange(4)
    strides = [draw.choice([0, 1, -1, 2, 3, 5, -5, 6, 30]) for _ in range(rank)]
    return Layout([draw.randrange(1, 6) for _ in range(rank)], strides, 200 + draw.randrange(-8, 8))


def test_layouts_are_apart_where_they_have_no_position_in_common() -> None:
    draw, terms = random.Random(0), Terms()
    i = terms.load(0, lamina.int64, Layout.contiguous(()))
    outcomes = set()
    for _ in range(2000):
        first, second, number = _drawn(draw), _drawn(draw), draw.randrange(-3, 4)
        moved = terms.make("add", (i, terms.constant(number, lamina.int64)), lamina.int64)
        found = are_apart(first, [(i, 7)], second, [(moved, 7)])
        assert found is _positions(first, 0).isdisjoint(_positions(second, 7 * number))
        outcomes.add(found)
    assert outcomes == {True, False}


def test_what_moves_otherwise_is_not_proved() -> None:
    terms = Terms()
    i, j = (terms.load(k, lamina.int64, Layout.contiguous(())) for k in range(2))
    line = Layout((3,), (1,))
    assert not are_apart(line, [(i, 10)], line, [(j, 10)])
    assert not are_apart(line, [(i, 10)], line, [(i, 11)])
    product = terms.make("multiply", (i, terms.constant(2, lamina.int64)), lamina.int64)
    assert not are_apart(line, [(i, 10)], line, [(product, 5)])
    assert are_apart(line, [(i, 10)], Layout((3,), (1,), offset=3), [(product, 5)])


def _updates(function, *args) -> list[tuple[int, ...]]:
    block = planned(lamina.trace(function, *args)).program.block
    (loop,) = (each for each in block.instructions if type(each).__name__ == "While")
    return [each.space for each in instructions_of(loop.body) if isinstance(each, Kernel) and each.space]


def _eliminated(a):
    n = len(a)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def _interleaved(a):
    for k in range(1, len(a)):
        a[k, ::2] += a[k, 1::2] * a[k - 1, ::2]
    return a


@pytest.mark.parametrize(("function", "spaces"), [(_eliminated, [(19,), (19, 19)]), (_interleaved, [(10,)])])
def test_what_reads_beside_what_it_writes_is_in_place(function, spaces, rng) -> None:
    a = rng.random((20, 20)) + 20 * np.eye(20)
    assert _updates(function, lamina.Spec(lamina.float64, (20, 20))) == spaces
    expected = function(a.copy())
    np.testing.assert_array_equal(lamina.defn(function, compiler="native", strict=True)(a), expected)


def test_what_reads_what_it_writes_is_not() -> None:
    def smeared(a):
        for k in range(1, len(a)):
            a[k, 1:] += a[k, :-1]
        return a

    assert len(_updates(smeared, lamina.Spec(lamina.float64, (20, 20)))) == 2
    a = np.arange(400.0).reshape(20, 20)
    np.testing.assert_array_equal(lamina.defn(smeared, compiler="native")(a.copy()), smeared(a.copy()))
