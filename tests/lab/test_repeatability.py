"""A sample that is measured twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.opencl import Device
from scripts.lab.repeatability import measure_twice
from tests.campaigns import SCALE, TINY
from tests.machine import device
from tests.measuring.test_visits import CAMPAIGN, FACTS, device as visited  # noqa: F401 -- a fixture
from tests.store.test_files import measurement

OTHER = replace(SCALE, name="other")


def twice(n: int, first: float, second: float):
    return tuple(measurement(parameters={"n": n}, samples_s=(9.0, 8.0, *[t] * 3)) for t in (first, second))


@pytest.mark.device
def test_repeatability_measures_a_sample_twice_and_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = measure_twice((SCALE, OTHER), device(), campaign=TINY, most=4)
    assert (4, 0) == (len(found.pairs), found.failed)
    assert all(first.key == second.key for first, second in found.pairs)
    assert {"scale", "other"} == {first.kernel for first, _ in found.pairs}
    assert [] == list(tmp_path.iterdir())
    first, second = found.pairs[0]
    assert abs(first.seconds - second.seconds) / first.seconds == found.changes[0]
    assert sorted(found.changes)[-1] == found.quantile(1.0)


def test_two_campaigns_are_compared_by_all_their_visits(visited):  # noqa: F811
    # in the first campaign the lowest visit takes 1.0, in the second 1.02
    visited.seconds = lambda place, visit: (1.5, 1.0, 1.04, 1.02, 1.02, 1.3)[visit]
    found = measure_twice((SCALE,), Device(0, FACTS), campaign=replace(CAMPAIGN, longest_s=10.0))
    assert [pytest.approx(0.02)] * 6 == list(found.changes)
    assert [(3, 3)] * 6 == [(len(first.visits), len(second.visits)) for first, second in found.pairs]
    order = visited.visits
    assert order[:6] == order[6:12] != order[18:24] == order[24:30]
