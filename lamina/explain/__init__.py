"""What becomes of a function, line by line: views, kernels, copies and their reasons, memory, loops, numbers."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lamina.explain.report import Explanation

__all__ = ["explain"]


def explain(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Explanation":
    """What ``compiler="native"`` makes of a function, decorated or not, on arguments like these; nothing is run.

    The result's ``str()`` says for each line of the function, and of the functions of the user's that it calls, what
    its operations became: views, parts of kernels, library calls, or copies with their reasons and bytes. Then it says
    what each kernel reads and writes, what is copied, how much memory is held, and which numbers were compiled in. All
    of that is in fields too. A function that can't be traced has a `fallback`, with the line and the reason.
    `evaluated` is the reason why the evaluator runs one that is too large to compile.

    Raises `TypeError` for an argument that is no array, number or container of them, and can't be static.

    >>> import lamina, numpy as np
    >>> explained = lamina.explain(lambda x: (x[1:] + 1).sum(axis=0), np.ones((7, 4)))
    >>> [(operation.name, operation.fate) for operation in explained.lines[0].operations]
    [('slice', 'view'), ('add', 'kernel'), ('sum', 'kernel')]
    >>> explained.kernels[0].space, explained.copies, explained.memory.peak
    ((6, 4), (), 32)
    """
    # loaded when needed, and LLVM with it
    return import_module("lamina.explain.explaining").explained(function, args, kwargs)  # type: ignore[no-any-return]
