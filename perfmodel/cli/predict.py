"""``perfmodel predict``: seconds for a kernel's variants from saved weights, fastest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import Json, KernelFile, Sizes, Variant, counted_variants, sizes
from perfmodel.errors import UnmeasuredFeatureError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.predict import FittedModel, Prediction

SCHEMA = "perfmodel.prediction/1"

WeightsFile = Annotated[
    Path, typer.Option("--weights", "-w", metavar="FILE", help="Weights that `fit` wrote.")
]
AllowUnmeasured = Annotated[
    bool,
    typer.Option("--allow-unmeasured", help="Count features that were never measured as free."),
]
Level = Annotated[float, typer.Option("--level", help="Probability that the interval should have.")]


@dataclass(frozen=True)
class Outcome:
    """Predictions by variant, fastest first, and why the others were withheld."""

    predictions: tuple[tuple[str, Prediction], ...]
    withheld: tuple[tuple[str, UnmeasuredFeatureError], ...]


def command(
    kernel: KernelFile,
    weights: WeightsFile,
    variant: Variant = None,
    size: Sizes = None,
    level: Level = 0.9,
    allow_unmeasured: AllowUnmeasured = False,
    json: Json = False,
) -> None:
    """Predict a kernel's run time and the share of each term; several variants are ranked."""
    from perfmodel.predict import load

    at = sizes(size)
    model = load(weights)
    variants = counted_variants(kernel, variant, model.fitted.subgroup_size)
    outcome = _predict(model, variants, at, level, allow_unmeasured)
    if not outcome.predictions:
        raise outcome.withheld[0][1]
    if json:
        _print_document(str(kernel), model, at, level, outcome)
    else:
        _print_ranking(model, at, level, outcome)


def _predict(
    model: FittedModel,
    variants: Mapping[str, KernelCounts],
    at: Mapping[str, int],
    level: float,
    allow_unmeasured: bool,
) -> Outcome:
    found, withheld = [], []
    for name, counts in variants.items():
        try:
            one = model.predict(counts, at, level=level, allow_unmeasured=allow_unmeasured)
            found.append((name, one))
        except UnmeasuredFeatureError as error:
            withheld.append((name, error))
    return Outcome(tuple(sorted(found, key=lambda pair: pair[1].seconds)), tuple(withheld))


def _print_document(
    kernel: str, model: FittedModel, at: Mapping[str, int], level: float, outcome: Outcome
) -> None:
    from json import dumps

    document = {
        "schema": SCHEMA,
        "kernel": kernel,
        "device": model.device,
        "family": model.family.name,
        "sizes": dict(at),
        "level": level,
        "predictions": [
            {
                "variant": name,
                "seconds": found.seconds,
                "interval": interval_document(found.interval),
                "terms": {
                    term: {"seconds": seconds, "share": _share(seconds, found.seconds)}
                    for term, seconds in _largest_first(found.terms)
                },
                "unmeasured": list(found.unmeasured),
                "warnings": list(found.warnings),
            }
            for name, found in outcome.predictions
        ],
        "withheld": [
            {"variant": name, "unmeasured": list(error.features)}
            for name, error in outcome.withheld
        ],
        "notes": list(model.notes),
    }
    print(dumps(document, indent=2))


def _print_ranking(model: FittedModel, at: Mapping[str, int], level: float, outcome: Outcome) -> None:
    from perfmodel.report import columns_text, seconds_text

    where = ", ".join(f"{name}={value}" for name, value in at.items())
    print(f"{model.family.name} on {model.device}" + f", {where}" * bool(where))
    for name, found in outcome.predictions:
        interval = f" ({interval_text(found.interval)} at {level:.0%})" if found.interval else ""
        print(f"\n{name}: {seconds_text(found.seconds)}{interval}")
        for warning in found.warnings:
            print(f"note: {warning}")
        if found.unmeasured:
            print(f"note: counted as free, never measured: {', '.join(found.unmeasured)}")
        rows = [
            (f"  {term}", seconds_text(seconds), _percent(_share(seconds, found.seconds)))
            for term, seconds in _largest_first(found.terms)
            if seconds
        ]
        print(columns_text(rows))
    if len(outcome.predictions) > 1:
        print("\nfastest first: " + ", ".join(name for name, _ in outcome.predictions))
    for name, error in outcome.withheld:
        print(f"\n{name}: {error}")


def interval_text(interval: tuple[float, float] | None) -> str:
    """Return an interval's bounds with units; a dash where there is none."""
    from perfmodel.report import seconds_text

    if interval is None:
        return "-"
    return f"{seconds_text(interval[0])} to {seconds_text(interval[1])}"


def interval_document(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return an interval's bounds for JSON, which has no infinity: null stands for no bound."""
    return None if interval is None else [interval[0], interval[1] if isfinite(interval[1]) else None]


def _largest_first(terms: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(terms.items(), key=lambda pair: -abs(pair[1]))


def _share(seconds: float, total: float) -> float | None:
    return seconds / total if total > 0 else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
