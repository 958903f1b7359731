"""Cells: what an in-place write reaches, through views, aliases and arguments; decorated, each program is NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees


def cube() -> np.ndarray:
    return np.arange(24.0).reshape(2, 3, 4)


def orders(x: np.ndarray) -> list[Callable[[], np.ndarray]]:
    """The same elements in memory of every order."""
    wide = tuple(2 * n for n in x.shape)
    steps = (slice(None, None, 2),) * x.ndim
    back = (slice(None, None, -1),) * x.ndim

    def strided() -> np.ndarray:
        padded = np.zeros(wide)
        padded[steps] = x
        return padded[steps]

    return [
        lambda: x.copy(),
        lambda: np.asfortranarray(x),
        strided,
        lambda: np.ascontiguousarray(x[back])[back],
        lambda: np.ascontiguousarray(x.transpose(1, 0, 2)).transpose(1, 0, 2) if x.ndim == 3 else x.T.copy().T,
    ]


# Writes through views

VIEWS: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: x,
    "empty key": lambda x: x[()],
    "ellipsis": lambda x: x[...],
    "row": lambda x: x[1],
    "last": lambda x: x[-1, -1],
    "one element": lambda x: x[1, 2, 3, ...],
    "slice": lambda x: x[:, 1:, ::2],
    "negative step": lambda x: x[::-1, :, ::-2],
    "nothing": lambda x: x[:, 2:2],
    "new axis": lambda x: x[:, None, 1],
    "transposed": lambda x: x.T,
    "permuted": lambda x: x.transpose(1, 2, 0),
    "swapped": lambda x: np.swapaxes(x, 0, 2),
    "moved": lambda x: np.moveaxis(x, 0, -1),
    "reshaped": lambda x: x.reshape(6, 4),
    "reshaped row": lambda x: x[1].reshape(-1),
    "ravel": lambda x: x.ravel(),
    "ravel of the transposed": lambda x: x.T.ravel(),
    "ravel in Fortran order": lambda x: x.ravel("F"),
    "flattened by NumPy": lambda x: np.ravel(x),
    "squeezed": lambda x: np.squeeze(x[:1]),
    "expanded": lambda x: np.expand_dims(x, 1),
    "diagonal of a slice": lambda x: x[0].T[:, 1],
    "view of a view": lambda x: x[1:].T[1:3].reshape(2, 3)[:, ::2],
    "half of a split": lambda x: np.split(x, 2, axis=2)[1],
    "flipped": lambda x: np.flip(x, 1),
    "at least": lambda x: np.atleast_3d(x[0]),
    "copy": lambda x: x.copy(),
    "flattened": lambda x: x.flatten(),
    "taken": lambda x: x.reshape(6, 4)[[0, 5]],
    "masked by a constant": lambda x: x.reshape(6, 4)[np.arange(6) > 3],
    "cast": lambda x: x.astype(float),
    "computed": lambda x: x + 0,
    "real": lambda x: x.real,
    "array of it": lambda x: np.array(x),
    "asarray of it": lambda x: np.asarray(x),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through_a_view(name: str) -> None:
    view = VIEWS[name]

    def program(x):
        before = x.sum()
        v = view(x)
        v[...] = -1
        v += 2
        seen = x * 10
        if v.size:
            v.reshape(-1)[0] = 7
        x[0, 0, 0] = 100
        return before, seen, v, v * 2, x.sum()

    assert_agrees(program, *((lambda make=make: (make(),)) for make in orders(cube())))


@pytest.mark.parametrize(
    "outer", ["row", "slice", "negative step", "transposed", "permuted", "reshaped", "ravel", "copy"]
)
@pytest.mark.parametrize("inner", ["all", "transposed", "ravel", "negative step", "last"])
def test_a_write_through_a_view_of_a_fresh_array(outer: str, inner: str) -> None:
    first = {**VIEWS, "last": lambda x: x[-1:], "negative step": lambda x: x[::-1]}[outer]
    second = {**VIEWS, "last": lambda x: x[-1:], "negative step": lambda x: x[::-1]}[inner]

    def program(x):
        y = x * 2 + x.sum(axis=-1, keepdims=True)
        v = first(y)
        w = second(v)
        w[...] = w + 1
        w *= 2
        v -= 1
        return y, v, w

    assert_agrees(program, *((lambda make=make: (make(),)) for make in orders(cube())))


def test_what_is_written_casts_and_broadcasts_as_numpys() -> None:
    def program(x, i, f):
        i[0] = 2.9
        i[1] = x[1]
        i[:, 1] = x[:, 0] * 3.7
        f[...] = i
        f[0] = True
        x[1:] = 7
        x[0] = i[0, 0]
        x[:, :, None] = f[:, :, None]
        i[...] = [[1, 2], [3, 4]]
        return x.dtype == i.dtype

    assert_agrees(
        program, lambda: (np.array([[1.5, -2.5], [3.25, -4.75]]), np.zeros((2, 2), int), np.ones((2, 2), np.float32))
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(5, 0),
        lambda x: x.__setitem__((0, -4), 0),
        lambda x: x.__setitem__((0, 0, 0), 0),
        lambda x: x.__setitem__(slice(None), np.ones(4)),
        lambda x: x.__setitem__(0, np.ones((2, 3))),
        lambda x: x.__iadd__(np.ones((2, 2, 3))),
        lambda x: np.broadcast_to(x, (2, 2, 3)).__iadd__(1),
        lambda x: x.__setitem__("a", 1),
        lambda x: x[0].__setitem__(0, 10**30) if x.dtype == int else x.__setitem__(3, 0),
    ],
    ids=lambda _: "",
)
def test_a_write_that_does_not_fit_raises_as_numpy_does(write) -> None:
    def program(x):
        x[0, 0] = 50
        write(x)
        x[0, 1] = 60

    assert_agrees(program, lambda: (np.ones((2, 3)),), lambda: (np.ones((2, 3), int),))


def test_augmented_writes_follow_the_same_kind_rule() -> None:
    def wide(x, y):
        x += y

    pairs = [(np.int64, np.float64), (np.float32, np.float64), (np.int8, np.int64), (np.uint8, np.int8), (bool, int)]
    for left, right in [*pairs, *(pair[::-1] for pair in pairs)]:
        assert_agrees(wide, lambda left=left, right=right: (np.ones(3, left), np.ones(3, right)))
    for number in (2, 2.5, True):
        assert_agrees(wide, lambda number=number: (np.ones(3, np.int8), number))
        assert_agrees(wide, lambda number=number: (np.ones(3, np.float32), number))

    def operators(x, i):
        x -= 1
        x *= 3
        x /= 7
        x //= 0.1
        x %= 0.7
        x **= 2
        i <<= 2
        i |= 1
        i &= 0xFD
        i ^= 8
        i >>= 1
        i //= 2

    assert_agrees(operators, lambda: (np.arange(4.0), np.arange(4)))

    def matmul(x, y):
        x @= y

    assert_agrees(matmul, lambda: (np.arange(4.0).reshape(2, 2), np.ones((2, 2))))


# Overlapping writes


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(slice(1, None), x[:-1]),
        lambda x: x.__setitem__(slice(None, -1), x[1:]),
        lambda x: x.__setitem__(slice(None, None, -1), x),
        lambda x: x.__setitem__(slice(None), x[::-1] * 2),
        lambda x: x.__setitem__(slice(2, 6), x[0:8:2]),
        lambda x: x[::-1].__iadd__(x),
        lambda x: x[1:].__iadd__(x[:-1]),
        lambda x: x[:-1].__imul__(x[1:]),
        lambda x: x.reshape(2, 4).__iadd__(x.reshape(2, 4)[::-1]),
        lambda x: x.reshape(2, 4).__setitem__(..., x.reshape(4, 2).T),
        lambda x: x.__setitem__([0, 1, 2], x[[2, 0, 1]]),
        lambda x: x.__iadd__(x[0]),
        lambda x: x.__imul__(x[1:2]),
    ],
    ids=lambda _: "",
)
def test_a_write_whose_value_overlaps_it(write) -> None:
    def program(x):
        write(x)
        return x[0]

    assert_agrees(program, lambda: (np.arange(1.0, 9.0),), lambda: (np.arange(1, 17)[::2],))


def test_exchanges_of_parts() -> None:
    def rows(x):
        x[0], x[1] = x[1], x[0]  # views: both rows end as the second

    def copies(x):
        x[0], x[1] = x[1].copy(), x[0].copy()

    def elements(x):
        x[0, 0], x[1, 1] = x[1, 1], x[0, 0]  # scalars: an exchange

    def fancy(x):
        x[[0, 1]] = x[[1, 0]]

    for program in (rows, copies, elements, fancy):
        assert_agrees(program, lambda: (np.arange(6.0).reshape(2, 3),))


# Arguments


def shared(base: np.ndarray, parts: Callable[[np.ndarray], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Arrays that are parts of one memory."""
    return parts(base)


