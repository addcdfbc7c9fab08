"""A sample that is measured twice."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from perfmodel.measuring import Repeatability, measure_twice
from tests.campaigns import SCALE, TINY
from tests.machine import device

OTHER = replace(SCALE, name="other")


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
