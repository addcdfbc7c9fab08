"""How values show themselves: in words, in one line, as CSV, as a table of a notebook, and as a table of pandas."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perfmodel.documents import shortened
from perfmodel.errors import MissingExtraError

if TYPE_CHECKING:
    from pandas import DataFrame

WIDTH = 119
"""Most characters of a value's ``repr``."""
MOST_ROWS = 60
"""Most rows of a table in a notebook; of a longer one the first and the last are shown."""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"), (1e-15, "fs"))


_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""Where a cell begins with one of these, programs for tables compute it."""


def csv_text(names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV with a header of names; what a program for tables would compute begins with an apostrophe.

    Examples
    --------
    >>> print(csv_text(["kernel", "change"], [{"kernel": "=1+2", "change": -0.5}]), end="")
    kernel,change
    '=1+2,-0.5
    """
    lines: list[str] = []
    # A cell with a character of the line's end is put in quotes, which a cell with a carriage return needs.
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
    """Return the text that :func:`csv_text` made a cell of: without its apostrophe."""
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA) else cell


def seconds_text(seconds: float) -> str:
    """Return a time with three digits and a fitting unit.

    Examples
    --------
    >>> seconds_text(0.00123456), seconds_text(-2e-11), seconds_text(0.0), seconds_text(75.0)
    ('1.23 ms', '-20 ps', '0 s', '75 s')
    """
    if seconds == 0 or not math.isfinite(seconds):
        return f"{seconds:g} s"
    scale, unit = next((pair for pair in _SCALES if abs(seconds) >= pair[0] * 0.9995), _SCALES[-1])
    return f"{seconds / scale:.3g} {unit}"


def rate_text(rate: float, unit: str) -> str:
    """Return a rate with three digits and a fitting prefix.

    Examples
    --------
    >>> rate_text(8.62e10, "B/s"), rate_text(4e12, "op/s"), rate_text(7.0, "B/s")
    ('86.2 GB/s', '4 Top/s', '7 B/s')
    """
    scale, prefix = next((pair for pair in _PREFIXES if rate >= pair[0] * 0.9995), (1.0, ""))
    return f"{rate / scale:.3g} {prefix}{unit}"


def bytes_text(size: float) -> str:
    """Return a number of bytes with three digits and a fitting binary prefix.

    Examples
    --------
    >>> bytes_text(49152), bytes_text(5865951232), bytes_text(64), bytes_text(1023.9)
    ('48 KiB', '5.46 GiB', '64 B', '1 KiB')
    """
    for power, prefix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if size >= 1023.5 * 1024 ** (power - 1):
            return f"{size / 1024**power:.3g} {prefix}B"
    return f"{size:.4g} B"


def percent(error: float | None) -> str:
    """Return a share in per cent; a dash where there is none.

    Examples
    --------
    >>> percent(0.1234), percent(None), percent(float("inf"))
    ('12.3 %', '-', 'inf')
    """
    if error is None or math.isnan(error):
        return "-"
    return f"{100 * error:.1f} %" if math.isfinite(error) else "inf"


def interval_text(interval: tuple[float, float] | None) -> str:
    """Return an interval's bounds with units; a dash where there is none."""
    return "-" if interval is None else f"{seconds_text(interval[0])} to {seconds_text(interval[1])}"


def in_words(values: Mapping[str, Any]) -> str:
    """Return names and values in one line.

    Examples
    --------
    >>> in_words({"n": 8, "work_group": [16, 12]})
    'n=8 work_group=16x12'
    """
    return " ".join(
        f"{name}={'x'.join(map(str, value)) if isinstance(value, list | tuple) else value}"
        for name, value in values.items()
    )


def finite(value: Any) -> Any:
    """Return a value for JSON, which knows no NaN and no infinity: None in their place."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def one_line(text: str) -> str:
    r"""Return a text for ``repr``: in one line, and without its middle where it is longer than :data:`WIDTH`.

    Examples
    --------
    >>> one_line("<Count:\n n>")
    '<Count: n>'
    """
    return shortened(" ".join(text.split()), WIDTH, quoted=False)


def html_table(rows: Sequence[Sequence[str]], caption: str = "", notes: Iterable[str] = (), left: int = 1) -> str:
    """Return rows of cells as an HTML table, everything escaped, with notes below it.

    Parameters
    ----------
    rows
        The first row is the heading. Of more than :data:`MOST_ROWS` others the middle is left out, and a row says so.
    caption, notes
        Texts above and below the table.
    left
        Columns that are aligned left; the others are numbers.

    Examples
    --------
    >>> html_table([("n", "time"), ("<8", "1 s")])
    '<table><tr><th style="text-align:left">n</th><th>time</th></tr><tr><td style="text-align:left">&lt;8</td>...
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
    aligned = (' style="text-align:left"' if place < left else "" for place in range(len(cells)))
    return f"<tr>{''.join(f'<{tag}{a}>{escape(c)}</{tag}>' for a, c in zip(aligned, cells, strict=True))}</tr>"


def data_frame(records: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> DataFrame:
    """Return records as a pandas ``DataFrame``, one row each, with these columns even where there is no record.

    Raises
    ------
    MissingExtraError
        pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtraError("pandas", "pandas") from error
    return pd.DataFrame(list(records), columns=None if columns is None else list(columns))
