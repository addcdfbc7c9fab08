"""The OpenCL devices of this machine, with their facts from OpenCL and, for caches of CPUs, from Linux."""

import mmap
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perfmodel.documents import one_line
from perfmodel.errors import NoDeviceError
from perfmodel.facts import DeviceFacts, Fact

SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")  #: Linux's: a folder ``index*`` for each cache of the first core
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")  # Linux's folder with the settings of huge pages
VENDORS = Path("/etc/OpenCL/vendors")  # folder of the drivers that OpenCL's loader finds
INTEL = Path(sys.prefix, "lib", "libintelocl.so")  # driver of the package intel-opencl-rt
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_NVIDIA, _AMD = "cl_nv_device_attribute_query", "cl_amd_device_attribute_query"
# By the extension that has the queries, since devices of other vendors may answer them wrongly ("": the standard): key,
# unit, attribute of pyopencl.Device. The OpenCL query is CL_DEVICE_<ATTRIBUTE>.
_NUMBERS = {
    "": (
        ("compute_units", "", "max_compute_units"), ("clock_mhz", "MHz", "max_clock_frequency"),
        ("global_memory_bytes", "B", "global_mem_size"), ("max_alloc_bytes", "B", "max_mem_alloc_size"),
        ("cache_bytes", "B", "global_mem_cache_size"), ("cache_line_bytes", "B", "global_mem_cacheline_size"),
        ("local_memory_bytes", "B", "local_mem_size"), ("max_work_group_size", "work-items", "max_work_group_size"),
        ("profiling_resolution_ns", "ns", "profiling_timer_resolution"),
    ),
    _NVIDIA: (("registers_per_work_group", "registers", "registers_per_block_nv"),),
    _AMD: (
        ("simd_per_compute_unit", "", "simd_per_compute_unit_amd"), ("local_memory_banks", "", "local_mem_banks_amd"),
        ("global_memory_channels", "", "global_mem_channels_amd"),
    ),
}  # fmt: skip
_SUBGROUP_SIZES = ((_NVIDIA, "warp_size_nv"), (_AMD, "wavefront_width_amd"))
_CAPABILITY = ("compute_capability_major_nv", "compute_capability_minor_nv")
_SMALL_KERNEL = "kernel void small(global int *a) { a[get_global_id(0)] = 1; }"


@dataclass(frozen=True)
class Device:
    """One OpenCL device: its position among all devices of all platforms, and the facts that it reports."""

    index: int
    facts: DeviceFacts

    def __repr__(self) -> str:
        return one_line(f"<Device {self.index}: {self.name} ({self.platform})>")

    @property
    def name(self) -> str:
        """The device's name in OpenCL."""
        return self.facts.name

    @property
    def platform(self) -> str:
        """The name of the platform."""
        return self.facts.platform

    @property
    def slug(self) -> str:
        """A short name for files (:attr:`perfmodel.facts.DeviceFacts.slug`)."""
        return self.facts.slug

    def context(self) -> tuple[Any, Any]:
        """Open the device. Return a pyopencl context and an in-order queue with profiling, or raise NoDeviceError."""
        import pyopencl as cl

        handles = _handles()
        if self.index >= len(handles):
            raise no_device(f"the OpenCL device {self.index} ('{self.name}') is no longer listed")
        context = cl.Context([handles[self.index]])
        return context, cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)


def no_device(problem: str = "no OpenCL device was found") -> NoDeviceError:
    """Return the error for a machine without a working device."""
    return NoDeviceError(
        problem,
        "run scripts/setup, or pip install 'perfmodel[cpu]', or as root: apt-get install pocl-opencl-icd; "
        "'perfmodel doctor' then checks the devices",
    )


def devices() -> tuple[Device, ...]:
    """Return the OpenCL devices of all platforms, working or not, in OpenCL's order."""
    return tuple(Device(index, facts_of(handle)) for index, handle in enumerate(_handles()))


def identities() -> tuple[Device, ...]:
    """Return the same devices quickly, with only the facts that distinguish them. No kernel is built."""
    return tuple(Device(index, identity_of(handle)) for index, handle in enumerate(_handles()))


def know_intel() -> None:
    """Register Intel's runtime of this environment with OpenCL's loader if it has no other driver."""
    import pyopencl as cl

    vendors = (VENDORS, Path(cl.__file__).parent / ".libs")  # the loader in pyopencl's wheel reads both
    if INTEL.is_file() and not any([*folder.glob("*.icd")] for folder in vendors):
        os.environ.setdefault("OCL_ICD_VENDORS", str(INTEL))


def _handles() -> list[Any]:
    import pyopencl as cl

    know_intel()
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader raises it if there is no platform
        return []
    handles: list[Any] = []
    for platform in platforms:
        with suppress(cl.Error):  # a platform without its hardware
            handles.extend(platform.get_devices())
    return handles


