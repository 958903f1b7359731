"""How programs are run and shown: processes that die, wrong results, what the results amount to. Nothing is timed."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import contest
from benchmarks.contest import Measurement, Options, Result
from benchmarks.plot import svg
from benchmarks.programs import Program
from benchmarks.quiet import settle
from benchmarks.report import page, programs
from benchmarks.summary import best_peer, geometric_mean, of_ceiling, ratio, sentences
from benchmarks.worker import difference, reason, short

ROOT = Path(__file__).parent.parent.parent

# Dies at work on "fatal" with competitor A, never gets to an end with B, and has nothing to say of "mute".
WORKER = """
import json, os, sys, time
job = json.loads(sys.argv[1])
def say(event, **what):
    print(json.dumps({"event": event, **what}), flush=True)
for name in job["programs"]:
    if name == "mute":
        sys.exit("nothing works")
    for competitor in job["competitors"]:
        place = {"program": name, "competitor": competitor, "form": ""}
        if list(place.values()) in job["skipped"]:
            continue
        say("at", phase="first", **place)
        if (name, competitor) == ("fatal", "A"):
            os.abort()
        if (name, competitor) == ("fatal", "B"):
            sys.exit("Timeout (0:00:07)!")
        say("first", seconds=1.0, wrong="", note="", **place)
        say("steady", seconds=0.5, spread=0.1, peak=8, **place)
    say("done", program=name)
