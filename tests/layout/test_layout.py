"""Layouts one by one: construction, canonical form, limits, queries, value semantics, and what errors say."""

import copy
import enum
import pickle
import sys
import tracemalloc

import numpy as np
import pytest

import lamina.layout
from lamina.errors import AxisError
from lamina.layout import MAX_NUMEL, MAX_RANK, IndexRangeError, Layout, coalesce
from lamina.layout.move import Broadcast, Permute, Range, Reshape, Slice, Window, WindowSpec

HUGE = 10**5000  # more digits than Python writes out


class Two(enum.IntEnum):
    VALUE = 2


def parts(layout):
    return layout.shape, layout.strides, layout.offset


# ---- the limits of shapes


def test_limits():
    assert (MAX_RANK, MAX_NUMEL) == (32, 2**53)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((), True),
        ((0,), True),
        ([2, 3], True),
        (np.array([2, 3]), True),
        (range(4), True),
        ((1,) * 32, True),
        ((1,) * 33, False),
        ((0,) * 33, False),
        ((-1,), False),
        ((0, -1), False),
        ((2**53,), True),
        ((2**53 + 1,), False),
        ((2**26, 2**27), True),
        ((2**26, 2**27, 1), True),
        ((2**26, 2**27, 2), False),
        ((3, 2**52), False),
        ((0, 2**53), True),
        ((2**53, 0), True),
        ((0, 2**53 + 1), False),
        ((2**27, 0, 2**27), False),
        ((0, 2, 2**53), False),
        ((2**63,), False),
        ((2**64,), False),
        ((-(2**64),), False),
        ((HUGE,), False),
        ((0, -HUGE), False),
        ((2**27, 2**27), False),
        ((2**32, 2**32), False),  # 2**64 is 0 in 64-bit arithmetic
        ((True, False), True),
    ],
)
def test_fits(shape, expected):
    assert Layout.fits(shape) is expected
    if expected:
        assert Layout.contiguous(shape).shape == tuple(int(d) for d in shape)
    else:
        with pytest.raises(ValueError, match="shape"):
            Layout.contiguous(shape)
        with pytest.raises(ValueError, match=r"shape .*, strides .* and offset 0"):
            Layout(shape, (0,) * len(shape))
        with pytest.raises(ValueError, match="of shape"):
            Broadcast((1,)).result_shape(shape)


NO_SEQUENCES = [3, None, 2.0, "ab", "", {2, 3}, {2: 3}, (2.0,), ("2",), (2, None), ((2,),), (-1, "2"), np.array(3)]


@pytest.mark.parametrize("wrong", [*NO_SEQUENCES, pytest.param((d for d in (2, 3)), id="generator")], ids=repr)
def test_no_sequence_of_integers(wrong):
    for use in (
        Layout.fits,
        Layout.contiguous,
        lambda w: Layout(w, (1,)),
        lambda w: Layout((2,), w),
        lambda w: Layout.contiguous((2,)).position(w),
        Reshape,
        Broadcast,
        Permute,
        Reshape((2,)).result_shape,
        lambda w: Reshape((2,)).source(w, (0,)),
        lambda w: Reshape((2,)).source((2,), w),
    ):
        with pytest.raises(TypeError, match="integer"):
            use(wrong)


# ---- construction


def test_contiguous_keeps_the_tuple():
    shape = (2, 3, 4)
    layout = Layout.contiguous(shape)
    assert layout.shape is shape
    assert parts(layout) == ((2, 3, 4), (12, 4, 1), 0)
    assert Layout(shape, (12, 4, 1)).shape is shape


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((), ()), ((1,), (0,)), ((5,), (1,)), ((1, 5, 1), (0, 1, 0)), ((0, 3), (0, 0)), ((2, 1, 3), (3, 0, 1))],
)
def test_contiguous(shape, strides):
    layout = Layout.contiguous(shape)
    assert parts(layout) == (shape, strides, 0)
    assert layout.is_contiguous
    assert layout.is_distinct


def test_every_integer_becomes_a_plain_int():
    expected = Layout((2, 1, 2), (3, 0, 1), 1)
    for shape, strides, offset in [
        ([Two.VALUE, True, 2], [3, False, 1], True),
        (np.array([2, 1, 2]), np.array([3, 9, 1], dtype=np.int8), np.uint8(1)),
        ((np.int64(2), 1, 2), (np.int16(3), 7, 1), np.int32(1)),
    ]:
        layout = Layout(shape, strides, offset)
        assert layout == expected
        assert hash(layout) == hash(expected)
        numbers = (*layout.shape, *layout.strides, layout.offset, layout.numel, *layout.span, layout.rank)
        assert {type(n) for n in numbers} == {int}
        assert type(layout.shape) is type(layout.strides) is tuple
    assert {type(d) for d in Layout.contiguous((True, np.int8(3))).shape} == {int}
    assert {type(d) for d in Reshape(np.array([2, 3])).shape} == {int}


