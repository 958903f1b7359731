"""Einstein summation: the subscripts, an order of pairwise contractions, and each of them as movements and a product.

NumPy plans the order (`numpy.einsum_path`, from shapes alone); `lamina.api.linalg` is where the function is found.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.layout import Layout
from lamina.trace.build import common_dtype, decayed, emit, permute, reshape, to_dtype
from lamina.trace.elementwise import elementwise
from lamina.trace.function import function
from lamina.trace.reduction import array_of
from lamina.trace.scope import Cell
from lamina.trace.value import Value

__all__ = ["einsum"]

Labels = tuple[str, ...]
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"  # NumPy's order of integer labels


@function
def einsum(*operands: Any, optimize: Any = True, dtype: Any = None, casting: str = "safe") -> Any:
    """The sums of products that Einstein's notation names: ``einsum("ij,jk->ik", x, y)`` is ``x @ y``.

    Args:
        operands: a string of subscripts and the arrays, or each array followed by a list of its integer labels, and
            perhaps a last list for the output. ``...`` (or `Ellipsis`) stands for the axes without a label, which
            broadcast. A label that is repeated in one operand takes the diagonal; one that the output lacks is summed
            over. Without an output (``->``), it has the labels that occur once, in alphabetical order.
        optimize: how the order of contractions is found, as for `numpy.einsum_path`: True or ``"greedy"``,
            ``"optimal"``, a pair of either and a greatest size of intermediate results, or a path. False contracts
            from left to right.
        dtype: the dtype to compute in; by default that to which the operands promote.
        casting: which casts to `dtype` are allowed, in NumPy's words.

    Returns the output's axes in the order of its labels. Integers wrap, bools are combined by "and" and "or".

    Raises ValueError for subscripts that are wrong in themselves, or don't fit the operands' shapes, TypeError for a
    cast that isn't allowed.

    >>> import numpy as np
    >>> x = np.arange(6).reshape(2, 3)
    >>> einsum("ij,kj->ik", x, x)
    lamina.Array([[ 5, 14],
                  [14, 50]], shape=(2, 2), dtype=int64)
    >>> einsum("ij->j", x)
    lamina.Array([3, 5, 7], shape=(3,), dtype=int64)

    The plan is that of D. Smith and J. Gray, "opt_einsum" (2018), as NumPy has it; a contraction of two operands is
    one stack of matrix products.
    """
    values, terms, output = _parsed(operands)
    values = _in_dtype(values, dtype, casting)
    extents = _extents(values, terms)
    parts = [_distinct(value, labels, extents) for value, labels in zip(values, terms, strict=True)]
    for step in _path(parts, output, optimize):
        taken = [parts[i] for i in step]
        parts = [part for i, part in enumerate(parts) if i not in step]
        part = taken[0]
        for position, other in enumerate(taken[1:], 2):
            later = (labels for _, labels in (*parts, *taken[position:]))
            part = _pair(part, other, set(output).union(*later))
        parts.append(part)
    ((value, labels),) = parts
    value, labels = _summed(value, labels, set(output))
    return decayed(permute(value, tuple(labels.index(label) for label in output)))


# Subscripts


def _parsed(operands: Sequence[Any]) -> tuple[list[Value], list[Labels], Labels]:
    """The operands, the labels of their axes, and those of the output."""
    if not operands:
        raise ValueError("einsum takes a string of subscripts and the operands")
    if isinstance(operands[0], str):
        text, arrays = operands[0], operands[1:]
        inputs, arrow, right = text.replace(" ", "").partition("->")
        terms, output = [_tokens(term, text) for term in inputs.split(",")], _tokens(right, text) if arrow else None
    else:
        arrays, lists = operands[: len(operands) // 2 * 2 : 2], operands[1::2]
        terms = [_of_list(labels) for labels in lists]
        output = _of_list(operands[-1]) if len(operands) % 2 else None
        text = ",".join("".join(term) for term in terms)
    if len(terms) != len(arrays):
        raise ValueError(f"the subscripts {text!r} are for {len(terms)} operands, but {len(arrays)} came")
    values = [array_of(array, f"operand {i}") for i, array in enumerate(arrays)]
    expanded = [_expanded(term, value.shape, i) for i, (term, value) in enumerate(zip(terms, values, strict=True))]
    return values, expanded, _output(output, expanded, text)


def _tokens(term: str, text: str) -> Labels:
    """The letters of a term, and ``...`` as one token."""
    before, dots, after = term.partition("...")
    wrong = [letter for letter in before + after if letter not in _LETTERS]
    if wrong:
        raise ValueError(f"{wrong[0]!r} in {text!r} is no label; labels are letters, and '...' once in a term")
    return (*before, *([dots] if dots else []), *after)


def _of_list(labels: Any) -> Labels:
    try:
        return tuple("..." if label is Ellipsis else _LETTERS[_number(label)] for label in labels)
    except TypeError:
        raise TypeError(
            f"{labels!r} should be a list of labels: integers from 0 to 51, or Ellipsis; "
            "without a string of subscripts, each operand is followed by its own list"
        ) from None


def _number(label: Any) -> int:
    number = int(label.__index__()) if hasattr(label, "__index__") else None
    if number is None:
        raise TypeError
    if not 0 <= number < len(_LETTERS):
        raise ValueError(f"{number} is no label; labels are integers from 0 to 51, or Ellipsis")
    return number


def _expanded(term: Labels, shape: tuple[int, ...], position: int) -> Labels:
    """The term with a label for each axis: ``...2`` is the last but one of those that broadcast."""
    named = len(term) - ("..." in term)
    if term.count("...") > 1:
        raise ValueError(f"operand {position} has '...' more than once in {''.join(term)!r}")
    if named > len(shape) or (named < len(shape) and "..." not in term):
        raise ValueError(
            f"the subscripts {''.join(term)!r} of operand {position} name {named} axes, but it has the shape {shape}"
        )
    if "..." not in term:
        return term
    at = term.index("...")
    return (*term[:at], *_ellipsis(len(shape) - named), *term[at + 1 :])


def _ellipsis(count: int) -> Labels:
    return tuple(f"...{i}" for i in range(count, 0, -1))


def _output(given: Labels | None, terms: Sequence[Labels], text: str) -> Labels:
    everywhere = [label for term in terms for label in term]
    broadcast = _ellipsis(max((label.startswith("...") and int(label[3:]) for label in everywhere), default=0))
    if given is None:
        return (
            *broadcast,
            *sorted({label for label in everywhere if everywhere.count(label) == 1 and label in _LETTERS}),
        )
    if broadcast and "..." not in given:
        raise ValueError(f"the output of {text!r} must contain '...', since operands have axes without a label")
    for label in given:
        if label not in everywhere and label != "...":
            raise ValueError(f"the output of {text!r} has the label {label!r}, which no operand has")
        if given.count(label) > 1:
            raise ValueError(f"the output of {text!r} has the label {label!r} more than once")
    return tuple(each for label in given for each in (broadcast if label == "..." else (label,)))


# Operands


def _in_dtype(values: Sequence[Value], dtype: Any, casting: Any) -> list[Value]:
    wanted = common_dtype(values) if dtype is None else dt.from_numpy(dtype)
    for position, value in enumerate(values):
        if dtype is not None and not np.can_cast(value.dtype.numpy, wanted.numpy, casting):
            raise TypeError(f"operand {position} is {value.dtype}, which casting={casting!r} doesn't make {wanted}")
    return [to_dtype(value, wanted) for value in values]


def _extents(values: Sequence[Value], terms: Sequence[Labels]) -> dict[str, int]:
    """The extent of each label; an axis of extent 1 broadcasts."""
    extents: dict[str, int] = {}
    for position, (value, labels) in enumerate(zip(values, terms, strict=True)):
        own: dict[str, int] = {}
        for label, extent in zip(labels, value.shape, strict=True):
            if own.setdefault(label, extent) != extent:
                raise ValueError(
                    f"the label {label!r} of operand {position} names axes of extents {own[label]} and {extent}, "
                    "which have no diagonal"
                )
            before = extents.setdefault(label, extent)
            if 1 not in (before, extent) and before != extent:
                raise ValueError(
                    f"the label {label!r} has extent {before} in one operand, but {extent} in operand {position}"
                )
            extents[label] = extent if before == 1 else before
    return extents


Part = tuple[Value, Labels]


def _distinct(value: Value, labels: Labels, extents: dict[str, int]) -> Part:
    """The operand with each label once (diagonals), and without axes that only broadcast."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            value = diagonal_of(value, first, second)
            labels = (*labels[:first], *labels[first + 1 : second], *labels[second + 1 :], label)
    kept = [axis for axis, label in enumerate(labels) if value.shape[axis] == extents[label]]
    return reshape(value, tuple(value.shape[axis] for axis in kept)), tuple(labels[axis] for axis in kept)


