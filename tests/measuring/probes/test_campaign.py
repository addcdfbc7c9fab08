"""Probes in their visits: what is recorded, what goes on, and what a failure leaves."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from perfmodel import store
from perfmodel.calibration.calibrate import doubts_of
from perfmodel.facts.doubts import DISTURBED
from perfmodel.facts.probed import Point
from perfmodel.measuring.probes import campaign
from perfmodel.measuring.probes.campaign import PROBES, measure_probes
from perfmodel.measuring.probes.probe import BRIEF, THOROUGH, Probe, ProbeSettings
from perfmodel.store.files import probes_path, read_probes
from tests.machine import device
from tests.measuring.probes.devices import SHORT

pytestmark = pytest.mark.device

TWO = ProbeSettings("two", visits=2, runs=1, dropped=0)


def points(*_) -> Iterator[Point]:
    yield Point({"bytes": 64}, 1, (1e-3,))


@pytest.fixture
def made_up(monkeypatch) -> list[str]:
    """Two probes that take no time; the second fails if it is told to."""
    orders: list[str] = []

    def careful(*_) -> Iterator[Point]:
        if orders:
            if orders[0] == "stop":
                raise KeyboardInterrupt
            raise MemoryError(orders[0])
        yield from points()

    monkeypatch.setattr(campaign, "PROBES", (Probe("first", points, more=1), Probe("second", careful)))
    return orders


def visits(folder, series=0):
    return [(run.visit, run.probe) for run in read_probes(folder) if run.series == series]


@pytest.mark.slow
def test_every_probe_on_a_device(tmp_path):
    found = measure_probes(device(), tmp_path, settings=SHORT)
    assert [probe.name for probe in PROBES] == list(dict.fromkeys(run.probe for run in found))
    assert all(run.status == "ok" or run.message.startswith(DISTURBED) for run in found)  # on a busy machine
    assert {(device().name, device().platform, "short", 0, 0)} == {
        (run.device, run.platform, run.campaign, run.series, run.visit) for run in found
    }
    assert all(run.points for run in found if run.status == "ok" and run.probe not in ("line", "overlap", "stream"))
    assert found == measure_probes(device(), tmp_path, settings=SHORT)  # nothing is left to probe
    assert set(device().facts) <= set(store.read(tmp_path).facts)


def test_visits_are_apart_and_what_is_there_is_not_probed_again(tmp_path, made_up):
    measure_probes(device(), tmp_path, settings=TWO)
    every = [(0, "first"), (0, "second"), (1, "first"), (1, "second"), (2, "first")]
    assert every == visits(tmp_path)
    measure_probes(device(), tmp_path, settings=TWO)
    assert every == visits(tmp_path)
    measure_probes(device(), tmp_path, settings=TWO, again=True)
    assert (every, every) == (visits(tmp_path), visits(tmp_path, series=1))


@pytest.mark.parametrize("good", [0, 1, 2, 3])
def test_a_visit_whose_times_cannot_be_is_made_again(tmp_path, monkeypatch, good):
    """A load takes 20 us in the first visits, which is impossible, and 1 ns in a later one."""
    seconds = iter([2e-5] * good + [1e-9] * 3)

    def loads(*_) -> Iterator[Point]:
        yield Point({"bytes": 64}, 1, (next(seconds),))

    monkeypatch.setattr(campaign, "PROBES", (Probe("chase", loads),))
    found = measure_probes(device(), tmp_path, settings=replace(TWO, visits=1))
    assert (["failed"] * good + ["ok"])[: campaign.TRIES] == [run.status for run in found]
    assert all("disturbed: a load takes 2e-05 s" in run.message for run in found[:good])
    measured = store.read(tmp_path).facts
    assert (good == campaign.TRIES) == any("'chase' was disturbed" in note for note in doubts_of(measured, tmp_path))
    assert found == measure_probes(device(), tmp_path, settings=replace(TWO, visits=1))


def test_an_interrupted_series_goes_on(tmp_path, made_up):
    made_up.append("stop")
    for _ in range(3):  # and no interrupt counts as a crash
        with pytest.raises(KeyboardInterrupt):
            measure_probes(device(), tmp_path, settings=TWO, again=True)
    assert [(0, "first")] == visits(tmp_path)
    made_up.clear()
    found = measure_probes(device(), tmp_path, settings=TWO, again=True)
    assert ({0}, {"ok"}, 5) == ({run.series for run in found}, {run.status for run in found}, len(found))


def test_a_failure_is_a_record_and_the_others_go_on(tmp_path, made_up):
    made_up.append("no memory")
    found = measure_probes(device(), tmp_path, settings=replace(TWO, visits=1))
    assert [("first", "ok", ""), ("second", "failed", "MemoryError: no memory")] == [
        (run.probe, run.status, run.message) for run in found
    ]


def test_a_probe_that_ends_the_process_twice_is_recorded(tmp_path, made_up):
    probes_path(tmp_path).with_suffix(".begun").write_text("0 0 first\n0 0 first\n")
    found = measure_probes(device(), tmp_path, settings=replace(TWO, visits=1))
    assert [("first", "failed"), ("second", "ok")] == [(run.probe, run.status) for run in found]
    assert "it ended the process twice" == found[0].message
    assert not probes_path(tmp_path).with_suffix(".begun").exists()


def test_brief_probes_do_not_replace_thorough_ones_but_the_other_way_round(tmp_path, made_up):
    measure_probes(device(), tmp_path, settings=BRIEF)
    assert [(0, "first"), (0, "second")] == visits(tmp_path)
    measure_probes(device(), tmp_path, settings=THOROUGH)
    assert 7 == len(visits(tmp_path, series=1))
    measure_probes(device(), tmp_path, settings=BRIEF)
    assert 9 == len(read_probes(tmp_path))
