"""What the templates of the report show: tables, plots and cards, as frozen values of plain text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: a text, and below it a smaller one; `code` is a name that the program uses."""

    text: str
    small: str = ""
    code: str = ""


@dataclass(frozen=True)
class Table:
    """A table: its caption, its headings, and its rows of cells.

    Parameters
    ----------
    numbers
        Places of the columns that hold numbers.
    kind
        ``facts`` for three columns of fixed widths, ``pairs`` for names with their texts, ``narrow`` for a table that
        is easier to read where it is not wide; else empty.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    numbers: frozenset[int] = frozenset()
    kind: str = ""
    note: str = ""  # what is left out


@dataclass(frozen=True)
class Plot:
    """A plot: its name in the page, what it shows in words, its specification for plotly, its height [pixel]."""

    name: str
    alternative: str
    specification: Mapping[str, Any]
    height: int = 480


@dataclass(frozen=True)
class Stat:
    """A number that stands out, with its meaning."""

    value: str
    meaning: str


@dataclass(frozen=True)
class TermBar:
    """A term of a time: its words, its share and its time as text, the length of its bar [%], and its colour."""

    words: str
    share: str
    seconds: str
    length: float
    colour: str
    negative: bool = False


@dataclass(frozen=True)
class LegendKey:
    """What a colour stands for."""

    colour: str
    words: str


@dataclass(frozen=True)
class KernelCard:
    """Everything that is said of one kernel at one size."""

    title: str
    detail: str  # variant and sizes
    times: str
    terms: tuple[TermBar, ...]
    adds_up: bool  # whether the terms are parts of a whole
    terms_note: str
    bounds: tuple[str, ...]
    advice: tuple[str, ...]
    warnings: tuple[str, ...]


def table(caption: str, head: tuple[str, ...], rows: Any, numbers: tuple[int, ...] = (), kind: str = "") -> Table:
    """Return a table of rows whose cells are texts or cells.

    Examples
    --------
    >>> table("sizes", ("name", "size"), [("n", TableCell("8"))], (1,)).rows
    ((TableCell(text='n', small='', code=''), TableCell(text='8', small='', code='')),)
    """
    made = tuple(tuple(one if isinstance(one, TableCell) else TableCell(str(one)) for one in row) for row in rows)
    return Table(caption, head, made, frozenset(numbers), kind)
