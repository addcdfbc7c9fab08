"""Error over the share of measurements, as a picture and as tables of a page."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.display import percent
from perfmodel.report.drawing import empty_figure, write_figure
from scripts.lab.markdown import below_marker, markdown_table
from scripts.lab.shares import Shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BEGIN = "<!-- what follows is drawn by scripts/redraw choice -->"
QUARTER = 0.25


def picture_shares(devices: Sequence[Shares], path: str | Path) -> None:
    """Draw for each device the error of chosen and of random shares of its measurements."""
    write_figure(shares_figure(devices), path)


def shares_figure(devices: Sequence[Shares]) -> Figure:
    """Return the errors over the share of measurements, a panel for each device."""
    figure = empty_figure(4.8 * len(devices), 4.2)
    for axes, device in zip(figure.subplots(1, len(devices), squeeze=False)[0], devices, strict=True):
        _draw(axes, device)
    return figure


def _draw(axes: Axes, device: Shares) -> None:
    part = [point for point in device.points if point.share < 1]
    at, measured = [100 * p.share for p in part], [100 * p.rows / device.rows for p in device.points]
    low, middle, high = ([p.quantile(level) for p in part] for level in (0.25, 0.5, 0.75))
    axes.axhline(device.full, color="0.4", linewidth=1, label=f"all {device.rows}: {percent(device.full)}")
    axes.axhline(1.2 * device.full, color="0.4", linewidth=1, linestyle=":", label="1.2 times that")
    axes.fill_between(at, low, high, color="#56B4E9", alpha=0.35, linewidth=0, label="random, middle half")
    axes.plot([*at, 100], [*middle, device.full], "s-", color="#0072B2", markersize=4, label="random, median")
    axes.plot(measured, [p.chosen for p in device.points], "o-", color="#D55E00", markersize=5, label="chosen")
    axes.axvline(100 * QUARTER, color="0.85", linewidth=1, zorder=0)
    seen = [p.chosen for p in part if isfinite(p.chosen)]
    top = 1.5 * max([*seen, device.full])
    axes.set(title=device.device, xlabel="share of the configurations measured [%]", xlim=(0, 102))
    axes.set(ylabel="error by protocol A [1]", ylim=(0, top))
    axes.grid(True, color="0.93")
    axes.set_axisbelow(True)
    axes.legend(fontsize="small", loc="lower right")


def shares_page(page: str, devices: Sequence[Shares]) -> str:
    """Return the page with the tables of the devices after its marker."""
    return below_marker(page, BEGIN, map(shares_text, devices)) + "\n"


def shares_text(device: Shares) -> str:
    """Return the section of the page for one device."""
    header = ("share", "rows", "time", "chosen", "random: quarter", "median", "three quarters", "withheld",
              "chosen, times predicted")  # fmt: skip
    lines = [header, tuple("---:" for _ in header)]
    for p in device.points:
        quartiles = ["inf" if q == float("inf") else percent(q) for q in map(p.quantile, (0.25, 0.5, 0.75))]
        lines.append(
            (f"{p.share:.0%}", str(p.rows), f"{p.time:.0%}", percent(p.chosen), *quartiles, percent(p.withheld),
             percent(p.blind))
        )  # fmt: skip
    deviations = ", ".join(f"{name} {value:.2f}" for name, value in device.deviations.items())
    return (
        f"### {device.device}\n\n{device.rows} measurements, {device.tests} test cases. {_verdict(device)}\n\n"
        f"{markdown_table(lines)}\n\nRelative residuals of the fit to all measurements: {deviations}."
    )


def _verdict(device: Shares) -> str:
    (point,) = (p for p in device.points if p.share == QUARTER)
    below, median = sum(point.chosen < error for error in point.random), point.quantile(0.5)
    over = point.chosen / device.full
    return (
        f"A chosen quarter: error {percent(point.chosen)}, {over:.2f} times that of all "
        f"({'goal met' if over <= 1.2 else 'GOAL MISSED'}: at most 1.2), "
        f"{'below' if point.chosen < median else 'NOT BELOW'} the median of random quarters ({percent(median)}; "
        f"better than {below} of {len(point.random)})."
    )
