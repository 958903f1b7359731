"""Runs programs, those of a group in one process, and gathers what the processes tell.

A process that crashes, or that ends itself because something took too long, costs the competitor that was at work its
place with that program at that size. A new process goes on there without it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .programs.program import Program

ROOT = Path(__file__).parent.parent
WORKER = ("-m", "benchmarks.worker")


@dataclass
class Measurement:
    """What was found of one competitor, in its best form, with one program at one size; seconds and bytes.

    `reason` says why there is no time, or what is wrong with the results; wrong results count nowhere. `note` is what
    the competitor itself had to say: that a function runs as plain Python.
    """

    competitor: str
    form: str = ""
    first: float | None = None
    steady: float | None = None
    spread: float | None = None
    peak: int | None = None
    reason: str = ""
    note: str = ""


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
    compiler: str
    seconds: float
    limit: float


# A program, a competitor, and its form.
Place = tuple[str, str, str]


def run(programs: Sequence[Program], size: str, options: Options) -> Iterator[Result]:
    """The results of programs at a size, one after another; they share a process as long as it lives."""
    tasks = {program.name: program for program in programs}
    skipped: dict[Place, str] = {}
    while tasks:
        events, ending = yield from _process(tasks, size, options, skipped)
        if not tasks:
            break
        first = next(iter(tasks))
        at = next((event for event in reversed(events) if event["event"] == "at"), None)
        place = None if at is None else (at["program"], at["competitor"], at["form"])
        if at is None or place is None or place[0] != first or place in skipped:
            # nobody to leave out: the process fails by itself
            found = {name: Measurement(name, reason=f"the process failed: {ending}") for name in options.competitors}
            yield Result(tasks.pop(first), size, found=found)
        else:
            skipped[place] = f"{ending} in its {at['phase']} call"


def _process(
    tasks: dict[str, Program], size: str, options: Options, skipped: dict[Place, str]
) -> Generator[Result, None, tuple[list[dict[str, Any]], str]]:
    """The results of one process, whose programs are taken off the list; what it told last, and how it ended."""
    job = {
        "programs": list(tasks),
        "size": size,
        "skipped": list(skipped),
        "competitors": list(options.competitors),
        "compiler": options.compiler,
        "seconds": options.seconds,
        "limit": options.limit,
    }
    events: list[dict[str, Any]] = []
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", *WORKER, json.dumps(job)],
            cwd=ROOT,
            # a first call compiles, as those of the peers do
            env={**os.environ, "LAMINA_CACHE": "0", "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if not line.startswith('{"event"'):
                        continue  # something that a program printed
                    event = json.loads(line)
                    events.append(event)
                    if event["event"] == "done":
                        yield _result(tasks.pop(event["program"]), size, events, skipped)
                        events = []
            except BaseException:  # the run is interrupted
                process.kill()
                raise
        errors.seek(0)
        said = errors.read().strip().splitlines()
    if process.returncode < 0:
        return events, f"ended by signal {-process.returncode}"
    if said and said[0].startswith("Timeout"):
        return events, f"more than {options.limit:g} s"
    return events, said[-1] if said else f"status {process.returncode}"


def _result(program: Program, size: str, events: Sequence[dict[str, Any]], skipped: dict[Place, str]) -> Result:
    """One size, from the events that tell of it; of several forms the fastest whose results are right stands."""
    result = Result(program, size)
    forms: dict[tuple[str, str], Measurement] = {}
    for (name, competitor, form), reason in skipped.items():
        if name == program.name:
            forms[competitor, form] = Measurement(competitor, form, reason=reason)
    for event in events:
        if event["event"] == "bytes":
            result.bytes = event["bytes"]
        if event["event"] not in ("failed", "first", "steady"):
            continue
        one = forms.setdefault((event["competitor"], event["form"]), Measurement(event["competitor"], event["form"]))
        if event["event"] == "failed":
            one.reason = event["reason"]
        elif event["event"] == "first":
            one.first, one.note = event["seconds"], event["note"]
            one.reason = event["wrong"] and f"wrong: {event['wrong']}"
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
