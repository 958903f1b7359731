"""Shows rows: a table on the terminal, the same table as a page, and the machine they were measured on."""

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path

import rich.box
from rich.console import Console
from rich.table import Table

from .harness import Row

HEADINGS = ("benchmark", "contestant", "median", "spread", "× lamina", "rate", "to hold")
NUMBERS = ("median", "spread", "× lamina", "rate")
PACKAGES = ("lamina", "numpy", "rustworkx")
WIDTH = 130


def seconds(value: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def cells(row: Row) -> tuple[str, ...]:
    if row.median is None or row.spread is None or row.ratio is None:
        return (row.benchmark, row.contestant, "", "", "", row.rate, row.hold)
    numbers = (seconds(row.median), seconds(row.spread), f"{row.ratio:.2f}")
    return (row.benchmark, row.contestant, *numbers, row.rate, row.hold)


def lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The cells of each row; a benchmark's name and its target stand in its first row alone."""
    found = []
    last = None
    for row in rows:
        name, *rest, hold = cells(row)
        found.append((name, *rest, hold) if name != last else ("", *rest, ""))
        last = name
    return found


def show(rows: Sequence[Row]) -> None:
    table = Table(box=rich.box.SIMPLE_HEAD)
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if heading in NUMBERS else "left", no_wrap=heading != "to hold")
    for line in lines(rows):
        table.add_row(*line)
    console = Console()
    console.width = max(console.width, WIDTH)
    console.print(table)


def processor() -> str:
    """The processor's name; Linux tells it in a file, others through `platform`."""
    try:
        found = [
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def machine() -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}, {packages}"
    )


def write(rows: Sequence[Row], path: Path) -> None:
    """The table as a page, to keep beside the benchmarks."""
    aligned = ["---:" if heading in NUMBERS else "---" for heading in HEADINGS]
    table = [HEADINGS, aligned, *lines(rows)]
    text = (
        "# Results\n\n"
        f"Written by `python -m benchmarks --write` on {datetime.date.today()}.\n"
        f"One run on one machine, contestants in turns: {machine()}.\n\n"
        "Medians of repeated calls; the spread is the distance between the quartiles.\n"
        "× lamina is a contestant's median over lamina's, above 1 where lamina is faster.\n\n"
    )
    text += "".join("| " + " | ".join(line) + " |\n" for line in table)
    path.write_text(text, encoding="utf-8")
