"""Variables whose dtype or shape elements decide: decorated, each program is the undecorated one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.errors import TraceError
from tests.support.undecorated import assert_agrees

Maker = Callable[[], tuple[Any, ...]]


def cases(*dtypes: Any) -> list[Maker]:
    """Makers of arrays of these dtypes, with a positive first element and with a negative one."""

    def maker(sign: int) -> Maker:
        return lambda: tuple((sign * np.array([1.0, -2, 3, -4])).astype(dtype) + k for k, dtype in enumerate(dtypes))

    return [maker(1), maker(-1)]


BOTH = cases("f8", "f4")
ONE = cases("f8")
INTEGERS = cases("i4", "i8")


def test_arrays_of_two_dtypes() -> None:
    def returned(a, b):
        return a if a[0] > 0 else b

    def computed(a, b):
        c = a if a[0] > 0 else b
        d = c * 2 + b
        return d, -c, abs(c), c @ b, c.sum(), c.mean(axis=0), np.maximum(c, 0.5), c > 1, c.T

    def numpys(a, b):
        c = a if a[0] > 0 else b
        return np.stack([c, b]), np.where(c > 0, c, 1), np.zeros_like(c), c.astype(np.float32), np.sum(c, keepdims=True)

    def static(a, b):
        c = a if a[0] > 0 else b
        return isinstance(c, np.ndarray), len(c), c.shape, c.ndim, c.dtype == np.float32, c is a, c is not a

    def followed(a, b):
        c = a if a[0] > 0 else b
        if c.sum() > 0:
            c = c + 1
        elif c[1] > 0:
            return c * 3
        for i in range(12):
            b[i % 4] += c[i % 4]
        return c if c[0] > 1 else c[::2]

    for program in (returned, computed, numpys, static, followed):
        assert_agrees(program, *BOTH, *INTEGERS)


def test_arrays_of_two_shapes() -> None:
    def reduced(a):
        if a.sum() > 0:
            return a.sum()
        return a

    def resized(a):
        b = a
        if a[0] > 0:
            b = a[1:3]
        c = b * 2
        n = 0
        for i in range(len(b)):
            n += i
        return b, c.sum(), n, b.shape[0] * 2, b.reshape(1, -1), b[0]

    def raised(a):
        b = a[:3] if a[0] > 0 else a
        return a + b

    def of_three(a):
        if a[0] > 0:
            b = a.reshape(2, 2)
        elif a[1] > 3:
            b = a[:3]
        else:
            b = a
        b *= 2
        return b.sum(), b

    for program in (reduced, resized, raised, of_three):
        assert_agrees(program, *ONE, lambda: (np.array([-1.0, 5, 0, 0]),))


def test_a_write_reaches_the_array_that_a_variable_is() -> None:
    def written(a, b):
        c = a if a[0] > 0 else b
        c[0] = 100
        c[1:] += 1
        a *= 2
        d = c[::-1]
        d[0] = 7
        return c, d, a + b

    def through_both(a, b):
        c, d = (a, b) if a[0] > 0 else (b, a)
        c += 1
        d -= c
        c[:2] = d[2:]
        return c, d

    def fresh(a, b):
        if a[0] > 0:
            c = a * 2
            d = c
        else:
            c = b * 3
            d = a * 4
        c[0] = 9
        d[1] = 8
        return c, d

    def inside(a, b):
        c = a if a[0] > 0 else b
        if a[1] > 0:
            c[2] = 50
        else:
            c = c[1:]
        c[0] = 60
        return c

    for program in (written, through_both, fresh, inside):
        assert_agrees(program, *BOTH, lambda: (np.ones(4), np.ones(4, np.float32)))


def test_memory_that_branches_make_is_shared_as_they_share_it() -> None:
    def left(a):
        if a[0] > 0:
            x = a + 1
            y = x
        else:
            x = a + 2
            y = a + 3
        y[0] = 7
        return x, y

    def views(a):
        x = y = a
        if a[0] > 0:
            z = a * 2
            x, y = z[:2], z[1:3]
        else:
            x, y = x[:2], x[:2]
        x += 10
        return x, y

    def exchanged(a):
        x, y = a * 2, a * 3
        if a[0] > 0:
            x, y = y, x
            z = x
        else:
            z = a * 4
        z[1] = 5
        return x, y, z

    for program in (left, views, exchanged):
        assert_agrees(program, *ONE)


def test_nothing_of_a_branch_is_computed_where_it_is_not_taken() -> None:
    def taken(a, i):
        b = a
        if i < 4:
            b = np.take(a, [i, i])
        return b

    def chosen(a, i):
        b = a
        if i < 4:
            b = a[:] if a[i] > 0 else a[::-1]
        return b

    def number(a, i):
        b = a
        if i < 4:
            b = a[i]
        return b

    for program in (taken, chosen, number):
        makers = [lambda make=make, i=i: (*make(), np.int64(i)) for make in ONE for i in (0, 3, 4, 9)]
        assert_agrees(program, *makers)


def test_numbers_that_decide_a_dtype() -> None:
    def weighted(a, b):
        factor = 0
        if a[0] > 0:
            factor = a[0]
        return factor * b, b - factor, np.maximum(factor, b), np.add(b, factor, dtype=np.float64)

    def divided(a, b):
        k = 3
        if a[0] > 0:
            k = a[0]
        return k / 2, k // 2, k % 2, k**2, 7 / k, -k, k > 2, float(k), abs(k)

    def counted(a, b):
        k = 1
        for i in range(4):
            if a[i] > 0:
                k += b[i]
        return b * k, k

    def written(a, b):
        k = 2
        if a[0] > 0:
            k = a[1]
        b *= k
        b[1] = k
        b[2:] += k
        return b

    for program in (weighted, divided, counted, written):
        assert_agrees(program, *BOTH, *INTEGERS, *cases("i8", "f4"))


def test_variants_in_functions_and_containers() -> None:
    def scaled(x, by):
        y = x * by
        return (y, y.sum()) if y.ndim else (y, y)

    def program(a, b):
        c = a if a[0] > 0 else b
        box = [c]
        box.append(c)
        named = {"c": c}
        named["d"] = box[1] * 2
        first, total = scaled(c, 2)
        pair = (c, first)
        print(f"{c.sum():.1f}", total)
        return box, named, pair[1], total

    assert_agrees(program, *BOTH)


def test_an_error_in_one_case() -> None:
    def program(a, b):
        c = a if a[0] > 0 else b[:2]
        c += 1
        return c[3]

    def cast(a, b):
        c = a if a[0] > 0 else b
        c += 0.5
        return c

    assert_agrees(program, *BOTH)
    assert_agrees(cast, *cases("f8", "i4"))


def test_what_one_test_decides_is_known_together() -> None:
    def program(a, b):
        c, d = (a, a) if a[0] > 0 else (b[:2], b[:2] * 2)
        return c + d  # of the same length, or not at all

    assert_agrees(program, *BOTH)
    nodes = lamina.tree.all_nodes(lamina.trace(lambda a, b: program(a, b).sum(), *BOTH[0]()).outputs)
    assert [node.op for node in nodes].count("add") == 2


def test_branches_one_after_the_other_grow_by_what_they_hold() -> None:
    def nested(a: Any, b: Any, turns: list[int]) -> Any:
        c, d = a, b
        for k in turns:
            if a[k % 4] > 0:
                c, d = d, c
            else:
                c[0] += 1
            c = c + 1 if d[k % 4] > k else c
        return c.sum() + d.sum()

    for maker in BOTH:
        assert_agrees(nested, lambda maker=maker: (*maker(), [0, 1, 2, 3] * 3))

    def exchanged(a: Any, b: Any, turns: list[int]) -> Any:
        c, d = a, b
        for k in turns:
            if a[k % 4] > 0:
                c, d = d, c
            c[0] += d[1]
        return c.sum() + d.sum()

    def size(turns: int) -> int:
        return len(lamina.tree.all_nodes(lamina.trace(exchanged, *BOTH[0](), [*range(turns)]).updates))

    assert size(40) - size(30) == size(30) - size(20)


def test_what_has_no_place_in_a_graph() -> None:
    def program(x):
        return x.sum() if x[0] > 0 else x

    with pytest.raises(TypeError, match=r"program returned float64\[\] or float64\[4\], as elements decide"):
        lamina.trace(program, np.ones(4))


def test_what_a_library_cannot_take() -> None:
    def program(x):
        y = x.sum() if x[0] > 0 else x
        return [each for each in y]  # noqa: C416  it is iterated over

    with pytest.raises(TraceError, match="a run alone tells the dtype or the shape"):
        lamina.defn(program, strict=True)(np.ones(4))
