"""Predicted time against size, for variants of a kernel, with the sizes at which another becomes the fastest.

:func:`plot_sizes` draws into one pair of axes. The command line's picture of a sweep has a pair of axes for each
combination of the other sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from perfmodel.display import in_words
from perfmodel.documents import require
from perfmodel.errors import OptionError
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.model import Prediction
from perfmodel.predicting.ranking import Ranking
from perfmodel.report import drawing
from perfmodel.report.drawing import COLOURS, LINES, MARKERS, REST, Axes, Figure

Times: TypeAlias = tuple[Sequence[int], Sequence[float]]
"""Sizes, and a time [s] at each."""

LOGARITHMIC = 8.0
"""Largest over smallest value from which an axis is logarithmic."""
FEW = 40
"""Most sizes of which each has a marker."""
BANDS = 3
"""Most variants whose intervals are drawn: more bands would lie on top of each other."""
DRAWN = "a prediction, or a mapping of names to predictions"
ADVICE = "predict at an array of sizes, as in model.predict(counts, n=2 ** numpy.arange(8, 14))"


class Curve(NamedTuple):
    """A variant's predicted times over one parameter."""

    name: str
    place: int  # among all variants; it gives the colour
    sizes: Any  # shape (n_sizes,), rising
    seconds: Any  # [s], of the same shape
    interval: tuple[Any, Any] | None  # [s]

    @property
    def colour(self) -> str:
        """The colour of the line, of the band, and of sizes from which the variant is the fastest."""
        return COLOURS[self.place % len(COLOURS)]


def plot_sizes(
    predictions: Prediction | Mapping[str, Prediction],
    ax: Axes | None = None,
    *,
    parameter: str = "",
    measured: Mapping[str, Times] | None = None,
    leads: Sequence[Lead] | None = None,
    title: str = "",
) -> Axes:
    """Draw predicted times against a size parameter, and mark the crossovers.

    Up to :data:`BANDS` variants have their intervals drawn as bands.

    Parameters
    ----------
    predictions
        A prediction at an array of sizes, or several by the name of the variant.
    ax
        Axes to draw on; a new figure by default.
    parameter
        The size parameter that goes across; by default the one that varies.
    measured
        By a variant's name its sizes and measured times [s], drawn as markers.
    leads
        Which variant is the fastest from which size on (:func:`perfmodel.predicting.crossovers.leads_of`); by default
        at the sizes that all predictions have.
    title
        Title of the axes.

    Returns
    -------
    matplotlib.axes.Axes
        `ax`, or the axes of the new figure.

    Raises
    ------
    OptionError
        If a prediction is of one size only, several parameters vary, there is no such parameter, or no time is above
        zero.
    """
    named = {predictions.kernel: predictions} if isinstance(predictions, Prediction) else predictions
    require(isinstance(named, Mapping), "plot_sizes: predictions", predictions, DRAWN)
    drawing.members(named.values(), Prediction, "plot_sizes: predictions", DRAWN)
    require(isinstance(parameter, str), "plot_sizes: parameter", parameter, "the name of a size, or an empty text")
    known = measured is None or isinstance(measured, Mapping)
    require(known, "plot_sizes: measured", measured, "a mapping of names to sizes and times, or None")
    if leads is not None:
        leads = drawing.members(leads, Lead, "plot_sizes: leads", "what leads_of returned, or None")
    if not named:
        raise OptionError("there is no prediction to draw", ADVICE)
    across = _varying(named, parameter)
    curves = [_curve(place, name, prediction, across) for place, (name, prediction) in enumerate(named.items())]
    axes = drawing.axes_or_new(ax, 8.0, 4.6)
    draw_curves(axes, curves, measured)
    for lead in (_leads(curves) if leads is None else leads)[1:]:
        draw_lead(axes, curves, lead, f"from {across}={lead.low}: {lead.name} is the fastest")
    what = "time [s]" if measured else "predicted time [s]"
    sizes = {name: size for prediction in named.values() for name, size in prediction.sizes.items() if name != across}
    fixed = in_words({name: np.unique(size).tolist()[0] for name, size in sizes.items()})
    axes.set(xlabel=f"size {across}", ylabel=what, title=title or fixed)
    return drawing.finished(axes)


def draw_curves(axes: Axes, curves: Sequence[Curve], measured: Mapping[str, Times] | None = None) -> None:
    """Draw a line for each variant, of up to :data:`BANDS` variants their intervals as bands, and measured times."""
    for curve in curves:
        _draw_curve(axes, curve, (measured or {}).get(curve.name))
    for curve in curves if len(curves) <= BANDS else ():
        if curve.interval is not None and np.all(np.isfinite(curve.interval)):
            axes.fill_between(curve.sizes, *curve.interval, color=curve.colour, alpha=0.15, linewidth=0, zorder=0)
    if curves:
        _scale(axes, curves)
    drawing.quiet_grid(axes)


