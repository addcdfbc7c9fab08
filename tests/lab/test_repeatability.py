"""A sample that is measured twice."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from perfmodel.opencl import Device
from scripts.lab.repeatability import WORST, Repeatability, document_of, lines_of, measure_twice
from tests.campaigns import SCALE, TINY
from tests.machine import device
from tests.measuring.test_visits import CAMPAIGN, FACTS, device as visited  # noqa: F401 -- a fixture
from tests.store.test_files import measurement

OTHER = replace(SCALE, name="other")


def twice(n: int, first: float, second: float):
    return tuple(measurement(parameters={"n": n}, samples_s=(9.0, 8.0, *[t] * 3)) for t in (first, second))


def test_changes_are_relative_to_the_first_time():
    pairs = tuple((SimpleNamespace(seconds=a), SimpleNamespace(seconds=b)) for a, b in ((2.0, 3.0), (4.0, 3.0)))
    found = Repeatability(pairs)
    assert (0.5, 0.25) == found.changes
    assert (0.25, 0.375, 0.5) == tuple(found.quantile(share) for share in (0.0, 0.5, 1.0))


@pytest.mark.device
def test_repeatability_measures_a_sample_twice_and_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = measure_twice((SCALE, OTHER), device(), campaign=TINY, most=8)
    assert (8, 0) == (len(found.pairs), found.failed)
    assert all(first.key == second.key for first, second in found.pairs)
    assert {"scale", "other"} == {first.kernel for first, _ in found.pairs}
    assert [] == list(tmp_path.iterdir())
    first, second = found.pairs[0]
    assert abs(first.seconds - second.seconds) / first.seconds == found.changes[0]
    assert sorted(found.changes)[-1] == found.quantile(1.0)


@pytest.mark.device
def test_repeatability_counts_what_failed(tmp_path):
    bad = replace(SCALE, reference=lambda arguments, factor: {"out": 0})
    found = measure_twice((bad,), device(), campaign=TINY)
    assert ((), 6) == (found.pairs, found.failed)
    assert np.isnan(found.quantile(0.5))


def test_changes_between_two_times() -> None:
    # changes of 0, 25, 50, 75 and 100 %, and 10 %
    pairs = tuple(twice(n, 4.0, 4.0 + change) for n, change in enumerate((0.0, 1.0, -2.0, 3.0, -4.0 + 1e-9, 0.4)))
    found = document_of(Repeatability(pairs, failed=2), "D", "quick")
    assert [0.0, 0.25, 0.5, 0.75, 1.0, 0.1] == [round(row["change"], 6) for row in found["rows"]]
    assert 0.375 == round(found["quantiles"]["0.50"], 6)  # between the third and the fourth of 0, 10, 25, 50, ...
    head, median, quantiles, *worst = lines_of(found)
    assert "D: 6 configurations in two campaigns (2 failed)" == head
    assert "median of |t1 - t2|/t1: 37.50%, 95th percentile: 93.75%" == median  # a quarter of the way from 100 to 75
    assert quantiles.endswith("100% below 100.00%")
    assert WORST == len(worst)
    assert ["100.0%", "75.0%", "50.0%", "25.0%", "10.0%"] == [line.partition(":")[0] for line in worst]
    assert worst[1].endswith("{'n': 3}: 4000 ms, 7000 ms")


def test_nothing_measured_twice() -> None:
    found = document_of(Repeatability((), failed=3), "D", "quick")
    assert ["D: 0 configurations in two campaigns (3 failed)"] == list(lines_of(found))


def test_two_campaigns_are_compared_by_all_their_visits(visited):  # noqa: F811
    # in the first campaign the lowest visit takes 1.0, in the second 1.02
    visited.seconds = lambda place, visit: (1.5, 1.0, 1.04, 1.02, 1.02, 1.3)[visit]
    found = measure_twice((SCALE,), Device(0, FACTS), campaign=replace(CAMPAIGN, longest_s=10.0))
    assert [pytest.approx(0.02)] * 6 == list(found.changes)
    assert [(3, 3)] * 6 == [(len(first.visits), len(second.visits)) for first, second in found.pairs]
    order = visited.visits
    assert order[:6] == order[6:12] != order[18:24] == order[24:30]
