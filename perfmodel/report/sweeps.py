"""Predictions over several sizes as tables, CSV, JSON records and pictures, and rankings with their ties as text.

A picture has a pair of axes for each combination of the other sizes, as
:func:`~perfmodel.report.sizes_picture.plot_sizes` draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.display import csv_text, fitted_text, interval_text, percent, seconds_text
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.drawing import empty_figure, legend_beside, write_figure
from perfmodel.report.sizes_picture import Curve, draw_curves, draw_lead

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from perfmodel.fitting.selection import Scatter
    from perfmodel.predicting.crossovers import Lead
    from perfmodel.predicting.ranking import RankedVariant


WRITTEN = 6
"""Most crossovers whose sizes are written beside their lines."""


@dataclass(frozen=True)
class Panel:
    """What one pair of axes shows: points that differ in one size.

    Parameters
    ----------
    name
        The size that goes across.
    points
        The predictions, in ascending order of that size.
    leads
        Which variant is the fastest from which size on.
    title
        The other sizes.
    """

    name: str
    points: tuple[Ranking, ...]
    leads: tuple[Lead, ...] = ()
    title: str = ""


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
        others = [{name: size for name, size in one.sizes.items() if name != across} for one in here]
        alone = all(one == others[0] for one in others)
        title = ", ".join(f"{name}={size}" for name, size in others[0].items()) if alone else ""
        panels.append(Panel(across, here, leads(here, across), title))
    return panels


def picture_sweep(panels: Sequence[Panel], path: str | Path, title: str) -> None:
    """Write a picture of predicted times against sizes (:func:`sweep_figure`)."""
    write_figure(sweep_figure(panels, title), path)


def sweep_figure(panels: Sequence[Panel], title: str) -> Figure:
    """Return predicted times against sizes, one pair of axes beside the other.

    A dotted line stands where another variant becomes the fastest, in the colour of that variant. A variant has its
    colour in all axes.
    """
    figure = empty_figure(max(6.4, 4.2 * len(panels) + 1.8), 4.4)
    names = tuple(dict.fromkeys(one.name for panel in panels for one in panel.points[-1]))
    names = tuple(dict.fromkeys([*names, *(v.name for panel in panels for p in panel.points for v in p)]))
    every = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    for axes, panel in zip(every, panels, strict=True):
        _draw_panel(axes, panel, names)
    every[0].set_ylabel("predicted time [s]")
    if len(names) > 1:
        legend_beside(every[-1])
    figure.suptitle(title, fontsize="medium")
    return figure


def _draw_panel(axes: Axes, panel: Panel, names: Sequence[str]) -> None:
    """Draw a panel on axes; the place of a variant in `names` gives its colour and marker."""
    curves = [curve for place, name in enumerate(names) if len((curve := _curve(panel, place, name)).sizes)]
    draw_curves(axes, curves)
    changes = panel.leads[1:]
    for lead in changes:
        draw_lead(axes, curves, lead)
        if len(changes) <= WRITTEN:
            axes.annotate(
                f"from {lead.low}: {lead.name}", (lead.low, 0.02), xycoords=("data", "axes fraction"), rotation=90,
                xytext=(3, 0), textcoords="offset points", fontsize="x-small", color="0.25", va="bottom",
            )  # fmt: skip
    axes.set_xlabel(f"size {panel.name}")
    axes.set_title(panel.title, fontsize="small")


def _curve(panel: Panel, place: int, name: str) -> Curve:
    """Return a variant's times above zero."""
    own = [(point.sizes[panel.name], one) for point in panel.points for one in point if one.name == name]
    shown = [(size, one) for size, one in own if one.seconds > 0]
    bounds = [one.interval for _, one in shown if one.interval is not None]
    band = np.array(bounds).reshape(-1, 2).T if len(bounds) == len(shown) else None
    return Curve(
        name, place, np.array([size for size, _ in shown]), np.array([one.seconds for _, one in shown]),
        None if band is None else (band[0], band[1]),
    )  # fmt: skip


MOST_NAMES = 8
"""Most variants that a sentence names."""
UNKNOWN = (
    "ties cannot be told: the weights do not keep how errors scatter between variants of one kernel; fit again "
    "(perfmodel fit), with two variants of some kernels among the measurements"
)
NOT_POSITIVE = "ties cannot be told: a predicted time is not above zero, or not finite; leave that variant out"


def ranking_table(ranked: Sequence[RankedVariant], width: int | None = None) -> str:
    """Return a row for each variant; how probably it is the fastest, and ties, where the ranking has them.

    On a narrow terminal the interval is left out first, then the probability, then how many times the best it takes.
    """
    return fitted_text(Ranking(ranked).table, 1, ("interval", "fastest", "times the best"), width)