def halves(n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    b = np.arange(float(n))
    return b[:-1], b[1:]


ALIASES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "apart": lambda: (np.arange(7.0), np.arange(7.0) + 1),
    "shifted": halves,
    "the same": lambda: shared(np.arange(7.0), lambda b: (b, b)),
    "equal views": lambda: shared(np.arange(8.0), lambda b: (b[1:], b[1:])),
    "reversed": lambda: shared(np.arange(7.0), lambda b: (b, b[::-1])),
    "interleaved": lambda: shared(np.arange(14.0), lambda b: (b[::2], b[1::2])),
    "columns": lambda: shared(np.arange(14.0).reshape(7, 2), lambda b: (b[:, 0], b[:, 1])),
    "row and column": lambda: shared(np.arange(49.0).reshape(7, 7), lambda b: (b[3], b[:, 3])),
    "diagonal": lambda: shared(np.arange(49.0).reshape(7, 7), lambda b: (b.reshape(-1)[::8], b[6])),
    "touching": lambda: shared(np.arange(14.0), lambda b: (b[:7], b[7:])),
}


def one_writes(x, y):
    x *= 2
    y += x
    return x + y


def both_write(x, y):
    for _ in range(9):
        x[1:] = y[:-1]
        y[0] = x.sum()
    return x[::-1], y[2:]


