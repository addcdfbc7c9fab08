"""Pictures of the choices of families among recorded rows, and of correlations of their errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import LogNorm, Normalize

from perfmodel.compare import Comparison, choices
from perfmodel.report.drawing import BLACK, BLUE, ERRORS_MAP, ORANGE, REST, VERMILION, empty_figure, ink, quiet_grid
from scripts.lab.real_gpus.study import STRICT, Recorded, by_space, by_transform, figures_by, missed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_REGRET = 100.0
"""Largest regret that a picture shows in its place; larger ones are drawn at the edge."""
SPACES = 8
"""How many spaces, the largest ones, the picture of choices has."""
SHOWN = ("multithreaded", "threaded_manycore_linear", "mwp_cwp_l2", "stevens_kloeckner_2016")
"""The families in the picture of choices; the first ones where none of them was judged."""
TICKS = (1, 3, 10, 30, 100, 300)
"""Ratios that axes name."""


def families_figure(recorded: Recorded) -> Figure:
    """Return regret and tau of each family: a dot for each space, and the figures by each protocol."""
    judged = recorded.judged[::-1]
    figure = empty_figure(11.0, 1.6 + 0.36 * len(judged))
    left, right = figure.subplots(1, 2, sharey=True)
    for place, family in enumerate(judged):
        spaces = figures_by(by_space(family.by(STRICT).rows))
        offsets = place + 0.3 * np.linspace(-1, 1, len(spaces))
        regrets = [min(one.regret, MOST_REGRET) for one in spaces.values()]
        left.plot(regrets, offsets, ".", color=REST, markersize=4, zorder=1)
        right.plot([one.tau for one in spaces.values()], offsets, ".", color=REST, markersize=4, zorder=1)
        for protocol, marker, colour in zip(family.protocols, "Dov", (BLUE, ORANGE, BLACK), strict=True):
            found = family.figures(protocol)
            left.plot(found.regret, place, marker, color=colour, markersize=6, zorder=3)
            right.plot(found.tau, place, marker, color=colour, markersize=6, zorder=3,
                       label=f"{protocol} left out" if place == 0 else None)  # fmt: skip
    left.axvline(recorded.random.random_regret, color=VERMILION, linestyle="--", zorder=2)
    right.axvline(0.0, color=VERMILION, linestyle="--", zorder=2, label="random choice")
    quiet_grid(left, "x")
    quiet_grid(right, "x")
    left.set(xscale="log", xlim=(0.95, MOST_REGRET * 1.05), xlabel="regret: chosen over best time")
    left.set_yticks(range(len(judged)), [family.family for family in judged], fontsize="small")
    left.set_xticks([1, 2, 3, 5, 10, 30, 100], ["1", "2", "3", "5", "10", "30", "100"])
    right.set(xlim=(-1.05, 1.05), xlabel="Kendall's tau between predicted and recorded order")
    right.plot([], [], ".", color=REST, label="one space")
    figure.legend(loc="outside upper center", ncols=5, fontsize="small", frameon=False)
    return figure


def transforms_figure(recorded: Recorded) -> Figure:
    """Return maps of the regret and of tau of each family in the spaces of each transform."""
    judged = recorded.judged
    tables = {one.family: figures_by(by_transform(one.by(STRICT).rows)) for one in judged}
    names = list(tables[judged[0].family])
    random = [tables[judged[0].family][name].random_regret for name in names]
    regrets = [[tables[one.family][name].regret for name in names] for one in judged]
    taus = [[tables[one.family][name].tau for name in names] for one in judged]
    rows = [one.family for one in judged]
    figure = empty_figure(3.2 + 0.98 * len(names), 2.2 + 0.3 * len(rows))
    left, right = figure.subplots(1, 2, sharey=False)
    _draw_map(left, [*regrets, random], "{:.1f}", LogNorm(1, 10), ERRORS_MAP)
    _draw_map(right, [*taus, [0.0] * len(names)], "{:.2f}", Normalize(-1, 1), "PuOr")
    counts = [tables[judged[0].family][name].choices for name in names]
    for axes, title in ((left, "regret"), (right, "tau")):
        axes.set_xticks(range(len(names)), [f"{name} ({count})" for name, count in zip(names, counts, strict=True)],
                        rotation=40, ha="right", fontsize="x-small")  # fmt: skip
        axes.set_title(title, fontsize="small")
    left.set_yticks(range(len(rows) + 1), [*rows, "random choice"], fontsize="small")
    right.set_yticks([])
    return figure


def misses_figure(recorded: Recorded) -> Figure:
    """Return a map of the correlations of traits of a launch with the errors of each family."""
    judged = recorded.judged
    found = [missed(one.by(STRICT).rows, recorded.traits) for one in judged]
    names = list(found[0])
    table = [[row[name] for name in names] for row in found]
    figure = empty_figure(4.0 + 0.55 * len(names), 1.8 + 0.3 * len(judged))
    axes = figure.subplots()
    _draw_map(axes, table, "{:.2f}", Normalize(-0.8, 0.8), "PuOr_r")
    axes.set_yticks(range(len(judged)), [one.family for one in judged], fontsize="small")
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", fontsize="small")
    axes.set_title("rank correlation of a trait with measured over predicted time, mean over spaces", fontsize="small")
    return figure


def _draw_map(axes: Axes, values: Sequence[Sequence[float]], form: str, shades: Normalize, colours: str) -> None:
    from matplotlib import colormaps

    axes.imshow(np.array(values, dtype=np.float64), cmap=colours, norm=shades, aspect="auto")
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            if math.isfinite(value):
                red, green, blue, _ = colormaps[colours](float(shades(value)))
                axes.text(x, y, form.format(value), ha="center", va="center", fontsize=6.5, color=ink(red, green, blue))
    axes.tick_params(length=0)


def choices_figure(recorded: Recorded) -> Figure:
    """Return predicted against recorded times of the largest spaces, each over its space's least, by some families."""
    judged = recorded.judged
    shown = sorted((one for one in judged if one.family in SHOWN), key=lambda one: SHOWN.index(one.family))
    shown = shown or list(judged[: len(SHOWN)])
    spaces = sorted(by_space(judged[0].by(STRICT).rows).items(), key=lambda item: (-len(item[1]), item[0]))
    names = [name for name, _ in spaces[:SPACES]]
    figure = empty_figure(1.75 * len(names), 1.9 * len(shown) + 0.6)
    grid = figure.subplots(len(shown), len(names), squeeze=False)
    for row, family in zip(grid, shown, strict=True):
        own: Mapping[str, Sequence[Comparison]] = by_space(family.by(STRICT).rows)
        for axes, name in zip(row, names, strict=True):
            _draw_choice(axes, own.get(name, []))
        row[0].set_ylabel(f"{family.family}\npredicted / least", fontsize="x-small")
    for axes, name in zip(grid[0], names, strict=True):
        transform, _, einsum = name.partition(": ")
        axes.set_title(f"{transform}\n{einsum.partition(' ')[0]}", fontsize=5.5)
    figure.supxlabel("recorded time / least of the space;  diamond: chosen;  dashed: right", fontsize="small")
    return figure


