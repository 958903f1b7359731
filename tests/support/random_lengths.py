"""Random small NumPy programs in which lengths come up that a run alone knows: slices in loops, bounds, masks.

A program is drawn from a seed. Operands have the same slice more often than not, so that their lengths agree; where
they don't, NumPy raises, and so must the decorated program.
"""

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.random_programs import Program

EXTENT = 12
_REDUCTIONS = ("sum()", "max()", "min()", "mean()", "any()", "all()", "argmax()", "prod()", "std()", "size", "shape[0]")
_UNARY = (
    "np.abs({})",
    "(-{})",
    "({} * 2)",
    "(({}) ** 2)",
    "np.exp({})",
    "np.sort({})",
    "np.cumsum({})",
    "{}.copy()",
    "{}[::-1]",
)
_BINARY = ("({} + {})", "({} * {})", "np.maximum({}, {})", "({} - {})")


class _Writer:
    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        self.index = ""  # of the loop that is written
        self.vectors: list[tuple[str, str]] = []  # names, and what says how long they are
        self.mask = ""

    def new(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def bound(self) -> str:
        step = self.draw.randint(-3, 3)
        options = [str(self.draw.randint(-EXTENT - 2, EXTENT + 2)), f"p[{self.draw.randint(0, 4)}]"]
        if self.index:
            options += [f"{self.index} + {step}", self.index, f"p[{self.index} % 5]", f"{EXTENT} - {self.index}"] * 2
        return self.draw.choice(options)

    def slice(self) -> str:
        start, stop = self.bound(), self.bound()
        kind = self.draw.random()
        if kind < 0.25:
            return f"{start}:"
        if kind < 0.5:
            return f":{stop}"
        if kind < 0.7:
            return f"{start}:{start} + {self.draw.randint(0, 4)}"
        if kind < 0.85:
            return f"{start}:{stop}"
        return f"{start}:{stop}:{self.draw.choice(['2', '-1', '3', '-2'])}"

    def key(self) -> str:
        return self.mask if self.mask and self.draw.random() < 0.3 else self.slice()

    def vector(self, depth: int) -> tuple[str, str]:
        """A vector's text, and what says how long it is."""
        if depth == 0 or self.draw.random() < 0.3:
            base, key = self.draw.choice(["x", "y", "n", "a[0]", "a[:, 1]"]), self.key()
            return f"{base}[{key}]", key
        kind = self.draw.random()
        if kind < 0.04 and self.index:
            made = [f"np.zeros({self.index})", f"np.arange({self.index})", f"np.ones(12 - {self.index})"]
            return self.draw.choice([*made, f"np.arange({self.index}, 12)"]), ""
        if kind < 0.4:
            text, length = self.vector(depth - 1)
            return self.draw.choice(_UNARY).format(text), length
        if kind < 0.75:
            key = self.key()
            first, second = self.draw.sample(["x", "y", "n", "a[0]", "a[1]"], 2)
            return self.draw.choice(_BINARY).format(f"{first}[{key}]", f"{second}[{key}]"), key
        if kind < 0.85:
            text, length = self.vector(depth - 1)
            return f"({text} * {self.scalar(0)})", length
        text, length = self.vector(depth - 1)
        if kind < 0.9:
            return f"{text}[{self.slice()}]", ""
        if kind < 0.91:
            return f"{text}[{text} > 0]", ""
        if kind < 0.92:
            return f"np.where({text} > 0, {text}, {self.scalar(0)})", length
        if kind < 0.94:
            return f"x[n[{self.key()}] + 3]", ""
        if kind < 0.96:
            return f"np.nonzero({text} > 0)[0]", ""
        other, _ = self.vector(depth - 1)
        if kind < 0.98:
            return f"np.concatenate([{text}, {other}])", ""
        return self.draw.choice(_BINARY).format(text, other), ""

    def of_matrix(self) -> str:
        """A number that comes of a part of the matrix."""
        part = f"a[{self.slice()}, {self.draw.choice([self.slice(), '1:9', '::-1'])}]"
        row = self.key()
        return self.draw.choice(
            [
                f"{part}.sum()",
                f"{part}.max(axis={self.draw.randint(0, 1)}).sum()",
                f"{part}.T.mean(axis=0).sum()",
                f"(a[{row}] @ x).sum()",
                f"(x[{row}] @ a[{row}]).sum()",
                f"(a[:, {self.slice()}].T @ y).min()",
                f"np.outer(x[{row}], y[{self.slice()}]).sum()",
            ]
        )

    def scalar(self, depth: int) -> str:
        kind = self.draw.random()
        if depth == 0 or kind < 0.2:
            return self.draw.choice(["0.5", "x[0]", *([f"x[{self.index} - 1]", self.index] if self.index else ["2"])])
        text, _ = self.vector(depth)
        if kind < 0.7:
            return f"({text}).{self.draw.choice(_REDUCTIONS)}"
        if kind < 0.75:
            return f"len({text})"
        if kind < 0.83:
            return self.of_matrix()
        if kind < 0.9:
            key = self.key()
            return f"x[{key}] @ y[{key}]"
        return f"({text})[{self.draw.choice(['0', '-1', '1'])}]"

    def statement(self, depth: int) -> None:
        kind = self.draw.random()
        if kind < 0.08 and depth < 3:
            text, _ = self.vector(1)
            self.emit(depth, f"if {self.draw.choice([f'len({text}) > 3', f'{self.scalar(1)} > 0'])}:")
            self.statement(depth + 1)
        elif kind < 0.15:
            name = self.new("w")
            self.emit(depth, f"{name} = {self.draw.choice(['x', 'y', 'a[0]'])}[{self.slice()}]")
            key = self.draw.choice([self.slice(), f"{name} > 0"])
            self.emit(depth, f"{name}[{key}] = {self.scalar(0)}")
            self.emit(depth, f"{name}[{self.slice()}] += {self.scalar(0)}")
            self.emit(depth, f"t = t + {name}.sum()")
        elif kind < 0.3:
            self.emit(depth, f"t = t + {self.scalar(2)}")
        elif kind < 0.5:
            text, _ = self.vector(1)
            self.emit(depth, f"x[{self.slice()}] = {self.draw.choice([self.scalar(1), text])}")
        elif kind < 0.65:
            key = self.key()
            self.emit(depth, f"y[{key}] {self.draw.choice(['+=', '*=', '-='])} x[{key}]")
        elif kind < 0.75:
            self.emit(depth, f"a[{self.slice()}, {self.draw.randint(0, 3)}] += {self.scalar(1)}")
        elif kind < 0.82:
            self.emit(depth, f"a[{self.slice()}] *= 0.5")
        elif kind < 0.9:
            name, (text, _) = self.new("v"), self.vector(2)
            self.emit(depth, f"{name} = {text}")
            self.emit(depth, f"{name} += 1")
            self.emit(depth, f"t = t + {name}.sum()")
        elif self.index or depth > 1:
            self.emit(depth, f"out[{self.index or 0}] = {self.scalar(2)}")
        else:
            name, (text, _) = self.new("r"), self.vector(2)
            self.emit(depth, f"{name} = {text}")
            self.vectors.append((name, ""))

    def loop(self) -> None:
        self.index = self.new("i")
        start = self.draw.randint(0, 2)
        bounds = self.draw.choice([f"{start}, {EXTENT}", f"{start}, len(x)", f"{EXTENT - 1}, -1, -1"])
        self.emit(1, f"for {self.index} in range({bounds}):")
        for _ in range(self.draw.randint(1, 3)):
            self.statement(2)
        self.index = ""


def program(seed: int) -> Program:
    """The program of a seed."""
    writer = _Writer(seed)
    writer.emit(0, "def program(x, y, n, a, p):")
    writer.emit(1, "t = 0.0")
    writer.emit(1, f"out = np.zeros({EXTENT})")
    for _ in range(writer.draw.randint(1, 3)):
        if writer.draw.random() < 0.5:
            writer.mask = writer.draw.choice(["x > 0", "n < 2", "(x > 0) & (y < 1)", "y > p[0]"])
        if writer.draw.random() < 0.6:
            writer.loop()
        else:
            writer.statement(1)
        writer.mask = ""
    names = ", ".join(name for name, _ in writer.vectors)
    writer.emit(1, f"return t, out, x{', ' + names if names else ''}")
    source = "\n".join(writer.lines) + "\n"
    file = f"<random lengths {seed}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), namespace)
    function: Callable[..., Any] = namespace["program"]

    def arguments() -> tuple[Any, ...]:
        rng = np.random.default_rng(seed)
        a = rng.normal(size=(EXTENT, EXTENT))
        return (
            rng.normal(size=EXTENT),
            rng.normal(size=2 * EXTENT)[:: rng.choice([2, -2])],
            rng.integers(-3, 4, EXTENT),
            a.T if seed % 2 else a,
            rng.integers(-EXTENT - 2, EXTENT + 3, 5),
        )

    return Program(seed, source, function, arguments)