def a_branch_writes(x, y):
    z = x if x[0] > y[0] else y
    z[1] = 100
    x[2] = y[1]
    return z


@pytest.mark.parametrize("name", ALIASES)
@pytest.mark.parametrize("program", [one_writes, both_write, a_branch_writes], ids=lambda p: p.__name__)
def test_arguments_that_share_memory(name: str, program) -> None:
    assert_agrees(program, ALIASES[name])


def test_one_function_takes_every_aliasing() -> None:
    assert_agrees(one_writes, *ALIASES.values())


def test_two_dimensional_arguments_that_share_memory() -> None:
    def program(x, y):
        x *= 2
        y += x.T if x.shape[0] == x.shape[1] else x
        return x + y

    def parts(*keys):
        def make():
            b = np.arange(30.0).reshape(5, 6)
            return tuple(b[key] for key in keys)

        return make

    assert_agrees(
        program,
        parts(np.s_[1:, :-1], np.s_[:-1, 1:]),
        parts(np.s_[:4, :4], np.s_[1:, 2:]),
        parts(np.s_[::2], np.s_[::2]),
        parts(np.s_[:, ::2], np.s_[:, 1::2]),
        lambda: shared(np.arange(9.0).reshape(3, 3), lambda b: (b, b.T)),
    )


