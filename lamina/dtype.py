"""Dtypes: how many bits an element has, what it means, how dtypes mix, and their bridge to NumPy and ml_dtypes.

Everything that depends on a dtype is derived from its one row in the table below: name, bits, kind and NumPy dtype.
Adding a row (``int2``, a ``float8``) is all that a new dtype needs.

Promotion is NumPy's (NEP 50) for NumPy's own dtypes. The same three rules cover the others:

* integers: the wider one; of a signed and an unsigned one, the narrowest signed dtype that holds both (``int4`` and
  ``uint4`` give ``int8``; ``int4`` and ``uint8`` give ``int16``), and float64 where there is none;
* a float and anything else: the narrowest float that holds every value of all of them, and float64 where none does
  (``bfloat16`` and ``float16`` give ``float32``; ``bfloat16`` and ``int8`` give ``bfloat16``, ``bfloat16`` and
  ``int16`` give ``float32``, just as ``float16`` and ``int16`` do);
* a complex dtype: the complex dtype whose real part holds what the second rule gives.

Each rule looks at the set of dtypes at once, so their order never matters. Two at a time it would, in NumPy as here:
(int16 with uint16) with float32 is float64, but int16 with (uint16 with float32) is float32.

This module imports nothing of lamina; `lamina.array` puts its dtypes to use.
"""

import builtins
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["bool", "signed", "unsigned", "float", "complex"]


@dataclass(frozen=True, slots=True)
class IntegerLimits:
    """The range of an integer dtype: ``bits``, ``min``, ``max``, ``dtype``."""

    bits: int
    min: int
    max: int
    dtype: "DType"


@dataclass(frozen=True, slots=True)
class FloatLimits:
    """The range and precision of a float dtype, as Python floats; those of the real part for a complex one."""

    bits: int
    min: float
    max: float
    eps: float
    smallest_normal: float
    smallest_subnormal: float
    dtype: "DType"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DType:
    """The type of an array's elements. There is one object for each dtype, a name of this module.

    >>> import lamina.dtype
    >>> int4 = lamina.dtype.int4
    >>> int4, int4.bits, int4.kind, int4.is_packed, int4.min, int4.max
    (lamina.int4, 4, 'signed', True, -8, 7)

    A dtype equals the NumPy dtype of its name, and NumPy takes it where it takes a dtype:

    >>> import numpy as np
    >>> lamina.dtype.float32 == np.float32, np.zeros(2, lamina.dtype.float32).dtype
    (True, dtype('float32'))
    """

    name: str
    bits: int
    kind: Kind
    numpy: "np.dtype[Any]"

    @property
    def is_packed(self) -> builtins.bool:
        """Whether an element is narrower than a byte, so that several share one."""
        return self.bits < 8

    @property
    def itemsize(self) -> int:
        """The bytes of an element; TypeError for a packed dtype."""
        if self.is_packed:
            raise TypeError(f"an element of {self} has {self.bits} bits, no whole bytes: use dtype.bits")
        return self.bits // 8

    @property
    def real(self) -> "DType":
        """The dtype of the real part: that of half the bits for a complex dtype, else the dtype itself."""
        if self.kind != "complex":
            return self
        return BY_NUMPY[np.empty(0, self.numpy).real.dtype]

    @property
    def limits(self) -> IntegerLimits | FloatLimits:
        """The range of the dtype; of the real part for a complex one. `bool` is the integers 0 and 1."""
        return _limits(self)

    @property
    def min(self) -> int | float:
        """The least finite value."""
        return _limits(self).min

    @property
    def max(self) -> int | float:
        """The greatest finite value."""
        return _limits(self).max

    @property
    def eps(self) -> float:
        """The distance from 1 to the next value; TypeError unless the dtype is a float or complex one."""
        return finfo(self).eps

    @property
    def smallest_normal(self) -> float:
        """The least positive value of full precision; TypeError unless the dtype is a float or complex one."""
        return finfo(self).smallest_normal

    def nbytes(self, count: int) -> int:
        """The bytes that ``count`` elements in a row take.

        >>> import lamina.dtype
        >>> lamina.dtype.int4.nbytes(3), lamina.dtype.float64.nbytes(3)
        (2, 24)
        """
        return (count * self.bits + 7) // 8

    # NumPy (2.4 and newer, then older ones) reads these where it is given a dtype.
    @property
    def __numpy_dtype__(self) -> "np.dtype[Any]":
        return self.numpy

    @property
    def dtype(self) -> "np.dtype[Any]":
        """The NumPy dtype, under the name by which NumPy looks for it."""
        return self.numpy

    def __eq__(self, other: object) -> builtins.bool:
        if other is self:
            return True
        if isinstance(other, DType) or not isinstance(other, np.dtype | type | str):
            return NotImplemented
        try:
            return builtins.bool(self.numpy == np.dtype(other))
        except (TypeError, ValueError):  # a name or a class that is no dtype
            return False

    def __hash__(self) -> int:
        return hash(self.numpy)

    def __reduce__(self) -> tuple[Callable[[str], "DType"], tuple[str]]:
        return _named, (self.name,)

    def __repr__(self) -> str:
        return f"lamina.{self.name}"

    def __str__(self) -> str:
        return self.name


