"""``--scheduler`` of ``perfmodel calibrate`` and ``measure``: one device of the workers, or each of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from time import monotonic, sleep

import pytest
from typer.testing import CliRunner

from perfmodel import store
from perfmodel.calibration import calibrate as module
from perfmodel.cli import application
from perfmodel.cli.worker import _Children, run_in_turns
from perfmodel.facts import read_device
from perfmodel.measuring import lock, run
from perfmodel.measuring.remote.workers import resource
from tests.cluster import cluster
from tests.machine import ROOT, device

#: Notes when it begins and ends; what it prints; its status is the length of the device's name.
CHILD = """
import sys, time
print("begins", file=sys.stderr, flush=True)
time.sleep(0.2)
print("ends", file=sys.stderr, flush=True)
print("result of", sys.argv[2])
sys.exit(len(sys.argv[2]))
"""


def test_devices_have_turns_and_each_line_its_name(capfd):
    assert 2 == run_in_turns([sys.executable, "-c", CHILD], [["a", "bb"]])
    out, err = capfd.readouterr()
    assert ["a: begins", "a: ends", "bb: begins", "bb: ends"] == err.splitlines()
    assert ["result of a", "result of bb"] == out.splitlines()


def test_other_devices_run_at_the_same_time(tmp_path):
    """Each of two waits for the other."""
    program = f"""
import pathlib, sys, time
here = pathlib.Path({str(tmp_path)!r})
(here / sys.argv[2]).touch()
until = time.monotonic() + 30
while len(list(here.iterdir())) < 2 and time.monotonic() < until:
    time.sleep(0.01)
sys.exit(len(list(here.iterdir())) < 2)
"""
    assert 0 == run_in_turns([sys.executable, "-c", program], [["a"], ["b"]])


def test_an_interrupt_reaches_each_device_once_and_none_is_begun(tmp_path):
    child = f"""
import pathlib, sys, time
notes = pathlib.Path({str(tmp_path)!r}) / sys.argv[2]
try:
    notes.write_text("began ")
    time.sleep(30)
except KeyboardInterrupt:
    notes.open("a").write("interrupted")
"""
    program = f"""
import sys
from perfmodel.cli.worker import run_in_turns
try:
    run_in_turns([sys.executable, "-c", {child!r}], [["a", "later"], ["b"]])
except KeyboardInterrupt:
    sys.exit(130)
"""
    running = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT)
    while not all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in "ab"):
        threading.Event().wait(0.02)
        assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert 130 == running.wait(20)
    assert ["began interrupted"] * 2 == [(tmp_path / name).read_text() for name in "ab"]
    assert not (tmp_path / "later").exists()


#: Begins a process in its own group, notes both, and does not end by an interrupt.
STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGINT, lambda *_: print("interrupted", file=sys.stderr, flush=True))
ignores = "import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(60)"
inner = subprocess.Popen([sys.executable, "-c", ignores])
notes = pathlib.Path(sys.argv[1]) / "pids.part"
notes.write_text(f"{os.getpid()} {inner.pid}")
notes.rename(notes.with_name("pids"))
until = time.monotonic() + 60
while time.monotonic() < until:
    time.sleep(0.05)
"""
#: Runs it for a device, and another one after it.
PARENT = """
import sys
from perfmodel.cli.worker import run_in_turns
try:
    sys.exit(run_in_turns([sys.executable, *sys.argv[1:]], [["a", "later"]]))
except KeyboardInterrupt:
    sys.exit(130)
"""


