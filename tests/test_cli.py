"""The command: what it reads, runs, prints and writes, and what it says of everything that can be wrong."""

import contextlib
import importlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lamina import cli

ROOT = Path(__file__).parent.parent

PROGRAM = """
from dataclasses import dataclass
import numpy as np
import lamina
from beside import half


@dataclass
class Flow:
    left: np.ndarray
    right: np.ndarray


def scaled(x, k=2):
    return x * k


@lamina.defn
def repeated(x, steps):
    return lamina.fori_loop(0, steps, lambda i, c: c + x, x)


def kept(*, k, x):
    return {"x": x + k, "pair": (x - k, half(x)), "flow": Flow(x, x + x)}


def nothing():
    return None


def made():
    return np.arange(3)


def number(n):
    return n + 1


def count(n):
    return n * n * n


def note(x):
    return {"x": x + 1, "unit": "metres"}


def narrow(x):
    return (x + 1).astype("bfloat16")


def clash(x):
    return {"a.0": x + 1, "a": (x + 2,)}


def file(x):
    return {"file": x + 1, "allow_pickle": x + 2}


def mismatched(x):
    y = x + 1
    return y + np.ones(7)


def raising(x):
    raise LookupError("no such\\nplate")


def leaving(x):
    raise SystemExit(3)


def branching(x):
    if x.shape and x[0] > 0:
        return x
    return -x


def mapping(x):
    if x[0, 0] > 0:
        return {"x": x}
    return -x


PLATE = 3.0
"""


