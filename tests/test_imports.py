"""Imports flow one way: a room imports only rooms above it, and `import lamina` loads nothing slow."""

import ast
import functools
import graphlib
import itertools
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "lamina"

# The rooms in the order in which data flows. A room imports only those before it. `lamina` itself is the front door:
# what stands before it can't ask it for a name. docs/rooms.md says what each room is for.
ROOMS = (
    "errors",
    "dtype",
    "layout",
    "operators",
    "dlpack",
    "gathering",
    "array",
    "roots",
    "expr",
    "tree",
    "evaluator",
    "trace",
    "api",
    "linalg",
    "fft",
    "blocks",
    "numpy_protocol",
    "passes",
    "program",
    "threads",
    "compilers",
    "mlx",
    "arguments",
    "results",
    "shortcut",
    "defn",
    "explain",
    "lamina",
    "testing",
    "cli",
    "__main__",
)

# (importing module, imported room): why this one edge may go up. Such an import stands inside a function.
UPWARD: dict[tuple[str, str], str] = {}

# What `import lamina` must leave alone: packages that are loaded when they are needed, and slow parts of Python.
LAZY = (
    "IPython",
    "argparse",
    "asyncio",
    "concurrent.futures",
    "email",
    "http",
    "hypothesis",
    "llvmlite",
    "mlx",
    "shortcut",
    "multiprocessing",
    "numba",
    "optree",
    "platformdirs",
    "pytest",
    "rich",
    "scipy",
    "subprocess",
    "unittest",
    "urllib.request",
)

# Packages of an extra, each with the one room that imports it; `import lamina` doesn't.
EXTRAS = {"mlx": "mlx"}

STANDARD_LIBRARY = sys.stdlib_module_names


class Import(NamedTuple):
    """One import of one module by another, as the source has it."""

    module: str
    imported: str
    line: int
    in_function: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports_of(module: str, source: str, is_package: bool, modules: frozenset[str]) -> list[Import]:
    """Every import in `source`, wherever it stands; `from package import module` is an import of that module."""
    found = []

    def visit(node: ast.AST, in_function: bool) -> None:
        match node:
            case ast.Import(names=names):
                found.extend(Import(module, name.name, node.lineno, in_function) for name in names)
            case ast.ImportFrom(module=base, names=names, level=level):
                if level:
                    package = module.split(".") if is_package else module.split(".")[:-1]
                    package = package[: len(package) - level + 1]
                    base = ".".join([*package, *([base] if base else [])])
                for name in names:
                    inner = f"{base}.{name.name}"
                    found.append(Import(module, inner if inner in modules else base, node.lineno, in_function))
        inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(ast.parse(source), in_function=False)
    return found


@functools.cache
def all_imports() -> tuple[Import, ...]:
    names = frozenset(MODULES)
    return tuple(
        itertools.chain.from_iterable(
            imports_of(module, path.read_text(encoding="utf-8"), path.name == "__init__.py", names)
            for module, path in MODULES.items()
        )
    )


def room(module: str) -> str:
    """The room a module of lamina is in: the part after `lamina.`, or `lamina` for the package's own `__init__`."""
    _, _, rest = module.partition(".")
    return rest.partition(".")[0] or "lamina"


def is_upward(edge: Import) -> bool:
    return ROOMS.index(room(edge.imported)) > ROOMS.index(room(edge.module))


def own_imports() -> list[Import]:
    return [edge for edge in all_imports() if edge.imported.partition(".")[0] == "lamina"]


def test_every_module_is_in_a_room() -> None:
    assert MODULES
    assert {room(module) for module in MODULES} <= set(ROOMS)


def test_rooms_import_only_rooms_above() -> None:
    wrong = [
        f"{edge.module}:{edge.line} imports {edge.imported}, which stands below"
        for edge in own_imports()
        if is_upward(edge) and not (edge.in_function and (edge.module, room(edge.imported)) in UPWARD)
    ]
    assert not wrong, "\n".join(wrong)


def test_upward_imports_that_are_allowed_are_there() -> None:
    used = {(edge.module, room(edge.imported)) for edge in own_imports() if is_upward(edge)}
    assert set(UPWARD) <= used


def test_modules_have_no_cycle() -> None:
    graph: dict[str, set[str]] = {module: set() for module in MODULES}
    for edge in own_imports():
        if not edge.in_function and edge.imported != edge.module:
            graph[edge.module].add(edge.imported)
    assert set(graphlib.TopologicalSorter(graph).static_order()) >= set(MODULES)


def test_declared_dependencies_are_those_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.match(r"[\w.-]+", line).group().replace("-", "_").lower() for line in project["dependencies"]}
    packages = [(edge.imported.partition(".")[0], edge.module) for edge in all_imports()]
    imported = {package for package, _ in packages} - {"lamina"} - STANDARD_LIBRARY
    assert imported - EXTRAS.keys() == declared
    assert {(package, room(module)) for package, module in packages if package in EXTRAS} == set(EXTRAS.items())
    assert EXTRAS.keys() <= project["optional-dependencies"].keys()


def test_import_loads_nothing_slow() -> None:
    """Beyond what NumPy itself loads, in a process of its own."""
    program = (
        "import sys, numpy; before = set(sys.modules); import lamina; "
        "print(lamina.__file__, *sorted(set(sys.modules) - before), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    file, *loaded = done.stdout.splitlines()
    assert Path(file).parent == PACKAGE
    assert "lamina.dtype" in loaded
    assert not [name for name in loaded if name in LAZY or name.startswith(tuple(f"{lazy}." for lazy in LAZY))]


@pytest.mark.parametrize(
    ("module", "source", "imported"),
    [
        ("lamina.array", "import lamina.api", "lamina.api"),
        ("lamina.array", "from lamina import api", "lamina.api"),
        ("lamina.array", "from lamina.api import elementwise", "lamina.api"),
        ("lamina.array", "from . import api", "lamina.api"),
        ("lamina.expr.node", "from ..api import elementwise as e", "lamina.api"),
        ("lamina.array", "def f():\n    from lamina import api", "lamina.api"),
        ("lamina.array", "if TYPE_CHECKING:\n    from lamina.api import x", "lamina.api"),
        ("lamina.array", "from lamina import concat", "lamina"),
    ],
)
def test_a_wrong_import_is_seen(module: str, source: str, imported: str) -> None:
    (edge,) = imports_of(module, source, is_package=False, modules=frozenset({"lamina", "lamina.api", module}))
    assert edge.imported == imported
    assert is_upward(edge)
    assert edge.in_function == source.startswith("def")
