"""The MLX compiler: what MLX is asked for, what it isn't and why, and that a run is safe whatever the numbers are."""

import ast
import threading
import tomllib
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("mlx.core", reason="mlx is not installed: pip install 'lamina[mlx]'")

import mlx.core as mx

import lamina
from lamina import blocks
from lamina.compilers import compiler_named, compiler_names, evaluator
from lamina.errors import LaminaWarning
from lamina.expr import OPS, Expr, Graph, build
from lamina.mlx import calls as mlx_calls
from lamina.mlx import compile_graph, lowering
from lamina.mlx.calls import CALLS, DTYPES, ELSEWHERE, reason_against
from lamina.mlx.lowering import Lowering, lower
from lamina.testing import run_compiler_suite
from tests.expr.graphs import add, cond, constant, less, param

ROOT = Path(__file__).parent.parent.parent
F32 = lamina.float32


def both(function: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """The function's results by MLX and by the evaluator; arguments are copied for each."""
    results = []
    for compiler, more in ((compile_graph, options), ("evaluator", {})):
        given = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        results.append(lamina.defn(function, compiler=compiler, strict=True, **more)(*given))
    return results[0], results[1]


# The door


def test_it_is_an_entry_point_with_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    value = project["entry-points"]["lamina.compilers"]["mlx"]
    assert metadata.EntryPoint("mlx", value, "lamina.compilers").load() is compile_graph
    assert any(line.startswith("mlx") for line in project["optional-dependencies"]["mlx"])
    if "mlx" in compiler_names():  # lamina is installed
        assert compiler_named("mlx") is compile_graph


def test_it_uses_public_rooms_alone() -> None:
    allowed = {"lamina", *(f"lamina.{room}" for room in (
        "blocks", "compilers", "dtype", "errors", "evaluator", "expr", "layout", "tree"))}  # fmt: skip
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "lamina" / "mlx").glob("*.py")]
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("lamina"):
            is_own = str(node.module).startswith("lamina.mlx.")
            assert (is_own or node.module in allowed) and not any(name.name.startswith("_") for name in node.names)
    assert sum(source.count("\n") for source in sources) < 750  # one sitting


def test_options() -> None:
    graph = lamina.trace(lambda x: x + 1, np.ones(2, np.float32))
    assert compile_graph(graph, {"device": "cpu"})(np.ones(2, np.float32))[0].tolist() == [2, 2]
    missing = ["tpu", *(["gpu"] if not mx.is_available(mx.Device(mx.gpu)) else [])]
    for device in missing:
        with pytest.raises(ValueError, match=f"device must be 'cpu', or 'gpu' where MLX has one, but it is '{device}'"):
            compile_graph(graph, {"device": device})
    with pytest.raises(TypeError, match=r"the compiler 'mlx' has the options \['device', 'scope_dependencies'\]"):
        compile_graph(graph, {"speed": 3})


# What is MLX's, and what is the evaluator's


def test_every_op_has_a_call_or_a_reason() -> None:
    left = {op for by_dtypes in ELSEWHERE.values() for op in by_dtypes.get("", "").split()}
    assert left | CALLS.keys() == OPS.keys()
    assert {op for by_dtypes in ELSEWHERE.values() for ops in by_dtypes.values() for op in ops.split()} <= OPS.keys()


# Rows for which asking MLX all the same would end the process, hang, or have nothing to ask.
UNTRIED = {
    "MLX has no such op",
    "MLX doesn't refuse negative powers of integers",
    "MLX doesn't keep the order of equal elements",
    "NumPy decides the signs of factors, and which matrices have none",
}
TRIED = [
    (reason, names, op)
    for reason, by_dtypes in ELSEWHERE.items()
    if reason not in UNTRIED
    for names, ops in by_dtypes.items()
    for op in ops.split()
]


