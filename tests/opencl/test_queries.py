"""What NVIDIA's, AMD's and Intel's OpenCL tell beyond the standard, from recorded answers."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pyopencl as cl
import pytest

from perfmodel import opencl
from perfmodel.opencl import RegisterUse, queries, read_registers
from perfmodel.opencl.queries import facts_of
from perfmodel.opencl.registers import registers

STANDARD = {
    "name": "device ",
    "driver_version": "1 ",
    "version": "OpenCL 3.0 ",
    "platform": SimpleNamespace(name="platform"),
    "type": cl.device_type.GPU,
    "extensions": "cl_khr_fp64",
    "max_compute_units": 132,
    "max_clock_frequency": 1980,
    "global_mem_size": 2**37,
    "max_mem_alloc_size": 2**35,
    "global_mem_cache_size": 2**20,
    "global_mem_cacheline_size": 128,
    "local_mem_size": 48 * 1024,
    "max_work_group_size": 1024,
    "max_work_item_sizes": [1024, 1024, 64],
    "profiling_timer_resolution": 1000,
    "double_fp_config": 63,
}


def facts(**answers):
    return facts_of(SimpleNamespace(**{**STANDARD, **answers}))


def test_nvidia():
    found = facts(
        extensions="cl_khr_fp64 cl_nv_compiler_options cl_nv_device_attribute_query",
        warp_size_nv=32,
        registers_per_block_nv=65536,
        compute_capability_major_nv=9,
        compute_capability_minor_nv=0,
        preferred_work_group_size_multiple=32,
    )
    expected = {
        "subgroup_size": (32, "CL_DEVICE_WARP_SIZE_NV"),
        "registers_per_work_group": (65536, "CL_DEVICE_REGISTERS_PER_BLOCK_NV"),
        "compute_capability": (
            "9.0", "CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV"
        ),
        "max_work_item_sizes": ((1024, 1024, 64), "CL_DEVICE_MAX_WORK_ITEM_SIZES"),
        "device_type": ("gpu", "CL_DEVICE_TYPE"),
    }  # fmt: skip
    assert expected == {key: (found.value(key), found.fact(key).source) for key in expected}


def test_amd():
    found = facts(
        extensions="cl_amd_device_attribute_query",
        wavefront_width_amd=64,
        simd_per_compute_unit_amd=4,
        local_mem_banks_amd=32,
        global_mem_channels_amd=32,
    )
    assert (64, "CL_DEVICE_WAVEFRONT_WIDTH_AMD") == (
        found.value("subgroup_size"), found.fact("subgroup_size").source
    )  # fmt: skip
    assert [4, 32, 32] == [
        found.value(key) for key in ("simd_per_compute_unit", "local_memory_banks", "global_memory_channels")
    ]
    assert "compute_capability" not in found


def test_intel_tells_by_a_kernel(monkeypatch):
    monkeypatch.setattr(queries, "_ask_a_kernel", lambda handle: (16, 64))
    found = facts(max_num_sub_groups=64, preferred_work_group_size_multiple=64)
    assert 16 == found.value("subgroup_size")
    assert found.fact("subgroup_size").source.startswith("CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE")


def test_an_answer_without_its_extension_is_not_believed():
    found = facts(warp_size_nv=1234, registers_per_block_nv=99, preferred_work_group_size_multiple=8)
    assert 8 == found.value("subgroup_size")
    assert "registers_per_work_group" not in found
    assert "the device tells no size" in found.fact("subgroup_size").source


OLD = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'multiply_them' for 'sm_20'
ptxas info    : Function properties for multiply_them
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, 56 bytes cmem[0]
"""
TWO = """
ptxas info    : 0 bytes gmem, 24 bytes cmem[3]
ptxas info    : Compiling entry function 'flash' for 'sm_90'
ptxas info    : Function properties for flash
    40 bytes stack frame, 40 bytes spill stores, 36 bytes spill loads
ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 63 registers, used 1 barriers, 8192 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 77.160 ms
ptxas info    : Compiling entry function 'copy' for 'sm_90'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 380 bytes cmem[0]
"""
TERSE = """
ptxas info    : Compiling entry function 'my_kernel' for 'sm_80'
ptxas info    : Used 32 registers, 376 bytes cmem[0]
"""


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (OLD, {"multiply_them": RegisterUse(12)}),
        (TWO, {"flash": RegisterUse(63, 76), "copy": RegisterUse(8)}),
        (TERSE, {"my_kernel": RegisterUse(32)}),
        ("", {}),
        ("Compilation started\nLinking done\nKernel <small> was successfully vectorized (8)\n", {}),
        ("ptxas info    : Used 32 registers", {}),
    ],
)
def test_registers_in_a_build_log(log, expected):
    assert expected == read_registers(log)


@pytest.mark.device
def test_registers_are_unknown_where_no_device_tells():
    device = opencl.find()
    if "nvidia" in device.slug:
        (use,) = registers(device, "kernel void k(global float *a) { a[get_global_id(0)] *= 2; }").values()
        assert use.registers > 0
    else:
        assert registers(device, "kernel void k(global float *a) {}") is None


@pytest.mark.device
def test_every_working_device_is_reached_by_index_and_pocl_by_default():
    working = [device for device, health in opencl.survey() if health.ok]
    assert [device.index for device in working] == [opencl.find(str(device.index)).index for device in working]
    pocl = [device.index for device in working if device.slug.startswith("pocl-")]
    assert (pocl or [working[0].index])[0] == opencl.find().index


def test_a_compiler_that_speaks_is_not_heard_and_other_warnings_are():
    with opencl.quiet_compiler():  # elsewhere in the tests each warning is an error
        warnings.warn("the compiler spoke", cl.CompilerWarning, stacklevel=1)
        with pytest.raises(RuntimeWarning, match="ours"):
            warnings.warn("ours", RuntimeWarning, stacklevel=1)
