"""How many threads a compiled program may use."""

import operator
import os
from array import array


def _default() -> int:
    given = os.environ.get("LAMINA_NUM_THREADS", "")
    if given:
        return _checked(int(given) if given.isdecimal() else given, "LAMINA_NUM_THREADS")
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not of every system
        return os.cpu_count() or 1


def _checked(count: object, name: str) -> int:
    try:
        number = operator.index(count)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a number of threads, but got {count!r}") from None
    if not 1 <= number <= MAX_THREADS:
        raise ValueError(f"{name}: expected 1 to {MAX_THREADS} threads, but got {number}")
    return number


MAX_THREADS = 64
_count = array("q", [_default()])  # an array, so that native code can read it where it is


def set_num_threads(count: int) -> None:
    """How many threads the loops of a compiled program may use, from the next call on.

    At first that is as many as the process has processors, or what the environment variable ``LAMINA_NUM_THREADS``
    says. Results don't depend on it. Raises `ValueError` unless it is 1 to 64.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    """
    _count[0] = _checked(count, "set_num_threads")


def get_num_threads() -> int:
    """How many threads the loops of a compiled program may use."""
    return _count[0]


def address_of_num_threads() -> int:
    """Where the number is, as 64 bits, for as long as the process lives."""
    return _count.buffer_info()[0]
