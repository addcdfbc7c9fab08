"""One record: its times, its key, and what is written of it."""

from __future__ import annotations

import math

import pytest

from perfmodel.store.measurement import Measurement, Visit
from tests.store.test_files import measurement


def test_seconds_are_the_minimum_after_the_drop():
    row = measurement(samples_s=(1.0, 1.0, 3.0, 2.0, 4.0))
    assert 2.0 == row.seconds
    assert 3.0 == row.median
    assert 0.5 == row.spread


def test_each_clock_has_its_minimum_after_the_drop():
    caught = measurement(samples_s=(1.0, 1.0, 3.0, 2.0, 4.0), device_samples_s=(0.1, 0.2, 1.5, 1.75, 3.0))
    assert (2.0, 1.5) == (caught.seconds_by("host"), caught.seconds_by("device"))
    assert math.isnan(measurement().seconds_by("device"))


def test_a_variant_is_held_as_it_is_read_back():
    row = measurement(variant={"work_group": (16, 16)})
    assert {"work_group": [16, 16]} == row.variant
    assert row == Measurement.model_validate(row.model_dump(mode="json", by_alias=True))


# ---- visits ---------------------------------------------------------------------------------


def visit(*samples_s, dropped=1, **changes) -> Measurement:
    one = Visit(began_at="2026-01-01T00:00:00+00:00", runs=len(samples_s), dropped=dropped)
    return measurement(**{"samples_s": samples_s, "dropped": dropped, "visits": (one,), **changes})


def test_a_record_without_visits_is_one():
    row = measurement(samples_s=(9.0, 1.0, 2.0), dropped=1)
    assert ((Visit(runs=3, dropped=1),), ((1.0, 2.0),)) == (row.every_visit, row.kept_by_visit_s)
    assert math.isnan(row.disagreement)
    assert not row.disagrees


def test_visits_are_joined_each_with_its_own_drop():
    old = measurement(samples_s=(9.0, 9.0, 1.2), dropped=2, device_samples_s=(8.0, 8.0, 1.1))
    row = visit(9.0, 2.0, device_samples_s=(8.0, 1.9)).after(old)
    row = visit(9.0, 1.25, 1.0, device_samples_s=(8.0, 1.2, 0.9)).after(row)
    assert ((1.2,), (2.0,), (1.25, 1.0)) == row.kept_by_visit_s
    assert (1.0, 1.225) == (row.seconds, row.median)
    assert pytest.approx(0.2) == row.disagreement  # 1.2 after 1.0, whatever the third takes
    assert (8, 3) == (len(row.device_samples_s), len(row.visits))
    assert row == Measurement.model_validate(row.model_dump(mode="json", by_alias=True))


@pytest.mark.parametrize(("second", "expected"), [(1.04, ()), (0.97, ()), (1.06, ("visits",)), (0.94, ("visits",))])
def test_visits_that_differ_by_more_than_five_percent_disagree(second, expected):
    assert expected == visit(9.0, second).after(visit(9.0, 1.0)).flags


def test_flags_are_of_the_visit_that_gives_the_time_and_of_the_whole():
    slow, quick, alike = visit(9.0, 2.0, flags=("spread",)), visit(9.0, 1.0, flags=("clock",)), visit(9.0, 1.01)
    assert ("clock", "visits") == quick.after(slow).flags
    assert ("clock",) == alike.after(quick.after(slow)).flags


@pytest.mark.parametrize("changes", [
    {"kernel_hash": "x", "counts_hash": "y"}, {"driver": "2"}, {"status": "runtime", "samples_s": ()},
])  # fmt: skip
def test_what_is_not_of_the_same_configuration_is_no_visit(changes):
    other = measurement(**changes)
    assert visit(9.0, 1.0) == visit(9.0, 1.0).after(other)
    assert other == other.after(visit(9.0, 1.0))


@pytest.mark.parametrize("changes", [{"kernel_hash": "x"}, {"counts_hash": "y"}])
def test_the_same_code_or_the_same_counts_make_a_visit(changes):
    """Counts are made anew when perfmodel counts otherwise; another Loopy writes other code."""
    assert 2 == len(visit(9.0, 1.0).after(visit(9.0, 1.0, **changes)).visits)


def test_without_counts_only_the_code_tells():
    assert not measurement(counts_hash="").matches(measurement(counts_hash="", kernel_hash="x"))


@pytest.mark.parametrize(
    ("visits", "said"),
    [
        ([{"runs": 4, "dropped": 1}], "its visits have 4 runs together, and it has 5 samples_s"),
        ([{"runs": 2, "dropped": 2}, {"runs": 3, "dropped": 1}], "a visit has 2 runs, of which 2 are dropped"),
        ([{"runs": 6, "dropped": 0}, {"runs": -1, "dropped": 0}], "greater than or equal to 0"),
        ([{"runs": 5, "dropped": -1}], "greater than or equal to 0"),
        ([{"runs": 5}], "dropped"),
    ],
)
def test_visits_that_do_not_fit_the_samples_are_refused(visits, said):
    with pytest.raises(ValueError, match=said):
        measurement(visits=visits)


def test_records_of_other_options_of_the_compiler_are_of_other_configurations():
    plain = measurement(kernel_hash="a", counts_hash="c")
    fast, other = (plain.model_copy(update={"kernel_hash": code}) for code in ("a-1", "b-1"))
    assert not plain.matches(fast)
    assert fast.matches(other)
