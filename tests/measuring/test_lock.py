"""One campaign at a time on a device."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys

import pytest

from perfmodel.errors import DeviceBusyError, OutputError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.measuring import lock
from perfmodel.measuring.lock import lock_path, locked
from perfmodel.progress import Silent
from tests.machine import ROOT

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


class Hears(Silent):
    def __init__(self, act) -> None:
        self.messages: list[str] = []
        self.act = act

    def tell(self, message: str) -> None:
        self.messages.append(message)
        self.act()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(lock, "POLL_S", 0.01)
    return tmp_path


def test_a_free_device_is_had_at_once():
    hears = Hears(lambda: None)
    for _ in "ab":
        with locked(GPU, hears):
            pass
    assert [] == hears.messages


@pytest.mark.parametrize("end", ["terminate", "kill"])
def test_a_second_campaign_says_that_it_waits_and_goes_on_when_the_first_ends(end, folder):
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert "held\n" == holder.stdout.readline()
        who = rf"process {holder.pid} on {re.escape(platform.node())} since 2\d{{3}}-\d\d-\d\d \d\d:\d\d:\d\d"
        with pytest.raises(DeviceBusyError, match=rf"'NVIDIA H200' and did not end within 0.02 s: {who}"):
            locked(GPU, Silent(), 0.02).__enter__()
        hears = Hears(getattr(holder, end))
        with locked(GPU, hears, 100.0):
            (message,) = hears.messages
    assert re.search(rf"waiting up to 100 s for another campaign on NVIDIA H200: {who}", message)


def test_all_drivers_of_the_cpu_share_a_lock_and_a_gpu_has_its_own():
    other = DeviceFacts.from_mapping("y", "Intel(R) OpenCL", "2", {"device_type": Fact("cpu", "", "test")})
    assert lock_path(CPU) == lock_path(other)
    assert "nvidia-h200.lock" == lock_path(GPU).name
    with locked(CPU, Silent()), locked(GPU, Silent()):
        pass


def test_a_lock_that_cannot_be_made_is_one_line(folder):
    lock_path(GPU).mkdir(parents=True)
    with pytest.raises(OutputError, match="nvidia-h200"), locked(GPU, Silent()):
        pass


def test_the_lock_lies_in_a_folder_of_the_users_own_and_in_no_other(folder):
    with locked(GPU, Silent()):
        found = lock_path(GPU).parent.stat()
        assert (0o700, os.getuid()) == (found.st_mode & 0o777, found.st_uid)
    (folder / "elsewhere").mkdir()
    lock_path(GPU).parent.rename(folder / "mine")
    lock_path(GPU).parent.symlink_to(folder / "elsewhere")
    with pytest.raises(OutputError, match="not a folder of your own"), locked(GPU, Silent()):
        pass
    assert [] == list((folder / "elsewhere").iterdir())
