"""The source of a function is found wherever Python itself finds it."""

import ast
import importlib
import inspect
import linecache
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina.trace.source import definition_of

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


AFTER = "# a comment\n\nf_is_over = True\n"


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    return max(\n        x,\n        (x + 1),\n    )\n",
        "def f(x):\n    return (\n        x\n    # a comment\n)\n",
        'def f(x):\n    y = x\n    """what it leaves\nis y"""\n',
        'def f(x):\n    """At the margin:\n1"""\n',
        "def f(x):\n    return x + '''\nat the margin\n'''\n",
        "def f(x):\n    for _ in x:\n        pass\n    else:\n        pass\n    z: int\n",
        "def f(x):\n    y = x\n    if 0:\n        y = 1\n",
        "def f(x):\n    def g():\n        class C:\n            def h(self): return (x\n)\n    # a comment\n",
        "def f(x): return x; y: int\n",
        "def f(x,\n      y=(1,\n2)): return [\n  x for x in y\n]\n",
        "@(lambda g:\ng)\ndef f(x):\n    return x\n",
        "def f(x):\n    return x \\\n+ 1\n",
        "def f(x):\n\tif x:\n\t\treturn [x,\n]\n",
        "def f(x):\n    pass",
    ],
)
def test_all_of_a_function_is_parsed(source: str) -> None:
    text = f"{AFTER}{source}\n{AFTER}"
    linecache.cache["<all of it>"] = len(text), None, text.splitlines(keepends=True), "<all of it>"
    namespace: dict[str, object] = {}
    exec(compile(text, "<all of it>", "exec"), namespace)
    (expected,) = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    found = definition_of(namespace["f"].__code__)
    assert ast.dump(found, include_attributes=True) == ast.dump(expected, include_attributes=True)


def test_all_of_every_function_is_parsed() -> None:
    for module in (ast, inspect, linecache):
        tree = ast.parse(inspect.getsource(module))
        for expected in tree.body:
            if isinstance(expected, ast.FunctionDef) and inspect.isfunction(function := getattr(module, expected.name)):
                found = definition_of(inspect.unwrap(function).__code__)
                assert ast.dump(found, include_attributes=True) == ast.dump(expected, include_attributes=True)
