"""One entry for each op of the op table: the dtypes it takes, arguments of every layout, and what it must give.

The expected results are written anew, in NumPy or by definition, and never read from the op table.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.testing.elements import arrays, kind_of, layouts, narrow, tame, wide, wild
from tests.support.case import ALL, FLOATS, NUMBERS, ORDERED, Case, Cases, Expected, Generator
from tests.support.elementwise_cases import ELEMENTWISE
from tests.support.fourier_cases import FOURIER
from tests.support.matrix_cases import FACTORIZATIONS

# Reductions and cumulatives


def _axes_of(array: np.ndarray) -> list[tuple[int, ...]]:
    return [axes for n in range(array.ndim + 1) for axes in itertools.combinations(range(array.ndim), n)]


def reduction(kinds: str, oracle: Callable[..., Any], *, empty: bool = True) -> Case:
    """An op of ``(x, axes)``; `empty` where no element has a result too."""

    def cases(rng: Generator, dtype: np.dtype) -> Cases:
        for name, x in arrays(lambda s: wild(rng, dtype, s)):
            for axes in _axes_of(x):
                if empty or all(x.shape[axis] for axis in axes):
                    yield f"{name} over {axes}", (x, axes), narrow(np.asarray(oracle(wide(x), axes)), dtype)

    return Case(kinds, cases)


def along(kinds: str, oracle: Callable[..., Any], *, empty: bool = True, places: bool = False, **more: Any) -> Case:
    """An op of ``(x, axis)``, and perhaps more; `places` where its result is int64."""

    def cases(rng: Generator, dtype: np.dtype) -> Cases:
        for name, x in arrays(lambda s: wild(rng, dtype, s)):
            for axis in range(x.ndim):
                if empty or x.shape[axis]:
                    result = np.asarray(oracle(wide(x), axis))
                    yield f"{name} along {axis}", (x, axis), result if places else narrow(result, dtype)

    return Case(kinds, cases, **more)


def _first(better: Callable[[Any, Any], bool]) -> Callable[[np.ndarray, int], np.ndarray]:
    """The place of the first NaN, else of the first element that no other is better than, one by one."""

    def place(line: np.ndarray) -> int:
        best = 0
        for i, value in enumerate(line):
            if value != value:
                return i
            if better(value, line[best]):
                best = i
        return best

    return lambda x, axis: (
        np.apply_along_axis(place, axis, x).astype(np.int64) if x.size else np.zeros(np.delete(x.shape, axis), np.int64)
    )


def _pairs(z: Any) -> Any:
    return (z.real, z.imag) if isinstance(z, np.complexfloating) else z


def _accumulated(step: Callable[[Any, Any], Any]) -> Callable[[np.ndarray, int], np.ndarray]:
    """Partial results, one element after the other."""

    def oracle(x: np.ndarray, axis: int) -> np.ndarray:
        result = np.moveaxis(x.copy(), axis, 0)
        for i in range(1, len(result)):
            result[i] = step(result[i - 1], result[i])
        return np.moveaxis(result, 0, axis)

    return oracle


REDUCTIONS: dict[str, Case] = {
    "sum": reduction(NUMBERS, lambda x, axes: x.sum(axis=axes, dtype=x.dtype)),
    "prod": reduction(NUMBERS, lambda x, axes: x.prod(axis=axes, dtype=x.dtype)),
    "max": reduction(ALL, lambda x, axes: x.max(axis=axes), empty=False),
    "min": reduction(ALL, lambda x, axes: x.min(axis=axes), empty=False),
    "any": reduction("b", lambda x, axes: x.astype(int).sum(axis=axes) > 0),
    "all": reduction("b", lambda x, axes: x.astype(int).prod(axis=axes) > 0),
    "bitwise_and_reduce": reduction("biu", lambda x, axes: np.bitwise_and.reduce(x, axis=axes)),
    "bitwise_or_reduce": reduction("biu", lambda x, axes: np.bitwise_or.reduce(x, axis=axes)),
    "bitwise_xor_reduce": reduction("biu", lambda x, axes: np.bitwise_xor.reduce(x, axis=axes)),
    "argmax": along(ALL, _first(lambda a, b: _pairs(a) > _pairs(b)), empty=False, places=True),
    "argmin": along(ALL, _first(lambda a, b: _pairs(a) < _pairs(b)), empty=False, places=True),
    "cumulative_sum": along(NUMBERS, _accumulated(np.add)),
    "cumulative_prod": along(NUMBERS, _accumulated(np.multiply), ulps=8),  # NumPy's complex products may use fma
    "cumulative_max": along(ALL, _accumulated(np.maximum)),
    "cumulative_min": along(ALL, _accumulated(np.minimum)),
}


# Places


def _iota(rng: Generator, dtype: np.dtype) -> Cases:
    for count in (0, 1, 6):
        yield f"{count}", (count, dt.BY_NUMPY[dtype]), np.array([complex(i).real for i in range(count)]).astype(dtype)


def _concat(rng: Generator, dtype: np.dtype) -> Cases:
    for name, x in arrays(lambda s: wild(rng, dtype, s)):
        for axis in range(x.ndim):
            y = wild(rng, dtype, (*x.shape[:axis], 2, *x.shape[axis + 1 :]))
            expected = np.empty((*x.shape[:axis], x.shape[axis] + 2, *x.shape[axis + 1 :]), dtype)
            lines = np.moveaxis(expected, axis, 0)
            lines[: x.shape[axis]], lines[x.shape[axis] :] = np.moveaxis(x, axis, 0), np.moveaxis(y, axis, 0)
            yield f"{name} along {axis}", ((x, y), axis), expected


def _pad(rng: Generator, dtype: np.dtype) -> Cases:
    for name, x in arrays(lambda s: wild(rng, dtype, s)):
        value = wild(rng, dtype, ())
        widths = tuple((int(a), int(b)) for a, b in rng.integers(0, 3, (x.ndim, 2)))
        yield name, (x, value, widths), np.pad(x, widths, constant_values=value) if x.ndim else x


def _indices(rng: Generator, extent: int, shape: Any) -> np.ndarray:
    return rng.integers(-extent, extent, shape) if extent else np.zeros((0, *shape[1:]), np.int64)


def _gather(rng: Generator, dtype: np.dtype) -> Cases:
    for name, x in arrays(lambda s: wild(rng, dtype, s)):
        for count in range(1, x.ndim + 1):
            if not x.size:
                continue
            indices = tuple(
                _indices(rng, extent, (4, 2)).astype(rng.choice(["int8", "int64"])) for extent in x.shape[:count]
            )
            places = itertools.product(range(4), range(2))
            elements = [x[tuple(int(index[place]) for index in indices)] for place in places]
            yield f"{name} {count}", (x, indices), np.array(elements, dtype).reshape((4, 2, *x.shape[count:]))


def _true_places(rng: Generator, dtype: np.dtype) -> Cases:
    for name, x in arrays(lambda s: wild(rng, dtype, s)):
        if x.ndim == 1:
            places = [i for i in range(len(x)) if x[i]]
            yield name, (x,), np.array([*places, *[0] * (len(x) - len(places))], np.int64)


def _take_along_axis(rng: Generator, dtype: np.dtype) -> Cases:
    for name, x in arrays(lambda s: wild(rng, dtype, s)):
        for axis in range(x.ndim):
            shape = (*x.shape[:axis], 3 if x.shape[axis] else 0, *x.shape[axis + 1 :])
            indices = rng.integers(-max(x.shape[axis], 1), max(x.shape[axis], 1), shape)
            expected = np.empty(shape, dtype)
            for place in np.ndindex(*shape):
                expected[place] = x[(*place[:axis], int(indices[place]), *place[axis + 1 :])]
            yield f"{name} along {axis}", (x, indices, axis), expected


_COMBINE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "set": (ALL, lambda old, new: new),
    "add": (NUMBERS, lambda old, new: old + new),
    "subtract": (NUMBERS, lambda old, new: old - new),
    "multiply": (NUMBERS, lambda old, new: old * new),
    "divide": (FLOATS, lambda old, new: old / new),
    "max": (ORDERED, np.maximum),
    "min": (ORDERED, np.minimum),
    "bitwise_and": ("biu", lambda old, new: old & new),
    "bitwise_or": ("biu", lambda old, new: old | new),
    "bitwise_xor": ("biu", lambda old, new: old ^ new),
}


def _scatter(rng: Generator, dtype: np.dtype) -> Cases:
    for combine, (kinds, step) in _COMBINE.items():
        if kind_of(dtype) not in kinds:
            continue
        for name, x in arrays(lambda s: tame(rng, dtype, s)):
            if not x.size or not x.ndim:
                continue
            count = int(rng.integers(1, x.ndim + 1))
            indices = tuple(_indices(rng, extent, (5,)) for extent in x.shape[:count])
            updates = tame(rng, dtype, (5, *x.shape[count:]))
            expected = wide(x).copy()
            for i, update in enumerate(wide(updates)):  # one after the other, so repeated places count each time
                place = tuple(int(index[i]) for index in indices)
                expected[place] = step(expected[place], update)
            yield f"{combine} {name} {count}", (x, indices, updates, combine), narrow(expected, dtype)


# Order


def _nan_key(value: Any) -> Any:
    """By which Python sorts as NumPy does: NaN last, of complex numbers (number, NaN), (NaN, number), (NaN, NaN)."""
    if isinstance(value, np.complexfloating):
        real, imag = value.real, value.imag
        rank = 3 if real != real and imag != imag else 2 if real != real else 1 if imag != imag else 0
        return rank, 0 if real != real else real, 0 if imag != imag else imag
    return value != value, 0 if value != value else value


def _order(line: np.ndarray, descending: bool = False) -> list[int]:
    # Python's sort keeps the order of equal elements, reversed or not
    return sorted(range(len(line)), key=lambda i: _nan_key(line[i]), reverse=descending)


def _sort(x: np.ndarray, axis: int) -> np.ndarray:
    return np.apply_along_axis(lambda line: line[_order(line)], axis, x) if x.size else x


def _argsort(rng: Generator, dtype: np.dtype) -> Cases:
    for name, x in arrays(lambda s: wild(rng, dtype, s)):
        for axis, descending in itertools.product(range(x.ndim), (False, True)):
            found = np.zeros(x.shape, np.int64)
            if x.size:
                found = np.apply_along_axis(lambda line, d=descending: np.array(_order(line, d)), axis, wide(x))
            yield f"{name} along {axis} {descending}", (x, axis, descending), found


def _searchsorted(rng: Generator, dtype: np.dtype) -> Cases:
    for count in (0, 1, 9):
        x = wild(rng, dtype, (count,))
        x = x[_order(wide(x))]
        for (name, values), side in itertools.product(arrays(lambda s: wild(rng, dtype, s)), ("left", "right")):
            keys = [_nan_key(v) for v in wide(x)]
            below = [
                sum(key < _nan_key(v) or (side == "right" and key == _nan_key(v)) for key in keys)
                for v in wide(values).flat
            ]
            yield f"{count} {name} {side}", (x, values, side), np.array(below, np.int64).reshape(values.shape)


# Products


def _matmul(rng: Generator, dtype: np.dtype) -> Cases:
    shapes = [((3, 4), (4, 2)), ((0, 4), (4, 2)), ((3, 0), (0, 2)), ((2, 3, 1), (2, 1, 4)), ((1, 1), (1, 1))]
    for left, right in shapes:
        for (name, x), (_, y) in zip(
            layouts(left, lambda s: tame(rng, dtype, s)), layouts(right, lambda s: tame(rng, dtype, s)), strict=False
        ):
            products = wide(x)[..., :, :, None] * wide(y)[..., None, :, :]
            result = products.any(axis=-2) if dtype.kind == "b" else products.sum(axis=-2, dtype=products.dtype)
            yield f"{left} {name}", (x, y), _near(narrow(result, dtype), np.abs(wide(products)).sum(axis=-2))


def _near(expected: np.ndarray, size: np.ndarray) -> Expected:
    """The array itself for exact dtypes; else a function that allows for the rounding of terms of this total size."""
    if kind_of(expected.dtype) not in "fc":
        return expected
    eps = float(dt.BY_NUMPY[expected.dtype].eps)

    def check(result: np.ndarray) -> str:
        if (result.dtype, result.shape) != (expected.dtype, expected.shape):
            return f"{result.dtype}{result.shape} came, {expected.dtype}{expected.shape} was expected"
        apart = np.abs(wide(result) - wide(expected))
        return "" if np.all(apart <= 8 * eps * size) else f"{result} came, {expected} was expected"

    return check


CASES: dict[str, Case] = {
    **ELEMENTWISE,
    **REDUCTIONS,
    "iota": Case(NUMBERS, _iota),
    "concat": Case(ALL, _concat),
    "pad": Case(ALL, _pad),
    "gather": Case(ALL, _gather),
    "true_places": Case("b", _true_places),
    "take_along_axis": Case(ALL, _take_along_axis),
    "scatter": Case(ALL, _scatter, ulps=8),
    "sort": along(ALL, _sort),
    "argsort": Case(ALL, _argsort),
    "searchsorted": Case(ALL, _searchsorted),
    "matmul": Case(ALL, _matmul),
    **FACTORIZATIONS,
    **FOURIER,
}
