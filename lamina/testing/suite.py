"""The suite: what a compiler lacks, and where its results aren't the evaluator's."""

import warnings
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lamina import dtype as dt
from lamina.compilers import Compiler, compile_by, name_of
from lamina.errors import LaminaWarning
from lamina.evaluator import compile_graph
from lamina.expr import OPS, Expr, Family, Graph, build
from lamina.testing.arguments import Inputs, cases_of
from lamina.testing.elements import difference
from lamina.testing.programs import PROGRAMS, Program
from lamina.testing.scopes import SCOPES, within
from lamina.tree import apply_args


@dataclass
class Report:
    """What a run of the suite found; true where the compiler lacks nothing and differs nowhere.

    Attributes
    ----------
    compiler : its name.
    agreed : how many cases gave what the evaluator gives, within the op's tolerance.
    lacks : what it raised `NotImplementedError` for, and with which message.
    differs : the cases whose results, errors or effects are others, and how.
    """

    compiler: str
    agreed: int = 0
    lacks: dict[str, str] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return not self.lacks and not self.differs

    def __str__(self) -> str:
        count = self.agreed + len(self.lacks) + len(self.differs)
        lines = [f"{self.compiler}: {self.agreed} of {count} cases agree with the evaluator"]
        for title, found in (("lacks", self.lacks), ("differs", self.differs)):
            by_reason: dict[str, list[str]] = {}
            for case, why in found.items():
                by_reason.setdefault(why, []).append(case)
            for why, (first, *more) in by_reason.items():
                lines.append(f"  {title} {first}{f' and {len(more)} more' if more else ''}: {why}")
        return "\n".join(lines)


def run_compiler_suite(
    compiler: str | Compiler,
    options: Mapping[str, Any] | None = None,
    *,
    ops: Collection[str] | None = None,
    dtypes: Collection[str] | None = None,
    scopes: Collection[str] | None = None,
    programs: Collection[str] | None = None,
) -> Report:
    """Run a compiler, or the one of a name, on all the suite has, print what was found, and return it.

    That is each op on each dtype that it takes, in every layout and in a scope, and programs of all syntax nodes.
    `ops`, `dtypes`, `scopes` and `programs` keep the run to those of these names; none by ``()``, all by None.

    A case agrees where the results are the evaluator's within the tolerance that the op's row states, where an error is
    of the same class and says the same, and where callbacks are shown the same in the same order. Arguments must be
    left as they were, and results must stay when the compiled graph runs again. A compiler says that it lacks something
    by `NotImplementedError`, when it compiles. The warnings that lamina gives are not shown.

    >>> report = run_compiler_suite("evaluator", ops=["add"], dtypes=["int4", "float32"], programs=["while"])
    evaluator: 29 of 29 cases agree with the evaluator
    >>> bool(report)
    True
    """
    report = Report(name_of(compiler))
    within_these = [scope for scope in SCOPES if scopes is None or scope in scopes]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", LaminaWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        for op in OPS:
            if ops is None or op in ops:
                for name, dtype in dt.DTYPES.items():
                    if dtypes is None or name in dtypes:
                        _try_op(report, compiler, options or {}, op, dtype, within_these)
        for name, program in PROGRAMS.items():
            if programs is None or name in programs:
                _try_program(report, compiler, options or {}, name, program)
    print(report)
    return report


# Ops


class _Case(NamedTuple):
    """A node of an op, and where it is computed: itself, or the same within a scope."""

    name: str
    node: Expr
    computed: Expr


def _try_op(
    report: Report,
    compiler: str | Compiler,
    options: Mapping[str, Any],
    op: str,
    dtype: dt.DType,
    scopes: Sequence[str],
) -> None:
    """All cases of an op and dtype as one graph; where that fails, each as one of its own."""
    inputs = Inputs(np.random.default_rng(zlib.crc32(f"{op} {dtype}".encode())), dtype)
    cases = [_Case(name, node, node) for name, node in cases_of(op, inputs)]
    if not cases:
        return
    if scopes and not cases[0].node.has_several:  # one of them in a scope: each op meets each, with some dtype
        scope, one = inputs.rng.choice(scopes), cases[inputs.rng.integers(len(cases))]
        cases.append(_Case(f"{one.name} in a {scope}", one.node, within(scope, one.node)))
    wrong = _wrong_results(compiler, options, inputs, cases)
    if not isinstance(wrong, Exception):
        _note(report, op, dtype, cases, wrong)
        return
    for case in cases:
        alone = _wrong_results(compiler, options, inputs, [case])
        if isinstance(alone, NotImplementedError):
            report.lacks[f"{op} {dtype}, {case.name}"] = str(alone)
        else:
            _note(report, op, dtype, [case], [_raised(alone)] if isinstance(alone, Exception) else alone)


def _note(report: Report, op: str, dtype: dt.DType, cases: Sequence[_Case], wrong: Sequence[str]) -> None:
    for case, each in zip(cases, wrong, strict=True):
        if each:
            report.differs[f"{op} {dtype}, {case.name}"] = each
        else:
            report.agreed += 1


