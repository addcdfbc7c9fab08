"""``perfmodel time``: run a kernel's variants, and print their times beside the predicted ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import Csv, KernelOptions, ModelOptions, SizeLists, Tolerance, count_units, size_points
from perfmodel.cli.output import interval_document, print_document, print_text, sizes_text
from perfmodel.cli.settings import table_width
from perfmodel.cli.streams import begin_result, supervised_store
from perfmodel.display import interval_text
from perfmodel.errors import (
    AssumptionError,
    NoWeightsError,
    OptionError,
    ParameterError,
    PerfModelError,
    TrialError,
    UnmeasuredFeatureError,
)

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts
    from perfmodel.measuring import Campaign
    from perfmodel.opencl import Device
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.ranking import RankedVariant, Ranking
    from perfmodel.tuning.agreement import Agreement
    from perfmodel.tuning.timing import TimedPoint, TimedVariant
    from perfmodel.tuning.trials import Trials

SCHEMA = "perfmodel.timing/1"
#: Probability that intervals should have.
LEVEL = 0.9
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep", metavar="FOLDER",
        help="Add the records and counts to the store in this folder, which `fit` and `evaluate` read.",
    ),
]  # fmt: skip
Visits = Annotated[
    int | None, typer.Option("--visits", min=1, help="Visits to each variant, ten runs each: 3 by default.")
]


@dataclass(frozen=True, eq=False)
class _Outcome:
    """What a command found, to be printed."""

    kernel: Path
    device: Device
    model: FittedModel | None
    campaign: Campaign
    points: tuple[TimedPoint, ...]
    withheld: Mapping[str, str]
    outputs: tuple[Agreement, ...]
    spent: Mapping[str, tuple[float, float]]
    keep: Path | None
    problem: str


def command(
    context: typer.Context,
    asked: KernelOptions,
    by: ModelOptions,
    size: SizeLists = None,
    visits: Visits = None,
    tolerance: Tolerance = None,
    keep: Keep = None,
    csv: Csv = False,
    json: bool = False,
) -> None:
    """Run a kernel's variants and print measured beside predicted times; compare their outputs.

    Takes a few seconds and, for each variant and size, 30 runs; it says beforehand how long that is.
    """
    if csv and json:
        raise OptionError("--json and --csv both write to standard output", "give one of them")
    points, known = size_points(size), asked.statistics
    store = supervised_store(context, keep)
    from perfmodel.cli.settings import CommandBar
    from perfmodel.measuring import pin_threads
    from perfmodel.opencl import find
    from perfmodel.tuning.trials import TRIALS, Trials

    pin_threads()
    loaded = asked.load()
    model, problem = _model(by, told=not json)
    found = find(by.device or (_place_of(model) if model else None))
    subgroup_size = model.fitted.subgroup_size if model else int(found.facts.value("subgroup_size"))
    counted = _counted(loaded.variants, subgroup_size, known, points)
    swept, withheld = _predictions(counted, model, points) if model else ((), {})
    campaign = TRIALS if visits is None else replace(TRIALS, visits=visits, most_visits=max(visits, 2 * visits - 1))
    bar = CommandBar()
    options: dict[str, Any] = {
        "kernel": asked.kernel.stem, "statistics": known, "progress": bar, "tolerance": tolerance, "keep": store,
        "reference": loaded.reference,
    }  # fmt: skip
    with Trials(found, loaded.variants, points[0], campaign, loaded.arguments, **options) as trials:
        timed = _timed(trials, points, swept, bar)
        spent = {name: trials.spent(name) for name in trials.variants}
        outputs = tuple(trials.agreement(point) for point in points)
    outcome = _Outcome(
        asked.kernel, found, model, campaign, timed, withheld, outputs,
        {name: (one.building_s, one.running_s) for name, one in spent.items()}, keep, problem,
    )  # fmt: skip
    begin_result()
    ran = any(point.ran for point in timed)
    if json:
        print_document(_document(outcome))
    elif csv:

        print(timed_csv(timed), end="")
    elif ran or len(loaded.variants) > 1:
        print_text("\n".join(_lines(outcome)))
    if not ran:
        first = timed[0].variants[0]
        raise TrialError(first.name, first.row.status, first.row.message)


def _model(by: ModelOptions, told: bool) -> tuple[FittedModel | None, str]:
    """Return the model, or why there is none: without weights of the device the command only measures."""
    try:
        return by.load(told), ""
    except NoWeightsError as error:
        if by.family is not None:
            raise
        return None, str(error)


def _place_of(model: FittedModel) -> str | None:
    """Return the index of the model's device where this machine has it, and nothing else where it has not."""
    from perfmodel.opencl import devices

    platform = model.facts.platform if model.facts else None
    places = [one.index for one in devices() if one.name == model.device and platform in (None, one.platform)]
    return str(places[0]) if places else None


def _counted(
    units: Mapping[str, TranslationUnit],
    subgroup_size: int,
    known: Mapping[str, float],
    points: tuple[Mapping[str, int], ...],
) -> dict[str, KernelCounts]:
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
    found: dict[str, KernelCounts] = {}
    problems: list[PerfModelError] = []
    broken: list[AssumptionError] = []
    for name, unit in units.items():
        try:
            found[name] = count_units({name: unit}, subgroup_size, statistics=known)[name]
        except PerfModelError as error:
            problems.append(error)
    if not found:
        raise problems[0]
    for counts in found.values():
        for point in points:
            for name in point:
                if name not in counts.parameters:
                    raise ParameterError(name, "is unknown", counts.parameters)
            try:
                counts.work_groups()(**point)
            except AssumptionError as error:
                broken.append(error)
    if len(broken) == len(found) * len(points):
        raise broken[0]
    return found


