"""Rows of counts: selection, sums, launches and JSON, by hand."""

from __future__ import annotations

import json
import pickle

import pytest

from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import (
    AccessCount,
    LaunchCount,
    LaunchShape,
    OperationCount,
    Utilization,
    matches,
    read_row,
    total,
    write_row,
)

N = Count.from_text("[n] -> { n }")
ADD = OperationCount("float32", "add", N)


def test_rows_are_selected_by_what_is_given() -> None:
    assert matches(ADD, {})
    assert matches(ADD, {"dtype": "float32", "kind": None})
    assert not matches(ADD, {"dtype": "float32", "kind": "mul"})


def test_sums() -> None:
    assert 20 == total([N, N])(n=10)
    nothing = total([], "launch")
    assert (0, "launch") == (nothing(), nothing.granularity)


def test_units_of_a_launch() -> None:
    # 3 launches of n groups of 20 x 2 = 40 work-items: 2 sub-groups of 32
    groups = Count.from_text("[n] -> { 3*n }", granularity="workgroup")
    launch = LaunchCount("kernel", (20, 2), Count.constant(3, "launch"), groups)
    assert 40 * 30 == launch.work_items()(n=10)
    assert 2 * 30 == launch.sub_groups(32)(n=10)
    assert ("workitem", "subgroup") == (launch.work_items().granularity, launch.sub_groups(32).granularity)


def test_utilization_is_that_of_the_largest_stride() -> None:
    # n cells among 2 n, or among 4 n
    used = Utilization(N, (2 * N, 4 * N))
    assert 1 / 4 == used(n=8)
    assert 1 == Utilization(N, (N,))(n=0)


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
