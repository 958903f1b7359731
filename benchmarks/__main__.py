"""The command `python -m benchmarks`: measures, prints tables, and keeps them with plots when asked to."""

import argparse
import itertools
import shlex
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

import lamina
from lamina.compilers import compiler_names

from . import calls, contest, importing, layouts, report, traversal
from .ceilings import ceilings
from .competitors import COMPETITORS
from .harness import Row, measure
from .plot import svg
from .programs import PROGRAMS, SIZES
from .summary import sentences

COSTS = [*traversal.BENCHMARKS, *importing.BENCHMARKS, *layouts.BENCHMARKS, *calls.BENCHMARKS]
HERE = Path(__file__).parent
ALL = [*(each.name for each in PROGRAMS), *(each.name for each in COSTS)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measures lamina beside its peers.")
    parser.add_argument("name", nargs="*", help="run what has one of these in its name (default: all)")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES, help="of the programs (default: all)")
    parser.add_argument("--competitors", nargs="+", choices=COMPETITORS, default=COMPETITORS, help="(default: all)")
    parser.add_argument("--compiler", choices=compiler_names(), default="native", help="lamina's (default: native)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of samples for each competitor (default: 0.5)")
    parser.add_argument("--limit", type=float, default=60.0, help="on any one call, in seconds (default: 60)")
    parser.add_argument("--quick", action="store_true", help="medium sizes alone, and few samples")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--write", action="store_true", help="keep the tables and plots, as RESULTS.md and SVG files")
    options = parser.parse_args()

    chosen = [name for name in ALL if not options.name or any(part in name for part in options.name)]
    if not chosen:
        parser.error(f"nothing has {' or '.join(options.name)} in its name; --list prints the names")
    if options.list:
        print(*chosen, sep="\n")
        return
    if options.write and len(chosen) < len(ALL):
        parser.error("--write keeps the whole tables: give it no names")

    # the medium size first: a run that is interrupted has the numbers that are to hold
    sizes = ["medium"] if options.quick else sorted(options.sizes, key=lambda size: size != "medium")
    asked = contest.Options(
        competitors=[name for name in COMPETITORS if name in options.competitors],
        compiler=options.compiler,
        seconds=0.1 if options.quick else options.seconds,
        limit=options.limit,
    )
    facts = [
        report.machine(),
        ceilings(),
        f"lamina's compiler is {options.compiler!r}, {threads()}",
        report.load("begins"),
    ]
    print(*facts, sep="\n")
    programs = [program for program in PROGRAMS if program.name in chosen]
    chosen_costs = [cost for cost in COSTS if cost.name in chosen]
    results: list[contest.Result] = []
    rows: list[Row] = []
    groups = {program.group: [each for each in programs if each.group == program.group] for program in programs}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(programs) * len(sizes) + len(chosen_costs))
        try:
            for size, (name, group) in itertools.product(sizes, groups.items()):
                progress.update(task, description=f"{name}, {size}")
                for result in contest.run(group, size, asked):
                    results.append(result)
                    progress.advance(task)
            for cost in chosen_costs:
                progress.update(task, description=cost.name)
                rows += measure(cost, asked.seconds)
                progress.advance(task)
        except KeyboardInterrupt:
            facts.append("interrupted: the programs that are missing were not measured")

    facts.append(report.load("ends"))
    tables, plots = [], {}
    for size in (size for size in SIZES if size in sizes):
        found = [result for result in results if result.size == size]
        if found:
            tables += report.programs(found, asked.competitors, sentences(found))
            plots[HERE / f"results-{size}.svg"] = svg(found, asked.competitors)
    if rows:
        tables.append(report.costs(rows))
    for table in tables:
        table.show()
    if options.write:
        for path, text in plots.items():
            path.write_text(text, encoding="utf-8")
        command = shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])
        (HERE / "RESULTS.md").write_text(report.page(tables, command, facts, list(plots)), encoding="utf-8")


def threads() -> str:
    """How many threads lamina uses."""
    count = getattr(lamina, "get_num_threads", lambda: 1)()
    return f"on {count} thread{'s' * (count > 1)}"


if __name__ == "__main__":
    main()
