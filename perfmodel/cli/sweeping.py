"""``perfmodel predict`` and ``perfmodel rank`` over several sizes: a table, CSV, JSON, and a picture."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.cli.anchoring import anchor_lines, run_anchors
from perfmodel.cli.options import check_anchored, count_jobs, count_units, kernel_file_of
from perfmodel.cli.output import (
    anchor_document,
    check_format,
    print_document,
    print_text,
    sizes_text,
    weights_document,
    withheld_document,
)
from perfmodel.cli.settings import table_width
from perfmodel.errors import NoCommonSizeError, OptionError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.errors import PerfModelError
    from perfmodel.predicting.crossovers import Lead
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.predictions import Anchor
    from perfmodel.predicting.ranking import SweptPoint
    from perfmodel.report.sweeps import Panel

SCHEMA = "perfmodel.sweep/1"
PANELS = 6  # most combinations of the other sizes that a picture shows


@dataclass(frozen=True)
class Asked:
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


@dataclass(frozen=True, eq=False)
class Swept:
    """The variants of a kernel file at several sizes."""

    counted: Mapping[str, KernelCounts]
    points: tuple[SweptPoint, ...]
    withheld: Mapping[str, PerfModelError]
    anchors: Mapping[str, Anchor]


def swept_variants(asked: Asked) -> Swept:
    """Predict the variants at all sizes; for the errors see :func:`perfmodel.predicting.ranking.sweep`."""
    from perfmodel.predicting.ranking import sweep

    loaded = kernel_file_of(asked.kernel, asked.variant)
    check_anchored(asked.anchored, asked.statistics, loaded)
    failed: Mapping[str, PerfModelError] = {}
    lanes, counted = asked.model.fitted.subgroup_size, {}
    if asked.jobs is None:
        counted = count_units(loaded.variants, lanes, statistics=asked.statistics)
    else:
        found = count_jobs(loaded, asked.jobs, lanes, statistics=asked.statistics)
        counted, failed = dict(found), found.errors
    options: dict[str, Any] = {"level": asked.level, "allow_unmeasured": asked.allow_unmeasured}
    options["leave_out"] = asked.jobs is not None
    points, withheld = sweep(counted, asked.model, asked.points, **options)
    anchors: dict[str, Anchor] = {}
    if asked.anchored:
        whole = [one for one in points if not one.broken]
        if not whole:
            raise OptionError("--anchor runs all variants at one size, and each breaks some assumption", "give another")
        largest = max(whole, key=lambda one: math.prod(one.sizes.values()))
        kept = loaded.only([one.name for one in largest.variants])
        anchors = run_anchors(kept, asked.model, largest.sizes, asked.allow_unmeasured, asked.statistics)
        own = {name: counted[name] for name in anchors}
        points, _ = sweep(own, asked.model, asked.points, anchors=anchors, **options)
    return Swept(counted, points, {**failed, **withheld}, anchors)


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
    from perfmodel.report.sweeps import sweep_csv, sweep_records, sweep_table, winners_table

    if json and csv:
        raise OptionError("--json and --csv both write to standard output", "give one of them")
    check_format(picture)
    if picture is not None:
        check_varies(asked.points)
    swept = swept_variants(asked)
    if picture is not None:
        draw(asked, swept, picture)
    model = asked.model
    if json:
        head = {"schema": SCHEMA, **weights_document(asked.kernel, model)}
        rest = {**withheld_document(swept.withheld), "anchors": [*map(anchor_document, swept.anchors.values())]}
        points = {"level": asked.level, "points": sweep_records(swept.points)}
        print_document({**head, **points, **rest, "notes": list(model.notes)})
    elif csv:
        print(sweep_csv(swept.points, {name: str(error) for name, error in swept.withheld.items()}), end="")
    else:
        table = (winners_table if winners else sweep_table)(swept.points, table_width())
        warnings = {(one.name, said) for point in swept.points for one in point.variants for said in one.warnings}
        lines = [f"{model.family.name} on {model.device}", *anchor_lines(swept.anchors), table]
        lines += [f"note: {name}: {said}" for name, said in sorted(warnings)]
        print_text("\n".join([*lines, *(f"{name}: {error}" for name, error in swept.withheld.items())]))


def varying(points: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the names of sizes with more than one value, the one with the most values first."""
    values = {name: len({point[name] for point in points}) for name in points[0]}
    return tuple(sorted((name for name, count in values.items() if count > 1), key=lambda name: -values[name]))


def check_varies(points: Sequence[Mapping[str, int]]) -> None:
    """Refuse a picture of one size.

    Raises
    ------
    OptionError
        If no size varies.
    """
    if not varying(points):
        raise OptionError("--picture was given with one size", "give several sizes, as -p n=256..4096")


def draw(asked: Asked, swept: Swept, picture: Path) -> None:
    """Draw predicted times against the size that varies; a pair of axes for each combination of the other sizes.

    Raises
    ------
    OptionError
        If there are too many combinations.
    """
    from perfmodel.report.sweeps import picture_sweep

    across, *others = varying(asked.points)
    every = [*swept.points]
    if len({point.sizes[across] for point in every}) == len(every):
        parts = [every]  # sizes in pairs: the others follow the first
        others = []
    else:
        by_others = {name: [point.sizes[name] for point in every] for name in others}
        keys = list(zip(*by_others.values(), strict=True))
        order = sorted(range(len(every)), key=keys.__getitem__)
        parts = [[every[i] for i in group] for _, group in groupby(order, key=keys.__getitem__)]
    if len(parts) > PANELS:
        told = f"--picture would show {len(parts)} combinations of {', '.join(others)}"
        raise OptionError(told, f"give at most {PANELS}, or --zip to pair the sizes")
    panels = [_panel(asked, swept, across, part, others) for part in parts]
    picture_sweep(panels, picture, f"{asked.model.family.name} on {asked.model.device}")


def _panel(asked: Asked, swept: Swept, across: str, part: Sequence[SweptPoint], others: Sequence[str]) -> Panel:
    from perfmodel.report.sweeps import Panel

    points = tuple(sorted(part, key=lambda point: point.sizes[across]))
    fixed = {name: value for name, value in points[0].sizes.items() if name != across}
    alone = all({**point.sizes, across: 0} == {**points[0].sizes, across: 0} for point in points)
    leads = _exact_leads(asked, swept, across, points, fixed) if alone and not swept.anchors else _leads(points, across)
    return Panel(across, points, leads, sizes_text(fixed) if alone else "")


def _exact_leads(
    asked: Asked, swept: Swept, across: str, points: Sequence[SweptPoint], fixed: Mapping[str, int]
) -> tuple[Lead, ...]:
    """Return which variant is the fastest at all sizes between the first and the last, not only at those asked for."""
    from perfmodel.predicting.crossovers import leads_of

    counted = {name: counts for name, counts in swept.counted.items() if name not in swept.withheld}
    low, high = points[0].sizes[across], points[-1].sizes[across]
    try:
        return leads_of(counted, asked.model, across, low, high, fixed, allow_unmeasured=asked.allow_unmeasured)[0]
    except NoCommonSizeError:
        return _leads(points, across)


def _leads(points: Sequence[SweptPoint], across: str) -> tuple[Lead, ...]:
    """Return which variant is the fastest from which of the sizes on."""
    from perfmodel.predicting.crossovers import Lead

    best = [(point.sizes[across], point.variants[0].name) for point in points if point.variants]
    found = []
    for name, group in groupby(best, key=lambda pair: pair[1]):
        sizes = [size for size, _ in group]
        found.append(Lead(name, sizes[0], sizes[-1]))
    return tuple(found)
