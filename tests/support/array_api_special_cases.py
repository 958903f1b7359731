"""The special cases that the array API standard lists for its elementwise functions, as tables.

A rule is ``x -> result`` or ``x1 x2 -> result``, and ``re im -> re im`` of a complex function. Left of the arrow each
word is a set of values, right of it one result, as `SETS` and `_result` say; ``±0`` and ``±inf`` have either sign.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

nan, inf, pi = math.nan, math.inf, math.pi

VALUES = (
    nan,
    inf,
    -inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.5,
    -2.5,
    2.0**100,
    -(2.0**100),
    2.0**-100,
)


def _is_odd(x: float) -> bool:
    return math.isfinite(x) and x % 2 == 1


SETS: dict[str, Callable[[float], bool]] = {
    "any": lambda x: True,
    "nan": math.isnan,
    "number": lambda x: not math.isnan(x),
    "inf": lambda x: x == inf,
    "-inf": lambda x: x == -inf,
    "±inf": math.isinf,
    "0": lambda x: x == 0 and math.copysign(1, x) > 0,
    "-0": lambda x: x == 0 and math.copysign(1, x) < 0,
    "±0": lambda x: x == 0,
    "1": lambda x: x == 1,
    "-1": lambda x: x == -1,
    "±1": lambda x: abs(x) == 1,
    "not1": lambda x: x != 1,
    "finite": math.isfinite,
    "nonzero": lambda x: x != 0,
    "pos": lambda x: 0 < x < inf,
    "neg": lambda x: -inf < x < 0,
    "posneg": lambda x: x != 0 and math.isfinite(x),
    ">0": lambda x: x > 0,
    "<0": lambda x: x < 0,
    ">1": lambda x: x > 1,
    "<1": lambda x: x < 1,
    "<-1": lambda x: x < -1,
    "|x|>1": lambda x: abs(x) > 1,
    "|x|<1": lambda x: abs(x) < 1,
    "not-inf": lambda x: not math.isinf(x),
    "integer": lambda x: math.isfinite(x) and x == int(x),
    "fraction": lambda x: math.isfinite(x) and x != int(x),
    "odd>0": lambda x: x > 0 and _is_odd(x),
    "odd<0": lambda x: x < 0 and _is_odd(x),
    "even>0": lambda x: x > 0 and not _is_odd(x),
    "even<0": lambda x: x < 0 and not _is_odd(x),
}

UNARY = """
abs          nan -> nan    ±0 -> 0      ±inf -> inf
acos         nan -> nan    |x|>1 -> nan 1 -> 0
acosh        nan -> nan    <1 -> nan    1 -> 0       inf -> inf
asin         nan -> nan    |x|>1 -> nan ±0 -> x
asinh        nan -> nan    ±0 -> x      ±inf -> x
atan         nan -> nan    ±0 -> x      inf -> pi/2  -inf -> -pi/2
atanh        nan -> nan    |x|>1 -> nan 1 -> inf     -1 -> -inf    ±0 -> x
ceil         nan -> nan    ±0 -> x      ±inf -> x    integer -> x
cos          nan -> nan    ±0 -> 1      ±inf -> nan
cosh         nan -> nan    ±0 -> 1      ±inf -> inf
exp          nan -> nan    ±0 -> 1      inf -> inf   -inf -> 0
expm1        nan -> nan    ±0 -> x      inf -> inf   -inf -> -1
floor        nan -> nan    ±0 -> x      ±inf -> x    integer -> x
isfinite     nan -> false  ±inf -> false finite -> true
isinf        nan -> false  ±inf -> true finite -> false
isnan        nan -> true   number -> false
log          nan -> nan    <0 -> nan    ±0 -> -inf   1 -> 0        inf -> inf
log10        nan -> nan    <0 -> nan    ±0 -> -inf   1 -> 0        inf -> inf
log1p        nan -> nan    <-1 -> nan   -1 -> -inf   ±0 -> x       inf -> inf
log2         nan -> nan    <0 -> nan    ±0 -> -inf   1 -> 0        inf -> inf
negative     number -> -x
positive     number -> x
reciprocal   ±0 -> inf*s   ±inf -> 0*s  1 -> 1
round        nan -> nan    ±0 -> x      ±inf -> x    integer -> x
sign         nan -> nan    ±0 -> ±0     >0 -> 1      <0 -> -1
signbit      0 -> false    -0 -> true   >0 -> false  <0 -> true
sin          nan -> nan    ±0 -> x      ±inf -> nan
sinh         nan -> nan    ±0 -> x      ±inf -> x
sqrt         nan -> nan    <0 -> nan    ±0 -> x      inf -> inf
square       nan -> nan    ±0 -> 0      ±inf -> inf
tan          nan -> nan    ±0 -> x      ±inf -> nan
tanh         nan -> nan    ±0 -> x      inf -> 1     -inf -> -1
trunc        nan -> nan    ±0 -> x      ±inf -> x    integer -> x
"""

BINARY = """
add            nan any -> nan          any nan -> nan          inf -inf -> nan         -inf inf -> nan
add            inf inf -> inf          -inf -inf -> -inf       inf finite -> inf       -inf finite -> -inf
add            finite inf -> inf       finite -inf -> -inf     -0 -0 -> -0             -0 0 -> 0
add            0 -0 -> 0               0 0 -> 0                ±0 posneg -> x2         posneg ±0 -> x1
subtract       nan any -> nan          any nan -> nan          inf inf -> nan          -inf -inf -> nan
subtract       inf -inf -> inf         -inf inf -> -inf        inf finite -> inf       -inf finite -> -inf
subtract       finite inf -> -inf      finite -inf -> inf      -0 0 -> -0              -0 -0 -> 0
subtract       0 0 -> 0                0 -0 -> 0               ±0 posneg -> -x2        posneg ±0 -> x1
multiply       nan any -> nan          any nan -> nan          ±inf ±0 -> nan          ±0 ±inf -> nan
multiply       ±inf ±inf -> inf*s      ±inf posneg -> inf*s    posneg ±inf -> inf*s    ±0 finite -> 0*s
divide         nan any -> nan          any nan -> nan          ±inf ±inf -> nan        ±0 ±0 -> nan
divide         ±0 posneg -> 0*s        ±0 ±inf -> 0*s          posneg ±0 -> inf*s      ±inf ±0 -> inf*s
divide         ±inf posneg -> inf*s    posneg ±inf -> 0*s
floor_divide   nan any -> nan          any nan -> nan          ±inf ±inf -> nan        ±0 ±0 -> nan
floor_divide   ±0 posneg -> 0*s        ±0 ±inf -> 0*s          posneg ±0 -> inf*s      ±inf ±0 -> inf*s
floor_divide   ±inf posneg -> inf*s    pos inf -> 0            pos -inf -> -1          neg inf -> -1
floor_divide   neg -inf -> 0
remainder      nan any -> nan          any nan -> nan          ±inf any -> nan         number ±0 -> nan
remainder      ±0 >0 -> 0              ±0 <0 -> -0             pos inf -> x1           pos -inf -> x2
remainder      neg inf -> x2           neg -inf -> x1
pow            not1 nan -> nan         any ±0 -> 1             nan nonzero -> nan      1 number -> 1
pow            |x|>1 inf -> inf        |x|>1 -inf -> 0         ±1 ±inf -> 1            |x|<1 inf -> 0
pow            |x|<1 -inf -> inf       inf >0 -> inf           inf <0 -> 0             -inf odd>0 -> -inf
pow            -inf even>0 -> inf      -inf odd<0 -> -0        -inf even<0 -> 0        0 >0 -> 0
pow            0 <0 -> inf             -0 odd>0 -> -0          -0 even>0 -> 0          -0 odd<0 -> -inf
pow            -0 even<0 -> inf        neg fraction -> nan
atan2          nan any -> nan          any nan -> nan          pos ±0 -> pi/2          neg ±0 -> -pi/2
atan2          0 >0 -> 0               0 0 -> 0                0 -0 -> pi              0 <0 -> pi
atan2          -0 >0 -> -0             -0 0 -> -0              -0 -0 -> -pi            -0 <0 -> -pi
atan2          pos inf -> 0            pos -inf -> pi          neg inf -> -0           neg -inf -> -pi
atan2          inf finite -> pi/2      -inf finite -> -pi/2    inf inf -> pi/4         inf -inf -> 3pi/4
atan2          -inf inf -> -pi/4       -inf -inf -> -3pi/4
hypot          ±inf any -> inf         any ±inf -> inf         nan not-inf -> nan      not-inf nan -> nan
logaddexp      nan any -> nan          any nan -> nan          inf number -> inf       number inf -> inf
maximum        nan any -> nan          any nan -> nan          inf number -> inf       number -inf -> x1
minimum        nan any -> nan          any nan -> nan          inf number -> x2        number -inf -> -inf
copysign       ±0 0 -> 0               ±0 -0 -> -0             ±0 >0 -> 0              ±0 <0 -> -0
copysign       ±inf >0 -> inf          ±inf <0 -> -inf         nan number -> nan       ±1 -0 -> -1
nextafter      nan any -> nan          any nan -> nan          0 -0 -> -0              -0 0 -> 0
nextafter      inf inf -> inf          1 1 -> 1
equal          nan any -> false        any nan -> false        inf inf -> true         ±0 ±0 -> true
equal          ±inf finite -> false    inf -inf -> false       -inf -inf -> true       finite ±inf -> false
not_equal      nan any -> true         any nan -> true         inf inf -> false        ±0 ±0 -> false
less           nan any -> false        any nan -> false        -inf finite -> true     ±0 ±0 -> false
less_equal     nan any -> false        any nan -> false        finite inf -> true      ±0 ±0 -> true
greater        nan any -> false        any nan -> false        inf finite -> true      ±0 ±0 -> false
greater_equal  nan any -> false        any nan -> false        finite -inf -> true     ±0 ±0 -> true
"""

# Each holds for the conjugate too: f(conj z) is conj f(z).
COMPLEX = """
abs     ±inf any -> inf ±0           any ±inf -> inf ±0           nan not-inf -> nan ±0
acos    ±0 0 -> pi/2 -0              ±0 nan -> pi/2 nan           finite inf -> pi/2 -inf      posneg nan -> nan nan
acos    -inf pos -> pi -inf          inf pos -> 0 -inf            -inf inf -> 3pi/4 -inf       inf inf -> pi/4 -inf
acos    ±inf nan -> nan ±inf         nan finite -> nan nan        nan inf -> nan -inf          nan nan -> nan nan
acosh   ±0 0 -> 0 pi/2               finite inf -> inf pi/2       posneg nan -> nan nan        -inf pos -> inf pi
acosh   inf pos -> inf 0             -inf inf -> inf 3pi/4        inf inf -> inf pi/4          ±inf nan -> inf nan
acosh   nan finite -> nan nan        nan inf -> inf nan           nan nan -> nan nan
asinh   0 0 -> 0 0                   pos inf -> inf pi/2          finite nan -> nan nan        inf pos -> inf 0
asinh   inf inf -> inf pi/4          inf nan -> inf nan           nan 0 -> nan 0               nan posneg -> nan nan
asinh   nan inf -> ±inf nan          nan nan -> nan nan
atanh   0 0 -> 0 0                   0 nan -> 0 nan               1 0 -> inf 0                 pos inf -> 0 pi/2
atanh   posneg nan -> nan nan        inf pos -> 0 pi/2            inf inf -> 0 pi/2            inf nan -> 0 nan
atanh   nan finite -> nan nan        nan inf -> ±0 pi/2           nan nan -> nan nan
cosh    0 0 -> 1 0                   0 inf -> nan ±0              0 nan -> nan ±0              pos inf -> nan nan
cosh    pos nan -> nan nan           inf 0 -> inf 0               inf posneg -> inf*cos inf*sin  inf inf -> inf nan
cosh    inf nan -> inf nan           nan 0 -> nan ±0              nan posneg -> nan nan        nan nan -> nan nan
exp     ±0 0 -> 1 0                  finite inf -> nan nan        finite nan -> nan nan        inf 0 -> inf 0
exp     -inf finite -> 0*cos 0*sin   inf posneg -> inf*cos inf*sin  -inf inf -> ±0 ±0            inf inf -> ±inf nan
exp     -inf nan -> ±0 ±0            inf nan -> ±inf nan          nan 0 -> nan 0               nan posneg -> nan nan
exp     nan nan -> nan nan
log     -0 0 -> -inf pi              0 0 -> -inf 0                finite inf -> inf pi/2       finite nan -> nan nan
log     -inf pos -> inf pi           inf pos -> inf 0             -inf inf -> inf 3pi/4        inf inf -> inf pi/4
log     ±inf nan -> inf nan          nan finite -> nan nan        nan inf -> inf nan           nan nan -> nan nan
sinh    0 0 -> 0 0                   0 inf -> ±0 nan              0 nan -> ±0 nan              pos inf -> nan nan
sinh    pos nan -> nan nan           inf 0 -> inf 0               inf posneg -> inf*cos inf*sin  inf inf -> ±inf nan
sinh    inf nan -> ±inf nan          nan 0 -> nan 0               nan posneg -> nan nan        nan nan -> nan nan
sqrt    ±0 0 -> 0 0                  any inf -> inf inf           finite nan -> nan nan        -inf pos -> 0 inf
sqrt    inf pos -> inf 0             -inf nan -> nan ±inf         inf nan -> inf nan           nan finite -> nan nan
sqrt    nan nan -> nan nan
tanh    0 0 -> 0 0                   posneg inf -> nan nan        posneg nan -> nan nan        inf pos -> 1 ±0
tanh    inf inf -> 1 ±0              inf nan -> 1 ±0              nan 0 -> nan 0               nan posneg -> nan nan
tanh    nan nan -> nan nan
"""

_NUMBERS = {
    "nan": nan, "inf": inf, "-inf": -inf, "0": 0.0, "-0": -0.0, "1": 1.0, "-1": -1.0, "true": True, "false": False,
    **{f"{sign}{name}": float(f"{sign}{angle}") for sign in ("", "-") for name, angle in {
        "pi": pi, "pi/2": pi / 2, "pi/4": pi / 4, "3pi/4": 3 * pi / 4
    }.items()},
}  # fmt: skip


class Case(NamedTuple):
    """Operands of a function, its result, and whether the signs of the result's parts matter."""

    function: str
    rule: str
    operands: tuple[float, ...]
    expected: tuple[float, ...]
    signed: tuple[bool, ...]