@pytest.mark.parametrize(("reason", "names", "op"), TRIED, ids=str)
def test_a_row_of_the_list_is_true(reason: str, names: str, op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of MLX all the same, the op gives something else than the evaluator for each of the row's dtypes."""
    monkeypatch.setattr(mlx_calls, "ELSEWHERE", {})
    monkeypatch.setitem(CALLS, "erf", mx.erf)
    if op in ("floor_divide", "remainder"):
        monkeypatch.setitem(CALLS, op, getattr(mx, op))
    kinds = {"float": ["float32"], "complex": ["complex64"], "": ["float32"]}
    dtypes = kinds.get(names, names.split())
    report = run_compiler_suite(compile_graph, ops=[op], dtypes=dtypes, programs=())
    assert {case.split()[1].rstrip(",") for case in report.differs} == set(dtypes)


def test_one_warning_says_what_the_evaluator_runs_and_why() -> None:
    def f(x: Any) -> Any:
        return np.cbrt(x) + np.hypot(x, x) + np.sin(x) + np.arctan(x)

    compiled = lamina.defn(f, compiler=compile_graph)
    x = np.linspace(0, 1, 5)
    with pytest.warns(LaminaWarning) as seen:
        result = compiled(x)
    (message,) = [str(each.message) for each in seen]
    assert message == (
        "mlx: of f, these run in the evaluator: cbrt of float64, hypot of float64 (MLX has no such op); "
        "sin of float64 (MLX computes it in float32)"
    )
    np.testing.assert_allclose(result, f(x), rtol=1e-15)
    compiled(x)  # no other warning: they are errors here


def test_nothing_is_said_where_mlx_does_it_all() -> None:
    assert both(lambda x: np.sin(x) * 2 + x.sum(), np.ones(3, np.float32))[0].dtype == np.float32


def test_units_that_mlx_has_are_one_instruction() -> None:
    def model(x: Any, w: Any, seen: Any) -> Any:
        x = blocks.layer_norm(blocks.rms_norm(x, w), w, w)
        x = blocks.attention(x, x, x, seen)
        return blocks.logsumexp(blocks.softmax(blocks.gelu(x))), blocks.log_softmax(x)

    given = np.ones((2, 3), np.float32), np.ones(3, np.float32), np.eye(2, dtype=bool)
    names = [line.split(" = ")[1].split("(")[0] for line in str(lower(lamina.trace(model, *given))).splitlines()[1:-1]]
    names = [name for name in names if name != "copy"]
    assert names == ["rms_norm", "layer_norm", "attention", "gelu", "softmax", "logsumexp", "log_softmax"]
    calls: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for name, unit in mlx_calls.UNITS.items():
            patch.setitem(mlx_calls.UNITS, name, lambda *args, n=name, f=unit: calls.append(str(n)) or f(*args))
        lamina.defn(model, compiler=compile_graph)(*given)
    assert calls == names[:-1]  # log_softmax is its default


def test_a_program_is_flat_and_can_be_read() -> None:
    captured = np.ones(3, np.float32)
    graph = lamina.trace(lambda x: lamina.cond(x[0] > 1, lambda: np.cbrt(x) + captured, lambda: x), captured * 2)
    with pytest.warns(LaminaWarning, match="cbrt"):
        text = str(lower(graph))
    assert text.splitlines()[0].startswith("inputs 0; captures ")
    assert "in a branch: " in text and "cbrt(0)  # evaluator: MLX has no such op" in text
    assert text.splitlines()[-1].startswith("results ")


def test_dtypes_that_mlx_lacks_stay_with_numpy() -> None:
    def f(x: Any) -> Any:
        y = x.T * x[0, 0]
        return lamina.fori_loop(0, 3, lambda i, c: c + y[i % 2, 0], y), y[::-1] * y

    for dtype in (np.complex128, ml_dtypes.int4, ml_dtypes.uint4):
        x = np.array([[1, 2], [3, 1]]).astype(dtype)
        with pytest.warns(LaminaWarning, match=r"MLX has no (complex128|u?int4) here"):
            ours, theirs = both(f, x)
        for result, wanted in zip(ours, theirs, strict=True):
            assert result.dtype == wanted.dtype == dtype
            np.testing.assert_array_equal(result.astype(complex), wanted.astype(complex))


def test_a_device_without_float64() -> None:
    """As the GPU is: values of that dtype are NumPy's, and all results are the same."""
    dtypes = {each: to for each, to in DTYPES.items() if each is not lamina.float64}

    def f(x: Any, y: Any) -> Any:
        z = lamina.fori_loop(0, 3, lambda i, c: c * 0.5 + x.sum(), y)
        return z, x * 2, lamina.cond(z[0] > 0, lambda: z.astype(np.float32) + x, lambda: x)

    x, y = np.ones(3, np.float32), np.arange(3.0)
    graph = lamina.trace(f, x, y)
    lowering = Lowering(dtypes)
    with pytest.warns(LaminaWarning, match="MLX has no float64 here"):
        program = lower(graph, lowering)
    results = program.call(map(lowering.to_mlx, (x, y)))
    assert [type(each) for each in results] == [np.ndarray, mx.array, mx.array]
    for result, wanted in zip(results, evaluator(graph, {})(x, y), strict=True):
        np.testing.assert_array_equal(np.array(result), wanted)


# Numbers that would end the process, or be read from beyond an array


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integers_divided_by_zero_and_minus_one(dtype: str) -> None:
    low = np.iinfo(dtype).min
    x = np.array([5, low, low, 0, 7], dtype)
    y = np.array([0, 0, -1 if low else 3, 0, 2], dtype)
    for function in (np.floor_divide, np.remainder, np.fmod):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", LaminaWarning)
            ours, theirs = both(lambda a, b, f=function: f(a, b), x, y)
        np.testing.assert_array_equal(ours, theirs)


def test_indices_out_of_range_raise_as_numpy_does() -> None:
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)

    def written(x: Any, i: Any) -> Any:
        x[i] = 1
        return x

    programs = {
        "gather": lambda x, i: x[i, i],
        "rows": lambda x, i: x[i],
        "take_along_axis": lambda x, i: np.take_along_axis(x, i[:, None], 1),
        "written": written,
    }
    for name, program in programs.items():
        for index in (3, -4, 2**40, -(2**62)):
            if name == "take_along_axis" and index in (3, -4):
                continue
            given = x.copy(), np.array([0, index, 0])
            with pytest.raises(IndexError) as ours:
                lamina.defn(program, compiler=compile_graph, strict=True)(*given)
            with pytest.raises(IndexError) as theirs:
                program(x.copy(), np.array([0, index, 0]))
            assert str(ours.value) == str(theirs.value), name
            np.testing.assert_array_equal(given[0], x)


