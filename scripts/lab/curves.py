"""Figures of a study: measured points and predicted lines over one quantity, and shares as stacked bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.report.drawing import COLOURS, FILLS, LINES, MARKERS, REST, empty_figure, legend_beside, quiet_grid
from perfmodel.report.sizes import size_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_TICKS = 8
"""Most points of a logarithmic axis that are named one by one."""
#: What a name below an axis takes of its width [inch].
NAME_INCHES = 0.16


@dataclass(frozen=True)
class Series:
    """One line or row of points."""

    label: str  # its name in the legend; one name for what is measured and predicted is drawn in one colour
    # x, y: its points, of the same number.
    x: Sequence[float]
    y: Sequence[float]
    # "measured" gives points joined by a thin line, "predicted" a dashed line without points, "fit" a grey line, and
    # "points" only points.
    kind: str = "measured"


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    series: tuple[Series, ...]  # what is drawn
    # x, y: names of the axes, with units.
    x: str
    y: str
    title: str = ""  # above the axes
    scales: tuple[str, str] = ("linear", "linear")  # scale of each axis, ``"linear"`` or ``"log"``
    names: tuple[str, ...] = ()  # the labels at x = 0, 1, ... in place of numbers; the panel is as wide as they need.


def curves_figure(panels: Sequence[Panel], title: str = "") -> Figure:
    """Return panels next to each other, with one legend; a label has the same colour in all of them."""
    labels = list(dict.fromkeys(one.label for panel in panels for one in panel.series if one.kind != "fit"))
    wide = sum(max(4.4, NAME_INCHES * len(panel.names)) for panel in panels) + 2.0
    figure = empty_figure(max(6.4, wide), 4.4)
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        for one in panel.series:
            _draw(axes, one, labels.index(one.label) if one.label in labels else 0)
        axes.set(xlabel=panel.x, ylabel=panel.y, xscale=panel.scales[0], yscale=panel.scales[1])
        axes.set_title(panel.title, fontsize="small")
        _label_few_points(axes, panel)
        if panel.names:
            axes.set_xticks(range(len(panel.names)), panel.names, rotation=90, fontsize="x-small")
        quiet_grid(axes)
    _one_legend(every)
    if title:
        figure.suptitle(title, fontsize="medium")
    return figure


def _draw(axes: Axes, series: Series, place: int) -> None:
    colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
    line = LINES[place // len(COLOURS) % len(LINES)]
    looks: dict[str, dict[str, Any]] = {
        "measured": {"color": colour, "marker": marker, "linestyle": line, "linewidth": 0.8, "label": series.label},
        "points": {"color": colour, "marker": marker, "linestyle": "none", "label": series.label},
        "predicted": {"color": colour, "linestyle": "--", "linewidth": 1.8, "label": f"{series.label}, predicted"},
        "fit": {"color": "0.35", "linestyle": "-", "linewidth": 1.2, "label": series.label},
    }
    axes.plot(series.x, series.y, markersize=5, markeredgecolor="white", markeredgewidth=0.4, **looks[series.kind])


def _label_few_points(axes: Axes, panel: Panel) -> None:
    """Label the points of a logarithmic axis of sizes if they are few: the default labels of a decade or two overlap.

    Times and other values that are not integers have labels at 1, 2 and 5 within two decades.
    """
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    points = sorted({float(x) for one in panel.series for x in one.x if one.kind != "fit"})
    if panel.scales[0] != "log" or len(points) < 2:
        return
    if all(point.is_integer() for point in points):
        if len(points) <= MOST_TICKS:
            axes.set_xticks(points, [size_text(x) for x in points])
            axes.set_xticks([], minor=True)
    elif (limits := axes.get_xlim())[1] <= 100 * limits[0]:
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())


def _one_legend(every: Sequence[Axes]) -> None:
    """Draw the legend of all axes next to the last of them."""
    last, seen = every[-1], set(every[-1].get_legend_handles_labels()[1])
    for axes in every[:-1]:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            if text not in seen:
                seen.add(text)
                last.plot([], [], **_look(handle), label=text)
    if len(seen) > 1:
        legend_beside(last)


def _look(handle: Any) -> dict[str, Any]:
    names = ("color", "marker", "linestyle", "linewidth", "markersize", "markeredgecolor", "markeredgewidth")
    return {name: getattr(handle, f"get_{name}")() for name in names}


def shares_figure(bars: Mapping[str, Mapping[str, float]], y: str, title: str = "") -> Figure:
    """Return stacked bars: of each bar's name the parts by name, in the unit that `y` names.

    Parts of at most 1 % of the highest bar are drawn together as "rest".
    """
    most = max((sum(parts.values()) for parts in bars.values()), default=0.0)
    names = list(dict.fromkeys(name for parts in bars.values() for name in parts))
    shown = [name for name in names if max(parts.get(name, 0.0) for parts in bars.values()) > 0.01 * most]
    figure = empty_figure(max(6.4, 0.45 * len(bars) + 3.6), 4.4)
    axes = figure.add_subplot()
    below = [0.0] * len(bars)
    rows = {name: [parts.get(name, 0.0) for parts in bars.values()] for name in shown}
    if len(shown) < len(names):
        rows["rest"] = [sum(v for k, v in parts.items() if k not in shown) for parts in bars.values()]
    for place, (name, heights) in enumerate(rows.items()):
        colour = REST if name == "rest" else FILLS[place % len(FILLS)]
        hatch = None if place < len(FILLS) else "///"
        axes.bar(list(bars), heights, bottom=below, color=colour, label=name, hatch=hatch, edgecolor="white", width=0.7)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.set(ylabel=y, title=title)
    if max(map(len, bars), default=0) * len(bars) > 60:
        axes.set_xticks(range(len(bars)), list(bars), rotation=45, ha="right", rotation_mode="anchor")
    quiet_grid(axes, "y")
    legend_beside(axes)
    return figure
