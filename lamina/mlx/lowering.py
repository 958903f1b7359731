"""A graph as a flat program of MLX calls.

Each scope is ordered once by `lamina.tree.post_order`, and its values are numbered; a run fills the numbered slots, one
instruction after the other. A value is an MLX array where MLX has its dtype, else a NumPy array.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np

from lamina import dtype as dt
from lamina import evaluator
from lamina.dtype import DType
from lamina.errors import warn
from lamina.expr import OPS, Expr, Graph, build, value_of, with_effects
from lamina.layout import Layout, move
from lamina.mlx.calls import CALLS, DTYPES, reason_against, unit_of
from lamina.tree import nodes_of, operands, post_order, substitute

_OFTEN = 6_000  # turns of a loop by which dispatch has cost what compiling the body costs on the CPU

# Programs

Values = dict[int, Any]  # what is in the slots that are filled


class Instruction(NamedTuple):
    """One step: fills a slot by a function of the slots so far. `drops` are the slots that nothing needs after it."""

    result: int
    node: Expr
    operands: tuple[int, ...]
    run: Callable[[Values], Any]
    is_mlx: bool = True  # whether it is made of MLX calls alone
    reason: str = ""  # why the evaluator runs it
    drops: tuple[int, ...] = ()

    def __str__(self) -> str:
        name = self.node.args[0] if self.node.op == "block" else self.node.op
        shown = f"{self.result} = {name}({', '.join(map(str, self.operands))})"
        return f"{shown}  # evaluator: {self.reason}" if self.reason else shown

    def fill(self, values: Values) -> None:
        """Run; what is raised gets the user's line."""
        try:
            values[self.result] = self.run(values)
        except Exception as error:
            if self.node.source is not None and not getattr(error, "__notes__", None):
                error.add_note(f"lamina: in {self.node.op}, {self.node.source}")
            raise
        for slot in self.drops:
            values.pop(slot, None)


class Program(NamedTuple):
    """What runs in a scope: slots that are filled before, instructions in order, and the slots of the results.

    `branches` are the instructions that run only if a branch is taken that needs them.

    >>> import lamina
    >>> print(lower(lamina.trace(lambda x: np.tanh(x) + 2 * x, lamina.Spec(lamina.float32, (3,)))))
    inputs 0; constants 3
    2 = tanh(0)
    4 = move(3)
    5 = multiply(4, 0)
    1 = add(2, 5)
    results 1
    """

    inputs: tuple[int, ...]
    captures: tuple[tuple[int, Callable[[], Any]], ...]
    constants: tuple[tuple[int, Any], ...]
    instructions: tuple[Instruction, ...]
    branches: tuple[Instruction, ...]
    results: tuple[int, ...]

    def __str__(self) -> str:
        filled = {
            "inputs": self.inputs,
            "captures": [slot for slot, _ in self.captures],
            "constants": [slot for slot, _ in self.constants],
        }
        slots = "; ".join(f"{name} {', '.join(map(str, each))}" for name, each in filled.items() if each)
        lines = [*map(str, self.instructions), *(f"  in a branch: {each}" for each in self.branches)]
        return "\n".join([slots, *lines, f"results {', '.join(map(str, self.results))}"])

    @property
    def is_mlx(self) -> bool:
        """Whether it is made of MLX calls alone, so that MLX can compile it."""
        return not self.captures and all(each.is_mlx for each in self.instructions)

    def replay(self, values: Values) -> list[Any]:
        """Fill the slots that are empty, those of the inputs not being so, and return the results."""
        values.update(self.constants)
        for slot, read in self.captures:
            values[slot] = read()
        for each in self.instructions:
            if each.result not in values:
                each.fill(values)
        return [values[slot] for slot in self.results]

    def call(self, given: Iterable[Any]) -> list[Any]:
        """The results for these inputs."""
        return self.replay(dict(zip(self.inputs, given, strict=True)))


