"""The evaluator: a graph, one node at a time, on NumPy. It is the meaning of every op; compilers must agree with it.

A scope without a ``cond`` is a list of steps in `post_order`, each value dropped after its last use. What a branch
alone needs is computed on demand, so it runs only when its branch is taken, and what is shared runs once: a value is
kept in the scope's environment from its first use on. Nothing recurses but the nesting of scopes itself.

The eager ``lamina`` namespace and the ``"evaluator"`` compiler both run through here.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from lamina import dtype as dt
from lamina.errors import anew
from lamina.expr import OPS, Expr, Graph, describe, value_of, with_effects
from lamina.expr.containers import describe_structure, flatten, map_leaves, unflatten
from lamina.expr.tree import nodes_of, operands, post_order
from lamina.layout import Layout, move
from lamina.roots import placed, recast

Environment = dict[Expr, Any]
Step = Callable[[Environment], Any]


def compile_graph(graph: Graph, *, poison: bool = False) -> Callable[..., list[np.ndarray]]:
    """A function of the graph's params, NumPy arrays, that gives its outputs' leaves, then its updates, NumPy arrays.

    The graph's effects happen in order, before the outputs that don't feed them are computed. What a callback or a
    ``check`` raises comes through, with a note of the user's line; what was shown or called before stays so.

    With `poison`, what a ``view`` with lengths has beyond them is NaN, the least integer or True, and not 0: a result
    that differs with it has read what is not specified.

    >>> import lamina
    >>> graph = lamina.trace(lambda x: {"twice": x * 2}, lamina.Spec(lamina.int64, (3,)))
    >>> compile_graph(graph)(np.arange(3))
    [array([0, 2, 4])]
    """
    params, updated = graph.params, [node for _, node in graph.updates]
    scope = _Scope(_Plan(poison), with_effects(graph.effects, (graph.outputs, updated)))

    def run(*arguments: np.ndarray) -> list[np.ndarray]:
        environment: Environment = dict(zip(params, arguments, strict=True))
        with np.errstate(all="ignore"):
            return scope.run(environment)

    return run


class _Plan:
    """The steps of one compiled graph, each made once, when its node is first met."""

    def __init__(self, poison: bool = False) -> None:
        self._steps: dict[Expr, Step] = {}
        self._poison = poison

    def step(self, node: Expr) -> Step:
        """The function that computes a node from the values of its operands."""
        step = self._steps.get(node)
        if step is None:
            if node.op in OPS:
                step = _primitive(node)
            elif node.op in _SYNTAX:
                step = _SYNTAX[node.op](node, self)
            else:
                raise NotImplementedError(f"the evaluator has no op {node.op!r}")
            self._steps[node] = step
        return step

    def beyond(self, dtype: np.dtype) -> Any:
        """What an array of this dtype has beyond its length."""
        if not self._poison:
            return 0
        return np.iinfo(dtype).min or np.iinfo(dtype).max if dtype.kind in "iu" else np.array(np.nan).astype(dtype)


class _Scope:
    """What one scope runs: the nodes it needs whichever branches are taken, in order."""

    def __init__(self, plan: _Plan, scope: Any, keep: bool = False) -> None:
        self.outputs = nodes_of(value_of(scope))
        order = post_order(scope, _certain)
        self.steps = [(node, plan.step(node)) for node in order if node.op != "parameter"]
        # A branch may need any value of its scope. `keep` is for values that another scope goes on with.
        keep = keep or any(node.op == "cond" for node in order)
        self.last_uses = {} if keep else _last_uses(order, self.outputs)

    def run(self, environment: Environment) -> list[Any]:
        """The scope's outputs; the environment holds its params, perhaps some of its values, and in the end all."""
        node = None
        try:
            for node, step in self.steps:
                if node not in environment:
                    environment[node] = step(environment)
                    for used in self.last_uses.get(node, ()):
                        environment.pop(used, None)
        except Exception as error:
            _add_source(error, node)
            raise
        return [environment[output] for output in self.outputs]


