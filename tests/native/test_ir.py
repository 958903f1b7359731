"""LLVM's language as text: LLVM takes what is written, and it means what was asked for."""

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import pytest

from lamina.compilers.native import ir, jit

WORD, BIT, BYTE, POINTER, DOUBLE = ir.IntType(64), ir.IntType(1), ir.IntType(8), ir.PointerType(), ir.DoubleType()
FOUR = ir.VectorType(WORD, 4)


def parsed(module: ir.Module) -> llvm.ModuleRef:
    found = llvm.parse_assembly(str(module))
    found.verify()
    return found


def begun(result: ir.Type = WORD, *args: ir.Type) -> tuple[ir.IRBuilder, Any]:
    function = ir.Function(ir.Module(), ir.FunctionType(result, args), "f")
    return ir.IRBuilder(function.append_basic_block("entry")), function.args


def run(write: Callable[..., ir.Value], *numbers: int) -> int:
    """What a function of integers gives, whose body `write` writes."""
    b, args = begun(WORD, *[WORD] * len(numbers))
    b.ret(write(b, *args))
    jit.vector_bytes()
    engine = llvm.create_mcjit_compiler(parsed(b.module), llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(numbers))(engine.get_function_address("f"))
    return int(call(*numbers))


def lines(b: ir.IRBuilder) -> int:
    return len(b.block.lines)


OF_17_AND_2 = {"add": 19, "sub": 15, "mul": 34, "sdiv": 8, "udiv": 8, "srem": 1, "urem": 1, "shl": 68, "lshr": 4}
OF_17_AND_2 |= {"ashr": 4, "and_": 0, "or_": 19, "xor": 19}


@pytest.mark.parametrize("op", OF_17_AND_2)
def test_integers(op: str) -> None:
    assert run(lambda b, x, y: getattr(b, op)(x, y), 17, 2) == OF_17_AND_2[op]


@pytest.mark.parametrize("op", ["fadd", "fsub", "fmul", "fdiv", "frem"])
def test_floats(op: str) -> None:
    want = {"fadd": 9.5, "fsub": 5.5, "fmul": 15.0, "fdiv": 3.75, "frem": 1.5}[op]
    assert run(lambda b: b.bitcast(b.fmul(getattr(b, op)(DOUBLE(7.5), DOUBLE(2.0)), DOUBLE(1.0)), WORD)) == run(
        lambda b: b.bitcast(DOUBLE(want), WORD)
    )


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("pair", [(-1, 2), (2, -1), (3, 3)])
def test_comparisons(sign: str, pair: tuple[int, int]) -> None:
    x, y = pair
    signed, unsigned = (eval(f"{a} {sign} {b}") for a, b in (pair, (x % 2**64, y % 2**64)))
    assert run(lambda b, x, y: b.zext(b.icmp_signed(sign, x, y), WORD), x, y) == signed
    assert run(lambda b, x, y: b.zext(b.icmp_unsigned(sign, x, y), WORD), x, y) == unsigned
    assert compared("fcmp_ordered", sign, x, y) == compared("fcmp_unordered", sign, x, y) == signed
    nan = float("nan")
    assert (compared("fcmp_ordered", sign, nan, y), compared("fcmp_unordered", sign, nan, y)) == (0, 1)


def compared(compare: str, sign: str, x: float, y: float) -> int:
    return run(lambda b: b.zext(getattr(b, compare)(sign, DOUBLE(x), DOUBLE(y)), WORD))


