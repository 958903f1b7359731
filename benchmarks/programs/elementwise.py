"""Elementwise maths: expressions over whole arrays, bound by memory or by elementary functions."""

import math

import numpy as np

from .parts import VECTORS, arrays, evaluated, prange
from .program import Program

GROUP = "elementwise maths"


def polynomial(x):
    return ((((0.5 * x - 1.25) * x + 2.0) * x - 0.75) * x + 3.0) * x - 1.0


def triad(a, b, c):
    return a + 2.5 * b * c


def triad32(a, b, c):
    return a + np.float32(2.5) * b * c


def clipped_blend(a, b, weight):
    return np.where(weight > 0.5, np.minimum(a, b), np.maximum(a - b, 0.0)) * (1.0 - weight)


def gaussian(x, mean, deviation):
    z = (x - mean) / deviation
    return np.exp(-0.5 * z * z) / (deviation * np.sqrt(2 * np.pi))


def trigonometry(x, y):
    return np.sin(x) * np.cos(y) + np.arctan2(y, x) * np.tanh(x * y)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def haversine(latitude, longitude, latitude2, longitude2):
    """The distance in kilometres between points on the earth."""
    half = np.sin((latitude2 - latitude) / 2) ** 2
    half = half + np.cos(latitude) * np.cos(latitude2) * np.sin((longitude2 - longitude) / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(half))


def normal_cdf(x):
    """The share of a normal distribution below x, by formula 26.2.17 of Abramowitz and Stegun."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = series * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(spot, strike, years, rate, volatility):
    """The prices of calls and puts."""
    deviation = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / deviation
    d2 = d1 - deviation
    discounted = strike * np.exp(-rate * years)
    call = spot * normal_cdf(d1) - discounted * normal_cdf(d2)
    return call, call - spot + discounted


def normal_cdf_of_one(x):
    t = 1 / (1 + 0.2316419 * abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = series * math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    return 1 - tail if x > 0 else tail


def black_scholes_loops(spot, strike, years, rate, volatility):
    call, put = np.empty_like(spot), np.empty_like(spot)
    for i in prange(len(spot)):
        deviation = volatility * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility**2) * years[i]) / deviation
        discounted = strike[i] * math.exp(-rate * years[i])
        call[i] = spot[i] * normal_cdf_of_one(d1) - discounted * normal_cdf_of_one(d1 - deviation)
        put[i] = call[i] - spot[i] + discounted
    return call, put


def options(size, rng):
    return rng.uniform(80, 120, size), rng.uniform(80, 120, size), rng.uniform(1 / 12, 2, size), 0.03, 0.25


def quantised(x, scale):
    """Bytes of an image of floats: scaled, rounded, clipped, cast."""
    return np.clip(np.round(x * scale), 0, 255).astype(np.uint8)


def quantised_loops(x, scale):
    result = np.empty(x.shape, np.uint8)
    for i in prange(len(x)):
        result[i] = np.uint8(min(max(round(x[i] * scale), 0.0), 255.0))
    return result


def complex_magnitude(z):
    return np.abs(z * z + (0.5 - 0.25j) * z)


def complex_vector(size, rng):
    return (rng.standard_normal(size) + 1j * rng.standard_normal(size),)


PROGRAMS = (
    Program(
        "polynomial",
        GROUP,
        polynomial,
        arrays(1),
        VECTORS,
        bound="memory",
        numexpr=evaluated("((((0.5 * x - 1.25) * x + 2.0) * x - 0.75) * x + 3.0) * x - 1.0", "x"),
    ),
    Program(
        "triad", GROUP, triad, arrays(3), VECTORS, bound="memory", numexpr=evaluated("a + 2.5 * b * c", "a", "b", "c")
    ),
    Program(
        "triad, float32",
        GROUP,
        triad32,
        arrays(3, np.float32),
        VECTORS,
        1e-6,
        bound="memory",
        numexpr=evaluated("a + k * b * c", "a", "b", "c", k=np.float32(2.5)),
    ),
    Program(
        "clipped blend",
        GROUP,
        clipped_blend,
        arrays(3),
        VECTORS,
        bound="memory",
        numexpr=evaluated("where(w > 0.5, where(a < b, a, b), where(a > b, a - b, 0.0)) * (1.0 - w)", "a", "b", "w"),
    ),
    Program(
        "quantisation",
        GROUP,
        quantised,
        lambda size, rng: (rng.random(size), 255.0),
        VECTORS,
        bound="memory",
        loops=quantised_loops,
    ),
    Program(
        "gaussian",
        GROUP,
        gaussian,
        arrays(3),
        VECTORS,
        numexpr=evaluated("exp(-0.5 * ((x - m) / d) ** 2) / (d * 2.5066282746310002)", "x", "m", "d"),
    ),
    Program(
        "trigonometry",
        GROUP,
        trigonometry,
        arrays(2),
        VECTORS,
        numexpr=evaluated("sin(x) * cos(y) + arctan2(y, x) * tanh(x * y)", "x", "y"),
    ),
    Program(
        "GELU, float32",
        GROUP,
        gelu,
        arrays(1, np.float32),
        VECTORS,
        1e-6,
        numexpr=evaluated(
            "h * x * (1 + tanh(c * (x + d * x * x * x)))",
            "x",
            h=np.float32(0.5),
            c=np.float32(0.7978845608),
            d=np.float32(0.044715),
        ),
    ),
    Program("haversine", GROUP, haversine, arrays(4), VECTORS, 1e-9),
    Program("complex magnitude", GROUP, complex_magnitude, complex_vector, VECTORS),
    Program("Black-Scholes", "Black–Scholes", black_scholes, options, VECTORS, 1e-10, loops=black_scholes_loops),
)
