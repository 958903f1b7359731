"""The exception and warning classes of lamina.

Wherever NumPy or Python has a class for what went wrong, lamina raises that class or a child of it, so that code which
catches NumPy's errors catches lamina's too.
"""

import os
import sys
import warnings

from numpy import exceptions as _numpy_exceptions


class AxisError(_numpy_exceptions.AxisError):
    """An axis outside ``0 <= axis < rank``; a child of NumPy's, so both a `ValueError` and an `IndexError`.

    >>> import numpy as np
    >>> issubclass(AxisError, np.exceptions.AxisError) and issubclass(AxisError, (ValueError, IndexError))
    True
    """

    # NumPy's keeps the message that it was made with beside the args, where no line of the user's can be added to it.
    __str__ = Exception.__str__


class GraphError(ValueError):
    """An expression graph that breaks a rule of `lamina.expr`; raised by `lamina.expr.check`."""


class TraceError(TypeError):
    """A program that can't be traced: the message names the function, the argument and the line."""


class EscapedValueError(TraceError):
    """A traced value that was used outside the scope it was made in."""


class ConcretizationError(TraceError):
    """A traced value whose number was demanded (``if x.sum() > 0``, ``float(x)``) where it isn't known yet."""


class DataDependentShapeError(TraceError, NotImplementedError):
    """An operation whose result's shape depends on data (``nonzero``, ``x[mask]``), on a traced value."""


class UntracedAttributeError(AttributeError, NotImplementedError):
    """An attribute of NumPy's arrays that traced ones don't have; the message says what to write instead."""


class CompilerError(RuntimeError):
    """A compiler that breaks its contract: results of a wrong number, dtype or shape. The message names it."""


class LaminaWarning(UserWarning):
    """The parent of every warning that lamina gives."""


def warn(message: str) -> None:
    """Give a `LaminaWarning`, at the innermost line that isn't lamina's."""
    level, frame = 1, sys._getframe()
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, LaminaWarning, stacklevel=level)


_PACKAGE = os.path.dirname(__file__) + os.sep


def anew(error: BaseException) -> BaseException:
    """An exception like one that is there: each time it is raised it takes a traceback and notes of its own.

    >>> first = ValueError("too small")
    >>> anew(first), anew(first) is first
    (ValueError('too small'), False)
    """
    new = type(error).__new__(type(error), *error.args)  # without `__init__`, which may want other arguments
    new.__dict__.update({key: list(held) if key == "__notes__" else held for key, held in vars(error).items()})
    new.__cause__, new.__suppress_context__ = error.__cause__, error.__suppress_context__
    return new
