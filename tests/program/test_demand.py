"""What several branches share is lowered once, and computed only where it is needed: it may fail, or be seen."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers import compile_by
from lamina.compilers.native.support import is_native
from lamina.expr import Expr, Graph, Scoped, build
from lamina.layout.move import Broadcast, Range, Reshape, Slice
from lamina.program import lower
from lamina.program.record import Library, instructions_of

F, INT, BOOL = lamina.float64, lamina.int64, lamina.bool
LENGTH = 20  # more than is computed without being asked for
BITS = 4


def constant(number: Any, dtype: Any) -> Expr:
    return Expr("constant", (number,), dtype, ())


def spread(number: float) -> Expr:
    return build("move", constant(number, F), Broadcast((LENGTH,)))


class Drawn:
    """A graph whose nodes are shared by branches, at random; its params are bits, an array and two sets of indices."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.shown: list[tuple[int, bool]] = []
        self.params = [Expr("parameter", (i,), BOOL, ()) for i in range(BITS)]
        x, good, bad = (Expr("parameter", (BITS + i,), dtype, (LENGTH,)) for i, dtype in enumerate((F, INT, INT)))
        self.places = good, bad
        self.arrays, self.bits = [x], [*self.params]
        self.effects: list[Expr] = []
        self.params += [x, good, bad]
        for _ in range(self.draw.randint(8, 20)):
            self.step()
        outputs = self.draw.sample(self.arrays, min(len(self.arrays), self.draw.randint(1, 2)))
        self.graph = Graph(tuple(self.params), tuple(outputs), tuple(self.effects), f"graph_{seed}")

    def array(self) -> Expr:
        return self.draw.choice(self.arrays[-6:])

    def bit(self) -> Expr:
        return self.draw.choice(self.bits[-6:])

    def step(self) -> None:
        good, bad = self.places
        kinds = ["add", "divide", "gather", "while", "bit", "bits", *["cond"] * 4, *["guarded"] * 2, "several", "hook"]
        kind = self.draw.choice(kinds)
        if kind in ("add", "divide"):
            self.arrays.append(build(kind, self.array(), self.array()))
        elif kind == "gather":
            self.arrays.append(build("gather", self.array(), (good,)))
        elif kind == "guarded":  # what fails, in branches of its own alone
            node = build("add", build("gather", self.array(), (bad,)), self.array())
            self.arrays += [build("cond", ((self.bit(), node),), self.array()) for _ in range(2)]
        elif kind == "while":
            k, y = Expr("parameter", (0,), INT, ()), Expr("parameter", (1,), F, (LENGTH,))
            turn = (build("add", k, constant(1, INT)), build("add", y, y))
            loop = build("while", (constant(0, INT), self.array()), (k, y), build("less", k, constant(2, INT)), turn)
            self.arrays.append(build("elem", loop, 1))
        elif kind == "bit":
            place = self.draw.randrange(LENGTH)
            one = build("move", self.array(), Slice((Range(place, 1, 1),)))
            self.bits.append(build("less", build("move", one, Reshape(())), constant(2.0, F)))
        elif kind == "bits":
            self.bits.append(build("cond", ((self.bit(), self.bit()),), self.bit()))
        elif kind == "cond":
            clauses = tuple((self.bit(), self.array()) for _ in range(self.draw.randint(1, 2)))
            self.arrays.append(build("cond", clauses, self.array()))
        elif kind == "several":
            node = build("cond", ((self.bit(), (self.array(), self.bit())),), (self.array(), self.bit()))
            self.arrays.append(build("elem", node, 0))
            self.bits.append(build("elem", node, 1))
        else:
            seen = build("hook", self.bit(), "seen", self.saw(len(self.effects)))
            node = build("cond", ((self.bit(), Scoped([seen], self.array())),), self.array())
            self.effects.append(node)
            self.arrays.append(node)

    def saw(self, place: int) -> Any:
        return lambda bit: self.shown.append((place, bool(bit)))

    def run(self, compiler: str) -> list[Any]:
        """What it gives for all bits: elements or the error's class, and what was seen."""
        compiled = compile_by(compiler, self.graph, {})
        x, good = np.linspace(0, 3, LENGTH), np.arange(LENGTH)[::-1].copy()
        found: list[Any] = []
        for bits in itertools.product((False, True), repeat=BITS):
            self.shown.clear()
            try:
                with np.errstate(all="ignore"):
                    results = compiled(*map(np.asarray, bits), x, good, good + LENGTH)
                found.append(([result.tobytes() for result in results], tuple(self.shown)))
            except IndexError:  # nobody promises whether before or after a hook
                found.append((IndexError, ()))
        return found


@pytest.mark.parametrize("part", range(4))
def test_random_graphs_of_branches(part: int, long_mode: bool) -> None:
    for seed in range(part, 4_000 if long_mode else 60, 4):
        drawn = Drawn(seed)
        assert drawn.run("native") == drawn.run("evaluator"), f"seed {seed}:\n{drawn.graph}"


def test_they_share_and_fail() -> None:
    """The graphs above are what they are for."""
    found = [Drawn(seed).run("evaluator") for seed in range(40)]
    fails = [any(outcome is IndexError for outcome, _ in each) for each in found]
    works = [any(outcome is not IndexError for outcome, _ in each) for each in found]
    assert sum(f and w for f, w in zip(fails, works, strict=True)) > 10
    assert sum(any(shown for _, shown in each) for each in found) > 10


def test_branches_one_after_the_other_stay_as_many() -> None:
    def count(n: int) -> int:
        x, one = Expr("parameter", (n,), F, (LENGTH,)), spread(1.0)
        bits = [Expr("parameter", (i,), BOOL, ()) for i in range(n)]
        node = x
        for bit in bits:  # if bit: x = x + 1, else: x = x * x
            node = build("cond", ((bit, build("add", node, one)),), build("multiply", node, node))
        return sum(1 for _ in instructions_of(lower(Graph((*bits, x), node), is_native).block))

    assert count(40) == 4 * count(10)  # not 2**30 times as many


def test_what_one_of_several_branches_needs_is_computed_once() -> None:
    def program(x, c):
        y = np.linalg.inv(x)
        a = b = x
        if c[0] > 0:
            a = y + 1
        if c[1] > 0:
            b = y * 2
        return a, b

    lowered = lower(lamina.trace(program, np.eye(5), np.ones(2)), is_native)
    calls = [each for each in instructions_of(lowered.block) if isinstance(each, Library)]
    assert len(calls) == 1
    assert not any(isinstance(each, Library) for each in lowered.block.instructions)  # not where nobody needs it
