"""Graphs as programs: what becomes a kernel, what a layout, what an instruction of its own. Text in, text out."""

from typing import Any

import numpy as np
import pytest

import lamina
from lamina.compilers.native.support import is_native
from lamina.program import Program, fuse, lower
from lamina.program.fuse import stages
from lamina.program.memory import plan
from lamina.program.record import Cond, Copy, Kernel, Library, While, instructions_of

X = lamina.Spec(lamina.float64, (4, 6))


def program(function: Any, *args: Any) -> Program:
    return fuse(lower(lamina.trace(function, *args), is_native))


def text(function: Any, *args: Any) -> str:
    return str(program(function, *args)).partition("\n")[2]


def kinds(program: Program) -> list[str]:
    return [type(each).__name__ for each in instructions_of(program.block)]


def test_movements_are_layouts() -> None:
    def f(x):
        return x.T[::-1, 1:].reshape(3, 2, 3) + 1

    assert text(f, X) == (
        "  %1: float64[3, 2, 3] = kernel [3, 2, 3]:\n"
        "    t0: float64 = %0[-2, -1, 6 + 11]\n"
        "    t1: float64 = add(t0, 1.0: float64)\n"
        "    %1 = t1\n"
        "  return %1"
    )


def test_a_reshape_that_no_layout_says_is_read_in_the_order_before_it() -> None:
    assert text(lambda x: x.T.reshape(-1) * 2, X) == (
        "  %2: float64[24] = kernel [6, 4]:\n"
        "    t0: float64 = %0[1, 6]\n"
        "    t1: float64 = multiply(t0, 2.0: float64)\n"
        "    %2 = t1\n"
        "  return %2"
    )
    # 2 rows of 12 are 2 times 3 of the 6 rows of 4
    assert text(lambda x: x.T.reshape(2, 12).max(axis=1), X) == (
        "  %2: float64[2] = kernel [2, 3 reduced, 4 reduced]:\n"
        "    t0: float64 = %0[3, 1, 6]\n"
        "    t1: float64 = max(t0)\n"
        "    %2 = t1\n"
        "  return %2"
    )


def test_a_reshape_that_is_read_in_parts_is_a_kernel_of_its_own() -> None:
    assert len(program(lambda x: x.T.reshape(-1)[1:], X).block.instructions) == 2


def test_a_reduction_of_few_elements_is_fused_with_what_needs_it() -> None:
    def nearest(x, y):
        return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1).min(axis=1)

    (kernel,) = program(nearest, np.ones((30, 3)), np.ones((20, 3))).block.instructions
    assert isinstance(kernel, Kernel) and (kernel.space, kernel.reduced) == ((30, 20), (1,))


def test_a_row_is_one_kernel() -> None:
    """Three passes over a row, one loop over the rows; exp is computed once."""

    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    assert fuse(lower(lamina.trace(softmax, X), lambda node: True)).block.instructions[1:] == ()
    assert str(fuse(lower(lamina.trace(softmax, X), lambda node: True))).count("exp(") == 1


def test_a_pass_over_a_row_computes_what_it_takes_twice_in_registers() -> None:
    def energy(x):
        inverse = 1 / x
        return (inverse * inverse - inverse).sum()

    def softmax(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def normalised(x):
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True))

    # how many passes come before the last results, and how many buffers there are; what divides a row needs none
    for function, passes, buffers in ((energy, 1, 1), (softmax, 2, 2), (normalised, 2, 1)):
        (kernel,) = program(function, X).block.instructions
        assert max(stages(kernel.stores, kernel.reduced).values()) == passes
        assert len(kernel.stores) == buffers


def test_what_is_dear_and_read_across_is_kept() -> None:
    def f(x):
        y = np.sqrt(x)
        return y[1:] + y[:-1]

    assert kinds(program(f, X)) == ["Kernel", "Kernel"]
    assert kinds(program(lambda x: (x * 2)[1:] + (x * 2)[:-1], X)) == ["Kernel"]


def test_an_op_without_native_code_is_a_library_call() -> None:
    found = program(lambda x: np.sort(x * 2, axis=0) + 1, X)
    assert kinds(found) == ["Kernel", "Library", "Kernel"]
    assert "library call sort(%1)" in str(found)