def _predictions(
    counted: Mapping[str, KernelCounts],
    model: FittedModel,
    points: tuple[Mapping[str, int], ...],
) -> tuple[tuple[Ranking, ...], dict[str, str]]:
    """Predict the variants that can be at all points; return why the others cannot be."""
    from perfmodel.predicting.predictions import Predicting, together
    from perfmodel.predicting.ranking import rankings

    found = Predicting(model, LEVEL, spared=UnmeasuredFeatureError).predicted(counted, together(points))
    return rankings(found), {name: str(error) for name, error in found.errors.items()}


def _timed(
    trials: Trials, points: tuple[Mapping[str, int], ...], swept: tuple[Ranking, ...], bar: Any
) -> tuple[TimedPoint, ...]:
    """Say how long it takes, time the variants, and set the records beside the predictions."""
    from perfmodel.tuning.timing import expected_s, place_of, time_variants, timed_point

    known = {
        place_of(one.name, point.sizes): max(one.seconds, 0.0)
        for point in swept for one in point if point.sizes
    }  # fmt: skip
    every = [place_of(name, point) for point in points for name in trials.variants]
    visits, runs = trials.campaign.visits, trials.campaign.runs
    some = f"{_several(len(trials.variants), 'variant')} at {_several(len(points), 'size')}"
    told = f"timing {some} on {trials.device.name}: {_several(visits, 'visit')} of up to {runs} runs"
    if all(place in known for place in every):
        told += (
            f", about {max(expected_s([known[place] for place in every], trials.campaign), 1):.0f} s by the predictions"
        )
    bar.tell(f"{told}, and building")
    time_variants(trials, points, bar, known)
    ranked = {place_of("", point.sizes): point for point in swept}
    return tuple(
        timed_point(
            point, {name: row for name in trials.variants if (row := trials.judged(name, point))},
            ranked.get(place_of("", point), ()),
        )
        for point in points
    )  # fmt: skip


def _several(count: int, name: str) -> str:
    return f"{count} {name}{'s' * (count > 1)}"


def _lines(found: _Outcome) -> list[str]:

    by = f", predicted by {found.model.family.name} at {LEVEL:.0%}" if found.model else ""
    points = found.points
    at = f", {sizes_text(points[0].sizes)}" if len(points) == 1 and points[0].sizes else ""
    lines = [f"{found.kernel.stem} on {found.device.name}{at}{by}", timed_table(points, table_width())]
    lines += order_lines(points)
    alone = len(points) == 1 and len(points[0].variants) == 1
    for point in points if alone else ():
        for one in point.variants:
            if one.predicted is not None:
                at = f" at {sizes_text(point.sizes)}" * (len(points) > 1)
                lines += [f"terms of {one.name}{at}:", terms_text(one.predicted)]
    lines += [f"note: {note}" for note in note_lines(points)]
    lines += [f"note: {text}" for text in output_lines(points, found.outputs)]
    lines += [f"note: {name}: {error}" for name, error in found.withheld.items()]
    if found.model is None:
        lines.append(f"note: no predictions: {found.problem}")
    elif found.model.device != found.device.name:
        lines.append(f"note: the predictions are of another device, '{found.model.device}'")
    if found.keep is not None:
        lines.append(f"records: {found.keep}")
    return lines


def _document(found: _Outcome) -> dict[str, Any]:

    campaign = found.campaign
    return {
        "schema": SCHEMA,
        "kernel": str(found.kernel),
        "device": found.device.name,
        "platform": found.device.platform,
        "family": found.model.family.name if found.model else None,
        "weights": str(found.model.path) if found.model and found.model.path else None,
        "predicted_device": found.model.device if found.model else None,
        "level": LEVEL,
        "visits": campaign.visits,
        "runs": campaign.runs,
        "dropped": campaign.dropped,
        "points": [
            {**point_document(point), "outputs": outputs.to_json()}
            for point, outputs in zip(found.points, found.outputs, strict=True)
        ],
        "withheld": [{"variant": name, "problem": error} for name, error in found.withheld.items()],
        "uncompared": [
            {"variant": name, "problem": why}
            for name, why in {name: why for one in found.outputs for name, why in one.uncompared.items()}.items()
        ],
        "spent": [
            {"variant": name, "building_s": building, "running_s": running}
            for name, (building, running) in found.spent.items()
        ],
        "keep": None if found.keep is None else str(found.keep),
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
    from perfmodel.display import fitted_text, seconds_text

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
    from perfmodel.display import fitted_text, percent, seconds_text

    parts = sorted(((term, part) for term, part in one.terms.items() if part), key=lambda pair: -abs(pair[1]))
    share = {term: part / one.seconds if one.seconds > 0 else None for term, part in parts}
    rows = [(f"  {term}", seconds_text(part), percent(share[term])) for term, part in parts]
    return fitted_text(rows, width=table_width()) if rows else "  no term has a share"


def timed_csv(points: Sequence[TimedPoint]) -> str:
    """Return a row for each size and variant with all that is known, and the seconds of each term."""
    from perfmodel.display import csv_text

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
