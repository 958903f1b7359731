"""Every row of the op table, through the evaluator, against what `tests.support.op_cases` says it must give."""

import dataclasses
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lamina.evaluator import compile_graph
from lamina.expr import OPS, Expr, Graph, build
from lamina.expr.ops.row import Fact, Family
from lamina.testing.elements import DTYPES, KINDS, difference, dtype_of, edges, kind_of, wild
from tests.support.case import all_dtypes
from tests.support.op_cases import CASES

KIND_LETTERS = {"bool": "b", "signed": "i", "unsigned": "u", "float": "f", "complex": "c"}


@pytest.fixture(autouse=True)
def no_floating_point_warnings() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        yield


def run(op: str, *args: Any) -> Any:
    """The result of one node of an op, whose operands are parameters, by the evaluator; several as a tuple."""
    params: list[Expr] = []
    given: list[np.ndarray] = []

    def node(arg: Any) -> Any:
        if isinstance(arg, np.ndarray):
            given.append(arg)
            params.append(Expr("parameter", (len(params),), dtype_of(arg), arg.shape))
            return params[-1]
        return tuple(map(node, arg)) if isinstance(arg, tuple) and any(isinstance(a, np.ndarray) for a in arg) else arg

    result = build(op, *map(node, args))
    outputs = tuple(build("elem", result, i) for i in range(len(result.dtype))) if result.has_several else result
    results = compile_graph(Graph(tuple(params), outputs))(*given)
    return tuple(results) if result.has_several else results[0]


def wrong_cases(op: str, dtype: np.dtype) -> list[str]:
    """What is wrong with an op's results for a dtype."""
    case = CASES[op]
    rng = np.random.default_rng(zlib.crc32(f"{op} {dtype}".encode()))
    found = []
    for name, args, expected in case.cases(rng, dtype):
        result = run(op, *args)
        if callable(expected):
            wrong = expected(result)
        else:
            wrong = difference(result, expected, ulps=case.ulps, signed_zeros=case.signed_zeros)
        if wrong:
            found.append(f"{op} of {name}: {wrong}")
    return found


@pytest.mark.parametrize(
    ("op", "dtype"), [(op, dtype) for op, case in CASES.items() for dtype in all_dtypes(case)], ids=str
)
def test_an_op_gives_what_numpy_gives(op: str, dtype: np.dtype) -> None:
    assert wrong_cases(op, dtype)[:3] == []


@pytest.mark.parametrize("op", CASES)
def test_an_op_takes_no_other_dtypes(op: str) -> None:
    case = CASES[op]
    rng = np.random.default_rng(0)
    for dtype in DTYPES:
        if case.takes(dtype):
            _, args, _ = next(case.cases(rng, dtype))
            continue
        accepted = all_dtypes(case)[0]
        _, args, _ = next(case.cases(rng, accepted))
        if op == "iota":
            other: tuple[Any, ...] = (args[0], dtype_of(edges(dtype)))
        else:
            other = tuple(a.astype(dtype) if isinstance(a, np.ndarray) and a.dtype == accepted else a for a in args)
        with pytest.raises(TypeError):
            run(op, *other)


def tampered(result: Any) -> Any:
    """A result with its last element changed."""
    if isinstance(result, tuple):
        return (tampered(np.asarray(result[0])), *result[1:])
    result = np.array(result)
    if result.size:
        last = result.reshape(-1)[-1]
        result.reshape(-1)[-1] = not last if result.dtype == bool else 1 if last != last or last != 1 else 0
    return result


@pytest.mark.parametrize("op", CASES)
def test_a_wrong_row_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = OPS[op]
    wrong = dataclasses.replace(row, meaning=lambda *args: tampered(row.meaning(*args)))
    dtype = all_dtypes(CASES[op])[-1]
    assert not wrong_cases(op, dtype)
    monkeypatch.setitem(OPS, op, wrong)
    assert wrong_cases(op, dtype)


