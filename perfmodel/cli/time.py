"""``perfmodel time``: run a kernel's variants, and print their times beside the predicted ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from perfmodel import display, errors
from perfmodel.cli import numbers, options, output
from perfmodel.cli.output import sizes_text
from perfmodel.cli.streams import begin_result, supervised_store

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.ranking import Ranking
    from perfmodel.tuning.agreement import Agreement
    from perfmodel.tuning.timing import TimedPoint, TimedVariant
    from perfmodel.tuning.trials import Trials

SCHEMA = "perfmodel.timing/1"
#: Probability that intervals should have.
LEVEL = 0.9
Keep = Annotated[
    Path | None,
    Option(
        "--keep", metavar="FOLDER",
        help="Add the records and counts to the store in this folder, which `fit` and `evaluate` read.",
    ),
]  # fmt: skip
Visits = Annotated[int | None, Option("--visits", min=1, help="Visits to each variant, ten runs each: 3 by default.")]


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What came of timing, to be printed."""

    kernel: Path
    trials: Trials
    model: FittedModel | None
    points: tuple[TimedPoint, ...]
    withheld: Mapping[str, str]
    outputs: tuple[Agreement, ...]
    keep: Path | None
    problem: str  # why there is no model


def time_command(
    context: typer.Context,
    asked: options.KernelOptions,
    by: options.ModelOptions,
    size: options.SizeLists = None,
    visits: Visits = None,
    tolerance: options.Tolerance = None,
    keep: Keep = None,
    csv: options.Csv = False,
) -> None:
    """Run a kernel's variants and print measured beside predicted times; compare their outputs.

    Takes a few seconds and, for each variant and size, 30 runs; it says beforehand how long that is.
    """
    output.no_csv_beside_json(csv)
    points, known = numbers.size_points(size), asked.statistics
    store = supervised_store(context, keep)
    from perfmodel.measuring import pin_threads
    from perfmodel.opencl import find
    from perfmodel.tuning.trials import TRIALS, Trials

    pin_threads()
    loaded = asked.load()
    model, problem = _model(by)
    device = find(by.device or (_place_of(model) if model else None))
    subgroup_size = model.fitted.subgroup_size if model else int(device.facts.value("subgroup_size"))
    counted = _counted(loaded.variants, subgroup_size, known, points)
    predicted, withheld = _predictions(counted, model, points) if model else ((), {})
    campaign = TRIALS if visits is None else replace(TRIALS, visits=visits, most_visits=max(visits, 2 * visits - 1))
    bar = output.CommandBar()
    with Trials(
        device, loaded.variants, points[0], campaign, loaded.arguments, kernel=asked.kernel.stem, statistics=known,
        progress=bar, tolerance=tolerance, keep=store, reference=loaded.reference,
    ) as trials:  # fmt: skip
        timed = _timed(trials, points, predicted, bar)
        outputs = tuple(trials.agreement(point) for point in points)
    outcome = _Outcome(asked.kernel, trials, model, timed, withheld, outputs, keep, problem)
    begin_result()
    ran = any(point.ran for point in timed)
    if output.settings().json:
        output.print_document(_document(outcome))
    elif csv:
        print(timed_csv(timed), end="")
    elif ran or len(loaded.variants) > 1:
        output.print_text("\n".join(_lines(outcome)))
    if not ran:
        first = timed[0].variants[0]
        raise errors.TrialError(first.name, first.row.status, first.row.message)


def _model(by: options.ModelOptions) -> tuple[FittedModel | None, str]:
    """Return the model, or why there is none: without weights of the device the command only measures."""
    try:
        return by.load(), ""
    except errors.NoWeightsError as error:
        if by.family is not None:
            raise
        return None, str(error)


def _place_of(model: FittedModel) -> str | None:
    """Return the index of the model's device where this machine has it, and nothing else where it has not."""
    from perfmodel.opencl import devices

    platform = model.facts.platform if model.facts else None
    here = [device for device in devices() if device.name == model.device and platform in (None, device.platform)]
    return str(here[0].index) if here else None


