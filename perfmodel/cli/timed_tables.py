"""What ``perfmodel time`` prints: measured beside predicted times as lines, CSV and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.cli.output import interval_document, interval_text, sizes_text
from perfmodel.cli.settings import table_width

if TYPE_CHECKING:
    from perfmodel.predicting.ranking import RankedVariant
    from perfmodel.tuning.agreement import Agreement
    from perfmodel.tuning.timing import TimedPoint, TimedVariant

COLUMNS = (
    "variant", "status", "seconds", "median_s", "visits", "runs", "flags", "predicted_s", "low_s", "high_s", "factor",
    "inside", "message",
)  # fmt: skip
DROPPED = ("interval", "inside", "factor")
"""Columns that a narrow terminal leaves out, in this order."""
NONE = "-"
FLAGS = {
    "spread": "the runs of a visit spread by more than 20 %",
    "clock": "the device's clock and the host's contradict each other",
    "bound": "faster than the device can be: the counted work was not done",
    "visits": "the two fastest visits differ by more than 5 %",
}


def timed_table(points: Sequence[TimedPoint], width: int | None = None) -> str:
    """Return a row for each size and variant: measured beside predicted, the interval, and the factor between both.

    Of one size the heading above says which it is.
    """
    from perfmodel.report import seconds_text
    from perfmodel.report.fitted import fitted_text

    names = tuple(points[0].sizes) if len(points) > 1 else ()
    known = any(one.predicted for point in points for one in point.variants)
    rows = [(*names, "variant", "measured", *("predicted", "interval", "factor", "inside") * known)]
    for point in points:
        for one in point.variants:
            cells = [*(str(point.sizes[name]) for name in names), one.name]
            cells.append(one.row.status if one.seconds is None else seconds_text(one.seconds))
            if known:
                cells.append(seconds_text(one.predicted.seconds) if one.predicted else NONE)
                cells.append(interval_text(one.predicted.interval) if one.predicted else NONE)
                cells.append(NONE if one.factor is None else f"{one.factor:.3g}")
                cells.append({None: NONE, True: "yes", False: "no"}[one.inside])
            rows.append(tuple(cells))
    return fitted_text(rows, len(names) + 1, DROPPED, width)


def order_lines(points: Sequence[TimedPoint]) -> Iterator[str]:
    """Say how the order measured compares with the order predicted, at each point with several variants."""
    for point in points:
        if len(point.variants) < 2 or not point.ran:
            continue
        at = f"{sizes_text(point.sizes)}: " * (len(points) > 1)
        if len(points) == 1:
            yield f"order measured:  {', '.join(one.name for one in point.ran)}"
        if len(point.tied) > 1:
            yield f"{at}measured within 5 % of the fastest: {', '.join(point.tied)}"
        if point.regret is None:
            continue
        if len(points) == 1:
            yield f"order predicted: {', '.join(point.order_predicted)}"
        right, pairs = point.pairs
        which = "is the fastest" if point.regret == 0 else f"takes {point.regret:.1%} longer than {point.ran[0].name}"
        yield f"{at}predicted first: {point.chosen}, which {which}" + f"; {right} of {pairs} pairs in order" * (
            pairs > 0
        )


def note_lines(points: Sequence[TimedPoint]) -> Iterator[str]:
    """Say what failed, which times are suspicious, and what the predictions warn of; each once."""
    told: dict[tuple[str, str], list[str]] = {}
    for point in points:
        for one in point.variants:
            notes = [f"{one.row.status}: {one.row.message}"] * (one.seconds is None)
            notes += [f"flag '{flag}': {FLAGS.get(flag, flag)}" for flag in one.row.flags]
            notes += one.predicted.warnings if one.predicted else ()
            if one.predicted and one.predicted.unmeasured:
                notes.append(f"counted as free, never measured: {', '.join(one.predicted.unmeasured)}")
            for note in notes:
                told.setdefault((one.name, note), []).append(sizes_text(point.sizes))
    for (name, note), where in told.items():
        some = len(points) > 1 and len(where) < len(points)
        yield f"{name}" + f" ({'; '.join(where)})" * some + f": {note}"


def output_lines(points: Sequence[TimedPoint], outputs: Sequence[Agreement]) -> Iterator[str]:
    """Say what was compared and came out where variants are several; what is wrong, :func:`note_lines` says."""
    told: dict[str, list[str]] = {}
    for point, found in zip(points, outputs, strict=True):
        wrong = {f"{name}: {found.difference(name)}" for name in found.wrong}
        for text in found.sentences if len(point.variants) > 1 or found.reference or found.uncompared else ():
            if text not in wrong:
                told.setdefault(text, []).append(sizes_text(point.sizes))
    for text, where in told.items():
        yield text + f" ({'; '.join(where)})" * (len(points) > 1 and len(where) < len(points))


def terms_text(one: RankedVariant) -> str:
    """Return the time of each term of a prediction and its share, the largest first."""
    from perfmodel.report import percent, seconds_text
    from perfmodel.report.fitted import fitted_text

    parts = sorted(((term, part) for term, part in one.terms.items() if part), key=lambda pair: -abs(pair[1]))
    share = {term: part / one.seconds if one.seconds > 0 else None for term, part in parts}
    rows = [(f"  {term}", seconds_text(part), percent(share[term])) for term, part in parts]
    return fitted_text(rows, width=table_width()) if rows else "  no term has a share"


def timed_csv(points: Sequence[TimedPoint]) -> str:
    """Return a row for each size and variant with all that is known, and the seconds of each term."""
    from perfmodel.report.layout import csv_text

    every = [one for point in points for one in point.variants]
    terms = dict.fromkeys(term for one in every if one.predicted for term in one.predicted.terms)
    names = tuple(points[0].sizes)
    records = []
    for point in points:
        for one in point.variants:
            found = _record(one)
            low, high = (one.predicted and one.predicted.interval) or (None, None)
            found.update(flags=" ".join(one.row.flags), low_s=low, high_s=high)
            found["predicted_s"] = one.predicted.seconds if one.predicted else None
            parts = one.predicted.terms if one.predicted else {}
            own = {name: found[name] for name in COLUMNS}
            records.append({**point.sizes, **own, **{f"term.{term}": parts.get(term) for term in terms}})
    return csv_text((*names, *COLUMNS, *(f"term.{term}" for term in terms)), records)


def point_document(point: TimedPoint) -> dict[str, Any]:
    """Return the variants at one point for JSON."""
    right, pairs = point.pairs
    return {
        "sizes": dict(point.sizes),
        "variants": [{**_record(one), "predicted": _prediction(one.predicted)} for one in point.variants],
        "order_measured": [one.name for one in point.ran],
        "order_predicted": list(point.order_predicted),
        "tied": list(point.tied) if point.ran else [],
        "chosen": point.chosen,
        "regret": point.regret,
        "pairs_in_order": right,
        "pairs": pairs,
    }


def _record(one: TimedVariant) -> dict[str, Any]:
    ok = one.seconds is not None
    return {
        "variant": one.name, "status": one.row.status, "message": one.row.message, "seconds": one.seconds,
        "median_s": one.row.median if ok else None, "visits": len(one.row.every_visit) if ok else 0,
        "runs": len(one.row.samples_s), "flags": list(one.row.flags), "factor": one.factor, "inside": one.inside,
    }  # fmt: skip


def _prediction(one: RankedVariant | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {
        "seconds": one.seconds, "interval": interval_document(one.interval), "terms": dict(one.terms),
        "warnings": list(one.warnings), "unmeasured": list(one.unmeasured),
    }  # fmt: skip
