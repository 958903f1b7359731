"""A large kernel by several threads: each does a part of the outermost loop, and results don't depend on how many.

The threads are the system's, made for the kernel and gone with it, so there is nothing to keep across a fork and
nothing that two callers could disturb. One that can't be made is done without: its part runs in the caller.
"""

import ctypes
import functools
import os
from collections.abc import Sequence

import llvmlite.binding as llvm
from llvmlite import ir

from lamina.compilers.native import jit
from lamina.compilers.native.counting import repeat
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX, POINTER, STATUS, room
from lamina.threads import MAX_THREADS

IS_HERE = os.name == "posix"

_NAME = "lamina.run_parts"
_SLOT = 16  # bytes of an argument in a frame
_TASK = ir.LiteralStructType([POINTER, POINTER, INDEX, INDEX, INDEX])  # kernel, frame, from, to, and what came of it
KERNEL = ir.FunctionType(STATUS, [POINTER, INDEX, INDEX])  # the frame, from, to
_THREAD = ir.FunctionType(POINTER, [POINTER])
_RUN = ir.FunctionType(STATUS, [KERNEL.as_pointer(), POINTER, INDEX, INDEX, INDEX])


def call(
    builder: ir.IRBuilder, kernel: ir.Function, args: Sequence[Value], units: int, step: int, most: Value
) -> Value:
    """Call a kernel on arguments in parts; the status of all. The code can be linked once there is a `provided`."""
    with builder.goto_entry_block():
        frame = room(builder, ir.ArrayType(BYTE, _SLOT * len(args)))
    for place, arg in enumerate(args):
        builder.store(arg, builder.gep(frame, [INDEX(_SLOT * place)], source_etype=BYTE), align=8)
    run = builder.module.globals.get(_NAME) or ir.Function(builder.module, _RUN, _NAME)
    return builder.call(run, [kernel, frame, INDEX(units), INDEX(step), most])


def arguments(builder: ir.IRBuilder, frame: Value, kinds: Sequence[ir.Type]) -> list[Value]:
    """What a kernel finds in its frame."""
    return [
        builder.load(builder.gep(frame, [INDEX(_SLOT * place)], source_etype=BYTE), typ=kind, align=8)
        for place, kind in enumerate(kinds)
    ]


@functools.cache
def provided() -> jit.Code:
    """The function that runs a kernel in parts, of which LLVM knows from now on: it is the same for all programs."""
    code = jit.compiled(_text(), _text, jit.THOROUGH)
    llvm.add_symbol(_NAME, ctypes.cast(code.function(_NAME), ctypes.c_void_p).value)
    return code


def _text() -> str:
    module = ir.Module(name=_NAME)
    _write_run(module, _write_thread(module))
    return str(module)


def _field(b: ir.IRBuilder, task: Value, place: int) -> Value:
    return b.gep(task, [ir.IntType(32)(0), ir.IntType(32)(place)], source_etype=_TASK)


def _write_thread(module: ir.Module) -> ir.Function:
    """``thread(task)``, what a thread runs."""
    function = ir.Function(module, _THREAD, "thread")
    function.linkage = "internal"
    b = ir.IRBuilder(function.append_basic_block())
    task = function.args[0]
    kernel, *args = (b.load(_field(b, task, place), typ=kind) for place, kind in enumerate(_TASK.elements[:4]))
    kernel.type = KERNEL.as_pointer()
    b.store(b.zext(b.call(kernel, args), INDEX), _field(b, task, 4))
    b.ret(POINTER(None))
    return function


def _write_run(module: ir.Module, thread: ir.Function) -> None:
    """``run(kernel, frame, units, step, most)``: at most so many threads, each with as many units as the others."""
    create = ir.Function(module, ir.FunctionType(STATUS, [POINTER] * 4), "pthread_create")
    join = ir.Function(module, ir.FunctionType(STATUS, [INDEX, POINTER]), "pthread_join")
    function = ir.Function(module, _RUN, _NAME)
    kernel, frame, units, step, most = function.args
    b = ir.IRBuilder(function.append_basic_block())
    tasks, threads, made = (room(b, ir.ArrayType(kind, MAX_THREADS)) for kind in (_TASK, INDEX, STATUS))
    count = b.select(b.icmp_signed("<", units, most), units, most)

    def task_of(place: Value) -> Value:
        return b.gep(tasks, [place], source_etype=_TASK)

    def end(place: Value) -> Value:
        return b.mul(b.sdiv(b.mul(units, place), count), step)

    def fill(place: Value) -> None:
        fields = (kernel, frame, end(place), end(b.add(place, INDEX(1))), INDEX(0))
        for number, value in enumerate(fields):
            b.store(value, _field(b, task_of(place), number))

    def start(place: Value) -> None:
        own = b.gep(threads, [place], source_etype=INDEX)
        b.store(b.call(create, [own, POINTER(None), thread, task_of(place)]), b.gep(made, [place], source_etype=STATUS))

    status = room(b, INDEX)
    b.store(INDEX(0), status)

    def finish(place: Value) -> None:
        is_made = b.icmp_signed("==", b.load(b.gep(made, [place], source_etype=STATUS), typ=STATUS), STATUS(0))
        with b.if_else(is_made) as (then, otherwise):
            with then:
                own = b.load(b.gep(threads, [place], source_etype=INDEX), typ=INDEX)
                b.call(join, [own, POINTER(None)])
            with otherwise:
                b.call(thread, [task_of(place)])
        note(place)

    def note(place: Value) -> None:
        b.store(b.or_(b.load(status, typ=INDEX), b.load(_field(b, task_of(place), 4), typ=INDEX)), status)

    repeat(b, count, fill)
    repeat(b, count, start, start=1)
    b.call(thread, [task_of(INDEX(0))])
    note(INDEX(0))
    repeat(b, count, finish, start=1)
    b.ret(b.trunc(b.load(status, typ=INDEX), STATUS))
