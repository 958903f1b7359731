"""The named units against plain NumPy formulas: shapes, dtypes, special values, and the one node that each makes."""

import itertools
import math

import ml_dtypes
import numpy as np
import pytest
from scipy import special

import lamina
from lamina import blocks
from lamina.blocks import Block
from lamina.errors import AxisError, TraceError

pytestmark = pytest.mark.usefixtures("through_evaluator")

INF, NAN = math.inf, math.nan


def softmax(x, axis=-1):
    with np.errstate(all="ignore"):
        e = np.exp(x - x.max(axis=axis, keepdims=True))
        return e / e.sum(axis=axis, keepdims=True)


def one_block(function, *args):
    """The graph's only block."""
    (node,) = [node for node in lamina.trace(function, *args).order if node.op == "block"]
    return node


def close(result, expected, dtype="float64"):
    expected = np.asarray(expected)
    assert result.shape == expected.shape and result.dtype == lamina.dtype.from_numpy(dtype)
    result = np.asarray(result)
    eps = {"float64": 1e-14, "float32": 2e-6, "float16": 4e-3, "bfloat16": 4e-2}[str(dtype)]
    np.testing.assert_allclose(result.astype(float), expected.astype(float), rtol=eps, atol=eps)


SHAPES = [(4,), (3, 5), (2, 3, 4), (1, 1), (0, 3), (3, 0)]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_of_exponentials(shape, rng) -> None:
    x = rng.standard_normal(shape) * 5
    for axis in range(-len(shape), len(shape)):
        if x.shape[axis]:
            close(blocks.softmax(x, axis), softmax(x, axis))
            close(blocks.log_softmax(x, axis), np.log(softmax(x, axis)))
            expected = special.logsumexp(x, axis=axis) if x.size else np.zeros(np.delete(x.shape, axis))
        else:
            assert blocks.softmax(x, axis).shape == blocks.log_softmax(x, axis).shape == shape
            expected = np.full(np.delete(x.shape, axis), -INF)
        close(blocks.logsumexp(x, axis), expected)
        close(blocks.logsumexp(x, axis, keepdims=True), np.expand_dims(expected, axis))


def test_rows_that_are_infinite_or_large() -> None:
    rows = np.array([[-INF, -INF], [-INF, 0.0], [INF, 0.0], [1e300, 1e300], [-1e300, 0.0], [NAN, 0.0], [750.0, -750.0]])
    np.testing.assert_array_equal(blocks.softmax(rows), softmax(rows))
    half = math.log(0.5)
    expected = [[NAN, NAN], [-INF, 0], [NAN, NAN], [half, half], [-1e300, 0], [NAN, NAN], [0, -1500]]
    np.testing.assert_array_equal(blocks.log_softmax(rows), expected)
    np.testing.assert_array_equal(blocks.logsumexp(rows), [-INF, 0, INF, 1e300, 0, NAN, 750])


@pytest.mark.parametrize("shape", [(4,), (3, 5), (2, 3, 4), (0, 3)])
def test_norms(shape, rng) -> None:
    x, weight, bias = rng.standard_normal(shape), rng.standard_normal(shape[-1]), rng.standard_normal(shape[-1])
    for eps in (0.0, 1e-5, 0.5):
        scaled = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
        close(blocks.layer_norm(x, eps=eps), scaled)
        close(blocks.layer_norm(x, weight, eps=eps), scaled * weight)
        close(blocks.layer_norm(x, None, bias, eps=eps), scaled + bias)
        close(blocks.layer_norm(x, weight, bias, eps=eps), scaled * weight + bias)
        scaled = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        close(blocks.rms_norm(x, eps=eps), scaled)
        close(blocks.rms_norm(x, weight, eps=eps), scaled * weight)


def test_norms_of_equal_and_large_elements() -> None:
    rows = np.array([[3.0, 3.0], [1e200, 1e200], [0.0, 0.0], [INF, 0.0]])
    np.testing.assert_array_equal(blocks.layer_norm(rows), [[0, 0], [0, 0], [0, 0], [NAN, NAN]])
    np.testing.assert_array_equal(blocks.rms_norm(rows)[1:], [[0, 0], [0, 0], [NAN, 0]])  # of 1e200, the square is inf


def looked_up(q, k, v, mask, scale):
    """Attention one query at a time."""
    result = np.empty((q.shape[0], v.shape[1]))
    for i, query in enumerate(q):
        scores = np.array([(query * key).sum() * scale for key in k])
        if mask is not None:
            scores = np.where(mask[i], scores, -INF) if mask.dtype == bool else scores + mask[i]
        result[i] = (softmax(scores)[:, None] * v).sum(axis=0)
    return result


def test_attention(rng) -> None:
    q, k, v = rng.standard_normal((3, 4)), rng.standard_normal((5, 4)), rng.standard_normal((5, 2))
    seen, added = np.tri(3, 5, dtype=bool), rng.standard_normal((3, 5))
    added[0, 1] = -INF
    for mask, scale in itertools.product((None, seen, added), (None, 0.25, 0.0)):
        by = 0.5 if scale is None else scale
        close(blocks.attention(q, k, v, mask, scale=scale), looked_up(q, k, v, mask, by))