def test_three_arguments_of_which_two_share_memory() -> None:
    def program(a, b, c):
        a += b
        c[...] = a
        b -= c
        return a, b

    base = np.arange
    assert_agrees(
        program,
        lambda: shared(base(6.0), lambda m: (m[:4], base(4.0), m[2:])),
        lambda: shared(base(6.0), lambda m: (base(4.0), m[:4], m[2:])),
        lambda: shared(base(6.0), lambda m: (m[:4], m[1:5], m[2:])),
        lambda: (base(4.0), base(4.0), base(4.0)),
    )


def test_containers_of_arguments_that_share_memory() -> None:
    def program(pair, named):
        pair[0][0] = 5
        named["y"][1:] += pair[0][:-1]
        return pair[1].sum(), named

    def make():
        b = np.arange(6.0)
        return (b, b[1:]), {"y": b[::-1], "z": np.ones(2)}

    assert_agrees(program, make)


def test_a_read_only_argument_is_not_written() -> None:
    def program(x):
        y = x.T
        y[0] = 1
        return x

    x = np.arange(4.0).reshape(2, 2)
    x.flags.writeable = False
    for strict in (True, False):
        with pytest.raises(ValueError, match="assignment destination is read-only") as raised:
            lamina.defn(program, strict=strict)(x)
        line = program.__code__.co_firstlineno + 2
        assert f"test_cells.py:{line}" in str(raised.value)
    assert lamina.defn(lambda x: x[1, 1] + 1, strict=True)(x) == 4.0

    def read_only() -> tuple[np.ndarray]:
        x = np.arange(3.0)
        x.flags.writeable = False
        return (x,)

    def copied(x):
        y = x.copy()
        y += x
        return y, x, x[1:]

    assert_agrees(copied, read_only)
    assert_agrees(one_writes, lambda: (np.arange(3.0), *read_only()), lambda: (*read_only(), np.arange(3.0)))


def test_an_array_in_which_elements_share_memory_is_not_written() -> None:
    b = np.lib.stride_tricks.as_strided(np.zeros(4), (3, 2), (8, 8))
    with pytest.raises(ValueError, match="several indices share an element"):
        lamina.defn(lambda x: x.__setitem__(..., 1), strict=True)(b)


def test_what_comes_back_is_the_argument_or_a_view_of_it() -> None:
    def program(x, y):
        x += 1
        z = x[1:]
        z *= y[0]
        return {"x": x, "all": x[...], "part": z, "moved": x.T[::-1], "y": [y, y.reshape(2, -1), y + 0], "one": z[0]}

    assert_agrees(program, *((lambda make=make: (make(), np.arange(4.0))) for make in orders(cube())))
    x, y = np.arange(3.0), np.arange(4.0)
    result = lamina.defn(program, strict=True)(x, y)
    assert result["x"] is x and result["y"][0] is y
    result["part"][0] = -1
    assert x[1] == -1.0


def test_byteswapped_and_unaligned_arguments_are_written() -> None:
    def program(x, k):
        x[1:] += k
        x[0] = x.sum()
        return x, x[::-1]

    def unaligned():
        x = np.zeros(3 * 8 + 1, np.uint8)[1:].view(np.float64)
        x[...] = [1, 2, 3]
        return x, 2.0

    compiled = lamina.defn(program, strict=True)
    for make in (lambda: (np.arange(3.0).astype(">f8"), 2.0), unaligned):
        for _ in range(2):
            x, k = make()
            y, _ = make()
            result, expected = compiled(x, k), program(y, k)
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(result[1], expected[1])
            assert result[0] is x


def test_unusual_dtypes_are_written() -> None:
    import ml_dtypes

    def program(x):
        x[1:3] = x[0]
        x[::-1] = x
        return x[3]

    for dtype in (ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4, np.float16, np.complex64):
        x, y = (np.array([1, 0, 0, 1]).astype(dtype) for _ in range(2))
        result, expected = lamina.defn(program, strict=True)(x), program(y)
        assert x.tobytes() == y.tobytes() and result == expected


