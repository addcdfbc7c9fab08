"""Times of a probe, for a unit of work."""

from __future__ import annotations

import pytest

from perfmodel.facts.probe_run import Point, newest, times
from tests.probed import chase, probe


def test_the_launch_is_taken_off_and_the_first_runs_do_not_count():
    run = probe("chase", ())
    points = (Point({"bytes": 64}, 0, (1.0, 3e-6, 2e-6)), Point({"bytes": 64}, 100, (1e-9, 9e-6, 7e-6)))
    run = type(run)(**{**vars(run), "points": points})
    assert {(("bytes", 64),): pytest.approx(5e-8)} == run.seconds()  # (7 - 2) us over 100 loads


def test_the_lowest_visit_counts_in_the_order_of_the_settings():
    runs = [chase({128: 2e-9, 64: 1e-9}), chase({64: 3e-9, 128: 1.5e-9}, visit=1)]
    assert [((64,), pytest.approx(1e-9)), ((128,), pytest.approx(1.5e-9))] == list(times(runs, "bytes").items())


def test_only_points_with_the_settings_asked_for():
    settings = [{"nest": "looped", "n": 1}, {"nest": "straight", "n": 1}, {"n": 2}]
    run = probe("nests", [(at, 1, seconds) for at, seconds in zip(settings, (2.0, 1.0, 5.0), strict=True)])
    assert {(1,): 2.0} == dict(times([run], "n", nest="looped"))


def test_a_later_series_replaces_an_earlier_one_probe_by_probe():
    old, new, other = chase({64: 1e-9}), chase({64: 2e-9}, series=1), probe("line", ())
    assert (new,) == newest([old, new, other], "chase")
    assert (other,) == newest([old, new, other], "line")
    assert () == newest([chase({64: 1e-9}, status="failed", message="no memory")], "chase")