def test_attention_of_stacks_and_of_no_keys(rng) -> None:
    q, k, v = rng.standard_normal((2, 3, 4, 8)), rng.standard_normal((3, 6, 8)), rng.standard_normal((1, 6, 5))
    result = np.asarray(blocks.attention(q, k, v, np.tri(4, 6, dtype=bool)))
    assert result.shape == (2, 3, 4, 5)
    for i, j in np.ndindex(2, 3):
        expected = looked_up(q[i, j], k[j], v[0], np.tri(4, 6, dtype=bool), 1 / math.sqrt(8))
        np.testing.assert_allclose(result[i, j], expected, rtol=1e-13)
    blind = np.array([[True, True], [False, False]])
    result = np.asarray(blocks.attention(np.ones((2, 3)), np.ones((2, 3)), np.ones((2, 1)), blind))
    np.testing.assert_array_equal(result, [[1], [NAN]])
    assert blocks.attention(np.ones((0, 3)), np.ones((2, 3)), np.ones((2, 1))).shape == (0, 1)


def test_attention_of_large_scores() -> None:
    result = blocks.attention(np.array([[1e200]]), np.array([[1e100], [1e99]]), np.array([[1.0], [2.0]]))
    assert result.tolist() == [[1.0]]


def test_activations(rng) -> None:
    for x in (rng.standard_normal((3, 4)) * 4, np.array(0.5), np.empty((0, 2)), np.array([1e300, -1e300, -0.0])):
        close(blocks.gelu(x), x * special.ndtr(x))
        close(blocks.silu(x), x * special.expit(x))
    special_ones = np.array([INF, -INF, NAN])
    for activation in (blocks.gelu, blocks.silu):
        np.testing.assert_array_equal(activation(special_ones), [INF, NAN, NAN])


