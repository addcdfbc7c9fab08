"""``perfmodel rank``: a kernel's variants, fastest first, and from which size on that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import (
    AllowUnmeasured,
    Anchored,
    Csv,
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
    counted_variants,
    errors_of,
    model_of,
    size_points,
    statistics,
)
from perfmodel.cli.output import (
    anchor_document,
    model_document,
    print_document,
    print_text,
    variant_document,
    withheld_document,
)
from perfmodel.cli.predict import Asked, anchor_lines, show_sweep
from perfmodel.cli.settings import table_width
from perfmodel.cli.size_grammar import parse_span
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.predicting.predictions import Predictions
    from perfmodel.predicting.ranking import Ranking

SCHEMA = "perfmodel.ranking/1"

Crossover = Annotated[
    str | None,
    typer.Option(
        "--crossover", metavar="NAME=LOW:HIGH", help="Find the fastest variant over a range of this size instead."
    ),
]


def command(
    kernel: KernelFile,
    weights: WeightsFile = None,
    family: OwnFamily = None,
    device: DeviceName = None,
    variant: Variant = None,
    size: SizeLists = None,
    paired: Paired = False,
    crossover: Crossover = None,
    statistic: Statistics = None,
    level: Level = 0.9,
    allow_unmeasured: AllowUnmeasured = False,
    anchor: Anchored = False,
    csv: Csv = False,
    json: bool = False,
    jobs: Jobs = None,
) -> None:
    """Rank a kernel's variants by their predicted times, or find the sizes at which they change places.

    With several sizes, the fastest variant at each.
    """
    points, known = size_points(size, paired), statistics(statistic)
    if crossover is not None:
        if anchor or csv:
            other = "--anchor" if anchor else "--csv"
            raise OptionError(f"{other} and --crossover were both given", "give one of them")
        span = parse_span(crossover, "--crossover")
        if len(points) > 1:
            raise OptionError("--crossover was given with several sizes", "give one size of each other name")
    model = model_of(weights, family, None, device, told=not json)
    asked = Asked(kernel, variant, model, points, level, allow_unmeasured, anchor, known, jobs)
    if crossover is not None:
        _show_leads(asked, span, json)
    elif len(points) > 1 or csv:
        show_sweep(asked, winners=True, csv=csv, json=json, picture=None)
    else:
        _show_ranking(asked, json)


def _show_ranking(asked: Asked, json: bool) -> None:
    from perfmodel.predicting.ranking import rankings
    from perfmodel.report.sweeps import ties_document

    (at,) = asked.points
    found = asked.predicted(at)
    (ranking,) = rankings(found)
    if not json:
        print_text("\n".join(_ranking_lines(found, ranking)))
        return
    document: dict[str, Any] = {
        "variants": [variant_document(one) for one in ranking],
        **withheld_document(found.errors),
        "ties": ties_document(ranking, found.scatter, found.level),
        "anchors": [anchor_document(one) for one in found.anchors.values()],
    }
    print_document({"schema": SCHEMA, **model_document(asked.kernel, asked.model, at), **document})


def _ranking_lines(found: Predictions, ranking: Ranking) -> list[str]:
    from perfmodel.report.sweeps import ranking_table, ties_text

    lines = [ranking_table(ranking, table_width()), *anchor_lines(found.anchors)]
    lines += filter(None, [ties_text(ranking, found.scatter, found.level)])
    lines += [f"note: {one.name}: {warning}" for one in ranking for warning in one.warnings]
    return lines + [f"{name}: {error}" for name, error in found.errors.items()]


def _show_leads(asked: Asked, span: tuple[str, int, int], json: bool) -> None:
    """Print which variant is the fastest from which size on."""
    from perfmodel.predicting.crossovers import leads_of

    parameter, low, high = span
    (at,) = asked.points
    counted = counted_variants(
        asked.kernel, asked.variant, asked.model.fitted.subgroup_size, asked.jobs, statistics=asked.statistics
    )
    failed = errors_of(counted)
    if len(counted) + len(failed) < 2:
        only = next(iter(counted))
        raise OptionError(f"--crossover compares variants, and there is only '{only}'", "give a file with 2 or more")
    leads, others = leads_of(
        counted, asked.model, parameter, low, high, at, allow_unmeasured=asked.allow_unmeasured,
        leave_out=asked.jobs is not None,
    )  # fmt: skip
    withheld = {**failed, **others}
    if json:
        rows = [{"variant": one.name, "low": one.low, "high": one.high} for one in leads]
        found = {"parameter": parameter, "leads": rows, **withheld_document(withheld)}
        print_document({"schema": SCHEMA, **model_document(asked.kernel, asked.model, at), **found})
        return
    lines = [f"{parameter} from {one.low} to {one.high}: {one.name}" for one in leads]
    print_text("\n".join([*lines, *(f"{name}: {error}" for name, error in withheld.items())]))
