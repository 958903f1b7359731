"""Points and what lies between them: n-body, pairwise distances, k-means; histograms and interpolation."""

import math

import numpy as np

from .parts import jnp, prange
from .program import Program

BODIES = "n-body"
DISTANCES = "pairwise distances"
CLUSTERS = "k-means"
HISTOGRAM = "histogram"
IMAGES = "image filters"


def accelerations(positions, masses):
    """The pull of all bodies on each."""
    separation = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    inverse_cube = ((separation**2).sum(axis=-1) + 0.0025) ** -1.5
    return (separation * (masses[:, np.newaxis] * inverse_cube[..., np.newaxis])).sum(axis=1)


def accelerations_loops(positions, masses):
    result = np.zeros_like(positions)
    for i in prange(len(positions)):
        for j in range(len(positions)):
            x = positions[j, 0] - positions[i, 0]
            y = positions[j, 1] - positions[i, 1]
            z = positions[j, 2] - positions[i, 2]
            pull = masses[j] * (x * x + y * y + z * z + 0.0025) ** -1.5
            result[i, 0] += pull * x
            result[i, 1] += pull * y
            result[i, 2] += pull * z
    return result


def bodies(size, rng):
    return rng.standard_normal((size, 3)), rng.uniform(0.5, 1.5, size) / size


def potential(positions):
    """The Lennard-Jones energy of all pairs."""
    separation = positions[:, np.newaxis, :] - positions[np.newaxis, :, :]
    squared = (separation * separation).sum(axis=-1) + np.eye(len(positions))
    sixth = 1.0 / squared**3
    return 2.0 * (np.triu(sixth * sixth - sixth, k=1)).sum()


def potential_loops(positions):
    total = 0.0
    for i in prange(len(positions)):
        for j in range(i + 1, len(positions)):
            squared = 0.0
            for k in range(3):
                squared += (positions[i, k] - positions[j, k]) ** 2
            sixth = 1.0 / squared**3
            total += sixth * sixth - sixth
    return 2.0 * total


def lattice(size, rng):
    side = math.ceil(size ** (1 / 3))
    places = np.stack(np.meshgrid(*[np.arange(side)] * 3), axis=-1).reshape(-1, 3)[:size]
    return (1.2 * places + 0.1 * rng.random((size, 3)),)


def distances(a, b):
    return np.sqrt(((a[:, np.newaxis, :] - b[np.newaxis, :, :]) ** 2).sum(axis=-1))


def distances_loops(a, b):
    result = np.empty((len(a), len(b)))
    for i in prange(len(a)):
        for j in range(len(b)):
            total = 0.0
            for k in range(a.shape[1]):
                total += (a[i, k] - b[j, k]) ** 2
            result[i, j] = math.sqrt(total)
    return result


def two_clouds(size, rng):
    return rng.random((size, 8)), rng.random((size, 8))


def nearest(a, b):
    """Which point of `b` is nearest to each of `a`."""
    return ((a[:, np.newaxis, :] - b[np.newaxis, :, :]) ** 2).sum(axis=-1).argmin(axis=1)


def nearest_loops(a, b):
    result = np.empty(len(a), np.int64)
    for i in prange(len(a)):
        best = np.inf
        for j in range(len(b)):
            total = 0.0
            for k in range(a.shape[1]):
                total += (a[i, k] - b[j, k]) ** 2
            if total < best:
                best = total
                result[i] = j
    return result


def lloyd_step(points, centres):
    """Each centre becomes the mean of the points nearest to it."""
    distance = ((points[:, np.newaxis, :] - centres[np.newaxis, :, :]) ** 2).sum(axis=-1)
    labels = distance.argmin(axis=1)
    members = (labels[:, np.newaxis] == np.arange(len(centres))).astype(points.dtype)
    return members.T @ points / np.maximum(members.sum(axis=0), 1.0)[:, np.newaxis]


def lloyd_step_loops(points, centres):
    sums, counts = np.zeros_like(centres), np.zeros(len(centres))
    for i in range(len(points)):
        best, label = np.inf, 0
        for j in range(len(centres)):
            total = 0.0
            for k in range(points.shape[1]):
                total += (points[i, k] - centres[j, k]) ** 2
            if total < best:
                best, label = total, j
        counts[label] += 1
        for k in range(points.shape[1]):
            sums[label, k] += points[i, k]
    for j in range(len(centres)):
        sums[j] /= max(counts[j], 1.0)
    return sums


