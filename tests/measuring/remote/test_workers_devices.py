"""Which devices workers have, which is meant, and which are measured in turn."""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest

from perfmodel.errors import (
    AmbiguousDeviceError,
    BrokenDeviceError,
    NoDeviceError,
    NoWorkerError,
    UnknownDeviceError,
    WorkerVersionError,
)
from perfmodel.measuring.lock import lock_path
from perfmodel.measuring.remote import workers as module
from perfmodel.measuring.remote.workers import (
    OWN_DEVICE,
    chosen_slug,
    describe,
    described,
    having,
    own_device,
    turns,
    workers_device,
)
from tests.machine import device
from tests.measuring.remote.fakes import FACTS, SLUG, FakeClient, Worker

POCL, INTEL = "pocl-amd-epyc", "intel-amd-epyc"
TWO = FakeClient(a=Worker((POCL,)), b=Worker((INTEL,)), c=Worker((POCL,)))


def test_workers_by_device():
    assert {INTEL: ["b"], POCL: ["a", "c"]} == having(TWO)


@pytest.mark.parametrize(("selector", "expected"), [(POCL, POCL), ("Intel", INTEL), (" pocl ", POCL)])
def test_a_device_is_chosen_by_its_name_or_a_part(selector, expected):
    assert expected == chosen_slug(TWO, selector)


def test_on_an_intel_processor_intel_is_its_own_runtime():
    xeon = FakeClient(a=Worker(("pocl-skylake-intel-xeon",)), b=Worker(("intel-xeon",)))
    assert ["intel-xeon"] * 3 == [chosen_slug(xeon, selector) for selector in ("intel", "intel-", "intel-xeon")]
    assert "pocl-skylake-intel-xeon" == chosen_slug(xeon, "skylake")
    with pytest.raises(AmbiguousDeviceError):
        chosen_slug(xeon, "xeon")


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


def test_drivers_of_one_processor_have_turns_and_all_else_is_at_once():
    client = FakeClient(
        a=Worker(("pocl",), lock="host:cpu"), b=Worker(("intel",), lock="host:cpu"),
        c=Worker(("h200",), lock="host:h200"),
        d=Worker(("pocl-2",), lock="other:cpu"), e=Worker(("h200",), lock="other:h200"),
    )  # fmt: skip
    assert {("intel", "pocl"), ("h200",), ("pocl-2",)} == set(turns(client))


def test_a_device_of_workers_is_opened_by_them_only():
    found = workers_device(FakeClient(a=Worker()))
    assert FACTS == found.facts
    with pytest.raises(NoDeviceError, match="is a Dask worker's"):
        found.context()


def test_a_worker_with_other_versions_is_refused_from_the_start():
    with pytest.raises(WorkerVersionError, match="the worker b has other versions"):
        workers_device(FakeClient(a=Worker(), b=Worker(versions={"islpy": "1"})))


def test_a_worker_that_is_lost_when_it_is_asked_is_not_the_only_one():
    assert FACTS == workers_device(FakeClient(a=Worker(described=OSError("lost")), b=Worker())).facts
    with pytest.raises(BrokenDeviceError, match="its workers were lost when they were asked for it"):
        workers_device(FakeClient(a=Worker(described=OSError("lost"))))


@pytest.mark.parametrize("error", [UnknownDeviceError(SLUG, ()), BrokenDeviceError(SLUG, "ValueError: a driver's")])
def test_a_worker_that_cannot_say_what_its_device_is(error):
    raised = ValueError("a\ndriver's") if isinstance(error, BrokenDeviceError) else error
    with pytest.raises(type(error)) as caught:
        described(FakeClient(a=Worker(described=raised)), "a", SLUG)
    assert error == caught.value


@pytest.fixture
def asked_anew():
    own_device.cache_clear()
    yield
    own_device.cache_clear()


@pytest.mark.device
def test_a_worker_tells_device_machine_and_lock(asked_anew):
    index, facts, lock = describe(device().slug)
    assert (device().index, device().facts.hash) == (index, facts.hash)
    assert f"{platform.node()}:{lock_path(device().facts)}" == lock


@pytest.mark.device
def test_of_equal_devices_the_environment_names_the_own_one(asked_anew, monkeypatch):
    twins = [replace(device(), index=index) for index in range(3)]
    monkeypatch.setattr(module, "devices", lambda: tuple(twins))
    assert 0 == own_device(device().slug).index
    own_device.cache_clear()
    monkeypatch.setenv(OWN_DEVICE, "2")
    assert 2 == own_device(device().slug).index
