"""Histogram equalisation: the gray levels of an image spread so that each is about as frequent as any other.

Method: R. Gonzalez and R. Woods, Digital Image Processing (2018), section 3.3.
"""

from typing import Any

import numpy as np

import lamina


@lamina.defn(strict=True)
def program(image: np.ndarray) -> np.ndarray:
    """The number of pixels of each level before; the image, of bytes, is changed in place."""
    histogram = np.bincount(image.ravel(), minlength=256)
    cumulative = histogram.cumsum()
    darkest = cumulative[np.argmax(cumulative > 0)]
    levels = np.round(255 * (cumulative - darkest) / max(image.size - darkest, 1))
    image[...] = levels.clip(0, 255).astype(np.uint8)[image]
    return histogram


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """An image of few contrasts."""
    return (rng.normal(110, 15, (size, size)).clip(0, 255).astype(np.uint8),)