def test_lamina_arrays_are_written() -> None:
    def program(x):
        x[1:] *= 3
        return x

    x = lamina.asarray(np.arange(3.0))
    assert lamina.defn(program, strict=True)(x) is x
    assert x.tolist() == [0.0, 3.0, 6.0]


def test_numbers_and_scalars_are_never_written() -> None:
    def program(x, n, s):
        t = x.sum()
        u = t
        t += 1
        m = n
        m += 1
        r = s
        r *= 2
        zero = x[0, ...]
        same = zero
        same += 5
        return t, u, m, n, r, s, zero

    assert_agrees(program, lambda: (np.arange(3.0), 4, np.float32(2)), lambda: (np.arange(3), 2.5, np.int8(3)))


# What arrays the program makes


def test_arrays_that_the_program_makes_are_new_at_each_call() -> None:
    def program(x):
        lists = np.array([1.0, 2.0, 3.0])
        lists += x
        zeros, ones = np.zeros(3), np.ones_like(x)
        zeros[1] = x[0]
        ones[1:] -= zeros[1:]
        made = np.hamming(3)
        made *= x
        steps = np.arange(3)
        steps[0] = 5
        line = np.linspace(0, 1, 3)
        line[-1] = x.sum()
        eye = np.eye(3)
        eye[1] = x
        return lists, zeros, ones, made, steps, line, eye

    assert_agrees(program, lambda: (np.arange(3.0),))


def test_two_names_of_one_array() -> None:
    def program(x):
        y = z = x * 2
        y[0] = 5
        z += 1
        a, b = [y] * 2
        a -= 3
        box = {"y": y, "again": [z]}
        box["again"][0][1] = 50
        return y, z, b, y is z

    assert_agrees(program, lambda: (np.arange(3.0),))


# K order


def in_order(x: Any) -> Any:
    """Something that depends on the order of memory."""
    flat = x.T.reshape(-1)
    flat[0] = 100
    return flat, x.reshape(-1), x.ravel("F")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x + 1,
        lambda x: x * x.T if x.shape == x.T.shape else -x,
        lambda x: np.sqrt(x),
        lambda x: x > 2,
        lambda x: np.where(x > 2, x, 0),
        lambda x: np.zeros_like(x),
        lambda x: np.empty_like(x) * 0,
        lambda x: x.copy(),
        lambda x: np.copy(x),
        lambda x: np.array(x),
        lambda x: x.astype(np.float32),
        lambda x: x.sum(axis=1),
        lambda x: np.maximum(x, x[:1]),
        lambda x: x + np.arange(4.0),
        lambda x: np.arange(4.0) + x,
        lambda x: np.concatenate([x, x]),
        lambda x: np.cumsum(x, axis=0),
        lambda x: np.sort(x, axis=0),
        lambda x: np.clip(x, 1, 5),
        lambda x: np.stack([x, x]),
        lambda x: np.round(x),
        lambda x: x[::-1] + 1,
        lambda x: x[:, ::2] + 1,
        lambda x: x[None] + 1,
        lambda x: np.broadcast_to(x, (2, *x.shape)) + 1,
        lambda x: x.transpose(1, 0, 2) * 2,
        lambda x: x.reshape(6, 4) * 2,
    ],
    ids=lambda _: "",
)
def test_new_memory_has_numpys_order(make) -> None:
    def program(x):
        y = make(x)
        return y, in_order(y)

    assert_agrees(program, *((lambda make=make: (make(),)) for make in orders(cube())))


# Captured arrays


