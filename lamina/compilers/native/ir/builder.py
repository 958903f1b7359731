"""The builder, with a method for each instruction."""

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from lamina.compilers.native.ir.module import WEIGHTS, Block, Function, Module, Phi, Switch
from lamina.compilers.native.ir.types import (
    BIT,
    POINTER,
    WORD,
    Constant,
    FunctionType,
    LiteralStructType,
    Type,
    Value,
    VectorType,
    VoidType,
    truth,
)


def _binary(name: str) -> Callable[["IRBuilder", Value, Value], Value]:
    def write(self: "IRBuilder", x: Value, y: Value) -> Value:
        return self._pure(x.type, f"{name} {x.type.text} {x.text}, {y.text}")

    return write


def _commutative(
    name: str, neutral: int, known: Callable[[int, int], int]
) -> Callable[["IRBuilder", Value, Value], Value]:
    """Of integers; what is known of constants isn't written."""
    plain = _binary(name)

    def write(self: "IRBuilder", x: Value, y: Value) -> Value:
        if isinstance(x, Constant):
            x, y = y, x
        if isinstance(y, Constant):
            if y.constant == neutral:
                return x
            if isinstance(x, Constant) and y.type == WORD:
                return _wrapped(known(x.constant, y.constant))
        return plain(self, x, y)

    return write


def _cast(name: str) -> Callable[["IRBuilder", Value, Type], Value]:
    def write(self: "IRBuilder", x: Value, kind: Type) -> Value:
        return x if x.type == kind else self._pure(kind, f"{name} {x.operand} to {kind.text}")

    return write


def _comparison(name: str, names: dict[str, str]) -> Callable[["IRBuilder", str, Value, Value], Value]:
    def write(self: "IRBuilder", sign: str, x: Value, y: Value) -> Value:
        return self._pure(truth(x.type), f"{name} {names[sign]} {x.operand}, {y.text}")

    return write


_SIGNS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_EQUAL = {"==": "eq", "!=": "ne"}


