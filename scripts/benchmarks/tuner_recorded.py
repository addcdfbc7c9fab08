"""Spaces of which others recorded all times on real GPUs, as tables that tuners search without running anything.

Each table is a file of ``docs/data/tuner-recorded``. Predictions come from weights that have seen no time of the space:
on the TITAN V from a fit without the space's einsum, on other cards from the TITAN V's weights by facts
(:func:`perfmodel.transferred`). Configurations whose counts differ in nothing share a prediction.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from perfmodel.counts import KernelCounts, count
from perfmodel.documents import canonical
from perfmodel.errors import PerfModelError
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.selection import cells_of, estimate_scatter
from perfmodel.fitting.types import Floats
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.kernels.space import Space
from perfmodel.models import find_family
from perfmodel.predicting.model import FittedModel, load
from perfmodel.predicting.transfer import transferred
from perfmodel.store import Measurement
from scripts.benchmarks.tuner_table import Configuration, Table
from test_kernels import recorded

TITAN_V = "titan-v"
DEVICE = Path(__file__).parents[2] / "fitted_weights" / "nvidia-titan-v"
ENDING = ".jsonl.gz"
FAMILY = "multithreaded"
FOLDS = 8  # of einsums
WHOLE = 60  # rows: the TITAN V's other spaces hold twelve chosen ones
MOST = 1500  # configurations of the spaces that take long to count
SAMPLED = ("gemm", "dedispersion", "convolution15-wide")
#: Parameters that change no count.
UNCOUNTED: Mapping[str, tuple[str, ...]] = {"convolution15": ("read_only",), "convolution15-wide": ("read_only",)}


def space_of(table: Table) -> Space:
    """Return the space of the configurations of a table alone; nothing can be built from it.

    >>> rows = (Configuration({"tile": 8}, "ok"), Configuration({"tile": 2}, "ok"))
    >>> space_of(Table("s", {}, "d", "f", None, rows)).configurations
    ({'tile': 2}, {'tile': 8})
    """
    names = tuple(table.rows[0].values)
    values = {name: _ordered({row.values[name] for row in table.rows}) for name in names}
    known = {tuple(row.values.values()) for row in table.rows}
    return Space(_unbuilt, values, (lambda configuration: tuple(configuration.values()) in known,))


def _ordered(values: set[Any]) -> tuple[Any, ...]:
    return tuple(sorted(values, key=lambda value: (isinstance(value, str), value)))


def _unbuilt(**configuration: Any) -> Any:
    raise LookupError(f"{configuration} was recorded by others, and is not built here")


def predict(folder: Path, name: str) -> None:
    """Predict a space on all its cards, or the whole spaces of the TITAN V, and write the tables into a folder."""
    tables = einsum_tables(DEVICE) if name == TITAN_V else kernel_tables(name, load(DEVICE / f"{FAMILY}.json"))
    for file, table in tables:
        table.write(folder / f"{file}{ENDING}")


# {{{ the TITAN V, by weights of other einsums

def einsum_tables(folder: Path) -> Iterator[tuple[str, Table]]:
    """Yield the name and the table of each whole space of a folder of recorded einsums, the largest first.

    The terms of a prediction are the seconds that rest on each weight.
    """
    measured = recorded_folder(folder)[0]
    known = measured.with_facts(load(folder / f"{FAMILY}.json").facts)  # with the facts that the fit chose
    fits = FamilyFits(known, find_family(FAMILY), FitOptions(), None, FOLDS)
    unseen = fits.predict_without_group()
    by_weight = fits.by_weight(unseen)
    for number, (space, size) in enumerate(Counter(map(_space, fits.rows)).most_common()):
        if size < WHOLE:
            return
        rows = tuple(
            _configuration(_flat(row.variant), row.median, float(unseen.seconds[place]),
                           {name: float(seconds[place]) for name, seconds in by_weight.items()})
            for place, row in enumerate(fits.rows) if _space(row) == space
        )  # fmt: skip
        group = next(row.group for row in fits.rows if _space(row) == space)
        scatter = _scatter_without(fits, unseen.seconds, group)
        yield f"{TITAN_V}-{number + 1}", Table(f"{space[0]} {space[1]}", {}, known.device, FAMILY, scatter, rows)


def _space(row: Measurement) -> tuple[str, str]:
    return row.kernel, canonical(row.parameters)


def _flat(variant: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variant whose lists are text, which tuners take for values without an order."""
    return {key: " ".join(map(str, value)) if isinstance(value, list) else value for key, value in variant.items()}


