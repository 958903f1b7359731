"""Blocks of instructions, functions of blocks, and a module of functions."""

from collections.abc import Sequence
from typing import Any

from lamina.compilers.native.ir.types import POINTER, Constant, FunctionType, Type, Value

# Of the two ways of a branch, by whether the first is likely.
WEIGHTS = {True: "i32 99, i32 1", False: "i32 1, i32 99"}


class _Argument(Value):
    """What a function is called with."""

    __slots__ = ("_attributes",)

    def __init__(self, kind: Type, text: str) -> None:
        super().__init__(kind, text)
        self._attributes = ""

    def add_attribute(self, name: str) -> None:
        """Say something of it."""
        self._attributes += f" {name}"

    def declared(self) -> str:
        """As the function has it."""
        return f"{self.type.text}{self._attributes} {self.text}"


class Phi(Value):
    """What a value is after one block or another."""

    __slots__ = ("_incoming",)

    def __init__(self, kind: Type, text: str) -> None:
        super().__init__(kind, text)
        self._incoming: list[tuple[Value, Block]] = []

    def add_incoming(self, value: Value, block: "Block") -> None:
        """What it is after a block."""
        self._incoming.append((value, block))

    def line(self) -> str:
        """The instruction."""
        ways = ", ".join(f"[ {value.text}, %{block.name} ]" for value, block in self._incoming)
        return f"{self.text} = phi {self.type.text} {ways}"


class Switch:
    """The end of a block that goes on where a value says."""

    def __init__(self, value: Value, default: "Block") -> None:
        self._value, self._default = value, default
        self._cases: list[tuple[Constant, Block]] = []

    def add_case(self, value: Constant, block: "Block") -> None:
        """Where it goes for a value."""
        self._cases.append((value, block))

    def line(self) -> str:
        """The instruction."""
        cases = " ".join(f"{value.operand}, label %{block.name}" for value, block in self._cases)
        return f"switch {self._value.operand}, label %{self._default.name} [ {cases} ]"


class Block:
    """Instructions, the last of which says where it goes on."""

    def __init__(self, function: "Function", name: str) -> None:
        self.function = function
        self.name = name
        self.lines: list[Any] = []  # texts, and what has a text at last
        self.end: Any = None
        self.known: dict[str, Value] = {}  # by its instruction, what has no effect and is always the same

    @property
    def is_terminated(self) -> bool:
        """Whether it says where it goes on."""
        return self.end is not None

    def __str__(self) -> str:
        lines = self.lines if self.end is None else [*self.lines, self.end]
        lines = [each if type(each) is str else each.line() for each in lines]
        return f"{self.name}:\n  " + "\n  ".join(lines)


class Function(Value):
    """A function of a module: declared, and defined once it has a block."""

    __slots__ = ("_count", "args", "attributes", "blocks", "function_type", "linkage", "module", "name")

    def __init__(self, module: "Module", function_type: FunctionType, name: str) -> None:
        super().__init__(POINTER, f"@{name}")
        self.module = module
        self.function_type = function_type
        self.name = name
        self._count = 0
        self.args = [_Argument(kind, f"%{self.fresh('v')}") for kind in function_type.args]
        self.attributes: set[str] = set()
        self.linkage = ""
        self.blocks: list[Block] = []
        module.globals[name] = self

    def fresh(self, name: str) -> str:
        """A name that nothing else in the function has."""
        self._count += 1
        return f"{name}{self._count - 1}"

    @property
    def is_declaration(self) -> bool:
        """Whether it is defined elsewhere."""
        return not self.blocks

    def append_basic_block(self, name: str = "block") -> Block:
        """A new block, after the others."""
        block = Block(self, self.fresh(name))
        self.blocks.append(block)
        return block

    def __str__(self) -> str:
        args = ", ".join(each.declared() for each in self.args)
        head = f"{self.function_type.return_type.text} {self.text}({args})"
        head = " ".join((head, *sorted(self.attributes)))
        if self.is_declaration:
            return f"declare {head}"
        lines = "\n".join(map(str, self.blocks))
        return f"define {self.linkage}{' ' * bool(self.linkage)}{head} {{\n{lines}\n}}"


class Module:
    """Functions and constants of the names in `globals`."""

    def __init__(self) -> None:
        self.globals: dict[str, Any] = {}
        self._constants: list[str] = []
        self._nodes = [f'!"branch_weights", {pair}' for pair in WEIGHTS.values()]

    @property
    def functions(self) -> list[Function]:
        """The functions, defined or declared."""
        return [each for each in self.globals.values() if isinstance(each, Function)]

    def declared(self, name: str, return_type: Type, args: Sequence[Type]) -> Function:
        """The function of a name, which is declared when it is first needed."""
        known: Function | None = self.globals.get(name)
        return Function(self, FunctionType(return_type, args), name) if known is None else known

    def table(self, name: str, content: bytes) -> Value:
        """The address of constant bytes, which are written when they are first needed."""
        if name not in self.globals:
            text = "".join(f"\\{byte:02x}" for byte in content)
            self._constants.append(f'@{name} = internal constant [{len(content)} x i8] c"{text}"')
            self.globals[name] = Value(POINTER, f"@{name}")
        found: Value = self.globals[name]
        return found

    def node(self, content: str) -> str:
        """The name of the node of such metadata, which is written when it is first needed."""
        if content not in self._nodes:
            self._nodes.append(content)
        return f"!{self._nodes.index(content)}"

    def __str__(self) -> str:
        nodes = (f"!{number} = !{{{content}}}" for number, content in enumerate(self._nodes))
        return "\n\n".join((*self._constants, *map(str, self.functions), *nodes, ""))
