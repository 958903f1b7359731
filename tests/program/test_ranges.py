"""What is known of integers before a program runs: right for all that they may be, and enough to drop checks."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.expr import OPS
from lamina.program.ranges import range_of
from lamina.program.record import Check, Kernel, Term, Terms, instructions_of

INTS = lamina.int64
SCALAR = lamina.Layout.contiguous(())


def native(function: Any) -> Any:
    return lamina.defn(function, compiler="native", strict=True)


def _drawn(draw: random.Random, terms: Terms, depth: int) -> Term:
    if depth == 0 or draw.random() < 0.2:
        if draw.random() < 0.5:
            return terms.load(draw.randrange(2), INTS, SCALAR)
        return terms.constant(draw.choice([-3, -1, 0, 1, 2, 7, 2**62]), INTS)
    op = draw.choice(["add", "subtract", "multiply", "maximum", "minimum", "negative", "where", "clip", "counted"])
    if op == "counted":  # from an end where it is less than a number
        index = _drawn(draw, terms, depth - 1)
        test, by = (terms.constant(draw.choice([-1, 0, 2]), INTS), terms.constant(draw.choice([0, 3, 2**62]), INTS))
        branches = [index, terms.make("add", (index, by), INTS)]
        draw.shuffle(branches)
        return terms.make("where", (terms.make("less", (index, test), lamina.bool), *branches), INTS)
    count = {"negative": 1, "where": 2, "clip": 3}.get(op, 2)
    args = [_drawn(draw, terms, depth - 1) for _ in range(count)]
    if op == "where":
        compared = tuple(_drawn(draw, terms, depth - 1) for _ in range(2))
        order = draw.choice(["less", "less_equal", "greater", "greater_equal"])
        args = [terms.make(order, compared, lamina.bool), *args]
    return terms.make(op, tuple(args), INTS)


def _value(term: Term, loads: tuple[int, ...]) -> Any:
    if term.op == "load":
        return np.int64(loads[term.static[0]])
    if term.op == "constant":
        return np.int64(term.static[0])
    with np.errstate(over="ignore"):
        return OPS[term.op].meaning(*(_value(arg, loads) for arg in term.args))


@pytest.mark.parametrize("seed", range(150))
def test_ranges_hold_for_all_numbers(seed: int) -> None:
    term = _drawn(random.Random(seed), Terms(), 4)
    found = range_of(term, {0: (-2, 3), 1: (0, 4)})
    assert found is not None
    for loads in itertools.product(range(-2, 4), range(5)):
        assert found[0] <= int(_value(term, loads)) <= found[1]


def _checks(function: Any, *args: Any) -> int:
    block = planned(lamina.trace(function, *args)).program.block
    kernels = [each for each in instructions_of(block) if isinstance(each, Kernel)]
    return sum(term.op == "within" for kernel in kernels for term in kernel.terms) + sum(
        isinstance(each, Check) for each in instructions_of(block)
    )


def _stencil(x):
    for i in range(1, len(x) - 1):
        x[i] = x[i - 1] + x[i + 1]
    return x


def _table(x):
    best = np.zeros((30, 30))
    for i in range(1, 30):
        for j in range(i):
            best[i, j] = best[i - 1, j] + x[29 - j] + x[i]
    return best


def _longest(x):
    longest = current = 1
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            current += 1
            if current > longest:
                longest = current
        else:
            current = 1
    return longest


def _from_either_end(x):
    total = 0.0
    for i in range(len(x)):
        place = i * 7 % 60 - 30
        x[place] += 1.0
        total += x[place]
    return total


def _bisection(x):
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < 0.5:
            low = middle + 1
        else:
            high = middle
    return low


@pytest.mark.parametrize("function", [_stencil, _table, _longest, _from_either_end])
def test_what_is_proved_is_not_checked(function, rng) -> None:
    x = rng.random(30)
    assert _checks(function, lamina.Spec(lamina.float64, (30,))) == 0
    np.testing.assert_array_equal(native(function)(x.copy()), function(x.copy()))


def test_what_is_not_proved_is_checked(rng) -> None:
    x = np.sort(rng.random(30))
    assert _checks(_bisection, lamina.Spec(lamina.float64, (30,))) > 0
    assert native(_bisection)(x) == _bisection(x)

    def beyond(x, n):
        total = 0.0
        for i in range(n):
            total += x[i + 1]
        return total

    assert native(beyond)(np.ones(30), 29) == 29
    with pytest.raises(IndexError, match="index 30 is out of bounds"):
        native(beyond)(np.ones(30), 30)


def test_a_number_that_may_overflow_is_checked() -> None:
    def count(x):
        number = 2**63 - 20
        for i in range(len(x)):
            if x[i] > 0:
                number += 1
        return number

    assert native(count)(np.array([1.0] * 19 + [-1.0] * 5)) == 2**63 - 1
    with pytest.raises(OverflowError):
        native(count)(np.ones(24))
