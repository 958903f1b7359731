"""Edges of a photograph: windows, reductions and loops, traced and run by lamina, and checked against plain NumPy.

Run it with ``make demo``. The photograph is one that scikit-image carries in its package, the astronaut Eileen Collins
by NASA; the picture goes to ``build/``.

The program blurs the photograph, lets its colours flow together without crossing an edge (anisotropic diffusion, Perona
and Malik, 1990), keeps the ridges of the gradient, and of those the lines that are strong somewhere (Canny, 1986).
"""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from rich.console import Console
from rich.table import Table

import lamina

BUILD = Path(__file__).resolve().parent.parent / "build"

# Whole numbers over a power of two: the blur is exact, in whatever order it is summed.
LUMA = np.array([13933, 46871, 4732])  # of 65536, red, green and blue as the eye weighs them (Rec. 709)
BINOMIAL = np.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1])  # of 256, close to a Gaussian of deviation 1

ROUNDS, SOFTNESS = 20, 6.0  # of the diffusion: steps of less than this many levels flow away
LOW, HIGH = 24.0, 60.0  # gradients, in levels: an edge is above LOW, and above HIGH somewhere


# The program


@lamina.defn
def edges(photo: Any, rounds: int, softness: float, low: float, high: float) -> dict[str, Any]:
    """The photograph (height, width, 3) in gray and diffused, its gradient's strength, its edges, and their share."""
    gray = (photo * LUMA).sum(axis=-1) / 65536
    calm = diffused(blurred(gray), rounds, softness)
    strength, ridge = ridges(calm)
    found = connected(ridge & (strength > low), ridge & (strength > high))
    return {"gray": gray, "calm": calm, "strength": strength, "edges": found, "share": found.mean()}


def blurred(image: Any) -> Any:
    """Each pixel's neighbourhood of five by five, weighted and summed."""
    windows = sliding_window_view(np.pad(image, 2, mode="edge"), (5, 5))
    return (windows * BINOMIAL).sum(axis=(2, 3)) / 256


def diffused(image: Any, rounds: int, softness: float) -> Any:
    """What flows between neighbours levels them out, but little flows over a step much larger than `softness`."""

    def flow(step: Any) -> Any:
        relative = step / softness
        return step / (1 + relative * relative)

    def turn(_: Any, u: Any) -> Any:
        around = np.pad(u, 1, mode="edge")
        vertical = flow(around[:-2, 1:-1] - u) + flow(around[2:, 1:-1] - u)
        horizontal = flow(around[1:-1, :-2] - u) + flow(around[1:-1, 2:] - u)
        return u + 0.2 * (vertical + horizontal)

    return lamina.fori_loop(0, rounds, turn, image)


def ridges(image: Any) -> tuple[Any, Any]:
    """The strength of the gradient, and where it is the greatest of the three along its own direction."""
    p = np.pad(image, 1, mode="edge")
    across = (p[:-2, 2:] - p[:-2, :-2]) + 2 * (p[1:-1, 2:] - p[1:-1, :-2]) + (p[2:, 2:] - p[2:, :-2])
    down = (p[2:, :-2] - p[:-2, :-2]) + 2 * (p[2:, 1:-1] - p[:-2, 1:-1]) + (p[2:, 2:] - p[:-2, 2:])
    strength = np.sqrt(across * across + down * down)

    s = np.pad(strength, 1)
    flat = np.abs(down) < np.abs(across) * 0.4  # within about 22° of the horizontal
    steep = np.abs(across) < np.abs(down) * 0.4
    falling = across * down > 0
    after = np.where(flat, s[1:-1, 2:], np.where(steep, s[2:, 1:-1], np.where(falling, s[2:, 2:], s[2:, :-2])))
    before = np.where(flat, s[1:-1, :-2], np.where(steep, s[:-2, 1:-1], np.where(falling, s[:-2, :-2], s[:-2, 2:])))
    return strength, (strength >= before) & (strength > after)


def connected(weak: Any, strong: Any) -> Any:
    """Those of the weak pixels that a chain of weak neighbours joins to a strong one."""

    def grown(state: Any) -> Any:
        kept, _ = state
        near = sliding_window_view(np.pad(kept, 1), (3, 3)).any(axis=(2, 3))
        new = near & weak
        return new, (new != kept).any()

    return lamina.while_loop(lambda state: state[1], grown, (strong, True))[0]


# The same in plain NumPy, written otherwise: shifted slices for windows, Python's own loops


