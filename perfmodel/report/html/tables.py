"""The tables of the report, as texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perfmodel.analyses.descriptions import FactLine, WeightLine, term_words
from perfmodel.analyses.report_data import ReportData
from perfmodel.analyses.report_models import FamilyLine
from perfmodel.analyses.roofline import KernelPoint, above_lines
from perfmodel.compare import Comparison
from perfmodel.compare.comparison import time_cells
from perfmodel.display import interval_text, percent, rate_text
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.pictures import LOWEST


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: a text, and below it a smaller one; `code` is a name that the program uses."""

    text: str
    small: str = ""
    code: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table: its caption, its headings, and its rows of cells.

    Its kind is ``facts`` for three columns of fixed widths, ``pairs`` for names with their texts, ``narrow`` for a
    table that is easier to read where it is not wide; else empty.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    numbers: frozenset[int] = frozenset()  # places of the columns that hold numbers
    kind: str = ""
    note: str = ""  # a remark above the table


def table(caption: str, head: tuple[str, ...], rows: Any, numbers: tuple[int, ...] = (), kind: str = "") -> PageTable:
    """Return a table of rows whose cells are texts or cells.

    Examples
    --------
    >>> table("sizes", ("name", "size"), [("n", TableCell("8"))], (1,)).rows
    ((TableCell(text='n', small='', code=''), TableCell(text='8', small='', code='')),)
    """
    cells = tuple(tuple(cell if isinstance(cell, TableCell) else TableCell(str(cell)) for cell in row) for row in rows)
    return PageTable(caption, head, cells, frozenset(numbers), kind)


_SOURCES = (
    ("Measured facts", ("measured",)),
    ("Reported by the driver and the operating system", ("CL_", "told", "preferred", "OpenCL")),
    ("Assumed: put better values into facts.yaml", ("assumed",)),
)
_MADE = {
    "folder": "data", "measured": "measured kernels", "taken": "measured on", "fitted to": "weights fitted to",
    "condition": "condition number of the fit", "libraries": "libraries and settings of the measurements",
}  # fmt: skip
"""Longer names for some of :func:`perfmodel.analyses.descriptions.how_made`."""
MOST_ROWS = 300
"""Most cases of a table."""
GIVEN = "Given by data sheets and by users"


def comparisons_table(rows: Sequence[Comparison], caption: str) -> PageTable:
    """Return a row for each case with its measured and its predicted time; of very many, those with large errors."""
    kept = worst(rows, MOST_ROWS)
    cells = [
        (TableCell(row.kernel, small=_join(row.form, row.sizes)), *time_cells(row), interval_text(row.interval))
        for row in kept
    ]
    cases = table(caption, ("kernel", "measured", "predicted", "error", "interval"), cells, (1, 2, 3, 4))
    return replace(cases, note=left_out(len(rows) - len(kept), "cases"))


def worst(rows: Sequence[Comparison], most: int) -> Sequence[Comparison]:
    """Return the rows with the largest errors, in their order; rows without a prediction first."""
    if len(rows) <= most:
        return rows
    errors = [math.inf if row.relative_error is None else row.relative_error for row in rows]
    kept = sorted(sorted(range(len(rows)), key=lambda place: -errors[place])[:most])
    return [rows[place] for place in kept]


def left_out(count: int, what: str) -> str:
    """Return that so many were left out; empty for none."""
    return f"{count} {what} with smaller errors are left out, which keeps this file small." if count else ""


def unmeasured_table(data: ReportData) -> PageTable:
    """Return the features without a weight, and the kernels that need them."""
    rows = [
        (TableCell(term_words(data.family, unmeasured.feature), code=unmeasured.feature), ", ".join(unmeasured.kernels))
        for unmeasured in data.unmeasured
    ]
    return table("features that no measurement exercised", ("feature", "needed by"), rows)


