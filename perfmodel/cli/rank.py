"""``perfmodel rank``: a kernel's variants, fastest first, and from which size on that changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.options import Json, KernelFile, Sizes, counted_variants, sizes
from perfmodel.cli.predict import AllowUnmeasured, Level, WeightsFile
from perfmodel.errors import OptionError, UnmeasuredFeatureError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
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
    size: Sizes = None,
    crossover: Crossover = None,
    level: Level = 0.9,
    allow_unmeasured: AllowUnmeasured = False,
    json: Json = False,
) -> None:
    """Rank a kernel's variants by their predicted times, or find the sizes at which two change places."""
    from perfmodel.predict import load

    at, model = sizes(size), load(weights)
    variants = counted_variants(kernel, None, model.fitted.subgroup_size)
    document: dict[str, Any] = {
        "schema": SCHEMA, "kernel": str(kernel), "device": model.device, "family": model.family.name, "sizes": at,
    }  # fmt: skip
    if crossover is None:
        ranked, withheld = _ranked(variants, model, at, level, allow_unmeasured)
        document |= {
            "variants": [_record(one) for one in ranked],
            "withheld": [{"variant": name, "unmeasured": list(e.features)} for name, e in withheld.items()],
        }
        lines = _ranking_lines(ranked, withheld)
    else:
        parameter, low, high = _range(crossover)
        leads = _leads(variants, model, (parameter, low, high), at, allow_unmeasured)
        document |= {
            "parameter": parameter,
            "leads": [{"variant": one.name, "low": one.low, "high": one.high} for one in leads],
        }
        lines = [f"{parameter} from {one.low} to {one.high}: {one.name}" for one in leads]
    if json:
        from json import dumps

        print(dumps(document, indent=1))
    else:
        print("\n".join(lines))


def _ranked(
    variants: Mapping[str, KernelCounts], model: FittedModel, at: Mapping[str, int], level: float, allow: bool
) -> tuple[tuple[RankedVariant, ...], dict[str, UnmeasuredFeatureError]]:
    from perfmodel.ranking import rank

    withheld: dict[str, UnmeasuredFeatureError] = {}
    known: dict[str, KernelCounts] = {}
    for name, counts in variants.items():
        try:
            model.predict(counts, at, allow_unmeasured=allow)
            known[name] = counts
        except UnmeasuredFeatureError as error:
            withheld[name] = error
    if not known:
        raise next(iter(withheld.values()))
    return rank(known, model, at, level=level, allow_unmeasured=allow), withheld


def _ranking_lines(ranked: tuple[RankedVariant, ...], withheld: Mapping[str, UnmeasuredFeatureError]) -> list[str]:
    from perfmodel.cli.predict import interval_text
    from perfmodel.report import columns_text, seconds_text

    rows = [("variant", "seconds", "times the best", "interval")]
    for one in ranked:
        best = ranked[0].seconds
        times = f"{one.seconds / best:.2f}" if best > 0 else "-"
        rows.append((one.name, seconds_text(one.seconds), times, interval_text(one.interval)))
    lines = [columns_text(rows)]
    lines += [f"note: {one.name}: {warning}" for one in ranked for warning in one.warnings]
    return lines + [f"{name}: {error}" for name, error in withheld.items()]


def _record(one: RankedVariant) -> dict[str, Any]:
    from perfmodel.cli.predict import interval_document

    return {
        "variant": one.name,
        "seconds": one.seconds,
        "interval": interval_document(one.interval),
        "warnings": list(one.warnings),
    }


def _leads(
    variants: Mapping[str, KernelCounts],
    model: FittedModel,
    span: tuple[str, int, int],
    fixed: Mapping[str, int],
    allow: bool,
) -> tuple[Lead, ...]:
    from perfmodel.ranking import crossover

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
