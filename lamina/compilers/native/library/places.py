"""The places at which a vector of bools is true: one loop without a branch, that writes each place and counts."""

from lamina.compilers.native.counting import repeat
from lamina.compilers.native.library.lines import Call, load, store
from lamina.compilers.native.scalar import Value
from lamina.compilers.native.types import INDEX
from lamina.program.record import Library


def has_code(library: Library) -> bool:
    """Whether it can be written: always."""
    return True


def emit(call: Call) -> None:
    """Write the places in order, and 0 behind them."""
    (x,), (result,), b = call.operands, call.results, call.builder
    extent, count = x.layout.shape[0], call.room(INDEX)
    b.store(INDEX(0), count)

    def step(place: Value) -> None:
        held = b.load(count, typ=INDEX)
        store(b, result.dtype, place, result.at(b, [0], [held]))
        b.store(b.add(held, b.zext(load(b, x.dtype, x.at(b, [0], [place])), INDEX)), count)

    repeat(b, extent, step)
    repeat(b, extent, lambda k: store(b, result.dtype, INDEX(0), result.at(b, [0], [k])), b.load(count, typ=INDEX))
