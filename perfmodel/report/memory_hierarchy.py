"""Pictures of hit rates over the orders in which requests can reach the caches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.analyses.memory_hierarchy import HitRates
from perfmodel.errors import PictureFormatError
from perfmodel.report.drawing import empty_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")
NARROWEST = 0.02  # least range of hit rates on an axis, so that a narrow distribution looks narrow


def draw_memory_hierarchy(rates: HitRates, path: str | Path, title: str, level: float = 0.9) -> None:
    """Write a picture of the hit rates of both caches (:func:`hit_rates_figure`), as ``.png`` or ``.svg``.

    Raises
    ------
    PictureFormatError
        If the name ends otherwise.
    """
    if Path(path).suffix not in FORMATS:
        raise PictureFormatError(str(path), FORMATS)
    write_figure(hit_rates_figure(rates, title, level), path)


def hit_rates_figure(rates: HitRates, title: str, level: float = 0.9) -> Figure:
    """Return a histogram of each cache's hit rates, and the shares of each array's requests that each memory answers.

    A line marks the mean, a band its confidence interval. The axes of both histograms have the same
    width: a distribution that looks narrow depends little on the order.
    """
    figure = empty_figure(8.0, 4.2 + 0.28 * len(rates.by_array))
    panels = figure.subplot_mosaic(
        [["l1", "l2"], ["arrays", "arrays"]], height_ratios=(2.6, 0.7 + 0.28 * len(rates.by_array))
    )
    width = max(NARROWEST, 1.3 * max(np.ptp(rates.l1), np.ptp(rates.l2)))
    for which, name in (("l1", "first-level"), ("l2", "second-level")):
        _draw_rates(panels[which], rates, which, level, width)
        panels[which].set_title(f"{name} cache", fontsize="medium")
    _draw_arrays(panels["arrays"], rates)
    sample = f"{len(rates.l1)} orders of {rates.requests} requests of {rates.groups} work-groups"
    figure.suptitle(f"{title}\n{sample}", fontsize="medium")
    return figure


def _draw_rates(axes: Axes, rates: HitRates, which: str, level: float, width: float) -> None:
    found = np.asarray(rates.l1 if which == "l1" else rates.l2)
    low, high = rates.interval(which, level)
    middle = float(found.min() + found.max()) / 2
    left = min(max(middle - width / 2, -0.02 * width), 1 + 0.02 * width - width)
    axes.hist(found, bins=list(np.linspace(left, left + width, 26)), color="#0072B2", alpha=0.75)
    axes.axvspan(low, high, color="#E69F00", alpha=0.45, label=f"{100 * level:.0f} % interval of the mean")
    axes.axvline(float(found.mean()), color="#D55E00", label=f"mean {100 * found.mean():.4g} %")
    axes.set(xlim=(left, left + width), xlabel="hit rate", ylabel="orders")
    axes.legend(fontsize="small")


def _draw_arrays(axes: Axes, rates: HitRates) -> None:
    names = [name for name, _, _ in rates.by_array]
    first = np.array([share for _, share, _ in rates.by_array])
    memory = np.array([share for _, _, share in rates.by_array])
    second = 1.0 - first - memory
    left = np.zeros(len(names))
    for shares, colour, label in (
        (first, "#009E73", "first-level cache"), (second, "#56B4E9", "second-level cache"),
        (memory, "#999999", "memory"),
    ):
        axes.barh(names, shares, left=left, color=colour, label=label, height=0.7)
        left = left + shares
    axes.set(xlim=(0, 1), xlabel="requests answered by")
    axes.invert_yaxis()
    axes.legend(fontsize="small", ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
