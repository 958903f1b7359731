"""Lengths that only a run knows: programs in which they come up, beside NumPy, and with poison beyond every length."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import differences

Maker = Callable[[np.random.Generator], tuple[Any, ...]]
PROGRAMS: list[tuple[Callable[..., Any], Maker]] = []


def given(maker: Maker) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A program of the arguments that a maker draws."""

    def put(program: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((program, maker))
        return program

    return put


def vector(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=12),)


def two(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=12), rng.normal(size=9)


def matrix(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(11, 10)),)


def system(rng: np.random.Generator) -> tuple[Any, ...]:
    a = rng.normal(size=(11, 11))
    return a @ a.T + 11 * np.eye(11), rng.normal(size=11)


def rows(rng: np.random.Generator) -> tuple[Any, ...]:
    starts = np.sort(rng.integers(0, 16, 12))
    return starts, rng.integers(0, 8, 16), rng.normal(size=16), rng.normal(size=8)


# Bounds that a loop decides


@given(system)
def cholesky(a, _):
    n = a.shape[0]
    low = np.zeros_like(a)
    for j in range(n):
        low[j, j] = np.sqrt(a[j, j] - low[j, :j] @ low[j, :j])
        low[j + 1 :, j] = (a[j + 1 :, j] - low[j + 1 :, :j] @ low[j, :j]) / low[j, j]
    return low


@given(system)
def lu_by_outer(a, _):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


@given(system)
def lu_by_slices(a, _):
    for k in range(len(a) - 1):
        a[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k : k + 1, k + 1 :]


@given(system)
def gauss(a, b):
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            row = a[k].copy()
            a[k] = a[p]
            a[p] = row
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            m = a[i, k] / a[k, k]
            a[i, k:] -= m * a[k, k:]
            b[i] -= m * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@given(matrix)
def gram_schmidt(a):
    q = a.copy()
    for j in range(a.shape[1]):
        v = a[:, j] - q[:, :j] @ (q[:, :j].T @ a[:, j])
        q[:, j] = v / np.linalg.norm(v)
    return q


@given(vector)
def statistics_of_both_sides(x):
    out = np.zeros((4, len(x)))
    for i in range(1, len(x)):
        out[0, i] = x[:i].max() - x[i:].min()
        out[1, i] = x[:i].mean() + np.std(x[i:])
        out[2, i] = np.argmax(x[:i]) + np.argmin(x[i:]) + np.count_nonzero(x[:i] > 0)
        out[3, i] = np.prod(x[:i]) + np.any(x[i:] > 1) + np.all(x[:i] < 2) + x[:i].cumsum()[-1]
    return out


