"""Records: their times, visits and keys; which are current, whose they are, and what is read once."""

import json
import math
import shutil
import warnings
from pathlib import Path

import pytest

import perfmodel as pm
from perfmodel import errors, store
from perfmodel.counts import KernelCounts
from perfmodel.errors import SetAsideWarning
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.store import Measurements
from perfmodel.store.measurement import Measurement, Visit
from perfmodel.store.measurements import below_launch, odd_visits, unsupported
from tests.recorded import DEVICES, QUICKSTART, SIMULATED
from tests.store.test_files import device_facts, measurement


def test_seconds_are_the_minimum_after_the_drop():
    row = measurement(samples_s=(1.0, 1.0, 3.0, 2.0, 4.0), device_samples_s=(0.1, 0.2, 1.5, 1.75, 3.0))
    assert (2.0, 3.0, 0.5) == (row.seconds, row.median, row.spread)
    assert (2.0, 1.5) == (row.seconds_by("host"), row.seconds_by("device"))
    assert math.isnan(measurement().seconds_by("device"))


def visit(*samples_s, dropped=1, **changes) -> Measurement:
    one = Visit(began_at="2026-01-01T00:00:00+00:00", runs=len(samples_s), dropped=dropped)
    return measurement(**{"samples_s": samples_s, "dropped": dropped, "visits": (one,), **changes})


def test_visits_are_joined_each_with_its_own_drop():
    old = measurement(samples_s=(9.0, 9.0, 1.2), dropped=2, device_samples_s=(8.0, 8.0, 1.1))
    row = visit(9.0, 2.0, device_samples_s=(8.0, 1.9)).after(old)
    row = visit(9.0, 1.25, 1.0, device_samples_s=(8.0, 1.2, 0.9)).after(row)
    assert ((1.2,), (2.0,), (1.25, 1.0)) == row.kept_by_visit_s
    assert (1.0, 1.225) == (row.seconds, row.median)
    assert pytest.approx(0.2) == row.disagreement  # 1.2 after 1.0, whatever the third takes
    assert (8, 3) == (len(row.device_samples_s), len(row.visits))
    assert row == Measurement.model_validate(row.model_dump(mode="json", by_alias=True))
    row = measurement(samples_s=(9.0, 1.0, 2.0), dropped=1)
    assert ((Visit(runs=3, dropped=1),), ((1.0, 2.0),)) == (row.every_visit, row.kept_by_visit_s)
    assert math.isnan(row.disagreement)
    assert not row.disagrees


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


def test_the_code_and_the_options_of_the_compiler_tell_configurations_apart():
    assert not measurement(counts_hash="").matches(measurement(counts_hash="", kernel_hash="x"))
    plain = measurement(kernel_hash="a", counts_hash="c")
    fast, other = (plain.model_copy(update={"kernel_hash": code}) for code in ("a-1", "b-1"))
    assert not plain.matches(fast)
    assert fast.matches(other)


@pytest.mark.parametrize(("visits", "said"), [
    ([{"runs": 4, "dropped": 1}], "its visits have 4 runs together, and it has 5 samples_s"),
    ([{"runs": 2, "dropped": 2}, {"runs": 3, "dropped": 1}], "a visit has 2 runs, of which 2 are dropped"),
    ([{"runs": 6, "dropped": 0}, {"runs": -1, "dropped": 0}], "greater than or equal to 0"),
    ([{"runs": 5, "dropped": -1}], "greater than or equal to 0"), ([{"runs": 5}], "dropped"),
])  # fmt: skip
def test_visits_that_do_not_fit_the_samples_are_refused(visits, said):
    with pytest.raises(ValueError, match=said):
        measurement(visits=visits)


def test_rows_of_two_devices_have_no_one_device():
    found = Measurements((measurement(), measurement(device="E"), measurement(device="E", platform="Q")), {})
    with pytest.raises(errors.StoreError, match=r"D \(P\), E \(P\), E \(Q\)"):
        found.device  # noqa: B018 -- raises
    assert 2 == len(found.of_device("E").rows)
    assert "E" == found.of_device("E", "Q").device


def test_what_other_code_or_another_driver_replaced_is_outdated_and_two_drivers_are_named():
    old, new = measurement(), measurement(driver="2")
    again = measurement(samples_s=(1.0,) * 5, driver="2")
    other = measurement(parameters={"n": 9})
    found = Measurements((old, other, new, again), {})
    assert (old,) == found.outdated
    assert {"1", "2"} == set(found.drivers)
    assert ("2",) == Measurements((old, new), {}).drivers
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


def test_counts_are_read_once_also_with_other_facts(monkeypatch):
    read = []
    monkeypatch.setattr(KernelCounts, "from_json", lambda document: read.append(document) or "counts")
    first = Measurements((measurement(),), {"h": {"a": 1}})
    assert {"h": "counts"} == first.counts
    second = first.with_facts(device_facts())
    assert (device_facts(), None) == (second.facts, first.facts)
    assert {"h": "counts"} == second.counts == first.of_kernels("copy").counts
    assert [{"a": 1}] == read


def timed(seconds, n=8, **changes):
    return measurement(samples_s=(9.0, 9.0, seconds), parameters={"n": n}, **changes)


