"""The programs that lie beside the checkout: small NumPy programs, as people write them, decorated and not.

Each maker draws from one generator, so arguments are made once and copied; arrays that share memory still do.
"""

import copy
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from tests.support.undecorated import differences

BESIDE = Path(__file__).parents[2] / "shared" / "programs.py"


def _programs() -> list[tuple[Callable[..., Any], tuple[Callable[[], tuple[Any, ...]], ...]]]:
    if not BESIDE.exists():
        return []
    spec = importlib.util.spec_from_file_location("shared_programs", BESIDE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.PROGRAMS)


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Equal arguments; arrays of one memory are again of one memory."""
    memo: dict[int, np.ndarray] = {}

    def fresh(thing: Any) -> Any:
        if isinstance(thing, (tuple, list)):
            return type(thing)(map(fresh, thing))
        if not isinstance(thing, np.ndarray):
            return copy.copy(thing)
        base = thing if thing.base is None else thing.base
        new = memo.setdefault(id(base), base.copy(order="K"))
        shift = thing.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        flat = new.reshape(-1, order="A").view(np.uint8)[shift:].view(thing.dtype)
        return np.lib.stride_tricks.as_strided(flat, thing.shape, thing.strides)

    return tuple(fresh(thing) for thing in arguments)


PROGRAMS = _programs()


@pytest.mark.skipif(not PROGRAMS, reason="shared/programs.py is not beside the checkout")
@pytest.mark.parametrize(("function", "makers"), PROGRAMS, ids=[function.__name__ for function, _ in PROGRAMS])
def test_a_program_decorated_is_the_program(function, makers) -> None:
    for maker in makers:
        arguments = maker()
        decorated = lamina.defn(function, strict=True)
        for call in ("first", "second", "third"):
            found = differences(function, decorated, lambda: _copied(arguments))  # noqa: B023
            assert not found, f"{call} call: {'; '.join(found)}"


@pytest.mark.skipif(not PROGRAMS, reason="shared/programs.py is not beside the checkout")
def test_one_compiled_function_takes_the_arguments_of_all_makers() -> None:
    for function, makers in PROGRAMS:
        decorated = lamina.defn(function, strict=True)
        for arguments in [maker() for maker in makers] * 2:
            found = differences(function, decorated, lambda: _copied(arguments))  # noqa: B023
            assert not found, f"{function.__name__}: {'; '.join(found)}"
