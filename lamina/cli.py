"""The command ``lamina``: run a function of a file on arrays from files, print its graph, or explain it.

The last room; nothing imports it. It reads inputs, calls `lamina.defn`, `lamina.trace` or `lamina.explain`, and writes
results. A fault is one message on stderr and an exit status: 2 where the command or an input is wrong, 1 where the
program raised. Files are never unpickled, and an output file is there whole or not at all.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import secrets
import shutil
import sys
import sysconfig
import traceback
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from lamina import dtype as dt
from lamina.defn import Defn, defn, trace
from lamina.explain import explain
from lamina.expr import Expr, Graph, describe
from lamina.expr.containers import flatten, paths_of

_EPILOG = """\
inputs, in the order of the function's parameters:
  FILE.npy         an array
  FILE.npz         all its arrays, each as the argument of its name
  3, -0.5, 1j      a Python number; True and False too
  NAME=NUMBER      a number as the argument NAME
  NAME=FILE.npy    an array as the argument NAME

exit status: 0 done, 1 the program raised, 2 the command or an input is wrong
"""


class _BadInput(Exception):
    """What the command or an input has wrong; the message is all that a user needs."""


class _Raised(Exception):
    """The user's program raised; the cause is what it raised."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _BadInput(f"{message}; see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with these arguments, those of the process if there are none; the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    cause: BaseException | None
    try:
        status = _command(arguments)
        print(end="", flush=True)  # which a closed stdout, None, doesn't mind
        return status
    except BrokenPipeError:  # who read our output, `head` say, has seen enough
        _drop_output()
        return 0
    except (OSError, UnicodeEncodeError) as error:  # of ours: the files' and the program's are other classes by here
        _drop_output()
        status, message, cause = 2, f"the output can't be written: {_one_line(error)}", error
    except _BadInput as error:
        status, message, cause = 2, str(error), error.__cause__
    except _Raised as error:
        status, message, cause = 1, _description(error.__cause__), error.__cause__
    except KeyboardInterrupt:
        print("lamina: interrupted", file=sys.stderr)
        return 130
    if "--traceback" in arguments and cause is not None:
        traceback.print_exception(cause, file=sys.stderr)
    print(f"lamina: {message}", file=sys.stderr)
    return status