def test_canonical_form():
    assert parts(Layout((1, 3), (99, 2), 1)) == ((1, 3), (0, 2), 1)
    assert parts(Layout((0, 3), (7, -8), -9)) == ((0, 3), (0, 0), 0)
    assert parts(Layout((), (), 5)) == ((), (), 5)
    # an axis of extent 1 reaches nothing, however long its stride
    assert parts(Layout((1,), (-(2**63),), 4)) == ((1,), (0,), 4)


INT = 2**63


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((2**53,), (1,), 0),
        ((2**53,), (-1,), 2**53 - 1),
        ((2,), (2**53 - 1,), 0),
        ((), (), 2**53 - 1),
        ((2**53, 1), (0, INT - 1), 7),
        # without an element, what fits in 64 bits is taken
        ((0,), (INT - 1,), INT - 1),
        ((0,), (-INT,), -INT),
        ((0, 2), (1, INT - 1), -5),
        ((0, 2), (1, -(INT - 1)), -5),
        ((0, 1), (1, -INT), -5),
        ((3, 0), ((INT - 1) // 2, 0), 0),
    ],
)
def test_the_largest_that_fit(shape, strides, offset):
    layout = Layout(shape, strides, offset)
    if 0 in shape:
        strides, offset = (0,) * len(shape), 0
    assert parts(layout) == (shape, tuple(0 if d == 1 else t for d, t in zip(shape, strides, strict=True)), offset)


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "why"),
    [
        ((2, 3), (1,), 0, "1 strides are given for 2 axes"),
        ((), (1,), 0, "1 strides are given for 0 axes"),
        ((0,), (1, 1), 0, "2 strides are given for 1 axes"),
        ((3,), (-1,), 1, "its least position is -1"),
        ((), (), -1, "its least position is -1"),
        ((2, 2), (5, -6), 5, "its least position is -1"),
        ((2**53,), (1,), 1, "its span ends at 9007199254740993"),
        ((), (), 2**53, "its span ends at 9007199254740993"),
        ((2,), (2**53,), 0, "its span ends at 9007199254740993"),
        ((2, 2), (2**53 - 1, 1), 0, "its span ends at 9007199254740993"),
        ((2**53,), (2**11,), 0, r"\(extent - 1\) \* abs\(stride\) of axis 0 is above"),
        ((2, 3), (1, 2**62), 0, r"\(extent - 1\) \* abs\(stride\) of axis 1 is above"),
        ((2,), (-INT,), 0, r"\(extent - 1\) \* abs\(stride\) of axis 0 is above"),
        ((0, 3), (0, 2**62), 0, r"\(extent - 1\) \* abs\(stride\) of axis 1 is above"),
        ((0, 3), (0, -(2**62)), 0, r"\(extent - 1\) \* abs\(stride\) of axis 1 is above"),
        ((0, 2), (0, -INT), 0, r"\(extent - 1\) \* abs\(stride\) of axis 1 is above"),
        ((1,), (INT,), 0, "the stride of axis 0 is outside"),
        ((1, 1), (0, -INT - 1), 0, "the stride of axis 1 is outside"),
        ((0,), (INT,), 0, "the stride of axis 0 is outside"),
        pytest.param((2,), (HUGE,), 0, "the stride of axis 0 is outside", id="huge stride"),
        ((0,), (0,), INT, "the offset is outside"),
        ((0,), (0,), -INT - 1, "the offset is outside"),
        ((2,), (1,), INT, "the offset is outside"),
        pytest.param((2,), (1,), -HUGE, "the offset is outside", id="huge offset"),
        ((2, -3), (1, 1), 0, "axis 1 has extent -3; an extent is never negative"),
        ((2, 2**53 + 1), (1, 1), 0, "axis 1 has extent 9007199254740993; an extent is at most"),
        ((2, 2**53), (0, 0), 0, "multiply to more than"),
        ((1,) * 33, (0,) * 33, 0, "33 axes are more than the 32"),
    ],
)
def test_refused(shape, strides, offset, why):
    with pytest.raises(ValueError, match=why) as caught:
        Layout(shape, strides, offset)
    message = str(caught.value)
    for name, value in (("shape", shape), ("strides", strides), ("offset", offset)):
        if HUGE not in (value if isinstance(value, tuple) else (abs(value),)):
            assert f"{name} {value}" in message