def test_a_captured_array_is_written_at_every_call() -> None:
    def once(function: Callable[[np.ndarray, np.ndarray], Any], strict: bool) -> list[Any]:
        table = np.arange(4.0)

        def program(x):
            return function(table, x)

        called = lamina.defn(program, strict=True) if strict else program
        seen = []
        for n in range(3):
            seen += [np.array(called(np.ones(2) * n)), table.copy()]
            table[3] += 10
        return seen

    def counts(table, x):
        table[0] += 1
        return table[0] + x

    def view(table, x):
        part = table[1:]
        part[:2] = x
        table[0] = part.sum()
        return table * 2

    def reads(table, x):
        return np.sin(table)[:2] + table[:2] * 2 - table[3] + x + table.max() + sum(table) + len(table)

    def decides(table, x):
        if table[3] > 12:
            return x * 2
        return x[: int(table[1])]

    def loops(table, x):
        for v in table:
            x = x + v
        for _ in range(20):
            table += x[0]
        return x

    def comprehends(table, x):
        return sum([v * 2 for v in table]) + x

    for function in (counts, view, reads, decides, loops, comprehends):
        for ours, theirs in zip(once(function, False), once(function, True), strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=function.__name__)


def test_an_argument_that_is_a_captured_array_too() -> None:
    table = np.zeros(4)

    def program(x):
        x[0] += 5
        table[1] += 1
        return x.sum() + table.sum()

    for called in (program, lamina.defn(program)):
        table[:] = 0
        with np.errstate(all="ignore"):
            results = [called(np.zeros(4)), called(table) if called is program else None]
            if called is not program:
                with pytest.warns(lamina.errors.LaminaWarning, match="shares memory with"):
                    results[1] = called(table)
        assert results == [6.0, 14.0]
        np.testing.assert_array_equal(table, [5.0, 2.0, 0.0, 0.0])


def test_results_share_memory_only_where_numpys_do() -> None:
    def program(x, n):
        copied, reversed_, filled, same = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
        fresh = x * 2
        copied[:] = x
        same[...] = fresh
        reversed_[:] = fresh[::-1]
        filled[:] = n
        kept = fresh
        kept[0] = 7
        z = x
        for _ in range(n):
            z = z * 2
        w = np.zeros(3)
        for _ in range(n):
            w[:] = z
        v = np.empty(3)
        v[:] = x.min()
        if n > 2:
            v -= 1
        return copied, reversed_, filled, same, fresh, kept, z, w, v

    assert_agrees(program, *((lambda n=n: (np.arange(3.0), n)) for n in (0, 2, 12)))


def test_arguments_that_become_what_others_were() -> None:
    """They are written when the program has run, as if all at once."""

    def copied(x, y):
        y[:] = x
        x += 6

    def reversed_copy(x, y):
        y[:] = x[::-1]
        x[0] = 7

    def exchanged(x, y):
        x[:], y[:] = y.copy(), x.copy()

    for program in (copied, reversed_copy, exchanged):
        assert_agrees(
            program,
            lambda: (np.arange(3.0), np.zeros(3)),
            lambda: (np.arange(3.0)[::-1], np.zeros(6)[::2]),
            lambda: (np.arange(1.0), np.zeros(1)),
        )


def test_an_argument_that_takes_what_another_one_held() -> None:
    def filled(x, y):
        y[:] = x
        x *= 2

    def exchanged(x, y):
        z = x.copy()
        x[:] = y[::-1]
        y[...] = z
        return x + y

    def shifted(x, y):
        y[1:] = x[:-1]
        x[::-1] = y
        y[:] = x
        x += 1

    for program in (filled, exchanged, shifted):
        assert_agrees(program, *(ALIASES[name] for name in ("apart", "shifted", "interleaved", "reversed")))


def test_a_captured_array_takes_what_an_argument_held() -> None:
    tables = {False: np.zeros(3), True: np.zeros(3)}
    for strict, table in tables.items():

        def program(x):
            table[:] = x  # noqa: B023
            x += 1
            return table.sum()  # noqa: B023

        called = lamina.defn(program, strict=True) if strict else program
        x = np.arange(3.0)
        assert [called(x), called(x)] == [3.0, 6.0]
        np.testing.assert_array_equal(x, [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(tables[True], tables[False])
