"""Errors of model families as a map of colours: families down, test kernels across."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.compare import Contender
from perfmodel.compare.side_by_side import COMPARED
from perfmodel.report.drawing import empty_figure, write_figure
from perfmodel.report.tables import kernels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Colours run from an error of 5 % to one of 500 %, evenly on a logarithmic axis.
RANGE = (0.05, 5.0)


def picture_families(devices: Sequence[Sequence[Contender]], path: str | Path) -> None:
    """Draw each device's errors by protocol A (upper row) and by B (lower row).

    The contenders are those of :func:`~perfmodel.compare.on_common_cases`.
    """
    write_figure(families_figure(devices), path)


def families_figure(devices: Sequence[Sequence[Contender]]) -> Figure:
    """Return the maps: a column for each device, a row for each protocol."""
    judged = [[one for one in contenders if one.evaluations] for contenders in devices]
    height = 1.4 + 0.3 * max(map(len, judged))
    figure = empty_figure(1.8 + 5.6 * len(judged), len(COMPARED) * height)
    grid = figure.subplots(len(COMPARED), len(judged), squeeze=False, sharey="col")
    for row, protocol in zip(grid, COMPARED, strict=True):
        for axes, contenders in zip(row, judged, strict=True):
            _draw(axes, contenders, protocol, last=protocol == COMPARED[-1])
            axes.set_title(f"{contenders[0].device}, protocol {protocol}", fontsize="small")
    return figure


def _draw(axes: Axes, contenders: Sequence[Contender], protocol: str, last: bool) -> None:
    from matplotlib.colors import LogNorm

    names = [*kernels(contenders[0].by(COMPARED[0]).rows), None]
    errors = [[one.figures(protocol, name).error for name in names] for one in contenders]
    axes.imshow(errors, norm=LogNorm(*RANGE, clip=True), cmap="RdYlGn_r", aspect="auto")
    for y, row in enumerate(errors):
        for x, error in enumerate(row):
            best = error == min(other[x] for other in errors)
            axes.text(x, y, _short(error), ha="center", va="center", fontsize="x-small",
                      fontweight="bold" if best else "normal")  # fmt: skip
    axes.axvline(len(names) - 1.5, color="white", linewidth=3)
    axes.set_yticks(range(len(contenders)), [one.family for one in contenders], fontsize="x-small")
    words = [name or "all" for name in names] if last else []
    axes.set_xticks(range(len(names)) if last else [], words, rotation=35, ha="right", fontsize="x-small")
    axes.tick_params(length=0)


def _short(error: float) -> str:
    return "-" if error != error else f"{100 * error:.0f} %"
