"""Empty figures and axes, what is drawn on all of them alike, and figures written to files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from perfmodel.documents import require
from perfmodel.io import write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def empty_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return a figure of a width and height in inches, which needs no window and no ``pyplot``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def figure_bytes(figure: Figure, form: str = "png", dpi: int = 130, formulas: bool = False) -> bytes:
    """Return a figure as the content of a file of a format: ``png`` or ``svg``.

    Texts are shown as they are, also with dollar signs, unless `formulas` says that they have formulas between them.
    """
    if not formulas:
        show_literally(figure)
    stream = BytesIO()
    figure.savefig(stream, format=form, dpi=dpi)
    return stream.getvalue()


def show_literally(drawn: Artist) -> None:
    """Let no text be read as a formula: what is between dollar signs in a name need not be one.

    Numbers at ticks stay what their axis makes of them, powers of ten for example.
    """
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    powers = [axis for axis in drawn.findobj(Axis) if isinstance(axis.get_major_formatter(), LogFormatter)]
    numbers = {id(text) for axis in powers for text in axis.get_ticklabels(which="both")}
    for text in drawn.findobj(Text):
        if id(text) not in numbers:
            text.set_parse_math(False)


def write_figure(figure: Figure, path: str | Path, dpi: int = 130, formulas: bool = False) -> None:
    """Write a figure as a file of the format that the name ends in; PNG where it ends in another.

    `formulas` are those of :func:`figure_bytes`.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    write_whole(path, figure_bytes(figure, "svg" if Path(path).suffix == ".svg" else "png", dpi, formulas))


def members(given: Any, kind: type | tuple[type, ...], argument: str, allowed: str) -> Sequence[Any]:
    """Return what a public function was given to draw.

    Raises
    ------
    ArgumentError
        If it is no iterable, or something in it is of another type.
    """
    values = tuple(given) if isinstance(given, Iterable) else (given,)
    require(all(isinstance(one, kind) for one in values), argument, given, allowed)
    return values


def axes_or_new(axes: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure of pyplot [inch], which a notebook shows.

    Raises
    ------
    ArgumentError
        If something else was given.
    """
    if axes is not None:
        require(hasattr(axes, "get_subplotspec"), "ax", axes, "axes of matplotlib, or None for a new figure")
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
