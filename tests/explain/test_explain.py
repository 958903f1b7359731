"""What is explained is what the program does: operations, kernels, bytes, copies, memory, loops, numbers."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native import planned
from lamina.compilers.native.execute import executable
from lamina.explain.report import Explanation, Kernel, Line
from lamina.program import scope
from lamina.program.record import COMBINE, instructions_of
from lamina.program.record import Kernel as ProgramKernel
from tests.support.random_programs import program

X = np.arange(12.0).reshape(3, 4)  # 96 bytes


def a_chain_of_views(x):
    turned = x.T
    part = turned[1:, ::2]
    return part + 1


def softmax(x):
    shifted = x - x.max(axis=1, keepdims=True)
    e = np.exp(shifted)
    return e / e.sum(axis=1, keepdims=True)


def a_reshape_of_a_transpose(x):
    turned = x.T
    flat = turned.reshape(-1)
    return flat[1:] * 2


def a_product(x, y):
    z = x @ y
    return np.sqrt(z)


def a_staged_loop(x, n):
    y = x * 1
    for i in range(n):
        y += x * i
    return y


def an_unrolled_loop(x, n):
    rows = []
    for i in range(n):
        rows.append(x[i] * i)  # noqa: PERF401  which is what is tested
    return rows[0] + rows[-1]


def a_pinned_number(x, n):
    zeros = np.zeros(n)
    return x + zeros


def a_fallback(x):
    if x[0, 0] > 0:
        return [x]
    return x.sum()


def a_write(x):
    x[1] = x[1] * 2


def a_copy(x):
    y = x.copy()
    y[0] = 1
    return x, y


def joined(x):
    return np.concatenate([x, x + 1])


def a_helper(x):
    return x * 2


def calls(x):
    once = a_helper(x)
    return once + a_helper(x + 1)


def lines_of(explained: Explanation) -> dict[str, Line]:
    return {line.text: line for line in explained.lines}


def fates(line: Line) -> list[tuple[str, str]]:
    return [(operation.name, operation.fate) for operation in line.operations]


def bytes_of(kernel: Kernel) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    reads = [(operand.name, operand.nbytes) for operand in kernel.reads]
    return reads, [(operand.name, operand.nbytes) for operand in kernel.writes]


# Each kind of operation


def test_views_move_no_bytes() -> None:
    explained = lamina.explain(a_chain_of_views, X)
    lines = lines_of(explained)
    assert fates(lines["turned = x.T"]) == [("permute", "view")]
    assert fates(lines["part = turned[1:, ::2]"]) == [("slice", "view")]
    assert ("add", "kernel") in fates(lines["return part + 1"])
    assert not explained.copies
    (kernel,) = explained.kernels
    (read,) = kernel.reads
    # 3 by 2 of x.T: x[0, 1:] and x[2, 1:], in the order of x's memory, or turned
    positions = {tuple(sorted(layout.positions().ravel())) for layout in read.layouts}
    assert positions == {(1, 2, 3, 9, 10, 11)}
    assert (read.name, read.nbytes, read.is_exact) == ("x", 48, True)
    assert bytes_of(kernel)[1] == [("result", 48)]
    assert explained.memory == (96, 48, 0)


def test_a_reduction_is_fused_with_what_is_around_it() -> None:
    explained = lamina.explain(softmax, np.zeros((10, 100)))
    lines = lines_of(explained)
    shifted, e, returned = (line.operations for line in lines.values())
    for operations, names in ((shifted, ["max", "subtract"]), (e, ["exp"]), (returned, ["sum", "divide"])):
        assert [operation.name for operation in operations if operation.fate == "kernel"] == names
        assert all(operation.kernels == (1,) for operation in operations if operation.fate == "kernel")
        assert all(operation.fate in ("view", "kernel") for operation in operations)
    (kernel,) = explained.kernels
    assert (kernel.space, kernel.reduced) == ((10, 100), (1,))
    assert bytes_of(kernel)[0] == [("x", 8000)]
    assert bytes_of(kernel)[1][-1] == ("result", 8000)
    first = inspect.getsourcelines(softmax)[1]
    assert kernel.lines == (first + 1, first + 2, first + 3)


def test_a_value_that_is_kept_says_why() -> None:
    (kernel,) = lamina.explain(softmax, np.zeros((10, 100))).kernels
    reasons = {operand.name: operand.reason for operand in kernel.writes}
    assert reasons.pop("result") == ""
    assert list(reasons.values()) == ["it is needed more than once"]  # e, whose exp is not computed twice


def test_a_copy_has_its_reason_and_its_bytes() -> None:
    explained = lamina.explain(a_reshape_of_a_transpose, X)
    lines = lines_of(explained)
    assert fates(lines["turned = x.T"]) == [("permute", "view")]
    (operation,) = lines["flat = turned.reshape(-1)"].operations
    assert (operation.name, operation.fate, operation.nbytes) == ("reshape", "copy", 96)
    assert operation.reason == "no strides read it in the new order"
    (copy,) = explained.copies
    assert (copy.name, copy.nbytes, copy.reason) == ("x", 96, operation.reason)
    assert copy.source.line == inspect.getsourcelines(a_reshape_of_a_transpose)[1] + 2
    assert explained.memory == (96, 88, 96)
    # what reads every element goes through them in the order of `x`
    assert not lamina.explain(lambda x: x.T.reshape(-1) * 2, X).copies
    # the same reshape of what is contiguous copies nothing
    assert not lamina.explain(lambda x: x.reshape(-1) * 2, X).copies


def test_a_library_call() -> None:
    big = np.zeros((200, 300)), np.zeros((300, 100))
    explained = lamina.explain(a_product, *big)
    lines = lines_of(explained)
    assert fates(lines["z = x @ y"]) == [("matmul", "library")]
    assert fates(lines["return np.sqrt(z)"]) == [("sqrt", "kernel")]
    assert explained.memory == (8 * (200 * 300 + 300 * 100), 8 * 200 * 100, 0)  # the root takes the product's memory


def test_a_staged_loop() -> None:
    explained = lamina.explain(a_staged_loop, X, 20)
    line = lines_of(explained)["for i in range(n):"]
    assert [note.kind for note in line.notes] == ["staged"]
    assert ("while", "loop") in fates(line)
    inside = lines_of(explained)["y += x * i"].operations
    (number,) = {number for operation in inside if operation.fate == "kernel" for number in operation.kernels}
    kernel = explained.kernels[number - 1]
    loop = inspect.getsourcelines(a_staged_loop)[1] + 2
    assert kernel.within == (f"loop of line {loop}",)
    assert kernel.space in ((3, 4), (12,))
    assert not explained.pinned


def test_an_unrolled_loop_says_why_and_which_number_that_takes() -> None:
    explained = lamina.explain(an_unrolled_loop, np.zeros((20, 4)), 9)
    line = lines_of(explained)["for i in range(n):"]
    assert [note.kind for note in line.notes] == ["pinned", "unrolled"]
    assert "append() of a list in it" in line.notes[1].text
    (pin,) = explained.pinned
    assert (pin.argument, pin.value) == ("n", 9)
    assert pin.source.line == inspect.getsourcelines(an_unrolled_loop)[1] + 2
    assert "the number of turns of the loop" in pin.reason


def test_a_number_that_a_shape_takes() -> None:
    explained = lamina.explain(a_pinned_number, np.zeros(5), 5)
    (pin,) = explained.pinned
    assert (pin.argument, pin.value, pin.reason) == ("n", 5, "an index, a length or range(…)")
    assert pin.source.line == inspect.getsourcelines(a_pinned_number)[1] + 1
    assert "n = 5, for an index, a length or range(…)" in str(explained)


def test_a_fallback_says_where_and_why() -> None:
    explained = lamina.explain(a_fallback, X)
    line = inspect.getsourcelines(a_fallback)[1] + 1
    assert explained.fallback is not None and not explained.lines
    assert explained.fallback.source.line == line
    assert "the branches of this if can't be one program" in explained.fallback.reason
    assert str(explained).startswith("a_fallback(x: float64[3, 4]) runs as plain Python, not compiled:\n")
    with pytest.warns(lamina.errors.LaminaWarning) as given:
        lamina.defn(a_fallback)(X)
    assert explained.fallback.reason in str(given[0].message)  # which is what a call says, the remedy with it


def test_a_fallback_for_want_of_elements_has_the_remedy() -> None:
    explained = lamina.explain(lambda x: [1, 2][x.astype(int)[0, 0]], X)
    assert "lamina.fori_loop" in explained.fallback.reason


def test_a_program_that_raises_while_it_is_traced() -> None:
    def wrong(x):
        return x + np.zeros(7)

    explained = lamina.explain(wrong, X)
    assert explained.fallback.reason.startswith("ValueError: ")
    assert explained.fallback.source.line == inspect.getsourcelines(wrong)[1] + 1


def test_arguments_that_are_none() -> None:
    with pytest.raises(TypeError):
        lamina.explain(a_write, np.array(["a"]))


def test_a_write_in_place() -> None:
    explained = lamina.explain(a_write, X.copy())
    (line,) = explained.lines
    (write,) = (operation for operation in line.operations if operation.fate == "write")
    assert write.name == "update"
    kernel = explained.kernels[write.kernels[0] - 1]
    written = kernel.writes[-1]
    assert written.nbytes == 32  # a row of four
    assert list(written.layouts[0].positions().ravel()) == [4, 5, 6, 7]
    assert not explained.copies  # of `x`, which is written where it is
    turned = np.zeros((4, 6))[:, ::2]
    (back,) = lamina.explain(a_write, turned).copies
    assert (back.name, back.reason) == ("x", "its new elements are put back when the program is done")


def test_what_several_layouts_read_is_bounded_by_the_memory() -> None:
    explained = lamina.explain(lambda x: x[2:] + x[1:-1] + x[:-2], np.zeros(10))
    (kernel,) = explained.kernels
    (read,) = kernel.reads
    assert [layout.offset for layout in read.layouts] == [2, 1, 0]
    assert (read.nbytes, read.is_exact) == (80, False)


def test_an_operation_that_has_nothing_to_do() -> None:
    explained = lamina.explain(lambda x: x.reshape(1, 12).sum(axis=0) * 2, X)
    assert dict(fates(explained.lines[0])) == {"reshape": "view", "sum": "nothing", "multiply": "kernel"}


def test_a_copy_that_the_program_asks_for() -> None:
    explained = lamina.explain(a_copy, X)
    (operation,) = lines_of(explained)["y = x.copy()"].operations
    assert (operation.fate, operation.nbytes, operation.reason) == ("copy", 96, "the program asks for it")
    (write,) = (each for each in lines_of(explained)["y[0] = 1"].operations if each.fate == "write")
    kernel = explained.kernels[write.kernels[0] - 1]
    assert bytes_of(kernel)[1][-1] == ("result", 32)  # of the two, x is the argument itself
    assert explained.memory == (96, 96, 0)


def test_parts_that_are_put_together() -> None:
    explained = lamina.explain(joined, X)
    (line,) = explained.lines
    copied = [operation for operation in line.operations if operation.fate == "copy"]
    assert [(each.name, each.nbytes, each.reason) for each in copied] == [
        ("concat", 96, "parts are put into one memory")  # x; x + 1 is computed where it belongs
    ]
    assert explained.memory == (96, 192, 0)


def test_functions_that_are_called_are_explained_too() -> None:
    explained = lamina.explain(calls, X)
    assert [line.source.function for line in explained.lines] == ["calls", "calls", "a_helper"]
    assert fates(explained.lines[-1]).count(("multiply", "kernel")) == 2


def test_an_argument_that_no_layout_says_is_copied_for_the_call() -> None:
    swapped = X.astype(X.dtype.newbyteorder())
    explained = lamina.explain(lambda x: x + 1, swapped)
    (copy,) = explained.copies
    assert (copy.name, copy.nbytes, copy.reason) == ("x", 96, "its bytes are in the other order")
    assert explained.memory == (96, 96, 96)


def test_a_loop_with_a_library_call_in_it_runs_from_python() -> None:
    def powers(x, n):
        y = x * 1
        for _ in range(n):
            y = np.sort(y * -1, axis=0)
        return y

    explained = lamina.explain(powers, X, 20)
    (loop,) = (each for line in explained.lines for each in line.operations if each.fate == "loop")
    assert loop.reason == "it runs from Python, since sort in it is a library call"


# The whole


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "views": (a_chain_of_views, (X,)),
    "softmax": (softmax, (np.zeros((10, 100)),)),
    "copy": (a_reshape_of_a_transpose, (X,)),
    "library": (a_product, (np.zeros((200, 300)), np.zeros((300, 100)))),
    "staged": (a_staged_loop, (X, 20)),
    "unrolled": (an_unrolled_loop, (np.zeros((20, 4)), 9)),
    "pinned": (a_pinned_number, (np.zeros(5), 5)),
    "write": (a_write, (X.copy(),)),
    "asked": (a_copy, (X,)),
    "joined": (joined, (X,)),
    "calls": (calls, (X,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_those_of_the_program(name: str) -> None:
    function, args = PROGRAMS[name]
    explained = lamina.explain(function, *args)
    kernels = [each for each in instructions_of(explained.program.block) if isinstance(each, ProgramKernel)]
    spaces = [(each.space, each.reduced) for each in kernels]
    assert [(each.space, each.reduced) for each in explained.kernels] == spaces
    for mine, own in zip(explained.kernels, kernels, strict=True):
        assert len(mine.writes) == len(own.stores)
        loaded = {term.static[0] for term in own.terms if term.op == "load"} - set(own.writes)
        assert len(mine.reads) == len(loaded)
    named = {number for line in explained.lines for operation in line.operations for number in operation.kernels}
    assert named <= set(range(1, len(kernels) + 1))


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_operation_of_a_kernel_is_one_of_a_line(name: str) -> None:
    """Op by op: what the kernels compute is there among the lines' operations, under the kernel's number."""
    function, args = PROGRAMS[name]
    explained = lamina.explain(function, *args)
    kernels = [each for each in instructions_of(explained.program.block) if isinstance(each, ProgramKernel)]
    for number, kernel in enumerate(kernels, 1):
        ops = {term.op for term in kernel.terms} - {"load", "constant", "position", "within", "with"}
        told = {each.name for line in explained.lines for each in line.operations if number in each.kernels}
        told |= {COMBINE[name] for name in told & COMBINE.keys()}  # of a few elements
        assert ops <= told, (number, ops, told)


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_is_what_the_compiled_program_takes(name: str) -> None:
    function, args = PROGRAMS[name]
    explained = lamina.explain(function, *args)
    runs = executable(planned(explained.graph))
    made = [int(np.prod(shape)) * np.dtype(dtype).itemsize for _, shape, dtype in runs.made]
    arenas = sum(call.arena_bytes for call in runs.calls)  # each array at a multiple of 64
    least = explained.memory.peak
    assert least <= sum(made) + arenas <= least + 64 * (len(explained.program.buffers) + 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_says_what_the_fields_say(name: str) -> None:
    function, args = PROGRAMS[name]
    explained = lamina.explain(function, *args)
    text = str(explained)
    assert all(line.text in text for line in explained.lines)
    assert all(f"{copy.nbytes:,} bytes" in text and copy.reason in text for copy in explained.copies)
    assert f"holds {explained.memory.peak:,} bytes" in text
    assert all(f"\n  {kernel.number}  " in text for kernel in explained.kernels)
    assert "file" not in repr(explained) and function.__name__ in repr(explained)


def test_a_decorated_function_is_explained_like_itself() -> None:
    assert str(lamina.explain(lamina.defn(softmax), X)) == str(lamina.explain(softmax, X))


def test_what_is_too_large_to_compile_runs_in_the_evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope, "MOST_BUFFERS", 3)

    def long(x):
        for k in range(1, 5):
            x = np.sort(x[:-k])
        return x

    explained = lamina.explain(long, np.arange(20.0))
    assert "more than 3 buffers" in explained.evaluated and explained.graph is not None and explained.program is None
    assert str(explained) == (
        'long(x: float64[20]) with compiler="native" runs in the evaluator, node by node:\n'
        "  as a program it has more than 3 buffers, which would take long to compile"
    )
    np.testing.assert_array_equal(lamina.defn(long, compiler="native")(np.arange(20.0)), np.arange(10.0))  # no warning


def test_nothing_is_run() -> None:
    x = X.copy()
    lamina.explain(a_write, x)
    np.testing.assert_array_equal(x, X)


def test_specs_stand_for_arrays() -> None:
    explained = lamina.explain(softmax, lamina.Spec(lamina.float32, (10, 100)))
    assert explained.arguments == ("x: float32[10, 100]",)
    assert explained.kernels[0].reads[0].nbytes == 4000


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_explained_whole(seed: int) -> None:
    """What kernels compute is on the lines, but for copies of results, which no line makes, and places of indices."""
    drawn = program(seed)
    explained = lamina.explain(drawn.function, *drawn.arguments())
    if explained.fallback is not None:
        return
    kernels = [each for each in instructions_of(explained.program.block) if isinstance(each, ProgramKernel)]
    assert len(explained.kernels) == len(kernels)
    for number, kernel in enumerate(kernels, 1):
        ops = {term.op for term in kernel.terms} - {"load", "constant", "position", "within", "with", "copy"}
        told = {each.name for line in explained.lines for each in line.operations if number in each.kernels}
        told |= {COMBINE[name] for name in told & COMBINE.keys()}  # of a few elements
        if "gather" in told:
            ops -= {"less", "add", "where", "cast"}
        assert ops <= told, drawn.source
    assert str(explained)
