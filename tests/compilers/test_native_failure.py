"""A bug of the native compiler's stops no program: the evaluator runs it, and one warning names the part."""

import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import driver, jit
from lamina.errors import LaminaWarning

ROOT = Path(__file__).parents[2]


def written(x, out, n):
    for _ in range(n):
        out[1:] = x[1:] * 0.5 + out[:-1]
    return out[0], x.sum()


def broken(*args: Any, **kwargs: Any) -> Any:
    raise KeyError("a slip\nof the pen")


def emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "emit_kernel", broken)


def lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("lamina.compilers.native"), "run_passes", broken)


def read(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM refuses the text."""
    make = jit._object_code
    monkeypatch.setenv("LAMINA_CACHE", "0")
    monkeypatch.setattr(jit, "_object_code", lambda text, level: make(text.replace(" fmul ", " mulled "), level))


@pytest.mark.parametrize(
    ("breaks", "part", "why"),
    [
        (emitted, f"a kernel over [] of {__file__}:", "KeyError: 'a slip\\nof the pen'"),
        (lowered, "its graph", "KeyError: 'a slip\\nof the pen'"),
        (read, f"a kernel over [6] of {__file__}:", "RuntimeError: LLVM IR parsing error"),
    ],
)
def test_the_evaluator_runs_what_cannot_be_compiled(
    monkeypatch: pytest.MonkeyPatch, breaks: Any, part: str, why: str
) -> None:
    breaks(monkeypatch)
    run = lamina.defn(written, compiler="native", strict=True)
    x, out, expected = np.arange(7.0), np.ones(7), np.ones(7)
    with pytest.warns(LaminaWarning) as caught:
        results = [run(x, out, 3) for _ in range(2)]
    assert results == [written(x, expected, 3) for _ in range(2)]
    assert out.tobytes() == expected.tobytes()
    (warning,) = caught
    said = str(warning.message)
    assert warning.filename == __file__
    assert said.startswith(f"written runs in the evaluator, not as native code, for a bug of lamina's: {part}")
    assert f"couldn't be compiled ({why}). What a report of it needs is in " in said
    report = Path(said.rpartition(" is in ")[2])
    text = report.read_text(encoding="utf-8")
    assert "Traceback" in text and "multiply" in text  # the graph
    assert (breaks is not lowered) == ("kernel [6]:" in text)  # the program
    assert (breaks is not read) == (" mulled " not in text) or "define" in text  # the code
    if sys.platform != "win32":
        assert stat.S_IMODE(report.parent.stat().st_mode) == 0o700


def test_a_report_that_cannot_be_kept_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> Any:
        raise OSError("no space left")

    emitted(monkeypatch)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.warns(LaminaWarning, match=r"is in nowhere \(no space left\)"):
        assert lamina.defn(lambda x: x * 2, compiler="native")(np.arange(3)).tolist() == [0, 2, 4]


def test_without_llvm_the_evaluator_runs_everything() -> None:
    program = """
import sys, warnings
sys.modules["llvmlite"] = None  # which is how an import fails
import numpy as np, lamina
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in (3, 4):
        out = np.zeros(n)
        lamina.defn(lambda x, out: np.add(x, 1, out=out), compiler="native")(np.arange(n), out)
        print(out.tolist())
for each in caught:
    print(each.category.__name__, str(each.message).partition(":")[0])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[1.0, 2.0, 3.0]",
        "[1.0, 2.0, 3.0, 4.0]",
        "LaminaWarning programs run in the evaluator, not as native code",
    ]