def system_caches(folder: Path = SYSTEM) -> dict[str, Fact]:
    """Return ``l1_told_bytes`` [B], and ``l1_told_ways`` to ``l3_told_ways``, as far as Linux reports data caches."""
    facts: dict[str, Fact] = {}
    for cache in sorted(folder.glob("index*")):
        with suppress(OSError, ValueError, KeyError):
            level, size = int(_word(cache, "level")), _word(cache, "size")
            if _word(cache, "type") == "Instruction" or not 1 <= level <= 3:
                continue
            told = f"told by the operating system: {cache}"
            facts[f"l{level}_told_bytes"] = Fact(int(size[:-1]) * _UNITS[size[-1]], "B", f"{told}/size")
            if (ways := int(_word(cache, "ways_of_associativity"))) > 0:
                facts[f"l{level}_told_ways"] = Fact(ways, "", f"{told}/ways_of_associativity")
    return facts


def system_page(folder: Path = HUGE_PAGES) -> Fact:
    """Return the size of a page of memory [B]. If every program gets huge pages, return the size of a huge page."""
    with suppress(OSError, ValueError):
        if "[always]" in _word(folder, "enabled"):
            size = int(_word(folder, "hpage_pmd_size"))
            return Fact(size, "B", f"told by the operating system: {folder / 'hpage_pmd_size'}")
    return Fact(mmap.PAGESIZE, "B", "told by the operating system: its usual page")


def _word(cache: Path, name: str) -> str:
    return (cache / name).read_text(encoding="ascii").strip()


@contextmanager
def quiet_compiler() -> Iterator[None]:
    """Suppress pyopencl's warning about compiler output, which Intel's compiler always writes."""
    import pyopencl as cl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        yield


def identity_of(handle: Any) -> DeviceFacts:
    """Query a device for its names and the facts that distinguish devices with equal names."""
    facts = {"device_type": Fact(_type_of(handle), "", _source("type"))}
    if (units := _query(handle, "max_compute_units")) is not None:
        facts["compute_units"] = Fact(int(units), "", _source("max_compute_units"))
    if facts["device_type"].value == "cpu":
        facts.update(system_caches())
    name, platform, driver = handle.name.strip(), handle.platform.name.strip(), handle.driver_version.strip()
    return DeviceFacts.from_mapping(name, platform, driver, facts)


def facts_of(handle: Any) -> DeviceFacts:
    """Query a ``pyopencl.Device`` for all facts of models. Unreported facts are left out."""
    identity, extensions = identity_of(handle), handle.extensions.split()
    facts = {
        key: Fact(int(value), unit, _source(attribute))
        for extension, numbers in _NUMBERS.items() if extension in ("", *extensions)
        for key, unit, attribute in numbers if (value := _query(handle, attribute)) is not None
    }  # fmt: skip
    if _NVIDIA in extensions and None not in (parts := [_query(handle, attribute) for attribute in _CAPABILITY]):
        facts["compute_capability"] = Fact(".".join(map(str, parts)), "", ", ".join(map(_source, _CAPABILITY)))
    shape = tuple(int(size) for size in handle.max_work_item_sizes)
    facts["max_work_item_sizes"] = Fact(shape, "work-items", _source("max_work_item_sizes"))
    facts["opencl_version"] = Fact(handle.version.strip(), "", _source("version"))
    facts["has_float64"] = Fact(bool(_query(handle, "double_fp_config")), "", _source("double_fp_config"))
    facts["subgroup_size"] = _subgroup_size(handle)
    if identity.value("device_type") == "cpu":
        facts["page_told_bytes"] = system_page()
    return identity.updated(facts)


def _source(attribute: str) -> str:
    return f"CL_DEVICE_{attribute.upper()}"


def _query(handle: Any, attribute: str) -> Any:
    import pyopencl as cl

    with suppress(cl.Error, AttributeError):
        return getattr(handle, attribute)
    return None


def _type_of(handle: Any) -> str:
    import pyopencl as cl

    kinds = cl.device_type
    words = {kinds.GPU: "gpu", kinds.CPU: "cpu", kinds.ACCELERATOR: "accelerator"}
    return next((word for kind, word in words.items() if handle.type & kind), "custom")


def _subgroup_size(handle: Any) -> Fact:
    unit = "work-items"
    for extension, attribute in _SUBGROUP_SIZES:
        if extension in handle.extensions.split() and (size := _query(handle, attribute)):
            return Fact(int(size), unit, _source(attribute))
    multiple = _query(handle, "preferred_work_group_size_multiple")
    if _query(handle, "max_num_sub_groups") or not multiple:
        size, kernel_multiple = _query_kernel(handle)
        if size:
            return Fact(size, unit, "CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, 256 work-items")
        multiple = multiple or kernel_multiple
    if multiple:
        return Fact(int(multiple), unit, "preferred work-group size multiple (the device tells no size)")
    return Fact(1, unit, "assumed (the device tells neither a size nor a preferred multiple)")


def _query_kernel(handle: Any) -> tuple[int | None, int | None]:
    import pyopencl as cl

    try:
        context = cl.Context([handle])  # in a variable: a program does not keep its context alive
        with quiet_compiler():
            kernel = cl.Program(context, _SMALL_KERNEL).build().small
    except cl.Error:  # a device that builds nothing; `check` reports it
        return None, None
    size = None
    with suppress(cl.Error):
        size = kernel.get_sub_group_info(handle, cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE, (256,))
    return size, kernel.get_work_group_info(cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE, handle)
