"""Manipulation against NumPy: values, kinds, dtypes, errors, and what shares memory with the argument."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import lamina
from tests.api.oracle import NUMPY_DTYPES, error_class, is_same, is_scalar, quiet, sample

SHAPES = [(), (1,), (4,), (0,), (2, 3), (3, 0), (1, 3), (2, 3, 4), (2, 0, 3), (2, 1, 3, 1)]


def layouts(rng, shape, dtype="float64"):
    """Arrays of a shape: contiguous, transposed, reversed, strided, broadcast."""
    yield sample(rng, shape, dtype)
    if shape:
        yield sample(rng, shape[::-1], dtype).T
        yield sample(rng, shape, dtype)[tuple(slice(None, None, -1) for _ in shape)]
        yield sample(rng, (*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
        yield np.broadcast_to(sample(rng, (1, *shape[1:]), dtype), shape)


def outcome(call):
    try:
        return quiet(call)
    except (TypeError, ValueError, IndexError, ArithmeticError) as error:
        return error_class(error)


def check(ours, theirs, *arrays, views=True):
    """ours(*arrays) is theirs, eager and traced: bits, dtype, shape, container, kind, and whose memory it is."""
    expected = outcome(lambda: theirs(*arrays))
    if isinstance(expected, type):
        for call in (lambda: ours(*map(lamina.asarray, arrays)), lambda: lamina.defn(ours)(*arrays)):
            with pytest.raises(expected):
                call()
        return
    eager, traced = ours(*map(lamina.asarray, arrays)), lamina.defn(ours)(*arrays)
    if not isinstance(expected, (tuple, list)):
        eager, traced, expected = [eager], [traced], [expected]
    assert len(eager) == len(traced) == len(expected)
    for one, other, oracle in zip(eager, traced, expected, strict=True):
        what = f"{[f'{a.dtype}{a.shape} strides {a.strides}' for a in arrays]}"
        assert isinstance(one, lamina.Array)
        is_same(one, oracle, what)
        is_same(other, oracle, what)
        assert is_scalar(other) == is_scalar(oracle), f"{what}: {type(other)}, expected {type(oracle)}"
        for array in arrays if views else ():
            shares = np.shares_memory(oracle, array)
            assert is_scalar(other) or np.shares_memory(other, array) == shares, what
            assert np.shares_memory(one.to_numpy(), array) == shares or not oracle.shape, what


def for_every_layout(rng, ours, theirs, shapes=SHAPES, views=True):
    for shape in shapes:
        for x in layouts(rng, shape):
            check(ours, theirs, x, views=views)


# Shapes


def shapes_of(size):
    """Every shape up to rank 3 of this many elements."""
    if size == 0:
        return [(0,), (0, 3), (2, 0), (2, 0, 3), (0, 0)]
    divisors = [n for n in range(1, size + 1) if size % n == 0]
    return [
        (size,),
        *((a, size // a) for a in divisors),
        *((a, b, size // a // b) for a in divisors for b in divisors if size // a % b == 0),
    ]


def test_reshape(rng):
    for shape in SHAPES:
        for x in layouts(rng, shape):
            for wanted in shapes_of(x.size):
                check(lambda x, w=wanted: lamina.reshape(x, w), lambda x, w=wanted: np.reshape(x, w), x)
            for wanted in [-1, (-1,), (-1, 3), (3, -1), (-1, 1), (2, -1, 2), (5,), (), (-1, -1), (0, -1), (-2, 3), 4]:
                check(lambda x, w=wanted: lamina.reshape(x, w), lambda x, w=wanted: np.reshape(x, w), x)


def test_reshape_of_a_zero_size_array():
    e = np.empty((0, 3))
    for x in (e, lamina.asarray(e)):
        assert lamina.reshape(x, (-1, 3)).shape == (0, 3)
        assert lamina.reshape(x, -1).shape == (0,)
        for wanted in [(0, -1), (-1, 0)]:
            with pytest.raises(ValueError, match="ambiguous"):
                lamina.reshape(x, wanted)


def test_reshape_with_and_without_a_copy(rng):
    x = rng.standard_normal((4, 6))
    for view, wanted in [(x, (24,)), (x[:, ::2], (2, 2, 3)), (x[::-1], (4, 2, 3)), (x[:2], (3, 4))]:
        for make in (
            lamina.reshape,
            lambda x, shape, copy: lamina.defn(lambda x: lamina.reshape(x, shape, copy=copy))(x),
        ):
            assert np.shares_memory(np.asarray(make(view, wanted, copy=False)), x)
            assert not np.shares_memory(np.asarray(make(view, wanted, copy=True)), x)
            is_same(make(view, wanted, copy=True), view.reshape(wanted))
    for view, wanted in [(x.T, (24,)), (x[:, ::4], (8,)), (x[:, 1:], (20,)), (x[::-1], (24,))]:
        assert not np.shares_memory(view.reshape(wanted), x)
        with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
            lamina.reshape(view, wanted, copy=False)
    with pytest.raises(ValueError, match="Unable to avoid creating a copy"):
        lamina.asarray(x).T.reshape(-1, copy=False)


def test_the_shape_may_hold_traced_numbers():
    shaped = lamina.defn(lambda x, n: (lamina.reshape(x, (n, -1)), x.reshape(-1, n)))
    x = np.arange(12)
    for n in (2, 6):
        for result, expected in zip(shaped(x, n), (x.reshape(n, -1), x.reshape(-1, n)), strict=True):
            is_same(result, expected)


def test_shapes_that_no_array_has():
    for call in (lamina.reshape, lamina.broadcast_to):
        with pytest.raises(ValueError, match="33 axes"):
            call(np.zeros(1), (1,) * 33)
        with pytest.raises(TypeError):
            call(np.zeros(1), 1.0)
    with pytest.raises(ValueError, match="2\\*\\*53"):
        lamina.broadcast_to(np.zeros(1), (2**60,))
    with pytest.raises(ValueError, match="2\\*\\*53"):
        lamina.tile(np.zeros(1), 2**60)
    with pytest.raises(ValueError, match="2\\*\\*53"):
        lamina.repeat(np.zeros(1), 2**60)
    with pytest.raises(ValueError, match="33 axes"):
        lamina.expand_dims(np.zeros((1,) * 32), axis=0)


def test_ravel_and_the_methods(rng):
    for order in "CF":
        for_every_layout(rng, lambda x, o=order: lamina.ravel(x, o), lambda x, o=order: np.ravel(x, o), views=False)
        for_every_layout(rng, lambda x, o=order: x.flatten(o), lambda x, o=order: x.flatten(o))
        for x in layouts(rng, (3, 4)):
            eager = lamina.ravel(x, order=order).to_numpy()
            assert np.shares_memory(eager, x) == np.shares_memory(np.ravel(x, order=order), x)
    with pytest.raises(NotImplementedError, match="'K'"):
        lamina.ravel([1], order="K")


def test_expand_dims_and_squeeze(rng):
    for axis in [0, 1, -1, 2, (0, 2), (-1, 0), (0, 0), (1, -3), 9, ()]:
        for_every_layout(rng, lambda x, a=axis: lamina.expand_dims(x, axis=a), lambda x, a=axis: np.expand_dims(x, a))
    for axis in [None, 0, 1, -1, (1, 3), (0, 0), (), 4]:
        for_every_layout(rng, lambda x, a=axis: lamina.squeeze(x, axis=a), lambda x, a=axis: np.squeeze(x, a))


def test_at_least_so_many_axes(rng):
    for name in ["atleast_1d", "atleast_2d", "atleast_3d"]:
        for_every_layout(rng, getattr(lamina, name), getattr(np, name))
        check(getattr(lamina, name), getattr(np, name), np.array(5), np.arange(3), np.ones((2, 2)))


# Order


def test_permutations(rng):
    for axes in [None, (), (0,), (1, 0), (-1, 0), (2, 0, 1), (0, 0), (0, 1, 3), [1, 2, 0], (3, 2, 1, 0)]:
        for_every_layout(rng, lambda x, a=axes: lamina.permute_dims(x, a), lambda x, a=axes: np.transpose(x, a))
    for_every_layout(rng, lambda x: x.T, lambda x: x.T)


def test_moving_axes(rng):
    pairs = [(0, -1), (1, 0), (-1, 1), ((0, 1), (1, 0)), ((0, 2), (-1, 0)), ((0, 0), (1, 0)), ((0,), (0, 1)), (0, 5)]
    for source, destination in pairs:
        for_every_layout(
            rng,
            lambda x, s=source, d=destination: lamina.moveaxis(x, s, d),
            lambda x, s=source, d=destination: np.moveaxis(x, s, d),
        )
    for one, other in [(0, 1), (-1, 0), (0, 0), (0, 7)]:
        for_every_layout(
            rng, lambda x, a=one, b=other: lamina.swapaxes(x, a, b), lambda x, a=one, b=other: np.swapaxes(x, a, b)
        )


def test_flip_and_rot90(rng):
    for axis in [None, 0, 1, -1, (0, 1), (0, 0), (), 3]:
        for_every_layout(rng, lambda x, a=axis: lamina.flip(x, axis=a), lambda x, a=axis: np.flip(x, a))
    for k, axes in itertools.product([0, 1, 2, 3, -1, 7], [(0, 1), (1, 0), (-1, 0), (0, 0), (0,), (0, 5)]):
        for_every_layout(
            rng,
            lambda x, k=k, a=axes: lamina.rot90(x, k, a),
            lambda x, k=k, a=axes: np.rot90(x, k, a),
            [(2, 3), (2, 3, 4)],
        )


def test_roll(rng):
    for shift, axis in [
        (1, None),
        (-7, None),
        (0, None),
        (2, 0),
        (-1, -1),
        (0, 0),
        (100, 0),
        ((1, 2), (0, 1)),
        (1, (0, 1)),
        ((1, 2), 0),
        ((1, 1), (0, 0)),
        ((1, -1), (0, 0)),
        ((1, 2, 3), (0, 1)),
        (1, 5),
        (2**70, 0),
    ]:
        for_every_layout(
            rng, lambda x, s=shift, a=axis: lamina.roll(x, s, axis=a), lambda x, s=shift, a=axis: np.roll(x, s, a)
        )


def test_a_roll_by_a_traced_shift_needs_one_trace(rng):
    traces = []

    @lamina.defn
    def rolled(x, n, m):
        traces.append(n)
        return (
            lamina.roll(x, n),
            lamina.roll(x, n, axis=1),
            lamina.roll(x, (n, m), axis=(0, 1)),
            lamina.roll(x, m[()], axis=0),
        )

    x = rng.standard_normal((3, 4))
    for n, m in [(0, 1), (1, -2), (-5, 7), (13, 0)]:
        expected = np.roll(x, n), np.roll(x, n, 1), np.roll(x, (n, m), (0, 1)), np.roll(x, m, 0)
        for result, oracle in zip(rolled(x, n, np.int64(m)), expected, strict=True):
            is_same(result, oracle)
    assert len(traces) == 1


# Broadcasting


def test_broadcasting(rng):
    for wanted in [(), (3,), 4, (2, 3), (5, 2, 3), (2, 3, 4), (2, 0), (0,), (2, 2, 3, 4), (-1,)]:
        for_every_layout(rng, lambda x, w=wanted: lamina.broadcast_to(x, w), lambda x, w=wanted: np.broadcast_to(x, w))
    for shapes in [[(2, 1), (3,)], [(), (2, 2)], [(0, 1), (1, 3)], [(2,), (3,)], [(1,), (4, 1, 1), (2, 1)]]:
        check(lamina.broadcast_arrays, np.broadcast_arrays, *(rng.standard_normal(shape) for shape in shapes))
        assert outcome(lambda s=shapes: lamina.broadcast_shapes(*s)) == outcome(
            lambda s=shapes: np.broadcast_shapes(*s)
        )
    assert lamina.broadcast_shapes() == ()
    assert lamina.broadcast_shapes(3, (2, 1)) == (2, 3)


def test_what_is_broadcast_is_not_to_be_written():
    one = np.ones((1, 1))
    results = lamina.broadcast_to(one, (4, 5)).to_numpy(), lamina.defn(lambda x: lamina.broadcast_to(x, (4, 5)))(one)
    for result in results:
        assert np.shares_memory(result, one)
        assert not result.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            result += 1
    assert one.tolist() == [[1]]


# Joining


def test_concat(rng):
    groups = [
        [(2, 3), (2, 3)],
        [(2, 3), (4, 3)],
        [(2, 3), (2, 0)],
        [(0, 3), (2, 3), (1, 3)],
        [(3,), (0,), (2,)],
        [(), ()],
        [(), (2, 3)],
        [(2,), (2, 1)],
        [(2, 3, 4), (2, 1, 4)],
        [(2, 3)],
    ]
    for shapes, axis in itertools.product(groups, [0, 1, -1, None, 3]):
        arrays = [next(itertools.islice(layouts(rng, shape), min(len(shape), 1), None)) for shape in shapes]
        check(lambda *a, axis=axis: lamina.concat(a, axis=axis), lambda *a, axis=axis: np.concatenate(a, axis), *arrays)
    for one, other in itertools.product(NUMPY_DTYPES, repeat=2):
        check(lambda *a: lamina.concat(a), lambda *a: np.concatenate(a), np.ones(2, one), np.zeros(3, other))
    with pytest.raises(ValueError, match="at least one"):
        lamina.concat([])


def test_numbers_in_sequences():
    # a Python number adapts only where it is flattened: NumPy's concatenate with axis None
    x = np.float32([1, 2])
    for parts, axis in [([x, 1.5], None), ([np.int8([1]), 3], None), ([x, [1.5]], 0), ([True, x], None)]:
        is_same(lamina.concat(parts, axis=axis), np.concatenate(parts, axis=axis))
    joined = lamina.defn(
        lambda x, n: (lamina.concat([x, n], axis=None), lamina.stack([x[0], n]), lamina.stack([n, 1.5]))
    )
    for result, expected in zip(
        joined(x, 3), (np.concatenate([x, 3], axis=None), np.stack([x[0], 3]), np.stack([3, 1.5])), strict=True
    ):
        is_same(result, expected)
    with pytest.raises(OverflowError, match="int8"):
        lamina.defn(lambda x, n: lamina.concat([x, n], axis=None))(np.int8([1]), 300)


def test_stack(rng):
    for shapes, axis in itertools.product(
        [[(2, 3)] * 3, [()] * 2, [(0,), (0,)], [(2,), (3,)], [(2, 3)]], [0, 1, -1, 2, -3, 5]
    ):
        arrays = [sample(rng, shape, "float32") for shape in shapes]
        check(lambda *a, axis=axis: lamina.stack(a, axis=axis), lambda *a, axis=axis: np.stack(a, axis), *arrays)
    for name in ["hstack", "vstack", "dstack", "column_stack"]:
        for shapes in [
            [(), ()],
            [(2,), (2,)],
            [(2,), (3,)],
            [(2, 3), (2, 3)],
            [(2, 1), (2, 3)],
            [(2,), (2, 3)],
            [(2, 3, 4)] * 2,
        ]:
            arrays = [sample(rng, shape, "float32") for shape in shapes]
            check(lambda *a, name=name: getattr(lamina, name)(a), lambda *a, name=name: getattr(np, name)(a), *arrays)
    for call in [lamina.stack, lamina.hstack]:
        with pytest.raises(ValueError, match="at least one"):
            call([])
    x = rng.standard_normal((2, 3, 4))
    check(
        lambda x: lamina.concat(x, axis=1), lambda x: np.concatenate(x, axis=1), x
    )  # an array is a sequence of arrays


def test_taking_apart(rng):
    for axis in [0, 1, -1, 4]:
        for_every_layout(rng, lambda x, a=axis: lamina.unstack(x, axis=a), lambda x, a=axis: np.unstack(x, axis=a))
        for cuts in [1, 2, 3, 5, 0, -1, [1], [1, 2], [2, 1], [-1], [0, 9], (), np.array([1, 3])]:
            for name in ["split", "array_split"]:
                for_every_layout(
                    rng,
                    lambda x, c=cuts, a=axis, name=name: getattr(lamina, name)(x, c, a),
                    lambda x, c=cuts, a=axis, name=name: getattr(np, name)(x, c, a),
                    [(4,), (0,), (2, 3), (2, 3, 4)],
                )


# Repeating


def test_repeat(rng):
    for repeats, axis in itertools.product(
        [0, 1, 3, -1, [2], [1, 2], [0, 0], [1, 0, 2], [1, -1], [[1, 2]], np.int8(2)], [None, 0, 1, -1, 5]
    ):
        for_every_layout(
            rng,
            lambda x, r=repeats, a=axis: lamina.repeat(x, r, axis=a),
            lambda x, r=repeats, a=axis: np.repeat(x, r, a),
            [(), (2,), (2, 3), (3, 0), (2, 3, 1)],
        )
    repeated = lamina.defn(lambda x, n: lamina.repeat(x, n, axis=0), strict=True)
    x = rng.standard_normal((2, 3))
    for n in (0, 2):
        is_same(repeated(x, n), np.repeat(x, n, 0))
    with pytest.raises(lamina.errors.DataDependentShapeError, match="repeat"):
        repeated(x, np.array([1, 2]))
    with pytest.raises(TypeError, match="integers"):
        lamina.repeat(x, 1.5)


def test_tile(rng):
    for repetitions in [0, 1, 3, (2,), (2, 1), (1, 1, 1, 1, 1), (2, 0), (2, 3, 2), (), -1, 1.5]:
        for_every_layout(rng, lambda x, r=repetitions: lamina.tile(x, r), lambda x, r=repetitions: np.tile(x, r))


@pytest.mark.parametrize("dtype", [*NUMPY_DTYPES, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_every_dtype(dtype, rng):
    x = rng.integers(0, 2, (2, 3)).astype(dtype)
    for ours, theirs in [
        (lambda x: lamina.roll(x, 1, axis=0), lambda x: np.roll(x, 1, 0)),
        (lambda x: lamina.repeat(x, 2, axis=1), lambda x: np.repeat(x, 2, 1)),
        (lambda x: lamina.tile(x, (2, 2)), lambda x: np.tile(x, (2, 2))),
        (lambda x: lamina.concat([x, x[:, :1]], axis=1), lambda x: np.concatenate([x, x[:, :1]], axis=1)),
        (lambda x: lamina.flip(x.T), lambda x: np.flip(x.T)),
        (lambda x: lamina.pad(x, 1), lambda x: np.pad(x, 1)),
        (lambda x: lamina.pad(x, 1, "edge"), lambda x: np.pad(x, 1, "edge")),
    ]:
        check(ours, theirs, x, views=False)


# Padding


WIDTHS = [0, 1, (1,), (2, 1), [[0, 3]], ((1, 2), (0, 1)), ((1,), (2,)), np.array([2, 2]), ((3, 0), (0, 3)), 7]
WRONG_WIDTHS = [-1, 1.0, True, (1, 2, 3), ((1, 1, 1), (1, 1, 1)), ((0, 1), (0, -1)), "1", None, ()]


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
def test_pad(mode, rng):
    for widths in [*WIDTHS, *WRONG_WIDTHS]:
        for_every_layout(
            rng,
            lambda x, w=widths: lamina.pad(x, w, mode=mode),
            lambda x, w=widths: np.pad(x, w, mode=mode),
            [(), (1,), (4,), (2, 3), (1, 3), (0,), (2, 0)],
        )


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_pads_that_are_wider_than_the_array(mode):
    for extent, before, after in itertools.product(range(1, 5), range(12), range(12)):
        x = np.arange(extent)
        is_same(lamina.pad(x, (before, after), mode), np.pad(x, (before, after), mode), f"{extent, before, after}")
    x = np.arange(6).reshape(3, 2)
    is_same(lamina.pad(x, 200, mode), np.pad(x, 200, mode))  # so many pieces that they are gathered


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize("shape", [(200, 130), (3, 90, 100), (20_000,)])
def test_pads_of_large_arrays(mode, shape, rng):
    for dtype in (np.float64, np.bool_):
        x = (rng.random(shape) * 9).astype(dtype)
        for widths in (1, (2, 0), [(0, 2)] * len(shape), (5, 1)):
            expected = np.pad(x, widths, mode=mode)
            is_same(lamina.pad(x, widths, mode=mode), expected, f"{dtype} {widths}")
            given = lamina.defn(lambda x, w=widths: np.pad(x, w, mode=mode), strict=True)(x)
            is_same(given, expected, f"{dtype} {widths}, traced")


def test_pad_with_constants(rng):
    x = rng.standard_normal((2, 3))
    for values in [0, 7, (1, 2), ((1,), (2,)), ((1, 2), (3, 4)), np.array([5, 6]), 2.5, [9], [[1, 2]]]:
        for width in [1, (2, 1), ((1, 0), (0, 2))]:
            check(
                lambda x, w=width, v=values: lamina.pad(x, w, constant_values=v),
                lambda x, w=width, v=values: np.pad(x, w, constant_values=v),
                x,
            )
    given = lamina.defn(lambda x, n, v: (lamina.pad(x, 1, constant_values=n), lamina.pad(x, (1, 2), constant_values=v)))
    for v in [np.array([4.0, 5.0]), np.array([[1.0, 2], [3, 4]]), np.array([[1.0], [2]]), np.array(3.0)]:
        for result, expected in zip(
            given(x, 3, v), (np.pad(x, 1, constant_values=3), np.pad(x, (1, 2), constant_values=v)), strict=True
        ):
            is_same(result, expected)
    check(lambda x: lamina.pad(x, 1, constant_values=2), lambda x: np.pad(x, 1, constant_values=2), np.array([False]))
    for wrong in [300, -129]:
        with pytest.raises(OverflowError):
            lamina.pad(np.int8([1]), 1, constant_values=wrong)
    with pytest.raises(TypeError, match="imaginary"):
        lamina.pad(x, 1, constant_values=1j)
    with pytest.raises(ValueError, match="broadcast"):
        lamina.pad(x, 1, constant_values=[1, 2, 3])


def test_pad_of_axes_by_name(rng):
    x = rng.standard_normal((2, 3, 4))
    for widths in [{}, {0: 1}, {-1: (0, 2)}, {0: (1, 0), 2: 3}]:
        check(lambda x, w=widths: lamina.pad(x, w, "edge"), lambda x, w=widths: np.pad(x, w, "edge"), x)


def test_pad_refuses():
    x = np.arange(3)
    with pytest.raises(ValueError, match="mode 'nearest' is not supported"):
        lamina.pad(x, 1, "nearest")
    with pytest.raises(ValueError, match="unsupported keyword arguments for mode 'edge'"):
        lamina.pad(x, 1, "edge", constant_values=1)
    with pytest.raises(ValueError, match="can't extend empty axis 1"):
        lamina.pad(np.zeros((2, 0)), 1, "wrap")
    for mode in ["linear_ramp", "mean", "median", "maximum", "minimum", lambda *_: None]:
        with pytest.raises(NotImplementedError, match="pad with mode"):
            lamina.pad(x, 1, mode)
    with pytest.raises(NotImplementedError, match="reflect_type 'odd'"):
        lamina.pad(x, 1, "reflect", reflect_type="odd")


def test_a_reflection_is_concatenated_from_movements():
    text = str(lamina.trace(lambda x: lamina.pad(x, 2, "reflect"), np.ones(1000)))
    assert "gather" not in text and "concat" in text


# Kinds and errors


def test_numbers_and_scalars():
    functions = [
        (lambda v: lamina.reshape(v, ()), lambda v: np.reshape(v, ())),
        (lambda v: lamina.reshape(v, (1, 1)), lambda v: np.reshape(v, (1, 1))),
        (lamina.permute_dims, np.transpose),
        (lamina.squeeze, np.squeeze),
        (lamina.flip, np.flip),
        (lamina.ravel, np.ravel),
        (lambda v: lamina.expand_dims(v, axis=0), lambda v: np.expand_dims(v, 0)),
        (lambda v: lamina.broadcast_to(v, ()), lambda v: np.broadcast_to(v, ())),
        (lambda v: lamina.broadcast_to(v, (2,)), lambda v: np.broadcast_to(v, (2,))),
        (lambda v: lamina.roll(v, 1), lambda v: np.roll(v, 1)),
        (lambda v: lamina.repeat(v, 2), lambda v: np.repeat(v, 2)),
        (lambda v: lamina.tile(v, ()), lambda v: np.tile(v, ())),
        (lambda v: lamina.stack([v, v]), lambda v: np.stack([v, v])),
        (lambda v: lamina.pad(v, 0), lambda v: np.pad(v, 0)),
        (lamina.atleast_1d, np.atleast_1d),
    ]
    for value in [5, 2.5, True, np.float32(3), np.array(4)]:
        for ours, theirs in functions:
            for result, traced in [(lamina.defn(ours)(value), True), (ours(value), False)]:
                is_same(result, theirs(value))
                assert not traced or is_scalar(result) == is_scalar(theirs(value))


@pytest.mark.parametrize(
    "call",
    [
        lambda: lamina.reshape(None, (1,)),
        lambda: lamina.reshape("ab", (2,)),
        lambda: lamina.concat([np.ones(2), None]),
        lambda: lamina.flip({}),
        lambda: lamina.concat(5),
        lambda: lamina.permute_dims(np.ones((2, 2)), (0, 1.0)),
        lambda: lamina.squeeze(np.ones((1, 2)), axis="0"),
    ],
)
def test_what_is_no_array_is_a_type_error(call):
    with pytest.raises(TypeError):
        call()


def test_errors_name_the_function():
    with pytest.raises(
        ValueError, match=r"^lamina\.reshape: cannot reshape array of size 3 .*test_manipulation.py:\d+"
    ):
        lamina.reshape(np.ones(3), (2, 2))
    with pytest.raises(ValueError, match=r"lamina\.stack: all input arrays must"):
        lamina.stack([[1], [1, 2]])
