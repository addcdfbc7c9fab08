"""Rows of counts: selection, sums, launches and JSON, by hand."""

import json
import pickle

import pytest

from perfmodel.counts import count
from perfmodel.counts.quasipoly.count import Count, Ratio
from perfmodel.counts.rows import COLUMNS, AccessCount, LaunchShape, OperationCount, read_row, total, write_row
from perfmodel.errors import SizeError
from tests.counts.test_kernel import axpy
from tests.test_display import Cells

N = Count.from_text("[n] -> { n }")
ADD = OperationCount("float32", "add", N)


def test_sums() -> None:
    assert 20 == total([N, N])(n=10)
    nothing = total([], "launch")
    assert (0, "launch") == (nothing(), nothing.granularity)


def test_a_ratio_is_that_of_the_largest_divisor() -> None:
    # n cells among 2 n, or among 4 n
    used = Ratio(N, (2 * N, 4 * N))
    assert 1 / 4 == used(n=8)
    assert 1 == Ratio(N, (N,))(n=0)


def test_json() -> None:
    access = AccessCount("global", "load", "a", "float32", 32, False, Count.constant(1, "cell"), N, N, None)
    shape = LaunchShape((16, 4), 2048, 8)
    for row in (access, ADD, shape):
        document = json.loads(json.dumps(write_row(row)))
        assert document == write_row(read_row(type(row), document))
    assert {"group_shape": [16, 4], "local_bytes": 2048, "private_bytes": 8} == write_row(shape)
    assert shape == read_row(LaunchShape, write_row(shape))


def test_cells_are_counted_once_and_when_they_are_asked_for() -> None:
    asked: list[int] = []

    def cells() -> tuple[Count | None, Count | None]:
        asked.append(1)
        return N, None

    known = {"space": "global", "direction": "load", "array": "a", "dtype": "float32", "bits": 32, "indirect": False}
    row = AccessCount.deferred(cells, **known, stride=Count.constant(1, "cell"), count=N)
    assert 3 == row.count(n=3)
    assert [] == asked
    assert (N, None, N) == (row.footprint, row.filled, row.footprint)
    assert [1] == asked
    copied = pickle.loads(pickle.dumps(AccessCount.deferred(cells, **known, stride=N, count=N)))
    assert (N, None) == (copied.footprint, copied.filled)
    with pytest.raises(AttributeError, match="an AccessCount has no 'cells'"):
        _ = row.cells  # type: ignore[attr-defined]


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
        ("operation", "float32 add"): "n", ("operation", "float32 mul"): "n",
        ("access", "global load of a, 32 bits, stride 1"): "n", ("access", "global load of b, 32 bits, stride 1"): "n",
        ("access", "global store of c, 32 bits, stride 1"): "n", ("launches", "made_up"): "1",
        ("work-groups", "made_up"): "floor((n + 15)/16)",
    } == cells  # fmt: skip
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
