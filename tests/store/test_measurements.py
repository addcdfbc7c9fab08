"""The records of a store: which are current, whose they are, and what is read once."""

from __future__ import annotations

from time import process_time

import pytest

from perfmodel import errors
from perfmodel.counts import KernelCounts
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.store import Measurements
from tests.store.test_files import device_facts, measurement


def test_rows_of_two_devices_have_no_one_device():
    found = Measurements((measurement(), measurement(device="E"), measurement(device="E", platform="Q")), {})
    with pytest.raises(errors.StoreError, match=r"D \(P\), E \(P\), E \(Q\)"):
        found.device  # noqa: B018 -- raises
    assert 2 == len(found.of_device("E").rows)
    assert "E" == found.of_device("E", "Q").device


def test_what_other_code_or_another_driver_replaced_is_outdated():
    old, new = measurement(), measurement(driver="2")
    again = measurement(samples_s=(1.0,) * 5, driver="2")
    other = measurement(parameters={"n": 9})
    found = Measurements((old, other, new, again), {})
    assert (old,) == found.outdated
    assert {"1", "2"} == set(found.drivers)
    assert ("2",) == Measurements((old, new), {}).drivers


def test_of_two_drivers_one_is_fitted_or_measured_again_which_nobody_can_of_recorded_times():
    both = Measurements((measurement(), measurement(driver="2", parameters={"n": 9})), {})
    assert "'1' (1 rows), '2' (1 rows); measure again those of old drivers" in both.mixture
    recorded = DeviceFacts("D", "P", "1", (("recorded", Fact(1, "", "their archive")),))
    assert "'2' (1 rows); fit one: perfmodel fit --driver NAME" in both.with_facts(recorded).mixture


def test_records_of_one_key_are_visits_until_the_code_changes_or_one_fails():
    def visit(seconds, **changes):
        return measurement(samples_s=(9.0, 9.0, seconds), **changes)

    failed = measurement(status="runtime", samples_s=())
    (row,) = Measurements((visit(1.0), visit(0.9), visit(2.0)), {}).current
    assert (0.9, 3) == (row.seconds, len(row.visits))
    (row,) = Measurements((visit(1.0), failed, visit(2.0), visit(2.1)), {}).current
    assert (2.0, 2) == (row.seconds, len(row.visits))
    (row,) = Measurements((visit(1.0), visit(2.0, kernel_hash="x", counts_hash="y"), visit(3.0)), {}).current
    assert (3.0, 0) == (row.seconds, len(row.visits))


def test_visits_are_joined_in_time_linear_in_their_number():
    def seconds(visits):
        rows, began = (measurement(),) * visits, process_time()
        (row,) = Measurements(rows, {}).current
        assert visits == len(row.visits)
        return process_time() - began

    seconds(100)  # what is loaded once
    few = min(seconds(500) for _ in range(3))
    assert seconds(4000) < 20 * few  # 8 if linear, 64 if quadratic


def test_counts_are_read_once_also_with_other_facts(monkeypatch):
    read = []
    monkeypatch.setattr(KernelCounts, "from_json", lambda document: read.append(document) or "counts")
    first = Measurements((measurement(),), {"h": {"a": 1}})
    assert {"h": "counts"} == first.counts
    second = first.with_facts(device_facts())
    assert (device_facts(), None) == (second.facts, first.facts)
    assert {"h": "counts"} == second.counts == first.of_kernels("copy").counts
    assert [{"a": 1}] == read
