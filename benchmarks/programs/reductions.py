"""Reductions, and what is made of rows with them: softmax, layer norm, attention."""

import math

import numpy as np

from .parts import MATRICES, VECTORS, arrays, evaluated, prange
from .program import Program

REDUCTIONS = "reductions"
ROWS = "softmax, layer norm, attention"


def total(x):
    return x.sum()


def distance(x, y):
    return np.sqrt(((x - y) ** 2).sum())


def row_means(x):
    return x.mean(axis=1)


def row_means_loops(x):
    result = np.empty(len(x))
    for i in prange(len(x)):
        result[i] = x[i].mean()
    return result


def column_sums(x):
    return x.sum(axis=0)


def moments(x):
    """The mean and the variance of each column."""
    return x.mean(axis=0), x.var(axis=0)


def moments_loops(x):
    rows, columns = x.shape
    mean, variance = np.zeros(columns), np.zeros(columns)
    for i in range(rows):
        for j in range(columns):
            mean[j] += x[i, j]
    mean /= rows
    for i in range(rows):
        for j in range(columns):
            variance[j] += (x[i, j] - mean[j]) ** 2
    return mean, variance / rows


def extremes(x):
    """The least and the greatest element of each row, and where the greatest is."""
    return x.min(axis=1), x.max(axis=1), x.argmax(axis=1)


def extremes_loops(x):
    least, greatest, where = np.empty(len(x)), np.empty(len(x)), np.empty(len(x), np.int64)
    for i in prange(len(x)):
        least[i] = greatest[i] = x[i, 0]
        where[i] = 0
        for j in range(1, x.shape[1]):
            value = x[i, j]
            if value < least[i]:
                least[i] = value
            if value > greatest[i]:
                greatest[i] = value
                where[i] = j
    return least, greatest, where


def logsumexp(x):
    peak = x.max(axis=1)
    return peak + np.log(np.exp(x - peak[:, np.newaxis]).sum(axis=1))


def logsumexp_loops(x):
    result = np.empty(len(x))
    for i in prange(len(x)):
        peak = x[i].max()
        total = 0.0
        for j in range(x.shape[1]):
            total += math.exp(x[i, j] - peak)
        result[i] = peak + math.log(total)
    return result


def running_total(x):
    return np.cumsum(x)


def softmax(x):
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def softmax_loops(x):
    result = np.empty_like(x)
    for i in prange(len(x)):
        peak = x[i].max()
        total = x[i, 0] * 0
        for j in range(x.shape[1]):
            result[i, j] = np.exp(x[i, j] - peak)
            total += result[i, j]
        for j in range(x.shape[1]):
            result[i, j] /= total
    return result


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    return centred / deviation * gain + bias


def layer_norm_loops(x, gain, bias):
    result = np.empty_like(x)
    for i in prange(len(x)):
        mean = x[i].mean()
        total = x[i, 0] * 0
        for j in range(x.shape[1]):
            total += (x[i, j] - mean) ** 2
        deviation = np.sqrt(total / x.shape[1] + np.float32(1e-5))
        for j in range(x.shape[1]):
            result[i, j] = (x[i, j] - mean) / deviation * gain[j] + bias[j]
    return result


def normalised_input(size, rng):
    return (
        rng.standard_normal((size, size)).astype(np.float32),
        rng.standard_normal(size).astype(np.float32),
        rng.standard_normal(size).astype(np.float32),
    )


def attention(query, key, value):
    """Causal attention of several heads: heads by positions by features."""
    length, width = query.shape[-2:]
    scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(width))
    scores = np.where(np.tril(np.ones((length, length), dtype=np.bool_)), scores, np.float32(-np.inf))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)) @ value


def attention_loops(query, key, value):
    heads, length, width = query.shape
    result = np.empty_like(query)
    for head in prange(heads):
        scores = query[head] @ key[head].T / np.float32(np.sqrt(width))
        for i in range(length):
            peak = scores[i, : i + 1].max()
            total = np.float32(0)
            for j in range(length):
                scores[i, j] = np.exp(scores[i, j] - peak) if j <= i else np.float32(0)
                total += scores[i, j]
            for j in range(length):
                scores[i, j] /= total
        result[head] = scores @ value[head]
    return result


def heads(size, rng):
    return tuple(rng.standard_normal((8, size, 64)).astype(np.float32) for _ in range(3))


PROGRAMS = (
    Program("sum", REDUCTIONS, total, arrays(1), VECTORS, bound="memory", numexpr=evaluated("sum(x)", "x")),
    Program("distance", REDUCTIONS, distance, arrays(2), VECTORS, bound="memory"),
    Program("row means", REDUCTIONS, row_means, arrays(1, axes=2), MATRICES, bound="memory", loops=row_means_loops),
    Program("column sums", REDUCTIONS, column_sums, arrays(1, axes=2), MATRICES, bound="memory"),
    Program("column moments", REDUCTIONS, moments, arrays(1, axes=2), MATRICES, loops=moments_loops),
    Program("row extremes", REDUCTIONS, extremes, arrays(1, axes=2), MATRICES, bound="memory", loops=extremes_loops),
    Program("logsumexp", REDUCTIONS, logsumexp, arrays(1, axes=2), MATRICES, loops=logsumexp_loops),
    Program("running total", REDUCTIONS, running_total, arrays(1), VECTORS, 1e-10, bound="memory"),
    Program("softmax", ROWS, softmax, arrays(1, axes=2), MATRICES, loops=softmax_loops),
    Program("softmax, float32", ROWS, softmax, arrays(1, np.float32, axes=2), MATRICES, 1e-5, loops=softmax_loops),
    Program("layer norm, float32", ROWS, layer_norm, normalised_input, MATRICES, 1e-5, loops=layer_norm_loops),
    Program(
        "attention, float32", ROWS, attention, heads, (16, 256, 1_024), 1e-4, bound="products", loops=attention_loops
    ),
)
