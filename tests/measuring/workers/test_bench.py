"""Campaigns on the device of a Dask worker, which may die."""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfmodel import measure, store
from perfmodel.errors import KernelTravelError, NoDeviceError
from perfmodel.measuring import lock
from perfmodel.measuring.workers.bench import WorkersBench, workers_device
from perfmodel.measuring.workers.crew import Crew
from perfmodel.store.files import DEVICE_FILE
from tests.campaigns import SCALE, TINY, measured
from tests.cluster import cluster, process_of_worker
from tests.machine import device
from tests.measuring.test_session import Hears

pytestmark = [pytest.mark.device, pytest.mark.slow]
SIX = {(factor, n) for factor in (2, 3) for n in (256, 512, 1024)}


@pytest.fixture(scope="module")
def client():
    with cluster() as found:
        yield found


@pytest.fixture(autouse=True)
def own_locks(tmp_path, monkeypatch):
    """A campaign beside this test is not waited for."""
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))


def on_worker(client, path, *kernels, progress=None, **changes):
    return measure(kernels, device().slug, path, progress, replace(TINY, **changes), client=client)


def places(found) -> list[tuple[int, int]]:
    return [(row.variant["factor"], row.parameters["n"]) for row in found.rows]


def test_a_campaign_on_a_worker_leaves_the_store_of_one_here(client, tmp_path):
    there, here = on_worker(client, tmp_path / "there", SCALE), measured(tmp_path / "here", SCALE)
    assert [row.key for row in here.rows] == [row.key for row in there.rows]
    assert [row.place_in_order for row in here.rows] == [row.place_in_order for row in there.rows]
    assert set(here.counts) == set(there.counts)
    assert {row.counts_hash for row in there.rows} == set(there.counts)
    assert [6] * 6 == [len(row.samples_s) for row in there.rows]
    assert {"ok"} == {row.status for row in there.rows}
    assert here.rows[0].versions.items() <= there.rows[0].versions.items()  # a worker pins its threads, too
    names = {path.name for path in (tmp_path / "here").iterdir()}
    assert names == {path.name for path in (tmp_path / "there").iterdir()}
    assert DEVICE_FILE in names
    assert there.rows == on_worker(client, tmp_path / "there", SCALE).rows  # nothing is measured again


class KillsWorker(Hears):
    """Kills the worker from outside after the third visit."""

    def __init__(self, client) -> None:
        super().__init__()
        self.client = client
        self.steps: Counter[str] = Counter()
        self.task = ""

    def start(self, task, total, seconds=0.0):
        self.task = task

    def advance(self, note="", seconds=0.0):
        self.steps[self.task] += 1
        if self.task == "measuring" and self.steps["measuring"] == 3:
            os.kill(process_of_worker(self.client), signal.SIGKILL)


def test_a_worker_killed_in_the_middle_of_a_campaign_loses_nothing(client, tmp_path):
    hears = KillsWorker(client)
    found = on_worker(client, tmp_path, SCALE, progress=hears)
    assert sorted(SIX) == sorted(places(found))
    assert {"ok"} == {row.status for row in found.rows}
    (said,) = hears.messages
    assert "is gone; going on with" in said or "was lost while this was under way; tried again" in said


def deadly(folder: Path, times: int):
    """Contents that kill their process as long as the folder has the file 'armed', at most so often."""

    def draw(generator, shape):
        if shape == (512,) and (folder / "armed").exists():
            deaths = folder / "deaths"
            before = deaths.read_text() if deaths.exists() else ""
            if len(before) < times:
                deaths.write_text(before + "x")
                os.kill(os.getpid(), signal.SIGKILL)
        return np.ones(shape)

    return replace(SCALE, contents={"a": draw})


class Arms(Hears):
    """Lets contents be deadly once all sizes are planned."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def start(self, task, total, seconds=0.0):
        if task == "measuring":
            (self.folder / "armed").touch()


def test_a_configuration_over_which_a_worker_dies_once_is_measured(client, tmp_path):
    hears = Arms(tmp_path)
    found = on_worker(client, tmp_path / "m", deadly(tmp_path, 1), progress=hears)
    assert sorted(SIX) == sorted(places(found))
    assert {"ok"} == {row.status for row in found.rows}
    (said,) = hears.messages
    assert 'scale {"factor":' in said
    assert '{"n":512}: the worker tcp://' in said
    assert said.endswith("was lost while this was under way; tried again")


def test_a_configuration_over_which_workers_die_twice_is_condemned_and_the_rest_is_measured(client, tmp_path):
    hears = Arms(tmp_path)
    found = on_worker(client, tmp_path / "m", deadly(tmp_path, 2), progress=hears)
    assert sorted(SIX) == sorted(places(found))
    (bad,) = (row for row in found.rows if row.status != "ok")
    assert ("runtime", 512) == (bad.status, bad.parameters["n"])
    assert "the process died of an unknown cause (its worker was lost) while this was under way, twice" == bad.message
    assert 1 == len(hears.messages)
    assert 1 == sum(": runtime (" in note for note in hears.notes)
    assert "xx" == (tmp_path / "deaths").read_text()


def test_only_a_worker_opens_its_device(client):
    found = workers_device(client)
    assert device().facts.hash == found.facts.hash
    with pytest.raises(NoDeviceError, match="is a Dask worker's"):
        found.context()


def test_a_class_that_cannot_travel_is_named():
    import threading

    from perfmodel.measuring import Silent
    from perfmodel.measuring.subject import Subject
    from perfmodel.measuring.workers.bench import WorkersDevice

    lock = threading.Lock()
    kernel = replace(SCALE, reference=lambda arguments, factor: lock)
    bench = WorkersBench(WorkersDevice(0, device().facts, Crew(None, "a")), TINY, Silent())
    with pytest.raises(KernelTravelError, match=r"'scale' cannot be sent to a worker: TypeError: .*lock"):
        bench.trial(Subject(kernel, {"factor": 2}), {"n": 256})


def test_records_of_workers_are_in_a_store_like_others(client, tmp_path):
    on_worker(client, tmp_path, SCALE)
    measured(tmp_path, replace(SCALE, name="other"))
    assert {"scale", "other"} == {row.kernel for row in store.read(tmp_path).rows}
