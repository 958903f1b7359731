"""Movements one by one: what each means on small cases, what each refuses and says, and that they are values."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import lamina.layout
from lamina.errors import AxisError
from lamina.layout import MAX_NUMEL, IndexRangeError, Layout
from lamina.layout.move import Broadcast, Movement, Permute, Range, Reshape, Slice, Window, WindowSpec

INT = 2**63
HUGE = 10**5000


def gathered(movement, array):
    """The movement's result on ``array``, element by element, by its definition."""
    shape = movement.result_shape(array.shape)
    indices = itertools.product(*[range(extent) for extent in shape])
    return np.array([array[movement.source(array.shape, i)] for i in indices], dtype=array.dtype).reshape(shape)


X = np.arange(24).reshape(2, 3, 4)
ROW = np.arange(10)

MEANINGS = [
    (Reshape((4, 6)), X, X.reshape(4, 6)),
    (Reshape((24,)), X, X.reshape(24)),
    (Reshape((1, 24, 1)), X, X.reshape(1, 24, 1)),
    (Reshape(()), ROW[:1], ROW[:1].reshape(())),
    (Reshape((0, 7)), X[:0], X[:0].reshape(0, 7)),
    (Broadcast((2, 2, 3, 4)), X, np.broadcast_to(X, (2, 2, 3, 4))),
    (Broadcast((5, 3, 4)), X[:1], np.broadcast_to(X[:1], (5, 3, 4))),
    (Broadcast((0, 3, 4)), X[:1], np.broadcast_to(X[:1], (0, 3, 4))),
    (Broadcast((3,)), ROW[2], np.broadcast_to(ROW[2], (3,))),
    (Broadcast((2, 3, 4)), X, X),
    (Permute((2, 0, 1)), X, X.transpose(2, 0, 1)),
    (Permute(()), ROW[2], ROW[2]),
    (Slice((Range(1, 1), Range(2, 3, -1), Range(0, 2, 3))), X, X[1:, ::-1, ::3]),
    (Slice((Range(0, 3, 2),)), ROW[1:7], np.array([1, 3, 5])),
    (Slice((Range(0, 3, 2), Range(0, 2))), np.arange(12).reshape(6, 2), np.array([[0, 1], [4, 5], [8, 9]])),
    (Slice(()), ROW[2], ROW[2]),
    # a range without elements may start outside the axis, as a negative step before the first element does
    (Slice((Range(-1, 0, -2),)), ROW, ROW[-11:-7:-2]),
    (Slice((Range(INT - 1, 0, -INT),)), ROW, ROW[:0]),
    (Slice((Range(9, 1, INT - 1),)), ROW, ROW[9:]),
    (
        Window((WindowSpec(1, 2, step=1, dilation=2),)),
        np.arange(12).reshape(3, 4),
        np.array([[[0, 2], [1, 3]], [[4, 6], [5, 7]], [[8, 10], [9, 11]]]),
    ),
    (Window((WindowSpec(0, 3, step=2),)), ROW, np.array([[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]])),
    (
        Window((WindowSpec(0, 2), WindowSpec(2, 3))),
        X,
        np.lib.stride_tricks.sliding_window_view(X, (2, 3), axis=(0, 2)),
    ),
    (Window(()), X, X),
    (Window((WindowSpec(0, 11),)), ROW, np.empty((0, 11), dtype=int)),
    (Window((WindowSpec(0, 2, dilation=10),)), ROW, np.empty((0, 2), dtype=int)),
    (Window((WindowSpec(0, 2, dilation=9),)), ROW, np.array([[0, 9]])),
    (Window((WindowSpec(0, 1, step=4, dilation=INT - 1),)), ROW, np.array([[0], [4], [8]])),
    (Window((WindowSpec(0, 2, step=INT - 1),)), ROW, np.array([[0, 1]])),
    (Window((WindowSpec(0, 2, step=1, dilation=INT - 1),)), ROW, np.empty((0, 2), dtype=int)),
    (Window((WindowSpec(0, 1),)), ROW[:0], np.empty((0, 1), dtype=int)),
]


@pytest.mark.parametrize(("movement", "array", "expected"), MEANINGS, ids=[str(row[0]) for row in MEANINGS])
def test_meaning(movement, array, expected):
    np.testing.assert_array_equal(gathered(movement, array), expected)
    moved = Layout.contiguous(array.shape).move(movement)
    assert moved.shape == expected.shape
    np.testing.assert_array_equal(array.reshape(-1)[moved.positions()], expected)


