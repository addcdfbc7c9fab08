"""Values as text with units, and records as one table: aligned text, CSV, HTML or pandas."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perfmodel.errors import optional

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
else:  # pandas is imported when a value becomes a frame
    DataFrame = Any

MOST_ROWS = 60  #: Rows of a table in a notebook; a longer table shows its first and last rows
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"), (1e-15, "fs"))
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  #: Spreadsheets compute a cell that begins with one of these
GAP = 2  # spaces between columns
NONE = "-"  #: The text of a cell without a value


def csv_text(names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV with a header. An apostrophe keeps spreadsheets from computing a cell like ``=1+2``.

    >>> print(csv_text(["kernel", "change"], [{"kernel": "=1+2", "change": -0.5}]), end="")
    kernel,change
    '=1+2,-0.5
    """
    lines: list[str] = []
    # The writer quotes a cell with a character of the line terminator, and a carriage return needs quotes.
    writer = csv.DictWriter(SimpleNamespace(write=lines.append), names, lineterminator="\r\n")
    writer.writerow({name: _no_formula(name) for name in names})
    writer.writerows({name: _no_formula(cell) for name, cell in record.items()} for record in records)
    return "".join(f"{line[:-2]}\n" for line in lines)


def _no_formula(cell: Any) -> Any:
    if not isinstance(cell, str) or not cell.lstrip("'").startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def cell_text(cell: str) -> str:
    """Return a cell of :func:`csv_text` without its apostrophe."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell


def seconds_text(seconds: float) -> str:
    """Return a time with three digits and a fitting unit.

    >>> seconds_text(0.00123456), seconds_text(-2e-11), seconds_text(0.0), seconds_text(75.0)
    ('1.23 ms', '-20 ps', '0 s', '75 s')
    """
    if seconds == 0 or not math.isfinite(seconds):
        return f"{seconds:g} s"
    scale, unit = next((pair for pair in _SCALES if abs(seconds) >= pair[0] * 0.9995), _SCALES[-1])
    return f"{seconds / scale:.3g} {unit}"


def rate_text(rate: float, unit: str) -> str:
    """Return a rate with three digits and a fitting prefix.

    >>> rate_text(8.62e10, "B/s"), rate_text(4e12, "op/s"), rate_text(7.0, "B/s")
    ('86.2 GB/s', '4 Top/s', '7 B/s')
    """
    scale, prefix = next((pair for pair in _PREFIXES if rate >= pair[0] * 0.9995), (1.0, ""))
    return f"{rate / scale:.3g} {prefix}{unit}"


def bytes_text(size: float) -> str:
    """Return a number of bytes with three digits and a fitting binary prefix.

    >>> bytes_text(49152), bytes_text(5865951232), bytes_text(64), bytes_text(1023.9), bytes_text(1000 * 2**20)
    ('48 KiB', '5.46 GiB', '64 B', '1 KiB', '1000 MiB')
    """
    power = next((power for power in (4, 3, 2, 1) if size >= 1023.5 * 1024 ** (power - 1)), 0)
    number = size / 1024**power
    digits = ".4g" if not power else ".3g" if number < 999.5 else ".0f"
    return f"{number:{digits}} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def percent(error: float | None) -> str:
    """Return a share in per cent, or a dash for None and NaN."""
    if error is None or math.isnan(error):
        return NONE
    return f"{100 * error:.1f} %" if math.isfinite(error) else "inf"


def interval_text(interval: tuple[float, float] | None) -> str:
    """Return the bounds of an interval with units, or a dash for None."""
    return NONE if interval is None else f"{seconds_text(interval[0])} to {seconds_text(interval[1])}"


def values_text(values: Mapping[str, Any]) -> str:
    """Return names and values in one line.

    >>> values_text({"n": 8, "work_group": [16, 12]})
    'n=8 work_group=16x12'
    """
    return " ".join(
        f"{name}={'x'.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in values.items()
    )


def finite(value: Any) -> Any:
    """Return a value for JSON. NaN and infinity, which JSON lacks, become None."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def html_table(rows: Sequence[Sequence[str]], caption: str = "", notes: Iterable[str] = (), left: int = 1) -> str:
    """Return rows of cells as an escaped HTML table with a caption and notes. The first row is the heading.

    If there are more than :data:`MOST_ROWS` other rows, one row replaces those in the middle. The first `left` columns
    are aligned left.
    """
    head, *body = rows
    if len(body) > MOST_ROWS:
        half = MOST_ROWS // 2
        gap = (f"... {len(body) - 2 * half} more ...", *[""] * (len(head) - 1))
        body = [*body[:half], gap, *body[-half:]]
    lines = [_row(head, "th", left), *(_row(row, "td", left) for row in body)]
    title = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table>{title}{''.join(lines)}</table>{below}"


