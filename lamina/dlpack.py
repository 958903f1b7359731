"""DLPack: memory from other array libraries and to them.

NumPy takes and gives the capsules, but it knows no bfloat16: that dtype is changed in the capsule.
"""

import ctypes
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lamina import dtype as dtypes

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNSIGNED, _BFLOAT = 1, 4
_KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_CPU_DEVICES = (1, 3, 11, 13)  # the CPU's memory, and what CUDA and ROCm share with it


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


def imported(x: Any, device: Literal["cpu"] | None, copy: bool | None) -> "NDArray[Any]":
    """The NumPy array of a DLPack producer's memory; raises as `lamina.from_dlpack` does."""
    if device not in (None, "cpu"):
        raise ValueError(f'from_dlpack: lamina arrays live on "cpu", but got the device {device!r}')
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: an object with __dlpack__ and __dlpack_device__ was expected, but got {x!r:.80}")
    asked: dict[str, Any] = {} if copy is None else {"copy": copy}
    if device is not None:
        asked["dl_device"] = (1, 0)
    elif x.__dlpack_device__()[0] not in _CPU_DEVICES:
        raise BufferError(
            f"from_dlpack: the memory is on the DLPack device {x.__dlpack_device__()}, not on the CPU; "
            'write from_dlpack(x, device="cpu") to have it copied'
        )
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **asked)
    except TypeError:  # a producer from before version 1
        capsule, late_copy = x.__dlpack__(), bool(copy)
    else:
        late_copy = False
    tensor = tensor_in(capsule)
    kind = _KINDS.get(tensor.code, f"code {tensor.code} of")
    name = "bool" if (kind, tensor.bits) == ("bool", 8) else f"{kind}{tensor.bits}"
    if name not in dtypes.DTYPES or dtypes.DTYPES[name].is_packed or tensor.lanes != 1:
        raise BufferError(
            f"from_dlpack: no lamina dtype is DLPack's {kind} {tensor.bits} bits wide in {tensor.lanes} lanes; "
            "have the producer convert it to whole bytes"
        )
    if name == "bfloat16":
        tensor.code = _UNSIGNED  # which NumPy imports
    values = np.from_dlpack(_Producer(capsule)).view(dtypes.DTYPES[name].numpy)
    return values.copy(order="K") if late_copy else values


def exported(values: "NDArray[Any]", asked: dict[str, Any]) -> Any:
    """A capsule of a NumPy array of any dtype that DLPack has; `asked` is what the consumer did."""
    if values.dtype != dtypes.bfloat16.numpy:
        return values.__dlpack__(**asked)
    capsule = values.view(np.uint16).__dlpack__(**asked)  # which NumPy exports
    tensor_in(capsule).code = _BFLOAT
    return capsule


def tensor_in(capsule: Any) -> Any:
    """The DLTensor that a capsule points to, shared with it."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)
    if is_valid(capsule, b"dltensor_versioned"):
        return _Versioned.from_address(pointer_of(capsule, b"dltensor_versioned")).tensor
    if is_valid(capsule, b"dltensor"):
        return _DLTensor.from_address(pointer_of(capsule, b"dltensor"))
    raise BufferError(f"from_dlpack: an unused DLPack capsule was expected, but got {capsule!r}")


class _Producer:
    """What hands a capsule to ``np.from_dlpack``."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)
