"""The rewriting of a function's statements and expressions, which `lamina.trace.rewrite` describes and compiles."""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lamina.trace.names import RETURNED, RUNTIME, Exits, Names, bound_by_functions_in, stored_in
from lamina.trace.source import Unsupported


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _runtime(name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.expr:
    return ast.Call(ast.Attribute(_load(RUNTIME), name, ast.Load()), list(args), keywords or [])


def _lambda(body: ast.expr) -> ast.expr:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _strings(names: Iterable[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


_LOCATED = (ast.stmt, ast.expr, ast.arg, ast.keyword, ast.excepthandler)


def _place(new: Any, old: Any) -> Any:
    """A new node, with the old one's first line wherever it has none: a traceback shows one line, not a statement."""
    nodes = [new]
    while nodes:
        node = nodes.pop()
        fields = vars(node)
        if "is_placed" in fields:  # and all below it, which would be gone through again at each level around it
            continue
        for value in fields.values():
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif type(value) is list:
                nodes += [each for each in value if isinstance(each, ast.AST)]
        if "lineno" not in fields and isinstance(node, _LOCATED):
            node.lineno = node.end_lineno = old.lineno
            node.col_offset = node.end_col_offset = old.col_offset
    new.is_placed = True
    return new


def _at(new: list[ast.stmt], old: ast.AST) -> list[ast.stmt]:
    """New statements with the line of the old one."""
    return [_place(statement, old) for statement in new]


class Rewriter(ast.NodeTransformer):
    """Rewrites one function's statements; functions inside it with the same rewriter of their own."""

    def __init__(self, names: Names, filename: str, around: frozenset[str] = frozenset()) -> None:
        self.names = names
        self.filename = filename
        self.around = around  # the variables of the functions around it that are rewritten too
        self.count = 0
        self.finals = 0  # how many ``finally`` are around, which run after a return too
        self.locals = names.local
        self.flags: set[str] = set()  # names of our own
        self.loop: tuple[str | None, str | None] | None = None  # the flags of the loop around, where exits are flags
        self.return_flag: str | None = None
        self.bound_inside: set[str] = set()

    # A function's body

    def function_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        self._totals = _count_loads(body)
        self.bound_inside = bound_by_functions_in(body)
        nested = Exits([s for s in body if not isinstance(s, ast.Return)]).has_return
        if nested:
            self.return_flag, self.return_value = RETURNED, "_lamina_result"
            self.flags |= {self.return_flag, self.return_value}
        new = self.block(body)
        start: list[ast.stmt] = []
        if nested:
            start.append(_assign(self.return_flag, ast.Constant(False)))  # type: ignore[arg-type]
            new.append(ast.Return(_runtime("returned", _load(self.return_value), _load(RETURNED))))
        # every variable is bound from the start, so that loops and branches can share it
        given = self.names.parameters | self.names.outer | ({self.return_flag} if nested else set())
        shared = sorted((self.locals | self.flags) - given)
        unbound = [_assign(name, _runtime("unbound", ast.Constant(name))) for name in shared]
        parameters = [_assign(name, _runtime("seen", _load(name))) for name in self.names.ordered]
        if self.names.keywords:
            parameters.append(ast.Expr(_runtime("made", _load(self.names.keywords))))
        return _at([*parameters, *unbound, *start, *new], body[0])

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements rewritten in order; what follows one that may have left becomes a branch."""
        new: list[ast.stmt] = []
        for i, statement in enumerate(statements):
            exits = Exits([statement])
            result = self.visit(statement)
            new.extend(result if isinstance(result, list) else [result] if result is not None else [])
            rest = statements[i + 1 :]
            flags = self._flags_set_by(exits)
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return new
            if flags and rest:
                has_rest = flags != [self.return_flag] or self.finals > 0
                return [*new, *self.branch(self._none_of(flags), rest, [], statement, has_rest=has_rest)]
        return new or [ast.Pass()]

    def _flags_set_by(self, exits: Exits) -> list[str]:
        flags = []
        if exits.has_return and self.return_flag:
            flags.append(self.return_flag)
        if self.loop:
            broke, continued = self.loop
            if exits.has_break and broke:
                flags.append(broke)
            if exits.has_continue and continued:
                flags.append(continued)
        return flags

    # Exits

    def visit_Return(self, node: ast.Return) -> Any:
        value = self.visit(node.value) if node.value else ast.Constant(None)
        if self.return_flag is None:
            return _place(ast.Return(value), node)
        return _at([_assign(self.return_value, value), _assign(self.return_flag, ast.Constant(True))], node)

    def visit_Break(self, node: ast.Break) -> Any:
        assert self.loop and self.loop[0]
        return _at([_assign(self.loop[0], ast.Constant(True))], node)

    def visit_Continue(self, node: ast.Continue) -> Any:
        assert self.loop and self.loop[1]
        return _at([_assign(self.loop[1], ast.Constant(True))], node)

    # Branches

    def visit_If(self, node: ast.If) -> Any:
        return self.branch(self.visit(node.test), node.body, node.orelse, node)

    def branch(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], at: ast.stmt, *, has_rest: bool = True
    ) -> list[ast.stmt]:
        """``if test: body else: orelse``, of a test that is rewritten and statements that aren't."""
        self.count += 1
        k = self.count
        new_body = self.block(body)
        new_else: list[ast.stmt] = self.block(orelse) if orelse else [ast.Pass()]
        shared = self._shared([*new_body, *new_else])
        functions = [
            self._local(f"_lamina_then_{k}", new_body, shared),
            self._local(f"_lamina_else_{k}", new_else, shared),
        ]
        get, put, names = self._state(k, shared)
        then, other = _load(f"_lamina_then_{k}"), _load(f"_lamina_else_{k}")
        call = _runtime("if_", test, then, other, *names, *([] if has_rest else [ast.Constant(False)]))
        return _at([*functions, get, put, ast.Expr(call)], at)

    def _shared(self, statements: list[ast.stmt]) -> list[str]:
        # what is called may bind the variables that functions inside share (nonlocal)
        return sorted((stored_in(statements) | self.bound_inside) & (self.locals | self.flags))

    def _local(self, name: str, body: list[ast.stmt], shared: list[str], *parameters: str) -> ast.stmt:
        """A local function of statements that share the function's variables."""
        if stored_in(body) & self.names.globals:
            self._refuse(body[0], "a global variable is bound in a loop or branch")
        declared: list[ast.stmt] = [ast.Nonlocal(shared)] if shared else []
        arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
        return ast.FunctionDef(name, arguments, [*declared, *body], [], None)

    def _state(self, k: int, shared: list[str]) -> tuple[ast.stmt, ast.stmt, list[ast.expr]]:
        """Functions that read and bind the shared variables, and the args that hand them on."""
        value = ast.Tuple([_load(name) for name in shared], ast.Load())
        get = ast.FunctionDef(
            f"_lamina_get_{k}", ast.arguments([], [], None, [], [], None, []), [ast.Return(value)], [], None
        )
        target = ast.Tuple([ast.Name(name, ast.Store()) for name in shared], ast.Store())
        put_body: list[ast.stmt] = (
            [ast.Nonlocal(shared), ast.Assign([target], _load("_lamina_values"))] if shared else [ast.Pass()]
        )
        put = self._local(f"_lamina_put_{k}", put_body, [], "_lamina_values")
        return get, put, [_load(f"_lamina_get_{k}"), _load(f"_lamina_put_{k}"), _strings(shared)]

    # Loops

    def _loop(
        self, node: Any, assign: Callable[[], list[ast.stmt]]
    ) -> tuple[list[ast.stmt], int, list[str], list[str]]:
        """The rewritten body of a loop, its number, its shared names and the flags that end it."""
        self.count += 1
        k = self.count
        exits = Exits(node.body)
        broke = f"_lamina_broke_{k}" if exits.has_break else None
        continued = f"_lamina_continued_{k}" if exits.has_continue else None
        before, self.loop = self.loop, (broke, continued)
        self.flags |= {flag for flag in (broke, continued) if flag}
        body = [*assign(), *self.block(node.body)]
        self.loop = before
        if continued:
            body.insert(0, _assign(continued, ast.Constant(False)))
        ends = [flag for flag in (broke, self.return_flag if exits.has_return else None) if flag]
        return body, k, self._shared(body), ends

    def _live(self, inside: dict[str, int], shared: list[str]) -> ast.expr:
        """The names that may be read after the loop: those read anywhere outside it."""
        outside = (name for name in shared if name in self.flags or self._totals.get(name, 0) > inside.get(name, 0))
        return _strings(outside)

    def visit_For(self, node: ast.For) -> Any:
        inside = _count_loads([*node.body, node.target])
        iterable = self.visit(node.iter)
        item = f"_lamina_item_{self.count + 1}"

        def assign() -> list[ast.stmt]:
            return _as_list(self.visit(_place(ast.Assign([node.target], _load(item)), node)))

        body, k, shared, ends = self._loop(node, assign)
        get, put, names = self._state(k, shared)
        new = [_assign(flag, ast.Constant(False)) for flag in ends if flag != self.return_flag]
        new += [self._local(f"_lamina_body_{k}", body, shared, item), get, put]
        test = self._goes_on(ends)
        call = _runtime("for_", iterable, _load(f"_lamina_body_{k}"), test, *names, self._live(inside, shared))
        new.append(ast.Expr(call))
        return _at([*new, *self._loop_else(node, ends)], node)

    def visit_While(self, node: ast.While) -> Any:
        inside = _count_loads([*node.body, node.test])
        body, k, shared, ends = self._loop(node, list)
        test = self.visit(node.test)
        bound = stored_in([ast.Expr(test)]) & self.locals
        shared = sorted({*shared, *bound})
        get, put, names = self._state(k, shared)
        new = [_assign(flag, ast.Constant(False)) for flag in ends if flag != self.return_flag]
        go_on = self._goes_on(ends)
        # a test may bind names (:=), so it is a function that shares them
        returned: ast.expr = (
            test if isinstance(go_on, ast.Constant) else _runtime("and_", ast.Call(go_on, [], []), _lambda(test))
        )
        new.append(self._local(f"_lamina_test_{k}", [ast.Return(returned)], sorted(bound)))
        new += [self._local(f"_lamina_body_{k}", body, shared), get, put]
        call = _runtime(
            "while_", _load(f"_lamina_test_{k}"), _load(f"_lamina_body_{k}"), *names, self._live(inside, shared)
        )
        new.append(ast.Expr(call))
        return _at([*new, *self._loop_else(node, ends)], node)

    def _goes_on(self, ends: list[str]) -> ast.expr:
        """A function that says whether no flag has ended the loop; ``None`` where there is none."""
        return _lambda(self._none_of(ends)) if ends else ast.Constant(None)

    def _none_of(self, flags: Sequence[str]) -> ast.expr:
        """Whether no flag is set."""
        if not flags:
            return ast.Constant(True)
        test = _runtime("not_", _load(flags[0]))
        for flag in flags[1:]:
            test = _runtime("and_", test, _lambda(_runtime("not_", _load(flag))))
        return test

    def _loop_else(self, node: Any, ends: list[str]) -> list[ast.stmt]:
        if not node.orelse:
            return []
        return self.branch(self._none_of(ends), node.orelse, [], node)

    # Statements that demand something

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = [self.visit(node.msg)] if node.msg else []
        raised = ast.Raise(ast.Call(_load("AssertionError"), message, []), None)
        return self.branch(self.visit(node.test), [ast.Pass()], [_place(raised, node)], node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        cause = self.visit(node.cause) if node.cause else ast.Constant(None)
        return _at([ast.Expr(_runtime("raise_", self.visit(node.exc), cause))], node)

    def visit_Try(self, node: ast.Try) -> Any:
        left = self._flags_set_by(Exits(node.body))
        has_final = bool(node.finalbody)
        self.finals += has_final
        new = self._try(node, left)
        self.finals -= has_final
        return new

    def _try(self, node: ast.Try, left: list[str]) -> Any:
        if not node.handlers:
            return self._plain_blocks(node, left)
        self.count += 1
        before = f"_lamina_checks_{self.count}"
        node = self._plain_blocks(node, left)
        for handler in node.handlers:
            self._plain_blocks(handler)
        node.body.append(_place(ast.Expr(_runtime("no_checks_since", _load(before))), node))
        return [*_at([_assign(before, _runtime("checks"))], node), node]

    def visit_With(self, node: ast.With) -> Any:
        for item in node.items:
            item.context_expr = _runtime("entered", self.visit(item.context_expr))
            _place(item.context_expr, node)
        return self._plain_blocks(node)

    def _plain_blocks(self, node: Any, left: Sequence[str] = ()) -> Any:
        """A statement that stays, with its blocks rewritten; no ``else`` where a flag says that the body was left."""
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if statements:
                is_guarded = name == "orelse" and left
                new = self.branch(self._none_of(left), statements, [], node) if is_guarded else self.block(statements)
                setattr(node, name, new)
        return node

    def _refuse(self, node: Any, what: str) -> None:
        raise Unsupported(f"{what} ({self.filename}:{getattr(node, 'lineno', 0)})")

    def visit_Match(self, node: ast.AST) -> Any:
        self._refuse(node, "a match statement")

    def visit_Delete(self, node: ast.Delete) -> Any:
        new: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                new.append(_assign(target.id, _runtime("unbound", ast.Constant(target.id))))
            elif isinstance(target, ast.Subscript):
                new.append(ast.Expr(_runtime("delitem", self.visit(target.value), self._key(target.slice))))
            else:
                self._refuse(node, "del of an attribute")
        return _at(new, node)

    def visit_AsyncFunctionDef(self, node: ast.AST) -> Any:
        self._refuse(node, "a coroutine")

    visit_AsyncFor = visit_AsyncWith = visit_Await = visit_Yield = visit_YieldFrom = visit_AsyncFunctionDef

    # Functions inside

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args = self._arguments(node.args)
        inner = self._inside(node)
        node.body = inner.function_body(node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self._arguments(node.args)
        node.body = self._inside(node).visit(node.body)
        return node

    def _inside(self, node: Any) -> "Rewriter":
        return Rewriter(Names(node), self.filename, self.around | self.locals)

    def _arguments(self, arguments: ast.arguments) -> ast.arguments:
        arguments.defaults = [self.visit(each) for each in arguments.defaults]
        arguments.kw_defaults = [self.visit(each) if each is not None else None for each in arguments.kw_defaults]
        return arguments

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    # Stores

    def visit_Assign(self, node: ast.Assign) -> Any:
        value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            return _place(ast.Assign(node.targets, self._bound(node.targets[0].id, value)), node)
        self.count += 1
        held = f"_lamina_value_{self.count}"
        new = [_assign(held, value)]
        for target in node.targets:
            new += self._store(target, _load(held))
        return _at(new, node)

    def _store(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            return [ast.Assign([target], self._bound(target.id, value))]
        if isinstance(target, ast.Starred):
            return self._store(target.value, value)
        if isinstance(target, (ast.Tuple, ast.List)):
            self.count += 1
            parts = [f"_lamina_part_{self.count}_{i}" for i in range(len(target.elts))]
            starred: list[ast.expr] = [
                ast.Starred(ast.Name(part, ast.Store()), ast.Store())
                if isinstance(each, ast.Starred)
                else ast.Name(part, ast.Store())
                for part, each in zip(parts, target.elts, strict=True)
            ]
            new: list[ast.stmt] = [ast.Assign([ast.Tuple(starred, ast.Store())], value)]
            for part, each in zip(parts, target.elts, strict=True):
                new += self._store(each, _runtime("seen", _load(part)))
            return new
        if isinstance(target, ast.Subscript):
            return [ast.Expr(_runtime("setitem", self.visit(target.value), self._key(target.slice), value))]
        assert isinstance(target, ast.Attribute)
        return [ast.Expr(_runtime("setattr_", self.visit(target.value), ast.Constant(target.attr), value))]

    def _bound(self, name: str, value: ast.expr) -> ast.expr:
        """What a name is bound to: for one of another function, or a global, only what may be kept there."""
        if name not in self.names.globals and name not in self.names.outer:
            return value
        is_outside = name in self.names.globals or name not in self.around
        return _runtime("rebound", ast.Constant(name), value, ast.Constant(is_outside))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return _place(ast.Pass(), node)
        return self.visit(_place(ast.Assign([node.target], node.value), node))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        operation = ast.Constant(type(node.op).__name__)
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            new = _runtime("augmented", operation, _load(node.target.id), value)
            return _at([_assign(node.target.id, self._bound(node.target.id, new))], node)
        if isinstance(node.target, ast.Subscript):
            args = self.visit(node.target.value), self._key(node.target.slice), value
            return _at([ast.Expr(_runtime("augmented_item", operation, *args))], node)
        assert isinstance(node.target, ast.Attribute)
        args = self.visit(node.target.value), ast.Constant(node.target.attr), value
        return _at([ast.Expr(_runtime("augmented_attribute", operation, *args))], node)

    def _key(self, key: ast.expr) -> ast.expr:
        """An index as an expression of its own: slices as calls of ``slice``."""
        if isinstance(key, ast.Slice):
            bounds = [
                self.visit(each) if each is not None else ast.Constant(None)
                for each in (key.lower, key.upper, key.step)
            ]
            return _runtime("slice_", *bounds)
        if isinstance(key, ast.Tuple):
            return ast.Tuple([self._key(each) for each in key.elts], ast.Load())
        return self.visit(key)  # type: ignore[no-any-return]

    # Expressions

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return _place(_runtime("getitem", self.visit(node.value), self._key(node.slice)), node)

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and self.names.ordered:
            return _place(ast.Call(_load("super"), [_load("__class__"), _load(self.names.ordered[0])], []), node)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in ("locals", "globals", "vars", "eval", "exec")
            and not (node.func.id == "vars" and node.args)
        ):
            self._refuse(node, f"a call of {node.func.id}()")
        keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        prints = isinstance(node.func, ast.Name) and node.func.id == "print"
        args = [
            self._text(each) if prints and isinstance(each, ast.JoinedStr) else self.visit(each) for each in node.args
        ]
        called = node.func if isinstance(node.func, ast.Name) else self._attribute(node.func)
        return _place(_runtime("call", called, *args, keywords=keywords), node)

    def _attribute(self, node: ast.expr) -> Any:
        """A method that is called, which is no array."""
        if not isinstance(node, ast.Attribute):
            return self.visit(node)
        self._refuse_private(node)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self._refuse_private(node)
        return _place(_runtime("attribute", self.visit(node.value), ast.Constant(node.attr)), node)

    def _refuse_private(self, node: ast.Attribute) -> None:
        if node.attr.startswith("__") and not node.attr.endswith("__"):
            self._refuse(node, f"the private name {node.attr}")

    def visit_Name(self, node: ast.Name) -> Any:
        """An array from outside means the traced one, which is read when the program runs."""
        is_local = node.id in self.locals and node.id not in self.names.outer
        is_ours = is_local or node.id in self.around or node.id.startswith("_lamina")
        return node if is_ours or not isinstance(node.ctx, ast.Load) else _place(_runtime("seen", node), node)

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.iter = _runtime("each_seen", self.visit(node.iter))
        node.ifs = [self.visit(each) for each in node.ifs]
        return node

    def _refuse_walrus(self, *nodes: ast.expr) -> None:
        for node in nodes:
            for each in ast.walk(node):
                if isinstance(each, ast.NamedExpr):
                    self._refuse(each, f"{each.target.id} := … in an operand that may not be evaluated")

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self._refuse_walrus(node.body, node.orelse)
        new = _runtime(
            "choose", self.visit(node.test), _lambda(self.visit(node.body)), _lambda(self.visit(node.orelse))
        )
        return _place(new, node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self._refuse_walrus(*node.values[1:])
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        new = self.visit(node.values[0])
        for value in node.values[1:]:
            new = _runtime(name, new, _lambda(self.visit(value)))
        return _place(new, node)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        operands = self.visit(node.left), self.visit(node.right)
        return _place(_runtime("operated", ast.Constant(type(node.op).__name__), *operands), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return _place(_runtime("not_", self.visit(node.operand)), node)
        if isinstance(node.operand, ast.Constant):
            return node
        return _place(_runtime("unary", ast.Constant(type(node.op).__name__), self.visit(node.operand)), node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1:
            self._refuse_walrus(node.left, *node.comparators)
        operands = [self.visit(each) for each in (node.left, *node.comparators)]
        names = [type(op).__name__ for op in node.ops]
        if len(names) == 1:
            return _place(_runtime("compare", ast.Constant(names[0]), *operands), node)
        chain = [_lambda(each) for each in operands]  # each is evaluated once, and not after the first false one
        return _place(_runtime("compare_chain", _strings(names), *chain), node)

    def _text(self, node: ast.JoinedStr) -> ast.expr:
        """An f-string that is printed: its parts, to be joined when their values are known."""
        parts: list[ast.expr] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                spec = self.visit(each.format_spec) if each.format_spec is not None else ast.Constant("")
                triple = [self.visit(each.value), ast.Constant(each.conversion), spec]
                parts.append(ast.Tuple(triple, ast.Load()))
            else:
                parts.append(each)
        return _place(_runtime("text", _load("print"), *parts), node)  # type: ignore[no-any-return]

    def visit_FormattedValue(self, node: ast.FormattedValue) -> Any:
        node.value = _place(_runtime("shown", self.visit(node.value)), node)
        if node.format_spec is not None:
            node.format_spec = self.visit(node.format_spec)
        return node

    def visit_List(self, node: Any) -> Any:
        return _place(_runtime("made", self.generic_visit(node)), node)  # type: ignore[arg-type]

    visit_Dict = visit_Set = visit_ListComp = visit_SetComp = visit_DictComp = visit_List


def _as_list(result: Any) -> list[ast.stmt]:
    return result if isinstance(result, list) else [result]


def _count_loads(nodes: Iterable[ast.AST]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in nodes:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                counts[each.id] = counts.get(each.id, 0) + 1
    return counts
