"""Arrays whose bytes are in the other order: they are computed with in the machine's, and so are results in NumPy.

But what only moves elements (a copy, a sort, ``x[mask]``, `np.zeros_like`) gives an array in the order of the one it is
given. Such memory is marked while it is traced, and what is returned of it has its bytes turned around. A mark is lost
where a loop or a branch makes one array of several.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.dtype import DType
from lamina.expr.containers import flatten
from lamina.trace.bounded import memory
from lamina.trace.scope import current
from lamina.trace.value import Value

# The functions whose new arrays are in the order of those that they are given.
_KEEPS = frozenset(
    """
    asarray asfortranarray ascontiguousarray astype choose compress copy delete diag empty_like extract flatten
    full_like getitem imag insert meshgrid nan_to_num ones_like pad partition ravel repeat reshape roll sort take
    take_along_axis tile unique unique_values zeros_like
    """.split()  # noqa: SIM905
)


def with_byte_order(name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a call of a public function gives, its new memory marked where NumPy's has its bytes in the other order."""
    result = call(*args, **kwargs)
    scope = current()
    asked = args[1] if name in ("astype", "np.astype") and len(args) > 1 else kwargs.get("dtype")
    if scope is None or (asked is None and not scope.root.has_swapped):
        return result
    given = list(map(memory, flatten((args, kwargs))[0]))
    swapped = [each for each in given if is_swapped(each)]
    if asked is None or (type(asked) is DType and any(each.dtype == asked for each in swapped)):  # such as x.dtype
        swaps = name.removeprefix("np.") in _KEEPS and bool(swapped)
    else:
        swaps = not np.dtype(asked).isnative
    if swaps:
        known = {each.cell for each in given if type(each) is Value}
        for each in map(memory, flatten(result)[0]):
            if type(each) is Value and each.cell is not None and each.cell not in known:
                each.cell.is_swapped = scope.root.has_swapped = True
    return result


def is_swapped(thing: Any) -> bool:
    """Whether a thing is an array, traced or there, of which the bytes are in the other order."""
    if type(thing) is Value:
        return thing.cell is not None and thing.cell.is_swapped
    return isinstance(thing, np.ndarray) and not thing.dtype.isnative