def _result(word: str, operands: tuple[float, ...]) -> float:
    sign = math.prod(math.copysign(1, x) for x in operands)
    named = {"x": operands[0], "x1": operands[0], "-x": -operands[0], "x2": operands[-1], "-x2": -operands[-1]}
    scaled = {"inf*s": inf * sign, "0*s": 0.0 * sign, "±0": 0.0, "±inf": inf}
    if word.endswith(("cos", "sin")):
        size, _, turn = word.partition("*")
        return math.copysign(_NUMBERS[size], getattr(math, turn)(operands[1]))
    return {**_NUMBERS, **named, **scaled}[word]


def _rows(table: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each rule of a table: the function, the sets of its operands, and its result."""
    for line in filter(None, table.splitlines()):
        name, *words = line.split()
        before, after = words.index("->"), len(words) // words.count("->") - words.index("->") - 1
        for start in range(0, len(words), before + 1 + after):
            arrow = start + before
            yield name, words[start:arrow], words[arrow + 1 : arrow + 1 + after]


def real_cases(table: str) -> Iterator[Case]:
    """Each case of `UNARY` or `BINARY`: every row with all values of its sets."""
    for name, sets, (result,) in _rows(table):
        grid: list[tuple[float, ...]] = [()]
        for word in sets:
            grid = [(*known, x) for known in grid for x in VALUES if SETS[word](x)]
        for operands in grid:
            rule = f"{' '.join(sets)} -> {result}"
            yield Case(name, rule, operands, (_result(result, operands),), ("±" not in result,))


def complex_cases() -> Iterator[Case]:
    """Each case of `COMPLEX`, and its conjugate; parts that are NaN have no sign."""
    for name, (re, im), words in _rows(COMPLEX):
        rule = f"{re} {im} -> {' '.join(words)}"
        for operands in ((x, y) for x in VALUES if SETS[re](x) for y in VALUES if SETS[im](y)):
            expected = (_result(words[0], operands), _result(words[1], operands))
            signed = tuple("±" not in word for word in words)
            yield Case(name, rule, operands, expected, signed)
            conjugate = (operands[0], -operands[1])
            yield Case(name, f"conjugate of {rule}", conjugate, (expected[0], -expected[1]), signed)
