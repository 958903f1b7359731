"""Random numbers are drawn when the program runs: NumPy's own, in order, each once, anew at each call."""

import copy
import random

import numpy as np
import pytest

import lamina
from lamina.errors import LaminaWarning
from tests.support.undecorated import _differ as differing


def state_of(rng):
    if isinstance(rng, random.Random):
        return rng.getstate()
    return rng.get_state(legacy=False) if hasattr(rng, "get_state") else rng.bit_generator.state


def assert_draws_alike(program, *args, make=lambda: np.random.default_rng(7), compiler="evaluator") -> None:
    """Three calls draw what three of the undecorated function draw, and leave generator and arguments as they do."""
    ours, theirs = make(), make()
    decorated = lamina.defn(lambda *given: program(theirs, *given), strict=True, compiler=compiler)
    for _ in range(3):
        expected_args, given = copy.deepcopy(args), copy.deepcopy(args)
        try:
            expected = program(ours, *expected_args)
        except Exception as error:  # noqa: BLE001  whatever it is, both raise it
            with pytest.raises(type(error), match=str(error)[:9]):
                decorated(*given)
            continue
        found = differing("result", expected, decorated(*given)) + differing("arguments", expected_args, given)
        assert not found, found
        assert repr(state_of(ours)) == repr(state_of(theirs))


def x():
    return np.arange(6.0)


def several(rng, x):
    drawn = rng.normal(size=3), rng.random((3, 4), np.float32), rng.integers(0, 10, 5, dtype=np.uint8), rng.choice(x)
    return drawn, rng.permutation(x), x + rng.random(), rng.integers(10), rng.choice(5, 3, replace=False)


def of_traced_arguments(rng, x, n):
    weights = x + 1
    drawn = rng.normal(x, n), rng.integers(0, n, 4), rng.binomial(n, 0.5), rng.integers(n + 1), rng.uniform(x[0], n)
    return drawn, rng.choice(len(x), 3, p=weights / weights.sum()), rng.triangular(x[0], x[1], x[2]), rng.poisson(x)


def of_a_traced_size(rng, x, n):
    return rng.random(n), rng.normal(0, 1, size=(n, 2)), rng.permutation(n), rng.choice(n + 2, n, replace=False)


def in_place(rng, x):
    rng.shuffle(x)
    y = x * 2
    rng.shuffle(y[1:])
    rng.shuffle(x.reshape(2, 3).T, axis=1)
    return y, rng.permuted(y, out=y) is y, rng.random(out=x[:2]), rng.standard_normal(out=y[::-1][:3].copy())


def in_loops(rng, x, n):
    total = 0.0
    for i in range(n):
        total += rng.normal()
        x[i % 6] += rng.random() * i
        if total > 0:
            total -= rng.random()
    while rng.random() < 0.8:
        total += 1
    return total, [rng.integers(4) for _ in range(3)]


def in_a_test(rng, x, n):
    count = 0
    while (last := rng.random()) < 0.9 and count < 30:
        count += 1
        x[count % 6] += last
    return count, last


def in_branches(rng, x, n):
    first = rng.random() if x[0] > 0 else 1.0
    if x[1] > 2 and rng.random() > 0.5:
        x[2] = rng.normal()
    elif rng.integers(2):
        x = x[: n + 1]
    return first, x.sum()


def estimate(rng, x, n):
    inside = 0
    for _ in range(20 * n):
        a, b = rng.random(), rng.random()
        if a * a + b * b < 1:
            inside += 1
    return 4 * inside / (20 * n)


PROGRAMS = [several, of_traced_arguments, of_a_traced_size, in_place, in_loops, in_a_test, in_branches, estimate]
ONE = {several, in_place}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("compiler", ["evaluator", "native"])
def test_what_is_drawn(program, compiler: str) -> None:
    for more in [()] if program in ONE else [(4,), (15,)]:
        assert_draws_alike(program, x() + 1, *more, compiler=compiler)
        assert_draws_alike(program, x(), *more, compiler=compiler)


def legacy(rng, x):
    rng.shuffle(x)
    return rng.randn(), rng.rand(2, 3), rng.randint(5), rng.normal(size=2), rng.choice(x), rng.randint(0, 9, 3)


def pythons(rng, x):
    return rng.random(), rng.randint(1, 6), rng.gauss(0.0, 1.0), x * rng.uniform(1, 2), rng.choice([0.5, 1.5, 2.5])


@pytest.mark.parametrize(("program", "make"), [(legacy, np.random.RandomState), (pythons, random.Random)])
def test_other_generators(program, make) -> None:
    assert_draws_alike(program, x(), make=lambda: make(5))


def test_the_generators_of_modules() -> None:
    def program(x):
        if x[0] > 5:
            np.random.seed(9)
        return np.random.rand(2), np.random.randint(5), np.random.sample(2), random.random(), np.random.permutation(x)

    def drawn(called):
        np.random.seed(3)
        random.seed(2)
        return [called(start + np.arange(3)) for start in (0, 9, 9, 0)], np.random.rand(), random.random()

    assert not differing("result", drawn(program), drawn(lamina.defn(program, strict=True)))


