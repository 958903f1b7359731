"""Sliding windows against NumPy's, and, with steps and dilations, against a loop."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import lamina
from lamina.layout import Layout
from tests.api.oracle import error_class, is_same, quiet

numpys = np.lib.stride_tricks.sliding_window_view


def by_loop(x, sizes, axes, steps, dilations):
    """Windows, each element looked up: axis by axis, the window index in place and the element's at the end."""
    for size, axis, step, dilation in zip(sizes, axes, steps, dilations, strict=True):
        count = (x.shape[axis] - (size - 1) * dilation - 1) // step + 1
        windows = [[x.take(w * step + j * dilation, axis) for j in range(size)] for w in range(count)]
        x = np.moveaxis(np.array(windows), (0, 1), (axis, -1))
    return x


def both(x, *args, **kwargs):
    """The eager and the traced windows; each a view."""
    eager = lamina.sliding_window_view(x, *args, **kwargs)
    traced = lamina.defn(lambda x: lamina.sliding_window_view(x, *args, **kwargs))(x)
    is_same(eager, traced)
    for result in (np.asarray(eager), traced):
        assert np.shares_memory(result, x) == bool(result.size)
        assert not result.size or not result.flags.writeable
    return traced


def test_numpys_windows(rng):
    cases = [
        ((7,), 3, None),
        ((7,), (7,), 0),
        ((4, 5), (2, 3), None),
        ((4, 5), 2, 1),
        ((4, 5), (3, 2), (1, 0)),
        ((4, 5), (2, 2), (0, 0)),
        ((4, 5), (2, 2, 2), (1, 0, 1)),
        ((4, 5, 3), (2, 3), (-1, 0)),
        ((4, 5), (), ()),
        ((4,), 0, None),
        ((4, 5), (0, 2), None),
        ((0,), 0, None),
        ((), (), None),
        ((0, 3), 2, 1),
        ((4,), 5, None),
        ((4,), -1, None),
        ((4, 5), 2, None),
        ((4, 5), (2, 2), 0),
        ((4, 5), (3, 3), (0, 0)),
        ((4, 5), 2, 2),
        ((0,), 1, None),
    ]
    for shape, sizes, axis in cases:
        for x in (
            np.array(rng.standard_normal(shape)),
            np.array(rng.standard_normal(shape[::-1])).T[(*(slice(None, None, -1) for _ in shape), ...)],
        ):
            try:
                expected = quiet(numpys, x, sizes, axis)
            except (ValueError, TypeError, IndexError) as error:
                for call in (
                    lamina.sliding_window_view,
                    lamina.defn(lambda x, s=sizes, a=axis: lamina.sliding_window_view(x, s, a)),
                ):
                    with pytest.raises(error_class(error)):
                        call(x, sizes, axis) if call is lamina.sliding_window_view else call(x)
                continue
            is_same(both(x, sizes, axis), expected, f"{shape} {sizes} {axis}")


def test_steps_and_dilations(rng):
    x = rng.standard_normal((6, 5))
    for size, step, dilation in itertools.product([1, 2, 3], [1, 2, 4, 9], [1, 2, 3]):
        for axis in (0, 1, -1):
            if (size - 1) * dilation < x.shape[axis]:
                expected = by_loop(x, [size], [axis % 2], [step], [dilation])
                is_same(both(x, size, axis, step=step, dilation=dilation), expected)
            else:
                with pytest.raises(ValueError, match="can't be larger"):
                    lamina.sliding_window_view(x, size, axis, step=step, dilation=dilation)
    for axes in [(0, 1), (1, 0), (0, 0)]:
        expected = by_loop(x, (2, 2), axes, (1, 2), (2, 1))
        is_same(both(x, (2, 2), axes, step=(1, 2), dilation=(2, 1)), expected)


def test_windows_with_a_step_and_a_dilation():
    x = np.arange(12).reshape(3, 4)
    result = both(x, 2, 1, step=1, dilation=2)
    assert result.tolist() == [[[0, 2], [1, 3]], [[4, 6], [5, 7]], [[8, 10], [9, 11]]]
    assert [stride // x.itemsize for stride in result.strides] == [4, 1, 2]
    assert lamina.sliding_window_view(x, 2, 1, dilation=2).layout == Layout((3, 2, 2), (4, 1, 2))
    assert both(np.arange(10), 3, 0, step=2).tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]]
    for size, dilation in [(11, 1), (4, 4), (2**62, 2**62)]:
        with pytest.raises(ValueError, match="can't be larger than axis 0, which has 10"):
            lamina.sliding_window_view(np.arange(10), size, dilation=dilation)


def test_windows_of_a_large_array_take_no_memory():
    x = np.broadcast_to(np.float64(1), (2**20, 2**20))
    assert lamina.sliding_window_view(x, (3, 3)).shape == (2**20 - 2, 2**20 - 2, 3, 3)


@pytest.mark.parametrize("dtype", ["bool", "int8", "complex64", ml_dtypes.bfloat16, ml_dtypes.int4])
def test_every_dtype(dtype):
    x = np.arange(6).astype(dtype)
    is_same(lamina.sliding_window_view(x, 2, step=2), x.reshape(3, 2))


def test_a_sum_over_windows(rng):
    x = rng.standard_normal((8, 9))

    @lamina.defn
    def blurred(x):
        return lamina.mean(lamina.sliding_window_view(x, (3, 3)), axis=(-2, -1))

    is_same(blurred(x), numpys(x, (3, 3)).mean(axis=(-2, -1)))


def test_windows_are_one_movement_where_their_axes_ascend():
    text = str(lamina.trace(lambda x: lamina.sliding_window_view(x, (3, 3)), np.ones((5, 5))))
    assert text.count("move(") == 1


def test_the_sizes_may_be_traced_numbers():
    windows = lamina.defn(lambda x, n: lamina.sliding_window_view(x, n))
    for n in (1, 2):
        is_same(windows(np.arange(4), n), numpys(np.arange(4), n))


def test_windows_refuse():
    x = np.arange(6)
    for wrong in [{"step": 0}, {"dilation": 0}, {"step": -1}, {"step": (1, 2)}, {"dilation": ()}]:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            lamina.sliding_window_view(x, 2, **wrong)
    for wrong in [{"step": 1.5}, {"dilation": "1"}, {"step": None}]:
        with pytest.raises(TypeError):
            lamina.sliding_window_view(x, 2, **wrong)
    for name in ["subok", "writeable"]:
        with pytest.raises(NotImplementedError, match=name):
            lamina.sliding_window_view(x, 2, **{name: True})
    with pytest.raises(ValueError, match="33 axes"):
        lamina.sliding_window_view(np.ones((1,) * 32), 1, 0)


def test_a_window_of_a_transposed_view_follows_its_strides(rng):
    x = rng.standard_normal((5, 4))
    is_same(both(x.T[::-1], 2, 1) * 2, numpys(x.T[::-1], 2, 1) * 2)


def test_zero_size_arrays_are_contiguous():
    empties = [
        lamina.zeros((1, 8, 0, 128)),
        lamina.zeros((4, 5, 3))[..., ::-1][0:0, 2:2],
        lamina.sliding_window_view(np.zeros((0, 3)), 2, 1),
    ]
    for empty in empties:
        assert empty.layout.is_contiguous
        assert np.from_dlpack(empty).shape == empty.shape
