"""A multilayer perceptron's forward pass: normalised inputs, hidden layers, the loss and the share of right answers.

Method: C. Bishop, Pattern Recognition and Machine Learning (2006), section 5.1; layer normalisation after J. Ba,
J. Kiros and G. Hinton (2016); GELU by its tanh form, D. Hendrycks and K. Gimpel (2016).
"""

import itertools
from typing import Any

import numpy as np

import lamina


def normalised(x: np.ndarray) -> np.ndarray:
    """Each row with mean 0 and deviation 1."""
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def gelu(x: np.ndarray) -> np.ndarray:
    """The Gaussian error linear unit."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def softmax(x: np.ndarray) -> np.ndarray:
    """Each row as probabilities."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@lamina.defn(strict=True)
def program(
    x: np.ndarray, labels: np.ndarray, layers: list[dict[str, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, float]:
    """The probabilities of each class, the mean loss, and the share of rows whose label is the most probable one."""
    for layer in layers[:-1]:
        x = gelu(normalised(x) @ layer["weights"] + layer["biases"])
    probabilities = softmax(x @ layers[-1]["weights"] + layers[-1]["biases"])
    loss = -np.log(probabilities[np.arange(len(labels)), labels]).mean()
    return probabilities, loss, np.mean(probabilities.argmax(axis=1) == labels)


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """A batch, and three layers in single precision."""
    widths = [32, 64, 64, 10]
    layers = [
        {
            "weights": (rng.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32),
            "biases": np.zeros(n, dtype=np.float32),
        }
        for m, n in itertools.pairwise(widths)
    ]
    return rng.standard_normal((size, 32)).astype(np.float32), rng.integers(0, 10, size), layers
