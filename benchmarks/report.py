"""Shows what was measured: tables on the terminal, the same tables as a page, and the machine they come from."""

import datetime
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import rich.box
import rich.table
from rich.console import Console

from .competitors import NO_EXPRESSION
from .contest import Result
from .harness import Row
from .summary import OURS, best_peer, of_ceiling, ratio

PACKAGES = ("numpy", "numba", "jax", "numexpr", "rustworkx")
WIDTH = 150


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings; the first `left` columns are words, the others numbers. `notes` stand below."""

    title: str
    headings: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]
    left: int = 1
    notes: Sequence[str] = field(default_factory=list)

    def show(self) -> None:
        """Print it."""
        table = rich.table.Table(title=self.title, title_justify="left", box=rich.box.SIMPLE_HEAD)
        for i, heading in enumerate(self.headings):
            table.add_column(heading, justify="left" if i < self.left else "right", no_wrap=True)
        for line in self.lines:
            table.add_row(*line)
        console = Console(highlight=False, markup=False)
        console.width = max(console.width, WIDTH)
        console.print(table)
        for note in self.notes:
            print(f"  {note}")

    def markdown(self) -> str:
        """A section of a page."""
        aligned = tuple("---" if i < self.left else "---:" for i in range(len(self.headings)))
        rows = "".join("| " + " | ".join(line) + " |\n" for line in (self.headings, aligned, *self.lines))
        notes = "".join(f"* {note}\n" for note in self.notes)
        return f"## {self.title}\n\n{rows}\n{notes}" + "\n" * bool(notes)


def seconds(value: float | None) -> str:
    if value is None:
        return "—"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def mebibytes(value: float | None) -> str:
    return "—" if value is None else f"{value / 2**20:.3g}"


def times(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}×"


def costs(rows: Sequence[Row]) -> Table:
    """The costs that are no program's; a benchmark's name and its target stand in its first row alone."""
    lines = []
    last = None
    for row in rows:
        named = row.benchmark != last
        last = row.benchmark
        numbers = (seconds(row.median), seconds(row.spread), "—" if row.ratio is None else f"{row.ratio:.2f}", row.rate)
        lines.append((row.benchmark if named else "", row.contestant, row.hold if named else "", *numbers))
    notes = ["× lamina is a contestant's median over lamina's, above 1 where lamina is faster."]
    headings = ("benchmark", "contestant", "to hold", "median", "spread", "× lamina", "rate")
    return Table("What lamina itself costs", headings, lines, 3, notes)


def programs(results: Sequence[Result], competitors: Sequence[str], summary: Sequence[str]) -> list[Table]:
    """The tables of one size: steady calls with the summary, then first calls and memory, with reasons for each gap."""
    size = results[0].size
    steady = Table(
        f"Programs, {size}: a steady call",
        ("program", *competitors, "× NumPy", "× best peer", "of a copy"),
        [
            (
                result.program.name,
                *(seconds(result.steady(name)) for name in competitors),
                times(ratio(result, "NumPy")),
                "—" if (best := best_peer(result)) is None else f"{times(best[1])} {best[0]}",
                "—" if (share := of_ceiling(result)) is None else f"{share:.0%}",
            )
            for result in results
        ],
        notes=list(summary),
    )
    rest = Table(
        f"Programs, {size}: a first call, and memory beyond the arguments in MiB",
        ("program", "spread", *(f"first, {name}" for name in competitors), *(f"MiB, {name}" for name in competitors)),
        [
            (
                result.program.name,
                f"{_spread(result):.0%}",
                *(seconds(_right(result, name, "first")) for name in competitors),
                *(mebibytes(_right(result, name, "peak")) for name in competitors),
            )
            for result in results
        ],
        notes=[
            f"{result.program.name}, {name}: {one.reason or one.note}"
            for result in results
            for name, one in result.found.items()
            if (one.reason or one.note) and one.reason != NO_EXPRESSION
        ],
    )
    return [steady, rest]


def _right(result: Result, competitor: str, what: str) -> float | None:
    one = result.found.get(competitor)
    found: float | None = None if one is None or one.reason else getattr(one, what)
    return found


def _spread(result: Result) -> float:
    """The distance between the quartiles of lamina's samples, as a share of their median."""
    one = result.found.get(OURS)
    return (one.spread or 0.0) / one.steady if one and one.steady else 0.0


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


def revision() -> str:
    """Which lamina this is: its commit, or its version outside a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return f"lamina {version('lamina')}"
    return f"lamina at commit {done.stdout.strip()}"


def machine() -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}, {packages}; {revision()}"
    )


def load(when: str) -> str:
    """How many processes wanted to run in the last minutes: beside a busy machine's numbers."""
    try:
        one, five, _ = os.getloadavg()
    except (AttributeError, OSError):
        return f"when the run {when}: the load is unknown"
    return f"when the run {when}: a load of {one:.1f} in the last minute, {five:.1f} in the last five"


def page(tables: Sequence[Table], command: str, facts: Sequence[str], plots: Sequence[Path]) -> str:
    """The tables as a page, to keep beside the benchmarks."""
    text = (
        "# Results\n\n"
        f"Written by `{command}` on {datetime.date.today()}, in one run on one machine, contestants in turns.\n\n"
    )
    text += "".join(f"* {fact}\n" for fact in facts) + "\n"
    text += "".join(f"![{path.stem}]({path.name})\n\n" for path in plots)
    return text + "\n".join(table.markdown().rstrip() + "\n" for table in tables)