def _row(cells: Sequence[str], tag: str, left: int) -> str:
    aligned = (' style="text-align:left"' if column < left else "" for column in range(len(cells)))
    return f"<tr>{''.join(f'<{tag}{a}>{escape(c)}</{tag}>' for a, c in zip(aligned, cells, strict=True))}</tr>"


def data_frame(records: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> DataFrame:
    """Return records as a pandas ``DataFrame``, with these columns even without a record."""
    return optional("pandas", "pandas").DataFrame(list(records), columns=None if columns is None else list(columns))


def columns_text(rows: Sequence[Sequence[str]], left: int = 1, width: int | None = None) -> str:
    """Return rows of cells in aligned columns. The first `left` columns are aligned left.

    A table wider than `width` continues in blocks below each other. Each block repeats the `left` columns, or only the
    first column if these take more than half of the width. A cell too long for its block is wrapped.

    >>> rows = [("name", "n=1", "n=2"), ("a", "10", "20")]
    >>> print(columns_text(rows, width=9))
    name  n=1
    a      10
    <BLANKLINE>
    name  n=2
    a      20
    """
    if width is None or _total(rows) <= width:
        return _aligned(rows, left)
    count = len(rows[0])
    keys = left if left < count and _total([row[:left] for row in rows]) <= width // 2 else 1
    if count > 1:
        rows = [(*(_cut(cell, width // 2) for cell in row[:keys]), *row[keys:]) for row in rows]
    shown: list[str] = []
    start = keys
    while start < count or not shown:
        end = start + 1
        while end < count and _total([(*row[:keys], *row[start : end + 1]) for row in rows]) <= width:
            end += 1
        block = [(*row[:keys], *row[start:end]) for row in rows]
        fits = _total(block) <= width
        shown.append(_aligned(block, max(keys, left - start + keys)) if fits else _stacked(block, width))
        start = end
    return "\n\n".join(shown)


def wrapped_text(text: str, width: int | None = None) -> str:
    """Return a text whose long lines are broken between words."""
    if width is None:
        return text
    return "\n".join(
        line if len(line) <= width else fill(line, width, subsequent_indent="  ") for line in text.split("\n")
    )


def _aligned(rows: Sequence[Sequence[str]], left: int) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        (" " * GAP).join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _total(rows: Sequence[Sequence[str]]) -> int:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1)


def _cut(cell: str, most: int) -> str:
    if len(cell) <= most:
        return cell
    head = (most - 2) // 2
    return f"{cell[:head]}...{cell[head + 3 - most :]}"


def _stacked(rows: Sequence[Sequence[str]], width: int) -> str:
    lines = []
    for *cells, last in rows:
        lines += [fill("  ".join(filter(None, cells)), width), fill(last, width, initial_indent="    ",
                  subsequent_indent="    ")]  # fmt: skip
    return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class Column:
    """A column of a text table: the heading, the key of the value (None: the record), and the function to write it."""

    name: str
    key: str = ""
    write: Callable[[Any], str] = str

    def cell(self, record: Mapping[str, Any]) -> str:
        """Return the text of a record in this column. None, NaN and missing values are a dash."""
        value = record.get(self.key) if self.key else record
        return NONE if value is None or (isinstance(value, float) and math.isnan(value)) else self.write(value)


@dataclass(frozen=True)
class Table:
    """Records shown as text and HTML (the columns) or CSV (all keys)."""

    columns: Sequence[Column]
    records: Sequence[Mapping[str, Any]] = field(repr=False)
    left: int = 1  #: Number of columns aligned left

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The headings, and the cells of each record."""
        return [
            tuple(column.name for column in self.columns),
            *(tuple(column.cell(record) for column in self.columns) for record in self.records),
        ]

    def text(self, width: int | None = None) -> str:
        """Return the table as text for a terminal of this width, or in its own width for None."""
        return columns_text(self.rows, self.left, width)

    def html(self, caption: str) -> str:
        """Return the table as HTML."""
        return html_table(self.rows, caption, left=self.left)

    def csv(self) -> str:
        """Return all records as CSV."""
        return csv_text(list(dict.fromkeys(key for record in self.records for key in record)), self.records)