def test_messages_stay_short():
    with pytest.raises(ValueError, match=r"\(<integer of 16610 bits>,\)"):
        Layout((HUGE,), (1,))
    with pytest.raises(ValueError, match="100000 in all") as caught:
        Layout((1,) * 100_000, (0,))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("offset", [1.0, "1", None, (1,), 2j])
def test_offset_of_a_wrong_type(offset):
    with pytest.raises(TypeError, match=r"offset is .*; expected an integer"):
        Layout((2,), (1,), offset)


def test_type_errors_say_what_to_write():
    with pytest.raises(TypeError, match=r"shape\[1\] is 2\.5; expected an integer, not float"):
        Layout((1, 2.5), (1, 1))
    with pytest.raises(TypeError, match=r"strides is 3; expected a sequence of integers, such as \(2, 3\), not int"):
        Layout((1,), 3)


# ---- queries


def test_dim_and_stride():
    layout = Layout((2, 3), (-3, 1), 3)
    assert [layout.dim(i) for i in range(2)] == [2, 3]
    assert [layout.stride(i) for i in (False, np.int8(1))] == [-3, 1]
    for read in (layout.dim, layout.stride):
        for axis in (-1, 2, HUGE, -HUGE):
            with pytest.raises(AxisError, match=r"axis .* is outside 0 <= axis < 2, the axes of shape \(2, 3\)"):
                read(axis)
        for axis in (1.0, "0", None):
            with pytest.raises(TypeError, match="axis is"):
                read(axis)
    with pytest.raises(AxisError):
        Layout.contiguous(()).dim(0)


@pytest.mark.parametrize(
    ("layout", "span"),
    [
        (Layout((2, 3), (10, -1), 2), (0, 13)),
        (Layout((), (), 7), (7, 8)),
        (Layout((3, 0), (1, 1), 7), (0, 0)),
        (Layout((4,), (0,), 7), (7, 8)),
        (Layout((2**53,), (1,)), (0, 2**53)),
    ],
)
def test_span(layout, span):
    assert layout.span == span
    assert layout.span is layout.span


@pytest.mark.parametrize(
    ("layout", "contiguous", "distinct"),
    [
        (Layout((2, 3), (3, 1), 5), True, True),
        (Layout((2, 1, 3), (3, 9, 1)), True, True),
        (Layout((2, 3), (1, 2)), False, True),
        (Layout((3,), (-1,), 2), False, True),
        (Layout((3,), (2,)), False, True),
        (Layout((3,), (0,)), False, False),
        (Layout((1,), (0,)), True, True),
        (Layout((4, 0), (9, 9)), True, True),
        (Layout((3, 2), (1, 1)), False, False),
        (Layout((2, 2), (1, -1), 1), False, False),
        (Layout((2, 3), (3, 2)), False, False),  # reaches no position twice; the rule asks for more
    ],
    ids=repr,
)
def test_is_contiguous_and_is_distinct(layout, contiguous, distinct):
    assert layout.is_contiguous is contiguous
    assert layout.is_distinct is distinct


def test_distinct_is_kept_by_what_does_not_overlap():
    layout = Layout.contiguous((6, 8))
    for movement, distinct in [
        (Permute((1, 0)), True),
        (Slice((Range(5, 3, -2), Range(0, 4, 2))), True),
        (Window((WindowSpec(0, 2, step=2), WindowSpec(1, 3, step=5, dilation=2))), True),
        (Window((WindowSpec(0, 2, step=1),)), False),
        (Window((WindowSpec(1, 2, step=2, dilation=2),)), False),
        (Broadcast((2, 6, 8)), False),
        (Broadcast((1, 6, 8)), True),
    ]:
        assert layout.move(movement).is_distinct is distinct, movement


def test_position():
    layout = Layout((2, 3), (-3, 1), 3)
    assert [[layout.position((i, j)) for j in range(3)] for i in range(2)] == layout.positions().tolist()
    assert layout.position([True, np.int8(2)]) == 2
    assert Layout((), (), 4).position(()) == 4
    for index in ((2, 0), (0, 3), (-1, 0), (0,), (0, 0, 0), (HUGE, 0)):
        with pytest.raises(IndexRangeError, match=r"whose shape is \(2, 3\)"):
            layout.position(index)
    with pytest.raises(IndexRangeError):
        Layout.contiguous((0,)).position((0,))
    with pytest.raises(TypeError, match="index"):
        layout.position((0.0, 1))