class IRBuilder:
    """Where instructions go: to the end of a block, or before what ends it."""

    def __init__(self, block: Block | None = None) -> None:
        if block is not None:
            self.block = block

    @property
    def function(self) -> Function:
        """The function that is being written."""
        return self.block.function

    @property
    def module(self) -> Module:
        """The module of the function."""
        return self.block.function.module

    def position_at_end(self, block: Block) -> None:
        """Go on in another block."""
        self.block = block

    def append_basic_block(self, name: str = "block") -> Block:
        """A new block of the function."""
        return self.block.function.append_basic_block(name)

    @contextmanager
    def goto_entry_block(self) -> Iterator[None]:
        """For a while, the function's first block."""
        block, self.block = self.block, self.block.function.blocks[0]
        yield
        self.block = block

    def _new(self, kind: Type, text: str) -> Value:
        value = Value(kind, f"%{self.block.function.fresh('v')}")
        self.block.lines.append(f"{value.text} = {text}")
        return value

    def _pure(self, kind: Type, text: str) -> Value:
        known = self.block.known.get(text)
        if known is None:
            known = self.block.known[text] = self._new(kind, text)
        return known

    # Arithmetic

    fadd, fsub, fmul, fdiv, frem = map(_binary, ("fadd", "fsub", "fmul", "fdiv", "frem"))
    sub, sdiv, udiv, srem, urem = map(_binary, ("sub", "sdiv", "udiv", "srem", "urem"))
    shl, lshr, ashr, and_, or_, xor = map(_binary, ("shl", "lshr", "ashr", "and", "or", "xor"))
    add, mul = _commutative("add", 0, operator.add), _commutative("mul", 1, operator.mul)

    def neg(self, x: Value) -> Value:
        """An integer with the other sign."""
        return self.sub(x.type(0), x)

    def not_(self, x: Value) -> Value:
        """All bits turned."""
        return self.xor(x, x.type(-1))

    def fneg(self, x: Value) -> Value:
        """A float with the other sign."""
        return self._pure(x.type, f"fneg {x.operand}")

    # Conversions, comparisons and choices

    trunc, zext, sext, fptrunc, fpext = map(_cast, ("trunc", "zext", "sext", "fptrunc", "fpext"))
    fptosi, fptoui, sitofp, uitofp = map(_cast, ("fptosi", "fptoui", "sitofp", "uitofp"))
    bitcast, inttoptr, ptrtoint = map(_cast, ("bitcast", "inttoptr", "ptrtoint"))

    icmp_signed = _comparison("icmp", {**_EQUAL, **{sign: f"s{name}" for sign, name in _SIGNS.items()}})
    icmp_unsigned = _comparison("icmp", {**_EQUAL, **{sign: f"u{name}" for sign, name in _SIGNS.items()}})
    fcmp_ordered = _comparison("fcmp", {sign: f"o{name}" for sign, name in {**_SIGNS, **_EQUAL}.items()})
    fcmp_unordered = _comparison(
        "fcmp", {"uno": "uno", **{sign: f"u{name}" for sign, name in {**_SIGNS, **_EQUAL}.items()}}
    )

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        """The first where the condition holds, else the second; lane by lane for a vector of conditions."""
        return self._pure(x.type, f"select {condition.operand}, {x.operand}, {y.operand}")

    # Vectors

    def extract_element(self, vector: Value, place: Value) -> Value:
        """One lane."""
        assert isinstance(vector.type, VectorType)
        return self._pure(vector.type.element, f"extractelement {vector.operand}, {place.operand}")

    def insert_element(self, vector: Value, value: Value, place: Value) -> Value:
        """The vector with another value in one lane."""
        return self._pure(vector.type, f"insertelement {vector.operand}, {value.operand}, {place.operand}")

    def shuffle_vector(self, first: Value, second: Value, places: Constant) -> Value:
        """Lanes of two vectors, numbered on through both."""
        assert isinstance(first.type, VectorType) and isinstance(places.type, VectorType)
        kind = VectorType(first.type.element, places.type.count)
        return self._pure(kind, f"shufflevector {first.operand}, {second.operand}, {places.operand}")

    # Memory

    def alloca(self, kind: Type, count: Value | None = None, align: int | None = None) -> Value:
        """The address of a new variable, or of so many in a row."""
        several = "" if count is None else f", {count.operand}"
        return self._new(POINTER, f"alloca {kind.text}{several}{_aligned(align)}")

    def load(self, address: Value, typ: Type, align: int | None = None, order: str = "", tag: str = "") -> Value:
        """What is in memory; with an order among threads' it is atomic, and a tag says which memory it is."""
        text = f"load{' atomic' * bool(order)} {typ.text}, {address.operand}{' ' * bool(order)}{order}{_aligned(align)}"
        return self._new(typ, f"{text}{_tagged(tag)}")

    def store(self, value: Value, address: Value, align: int | None = None, tag: str = "") -> None:
        """Put a value into memory; a tag says which one it is."""
        self.block.lines.append(f"store {value.operand}, {address.operand}{_aligned(align)}{_tagged(tag)}")

    def gep(self, base: Value, indices: Sequence[Value], source_etype: Type) -> Value:
        """The address of an element, or the addresses of those at a vector of places."""
        (first, *others) = indices
        if not others and isinstance(first, Constant) and first.constant == 0:
            return base
        kind = VectorType(POINTER, first.type.count) if isinstance(first.type, VectorType) else POINTER
        places = ", ".join(each.operand for each in indices)
        return self._pure(kind, f"getelementptr {source_etype.text}, {base.operand}, {places}")

    def atomic_rmw(self, op: str, address: Value, value: Value, order: str) -> Value:
        """What was in memory, before it is changed."""
        return self._new(value.type, f"atomicrmw {op} {address.operand}, {value.operand} {order}")

    def cmpxchg(self, address: Value, old: Value, new: Value, order: str, otherwise: str) -> Value:
        """Put a new value where the old one is, in one step; whether it was there."""
        text = f"cmpxchg {address.operand}, {old.operand}, {new.operand} {order} {otherwise}"
        pair = self._new(LiteralStructType([old.type, BIT]), text)
        return self._new(BIT, f"extractvalue {pair.operand}, 1")

    # Control

    def call(self, function: Value, args: Sequence[Value], function_type: FunctionType | None = None) -> Value:
        """Call a function, or what is at an address, with its type."""
        kind = function_type or function.function_type  # type: ignore[attr-defined]
        given = ", ".join(each.operand for each in args)
        text = f"call {kind.return_type.text} {function.text}({given})"
        if isinstance(kind.return_type, VoidType):
            self.block.lines.append(text)
            return Value(kind.return_type, "")
        return self._new(kind.return_type, text)

    def phi(self, kind: Type) -> Phi:
        """A value that depends on which block was the one before."""
        value = Phi(kind, f"%{self.block.function.fresh('v')}")
        self.block.lines.append(value)
        return value

    def _end(self, end: Any) -> None:
        assert not self.block.is_terminated, f"{self.block.name} has ended"
        self.block.end = end

    def branch(self, block: Block) -> None:
        """Go on in a block."""
        self._end(f"br label %{block.name}")

    def cbranch(self, condition: Value, then: Block, otherwise: Block, likely: bool | None = None) -> None:
        """Go on in one block or another."""
        weights = "" if likely is None else f", !prof !{list(WEIGHTS).index(likely)}"
        self._end(f"br {condition.operand}, label %{then.name}, label %{otherwise.name}{weights}")

    def switch(self, value: Value, default: Block) -> Switch:
        """Go on where a value says."""
        switch = Switch(value, default)
        self._end(switch)
        return switch

    def ret(self, value: Value) -> None:
        """Return a value."""
        self._end(f"ret {value.operand}")

    def ret_void(self) -> None:
        """Return."""
        self._end("ret void")

    def unreachable(self) -> None:
        """Nothing comes here."""
        self._end("unreachable")

    @contextmanager
    def if_then(self, condition: Value, likely: bool | None = None) -> Iterator[None]:
        """Instructions for where a condition holds; one that doesn't return goes on after them."""
        then, after = self.append_basic_block("then"), self.append_basic_block("after")
        self.cbranch(condition, then, after, likely)
        self.block = then
        yield
        if not self.block.is_terminated:
            self.branch(after)
        self.block = after

    @contextmanager
    def if_else(
        self, condition: Value, likely: bool | None = None
    ) -> Iterator[tuple[AbstractContextManager[None], AbstractContextManager[None]]]:
        """Instructions for where a condition holds, and others for where it doesn't."""
        then, otherwise, after = map(self.append_basic_block, ("then", "else", "after"))
        self.cbranch(condition, then, otherwise, likely)

        @contextmanager
        def within(block: Block) -> Iterator[None]:
            self.block = block
            yield
            if not self.block.is_terminated:
                self.branch(after)

        yield within(then), within(otherwise)
        self.block = after


def _wrapped(number: int) -> Constant:
    return WORD((number + (1 << 63)) % (1 << 64) - (1 << 63))


def _tagged(tag: str) -> str:
    return tag and f", !tbaa {tag}"


def _aligned(align: int | None) -> str:
    return "" if align is None else f", align {align}"