@pytest.mark.parametrize(
    ("op", "meaning"),
    [
        ("negative", lambda x: x),
        ("floor", np.trunc),
        ("add", np.subtract),
        ("maximum", np.fmax),
        ("less", np.less_equal),
        ("bitwise_right_shift", np.left_shift),
        ("sum", lambda x, axis: np.prod(x, axis=axis)),
        ("cumulative_sum", lambda x, axis: x),
        ("gather", lambda x, indices: x[tuple(abs(i) for i in indices)]),
        ("sort", lambda x, axis: np.flip(np.sort(x, axis=axis), axis)),
        ("argsort", lambda x, axis, descending: np.argsort(x, axis=axis, kind="stable")),
    ],
)
def test_a_plausible_wrong_row_is_found(op: str, meaning: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPS, op, dataclasses.replace(OPS[op], meaning=meaning))
    found = []
    for dtype in (np.dtype("float64"), np.dtype("int64")):
        if CASES[op].takes(dtype):
            try:
                found += wrong_cases(op, dtype)
            except (IndexError, TypeError) as error:
                found.append(str(error))
    assert found


# The table itself


def test_every_row_has_an_entry() -> None:
    assert CASES.keys() == OPS.keys()


@pytest.mark.parametrize("op", OPS)
def test_a_row_is_complete(op: str) -> None:
    row = OPS[op]
    assert row.name == op
    assert all(isinstance(param, str) and param for param in row.params)
    assert 0 <= row.arity <= len(row.params)
    assert isinstance(row.family, Family)
    assert all(callable(column) for column in (row.dtype, row.shape, row.meaning))
    assert row.doc
    assert row.doc.endswith(".")
    assert all(isinstance(fact, Fact) and kinds and kinds <= KIND_LETTERS.keys() for fact, kinds in row.facts.items())


FACTS = [
    (op, fact, dtype)
    for op, row in OPS.items()
    for fact, kinds in row.facts.items()
    for dtype in DTYPES
    if kind_of(dtype) in {KIND_LETTERS[kind] for kind in kinds} and CASES[op].takes(dtype)
]


@pytest.mark.parametrize(
    ("op", "fact", "dtype"), FACTS, ids=lambda each: each.name if isinstance(each, Fact) else str(each)
)
def test_a_fact_holds(op: str, fact: Fact, dtype: np.dtype, rng: np.random.Generator) -> None:
    x, y, z = (wild(rng, dtype, (500,)) for _ in range(3))
    family = OPS[op].family
    if family is Family.REDUCTION:
        # whole and in two parts; which of two zeros is the greater is not told
        whole = run(op, x.reshape(20, 25), (1,))
        parts = np.stack([run(op, x.reshape(20, 25)[:, i : i + 13].copy(), (1,)) for i in (0, 13)], axis=1)
        assert not difference(run(op, parts, (1,)), whole, signed_zeros=False)
    elif family is Family.CUMULATIVE:
        whole = run(op, x.reshape(20, 25), 1)
        tail = np.concatenate([whole[:, 12:13], x.reshape(20, 25)[:, 13:]], axis=1)
        assert not difference(run(op, tail, 1), whole[:, 12:], signed_zeros=False)
    elif fact is Fact.COMMUTATIVE:
        assert not difference(run(op, x, y), run(op, y, x))
    elif fact is Fact.ASSOCIATIVE:
        assert not difference(run(op, run(op, x, y), z), run(op, x, run(op, y, z)))
    elif fact is Fact.IDEMPOTENT:
        once = run(op, x, x) if OPS[op].arity == 2 else run(op, x)
        assert not difference(once if OPS[op].arity == 2 else run(op, once), x if OPS[op].arity == 2 else once)
    else:
        assert fact is Fact.INVOLUTION
        assert not difference(run(op, run(op, x)), x)