def _drop_output() -> None:
    """Nothing is left to flush at exit, where it would raise again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(arguments: list[str]) -> int:
    command, *rest = arguments or ["--help"]
    if command == "cache":
        return _cache(rest)
    if command not in _COMMANDS:
        if _main_parser().parse_args([command]).version:
            print(f"lamina {_version()}")
        return 0
    # argparse takes -1e-3 for an option; it never takes what begins with a space for one
    rest = [f" {text}" if text.startswith("-") and _is_number(text) else text for text in rest]
    asked = _command_parser(command).parse_intermixed_args(rest)
    output = asked.output if command == "run" else None
    if output is not None:
        _expect_writable(output)
    file, name = _target(asked.program)
    args, kwargs = _inputs(asked.inputs)
    with _on_path(file.parent):
        function = _function(file, name)
        _expect_arguments(asked.program, function, args, kwargs)
        if command == "trace":
            with _status(f"tracing {name}"), _users_program():
                graph = trace(function, *args, **kwargs)
            print(graph, _order(graph), sep="\n\n")
            return 0
        if command == "explain":
            with _status(f"explaining {name}"), _users_program():
                explained = explain(function, *args, **kwargs)
            _print_explained(str(explained))
            return 0
        compiled = function if isinstance(function, Defn) else defn(function)
        with _status(f"running {name}"), _users_program():
            results = compiled(*args, **kwargs)
    if output is None:
        print(_shown(name, results))
    else:
        arrays = _named_arrays(name, results)
        _write(output, name, arrays)
        print(f"{output}: {', '.join(f'{key} {_described(array)}' for key, array in arrays.items())}")
    return 0


_COMMANDS = {
    "run": "run a function on inputs, and print or write its results",
    "trace": "print the graph of a function on inputs like these, and the order of its nodes",
    "explain": "say line by line what becomes of a function on inputs like these, and what is copied and why",
}

_CACHE = "show where compiled code is kept on disk and how much of it; or remove it"


def _main_parser() -> _Parser:
    lines = "\n".join(f"  lamina {name} FILE.py:FUNCTION INPUT...   {doc}" for name, doc in _COMMANDS.items())
    parser = _Parser(
        prog="lamina",
        usage="lamina {run,trace,explain} FILE.py:FUNCTION INPUT...\n       lamina cache [clear]",
        description=f"Run and read NumPy programs.\n\n{lines}\n  lamina cache [clear]   {_CACHE}"
        "\n\nlamina run --help says what an INPUT is.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="?", choices=[*_COMMANDS, "cache"], help=argparse.SUPPRESS)
    parser.add_argument("--version", action="store_true", help="print the version")
    return parser


def _command_parser(command: str) -> _Parser:
    parser = _Parser(
        prog=f"lamina {command}",
        description=f"{_COMMANDS[command].capitalize()}.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("program", metavar="FILE.py:FUNCTION", help="a function of a Python file, decorated or not")
    parser.add_argument("inputs", metavar="INPUT", nargs="*", help="an array or a number, see below")
    if command == "run":
        parser.add_argument(
            "-o",
            "--output",
            metavar="OUT",
            help="write the results to OUT: an .npy for one array, an .npz for a container; else they are printed",
        )
    parser.add_argument("--traceback", action="store_true", help="show the whole traceback of an error")
    return parser


def _version() -> str:
    try:
        return importlib.metadata.version("lamina")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed: run from its source)"


def _cache(arguments: list[str]) -> int:
    parser = _Parser(prog="lamina cache", description=f"{_CACHE.capitalize()}.", allow_abbrev=False)
    parser.add_argument("action", nargs="?", choices=["clear"], help="remove all entries")
    action = parser.parse_args(arguments).action
    cache = importlib.import_module("lamina.compilers.native.cache")  # and LLVM with it
    folder = cache.cache_folder()
    if folder is None:
        print("no compiled code is kept on disk: LAMINA_CACHE=0")
        return 0
    try:
        if action == "clear":
            cache.clear(folder)
        sizes = [found.st_size for _, found in cache.entries(folder)]
    except OSError as error:
        raise _BadInput(f"{folder}: the cache can't be {'cleared' if action else 'read'}: {error.strerror}") from error
    print(f"folder   {folder}\nentries  {len(sizes)}\nbytes    {sum(sizes):,} of at most {cache.LIMIT:,}")
    return 0


# The program


def _target(text: str) -> tuple[Path, str]:
    file, colon, name = text.rpartition(":")
    if not colon or not file.endswith(".py") or not name.isidentifier():
        raise _BadInput(f"expected FILE.py:FUNCTION, but got {text!r}")
    if not Path(file).is_file():
        raise _BadInput(f"{file}: there is no such file")
    return Path(file), name


@contextlib.contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    """What the file imports from beside it is found, as when Python runs the file."""
    before = list(sys.path)
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path[:] = before


def _function(file: Path, name: str) -> Callable[..., Any]:
    """The function of this name in a file, which is run; not as `__main__`."""
    spec = importlib.util.spec_from_file_location(f"lamina_program_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look for their own module
    with _users_program():
        spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise _BadInput(f"{file} has no function {name!r}; it has {', '.join(_functions(module)) or 'none'}")
    function = getattr(module, name)
    if not callable(function):
        raise _BadInput(f"{file}:{name} must be a function, but it is {function!r} ({type(function).__name__})")
    return function  # type: ignore[no-any-return]


def _functions(module: Any) -> list[str]:
    """The public functions that a module defines itself."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def _expect_arguments(program: str, function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return  # a function of C that doesn't say what it takes
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        given = ", ".join([*map(_described, args), *(f"{name}={_described(value)}" for name, value in kwargs.items())])
        raise _BadInput(f"{program} takes {signature}, but the inputs are ({given}): {error}") from error


@contextlib.contextmanager
def _users_program() -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:  # whatever a program raises, it is reported the same way
        raise _Raised from error


