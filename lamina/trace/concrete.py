"""Values whose elements are known while tracing, for what has a shape that depends on them."""

import numpy as np

from lamina.errors import DataDependentShapeError
from lamina.trace.value import Value


def concrete(value: Value, result: str, instead: str) -> np.ndarray:
    """The elements of a value that isn't traced: an array or a number that is there already.

    Raises `DataDependentShapeError` for a traced one, which says whose shape depends on the elements (``result``) and
    what to write ``instead``.
    """
    if value.is_traced:
        source = f" (made at {value.expr.source})" if value.expr.source else ""
        raise DataDependentShapeError(
            f"the shape of {result} depends on the elements of {value!r}{source}, which are unknown while "
            f"{value.scope.name} is traced. Use {instead}"
        )
    known = value.expr.args[0]
    return np.asarray(known) if value.expr.op == "tensor" else np.full(value.shape, known, value.dtype.numpy)
