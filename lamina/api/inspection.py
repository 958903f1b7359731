"""What lamina is as an array API namespace: the version of the standard, constants, devices, dtypes and abilities."""

import math
import sys
from types import ModuleType
from typing import Any, Literal, TypedDict

from lamina import dtype as dt
from lamina.dtype import DType
from lamina.layout import MAX_RANK
from lamina.operators import FUNCTIONS

__all__ = ["__array_api_version__", "__array_namespace_info__", "e", "inf", "nan", "newaxis", "pi"]

e: float = math.e
"""Euler's number."""

pi: float = math.pi
"""The circumference of a circle of diameter 1."""

inf: float = math.inf
"""Positive infinity."""

nan: float = math.nan
"""Not a number."""

newaxis = None
"""In a key, an axis of extent 1."""

__array_api_version__: str = "2024.12"
"""The version of the Python array API standard that the namespace follows."""

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

Device = Literal["cpu"]

Capabilities = TypedDict(
    "Capabilities", {"boolean indexing": bool, "data-dependent shapes": bool, "max dimensions": int | None}
)

DefaultDTypes = TypedDict(
    "DefaultDTypes", {"real floating": DType, "complex floating": DType, "integral": DType, "indexing": DType}
)

# The dtypes that the standard has; bfloat16 and the packed ones are lamina's own.
_STANDARD = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


class Info:
    """What `__array_namespace_info__` returns: the inspection functions of the standard."""

    def capabilities(self) -> Capabilities:
        """Which optional behaviours of the standard lamina has.

        Outside a traced function masks index and ``unique_values`` and its like work; within one they need arrays that
        are known while it is traced.

        >>> Info().capabilities()
        {'boolean indexing': True, 'data-dependent shapes': True, 'max dimensions': 32}
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_RANK}

    def default_device(self) -> Device:
        """The device of new arrays, ``"cpu"``."""
        return "cpu"

    def devices(self) -> list[Device]:
        """Every device: ``["cpu"]``."""
        return ["cpu"]

    def default_dtypes(self, *, device: Device | None = None) -> DefaultDTypes:
        """The dtypes of arrays made of Python numbers, and of indices.

        Raises ValueError for a device that lamina has not.

        >>> Info().default_dtypes()["real floating"]
        lamina.float64
        """
        _expect_device("default_dtypes", device)
        return {
            "real floating": dt.float64,
            "complex floating": dt.complex128,
            "integral": dt.int64,
            "indexing": dt.int64,
        }

    def dtypes(self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The standard's dtypes by name, or those of a kind as `isdtype` names kinds.

        `lamina.dtype.DTYPES` has those of lamina's own, too.

        Raises ValueError for a kind or a device that there isn't.

        >>> Info().dtypes(kind=("bool", "complex floating"))
        {'bool': lamina.bool, 'complex64': lamina.complex64, 'complex128': lamina.complex128}
        """
        _expect_device("dtypes", device)
        standard = {name: dt.DTYPES[name] for name in _STANDARD}
        return {name: each for name, each in standard.items() if kind is None or dt.isdtype(each, kind)}


def __array_namespace_info__() -> Info:
    """The namespace's inspection functions, as the array API standard has them.

    >>> import lamina
    >>> lamina.__array_namespace_info__().devices()
    ['cpu']
    """
    return Info()


def _expect_device(function: str, device: Any) -> None:
    if device not in (None, "cpu"):
        raise ValueError(f'{function}: lamina\'s only device is "cpu", but got {device!r}')


def array_namespace(api_version: str | None = None) -> ModuleType:
    """The ``lamina`` module, if it follows this version of the standard: ``__array_namespace__`` of arrays."""
    if api_version not in (None, *_VERSIONS):
        raise ValueError(
            f"lamina follows the array API standard up to {__array_api_version__}, but got {api_version!r}"
        )
    return sys.modules[__name__.partition(".")[0]]


FUNCTIONS["__array_namespace__"] = array_namespace
