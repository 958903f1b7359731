"""Random programs with lengths that a run alone knows: as NumPy has them, whatever lies beyond a length."""

import pytest

from tests.support.random_lengths import program
from tests.support.undecorated import falls_back

PARTS = 10  # which workers may share
SEEDS = 300
LONG_SEEDS = 10_000


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poison"])
@pytest.mark.parametrize("part", range(PARTS))
def test_random_lengths(part: int, poison: bool, long_mode: bool) -> None:
    seeds = range(part, LONG_SEEDS if long_mode else SEEDS, PARTS)
    fallbacks = sum(falls_back(program(seed), compiler="evaluator", poison=poison) for seed in seeds)
    print(f"{fallbacks} of {len(seeds)} programs run undecorated")
    assert fallbacks <= 0.1 * len(seeds)