def _counted(
    units: Mapping[str, TranslationUnit], subgroup_size: int, known: Mapping[str, float],
    points: tuple[Mapping[str, int], ...],
) -> dict[str, KernelCounts]:  # fmt: skip
    """Return the counts of the variants that can be counted; the records of the others say why they cannot.

    Raises
    ------
    ParameterError
        If a size is missing or unknown.
    AssumptionError
        If no variant may run at any of the points.
    PerfModelError
        If no variant can be counted.
    """
    counted: dict[str, KernelCounts] = {}
    problems: list[errors.PerfModelError] = []
    broken: list[errors.AssumptionError] = []
    for name, unit in units.items():
        try:
            counted |= options.count_units({name: unit}, subgroup_size, statistics=known)
        except errors.PerfModelError as error:
            problems.append(error)
    if not counted:
        raise problems[0]
    for counts in counted.values():
        for point in points:
            for name in point:
                if name not in counts.parameters:
                    raise errors.ParameterError(name, "is unknown", counts.parameters)
            try:
                counts.work_groups()(**point)
            except errors.AssumptionError as error:
                broken.append(error)
    if len(broken) == len(counted) * len(points):
        raise broken[0]
    return counted


def _predictions(
    counted: Mapping[str, KernelCounts], model: FittedModel, points: tuple[Mapping[str, int], ...]
) -> tuple[tuple[Ranking, ...], dict[str, str]]:
    """Predict the variants that can be at all points; return why the others cannot be."""
    from perfmodel.predicting.predictions import Predicting, together
    from perfmodel.predicting.ranking import rankings

    predictions = Predicting(model, LEVEL, spared=errors.UnmeasuredFeatureError).predicted(counted, together(points))
    return rankings(predictions), {name: str(error) for name, error in predictions.errors.items()}


def _timed(
    trials: Trials, points: tuple[Mapping[str, int], ...], predicted: tuple[Ranking, ...], bar: output.CommandBar
) -> tuple[TimedPoint, ...]:
    """Say how long it takes, time the variants, and set the records beside the predictions."""
    from perfmodel.tuning.timing import expected_s, place_of, time_variants, timed_point

    known = {
        place_of(variant.name, ranking.sizes): max(variant.seconds, 0.0)
        for ranking in predicted for variant in ranking if ranking.sizes
    }  # fmt: skip
    every = [place_of(name, point) for point in points for name in trials.variants]
    visits, runs = trials.campaign.visits, trials.campaign.runs
    what = f"{_several(len(trials.variants), 'variant')} at {_several(len(points), 'size')}"
    told = f"timing {what} on {trials.device.name}: {_several(visits, 'visit')} of up to {runs} runs"
    if all(place in known for place in every):
        seconds = max(expected_s([known[place] for place in every], trials.campaign), 1)
        told += f", about {seconds:.0f} s by the predictions"
    bar.tell(f"{told}, and building")
    time_variants(trials, points, bar, known)
    rankings = {place_of("", ranking.sizes): ranking for ranking in predicted}
    return tuple(
        timed_point(
            point, {name: row for name in trials.variants if (row := trials.judged(name, point))},
            rankings.get(place_of("", point), ()),
        )
        for point in points
    )  # fmt: skip


def _several(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count > 1)}"


