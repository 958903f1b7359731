"""A large kernel by several threads: each takes parts of the outermost loop, and results don't depend on which.

The threads are the system's, made for the kernel, so there is nothing to keep across a fork and nothing that two
callers could disturb. Whoever is free takes the next part, so one that comes late, or shares its processor with
others, does less; nobody waits for one that hasn't begun when all is done. Such a thread is left alone to find that
out, and so the code that it begins with lives as long as the process.

Who meets a failure takes no further part. Parts are taken in order, so one of them has met the first there is, which is
the one that counts: the error is the same for any number of threads.
"""

import ctypes
import functools
import os
from collections.abc import Sequence

import llvmlite.binding as llvm

from lamina.compilers.native import ir, jit
from lamina.compilers.native.counting import repeat
from lamina.compilers.native.fingerprint import Unforeseen, sources
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import BYTE, INDEX, POINTER, STATUS, STATUS_WORDS
from lamina.threads import MAX_THREADS

IS_HERE = os.name == "posix"

_SLOT = 16  # bytes of an argument in a frame
_PARTS = 16  # for each thread: so few that a part is worth it, so many that all end at about the same time
_PATIENCE = 1 << 13  # looks at whether another is done, before waiting for it: some microseconds

_NAME = "lamina.run_parts"
KERNEL = ir.FunctionType(STATUS, [POINTER, POINTER, INDEX, INDEX])  # the frame, the status, from, to
_RUN = ir.FunctionType(STATUS, [POINTER, POINTER, POINTER, INDEX, INDEX, INDEX])

# What threads share, on the caller's stack: the kernel, its frame, how many units it has, of how many turns each, how
# many parts they are, and which comes next.
_SHARED = ir.LiteralStructType([POINTER, POINTER, *[INDEX] * 4])
_KERNEL, _FRAME, _UNITS, _STEP, _COUNT, _NEXT = range(len(_SHARED.elements))
# What a thread is given, its own: how far it is, what it shares, which part failed, and the status of that.
_WORDS = ir.ArrayType(INDEX, STATUS_WORDS)
_HELPER = ir.LiteralStructType([INDEX, POINTER, INDEX, _WORDS])
_HELPER_BYTES = 8 * (3 + STATUS_WORDS)
_STATE, _OF_ALL, _FAILED, _STATUS = range(len(_HELPER.elements))
_NEW, _AT_WORK, _LEFT_ALONE, _DONE = map(INDEX, range(4))


def call(
    builder: ir.IRBuilder, kernel: ir.Function, args: Sequence[Value], status: Value, units: int, step: int, most: Value
) -> Value:
    """Call a kernel on arguments in parts; whether one failed. The code can be linked once there is a `provided`."""
    with builder.goto_entry_block():
        frame = builder.alloca(ir.ArrayType(BYTE, _SLOT * len(args)))
    for place, arg in enumerate(args):
        builder.store(arg, builder.gep(frame, [INDEX(_SLOT * place)], source_etype=BYTE), align=8)
    run = builder.module.declared(_NAME, _RUN.return_type, _RUN.args)
    return builder.call(run, [kernel, frame, status, INDEX(units), INDEX(step), most])


def arguments(builder: ir.IRBuilder, frame: Value, kinds: Sequence[ir.Type]) -> list[Value]:
    """What a kernel finds in its frame."""
    return [
        builder.load(builder.gep(frame, [INDEX(_SLOT * place)], source_etype=BYTE), typ=kind, align=8)
        for place, kind in enumerate(kinds)
    ]


@functools.cache
def provided() -> jit.Code:
    """The function that runs a kernel in parts, of which LLVM knows from now on: it is the same for all programs."""
    try:
        key = f"parallel\n{sources()}"  # the text depends on nothing else
    except Unforeseen:
        key = _text()
    code = jit.compiled(key, _text, jit.THOROUGH)
    llvm.add_symbol(_NAME, ctypes.cast(code.function(_NAME), ctypes.c_void_p).value)
    code.keep()
    return code


def _text() -> str:
    module = ir.Module()
    _write_run(ir.Function(module, _RUN, _NAME), _helper(module, _worker(module)))
    return str(module)


def _at(b: ir.IRBuilder, struct: ir.LiteralStructType, pointer: Value, place: int) -> Value:
    return b.gep(pointer, [ir.IntType(32)(0), ir.IntType(32)(place)], source_etype=struct)


def _worker(module: ir.Module) -> ir.Function:
    """``work(shared, status)``: takes the next part while there is one; which failed, or how many there are."""
    function = ir.Function(module, ir.FunctionType(INDEX, [POINTER, POINTER]), "work")
    function.linkage = "internal"
    b = ir.IRBuilder(function.append_basic_block())
    shared, status = function.args
    kernel, frame, units, step, count = (
        b.load(_at(b, _SHARED, shared, place), typ=_SHARED.elements[place])
        for place in (_KERNEL, _FRAME, _UNITS, _STEP, _COUNT)
    )
    head, turn, after = (b.append_basic_block() for _ in range(3))
    b.branch(head)
    b.position_at_end(head)
    part = b.atomic_rmw("add", _at(b, _SHARED, shared, _NEXT), INDEX(1), "monotonic")
    b.cbranch(b.icmp_signed("<", part, count), turn, after)
    b.position_at_end(turn)
    start, end = (b.mul(b.sdiv(b.mul(units, each), count), step) for each in (part, b.add(part, INDEX(1))))
    failed = b.icmp_signed("!=", b.call(kernel, [frame, status, start, end], KERNEL), STATUS(0))
    with b.if_then(failed, likely=False):
        b.ret(part)
    b.branch(head)
    b.position_at_end(after)
    b.ret(count)
    return function


