"""What values show of themselves: words, one line, HTML of a notebook, and pandas."""

import csv
import sys
from html.parser import HTMLParser
from io import StringIO

import pytest

from perfmodel.display import MOST_ROWS, cell_text, csv_text, data_frame, html_table, interval_text
from perfmodel.documents import WIDTH, one_line
from perfmodel.errors import MissingExtraError


class Cells(HTMLParser):
    """The texts of a table's cells, row by row, and everything that a browser would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption, self.notes, self.tags, self._open = "", [], set(), ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}
        self._open = tag
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self._open in ("th", "td"):
            self.rows[-1][-1] += data
        elif self._open == "caption":
            self.caption += data
        elif self._open == "p":
            self.notes.append(data)

    def handle_endtag(self, tag):
        self._open = ""


def test_cells_are_escaped_and_nothing_runs():
    evil = "<script>alert('1')</script> & \"x\""
    shown = Cells(html_table([(evil, "b"), ("c", evil)], evil, [evil]))
    assert [[evil, "b"], ["c", evil]] == shown.rows
    assert (evil, [evil]) == (shown.caption, shown.notes)
    assert {"table", "caption", "tr", "th", "td", "p"} == shown.tags


def test_the_middle_of_a_long_table_is_left_out():
    rows = [("n",), *((str(n),) for n in range(MOST_ROWS + 5))]
    shown = [row[0] for row in Cells(html_table(rows)).rows]
    assert 1 + MOST_ROWS + 1 == len(shown)
    assert ["29", "... 5 more ...", "35"] == shown[30:33]
    assert MOST_ROWS + 4 == int(shown[-1])


def test_one_line_is_short():
    assert WIDTH == len(one_line("word " * 100))
    assert "a b" == one_line("a\n  b")


def test_intervals():
    assert "-" == interval_text(None)
    assert "1 ms to inf s" == interval_text((1e-3, float("inf")))


def test_a_frame_of_nothing_has_its_columns():
    assert ["a", "b"] == list(data_frame([], ["a", "b"]).columns)


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'perfmodel\[pandas\]'"):
        data_frame([{"a": 1}])


def test_no_cell_of_csv_is_a_formula_and_each_is_read_back():
    """A program for tables computes cells that begin with one of these; numbers are written as they are."""
    formulas = ["=1+2", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "'=1", "''@x", "\uff1d1"]
    texts = [*formulas, "", "'", "'plain", "a=1", " =1", "é"]
    numbers = [-1.5, "-1.5", "+3", "-inf", "-1e-9", 7, None]
    text = csv_text(["=name", "cell"], [{"=name": "k", "cell": cell} for cell in (*texts, *numbers)])
    (first, *cells) = [cell for _, cell in csv.reader(StringIO(text, newline=""))]
    assert text.startswith("'=name,cell\n")
    assert [f"'{one}" for one in formulas] == cells[: len(formulas)]
    assert texts == [cell_text(cell) for cell in cells[: len(texts)]]
    assert ["" if one is None else str(one) for one in numbers] == cells[len(texts) :]
    assert "cell" == first