DTYPES: dict[str, DType] = {}
"""Every dtype by its name, in the order of the table."""


def _row(name: str, bits: int, kind: Kind, numpy_type: Any) -> DType:
    if bits < 8 and (8 % bits or kind not in ("signed", "unsigned")):
        raise ValueError(f"{name}: a packed dtype is an integer whose width divides 8, but got {kind} of {bits} bits")
    return DTYPES.setdefault(name, DType(name, bits, kind, np.dtype(numpy_type)))


# fmt: off
bool       = _row("bool",         8, "bool",     np.bool_)
int4       = _row("int4",         4, "signed",   ml_dtypes.int4)
int8       = _row("int8",         8, "signed",   np.int8)
int16      = _row("int16",       16, "signed",   np.int16)
int32      = _row("int32",       32, "signed",   np.int32)
int64      = _row("int64",       64, "signed",   np.int64)
uint4      = _row("uint4",        4, "unsigned", ml_dtypes.uint4)
uint8      = _row("uint8",        8, "unsigned", np.uint8)
uint16     = _row("uint16",      16, "unsigned", np.uint16)
uint32     = _row("uint32",      32, "unsigned", np.uint32)
uint64     = _row("uint64",      64, "unsigned", np.uint64)
float16    = _row("float16",     16, "float",    np.float16)
bfloat16   = _row("bfloat16",    16, "float",    ml_dtypes.bfloat16)
float32    = _row("float32",     32, "float",    np.float32)
float64    = _row("float64",     64, "float",    np.float64)
complex64  = _row("complex64",   64, "complex",  np.complex64)
complex128 = _row("complex128", 128, "complex",  np.complex128)
# fmt: on

BY_NUMPY: dict["np.dtype[Any]", DType] = {d.numpy: d for d in DTYPES.values()}
"""Every dtype by its NumPy dtype of native byte order."""

WEAK: dict[type, DType] = {builtins.bool: bool, int: int64, float: float64, complex: complex128}
"""The dtype that a Python number of each type has where no array decides."""


def _named(name: str) -> DType:
    return DTYPES[name]


def of_kind(*kinds: Kind) -> tuple[DType, ...]:
    """The dtypes of these kinds, narrowest first.

    >>> of_kind("float")
    (lamina.float16, lamina.bfloat16, lamina.float32, lamina.float64)
    """
    return tuple(sorted((d for d in DTYPES.values() if d.kind in kinds), key=lambda d: d.bits))


@functools.cache
def _limits(dtype: DType) -> IntegerLimits | FloatLimits:
    if dtype.kind in ("float", "complex"):
        info: Any = ml_dtypes.finfo(dtype.real.numpy)  # type: ignore[no-untyped-call]
        least, most, eps = float(info.min), float(info.max), float(info.eps)
        normal, subnormal = float(info.smallest_normal), float(info.smallest_subnormal)
        return FloatLimits(dtype.real.bits, least, most, eps, normal, subnormal, dtype.real)
    bits = 1 if dtype.kind == "bool" else dtype.bits
    if dtype.kind == "signed":
        return IntegerLimits(dtype.bits, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1, dtype)
    return IntegerLimits(dtype.bits, 0, 2**bits - 1, dtype)


