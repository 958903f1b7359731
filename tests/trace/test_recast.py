"""Memory seen as another dtype: a view, through which the root is written, and which sees what is written there."""

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees, differences, outcome


def floats(n=8):
    return np.arange(float(n)) + 0.5


def bits(x):
    v = x.view(np.int64)
    v[0] = 5
    x[1] = -x[1]
    return v, v[1] >> 63, x[0]


def octets(x):
    v = x.view(np.uint8)
    v[7] = 200
    x[1:] += 1
    v[-3:] += v[:3]
    return v, v.shape


def by_name(x):
    return x.view("int64"), x.view("f4"), x.view(dtype="u2"), x.view(), x.view(np.ndarray), x.view(type=np.ndarray)


def pairs(x):
    z = x[2:].view(np.complex128)
    z *= 1j
    z.real[0] = 7
    return z, z.imag, x.view("c16")[0]


def through_views(x):
    part = x.view(np.int32)[1::2].reshape(2, -1)
    part.T[0] = 9
    part[:, -1] ^= part[:, 0]
    return part, part.view(np.uint32), part.T.view(np.float32)


def in_a_loop(x):
    v, total = x.view(np.int64), 0
    for i in range(len(v)):
        v[i] ^= 1 << i
        total += v[i] & 15
        x[i] += 1
    return total, v


def rebound_in_a_loop(x):
    v = x.view(np.int64)
    for i in range(len(x)):
        v[0] += i
        v = x.view(np.int64)
        x[-1] += v[0] & 3
    return v


def in_a_branch(x):
    v = x.view(np.int64)
    if x[0] > 1:
        v[1] = 9
    else:
        v = x.view(np.uint64)[::-1]
    c = x.view(np.int64) if x[1] > 0 else (x * 3).view(np.int64)
    c[2] = 8
    return v, c


def of_new_memory(x):
    y = x * 2
    low = y.view(np.int32)
    low[::2] = 7
    return low, y, y.view(np.uint8)[:8].sum()


def of_masks(x):
    m = x > 2
    m.view(np.uint8)[0] = 1
    n = (x.view(np.uint8) & 1).view(bool)
    return m, m.view(np.int8).sum(), n, n.sum(), x[m]


def of_scalars(x):
    return x[0].view(np.int64), x[0].view(), x[..., 0].view(np.uint64), x.sum().view(np.int64) >> 52


def sizes(x):
    return x.view(f"i{x.itemsize}"), x.view(f"u{x.nbytes // x.size}"), x[0].itemsize


def read_as_another(x):
    v = x.view(np.uint32)
    v[1::2] = x.view(np.int64)
    x[:2] = v[2:4]
    return v


@pytest.mark.parametrize(
    "program",
    [
        *(bits, octets, by_name, pairs, through_views, in_a_loop, rebound_in_a_loop, in_a_branch, of_new_memory),
        *(of_masks, of_scalars, read_as_another, sizes),
    ],
)
def test_a_view_as_another_dtype_is_the_same_memory(program) -> None:
    assert_agrees(program, lambda: (floats(),), lambda: (-floats(12),), lambda: (floats(20)[2:14],))


def of_memory_that_is_not_needed_again(x):
    y = x * 2
    low = y.view(np.int32)[: len(x)]  # as many as there are elements of twice the size
    y[0] = 5
    return low * 1.0


@pytest.mark.parametrize(
    "program", [octets, in_a_loop, in_a_branch, of_masks, read_as_another, of_memory_that_is_not_needed_again]
)
def test_native_code_sees_the_same_memory(program) -> None:
    decorated = lamina.defn(program, strict=True, compiler="native")
    for maker in (lambda: (floats(64),), lambda: (-floats(64),)):
        assert not differences(program, decorated, maker)


@pytest.mark.parametrize("program", [bits, of_scalars, rebound_in_a_loop])
def test_one_of_the_same_size_is_of_any_strides(program) -> None:
    assert_agrees(program, lambda: (floats(12)[::2],), lambda: (floats()[::-1],), lambda: (floats(24)[::-3],))


def test_an_axis_is_longer_or_shorter() -> None:
    def matrices(x):
        x.view(np.uint16)[1, 3] = 99
        x.view(np.complex128)[0, ::-1] += 1
        return x.view(np.float32).sum(axis=0).shape, x.view("c16").T, x.T.view(np.int64), x[1:, 2:].view("c16")

    assert_agrees(matrices, lambda: (floats(12).reshape(3, 4),), lambda: (floats(24).reshape(3, 8)[::2, 2:6],))


def test_narrow_dtypes_become_wide_ones() -> None:
    def words(x):
        w = x.view(np.uint32)
        w[1] = 0x01020304
        return w, x[:4].view(np.int16), x[4:].view(np.float32)

    assert_agrees(words, lambda: (np.arange(12, dtype=np.uint8),), lambda: (np.arange(-4, 4, dtype=np.int8),))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.view(np.complex128),
        lambda x: x.T.view(np.float32),
        lambda x: x[:, ::2].view(np.uint8),
        lambda x: x[0, 0, ...].view(np.float32),
        lambda x: x.astype(np.float32).view("f8"),
        lambda x: x[:0, ::2].view(np.float32),
        lambda x: x[:, :1].T.T.view(np.uint8),
        lambda x: x[0, 0].view(np.float32),
        lambda x: x.view("no such dtype"),
        lambda x: x.view(np.int64, order="F"),
        lambda x: x.item(0).view(np.int64),
    ],
)
def test_errors_and_edges_are_numpys(program) -> None:
    given = floats(9).reshape(3, 3)
    assert_agrees(program, lambda: (given.copy(),))
    theirs, ours = (outcome(each, (given.copy(),))[0] for each in (program, lamina.defn(program, strict=True)))
    assert not isinstance(theirs, (ValueError, AttributeError)) or str(ours) == str(theirs)


def test_what_is_read_only_stays_so() -> None:
    given = floats()
    given.flags.writeable = False
    assert_agrees(bits, lambda: (given,))
    assert_agrees(lambda x: x.view(np.uint8), lambda: (given,))


CAPTURED = np.arange(4.0)


def test_a_captured_array_is_seen_and_written() -> None:
    def stamped(x):
        CAPTURED.view(np.int64)[0] += 1
        return x + CAPTURED.view(np.int64)[0]

    CAPTURED[0] = 0
    decorated = lamina.defn(stamped, strict=True)
    assert [decorated(1), decorated(1)] == [2, 3] and CAPTURED.view(np.int64)[0] == 2


@pytest.mark.parametrize(
    ("given", "program"),
    [
        (floats().astype(">f8"), lambda x: x.view(np.int64)),
        (floats(), lambda x: x.view(">i8")),
        (floats(), lambda x: x[1:3].view(np.complex128)),
        (floats(9).reshape(3, 3), lambda x: x[:, :2].view(np.complex128)),
        (floats(9).reshape(3, 3), lambda x: (x[:, ::-1] if x[0, 0] > 1e9 else x).view(np.int32)),
    ],
)
def test_what_no_layout_says_runs_as_it_is(given, program) -> None:
    with pytest.warns(lamina.errors.LaminaWarning, match="isn't traced"):
        np.testing.assert_array_equal(lamina.defn(program)(given), program(given))
