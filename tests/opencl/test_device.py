"""Discovery and health on the machine's real devices, and with drivers that misbehave."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

import perfmodel as pm
from perfmodel import opencl
from perfmodel.errors import BrokenDeviceError, NoDeviceError, UnknownDeviceError
from perfmodel.facts import DeviceFacts
from perfmodel.opencl import Device, Health, probe, selection
from tests.shadow import NO_DRIVERS, ROOT, fake_opencl, shadow

pytestmark = pytest.mark.device

REQUIRED_FACTS = {
    "compute_units": int,
    "global_memory_bytes": int,
    "max_alloc_bytes": int,
    "local_memory_bytes": int,
    "max_work_group_size": int,
    "max_work_item_sizes": tuple,
    "subgroup_size": int,
    "device_type": str,
    "opencl_version": str,
    "profiling_resolution_ns": int,
}


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Let new processes meet a driver that does this when it is listed."""

    def install(when_listed: str) -> None:
        monkeypatch.setenv("PYTHONPATH", shadow(tmp_path, "pyopencl", fake_opencl(when_listed)))

    return install


def fake(index: int, name: str, platform: str) -> Device:
    return Device(index, DeviceFacts(name, platform, "1", ()))


FAKES = (
    fake(0, "pthread-skylake-Intel(R) Xeon(R)", "Portable Computing Language"),
    fake(1, "Intel(R) Xeon(R) Processor", "Intel(R) OpenCL"),
    fake(2, "NVIDIA H200", "NVIDIA CUDA"),
    fake(3, "NVIDIA H200", "NVIDIA CUDA"),
)


@pytest.fixture
def fakes(monkeypatch):
    """Four devices, of which those in the returned set are broken."""
    broken: set[int] = set()
    monkeypatch.setattr(selection, "devices", lambda: FAKES)
    monkeypatch.setattr(
        selection, "check", lambda device: Health(device.index not in broken, 0.1, "Code -11")
    )
    return broken


def test_every_device_tells_the_facts_that_models_use():
    for device in opencl.devices():
        for key, kind in REQUIRED_FACTS.items():
            assert isinstance(device.facts.value(key), kind), key
            assert device.facts.fact(key).source
        assert device.facts.value("compute_units") >= 1
        assert device.facts.value("subgroup_size") >= 1
        assert 3 == len(device.facts.value("max_work_item_sizes"))
        assert device.facts == DeviceFacts.from_json(device.facts.to_json())


def test_the_room_lists_the_devices_when_called():
    names = [device.name for device in opencl.devices()]
    assert names == [device.name for device in pm.devices()]


def test_found_device_works_and_runs_a_kernel():
    import pyopencl as cl

    device = opencl.find()
    context, queue = device.context()
    assert queue.properties & cl.command_queue_properties.PROFILING_ENABLE
    source = "kernel void square(global float *a) { int i = get_global_id(0); a[i] = i*i; }"
    program = cl.Program(context, source).build()
    result = np.empty(100, np.float32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, result.nbytes)
    event = program.square(queue, (100,), None, buffer)
    cl.enqueue_copy(queue, result, buffer)
    assert np.array_equal(np.arange(100.0) ** 2, result)
    assert event.profile.end > event.profile.start


def test_check_of_a_working_device():
    health = opencl.check(opencl.find())
    assert health.ok
    assert "built and ran a kernel" == health.message
    assert 0 < health.seconds < 60


def test_survey_agrees_with_the_list():
    surveyed = opencl.survey()
    assert [d.slug for d in opencl.devices()] == [device.slug for device, _ in surveyed]
    assert any(health.ok for _, health in surveyed)


def test_check_of_a_device_that_has_gone():
    health = opencl.check(fake(99, "gone", "nowhere"))
    assert not health.ok
    assert "no longer listed" in health.message


def test_context_of_a_device_that_has_gone():
    with pytest.raises(NoDeviceError, match=r"device 99 \('gone'\) is gone"):
        fake(99, "gone", "nowhere").context()


def test_build_failure_is_an_unhealthy_answer(monkeypatch):
    import pyopencl as cl

    real = cl.Program
    monkeypatch.setattr(cl, "Program", lambda context, source: real(context, source + "nonsense!"))
    answer = probe.health(opencl.find())
    assert not answer["ok"]
    assert "RuntimeError" in answer["message"]
    assert "\n" not in answer["message"]


def test_wrong_result_is_an_unhealthy_answer(monkeypatch):
    import pyopencl as cl

    real = cl.Program
    monkeypatch.setattr(
        cl, "Program", lambda context, source: real(context, source.replace("3*", "5*"))
    )
    answer = probe.health(opencl.find())
    assert not answer["ok"]
    assert "element 1 is " in answer["message"]


def test_a_crashing_driver_ends_only_its_own_process(driver):
    driver("import os; os.abort()")
    health = opencl.check(fake(0, "crasher", "any"))
    assert not health.ok
    assert "crashed (SIGABRT)" in health.message
    with pytest.raises(BrokenDeviceError, match="SIGABRT"):
        opencl.survey()


def test_a_hanging_driver_is_given_up(driver):
    driver("import time; time.sleep(600)")
    start = time.perf_counter()
    health = opencl.check(fake(0, "sleeper", "any"), time_limit=1.0)
    assert not health.ok
    assert "gave no answer in 1 s" == health.message
    assert time.perf_counter() - start < 10


def test_a_driver_that_exits_and_speaks(driver):
    driver("import sys; sys.exit('license expired')")
    health = opencl.check(fake(0, "quitter", "any"))
    assert "ended the process with status 1: license expired" in health.message


def test_no_driver_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", shadow(tmp_path, "pyopencl", NO_DRIVERS))
    assert () == opencl.survey()
    code = "from perfmodel import opencl\nassert () == opencl.devices()\nopencl.find()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "NoDeviceError: no OpenCL device was found" in last
    assert "scripts/setup" in last
    assert "apt-get install pocl-opencl-icd" in last


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("selector", "expected"),
    [
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
    ],
)
def test_selectors(selector, expected):
    assert expected == opencl.find(selector).index


def test_of_equal_devices_the_first_that_works(fakes):
    fakes.add(2)
    assert 3 == opencl.find("h200").index


def test_without_a_selector_broken_pocl_is_passed_over(fakes):
    fakes.update({0, 1})
    assert 2 == opencl.find().index


def test_named_device_that_does_not_work(fakes):
    fakes.add(1)
    with pytest.raises(BrokenDeviceError, match=r"'Intel.R. Xeon.*listed but does not work: Code -11"):
        opencl.find("intel")


def test_no_device_works(fakes):
    fakes.update(range(4))
    with pytest.raises(NoDeviceError, match=r"no listed OpenCL device works.*Code -11.*scripts/setup"):
        opencl.find()


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize("selector", ["radeon", "4", "", "-1"])
def test_unknown_selector_lists_what_there_is(selector):
    with pytest.raises(UnknownDeviceError) as caught:
        opencl.find(selector)
    assert isinstance(caught.value, LookupError)
    assert 4 == len(caught.value.allowed)
    assert "2: NVIDIA H200 (NVIDIA CUDA)" in str(caught.value)


