"""What is left of a graph that couldn't be compiled: which part it was, and a file for a report.

Whatever goes wrong while native code is made is a bug of lamina's, and must not stop the program that it happens to.
"""

import functools
import hashlib
import platform
import re
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path

import llvmlite
import numpy as np

from lamina.program.record import Instruction, Kernel


class CompileFailure(Exception):
    """A part of a program for which no code could be made, and what there was of its code; `__cause__` says why."""

    def __init__(self, part: str, code: str) -> None:
        super().__init__(part)
        self.part = part
        self.code = code


def described(instruction: Instruction) -> str:
    """What a part of a program is called: a kernel by its space, and the user's line.

    >>> described(Kernel((3, 4), (), ()))
    'a kernel over [3, 4]'
    """
    kind = type(instruction).__name__.lower()
    over = f" over {list(instruction.space)}" if isinstance(instruction, Kernel) else ""
    source = instruction.source
    return f"a {kind}{over}" + (f" of {source.file}:{source.line}" if source else "")


def function_at(error: Exception, code: str) -> str:
    """The name of the function in a module's text at which LLVM stopped; empty where its message has no line."""
    found = re.match(r"(?:.*\n)?<string>:(\d+):", str(error))
    before = code.splitlines()[: int(found[1])] if found else []
    names = [re.search(r'@"?([\w.]+)', line) for line in before if line.startswith("define")]
    return names[-1][1] if names and names[-1] else ""


def kept_for_a_report(error: BaseException, texts: Mapping[str, object]) -> str:
    """Put what an error says, and these texts, into a file that only the user can read; where it is."""
    parts = {"raised": "".join(traceback.format_exception(error)), **texts}
    versions = f"lamina on {platform.platform()}, Python {platform.python_version()}, "
    versions += f"NumPy {np.__version__}, llvmlite {llvmlite.__version__}"
    text = "\n\n".join([versions, *(f"== {title}\n\n{part}" for title, part in parts.items() if part)])
    try:
        name = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        path = _folder() / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
    except OSError as why:
        return f"nowhere ({why})"
    return str(path)


@functools.cache
def _folder() -> Path:
    """One folder for each process, of the user's alone."""
    return Path(tempfile.mkdtemp(prefix="lamina-report-"))
