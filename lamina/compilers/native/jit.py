"""LLVM, as a function from a module's text to functions that can be called; and the code that it made before."""

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from lamina.compilers.native import cache

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)


class Level(NamedTuple):
    """How much is done for a module: LLVM's passes over it, and its level for making machine code.

    With a `speed`, what LLVM's own list for a function of that level does is done for those that are called from
    outside, the instructions between kernels; and then what is in `last`.
    """

    passes: tuple[str, ...]
    opt: int
    speed: int = 0
    last: tuple[str, ...] = ()


_PASSES = ("always_inliner", "sroa", "instruction_combine", "simplify_cfg")

# Variables become values, and branches that can't be taken go. The rest is as it should be: loops are written in
# vectors, with what doesn't change outside, and nothing twice. LLVM's own lists take longer, and so does each pass
# more: finding equal values, a tenth of a first call, made no program faster.
THOROUGH = Level(_PASSES, 2)
# For the program's own loops of scalars: what a turn has stored and the next one reads stays in a register, and what no
# turn changes goes before the loop. Small turns are taken several at a time.
LOOPS = Level(_PASSES, 2, 2, ("loop_unroll",))
# For what runs in less time than it takes to be called: instructions are chosen one by one, in a third of the time.
QUICK = Level(_PASSES, 0)


class Code:
    """A compiled module; its functions may be called for as long as it lives."""

    def __init__(self, key: str, text: Callable[[], str], level: Level) -> None:
        code = cache.kept((key, *_determined_by(level)), lambda: _object_code(text(), level))
        # An empty module whose code is there already: no text is even written when the code was kept. It needs no
        # machine of this processor, which takes longer to make.
        self._engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), _host().target.create_target_machine(jit=True)
        )
        self._engine.set_object_cache(getbuffer_func=lambda module: code)
        self._engine.finalize_object()

    def function(self, name: str) -> Any:
        """One of its functions; the interpreter's lock is not held while it runs."""
        return _PROTOTYPE(self._engine.get_function_address(name))

    def keep(self) -> None:
        """Leave its functions where they are for as long as the process lives: threads may begin with them."""
        self._engine.detach()


# By key: a program that is compiled again while it is in use is compiled once.
_CODE: WeakValueDictionary[tuple[str, Level], Code] = WeakValueDictionary()
_LOCK = threading.Lock()  # LLVM compiles one module at a time


def compiled(key: str, text: Callable[[], str], level: Level) -> Code:
    """The code of a module, of which the text is asked for where no code of that key is known."""
    with _LOCK:
        code = _CODE.get((key, level))
        if code is None:
            code = _CODE[key, level] = Code(key, text, level)
        return code


def _object_code(text: str, level: Level) -> bytes:
    return _tools(level).machine.emit_object(optimized(text, level))  # type: ignore[no-any-return]


def optimized(text: str, level: Level) -> Any:
    """A module, when the passes of a level have run over it."""
    module = llvm.parse_assembly(text, llvm.create_context())  # a context keeps every number that a module had
    tools = _tools(level)
    tools.passes.run(module, tools.builder)
    for function in module.functions if level.speed else ():
        if function.linkage is llvm.Linkage.external and not function.is_declaration:
            tools.functions.run(function, tools.builder)
    return module


class _Tools(NamedTuple):
    """What compiles a module: made once, for llvmlite 0.50 never frees what it makes of passes, 9 KB each time."""

    machine: Any
    passes: Any
    functions: Any
    builder: Any


@functools.cache
def _tools(level: Level) -> _Tools:
    host = _host()
    machine = host.target.create_target_machine(cpu=host.cpu, features=host.features, opt=level.opt, jit=True)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=level.speed))
    passes = llvm.create_new_module_pass_manager()
    functions = builder.getFunctionPassManager() if level.speed else None
    for where, names in ((passes, level.passes), (functions, level.last)):
        for name in names:
            getattr(where, f"add_{name}_pass")()
    return _Tools(machine, passes, functions, builder)


def _determined_by(level: Level) -> tuple[str, ...]:
    """What the code depends on beside the text."""
    host = _host()
    return host.target.triple, host.cpu, host.features, str((llvmlite.__version__, *llvm.llvm_version_info)), str(level)


class _Host(NamedTuple):
    """The processor, as LLVM names it."""

    target: Any
    cpu: str
    features: str


@functools.cache
def _host() -> _Host:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _Host(llvm.Target.from_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@functools.cache
def vector_bytes() -> int:
    """How wide the processor's vectors are."""
    features = _host().features.split(",")
    if "+avx512f" in features:
        return 64
    return 32 if "+avx2" in features else 16
