"""Transposes, and linear algebra with and without a library's products."""

import numpy as np

from .parts import MATRICES, arrays, prange
from .program import Program

TRANSPOSES = "transposes"
LINEAR = "linear algebra"


def transposed(x):
    return x.T.copy()


def transposed_loops(x):
    result = np.empty((x.shape[1], x.shape[0]))
    for i in prange(x.shape[1]):
        for j in range(x.shape[0]):
            result[i, j] = x[j, i]
    return result


def symmetric_part(x):
    return 0.5 * (x + x.T)


def symmetric_part_loops(x):
    result = np.empty_like(x)
    for i in prange(len(x)):
        for j in range(len(x)):
            result[i, j] = 0.5 * (x[i, j] + x[j, i])
    return result


def channels_first(images):
    """Bytes with channels last become floats with channels first, scaled."""
    return images.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)


def channels_first_loops(images):
    count, height, width, channels = images.shape
    result = np.empty((count, channels, height, width), np.float32)
    for n in prange(count):
        for c in range(channels):
            for i in range(height):
                for j in range(width):
                    result[n, c, i, j] = np.float32(images[n, i, j, c]) / np.float32(255)
    return result


def photographs(size, rng):
    return (rng.integers(0, 256, (size, 128, 128, 3), dtype=np.uint8),)


def product(a, b):
    return a @ b


def dense_layer(x, weights, bias):
    """A product and what is done to each of its elements."""
    return np.maximum(x @ weights + bias, np.float32(0))


def layer(size, rng):
    return (
        rng.standard_normal((size, size)).astype(np.float32),
        rng.standard_normal((size, size)).astype(np.float32),
        rng.standard_normal(size).astype(np.float32),
    )


def matrix_vector(a, x):
    return a @ x


def matrix_and_vector(size, rng):
    return rng.random((size, size)), rng.random(size)


def solution(a, b):
    return np.linalg.solve(a, b)


def system(size, rng):
    return rng.standard_normal((size, size)) + size * np.eye(size), rng.standard_normal(size)


def quadratic_forms(x, a):
    """``x[i] @ a @ x[i]`` for each row."""
    return ((x @ a) * x).sum(axis=1)


def rows_and_form(size, rng):
    return rng.random((size, 16)), rng.random((16, 16))


def rotations(angles, vectors):
    """Each vector of three turned by its Euler angles: many products of small matrices."""
    c, s = np.cos(angles), np.sin(angles)
    x, y, z = vectors[:, 0], vectors[:, 1], vectors[:, 2]
    x, y = c[:, 0] * x - s[:, 0] * y, s[:, 0] * x + c[:, 0] * y
    x, z = c[:, 1] * x + s[:, 1] * z, c[:, 1] * z - s[:, 1] * x
    y, z = c[:, 2] * y - s[:, 2] * z, s[:, 2] * y + c[:, 2] * z
    return np.stack((x, y, z), axis=1)


def rotations_loops(angles, vectors):
    result = np.empty_like(vectors)
    for i in prange(len(vectors)):
        x, y, z = vectors[i, 0], vectors[i, 1], vectors[i, 2]
        c, s = np.cos(angles[i, 0]), np.sin(angles[i, 0])
        x, y = c * x - s * y, s * x + c * y
        c, s = np.cos(angles[i, 1]), np.sin(angles[i, 1])
        x, z = c * x + s * z, c * z - s * x
        c, s = np.cos(angles[i, 2]), np.sin(angles[i, 2])
        y, z = c * y - s * z, s * y + c * z
        result[i, 0], result[i, 1], result[i, 2] = x, y, z
    return result


def angles_and_vectors(size, rng):
    return rng.random((size, 3)), rng.random((size, 3))


PROGRAMS = (
    Program("transpose", TRANSPOSES, transposed, arrays(1, axes=2), MATRICES, bound="memory", loops=transposed_loops),
    Program(
        "symmetric part",
        TRANSPOSES,
        symmetric_part,
        arrays(1, axes=2),
        MATRICES,
        bound="memory",
        loops=symmetric_part_loops,
    ),
    Program(
        "channels first, float32",
        TRANSPOSES,
        channels_first,
        photographs,
        (1, 32, 256),
        1e-6,
        bound="memory",
        loops=channels_first_loops,
    ),
    Program("matrix product", LINEAR, product, arrays(2, axes=2), (32, 512, 1_500), bound="products"),
    Program("dense layer, float32", LINEAR, dense_layer, layer, (32, 512, 1_500), 1e-4, bound="products"),
    Program("matrix times vector", LINEAR, matrix_vector, matrix_and_vector, MATRICES, bound="products"),
    Program("linear system", LINEAR, solution, system, (32, 400, 1_200), 1e-9, bound="products"),
    Program("quadratic forms", LINEAR, quadratic_forms, rows_and_form, (256, 100_000, 1_000_000), bound="products"),
    Program(
        "rotations", LINEAR, rotations, angles_and_vectors, (512, 200_000, 2_000_000), 1e-12, loops=rotations_loops
    ),
)
