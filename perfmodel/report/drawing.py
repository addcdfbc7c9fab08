"""The matplotlib back end: figures, axes, markers, files, and colours for any colour vision (Okabe and Ito, 2008)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from perfmodel.errors import OptionError
from perfmodel.io import write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # matplotlib is imported when something is drawn
    Axes = Figure = Any


@dataclass(frozen=True)
class Axis:
    """An axis: its label, and how its ticks are written."""

    label: str
    log: bool = True
    tick: Callable[[float], str] = "{:g}".format
    limits: tuple[float, float] | None = None
    names: tuple[str, ...] = ()  # at 0, 1, 2 and so on, instead of numbers


@dataclass(frozen=True)
class Series:
    """Points or a line with one entry in the legend."""

    label: str  # "" leaves it out of the legend
    x: Sequence[float]
    y: Sequence[float]
    colour: str = "blue"  # a name in NAMED
    marker: str = ""  # matplotlib's name; none for a line
    line: str = ""  # matplotlib's name; none for points
    filled: bool = True
    texts: Sequence[str] = ()  # of each point, lines of text
    groups: Sequence[str] = ()  # the kernel of each point
    band: tuple[Sequence[float], Sequence[float]] | None = None  # bounds of an interval, along the axis of `across`
    across: bool = False  # whether the interval lies along the x axis
    sizes: Sequence[float] = ()  # diameter of each marker on a page [pixel]
    bars: bool = False  # whether each point is a horizontal bar that begins at `starts`, or at 0
    starts: Sequence[float] = ()


@dataclass(frozen=True)
class Picture:
    """A picture with two axes."""

    x: Axis
    y: Axis
    series: tuple[Series, ...]
    alternative: str = ""  # the picture in words
    legend: str = ""  # title of the legend
    square: bool = False  # whether both axes have one scale


@dataclass(frozen=True)
class Grid:
    """A map of relative errors, with a row for each family and a column for each kernel. Best errors are bold."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    alternative: str = ""
    highlighted: str = ""  # a row

    def best(self, column: int) -> float:
        """Return the smallest error of a column, or NaN without an error."""
        return min((row[column] for row in self.values if math.isfinite(row[column])), default=math.nan)


def empty_figure(width: float, height: float) -> Figure:
    """Return a figure of a width and height in inches, which needs no window and no ``pyplot``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def show_literally(drawn: Artist) -> None:
    """Show all texts as they are, without formulas between dollar signs, except the numbers of logarithmic axes."""
    from matplotlib.axis import Axis
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    powers = [axis for axis in drawn.findobj(Axis) if isinstance(axis.get_major_formatter(), LogFormatter)]
    numbers = {id(text) for axis in powers for text in axis.get_ticklabels(which="both")}
    for text in drawn.findobj(Text):
        if id(text) not in numbers:
            text.set_parse_math(False)


def check_format(path: str | Path | None, formats: Sequence[str] = (".png", ".svg")) -> None:
    """Raise OptionError unless a picture's name ends in one of the formats."""
    if path is not None and Path(path).suffix not in formats:
        raise OptionError(f"'{path}' is not a picture file", f"let its name end in {' or '.join(formats)}")


def write_figure(drawn: Figure | Axes, path: str | Path, dpi: int = 130) -> None:
    """Write a figure, or that of axes, as SVG if the name ends in ``.svg``, else as PNG. Dollar signs are text."""
    figure: Any = drawn.figure
    show_literally(figure)
    stream = BytesIO()
    figure.savefig(stream, format="svg" if Path(path).suffix == ".svg" else "png", dpi=dpi)
    write_whole(path, stream.getvalue())


def axes_or_new(axes: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or the axes of a new figure of pyplot [inch], which a notebook shows."""
    if axes is not None:
        return axes
    from matplotlib import pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()


def legend_beside(axes: Axes, title: str = "") -> None:
    """Draw the legend to the right of the axes, and make room for it. If axes were placed by hand, draw it inside."""
    look = {"fontsize": "small", "title": title or None, "title_fontsize": "small", "alignment": "left"}
    if axes.get_subplotspec() is None:
        axes.legend(loc="best", framealpha=0.9, **look)
        return
    figure = axes.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False, **look)


def finished(axes: Axes, legend: str = "", grid: Literal["both", "x", "y"] = "both") -> Axes:
    """Add a grid and a legend to axes, and show all texts as they are."""
    quiet_grid(axes, grid)
    legend_beside(axes, legend)
    show_literally(axes)
    return axes


def quiet_grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw pale lines at the major ticks."""
    axes.grid(True, which="major", axis=axis, color="0.9")
    axes.set_axisbelow(True)


NAMED = {
    "blue": "#0072B2", "vermilion": "#D55E00", "green": "#009E73", "purple": "#CC79A7", "orange": "#E69F00",
    "sky": "#56B4E9", "yellow": "#F0E442", "black": "#000000", "muted": "0.4",
}  # fmt: skip
"""Colours by name; the report's style sheet has the same names."""
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK, _ = NAMED.values()
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)  # without yellow, which is hard to see on white
FILLS = (BLUE, ORANGE, GREEN, SKY, VERMILION, YELLOW, PURPLE)  # of areas: neighbours differ in lightness
REST = "#BBBBBB"  # of small parts that are summed
MARKERS = "osD^vPX<"  # one more than the colours, so that 56 kernels differ in colour or marker
LINES = ("-", "--", "-.", ":")
ERRORS_MAP = "viridis_r"  # matplotlib's colour map for errors: yellow is small, dark violet is large
RANGE = (0.05, 5.0)  #: Errors between which colours change, evenly on a logarithmic axis [1]


