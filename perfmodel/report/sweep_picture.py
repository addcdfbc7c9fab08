"""Predicted time against size: a line for each variant, with the sizes at which another becomes the fastest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.report.palette import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfmodel.crossovers import Lead
    from perfmodel.sweeps import SweptPoint

BANDS = 3
"""Most variants whose intervals are drawn: more bands would lie on top of each other."""
LOGARITHMIC = 8.0
"""Largest over smallest value from which an axis is logarithmic."""
FEW = 40
"""Most sizes of which each has a marker."""
WRITTEN = 6
"""Most crossovers whose sizes are written beside their lines."""


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows: points that differ in one size.

    Parameters
    ----------
    name
        The size that goes across.
    points
        The predictions, in ascending order of that size.
    leads
        Which variant is the fastest from which size on.
    title
        The other sizes.
    """

    name: str
    points: tuple[SweptPoint, ...]
    leads: tuple[Lead, ...] = ()
    title: str = ""


def picture_sweep(panels: Sequence[Panel], path: str | Path, title: str) -> None:
    """Write a picture of predicted times against sizes (:func:`sweep_figure`)."""
    write_figure(sweep_figure(panels, title), path)


def sweep_figure(panels: Sequence[Panel], title: str) -> Figure:
    """Return predicted times against sizes, one pair of axes beside the other.

    Up to :data:`BANDS` variants have their intervals as bands. A dotted line stands where another variant becomes the
    fastest, in the colour of that variant.
    """
    figure = empty_figure(max(6.4, 4.2 * len(panels) + 1.8), 4.4)
    names = tuple(dict.fromkeys(one.name for panel in panels for one in panel.points[-1].variants))
    names = tuple(dict.fromkeys([*names, *(v.name for panel in panels for p in panel.points for v in p.variants)]))
    every = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, panel in zip(every, panels, strict=True):
        draw_panel(axes, panel, names)
    every[0].set_ylabel("predicted time [s]")
    if len(names) > 1:
        every[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
    figure.suptitle(title, fontsize="medium")
    return figure


def draw_panel(axes: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw a panel on axes; the place of a variant in `names` gives its colour and marker."""
    sizes, seconds = [], []
    for place, name in enumerate(names):
        own = [(point.sizes[panel.name], one) for point in panel.points for one in point.variants if one.name == name]
        own = [(size, one) for size, one in own if one.seconds > 0]
        if not own:
            continue
        marker, colour = style(place)
        x, y = [size for size, _ in own], [one.seconds for _, one in own]
        axes.plot(x, y, color=colour, marker=marker if len(x) <= FEW else "", markersize=4, label=name, zorder=3)
        bands = [one.interval for _, one in own]
        if len(names) <= BANDS and all(band is not None and 0 < band[0] <= band[1] < float("inf") for band in bands):
            low, high = zip(*(band for band in bands if band is not None), strict=True)
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        sizes += x
        seconds += y
    _scale(axes, sizes, seconds)
    _mark(axes, panel, {name: style(place)[1] for place, name in enumerate(names)})
    axes.set(xlabel=panel.name, title=panel.title)
    axes.title.set_fontsize("small")
    axes.grid(True, which="major", color="0.9")
    axes.set_axisbelow(True)


def _mark(axes: Axes, panel: Panel, colours: Mapping[str, str]) -> None:
    changes = panel.leads[1:]
    for lead in changes:
        axes.axvline(lead.low, color=colours.get(lead.name, "0.3"), linewidth=1, linestyle=":", zorder=2)
        if len(changes) <= WRITTEN:
            axes.annotate(
                f"from {lead.low}: {lead.name}", (lead.low, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                xytext=(3, 0), textcoords="offset points", fontsize="x-small", color="0.25", va="bottom",
            )  # fmt: skip


def _scale(axes: Axes, sizes: Sequence[int], seconds: Sequence[float]) -> None:
    if sizes and min(sizes) > 0 and max(sizes) >= LOGARITHMIC * min(sizes):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda size, _: size_text(size))
    if seconds and max(seconds) >= LOGARITHMIC * min(seconds):
        axes.set_yscale("log")


def size_text(size: float) -> str:
    """Return a size as the command line takes it.

    >>> size_text(512.0), size_text(2048), size_text(3 * 2**20), size_text(1500)
    ('512', '2Ki', '3Mi', '1500')
    """
    for unit, name in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if size >= unit and size % unit == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"
