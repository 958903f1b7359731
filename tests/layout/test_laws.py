"""Every layout law against enumeration: all small layouts under many movements, and random chains of movements.

The oracle knows nothing of strides. A movement's result reads, at each index, the argument's index that
`Movement.source` names; the positions of the argument, gathered so, are the positions of the result. Whether a
reshape's result has strides is decided on positions as well: its strides can only be the differences between the
position of index 0 and those of the unit indices, so either these give back every position or no strides do.

All layouts of one shape are a matrix of positions, one row each, and are tested at once.
"""

import functools
import itertools
import math
import random

import numpy as np
import pytest

from lamina.layout import Layout, coalesce
from lamina.layout.move import Broadcast, Permute, Range, Reshape, Slice, Window, WindowSpec

SHAPES = [shape for rank in range(4) for shape in itertools.product(range(5), repeat=rank)]
STRIDES = range(-4, 5)


def unraveled(shape):
    """The indices of ``shape`` in C order, one column each."""
    return np.indices(shape, dtype=np.int64).reshape(len(shape), math.prod(shape))


def positions_of(shape, strides, offsets):
    """The positions of layouts of one shape, by the definition: one row for each row of ``strides``."""
    return np.asarray(offsets, dtype=np.int64)[:, None] + np.asarray(strides, dtype=np.int64) @ unraveled(shape)


def family(shape, strides=STRIDES, low=3):
    """All layouts of ``shape``, each with ``low`` as its least position, and their positions."""
    choices = [strides if extent > 1 else (0,) for extent in shape]
    rows = list(itertools.product(*choices)) if math.prod(shape) else [(0,) * len(shape)]
    matrix = np.array(rows, dtype=np.int64).reshape(len(rows), len(shape))
    if not math.prod(shape):
        return [Layout(shape, row) for row in rows], positions_of(shape, matrix, [0])
    offsets = low - (matrix @ unraveled(shape)).min(axis=1)
    layouts = [Layout(shape, row, offset) for row, offset in zip(rows, offsets.tolist(), strict=True)]
    return layouts, positions_of(shape, matrix, offsets)


def gather(movement, shape):
    """The number, in C order, of the argument's element that each of the result's elements is."""
    result = movement.result_shape(shape)
    sources = [movement.source(shape, index) for index in itertools.product(*[range(extent) for extent in result])]
    if not sources or not shape:
        return np.zeros(len(sources), dtype=np.int64)
    return np.ravel_multi_index(np.array(sources, dtype=np.int64).T, shape)


def expressible(positions, shape):
    """For each row of ``positions``, whether some strides of ``shape`` give it."""
    if not positions.shape[1]:
        return np.ones(len(positions), dtype=bool)
    units = [math.prod(shape[axis + 1 :]) if shape[axis] > 1 else 0 for axis in range(len(shape))]
    strides = positions[:, units] - positions[:, :1]
    return (positions_of(shape, strides, positions[:, 0]) == positions).all(axis=1)


