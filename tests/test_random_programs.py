"""Random programs: what is decorated does what isn't, whatever a program combines.

A program that can't be traced falls back, which is right and slow; how many do is printed, and bounded.
"""

import contextlib
from typing import Any

import pytest

import lamina
from lamina.errors import TraceError
from tests.support.random_programs import Program, program
from tests.support.undecorated import differences

PARTS = 20  # which workers may share
SEEDS = 1_000
LONG_SEEDS = 20_000


def _falls_back(drawn: Program) -> bool:
    """Whether a program can't be traced; fails where its decorated form differs from it."""
    compiled = lamina.defn(drawn.function, strict=True)
    refused: list[Exception] = []

    def decorated(*arguments: Any) -> Any:
        try:
            return compiled(*arguments)
        except (TraceError, NotImplementedError) as error:
            refused.append(error)
            raise

    # where both branches of an if are one, and one is a view, the order of what comes back is not NumPy's
    found = differences(drawn.function, decorated, drawn.arguments, order=False)
    if found and not refused:
        pytest.fail(f"seed {drawn.seed}: {'; '.join(found)}\n\n{drawn.source}", pytrace=False)
    return bool(refused)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs(part: int, long_mode: bool, record_property) -> None:
    seeds = range(part, LONG_SEEDS if long_mode else SEEDS, PARTS)
    fallbacks = sum(_falls_back(program(seed)) for seed in seeds)
    record_property("fallbacks", fallbacks)
    print(f"{fallbacks} of {len(seeds)} programs run undecorated")
    assert fallbacks < 0.2 * len(seeds)


def test_one_seed_is_one_program() -> None:
    first, second = program(7), program(7)
    assert first.source == second.source
    for a, b in zip(first.arguments(), second.arguments(), strict=True):
        with contextlib.suppress(AttributeError):
            assert a.tobytes() == b.tobytes()
