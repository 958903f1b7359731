"""Where in one piece of memory each array lies: two that are never needed at once may have one place.

An array is needed from the first instruction that names its memory to the last one. What is needed before a loop and
in it, or in it and after it, is needed in all of it, as is what the loop carries. Memories that a loop exchanges may
lie in each other's places afterwards, so they are needed as long as any of them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from lamina.program.record import Cond, Instruction, While, blocks_of

Span = tuple[int, int]  # the first and the last of the instructions, by number


def arranged(
    instructions: Sequence[Instruction],
    memory: Sequence[int],
    sizes: Mapping[int, int],
    outside: Collection[int],
    alignment: int = 1,
) -> tuple[dict[int, int], int]:
    """The offset of each of these memories, by their sizes in bytes, and how many bytes there are in all.

    Offsets are multiples of `alignment`. `memory` is that of each buffer; those `outside` have places of their own, for
    as long as all instructions run.

    >>> import lamina
    >>> from lamina.program import fuse, lower
    >>> from lamina.program.memory import plan
    >>> def f(x):
    ...     sums = x.cumsum()
    ...     sums = sums[::-1].cumsum()
    ...     sums = sums[::-1].cumsum()
    ...     return sums[::-1].cumsum()
    >>> planned = plan(fuse(lower(lamina.trace(f, lamina.Spec(lamina.float64, (8,))), lambda node: False)))
    >>> memory, block = planned.memory, planned.program.block
    >>> given = {memory[buffer] for buffer in (*planned.program.params, *block.outputs)}
    >>> arranged(block.instructions, memory, {each: 64 for each in memory if each not in given}, given)
    ({1: 0, 2: 64, 3: 0}, 128)
    """
    spans = _spans(instructions, memory, outside)
    places: dict[int, int] = {}
    held: list[tuple[int, int, int]] = []  # from, to, and the last instruction that needs it; by place
    size = 0
    for each in sorted(sizes, key=lambda each: spans[each]):
        first, last = spans[each]
        held = [other for other in held if other[2] >= first]
        nbytes = -(-max(sizes[each], 1) // alignment) * alignment
        place = 0
        for start, end, _ in held:
            if place + nbytes <= start:
                break
            place = max(place, end)
        held = sorted([*held, (place, place + nbytes, last)])
        places[each] = place
        size = max(size, place + nbytes)
    return places, size


def _spans(instructions: Sequence[Instruction], memory: Sequence[int], outside: Collection[int]) -> dict[int, Span]:
    spans: dict[int, Span] = {}
    loops: list[tuple[Span, set[int]]] = []  # with what they carry; inner ones first
    groups: list[set[int]] = []  # of memories that loops exchange
    count = _walk(instructions, memory, 0, spans, loops, groups)
    everything = -1, count
    while True:
        before = dict(spans)
        for group in filter(None, groups):
            whole = everything if group & set(outside) else _union(spans[each] for each in group)
            spans.update(dict.fromkeys(group, whole))
        for loop, carried in loops:
            for each, span in spans.items():
                is_met = span[0] <= loop[1] and loop[0] <= span[1]
                if is_met and (each in carried or span[0] < loop[0] or loop[1] < span[1]):
                    spans[each] = _union((span, loop))
        if spans == before:
            return spans


def _walk(
    instructions: Sequence[Instruction],
    memory: Sequence[int],
    count: int,
    spans: dict[int, Span],
    loops: list[tuple[Span, set[int]]],
    groups: list[set[int]],
) -> int:
    """Number the instructions from `count` on, and note which of them name each memory."""

    def touch(buffers: Iterable[int]) -> None:
        for buffer in buffers:
            each = memory[buffer]
            spans[each] = _union((spans.get(each, (count, count)), (count, count)))

    for each in instructions:
        first = count
        touch((*each.reads, *each.writes))
        for block in blocks_of(each):
            count = _walk(block.instructions, memory, count + 1, spans, loops, groups)
            touch(block.outputs)
        if isinstance(each, While):
            touch(each.params)
            ends = zip(each.params, each.body.outputs, strict=True)
            groups.append({memory[end] for pair in ends if memory[pair[0]] != memory[pair[1]] for end in pair})
            carried = {memory[buffer] for buffer in (*each.params, *each.body.outputs)}
            loops.append(((first, count), carried))
        if isinstance(each, (While, Cond)):
            touch(each.writes)
        count += 1
    return count


def _union(spans: Iterable[Span]) -> Span:
    firsts, lasts = zip(*spans, strict=True)
    return min(firsts), max(lasts)
