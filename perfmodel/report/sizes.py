"""Predicted time against size for variants of a kernel, and the sizes at which another variant becomes the fastest."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

import numpy as np

from perfmodel.display import seconds_text, values_text
from perfmodel.errors import OptionError
from perfmodel.predicting.crossovers import Lead, leads_at
from perfmodel.predicting.prediction import Prediction
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report import drawing
from perfmodel.report.drawing import LINES, MARKERS, NAMED, REST, Axes, Axis, Figure, Picture, Series

Times: TypeAlias = tuple[Sequence[int], Sequence[float]]  #: Sizes, and a time [s] at each

LOGARITHMIC = 8.0  # largest over smallest value from which an axis is logarithmic
MOST_MARKED = 40  # sizes of a line with markers
MOST_BANDS = 3  # variants with intervals: more bands would cover each other
MOST_WRITTEN = 6  # changes of the fastest variant with their sizes written at the lines
MOST_LINES = 12  # changes with a line; variants that tie change more often
GAP = 0.03  # distance between the texts of changes, as a share of the axis
ADVICE = "predict at an array of sizes, as in model.predict(counts, n=2 ** numpy.arange(8, 14))"


@dataclass(frozen=True)
class Panel:
    """The predictions that are drawn on one pair of axes. They differ in one size only."""

    name: str  # the size across
    points: tuple[Ranking, ...]  # in ascending order of that size
    leads: tuple[Lead, ...] = ()  # the fastest variant by ranges
    title: str = ""  # the other sizes


def varying(points: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the names of sizes with more than one value. The name with the most values is first."""
    values = {name: len({point[name] for point in points}) for name in points[0]}
    return tuple(sorted((name for name, count in values.items() if count > 1), key=lambda name: -values[name]))


def combinations(points: Sequence[Mapping[str, int]]) -> list[list[int]]:
    """Return the indices of points by the combination of their sizes, except the one on the horizontal axis."""
    across, *others = varying(points)
    if len({point[across] for point in points}) == len(points):
        return [[*range(len(points))]]
    keys = [tuple(point[name] for name in others) for point in points]
    order = sorted(range(len(points)), key=keys.__getitem__)
    return [list(group) for _, group in groupby(order, key=keys.__getitem__)]


def panels_of(rankings: Sequence[Ranking], leads: Callable[[Sequence[Ranking], str], tuple[Lead, ...]]) -> list[Panel]:
    """Return a panel for each combination of the other sizes. The function `leads` finds fastest variants by ranges."""
    points = [ranking.sizes for ranking in rankings]
    across = varying(points)[0]
    panels = []
    for chosen in combinations(points):
        here = tuple(sorted((rankings[index] for index in chosen), key=lambda ranking: ranking.sizes[across]))
        others = [{name: size for name, size in ranking.sizes.items() if name != across} for ranking in here]
        same = all(sizes == others[0] for sizes in others)
        title = ", ".join(f"{name}={size}" for name, size in others[0].items()) if same else ""
        panels.append(Panel(across, here, leads(here, across), title))
    return panels


def panel_of_predictions(named: Mapping[str, Prediction], parameter: str, leads: Sequence[Lead] | None) -> Panel:
    """Return predictions over the parameter that varies. By default leads are found at the common sizes."""
    if not named:
        raise OptionError("no prediction was given", ADVICE)
    across = _parameter_across(named, parameter)
    ranked: dict[int, list[RankedVariant]] = {}
    for name, prediction in named.items():
        if not np.any(prediction.seconds > 0):
            raise OptionError(f"no predicted time of '{name}' is above zero", "leave this prediction out")
        for at in prediction.at_each_size():
            ranked.setdefault(at.sizes[across], []).append(RankedVariant.of(name or "predicted", at))
    points = tuple(
        Ranking(sorted(variants, key=lambda variant: variant.seconds), sizes={across: size})
        for size, variants in sorted(ranked.items())
    )
    if leads is None:
        leads = leads_at([ranking for ranking in points if len(ranking) == len(named)], across)
    others = {name: size for one in named.values() for name, size in one.sizes.items() if name != across}
    fixed = values_text({name: np.unique(size).tolist()[0] for name, size in others.items()})
    return Panel(across, points, tuple(leads), fixed)


