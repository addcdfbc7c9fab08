"""Draws docs/packages.svg: the packages of perfmodel on floors, from their imports.

A package is drawn one level above the highest package that it imports. An arrow leads from a package to one that it
imports; an import that other arrows imply is left out. A module of the top level counts as a package.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from perfmodel.io import write_whole

Graph = Mapping[str, frozenset[str]]
#: What each package holds, in few words.
WHAT = {
    "analyses": "what bounds a kernel", "caches": "folder of caches", "calibration": "fits a device",
    "cli": "parses and prints", "cluster": "Dask's workers", "compare": "judges models",
    "counts": "kernel to formulas", "display": "values as text", "documents": "reads files safely",
    "errors": "all exceptions", "expressions": "language of models", "facts": "what a device is",
    "features": "formulas to numbers", "fitting": "times to weights", "hooks": "for other tuners", "io": "writes files",
    "kernels": "classes of kernels", "measuring": "takes times",
    "models": "a file for each model", "opencl": "devices, drivers", "plot": "pm.plot",
    "predicting": "seconds, ranking", "processes": "many kernels at once", "progress": "bars",
    "quantities": "occupancy, traffic", "report": "tables, pictures", "store": "measured rows",
    "tuning": "times and tunes", "values": "frozen values", "versions": "compares versions",
    "watching": "running programs",
}  # fmt: skip
DEVICE = {"opencl", "measuring", "watching"}
WIDTH, HEIGHT, FLOOR, GAP, THIN, MARGIN, SWEEPS = 150.0, 42.0, 84.0, 22.0, 12.0, 40.0, 24
STYLE = """\
svg { background: #fff; }
rect { fill: #eef4fb; stroke: #345; stroke-width: 1.2; }
.device rect { fill: #fdeedd; }
text { text-anchor: middle; fill: #123; }
.name { font-size: 15px; font-weight: bold; }
.what { font-size: 12px; }
.note { font-size: 13px; text-anchor: start; }
path { fill: none; stroke: #567; stroke-width: 1.3; }
#tip path { fill: #567; stroke: none; }"""


@cache
def imported(path: Path) -> frozenset[str]:
    """Return every module that a file imports, and ``package.name`` for each name of a package.

    A relative import raises a ValueError.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                raise ValueError(f"{path} uses a relative import")
            names.update({node.module}, (f"{node.module}.{alias.name}" for alias in node.names))
    return frozenset(names)


def package_imports(root: Path) -> Graph:
    """Return which packages each package below a folder imports; ``__init__`` and ``__main__`` of the folder are none.

    Imports inside of functions and those for types only are imports too.
    """
    needs: dict[str, set[str]] = {}
    for path in sorted(root.rglob("*.py")):
        package = path.relative_to(root).with_suffix("").parts[0]
        if package not in ("__init__", "__main__"):
            names = [name.split(".") for name in imported(path)]
            needs.setdefault(package, set()).update(name[1] for name in names if name[0] == root.name and name[1:])
    return {package: frozenset(names & needs.keys() - {package}) for package, names in sorted(needs.items())}


def floors(graph: Graph) -> dict[str, int]:
    """Return each package's floor: 1, or one above the highest that it imports.

    >>> floors({"cli": frozenset({"counts", "errors"}), "counts": frozenset({"errors"}), "errors": frozenset()})
    {'errors': 1, 'counts': 2, 'cli': 3}
    """
    found: dict[str, int] = {}
    for package in TopologicalSorter(graph).static_order():
        found[package] = 1 + max((found[name] for name in graph[package]), default=0)
    return found


def without_implied(graph: Graph) -> dict[str, frozenset[str]]:
    """Return the transitive reduction: no import of a package that another imported package imports.

    >>> graph = {"cli": frozenset({"counts", "errors"}), "counts": frozenset({"errors"}), "errors": frozenset()}
    >>> sorted(without_implied(graph)["cli"])
    ['counts']
    """
    below: dict[str, frozenset[str]] = {}
    for package in TopologicalSorter(graph).static_order():
        below[package] = frozenset().union(graph[package], *(below[name] for name in graph[package]))
    return {name: needs.difference(*(below[other] for other in needs)) for name, needs in graph.items()}


Spot = tuple[str, ...]  # (package,), or (package, imported package, floor) where an arrow passes a floor


def _rows(graph: Graph, floor: Mapping[str, int]) -> tuple[list[list[Spot]], list[tuple[Spot, ...]]]:
    """Return the spots of each floor, the highest first, and the spots along each arrow."""
    arrows = [
        ((upper,), *((upper, lower, str(level)) for level in range(floor[upper] - 1, floor[lower], -1)), (lower,))
        for upper in sorted(graph) for lower in sorted(graph[upper])
    ]  # fmt: skip
    spots = {(package,) for package in graph}.union(*arrows)
    levels = {spot: int(spot[2]) if len(spot) > 1 else floor[spot[0]] for spot in spots}
    return [sorted(s for s in spots if levels[s] == level) for level in range(max(levels.values()), 0, -1)], arrows


def _placed(row: Sequence[Spot], wanted: Mapping[Spot, float]) -> dict[Spot, float]:
    """Return middles near to the wanted ones, in the row's order: least squares, pooled where spots touch."""
    half = [(WIDTH if len(spot) == 1 else THIN) / 2 for spot in row]
    start = [0.0]
    for left, right in pairwise(half):
        start.append(start[-1] + left + GAP + right)
    pools: list[list[float]] = []
    for offset, spot in zip(start, row, strict=True):
        pools.append([wanted[spot] - offset])
        while len(pools) > 1 and fmean(pools[-2]) >= fmean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    means = [fmean(pool) for pool in pools for _ in pool]
    return {spot: mean + offset for spot, mean, offset in zip(row, means, start, strict=True)}


def _middles(rows: Sequence[list[Spot]], arrows: Sequence[tuple[Spot, ...]]) -> dict[Spot, float]:
    """Return the middle of each spot: below and above what it is joined with, swept down and up."""
    near: dict[bool, dict[Spot, list[Spot]]] = {True: {}, False: {}}
    for upper, lower in (pair for arrow in arrows for pair in pairwise(arrow)):
        near[True].setdefault(lower, []).append(upper)
        near[False].setdefault(upper, []).append(lower)
    middle = {spot: float(place) for row in rows for spot, place in _placed(row, dict.fromkeys(row, 0.0)).items()}
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows if down else reversed(rows):
            both = sweep >= SWEEPS // 2
            joined = {s: near[down].get(s, []) + (near[not down].get(s, []) if both else []) for s in row}
            wanted = {s: fmean([middle[n] for n in joined[s]]) if joined[s] else middle[s] for s in row}
            if not both:
                row.sort(key=lambda spot: (wanted[spot], spot))
            middle.update(_placed(row, wanted))
    return middle


def picture(graph: Graph) -> str:
    """Return the picture as SVG: the same text for the same imports."""
    floor, arrows_of = floors(graph), without_implied(graph)
    rows, arrows = _rows(arrows_of, floor)
    middle = _middles(rows, arrows)
    shift = MARGIN + WIDTH / 2 - min(middle.values())
    x = {spot: round(value + shift) for spot, value in middle.items()}
    y = {spot: round(MARGIN + 20 + FLOOR * level) for level, row in enumerate(rows) for spot in row}
    size = max(x.values()) + round(WIDTH / 2 + MARGIN), round(MARGIN + 20 + FLOOR * (len(rows) - 1) + HEIGHT + 20)
    note = f"{len(graph)} packages on {len(rows)} floors. An arrow leads to an imported package. Orange: calls OpenCL."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif">',
        "<title>Packages of perfmodel: an arrow leads to what a package imports</title>",
        f"<style>\n{STYLE}\n</style>",
        '<defs><marker id="tip" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
        '<path d="M0,0 L9,4 L0,8 z"/></marker></defs>',
        f'<rect width="{size[0]}" height="{size[1]}" style="fill:white;stroke:none"/>',
        f'<text class="note" x="20" y="28">{note}</text>',
        *(_arrow([(x[spot], y[spot]) for spot in arrow]) for arrow in arrows),
        *(_box(spot[0], x[spot], y[spot]) for row in rows for spot in row if len(spot) == 1),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def draw_packages(root: Path, target: Path) -> None:
    """Draw the packages of a folder into a file."""
    write_whole(target, picture(package_imports(root)).encode())


def _arrow(points: Sequence[tuple[int, int]]) -> str:
    """Return a line from a box down to another, straight where it passes floors."""
    text, high = f"M{points[0][0]},{points[0][1] + HEIGHT:.0f}", round(HEIGHT)
    for (left, upper), (right, lower) in pairwise(points):
        begin, bend = upper + high, (lower - upper - high) // 2
        text += f" L{left},{begin} C{left},{begin + bend} {right},{lower - bend} {right},{lower}"
    return f'<path d="{text}" marker-end="url(#tip)"/>'


def _box(package: str, x: int, y: int) -> str:
    return (
        f'<g class="{"device" if package in DEVICE else "pure"}">'
        f'<rect x="{x - WIDTH / 2:.0f}" y="{y}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}" rx="6"/>'
        f'<text class="name" x="{x}" y="{y + 18}">{escape(package)}</text>'
        f'<text class="what" x="{x}" y="{y + 34}">{escape(WHAT.get(package, ""))}</text></g>'
    )

# }}}
