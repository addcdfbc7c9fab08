"""The lock of a device, pinned threads, and the load by other processes."""

import os
import platform
import re
import subprocess
import sys
from itertools import count
from types import SimpleNamespace

import psutil
import pytest

from perfmodel.errors import DeviceBusyError, OptionError, OutputError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.measuring import lock, pin_threads
from perfmodel.measuring.lock import LoadWatch, MachineTimes, lock_path, locked, wait_until_quiet
from perfmodel.measuring.timing import versions
from perfmodel.progress import Silent
from tests.campaigns import SCALE, measured
from tests.machine import ROOT

READING = lock.reading
GPU = DeviceFacts.from_mapping("NVIDIA H200", "NVIDIA CUDA", "1", {"device_type": Fact("gpu", "", "test")})
CPU = DeviceFacts.from_mapping("x", "PoCL", "1", {"device_type": Fact("cpu", "", "test")})

HOLD = """
import sys
from perfmodel.facts import DeviceFacts
from perfmodel.measuring import lock
from perfmodel.progress import Silent
lock.gettempdir = lambda: sys.argv[1]
with lock.locked(DeviceFacts("NVIDIA H200", "NVIDIA CUDA", "1", ()), Silent()):
    print("held", flush=True)
    sys.stdin.read()
"""


class Messages(Silent):
    """Keeps messages, and calls a function at each."""

    def __init__(self, call=lambda: None) -> None:
        self.messages: list[str] = []
        self.call = call

    def report(self, message: str) -> None:
        self.messages.append(message)
        self.call()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(lock, "POLL_S", 0.01)
    return tmp_path


def test_a_free_device_is_locked_without_a_wait(folder):
    progress = Messages()
    for _ in "ab":
        with locked(GPU, progress), locked(CPU, progress):
            pass
    assert [] == progress.messages


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_a_second_campaign_waits_until_the_first_ends(end, folder):
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert "held\n" == holder.stdout.readline()
        who = rf"process {holder.pid} on {re.escape(platform.node())} since 2\d{{3}}-\d\d-\d\d \d\d:\d\d:\d\d"
        with pytest.raises(DeviceBusyError, match=rf"'NVIDIA H200' and did not end within 0.02 s: {who}"):
            locked(GPU, Silent(), 0.02).__enter__()
        progress = Messages(getattr(holder, end))
        with locked(GPU, progress, 100.0):
            (message,) = progress.messages
    assert re.search(rf"waiting up to 100 s for another campaign on NVIDIA H200: {who}", message)


def test_all_drivers_of_the_cpu_share_a_lock(folder):
    other = DeviceFacts.from_mapping("y", "Intel(R) OpenCL", "2", {"device_type": Fact("cpu", "", "test")})
    assert lock_path(CPU) == lock_path(other) != lock_path(GPU)
    lock_path(GPU).mkdir(parents=True)
    with pytest.raises(OutputError, match="nvidia-h200"), locked(GPU, Silent()):
        pass


def test_the_lock_is_in_a_folder_of_the_user(folder):
    with locked(GPU, Silent()):
        status = lock_path(GPU).parent.stat()
        assert (0o700, os.getuid()) == (status.st_mode & 0o777, status.st_uid)
    (folder / "elsewhere").mkdir()
    lock_path(GPU).parent.rename(folder / "mine")
    lock_path(GPU).parent.symlink_to(folder / "elsewhere")
    with pytest.raises(OutputError, match="not a folder of your own"), locked(GPU, Silent()):
        pass
    assert [] == list((folder / "elsewhere").iterdir())

EVERY = {"POCL_AFFINITY": "1", "DPCPP_CPU_CU_AFFINITY": "close", "DPCPP_CPU_PLACES": "threads"}


@pytest.mark.parametrize(("cores", "before", "after"), [
    ({0, 1, 2}, {}, EVERY), ({1}, {}, {}), ({0, 1}, {"POCL_AFFINITY": "0"}, {**EVERY, "POCL_AFFINITY": "0"}),
])  # fmt: skip
def test_threads_are_pinned_on_all_cores_unless_a_variable_is_set(monkeypatch, cores, before, after):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores, raising=False)
    monkeypatch.setattr(os, "environ", dict(before))
    pin_threads()
    assert after == os.environ
    assert after == {name: text for name, text in versions.__wrapped__().items() if name in EVERY}


