"""Predictions at several sizes as tables and JSON records, and rankings with their ties as text."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from perfmodel.analyses.roofline import RATES, KernelPoint
from perfmodel.display import NONE, Column, Table, columns_text, finite, interval_text, percent, seconds_text
from perfmodel.fitting.cautions import FromRelative
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.prediction import shares
from perfmodel.predicting.ranking import COLUMNS, RankedVariant, Ranking

MOST_NAMES, LONGEST = 8, 80  #: Names of variants in a sentence, and their total length [characters]
UNKNOWN = (
    "ties are not known: the weights have no scatter of the errors between variants of one kernel; fit again "
    "(perfmodel fit) with several variants of some kernels among the measurements"
)
NOT_POSITIVE = "ties are not known: a predicted time is not above zero, or not finite; leave that variant out"


def ranking_text(
    ranked: Sequence[RankedVariant], width: int | None = None, points: Mapping[str, KernelPoint] = MappingProxyType({})
) -> str:
    """Return a row for each variant, with its rates if `points` has its roofline point."""
    table = list(Ranking(ranked).table)
    if points:
        rates = Table(RATES, [_rates(points, name) for name, *_ in table[1:]]).rows
        table = [(*row[:-1], *cells, row[-1]) for row, cells in zip(table, rates, strict=True)]
    return columns_text(table, 1, width)


def ties_text(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> str:
    """Return which variants tie, and how many must run to find the fastest. For one variant the text is empty."""
    if len(ranked) < 2:
        return ""
    if scatter is None or ranked[0].fastest is None:
        return UNKNOWN if scatter is None else NOT_POSITIVE
    tied = [variant.name for variant in ranked if variant.tied]
    count = sum(bool(variant.to_measure) for variant in ranked)
    by = f"errors between variants of one kernel scatter by a factor of {math.exp(scatter.deviation):.3g}"
    first = f"{_listed(tied)} cannot be distinguished ({by})" if tied else f"nothing ties with {ranked[0].name} ({by})"
    if count == 1:
        return f"{first}; the first is the fastest with {ranked[0].fastest:.0%}, so none needs to be measured"
    others = [variant.name for variant in ranked[max(len(tied), 1) : count]]
    which = f"the first {count}" if count < len(tied) else _listed(["them" if tied else "it", *others])
    return f"{first}; measure {which} to have the fastest with {level:.0%}"


def ties_document(ranked: Sequence[RankedVariant], scatter: Scatter | None, level: float) -> dict[str, Any] | None:
    """Return the ties and the variants to measure for JSON, or None if ties are not known."""
    if scatter is None or not ranked or ranked[0].fastest is None:
        return None
    return {
        "level": level, "deviation": scatter.deviation, "freedom": scatter.freedom,
        "tied": [variant.name for variant in ranked if variant.tied],
        "to_measure": [variant.name for variant in ranked if variant.to_measure],
    }  # fmt: skip


Ties: TypeAlias = Mapping[int, Sequence[str]]
"""The variants that tie with the fastest one, itself included, at each end of a lead."""


def leads_lines(leads: Sequence[Lead], parameter: str, tied: Ties) -> list[str]:
    """Return a line for each lead. Neighbouring leads share a line if their variants tie at all ends."""
    lines, index = [], 0
    while index < len(leads):
        end = index + 1
        while end < len(leads) and _all_tie(leads[index : end + 1], tied):
            end += 1
        lines.append(_lead_text(leads[index:end], parameter, tied))
        index = end
    return lines


def _all_tie(leads: Sequence[Lead], tied: Ties) -> bool:
    names = {lead.name for lead in leads}
    return all(names <= set(tied.get(end, ())) for lead in leads for end in (lead.low, lead.high))


def _lead_text(leads: Sequence[Lead], parameter: str, tied: Ties) -> str:
    first, last = leads[0], leads[-1]
    names = list(dict.fromkeys(lead.name for lead in leads))
    ends = {end: [name for name in tied.get(end, ()) if name not in names] for end in (first.low, last.high)}
    phrases = [f"with {_listed(others)} at {end}" for end, others in ends.items() if others]
    if len(phrases) == 2 and ends[first.low] == ends[last.high]:
        phrases = [f"with {_listed(ends[first.low])} at both ends"]
    ties = f"ties {', '.join(phrases)}" if phrases else ""
    span = f"{parameter} from {first.low} to {last.high}"
    if len(leads) == 1:
        return f"{span}: {first.name}{f' ({ties})' if ties else ''}"
    turns = f"{first.name} to {first.high}, then {last.name}" if len(leads) == 2 else f"{len(leads) - 1} changes"
    return f"{span}: {' or '.join(names)}, which cannot be distinguished ({'; '.join(filter(None, (turns, ties)))})"


def left_out_lines(errors: Mapping[str, object]) -> list[str]:
    """Return a line for each reason why variants were left out. Texts that differ only in numbers are one reason.

    >>> left_out_lines({"tile=8": "needs 99 B", "tile=16": "needs 396 B", "wide": "cannot be built"})
    ['2 variants are left out (tile=8 and tile=16): needs 99 B', 'wide: cannot be built']
    """
    return [
        f"{names[0]}: {text}" if len(names) == 1
        else f"{len(names)} variants are left out ({_listed(names)}): {text}"
        for names, text in _by_reason(errors.items())
    ]  # fmt: skip


def noted_lines(notes: Iterable[tuple[str, object]], every: int) -> list[str]:
    """Return a line for each note on variants. Texts are merged if they differ only in numbers, but not in names.

    If a note is on all variants (`every` is their number), no names are written.

    >>> noted_lines([("a", "of the cache"), ("b", "of the cache"), ("b", "slow")], 2)
    ['of the cache', 'b: slow']
    >>> noted_lines([("a", "lacks circular_32"), ("b", "lacks circular_64"), ("c", "takes 1 s"), ("d", "takes 2 s")], 4)
    ['a: lacks circular_32', 'b: lacks circular_64', 'c and d: takes 1 s']
    """
    return [str(text) if len(names) == every > 1 else f"{_listed(names)}: {text}" for names, text in _by_reason(notes)]


def _by_reason(texts: Iterable[tuple[str, object]]) -> list[tuple[list[str], object]]:
    reasons: dict[str, tuple[dict[str, None], object]] = {}
    for name, text in texts:
        alike = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)|(?<![A-Za-z_\d])\d+", "0", str(text))
        names, _ = reasons.setdefault(alike, ({}, text))
        names[name] = None
    return [([*names], text) for names, text in reasons.values()]


def _listed(names: Sequence[str]) -> str:
    most = min(len(names), MOST_NAMES)
    while most > 2 and len(", ".join(names[:most])) > LONGEST:
        most -= 1
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


BROKEN = "breaks an assumption"

KernelPoints: TypeAlias = Sequence[Mapping[str, KernelPoint]]
"""For each size the roofline points of the variants; empty if they are not known."""


def interval_cell(record: Mapping[str, Any]) -> str:
    """Return the interval of a record with ``low_s`` and ``high_s``."""
    return NONE if record.get("low_s") is None else interval_text((record["low_s"], record["high_s"]))


def sweep_table(
    points: Sequence[Ranking], kernel_points: KernelPoints = (), withheld: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Return a record for each size and variant: time, interval, rank, ties, rates and the seconds of each term.

    A variant without a prediction has a record with the problem. A `withheld` variant has one record for all sizes.
    """
    names = tuple(points[0].sizes)
    terms = dict.fromkeys(term for point in points for variant in point for term in variant.terms)
    rates = tuple(column.key for column in RATES) if any(kernel_points) else ()
    of_variant = ("variant", "place", *COLUMNS[1:-1])  # features that were never measured are in notes
    empty = dict.fromkeys((*names, *of_variant, "problem", *rates, *(f"term.{term}" for term in terms)))
    records: list[dict[str, Any]] = []
    for point, here in zip(points, kernel_points or [{}] * len(points), strict=True):
        for rank, variant in enumerate(point, 1):
            known = {**point.sizes, "place": rank, **variant.record(), **_rates(here, variant.name)}
            records.append({key: known.get(key) for key in empty})
        records += [{**empty, **point.sizes, "variant": name, "problem": BROKEN} for name in point.broken]
    records += [{**empty, "variant": name, "problem": problem} for name, problem in withheld.items()]
    several = len(_variants(points)) > 1
    columns = [
        *(Column(name, name) for name in names), *[Column("variant", "variant")] * several,
        Column("predicted", write=lambda record: record["problem"] or seconds_text(record["seconds"])),
        *(RATES if rates else ()), Column("interval", write=interval_cell),
    ]  # fmt: skip
    return Table(columns, records, len(names) + several)