def correlated(x, weight, strides, widths, dilations):
    """By the definition: one result element at a time."""
    x = np.pad(x, ((0, 0), (0, 0), *widths))
    kernel = weight.shape[2:]
    out = [(s - (k - 1) * d - 1) // by + 1 for s, k, d, by in zip(x.shape[2:], kernel, dilations, strides, strict=True)]
    result = np.zeros((x.shape[0], weight.shape[0], *out))
    for n, o, *place in np.ndindex(*result.shape):
        for c, *tap in np.ndindex(*weight.shape[1:]):
            where = tuple(p * by + t * d for p, by, t, d in zip(place, strides, tap, dilations, strict=True))
            result[(n, o, *place)] += x[(n, c, *where)] * weight[(o, c, *tap)]
    return result


CONVS = [
    ((2, 3, 7), (4, 3, 3), {}, ((1,), ((0, 0),), (1,))),
    ((1, 1, 5), (1, 1, 5), {}, ((1,), ((0, 0),), (1,))),
    ((2, 2, 6, 5), (3, 2, 3, 2), {"stride": 2, "padding": 1}, ((2, 2), ((1, 1), (1, 1)), (1, 1))),
    ((1, 2, 9, 8), (2, 2, 2, 3), {"stride": (3, 1), "dilation": (2, 3)}, ((3, 1), ((0, 0), (0, 0)), (2, 3))),
    ((1, 2, 4, 4), (1, 2, 3, 3), {"padding": (2, (0, 1))}, ((1, 1), ((2, 2), (0, 1)), (1, 1))),
    ((1, 1, 3, 4, 5), (2, 1, 2, 2, 2), {"stride": (1, 2, 1)}, ((1, 2, 1), ((0, 0),) * 3, (1, 1, 1))),
    ((0, 2, 4), (3, 2, 2), {}, ((1,), ((0, 0),), (1,))),
    ((2, 0, 4), (3, 0, 2), {}, ((1,), ((0, 0),), (1,))),
]


@pytest.mark.parametrize(("shape", "kernel", "options", "expected"), CONVS, ids=str)
def test_conv(shape, kernel, options, expected, rng) -> None:
    x, weight = rng.standard_normal(shape), rng.standard_normal(kernel)
    close(blocks.conv(x, weight, **options), correlated(x, weight, *expected))
    assert one_block(lambda x, w: blocks.conv(x, w, **options), x, weight).args[1][2:] == expected


CALLS = {
    Block.SOFTMAX: lambda x: blocks.softmax(x),
    Block.LOG_SOFTMAX: lambda x: blocks.log_softmax(x, 0),
    Block.LOGSUMEXP: lambda x: blocks.logsumexp(x),
    Block.LAYER_NORM: lambda x: blocks.layer_norm(x, x[0], x[1]),
    Block.RMS_NORM: lambda x: blocks.rms_norm(x, x[0]),
    Block.ATTENTION: lambda x: blocks.attention(x, x, x),
    Block.GELU: lambda x: blocks.gelu(x),
    Block.SILU: lambda x: blocks.silu(x),
    Block.CONV: lambda x: blocks.conv(x[None], x[None, :, :2]),
}


@pytest.mark.parametrize("name", Block)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool"])
def test_every_block_computes_at_once_and_traced(name, dtype, rng) -> None:
    x = rng.standard_normal((3, 4)) * 2
    x = x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    wide = "float64" if dtype == "int64" else "float16" if dtype == "bool" else dtype
    exact = CALLS[name](x.astype(np.float64))
    now, compiled = CALLS[name](x), lamina.defn(CALLS[name], strict=True)(x)
    assert type(now) is lamina.Array and type(compiled) is np.ndarray
    close(now, exact, wide)
    np.testing.assert_array_equal(now, compiled)
    nodes = lamina.trace(CALLS[name], x).order
    (unit,) = [node for node in nodes if node.op == "block"]
    assert unit.args[0] is name and str(name) in str(lamina.trace(CALLS[name], x))
    assert {str(node.dtype) for node in lamina.tree.operands(unit)} == {wide}


def test_a_mask_of_bools_and_options_stay_what_they_are(rng) -> None:
    x, mask = rng.standard_normal((2, 2)).astype(np.float32), np.eye(2, dtype=bool)
    node = one_block(lambda x, m: blocks.attention(x, x, x, m, scale=2), x, mask)
    query, key, value, seen, scale = node.args[1]
    assert query is key is value and (str(seen.dtype), scale) == ("bool", 2.0)
    assert one_block(lambda x: blocks.rms_norm(x), x).args[1][1:] == (None, 1e-5)
    assert one_block(lambda x: blocks.logsumexp(x, 0), x).args[1][1:] == (0, False)


def test_dtypes_meet(rng) -> None:
    x = rng.standard_normal((2, 3)).astype(np.float32)
    assert blocks.layer_norm(x, np.ones(3)).dtype == lamina.float64
    assert blocks.layer_norm(x, [1, 1, 1]).dtype == lamina.float64  # NumPy: a list is an array of its own dtype
    assert blocks.softmax(x.astype(np.int8)).dtype == lamina.float16


def test_blocks_in_loops_with_traced_values(rng) -> None:
    x = rng.standard_normal((3, 4))

    @lamina.defn(strict=True)
    def f(x, n):
        for _ in range(n):
            x = blocks.layer_norm(x + blocks.silu(x))
        return x

    expected = x
    for _ in range(12):
        expected = expected + expected * special.expit(expected)
        expected = (expected - expected.mean(-1, keepdims=True)) / np.sqrt(expected.var(-1, keepdims=True) + 1e-5)
    close(f(x, 12), expected)


ONES = np.ones((2, 3))
LINE, KERNEL = np.ones((1, 1, 4)), np.ones((1, 1, 3))
BAD = [
    (lambda: blocks.softmax(3.0), AxisError, "axis -1 is out of bounds for an array of 0 axes"),
    (lambda: blocks.softmax(ONES, 2), AxisError, "softmax: axis 2 is out of bounds"),
    (lambda: blocks.softmax(ONES, 0.5), TypeError, "softmax"),
    (lambda: blocks.gelu(ONES + 1j), TypeError, "gelu: the operands must be real, but they are x complex128"),
    (lambda: blocks.layer_norm(3.0), ValueError, "x has no axis to normalise"),
    (lambda: blocks.layer_norm(ONES, np.ones(2)), ValueError, r"weight has shape \(2,\), but must have \(3,\)"),
    (lambda: blocks.layer_norm(ONES, None, 1.0), ValueError, r"bias has shape \(\), but must have \(3,\)"),
    (lambda: blocks.rms_norm(ONES, ONES), ValueError, r"weight has shape \(2, 3\)"),
    (lambda: blocks.attention(ONES[0], ONES, ONES), ValueError, r"query has shape \(3,\), but must have two axes"),
    (lambda: blocks.attention(ONES, ONES, ONES.T), ValueError, r"query, key and value have shapes .* \(…, m, e\)"),
    (lambda: blocks.attention(ONES, ONES, ONES, np.ones((3, 3), bool)), ValueError, "broadcast"),
    (lambda: blocks.conv(ONES, ONES), ValueError, r"\(n, c, \*spatial\)"),
    (lambda: blocks.conv(np.ones((1, 2, 3)), np.ones((1, 1, 2))), ValueError, "x and weight have shapes"),
    (lambda: blocks.conv(np.ones((1, 1, 2)), np.ones((1, 1, 3))), ValueError, "can't be larger than axis 2"),
    (lambda: blocks.conv(LINE, KERNEL, stride=(1, 1)), ValueError, "stride must be one numb"),
    (lambda: blocks.conv(LINE, KERNEL, stride=0), ValueError, "stride must be at least 1, but it is"),
    (lambda: blocks.conv(LINE, KERNEL, padding=((1,),)), ValueError, "a pair .*before, after"),
    (lambda: blocks.softmax(None), TypeError, "x must be an array or a number, but it is None"),
    (lambda: blocks.attention(ONES, None, ONES), TypeError, "key must be an array or a number, but it is None"),
    (lambda: blocks.conv(LINE, KERNEL, padding=-1), ValueError, "negative"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "message"), BAD, ids=range(len(BAD)))
def test_what_does_not_fit_is_refused(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
    with pytest.raises((error, TraceError)):
        lamina.defn(call, strict=True)()