def _parameter_across(named: Mapping[str, Prediction], wanted: str) -> str:
    known = {name for prediction in named.values() for name in prediction.sizes}
    if wanted and wanted not in known:
        allowed = ", ".join(sorted(known)) or "none"
        raise OptionError(f"no prediction has a size '{wanted}' (there are: {allowed})", "name one of these sizes")
    sizes = [pair for prediction in named.values() for pair in prediction.sizes.items()]
    vary = sorted({name for name, size in sizes if np.unique(size).size > 1})
    single = next((name for name, prediction in named.items() if np.size(prediction.seconds) < 2), None)
    if single is not None or not vary:
        raise OptionError(f"the prediction of '{single or next(iter(named))}' is of one size only", ADVICE)
    if len(vary) > 1 or wanted not in ("", *vary):
        raise OptionError(f"the sizes that vary are: {', '.join(vary)}", "vary only one")
    return vary[0]


def size_text(size: float) -> str:
    """Return a size as the command line takes it.

    >>> size_text(512.0), size_text(2048), size_text(3 * 2**20), size_text(1500)
    ('512', '2Ki', '3Mi', '1500')
    """
    for unit, name in ((2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki")):
        if size >= unit and size % unit == 0:
            return f"{size / unit:g}{name}"
    return f"{size:g}"


def sweep_figure(panels: Sequence[Panel], title: str) -> Figure:
    """Return predicted times against sizes in panels. Dotted lines show where another variant becomes fastest."""
    figure = drawing.empty_figure(max(6.4, 4.2 * len(panels) + 1.8), 4.4)
    last_first = [*(panel.points[-1] for panel in panels), *(point for panel in panels for point in panel.points)]
    names = tuple(dict.fromkeys(variant.name for point in last_first for variant in point))
    every = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, panel in zip(every, panels, strict=True):
        draw_panel(axes, panel, names)
        if legend := axes.get_legend():
            legend.remove()
    every[0].set_ylabel("predicted time [s]")
    if len(names) > 1:
        drawing.legend_beside(every[-1])
    figure.suptitle(title, fontsize="medium")
    return figure


def draw_panel(axes: Axes, panel: Panel, names: Sequence[str], measured: Mapping[str, Times] | None = None) -> None:
    """Draw a panel. The index of a variant in `names` gives its colour and marker."""
    series = [one for index, name in enumerate(names) if len((one := _series(panel, index, name)).x)]
    for one in list(series):
        if measured and one.label in measured:
            sizes, seconds = measured[one.label]
            label = "measured" if one.label == "predicted" else f"{one.label}, measured"
            series.append(Series(label, sizes, seconds, one.colour, one.marker or "o", filled=False))
    picture = _picture(series, panel.name)
    drawing.draw(axes, picture)
    changes, title, last = panel.leads[1:], panel.title, -math.inf
    if len(changes) > MOST_LINES:
        title = f"{title}\nthe fastest variant changes at {len(changes)} sizes, since variants tie".strip()
        changes = ()
    for lead in changes:
        colour = next((NAMED[one.colour] for one in picture.series if one.label == lead.name), REST)
        axes.axvline(lead.low, color=colour, linewidth=1, linestyle=":", zorder=1)
        left, _ = axes.transAxes.inverted().transform(axes.transData.transform((lead.low, axes.get_ylim()[0])))
        if len(changes) <= MOST_WRITTEN and left - last > GAP:
            last = left
            axes.annotate(
                f"from {lead.low}: {lead.name}", (lead.low, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                xytext=(3, 0), textcoords="offset points", fontsize="x-small", color="0.25", va="bottom",
            )  # fmt: skip
    axes.set_title(title, fontsize="small")


def _series(panel: Panel, index: int, name: str) -> Series:
    shown = [
        (point.sizes[panel.name], variant)
        for point in panel.points for variant in point if variant.name == name and variant.seconds > 0
    ]  # fmt: skip
    bounds = [variant.interval for _, variant in shown if variant.interval is not None]
    band = ([low for low, _ in bounds], [high for _, high in bounds]) if len(bounds) == len(shown) else None
    marker = MARKERS[index % len(MARKERS)] if len(shown) <= MOST_MARKED else ""
    line = LINES[index // len(drawing.COLOURS) % len(LINES)]
    x, y = [size for size, _ in shown], [variant.seconds for _, variant in shown]
    return Series(name, x, y, drawing.style(index)[0], marker, line, band=band)


def _picture(series: Sequence[Series], across: str) -> Picture:
    sizes = [size for one in series for size in one.x]
    seconds = [time for one in series for time in one.y if time > 0]
    finite = all(one.band is None or np.all(np.isfinite(one.band)) for one in series)
    if sum(one.band is not None for one in series) > MOST_BANDS or not finite:
        series = [replace(one, band=None) for one in series]
    wide = bool(sizes) and min(sizes) > 0 and max(sizes) >= LOGARITHMIC * min(sizes)
    steep = bool(seconds) and max(seconds) >= LOGARITHMIC * min(seconds)
    return Picture(Axis(f"size {across}", wide, size_text), Axis("", steep, seconds_text), tuple(series))