def _raised(error: Exception) -> str:
    return f"{type(error).__name__} was raised: {error}"


def _wrong_results(
    compiler: str | Compiler, options: Mapping[str, Any], inputs: Inputs, cases: Sequence[_Case]
) -> list[str] | Exception:
    """What is wrong with each case's results, "" for nothing; the error, if the compiler or what it made raises one."""
    nodes = [case.node for case in cases]
    outputs = [_leaves(case.computed) for case in cases]
    graph = Graph(tuple(inputs.params), outputs, (), nodes[0].op)
    expected = iter(compile_graph(graph)(*inputs.arrays))
    sizes = iter(_sizes(inputs, nodes))
    try:
        results = iter(_twice(compiler, options, graph, inputs.arrays))
    except Exception as error:  # noqa: BLE001  whatever it is, it belongs in the report
        return error
    return [
        _wrong(node, inputs.dtype, [next(results) for _ in each], [next(expected) for _ in each], next(sizes))
        for node, each in zip(nodes, outputs, strict=True)
    ]


def _leaves(node: Expr) -> list[Expr]:
    return [build("elem", node, i) for i in range(len(node.dtype))] if node.has_several else [node]


def _twice(
    compiler: str | Compiler, options: Mapping[str, Any], graph: Graph, arrays: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The results of a first run, after a second one; `AssertionError` where a run changes its arguments."""
    compiled = compile_by(compiler, graph, options)
    given = [array.copy() for array in arrays]
    results = [np.asarray(result) for result in compiled(*given)]
    for array, before in zip(given, arrays, strict=True):
        if wrong := difference(array, before):
            raise AssertionError(f"an argument was written: {wrong}")
    compiled(*[array * 2 if array.dtype.kind == "f" else array for array in arrays])
    return results


def _sizes(inputs: Inputs, nodes: Sequence[Expr]) -> list[np.ndarray | None]:
    """For each node of an op that sums up, what the op gives of its operands' magnitudes."""
    row = OPS[nodes[0].op]
    sums_up = row.family in (Family.REDUCTION, Family.CUMULATIVE, Family.CONTRACTION)
    if not (sums_up and row.tolerance.ulps and inputs.dtype.kind in row.tolerance.kinds):
        return [None] * len(nodes)
    magnitudes = [
        build(node.op, *apply_args(node, "scope", None, lambda each, _: (build("abs", each), None))[0])
        for node in nodes
    ]
    return list(compile_graph(Graph(tuple(inputs.params), magnitudes))(*inputs.arrays))


def _wrong(
    node: Expr, dtype: dt.DType, results: Sequence[Any], expected: Sequence[Any], size: np.ndarray | None
) -> str:
    row = OPS[node.op]
    for result, wanted in zip(results, expected, strict=True):
        if row.family in (Family.FACTORIZATION, Family.FOURIER):
            size = np.abs(wanted).max(initial=0.0)
        ulps = row.tolerance.ulps if dtype.kind in row.tolerance.kinds else 0
        if wrong := difference(result, wanted, ulps=ulps, signed_zeros=row.tolerance.signed_zeros, scale=size):
            return wrong
    return ""


# Programs


def _try_program(
    report: Report, compiler: str | Compiler, options: Mapping[str, Any], name: str, program: Program
) -> None:
    log: list[Any] = []
    graph, runs = program.make(log)
    expected = [_outcome(compile_graph(graph), arrays, log) for arrays in runs]
    try:
        compiled = compile_by(compiler, graph, options)
    except NotImplementedError as error:
        report.lacks[f"program {name}"] = str(error)
        return
    except Exception as error:  # noqa: BLE001  whatever it is, it belongs in the report
        report.differs[f"program {name}"] = _raised(error)
        return
    for i, (arrays, (results, shown)) in enumerate(zip(runs, expected, strict=True)):
        came, also_shown = _outcome(compiled, arrays, log)
        wrong = _other_outcome(came, results, program.ulps) or (
            "" if shown == also_shown else f"callbacks were shown {also_shown}, not {shown}"
        )
        if wrong:
            report.differs[f"program {name}, run {i}"] = wrong
        else:
            report.agreed += 1


def _outcome(compiled: Any, arrays: Sequence[np.ndarray], log: list[Any]) -> tuple[Any, list[Any]]:
    """What a run returns or raises, and what it has shown."""
    log.clear()
    try:
        came: Any = [np.array(result) for result in compiled(*[np.array(array) for array in arrays])]
    except Exception as error:  # noqa: BLE001  a program's error is a result like any other
        came = error
    return came, list(log)


def _other_outcome(came: Any, expected: Any, ulps: int) -> str:
    if isinstance(expected, Exception) or isinstance(came, Exception):
        same = type(came) is type(expected) and str(came) == str(expected)
        return "" if same else f"{came!r} came, {expected!r} was expected"
    for i, (result, wanted) in enumerate(zip(came, expected, strict=True)):
        size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0) if wanted.dtype.kind in "fc" else None
        if wrong := difference(result, wanted, ulps=ulps, scale=size):
            return f"result {i} {wrong}"
    return ""