_LIBRARIES = tuple(
    os.path.join(path, "")
    for path in (
        *(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")),
        *(os.path.dirname(os.path.abspath(file)) for file in (__file__, np.__file__)),
    )
)


def _description(error: BaseException | None) -> str:
    """What a program raised and where: its line unless the message has it, which lamina's own errors often do."""
    assert error is not None
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
    notes = getattr(error, "__notes__", [])
    if notes:  # an error while the graph ran, with the line that asked for the node
        return f"{text} ({'; '.join(note.removeprefix('lamina: ') for note in notes)})"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((*_LIBRARIES, "<"))
    ]
    if not frames:
        return text
    where = f"{frames[-1].filename}:{frames[-1].lineno}"
    return text if where in text else f"{where}: {text}"


@contextlib.contextmanager
def _status(what: str) -> Iterator[None]:
    """Show what is going on and for how long, where somebody is looking."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}…"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=sys.stdout.isatty()) as progress:
        progress.add_task(what, total=None)
        yield


def _print_explained(text: str) -> None:
    """Print an explanation; where somebody is looking, with its headings and its copies marked."""
    if not sys.stdout.isatty():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    shown = Text(text)
    shown.highlight_regex(r"(?m)^\S.*$", "bold")
    shown.highlight_regex(r"copy of [\d,]+ bytes?", "yellow")
    Console().print(shown, soft_wrap=True)


# Inputs


def _inputs(texts: Sequence[str]) -> tuple[list[Any], dict[str, Any]]:
    """The positional and the keyword arguments that the inputs stand for."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for given in texts:
        text = given.strip()
        name, equals, value = text.partition("=")
        named: dict[str, Any] = {}
        if equals and name.isidentifier():
            if value.endswith(".npz"):
                raise _BadInput(
                    f"{text}: an .npz gives each of its arrays as the argument of its own name; write {value}"
                )
            named = {name: _input(value, text)}
        elif text.endswith(".npz"):
            named = _read_npz(text)
        else:
            args.append(_input(text, text))
        for each in named:
            if each in kwargs:
                raise _BadInput(f"the argument {each!r} is given twice, by {sources[each]} and by {text}")
            sources[each] = text
        kwargs |= named
    return args, kwargs


def _input(text: str, given: str) -> Any:
    if text.endswith(".npy"):
        return _read_npy(text)
    if _is_number(text):
        return _number(text)
    raise _BadInput(f"{given}: expected FILE.npy, FILE.npz, a number, NAME=FILE.npy or NAME=NUMBER")


_LITERALS: dict[str, bool] = {"True": True, "False": False}


def _number(text: str) -> bool | int | float | complex:
    """The number that a text stands for; `ValueError` for any other."""
    if text in _LITERALS:
        return _LITERALS[text]
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return complex(text)


