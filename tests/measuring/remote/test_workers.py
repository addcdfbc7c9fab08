"""Campaigns on the device of a Dask worker, which may die."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, sleep
from types import ModuleType

import dask
import numpy as np
import pytest
from filelock import FileLock

from perfmodel import measure, store
from perfmodel.cluster import address_of, check_versions, connected
from perfmodel.errors import DeviceBusyError, KernelTravelError, SchedulerError
from perfmodel.facts.doubts import DISTURBED
from perfmodel.kernels import discover
from perfmodel.measuring import lock
from perfmodel.measuring.probes.campaign import measure_probes
from perfmodel.measuring.probes.probe import ProbeSettings
from perfmodel.measuring.remote.workers import resource, workers_device
from perfmodel.store.files import DEVICE_FILE
from tests.campaigns import SCALE, TINY, measured
from tests.cluster import cluster, process_of_worker
from tests.machine import ROOT, device
from tests.measuring.test_run_session import Hears

pytestmark = [pytest.mark.device, pytest.mark.slow, pytest.mark.usefixtures("times_are_believed")]
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


def slow(folder: Path):
    """Contents that take longer than a batch, and note each time that they are drawn."""

    def draw(generator, shape):
        with (folder / "draws").open("a") as file:
            file.write("x")
        sleep(0.4)
        return np.ones(shape)

    return replace(SCALE, contents={"a": draw})


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
        super().advance(note, seconds)
        self.steps[self.task] += 1
        if self.task == "measuring" and self.steps["measuring"] == 3:
            os.kill(process_of_worker(self.client), signal.SIGKILL)


def test_a_worker_killed_in_the_middle_of_a_campaign_loses_nothing(client, tmp_path):
    hears = KillsWorker(client)
    found = on_worker(client, tmp_path, slow(tmp_path), progress=hears)
    assert sorted(SIX) == sorted(places(found))
    assert {"ok"} == {row.status for row in found.rows}
    assert len((tmp_path / "draws").read_text()) <= 6 + 6 + 2 * 2 + 2  # trials, visits, checks twice, and two again
    (said,) = [message for message in hears.messages if "of the machine's" not in message]  # whatever its load is
    assert "is gone; going on with" in said or "was lost while this was under way; tried again" in said


def deadly(folder: Path, times: int):
    """Contents that kill their process, at most so often, from the third time on that they are drawn for n = 512.

    The first two are trial runs.
    """

    def draw(generator, shape):
        if shape == (512,):
            with (folder / "draws").open("a") as file:
                file.write("x")
            deaths = folder / "deaths"
            before = deaths.read_text() if deaths.exists() else ""
            if len((folder / "draws").read_text()) > 2 and len(before) < times:
                deaths.write_text(before + "x")
                os.kill(os.getpid(), signal.SIGKILL)
        return np.ones(shape)

    return replace(SCALE, contents={"a": draw})


def test_a_configuration_over_which_a_worker_dies_once_is_measured(client, tmp_path):
    hears = Hears()
    found = on_worker(client, tmp_path / "m", deadly(tmp_path, 1), progress=hears)
    assert sorted(SIX) == sorted(places(found))
    assert {"ok"} == {row.status for row in found.rows}
    (said,) = hears.messages
    assert 'scale {"factor":' in said
    assert '{"n":512}: the worker tcp://' in said
    assert said.endswith("was lost while this was under way; tried again")


def test_a_configuration_over_which_workers_die_twice_is_condemned_and_the_rest_is_measured(client, tmp_path):
    hears = Hears()
    found = on_worker(client, tmp_path / "m", deadly(tmp_path, 2), progress=hears)
    assert sorted(SIX) == sorted(places(found))
    (bad,) = (row for row in found.rows if row.status != "ok")
    assert ("runtime", 512) == (bad.status, bad.parameters["n"])
    assert "the process died of an unknown cause (its worker was lost) while this was under way, twice" == bad.message
    assert 1 == len(hears.messages)
    assert 1 == sum(": runtime (" in note for note in hears.notes)
    assert "xx" == (tmp_path / "deaths").read_text()


def test_only_a_worker_opens_its_device(client):
    assert device().facts.hash == workers_device(client).facts.hash


def test_a_class_that_cannot_travel_is_named(client, tmp_path):
    held = threading.Lock()
    kernel = replace(SCALE, reference=lambda arguments, factor: held)
    with pytest.raises(KernelTravelError, match=r"'scale' cannot be sent to a worker: TypeError: .*lock"):
        on_worker(client, tmp_path, kernel)


def test_a_class_that_needs_what_the_worker_lacks_is_named(client, tmp_path):
    (module := ModuleType("only_the_caller_has_it")).__file__ = "/site-packages/only_the_caller_has_it.py"
    exec("def reference(arguments, factor): return {}", vars(module))
    sys.modules[module.__name__] = module
    with pytest.raises(KernelTravelError, match=r"'scale' cannot be sent to a worker: there, Module.*only_"):
        on_worker(client, tmp_path, replace(SCALE, reference=module.reference))
    del sys.modules[module.__name__]


def test_records_of_workers_are_in_a_store_like_others(client, tmp_path):
    on_worker(client, tmp_path, SCALE)
    measured(tmp_path, replace(SCALE, name="other"))
    assert {"scale", "other"} == {row.kernel for row in store.read(tmp_path).rows}


def first_two(planned):
    """Choose two configurations, one after the other."""
    assert 6 == len(planned)
    batches = iter([(0,), (1,), ()])
    return lambda times: next(batches)


def test_what_is_measured_is_chosen_there(client, tmp_path):
    found = measure([SCALE], device().slug, tmp_path, None, TINY, first_two, client=client)
    assert ["ok"] * 2 == [row.status for row in found.rows]


def other_code(factor, **_):
    """Code that every process generates differently."""
    t_unit = SCALE.build(factor)
    kernel = t_unit.default_entrypoint
    pragma = ("00", f"/* process {os.getpid()} */")
    return t_unit.with_kernel(kernel.copy(preambles=[*kernel.preambles, pragma]))


def test_code_that_depends_on_the_process_is_the_workers(client, tmp_path):
    found = on_worker(client, tmp_path, replace(SCALE, build=other_code), variants=1)
    assert ["ok"] * 3 == [row.status for row in found.rows]


def test_register_tiles_are_measured(client, tmp_path):
    """Their code depends on Python's hash of texts, which Dask fixes on workers, unless Loopy's cache holds it."""
    (matmul,) = (kernel for kernel in discover(ROOT / "test_kernels") if kernel.name == "matmul_variants")
    variant = {"form": "registers", "rows": 4, "columns": 4}
    assert variant in matmul.variants
    found = on_worker(client, tmp_path, replace(matmul, variants=(variant,)), rungs=1, points=1)
    assert {"ok"} == {row.status for row in found.rows}


CALLER = """
import sys
from pathlib import Path
from dataclasses import replace
from perfmodel.cluster import connected
from perfmodel import measure
from tests.campaigns import TINY
from tests.machine import device
from tests.measuring.remote.test_workers import slow
with connected(sys.argv[1]) as client:
    measure([slow(Path(sys.argv[2]))], device().slug, sys.argv[2], None, replace(TINY, visits=50), client=client)