def diagonal_of(value: Value, first: int, second: int, offset: int = 0) -> Value:
    """The elements whose index along one axis is ``offset`` less than that along another; their axis comes last.

    It is a view, where the array isn't one of several.
    """
    cell = value.cell if type(value.cell) is Cell and not value.lengths else None
    layout = Layout.contiguous(value.shape) if cell is None else value.whole_layout
    before, after = max(-offset, 0), max(offset, 0)
    count = max(0, min(value.shape[first] - before, value.shape[second] - after))
    rest = [axis for axis in range(len(value.shape)) if axis not in (first, second)]
    strides = layout.strides
    diagonal = Layout(
        [*(value.shape[axis] for axis in rest), count],
        [*(strides[axis] for axis in rest), strides[first] + strides[second]],
        layout.offset + before * strides[first] + after * strides[second],
    )
    return emit("view", value, diagonal, (), ()) if cell is None else value.through(diagonal, value.shifts)


# Contractions


def _path(parts: Sequence[Part], output: Labels, optimize: Any) -> list[tuple[int, ...]]:
    """Which parts to contract, step by step; each result is put at the end of what remains."""
    everything = tuple(range(len(parts)))
    letters = dict(zip(dict.fromkeys(label for _, labels in parts for label in labels), _LETTERS, strict=False))
    if len(parts) < 3 or optimize is False or any(label not in letters for _, labels in parts for label in labels):
        return [everything] if len(parts) > 1 else []
    terms = ["".join(map(letters.__getitem__, labels)) for _, labels in (*parts, (None, output))]
    shapes = [np.broadcast_to(np.zeros(()), value.shape) for value, _ in parts]
    path = np.einsum_path(f"{','.join(terms[:-1])}->{terms[-1]}", *shapes, optimize=optimize)[0][1:]
    return [tuple(step) for step in path]