@given(vector)
def steps_and_reverses(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = (x[i::-1] * np.arange(len(x))[: i + 1]).sum() + x[i::2].sum() + x[:i:-2].sum() + x[i:][::-1][0]
    return out


@given(vector)
def bounds_from_the_end(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = x[-i - 1 :].sum() + x[: -i - 1].sum() + x[-i:].sum() + x[i - 3 : i].sum()
    return out


@given(vector)
def windows(x):
    out = np.zeros((2, len(x)))
    for i in range(len(x) - 2):
        out[0, i] = x[i : i + 3].sum()
        out[1, i] = x[max(i - 1, 0) : i + 2].sum()
    return out


@given(vector)
def insertion_sort(x):
    for i in range(1, len(x)):
        k = np.searchsorted(x[:i], x[i])
        v = x[i]
        x[k + 1 : i + 1] = x[k:i]
        x[k] = v


@given(vector)
def levinson(r):
    a = np.zeros(12)
    a[0] = 1.0
    e = r[0]
    for i in range(1, 12):
        k = -np.dot(r[1 : i + 1][::-1], a[:i]) / e
        a[1 : i + 1] += k * a[:i][::-1]
        e = e * (1 - k * k)
    return a


@given(vector)
def longest_increasing(x):
    best = np.ones(len(x), dtype=np.int64)
    for i in range(1, len(x)):
        best[i] = 1 + np.max(np.where(x[:i] < x[i], best[:i], 0))
    return best


@given(vector)
def writes_through_views(x):
    for i in range(len(x)):
        t = x[i:]
        t += 1
        t[0] *= 2
        t[-1] -= x[i]
        x[i:][::-1][:2] = i
        x[i:].sort()
    return x[:3]


@given(vector)
def one_element_is_repeated(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = (x[:i] + x[i : i + 1]).sum() + (x[:1] * x[i:]).sum()
    return out


@given(matrix)
def rows_get_shorter(a):
    for i in range(len(a)):
        a[i, i:] = a[i, : 10 - i][::-1] if i < 10 else a[i, i:]
        a[i:, 0] += a[i:].sum(axis=1) + a[i:].T.mean(axis=0)


@given(vector)
def a_slice_out_of_reach(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i + 10 :].sum() + x[5 * i : 5 * i + 3].sum() + x[i:3].sum()
    return total


@given(vector)
def last_of_nothing(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i + 1 :][0]
    return total


@given(vector)
def greatest_of_nothing(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i + 1 :].max()
    return total


@given(vector)
def lengths_that_differ(x):
    total = 0.0
    for i in range(len(x)):
        total += (x[:i] * x[i:]).sum()
    return total


# Bounds that elements decide


@given(rows)
def sparse_product(starts, columns, elements, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        part = slice(starts[i], starts[i + 1])
        y[i] = elements[starts[i] : starts[i + 1]] @ x[columns[part]] + len(columns[part])
    return y


@given(rows)
def segments_are_written(starts, columns, elements, x):
    for i in range(len(starts) - 1):
        elements[starts[i] : starts[i + 1]] -= elements[starts[i] : starts[i + 1]].sum()
        elements[starts[i] - 3 : starts[i]] = 0
    return elements[starts[3] :], columns[: starts[4]]


@given(rows)
def turns_of_a_length(starts, columns, elements, x):
    total = 0.0
    for part in elements[starts[2] : starts[9]]:
        total = total + part * part
    for i in range(len(elements[: starts[5]])):
        total -= elements[i]
    return total


# Masks


@given(vector)
def picked(x):
    found = x[x > 0]
    return found, len(found), found.size, found.shape[0], found.mean(), found * 2, np.sort(found), found[-1]


@given(vector)
def picked_and_written(x):
    m = x > 0.3
    x[m] = x[m] * 2 + 1
    x[x > 0] -= x[x > 0].mean()
    x[~m] += x[~m]
    return x[m].max(), x[~m].min(), x[m].argmax(), np.argsort(x[m])


@given(lambda rng: (rng.normal(size=(6, 5)),))
def rows_and_columns_picked(a):
    return a[a[:, 0] > 0], a[:, a[0] > 0], a[a > 0], a[a[:, 0] > 0].sum(axis=0), a[a[:, 1] > 0].mean(axis=1)


@given(lambda rng: (rng.normal(size=12), np.array([3, 4])))
def one_element_under_a_mask(x, p):
    x[x > 1] = x[p[0] : p[1]]
    x[x < -1] = x[x == x.max()]
    return x


@given(vector)
def places(x):
    (i,) = np.nonzero(x > 0)
    return i, x[i], np.take(x, i), i.sum()


@given(lambda rng: (rng.normal(size=(4, 3, 5)),))
def places_along_axes(a):
    i, j, k = np.where(a > 0)
    return i.sum(), j[-1], k.max(), len(i)


@given(vector)
def medians_and_distinct(x):
    return np.median(x[x > 0]), np.median(x[1:][x[1:] < 0]), np.unique(np.round(x)), np.argwhere(x > 0)


@given(vector)
def quantiles(x):
    picked, single = x[x > 0], x[x < 0].astype(np.float32)
    parts = np.array([0.0, 0.3, 1.0])
    return (
        np.percentile(picked, [10, 50, 99.5]),
        np.quantile(single, 0.25),
        np.quantile(single, parts),
        np.median(single),
    )


@given(two)
def joined(x, y):
    return np.concatenate([x[x > 0], y[y > 0.2], x[:2]]), np.concatenate((y, x[x < 0]))


@given(lambda rng: (np.repeat(rng.integers(0, 3, 12), rng.integers(1, 4, 12)), rng.normal(size=20)))
def runs_and_what_is_put_around(m, x):
    ends = np.flatnonzero(m[1:] != m[:-1]) + 1
    starts = np.insert(ends, 0, 0)
    picked = x[x > 0]
    return (
        np.diff(np.append(starts, len(m))),
        np.r_[0, ends, len(m), 2.5],
        np.append(picked[:2], [[1, 2], [3, 4]]),
        np.insert(picked, -1, 7),
        np.delete(picked, 0),
        np.delete(picked, -1),
        np.insert(picked, 1, 7, axis=-1),
        np.delete(picked, 1, axis=-1),
        np.pad(picked, (2, 1), constant_values=1.5),
        np.pad(ends, 1),
    )


@given(vector)
def repeated_and_moved(x):
    y = x[x > 0]
    return np.repeat(y, 3), np.tile(y, 2), np.roll(y, 2), np.roll(y, -1), np.roll(x[x > 9], 1), np.flip(y), y[::-1]


@given(vector)
def stacked(x):
    y = x[x > 0]
    z = y * 2
    rows = np.stack([y, z]), np.vstack((y, z)), np.column_stack([y, z]), np.stack((y, z), axis=-1), np.c_[y, z]
    return *rows, np.hstack([y, x, z]), np.hstack((y > 1, z))


@given(vector)
def a_place_that_is_not_there(x):
    return np.insert(x[x > 9], 1, 0)


@given(vector)
def a_last_one_that_is_not_there(x):
    return np.delete(x[x > 9], -1)


@given(lambda rng: (rng.normal(size=6), np.array([2, 0, 1, 0, 1, 0])))
def one_picked_is_repeated(x, m):
    return x[m > 0] + x[m > 1], x[m > 1] * x[m > 0], x[m > 5]


@given(vector)
def different_numbers_picked(x):
    return x[x > 0] + x[x > 1]


@given(lambda rng: (rng.normal(size=30), np.linspace(-2, 2, 12)))
def histogram_and_means(x, edges):
    out = np.zeros(len(edges) - 1)
    for i in range(len(edges) - 1):
        chosen = x[(x >= edges[i]) & (x < edges[i + 1])]
        out[i] = len(chosen)
        if chosen.size > 0:
            out[i] += chosen.mean()
    return out


@given(lambda rng: (rng.normal(size=(20, 2)), rng.integers(0, 10, 20), rng.normal(size=(10, 2))))
def means_of_clusters(x, labels, centres):
    for k in range(len(centres)):
        members = x[labels == k]
        if len(members) > 0:
            centres[k] = members.mean(axis=0)
    return centres


@given(lambda rng: (rng.integers(-5, 5, 12), rng.random(12) > 0.5, rng.normal(size=12).astype(np.float32)))
def other_dtypes(n, b, f):
    total = 0
    for i in range(1, len(n)):
        total += n[:i].max() - n[i:].min() + b[:i].sum() + b[i:].any()
    return (
        total,
        n[n > 0].sum(),
        f[f > 0].sum(),
        f[f > 0].mean(),
        n[b].mean(),
        b[n > 0].all(),
        n[b].var(),
        n[n > 0].astype(float),
    )


@given(vector)
def picked_and_put_in_order(x):
    y = x[x > 0]
    z = y[np.argsort(y)]
    y[y > 0.5] += 1
    x[3:] = x[3:][np.argsort(x[3:])]
    return y, z, z[np.argsort(-z)[:2]], z[[0, -1]], z.reshape(-1, 1) * z


@given(vector)
def numbered(x):
    total = 0.0
    for i, v in enumerate(x[x > 0]):
        total += v * i
    for v, w in zip(x, x[x < 0], strict=False):
        total -= v * w
    return total


@given(vector)
def places_beyond(x):
    return x[x > 0][np.array([0, 11])]


# What was found by others


@given(lambda rng: (np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9], [-1, -1, -1]]),))
def rows_of_rows_are_written(a):
    A = a[a[:, 0] > 0]
    A[A[:, 1] > 4] = 0
    return A


@given(lambda rng: (5 * rng.normal(size=(9, 9)),))
def rows_of_a_view_are_written(a):
    for i in range(9):
        v = a[i - 8 :]
        v[v[:, 1] > 4] = 0
    return a


@given(lambda rng: (np.array([[1, 2, 3, 4, -2, -0.5], [1, 2, -3, 4, -2, -2]][rng.integers(2)]),))
def a_mask_of_another_length(x):
    y = x[x > 0]
    z = x[x < -1]
    y[z < 0] = 0
    return y


@given(vector)
def places_are_written(x):
    n = np.nonzero(x > 0)[0]
    x[n] += 1
    x[np.nonzero(x < 0)] = 5
    x[np.where(x > 1.5)] *= 2
    np.add.at(x, n, 1)
    return x[np.nonzero(x > 1)], n


@given(lambda rng: (rng.normal(size=(6, 6)),))
def places_of_rows_and_columns(a):
    i = np.nonzero(a[:, 0] > 0)[0]
    a[i] = 0
    a[i, 1] = 1
    a[:, i[:2]] -= 2
    r, c = np.nonzero(a > 0)
    return a[r, c], a[i, 1], a[:, i[:1]], a[np.nonzero(a > 1)]


@given(lambda rng: (rng.normal(size=12), rng.normal(size=12)))
def some_places_are_written(x, y):
    n = np.nonzero(x > 0)[0]
    y[n[:4]] = x[n[:4]]
    return y


@given(lambda rng: (np.array([0, 2, 3, 5, 6, 6, 8, 9, 9, 10, 11]), np.array([1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 0])))
def breadth_first(ptr, ix):
    n = len(ptr) - 1
    dist = np.full(n, -1)
    dist[0] = 0
    front = np.zeros(n, bool)
    front[0] = True
    for step in range(n):
        nxt = np.zeros(n, bool)
        for u in range(n):
            if front[u]:
                nxt[ix[ptr[u] : ptr[u + 1]]] = True
        nxt &= dist < 0
        dist[nxt] = step + 1
        front = nxt
    return dist


@given(lambda rng: (np.array([1, 2, -3, 4]),))
def powers_of_what_is_picked(n):
    y = n[n > 0]
    return 2 ** (y - 1)


@given(lambda rng: (rng.integers(-3, 5, 12),))
def powers_of_slices(n):
    t = 0
    for i in range(len(n)):
        t += (2 ** np.abs(n[i:])).sum()
    return t


@given(vector)
def clipped(x):
    y = x[x > 0]
    return np.clip(y, 0.2, 1), np.clip(y, 0.5, None), np.clip(y, None, 0.5), y.clip(0, 1)


@given(lambda rng: (rng.normal(size=(5, 3)),))
def transposed(a):
    A = a[a[:, 0] > 0]
    return np.transpose(A), A.T, A.transpose(1, 0)


@given(lambda rng: (rng.normal(size=12), np.array([2**63, 2**64 - 1], np.uint64)))
def bounds_beyond_int64(x, p):
    return x[p[0] :], x[: p[1]]


@given(vector)
def twice_the_same(x):
    y = x[x > 0]
    return y, y, x[2:]


@given(vector)
def lengths_are_printed(x):
    y = x[x > 0]
    print(len(y), y.max())
    return len(y)


@given(vector)
def as_many_as_there_are(x):
    k = np.argmax(x)
    return np.zeros(k), np.zeros(np.count_nonzero(x > 0)), x[k : k + 2]


@pytest.mark.parametrize("poison", [False, True], ids=["plain", "poison"])
@pytest.mark.parametrize(("program", "maker"), PROGRAMS, ids=[program.__name__ for program, _ in PROGRAMS])
def test_a_program_with_lengths(program: Callable[..., Any], maker: Maker, poison: bool) -> None:
    decorated = lamina.defn(program, strict=True, compiler="evaluator", poison=poison)
    for seed in range(3):
        arguments = maker(np.random.default_rng(seed))
        found = differences(program, decorated, lambda arguments=arguments: copy.deepcopy(arguments))
        assert not found, f"seed {seed}: {'; '.join(found)}"


STAGED = """
    cholesky lu_by_outer lu_by_slices gram_schmidt statistics_of_both_sides steps_and_reverses bounds_from_the_end
    windows insertion_sort levinson longest_increasing one_element_is_repeated sparse_product histogram_and_means
    means_of_clusters
"""


@pytest.mark.parametrize("name", STAGED.split())
def test_its_loop_is_one_node(name: str) -> None:
    """A graph is no larger for more turns."""
    program, maker = next((p, m) for p, m in PROGRAMS if p.__name__ == name)
    graph = lamina.trace(program, *maker(np.random.default_rng(0)))
    assert [node.op for node in graph.order].count("while") == 1


def test_a_length_that_is_proved_is_not_computed() -> None:
    def sums(x):
        y = np.zeros(len(x))
        for i in range(len(x) - 2):
            y[i] = x[i : i + 3].sum()
        return y

    ops = [node.op for node in lamina.tree.all_nodes(lamina.trace(sums, np.ones(20)).outputs)]
    assert not {"minimum", "maximum", "check", "where"} & set(ops)


def test_a_result_of_a_length_is_memory_of_its_own() -> None:
    x = np.array([1.0, -2.0, 3.0])
    found = lamina.defn(lambda x: x[x > 0], strict=True)(x)
    assert found.base is None and found.flags.owndata
    whole, part = lamina.defn(lambda x, p: (x, x[p[0] :]), strict=True)(x, np.array([1]))
    assert whole is x and np.shares_memory(part, x)
    part[:] = 9
    assert x.tolist() == [1, 9, 9]


def test_an_array_that_is_returned_twice_is_one_array() -> None:
    first, second, part, again = lamina.defn(twice_the_same, strict=True)(np.array([1.0, -2.0, 3.0]))[:2] * 2
    assert first is second and part is again


def test_the_text_of_an_array_of_a_length_is_not_made_up() -> None:
    for show in (lambda x: print(x[x > 0]), lambda x: str(x[x > 0].shape), lambda x: repr(x[x > 0])):
        with pytest.raises(lamina.errors.TraceError):
            lamina.defn(show, strict=True)(np.array([1.0, -2.0]))


def test_a_graph_returns_no_array_of_a_length() -> None:
    with pytest.raises(NotImplementedError, match="whose length a run alone knows"):
        lamina.trace(lambda x: x[x > 0], np.ones(3))


def lengths_under_a_mask(x, p):
    x[x > 0] = x[x < 0]


def values_under_a_mask(x, p):
    x[x > 0] = x[:2]


def into_a_slice(x, p):
    x[p[0] : p[1]] = x[:4]


DIFFER = "operands could not be broadcast together: their lengths along axis 0 differ"
AT_RUN_TIME = [
    (lambda x, p: x[x > 0] + x[x > 1.5], ValueError, DIFFER),
    (lambda x, p: x[p[0] : p[1]][5], IndexError, "index is out of bounds for axis 0"),
    (
        lambda x, p: x[p[1] : p[0]].max(),
        ValueError,
        "zero-size array to reduction operation maximum which has no identity",
    ),
    (lambda x, p: x[p[1] : p[0]].argmin(), ValueError, "attempt to get argmin of an empty sequence"),
    (
        lambda x, p: x[p[0] :] @ x[: p[1]],
        ValueError,
        "matmul: the operands differ in length along the axis that is summed",
    ),
    (lambda x, p: np.zeros(len(x[x > 0]) - 14), ValueError, "negative dimensions are not allowed"),
    (into_a_slice, ValueError, DIFFER),
    (lengths_under_a_mask, ValueError, "as many values as another mask or slice picks were assigned"),
    (
        values_under_a_mask,
        ValueError,
        "2 values were assigned under a mask that is true for another number of elements",
    ),
]
WHILE_TRACING = [
    (
        lambda x, p: np.nanmedian(x[x > 0]),
        "np.nanmedian: the length of <traced float64[16 at most]> needs the elements of <traced int64[]>",
    ),
    (
        lambda x, p: x[x > 0].tolist(),
        "the length of <traced float64[16 at most]> needs the elements of <traced int64[]>",
    ),
    (lambda x, p: x[p[0] :, None].reshape(2, -1), "lamina.reshape: the length of <traced float64[16 at most, 1]>"),
    (lambda x, p: x[:: p[0]], "lamina.getitem: an index, a length or range(…) needs the elements of <traced int64[]>"),
    (
        lambda x, p: np.zeros(p[0]),
        "lamina.zeros: an index, a length or range(…) needs the elements of <traced int64[]>",
    ),
]


def _line(program: Callable[..., Any]) -> str:
    code = program.__code__
    return f"{code.co_filename}:{code.co_firstlineno + (program.__name__ != '<lambda>')}"


@pytest.mark.parametrize(("program", "kind", "message"), AT_RUN_TIME)
def test_what_is_raised_at_run_time_names_the_line(program, kind, message) -> None:
    x, p = np.tile([1.0, -2.0, 3.0, 4.0], 4), np.array([2, 7])
    with pytest.raises(kind):
        program(x.copy(), p)
    with pytest.raises(kind) as raised:
        lamina.defn(program, strict=True)(x, p)
    assert str(raised.value).startswith(message)
    assert f"lamina: in check, {_line(program)}" in raised.value.__notes__[0]


@pytest.mark.parametrize(("program", "message"), WHILE_TRACING)
def test_what_is_raised_while_tracing_names_the_line(program, message) -> None:
    x, p = np.tile([1.0, -2.0, 3.0, 4.0], 4), np.array([2, 7])
    with pytest.raises(lamina.errors.ConcretizationError) as raised:
        lamina.defn(program, strict=True)(x, p)
    assert str(raised.value).startswith(message) and _line(program) in str(raised.value) and "Use " in str(raised.value)
