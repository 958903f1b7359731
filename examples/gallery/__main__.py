"""``python -m examples.gallery [name …]``: run the gallery, or the programs in whose names one of the words is."""

import sys

from rich.console import Console
from rich.table import Table

from examples.gallery import GALLERY
from examples.gallery.running import report


def main(words: list[str]) -> int:
    """Print the table; the number of programs that don't agree with NumPy."""
    console = Console(highlight=False)
    table = Table("program", "agrees with NumPy", title="Times in seconds. The graph is run node by node on NumPy.")
    for column in ("first call", "later calls", "NumPy"):
        table.add_column(column, justify="right")
    table.add_column("nodes", justify="right")
    table.add_column("loops")
    wrong = 0
    for entry in GALLERY:
        if words and not any(word.lower() in entry.name.lower() for word in words):
            continue
        shown = report(entry)
        wrong += bool(shown.found)
        agrees = f"[red]{'; '.join(shown.found)}[/red]" if shown.found else "to the last bit"
        if not shown.found and entry.tolerance:
            agrees = f"within {entry.tolerance:g}"
        times = (f"{seconds:.4f}" for seconds in (shown.first, shown.steady, shown.numpy))
        table.add_row(entry.name, agrees, *times, str(shown.nodes), entry.loops)
    console.print(table)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
