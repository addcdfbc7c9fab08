"""Pictures of predicted against measured times, of the errors of families, and of what times are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.compare import Comparison, Contender, Evaluation, summarise
from perfmodel.compare.comparison import kernels
from perfmodel.compare.contenders import COMPARED
from perfmodel.display import in_words, seconds_text
from perfmodel.documents import is_number, require
from perfmodel.errors import OptionError
from perfmodel.predicting.model import Prediction
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.report import drawing
from perfmodel.report.drawing import (
    FILLS,
    Axes,
    Figure,
    axes_or_new,
    empty_figure,
    finished,
    ink,
    members,
    write_figure,
)


def picture_predicted_measured(rows: Sequence[Comparison], path: str | Path, title: str) -> None:
    """Write a picture of predicted against measured times (:func:`plot_predicted_vs_measured`)."""
    figure = empty_figure(8.0, 5.4)
    plot_predicted_vs_measured(rows, figure.add_subplot(), title=title)
    write_figure(figure, path, dpi=150)


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
    ax, title
        Axes to draw on, a new figure by default, and their title.

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
    return finished(axes, "kernel (geometric-mean error)")


def _draw_band(axes: Axes, rows: Sequence[Comparison]) -> None:
    times = [row.measured for row in rows] or [1.0]
    times += [row.predicted for row in rows if row.predicted is not None and row.predicted > 0]
    ends = [min(times) / 2, max(times) * 2]
    low, high = [end / 2 for end in ends], [end * 2 for end in ends]
    axes.fill_between(ends, low, high, color="0.93", zorder=0, label="within a factor of 2")
    axes.plot(ends, ends, color="0.4", linewidth=1, zorder=1, label="predicted = measured")
    axes.set(xlim=ends, ylim=ends)


def _draw_kernel(axes: Axes, place: int, kernel: str, rows: Sequence[Comparison]) -> None:
    drawn = [(row.measured, row.predicted) for row in rows if row.predicted is not None and row.predicted > 0]
    label = f"{kernel} ({100 * summarise(rows).error:.0f} %)" if drawn else kernel
    if len(drawn) < len(rows):
        label += f", {len(rows) - len(drawn)} not drawn"
    marker, colour = drawing.style(place)
    axes.plot(
        [measured for measured, _ in drawn], [predicted for _, predicted in drawn], linestyle="none", marker=marker,
        markersize=7, markeredgecolor="white", color=colour, label=label, zorder=2,
    )  # fmt: skip


RANGE = (0.05, 5.0)
"""Colours run from an error of 5 % to one of 500 %, evenly on a logarithmic axis."""


def picture_families(devices: Sequence[Sequence[Contender]], path: str | Path) -> None:
    """Draw each device's errors by protocol A (upper row) and by B (lower row); see :func:`families_figure`.

    The contenders are those of :func:`~perfmodel.compare.on_common_cases`.
    """
    write_figure(families_figure(devices), path)


def families_figure(devices: Sequence[Sequence[Contender]]) -> Figure:
    """Return maps of errors on the cases that all predict: a column for each device, a row for each protocol."""
    judged = [[family for family in contenders if family.evaluations] for contenders in devices]
    height = 1.4 + 0.3 * max(map(len, judged))
    figure = empty_figure(1.8 + 5.6 * len(judged), len(COMPARED) * height)
    grid = figure.subplots(len(COMPARED), len(judged), squeeze=False, sharey="col")
    for row, protocol in zip(grid, COMPARED, strict=True):
        for axes, contenders in zip(row, judged, strict=True):
            _draw_errors(axes, contenders, protocol, last=protocol == COMPARED[-1])
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
        One that they are judged by: ``"A"`` or ``"B"``; without test kernels ``"groups"``, ``"kernels"`` or
        ``"variants"`` (:data:`perfmodel.compare.PROTOCOLS`).
    title
        Title of the axes; by default the device and the protocol.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If no family was fitted, there are several devices, or there is no such protocol.
    """
    contenders = members(contenders, Contender, "plot_families: contenders", "what compare.contenders returned")
    judged = [family for family in contenders if family.evaluations]
    devices = sorted({family.device for family in judged})
    if len(devices) != 1:
        what = f"families of {len(devices)} devices ({', '.join(devices)})" if devices else "no family that was fitted"
        raise OptionError(f"there are {what} to draw", "give the fitted families of one device")
    known = judged[0].protocols
    if protocol not in known:
        raise OptionError(f"no family was judged by protocol '{protocol}'", f"choose one of {', '.join(known)}")
    columns = 1 + len(kernels(judged[0].by(protocol).rows))
    axes = axes_or_new(ax, 3.0 + 0.62 * columns, 1.6 + 0.3 * len(judged))
    _draw_errors(axes, judged, protocol, last=True)
    axes.set_title(title or f"error, {devices[0]}, protocol {protocol}", fontsize="small")
    drawing.show_literally(axes)
    return axes