def _is_number(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def _reading(path: str) -> Iterator[BinaryIO]:
    """An open file; whatever goes wrong with it names it. Nothing in it is ever unpickled."""
    try:
        with open(path, "rb") as file:
            yield file
    except _BadInput:
        raise
    except FileNotFoundError as error:
        raise _BadInput(f"{path}: there is no such file") from error
    except Exception as error:  # damaged bytes make NumPy and zipfile raise nearly anything
        kind = f"an {path[-4:]} file"
        raise _BadInput(f"{path}: expected {kind}, but it can't be read: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _read_npy(path: str) -> np.ndarray:
    with _reading(path) as file:
        return _array(path, file)


def _read_npz(path: str) -> dict[str, np.ndarray]:
    with _reading(path) as file, zipfile.ZipFile(file) as archive:
        arrays = {}
        for member in archive.namelist():
            if not member.endswith(".npy"):
                raise ValueError(f"its member {member!r} is no array")
            with archive.open(member) as inner:
                arrays[member.removesuffix(".npy")] = _array(f"{path}, {member}", inner)
        return arrays


def _array(what: str, file: Any) -> np.ndarray:
    array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    try:
        dt.from_numpy(array.dtype)
    except TypeError as error:
        raise _BadInput(f"{what}: {_one_line(error)}") from error
    return array


# Outputs


def _described(value: Any) -> str:
    return describe(value.dtype, value.shape) if isinstance(value, (np.ndarray, np.generic)) else repr(value)


_SHORT = {"threshold": 20, "edgeitems": 2, "linewidth": 100}


def _shown(name: str, results: Any) -> str:
    """Results in short: a line or a few for each."""
    leaves, _ = flatten(results)
    lines = []
    with np.printoptions(**_SHORT):  # type: ignore[arg-type]
        for leaf, path in zip(leaves, paths_of(results, name), strict=True):
            kind = f": {_described(leaf)}" if isinstance(leaf, (np.ndarray, np.generic)) else ""
            text = str(leaf) if kind else repr(leaf)
            lines.append(f"{path}{kind} ={' ' if text.count(chr(10)) == 0 else chr(10)}{text}")
    return "\n".join(lines) or f"{name} = {results!r}"


def _order(graph: Graph) -> str:
    """A graph's own nodes, operands first, under the names they have in its text, with the lines they came from."""
    names = graph.names
    rows = [(names.get(node, ""), node.op, describe(node.dtype, node.shape), _line_of(node)) for node in graph.order]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return f"order, {len(rows)} nodes:\n" + "\n".join(f"  {line}" for line in lines)


def _line_of(node: Expr) -> str:
    """The line of the user's that a node came from; empty for a parameter and for what has none."""
    source = node.source
    if source is None or node.op == "parameter":
        return ""
    # what was made after the function had returned, copies of results say, came from the command itself
    is_users = not source.file.startswith((*_LIBRARIES, "<")) and source.function != "<module>"
    return f"{source.file}:{source.line}" if is_users else ""


def _expect_writable(path: str) -> None:
    """Refuse before the work what could not be written after it."""
    if not path.endswith((".npy", ".npz")):
        raise _BadInput(f"{path}: expected an output OUT.npy, for one array, or OUT.npz, for a container of them")
    folder = Path(path).parent
    if Path(path).is_dir() or not folder.is_dir():
        raise _BadInput(f"{path}: " + ("that is a folder" if Path(path).is_dir() else f"there is no folder {folder}"))


def _named_arrays(name: str, results: Any) -> dict[str, np.ndarray]:
    """The arrays among the results by where they are in their container, as one writes it with dots: ``flow.0``.

    What has no name of its own is called as NumPy's ``savez`` calls it: ``arr_0``.
    """
    leaves, _ = flatten(results)
    arrays: dict[str, np.ndarray] = {}
    for leaf, path in zip(leaves, paths_of(results), strict=True):
        parts = [part.strip("[].'\"") for part in re.findall(r"\[[^\]]*\]|\.[^.\[]+", path)] or ["0"]
        key = ".".join([f"arr_{parts[0]}" if parts[0].isdigit() else parts[0], *parts[1:]])
        array = np.asarray(leaf)
        if array.dtype.isbuiltin != 1 or array.dtype.hasobject:
            reason = "is no array or number" if array.dtype.kind != "V" else "has a dtype that such files lack; cast it"
            raise _BadInput(f"{name} returned {key} = {_described(leaf)}, which can't be written: it {reason}")
        if key in arrays:
            raise _BadInput(f"{name} returned two arrays that would both be called {key!r}; rename one")
        arrays[key] = array
    if not arrays:
        raise _BadInput(f"{name} returned {results!r}, which has no array to write")
    return arrays


def _write(path: str, name: str, arrays: dict[str, np.ndarray]) -> None:
    """Write the arrays to a file that is there whole or not at all."""
    if path.endswith(".npy") and len(arrays) > 1:
        raise _BadInput(f"{path}: {name} returned {len(arrays)} arrays, {', '.join(arrays)}; write them to an .npz")
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        try:
            with open(draft, "xb") as file:
                if path.endswith(".npy"):
                    (array,) = arrays.values()
                    np.lib.format.write_array(file, array, allow_pickle=False)
                else:
                    _write_npz(file, arrays)
            if target.exists():
                shutil.copymode(target, draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _BadInput(f"{path}: it can't be written: {error.strerror or error}") from error


def _write_npz(file: BinaryIO, arrays: dict[str, np.ndarray]) -> None:
    # not np.savez, whose own parameters take the names `file` and `allow_pickle`
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