def to_numpy(value: Any) -> np.ndarray:
    """A NumPy array in memory of its own, in C order."""
    if isinstance(value, mx.array) and value.dtype == mx.bfloat16:  # which the buffer protocol lacks
        return np.array(value.view(mx.uint16), order="C").view(dt.bfloat16.numpy)
    array = np.array(value, order="C")
    return array.view(dt.BY_NUMPY[array.dtype].numpy)  # of two dtypes of 64-bit integers, NumPy's int64


# Lowering


class Lowering:
    """What the scopes of one graph share: MLX's dtypes on a device, redirected notes, what MLX is not asked for."""

    def __init__(self, dtypes: Mapping[DType, Any], redirect: "Redirect | None" = None) -> None:
        self.dtypes = dtypes
        self.redirect = redirect
        self.redirected: dict[Expr, Sequence[Expr] | None] = {}
        self.left: dict[str, set[str]] = {}  # by reason
        self.funs: dict[Expr, Program] = {}

    def to_mlx(self, array: np.ndarray) -> Any:
        """An MLX array where MLX has the dtype, else the array itself."""
        dtype = self.dtypes.get(dt.BY_NUMPY[array.dtype])
        return array if dtype is None else mx.array(np.asarray(array, order="C"), dtype=dtype)

    def everything(self, node: Expr) -> Sequence[Expr] | None:
        """What a note stands for that is redirected; else None."""
        if node.op != "metadata" or self.redirect is None:
            return None
        if node not in self.redirected:
            found = self.redirect(node)
            if found is not None and [(each.dtype, each.shape) for each in found] != [(node.dtype, node.shape)]:
                raise ValueError(f"scope_dependencies: {node} must stand for one node like it, not for {found}")
            self.redirected[node] = found
        return self.redirected[node]

    def certain(self, node: Expr) -> Sequence[Expr] | None:
        """What a node needs before it is known which branch is taken."""
        return nodes_of(node.args[0][0][0]) if node.op == "cond" else self.everything(node)


_MEMORY = ("move", "view", "update")
Redirect = Callable[[Expr], Sequence[Expr] | None]
Made = tuple[Callable[[Values], Any], bool]  # how a node is run, and whether by MLX alone