def test_an_operand_of_a_library_call_is_a_view() -> None:
    large = lamina.Spec(lamina.float64, (100, 120))
    assert kinds(program(lambda x: x[:, :60] @ x.T[:60], large)) == ["Library"]


def test_a_small_product_is_a_kernel() -> None:
    assert kinds(program(lambda x: np.abs(x @ x.T) + 1, X)) == ["Kernel"]


def factorise(a):
    for i in range(len(a)):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return a


def test_a_loop_to_a_length_is_native() -> None:
    found = plan(program(factorise, np.eye(30))).program
    assert not [each for each in instructions_of(found.block) if isinstance(each, Library)]
    assert " where t" in str(found)  # what lies beyond the length is neither read nor written


def loop(x, n):
    for _ in range(n):
        x[1:-1] += x[1:-1] * 0.5
    return x.sum()


def test_a_loop_updates_in_place() -> None:
    planned = plan(program(loop, np.zeros(9), 100))
    found = list(instructions_of(planned.program.block))
    copies = [each for each in found if isinstance(each, Copy)]
    assert not copies  # `x` is written where it is, which nothing can stop halfway
    (turns,) = (each for each in found if isinstance(each, While))
    arrays = [k for k, p in enumerate(turns.params) if planned.program.buffers[p].shape]
    (k,) = arrays
    assert planned.memory[turns.params[k]] == planned.memory[turns.body.outputs[k]]


def test_memory_that_is_needed_afterwards_is_copied() -> None:
    def f(x):
        y = x * 2
        z = y.copy()
        y[0] = 0
        return y + z, z

    def g(x):
        y = x * 2
        z = y + 1
        y[0] = 0
        return y, z

    assert not [each for each in instructions_of(plan(program(g, X)).program.block) if isinstance(each, Copy)]
    results = lamina.defn(f, compiler="native")(np.ones((4, 6)))
    np.testing.assert_array_equal(results[0][0], 2.0)


def test_a_branch_writes_in_place() -> None:
    def f(x, n):
        y = x * 2
        for i in range(n):
            if y[i] > 1:
                y[i] = 0
        return y

    planned = plan(program(f, np.zeros(50), 50))
    found = list(instructions_of(planned.program.block))
    assert any(isinstance(each, Cond) for each in found)
    arrays = [c for c in found if isinstance(c, Copy) and planned.program.buffers[c.target].shape]
    assert not arrays


def test_what_nothing_reads_is_left_out() -> None:
    def f(x):
        x.sum()
        return x + 1

    assert kinds(program(f, X)) == ["Kernel"]


@pytest.mark.parametrize("axis", [0, 1])
def test_what_follows_a_reduction_is_in_its_kernel(axis: int) -> None:
    found = program(lambda x: np.sqrt(x.mean(axis=axis)) + 1, np.ones((40, 60)))
    (kernel,) = found.block.instructions
    assert isinstance(kernel, Kernel) and kernel.reduced == (axis,)


def test_callbacks_stay_in_their_order() -> None:
    def f(x):
        lamina.hook(x + 1, "a", print)
        return lamina.hook(x + 2, "b", print)

    found = program(f, X)
    named = [each.node.args[1] for each in found.block.instructions if isinstance(each, Library)]
    assert named == ["a", "b"]


def test_what_a_turn_leaves_is_memory_of_its_own() -> None:
    """An inner loop that reads an array gives the outer one its memory, which the outer one still needs."""

    def f(x):
        def turn(carry):
            i, a, b = carry
            _, same, _ = lamina.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1], c[2]), (0, b, a))
            return i + 1, same, b

        return lamina.while_loop(lambda c: c[0] < 3, turn, (0, x + 1, x))

    planned = plan(program(f, np.arange(3.0)))
    loop = next(each for each in planned.program.block.instructions if isinstance(each, While))
    kept, taken = planned.memory[loop.params[2]], planned.memory[loop.body.outputs[1]]
    assert loop.body.outputs[2] == loop.params[2] and taken != kept
    assert [e.reason for e in loop.body.instructions if isinstance(e, Copy)] == ["a loop carries it on its own"]
    x = np.arange(3.0)
    for came, expected in zip(lamina.defn(f, compiler="native")(x), f(x), strict=True):
        np.testing.assert_array_equal(came, expected)
