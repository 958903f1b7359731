"""The programs of a group in a process of their own: ``python -m benchmarks.worker``, started by `contest`.

It prints a line of JSON for each thing that it is about to do and for each that it found. A process that dies, or that
ends itself because something takes too long, has told what it was at.
"""

import copy
import ctypes
import faulthandler
import gc
import json
import re
import statistics
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lamina
from lamina.errors import LaminaWarning

from .ceilings import copying
from .competitors import FORMS, Form
from .programs import named
from .programs.program import Program
from .quiet import settle

SHORTEST_SAMPLE = 0.002
CALLS_TO_STEADY = 4
LONGEST_START = 1.0
FEWEST_ROUNDS = 3
MOST_ROUNDS = 101
MOST_COPIES = 1 << 26  # bytes of arguments made ahead for one sample
LONGEST_REASON = 200
STATUS = Path("/proc/self/status")


def say(event: str, **what: Any) -> None:
    """Tell the parent process."""
    print(json.dumps({"event": event, **what}), flush=True)


class Runner:
    """One form at one size: its compiled function and its arguments, and what was measured of it."""

    def __init__(self, program: Program, form: Form, size: str, limit: float) -> None:
        self.form, self.limit = form, limit
        self.where = {
            "program": program.name,
            "competitor": form.competitor,
            "form": form.label,
        }
        self.arguments = program.made(size)
        self.samples: list[float] = []
        self.number = 1

    def at(self, phase: str) -> None:
        """Say what comes, and end the process if it takes longer than the limit."""
        say("at", phase=phase, **self.where)
        faulthandler.dump_traceback_later(self.limit, exit=True, file=sys.stderr)

    def fresh(self) -> list[Any]:
        """Arguments that no call has written."""
        return [self.form.given(copy.copy(each)) for each in self.arguments]

    def first(self) -> tuple[float, Any, list[Any]]:
        """Seconds of making and calling it for the first time; the result, and the arguments after the call."""
        arguments = self.fresh()
        self.at("first")
        settle()
        start = time.perf_counter()
        self.call = self.form.make()
        result = self.call(*arguments)
        seconds = time.perf_counter() - start
        self.seconds_of(arguments)
        faulthandler.cancel_dump_traceback_later()
        return seconds, result, arguments

    def seconds_of(self, arguments: list[Any]) -> None:
        """Finds how many calls make a sample; whether arguments are written decides if they are made anew each time."""
        before = copy.deepcopy(self.arguments)
        seconds: list[float] = []
        while len(seconds) < CALLS_TO_STEADY and sum(seconds) < LONGEST_START:  # the second may compile too
            again = self.fresh()
            start = time.perf_counter()
            self.call(*again)
            seconds.append(max(time.perf_counter() - start, 1e-7))
        self.writes = any(
            isinstance(a, np.ndarray) and not np.array_equal(a, np.asarray(b), equal_nan=a.dtype.kind in "fc")
            for a, b in zip(before, again, strict=True)
        )
        self.number = max(1, min(1000, int(SHORTEST_SAMPLE / min(seconds))))
        if self.writes:
            size = sum(each.nbytes for each in self.arguments if isinstance(each, np.ndarray))
            self.number = max(1, min(self.number, MOST_COPIES // max(size, 1)))
        self.kept = self.fresh()

    def sample(self) -> float:
        """Take one more sample: the seconds of a call, the mean of several where it is short; what they are in all."""
        self.at("steady")
        call, number = self.call, self.number
        given = [self.fresh() for _ in range(number)] if self.writes else [self.kept] * number
        settle()
        start = time.perf_counter()
        for arguments in given:
            call(*arguments)
        seconds = time.perf_counter() - start
        self.samples.append(seconds / number)
        faulthandler.cancel_dump_traceback_later()
        return seconds

    def peak(self) -> int | None:
        """The most memory that a call takes beyond its arguments, results included, in bytes; `None` but on Linux."""
        arguments = self.fresh() if self.writes else self.kept
        self.at("peak")
        try:
            gc.collect()
            ctypes.CDLL(None).malloc_trim(0)
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts again from here
            before = resident("VmRSS")
            result = self.call(*arguments)
            peak = resident("VmHWM") - before
            del result
        except (OSError, AttributeError):
            return None
        finally:
            faulthandler.cancel_dump_traceback_later()
        return max(peak, 0)


def resident(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def arrays_in(result: Any) -> list[np.ndarray]:
    """The arrays of a result, in order."""
    if isinstance(result, Mapping):
        return [each for key in sorted(result) for each in arrays_in(result[key])]
    if isinstance(result, (tuple, list)):
        return [array for each in result for array in arrays_in(each)]
    return [np.asarray(result)]


def difference(expected: Any, actual: Any, tolerance: float, dtypes: bool = False) -> str:
    """What is wrong with a result, or nothing; with its dtypes too if asked."""
    wanted, got = arrays_in(expected), arrays_in(actual)
    if [each.shape for each in wanted] != [each.shape for each in got]:
        return f"shapes {[each.shape for each in got]}, not {[each.shape for each in wanted]}"
    if dtypes and [each.dtype for each in wanted] != [each.dtype for each in got]:
        return f"dtypes {[str(each.dtype) for each in got]}, not {[str(each.dtype) for each in wanted]}"
    for a, b in zip(wanted, got, strict=True):
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return f"{np.count_nonzero(a != b)} of {a.size} elements differ"
            continue
        scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
        if not np.allclose(b, a, rtol=0, atol=tolerance * scale, equal_nan=True):
            with np.errstate(invalid="ignore"):
                return f"off by {float(np.nanmax(np.abs(b - a))) / (scale or 1):.1e} of the largest"
    return ""


def reason(error: BaseException) -> str:
    """What an error says, for a note below a table."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    calls = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")]  # what Numba has no code for
    if calls:
        return short(f"no implementation of {calls[0]}")
    telling = [line for line in lines if not line.startswith(("Failed in nopython", "- Resolution"))]
    return short(f"{type(error).__name__}: {telling[0] if telling else ''}")


def short(text: str) -> str:
    """The beginning of the first line, without the folders of this machine."""
    line = re.sub(r"(/[\w.+-]+)+/(?=[\w.+-]+)", "", text.partition("\n")[0])
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def copy_of(nbytes: int) -> Form:
    """A copy of so many bytes in all, read and written, by as many threads as lamina's kernels: what memory allows."""
    call = copying(nbytes, lamina.get_num_threads())
    return Form("copy", "", lambda: lambda *_: call())


def measure(program: Program, size: str, forms: Sequence[Form], seconds: float, limit: float) -> None:
    """Measure all forms at one size: their first calls one after another, then samples in turns, then the peaks."""
    arguments = program.made(size)
    expected = program.source(*arguments)
    nbytes = sum(each.nbytes for each in arrays_in([*program.made(size), expected]))
    say("bytes", program=program.name, bytes=nbytes)
    runners = []
    for form in [*forms, *([copy_of(nbytes)] if program.bound == "memory" else [])]:
        runner = Runner(program, form, size, limit)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", LaminaWarning)
                first, result, given = runner.first()
        except Exception as error:  # noqa: BLE001  whatever a competitor can't do
            faulthandler.cancel_dump_traceback_later()
            say("failed", reason=reason(error), **runner.where)
            continue
        ours = form.competitor == "lamina"
        wrong = "" if form.competitor == "copy" else difference(expected, result, program.tolerance, dtypes=ours)
        if ours:
            wrong = wrong or difference(arguments, given, program.tolerance, dtypes=True)
        notes = [str(each.message) for each in caught if issubclass(each.category, LaminaWarning)]
        say("first", seconds=first, wrong=wrong, note=short(" ".join(notes)), **runner.where)
        runners.append(runner)
    spent = 0.0
    for turn in range(MOST_ROUNDS):
        if turn >= FEWEST_ROUNDS and spent > seconds * len(runners):
            break
        spent += sum(runner.sample() for runner in runners)
    for runner in runners:
        quartiles = statistics.quantiles(runner.samples, n=4)
        median = statistics.median(runner.samples)
        say("steady", seconds=median, spread=quartiles[2] - quartiles[0], peak=runner.peak(), **runner.where)


def warm_up(competitors: Sequence[str], compiler: str) -> None:
    """Load what compiles, so that a first call is one in a warm process."""
    tiny = Program("warm-up", "", _tiny, lambda size, rng: (np.ones(size),), (16, 16, 16))
    for name in competitors:
        try:
            for form in FORMS[name](tiny, compiler):
                form.make()(form.given(np.ones(16)))
        except Exception:  # noqa: BLE001  it will say so when it is measured
            pass


def _tiny(x: np.ndarray) -> Any:
    return np.exp(x) + 1


def main() -> None:
    job = json.loads(sys.argv[1])
    skipped = {tuple(each) for each in job["skipped"]}
    warm_up(job["competitors"], job["compiler"])
    for name in job["programs"]:
        program = named(name)
        forms, absent = forms_of(program, job["competitors"], job["compiler"])
        for competitor, why in absent.items():
            say("failed", program=name, competitor=competitor, form="", reason=why)
        taking_part = [form for form in forms if (name, form.competitor, form.label) not in skipped]
        measure(program, job["size"], taking_part, job["seconds"], job["limit"])
        say("done", program=name)


def forms_of(program: Program, competitors: Sequence[str], compiler: str) -> tuple[list[Form], dict[str, str]]:
    """The forms in which competitors run a program, and why others can't."""
    forms: list[Form] = []
    absent: dict[str, str] = {}
    for name in competitors:
        try:
            forms += FORMS[name](program, compiler)
        except (ImportError, NotImplementedError) as error:
            absent[name] = str(error)
    return forms, absent


if __name__ == "__main__":
    main()
