"""The command `python -m benchmarks`: measures, prints a table, and keeps it when asked to."""

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import track

from . import calls, importing, layouts, traversal
from .harness import Row, measure
from .report import machine, show, write

BENCHMARKS = [*traversal.BENCHMARKS, *importing.BENCHMARKS, *layouts.BENCHMARKS, *calls.BENCHMARKS]
RESULTS = Path(__file__).parent / "RESULTS.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures lamina beside its peers.")
    parser.add_argument("name", nargs="*", help="run the benchmarks whose name has one of these in it (default: all)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to go on with each benchmark (default: 2)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--write", action="store_true", help=f"keep the table in benchmarks/{RESULTS.name}")
    options = parser.parse_args()

    chosen = [each for each in BENCHMARKS if not options.name or any(part in each.name for part in options.name)]
    if not chosen:
        parser.error(f"no benchmark has {' or '.join(options.name)} in its name; --list prints them")
    if options.write and len(chosen) < len(BENCHMARKS):
        parser.error("--write keeps the whole table: give it no names")
    if options.list:
        print(*(each.name for each in chosen), sep="\n")
        return

    print(machine())
    rows: list[Row] = []
    for each in track(chosen, "measuring", console=Console(stderr=True), transient=True):
        rows.extend(measure(each, options.seconds))
    show(rows)
    if options.write:
        write(rows, RESULTS)


if __name__ == "__main__":
    main()
