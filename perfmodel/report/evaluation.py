"""Evaluations of models and rooflines as text, CSV and JSON, with the tables 1 and 2 of Stevens and Klöckner (2016)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from perfmodel.analyses.roofline import KernelPoint, roof_values
from perfmodel.compare import PROTOCOLS, Evaluation, comparison
from perfmodel.compare.comparison import error_table, unranked_note
from perfmodel.compare.protocols import TESTLESS, Judged
from perfmodel.display import Column, Table, columns_text, csv_text, finite, percent, rate_text
from perfmodel.facts import KEYS, DeviceFacts
from perfmodel.report.pictures import ROOFS

SCHEMA = "perfmodel.evaluation/1"
COLUMNS = ("protocol", "family", "device", *comparison.COLUMNS)


def evaluation_text(judged: Sequence[Judged], width: int | None = None) -> str:
    """Return both tables of each family and device, and the figures of every protocol, as text."""
    parts = []
    for family in judged:
        model, tested = family.model, family.evaluations[0]
        tests = "measured" if tested.protocol in TESTLESS else "test"
        where = f"{model.family.name} on {model.device}"
        title = f"Table 1. Times of {tests} kernels (protocol {tested.protocol}): {where}, {model.clock_text}"
        parts.append(f"{title}\n\n{error_table(tested.rows, width)}")
        table = weights_table(model.weights, model.units, model.standard_errors, width)
        parts.append("\n".join([f"Table 2. Weights: {where}\n\n{table}", *(f"note: {note}" for note in model.notes)]))
    parts.append(f"Figures\n\n{figures_table([e for family in judged for e in family.evaluations], width)}")
    return "\n\n\n".join(parts)


def weights_table(
    weights: Mapping[str, float], units: Mapping[str, str], errors: Mapping[str, float | None] | None = None,
    width: int | None = None,
) -> str:
    """Return the weights with their units, and with their standard errors if given, as text."""
    rows = [("feature", "weight", *(("std. error",) if errors is not None else ()), "unit")]
    for name, value in weights.items():
        error = errors.get(name) if errors is not None else None
        cells = () if errors is None else ("-" if error is None else f"{error:.1e}",)
        rows.append((name, f"{value:.3e}", *cells, units[name]))
    return columns_text(rows, 1, width)


FIGURES = (
    Column("family", "family"), Column("device", "device"), Column("protocol", "protocol"), Column("cases", "cases"),
    Column("withheld", "withheld"), Column("error", "error", percent), Column("factor - 1", "factor", percent),
    Column("median", "median", percent), Column("p90", "p90", percent), Column("choices", "choices"),
    Column("regret", "regret", "{:.3f}".format), Column("random", "random_regret", "{:.3f}".format),
    Column("top-1", "top1", percent), Column("tau", "tau", "{:.2f}".format), Column("inside", "inside", percent),
    Column("width", "width", "{:.3g}".format),
)  # fmt: skip
_OF_CHOICES = ("choices", "regret", "random_regret", "top1", "tau")


def figures_table(evaluations: Sequence[Evaluation], width: int | None = None) -> str:
    """Return the figures of each evaluation in one row, with their meaning below."""
    records = []
    for one in evaluations:
        record = {"family": one.family, "device": one.device, "protocol": one.protocol, **asdict(one.figures)}
        if one.protocol == "sizes" or not one.figures.choices:  # measurement kernels are not alternatives for one task
            record |= dict.fromkeys(_OF_CHOICES)
        records.append(record)
    ranked = [evaluation for evaluation in evaluations if evaluation.protocol != "sizes"]
    notes = dict.fromkeys(note for evaluation in ranked for note in unranked_note(evaluation.rows))
    used = {evaluation.protocol for evaluation in evaluations}
    levels = {percent(evaluation.level) for evaluation in evaluations if evaluation.level is not None}
    return "\n".join([
        Table(FIGURES, records, 3).text(width),
        *(f"protocol {name}: {text}" for name, text in PROTOCOLS.items() if name in used),
        "error (geometric mean), median, p90: of |p - t|/t; factor - 1: geometric mean of max(p/t, t/p) - 1",
        "random: regret of a random choice",
        f"inside: times in their {', '.join(sorted(levels))} interval; width: median of upper over lower bound",
        *notes,
    ])  # fmt: skip


def predictions_csv(evaluations: Sequence[Evaluation]) -> str:
    """Return every case of every evaluation as CSV."""
    return csv_text(COLUMNS, (
        {"protocol": each.protocol, "family": each.family, "device": each.device, **row.record()}
        for each in evaluations for row in each.rows
    ))  # fmt: skip


def document(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return models, weights and evaluations for JSON. NaN and infinity become null."""
    models = []
    for family in judged:
        model, errors = family.model, family.model.standard_errors
        weights = [
            {"feature": name, "value": value, "standard_error": errors.get(name), "unit": model.units[name]}
            for name, value in model.weights.items()
        ]
        evaluations = [
            {"protocol": each.protocol, "level": each.level, "figures": _finite(asdict(each.figures)),
             "rows": [_finite(row.record()) for row in each.rows]}
            for each in family.evaluations
        ]  # fmt: skip
        models.append({
            "family": model.family.name, "device": model.device, "weights": weights, "notes": list(model.notes),
            "evaluations": evaluations,
        })  # fmt: skip
    return {"schema": SCHEMA, "models": models}


def _finite(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: finite(value) for key, value in record.items()}


ROOFLINE_SCHEMA = "perfmodel.roofline/1"


def roofline_table(points: Iterable[KernelPoint]) -> Table:
    """Return a record for each kernel below the roofs."""
    records = [{
        "kernel": point.kernel, "variant": point.form, "sizes": point.sizes, "seconds": point.seconds,
        "operations": point.operations, "bytes": point.bytes, "bound": point.bound,
        "operations_per_byte": finite(point.intensity), "attainable": finite(point.attainable),
        "share": finite(point.share),
    } for point in points]  # fmt: skip
    columns = (
        Column("kernel", "kernel"), Column("variant", "variant"), Column("sizes", "sizes"),
        Column("op/B", "operations_per_byte", "{:.3g}".format),
        Column("Gop/s", write=lambda record: f"{record['operations'] / record['seconds'] / 1e9:.3g}"),
        Column("attainable", "attainable", lambda rate: f"{rate / 1e9:.3g}"), Column("share", "share", percent),
        Column("bound by", "bound"),
    )  # fmt: skip
    return Table(columns, records, 3)


def roofline_text(points: Iterable[KernelPoint], facts: DeviceFacts, width: int | None = None) -> str:
    """Return the roofs with their sources, and a row for each kernel."""
    lines = [f"{ROOFS[key][0]}: {rate_text(value, ROOFS[key][2])} ({_source(key, facts)})"
             for key, value in roof_values(facts).items()]  # fmt: skip
    return "\n".join([*(lines or ["no roofs are known"]), "", roofline_table(points).text(width)])


def _source(key: str, facts: DeviceFacts) -> str:
    return facts.fact(key).source if key in facts else "4 bytes of each bank in each cycle"


def roofline_document(points: Iterable[KernelPoint], facts: DeviceFacts) -> dict[str, Any]:
    """Return the roofs and the kernels for JSON."""
    return {
        "schema": ROOFLINE_SCHEMA, "device": facts.name,
        "roofs": {
            key: {"value": value, "unit": KEYS[key].unit, "source": _source(key, facts)}
            for key, value in roof_values(facts).items()
        },
        "kernels": list(roofline_table(points).records),
    }  # fmt: skip