@pytest.mark.parametrize(("seconds", "found"), [(1e-9, True), (1.4e-6, True), (1.6e-6, False), (3e-5, False)])
def test_a_time_below_a_twentieth_of_the_launch_cannot_be(seconds, found):
    assert found == bool(below_launch(timed(seconds, launch_overhead_s=3e-5)))
    assert "" == below_launch(timed(seconds))  # of imported records the overhead is not known
    assert "" == below_launch(timed(seconds, launch_overhead_s=3e-5, status="runtime"))


def test_one_of_three_visits_that_is_ten_times_as_fast_cannot_be():
    assert [1] == [*odd_visits([timed(1.0), timed(0.09), timed(1.1)])]
    assert {} == odd_visits([timed(1.0), timed(0.11), timed(1.1)])
    assert {} == odd_visits([timed(1.0), timed(0.01)])  # which of two is wrong, nobody knows


LADDER = (1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3)  # doubled sizes take twice as long


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("factor", [1e-2, 1e-4, 1e3])
def test_the_other_sizes_contradict_a_time_wherever_it_stands(place, factor):
    times = [*LADDER[:place], factor * LADDER[place], *LADDER[place + 1 :]]
    rows = [timed(seconds, n=2**k) for k, seconds in enumerate(times)]
    assert [place] == [*unsupported(rows, lambda row: float(row.parameters["n"]))]


def test_work_tells_a_cubic_kernel_from_a_wrong_time_and_a_single_neighbour_says_nothing():
    rows = [timed(1e-6 * 8.0**k, n=2**k) for k in range(5)]
    assert {} == unsupported(rows, lambda row: row.parameters["n"] ** 3)
    assert {} == unsupported(rows, lambda row: math.nan)  # without counts a larger size may take any longer
    assert {} == unsupported([timed(1e-6 * 100.0**k, n=2**k) for k in range(5)], lambda row: row.parameters["n"] ** 6)
    rows = [measurement(samples_s=(9.0, 9.0, s), parameters=p) for s, p in (
        (1.0, {"n": 8, "m": 1}), (1e-6, {"n": 4, "m": 4}), (1.0, {"n": 1, "m": 8}),
    )]  # fmt: skip
    assert {} == unsupported(rows, lambda row: 1.0)
    pair = [timed(1e-3, n=8, launch_overhead_s=3e-5), timed(2e-6, n=16, launch_overhead_s=3e-5)]
    assert [1] == [*unsupported(pair, lambda row: 1.0)]  # below the launch too
    assert {} == unsupported([row.model_copy(update={"launch_overhead_s": None}) for row in pair], lambda row: 1.0)


@pytest.mark.parametrize("folder", [*DEVICES, SIMULATED, QUICKSTART], ids=lambda path: path.name)
@pytest.mark.parametrize("file", ["measurements.jsonl", "test.jsonl"])
def test_no_committed_time_is_set_aside(folder, file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = store.read(folder / file)
        assert () == found.impossible
    assert sum(row.status == "ok" for row in found.current) == len(found)


def test_an_impossible_visit_does_not_join_the_others_and_is_told_once():
    rows = (timed(1e-3), timed(1e-9, launch_overhead_s=3e-5), timed(1.1e-3))
    found = Measurements(rows, {}, path="m.jsonl")
    with pytest.warns(SetAsideWarning) as caught:
        (row,) = list(found)
    assert (1e-3, 2) == (row.seconds, len(row.visits))
    assert [
        "'m.jsonl': 1 impossible time was left out (copy work_group=16x16 n=8: 1 ns, and an empty launch took "
        "30 us); measure again, with perfmodel measure or calibrate"
    ] == [str(one.message) for one in caught] == [*found.notes]
    assert (1, [rows[1]]) == (len(caught), [one.row for one in found.impossible])


@pytest.mark.filterwarnings("ignore::perfmodel.errors.SetAsideWarning")
def test_a_configuration_with_nothing_else_is_not_fitted_and_facts_change_nothing():
    alone, failed = timed(1e-9, launch_overhead_s=3e-5), timed(1.0, n=9, status="runtime")
    found = Measurements((alone, failed), {})
    assert ((alone, failed), (failed,), [], 0) == (found.current, found.possible, list(found), len(found))
    assert found.impossible is found.with_facts(None).impossible


def with_time(folder: Path, seconds: float) -> str:
    """Copy the quickstart's measurements, with one time replaced by another; return its kernel."""
    shutil.copytree(QUICKSTART, folder, ignore=lambda *_: ["test.jsonl"])
    path = folder / "measurements.jsonl"
    lines = path.read_text().splitlines()
    record = json.loads(lines[40])
    record["samples_s"] = [seconds for _ in record["samples_s"]]
    path.write_text("\n".join([*lines[:40], json.dumps(record), *lines[41:]]) + "\n")
    return str(record["kernel"])


def test_a_fit_is_what_it_is_without_the_impossible_time_and_notes_it(tmp_path):
    kernel = with_time(tmp_path / "bad", 1e-9)
    measured = store.read(tmp_path / "bad")
    with pytest.warns(SetAsideWarning, match=f"1 impossible time was left out.*{kernel}"):
        model = pm.fit(measured, "stevens_kloeckner_2016")
    good = store.read(QUICKSTART)
    rest = Measurements((*good.rows[:40], *good.rows[41:]), good.counts_documents, facts=good.facts)
    expected = pm.fit(rest, "stevens_kloeckner_2016")
    assert expected.weights == model.weights
    assert (len(good) - 1, measured.notes) == (model.fitted.rows, model.notes[:1])
    assert expected.notes == model.notes[1:]
