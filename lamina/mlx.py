"""The compiler "mlx": a graph as a flat program of MLX calls, on the CPU or, on Apple machines, the GPU.

It is written from outside, on the public rooms alone, and is meant to be read in one sitting: what each op is in MLX,
what MLX is not asked for and why, the units that MLX has in one piece, and the lowering. That orders each scope once by
`lamina.tree.post_order` and numbers its values; a run fills the numbered slots, one instruction after the other.

A value is an MLX array where MLX has its dtype, else a NumPy array. A node that MLX is not asked for runs in the
evaluator, which is the meaning of every op, and one warning for a graph says which nodes these are, and why.

Options: ``device``, "cpu" or "gpu" (MLX's default device where none is given), and ``scope_dependencies``, a function
that may redirect ``metadata`` nodes: see `compile_graph`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import mlx.core as mx
import numpy as np

from lamina import dtype as dt
from lamina import evaluator
from lamina.blocks import Block
from lamina.compilers import expect_options
from lamina.dtype import DType
from lamina.errors import warn
from lamina.expr import OPS, Expr, Family, Graph, build, value_of, with_effects
from lamina.layout import Layout, move
from lamina.tree import nodes_of, operands, post_order, substitute

DTYPES: dict[DType, Any] = {
    each: getattr(mx, "bool_" if each is dt.bool else each.name)
    for each in dt.DTYPES.values()
    if each not in (dt.int4, dt.uint4, dt.complex128)
}
"""MLX's dtypes by ours."""

_OFTEN = 6_000  # turns of a loop by which dispatch has cost what compiling the body costs on the CPU


# What each op is in MLX: a function of the operands and the op's static args. Where its result has another dtype than
# the node, as the sums of narrow integers have, it is cast.


def _cast(x: Any, dtype: DType) -> Any:
    """As another dtype; a float beyond an integer dtype is its limit, NaN is 0."""
    if x.dtype == mx.complex64 and dtype.kind not in ("complex", "bool"):
        x = mx.real(x)
    if not mx.issubdtype(x.dtype, mx.floating) or dtype.kind not in ("signed", "unsigned"):
        return x.astype(DTYPES[dtype])
    if x.dtype in (mx.float16, mx.bfloat16):
        x = x.astype(mx.float32)  # which holds the limits
    low, high = (mx.array(float(limit), x.dtype) for limit in (dtype.min, dtype.max))
    inside = (x > low) & (x < high)
    whole = mx.where(inside, x, mx.zeros_like(x)).astype(DTYPES[dtype])
    least, greatest = (mx.array(np.array(limit, dtype.numpy)) for limit in (dtype.min, dtype.max))
    return mx.where(inside | mx.isnan(x), whole, mx.where(x >= high, greatest, least))


def _divided(divide: Callable[..., Any]) -> Callable[..., Any]:
    """A division of integers: 0 by 0, and no overflow by -1; in MLX either ends the process."""

    def safely(x: Any, y: Any) -> Any:
        is_zero, is_negative = y == 0, y == -1 if mx.issubdtype(y.dtype, mx.signedinteger) else mx.array(False)
        one = mx.ones_like(y)
        result = mx.where(is_negative, divide(mx.negative(x), one), divide(x, mx.where(is_zero | is_negative, one, y)))
        return mx.where(is_zero, mx.zeros_like(result), result)

    return safely


def _shifted(shift: Callable[..., Any], beyond: Callable[..., Any]) -> Callable[..., Any]:
    """A shift; by the dtype's width or more, or by a negative number, what is left of x then."""

    def shifted(x: Any, y: Any) -> Any:
        inside = (y >= 0) & (y < 8 * x.dtype.size)
        return mx.where(inside, shift(x, mx.where(inside, y, mx.zeros_like(y))), beyond(x))

    return shifted


def _number_before_nan(choose: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, y: mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, choose(x, y)))


