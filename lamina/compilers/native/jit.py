"""LLVM, as a function from a module's text to functions that can be called."""

import ctypes
import functools
import threading
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from lamina.compilers.native import cache
from lamina.compilers.native.library import symbols

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class Code:
    """A compiled module; its functions may be called for as long as it lives."""

    def __init__(self, text: str) -> None:
        code = cache.kept((text, *_determined_by()), lambda: _object_code(text))
        if symbols.PREFIX in text:
            symbols.provided()
        # an empty module whose code is there already: the text isn't even parsed when the code was kept
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.set_object_cache(getbuffer_func=lambda module: code)
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


# Variables become values, equal values one, and branches that can't be taken go. Loops are as they should be: written
# in vectors, with what doesn't change outside. LLVM's own lists take longer, and llvmlite 0.50 never frees what it
# makes of them, 60 KB for each module.
_PASSES = (
    "always_inliner",
    "sroa",
    "simplify_cfg",
    "instruction_combine",
    "new_gvn",
    "jump_threading",
    "sccp",
    "dead_store_elimination",
    "aggressive_dce",
    "instruction_combine",
    "simplify_cfg",
)


def _object_code(text: str) -> bytes:
    machine = _machine()
    module = llvm.parse_assembly(text)
    passes = llvm.create_new_module_pass_manager()
    for name in _PASSES:
        getattr(passes, f"add_{name}_pass")()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return machine.emit_object(module)  # type: ignore[no-any-return]


def _determined_by() -> tuple[str, ...]:
    """What the code depends on beside the text."""
    target, cpu, features = _host()
    versions = (llvmlite.__version__, *llvm.llvm_version_info)
    return target.triple, cpu, features.flatten(), str(versions), str((_PASSES, _MACHINE))


_MACHINE = {"opt": 2, "jit": True}


@functools.cache
def _host() -> tuple[Any, str, Any]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features()


def _machine() -> Any:
    target, cpu, features = _host()
    return target.create_target_machine(cpu=cpu, features=features.flatten(), **_MACHINE)


@functools.cache
def vector_bytes() -> int:
    """How wide the processor's vectors are."""
    features = _host()[2]
    if features.get("avx512f"):
        return 64
    return 32 if features.get("avx2") else 16
