"""What NVIDIA's, AMD's and Intel's OpenCL tell beyond the standard, from recorded answers."""

import mmap
from types import SimpleNamespace

import pyopencl as cl
import pytest

from perfmodel.opencl import device as queries
from perfmodel.opencl.device import facts_of, system_caches, system_page

STANDARD = {
    "name": "device ", "driver_version": "1 ", "version": "OpenCL 3.0 ", "platform": SimpleNamespace(name="platform"),
    "type": cl.device_type.GPU, "extensions": "cl_khr_fp64", "max_compute_units": 132, "max_clock_frequency": 1980,
    "global_mem_size": 2**37, "max_mem_alloc_size": 2**35, "global_mem_cache_size": 2**20,
    "global_mem_cacheline_size": 128, "local_mem_size": 48 * 1024, "max_work_group_size": 1024,
    "max_work_item_sizes": [1024, 1024, 64], "profiling_timer_resolution": 1000, "double_fp_config": 63,
}  # fmt: skip


def facts(**answers):
    return facts_of(SimpleNamespace(**{**STANDARD, **answers}))


def test_nvidia():
    found = facts(
        extensions="cl_khr_fp64 cl_nv_compiler_options cl_nv_device_attribute_query", warp_size_nv=32,
        registers_per_block_nv=65536, compute_capability_major_nv=9, compute_capability_minor_nv=0,
        preferred_work_group_size_multiple=32,
    )  # fmt: skip
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
        extensions="cl_amd_device_attribute_query", wavefront_width_amd=64, simd_per_compute_unit_amd=4,
        local_mem_banks_amd=32, global_mem_channels_amd=32,
    )  # fmt: skip
    assert (64, "CL_DEVICE_WAVEFRONT_WIDTH_AMD") == (found.value("subgroup_size"), found.fact("subgroup_size").source)
    assert [4, 32, 32] == [
        found.value(key) for key in ("simd_per_compute_unit", "local_memory_banks", "global_memory_channels")
    ]
    assert "compute_capability" not in found


def test_intel_tells_by_a_kernel(monkeypatch):
    monkeypatch.setattr(queries, "_query_kernel", lambda handle: (16, 64))
    found = facts(max_num_sub_groups=64, preferred_work_group_size_multiple=64)
    assert 16 == found.value("subgroup_size")
    assert found.fact("subgroup_size").source.startswith("CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE")


def test_an_answer_without_its_extension_is_not_believed():
    found = facts(warp_size_nv=1234, registers_per_block_nv=99, preferred_work_group_size_multiple=8)
    assert 8 == found.value("subgroup_size")
    assert "registers_per_work_group" not in found
    assert "the device tells no size" in found.fact("subgroup_size").source


def cache(folder, number, **words):
    place = folder / f"index{number}"
    place.mkdir(parents=True)
    for name, word in words.items():
        (place / name).write_text(f"{word}\n")


def test_sizes_and_ways(tmp_path):
    cache(tmp_path, 0, level=1, type="Data", size="48K", ways_of_associativity=12)
    cache(tmp_path, 1, level=1, type="Instruction", size="32K", ways_of_associativity=8)
    cache(tmp_path, 2, level=2, type="Unified", size="2M", ways_of_associativity=0)
    cache(tmp_path, 3, level=3, type="Unified", size="what", ways_of_associativity=16)
    found = system_caches(tmp_path)
    expected = {"l1_told_bytes": 49152, "l1_told_ways": 12, "l2_told_bytes": 2**21}
    assert expected == {key: fact.value for key, fact in found.items()}
    assert f"told by the operating system: {tmp_path}/index0/size" == found["l1_told_bytes"].source


@pytest.mark.parametrize(
    ("enabled", "page"), [("[always] madvise never", 2**21), ("always [madvise] never", mmap.PAGESIZE)]
)
def test_a_page_is_huge_where_the_system_gives_such_pages_to_all(tmp_path, enabled, page):
    (tmp_path / "enabled").write_text(f"{enabled}\n")
    (tmp_path / "hpage_pmd_size").write_text("2097152\n")
    assert page == system_page(tmp_path).value
    assert mmap.PAGESIZE == system_page(tmp_path / "none").value
