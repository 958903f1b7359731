"""Steps in time and turns of a loop over whole arrays: Mandelbrot, ODEs, spectral methods, sweeps of a Markov chain."""

import math

import numpy as np

from .parts import jnp, lax, prange
from .program import Program

MANDELBROT = "Mandelbrot"
STEPS = "spectral and ODE steps"


def escape_times(c, turns):
    """After how many turns each point has left the circle of radius 2."""
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    for _ in range(turns):
        inside = np.abs(z) <= 2
        z = np.where(inside, z * z + c, z)
        counts += inside
    return counts


def escape_times_loops(c, turns):
    counts = np.zeros(c.shape, dtype=np.int64)
    for i in prange(c.shape[0]):
        for j in range(c.shape[1]):
            z = 0j
            for _ in range(turns):
                if abs(z) > 2:
                    break
                z = z * z + c[i, j]
                counts[i, j] += 1
    return counts


def escape_times_jax(c, turns):
    def turn(_, state):
        z, counts = state
        inside = jnp().abs(z) <= 2
        return jnp().where(inside, z * z + c, z), counts + inside

    return lax().fori_loop(0, turns, turn, (jnp().zeros_like(c), jnp().zeros(c.shape, jnp().int64)))[1]


def plane(size, rng):
    x, y = np.linspace(-2.1, 0.6, size), np.linspace(-1.2, 1.2, size)
    return x + 1j * y[:, np.newaxis], 50


def escape_times_real(x, y, turns):
    """The same in real numbers, point by point: loops of scalars."""
    counts = np.zeros((len(y), len(x)), dtype=np.int64)
    for i in range(len(y)):
        for j in range(len(x)):
            real, imaginary = 0.0, 0.0
            for turn in range(turns):
                if real * real + imaginary * imaginary > 4.0:
                    break
                real, imaginary = real * real - imaginary * imaginary + x[j], 2.0 * real * imaginary + y[i]
                counts[i, j] = turn + 1
    return counts


def escape_times_real_loops(x, y, turns):
    counts = np.zeros((len(y), len(x)), dtype=np.int64)
    for i in prange(len(y)):
        for j in range(len(x)):
            real, imaginary = 0.0, 0.0
            for turn in range(turns):
                if real * real + imaginary * imaginary > 4.0:
                    break
                real, imaginary = real * real - imaginary * imaginary + x[j], 2.0 * real * imaginary + y[i]
                counts[i, j] = turn + 1
    return counts


def escape_times_real_jax(x, y, turns):
    def turn(_, state):
        real, imaginary, counts = state
        inside = real * real + imaginary * imaginary <= 4.0
        following = real * real - imaginary * imaginary + x, 2.0 * real * imaginary + y[:, None]
        return jnp().where(inside, following[0], real), jnp().where(inside, following[1], imaginary), counts + inside

    zeros = jnp().zeros((len(y), len(x)))
    return lax().fori_loop(0, turns, turn, (zeros, zeros, zeros.astype(jnp().int64)))[2]


def axes(size, rng):
    return np.linspace(-2.1, 0.6, size), np.linspace(-1.2, 1.2, size), 50


def lorenz(x, y, z):
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z


def runge_kutta(x, y, z, dt, steps):
    """Many Lorenz systems side by side, by the classic method of order four."""
    for _ in range(steps):
        a = lorenz(x, y, z)
        b = lorenz(x + dt / 2 * a[0], y + dt / 2 * a[1], z + dt / 2 * a[2])
        c = lorenz(x + dt / 2 * b[0], y + dt / 2 * b[1], z + dt / 2 * b[2])
        d = lorenz(x + dt * c[0], y + dt * c[1], z + dt * c[2])
        x = x + dt / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
        y = y + dt / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
        z = z + dt / 6 * (a[2] + 2 * b[2] + 2 * c[2] + d[2])
    return x, y, z