def line_of(text: str) -> str:
    """Where the program has this text."""
    return f"program.py:{PROGRAM.count(chr(10), 0, PROGRAM.index(text)) + 1}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs and inputs, the one we are in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("def half(x):\n    return x * 0.5\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "broken.py").write_text("import numpy\n\ndef f(x:\n    return x\n")
    (tmp_path / "failing.py").write_text("import numpy as np\n\nPLATE = np.load('no.npy')\n")
    (tmp_path / "missing.py").write_text("import no_such_package\n")
    (tmp_path / "quitting.py").write_text("raise SystemExit(0)\n")
    np.save("x.npy", np.arange(6.0).reshape(2, 3))
    np.savez("both.npz", x=np.arange(3), k=np.array(10))
    np.save("objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.savez("objects.npz", x=np.array([{}], dtype=object), allow_pickle=True)
    np.save("dates.npy", np.array(["2020-01-01"], dtype="datetime64[D]"))
    (tmp_path / "text.npy").write_text("1 2 3 4 5")
    (tmp_path / "short.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-8])
    (tmp_path / "short.npz").write_bytes((tmp_path / "both.npz").read_bytes()[:-30])
    (tmp_path / "empty.npy").touch()
    (tmp_path / "folder.npy").mkdir()
    with zipfile.ZipFile("strange.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    return tmp_path


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command on a line of arguments: its status, what it printed, and what it said of errors."""
    importlib.import_module("lamina.compilers.native")  # LLVM can't be loaded into other modules than Python's own
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    def command(line: str) -> tuple[int, str, str]:
        sys.modules.pop("beside", None)
        before = list(sys.path)
        status = cli.main(line.split())
        assert sys.path == before
        out, err = (text.replace(f"{folder}{os.sep}", "") for text in capsys.readouterr())
        return status, out, err

    return command


# Results


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("program.py:scaled x.npy", "scaled: float64[2, 3] =\n[[ 0.  2.  4.]\n [ 6.  8. 10.]]\n"),
        ("program.py:scaled x.npy -1e1", "scaled: float64[2, 3] =\n[[ -0. -10. -20.]\n [-30. -40. -50.]]\n"),
        ("program.py:scaled both.npz", "scaled: int64[3] = [ 0 10 20]\n"),
        ("program.py:scaled k=x.npy x=2", "scaled: float64[2, 3] =\n[[ 0.  2.  4.]\n [ 6.  8. 10.]]\n"),
        ("program.py:repeated x.npy 2", "repeated: float64[2, 3] =\n[[ 0.  3.  6.]\n [ 9. 12. 15.]]\n"),
        ("program.py:number 3", "number = 4\n"),
        ("program.py:number -3", "number = -2\n"),
        ("program.py:number True", "number = 2\n"),
        ("program.py:number 2.5", "number = 3.5\n"),
        ("program.py:number -inf", "number = -inf\n"),
        ("program.py:number n=1j", "number = (1+1j)\n"),
        ("program.py:made", "made: int64[3] = [0 1 2]\n"),
        ("program.py:nothing", "nothing = None\n"),
        ("program.py:note both.npz", None),
        ("program.py:note x=1", "note['x'] = 2\nnote['unit'] = 'metres'\n"),
        (
            "program.py:kept x=2.0 k=1",
            """kept['x'] = 3.0
kept['pair'][0] = 1.0
kept['pair'][1] = 1.0
kept['flow'].left = 2.0
kept['flow'].right = 4.0
""",
        ),
    ],
)
def test_results_are_printed(run: Run, line: str, printed: str | None) -> None:
    status, out, err = run(f"run {line}")
    if printed is None:
        assert status == 2
    else:
        assert (status, out, err) == (0, printed, "")


def test_a_long_result_is_printed_in_short(run: Run, folder: Path) -> None:
    np.save("long.npy", np.zeros((100, 100)))
    status, out, _ = run("run program.py:scaled long.npy")
    assert status == 0 and "..." in out and len(out) < 300


def test_one_array_is_written(run: Run, folder: Path) -> None:
    assert run("run program.py:scaled x.npy 3 -o out.npy") == (0, "out.npy: arr_0 float64[2, 3]\n", "")
    np.testing.assert_array_equal(np.load("out.npy"), np.arange(6.0).reshape(2, 3) * 3, strict=True)


def test_options_stand_anywhere(run: Run, folder: Path) -> None:
    assert run("run -o out.npy program.py:scaled x.npy 3")[0] == 0
    assert run("run program.py:scaled x.npy --output between.npy 3")[0] == 0
    assert Path("out.npy").read_bytes() == Path("between.npy").read_bytes()


def test_a_container_is_written_by_name(run: Run, folder: Path) -> None:
    assert run("run program.py:kept x=x.npy k=2 -o out.npz")[0] == 0
    x = np.load("x.npy")
    written = dict(np.load("out.npz"))
    expected = {"x": x + 2, "pair.0": x - 2, "pair.1": x * 0.5, "flow.left": x, "flow.right": x + x}
    assert list(written) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(written[name], array, strict=True)


def test_what_is_written_can_be_an_input(run: Run, folder: Path) -> None:
    (folder / "named.py").write_text("def both(x):\n    return {'x': x + 1, 'k': x}\n")
    assert run("run named.py:both x.npy -o out.npz")[0] == 0
    assert run("run program.py:scaled out.npz -o next.npy")[0] == 0
    np.testing.assert_array_equal(np.load("next.npy"), (np.load("x.npy") + 1) * np.load("x.npy"))


def test_names_that_numpys_savez_takes_for_its_own(run: Run, folder: Path) -> None:
    assert run("run program.py:file x.npy -o out.npz")[0] == 0
    assert sorted(np.load("out.npz").files) == ["allow_pickle", "file"]


def test_an_output_is_replaced(run: Run, folder: Path) -> None:
    Path("out.npy").write_text("old")
    Path("out.npy").chmod(0o640)
    Path("link.npy").symlink_to("out.npy")
    assert run("run program.py:scaled x.npy 3 -o link.npy")[0] == 0
    assert Path("link.npy").is_symlink()
    assert np.load("out.npy").shape == (2, 3)
    assert stat.S_IMODE(Path("out.npy").stat().st_mode) == 0o640


def test_a_new_output_has_the_usual_permissions(run: Run, folder: Path) -> None:
    Path("touched").touch()
    assert run("run program.py:scaled x.npy 3 -o out.npy")[0] == 0
    assert Path("out.npy").stat().st_mode == Path("touched").stat().st_mode


def test_a_file_can_import_what_is_beside_it(run: Run, folder: Path) -> None:
    (folder / "inner").mkdir()
    shutil.copy("program.py", "inner/other.py")
    (folder / "inner" / "beside.py").write_text("def half(x):\n    return x * 0.25\n")
    _, out, _ = run("run inner/other.py:kept x=2.0 k=1")
    assert "kept['pair'][1] = 0.5\n" in out


TRACED = f"""\
repeated(%0: float64[2, 3], %1: int64[]):
  %2: (int64[], float64[2, 3], int64[], float64[2, 3]) = while((0: int64, %0, %1, %0)):
    params (%3: int64[], %4: float64[2, 3], %5: int64[], %6: float64[2, 3])
    condition:
      %7: bool[] = less(%3, %5)
      return %7
    body:
      %8: int64[] = add(%3, 1: int64)
      %9: float64[2, 3] = add(%4, %6)
      return (%8, %9, %5, %6)
  %10: float64[2, 3] = elem(%2, 1)
  return %10

order, 5 nodes:
       constant   int64[]                                           {line_of("lamina.fori_loop")}
  %0   parameter  float64[2, 3]
  %1   parameter  int64[]
  %2   while      (int64[], float64[2, 3], int64[], float64[2, 3])  {line_of("lamina.fori_loop")}
  %10  elem       float64[2, 3]                                     {line_of("lamina.fori_loop")}
"""


def test_a_graph_and_its_order_are_printed(run: Run) -> None:
    assert run("trace program.py:repeated x.npy 3") == (0, TRACED, "")


# Errors


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run", "the following arguments are required: FILE.py:FUNCTION"),
        ("walk", "argument command: invalid choice: 'walk' (choose from "),
        ("--verbose", "unrecognized arguments: --verbose; see lamina --help"),
        ("run program.py:scaled x.npy -z", "unrecognized arguments: -z; see lamina run --help"),
        ("trace program.py:scaled x.npy -o out.npy", "unrecognized arguments: -o"),
        ("run program.py x.npy", "expected FILE.py:FUNCTION, but got 'program.py'"),
        ("run program.txt:f", "expected FILE.py:FUNCTION, but got 'program.txt:f'"),
        ("run program.py:", "expected FILE.py:FUNCTION, but got 'program.py:'"),
        ("run no.py:f", "no.py: there is no such file"),
        ("run program.py:scald x.npy", "program.py has no function 'scald'; it has Flow, scaled, repeated, kept, "),
        ("run program.py:PLATE x.npy", "program.py:PLATE must be a function, but it is 3.0 (float)"),
        (
            "run program.py:scaled",
            "program.py:scaled takes (x, k=2), but the inputs are (): missing a required argument: 'x'",
        ),
        (
            "run program.py:scaled x.npy y=3",
            "the inputs are (float64[2, 3], y=3): got an unexpected keyword argument 'y'",
        ),
        (
            "run program.py:repeated x.npy 1 2",
            "program.py:repeated takes (x, steps), but the inputs are (float64[2, 3], 1",
        ),
        ("run program.py:scaled 3 both.npz", "multiple values for argument 'x'"),
        ("run program.py:scaled both.npz k=3", "the argument 'k' is given twice, by both.npz and by k=3"),
        ("run program.py:scaled x.txt", "x.txt: expected FILE.npy, FILE.npz, a number, NAME=FILE.npy or NAME=NUMBER"),
        ("run program.py:scaled x=three", "x=three: expected FILE.npy, FILE.npz, a number"),
        ("run program.py:scaled x=both.npz", "each of its arrays as the argument of its own name; write both.npz"),
        ("run program.py:scaled no.npy", "no.npy: there is no such file"),
        ("run program.py:scaled no.npz", "no.npz: there is no such file"),
        ("run program.py:scaled folder.npy", "folder.npy: expected an .npy file, but it can't be read: "),
        ("run program.py:scaled empty.npy", "empty.npy: expected an .npy file, but it can't be read: "),
        ("run program.py:scaled text.npy", "text.npy: expected an .npy file, but it can't be read: the magic string"),
        ("run program.py:scaled short.npy", "short.npy: expected an .npy file, but it can't be read: "),
        (
            "run program.py:scaled short.npz",
            "short.npz: expected an .npz file, but it can't be read: File is not a zip",
        ),
        ("run program.py:scaled strange.npz", "its member 'readme.txt' is no array"),
        ("run program.py:scaled objects.npy", "but it can't be read: Object arrays cannot be loaded"),
        ("run program.py:scaled objects.npz", "but it can't be read: Object arrays cannot be loaded"),
        ("run program.py:scaled dates.npy", "dates.npy: "),
        ("run program.py:scaled x.npy -o out.txt", "out.txt: expected an output OUT.npy, for one array, or OUT.npz"),
        ("run program.py:scaled x.npy -o no/out.npy", "no/out.npy: there is no folder no"),
        ("run program.py:scaled x.npy -o folder.npy", "folder.npy: that is a folder"),
        (
            "run program.py:kept x=2 k=1 -o out.npy",
            "out.npy: kept returned 5 arrays, x, pair.0, pair.1, flow.left, flow",
        ),
        (
            "run program.py:note x.npy -o out.npz",
            "note returned unit = 'metres', which can't be written: it is no array",
        ),
        ("run program.py:narrow x.npy -o out.npy", "arr_0 = bfloat16[2, 3], which can't be written: it has a dtype"),
        (
            "run program.py:clash x.npy -o out.npz",
            "clash returned two arrays that would both be called 'a.0'; rename one",
        ),
        ("run program.py:nothing -o out.npy", "nothing returned None, which has no array to write"),
    ],
)
def test_wrong_input(run: Run, folder: Path, line: str, message: str) -> None:
    files = sorted(folder.iterdir())
    status, out, err = run(line)
    assert (status, out) == (2, "")
    assert message in err and err.startswith("lamina: ") and err.count("\n") == 1
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == files  # nothing half-written


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("broken.py:f x.npy", "broken.py:3: SyntaxError: "),
        ("failing.py:f x.npy", "failing.py:3: FileNotFoundError: "),
        ("missing.py:f x.npy", "missing.py:1: ModuleNotFoundError: No module named 'no_such_package'\n"),
        ("quitting.py:f x.npy", "quitting.py:1: SystemExit: 0\n"),
        ("program.py:raising x.npy", f"{line_of('raise LookupError')}: LookupError: no such\nplate\n"),
        ("program.py:leaving x.npy", f"{line_of('raise SystemExit')}: SystemExit: 3\n"),
        ("program.py:mismatched x.npy", "ValueError: lamina.add: operands could not be broadcast together with shapes"),
        ("program.py:mismatched x.npy", f"({line_of('y + np.ones(7)')})\n"),
        ("program.py:branching x.npy", f"{line_of('if x.shape')}: ValueError: The truth value of an array with more"),
        ("program.py:count 9999999", "OverflowError: a Python integer in a compiled function is limited to 64 bits ("),
        ("program.py:count 9999999", f"{line_of('n * n * n')}, in count)\n"),
    ],
)
def test_a_program_that_raises(run: Run, line: str, message: str) -> None:
    status, out, err = run(f"run {line}")
    assert (status, out) == (1, "")
    assert message in err and err.startswith("lamina: ")
    assert "Traceback" not in err


def test_the_traceback_on_demand(run: Run) -> None:
    status, _, err = run("run program.py:raising x.npy --traceback")
    assert status == 1
    assert "Traceback (most recent call last)" in err and 'raise LookupError("no such\\nplate")' in err
    status, _, err = run("run program.py:scaled text.npy --traceback")
    assert status == 2 and "the magic string" in err.splitlines()[-1] and "Traceback" in err


def test_a_failing_write_leaves_the_old_file(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    Path("out.npz").write_text("old")
    files = sorted(folder.iterdir())
    monkeypatch.setattr(np.lib.format, "write_array", full)
    status, out, err = run("run program.py:scaled x.npy -o out.npz")
    assert (status, out, err) == (2, "", "lamina: out.npz: it can't be written: No space left on device\n")
    assert Path("out.npz").read_text() == "old"
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == files


def test_damaged_files_are_one_message(run: Run, folder: Path, rng: np.random.Generator) -> None:
    """Cut anywhere, or with a byte changed anywhere: it is read, or refused with one message that names it."""
    for name in ("x.npy", "both.npz"):
        whole = Path(name).read_bytes()
        damaged = f"damaged{name[-4:]}"
        for length in rng.integers(0, len(whole), 20):
            Path(damaged).write_bytes(whole[:length])
            status, _, err = run(
                f"run program.py:number n={damaged}" if name == "x.npy" else f"run program.py:scaled {damaged}"
            )
            assert status == 2 and err.startswith(f"lamina: {damaged}: ") and err.count("\n") == 1
        for place, byte in zip(rng.integers(0, len(whole), 60), rng.integers(1, 256, 60), strict=True):
            content = bytearray(whole)
            content[place] ^= int(byte)
            Path(damaged).write_bytes(content)
            status, _, err = run(
                f"run program.py:number n={damaged}" if name == "x.npy" else f"run program.py:scaled {damaged}"
            )
            assert status in (0, 2) and err.count("\n") == (status != 0)


# Explanations


def test_a_function_is_explained(run: Run) -> None:
    status, out, err = run("explain program.py:scaled x.npy k=3")
    assert (status, err) == (0, "")
    assert out.startswith('scaled(x: float64[2, 3], k: int) with compiler="native"\n')
    assert "  return x * k\n" in out and "multiply: kernel 1\n" in out
    assert "results 48 bytes" in out


def test_what_falls_back_is_explained(run: Run) -> None:
    status, out, _ = run("explain program.py:mapping x.npy")
    assert status == 0 and "mapping(x: float64[2, 3]) runs as plain Python, not compiled:\n" in out


# Help, and the command as a process


def test_help(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for line, wanted in (("--help", "lamina run FILE.py:FUNCTION INPUT..."), ("run --help", "NAME=FILE.npy")):
        with pytest.raises(SystemExit) as done:
            cli.main(line.split())
        assert done.value.code == 0 and wanted in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main([])
    assert "lamina run FILE.py:FUNCTION INPUT..." in capsys.readouterr().out


def test_version(run: Run) -> None:
    status, out, _ = run("--version")
    assert status == 0 and re.fullmatch(r"lamina (\d+\.\d+\.\d+|\(not installed: run from its source\))\n", out)


def process(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "lamina", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]


def test_as_a_process(folder: Path) -> None:
    done = process("run", "program.py:scaled", "x.npy", "3", "-o", "out.npy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "out.npy: arr_0 float64[2, 3]\n", "")
    assert np.load("out.npy").shape == (2, 3)
    done = process("run", "program.py:scaled")
    assert done.returncode == 2 and done.stderr.startswith("lamina: program.py:scaled takes (x, k=2)")
    done = process("run", "program.py:raising", "x.npy")
    assert done.returncode == 1 and "LookupError" in done.stderr and done.stdout == ""


def test_the_order_names_the_users_lines_alone(folder: Path) -> None:
    made = process("trace", "program.py:made").stdout
    assert re.search(rf"  %0  iota  int64\[3\]  .*{line_of('return np.arange(3)')}\n$", made)


def test_a_reader_that_stops_early_is_no_error(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "lamina", "trace", "program.py:repeated", "x.npy", "3"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


def output_of(*arguments: str, stdout: object, **variables: str) -> tuple[int, str]:
    """The exit status and the errors of a process whose output goes elsewhere."""
    command = [sys.executable, "-m", "lamina", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    done = subprocess.run(command, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)  # type: ignore[call-overload]
    return done.returncode, done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_has_no_place_is_one_error(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        for arguments in (("run", "program.py:scaled", "x.npy"), ("trace", "program.py:scaled", "x.npy")):
            status, errors = output_of(*arguments, stdout=full)
            assert (status, errors.count("\n")) == (2, 1)
            assert errors.startswith("lamina: the output can't be written: ")


def test_output_that_the_terminal_has_no_letters_for_is_one_error(folder: Path) -> None:
    Path("letters.py").write_text('def letters(x):\n    return {"é": x}\n', encoding="utf-8")
    status, errors = output_of(
        "run", "letters.py:letters", "x.npy", stdout=subprocess.DEVNULL, PYTHONIOENCODING="ascii"
    )
    assert (status, errors.count("\n")) == (2, 1) and "the output can't be written: 'ascii' codec" in errors


def test_no_output_at_all(folder: Path) -> None:
    command = f"exec {shlex.quote(sys.executable)} -m lamina run program.py:scaled x.npy >&-"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_progress_only_on_a_terminal(folder: Path) -> None:
    """A terminal sees what is going on; what is piped is results alone."""
    import pty

    (folder / "slow.py").write_text("import time\n\ndef slow(n):\n    time.sleep(0.5)\n    return n\n")
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    command = [sys.executable, "-m", "lamina", "run", "slow.py:slow", "3"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=follower) as running:
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # Linux ends a terminal with EIO
            while piece := os.read(leader, 4096):
                shown += piece
        assert running.stdout is not None
        assert running.stdout.read() == b"slow = 3\n"
    os.close(leader)
    assert running.returncode == 0
    assert "running slow…" in shown.decode()


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")
def test_an_explanation_on_a_terminal_has_the_same_text(folder: Path) -> None:
    """Marked, but not wrapped, and nothing of the user's source is taken for a mark."""
    import pty

    (folder / "marks.py").write_text(
        "def marks(x):\n    red = bold = 0\n    return x[bold:][red:], ':smile:'[red] and x\n"
    )
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "40"}
    command = [sys.executable, "-m", "lamina", "explain", "marks.py:marks", "x.npy"]
    with subprocess.Popen(command, env=environment, stdout=follower, stderr=subprocess.DEVNULL):
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # Linux ends a terminal with EIO
            while piece := os.read(leader, 4096):
                shown += piece
    os.close(leader)
    plain = process("explain", "marks.py:marks", "x.npy").stdout
    marked = shown.decode().replace("\r\n", "\n")
    assert "\x1b[1m" in marked and re.sub(r"\x1b\[[\d;]*m", "", marked) == plain
