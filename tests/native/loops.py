"""A loop over arrays for one elementary function, compiled as a native compiler would."""

import ctypes
import functools
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np

from lamina.compilers.native import ir
from lamina.compilers.native.maths import MATHS

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

KINDS = {np.dtype("f4"): ir.FloatType(), np.dtype("f8"): ir.DoubleType()}
Emit = Callable[..., ir.Value]


def written(emit: Emit, arity: int, dtype: np.dtype, lanes: int = 1) -> ir.Module:
    """A module with the function `loop(operands…, result, count)`."""
    module, count = ir.Module(), ir.IntType(64)
    kind = KINDS[dtype] if lanes == 1 else ir.VectorType(KINDS[dtype], lanes)
    signature = ir.FunctionType(ir.VoidType(), [ir.PointerType()] * (arity + 1) + [count])
    function = ir.Function(module, signature, "loop")
    *operands, result, size = function.args
    for pointer in (*operands, result):
        pointer.add_attribute("noalias")
    entry, body, done = (function.append_basic_block(name) for name in ("entry", "body", "done"))
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_signed(">", size, count(0)), body, done)
    builder.position_at_end(body)
    index = builder.phi(count)
    index.add_incoming(count(0), entry)

    def at(pointer: ir.Value) -> ir.Value:
        return builder.gep(pointer, [index], source_etype=kind)

    values = [builder.load(at(pointer), typ=kind, align=1) for pointer in operands]
    builder.store(emit(builder, *values), at(result), align=1)
    following = builder.add(index, count(1))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, size), body, done)
    builder.position_at_end(done)
    builder.ret_void()
    return module


def optimised(module: ir.Module, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module after LLVM's passes, its vectoriser among them."""
    compiled = llvm.parse_assembly(str(module))
    compiled.triple, compiled.data_layout = machine.triple, str(machine.target_data)
    compiled.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(compiled, builder)
    return compiled


class Loop:
    """result[i] = function(x[i], …) for arrays of one dtype, some lanes at once; their sizes are multiples of these."""

    def __init__(self, emit: Emit, arity: int, dtype: np.dtype, lanes: int = 1) -> None:
        self.dtype, self.lanes = dtype, lanes
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        self._engine = llvm.create_mcjit_compiler(optimised(written(emit, arity, dtype, lanes), machine), machine)
        self._engine.finalize_object()
        pointers = [ctypes.c_void_p] * (arity + 1)
        self._call = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(self._engine.get_function_address("loop"))

    def __call__(self, *operands: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        operands = tuple(np.ascontiguousarray(x, self.dtype) for x in operands)
        out = np.empty(operands[0].shape, self.dtype) if out is None else out
        self._call(*(x.ctypes.data for x in operands), out.ctypes.data, out.size // self.lanes)
        return out


@functools.cache
def loop(name: str, dtype: str, arity: int = 1) -> Loop:
    return Loop(MATHS[name], arity, np.dtype(dtype))