def test_views_out_of_range() -> None:
    root, at = param(0, F32, (4,)), param(1, lamina.int64)
    view = build("view", root, lamina.layout.Layout((2,), (1,)), ((at, 1),), ())
    for graph in (
        Graph((root, at), view),
        Graph((root, at), build("update", root, view.args[1], view.args[2], (), view)),
    ):
        compiled = compile_graph(graph, {})
        assert compiled(np.arange(4, dtype=np.float32), np.int64(2))[0].shape == graph.outputs.shape
        for shift in (3, -1, 2**40):
            with pytest.raises(IndexError, match="of 4"):
                compiled(np.ones(4, np.float32), np.int64(shift))


def test_casts_saturate() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 2.0**63, -1.5, 300.7], np.float32)
    for dtype in ("int8", "uint8", "int64", "uint64"):
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(*both(lambda a, d=dtype: lamina.astype(a, d), x))


# Runs


def test_results_are_memory_of_their_own_and_arguments_stay() -> None:
    graph = lamina.trace(lambda x: (x, x.T, x * 1, x[0]), np.ones((2, 3)))
    compiled = compile_graph(graph, {})
    x = np.arange(6.0).reshape(2, 3)
    first = compiled(x)
    for result in first:
        result += 100
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(compiled(x)[1], x.T)
    assert all(result.flags.writeable and not np.may_share_memory(result, x) for result in compiled(x))


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "strided", "read-only"])
def test_arguments_of_any_layout(layout: str) -> None:
    x = np.arange(24.0).reshape(4, 6)
    x = {"C": x, "F": np.asfortranarray(x), "reversed": x[::-1, ::-1], "strided": x[::2, ::3], "read-only": x}[layout]
    if layout == "read-only":
        x.flags.writeable = False
    graph = lamina.trace(lambda a: a * 2 + a.sum(axis=0), lamina.Spec(lamina.float64, x.shape))
    results = compile_graph(graph, {})(x)
    np.testing.assert_array_equal(results[0], x * 2 + x.sum(axis=0))


