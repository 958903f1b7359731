"""Triangular and dynamic programs: each element needs those before it, by slices or by loops that carry scalars."""

import numpy as np

from .parts import jnp, lax
from .program import Program

GROUP = "triangular and dynamic programs"


def smoothed(x, weight):
    """Exponential smoothing: a loop that carries one number."""
    result = np.empty_like(x)
    level = x[0]
    for i in range(len(x)):
        level = weight * x[i] + (1.0 - weight) * level
        result[i] = level
    return result


def smoothed_jax(x, weight):
    def step(level, value):
        level = weight * value + (1.0 - weight) * level
        return level, level

    return lax().scan(step, x[0], x)[1]


def longest_run(x):
    """The longest run of rising values: numbers carried through branches."""
    longest = 1
    current = 1
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            current += 1
            if current > longest:
                longest = current
        else:
            current = 1
    return longest


def longest_run_jax(x):
    def step(state, rises):
        longest, current = state
        current = jnp().where(rises, current + 1, 1)
        return (jnp().maximum(longest, current), current), None

    one = jnp().int64(1)
    return lax().scan(step, (one, one), x[1:] > x[:-1])[0][0]


def edit_distance(a, b):
    """Levenshtein's distance, a row of the table at a time and scalars along it."""
    row = np.arange(len(b) + 1)
    for i in range(len(a)):
        diagonal = row[0]
        row[0] = i + 1
        for j in range(len(b)):
            above = row[j + 1]
            cheapest = min(above + 1, row[j] + 1, diagonal + (a[i] != b[j]))
            diagonal = above
            row[j + 1] = cheapest
    return row[-1]


def edit_distance_jax(a, b):
    def line(row, pair):
        i, letter = pair

        def cell(state, column):
            left, diagonal = state
            above, other = column
            cheapest = jnp().minimum(jnp().minimum(above + 1, left + 1), diagonal + (letter != other))
            return (cheapest, above), cheapest

        first = i + 1
        return jnp().concatenate([first[None], lax().scan(cell, (first, row[0]), (row[1:], b))[1]]), None

    return lax().scan(line, jnp().arange(len(b) + 1), (jnp().arange(len(a)), a))[0][-1]


def words(size, rng):
    return rng.integers(0, 4, size), rng.integers(0, 4, size)


def knapsack(weights, values, capacity):
    """The greatest value that fits: a row of the table at a time, by slices that the weight decides."""
    best = np.zeros(capacity + 1)
    for item in range(len(weights)):
        shifted = np.full(capacity + 1, -np.inf)
        shifted[weights[item] :] = best[: capacity + 1 - weights[item]] + values[item]
        best = np.maximum(best, shifted)
    return best[-1]


def knapsack_loops(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for item in range(len(weights)):
        for room in range(capacity, weights[item] - 1, -1):
            best[room] = max(best[room], best[room - weights[item]] + values[item])
    return best[-1]


def knapsack_jax(weights, values, capacity):
    rooms = jnp().arange(capacity + 1)

    def item(best, pair):
        weight, value = pair
        taken = jnp().where(rooms >= weight, best[jnp().maximum(rooms - weight, 0)] + value, -jnp().inf)
        return jnp().maximum(best, taken), None

    return lax().scan(item, jnp().zeros(capacity + 1), (weights, values))[0][-1]


def items(size, rng):
    return rng.integers(1, 50, size), rng.random(size), 20 * size


def sparse_product(starts, columns, values, x):
    """A sparse matrix in compressed rows times a vector: slices whose bounds are elements."""
    result = np.zeros(len(starts) - 1)
    for i in range(len(result)):
        row = slice(starts[i], starts[i + 1])
        result[i] = (values[row] * x[columns[row]]).sum()
    return result


def sparse_product_loops(starts, columns, values, x):
    result = np.zeros(len(starts) - 1)
    for i in range(len(result)):
        for k in range(starts[i], starts[i + 1]):
            result[i] += values[k] * x[columns[k]]
    return result


def sparse_product_jax(starts, columns, values, x):
    rows = jnp().searchsorted(starts, jnp().arange(len(values)), side="right") - 1
    return jnp().zeros(len(starts) - 1).at[rows].add(values * x[columns])


def sparse_matrix(size, rng):
    counts = rng.integers(0, 16, size)
    starts = np.concatenate([[0], counts.cumsum()])
    return starts, rng.integers(0, size, starts[-1]), rng.random(starts[-1]), rng.random(size)


def forward_substitution(lower, b):
    """The solution of a triangular system, a row at a time."""
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def forward_substitution_loops(lower, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        total = b[i]
        for j in range(i):
            total -= lower[i, j] * x[j]
        x[i] = total / lower[i, i]
    return x


def forward_substitution_jax(lower, b):
    def row(i, x):
        return x.at[i].set((b[i] - lower[i] @ x) / lower[i, i])

    return lax().fori_loop(0, len(b), row, jnp().zeros_like(b))


def triangular_system(size, rng):
    return np.tril(rng.random((size, size))) + size * np.eye(size), rng.random(size)


def cholesky(a):
    """The Cholesky factor, a column at a time."""
    n = len(a)
    lower = np.zeros_like(a)
    for j in range(n):
        lower[j, j] = np.sqrt(a[j, j] - (lower[j, :j] * lower[j, :j]).sum())
        lower[j + 1 :, j] = (a[j + 1 :, j] - (lower[j + 1 :, :j] * lower[j, :j]).sum(axis=1)) / lower[j, j]
    return lower


def cholesky_loops(a):
    n = len(a)
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(total) if i == j else total / lower[j, j]
    return lower


def cholesky_jax(a):
    rows = jnp().arange(len(a))

    def column(j, lower):
        rest = a[:, j] - lower @ lower[j]
        pivot = jnp().sqrt(rest[j])
        return lower.at[:, j].set(jnp().where(rows > j, rest / pivot, jnp().where(rows == j, pivot, 0.0)))

    return lax().fori_loop(0, len(a), column, jnp().zeros_like(a))


def positive_definite(size, rng):
    factor = rng.standard_normal((size, size))
    return (factor @ factor.T + size * np.eye(size),)


PROGRAMS = (
    Program(
        "exponential smoothing",
        GROUP,
        smoothed,
        lambda size, rng: (rng.random(size), 0.1),
        (256, 20_000, 200_000),
        parallel=False,
        jax=smoothed_jax,
    ),
    Program(
        "longest run",
        GROUP,
        longest_run,
        lambda size, rng: (rng.random(size),),
        (256, 20_000, 200_000),
        parallel=False,
        jax=longest_run_jax,
    ),
    Program("edit distance", GROUP, edit_distance, words, (16, 100, 300), parallel=False, jax=edit_distance_jax),
    Program("knapsack", GROUP, knapsack, items, (16, 200, 800), parallel=False, loops=knapsack_loops, jax=knapsack_jax),
    Program(
        "sparse product",
        GROUP,
        sparse_product,
        sparse_matrix,
        (64, 5_000, 50_000),
        loops=sparse_product_loops,
        parallel=False,
        jax=sparse_product_jax,
    ),
    Program(
        "forward substitution",
        GROUP,
        forward_substitution,
        triangular_system,
        (16, 200, 1_000),
        1e-10,
        loops=forward_substitution_loops,
        parallel=False,
        jax=forward_substitution_jax,
    ),
    Program(
        "Cholesky by columns",
        GROUP,
        cholesky,
        positive_definite,
        (16, 100, 300),
        1e-10,
        loops=cholesky_loops,
        parallel=False,
        jax=cholesky_jax,
    ),
)
