"""Runs programs, each in a process of its own, and gathers what the processes tell.

A process that crashes, or that ends itself because something took too long, costs the competitor that was at work its
place at that size; the rest is measured again without it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .programs.program import Program

ROOT = Path(__file__).parent.parent


@dataclass
class Measurement:
    """What was found of one competitor, in its best form, with one program at one size; seconds and bytes.

    `reason` says why there is no time, or what is wrong with the results; wrong results count nowhere.
    """

    competitor: str
    form: str = ""
    first: float | None = None
    steady: float | None = None
    spread: float | None = None
    peak: int | None = None
    reason: str = ""


@dataclass
class Result:
    """A program at one size: its measurements by competitor, and the bytes of its arguments and results."""

    program: Program
    size: str
    bytes: int = 0
    copy: float | None = None
    found: dict[str, Measurement] = field(default_factory=dict)

    def steady(self, competitor: str) -> float | None:
        """The seconds of a competitor whose results are right."""
        measurement = self.found.get(competitor)
        return None if measurement is None or measurement.reason else measurement.steady


@dataclass(frozen=True)
class Options:
    """What is asked of the processes: `seconds` for each competitor's samples, `limit` for any one thing they do."""

    competitors: Sequence[str]
    sizes: Sequence[str]
    compiler: str
    seconds: float
    limit: float


def run(program: Program, options: Options) -> list[Result]:
    """The results of a program at each size."""
    skipped: dict[tuple[str, str, str], str] = {}
    missing = list(options.sizes)
    results: list[Result] = []
    while missing:
        events, ending = _process(program, options, missing, list(skipped))
        done = {event["size"] for event in events if event["event"] == "done"}
        results += [_result(program, size, events, skipped) for size in missing if size in done]
        missing = [size for size in missing if size not in done]
        if missing:
            last = next((event for event in reversed(events) if event["event"] == "at"), None)
            blamed = None if last is None else (last["size"], last["competitor"], last["form"])
            if last is None or blamed is None or blamed in skipped:  # nobody to leave out: the process itself fails
                reason = f"the process failed: {ending}"
                results += [
                    Result(
                        program, size, found={name: Measurement(name, reason=reason) for name in options.competitors}
                    )
                    for size in missing
                ]
                break
            skipped[blamed] = f"{ending} in its {last['phase']} call"
    return results


def _process(
    program: Program, options: Options, sizes: Sequence[str], skipped: Sequence[tuple[str, str, str]]
) -> tuple[list[dict[str, Any]], str]:
    """What a process told, and how it ended."""
    job = {
        "program": program.name,
        "sizes": sizes,
        "skipped": skipped,
        "competitors": list(options.competitors),
        "compiler": options.compiler,
        "seconds": options.seconds,
        "limit": options.limit,
    }
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.worker", json.dumps(job)],
        cwd=ROOT,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"event"')]
    errors = done.stderr.strip().splitlines()
    if done.returncode < 0:
        ending = f"ended by signal {-done.returncode}"
    elif errors and errors[0].startswith("Timeout"):
        ending = f"more than {options.limit:g} s"
    else:
        ending = errors[-1] if errors else f"status {done.returncode}"
    return events, ending


def _result(
    program: Program, size: str, events: Sequence[dict[str, Any]], skipped: dict[tuple[str, str, str], str]
) -> Result:
    """One size, from the events that tell of it; of several forms the fastest whose results are right stands."""
    result = Result(program, size)
    forms: dict[tuple[str, str], Measurement] = {}
    for (where, competitor, form), reason in skipped.items():
        if where == size:
            forms[competitor, form] = Measurement(competitor, form, reason=reason)
    for event in events:
        if event.get("size") != size:
            continue
        if event["event"] == "bytes":
            result.bytes = event["bytes"]
        if event["event"] not in ("failed", "first", "steady"):
            continue
        one = forms.setdefault((event["competitor"], event["form"]), Measurement(event["competitor"], event["form"]))
        if event["event"] == "failed":
            one.reason = event["reason"]
        elif event["event"] == "first":
            one.first, one.reason = event["seconds"], event["wrong"] and f"wrong: {event['wrong']}"
        else:
            one.steady, one.spread, one.peak = event["seconds"], event["spread"], event["peak"]
    for one in forms.values():
        best = result.found.get(one.competitor)
        if best is None or _rank(one) < _rank(best):
            result.found[one.competitor] = one
    copy = result.found.pop("copy", None)
    result.copy = None if copy is None else copy.steady
    return result


def _rank(one: Measurement) -> tuple[bool, float]:
    return bool(one.reason), one.steady or float("inf")