def test_the_dtypes_are_all_there() -> None:
    assert len(DTYPES) == sum(map(len, KINDS.values())) == len({dtype_of(edges(dtype)) for dtype in DTYPES})


# Shapes that don't fit

BAD = [
    ("add", (np.ones(2), np.ones(3))),
    ("add", (np.ones(2), np.ones((1, 2)))),
    ("where", (np.ones(2, bool), np.ones(2), np.ones(3))),
    ("sum", (np.ones((2, 3)), (2,))),
    ("sum", (np.ones((2, 3)), (1, 0))),
    ("sum", (np.ones((2, 3)), (0, 0))),
    ("sum", (np.ones((2, 3)), (-1,))),
    ("max", (np.ones((2, 0)), (1,))),
    ("max", (np.ones((0,)), (0,))),
    ("argmax", (np.ones((2, 0)), 1)),
    ("argmin", (np.ones(()), 0)),
    ("cumulative_sum", (np.ones(()), 0)),
    ("concat", ((np.ones((2, 3)), np.ones((3, 3))), 1)),
    ("concat", ((np.ones(()), np.ones(())), 0)),
    ("pad", (np.ones(2), np.ones(()), ((-1, 0),))),
    ("pad", (np.ones(2), np.ones(()), ())),
    ("gather", (np.ones(2), (np.zeros(1, int), np.zeros(1, int)))),
    ("gather", (np.ones((2, 2)), (np.zeros(1, int), np.zeros(2, int)))),
    ("take_along_axis", (np.ones((2, 2)), np.zeros((3, 1), int), 1)),
    ("scatter", (np.ones(3), (np.zeros(2, int),), np.ones(3), "add")),
    ("scatter", (np.ones(3), (np.zeros(2, int),), np.ones(2), "plus")),
    ("sort", (np.ones(()), 0)),
    ("searchsorted", (np.ones((2, 2)), np.ones(2), "left")),
    ("searchsorted", (np.ones(2), np.ones(2), "middle")),
    ("matmul", (np.ones((2, 3)), np.ones((2, 3)))),
    ("matmul", (np.ones(3), np.ones(3))),
    ("matmul", (np.ones((2, 2, 2)), np.ones((3, 2, 2)))),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args"), BAD, ids=[f"{op} {i}" for i, (op, _) in enumerate(BAD)])
def test_what_does_not_fit_is_refused(op: str, args: Any) -> None:
    with pytest.raises(ValueError, match=op):
        run(op, *args)


MIXED = [
    ("add", (np.ones(2), np.ones(2, np.float32))),
    ("where", (np.ones(2), np.ones(2), np.ones(2))),
    ("where", (np.ones(2, bool), np.ones(2), np.ones(2, int))),
    ("concat", ((np.ones(2), np.ones(2, int)), 0)),
    ("pad", (np.ones(2), np.ones((), int), ((0, 1),))),
    ("gather", (np.ones(2), (np.ones(2),))),
    ("scatter", (np.ones(3), (np.zeros(2, int),), np.ones(2, int), "set")),
    ("searchsorted", (np.ones(2), np.ones(2, int), "left")),
    ("matmul", (np.ones((2, 2)), np.ones((2, 2), int))),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args"), MIXED, ids=[f"{op} {i}" for i, (op, _) in enumerate(MIXED)])
def test_operands_of_different_dtypes_are_refused(op: str, args: Any) -> None:
    with pytest.raises(TypeError, match=op):
        run(op, *args)


@pytest.mark.parametrize("op", ["gather", "scatter", "take_along_axis"])
@pytest.mark.parametrize("index", [3, -4])
def test_an_index_out_of_range_raises(op: str, index: int) -> None:
    x, indices = np.arange(3.0), np.array([0, index])
    args = {"gather": (x, (indices,)), "scatter": (x, (indices,), x[:2], "set"), "take_along_axis": (x, indices, 0)}[op]
    with pytest.raises(IndexError):
        run(op, *args)
