"""Walks over expression graphs: the order of a scope, what a node needs, and what is used where.

Each walk asks `lamina.expr.node` what crosses a scope, uses an explicit stack (graphs get deep), visits a node once by
identity, and depends on nothing of any compiler.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from lamina.expr import containers
from lamina.expr.node import CROSSINGS, Expr, inner_nodes, noted_nodes

Dependencies = Callable[[Expr], Sequence[Expr] | None]


def nodes_of(output: Any) -> list[Expr]:
    """The nodes of a container, in order; raises `TypeError` for a leaf that is no node.

    >>> nodes_of(())
    []
    """
    if type(output) is Expr:
        return [output]
    leaves = containers.leaves_of(output)
    for leaf in leaves:
        if type(leaf) is not Expr:
            raise TypeError(f"expected a node or a container of nodes, but a leaf is {leaf!r} ({type(leaf).__name__})")
    return leaves


def post_order(output: Any, scope_dependencies: Dependencies | None = None) -> list[Expr]:
    """Every node of one scope that is reachable from `output`, exactly once, after all its same-scope operands.

    `output` is a node or any container of nodes; an empty one gives ``[]``. The order is deterministic: roots in
    container order, operands left to right. ``while``, ``fun`` and ``block`` are opaque: their inner scopes are not
    entered; order those by calling this function on ``condition``, ``body`` or ``default``. The clauses of a ``cond``
    share its scope and are traversed.

    ``scope_dependencies(node)`` returns a sequence of nodes, which are then the node's only dependencies (an empty one
    makes it a leaf), or `None` for the default. It is asked once for each visited node, never for a ``fun``, which has
    none. A cycle made by it still ends, each node once. Raises `TypeError` for a leaf that is no node, and where
    `scope_dependencies` returns anything else.

    Time and memory are linear in nodes and edges, and nothing recurses: an iterative depth-first search (Cormen et al.,
    *Introduction to Algorithms*, 22.4).

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, ())
    >>> y = Expr("sin", (x,), lamina.float32, ())
    >>> [node.op for node in post_order((Expr("add", (y, x), lamina.float32, ()), y))]
    ['parameter', 'sin', 'add']
    >>> [node.op for node in post_order(y, lambda node: () if node is y else None)]
    ['sin']
    """
    if scope_dependencies is None:
        return walk(nodes_of(output), None)
    ask = scope_dependencies

    def dependencies(node: Expr) -> Sequence[Expr]:
        if node.op == "fun":
            return ()
        found = ask(node)
        if found is None:
            return node._operands
        if not isinstance(found, Sequence) or any(type(each) is not Expr for each in found):
            raise TypeError(
                f"scope_dependencies must return a sequence of nodes or None, but for {node} it was {found!r}"
            )
        return tuple(found)

    return walk(nodes_of(output), dependencies)


def walk(roots: Sequence[Expr], dependencies: Callable[[Expr], Sequence[Expr]] | None) -> list[Expr]:
    """Each node reachable through `dependencies` (`None`: operands) once, after its own: the walk behind all others."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    # A None on the stack says that the node below it has all its dependencies behind it.
    stack: list[Expr | None] = []
    pop, push, see, emit = stack.pop, stack.append, seen.add, order.append
    for root in roots:
        push(root)
        while stack:
            node = pop()
            if node is None:
                emit(pop())  # type: ignore[arg-type]
                continue
            if node in seen:
                continue
            see(node)
            needed = node._operands if dependencies is None else dependencies(node)
            for each in needed:
                if each not in seen:  # else there is nothing to wait for: in wide graphs that is most nodes
                    push(node)
                    push(None)
                    stack += needed[::-1]
                    break
            else:
                emit(node)
    return order


def all_nodes(output: Any) -> list[Expr]:
    """Every node reachable from `output` in any scope, once, after every node in its args, inner scopes included."""
    return walk(nodes_of(output), lambda node: (*node._operands, *inner_nodes(node)))


def held_nodes(output: Any) -> list[Expr]:
    """`all_nodes`, and those that are only noted in a ``metadata``'s dict: what a copy of `output` has to hold."""
    return walk(nodes_of(output), lambda node: (*node._operands, *inner_nodes(node), *noted_nodes(node)))


def operands(node: Expr) -> tuple[Expr, ...]:
    """The nodes in a node's args that belong to its own scope, in order, containers flattened.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, (2,))
    >>> operands(Expr("concat", ((x, x), 0), lamina.float32, (4,))) == (x, x)
    True
    """
    return node._operands


