"""Predictions over several sizes, as a table, as CSV and as records for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from perfmodel.report.fitted import fitted_text
from perfmodel.report.ranking import interval_text
from perfmodel.report.tables import csv_text, percent, seconds_text

if TYPE_CHECKING:
    from perfmodel.predicting.ranking import SweptPoint

COLUMNS = ("variant", "place", "seconds", "low_s", "high_s", "fastest", "tied", "to_measure", "problem")
BROKEN = "breaks an assumption"
NONE = "-"


def sweep_table(points: Sequence[SweptPoint], width: int | None = None) -> str:
    """Return a row for each size and variant, with its predicted time and interval.

    On a narrow terminal the interval is left out.
    """
    names = tuple(points[0].sizes)
    several = len(_variants(points)) > 1
    rows = [(*names, *("variant",) * several, "predicted", "interval")]
    for point in points:
        sizes = tuple(map(str, point.sizes.values()))
        for one in point.variants:
            rows.append((*sizes, *(one.name,) * several, seconds_text(one.seconds), interval_text(one.interval)))
        rows += [(*sizes, *(name,) * several, BROKEN, NONE) for name in point.broken]
    return fitted_text(rows, len(names) + several, ("interval",), width)


def winners_table(points: Sequence[SweptPoint], width: int | None = None) -> str:
    """Return a row for each size: the variant predicted fastest, how probably it is, its ties, and every time.

    Variants stand in the order of the last size. On a narrow terminal the ties are left out, then the probability,
    then the variants from the slowest on.
    """
    names = tuple(points[0].sizes)
    variants = _variants(points)
    known = any(one.fastest is not None for point in points for one in point.variants)
    rows = [(*names, "fastest", *("sure", "ties with") * known, *variants)]
    for point in points:
        best = point.variants[0].name if point.variants else NONE
        tied = ", ".join(one.name for one in point.variants[1:] if one.tied) or NONE
        sure = percent(point.variants[0].fastest) if point.variants else NONE
        times = {one.name: seconds_text(one.seconds) for one in point.variants}
        sizes = tuple(map(str, point.sizes.values()))
        rows.append((*sizes, best, *(sure, tied) * known, *(times.get(name, NONE) for name in variants)))
    return fitted_text(rows, len(names) + 1, ("ties with", "sure", *reversed(variants)), width)


def sweep_csv(points: Sequence[SweptPoint], withheld: Mapping[str, str] | None = None) -> str:
    """Return a row for each size and variant with all that is known, and the seconds of each term.

    A variant without a prediction has a row with its problem; of `withheld` ones, one for all sizes.
    """
    names = tuple(points[0].sizes)
    terms = dict.fromkeys(term for point in points for one in point.variants for term in one.terms)
    records: list[dict[str, Any]] = []
    for point in points:
        for place, one in enumerate(point.variants, 1):
            low, high = one.interval or (None, None)
            own = (one.name, place, one.seconds, low, high, one.fastest, one.tied, one.to_measure, None)
            seconds = {f"term.{term}": one.terms.get(term) for term in terms}
            records.append({**point.sizes, **dict(zip(COLUMNS, own, strict=True)), **seconds})
        records += [{**point.sizes, "variant": name, "problem": BROKEN} for name in point.broken]
    records += [{"variant": name, "problem": problem} for name, problem in (withheld or {}).items()]
    return csv_text((*names, *COLUMNS, *(f"term.{term}" for term in terms)), records)


def sweep_records(points: Sequence[SweptPoint]) -> list[dict[str, Any]]:
    """Return for each size its variants, the one predicted fastest first, for JSON; null stands for no bound."""
    return [
        {
            "sizes": dict(point.sizes),
            "variants": [
                {
                    "variant": one.name, "seconds": one.seconds, "interval": _bounds(one.interval),
                    "terms": dict(one.terms), "fastest": one.fastest, "tied": one.tied, "to_measure": one.to_measure,
                }
                for one in point.variants
            ],
            "broken": list(point.broken),
        }
        for point in points
    ]  # fmt: skip


def _bounds(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [interval[0], interval[1] if isfinite(interval[1]) else None]


def _variants(points: Sequence[SweptPoint]) -> tuple[str, ...]:
    """Return the names of all variants in the order of the last size, then those that are only at others."""
    found = [one.name for point in reversed(points) for one in point.variants]
    return tuple(dict.fromkeys([*found, *(name for point in points for name in point.broken)]))