def test_layout_of_windows_with_a_step_and_a_dilation():
    moved = Layout.contiguous((3, 4)).move(Window((WindowSpec(axis=1, size=2, step=1, dilation=2),)))
    assert moved == Layout((3, 2, 2), (4, 1, 2))


def test_results_without_elements_are_contiguous():
    reversed_rows = Layout.contiguous((4, 5, 3)).move(Slice((Range(0, 4), Range(0, 5), Range(2, 3, -1))))
    empty = reversed_rows.move(Slice((Range(0, 0), Range(2, 0), Range(0, 3))))
    assert empty == Layout.contiguous((0, 0, 3))
    assert empty.is_contiguous
    assert empty.is_distinct
    assert Layout.contiguous((1, 8, 0, 128)).move(Reshape((0,))) == Layout.contiguous((0,))


def test_source_checks_the_index():
    movement = Window((WindowSpec(0, 2),))
    assert movement.source([3], [np.int8(1), True]) == (2,)
    for index in ((2, 0), (0, 2), (-1, 0), (0,), (0, 0, 0), (HUGE, 0)):
        with pytest.raises(
            IndexRangeError, match=r"of the result of Window\(\(WindowSpec\(0, 2, 1, 1\),\)\), whose shape"
        ):
            movement.source((3,), index)


# ---- what is refused


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Reshape((2, -3)), r"Reshape: shape\[1\] is -3; an extent is never negative"),
        (lambda: Reshape((INT,)), r"Reshape: shape\[0\] is 9223372036854775808, outside the signed 64-bit range"),
        (lambda: Reshape((HUGE,)), r"Reshape: shape\[0\] is <integer of 16610 bits>, outside"),
        (lambda: Broadcast((2, -1)), r"Broadcast: shape\[1\] is -1; an extent is never negative"),
        (lambda: Broadcast((-INT - 1,)), r"Broadcast: shape\[0\] is -9223372036854775809, outside"),
        (lambda: Permute((0, 0)), r"Permute\(\(0, 0\)\): expected each of the axes 0 to 1 once"),
        (lambda: Permute((0, 2)), r"Permute\(\(0, 2\)\): expected each of the axes 0 to 1 once"),
        (lambda: Permute((-1, 0)), r"Permute\(\(-1, 0\)\): expected each of the axes 0 to 1 once"),
        (lambda: Permute((HUGE,)), r"Permute: axes\[0\] is <integer"),
        (lambda: Range(0, -1, 1), r"Range\(0, -1, 1\): count is -1; it is at least 0"),
        (lambda: Range(0, 1, 0), r"Range\(0, 1, 0\): step is 0; .* use Broadcast"),
        (lambda: Range(0, 0, 0), r"step is 0"),
        (lambda: Range(INT, 1, 1), r"Range: start is 9223372036854775808, outside"),
        (lambda: Range(0, INT, 1), r"Range: count is 9223372036854775808, outside"),
        (lambda: Range(0, 1, -INT - 1), r"Range: step is -9223372036854775809, outside"),
        (lambda: WindowSpec(-1, 2), r"WindowSpec\(-1, 2, 1, 1\): axis is -1"),
        (lambda: WindowSpec(0, 0), r"WindowSpec\(0, 0, 1, 1\): size is 0; it is at least 1"),
        (lambda: WindowSpec(0, 1, 0), r"step is 0; it is at least 1"),
        (lambda: WindowSpec(0, 1, 1, -1), r"dilation is -1; it is at least 1"),
        (lambda: WindowSpec(0, INT), r"WindowSpec: size is 9223372036854775808, outside"),
        (lambda: WindowSpec(0, 1, INT), r"WindowSpec: step is"),
        (lambda: WindowSpec(0, 1, 1, INT), r"WindowSpec: dilation is"),
        (lambda: WindowSpec(INT, 1), r"WindowSpec: axis is"),
        (
            lambda: Window((WindowSpec(1, 2), WindowSpec(1, 3))),
            r"axis 1 follows axis 1; the axes are strictly increasing",
        ),
        (
            lambda: Window((WindowSpec(1, 2), WindowSpec(0, 3))),
            r"axis 0 follows axis 1; the axes are strictly increasing",
        ),
    ],
)
def test_no_such_movement(make, why):
    with pytest.raises(ValueError, match=why):
        make()


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Reshape((2.0,)), r"Reshape: shape\[0\] is 2\.0; expected an integer, not float"),
        (lambda: Permute(("0",)), r"Permute: axes\[0\] is '0'; expected an integer, not str"),
        (lambda: Range(0.0, 1, 1), r"Range: start is 0\.0"),
        (lambda: Range(0, None, 1), r"Range: count is None"),
        (lambda: Range(0, 1, "1"), r"Range: step is '1'"),
        (lambda: WindowSpec(0, 1.5), r"WindowSpec: size is 1\.5"),
        (lambda: Slice((1, 2)), "Slice: ranges is .*; expected a sequence of Range"),
        (lambda: Slice(Range(0, 1, 1)), "Slice: ranges is .*; expected a sequence of Range"),
        (lambda: Slice(((0, 1, 1),)), "expected a sequence of Range"),
        (lambda: Slice("ab"), "expected a sequence of Range"),
        (lambda: Window(WindowSpec(0, 1)), "Window: windows is .*; expected a sequence of WindowSpec"),
        (lambda: Window((Range(0, 1, 1),)), "expected a sequence of WindowSpec"),
        (lambda: Window(None), "expected a sequence of WindowSpec"),
        (lambda: Movement(), "abstract"),
    ],
)
def test_wrong_types(make, why):
    with pytest.raises(TypeError, match=why):
        make()


