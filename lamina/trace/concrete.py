"""Values whose elements are known while tracing, for what has a shape that depends on them."""

import numpy as np

from lamina.errors import DataDependentShapeError
from lamina.trace.value import Value


def is_undecided(value: Value) -> bool:
    """Whether a loop or elements decide a value, so that it isn't asked for: a run alone knows it."""
    return value.is_traced and value.deciding_numbers() is None


def concrete(value: Value, result: str, instead: str) -> np.ndarray:
    """The elements of a value that arrays from outside or numbers alone decide.

    Raises `DataDependentShapeError` for a traced one, which says whose shape depends on the elements (``result``) and
    what to write ``instead``.
    """
    known = value.known(f"the shape of {result}")
    if known is None:
        source = f" (made at {value.expr.source})" if value.expr.source else ""
        raise DataDependentShapeError(
            f"the shape of {result} depends on the elements of {value!r}{source}, which are unknown while "
            f"{value.scope.name} is traced. Use {instead}"
        )
    return known