def _draw_errors(axes: Axes, contenders: Sequence[Contender], protocol: str, last: bool) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm

    shades, limits = colormaps[drawing.ERRORS_MAP], LogNorm(*RANGE, clip=True)
    names = [*kernels(contenders[0].evaluations[0].rows), None]
    errors = [[family.figures(protocol, name).error for name in names] for family in contenders]
    axes.imshow(errors, norm=limits, cmap=shades, aspect="auto")
    for y, row in enumerate(errors):
        for x, error in enumerate(row):
            best = error == min(other[x] for other in errors)
            colour = "black" if error != error else ink(*shades(limits(error))[:3])
            text, weight = "-" if error != error else f"{100 * error:.0f} %", "bold" if best else "normal"
            axes.text(x, y, text, ha="center", va="center", fontsize="x-small", color=colour, fontweight=weight)
    axes.axvline(len(names) - 1.5, color="white", linewidth=3)
    axes.set_yticks(range(len(contenders)), [family.family for family in contenders], fontsize="x-small")
    words = [name or "all" for name in names] if last else []
    axes.set_xticks(range(len(names)) if last else [], words, rotation=35, ha="right", fontsize="x-small")
    axes.tick_params(length=0)


LEGIBLE = 6.0
"""Least share that has its number written into it [%]."""
DRAWN = "a prediction, a mapping of names to predictions, or ranked variants"


class TermsBar(NamedTuple):
    """A predicted time with its terms [s]."""

    label: str
    seconds: float
    terms: Mapping[str, float]
    adds_up: bool


def plot_terms(
    predictions: Prediction | Mapping[str, Prediction] | Sequence[Prediction | RankedVariant],
    ax: Axes | None = None,
    *,
    most: int = len(FILLS),
    title: str = "",
) -> Axes:
    """Draw the share of each term in predicted times, one bar for each time.

    Terms that add up to the time are stacked, negative ones to the left of zero. Terms that overlap are bars beside
    each other, because they are no parts of a whole. The time stands behind each bar.

    Parameters
    ----------
    predictions
        A prediction, several by name, or ranked variants (:func:`perfmodel.rank`). One at an array of sizes has a bar
        for each size.
    ax
        Axes to draw on; a new figure by default.
    most
        Number of terms that are drawn, the largest ones; the others are put together, or left out where they overlap.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If there is no prediction, or one of them is not above zero.
    """
    require(is_number(most) and most >= 0 and most % 1 == 0, "plot_terms: most", most, "a number of terms")
    bars = bars_of(predictions)
    stacked = all(bar.adds_up for bar in bars)
    largest = _largest(bars)
    shown, rest = largest[: int(most)], largest[int(most) :]
    height = 1.3 + (0.42 * len(bars) if stacked else len(bars) * (0.2 + 0.13 * len(shown)))
    axes = axes_or_new(ax, 8.0, max(height, 2.4))
    (_draw_stacked if stacked else _draw_beside)(axes, bars, shown, rest)
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set(ylim=(len(bars) - 0.4, -0.6), xlabel="share of the predicted time [%]", title=title)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return finished(axes, "term" if stacked else "term (terms overlap)", "x")


def bars_of(given: Any) -> list[TermsBar]:
    """Return a bar for each predicted time; raise OptionError if there is none, or one is not above zero."""
    bars = [bar for name, predicted in _named(given) for bar in _bars(name, predicted)]
    if not bars:
        raise OptionError("there is no prediction to draw", "give one, or a mapping of names to predictions")
    wrong = next((bar for bar in bars if not 0 < bar.seconds < float("inf")), None)
    if wrong is not None:
        problem = f"the time of {wrong.label} is {seconds_text(wrong.seconds)}, of which there are no shares"
        raise OptionError(problem, "leave this prediction out")
    return bars


