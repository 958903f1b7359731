"""What LLVM is told of the memories of one function: which of them a write of another one leaves as they are.

So a loop keeps in registers what its turns only read, and what they write again and again at one place. It is said as
LLVM's alias analysis by types has it, each memory being of a type of its own; those that may have bytes in common, here
or there in the function, are of one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lamina.compilers.native import ir
from lamina.program.record import Block, Instruction, While, instructions_of


def tags(module: ir.Module, memories: Iterable[int], together: Iterable[tuple[int, int]]) -> dict[int, str]:
    """What marks loads and stores of each of these memories, some of which belong together."""
    groups = {each: {each} for each in memories}
    for one, other in together:
        if one in groups and other in groups:
            groups[one] |= groups[other]
            groups.update(dict.fromkeys(groups[one], groups[one]))
    root = module.node('!"memory"')
    kinds = {each: module.node(f'!"memory {min(group)}", {root}, i64 0') for each, group in groups.items()}
    return {each: module.node(f"{kind}, {kind}, i64 0") for each, kind in kinds.items()}


def exchanged(instructions: Sequence[Instruction], memory: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The memories whose places loops exchange."""
    for each in instructions_of(Block(tuple(instructions), ())):
        if isinstance(each, While):
            yield from ((memory[p], memory[o]) for p, o in zip(each.params, each.body.outputs, strict=True))


def overlapping(places: Mapping[int, int], sizes: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """The memories that have bytes in common, by where they begin and how many bytes they have.

    >>> list(overlapping({1: 0, 2: 64, 3: 0, 4: 128}, {1: 64, 2: 64, 3: 16, 4: 8}))
    [(1, 3)]
    """
    last, end = -1, 0  # which goes the farthest
    for each in sorted(places, key=lambda each: places[each]):
        if places[each] < end:
            yield last, each
        if places[each] + sizes[each] > end:
            last, end = each, places[each] + sizes[each]
