"""Comparisons as plain text, readable on a terminal and in a log; families side by side also as CSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from perfmodel.compare.comparison import Comparison, kernels, time_cells
from perfmodel.compare.contenders import COLUMNS, COMPARED, Contender, records
from perfmodel.compare.figures import summarise
from perfmodel.display import columns_text, csv_text, fitted_text, percent, seconds_text

SCHEMA = "perfmodel.comparison/1"
BEST = "*"
LESS = ("predict", "fit", "weights", "tau", "regret", "factor - 1")


def error_table(rows: Sequence[Comparison]) -> str:
    """Return predicted against measured times with the geometric means of the relative error.

    Variants are named where a kernel has several. The mean is given for each kernel and over all;
    relative errors below 0.1 % count as 0.1 %.
    A withheld prediction has its row, and their number is given at the end.
    """
    table = [("kernel", "sizes", "measured", "predicted", "error")]
    for kernel in kernels(rows):
        own = [row for row in rows if row.kernel == kernel]
        several = len({row.form for row in own}) > 1
        table += [(kernel, f"{row.form} {row.sizes}" if several else row.sizes, *time_cells(row)) for row in own]
        table.append((kernel, "geometric mean", "", "", percent(summarise(own).error)))
    table.append(("all", "geometric mean", "", "", percent(summarise(rows).error)))
    return "\n".join([columns_text(table, left=2), *withheld_note(rows)])



def withheld_note(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Return a line on the predictions that were withheld, if there are any."""
    withheld = sum(row.predicted is None for row in rows)
    if not withheld:
        return ()
    needs = ", ".join(sorted({name for row in rows for name in row.needs}))
    return (f"{withheld} of {len(rows)} predictions withheld; never measured: {needs}",)



def unranked_note(rows: Sequence[Comparison]) -> tuple[str, ...]:
    """Name the cases that are left out of choices, if there are any."""
    left = dict.fromkeys(f"{row.kernel} {row.sizes}" for row in rows if not row.ranked)
    if not left:
        return ()
    return (f"not ranked, since launches fill too few work-groups for each compute unit: {', '.join(left)}",)



def families_table(contenders: Sequence[Contender], width: int | None = None) -> str:
    """Return one table of a device's families: two rows each, by protocol A and by B.

    Test kernels go across. The best of each column is marked, for each protocol by itself. On a narrow terminal the
    kernels are left out, the last one first, then the columns of :data:`LESS`.
    """
    judged = [one for one in contenders if one.evaluations]
    if not judged:
        return _problems(contenders)
    names = kernels(judged[0].by(COMPARED[0]).rows)
    columns: list[tuple[str, Callable[[Contender, str], float], Callable[[float], str], int]] = [
        *((name, _error_of(name), percent, 1) for name in names),
        ("all", lambda one, by: one.figures(by).error, percent, 1),
        ("factor - 1", lambda one, by: one.figures(by).factor, percent, 1),
        ("regret", lambda one, by: one.figures(by).regret, lambda x: f"{x:.3f}", 1),
        ("tau", lambda one, by: one.figures(by).tau, lambda x: f"{x:.2f}", -1),
        ("weights", lambda one, by: one.weights, lambda x: f"{x:.0f}", 1),
        ("fit", lambda one, by: one.fit_s, seconds_text, 1),
        ("predict", lambda one, by: one.predict_s, seconds_text, 1),
    ]
    table = [("family", "by", *(name for name, *_ in columns))]
    cells: dict[tuple[str, str], list[str]] = {(one.family, by): [] for one in judged for by in COMPARED}
    for _, value, text, sign in columns:
        for by in COMPARED:
            found = {one.family: value(one, by) for one in judged}
            best = min((sign * x for x in found.values() if math.isfinite(x)), default=math.nan)
            for family, x in found.items():
                cells[family, by].append(text(x) + (BEST if sign * x == best else " "))
    table += [(family, by, *row) for (family, by), row in cells.items()]
    problems = [_problems(contenders)] * (len(judged) < len(contenders))
    return "\n".join([fitted_text(table, 2, (*reversed(names), *LESS), width), *_notes(judged), *problems])


def _error_of(kernel: str) -> Callable[[Contender, str], float]:
    return lambda one, by: one.figures(by, kernel).error


def _notes(judged: Sequence[Contender]) -> list[str]:
    first = judged[0]
    counts = ", ".join(f"{len(first.by(by).rows)} by {by}" for by in COMPARED)
    withheld = [f"{one.family} {one.withheld}" for one in judged if one.withheld]
    return [
        f"{first.device}: cases that every family predicts: {counts}; {BEST} best of its column and protocol.",
        "kernels, all: geometric mean of |p - t|/t; factor: of max(p/t, t/p); regret: time of the variant chosen "
        "over the best one's; tau: Kendall's; weights: fitted ones; fit, predict: seconds on this machine, now.",
        *([f"withheld by A: {', '.join(withheld)}"] if withheld else []),
        *unranked_note(first.by(COMPARED[0]).rows),
    ]


def _problems(contenders: Sequence[Contender]) -> str:
    return "\n".join(f"not fitted: {one.family}: {one.problem}" for one in contenders if one.problem)


def families_csv(contenders: Sequence[Contender]) -> str:
    """Return :func:`perfmodel.compare.contenders.records` as CSV."""
    return csv_text(COLUMNS, list(records(contenders)))


def families_document(contenders: Sequence[Contender]) -> dict[str, Any]:
    """Return :func:`perfmodel.compare.contenders.records` as one document for programs."""
    return {"schema": SCHEMA, "rows": list(records(contenders))}