def _named(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, Prediction):
        return [("", given)]
    if isinstance(given, Mapping):
        members(given.values(), Prediction, "plot_terms: predictions", DRAWN)
        return given.items()
    given = members(given, (Prediction, RankedVariant), "plot_terms: predictions", DRAWN)
    return [(getattr(predicted, "name", ""), predicted) for predicted in given]


def _bars(name: str, predicted: Prediction | RankedVariant) -> Iterable[TermsBar]:
    if not isinstance(predicted, Prediction):
        predicted = Prediction(predicted.seconds, predicted.terms)
    name = name or predicted.kernel
    every = list(predicted.at_each_size())
    for at in every:
        words = (name, in_words(at.sizes) if len(every) > 1 or not name else "")
        yield TermsBar(" ".join(filter(None, words)), at.seconds, at.terms, at.adds_up)


def _largest(bars: Sequence[TermsBar]) -> list[str]:
    """Return the names of the terms, that with the largest share of some bar first."""
    shares: dict[str, float] = {}
    for bar in bars:
        for name, seconds in bar.terms.items():
            shares[name] = max(shares.get(name, 0.0), abs(seconds) / bar.seconds)
    return sorted((name for name, share in shares.items() if share > 0), key=lambda name: -shares[name])


def _draw_stacked(axes: Axes, bars: Sequence[TermsBar], shown: Sequence[str], rest: Sequence[str]) -> None:
    from matplotlib.colors import to_rgb

    parts = [((name,), name) for name in shown] + ([(tuple(rest), f"{len(rest)} others")] if rest else [])
    ends = [[0.0, 0.0] for _ in bars]  # of what is stacked to the left and to the right
    for place, (names, label) in enumerate(parts):
        colour = drawing.REST if names == tuple(rest) else FILLS[place % len(FILLS)]
        widths = [sum(100 * bar.terms.get(name, 0.0) / bar.seconds for name in names) for bar in bars]
        lefts = [end[0] + width if width < 0 else end[1] for end, width in zip(ends, widths, strict=True)]
        axes.barh(range(len(bars)), [abs(w) for w in widths], 0.66, lefts, color=colour, edgecolor="white", label=label)
        for row, (left, width) in enumerate(zip(lefts, widths, strict=True)):
            ends[row][width >= 0] = left if width < 0 else left + width
            if abs(width) >= LEGIBLE:
                axes.text(left + abs(width) / 2, row, f"{width:.0f}", ha="center", va="center", fontsize="small",
                          color=ink(*to_rgb(colour)))  # fmt: skip
    for row, bar in enumerate(bars):
        axes.text(max(ends[row][1], 100.0) + 1.5, row, seconds_text(bar.seconds), va="center", fontsize="small")
    _limit(axes, min(end[0] for end in ends), max(100.0, *(end[1] for end in ends)))


def _limit(axes: Axes, low: float, high: float) -> None:
    """Leave room for the times behind the bars, and put ticks at shares only."""
    axes.set_xlim(1.05 * low, high + 0.14 * (high - low))
    axes.set_xticks([tick for tick in axes.get_xticks() if 1.05 * low <= tick <= high])


def _draw_beside(axes: Axes, bars: Sequence[TermsBar], shown: Sequence[str], rest: Sequence[str]) -> None:
    height = 0.8 / max(len(shown), 1)
    lowest, highest = 0.0, 100.0
    for place, name in enumerate(shown):
        shares = [100 * bar.terms.get(name, 0.0) / bar.seconds for bar in bars]
        rows = [row - 0.4 + height * (place + 0.5) for row in range(len(bars))]
        axes.barh(rows, shares, 0.92 * height, color=FILLS[place % len(FILLS)], label=name)
        lowest, highest = min(lowest, *shares), max(highest, *shares)
    axes.axvline(100, color="0.3", linewidth=1, linestyle="--", label="predicted time")
    if rest:
        axes.plot((), (), linestyle="none", label=f"{len(rest)} smaller terms: not drawn")
    for row, bar in enumerate(bars):
        axes.text(highest * 1.02, row, seconds_text(bar.seconds), va="center", fontsize="small")
    _limit(axes, lowest, highest)
