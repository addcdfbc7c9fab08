"""The most lines that a row touches, against every place where the row may begin."""

from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, strategies as st

from perfmodel.counts.counters.lines import lines_of, most_lines


def touched(cells: set[int], per_line: int) -> int:
    """Return the lines that cells touch, the row beginning where they touch most."""
    return max(len({(c + start) // per_line for c in cells}) for start in range(per_line))


@given(st.integers(0, 40), st.integers(1, 9))
def test_a_run_touches_the_most_somewhere(distance, per_line):
    cells = isl.Set(f"[n] -> {{ [i, x] : 0 <= i < n and 5*i <= x <= 5*i + {distance} }}")
    assert touched(set(range(distance + 1)), per_line) == most_lines(cells, per_line)


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(1, 9))
def test_never_below_nor_above_the_lines_of_an_aligned_row_and_one(cells, per_line):
    row = isl.Set("{ " + "; ".join(f"[{c}]" for c in sorted(cells)) + " }")
    aligned = len({c // per_line for c in cells})
    most = most_lines(row, per_line)
    assert most is None or touched(cells, per_line) <= most <= aligned + 1


def test_the_longest_row_counts():
    assert 4 == most_lines(isl.Set("{ [i, x] : 0 <= i < 10 and 0 <= x <= i }"), 4)


@pytest.mark.parametrize(
    "cells",
    [
        "[n] -> { [i, x] : 0 <= i < n and 0 <= x <= i }",  # the rows have no longest
        "[n] -> { [i, 0] : 0 <= i < n; [i, 100] : 0 <= i < n }",  # two lines, not eight
        "{ [i, x] : 0 <= i, x < 64 and x mod 32 = 0 }",
    ],
)
def test_no_constant(cells):
    assert most_lines(isl.Set(cells), 16) is None


def test_lines_of_cells():
    cells = isl.Set("[n] -> { [i, x] : 0 <= i < 3 and 0 <= x < n }")
    expected = isl.Set("[n] -> { [i, x] : 0 <= i < 3 and 0 <= 16*x < n }")
    assert expected == lines_of(cells, 16)
