"""The tables of the report, as texts."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from perfmodel.analyses.descriptions import FactLine, WeightLine, term_label
from perfmodel.analyses.report_data import FamilyLine, ReportData
from perfmodel.analyses.roofline import KernelPoint, above_lines
from perfmodel.compare import Comparison
from perfmodel.compare.comparison import time_cells
from perfmodel.display import interval_text, percent, rate_text
from perfmodel.predicting.ranking import Ranking
from perfmodel.report.pictures import LOWEST

Row = TypeVar("Row")


class TableCell(NamedTuple):
    """A cell of a table: a text, and below it a smaller text. `code` is a name that the program uses."""

    text: str
    small: str = ""
    code: str = ""


class PageTable(NamedTuple):
    """A table: its caption, its headings, its rows of cells, and its class in the style sheet."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    numbers: tuple[int, ...] = ()  # places of the columns that hold numbers
    kind: str = ""
    note: str = ""  # a remark above the table


def table(
    caption: str, head: tuple[str, ...], rows: Any, numbers: Iterable[int] = (), kind: str = "", note: str = ""
) -> PageTable:
    """Return a table of rows whose cells are texts or cells."""
    cells = tuple(tuple(cell if isinstance(cell, TableCell) else TableCell(str(cell)) for cell in row) for row in rows)
    return PageTable(caption, head, cells, tuple(numbers), kind, note)


_SOURCES = (
    ("Measured facts", ("measured",)),
    ("Reported by the driver and the operating system", ("CL_", "told", "preferred", "OpenCL")),
    ("Assumed: put better values into facts.yaml", ("assumed",)),
)
MOST_ROWS = 300  # cases of a table
GIVEN = "Given by data sheets and by users"


def comparisons_table(rows: Sequence[Comparison], caption: str) -> PageTable:
    """Return a row for each case with its times. Of too many cases, keep only those with the largest errors."""
    kept = worst(rows, [row.relative_error for row in rows], MOST_ROWS)
    cells = [
        (TableCell(row.kernel, small=_join(row.form, row.sizes)), *time_cells(row), interval_text(row.interval))
        for row in kept
    ]
    head, note = ("kernel", "measured", "predicted", "error", "interval"), left_out(len(rows) - len(kept), "cases")
    return table(caption, head, cells, range(1, 5), note=note)


def worst(rows: Sequence[Row], errors: Sequence[float | None], most: int) -> Sequence[Row]:
    """Return the rows with the largest errors, in their order. Rows without an error come first."""
    known = [math.inf if error is None else error for error in errors]
    return [rows[index] for index in sorted(sorted(range(len(rows)), key=lambda index: -known[index])[:most])]


def left_out(count: int, what: str) -> str:
    """Return a sentence on the number of rows left out, or an empty text for 0."""
    return f"{count} {what} with smaller errors are left out, which keeps this file small." if count else ""


def unmeasured_table(data: ReportData) -> PageTable:
    """Return the features without a weight, and the kernels that need them."""
    rows = [
        (TableCell(term_label(data.family, feature), code=feature), ", ".join(kernels))
        for feature, kernels in data.unmeasured.items()
    ]
    return table("features that no measurement exercised", ("feature", "needed by"), rows)


def fact_tables(facts: Sequence[FactLine]) -> tuple[PageTable, ...]:
    """Return the facts in a table for each kind of source. Measured facts come first."""
    parts: dict[str, list[FactLine]] = {_SOURCES[0][0]: [], GIVEN: [], **{caption: [] for caption, _ in _SOURCES[1:]}}
    for fact in facts:
        parts[next((name for name, starts in _SOURCES if fact.source.startswith(starts)), GIVEN)].append(fact)
    return tuple(table(
        caption, ("fact", "value", "source"),
        [(TableCell(_sentence(fact.meaning or fact.key.replace("_", " ")), code=fact.key), fact.value, fact.source)
         for fact in known], (1,), "facts",
    ) for caption, known in parts.items() if known)  # fmt: skip


def weights_table(weights: Sequence[WeightLine], level: float) -> PageTable:
    """Return each weight in words with its interval. The largest costs come first, and zero costs last."""
    rows = []
    for line in sorted(weights, key=lambda line: (not line.unit.startswith("s"), -line.value)):
        interval = interval_text(line.interval)
        if line.interval is not None and not line.unit.startswith("s"):
            interval = f"{line.interval[0]:.3g} to {line.interval[1]:.3g} {line.unit}"
        rows.append((TableCell(_sentence(line.text), _sentence("; ".join(line.warnings)), line.name), interval))
    return table("weights", ("what it costs", f"{100 * level:g} % interval"), rows, (1,), "narrow")


def families_table(families: Sequence[FamilyLine], chosen: str) -> PageTable:
    """Return the figures of each family, or its problem."""
    rows = []
    for line in families:
        mark = "the family of this report" if line.name == chosen else ""
        name = TableCell(line.name.replace("_", " "), small=line.problem or line.citation, code=mark)
        if (f := line.figures) is None:
            rows.append((name, *["-"] * 6))
            continue
        regret, tau = (f"{value:.2f}" if math.isfinite(value) else "-" for value in (f.regret, f.tau))
        numbers = (percent(f.error), percent(f.factor), regret, tau, str(line.weights))
        rows.append((name, *numbers, str(line.withheld)))
    head = ("family", "error", "factor - 1", "regret", "tau", "weights", "withheld")
    return table("families, the one with the smallest error first", head, rows, range(1, 7))


def ranking_table(ranking: Ranking) -> PageTable:
    """Return a row for each variant, the one predicted fastest first. Rows have ties if ties are known."""
    columns, *rows = ranking.table
    longer = {"seconds": "predicted", "fastest": "is the fastest with"}
    head = tuple(longer.get(column, column) for column in columns)
    cells = [(f"{index}. {name}", *(cell or "no" for cell in rest)) for index, (name, *rest) in enumerate(rows, 1)]
    return table("variants, the one predicted fastest first", head, cells, range(1, len(head)))


def roofline_table(points: Sequence[KernelPoint], predicted: bool) -> PageTable:
    """Return the place of each kernel below the roofs."""
    rows = [(
        TableCell(point.kernel, small=_join(point.form, point.sizes)),
        f"{point.intensity:.4g}" if math.isfinite(point.intensity) else "moves no data",
        rate_text(point.rate, "op/s"), LOWEST[point.bound], percent(point.share),
    ) for point in points]  # fmt: skip
    rate = "rate at the predicted time" if predicted else "measured rate"
    head = ("kernel", "operations for each byte", rate, "lowest roof", "share of it reached")
    return table("kernels below the roofs", head, rows, (1, 2, 4), note=_sentence("; ".join(above_lines(points))))


def withheld_table(data: ReportData) -> PageTable:
    """Return the user's variants without a prediction, and why."""
    return table("variants without a prediction", ("variant", "reason"), data.withheld.items(), kind="pairs")


def made_table(pairs: Iterable[tuple[str, str]]) -> PageTable:
    """Return how weights and the report were made."""
    rows = [(_sentence(name), text) for name, text in pairs]
    return table("how this report was made", ("what", "value"), rows, kind="pairs")


def _join(*texts: str) -> str:
    return ", ".join(filter(None, texts))


def _sentence(text: str) -> str:
    return text if text[1:2] == " " and not text.startswith("a ") else text[:1].upper() + text[1:]
