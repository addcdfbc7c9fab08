"""How each idea changed error and regret over time: a row for each model, older scorings pale, the last one strong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfmodel.report.drawing import empty_figure, write_figure
from scripts.lab.scoreboard.goals import MEASURED as MEASURED_GOALS, SIMULATED as SIMULATED_GOALS
from scripts.lab.scoreboard.scored_device import MEASURED, OTHERS, TESTS
from scripts.lab.scoreboard.scoring import Scoring

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REACHED, MISSED, PLAIN, GOAL = "#0072B2", "#D55E00", "0.25", "0.35"
"""Two colours of Okabe and Ito's palette, which colour-blind readers distinguish, and two greys."""
KEY = (
    "dashed: goal;  blue circle: reaches it;  orange diamond: does not;  dark square: has no goal;  hollow: earlier "
    "scorings, joined to the last one"
)


class Panel(NamedTuple):
    """A figure of scorings by one protocol over one set of kernels."""

    title: str
    name: str
    protocol: str
    kernels: tuple[str, ...]
    goal: str  # name of its limit among the goals; empty if it has none
    limits: tuple[float, float]


PANELS = (
    Panel("error, groups left out", "error", "groups", (MEASURED, OTHERS), "", (0.03, 3.0)),
    Panel("error, tests by B", "error", "B", (TESTS,), "error", (0.03, 3.0)),
    Panel("regret, tests by B", "regret", "B", (TESTS,), "regret", (0.98, 3.0)),
)


def picture_scoreboard(rows: Sequence[Scoring], path: str | Path) -> None:
    """Write the picture of :func:`scoreboard_figure`."""
    write_figure(scoreboard_figure(rows), path)


def scoreboard_figure(rows: Sequence[Scoring]) -> Figure:
    """Return a row of panels for each device, simulated ones last; models are in the order of their first scoring.

    A value beyond a panel's limits is drawn at its edge.
    """
    scored = [one for one in rows if not one.problem]
    devices = [name for _, name in sorted({(one.simulated, one.device) for one in scored})]
    own = [[one for one in scored if one.device == device] for device in devices]
    heights = [0.2 * len({one.model for one in each}) + 0.9 for each in own]
    figure = empty_figure(12.5, max(sum(heights), 1.0) + 0.4)
    grid = figure.subplots(
        max(len(own), 1), len(PANELS), squeeze=False, sharey="row", gridspec_kw={"height_ratios": heights or [1]}
    )
    for axes, each in zip(grid, own, strict=False):
        for place, panel in zip(axes, PANELS, strict=True):
            _draw(place, panel, each)
        word = " (simulated)" * each[0].simulated
        axes[0].set_title(f"{each[0].device}{word}\n{PANELS[0].title}", fontsize="small", loc="left")
    figure.supxlabel(KEY, fontsize="x-small")
    return figure


def _draw(axes: Axes, panel: Panel, rows: Sequence[Scoring]) -> None:
    models = list(dict.fromkeys(one.model for one in rows))
    goals = SIMULATED_GOALS if rows[0].simulated else MEASURED_GOALS
    goal = float(getattr(goals, panel.goal)) if panel.goal else math.nan
    for place, model in enumerate(models):
        wanted = model, panel.protocol
        own = (one for one in rows if (one.model, one.protocol) == wanted and one.kernels in panel.kernels)
        values = [float(getattr(one, panel.name)) for one in own]
        _draw_trail(axes, place, [_clip(value, panel.limits) for value in values if not math.isnan(value)], goal)
    if panel.goal:
        axes.axvline(goal, color=GOAL, linewidth=1, linestyle="--", zorder=0)
    axes.set(xscale="log", xlim=panel.limits, ylim=(len(models) - 0.5, -0.5))
    axes.set_title(panel.title, fontsize="small", loc="left")
    axes.set_yticks(range(len(models)), models, fontsize="x-small")
    _label(axes, panel)
    axes.grid(True, axis="both", color="0.92")
    axes.set_axisbelow(True)


def _draw_trail(axes: Axes, place: int, values: Sequence[float], goal: float) -> None:
    """Draw a model's values from the oldest to the last one."""
    if not values:
        return
    axes.plot(values, [place] * len(values), color="0.7", linewidth=1, zorder=1)
    axes.plot(values[:-1], [place] * (len(values) - 1), linestyle="none", marker="o", markersize=4,
              markerfacecolor="white", markeredgecolor="0.6", zorder=2)  # fmt: skip
    marker, colour = ("s", PLAIN) if math.isnan(goal) else ("D", MISSED) if values[-1] > goal else ("o", REACHED)
    axes.plot(values[-1:], [place], linestyle="none", marker=marker, markersize=5, color=colour, zorder=3)


def _label(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import NullFormatter

    ticks = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0) if panel.name == "error" else (1.0, 1.1, 1.2, 1.5, 2.0)
    words = [f"{100 * one:.0f} %" if panel.name == "error" else f"{one:g}" for one in ticks]
    axes.set_xticks(ticks, words, fontsize="x-small")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(length=0, which="both")


def _clip(value: float, limits: tuple[float, float]) -> float:
    return min(max(value, limits[0] * 1.03), limits[1] / 1.03)
