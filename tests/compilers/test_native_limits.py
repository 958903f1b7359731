"""Nothing that a native program computes ends the process: limits of numbers, of extents and of indices."""

import threading

import numpy as np
import pytest

import lamina

INTEGERS = [np.dtype(kind + size) for kind in "iu" for size in "1248"]


def native(function):
    return lamina.defn(function, compiler="native", strict=True)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("size", [1, 40])
def test_quotients_and_shifts_have_a_value_whatever_they_are_of(dtype, size) -> None:
    """Also where a processor raises a signal: x / 0, the least number / -1; and shifts by more than the width."""
    info = np.iinfo(dtype)
    edges = [info.min, info.min + 1, 0, 1, 2, 7, 8, 63, 64, info.max - 1, info.max]
    numbers = np.array([*edges, *([] if info.min == 0 else [-1, -2, -64])], np.object_).astype(dtype)
    x, y = (np.repeat(each.ravel(), size) for each in np.meshgrid(numbers, numbers))

    def f(x, y):
        return x // y, x % y, x << y, x >> y, abs(x), -x, np.fmod(x, y), x * y

    with np.errstate(all="ignore"):
        for came, expected in zip(native(f)(x, y), f(x, y), strict=True):
            np.testing.assert_array_equal(came, expected)

    def one_by_one(x, y):
        total = x[0] * 0
        for i in range(x.shape[0]):
            total ^= x[i] // y[i] + x[i] % y[i]
        return total

    with np.errstate(all="ignore"):
        assert native(one_by_one)(x, y) == np.bitwise_xor.reduce(x // y + x % y)


def test_floats_that_no_integer_holds_saturate() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**63, -(2.0**63), 2.0**64, 5e-324, -0.0, 255.5, -1.5] * 3)

    def f(x):
        return [x.astype(dtype) for dtype in INTEGERS]

    for came, dtype in zip(native(f)(x), INTEGERS, strict=True):
        info = np.iinfo(dtype)
        exact = [0 if np.isnan(each) else max(info.min, min(info.max, int(np.clip(each, -1e19, 1e20)))) for each in x]
        assert came.tolist() == exact


def test_denormals_and_their_like_are_numpys() -> None:
    tiny = np.finfo(np.float64).tiny
    x = np.array([tiny, tiny / 2, 5e-324, -5e-324, 0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1e308, -1e308] * 2)

    def f(x, y):
        return x / 2, x * 0.5, x * y, x / y, x + y, np.sqrt(x), x // y, x % y

    with np.errstate(all="ignore"):
        for shift in range(len(x) // 2):
            y = np.roll(x, shift)
            for came, expected in zip(native(f)(x, y), f(x, y), strict=True):
                np.testing.assert_array_equal(came, expected)
                np.testing.assert_array_equal(np.signbit(came)[came == 0], np.signbit(expected)[expected == 0])


@pytest.mark.parametrize("index", [3, -4, 2**31, -(2**31) - 1, 2**62, -(2**63), 2**63 - 1])
def test_an_index_far_outside_is_an_error(index) -> None:
    x = np.arange(3.0)
    with pytest.raises(IndexError):
        native(lambda x, i: x[i] + 1)(x, index)
    with pytest.raises(IndexError):
        native(lambda x, i: x[i] * 2)(x, np.array([0, index, 1]))

    def write(x, i):
        x[i] = 7.0
        return x

    with pytest.raises(IndexError):
        native(write)(x, index)
    assert x.tolist() == [0, 1, 2]


PARTS = [
    lambda x, i: x[i][:2],
    lambda x, i: x[i][0],
    lambda x, i: (x[i] * 2)[:0],
    lambda x, i: x[i][::2].sum(),
    lambda x, i: np.take_along_axis(x, i, 0)[1:],
    lambda x, i: x[i].reshape(2, 2)[:, 0],
]


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_an_index_is_checked_also_where_its_element_is_not_needed(part: int) -> None:
    x, good = np.arange(3.0), np.array([2, -3, 1, 0])
    np.testing.assert_array_equal(native(PARTS[part])(x, good), PARTS[part](x, good))
    for bad in range(4):
        with pytest.raises(IndexError):
            native(PARTS[part])(x, np.where(np.arange(4) == bad, 3, good))


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 5), (2, 0, 4)])
def test_arrays_without_elements(shape) -> None:
    def f(x):
        return x + 1, x.sum(), x.sum(axis=0), x.prod(axis=-1), (x > 0).all(), np.cumsum(x), x.T, x[::-1] * 2, np.sort(x)

    x = np.ones(shape)
    for came, expected in zip(native(f)(x), f(x), strict=True):
        assert came.shape == expected.shape and came.dtype == expected.dtype
        np.testing.assert_array_equal(came, expected)


def test_many_threads_call_one_program_with_errors_among_them() -> None:
    call = native(lambda x, i: x[i].sum())
    x, wrong = np.arange(1000.0), []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            index = rng.integers(0, 1001, 5)
            try:
                result = call(x, index)
            except IndexError:
                if index.max() < 1000:
                    wrong.append(index)
            else:
                if result != index.sum() or index.max() == 1000:
                    wrong.append(index)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


@pytest.mark.long
def test_arrays_of_more_bytes_than_a_signed_word_counts() -> None:
    x = np.zeros(2**31 + 1, np.uint8)
    x[-1], x[2**31 - 1] = 7, 9

    def f(x):
        return (x + 1)[-3:], x.max(), x.argmax(), x[::-1][:2] + 0, x.sum()

    for came, expected in zip(native(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(came, expected)

    def write(x, i):
        x[i] += 1
        x[i:] *= 2

    native(write)(x, 2**31)
    assert x[-1] == 16 and x[2**31 - 1] == 9
