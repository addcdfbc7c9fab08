"""Devices of a Dask cluster's workers: a real one measures on the device of the tests."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from perfmodel import cluster as clusters, store
from perfmodel.calibration import scheduled
from perfmodel.cli import application
from perfmodel.errors import BrokenDeviceError, SchedulerError, UnknownNameError
from perfmodel.measuring.campaign import QUICK
from tests.campaigns import SCALE
from tests.cluster import cluster
from tests.machine import device

FEW = replace(QUICK, variants=1, visits=1, most_visits=1, apart_s=0.0, runs=3)


@pytest.mark.device
@pytest.mark.nightly
def test_a_worker_measures_its_device_and_the_caller_writes_the_store(tmp_path):
    with cluster(resources={device().slug: 1}) as client:
        (folder,) = scheduled.measured_devices(client, (), tmp_path, FEW, None, [SCALE], [])
        with pytest.raises(UnknownNameError, match=f"no worker .* has the resource 'h200'; .* have: {device().slug}"):
            [*scheduled.measured_devices(client, ("h200",), tmp_path, FEW)]
    found = store.read(folder)
    assert tmp_path / device().slug == folder
    assert {"scale"} == {row.kernel for row in found.rows}
    assert {"ok"} == {row.status for row in found.rows}
    assert found.counts


def future_of(error):
    return SimpleNamespace(exception=lambda: error, result=lambda: 3)


def test_errors_of_tasks_name_the_device_and_a_cluster_without_devices_is_refused(monkeypatch):
    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://host:1"))
    assert 3 == scheduled._result(client, "pocl", future_of(None))
    killed = type("KilledWorker", (Exception,), {})()
    with pytest.raises(SchedulerError, match="the workers with the device 'pocl' died"):
        scheduled._result(client, "pocl", future_of(killed))
    with pytest.raises(BrokenDeviceError, match="a worker with the resource 'pocl': it crashed; choose another"):
        scheduled._result(client, "pocl", future_of(BrokenDeviceError("it crashed", "choose another")))
    with pytest.raises(ZeroDivisionError):
        scheduled._result(client, "pocl", future_of(ZeroDivisionError()))
    monkeypatch.setattr(clusters, "devices_of", lambda client: {})
    with pytest.raises(SchedulerError, match=r"no worker .* has a device as its resource; start one .* as \"pocl=1\""):
        scheduled._chosen(client, ())


@pytest.mark.parametrize(("given", "said"), [
    (("tcp://host:1", "--probes"), "--probes was given with --scheduler"),
    (("tcp://host:1", "--json"), "--json was given with --scheduler"),
    (("localhost", "--out", "none"), "the Dask scheduler at 'localhost' does not answer: missing port"),
])  # fmt: skip
def test_options_of_one_device_and_a_scheduler_that_does_not_answer_are_refused(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(application(), ["calibrate", "--scheduler", *given])
    assert (2, True) == (done.exit_code, said in done.stderr)


def test_torn_lines_are_not_sent(tmp_path):
    (tmp_path / "measurements.jsonl").write_bytes(b'{"a": 1}\n{"b')
    (tmp_path / "bottleneck.json").write_bytes(b"{}")
    files = scheduled.read_files(tmp_path)
    assert {"measurements.jsonl": b'{"a": 1}\n'} == files
    for _ in range(2):  # and nothing is added twice
        scheduled.add_to(tmp_path / "new", scheduled.read_files(tmp_path / "new"), files)
        assert b'{"a": 1}\n' == (tmp_path / "new" / "measurements.jsonl").read_bytes()