def _over(reduction: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axes: reduction(x, axis=list(axes)) if axes else x


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, axis: function(x, axis=axis)


def _transform(transform: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n, axis, norm: transform(x, n=n, axis=axis, norm=norm)


def _scattered(x: Any, indices: Sequence[Any], updates: Any, combine: str) -> Any:
    if combine != "set":
        name = {"max": "maximum", "min": "minimum"}.get(combine, combine)
        return getattr(x.at[tuple(indices)], name)(updates)
    result = mx.array(x)
    result[tuple(indices)] = updates
    return result


_SAME_NAME = """
    negative abs ceil floor trunc round conj real imag isfinite isinf isnan square sqrt reciprocal exp expm1 log log2
    log10 log1p sigmoid sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh bitwise_invert logical_not add
    subtract multiply divide pow atan2 logaddexp maximum minimum bitwise_and bitwise_or bitwise_xor logical_and
    logical_or equal not_equal less less_equal greater greater_equal where matmul take_along_axis
"""
CALLS: dict[str, Callable[..., Any]] = {
    **{name: getattr(mx, name) for name in _SAME_NAME.split()},
    **{name: _over(getattr(mx, name)) for name in ("sum", "prod", "max", "min", "any", "all")},
    **{name: _along(getattr(mx, name)) for name in ("argmax", "argmin", "cumulative_sum", "cumulative_prod", "sort")},
    "cumulative_max": _along(mx.cummax),
    "cumulative_min": _along(mx.cummin),
    "copy": mx.array,
    "sign": lambda x: mx.sign(x) if x.dtype == mx.complex64 else mx.where(mx.isnan(x), x, mx.sign(x)),
    "floor_divide": _divided(mx.floor_divide),
    "remainder": _divided(mx.remainder),
    "fmax": _number_before_nan(mx.maximum),
    "fmin": _number_before_nan(mx.minimum),
    "bitwise_left_shift": _shifted(mx.left_shift, mx.zeros_like),
    "bitwise_right_shift": _shifted(mx.right_shift, lambda x: mx.where(x < 0, ~mx.zeros_like(x), mx.zeros_like(x))),
    "logical_xor": mx.not_equal,
    "clip": lambda x, low, high: mx.minimum(mx.maximum(x, low), high),
    "complex": lambda x, y: mx.view(mx.stack([x, y], axis=-1), mx.complex64).reshape(x.shape),
    "cast": _cast,
    "bitcast": lambda x, dtype: mx.view(x, DTYPES[dtype]),
    "iota": lambda count, dtype: mx.arange(count, dtype=mx.int64).astype(DTYPES[dtype]),
    "concat": lambda arrays, axis: mx.concatenate(arrays, axis=axis),
    "pad": lambda x, value, widths: mx.pad(x, widths, constant_values=value) if widths else x,
    "gather": lambda x, indices: x[tuple(indices)],
    "scatter": _scattered,
    "searchsorted": lambda x, values, side: mx.searchsorted(x, values, side=side),
    **{name: _transform(getattr(mx.fft, name)) for name in ("fft", "ifft", "rfft", "irfft")},
}

# What MLX is not asked for: by reason, for kinds or names of dtypes of the first operand (none: all), the ops.
# `lamina.testing` found them. What an index out of range would do is looked for before MLX reads or writes there.
ELSEWHERE: dict[str, dict[str, str]] = {
    "MLX has no such op": {
        "": """signbit cbrt exp2 fmod float_power hypot copysign nextafter logaddexp2 gcd lcm bitwise_and_reduce
            bitwise_or_reduce bitwise_xor_reduce true_places""",
        "bool signed unsigned": "matmul",
        "complex": "expm1",
    },
    "MLX transforms single precision alone": {"float16": "fft ifft rfft", "float64": "irfft"},
    "MLX computes it in float32": {"float64": "sin cos exp sigmoid logaddexp"},
    "MLX computes it less exactly": {"": "erf"},
    "MLX has other quotients of infinities, and zeros of another sign": {"float": "floor_divide remainder"},
    "MLX loses NaN": {"float16 bfloat16": "cumulative_max cumulative_min"},
    "MLX orders complex numbers otherwise": {
        "complex": """less less_equal greater greater_equal maximum minimum fmax fmin max min argmax argmin
            cumulative_max cumulative_min sort searchsorted"""
    },
    "MLX doesn't keep the order of equal elements": {"": "argsort"},
    "MLX doesn't refuse negative powers of integers": {"signed unsigned": "pow"},
    "NumPy decides the signs of factors, and which matrices have none": {
        "": " ".join(op for op, row in OPS.items() if row.family is Family.FACTORIZATION)
    },
}
_COMBINED = ("set", "add", "multiply", "max", "min")  # how MLX's scatter may combine as NumPy does


def reason_against(node: Expr, dtypes: Mapping[DType, Any] = DTYPES) -> str:
    """Why MLX, on a device that has these dtypes, is not asked for a node; "" where it is."""
    values = (*operands(node), node)
    for value in values:
        for dtype in value.dtype if value.has_several else (value.dtype,):
            if dtype not in dtypes:
                return f"MLX has no {dtype} here"
    first = values[0]
    for reason, by_dtypes in ELSEWHERE.items():
        for names, ops in by_dtypes.items():
            if node.op in ops.split() and (not names or {first.dtype.kind, first.dtype.name} & {*names.split()}):
                return reason
    if node.op == "scatter" and (node.args[-1] not in _COMBINED or node.dtype == dt.bool):
        return f"MLX has no such op for {node.args[-1]!r}"
    if node.op in OPS and OPS[node.op].family is Family.REDUCTION and 0 in first.shape:
        return "MLX reads beyond arrays without elements"
    if node.op in ("view", "update") and first.dtype != (node if node.op == "view" else node.args[-1]).dtype:
        return "a view of MLX's as another dtype has a last axis of its own"
    return ""


# Named units that MLX has in one piece, for operands of these dtypes that have elements. A row of nothing but -inf is
# NaN by the units' formulas, and 0 or a mean in MLX.


def _softmax(x: Any, axis: int) -> Any:
    return mx.where(mx.max(x, axis=axis, keepdims=True) == -mx.inf, mx.nan, mx.softmax(x, axis=axis, precise=True))


def _attention(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    shapes = [each.shape[:-2] for each in (query, key, value, mask) if each is not None]
    lead = mx.broadcast_shapes(*shapes)

    def stacked(x: Any, tail: Sequence[int]) -> Any:
        return mx.broadcast_to(x, (*lead, *tail)).reshape(-1, 1, *tail)

    q, k, v = (stacked(each, each.shape[-2:]) for each in (query, key, value))
    seen = None if mask is None else stacked(mask, (query.shape[-2], key.shape[-2]))
    result = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=seen)
    has_scores = mx.all(mx.isfinite(q), axis=-1, keepdims=True)
    if seen is not None:
        has_scores &= mx.any(seen if seen.dtype == mx.bool_ else seen > -mx.inf, axis=-1, keepdims=True)
    result = mx.where(has_scores, result, mx.nan)
    return result.reshape(*lead, *result.shape[-2:])


def _conv(x: Any, weight: Any, strides: Any, widths: Any, dilations: Any) -> Any:
    # channels are MLX's last axis; it would leave out what padding makes of an infinite weight
    padded = mx.pad(mx.moveaxis(x, 1, -1), [(0, 0), *widths, (0, 0)])
    return mx.moveaxis(mx.conv_general(padded, mx.moveaxis(weight, 1, -1), strides, kernel_dilation=dilations), -1, 1)


UNITS: dict[Block, Callable[..., Any]] = {
    Block.SOFTMAX: _softmax,
    Block.LOGSUMEXP: lambda x, axis, keepdims: mx.logsumexp(x, axis=axis, keepdims=keepdims),
    Block.LAYER_NORM: mx.fast.layer_norm,
    Block.RMS_NORM: mx.fast.rms_norm,
    Block.ATTENTION: _attention,
    Block.GELU: lambda x: x * (1 + mx.erf(x * 0.5**0.5)) * 0.5,
    Block.CONV: _conv,
}
_UNIT_DTYPES = (dt.float32, dt.float16, dt.bfloat16, dt.bool)  # MLX computes those of float64 in float32


def _unit_of(node: Expr) -> Callable[..., Any] | None:
    struct, in_args, _, _ = node.args
    unit = UNITS.get(struct) if isinstance(struct, Block) else None
    fits = all(each.dtype in _UNIT_DTYPES and 0 not in each.shape for each in operands(node))
    if struct is Block.CONV and len(in_args[2]) > 3:
        return None  # MLX has three spatial axes at most
    return unit if fits else None


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


def _to_numpy(value: Any) -> np.ndarray:
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
            results = [to_mlx(np.asarray(each)) for each in compiled(*(_to_numpy(values[slot]) for slot in slots))]
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
            if (unit := _unit_of(node)) is not None:
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


# The compiler


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


def compile_graph(graph: Graph, options: Mapping[str, Any]) -> Callable[..., list[np.ndarray]]:
    """The compiler. Options are ``device`` and ``scope_dependencies``.

    ``device`` is "cpu" or "gpu", by default MLX's own. On the GPU, which has no float64, nodes of that dtype run in the
    evaluator. ``scope_dependencies(node)`` is asked for each ``metadata`` node and returns None, or a list of one node,
    of its dtype and shape, that it stands for: so a note of one's own may hold another way to the same value. What the
    note is on is then not lowered, unless something else needs it. Raises TypeError for other options, ValueError for a
    device that isn't there.

    >>> import lamina
    >>> graph = lamina.trace(lambda x: x * 2 + 1, lamina.Spec(lamina.float32, (3,)))
    >>> compile_graph(graph, {"device": "cpu"})(np.ones(3, np.float32))
    [array([3., 3., 3.], dtype=float32)]
    """
    expect_options("mlx", options, ("device", "scope_dependencies"))
    name = options.get("device") or mx.default_device().type.name
    if name not in ("cpu", "gpu") or not mx.is_available(device := mx.Device(getattr(mx, name))):
        raise ValueError(f"the compiler 'mlx': device must be 'cpu', or 'gpu' where MLX has one, but it is {name!r}")
    dtypes = DTYPES if name == "cpu" else {each: to for each, to in DTYPES.items() if each is not dt.float64}
    lowering = Lowering(dtypes, options.get("scope_dependencies"))
    with mx.stream(device):
        program = lower(graph, lowering)

    def run(*arrays: np.ndarray) -> list[np.ndarray]:
        with mx.stream(device):
            return list(map(_to_numpy, program.call(map(lowering.to_mlx, arrays))))

    return run
