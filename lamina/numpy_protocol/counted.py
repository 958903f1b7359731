"""NumPy's functions whose result is as long as the elements have it: distinct elements, and places of elements."""

from typing import Any

from lamina.api import indexing, joining, searching, sets, sorting
from lamina.numpy_protocol.table import means
from lamina.trace.reduction import flat
from lamina.trace.shapes import as_array


@means("flatnonzero")
def flatnonzero(a: Any) -> Any:
    """The places of the elements that aren't zero, in C order."""
    return searching.nonzero(flat(as_array(a)))[0]


@means("argwhere")
def argwhere(a: Any) -> Any:
    """The places of the elements that aren't zero, a row each."""
    value = as_array(a)
    if not value.shape:
        raise NotImplementedError("of an array without axes")
    columns = [indexing.getitem(place, (slice(None), None)) for place in searching.nonzero(value)]
    return joining.concat(columns, axis=1)


@means("extract")
def extract(condition: Any, arr: Any) -> Any:
    """The elements where a condition of their shape holds, in C order."""
    return indexing.take(flat(as_array(arr)), flatnonzero(condition))


@means("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Sorted, whatever ``sorted`` says."""
    if axis is not None:
        raise NotImplementedError("the argument axis isn't there")
    found = sets.distinct(ar, equal_nan=equal_nan)
    wanted = (True, return_index, return_inverse, return_counts)
    results = tuple(each for each, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    return results if len(results) > 1 else results[0]


@means("union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements of both."""
    return unique(joining.concat([flat(as_array(ar1)), flat(as_array(ar2))]))


@means("intersect1d")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that are in both."""
    if return_indices:
        raise NotImplementedError("the argument return_indices isn't there")
    both = sorting.sort(joining.concat([_distinct(ar1, assume_unique), _distinct(ar2, assume_unique)]))
    rest = both[:-1]
    return rest[both[1:] == rest]


@means("setdiff1d")
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The distinct elements of the first that aren't in the second."""
    elements = _distinct(ar1, assume_unique)
    return elements[sets.isin(elements, ar2, invert=True)]


@means("setxor1d")
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """The distinct elements that are in one of the two alone."""
    return sorting.sort(joining.concat([setdiff1d(ar1, ar2, assume_unique), setdiff1d(ar2, ar1, assume_unique)]))


def _distinct(ar: Any, is_unique: bool) -> Any:
    line = flat(as_array(ar))
    return line if is_unique else unique(line)
