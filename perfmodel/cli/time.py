"""``perfmodel time``: run a kernel's variants, and print measured and predicted times."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from perfmodel import analyses, display, errors, measuring, opencl, report, tuning
from perfmodel.cli import numbers, options, output
from perfmodel.cli.output import sizes_text
from perfmodel.display import Column, Table

SCHEMA = "perfmodel.timing/1"
LEVEL = 0.9  # probability of the intervals
Visits = Annotated[int | None, Option("--visits", min=1, help="Visits to each variant, ten runs each: 3 by default.")]


def time_command(
    context: typer.Context, asked: options.KernelOptions, by: options.ModelOptions, size: options.SizeLists = None,
    visits: Visits = None, tolerance: options.Tolerance = None, keep: options.Keep = None, csv: options.Csv = False,
) -> None:  # fmt: skip
    """Run a kernel's variants and print measured and predicted times; compare their outputs.

    It takes a few seconds and 30 runs for each variant and size; it prints the expected duration first.
    """
    points, known = numbers.size_points(size), asked.statistics
    store = options.supervised_store(context, keep)
    measuring.pin_threads()
    loaded = asked.load(points)
    try:
        model, problem = by.load(), ""
    except errors.NoWeightsError as error:  # then times are only measured
        model, problem = None, str(error)
    device = opencl.find(by.device or (tuning.trials.index_of_device(model) if model else None))
    builders = {name: cache(build) for name, build in loaded.builders.items()}
    subgroup_size = model.fitted.subgroup_size if model else int(device.facts.value("subgroup_size"))
    with output.counting():
        counted = tuning.timing.counted_at(builders, points, subgroup_size, known, **options.data_at(loaded, points))
    campaign, bar = tuning.trials.TRIALS, output.CommandBar(failures=False)
    if visits is not None:
        campaign = replace(campaign, visits=visits, most_visits=max(visits, 2 * visits - 1))
    trials = tuning.trials.Trials(
        device, builders, points[0], campaign, loaded.arguments, kernel=asked.kernel.stem, statistics=known,
        progress=bar, compare=tolerance != math.inf, tolerance=tolerance, keep=store, reference=loaded.reference,
    )  # fmt: skip
    output.wait_until_quiet()
    timing = tuning.timing.time_kernel(trials, points, counted, model, LEVEL, bar)
    ran = any(point.ran for point in timing.points)
    if csv or output.settings().json or ran or len(left_out_lines(timing)) > 1:
        output.show(
            lambda: _document(timing, asked.kernel, keep),
            lambda: "\n".join(_lines(timing, asked.kernel, problem, keep)),
            timed_table(timing.points).csv if csv else None,
        )
    if not ran:
        first = timing.points[0].variants[0]
        raise errors.failed(first.name, first.row.status, first.row.message)


def _lines(timing: tuning.timing.Timing, kernel: Path, problem: str, keep: Path | None) -> list[str]:
    model, device = timing.model, timing.trials.device
    points = [point.without(timing.left_out) for point in timing.points]
    if not any(point.ran for point in points):
        return left_out_lines(timing)
    by = f", predicted by {model.family.name} at {LEVEL:.0%}" if model else ""
    at = f", {sizes_text(points[0].sizes)}" if len(points) == 1 and points[0].sizes else ""
    reached = (variant.reached for point in points for variant in point.variants if variant.reached)
    lines = [f"{kernel.stem} on {device.name}{at}{by}", timed_table(points).text(output.table_width())]
    lines += [*analyses.roofline.above_lines(reached), *order_lines(points)]
    if len(points) == 1 and len(points[0].variants) == 1 and (alone := points[0].variants[0]).predicted is not None:
        lines += [f"terms of {alone.name}:", output.terms_text(alone.predicted) or "  no term has a share"]
    notes = [*note_lines(points), *output_lines(points, timing.outputs)]
    notes += [f"{name}: {error}" for name, error in timing.withheld.items()]
    if model is None:
        notes.append(f"no predictions: {problem}")
    elif model.device != device.name:
        notes.append(f"the predictions are of another device, '{model.device}'")
    notes += left_out_lines(timing)
    return [*lines, *(f"note: {note}" for note in notes), *([f"records: {keep}"] if keep else [])]


def left_out_lines(timing: tuning.timing.Timing) -> list[str]:
    """Return a line for each reason why variants were left out."""
    variants = [variant for variant in timing.points[0].variants if variant.name in timing.left_out]
    return report.sweeps.left_out_lines({one.name: f"{one.row.status}: {one.row.message}" for one in variants})


def timed_table(points: Sequence[tuning.timing.TimedPoint]) -> Table:
    """Return a record for each size and variant, with the seconds of each predicted term."""
    every = [variant for point in points for variant in point.variants]
    names = tuple(points[0].sizes) if len(points) > 1 else ()
    columns = [Column(name, name) for name in (*names, "variant")]
    columns.append(Column("measured", write=_time_cell))
    if any(variant.reached for variant in every):
        columns += analyses.roofline.RATES
    if any(variant.predicted for variant in every):
        columns += [
            Column("predicted", "predicted_s", display.seconds_text),
            Column("interval", write=report.sweeps.interval_cell), Column("factor", "factor", "{:.3g}".format),
            Column("inside", "inside", lambda x: "yes" if x else "no"),
        ]  # fmt: skip
    terms = dict.fromkeys(term for variant in every if variant.predicted for term in variant.predicted.terms)
    records = []
    for point in points:
        for variant in point.variants:
            predicted = variant.predicted
            low, high = (predicted and predicted.interval) or (None, None)
            records.append({
                **point.sizes, **_record(variant), "flags": " ".join(variant.row.flags),
                "predicted_s": predicted and predicted.seconds, "low_s": low, "high_s": high,
                **{f"term.{term}": predicted.terms.get(term) if predicted else None for term in terms},
            })  # fmt: skip
    return Table(columns, records, len(names) + 1)


def _time_cell(record: Mapping[str, Any]) -> str:
    return str(record["status"]) if record["seconds"] is None else display.seconds_text(record["seconds"])


def order_lines(points: Sequence[tuning.timing.TimedPoint]) -> Iterator[str]:
    """Compare the measured with the predicted order, at each point with several variants."""
    for point in points:
        if len(point.variants) < 2 or not point.ran:
            continue
        at = f"{sizes_text(point.sizes)}: " * (len(points) > 1)
        short = len(points) == 1 and len(point.ran) <= report.sweeps.MOST_NAMES  # else the table has the order
        if short:
            yield f"order measured:  {', '.join(variant.name for variant in point.ran)}"
        if len(point.tied) > 1:
            yield f"{at}measured within 5 % of the fastest: {', '.join(point.tied)}"
        if point.regret is None:
            continue
        if short:
            yield f"order predicted: {', '.join(point.order_predicted)}"
        right, pairs = point.pairs
        which = "is the fastest" if point.regret == 0 else f"takes {point.regret:.1%} longer than {point.ran[0].name}"
        ordered = f"; {right} of {pairs} pairs in order" * (pairs > 0)
        yield f"{at}predicted first: {point.chosen}, which {which}{ordered}"


def note_lines(points: Sequence[tuning.timing.TimedPoint]) -> Iterator[str]:
    """Return failures, flags and cautions of predictions. A note on several variants appears once."""
    noted_at = defaultdict[tuple[str, str], list[str]](list)
    names = {variant.name for point in points for variant in point.variants}
    for point in points:
        for variant in point.variants:
            notes = [f"{variant.row.status}: {variant.row.message}"] * (variant.seconds is None)
            notes += [f"flag '{flag}': {output.FLAGS.get(flag, flag)}" for flag in variant.row.flags]
            notes += variant.predicted.warnings if variant.predicted else ()
            if variant.predicted and variant.predicted.unmeasured:
                notes.append(f"counted as free, never measured: {', '.join(variant.predicted.unmeasured)}")
            for note in notes:
                noted_at[variant.name, note].append(sizes_text(point.sizes))
    everywhere = [(name, note) for (name, note), at in noted_at.items() if not _where(at, points)]
    yield from report.sweeps.noted_lines(everywhere, len(names))
    yield from (f"{name}{where}: {note}" for (name, note), at in noted_at.items() if (where := _where(at, points)))


def output_lines(
    points: Sequence[tuning.timing.TimedPoint], outputs: Sequence[tuning.agreement.Agreement]
) -> Iterator[str]:
    """Return the comparison of outputs of several variants. The lines of :func:`note_lines` name wrong outputs."""
    noted_at = defaultdict[str, list[str]](list)
    for point, agreement in zip(points, outputs, strict=True):
        wrong = {f"{name}: {agreement.difference(name)}" for name in agreement.wrong}
        several = len(point.variants) > 1 or agreement.reference or agreement.uncompared
        for text in agreement.sentences if several else ():
            if text not in wrong:
                noted_at[text].append(sizes_text(point.sizes))
    yield from (text + _where(at, points) for text, at in noted_at.items())


def _where(at: Sequence[str], points: Sequence[tuning.timing.TimedPoint]) -> str:
    return f" ({'; '.join(at)})" if len(points) > 1 and len(at) < len(points) else ""


def _document(timing: tuning.timing.Timing, kernel: Path, keep: Path | None) -> dict[str, Any]:
    trials, model = timing.trials, timing.model
    uncompared = {name: problem for each in timing.outputs for name, problem in each.uncompared.items()}
    return {
        "schema": SCHEMA, "kernel": str(kernel), "device": trials.device.name, "platform": trials.device.platform,
        "family": model.family.name if model else None, "weights": str(model.path) if model and model.path else None,
        "predicted_device": model.device if model else None, "level": LEVEL, "visits": trials.campaign.visits,
        "runs": trials.campaign.runs, "dropped": trials.campaign.dropped,
        "points": [
            {**point_document(point), "outputs": outputs.to_json()}
            for point, outputs in zip(timing.points, timing.outputs, strict=True)
        ],
        **output.withheld_document(timing.withheld),
        "uncompared": [{"variant": name, "problem": problem} for name, problem in uncompared.items()],
        "spent": [{"variant": name, "seconds": trials.spent(name)} for name in trials.variants],
        "keep": None if keep is None else str(keep),
    }  # fmt: skip


def point_document(point: tuning.timing.TimedPoint) -> dict[str, Any]:
    """Return the variants at one point, for JSON."""
    right, pairs = point.pairs
    variants = [
        {**_record(variant), "predicted": variant.predicted and report.sweeps.variant_document(variant.predicted)}
        for variant in point.variants
    ]
    return {
        "sizes": dict(point.sizes), "variants": variants, "order_measured": [variant.name for variant in point.ran],
        "order_predicted": list(point.order_predicted), "tied": list(point.tied) if point.ran else [],
        "chosen": point.chosen, "regret": point.regret, "pairs_in_order": right, "pairs": pairs,
    }  # fmt: skip


def _record(variant: tuning.timing.TimedVariant) -> dict[str, Any]:
    row, ok = variant.row, variant.seconds is not None
    return {
        "variant": variant.name, "status": row.status, "message": row.message, "seconds": variant.seconds,
        "median_s": row.median if ok else None, "visits": len(row.every_visit) if ok else 0,
        "runs": len(row.samples_s), "flags": list(row.flags), "factor": variant.factor, "inside": variant.inside,
        **(variant.reached.document if variant.reached else {}),
    }  # fmt: skip
