"""Floats of 16 bits: they are float32 in registers, and rounded after each op, as NumPy does it."""

from lamina import dtype as dt
from lamina.compilers.native import ir
from lamina.compilers.native.types import NARROW, lanes_of, splat_constant, vector
from lamina.dtype import DType

_SHORT, _WORD = ir.IntType(16), ir.IntType(32)


def computed_as(dtype: DType) -> DType:
    """The dtype that is computed with in place of one."""
    return dt.float32 if dtype in NARROW else dtype


def widened(b: ir.IRBuilder, bits: ir.Value, dtype: DType) -> ir.Value:
    """The float32 of these 16 bits."""
    lanes = lanes_of(bits)
    wide = vector(ir.FloatType(), lanes)
    if dtype is dt.float16:
        return b.fpext(b.bitcast(bits, vector(ir.HalfType(), lanes)), wide)
    whole = b.zext(bits, vector(_WORD, lanes))
    return b.bitcast(b.shl(whole, splat_constant(_WORD, lanes, 16)), wide)


def narrowed(b: ir.IRBuilder, x: ir.Value, dtype: DType) -> ir.Value:
    """The 16 bits of the nearest number to a float32, the even one of two."""
    lanes = lanes_of(x)
    if dtype is dt.float16:
        return b.bitcast(b.fptrunc(x, vector(ir.HalfType(), lanes)), vector(_SHORT, lanes))

    def number(value: int) -> ir.Constant:
        return splat_constant(_WORD, lanes, value)

    # the processor's own instruction takes subnormal numbers for zeros
    bits = b.bitcast(x, vector(_WORD, lanes))
    is_odd = b.and_(b.lshr(bits, number(16)), number(1))
    rounded = b.add(bits, b.add(is_odd, number(0x7FFF)))
    rounded = b.select(b.fcmp_unordered("uno", x, x), b.or_(bits, number(0x400000)), rounded)
    return b.trunc(b.lshr(rounded, number(16)), vector(_SHORT, lanes))


def rounded(b: ir.IRBuilder, x: ir.Value, dtype: DType) -> ir.Value:
    """A float32 that is a number of the dtype."""
    return widened(b, narrowed(b, x, dtype), dtype)


def to_odd(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """A float64 as a float32, to the odd one of two neighbours: what is rounded further from there is rounded once."""
    lanes = lanes_of(x)
    near = b.fptrunc(x, vector(ir.FloatType(), lanes))
    back, bits = b.fpext(near, x.type), b.bitcast(near, vector(_WORD, lanes))
    one, back_one = (splat_constant(_WORD, lanes, step) for step in (1, -1))
    is_even = b.icmp_unsigned("==", b.and_(bits, one), splat_constant(_WORD, lanes, 0))
    is_moved = b.and_(is_even, b.fcmp_ordered("!=", back, x))
    # a float's bits grow with its magnitude
    is_beyond = b.xor(b.fcmp_ordered(">", back, x), b.icmp_signed("<", bits, splat_constant(_WORD, lanes, 0)))
    odd = b.add(bits, b.select(is_beyond, back_one, one))
    return b.bitcast(b.select(is_moved, odd, bits), near.type)