def _helper(module: ir.Module, worker: ir.Function) -> ir.Function:
    """What a thread runs: it works, unless all was done before it began."""
    free = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), "free")
    function = ir.Function(module, ir.FunctionType(POINTER, [POINTER]), "help")
    function.linkage = "internal"
    b = ir.IRBuilder(function.append_basic_block())
    (own,) = function.args
    state, failed, status = (_at(b, _HELPER, own, place) for place in (_STATE, _FAILED, _STATUS))
    with b.if_else(_changed(b, state, _NEW, _AT_WORK)) as (then, otherwise):
        with then:
            b.store(b.call(worker, [b.load(_at(b, _HELPER, own, _OF_ALL), typ=POINTER), status]), failed)
            b.atomic_rmw("xchg", state, _DONE, "release")
        with otherwise:
            b.call(free, [own])
    b.ret(POINTER(None))
    return function


def _changed(b: ir.IRBuilder, state: Value, old: Value, new: Value) -> Value:
    """Whether a state was the old one, and so is the new one now."""
    return b.cmpxchg(state, old, new, "acq_rel", "acquire")


def _write_run(function: ir.Function, helper: ir.Function) -> None:
    """``run(kernel, frame, status, units, step, most)``: by at most so many threads; whether a part failed."""
    module = function.module
    work, free = (module.globals[name] for name in ("work", "free"))
    malloc = ir.Function(module, ir.FunctionType(POINTER, [INDEX]), "malloc")
    create = ir.Function(module, ir.FunctionType(STATUS, [POINTER] * 4), "pthread_create")
    join = ir.Function(module, ir.FunctionType(STATUS, [INDEX, POINTER]), "pthread_join")
    detach = ir.Function(module, ir.FunctionType(STATUS, [INDEX]), "pthread_detach")
    kernel, frame, status, units, step, most = function.args
    b = ir.IRBuilder(function.append_basic_block())
    shared, first = b.alloca(_SHARED), b.alloca(INDEX)  # the first part that failed
    threads, helpers = (b.alloca(ir.ArrayType(kind, MAX_THREADS)) for kind in (INDEX, POINTER))
    threads_used = b.select(b.icmp_signed("<", units, most), units, most)
    parts = b.mul(threads_used, INDEX(_PARTS))
    count = b.select(b.icmp_signed("<", units, parts), units, parts)
    count = b.select(b.icmp_signed(">", threads_used, INDEX(1)), count, INDEX(1))
    for place, value in enumerate((kernel, frame, units, step, count, INDEX(0))):
        b.store(value, _at(b, _SHARED, shared, place))

    def start(place: Value) -> None:
        own, slot = b.call(malloc, [INDEX(_HELPER_BYTES)]), b.gep(helpers, [place], source_etype=POINTER)
        b.store(own, slot)
        with b.if_then(b.icmp_unsigned("!=", own, POINTER(None))):
            b.store(_NEW, _at(b, _HELPER, own, _STATE))
            b.store(shared, _at(b, _HELPER, own, _OF_ALL))
            made = b.call(create, [b.gep(threads, [place], source_etype=INDEX), POINTER(None), helper, own])
            with b.if_then(b.icmp_signed("!=", made, STATUS(0))):  # there are enough threads: others do its parts
                b.call(free, [own])
                b.store(POINTER(None), slot)

    def finish(place: Value) -> None:
        own = b.load(b.gep(helpers, [place], source_etype=POINTER), typ=POINTER)
        with b.if_then(b.icmp_unsigned("!=", own, POINTER(None))):
            thread = b.load(b.gep(threads, [place], source_etype=INDEX), typ=INDEX)
            state = _at(b, _HELPER, own, _STATE)
            with b.if_else(_changed(b, state, _NEW, _LEFT_ALONE)) as (then, otherwise):
                with then:
                    b.call(detach, [thread])
                with otherwise:
                    with b.if_else(_is_soon_done(b, state)) as (soon, late):
                        with soon:
                            b.call(detach, [thread])
                        with late:
                            b.call(join, [thread, POINTER(None)])
                    failed = b.load(_at(b, _HELPER, own, _FAILED), typ=INDEX)
                    with b.if_then(b.icmp_signed("<", failed, b.load(first, typ=INDEX)), likely=False):
                        b.store(failed, first)
                        b.store(b.load(_at(b, _HELPER, own, _STATUS), typ=_WORDS), status)
                    b.call(free, [own])

    repeat(b, threads_used, start, start=1)
    b.store(b.call(work, [shared, status]), first)
    repeat(b, threads_used, finish, start=1)
    b.ret(b.zext(b.icmp_signed("<", b.load(first, typ=INDEX), count), STATUS))


def _is_soon_done(b: ir.IRBuilder, state: Value) -> Value:
    """Whether a thread is done before patience ends: to be woken takes longer than most last parts."""
    before, head, after = b.block, b.append_basic_block(), b.append_basic_block()
    b.branch(head)
    b.position_at_end(head)
    left = b.phi(INDEX)
    left.add_incoming(INDEX(_PATIENCE), before)
    is_done = b.icmp_signed("==", b.load(state, typ=INDEX, align=8, order="acquire"), _DONE)
    less = b.sub(left, INDEX(1))
    left.add_incoming(less, head)
    b.cbranch(b.or_(is_done, b.icmp_signed("==", less, INDEX(0))), after, head)
    b.position_at_end(after)
    return is_done
