"""What the results amount to: ratios, geometric means, and where lamina is behind."""

import math
from collections.abc import Iterable, Sequence

from .contest import Result

OURS = "lamina"
PEERS = ("Numba", "JAX", "numexpr")


def ratio(result: Result, competitor: str) -> float | None:
    """How many times faster lamina is than a competitor; `None` where one of them has no right result."""
    ours, theirs = result.steady(OURS), result.steady(competitor)
    return theirs / ours if ours and theirs else None


def geometric_mean(values: Iterable[float | None]) -> tuple[float, int] | None:
    """The mean of the values that there are, and how many those are."""
    logs = [math.log(value) for value in values if value]
    return (math.exp(sum(logs) / len(logs)), len(logs)) if logs else None


def best_peer(result: Result) -> tuple[str, float] | None:
    """The fastest peer but NumPy, and how many times faster than it lamina is."""
    ratios = [(value, name) for name in PEERS if (value := ratio(result, name)) is not None]
    return (min(ratios)[1], min(ratios)[0]) if ratios else None


def first_ratio(result: Result, competitor: str) -> float | None:
    """How many times faster lamina's first call is."""
    ours, theirs = result.found.get(OURS), result.found.get(competitor)
    if ours is None or theirs is None or ours.reason or theirs.reason or not ours.first or not theirs.first:
        return None
    return theirs.first / ours.first


def of_ceiling(result: Result) -> float | None:
    """Lamina's share of the bandwidth of a copy, where memory is the bound."""
    ours = result.steady(OURS)
    return result.copy / ours if ours and result.copy else None


def sentences(results: Sequence[Result]) -> list[str]:
    """The summary of one size, a line each."""
    if not any(OURS in result.found for result in results):
        return []
    lines = []
    plain = [result for result in results if result.program.bound != "products"]
    products = [result for result in results if result.program.bound == "products"]
    for what, group, names in (
        ("", plain, ("NumPy",)),
        (" (programs of matrix products)", products, ("NumPy",)),
        ("", results, PEERS),
    ):
        for name in names:
            mean = geometric_mean(ratio(result, name) for result in group)
            if mean:
                lines.append(f"against {name}{what}: {mean[0]:.2f}× as fast, geometric mean of {mean[1]}")
    for name in ("JAX", "Numba"):
        mean = geometric_mean(first_ratio(result, name) for result in results)
        if mean:
            lines.append(f"first call, against {name}: {mean[0]:.2f}× as fast, geometric mean of {mean[1]}")
    slower = [result.program.name for result in results if (ratio(result, "NumPy") or 1) < 1 / 1.05]
    lines.append(f"more than 5 % slower than NumPy: {len(slower)} of {len(results)}{_named(slower)}")
    compared = [result for result in results if best_peer(result)]
    behind = [result.program.name for result in compared if (best_peer(result) or ("", 1))[1] < 1]
    lines.append(f"behind the best peer: {len(behind)} of {len(compared)}{_named(behind)}")
    shares = geometric_mean(of_ceiling(result) for result in results)
    if shares:
        lines.append(
            f"of a copy's bandwidth, where memory is the bound: {shares[0]:.0%}, geometric mean of {shares[1]}"
        )
    wrong = [result.program.name for result in results if OURS in result.found and result.found[OURS].reason]
    lines.append(f"without a right result: {len(wrong)} of {len(results)}{_named(wrong)}")
    return lines


def _named(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
