"""What a function's statements bind, read and leave: its names, by scope, and its early exits."""

import ast
from collections.abc import Iterable
from typing import Any

from lamina.trace.source import parameters_of

RETURNED = "_lamina_returned"  # the flag of an early return
RUNTIME = "_lamina_"  # the name through which rewritten code reaches `lamina.trace.python`


class Names(ast.NodeVisitor):
    """The names that a function binds, reads, and declares to be another scope's; functions inside it are their own."""

    def __init__(self, definition: Any) -> None:
        self.ordered = parameters_of(definition.args)
        self.parameters = set(self.ordered)
        self.keywords = definition.args.kwarg.arg if definition.args.kwarg else ""
        self.stored: set[str] = set()
        self.outer: set[str] = set()
        self.globals: set[str] = set()
        self._root = definition
        for node in definition.body if isinstance(definition.body, list) else [definition.body]:
            self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.stored.add(node.id)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.outer.update(node.names)

    def visit_Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.stored.add(node.name)
        if node.name.startswith(RUNTIME):  # one of ours, which shares the function's variables
            for statement in node.body:
                if isinstance(statement, ast.Nonlocal):
                    self.stored.update(statement.names)
            return
        for default in (*node.args.defaults, *node.args.kw_defaults, *node.decorator_list):
            if default is not None:
                self.visit(default)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.stored.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._walrus(node.body)

    def _walrus(self, node: ast.AST) -> None:
        """A comprehension's walrus binds a name of the function."""
        for each in ast.walk(node):
            if isinstance(each, ast.NamedExpr) and not isinstance(node, ast.Lambda):
                self.stored.add(each.target.id)

    def visit_ListComp(self, node: Any) -> None:
        self._walrus(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.stored.update((alias.asname or alias.name).split(".")[0] for alias in node.names)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.stored.add(node.name)
        self.generic_visit(node)

    @property
    def local(self) -> set[str]:
        """The names that the function binds, variables of the functions around it too."""
        return (self.stored | self.parameters) - self.globals


def stored_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that statements bind."""
    return Names(_Body(list(nodes))).stored


class _Body:
    """Statements in the place of a function, for `Names`."""

    def __init__(self, body: list[Any]) -> None:
        self.body = body
        self.args = ast.arguments([], [], None, [], [], None, [])


def bound_by_functions_in(body: list[ast.stmt]) -> set[str]:
    """The variables of a function that the functions inside it bind."""
    return {name for each in body for node in ast.walk(each) if isinstance(node, ast.Nonlocal) for name in node.names}


class Exits(ast.NodeVisitor):
    """Whether statements hold a ``return``, or a ``break`` or ``continue`` of the loop around them."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self.has_return = self.has_break = self.has_continue = False
        self._depth = 0
        for node in nodes:
            self.visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        self.has_return = True

    def visit_Break(self, node: ast.Break) -> None:
        self.has_break |= self._depth == 0

    def visit_Continue(self, node: ast.Continue) -> None:
        self.has_continue |= self._depth == 0

    def _loop(self, node: Any) -> None:
        self._depth += 1
        for child in node.body:
            self.visit(child)
        self._depth -= 1
        for child in node.orelse:
            self.visit(child)

    visit_For = visit_While = _loop

    def visit_FunctionDef(self, node: ast.AST) -> None:
        """A function inside has exits of its own."""

    visit_ClassDef = visit_AsyncFunctionDef = visit_FunctionDef

    def generic_visit(self, node: ast.AST) -> None:
        if not isinstance(node, ast.expr):  # in which there is none
            super().generic_visit(node)


_MUTATORS = frozenset({"append", "appendleft", "extend", "insert", "add", "clear"})


class Uses(ast.NodeVisitor):
    """Which names are only written, by ``n += 1``, ``d[k] = v``, ``x.n += 1`` or ``log.append(v)``."""

    def __init__(self, definition: ast.AST) -> None:
        self._written: set[str] = set()
        self._used: set[str] = set()
        self.visit(definition)
        self.only_written = frozenset(self._written - self._used)

    def visit_Name(self, node: ast.Name) -> None:
        (self._used if isinstance(node.ctx, ast.Load) else self._written).add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        (self._used if isinstance(node.ctx, ast.Load) else self._written).add(node.attr)
        self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.ctx, ast.Load):
            self.generic_visit(node)
        else:
            self._write(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._write(node.target)
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in _MUTATORS:
            self._write(called)
            for each in (*node.value.args, *node.value.keywords):  # type: ignore[attr-defined]
                self.visit(each)
        else:
            self.visit(node.value)

    def _write(self, node: ast.expr) -> None:
        """Something in which something is changed: ``a.b[i]`` reads ``i``, and what it changes is no value of it."""
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                self._written.add(node.attr)
            else:
                self.visit(node.slice)
            node = node.value
        if isinstance(node, ast.Name):
            self._written.add(node.id)
        else:
            self.visit(node)