def plain(photo: Any, rounds: int, softness: float, low: float, high: float) -> dict[str, Any]:
    """What `edges` gives, bit for bit."""
    height, width, _ = photo.shape
    gray = photo.astype(np.int64) @ LUMA / 65536

    around = np.pad(gray, 2, mode="edge")
    calm = np.zeros_like(gray)
    for (i, j), weight in np.ndenumerate(BINOMIAL):
        calm += around[i : i + height, j : j + width] * weight
    calm /= 256
    for _ in range(rounds):
        inner = np.pad(calm, 1, mode="edge")
        steps = np.stack([np.roll(inner, shift, axis)[1:-1, 1:-1] - calm for axis in (0, 1) for shift in (1, -1)])
        steps /= 1 + (steps / softness) * (steps / softness)
        calm += 0.2 * ((steps[0] + steps[1]) + (steps[2] + steps[3]))

    def at(image: Any, i: int, j: int) -> Any:
        return image[1 + i : 1 + i + height, 1 + j : 1 + j + width]

    p = np.pad(calm, 1, mode="edge")
    across = sum(weight * (at(p, i, 1) - at(p, i, -1)) for i, weight in ((-1, 1), (0, 2), (1, 1)))
    down = sum(weight * (at(p, 1, j) - at(p, -1, j)) for j, weight in ((-1, 1), (0, 2), (1, 1)))
    strength = np.sqrt(across**2 + down**2)

    s = np.pad(strength, 1)
    ridge = np.zeros(gray.shape, bool)
    flat, steep = abs(down) < abs(across) * 0.4, abs(across) < abs(down) * 0.4
    falling = across * down > 0
    for where, (i, j) in (
        (flat, (0, 1)),
        (~flat & steep, (1, 0)),
        (~flat & ~steep & falling, (1, 1)),
        (~flat & ~steep & ~falling, (1, -1)),
    ):
        ridge[where] = ((strength >= at(s, -i, -j)) & (strength > at(s, i, j)))[where]

    weak, found = ridge & (strength > low), ridge & (strength > high)
    while True:
        padded = np.pad(found, 1)
        near = np.logical_or.reduce([at(padded, i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]) & weak
        if (near == found).all():
            break
        found = near
    return {"gray": gray, "calm": calm, "strength": strength, "edges": found, "share": found.mean()}


# What `make demo` shows


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def picture(photo: np.ndarray, results: dict[str, Any]) -> np.ndarray:
    """The photograph, what is left of it after the diffusion, and its edges, side by side."""
    calm = np.repeat(results["calm"][..., np.newaxis], 3, axis=-1)
    drawn = np.where(results["edges"][..., np.newaxis], [255, 214, 90], calm * 0.35)
    return np.concatenate([photo, calm, drawn], axis=1).round().clip(0, 255).astype(np.uint8)


def main() -> None:
    from skimage.data import astronaut
    from skimage.io import imsave

    console = Console(highlight=False)
    photo = astronaut()
    arguments = (photo, ROUNDS, SOFTNESS, LOW, HIGH)
    console.print(f"A photograph of {photo.shape[0]} × {photo.shape[1]} pixels, {photo.dtype}, from scikit-image.\n")

    first, results = seconds(lambda: edges(*arguments))
    again = [seconds(lambda: edges(*arguments))[0] for _ in range(3)]
    reference, expected = seconds(lambda: plain(*arguments))
    plainly = [reference, *(seconds(lambda: plain(*arguments))[0] for _ in range(2))]

    graph = lamina.trace(edges, *arguments)
    text = str(graph).splitlines()
    nodes = lamina.tree.all_nodes(graph.outputs)
    console.print("The graph begins so:", style="bold")
    console.print("\n".join([*text[:14], "  …"]), markup=False, overflow="ellipsis", no_wrap=True)
    common = ", ".join(f"{count} {op}" for op, count in Counter(node.op for node in nodes).most_common(8))
    console.print(f"\n{len(nodes)} nodes, {len(graph.order)} of them outside loops: {common}, …\n")

    for name, array in expected.items():
        if not np.array_equal(results[name], array) or results[name].dtype != array.dtype:
            raise SystemExit(f"{name} is not what plain NumPy gives")
    console.print("Every result is what plain NumPy gives, bit for bit.", style="green")
    console.print(f"{results['share']:.1%} of the pixels are edges.\n")

    table = Table("", "seconds", title="How long it took")
    table.add_row("first call: trace, compile and run", f"{first:.3f}")
    table.add_row("later calls", f"{statistics.median(again):.3f}")
    table.add_row("plain NumPy", f"{statistics.median(plainly):.3f}")
    console.print(table)
    console.print("lamina has made fused loops of machine code of the graph.\n")

    BUILD.mkdir(exist_ok=True)
    imsave(BUILD / "edges.png", picture(photo, results))
    (BUILD / "edges.txt").write_text(f"{graph}\n", encoding="utf-8")
    console.print(f"The picture: {BUILD / 'edges.png'}\nThe graph:   {BUILD / 'edges.txt'}", soft_wrap=True)


if __name__ == "__main__":
    main()
