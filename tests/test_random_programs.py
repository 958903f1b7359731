"""Random programs: what is decorated does what isn't, whatever a program combines.

A program that can't be traced falls back, which is right and slow; how many do is printed, and bounded.
"""

import contextlib

import pytest

from tests.support.random_programs import program
from tests.support.undecorated import falls_back

PARTS = 10  # which workers may share
MOST_FALLBACKS = 0.02  # of the programs of a part
SEEDS = 1_000
LONG_SEEDS = 20_000


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int, long_mode: bool, record_property) -> None:
    seeds = range(part, LONG_SEEDS if long_mode else SEEDS, PARTS)
    fallbacks = sum(falls_back(program(seed), compiler="evaluator") for seed in seeds)
    record_property("fallbacks", fallbacks)
    print(f"{fallbacks} of {len(seeds)} programs run undecorated")
    assert fallbacks < MOST_FALLBACKS * len(seeds)


def test_one_seed_is_one_program() -> None:
    first, second = program(7), program(7)
    assert first.source == second.source
    for a, b in zip(first.arguments(), second.arguments(), strict=True):
        with contextlib.suppress(AttributeError):
            assert a.tobytes() == b.tobytes()
