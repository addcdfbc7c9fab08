"""``perfmodel predict``: seconds for a kernel's variants from saved weights; what ``perfmodel rank`` has in common."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    check_anchored,
    count_jobs,
    counting,
    kernel_file_of,
    model_of,
    size_points,
    statistics,
)
from perfmodel.cli.output import (
    anchor_document,
    check_format,
    model_document,
    print_document,
    print_text,
    sizes_text,
    variant_document,
    weights_document,
    withheld_document,
)
from perfmodel.cli.settings import table_width
from perfmodel.display import interval_text
from perfmodel.errors import OptionError, PerfModelError, PictureFormatError, UnmeasuredFeatureError
from perfmodel.lazy import Lazy

if TYPE_CHECKING:
    from perfmodel.kernels.files import KernelFile as LoadedFile
    from perfmodel.predicting.crossovers import Lead
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.predictions import Anchor, Predictions
    from perfmodel.predicting.ranking import RankedVariant, Ranking

SCHEMA = "perfmodel.prediction/1"
SWEEP_SCHEMA = "perfmodel.sweep/1"
PANELS = 6  # most combinations of the other sizes that a picture shows

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

    if picture is not None and is_standard_output(picture):  # where the text goes
        raise PictureFormatError(picture, (".png", ".svg"))
    if why and jobs is not None:
        raise OptionError("--why and --jobs were both given", "give one of them: --why asks the counts in one process")
    points, known = size_points(size, paired), statistics(statistic)
    model = model_of(weights, family, facts, device, told=not json)
    asked = Asked(kernel, variant, model, points, level, allow_unmeasured, anchor, known, jobs)
    if len(points) == 1 and not csv and (picture is None or why):
        _show(asked, json, why, picture)
    elif why:
        raise OptionError("--why was given with several sizes or --csv", "give one size, without --csv")
    else:
        show_sweep(asked, winners=False, csv=csv, json=json, picture=picture)


@dataclass(frozen=True)
class Asked(Lazy):
    """What is predicted, and how.

    Parameters
    ----------
    kernel, variant
        The kernel file, and the variants of it; all of them where there is none.
    model
        The model.
    points
        The sizes.
    level, allow_unmeasured, anchored, statistics, jobs
        As the options of these names.
    """

    kernel: Path
    variant: Collection[str] | None
    model: FittedModel
    points: tuple[Mapping[str, int], ...]
    level: float
    allow_unmeasured: bool
    anchored: bool
    statistics: Mapping[str, float]
    jobs: int | None = None

    @cached_property
    def file(self) -> LoadedFile:
        """The kernel file, with the variants asked for."""
        loaded = kernel_file_of(self.kernel, self.variant)
        check_anchored(self.anchored, self.statistics, loaded)
        return loaded

    def predicted(self, sizes: Mapping[str, Any]) -> Predictions:
        """Predict the variants at sizes.

        Without ``--jobs`` only those that need a feature which was never measured are left out; else all that fail.
        """
        from perfmodel.cli.settings import CommandBar
        from perfmodel.predicting.predictions import Predicting

        alone, bar = self.jobs is None, CommandBar()
        predicting = Predicting(
            self.model, self.level, self.allow_unmeasured, named=alone, jobs=self.jobs,
            spared=UnmeasuredFeatureError if alone else PerfModelError, progress=None if alone else bar,
            options={"check": True, "statistics": self.statistics},
        )  # fmt: skip
        variants = self.file.variants if alone else self.file.builders
        with counting(shown=alone):
            plain = predicting.predicted(variants, sizes).required()
        if not self.anchored:
            return plain
        from perfmodel.measuring import pin_threads
        from perfmodel.tuning.anchoring import predict_anchored

        pin_threads()
        kept = self.file.only(plain.variants)
        return predict_anchored(predicting, kept.variants, plain, arguments=kept.arguments, progress=bar)


# {{{ one size

def _show(asked: Asked, json: bool, why: bool, picture: Path | None) -> None:
    from perfmodel.predicting.ranking import rankings
    from perfmodel.report.sweeps import ties_document

    (at,) = asked.points
    found = asked.predicted(at)
    (ranking,) = rankings(found)
    bounds: dict[str, dict[str, Any]] = {}
    if why:
        bounds = bounds_of(asked.model, {one.name: found.counts[one.name] for one in ranking}, at, picture)
    if not json:
        _print_ranking(asked, found, ranking)
        for name, bound in bounds.items():
            print_text(f"\n{name}: {bound['text']}")
        return
    predictions: dict[str, Any] = {
        "predictions": [_record(one) for one in ranking],
        **withheld_document(found.errors),
        "ties": ties_document(ranking, found.scatter, asked.level),
        "anchors": [anchor_document(one) for one in found.anchors.values()],
    }
    if why:
        predictions["why"] = bounds
    head = {**model_document(asked.kernel, asked.model, at), "level": asked.level}
    print_document({"schema": SCHEMA, **head, **predictions, "notes": list(asked.model.notes)})


def _record(one: RankedVariant) -> dict[str, Any]:
    terms = {
        term: {"seconds": seconds, "share": _share(seconds, one.seconds)}
        for term, seconds in _largest_first(one.terms)
    }
    return {**variant_document(one), "terms": terms, "unmeasured": list(one.unmeasured)}


def _print_ranking(asked: Asked, found: Predictions, ranking: Ranking) -> None:
    from perfmodel.report.sweeps import ties_text

    at = sizes_text(asked.points[0])
    print_text(f"{asked.model.family.name} on {asked.model.device}" + f", {at}" * bool(at))
    for line in anchor_lines(found.anchors):
        print_text(line)
    for one in ranking:
        _print_prediction(one, asked.level)
    if len(ranking) > 1:
        print_text("\nfastest first: " + ", ".join(one.name for one in ranking))
        print_text(ties_text(ranking, found.scatter, asked.level))
    for name, error in found.errors.items():
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


def anchor_lines(anchors: Mapping[str, Anchor]) -> Iterator[str]:
    """Say where each anchor ran, and how far its prediction was off."""
    from perfmodel.display import seconds_text

    for name, one in anchors.items():
        where = f" at {sizes_text(one.sizes)}" * bool(one.sizes)
        times = f"{seconds_text(one.measured)}{where}, predicted {seconds_text(one.predicted)}"
        yield f"anchor: {name} took {times}: all its predictions times {one.factor:.3g}"

# }}}


# {{{ several sizes

def show_sweep(asked: Asked, *, winners: bool, csv: bool, json: bool, picture: Path | None) -> None:
    """Print predictions at several sizes, and draw them.

    With `winners` the table has one row for each size, and else one for each size and variant.

    Raises
    ------
    OptionError
        If ``--json`` and ``--csv`` are both given, or a picture cannot show so many sizes.
    PictureFormatError
        If the picture's name does not end in a format.
    """
    from perfmodel.predicting.predictions import together
    from perfmodel.predicting.ranking import rankings
    from perfmodel.report.sweeps import sweep_csv, sweep_records, sweep_table, winners_table

    if json and csv:
        raise OptionError("--json and --csv both write to standard output", "give one of them")
    if picture is not None:
        check_picture(picture, asked.points)
    found, model = asked.predicted(together(asked.points)), asked.model
    points = rankings(found)
    if picture is not None:
        _draw(asked, found, points, picture)
    if json:
        head = {"schema": SWEEP_SCHEMA, **weights_document(asked.kernel, model)}
        rest = {**withheld_document(found.errors), "anchors": [*map(anchor_document, found.anchors.values())]}
        records = {"level": asked.level, "points": sweep_records(points)}
        print_document({**head, **records, **rest, "notes": list(model.notes)})
    elif csv:
        print(sweep_csv(points, {name: str(error) for name, error in found.errors.items()}), end="")
    else:
        table = (winners_table if winners else sweep_table)(points, table_width())
        warnings = {(one.name, said) for point in points for one in point for said in one.warnings}
        lines = [f"{model.family.name} on {model.device}", *anchor_lines(found.anchors), table]
        lines += [f"note: {name}: {said}" for name, said in sorted(warnings)]
        print_text("\n".join([*lines, *(f"{name}: {error}" for name, error in found.errors.items())]))


def check_picture(picture: Path, points: Sequence[Mapping[str, int]]) -> None:
    """Refuse a picture of one size, or of too many combinations of the others.

    Raises
    ------
    OptionError
        If it is one.
    PictureFormatError
        If the picture's name does not end in a format.
    """
    from perfmodel.report.sizes_picture import combinations, varying

    check_format(picture)
    _, *others = varying(points) or [""]
    if not varying(points):
        raise OptionError("--picture was given with one size", "give several sizes, as -p n=256..4096")
    if (count := len(combinations(points))) > PANELS:
        problem = f"--picture would show {count} combinations of {', '.join(others)}"
        raise OptionError(problem, f"give at most {PANELS}, or --zip to pair the sizes")


def _draw(asked: Asked, found: Predictions, points: Sequence[Ranking], picture: Path) -> None:
    """Draw predicted times against the size that varies; a pair of axes for each combination of the other sizes."""
    from perfmodel.predicting.crossovers import leads_at, leads_between
    from perfmodel.report.sizes_picture import panels_of, picture_sweep

    def leads(here: Sequence[Ranking], across: str) -> tuple[Lead, ...]:
        if found.anchors:
            return leads_at(here, across)
        return leads_between(here, across, counts, asked.model, asked.allow_unmeasured)

    lanes = asked.model.fitted.subgroup_size
    counts = found.counts or count_jobs(
        asked.file.only(found.variants), asked.jobs or 1, lanes, statistics=asked.statistics
    )
    picture_sweep(panels_of(points, leads), picture, f"{asked.model.family.name} on {asked.model.device}")

# }}}
