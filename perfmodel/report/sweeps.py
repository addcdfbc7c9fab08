"""Predictions over several sizes as tables, CSV and JSON records, and rankings with their ties as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from perfmodel.analyses import roofline
from perfmodel.analyses.roofline import KernelPoint
from perfmodel.display import csv_text, finite, fitted_text, interval_text, percent, seconds_text
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.ranking import RankedVariant, Ranking

MOST_NAMES, LONGEST = 8, 80
"""Most variants that a sentence names, and how long their names may be together [characters]."""
UNKNOWN = (
    "ties cannot be told: the weights do not keep how errors scatter between variants of one kernel; fit again "
    "(perfmodel fit), with two variants of some kernels among the measurements"
)
NOT_POSITIVE = "ties cannot be told: a predicted time is not above zero, or not finite; leave that variant out"


def ranking_table(
    ranked: Sequence[RankedVariant], width: int | None = None, points: Mapping[str, KernelPoint] = MappingProxyType({})
) -> str:
    """Return a row for each variant; how probably it is the fastest, and ties, where the ranking has them.

    `points` are the variants' places below the roofs. On a narrow terminal the interval is left out first, then rates,
    then the probability, then how many times the best it takes.
    """
    table = with_rates(Ranking(ranked).table, points)
    return fitted_text(table, 1, ("interval", *roofline.COLUMNS, "fastest", "times the best"), width)


def with_rates(table: Sequence[tuple[str, ...]], points: Mapping[str, KernelPoint]) -> list[tuple[str, ...]]:
    """Return a table whose rows begin with a variant's name, with its rates before the last column."""
    if not points:
        return list(table)
    none = (NONE,) * len(roofline.COLUMNS)
    cells = [roofline.COLUMNS, *(points[name].cells if name in points else none for name, *_ in table[1:])]
    return [(*row[:-1], *rates, row[-1]) for row, rates in zip(table, cells, strict=True)]