def ties_text(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> str:
    """Return which variants cannot be told apart, and how many must be measured to have the fastest.

    Empty where there is only one variant.
    """
    if len(ranked) < 2:
        return ""
    if scatter is None or ranked[0].fastest is None:
        return UNKNOWN if scatter is None else NOT_POSITIVE
    tied = [one.name for one in ranked if one.tied]
    chosen = [one.name for one in ranked if one.to_measure]
    by = f"errors between variants of one kernel scatter by a factor of {math.exp(scatter.deviation):.3g}"
    first = f"{_listed(tied)} cannot be told apart ({by})" if tied else f"nothing ties with {ranked[0].name} ({by})"
    if len(chosen) == 1:
        return f"{first}; {chosen[0]} is the fastest with {ranked[0].fastest:.0%}, and none has to be measured"
    return f"{first}; measure the first {len(chosen)} to have the fastest with {level:.0%}: {_listed(chosen)}"


def ties_document(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> dict[str, Any] | None:
    """Return the same for JSON; None where ties cannot be told."""
    if scatter is None or not ranked or ranked[0].fastest is None:
        return None
    return {
        "level": level,
        "deviation": scatter.deviation,
        "freedom": scatter.freedom,
        "tied": [one.name for one in ranked if one.tied],
        "to_measure": [one.name for one in ranked if one.to_measure],
    }


def _listed(names: Sequence[str]) -> str:
    """Return names as ``a, b and c``; of many the first."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


COLUMNS = ("variant", "place", "seconds", "low_s", "high_s", "fastest", "tied", "to_measure", "problem")
BROKEN = "breaks an assumption"
NONE = "-"


def sweep_table(points: Sequence[Ranking], width: int | None = None) -> str:
    """Return a row for each size and variant, with its predicted time and interval.

    On a narrow terminal the interval is left out.
    """
    names = tuple(points[0].sizes)
    several = len(_variants(points)) > 1
    rows = [(*names, *("variant",) * several, "predicted", "interval")]
    for point in points:
        sizes = tuple(map(str, point.sizes.values()))
        for one in point:
            rows.append((*sizes, *(one.name,) * several, seconds_text(one.seconds), interval_text(one.interval)))
        rows += [(*sizes, *(name,) * several, BROKEN, NONE) for name in point.broken]
    return fitted_text(rows, len(names) + several, ("interval",), width)


def winners_table(points: Sequence[Ranking], width: int | None = None) -> str:
    """Return a row for each size: the variant predicted fastest, how probably it is, its ties, and every time.

    Variants stand in the order of the last size. On a narrow terminal the ties are left out, then the probability,
    then the variants from the slowest on.
    """
    names = tuple(points[0].sizes)
    variants = _variants(points)
    known = any(one.fastest is not None for point in points for one in point)
    rows = [(*names, "fastest", *("sure", "ties with") * known, *variants)]
    for point in points:
        best = point[0].name if point else NONE
        tied = ", ".join(one.name for one in point[1:] if one.tied) or NONE
        sure = percent(point[0].fastest) if point else NONE
        times = {one.name: seconds_text(one.seconds) for one in point}
        sizes = tuple(map(str, point.sizes.values()))
        rows.append((*sizes, best, *(sure, tied) * known, *(times.get(name, NONE) for name in variants)))
    return fitted_text(rows, len(names) + 1, ("ties with", "sure", *reversed(variants)), width)


def sweep_csv(points: Sequence[Ranking], withheld: Mapping[str, str] | None = None) -> str:
    """Return a row for each size and variant with all that is known, and the seconds of each term.

    A variant without a prediction has a row with its problem; of `withheld` ones, one for all sizes.
    """
    names = tuple(points[0].sizes)
    terms = dict.fromkeys(term for point in points for one in point for term in one.terms)
    records: list[dict[str, Any]] = []
    for point in points:
        for place, one in enumerate(point, 1):
            low, high = one.interval or (None, None)
            own = (one.name, place, one.seconds, low, high, one.fastest, one.tied, one.to_measure, None)
            seconds = {f"term.{term}": one.terms.get(term) for term in terms}
            records.append({**point.sizes, **dict(zip(COLUMNS, own, strict=True)), **seconds})
        records += [{**point.sizes, "variant": name, "problem": BROKEN} for name in point.broken]
    records += [{"variant": name, "problem": problem} for name, problem in (withheld or {}).items()]
    return csv_text((*names, *COLUMNS, *(f"term.{term}" for term in terms)), records)


def sweep_records(points: Sequence[Ranking]) -> list[dict[str, Any]]:
    """Return for each size its variants, the one predicted fastest first, for JSON; null stands for no bound."""
    return [
        {
            "sizes": dict(point.sizes),
            "variants": [
                {
                    "variant": one.name, "seconds": one.seconds, "interval": _bounds(one.interval),
                    "terms": dict(one.terms), "fastest": one.fastest, "tied": one.tied, "to_measure": one.to_measure,
                }
                for one in point
            ],
            "broken": list(point.broken),
        }
        for point in points
    ]  # fmt: skip


def _bounds(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [interval[0], interval[1] if isfinite(interval[1]) else None]


def _variants(points: Sequence[Ranking]) -> tuple[str, ...]:
    """Return the names of all variants in the order of the last size, then those that are only at others."""
    found = [one.name for point in reversed(points) for one in point]
    return tuple(dict.fromkeys([*found, *(name for point in points for name in point.broken)]))