@functools.cache
def factorizations(number):
    """Every tuple of integers above 1 with this product."""
    if number == 1:
        return [()]
    return [(d, *rest) for d in range(2, number + 1) if number % d == 0 for rest in factorizations(number // d)]


def check_queries(layouts, positions):
    """The queries of layouts of one shape, and their canonical form."""
    shape = layouts[0].shape
    numel = math.prod(shape)
    strides = np.array([layout.strides for layout in layouts], dtype=np.int64).reshape(len(layouts), len(shape))
    assert not strides[:, [axis for axis, extent in enumerate(shape) if extent == 1 or numel == 0]].any()
    assert all(layout.numel == numel and layout.rank == len(shape) for layout in layouts)
    if numel == 0:
        assert all(layout.offset == 0 and layout.span == (0, 0) for layout in layouts)
        assert all(layout.is_contiguous and layout.is_distinct for layout in layouts)
        return
    spans = np.stack([positions.min(axis=1), positions.max(axis=1) + 1], axis=1)
    np.testing.assert_array_equal([layout.span for layout in layouts], spans)
    in_order = (positions - positions[:, :1] == np.arange(numel)).all(axis=1)
    np.testing.assert_array_equal([layout.is_contiguous for layout in layouts], in_order)
    # The seed's rule, read off literally: axes of extent above 1, ordered by |stride| and then by axis.
    long = [axis for axis, extent in enumerate(shape) if extent > 1]
    steps = np.abs(strides[:, long])
    order = np.argsort(steps, axis=1, kind="stable")
    steps = np.take_along_axis(steps, order, axis=1)
    reaches = steps * (np.array([shape[axis] for axis in long], dtype=np.int64)[order] - 1)
    distinct = (steps > np.cumsum(reaches, axis=1) - reaches).all(axis=1)
    np.testing.assert_array_equal([layout.is_distinct for layout in layouts], distinct)
    ordered = np.sort(positions[distinct], axis=1)
    assert (ordered[:, 1:] > ordered[:, :-1]).all()


def check_movement(movement, layouts, positions):
    """``movement`` on layouts of one shape; returns the results that are layouts, and their positions."""
    shape = layouts[0].shape
    result = movement.result_shape(shape)
    expected = positions[:, gather(movement, shape)]
    moved = [layout.move(movement) for layout in layouts]
    exists = np.array([layout is not None for layout in moved])
    should = expressible(expected, result) if isinstance(movement, Reshape) else np.ones(len(layouts), dtype=bool)
    if not (exists == should).all():
        k = int(np.argmax(exists != should))
        pytest.fail(f"{layouts[k]!r}.move({movement!r}) is {moved[k]!r}; strides {'' if should[k] else 'do not '}exist")
    moved = [layout for layout in moved if layout is not None]
    expected = expected[exists]
    if moved:
        strides = np.array([layout.strides for layout in moved], dtype=np.int64).reshape(len(moved), len(result))
        actual = positions_of(result, strides, [layout.offset for layout in moved])
        if not (actual == expected).all():
            k = int(np.argmax((actual != expected).any(axis=1)))
            argument = [layout for layout, is_one in zip(layouts, exists, strict=True) if is_one][k]
            pytest.fail(f"{argument!r}.move({movement!r}) is {moved[k]!r}; its positions are to be {expected[k]}")
        assert all(layout.shape == result for layout in moved)
    return moved, expected


def reshapes(shape):
    numel = math.prod(shape)
    if numel == 0:
        return [Reshape(s) for s in ((0,), (3, 0), (0, 7, 1), (2, 2, 0))]
    ones = [[], [1], [1, 1]]
    results = []
    for i, factors in enumerate(factorizations(numel)):
        at = i % (len(factors) + 1)
        results += [factors, (*factors[:at], *ones[i % 2 + 1], *factors[at:])]
    return [Reshape(result) for result in results]


def broadcasts(shape):
    axes = [(0, 1, 3) if extent == 1 else (extent,) for extent in shape]
    new = [(), (0,), (1,), (2,), (2, 1), (1, 3)]
    return [Broadcast((*added, *aligned)) for added in new for aligned in itertools.product(*axes)]


def ranges(extent):
    """Every range of an axis that names elements, and some that name none."""
    return [Range(0, 0, 1), Range(-1, 0, -2), Range(extent + 5, 0, 3)] + [
        Range(start, count, step)
        for start, count in itertools.product(range(extent), range(1, extent + 1))
        for step in range(-extent, extent + 1)
        if step and 0 <= start + (count - 1) * step < extent and (count > 1 or step in (-1, 2))
    ]


def slices(shape, rng, all_of_them):
    choices = [ranges(extent) for extent in shape]
    if all_of_them:
        return [Slice(parts) for parts in itertools.product(*choices)]
    sample = [[rng.choice(choice) for choice in choices] for _ in range(60)]
    # each range of each axis at least once
    for axis, choice in enumerate(choices):
        sample += [[part if i == axis else rng.choice(other) for i, other in enumerate(choices)] for part in choice]
    return [Slice(parts) for parts in sample]


def windows(shape, rng, all_of_them):
    specs = [
        [WindowSpec(axis, size, step, dilation) for size in range(1, 6) for step in (1, 2, 3) for dilation in (1, 2, 3)]
        for axis in range(len(shape))
    ]
    some = [[spec] for of_axis in specs for spec in (of_axis if all_of_them else rng.sample(of_axis, 12))]
    for axes in itertools.chain.from_iterable(itertools.combinations(specs, count) for count in (2, 3)):
        some += [[rng.choice(of_axis) for of_axis in axes] for _ in range(100 if all_of_them else 6)]
    return [Window(()), *[Window(chosen) for chosen in some]]


def movements(shape, rng, all_of_them=False):
    permutes = [Permute(axes) for axes in itertools.permutations(range(len(shape)))]
    return [
        *reshapes(shape),
        *broadcasts(shape),
        *permutes,
        *slices(shape, rng, all_of_them),
        *windows(shape, rng, all_of_them),
    ]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_construction(shape):
    """Any strides are taken to the canonical form, which is one layout for one map."""
    layouts, _ = family(shape)
    made = set(layouts)
    assert len(made) == len(layouts)
    numel = math.prod(shape)
    for strides in itertools.product(STRIDES, repeat=len(shape)):
        low = sum((extent - 1) * min(stride, 0) for extent, stride in zip(shape, strides, strict=True))
        layout = Layout(shape, strides, 3 - low if numel else 5)
        assert layout in made
        if numel and low:
            with pytest.raises(ValueError, match="no position may be negative"):
                Layout(shape, strides, -low - 1)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_layouts(shape):
    """Each movement on all layouts of a shape, and the queries of the layouts and of the results."""
    rng = random.Random(f"{shape}")
    layouts, positions = family(shape)
    check_queries(layouts, positions)
    results = {}
    for movement in movements(shape, rng, all_of_them=len(shape) < 3):
        moved, expected = check_movement(movement, layouts, positions)
        for k in rng.sample(range(len(moved)), min(len(moved), 20)):
            results.setdefault(moved[k].shape, []).append((moved[k], expected[k]))
    for found in results.values():
        check_queries([layout for layout, _ in found], np.array([row for _, row in found]))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_coalesce_all_layouts(shape):
    """The results reach the positions in C order, have one shape, and no shorter shape has strides for all of them."""
    rng = random.Random(f"{shape}")
    layouts, positions = family(shape)
    numel = math.prod(shape)
    fitting = {s: expressible(positions, s) for s in factorizations(numel)} if numel else {}
    groups = [[k] for k in range(len(layouts))]
    groups += [[rng.randrange(len(layouts)) for _ in range(count)] for count in (2, 2, 2, 3, 4) for _ in range(60)]
    for group in groups:
        results = coalesce([layouts[k] for k in group])
        assert len(results) == len(group)
        (result,) = {layout.shape for layout in results}
        if numel < 2:
            assert result == (numel,)
        else:
            shortest = min(len(s) for s, fits in fitting.items() if fits[group].all())
            assert len(result) == shortest, [layouts[k] for k in group]
        actual = positions_of(result, [layout.strides for layout in results], [layout.offset for layout in results])
        np.testing.assert_array_equal(actual, positions[group])
        assert coalesce(results) == results


# ---- chains

MOST = 160  # elements


def random_layout(rng):
    shape = tuple([rng.choice((1, 2, 2, 2, 3, 3, 4)) for _ in range(rng.choice((0, 1, 2, 3, 3, 4, 4)))])
    if rng.random() < 0.02:
        shape += (0,)
    if rng.random() < 0.4:
        return Layout.contiguous(shape)
    strides = [rng.choice((0, rng.randint(-4, 4), rng.choice((-1, 1)) * rng.randint(1, 60))) for _ in shape]
    low = sum([(extent - 1) * min(stride, 0) for extent, stride in zip(shape, strides, strict=True)])
    return Layout(shape, strides, rng.randrange(4) - low)


def random_movement(shape, rng):
    """A movement that applies to ``shape``, its result of at most 6 axes and at most some hundred elements."""
    numel, rank = math.prod(shape), len(shape)
    kind = rng.randrange(6)
    if kind <= 1:
        if numel == 0:
            return Reshape(rng.choice([(0,), (2, 0), (0, 3, 1)]))
        factors = list(rng.choice(factorizations(numel)))
        if kind == 0:  # only splits: these have strides more often
            factors = [d for extent in shape for d in rng.choice(factorizations(extent))]
        while len(factors) > 6:
            factors[0] *= factors.pop()
            rng.shuffle(factors)
        for _ in range(rng.randrange(7 - len(factors))):
            factors.insert(rng.randint(0, len(factors)), 1)
        return Reshape(factors)
    if kind == 2:
        aligned = [
            rng.choice((1, 2, 3, 0 if rng.random() < 0.05 else 4)) if extent == 1 else extent for extent in shape
        ]
        added = [rng.choice((1, 2, 2, 3)) for _ in range(rng.randrange(min(3, 7 - rank)))]
        grown = [extent for extent in (*added, *aligned) if extent]
        return Broadcast([*added, *aligned] if math.prod(grown) <= MOST else shape)
    if kind == 3:
        return Permute(rng.sample(range(rank), rank))
    if kind == 4:
        parts = []
        for extent in shape:
            count = (
                extent if rng.random() < 0.6 else rng.randint(0 if extent == 0 or rng.random() < 0.02 else 1, extent)
            )
            reach = rng.randint(0, (extent - 1) // (count - 1)) if count > 1 else rng.randint(1, 3)
            step = (reach or 1) * rng.choice((1, 1, -1))
            spread = (count - 1) * abs(step)
            start = rng.randrange(extent - spread) + (spread if step < 0 else 0) if count else rng.randint(-2, 9)
            parts.append(Range(start, count, step))
        return Slice(parts)
    axes = sorted(rng.sample(range(rank), rng.randint(0, min(2, rank, 6 - rank))))
    specs = [WindowSpec(a, rng.randint(1, max(shape[a], 1)), rng.randint(1, 3), rng.randint(1, 2)) for a in axes]
    window = Window(specs)
    return window if math.prod([d for d in window.result_shape(shape) if d]) <= MOST else Window(())


def numpy_result(movement, array):
    """``movement`` in NumPy's words."""
    match movement:
        case Reshape(shape):
            return array.reshape(shape)
        case Broadcast(shape):
            return np.broadcast_to(array, shape)
        case Permute(axes):
            return array.transpose(axes)
        case Slice(parts):
            for axis, part in enumerate(parts):
                array = array.take(part.start + part.step * np.arange(part.count), axis=axis)
            return array
        case Window(specs):
            for spec in specs:
                extent, length = array.shape[spec.axis], (spec.size - 1) * spec.dilation + 1
                starts = np.arange(0, max(extent - length + 1, 0), spec.step)
                index = starts[:, None] + spec.dilation * np.arange(spec.size)
                array = np.moveaxis(array.take(index, axis=spec.axis), spec.axis + 1, -1)
            return array
    raise AssertionError(movement)


def run_chain(seed):
    """A random chain of movements, checked after each one; returns how many reshapes had strides, and how many not."""
    rng = random.Random(seed)
    start = layout = random_layout(rng)
    chain = []
    positions = start.positions()
    reshaped = [0, 0]
    try:
        for _ in range(rng.randint(1, 8)):
            movement = random_movement(layout.shape, rng)
            chain.append(movement)
            expected = numpy_result(movement, positions)
            moved = layout.move(movement)
            assert movement.result_shape(layout.shape) == expected.shape
            if isinstance(movement, Reshape):
                reshaped[moved is None] += 1
                assert (moved is not None) == expressible(expected.reshape(1, -1), movement.shape)[0]
            if moved is None:
                chain.pop()
                continue
            layout, positions = moved, expected.copy()
            assert (layout.positions() == expected).all()
            assert layout.numel == expected.size
            assert layout == Layout(layout.shape, layout.strides, layout.offset)  # canonical
            if expected.size:
                assert layout.span == (expected.min(), expected.max() + 1)
                index = tuple([rng.randrange(extent) for extent in layout.shape])
                source, shapes = index, [start.shape]
                for step in chain:
                    shapes.append(step.result_shape(shapes[-1]))
                for step, shape in zip(reversed(chain), reversed(shapes[:-1]), strict=True):
                    source = step.source(shape, source)
                assert start.position(source) == layout.position(index) == expected[index]
    except Exception as error:
        error.add_note(f"run_chain({seed}): {start!r} moved by {chain!r}")
        raise
    return reshaped


@pytest.mark.parametrize("part", range(20))
def test_random_chains(part, request, long_mode):
    """100,000 chains (2,000,000 with --long), each from a seed of its own, which a failure prints."""
    count = 100_000 if long_mode else 5_000
    first = (request.config.getoption("--seed") * 20 + part) * 100_000
    reshaped = np.sum([run_chain(first + k) for k in range(count)], axis=0)
    # Both answers of a reshape are common, or the chains would test little.
    assert reshaped.min() > count // 10


# ---- the longer sweep


@pytest.mark.long
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if len(shape) >= 2], ids=str)
def test_all_slices_and_windows(shape):
    rng = random.Random(f"long {shape}")
    layouts, positions = family(shape, strides=(-4, -1, 0, 2, 3))
    for movement in movements(shape, rng, all_of_them=True):
        check_movement(movement, layouts, positions)


@pytest.mark.long
@pytest.mark.parametrize("shape", list(itertools.product(range(1, 4), repeat=4)), ids=str)
def test_rank_4(shape):
    rng = random.Random(f"long {shape}")
    layouts, positions = family(shape)
    check_queries(layouts, positions)
    for movement in [*reshapes(shape), *rng.sample(movements(shape, rng), 20)]:
        check_movement(movement, layouts, positions)