def test_positions():
    layout = Layout((2, 1, 3), (10, 0, -2), 4)
    positions = layout.positions()
    assert positions.dtype == np.int64
    np.testing.assert_array_equal(positions, [[[4, 2, 0]], [[14, 12, 10]]])
    assert Layout((), (), 3).positions().shape == ()
    assert Layout.contiguous((0, 2**53)).positions().shape == (0, 2**53)
    assert Layout((1,) * 32, (0,) * 32, 9).positions().item() == 9
    assert Layout((2**24,), (0,)).positions().size == 2**24
    with pytest.raises(ValueError, match=r"16777217 elements are more than the 2\*\*24"):
        Layout((2**24 + 1,), (0,)).positions()


# ---- values


def test_equality_and_hash():
    layout = Layout((2, 3), (3, 1), 1)
    for same in (Layout([2, 3], [3, 1], 1), Layout.contiguous((7,)).move(Slice((Range(1, 6),))).move(Reshape((2, 3)))):
        assert layout == same
        assert hash(layout) == hash(same)
    different = Layout((2, 3), (3, 1)), Layout((2, 3), (1, 2), 1), Layout((3, 2), (3, 1), 1)
    for other in (*different, ((2, 3), (3, 1), 1), None):
        assert layout != other
    assert Layout((0, 2), (5, 5), 8) == Layout.contiguous((0, 2))
    assert Layout((0, 2), (5, 5), 8) != Layout.contiguous((0, 3))
    assert len({layout, Layout((2, 3), (3, 1), 1), Layout((1, 2), (3, 1)), Layout((1, 2), (4, 1))}) == 2


def test_immutable():
    layout = Layout.contiguous((2, 3))
    for name in ("shape", "strides", "offset", "numel", "rank", "span", "is_distinct", "is_contiguous", "_hash", "new"):
        with pytest.raises(AttributeError, match=name):
            setattr(layout, name, (1,))
        with pytest.raises(AttributeError, match=name):
            delattr(layout, name)
    assert not hasattr(layout, "__dict__")
    assert parts(layout) == ((2, 3), (3, 1), 0)


@pytest.mark.parametrize("layout", [Layout((2, 3), (-3, 1), 3), Layout((), (), 4), Layout.contiguous((0, 1))], ids=repr)
def test_repr_pickle_and_copy(layout):
    assert eval(repr(layout), {"Layout": Layout, "lamina": lamina}) == layout
    assert copy.copy(layout) == layout
    assert copy.deepcopy([layout])[0] == layout
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(layout, protocol))
        assert again == layout
        assert again.numel == layout.numel


def test_text():
    layout = Layout((2, 3), (-3, 1), 3)
    assert repr(layout) == "Layout((2, 3), (-3, 1), offset=3)"
    assert str(layout) == "shape (2, 3), strides (-3, 1) and offset 3"


def test_queries_allocate_nothing():
    layouts = [Layout.contiguous((2,) * 32), Layout((2,) * 32, tuple(2**k for k in range(31, -1, -1)))]

    def read():
        for layout in layouts:
            layout.shape, layout.strides, layout.offset, layout.numel, layout.span
            layout.rank, layout.is_contiguous, layout.is_distinct, layout.dim(3), layout.stride(30)
        return layouts[0] == layouts[1] and hash(layouts[0]) == hash(layouts[1])

    assert read()
    before = sys.getallocatedblocks()
    tracemalloc.start()
    read()
    tracemalloc.reset_peak()
    held, _ = tracemalloc.get_traced_memory()
    for _ in range(100):
        read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # A tuple of 32 integers would take 312 bytes; hash() itself makes the int that it returns.
    assert peak - held < 250
    assert sys.getallocatedblocks() - before < 50


# ---- 2**53 elements

LARGE = Layout.contiguous((2**26, 2**27))


