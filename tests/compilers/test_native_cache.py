"""Object code on disk: it is what was made, whatever happens to the files, and nothing else is touched."""

import errno
import multiprocessing
import os
import random
import stat
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import platformdirs
import pytest

import lamina
from lamina import cli
from lamina.compilers.native import cache, jit
from lamina.errors import LaminaWarning

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the entries, which isn't there yet."""
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(cache, "_WARNED", [])
    return tmp_path / "kept"


def kept(text: str, code: bytes = b"code") -> tuple[bytes, bool]:
    """The code that is kept for a text, and whether it had to be made."""
    made = []
    found = cache.kept((text,), lambda: made.append(text) or code)  # type: ignore[func-returns-value]
    return found, bool(made)


def the_entry(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


# In a process of its own


class Run(NamedTuple):
    value: str
    made: int
    warned: int


PROGRAM = """
import warnings
import numpy as np
import lamina
from lamina.compilers.native import jit
from lamina.errors import LaminaWarning

made, make = [], jit._object_code
jit._object_code = lambda text, level: made.append(text) or make(text, level)
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    f = lamina.defn(lambda x: x * x + 1, compiler="native")
    g = lamina.defn(lambda x: f(x) * 0.5, compiler="native")
    value = f({argument})
    if {both}:
        g(3)
assert all(each.category is LaminaWarning for each in given), given
print(repr(value), len(made), len(given))
"""


def in_new_process(
    tmp_path: Path, folder: Path | None, both: bool = False, argument: str = "3", **environment: str
) -> Run:
    """Compile f, and another one if both, and call f(argument); nothing is written but into the folder."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR"), str(elsewhere))
    inherited = {name: value for name, value in os.environ.items() if name != "LAMINA_CACHE_DIR"}
    given = {} if folder is None else {"LAMINA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM.format(both=both, argument=argument)],
        env={**inherited, **places, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "random", **given, **environment},
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    if folder is not None:
        assert list(elsewhere.iterdir()) == []
    value, made, warned = done.stdout.rsplit(maxsplit=2)
    return Run(value, int(made), int(warned))


@pytest.mark.parametrize("case", ["C01"])
def test_a_damaged_or_unwritable_cache(case: str, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    right = in_new_process(tmp_path, folder)
    assert (right.made, right.warned) == (1, 0)
    assert np.asarray(eval(right.value, {"np": np, "array": np.array})) == 10
    path = the_entry(folder)
    whole = path.read_bytes()
    assert in_new_process(tmp_path, folder) == right._replace(made=0)
    flipped = bytearray(whole)
    flipped[-7] ^= 4
    for damaged in (b"", whole[:1], whole[: len(whole) // 2], bytes(flipped)):
        path.write_bytes(damaged)
        assert in_new_process(tmp_path, folder) == right
        assert path.read_bytes() == whole and the_entry(folder) == path  # rebuilt, and replaced
    assert in_new_process(tmp_path, folder) == right._replace(made=0)
    # nobody can write below a file, not even a user whom permissions don't bind
    for _ in range(2):
        assert in_new_process(tmp_path, path / "kept", both=True) == right._replace(made=2, warned=1)
    folder.chmod(0o500)
    assert in_new_process(tmp_path, folder).value == right.value
    folder.chmod(0o700)


def test_what_threads_run_is_found_too(tmp_path: Path) -> None:
    folder, large = tmp_path / "kept", "np.arange(2.0**22)"
    first = in_new_process(tmp_path, folder, argument=large)
    assert first.made > 1  # the program, and what runs the parts of a large kernel of any program
    assert in_new_process(tmp_path, folder, argument=large) == (first.value, 0, 0)


def test_it_can_be_turned_off(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    assert in_new_process(tmp_path, folder, LAMINA_CACHE="0").made == 1
    assert not folder.exists()


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAMINA_CACHE_DIR")
    assert cache.cache_folder() == Path(platformdirs.user_cache_dir("lamina", appauthor=False))
    monkeypatch.setenv("LAMINA_CACHE", "0")
    assert cache.cache_folder() is None


@pytest.mark.skipif(sys.platform != "linux", reason="where it is depends on the system")
def test_a_process_writes_to_the_users_folder(tmp_path: Path) -> None:
    assert in_new_process(tmp_path, None) == in_new_process(tmp_path, None)._replace(made=1)
    assert the_entry(tmp_path / "elsewhere").name == "lamina"


# Entries


def test_what_was_made_is_kept(folder: Path) -> None:
    assert kept("a", b"one") == (b"one", True)
    assert kept("a", b"two") == (b"one", False)
    assert kept("b", b"") == (b"", True)
    assert kept("b", b"two") == (b"", False)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_every_part_of_what_determines_the_code_counts(folder: Path) -> None:
    parts = [("a", "b"), ("ab", ""), ("", "ab"), ("ab",), ("a", "b", ""), ("b", "a")]
    for i, part in enumerate(parts):
        assert cache.kept(part, lambda i=i: bytes([i])) == bytes([i])
    assert [cache.kept(part, bytes) for part in parts] == [bytes([i]) for i in range(len(parts))]


def test_any_damage_is_seen(folder: Path) -> None:
    kept("a", b"some code")
    path = the_entry(folder)
    whole = path.read_bytes()
    damaged = [whole[:length] for length in range(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))]
    damaged += [whole + b"x", whole * 2, bytes(len(whole))]
    for each in damaged:
        path.write_bytes(each)
        assert kept("a", b"some code") == (b"some code", True), each
        assert path.read_bytes() == whole


def test_the_entry_of_another_text_is_not_believed(folder: Path) -> None:
    kept("a", b"one")
    other = the_entry(folder)
    kept("b", b"two")
    (path,) = set(folder.iterdir()) - {other}
    os.replace(other, path)
    assert kept("b", b"two") == (b"two", True)
    assert kept("b") == (b"two", False)


def test_the_code_is_that_of_the_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "define i32 @seven(ptr %a, ptr %b, ptr %c, i64 %d) { ret i32 7 }"
    host = jit._host()
    for level in (jit.THOROUGH, jit.LOOPS, jit.QUICK):
        assert jit.Code(text, lambda: text, level).function("seven")(None, None, None, 1) == 7
    assert len(list(folder.iterdir())) == 3
    determined = {jit._determined_by(level) for level in (jit.THOROUGH, jit.LOOPS, jit.QUICK)}
    for other in (host._replace(cpu="another"), host._replace(features=f"{host.features},+another")):
        monkeypatch.setattr(jit, "_host", lambda other=other: other)
        determined.add(jit._determined_by(jit.THOROUGH))
    assert len(determined) == 5


def test_a_program_found_is_not_compiled(folder: Path, monkeypatch: pytest.MonkeyPatch, rng: Any) -> None:
    x = rng.random((3, 50))

    def softmax(x: np.ndarray) -> np.ndarray:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    first = lamina.defn(softmax, compiler="native")(x)
    np.testing.assert_allclose(first, softmax(x), rtol=1e-14)
    monkeypatch.setattr(jit, "_CODE", {})
    monkeypatch.setattr(jit, "_object_code", lambda *args: pytest.fail("it was compiled"))
    np.testing.assert_array_equal(lamina.defn(softmax, compiler="native")(x), first)


# Folders and files that can't be used


def test_a_folder_below_a_file_is_one_warning(folder: Path) -> None:
    folder.write_text("a file")
    with pytest.warns(LaminaWarning, match="LAMINA_CACHE=0") as given:
        assert [kept("a"), kept("a"), kept("b")] == [(b"code", True)] * 3
    assert len(given) == 1
    assert folder.read_text() == "a file"


@pytest.mark.skipif(os.name != "posix", reason="permissions are the system's")
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_to_is_not_used(folder: Path, mode: int) -> None:
    kept("a", b"one")
    folder.chmod(mode)
    with pytest.warns(LaminaWarning, match="can be written by other users") as given:
        assert [kept("a", b"two"), kept("b", b"two")] == [(b"two", True)] * 2
    assert len(given) == 1
    folder.chmod(0o700)
    assert kept("a", b"two") == (b"one", False)
    assert len(list(folder.iterdir())) == 1


@pytest.mark.skipif(os.name != "posix", reason="users are the system's")
def test_a_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept("a", b"one")
    user = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: user)
    with pytest.warns(LaminaWarning, match="belongs to another user"):
        assert kept("a", b"two") == (b"two", True)


@pytest.mark.skipif(os.name != "posix", reason="permissions are the system's")
def test_an_entry_that_others_can_write_to_is_made_anew(folder: Path) -> None:
    kept("a", b"one")
    the_entry(folder).chmod(0o666)
    assert kept("a", b"two") == (b"two", True)
    assert kept("a", b"three") == (b"two", False)


def test_a_full_disk_is_one_warning_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*paths: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(LaminaWarning, match=os.strerror(errno.ENOSPC)) as given:
        assert [kept("a"), kept("b")] == [(b"code", True)] * 2
    assert len(given) == 1
    assert list(folder.iterdir()) == []


# The limit, and clearing


def test_what_was_used_longest_ago_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [str(i) for i in range(200)]
    for i, text in enumerate(texts):
        before = set(folder.glob("*"))
        kept(text)
        (path,) = set(folder.iterdir()) - before
        os.utime(path, (i, i))
    size = path.stat().st_size
    left = folder / f".{'1' * 40}.left"  # by a process that was killed while it wrote
    left.write_bytes(b"x")
    os.utime(left, (0, 0))
    (folder / "mine.txt").write_text("not an entry")
    assert kept(texts[3]) == (b"code", False)  # so it is the last that was used
    monkeypatch.setattr(cache, "LIMIT", 50 * size)
    while len(list(folder.iterdir())) > 100:
        texts.append(str(len(texts)))
        kept(texts[-1])
        assert len(texts) < 240
    assert sum(found.st_size for _, found in cache.entries(folder)) == 50 * size
    assert (folder / "mine.txt").exists()
    monkeypatch.setattr(cache, "_write", lambda *args: None)
    assert [text for text in texts if not kept(text)[1]] == [texts[3], *texts[-49:]]


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*arguments: str) -> tuple[int, list[str], str]:
        status = cli.main(["cache", *arguments])
        output = capsys.readouterr()
        return status, [line.split(maxsplit=1)[-1] for line in output.out.splitlines()], output.err

    assert said() == (0, [str(folder), "0", "0 of at most 134,217,728"], "")
    kept("a", bytes(1000))
    kept("b", bytes(2000))
    (folder / "mine.txt").write_text("not an entry")
    size = sum(path.stat().st_size for path in folder.iterdir() if path.name != "mine.txt")
    assert said() == (0, [str(folder), "2", f"{size:,} of at most 134,217,728"], "")
    assert said("clear") == (0, [str(folder), "0", "0 of at most 134,217,728"], "")
    assert the_entry(folder).name == "mine.txt"
    status, _, error = said("clean")
    assert status == 2 and "clear" in error
    monkeypatch.setenv("LAMINA_CACHE_DIR", str(folder / "mine.txt"))
    assert said() == (2, [], f"lamina: {folder / 'mine.txt'}: the cache can't be read: Not a directory\n")
    monkeypatch.setenv("LAMINA_CACHE", "0")
    assert cli.main(["cache"]) == 0
    assert "LAMINA_CACHE=0" in capsys.readouterr().out


# Many processes


def _hammer(folder: str, seed: int) -> None:
    """Use entries, and damage and remove them; in a process of its own, which an error or a warning ends."""
    warnings.simplefilter("error")
    os.environ["LAMINA_CACHE_DIR"] = folder
    cache.LIMIT = 20_000
    draw = random.Random(seed)
    for _ in range(400):
        n = draw.randrange(60)
        code = bytes([n]) * (n * 20)
        assert cache.kept((str(n),), lambda code=code: code) == code  # type: ignore[misc]
        files = [path for path, _ in cache.entries(Path(folder))] or [f"{folder}/nothing"]
        victim = draw.choice(files)
        try:
            match draw.randrange(12):
                case 0:
                    os.truncate(victim, draw.randrange(100))
                case 1:
                    os.unlink(victim)
                case 2:
                    with open(victim, "r+b") as file:
                        file.seek(draw.randrange(60))
                        file.write(b"?")
                case 3 if draw.randrange(20) == 0:
                    cache.clear(Path(folder))
                case 4 if draw.randrange(20) == 0:
                    os.rename(folder, f"{folder}.{seed}.{draw.random()}")
        except FileNotFoundError:
            pass


def test_eight_processes_at_once(folder: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_hammer, args=(str(folder), seed)) for seed in range(8)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    assert [each.exitcode for each in processes] == [0] * 8
    for n in range(60):
        assert kept(str(n), bytes([n]) * (n * 20))[0] == bytes([n]) * (n * 20)
    assert not list(folder.glob(".*"))