"""


@contextmanager
def another_campaign(client, folder: Path):
    """Let another process measure on the worker, for half a minute."""
    folder.mkdir()
    command = [sys.executable, "-c", CALLER, client.scheduler.address, str(folder)]
    with subprocess.Popen(command, cwd=ROOT) as caller:
        while not (folder / "draws").exists():
            assert caller.poll() is None
            sleep(0.05)
        yield caller
        caller.kill()


def measures_what_is_planned(client, path, **options):
    """Whether each planned size has a time: a busy machine plans fewer than the three sizes of the ladder."""
    found = on_worker(client, path, SCALE, variants=1, **options)
    (plan,) = (json.loads(line) for line in (path / "measurements.plan.jsonl").read_text().splitlines())
    assert 1 <= len(plan["parameters"]) <= 3
    assert {"ok"} == {row.status for row in found}
    return sorted(plan["parameters"], key=str) == sorted((row.parameters for row in found), key=str)


def test_a_campaign_has_the_device_alone_until_its_caller_is_killed(client, tmp_path):
    hears = Hears()
    with another_campaign(client, tmp_path / "other") as caller:
        with pytest.raises(DeviceBusyError, match=f"process {process_of_worker(client)} "):
            on_worker(client, tmp_path, SCALE, variants=1, wait_s=0.0)
        killing = threading.Timer(1.5, caller.kill)
        killing.start()
        assert measures_what_is_planned(client, tmp_path, wait_s=30.0, progress=hears)
    (said,) = hears.messages
    assert said.startswith("waiting up to 30 s for another campaign on ")
    rows = store.read(tmp_path / "other").rows
    sleep(1.0)
    assert rows == store.read(tmp_path / "other").rows


def test_a_campaign_of_the_workers_machine_is_waited_for(client, tmp_path):
    """Its lock is not in the folder of this test's."""
    (folder,) = client.run(gettempdir).values()
    lock_of_worker = FileLock(Path(folder) / lock.lock_path(device().facts).relative_to(tmp_path), thread_local=False)
    hears = Hears()
    with lock_of_worker, pytest.raises(DeviceBusyError, match=r"another campaign measures on .* within 0 s"):
        on_worker(client, tmp_path, SCALE, variants=1, wait_s=0.0)
    lock_of_worker.acquire()
    threading.Timer(1.5, lock_of_worker.release).start()
    assert measures_what_is_planned(client, tmp_path, wait_s=30.0, progress=hears)
    (said,) = hears.messages
    assert said.startswith("waiting up to 30 s for another campaign on ")