def runge_kutta_loops(x, y, z, dt, steps):
    x, y, z = x.copy(), y.copy(), z.copy()
    for i in prange(len(x)):
        p, q, r = x[i], y[i], z[i]
        for _ in range(steps):
            a = lorenz(p, q, r)
            b = lorenz(p + dt / 2 * a[0], q + dt / 2 * a[1], r + dt / 2 * a[2])
            c = lorenz(p + dt / 2 * b[0], q + dt / 2 * b[1], r + dt / 2 * b[2])
            d = lorenz(p + dt * c[0], q + dt * c[1], r + dt * c[2])
            p = p + dt / 6 * (a[0] + 2 * b[0] + 2 * c[0] + d[0])
            q = q + dt / 6 * (a[1] + 2 * b[1] + 2 * c[1] + d[1])
            r = r + dt / 6 * (a[2] + 2 * b[2] + 2 * c[2] + d[2])
        x[i], y[i], z[i] = p, q, r
    return x, y, z


def runge_kutta_jax(x, y, z, dt, steps):
    return lax().fori_loop(0, steps, lambda _, s: runge_kutta(s[0], s[1], s[2], dt, 1), (x, y, z))


def many_systems(size, rng):
    return rng.random(size), rng.random(size), 20.0 + rng.random(size), 0.005, 20


def pendulum(angle, speed, dt, steps):
    """One damped pendulum: a loop of scalars, and the path that they leave."""
    path = np.zeros(steps)
    for step in range(steps):
        speed = speed - dt * (0.1 * speed + np.sin(angle))
        angle = angle + dt * speed
        path[step] = angle
    return path


def pendulum_jax(angle, speed, dt, steps):
    def step(state, _):
        angle, speed = state
        speed = speed - dt * (0.1 * speed + jnp().sin(angle))
        angle = angle + dt * speed
        return (angle, speed), angle

    return lax().scan(step, (angle, speed), None, length=steps)[1]


def spectral_step(u, viscosity, dt):
    """One step of the heat equation in Fourier's space, on a circle."""
    n = len(u)
    waves = 2 * np.pi * np.fft.rfftfreq(n, 1.0 / n)
    return np.fft.irfft(np.fft.rfft(u) * np.exp(-viscosity * dt * waves * waves), n)


def circle(size, rng):
    return rng.standard_normal(size), 1e-4, 0.1


def goertzel(signal, waves):
    """The power of a few frequencies, by sums of products with sines and cosines."""
    phase = 2 * np.pi / len(signal) * waves[:, np.newaxis] * np.arange(len(signal))
    return (signal * np.cos(phase)).sum(axis=1) ** 2 + (signal * np.sin(phase)).sum(axis=1) ** 2


def goertzel_loops(signal, waves):
    result = np.empty(len(waves))
    for k in prange(len(waves)):
        even, odd = 0.0, 0.0
        for i in range(len(signal)):
            phase = 2 * np.pi / len(signal) * waves[k] * i
            even += signal[i] * math.cos(phase)
            odd += signal[i] * math.sin(phase)
        result[k] = even * even + odd * odd
    return result


def signal_and_waves(size, rng):
    return rng.standard_normal(size), np.arange(1.0, 17.0)


PROGRAMS = (
    Program(
        "Mandelbrot",
        MANDELBROT,
        escape_times,
        plane,
        (32, 300, 900),
        loops=escape_times_loops,
        jax=escape_times_jax,
    ),
    Program(
        "Mandelbrot, by points",
        MANDELBROT,
        escape_times_real,
        axes,
        (8, 40, 120),
        loops=escape_times_real_loops,
        jax=escape_times_real_jax,
    ),
    Program(
        "Runge-Kutta",
        STEPS,
        runge_kutta,
        many_systems,
        (512, 50_000, 500_000),
        1e-10,
        loops=runge_kutta_loops,
        jax=runge_kutta_jax,
    ),
    Program(
        "pendulum",
        STEPS,
        pendulum,
        lambda size, rng: (2.0 + 0.1 * rng.random(), 0.0, 0.01, size),
        (100, 10_000, 100_000),
        1e-9,
        parallel=False,
        jax=pendulum_jax,
    ),
    Program("spectral step", STEPS, spectral_step, circle, (1_024, 262_144, 2_097_152), 1e-11),
    Program("Fourier sums", STEPS, goertzel, signal_and_waves, (256, 20_000, 200_000), 1e-9, loops=goertzel_loops),
)
