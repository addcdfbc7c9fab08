"""Evaluations of models as text, CSV and JSON, in the form of the core paper's tables.

Table 1 of Stevens and Klöckner has the predicted and the actual time of each test kernel at each size on each device,
with geometric means of the relative error for each kernel, each device and over all; Table 2 the weights of each
device.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from perfmodel.compare import PROTOCOLS, Comparison, Evaluation, comparison, summarise
from perfmodel.compare.comparison import kernels, time_cells, unranked_note, withheld_note
from perfmodel.compare.protocols import TESTLESS, Judged
from perfmodel.display import csv_text, finite, fitted_text, percent
from perfmodel.predicting.model import FittedModel

SCHEMA = "perfmodel.evaluation/1"
COLUMNS = ("protocol", "family", "device", *comparison.COLUMNS)
LESS_OF_PREDICTIONS = ("measured", "predicted", "all devices", "variant")
LESS_OF_FIGURES = (
    "width", "inside", "random", "tau", "top-1", "choices", "p90", "median", "withheld", "device", "factor - 1",
    "cases", "regret",
)  # fmt: skip
_OWN = COLUMNS.index("kernel")


def evaluation_text(judged: Sequence[Judged], width: int | None = None) -> str:
    """Return both tables and the figures of every protocol, as plain text for a terminal of a width."""
    tested = [family.evaluations[0] for family in judged]
    by = f"protocol {tested[0].protocol}"
    tests = "measured" if tested[0].protocol in TESTLESS else "test"
    where = "; ".join(f"{_where(family)}, {family.model.clock_text}" for family in judged)
    title = f"Table 1. Times of {tests} kernels ({by}): {where}"
    parts = [
        f"{title}\n\n{predictions_table(tested, width)}",
        *(f"Table 2. Weights: {_where(family)}\n\n{_weights_text(family.model, width)}" for family in judged),
        f"Figures\n\n{figures_table([e for family in judged for e in family.evaluations], width)}",
    ]
    return "\n\n\n".join(parts)


def weights_table(
    weights: Mapping[str, float], units: Mapping[str, str], errors: Mapping[str, float | None] | None = None,
    width: int | None = None,
) -> str:
    """Return the weights, each with its unit, as plain text; with their standard errors if given.

    On a narrow terminal the standard errors are left out first, then the units.
    """
    rows = [("feature", "weight", *(("std. error",) if errors is not None else ()), "unit")]
    for name, value in weights.items():
        error = errors.get(name) if errors is not None else None
        cells = () if errors is None else ("-" if error is None else f"{error:.1e}",)
        rows.append((name, f"{value:.3e}", *cells, units[name]))
    return fitted_text(rows, 1, ("std. error", "unit"), width)


def _weights_text(model: FittedModel, width: int | None) -> str:
    table = weights_table(model.weights, model.units, model.standard_errors, width)
    return "\n".join([table, *(f"note: {note}" for note in model.notes)])


def predictions_table(evaluations: Sequence[Evaluation], width: int | None = None) -> str:
    """Return Table 1: a row for each case, with the measured and the predicted time on each device.

    A device on which a case was not measured has dashes. Errors below 0.1 % count as 0.1 % in the geometric means. On a
    narrow terminal the columns of :data:`LESS_OF_PREDICTIONS` are left out, the first one first.
    """
    rows = [row for evaluation in evaluations for row in evaluation.rows]
    by_case = [{_case(row): row for row in evaluation.rows} for evaluation in evaluations]
    several = len(evaluations) > 1
    head = ["kernel", "variant", "sizes", *("measured", "predicted", "error") * len(evaluations)]
    table = [head + ["all devices"] * several]
    for kernel in sorted(kernels(rows)):
        for case in dict.fromkeys(_case(row) for row in rows if row.kernel == kernel):
            cells = (time_cells(cases[case]) if case in cases else ("-",) * 3 for cases in by_case)
            table.append([*case, *(cell for three in cells for cell in three), *[""] * several])
        table.append(_means(kernel, [[r for r in evaluation.rows if r.kernel == kernel] for evaluation in evaluations]))
    table.append(_means("all", [evaluation.rows for evaluation in evaluations]))
    lines = [fitted_text(table, 3, LESS_OF_PREDICTIONS, width)]
    for place, evaluation in enumerate(evaluations, 1):
        if several:
            lines.append(f"columns {3 * place + 1} to {3 * place + 3}: {evaluation.family} on {evaluation.device}")
        lines += withheld_note(evaluation.rows)
    return "\n".join(lines)


def figures_table(evaluations: Sequence[Evaluation], width: int | None = None) -> str:
    """Return the figures of each evaluation in one row, with their meaning below.

    On a narrow terminal the columns of :data:`LESS_OF_FIGURES` are left out, the first one first.
    """
    table: list[Sequence[str]] = [
        ("family", "device", "protocol", "cases", "withheld", "error", "factor - 1", "median", "p90",
         "choices", "regret", "random", "top-1", "tau", "inside", "width"),
    ]  # fmt: skip
    for evaluation in evaluations:
        f = evaluation.figures
        # Measurement kernels are no alternatives for one job.
        chosen = evaluation.protocol != "sizes" and f.choices
        table.append((
            evaluation.family, evaluation.device, evaluation.protocol, str(f.cases), str(f.withheld),
            *map(percent, (f.error, f.factor, f.median, f.p90)),
            *((str(f.choices), f"{f.regret:.3f}", f"{f.random_regret:.3f}", percent(f.top1), f"{f.tau:.2f}")
              if chosen else ("-",) * 5),
            percent(f.inside), "-" if math.isnan(f.width) else f"{f.width:.3g}",
        ))  # fmt: skip
    ranked = [evaluation for evaluation in evaluations if evaluation.protocol != "sizes"]
    notes = dict.fromkeys(note for evaluation in ranked for note in unranked_note(evaluation.rows))
    used = {evaluation.protocol for evaluation in evaluations}
    levels = {percent(evaluation.level) for evaluation in evaluations if evaluation.level is not None}
    return "\n".join(
        [
            fitted_text(table, 3, LESS_OF_FIGURES, width),
            *(f"protocol {name}: {text}" for name, text in PROTOCOLS.items() if name in used),
            "error, median, p90: of |p - t|/t, the first as geometric mean; "
            "factor - 1: geometric mean of max(p/t, t/p) - 1",
            "random: regret of a random choice",
            f"inside: measured times in their {', '.join(sorted(levels))} interval; "
            "width: median of upper over lower bound",
            *notes,
        ]
    )


def predictions_csv(evaluations: Sequence[Evaluation]) -> str:
    """Return every case of every evaluation as CSV, seconds and relative errors as numbers."""
    return csv_text(COLUMNS, (_record(evaluation, row) for evaluation in evaluations for row in evaluation.rows))


def weights_csv(models: Sequence[FittedModel]) -> str:
    """Return Table 2 as CSV: each model's weights with units and standard errors."""
    names = ("family", "device", "feature", "weight", "standard_error", "unit")
    cells = ((model.family.name, model.device, *weight) for model in models for weight in _weights(model))
    return csv_text(names, (dict(zip(names, row, strict=True)) for row in cells))