def winners_table(points: Sequence[Ranking], kernel_points: KernelPoints = ()) -> Table:
    """Return a record for each size: the fastest variant, its probability, its ties, its rates, and every time."""
    names = tuple(points[0].sizes)
    known = any(variant.fastest is not None for point in points for variant in point)
    records = []
    for point, here in zip(points, kernel_points or [{}] * len(points), strict=True):
        best = point[0] if point else None
        records.append({
            **{f"size.{name}": size for name, size in point.sizes.items()}, "best": best and best.name,
            "sure": best and best.fastest, "ties": ", ".join(one.name for one in point[1:] if one.tied) or None,
            **(_rates(here, best.name) if best else {}), **{f"time.{one.name}": one.seconds for one in point},
        })  # fmt: skip
    columns = [
        *(Column(name, f"size.{name}") for name in names), Column("fastest", "best"),
        *((Column("sure", "sure", percent), Column("ties with", "ties")) if known else ()),
        *(RATES if any(kernel_points) else ()),
        *(Column(name, f"time.{name}", seconds_text) for name in _variants(points)),
    ]  # fmt: skip
    return Table(columns, records, len(names) + 1)


def sweep_records(points: Sequence[Ranking], kernel_points: KernelPoints = ()) -> list[dict[str, Any]]:
    """Return the variants at each size for JSON, the fastest first."""
    return [{
        "sizes": dict(point.sizes), "broken": list(point.broken),
        "variants": [variant_document(variant, here.get(variant.name)) for variant in point],
    } for point, here in zip(points, kernel_points or [{}] * len(points), strict=True)]  # fmt: skip


