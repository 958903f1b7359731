"""DLPack's structures, as far as a capsule's dtype.

NumPy takes and gives the capsules of `lamina.array`, but it knows no bfloat16: that dtype is changed in the capsule.
"""

import ctypes
from typing import Any

UNSIGNED, BFLOAT = 1, 4
KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
CPU_DEVICES = (1, 3, 11, 13)  # the CPU's memory, and what CUDA and ROCm share with it


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


class Producer:
    """What hands a capsule to ``np.from_dlpack``."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)