def draw_lead(axes: Axes, curves: Sequence[Curve], lead: Lead, label: str = "") -> None:
    """Draw a line where a variant becomes the fastest, in its colour."""
    colour = next((curve.colour for curve in curves if curve.name == lead.name), REST)
    axes.axvline(lead.low, color=colour, linewidth=1, linestyle=":", zorder=1, label=label)


def _leads(curves: Sequence[Curve]) -> list[Lead]:
    """Return from which of the common sizes on which variant is the fastest; of equal ones the earlier given."""
    common = sorted(set.intersection(*(set(curve.sizes.tolist()) for curve in curves)))
    leads: list[Lead] = []
    for size in common:
        times = [float(curve.seconds[np.searchsorted(curve.sizes, size)]) for curve in curves]
        name = curves[int(np.argmin(times))].name
        begins = not leads or leads[-1].name != name
        low = size if begins else leads.pop().low
        leads.append(Lead(name, low, size))
    return leads


def _varying(named: Mapping[str, Prediction], wanted: str) -> str:
    """Return the parameter that varies in every prediction."""
    known = {name for prediction in named.values() for name in prediction.sizes}
    if wanted and wanted not in known:
        allowed = ", ".join(sorted(known)) or "none"
        raise OptionError(f"no prediction has a size '{wanted}' (there are: {allowed})", "name one of these sizes")
    sizes = [pair for prediction in named.values() for pair in prediction.sizes.items()]
    vary = sorted({name for name, size in sizes if np.unique(size).size > 1})
    still = next((name for name, prediction in named.items() if np.size(prediction.seconds) < 2), None)
    if still is not None or not vary:
        raise OptionError(f"the prediction of '{still or next(iter(named))}' is of one size only", ADVICE)
    if len(vary) > 1 or wanted not in ("", *vary):
        raise OptionError(f"the sizes that vary are: {', '.join(vary)}", "let only one vary, the one to go across")
    return vary[0]


def _curve(place: int, name: str, prediction: Prediction, across: str) -> Curve:
    sizes = np.broadcast_to(prediction.sizes.get(across, np.nan), np.shape(prediction.seconds)).ravel()
    order = np.argsort(sizes, kind="stable")
    seconds = np.ravel(prediction.seconds)[order]
    if not np.any(seconds > 0):
        raise OptionError(f"no predicted time of '{name}' is above zero", "leave this prediction out")
    interval = prediction.interval
    band = interval and (np.ravel(interval[0])[order], np.ravel(interval[1])[order])
    return Curve(name, place, sizes[order], seconds, band)


