"""The source of a function is found wherever Python itself finds it."""

import importlib
import linecache
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import lamina

SOURCE = """
def positive(x):
    if x.sum() > 0:
        return x
    return -x
"""


def expect_traced(function) -> None:
    compiled = lamina.defn(function, strict=True)  # raises where it would have to run as plain Python
    assert compiled(np.array([-1, -2])).tolist() == [1, 2]
    assert compiled(np.array([1, 2])).tolist() == [1, 2]


def test_in_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("in_an_archive.py", SOURCE)
    monkeypatch.syspath_prepend(tmp_path / "archive.zip")
    expect_traced(importlib.import_module("in_an_archive").positive)
    del sys.modules["in_an_archive"]


def test_in_a_file_that_was_edited(tmp_path: Path) -> None:
    path = tmp_path / "edited.py"
    for head in ("", "# a line more\n" * 3):
        path.write_text(head + SOURCE)
        namespace: dict[str, object] = {}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        expect_traced(namespace["positive"])


def test_typed_in() -> None:
    name = "<typed in>"
    linecache.cache[name] = len(SOURCE), None, SOURCE.splitlines(keepends=True), name
    namespace: dict[str, object] = {}
    exec(compile(SOURCE, name, "exec"), namespace)
    expect_traced(namespace["positive"])