def test_memory_and_calls() -> None:
    def write(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        several = b.alloca(WORD, WORD(3), align=16)
        second = b.gep(several, [WORD(1)], source_etype=WORD)
        b.store(x, second, align=8)
        old = b.atomic_rmw("add", second, WORD(5), "monotonic")
        is_set = b.cmpxchg(second, b.add(old, WORD(5)), WORD(100), "acq_rel", "acquire")
        now = b.load(second, typ=WORD, align=8, order="acquire")
        more = b.call(b.module.declared("llvm.smax.i64", WORD, [WORD, WORD]), [now, WORD(7)])
        return b.add(b.zext(is_set, WORD), more)

    assert run(write, 3) == 101


def test_vectors() -> None:
    def write(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        vector = b.insert_element(ir.Constant(FOUR, [1, 2, 3, 4]), x, WORD(2))
        turned = b.shuffle_vector(vector, FOUR(9), ir.Constant(ir.VectorType(ir.IntType(32), 2), [2, 5]))
        assert turned.type == ir.VectorType(WORD, 2)
        return b.add(b.extract_element(turned, WORD(0)), b.extract_element(turned, WORD(1)))

    assert run(write, 30) == 39


def test_control() -> None:
    def write(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
        with b.goto_entry_block():
            found = b.alloca(WORD)
        b.store(WORD(0), found)
        with b.if_then(b.icmp_signed("<", x, WORD(0)), likely=False):
            b.ret(WORD(-1))
        with b.if_else(b.icmp_signed("<", x, WORD(10))) as (small, large):
            with small:
                b.store(WORD(1), found)
            with large:
                b.store(WORD(2), found)
        before, one, after = b.block, b.append_basic_block("one"), b.append_basic_block()
        switch = b.switch(x, after)
        switch.add_case(WORD(5), one)
        b.position_at_end(one)
        b.branch(after)
        b.position_at_end(after)
        extra = b.phi(WORD)
        extra.add_incoming(WORD(0), before)
        extra.add_incoming(WORD(50), one)
        return b.add(extra, b.load(found, typ=WORD))

    assert [run(write, x) for x in (-3, 5, 6, 30)] == [-1, 51, 1, 2]


@pytest.mark.parametrize("kind", [WORD, BIT, BYTE, POINTER, DOUBLE, ir.FloatType(), FOUR, ir.VectorType(DOUBLE, 8)])
def test_constants(kind: ir.Type) -> None:
    b, _ = begun(kind)
    b.ret(kind(1) if kind != POINTER else kind(None))
    parsed(b.module)
    assert b.module.declared("f", kind, []) is b.function


@pytest.mark.parametrize("number", [0.1, -0.0, float("inf"), float("nan"), 5e-324, 1e300])
def test_constants_are_exact(number: float) -> None:
    want = ctypes.c_int64.from_buffer(ctypes.c_double(number)).value
    assert run(lambda b: b.bitcast(DOUBLE(number), WORD)) == want


def test_what_a_block_has_computed_is_not_written_again() -> None:
    b, (x,) = begun(WORD, WORD)
    product = b.mul(x, WORD(3))
    assert b.mul(x, WORD(3)) is product
    assert lines(b) == 1
    first = b.load(b.alloca(WORD), typ=WORD)
    with b.if_then(b.icmp_signed("<", x, WORD(0))):
        assert b.mul(x, WORD(3)) is not product  # another block
    variable = b.alloca(WORD)
    assert b.load(variable, typ=WORD) is not b.load(variable, typ=WORD)  # it may have been written
    b.ret(first)
    parsed(b.module)


def test_sums_with_0_and_products_with_1() -> None:
    b, (x, vector) = begun(WORD, WORD, FOUR)
    assert b.add(WORD(0), x) is x and b.mul(x, WORD(1)) is x and b.add(vector, FOUR(0)) is vector
    assert b.gep(x, [WORD(0)], source_etype=BYTE) is x
    assert b.add(WORD(2), WORD(3)).text == "5"
    assert b.mul(WORD(2**62), WORD(6)).text == str(-(2**63))
    assert lines(b) == 0
    assert b.add(BYTE(200), BYTE(100)).text.startswith("%")  # LLVM knows how that wraps


def test_a_table_is_written_once() -> None:
    b, (place,) = begun(BYTE, WORD)
    table = b.module.table("table", bytes(range(256)))
    assert b.module.table("table", b"") is table
    b.ret(b.load(b.gep(table, [place], source_etype=BYTE), typ=BYTE))
    parsed(b.module)


def test_a_block_ends_once() -> None:
    b, _ = begun()
    b.ret(WORD(1))
    with pytest.raises(AssertionError, match="entry0 has ended"):
        b.ret(WORD(2))


def test_a_type_without_constants() -> None:
    with pytest.raises(TypeError, match=r"\[2 x i8\] has no constant 1"):
        ir.ArrayType(BYTE, 2)(1)
