"""The table of a kernel's counts, for a notebook and for pandas."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import COLUMNS
from perfmodel.errors import SizeError
from tests.counts.test_kernel import axpy, kernel
from tests.test_display import Cells


def test_one_line():
    assert "<KernelCounts made_up(n): 2 kinds of operations, 3 of accesses, sub-groups of 32>" == repr(count(axpy()))


def test_the_table_has_each_count():
    """2*a + b over n items: a product and a sum each; two loads and a store; one launch of ceil(n/16) groups."""
    shown = Cells(count(axpy())._repr_html_())
    lines = str(count(axpy())).splitlines()
    assert (shown.caption, *shown.notes) == (lines[0], lines[-1])
    assert ["".join(row).replace(" ", "") for row in shown.rows] == ["".join(line.split()) for line in lines[1:-1]]
    assert "made_up(n), work-groups of 16" == shown.caption
    assert ["what", "details", "executions"] == shown.rows[0]
    cells = {(what, of): executions for what, of, executions in shown.rows[1:]}
    assert {
        ("operation", "float32 add"): "n",
        ("operation", "float32 mul"): "n",
        ("access", "global load of a, 32 bits, stride 1"): "n",
        ("access", "global load of b, 32 bits, stride 1"): "n",
        ("access", "global store of c, 32 bits, stride 1"): "n",
        ("launches", "made_up"): "1",
        ("work-groups", "made_up"): "floor((n + 15)/16)",
    } == cells
    assert "n > 0" in shown.notes[0]
    assert "32 work-items in a sub-group" in shown.notes[0]


def test_a_long_formula_is_cut():
    class Long(Count):
        def __str__(self) -> str:
            return "n + " * 100

    counts = count(axpy())
    row = counts.operation_table[0]
    object.__setattr__(row, "count", Long(row.count.polynomial))
    assert max(len(cell) for row in Cells(counts._repr_html_()).rows for cell in row) <= 90
    assert len(repr(row.count)) < 120


def test_data_decide_the_stride():
    counts = count(kernel("{[i]: 0 <= i < n}", "c[i] = a[j[i]]", a=np.float32, j=np.int32))
    assert ["global load of a, 32 bits, indirect"] == [
        of for _, of, _ in Cells(counts._repr_html_()).rows if " of a," in of
    ]


def test_the_frame_has_values_where_sizes_are_given():
    counts = count(axpy())
    assert list(COLUMNS) == list(counts.to_frame().columns)
    frame = counts.to_frame(n=40)
    values = dict(zip(zip(frame["what"], frame["array"].fillna(""), frame["kind"].fillna(""), strict=True),
                      frame["value"], strict=True))  # fmt: skip
    assert {
        ("launches", "", "made_up"): 1, ("work-groups", "", "made_up"): 3, ("operation", "", "add"): 40,
        ("operation", "", "mul"): 40, ("access", "a", ""): 40, ("access", "b", ""): 40, ("access", "c", ""): 40,
    } == values  # fmt: skip
    assert frame["exact"].all()
    assert frame.equals(counts.to_frame({"n": 40}))
    with pytest.raises(SizeError):
        counts.to_frame(m=1)
