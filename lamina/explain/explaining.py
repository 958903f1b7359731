"""A function's trace and its planned program, put together as an `Explanation`."""

import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np

from lamina.arguments import argument_paths, may_be_written, mixed_memory
from lamina.array import Array
from lamina.compilers.native import planned
from lamina.defn import CANNOT_TRACE, Defn, Staged, staged, with_line
from lamina.dtype import from_numpy
from lamina.errors import TraceError
from lamina.explain.account import Account
from lamina.explain.lines import Function, function_around
from lamina.explain.report import Copy, Explanation, Fallback, Line, Operation, Pinned
from lamina.expr import Graph, Source, describe
from lamina.expr.containers import flatten
from lamina.expr.tree import nodes_of
from lamina.program import Program
from lamina.program.record import TooLarge
from lamina.roots import Root, memory_of
from lamina.trace.scope import Note, raised_at, user_source
from lamina.trace.staging import Spec


def explained(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
    """What `lamina.explain` returns for a call."""
    function = function._function if isinstance(function, Defn) else function
    outside = user_source()
    name = getattr(function, "__name__", type(function).__name__)
    leaves = flatten((args, kwargs))[0]
    paths = argument_paths(function, args, kwargs)
    arguments = tuple(f"{path}: {_described(leaf)}" for path, leaf in zip(paths, leaves, strict=True))
    try:
        found = staged(function, args, kwargs)
    except CANNOT_TRACE as reason:
        return Explanation(name, arguments, Fallback(with_line(reason), raised_at(reason)))
    except TraceError:
        raise
    except Exception as error:
        source = raised_at(error)
        if source is None:  # what is wrong are the arguments
            raise
        return Explanation(name, arguments, Fallback(f"{type(error).__name__}: {with_line(error)}", source))
    given = [np.asarray(leaves[place]) for place in found.arguments.arrays]
    if mixed := mixed_memory(found.traced, given):
        return Explanation(name, arguments, Fallback(mixed, None))
    graph = found.traced.graph
    try:
        plan = planned(graph)
    except TooLarge as reason:
        return Explanation(name, arguments, evaluated=str(reason), graph=graph)
    account = Account(plan, _names(plan.program, graph, found, paths), outside)
    memory = account.memory_of(plan.program.block.outputs[: len(nodes_of(graph.outputs))])
    taken = list(_taken(found, given, paths))
    pins = [Pinned(paths[place], leaves[place], note.text, note.source) for place, note in found.pinned]
    notes = [Note("pinned", pin.source, f"{pin.argument} = {pin.value!r}, for {pin.reason}") for pin in pins]
    return Explanation(
        name,
        arguments,
        None,
        tuple(_lines_of(function, account, [*notes, *found.traced.notes])),
        tuple(pins),
        tuple(account.kernels),
        (*taken, *account.copies, *_put_back(found, given, paths, bool(plan.written))),
        memory._replace(temporary=memory.temporary + sum(copy.nbytes for copy in taken)),
        graph,
        plan.program,
    )


def _names(program: Program, graph: Graph, found: Staged, paths: list[str]) -> dict[int, str]:
    """What the buffers of results, of what is written, and of params are called; a later name is the better one."""
    params = {
        buffer: _path(param, paths, found) for buffer, param in zip(program.params, found.arguments.params, strict=True)
    }
    given = dict.fromkeys(program.tensors, "a captured array") | params
    outputs = nodes_of(graph.outputs)
    results = {b: f"result {i}" if len(outputs) > 1 else "result" for i, b in enumerate(program.block.outputs)}
    places = dict(zip(graph.params, program.params, strict=True))
    written = {
        buffer: f"{given[places[param]] if param in places else 'a captured array'}, written"
        for buffer, (param, _) in zip(program.block.outputs[len(outputs) :], graph.updates, strict=True)
    }
    return results | written | given


def _lines_of(function: Any, account: Account, notes: list[Note]) -> Iterator[Line]:
    """The statements of the function, and of those that it calls, each with what was decided and done there."""
    operations: dict[tuple[str, int], list[Operation]] = {}
    noted: dict[tuple[str, int], list[Note]] = {}
    names: dict[tuple[str, int], str] = {}
    code = _code_of(function)
    if code is not None:
        names[code.co_filename, max(line for *_, line in code.co_lines() if line)] = code.co_name
    for source, operation in account.operations:
        operations.setdefault(source[:2], []).append(operation)
        names.setdefault(source[:2], source.function)
    for note in notes:
        if note.source is not None and account.is_users(note.source):
            noted.setdefault(note.source[:2], []).append(note)
            names.setdefault(note.source[:2], note.source.function)
    found: dict[tuple[str, int], Function] = {}
    whole: set[tuple[str, int]] = set()  # the functions all of whose lines are shown, not those of a lambda in one
    for (file, line), name in names.items():
        each = function_around(file, line)
        found.setdefault((file, each.line), each)
        if each.name == name:
            whole.add((file, each.line))
    for key, each in found.items():
        for statement in each.statements:
            places = [(each.file, line) for line in range(statement.first, statement.last + 1)]
            done = [operation for place in places for operation in operations.get(place, ())]
            decided = [note for place in places for note in noted.get(place, ())]
            if done or decided or key in whole:
                name = next((names[place] for place in places if place in names), each.name)
                source = Source(each.file, statement.first, each.name if key in whole else name)
                yield Line(source, statement.text, tuple(decided), tuple(done))


def _code_of(function: Any) -> CodeType | None:
    function = getattr(function, "__func__", function)
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _path(param: int | Root, paths: list[str], found: Staged) -> str:
    """What the user calls a param: the argument, or those that share a memory."""
    if isinstance(param, int):
        return paths[param]
    return " and ".join(paths[found.arguments.arrays[member.place]] for member in param.members)


def _taken(found: Staged, arrays: list[np.ndarray], paths: list[str]) -> Iterator[Copy]:
    """The arguments that a call copies before it runs."""
    for param in found.arguments.params:
        if isinstance(param, Root):
            memory = memory_of(param, arrays)
            reasons = (
                (not memory.dtype.isnative, "its bytes are in the other order"),
                (not memory.flags.c_contiguous, "no layout says where its elements are"),
                (not memory.flags.aligned, "its elements are not aligned"),
            )
            for reason in [reason for is_so, reason in reasons if is_so][:1]:
                yield Copy(_path(param, paths, found), memory.nbytes, reason, None)


def _put_back(found: Staged, arrays: list[np.ndarray], paths: list[str], is_in_place: bool) -> Iterator[Copy]:
    """The arrays that a call writes, which get their elements when it has run; not those that are written in place."""
    reason = "its new elements are put back when the program is done"
    for node, _ in found.traced.graph.updates:
        given = found.arguments.params[node.args[0]] if node.op == "parameter" else None
        if not isinstance(given, Root):
            yield Copy("a captured array", np.asarray(node.args[0]).nbytes, reason, None)
            continue
        is_ready = is_in_place and may_be_written(given, memory_of(given, arrays))
        for member in given.members:
            if arrays[member.place].flags.writeable and not is_ready:
                yield Copy(paths[found.arguments.arrays[member.place]], arrays[member.place].nbytes, reason, None)


def _described(leaf: Any) -> str:
    if isinstance(leaf, (np.ndarray, np.generic, Array, Spec)):
        return describe(from_numpy(leaf.dtype), tuple(leaf.shape))
    return type(leaf).__name__