@pytest.mark.parametrize(
    ("movement", "expected"),
    [
        (Reshape((2**53,)), Layout((2**53,), (1,))),
        (Reshape((2**13, 2**20, 2**20)), Layout((2**13, 2**20, 2**20), (2**40, 2**20, 1))),
        (Reshape((2,) * 31 + (2**22,)), Layout((2,) * 31 + (2**22,), (*[2**k for k in range(52, 21, -1)], 1))),
        (Permute((1, 0)), Layout((2**27, 2**26), (1, 2**27))),
        (Broadcast((1, 2**26, 2**27)), Layout((1, 2**26, 2**27), (0, 2**27, 1))),
        (
            Slice((Range(2**26 - 1, 2**26, -1), Range(2**27 - 1, 2**26, -2))),
            Layout((2**26, 2**26), (-(2**27), -2), 2**53 - 1),
        ),
        (Window((WindowSpec(1, 2**13, step=2**13),)), Layout((2**26, 2**14, 2**13), (2**27, 2**13, 1))),
        (Window((WindowSpec(0, 2, dilation=2**26 - 1),)), Layout((1, 2**27, 2), (0, 1, (2**26 - 1) * 2**27))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_large_layouts_take_constant_memory(movement, expected):
    tracemalloc.start()
    moved = LARGE.move(movement)
    assert moved == expected
    assert moved.span == expected.span
    assert moved.is_contiguous == (moved.strides == Layout.contiguous(moved.shape).strides)
    assert moved.is_distinct
    assert coalesce([moved])[0].numel == moved.numel
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_large_reshapes_that_no_strides_express():
    assert LARGE.move(Permute((1, 0))).move(Reshape((2**53,))) is None
    assert LARGE.move(Permute((1, 0))).move(Reshape((2**13, 2**14, 2**26))) is not None
    assert Layout((2**53,), (0,)).move(Reshape((2**20, 2**33))) == Layout((2**20, 2**33), (0, 0))
    rows = Layout.contiguous((3**16, 2**20)).move(Slice((Range(0, 3**16), Range(0, 2**19))))
    assert rows.move(Reshape((3**8, 3**8, 2**19))) is not None
    assert rows.move(Reshape((2 * 3**16, 2**18))) is None
    assert rows.move(Reshape((2**19, 3**16))) is None


@pytest.mark.parametrize(
    "movement",
    [
        Broadcast((2**26, 2**27, 2**26, 2**27)),
        Broadcast((2, 2**26, 2**27)),
        Broadcast((0, 2, 2**26, 2**27)),
        Broadcast((1,) * 31 + (2**26, 2**27)),
        Reshape((1,) * 31 + (2**26, 2**27)),
        Window((WindowSpec(0, 2**20),)),
        Window((WindowSpec(0, 2**62, 2**62, 2**62),)),
    ],
    ids=str,
)
def test_results_that_do_not_fit(movement):
    for act in (LARGE.move, lambda m: m.result_shape(LARGE.shape), lambda m: m.source(LARGE.shape, (0,))):
        with pytest.raises(ValueError, match=r"of shape \(67108864, 134217728\): the result's shape .* doesn't fit: "):
            act(movement)


def test_move_of_no_movement():
    for wrong in (None, (2, 3), "Reshape", Range(0, 1), WindowSpec(0, 1), Reshape):
        with pytest.raises(TypeError, match="is no movement"):
            LARGE.move(wrong)


# ---- coalesce


def test_coalesce():
    rows = Layout.contiguous((2, 3, 4))
    assert coalesce([rows]) == (Layout((24,), (1,)),)
    assert coalesce((rows, Layout((2, 3, 4), (0, 4, 1), 5))) == (
        Layout((2, 12), (12, 1)),
        Layout((2, 12), (0, 1), 5),
    )
    assert coalesce([Layout((2, 1, 3), (-3, 0, -1), 5)]) == (Layout((6,), (-1,), 5),)
    assert coalesce([Layout((2, 3), (0, 0), 5)]) == (Layout((6,), (0,), 5),)
    assert coalesce([Layout((), (), 5), Layout((), ())]) == (Layout((1,), (0,), 5), Layout((1,), (0,)))
    assert coalesce([Layout((1, 1), (0, 0), 5)]) == (Layout((1,), (0,), 5),)
    assert coalesce([Layout.contiguous((2, 0, 3))] * 2) == (Layout.contiguous((0,)),) * 2


def test_coalesce_refuses():
    with pytest.raises(ValueError, match="at least one"):
        coalesce([])
    with pytest.raises(ValueError, match=r"one has shape \(2, 3\), .*, another shape \(3, 2\), "):
        coalesce([Layout.contiguous((2, 3)), Layout.contiguous((3, 2))])
    with pytest.raises(ValueError, match="of one shape"):
        coalesce([Layout.contiguous((0, 3)), Layout.contiguous((0, 2))])
    for wrong in ([(2, 3)], [Layout.contiguous(()), None], Layout.contiguous(()), 3):
        with pytest.raises(TypeError):
            coalesce(wrong)
