"""The fast Fourier transform of a power of two of elements, and the power spectrum of a signal with it.

Method: J. Cooley and J. Tukey, Math. Comp. 19 (1965), radix 2: elements in the order of their reversed bits, then
butterflies of growing length.
"""

from typing import Any

import numpy as np

import lamina


def bit_reversed(n: int) -> np.ndarray:
    """The numbers below n, each with its bits reversed."""
    order = np.zeros(1, dtype=np.intp)
    while len(order) < n:
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def fft(signal: np.ndarray) -> np.ndarray:
    """The discrete Fourier transform."""
    n = len(signal)
    x = signal[bit_reversed(n)].astype(complex)
    length = 2
    while length <= n:
        twiddle = np.exp(-2j * np.pi * np.arange(length // 2) / length)
        blocks = x.reshape(-1, length)
        even, odd = blocks[:, : length // 2], twiddle * blocks[:, length // 2 :]
        x = np.concatenate([even + odd, even - odd], axis=1).reshape(-1)
        length *= 2
    return x


@lamina.defn(strict=True)
def program(signal: np.ndarray) -> tuple[np.ndarray, int]:
    """The power of each frequency, and the strongest frequency but 0; the signal is windowed in place."""
    signal *= np.hanning(len(signal))
    power = np.abs(fft(signal)[: len(signal) // 2]) ** 2
    return power, power[1:].argmax() + 1


def make_arguments(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Two tones and noise, of the first power of two of elements that is not less."""
    n = 1 << (size - 1).bit_length()
    t = np.arange(n) / n
    return (np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 3 * t) + 0.3 * rng.standard_normal(n),)
