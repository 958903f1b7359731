"""Random small NumPy programs as source text, and whether decorating one changes anything that a user can see.

A program is drawn from a seed: assignments, views, in-place writes through views, loops, branches, exchanges of names,
over arguments of several dtypes and layouts that may share memory. `differences` runs it undecorated and decorated.
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

    def scalar(self) -> str:
        options = ["0.5", "2", "-1.5", *self.scalars, *self.integers]
        if self.draw.random() < 0.3:
            name = self.array_of()
            shape = self.arrays[name]
            return f"{name}[{', '.join(self.index(extent) for extent in shape)}]"
        if self.draw.random() < 0.2:
            return f"{self.array_of()}.{self.draw.choice(['sum', 'max', 'min'])}()"
        return self.draw.choice(options)

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

    def part(self, name: str) -> tuple[str, Shape]:
        """A view of an array, as text, and its shape."""
        shape = self.arrays[name]
        keys, result = [], []
        for extent in shape:
            choice = self.draw.random()
            if choice < 0.2 and len(shape) > 1 and extent:
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
        else:
            text, result = self.part(name)
        if depth > 1:
            old = [other for other, s in self.arrays.items() if s == result]
            if not old:
                return
            target = self.draw.choice(old)
        else:
            target = self.new("v")
        self.emit(depth, f"{target} = {text}")
        self.arrays[target] = result

    def write_write(self, depth: int) -> None:
        text, shape = self.part(self.array_of())
        self.emit(depth, f"{text} = {self.expression(shape)}")

    def write_augment(self, depth: int) -> None:
        name = self.array_of()
        self.emit(depth, f"{name} {self.draw.choice('+-*')}= {self.expression(self.arrays[name])}")

    def write_augment_part(self, depth: int) -> None:
        text, shape = self.part(self.array_of())
        self.emit(depth, f"{text} {self.draw.choice('+-*')}= {self.expression(shape)}")

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
    writer.integers.append("n")
    writer.scalars.append("c")
    while writer.budget > 0:
        writer.statement(1)
    results = draw.sample(list(writer.arrays), min(len(writer.arrays), draw.randrange(1, 4)))
    if draw.random() < 0.5:
        results.append(draw.choice(writer.scalars))
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


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """What a call returns, or the exception it raises, and the arguments afterwards."""
    with np.errstate(all="ignore"):
        try:
            return function(*arguments), arguments
        except Exception as error:  # noqa: BLE001  whatever it is, both must raise it
            return error, arguments


def differences(
    function: Callable[..., Any], decorated: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]]
) -> list[str]:
    """What a user can tell apart between a function and its decorated form on equal arguments; none is right."""
    (ours, our_args), (theirs, their_args) = outcome(function, arguments()), outcome(decorated, arguments())
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        found = [] if type(ours) is type(theirs) else [f"raised {ours!r}, decorated {theirs!r}"]
        ours = theirs = ()
    else:
        found = _differ("result", ours, theirs)
    found += [
        each
        for i, (a, b) in enumerate(zip(our_args, their_args, strict=True))
        for each in _differ(f"argument {i}", a, b)
    ]
    if not found:
        ours, theirs = _arrays((ours, our_args)), _arrays((theirs, their_args))
        for i in range(len(ours)):
            for j in range(i):
                if np.shares_memory(ours[i], ours[j]) != np.shares_memory(theirs[i], theirs[j]):
                    found.append(f"arrays {j} and {i} share memory in one alone")
    return found


def _arrays(thing: Any) -> list[np.ndarray]:
    if isinstance(thing, tuple):
        return [array for each in thing for array in _arrays(each)]
    return [thing] if isinstance(thing, np.ndarray) else []


def _differ(what: str, a: Any, b: Any) -> list[str]:
    if type(a) is not type(b):
        return [f"{what} is {type(a).__name__} {a!r}, decorated {type(b).__name__} {b!r}"]
    if isinstance(a, tuple):
        if len(a) != len(b):
            return [f"{what} has {len(a)} parts, decorated {len(b)}"]
        return [each for i, (p, q) in enumerate(zip(a, b, strict=True)) for each in _differ(f"{what}[{i}]", p, q)]
    if isinstance(a, (np.ndarray, np.generic)):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return [f"{what} is {a.dtype}{a.shape}, decorated {b.dtype}{b.shape}"]
        close = np.allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)
        return [] if close else [f"{what} is {a!r}, decorated {b!r}"]
    if isinstance(a, float):
        return [] if np.isclose(a, b, rtol=1e-9, equal_nan=True) else [f"{what} is {a!r}, decorated {b!r}"]
    return [] if a == b else [f"{what} is {a!r}, decorated {b!r}"]
