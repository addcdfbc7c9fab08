"""The machine's OpenCL devices as values, and the contexts that they open."""

import numpy as np
import pyopencl as cl
import pytest

from perfmodel import opencl
from perfmodel.facts import DeviceFacts, differences
from perfmodel.opencl import device as module
from perfmodel.opencl.device import identities

pytestmark = pytest.mark.device

REQUIRED_FACTS = {
    "compute_units": int, "global_memory_bytes": int, "max_alloc_bytes": int, "local_memory_bytes": int,
    "max_work_group_size": int, "max_work_item_sizes": tuple, "subgroup_size": int, "device_type": str,
    "opencl_version": str, "profiling_resolution_ns": int,
}  # fmt: skip


def test_every_device_tells_the_facts_that_models_use():
    for device in opencl.devices():
        for key, kind in REQUIRED_FACTS.items():
            assert isinstance(device.facts.value(key), kind), key
            assert device.facts.fact(key).source
        assert device.facts.value("compute_units") >= 1
        assert device.facts.value("subgroup_size") >= 1
        assert 3 == len(device.facts.value("max_work_item_sizes"))
        assert device.facts == DeviceFacts.from_json(device.facts.to_json())


def test_what_tells_devices_apart_is_the_same_without_building_a_kernel():
    for brief, device in zip(identities(), opencl.devices(), strict=True):
        assert (device.index, device.slug) == (brief.index, brief.slug)
        assert {"compute_units", "device_type"} <= {*brief.facts}
        assert all(device.facts.fact(key) == fact for key, fact in brief.facts.facts)
        assert () == differences(device.facts, brief.facts)


def test_found_device_works_and_runs_a_kernel():
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


@pytest.mark.parametrize(("drivers", "given", "expected"), [
    ((), "", "library"), (["vendors/pocl.icd"], "", ""), (["pyopencl/.libs/intel.icd"], "", ""), ((), "mine", "mine"),
])  # fmt: skip
def test_the_loader_is_told_of_intels_runtime_where_it_knows_no_driver(drivers, given, expected, tmp_path, monkeypatch):
    for name in ("library", "vendors/x", "pyopencl/.libs/x", *drivers):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(module, "VENDORS", tmp_path / "vendors")
    monkeypatch.setattr(module, "INTEL", tmp_path / "library")
    monkeypatch.setattr(cl, "__file__", str(tmp_path / "pyopencl" / "__init__.py"))
    monkeypatch.setattr(module.os, "environ", {"OCL_ICD_VENDORS": given} if given else {})
    module.know_intel()
    caught = module.os.environ.get("OCL_ICD_VENDORS", "")
    assert (str(tmp_path / "library") if expected == "library" else expected) == caught
