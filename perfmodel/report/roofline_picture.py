"""The roofline drawn: roofs, and each kernel with a number that the key beside it explains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.analyses.roofline import KernelPoint, roof_values
from perfmodel.display import rate_text
from perfmodel.facts import DeviceFacts
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.report.label_places import Box, label_places
from perfmodel.report.roofline_axes import ROOF_INK, ROOFS, draw_roofline, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FONT = 7.5


def picture_roofline(points: Sequence[KernelPoint], facts: DeviceFacts, path: str | Path, title: str) -> None:
    """Draw the roofs that the facts hold, and the points below them.

    Axes are logarithmic. A filled marker is a measured rate, an open one above it the attainable rate
    at that intensity. Kernels without a floating-point operation have no place on the axes and are
    named in the key only.

    The points are those of :func:`~perfmodel.analyses.roofline.roofline_points`, in the order of their numbers.
    """
    write_figure(roofline_figure(points, facts, title), path, dpi=150)


def roofline_figure(points: Sequence[KernelPoint], facts: DeviceFacts, title: str) -> Figure:
    """Return the picture as a matplotlib figure."""
    roofs = roof_values(facts)
    known = [key for key in ROOFS if key in roofs]
    lines = len(points) + len({point.kernel for point in points}) + len(known) + 3
    figure = empty_figure(12.0, max(6.4, 0.5 + 0.165 * lines), layout=None)
    axes = figure.add_axes((0.065, 0.08, 0.545, 0.86))
    styles = styles_of(points)
    obstacles = draw_roofline(axes, points, roofs, styles)
    axes.set_title(title, fontsize="medium", loc="left")
    _number(axes, points, obstacles, styles)
    key = figure.add_axes((0.625, 0.02, 0.365, 0.96))
    key.set(xlim=(0, 1), ylim=(-lines + 0.5, 0.5))
    key.axis("off")
    _draw_key_of_points(key, points, styles, _draw_key_of_roofs(key, roofs, known))
    return figure


def _number(
    axes: Axes, points: Sequence[KernelPoint], obstacles: Sequence[Box], styles: Mapping[str, tuple[str, str]]
) -> None:
    """Write the number of each point beside it, with a line to the point where it is far away."""
    scale = axes.figure.dpi / 72
    numbered = [(number, point) for number, point in enumerate(points, 1) if point.drawable]
    anchors = [tuple(axes.transData.transform((point.intensity, point.rate))) for _, point in numbered]
    size, gap = (1.25 * _FONT * scale, 1.1 * _FONT * scale), 5 * scale
    window = axes.get_window_extent()
    places = label_places(anchors, size, obstacles, (window.x0, window.y0, window.x1, window.y1), gap)
    for (number, point), anchor, place in zip(numbered, anchors, places, strict=True):
        colour = styles[point.kernel][1]
        far = math.dist(anchor, place) > 2.2 * gap + size[0] / 2
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 3} if far else None
        axes.annotate(
            str(number), (point.intensity, point.rate), xytext=tuple(axes.transData.inverted().transform(place)),
            textcoords="data", fontsize=_FONT, color=colour, ha="center", va="center", zorder=5,
            arrowprops=line,
        )  # fmt: skip


def _draw_key_of_roofs(axes: Axes, roofs: Mapping[str, float], known: Sequence[str]) -> int:
    """Write the roofs; return the next free line."""
    axes.text(0.0, 0, "roofs", fontsize=_FONT, fontweight="bold", color=ROOF_INK, va="center")
    for line, key in enumerate(known, 1):
        name, style, unit = ROOFS[key]
        axes.plot((0.01, 0.075), (-line, -line), color=ROOF_INK, linewidth=1.4, linestyle=style or "none")
        axes.text(0.09, -line, name, fontsize=_FONT, va="center")
        axes.text(1.0, -line, rate_text(roofs[key], unit), fontsize=_FONT, va="center", ha="right")
    said = "filled: measured; open: attainable; right: share reached of the lowest roof"
    axes.text(0.0, -len(known) - 1.3, said, fontsize=_FONT - 0.5, color=ROOF_INK, va="center")
    return len(known) + 2


def _draw_key_of_points(
    axes: Axes, points: Sequence[KernelPoint], styles: Mapping[str, tuple[str, str]], line: int
) -> None:
    """Write the kernel of each number, with its share of the attainable rate."""
    last = ""
    for number, point in enumerate(points, 1):
        marker, colour = styles[point.kernel]
        if point.kernel != last:
            line, last = line + 1, point.kernel
            hidden = "" if point.drawable else "  (no operations: not drawn)"
            axes.plot(0.03, -line, marker, color=colour, markersize=6)
            axes.text(0.07, -line, point.kernel + hidden, fontsize=_FONT, fontweight="bold", color=colour, va="center")
        line += 1
        axes.text(0.045, -line, str(number), fontsize=_FONT, color=colour, va="center", ha="right")
        axes.text(0.07, -line, f"{point.form.removeprefix('form=')}  {point.sizes}", fontsize=_FONT - 0.5, va="center")
        reached = f"{100 * point.share:.2g} % of {point.bound}"
        axes.text(1.0, -line, reached, fontsize=_FONT - 0.5, va="center", ha="right")