def _certain(node: Expr) -> Sequence[Expr] | None:
    """What a node needs before it is known which branch is taken."""
    return nodes_of(node.args[0][0][0]) if node.op == "cond" else None


def _last_uses(order: list[Expr], outputs: Iterable[Expr]) -> dict[Expr, list[Expr]]:
    """For each node the values that nothing needs after it. Params stay: their owner holds them anyway."""
    last = {node: node for node in order}  # an effect may have no use at all
    for node in order:
        for operand in operands(node):
            last[operand] = node
    uses: dict[Expr, list[Expr]] = {}
    for operand in last.keys() - set(outputs):
        if operand.op != "parameter":
            uses.setdefault(last[operand], []).append(operand)
    return uses


def _add_source(error: Exception, node: Expr | None) -> None:
    if node is not None and node.source is not None and not getattr(error, "__notes__", None):
        error.add_note(f"lamina: in {node.op}, {node.source}")


def _demand(plan: _Plan, roots: Sequence[Expr], environment: Environment) -> None:
    """Compute these nodes and what they need, branches taken included, each value once."""
    stack = list(reversed(roots))
    while stack:
        node = stack[-1]
        if node in environment:
            stack.pop()
            continue
        missing = [needed for needed in _needs(node, environment) if needed not in environment]
        if missing:
            stack.extend(reversed(missing))
            continue
        try:
            environment[node] = plan.step(node)(environment)
        except Exception as error:
            _add_source(error, node)
            raise


def _needs(node: Expr, environment: Environment) -> Sequence[Expr]:
    """What a node needs as far as is known: of a cond, the next predicate or the branch that was chosen."""
    if node.op != "cond":
        return operands(node)
    for predicate, value in (*node.args[0], (None, node.args[1])):
        if predicate is None:
            return nodes_of(value)
        needed = nodes_of(predicate)
        if any(each not in environment for each in needed):
            return needed
        if environment[value_of(predicate)]:
            return nodes_of(value)
    raise AssertionError("a cond has an otherwise")


# Primitives


# NumPy's ufuncs cover these dtypes in part: their values are computed in a wider dtype and rounded back. The ops beside
# them ask for the dtype itself.
_WIDER = {dt.bfloat16: dt.float32, dt.int4: dt.int8, dt.uint4: dt.uint8}
_EXACT_DTYPE = frozenset({"cast", "bitcast", "nextafter", "copy"})


def _primitive(node: Expr) -> Step:
    row = OPS[node.op]
    meaning = row.meaning
    given, static = node.args[: row.arity], node.args[row.arity :]
    widen = node.op not in _EXACT_DTYPE and any(operand.dtype in _WIDER for operand in operands(node))

    def finish(result: Any, dtype: Any = node.dtype) -> Any:
        if isinstance(dtype, tuple):
            return tuple(map(finish, result, dtype))
        array = np.asarray(result)
        return array if array.dtype == dtype.numpy else dt.cast(array, dtype)

    if not widen and all(type(arg) is Expr for arg in given):
        if len(given) == 1:
            (x,) = given
            return lambda env: finish(meaning(env[x], *static))
        if len(given) == 2:
            x, y = given
            return lambda env: finish(meaning(env[x], env[y], *static))

    def read(arg: Any, env: Environment) -> Any:
        if type(arg) is not Expr:
            return tuple(read(each, env) for each in arg)
        wider = _WIDER.get(arg.dtype) if widen else None
        return dt.cast(env[arg], wider) if wider else env[arg]

    return lambda env: finish(meaning(*(read(arg, env) for arg in given), *static))


# Syntax nodes


def _results(node: Expr, leaves: Sequence[Any]) -> Any:
    return tuple(leaves) if node.has_several else leaves[0]


def _constant(node: Expr, plan: _Plan) -> Step:
    value = np.full(node.shape, node.args[0], node.dtype.numpy)
    value.flags.writeable = False
    return lambda env: value


def _tensor(node: Expr, plan: _Plan) -> Step:
    array = node.args[0]
    return lambda env: np.asarray(array)  # read at run time: it is captured by reference


def _elem(node: Expr, plan: _Plan) -> Step:
    source, i = node.args
    return lambda env: env[source][i]


