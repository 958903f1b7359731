"""An image blurred and its edges found: a convolution as a sum of shifted images, one for each element of the kernel.

Method: the Sobel operator (I. Sobel and G. Feldman, 1968) after a blur; the image is continued by its mirror.
"""

from typing import Any

import numpy as np

import lamina

SOBEL = np.array([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])


def convolve(image: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """The convolution of an image with a kernel of odd extents, as large as the image."""
    height, width = kernel.shape
    padded = np.pad(image, ((height // 2, height // 2), (width // 2, width // 2)), mode="reflect")
    result = np.zeros(image.shape)
    for i in range(height):
        for j in range(width):
            weight = kernel[height - 1 - i, width - 1 - j]
            result += weight * padded[i : i + image.shape[0], j : j + image.shape[1]]
    return result


@lamina.defn(strict=True)
def program(image: np.ndarray, blur: np.ndarray) -> np.ndarray:
    """The strength of the edges of the blurred image, as bytes."""
    smooth = convolve(image, blur)
    strength = np.hypot(convolve(smooth, SOBEL), convolve(smooth, SOBEL.T))
    strength *= 255 / strength.max()
    return strength.round().astype(np.uint8)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A noisy disc, and a kernel of seven by seven."""
    y, x = np.mgrid[:size, :size]
    disc = (y - size / 2) ** 2 + (x - size / 2) ** 2 < (size / 3) ** 2
    image = np.clip(80 + 100 * disc + 10 * rng.standard_normal((size, size)), 0, 255).astype(np.uint8)
    bell = np.exp(-0.5 * (np.arange(-3, 4) / 1.5) ** 2)
    blur = np.outer(bell, bell)
    return image, blur / blur.sum()
