"""``perfmodel rank``: a kernel's variants, fastest first, and from which size on that changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.anchoring import anchor_lines, ranked_variants
from perfmodel.cli.options import (
    AllowUnmeasured,
    Anchored,
    Json,
    KernelFile,
    Level,
    OwnFamily,
    Sizes,
    WeightsFile,
    counted_variants,
    sizes,
)  # fmt: skip
from perfmodel.cli.output import anchor_document, model_document, print_document, variant_document, withheld_document
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.cli.anchoring import Ranking
    from perfmodel.predict import FittedModel
    from perfmodel.ranking import Lead

SCHEMA = "perfmodel.ranking/1"

Crossover = Annotated[
    str | None,
    typer.Option("--crossover", metavar="NAME=LOW:HIGH", help="Compare over a range of this size instead."),
]


def command(
    kernel: KernelFile,
    weights: WeightsFile,
    family: OwnFamily = None,
    size: Sizes = None,
    crossover: Crossover = None,
    level: Level = 0.9,
    allow_unmeasured: AllowUnmeasured = False,
    anchor: Anchored = False,
    json: Json = False,
) -> None:
    """Rank a kernel's variants by their predicted times, or find the sizes at which two change places."""
    from perfmodel.predict import load
    from perfmodel.report.ranking import ties_document

    at, model = sizes(size), load(weights, family)
    if crossover is None:
        ranking = ranked_variants(kernel, None, model, at, level, allow_unmeasured, anchor)
        found: dict[str, Any] = {
            "variants": [variant_document(one) for one in ranking.variants],
            **withheld_document(ranking.withheld),
            "ties": ties_document(ranking.variants, ranking.scatter, level),
            "anchors": [anchor_document(one) for one in ranking.anchors.values()],
        }
        lines = _ranking_lines(ranking, level)
    else:
        if anchor:
            raise OptionError("--anchor and --crossover were both given", "give one of them")
        parameter, low, high = _range(crossover)
        leads = _leads(kernel, model, (parameter, low, high), at, allow_unmeasured)
        rows = [{"variant": one.name, "low": one.low, "high": one.high} for one in leads]
        found = {"parameter": parameter, "leads": rows}
        lines = [f"{parameter} from {one.low} to {one.high}: {one.name}" for one in leads]
    if json:
        print_document({"schema": SCHEMA, **model_document(kernel, model, at), **found})
    else:
        print("\n".join(lines))


def _ranking_lines(ranking: Ranking, level: float) -> list[str]:
    from perfmodel.report.ranking import ranking_table, ties_text

    lines = [ranking_table(ranking.variants), *anchor_lines(ranking.anchors)]
    lines += filter(None, [ties_text(ranking.variants, ranking.scatter, level)])
    lines += [f"note: {one.name}: {warning}" for one in ranking.variants for warning in one.warnings]
    return lines + [f"{name}: {error}" for name, error in ranking.withheld.items()]


def _leads(
    kernel: Path, model: FittedModel, span: tuple[str, int, int], fixed: Mapping[str, int], allow: bool
) -> tuple[Lead, ...]:
    from perfmodel.ranking import crossover

    variants = counted_variants(kernel, None, model.fitted.subgroup_size)
    if len(variants) != 2:
        raise OptionError(f"--crossover compares 2 variants, and the file has {len(variants)}", "give a file with 2")
    (one, a), (other, b) = variants.items()
    return crossover(a, b, model, *span, fixed, names=(one, other), allow_unmeasured=allow)


def _range(text: str) -> tuple[str, int, int]:
    name, _, limits = text.partition("=")
    low, _, high = limits.partition(":")
    try:
        return name.strip(), int(low), int(high)
    except ValueError:
        raise OptionError(f"--crossover is '{text}'", "give it as NAME=LOW:HIGH, as n=16:4096") from None