def of_a_seed(x, n):
    rng, other, old = np.random.default_rng(n), np.random.default_rng(3), np.random.RandomState(5)
    start = rng.normal(size=3)
    for i in range(20):
        x[i % 6] += other.normal() + old.randn()
    if x[0] > 0:
        start = start + other.random()
    while rng.random() < 0.9:
        n += 1
    return start, other.integers(0, 5, 4), old.rand(2), rng.random(), n, np.random.default_rng(rng).random()


def of_bit_generators(x, n):
    kinds = np.random.PCG64, np.random.MT19937, np.random.SFC64, np.random.Philox, np.random.PCG64DXSM
    return [np.random.Generator(kind(4)).normal(size=n) for kind in kinds]


def of_seeds_in_a_loop(x, n):
    for i in range(12):
        rng = np.random.default_rng(i)
        x[i % 6] += rng.normal(n)
    return x


@pytest.mark.parametrize("program", [of_a_seed, of_bit_generators, of_seeds_in_a_loop])
@pytest.mark.parametrize("compiler", ["evaluator", "native"])
def test_a_generator_that_the_program_makes_is_new_at_each_call(program, compiler: str) -> None:
    decorated = lamina.defn(program, strict=True, compiler=compiler)
    for n in (3, 3, 4):
        ours, theirs = x(), x()
        assert not differing("result", program(ours, n), decorated(theirs, n))
        np.testing.assert_array_equal(ours, theirs)


def test_one_of_no_seed_is_another_at_each_call() -> None:
    decorated = lamina.defn(lambda n: n + np.random.default_rng().random(3), strict=True)
    assert not np.array_equal(decorated(1), decorated(1))


class Walk:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)

    def step(self, x):
        return x + self.rng.normal(size=x.shape)


def test_generators_of_objects_and_among_arguments() -> None:
    ours, theirs = Walk(), Walk()
    decorated = lamina.defn(theirs.step, strict=True)
    for _ in range(2):
        np.testing.assert_array_equal(decorated(x()), ours.step(x()))
    theirs.rng = np.random.default_rng(1)
    np.testing.assert_array_equal(decorated(x()), Walk().step(x()))

    def given(x, rng):
        return x + rng.normal(size=len(x)), np.random.default_rng(rng).random()

    a, b, decorated = np.random.default_rng(1), np.random.default_rng(1), lamina.defn(given, strict=True)
    for _ in range(3):
        assert not differing("result", given(x(), a), decorated(x(), b))
    assert a.bit_generator.state == b.bit_generator.state


@pytest.mark.parametrize(
    "program",
    [
        lambda rng, x: rng.integers(5, 2),
        lambda rng, x: rng.normal(scale=-1) if x[0] > -1 else 0.0,
        lambda rng, x: rng.normal(x, -x - 1),
        lambda rng, x: rng.no_such_distribution(),
    ],
)
def test_errors_are_numpys(program) -> None:
    assert_draws_alike(program, x())


def test_nothing_is_drawn_twice() -> None:
    """A trace that starts again, and one that is given up, have drawn nothing."""

    def pinned(rng, x, n):
        first = rng.random()
        return first + np.zeros(n), rng.random()

    def given_up(rng, x):
        first = rng.random()
        return [1, 2][int(x[0])] + first

    assert_draws_alike(pinned, x(), 3)
    ours, theirs = np.random.default_rng(7), np.random.default_rng(7)
    decorated = lamina.defn(lambda x: given_up(theirs, x))
    with pytest.warns(LaminaWarning, match="needs the elements"):
        assert [decorated(x()) for _ in range(3)] == [given_up(ours, x()) for _ in range(3)]


@pytest.mark.parametrize("make", [lambda: np.random.default_rng(7), lambda: np.random.RandomState(7), random.Random])
def test_what_was_written_before_an_error_stays_written(make) -> None:
    def program(rng, x):
        for i in range(10):
            x[i] += rng.normal() if hasattr(rng, "normal") else rng.gauss(0.0, 1.0)

    start = make()
    assert_draws_alike(program, x(), make=lambda: copy.deepcopy(start))


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (lambda x: np.random.default_rng(3), "is returned"),
        (lambda x: random.Random(3).random(), "a Random is made at each call"),
        (lambda x: random.sample([1, 2, 3], 2)[0], "gives a list"),
        (lambda x: np.random.default_rng(3).bit_generator.state["state"]["inc"], "the attribute bit_generator"),
        (lambda x: len(np.random.default_rng(3).spawn(2)), "gives a list"),
        (lambda x: np.random.default_rng(3).shuffle([1, 2]), "shuffle changes a list"),
    ],
)
def test_what_is_no_draw_of_numbers_runs_as_it_is(program, says: str) -> None:
    with pytest.warns(LaminaWarning, match=says):
        found = lamina.defn(program)(x())
    assert type(found) is type(program(x()))