def _draw_curve(axes: Axes, curve: Curve, measured: Times | None) -> None:
    marker, line = MARKERS[curve.place % len(MARKERS)], LINES[curve.place // len(COLOURS) % len(LINES)]
    shown = np.where(curve.seconds > 0, curve.seconds, np.nan)
    axes.plot(curve.sizes, shown, line, color=curve.colour, marker=marker if len(shown) <= FEW else "", markersize=4,
              label=curve.name or "predicted", zorder=3)  # fmt: skip
    if measured is not None:
        axes.plot(*measured, linestyle="none", marker=marker, markersize=7, color=curve.colour,
                  markerfacecolor="white", label=f"{curve.name}, measured".lstrip(", "), zorder=4)  # fmt: skip


def _scale(axes: Axes, curves: Sequence[Curve]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    sizes = np.concatenate([curve.sizes for curve in curves])
    seconds = np.concatenate([curve.seconds for curve in curves])
    if sizes.min() > 0 and sizes.max() >= LOGARITHMIC * sizes.min():
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: size_text(size)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if np.max(seconds) >= LOGARITHMIC * np.min(seconds[seconds > 0]):
        axes.set_yscale("log")


def size_text(size: float) -> str:
    """Return a size as the command line takes it.

    Examples
    --------
    >>> size_text(512.0), size_text(2048), size_text(3 * 2**20), size_text(1500)
    ('512', '2Ki', '3Mi', '1500')
    """
    for unit, name in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if size >= unit and size % unit == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"


WRITTEN = 6
"""Most crossovers whose sizes are written beside their lines."""
MOST_LINES = 12
"""Most changes of the fastest variant of which each has a line; there are more where variants tie."""
APART = 0.03
"""Share of the axis by which words beside these lines stand apart [1]."""


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows: points that differ in one size."""

    name: str  # the size that goes across
    points: tuple[Ranking, ...]  # the predictions, in ascending order of that size
    leads: tuple[Lead, ...] = ()  # which variant is the fastest from which size on
    title: str = ""  # the other sizes


def varying(points: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the names of sizes with more than one value, the one with the most values first.

    Examples
    --------
    >>> varying([{"n": 1, "m": 1}, {"n": 2, "m": 1}])
    ('n',)
    """
    values = {name: len({point[name] for point in points}) for name in points[0]}
    return tuple(sorted((name for name, count in values.items() if count > 1), key=lambda name: -values[name]))


def combinations(points: Sequence[Mapping[str, int]]) -> list[list[int]]:
    """Return the places of points by the combination of all sizes but the first that varies, which goes across.

    Sizes in pairs are one combination: the others follow the first.
    """
    across, *others = varying(points)
    if len({point[across] for point in points}) == len(points):
        return [[*range(len(points))]]
    keys = [tuple(point[name] for name in others) for point in points]
    order = sorted(range(len(points)), key=keys.__getitem__)
    return [list(group) for _, group in groupby(order, key=keys.__getitem__)]


def panels_of(
    rankings: Sequence[Ranking], leads: Callable[[Sequence[Ranking], str], tuple[Lead, ...]]
) -> list[Panel]:
    """Return a panel for each combination of the other sizes; `leads` says which variant is the fastest where."""
    points = [ranking.sizes for ranking in rankings]
    across = varying(points)[0]
    panels = []
    for places in combinations(points):
        here = tuple(sorted((rankings[place] for place in places), key=lambda ranking: ranking.sizes[across]))
        others = [{name: size for name, size in ranking.sizes.items() if name != across} for ranking in here]
        same = all(sizes == others[0] for sizes in others)
        title = ", ".join(f"{name}={size}" for name, size in others[0].items()) if same else ""
        panels.append(Panel(across, here, leads(here, across), title))
    return panels


def picture_sweep(panels: Sequence[Panel], path: str | Path, title: str) -> None:
    """Write a picture of predicted times against sizes (:func:`sweep_figure`)."""
    drawing.write_figure(sweep_figure(panels, title), path)


def sweep_figure(panels: Sequence[Panel], title: str) -> Figure:
    """Return predicted times against sizes, one pair of axes beside the other.

    A dotted line stands where another variant becomes the fastest, in the colour of that variant. A variant has its
    colour in all axes.
    """
    figure = drawing.empty_figure(max(6.4, 4.2 * len(panels) + 1.8), 4.4)
    last_first = [*(panel.points[-1] for panel in panels), *(point for panel in panels for point in panel.points)]
    names = tuple(dict.fromkeys(variant.name for point in last_first for variant in point))
    every = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, names)
    every[0].set_ylabel("predicted time [s]")
    if len(names) > 1:
        drawing.legend_beside(every[-1])
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_panel(axes: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw a panel on axes; the place of a variant in `names` gives its colour and marker."""
    curves = [curve for place, name in enumerate(names) if len((curve := _panel_curve(panel, place, name)).sizes)]
    draw_curves(axes, curves)
    changes, title, last = panel.leads[1:], panel.title, -math.inf
    if len(changes) > MOST_LINES:
        title = f"{title}\nthe fastest variant changes at {len(changes)} sizes, as those that tie do".strip()
        changes = ()
    for lead in changes:
        draw_lead(axes, curves, lead)
        place, _ = axes.transAxes.inverted().transform(axes.transData.transform((lead.low, axes.get_ylim()[0])))
        if len(changes) <= WRITTEN and place - last > APART:
            last = place
            axes.annotate(
                f"from {lead.low}: {lead.name}", (lead.low, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                xytext=(3, 0), textcoords="offset points", fontsize="x-small", color="0.25", va="bottom",
            )  # fmt: skip
    axes.set_xlabel(f"size {panel.name}")
    axes.set_title(title, fontsize="small")


def _panel_curve(panel: Panel, place: int, name: str) -> Curve:
    """Return a variant's times above zero."""
    shown = [
        (point.sizes[panel.name], variant)
        for point in panel.points for variant in point if variant.name == name and variant.seconds > 0
    ]  # fmt: skip
    sizes, seconds = np.array([size for size, _ in shown]), np.array([variant.seconds for _, variant in shown])
    bounds = [variant.interval for _, variant in shown if variant.interval is not None]
    band = np.array(bounds).reshape(-1, 2).T if len(bounds) == len(shown) else None
    return Curve(name, place, sizes, seconds, None if band is None else (band[0], band[1]))
