"""Stencils, convolutions and pooling, image filters: neighbours of each element, as slices, windows or shifts."""

import numpy as np

from .parts import MATRICES, arrays, jnp, lax, prange
from .program import Program

STENCILS = "stencils"
CONVOLUTIONS = "convolutions and pooling"
IMAGES = "image filters"


def laplacian(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]


def heat(plate, rate, steps):
    """Explicit Euler steps of the heat equation, written into the plate."""
    for _ in range(steps):
        plate[1:-1, 1:-1] += rate * (
            plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2] - 4 * plate[1:-1, 1:-1]
        )
    return plate


def heat_loops(plate, rate, steps):
    rows, columns = plate.shape
    current, following = plate.copy(), plate.copy()
    for _ in range(steps):
        for i in prange(1, rows - 1):
            for j in range(1, columns - 1):
                around = current[i + 1, j] + current[i - 1, j] + current[i, j + 1] + current[i, j - 1]
                following[i, j] = current[i, j] + rate * (around - 4 * current[i, j])
        current, following = following, current
    plate[:] = current
    return plate


def heat_jax(plate, rate, steps):
    return lax().fori_loop(0, steps, lambda _, u: u.at[1:-1, 1:-1].add(rate * laplacian(u)), plate)


def plate(size, rng):
    return rng.random((size, size)), 0.2, 10


def game_of_life(cells):
    """One generation on a torus."""
    around = sum(np.roll(cells, (i, j), axis=(0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((around == 3) | ((cells == 1) & (around == 2))).astype(np.uint8)


def game_of_life_loops(cells):
    rows, columns = cells.shape
    result = np.empty_like(cells)
    for i in prange(rows):
        above, below = (i - 1) % rows, (i + 1) % rows
        for j in range(columns):
            left, right = (j - 1) % columns, (j + 1) % columns
            around = cells[above, left] + cells[above, j] + cells[above, right] + cells[i, left]
            around += cells[i, right] + cells[below, left] + cells[below, j] + cells[below, right]
            result[i, j] = around == 3 or (cells[i, j] == 1 and around == 2)
    return result


def cells(size, rng):
    return (rng.integers(0, 2, (size, size)).astype(np.uint8),)


def convolution(image, weights):
    """A convolution of five by five, the image continued by its edge."""
    padded = np.pad(image, 2, mode="edge")
    result = np.zeros_like(image)
    for i in range(5):
        for j in range(5):
            result += weights[i, j] * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return result


def convolution_loops(image, weights):
    rows, columns = image.shape
    result = np.empty_like(image)
    for i in prange(rows):
        for j in range(columns):
            total = 0.0
            for k in range(5):
                row = min(max(i + k - 2, 0), rows - 1)
                for m in range(5):
                    total += weights[k, m] * image[row, min(max(j + m - 2, 0), columns - 1)]
            result[i, j] = total
    return result


def image_and_weights(size, rng):
    return rng.random((size, size)), rng.random((5, 5))


def max_pool(image):
    """The greatest of each block of two by two."""
    rows, columns = image.shape
    return image.reshape(rows // 2, 2, columns // 2, 2).max(axis=(1, 3))


def max_pool_loops(image):
    rows, columns = image.shape
    result = np.empty((rows // 2, columns // 2), image.dtype)
    for i in prange(rows // 2):
        for j in range(columns // 2):
            top = max(image[2 * i, 2 * j], image[2 * i, 2 * j + 1])
            result[i, j] = max(top, image[2 * i + 1, 2 * j], image[2 * i + 1, 2 * j + 1])
    return result


def moving_average(x):
    """The mean of each window of sixteen."""
    return np.lib.stride_tricks.sliding_window_view(x, 16).mean(axis=-1)


def moving_average_loops(x):
    result = np.empty(len(x) - 15)
    for i in prange(len(result)):
        total = 0.0
        for j in range(16):
            total += x[i + j]
        result[i] = total / 16
    return result


def moving_average_jax(x):
    return jnp().stack([x[i : len(x) - 15 + i] for i in range(16)], axis=-1).mean(axis=-1)


def sobel(image):
    """The strength of edges."""
    across = (
        image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:] - image[:-2, :-2] - 2 * image[1:-1, :-2] - image[2:, :-2]
    )
    down = (
        image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:] - image[:-2, :-2] - 2 * image[:-2, 1:-1] - image[:-2, 2:]
    )
    return np.sqrt(across * across + down * down)


def sobel_loops(image):
    result = np.empty((image.shape[0] - 2, image.shape[1] - 2))
    for i in prange(result.shape[0]):
        for j in range(result.shape[1]):
            across = image[i, j + 2] + 2 * image[i + 1, j + 2] + image[i + 2, j + 2]
            across -= image[i, j] + 2 * image[i + 1, j] + image[i + 2, j]
            down = image[i + 2, j] + 2 * image[i + 2, j + 1] + image[i + 2, j + 2]
            down -= image[i, j] + 2 * image[i, j + 1] + image[i, j + 2]
            result[i, j] = np.sqrt(across * across + down * down)
    return result


def grayscale(image):
    """The luminance of an image of bytes, as bytes."""
    weighted = 0.299 * image[..., 0] + 0.587 * image[..., 1] + 0.114 * image[..., 2]
    return np.round(weighted).astype(np.uint8)


def grayscale_loops(image):
    result = np.empty(image.shape[:2], np.uint8)
    for i in prange(image.shape[0]):
        for j in range(image.shape[1]):
            result[i, j] = round(0.299 * image[i, j, 0] + 0.587 * image[i, j, 1] + 0.114 * image[i, j, 2])
    return result


def photograph(size, rng):
    return (rng.integers(0, 256, (size, size, 3), dtype=np.uint8),)


PROGRAMS = (
    Program("Laplacian", STENCILS, laplacian, arrays(1, axes=2), MATRICES, bound="memory"),
    Program("heat equation", STENCILS, heat, plate, (64, 500, 2_000), loops=heat_loops, jax=heat_jax),
    Program("game of life", STENCILS, game_of_life, cells, MATRICES, loops=game_of_life_loops),
    Program("convolution", CONVOLUTIONS, convolution, image_and_weights, MATRICES, loops=convolution_loops),
    Program("max pooling", CONVOLUTIONS, max_pool, arrays(1, axes=2), MATRICES, bound="memory", loops=max_pool_loops),
    Program(
        "moving average",
        CONVOLUTIONS,
        moving_average,
        arrays(1),
        (4_096, 500_000, 4_000_000),
        loops=moving_average_loops,
        jax=moving_average_jax,
    ),
    Program("Sobel filter", IMAGES, sobel, arrays(1, axes=2), MATRICES, bound="memory", loops=sobel_loops),
    Program("grayscale", IMAGES, grayscale, photograph, MATRICES, bound="memory", loops=grayscale_loops),
)