class Scope:
    """The slots of a scope, and how each of them is filled; a loop's condition and body are programs of one scope."""

    def __init__(self, lowering: Lowering, params: Iterable[Expr]) -> None:
        self.lowering = lowering
        self.slots: dict[Expr, int] = {}
        self.steps: dict[Expr, Instruction] = {}
        self.inputs = tuple(map(self.slot, params))

    def slot(self, node: Expr) -> int:
        """Where the value of a node is."""
        return self.slots.setdefault(node, len(self.slots))

    def program(self, outputs: Any, *, is_last: bool) -> Program:
        """The instructions for a container of nodes; `is_last` if no other program of the scope follows."""
        results = tuple(map(self.slot, nodes_of(value_of(outputs))))
        captures, constants = [], []
        order = post_order(outputs, self.lowering.everything)
        for node in order:
            if node.op == "tensor":
                captures.append((self.slot(node), self._reader(node.args[0])))
            elif node.op == "constant":
                number = np.array(node.args[0], node.dtype.numpy)
                constants.append((self.slot(node), self.lowering.to_mlx(np.broadcast_to(number, node.shape))))
            elif node.op != "parameter" and node not in self.steps:
                self.steps[node] = self._instruction(node)
        certain = [node for node in post_order(outputs, self.lowering.certain) if node in self.steps]
        instructions = [self.steps[node] for node in certain]
        if is_last and not any(node.op == "cond" for node in order):  # a branch may need any value of its scope
            instructions = _with_drops(instructions, {*self.inputs, *results})
        in_branches = set(order) - set(certain)
        branches = [self.steps[node] for node in order if node in in_branches and node in self.steps]
        return Program(self.inputs, tuple(captures), tuple(constants), tuple(instructions), tuple(branches), results)

    def _reader(self, array: Any) -> Callable[[], Any]:
        return lambda: self.lowering.to_mlx(np.asarray(array))  # when it runs: it is captured by reference

    def _instruction(self, node: Expr) -> Instruction:
        is_syntax, reason = node.op not in OPS and node.op not in _MEMORY, ""
        if not is_syntax and (reason := reason_against(node, self.lowering.dtypes)):
            run, is_mlx = self.evaluated(node), False
        else:
            run, is_mlx = (_syntax if is_syntax else _memory if node.op in _MEMORY else _primitive)(self, node)
        needed = self.lowering.certain(node)
        given = operands(node) if needed is None else needed
        if reason:
            dtypes = ", ".join(map(str, dict.fromkeys(each.dtype for each in given or (node,))))
            self.lowering.left.setdefault(reason, set()).add(f"{node.op} of {dtypes}")
        return Instruction(self.slot(node), node, tuple(map(self.slot, given)), run, is_mlx, reason)

    def branch(self, node: Expr, values: Values) -> Any:
        """The results of a cond, of whose branches the one that is taken is computed."""
        for needed in iter(lambda: self._missing(node, values), []):
            self.demand(needed, values)
        clauses, otherwise = node.args
        taken = (value for predicate, value in clauses if values[self.slots[value_of(predicate)]].item())
        return _results(node, [values[self.slots[each]] for each in nodes_of(value_of(next(taken, otherwise)))])

    def demand(self, roots: Sequence[Expr], values: Values) -> None:
        """Fill the slots of these nodes, and those they need; of branches, those that are taken."""
        stack = list(reversed(roots))
        while stack:
            node = stack[-1]
            if self.slots[node] in values:
                stack.pop()
                continue
            missing = self._missing(node, values)
            if missing:
                stack.extend(reversed(missing))
            else:
                self.steps[node].fill(values)

    def _missing(self, node: Expr, values: Values) -> list[Expr]:
        """What a node needs that isn't there: of a cond, the next predicate, or what the branch that is taken gives."""
        needed = self.lowering.everything(node)
        needed = operands(node) if needed is None else needed
        if node.op == "cond":
            for predicate, value in (*node.args[0], (None, node.args[1])):
                needed = nodes_of(value if predicate is None else predicate)
                if predicate is None or any(self.slots[each] not in values for each in needed):
                    break
                if values[self.slots[value_of(predicate)]].item():
                    needed = nodes_of(value)
                    break
        return [each for each in needed if self.slots[each] not in values]

    def evaluated(self, node: Expr) -> Callable[[Values], Any]:
        """What the evaluator makes of a node, of values that come from MLX and go there."""
        given = list(dict.fromkeys(operands(node)))
        params = tuple(Expr("parameter", (i,), each.dtype, each.shape) for i, each in enumerate(given))
        alone = substitute(node, dict(zip(given, params, strict=True)))
        leaves = [build("elem", alone, i) for i in range(len(node.dtype))] if node.has_several else [alone]
        compiled = evaluator.compile_graph(Graph(params, leaves, (alone,)))
        slots, to_mlx = [self.slot(each) for each in given], self.lowering.to_mlx

        def run(values: Values) -> Any:
            results = [to_mlx(np.asarray(each)) for each in compiled(*(to_numpy(values[slot]) for slot in slots))]
            return results if node.has_several else results[0]

        return run


def _with_drops(instructions: Sequence[Instruction], kept: set[int]) -> list[Instruction]:
    last = {slot: i for i, each in enumerate(instructions) for slot in (each.result, *each.operands)}
    drops: dict[int, list[int]] = {}
    for slot, i in last.items():
        if slot not in kept:
            drops.setdefault(i, []).append(slot)
    return [each._replace(drops=tuple(drops.get(i, ()))) for i, each in enumerate(instructions)]