def _lines(outcome: _Outcome) -> list[str]:
    points, model, device = outcome.points, outcome.model, outcome.trials.device
    by = f", predicted by {model.family.name} at {LEVEL:.0%}" if model else ""
    at = f", {sizes_text(points[0].sizes)}" if len(points) == 1 and points[0].sizes else ""
    lines = [f"{outcome.kernel.stem} on {device.name}{at}{by}", timed_table(points, output.table_width())]
    lines += order_lines(points)
    if len(points) == 1 and len(points[0].variants) == 1:
        (variant,) = points[0].variants
        if variant.predicted is not None:
            terms = output.terms_text(variant.predicted) or "  no term has a share"
            lines += [f"terms of {variant.name}:", terms]
    notes = [*note_lines(points), *output_lines(points, outcome.outputs)]
    notes += [f"{name}: {problem}" for name, problem in outcome.withheld.items()]
    if model is None:
        notes.append(f"no predictions: {outcome.problem}")
    elif model.device != device.name:
        notes.append(f"the predictions are of another device, '{model.device}'")
    return [*lines, *(f"note: {note}" for note in notes), *([f"records: {outcome.keep}"] if outcome.keep else [])]


def _document(outcome: _Outcome) -> dict[str, Any]:
    trials, model = outcome.trials, outcome.model
    uncompared = {name: problem for each in outcome.outputs for name, problem in each.uncompared.items()}
    spent = {name: trials.spent(name) for name in trials.variants}
    return {
        "schema": SCHEMA,
        "kernel": str(outcome.kernel),
        "device": trials.device.name,
        "platform": trials.device.platform,
        "family": model.family.name if model else None,
        "weights": str(model.path) if model and model.path else None,
        "predicted_device": model.device if model else None,
        "level": LEVEL,
        "visits": trials.campaign.visits,
        "runs": trials.campaign.runs,
        "dropped": trials.campaign.dropped,
        "points": [
            {**point_document(point), "outputs": outputs.to_json()}
            for point, outputs in zip(outcome.points, outcome.outputs, strict=True)
        ],
        "withheld": [{"variant": name, "problem": problem} for name, problem in outcome.withheld.items()],
        "uncompared": [{"variant": name, "problem": problem} for name, problem in uncompared.items()],
        "spent": [
            {"variant": name, "building_s": cost.building_s, "running_s": cost.running_s}
            for name, cost in spent.items()
        ],
        "keep": None if outcome.keep is None else str(outcome.keep),
    }


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
    names = tuple(points[0].sizes) if len(points) > 1 else ()
    known = any(variant.predicted for point in points for variant in point.variants)
    rows = [(*names, "variant", "measured", *("predicted", "interval", "factor", "inside") * known)]
    for point in points:
        for variant in point.variants:
            prediction = variant.predicted
            cells = [*(str(point.sizes[name]) for name in names), variant.name]
            cells.append(variant.row.status if variant.seconds is None else display.seconds_text(variant.seconds))
            if known:
                cells.append(display.seconds_text(prediction.seconds) if prediction else NONE)
                cells.append(display.interval_text(prediction.interval) if prediction else NONE)
                cells.append(NONE if variant.factor is None else f"{variant.factor:.3g}")
                cells.append({None: NONE, True: "yes", False: "no"}[variant.inside])
            rows.append(tuple(cells))
    return display.fitted_text(rows, len(names) + 1, DROPPED, width)


def order_lines(points: Sequence[TimedPoint]) -> Iterator[str]:
    """Say how the order measured compares with the order predicted, at each point with several variants."""
    for point in points:
        if len(point.variants) < 2 or not point.ran:
            continue
        at = f"{sizes_text(point.sizes)}: " * (len(points) > 1)
        if len(points) == 1:
            yield f"order measured:  {', '.join(variant.name for variant in point.ran)}"
        if len(point.tied) > 1:
            yield f"{at}measured within 5 % of the fastest: {', '.join(point.tied)}"
        if point.regret is None:
            continue
        if len(points) == 1:
            yield f"order predicted: {', '.join(point.order_predicted)}"
        right, pairs = point.pairs
        which = "is the fastest" if point.regret == 0 else f"takes {point.regret:.1%} longer than {point.ran[0].name}"
        ordered = f"; {right} of {pairs} pairs in order" * (pairs > 0)
        yield f"{at}predicted first: {point.chosen}, which {which}{ordered}"


