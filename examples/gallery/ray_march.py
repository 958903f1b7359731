"""A picture of a scene that is given by its distance: each ray goes on by the distance to the nearest surface.

Method: sphere tracing, J. Hart, The Visual Computer 12 (1996); the colours are Lambert's law.
"""

from typing import Any

import numpy as np

import lamina


def length(v: np.ndarray) -> np.ndarray:
    """The length of each vector."""
    return np.sqrt((v * v).sum(axis=-1))


def scene(p: np.ndarray, centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """The distance from each point to the nearest ball, or to the floor."""
    nearest = p[..., 1] + 1.0
    for centre, radius in zip(centres, radii, strict=True):
        nearest = np.minimum(nearest, length(p - centre) - radius)
    return nearest


@lamina.defn(strict=True)
def program(
    size: int, centres: np.ndarray, radii: np.ndarray, light: np.ndarray, max_steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """The brightness of each pixel, and how far its ray went."""
    v, u = np.mgrid[1 : -1 : size * 1j, -1 : 1 : size * 1j]
    rays = np.stack([u, v, np.full_like(u, 1.5)], axis=-1)
    rays /= length(rays)[..., np.newaxis]
    eye = np.array([0.0, 0.0, -3.0])

    depth = np.zeros((size, size))
    active = np.ones((size, size), dtype=bool)
    for _ in range(max_steps):
        distance = scene(eye + depth[..., np.newaxis] * rays, centres, radii)
        active &= (distance > 1e-3) & (depth < 20.0)
        if not active.any():
            break
        depth += np.where(active, distance, 0.0)

    points = eye + depth[..., np.newaxis] * rays
    normals = np.empty_like(points)
    for axis in range(3):
        step = np.zeros(3)
        step[axis] = 1e-4
        normals[..., axis] = scene(points + step, centres, radii) - scene(points - step, centres, radii)
    normals /= length(normals)[..., np.newaxis]
    shade = np.clip(normals @ light, 0.0, 1.0)
    shade[depth >= 20.0] = 0.0
    return shade, depth


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Three balls over a floor, and a light."""
    light = np.array([0.5, 0.8, -0.4])
    centres = rng.uniform(-1.0, 1.0, (3, 3)) + np.array([0.0, 0.0, 1.5])
    return size, centres, rng.uniform(0.4, 0.8, 3), light / np.linalg.norm(light), 60
