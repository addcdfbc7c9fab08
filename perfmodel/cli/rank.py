"""``perfmodel rank``: a kernel's variants, fastest first, and from which size on that changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import (
    AllowUnmeasured,
    Json,
    KernelFile,
    Level,
    OwnFamily,
    Sizes,
    WeightsFile,
    counted_variants,
    ranked,
    sizes,
)  # fmt: skip
from perfmodel.cli.output import interval_text, model_document, print_document, variant_document, withheld_document
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.errors import UnmeasuredFeatureError
    from perfmodel.predict import FittedModel
    from perfmodel.ranking import Lead, RankedVariant

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
    json: Json = False,
) -> None:
    """Rank a kernel's variants by their predicted times, or find the sizes at which two change places."""
    from perfmodel.predict import load

    at, model = sizes(size), load(weights, family)
    if crossover is None:
        counted = counted_variants(kernel, None, model.fitted.subgroup_size)
        variants, withheld = ranked(counted, model, at, level, allow_unmeasured)
        found: dict[str, Any] = {"variants": [variant_document(one) for one in variants], **withheld_document(withheld)}
        lines = _ranking_lines(variants, withheld)
    else:
        parameter, low, high = _range(crossover)
        leads = _leads(kernel, model, (parameter, low, high), at, allow_unmeasured)
        rows = [{"variant": one.name, "low": one.low, "high": one.high} for one in leads]
        found = {"parameter": parameter, "leads": rows}
        lines = [f"{parameter} from {one.low} to {one.high}: {one.name}" for one in leads]
    if json:
        print_document({"schema": SCHEMA, **model_document(kernel, model, at), **found})
    else:
        print("\n".join(lines))


def _ranking_lines(ranked: tuple[RankedVariant, ...], withheld: Mapping[str, UnmeasuredFeatureError]) -> list[str]:
    from perfmodel.report import columns_text, seconds_text

    rows = [("variant", "seconds", "times the best", "interval")]
    for one in ranked:
        best = ranked[0].seconds
        times = f"{one.seconds / best:.2f}" if best > 0 else "-"
        rows.append((one.name, seconds_text(one.seconds), times, interval_text(one.interval)))
    lines = [columns_text(rows)]
    lines += [f"note: {one.name}: {warning}" for one in ranked for warning in one.warnings]
    return lines + [f"{name}: {error}" for name, error in withheld.items()]


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
