"""The roofline of a device with kernels below it: on axes, as a picture with a key, as a table and as a document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perfmodel.analyses.roofline import (
    BANDWIDTHS,
    LOCAL,
    PEAKS,
    WITHOUT_FMA,
    WITHOUT_VECTORS,
    KernelPoint,
    ceilings,
    largest,
    roof_values,
    roofline_points,
)
from perfmodel.display import finite, fitted_text, percent, rate_text
from perfmodel.documents import require
from perfmodel.errors import OptionError
from perfmodel.facts import KEYS, DeviceFacts
from perfmodel.report import drawing
from perfmodel.report.drawing import Axes, Box, Figure, Place, box_around
from perfmodel.store import Measurements

ROOFS = {
    PEAKS[0]: ("peak, float32", "-", "op/s"), PEAKS[1]: ("peak, float64", "-.", "op/s"),
    BANDWIDTHS[0]: ("global memory", "-", "B/s"), BANDWIDTHS[1]: ("within the caches", "--", "B/s"),
    LOCAL: ("local memory (no line over this axis)", "", "B/s"),
    WITHOUT_FMA: ("float32 without multiply-adds", ":", "op/s"),
    WITHOUT_VECTORS: ("float32 without vectors", ":", "op/s"),
}  # fmt: skip
"""Of each roof its name, the style of its line and its unit."""
ROOF_INK = "0.25"


def plot_roofline(
    measured: Measurements | Sequence[KernelPoint],
    ax: Axes | None = None,
    *,
    facts: DeviceFacts | None = None,
    title: str = "",
) -> Axes:
    """Draw measured kernels below the roofs of their device.

    A filled marker is a measured rate, an open one above it the attainable rate at that intensity (Eq. 4.31 of Kim et
    al. 2012). The legend names what has no place on logarithmic axes.

    Parameters
    ----------
    measured
        Measurements, of which each variant is drawn at its largest size, or the points to draw
        (:func:`perfmodel.analyses.roofline.roofline_points`).
    ax
        Axes to draw on; a new figure by default.
    facts
        Facts of the device that hold its roofs; by default those of the measurements. Roofs can be read off
        measurement kernels (:func:`perfmodel.fitting.device_folder.measured_folder`).
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If neither a roof of the device is known nor any kernel can be drawn.
    FactsError
        If the size of a transfer is not known.
    """
    known = facts is None or isinstance(facts, DeviceFacts)
    require(known, "plot_roofline: facts", facts, "a DeviceFacts, or None for those of the measurements")
    if isinstance(measured, Measurements):
        facts = facts or measured.facts
        measured = largest(roofline_points(measured.with_facts(facts)))
    allowed = "measurements, or points of roofline_points"
    measured = drawing.members(measured, KernelPoint, "plot_roofline: measured", allowed)
    roofs = {} if facts is None else {**roof_values(facts), **ceilings(facts)}
    if not roofs and not any(point.drawable for point in measured):
        raise OptionError(
            "there is neither a known roof nor a kernel with operations and traffic", "give facts= or measured kernels"
        )
    axes, styles = drawing.axes_or_new(ax, 9.0, 5.2), styles_of(measured)
    draw_roofline(axes, measured, roofs, styles)
    axes.set_title(title)
    for key in (key for key in ROOFS if key in roofs):
        name, line, unit = ROOFS[key]
        axes.plot((), (), color=ROOF_INK, linestyle=line or "none", label=f"{name}: {rate_text(roofs[key], unit)}")
    if not roofs:
        axes.plot((), (), linestyle="none", label="no roof is known")
    for kernel, (marker, colour) in styles.items():
        hidden = "" if any(p.drawable for p in measured if p.kernel == kernel) else " (no operations: not drawn)"
        axes.plot((), (), marker, color=colour, label=kernel + hidden)
    axes.plot((), (), "o", color="0.5", markerfacecolor="white", label="open: attainable at that intensity")
    return drawing.finished(axes)


def styles_of(points: Sequence[KernelPoint]) -> dict[str, tuple[str, str]]:
    """Return the marker and the colour of each kernel, in the order in which they first occur."""
    return {name: drawing.style(place) for place, name in enumerate(dict.fromkeys(point.kernel for point in points))}


def draw_roofline(
    axes: Axes, points: Sequence[KernelPoint], roofs: Mapping[str, float], styles: Mapping[str, tuple[str, str]]
) -> list[Box]:
    """Draw roofs and points; return boxes on which no label must lie [pixel]."""
    drawn = [point for point in points if point.drawable]
    limits = _limits(drawn, roofs)
    axes.set(
        xscale="log", yscale="log", xlim=limits[0], ylim=limits[1],
        xlabel="operational intensity [floating-point operations / byte of global memory]",
        ylabel="performance [floating-point operations / s]",
    )  # fmt: skip
    for axis in (axes.xaxis, axes.yaxis):  # 3 and 4 times a power of ten lie on each other
        axis.set_minor_locator(drawing.few_ticks())
    drawing.quiet_grid(axes)
    obstacles = _draw_roofs(axes, roofs)
    return obstacles + [box for point in drawn for box in _draw_point(axes, point, *styles[point.kernel])]


def _limits(points: Sequence[KernelPoint], roofs: Mapping[str, float]) -> tuple[Place, Place]:
    """Return the limits of the axes, which hold every point and the ridge of each roof."""
    rates = [value for point in points for value in (point.rate, point.attainable) if math.isfinite(value)]
    rates += [roofs[key] for key in PEAKS if key in roofs]
    across = [point.intensity for point in points]
    across += [roofs[peak] / roofs[band] for peak in PEAKS for band in BANDWIDTHS if peak in roofs and band in roofs]
    low, high = min(across, default=0.1), max(across, default=10.0)
    return (low / 3, high * 2), (min(rates, default=1e9) / 1.6, max(rates, default=1e10) * 1.6)


def _draw_roofs(axes: Axes, roofs: Mapping[str, float]) -> list[Box]:
    """Draw the roofs; return boxes along them, which labels must not cover [pixel]."""
    (left, right), (bottom, high) = axes.get_xlim(), axes.get_ylim()
    top = max((roofs[key] for key in PEAKS if key in roofs), default=high)
    widest = max((roofs[key] for key in BANDWIDTHS if key in roofs), default=math.inf)
    taken: list[Box] = []
    for key in ROOFS:
        if key not in roofs or key == LOCAL:
            continue
        if key in BANDWIDTHS:
            across = max(left, bottom / roofs[key]), min(right, top / roofs[key])
            up = across[0] * roofs[key], across[1] * roofs[key]
        else:
            across, up = (max(left, roofs[key] / widest), right), (roofs[key], roofs[key])
        axes.plot(across, up, color=ROOF_INK, linewidth=1.4, linestyle=ROOFS[key][1], zorder=1)
        taken += _along(axes, across, up)
    return taken


def _along(axes: Axes, across: Place, up: Place) -> list[Box]:
    (x0, y0), (x1, y1) = axes.transData.transform(list(zip(across, up, strict=True)))
    steps = max(int(math.hypot(x1 - x0, y1 - y0) / 4), 1)
    return [box_around((x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps), (3, 3)) for k in range(steps + 1)]


def _draw_point(axes: Axes, point: KernelPoint, marker: str, colour: str) -> list[Box]:
    """Draw a kernel; return the boxes of its markers [pixel]."""
    x, shown = point.intensity, [point.rate]
    if math.isfinite(point.attainable):
        shown.append(point.attainable)
        axes.plot((x, x), shown, color=colour, linewidth=0.6, alpha=0.45, zorder=2)
        axes.plot(x, point.attainable, marker, color=colour, markerfacecolor="white", markersize=6.5, zorder=3)
    axes.plot(x, point.rate, marker, color=colour, markersize=6.5, markeredgecolor="white",
              markeredgewidth=0.5, zorder=4)  # fmt: skip
    side = 6 * axes.figure.dpi / 72
    return [box_around(tuple(axes.transData.transform((x, y))), (side, side)) for y in shown]


_FONT = 7.5


def picture_roofline(points: Sequence[KernelPoint], facts: DeviceFacts, path: str | Path, title: str) -> None:
    """Write the picture of :func:`roofline_figure`."""
    drawing.write_figure(roofline_figure(points, facts, title), path, dpi=150)


def roofline_figure(points: Sequence[KernelPoint], facts: DeviceFacts, title: str) -> Figure:
    """Return a picture of the roofs that the facts hold, and of the points below them, each with its number.

    Axes and markers are those of :func:`plot_roofline`; a key beside them tells what each number is. Kernels without a
    floating-point operation have no place on the axes, and are named in the key only.
    """
    roofs = {**roof_values(facts), **ceilings(facts)}
    known = [key for key in ROOFS if key in roofs]
    lines = len(points) + len({point.kernel for point in points}) + len(known) + 3
    figure = drawing.empty_figure(12.0, max(6.4, 0.5 + 0.165 * lines), layout=None)
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
    places = drawing.label_places(anchors, size, obstacles, (window.x0, window.y0, window.x1, window.y1), gap)
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
    said = "filled: reached; open: attainable; right: share reached of the lowest roof"
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


SCHEMA = "perfmodel.roofline/1"
LESS = ("attainable", "op/B", "Gop/s", "bound by", "sizes")


def roofline_table(points: Iterable[KernelPoint], facts: DeviceFacts, width: int | None = None) -> str:
    """Return the roofs with their sources, and each point in a row, as plain text.

    On a narrow terminal the columns of :data:`LESS` are left out, the first one first.
    """
    rows = [("kernel", "variant", "sizes", "op/B", "Gop/s", "attainable", "share", "bound by")]
    rows += [
        (point.kernel, point.form, point.sizes, f"{point.intensity:.3g}", f"{point.rate / 1e9:.3g}",
         f"{point.attainable / 1e9:.3g}", percent(point.share), point.bound)
        for point in points
    ]  # fmt: skip
    lines = [f"{_name(key)}: {rate_text(value, ROOFS[key][2])} ({_source(key, facts)})"
             for key, value in roof_values(facts).items()]  # fmt: skip
    lines = lines or ["no roofs are known"]
    return "\n".join([*lines, "", fitted_text(rows, 3, LESS, width)])


def _name(key: str) -> str:
    return ROOFS[key][0].partition(" (")[0]


def _source(key: str, facts: DeviceFacts) -> str:
    return facts.fact(key).source if key in facts else "4 bytes of each bank in each cycle"


def roofline_document(points: Iterable[KernelPoint], facts: DeviceFacts) -> dict[str, Any]:
    """Return the roofs and the points as one document for programs; NaN and infinity become null."""
    return {
        "schema": SCHEMA,
        "device": facts.name,
        "roofs": {
            key: {"value": value, "unit": KEYS[key].unit, "source": _source(key, facts)}
            for key, value in roof_values(facts).items()
        },
        "kernels": [
            {
                "kernel": point.kernel, "variant": point.form, "sizes": point.sizes, "seconds": point.seconds,
                "operations": point.operations, "bytes": point.bytes, "bound": point.bound,
                "operations_per_byte": finite(point.intensity), "attainable": finite(point.attainable),
                "share": finite(point.share),
            }
            for point in points
        ],
    }  # fmt: skip