def ties_text(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> str:
    """Return which variants cannot be told apart, and how many must be measured to have the fastest.

    Empty where there is only one variant.
    """
    if len(ranked) < 2:
        return ""
    if scatter is None or ranked[0].fastest is None:
        return UNKNOWN if scatter is None else NOT_POSITIVE
    tied = [variant.name for variant in ranked if variant.tied]
    count = sum(bool(variant.to_measure) for variant in ranked)
    by = f"errors between variants of one kernel scatter by a factor of {math.exp(scatter.deviation):.3g}"
    first = f"{_listed(tied)} cannot be told apart ({by})" if tied else f"nothing ties with {ranked[0].name} ({by})"
    if count == 1:
        return f"{first}; the first is the fastest with {ranked[0].fastest:.0%}, and none has to be measured"
    others = [variant.name for variant in ranked[max(len(tied), 1) : count]]
    which = f"the first {count}" if count < len(tied) else _listed(["them" if tied else "it", *others])
    return f"{first}; measure {which} to have the fastest with {level:.0%}"


def ties_document(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> dict[str, Any] | None:
    """Return the ties and the variants to measure for JSON; None where ties are not known."""
    if scatter is None or not ranked or ranked[0].fastest is None:
        return None
    return {
        "level": level,
        "deviation": scatter.deviation,
        "freedom": scatter.freedom,
        "tied": [variant.name for variant in ranked if variant.tied],
        "to_measure": [variant.name for variant in ranked if variant.to_measure],
    }


Ties: TypeAlias = Mapping[int, Sequence[str]]
"""At each end of a lead the variants that cannot be told apart from the fastest, itself among them."""


def leads_lines(leads: Sequence[Lead], parameter: str, tied: Ties) -> list[str]:
    """Return a line for each lead; neighbours whose variants tie at all their ends are one line.

    Examples
    --------
    >>> both = ["a", "b"]
    >>> leads_lines([Lead("a", 8, 15), Lead("b", 16, 31)], "n", {8: both, 15: both, 16: both, 31: both})
    ['n from 8 to 31: a or b, which cannot be told apart (a to 15, then b)']
    """
    lines, place = [], 0
    while place < len(leads):
        end = place + 1
        while end < len(leads) and _all_tie(leads[place : end + 1], tied):
            end += 1
        lines.append(_lead_text(leads[place:end], parameter, tied))
        place = end
    return lines


def _all_tie(leads: Sequence[Lead], tied: Ties) -> bool:
    """Whether the variants that lead one after the other tie at all ends of these leads."""
    names = {lead.name for lead in leads}
    return all(names <= set(tied.get(end, ())) for lead in leads for end in (lead.low, lead.high))


def _lead_text(leads: Sequence[Lead], parameter: str, tied: Ties) -> str:
    first, last = leads[0], leads[-1]
    names = list(dict.fromkeys(lead.name for lead in leads))
    ends = {end: [name for name in tied.get(end, ()) if name not in names] for end in (first.low, last.high)}
    words = [f"with {_listed(others)} at {end}" for end, others in ends.items() if others]
    if len(words) == 2 and ends[first.low] == ends[last.high]:
        words = [f"with {_listed(ends[first.low])} at both ends"]
    ties = f"ties {', '.join(words)}" if words else ""
    span = f"{parameter} from {first.low} to {last.high}"
    if len(leads) == 1:
        return f"{span}: {first.name}{f' ({ties})' if ties else ''}"
    turns = f"{first.name} to {first.high}, then {last.name}" if len(leads) == 2 else f"{len(leads) - 1} changes"
    return f"{span}: {' or '.join(names)}, which cannot be told apart ({'; '.join(filter(None, (turns, ties)))})"


def left_out_lines(errors: Mapping[str, object]) -> list[str]:
    """Return why variants were left out, a line for each reason; texts that differ only in numbers are one reason.

    Examples
    --------
    >>> left_out_lines({"tile=8": "needs 99 B", "tile=16": "needs 396 B", "wide": "cannot be built"})
    ['2 variants are left out (tile=8 and tile=16): needs 99 B', 'wide: cannot be built']
    """
    return [
        f"{names[0]}: {text}" if len(names) == 1
        else f"{len(names)} variants are left out ({_listed(names)}): {text}"
        for names, text in _by_reason(errors.items())
    ]  # fmt: skip


def noted_lines(notes: Iterable[tuple[str, object]], every: int) -> list[str]:
    """Return what to know of variants, a line for each text; texts that differ only in numbers (not in names) are one.

    A text on all of the variants, `every` in number, names none of them.

    Examples
    --------
    >>> noted_lines([("a", "of the cache"), ("b", "of the cache"), ("b", "slow")], 2)
    ['of the cache', 'b: slow']
    >>> noted_lines([("a", "lacks circular_32"), ("b", "lacks circular_64"), ("c", "takes 1 s"), ("d", "takes 2 s")], 4)
    ['a: lacks circular_32', 'b: lacks circular_64', 'c and d: takes 1 s']
    """
    return [
        str(text) if len(names) == every > 1 else f"{_listed(names)}: {text}"
        for names, text in _by_reason(notes)
    ]  # fmt: skip


def _by_reason(texts: Iterable[tuple[str, object]]) -> list[tuple[list[str], object]]:
    """Return the variants of each text, and the text of the first of them."""
    reasons: dict[str, tuple[dict[str, None], object]] = {}
    for name, text in texts:
        alike = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)|(?<![A-Za-z_\d])\d+", "0", str(text))
        names, _ = reasons.setdefault(alike, ({}, text))
        names[name] = None
    return [([*names], text) for names, text in reasons.values()]


def _listed(names: Sequence[str]) -> str:
    """Return names as ``a, b and c``; of many or long ones the first.

    >>> _listed([f"width=16 height={2**k} tile=local" for k in range(9)])
    'width=16 height=1 tile=local, width=16 height=2 tile=local and 7 more'
    """
    most = min(len(names), MOST_NAMES)
    while most > 2 and len(", ".join(names[:most])) > LONGEST:
        most -= 1
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


COLUMNS = ("variant", "place", "seconds", "low_s", "high_s", "fastest", "tied", "to_measure", "problem")
RATES = ("operations_per_s", "bytes_per_s", "share_of_roof")
BROKEN = "breaks an assumption"
NONE = "-"


Places: TypeAlias = Sequence[Mapping[str, KernelPoint]]
"""Of each size the variants' places below the roofs; none where they are not known."""


def sweep_table(points: Sequence[Ranking], width: int | None = None, places: Places = ()) -> str:
    """Return a row for each size and variant, with its predicted time, its rates and its interval.

    On a narrow terminal the interval is left out, then the rates.
    """
    names = tuple(points[0].sizes)
    several = len(_variants(points)) > 1
    heads, at = (roofline.COLUMNS, places) if any(places) else ((), [{}] * len(points))
    none = (NONE,) * len(heads)
    rows = [(*names, *(["variant"] if several else []), "predicted", *heads, "interval")]
    for point, here in zip(points, at, strict=True):
        sizes = tuple(map(str, point.sizes.values()))
        for variant in point:
            rates = here[variant.name].cells if variant.name in here else none
            times = seconds_text(variant.seconds), *rates, interval_text(variant.interval)
            rows.append((*sizes, *([variant.name] if several else []), *times))
        rows += [(*sizes, *([name] if several else []), BROKEN, *none, NONE) for name in point.broken]
    return fitted_text(rows, len(names) + several, ("interval", *heads), width)


def winners_table(points: Sequence[Ranking], width: int | None = None, places: Places = ()) -> str:
    """Return a row for each size: the variant predicted fastest, how probably it is, ties, its rates, and every time.

    Variants stand in the order of the last size. On a narrow terminal rates are left out first, then the ties, then the
    probability, then the variants from the slowest on.
    """
    names = tuple(points[0].sizes)
    variants = _variants(points)
    known = any(variant.fastest is not None for point in points for variant in point)
    heads, at = (roofline.COLUMNS, places) if any(places) else ((), [{}] * len(points))
    rows = [(*names, "fastest", *(("sure", "ties with") if known else ()), *heads, *variants)]
    for point, here in zip(points, at, strict=True):
        best = point[0].name if point else NONE
        tied = ", ".join(variant.name for variant in point[1:] if variant.tied) or NONE
        sure = percent(point[0].fastest) if point else NONE
        times = {variant.name: seconds_text(variant.seconds) for variant in point}
        sizes = tuple(map(str, point.sizes.values()))
        rates = here[best].cells if best in here else (NONE,) * len(heads)
        cells = *((sure, tied) if known else ()), *rates, *(times.get(name, NONE) for name in variants)
        rows.append((*sizes, best, *cells))
    return fitted_text(rows, len(names) + 1, (*heads, "ties with", "sure", *reversed(variants)), width)


def sweep_csv(
    points: Sequence[Ranking], withheld: Mapping[str, str] | None = None, places: Places = ()
) -> str:
    """Return a row for each size and variant with all that is known, and the seconds of each term.

    A variant without a prediction has a row with its problem; of `withheld` ones, one for all sizes.
    """
    names = tuple(points[0].sizes)
    terms = dict.fromkeys(term for point in points for variant in point for term in variant.terms)
    records: list[dict[str, Any]] = []
    for point, here in zip(points, places or [{}] * len(points), strict=True):
        for place, variant in enumerate(point, 1):
            low, high = variant.interval or (None, None)
            records.append({
                **point.sizes, "variant": variant.name, "place": place, "seconds": variant.seconds, "low_s": low,
                "high_s": high, "fastest": variant.fastest, "tied": variant.tied, "to_measure": variant.to_measure,
                **_rates(here, variant.name),
                **{f"term.{term}": variant.terms.get(term) for term in terms},
            })  # fmt: skip
        records += [{**point.sizes, "variant": name, "problem": BROKEN} for name in point.broken]
    records += [{"variant": name, "problem": problem} for name, problem in (withheld or {}).items()]
    return csv_text((*names, *COLUMNS, *(RATES if any(places) else ()), *(f"term.{term}" for term in terms)), records)


def sweep_records(points: Sequence[Ranking], places: Places = ()) -> list[dict[str, Any]]:
    """Return for each size its variants, the one predicted fastest first, for JSON; null stands for no bound."""
    return [
        {
            "sizes": dict(point.sizes),
            "variants": [
                {
                    "variant": variant.name, "seconds": variant.seconds,
                    "interval": variant.interval and [variant.interval[0], finite(variant.interval[1])],
                    "terms": dict(variant.terms), "fastest": variant.fastest, "tied": variant.tied,
                    "to_measure": variant.to_measure, **_rates(here, variant.name),
                }
                for variant in point
            ],
            "broken": list(point.broken),
        }
        for point, here in zip(points, places or [{}] * len(points), strict=True)
    ]  # fmt: skip


def _rates(places: Mapping[str, KernelPoint], name: str) -> dict[str, float | None]:
    return places[name].document if name in places else {}


def _variants(points: Sequence[Ranking]) -> tuple[str, ...]:
    """Return the names of all variants in the order of the last size, then those that are only at others."""
    ranked = [variant.name for point in reversed(points) for variant in point]
    return tuple(dict.fromkeys([*ranked, *(name for point in points for name in point.broken)]))
