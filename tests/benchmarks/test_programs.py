"""The programs of the benchmarks: what competes with their source computes the same, and lamina traces them."""

import numpy as np
import pytest

import lamina
from benchmarks.competitors import FORMS, rebound
from benchmarks.programs import PROGRAMS, Program
from benchmarks.worker import difference

# Those of the gallery have tests of their own, and no twins.
OWN = [pytest.param(program, id=program.name) for program in PROGRAMS if program.group != "gallery"]
# It runs as plain Python: the length of its result depends on elements.
UNTRACED = {"histogram"}


def test_names_tell_programs_apart() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names) >= 30
    assert all(len(program.sizes) == 3 and list(program.sizes) == sorted(program.sizes) for program in PROGRAMS)


@pytest.mark.parametrize("program", [each for each in OWN if each.values[0].loops])
def test_loops_compute_what_the_source_does(program: Program) -> None:
    """As plain Python, where `prange` is `range`."""
    assert program.loops is not None
    expected, found = program.source(*program.made("small")), program.loops(*program.made("small"))
    assert difference(expected, found, program.tolerance) == ""


@pytest.mark.parametrize("program", [each for each in OWN if each.id not in UNTRACED])
def test_lamina_computes_what_numpy_does(program: Program) -> None:
    """The results and their dtypes, and what was written into the arguments."""
    arguments, given = program.made("small"), program.made("small")
    expected = program.source(*arguments)
    found = lamina.defn(program.source, compiler="native", strict=True)(*given)
    assert difference(expected, found, program.tolerance, dtypes=True) == ""
    assert difference(arguments, given, program.tolerance, dtypes=True) == ""


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("competitor", ["Numba", "JAX", "numexpr"])
@pytest.mark.parametrize("program", OWN)
def test_peers_compute_what_numpy_does(program: Program, competitor: str) -> None:
    pytest.importorskip(competitor.lower())
    expected = program.source(*program.made("small"))
    try:
        forms = list(FORMS[competitor](program, "native"))
    except NotImplementedError as absent:
        pytest.skip(str(absent))
    found = forms[0].make()(*map(forms[0].given, program.made("small")))
    assert difference(expected, found, program.tolerance) == ""


def helper(x: float) -> float:
    return np.float64(x) + 1


def caller(x: float) -> float:
    return helper(x) * 2


def test_a_function_is_bound_to_other_names_with_its_helpers() -> None:
    class Other:
        float64 = staticmethod(lambda x: 10 * x)

    assert rebound(caller, {"np": Other}, lambda function: function)(3) == 62
    assert caller(3) == 8
