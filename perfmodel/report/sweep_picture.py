"""Predicted time against size, a pair of axes for each combination of the other sizes, written to a file.

One pair of axes is drawn as :func:`perfmodel.report.sizes_picture.plot_sizes` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.report.drawing import empty_figure, legend_beside, write_figure
from perfmodel.report.sizes_picture import Curve, draw_curves, draw_lead

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfmodel.predicting.crossovers import Lead
    from perfmodel.predicting.ranking import SweptPoint

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

    A dotted line stands where another variant becomes the fastest, in the colour of that variant. A variant has its
    colour in all axes.
    """
    figure = empty_figure(max(6.4, 4.2 * len(panels) + 1.8), 4.4)
    names = tuple(dict.fromkeys(one.name for panel in panels for one in panel.points[-1].variants))
    names = tuple(dict.fromkeys([*names, *(v.name for panel in panels for p in panel.points for v in p.variants)]))
    every = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, names)
    every[0].set_ylabel("predicted time [s]")
    if len(names) > 1:
        legend_beside(every[-1])
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_panel(axes: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw a panel on axes; the place of a variant in `names` gives its colour and marker."""
    curves = [curve for place, name in enumerate(names) if len((curve := _curve(panel, place, name)).sizes)]
    draw_curves(axes, curves)
    changes = panel.leads[1:]
    for lead in changes:
        draw_lead(axes, curves, lead)
        if len(changes) <= WRITTEN:
            axes.annotate(
                f"from {lead.low}: {lead.name}", (lead.low, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                xytext=(3, 0), textcoords="offset points", fontsize="x-small", color="0.25", va="bottom",
            )  # fmt: skip
    axes.set_xlabel(f"size {panel.name}")
    axes.set_title(panel.title, fontsize="small")


def _curve(panel: Panel, place: int, name: str) -> Curve:
    """Return a variant's times above zero."""
    own = [(point.sizes[panel.name], one) for point in panel.points for one in point.variants if one.name == name]
    shown = [(size, one) for size, one in own if one.seconds > 0]
    bounds = [one.interval for _, one in shown if one.interval is not None]
    band = np.array(bounds).reshape(-1, 2).T if len(bounds) == len(shown) else None
    return Curve(
        name, place, np.array([size for size, _ in shown]), np.array([one.seconds for _, one in shown]),
        None if band is None else (band[0], band[1]),
    )  # fmt: skip