def test_a_loop_that_runs_often_is_compiled_and_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: Any, n: Any) -> Any:
        for i in range(n):
            x[1:] = x[1:] * 0.5 + x[:-1] * i
        return x

    compiled: list[Any] = []
    monkeypatch.setattr(lowering, "_OFTEN", 5)
    monkeypatch.setattr(mx, "compile", lambda function, real=mx.compile: compiled.append(function) or real(function))
    x = np.random.default_rng(0).random((3, 4))
    once = lamina.defn(f, compiler=compile_graph, strict=True)
    for n in (2, 9, 20):
        np.testing.assert_array_equal(once(x.copy(), n), f(x.copy(), n))
    assert len(compiled) == 1


def test_a_loop_with_effects_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "_OFTEN", 2)
    monkeypatch.setattr(mx, "compile", None)
    log: list[float] = []

    def f(x: Any) -> Any:
        return lamina.fori_loop(0, 6, lambda i, c: lamina.hook(c + i, "turn", lambda v: log.append(float(v))), x)

    assert lamina.defn(f, compiler=compile_graph)(1.0) == 16.0
    assert log == [1, 2, 4, 7, 11, 16]


def test_what_a_condition_has_shown_is_shown_once_a_turn() -> None:
    log: list[int] = []

    def goes_on(carry: Any) -> Any:
        return lamina.hook(carry, "condition", lambda v: log.append(int(v))) < 3

    assert lamina.defn(lambda n: lamina.while_loop(goes_on, lambda c: c + 1, n), compiler=compile_graph)(0) == 3
    assert log == [0, 1, 2, 3]


def test_a_branch_runs_when_it_is_taken_and_shared_work_once() -> None:
    log: list[str] = []

    def noted(name: str, x: Expr) -> Expr:
        return build("runtime_call", (x,), lambda value: log.append(name) or value, lamina.Spec(lamina.float64), {})

    a, b = param(0), param(1)
    shared = noted("both", a)
    first, second = noted("first", shared), noted("second", add(shared, b))
    later = less(noted("later", b), a)
    node = cond(less(a, b), add(first, first), later, add(second, shared), shared)
    compiled = compile_graph(Graph((a, b), (node, add(node, node))), {})
    for x, y, expected in (
        (1.0, 2.0, ["both", "first"]),
        (2.0, 1.0, ["later", "both", "second"]),
        (1.0, 1.0, ["later", "both"]),
    ):
        log.clear()
        compiled(np.asarray(x), np.asarray(y))
        assert log == expected


def test_branches_as_deep_as_they_are_many() -> None:
    x = y = param(0)
    p = less(x, constant(0.0))
    for _ in range(3_000):
        y = build("cond", ((p, x),), add(y, x))
    compiled = compile_graph(Graph((x,), y), {})
    assert compiled(np.asarray(1.0)) == [3_001.0] and compiled(np.asarray(-1.0)) == [-1.0]