def _pass(node: Expr, plan: _Plan) -> Step:
    inner = node.args[0]
    return lambda env: env[inner]


def _fun(node: Expr, plan: _Plan) -> Step:
    params, body, _ = node.args
    inner, names = _Scope(plan, body), nodes_of(params)
    return lambda env: lambda arguments: _results(node, inner.run(dict(zip(names, arguments, strict=True))))


def _call(node: Expr, plan: _Plan) -> Step:
    fun, args = node.args
    given = nodes_of(args)
    return lambda env: env[fun]([env[arg] for arg in given])


def _while(node: Expr, plan: _Plan) -> Step:
    initial, arg, condition, body = node.args
    given, params = nodes_of(initial), nodes_of(arg)
    test, turn = _Scope(plan, condition, keep=True), _Scope(plan, body)

    def step(env: Environment) -> Any:
        carry = [env[each] for each in given]
        while True:
            environment: Environment = dict(zip(params, carry, strict=True))
            (goes_on,) = test.run(environment)
            if not goes_on:
                return _results(node, carry)
            carry = turn.run(environment)  # what the condition has computed is there for the body

    return step


def _block(node: Expr, plan: _Plan) -> Step:
    _, _, default, _ = node.args
    given, inner = operands(node), _Scope(plan, default)
    params = [(param, param.args[0]) for param in post_order(default) if param.op == "parameter"]

    return lambda env: _results(node, inner.run({param: env[given[position]] for param, position in params}))


def _cond(node: Expr, plan: _Plan) -> Step:
    clauses, otherwise = node.args

    def step(env: Environment) -> Any:
        chosen = otherwise
        for predicate, value in clauses:
            _demand(plan, nodes_of(predicate), env)
            if env[value_of(predicate)]:
                chosen = value
                break
        _demand(plan, nodes_of(chosen), env)
        return _results(node, [env[leaf] for leaf in nodes_of(value_of(chosen))])

    return step


def _read_only(array: Any) -> np.ndarray:
    # a callback sees the value; writing into it would change what other nodes see
    view: np.ndarray = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _call_back(callback: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return callback(*args, **options)
    except Exception as error:
        error._lamina_named = True  # type: ignore[attr-defined]  # its message is the user's own
        raise


def _runtime_call(node: Expr, plan: _Plan) -> Step:
    args, callback, template, options = node.args
    expected, structure = flatten(template)
    name = getattr(callback, "__name__", repr(callback))

    def step(env: Environment) -> Any:
        shown = map_leaves(lambda leaf: _read_only(env[leaf]) if type(leaf) is Expr else leaf, args)
        leaves, came = flatten(_call_back(callback, *shown, **(options or {})))
        if came != structure:
            returned, wanted = describe_structure(came), describe_structure(structure)
            raise TypeError(f"runtime_call: {name} returned {returned}, but the template is {wanted}")
        results = [np.asarray(leaf) for leaf in leaves]
        for result, spec in zip(results, expected, strict=True):
            if (result.dtype.newbyteorder("="), result.shape) != (spec.dtype.numpy, tuple(spec.shape)):
                got, wanted = describe(result.dtype, result.shape), describe(spec.dtype, spec.shape)
                raise TypeError(f"runtime_call: {name} returned {got}, but the template has {wanted}")
        # the callback may keep and change its own
        return _results(node, [np.array(x, spec.dtype.numpy) for x, spec in zip(results, expected, strict=True)])

    return step


def _hook(node: Expr, plan: _Plan) -> Step:
    value, _, callback = node.args
    given, structure = flatten(value)

    def step(env: Environment) -> Any:
        if callback is not None:
            _call_back(callback, unflatten(structure, [_read_only(env[each]) for each in given]))
        return _results(node, [env[each] for each in given])

    return step


def _check(node: Expr, plan: _Plan) -> Step:
    predicate, exception, message = node.args

    def step(env: Environment) -> Any:
        if not env[predicate]:
            raise exception(message) if isinstance(exception, type) else anew(exception)
        return env[predicate]

    return step


def _move(node: Expr, plan: _Plan) -> Step:
    x, movement = node.args
    apply = _MOVES[type(movement)](movement, node.shape)
    return lambda env: apply(env[x])


Movement = Callable[[np.ndarray], np.ndarray]


def _slice(movement: move.Slice, _: Any) -> Movement:
    index = []
    for each in movement.ranges:
        stop = each.start + each.count * each.step
        # a stop below 0 would count from the end; None is before the first element
        index.append(slice(each.start, stop if stop >= 0 else None, each.step) if each.count else slice(0, 0))
    return lambda array: array[(*index, ...)]


def _window(movement: move.Window, shape: tuple[int, ...]) -> Movement:
    def apply(array: np.ndarray) -> np.ndarray:
        strides, _ = movement.strides(array.shape, array.strides, 0, shape)  # they are in bytes, and stay so
        return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)

    return apply