def style(index: int) -> tuple[str, str]:
    """Return the colour's name and the marker of the kernel with this number."""
    names = ("blue", "vermilion", "green", "purple", "orange", "sky", "black")
    return names[index % len(names)], MARKERS[index % len(MARKERS)]


def ink(red: float, green: float, blue: float) -> str:
    """Return the colour of text on a background with parts from 0 to 1: black or white, by WCAG 2 contrast."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"


def draw(axes: Axes, picture: Picture) -> Axes:
    """Draw a picture with two axes, its grid and its legend."""
    _scale(axes, "x", picture.x)
    _scale(axes, "y", picture.y)
    if picture.square:
        axes.set_aspect("equal")
    for one in picture.series:
        _draw_series(axes, one)
    return finished(axes, picture.legend)


def _scale(axes: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    own = getattr(axes, f"{which}axis")
    if axis.log:
        axes.set(**{f"{which}scale": "log"})
        own.set_minor_formatter(NullFormatter())
    if axis.limits is not None:
        axes.set(**{f"{which}lim": axis.limits})
    if axis.names:
        axes.set(**{f"{which}ticks": range(len(axis.names)), f"{which}ticklabels": axis.names})
    else:
        own.set_major_formatter(FuncFormatter(lambda value, _: axis.tick(value)))
    axes.set(**{f"{which}label": axis.label})


def _draw_series(axes: Axes, one: Series) -> None:
    colour = NAMED[one.colour]
    if one.bars:
        starts = one.starts or [0.0] * len(one.x)
        lengths = [end - start for end, start in zip(one.x, starts, strict=True)]
        axes.barh(one.y, lengths, left=starts, label=one.label or "_hidden", color=colour, zorder=3)
        return
    look: dict[str, Any] = {"color": colour, "marker": one.marker, "linestyle": one.line or "none", "zorder": 3}
    if one.marker:
        edge = {"markeredgecolor": "white"} if one.filled else {"markerfacecolor": "none", "zorder": 2}
        look |= {"markersize": 7, **edge} if not one.line else {"markersize": 4}
    axes.plot(one.x, one.y, label=one.label or "_hidden", linewidth=1.2, **look)
    if one.band is not None and one.across:
        low, high = one.band
        axes.hlines(one.y, low, high, color=colour, linewidth=1, zorder=1)
    elif one.band is not None:
        axes.fill_between(one.x, *one.band, color=colour, alpha=0.15, linewidth=0, zorder=0)


def draw_grid(axes: Axes, grid: Grid, columns: bool = True) -> Axes:
    """Draw a map of errors, with the best of each column bold. If `columns`, write the names of the columns."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    shades, limits = colormaps[ERRORS_MAP], LogNorm(*RANGE, clip=True)
    axes.imshow(grid.values, norm=limits, cmap=shades, aspect="auto")
    for y, row in enumerate(grid.values):
        for x, error in enumerate(row):
            known = error == error  # not NaN
            colour = ink(*shades(limits(error))[:3]) if known else "black"
            text, weight = f"{100 * error:.0f} %" if known else "-", "bold" if error == grid.best(x) else "normal"
            axes.text(x, y, text, ha="center", va="center", fontsize="x-small", color=colour, fontweight=weight)
    axes.axvline(len(grid.columns) - 1.5, color="white", linewidth=3)
    axes.set_yticks(range(len(grid.rows)), grid.rows, fontsize="x-small")
    shown = len(grid.columns) if columns else 0
    axes.set_xticks(range(shown), grid.columns[:shown], rotation=35, ha="right", fontsize="x-small")
    axes.tick_params(length=0)
    show_literally(axes)
    return axes