def document(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return everything as one document for programs; NaN and infinity become null."""
    return {
        "schema": SCHEMA,
        "models": [
            {
                "family": family.model.family.name,
                "device": family.model.device,
                "weights": [
                    {"feature": name, "value": value, "standard_error": error, "unit": unit}
                    for name, value, error, unit in _weights(family.model)
                ],
                "notes": list(family.model.notes),
                "evaluations": [
                    {
                        "protocol": each.protocol,
                        "level": each.level,
                        "figures": {key: finite(value) for key, value in asdict(each.figures).items()},
                        "rows": [
                            {key: finite(value) for key, value in list(_record(each, row).items())[_OWN:]}
                            for row in each.rows
                        ],
                    }
                    for each in family.evaluations
                ],
            }
            for family in judged
        ],
    }


def _where(family: Judged) -> str:
    return f"{family.model.family.name} on {family.model.device}"


def _weights(model: FittedModel) -> list[tuple[str, float, float | None, str]]:
    errors = model.standard_errors
    return [(name, value, errors.get(name), model.units[name]) for name, value in model.weights.items()]


def _case(row: Comparison) -> tuple[str, str, str]:
    return row.kernel, row.form, row.sizes


def _means(name: str, parts: Sequence[Sequence[Comparison]]) -> list[str]:
    """Return the row of geometric means: of each device and, of several, over them all."""
    means = [cell for part in parts for cell in ("", "", percent(summarise(part).error))]
    overall = [percent(summarise([row for part in parts for row in part]).error)] if len(parts) > 1 else []
    return [name, "", "geometric mean", *means, *overall]


def _record(evaluation: Evaluation, row: Comparison) -> dict[str, Any]:
    return {"protocol": evaluation.protocol, "family": evaluation.family, "device": evaluation.device, **row.record()}