def _scatter_without(fits: FamilyFits, predicted: Floats, group: str) -> dict[str, Any] | None:
    """Return how predictions err between variants of the other groups' kernels."""
    cells = cells_of(fits.rows, fits.refits.table.times, predicted)
    found = estimate_scatter([cell for cell in cells if cell.group != group])
    return None if found is None else found.model_dump()

# }}}


# {{{ other cards, by facts

def kernel_tables(space: str, source: FittedModel) -> Iterator[tuple[str, Table]]:
    """Yield the name and the table of a space on each card, predicted by another card's weights.

    How predictions err between variants is what the fit found on the other card.
    """
    models = {card: transferred(source, recorded.facts_of(card)) for card in recorded.cards(space)}
    scatter = None if source.fitted.scatter is None else source.fitted.scatter.model_dump()
    chosen = _chosen(space)
    found: dict[str, list[Configuration]] = {card: [] for card in models}
    known: dict[str, dict[str, tuple[float | None, Mapping[str, float]]]] = {}
    times = {card: {canonical(row.configuration): row for row in recorded.recorded(space, card)} for card in models}
    for number, configuration in enumerate(chosen):
        if number % 100 == 0:
            print(f"{space}: {number} of {len(chosen)}", file=sys.stderr, flush=True)
        counted = {key: value for key, value in configuration.items() if key not in UNCOUNTED.get(space, ())}
        if (key := canonical(counted)) not in known:
            known[key] = _predictions(space, configuration, models)
        for card, (seconds, terms) in known[key].items():
            if (row := times[card].get(canonical(configuration))) is not None:
                found[card].append(_configuration(configuration, row.seconds, seconds, terms))
    for card, rows in found.items():
        yield f"{space}-{card}", Table(space, recorded.SIZES[space], card, FAMILY, scatter, tuple(rows))


def _chosen(space: str) -> list[dict[str, int]]:
    """Return all configurations of a space that any card has; of large spaces a sample, the same on all cards."""
    rows = {
        canonical(row.configuration): dict(row.configuration)
        for card in recorded.cards(space) for row in recorded.recorded(space, card)
    }  # fmt: skip
    if space not in SAMPLED:
        return list(rows.values())
    return [rows[key] for key in sorted(Random(space).sample(sorted(rows), MOST))]


def _predictions(
    space: str, configuration: Mapping[str, int], models: Mapping[str, FittedModel]
) -> dict[str, tuple[float | None, Mapping[str, float]]]:
    """Return the prediction of a configuration on each card, and its terms; None if there is none."""
    unit = recorded.space(space, fixed=True).build(**configuration)
    counts: dict[int, KernelCounts] = {}
    found: dict[str, tuple[float | None, Mapping[str, float]]] = {}
    for card, model in models.items():
        lanes = model.fitted.subgroup_size
        try:
            if lanes not in counts:
                counts[lanes] = count(unit, lanes, cache=False)
            made = model.predict(counts[lanes], {}, allow_unmeasured=True)
            found[card] = float(made.seconds), made.terms
        except PerfModelError as error:
            print(f"{space} on {card}, {dict(configuration)}: {error}", file=sys.stderr)
            found[card] = None, {}
    return found

# }}}


def _configuration(
    values: Mapping[str, Any], seconds: float | None, predicted: float | None, terms: Mapping[str, float]
) -> Configuration:
    return Configuration(
        values, "runtime" if seconds is None else "ok", () if seconds is None else (_rounded(seconds),),
        predicted=None if predicted is None else _rounded(predicted),
        terms={name: _rounded(part) for name, part in terms.items() if part},
    )  # fmt: skip


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.4g}")
