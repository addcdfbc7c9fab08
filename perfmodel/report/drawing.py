"""What all pictures share: figures and axes, colours and markers, places of labels, and files.

Colours are told apart with any colour vision, and in grey (M. Okabe and K. Ito, *Color Universal Design*, 2008). No
label covers another label or a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from perfmodel.documents import require
from perfmodel.errors import PictureFormatError
from perfmodel.io import write_whole

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
    from matplotlib.ticker import Locator
else:  # what is drawn with; matplotlib itself is loaded when something is drawn
    Axes = Figure = Any


def empty_figure(width: float, height: float, layout: Literal["constrained"] | None = "constrained") -> Figure:
    """Return a figure of a width and height in inches, which needs no window and no ``pyplot``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def few_ticks() -> Locator:
    """Return places of the ticks between powers of ten, few enough for their labels."""
    from matplotlib.ticker import LogLocator

    return LogLocator(subs=(2, 5))


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


FORMATS = (".png", ".svg")


def checked_format(path: str | Path, formats: Sequence[str] = FORMATS) -> str:
    """Return what the name of a picture ends in; raise PictureFormatError if it is none of the formats."""
    suffix = Path(path).suffix
    if suffix not in formats:
        raise PictureFormatError(str(path), tuple(formats))
    return suffix


def write_figure(figure: Figure, path: str | Path, dpi: int = 130, formulas: bool = False) -> None:
    """Write a figure as a file of the format that the name ends in; PNG where it ends in another.

    `formulas` are those of :func:`figure_bytes`. It raises OutputError if the file cannot be written.
    """
    write_whole(path, figure_bytes(figure, "svg" if Path(path).suffix == ".svg" else "png", dpi, formulas))


def members(given: Any, kind: type | tuple[type, ...], argument: str, allowed: str) -> Sequence[Any]:
    """Return what a public function was given to draw; raise ArgumentError if something in it is of another type."""
    values = tuple(given) if isinstance(given, Iterable) else (given,)
    require(all(isinstance(value, kind) for value in values), argument, given, allowed)
    return values


def axes_or_new(axes: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure of pyplot [inch], which a notebook shows.

    It raises ArgumentError if something else was given.
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


def finished(axes: Axes, legend: str = "", grid: Literal["both", "x", "y"] = "both") -> Axes:
    """Return axes with a grid, a legend beside them, and all texts shown as they are: no name is a formula."""
    quiet_grid(axes, grid)
    legend_beside(axes, legend)
    show_literally(axes)
    return axes


def quiet_grid(axes: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw pale lines at the major ticks, below everything else."""
    axes.grid(True, which="major", axis=axis, color="0.9")
    axes.set_axisbelow(True)


BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, YELLOW, BLACK = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000",
)  # fmt: skip
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
"""Of lines and markers: without the yellow, which is hard to see on white."""
FILLS = (BLUE, ORANGE, GREEN, SKY, VERMILION, YELLOW, PURPLE)
"""Of areas beside each other: without the black, and neighbours differ in lightness."""
REST = "#BBBBBB"
"""Of what is put together as the rest."""
MARKERS = "osD^vPX<"
"""One more than there are colours, so that 56 kernels differ in one of both."""
LINES = ("-", "--", "-.", ":")
ERRORS_MAP = "viridis_r"
"""Matplotlib's map of colours for errors: yellow is small, dark violet is large; its lightness falls evenly."""


def style(place: int) -> tuple[str, str]:
    """Return the marker and the colour of the kernel at a place.

    Examples
    --------
    >>> style(0), style(7)[1] == style(0)[1], len({style(place) for place in range(56)})
    (('o', '#0072B2'), True, 56)
    """
    return MARKERS[place % len(MARKERS)], COLOURS[place % len(COLOURS)]


def ink(red: float, green: float, blue: float) -> str:
    """Return the colour of text on a colour, whose parts are from 0 to 1: black or white, whichever differs more.

    By the contrast of WCAG 2, whose relative luminance weighs the three linear parts.

    Examples
    --------
    >>> ink(1, 1, 0.9), ink(0.4, 0.15, 0.02)
    ('black', 'white')
    """
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return "black" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "white"


Place: TypeAlias = tuple[float, float]
Box: TypeAlias = tuple[float, float, float, float]

ANGLES = (0, 180, 90, 270, 45, 135, 315, 225, 22, 158, 338, 202, 68, 112, 292, 248)
"""Directions from the anchor that are tried, in this order [degree]."""
RINGS = 12


def label_places(
    anchors: Sequence[Place], size: Place, obstacles: Sequence[Box], bounds: Box, gap: float
) -> tuple[Place, ...]:
    """Return the middle of each label: the free place that is nearest to its anchor.

    Rings of places around the anchor are tried from near to far, beginning at `gap` between the anchor and the
    label's edge. Where no place is free, the last place within the bounds is taken. All lengths are in one unit;
    boxes are (left, bottom, right, top), and labels keep off the boxes in `obstacles`.

    Examples
    --------
    >>> label_places([(0, 0), (0, 0)], (2, 1), [], (-9, -9, 9, 9), 1)
    ((2.0, 0.0), (-2.0, 0.0))
    """
    taken, middles = list(obstacles), []
    for anchor in anchors:
        place = anchor
        for candidate in _around(anchor, size, gap):
            box = box_around(candidate, size)
            if box[0] < bounds[0] or box[1] < bounds[1] or box[2] > bounds[2] or box[3] > bounds[3]:
                continue
            place = candidate
            if not any(overlap(box, other) for other in taken):
                break
        taken.append(box_around(place, size))
        middles.append(place)
    return tuple(middles)


def box_around(middle: Place, size: Place) -> Box:
    """Return the box (left, bottom, right, top) of that size around a place."""
    (x, y), (width, height) = middle, size
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def overlap(box: Box, other: Box) -> bool:
    """Return whether two boxes share an area."""
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _around(anchor: Place, size: Place, gap: float) -> Iterator[Place]:
    for ring in range(RINGS):
        away = gap * (1 + ring)
        for angle in ANGLES:
            across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            x, y = round(across, 9) * (away + size[0] / 2), round(up, 9) * (away + size[1] / 2)
            yield anchor[0] + x, anchor[1] + y
