"""How values are shown: in words, as CSV, as a table of a notebook or of pandas, and as a table that fits a terminal.

Where a table is too wide, columns are left out in a stated order, and the sentence below it says which.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from perfmodel.errors import extra_needed

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 60
"""Most rows of a table in a notebook; of a longer one the first and the last are shown."""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"), (1e-12, "ps"), (1e-15, "fs"))
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""Where a cell begins with one of these, programs for tables compute it."""
GAP = 2  # spaces between columns
SHORTEST = 8  # characters that are left of a name
CUT = "..."


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
    >>> bytes_text(49152), bytes_text(5865951232), bytes_text(64), bytes_text(1023.9), bytes_text(1000 * 2**20)
    ('48 KiB', '5.46 GiB', '64 B', '1 KiB', '1000 MiB')
    """
    power = next((power for power in (4, 3, 2, 1) if size >= 1023.5 * 1024 ** (power - 1)), 0)
    number = size / 1024**power
    digits = ".4g" if not power else ".3g" if number < 999.5 else ".0f"
    return f"{number:{digits}} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


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


def html_table(rows: Sequence[Sequence[str]], caption: str = "", notes: Iterable[str] = (), left: int = 1) -> str:
    """Return rows of cells as an HTML table, everything escaped, with a caption above and notes below it.

    The first row is the heading. Of more than :data:`MOST_ROWS` others the middle is left out, and a row says so. The
    first `left` columns are aligned left; the others are numbers.

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

    It raises MissingExtraError where pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise extra_needed("pandas", "pandas") from error
    return pd.DataFrame(list(records), columns=None if columns is None else list(columns))


def columns_text(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of cells in aligned columns; the first ``left`` ones are aligned left.

    Examples
    --------
    >>> print(columns_text([("a", "1"), ("bcd", "20")]))
    a     1
    bcd  20
    """
    widths, lines = _widths(rows), []
    for row in rows:
        cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fitted_text(
    rows: Sequence[Sequence[str]], left: int = 1, drop: Sequence[str] = (), width: int | None = None
) -> str:
    """Return rows of cells in aligned columns that are no wider than a terminal of `width` columns; None: in full.

    The first row holds the columns' names. Those in `drop` may be left out, in this order; all columns of the name. If
    the table is still too wide, long cells of the `left` columns at the left are cut in their middle.

    Examples
    --------
    >>> print(fitted_text([("name", "time", "note"), ("a", "1 s", "good")], drop=("note",), width=12))
    name  time
    a      1 s
    not shown:
    note (--wide
    shows all)
    """
    kept: Sequence[Sequence[str]] = rows
    possible = [name for name in drop if name in rows[0]]
    without: Sequence[str] = possible
    for count in range(len(possible) + 1):
        places = [place for place, name in enumerate(rows[0]) if name not in possible[:count]]
        kept = [[row[place] for place in places] for row in rows]
        if _fits(kept, width):
            without = possible[:count]
            break
    left -= sum(name in without for name in rows[0][:left])
    if width is not None and not _fits(kept, width):
        kept = _cut(kept, max(left, 1), width)
    named = ", ".join(without)
    note = [_wrapped(f"not shown: {named} (--wide shows all)", width)] if without else []
    return "\n".join([columns_text(kept, left), *note])


def blocks_text(rows: Sequence[Sequence[str]], left: int = 1, first: int = 1, width: int | None = None) -> str:
    """Return rows of cells in blocks of columns, one below the other, each with the first columns.

    Examples
    --------
    >>> print(blocks_text([("name", "n=1", "n=2"), ("a", "10", "20")], width=9))
    name  n=1
    a      10
    <BLANKLINE>
    name  n=2
    a      20
    """
    shown, place, count = [], first, len(rows[0])
    while place < count:
        end = place + 1
        while end < count and _fits([(*row[:first], *row[place : end + 1]) for row in rows], width):
            end += 1
        block = [(*row[:first], *row[place:end]) for row in rows]
        shown.append(fitted_text(block, left if place == first else first, (), width))
        place = end
    return "\n\n".join(shown) or columns_text(rows, left)


def stacked_text(rows: Sequence[Sequence[str]], left: int = 1, width: int | None = None) -> str:
    """Return rows of cells in aligned columns; where they do not fit, each row's last cell below the others.

    Examples
    --------
    >>> print(stacked_text([("loads", "a", "n*(n + 1)/2"), ("stores", "b", "n")], width=14))
    loads  a
        n*(n +
        1)/2
    stores  b
        n
    """
    if _fits(rows, width):
        return columns_text(rows, left)
    lines = []
    for row in rows:
        lines += [_wrapped("  ".join(filter(None, row[:-1])), width), _wrapped(row[-1], width, "    ", "    ")]
    return "\n".join(line for line in lines if line)


def wrapped_text(text: str, width: int | None = None) -> str:
    r"""Return a text whose lines of prose are broken between words; lines that fit stay as they are.

    Examples
    --------
    >>> print(wrapped_text("a  b\nnote: this line is long", 16))
    a  b
    note: this line
      is long
    """
    if width is None:
        return text
    return "\n".join(line if len(line) <= width else _wrapped(line, width, "", "  ") for line in text.split("\n"))


def _fits(rows: Sequence[Sequence[str]], width: int | None) -> bool:
    return width is None or sum(_widths(rows)) + GAP * (len(rows[0]) - 1) <= width


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _cut(rows: Sequence[Sequence[str]], left: int, width: int) -> list[list[str]]:
    """Cut the widest of the columns at the left, so that the others have their place."""
    widths = _widths(rows)
    over = sum(widths) + GAP * (len(widths) - 1) - width
    while over > 0:
        place = max(range(left), key=widths.__getitem__)
        second = max((w for i, w in enumerate(widths[:left]) if i != place), default=0)
        most = max(SHORTEST, min(widths[place] - 1, max(widths[place] - over, second)))
        if most >= widths[place]:
            break
        over -= widths[place] - most
        widths[place] = most
    return [[_shortened(cell, most) for cell, most in zip(row, widths, strict=True)] for row in rows]


def _shortened(cell: str, most: int) -> str:
    """Return a cell without its middle.

    >>> _shortened("global_load_32_stride1", 12)
    'globa...ide1'
    """
    if len(cell) <= most:
        return cell
    head = (most - len(CUT) + 1) // 2
    return f"{cell[:head]}{CUT}{cell[head + len(CUT) - most :]}"


def _wrapped(text: str, width: int | None, first: str = "", others: str = "") -> str:
    from textwrap import fill

    return text if width is None else fill(text, width, initial_indent=first, subsequent_indent=others)
