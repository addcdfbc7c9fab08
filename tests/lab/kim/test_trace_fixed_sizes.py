"""Points and values at fixed sizes, by hand."""

from __future__ import annotations

import islpy as isl
import pytest

from perfmodel.errors import CountError
from scripts.lab.kim import trace
from scripts.lab.kim.trace import enumerate_points, fixed, values_at

TRIANGLE = isl.Set("[n] -> { [i, j] : 0 <= j <= i < n }")


def test_sizes_and_values_are_fixed() -> None:
    assert fixed(TRIANGLE, {"n": 3}, {"i": 1}).is_equal(isl.Set("{ [i, j] : i = 1 and 0 <= j <= 1 }"))


def test_points_of_a_triangle() -> None:
    columns, number = enumerate_points(fixed(TRIANGLE, {"n": 3}))
    assert 6 == number
    assert [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)] == list(
        zip(columns["i"].tolist(), columns["j"].tolist(), strict=True)
    )


def test_no_points() -> None:
    columns, number = enumerate_points(fixed(TRIANGLE, {"n": 0}))
    assert (0, [], []) == (number, columns["i"].tolist(), columns["j"].tolist())


def test_too_many_points_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "MOST", 8)  # the box around the triangle of n = 3 has 9
    with pytest.raises(CountError):
        enumerate_points(fixed(TRIANGLE, {"n": 3}))


def test_values_of_a_function() -> None:
    columns, number = enumerate_points(fixed(TRIANGLE, {"n": 3}))
    # 4*i + floor(j / 2)
    function = isl.Map("{ [i, j] -> [4i + floor(j/2)] }")
    assert [0, 4, 4, 8, 8, 9] == values_at(function, columns, number).tolist()
