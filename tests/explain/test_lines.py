"""The statements of a function around a line, from its file's text alone."""

import linecache

import pytest

from lamina.explain.lines import function_around

TEXT = '''import numpy as np

def outer(x, n):
    """Says what it does."""
    import math
    total = np.zeros(
        n
    )
    for i in range(n):
        if i > 2:  # a head
            total += x
        else:
            total -= x; total *= 2
    def inner(y):
        return (y +
                1)
    while (
        n > 3
    ): n -= 1
    try:
        return inner(total)
    finally:
        pass

double = lambda x: x * 2
'''


@pytest.fixture
def file() -> str:
    name = "<lines of a test>"
    linecache.cache[name] = (len(TEXT), None, TEXT.splitlines(True), name)
    return name


def test_each_statement_has_its_lines(file: str) -> None:
    found = function_around(file, 11)
    assert (found.name, found.line) == ("outer", 3)
    assert [(each.first, each.last, each.text) for each in found.statements] == [
        (6, 8, "total = np.zeros( …"),
        (9, 9, "for i in range(n):"),
        (10, 10, "if i > 2:  # a head"),
        (11, 11, "total += x"),
        (13, 13, "total -= x; total *= 2"),
        (17, 18, "while ( …"),
        (19, 19, "): n -= 1"),
        (20, 20, "try:"),
        (21, 21, "return inner(total)"),
    ]


def test_the_innermost_function_is_found(file: str) -> None:
    found = function_around(file, 16)
    assert (found.name, found.line) == ("inner", 14)
    assert [(each.first, each.last) for each in found.statements] == [(15, 16)]


def test_a_line_of_no_function_stands_alone(file: str) -> None:
    found = function_around(file, 25)
    assert (found.name, [each.text for each in found.statements]) == ("", ["double = lambda x: x * 2"])


def test_a_file_that_is_not_there() -> None:
    found = function_around("<nowhere>", 7)
    assert [tuple(each) for each in found.statements] == [(7, 7, "")]
