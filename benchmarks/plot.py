"""A plot of results as SVG: one row for each program, a mark for each competitor, on a logarithmic scale."""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

from .contest import Result

COLOURS = {"lamina": "#c0392b", "NumPy": "#7f8c8d", "Numba": "#2471a3", "JAX": "#1e8449", "numexpr": "#b7950b"}
LEFT, TOP, WIDTH, ROW = 190, 60, 560, 18


def svg(results: Sequence[Result], competitors: Sequence[str]) -> str:
    """How many times as fast as NumPy each competitor is; further right is faster."""
    speeds = [
        {name: numpy / own for name in competitors if (own := result.steady(name))}
        for result in results
        if (numpy := result.steady("NumPy"))
    ]
    names = [result.program.name for result in results if result.steady("NumPy")]
    exponents = [math.log10(speed) for each in speeds for speed in each.values()] or [0.0]
    low, high = math.floor(min(exponents)), max(math.ceil(max(exponents)), math.floor(min(exponents)) + 1)
    height = TOP + ROW * len(names) + 20

    def x(speed: float) -> float:
        return LEFT + WIDTH * (math.log10(speed) - low) / (high - low)

    title = f"Speed against NumPy, {results[0].size} sizes" if results else "nothing was measured"
    size = f'width="{LEFT + WIDTH + 40}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="14">{title}</text>',
    ]
    for i, name in enumerate(competitors):
        parts.append(f'<circle cx="{LEFT + 90 * i}" cy="34" r="5" fill="{COLOURS[name]}"/>')
        parts.append(f'<text x="{LEFT + 90 * i + 9}" y="38">{escape(name)}</text>')
    for exponent in range(low, high + 1):
        place = x(10.0**exponent)
        colour = "#555" if exponent == 0 else "#ddd"
        parts.append(f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{TOP - 6}" y2="{height - 16}" stroke="{colour}"/>')
        parts.append(f'<text x="{place:.1f}" y="{height - 3}" text-anchor="middle">{10.0**exponent:g}×</text>')
    for row, (program, each) in enumerate(zip(names, speeds, strict=True)):
        y = TOP + ROW * row + 6
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(program)}</text>')
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#eee"/>')
        parts += [
            f'<circle cx="{x(each[name]):.1f}" cy="{y}" r="5" fill="{COLOURS[name]}" opacity="0.85"/>'
            for name in reversed(competitors)  # lamina on top
            if name in each
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