def _primitive(scope: Scope, node: Expr) -> Made:
    call, dtype, arity = CALLS[node.op], scope.lowering.dtypes[node.dtype], OPS[node.op].arity
    static = node.args[arity:]
    slots = [tuple(map(scope.slot, arg)) if isinstance(arg, tuple) else scope.slot(arg) for arg in node.args[:arity]]

    def run(values: Values) -> Any:
        given = [[values[i] for i in each] if isinstance(each, tuple) else values[each] for each in slots]
        result = call(*given, *static)
        return result if result.dtype == dtype else result.astype(dtype)

    bounds = [(scope.slot(index), extent) for index, extent in _indices_of(node)]
    if not bounds:
        return run, True
    evaluated = scope.evaluated(node)

    def checked(values: Values) -> Any:
        for slot, extent in bounds:
            index = values[slot].astype(mx.int64)
            if mx.any((index < -extent) | (index >= extent)).item():
                return evaluated(values)  # which says what is wrong
        return run(values)

    return checked, False


def _indices_of(node: Expr) -> list[tuple[Expr, int]]:
    """The index operands of a node, each with the extent that it must stay in."""
    if node.op == "take_along_axis":
        return [(node.args[1], node.args[0].shape[node.args[2]])]
    return list(zip(node.args[1], node.args[0].shape, strict=False)) if node.op in ("gather", "scatter") else []


def _memory(scope: "Scope", node: Expr) -> "Made":
    """Movements and views are views of MLX's; an update writes into a copy."""
    if node.op == "move":
        x, movement = node.args
        slot, shape = scope.slot(x), node.shape
        match movement:
            case move.Reshape():
                return lambda values: mx.reshape(values[slot], shape), True
            case move.Broadcast():
                return lambda values: mx.broadcast_to(values[slot], shape), True
            case move.Permute(axes):
                return lambda values: mx.transpose(values[slot], axes), True
        moved = Layout.contiguous(x.shape).move(movement)
        assert moved is not None  # from a contiguous layout, all movements are layouts
        return lambda values: _strided(values[slot], moved, moved.offset), True
    root, layout, shifts, lengths, *new = node.args
    slot, count, evaluated = scope.slot(root), math.prod(root.shape), scope.evaluated(node)
    by, cuts = [(scope.slot(each), n) for each, n in shifts], [(axis, scope.slot(each)) for axis, each in lengths]
    new_slots = [*map(scope.slot, new)]

    def run(values: Values) -> Any:
        shape, shift = list(layout.shape), sum(int(values[each].item()) * stride for each, stride in by)
        for axis, each in cuts:
            shape[axis] = int(values[each].item())
        if any(not 0 <= n <= most for n, most in zip(shape, layout.shape, strict=True)):
            return evaluated(values)  # which says what is wrong
        seen = Layout(shape, layout.strides, layout.offset) if cuts else layout
        low, high = seen.span
        if seen.numel and not 0 <= low + shift <= high + shift <= count:
            return evaluated(values)
        if node.op == "update" and not seen.numel:
            return values[slot]
        if node.op == "view":
            part = _strided(values[slot], seen, seen.offset + shift)
            beyond = [(0, most - n) for n, most in zip(shape, layout.shape, strict=True)]
            return mx.pad(part, beyond) if cuts else part
        memory = mx.array(mx.reshape(values[slot], (count,)))
        part = values[new_slots[0]][tuple(map(slice, shape))]
        memory[_strided(mx.arange(count, dtype=mx.int64), seen, seen.offset + shift)] = part
        return mx.reshape(memory, root.shape)

    return run, not (shifts or lengths)


def _strided(x: Any, layout: Layout, offset: int) -> Any:
    """The elements that a layout names of an array in C order, which `mlx.core.as_strided` wants it to be in."""
    if not layout.numel:
        return mx.zeros(layout.shape, x.dtype)
    return mx.as_strided(mx.contiguous(x), layout.shape, layout.strides, offset)


