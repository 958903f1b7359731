"""A loop over arrays for one elementary function, compiled as a native compiler would."""

import ctypes
import functools
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from lamina.compilers.native.maths import MATHS

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

KINDS = {np.dtype("f4"): ir.FloatType(), np.dtype("f8"): ir.DoubleType()}


class Loop:
    """result[i] = function(x[i], …) for arrays of one dtype, some lanes at once; they are a multiple of them.

    `body` is LLVM's loop in the end, and `assembly` the machine's code for it and what it calls.
    """

    def __init__(self, emit: Callable[..., ir.Value], arity: int, dtype: np.dtype, lanes: int = 1) -> None:
        self.dtype, self.lanes = dtype, lanes
        module = ir.Module()
        module.triple = llvm.get_default_triple()
        self._write(module, emit, arity, KINDS[dtype], lanes)
        features = llvm.get_host_cpu_features()
        self.has_fma = bool(features.get("avx2")) and bool(features.get("fma"))
        machine = llvm.Target.from_triple(module.triple).create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3
        )
        module.data_layout = str(machine.target_data)
        compiled = llvm.parse_assembly(str(module))
        compiled.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(compiled, builder)
        self.body = str(compiled.get_function("loop"))
        self.assembly = machine.emit_assembly(compiled)
        self._engine = llvm.create_mcjit_compiler(compiled, machine)
        self._engine.finalize_object()
        pointers = [ctypes.c_void_p] * (arity + 1)
        self._call = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(self._engine.get_function_address("loop"))

    @staticmethod
    def _write(module: ir.Module, emit: Callable[..., ir.Value], arity: int, element: ir.Type, lanes: int) -> None:
        count = ir.IntType(64)
        kind = element if lanes == 1 else ir.VectorType(element, lanes)
        signature = ir.FunctionType(ir.VoidType(), [kind.as_pointer()] * (arity + 1) + [count])
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
        values = [builder.load(builder.gep(pointer, [index]), align=1) for pointer in operands]
        builder.store(emit(builder, *values), builder.gep(result, [index]), align=1)
        following = builder.add(index, count(1))
        index.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, size), body, done)
        builder.position_at_end(done)
        builder.ret_void()

    def __call__(self, *operands: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        operands = tuple(np.ascontiguousarray(x, self.dtype) for x in operands)
        out = np.empty(operands[0].shape, self.dtype) if out is None else out
        self._call(*(x.ctypes.data for x in operands), out.ctypes.data, out.size // self.lanes)
        return out


@functools.cache
def loop(name: str, dtype: str, arity: int = 1) -> Loop:
    return Loop(MATHS[name], arity, np.dtype(dtype))
