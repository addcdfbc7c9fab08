"""Which devices workers have, and which is meant."""

from __future__ import annotations

import pytest

from perfmodel.errors import AmbiguousDeviceError, NoWorkerError
from perfmodel.measuring.remote.client import chosen_slug, having
from tests.measuring.remote.fakes import FakeClient, Worker

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
