"""Draws docs/packages.svg from the imports: each package stands above those that it uses.

An arrow leads from a package to those that use it, the way of the data. Where a longer way leads there, it is left out.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from statistics import mean

from perfmodel.io import write_whole

WIDTH, STEP = 960, 62
BOX, LINE = (112, 30), 24  # of a package, and the width that an arrow needs where it passes a floor [px]
STYLE = """
text { font: 13px sans-serif; text-anchor: middle; fill: #123; } text.note { text-anchor: start; }
rect { fill: #eef4fb; stroke: #345; } .device rect { fill: #fdebd8; stroke: #a60; } path { fill: none; stroke: #789; }
"""
Graph = dict[str, set[str]]


def used_packages(root: Path) -> Graph:
    """Return the packages of a folder, each with those that its modules import."""
    names = {path.parent.name for path in root.glob("*/__init__.py")}
    used: Graph = {name: set() for name in names}
    for name in names:
        for path in (root / name).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{root.name}."):
                    used[name] |= {str(node.module).split(".")[1]} & names - {name}
    return used


def without_shortcuts(used: Graph) -> Graph:
    """Return a graph without the arrows beside which a longer way leads to the same package.

    >>> without_shortcuts({"a": set(), "b": {"a"}, "c": {"a", "b"}}) == {"a": set(), "b": {"a"}, "c": {"b"}}
    True
    """
    below: Graph = {}
    for name in TopologicalSorter(used).static_order():
        below[name] = used[name].union(*(below[other] for other in used[name]))
    return {name: {a for a in names if not any(a in below[b] for b in names)} for name, names in used.items()}


def floors(used: Graph) -> dict[str, int]:
    """Return the floor of each package: one above the highest that it uses."""
    floor: dict[str, int] = {}
    for name in TopologicalSorter(used).static_order():
        floor[name] = 1 + max((floor[other] for other in used[name]), default=-1)
    return floor


def places(arrows: Graph) -> dict[tuple[str, ...], float]:
    """Return x of each package ``(name,)``, and of each arrow ``(from, to, floor)`` where it passes a floor [px]."""
    floor = floors(arrows)
    links: dict[tuple[str, ...], list[tuple[str, ...]]] = {(name,): [] for name in sorted(arrows)}
    rows: list[list[tuple[str, ...]]] = [[] for _ in range(max(floor.values()) + 1)]
    for name in sorted(arrows):
        rows[floor[name]].append((name,))
        for other in sorted(arrows[name]):
            way = [(other,), *((other, name, str(at)) for at in range(floor[other] + 1, floor[name])), (name,)]
            for at, key in enumerate(way[1:-1], floor[other] + 1):
                rows[at].append(key)
            for low, high in pairwise(way):
                links.setdefault(low, []).append(high)
                links.setdefault(high, []).append(low)
    x: dict[tuple[str, ...], float] = {}
    for row in rows:
        _spread(row, x)
    for row in [*rows, *rows[::-1]] * 8:
        row.sort(key=lambda key: (mean([x[other] for other in links[key]] or [x[key]]), key))
        _spread(row, x)
    return x


def _spread(row: list[tuple[str, ...]], x: dict[tuple[str, ...], float]) -> None:
    """Place a floor's packages and arrows from left to right, with equal gaps."""
    sizes = [BOX[0] if len(key) == 1 else LINE for key in row]
    gap = (WIDTH - sum(sizes)) / (len(row) + 1)
    left = gap
    for key, size in zip(row, sizes, strict=True):
        x[key] = left + size / 2
        left += size + gap


def packages_svg(used: Graph, device: Collection[str]) -> str:
    """Return the picture; `device` has the packages that call OpenCL."""
    arrows = without_shortcuts(used)
    floor, x = floors(arrows), places(arrows)
    height = STEP * (max(floor.values()) + 1) + 40

    def y(at: int) -> float:
        return height - 20 - STEP * at - BOX[1] / 2

    parts = []
    for name in sorted(arrows):
        for other in sorted(arrows[name]):
            points = [(x[other,], y(floor[other]) - BOX[1] / 2)]
            for at in range(floor[other] + 1, floor[name]):
                points += [(x[other, name, str(at)], y(at) + BOX[1] / 2), (x[other, name, str(at)], y(at) - BOX[1] / 2)]
            points.append((x[name,], y(floor[name]) + BOX[1] / 2))
            way = " L".join(f"{a:.0f},{b:.0f}" for a, b in points)
            parts.append(f'<path d="M{way}" marker-end="url(#arrow)"/>')
    for name in sorted(arrows):
        left, top = x[name,] - BOX[0] / 2, y(floor[name]) - BOX[1] / 2
        kind = ' class="device"' if name in device else ""
        parts.append(
            f'<g{kind}><rect x="{left:.0f}" y="{top:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
            f'<text x="{x[name,]:.0f}" y="{top + 20:.0f}">{name}/</text></g>'
        )
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        "<title>Packages of perfmodel: an arrow shows the way of the data</title>", f"<style>{STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8" /></marker></defs>',
        '<text class="note" x="10" y="20">An arrow shows the way of the data. Only orange packages call OpenCL.</text>',
        *parts, "</svg>", "",
    ])  # fmt: skip


def draw_packages(root: Path, picture: Path) -> None:
    """Draw the packages of a folder into a file."""
    write_whole(picture, packages_svg(used_packages(root), ("opencl", "measuring")).encode())