def test_captured_arrays_are_read_when_they_are_needed() -> None:
    captured = np.arange(3.0)
    f = lamina.defn(lambda x: x + captured, compiler=compile_graph)
    assert f(np.ones(3)).tolist() == [1, 2, 3]
    captured[0] = 9
    assert f(np.ones(3)).tolist() == [10, 2, 3]


def test_threads_share_a_compiled_function() -> None:
    f = lamina.defn(lambda x, n: lamina.fori_loop(0, n, lambda i, c: c + x[i % 3], x), compiler=compile_graph)
    results: list[Any] = []

    def work(k: int) -> None:
        results.append((k, f(np.arange(3.0) * k, 10)))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for k, result in results:
        np.testing.assert_array_equal(result, np.arange(3.0) * k + 9 * k)


def test_errors_carry_the_users_line() -> None:
    def f(x: Any, i: Any) -> Any:
        return x[i]

    with pytest.raises(IndexError) as raised:
        lamina.defn(f, compiler=compile_graph)(np.ones(3), 7)
    assert any("test_mlx.py" in note and "in f" in note for note in raised.value.__notes__)


# A note of one's own


def test_a_note_is_lowered_as_its_owner_says() -> None:
    """The note holds a cheaper way to the value; the dear one, with its effects, is not lowered."""
    log: list[str] = []

    def dear(x: Any) -> Any:
        return lamina.runtime_call(lambda v: log.append("dear") or np.cbrt(v), lamina.Spec(F32, x.shape), x)

    def f(x: Any) -> Any:
        scaled = x * 2
        return lamina.metadata(np.cbrt(scaled), {"mine.instead": scaled + 1, "why": "it is near enough"}) * 10

    def redirect(node: Expr) -> list[Expr] | None:
        assert node.op == "metadata"
        return [node.args[1]["mine.instead"]] if "mine.instead" in node.args[1] else None

    x = np.array([0.0, 4.0], np.float32)
    plain = lamina.defn(f)(x)
    ours = lamina.defn(f, compiler=compile_graph, scope_dependencies=redirect)(x)  # no warning: no cbrt is lowered
    np.testing.assert_array_equal(ours, (x * 2 + 1) * 10)
    np.testing.assert_allclose(plain, np.cbrt(x * 2) * 10)
    program = str(lower(lamina.trace(f, x), Lowering(DTYPES, redirect)))
    assert "cbrt" not in program and "add" in program

    def branching(x: Any) -> Any:
        noted = lamina.metadata(dear(x), {"mine.instead": x + 1})
        looped = lamina.fori_loop(0, 3, lambda i, c: lamina.metadata(np.cbrt(c), {"mine.instead": c + 1}), x)
        return lamina.cond(x[0] > 0, lambda: noted, lambda: looped)

    for first in (1.0, -1.0):
        result = lamina.defn(branching, compiler=compile_graph, scope_dependencies=redirect)(x + np.float32(first))
        np.testing.assert_array_equal(result, x + np.float32(first) + (1 if first > 0 else 3))
    assert log == ["dear", "dear"]  # it is an effect, which runs; but nothing waits for it


def test_a_note_that_stands_for_something_else_is_refused() -> None:
    def f(x: Any) -> Any:
        return lamina.metadata(x * 2, {"instead": x.sum()})

    for redirect in (lambda node: [node.args[1]["instead"]], lambda node: [], lambda node: [node.args[0]] * 2):
        with pytest.raises(ValueError, match="must stand for one node like it"):
            lamina.defn(f, compiler=compile_graph, scope_dependencies=redirect)(np.ones(3, np.float32))


def test_reasons() -> None:
    x = param(0, F32, (3,))
    assert reason_against(build("add", x, x)) == ""
    assert reason_against(build("cbrt", x)) == "MLX has no such op"
    assert reason_against(build("sum", param(0, F32, (0, 2)), (0,))) == "MLX reads beyond arrays without elements"