def _summed(value: Value, labels: Labels, keep: Iterable[str]) -> Part:
    """The part summed over the labels that nobody needs any more."""
    axes = tuple(axis for axis, label in enumerate(labels) if label not in keep)
    if not axes:
        return value, labels
    summed = emit("any" if value.dtype == dt.bool else "sum", value, axes)
    return summed, tuple(label for label in labels if label in keep)


def _pair(first: Part, second: Part, keep: set[str]) -> Part:
    """The contraction of two parts over what they share and nobody else needs."""
    x, left = _summed(*first, keep.union(second[1]))
    y, right = _summed(*second, keep.union(first[1]))
    batch = [label for label in left if label in right and label in keep]
    inner = [label for label in left if label in right and label not in keep]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    shape = {**dict(zip(left, x.shape, strict=True)), **dict(zip(right, y.shape, strict=True))}

    def size(labels: Iterable[str]) -> tuple[int, ...]:
        return tuple(shape[label] for label in labels)

    x = permute(x, tuple(map(left.index, (*batch, *rows, *inner))))
    y = permute(y, tuple(map(right.index, (*batch, *inner, *columns))))
    result = (*batch, *rows, *columns)
    if not inner:
        x = reshape(x, (*x.shape, *[1] * len(columns)))
        y = reshape(y, (*size(batch), *[1] * len(rows), *size(columns)))
        return elementwise("multiply", x, y), result
    n, k, m = (int(np.prod(size(labels), dtype=object)) for labels in (rows, inner, columns))
    product = emit("matmul", reshape(x, (*size(batch), n, k)), reshape(y, (*size(batch), k, m)))
    return reshape(product, size(result)), result
