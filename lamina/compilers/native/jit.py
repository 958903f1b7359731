"""LLVM, as a function from a module's text to functions that can be called."""

import ctypes
import threading
from functools import cache
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Code:
    """A compiled module; its functions may be called for as long as it lives."""

    def __init__(self, text: str) -> None:
        machine = _machine()  # the engine takes it over
        module = llvm.parse_assembly(text)
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        # the vectors are there, and as many accumulators as are wanted: what these add is time to compile
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def function(self, name: str) -> Any:
        """One of its functions; the interpreter's lock is not held while it runs."""
        return _PROTOTYPE(self._engine.get_function_address(name))


# By text: a program that is compiled again while it is in use is compiled once.
_CODE: WeakValueDictionary[str, Code] = WeakValueDictionary()
_LOCK = threading.Lock()  # LLVM compiles one module at a time


def compiled(text: str) -> Code:
    """The code of a module."""
    with _LOCK:
        code = _CODE.get(text)
        if code is None:
            code = _CODE[text] = Code(text)
        return code


@cache
def _host() -> tuple[Any, str, Any]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features()


def _machine() -> Any:
    target, cpu, features = _host()
    return target.create_target_machine(cpu=cpu, features=features.flatten(), opt=2, jit=True)


@cache
def vector_bytes() -> int:
    """How wide the processor's vectors are."""
    features = _host()[2]
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx2") else 16
