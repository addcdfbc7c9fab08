"""Selection of a device by words, where some are broken."""

import pytest

from perfmodel import opencl
from perfmodel.errors import BrokenDeviceError, NoDeviceError, PerfModelWarning, UnknownNameError
from perfmodel.opencl import Health, health
from tests.machine import fake_device

FAKES = (
    fake_device(0, "pthread-skylake-Intel(R) Xeon(R)", "Portable Computing Language"),
    fake_device(1, "Intel(R) Xeon(R) Processor", "Intel(R) OpenCL"), fake_device(2, "NVIDIA H200", "NVIDIA CUDA"),
    fake_device(3, "NVIDIA H200", "NVIDIA CUDA"),
)  # fmt: skip


@pytest.fixture
def fakes(monkeypatch):
    """Four devices, of which those in the returned set are broken."""
    broken: set[int] = set()
    monkeypatch.setattr(health, "devices", lambda: FAKES)
    monkeypatch.setattr(health, "check", lambda device: Health(device.index not in broken, 0.1, "Code -11"))
    return broken


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(("selector", "expected"), [
    (None, 0),
    ("2", 2),
    ("pocl", 0),
    ("portable", 0),
    ("INTEL", 1),  # the platform counts before the name: PoCL's is an Intel too
    ("intel-xeon", 1),
    ("skylake", 0),
    ("NVIDIA H200", 2),
    ("h2", 2),
    (" nvidia ", 2),
])  # fmt: skip
def test_selectors(selector, expected):
    assert expected == opencl.find(selector).index


@pytest.mark.parametrize(("selector", "expected"), [(None, 0), ("intel", 1), ("h200", 2)])
def test_a_device_is_identified_without_a_check(fakes, monkeypatch, selector, expected):
    monkeypatch.setattr(health, "identities", lambda: FAKES)
    fakes.update({0, 1, 2, 3})
    assert expected == opencl.identify(selector).index
    with pytest.raises(UnknownNameError):
        opencl.identify("amd")
    monkeypatch.setattr(health, "identities", tuple)
    with pytest.raises(NoDeviceError):
        opencl.identify()


def test_of_equal_devices_the_first_that_works(fakes):
    fakes.add(2)
    assert 3 == opencl.find("h200").index


@pytest.mark.usefixtures("fakes")
def test_words_that_match_devices_of_several_names():
    with pytest.warns(PerfModelWarning, match=r"several devices match 'xeon'.*\(0: pthread.*, 1: Intel"):
        assert 0 == opencl.find("xeon").index


def test_without_a_selector_broken_pocl_is_passed_over(fakes):
    fakes.update({0, 1})
    assert 2 == opencl.find().index


def test_named_device_that_does_not_work(fakes):
    fakes.add(1)
    with pytest.raises(BrokenDeviceError, match=r"'Intel.R. Xeon.*listed but does not work: Code -11"):
        opencl.find("intel")


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("selector", ["radeon", "4", "", "-1"])
def test_unknown_selector_lists_what_there_is(selector):
    with pytest.raises(UnknownNameError) as caught:
        opencl.find(selector)
    assert isinstance(caught.value, LookupError)
    assert "there are: 0: " in str(caught.value)
    assert "2: NVIDIA H200 (NVIDIA CUDA)" in str(caught.value)
