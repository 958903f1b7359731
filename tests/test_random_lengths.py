"""Random programs with lengths that a run alone knows: as NumPy has them, whatever lies beyond a length."""

from typing import Any

import pytest

import lamina
from lamina.errors import TraceError
from tests.support.random_lengths import program
from tests.support.undecorated import differences

PARTS = 10  # which workers may share
SEEDS = 300
LONG_SEEDS = 10_000


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poison"])
@pytest.mark.parametrize("part", range(PARTS))
def test_random_lengths(part: int, poison: bool, long_mode: bool) -> None:
    seeds = range(part, LONG_SEEDS if long_mode else SEEDS, PARTS)
    fallbacks = sum(_falls_back(seed, poison) for seed in seeds)
    print(f"{fallbacks} of {len(seeds)} programs run undecorated")
    assert fallbacks <= 0.1 * len(seeds)


def _falls_back(seed: int, poison: bool) -> bool:
    """Whether a program can't be traced; fails where its decorated form differs from it."""
    drawn, refused = program(seed), []
    compiled = lamina.defn(drawn.function, strict=True, compiler="evaluator", poison=poison)

    def decorated(*arguments: Any) -> Any:
        try:
            return compiled(*arguments)
        except (TraceError, NotImplementedError) as error:
            refused.append(error)
            raise

    # an array that was made has NumPy's values, not always its strides: of np.nonzero they are those of a matrix
    found = differences(drawn.function, decorated, drawn.arguments, order=False)
    if found and not refused:
        pytest.fail(f"seed {seed}: {'; '.join(found)}\n\n{drawn.source}", pytrace=False)
    return bool(refused)