def _draw_choice(axes: Axes, rows: Sequence[Comparison]) -> None:
    axes.tick_params(labelsize=6)
    found = choices([row for row in rows if row.predicted])
    if not found:
        return
    choice = found[0]
    recorded = np.array(choice.measured) / min(choice.measured)
    predicted = np.array(choice.predicted) / min(choice.predicted)
    chosen = recorded[list(choice.chosen)]
    ends = [1, float(max(recorded.max(), predicted.max()))]
    axes.plot(ends, ends, "--", color="0.7", linewidth=0.8, zorder=1)
    axes.plot(recorded, predicted, ".", color=BLUE, markersize=3, alpha=0.6, zorder=2)
    axes.plot(chosen, np.ones_like(chosen), "D", color=VERMILION, markersize=5, zorder=3)
    axes.set(xscale="log", yscale="log", xlim=(0.9, 1.1 * ends[1]), ylim=(0.9, 1.1 * ends[1]))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(TICKS, [str(tick) for tick in TICKS])
        axis.set_ticks([], minor=True)
        axis.set_view_interval(0.9, 1.1 * ends[1], ignore=True)
    axes.set_title(f"regret {choice.regret:.2f}", fontsize=6.5, loc="left", x=0.05, y=0.86)


PICTURES = {"families": families_figure, "transforms": transforms_figure, "choices": choices_figure,
            "misses": misses_figure}  # fmt: skip
"""What is drawn next to the page, by the end of the file's name."""