_MOVES: dict[type, Callable[[Any, tuple[int, ...]], Movement]] = {
    move.Reshape: lambda movement, _: lambda array: array.reshape(movement.shape),
    move.Broadcast: lambda movement, _: lambda array: np.broadcast_to(array, movement.shape),
    move.Permute: lambda movement, _: lambda array: array.transpose(movement.axes),
    move.Slice: _slice,
    move.Window: _window,
}


def _placed(root: np.ndarray, layout: Layout, shifts: Sequence[tuple[int, int]]) -> np.ndarray:
    """The elements of contiguous memory that a shifted layout names; `IndexError` where they lie outside it."""
    shift = sum(int(by) * stride for by, stride in shifts)
    low, high = layout.span
    if layout.numel and not 0 <= low + shift <= high + shift <= root.size:
        raise IndexError(f"a view of elements {low + shift} to {high + shift - 1} of {root.size}")
    return placed(root, layout, shift)


def _seen(layout: Layout, lengths: Sequence[tuple[int, Expr]], env: Environment) -> Layout:
    """A layout up to its lengths; `ValueError` for a length that is none of its axis."""
    if not lengths:
        return layout
    shape = list(layout.shape)
    for axis, node in lengths:
        length = int(env[node])
        if not 0 <= length <= shape[axis]:
            raise ValueError(f"a length of {length} along an axis of {shape[axis]}")
        shape[axis] = length
    return Layout(shape, layout.strides, layout.offset)


def _view(node: Expr, plan: _Plan) -> Step:
    root, layout, shifts, lengths = node.args[:4]
    # other bytes than 0 and 1 are True too
    seen_as = np.dtype(np.uint8) if node.dtype == dt.bool != root.dtype else node.dtype.numpy

    def step(env: Environment) -> Any:
        # a view of NumPy's, whose strides are the layout's: what follows adds up in the order that NumPy would
        memory = recast(np.ascontiguousarray(env[root]), seen_as)
        by = [(env[by], stride) for by, stride in shifts]
        if not lengths:
            part = _placed(memory, layout, by)
            return part if part.dtype == node.dtype.numpy else part != 0
        seen = _seen(layout, lengths, env)
        padded = np.full(layout.shape, plan.beyond(memory.dtype), memory.dtype)
        padded[tuple(map(slice, seen.shape))] = _placed(memory, seen, by)
        return padded

    return step


def _update(node: Expr, plan: _Plan) -> Step:
    root, layout, shifts, lengths, value = node.args

    def step(env: Environment) -> Any:
        result = np.array(env[root], order="C")
        seen = _seen(layout, lengths, env)
        part = env[value][tuple(map(slice, seen.shape))]
        _placed(recast(result, part.dtype), seen, [(env[by], stride) for by, stride in shifts])[...] = part
        return result

    return step


_SYNTAX: dict[str, Callable[[Expr, _Plan], Step]] = {
    "constant": _constant,
    "tensor": _tensor,
    "elem": _elem,
    "metadata": _pass,
    "fun": _fun,
    "call": _call,
    "while": _while,
    "block": _block,
    "cond": _cond,
    "runtime_call": _runtime_call,
    "hook": _hook,
    "check": _check,
    "move": _move,
    "view": _view,
    "update": _update,
}