INAPPLICABLE = [
    (Reshape((2, 4)), (2, 3), "the result would have 8 elements, the argument has 6"),
    (Reshape((0,)), (2, 3), "the result would have 0 elements, the argument has 6"),
    (Reshape(()), (0,), "the result would have 1 elements, the argument has 0"),
    (Reshape((0, 2**53 + 1)), (0,), "axis 1 has extent 9007199254740993"),
    (Reshape((0, 2, 2**53)), (0,), "multiply to more than"),
    (Reshape((2**53 + 1,)), (2,), "axis 0 has extent 9007199254740993"),
    (Reshape((1,) * 33), (1,), "33 axes are more than the 32"),
    (Broadcast((3,)), (2, 3), "the result has 1 axes; it must have at least the argument's 2"),
    (Broadcast(()), (1,), "the result has 0 axes"),
    (Broadcast((2, 3)), (2, 4), "axis 1 has extent 4; it must be 1 or the result's 3"),
    (Broadcast((5, 2, 1)), (2, 3), "axis 1 has extent 3; it must be 1 or the result's 1"),
    (Broadcast((2, 1)), (2, 0), "axis 1 has extent 0; it must be 1 or the result's 1"),
    (Broadcast((2, 0)), (2, 2), "axis 1 has extent 2; it must be 1 or the result's 0"),
    (Broadcast((2**53 + 1,)), (1,), "axis 0 has extent 9007199254740993"),
    (Broadcast((0, 2**53, 2)), (2,), "multiply to more than"),
    (Broadcast((1,) * 33), (1,), "33 axes are more than the 32"),
    (Permute((1, 0)), (2, 3, 4), "2 axes are given, and the argument has 3"),
    (Permute((0, 1)), (2,), "2 axes are given, and the argument has 1"),
    (Permute(()), (2,), "0 axes are given, and the argument has 1"),
    (Slice((Range(0, 1, 1),)), (2, 3), "1 ranges are given for 2 axes"),
    (Slice(()), (2,), "0 ranges are given for 1 axes"),
    (Slice((Range(0, 1, 1),)), (), "1 ranges are given for 0 axes"),
    (Slice((Range(0, 1, 1), Range(1, 3, 1))), (2, 3), "axis 1 has extent 3, and its range names element 3"),
    (Slice((Range(3, 1, 1),)), (3,), "axis 0 has extent 3, and its range names element 3"),
    (Slice((Range(-1, 1, 1),)), (3,), "axis 0 has extent 3, and its range names element -1"),
    (Slice((Range(-1, 2, 1),)), (3,), "axis 0 has extent 3, and its range names element -1"),
    (Slice((Range(2, 4, -1),)), (3,), "axis 0 has extent 3, and its range names element -1"),
    (Slice((Range(0, 1, 1),)), (0,), "axis 0 has extent 0, and its range names element 0"),
    (Slice((Range(0, 2, INT - 1),)), (3,), "axis 0 has extent 3, and its range names element 9223372036854775807"),
    (Slice((Range(1, INT - 1, INT - 1),)), (3,), "axis 0 has extent 3, and its range names element"),
    (Window((WindowSpec(2, 2),)), (3, 4), "axis 2 is outside 0 <= axis < 2"),
    (Window((WindowSpec(0, 1),)), (), "axis 0 is outside 0 <= axis < 0"),
    (Window((WindowSpec(0, 2**54),)), (3,), "axis 1 has extent 18014398509481984"),
    (Window((WindowSpec(0, 2**53), WindowSpec(1, 2))), (3, 3), "multiply to more than"),
    (Window((WindowSpec(31, 1),)), (1,) * 32, "33 axes are more than the 32"),
]


