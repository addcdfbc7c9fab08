"""``perfmodel predict``: seconds for a kernel's variants from saved weights, fastest first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.anchoring import AnchoredRanking, anchor_lines, ranked_variants
from perfmodel.cli.bounds import bounds_of
from perfmodel.cli.options import (
    AllowUnmeasured,
    Anchored,
    Csv,
    DeviceFile,
    DeviceName,
    Jobs,
    KernelFile,
    Level,
    OwnFamily,
    Paired,
    SizeLists,
    Statistics,
    Variant,
    WeightsFile,
    model_of,
    size_points,
    statistics,
)
from perfmodel.cli.output import (
    anchor_document,
    interval_text,
    model_document,
    print_document,
    print_text,
    sizes_text,
    variant_document,
    withheld_document,
)
from perfmodel.cli.settings import table_width
from perfmodel.cli.sweeping import Asked, show_sweep
from perfmodel.errors import OptionError, PictureFormatError

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.ranking import RankedVariant

SCHEMA = "perfmodel.prediction/1"

Why = Annotated[
    bool,
    typer.Option("--why", help="Say what bounds each variant, with weights of work_depth or gpuperf."),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--picture", metavar="FILE.png|.svg",
        help="Draw time against size, where -p gives several; with --why and gpuperf weights what could be saved.",
    ),
]  # fmt: skip


def command(
    kernel: KernelFile,
    weights: WeightsFile = None,
    family: OwnFamily = None,
    device: DeviceName = None,
    variant: Variant = None,
    size: SizeLists = None,
    paired: Paired = False,
    statistic: Statistics = None,
    facts: DeviceFile = None,
    level: Level = 0.9,
    allow_unmeasured: AllowUnmeasured = False,
    anchor: Anchored = False,
    why: Why = False,
    picture: Picture = None,
    csv: Csv = False,
    json: bool = False,
    jobs: Jobs = None,
) -> None:
    """Predict a kernel's run time and the share of each term; several variants are ranked.

    With several sizes, a table of times.
    """
    from perfmodel.io import is_standard_output
    from perfmodel.report.sweeps import ties_document

    if picture is not None and is_standard_output(picture):  # where the text goes
        raise PictureFormatError(picture, (".png", ".svg"))
    if why and jobs is not None:
        raise OptionError("--why and --jobs were both given", "give one of them: --why asks the counts in one process")
    points, known = size_points(size, paired), statistics(statistic)
    model = model_of(weights, family, facts, device, told=not json)
    if len(points) > 1 or csv or (picture is not None and not why):
        if why:
            raise OptionError("--why was given with several sizes or --csv", "give one size, without --csv")
        asked = Asked(kernel, variant, model, points, level, allow_unmeasured, anchor, known, jobs)
        show_sweep(asked, winners=False, csv=csv, json=json, picture=picture)
        return
    (at,) = points
    ranking = ranked_variants(kernel, variant, model, at, level, allow_unmeasured, anchor, known, jobs)
    found = ranking.variants
    bounds: dict[str, dict[str, Any]] = {}
    if why:
        bounds = bounds_of(model, {one.name: ranking.counted[one.name] for one in found}, at, picture)
    if not json:
        _print_ranking(model, at, level, ranking)
        for name, bound in bounds.items():
            print_text(f"\n{name}: {bound['text']}")
        return
    predictions: dict[str, Any] = {
        "predictions": [_record(one) for one in found],
        **withheld_document(ranking.withheld),
        "ties": ties_document(found, ranking.scatter, level),
        "anchors": [anchor_document(one) for one in ranking.anchors.values()],
    }
    if why:
        predictions["why"] = bounds
    head = {**model_document(kernel, model, at), "level": level}
    print_document({"schema": SCHEMA, **head, **predictions, "notes": list(model.notes)})


def _record(one: RankedVariant) -> dict[str, Any]:
    terms = {
        term: {"seconds": seconds, "share": _share(seconds, one.seconds)}
        for term, seconds in _largest_first(one.terms)
    }
    return {**variant_document(one), "terms": terms, "unmeasured": list(one.unmeasured)}


def _print_ranking(model: FittedModel, at: Mapping[str, int], level: float, ranking: AnchoredRanking) -> None:
    from perfmodel.report.sweeps import ties_text

    print_text(f"{model.family.name} on {model.device}" + f", {sizes_text(at)}" * bool(at))
    for line in anchor_lines(ranking.anchors):
        print_text(line)
    for one in ranking.variants:
        _print_prediction(one, level)
    if len(ranking.variants) > 1:
        print_text("\nfastest first: " + ", ".join(one.name for one in ranking.variants))
        print_text(ties_text(ranking.variants, ranking.scatter, level))
    for name, error in ranking.withheld.items():
        print_text(f"\n{name}: {error}")


def _print_prediction(one: RankedVariant, level: float) -> None:
    from perfmodel.display import fitted_text, percent, seconds_text

    interval = f" ({interval_text(one.interval)} at {level:.0%})" if one.interval else ""
    print_text(f"\n{one.name}: {seconds_text(one.seconds)}{interval}")
    for warning in one.warnings:
        print_text(f"note: {warning}")
    if one.unmeasured:
        print_text(f"note: counted as free, never measured: {', '.join(one.unmeasured)}")
    rows = [
        (f"  {term}", seconds_text(seconds), percent(_share(seconds, one.seconds)))
        for term, seconds in _largest_first(one.terms)
        if seconds
    ]
    if rows:
        print_text(fitted_text(rows, width=table_width()))


def _largest_first(terms: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(terms.items(), key=lambda pair: -abs(pair[1]))


def _share(seconds: float, total: float) -> float | None:
    return seconds / total if total > 0 else None
