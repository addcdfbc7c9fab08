"""Tables on narrow terminals."""

from __future__ import annotations

import pytest

from perfmodel.display import blocks_text, fitted_text

ROWS = [
    ("name", "time", "share", "note"), ("global_load_32_stride1", "1.5 ms", "90 %", "good"), ("b", "2 s", "1 %", ""),
]


def test_everything_is_shown_where_no_width_is_known():
    assert "name                      time  share  note" == fitted_text(ROWS).splitlines()[0]
    assert fitted_text(ROWS) == fitted_text(ROWS, drop=("note", "share"), width=200)


@pytest.mark.parametrize("width", [20, 30, 40, 60, 80])
def test_no_line_is_wider_than_the_terminal(width):
    assert max(map(len, fitted_text(ROWS, drop=("note", "share"), width=width).splitlines())) <= width
    assert max(map(len, blocks_text(ROWS, width=width).splitlines())) <= width


def test_columns_are_left_out_in_their_order():
    widths = {45: "", 42: "note", 35: "note, share"}
    for width, without in widths.items():
        lines = fitted_text(ROWS, drop=("note", "share"), width=width).splitlines()
        assert (f"not shown: {without} (--wide shows all)" if without else lines[2]) in " ".join(lines[2:])
        assert "global_load_32_stride1" in lines[1]


def test_names_are_cut_last():
    lines = fitted_text(ROWS, drop=("note", "share"), width=20).splitlines()
    assert ["name", "time"] == lines[0].split()
    assert lines[1].startswith("globa")
    assert "..." in lines[1]
    assert lines[1].endswith("1.5 ms")


def test_blocks_hold_every_cell():
    shown = {cell.strip() for line in blocks_text(ROWS, width=30).splitlines() for cell in line.split("  ")}
    assert {cell for row in ROWS for cell in row if cell} <= shown