def clusters(size, rng):
    return rng.standard_normal((size, 4)), rng.standard_normal((8, 4))


def histogram(x):
    """How many elements fall into each of 64 bins between 0 and 1."""
    return np.bincount(np.minimum((x * 64).astype(np.int64), 63), minlength=64)


def histogram_loops(x):
    counts = np.zeros(64, np.int64)
    for i in range(len(x)):
        counts[min(int(x[i] * 64), 63)] += 1
    return counts


def histogram_jax(x):
    bins = jnp().minimum((x * 64).astype(jnp().int64), 63)
    return jnp().bincount(bins, length=64)


def equalised(image):
    """Gray levels spread by a table of 256 that the image's own histogram gives."""
    cumulative = np.bincount(image.ravel(), minlength=256).cumsum()
    table = np.round(255.0 * cumulative / cumulative[-1]).astype(np.uint8)
    return table[image]


def equalised_loops(image):
    counts = np.zeros(256, np.int64)
    for i in range(image.shape[0]):
        for j in range(image.shape[1]):
            counts[image[i, j]] += 1
    cumulative = counts.cumsum()
    table = np.empty(256, np.uint8)
    for level in range(256):
        table[level] = np.uint8(round(255.0 * cumulative[level] / cumulative[-1]))
    result = np.empty_like(image)
    for i in prange(image.shape[0]):
        for j in range(image.shape[1]):
            result[i, j] = table[image[i, j]]
    return result


def equalised_jax(image):
    cumulative = jnp().bincount(image.ravel(), length=256).cumsum()
    return jnp().round(255.0 * cumulative / cumulative[-1]).astype(jnp().uint8)[image]


def dark_image(size, rng):
    return (rng.normal(110, 15, (size, size)).clip(0, 255).astype(np.uint8),)


def bilinear(image, rows, columns):
    """The image between its pixels, at places of any kind."""
    i, j = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    y, x = rows - i, columns - j
    top = (1 - x) * image[i, j] + x * image[i, j + 1]
    bottom = (1 - x) * image[i + 1, j] + x * image[i + 1, j + 1]
    return (1 - y) * top + y * bottom


def bilinear_loops(image, rows, columns):
    result = np.empty(len(rows))
    for n in prange(len(rows)):
        i, j = int(rows[n]), int(columns[n])
        y, x = rows[n] - i, columns[n] - j
        top = (1 - x) * image[i, j] + x * image[i, j + 1]
        bottom = (1 - x) * image[i + 1, j] + x * image[i + 1, j + 1]
        result[n] = (1 - y) * top + y * bottom
    return result


def image_and_places(size, rng):
    return rng.random((512, 512)), rng.uniform(0, 510, size), rng.uniform(0, 510, size)


PROGRAMS = (
    Program("n-body pull", BODIES, accelerations, bodies, (32, 500, 1_500), 1e-11, loops=accelerations_loops),
    Program("Lennard-Jones energy", BODIES, potential, lattice, (32, 500, 1_500), 1e-10, loops=potential_loops),
    Program("pairwise distances", DISTANCES, distances, two_clouds, (32, 500, 1_500), loops=distances_loops),
    Program("nearest neighbours", DISTANCES, nearest, two_clouds, (32, 500, 1_500), loops=nearest_loops),
    Program(
        "k-means step",
        CLUSTERS,
        lloyd_step,
        clusters,
        (256, 50_000, 500_000),
        1e-10,
        parallel=False,
        loops=lloyd_step_loops,
    ),
    Program(
        "histogram",
        HISTOGRAM,
        histogram,
        lambda size, rng: (rng.random(size),),
        (4_096, 1_000_000, 8_000_000),
        loops=histogram_loops,
        jax=histogram_jax,
    ),
    Program(
        "equalisation", HISTOGRAM, equalised, dark_image, (64, 1_000, 3_000), loops=equalised_loops, jax=equalised_jax
    ),
    Program("bilinear sampling", IMAGES, bilinear, image_and_places, (1_024, 500_000, 4_000_000), loops=bilinear_loops),
)