"""


def program(name: str, bound: str = "") -> Program:
    return Program(name, "group", lambda x: x, lambda size, rng: (np.ones(size),), (1, 2, 3), bound=bound)


def test_a_process_that_dies_costs_one_competitor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "WORKER", ("-c", WORKER))
    options = Options(["A", "B", "C"], "native", 0.1, 7.0)
    names = ["quiet", "fatal", "mute", "last"]
    found = list(contest.run([program(name) for name in names], "small", options))
    assert [(each.program.name, each.size) for each in found] == [(name, "small") for name in names]
    by_name = {each.program.name: each for each in found}
    assert {name: by_name["quiet"].steady(name) for name in "ABC"} == {"A": 0.5, "B": 0.5, "C": 0.5}
    fatal = by_name["fatal"].found
    assert (fatal["A"].reason, fatal["A"].steady) == ("ended by signal 6 in its first call", None)
    assert (fatal["B"].reason, fatal["B"].steady) == ("more than 7 s in its first call", None)
    assert by_name["fatal"].steady("C") == 0.5
    assert {one.reason for one in by_name["mute"].found.values()} == {"the process failed: nothing works"}
    assert by_name["last"].steady("A") == 0.5


def test_a_sample_waits_for_threads_that_work() -> None:
    looks = iter([0, 1, 1, 2, 2, 2])  # seconds of work before and after each look: the third finds none
    settle(lambda: next(looks))
    assert next(looks, None) is None
    settle(itertools.count().__next__)  # somebody who never rests is not waited for


def test_differences_are_found() -> None:
    x = np.array([1.0, np.nan, 4.0])
    assert difference((x, {"b": 1, "a": x}), (x.copy(), {"a": x, "b": 1}), 0.0) == ""
    assert difference(x, x + np.array([0, 0, 1e-6]), 1e-6) == ""
    assert "off by 1" in difference(x, x + np.array([0, 0, 4e-6]), 1e-7)
    assert "off by" in difference(x, np.array([1.0, 2.0, 4.0]), 1e-7)
    assert difference(np.arange(3), np.array([0, 1, 3]), 1.0) == "1 of 3 elements differ"
    assert "shapes" in difference(x, x[:2], 1.0)
    assert difference(x, x.astype(np.float32), 1e-6) == ""
    assert "dtypes" in difference(x, x.astype(np.float32), 1e-6, dtypes=True)


def test_a_reason_is_one_line_without_folders() -> None:
    numba = "Failed in nopython mode\n- Resolution failure:\nNo implementation\n\n >>> amax(array(float64), axis=1)\n"
    assert reason(TypeError(numba)) == "no implementation of amax(array(float64), axis=1)"
    assert reason(ValueError("wrong\nindeed")) == "ValueError: wrong"
    assert short("see /some/where/else/file.py:3 and 1/2") == "see file.py:3 and 1/2"
    assert len(short("x" * 1000)) == 200


def result(name: str, bound: str = "", copy: float | None = None, **seconds: float) -> Result:
    found = {
        each: Measurement(each, first=10 * time, steady=time, spread=0.0, peak=0) for each, time in seconds.items()
    }
    return Result(program(name, bound), "medium", copy=copy, found=found)


RESULTS = [
    result("ahead", "memory", copy=0.5, lamina=1.0, NumPy=8.0, Numba=2.0, JAX=4.0),
    result("behind", lamina=1.0, NumPy=2.0, Numba=0.5, JAX=4.0),
    result("products", "products", lamina=1.0, NumPy=0.5),
]


def test_what_results_amount_to() -> None:
    ahead, behind, products = RESULTS
    assert (ratio(ahead, "NumPy"), ratio(products, "NumPy"), ratio(products, "JAX")) == (8.0, 0.5, None)
    assert (best_peer(ahead), best_peer(behind), best_peer(products)) == (("Numba", 2.0), ("Numba", 0.5), None)
    assert (of_ceiling(ahead), of_ceiling(behind)) == (0.5, None)
    mean = geometric_mean([8.0, 2.0, None])
    assert mean is not None and mean[1] == 2 and abs(mean[0] - 4.0) < 1e-12
    assert geometric_mean([None]) is None
    assert sentences(RESULTS) == [
        "against NumPy: 4.00× as fast, geometric mean of 2",
        "against NumPy (programs of matrix products): 0.50× as fast, geometric mean of 1",
        "against Numba: 1.00× as fast, geometric mean of 2",
        "against JAX: 4.00× as fast, geometric mean of 2",
        "first call, against JAX: 4.00× as fast, geometric mean of 2",
        "first call, against Numba: 1.00× as fast, geometric mean of 2",
        "more than 5 % slower than NumPy: 1 of 3 (products)",
        "behind the best peer: 1 of 2 (behind)",
        "of a copy's bandwidth, where memory is the bound: 50%, geometric mean of 1",
        "without a right result: 0 of 3",
    ]


def test_wrong_results_count_nowhere() -> None:
    wrong = result("wrong", lamina=1.0, NumPy=8.0, Numba=2.0)
    wrong.found["lamina"].reason = "wrong: 1 of 3 elements differ"
    assert ratio(wrong, "NumPy") is None and best_peer(wrong) is None
    assert sentences([wrong])[-1] == "without a right result: 1 of 1 (wrong)"
    tables = programs([wrong], ["lamina", "NumPy", "Numba"], [])
    assert tables[0].lines == [("wrong", "—", "8 s", "2 s", "—", "—", "—")]
    assert tables[1].notes == ["wrong, lamina: wrong: 1 of 3 elements differ"]


def test_the_page_and_the_plot() -> None:
    competitors = ["lamina", "NumPy", "Numba", "JAX"]
    text = page(programs(RESULTS, competitors, ["a note"]), "the command", ["a fact"], [Path("results-medium.svg")])
    assert "| ahead | 1 s | 8 s | 2 s | 4 s | 8.00× | 2.00× Numba | 50% |" in text
    assert "* a note" in text and "* a fact" in text and "![results-medium](results-medium.svg)" in text
    drawn = ElementTree.fromstring(svg(RESULTS, competitors))
    marks: list[Any] = drawn.findall("{http://www.w3.org/2000/svg}circle")
    assert len(marks) == len(competitors) + 10  # the legend's, and one for each time


def test_the_command() -> None:
    """A whole run of one program, by the two competitors that are always there."""
    command = [sys.executable, "-m", "benchmarks", "column sums", "--quick", "--competitors", "lamina", "NumPy"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Programs, medium: a steady call" in done.stdout and "without a right result: 0 of 1" in done.stdout
    for wrong in (["no such program"], ["column sums", "--write"]):
        assert subprocess.run([*command[:3], *wrong], cwd=ROOT, capture_output=True, check=False).returncode == 2