def apply_args(
    node: Expr, scope: Literal["all", "scope"], acc: Any, fn: Callable[[Expr, Any], tuple[Any, Any]]
) -> tuple[tuple[Any, ...], Any]:
    """The node's args with each node in them replaced by what ``fn(node, acc)`` returns, and the last `acc`.

    With scope ``"scope"`` only the nodes of the node's own scope are visited (for a ``fun``: none), with ``"all"``
    those of its inner scopes too. Args keep their containers; static data stays as it is.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, ())
    >>> apply_args(Expr("add", (x, x), lamina.float32, ()), "scope", 0, lambda node, n: (node.op, n + 1))
    (('parameter', 'parameter'), 2)
    """
    if scope not in ("all", "scope"):
        raise ValueError(f"scope must be 'all' or 'scope', but it is {scope!r}")

    def replace(leaf: Any) -> Any:
        nonlocal acc
        if type(leaf) is not Expr:
            return leaf
        leaf, acc = fn(leaf, acc)
        return leaf

    return map_args(node.op, node.args, replace, scope), acc


def map_args(
    op: str, args: tuple[Any, ...], fn: Callable[[Any], Any], scope: Literal["all", "scope", "held"]
) -> tuple[Any, ...]:
    """An op's args with `fn` applied in order to each leaf of those that hold nodes; ``"held"`` as in `held_nodes`."""
    crossing = CROSSINGS.get(op)
    positions: Iterable[int]
    if crossing is None:
        positions = (i for i, arg in enumerate(args) if not isinstance(arg, dict))  # a primitive's dict is its options
    elif scope == "scope":
        positions = crossing.parent
    else:
        positions = sorted((*crossing.parent, *crossing.inner, *(crossing.noted if scope == "held" else ())))
    mapped = list(args)
    for position in positions:
        arg = args[position]
        mapped[position] = fn(arg) if type(arg) is Expr else containers.map_leaves(fn, arg)
    return tuple(mapped)


def put_args(node: Expr, args: tuple[Any, ...]) -> Expr:
    """A new node, with an identity of its own, that differs from `node` in its args alone."""
    return Expr(node.op, tuple(args), node.dtype, node.shape, node.source)


def substitute(output: Any, replacements: Mapping[Expr, Expr]) -> Any:
    """The container with nodes replaced wherever they are used, in any scope; nodes that need none of them stay.

    >>> import lamina
    >>> x, y = (Expr("parameter", (i,), lamina.float32, ()) for i in range(2))
    >>> operands(substitute(Expr("sin", (x,), lamina.float32, ()), {x: y})) == (y,)
    True
    """
    if not replacements:
        return output
    new = dict(replacements)
    for node in all_nodes(output):
        if node not in new and any(needed in new for needed in (*node._operands, *inner_nodes(node))):
            new[node] = put_args(
                node, apply_args(node, "all", None, lambda needed, _: (new.get(needed, needed), None))[0]
            )
    return containers.map_leaves(lambda node: new.get(node, node), output)


def scope_ids(output: Any, ids: Collection[int] | None = None) -> set[int]:
    """The ids of the nodes that `output` needs whatever its predicates are, together with the given `ids`.

    A node used only inside branches of one ``cond``, be it one branch or several, is not in scope; one used outside, or
    by two conds, is. The first predicate of a cond is always in scope, later ones are branch work. Constants are left
    out. What is in `ids` is taken as there already, with all it needs: pass a scope's ids to get those of a branch.

    >>> import lamina
    >>> x = Expr("parameter", (0,), lamina.float32, ())
    >>> p = Expr("isnan", (x,), lamina.bool, ())
    >>> y = Expr("sin", (x,), lamina.float32, ())
    >>> scope_ids(Expr("cond", (((p, y),), x), lamina.float32, ())) >= {x.id, p.id}, y.id in scope_ids((y, p))
    (True, True)
    >>> y.id in scope_ids(Expr("cond", (((p, y),), x), lamina.float32, ()))
    False
    """
    known = set(ids or ())
    roots = nodes_of(output)
    order = walk(roots, lambda node: () if node.id in known else node._operands)
    # Where a node is used: None for the scope itself, a cond for its branches. Consumers come before what they consume.
    places: dict[Expr, set[Expr | None]] = {node: set() for node in order}
    for root in roots:
        places[root].add(None)
    for node in reversed(order):
        if node.id in known:
            continue
        used = places[node]
        place = None if None in used or len(used) > 1 else next(iter(used))
        if place is None and node.op != "constant":
            known.add(node.id)
        if place is None and node.op == "cond":
            clauses, _ = node.args
            for operand in node._operands:
                places[operand].add(node)
            for operand in nodes_of(clauses[0][0]):
                places[operand].add(None)
        else:
            for operand in node._operands:
                places[operand].add(place)
    return known


def has_hooks(output: Any, names: Iterable[str]) -> bool:
    """Whether a ``hook`` of one of these names is reachable from `output`, in any scope."""
    if isinstance(names, str):
        raise TypeError(f"names must be several, but it is one string; write [{names!r}]")
    wanted = set(names)
    return any(node.op == "hook" and node.args[1] in wanted for node in all_nodes(output))
