"""One campaign at a time on a device."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perfmodel.errors import OutputError
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.measuring import Silent, lock
from perfmodel.measuring.lock import lock_path, locked

GPU = DeviceFacts.from_mapping("NVIDIA H200", "NVIDIA CUDA", "1", {"device_type": Fact("gpu", "", "test")})
CPU = DeviceFacts.from_mapping("x", "PoCL", "1", {"device_type": Fact("cpu", "", "test")})

HOLD = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
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
def test_a_second_campaign_says_that_it_waits_and_goes_on_when_the_first_ends(end):
    command = [sys.executable, "-c", HOLD, str(lock_path(GPU))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert "held\n" == holder.stdout.readline()
        hears = Hears(getattr(holder, end))
        with locked(GPU, hears):
            (message,) = hears.messages
    assert "waiting for another campaign on NVIDIA H200" in message
    assert str(lock_path(GPU)) in message


def test_all_drivers_of_the_cpu_share_a_lock_and_a_gpu_has_its_own():
    other = DeviceFacts.from_mapping("y", "Intel(R) OpenCL", "2", {"device_type": Fact("cpu", "", "test")})
    assert lock_path(CPU) == lock_path(other)
    assert "perfmodel-nvidia-h200.lock" == lock_path(GPU).name
    with locked(CPU, Silent()), locked(GPU, Silent()):
        pass


def test_a_lock_that_cannot_be_made_is_one_line(folder):
    lock_path(GPU).mkdir()
    with pytest.raises(OutputError, match="perfmodel-nvidia-h200"), locked(GPU, Silent()):
        pass