def variant_document(variant: RankedVariant, point: KernelPoint | None = None) -> dict[str, Any]:
    """Return the prediction of a variant for JSON, with its rates if known. Infinite bounds become null."""
    taken = [caution.document() for caution in variant.cautions if isinstance(caution, FromRelative)]
    parts = shares(variant.seconds, variant.terms)
    terms = {term: {"seconds": seconds, "share": finite(share)} for term, seconds, share in parts}
    return {
        "variant": variant.name, "seconds": variant.seconds,
        "interval": variant.interval and [variant.interval[0], finite(variant.interval[1])],
        "terms": terms, "warnings": list(variant.warnings), "relatives": taken, "unmeasured": list(variant.unmeasured),
        "fastest": variant.fastest, "tied": variant.tied, "to_measure": variant.to_measure,
        **({} if variant.device_s is None else {"device_s": variant.device_s}),
        **({} if point is None else {**point.document, "roofline_s": finite(point.bound_s)}),
    }  # fmt: skip


def _rates(kernel_points: Mapping[str, KernelPoint], name: str) -> dict[str, float | None]:
    return kernel_points[name].document if name in kernel_points else {}


def _variants(points: Sequence[Ranking]) -> tuple[str, ...]:
    ranked = [variant.name for point in reversed(points) for variant in point]
    return tuple(dict.fromkeys([*ranked, *(name for point in points for name in point.broken)]))