def is_there(process: int) -> bool:
    """Whether a process runs: neither gone, nor dead and not yet noticed by who began it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ((signal.SIGINT, signal.SIGINT), 130),
        ((signal.SIGTERM,), 128 + signal.SIGTERM),
        ((signal.SIGHUP,), 128 + signal.SIGHUP),
    ],
)
def test_a_second_interrupt_or_another_signal_ends_all_that_was_begun(tmp_path, sent, status):
    command = [sys.executable, "-c", PARENT, "-c", STUBBORN, str(tmp_path)]
    running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    until = monotonic() + 30
    while not (tmp_path / "pids").exists() and monotonic() < until:
        assert running.poll() is None
        sleep(0.02)
    processes = [int(one) for one in (tmp_path / "pids").read_text().split()]
    assert all(map(is_there, processes))
    for place, number in enumerate(sent):
        running.send_signal(number)
        if place + 1 < len(sent):
            assert "a: interrupted\n" == running.stderr.readline()  # it goes on
    assert status == running.wait(20)
    running.stderr.close()
    while any(map(is_there, processes)) and monotonic() < until:
        sleep(0.02)
    assert not any(map(is_there, processes))


def test_nothing_is_begun_after_a_signal(tmp_path):
    children = _Children()
    with children.told_of_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        assert children.begin([sys.executable, "-c", f"open({str(tmp_path / 'begun')!r}, 'w')"]) is None
    assert [signal.SIGTERM] == children.signals
    assert [] == list(tmp_path.iterdir())


def test_what_this_process_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with _Children().told_of_signals():
            assert signal.SIG_IGN == signal.getsignal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def calibrate(*arguments: str):
    return perfmodel("calibrate", *arguments)


def perfmodel(*arguments: str):
    return CliRunner().invoke(application(), arguments)


@pytest.fixture(scope="module")
def client():
    """The worker says that it has two more devices."""
    names = (device().slug, "intel-a", "intel-b")
    with cluster(resources={resource(name): 1 for name in names}) as found:
        yield found


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))
    for folder, name in (("measurement_kernels", "empty"), ("test_kernels", "stencil")):
        (tmp_path / folder).mkdir()
        shutil.copy(ROOT / folder / f"{name}.py", tmp_path / folder)
    return tmp_path


def refused(result, *said: str) -> None:
    assert 2 == result.exit_code
    assert 1 == len(result.stderr.splitlines()), result.stderr
    for text in said:
        assert text in result.stderr
    assert not Path("out").exists()


@pytest.mark.device
@pytest.mark.slow
def test_a_device_of_a_worker_in_one_command(place, client, monkeypatch):
    monkeypatch.setattr(module, "measure_probes", lambda *arguments: ())
    monkeypatch.setattr(run, "sleep", lambda seconds: None)  # no pause between visits
    folders = ("--kernels", "measurement_kernels", "--tests", "test_kernels")
    address, slug = client.scheduler.address, device().slug
    result = calibrate("--scheduler", address, "--device", slug, "--quick", "--budget", "5", "--out", "out", *folders)
    assert 0 == result.exit_code, result.stderr
    folder = place / "out" / slug
    assert {"empty"} == {row.kernel for row in store.read(folder).rows}
    assert device().facts.hash == read_device(folder / "device.json").hash
    assert f"wrote {Path('out') / slug} in " in result.stdout


@pytest.mark.device
@pytest.mark.slow
def test_a_device_of_a_worker_is_measured_only(place, client):
    asked = ("--device", device().slug, "--class", "empty", "--kernels", "measurement_kernels", "--budget", "5")
    result = perfmodel("measure", "--scheduler", client.scheduler.address, *asked, "--store", "out")
    assert 0 == result.exit_code, result.stderr
    assert {"empty"} == {row.kernel for row in store.read(place / "out").rows}
    assert {device().name} == {row.device for row in store.read(place / "out").rows}


@pytest.mark.device
def test_a_device_that_no_worker_has_is_answered_by_what_they_have(place, client):
    result = calibrate("--scheduler", client.scheduler.address, "--device", "h200", "--out", "out")
    names = ", ".join(sorted((device().slug, "intel-a", "intel-b")))
    refused(result, "no worker of the scheduler at", f"has the device 'h200'; its workers have: {names}; ")


@pytest.mark.device
def test_a_name_of_several_devices_is_refused_with_their_names(place, client):
    result = calibrate("--scheduler", client.scheduler.address, "--device", "intel-", "--out", "out")
    refused(result, "several devices of the workers match 'intel-': intel-a, intel-b; give one")


def test_an_index_is_no_device_of_workers(place):
    result = calibrate("--scheduler", "tcp://127.0.0.1:1", "--device", "0", "--out", "out")
    refused(result, "--device 0 is an index, and --scheduler was given; give the device's name")


def test_a_scheduler_that_does_not_answer(place, monkeypatch):
    result = calibrate("--scheduler", "localhost", "--out", "out")
    refused(result, "the Dask scheduler at 'localhost' does not answer: missing port", "give the address that")


ONE_ONLY = (
    ("calibrate", "--json"), ("calibrate", "--probes"),
    ("measure", "--json"), ("measure", "--store", "out"),
)  # fmt: skip


@pytest.mark.parametrize("asked", ONE_ONLY)
def test_options_for_one_device_are_refused_for_several(place, monkeypatch, asked):
    from perfmodel import cluster as clusters
    from tests.measuring.remote.fakes import FakeClient, Worker

    monkeypatch.setattr(FakeClient, "__enter__", lambda self: self, raising=False)
    monkeypatch.setattr(FakeClient, "__exit__", lambda self, *error: None, raising=False)
    monkeypatch.setattr(clusters, "connected", lambda address: FakeClient(a=Worker(("intel", "pocl"))))
    result = perfmodel(*asked, "--scheduler", "tcp://host:1")
    refused(result, f"{asked[1]} was given with --scheduler, whose workers have 2 devices", "one of intel, pocl")