@pytest.mark.parametrize(("movement", "shape", "why"), INAPPLICABLE, ids=[f"{m} {s}" for m, s, _ in INAPPLICABLE])
def test_inapplicable(movement, shape, why):
    assert Layout.fits(shape)
    for act in (
        lambda: movement.result_shape(shape),
        lambda: movement.result_shape(list(shape)),
        lambda: movement.source(shape, (0,)),
        lambda: Layout.contiguous(shape).move(movement),
    ):
        with pytest.raises(ValueError, match=why) as caught:
            act()
        assert str(caught.value).startswith(f"{movement} of shape {shape}: ")
        if "axis 2 is outside" in why:
            assert isinstance(caught.value, AxisError)


@pytest.mark.parametrize(
    "movement", [Reshape(()), Broadcast(()), Permute(()), Slice(()), Window(())], ids=lambda m: type(m).__name__
)
def test_shapes_that_are_none(movement):
    for shape, why in [((-1,), "axis 0 has extent -1"), ((2**53 + 1,), "extent is at most"), ((1,) * 33, "33 axes")]:
        with pytest.raises(ValueError, match=why) as caught:
            movement.result_shape(shape)
        assert str(movement) in str(caught.value)
        with pytest.raises(ValueError, match=why):
            movement.source(shape, ())
    for shape in (3, None, "ab", (1.0,)):
        with pytest.raises(TypeError, match=f"{type(movement).__name__}.*: shape"):
            movement.result_shape(shape)


def test_the_largest_results():
    assert Broadcast((2**53,)).result_shape(()) == (2**53,)
    assert Broadcast((0, 2**53)).result_shape((1,)) == (0, 2**53)
    assert Reshape((0, MAX_NUMEL)).result_shape((5, 0)) == (0, MAX_NUMEL)
    assert Window((WindowSpec(0, 2**53),)).result_shape((2**53 - 1,)) == (0, 2**53)
    assert Window((WindowSpec(0, 2**53),)).result_shape((2**53,)) == (1, 2**53)
    assert Window((WindowSpec(0, 1),)).result_shape((1,) * 31) == (1,) * 32
    assert Slice((Range(2**53 - 1, 2**53, -1),)).result_shape((2**53,)) == (2**53,)


# ---- values

VALUES = [
    (Reshape((2, 3)), Reshape([2, 3]), Reshape((3, 2)), "Reshape((2, 3))"),
    (Broadcast((2,)), Broadcast(np.array([2])), Broadcast((3,)), "Broadcast((2,))"),
    (Permute((1, 0)), Permute([True, np.int8(0)]), Permute((0, 1)), "Permute((1, 0))"),
    (Range(0, 1, 2), Range(np.int64(0), True, step=2), Range(0, 1, 3), "Range(0, 1, 2)"),
    (Slice((Range(0, 2, 1),)), Slice([Range(0, 2)]), Slice((Range(0, 1),)), "Slice((Range(0, 2, 1),))"),
    (WindowSpec(0, 2, 1, 1), WindowSpec(axis=0, size=2), WindowSpec(1, 2), "WindowSpec(0, 2, 1, 1)"),
    (Window((WindowSpec(0, 2),)), Window([WindowSpec(0, 2)]), Window(()), "Window((WindowSpec(0, 2, 1, 1),))"),
]


@pytest.mark.parametrize(("value", "same", "other", "text"), VALUES, ids=[row[3] for row in VALUES])
def test_values(value, same, other, text):
    assert value == same
    assert hash(value) == hash(same)
    assert value != other
    assert str(value) == text
    assert repr(value).startswith("lamina.layout.move.")
    assert eval(repr(value), {"lamina": lamina}) == value
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) == value
    name = type(value).__match_args__[0]
    for attempt in (lambda: setattr(value, name, ()), lambda: setattr(value, "new", 1), lambda: delattr(value, name)):
        with pytest.raises((AttributeError, TypeError)):
            attempt()
    assert value == same


def test_movements_of_different_kinds_differ():
    kinds = [Reshape((1,)), Broadcast((1,)), Permute((0,)), Slice(()), Window(())]
    assert len({*kinds, *copy.deepcopy(kinds)}) == 5
    assert {type(d) for d in Reshape([True, np.int8(2)]).shape} == {int}
    assert Reshape((2,)) != (2,)
