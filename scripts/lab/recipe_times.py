"""Recipes of four plain kernels: predicted against measured times, drawn from ``docs/data/recipes.csv``.

Each row of the file is a recipe of a kernel. Its ``kind`` is ``random`` for a recipe drawn at random, ``run`` for one
that ``perfmodel tune --transform`` ran, ``plain`` for the untransformed kernel, and ``hand`` for a version that a
person wrote.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from perfmodel.display import seconds_text
from perfmodel.report import drawing
from perfmodel.report.drawing import Axis, Picture, Series

#: Legend, colour and marker of each kind.
KINDS = {
    "random": ("drawn at random", "sky", "o"), "run": ("run by tune", "vermilion", "D"),
    "plain": ("untransformed", "black", "s"), "hand": ("written by hand", "green", "^"),
}  # fmt: skip


def draw_recipes(data: Path, picture: Path) -> None:
    """Draw a panel for each kernel of a file."""
    times = defaultdict[str, dict[str, list[tuple[float, float]]]](lambda: defaultdict(list))
    with data.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            times[row["kernel"]][row["kind"]].append((float(row["measured_s"]), float(row["predicted_s"])))
    figure = drawing.empty_figure(9.0, 7.6)
    for axes, (kernel, kinds) in zip(figure.subplots(2, 2).flat, times.items(), strict=True):
        every = [time for points in kinds.values() for point in points for time in point]
        limits = min(every) / 1.5, max(every) * 1.5
        series = [
            Series(label, [x for x, _ in kinds[kind]], [y for _, y in kinds[kind]], colour, marker)
            for kind, (label, colour, marker) in KINDS.items() if kinds[kind]
        ]  # fmt: skip
        diagonal = Series("", limits, limits, "muted", line="-")
        across, up = (Axis(label, tick=seconds_text, limits=limits) for label in ("measured time", "predicted time"))
        drawing.draw(axes, Picture(across, up, (diagonal, *series), square=True))
        axes.set_title(kernel)
        axes.legend(fontsize="small", loc="lower right")
    drawing.write_figure(figure, picture)
