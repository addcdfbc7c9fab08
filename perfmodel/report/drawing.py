"""Empty figures and axes, what is drawn on all of them alike, and figures written to files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from perfmodel.io import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def empty_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return a figure of a width and height in inches, which needs no window and no ``pyplot``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def figure_bytes(figure: Figure, form: str = "png", dpi: int = 130) -> bytes:
    """Return a figure as the content of a file of a format: ``png`` or ``svg``."""
    stream = BytesIO()
    figure.savefig(stream, format=form, dpi=dpi)
    return stream.getvalue()


def write_figure(figure: Figure, path: str | Path, dpi: int = 130) -> None:
    """Write a figure as a file of the format that the name ends in; PNG where it ends in another.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    write_whole(path, figure_bytes(figure, "svg" if Path(path).suffix == ".svg" else "png", dpi))


def axes_or_new(axes: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure of pyplot [inch], which a notebook shows."""
    if axes is not None:
        return axes
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()


def legend_beside(axes: Axes, title: str = "") -> None:
    """Draw the legend to the right of the axes, where it covers nothing.

    A figure without a layout gets the constrained one, which makes room. Axes that were placed by hand keep their
    place, and have the legend inside.
    """
    words = {"fontsize": "small", "title": title or None, "title_fontsize": "small", "alignment": "left"}
    if axes.get_subplotspec() is None:
        axes.legend(loc="best", framealpha=0.9, **words)
        return
    figure = axes.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False, **words)


def quiet_grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw pale lines at the major ticks, below everything else."""
    axes.grid(True, which="major", axis=axis, color="0.9")
    axes.set_axisbelow(True)
