"""Pictures, drawn with matplotlib and written whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.compare import Comparison, summarise
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.report.tables import kernels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vP*X"
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def picture_predicted_measured(rows: Sequence[Comparison], path: str | Path, title: str) -> None:
    """Write a picture of predicted against measured times (:func:`predicted_measured_figure`)."""
    write_figure(predicted_measured_figure(rows, title), path, dpi=150)


def predicted_measured_figure(rows: Sequence[Comparison], title: str) -> Figure:
    """Return predicted against measured times on logarithmic axes.

    Each kernel has a colour, a marker and its geometric-mean relative error in the legend. The
    diagonal is a perfect prediction; the band around it holds those within a factor of two.
    Predictions that are withheld or not positive have no place on a logarithmic axis; the legend
    gives their number.
    """
    figure = empty_figure(6.0, 5.8)
    axes = figure.add_subplot()
    _draw_band(axes, rows)
    for place, kernel in enumerate(kernels(rows)):
        _draw_kernel(axes, place, kernel, [row for row in rows if row.kernel == kernel])
    axes.set(
        xscale="log", yscale="log", xlabel="measured time [s]", ylabel="predicted time [s]", title=title, aspect="equal"
    )
    axes.grid(True, which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.legend(
        loc="best", fontsize="small", framealpha=0.95, title="kernel (geometric-mean error)"
    )
    return figure


def _draw_band(axes: Axes, rows: Sequence[Comparison]) -> None:
    times = [row.measured for row in rows] or [1.0]
    times += [row.predicted for row in rows if row.predicted is not None and row.predicted > 0]
    ends = [min(times) / 2, max(times) * 2]
    low, high = [end / 2 for end in ends], [end * 2 for end in ends]
    axes.fill_between(ends, low, high, color="0.93", zorder=0, label="within a factor of 2")
    axes.plot(ends, ends, color="0.4", linewidth=1, zorder=1, label="predicted = measured")
    axes.set(xlim=ends, ylim=ends)


def _draw_kernel(axes: Axes, place: int, kernel: str, rows: Sequence[Comparison]) -> None:
    drawn = [
        (row.measured, row.predicted)
        for row in rows
        if row.predicted is not None and row.predicted > 0
    ]
    label = f"{kernel} ({100 * summarise(rows).error:.0f} %)" if drawn else kernel
    if len(drawn) < len(rows):
        label += f", {len(rows) - len(drawn)} not drawn"
    axes.plot(
        [measured for measured, _ in drawn],
        [predicted for _, predicted in drawn],
        linestyle="none",
        marker=_MARKERS[place % len(_MARKERS)],
        markersize=7,
        markeredgecolor="white",
        color=_COLOURS[place % len(_COLOURS)],
        label=label,
        zorder=2,
    )
