"""A large kernel by several threads: each does a part of the outermost loop, and results don't depend on how many.

The threads are the system's, made for the kernel and gone with it, so there is nothing to keep across a fork and
nothing that two callers could disturb. One that can't be made is done without: its part runs in the caller.
"""

import os
from collections.abc import Sequence

from llvmlite import ir

from lamina.compilers.native.counting import repeat
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX, POINTER, STATUS, room
from lamina.threads import MAX_THREADS

IS_HERE = os.name == "posix"

_SLOT = 16  # bytes of an argument in a frame
_TASK = ir.LiteralStructType([POINTER, INDEX, INDEX, INDEX])  # the frame, from, to, and what came of it
_THREAD = ir.FunctionType(POINTER, [POINTER])
_RUN = ir.FunctionType(STATUS, [_THREAD.as_pointer(), POINTER, INDEX, INDEX, INDEX])


def call(
    builder: ir.IRBuilder, kernel: ir.Function, args: Sequence[Value], units: int, step: int, most: Value
) -> Value:
    """Call a kernel, of whose params the last three are from, to and the status, in parts; the status of all."""
    with builder.goto_entry_block():
        frame = room(builder, ir.ArrayType(BYTE, _SLOT * len(args)))
    for place, arg in enumerate(args):
        builder.store(arg, builder.gep(frame, [INDEX(_SLOT * place)], source_etype=BYTE), align=8)
    run = _runner(builder.module)
    thread = _thread_of(kernel)
    return builder.call(run, [thread, frame, INDEX(units), INDEX(step), most])


def _thread_of(kernel: ir.Function) -> ir.Function:
    """What a thread runs: a kernel on the arguments of a frame."""
    name = f"{kernel.name}_thread"
    known = kernel.module.globals.get(name)
    if known is not None:
        return known
    function = ir.Function(kernel.module, _THREAD, name)
    function.linkage = "internal"
    b = ir.IRBuilder(function.append_basic_block())
    task = function.args[0]
    frame, start, end = (b.load(_field(b, task, place), typ=kind) for place, kind in enumerate(_TASK.elements[:3]))
    args = [
        b.load(b.gep(frame, [INDEX(_SLOT * place)], source_etype=BYTE), typ=kind, align=8)
        for place, kind in enumerate(kernel.function_type.args[:-3])
    ]
    status = b.load(b.gep(frame, [INDEX(_SLOT * len(args))], source_etype=BYTE), typ=POINTER, align=8)
    b.store(b.zext(b.call(kernel, [*args, start, end, status]), INDEX), _field(b, task, 3))
    b.ret(POINTER(None))
    return function


def _field(b: ir.IRBuilder, task: Value, place: int) -> Value:
    return b.gep(task, [ir.IntType(32)(0), ir.IntType(32)(place)], source_etype=_TASK)


def _runner(module: ir.Module) -> ir.Function:
    """``run(thread, frame, units, step, most)``: at most so many threads, each with as many units as the others."""
    known = module.globals.get("run_parts")
    if known is not None:
        return known
    create = ir.Function(module, ir.FunctionType(STATUS, [POINTER] * 4), "pthread_create")
    join = ir.Function(module, ir.FunctionType(STATUS, [INDEX, POINTER]), "pthread_join")
    function = ir.Function(module, _RUN, "run_parts")
    function.linkage = "internal"
    thread, frame, units, step, most = function.args
    b = ir.IRBuilder(function.append_basic_block())
    tasks, threads, made = (room(b, ir.ArrayType(kind, MAX_THREADS)) for kind in (_TASK, INDEX, STATUS))
    count = b.select(b.icmp_signed("<", units, most), units, most)

    def task_of(place: Value) -> Value:
        return b.gep(tasks, [place], source_etype=_TASK)

    def end(place: Value) -> Value:
        return b.mul(b.sdiv(b.mul(units, place), count), step)

    def fill(place: Value) -> None:
        fields = (frame, end(place), end(b.add(place, INDEX(1))), INDEX(0))
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
        b.store(b.or_(b.load(status, typ=INDEX), b.load(_field(b, task_of(place), 3), typ=INDEX)), status)

    repeat(b, count, fill)
    repeat(b, count, start, start=1)
    b.call(thread, [task_of(INDEX(0))])
    note(INDEX(0))
    repeat(b, count, finish, start=1)
    b.ret(b.trunc(b.load(status, typ=INDEX), STATUS))
    return function