def test_idle_cores_waits_and_guests_are_not_busy(monkeypatch):
    times = {"user": 10.0, "nice": 1.0, "system": 2.0, "idle": 90.0, "iowait": 5.0, "steal": 0.5, "guest": 4.0}
    monkeypatch.setattr(psutil, "cpu_times", lambda: SimpleNamespace(_asdict=lambda: times))
    assert 13.5 == READING().busy_s


def test_the_time_of_a_child_that_still_runs_is_not_a_load_by_others():
    code = """import time
while time.process_time() < 0.4: pass
print(flush=True)
input()"""
    before = READING()
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        running = READING()
        child.communicate(b"\n")
    ended = READING()
    assert running.own_s - before.own_s >= 0.38  # the system counts in steps of 10 ms
    assert ended.own_s - before.own_s >= 0.38


def test_the_load_is_measured_over_a_window_and_reported_once(monkeypatch):
    messages = []
    readings = iter([
        MachineTimes(0, 0, 0), MachineTimes(0.1, 0.2, 0), MachineTimes(1, 1, 1), MachineTimes(2, 3, 1.5),
        MachineTimes(2.1, 9, 1.5), MachineTimes(3, 5, 1.5), MachineTimes(4, 5.2, 1.5),
    ])  # fmt: skip
    monkeypatch.setattr(lock, "reading", lambda: next(readings))
    watch = LoadWatch(messages.append)
    assert [(None, False), (0.0, False), (1.5, True), (1.5, True), (2.0, True), (0.2, False)] == [
        (watch.look(), watch.busy) for _ in range(6)
    ]
    (text,) = messages
    assert text.startswith("others use 1.5 of the machine's ")


@pytest.mark.device
def test_rows_measured_under_load_are_flagged(tmp_path, monkeypatch):
    """Others use one core; each reading is one second after the last one."""
    seconds = count()
    monkeypatch.setattr(lock, "reading", lambda: MachineTimes(now := float(next(seconds)), now, 0.0))
    progress = Messages()
    rows = measured(tmp_path, SCALE, progress=progress).rows
    assert rows
    assert all("load" in row.flags for row in rows)
    assert {1.0} == {visit.load for row in rows for visit in row.visits}
    assert 1 == sum("others use 1.0 of" in message for message in progress.messages)


@pytest.fixture
def machine(monkeypatch):
    """A clock of a machine on which others use these numbers of cores, second by second; the last one stays."""
    monkeypatch.delenv(lock.VARIABLE)

    def of(*cores: float) -> list[float]:
        clock = [0.0]

        def busy_s(now: float) -> float:
            whole = int(now)
            used = [cores[min(second, len(cores) - 1)] for second in range(whole + 1)]
            return sum(used[:-1]) + (now - whole) * used[-1]

        monkeypatch.setattr(lock, "reading", lambda: MachineTimes(clock[0], busy_s(clock[0]), 0.0))
        monkeypatch.setattr(lock, "monotonic", lambda: clock[0])
        monkeypatch.setattr(lock, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
        return clock

    return of


@pytest.mark.parametrize(("cores", "variable", "quiet", "waited_s", "messages"), [
    ((0.1,), "", True, (0.2, 0.2), []), ((2.0,), "0", True, (0.0, 0.0), []),
    ((1.5, 1.5, 1.5, 1.5, 0.0), "", True, (5.0, 6.3), ["others use 1.5 of the machine's", "the machine is quiet"]),
    ((2.0,), "5", False, (5.0, 7.3), ["others use 2.0 of", "the machine is not quiet after 5 s: measuring all"]),
])  # fmt: skip
def test_waiting_for_a_quiet_machine(machine, monkeypatch, cores, variable, quiet, waited_s, messages):
    clock, progress = machine(*cores), Messages()
    if variable:
        monkeypatch.setenv(lock.VARIABLE, variable)
    assert quiet == wait_until_quiet(progress.report)
    assert waited_s[0] <= clock[0] <= waited_s[1]
    assert len(messages) == len(progress.messages)
    assert all(text.startswith(start) for start, text in zip(messages, progress.messages, strict=True))


@pytest.mark.parametrize("given", ["-1", "soon", "inf"])
def test_an_invalid_time_to_wait_is_refused(machine, monkeypatch, given):
    monkeypatch.setenv(lock.VARIABLE, given)
    with pytest.raises(OptionError, match=f"PERFMODEL_WAIT_S is '{given}'"):
        wait_until_quiet(pytest.fail)