def finfo(dtype: object) -> FloatLimits:
    """The limits of a float dtype, or of a complex dtype's real part.

    Raises TypeError for any other dtype.

    >>> finfo(bfloat16).eps, finfo("complex64").dtype
    (0.0078125, lamina.float32)
    """
    limits = _limits(from_numpy(dtype))
    if not isinstance(limits, FloatLimits):
        raise TypeError(f"finfo: {limits.dtype} is no float or complex dtype; use iinfo for an integer one")
    return limits


def iinfo(dtype: object) -> IntegerLimits:
    """The limits of an integer dtype.

    Raises TypeError for any other dtype, `bool` included.

    >>> iinfo(uint4).max, iinfo("int64").min
    (15, -9223372036854775808)
    """
    limits = _limits(from_numpy(dtype))
    if isinstance(limits, FloatLimits) or limits.dtype.kind == "bool":
        raise TypeError(f"iinfo: {from_numpy(dtype)} is no integer dtype; use finfo for a float or complex one")
    return limits


# From NumPy

_REFUSED = {
    "O": "object",
    "U": "string",
    "S": "string",
    "T": "string",
    "M": "datetime",
    "m": "timedelta",
    "g": "longdouble",
    "G": "clongdouble",
}


def from_numpy(dtype: object) -> DType:
    """The lamina dtype of a NumPy dtype or whatever stands for one: a scalar type, a Python number type, a name.

    A byte order is no part of a lamina dtype, so ``">f4"`` gives float32.

    Raises TypeError for object, string, datetime, timedelta, structured and extended-precision dtypes, for what lamina
    has no dtype for, and for what is no dtype.

    >>> from_numpy(np.dtype(">f4")), from_numpy(int), from_numpy("bfloat16")
    (lamina.float32, lamina.int64, lamina.bfloat16)
    >>> from_numpy("datetime64[s]")
    Traceback (most recent call last):
    TypeError: lamina has no datetime dtype, but got datetime64[s]; see lamina.dtype.DTYPES
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and dtype in DTYPES:
        return DTYPES[dtype]
    if dtype is None:
        raise TypeError("a dtype was expected, but got None; write lamina.float64 for NumPy's default")
    try:
        found = np.dtype(dtype)  # type: ignore[call-overload]  # whatever np.dtype takes
    except (TypeError, ValueError) as error:
        raise TypeError(f"a dtype was expected, but got {dtype!r}; see lamina.dtype.DTYPES") from error
    known = BY_NUMPY.get(found)
    if known is None and not found.isnative:
        known = BY_NUMPY.get(found.newbyteorder("="))
    if known is None:
        what = "structured" if found.names or found.subdtype else _REFUSED.get(found.char, str(found))
        raise TypeError(f"lamina has no {what} dtype, but got {_shown(dtype, found)}; see lamina.dtype.DTYPES")
    return known


def _shown(given: object, found: "np.dtype[Any]") -> str:
    return f"the class {given.__name__}" if found.char == "O" and isinstance(given, type) else str(found)


# Promotion


@functools.lru_cache(maxsize=4096)
def promote(*dtypes: DType) -> DType:
    """The dtype in which these dtypes meet, by the rules at the top of this module; their order doesn't matter.

    Raises TypeError without any.

    >>> promote(int8, uint8), promote(int32, float32), promote(int4, uint4), promote(bfloat16, float16)
    (lamina.int16, lamina.float64, lamina.int8, lamina.float32)
    """
    if not dtypes:
        raise TypeError("promote takes at least one dtype")
    kinds = {d.kind for d in dtypes}
    if "complex" in kinds:
        real = promote(*(d.real for d in dtypes))
        meet = next(r for r in of_kind("complex") if _holds(r.real, real) or r.real is float64)
    elif "float" in kinds:
        meet = next(f for f in of_kind("float") if all(_holds(f, d) for d in dtypes) or f is float64)
    elif {"signed", "unsigned"} <= kinds:
        widest = max(d.bits for d in dtypes if d.kind == "unsigned")
        signed = max(d.bits for d in dtypes if d.kind == "signed")
        meet = next((s for s in of_kind("signed") if s.bits >= signed and s.bits > widest), float64)
    else:
        # A bool takes no part, whatever the width of the integers.
        meet = max(dtypes, key=lambda d: (d.kind != "bool", d.bits))
    return meet


def _holds(wide: DType, narrow: DType) -> builtins.bool:
    """Whether the float dtype ``wide`` has every value of ``narrow``."""
    big, small = finfo(wide), _limits(narrow)
    if isinstance(small, IntegerLimits):
        return (small.max + 1) * big.eps <= 2 and small.max + 1 <= big.max
    exact = big.eps <= small.eps and big.smallest_subnormal <= small.smallest_subnormal
    return exact and big.max >= small.max and narrow.kind == "float"


def result_type(*things: object) -> DType:
    """`promote` of dtypes and Python number types, where the latter are *weak* (NEP 50).

    Args:
        things: dtypes, or what `from_numpy` takes, and the types bool, int, float and complex, which stand for a
            Python number. A number of a higher kind than every dtype lifts the result to that kind; any other changes
            nothing. Numbers alone give bool, int64, float64 or complex128.

    >>> result_type(int8, int), result_type(float32, float), result_type(int8, float), result_type(bfloat16, complex)
    (lamina.int8, lamina.float32, lamina.float64, lamina.complex64)
    """
    weak = [WEAK[t] for t in things if isinstance(t, type) and t in WEAK]
    strong = [from_numpy(t) for t in things if not (isinstance(t, type) and t in WEAK)]
    if not strong:
        return max(weak, key=kind_rank) if weak else promote()
    meet = promote(*strong)
    lift = max(weak, key=kind_rank, default=meet)
    if kind_rank(lift) <= kind_rank(meet):
        return meet
    # A complex number keeps a float's precision; an integer's or bool's has none to keep.
    return promote(meet, complex64) if meet.kind == "float" else lift


_RANK = {"bool": 0, "signed": 1, "unsigned": 1, "float": 2, "complex": 3}


def kind_rank(dtype: DType) -> int:
    """Where a dtype's kind stands among those that promotion lifts to: bool, integer, float, complex.

    >>> kind_rank(bool), kind_rank(uint64) == kind_rank(int8), kind_rank(bfloat16), kind_rank(complex64)
    (0, True, 2, 3)
    """
    return _RANK[dtype.kind]


def can_cast(from_: object, to: object) -> builtins.bool:
    """Whether every value of one dtype survives in another: NumPy's ``"safe"`` casting, extended to lamina's dtypes.

    >>> can_cast(int4, int8), can_cast(int64, float32), can_cast(float16, bfloat16)
    (True, False, False)
    """
    source, target = from_numpy(from_), from_numpy(to)
    return promote(source, target) is target


_KINDS: dict[str, tuple[Kind, ...]] = {
    "bool": ("bool",),
    "signed integer": ("signed",),
    "unsigned integer": ("unsigned",),
    "integral": ("signed", "unsigned"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("signed", "unsigned", "float", "complex"),
}


def isdtype(dtype: object, kind: object) -> builtins.bool:
    """Whether a dtype is of a kind, as the array API standard names kinds.

    Args:
        dtype: a dtype.
        kind: a dtype, a name (``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
            ``"real floating"``, ``"complex floating"``, ``"numeric"``), or a tuple of these.

    Raises ValueError for a name of no kind, TypeError for what is no dtype.

    >>> isdtype(bfloat16, "real floating"), isdtype(int4, ("bool", "integral")), isdtype(int8, int16)
    (True, True, False)
    """
    found = from_numpy(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, k) for k in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ValueError(f"isdtype: {kind!r} is no kind of dtype; the kinds are {', '.join(map(repr, _KINDS))}")
        return found.kind in _KINDS[kind]
    return found is from_numpy(kind)


def fits(number: int, dtype: DType) -> builtins.bool:
    """Whether a Python integer may take part in an operation of this dtype.

    An integer dtype takes what lies in its range. A float or complex one takes what a Python float holds, as NumPy
    does, though it may round to infinity there.

    >>> fits(127, int8), fits(300, int8), fits(-1, uint64), fits(10**300, float32), fits(10**400, float64)
    (True, False, False, True, False)
    """
    limits = _limits(dtype)
    if isinstance(limits, IntegerLimits):
        return limits.min <= number <= limits.max
    try:
        float(number)
    except OverflowError:
        return False
    return True


def check_fits(number: int, dtype: DType) -> None:
    """Raises OverflowError, in NumPy's words, unless ``number`` `fits` the dtype.

    >>> check_fits(300, int8)
    Traceback (most recent call last):
    OverflowError: Python integer 300 out of bounds for int8, which holds -128 to 127
    """
    if not fits(number, dtype):
        shown = str(number) if abs(number) < 10**100 else "of over 100 digits"
        limits = f"{dtype.min} to {dtype.max}"
        raise OverflowError(f"Python integer {shown} out of bounds for {dtype}, which holds {limits}")


# Values


def cast(values: "NDArray[Any]", dtype: DType) -> "NDArray[Any]":
    """The values in the NumPy dtype of another dtype: a new array, or ``values`` itself if it has that dtype already.

    NumPy's ``astype`` (a complex array's imaginary part is dropped with its warning), but for two points: a float out
    of an integer dtype's range saturates and NaN becomes 0, where NumPy leaves both to the processor; and no
    floating-point warning is given. An integer out of range wraps.

    >>> cast(np.array([300.7, -1e9, np.nan]), int8)
    array([ 127, -128,    0], dtype=int8)
    >>> cast(np.array([300, -9]), int4)
    array([-4, 7], dtype=int4)
    """
    if values.dtype == dtype.numpy:
        return values
    with np.errstate(all="ignore"):
        if dtype.kind not in ("signed", "unsigned"):
            return values.astype(dtype.numpy)
        source = from_numpy(values.dtype)
        if source.kind in ("float", "complex"):
            return _saturated(values.astype(source.real.numpy, copy=False), dtype)
        if dtype.is_packed:
            # Keep the low bits, then read them back with their sign.
            half = 1 << dtype.bits - 1 if dtype.kind == "signed" else 0
            codes = values.astype(np.uint8) & np.uint8((1 << dtype.bits) - 1)
            return ((codes ^ half).astype(np.int8) - np.int8(half)).astype(dtype.numpy)
        return values.astype(dtype.numpy)


def _saturated(values: "NDArray[Any]", dtype: DType) -> "NDArray[Any]":
    if values.dtype.itemsize < 4:
        values = values.astype(np.float32)  # where both bounds are exact
    limits = iinfo(dtype)
    whole = np.int8 if dtype.is_packed else dtype.numpy
    out = np.asarray(values.astype(whole))
    np.copyto(out, limits.min, where=values <= limits.min)
    np.copyto(out, limits.max, where=values >= float(limits.max + 1))
    np.copyto(out, 0, where=np.isnan(values))
    return out.astype(dtype.numpy)


def pack(values: "NDArray[Any]", dtype: DType) -> "NDArray[np.uint8]":
    """The bytes of a packed dtype's elements, in C order: element 0 in the low bits of byte 0.

    >>> pack(np.array([1, -1, 7], int4.numpy), int4)
    array([241,   7], dtype=uint8)
    """
    lanes = 8 // dtype.bits
    codes = np.zeros(-(-values.size // lanes) * lanes, np.uint8)
    codes[: values.size] = values.astype(np.int8).reshape(-1).view(np.uint8) & np.uint8((1 << dtype.bits) - 1)
    packed = np.zeros(codes.size // lanes, np.uint8)
    for lane in range(lanes):
        packed |= codes[lane::lanes] << np.uint8(lane * dtype.bits)
    return packed


def unpack(packed: "NDArray[np.uint8]", dtype: DType) -> "NDArray[Any]":
    """The elements that fill these bytes, as a one-dimensional array of the dtype's NumPy dtype, one a byte.

    >>> unpack(np.array([0xF1, 0x07], np.uint8), int4)
    array([1, -1, 7, 0], dtype=int4)
    """
    lanes = 8 // dtype.bits
    codes = np.empty(packed.size * lanes, np.uint8)
    for lane in range(lanes):
        codes[lane::lanes] = packed >> np.uint8(lane * dtype.bits)
    return cast(codes, dtype)