def test_a_campaign_that_an_error_ends_has_left_the_device(client, tmp_path):
    class Stops(Hears):
        def advance(self, note="", seconds=0.0):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_worker(client, tmp_path, slow(tmp_path), progress=Stops())
    drawn = (tmp_path / "draws").read_text()
    assert measures_what_is_planned(client, tmp_path, wait_s=10.0)
    assert len((tmp_path / "draws").read_text()) <= len(drawn) + 2


def test_a_probe_runs_on_a_worker(client, tmp_path):
    settings = ProbeSettings("tiny", visits=1, runs=3, dropped=1, run_s=1e-3, most_bytes=2**16, only=("barriers",))
    hears = Hears()
    *earlier, run = measure_probes(workers_device(client), tmp_path, hears, settings)
    assert all(one.message.startswith(DISTURBED) for one in earlier)  # by other processes: it is visited again
    assert ("barriers", "") == (run.probe, run.message)
    assert {0, 2, 8, 32} == {point.at["barriers"] for point in run.points}
    assert {3, 13} == {len(point.host_s) for point in run.points}  # 13 of the launch alone
    assert all(second > 0 for point in run.points for second in point.host_s)
    assert {"barriers"} == {*hears.notes}
    assert ["probes.jsonl"] == sorted(path.name for path in tmp_path.glob("probes*"))
    assert (*earlier, run) == measure_probes(workers_device(client), tmp_path, hears, settings)


SCHEDULER = """
import sys, time
from distributed import LocalCluster
if __name__ == "__main__":
    resources = {sys.argv[1]: 1}
    with LocalCluster(n_workers=1, resources=resources, dashboard_address="127.0.0.1:0", host="127.0.0.1") as found:
        print(found.scheduler_address, flush=True)
        time.sleep(120)
"""


def test_a_scheduler_that_is_lost_in_the_middle_of_a_campaign_is_told(tmp_path):
    (tmp_path / "scheduler.py").write_text(SCHEDULER)
    command = [sys.executable, str(tmp_path / "scheduler.py"), resource(device().slug)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with running, connected(running.stdout.readline().strip(), timeout_s=1.0) as client:
        address, found = address_of(client), workers_device(client)
        killing = threading.Timer(3.0, running.kill)
        killing.start()
        with pytest.raises(SchedulerError, match=r"does not answer: .*what was measured is kept") as caught:
            measure([slow(tmp_path)], found, tmp_path, None, replace(TINY, visits=50), client=client)
        assert address == caught.value.address
        until = monotonic() + 20
        while client.status != "closed" and monotonic() < until:
            sleep(0.05)
        with pytest.raises(SchedulerError, match="the connection is lost"):
            measure([SCALE], found, tmp_path, None, TINY, client=client)
        with pytest.raises(SchedulerError):
            check_versions(client, [address])


def test_a_worker_that_is_lost_while_versions_are_asked_for_is_not_judged(client):
    (worker,) = client.nthreads()
    with dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}):  # the scheduler is in this process
        check_versions(client, ["tcp://127.0.0.1:1", worker])
