"""What a turn of a loop writes into a part of an array that it carries, computed from elements around each.

A stencil needs the old elements while it computes the new ones, so these go into a buffer, and from there into the
array. In a loop they may as well go into a second array at once, with which the first one changes places: outside the
part that is written both have the same elements from the start, and keep them.

Where two memories change places and nothing else takes part, what the loop leaves is in the param's own when it ends:
it is copied there if the turns were odd in number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from lamina.program.record import Block, Buffer, Kernel, Store, While


def written_there(body: Block, param: int, output: int) -> Block | None:
    """The body with the new elements of a part of `param` written into the memory of `output`; `None` where it can't.

    That memory has to have the elements of `param` already, wherever it isn't written.
    """
    done = list(body.instructions)
    found = _store_of(body, output)
    if found is None or body.outputs.count(output) != 1:
        return None
    place, store = found
    last = done[place]
    assert isinstance(last, Kernel)
    if store.base != param or store.shifts or store.term.op != "load" or store.term.args:
        return None
    held, layout, _ = store.term.static
    origin = _store_of(body, held)
    if origin is None or origin[1].base is not None or origin[1].layout != layout or origin[0] >= place:
        return None
    first = done[origin[0]]
    assert isinstance(first, Kernel)
    if first.space != last.space or any(each.reduced or each.is_ordered or each.lengths for each in (first, last)):
        return None
    others = [other for other in last.stores if other is not store]
    readers = [each for each in done if held in each.reads]
    if readers != [last] or held in body.outputs or any(held in Kernel((), (), (other,)).loads for other in others):
        return None
    if any(other.base == param for each in done if isinstance(each, Kernel) for other in each.stores if other != store):
        return None  # which writes the first array
    there = Store(origin[1].term, output, store.layout)
    stores = tuple(there if other is origin[1] else other for other in first.stores)
    done[origin[0]] = replace(first, stores=stores)
    done[place : place + 1] = [replace(last, stores=tuple(others))] if others else []
    return Block(tuple(done), body.outputs)


def carried(loop: While, memory_of: Callable[[int], int], buffers: Sequence[Buffer]) -> dict[int, int]:
    """Where a turn leaves arrays, by the memory in which the next one looks for them, if that is another."""
    ends = zip(loop.params, loop.body.outputs, strict=True)
    arrays = {memory_of(param): memory_of(output) for param, output in ends if buffers[param].numel != 1}
    return {param: output for param, output in arrays.items() if param != output}


def in_pairs(moves: Mapping[int, int]) -> dict[int, int]:
    """Those that a turn leaves in a memory of no other's: these two change places, and no third has part in it.

    >>> in_pairs({1: 2, 3: 4, 4: 5})
    {1: 2}
    """
    outputs = set(moves.values())
    return {param: output for param, output in moves.items() if output not in moves and param not in outputs}


def _store_of(body: Block, buffer: int) -> tuple[int, Store] | None:
    """Where in a body a kernel fills a buffer."""
    for place, each in enumerate(body.instructions):
        if isinstance(each, Kernel):
            for store in each.stores:
                if store.buffer == buffer:
                    return place, store
    return None
