"""Whether a scheduler answers, what its workers have, and whether their versions are ours."""

from __future__ import annotations

import logging
import socket
import sys
from importlib import metadata
from time import monotonic

import pytest

from perfmodel.errors import AmbiguousDeviceError, MissingExtraError, NoWorkerError, SchedulerError, WorkerVersionError
from perfmodel.measuring.workers.client import SAME, check_versions, chosen_slug, connected, having
from tests.measuring.workers.fakes import FakeClient, Worker

POCL, INTEL = "pocl-amd-epyc", "intel-amd-epyc"
TWO = FakeClient(a=Worker((POCL,)), b=Worker((INTEL,)), c=Worker((POCL,)))


def test_workers_by_device():
    assert {INTEL: ["b"], POCL: ["a", "c"]} == having(TWO)


@pytest.mark.parametrize(("selector", "expected"), [(POCL, POCL), ("Intel", INTEL), (" pocl ", POCL)])
def test_a_device_is_chosen_by_its_name_or_a_part(selector, expected):
    assert expected == chosen_slug(TWO, selector)


def test_the_only_device_needs_no_name():
    assert POCL == chosen_slug(FakeClient(a=Worker((POCL,))), None)


@pytest.mark.parametrize("selector", ["amd", None])
def test_several_devices_are_listed(selector):
    with pytest.raises(AmbiguousDeviceError, match=f"{INTEL}, {POCL}; give one of these"):
        chosen_slug(TWO, selector)


def test_a_device_that_no_worker_has():
    with pytest.raises(NoWorkerError, match=f"no worker .* has the device 'h200'; its workers have: {INTEL}, {POCL}"):
        chosen_slug(TWO, "h200")


def test_no_workers_at_all():
    with pytest.raises(NoWorkerError, match=r"has a device; its workers have: none; on .* run: perfmodel worker tcp://"):
        chosen_slug(FakeClient(), None)


def test_equal_versions_pass():
    check_versions(TWO, ["a", "b", "c"])


@pytest.mark.parametrize("name", SAME)
def test_another_version_is_named(name):
    client = FakeClient(a=Worker(), b=Worker(versions={name: "0.0.7"}))
    with pytest.raises(WorkerVersionError) as caught:
        check_versions(client, ["a", "b"])
    assert ("b", (f"{name} 0.0.7 (here {metadata.version(name)})",)) == (caught.value.worker, caught.value.wrong)


def test_what_is_not_installed_and_another_python_are_named_together():
    client = FakeClient(a=Worker(versions={"islpy": "", "Python": "3.9.1"}))
    with pytest.raises(WorkerVersionError) as caught:
        check_versions(client, ["a"])
    first, second = caught.value.wrong
    assert first.startswith("Python 3.9 (here 3.1")
    assert f"islpy not installed (here {metadata.version('islpy')})" == second


def test_a_scheduler_that_does_not_answer_is_told_soon():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = monotonic()
        with pytest.raises(SchedulerError, match=r"does not answer: nothing in 0\.5 s; give the address"):
            connected(f"tcp://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.5)
        assert monotonic() - began < 10
    assert logging.CRITICAL != logging.getLogger("distributed").level


def test_an_address_that_is_none():
    with pytest.raises(SchedulerError, match="'nonsense://x' does not answer: "):
        connected("nonsense://x", timeout_s=0.5)


def test_without_dask_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'perfmodel\[scale\]'"):
        connected("tcp://127.0.0.1:1")