def note_lines(points: Sequence[TimedPoint]) -> Iterator[str]:
    """Say what failed, which times are suspicious, and what the predictions warn of; each once."""
    places: dict[tuple[str, str], list[str]] = {}
    for point in points:
        for variant in point.variants:
            notes = [f"{variant.row.status}: {variant.row.message}"] * (variant.seconds is None)
            notes += [f"flag '{flag}': {FLAGS.get(flag, flag)}" for flag in variant.row.flags]
            notes += variant.predicted.warnings if variant.predicted else ()
            if variant.predicted and variant.predicted.unmeasured:
                notes.append(f"counted as free, never measured: {', '.join(variant.predicted.unmeasured)}")
            for note in notes:
                places.setdefault((variant.name, note), []).append(sizes_text(point.sizes))
    yield from (f"{name}{_where(at, points)}: {note}" for (name, note), at in places.items())


def output_lines(points: Sequence[TimedPoint], outputs: Sequence[Agreement]) -> Iterator[str]:
    """Say what was compared and came out where variants are several; what is wrong, :func:`note_lines` says."""
    places: dict[str, list[str]] = {}
    for point, agreement in zip(points, outputs, strict=True):
        wrong = {f"{name}: {agreement.difference(name)}" for name in agreement.wrong}
        several = len(point.variants) > 1 or agreement.reference or agreement.uncompared
        for text in agreement.sentences if several else ():
            if text not in wrong:
                places.setdefault(text, []).append(sizes_text(point.sizes))
    yield from (text + _where(at, points) for text, at in places.items())


def _where(at: Sequence[str], points: Sequence[TimedPoint]) -> str:
    """Return the sizes that a note is about, in parentheses; nothing where it is about all of them."""
    return f" ({'; '.join(at)})" if len(points) > 1 and len(at) < len(points) else ""


def timed_csv(points: Sequence[TimedPoint]) -> str:
    """Return a row for each size and variant with all that is known, and the seconds of each term."""
    predictions = [variant.predicted for point in points for variant in point.variants if variant.predicted]
    terms = dict.fromkeys(term for prediction in predictions for term in prediction.terms)
    records = []
    for point in points:
        for variant in point.variants:
            record, prediction = _record(variant), variant.predicted
            low, high = (prediction and prediction.interval) or (None, None)
            record.update(flags=" ".join(variant.row.flags), low_s=low, high_s=high)
            record["predicted_s"] = prediction.seconds if prediction else None
            parts = prediction.terms if prediction else {}
            records.append({**point.sizes, **record, **{f"term.{term}": parts.get(term) for term in terms}})
    return display.csv_text((*points[0].sizes, *COLUMNS, *(f"term.{term}" for term in terms)), records)


def point_document(point: TimedPoint) -> dict[str, Any]:
    """Return the variants at one point for JSON."""
    right, pairs = point.pairs
    variants = []
    for variant in point.variants:
        prediction = variant.predicted
        variants.append({**_record(variant), "predicted": prediction and {
            "seconds": prediction.seconds, "interval": output.interval_document(prediction.interval),
            "terms": dict(prediction.terms), "warnings": list(prediction.warnings),
            "unmeasured": list(prediction.unmeasured),
        }})  # fmt: skip
    return {
        "sizes": dict(point.sizes),
        "variants": variants,
        "order_measured": [variant.name for variant in point.ran],
        "order_predicted": list(point.order_predicted),
        "tied": list(point.tied) if point.ran else [],
        "chosen": point.chosen,
        "regret": point.regret,
        "pairs_in_order": right,
        "pairs": pairs,
    }


def _record(variant: TimedVariant) -> dict[str, Any]:
    row, ok = variant.row, variant.seconds is not None
    return {
        "variant": variant.name, "status": row.status, "message": row.message, "seconds": variant.seconds,
        "median_s": row.median if ok else None, "visits": len(row.every_visit) if ok else 0,
        "runs": len(row.samples_s), "flags": list(row.flags), "factor": variant.factor, "inside": variant.inside,
    }  # fmt: skip
