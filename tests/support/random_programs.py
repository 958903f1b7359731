"""Random small NumPy programs as source text, and whether decorating one changes anything that a user can see.

A program is drawn from a seed: assignments, views, in-place writes through views, loops, branches, exchanges of names,
views as another dtype, items and lists as Python numbers, over arguments of several dtypes and layouts that may share
memory. `differences` runs it undecorated and decorated.
"""

import linecache
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]


class Program(NamedTuple):
    """A program: its source, the function, and a maker of fresh, equal arguments."""

    seed: int
    source: str
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


class _Writer:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.arrays: dict[str, Shape] = {}
        self.has_integers = False  # whether an array may be of integers
        self.recasts: dict[str, int] = {}  # the arguments that may be seen as other dtypes, and their elements' bytes
        self.scalars: list[str] = []
        self.integers: list[str] = []
        self.indices: list[tuple[str, int]] = []  # a loop's index and its bound
        self.count = 0
        self.budget = 14

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)
        self.budget -= 1

    # Expressions

    def array_of(self, shape: Shape | None = None) -> str:
        names = [name for name, other in self.arrays.items() if shape is None or other == shape]
        return self.draw.choice(names) if names else ""

    def array_with_elements(self) -> str:
        return self.draw.choice([name for name, shape in self.arrays.items() if 0 not in shape])

    def scalar(self) -> str:
        options = ["0.5", "2", "-1.5", *self.scalars, *self.integers]
        if self.draw.random() < 0.3:
            name = self.array_with_elements()
            return f"{name}[{', '.join(self.index(extent) for extent in self.arrays[name])}]"
        if self.draw.random() < 0.2:
            return f"{self.array_with_elements()}.{self.draw.choice(['sum', 'max', 'min'])}()"
        if self.draw.random() < 0.15 and not self.has_integers:  # Python's integers don't wrap
            return self.number(self.array_with_elements())
        return self.draw.choice(options)

    def number(self, name: str) -> str:
        """An element as a Python number."""
        shape = self.arrays[name]
        index = [self.index(extent) for extent in shape]
        size = int(np.prod(shape))
        return self.draw.choice(
            [
                f"{name}.item({', '.join(index)})",
                f"{name}.item({self.draw.randrange(-size, size)})",
                f"{name}[{', '.join(index)}].item()",
                f"{name}.tolist()" + "".join(f"[{self.draw.randrange(extent)}]" for extent in shape),
                f"{self.draw.choice(['max', 'min'])}({name}.reshape(-1).tolist())",
            ]
        )

    def index(self, extent: int) -> str:
        fitting = [name for name, bound in self.indices if bound <= extent]
        if fitting and self.draw.random() < 0.6:
            return self.draw.choice(fitting)
        return str(self.draw.randrange(-extent, extent))

    def expression(self, shape: Shape, depth: int = 0) -> str:
        """An expression of this shape, or of one that broadcasts to it."""
        choice = self.draw.random()
        name = self.array_of(shape)
        if depth > 1 or choice < 0.25:
            return name or self.scalar()
        if choice < 0.7:
            op = self.draw.choice(["+", "-", "*"])
            return f"({self.expression(shape, depth + 1)} {op} {self.expression(shape, depth + 1)})"
        if choice < 0.8:
            return f"{self.draw.choice(['abs', 'np.negative', 'np.square'])}({self.expression(shape, depth + 1)})"
        if choice < 0.9:
            return f"np.maximum({self.expression(shape, depth + 1)}, {self.scalar()})"
        return self.scalar()

    def predicate(self) -> str:
        op = self.draw.choice(["<", ">", "<=", "=="])
        if self.integers and self.draw.random() < 0.4:
            return f"{self.draw.choice(self.integers)} {op} {self.draw.randrange(5)}"
        return f"{self.scalar()} {op} {self.scalar()}"

    def part(self, name: str, least: int = 0) -> tuple[str, Shape]:
        """A part of an array, of at least so many axes, as text, and its shape."""
        shape = self.arrays[name]
        keys, result = [], []
        for extent in shape:
            choice = self.draw.random()
            if choice < 0.2 and len(shape) - (len(keys) - len(result)) > least and extent:
                keys.append(self.index(extent))
                continue
            start, stop = sorted((self.draw.randrange(extent + 1), self.draw.randrange(extent + 1)))
            step = self.draw.choice([1, 1, 1, 2, -1])
            if step < 0:
                keys.append("::-1")
                result.append(extent)
            elif choice < 0.5:
                keys.append(":")
                result.append(extent)
            else:
                keys.append(f"{start}:{stop}:{step}")
                result.append(len(range(start, stop, step)))
        return f"{name}[{', '.join(keys)}]", tuple(result)

    # Statements

    def block(self, depth: int, size: int) -> None:
        before = len(self.lines)
        for _ in range(size):
            if self.budget > 0:
                self.statement(depth)
        if len(self.lines) == before:
            self.emit(depth, "pass")

    def statement(self, depth: int) -> None:
        kinds = ["assign", "view", "write", "write", "augment", "augment_part", "scalar", "exchange"]
        if depth < 3:
            kinds += ["for", "if", "while"]
        getattr(self, f"write_{self.draw.choice(kinds)}")(depth)

    def target(self, shape: Shape, depth: int) -> str:
        """A name to bind: an old one of this shape, or, outside loops and branches, a new one."""
        old = [name for name, other in self.arrays.items() if other == shape]
        return self.draw.choice(old) if depth > 1 or self.draw.random() < 0.4 else self.new("v")

    def write_assign(self, depth: int) -> None:
        shape = self.arrays[self.array_of()]
        text = f"({self.array_of(shape)} {self.draw.choice('+-*')} {self.expression(shape)})"
        name = self.target(shape, depth)
        self.emit(depth, f"{name} = {text}")
        self.arrays[name] = shape

    def write_view(self, depth: int) -> None:
        name = self.array_of()
        shape = self.arrays[name]
        choice = self.draw.random()
        if choice < 0.15:
            text, result = f"{name}.T", shape[::-1]
        elif choice < 0.3:
            text, result = f"{name}.{self.draw.choice(['reshape(-1)', 'ravel()'])}", (int(np.prod(shape)),)
        elif choice < 0.4:
            text, result = name, shape
        elif choice < 0.7 and self.recasts:
            text, result = self.recast(name)
        else:
            text, result = self.part(name, least=1)
        if depth > 1:
            old = [other for other, s in self.arrays.items() if s == result]
            if not old:
                return
            target = self.draw.choice(old)
        else:
            target = self.new("v")
        self.emit(depth, f"{target} = {text}")
        self.arrays[target] = result

    def recast(self, name: str) -> tuple[str, Shape]:
        """An array seen as integers as wide as its elements; an argument of contiguous rows perhaps as other ones."""
        if self.draw.random() < 0.5:
            return f'{name}.view(f"i{{{name}.itemsize}}")', self.arrays[name]
        name = self.draw.choice(list(self.recasts))
        *outer, extent = self.arrays[name]
        old, new = self.recasts[name], self.draw.choice([2, 4, 8])
        if extent * old % new:
            new = old
        kind = "f" if new == old and self.draw.random() < 0.5 else "i"
        return f'{name}.view("{kind}{new}")', (*outer, extent * old // new)

    def bounded(self, text: str, name: str) -> str:
        """A value to write into an array: what an integer makes of one that it doesn't hold is lamina's own."""
        return f"np.clip(np.nan_to_num({text}), -9999, 9999)" if self.has_integers and text != name else text

    def write_write(self, depth: int) -> None:
        name = self.array_of()
        text, shape = self.part(name)
        value = self.expression(shape)
        if len(shape) == 1 and value in self.arrays:
            value = f"({value} + 0)"  # NumPy reads what it has just written: a[:, 3] = a[1] of 4 × 4 elements
        self.emit(depth, f"{text} = {self.bounded(value, name)}")

    def write_augment(self, depth: int) -> None:
        name = self.array_of()
        self.emit(depth, f"{name} {self.draw.choice('+-*')}= {self.expression(self.arrays[name])}")

    def write_augment_part(self, depth: int) -> None:
        name = self.array_of()
        text, shape = self.part(name)
        op, value = self.draw.choice("+-*"), self.expression(shape)
        if shape or not self.has_integers:
            self.emit(depth, f"{text} {op}= {value}")
        else:
            self.emit(depth, f"{text} = {self.bounded(f'{text} {op} {value}', name)}")

    def write_scalar(self, depth: int) -> None:
        if self.scalars and (depth > 1 or self.draw.random() < 0.5):
            self.emit(depth, f"{self.draw.choice(self.scalars)} {self.draw.choice(['=', '+=', '-='])} {self.scalar()}")
            return
        if depth > 1:
            return
        name = self.new("s")
        self.emit(depth, f"{name} = {self.scalar()}")
        self.scalars.append(name)

    def write_exchange(self, depth: int) -> None:
        a = self.array_of()
        b = self.array_of(self.arrays[a])
        self.emit(depth, f"{a}, {b} = {b}, {a}")

    def write_for(self, depth: int) -> None:
        index = self.new("i")
        if self.draw.random() < 0.4:
            bound = self.draw.choice([2, 3, 12])
            text = f"range({bound})"
        elif self.draw.random() < 0.5:
            text, bound = "range(n)", 12
        else:
            name = self.array_of()
            bound = self.arrays[name][0]
            text = f"range({self.draw.choice([0, 1])}, {name}.shape[0])"
        del index
        index = self.new("i")
        self.emit(depth, f"for {index} in {text}:")
        self.indices.append((index, bound))
        self.block(depth + 1, self.draw.randrange(1, 4))
        if self.draw.random() < 0.15:
            self.emit(depth + 1, f"if {self.predicate()}:")
            self.emit(depth + 2, self.draw.choice(["break", "continue"]))
            self.block(depth + 1, 1)
        self.indices.pop()

    def write_while(self, depth: int) -> None:
        counter = self.new("k")
        self.emit(depth, f"{counter} = 0")
        self.emit(depth, f"while {counter} < {self.draw.choice(['n', '3', '11'])} and {self.predicate()}:")
        self.emit(depth + 1, f"{counter} += 1")
        self.block(depth + 1, self.draw.randrange(1, 3))

    def write_if(self, depth: int) -> None:
        self.emit(depth, f"if {self.predicate()}:")
        self.block(depth + 1, self.draw.randrange(1, 3))
        if self.draw.random() < 0.5:
            self.emit(depth, "else:")
            self.block(depth + 1, self.draw.randrange(1, 3))


def program(seed: int) -> Program:
    """The program of a seed."""
    writer = _Writer(seed)
    draw = writer.draw
    kinds = [_argument(draw) for _ in range(draw.choice([1, 2, 2]))]
    shares = len(kinds) == 2 and draw.random() < 0.3
    if shares:
        kinds[1] = kinds[0]
    names = ["x", "y"][: len(kinds)]
    for name, (shape, _, _) in zip(names, kinds, strict=True):
        writer.arrays[name] = shape
    if draw.random() < 0.4:
        writer.recasts = {
            name: int(dtype[1]) for name, (_, dtype, layout) in zip(names, kinds, strict=True) if layout == "C"
        }
    writer.has_integers = bool(writer.recasts) or any(dtype[0] == "i" for _, dtype, _ in kinds)
    writer.integers.append("n")
    writer.scalars.append("c")
    while writer.budget > 0:
        writer.statement(1)
    results = draw.sample(list(writer.arrays), min(len(writer.arrays), draw.randrange(1, 4)))
    if draw.random() < 0.5:
        results.append(draw.choice(writer.scalars))
    if draw.random() < 0.15 and not writer.has_integers:
        results.append(f"{draw.choice(list(writer.arrays))}.tolist()")
    writer.lines.append(f"    return {', '.join(results)}")
    source = "\n".join([f"def program({', '.join(names)}, n, c):", *writer.lines]) + "\n"
    filename = f"<program {seed}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, filename, "exec"), namespace)
    n, c = draw.choice([0, 1, 2, 3, 5]), draw.choice([0.5, -2.0, 3])

    def arguments() -> tuple[Any, ...]:
        values = np.random.default_rng(seed)
        arrays = []
        base = None
        for shape, dtype, layout in kinds:
            if shares and base is not None:
                arrays.append(base[1 : 1 + shape[0]])
                continue
            if shares:
                base = (values.integers(-4, 5, (shape[0] + 1, *shape[1:])) / 2).astype(dtype)
                arrays.append(base[: shape[0]])
            else:
                arrays.append(_laid_out((values.integers(-4, 5, shape) / 2).astype(dtype), layout))
        return (*arrays, n, c)

    return Program(seed, source, namespace["program"], arguments)


def _argument(draw: random.Random) -> tuple[Shape, str, str]:
    shape = draw.choice([(4,), (3,), (3, 4), (4, 4), (2, 3), (1,)])
    return shape, draw.choice(["f8", "f8", "f8", "f4", "i8", "i4"]), draw.choice(["C", "C", "F", "negative", "strided"])


def _laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "negative":
        return np.ascontiguousarray(array[::-1])[::-1]
    if layout == "strided":
        wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
        wide[..., ::2] = array
        return wide[..., ::2]
    return array
