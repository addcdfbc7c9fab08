"""Errors of model families as a map of colours: families down, test kernels across."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfmodel.compare import Contender
from perfmodel.compare.comparison import kernels
from perfmodel.compare.contenders import COMPARED
from perfmodel.errors import PictureError
from perfmodel.report.drawing import ERRORS_MAP, axes_or_new, empty_figure, ink, members, show_literally, write_figure

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


def plot_families(
    contenders: Sequence[Contender], ax: Axes | None = None, *, protocol: str = "B", title: str = ""
) -> Axes:
    """Draw the errors of model families as a map: families down, test kernels across, the best of each column bold.

    Yellow is a small error, dark violet a large one (:data:`RANGE`, evenly on a logarithmic axis).

    Parameters
    ----------
    contenders
        Families on one device and on the same cases (:func:`perfmodel.compare.contenders.contenders`,
        :func:`perfmodel.compare.on_common_cases`). Those that could not be fitted are left out.
    ax
        Axes to draw on; a new figure by default.
    protocol
        ``"A"`` or ``"B"`` (:data:`perfmodel.compare.PROTOCOLS`).
    title
        Title of the axes; by default the device and the protocol.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    PictureError
        If no family was fitted, there are several devices, or there is no such protocol.
    """
    contenders = members(contenders, Contender, "plot_families: contenders", "what compare.contenders returned")
    judged = [one for one in contenders if one.evaluations]
    devices = sorted({one.device for one in judged})
    if len(devices) != 1:
        found = f"families of {len(devices)} devices ({', '.join(devices)})" if devices else "no family that was fitted"
        raise PictureError(f"there are {found} to draw", "give the fitted families of one device")
    if protocol not in COMPARED:
        raise PictureError(f"no family was judged by protocol '{protocol}'", f"choose one of {', '.join(COMPARED)}")
    columns = 1 + len(kernels(judged[0].by(protocol).rows))
    axes = axes_or_new(ax, 3.0 + 0.62 * columns, 1.6 + 0.3 * len(judged))
    _draw(axes, judged, protocol, last=True)
    axes.set_title(title or f"error, {devices[0]}, protocol {protocol}", fontsize="small")
    show_literally(axes)
    return axes


def _draw(axes: Axes, contenders: Sequence[Contender], protocol: str, last: bool) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    shades, limits = colormaps[ERRORS_MAP], LogNorm(*RANGE, clip=True)
    names = [*kernels(contenders[0].by(COMPARED[0]).rows), None]
    errors = [[one.figures(protocol, name).error for name in names] for one in contenders]
    axes.imshow(errors, norm=limits, cmap=shades, aspect="auto")
    for y, row in enumerate(errors):
        for x, error in enumerate(row):
            best = error == min(other[x] for other in errors)
            colour = "black" if error != error else ink(*shades(limits(error))[:3])
            axes.text(x, y, _short(error), ha="center", va="center", fontsize="x-small", color=colour,
                      fontweight="bold" if best else "normal")  # fmt: skip
    axes.axvline(len(names) - 1.5, color="white", linewidth=3)
    axes.set_yticks(range(len(contenders)), [one.family for one in contenders], fontsize="x-small")
    words = [name or "all" for name in names] if last else []
    axes.set_xticks(range(len(names)) if last else [], words, rotation=35, ha="right", fontsize="x-small")
    axes.tick_params(length=0)


def _short(error: float) -> str:
    return "-" if error != error else f"{100 * error:.0f} %"
