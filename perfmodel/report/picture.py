"""Pictures, drawn with matplotlib and written whole."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.compare import Comparison, Evaluation, summarise
from perfmodel.compare.comparison import kernels
from perfmodel.report.drawing import (
    axes_or_new,
    empty_figure,
    legend_beside,
    members,
    quiet_grid,
    show_literally,
    style,
    write_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def picture_predicted_measured(rows: Sequence[Comparison], path: str | Path, title: str) -> None:
    """Write a picture of predicted against measured times (:func:`predicted_measured_figure`)."""
    write_figure(predicted_measured_figure(rows, title), path, dpi=150)


def predicted_measured_figure(rows: Sequence[Comparison], title: str) -> Figure:
    """Return a figure of predicted against measured times (:func:`plot_predicted_vs_measured`)."""
    figure = empty_figure(8.0, 5.4)
    plot_predicted_vs_measured(rows, figure.add_subplot(), title=title)
    return figure


def plot_predicted_vs_measured(
    rows: Sequence[Comparison] | Evaluation, ax: Axes | None = None, *, title: str = ""
) -> Axes:
    """Draw predicted against measured times on logarithmic axes.

    Each kernel has a colour, a marker and its geometric-mean relative error in the legend. The diagonal is a perfect
    prediction; the band around it holds those within a factor of two. Predictions that are withheld or not positive
    have no place on a logarithmic axis; the legend gives their number.

    Parameters
    ----------
    rows
        Cases (:func:`perfmodel.compare.compare`), or an evaluation of a model (:func:`perfmodel.compare.evaluate`).
    ax
        Axes to draw on; a new figure by default.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.
    """
    if isinstance(rows, Evaluation):
        rows = rows.rows
    rows = members(rows, Comparison, "plot_predicted_vs_measured: rows", "an evaluation, or what compare returned")
    axes = axes_or_new(ax, 8.0, 5.4)
    _draw_band(axes, rows)
    for place, kernel in enumerate(kernels(rows)):
        _draw_kernel(axes, place, kernel, [row for row in rows if row.kernel == kernel])
    axes.set(
        xscale="log", yscale="log", xlabel="measured time [s]", ylabel="predicted time [s]", title=title, aspect="equal"
    )
    quiet_grid(axes)
    legend_beside(axes, "kernel (geometric-mean error)")
    show_literally(axes)
    return axes


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
    marker, colour = style(place)
    axes.plot(
        [measured for measured, _ in drawn],
        [predicted for _, predicted in drawn],
        linestyle="none",
        marker=marker,
        markersize=7,
        markeredgecolor="white",
        color=colour,
        label=label,
        zorder=2,
    )