def _syntax(scope: "Scope", node: Expr) -> "Made":
    """The nodes of scopes, effects and notes."""
    match node.op, node.args:
        case "elem", (several, i):
            slot = scope.slot(several)
            return lambda values: values[slot][i], True
        case "metadata", (noted, _):
            (stands_for,) = scope.lowering.certain(node) or (noted,)
            slot = scope.slot(stands_for)
            return lambda values: values[slot], True
        case "hook", (shown, _, callback):
            slots, show = [scope.slot(each) for each in nodes_of(shown)], scope.evaluated(node)

            def hook(values: Values) -> Any:
                if callback is not None:
                    show(values)
                return _results(node, [values[slot] for slot in slots])

            return hook, callback is None
        case "fun", _:
            return lambda values: None, True  # its calls have it
        case "call", (fun, args):
            funs = scope.lowering.funs
            if fun not in funs:
                params, body, _ = fun.args
                funs[fun] = Scope(scope.lowering, nodes_of(params)).program(body, is_last=True)
            return _calling(node, funs[fun], [scope.slot(each) for each in nodes_of(args)])
        case "block", (_, in_args, default, _):
            if (unit := unit_of(node)) is not None:
                dtype = scope.lowering.dtypes[node.dtype]
                places = [scope.slot(arg) if isinstance(arg, Expr) else None for arg in in_args]
                return lambda values: unit(
                    *(arg if slot is None else values[slot] for arg, slot in zip(in_args, places, strict=True))
                ).astype(dtype), True
            params = [each for each in post_order(default, scope.lowering.everything) if each.op == "parameter"]
            given = [scope.slot(operands(node)[param.args[0]]) for param in params]
            return _calling(node, Scope(scope.lowering, params).program(default, is_last=True), given)
        case "cond", _:
            return lambda values: scope.branch(node, values), False
        case "while", _:
            return _loop(scope, node), False
    assert node.op in ("runtime_call", "check"), node
    return scope.evaluated(node), False


def _results(node: Expr, results: Sequence[Any]) -> Any:
    return results if node.has_several else results[0]


def _calling(node: Expr, program: Program, given: Sequence[int]) -> "Made":
    return lambda values: _results(node, program.call(values[slot] for slot in given)), program.is_mlx


def _loop(scope: "Scope", node: Expr) -> Callable[[Values], Any]:
    initial, arg, condition, body = node.args
    inner = Scope(scope.lowering, nodes_of(arg))
    test, turn = inner.program(condition, is_last=False), inner.program(body, is_last=True)
    slots = [scope.slot(each) for each in nodes_of(initial)]
    can_compile = turn.is_mlx and all(each.dtype in scope.lowering.dtypes for each in nodes_of(initial))
    count, compiled = 0, None

    def run(values: Values) -> Any:
        nonlocal count, compiled
        carry = [values[slot] for slot in slots]
        inside = dict(zip(turn.inputs, carry, strict=True))
        (goes_on,) = test.replay(inside)
        while goes_on.item():
            # what the condition has computed is there for the body
            carry = turn.replay(inside) if compiled is None else compiled(*carry)
            inside = dict(zip(turn.inputs, carry, strict=True))
            (goes_on,) = test.replay(inside)
            mx.eval(goes_on, *(each for each in carry if isinstance(each, mx.array)))  # or the turns pile up
            count += 1
            if count == _OFTEN and can_compile:
                compiled = mx.compile(lambda *carry: turn.call(carry))
        return _results(node, carry)

    return run


def lower(graph: Graph, lowering: Lowering | None = None) -> Program:
    """The program of a graph: its effects, in order, then its outputs and updates.

    Gives a `LaminaWarning` that names the nodes which run in the evaluator.
    """
    lowering = lowering or Lowering(DTYPES)
    outputs = [*nodes_of(graph.outputs), *(node for _, node in graph.updates)]
    program = Scope(lowering, graph.params).program(with_effects(graph.effects, outputs), is_last=True)
    if lowering.left:
        left = "; ".join(f"{', '.join(sorted(nodes))} ({reason})" for reason, nodes in lowering.left.items())
        warn(f"mlx: of {graph.name}, these run in the evaluator: {left}")
    return program
