"""``x.item()`` and ``x.tolist()`` of traced arrays are Python numbers, and lists of them."""

import cProfile

import numpy as np
import pytest

import lamina
from tests.support.undecorated import assert_agrees, outcome


def matrix():
    return np.arange(6.0).reshape(2, 3) - 2


MAKERS = (
    lambda: (matrix(),),
    lambda: (-matrix(),),
    lambda: (np.arange(16).reshape(8, 2).T[:, 1::3],),
    lambda: (matrix().astype(np.float32) / 3,),
)


def items(x):
    return x.item(0), x[0, 0].item(), x.item(1, 2), x.item(-1), x.item((1, 0)), x[:1, :1].item(), x.item(np.int64(3))


def kinds(x):
    z = x[0, ..., 1]  # an array without axes
    return (x > 0).item(1), (x * 1j).item(2), x.astype(np.int8).item(3), z.item(), z.item(0), x.sum().item(), z.tolist()


def weak(x):
    y = x.astype(np.float32)
    return y * x.item(1), y * x[0, 1], isinstance(x.item(0), float), type(x.tolist()[0][1])


def lists(x):
    found = x.tolist()
    found.append(x[0].tolist())
    found[0][1] += 1
    x[0] = 9
    return found, sum(found[1]), max(found[0]), len(found), (x[:0].tolist(), x[:, :0].tolist(), (x > 1).tolist())


def in_loops(x):
    total = 0
    for i in range(x.size):
        total += x.item(i) * 2
        for j in range(x.shape[1]):
            total -= x.item(i % 2, j)
    for row in x.tolist():
        for value in row:
            total = total + value if value > 0 else total - 1
    return total


def written_later(x):
    first, rows = x.item(1), x.tolist()
    x += 10
    return first, rows, x.item(1)


def of_one_of_two(x):
    either = x if x[0, 0] > 0 else (x > 1)
    turned = x if x[0, 1] > 0 else x[:, ::-1]
    rows = either.tolist()
    rows.append(either[0, 0].item())
    return rows, turned.tolist(), turned.item(1), either.item(0)


def lists_of_branches(x):
    if x[0, 0] > 0:
        first = second = [x[0, 0], 1.0]
    else:
        first = second = [x[0, 1].item(), 2.0]
    second[1] += 5
    first.append(x.sum())
    return first, second, first is second


@pytest.mark.parametrize(
    "program", [items, kinds, weak, lists, in_loops, written_later, of_one_of_two, lists_of_branches]
)
def test_numbers_and_lists_of_them(program) -> None:
    assert_agrees(program, *MAKERS)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.item(),
        lambda x: x.item(6),
        lambda x: x.item(-7),
        lambda x: x.item(0, 3),
        lambda x: x.item(1, 1, 1),
        lambda x: x[0, 0].item(1),
        lambda x: x[0, 0].item(0, 0),
        lambda x: x.item(1.5),
        lambda x: x.item(True),
        lambda x: x.item(None),
        lambda x: x[0].item(int(x[0, 0]) + 5),
        lambda x: x.item(0).item(),
        lambda x: x.item(0).tolist(),
    ],
)
def test_errors_are_numpys(program) -> None:
    assert_agrees(program, lambda: (matrix(),))
    theirs, ours = (outcome(each, (matrix(),))[0] for each in (program, lamina.defn(program, strict=True)))
    assert not isinstance(theirs, (ValueError, AttributeError)) or str(ours) == str(theirs)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_list_that_is_two_in_one_branch_alone_runs_as_it_is(is_first: bool) -> None:
    def program(x):
        if x[0] > 0:
            first = second = [x[0]]
        else:
            first, second = [x[1]], [x[1]]
        second[0] = 7.0
        return first, second

    given = np.array([1.0 if is_first else -1.0, 2.0])
    with pytest.warns(lamina.errors.LaminaWarning, match="is a list that is two variables in one of them alone"):
        assert lamina.defn(program)(given) == program(given)


def test_many_elements_are_no_list_of_numbers() -> None:
    with pytest.warns(lamina.errors.LaminaWarning, match=r"tolist\(\) of 2000 elements"):
        assert lamina.defn(lambda x: x.tolist())(np.arange(2000)) == list(range(2000))


def test_a_long_sum_of_python_numbers_is_traced_in_linear_time() -> None:
    counts = [0, 0]
    for place, length in enumerate((250, 1000)):
        x = np.arange(length)
        profile = cProfile.Profile()
        with profile:
            lamina.trace(lambda x: sum(x.tolist()), x)
        counts[place] = sum(entry.callcount for entry in profile.getstats())
    assert counts[1] < 5 * counts[0]