def fact_tables(facts: Sequence[FactLine]) -> tuple[PageTable, ...]:
    """Return the facts in a table for each kind of source, the measured ones first."""
    parts = []
    rest = list(facts)
    for caption, beginnings in _SOURCES:
        known = [fact for fact in rest if fact.source.startswith(beginnings)]
        rest = [fact for fact in rest if fact not in known]
        parts.append((caption, known))
    parts.insert(1, (GIVEN, rest))
    return tuple(
        table(
            caption, ("fact", "value", "source"),
            [(TableCell(_sentence(fact.meaning or fact.key.replace("_", " ")), code=fact.key), fact.value, fact.source)
             for fact in known], (1,), "facts",
        )
        for caption, known in parts if known
    )  # fmt: skip


def weights_table(weights: Sequence[WeightLine], level: float) -> PageTable:
    """Return each weight in words with its interval: the largest costs first, what costs nothing last."""
    ordered = sorted(weights, key=lambda line: (not line.unit.startswith("s"), -line.value))
    rows = []
    for line in ordered:
        interval = interval_text(line.interval)
        if line.interval is not None and not line.unit.startswith("s"):
            interval = f"{line.interval[0]:.3g} to {line.interval[1]:.3g} {line.unit}"
        rows.append((TableCell(_sentence(line.words), _sentence("; ".join(line.warnings)), line.name), interval))
    return table("weights", ("what it costs", f"{100 * level:g} % interval"), rows, (1,), "narrow")


def families_table(families: Sequence[FamilyLine], chosen: str) -> PageTable:
    """Return the figures of each family, or its problem."""
    rows = []
    for line in families:
        mark = "the family of this report" if line.name == chosen else ""
        name = TableCell(line.name.replace("_", " "), small=line.problem or line.citation, code=mark)
        if line.figures is None:
            rows.append((name, *["-"] * 6))
            continue
        f = line.figures
        numbers = (percent(f.error), percent(f.factor), _plain(f.regret), _plain(f.tau), str(line.weights))
        rows.append((name, *numbers, str(line.withheld)))
    head = ("family", "error", "factor - 1", "regret", "tau", "weights", "withheld")
    return table("families, the one with the smallest error first", head, rows, (1, 2, 3, 4, 5, 6))


def ranking_table(ranking: Ranking) -> PageTable:
    """Return a row for each variant, the one predicted fastest first; with ties, where they are known."""
    columns, *rows = ranking.table
    longer = {"seconds": "predicted", "fastest": "is the fastest with"}
    head = tuple(longer.get(column, column) for column in columns)
    cells = [(f"{place}. {name}", *(cell or "no" for cell in rest)) for place, (name, *rest) in enumerate(rows, 1)]
    return table("variants, the one predicted fastest first", head, cells, tuple(range(1, len(head))))


def roofline_table(points: Sequence[KernelPoint], predicted: bool) -> PageTable:
    """Return the place of each kernel below the roofs."""
    rows = [
        (
            TableCell(point.kernel, small=_join(point.form, point.sizes)),
            f"{point.intensity:.4g}" if math.isfinite(point.intensity) else "moves no data",
            rate_text(point.rate, "op/s"),
            LOWEST[point.bound],
            percent(point.share),
        )
        for point in points
    ]
    rate = "rate at the predicted time" if predicted else "measured rate"
    head = ("kernel", "operations for each byte", rate, "lowest roof", "share of it reached")
    note = "; ".join(above_lines(points))
    return replace(table("kernels below the roofs", head, rows, (1, 2, 4)), note=f"{note[:1].upper()}{note[1:]}")


def withheld_table(data: ReportData) -> PageTable:
    """Return the user's variants without a prediction, and why."""
    return table("variants without a prediction", ("variant", "reason"), data.withheld.items(), kind="pairs")


def made_table(pairs: Iterable[tuple[str, str]]) -> PageTable:
    """Return how weights and the report were made."""
    rows = [(_sentence(_MADE.get(name, name)), text) for name, text in pairs]
    return table("how this report was made", ("what", "value"), rows, kind="pairs")


def _plain(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "-"


def _join(*texts: str) -> str:
    return ", ".join(filter(None, texts))


def _sentence(text: str) -> str:
    """Return a text whose first letter is a capital one, unless it is a symbol."""
    return text if text[1:2] == " " and not text.startswith("a ") else text[:1].upper() + text[1:]
